"""The tokens of one function after macro expansion, each with its place in the source."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from typing_extensions import assert_never

from polylsp.core.query import query
from polylsp.core.text import Span
from polylsp.frontends.c.gnu_extensions import VECTORS, attributes_in, plain_c
from polylsp.frontends.c.macro_expansion import Overflow, Uses, expand_uses
from polylsp.frontends.c.macros import Macro, closure
from polylsp.frontends.c.preprocessor_lines import Condition, follow, script
from polylsp.frontends.c.tokens import normalise, tokenize, words

if TYPE_CHECKING:
    from collections.abc import Mapping

    from polylsp.ir.program import RejectionCode


@dataclass(frozen=True, slots=True)
class Pragma:
    """A `#pragma` or `_Pragma` inside a function: it stands before token `token` of the expanded text; `text`
    is that after the word `pragma`; `span` is relative to the function's start."""

    token: int
    text: str
    span: Span


@dataclass(frozen=True, slots=True)
class Expanded:
    """The tokens of a function in plain C. Spans are relative to the start of the text; tokens
    out of a macro have the span of the outermost use, its arguments included."""

    texts: tuple[str, ...]
    starts: tuple[int, ...]
    ends: tuple[int, ...]
    pragmas: tuple[Pragma, ...]


@dataclass(frozen=True, slots=True)
class Unexpandable:
    """Reason why the text of a function could not be turned into tokens, and its place (relative)."""

    code: RejectionCode
    span: Span
    message: str
    advice: str = ""


def identifiers(text: str) -> frozenset[str]:
    """Every word in a text: all that can name a macro or a declaration."""
    return words(text)


def used_macros(text: str, macros: Mapping[str, Macro]) -> tuple[Macro, ...]:
    """The macros that can take part in expanding `text`, in the order of their names."""
    return closure(identifiers(text), macros)


@query()
def expand(text: str, macros: tuple[Macro, ...]) -> Expanded | Unexpandable:
    """Expand the text of one function with the macros it uses (see `used_macros`)."""
    plain = normalise(text)
    tokens = tokenize(plain)
    if tokens.unterminated >= 0:
        return Unexpandable(
            "syntax-error",
            Span(tokens.unterminated, tokens.unterminated + 2),
            "This comment is never closed.",
            "close it with `*/`",
        )
    table = {known.name: known for known in macros}
    if any(text[0] == "#" and not text.startswith("#pragma") for text in tokens.texts if len(text) > 2):
        uses = _active(plain, table)
    else:
        uses = expand_uses(tokens.texts, tokens.starts, tokens.ends, table)
    match uses:
        case Overflow():
            return too_much(uses)
        case Unexpandable():
            return uses
        case Uses():
            return _cleaned(uses.texts, uses.starts, uses.ends)
        case _:
            assert_never(uses)


def too_much(overflow: Overflow) -> Unexpandable:
    """The finding for macros that expand without end."""
    return Unexpandable(
        "budget",
        Span(overflow.start, overflow.end),
        f"The macro `{overflow.name}` expands to far too much code to be analysed.",
        "write out what it stands for, or make it shorter",
    )


def _cleaned(texts: list[str], starts: list[int], ends: list[int]) -> Expanded | Unexpandable:
    if not VECTORS.isdisjoint(attributes_in(texts)):
        at = next(k for k, text in enumerate(texts) if text.strip("_") in VECTORS)
        message = f"`{texts[at]}` makes a type that is not analysed; give it a name outside of functions."
        return Unexpandable("unsupported-type", Span(starts[at], ends[at]), message)
    plain = plain_c(texts, starts, ends)
    if isinstance(plain, tuple):
        message, start, end = plain
        return Unexpandable("unsupported-statement", Span(start, end), message)
    pragmas = tuple(Pragma(token, text, Span(start, end)) for token, text, start, end in plain.pragmas)
    return Expanded(tuple(plain.texts), tuple(plain.starts), tuple(plain.ends), pragmas)


def _active(text: str, table: dict[str, Macro]) -> Uses | Overflow | Unexpandable:
    """The expanded tokens of a text that has directives: of the parts that they leave in."""
    parts = script(text).parts
    out = Uses()
    failures: list[Overflow | Unexpandable] = []

    def perform(k: int) -> None:
        step = parts[k]
        if failures or isinstance(step, Condition):
            return
        match step.kind:
            case "text" if step.tokens is not None:
                starts = tuple(step.start + start for start in step.tokens.starts)
                ends = tuple(step.start + end for end in step.tokens.ends)
                uses = expand_uses(step.tokens.texts, starts, ends, table)
                if isinstance(uses, Overflow):
                    failures.append(uses)
                    return
                out.texts += uses.texts
                out.starts += uses.starts
                out.ends += uses.ends
            case "define" if step.macro is not None:
                table[step.macro.name] = step.macro
            case "undef":
                table.pop(step.argument, None)
            case "include":
                failures.append(
                    Unexpandable(
                        "unsupported-statement",
                        Span(step.start, step.end),
                        f"Code that `#include {step.argument}` puts into a function is not analysed.",
                        "move the code into the function, or into a function of its own",
                    )
                )
            case "error":
                failures.append(
                    Unexpandable("syntax-error", Span(step.start, step.end), f"`#error`: {step.argument}")
                )
            case _:
                pass

    misplaced = follow(parts, table, perform)
    if failures:
        return failures[0]
    if misplaced:
        part = parts[misplaced[0].index]
        return Unexpandable("syntax-error", Span(part.start, part.end), misplaced[0].message)
    return out
