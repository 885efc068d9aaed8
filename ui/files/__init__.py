"""The Files page: the list of files, and one document to read."""
