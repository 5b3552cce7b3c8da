"""Which actions on the loops of a function there is an edit for: the edits are made, and thrown away."""
