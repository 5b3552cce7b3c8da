"""Sizes that a file gives for measuring a function: directions in comments, and those of its own calls.

Comments: `// polylsp: n=2000 A=positive-definite` (or `spd A`); in Python also the length of an array,
`# polylsp: x.shape[0]=500`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import prod

_WORD = r"spd\s+[A-Za-z_]\w*|[A-Za-z_](?:[\w.\[\]]|->)*=[\w-]+"
_COMMENT = re.compile(rf"(?:/[/*]|#)\s*polylsp:((?:\s+(?:{_WORD}))+)")
_WITHOUT_COLON = re.compile(rf"(?:/[/*]|#)\s*(polylsp\s+(?:{_WORD}))")
_ABOVE = re.compile(r"(?:^[ \t]*(?://[^\n]*|#[^\n]*|/\*.*?\*/[ \t]*)\n)+[ \t]*\Z", re.MULTILINE)
_DEFINITE = "positive-definite"


@dataclass(frozen=True, slots=True)
class Wishes:
    """Sizes by name, and the names of matrices that have to be symmetric and positive definite; `wrong` is
    the first word that is neither."""

    sizes: dict[str, int] = field(default_factory=dict[str, int])
    definite: frozenset[str] = frozenset()
    wrong: str = ""


def wishes(text: str, start: int, end: int) -> Wishes:
    """The wishes in the comments of a function, and in those directly above it."""
    above = _ABOVE.search(text, 0, start)
    first = above.start() if above else start
    if (found := _WITHOUT_COLON.search(text, first, end)) is not None:
        return Wishes(wrong=found[1])
    words = [
        word for comment in _COMMENT.finditer(text, first, end) for word in re.findall(_WORD, comment[1])
    ]
    sizes: dict[str, int] = {}
    definite: set[str] = set()
    for word in words:
        name, _, value = word.partition("=")
        if word.startswith("spd") and not value:
            definite.add(word.split()[1])
        elif value.isdecimal():
            sizes[name] = int(value)
        elif value == _DEFINITE:
            definite.add(name)
        else:
            return Wishes(wrong=word)
    return Wishes(sizes, frozenset(definite))


# --- Sizes that the rest of the file gives ------------------------------------------------


@dataclass(frozen=True, slots=True)
class Usual:
    """Sizes at which the file itself runs a function, and the call or the header that says so."""

    sizes: dict[str, int] = field(default_factory=dict[str, int])
    basis: str = ""


def usual_sizes(
    text: str, start: int, end: int, name: str, parameters: Sequence[str], sizes: Sequence[str]
) -> Usual:
    """Sizes of the largest call of a function in its file whose arguments are numbers: literals, macros,
    variables that are set to one before it, arrays that are made with a shape. Without such a call, the
    defaults of its parameters. They choose what is measured, and nothing else rests on them."""
    best = Usual()
    for call in re.finditer(rf"(?<![\w.]){re.escape(name)}\s*\(", text):
        line = text[text.rfind("\n", 0, call.start()) + 1 : call.start()]
        if start <= call.start() < end or re.search(r"//|#|\bdef\b", line):
            continue
        arguments = _arguments(text, call.end())
        target = re.search(r"[\w.\[\]]+\s*=\s*$", line)
        before = call.start() - (len(target[0]) if target is not None else 0)
        found = dict(_called(text, before, arguments, parameters, sizes))
        if found and prod(found.values()) > prod(best.sizes.values()):
            spelled = re.sub(r"\s+", " ", f"{name}({', '.join(arguments)})")
            short = spelled if len(spelled) <= _LONGEST_CALL else spelled[: _LONGEST_CALL - 1] + "…"
            best = Usual(found, f"the call `{short}`")
    return best if best.sizes else _defaults(text[start:end], sizes)


_LONGEST_CALL = 60
_MOST = 10**10


def _defaults(function: str, sizes: Sequence[str]) -> Usual:
    header = function[: max(0, function.find("\n", function.find("):")))]
    found: dict[str, int] = {}
    for size in sizes:
        default = re.search(rf"\b{re.escape(size)}\s*(?::[^=,()]+)?=\s*(\d+)\s*[,)]", header)
        if default is not None:
            found[size] = int(default[1])
    return Usual(found, "the defaults of its parameters") if found else Usual()


def _called(
    text: str, at: int, arguments: Sequence[str], parameters: Sequence[str], sizes: Sequence[str]
) -> Iterator[tuple[str, int]]:
    """The sizes that the arguments of a call give, by their names."""
    for parameter, argument in zip(parameters, arguments, strict=False):
        lengths = [each for each in sizes if each.startswith(f"{parameter}.shape[")]
        if parameter in sizes:
            value = _number(text, at, argument)
            if value is not None:
                yield parameter, value
        elif lengths:
            shape = _shape(text, at, argument)
            for each in lengths:
                place = int(each[len(parameter) + len(".shape[") : -1])
                if place < len(shape) and shape[place] is not None:
                    yield each, shape[place] or 1


def _arguments(text: str, at: int) -> list[str]:
    """The arguments of a call whose parenthesis opens before `at`."""
    found, depth, first = list[str](), 0, at
    for place in range(at, min(len(text), at + 2000)):
        letter = text[place]
        depth += (letter in "([{") - (letter in ")]}")
        if depth < 0 or (letter == "," and depth == 0):
            found.append(text[first:place].strip())
            first = place + 1
        if depth < 0:
            return found
    return []


def _number(text: str, at: int, expression: str, depth: int = 4) -> int | None:
    """The positive whole number that an expression is at a place of a text."""
    cleaned = re.sub(r"\(\s*(?:unsigned |const )?(?:int|long|size_t|unsigned)\s*\)", "", expression)
    try:
        tree = ast.parse(re.sub(r"(?<=\d)[uUlL]+\b", "", cleaned.strip()), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    value = _evaluated(text, at, tree, depth)
    return value if value is not None and 0 < value < _MOST else None


def _evaluated(text: str, at: int, node: ast.expr, depth: int) -> int | None:
    match node:
        case ast.Constant(value=int() | float() as value):
            return int(value) if value == int(value) else None
        case ast.Name(id=name) if depth:
            return _variable(text, at, name, depth - 1)
        case ast.Call(func=ast.Name(id="int"), args=[inner]):
            return _evaluated(text, at, inner, depth)
        case ast.BinOp(left=left, op=operator, right=right):
            one, other = _evaluated(text, at, left, depth), _evaluated(text, at, right, depth)
            if one is None or other is None or not 0 <= other < _MOST:
                return None
            match operator:
                case ast.Add():
                    return one + other
                case ast.Sub():
                    return one - other
                case ast.Mult():
                    return one * other
                case ast.LShift() if other < 34:
                    return one << other
                case ast.Pow() if other < 34 and one < 1000:
                    return one**other
                case ast.Div() | ast.FloorDiv() if other:
                    return one // other
                case _:
                    return None
        case _:
            return None


def _variable(text: str, at: int, name: str, depth: int) -> int | None:
    """Value of a macro, or of a variable by the last assignment before a place; of `a ? b : 100`, 100."""
    macro = re.search(rf"^[ \t]*#[ \t]*define[ \t]+{name}[ \t]+([^\n/]+)", text, re.MULTILINE)
    if macro is not None:
        return _number(text, at, macro[1], depth)
    before = re.compile(rf"(?<![\w.]){name}\s*(?::[^=\n]+)?=(?!=)\s*([^;\n#]+)")
    assigned = [*before.finditer(text, 0, at)]
    if not assigned:
        return None
    value = assigned[-1][1].rpartition(" : ")[2] if "?" in assigned[-1][1] else assigned[-1][1]
    return _number(text, at, re.split(r",(?![^(]*\))", value)[0], depth)


_LIKE = ("zeros_like", "ones_like", "empty_like", "copy", "astype", "array", "ascontiguousarray", "abs")
_SHAPED = ("zeros", "ones", "empty", "full", "random", "standard_normal", "random_sample")
_BY_SIZES = ("rand", "randn")
_BY_SIZE = ("randint", "integers", "normal", "uniform")


def _shape(text: str, at: int, argument: str, depth: int = 4) -> tuple[int | None, ...]:
    """Shape of an array that an expression makes, as far as it can be read off."""
    try:
        tree = ast.parse(argument.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    return _shape_of(text, at, tree, depth)


def _shape_of(text: str, at: int, node: ast.expr, depth: int) -> tuple[int | None, ...]:
    match node:
        case ast.Name(id=name) if depth:
            assigned = [*re.finditer(rf"(?<![\w.]){name}\s*=(?!=)\s*([^\n#]+)", text[:at])]
            return _shape(text, assigned[-1].start(), assigned[-1][1], depth - 1) if assigned else ()
        case ast.BinOp(left=left, right=right):
            return _shape_of(text, at, left, depth) or _shape_of(text, at, right, depth)
        case ast.Call(func=ast.Attribute(value=value, attr=attr), args=args, keywords=keywords):
            sizes = [each.value for each in keywords if each.arg in ("size", "shape")]
            if sizes or (attr in _SHAPED and args):
                return _lengths(text, at, (sizes or args)[0])
            if attr in _BY_SIZES:
                return tuple(_evaluated(text, at, each, 4) for each in args)
            if attr == "arange" and len(args) == 1:
                return (_evaluated(text, at, args[0], 4),)
            if attr == "linspace" and len(args) > 2:
                return (_evaluated(text, at, args[2], 4),)
            if attr in _BY_SIZE and len(args) > 2:
                return _lengths(text, at, args[2])
            if attr in _LIKE:
                return _shape_of(text, at, args[0] if args and attr != "astype" else value, depth)
            return ()
        case _:
            return ()


def _lengths(text: str, at: int, node: ast.expr) -> tuple[int | None, ...]:
    nodes = node.elts if isinstance(node, (ast.Tuple, ast.List)) else [node]
    return tuple(_evaluated(text, at, each, 4) for each in nodes)
