"""Rewriting of newer syntax, token by token, so that the parser of Python 3.10 reads Python up to 3.14.

Type parameters and `type` statements (PEP 695), `except*` (PEP 654), exceptions without parentheses (758),
fields of f-strings with the quotes of the string (PEP 701), and template strings (PEP 750). The number of
tokens stays, since places in the source are numbers of tokens, and so does all that is evaluated. A parser
for all versions would be a second one beside `ast`, whose trees the front end reads.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from polylsp.frontends.python.words import Line

_FORMATTED = re.compile(r"(?:[fFtT][rR]?|[rR][fFtT])(\"\"\"|'''|\"|')")


def in_older_words(texts: tuple[str, ...], lines: Sequence[Line]) -> tuple[str, ...]:
    """The tokens of a function with others in the place of those that Python 3.10 does not read."""
    found = [_string(text) if _FORMATTED.match(text) else text for text in texts]
    for line in lines:
        words = texts[line.first : line.last]
        head = line.first + (words[:1] == ("async",))
        if words[:1] == ("type",) and len(words) > 3 and words[1].isidentifier() and words[2] in ("=", "["):
            found[line.first], found[line.first + 1] = words[1], ""
            _without_parameters(texts, found, line.first + 2, line.last)
        elif texts[head : head + 1] in (("def",), ("class",)) and head + 2 < line.last:
            _without_parameters(texts, found, head + 2, line.last)
        elif words[:1] == ("except",):
            _plain_except(texts, found, line)
    return tuple(found)


def _without_parameters(texts: Sequence[str], found: list[str], first: int, last: int) -> None:
    """Take the type parameters away that begin with `[` at a token, if they do."""
    depth = 0
    for number in range(first, last):
        depth += (texts[number] == "[") - (texts[number] == "]")
        if not depth and number == first:
            return
        found[number] = ""
        if not depth:
            return


def _plain_except(texts: Sequence[str], found: list[str], line: Line) -> None:
    """`except*` as `except`, and several exceptions in parentheses."""
    first = line.first + 1
    if texts[first : first + 1] == ("*",):
        found[first] = ""
        first += 1
    colon = next((k for k in range(line.last - 1, first, -1) if texts[k] == ":"), first)
    inside = texts[first:colon]
    if "," in inside and "(" not in inside and "as" not in inside:
        found[first] = f"({found[first]}"
        found[colon - 1] = f"{found[colon - 1]})"


def _string(text: str) -> str:
    """A formatted string as an expression that evaluates what its fields do, and gives a string; the string
    itself where Python 3.10 reads it."""
    match = _FORMATTED.match(text)
    assert match is not None
    quote = match[1]
    body = text[match.end() : len(text) - len(quote)]
    fields = list(_fields(body))
    is_template = "t" in text[: match.end()].lower()
    if not is_template and not any(quote[0] in each or "\\" in each or "#" in each for each in fields):
        return text
    values = ", ".join(f"({each})" for each in fields)
    return f"('', {values})[0]" if values else "''"


def _fields(body: str) -> Iterator[str]:
    """The expressions in the fields of a formatted string, those in format specifications last."""
    at = 0
    while (at := body.find("{", at)) >= 0:
        if body.startswith("{{", at):
            at += 2
            continue
        end, specification = _ends(body, at + 1)
        yield body[at + 1 : end].strip().rstrip("=").strip()
        inside, at = _closing(body, specification), specification
        if inside > specification:
            yield from _fields(body[specification:inside])
            at = inside


def _ends(body: str, at: int) -> tuple[int, int]:
    """Ends of the expression of a field that begins at an offset, and of its conversion."""
    depth, quote = 0, ""
    for offset in range(at, len(body)):
        character = body[offset]
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        elif character in "([{":
            depth += 1
        elif character in ")]}" and depth:
            depth -= 1
        elif character == "}" or (character == ":" and not depth):
            return offset, offset + 1 if character == ":" else offset
        elif character == "!" and not depth and body[offset + 1 : offset + 2] != "=":
            rest = body.find(":", offset), body.find("}", offset)
            ends = [each for each in rest if each >= 0]
            behind = min(ends, default=len(body))
            return offset, behind + 1 if body[behind : behind + 1] == ":" else behind
    return len(body), len(body)


def _closing(body: str, at: int) -> int:
    """The end of a format specification that begins at an offset, its own fields skipped."""
    depth = 0
    for offset in range(at, len(body)):
        depth += (body[offset] == "{") - (body[offset] == "}")
        if depth < 0:
            return offset
    return len(body)
