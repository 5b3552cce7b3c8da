"""Target code, and its placement in the user's text: expressions, loops, directives."""
