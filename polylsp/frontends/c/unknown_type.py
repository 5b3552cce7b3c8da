"""Finds a name that stands where only a type can, near the place where a function does not parse."""

from __future__ import annotations


def unknown_type(tokens: tuple[str, ...], position: int, types: frozenset[str]) -> int | None:
    """The index near `position` of a name that is used as a type and is none of `types`."""
    for index in (position - 1, position, position - 2):
        if not 0 <= index < len(tokens) - 1 or not _is_name(tokens[index]) or tokens[index] in types:
            continue
        if (_declares(tokens, index) or _casts(tokens, index)) and not _is_variable(tokens, index):
            return index
    return None


def _declares(tokens: tuple[str, ...], index: int) -> bool:
    """Whether another name follows, and what stands before lets a declaration begin."""
    before = tokens[index - 1] if index else ";"
    if before in ("(", ",") and "{" in tokens[:index]:
        return before == "(" and index > 1 and tokens[index - 2] == "for" and _is_name(_after(tokens, index))
    return before in _BEFORE_DECLARATION and _is_name(_after(tokens, index))


def _casts(tokens: tuple[str, ...], index: int) -> bool:
    between = tokens[index + 1] == "*" and _after(tokens, index) == ")"
    return between and index > 0 and tokens[index - 1] == "("


def _is_variable(tokens: tuple[str, ...], index: int) -> bool:
    """Whether the name was declared before: then it is no type, and something else is missing."""
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


def _is_name(token: str) -> bool:
    return (token[0].isalpha() or token[0] == "_") and token not in _KEYWORDS and token[-1] not in "\"'"


_KEYWORDS = frozenset(
    "auto break case char const continue default do double else enum extern float for goto if inline int "  # noqa: SIM905
    "long register restrict return short signed sizeof static struct switch typedef union unsigned void "
    "volatile while _Bool _Complex".split()
)
