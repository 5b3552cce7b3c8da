"""Code actions listed together with their edit, because they concern the text alone."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import unified_diff
from typing import Literal

from polylsp.core.text import Span
from polylsp.model.action import Kept, Replacement


@dataclass(frozen=True, slots=True)
class ReadyOffer:
    """An edit that answers the findings of a code at `span`, with the same fields as other offers
    (`actions.Offer`). Where `messages` are given, it answers the findings with these messages, and no others
    of that code."""

    code: str
    span: Span
    title: str
    replacement: Replacement
    messages: tuple[str, ...] = ()
    preferred: bool = False
    kind: Literal["quickfix"] = "quickfix"
    disabled: Literal[""] = ""
    kinds: tuple[Literal["quickfix"], ...] = ()

    @property
    def codes(self) -> tuple[str, ...]:
        """The codes of the findings that it answers."""
        return (self.code,)

    def answers(self, message: str) -> bool:
        """True if the offer answers a finding with this message."""
        return not self.messages or message in self.messages


# --------------------------------------------------------------------------------------------------
# Differences between an existing file and the one that an edit would create in its place.
# --------------------------------------------------------------------------------------------------


def difference(kept: Kept) -> str:
    """A unified diff from the contents of a file to the proposed ones."""
    old, new = (each.splitlines(keepends=True) for each in (kept.text, kept.wanted))
    lines = unified_diff(old, new, kept.name, kept.name)
    return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)
