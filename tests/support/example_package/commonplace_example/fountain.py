"""Screenplays in Fountain's format: each scene is a segment under its heading."""

import re
from pathlib import PurePosixPath

from rag_core.errors import ExtractError
from rag_core.types import Extracted, Segment

API_VERSION = 1
SCENE = re.compile(r"^(?:INT|EXT|EST)[./ ].*$", re.MULTILINE)
TITLE = re.compile(r"^Title:[ \t]*(\S.*)$", re.MULTILINE)


def read(data: bytes, path: PurePosixPath) -> Extracted:
    """The screenplay that ``data`` is, cut where its scenes begin."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise ExtractError(f"{path.name!r} is not in UTF-8.", "Save it as UTF-8.") from None
    scenes = list(SCENE.finditer(text))
    starts = [scene.start() for scene in scenes] + [len(text)]
    segments = [Segment(0, starts[0])]  # what stands before the first scene
    for scene, end in zip(scenes, starts[1:], strict=True):
        heading = scene[0].strip()
        segments.append(Segment(scene.start(), end, (heading,), "scene", heading))
    title = TITLE.search(text, 0, starts[0])
    return Extracted(
        text=text,
        file_type="screenplay",
        encoding="utf-8",
        title=title[1].strip() if title else "",
        title_from="heading" if title else "file name",
        segments=tuple(segments),
    )
