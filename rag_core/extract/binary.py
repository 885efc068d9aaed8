"""What kind of file it is, by its first bytes, when it is not text."""

from __future__ import annotations

_SIGNATURES: tuple[tuple[bytes, str], ...] = (
    (b"%PDF-", "a PDF document"),
    (b"\x89PNG\r\n\x1a\n", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF87a", "a GIF image"),
    (b"GIF89a", "a GIF image"),
    (b"II*\x00", "a TIFF image"),
    (b"MM\x00*", "a TIFF image"),
    (b"\x00\x00\x01\x00", "an icon"),
    (b"8BPS\x00", "a Photoshop image"),
    (b"PK\x03\x04", "a ZIP archive"),
    (b"PK\x05\x06", "an empty ZIP archive"),
    (b"\x1f\x8b\x08", "a gzip archive"),
    (b"BZh91AY&SY", "a bzip2 archive"),
    (b"\xfd7zXZ\x00", "an xz archive"),
    (b"\x28\xb5\x2f\xfd", "a Zstandard archive"),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive"),
    (b"Rar!\x1a\x07", "a RAR archive"),
    (b"SQLite format 3\x00", "an SQLite database"),
    (b"\x7fELF", "a compiled program"),
    (b"\xcf\xfa\xed\xfe", "a compiled program"),
    (b"\xca\xfe\xba\xbe", "a compiled program"),
    (b"\x00asm", "a WebAssembly program"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Office document"),
    (b"{\\rtf", "an RTF document"),
    (b"ID3\x03", "an MP3 recording"),
    (b"ID3\x04", "an MP3 recording"),
    (b"OggS\x00", "an Ogg recording"),
    (b"fLaC\x00", "a FLAC recording"),
    (b"wOFF\x00", "a font"),
    (b"wOF2\x00", "a font"),
    (b"\x00\x01\x00\x00\x00", "a font"),
    (b"OTTO\x00", "a font"),
    (b"\x93NUMPY", "a NumPy array"),
    (b"PAR1\x15", "a Parquet table"),
    (b"\x89HDF\r\n\x1a\n", "an HDF5 file"),
)
"""Signatures that no text file begins with."""

_AMBIGUOUS: tuple[tuple[int, bytes, str], ...] = (
    (0, b"MZ", "a Windows program"),
    (0, b"BM", "a BMP image"),
    (0, b"\xff\xfb", "an MP3 recording"),
    (4, b"ftyp", "an MP4 video or HEIC image"),
    (8, b"WAVE", "a WAV recording"),
    (8, b"AVI ", "an AVI video"),
    (8, b"WEBP", "a WebP image"),
    (257, b"ustar", "a tar archive"),
    (2, b"\r\n", "compiled Python"),
)
"""(offset, bytes, name) that only mean something in a file already known not to be text."""

_OFFICE = {
    ".docx": "a Word document",
    ".xlsx": "an Excel workbook",
    ".pptx": "a PowerPoint presentation",
    ".odt": "an OpenDocument text",
    ".ods": "an OpenDocument spreadsheet",
    ".odp": "an OpenDocument presentation",
    ".epub": "an e-book",
    ".jar": "a Java archive",
    ".whl": "a Python wheel",
}

_SUFFIXES = frozenset(
    (
        ".png .jpg .jpeg .gif .bmp .ico .tif .tiff .webp .heic .avif .psd .raw"
        " .mp3 .wav .flac .ogg .opus .m4a .aac .mp4 .m4v .mov .avi .mkv .webm"
        " .zip .gz .tgz .bz2 .xz .zst .7z .rar .tar .iso .dmg .jar .whl .deb .rpm"
        " .exe .dll .so .dylib .a .o .obj .lib .class .pyc .pyd .wasm .bin"
        " .dat .db .sqlite .sqlite3 .parquet .npy .npz .pkl .pt .onnx .safetensors .h5"
        " .ttf .otf .woff .woff2 .eot"
        " .pdf .doc .docx .xls .xlsx .ppt .pptx .odt .ods .odp .epub .mobi"
    ).split()
)


def is_known(suffix: str) -> bool:
    """Whether files with this suffix are hardly ever text, so that reading one is likely to skip it."""
    return suffix.lower() in _SUFFIXES


def signature(data: bytes, suffix: str) -> str | None:
    """What ``data`` certainly is by its first bytes (``a PNG image``), or None if it may be text."""
    for magic, name in _SIGNATURES:
        if data.startswith(magic):
            return _OFFICE.get(suffix.lower(), name) if magic == b"PK\x03\x04" else name
    return None


def guess(data: bytes) -> str:
    """What ``data`` most likely is, given that it is not text."""
    for offset, magic, name in _AMBIGUOUS:
        if data.startswith(magic, offset):
            return name
    return "binary data"
