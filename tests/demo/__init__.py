"""`make demo`: what an editor shows, in a terminal."""
