"""Assumptions on the lengths of arrays that meet in one statement."""

from __future__ import annotations

from dataclasses import dataclass, field

from polylsp.frontends.python.versions import spelled


@dataclass(slots=True)
class Agreement:
    """`words`: assumptions, by the unique names of the arrays whose elements rest on them; `equal`: for a
    length another one that it is assumed to equal; `measured`: the lengths of each array that array
    statements use. Lengths are as they are spelled (`a.shape[0]`)."""

    words: dict[str, dict[str, None]] = field(default_factory=dict[str, "dict[str, None]"])
    equal: dict[str, str] = field(default_factory=dict[str, str])
    measured: dict[str, dict[str, None]] = field(default_factory=dict[str, "dict[str, None]"])

    def root(self, length: str) -> str:
        """The length that stands for all that are assumed to equal this one."""
        while length in self.equal:
            length = self.equal[length]
        return length

    def join(self, one: str, other: str) -> None:
        """Assume that two lengths are equal."""
        first, second = sorted((self.root(one), self.root(other)))
        if first != second:
            self.equal[second] = first

    def note(self, array: str, words: str) -> None:
        """Record an assumption about the elements of an array."""
        self.words.setdefault(array, {})[spelled(words)] = None
