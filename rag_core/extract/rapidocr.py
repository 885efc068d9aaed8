"""Reads the text in pictures with RapidOCR, a package that runs in this process."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from PIL.Image import Image


class RapidOCR:
    """The reader of pictures ``rapidocr`` in the table `providers.PICTURE_READERS`."""

    @staticmethod
    def is_installed() -> bool:
        return find_spec("rapidocr") is not None

    @staticmethod
    def read(picture: Image) -> str:
        import numpy as np

        found = _engine()(np.asarray(picture)[:, :, ::-1])  # RapidOCR expects BGR, like OpenCV
        return "\n".join(found.txts or ())


@cache
def _engine() -> Any:
    import rapidocr

    return rapidocr.RapidOCR(
        params={
            "Global.log_level": "error",
            "Global.use_cls": False,  # made for signs: it considers one long line in ten upside down
            "EngineConfig.onnxruntime.intra_op_num_threads": 1,
        }
    )
