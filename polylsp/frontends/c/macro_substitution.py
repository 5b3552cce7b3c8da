"""The body of a macro with its arguments put in (C11 6.10.3.1 to 6.10.3.3)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from polylsp.frontends.c.macros import Macro
from polylsp.frontends.c.tokens import tokenize

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
