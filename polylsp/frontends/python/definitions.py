"""Cuts a Python file into functions and the code around them, in any state of its text.

Layout decides: a function ends where a line stands no further to the right than its `def`, so a function that
is being typed leaves its neighbours intact.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from keyword import iskeyword

from polylsp.core.notebook import cells_of
from polylsp.core.query import digest, query
from polylsp.frontends.python.cells import without_magics
from polylsp.frontends.python.words import Line, Tokens, normalise, tokenize

MODULE = "<module>"
"""The name of the code that stands in no function."""


@dataclass(frozen=True, slots=True)
class Item:
    """A function, or (`MODULE`) the code of the file outside of functions and classes; equal where its
    text is, as far as that matters.

    `name` is qualified (`Solver.step`, `outer.inner`); `owner` is the class around a method. `texts` are
    its tokens, which stand at `starts` up to `ends`, relative to `start`, an offset in the file; `lines`
    are its logical lines, their indentation relative to its first. `code` tells its tokens and lines from
    others, `key` their places as well.
    """

    key: str
    code: str = field(compare=False)
    name: str = field(compare=False)
    owner: str = field(compare=False)
    texts: tuple[str, ...] = field(compare=False, repr=False)
    lines: tuple[Line, ...] = field(compare=False, repr=False)
    start: int = field(compare=False)
    starts: tuple[int, ...] = field(compare=False, repr=False)
    ends: tuple[int, ...] = field(compare=False, repr=False)

    @property
    def words(self) -> frozenset[str]:
        """The tokens that occur."""
        return _words(self)


@dataclass(frozen=True, slots=True)
class Class:
    """A class; its `body` has the lines that are in no method, `methods` its functions, and `decorators` the
    tokens of its decorators."""

    name: str
    bases: tuple[str, ...]
    body: Item
    methods: tuple[Item, ...]
    decorators: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Outline:
    """The functions of a file in source order, its classes, and the rest of it."""

    functions: tuple[Item, ...]
    classes: tuple[Class, ...]
    module: Item


@dataclass(frozen=True, slots=True)
class _Piece:
    """A run of the text that begins at the left margin, and its contents; offsets count from its start."""

    text: str
    functions: tuple[Item, ...]
    classes: tuple[Class, ...]
    rest: Item


def outline(text: str) -> Outline:
    """The functions, classes and other code of a file. What stands between two lines at the left margin
    is looked at again only if it changed."""
    plain = normalise(text)
    cells = cells_of(plain)
    return _of_cells(cells) if cells else _outline(plain)


def _of_cells(cells: list[tuple[int, str]]) -> Outline:
    """The same of a notebook. What is left open in one cell ends there."""
    found = [(start, _outline(without_magics(code))) for start, code in cells]
    functions = tuple(
        replace(item, start=item.start + start) for start, each in found for item in each.functions
    )
    classes = tuple(one for _, each in found for one in each.classes)
    return Outline(functions, classes, _joined([(start, each.module) for start, each in found]))


def _outline(plain: str) -> Outline:
    functions: list[Item] = []
    classes: list[Class] = []
    rest: list[tuple[int, Item]] = []
    start = 0
    for piece in _pieces(plain):
        found = _piece(piece)
        functions += [replace(item, start=item.start + start) for item in found.functions]
        classes += found.classes
        if found.rest.lines:
            rest.append((start, found.rest))
        start += len(piece)
    return Outline(tuple(functions), tuple(classes), _joined(rest))


_MARGIN = re.compile(r"^(?=def\b|class\b|async def\b|@)", re.MULTILINE)
_QUOTES = re.compile(r"\"\"\"|'''")
_STRING_ENDS = {quotes: re.compile(rf"(?:[^\\]|\\[\s\S])*?{quotes}") for quotes in ('"""', "'''")}


def _pieces(text: str) -> Iterator[str]:
    """The text cut before each definition at the left margin, but within strings of several lines."""
    start = before = 0  # of the piece, and of the undecided rest
    opened = ""  # the quotes of a string that began before
    for cut in (match.start() for match in _MARGIN.finditer(text)):
        part = text[before:cut]
        if opened:
            closed = _STRING_ENDS[opened].match(part)
            if closed is None:
                before = cut
                continue
            part, opened = part[closed.end() :], ""
        elif not part or (part.lstrip().startswith("@") and _is_decorators(part)):
            before = cut
            continue
        opened = _open_string(part) if _QUOTES.search(part) else ""
        if not opened:
            yield text[start:cut]
            start = cut
        before = cut
    yield text[start:]


def _is_decorators(part: str) -> bool:
    """True if some lines contain only decorators of the text after them."""
    tokens = tokenize(part)
    return all(tokens.texts[line.first] == "@" for line in tokens.lines)


@query(size=8192)
def _open_string(part: str) -> str:
    """The quotes of a string of several lines that goes on beyond some text, or an empty string."""
    last = tokenize(part).texts[-1:]
    opened = last[0].lstrip("rRbBuUfF") if last else ""
    quotes = opened[:3]
    whole = quotes not in _STRING_ENDS or (len(opened) > 5 and opened.endswith(quotes))
    return "" if whole else quotes


@query(size=8192)
def _piece(text: str) -> _Piece:
    """Functions, classes and other code in a run of text."""
    tokens = tokenize(text)
    cutter = _Cutter(tokens)
    rest = cutter.block(0, len(tokens.lines), "", "")
    functions = tuple(sorted(cutter.functions, key=lambda item: item.start))
    return _Piece(text, functions, tuple(cutter.classes), _item(tokens, MODULE, "", rest))


@query(size=8192)
def _words(item: Item) -> frozenset[str]:
    return frozenset(item.texts)


@query(size=8192)
def plain_calls(item: Item) -> tuple[tuple[str, Mapping[int | str, str]], ...]:
    """The calls of functions by a name alone: that, and the arguments that are a variable or an attribute of
    one, by position or keyword."""
    texts = item.texts
    found: list[tuple[str, Mapping[int | str, str]]] = []
    for at, name in enumerate(texts[:-1]):
        if texts[at + 1] != "(" or not name.isidentifier() or texts[max(at - 1, 0)] in _NO_CALL:
            continue
        given = {
            key: "".join(words)
            for key, words in _arguments(texts, at + 2)
            if all(word == "." or (word.isidentifier() and not iskeyword(word)) for word in words)
        }
        if given:
            found.append((name, given))
    return tuple(found)


_NO_CALL = (".", "def", "class")
_CLOSING = {")": -1, "]": -1, "}": -1, "(": 1, "[": 1, "{": 1}


def _arguments(texts: tuple[str, ...], start: int) -> Iterator[tuple[int | str, tuple[str, ...]]]:
    """The arguments of a call whose parenthesis is open at a token, by position or keyword; none behind
    `*x`."""
    depth, first, position = 0, start, 0
    for at in range(start, len(texts)):
        depth += _CLOSING.get(texts[at], 0)
        if depth > 0 or (depth == 0 and texts[at] != ","):
            continue
        words = texts[first:at]
        if words[:1] in (("*",), ("**",)):
            return
        if words[1:2] == ("=",):
            yield words[0], words[2:]
        elif words:
            yield position, words
        if depth < 0:
            return
        first, position = at + 1, position + 1


def _joined(parts: list[tuple[int, Item]]) -> Item:
    """The code outside of functions as one item."""
    texts: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    lines: list[Line] = []
    for offset, part in parts:
        shift, before = offset + part.start, len(texts)
        texts += part.texts
        starts += [at + shift for at in part.starts]
        ends += [at + shift for at in part.ends]
        lines += [Line(one.first + before, one.last + before, one.indent) for one in part.lines]
    return _made(MODULE, "", texts, starts, ends, lines)


@dataclass(slots=True)
class _Cutter:
    tokens: Tokens
    functions: list[Item] = field(default_factory=list[Item])
    classes: list[Class] = field(default_factory=list[Class])

    def block(self, first: int, last: int, prefix: str, owner: str) -> list[Line]:
        """Take the definitions out of some lines; the lines that are left."""
        lines, rest = self.tokens.lines, list[Line]()
        number = first
        while number < last:
            header, defines = self._header(number, last)
            if not defines:
                following = max(header, number + 1)
                rest += lines[number:following]
                number = following
                continue
            end = self._end(header, last)
            self._definition(number, header, end, prefix, owner)
            rest.append(Line(lines[number].first, lines[number].first, lines[number].indent))
            number = end
        return rest

    def _header(self, number: int, last: int) -> tuple[int, bool]:
        """The line that the line is, or is a decorator of, and whether it is a `def` or `class`."""
        texts, lines = self.tokens.texts, self.tokens.lines
        while number < last and texts[lines[number].first] == "@":
            number += 1
        if number == last:
            return number, False
        word = texts[lines[number].first]
        following = texts[lines[number].first + 1 : min(lines[number].first + 2, lines[number].last)]
        return number, word in ("def", "class") or (word == "async" and following[:1] == ("def",))

    def _end(self, header: int, last: int) -> int:
        lines = self.tokens.lines
        end = header + 1
        while end < last and lines[end].indent > lines[header].indent:
            end += 1
        return end

    def _definition(self, first: int, header: int, end: int, prefix: str, owner: str) -> None:
        texts, lines = self.tokens.texts, self.tokens.lines
        words = texts[lines[header].first : lines[header].last]
        at = 2 if words[0] == "async" else 1
        name = prefix + (words[at] if len(words) > at and words[at].isidentifier() else "?")
        if words[0] == "class":
            rest = self.block(header + 1, end, f"{name}.", name)
            own = _item(self.tokens, name, "", rest)
            bases = tuple(word for word in words[at + 1 :] if word.isidentifier())
            methods = tuple(item for item in self.functions if item.owner == name)
            above = texts[lines[first].first : lines[header].first]
            self.classes.append(Class(name, bases, own, methods, tuple(above)))
            return
        self.functions.append(_item(self.tokens, name, owner, lines[first:end]))
        self.block(header + 1, end, f"{name}.", "")


def _item(tokens: Tokens, name: str, owner: str, lines: list[Line] | tuple[Line, ...]) -> Item:
    base = lines[0].indent if lines and name != MODULE else 0
    texts: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    own: list[Line] = []
    for line in lines:
        first = len(texts)
        texts += tokens.texts[line.first : line.last]
        starts += tokens.starts[line.first : line.last]
        ends += tokens.ends[line.first : line.last]
        own.append(Line(first, len(texts), max(0, line.indent - base)))
    return _made(name, owner, texts, starts, ends, own)


def _made(
    name: str, owner: str, texts: list[str], starts: list[int], ends: list[int], lines: list[Line]
) -> Item:
    start = starts[0] if starts else 0
    shifted = tuple(at - start for at in starts), tuple(at - start for at in ends)
    code = digest(name, owner, texts, lines)
    return Item(digest(code, *shifted), code, name, owner, tuple(texts), tuple(lines), start, *shifted)


def loop_lines(item: Item) -> Iterator[tuple[int, Line]]:
    """The numbered lines of an item that begin with `for` or `while`, but those in other functions."""
    inside: int | None = None
    for number, line in enumerate(item.lines):
        if inside is not None and line.indent <= inside:
            inside = None
        words = item.texts[line.first : min(line.first + 2, line.last)]
        word = words[1] if words[:1] == ("async",) and len(words) > 1 else (words[0] if words else "")
        if (
            word in ("def", "class")
            and inside is None
            and (line.first > 0 and not _is_decorated(item, number))
        ):
            inside = line.indent
        elif word in ("for", "while") and inside is None:
            yield number, line


def _is_decorated(item: Item, number: int) -> bool:
    """True if the line is the item's `def`, after its decorators."""
    before = islice(item.lines, number)
    return all(item.texts[line.first] == "@" for line in before if line.last > line.first)
