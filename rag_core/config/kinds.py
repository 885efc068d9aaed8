"""Kinds of values: how pydantic reads a written value, and a description of the allowed values."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from ipaddress import IPv6Address
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import GetCoreSchemaHandler, TypeAdapter, ValidationError, ValidatorFunctionWrapHandler
from pydantic_core import CoreSchema
from pydantic_core import core_schema as schemas

from rag_core.config.keys import HOST_NAME, LOGIN_NAME, STORE_NAME
from rag_core.config.origin import ADVICE, Listing, Text, Written, refused
from rag_core.extract.encoding import codec_of
from rag_core.providers import CHAT_MODELS, EMBEDDERS, RERANKERS, VECTOR_INDEXES, one_of, spellings


@dataclass(frozen=True, slots=True, eq=False)
class Kind:
    """A type of settings: the allowed values, and how they are read."""

    words: str  #: The allowed values, in words.
    schema: CoreSchema | None = None  #: Reads a value; None for the schema of the annotated type.
    before: Callable[[Any], Any] | None = None  #: Converts the written value before the schema reads it.
    advice: str = ADVICE  #: The second sentence of the error for a value that is not allowed.
    #: Whether errors leave out a value: always, or if it contains an @.
    hidden: Literal["never", "always", "with @"] = "never"
    in_yaml_only: bool = False  #: Whether no variable can hold a value, because it is a table.

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        if self.before:
            return schemas.no_info_before_validator_function(self.before, handler(source))
        return schemas.no_info_wrap_validator_function(self._checked, self.schema or handler(source))

    def read(self, written: Any) -> Any:
        """Return the value that ``written`` represents. Raises InvalidSettings if it is not allowed."""
        return TypeAdapter(Annotated[Any, self]).validate_python(written)

    def _checked(self, written: Any, inner: ValidatorFunctionWrapHandler) -> Any:
        try:
            return inner(written)
        except ValidationError:
            if not isinstance(written, Written):
                raise
        hidden = self.hidden == "always" or (self.hidden == "with @" and "@" in written)
        raise refused(written, self.words, self.advice, hidden=hidden)


def whole(low: int, high: int) -> Kind:
    """Return the kind for whole numbers from ``low`` to ``high``, both included."""
    return Kind(f"a whole number from {low} to {high}", schemas.int_schema(ge=low, le=high))


def number(low: float, high: float) -> Kind:
    """Return the kind for numbers from ``low`` to ``high``, both included."""
    return Kind(f"a number from {low:g} to {high:g}", schemas.float_schema(ge=low, le=high))


def choice(*words: str) -> Kind:
    """Return the kind for settings whose value is one of ``words``, which are in lower case. Capitals in a
    value are read as lower case."""
    schema = schemas.chain_schema([schemas.str_schema(to_lower=True), schemas.literal_schema(list(words))])
    return Kind(f"{', '.join(words[:-1])} or {words[-1]}", schema, advice="Write one of these words.")


def word(shape: str, words: str, *, hide: bool = False, lower: bool = False) -> Kind:
    """Return the kind for texts that match the regular expression ``shape`` as a whole. ``words`` describes
    them to people. With ``hide``, errors leave out the value; with ``lower``, it is read in lower case."""
    whole_text = rf"\A(?:{shape})\Z"
    schema = schemas.str_schema(pattern=whole_text, to_lower=lower, regex_engine="python-re")
    return Kind(words, schema, hidden="always" if hide else "never")


_ANYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - what a server listens on is no address


def server_address(port: int | None = None) -> Kind:
    """Return the kind for addresses of servers, read as ``scheme://host:port/path``. An address without a
    scheme is read as http, and ``port`` is added if it has none.

    User, password and query are refused, because they may contain a key.
    """

    def read(text: str) -> str:
        bare = "://" not in text
        if bare:
            is_ipv6 = text.count(":") > 1 and not text.startswith("[")
            text = f"http://[{text}]" if is_ipv6 else f"http://{text}"
        parts = urlsplit(text)
        host, given = parts.hostname or "", parts.port
        odd = re.search(r"[\s\x00-\x1f\x7f@?#]", text) or not re.fullmatch(r"[\w.:-]{1,253}", host)
        if odd or parts.scheme not in ("http", "https"):
            raise ValueError
        host = _ANYWHERE.get(host, host)
        number = port if given is None and bare else given
        shown = f"[{IPv6Address(host)}]" if ":" in host else host
        return f"{parts.scheme}://{shown}{f':{number}' if number else ''}{parts.path.rstrip('/')}"

    return Kind(
        "an address like http://127.0.0.1:8080, without user, password, '?' and '#'",
        schemas.no_info_after_validator_function(read, schemas.str_schema()),
        advice="Change it. A key has a setting of its own; give it in a variable or in .env.",
        hidden="with @",
    )


def _path(given: Any) -> Path:
    if not isinstance(given, (str, Path)) or "\0" in str(given):
        raise ValueError
    path = Path(os.path.expanduser(given))  # noqa: PTH111 - Path.expanduser raises for an unknown user
    if not isinstance(given, Path) and not path.is_absolute():
        raise ValueError
    return path


def as_list(written: Any, separator: str = "") -> Any:
    """Return the written value as a list. A YAML list stays as it is. A variable is split at matches of the
    regular expression ``separator``, if there is one. Nothing written is [], and other values become one
    item."""
    if isinstance(written, Text) and separator and written.origin.layer != "config.yaml":
        return [Text(part, written.origin) for part in re.split(separator, written) if part]
    if isinstance(written, Text) and written.empty:
        return []
    return written if isinstance(written, (Listing, list, tuple)) else [written]


def _absolute(words: str, example: str) -> Kind:
    schema = schemas.no_info_plain_validator_function(_path)
    return Kind(words, schema, advice=f"Write the whole path, like {example}.")


FOLDER = _absolute("an absolute folder", "/home/me/x")


def _folder_encoding(written: Any) -> tuple[Path, str]:
    """Convert ``/home/me/old=cp1251`` to the folder and Python's name of the codec. Raises ValueError."""
    if not isinstance(written, str):
        raise ValueError
    folder, _, name = written.rpartition("=")
    try:
        return _path(folder.strip()), codec_of(name.strip())
    except LookupError:
        raise ValueError(name) from None


_FOLDER_ENCODING = Kind(
    "an absolute folder and an encoding, like /home/me/old=cp1251",
    schemas.no_info_plain_validator_function(_folder_encoding),
    advice="Write the folder from the root, then = and a name such as cp1251, koi8-r or shift_jis.",
)
_BUILT_IN = "|".join(row.pattern for row in EMBEDDERS.values())
_OF_A_PACKAGE = rf"(?!(?:{'|'.join(EMBEDDERS)}):)[a-z][a-z0-9-]{{0,39}}:[^\x00-\x1f\x7f]{{1,300}}"
EMBEDDER = word(
    f"{_BUILT_IN}|{_OF_A_PACKAGE}", one_of([*spellings(EMBEDDERS), "'PROVIDER:MODEL' of a package"])
)
_ON_SERVER = "of a server with /v1/rerank, such as 'bge-reranker@http://127.0.0.1:8080'"
RERANKER = word(
    "|".join(row.pattern for row in RERANKERS.values()),
    f"{', or '.join(repr(row.written) for row in RERANKERS.values())} {_ON_SERVER}",
)
_LLM = word("|".join(row.pattern for row in CHAT_MODELS.values()), one_of(spellings(CHAT_MODELS)))
BACKEND = word(r"[a-z][a-z0-9_-]{0,31}", one_of([repr(kind) for kind in VECTOR_INDEXES]))
STORE = word(STORE_NAME.pattern, "a store's name: 1 to 63 letters, digits, hyphens and underscores")
_LOGIN = word(LOGIN_NAME.pattern, "a login such as ada@example.com", lower=True)
_HOST = word(HOST_NAME.pattern, "a name such as desk or desk.example.com", lower=True)
_paths = partial(as_list, separator=re.escape(os.pathsep))
_words = partial(as_list, separator=r"[,\s]+")

FolderPath = Annotated[Path, FOLDER]
File = Annotated[Path, _absolute("an absolute path of a file", "/home/me/x.json")]
Folders = Annotated[tuple[FolderPath, ...], Kind("a list of absolute folders", before=_paths)]
FolderEncodings = Annotated[
    tuple[Annotated[tuple[Path, str], _FOLDER_ENCODING], ...],
    Kind(f"a list, each {_FOLDER_ENCODING.words}", before=_paths),
]
EmbedderAddress = Annotated[str, EMBEDDER]
Llm = Annotated[str, _LLM]
RerankerName = Annotated[str, RERANKER]
BackendName = Annotated[str, BACKEND]
StoreName = Annotated[str, STORE]
StoreNames = Annotated[tuple[StoreName, ...], Kind(f"a list, each {STORE.words}", before=_words)]
Secret = Annotated[str, word(r"[\x21-\x7e]{1,1000}", "a key of visible characters", hide=True)]
Flag = Annotated[bool, Kind("true or false", schemas.bool_schema())]
TimeLimit = Annotated[float, number(1, 3600)]
Address = Annotated[str, server_address()]
Logins = Annotated[tuple[Annotated[str, _LOGIN], ...], Kind(f"a list, each {_LOGIN.words}", before=_words)]
Hosts = Annotated[tuple[Annotated[str, _HOST], ...], Kind(f"a list, each {_HOST.words}", before=_words)]
