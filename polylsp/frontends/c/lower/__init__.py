"""From the tree of one C function to the language-neutral program of `model/program.py`."""
