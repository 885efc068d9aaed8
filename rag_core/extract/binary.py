"""Recognizes the kind of a file that is not text by its first bytes."""

from __future__ import annotations

import posixpath
from pathlib import PurePosixPath

from rag_core.extract.filetypes import reader_in_worker

_SIGNATURES: dict[str, tuple[bytes, ...]] = {
    "a PDF document": (b"%PDF-",),
    "a PNG image": (b"\x89PNG\r\n\x1a\n",),
    "a JPEG image": (b"\xff\xd8\xff",),
    "a GIF image": (b"GIF87a", b"GIF89a"),
    "a TIFF image": (b"II*\x00", b"MM\x00*"),
    "an icon": (b"\x00\x00\x01\x00",),
    "a Photoshop image": (b"8BPS\x00",),
    "a ZIP archive": (b"PK\x03\x04", b"PK\x05\x06"),
    "a gzip archive": (b"\x1f\x8b\x08",),
    "a bzip2 archive": (b"BZh91AY&SY",),
    "an xz archive": (b"\xfd7zXZ\x00",),
    "a Zstandard archive": (b"\x28\xb5\x2f\xfd",),
    "a 7-Zip archive": (b"7z\xbc\xaf\x27\x1c",),
    "a RAR archive": (b"Rar!\x1a\x07",),
    "an SQLite database": (b"SQLite format 3\x00",),
    "a compiled program": (b"\x7fELF", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe", b"\x00asm"),
    "an old Office document": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",),
    "an RTF document": (b"{\\rtf",),
    "an MP3 recording": (b"ID3\x03", b"ID3\x04"),
    "an Ogg recording": (b"OggS\x00",),
    "a FLAC recording": (b"fLaC\x00",),
    "a DjVu book": (b"AT&TFORM",),
    "a Matroska video": (b"\x1aE\xdf\xa3",),
    "a binary property list": (b"bplist0",),
    "a font": (b"wOFF\x00", b"wOF2\x00", b"\x00\x01\x00\x00\x00", b"OTTO\x00"),
    "a NumPy array": (b"\x93NUMPY",),
    "a Parquet table": (b"PAR1\x15",),
    "an HDF5 file": (b"\x89HDF\r\n\x1a\n",),
}
"""Kinds of files → bytes at their beginning. No text file begins with these bytes."""

_AMBIGUOUS: tuple[tuple[int, bytes, str], ...] = (
    (0, b"MZ", "a Windows program"),
    (0, b"BM", "a BMP image"),
    (0, b"\xff\xfb", "an MP3 recording"),
    (4, b"ftyp", "an MP4 video or HEIC image"),
    (8, b"WAVE", "a WAV recording"),
    (8, b"AVI ", "an AVI video"),
    (8, b"WEBP", "a WebP image"),
    (60, b"BOOKMOBI", "a Kindle book"),
    (257, b"ustar", "a tar archive"),
    (2, b"\r\n", "compiled Python"),
)
"""(offset, bytes, kind) that are only reliable for a file already known not to be text."""

_HEAD = 512

SUFFIXES = frozenset(
    (
        ".ico .avif .psd .raw"
        " .mp3 .wav .flac .ogg .opus .m4a .aac .mp4 .m4v .mov .avi .mkv .webm"
        " .gz .tgz .bz2 .xz .zst .7z .rar .tar .iso .dmg .jar .whl .deb .rpm"
        " .exe .dll .so .dylib .a .o .obj .lib .class .pyc .pyd .wasm .bin"
        " .dat .db .sqlite .sqlite3 .parquet .npy .npz .pkl .pt .onnx .safetensors .h5"
        " .ttf .otf .woff .woff2 .eot"
        " .doc .dot .ppt .pps .pages .numbers .djvu .mobi .azw3 .pst .wma .mpg .mpeg .wmv"
    ).split()
)
"""Suffixes of files that Commonplace cannot read and that are hardly ever text, so that they are likely to be
skipped."""


def signature(data: bytes) -> str | None:
    """Return the kind of a file by its first bytes (``a PNG image``), or None if it may be text."""
    for name, beginnings in _SIGNATURES.items():
        if data.startswith(beginnings):
            return name
    inside = [name for offset, magic, name in _AMBIGUOUS if offset > 2 and data.startswith(magic, offset)]
    return inside[0] if inside and b"\0" in data[:_HEAD] else None


def guess(data: bytes) -> str:
    """Return the most likely kind of a file that is known not to be text; ``binary data`` if it has no known
    beginning."""
    for offset, magic, name in _AMBIGUOUS:
        if data.startswith(magic, offset):
            return name
    return "binary data"


def hardly_text(path: str) -> bool:
    """Whether a file probably cannot be read, judged by its name alone. ``extract`` is likely to refuse
    it."""
    suffix = posixpath.splitext(path)[1].lower()
    return suffix in SUFFIXES and not reader_in_worker(PurePosixPath(path))
