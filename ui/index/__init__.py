"""The Index page: the folders of a store, and its runs."""
