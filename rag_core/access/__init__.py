"""Who besides the owner may come in: the people shared with, and the tokens of scripts."""
