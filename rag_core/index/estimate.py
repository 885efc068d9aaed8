"""How long a run still takes: what is left of each kind of work, by the pace of the last minute.

Files are read first; then texts are embedded while pictures are read beside them, with what processors have
to spare. When the texts are done, pictures go on as fast as one process can read them.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

WINDOW_S = 60.0
"""Seconds of the past that tell the pace."""

_USUAL_TEXTS = 30.0  # embedded a second, until some are
_USUAL_PICTURE_S = 1.5  # of processor time for one, until some are read
_SURE_AFTER_S = 3.0  # of work of one kind


@dataclass
class Pace:
    """How fast one kind of work goes. ``now`` gives seconds."""

    usual: float  #: Steps a second that are assumed before any is done.
    now: Callable[[], float] = time.monotonic
    done: float = 0.0  #: Steps that were done.
    left: float = 0.0  #: Steps that are left.
    _past: deque[tuple[float, float]] = field(default_factory=deque)  # (when, done)

    def note(self, steps: float = 1.0) -> None:
        """Note that steps were done."""
        if not self._past:
            self._past.append((self.now(), self.done))
        self.done += steps
        self.left = max(0.0, self.left - steps)
        self._past.append((self.now(), self.done))

    @property
    def rate(self) -> float:
        """Steps a second over the last minute; 0.0 if it saw none."""
        while len(self._past) > 2 and self._past[1][0] < self.now() - WINDOW_S:
            self._past.popleft()
        if len(self._past) < 2 or self._past[-1][0] < self.now() - WINDOW_S:
            return 0.0
        started, before = self._past[0]
        return (self.done - before) / max(self.now() - started, 1e-3)

    @property
    def seconds(self) -> float | None:
        """Seconds for what is left; None where the last minute saw none of it done."""
        if not self.left:
            return 0.0
        is_sure = bool(self._past) and self.now() - self._past[0][0] >= _SURE_AFTER_S
        rate = self.rate if is_sure or not self.usual else self.usual
        return self.left / rate if rate else None


class Estimate:
    """The paces of one run."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self.files = Pace(0.0, now)
        self.texts = Pace(_USUAL_TEXTS, now)
        self.pictures = Pace(1 / _USUAL_PICTURE_S, now)
        self.picture_s = _USUAL_PICTURE_S
        """Seconds of processor time that a picture takes."""

    @property
    def seconds(self) -> float | None:
        """Seconds until the run is done; None where the pace of the last minute does not tell."""
        reading = self.files.seconds
        if reading is None:
            return None
        texts_left = self.texts.left + self._texts_to_come()
        embedding = texts_left / (self.texts.rate or self.texts.usual)
        pictures_meanwhile = embedding * self.pictures.rate
        pictures = max(0.0, self.pictures.left - pictures_meanwhile) * self.picture_s
        return reading + embedding + pictures

    def _texts_to_come(self) -> float:
        """Texts that the files which are left will bring, as many as those before."""
        if not self.files.done:
            return 0.0
        return self.files.left * (self.texts.done + self.texts.left) / self.files.done
