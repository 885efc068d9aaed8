"""A strict stand-in for Amazon S3 Vectors over real HTTP: it refuses what the service refuses.

Requests are validated by botocore's own model of the service first, then by the rules that are not
in the model. What no document and no measurement tells about the service is refused or finds nothing,
so that nobody comes to rely on it.
"""

from tests.vectors.s3vectors.faults import Faults
from tests.vectors.s3vectors.http import Server

__all__ = ["Faults", "Server"]
