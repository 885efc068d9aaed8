"""A saved web page (MHT, MHTML) → its text as a browser shows it."""

from __future__ import annotations

from email import message_from_bytes, policy
from pathlib import PurePosixPath

from rag_core.extract import encoding, webpage
from rag_core.extract.building import Builder, damaged, one_line
from rag_core.extract.mail_parts import bytes_of
from rag_core.types import Extracted


def read(data: bytes, path: PurePosixPath) -> Extracted:
    """Return the first page in ``data``, then the pages in its frames. Raises ExtractError if there is no
    page."""
    message = message_from_bytes(data.lstrip(), policy=policy.default)
    pages = [
        webpage.visible_page(encoding.decode(bytes_of(part), "html").text)
        for part in message.walk()
        if part.get_content_type() in ("text/html", "application/xhtml+xml")
    ]
    if not pages:
        raise damaged(path, data)
    builder = Builder()
    address = one_line(str(message.get("Snapshot-Content-Location") or message.get("Content-Location") or ""))
    for page in pages:
        page.add_to(builder)
    title = pages[0].title or one_line(str(message.get("Subject") or "")) or pages[0].first_heading
    return builder.document("html", path.name, title, metadata={"url": address} if address else {})
