"""What leaves the checkout: the wheel and the source archive, and the app where the source cannot be seen."""

from __future__ import annotations

import os
import re
import shutil
import signal
import site
import subprocess
import sys
import tarfile
import time
import tomllib
import urllib.request
import venv
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from email import message_from_bytes
from email.message import Message
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from streamlit.proto.NewSession_pb2 import NewSession

from rag_core import __version__
from rag_core.access import REFUSAL
from rag_core.access.headers import security_headers
from rag_core.installation import DISTRIBUTION
from tests.house.test_architecture import imports
from tests.support.live import ROOT, Server, visit
from ui.frame.front import front_page
from ui.frame.serve import project_config

pytestmark = pytest.mark.thorough

WHEEL = f"commonplace_search-{__version__}-py3-none-any.whl"
ARCHIVE = f"commonplace_search-{__version__}.tar.gz"
INFO = f"commonplace_search-{__version__}.dist-info"
APP = ("app.py", "pages", "ui", ".streamlit/config.toml")
STRAY = (".streamlit/secrets.toml", ".env", "diary.md", "dist/old.whl", "ui/__pycache__/x.cpython-311.pyc")
WAIT_S = 15


# --- what is built ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and the source archive of this checkout."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "--directory", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return folder


@pytest.fixture(scope="module")
def wheel(dist: Path) -> Iterator[zipfile.ZipFile]:
    with zipfile.ZipFile(dist / WHEEL) as opened:
        yield opened


@pytest.fixture(scope="module")
def metadata(wheel: zipfile.ZipFile) -> Message:
    return message_from_bytes(wheel.read(f"{INFO}/METADATA"))


def files_of(*names: str) -> list[str]:
    """The files of the checkout below these names, without what Python keeps beside them."""
    found = [path for name in names for path in ((ROOT / name).rglob("*"), [ROOT / name])]
    paths = {str(path.relative_to(ROOT)) for group in found for path in group if path.is_file()}
    return sorted(path for path in paths if "__pycache__" not in path)


def test_a_build_holds_both_and_nothing_else(dist: Path) -> None:
    assert sorted(path.name for path in dist.iterdir()) == sorted([WHEEL, ARCHIVE])


def test_the_wheel_holds_the_package_and_the_app_and_nothing_else(wheel: zipfile.ZipFile) -> None:
    names = [name for name in wheel.namelist() if not name.startswith(f"{INFO}/")]
    expected = [*files_of("rag_core"), *(f"rag_core/_app/{name}" for name in files_of(*APP))]
    assert sorted(names) == sorted(expected)


def test_the_archive_holds_what_a_reader_needs_to_build_and_test_it(dist: Path) -> None:
    with tarfile.open(dist / ARCHIVE) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {*files_of(*APP, "rag_core", "tests", "docs"), "Makefile", "constraints.txt", "LICENSE"} <= names
    assert not [name for name in names if ".cache" in name or "__pycache__" in name]


@pytest.mark.parametrize(
    "place", [str(ROOT), sys.prefix, str(Path.home() / ".cache")], ids=["checkout", "python", "caches"]
)
def test_no_place_of_this_machine_is_in_the_wheel(wheel: zipfile.ZipFile, place: str) -> None:
    assert [name for name in wheel.namelist() if place.encode() in wheel.read(name)] == []


def test_the_metadata_says_what_the_project_says(metadata: Message) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    shown = {key: metadata[key] for key in ("Name", "Version", "Summary", "Requires-Python")}
    assert shown == {
        "Name": DISTRIBUTION,
        "Version": __version__,
        "Summary": project["description"],
        "Requires-Python": ",".join(sorted(project["requires-python"].split(","))),
    }
    assert (metadata["License-Expression"], metadata["License-File"]) == ("MIT", "LICENSE")
    needed = metadata.get_all("Requires-Dist") or []
    assert len([line for line in needed if "extra ==" not in line]) == len(project["dependencies"])


def test_every_package_that_is_imported_is_declared(metadata: Message) -> None:
    """The environment below sees the development tools, too, so a missing one would not be noticed there."""
    needed = [line for line in metadata.get_all("Requires-Dist") or [] if "extra == 'dev'" not in line]
    declared = {re.split(r"[^\w.-]", line)[0].lower() for line in needed}
    files = [ROOT / name for name in files_of("rag_core", *APP) if name.endswith(".py")]
    modules = {name.split(".")[0] for path in files for name, _ in imports(path)}
    foreign = modules - sys.stdlib_module_names - {"rag_core", "ui", "pages", "app"}
    owners = packages_distributions()

    def owner_of(module: str) -> Sequence[str]:
        return owners.get(module, [module.replace("_", "-")])  # an extra need not be installed

    def is_declared(module: str) -> bool:
        return not declared.isdisjoint(owner.lower().replace("_", "-") for owner in owner_of(module))

    assert [module for module in foreign if not is_declared(module)] == []


def test_the_description_is_the_readme(metadata: Message) -> None:
    assert metadata["Description-Content-Type"] == "text/markdown"
    described = metadata.get_payload(decode=True)
    assert isinstance(described, bytes)
    assert described.decode("utf-8").strip() == (ROOT / "README.md").read_text("utf-8").strip()


# --- the wheel, installed ---------------------------------------------------------------


@dataclass(frozen=True)
class Installed:
    """An environment with the wheel, an empty folder to work in and an empty home."""

    venv: Path
    cwd: Path
    home: Path

    @property
    def python(self) -> str:
        return str(self.venv / "bin" / "python")

    @property
    def commonplace(self) -> str:
        return str(self.venv / "bin" / "commonplace")

    @property
    def environment(self) -> dict[str, str]:
        """Nothing of ours: no PYTHONPATH and no COMMONPLACE_… of the tests."""
        return {"PATH": os.environ["PATH"], "HOME": str(self.home), "LANG": "C.UTF-8"}

    def run(self, *command: object, **environment: str) -> str:
        """What a command that must succeed prints. ``environment`` is added."""
        words = [str(word) for word in command]
        variables = {**self.environment, **environment}
        done = subprocess.run(words, cwd=self.cwd, env=variables, capture_output=True, encoding="utf-8")
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def installed(dist: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """The wheel in a new environment that sees our dependencies, but not the checkout.

    They are added after pip is done, by a line in a .pth file: of a folder named there Python reads
    no further .pth files, so an editable install of the checkout stays unseen.
    """
    folder = tmp_path_factory.mktemp("installed")
    place = Installed(folder / "venv", folder / "empty", folder / "home")
    for needed in (place.cwd, place.home):
        needed.mkdir()
    venv.create(place.venv, symlinks=True)
    pip = [sys.executable, "-m", "pip", "--python", place.python, "install", "--quiet", "--no-deps"]
    subprocess.run([*pip, "--no-index", str(dist / WHEEL)], check=True, capture_output=True)
    library = next((place.venv / "lib").glob("python3.*/site-packages"))
    (library / "dependencies.pth").write_text("\n".join(site.getsitepackages()) + "\n", "utf-8")
    return place


def test_the_installed_program_is_the_wheels(installed: Installed) -> None:
    code = "import rag_core, rag_core.cli.serving as s; print(rag_core.__file__, s.app_dir(), sep='\\n')"
    package, app = installed.run(installed.python, "-c", code).split()
    assert Path(package).is_relative_to(installed.venv)
    assert Path(app).is_relative_to(installed.venv)
    assert installed.run(installed.commonplace, "--version").split()[-1] == __version__


def test_the_installed_program_indexes_and_finds(installed: Installed, notes: Path) -> None:
    (notes / "rose.md").write_text("# Rose\n\nCut roses in late winter.\n", "utf-8")
    assert "1 added" in installed.run(installed.commonplace, "init", notes)
    assert "rose.md:1-3" in installed.run(installed.commonplace, "query", "winter roses")
    assert [path.name for path in installed.home.rglob("*.db")] == ["notes.db"]
    assert not any(installed.cwd.iterdir())


def test_the_installed_program_knows_the_model_that_is_there(installed: Installed, model_dir: Path) -> None:
    shown = installed.run(installed.commonplace, "model", "install", COMMONPLACE_MODELS=str(model_dir))
    assert shown.startswith(f"The built-in model for English is ready in {model_dir}")


# --- the app of the wheel ---------------------------------------------------------------


@contextmanager
def running(command: Sequence[str], cwd: Path, log: Path, environment: dict[str, str]) -> Iterator[Server]:
    """A server started by ``command`` in a session of its own, once it has said where it is."""
    with (
        log.open("w", encoding="utf-8") as errors,
        subprocess.Popen(
            command,
            cwd=cwd,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=errors,
            encoding="utf-8",
            start_new_session=True,
        ) as process,
    ):
        try:
            assert process.stdout is not None
            line = next((line for line in process.stdout if line.startswith("Commonplace is at")), "").strip()
            assert line.startswith("Commonplace is at http://127.0.0.1:"), log.read_text("utf-8")
            yield Server(process, int(line.rpartition(":")[2]), log.parent)
        finally:
            os.killpg(process.pid, signal.SIGKILL)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program that takes the place of the owner's browser, and writes down what it is to open."""
    script = tmp_path_factory.mktemp("browser") / "browser"
    script.write_text('#!/bin/sh\nprintf %s "$1" > "$0.new" && mv "$0.new" "$0.opened"\n', "utf-8")
    script.chmod(0o755)
    return script


@pytest.fixture(scope="module")
def server(installed: Installed, browser: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """``commonplace serve --open`` of the wheel, in an empty folder."""
    command = [installed.commonplace, "serve", "--port", "0", "--open"]
    environment = {**installed.environment, "BROWSER": f"{browser} %s"}
    with running(command, installed.cwd, tmp_path_factory.mktemp("log") / "log", environment) as started:
        yield started


@pytest.mark.posix
def test_the_installed_app_answers_with_the_security_headers(server: Server) -> None:
    status, headers, body = server.get("/")
    assert status == 200
    assert 'id="root"' in body
    assert {name: headers.get(name) for name in security_headers(front_page())} == security_headers(
        front_page()
    )


@pytest.mark.posix
def test_the_installed_app_has_its_own_icon_before_a_page_has_run(server: Server) -> None:
    with urllib.request.urlopen(f"http://{server.host}/favicon.png") as answer:
        assert answer.headers["content-type"] == "image/png"
        assert answer.read() == (ROOT / "ui" / "assets" / "icon.png").read_bytes()


@pytest.mark.posix
def test_the_installed_app_refuses_another_host(server: Server) -> None:
    status, _, body = server.get("/", ("Host", "evil.example"))
    assert (status, body.strip()) == (403, REFUSAL)
    assert server.handshake(("Host", "evil.example")) == 403


@pytest.mark.posix
def test_the_installed_app_shows_its_pages_with_the_wheels_configuration(
    server: Server, installed: Installed
) -> None:
    messages = visit(server, "index")
    session = next(m.new_session for m in messages if m.WhichOneof("type") == "new_session")
    assert session.main_script_path == "shell.py", "no path of this computer"
    assert is_ours(session)
    titles = [m.page_config_changed.title for m in messages if m.WhichOneof("type") == "page_config_changed"]
    assert "Index · Commonplace" in titles
    assert REFUSAL not in str(messages)


def is_ours(session: NewSession) -> bool:
    """Whether a session was made with our .streamlit/config.toml, and not with Streamlit's defaults."""
    theme = session.custom_theme.light.primary_color
    return theme == project_config()["theme.light.primaryColor"] and not session.config.gather_usage_stats


@pytest.mark.posix
@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="only Linux says so in /proc")
def test_the_installed_app_listens_on_the_loopback_alone(server: Server) -> None:
    assert listening(server.port) == {"0100007F"}  # 127.0.0.1


def listening(port: int) -> set[str]:
    """The addresses, as the kernel writes them, where someone listens on ``port``."""
    tables = [Path("/proc/net", name) for name in ("tcp", "tcp6")]
    rows = [
        line.split()
        for table in tables
        if table.exists()
        for line in table.read_text("utf-8").splitlines()[1:]
    ]
    places = [row[1].split(":") for row in rows if row[3] == "0A"]  # TCP_LISTEN
    return {address for address, number in places if int(number, 16) == port}


@pytest.mark.posix
def test_open_opens_the_address_that_was_printed(server: Server, browser: Path) -> None:
    opened = browser.with_name("browser.opened")
    deadline = time.monotonic() + WAIT_S
    while not opened.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert opened.read_text("utf-8") == f"http://127.0.0.1:{server.port}"


@pytest.mark.posix
def test_serving_writes_nothing_where_it_was_started(server: Server, installed: Installed) -> None:
    visit(server, "")
    assert not any(installed.cwd.iterdir())
    assert {path.name for path in installed.home.iterdir()} <= {".local", "Library"}


# --- make, in an unpacked archive -------------------------------------------------------


@pytest.fixture(scope="module")
def unpacked(dist: Path, installed: Installed, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The unpacked source archive with things that a checkout gathers, and everything installed."""
    folder = tmp_path_factory.mktemp("unpacked")
    shutil.unpack_archive(dist / ARCHIVE, folder, filter="data")
    checkout = folder / ARCHIVE.removesuffix(".tar.gz")
    for name in STRAY:
        (checkout / name).parent.mkdir(parents=True, exist_ok=True)
        (checkout / name).write_text("private", "utf-8")
    (checkout / ".venv").symlink_to(installed.venv)
    for stamp in ("installed", "installed-dev"):
        (installed.venv / stamp).touch()
    return checkout


def make(checkout: Path, installed: Installed, *words: str) -> str:
    command = ["make", *words]
    done = subprocess.run(
        command, cwd=checkout, env=installed.environment, capture_output=True, encoding="utf-8"
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.posix
def test_make_dist_of_the_archive_makes_the_same_again_and_takes_nothing_private(
    dist: Path, unpacked: Path, installed: Installed
) -> None:
    make(unpacked, installed, "dist")
    for name in (WHEEL, ARCHIVE):
        assert (unpacked / "dist" / name).read_bytes() == (dist / name).read_bytes(), name


@pytest.mark.posix
def test_make_run_starts_the_app(
    unpacked: Path, installed: Installed, model_dir: Path, tmp_path: Path
) -> None:
    environment = {**installed.environment, "COMMONPLACE_MODELS": str(model_dir)}
    with running(["make", "run", "PORT=0"], unpacked, tmp_path / "log", environment) as server:
        assert server.get("/")[0] == 200


@pytest.mark.posix
def test_make_test_runs_pytest(unpacked: Path, installed: Installed) -> None:
    assert make(unpacked, installed, "test", "ARGS=--version").startswith("pytest ")


@pytest.mark.posix
def test_make_alone_lists_what_there_is(unpacked: Path, installed: Installed) -> None:
    shown = make(unpacked, installed)
    assert all(f"make {target}" in shown for target in ("run", "test", "check", "dist"))
