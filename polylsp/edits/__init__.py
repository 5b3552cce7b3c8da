"""Edits for the actions that a user can choose, and their feasibility."""
