"""What is remembered for each context."""

from collections.abc import Callable

from pycuda.driver import Context

remembered: dict[object, object] = {}


def context_dependent_memoize(function: Callable[[], object]) -> Callable[[], object]:
    def call() -> object:
        key = (function, Context.get_current())
        if key not in remembered:
            remembered[key] = function()
        return remembered[key]

    return call
