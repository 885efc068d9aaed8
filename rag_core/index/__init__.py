"""The write path: it plans a run, reads files into passages, stores them and embeds them as vectors."""
