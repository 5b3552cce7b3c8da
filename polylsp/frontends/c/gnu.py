"""GNU and later spellings brought down to the C that pycparser reads, token by token."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field

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
    "__func__": '""', "__FUNCTION__": '""', "__PRETTY_FUNCTION__": '""',
}  # fmt: skip
_DROPPED = {
    "__extension__", "_Noreturn", "__noreturn", "__thread", "_Thread_local", "thread_local",
    "__cdecl", "__stdcall", "__fastcall", "__vectorcall", "__pascal",
}  # fmt: skip
_DROPPED_WITH_ARGUMENTS = {"__attribute__", "__attribute", "__declspec", "_Alignas", "alignas"}
_LONG_DOUBLES = {"_Float128", "__float128", "_Float64x", "__float80"}
_ASM = {"asm", "__asm__", "__asm"}
_TYPEOF = {"typeof", "__typeof__", "__typeof", "typeof_unqual"}
_STATIC_ASSERT = {"_Static_assert", "static_assert"}
_FIRST_ARGUMENT = {"__builtin_expect", "__builtin_expect_with_probability", "__builtin_assume_aligned"}
_NO_OPERATION = {"__builtin_unreachable", "__builtin_prefetch", "__builtin_assume", "__assume"}
_TYPE_WORDS = {
    "void", "char", "short", "int", "long", "float", "double", "signed", "unsigned", "_Bool", "_Complex",
    "const", "volatile", "struct", "union", "enum", "*", "__int128",
}  # fmt: skip
_LIBRARY = re.compile(
    r"(?:(?:f?abs|l?labs|sqrt|cbrt|sin|cos|tan|asin|acos|atan2?|sinh|cosh|tanh|exp2?|expm1|log|log2|log10"
    r"|log1p|pow|floor|ceil|trunc|round|rint|nearbyint|fma|fmin|fmax|fmod|hypot|copysign|erf|tgamma|lgamma)"
    r"[fl]?|mem(?:cpy|set|move|cmp)|str(?:len|cmp|cpy)|printf|puts|malloc|calloc|free|abort|exit|alloca)$"
)
_SPECIAL = (
    set(_RENAMED) | _DROPPED | _DROPPED_WITH_ARGUMENTS | _LONG_DOUBLES | _ASM | _TYPEOF
    | _STATIC_ASSERT | _FIRST_ARGUMENT | _NO_OPERATION
    | {"_Pragma", "__pragma", "__builtin_constant_p", "__builtin_offsetof", "__builtin_va_arg", "va_arg"}
)  # fmt: skip


@dataclass(slots=True)
class PlainTokens:
    """Tokens that pycparser reads, with their spans, and the pragmas taken out from among them:
    (index of the token it stands before, text, start, end)."""

    texts: list[str] = field(default_factory=list[str])
    starts: list[int] = field(default_factory=list[int])
    ends: list[int] = field(default_factory=list[int])
    pragmas: list[tuple[int, str, int, int]] = field(default_factory=list[tuple[int, str, int, int]])

    def add(self, text: str, start: int, end: int) -> None:
        """Append one token."""
        self.texts.append(text)
        self.starts.append(start)
        self.ends.append(end)


def plain_c(texts: list[str], starts: list[int], ends: list[int]) -> PlainTokens | tuple[str, int, int]:
    """Clean a function's tokens; a construct that cannot be expressed gives (message, start, end).

    An `asm` statement becomes the call `__polylsp_asm()`; a `typeof` of anything but a plain type
    becomes the type name `__polylsp_typeof`.
    """
    if _is_plain(texts):
        return PlainTokens(texts, starts, ends)
    out = PlainTokens()
    k, count, depth = 0, len(texts), 0
    while k < count:
        text = texts[k]
        if text == "{":
            depth += 1
            if k and texts[k - 1] == "(":
                return (
                    "A statement expression `({ ... })` is a GNU extension that is not analysed.",
                    starts[k - 1],
                    ends[k],
                )
        elif text == "}":
            depth -= 1
        step = _special(texts, starts, ends, k, depth, out)
        if step:
            k += step
            continue
        out.add(text, starts[k], ends[k])
        k += 1
    return out


def attributes_in(texts: list[str]) -> frozenset[str]:
    """The attributes named in `__attribute__((..))` and `[[..]]`, without underscores around."""
    found: set[str] = set()
    for k, text in enumerate(texts):
        if text in ("__attribute__", "__attribute") or (text == "[" and texts[k + 1 : k + 2] == ["["]):
            close = _closing(texts, k if text == "[" else k + 1)
            found.update(
                word.strip("_") for word in texts[k + 1 : close] if word[0].isalpha() or word[0] == "_"
            )
    return frozenset(found)


def _is_plain(texts: list[str]) -> bool:
    if not _SPECIAL.isdisjoint(texts):
        return False
    for k, text in enumerate(texts):
        if text[0] == "#" or text.startswith("__builtin_"):
            return False
        if text in "[{" and k and texts[k - 1] == ("[" if text == "[" else "("):
            return False
    return True


def _special(
    texts: list[str], starts: list[int], ends: list[int], k: int, depth: int, out: PlainTokens
) -> int:
    """Handle the token at `k` if it is special; how many tokens were used up, 0 if none."""
    text = texts[k]
    start = starts[k]
    if text in _SPECIAL:
        return _special_word(texts, starts, ends, k, depth, out)
    if text[0] == "#":
        if text.startswith("#pragma"):
            out.pragmas.append((len(out.texts), text[7:].strip(), start, ends[k]))
        return 1
    if text == "[" and texts[k + 1 : k + 2] == ["["]:
        return _closing(texts, k) - k + 1
    if text.startswith("__builtin_") and _LIBRARY.match(text[10:]):
        out.add(text[10:], start, ends[k])
        return 1
    return 0


def _special_word(
    texts: list[str], starts: list[int], ends: list[int], k: int, depth: int, out: PlainTokens
) -> int:
    text = texts[k]
    if text in _RENAMED:
        out.add(_RENAMED[text], starts[k], ends[k])
        return 1
    if text in _LONG_DOUBLES:
        out.add("long", starts[k], ends[k])
        out.add("double", starts[k], ends[k])
        return 1
    if text in _DROPPED:
        return 1
    if text in _ASM:
        return _assembler(texts, starts, ends, k, depth, out)
    if texts[k + 1 : k + 2] != ["("]:
        return 0
    close = _closing(texts, k + 1)
    span = starts[k], ends[min(close, len(ends) - 1)]
    inner = range(k + 2, close)
    match text:
        case _ if text in _DROPPED_WITH_ARGUMENTS:
            pass
        case _ if text in _STATIC_ASSERT:
            close += texts[close + 1 : close + 2] == [";"]
        case _ if text in _TYPEOF:
            plain = all(texts[n] in _TYPE_WORDS or texts[n - 1] in ("struct", "union", "enum") for n in inner)
            for n in inner if plain and "*" not in texts[k:close] else ():
                out.add(texts[n], *span)
            if not plain or "*" in texts[k:close]:
                out.add("__polylsp_typeof", *span)
        case "_Pragma":
            out.pragmas.append((len(out.texts), _destringized("".join(texts[n] for n in inner)), *span))
        case "__pragma":
            out.pragmas.append((len(out.texts), " ".join(texts[n] for n in inner), *span))
        case "__builtin_constant_p":
            out.add("0", *span)
        case "__builtin_offsetof":
            out.add("offsetof", starts[k], ends[k])
            return 1
        case _ if text in _NO_OPERATION:
            for piece in ("(", "(", "void", ")", "0", ")"):
                out.add(piece, *span)
        case _ if text in _FIRST_ARGUMENT:
            _add_first_argument(texts, starts, ends, k + 1, close, out)
        case _:
            return 0
    return close - k + 1


def _add_first_argument(
    texts: list[str], starts: list[int], ends: list[int], opening: int, close: int, out: PlainTokens
) -> None:
    level = 0
    stop = close
    for n in range(opening + 1, close):
        level += (texts[n] in "([{") - (texts[n] in ")]}")
        if level == 0 and texts[n] == ",":
            stop = n
            break
    out.add("(", starts[opening], ends[opening])
    inner = plain_c(texts[opening + 1 : stop], starts[opening + 1 : stop], ends[opening + 1 : stop])
    if isinstance(inner, PlainTokens):
        out.texts += inner.texts
        out.starts += inner.starts
        out.ends += inner.ends
    out.add(")", starts[min(close, len(texts) - 1)], ends[min(close, len(texts) - 1)])


def _assembler(
    texts: list[str], starts: list[int], ends: list[int], k: int, depth: int, out: PlainTokens
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
    close = _closing(texts, opening)
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


def _closing(texts: list[str], k: int) -> int:
    """The index of the bracket that closes the one at `k`; the last token if none does."""
    opener = texts[k] if k < len(texts) else "("
    closer = {"(": ")", "[": "]", "{": "}"}.get(opener, ")")
    depth = 0
    for n in range(k, len(texts)):
        depth += (texts[n] == opener) - (texts[n] == closer)
        if depth == 0:
            return n
    return len(texts)
