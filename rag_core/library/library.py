"""The facade: one object that every face (app, CLI, REST, MCP) calls.

What any viewer may read is in ``reader``. What only the owner may do is in ``folders``, ``runs``,
``placement``, ``hiding`` and ``services``, and here: stores, single files and their health.
"""

from __future__ import annotations

import difflib
import os
import posixpath
import sys
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING

from rag_core.errors import InvalidInput, NotFound, RagError, StoreError, VectorError
from rag_core.extract.chunk import chunk_spec
from rag_core.files import current_folder, display, expanded, real_folder, with_sep
from rag_core.index.choice import refuse_no_match
from rag_core.index.repair import repair
from rag_core.library import diagnosis, doctor, portable
from rag_core.library.asking import Asking
from rag_core.library.excerpts import Excerpts
from rag_core.library.folders import owner_only
from rag_core.library.freshness import file_state_by_hash, file_states
from rag_core.library.hiding import Hiding
from rag_core.library.overview import Overview
from rag_core.library.pieces import Pieces
from rag_core.library.placement import Placement
from rag_core.library.portable import Exported, Report
from rag_core.library.reader import MAX_TOP_K
from rag_core.library.services import Services
from rag_core.library.sharing import Sharing
from rag_core.models import DEFAULT_EMBEDDER, full_name
from rag_core.models.deadline import ask_index
from rag_core.models.registry import asks_others, facts_of, with_dimension
from rag_core.reports import VECTOR_INDEX, Diagnosis, Health, Repair, Step
from rag_core.store import Store, documents, find, outbox, sources, work
from rag_core.store.health import check
from rag_core.types import METRICS, Document, DocumentView, FileState, Metric, StoreInfo, Viewer
from rag_core.vectors.backends import address_of

if TYPE_CHECKING:
    from rag_core.config import DeclaredStore  # brings pydantic, which commands need only for settings


class Library(Placement, Hiding, Services, Overview, Pieces, Asking, Excerpts, Sharing):
    """Every store of one owner. Cheap to make, safe to share between threads.

    Every method here but ``document`` raises Forbidden for a guest.
    """

    # --- stores -------------------------------------------------------------------------

    def create_store(
        self,
        viewer: Viewer,
        name: str,
        embedder: str | None = None,
        *,
        metric: Metric = "cosine",
        dimension: int | None = None,
        backend: str | None = None,
        sends_private: bool = False,
    ) -> StoreInfo:
        """Make an empty store whose vectors have ``dimension`` numbers (None: what ``embedder`` gives) and
        are kept in ``backend``.

        Without ``embedder`` and ``backend`` it gets those of the settings, and always their sizes of
        passages. ``sends_private`` lets private notes go to servers on other machines. Raises
        InvalidInput for a name, embedder, metric, dimension or backend that cannot be used, EmbedderError
        when the embedder's server does not answer or lacks the model, VectorError when the vector index
        cannot be made or is another's.
        """
        owner_only(viewer, "create a store")
        path = self._stores.new_path(viewer, name)
        if metric not in METRICS:
            raise InvalidInput(f"There is no metric called {metric!r}.", f"Use {', '.join(METRICS)}.")
        embedder = with_dimension(embedder or self.settings.embedder, dimension, self._embedders.get)
        sizes = self.settings.chunk_sizes, dict(self.settings.chunking)
        spec = chunk_spec(facts_of(embedder, self._embedders.get).max_tokens, *sizes)
        backend = backend or self.settings.backend
        address = address_of(backend, name, self._vector_options)
        number = facts_of(embedder, self._embedders.get).dimension if address else 0
        if address:
            ask_index(self._open_remote(address, number, metric).owner, address)  # nothing is made before
        facts = {"sends_private": "1" if sends_private else "0", **outbox.placed(address)}
        Store.create(
            path, embedder=embedder, spec=spec, backend=backend, metric=metric, facts=facts,
            make_room=partial(self._stores.make_room, name),
        ).close()  # fmt: skip
        if address:
            self._prepare_new(viewer, name, address, number)
        return self.store_info(viewer, name)

    def make_if_needed(self, viewer: Viewer, name: str) -> bool:
        """Make an empty store as the settings have it unless there is one called ``name``; whether it was
        made here. Who makes one at the same time is not in the way. Raises as ``create_store``."""
        owner_only(viewer, "create a store")
        if name in self.store_names(viewer):
            return False
        try:
            self.create_store(viewer, name)
        except (InvalidInput, StoreError):
            if name in self.store_names(viewer):
                return False
            raise
        return True

    def _prepare_new(self, viewer: Viewer, name: str, address: str, dimension: int) -> None:
        """Make the remote index of a new store; without it there is no store, unless something of it may be
        there: that nobody else could ever fill or delete."""
        store = self._stores.open(viewer, name).store
        try:
            self._stores.remote(store, address, dimension).prepare(store.id)
        except BaseException as error:
            try:
                self._drop_remote(store)
            except VectorError:
                said = f"Store {name!r} is made, but its vector index is not yet: {error}"
                raise VectorError(said, "The next run makes it.") from error
            self._stores.delete(viewer, name)
            raise

    def make_declared(self, viewer: Viewer) -> list[str]:
        """Make the stores that the settings declare, where they are not there yet; nothing else changes.

        Returns a sentence for each that was made, could not be made, or is there and lacks what
        was declared.
        """
        owner_only(viewer, "create a store")
        return [said for declared in self.settings.stores if (said := self._declare(viewer, declared))]

    def _declare(self, viewer: Viewer, declared: DeclaredStore) -> str:
        there = {name.casefold(): name for name in self.store_names(viewer)}.get(declared.name.casefold())
        try:
            if there:
                return self._missing(viewer, self.store_info(viewer, there), declared)
            roots = [real_folder(folder.root) for folder in declared.folders]
            for root, folder in zip(roots, declared.folders, strict=True):  # all, before anything is made
                refuse_no_match(root, folder.include, folder.exclude)
            self.create_store(viewer, declared.name, declared.embedder, backend=declared.backend)
            for root, folder in zip(roots, declared.folders, strict=True):
                self.add_source(viewer, declared.name, root, folder.include, folder.exclude)
        except RagError as error:
            return f"The declared store {declared.name!r} could not be made or read. {error}"
        how = f" The Index page, or `commonplace index --store {declared.name}`, reads its folders."
        return f"Made store {declared.name!r}.{how if roots else ''}"

    def _missing(self, viewer: Viewer, info: StoreInfo, declared: DeclaredStore) -> str:
        """What ``declared`` says that the store does not have, in a sentence; empty when it has it all."""
        sources = {source.root: source for source in info.sources if not source.removed}
        lacks = []
        if declared.embedder and full_name(declared.embedder) != info.embedder:
            lacks.append(f"the embedder {declared.embedder!r} (it has {info.embedder!r})")
        for folder in declared.folders:
            source = sources.get(os.path.realpath(folder.root))
            if source is None:
                draft = self.draft_source(viewer, info.name, folder.root, folder.include, folder.exclude)
                if draft.root not in sources:  # or another folder takes all of it
                    lacks.append(f"the folder {str(folder.root)!r}")
            elif not {*folder.include} <= {*source.include} or not {*folder.exclude} <= {*source.exclude}:
                lacks.append(f"the patterns of {str(folder.root)!r}")
        if not lacks:
            return ""
        said = f"Store {info.name!r} is there without what is declared: {', '.join(lacks)}."
        return f"{said} It stays as it is."

    def delete_store(self, viewer: Viewer, name: str, *, leave_index: bool = False) -> None:
        """Remove a store, sound or damaged, and all that it holds; the files it was read from stay.

        Its remote vector index goes, too, unless ``leave_index`` says otherwise. Raises StoreBusy while it is
        being indexed, VectorError when that index cannot be deleted; then nothing is.
        """
        owner_only(viewer, "delete a store")
        if not leave_index:
            with suppress(StoreError):  # one that is damaged does not know where its vectors are
                self._drop_remote(self._stores.open(viewer, name).store)
        self._stores.delete(viewer, name)

    def rename_store(self, viewer: Viewer, name: str, new_name: str) -> StoreInfo:
        """Give a store another name; all that it holds stays, keys too.

        Raises InvalidInput for a name that cannot be used, StoreBusy while it is being indexed
        or another process has it open.
        """
        owner_only(viewer, "rename a store")
        self._stores.rename(viewer, name, new_name)
        return self.store_info(viewer, new_name)

    def export_store(
        self, viewer: Viewer, store: str, target: Path, report: Report | None = None, *, force: bool = False
    ) -> Exported:
        """Write a store, private notes too, into one portable file: ``target``, or ``STORE.commonplace`` in
        it where it is a folder. The store can be searched and indexed meanwhile.

        The file is there whole or not at all; an existing one is replaced only with ``force``. ``report``
        hears how far it is, and what it raises ends it. Raises InvalidInput for a target that cannot
        be one, StoreError when the store cannot be read or the file not be written.
        """
        owner_only(viewer, "export a store")
        return portable.export_store(
            self._stores.open(viewer, store).store, expanded(target), force=force, report=report
        )

    def import_store(
        self, viewer: Viewer, file: Path, name: str = "", report: Report | None = None
    ) -> StoreInfo:
        """Make a store of a portable file, which may come from anywhere; without ``name`` it keeps its own.

        The store is there whole or not at all. Its folders that are not on this computer are paused;
        ``notices`` tell of that and of all else that is not as it was. ``report`` as in `export_store`.
        Raises InvalidInput when there is no such file or the name cannot be used, StoreError when
        the file is not one that this program can take in.
        """
        owner_only(viewer, "import a store")
        with portable.opened(expanded(file)) as packed:
            path = self._free_path_for_import(viewer, name or packed.manifest.name)
            notices = portable.import_store(packed, path, report, partial(self._stores.make_room, path.stem))
        info = self.store_info(viewer, path.stem)
        if missing := self._embedder_missing(info.embedder):
            notices = (*notices, f"Until its embedder is here, words find its passages. {missing}")
        return replace(info, notices=notices)

    def _free_path_for_import(self, viewer: Viewer, name: str) -> Path:
        twins = {other.casefold(): other for other in self.store_names(viewer)}
        if twin := twins.get(name.casefold()):
            raise portable.taken(twin)
        return self._stores.new_path(viewer, name)

    def verify(
        self,
        viewer: Viewer,
        store: str,
        *,
        files: bool = False,
        report: Callable[[int, int], None] | None = None,
    ) -> Health:
        """Check every promise of a store; ``files`` also compares its documents with their files.

        ``report`` hears how many checks were made, of how many, and what it raises ends them.
        Raises StoreError when it is too damaged to be read.
        """
        owner_only(viewer, "verify a store")
        opened = self._stores.open(viewer, store).store
        found = check(opened, files=files, report=report)
        if found.sound and (compared := self._compared(opened)):
            checks = (*found.checks, VECTOR_INDEX)
            return replace(found, checks=checks, findings=(*found.findings, *compared))
        return found

    def repair(self, viewer: Viewer, store: str) -> Repair:
        """Make a damaged store anew: its folders are read into a new file, which takes over the vectors that
        are whole and the owner's decisions. A sound one stays as it is.

        Raises StoreBusy while it is being indexed, StoreError when its folders are not there or the disk is
        full; the store is then as it was.
        """
        owner_only(viewer, "repair a store")
        self._stores.require(viewer, store)
        return repair(
            self._stores.path(store),
            lambda new: self._embedders.renewed(new.target_embedder),
            self._limits(),
            self._courtesy,
        )

    # --- files ------------------------------------------------------------------------------

    def exclude_file(self, viewer: Viewer, store: str, path: str, reason: str = "") -> None:
        """Take one document out, whatever the patterns say; the run that this asks for forgets it.

        Raises NotFound, also when it is out already.
        """
        owner_only(viewer, "exclude files")
        opened = self._own(viewer, store)
        found = self._places(opened, [path])
        with opened.decide() as db:
            for source_id, raw in found:
                sources.exclude_file(db, source_id, raw, reason or "It was taken out by hand.")
                work.request_files(db, source_id, [raw])

    def take_back_file(self, viewer: Viewer, store: str, path: str) -> None:
        """Let the patterns decide on an excluded file again, and ask for it to be read. Raises NotFound."""
        owner_only(viewer, "exclude files")
        opened = self._own(viewer, store)
        with opened.read() as db:
            out = sources.excluded_files(db)
        found = [each for each in out if each.display == path]
        if not found:
            near = difflib.get_close_matches(path, [each.display for each in out], n=1)
            meant = f"Did you mean {near[0]!r}?" if near else "Look at its files."
            raise NotFound(f"No file called {path!r} is excluded from store {store!r}.", meant)
        with opened.decide() as db:
            for each in found:
                sources.take_back_file(db, each.source_id, each.path)
                work.request_files(db, each.source_id, [each.path])

    def files(self, viewer: Viewer, store: str, *, compared: bool = True) -> list[Document]:
        """Every file of a store by path, its ``state`` a FileState compared with the disk just now,
        excluded files included. Without ``compared`` the state of one that is not excluded is what its
        last reading gave, and the answer the same until the store changes."""
        owner_only(viewer, "see files")
        return self._files(viewer, store, compared=compared)

    def file_states(self, viewer: Viewer, store: str) -> dict[int, FileState]:
        """The state of each document by its id, compared with the disk just now; only ``files`` knows
        which are excluded. One stat a file: 20,000 take about a tenth of a second."""
        owner_only(viewer, "see files")
        with self._stores.open(viewer, store).store.read() as db:
            rows = find.stat_rows(db)
        return file_states(rows)

    def file(self, viewer: Viewer, store: str, path: str) -> Document:
        """One file of a store, as ``files`` lists it, but that a file that was only touched has not changed:
        its content is compared. Raises NotFound."""
        owner_only(viewer, "see files")
        found = self._files(viewer, store, path)
        if not found:
            raise self._no_file(self._stores.open(viewer, store).store, path)
        return found[0]

    def _files(
        self, viewer: Viewer, store: str, path: str | None = None, *, compared: bool = True
    ) -> list[Document]:
        """The files of a store by path, or only those called ``path``."""
        with self._stores.open(viewer, store).store.read() as db:
            rows = find.document_rows(db, viewer, None if path is None else documents.ids(db, path))
            excluded = sources.excluded_files(db)
        out = {each.whole_path: each for each in excluded if path in (None, each.display)}
        if path is None:
            states = file_states(rows) if compared else None
        else:
            states = {row["id"]: file_state_by_hash(row) for row in rows}
        found = find.as_documents(rows, store, viewer, states)
        if not out:
            return found
        listed = [
            _marked(document, out.pop(with_sep(row["root"]) + row["path"], None))
            for row, document in zip(rows, found, strict=True)
        ]
        return sorted([*listed, *(_excluded(store, each) for each in out.values())], key=attrgetter("path"))

    def document(self, viewer: Viewer, store: str, path: str, key: str = "") -> DocumentView:
        """The document called ``path`` as it was indexed, the chunk called ``key`` marked. Raises NotFound.

        For the owner its state is that of ``files``, and a file that is excluded is there without text.
        """
        if not viewer.is_owner:
            return super().document(viewer, store, path, key)
        file = self.file(viewer, store, path)
        try:
            found = super().document(viewer, store, path, key)
        except NotFound:
            return DocumentView(file, (), (), (), (), ())
        return replace(found, document=replace(found.document, state=file.state, reason=file.reason))

    # --- health -------------------------------------------------------------------------

    def explain_file(
        self,
        viewer: Viewer,
        path: str,
        names: Sequence[str] = (),
        *,
        query: str = "",
        here: Path | None = None,
    ) -> list[Diagnosis]:
        """Why the file ``path`` is found or not, in each of the named stores (none: all).

        ``path`` is absolute, relative to ``here``, or as a store calls it. With ``query`` also
        which place its best passage has among the first 1000 hits, if there is any to be found.
        """
        owner_only(viewer, "ask why a file is not found")
        here = here or (Path(os.sep) if expanded(path).is_absolute() else current_folder())
        wanted = dict.fromkeys(names or self.store_names(viewer))
        found = [self._explained(viewer, name, path, here) for name in wanted]
        if any(each.steps[1:] for each in found):
            found = [each for each in found if not diagnosis.is_elsewhere(each)]
        elif other := self._other_store(viewer, path, here, wanted):
            found = [diagnosis.in_store(each, other) for each in found]
        return [self._ranked(viewer, each, query) if query and each.findable else each for each in found]

    def _other_store(self, viewer: Viewer, path: str, here: Path, asked: Collection[str]) -> str | None:
        """A store that was not asked about and has a folder with the file ``path``."""
        others = (name for name in self.store_names(viewer) if name not in asked)
        return next((name for name in others if self._explained(viewer, name, path, here).findable), None)

    def _explained(self, viewer: Viewer, name: str, path: str, here: Path) -> Diagnosis:
        try:
            opened = self._stores.open(viewer, name).store
            return diagnosis.explain(opened, path, here, partial(self._embedder_missing, opened.embedder))
        except StoreError as error:  # the store that holds the file may be the damaged one
            step = Step("no", error.message)
            return Diagnosis(name, path, False, (step,), error.suggestion, on_page=error.on_page)

    def _ranked(self, viewer: Viewer, found: Diagnosis, query: str) -> Diagnosis:
        answer = self.search(
            viewer, query, [found.store], top_k=MAX_TOP_K, min_score=0.0, max_tokens=sys.maxsize
        )
        hits = (hit for hit in answer.hits if hit.store == found.store)  # the query may name another
        hit = next((h for h in hits if found.path in (h.document.path, *h.copies)), None)
        if hit:
            return replace(found, query=query, rank=hit.rank, score=hit.score, relevant=hit.relevant)
        opened = self._stores.open(viewer, found.store).store
        why = diagnosis.left_out(opened, found.path, answer.query) if found.findable else []
        return replace(found, query=query, steps=(*found.steps, *why))

    def doctor(self, viewer: Viewer) -> list[Step]:
        """The installation, checked: Python, SQLite, folders, models, what packages add, the way in for
        others, servers, stores and their folders."""
        owner_only(viewer, "check the installation")
        steps = doctor.installation(self.settings.data_dir, partial(self._embedders.get, DEFAULT_EMBEDDER))
        steps += doctor.extensions(self.settings.extractor_timeout_s)
        steps += doctor.sharing(partial(self.people, viewer), partial(self.tailscale, viewer))
        try:
            names = self.store_names(viewer)
        except StoreError as error:
            return [*steps, Step("no", str(error))]
        steps += [Step("no", lost)] if (lost := self.lost_default(viewer)) else []
        used_by: dict[str, list[str]] = {name: [] for name in self._configured_embedders()}
        for name in names:
            found = doctor.store(name, partial(self.store_info, viewer, name))
            steps += found
            if found[0].state == "ok":
                used_by.setdefault(self._stores.open(viewer, name).store.embedder, []).append(name)
        return [
            *steps,
            *(
                doctor.embedder(name, partial(self._embedders.get, name), stores)
                for name, stores in used_by.items()
                if asks_others(name)
            ),
        ]

    def _configured_embedders(self) -> list[str]:
        """The embedders that new stores get or that a server is configured for."""
        configured = [full_name(self.settings.embedder)]
        return [*configured, full_name("ollama")] if self.settings.ollama_url else configured


def _marked(document: Document, out: sources.Exclusion | None) -> Document:
    """``document`` as excluded, if it is; its passages are found until the next run."""
    return replace(document, state="excluded", reason=out.reason) if out else document


def _excluded(store: str, out: sources.Exclusion) -> Document:
    """An excluded file that a run forgot, as the faces list it: nothing is known but where it is."""
    return Document(
        store=store,
        id=0,
        path=out.display,
        folder=posixpath.dirname(out.display),
        file_type="",
        title="",
        tags=(),
        date="",
        private=False,
        state="excluded",
        reason=out.reason,
        chunks=0,
        size=0,
        file_hash="",
        indexed_at="",
        root=out.root,
        path_in_source=display(out.path),
    )
