"""A document for reading: its text as HTML, its code, its pictures, and why a file is missing."""
