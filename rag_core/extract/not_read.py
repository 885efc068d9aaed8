"""Formats that are not read yet, with advice for each. Such a file is listed by its name with this
sentence."""

from __future__ import annotations

_ADVICE = {
    "Save it as DOCX to search its text.": ".doc .dot .wps .wpd .wri .sxw .stw .pages .lwp .hwp .hwpx",
    "Save it as PPTX or PDF to search its text.": ".ppt .pps .pot .sxi .key",
    "Save it as XLSX or CSV to search its rows.": ".numbers .wk1 .wk3 .wk4 .123 .qpw .sxc .dbf",
    "Save it as PDF to search its text.": (
        ".djvu .djv .xps .oxps .ps .eps .indd .pub .vsd .vsdx .vsdm .one .chm .afpub"
    ),
    "Save the page as its source (HTML) or as PDF to search its text.": ".webarchive",
    "Save it as EPUB to search its text.": ".mobi .azw .azw3 .kfx .prc .lit .lrf .pdb",
    "Export its mails as EML or MBOX to search them.": ".pst .ost .olm .dbx",
    "Save the signed file in it as a separate file to search it.": ".p7m .p7s .p7b .asice .asics .tsd",
    "Write its words into a note, or put a transcript (SRT, VTT, TXT) next to it.": (
        ".mp3 .m4a .m4b .wav .flac .ogg .oga .opus .aac .wma .aiff .aif .amr .mid .caf"
        " .mp4 .m4v .mov .avi .mkv .webm .wmv .flv .mpg .mpeg .3gp .mts .vob"
    ),
}
_ADVICE_BY_SUFFIX = {suffix: advice for advice, suffixes in _ADVICE.items() for suffix in suffixes.split()}
_SUFFIX_BY_KIND = {
    "an old Office document": ".doc",
    "an MP3 recording": ".mp3",
    "an Ogg recording": ".ogg",
    "a FLAC recording": ".flac",
    "a WAV recording": ".wav",
    "an AVI video": ".avi",
    "a DjVu book": ".djvu",
    "a Kindle book": ".mobi",
    "a Matroska video": ".mkv",
}
"""Kind of a file as `binary` names it → a suffix of such files."""


def why_not_read(suffix: str, kind: str) -> str:
    """Return the reason why a file with this lower-case suffix, or of this ``kind`` (see `binary`), is not
    read. Returns '' for files that contain nothing to read."""
    advice = _ADVICE_BY_SUFFIX.get(suffix) or _ADVICE_BY_SUFFIX.get(_SUFFIX_BY_KIND.get(kind, ""))
    return f"This format is not read yet. {advice}" if advice else ""
