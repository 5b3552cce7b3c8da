"""Outline of a function that does not parse: its name and the places of its loops."""

from __future__ import annotations

from polylsp.frontends.c.brackets import matching_brackets
from polylsp.model.program import Block, Loop, Site, Statement, Unsupported
from polylsp.model.rejection import Rejection


def function_name(tokens: tuple[str, ...]) -> tuple[str, Site]:
    """The name before the first parenthesis, and its place."""
    for index, token in enumerate(tokens[1:], 1):
        if token == "(" and (tokens[index - 1][0].isalpha() or tokens[index - 1][0] == "_"):
            return tokens[index - 1], Site(index - 1, index - 1)
        if token == "{":
            break
    return (tokens[0] if tokens else "?"), Site(0, 0)


def loop_outlines(tokens: tuple[str, ...], rejection: Rejection) -> tuple[Loop, ...]:
    """The loops found by their keywords and brackets, nested as they stand, without content."""
    scan = _Scan(tokens, rejection)
    try:
        scan.until_end(0, len(tokens))
    except RecursionError:
        return ()
    return tuple(scan.found)


class _Scan:
    """A walk over statements that accepts any tokens."""

    def __init__(self, tokens: tuple[str, ...], rejection: Rejection):
        self.tokens = tokens
        self.rejection = rejection
        self.match = matching_brackets(tokens)
        self.count = 0
        self.found: list[Loop] = []

    def until_end(self, index: int, end: int) -> None:
        while index < end:
            # Braces that no loop owns hold nothing but more statements.
            braces = self.tokens[index] in ("{", "}")
            index = max(index + 1, index if braces else self.statement(index, end))

    def statement(self, index: int, end: int) -> int:
        """Read one statement; the index after it."""
        token = self.tokens[index]
        if token in ("for", "while", "do"):
            return self.loop(index, end)
        if token == "{":
            closing = min(self.match.get(index, end), end)
            self.until_end(index + 1, closing)
            return min(closing + 1, end)
        if token in ("if", "switch"):
            return self.after_parentheses(index + 1, end)
        while index < end and self.tokens[index] not in ("{", "}", ";", "for", "while", "do", "if", "else"):
            index = max(index, self.match.get(index, index)) + 1
        if index < end and self.tokens[index] in ("}", ";", "else"):
            index += 1
        return min(index, end)

    def loop(self, index: int, end: int) -> int:
        """A loop with its body; the index after it."""
        self.count += 1
        ordinal, outer = self.count, self.found
        self.found = []
        is_do = self.tokens[index] == "do"
        closing = index if is_do else self.after_parentheses(index + 1, end) - 1
        after = self.statement(closing + 1, end) if closing + 1 < end else end
        if is_do and after < end and self.tokens[after] == "while":
            after = self.after_parentheses(after + 1, end)
            after += after < end and self.tokens[after] == ";"
        name = None if is_do else self.iterator(index, closing)
        inner: tuple[Statement, ...] = tuple(self.found)
        header = Site(index, closing)
        unknown = Block((Unsupported(self.rejection, header), *inner))
        kind = "do" if is_do else "for" if self.tokens[index] == "for" else "while"
        site = Site(index, max(closing, after - 1))
        found = Loop(ordinal, kind, name, Block(), None, unknown, Block(), is_do, header, site)
        self.found = [*outer, found]
        return after

    def after_parentheses(self, index: int, end: int) -> int:
        """The index after `(...)` at `index`, or a guess where it is not closed."""
        if index < end and self.tokens[index] == "(":
            closing = self.match.get(index)
            if closing is not None:
                return min(closing + 1, end)
            while index < end and self.tokens[index] not in ("{", "}"):
                index += 1
        return min(index, end)

    def iterator(self, keyword: int, closing: int) -> str | None:
        """The name that the header counts with `++`, `--`, `+=` or `-=`."""
        for index in range(closing, keyword, -1):
            if self.tokens[index] in ("++", "--", "+=", "-="):
                for near in (index - 1, index + 1):
                    if self.tokens[near][0].isalpha() or self.tokens[near][0] == "_":
                        return self.tokens[near]
        return None
