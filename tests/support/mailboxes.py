"""Mailboxes for tests."""

from __future__ import annotations

SEPARATOR = "From dana@example.org Mon Mar  2 10:00:00 2026"


def message(subject: str, body: str, day: int = 2, message_id: str = "", **headers: str) -> str:
    """A message of March 2026 as a mailbox holds it; ``headers`` are written with their names in lower case
    and ``_`` for a hyphen."""
    lines = [f"From: {headers.pop('sender', 'Dana <dana@example.org>')}", f"Subject: {subject}"]
    lines += [f"Date: Mon, {day} Mar 2026 10:00:00 +0000"] if day else []
    lines += [f"Message-ID: <{message_id}>"] if message_id else []
    lines += [f"{name.replace('_', '-').title()}: {value}" for name, value in headers.items()]
    return "\n".join((SEPARATOR, *lines, "", body, "", ""))


def mailbox(*messages: str) -> str:
    """A mailbox with these messages."""
    return "".join(messages)
