"""Tailscale on this computer: looked at, and never changed."""

from __future__ import annotations

from rag_core.library.tailscale.outlook import look

__all__ = ["look"]
