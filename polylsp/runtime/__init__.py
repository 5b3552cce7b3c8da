"""Building and running programs of the user, on request: within limits, and without isl."""
