"""Files and folders that are left out by default: built-in folders, names that look like keys, and
``.gitignore``."""

from __future__ import annotations

import errno
import fnmatch
import os
import re
import stat
import unicodedata
from collections.abc import Collection, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from rag_core import system
from rag_core.files.globs import plain_text
from rag_core.files.paths import with_sep

SKIPPED_FOLDERS = frozenset(
    b".git .hg .svn .obsidian .trash node_modules .venv venv __pycache__ .mypy_cache .pytest_cache"
    b" .ruff_cache .tox .idea .vscode .ipynb_checkpoints appdata $recycle.bin .dropbox.cache".split()
) | {b"system volume information"}
"""Folders, in lower case, that are not read unless an include pattern names them."""
_PACKAGES = (
    *(b".photoslibrary", b".photolibrary", b".aplibrary", b".musiclibrary", b".tvlibrary"),
    *(b".imovielibrary", b".fcpbundle", b".lrdata"),
)
"""Suffixes of folders in which a program keeps its data."""
_OF_IWORK = {
    b".pages": "Documents of Pages are not read yet. Save it as DOCX to search its text.",
    b".key": "Presentations of Keynote are not read yet. Save it as PPTX or PDF to search its text.",
    b".numbers": "Workbooks of Numbers are not read yet. Save it as XLSX or CSV to search its rows.",
}
"""The end of the name of a folder that is a document → why it is not read."""
UNREAD_DOCUMENTS = frozenset(_OF_IWORK.values())
_IN_IWORK = tuple(b"Index.zip Index index.xml index.xml.gz index.apxl index.apxl.gz".split())
"""What such a folder holds, one of them."""
_WHOLE_TEXT = b"QuickLook/Preview.pdf"
"""The copy of such a document with all of its text, which older versions wrote."""
CLOUD_FOLDERS = frozenset((b"mobile documents", b"cloudstorage"))
"""The folders in a Mac's ``Library`` that hold the documents of iCloud Drive and other clouds."""
_OF_MOZILLA = frozenset(
    b"prefs.js cert8.db cert9.db key3.db key4.db places.sqlite cookies.sqlite formhistory.sqlite"
    b" permissions.sqlite global-messages-db.sqlite abook.mab abook.sqlite logins.json".split()
)
_OF_CHROMIUM = frozenset(
    (
        *(b"Secure Preferences", b"Login Data", b"Web Data", b"Top Sites", b"Visited Links", b"Favicons"),
        *(b"Network Persistent State", b"TransportSecurity", b"Trust Tokens", b"Local Storage"),
        *(b"Session Storage", b"Code Cache", b"GPUCache"),
    )
)
_PROFILES = (
    (_OF_MOZILLA, _OF_MOZILLA, 2),
    (frozenset((b"Local State",)), frozenset((b"Default", b"Last Version", b"First Run")), 1),
    (_OF_CHROMIUM, _OF_CHROMIUM | frozenset((b"Preferences", b"History", b"Cookies", b"Bookmarks")), 3),
)
"""Signs of a profile of Firefox and Thunderbird, of the folder of all profiles of Chrome and Edge, and of one
such profile.

Each row has names of which at least one must exist, then names of which a minimum number must exist.
"""
PROFILE_NAMES = frozenset[bytes]().union(*(marks | names for marks, names, _ in _PROFILES))
"""All names by which a profile of a browser or mail program is recognized."""
SECRET_FOLDERS = frozenset(b".ssh .gnupg .aws .azure .kube .docker .password-store".split())
GITIGNORE = b".gitignore"
MAX_GITIGNORE_BYTES = 1_000_000

_ENDS_IN_ESCAPE = re.compile(r"(?<!\\)(\\\\)*\\$")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_CLASSES = (
    *(("[:alpha:]", "a-zA-Z"), ("[:digit:]", "0-9"), ("[:alnum:]", "a-zA-Z0-9")),
    *(("[:lower:]", "a-z"), ("[:upper:]", "A-Z"), ("[:space:]", " \t")),
)
_SECRET_NAMES = frozenset(
    b".netrc _netrc .npmrc .pypirc .pgpass .my.cnf .git-credentials .htpasswd .dockercfg .vault-token"
    b" credentials credentials.json credentials.csv credentials.yml credentials.yaml credentials.toml"
    b" credentials.ini secret.yml secret.yaml secret.json secrets.yml secrets.yaml secrets.json secrets.toml"
    b" secrets.ini".split()
)
_SECRET_PREFIXES = (b".env", b"id_rsa", b"id_dsa", b"id_ecdsa", b"id_ed25519", b"client_secret")
_SECRET_SUFFIXES = (
    *(b".pem", b".key", b".p12", b".pfx", b".pk8", b".ppk", b".jks", b".keystore"),
    *(b".kdb", b".kdbx", b".env", b".ovpn"),
)


_LEFTOVERS = frozenset(b".ds_store desktop.ini thumbs.db ehthumbs.db .dropbox .dropbox.attr".split()) | {
    b"icon\r"
}
_LEFTOVER_PREFIXES = (b"~$", b".~", b"._")
"""Prefixes of the lock files of Office and LibreOffice, of files that Dropbox is writing, and of files that
macOS adds on other disks."""
_UNFINISHED_PREFIXES = (b"~", b".syncthing.")
"""Prefixes of ``.tmp`` files that Word, Syncthing and Dropbox are writing."""


def is_leftover(name: bytes) -> bool:
    """Whether a file is left behind by a program or the system and is no document, judged by its name."""
    lower = name.lower()
    is_unfinished = lower.endswith(b".tmp") and lower.startswith(_UNFINISHED_PREFIXES)
    return is_unfinished or lower in _LEFTOVERS or lower.startswith(_LEFTOVER_PREFIXES)


def is_of_program(name: bytes) -> bool:
    """Whether a folder holds data that a program or the system keeps for itself, judged by its name."""
    lower = name.lower()
    return lower in SKIPPED_FOLDERS or lower.endswith(_PACKAGES)


def why_not_entered(folder: bytes) -> str | None:
    """Return why a document of Pages, Numbers or Keynote that is a folder is not read. ``folder`` has a slash
    at its end. None for any other folder, and for one that holds a copy of its text as PDF."""
    reason = _OF_IWORK.get(folder[folder.rfind(b".") : -1].lower())
    is_document = reason and any(os.path.lexists(folder + name) for name in _IN_IWORK)
    return reason if is_document and not os.path.lexists(folder + _WHOLE_TEXT) else None


def is_profile(names: Collection[bytes]) -> bool:
    """Whether a folder with these files and folders is a profile of a browser or mail program."""
    there = PROFILE_NAMES.intersection(names)
    return any(
        not marks.isdisjoint(there) and len(others & there) >= least for marks, others, least in _PROFILES
    )


def is_home(folder: bytes) -> bool:
    """Whether a folder is a home folder, on this computer or in a copy of a disk. The path must end in a
    slash."""
    above, _, _ = folder.rstrip(b"/").rpartition(b"/")
    if above.rpartition(b"/")[2].lower() in (b"users", b"home"):
        return True
    with suppress(RuntimeError):  # this user has no home folder
        return folder == with_sep(os.fsencode(Path.home()))
    return False


def is_secret(name: bytes) -> bool:
    """Whether a file looks like a key or a password store, judged by its name. Such files are never read,
    even if a pattern names them."""
    lower = name.lower()
    return lower.endswith(_SECRET_SUFFIXES) or lower.startswith(_SECRET_PREFIXES) or lower in _SECRET_NAMES


class IgnoreRule(NamedTuple):
    """The rule in one line of a ``.gitignore``."""

    line: str  #: The line as written.
    ignores: bool  #: False if the line begins with ``!``, so that matching paths are not ignored.
    folders_only: bool  #: Whether the line ends in a slash.
    #: Whether the line has a slash before its end, so that it matches only paths relative to the file's
    #: folder, and not names at any depth.
    anchored: bool
    #: A test for each part of a path; None stands for ``**``. Unless ``anchored``, the first one is None.
    segments: tuple[re.Pattern[str] | None, ...]


def _match_all(segments: Sequence[re.Pattern[str] | None], parts: Sequence[str]) -> bool:
    """Whether ``segments`` match all of ``parts``. All possibilities are tracked at once, because a hostile
    line with many ``**`` would have millions."""
    last, reached = len(segments) - 1, {0}  # numbers of segments that can match the parts so far
    for part in parts:
        following: set[int] = set()
        for position in reached:
            while position < last and segments[position] is None:  # ``**`` matches this part, or no part
                following.add(position)
                position += 1
            segment = segments[position] if position <= last else None
            if segment and segment.match(part):
                following.add(position + 1)
            elif position == last and not segment:
                following |= {last, last + 1}
        if not following:
            return False
        reached = following
    return last + 1 in reached


class IgnoreFile(NamedTuple):
    """The rules of one ``.gitignore``."""

    base: bytes  #: Path of the file's folder, with a slash at the end.
    rules: tuple[IgnoreRule, ...]  #: Rules from last to first.
    anchored: tuple[IgnoreRule, ...]  #: Rules that are also checked for a name that does not match ``names``.
    names: re.Pattern[str] | None  #: Matches a name that a rule may match at any depth; None if any name may.


def ignored_by(ignores: tuple[IgnoreFile, ...], path: bytes) -> str | None:
    """Return the sentence that names the rule which ignores ``path``, or None if no rule does. ``path`` is
    absolute; the path of a folder ends in a slash. The innermost file with a matching rule decides, as in
    git."""
    is_folder = path.endswith(b"/")
    for ignore in reversed(ignores):
        parts = plain_text(path[len(ignore.base) :].rstrip(b"/")).split("/")
        rules = ignore.rules if ignore.names is None or ignore.names.match(parts[-1]) else ignore.anchored
        for rule in rules:
            if (is_folder or not rule.folders_only) and _match_all(rule.segments, parts):
                name = os.fsdecode(ignore.base + GITIGNORE)
                return f"The line {rule.line!r} of {name!r} ignores it." if rule.ignores else None
    return None


def read_ignore_file(base: bytes) -> tuple[IgnoreFile, ...]:
    """Read the ``.gitignore`` of the folder ``base``, whose path ends in a slash. Returns an empty tuple if
    there is no such regular file. Raises OSError if the file cannot be read."""
    # Like git, no symbolic link is followed; and a pipe of that name must not block the walk.
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        path = system.for_calls(base + GITIGNORE)
        status = os.lstat(path)
        if not stat.S_ISREG(status.st_mode):
            return ()
        if system.is_online_only(status):
            raise OSError(errno.EAGAIN, "it is in the cloud, not on this computer")
        with os.fdopen(os.open(path, flags), "rb") as file:
            content = file.read(MAX_GITIGNORE_BYTES).decode("utf-8-sig", "surrogateescape")
    except FileNotFoundError:
        return ()
    lines = unicodedata.normalize("NFC", content).replace("\r\n", "\n").split("\n")
    rules = tuple(filter(None, map(_rule, reversed(lines))))
    anchored = tuple(rule for rule in rules if rule.anchored)
    tests = [rule.segments[-1] for rule in rules if not rule.anchored]
    patterns = "|".join(test.pattern for test in tests if test) or r"(?!)"
    names = None if None in tests else re.compile(patterns)
    return (IgnoreFile(base, rules, anchored, names),) if rules else ()


def _rule(line: str) -> IgnoreRule | None:
    """Parse a line as gitignore(5) defines it. Returns None for comments and for lines that git ignores."""
    pattern = line.rstrip(" ")
    if pattern.endswith("\\") and pattern != line:  # keep an escaped space
        pattern += " "
    negated = pattern.startswith("!")
    body = pattern[negated:].removesuffix("/")
    if not body or line.startswith("#") or _ENDS_IN_ESCAPE.search(body):
        return None
    anchored, segments = "/" in body, tuple(map(_segment, body.removeprefix("/").split("/")))
    return IgnoreRule(
        line, not negated, pattern.endswith("/"), anchored, segments if anchored else (None, *segments)
    )


def _segment(segment: str) -> re.Pattern[str] | None:
    if segment == "**":
        return None
    for name, characters in _CLASSES:
        segment = segment.replace(name, characters)
    plain = _ESCAPE.sub(lambda escape: f"[{escape[1]}]" if escape[1] in "*?[" else escape[1], segment)
    return re.compile(fnmatch.translate(plain.replace("[^", "[!")))


def ignore_files_above(root: bytes) -> tuple[IgnoreFile, ...]:
    """Return the ``.gitignore`` files above ``root`` in its git repository, outermost first; () outside of
    one. Also () if they ignore ``root`` itself, because a source that is an ignored folder should be read."""
    way = [root]
    while not os.path.lexists(way[-1] + b".git"):
        parent = with_sep(os.path.dirname(way[-1][:-1]))  # noqa: PTH120  (bytes)
        if parent == way[-1]:
            return ()
        way.append(parent)
    ignores: tuple[IgnoreFile, ...] = ()
    for below, folder in reversed(list(pairwise(way))):
        with suppress(OSError):
            ignores += read_ignore_file(folder)
        if ignored_by(ignores, below):
            return ()
    return ignores
