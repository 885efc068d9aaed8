"""Estimates how long a run still takes. The remaining work of each kind is divided by its pace in the last
minute.

Files are read first. Then texts are embedded while pictures are read at the same time. Pictures are read with
low priority, so one may take ten times as long as alone.

When all texts are embedded, one process reads the pictures at full speed. Until that is measured, the
processor time of a picture stands for the time that it takes alone.

A page of a scan takes longer than a picture and is read later, so the two are counted separately.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

WINDOW_S = 60.0
"""The pace is measured over this many seconds."""

_USUAL_TEXTS = 30.0  # texts embedded per second, assumed until some are embedded
_USUAL_PICTURE_S, _USUAL_PAGE_S = 0.8, 2.5  # seconds for one, assumed until some are read
_SURE_AFTER_S = 3.0  # seconds of work of one kind after which its pace is trusted


@dataclass
class Pace:
    """The speed of one kind of work and the amount that is left. ``now`` is a clock in seconds."""

    usual: float  #: Steps per second that are assumed before any step is done.
    now: Callable[[], float] = time.monotonic
    done: float = 0.0  #: Number of steps done.
    left: float = 0.0  #: Number of steps left.
    _past: deque[tuple[float, float]] = field(default_factory=deque)  # (when, done)

    def note(self, steps: float = 1.0) -> None:
        """Record that ``steps`` more steps are done."""
        if not self._past:
            self._past.append((self.now(), self.done))
        self.done += steps
        self.left = max(0.0, self.left - steps)
        self._past.append((self.now(), self.done))

    @property
    def rate(self) -> float:
        """Steps per second over the last minute; 0.0 if no step was done in it."""
        while len(self._past) > 2 and self._past[1][0] < self.now() - WINDOW_S:
            self._past.popleft()
        if len(self._past) < 2 or self._past[-1][0] < self.now() - WINDOW_S:
            return 0.0
        started, before = self._past[0]
        return (self.done - before) / max(self.now() - started, 1e-3)

    @property
    def seconds(self) -> float | None:
        """Estimated seconds for the remaining steps; None if no step was done in the last minute."""
        if not self.left:
            return 0.0
        is_sure = bool(self._past) and self.now() - self._past[0][0] >= _SURE_AFTER_S
        rate = self.rate if is_sure or not self.usual else self.usual
        return self.left / rate if rate else None


@dataclass
class Mean:
    """The mean time for reading a picture. It covers the last minute before the newest reading. ``now`` is a
    clock in seconds."""

    now: Callable[[], float]
    _past: deque[tuple[float, float, float]] = field(default_factory=deque)  # (when, count, seconds)

    def note(self, count: float, seconds: float) -> None:
        """Record that ``count`` pictures were read in ``seconds``."""
        self._past.append((self.now(), count, seconds))
        while self._past[0][0] < self.now() - WINDOW_S:
            self._past.popleft()

    @property
    def each(self) -> float | None:
        """Mean seconds for one picture; None if no picture was read yet."""
        read = sum(count for _, count, _ in self._past)
        return sum(seconds for _, _, seconds in self._past) / read if read else None


class Cost:
    """The time that pictures of one kind take, both while texts are embedded and when nothing else runs."""

    def __init__(self, usual: float, now: Callable[[], float] = time.monotonic) -> None:
        self.left = 0.0  #: Number of pictures left.
        self._usual = usual  # seconds for one picture, assumed until some are read
        self._beside, self._alone, self._computing = Mean(now), Mean(now), Mean(now)

    def note(self, count: float, seconds: float, computing_s: float, *, beside: bool) -> None:
        """Record that ``count`` pictures were read.

        Args:
            count: Number of pictures.
            seconds: Elapsed time.
            computing_s: Processor time in seconds, which is less if other work ran at the same time.
            beside: Whether texts were embedded at the same time.

        """
        (self._beside if beside else self._alone).note(count, seconds)
        self._computing.note(count, computing_s)
        self.left = max(0.0, self.left - count)

    @property
    def beside(self) -> float:
        """Estimated seconds for the remaining pictures while texts are embedded."""
        return self.left * (self._beside.each or self._usual)

    @property
    def alone(self) -> float:
        """Estimated seconds for the remaining pictures when nothing else runs."""
        return self.left * (self._alone.each or self._computing.each or self._usual)


class Estimate:
    """Estimates the remaining time of one run from the pace of each kind of work."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self.files = Pace(0.0, now)
        self.texts = Pace(_USUAL_TEXTS, now)
        self.ocr = Pace(0.0, now)
        self.pictures = Cost(_USUAL_PICTURE_S, now)
        self.pages = Cost(_USUAL_PAGE_S, now)

    @property
    def seconds(self) -> float | None:
        """Estimated seconds until the run is done; None if the last minute gives no pace."""
        reading = self.files.seconds
        if reading is None:
            return None
        texts_left = self.texts.left + self._texts_to_come()
        embedding = texts_left / (self.texts.rate or self.texts.usual)
        return reading + embedding + self._pictures_after(embedding)

    def note_pictures(self, count: float, seconds: float, computing_s: float, *, are_pages: bool) -> None:
        """Record that ``count`` pictures, or pages of scans if ``are_pages``, were read in ``seconds``. Of
        these, ``computing_s`` were processor time."""
        self.ocr.note(count)
        kind = self.pages if are_pages else self.pictures
        kind.note(count, seconds, computing_s, beside=self.texts.left > 0)

    def _pictures_after(self, embedding: float) -> float:
        """Estimated seconds for the pictures that will be left when all texts are embedded."""
        kinds = self.pictures, self.pages
        beside, alone = sum(kind.beside for kind in kinds), sum(kind.alone for kind in kinds)
        share_left = max(0.0, 1 - embedding / beside) if beside else 0.0
        return alone * share_left

    def _texts_to_come(self) -> float:
        """Estimated number of texts in the files that are still to be read. Each file is expected to have as
        many as the files so far."""
        if not self.files.done:
            return 0.0
        return self.files.left * (self.texts.done + self.texts.left) / self.files.done
