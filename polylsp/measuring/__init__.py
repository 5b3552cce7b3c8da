"""Building and running the user's programs, on request: within limits, and without isl."""
