"""Polyhedral analysis in the editor: proven facts about the loops of C programs."""

__version__ = "0.1.0"
