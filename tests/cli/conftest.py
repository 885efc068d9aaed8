"""The fixtures of these tests, from the modules that make them."""

from __future__ import annotations

from tests.ask.answering import answering as answering
from tests.models.embedder_servers import ollama as ollama
from tests.pages.visiting import tokyo as tokyo
from tests.support.chat_servers import ollama_chat as ollama_chat
from tests.support.connected import no_aws as no_aws
from tests.support.connected import no_servers as no_servers
from tests.support.tailscale_program import no_tailscale as no_tailscale
from tests.support.tailscale_program import tailscale as tailscale
from tests.vectors.vector_fixtures import amazon as amazon
from tests.vectors.vector_fixtures import amazon_configured as amazon_configured
from tests.vectors.vector_fixtures import aws as aws
