"""Python and NumPy source to the program model."""
