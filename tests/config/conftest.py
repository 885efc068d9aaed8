"""The fixtures of these tests, from the modules that make them."""

from __future__ import annotations

from tests.support.connected import no_aws as no_aws
from tests.support.installed_packages import extended as extended
from tests.support.installed_packages import install as install
from tests.vectors.vector_fixtures import aws as aws
