"""Answering questions from the passages that a viewer may see, with checked citations.

A model gets only passages and the conversation. Private notes stay on this machine, unless their store allows
sending them.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from rag_core.ask import Checker, beginning, budget, conversation, leans_back, messages, numbered, sentences
from rag_core.ask.conversations import Conversations
from rag_core.ask.prompt import RULES, SYSTEM_PROMPT
from rag_core.config.options import options_from
from rag_core.errors import (
    EmbedderError,
    EmptyQuery,
    Forbidden,
    InvalidInput,
    LLMError,
    NotFound,
    RagError,
    TooMany,
)
from rag_core.library.documents import Documents
from rag_core.library.jobs import Jobs
from rag_core.library.searching import Searching
from rag_core.library.service import Service, Shared, open_to_all
from rag_core.models import ChatMessage, LLMOptions, open_llm
from rag_core.models.addresses import host_of, leaves
from rag_core.models.chat import Call, FinishReason, server_of, stream_answer
from rag_core.replies import DEFAULT_K, MAX_K, Conversation, Draft, Ending, Reply, Turn
from rag_core.search.query import MAX_LENGTH, asked, parse
from rag_core.store.connection import kept
from rag_core.store.file import meta
from rag_core.types import MAX_DEPTH, Answer, Filters, Hit, Neighbour, Notice, Viewer
from rag_core.wording import GET_A_MODEL

if TYPE_CHECKING:
    from rag_core.config import Settings  # brings pydantic, which commands need only for settings

_NOTHING = "Nothing in your notes answers this."
_NO_ANSWER = "No sentence answers this; these are the passages that fit best."
_SAID_NOTHING = "The model gave no answer; these are the passages it was given."
_NO_BUDGET = 10**9  # tokens: the prompt decides how much fits
_PAGE = 100
_NEAR = 0.1  # a score; those of unrelated passages stay below 0.05

_ENDINGS: dict[FinishReason, Ending] = {
    "done": "answered",
    "too long": "too long",
    "out of time": "too long",
    "stopped": "stopped",
}

OnText = Callable[[Draft], None]
_Search = Callable[..., Answer]

# (data folder, login) and the event that stops the answer
_running: list[tuple[tuple[str, str], threading.Event]] = []
_lock = threading.Lock()


class _Found(NamedTuple):
    """The best hits for a question, and the number of fitting private hits withheld from the model."""

    hits: tuple[Hit, ...]
    answer: Answer
    withheld: int = 0

    @property
    def fitting(self) -> list[Hit]:
        """The hits that fit the question."""
        return [hit for hit in self.hits if hit.relevant]


class Asking(Service):
    """Answers questions from the passages of stores."""

    def __init__(self, shared: Shared, searching: Searching, documents: Documents, jobs: Jobs) -> None:
        super().__init__(shared)
        self._searching = searching
        self._documents = documents
        self._jobs = jobs
        self._options = options_from(self._settings, LLMOptions)
        self._conversations = Conversations(self._settings.data_dir, self._settings.busy_timeout_s)

    @open_to_all
    def ask(
        self,
        viewer: Viewer,
        question: str,
        stores: Sequence[str] = (),
        *,
        k: int | None = None,
        top_k: int | None = None,
        min_score: float | None = None,
        filters: Filters | None = None,
        history: Sequence[Turn] = (),
        on_text: OnText | None = None,
        stop: threading.Event | None = None,
    ) -> Reply:
        """Return the answer to a question, with every quote in it compared with its passage.

        If nothing fits, no model is asked. If no model answers, the reply quotes sentences of the passages
        word for word. It says why, if a model should have answered.

        Args:
            viewer: Who is asking.
            question: The question.
            stores: Names of stores; none for all that the viewer may see.
            k: Number of passages to answer from; the default is the setting ``top_k``, at most 20, or 5 if
                not set.
            top_k: Another name for ``k``.
            min_score: Minimum score of a passage; None for the one in the settings.
            filters: What a document must match in addition to the filters in the question.
            history: The conversation so far, oldest turn first.
            on_text: Called with the state of the answer: searching, with its passages, then after each piece
                of text.
            stop: Setting this event ends the answer early; the text written so far is returned.

        Raises:
            Forbidden: the viewer is a guest who may only search.
            TooMany: a guest has too many open questions.
            InvalidInput: the question is empty, ``k`` is over 20, or a filter cannot be used.
            NotFound: there is no such store.

        """
        check_may_ask(viewer)
        started = time.perf_counter()
        k = self._count(k, top_k)
        if not question.strip():
            raise EmptyQuery("There is no question.", "Type one.")
        asked(question, filters)
        on_text = on_text or (lambda _: None)
        on_text(Draft(looking=True))
        search = partial(
            self._searching.search,
            viewer,
            stores=stores,
            filters=filters,
            min_score=min_score,
            max_tokens=_NO_BUDGET,
        )
        retrieved = self._retrieve(viewer, question, k, min_score, history, search)
        reply = self._without_answer(viewer, question, retrieved)
        if retrieved.fitting:
            stop = stop or threading.Event()
            with self._counted(viewer, stop):
                reply = self._answered(viewer, reply, retrieved.fitting, history, on_text, stop)
        return replace(reply, took_ms=(time.perf_counter() - started) * 1000)

    def _without_answer(self, viewer: Viewer, question: str, retrieved: _Found) -> Reply:
        """The reply if nothing fits the question."""
        answer = retrieved.answer
        notices = list(answer.notices)
        if retrieved.withheld:
            host = host_of(server_of(self._llm(), self._options))
            notices.append(Notice("private_kept", {"host": host}))
        return Reply(
            question,
            "nothing found",
            answer.stores,
            message=_NOTHING,
            notices=tuple(notices),
            pending=answer.pending,
            timestamp=answer.timestamp,
            freshness=self._jobs.freshness(viewer, answer.stores) if viewer.is_owner else None,
        )

    def _count(self, k: int | None, top_k: int | None) -> int:
        """Return the number of passages to answer from. Raises InvalidInput."""
        if k and top_k and k != top_k:
            raise InvalidInput(f"k is {k} and top_k is {top_k}.", "They are the same: give one of them.")
        name, count = ("top_k", top_k) if top_k else ("k", k)
        if not count:
            return usual_count(self._settings)
        if not 1 <= count <= MAX_K:
            raise InvalidInput(f"{name} is {count}.", f"Use a number from 1 to {MAX_K}.")
        return count

    @contextmanager
    def _counted(self, viewer: Viewer, stop: threading.Event) -> Iterator[None]:
        """Context manager: count a question as open, so that `stop_answers` can set ``stop``. Raises TooMany
        for a guest with too many open questions."""
        key = str(self._settings.data_dir), viewer.login
        with _lock:
            mine = sum(key == asker for asker, _ in _running)
            if not viewer.is_owner and mine >= self._settings.guest_asks:
                raise TooMany("Your last questions are still being answered.", "Wait for an answer first.")
            _running.append((key, stop))
        try:
            yield
        finally:
            with _lock:
                _running.remove((key, stop))

    @open_to_all
    def conversations(self, viewer: Viewer) -> list[Conversation]:
        """The stored conversations of ``viewer``, the latest first."""
        return self._conversations.all_of(_owner_of(viewer))

    @open_to_all
    def conversation(self, viewer: Viewer, conversation: str) -> list[Reply]:
        """Return the replies of a conversation, oldest first. Replies with passages that ``viewer`` may no
        longer see are left out. Raises NotFound if no reply is left."""
        kept = self._conversations.replies(_owner_of(viewer), conversation)
        shown = [reply for reply in kept if viewer.is_owner or self._may_still_see(viewer, reply)]
        if not shown:
            raise NotFound("There is no such conversation.", "It was deleted, or is not yours; ask again.")
        return shown

    @open_to_all
    def keep_reply(self, viewer: Viewer, conversation: str, reply: Reply) -> None:
        """Append a reply to a conversation, which is created if needed. ``conversation`` is an id of 32
        hexadecimal digits. Raises InvalidInput for any other id."""
        self._conversations.add(_owner_of(viewer), conversation, reply)

    @open_to_all
    def forget_conversations(self, viewer: Viewer, conversation: str | None = None) -> None:
        """Delete one conversation of ``viewer``, or all of them if ``conversation`` is None."""
        self._conversations.delete(_owner_of(viewer), conversation)

    def _may_still_see(self, viewer: Viewer, reply: Reply) -> bool:
        try:
            for reference in reply.references:
                self._documents.neighbours(viewer, reference.vault, reference.key, 0)
        except RagError:
            return False
        return all(map(viewer.may_see, reply.stores))

    def _retrieve(
        self,
        viewer: Viewer,
        question: str,
        k: int,
        min_score: float | None,
        history: Sequence[Turn],
        search: _Search,
    ) -> _Found:
        """Find the ``k`` best passages for a question.

        A follow-up may not name its subject, so the previous question is searched together with it. If the
        follow-up does name a subject, only passages near it count, so that the previous question is not
        answered again.
        """
        of_question = self._best(viewer, question, k, search)
        before = parse(history[-1].question).text if history else ""
        together = f"{before[: MAX_LENGTH - len(question) - 1]} {question}"
        if not before or len(together) > MAX_LENGTH:
            return of_question
        least = self._settings.min_score if min_score is None else min_score
        unlimited = self._best(viewer, question, k, partial(search, min_score=0.0)) if least else of_question
        near = {hit.key for hit in unlimited.hits if hit.score >= _NEAR}
        leans = leans_back(parse(question).text)
        if not (leans or near):
            return of_question
        more = self._best(viewer, together, k, search)
        if not leans:
            more = more._replace(hits=tuple(hit for hit in more.hits if hit.key in near), withheld=0)
        return _merged(of_question, more, k)

    def _best(self, viewer: Viewer, text: str, k: int, search: _Search) -> _Found:
        """Find the ``k`` best passages that the model may read, passages that fit first. Further pages are
        read if the model may not read some of these, or if a reranker changed the order."""
        answer = search(text, top_k=k)
        kept = [hit for hit in answer.hits if self._may_read(viewer, hit)]
        withheld = sum(hit.relevant for hit in answer.hits) - sum(hit.relevant for hit in kept)
        more, offset = answer.has_more, k
        while sum(hit.relevant for hit in kept) < k and more and offset < MAX_DEPTH:
            page = search(text, top_k=min(_PAGE, MAX_DEPTH - offset), offset=offset)
            kept += [hit for hit in page.hits if self._may_read(viewer, hit)]
            more, offset = page.has_more, offset + _PAGE
        kept.sort(key=lambda hit: not hit.relevant)
        return _Found(tuple(kept[:k]), answer, withheld)

    def _may_read(self, viewer: Viewer, hit: Hit) -> bool:
        return not hit.document.private or not self._leaves() or self._sends_private(viewer, hit.store)

    def _sends_private(self, viewer: Viewer, store: str) -> bool:
        return self._stores.open(viewer, store).store.sends_private

    def _leaves(self) -> bool:
        """Whether the answering model runs on another machine."""
        name = self._settings.llm
        return name is not None and leaves(server_of(name, self._options))

    def _answered(
        self,
        viewer: Viewer,
        reply: Reply,
        hits: Sequence[Hit],
        history: Sequence[Turn],
        on_text: OnText,
        stop: threading.Event,
    ) -> Reply:
        """Return the reply with its passages and the model's answer. If no model answers, the reply quotes
        the passages."""
        options = self._options
        heard = [turn for turn in history if not (turn.private and self._leaves())]
        before = conversation(heard, options.context)
        question = beginning(reply.question, options.context)
        reply = self._with_passages(viewer, reply, hits, question, before)
        if self._settings.llm is None:
            reply = self._quoted(viewer, replace(reply, ending="quotes"))
            on_text(Draft(reply.references, reply.statements))
            return reply
        on_text(Draft(reply.references))
        try:
            llm, call = open_llm(self._llm(), options), Call()
            reply = replace(reply, model=self._llm() if viewer.is_owner else "")
            prompt = messages(question, reply.references, before)
            with closing(stream_answer(llm, prompt, options, stop, call)) as pieces:
                return _spoken(viewer, reply, pieces, call, options, on_text)
        except (InvalidInput, LLMError) as error:
            return _with_trouble(viewer, self._quoted(viewer, reply), error)

    def _with_passages(
        self, viewer: Viewer, reply: Reply, hits: Sequence[Hit], question: str, before: Sequence[ChatMessage]
    ) -> Reply:
        """Add to the reply the passages that fit into the prompt, next to the conversation ``before`` and
        ``question``, which may be shortened."""
        fixed = (SYSTEM_PROMPT, RULES, question, *(message.content for message in before))
        room = budget(self._options.context, self._options.max_tokens, *fixed)

        def around(hit: Hit, count: int) -> Sequence[Neighbour]:
            try:
                return self._documents.neighbours(viewer, hit.store, hit.key, count)
            except NotFound:  # changed since the search
                return ()

        references, count = numbered(hits, room, around)
        if question != reply.question:
            cut = Notice("question_cut", {"given": len(question), "length": len(reply.question)})
            reply = replace(reply, notices=(*reply.notices, cut))
        private = any(
            reference.private and not self._sends_private(viewer, reference.vault) for reference in references
        )
        return replace(
            reply,
            ending="no model",
            message=_NO_ANSWER,
            references=tuple(references),
            retrieved_chunks=count,
            private=private,
        )

    def _quoted(self, viewer: Viewer, reply: Reply) -> Reply:
        """Return the reply with quoted sentences of its passages as the answer."""

        def similarities(texts: Sequence[str]) -> Sequence[float]:
            return self._similarities(viewer, reply.question, texts, reply.references[0].vault)

        statements, references = sentences.answer(reply.question, reply.references, similarities)
        return replace(
            reply,
            statements=tuple(statements),
            references=tuple(references),
            model="",
            message="" if statements else _NO_ANSWER,
        )

    def _similarities(
        self, viewer: Viewer, question: str, texts: Sequence[str], store: str
    ) -> Sequence[float]:
        """Return the similarity, −1 to 1, of each text to a question, from the embedder of a store. All are
        0.0 if the embedder cannot compare them or runs on a server."""
        with self._stores.reading(viewer, store) as db:
            name = kept(db, meta)["embedder"]
        try:
            embedder = self._embedders.get(name)
            if embedder.server or not embedder.reads(question):
                return [0.0] * len(texts)
            asked = self._embedders.vector(embedder, question, "query")
            return [float(value) for value in embedder.embed_documents(texts) @ asked]
        except EmbedderError:
            return [0.0] * len(texts)

    def _llm(self) -> str:
        """Return the name of the answering model. Raises LLMError if none is set."""
        if self._settings.llm is None:
            raise LLMError("No model is set up to answer questions.", GET_A_MODEL)
        return self._settings.llm


def _merged(first: _Found, more: _Found, k: int) -> _Found:
    """Return the ``k`` best hits of two searches, with the notices of both."""
    best: dict[str, Hit] = {}
    for hit in sorted((*first.hits, *more.hits), key=lambda hit: -hit.score):
        best.setdefault(hit.key, hit)
    hits = tuple(replace(hit, rank=rank) for rank, hit in enumerate(best.values(), 1))[:k]
    further = [notice for notice in more.answer.notices if notice.code != "too_new"]  # its number may differ
    notices = tuple(dict.fromkeys((*first.answer.notices, *further)))
    return _Found(hits, replace(first.answer, notices=notices), max(first.withheld, more.withheld))


def _spoken(
    viewer: Viewer, reply: Reply, pieces: Iterator[str], call: Call, options: LLMOptions, on_text: OnText
) -> Reply:
    """Add the model's checked answer to the reply. Raises LLMError if the model fails before its first
    word."""
    checker = Checker(reply.references)
    trouble: LLMError | None = None
    try:
        for piece in pieces:
            checker.feed(piece)
            on_text(checker.draft)
    except LLMError as error:
        if not checker.begun:
            raise
        trouble = error
    checker.end()
    on_text(checker.draft)
    spoken = replace(
        reply,
        ending="broken off" if trouble else _ENDINGS[call.outcome],
        statements=tuple(checker.statements),
        references=checker.references,
        message="" if checker.statements else _SAID_NOTHING,
    )
    if trouble:
        return _with_trouble(viewer, spoken, trouble)
    if spoken.ending == "too long":
        why = f"{options.timeout_s:g} seconds" if call.cut_off else f"{options.max_tokens:,} tokens"
        setting = "llm_timeout_s" if call.cut_off else "llm_max_tokens"
        notice = Notice("answer_cut", {"limit": why, "setting": setting})
        return replace(spoken, notices=(*spoken.notices, notice))
    return spoken


def _with_trouble(viewer: Viewer, reply: Reply, error: RagError) -> Reply:
    """Add to the reply why the answer is missing or incomplete. The details may name a server, so guests do
    not see them."""
    notice = Notice.of(error.as_message()) if viewer.is_owner else Notice("no_answer")
    return replace(reply, notices=(*reply.notices, notice))


def stop_answers() -> None:
    """Stop every answer in progress in this process. The text written so far stays."""
    with _lock:
        for _, stop in _running:
            stop.set()


def check_may_ask(viewer: Viewer) -> None:
    """Raise Forbidden for a guest who may only search."""
    if not (viewer.is_owner or viewer.may_ask):
        raise Forbidden("You may search these notes, but not ask questions.", "Ask their owner to let you.")


def usual_count(settings: Settings) -> int:
    """Return the default number of passages to answer a question from: the setting ``top_k`` (at most 20) if
    it is set, else 5."""
    return min(settings.top_k, MAX_K) if "top_k" in settings.model_fields_set else DEFAULT_K


def _owner_of(viewer: Viewer) -> str:
    """Return the name under which a viewer's conversations are stored. A guest never has the name of an
    owner."""
    return viewer.login if viewer.is_owner else f"guest {viewer.login}"
