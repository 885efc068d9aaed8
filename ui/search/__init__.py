"""The Search page: the box, the filters, and the results as cards and as a table."""
