"""Tags and their parents. A document tagged ``recipe/preserves`` also counts for ``recipe``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, chain

from rag_core.text.words import name_key

MOST_LEVELS = 10
_LONGEST = 200
"""Maximum number of characters of one tag."""

MOST_CHARACTERS = 5_000
"""Maximum number of characters of all tags of one document. They are stored again with each of its
passages."""


def bounded(tags: Sequence[str]) -> tuple[tuple[str, ...], str]:
    """Return the tags of a document within the limits, then a sentence about the tags that were left out (''
    if none)."""
    kept, left = list[str](), MOST_CHARACTERS
    for tag in tags:
        if len(tag) <= min(_LONGEST, left) and tag.count("/") < MOST_LEVELS:
            kept.append(tag)
            left -= len(tag)
    if len(kept) == len(tags):
        return tuple(tags), ""
    return tuple(kept), (
        f"{len(tags) - len(kept):,} of its {len(tags):,} tags are left out: a tag has at most {MOST_LEVELS}"
        f" levels and {_LONGEST} characters, and the tags of a document have at most {MOST_CHARACTERS:,}."
    )


def above(tag: str) -> Iterator[str]:
    """Yield the parents of a tag or folder from the top, then itself: ``a``, ``a/b``, ``a/b/c``."""
    return accumulate(tag.split("/"), lambda outer, name: f"{outer}/{name}")


def counted(documents: Iterable[Sequence[str]]) -> dict[str, int]:
    """Count the documents of each tag, including those of its nested tags, most frequent first. ``documents``
    holds the tags of each document."""
    tagged = list(documents)
    counts = Counter(
        tag for tags in tagged for tag in {name_key(each) for tag in tags for each in above(tag)}
    )
    return named(counts, chain(*tagged))


def named(counts: Mapping[str, int], written: Iterable[str]) -> dict[str, int]:
    """Replace the keys of ``counts``, which are made by `name_key`, by the tags as ``written``, most frequent
    first. A parent tag that is never written alone is spelled as in its children."""
    known = sorted(set(written))
    names = {name_key(each): each for tag in reversed(known) for each in above(tag)}
    names |= {name_key(tag): tag for tag in reversed(known)}
    found = [(names.get(tag, tag), count) for tag, count in counts.items()]
    return dict(sorted(found, key=lambda item: (-item[1], item[0])))


def joined_counts(counts: Iterable[tuple[str, int]]) -> dict[str, int]:
    """Add up (tag, count) pairs of several stores. Spellings of one tag that differ only in case are
    joined."""
    total, written = Counter[str](), list[str]()
    for tag, count in counts:
        total[name_key(tag)] += count
        written.append(tag)
    return named(total, written)
