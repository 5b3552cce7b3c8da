"""Values remembered for each context."""

from collections.abc import Callable

from pycuda.driver import Context

remembered: dict[object, object] = {}


def context_dependent_memoize(function: Callable[..., object]) -> Callable[..., object]:
    def call(*arguments: object) -> object:
        key = (function, Context.get_current(), arguments)
        if key not in remembered:
            remembered[key] = function(*arguments)
        return remembered[key]

    return call
