"""Expansion of macros in a text (Dave Prosser's algorithm, with hide sets)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import accumulate

from polylsp.frontends.c.macro_substitution import NOTHING, Token, substituted
from polylsp.frontends.c.macros import Macro

_TOKEN_LIMIT = 100_000
_DEPTH_LIMIT = 60


@dataclass(frozen=True, slots=True)
class Overflow:
    """Macros expand to more text than is sensible; `name` is the macro at whose use it happened."""

    name: str
    start: int
    end: int


@dataclass(slots=True)
class Uses:
    """Expanded text, token by token, with the source span of each."""

    texts: list[str] = field(default_factory=list[str])
    starts: list[int] = field(default_factory=list[int])
    ends: list[int] = field(default_factory=list[int])


class _Exceeded(Exception):
    """The token limit was passed; never leaves this module."""


def expand_uses(
    texts: tuple[str, ...], starts: tuple[int, ...], ends: tuple[int, ...], macros: Mapping[str, Macro]
) -> Uses | Overflow:
    """Replace every macro use; tokens of an expansion have the span of the whole outermost use."""
    out = Uses()
    run = _Run(macros, texts, starts, ends)
    k, count = 0, len(texts)
    while k < count:
        text = texts[k]
        known = macros.get(text)
        if known is None or (known.parameters is not None and (k + 1 >= count or texts[k + 1] != "(")):
            out.texts.append(text)
            out.starts.append(starts[k])
            out.ends.append(ends[k])
            k += 1
            continue
        run.position = k + 1
        before = len(out.texts)
        try:
            run.exhaust([(text, False, NOTHING)], out.texts, 0)
        except _Exceeded:
            return Overflow(text, starts[k], ends[k])
        produced = len(out.texts) - before
        out.starts.extend([starts[k]] * produced)
        out.ends.extend([ends[run.position - 1]] * produced)
        k = run.position
    return out


def expand_texts(texts: tuple[str, ...], macros: Mapping[str, Macro]) -> list[str] | Overflow:
    """Replace every macro use in a list of tokens."""
    if macros.keys().isdisjoint(texts):
        return list(texts)
    nowhere = (0,) * len(texts)
    out = expand_uses(texts, nowhere, nowhere, macros)
    return out if isinstance(out, Overflow) else out.texts


class _Run:
    """State of one expansion: the source tokens that function-like macros may still take in."""

    __slots__ = ("_levels", "_lowest", "ends", "macros", "position", "source", "starts", "steps")

    def __init__(
        self,
        macros: Mapping[str, Macro],
        source: tuple[str, ...],
        starts: tuple[int, ...],
        ends: tuple[int, ...],
    ) -> None:
        self.starts = starts
        self.ends = ends
        self.macros = macros
        self.source = source
        self.position = 0
        self.steps = 0
        self._levels: list[int] | None = None
        self._lowest: list[int] = []

    def exhaust(self, pending: list[Token], out: list[str], depth: int) -> None:
        """Expand `pending` (last token first) until nothing of it is left."""
        for text, _, _ in self.expanded(pending, depth, closed=False):
            out.append(text)

    def spend(self, steps: int) -> None:
        """Count work, and end it where it is too much."""
        self.steps += steps
        if self.steps > _TOKEN_LIMIT:
            raise _Exceeded

    def expanded(self, pending: list[Token], depth: int, closed: bool) -> list[Token]:
        """`pending` (last token first) expanded; if it is `closed`, no more of the source is taken in."""
        out: list[Token] = []
        if depth > _DEPTH_LIMIT:
            raise _Exceeded
        macros = self.macros
        while pending:
            token = pending.pop()
            text, space, hide = token
            known = macros.get(text)
            if known is None or text in hide:
                out.append(token)
                continue
            arguments: list[list[Token]] = []
            if known.parameters is not None:
                taken = self._arguments(pending, closed)
                if taken is None:
                    out.append(token)
                    continue
                arguments, closing = taken
                hide = hide & closing
            result = substituted(self, known, arguments, hide | {text}, depth)
            self.spend(len(result) + 1 + len(hide) // 64)
            if result:
                result[0] = (result[0][0], space, result[0][2])
            result.reverse()
            pending += result
        return out

    def _arguments(
        self, pending: list[Token], closed: bool
    ) -> tuple[list[list[Token]], frozenset[str]] | None:
        """The arguments that follow, taken off the input; `None`, nothing taken, if there are none."""
        read: list[Token] = []
        position = self.position
        arguments: list[list[Token]] = [[]]
        depth = 0
        while True:
            if pending:
                token = pending.pop()
                read.append(token)
            elif not closed and self.position < len(self.source) and self._closes(depth):
                at = self.position
                token = (self.source[at], self.starts[at] > self.ends[at - 1], NOTHING)
                self.position += 1
            else:
                break
            text = token[0]
            if depth == 0:
                if text != "(":
                    break
                depth = 1
                continue
            if text == ")":
                depth -= 1
                if depth == 0:
                    return arguments, token[2]
            elif text == "(":
                depth += 1
            elif text == "," and depth == 1:
                arguments.append([])
                continue
            if text[0] != "#" or len(text) < 3:  # directives inside an argument list are dropped
                arguments[-1].append(token)
        if len(read) > 1:
            self.spend(len(read))
        read.reverse()
        pending += read
        self.position = position
        return None

    def _closes(self, depth: int) -> bool:
        """True if the source from here on closes `depth` parentheses, or the one that it begins with."""
        if depth == 0 and self.source[self.position] != "(":
            return False
        if self._levels is None:
            self._levels, self._lowest = _parentheses(self.source)
        at = self.position + (depth == 0)
        return self._lowest[at] <= self._levels[at] - max(1, depth)


def _parentheses(texts: tuple[str, ...]) -> tuple[list[int], list[int]]:
    """Numbers of parentheses open before each token and at the end, and their minima from there on."""
    levels = list(accumulate(((text == "(") - (text == ")") for text in texts), initial=0))
    return levels, list(accumulate(reversed(levels), min))[::-1]
