"""The write path: files → plan → passages in the store → vectors."""
