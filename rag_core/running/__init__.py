"""The background work of a long-lived process: jobs, and watching folders."""
