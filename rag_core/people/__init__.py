"""The people with access: the list of them, and the state of Tailscale, which verifies their logins."""
