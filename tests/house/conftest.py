"""The fixtures of these tests, from the modules that make them."""

from __future__ import annotations

from tests.support.installed_packages import example_folder as example_folder
from tests.support.installed_packages import example_package as example_package
from tests.support.installed_packages import extended as extended
from tests.support.installed_packages import install as install
