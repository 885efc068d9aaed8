"""The fixtures of these tests, from the modules that make them."""

from __future__ import annotations

from tests.models.embedder_servers import ollama as ollama
from tests.models.embedder_servers import open_ollama as open_ollama
from tests.models.embedder_servers import openai as openai
from tests.support.chat_servers import ollama_chat as ollama_chat
from tests.support.chat_servers import openai_chat as openai_chat
from tests.support.connected import make as make
from tests.support.connected import no_aws as no_aws
from tests.support.installed_packages import example_folder as example_folder
from tests.support.installed_packages import example_package as example_package
from tests.support.installed_packages import extended as extended
