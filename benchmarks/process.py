"""A process of its own for each figure, and what a process takes."""

from __future__ import annotations

import re
import statistics
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

Figures = dict[str, Any]


def alone(measure: Callable[..., Figures], *values: Any) -> Figures:
    """What ``measure`` finds in a process that did nothing before."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(measure, *values).result()


def memory() -> Figures:
    """This process's private memory (USS), resident memory (RSS) and its peak, in MB; only Linux tells."""
    rollup, status = Path("/proc/self/smaps_rollup"), Path("/proc/self/status")
    if not rollup.exists():
        return {}
    private = re.findall(r"Private_(?:Clean|Dirty): +(\d+) kB", rollup.read_text("utf-8"))
    resident = dict(re.findall(r"Vm(HWM|RSS):\s+(\d+) kB", status.read_text("utf-8")))
    return {
        "uss_mb": round(sum(map(int, private)) / 1024),
        "rss_mb": round(int(resident["RSS"]) / 1024),
        "peak_rss_mb": round(int(resident["HWM"]) / 1024),
    }


@dataclass(frozen=True, slots=True)
class Took:
    """Time on the wall, and of all cores that this process had: a busy machine changes the first more."""

    wall_s: float
    cpu_s: float


def took(do: Callable[[], object]) -> Took:
    wall, cpu = time.perf_counter(), time.process_time()
    do()
    return Took(time.perf_counter() - wall, time.process_time() - cpu)


def spread(values: Sequence[float], digits: int = 2) -> Figures:
    """The median and the 95th percentile."""
    return {
        "p50": round(statistics.median(values), digits),
        "p95": round(percentile(values, 95), digits),
    }


def percentile(values: Sequence[float], part: int) -> float:
    """What ``part`` of a hundred values do not exceed; never more than the most of them."""
    if len(values) == 1:
        return values[0]
    return statistics.quantiles(values, n=100, method="inclusive")[part - 1]


def lines(figures: Figures, above: str = "") -> list[str]:
    """Figures as lines of text, one a group."""
    groups = {name: value for name, value in figures.items() if isinstance(value, dict)}
    plain = [f"{name} {value}" for name, value in figures.items() if name not in groups]
    found = [f"{above}: {'  '.join(plain)}" if above else "  ".join(plain)] if plain else []
    for name, group in groups.items():
        found += lines(group, f"{above} {name}".strip())
    return found
