"""What Telegram's JSON says of a chat itself, such as who joined it → a sentence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_SENTENCES = {
    "create_group": "{actor} created the group “{title}”",
    "create_channel": "{actor} created the channel “{title}”",
    "edit_group_title": "{actor} changed the name to “{title}”",
    "edit_group_photo": "{actor} changed the photo",
    "delete_group_photo": "{actor} removed the photo",
    "invite_members": "{actor} added {members}",
    "remove_members": "{actor} removed {members}",
    "join_group_by_link": "{actor} joined by a link",
    "join_group_by_request": "{actor} joined by a request",
    "pin_message": "{actor} pinned a message",
    "topic_created": "{actor} created the topic “{title}”",
    "topic_edit": "{actor} changed the topic to “{new_title}”",
    "migrate_from_group": "{actor} made the group “{title}” a larger one",
}


def service_sentence(message: Mapping[str, Any], action: str) -> str:
    """Return what happened in a chat by an ``action`` of somebody. An action without a sentence of its own is
    named as in the file, with its title and members."""
    actor = message.get("actor") or message.get("from") or message.get("title") or ""
    members = message.get("members")
    known = {
        "actor": str(actor),
        "title": str(message.get("title") or ""),
        "new_title": str(message.get("new_title") or ""),
        "members": ", ".join(str(each) for each in members if each) if isinstance(members, list) else "",
    }
    sentence = _SENTENCES.get(action, "")
    if sentence and all(said or f"{{{name}}}" not in sentence for name, said in known.items()):
        return sentence.format_map(known)
    more = "; ".join(dict.fromkeys(filter(None, (known["title"], known["new_title"], known["members"]))))
    text = f"{actor} – {action.replace('_', ' ')}" if actor else action.replace("_", " ")
    return f"{text} ({more})" if more else text
