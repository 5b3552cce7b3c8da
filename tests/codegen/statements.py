"""End of a statement of C, from its text alone."""

from __future__ import annotations

import re

_BLANK = re.compile(r"(?:\s|//[^\n]*|/\*.*?\*/|#(?:[^\n\\]|\\\n|\\)*)*", re.DOTALL)
_OPAQUE = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'", re.DOTALL)
_HEADER = re.compile(r"(for|while|if|[A-Z_]+)\b\s*\(")


def statement_end(text: str, start: int) -> int:
    """Offset after the statement that follows `start`: a block, a loop or an `if` with its branches, or an
    expression. A macro in capitals is a loop."""
    at = _BLANK.match(text, start).end()  # type: ignore[union-attr]
    if text[at : at + 1] == "{":
        return _closing(text, at) + 1
    header = _HEADER.match(text, at)
    if header is None:
        return _closing(text, at, ";") + 1
    end = statement_end(text, _closing(text, header.end() - 1) + 1)
    follows = _BLANK.match(text, end).end()  # type: ignore[union-attr]
    if header[1] == "if" and re.match(r"else\b", text[follows:]):
        return statement_end(text, follows + 4)
    return end


def _closing(text: str, at: int, wanted: str = "") -> int:
    """The offset of the bracket that closes the one at `at`, or of the next `wanted` in no bracket."""
    depth = 0
    while at < len(text):
        opaque = _OPAQUE.match(text, at)
        if opaque is not None:
            at = opaque.end()
            continue
        depth += (text[at] in "([{") - (text[at] in ")]}")
        if depth == 0 and (text[at] == wanted if wanted else text[at] in ")]}"):
            return at
        at += 1
    raise ValueError("a statement has no end")
