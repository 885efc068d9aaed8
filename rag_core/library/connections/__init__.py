"""What stores may use outside their own files, looked at live: models, servers, packages, services.

Nothing here writes, raises, or shows a key. Nobody is asked that no setting or store names, but for
Ollama at its usual place on this computer.
"""

from __future__ import annotations

from rag_core.library.connections.check import WITHIN_S, Check, Found, look

__all__ = ["WITHIN_S", "Check", "Found", "look"]
