"""Preprocessor lines of a text: the active ones, and their effects, in order.

pcpp follows the conditionals and evaluates their expressions. It sees those lines alone; all text between two
of them is one marker, so its cost does not grow with the code.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from pcpp import OutputDirective, Preprocessor
from pcpp.preprocessor import Action as Handling

from polylsp.frontends.c.macro_expansion import Overflow, expand_texts
from polylsp.frontends.c.macros import Macro, macro
from polylsp.frontends.c.tokens import Tokens, directive_lines, directive_text, tokenize

StepKind = Literal["text", "define", "undef", "include", "error", "once", "malformed"]

_PARTS = re.compile(r"#\s*([A-Za-z_]*)\s*(.*)", re.DOTALL)
_CONDITIONAL = {"if", "ifdef", "ifndef", "elif", "elifdef", "elifndef", "else", "endif"}
_NAME = re.compile(r"[A-Za-z_]\w*")
_MARKER = "polylsp"


@dataclass(frozen=True, slots=True)
class Step:
    """A preprocessing step at `[start, end)` of a text if that place is active: text to expand (`tokens`), a
    definition (`macro`), or a directive with the text after its name (`argument`)."""

    kind: StepKind
    start: int
    end: int
    argument: str = ""
    macro: Macro | None = None
    tokens: Tokens | None = None


@dataclass(frozen=True, slots=True)
class Condition:
    """A conditional line, spelled so that pcpp can follow it."""

    line: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Script:
    """A text as steps and conditions in order."""

    parts: tuple[Step | Condition, ...]

    @property
    def conditional(self) -> bool:
        """True if any part depends on a condition."""
        return any(isinstance(part, Condition) for part in self.parts)


@dataclass(frozen=True, slots=True)
class Misplaced:
    """A conditional that does not fit: never ended, or without its `#if`; `index` of its part."""

    index: int
    message: str


@lru_cache(maxsize=16384)
def script(text: str) -> Script:
    """The steps of a normalised text. `#pragma` lines stay in the text, as tokens."""
    parts: list[Step | Condition] = []
    at = 0
    for start, end in directive_lines(text):
        line = directive_text(text[start:end])
        match = _PARTS.match(line)
        word, rest = (match.group(1), match.group(2).strip()) if match else ("", "")
        if word == "pragma" and rest != "once":
            continue
        _add_text(text, at, start, parts)
        at = end
        if word in _CONDITIONAL:
            parts.append(Condition(_spelled(word, rest), start, end))
        else:
            step = _step(word, rest, start, end)
            if step is not None:
                parts.append(step)
    _add_text(text, at, len(text), parts)
    return Script(tuple(parts))


def follow(
    parts: Sequence[Step | Condition], macros: dict[str, Macro], perform: Callable[[int], None]
) -> tuple[Misplaced, ...]:
    """Call `perform(k)` for every active step `parts[k]` in order; `perform` may change `macros`."""
    conditions = [k for k, part in enumerate(parts) if isinstance(part, Condition)]
    if not conditions:
        for k in range(len(parts)):
            perform(k)
        return ()
    lines: list[str] = []
    owners: list[int] = []
    at = 0
    for k in [*conditions, len(parts)]:
        if k > at:
            lines.append(f"#{_MARKER} {at} {k}")
            owners.append(at)
        if k < len(parts):
            part = parts[k]
            assert isinstance(part, Condition)
            lines.append(part.line)
            owners.append(k)
        at = k + 1
    engine = _Conditionals(macros, perform)
    engine.run("\n".join(lines) + "\n")
    return tuple(
        Misplaced(owners[line - 1], message) for line, message in engine.errors if 0 < line <= len(owners)
    )


def included_name(argument: str, macros: dict[str, Macro]) -> tuple[str, bool] | None:
    """The file an `#include` names, and whether in angle brackets; `None` if it names none."""
    if argument[:1] not in '<"':
        expanded = expand_texts(tokenize(argument, directives=False).texts, macros)
        if isinstance(expanded, Overflow):
            return None
        argument = "".join(expanded)
    close = argument.find(">" if argument[:1] == "<" else '"', 1)
    if argument[:1] not in ("<", '"') or close < 2:
        return None
    return argument[1:close], argument[0] == "<"


def _add_text(text: str, start: int, end: int, parts: list[Step | Condition]) -> None:
    chunk = text[start:end]
    if not chunk or chunk.isspace():
        return
    tokens = tokenize(chunk)
    if tokens.texts or tokens.unterminated >= 0:
        parts.append(Step("text", start, end, tokens=tokens))


def _step(word: str, rest: str, start: int, end: int) -> Step | None:
    match word:
        case "define":
            known = macro(rest)
            if known is None:
                return Step("malformed", start, end, "This `#define` names no macro.")
            return Step("define", start, end, known.name, known)
        case "undef":
            return Step("undef", start, end, rest)
        case "include" | "include_next" | "import":
            return Step("include", start, end, rest)
        case "error":
            return Step("error", start, end, rest)
        case "pragma":
            return Step("once", start, end)
        case _:
            return None


def _spelled(word: str, rest: str) -> str:
    """A conditional as pcpp wants it: with an argument, in ASCII, of the kinds it knows."""
    name = _NAME.match(rest)
    match word:
        case "ifdef" | "ifndef":
            return f"#{word} {name.group()}" if name else f"#if {int(word == 'ifndef')}"
        case "elifdef" | "elifndef":
            return f"#elif {'!' if word == 'elifndef' else ''}defined({name.group()})" if name else "#elif 0"
        case "if" | "elif":
            rest = rest.encode("ascii", "replace").decode().replace("\n", " ")
            return f"#{word} {rest}" if rest else f"#{word} 0"
        case _:
            return f"#{word}"


class _Conditionals(Preprocessor):
    """pcpp reduced to the following of conditionals."""

    def __init__(self, macros: dict[str, Macro], perform: Callable[[int], None]) -> None:
        super().__init__()
        self.macros: Any = macros
        self.expand_filemacro = False
        self.auto_pragma_once_enabled = False
        self.rewrite_paths: list[Any] = []
        self.errors: list[tuple[int, str]] = []
        self._perform = perform

    def define(self, tokens: Any) -> None:
        """Nothing: macros are defined by steps."""

    def run(self, lines: str) -> None:
        for _ in self.parsegen(lines, "", ""):
            pass

    def expand_macros(self, tokens: Any, expanding_from: Any = None) -> Any:
        """Expand the expression of an `#if`."""
        texts = tuple(token.value if isinstance(token.value, str) else str(token.value) for token in tokens)
        if self.macros.keys().isdisjoint(texts):
            return tokens
        expanded = expand_texts(tokenize("".join(texts), directives=False).texts, self.macros)
        if isinstance(expanded, Overflow):
            return self.tokenize("0")
        return self.tokenize(" ".join(expanded))

    def on_directive_unknown(self, directive: Any, toks: Any, ifpassthru: Any, precedingtoks: Any) -> Any:
        """Perform the active steps that a marker stands for."""
        if directive.value == _MARKER:
            first, last = (int(token.value) for token in toks if token.value.strip())
            for k in range(first, last):
                self._perform(k)
        raise OutputDirective(Handling.IgnoreAndRemove)

    def on_error(self, file: Any, line: int, msg: str) -> None:
        """Record errors of nesting; an expression that cannot be evaluated counts as 0."""
        if msg.startswith("Unterminated"):
            self.errors.append((line, "This conditional has no `#endif`."))
        elif msg.startswith("Misplaced"):
            self.errors.append((line, "This conditional has no `#if`."))
