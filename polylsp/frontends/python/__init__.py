"""Python and NumPy front end: syntax, type inference, alias analysis, lowering."""
