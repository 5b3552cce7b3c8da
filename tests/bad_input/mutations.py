"""Damage as it happens while a person types: tokens and lines lost, doubled or swapped, and garbage."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

from polylsp.frontends.c.tokens import normalise, tokenize

INSIDE = [
    ";",
    ",",
    "(",
    ")",
    "[",
    "]",
    "}",
    "{",
    "=",
    "->",
    "@",
    "λ",
    "0x",
    "else",
    "int",
    "return",
    "case 1:",
]
"""Text that may be typed into a function without a meaning for the text that follows it."""

ANYWHERE = [
    *INSIDE,
    '"',
    "'",
    "/*",
    "*/",
    "//",
    "#",
    "\\",
    "\0",
    "\n#if 0\n",
    "\n#endif\n",
    "typedef",
    "/**/",
]


@dataclass(frozen=True)
class Mutation:
    """The text `[start, end)` of a file and what stands there now."""

    start: int
    end: int
    text: str

    def apply(self, text: str) -> str:
        return text[: self.start] + self.text + text[self.end :]


@st.composite
def mutations(draw: st.DrawFn, text: str, first: int, last: int, garbage: list[str]) -> Mutation:
    """A mutation of `text` between two offsets."""
    kind = draw(st.sampled_from(["lose", "double", "swap", "line", "tail", "garbage"]))
    if kind in ("line", "tail", "garbage"):
        at = draw(st.integers(first, last))
        end = min(last, text.find("\n", at) % (len(text) + 1))
        start = max(first, text.rfind("\n", 0, at) + 1) if kind == "line" else at
        return (
            Mutation(at, at, draw(st.sampled_from(garbage)))
            if kind == "garbage"
            else Mutation(start, end, "")
        )
    tokens = tokenize(normalise(text[first:last]))
    index = draw(st.integers(0, max(0, len(tokens.texts) - 2)))
    spans = list(zip(tokens.starts, tokens.ends, strict=True))[index : index + 2]
    if len(spans) < 2:
        return Mutation(first, first, "")
    (start, end), (after, over) = ((first + a, first + b) for a, b in spans)
    one, other = text[start:end], text[after:over]
    if kind == "swap":
        return Mutation(start, over, other + text[end:after] + one)
    return Mutation(start, end, "" if kind == "lose" else f"{one} {one}")
