"""Feasibility of actions on the loops of a function, by trying the edits and discarding them."""
