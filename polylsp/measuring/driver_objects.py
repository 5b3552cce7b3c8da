"""Objects that `driver.py` creates for a method: the module stands beside that one, and needs no other
either."""

from __future__ import annotations

import inspect
from typing import Any


class UnmadeError(Exception):
    """There is no such object without its `__init__`."""


def made(of_type: Any, attributes: dict[str, Any], numbers: dict[str, Any]) -> Any:
    """An object with attributes, created without its `__init__`; `numbers` are set only where its class has
    none."""
    set_in_class = {k for k in numbers if isinstance(inspect.getattr_static(of_type, k, None), (int, float))}
    try:
        found = object.__new__(of_type)
        for name, value in attributes.items():
            object.__setattr__(found, name, value)
        for name in numbers.keys() - set_in_class:
            object.__setattr__(found, name, numbers[name])
    except (TypeError, AttributeError) as error:
        name = getattr(of_type, "__name__", of_type)
        raise UnmadeError(
            f"needs a `{name}`, which cannot be made without its `__init__` ({error})"
        ) from error
    return found


def held(one: Any) -> list[tuple[str, Any]]:
    """The attributes of an object, in order of their names."""
    told = (getattr(each, "__slots__", ()) for each in type(one).__mro__)
    slots = (name for each in told for name in ((each,) if isinstance(each, str) else each))
    names = {*getattr(one, "__dict__", ()), *(name for name in slots if hasattr(one, name))}
    return [(name, getattr(one, name)) for name in sorted(names) if name not in ("__dict__", "__weakref__")]
