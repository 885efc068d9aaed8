"""The Search page: the box, the filters, the results as cards and as a table."""
