"""Tags and those above them: a tag such as ``recipe`` holds for ``recipe/preserves``, too."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate


def above(tag: str) -> Iterator[str]:
    """A tag behind those above it: ``a``, ``a/b``, ``a/b/c``."""
    return accumulate(tag.split("/"), lambda outer, name: f"{outer}/{name}")


def counted(documents: Iterable[Sequence[str]]) -> dict[str, int]:
    """How many documents, given by their tags, each tag holds for, the most frequent first."""
    tagged = [tags for tags in documents if tags]
    counts = Counter(tag for tags in tagged for tag in {_folded(each) for tag in tags for each in above(tag)})
    return named(counts, (tag for tags in tagged for tag in tags))


def named(counts: Mapping[str, int], written: Iterable[str]) -> dict[str, int]:
    """``counts`` of tags as they are compared, by the names that they have where they are ``written``, the
    most frequent first. One that only others are below is spelled as there."""
    known = sorted(set(written))
    names = {_folded(each): each for tag in reversed(known) for each in above(tag)}
    names |= {_folded(tag): tag for tag in reversed(known)}
    found = [(names.get(tag, tag), count) for tag, count in counts.items()]
    return dict(sorted(found, key=lambda item: (-item[1], item[0])))


def joined(counts: Iterable[tuple[str, int]]) -> dict[str, int]:
    """The sums of what several stores count, however each of them spells a tag."""
    found = list(counts)
    total: Counter[str] = Counter()
    for tag, count in found:
        total[_folded(tag)] += count
    return named(total, (tag for tag, _ in found))


def _folded(tag: str) -> str:
    """A tag as tags are compared."""
    return unicodedata.normalize("NFC", tag).casefold().strip()
