"""The fixtures of these tests, from the modules that make them."""

from __future__ import annotations

from tests.access.speakers import everybodys_place as everybodys_place
from tests.access.speakers import place as place
from tests.access.speakers import talker as talker
from tests.ask.answering import answering as answering
from tests.models.embedder_servers import ollama as ollama
from tests.models.embedder_servers import openai as openai
from tests.pages.index_page import four_files as four_files
from tests.pages.index_page import hashing_store as hashing_store
from tests.pages.search_page import indexing as indexing
from tests.pages.search_page import water_notes as water_notes
from tests.pages.stores_page import garden as garden
from tests.pages.visiting import owner as owner
from tests.support.chat_servers import ollama_chat as ollama_chat
from tests.support.connected import no_aws as no_aws
from tests.support.connected import no_servers as no_servers
from tests.support.tailscale_program import no_tailscale as no_tailscale
from tests.support.tailscale_program import tailscale as tailscale
from tests.vectors.vector_fixtures import amazon as amazon
from tests.vectors.vector_fixtures import amazon_configured as amazon_configured
from tests.vectors.vector_fixtures import aws as aws
