"""Values of frozen classes as JSON values, by position: compact, and quick to read back.

A kind is a type annotation. An object is the list of its fields in their order, a member of a union of
classes has the name of its class after them, and tuples and frozen sets are lists. The names of fields are
not written: who stores such values names the version of the code along with them. Reading builds data only,
and raises an exception of any kind where values do not fit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from functools import cached_property, lru_cache
from operator import attrgetter
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

Step = Callable[[Any], Any]
"""Direction of a conversion: from a value to another one."""

_PLAIN = (str, int, float, bool, NoneType)


@dataclass(frozen=True, slots=True)
class Form:
    """Conversion of a kind of values to JSON values, and back; `None` where these are the same."""

    write: Step | None
    read: Step | None


_SAME = Form(None, None)


@lru_cache(maxsize=512)
def form_of(kind: Any) -> Form:
    """The form of a kind; raises `TypeError` for one that is not supported."""
    origin, members = get_origin(kind), get_args(kind)
    if kind in _PLAIN or origin is Literal:
        return _SAME
    if is_dataclass(kind):
        fielded = _Class(kind)
        return Form(fielded.write, fielded.read)
    if origin is tuple and members[1:] == (Ellipsis,):
        return _sequence(form_of(members[0]), tuple, list)
    if origin is tuple:
        return _row(tuple(map(form_of, members)))
    if origin is frozenset:
        return _sequence(form_of(members[0]), frozenset, sorted)
    if origin in (Union, UnionType):
        return _union(tuple(each for each in members if each is not NoneType))
    raise TypeError(f"values of {kind} have no form in JSON")


class _Class:
    """Form of a class. Its fields' forms are found at the first use: classes may contain each other."""

    def __init__(self, kind: Any) -> None:
        self._kind = kind
        self._count = len(fields(kind))

    @cached_property
    def _forms(self) -> list[Form]:
        hints = get_type_hints(self._kind)
        return [form_of(hints[each.name]) for each in fields(self._kind)]

    @cached_property
    def _writers(self) -> list[tuple[int, Step]]:
        return [(at, each.write) for at, each in enumerate(self._forms) if each.write is not None]

    @cached_property
    def _readers(self) -> list[tuple[int, Step]]:
        return [(at, each.read) for at, each in enumerate(self._forms) if each.read is not None]

    @cached_property
    def _values(self) -> Step:
        # With two names more, so that the values of a class with one field, or none, are a tuple as well.
        return attrgetter(*(each.name for each in fields(self._kind)), "__class__", "__class__")

    def write(self, value: Any) -> list[Any]:
        """The fields of an object."""
        data = list(self._values(value)[: self._count])
        for at, step in self._writers:
            data[at] = step(data[at])
        return data

    def read(self, data: list[Any]) -> Any:
        """The object with these fields, which are read in their place."""
        if len(data) != self._count:
            raise ValueError(f"{len(data)} fields instead of {self._count}")
        for at, step in self._readers:
            data[at] = step(data[at])
        return self._kind(*data)


def _sequence(member: Form, make: Callable[[Any], Any], listed: Callable[[Any], list[Any]]) -> Form:
    write, read = member.write, member.read
    return Form(
        listed if write is None else lambda value: [write(each) for each in listed(value)],
        make if read is None else lambda data: make([read(each) for each in data]),
    )


def _row(members: tuple[Form, ...]) -> Form:
    def write(value: Any) -> list[Any]:
        pairs = zip(members, value, strict=True)
        return [each if form.write is None else form.write(each) for form, each in pairs]

    def read(data: list[Any]) -> tuple[Any, ...]:
        pairs = zip(members, data, strict=True)
        return tuple([each if form.read is None else form.read(each) for form, each in pairs])

    return Form(write, read)


def _union(members: tuple[Any, ...]) -> Form:
    """The form of one of some classes, or of one kind alone, or of plain values; or none of these."""
    forms = tuple(map(form_of, members))
    if all(each is _SAME for each in forms):
        return _SAME
    if len(members) == 1:
        ((write, read),) = ((each.write, each.read) for each in forms)
        return Form(
            None if write is None else lambda value: None if value is None else write(value),
            None if read is None else lambda data: None if data is None else read(data),
        )
    if not all(map(is_dataclass, members)):
        raise TypeError(f"a union of {members} has no form in JSON")
    named = {each.__name__: _Class(each) for each in members}

    def write_named(value: Any) -> list[Any] | None:
        if value is None:
            return None
        name = type(value).__name__
        return [*named[name].write(value), name]

    def read_named(data: list[Any] | None) -> Any:
        return None if data is None else named[data.pop()].read(data)

    return Form(write_named, read_named)
