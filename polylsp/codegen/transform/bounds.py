"""Bounds in a header, including minima and maxima of several sums, as the loops over the points of a tile
have them."""

from __future__ import annotations

from dataclasses import dataclass

from polylsp.codegen.subject import Subject
from polylsp.codegen.transform.domain import counts_signed
from polylsp.codegen.transform.expression import Linear, added, extremum
from polylsp.codegen.transform.headers import Reader, adds_one, declaring, first_value, operands
from polylsp.codegen.transform.syntax import LoopText


@dataclass(frozen=True, slots=True)
class Bounds:
    """A loop that counts up by one, from the largest of `firsts`, while it is less than all of `lasts`: sums
    of texts. `declared` are the words that declare the counter in its header."""

    name: str
    declared: str
    firsts: tuple[Linear, ...]
    lasts: tuple[Linear, ...]

    @property
    def first(self) -> str:
        """The first value, in C."""
        return extremum(list(self.firsts), ">")

    @property
    def last(self) -> str:
        """The bound that is not reached, in C."""
        return extremum(list(self.lasts), "<")

    def depends_on(self, counter: str) -> bool:
        """True if a counter is among the terms."""
        return any(each.get(counter) for each in (*self.firsts, *self.lasts))

    def at(self, counter: str, offset: int) -> Bounds:
        """The bounds where another counter is larger by a number."""
        return Bounds(
            self.name,
            self.declared,
            tuple(_shifted(each, counter, offset) for each in self.firsts),
            tuple(_shifted(each, counter, offset) for each in self.lasts),
        )


def bounds_of(subject: Subject, ordinal: int, text: LoopText, outer: tuple[str, ...]) -> Bounds | None:
    """The bounds of a loop in terms of the counters `outer`; `None` where they are not sums of these and of
    terms that do not depend on them."""
    start, test, step = (text.node.child_by_field_name(f) for f in ("initializer", "condition", "update"))
    name = subject.known(ordinal).iterator
    if start is None or test is None or step is None or name is None or test.type != "binary_expression":
        return None
    reader = Reader(subject, list(outer))
    operator = next((c.type for c in test.children if not c.is_named), "")
    value = first_value(start)
    if value is None or operator not in ("<", "<=") or reader.text(test.named_children[0]) != name:
        return None
    if not adds_one(reader, step, name) or not counts_signed(subject, ordinal):
        return None
    firsts = [reader.linear(each, len(outer)) for each in operands(reader, value, ">")]
    lasts = [reader.linear(each, len(outer)) for each in operands(reader, test.named_children[-1], "<")]
    if reader.mentions_counter():
        return None
    beyond = 1 if operator == "<=" else 0
    return Bounds(
        name,
        declaring(subject, start),
        tuple(_in_c(reader, each) for each in firsts),
        tuple(added(_in_c(reader, each), {"": beyond}, 1) for each in lasts),
    )


def start(bounds: Bounds) -> str:
    """Initialisation of the counter, in C."""
    return f"{bounds.declared} {bounds.name} = {bounds.first}".lstrip()


def header(bounds: Bounds) -> str:
    """The header of the loop, in C."""
    return f"for ({start(bounds)}; {bounds.name} < {bounds.last}; {bounds.name}++)"


def _in_c(reader: Reader, value: Linear) -> Linear:
    names = {f"i{k}": name for k, name in enumerate(reader.counters)}
    return {
        names.get(term, reader.atoms.get(term, term)) if isinstance(term, str) else term: factor
        for term, factor in value.items()
    }


def _shifted(value: Linear, counter: str, offset: int) -> Linear:
    return added(value, {"": offset * value.get(counter, 0)}, 1)
