"""What every page uses: its shell, the library, links, messages, and work in the background."""
