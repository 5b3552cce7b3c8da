"""Cuts a Python file into functions and the code around them, whatever state its text is in.

Layout decides: a function ends where a line stands no further to the right than its `def`, so a function
that is being typed costs its neighbours nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from polylsp.frontends.python.tokens import Line, Tokens, normalise, tokenize

MODULE = "<module>"
"""The name of the code that stands in no function."""


@dataclass(frozen=True, slots=True)
class Item:
    """A function, or (`MODULE`) the code of the file outside of functions and classes.

    `name` is qualified (`Solver.step`, `outer.inner`); `owner` is the class around a method. `texts` are
    its tokens, which stand at `starts` up to `ends`, relative to `start`, an offset in the file; `lines`
    are its logical lines, their indentation relative to its first.
    """

    name: str
    owner: str
    texts: tuple[str, ...]
    lines: tuple[Line, ...]
    start: int = field(compare=False)
    starts: tuple[int, ...]
    ends: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Class:
    """A class: its name, and the lines of its body that are in no method."""

    name: str
    bases: tuple[str, ...]
    texts: tuple[str, ...]
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class Outline:
    """The functions of a file in source order, its classes, and the rest of it."""

    functions: tuple[Item, ...]
    classes: tuple[Class, ...]
    module: Item


def outline(text: str) -> Outline:
    """The functions, classes and other code of a file."""
    tokens = tokenize(normalise(text))
    cutter = _Cutter(tokens)
    rest = cutter.block(0, len(tokens.lines), "", "")
    functions = tuple(sorted(cutter.functions, key=lambda item: item.start))
    return Outline(functions, tuple(cutter.classes), _item(tokens, MODULE, "", rest))


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
            header = self._header(number, last)
            if header is None:
                rest.append(lines[number])
                number += 1
                continue
            end = self._end(header, last)
            self._definition(number, header, end, prefix, owner)
            rest.append(Line(lines[number].first, lines[number].first, lines[number].indent))
            number = end
        return rest

    def _header(self, number: int, last: int) -> int | None:
        """The line of the `def` or `class` that the line is, or is a decorator of."""
        texts, lines = self.tokens.texts, self.tokens.lines
        while number < last and texts[lines[number].first] == "@":
            number += 1
        if number == last:
            return None
        word = texts[lines[number].first]
        following = texts[lines[number].first + 1 : lines[number].last]
        if word in ("def", "class") or (word == "async" and following[:1] == ("def",)):
            return number
        return None

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
            self.classes.append(Class(name, bases, own.texts, own.lines))
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
    start = starts[0] if starts else 0
    shifted = tuple(at - start for at in starts), tuple(at - start for at in ends)
    return Item(name, owner, tuple(texts), tuple(own), start, *shifted)


def loop_lines(item: Item) -> Iterator[tuple[int, Line]]:
    """The numbered lines of an item that begin with `for` or `while`, but those in other functions."""
    inside: int | None = None
    for number, line in enumerate(item.lines):
        if inside is not None and line.indent <= inside:
            inside = None
        words = item.texts[line.first : line.last]
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
    """Whether the line is the item's own `def`, after its decorators."""
    return all(item.texts[line.first] == "@" for line in item.lines[:number] if line.last > line.first)
