"""A directive as it is written: `#pragma omp parallel for private(t)`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

_WIDTH = 100


@dataclass(frozen=True, slots=True)
class Clause:
    """A clause; without arguments it is a word alone."""

    name: str
    arguments: tuple[str, ...] = ()
    modifier: str = ""

    def __str__(self) -> str:
        if not self.arguments:
            return self.name
        modifier = f"{self.modifier}: " if self.modifier else ""
        return f"{self.name}({modifier}{', '.join(self.arguments)})"


@dataclass(frozen=True, slots=True)
class Directive:
    """A directive, before the statement that it is about."""

    sentinel: Literal["omp", "acc"]
    words: str
    clauses: tuple[Clause, ...] = ()

    def text(self, indentation: str) -> str:
        """Lines of the directive without the last line's end; long ones are continued, as the preprocessor
        allows."""
        return " \\\n".join(_lines(indentation, f"#pragma {self.sentinel} {self.words}", self.clauses))


def clauses(*found: Clause | None) -> tuple[Clause, ...]:
    """The clauses that there are."""
    return tuple(each for each in found if each is not None)


def listed(name: str, arguments: Iterable[str]) -> Clause | None:
    """A clause with a list, if there is anything to list."""
    names = tuple(arguments)
    return Clause(name, names) if names else None


def condition(text: str, modifier: str = "") -> Clause | None:
    """The clause that turns a directive off where a condition in C does not hold, if there is one."""
    return Clause("if", (text,), modifier) if text else None


def _lines(indentation: str, head: str, rest: tuple[Clause, ...]) -> Iterator[str]:
    line = indentation + head
    for clause in rest:
        if len(line) + len(str(clause)) + 1 > _WIDTH:
            yield line
            line = f"{indentation}    {clause}"
        else:
            line = f"{line} {clause}"
    yield line
