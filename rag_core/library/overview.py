"""How every store stands at once: what is in it, what runs, and what was not finished."""

from __future__ import annotations

from collections.abc import Sequence

from rag_core.errors import StoreError
from rag_core.library.folders import owner_only
from rag_core.library.runs import Runs
from rag_core.reports import Status
from rag_core.types import Job, StoreInfo, Viewer


class Overview(Runs):
    """Every store of one owner, looked at together."""

    def status(self, viewer: Viewer, names: Sequence[str] = ()) -> Status:
        """The named stores (none: all that ``viewer`` may see), with a sentence about each that cannot be
        read; for the owner also what runs, and what the last run of a store left undone. Raises NotFound."""
        infos, warnings = self.store_infos(viewer, names)
        if not viewer.is_owner:
            return Status(infos, (), warnings)
        running, said = [], [*warnings]
        for info in infos:
            try:
                latest = self.jobs(viewer, info.name, 1)
            except StoreError as error:
                said.append(str(error))
                continue
            running += [job for job in latest if job.state == "running"]
            said += [_unfinished(job) for job in latest if job.state not in ("running", "done")]
        return Status(infos, tuple(running), tuple(said), str(self.settings.data_dir))

    def store_infos(
        self, viewer: Viewer, names: Sequence[str] = ()
    ) -> tuple[tuple[StoreInfo, ...], tuple[str, ...]]:
        """``store_info`` of the named stores (none: all that ``viewer`` may see), and a sentence about each
        that cannot be read. Raises NotFound."""
        infos: list[StoreInfo] = []
        warnings: list[str] = []
        for name in dict.fromkeys(names or self.store_names(viewer)):
            try:
                infos.append(self.store_info(viewer, name))
            except StoreError as error:
                warnings.append(str(error))
        return tuple(infos), tuple(warnings)

    def lost_default(self, viewer: Viewer) -> str:
        """A sentence where the setting ``default_store`` names a store that is not there, else ''."""
        owner_only(viewer, "see settings")
        name = self.settings.default_store
        if name is None or name in self.store_names(viewer):
            return ""
        where = self.settings.origin("default_store")
        return f"The setting default_store ({where}) names {name!r}, which is no store. Change it."


def _unfinished(job: Job) -> str:
    said = (
        f"The last run of {job.store!r} was {job.state}; `commonplace index --store {job.store}` continues."
    )
    return f"{said} {job.message}".rstrip()
