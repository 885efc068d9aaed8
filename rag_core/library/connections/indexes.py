"""Where vectors can be kept outside a store's own file: Amazon S3 Vectors, Qdrant, Chroma."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rag_core.errors import VectorError, VectorsUnreachable
from rag_core.extensions import install_line
from rag_core.library.connections.asking import READ_S, ask, check_status
from rag_core.library.connections.check import Found, written
from rag_core.library.connections.embedders import package_version
from rag_core.messages import say
from rag_core.models.servers.addresses import destination
from rag_core.vectors.chroma import ChromaOptions, ChromaService
from rag_core.vectors.qdrant import QdrantOptions, QdrantService
from rag_core.vectors.s3vectors import S3Options, S3Service
from rag_core.vectors.service import Program, Refused

# --- Amazon S3 Vectors ------------------------------------------------------------------

Kind = type[Program[Any]]

_METHODS: Mapping[str, str] = {
    "env": "the environment",
    "shared-credentials-file": "the shared credentials file",
    "config-file": "the AWS configuration",
    "sso": "single sign-on",
    "login": "`aws login`",
}
"""Where botocore finds credentials without asking another program or the network → in words."""

_CONFIGURE = "Set up region and credentials as for the AWS CLI, or set `s3_region` and `s3_profile`."


def s3vectors(options: S3Options, *, wanted: bool, own: Callable[[], Sequence[str]]) -> Found:
    """The service, asked for one of its buckets, once; where that is not ``wanted``, nobody is asked, and
    the AWS configuration of this computer is only looked at. ``own`` asks for the indexes of stores, which
    credentials may reach that are not allowed to list buckets."""
    client = S3Service(replace(options, timeout=READ_S))
    try:
        place, method = _configured(options)
        if not place:
            return Found("not set up", f"No region is set; {_at_hand(method)}.", _CONFIGURE)
        goes = destination(client.endpoint)
        if not wanted:
            return _not_asked(place, method, goes)
        _ask(client, own)
    except VectorsUnreachable as error:
        return Found("unreachable", error.message, "Check the network and the region.")
    except Refused as error:
        return Found("refused", error.message, _advice(error))
    except VectorError as error:
        return Found("not set up", error.message, _CONFIGURE)
    credentials = f"credentials from {method or 'the role of this computer'}"
    return Found("ready", f"It answers for {place}, with {credentials}.", goes=goes)


def _ask(client: S3Service, own: Callable[[], Sequence[str]]) -> None:
    try:
        client.call("list_vector_buckets", 1, maxResults=1)
    except Refused as error:
        if not error.code.startswith("AccessDenied") or not own():
            raise


def _not_asked(place: str, method: str, goes: str) -> Found:
    sentence = "No store is kept there, and no setting names it, so nobody was asked."
    sentence += f" For {place}, {_at_hand(method)}."
    step = say("ask_amazon") if method else _CONFIGURE
    return Found("not set up", sentence, step, goes, unasked=bool(method))


def _at_hand(method: str) -> str:
    return f"credentials from {method} are at hand" if method else "no credentials are at hand"


def _advice(error: Refused) -> str:
    if error.code.startswith("AccessDenied"):
        return "Allow s3vectors:ListVectorBuckets to the credentials; stores work without that, too."
    return "Check the credentials, the profile and the region."


def _configured(options: S3Options) -> tuple[str, str]:
    """Region and profile in words ('' without a region), and where credentials are that need not be asked
    for ('': nowhere).

    Raises VectorError when the AWS configuration cannot be read.
    """
    from botocore.exceptions import BotoCoreError
    from botocore.session import Session

    try:
        session = Session(profile=options.profile or None)
        region = options.region or session.get_config_variable("region")
        resolver = session.get_component("credential_provider")
        for provider in [each.METHOD for each in resolver.providers if each.METHOD not in _METHODS]:
            resolver.remove(provider)
        credentials = resolver.load_credentials()
    except (BotoCoreError, ValueError) as error:
        raise VectorError(f"The AWS configuration cannot be used: {str(error).rstrip('.')}.") from None
    profile = f", profile {session.profile!r}" if session.profile else ""
    place = f"region {region}{profile}" if region else ""
    return place, _METHODS[credentials.method] if credentials else ""


# --- Qdrant and Chroma ------------------------------------------------------------------


_CHROMA_ADVICE = "Let this computer in there."


def qdrant(options: QdrantOptions, config_file: Path | None = None) -> Found:
    """Qdrant: the server, or the folder without one, and the package that talks to it."""
    url, remedy = options.url, _remedy(QdrantService)
    if not url:
        return _without_server(QdrantService, options.path, config_file)
    status, said = ask(url, "/", remedy)
    check_status(status, url, QdrantService.access)
    if not (isinstance(said, dict) and "qdrant" in str(said.get("title", "")).lower()):
        return Found("unreachable", f"Something answers at {url}, and it is not Qdrant.", remedy)
    status, _ = ask(url, "/collections", remedy, options.api_key)
    check_status(status, url, QdrantService.access)
    return _answers(QdrantService, said.get("version"), url)


def chroma(options: ChromaOptions, config_file: Path | None = None) -> Found:
    """Chroma: the server, or the folder without one, and the package that talks to it."""
    url, remedy = options.url, _remedy(ChromaService)
    if not url:
        return _without_server(ChromaService, options.path, config_file)
    status, said = ask(url, "/api/v2/heartbeat", remedy)
    check_status(status, url, _CHROMA_ADVICE)
    if not (status == 200 and isinstance(said, dict) and "nanosecond heartbeat" in said):
        return Found("unreachable", f"Something answers at {url}, and it is not Chroma 1.0 or newer.", remedy)
    _, number = ask(url, "/api/v2/version", remedy)
    return _answers(ChromaService, number, url)


def _remedy(kind: Kind) -> str:
    return f"Start it, or set `{kind.url_setting}` to where it is."


def _without_server(kind: Kind, folder: Path | None, config_file: Path | None) -> Found:
    number, install = package_version(kind.package, kind.module), f"Run {install_line(kind.extra)}"
    here = f"The package {kind.package!r} {number} is installed" if number else f"{kind.package!r} is missing"
    if folder is not None:
        sentence = f"{here}; its folder is {str(folder)!r}, for one process at a time."
        goes = destination("")
        return Found("ready", sentence, goes=goes) if number else Found("not set up", sentence, f"{install}.")
    step = f"{written(kind.url_setting, kind.example, config_file)}."
    if number:
        return Found("not set up", f"{here}; no server is set.", step[:1].upper() + step[1:])
    sentence = f"The package {kind.package!r} is not installed, and no server is set."
    return Found("not set up", sentence, f"{install}, then {step}")


def _answers(kind: Kind, number: Any, url: str) -> Found:
    here = f"{kind.name} {number[:40]} at {url}" if isinstance(number, str) else f"{kind.name} at {url}"
    if not package_version(kind.package, kind.module):
        sentence = f"{here} answers; the package {kind.package!r} that talks to it is not installed."
        return Found("not set up", sentence, f"Run {install_line(kind.extra)}.")
    return Found("ready", f"{here} answers.")
