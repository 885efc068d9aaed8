"""The fixtures of these tests, from the modules that make them."""

from __future__ import annotations

from tests.ask.answering import answering as answering
from tests.support.chat_servers import ollama_chat as ollama_chat
from tests.support.chat_servers import openai_chat as openai_chat
