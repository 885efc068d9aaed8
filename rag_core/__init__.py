"""Commonplace: search for one person's own knowledge."""

from __future__ import annotations

__version__ = "0.1.0"
