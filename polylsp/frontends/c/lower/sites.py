"""Sites of the nodes of a pycparser tree: intervals of the function's token list.

A node of pycparser has one token, often not its first, and never its last. Both are found again from the tree
and the brackets of the token list.
"""

from __future__ import annotations

from typing import Any

from pycparser import c_ast

from polylsp.frontends.c.brackets import matching_brackets
from polylsp.model.program import Site


class Sites:
    """The token list of a function, its matching brackets, and the sites of nodes."""

    def __init__(self, tokens: tuple[str, ...]):
        self.tokens = tokens
        self.words = frozenset(tokens)
        self.match = matching_brackets(tokens)
        self._known: dict[int, tuple[int, int, Any]] = {}

    def of(self, node: Any) -> Site:
        """The tokens of an expression, widened until its brackets are closed."""
        first, last = self._bounds(node)
        if first < 0:
            return Site(0, 0)
        return self._balanced(first, max(first, last))

    def parentheses_after(self, keyword: int) -> Site:
        """`for (...)`: from a keyword to the end of the parentheses that follow it."""
        opening = keyword + 1
        return Site(keyword, self.match.get(opening, opening))

    def until(self, index: int, closing: str) -> int:
        """The first `closing` at or after `index` outside of brackets opened on the way."""
        while index < len(self.tokens) and self.tokens[index] != closing:
            if self.tokens[index] in "([{" and index in self.match:
                index = self.match[index]
            index += 1
        return min(index, len(self.tokens) - 1)

    def text(self, site: Site) -> str:
        """The spelling of some tokens, spaced for reading."""
        return spelled(self.tokens[site.first : site.last + 1])

    def _balanced(self, first: int, last: int) -> Site:
        index = first
        while index <= last:
            partner = self.match.get(index)
            if partner is not None:
                last = max(last, partner)
                if partner < first:
                    first, index = partner, partner
                    continue
            index += 1
        return Site(first, last)

    def _bounds(self, node: Any) -> tuple[int, int]:
        known = self._known.get(id(node))
        if known is None:
            known = (*self._find(node), node)
            self._known[id(node)] = known
        return known[0], known[1]

    def _find(self, node: Any) -> tuple[int, int]:
        line = node.coord.line if getattr(node, "coord", None) is not None else -1
        match node:
            case c_ast.UnaryOp():
                return self._unary(node, line)
            case c_ast.BinaryOp():
                return self._bounds(node.left)[0], self._bounds(node.right)[1]
            case c_ast.Assignment():
                return self._bounds(node.lvalue)[0], self._bounds(node.rvalue)[1]
            case c_ast.TernaryOp():
                return self._bounds(node.cond)[0], self._bounds(node.iffalse)[1]
            case c_ast.ArrayRef():
                return self._bounds(node.name)[0], self._skip(self._bounds(node.subscript)[1] + 1, "]")
            case c_ast.StructRef():
                return self._bounds(node.name)[0], node.field.coord.line
            case c_ast.FuncCall():
                first, last = self._bounds(node.name)
                opening = self._skip(last + 1, "(")
                return first, self.match.get(opening, opening)
            case c_ast.ExprList():
                return self._bounds(node.exprs[0])[0], self._bounds(node.exprs[-1])[1]
            case c_ast.Cast():
                return line, self._bounds(node.expr)[1]
            case c_ast.CompoundLiteral():
                return line, self.match.get(self.match.get(line, line) + 1, line)
            case c_ast.Compound():
                return line, self.match.get(line, line)
            case c_ast.InitList():
                return self._list(node, line)
            case c_ast.NamedInitializer():
                return self._bounds(node.expr)
            case c_ast.Constant() if node.type == "string":
                return line, self._strings(line)
            case _:
                return line, line

    def _unary(self, node: Any, line: int) -> tuple[int, int]:
        if node.op in ("p++", "p--"):
            first, last = self._bounds(node.expr)
            return first, self._skip(last + 1, node.op[1:])
        if node.op in ("sizeof", "_Alignof"):
            if isinstance(node.expr, c_ast.Typename):
                return line, self.match.get(line + 1, line)
            return line, self._bounds(node.expr)[1]
        first, last = self._bounds(node.expr)
        before = first - 1
        while before > 0 and self.tokens[before] == "(":
            before -= 1
        return (before if before >= 0 and self.tokens[before] == node.op else first), last

    def _list(self, node: Any, line: int) -> tuple[int, int]:
        if line < 0 or self.tokens[line] == "{":
            return line, self.match.get(line, line)
        opening = line
        while opening > 0 and self.tokens[opening] != "{":
            opening -= 1
        return opening, self.match.get(opening, line)

    def _skip(self, index: int, wanted: str) -> int:
        while 0 <= index < len(self.tokens) and self.tokens[index] == ")" and wanted != ")":
            index += 1
        return min(index, len(self.tokens) - 1)

    def _strings(self, line: int) -> int:
        while line + 1 < len(self.tokens) and self.tokens[line + 1].endswith('"'):
            line += 1
        return line


def token_of(node: Any) -> int:
    """The token that the coordinate of a node names: the keyword of a statement."""
    return node.coord.line


def spelled(tokens: tuple[str, ...]) -> str:
    """Tokens as one line of C, spaced as a person would write it (nearly)."""
    line = ""
    for index, token in enumerate(tokens):
        before = tokens[index - 1] if index else ""
        called = token == "(" and (before[-1:].isalnum() or before[-1:] in "_)]") and before not in _KEYWORDS
        if not line or token in _NO_SPACE_BEFORE or before in _NO_SPACE_AFTER or called:
            line += token
        elif token in _UNARY and index and _is_operator(before):
            line += " " + token
        elif before in _UNARY and (index == 1 or _is_operator(tokens[index - 2])):
            line += token
        else:
            line += " " + token
    return line


_NO_SPACE_BEFORE = frozenset((")", "]", ",", ";", "[", ".", "->", "++", "--"))
_NO_SPACE_AFTER = frozenset(("(", "[", ".", "->", "!", "~"))
_UNARY = frozenset(("-", "+", "*", "&", "++", "--"))
_KEYWORDS = frozenset(("for", "while", "if", "switch", "return", "do", "else"))


def _is_operator(token: str) -> bool:
    return (
        token in _NO_SPACE_AFTER
        or token in _KEYWORDS
        or (not token[-1:].isalnum() and token[-1:] not in "_)]\"'}" and token not in ("++", "--"))
    )
