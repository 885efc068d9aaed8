"""Names that settings share with other modules: variables, stores, logins and hosts."""

from __future__ import annotations

import re

VARIABLE_PREFIX = "COMMONPLACE_"
HOME = f"{VARIABLE_PREFIX}HOME"
"""Moves configuration and data. It is only read from the environment, because it says where the files are."""

PORT_FILE = "app.port"
"""The file in the data folder with the port of the app, while it runs."""

OLLAMA_URL = "http://127.0.0.1:11434"
"""The address of Ollama, unless a setting names another."""

STORE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,62}")
"""A store's name, which is also the name of its file on every system."""

LOGIN_NAME = re.compile(r"(?=.{1,254}\Z)[A-Za-z0-9][A-Za-z0-9.!#$%&'*+/=?^_`{|}~@-]*", re.ASCII)
"""A Tailscale login: a mail address (at most 254 characters, RFC 5321) or ``ada@github``."""

_LABEL_OF_HOST = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
HOST_NAME = re.compile(rf"(?=.{{1,253}}\Z){_LABEL_OF_HOST}(?:\.{_LABEL_OF_HOST})*", re.ASCII)
"""The name of a host (RFC 1123)."""
