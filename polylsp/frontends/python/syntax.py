"""Syntax tree of a Python function, whose nodes refer to their tokens.

The tree is parsed from the tokens alone, written out again with one space between them: comments
and layout within lines leave it unchanged. Also reads the statements around unreadable code, and
number literals.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from polylsp.frontends.python.definitions import Item
from polylsp.frontends.python.names import Callable, Declaration
from polylsp.frontends.python.shape_names import name_lengths
from polylsp.frontends.python.words import Line
from polylsp.ir.program import Rejection, Site

_Position = tuple[int, int]

_LINE = re.compile(r" \(detected at line \d+\)| on line \d+")
"""Lines in the parser's messages count from the function's first, which means nothing to a person."""


@dataclass(frozen=True, slots=True)
class Parsed:
    """A syntax tree, and the token that starts, or ends, at each position of its text."""

    tree: ast.Module
    texts: tuple[str, ...]
    first: dict[_Position, int]
    last: dict[_Position, int]

    def site(self, node: ast.AST) -> Site:
        """The tokens of a node."""
        assert isinstance(node, (ast.expr, ast.stmt, ast.arg, ast.keyword, ast.excepthandler))
        first = self.first.get((node.lineno, node.col_offset), 0)
        end = (node.end_lineno or node.lineno, node.end_col_offset or 0)
        return Site(first, max(first, self.last.get(end, first)))

    def text(self, node: ast.AST) -> str:
        """The spelling of a node for a message."""
        try:
            return ast.unparse(node)
        except (ValueError, RecursionError):
            # It holds a number of more digits than Python writes, or nests too deeply.
            site = self.site(node)
            return " ".join(self.texts[site.first : site.last + 1])


def parse(texts: tuple[str, ...], lines: tuple[Line, ...]) -> Parsed | Rejection:
    """The syntax tree of a function, or where and why there is none."""
    found = _parsed(texts, texts, lines)
    if isinstance(found, Parsed) or found.code != "syntax-error":
        return found
    older = in_older_words(texts, lines)
    return _parsed(older, texts, lines) if older != texts else found


def _parsed(words: tuple[str, ...], texts: tuple[str, ...], lines: tuple[Line, ...]) -> Parsed | Rejection:
    """The syntax tree of `words` that stand in the place of tokens."""
    written = _Written(words)
    for line in lines:
        written.line(line)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            # What later versions added is refused by each of them, so that all read the same trees (`parse`).
            tree = ast.parse("".join(written.parts), feature_version=(3, 10))
    except SyntaxError as error:
        return _rejection(error, written, len(texts))
    except (RecursionError, MemoryError, ValueError):
        whole = Site(0, max(0, len(texts) - 1))
        return Rejection("budget", whole, "this function is nested too deeply to be read")
    return Parsed(tree, texts, written.first, written.last)


def read(texts: tuple[str, ...], lines: tuple[Line, ...]) -> Parsed | Rejection:
    """The syntax tree of a function as analysed: lengths of arrays are spelled out (`name_lengths`), and code
    for Python 2 is left out (`leave_out_python_2`)."""
    parsed = parse(texts, lines)
    if not isinstance(parsed, Rejection):
        name_lengths(parsed.tree)
        if not _OF_PYTHON_2.isdisjoint(texts):
            leave_out_python_2(parsed.tree)
    return parsed


class _Written:
    """Tokens written out; where each of them came to stand, as the parser counts (bytes in a line)."""

    def __init__(self, texts: tuple[str, ...]):
        self.texts = texts
        self.parts: list[str] = []
        self.first: dict[_Position, int] = {}
        self.last: dict[_Position, int] = {}
        self._row = 1
        self._column = 0

    def line(self, line: Line) -> None:
        self._put(" " * line.indent)
        for number in range(line.first, line.last):
            text = self.texts[number]
            self.first[self._row, self._column] = number
            self._put(text)
            self.last[self._row, self._column] = number
            self._put(" ")
        self._put("pass\n" if line.first == line.last else "\n")

    def _put(self, text: str) -> None:
        self.parts.append(text)
        breaks = text.count("\n")
        tail = text.rpartition("\n")[2]
        self._row += breaks
        size = len(tail) if tail.isascii() else len(tail.encode("utf-8", "surrogatepass"))
        self._column = size if breaks else self._column + size


def _rejection(error: SyntaxError, written: _Written, count: int) -> Rejection:
    row, column = error.lineno or 1, max(0, (error.offset or 1) - 1)
    before = [number for (at, start), number in written.first.items() if (at, start) <= (row, column)]
    number = min(max(before, default=0), max(0, count - 1))
    message = _LINE.sub("", error.msg or "invalid syntax").removeprefix("invalid syntax. ")
    return Rejection("syntax-error", Site(number, number), f"Python cannot read this: {message}")


# --------------------------------------------------------------------------------------------------
# Declarations as an argument of a query, and the statements of code that may not parse.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Known:
    """Declarations as an argument of a query: the same object for equal ones, which knows its hash."""

    names: tuple[tuple[str, Declaration], ...]

    @staticmethod
    def of(names: dict[str, Declaration]) -> Known:
        """Declarations that affect types: imports, values and classes."""
        return _known(tuple((n, d) for n, d in names.items() if not isinstance(d, Callable)))

    @cached_property
    def by_name(self) -> Mapping[str, Declaration]:
        """The declarations by their names."""
        return dict(self.names)

    @cached_property
    def _hash(self) -> int:
        return hash(self.names)

    def __hash__(self) -> int:
        return self._hash


@lru_cache(maxsize=64)
def _known(names: tuple[tuple[str, Declaration], ...]) -> Known:
    return Known(names)


def body_of(item: Item) -> list[ast.stmt]:
    """The statements of some lines; those before and after the unreadable part, if there is one."""
    texts, lines = item.texts, item.lines
    parsed = read(texts, lines)
    if not isinstance(parsed, Rejection):
        return parsed.tree.body
    found: list[ast.stmt] = []
    for line in lines:
        one = read(texts[line.first : line.last], (Line(0, line.last - line.first, 0),))
        if line.indent == 0 and not isinstance(one, Rejection):
            found += one.tree.body
    return found


def blocks(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    """Blocks of a statement, in source order; none of a definition, which only runs when it is called."""
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return
    found = [getattr(statement, "body", None)]
    found += [one.body for one in getattr(statement, "handlers", []) + getattr(statement, "cases", [])]
    found += [getattr(statement, name, None) for name in ("orelse", "finalbody")]
    yield from (one for one in found if isinstance(one, list) and one)


# --------------------------------------------------------------------------------------------------
# Code for Python 2 alone, which the parser's Python never runs.
# --------------------------------------------------------------------------------------------------


_NAMES_OF_PYTHON_2 = frozenset(("xrange", "unicode", "raw_input", "basestring", "long", "unichr"))
_ITERTOOLS_OF_PYTHON_2 = frozenset(("izip", "imap", "ifilter", "izip_longest"))
_OF_PYTHON_2 = _NAMES_OF_PYTHON_2 | _ITERTOOLS_OF_PYTHON_2 | {"version_info"}


def leave_out_python_2(tree: ast.Module) -> None:
    """Take the branches out of a tree that a test of `sys.version_info` leaves to Python 2, and the bodies of
    `try` that begin with a name of Python 2; but for those with loops and definitions, which have findings of
    their own."""
    stored = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    stored |= {n.asname or n.name for n in ast.walk(tree) if isinstance(n, ast.alias)}
    for node in ast.walk(tree):
        match node:
            case ast.If(test=test, body=body, orelse=otherwise) if (chosen := _is_python_3(test)) is not None:
                left_out = otherwise if chosen else body
            case ast.Try(body=body, orelse=[]) if _is_of_python_2(body[0], stored):
                left_out = body
            case _:
                continue
        if left_out and not any(isinstance(n, _REPORTED) for each in left_out for n in ast.walk(each)):
            left_out[:] = [ast.copy_location(ast.Pass(), left_out[0])]


def _is_of_python_2(statement: ast.stmt, stored: set[str]) -> bool:
    """True for a statement that raises an error in Python 3: it reads a name of Python 2 alone that the file
    does not define, or imports one."""
    match statement:
        case ast.Assign(value=ast.Name(id=name)) | ast.Expr(value=ast.Name(id=name)):
            return name in _NAMES_OF_PYTHON_2 and stored.isdisjoint((name, "*"))
        case ast.ImportFrom(module="itertools", names=names):
            return any(one.name in _ITERTOOLS_OF_PYTHON_2 for one in names)
        case _:
            return False


_REPORTED = (ast.For, ast.AsyncFor, ast.While, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def _is_python_3(test: ast.expr) -> bool | None:
    """The value of a test of `sys.version_info` in every Python 3; `None` for other tests."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            inner = _is_python_3(operand)
            return None if inner is None else not inner
        case ast.Compare(left=major, ops=[op], comparators=[to]) if _is_major(major):
            is_major = True
        case ast.Compare(left=of, ops=[op], comparators=[ast.Tuple(elts=[to, *rest])]) if _is_version(of):
            # Versions begin with 3 and go on with numbers that are not known.
            is_lowest = all(constant(one) == 0 for one in rest)
            is_major = constant(to) != 3 or (is_lowest and isinstance(op, ast.Lt | ast.GtE))
        case _:
            return None
    number = constant(to)
    if not is_major or number is None:
        return None
    match op:
        case ast.Lt():
            return number > 3
        case ast.LtE():
            return number >= 3
        case ast.Gt():
            return number < 3
        case ast.GtE():
            return number <= 3
        case ast.Eq():
            return number == 3
        case ast.NotEq():
            return number != 3
        case _:
            return None


def _is_major(node: ast.expr) -> bool:
    match node:
        case ast.Subscript(value=of, slice=ast.Constant(value=0)) | ast.Attribute(value=of, attr="major"):
            return _is_version(of)
        case _:
            return False


def _is_version(node: ast.expr) -> bool:
    match node:
        case ast.Attribute(value=ast.Name(id="sys"), attr="version_info") | ast.Name(id="version_info"):
            return True
        case _:
            return False


# --------------------------------------------------------------------------------------------------
# Numbers as they are written.
# --------------------------------------------------------------------------------------------------


def constant(node: ast.expr) -> int | None:
    """A number that is written out."""
    match node:
        case ast.Constant(value=int() as value) if not isinstance(value, bool):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() as value)):
            return -value
        case _:
            return None


# --------------------------------------------------------------------------------------------------
# Rewriting of newer syntax, token by token, so that the parser of Python 3.10 reads Python up to 3.14: type
# parameters and `type` statements (PEP 695), `except*` (PEP 654), exceptions without parentheses (PEP 758),
# fields of f-strings with the quotes of the string (PEP 701), and template strings (PEP 750). The number of
# tokens stays, since places in the source are numbers of tokens, and so does all that is evaluated. A parser
# for all versions would be a second one beside `ast`, whose trees the front end reads.
# --------------------------------------------------------------------------------------------------

_FORMATTED = re.compile(r"(?:[fFtT][rR]?|[rR][fFtT])(\"\"\"|'''|\"|')")


def in_older_words(texts: tuple[str, ...], lines: Sequence[Line]) -> tuple[str, ...]:
    """The tokens of a function with others in the place of those that Python 3.10 does not read."""
    found = [_string(text) if _FORMATTED.match(text) else text for text in texts]
    for line in lines:
        words = texts[line.first : line.last]
        head = line.first + (words[:1] == ("async",))
        if words[:1] == ("type",) and len(words) > 3 and words[1].isidentifier() and words[2] in ("=", "["):
            found[line.first], found[line.first + 1] = words[1], ""
            _without_parameters(texts, found, line.first + 2, line.last)
        elif texts[head : head + 1] in (("def",), ("class",)) and head + 2 < line.last:
            _without_parameters(texts, found, head + 2, line.last)
        elif words[:1] == ("except",):
            _plain_except(texts, found, line)
    return tuple(found)


def _without_parameters(texts: Sequence[str], found: list[str], first: int, last: int) -> None:
    """Take the type parameters away that begin with `[` at a token, if they do."""
    depth = 0
    for number in range(first, last):
        depth += (texts[number] == "[") - (texts[number] == "]")
        if not depth and number == first:
            return
        found[number] = ""
        if not depth:
            return


def _plain_except(texts: Sequence[str], found: list[str], line: Line) -> None:
    """`except*` as `except`, and several exceptions in parentheses."""
    first = line.first + 1
    if texts[first : first + 1] == ("*",):
        found[first] = ""
        first += 1
    colon = next((k for k in range(line.last - 1, first, -1) if texts[k] == ":"), first)
    inside = texts[first:colon]
    if "," in inside and "(" not in inside and "as" not in inside:
        found[first] = f"({found[first]}"
        found[colon - 1] = f"{found[colon - 1]})"


def _string(text: str) -> str:
    """A formatted string as an expression that evaluates what its fields do, and gives a string; the string
    itself where Python 3.10 reads it."""
    match = _FORMATTED.match(text)
    assert match is not None
    quote = match[1]
    body = text[match.end() : len(text) - len(quote)]
    fields = list(_fields(body))
    is_template = "t" in text[: match.end()].lower()
    if not is_template and not any(quote[0] in each or "\\" in each or "#" in each for each in fields):
        return text
    values = ", ".join(f"({each})" for each in fields)
    return f"('', {values})[0]" if values else "''"


def _fields(body: str) -> Iterator[str]:
    """The expressions in the fields of a formatted string, those in format specifications last."""
    at = 0
    while (at := body.find("{", at)) >= 0:
        if body.startswith("{{", at):
            at += 2
            continue
        end, specification = _ends(body, at + 1)
        yield body[at + 1 : end].strip().rstrip("=").strip()
        inside, at = _closing(body, specification), specification
        if inside > specification:
            yield from _fields(body[specification:inside])
            at = inside


def _ends(body: str, at: int) -> tuple[int, int]:
    """Ends of the expression of a field that begins at an offset, and of its conversion."""
    depth, quote = 0, ""
    for offset in range(at, len(body)):
        character = body[offset]
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        elif character in "([{":
            depth += 1
        elif character in ")]}" and depth:
            depth -= 1
        elif character == "}" or (character == ":" and not depth):
            return offset, offset + 1 if character == ":" else offset
        elif character == "!" and not depth and body[offset + 1 : offset + 2] != "=":
            rest = body.find(":", offset), body.find("}", offset)
            ends = [each for each in rest if each >= 0]
            behind = min(ends, default=len(body))
            return offset, behind + 1 if body[behind : behind + 1] == ":" else behind
    return len(body), len(body)


def _closing(body: str, at: int) -> int:
    """The end of a format specification that begins at an offset, its own fields skipped."""
    depth = 0
    for offset in range(at, len(body)):
        depth += (body[offset] == "{") - (body[offset] == "}")
        if depth < 0:
            return offset
    return len(body)
