"""Reduction of GNU extensions and later C to the C that pycparser reads, token by token.

Pragmas are taken out with their spans. A statement expression that only names values becomes one
expression. A construct that cannot be expressed gives its message and span.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from itertools import pairwise

from polylsp.frontends.c.declared_attributes import are_harmless, attributes_at, obstacle_in, statement_start

_TYPES = frozenset(("char", "short", "int", "long", "float", "double", "signed", "unsigned", "_Bool"))
_OF_VALUE = frozenset(("typeof", "__typeof__", "__typeof", "typeof_unqual"))
_AUTO = frozenset(("__auto_type",))
_WRITES = frozenset("= ++ -- += -= *= /= %= <<= >>= &= |= ^= { } &".split())  # noqa: SIM905
_LIKE_CALLS = frozenset(("sizeof", *_OF_VALUE))
_LONGEST = 400  # tokens: nested ones double with each level


def named_values(texts: list[str]) -> list[str] | None:
    """The expression that a block `{ T x = a; U y = b; value; }` is worth. `None` where it does more than
    name values (calls, effects, addresses), or where a name's type may not be that of its value."""
    if texts[:1] != ["{"] or texts[-2:] != [";", "}"] or len(texts) > _LONGEST:
        return None
    inner = _without_blocks(texts[1:-2])
    if inner is None:
        return None
    *declared, last = _statements(inner)
    values: dict[str, list[str]] = {}
    for statement in declared:
        named = _named(statement, values)
        if named is None:
            return None
        values[named[0]] = named[1]
    found = _substituted(last, values)
    return None if found is None or not last or len(found) > _LONGEST else ["(", *found, ")"]


def _without_blocks(texts: list[str]) -> list[str] | None:
    """The tokens with the statement expressions among them written as expressions."""
    found: list[str] = []
    k = 0
    while k < len(texts):
        if texts[k] == "(" and texts[k + 1 : k + 2] == ["{"]:
            close = _closing(texts, k)
            value = named_values(texts[k + 1 : close])
            if value is None:
                return None
            found += value
            k = close + 1
        else:
            found.append(texts[k])
            k += 1
    return found


def _closing(texts: list[str], opening: int) -> int:
    depth = 0
    for k in range(opening, len(texts)):
        depth += (texts[k] in ("(", "{", "[")) - (texts[k] in (")", "}", "]"))
        if depth == 0:
            return k
    return len(texts)


def _statements(texts: list[str]) -> list[list[str]]:
    found: list[list[str]] = [[]]
    for text in texts:
        if text == ";":
            found.append([])
        else:
            found[-1].append(text)
    return found


def _named(statement: list[str], values: dict[str, list[str]]) -> tuple[str, list[str]] | None:
    """The name that a declaration introduces, and its value in the type of the name."""
    tokens = statement[1:] if statement[:1] == ["const"] else statement
    if "=" not in tokens[:_LONGEST]:
        return None
    equal = tokens.index("=")
    type, name, given = tokens[: equal - 1], tokens[equal - 1], tokens[equal + 1 :]
    value = _substituted(given, values)
    if not given or value is None or not (name[0].isalpha() or name[0] == "_") or name in values:
        return None
    if type and all(word in _TYPES for word in type):
        return name, ["(", "(", *type, ")", "(", *value, ")", ")"]
    if type and type[0] in _AUTO and len(type) == 1:
        return name, ["(", *value, ")"]
    of_value = len(type) > 3 and type[0] in _OF_VALUE and _bare(type[1:]) == _bare(given)
    return (name, ["(", *value, ")"]) if of_value else None


def _bare(texts: list[str]) -> list[str]:
    """An expression without parentheses around all of it."""
    while texts[:1] == ["("] and _closing(texts, 0) == len(texts) - 1:
        texts = texts[1:-1]
    return texts


def _substituted(texts: list[str], values: dict[str, list[str]]) -> list[str] | None:
    """An expression with values in the place of names; `None` where it may have effects, or declares."""
    found: list[str] = []
    for k, text in enumerate(texts):
        word = text[0].isalpha() or text[0] == "_"
        if text in _WRITES or text[0] == "#" or "," in text:
            return None
        if word and texts[k + 1 : k + 2] == ["("] and text not in _LIKE_CALLS:
            return None
        if word and k and texts[k - 1] in (".", "->"):
            found.append(text)
        elif text in values:
            found += values[text]
        elif word and k and (texts[k - 1][0].isalpha() or texts[k - 1][0] == "_"):
            return None
        else:
            found.append(text)
    return found


# --------------------------------------------------------------------------------------------------
# GNU and later spellings brought down to the C that pycparser reads, token by token.
# --------------------------------------------------------------------------------------------------


_RENAMED = {
    "__inline": "inline", "__inline__": "inline", "__forceinline": "inline",
    "__restrict": "restrict", "__restrict__": "restrict",
    "__const": "const", "__const__": "const",
    "__volatile": "volatile", "__volatile__": "volatile",
    "__signed": "signed", "__signed__": "signed",
    "__complex__": "_Complex", "__complex": "_Complex",
    "__alignof__": "_Alignof", "__alignof": "_Alignof", "alignof": "_Alignof",
    "_Float32": "float", "_Float64": "double", "_Float32x": "double",
    "__auto_type": "__polylsp_typeof",
    "__assume": "__builtin_assume", "__thread": "_Thread_local", "thread_local": "_Thread_local",
    "constexpr": "const",
    "__func__": '""', "__FUNCTION__": '""', "__PRETTY_FUNCTION__": '""',
}  # fmt: skip
_DROPPED = {
    "__extension__", "_Noreturn", "__noreturn",
    "__cdecl", "__stdcall", "__fastcall", "__vectorcall", "__pascal",
}  # fmt: skip
_DROPPED_WITH_ARGUMENTS = {"__attribute__", "__attribute", "__declspec", "_Alignas", "alignas"}
_LONG_DOUBLES = {"_Float128", "__float128", "_Float64x", "__float80"}
_ASM = {"asm", "__asm__", "__asm"}
_TYPEOF = {"typeof", "__typeof__", "__typeof", "typeof_unqual"}
_STATIC_ASSERT = {"_Static_assert", "static_assert"}
_FIRST_ARGUMENT = {"__builtin_expect", "__builtin_expect_with_probability", "__builtin_assume_aligned"}
_NO_OPERATION = {"__builtin_prefetch"}
_TYPE_WORDS = {
    "void", "char", "short", "int", "long", "float", "double", "signed", "unsigned", "_Bool", "_Complex",
    "const", "volatile", "struct", "union", "enum", "*", "__int128",
}  # fmt: skip
_LIBRARY = re.compile(
    r"(?:(?:f?abs|l?labs|sqrt|cbrt|sin|cos|tan|asin|acos|atan2?|sinh|cosh|tanh|exp2?|expm1|log|log2|log10"
    r"|log1p|pow|floor|ceil|trunc|round|rint|nearbyint|fma|fmin|fmax|fmod|hypot|copysign|erf|tgamma|lgamma)"
    r"[fl]?|mem(?:cpy|set|move|cmp)|str(?:len|cmp|cpy)|printf|puts|malloc|calloc|free|abort|exit|alloca)$"
)
_CONTROL = {"for", "while", "do", "goto", "case", "default"}
_SPECIAL = (
    set(_RENAMED) | _DROPPED | _DROPPED_WITH_ARGUMENTS | _LONG_DOUBLES | _ASM | _TYPEOF
    | _STATIC_ASSERT | _FIRST_ARGUMENT | _NO_OPERATION
    | {"nullptr", "...", "_Pragma", "__pragma", "__builtin_constant_p", "__builtin_offsetof"}
    | {"__builtin_va_arg", "va_arg"}
)  # fmt: skip


@dataclass(slots=True)
class PlainTokens:
    """Tokens that pycparser reads, with their spans, and the pragmas taken out from among them:
    (index of the token it stands before, text, start, end). `attributes` counts those that matter. `refused`
    is a construct that cannot be expressed: its message and span."""

    texts: list[str] = field(default_factory=list[str])
    starts: list[int] = field(default_factory=list[int])
    ends: list[int] = field(default_factory=list[int])
    pragmas: list[tuple[int, str, int, int]] = field(default_factory=list[tuple[int, str, int, int]])
    attributes: int = 0
    refused: tuple[str, int, int] | None = None

    def add(self, text: str, start: int, end: int) -> None:
        """Append one token."""
        self.texts.append(text)
        self.starts.append(start)
        self.ends.append(end)


def plain_c(texts: list[str], starts: list[int], ends: list[int]) -> PlainTokens | tuple[str, int, int]:
    """Clean a function's tokens; a construct that cannot be expressed gives (message, start, end).

    An `asm` statement becomes the call `__polylsp_asm()`; an attribute that is not analysed becomes the call
    `__polylsp_attribute("...")` before its declaration; a `typeof` of anything but a plain type becomes the
    type name `__polylsp_typeof`, or `__polylsp_evaluated` where it may have effects; a statement expression
    becomes its value where it only names others, else the call `__polylsp_block()`; `a ?: b` becomes
    `a ? __polylsp_same : b`, and a range `case a ... b` the call `__polylsp_range(a, b)`.
    """
    if _is_plain(texts):
        return PlainTokens(texts, starts, ends)
    out = PlainTokens()
    partners = _partners(texts)
    kept: list[tuple[int, int]] = []  # ends of calls' first arguments that stay alone, and of the calls
    k, count, depth = 0, len(texts), 0
    while k < count or kept:
        if kept and k >= kept[-1][0]:
            close = kept.pop()[1]
            out.add(")", starts[min(close, count - 1)], ends[min(close, count - 1)])
            k = max(k, close + 1)
            continue
        text = texts[k]
        if text == "(" and texts[k + 1 : k + 2] == ["{"]:
            close = partners.get(k, count)
            plain = _statement_expression(texts[k + 1 : close])
            if plain is None:
                return (
                    "A loop or a label in a statement expression `({ ... })` is not analysed.",
                    starts[k],
                    ends[k + 1],
                )
            for piece in plain:
                out.add(piece, starts[k], ends[min(close, count - 1)])
            k = close + 1
            continue
        if text == "{":
            depth += 1
        elif text == "}":
            depth -= 1
        if text in _FIRST_ARGUMENT and texts[k + 1 : k + 2] == ["("]:
            first = _first_argument(texts, k + 1, partners)
            if _may_have_effects(texts[first[0] : first[1]]):
                out.add(text, starts[k], ends[k])
                k += 1
                continue
            out.add("(", starts[k + 1], ends[k + 1])
            kept.append(first)
            k += 2
            continue
        step = _special(texts, starts, ends, k, depth, partners, out)
        if step:
            k += step
            continue
        out.add(text, starts[k], ends[k])
        k += 1
    return out.refused or out


def _is_plain(texts: list[str]) -> bool:
    if not _SPECIAL.isdisjoint(texts):
        return False
    for k, text in enumerate(texts):
        if text[0] == "#" or text.startswith("__builtin_"):
            return False
        if text == ":" and k and texts[k - 1] == "?":
            return False
        if text in "[{" and k and texts[k - 1] == ("[" if text == "[" else "("):
            return False
    return True


def _special(
    texts: list[str],
    starts: list[int],
    ends: list[int],
    k: int,
    depth: int,
    partners: dict[int, int],
    out: PlainTokens,
) -> int:
    """Handle the token at `k` if it is special; how many tokens were used up, 0 if none."""
    text = texts[k]
    start = starts[k]
    if text in _SPECIAL:
        return _special_word(texts, starts, ends, k, depth, partners, out)
    if text == ":" and k and texts[k - 1] == "?":
        out.add("__polylsp_same", start, ends[k])
        return 0
    if text[0] == "#":
        if text.startswith("#pragma"):
            out.pragmas.append((len(out.texts), text[7:].strip(), start, ends[k]))
        return 1
    if text == "[" and texts[k + 1 : k + 2] == ["["]:
        close = partners.get(k, len(texts))
        _add_assumption(texts, starts, ends, k, close, depth, partners, out)
        _mark_attributes(texts, starts, ends, k, depth, out)
        return close - k + 1
    if text.startswith("__builtin_") and _LIBRARY.match(text[10:]):
        out.add(text[10:], start, ends[k])
        return 1
    return 0


def _special_word(
    texts: list[str],
    starts: list[int],
    ends: list[int],
    k: int,
    depth: int,
    partners: dict[int, int],
    out: PlainTokens,
) -> int:
    text = texts[k]
    if text in _RENAMED:
        out.add(_RENAMED[text], starts[k], ends[k])
        return 1
    if text == "nullptr":
        for piece in ("(", "(", "void", "*", ")", "0", ")"):
            out.add(piece, starts[k], ends[k])
        return 1
    if text == "...":
        return _range(texts, ends, k, out)
    if text in _LONG_DOUBLES:
        out.add("long", starts[k], ends[k])
        out.add("double", starts[k], ends[k])
        return 1
    if text in _DROPPED:
        return 1
    if text in _ASM:
        return _assembler(texts, starts, ends, k, depth, partners, out)
    if texts[k + 1 : k + 2] != ["("]:
        return 0
    close = partners.get(k + 1, len(texts))
    span = starts[k], ends[min(close, len(ends) - 1)]
    inner = range(k + 2, close)
    match text:
        case _ if text in _DROPPED_WITH_ARGUMENTS:
            _add_assumption(texts, starts, ends, k, close, depth, partners, out)
            _mark_attributes(texts, starts, ends, k, depth, out)
            if text == "__declspec" and texts[k + 2 : close] == ["thread"]:
                out.add("_Thread_local", *span)
        case _ if text in _STATIC_ASSERT:
            close += texts[close + 1 : close + 2] == [";"]
        case _ if text in _TYPEOF:
            plain = all(texts[n] in _TYPE_WORDS or texts[n - 1] in ("struct", "union", "enum") for n in inner)
            for n in inner if plain and "*" not in texts[k:close] else ():
                out.add(texts[n], *span)
            if not plain or "*" in texts[k:close]:
                evaluated = "[" in texts[k:close] and _may_have_effects(texts[k + 2 : close])
                out.add("__polylsp_evaluated" if evaluated else "__polylsp_typeof", *span)
        case "_Pragma":
            out.pragmas.append((len(out.texts), _destringized("".join(texts[n] for n in inner)), *span))
        case "__pragma":
            out.pragmas.append((len(out.texts), " ".join(texts[n] for n in inner), *span))
        case "__builtin_constant_p":
            out.add("0", *span)
        case "__builtin_offsetof":
            out.add("offsetof", starts[k], ends[k])
            return 1
        case _ if text in _NO_OPERATION and not _may_have_effects(texts[k + 2 : close]):
            for piece in ("(", "(", "void", ")", "0", ")"):
                out.add(piece, *span)
        case _:
            return 0
    return close - k + 1


def _range(texts: list[str], ends: list[int], k: int, out: PlainTokens) -> int:
    """A range `a ... b` of single tokens in a `case`; 0 if the dots mean anything else."""
    if k < 2 or texts[k - 2] != "case" or texts[k + 2 : k + 3] != [":"]:
        return 0
    first = out.texts.pop()
    begin = out.starts.pop()
    out.ends.pop()
    for piece in ("__polylsp_range", "(", first, ",", texts[k + 1], ")"):
        out.add(piece, begin, ends[k + 1])
    return 2


def _statement_expression(texts: list[str]) -> list[str] | None:
    """The tokens for `{ ... }` as a value; `None` where it has loops or labels, which would be lost."""
    value = named_values(texts)
    if value is not None:
        plain = plain_c(value, [0] * len(value), [0] * len(value))
        return plain.texts if isinstance(plain, PlainTokens) else None
    control = not _CONTROL.isdisjoint(texts) or any(text[0] == "#" for text in texts)
    return None if control else ["__polylsp_block", "(", ")"]


def _may_have_effects(texts: list[str]) -> bool:
    """True if an expression changes a variable or calls a function."""
    calls = (
        following == "(" and (text[0].isalpha() or text[0] == "_") and text not in _LIKE_CALLS
        for text, following in pairwise(texts)
    )
    return not (_WRITES - {"&", "{", "}"}).isdisjoint(texts) or any(calls)


_MOST_ATTRIBUTES = 64
"""Attributes in a function that are looked at; more than that are no person's code."""


def _mark_attributes(
    texts: list[str], starts: list[int], ends: list[int], k: int, depth: int, out: PlainTokens
) -> None:
    """Put the call `__polylsp_attribute("cleanup");` before a declaration in a function with an attribute
    that is not analysed, or refuse the function where all of it may depend on the attribute."""
    names, end = attributes_at(texts, k)
    if depth == 0 or are_harmless(names) or out.refused:
        return
    # For each of them all tokens before are looked through.
    out.attributes += 1
    if out.attributes > _MOST_ATTRIBUTES:
        message = f"More than {_MOST_ATTRIBUTES} attributes inside of a function are not analysed."
        out.refused = (message, starts[k], ends[min(end, len(ends)) - 1])
        return
    at = statement_start(out.texts)
    if at is None:
        return
    name, is_everywhere = obstacle_in(names, out.texts[at:], texts)
    if not name:
        return
    if is_everywhere or out.texts[at : at + 1] == ["else"]:
        message = f"The attribute `{name}` inside of a function is not analysed."
        out.refused = (message, starts[k], ends[min(end, len(ends)) - 1])
        return
    start, stop = (out.starts[at], out.ends[at]) if at < len(out.starts) else (starts[k], ends[k])
    marked = ("__polylsp_attribute", "(", f'"{name}"', ")", ";")
    out.texts[at:at] = marked
    out.starts[at:at] = [start] * len(marked)
    out.ends[at:at] = [stop] * len(marked)
    more = len(marked)
    out.pragmas[:] = [(n + more if n > at else n, text, a, b) for n, text, a, b in out.pragmas]


def _add_assumption(
    texts: list[str],
    starts: list[int],
    ends: list[int],
    k: int,
    close: int,
    depth: int,
    partners: dict[int, int],
    out: PlainTokens,
) -> None:
    """A statement that is the attribute `assume` alone becomes the call `__builtin_assume(...)`."""
    named = next((n for n in range(k, close) if texts[n].strip("_") == "assume"), close)
    if depth == 0 or texts[close + 1 : close + 2] != [";"] or texts[named + 1 : named + 2] != ["("]:
        return
    last = partners.get(named + 1, len(texts)) + 1
    inner = plain_c(texts[named + 1 : last], starts[named + 1 : last], ends[named + 1 : last])
    if isinstance(inner, PlainTokens):
        out.add("__builtin_assume", starts[named], ends[named])
        out.texts += inner.texts
        out.starts += inner.starts
        out.ends += inner.ends


def _first_argument(texts: list[str], opening: int, partners: dict[int, int]) -> tuple[int, int]:
    """Ends of the first argument of a call whose parenthesis is `opening`, and of the call."""
    close = partners.get(opening, len(texts))
    n = opening + 1
    while n < close and texts[n] != ",":
        n = partners.get(n, n) + 1
    return min(n, close), close


def _assembler(
    texts: list[str],
    starts: list[int],
    ends: list[int],
    k: int,
    depth: int,
    partners: dict[int, int],
    out: PlainTokens,
) -> int:
    """An `asm` statement becomes a call; an `asm` label of a declarator is dropped."""
    opening = k + 1
    while texts[opening : opening + 1] and texts[opening] in (
        "volatile",
        "__volatile__",
        "__volatile",
        "goto",
        "inline",
    ):
        opening += 1
    if texts[opening : opening + 1] != ["("]:
        return 0
    close = partners.get(opening, len(texts))
    before = texts[k - 1] if k else ";"
    if depth > 0 and (before in (";", "{", "}", ":", ")", "else", "do") or before[0] == "#"):
        for piece in ("__polylsp_asm", "(", ")"):
            out.add(piece, starts[k], ends[min(close, len(ends) - 1)])
    return close - k + 1


def _destringized(literal: str) -> str:
    try:
        value = ast.literal_eval(literal.lstrip("L"))
    except (SyntaxError, ValueError):
        return literal
    return str(value)


def _partners(texts: list[str]) -> dict[int, int]:
    """The index of the bracket that closes each one, as far as there is one."""
    opened: dict[str, list[int]] = {")": [], "]": [], "}": []}
    found: dict[int, int] = {}
    for k, text in enumerate(texts):
        if text in _CLOSERS:
            opened[_CLOSERS[text]].append(k)
        elif opened.get(text):
            found[opened[text].pop()] = k
    return found


_CLOSERS = {"(": ")", "[": "]", "{": "}"}
