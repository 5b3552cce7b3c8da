"""Macro expansion by Dave Prosser's algorithm with hide sets (C11 6.10.3).

Each token of an expansion carries the source span of the outermost macro use. Expansions beyond a
sensible size raise `Overflow`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Protocol

from polylsp.frontends.c.macros import Macro, names_any
from polylsp.frontends.c.tokens import tokenize

# --------------------------------------------------------------------------------------------------
# The body of a macro with its arguments put in (C11 6.10.3.1 to 6.10.3.3).
# --------------------------------------------------------------------------------------------------


NOTHING: frozenset[str] = frozenset()

Token = tuple[str, bool, frozenset[str]]
"""Text, whether white space stands before it, and the macros that must not expand it again."""


class Run(Protocol):
    """The expansion at hand."""

    def expanded(self, pending: list[Token], depth: int, closed: bool) -> list[Token]:
        """`pending` (last token first) expanded; if it is `closed`, no more of the source is taken in."""
        ...

    def spend(self, steps: int) -> None:
        """Count work, and end it where it is too much."""
        ...


def substituted(
    run: Run, known: Macro, arguments: list[list[Token]], hide: frozenset[str], depth: int
) -> list[Token]:
    """The body of a macro with its arguments put in (C11 6.10.3.1 to 6.10.3.3)."""
    body, spaces = known.body, known.spaces
    bound = _bind(known, arguments)
    if not bound and "##" not in body:
        return [(text, space, hide) for text, space in zip(body, spaces, strict=True)]
    last = known.parameters[-1] if known.parameters and known.variadic else None
    out: list[Token] = []
    expanded: dict[str, list[Token]] = {}
    k, count = 0, len(body)
    while k < count:
        text, space = body[k], spaces[k]
        after = body[k + 1] if k + 1 < count else ""
        if text == "#" and after in bound:
            out.append((_stringified(bound[after]), space, NOTHING))
            k += 2
        elif text == "##" and out and after:
            _paste_next(run, body, k + 1, bound, last, out, depth)
            k += 3 if after == "#" and k + 2 < count and body[k + 2] in bound else 2
        elif text == "__VA_OPT__" and last is not None and after == "(":
            close = _closing(body, k + 1)
            if bound[last]:
                inner = Macro(known.name, known.parameters, True, body[k + 2 : close], spaces[k + 2 : close])
                out += substituted(run, inner, arguments, NOTHING, depth)
            k = close + 1
        elif text in bound:
            argument = bound[text]
            if after != "##":
                if text not in expanded:
                    expanded[text] = run.expanded(argument[::-1], depth + 1, closed=True)
                argument = expanded[text]
                run.spend(len(argument))
            elif not argument:
                argument = [("", space, NOTHING)]
            if argument:
                out.append((argument[0][0], space, argument[0][2]))
                out += argument[1:]
            k += 1
        else:
            out.append((text, space, NOTHING))
            k += 1
    return [(text, space, hide | own if own else hide) for text, space, own in out if text]


def _paste_next(
    run: Run,
    body: tuple[str, ...],
    k: int,
    bound: Mapping[str, list[Token]],
    last: str | None,
    out: list[Token],
    depth: int,
) -> None:
    """Join the operand of `##` at `body[k]` to the last token of `out`."""
    text = body[k]
    if text == "#" and k + 1 < len(body) and body[k + 1] in bound:
        operand: list[Token] = [(_stringified(bound[body[k + 1]]), False, NOTHING)]
    elif text in bound:
        operand = bound[text]
        if text == last and out[-1][0] == ",":  # GNU: `, ## __VA_ARGS__` drops the comma
            if operand:
                out += run.expanded(operand[::-1], depth + 1, closed=True)
            else:
                out.pop()
            return
    else:
        operand = [(text, False, NOTHING)]
    if not operand:
        return
    left = out.pop()
    joined = tokenize(left[0] + operand[0][0], directives=False).texts
    hide = left[2] | operand[0][2]
    run.spend(len(left[0]) // 32)
    out += [(piece, left[1] and n == 0, hide) for n, piece in enumerate(joined)]
    out += operand[1:]


def _bind(known: Macro, arguments: list[list[Token]]) -> dict[str, list[Token]]:
    parameters = known.parameters or ()
    if known.variadic and len(arguments) > len(parameters):
        rest = list(arguments[len(parameters) - 1])
        for argument in arguments[len(parameters) :]:
            rest.append((",", False, NOTHING))
            rest += argument
        arguments = [*arguments[: len(parameters) - 1], rest]
    return {name: arguments[k] if k < len(arguments) else [] for k, name in enumerate(parameters)}


def _stringified(argument: list[Token]) -> str:
    pieces: list[str] = []
    for k, (text, space, _) in enumerate(argument):
        if k and space:
            pieces.append(" ")
        quoted = text[-1] in "\"'" and len(text) > 1
        pieces.append(text.replace("\\", "\\\\").replace('"', '\\"') if quoted else text)
    return '"' + "".join(pieces) + '"'


def _closing(body: tuple[str, ...], k: int) -> int:
    depth = 0
    for n in range(k, len(body)):
        depth += (body[n] == "(") - (body[n] == ")")
        if depth == 0:
            return n
    return len(body)


# --------------------------------------------------------------------------------------------------
# Expansion of macros in a text (Dave Prosser's algorithm, with hide sets).
# --------------------------------------------------------------------------------------------------


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
    if not names_any(texts, macros):
        return Uses(list(texts), list(starts), list(ends))
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
    if not names_any(texts, macros):
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
