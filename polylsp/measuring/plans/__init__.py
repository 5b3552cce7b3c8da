"""Measurement plans: arguments, sizes, and calls of a function."""
