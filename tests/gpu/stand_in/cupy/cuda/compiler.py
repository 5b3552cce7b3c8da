"""Errors of the compiler."""


class CompileException(Exception):
    """Kernels that do not compile."""
