"""Write docs/configuration.md from the model of settings: ``python docs/make_configuration.py``.

What other tools call a setting is in other_tools.tsv. A test compares the page with what this makes.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from rag_core.config.origin import DEFAULT
from rag_core.config.settings import KEYS, Key, SettingRow
from rag_core.extract.chunk import CHUNK_SIZES, chunk_spec
from rag_core.models.embedder import OLLAMA_MODEL
from rag_core.models.minilm import MAX_TOKENS

PAGE = Path(__file__).resolve().parent / "configuration.md"
OTHER_TOOLS = PAGE.with_name("other_tools.tsv")

INTRODUCTION = """# Configuration

Made by `docs/make_configuration.py` from the settings that the program itself reads.

Nothing has to be configured. What is, is read in this order; the first that says something wins:

1. an option on the command line, such as `--top-k 5`
2. an environment variable, such as `COMMONPLACE_TOP_K=5`
3. the same variable in the file `.env`
4. `config.yaml`, such as `top_k: 5`
5. the default

`commonplace config` shows every setting with its value and where it is from, file and line included.

Both files stand in one folder: `~/.config/commonplace` on Linux, `~/Library/Application Support/commonplace`
on macOS. `COMMONPLACE_HOME`, in the environment alone, moves them and the data: to
`$COMMONPLACE_HOME/config.yaml`, `$COMMONPLACE_HOME/.env` and `$COMMONPLACE_HOME/data`. A `.env` in the folder
you happen to work in is never read. Reading creates nothing. A running app follows the files when they
change; only `port`, `log_level` and `stores` are looked at when it starts.

A name or value that cannot be meant is an error that says file, line and what is allowed. A variable of
the environment that begins with `COMMONPLACE_` and means nothing is named in a warning.
"""

TABLES = """
## Tables of config.yaml

```yaml
chunking:                   # file type: sizes in characters, for stores made from now on
  markdown: {chunk_size: 700, chunk_overlap: 100}
  text: {chunk_size: 1000, chunker: stanzas}   # a package cuts these; see docs/extending.md

prompts:                    # embedder: what is put in front, where the model's own is not known or not right
  ollama:my-model: {query: 'query: ', document: 'passage: '}

stores:                     # made by `commonplace serve` at its start, if they are not there
  notes:
    embedder: minilm        # default: the setting `embedder`
    folders:
      - ~/notes             # everything readable in it
      - root: ~/work
        include: ['**/*.md', '**/*.{py,ts}']
        exclude: ['archive/**']
```

`stores` only says what to make. A store that is there keeps the embedder, sizes and folders of its own file;
where they differ from what stands here, `serve` says so and changes nothing. A store is not indexed by being
made: press *Index now*, or run `commonplace index --store notes`.

YAML aliases (`*name`) are not read.
"""

SIZES = """
## Sizes of passages

In characters, size / overlap. An embedder that reads less than these need gets them scaled down, as the
built-in model ({limit} tokens) does; sizes that you write stand as they are. Either way no passage is longer
than its embedder reads. Other file types are cut like text.

"""

ENV = r"""
## The file .env

Lines of `NAME=VALUE`, with `#` lines and blank ones between. `export` before the name is allowed. A value in
single quotes stands as it is; in double quotes `\\`, `\"` and `\n` are escapes; without quotes it ends at a
space with `#`. Nothing is expanded.
"""

LOGGING = """
## Logging

Logs go to standard error. They hold no text of notes, files or queries and no paths of notes: errors are
logged with where they came from and their kind, without their message. `log_level` sets how much. The
libraries that talk to servers log no more than warnings, whatever it says: at debug level they log requests.
"""

FIXED = """
## What is no setting

Where somebody waits, the wait is fixed. A search gives a vector index 5 seconds and the server of an embedder
10, and all checks of Settings → Connections together get 5. What did not come by then is named and the rest
is shown, so a longer wait would gain little. `vectors_timeout_s` and `embedding_timeout_s` are for single
requests, mostly those of runs, which nobody sits before.

How much goes into one request to a vector index is fixed as well, since the services bound it themselves: 500
records and 20 MB to S3 Vectors, 500 and 24 MB to Qdrant, and to Chroma as many as it says that it takes, at
most 2,000.
"""

COMING = """
## Coming from another tool

What the settings of the tools that Commonplace was made after are called here. `NAME` and `TYPE` stand for a
store and a file type.
"""


class Row(NamedTuple):
    """A line of other_tools.tsv: what ``tool`` calls ``name`` is ours (``target``), comes later with
    ``target``, or was dropped because of it."""

    tool: str
    kind: str
    name: str
    verdict: str
    target: str
    note: str = ""


EMBEDDERS = """
## Embedders

- `minilm`: the built-in model.
- `ollama:MODEL`: a model of Ollama at `ollama_url`; `ollama` alone is `ollama:{model}`.
- `openai:MODEL`: a server with `/v1/embeddings` at `embedding_base_url`, such as llama.cpp, LM Studio, vLLM
  or a hosted one.
- `sentence-transformers:FOLDER`: a model in a folder of this computer, with
  `pip install 'commonplace[sentence-transformers]'`.
- `mlx:FOLDER`: the same on Apple's processors, with `pip install 'commonplace[mlx]'`; not tried on one yet.
- `hashing`, `hashing:DIMENSION`: for tests; compares spellings.

A server gets the text of passages and queries, the others keep it in this process. Private documents are
never sent to a server on another computer; they are found by their words. Keys are read from the environment
and `.env` alone; `OLLAMA_API_KEY` is sent to `ollama_url` by Ollama's own package. Where a model can shorten
its vectors, `--dimension 256` makes a store with `ollama:MODEL@256`.
"""


def page() -> str:
    """The whole page."""
    embedders = EMBEDDERS.format(model=OLLAMA_MODEL)
    rest = (ENV, LOGGING, FIXED)
    return "".join((INTRODUCTION, *_settings(), embedders, TABLES, *_sizes(), *rest, *_other_tools()))


def other_tools() -> list[Row]:
    """What other tools call our settings."""
    with OTHER_TOOLS.open(encoding="utf-8", newline="") as file:
        return [Row(*fields) for fields in list(csv.reader(file, delimiter="\t"))[1:]]


def _settings() -> Iterator[str]:
    yield "\n## Settings\n"
    for group in dict.fromkeys(key.group for key in KEYS):
        yield f"\n### {group}\n\n"
        rows = (key for key in KEYS if key.group == group)
        yield _table(
            ("config.yaml", "variable", "value", "default", "meaning"),
            (
                (
                    f"`{key.name}`",
                    f"`{key.variables[0]}`" if key.variables else "",
                    key.kind.words,
                    _default(key),
                    key.about + _aliases(key.aliases),
                )
                for key in rows
            ),
        )


def _default(key: Key) -> str:
    if key.default in (None, ()):
        return key.otherwise
    return SettingRow(key, key.default, DEFAULT).said


def _aliases(names: tuple[str, ...]) -> str:
    return f" Also accepted as {', '.join(f'`{name}`' for name in names)}." if names else ""


def _sizes() -> Iterator[str]:
    scaled = chunk_spec(MAX_TOKENS).sizes
    yield SIZES.format(limit=MAX_TOKENS)
    rows = ((kind, f"{a} / {b}", "{} / {}".format(*scaled[kind])) for kind, (a, b) in CHUNK_SIZES.items())
    yield _table(("file type", "sizes", "for the built-in model"), rows)


def _other_tools() -> Iterator[str]:
    yield COMING
    rows = other_tools()
    for tool in dict.fromkeys(row.tool for row in rows):
        yield f"\n### {tool}\n\n"
        mine = ((f"`{row.name}`", _verdict(row)) for row in rows if row.tool == tool)
        yield _table(("there", "here"), mine)


def _verdict(row: Row) -> str:
    match row.verdict:
        case "ours":
            return f"`{row.target}`" + (f"; {row.note}" if row.note else "")
        case "later":
            return f"comes with {row.target}"
        case _:
            return f"dropped, because {row.target}"


def _table(header: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [header, ("---",) * len(header), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
