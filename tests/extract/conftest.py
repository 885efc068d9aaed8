"""The fixtures of these tests, from the modules that make them."""

from __future__ import annotations

from tests.support.installed_packages import extended as extended
from tests.support.installed_packages import install as install
