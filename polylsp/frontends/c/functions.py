"""Lowering of a C function's tokens to the program of the model.

A function that does not parse yields its problem, its name and outlines of its loops, found by
keywords and brackets.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from pycparser import c_ast

from polylsp.frontends.c.declarations import changed_names, declare_file_level, declare_parameters
from polylsp.frontends.c.declarators import prototype
from polylsp.frontends.c.lowering_context import Context, Prototype, Scope, Sites, escaped, token_of
from polylsp.frontends.c.parser import Parsed, parse, too_deep
from polylsp.frontends.c.row_pointers import with_row_pointers
from polylsp.frontends.c.statements import runs_once, statements
from polylsp.frontends.c.tokens import matching_brackets
from polylsp.frontends.c.top_level import Declaration
from polylsp.frontends.c.types import watched_variables
from polylsp.ir.effects import walk
from polylsp.ir.program import (
    Assign,
    Block,
    Function,
    Loop,
    Pointer,
    Rejection,
    Site,
    Statement,
    Unsupported,
)


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


# --------------------------------------------------------------------------------------------------
# A function's tokens to the program of the model.
# --------------------------------------------------------------------------------------------------


def lower(
    tokens: tuple[str, ...],
    declarations: tuple[Declaration, ...],
    own: frozenset[str] = frozenset(),
    per_thread: frozenset[str] = frozenset(),
) -> Function:
    """The program of one function. One that does not parse has a problem and its loops' headers.

    `own` are the functions that the file defines: a `hypot` among them is not the library's (only names of
    the library matter, see `builtins.in_library`, those that the linker may replace, and `signgam`, which
    one of them names); `per_thread` names thread-local variables.
    """
    parsed = parse(tokens, tuple(one for one in declarations if not _is_heading(one, tokens)))
    if isinstance(parsed, Rejection):
        return rejected(tokens, parsed)
    try:
        return _lower(tokens, parsed, own, per_thread)
    except RecursionError:
        return rejected(tokens, too_deep(tokens))


def _is_heading(declaration: Declaration, tokens: tuple[str, ...]) -> bool:
    """True if a declaration says what the heading of the function says itself."""
    heading = declaration.tokens[:-1]
    return (
        tokens[: len(heading)] == heading
        and tokens[len(heading) : len(heading) + 1] == ("{",)
        and not (declaration.attributes or declaration.definition)
    )


def rejected(tokens: tuple[str, ...], rejection: Rejection) -> Function:
    """Function with nothing but its name and the outlines of its loops."""
    name, site = function_name(tokens)
    whole = Site(0, max(0, len(tokens) - 1))
    body = Unsupported(rejection, whole, loop_outlines(tokens, rejection))
    return Function(name, (), Block((body,)), site, (rejection,))


def _lower(
    tokens: tuple[str, ...], parsed: Parsed, own: frozenset[str], per_thread: frozenset[str]
) -> Function:
    """Lower once, and a second time if addresses escape: the first pass determines which."""
    sites = Sites(tokens)
    ordinals = _ordinals(parsed.definition, sites.words)
    jumped_to = _jumped_to(parsed.definition, sites.words)
    changed = changed_names(parsed.definition.body) if "sizeof" in sites.words else frozenset[str]()

    watched = watched_variables(sites.words | own)

    def once(escaping: frozenset[str]) -> tuple[Function, Context]:
        return _once(Context(sites, escaping, ordinals, jumped_to, per_thread, changed, watched), parsed, own)

    function, context = once(frozenset())
    escaping = escaped(context)
    return once(escaping)[0] if escaping else function


def _once(context: Context, parsed: Parsed, own: frozenset[str]) -> tuple[Function, Context]:
    definition = parsed.definition
    for source, tree in parsed.declarations:
        declare_file_level(context, tree, source, own)
    decl = definition.decl
    called = prototype(context, decl.name, decl.type, False, False)
    known = context.scopes[-1].names.get(decl.name)
    replaceable = known.replaceable if isinstance(known, Prototype) else ""
    context.scopes[-1].names[decl.name] = replace(called, defined=True, replaceable=replaceable)
    context.result = called.result
    context.scopes.append(Scope())
    parameters, before = declare_parameters(context, definition)
    body = Block((*before, *statements(context, definition.body.block_items)))
    stores = (s.target for s in walk(body) if isinstance(s, Assign) and s.target.steps)
    if any(isinstance(target.type, Pointer) for target in stores):
        body = with_row_pointers(body, context)
    name_site = Site(max(0, decl.coord.line), max(0, decl.coord.line))
    return Function(decl.name, parameters, body, name_site, parsed.problems), context


def _ordinals(definition: Any, words: frozenset[str]) -> dict[int, int]:
    """The number of each loop of the function, in source order; `do { } while (0)` is none."""
    if words.isdisjoint(("for", "while")):
        return {}
    loops = (each for each in _statements(definition) if isinstance(each, _LOOPS))
    found = [each for each in loops if not runs_once(each)]
    found.sort(key=token_of)
    return {id(node): number for number, node in enumerate(found, 1)}


def _jumped_to(definition: Any, words: frozenset[str]) -> Counter[str]:
    """The number of `goto`s to each label."""
    if "goto" not in words:
        return Counter()
    return Counter(each.name for each in _statements(definition) if isinstance(each, c_ast.Goto))


_LOOPS = (c_ast.For, c_ast.While, c_ast.DoWhile)
_COMPOUND = (*_LOOPS, c_ast.Compound, c_ast.If, c_ast.Switch, c_ast.Case, c_ast.Default, c_ast.Label)
"""The statements that have others inside."""


def _statements(definition: Any) -> Iterator[Any]:
    """The statements of a function, at any depth, and the expressions directly in them."""
    pending = [definition.body]
    while pending:
        node = pending.pop()
        yield node
        if isinstance(node, _COMPOUND):
            pending.extend(node)
