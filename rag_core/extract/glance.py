"""Checks whether a picture may contain text, at a fraction of the cost of OCR.

Text consists of strokes side by side: within a piece of a line, the brightness clearly falls below its
surroundings, or rises above them, several times.

Smooth surfaces, noise and edges of objects do not do that. The check is repeated on smaller copies for larger
letters, and along columns for rotated text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from PIL.Image import Image

_MOST_PIXELS = 4_500_000
"""Maximum number of pixels of a picture that is examined at full size, such as a screenshot. Larger pictures
are photos."""
_LONGEST_SIDE = 1300  # maximum pixels of a side of a photo's copy
_SMALLEST_SIDE = 50  # minimum pixels of a side of a copy: a piece and a pixel
_SURROUNDINGS = 12  # pixels on each side with which a stroke is compared
_CONTRAST = 32  # levels by which a stroke differs, if the picture has all 256
_NOISES = 5  # a stroke differs by this multiple of the usual difference of two pixels
_LEAST_RANGE = 64  # minimum range of levels that is assumed for a picture
_ACROSS, _ALONG = 4, 24  # height and width in pixels of half a piece of a line
_LEAST_STROKES = 18  # minimum number of strokes in a piece of 8 × 48 pixels

_OF_EIGHT_BITS = frozenset({"1", "L", "LA", "P", "RGB", "RGBA", "CMYK", "YCbCr"})


def factor(size: tuple[int, int]) -> int:
    """Return the power of two by which a picture of this ``size`` (width, height in pixels) is reduced before
    it is examined."""
    by = 1
    while size[0] * size[1] > _MOST_PIXELS and max(size) > _LONGEST_SIDE * by:
        by *= 2
    return by


def may_hold_text(picture: Image) -> bool:
    """Whether OCR may find text in a picture. Always True for tiny pictures and unusual modes, which are not
    examined."""
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
    """Return the number of levels by which a stroke differs from its surroundings. It is larger in pictures
    with contrast or noise."""
    darkest, lightest = (_quantile(levels[::3, ::3], share) for share in (0.001, 0.999))
    few = levels[::9]
    steps = np.maximum(few[:, 1:], few[:, :-1]) - np.minimum(few[:, 1:], few[:, :-1])
    of_range = _CONTRAST * max(lightest - darkest, _LEAST_RANGE) / 256
    return round(max(of_range, min(_NOISES * _quantile(steps, 0.5), _CONTRAST)))


def _quantile(levels: npt.NDArray[np.uint8], share: float) -> int:
    """Return the level that this share of the pixels does not exceed."""
    counts = np.bincount(levels.ravel(), minlength=256)
    return int(np.searchsorted(np.cumsum(counts), share * levels.size))


def most_strokes(copy: Image, contrast: int) -> int:
    """Return the maximum number of strokes that begin in any piece of a line or column of a grey picture. A
    stroke is darker or lighter than its surroundings by ``contrast`` levels of 256."""
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
    """Return the maximum number of beginnings in any piece of twice this height and width. The pieces overlap
    by half."""
    rows, columns = begins.shape[0] // height, begins.shape[1] // width
    begins = begins[: rows * height, : columns * width]
    strips = begins.reshape(rows, height, columns * width).sum(axis=1, dtype=np.uint8)
    cells = strips.reshape(rows, columns, width).sum(axis=2, dtype=np.uint8)  # at most half of 4 × 24
    pieces = cells[:-1, :-1] + cells[:-1, 1:] + cells[1:, :-1] + cells[1:, 1:]
    return int(pieces.max())
