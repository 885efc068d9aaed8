"""A document as a person reads it: its text as HTML, its code, its pictures, and why a file is missing."""
