"""The Ask page: conversations, and the model that answers."""
