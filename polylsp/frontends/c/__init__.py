"""C front end: outline, preprocessing, parsing, lowering."""
