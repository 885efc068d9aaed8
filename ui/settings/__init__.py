"""The Settings page: connections, people, tokens and values."""
