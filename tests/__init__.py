"""The tests, in a folder for each room of the house; `support` is what several of them stand on."""

from pathlib import Path

import pytest

# Helpers show the values of an assert that fails, as tests do.
pytest.register_assert_rewrite(*(f"{__name__}.{room.name}" for room in Path(__file__).parent.iterdir()))
