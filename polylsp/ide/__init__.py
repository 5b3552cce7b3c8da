"""Answers for editors and terminals as plain values, one module each."""
