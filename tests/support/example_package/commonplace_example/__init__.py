"""One example of everything that a package can add to Commonplace."""
