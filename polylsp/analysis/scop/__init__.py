"""Extraction of polyhedral models by a symbolic walk of a function."""
