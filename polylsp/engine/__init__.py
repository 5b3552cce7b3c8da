"""Incremental queries from the text of a file to reports, edits and plans."""
