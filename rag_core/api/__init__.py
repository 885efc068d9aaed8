"""REST on the app's port: a thin face of the library, with the names, limits and JSON of the command line.

``operations`` is the table of all there is, ``schema`` what a request may hold, ``answers`` what an answer
holds, ``openapi`` the document made of them, ``requests`` what is asked of HTTP, ``app`` puts them together.
"""

from rag_core.api.app import rest

__all__ = ["rest"]
