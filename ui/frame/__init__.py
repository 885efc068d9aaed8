"""The common parts of pages: the frame, the library, links, messages, and background work."""
