"""Determines from a file's name its type, its reader, and a title and date if the content has none.

An installed package claims a suffix with an entry point ``TYPE.SUFFIX`` in ``commonplace.extractors``, such
as ``screenplay.fountain``. Nothing of the package is imported here.
"""

from __future__ import annotations

import hashlib
import re
from functools import cache
from pathlib import PurePosixPath
from typing import Protocol

from rag_core.extensions import Extension, catalogue
from rag_core.extract import note_names
from rag_core.text.days import first_in_name
from rag_core.text.markup_languages import LIGHT_MARKUP
from rag_core.types import Extracted

EXTRACTOR_VERSION = 20
"""Increase it when a change reads the same bytes differently. Documents that an older version read are then
read again."""

UNFINISHED = 0
"""Extractor number of a document with pictures that are still to be read. Every run reads it again."""

TO_CUT = 1
"""Extractor number of a document that must be read again and split into passages of other sizes."""

NAMED = 2
"""Extractor number of a document that is known only by its name."""

_PACKAGES = 2**32
"""Extractor numbers from here on belong to packages with their versions. Smaller numbers are values of
EXTRACTOR_VERSION."""

_ONE_SUFFIX = "cmake csv dart dockerfile go java lua nim nix org r rst svelte swift textile toml vue zig"
_SUFFIXES_BY_TYPE: dict[str, str] = {name: f".{name}" for name in _ONE_SUFFIX.split()} | {
    "markdown": ".md .mdx .markdown .mkd .qmd .rmd",
    "python": ".py .pyi .pyw",
    "typescript": ".ts .tsx .mts .cts",
    "javascript": ".js .jsx .mjs .cjs",
    "kotlin": ".kt .kts",
    "scala": ".scala .sc",
    "groovy": ".groovy .gradle",
    "rust": ".rs",
    "yaml": ".yaml .yml",
    "json": ".json .jsonl .ndjson .geojson .json5 .jsonc .canvas",
    "shell": ".sh .bash .zsh .fish .ksh",
    "text": ".txt .text .log .opml .mm",
    "html": ".html .htm .xhtml .mht .mhtml",
    "xml": ".xml .xsd .xsl .xslt .svg .rss .atom .plist",
    "sql": ".sql .ddl",
    "terraform": ".tf .hcl .tfvars",
    "tsv": ".tsv .tab",
    "ini": ".ini .cfg .conf .properties .editorconfig .desktop",
    "css": ".css .scss .sass .less",
    "c": ".c .h",
    "cpp": ".cpp .cc .cxx .c++ .hpp .hh .hxx .inl .cu .ino",
    "csharp": ".cs .csx",
    "ruby": ".rb .rake .gemspec",
    "php": ".php .phtml",
    "perl": ".pl .pm",
    "haskell": ".hs .lhs",
    "elixir": ".ex .exs",
    "erlang": ".erl .hrl",
    "clojure": ".clj .cljs .cljc .edn",
    "julia": ".jl",
    "ocaml": ".ml .mli",
    "fsharp": ".fs .fsx",
    "lisp": ".lisp .el .scm .rkt",
    "powershell": ".ps1 .psm1 .psd1",
    "batch": ".bat .cmd",
    "visualbasic": ".vb .bas .vbs",
    "cobol": ".cob .cbl",
    "solidity": ".sol",
    "protobuf": ".proto",
    "graphql": ".graphql .gql",
    "latex": ".tex .latex .sty .cls .ltx",
    "bibtex": ".bib",
    "asciidoc": ".adoc .asciidoc",
    "typst": ".typ",
    "texinfo": ".texi .texinfo .txi",
    "wiki": ".wiki .mediawiki .dokuwiki .creole",
    "tiddlywiki": ".tid",
    "man": ".man .mdoc",
    "diff": ".diff .patch",
    "makefile": ".mk",
    "calendar": ".ics .vcs",
    "contacts": ".vcf",
    "subtitles": ".srt .vtt .ass .ssa",
    "pdf": ".pdf",
    "word": ".docx .docm .odt .rtf",
    "slides": ".pptx .pptm .odp",
    "sheet": ".xlsx .xlsm .xlsb .xls .ods",
    "ebook": ".epub .fb2",
    "mail": ".eml .emlx .mbox .msg .tnef",
    "evernote": ".enex",
    "notebook": ".ipynb",
    "picture": ".png .jpg .jpeg .webp .gif .tif .tiff .bmp .heic .heif",
    "archive": ".zip",
}

TYPE_BY_SUFFIX: dict[str, str] = {
    suffix: name for name, suffixes in _SUFFIXES_BY_TYPE.items() for suffix in suffixes.split()
}
"""Lower-case suffix → file type."""

_NAMES_BY_TYPE: dict[str, str] = {
    "dockerfile": "dockerfile containerfile",
    "makefile": "makefile gnumakefile justfile",
    "cmake": "cmakelists.txt",
    "groovy": "jenkinsfile",
    "ruby": "gemfile rakefile vagrantfile",
    "shell": ".bashrc .bash_profile .profile .zshrc",
    "ini": ".gitconfig .editorconfig",
    "toml": "pipfile cargo.lock poetry.lock",
}

TYPE_BY_NAME: dict[str, str] = {
    name: kind for kind, names in _NAMES_BY_TYPE.items() for name in names.split()
}
"""Lower-case file name → file type, for names that determine the type better than their suffix."""

WRITTEN_TYPES = LIGHT_MARKUP.union(
    "bibtex calendar contacts ebook evernote html latex mail markdown notebook pdf picture sheet slides"
    " subtitles text word".split()
)
"""File types of texts that people write for people."""

DATA_TYPES = frozenset("csv ini json toml tsv xml yaml".split())
"""File types that programs write."""

CODE_TYPES = frozenset({*_SUFFIXES_BY_TYPE, *_NAMES_BY_TYPE}) - WRITTEN_TYPES - DATA_TYPES - {"archive"}
"""File types of texts that people write for programs."""

_LIKE_ITS_TYPE = (
    "markdown python java kotlin scala go rust rst html c cpp csharp ruby php swift lua r haskell elixir"
    " powershell cobol latex"
)
LANGUAGES: dict[str, str] = {name: name for name in _LIKE_ITS_TYPE.split()} | {
    "typescript": "ts",
    "javascript": "js",
    "groovy": "java",
    "visualbasic": "visualbasic6",
    "solidity": "sol",
    "protobuf": "proto",
    "dart": "java",
    "vue": "html",
    "svelte": "html",
}
"""File type → value of LangChain's ``Language`` with suitable separators."""

_JOINED = re.compile(r"[-_]+(?!\d)|(?<!\d)[-_]+")


_MODULE_BY_TYPE = {
    **{name: name for name in ("pdf", "word", "slides", "mail", "evernote", "notebook", "archive")},
    "sheet": "sheets",
    "calendar": "calendars",
    "contacts": "contacts",
    "ebook": "epub",
    "picture": "pictures",
    "html": "plain",  # libxml2's parser takes quadratic time in a tag's attributes
}
READER_MODULES: dict[str, str] = {
    suffix: _MODULE_BY_TYPE[name] for suffix, name in TYPE_BY_SUFFIX.items() if name in _MODULE_BY_TYPE
} | {
    ".odt": "opendocument",
    ".odp": "opendocument",
    ".rtf": "rtf",
    ".fb2": "fictionbook",
    ".mht": "webarchive",
    ".mhtml": "webarchive",
    ".opml": "outlines",
    ".mm": "outlines",
}
"""Lower-case suffix → module of `rag_core.extract` that reads the format in the worker process."""


class Extractor(Protocol):
    """The function that an entry point in ``commonplace.extractors`` names. It reads a file's bytes as a
    document.

    It runs in a separate process, for one file after another, with a minute and 2 GB of memory for each. Any
    file in a folder may be its input, so the bytes may be damaged or hostile.
    """

    def __call__(self, data: bytes, path: PurePosixPath, /) -> Extracted:
        """Return the document in ``data``. Only the name of ``path`` matters.

        All offsets count characters of ``text``. ``segments`` must be in order, disjoint and inside the text.
        Text that no segment covers cannot be found. Without segments, one segment covers the whole text.

        ``file_type`` is always that of the entry point. ``title`` may be empty; it is then the file's name.
        ``private=True`` hides the document from everyone but the owner.

        Raises ExtractError with two sentences for a file that cannot be read, and NotText for one that
        contains nothing to read. Any other exception also fails the file.
        """


@cache
def packages() -> dict[str, Extension]:
    """Return the packages that read files, by suffix."""
    return catalogue("extractors", {"text", *TYPE_BY_SUFFIX, *_SUFFIXES_BY_TYPE, *_NAMES_BY_TYPE})


def package_of(path: PurePosixPath) -> Extension | None:
    """Return the package that reads the file at ``path``, or None if Commonplace reads it."""
    if path.suffix.lower() in TYPE_BY_SUFFIX or path.name.lower() in TYPE_BY_NAME:
        return None
    return packages().get(path.suffix.lower())


def reader_in_worker(path: PurePosixPath) -> Extension | None:
    """Return what reads the file at ``path`` in the worker process, judged by its name: one of our modules,
    with '' as its ``package``, or an installed package. None if the file is read as text, without the
    worker."""
    suffix = path.suffix.lower()
    if module := READER_MODULES.get(suffix):
        target = f"rag_core.extract.{module}:read"
        return Extension("extractors", TYPE_BY_SUFFIX[suffix] + suffix, "", "", target)
    return package_of(path)


def added_type(package: Extension) -> str:
    """Return the file type that a package adds."""
    return package.name.partition(".")[0]


def file_type(path: PurePosixPath) -> str:
    """Return the type of the file at ``path`` by its name, or ``text`` if the name determines none."""
    return TYPE_BY_NAME.get(path.name.lower()) or type_of_suffix(path.suffix.lower()) or "text"


def type_of_suffix(suffix: str) -> str | None:
    """Return the file type of a lower-case suffix, such as ``.md``, or None for an unknown suffix."""
    package = packages().get(suffix) if suffix and suffix not in TYPE_BY_SUFFIX else None
    return added_type(package) if package else TYPE_BY_SUFFIX.get(suffix)


def extractor_number(path: PurePosixPath) -> int:
    """Return the number that the store records for a document. It identifies the reader and its version."""
    package = package_of(path)
    return _number(package) if package else EXTRACTOR_VERSION


def is_current(number: int, path: PurePosixPath) -> bool:
    """Whether a document with this ``extractor_number`` would be read the same way today."""
    package = package_of(path)
    return number == _number(package) if package else EXTRACTOR_VERSION <= number < _PACKAGES


def current_sql() -> tuple[str, tuple[str | int, ...]]:
    """Return ``is_current`` as SQL on a row of ``documents``, then the values to bind."""
    bound = EXTRACTOR_VERSION, _PACKAGES - 1
    cases, values = "", list[str | int]()
    for suffix, package in packages().items():
        if suffix[0] == "." and suffix not in TYPE_BY_SUFFIX:
            cases += "WHEN lower(CAST(substr(path, ?) AS TEXT)) = ? THEN extractor = ? "
            values += [-len(suffix), suffix, _number(package)]
    ours = "extractor BETWEEN ? AND ?"
    return f"CASE {cases} ELSE {ours} END" if cases else ours, (*values, *bound)


def reader_of(path: PurePosixPath) -> str:
    """Return the name of the reader of the file at ``path``, for people: ``Commonplace``, or ``the package
    NAME``."""
    package = package_of(path)
    return f"the package {package}" if package else "Commonplace"


def _number(package: Extension) -> int:
    said = "\0".join((package.package, package.version, package.name, package.trouble))
    return _PACKAGES + int.from_bytes(hashlib.sha256(said.encode()).digest()[:7], "big")


def title_of_name(path: PurePosixPath) -> str:
    """Return a title made from a file's name. For a note it is the name in words (``my-weekly-notes`` → ``My
    weekly notes``), for any other file the name. Parts that note apps add to names are left out."""
    if file_type(path) not in ("markdown", "org"):
        return note_names.without_numbers(path.name)
    stem = note_names.without_numbers(path.stem)
    name = stem if " " in stem else _JOINED.sub(" ", stem).strip() or stem
    first = name.split(" ", 1)[0]
    return name[:1].upper() + name[1:] if first.islower() else name


def date_of_name(path: PurePosixPath) -> str | None:
    """Return the ISO date in a name like ``2026-03-15 standup.md`` or ``IMG_20260315.txt``, or None. For a
    month, week or quarter it is its first day."""
    return first_in_name(path.name)
