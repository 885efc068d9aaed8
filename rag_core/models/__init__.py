"""Models and how they are reached: embedders, chat models, servers."""
