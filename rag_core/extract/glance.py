"""Whether there may be text in a picture: a look that costs a fraction of OCR.

Text is strokes side by side: in a piece of a line the brightness falls clearly below its surroundings several
times, or rises above them. Smooth surfaces, noise and the edges of things do not do that. The look is
repeated on smaller copies, for larger letters, and along columns, for turned ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from PIL.Image import Image

_MOST_PIXELS = 4_500_000
"""The most pixels of a picture that is examined in full size, such as a screenshot; larger ones are
photos."""
_LONGEST_SIDE = 1300  # pixels of the copy of a photo
_SMALLEST_SIDE = 50  # of the smallest copy: a piece and a pixel
_SURROUNDINGS = 12  # pixels to each side, which a stroke differs from
_CONTRAST = 32  # levels by which it does, where the picture has all 256
_NOISES = 5  # times the usual difference of two pixels
_LEAST_RANGE = 64  # levels that a picture of little contrast is taken to have
_ACROSS, _ALONG = 4, 24  # pixels of half a piece of a line
_LEAST_STROKES = 18  # in a piece of 8 times 48 pixels

_OF_EIGHT_BITS = frozenset({"1", "L", "LA", "P", "RGB", "RGBA", "CMYK", "YCbCr"})


def factor(size: tuple[int, int]) -> int:
    """By how much a picture is made smaller before it is looked at: a power of two."""
    by = 1
    while size[0] * size[1] > _MOST_PIXELS and max(size) > _LONGEST_SIDE * by:
        by *= 2
    return by


def may_hold_text(picture: Image) -> bool:
    """Whether OCR may find text in a picture."""
    if min(picture.size) < _SMALLEST_SIDE or picture.mode not in _OF_EIGHT_BITS:
        return True
    copy = picture.convert("L").reduce(factor(picture.size))
    contrast = _contrast(np.asarray(copy))
    while min(copy.size) >= _SMALLEST_SIDE:
        if most_strokes(copy, contrast) >= _LEAST_STROKES:
            return True
        copy = copy.reduce(2)
    return False


def _contrast(levels: npt.NDArray[np.uint8]) -> int:
    """Levels of brightness by which a stroke differs from its surroundings: more in pictures with contrast
    or noise."""
    darkest, lightest = (_quantile(levels[::3, ::3], share) for share in (0.001, 0.999))
    few = levels[::9]
    steps = np.maximum(few[:, 1:], few[:, :-1]) - np.minimum(few[:, 1:], few[:, :-1])
    of_range = _CONTRAST * max(lightest - darkest, _LEAST_RANGE) / 256
    return round(max(of_range, min(_NOISES * _quantile(steps, 0.5), _CONTRAST)))


def _quantile(levels: npt.NDArray[np.uint8], share: float) -> int:
    """The level that this share of the pixels has at most."""
    counts = np.bincount(levels.ravel(), minlength=256)
    return int(np.searchsorted(np.cumsum(counts), share * levels.size))


def most_strokes(copy: Image, contrast: int) -> int:
    """The most beginnings of strokes in any piece of a line or of a column."""
    from PIL import ImageFilter

    levels = np.asarray(copy)
    around = np.asarray(copy.filter(ImageFilter.BoxBlur(_SURROUNDINGS)))
    dark = levels < np.maximum(around, contrast) - np.uint8(contrast)
    light = levels > np.minimum(around, 255 - contrast) + np.uint8(contrast)
    most = 0
    for mask in (dark, light):
        in_lines = (mask[:, 1:] & ~mask[:, :-1]).view(np.uint8)
        in_columns = (mask[1:] & ~mask[:-1]).view(np.uint8)
        most = max(
            most, _fullest_piece(in_lines, _ACROSS, _ALONG), _fullest_piece(in_columns, _ALONG, _ACROSS)
        )
    return most


def _fullest_piece(begins: npt.NDArray[np.uint8], height: int, width: int) -> int:
    """The most beginnings in any piece of twice this height and width; the pieces overlap by half."""
    rows, columns = begins.shape[0] // height, begins.shape[1] // width
    begins = begins[: rows * height, : columns * width]
    strips = begins.reshape(rows, height, columns * width).sum(axis=1, dtype=np.uint8)
    cells = strips.reshape(rows, columns, width).sum(axis=2, dtype=np.uint8)  # half of 4 × 24 at most
    pieces = cells[:-1, :-1] + cells[:-1, 1:] + cells[1:, :-1] + cells[1:, 1:]
    return int(pieces.max())
