"""The Stores page where it says who embeds a store and where its vectors are."""

from __future__ import annotations

import html
from collections.abc import Iterator
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from rag_core.running import background
from rag_core.types import OWNER
from rag_core.vectors.s3vectors import S3Options
from tests.conftest import index
from tests.pages import visiting
from tests.pages.visiting import drawn, has_key, markup, press
from tests.support.waiting import until
from tests.vectors.s3vectors import Server
from ui.frame import tasks, work
from ui.frame.deps import library
from ui.stores.task_status import library_name

pytestmark = [pytest.mark.usefixtures("sea"), pytest.mark.thorough]


@pytest.fixture
def sea(amazon_configured: Server, owner: None, notes: Path) -> Iterator[None]:
    """A store of three notes whose vectors are at the stand-in."""
    for name in ("otter", "badger", "stoat"):
        (notes / f"{name}.md").write_text(f"The {name} swam.\n", "utf-8")
    library().create_store(OWNER, "sea", "hashing", backend="s3vectors")
    index(library(), "sea", notes)
    yield
    background.stop_all()
    work.cancel_all()


def page(**parameters: str) -> AppTest:
    return visiting.open_page("stores", **parameters)


def said(app: AppTest) -> str:
    return html.unescape(markup(app))


def at_rest(app: AppTest) -> AppTest:
    until(lambda: not background.working(library(), "sea"))
    until(lambda: not any(task.running for task in tasks.known_tasks(library_name())))
    return app.run()


def test_each_place_for_a_new_store_says_where_text_goes() -> None:
    app = page()
    assert "Text of your notes" not in said(app)
    assert "Private notes, too" not in [box.label for box in app.checkbox]
    options = library()._shared.vector_options
    here, options["s3vectors"] = options["s3vectors"], S3Options()  # Amazon's own servers
    app.text_input(key="stores_new_name").set_value("far")
    app.selectbox(key="stores_embedder").set_value("hashing")
    app.selectbox(key="stores_backend").set_value("s3vectors").run()
    assert "Text of your notes goes to Amazon S3 Vectors" in said(app)
    assert "Private notes, too" in [box.label for box in app.checkbox]
    options["s3vectors"] = here
    press(app, "stores_create")
    info = library().stores.info(OWNER, "far")
    assert (info.embedder.partition(":")[0], info.backend) == ("hashing", "s3vectors")


def test_the_embedder_for_tests_is_offered_only_where_a_store_has_it() -> None:
    app = page()
    assert "Spelling only" in app.selectbox(key="stores_embedder").options
    library().stores.delete(OWNER, "sea")
    assert page().selectbox(key="stores_embedder").options == [
        "Built-in model for English",
        "Built-in model for every language",
    ]


def test_a_switch_begins_goes_on_and_is_told(sea: None) -> None:
    app = page(store="sea")
    app.selectbox(key="placement_sea_backend").set_value("local").run()
    press(app, "placement_sea_start")
    at_rest(app)
    assert [done.value for done in app.success] == ["The switch is done\\. Searches use hashing now\\."]
    assert library().stores.info(OWNER, "sea").backend == "local"
    assert "in the store's own file" in html.unescape(said(app)).lower()
    assert not drawn(app.run()).success, "it is said once"


def test_a_switch_goes_on_only_where_no_run_does_it(monkeypatch: pytest.MonkeyPatch) -> None:
    library().placement.switch(OWNER, "sea", "hashing:64")
    app = page(store="sea")
    assert "3 texts are not embedded yet" in said(app)
    assert has_key(app, "placement_go_on_sea")
    monkeypatch.setattr("ui.index.runs.background.working", lambda *_: True)
    app = page(store="sea")
    assert said(app).count("The store is being indexed.") == 1
    assert not has_key(app, "placement_go_on_sea")
    assert app.button(key="placement_abandon_sea").disabled


def test_private_notes_alone_can_be_let_out() -> None:
    options = library()._shared.vector_options
    here, options["s3vectors"] = options["s3vectors"], S3Options()  # Amazon's own servers
    app = page(store="sea")
    app.checkbox(key="placement_sea_private").set_value(True).run()
    options["s3vectors"] = here
    press(app, "placement_sea_start")
    assert not app.error
    assert not app.info
    assert library().stores.info(OWNER, "sea").sends_private


def test_a_broken_index_is_seen_and_healed(amazon_configured: Server) -> None:
    amazon_configured.service.DeleteIndex({"vectorBucketName": "commonplace-sea", "indexName": "main"})
    app = page(store="sea")
    press(app, "store_verify_sea")
    app = at_rest(app)
    assert "The vector index is not there." in said(app)
    assert not has_key(app, "store_repair_sea")
    press(app, "store_heal_sea")
    app = at_rest(app)
    assert "Sound" in said(app)


def test_an_index_that_the_credentials_see_is_chosen_and_attached(home: Path) -> None:
    library().create_store(OWNER, "lake", "hashing", backend="s3vectors")
    library().stores.delete(OWNER, "sea", leave_index=True)
    app = press(page(), "stores_attach_look")
    found = app.selectbox(key="stores_attach_chosen")
    assert found.options == ["s3vectors://commonplace-sea/main"], "not the one that a store here has"
    found.set_value(found.options[0]).run()
    press(app, "stores_attach")
    at_rest(app)
    assert library().stores.info(OWNER, "sea").attached
    assert "No other index was found" in said(press(page(), "stores_attach_look"))


def test_a_new_store_takes_the_metric_of_its_index_and_the_dimension_of_its_model(
    amazon_configured: Server,
) -> None:
    app = page()
    keys = [box.key for box in app.selectbox]
    assert "stores_metric" not in keys, "in the store's own file there is nothing to choose"
    assert not app.number_input, "the built-in model has one length"
    app.text_input(key="stores_new_name").set_value("lake")
    app.selectbox(key="stores_embedder").set_value("hashing")
    app.selectbox(key="stores_backend").set_value("s3vectors").run()
    app.selectbox(key="stores_metric").set_value("euclidean")
    app.number_input(key="stores_dimension").set_value(64)
    press(app, "stores_create")
    info = library().stores.info(OWNER, "lake")
    assert (info.distance_metric, info.dimension) == ("euclidean", 64)
    index_there = amazon_configured.service.index("commonplace-lake", "main").about
    assert (index_there["distanceMetric"], index_there["dimension"]) == ("euclidean", 64)


def test_an_index_is_attached_and_taken_over() -> None:
    app = page()
    app.text_input(key="stores_attach_address").set_value("s3vectors://commonplace-sea/main")
    app.text_input(key="stores_attach_name").set_value("copy").run()
    press(app, "stores_attach")
    app = at_rest(app)
    assert library().stores.info(OWNER, "copy").attached
    app = page(store="copy")
    assert "another installation writes" in said(app)
    press(app, "placement_take_over_copy")
    at_rest(app)
    assert not library().stores.info(OWNER, "copy").attached
