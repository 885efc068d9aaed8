"""How text becomes words: index terms, numbers, forms of a word, tags."""
