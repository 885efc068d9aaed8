"""Names that settings share with other modules: variables, stores, logins and hosts."""

from __future__ import annotations

import re

VARIABLE_PREFIX = "COMMONPLACE_"
HOME = f"{VARIABLE_PREFIX}HOME"
"""The variable for the folder of configuration and data. It is only read from the environment: .env and
config.yaml are in this folder."""

PORT_FILE = "app.port"
"""The name of the file in the data folder that contains the port of the app while it runs."""

OLLAMA_URL = "http://127.0.0.1:11434"
"""The address of Ollama, unless a setting names another."""

STORE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,62}")
"""Matches a store's name, which is also the name of its file, so it suits every operating system."""

LOGIN_NAME = re.compile(r"(?=.{1,254}\Z)[A-Za-z0-9][A-Za-z0-9.!#$%&'*+/=?^_`{|}~@-]*", re.ASCII)
"""Matches a Tailscale login: a mail address (at most 254 characters, RFC 5321) or ``ada@github``."""

_LABEL_OF_HOST = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
HOST_NAME = re.compile(rf"(?=.{{1,253}}\Z){_LABEL_OF_HOST}(?:\.{_LABEL_OF_HOST})*", re.ASCII)
"""Matches the name of a host (RFC 1123)."""
