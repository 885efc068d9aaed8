"""Code in what a model says: between backticks in a line, or between fences of three."""

from __future__ import annotations

import re

_FENCED = r"```.*?(?:```|\Z)"
CODE = re.compile(_FENCED + r"|`[^`\n]+`", re.DOTALL)
FENCED = re.compile(_FENCED, re.DOTALL)
