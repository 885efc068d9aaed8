"""Of every field of REST and MCP, what is said where it is wrong."""

from __future__ import annotations

from typing import Any

import pytest

from rag_core.api.mcp.tools import TOOLS
from rag_core.api.operations import OPERATIONS
from rag_core.api.requests import RequestKind
from rag_core.errors import InvalidInput


@pytest.mark.parametrize("kind", [each.given for each in (*OPERATIONS, *TOOLS)])
@pytest.mark.parametrize("wrong", [None, [None], {"a": None}], ids=str)
def test_of_every_field_an_error_says_what_it_takes(kind: RequestKind, wrong: Any) -> None:
    right = {"max_tokens": 1, "ids": ["x"], "confirm": True, "filters": {}}
    for name in kind.schema["properties"]:
        others = {each: right.get(each, "x") for each in kind.schema["required"]}
        with pytest.raises(InvalidInput, match=rf"^{name}.* (Use|Input should) .*\.$|There is no such field"):
            kind.read({**others, name: wrong})
