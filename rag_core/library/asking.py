"""Answering a question from the notes that a viewer may see, with citations that were checked.

question → retrieve → numbered passages → model → check. A model gets the passages, the conversation and
nothing else; private notes only go to one on this machine, unless their store says otherwise.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial

from rag_core.ask import Checker, beginning, budget, conversation, leans_back, messages, numbered
from rag_core.ask.conversations import Conversations
from rag_core.ask.prompt import RULES, SYSTEM_PROMPT
from rag_core.errors import EmptyQuery, Forbidden, InvalidInput, LLMError, NotFound, RagError, TooMany
from rag_core.library.reader import Reader, llm_options
from rag_core.models import LLM, LLMOptions, Message, open_llm
from rag_core.models.addresses import host_of, leaves
from rag_core.models.chat import Call, Outcome, server_of, stream_answer
from rag_core.replies import DEFAULT_K, MAX_K, Conversation, Draft, Ending, Reply, Turn
from rag_core.search.query import MAX_LENGTH, asked, parse
from rag_core.types import MAX_DEPTH, Answer, Filters, Hit, Neighbour, Notice, Viewer
from rag_core.wording import GET_A_MODEL, go_on, waiting

_NOTHING = "Nothing here fits this question well enough to answer it from."
_NO_ANSWER = "There is no answer; these are the passages that fit best."
_SAID_NOTHING = "The model said nothing; these are the passages that it had."
_NO_BUDGET = 10**9  # tokens: how much fits is for the prompt to say
_PAGE = 100
_NEAR = 0.1  # a score; passages of another matter stay below 0.05

OnText = Callable[[Draft], None]


_under_way: set[threading.Event] = set()
_of_guests: Counter[tuple[str, str]] = Counter()
_lock = threading.Lock()


@dataclass(frozen=True, slots=True)
class _Found:
    """What was retrieved: the best hits, what to say beside them, how many private ones are kept back, how
    many passages wait to be embedded, and when it was asked for."""

    hits: tuple[Hit, ...]
    stores: tuple[str, ...]
    notices: tuple[Notice, ...]
    withheld: int = 0
    pending: int = 0
    timestamp: str = ""


class Asking(Reader):
    """Every store of one owner, for questions."""

    def ask(
        self,
        viewer: Viewer,
        question: str,
        stores: Sequence[str] = (),
        *,
        k: int = DEFAULT_K,
        filters: Filters | None = None,
        history: Sequence[Turn] = (),
        on_text: OnText | None = None,
        stop: threading.Event | None = None,
    ) -> Reply:
        """The answer to a question, every quote in it compared with the passage that it names.

        ``stores`` and ``filters`` are as in ``search``, whose query language the question may use; ``k``
        is how many passages to answer from (0: 5). ``history`` is the conversation so far, oldest turn first.
        ``on_text`` hears of the passages, then of every piece of the answer; ``stop`` ends it, and what
        was said until then stays. Where nothing fits no model is asked, and where no model answers the
        reply holds the passages and says why. Raises Forbidden for a guest who may only search, TooMany for
        one who has enough answered already, InvalidInput for an empty question or a ``k`` over 20, NotFound
        for a store that is not there for this viewer.
        """
        self.check_may_ask(viewer)
        started = time.perf_counter()
        k = k or DEFAULT_K
        if not 1 <= k <= MAX_K:
            raise InvalidInput(f"k is {k}.", f"Use a number from 1 to {MAX_K}.")
        if not question.strip():
            raise EmptyQuery("There is no question.", "Type one.")
        asked(question, filters)
        hear, stop = on_text or _nobody, stop or threading.Event()
        hear(Draft(looking=True))
        search = partial(
            self.search, viewer, stores=stores, filters=filters, min_score=0.0, max_tokens=_NO_BUDGET
        )
        found = self._retrieve(viewer, question, k, history, search)
        reply = Reply(
            question, "nothing found", found.stores, message=_NOTHING, notices=found.notices,
            pending=found.pending, timestamp=found.timestamp,
        )  # fmt: skip
        if found.withheld:
            reply = replace(reply, notices=(*reply.notices, self._kept_back()))
        fitting = [hit for hit in found.hits if hit.relevant]
        if not fitting:
            reply = replace(reply, notices=(*reply.notices, *_waiting(viewer, found)))
        else:
            with self._one_of_few(viewer), _stoppable(stop):
                reply = self._answered(viewer, reply, fitting, history, hear, stop)
        return replace(reply, took_ms=(time.perf_counter() - started) * 1000)

    @contextmanager
    def _one_of_few(self, viewer: Viewer) -> Iterator[None]:
        """As long as this lasts a model answers the viewer. Raises TooMany for a guest who has enough."""
        key, limit = (str(self.settings.data_dir), viewer.login), self.settings.guest_asks
        with _lock:
            if not viewer.is_owner and _of_guests[key] >= limit:
                raise TooMany("Your last questions are still being answered.", "Wait for an answer first.")
            _of_guests[key] += not viewer.is_owner
        try:
            yield
        finally:
            with _lock:
                _of_guests[key] -= not viewer.is_owner
                if not _of_guests[key]:
                    del _of_guests[key]

    @staticmethod
    def check_may_ask(viewer: Viewer) -> None:
        """Raise Forbidden for a guest whom the owner lets search, and not ask."""
        if not (viewer.is_owner or viewer.may_ask):
            raise Forbidden(
                "You may search these notes, and not ask a model about them.",
                "Search, or ask their owner to let you.",
            )

    @staticmethod
    def stop_answers() -> None:
        """Have every model that is answering in this process stop; what was said until then stays."""
        with _lock:
            for stop in _under_way:
                stop.set()

    # --- conversations ------------------------------------------------------------------

    def conversations(self, viewer: Viewer) -> list[Conversation]:
        """What ``viewer`` asked and kept, the last conversation first."""
        return self._conversations.all_of(_whose(viewer))

    def conversation(self, viewer: Viewer, conversation: str) -> list[Reply]:
        """The replies of a conversation, oldest first. One made from passages that ``viewer`` may not see any
        more is left out. Raises NotFound when nothing is left."""
        kept = self._conversations.replies(_whose(viewer), conversation)
        shown = [reply for reply in kept if viewer.is_owner or self._may_still_see(viewer, reply)]
        if not shown:
            raise NotFound("There is no such conversation.", "It was deleted, or is another's; ask again.")
        return shown

    def keep_reply(self, viewer: Viewer, conversation: str, reply: Reply) -> None:
        """Keep a reply as the last of a conversation, whose id is 32 hexadecimal digits, new or not."""
        self._conversations.add(_whose(viewer), conversation, reply)

    def forget_conversations(self, viewer: Viewer, conversation: str | None = None) -> None:
        """Delete one conversation of ``viewer``, or all."""
        self._conversations.delete(_whose(viewer), conversation)

    @property
    def _conversations(self) -> Conversations:
        return Conversations(self.settings.data_dir, self.settings.busy_timeout_s)

    def _may_still_see(self, viewer: Viewer, reply: Reply) -> bool:
        try:
            for each in reply.references:
                self.neighbours(viewer, each.vault, each.key, 0)
        except RagError:
            return False
        return all(map(viewer.may_see, reply.stores))

    # --- passages -----------------------------------------------------------------------

    def _retrieve(
        self, viewer: Viewer, question: str, k: int, history: Sequence[Turn], search: Callable[..., Answer]
    ) -> _Found:
        """The ``k`` best passages for the question; in a conversation also for it together with the question
        before, as a follow-up may not say what it is about. Where it does say so, only what it is near to
        counts: else the question before would answer it."""
        found = self._best(viewer, question, k, search)
        text = parse(question).text
        before = parse(history[-1].question).text if history else ""
        together = f"{before[: MAX_LENGTH - len(question) - 1]} {question}"
        near = {hit.key for hit in found.hits if hit.score >= _NEAR}
        leans = leans_back(text)
        if not before or len(together) > MAX_LENGTH or not (leans or near):
            return found
        more = self._best(viewer, together, k, search)
        added = [hit for hit in more.hits if leans or hit.key in near]
        best: dict[str, Hit] = {}
        for hit in sorted((*found.hits, *added), key=lambda hit: -hit.score):
            best.setdefault(hit.key, hit)
        hits = (replace(hit, rank=rank) for rank, hit in enumerate(best.values(), 1))
        said = tuple(dict.fromkeys((*found.notices, *more.notices)))
        withheld = max(found.withheld, more.withheld if leans else 0)
        return replace(found, hits=tuple(hits)[:k], notices=said, withheld=withheld)

    def _best(self, viewer: Viewer, text: str, k: int, search: Callable[..., Answer]) -> _Found:
        """The ``k`` best passages that the model may read, however many before them it may not."""
        answer = search(text, top_k=k)
        kept = [hit for hit in answer.hits if self._may_read(viewer, hit)]
        withheld = sum(hit.relevant for hit in answer.hits) - sum(hit.relevant for hit in kept)
        more, offset = answer.has_more, k
        while len(kept) < min(k, len(answer.hits)) and more and offset < MAX_DEPTH:
            page = search(text, top_k=min(_PAGE, MAX_DEPTH - offset), offset=offset)
            kept += [hit for hit in page.hits if self._may_read(viewer, hit)]
            more, offset = page.has_more, offset + _PAGE
        said = answer.notices
        return _Found(tuple(kept[:k]), answer.stores, said, withheld, answer.pending, answer.timestamp)

    def _may_read(self, viewer: Viewer, hit: Hit) -> bool:
        """Whether the model may read a passage: private ones stay on this machine, unless the store lets
        them leave it."""
        if not hit.document.private or not self._leaves():
            return True
        return self._sends_private(viewer, hit.store)

    def _sends_private(self, viewer: Viewer, store: str) -> bool:
        return self._stores.open(viewer, store).store.sends_private

    def _leaves(self) -> bool:
        name = self.settings.llm
        return name is not None and leaves(server_of(name, llm_options(self.settings)))

    def _around(self, viewer: Viewer, hit: Hit, count: int) -> Sequence[Neighbour]:
        try:
            return self.neighbours(viewer, hit.store, hit.key, count)
        except NotFound:  # it was changed since the search
            return ()

    # --- the model ----------------------------------------------------------------------

    def _answered(
        self,
        viewer: Viewer,
        reply: Reply,
        hits: Sequence[Hit],
        history: Sequence[Turn],
        hear: OnText,
        stop: threading.Event,
    ) -> Reply:
        """The reply with its passages, and with what the model says of them."""
        options = llm_options(self.settings)
        before = conversation([turn for turn in history if self._may_hear(turn)], options.context)
        question = beginning(reply.question, options.context)
        said = (SYSTEM_PROMPT, RULES, question, *(message.content for message in before))
        room = budget(options.context, options.max_tokens, *said)
        references, count = numbered(hits, room, partial(self._around, viewer))
        reply = replace(
            reply,
            ending="no model",
            message=_NO_ANSWER,
            references=tuple(references),
            retrieved_chunks=count,
            notices=(*reply.notices, *_shortened(reply.question, question)),
            private=any(each.private and not self._sends_private(viewer, each.vault) for each in references),
        )
        hear(Draft(reply.references))
        try:
            llm = open_llm(self._llm(), options)
            reply = replace(reply, model=self._llm() if viewer.is_owner else "")
            asked = messages(question, references, before)
            return _spoken(viewer, reply, llm, options, asked, hear, stop)
        except (InvalidInput, LLMError) as error:
            return _with_trouble(viewer, reply, error)

    def _llm(self) -> str:
        """The name of the model that answers. Raises LLMError where there is none."""
        if self.settings.llm is None:
            raise LLMError(
                "No model is set up to answer questions.",
                f"{GET_A_MODEL} in config.yaml. `commonplace config` says where that is.",
                on_page=f"{GET_A_MODEL} in config.yaml.",
            )
        return self.settings.llm

    def _may_hear(self, turn: Turn) -> bool:
        """Whether the model may be told of an earlier turn: one on another machine not of private notes."""
        return not (turn.private and self._leaves())

    def _kept_back(self) -> Notice:
        host = host_of(server_of(self._llm(), llm_options(self.settings)))
        return Notice(
            f"Passages of private notes would fit, too. They stay on this machine; the model is at {host}."
        )


def _shortened(whole: str, given: str) -> list[Notice]:
    """That the model is given only a part of the question."""
    if given == whole:
        return []
    return [
        Notice(f"The model is given the first {len(given):,} of {len(whole):,} characters of the question.")
    ]


def _waiting(viewer: Viewer, found: _Found) -> list[Notice]:
    """What may fit and is not found by meaning yet, and what the owner does about it."""
    if not found.pending:
        return []
    said = waiting(found.pending)
    return [Notice(f"{said} {go_on(found.stores)}" if viewer.is_owner else said, on_page=said)]


def _spoken(
    viewer: Viewer,
    reply: Reply,
    llm: LLM,
    options: LLMOptions,
    asked: Sequence[Message],
    hear: OnText,
    stop: threading.Event,
) -> Reply:
    """The reply with what the model says, checked. Raises LLMError when it never says anything."""
    call, checker = Call(), Checker(reply.references)
    trouble: LLMError | None = None
    try:
        with closing(stream_answer(llm, asked, options, stop, call)) as pieces:
            for piece in pieces:
                checker.feed(piece)
                hear(checker.draft)
    except LLMError as error:
        if not checker.begun:
            raise
        trouble = error
    checker.end()
    hear(checker.draft)
    said = replace(
        reply,
        ending="broken off" if trouble else _ENDINGS[call.outcome],
        statements=tuple(checker.statements),
        references=checker.references,
        message="" if checker.statements else _SAID_NOTHING,
    )
    if trouble:
        return _with_trouble(viewer, said, trouble)
    if said.ending == "too long":
        why = f"{options.timeout_s:g} seconds" if call.cut_off else f"{options.max_tokens:,} tokens"
        setting = "llm_timeout_s" if call.cut_off else "llm_max_tokens"
        notice = Notice(f"The answer was cut off after {why}. The setting `{setting}` allows more.")
        return replace(said, notices=(*said.notices, notice))
    return said


_ENDINGS: dict[Outcome, Ending] = {
    "done": "answered",
    "too long": "too long",
    "out of time": "too long",
    "stopped": "stopped",
}


def _with_trouble(viewer: Viewer, reply: Reply, error: RagError) -> Reply:
    """The reply with why there is no answer, or no more of it: in full for the owner, as it may name a server
    that is nobody else's business."""
    if viewer.is_owner:
        notice = Notice(str(error), on_page=error.for_page())
    else:
        notice = Notice("The model that answers questions is not at hand just now.")
    return replace(reply, notices=(*reply.notices, notice))


@contextmanager
def _stoppable(stop: threading.Event) -> Iterator[None]:
    """As long as this lasts, `Asking.stop_answers` sets ``stop``."""
    with _lock:
        _under_way.add(stop)
    try:
        yield
    finally:
        with _lock:
            _under_way.discard(stop)


def _whose(viewer: Viewer) -> str:
    """By what name a viewer's conversations are kept: no guest's is an owner's, whatever they are called."""
    return viewer.login if viewer.is_owner else f"guest {viewer.login}"


def _nobody(_: Draft) -> None:
    """Hear of nothing."""
