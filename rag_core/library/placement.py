"""Which embedder a store has and where its vectors are: chosen, switched, compared and mended."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from rag_core.errors import InvalidInput, VectorError
from rag_core.extract.chunk import chunk_spec
from rag_core.index import index, outbox
from rag_core.index.embedding import keeps_private
from rag_core.library import attaching
from rag_core.library.folders import owner_only
from rag_core.library.runs import Runs
from rag_core.models import Embedder, full_name
from rag_core.models.deadline import ask_index
from rag_core.reports import VECTOR_INDEX, Finding, Health
from rag_core.store import Store, identities, switch
from rag_core.store import outbox as rows
from rag_core.store.file import now
from rag_core.store.health import EXAMPLES
from rag_core.types import StoreInfo, Viewer
from rag_core.vectors import RemoteIndex
from rag_core.vectors.backends import address_of, backend_of, destination, existing, kinds, none_there
from rag_core.vectors.service import Refused
from rag_core.wording import plural


class Placement(Runs):
    """Every store of one owner, with the choice of who embeds its text and where its vectors are.

    Every method here raises Forbidden for a guest.
    """

    def backends(self, viewer: Viewer) -> dict[str, str]:
        """The kinds of vector index that a store may have, and where text goes with each, in words."""
        owner_only(viewer, "choose a vector index")
        return {kind: destination(kind, self._vector_options) for kind in kinds()}

    def switch_store(
        self,
        viewer: Viewer,
        name: str,
        embedder: str | None = None,
        backend: str | None = None,
        *,
        rechunk: bool = False,
    ) -> StoreInfo:
        """Have the next runs make the vectors of a store anew by ``embedder``, or keep them in ``backend``;
        None leaves it as it is, or as the switch that is under way has it. Until all is done, searches use
        the old ones.

        ``rechunk`` lets the documents be cut again, which an embedder that reads less than the old one asks
        for. Raises InvalidInput when it is missing then, or when nothing would change; EmbedderError and
        VectorError when the new ones cannot be had, StoreBusy while the store is being indexed.
        """
        owner_only(viewer, "switch a store")
        store = self._own(viewer, name)
        with store.hold("switch"):
            with store.read() as db:
                begun = switch.under_way(db)
            chosen = full_name(embedder or store.target_embedder)
            opened = self._embedders.renewed(chosen)
            limit = store.spec.max_tokens
            if opened.max_tokens < limit and not rechunk:
                raise InvalidInput(
                    f"The embedder {chosen!r} reads {opened.max_tokens} tokens of a passage, and those of"
                    f" store {name!r} have up to {limit}.",
                    "Let its documents be cut again as well (`--rechunk`), or choose one that reads more.",
                )
            backend = backend or (begun.backend if begun else store.backend)
            self._begin(store, chosen, opened, backend, rechunk=rechunk)
        index.request(store, None if rechunk else [])
        return self.store_info(viewer, name)

    def _begin(self, store: Store, name: str, embedder: Embedder, backend: str, *, rechunk: bool) -> None:
        canary = embedder.embed_documents([identities.CANARY_TEXT])[0]
        with store.read() as db:
            active = identities.active_identity(db)
            address = rows.address(db)
            begun = switch.under_way(db)
        is_same = (
            active is not None
            and active.identity == embedder.identity
            and identities.same_canary(active.canary, canary)
        )
        if is_same and backend == store.backend and not rechunk:
            raise InvalidInput(
                f"Store {store.name!r} has this embedder and vector index already.",
                "Nothing was changed; the switch that is under way can be abandoned."
                if begun
                else "Nothing was changed.",
            )
        if not is_same or backend != store.backend:
            beside = embedder.identity if address and backend == store.backend else None
            address = address_of(backend, store.name, self._vector_options, beside)
        if address:
            remote = self._stores.own_remote(store, address, embedder.identity.dimension)
            ask_index(remote.owner, remote.server or address)
            with store.decide() as db:  # before it is made: whatever becomes of this, no index is forgotten
                switch.retire(db, address)
            remote.prepare(store.id)
        with store.decide() as db:
            identity_id = identities.add_identity(db, embedder.identity, canary)
            to = switch.Switch(name, identity_id, backend, address)
            if to != switch.under_way(db):
                switch.begin(db, to)
            if rechunk:
                sizes = self.settings.chunk_sizes, dict(self.settings.chunking)
                switch.cut_anew(db, chunk_spec(embedder.max_tokens, *sizes))

    def abandon_switch(self, viewer: Viewer, name: str) -> StoreInfo:
        """Stay with the embedder and the vector index that searches use.

        Raises InvalidInput when no switch is under way, StoreBusy while the store is being indexed.
        """
        owner_only(viewer, "switch a store")
        store = self._stores.open(viewer, name).store
        with store.hold("switch"), store.decide() as db:
            if switch.under_way(db) is None:
                raise InvalidInput(f"Store {name!r} is not switching.", "Nothing was changed.")
            switch.abandon(db)
        index.request(store, [])
        return self.store_info(viewer, name)

    def let_private_leave(self, viewer: Viewer, name: str, *, allowed: bool) -> None:
        """Say whether private notes of a store may go to servers on other machines; what may not any more
        is removed there by the next run. Raises StoreBusy while the store is being indexed."""
        owner_only(viewer, "let private notes leave")
        store = self._own(viewer, name)
        with store.hold("switch"), store.decide() as db:
            db.execute("INSERT OR REPLACE INTO meta VALUES ('sends_private', ?)", ("1" if allowed else "0",))
            rows.queue_private(db)
        index.request(store, [])

    # --- another installation's index -------------------------------------------------

    def attach_store(
        self,
        viewer: Viewer,
        address: str,
        name: str = "",
        progress: attaching.Progress | None = None,
        *,
        take_over: bool = False,
    ) -> StoreInfo:
        """Make a store of the remote vector index at ``address``, which another installation fills; without
        ``name`` it is called as there. It is only read until it is taken over (``take_over``: at once);
        attaching it once more brings it up to date.

        ``progress`` hears how many passages came, and what it raises ends it. Raises InvalidInput for an
        address or name that cannot be used, VectorError when the index cannot be read or is not one of
        ours, EmbedderError when its embedder is not to be had here.
        """
        owner_only(viewer, "attach a store")
        remote = self._at(address)
        name = name or attaching.maker_at(remote, address).name
        old = self._attached_to(viewer, name, address)
        path = self._stores.path(name) if old else self._stores.new_path(viewer, name)

        def make_room() -> None:
            if old:
                self._stores.delete(viewer, name, keep_grants=True)
            else:
                self._stores.make_room(name)

        attaching.attach(
            remote, address, backend_of(address), path, self._embedders.get,
            make_room=make_room, progress=progress,
        )  # fmt: skip
        if take_over:
            self._take_over(self._stores.open(viewer, name).store)
        return self.store_info(viewer, name)

    def _at(self, address: str) -> RemoteIndex:
        """The index that is at ``address``. Raises VectorError, also when there is none; InvalidInput."""
        try:
            return ask_index(partial(existing, address, self._vector_options), address)
        except Refused as error:
            raise none_there(address, is_copy=True) if error.is_absence else error from None

    def _attached_to(self, viewer: Viewer, name: str, address: str) -> bool:
        """Whether the store called ``name`` is a copy of what is at ``address``."""
        if name not in self.store_names(viewer):
            return False
        info = self.store_info(viewer, name)
        return info.attached and info.address == address

    def take_over_store(
        self, viewer: Viewer, name: str, progress: attaching.Progress | None = None
    ) -> StoreInfo:
        """Let this installation fill the index that a store is attached to, and nobody else any more.

        What is in it by now stays, as a folder that is paused; add the folders of this computer to go on.
        ``progress`` as in `attach_store`. Raises InvalidInput for a store that is not attached, VectorError
        when the index cannot be reached.
        """
        owner_only(viewer, "take over a store")
        info = self.store_info(viewer, name)
        if not info.attached:
            raise InvalidInput(f"Store {name!r} is not attached.", "It fills its own index already.")
        # It is read once more first, or the next run would remove what came since.
        return self.attach_store(viewer, info.address, name, progress, take_over=True)

    def _take_over(self, store: Store) -> None:
        with store.hold("switch"):
            if remote := self._stores.target(store):
                remote.prepare(store.id, take_over=True)
            with store.decide() as db:
                switch.take_over(db)

    # --- a remote index -------------------------------------------------------------

    def can_send(self, viewer: Viewer, name: str) -> bool:
        """Whether a store has something to send to its remote vector index, and that answers just now."""
        owner_only(viewer, "ask for a vector index")
        store = self._stores.open(viewer, name).store
        try:
            remote = self._stores.target(store)
            if remote is None:
                return False
            private = not keeps_private(store, remote.server)
            with store.read() as db:
                waits = not switch.is_attached(db) and rows.is_sendable(db, private=private)
            return waits and remote.owner() == store.id
        except (VectorError, InvalidInput):
            return False

    def heal(self, viewer: Viewer, name: str) -> Health:
        """Send a store's remote vector index what it lacks and remove what it has too much; what was found
        is in the findings. Without a remote index there is nothing to do.

        Raises StoreBusy while the store is being indexed, VectorError when the index is another owner's or
        cannot be reached.
        """
        owner_only(viewer, "heal a vector index")
        store = self._own(viewer, name)
        with store.hold("repair"):
            remote = self._stores.target(store)
            if remote is None:
                return Health(name, now(), (), (), 0.0)
            ask_index(remote.owner, remote.server or name)
            remote.prepare(store.id)
            found = outbox.heal(store, remote, private=not keeps_private(store, remote.server))
        return Health(name, now(), (VECTOR_INDEX,), tuple(_findings(found)), 0.0)

    def _compared(self, store: Store) -> tuple[Finding, ...]:
        """What the remote vector index of a store has not as it should, as findings."""
        try:
            remote = self._stores.target(store)
            if remote is None:
                return ()
            with store.read() as db:
                is_copy, address = switch.is_attached(db), rows.address(db)
            owner = ask_index(remote.owner, remote.server or address)
            if is_copy:
                absent = str(none_there(address, is_copy=True))
                return () if owner else (Finding(VECTOR_INDEX, "note", absent, 1),)
            if owner != store.id:
                whose = "belongs to another installation" if owner else "is not there"
                return (Finding(VECTOR_INDEX, "fault", f"The vector index {whose}.", 1),)
            private = not keeps_private(store, remote.server)
            return tuple(_findings(outbox.compare(store, remote, private=private)))
        except (VectorError, InvalidInput) as error:
            return (Finding(VECTOR_INDEX, "note", f"The vector index cannot be compared now. {error}", 1),)

    def _drop_remote(self, store: Store) -> None:
        """Delete the remote indexes of a store, as far as they are its own; it is a local one then. They stay
        where a copy of the store searches them, too.

        Raises StoreBusy while it is being indexed, VectorError when one of them cannot be deleted.
        """
        with store.hold("delete"):
            with store.read() as db:
                if switch.is_attached(db):
                    return
                found = {rows.address(db), rows.target(db), *switch.retired(db)} - {""}
            if not found or self._stores.twins(store):
                return
            for address in found:
                self._drop_index(store, address)
            with store.decide() as db:
                switch.keep_local(db)

    def _drop_index(self, store: Store, address: str) -> None:
        try:
            remote = self._stores.remote(store, address, 1)
            ask_index(remote.owner, remote.server or address)
            remote.drop(store.id)
        except (VectorError, InvalidInput) as error:
            command = f"commonplace store delete {store.name} --leave-index"
            raise VectorError(
                f"The vector index of store {store.name!r} cannot be deleted, and so nothing was:"
                f" {error.message}",
                f"Try again later, or leave what is there: `{command}`.",
            ) from error


def _findings(found: outbox.Comparison) -> Iterator[Finding]:
    lacking, surplus = found.missing, found.extra
    if lacking:
        sentence = f"The vector index lacks {plural(len(lacking), 'passage')}."
        yield Finding(VECTOR_INDEX, "fault", sentence, len(lacking), lacking[:EXAMPLES])
    if surplus:
        sentence = f"The vector index has {plural(len(surplus), 'passage')} too much."
        yield Finding(VECTOR_INDEX, "fault", sentence, len(surplus), surplus[:EXAMPLES])
    if found.refused:
        sentence = f"The vector index refused {plural(found.refused, 'passage')}."
        yield Finding(VECTOR_INDEX, "fault", sentence, found.refused)
    if found.queued:
        sentence = f"The next run tells the vector index of {plural(found.queued, 'passage')}."
        yield Finding(VECTOR_INDEX, "note", sentence, found.queued)
