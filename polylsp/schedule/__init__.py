"""Loop chains, statement groups and their dependences, for checks of new orders."""
