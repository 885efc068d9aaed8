"""The query language: ``type:python tag:aws status:open after:2026-01-01 "exact words" -without``.

A minus before a filter (``-tag:draft``) leaves out documents that match the filter. ``NOT draft`` means
``-draft``. ``AND`` is ignored, as all words count anyway. ``pension OR annuity`` matches either word. In a
query all in capitals, these are plain words.

Operators of other programs (``|``, ``NEAR/3``, groups) have no effect, and the answer says so. Other text is
searched as typed. A ``key:`` that is neither a filter nor a property of a document is plain words, and so is
``-F``, an option of a command.

Signs without a letter or digit are ignored, but found exactly inside quotes. A text of more than 2,000
characters has no operators.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from rag_core.errors import EmptyQuery, InvalidInput
from rag_core.messages import Message, say
from rag_core.store.find import FILTERS
from rag_core.store.properties import key_of
from rag_core.text.days import DAY_EXAMPLES, WORDS, span
from rag_core.text.phrases import exact
from rag_core.text.words import (
    is_unspaced,
    name_key,
    query_words,
    unit_forms,
    units,
    with_units,
    with_words,
)
from rag_core.types import Filters, Query, Terms

MAX_LENGTH = 2000
"""Maximum characters of a query. A longer text counts as pasted, and every word of it is a plain word."""

MAX_BYTES = 20_000
"""Maximum bytes of a pasted text. A longer one is refused, because its words would delay other searches."""

MAX_PHRASE = 200  # characters; the text of every passage with its words is searched for a phrase
MAX_OPERATORS = 100
_SHOWN = 40
_RANKED_LENGTH = 1000  # characters that are searched word by word; no embedder reads much more
_COUNTED = 1000  # number of the longest words of a pasted text, which are rare
_RUN = 8  # characters of a script without spaces that are searched together

_TOKEN = re.compile(
    rf"""(?P<not>(?<!\S)-)?(?:
          (?P<day>(?i:date|after|before)):(?P<days>(?i:{WORDS}))
        | (?P<key>[^\W\d][\w.-]*):(?:"(?P<quoted>[^"]*)"|(?P<value>\S+)))
      | (?P<minus>(?<!\S)-(?![a-zA-Z0-9](?!\S)))?(?:"(?P<phrase>[^"]*)"|(?P<word>[^\s"]+))
      | (?P<stray>")""",
    re.VERBOSE,
)

_QUOTES = str.maketrans(dict.fromkeys("“”„«»", '"'))
"""The quotes that phones and word processors type."""
_OPERATORS = frozenset(("AND", "OR", "NOT"))
_NEAR = re.compile(r"NEAR|(?:NEAR|BEFORE|AFTER|WITHIN|ADJ|[Ww])/\d{1,3}")
_GROUP = re.compile(r"\(([^()]+)\)(?=\s+OR\s)|(?<=\sOR\s)\(([^()]+)\)")
_WITH_SIGNS = re.compile(r"[A-Za-z]{1,2}(?:#|\+\+)")
_WITH_STAR = re.compile(r"\*(?=\w)")  # at the end of a word it changes nothing: longer words are found
_CODE = (":", "/", "\\")  # what follows the colon of a name in code, an address or a Windows path
_SAYS_SOMETHING = re.compile("[^-\"' ]")

_FILTERS = {key: each for each in FILTERS for key in each.keys}
FILTER_KEYS = tuple(_FILTERS)
_KEYS = {*FILTER_KEYS, "store"}
NAMES_OF_FILTERS = tuple(each.keys[0] for each in FILTERS if each.keys)
"""The first name of each filter."""


def parse(raw: str, properties: Collection[str] = ()) -> Query:
    """Parse a query as typed. ``KEY:value`` is a filter if KEY is the name of one, or if its `key_of` is in
    ``properties``. Raises InvalidInput if the query is too long, has too many operators, or has an impossible
    date."""
    if (size := len(raw.encode("utf-8", "replace"))) > MAX_BYTES:
        advice = f"Use at most {MAX_BYTES:,} bytes; a few words find most."
        raise InvalidInput(f"The query is {size:,} bytes long.", advice)
    if len(raw) > MAX_LENGTH:
        return _pasted(raw)
    parts = _parts(_storable(raw).translate(_QUOTES), properties)
    filters = [*parts.filters, *parts.excluded, *parts.stores]
    _check_limits(filters, [*parts.phrases, *parts.without])
    text = " ".join(" ".join(parts.spoken).split())
    query = Query(
        raw=raw,
        text="",
        phrases=tuple([exact(phrase) for phrase in parts.phrases if phrase.strip()]),
        without=tuple([exact(words) for words in parts.without if _SAYS_SOMETHING.search(words)]),
        stores=tuple(parts.stores),
        filters=filters_from(parts.filters),
        excluded=filters_from(parts.excluded),
        remarks=tuple(parts.remarks),
    )
    unquoted = query_words(" ".join(parts.loose)[:_RANKED_LENGTH])
    query = with_words(query, query_words(text[:_RANKED_LENGTH]), text, unquoted)
    if not text:
        return _named_by_day(query, parts)
    return with_units(query, _alternatives(parts))


def _named_by_day(query: Query, parts: _Parts) -> Query:
    """Return a query without words as a query for the note whose name is the query's last day."""
    days = [value for key, value in parts.filters if _FILTERS[key.lower()].field == "dates"]
    return replace(query, terms=replace(query.terms, name=name_key(days[-1]))) if days else query


@dataclass(slots=True)
class _Parts:
    """The parts of a query, sorted by their kind."""

    filters: list[tuple[str, str]] = field(default_factory=list)  #: The key and value of each filter.
    #: The key and value of each filter with a minus.
    excluded: list[tuple[str, str]] = field(default_factory=list)
    stores: list[str] = field(default_factory=list)
    phrases: list[str] = field(default_factory=list)
    without: list[str] = field(default_factory=list)  #: Exact words with a minus.
    spoken: list[str] = field(default_factory=list)  #: The text that is searched by its words, in order.
    loose: list[str] = field(default_factory=list)  #: The parts of this text outside quotes.
    #: Neighbouring words with an OR between them.
    either: list[tuple[str, str]] = field(default_factory=list)
    remarks: list[Message] = field(default_factory=list)


def _parts(text: str, properties: Collection[str]) -> _Parts:
    """Sort the tokens of a query by their kind."""
    parts = _Parts()
    tokens = [*_TOKEN.finditer(text)]
    operators = _OPERATORS if any(map(_is_not_shouted, tokens)) else frozenset[str]()
    before: re.Match[str] | None = None
    operator = ""
    if operators:
        parts.remarks += _groups(text)
    if " | " in text:
        parts.remarks.append(say("bar"))
    for index, token in enumerate(tokens):
        written, is_last = token.group(), index + 1 == len(tokens)
        if written in operators and not is_last and (before or written == "NOT"):
            operator = written
            continue
        if operators and before and not is_last and _NEAR.fullmatch(written):
            parts.remarks.append(say("near", operator=written))
            continue
        _sort(token, properties, parts, is_excluded=operator == "NOT")
        if operator == "OR" and before:
            _join(before, token, parts)
        before, operator = token, ""
    return parts


def _groups(text: str) -> list[Message]:
    """Return a remark for each group in parentheses next to an OR: it is not read as a group, if that
    matters."""
    remarks: list[Message] = []
    for match in _GROUP.finditer(text):
        group = match[1] or match[2]
        if any(" " in part.strip() for part in re.split(r"\sOR\s", group)):
            remarks.append(say("group", group=match.group()[:_SHOWN]))
    return remarks


def _is_not_shouted(token: re.Match[str]) -> bool:
    """Whether a token is not all in capitals, so that capitals elsewhere mean something."""
    return token.group() not in _OPERATORS and not token.group().isupper()


def _join(before: re.Match[str], token: re.Match[str], parts: _Parts) -> None:
    """Record that two tokens have an OR between them. Filters of one kind are alternatives anyway."""
    if before["word"] and token["word"]:
        parts.either.append((before["word"], token["word"]))
    elif not (before["key"] and before["key"] == token["key"]):
        parts.remarks.append(say("or_between", before=before.group()[:_SHOWN], after=token.group()[:_SHOWN]))


def _alternatives(parts: _Parts) -> dict[str, str]:
    """Return the units of words with an OR between them. Each is mapped to all of these units, as
    alternatives."""
    together: dict[str, list[str]] = {}
    for pair in parts.either:
        both = units(query_words(" ".join(pair)))
        if len(both) != len(pair):  # numbers, codes and words without spaces have several
            parts.remarks.append(say("or_between", before=pair[0][:_SHOWN], after=pair[1][:_SHOWN]))
            continue
        group = list(dict.fromkeys([*together.get(both[0], [both[0]]), both[1]]))
        together |= dict.fromkeys(group, group)
    return {
        unit: "|".join([unit, *(other for other in group if other != unit)])
        for unit, group in together.items()
    }


def _sort(token: re.Match[str], properties: Collection[str], parts: _Parts, *, is_excluded: bool) -> None:
    """Add a token to the part of the query that it belongs to."""
    key, value = _key_and_value(token)
    is_excluded = is_excluded or bool(token["not"])
    if pair := _as_filter(key, value, properties):
        (parts.excluded if is_excluded else parts.filters).append(pair)
    elif token["not"]:
        parts.without.append(token.group()[1:])
    elif key.lower() == "store" and value:
        parts.stores.append(value)
    elif token["minus"] or (is_excluded and not token["stray"]):
        parts.without.append(token["phrase"] or token["word"] or token.group())
    elif token["phrase"] is not None:
        parts.phrases.append(token["phrase"])
        parts.spoken.append(token["phrase"])
    elif not token["stray"]:
        _say(token.group(), parts)


def _say(word: str, parts: _Parts) -> None:
    """Add a plain word. A name such as ``C#`` is searched exactly, as its letter alone says nothing."""
    if _WITH_SIGNS.fullmatch(word):
        parts.phrases.append(word)
        parts.spoken.append(word)
        return
    if word[0] == "!" and word[1:].isalpha():
        parts.remarks.append(say("not_left_out", word=word[:_SHOWN], instead=f"-{word[1:]}"[:_SHOWN]))
    if match := _WITH_STAR.search(word):
        parts.remarks.append(
            say("star", word=word[:_SHOWN], instead=match.re.sub(" ", word).strip()[:_SHOWN])
        )
    parts.spoken.append(word)
    parts.loose.append(word)


def _key_and_value(token: re.Match[str]) -> tuple[str, str]:
    """Return the key of a token as typed and its value; both are '' if the token has no key."""
    value = token["days"] or (token["quoted"] if token["value"] is None else token["value"])
    return token["day"] or token["key"] or "", value or ""


def _as_filter(key: str, value: str, properties: Collection[str]) -> tuple[str, str] | None:
    """Return a filter's key and value, or None if ``key`` is no filter."""
    if key.lower() in _FILTERS:
        return key, value
    if _may_be_property(key, value) and key_of(key) in properties:
        return "property", f"{key_of(key)}:{value}"
    return None


def _may_be_property(key: str, value: str) -> bool:
    return len(key) > 1 and key.lower() not in _KEYS and not value.startswith(_CODE)


def other_keys(raw: str) -> dict[str, str]:
    """Return the keys in a query that may name a property: `key_of` of each → the key as typed."""
    names: dict[str, str] = {}
    for token in _TOKEN.finditer(_storable(raw)) if len(raw) <= MAX_LENGTH else ():
        key, value = _key_and_value(token)
        if _may_be_property(key, value):
            names.setdefault(key_of(key), key)
    return names


def _pasted(raw: str) -> Query:
    """Return a query for a text that is too long to be one, such as a pasted page. Its longest words are its
    ``typed`` words. Later, the rarest of these are searched."""
    text = " ".join(_storable(raw).split())
    words = query_words(text)
    cut: dict[str, None] = {}
    for word in words:
        step = _RUN if is_unspaced(word) else len(word)
        cut.update(dict.fromkeys(word[start : start + step] for start in range(0, len(word), step)))
    longest = {*sorted(cut, key=len, reverse=True)[:_COUNTED]}
    typed = tuple((word, tuple(units([word]))) for word in cut if word in longest)
    return Query(raw, text if words else "", Terms(words, loose=unit_forms(words), typed=typed))


def _check_limits(filters: Sequence[object], exact: Sequence[str]) -> None:
    if (operators := len(filters) + len(exact)) > MAX_OPERATORS:
        problem = f"The query has {operators:,} filters, phrases and exclusions."
        raise InvalidInput(problem, f"Use at most {MAX_OPERATORS} of them.")
    longest = max(exact, key=len, default="")
    if len(longest) > MAX_PHRASE:
        raise InvalidInput(
            f"The exact words {longest[:40] + '…'!r} are {len(longest):,} characters long.",
            f"Use at most {MAX_PHRASE} between quotes or after a minus.",
        )


def asked(raw: str, filters: Filters | None = None, properties: Collection[str] = ()) -> Query:
    """Parse a query as `parse` does. The result also requires that a document matches ``filters``. Raises
    EmptyQuery if the query asks for nothing, and InvalidInput if it is too long, has too many operators, or
    has an impossible date."""
    query = parse(raw, properties)
    if filters is not None and filters != Filters():
        both, beside = merge(query.filters, filters)
        query = replace(query, filters=both, beside=beside)
    narrowed = (query.filters, query.excluded) != (Filters(), Filters())
    if query.text or query.phrases or query.without or query.stores or narrowed:
        return query
    signs = " ".join(_storable(raw).replace('"', " ").split()).strip("- ")
    if not signs:
        raise EmptyQuery("The query is empty.", "Type a few words, or a filter such as tag:recipe.")
    raise EmptyQuery(
        f"There is no letter or digit in {signs[:_SHOWN]!r}.",
        f'Type a few words; to find signs exactly, put them in double quotes: "{signs[:_SHOWN]}".',
    )


def _storable(text: str) -> str:
    """Return ``text`` without NUL and lone surrogates, which no database or model accepts."""
    return text.replace("\x00", " ").encode("utf-8", "replace").decode("utf-8")


def filters_from(pairs: Iterable[tuple[str, str]]) -> Filters:
    """Return filters from (key, value) pairs. Values of one key are alternatives. Raises InvalidInput for an
    unknown key or an impossible value; the error names the allowed ones."""
    values_of: dict[str, Any] = {}
    for key, value in pairs:
        kind = _FILTERS.get(key.lower())
        if kind is None:
            raise InvalidInput(f"There is no filter called {key!r}.", f"Use one of {', '.join(FILTER_KEYS)}.")
        value = _storable(value)
        if kind.is_day:
            values_of[kind.field] = day(key, value)  # the last one counts
        else:
            earlier = values_of.get(kind.field, ())
            values_of[kind.field] = tuple(dict.fromkeys((*earlier, kind.clean(value))))
    return Filters(**values_of)


def day(key: str, value: str) -> str:
    """Return the first day that ``value`` names, such as *last week*, as an ISO date. Raises InvalidInput if
    it names no day; the error calls the filter ``key``."""
    if (days := span(value)) is None:
        raise InvalidInput(f"{value!r} is not a date for {key!r}.", f"Write {DAY_EXAMPLES}.")
    return days[0]


def merge(first: Filters, second: Filters) -> tuple[Filters, Filters]:
    """Combine two conditions, both of which a document must meet, and return two again, because values of one
    field are alternatives. If both have a field, the first result has the values of ``first``, the second
    those of ``second``.

    All else is in the first result. Of two dates the narrower counts. Raises InvalidInput for more than 100
    values.
    """

    def lists(filters: Filters) -> dict[str, tuple[str, ...]]:
        names = [f.name for f in fields(Filters) if f.name not in ("after", "before", "since")]
        values_of: dict[str, tuple[str, ...]] = {}
        for name in names:
            if values := getattr(filters, name):
                values_of[name] = tuple(dict.fromkeys([_storable(value) for value in values]))
        return values_of

    ours, theirs = lists(first), lists(second)
    if (count := sum([len(values) for values in (*ours.values(), *theirs.values())])) > MAX_OPERATORS:
        raise InvalidInput(f"The search has {count:,} filters.", f"Use at most {MAX_OPERATORS}.")
    after = max(filter(None, (first.after, second.after)), default=None)
    before = min(filter(None, (first.before, second.before)), default=None)
    since = max(filter(None, (first.since, second.since)), default=None)
    both = replace(Filters(**theirs | ours), after=after, before=before, since=since)  # type: ignore[arg-type]
    return both, Filters(**{name: theirs[name] for name in ours.keys() & theirs})  # type: ignore[arg-type]
