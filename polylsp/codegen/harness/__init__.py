"""Calls of functions on generated data, for comparing versions."""
