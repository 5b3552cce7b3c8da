"""Building and running programs of the user, when asked to: within limits, and nothing of isl."""
