"""config.yaml and .env: what is read, and that every mistake is named with file and line."""

from __future__ import annotations

from pathlib import Path

import pytest

from rag_core import config
from rag_core.config import DeclaredFolder, DeclaredStore
from rag_core.errors import InvalidSettings
from tests.support.configured import refusal, says, settings


def test_every_setting_can_be_written_in_yaml(tmp_path: Path) -> None:
    found = settings(
        tmp_path,
        "models: /m\nroots: [~/a, /b]\nembedder: hashing:64\nchunk_size: 500\nchunk_overlap: 50\n"
        "default_store: zoo\ntop_k: 5\nmode: vector\nmin_score: 0.25\nmax_tokens: 900\nk_lex: 50\nk_vec: 60\n"
        "batch_size: 8\nmax_file_mb: 3\nbusy_timeout_s: 1.5\nport: 9000\nlog_level: debug\n",
    )
    assert found.model_dir == Path("/m")
    assert found.roots == (Path("~/a").expanduser(), Path("/b"))
    assert (found.embedder, found.chunk_sizes, found.default_stores) == ("hashing:64", (500, 50), ("zoo",))
    assert (found.top_k, found.mode, found.min_score, found.max_tokens) == (5, "vector", 0.25, 900)
    assert (found.k_lex, found.k_vec, found.batch_size, found.max_file_bytes) == (50, 60, 8, 3_000_000)
    assert (found.busy_timeout_s, found.port, found.log_level) == (1.5, 9000, "debug")


def test_one_folder_needs_no_list(tmp_path: Path) -> None:
    assert settings(tmp_path, "roots: /only\n").roots == (Path("/only"),)


def test_quotes_change_nothing(tmp_path: Path) -> None:
    assert settings(tmp_path, "top_k: '5'\nmode: \"vector\"\n") == settings(
        tmp_path, "top_k: 5\nmode: vector\n"
    )


@pytest.mark.parametrize(
    ("yaml", "said"),
    [
        ("topk: 5\n", "'topk' is not a setting [config.yaml:1]. Did you mean 'top_k'?"),
        ("mode: vector\nzzz: 5\n", "'zzz' is not a setting [config.yaml:2]. There are: models, roots,"),
        ("top_k: 0\n", "top_k is '0', which is not a whole number from 1 to 1000 [config.yaml:1]."),
        ("# x\ntop_k: many\n", "top_k is 'many', which is not a whole number from 1 to 1000 [config.yaml:2]"),
        ("top_k: [5]\n", "top_k is a list, which is not a whole number from 1 to 1000 [config.yaml:1]."),
        ("top_k: {a: 5}\n", "top_k is a table of names and values, which is not a whole number from 1"),
        ("min_score: 2\n", "min_score is '2', which is not a number from 0 to 1 [config.yaml:1]."),
        ("mode: fast\n", "mode is 'fast', which is not hybrid, vector or lexical [config.yaml:1]."),
        ("roots:\n- notes\n", "roots is 'notes', which is not an absolute folder [config.yaml:2]."),
        (
            "encodings: [/x=klingon]\n",
            "encodings is '/x=klingon', which is not an absolute folder and an encoding, like",
        ),
        (
            "encodings: [x=cp1251]\n",
            "encodings is 'x=cp1251', which is not an absolute folder and an encoding",
        ),
        (
            "encodings: [/x=utf-7]\n",
            "encodings is '/x=utf-7', which is not an absolute folder and an encoding",
        ),
        ('models: "/a\\0b"\n', "models is '/a\\x00b', which is not an absolute folder"),
        ('models: "~ann\\0/models"\n', "models is '~ann\\x00/models', which is not an absolute folder"),
        ("top_k: 5\ntop_k: 6\n", "'top_k' is set twice [config.yaml:2]. Remove one of them."),
        ("- top_k\n", "These are not names and values [config.yaml:1]."),
        ("sesame\n", "These are not names and values [config.yaml:1]."),
        ("top_k: 5\n\tmode: x\n", "This is not valid YAML [config.yaml:2]."),
        ("top_k: [5\n", "This is not valid YAML [config.yaml:1]."),
        ("top_k: 5\r\nroots: [\r\n\r\n# the end", "This is not valid YAML [config.yaml:2]."),
        ("top_k: 5\nroots: ['/ä🦆, /b]\nmode: vector\n", "This is not valid YAML [config.yaml:2]."),
        ("prompts: {x: {query: a\n}\n", "This is not valid YAML [config.yaml:1]."),
        ("top_k: 5\n---\nmode: x\n", "This is not valid YAML [config.yaml:2]."),
        ("? [a]\n: 5\n", "A name here is not plain text [config.yaml:1]."),
        (b"mode: vector\ntop_k: \xff\n", "This is not UTF-8 text [config.yaml:2]."),
        ("api_key: sesame\n", "'api_key' is not a setting [config.yaml:1]."),
        ("mcp:\n  allow_writes: sesame\n", "'mcp' is not a setting [config.yaml:1]."),
        ("mcp: sesame\n", "'mcp' is not a setting [config.yaml:1]. There are: models,"),
        ("mcp: {sesame: 5}\n", "'mcp' is not a setting [config.yaml:1]. There are: models,"),
    ],
)
def test_a_mistake_is_named_with_its_line(tmp_path: Path, yaml: str | bytes, said: str) -> None:
    refused = refusal(tmp_path, yaml)
    assert refused.startswith(said)
    assert "sesame" not in refused, "what may be a secret is not repeated"


def test_a_windows_editors_mark_is_no_mistake(tmp_path: Path) -> None:
    assert settings(tmp_path, b"\xef\xbb\xbftop_k: 5\r\n", b"\xef\xbb\xbfCOMMONPLACE_PORT=9\r\n").port == 9


def test_aliases_are_refused_before_they_unfold(tmp_path: Path) -> None:
    bomb = "a: &a [x, x]\n" + "".join(
        f"{b}: &{b} [*{a}, *{a}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)
    )
    assert refusal(tmp_path, bomb).startswith(
        "A value that begins with '*' is an alias of YAML, and aliases are not read [config.yaml:2]."
    )
    assert "sesame" not in refusal(tmp_path, "embedder: *sesame\n")


@pytest.mark.parametrize(
    ("yaml", "said"),
    [
        ("roots: " + "[" * 100_000, "This is nested too deeply [config.yaml:1]."),
        ("top_k: !!python/object/apply:os.abort []\n", "top_k is a list"),
    ],
    ids=["nesting", "tag"],
)
def test_a_hostile_file_is_refused(tmp_path: Path, yaml: str, said: str) -> None:
    assert refusal(tmp_path, yaml).startswith(said)


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").mkdir()
    with pytest.raises(InvalidSettings, match="The file cannot be read: Is a directory"):
        config.load({"COMMONPLACE_HOME": str(tmp_path)})


# --- sizes of passages ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("yaml", "said"),
    [
        ("chunk_size: 99\n", "chunk_size is '99', which is not a whole number from 100 … [config.yaml:1]"),
        ("chunk_size: 500\nchunk_overlap: 500\n", "chunk_overlap is 500, which is not … [config.yaml:2]"),
        ("chunk_overlap: 50\n", "chunk_overlap is set without a chunk_size [config.yaml:1]."),
        ("chunking:\n  markdwon: {chunk_size: 500}\n", "'markdwon' is not a file … [config.yaml:2]"),
        ("chunking:\n  yaml: {chunksize: 500}\n", "'chunksize' is not a … [config.yaml:2]"),
        ("chunking:\n  yaml: {chunk_overlap: 50}\n", "yaml has no chunk_size [config.yaml:2]."),
        ("chunking:\n  yaml: {chunk_size: 500, chunk_overlap: 600}\n", "chunk_overlap … [config.yaml:2]"),
        ("chunking:\n  yaml: 500\n", "yaml is '500', which is not a table of … [config.yaml:2]"),
        ("chunking: 500\n", "chunking is '500', which is not a table of file types [config.yaml:1]."),
    ],
)
def test_wrong_sizes_are_named_with_their_line(tmp_path: Path, yaml: str, said: str) -> None:
    assert says(refusal(tmp_path, yaml), said)


def test_overlap_is_compared_with_the_size_whatever_layer_it_is_from(tmp_path: Path) -> None:
    yaml = "chunk_overlap: 400\nchunk_size: 500\n"
    assert "not less than the chunk_size of 400" in refusal(tmp_path, yaml, CHUNK_SIZE="400")
    assert settings(tmp_path, "chunk_overlap: 400\n", CHUNK_SIZE="500").chunk_sizes == (500, 400)


def test_sizes_by_type_are_read(tmp_path: Path) -> None:
    yaml = "chunking:\n  markdown:\n    chunk_size: 1200\n    chunk_overlap: 250\n  yaml: {chunk_size: 300}\n"
    assert settings(tmp_path, yaml).chunking == (("markdown", (1200, 250)), ("yaml", (300, 60)))


# --- declared stores --------------------------------------------------------------------


def test_declared_stores_are_read(tmp_path: Path) -> None:
    yaml = """
stores:
  notes:
    embedder: hashing
    folders:
      - ~/notes
      - root: /work
        include: '**/*.md'
        exclude: [archive/**, ./drafts]
  empty:
"""
    assert settings(tmp_path, yaml).stores == (
        DeclaredStore(
            "notes",
            "hashing",
            (
                DeclaredFolder(Path("~/notes").expanduser(), ("**/*",), ()),
                DeclaredFolder(Path("/work"), ("**/*.md",), ("archive/**", "drafts")),
            ),
        ),
        DeclaredStore("empty"),
    )


@pytest.mark.parametrize(
    ("yaml", "said"),
    [
        ("stores:\n  my notes:\n", "The store's name is 'my notes', which is not a store's name: 1 to 63"),
        ("stores:\n  a: {embedder: bge}\n", "embedder is 'bge', which is not 'minilm', 'multilingual', "),
        ("stores:\n  a: {folder: [/a]}\n", "'folder' is not a … [config.yaml:2]"),
        ("stores:\n  a: {bucket_name: x}\n", "'bucket_name' is not a … [config.yaml:2]"),
        ("stores:\n  a: {folders: [notes]}\n", "folders is 'notes', which is not an … [config.yaml:2]"),
        ("stores:\n  a: {folders: [[/a]]}\n", "folders is a list, which is not a table … [config.yaml:2]"),
        ("stores:\n  a: {folders: [{include: '*'}]}\n", "This folder has no root [config.yaml:2]."),
        ("stores:\n  a: {folders: [{root: /a, include: [/b]}]}\n", "The pattern '/b' is … [config.yaml:2]"),
        ("stores:\n  a: {folders: [{root: /a, include: [[b]]}]}\n", "include is a list … [config.yaml:2]"),
        ("stores: [a]\n", "stores is a list, which is not a table of stores [config.yaml:1]."),
    ],
)
def test_a_wrong_declaration_is_named_with_its_line(tmp_path: Path, yaml: str, said: str) -> None:
    assert says(refusal(tmp_path, yaml), said)


# --- .env -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "folder"),
    [
        ("COMMONPLACE_MODELS=/a", "/a"),
        ("  export  COMMONPLACE_MODELS = /a b \t", "/a b"),
        ("COMMONPLACE_MODELS=/a # the models", "/a"),
        ("COMMONPLACE_MODELS=/a#b", "/a#b"),
        ("COMMONPLACE_MODELS='/a # \"b\" $HOME \\n' # c", '/a # "b" $HOME \\n'),
        (r'COMMONPLACE_MODELS="/a \"b\" \\ c"', r'/a "b" \ c'),
        ("COMMONPLACE_MODELS=/a'b", "/a'b"),
        ("COMMONPLACE_MODELS=/$HOME/${X}", "/$HOME/${X}"),
    ],
)
def test_a_value_is_read_as_the_grammar_says(tmp_path: Path, line: str, folder: str) -> None:
    assert settings(tmp_path, env=f"# models\n\n{line}\n").model_dir == Path(folder)


@pytest.mark.parametrize(
    "line", ["COMMONPLACE_MODELS=", "COMMONPLACE_MODELS= # none", "COMMONPLACE_MODELS=''"]
)
def test_an_empty_value_is_the_default(tmp_path: Path, line: str) -> None:
    assert settings(tmp_path, env=line) == settings(tmp_path)


@pytest.mark.parametrize(
    ("env", "said"),
    [
        ("COMMONPLACE_TOPK=5", "'COMMONPLACE_TOPK' is not a … [.env:1]"),
        ("TOP_K=5", "'TOP_K' is not a setting [.env:1]. Did you mean 'COMMONPLACE_TOP_K'?"),
        ("OPENAI_API_KEY=sesame", "'OPENAI_API_KEY' is not a setting [.env:1]."),
        ("COMMONPLACE_TOP_K=5\nCOMMONPLACE_TOP_K=6", "COMMONPLACE_TOP_K is set twice [.env:2]"),
        ("\nCOMMONPLACE_TOP_K=0", "COMMONPLACE_TOP_K is '0', which is not a whole number from … [.env:2]"),
        ("COMMONPLACE_HOME=/a", "COMMONPLACE_HOME says where this file is [.env:1]. Set it in the env"),
        ("the sesame word", "This is not an assignment [.env:1]."),
        ("COMMONPLACE_MODELS='/sesame", "This is not an assignment [.env:1]."),
        ('COMMONPLACE_MODELS="/a" sesame', "This is not an assignment [.env:1]."),
        (b"COMMONPLACE_MODELS=/\xff", "This is not UTF-8 text [.env:1]."),
        ("COMMONPLACE_STORES=a", "'COMMONPLACE_STORES' is not a setting [.env:1]."),
    ],
)
def test_a_mistake_in_env_is_named_with_its_line(tmp_path: Path, env: str | bytes, said: str) -> None:
    refused = refusal(tmp_path, env=env)
    assert says(refused, said)
    assert "sesame" not in refused, "what may be a secret is not repeated"
