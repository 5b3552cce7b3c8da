"""One module for each language that is read: a file's text to functions ready for analysis."""
