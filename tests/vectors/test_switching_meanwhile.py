"""While a store switches: it is searched, asked about, damaged, repaired and exported."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rag_core.library import Library
from rag_core.search.retrieve import StoreList
from rag_core.types import OWNER
from tests.vectors.remote_zoo import change, meant, run


def test_a_search_during_which_a_switch_ends_mixes_nothing(
    local_zoo: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    local_zoo.placement.switch(OWNER, "zoo", "hashing:64")
    really = StoreList.fill

    def late(*arguments: Any) -> Any:
        monkeypatch.setattr(StoreList, "fill", really)
        local_zoo.jobs.run(OWNER, "zoo")
        return really(*arguments)

    monkeypatch.setattr(StoreList, "fill", late)
    answer = meant(local_zoo, "The otter swam.")
    assert answer.notices == ()
    assert answer.hits[0].document.path == "otter.md"
    assert answer.hits[0].similarity == pytest.approx(1, abs=1e-3)


DAMAGE = (
    "DELETE FROM meta WHERE key = 'next_identity_id'",
    "UPDATE meta SET value = 's3vectors' WHERE key = 'next_backend'",
)


@pytest.mark.parametrize("sql", DAMAGE)
def test_what_says_half_of_a_switch_is_found_and_repaired_as_it_was_begun(
    local_zoo: Library, sql: str
) -> None:
    local_zoo.placement.switch(OWNER, "zoo", "hashing:64")
    change(local_zoo, sql)
    assert "decisions" in [found.check for found in local_zoo.upkeep.verify(OWNER, "zoo").findings]
    local_zoo.upkeep.repair(OWNER, "zoo")
    assert local_zoo.upkeep.verify(OWNER, "zoo").findings == ()
    assert meant(local_zoo, "The otter swam.").hits[0].similarity == pytest.approx(1, abs=1e-3)
    run(local_zoo)
    info = local_zoo.stores.info(OWNER, "zoo")
    assert (info.embedder, info.switching) == ("hashing:64", "")


def test_an_imported_store_neither_switches_nor_sends_private_notes(
    remote_zoo: Library, tmp_path: Path
) -> None:
    remote_zoo.placement.let_private_leave(OWNER, "zoo", allowed=True)
    remote_zoo.placement.switch(OWNER, "zoo", "hashing:64")
    remote_zoo.stores.export(OWNER, "zoo", tmp_path / "zoo.commonplace")
    remote_zoo.stores.import_file(OWNER, tmp_path / "zoo.commonplace", "copy")
    info = remote_zoo.stores.info(OWNER, "copy")
    assert (info.backend, info.address, info.switching, info.sends_private) == ("local", "", "", False)
    assert remote_zoo.upkeep.verify(OWNER, "copy").findings == ()
    assert meant(remote_zoo, "The otter swam.", "copy").hits[0].document.path == "otter.md"
