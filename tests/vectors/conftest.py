"""The fixtures of these tests, from the modules that make them."""

from __future__ import annotations

from tests.support.connected import make as make
from tests.support.connected import no_aws as no_aws
from tests.support.installed_packages import example_folder as example_folder
from tests.support.installed_packages import example_package as example_package
from tests.support.installed_packages import extended as extended
from tests.vectors.remote_zoo import local_zoo as local_zoo
from tests.vectors.remote_zoo import remote_library as remote_library
from tests.vectors.remote_zoo import remote_zoo as remote_zoo
from tests.vectors.vector_fixtures import amazon as amazon
from tests.vectors.vector_fixtures import aws as aws
from tests.vectors.vector_fixtures import no_waiting_for_the_disk as no_waiting_for_the_disk
from tests.vectors.vector_fixtures import qdrant as qdrant
from tests.vectors.vector_fixtures import services as services
