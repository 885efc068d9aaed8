"""The second half of a run: it embeds the queued texts and sends the vectors to the remote index, if the
store has one. When all texts are embedded it finishes a switch to another embedder or index."""

from __future__ import annotations

from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from rag_core.errors import EmbedderError, InvalidInput, ModelMissing, Unreachable, VectorError
from rag_core.index import outbox
from rag_core.index.job_log import JobLog
from rag_core.index.priority import SearchPriority
from rag_core.models import Embedder
from rag_core.models.addresses import host_of, leaves
from rag_core.store import Store, calibration, embeddings, signs, switch
from rag_core.store import outbox as rows
from rag_core.store.file import TARGET, active_identity, target_identity
from rag_core.store.probes import PROBES
from rag_core.types import Vectors
from rag_core.vectors import RemoteIndex, local
from rag_core.wording import embedder, plural, unreadable

BATCH = 32
MAX_ATTEMPTS = 3
_SEND_EVERY = 500  # minimum number of texts to send together; the largest request to an index takes 500
_PARTS = 10  # few, because each pass over the outbox also reads the rows that still wait
_ROWS_A_WRITE = 500
_MANY_MORE = 1.5  # growth in the number of vectors after which the recall is measured again
_WITHHELD = "It is private, and the embedder's server is not on this machine."

OpenEmbedder = Callable[[str], Embedder]
"""Opens an embedder by its name. If a server runs the model, the function asks the server again which model
that is."""
OpenIndex = Callable[[str, int], RemoteIndex]
"""Opens the remote vector index at an address, for vectors with a number of dimensions."""


def no_index(address: str, _dimension: int) -> RemoteIndex:
    """Raise VectorError. This is the default of ``open_index``, for stores without a remote vector index."""
    raise VectorError(
        f"The vector index at {address!r} is not known here.",
        "Open the store through `Library`, which knows the index.",
    )


@dataclass(frozen=True, slots=True)
class Tools:
    """The tools that a run needs to make vectors: functions that open the embedder and the remote index, the
    batch size, and the searches to wait for."""

    open_embedder: OpenEmbedder
    open_index: OpenIndex = no_index
    batch_size: int = BATCH
    priority: SearchPriority = field(default_factory=SearchPriority)


@dataclass
class Embedding:
    """Makes and sends the vectors of one run, under the store's lock. Between batches, ``log`` looks for
    requests and may raise to stop the run."""

    store: Store
    tools: Tools
    log: JobLog
    look: Callable[[], bool]
    embedder: Embedder | None = None
    """The embedder of the store's vectors; None if it cannot be used."""
    _identity_id: int = 0
    _index: RemoteIndex | None = None
    _former: RemoteIndex | None = None  # which searches ask until a switch ends
    _prepared: bool = False
    _unsent: int = 0  # texts embedded since the last flush
    _part: int = _SEND_EVERY  # texts that are sent together
    _met_unreadable: bool = False
    _until_mean: int = signs.ENOUGH  # texts to embed until the mean of the vectors is looked at again

    def open(self, *, with_index: bool = True) -> None:
        """Open the store's embedder and, with ``with_index``, the remote index. The embedder stays closed if
        it is not the model that made the store's vectors. Problems are logged, not raised."""
        try:
            embedder = self.tools.open_embedder(self.store.target_embedder)
            self._identity_id, self.embedder = _same_identity(self.store, embedder), embedder
            limit = self.store.spec.max_tokens
            if embedder.max_tokens < limit:  # its server or `embedding_context` changed
                self.log.say(
                    f"The embedder reads the first {embedder.max_tokens} tokens of a passage, and passages of"
                    f" this store have up to {limit}. Searches find the rest of these by words only."
                )
        except (EmbedderError, InvalidInput) as error:  # InvalidInput: a name that is none any more
            self.log.say(f"Only words are indexed for now. {error}")
        if not with_index:
            return
        with self.store.read() as db:
            attached, known = switch.is_attached(db), target_identity(db)
            address, former = rows.target(db), rows.address(db)
        if attached or not known:
            return
        if address:
            self._index = self._open_index(address, known.identity.dimension)
        if former not in ("", address):
            self._former = self._open_index(former, 1)

    def _open_index(self, address: str, dimension: int) -> RemoteIndex | None:
        try:
            return self.tools.open_index(address, dimension)
        except (VectorError, InvalidInput) as error:
            self.log.say(f"Vectors are not sent to {address} for now. {error}")
            return None

    # --- texts → vectors ------------------------------------------------------------

    def begin_queue(self) -> None:
        """Begin the phase *embedding*: withhold private texts where needed, and set the progress. Call
        `embed_batch` afterwards until the queue is empty."""
        if self.embedder is None:
            return
        server = self.embedder.server
        withholds = withholds_private(self.store, server)
        with self.store.note() as db:
            count = embeddings.withhold_private(db, _WITHHELD if withholds else "")
            waiting = embeddings.pending_count(db)
            embedded = embeddings.count_embedded(db, self._identity_id) if waiting else 0
        if count:
            private = plural(count, "private text")
            self.log.say(f"Not sent to {host_of(server)}: {private}. Searches find them by words only.")
        self.log.estimate.texts.left = waiting
        self.log.phase("embedding", embedded + waiting, embedded)
        self._part = max(_SEND_EVERY, waiting // _PARTS)

    def embed_batch(self) -> bool:
        """Embed one batch of the queue. Sends vectors to the remote index when enough have gathered. Returns
        whether there may be more texts."""
        has_more = self.embed_some(self.tools.batch_size)
        if has_more and self._unsent >= self._part:
            self._unsent = 0
            self._flush()
        return has_more

    def embed_some(self, limit: int) -> bool:
        """Embed the next texts of the queue, at most ``limit``. Returns whether there may be more."""
        if self.embedder is None:
            return False
        private = not withholds_private(self.store, self.embedder.server)
        with self.store.read() as db:
            batch = embeddings.pending(db, limit, MAX_ATTEMPTS, private=private)
        if not batch:
            return False
        try:
            self._embed(self.embedder, batch)
        except (ModelMissing, Unreachable) as error:  # no text is at fault, and none would fare better
            self.log.say(f"Embedding stopped, and only words are indexed from here on. {error}")
            self.embedder, self.log.embeds = None, False
            self.log.estimate.texts.left = 0
        self._unsent += len(batch)
        return self.embedder is not None

    def _embed(self, embedder: Embedder, batch: list[embeddings.Pending]) -> None:
        """Embed a batch; a local model yields to searches. Unreadable texts are settled without a vector.
        If the embedder refuses the batch, it is halved until the refused texts are found. Raises
        ModelMissing, Unreachable."""
        is_phase = self.log.job.progress.phase == "embedding"
        readable: list[embeddings.Pending] = []
        rest: list[embeddings.Pending] = []
        for item in batch:
            is_readable = not item.is_data and embedder.reads(item.text)
            (readable if is_readable else rest).append(item)
        if rest:
            with self.store.write() as db:
                embeddings.put_vectors(db, self._identity_id, rest, np.empty((len(rest), 0), np.float32))
            self._met_unreadable |= any(not item.is_data for item in rest)
            self.log.estimate.texts.note(len(rest))
            self.log.advance(count=len(rest) if is_phase else 0)
        if not readable:
            return
        texts = [item.text for item in readable]
        try:
            steps = [texts] if embedder.server else self.tools.priority.steps(texts)
            vectors = np.concatenate(list(map(embedder.embed_documents, steps)))
        except (ModelMissing, Unreachable):
            raise
        except EmbedderError as error:
            _require_working(embedder)
            if len(readable) == 1:
                with self.store.note() as db:
                    embeddings.put_failure(db, readable[0], error.message)
                self.log.say(f"One text could not be embedded: {error.message}")
                return
            middle = len(readable) // 2
            self._embed(embedder, readable[:middle])
            self._embed(embedder, readable[middle:])
            return
        with self.store.write() as db:
            embeddings.put_vectors(db, self._identity_id, readable, vectors)
        self._until_mean -= len(readable)
        if self._until_mean < 0:
            self._settle_mean()
        self.log.estimate.texts.note(len(readable))
        self.log.job = replace(self.log.job, texts_embedded=self.log.job.texts_embedded + len(readable))
        self.log.advance(count=len(readable) if is_phase else 0)

    # --- vectors → a remote index ---------------------------------------------------

    def send(self) -> None:
        """Send the queued changes to the remote vector index. Changes that cannot be sent stay queued for the
        next run."""
        if self._index is None and self._former is None:
            return
        with self.store.read() as db:
            waiting, doubtful = rows.backlog(db).queued, rows.wants_recheck(db)
        if waiting or doubtful:
            if self._index is not None:
                self.log.phase("sending", waiting)
            self._flush(is_phase=True)

    def _flush(self, *, is_phase: bool = False) -> None:
        """Send the queued changes; with ``is_phase``, count them as progress. During a switch, deleted and
        newly private chunks are also removed from the former index, which searches still use."""
        if self._former is not None:
            try:
                private = not withholds_private(self.store, self._former.server)
                outbox.remove_missing(self.store, self._former, private=private)
            except VectorError as error:
                self.log.say(f"Deleted passages are still in the former vector index. {error}")
                self._former = None
        if self._index is None:
            return
        try:
            if not self._prepared:
                if not self._index.owner():  # it was created again, so nothing that was sent is there
                    with self.store.note() as db:
                        rows.queue_all(db)
                self._index.prepare(self.store.id)
                self._prepared = True
            private = not withholds_private(self.store, self._index.server)

            def progress(copies: int) -> None:
                self.log.advance(count=copies if is_phase else 0)

            outbox.flush(self.store, self._index, private=private, progress=progress)
        except VectorError as error:
            self.log.say(f"Some changes were not sent to the vector index; the next run sends them. {error}")
            self._index = None

    # --- the end --------------------------------------------------------------------

    def finish(self, *, text_was_dropped: bool) -> None:
        """Finish a switch if all its texts are embedded, then delete vectors that are no longer needed.
        ``text_was_dropped`` tells whether text was removed from the store, so that there may be such
        vectors."""
        if self.embedder is not None:
            try:
                calibration.renew_calibration(self.store, partial(_embed_probes, self.embedder))
            except EmbedderError as error:
                self.log.say(f"The scale of similarities was not measured; the next run tries again. {error}")
            self._settle_mean()
        if self._index is None:
            self._measure_recall()
        with self.store.read() as db:
            to = switch.under_way(db)
            is_done = to and self.embedder and (self._index or not to.address)
            is_done = is_done and not embeddings.pending(db, 1, MAX_ATTEMPTS) and not switch.uncut(db)
            count = embeddings.unreadable_count(db, TARGET) if self._met_unreadable else 0
        if self._met_unreadable:
            self.log.say(unreadable(count))
        if to and is_done:
            with self.store.decide() as db:
                switch.finish(db)
            self.log.say(f"Searches use {embedder(to.embedder)} now.")
        with self.store.read() as db:
            was_switched = embeddings.has_unused(db)
            ids = embeddings.unused(db) if text_was_dropped or was_switched else []
            retired = switch.retired(db)
        for start in range(0, len(ids), _ROWS_A_WRITE):
            with self.store.write() as db:
                embeddings.drop(db, ids[start : start + _ROWS_A_WRITE])
        if was_switched:
            with self.store.decide() as db:
                embeddings.drop_unused_identities(db)
                calibration.drop_unused(db)
                signs.drop_unused_means(db)
        for address in retired:
            self._delete_index(address)

    def _settle_mean(self) -> None:
        """Fix the mean vector that sign bits are relative to, if there are enough vectors."""
        self._until_mean = signs.ENOUGH
        with self.store.read() as db:
            is_wanted = signs.wants_mean(db, self._identity_id)
        if is_wanted:
            with self.store.write() as db:
                signs.settle_mean(db, self._identity_id)

    def _measure_recall(self) -> None:
        """Measure how many of the nearest vectors a search finds. This is done only for many vectors, and
        again only when their number has grown much."""
        with self.store.read() as db:
            known, before = active_identity(db), None
            if known:
                before = signs.recall_of(db, known.id)
            count = embeddings.count_embedded(db, known.id) if known else 0
            if known is None or (before and count < _MANY_MORE * before.vectors):
                return
            recall = local.measured_recall(db, known)
        if recall:
            with self.store.note() as db:
                signs.put_recall(db, known.id, recall)

    def _delete_index(self, address: str) -> None:
        """Delete a remote vector index that is no longer used. If that fails, the next run tries again."""
        try:
            self.tools.open_index(address, 1).drop(self.store.id)
        except (VectorError, InvalidInput) as error:
            self.log.say(f"The former vector index {address} is not deleted yet. {error}")
            return
        with self.store.note() as db:
            switch.forget_retired(db, address)


def _embed_probes(embedder: Embedder, languages: Collection[str]) -> dict[str, Vectors]:
    """Embed the fixed questions of each of ``languages`` that the embedder reads."""
    vectors: dict[str, Vectors] = {}
    with ThreadPoolExecutor(thread_name_prefix="probes") as pool:
        for language in languages:
            questions = PROBES[language]
            if all(map(embedder.reads, questions)):
                vectors[language] = np.stack([*pool.map(embedder.embed_query, questions)])
    return vectors


def withholds_private(store: Store, server: str) -> bool:
    """Whether private notes of ``store`` must not go to ``server``: it is on another machine, and the owner
    has not allowed that."""
    return leaves(server) and not store.sends_private


def _require_working(embedder: Embedder) -> None:
    """Raise Unreachable if an embedder that refused some texts also refuses a harmless one."""
    try:
        embedder.embed_documents([embeddings.CANARY_TEXT])
    except (ModelMissing, Unreachable):
        raise
    except EmbedderError as error:
        raise Unreachable(f"It fails on every text: {error.message}", error.suggestion) from error


def _same_identity(store: Store, embedder: Embedder) -> int:
    """Return the row id of the embedder's identity. A store without an embedder takes this one. Raises
    EmbedderError if the store's vectors are from another model, even one with the same name."""
    canary = embedder.embed_documents([embeddings.CANARY_TEXT])[0]
    with store.read() as db:
        known = target_identity(db)
    if known is None:
        with store.decide() as db:
            return embeddings.set_identity(db, embedder.identity, canary)
    if known.identity != embedder.identity or not embeddings.same_canary(known.canary, canary):
        raise EmbedderError(
            f"The vectors of store {store.name!r} are from {known.identity}, this machine has"
            f" {embedder.identity}.",
            "Searches use words only; `commonplace store switch` embeds its texts again.",
        )
    return known.id
