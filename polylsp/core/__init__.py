"""Text and spans, queries, settings, files and processes: the basis of all other packages."""
