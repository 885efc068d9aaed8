"""Numbers in words, the same in the terminal and in the browser."""

from __future__ import annotations


def plural(count: int, noun: str) -> str:
    """``1 file``, ``2,000 files``."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def size(count: int) -> str:
    """A number of bytes for people: ``1.2 MB``."""
    value, unit = float(count), "B"
    for larger in ("kB", "MB", "GB"):
        if value < 1000:
            break
        value, unit = value / 1000, larger
    return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"


def duration(seconds: float) -> str:
    """Seconds for people: ``45 s``, ``3 min``, ``1 h 5 min``."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
