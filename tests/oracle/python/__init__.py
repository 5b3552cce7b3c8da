"""The oracle for Python: programs are drawn as for C, printed as Python and run by CPython."""
