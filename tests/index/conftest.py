"""The fixtures of these tests, from the modules that make them."""

from __future__ import annotations

from tests.ask.answering import answering as answering
from tests.index.sea_store import exported as exported
from tests.index.sea_store import sea as sea
from tests.support.chat_servers import ollama_chat as ollama_chat
