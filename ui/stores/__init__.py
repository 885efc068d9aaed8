"""The Stores page: creating, checking and moving stores."""
