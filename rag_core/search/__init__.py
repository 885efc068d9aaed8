"""The read path: query → retrieve → rank → snippet."""
