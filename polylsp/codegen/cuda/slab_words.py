"""Ends of slabs, in C or in Python."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import islpy as isl

from polylsp.codegen.affine import PYTHON_CHOICE, Names, spelled
from polylsp.codegen.cuda.expressions import Unwritable


@dataclass(frozen=True)
class Words:
    """Spelling of values: parameters have their `names`; `within` is the name of the C function that clamps a
    row between two others."""

    names: Names
    within: str = ""

    @property
    def is_python(self) -> bool:
        """True for Python."""
        return self.names.choice == PYTHON_CHOICE

    def least(self, values: Sequence[isl.Aff]) -> str:
        """The least of some values; raises `Unwritable`."""
        return self._one_of("<", "min", [self.value(each) for each in values])

    def greatest(self, values: Sequence[isl.Aff]) -> str:
        """The greatest of some values; raises `Unwritable`."""
        return self._one_of(">", "max", [self.value(each) for each in values])

    def between(self, text: str, low: str, high: str) -> str:
        """The value nearest to one that is not below `low`, nor above `high` where that can be."""
        if self.is_python:
            return f"max({low}, min({text}, {high}))"
        return f"{self.within}({text}, {low}, {high})"

    def value(self, value: isl.Aff) -> str:
        """A sum of parameters; raises `Unwritable`."""
        text = spelled(value, self.names)
        if text is None:
            raise Unwritable("Where slabs end has no simple form.")
        return text

    def _one_of(self, comparison: str, function: str, texts: Sequence[str]) -> str:
        first, *rest = texts
        for other in rest:
            if self.is_python:
                first = f"{function}({first}, {other})"
            else:
                first = f"({first} {comparison} {other} ? {first} : {other})"
        return first
