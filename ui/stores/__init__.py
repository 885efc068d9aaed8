"""The Stores page: making, checking and moving stores."""
