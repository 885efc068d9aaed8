"""The embedder of a store and the place of its vectors: choosing, switching, comparing and healing them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import wait
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import islice

from rag_core.errors import InvalidInput, StoreError, VectorError
from rag_core.extract.chunk import chunk_spec
from rag_core.index import attaching, outbox, requests
from rag_core.index.embedding import withholds_private
from rag_core.library.service import Service
from rag_core.library.store_files import StoreFiles
from rag_core.models import Embedder, full_name
from rag_core.models.deadline import ANSWER_S, ask_index, in_background
from rag_core.providers import VECTOR_INDEXES
from rag_core.reports import VECTOR_INDEX, Finding, Health, Severity, VisibleIndexes
from rag_core.store import Store, embeddings, switch
from rag_core.store import outbox as rows
from rag_core.store.file import active_identity, now
from rag_core.store.health import EXAMPLES
from rag_core.types import StoreInfo, Viewer
from rag_core.vectors import RemoteIndex
from rag_core.vectors.backends import address_of, backend_of, existing, kinds, none_there, text_goes_to
from rag_core.vectors.service import SEARCH_ATTEMPTS, Options, ServiceRefused
from rag_core.wording import plural


class Placement(Service):
    """Chooses, switches and repairs the embedder and the vector index of stores."""

    def backends(self, viewer: Viewer) -> dict[str, str]:
        """Return the kinds of vector index that a store may have: name → where text is sent, in words."""
        return {kind: text_goes_to(kind, self._shared.vector_options) for kind in kinds()}

    def switch(
        self,
        viewer: Viewer,
        name: str,
        embedder: str | None = None,
        backend: str | None = None,
        *,
        rechunk: bool = False,
    ) -> StoreInfo:
        """Let the next runs embed a store again with ``embedder``, or move its vectors to ``backend``.

        None keeps the present one, or during a switch the new one. Searches use the old vectors until all new
        vectors exist. ``rechunk`` also cuts the documents again, for an embedder that reads fewer tokens than
        the old one.

        Raises InvalidInput if ``rechunk`` is missing in that case, or if nothing would change; EmbedderError
        or VectorError if the new one cannot be used; StoreBusy during a job.
        """
        store = self._own(viewer, name)
        with store.hold("switch"):
            with store.read() as db:
                begun = switch.under_way(db)
            chosen = full_name(store.target_embedder if embedder is None else embedder)
            opened = self._embedders.renewed(chosen)
            limit = store.spec.max_tokens
            if opened.max_tokens < limit and not rechunk:
                raise InvalidInput(
                    f"The embedder {chosen!r} reads at most {opened.max_tokens} tokens, and passages of"
                    f" store {name!r} have up to {limit}.",
                    "Cut its documents into shorter passages (`--rechunk`), or choose one that reads more.",
                )
            backend = backend or (begun.backend if begun else store.backend)
            self._begin(store, chosen, opened, backend, rechunk=rechunk)
        requests.request(store, None if rechunk else [])
        return self._shared.info(viewer, name)

    def _begin(self, store: Store, name: str, embedder: Embedder, backend: str, *, rechunk: bool) -> None:
        canary = embedder.embed_documents([embeddings.CANARY_TEXT])[0]
        with store.read() as db:
            active, address = active_identity(db), rows.address(db)
        same_model = (
            active is not None
            and active.identity == embedder.identity
            and embeddings.same_canary(active.canary, canary)
        )
        same_place = backend == store.backend
        if same_model and same_place and not rechunk:
            raise InvalidInput(
                f"Store {store.name!r} has this embedder and vector index already.",
                "Nothing was changed. A switch that has begun can be cancelled:"
                f" `commonplace store switch {store.name} --abandon`.",
            )
        if not (same_model and same_place):
            beside = embedder.identity if address and same_place else None
            address = address_of(backend, store.name, self._shared.vector_options, beside)
        if address:
            self._prepare(store, address, embedder.identity.dimension)
        with store.decide() as db:
            identity_id = embeddings.add_identity(db, embedder.identity, canary)
            to = switch.Switch(name, identity_id, backend, address)
            if to != switch.under_way(db):
                switch.begin(db, to)
            if rechunk:
                sizes = self._settings.chunk_sizes, dict(self._settings.chunking)
                switch.cut_again(db, chunk_spec(embedder.max_tokens, *sizes))

    def _prepare(self, store: Store, address: str, dimension: int) -> None:
        """Create the vector index at ``address`` for the store, or check that it is usable."""
        remote = self._stores.remote(store, address, dimension)
        ask_index(remote.owner, remote.server or address)
        with store.decide() as db:  # first: a failure must not lose track of the index
            switch.retire(db, address)
        remote.prepare(store.id)

    def abandon_switch(self, viewer: Viewer, name: str) -> StoreInfo:
        """Cancel a switch. The store keeps the embedder and vector index that searches use now. Raises
        InvalidInput if no switch is in progress, and StoreBusy while the store is being indexed."""
        store = self._own(viewer, name)
        with store.hold("switch"), store.decide() as db:
            if switch.under_way(db) is None:
                raise InvalidInput(f"Store {name!r} is not switching.", "Nothing was changed.")
            switch.abandon(db)
        requests.request(store, [])
        return self._shared.info(viewer, name)

    def let_private_leave(self, viewer: Viewer, name: str, *, allowed: bool) -> None:
        """Allow or forbid sending private notes of a store to other machines. If forbidden, the next run
        removes private notes already sent. Raises StoreBusy while the store is being indexed."""
        store = self._own(viewer, name)
        with store.hold("switch"), store.decide() as db:
            db.execute("INSERT OR REPLACE INTO meta VALUES ('sends_private', ?)", ("1" if allowed else "0",))
            rows.queue_all(db, "document_id IN (SELECT id FROM documents WHERE private)")
        requests.request(store, [])

    def visible_indexes(self, viewer: Viewer) -> list[VisibleIndexes]:
        """Return the vector indexes, by kind, that this computer's credentials can reach and no store here
        uses. If a service cannot be asked, ``problem`` says why."""
        named = self._addresses(viewer)
        asked = {kind: options for kind, options in self._shared.vector_options.items() if options.is_there}
        listings = [
            in_background(f"listing {kind}", partial(_visible, kind, options))
            for kind, options in asked.items()
        ]
        wait(listings, ANSWER_S)
        visible = []
        for kind, listing in zip(asked, listings, strict=True):
            if not listing.done():
                problem = f"The service {kind!r} gave no answer within {ANSWER_S:g} seconds."
                visible.append(VisibleIndexes(kind, problem=problem))
            elif isinstance(error := listing.exception(), VectorError):
                visible.append(VisibleIndexes(kind, problem=str(error)))
            else:
                addresses = tuple(address for address in listing.result() if address not in named)
                visible.append(VisibleIndexes(kind, addresses))
        return visible

    def _addresses(self, viewer: Viewer) -> set[str]:
        """Return the addresses of the vector indexes that stores here use."""
        addresses = set()
        for opened in self._stores.each(viewer, ())[0].values():
            with suppress(StoreError), opened.store.read() as db:
                addresses.add(rows.address(db))
        return addresses

    def attach(
        self, viewer: Viewer, address: str, name: str = "", progress: attaching.Progress | None = None
    ) -> StoreInfo:
        """Create a read-only store from a remote vector index that another installation fills.

        Attaching the same index again updates the store. Without ``name`` the store gets the name of the
        index at ``address``. ``progress`` is called with the number of passages read, and may raise to end
        it.

        Raises:
            InvalidInput: The address or the name cannot be used.
            VectorError: The index cannot be read, or Commonplace did not write it.
            EmbedderError: The model that made the vectors is missing here.

        """
        self._stores.require_own_disk()
        try:
            remote: RemoteIndex = ask_index(partial(existing, address, self._shared.vector_options), address)
        except ServiceRefused as error:
            raise none_there(address, is_copy=True) if error.is_absence else error from None
        name = name or attaching.maker_at(remote, address).name
        known = self._shared.info(viewer, name) if name in self._stores.names(viewer) else None
        if known and known.attached and known.address == address:
            path = self._stores.path(name)
            make_room: Callable[[], None] = partial(self._stores.delete, viewer, name, keep_grants=True)
        else:
            path = self._stores.new_path(viewer, name)
            make_room = partial(self._access.forget_store, name)
        attaching.make_attached(
            remote,
            address,
            backend_of(address),
            path,
            self._embedders.get,
            make_room=make_room,
            progress=progress,
        )
        return self._shared.info(viewer, name)

    def take_over(self, viewer: Viewer, name: str, progress: attaching.Progress | None = None) -> StoreInfo:
        """Let this installation alone fill the vector index that a store is attached to. The content stays,
        as a paused folder.

        Raises InvalidInput for a store that is not attached, VectorError if the index cannot be read, and
        EmbedderError if the model that made its vectors is missing here.
        """
        info = self._shared.info(viewer, name)
        if not info.attached:
            raise InvalidInput(
                f"Store {name!r} is not attached to a vector index of another installation.",
                "It fills its own index already.",
            )
        self.attach(viewer, info.address, name, progress)  # or the next run would remove what came since
        store = self._stores.open(viewer, name).store
        with store.hold("switch"):
            if target := self._stores.target(store):
                target.prepare(store.id, take_over=True)
            with store.decide() as db:
                switch.take_over(db)
        return self._shared.info(viewer, name)

    def can_send(self, viewer: Viewer, name: str) -> bool:
        """Whether a store has chunks to send to its remote vector index, and the index answers now."""
        store = self._stores.open(viewer, name).store
        try:
            remote = self._stores.target(store)
            if remote is None:
                return False
            private = not withholds_private(store, remote.server)
            with store.read() as db:
                waits = not switch.is_attached(db) and rows.is_sendable(db, private=private)
            return waits and remote.owner() == store.id
        except (VectorError, InvalidInput):
            return False

    def heal(self, viewer: Viewer, name: str) -> Health:
        """Compare a store's remote vector index with the store, send it the vectors that it lacks, and remove
        those that it should not have. Returns what was found; without checks if there is no such index.

        Raises:
            StoreBusy: A job of the store is running.
            VectorError: The index belongs to another store or cannot be reached.

        """
        store = self._own(viewer, name)
        with store.hold("repair"):
            remote = self._stores.target(store)
            if remote is None:
                return Health(name, now(), (), (), 0.0)
            ask_index(remote.owner, remote.server or name)
            remote.prepare(store.id)
            differences = outbox.heal(store, remote, private=not withholds_private(store, remote.server))
        return Health(name, now(), (VECTOR_INDEX,), _findings(differences), 0.0)


_MOST_VISIBLE = 500


def _visible(kind: str, options: Options) -> list[str]:
    """Return the addresses of the first indexes of a kind. Raises VectorError."""
    addresses = VECTOR_INDEXES[kind].opener.visible(replace(options, attempts=SEARCH_ATTEMPTS))
    return [*islice(addresses, _MOST_VISIBLE)]


def compare_index(stores: StoreFiles, store: Store) -> tuple[Finding, ...]:
    """Compare the remote vector index of a store with the store, and return the differences; () if it has no
    remote index. If the index cannot be asked now, a note says so."""
    try:
        remote = stores.target(store)
        if remote is None:
            return ()
        with store.read() as db:
            is_copy, address = switch.is_attached(db), rows.address(db)
        owner = ask_index(remote.owner, remote.server or address)
        if is_copy:
            absent = str(none_there(address, is_copy=True))
            return () if owner else (Finding(VECTOR_INDEX, "note", absent, 1),)
        if owner != store.id:
            foreign = "The vector index belongs to another installation."
            return (
                Finding(VECTOR_INDEX, "fault", foreign if owner else "The vector index is not there.", 1),
            )
        private = not withholds_private(store, remote.server)
        return _findings(outbox.compare(store, remote, private=private))
    except (VectorError, InvalidInput) as error:
        return (Finding(VECTOR_INDEX, "note", f"The vector index cannot be compared now. {error}", 1),)


def drop_remote(stores: StoreFiles, store: Store) -> None:
    """Delete the remote indexes that a store owns. Afterwards the store uses a local index. Raises StoreBusy
    while the store is being indexed, and VectorError if an index cannot be deleted."""
    with store.hold("delete"):
        with store.read() as db:
            if switch.is_attached(db):
                return
            addresses = {rows.address(db), rows.target(db), *switch.retired(db)} - {""}
        if not addresses:
            return
        try:
            for address in addresses:
                remote = stores.remote(store, address, 1)
                ask_index(remote.owner, remote.server or address)
                remote.drop(store.id)
        except (VectorError, InvalidInput) as error:
            command = f"commonplace store delete {store.name} --leave-index"
            raise VectorError(
                f"Nothing was deleted, as the index of {store.name!r} cannot be deleted: {error.message}",
                f"Try again later, or delete the store without its index: `{command}`.",
            ) from error
        with store.decide() as db:
            switch.keep_local(db)


def _findings(differences: outbox.Comparison) -> tuple[Finding, ...]:
    kinds: tuple[tuple[int, Severity, str, Sequence[str]], ...] = (
        (len(differences.missing), "fault", "The vector index lacks {}.", differences.missing),
        (len(differences.extra), "fault", "The vector index has {} too many.", differences.extra),
        (differences.refused, "fault", "The vector index refused {}.", ()),
        (
            differences.queued,
            "note",
            "Changes of {} were not sent to the vector index yet; the next run sends them.",
            (),
        ),
    )
    return tuple(
        Finding(
            VECTOR_INDEX, severity, sentence.format(plural(count, "passage")), count, tuple(keys[:EXAMPLES])
        )
        for count, severity, sentence, keys in kinds
        if count
    )
