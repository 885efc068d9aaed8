"""Turns text into words: index terms, numbers, forms of a word, tags."""
