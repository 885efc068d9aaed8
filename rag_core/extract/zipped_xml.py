"""Files that are ZIP archives of XML inside: members of bounded size, and XML without entities."""

from __future__ import annotations

from typing import TYPE_CHECKING
from zipfile import ZipFile

if TYPE_CHECKING:
    from lxml.etree import _Element

_MOST_BYTES = 200_000_000


def member(archive: ZipFile, name: str) -> bytes:
    """The bytes of a file in ``archive``. Raises ValueError if it unpacks to more than 200 MB, KeyError if it
    is not there."""
    with archive.open(name) as packed:
        data = packed.read(_MOST_BYTES + 1)
    if len(data) > _MOST_BYTES:
        raise ValueError(f"{name} is too large")
    return data


def xml(data: bytes) -> _Element:
    """The root of an XML document; nothing is fetched and no entity is expanded. Raises ValueError."""
    from lxml import etree

    try:
        return etree.fromstring(data, etree.XMLParser(resolve_entities=False, no_network=True))
    except etree.XMLSyntaxError as error:
        raise ValueError(str(error)) from None
