"""Where and why a function's tokens are not C, in words."""

from __future__ import annotations

from functools import lru_cache

import tree_sitter_c
from tree_sitter import Language, Node, Parser

from polylsp.frontends.c.brackets import matching_brackets
from polylsp.model.program import Site
from polylsp.model.rejection import Rejection


def syntax_error(tokens: tuple[str, ...], position: int, types: frozenset[str]) -> Rejection:
    """The rejection for tokens that the parser declined at or just after `position`."""
    if not tokens:
        return Rejection("syntax-error", Site(0, 0), "there is nothing here", "")
    unknown = _unknown_type(tokens, position, types)
    if unknown is not None:
        return Rejection(
            "syntax-error",
            Site(unknown, unknown),
            f"`{tokens[unknown]}` is used as a type but is not declared",
            "include the header that declares it, or tell polylsp where it is with `-I`",
        )
    text = next((k for k, token in enumerate(tokens) if _is_open_text(token)), None)
    if text is not None:
        return _at(text, "this string or character is never closed")
    bracket = _unmatched(tokens)
    if bracket is not None:
        verb = "is never closed" if tokens[bracket] in ("(", "[", "{") else "closes nothing"
        return _at(bracket, f"this `{tokens[bracket]}` {verb}")
    node = _first_error(_tree(tokens))
    row = min(node.start_point[0], len(tokens) - 1) if node is not None else position
    if node is not None and node.is_missing and row <= position + 1:
        # What is missing stands after the token before it: that is where a person looks.
        after = max(0, row - 1) if node.start_point[1] == 0 else row
        return _at(after, f"expected `{node.type}` after `{tokens[after]}`")
    inside = node is None or row > position or node.start_point[0] <= position <= node.end_point[0]
    at = position if inside else row
    return _at(at, f"syntax error at `{tokens[at]}`")


def _at(index: int, message: str) -> Rejection:
    return Rejection("syntax-error", Site(index, index), message, "correct the syntax of this function")


def _is_open_text(token: str) -> bool:
    """Whether a string or character literal lacks its closing quote."""
    quote = next((c for c in token if c in "\"'"), "")
    return bool(quote) and (token.count(quote) < 2 or not token.endswith(quote))


def _unmatched(tokens: tuple[str, ...]) -> int | None:
    """The innermost bracket without a partner, or `None`."""
    match = matching_brackets(tokens)
    alone = [
        k for k, token in enumerate(tokens) if token in ("(", "[", "{", ")", "]", "}") and k not in match
    ]
    return alone[-1] if alone else None


@lru_cache(maxsize=1)
def _parser() -> Parser:
    return Parser(Language(tree_sitter_c.language()))


def _tree(tokens: tuple[str, ...]) -> Node:
    return _parser().parse("\n".join(tokens).encode("utf-8", "replace")).root_node


def _first_error(root: Node) -> Node | None:
    """The error that stands first in the text; a missing token is more telling than the rest."""
    found: list[Node] = []
    pending = [root]
    while pending:
        node = pending.pop()
        if node.is_missing or node.is_error:
            found.append(node)
        if node.has_error:
            pending.extend(node.children)
    return min(found, key=lambda n: (n.start_byte, not n.is_missing), default=None)


def _unknown_type(tokens: tuple[str, ...], position: int, types: frozenset[str]) -> int | None:
    """The index near `position` of a name that stands where only a type can."""
    for index in (position - 1, position, position - 2):
        if not 0 <= index < len(tokens) - 1 or not _is_name(tokens[index]) or tokens[index] in types:
            continue
        before = tokens[index - 1] if index else ";"
        after = index + 1
        while after < len(tokens) - 1 and tokens[after] == "*":
            after += 1
        declares = before in _BEFORE_DECLARATION and _is_name(tokens[after])
        casts = before == "(" and after > index + 1 and tokens[after] == ")"
        if declares or casts:
            return index
    return None


_BEFORE_DECLARATION = frozenset((";", "{", "}", "(", ",", "const", "static", "extern", "inline", "register"))


def _is_name(token: str) -> bool:
    return (token[0].isalpha() or token[0] == "_") and token not in _KEYWORDS and token[-1] not in "\"'"


_KEYWORDS = frozenset(
    "auto break case char const continue default do double else enum extern float for goto if inline int "  # noqa: SIM905
    "long register restrict return short signed sizeof static struct switch typedef union unsigned void "
    "volatile while _Bool _Complex".split()
)
