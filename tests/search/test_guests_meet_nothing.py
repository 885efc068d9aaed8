"""Every read of a guest, twice: of a store with private notes, and of one that never had them.

Both must give the same, to the last digit: whatever differed would tell that there is something, or what.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, is_dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, get_args

import pytest

from rag_core.config import Settings
from rag_core.errors import NotFound, RagError
from rag_core.library import Library
from rag_core.models.hashing import Hashing
from rag_core.types import OWNER, Filters, Mode, Viewer
from tests.conftest import index
from tests.support.chat_servers import OllamaChat, say
from tests.support.rest import Rest, serving_rest
from tests.support.stored import keys
from tests.support.trees import write

pytestmark = pytest.mark.thorough

GUEST = Viewer("ada@example.org", stores=frozenset({"notes"}), may_ask=True)
RULES = ("hidden/**", "*.diary.md")
OPEN = {
    "tea.md": "---\ntags: [drink]\naliases: [chai]\n---\n# Tea\n\nThe kettle whistles. See [[gift]], [[plan]]"
    " and [[coffee]].\n",
    "coffee.md": "---\ntags: [drink]\n---\n# Coffee\n\nBeans and water. Back to [[tea]].\n\nThe garden kettle"
    " is blue.\n\n## Mill\n\nThe mill is loud.\n",
    "deep/plan.md": "# Plan\n\nWater the garden at six, with the kettle.\n",
    "copy.md": "The same passage word for word.\n",
    "price.md": "# 研究\n\n价格歧视的研究. 哈哈.\n",
    "kettle.py": "def kettle():\n    return 'steam'\n",
}
_MORE = "\n".join(
    f"## Part {n}\n\nThe kettle, the kettle and the mill {n}, all of brass.\n" for n in range(30)
)
_LONG = "It is so. " * 60 + "\n\n"  # more words than a byte counts in what FTS5 keeps of a passage
SECRET = {
    "hidden/gift.md": "---\ntags: [surprise, drink/cold]\naliases: [chai, tea]\n{private}---\n# Gift\n\nThe"
    " kettle for Ann, from Zanzibar. See [[tea]] and [[plan]].\n",
    "hidden/plan.md": "---\n{private}---\n# Plan\n\nWater from Zanzibar.\n",
    "hidden/a-copy.md": "---\n{private}---\nThe same passage word for word.\n",
    "hidden/brass.md": "---\n{private}---\n# Brass\n\n" + _LONG + _MORE,
    "my.diary.md": "---\n{private}---\n# Tea\n\nThe garden of Zanzibar.\n",
}
QUERIES = (
    "kettle", "garden kettle", "water the mill", "zanzibar", "gift", "chai", "tea", "plan", "brass",
    "same passage", '"word for word"', "kettle -water", 'garden -"kettle is"', "tag:drink", "tag:surprise",
    "tag:surpris kettle", "tag:drink/cold", "type:csv kettle", "type:pyton", "path:hidden",
    "path:hidden kettle", "path:hiden", "path:*diary*", "file:gift.md", "file:plan.md", "file:my.diary.md",
    "after:2000-01-01 kettle", "before:2000-01-01 kettle", "store:notes kettle", "store:note kettle",
    "store:mine kettle", "价格 价格歧视", "哈哈哈哈",
)  # fmt: skip
QUESTIONS = ("What of the kettle?", "the kettle for Ann from Zanzibar")
VOLATILE = {
    "id",
    "key",
    "indexed_at",
    "created_at",
    "generation",
    "query_time_ms",
    "took_ms",
    "timestamp",
    "link",
}
FENCE = re.compile(r"(?<=<<<)[0-9a-f]{8}|[0-9a-f]{8}(?=>>>)")


def scrubbed(value: Any) -> Any:
    """``value`` without what no two stores have alike."""
    if is_dataclass(value) and not isinstance(value, type):
        return scrubbed(asdict(value))
    if isinstance(value, Mapping):
        return {name: None if name in VOLATILE else scrubbed(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [scrubbed(each) for each in value]
    return round(value, 9) if isinstance(value, float) else value


def told(read: Callable[[], Any]) -> Any:
    """What a read gives, or what it says why not."""
    try:
        return scrubbed(read())
    except RagError as error:
        return [type(error).__name__, error.message, error.suggestion]


# --- every read -------------------------------------------------------------------------


def searches(library: Library) -> dict[str, Any]:
    def search(query: str, **options: Any) -> Any:
        return told(lambda: library.search(GUEST, query, **options))

    return {
        **{
            f"search {query!r} {mode} {top_k} {offset}": search(query, mode=mode, top_k=top_k, offset=offset)
            for query, mode in product(QUERIES, get_args(Mode))
            for top_k, offset in ((10, 0), (1, 0), (1, 1), (1, 5))
        },
        "every score": search("kettle", min_score=0.0, top_k=100),
        **{
            f"documents {query!r} {mode}": search(query, mode=mode, top_k=5, group="document", facets=True)
            for query, mode in product(QUERIES, get_args(Mode))
        },
        "in so many tokens": search("kettle", min_score=0.0, max_tokens=20),
        "by field": search("kettle", filters=Filters(tags=("surprise",), paths=("hidden",))),
        "in another store": search("kettle", stores=["mine"]),
    }


def looks(library: Library) -> dict[str, Any]:
    reads: dict[str, Callable[[], Any]] = {
        "stores": lambda: library.stores.names(GUEST),
        "store": lambda: library.stores.info(GUEST, "notes"),
        "infos": lambda: library.stores.infos(GUEST),
        "status": lambda: library.stores.status(GUEST),
        "facets": lambda: library.documents.facets(GUEST),
        "facets of it": lambda: library.documents.facets(GUEST, ["notes"]),
        "documents": lambda: library.documents.all(GUEST, "notes"),
        "the store that is meant": lambda: library.stores.resolve(GUEST),
    }
    for path in (*OPEN, *SECRET, "hidden", "hidden/", "HIDDEN/gift.md", "gift", ""):
        reads[f"excerpt {path}"] = partial(library.documents.excerpt, GUEST, "notes", path)
        reads[f"lines {path}"] = partial(library.documents.excerpt, GUEST, "notes", path, 900, 901)
        reads[f"similar to {path}"] = partial(library.searching.similar, GUEST, "notes", path)
        reads[f"document {path}"] = partial(library.documents.get, GUEST, "notes", path)
        reads[f"text {path}"] = partial(library.originals.text, GUEST, "notes", path)
        reads[f"picture {path}"] = partial(library.originals.picture, GUEST, "notes", path, "gift.png")
    for path in OPEN:
        for number, key in enumerate(keys(library, "notes", path)):
            reads[f"in place {path} {number}"] = partial(library.documents.around, GUEST, "notes", key, 20)
            reads[f"similar to {path} {number}"] = partial(library.searching.similar, GUEST, "notes", key=key)
            reads[f"around {path} {number}"] = partial(library.documents.neighbours, GUEST, "notes", key, 20)
    return {name: told(read) for name, read in reads.items()}


def questions(library: Library, chat: OllamaChat) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for question in (*QUESTIONS, "brass", "tag:surprise what?"):
        chat.asked.clear()
        found[question] = told(partial(library.ask, GUEST, question, k=20))
        found[f"{question}, to the model"] = [
            FENCE.sub("…", repr(body["messages"])) for body in chat.bodies("/api/chat")
        ]
    return found


def over_rest(library: Library) -> dict[str, Any]:
    with serving_rest(library, GUEST) as rest:
        return {name: scrubbed([got.status, got.json]) for name, got in _answers(rest)}


def _answers(rest: Rest) -> Iterator[tuple[str, Any]]:
    for path in ("/status", "/stores", "/stores/notes", "/stores/mine", "/documents?store=notes"):
        yield path, rest.get(path)
    for path in (*OPEN, *SECRET):
        yield f"document {path}", rest.get(f"/documents/notes/{path}")
    for query in QUERIES:
        yield f"search {query}", rest.post("/search", {"query": query, "min_score": 0})
        yield f"facets {query}", rest.post("/search", {"query": query, "group": "document", "facets": True})
    for path in (*OPEN, *SECRET):
        yield f"similar {path}", rest.post("/similar", {"path": path, "store": "notes"})
    for question in QUESTIONS:
        yield f"ask {question}", rest.post("/ask", {"question": question})


def everything(library: Library, chat: OllamaChat) -> dict[str, Any]:
    return {**searches(library), **looks(library), **questions(library, chat)}


def differing(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """What two guests are told differently."""
    assert one.keys() == other.keys()
    return {name: (one[name], other[name]) for name in one if one[name] != other[name]}


# --- the ways to be private -------------------------------------------------------------


@pytest.fixture
def open_library(tmp_path: Path, ollama_chat: OllamaChat) -> Iterator[Callable[[str], Library]]:
    opened: list[Library] = []
    ollama_chat.script = say('The kettle "whistles" [1].')

    def make(name: str) -> Library:
        home = tmp_path / name
        plain = Settings(home / "data", home / "models", (tmp_path,))
        talker = {"llm": "ollama:talker", "ollama_url": ollama_chat.url}
        opened.append(Library.open(plain.model_copy(update=talker)))
        place(folder_of(opened[-1]), OPEN)
        index(opened[-1], "notes", folder_of(opened[-1]))
        return opened[-1]

    yield make
    for library in opened:
        library.close()


def folder_of(library: Library) -> Path:
    folder = library.settings.data_dir.parent / "notes"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def place(folder: Path, files: Mapping[str, str], said: str = "") -> None:
    """Write files that are all as old."""
    write(folder, {path: text.replace("{private}", said) for path, text in files.items()})
    for path in files:
        os.utime(folder / path, (1_700_000_000, 1_700_000_000))


def by_note(library: Library) -> None:
    place(folder_of(library), SECRET, "private: true\n")
    index(library, "notes")


def by_rule_before(library: Library) -> None:
    library.privacy.set(OWNER, "notes", RULES)
    place(folder_of(library), SECRET)
    index(library, "notes")


def by_rule_after(library: Library) -> None:
    place(folder_of(library), SECRET)
    index(library, "notes")
    library.privacy.set(OWNER, "notes", RULES)


def by_both(library: Library) -> None:
    by_note(library)
    library.privacy.set(OWNER, "notes", RULES)
    library.privacy.set(OWNER, "notes", ())
    library.privacy.set(OWNER, "notes", RULES)


def by_a_move(library: Library) -> None:
    library.privacy.set(OWNER, "notes", RULES)
    folder = folder_of(library)
    place(folder, {path.replace("hidden/", "later/"): text for path, text in SECRET.items()})
    index(library, "notes")
    (folder / "later").rename(folder / "hidden")
    index(library, "notes")


def by_an_import(library: Library) -> None:
    by_rule_after(library)
    packed = library.settings.data_dir.parent / "notes.commonplace"
    library.stores.export(OWNER, "notes", packed)
    library.stores.delete(OWNER, "notes")
    library.stores.import_file(OWNER, packed)


def by_a_failure(library: Library) -> None:
    """Files that were read once and cannot be any more, and some that never could."""
    by_rule_before(library)
    for path in ("hidden/gift.md", "hidden/zanzibar.md", "my.diary.md"):
        (folder_of(library) / path).write_bytes(b"\xef\xbb\xbf" + b"\xff" * 20)
    (folder_of(library) / "hidden" / "zanzibar.csv").write_bytes(b"\x00\x01")
    index(library, "notes")


WAYS = (by_note, by_rule_before, by_rule_after, by_both, by_a_move, by_an_import, by_a_failure)


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_private_notes_might_as_well_not_be_there(
    open_library: Callable[[str], Library], ollama_chat: OllamaChat, way: Callable[[Library], None]
) -> None:
    whole, without = open_library("whole"), open_library("without")
    way(whole)
    assert differing(everything(whole, ollama_chat), everything(without, ollama_chat)) == {}
    assert differing(over_rest(whole), over_rest(without)) == {}
    assert whole.search(OWNER, "zanzibar").hits


def test_what_no_rule_hides_any_more_is_met_at_once(
    open_library: Callable[[str], Library], ollama_chat: OllamaChat
) -> None:
    whole, shared = open_library("whole"), open_library("shared")
    for library in (whole, shared):
        place(folder_of(library), SECRET)
        index(library, "notes")
    whole.privacy.set(OWNER, "notes", RULES)
    assert len(differing(everything(whole, ollama_chat), everything(shared, ollama_chat))) > 100
    whole.privacy.set(OWNER, "notes", ())
    assert differing(everything(whole, ollama_chat), everything(shared, ollama_chat)) == {}


def test_nothing_is_met_while_a_run_reads_what_a_rule_hides(
    open_library: Callable[[str], Library], ollama_chat: OllamaChat, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run has the words of the new files in the store, and not yet their vectors."""
    whole, without = open_library("whole"), open_library("without")
    whole.privacy.set(OWNER, "notes", RULES)
    expected = everything(without, ollama_chat)
    met: list[dict[str, Any]] = []
    plain = Hashing.embed_documents

    def embed(self: Hashing, texts: list[str]) -> Any:
        if not met and any("Zanzibar" in text for text in texts):
            met.append({})
            assert whole.search(OWNER, "zanzibar", mode="lexical").hits
            met[0] = everything(whole, ollama_chat)
        return plain(self, texts)

    monkeypatch.setattr(Hashing, "embed_documents", embed)
    place(folder_of(whole), SECRET)
    index(whole, "notes")
    assert differing(met[0], expected) == {}


# --- what was known before --------------------------------------------------------------


def without_names(error: RagError, *names: str) -> str:
    said = f"{error.message} {error.suggestion}"
    for name in names:
        said = said.replace(name, "…")
    return said


@pytest.mark.parametrize("way", [by_note, by_rule_after], ids=lambda way: way.__name__)
def test_a_path_and_a_passage_that_were_known_are_as_if_they_never_were(
    open_library: Callable[[str], Library], way: Callable[[Library], None]
) -> None:
    library = open_library("whole")
    way(library)
    key = keys(library, "notes", "hidden/gift.md")[0]
    never = key[::-1]
    with pytest.raises(NotFound) as private:
        library.documents.get(GUEST, "notes", "hidden/gift.md", key)
    with pytest.raises(NotFound) as unknown:
        library.documents.get(GUEST, "notes", "hidden/toad.md", never)
    assert without_names(private.value, "gift") == without_names(unknown.value, "toad")
    with pytest.raises(NotFound) as private:
        library.documents.neighbours(GUEST, "notes", key)
    with pytest.raises(NotFound) as unknown:
        library.documents.neighbours(GUEST, "notes", never)
    assert without_names(private.value) == without_names(unknown.value)
    shown = library.documents.get(GUEST, "notes", "tea.md", key)
    assert not any(chunk.is_hit for chunk in shown.chunks)


def test_an_answer_made_from_what_is_private_by_now_is_not_shown_again(
    open_library: Callable[[str], Library],
) -> None:
    library = open_library("whole")
    place(folder_of(library), SECRET)
    index(library, "notes")
    reply = library.ask(GUEST, "the kettle for Ann from Zanzibar")
    assert "hidden/gift.md" in {each.rel_path for each in reply.references}
    library.asking.keep_reply(GUEST, "0" * 32, reply)
    library.privacy.set(OWNER, "notes", RULES)
    with pytest.raises(NotFound):
        library.asking.conversation(GUEST, "0" * 32)
    assert "Zanzibar" not in repr(library.ask(GUEST, "the kettle", history=[reply.turn]).references)
