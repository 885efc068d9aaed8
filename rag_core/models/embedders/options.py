"""What an embedder is opened with: its name, taken apart, and what the owner configured."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from rag_core.errors import InvalidInput
from rag_core.extensions import Extension, catalogue
from rag_core.models.servers.ollama import OLLAMA_URL

OLLAMA_MODEL = "embeddinggemma"

BUILT_IN = frozenset({"minilm", "hashing", "ollama", "openai", "sentence-transformers", "mlx"})
"""The providers that no package can stand in for."""

_SHAPE = re.compile(r"(?P<provider>[a-z][a-z0-9-]*)(?::(?P<model>[^\x00-\x1f\x7f]{1,300}))?")
_WITH_DIMENSION = re.compile(r"(?P<model>.+)@(?P<dimension>[1-9][0-9]{0,4})")
_KNOWN = "'minilm' (built in), 'ollama:MODEL', 'openai:MODEL', 'sentence-transformers:FOLDER', 'mlx:FOLDER'"


@dataclass(frozen=True, slots=True)
class Prompts:
    """What is put in front of a question and in front of a passage; a model learnt one or none."""

    query: str = ""
    document: str = ""


NO_PROMPTS = Prompts()


@dataclass(frozen=True, slots=True)
class EmbedderOptions:
    """What the owner configured for embedders.

    ``context`` is how many tokens a server's model is to read, None for what is known of it; ``prompts``
    holds those of single embedders by name; ``retry_s`` is how long to wait before a request is sent again,
    and twice as long before each further one.
    """

    model_dir: Path = Path()
    ollama_url: str = OLLAMA_URL
    openai_url: str = ""
    openai_key: str = field(default="", repr=False)
    timeout_s: float = 300.0
    context: int | None = None
    prompts: tuple[tuple[str, Prompts], ...] = ()
    device: str | None = None
    offline: bool = True
    retry_s: float = 0.5

    def prompts_of(self, name: EmbedderName) -> Prompts | None:
        """The prompts that are configured for an embedder, whatever its dimension, if any."""
        for written, prompts in self.prompts:
            known = parse_name(written)
            if (known.provider, known.model) == (name.provider, name.model):
                return prompts
        return None


@dataclass(frozen=True, slots=True)
class EmbedderName:
    """``PROVIDER:MODEL@DIMENSION``; the dimension is None where the model decides."""

    provider: str
    model: str = ""
    dimension: int | None = None

    def __str__(self) -> str:
        model = f":{self.model}" if self.model else ""
        return f"{self.provider}{model}" + (f"@{self.dimension}" if self.dimension else "")


@cache
def providers() -> dict[str, Extension]:
    """The providers that installed packages bring, by name."""
    return catalogue("embedders", BUILT_IN)


def parse_name(name: str) -> EmbedderName:
    """The parts of an embedder's name. Raises InvalidInput when no provider has such a name."""
    shape = _SHAPE.fullmatch(name)
    provider, model = (shape["provider"], shape["model"] or "") if shape else ("", "")
    match provider, model:
        case "minilm", "":
            return EmbedderName(provider)
        case "hashing", dimension if not dimension or re.fullmatch(r"[0-9]{1,9}", dimension):
            return EmbedderName(provider, dimension)
        case "ollama", "":
            return EmbedderName(provider, OLLAMA_MODEL)
        case (("ollama" | "openai"), model) if model and not re.search(r"\s", model):
            cut = _WITH_DIMENSION.fullmatch(model)
            return (
                EmbedderName(provider, cut["model"], int(cut["dimension"]))
                if cut
                else EmbedderName(provider, model)
            )
        case (("sentence-transformers" | "mlx"), model) if model:
            return EmbedderName(provider, model)
        case provider, model if model and provider in providers():
            return EmbedderName(provider, model)
        case _:
            foreign = model and provider not in BUILT_IN
            brings = "No installed package brings it. " if foreign else ""
            raise InvalidInput(
                f"There is no embedder called {name[:80]!r}.",
                f"{brings}Use {_KNOWN} or 'hashing' (for tests).",
            )


def full_name(name: str) -> str:
    """The one name of an embedder that has several: ``ollama`` is ``ollama:embeddinggemma``.

    Raises InvalidInput when no provider has such a name.
    """
    return str(parse_name(name))
