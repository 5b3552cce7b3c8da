"""How a function is called on data that are made up for it, so that versions of it can be compared."""
