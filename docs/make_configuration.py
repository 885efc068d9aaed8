"""Write docs/configuration.md from the model of settings: ``python docs/make_configuration.py``.

A test compares the page with what this makes.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from rag_core.config.origin import DEFAULT
from rag_core.config.settings import KEYS, Key, SettingRow
from rag_core.extract.chunk import CHUNK_SIZES, chunk_spec
from rag_core.models.built_in import BUILT_IN, MINILM
from rag_core.providers import EMBEDDERS, VECTOR_INDEXES, one_of

PAGE = Path(__file__).resolve().parent / "configuration.md"

INTRODUCTION = """# Configuration

Made by `docs/make_configuration.py` from the settings that the program reads.

All settings are optional. They are read in this order; the first that has a value wins:

1. an option on the command line, such as `--top-k 5`
2. an environment variable, such as `COMMONPLACE_TOP_K=5`
3. the same variable in the file `.env`
4. `config.yaml`, such as `top_k: 5`
5. the default

`commonplace config` shows every setting with its value, file and line.

Both files are in one folder: `~/.config/commonplace` on Linux, `~/Library/Application Support/commonplace`
on macOS. The environment variable `COMMONPLACE_HOME` moves them and the data: to
`$COMMONPLACE_HOME/config.yaml`, `$COMMONPLACE_HOME/.env` and `$COMMONPLACE_HOME/data`. A `.env` in the
current folder is never read. A running app follows changes of the files; `port`, `log_level` and `stores`
apply at the next start.

An unknown name or invalid value is an error with file, line and the allowed values. An unknown environment
variable that begins with `COMMONPLACE_` is a warning.
"""

TABLES = """
## Tables of config.yaml

```yaml
chunking:                   # file type: sizes in characters, for new stores
  markdown: {chunk_size: 700, chunk_overlap: 100}
  text: {chunk_size: 1000, chunker: stanzas}   # a chunker of a package; see docs/extending.md

prompts:                    # embedder: the prompts, if the built-in ones are missing or wrong
  ollama:my-model: {query: 'query: ', document: 'passage: '}

stores:                     # created by `commonplace serve` and `watch`, if they do not exist
  notes:
    embedder: minilm        # default: the setting `embedder`
    folders:
      - ~/notes             # everything readable in it
      - root: ~/work
        include: ['**/*.md', '**/*.{py,ts}']
        exclude: ['archive/**']
```

`stores` only creates stores: an existing store keeps its embedder, sizes and folders. The folders of a new
store are read at once, unless `watch` is false.

YAML aliases (`*name`) are not read.
"""

SIZES = """
## Sizes of passages

In characters, size / overlap. For an embedder that reads less, such as `minilm` ({limit} tokens),
the default sizes are scaled down; sizes that you set are kept. No passage is ever longer than its embedder
reads. Other file types are cut like text.

"""

ENV = r"""
## The file .env

Lines of `NAME=VALUE`; blank lines and lines with `#` are ignored. `export` before the name is allowed. A
value in single quotes is literal. In double quotes `\\`, `\"` and `\n` are escapes. An unquoted value ends at
a space with `#`. Variables are not expanded.
"""

LOGGING = """
## Logging

Logs go to standard error. They hold no text of notes, files or queries and no paths of notes: an error is
logged with its place and type, without its message. `log_level` sets the level. Libraries that talk to
servers log only warnings and errors, because at debug level they log requests.
"""

FIXED = """
## Fixed limits

A search waits 5 seconds for a vector index and 10 for the server of an embedder. All checks of Settings →
Connections together get 5. What is late is named, and the rest is shown. `vectors_timeout_s` and
`embedding_timeout_s` are for single requests, mostly those of runs.
"""

REQUESTS = """
One request to a vector index holds at most {limits}.
"""

NAMES = """
## Embedders

{built_in}
- `ollama:MODEL`: a model of Ollama at `ollama_url`; `ollama` alone is `ollama:{model}`.
- `openai:MODEL`: a server with `/v1/embeddings` at `embedding_base_url`, such as llama.cpp, LM Studio, vLLM
  or a hosted one.
- `onnx:FOLDER`: a sentence-embedding model exported to ONNX, without a server: a folder with
  `tokenizer.json`, `model.onnx` (or `onnx/model.onnx`) and its configuration files. Pooling, prompts and
  length are read from these.
- `onnx:ORG/NAME`: one that `commonplace model install hf:ORG/NAME` fetched from the Hugging Face hub, or from
  the mirror in `HF_ENDPOINT`. Its revision and the hash of each file are pinned, and checked whenever it is
  loaded. Rerankers are fetched in the same way, for the setting `reranker`.
- `sentence-transformers:FOLDER`: a model in a folder of this computer, with an
  [optional package](installing.md#optional-packages).
- `mlx:FOLDER`: the same on Apple's processors, with an optional package; untested on real hardware.

`reranker` names a model that reads query and passage together: `onnx:FOLDER` (a cross-encoder, fetched or in
a folder as above), or `MODEL@URL` for a server with `/v1/rerank`, such as vLLM, llama.cpp, Jina or Cohere.
After `rerank_budget_ms`, results keep their order, and the answer says so. The first search after a start may
be plain, as the model is being loaded.

A server receives the text of passages and queries; the other embedders run in this process. Private documents
are never sent to a server on another computer, unless the store allows it; they are found by words. Keys are
read only from the environment and `.env`. `OLLAMA_API_KEY` is sent to `ollama_url` by Ollama's package. If
a model can shorten its vectors, `--dimension 256` makes a store with `ollama:MODEL@256`.
"""


def page() -> str:
    """The whole page."""
    rows = (
        f"- `{model.name}`: {model.model}, built in; it reads {model.reads}." for model in BUILT_IN.values()
    )
    embedders = NAMES.format(model=EMBEDDERS["ollama"].after.usual, built_in="\n".join(rows))
    rest = (ENV, LOGGING, FIXED, _requests())
    return "".join((INTRODUCTION, *_settings(), embedders, TABLES, *_sizes(), *rest))


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
                    f"`{key.variable}`" if key.variable else "",
                    key.kind.words,
                    _default(key),
                    key.about,
                )
                for key in rows
            ),
        )


def _default(key: Key) -> str:
    if key.default in (None, ()):
        return key.otherwise
    return SettingRow(key, key.default, DEFAULT).said


def _sizes() -> Iterator[str]:
    scaled = chunk_spec(MINILM.max_tokens).sizes
    yield SIZES.format(limit=MINILM.max_tokens)
    rows = ((kind, f"{a} / {b}", "{} / {}".format(*scaled[kind])) for kind, (a, b) in CHUNK_SIZES.items())
    yield _table(("file type", "sizes", "for `minilm`"), rows)


def _requests() -> str:
    indexes = [(row.label, row.opener) for row in VECTOR_INDEXES.values() if row.opens]
    limits = [
        f"{index.max_batch:,} records and {index.max_bytes / 2**20:.0f} MB ({label})"
        for label, index in indexes
    ]
    return REQUESTS.format(limits=one_of(limits))


def _table(header: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [header, ("---",) * len(header), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
