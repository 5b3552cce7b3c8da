"""Preprocessor lines of a text: the active ones, and their effects, in order.

Most conditions test whether macros are defined; pcpp evaluates the others.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, Union

from pcpp import Preprocessor, evaluator
from pcpp.preprocessor import trigraph

from polylsp.frontends.c.macro_expansion import Overflow, expand_texts
from polylsp.frontends.c.macros import Macro, macro
from polylsp.frontends.c.tokens import Tokens, directive_lines, directive_text, tokenize

StepKind = Literal["text", "define", "undef", "include", "error", "once", "malformed"]

_PARTS = re.compile(r"#\s*([A-Za-z_]*)\s*(.*)", re.DOTALL)
_CONDITIONAL = {"if", "ifdef", "ifndef", "elif", "elifdef", "elifndef", "else", "endif"}
_NAME = re.compile(r"[A-Za-z_]\w*")


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
    """A conditional line: its `word` (`if`, `ifdef`, `ifndef`, `elif`, `else`, `endif`), and the expression
    or name after it."""

    word: str
    argument: str
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
            parts.append(_condition(word, rest, start, end))
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
    misplaced: list[Misplaced] = []
    # Of each open conditional: its part, whether text around it is active, and whether a branch of that was
    # taken.
    opened: list[tuple[int, bool, bool]] = []
    active, taken = True, False
    for k, part in enumerate(parts):
        if isinstance(part, Step):
            if active:
                perform(k)
            continue
        word, argument = part.word, part.argument
        if word in ("if", "ifdef", "ifndef"):
            opened.append((k, active, taken))
            if active:
                active = taken = _holds(word, argument, macros)
        elif not opened:
            misplaced.append(Misplaced(k, "This conditional has no `#if`."))
        elif word == "endif":
            _, active, taken = opened.pop()
        elif opened[-1][1]:
            if active:
                active = False
            elif not taken:
                active = taken = word == "else" or _holds("if", argument, macros)
    misplaced += [Misplaced(k, "This conditional has no `#endif`.") for k, _, _ in opened]
    return tuple(misplaced)


def _holds(word: str, argument: str, macros: dict[str, Macro]) -> bool:
    """The value of a condition; that of an expression which cannot be evaluated is 0."""
    if word != "if":
        return (argument in macros) == (word == "ifdef")
    test = _plain_test(argument)
    return _satisfied(test, macros) if test is not None else _expressions().holds(argument, macros)


_Test = Union[bool, str, tuple[str, "_Test", "_Test"]]
"""An expression of tests for macros: a constant, the name of a macro that has to be defined, or an operator
(`!`, `&&`, `||`) with its operands, of which `!` has one twice."""

_TEST = re.compile(r"\s*(defined\b|[A-Za-z_]\w*|0|[1-9]\d*|&&|\|\||[!()]|\Z)")

_MOST_WORDS = 300  # of a test, whose operators are followed by recursion


@lru_cache(maxsize=4096)
def _plain_test(argument: str) -> _Test | None:
    """An expression as one of tests for macros; `None` if it has other operands."""
    words: list[str] = []
    at = 0
    while not words or words[-1]:
        found = _TEST.match(argument, at) if len(words) < _MOST_WORDS else None
        if found is None or (found.start(1) == at and words and words[-1].isalnum() and found[1].isalnum()):
            return None
        words.append(found[1])
        at = found.end()
    try:
        test, at = _joined(words, 0, _JOINING)
    except (ValueError, RecursionError):
        return None
    return None if words[at] else test


_JOINING = ("||", "&&")
"""The operators between tests, from the one that binds least."""


def _joined(words: list[str], at: int, operators: Sequence[str]) -> tuple[_Test, int]:
    """The tests between operators from one word on, and the number of the word after them."""
    if not operators:
        return _one_test(words, at)
    operator, *tighter = operators
    test, at = _joined(words, at, tighter)
    while words[at] == operator:
        other, at = _joined(words, at + 1, tighter)
        test = (operator, test, other)
    return test, at


def _one_test(words: list[str], at: int) -> tuple[_Test, int]:
    match words[at]:
        case "!":
            test, at = _one_test(words, at + 1)
            return ("!", test, test), at
        case "(":
            test, at = _joined(words, at + 1, _JOINING)
            if words[at] != ")":
                raise ValueError
            return test, at + 1
        case "defined":
            enclosed = words[at + 1] == "("
            name = words[at + 1 + enclosed]
            if not name or not (name[0].isalpha() or name[0] == "_") or name == "defined":
                raise ValueError
            if enclosed and words[at + 3] != ")":
                raise ValueError
            return name, at + 2 + 2 * enclosed
        case word if word.isdigit():
            return word != "0", at + 1
        case _:
            raise ValueError


def _satisfied(test: _Test, macros: dict[str, Macro]) -> bool:
    match test:
        case bool():
            return test
        case str():
            return test in macros
        case ("!", operand, _):
            return not _satisfied(operand, macros)
        case ("&&", left, right):
            return _satisfied(left, macros) and _satisfied(right, macros)
        case (_, left, right):
            return _satisfied(left, macros) or _satisfied(right, macros)


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


def _condition(word: str, rest: str, start: int, end: int) -> Condition:
    """A conditional line, `#elifdef` as `#elif`; an argument that is missing or malformed is 0."""
    name = _NAME.match(rest)
    match word:
        case "ifdef" | "ifndef" if name:
            return Condition(word, name.group(), start, end)
        case "ifdef" | "ifndef":
            return Condition("if", str(int(word == "ifndef")), start, end)
        case "elifdef" | "elifndef":
            test = f"{'!' if word == 'elifndef' else ''}defined({name.group()})" if name else "0"
            return Condition("elif", test, start, end)
        case "if" | "elif":
            rest = rest.encode("ascii", "replace").decode().replace("\n", " ")
            return Condition(word, trigraph(rest) or "0", start, end)
        case _:
            return Condition(word, "", start, end)


_NUMBER = re.compile(r"(0[xX][\da-fA-F]+|\d+)[uUlL]*")
_ARITHMETIC = frozenset(("+", "-", "*", "/", "%", "<<", ">>", "&", "|", "^", "~", "(", ")"))


def whole_number(words: Sequence[str]) -> int | None:
    """The whole number that the expansion of a macro means beside any operator: a number, a product, or a
    computation in parentheses. `None` where it is anything else, or depends on more than macros."""
    depth = 0
    for k, word in enumerate(words):
        is_number = _NUMBER.fullmatch(word) is not None
        depth += (word == "(") - (word == ")")
        apart = depth == 0 and k > 0 and word not in (")", "*")
        if not is_number and (apart or word not in _ARITHMETIC):
            return None
    return _expressions().number(" ".join(words))


@lru_cache(maxsize=1)
def _expressions() -> _Expressions:
    # pcpp rounds quotients towards zero, but those behind remainders down.
    setattr(evaluator.Value, "__mod__", _remainder)  # noqa: B010
    return _Expressions()


_remainder_of_pcpp: Any = evaluator.Value.__mod__


def _remainder(left: Any, right: Any) -> Any:
    """The remainder with the sign of the dividend (C11, 6.5.5)."""
    right = evaluator.Value(right)
    values = (left, right)
    if int(right) == 0 or any(v.exception is not None or v.unsigned for v in values):
        return _remainder_of_pcpp(left, right)
    size = abs(int(left)) % abs(int(right))
    return evaluator.Value(-size if int(left) < 0 else size)


class _Expressions(Preprocessor):
    """pcpp reduced to the evaluation of the expressions of conditionals."""

    def __init__(self) -> None:
        super().__init__()
        self.macros: Any = {}
        self.failed = False

    def define(self, tokens: Any) -> None:
        """Nothing: macros are defined by steps."""

    def holds(self, expression: str, macros: dict[str, Macro]) -> bool:
        """The value of an expression; 0 where it cannot be evaluated."""
        self.macros = macros
        value, _ = self.evalexpr(self.tokenstrip(self.tokenize(expression)))
        return bool(value)

    def number(self, expression: str) -> int | None:
        """The value of an expression without names; `None` where it has none."""
        self.macros, self.failed = {}, False
        value, _ = self.evalexpr(self.tokenstrip(self.tokenize(expression)))
        return None if self.failed else int(value)

    def expand_macros(self, tokens: Any, expanding_from: Any = None) -> Any:
        """Expand the expression of an `#if`."""
        texts = tuple(token.value if isinstance(token.value, str) else str(token.value) for token in tokens)
        if self.macros.keys().isdisjoint(texts):
            return tokens
        expanded = expand_texts(tokenize("".join(texts), directives=False).texts, self.macros)
        if isinstance(expanded, Overflow):
            return self.tokenize("0")
        return self.tokenize(" ".join(expanded))

    def on_error(self, file: Any, line: int, msg: str) -> None:
        """An expression that cannot be evaluated counts as 0."""
        self.failed = True
