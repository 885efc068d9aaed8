"""That a test which logs a key, a credential, a note or a query fails, whichever test it is."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from tests.command import pytest_of_its_own
from tests.private_logs import MARK

ROOT = Path(__file__).resolve().parents[1]

BEGINNING = """
import logging, subprocess, sys, threading
from pathlib import Path
import pytest
from rag_core.config import Settings
from rag_core.library import Library
from rag_core.types import OWNER

LOG = logging.getLogger("rag_core.anything")

@pytest.fixture(scope="module")
def library(tmp_path_factory):
    folder = tmp_path_factory.mktemp("vault")
    (folder / "plan.md").write_text("# Plan\\n\\nThe parcel lies below the third bridge, as agreed.\\n")
    library = Library.open(Settings(folder / "data", folder / "models", (folder,)))
    library.create_store(OWNER, "s", "hashing")
    library.add_source(OWNER, "s", folder, ("*.md",))
    library.jobs.request(OWNER, "s")
    library.jobs.run(OWNER, "s")
    yield library
    library.close()

def test_it(library, request):
"""

LEAKS = {
    "a key": "LOG.info('sent with %s', 'Bearer sk-SESAME-1')",
    "a key at debug level": "LOG.debug('open-sesame')",
    "a token of ours": "LOG.warning('cpl_0123456789abcdefghij-_')",
    "a library's word": "logging.getLogger('botocore.auth').warning('AKIASESAME')",
    "a logger that tells nobody": (
        "other = logging.getLogger('a.b'); other.propagate = False; other.error('sk-sesame'); assert True"
    ),
    "words of a note": "LOG.info('cannot embed %r', '…lies  BELOW the third\\nbridge…')",
    "a query": "library.search(OWNER, 'where lies gold', ['s']); LOG.info('asked: Where lies gold?')",
    "in a thread": (
        "thread = threading.Thread(target=LOG.error, args=('sk-sesame',)); thread.start(); thread.join()"
    ),
    "in a child": (
        "subprocess.run("
        "[sys.executable, '-c', 'import logging; logging.error(\"sk-sesame\")'], capture_output=True)"
    ),
    "at the end": "request.addfinalizer(lambda: LOG.info('sk-sesame'))",
}
FINE = {
    "nothing": "pass",
    "what is known to all": "LOG.info('store %r is indexed by another process', 's')",
    "an error without its message": (
        "word = 'ses' + 'ame'\n    try:\n        raise KeyError(word)\n"
        "    except KeyError:\n        LOG.exception('it ended')"
    ),
    "one word of a query": "library.search(OWNER, 'bridge', ['s']); LOG.info('a bridge')",
}


def failed(folder: Path, bodies: dict[str, str]) -> set[str]:
    """Which tests of a suite of its own fail."""
    (folder / "conftest.py").write_text('pytest_plugins = ["tests.private_logs"]\n')
    for number, body in enumerate(bodies.values()):
        (folder / f"test_{number}.py").write_text(f"{BEGINNING}    {body}\n", "utf-8")
    command = [*pytest_of_its_own(folder), "-rA", "-c", "/dev/null", str(folder)]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    told = re.findall(r"^(PASSED|FAILED|ERROR) \S*test_(\d+)\.py::", done.stdout, re.MULTILINE)
    assert {int(number) for _, number in told} == {*range(len(bodies))}, done.stdout
    names = [*bodies]
    return {names[int(number)] for outcome, number in told if outcome != "PASSED"}


def test_tests_that_log_what_is_private_fail_and_no_others(tmp_path: Path) -> None:
    assert failed(tmp_path, {**LEAKS, **FINE}) == {*LEAKS}


CREDENTIALS = re.compile(
    r"""\b(sk-[\w-]+)                                                       # of OpenAI and its like
        |AWS_(?:SECRET_ACCESS_KEY|ACCESS_KEY_ID|SESSION_TOKEN)":?,?\ "(?!AWS_)(\w[^"]*)"
        |://[^"/@\s{}]*:([^"/@\s{}]{2,})@                                     # in an address
        |_API_KEY(?:=|",\ "|":\ ")(\w[^"\\\n]*)
        |\b(?:api_)?key="([^"_\s]{4,})\"""",
    re.VERBOSE,
)


def test_every_credential_of_the_tests_holds_the_word_that_logs_are_searched_for() -> None:
    found = {
        (path.name, next(filter(None, match.groups()), ""))
        for path in Path(__file__).parent.rglob("*.py")
        for match in CREDENTIALS.finditer(path.read_text("utf-8"))
    }
    assert len(found) > 20
    assert sorted(each for each in found if MARK not in each[1].casefold()) == []
