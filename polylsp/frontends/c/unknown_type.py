"""Names that stand where only a type or an attribute can, near the place where a function does not parse."""

from __future__ import annotations


def unknown_type(tokens: tuple[str, ...], position: int, types: frozenset[str]) -> int | None:
    """The index near `position` of a name that is used as a type and is none of `types`."""
    for index in (position - 1, position, position - 2):
        if not 0 <= index < len(tokens) - 1 or not _is_name(tokens[index]) or tokens[index] in types:
            continue
        if (_declares(tokens, index) or _casts(tokens, index)) and not _is_variable(tokens, index):
            return index
    return None


def unknown_attribute(tokens: tuple[str, ...], position: int, types: frozenset[str]) -> int | None:
    """The index near `position` of a name in a function's header that only an attribute can be: `X void f()`,
    `double *X a`, `int X f()`."""
    body = tokens.index("{") if "{" in tokens else len(tokens)
    for index in (position - 1, position, position - 2):
        if not 0 <= index < body - 1 or not tokens[index] or not _is_name(tokens[index]):
            continue
        if tokens[index] in types or tokens.count(tokens[index]) > tokens[:body].count(tokens[index]):
            continue
        before, after = tokens[index - 1] if index else "(", tokens[index + 1]
        specifies = before in ("(", ",", "static", "extern", "inline", "const") and after in _SPECIFIERS
        qualifies = (before == "*" or before in _TYPES) and _is_name(after)
        if specifies or qualifies:
            return index
    return None


def without_attribute(declaration: tuple[str, ...], name: str) -> tuple[str, ...] | None:
    """A declaration without a name that only an attribute can be; `None` if it may be a type."""
    index = declaration.index(name)
    before = declaration[index - 1] if index else ";"
    if declaration[index + 1] in _SPECIFIERS and before in (";", "static", "extern", "inline"):
        return (*declaration[:index], *declaration[index + 1 :])
    return None


def _declares(tokens: tuple[str, ...], index: int) -> bool:
    """True if another name follows, and the token before lets a declaration begin."""
    before = tokens[index - 1] if index else ";"
    if before in ("(", ",") and "{" in tokens[:index]:
        return before == "(" and index > 1 and tokens[index - 2] == "for" and _is_name(_after(tokens, index))
    return before in _BEFORE_DECLARATION and _is_name(_after(tokens, index))


def _casts(tokens: tuple[str, ...], index: int) -> bool:
    if index == 0 or tokens[index - 1] != "(":
        return False
    if tokens[index + 1] == "*":
        return _after(tokens, index) == ")"
    before, after = tokens[index - 2] if index > 1 else ";", tokens[index + 2 : index + 3]
    operand = bool(after) and (_is_name(after[0]) or after[0][0].isdigit())
    return tokens[index + 1] == ")" and operand and before in _BEFORE_CAST


def _is_variable(tokens: tuple[str, ...], index: int) -> bool:
    """True if the name was declared before: then it is no type, and another token is missing."""
    return any(
        tokens[k] == tokens[index]
        and (tokens[k - 1] == "*" or tokens[k - 1] in _KEYWORDS or _is_name(tokens[k - 1]))
        and tokens[k + 1] in (",", ")", ";", "=", "[")
        for k in range(1, index)
    )


def _after(tokens: tuple[str, ...], index: int) -> str:
    """The token after the stars that follow."""
    after = index + 1
    while after < len(tokens) - 1 and tokens[after] == "*":
        after += 1
    return tokens[after]


_BEFORE_DECLARATION = frozenset((";", "{", "}", "(", ",", "const", "static", "extern", "inline", "register"))


_BEFORE_CAST = frozenset("( , = + - * / % < > <= >= == != && || & | ^ ? : return [ += -= *= /=".split())  # noqa: SIM905
_TYPES = frozenset("char double float int long short signed unsigned void _Bool".split())  # noqa: SIM905
_SPECIFIERS = _TYPES | frozenset(("struct", "union", "enum", "const", "static", "extern", "inline"))


def _is_name(token: str) -> bool:
    word = token != "" and (token[0].isalpha() or token[0] == "_")
    return word and token not in _KEYWORDS and token[-1] not in "\"'"


_KEYWORDS = frozenset(
    "auto break case char const continue default do double else enum extern float for goto if inline int "  # noqa: SIM905
    "long register restrict return short signed sizeof static struct switch typedef union unsigned void "
    "volatile while _Bool _Complex".split()
)
