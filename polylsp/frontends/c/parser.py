"""A function's expanded tokens to a pycparser tree whose coordinates are token indices.

The parser is fed the tokens themselves, so no text is put together and scanned again: the
line of a node's coordinate is the index of its token in the function; tokens of the
declarations before it have negative lines.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from pycparser import c_ast
from pycparser.c_parser import CParser, ParseError

from polylsp.frontends.c.syntax_errors import (
    syntax_error,
    undeclared_type,
    unknown_attribute,
    unknown_type,
    without_attribute,
)
from polylsp.frontends.c.tokens import DROPPED, Lexer, classify, known_types, matching_brackets
from polylsp.frontends.c.top_level import Declaration, opaque_type
from polylsp.ir.program import Rejection, Site


@dataclass(frozen=True, slots=True)
class Parsed:
    """Tree of a function (`FuncDef`) and those of its declarations, each with its source; `problems`:
    undeclared names, of which only the role in the syntax is determined."""

    definition: Any
    declarations: tuple[tuple[Declaration | None, Any], ...]
    problems: tuple[Rejection, ...] = ()


def parse(tokens: tuple[str, ...], declarations: Sequence[Declaration]) -> Parsed | Rejection:
    """The tree of one function; a declaration that does not parse is left out."""
    if len(tokens) > _TOKEN_LIMIT:
        return Rejection("budget", _header(tokens), "this function is too long to be analysed", _SPLIT)
    if len(tokens) > _CHAIN and _longest_chain(tokens) > _CHAIN:
        return too_deep(tokens)
    return _parsed_in_parts(tokens, declarations) or _parsed_as_one(tokens, declarations)


def _parsed_in_parts(tokens: tuple[str, ...], declarations: Sequence[Declaration]) -> Parsed | None:
    """The trees where every part parses by itself, given the types declared before it. The declarations of
    the headers are those of many functions, and are parsed once."""
    types: set[str] = set()
    before: list[tuple[Declaration | None, Any]] = []
    for declaration in declarations:
        trees = _trees(declaration.tokens, frozenset(types.intersection(declaration.tokens)))
        if trees is None:
            return None
        before += [(declaration, tree) for tree in trees]
        types.update(tree.name for tree in trees if isinstance(tree, c_ast.Typedef))
    own = _definition(tokens, frozenset(types.intersection(tokens)))
    found = None if own is None else _split(own, {})
    return None if found is None else replace(found, declarations=(*before, *found.declarations))


@lru_cache(maxsize=8192)
def _trees(tokens: tuple[str, ...], types: frozenset[str]) -> tuple[Any, ...] | None:
    """See `_trees_of`. Nothing changes a tree."""
    return _trees_of(tokens, types, is_definition=False)


def _definition(tokens: tuple[str, ...], types: frozenset[str]) -> tuple[Any, ...] | None:
    """The trees of a definition, see `_trees_of`: those of a definition that differs from it in its name and
    in plain numbers alone, with its own put in. That one's are no longer in use."""
    found = next((k for k, token in enumerate(tokens) if token == "("), 0) - 1
    name = found if found >= 0 and tokens[found] not in types and tokens.count(tokens[found]) == 1 else -1
    masked = list(tokens)
    numbers: list[int] = []
    for k, token in enumerate(tokens):
        if token[:1].isdigit() and (plain := _PLAIN_NUMBER.fullmatch(token)):
            masked[k] = "1" if plain[1] else "1.0"
            numbers.append(k)
    if name >= 0:
        masked[name] = "f"
    key = tuple(masked), types
    template = _templates.pop(key, None)
    trees = _trees_of(tokens, types, is_definition=True) if template is None else template.put_in(tokens)
    if template is None and key in _seen and trees is not None:
        template = _template_of(trees, tokens, name, numbers)
    if template is not None:
        _templates[key] = template
    _seen[key] = None
    for kept in (_seen, _templates):
        if len(kept) > _MOST_TEMPLATES:
            del kept[next(iter(kept))]
    return trees


_PLAIN_NUMBER = re.compile(r"([1-9]\d*)|\d+\.\d*")


@dataclass(frozen=True, slots=True)
class _Template:
    """The trees of a definition with the nodes that have its name and its plain numbers, each with its token
    (numbers) or attribute (the name, which is the token `name`)."""

    trees: tuple[Any, ...]
    numbers: tuple[tuple[Any, int], ...]
    named: tuple[tuple[Any, str], ...]
    name: int

    def put_in(self, tokens: tuple[str, ...]) -> tuple[Any, ...]:
        """The trees with the name and the numbers of other tokens."""
        for node, token in self.numbers:
            node.value = tokens[token]
        for node, attribute in self.named:
            setattr(node, attribute, tokens[self.name])
        return self.trees


_MOST_TEMPLATES = 256
_Shape = tuple[tuple[str, ...], frozenset[str]]
_templates: dict[_Shape, _Template] = {}
_seen: dict[_Shape, None] = {}
"""Definitions without their names and numbers, and which names are types in them: most occur once."""


def _template_of(
    trees: tuple[Any, ...], tokens: tuple[str, ...], name: int, numbers: list[int]
) -> _Template | None:
    """The template that trees make; none where they have the name or a number in unexpected places."""
    found: dict[int, Any] = {}
    named: list[tuple[Any, str]] = []
    pending: list[Any] = list(trees)
    while pending:
        node = pending.pop()
        if isinstance(node, c_ast.Constant) and node.coord is not None and node.coord.line in numbers:
            if node.coord.line in found or node.value != tokens[node.coord.line]:
                return None
            found[node.coord.line] = node
        attributes = ("name", "declname") if name >= 0 else ()
        named += ((node, each) for each in attributes if getattr(node, each, None) == tokens[name])
        pending.extend(node)
    kinds = [(type(node), attribute) for node, attribute in named]
    if len(found) != len(numbers) or (name >= 0 and sorted(kinds, key=str) != _NAMING):
        return None
    return _Template(trees, tuple((node, k) for k, node in found.items()), tuple(named), name)


_NAMING = sorted([(c_ast.Decl, "name"), (c_ast.TypeDecl, "declname")], key=str)


def _trees_of(
    tokens: tuple[str, ...], types: Collection[str], *, is_definition: bool
) -> tuple[Any, ...] | None:
    """The trees of some tokens, among which these names are types; `None` if they do not parse. The type of a
    definition may be left out."""
    known = {key: opaque_type(name) for key, name in enumerate(sorted(types))}
    try:
        trees = _parser(Lexer(tokens, known, is_definition=is_definition)).parse("").ext
    except (RecursionError, *_DECLINED):
        return None
    return _functions_and_declarations(trees[len(known) :])


def _parsed_as_one(tokens: tuple[str, ...], declarations: Sequence[Declaration]) -> Parsed | Rejection:
    """The tree of a function, parsed together with its declarations; those that do not parse are left out."""
    kept: dict[int, Declaration] = dict(enumerate(declarations))
    read = tokens
    opaque: list[str] = []
    attributes: list[range] = []
    while True:
        lexer = Lexer(read, kept)
        try:
            trees = _parser(lexer).parse("").ext
        except RecursionError:
            return too_deep(tokens)
        except _DECLINED as error:
            broken = lexer.broken_declaration(str(error))
            position = lexer.position(str(error))
            types = known_types(kept.values())
            if broken is not None:
                name = _undeclared_near(kept, broken, lexer.column(str(error)))
                bare = None if name is None else without_attribute(kept[broken].tokens, name, types)
                if bare is not None:
                    kept[broken] = replace(kept[broken], tokens=bare)
                    continue
                if name is None or len(opaque) >= _MOST_OPAQUE:
                    _leave_out(kept, broken, name)
                    continue
            else:
                attribute = unknown_attribute(read, position, types.difference(opaque))
                if attribute is not None and len(attributes) < _MOST_ATTRIBUTES:
                    attributes.append(attribute)
                    dropped = (DROPPED,) * len(attribute)
                    read = (*read[: attribute.start], *dropped, *read[attribute.stop :])
                    continue
                index = unknown_type(read, position, types)
                if index is None or len(opaque) >= _MOST_OPAQUE:
                    if attributes:
                        return _attribute_problem(tokens, attributes[0])
                    return _explained(read, kept, position, str(error))
                name = read[index]
            opaque.append(name)
            kept = {len(declarations) + len(opaque): opaque_type(name), **kept}
            continue
        problems = [_attribute_problem(tokens, k) for k in attributes]
        problems += [undeclared_type(tokens, read.index(name)) for name in opaque if name in read]
        problems.sort(key=lambda problem: problem.site)
        found = _split(trees, kept)
        return _no_function(tokens) if found is None else replace(found, problems=tuple(problems))


_MOST_OPAQUE = 12  # names: each costs another run of the parser
_MOST_ATTRIBUTES = 64  # words of a function, each of which costs one, too


_TOKEN_LIMIT = 250_000  # more than a second of parsing; generated tables and tests of compilers
_CHAIN = 1000  # `f()()()`, `a[0][0][0]`: deeper than any stack; what is declared so takes the parser long
_SPLIT = "split the function"
_DECLINED = (ParseError, ValueError, AssertionError, AttributeError, TypeError)


def _explained(
    tokens: tuple[str, ...], declarations: dict[int, Declaration], stop: int, reason: str
) -> Rejection:
    """Explanation of the syntax error at the token that the parser declined with this reason."""

    def parser(tried: tuple[str, ...]) -> int:
        lexer = Lexer(tried, declarations)
        try:
            _parser(lexer).parse("")
        except RecursionError:
            return 0
        except _DECLINED as error:
            return lexer.position(str(error))
        return len(tried)

    return syntax_error(tokens, stop, reason, known_types(declarations.values()), parser)


def too_deep(tokens: tuple[str, ...]) -> Rejection:
    """The rejection of a function that nests too deeply to be read."""
    return Rejection(
        "budget",
        Site(0, max(0, len(tokens) - 1)),
        "this function nests its expressions or statements too deeply to be analysed",
        _SPLIT,
    )


def _longest_chain(tokens: tuple[str, ...]) -> int:
    """Length of the longest chain of brackets that follow directly upon each other."""
    partners = matching_brackets(tokens)
    longest = 0
    lengths: dict[int, int] = {}  # of the chains that end before a token
    for index, token in enumerate(tokens):
        if token in ("(", "[") and index in partners:
            length = lengths[partners[index] + 1] = lengths.get(index, 0) + 1
            longest = max(longest, length)
    return longest


def _no_function(tokens: tuple[str, ...]) -> Rejection:
    """The rejection of C that defines no function, as `int (f) { }`."""
    return Rejection("syntax-error", _header(tokens), "this does not define a function")


def _header(tokens: tuple[str, ...]) -> Site:
    return Site(0, max(0, (tokens.index("{") if "{" in tokens else len(tokens)) - 1))


def _attribute_problem(tokens: tuple[str, ...], found: range) -> Rejection:
    """The rejection of a word, or a macro with its arguments, among a function's specifiers that nothing
    declares."""
    text = f"`{tokens[found.start]}` is not declared; it is read as an attribute"
    advice = "include the header that defines it, or tell polylsp where it is with `-I`"
    return Rejection("syntax-error", Site(found.start, found.stop - 1), text, advice)


def _undeclared_near(kept: dict[int, Declaration], broken: int, column: int) -> str | None:
    """The name that a declaration lacks where it does not parse."""
    tokens = kept[broken].tokens
    declared = {name for declaration in kept.values() for name in declaration.names}
    near = (tokens[k] for k in (column - 1, column) if 0 <= k < len(tokens))
    return next((t for t in near if classify(t)[0] == "ID" and t not in declared), None)


def _leave_out(kept: dict[int, Declaration], broken: int, unknown: str | None) -> None:
    """Drop a declaration that does not parse, and all that use the type which it lacks."""
    del kept[broken]
    for key in [k for k, declaration in kept.items() if unknown in declaration.uses]:
        del kept[key]


def _parser(lexer: Lexer) -> CParser:
    return CParser(lexer=lexer.serve)  # pyright: ignore[reportArgumentType]


def _split(trees: Sequence[Any], declarations: dict[int, Declaration]) -> Parsed | None:
    """The last function of the trees, and the declarations before it."""
    trees = _functions_and_declarations(trees)
    for index in range(len(trees) - 1, -1, -1):
        if isinstance(trees[index], c_ast.FuncDef):
            before = tuple((_origin(t, declarations), t) for t in trees[:index])
            return Parsed(trees[index], before)
    return None


def _functions_and_declarations(trees: Sequence[Any]) -> tuple[Any, ...]:
    """The trees without definitions of what is no function, as `int (f) { }`, which the parser accepts."""
    return tuple(
        tree
        for tree in trees
        if not isinstance(tree, c_ast.FuncDef) or isinstance(tree.decl.type, c_ast.FuncDecl)
    )


def _origin(tree: Any, declarations: dict[int, Declaration]) -> Declaration | None:
    coord = getattr(tree, "coord", None)
    return declarations.get(-1 - coord.line) if coord is not None else None
