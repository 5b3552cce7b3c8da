"""Language readers, one module each: a file's text to functions ready for analysis."""
