"""What embedders and models that answer have in common: they ask a server, which may say no."""
