"""What every page stands on: its shell, the library, links, messages, and work in the background."""
