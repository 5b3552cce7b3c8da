"""An oracle that knows nothing of isl: draws C programs, runs them, and checks what is claimed of them."""
