"""Facts to edits of the source: directives, transforms, and later other languages' code."""
