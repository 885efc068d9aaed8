"""Who the people are that the owner lets in: the list of them, and how Tailscale names them."""
