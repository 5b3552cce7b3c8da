"""A Python function's syntax tree to the program of the model."""
