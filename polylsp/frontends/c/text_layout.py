"""Layout of C text, scanned without parsing: comments, function headers, and the cut into items.

Recovery rests on layout: a line that starts in column 0 and looks like a function's header closes
everything left open before it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from polylsp.frontends.c.tokens import CHARACTER, CONTINUATION, DIRECTIVE_REST, LINE_COMMENT, STRING

LOOK = 3000  # how far a header is looked for, in characters

DIRECTIVE = re.compile(rf"[ \t\f\v]*(?:#|%:){DIRECTIVE_REST}")
BLANK = re.compile(rf"(?:\s|{CONTINUATION}|{LINE_COMMENT})+")
EVENT = re.compile(
    rf"[(){{}};=]|{STRING}|{CHARACTER}|/\*|{LINE_COMMENT}|\n(?:[ \t\f\v]*(?:#|%:)|(?=[A-Za-z_]))"
)
BODY_EVENT = re.compile(
    rf"[{{}}]|{STRING}|{CHARACTER}|/\*|{LINE_COMMENT}|\n(?:[ \t\f\v]*(?:#|%:)|(?=[A-Za-z_]))"
)

_WORD = r"[A-Za-z_]\w*"
_CONTROL = r"(?:if|else|for|while|do|switch|case|default|return|goto|sizeof|break|continue)\b"
_PARENS = r"\((?:[^(){};]|\((?:[^(){};]|\([^(){};]*\))*\))*\)"
_ATTRIBUTES = rf"(?:\s*(?:__attribute__|__asm__|asm)\s*{_PARENS})*"
HEADER = re.compile(
    rf"(?!{_CONTROL}|typedef\b)(?:{_WORD}[ \t*]+)*(?:{_WORD}[ \t*]*\n[ \t]*\*?)?(?!{_CONTROL}){_WORD}\s*"
    rf"{_PARENS}{_ATTRIBUTES}(?:\s|/\*(?:[^*]|\*(?!/))*\*/|//[^\n]*(?![^\n]))*\{{"
)
OLD_STYLE_REST = re.compile(r"(?:[^;{}=#\"'()]|\([^;{}()]*\))*;(?:(?:[^;{}=#\"'()]|\([^;{}()]*\))*;)*\s*\{")
OLD_STYLE_START = re.compile(
    rf"(?:{_WORD}[\s*]+)*{_WORD}\s*\(\s*{_WORD}(?:\s*,\s*{_WORD})*\s*\)\s*{_WORD}(?<!__attribute__)(?<!\basm)[\s*]"
)
LINKAGE = re.compile(r'extern\s*"C(?:\+\+)?"\s*')
AGGREGATE = re.compile(r"\b(?:struct|union|enum)\b")
BLOCK = re.compile(rf"{_CONTROL}")
COMMENTS = re.compile(rf"({STRING}|{CHARACTER})|/\*[\s\S]*?(?:\*/|$)|{LINE_COMMENT}")
ATTRIBUTE_USE = re.compile(
    rf"\b(?:__attribute__|__attribute|__declspec|__asm__|asm|_Alignas|__typeof__|typeof)\s*{_PARENS}"
)
_CALLED = re.compile(rf"(?<!\w)({_WORD})\s*\(")
_CALLED_OR_BRACKET = re.compile(rf"(?<!\w)({_WORD})(?=\s*\()|[()]")
TYPE_WORD = re.compile(r"\b(?:void|char|int|float|double|struct|union|enum|size_t|_Bool|bool)\b")
_NOT_A_NAME = frozenset(
    ("int", "char", "void", "float", "double", "long", "short", "signed", "unsigned",
     "return", "if", "while", "for", "switch", "sizeof")
)  # fmt: skip
DEFINITE = re.compile(r"#|static\b|extern\b|typedef\b|struct\b|enum\b|union\b|inline\b")

_DIRECTIVE_WORD = re.compile(r"[ \t\f\v]*(?:#|%:)[ \t\f\v]*([a-z_]*)")


def blanked(match: re.Match[str]) -> str:
    """Replacement for a match of `COMMENTS`: blanks of the same length, or an empty string literal of that
    length."""
    if match.group(1):
        return '"' + " " * (len(match.group()) - 2) + '"' if len(match.group()) > 1 else " "
    return re.sub(r"[^\n]", " ", match.group())


def harmless_before(text: str) -> bool:
    """True if lines before a complete header can belong to it: specifiers, macros, attributes."""
    if TYPE_WORD.search(ATTRIBUTE_USE.sub(" ", text)):
        return False
    return re.search(r"[=,(\[+\-]\s*$", text) is None and _balanced(text)


def _balanced(text: str) -> bool:
    return text.count("(") == text.count(")")


def function_name(header: str) -> str:
    """Name of the function that a header declares, by heuristics."""
    bare = ATTRIBUTE_USE.sub(" ", header)
    candidates: list[str] = []
    depth = 0
    for match in _CALLED_OR_BRACKET.finditer(bare):
        if match.group(1):
            if depth == 0 and match.group(1) not in _NOT_A_NAME:
                candidates.append(match.group(1))
        else:
            depth += 1 if match.group() == "(" else -1
    if not candidates:
        found = [name for name in _CALLED.findall(bare) if name not in _NOT_A_NAME]
        return found[0] if found else ""
    lower = [name for name in candidates if not name.isupper()]
    return (lower or candidates)[-1]


def directive_word(text: str, start: int) -> str:
    """The word after the `#` of the directive at `start`."""
    match = _DIRECTIVE_WORD.match(text, start)
    return match.group(1) if match else ""


def starts_line(text: str, at: int) -> bool:
    """True if only white space or a comment stands before `at` in its line."""
    at = trimmed(text, 0, at, "\n")
    return at == 0 or text[at - 1] == "\n" or text.startswith("*/", max(0, at - 2))


def line_end(text: str, at: int) -> int:
    """Offset of the end of the line of `at`."""
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def trimmed(text: str, start: int, end: int, but: str = "") -> int:
    """`end` without the white space before it, as far as that is not `but` some."""
    while end > start and text[end - 1].isspace() and text[end - 1] != but:
        end -= 1
    return end


def directive_end(text: str, start: int, end: int) -> int:
    """End of the last word of a directive: what goes on in an empty line (`x; \\`) ends there."""
    end = trimmed(text, start, end)
    while end > start and text[end - 1] == "\\":
        end = trimmed(text, start, end - 1)
    return max(end, start + 1)


# --------------------------------------------------------------------------------------------------
# Scanned text that is being cut into items, and the extent of the scan.
#
# Recovery rests on layout: a line that starts in column 0 and looks like a function's header ends
# all that was left open before it.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Cut:
    """An item: `[start, end)` of the text. `merged` items before it are now part of it; the skeleton is
    `None` where it is the text itself."""

    kind: Literal["function", "declaration", "directive", "stray"]
    start: int
    end: int
    name: str = ""
    skeleton: str | None = None
    body: int = -1
    merged: int = 0
    returned: bool = False


@dataclass(slots=True)
class Scanner:
    """The text being cut, and how far it was looked at since `reach` was last set."""

    text: str
    reach: int = 0
    searched: int = 0
    closing: int = 0
    """Offset of the first `*/` at or after `searched`, or -1."""
    line: int = 0
    line_known: int = 0
    """Start of a line that goes on to `line_known` at least."""

    def look(self, end: int) -> None:
        """Note that the text before `end` played a part in a decision."""
        if end > self.reach:
            self.reach = end

    def at_header(self, at: int) -> bool:
        """True if a function's header starts here, up to its brace."""
        self.look(at + LOOK)
        return HEADER.match(self.text, at, at + LOOK) is not None

    def comment_end(self, at: int) -> int:
        """End of the `/*` comment at `at`. An unclosed comment, or one closed only beyond another comment and
        a function, ends with its line."""
        close = self._close_after(at + 2)
        if close < 0:
            self.look(len(self.text) + 1)
            return line_end(self.text, at)
        self.look(close + 2)
        inner = self.text.find("/*", at + 2, close)
        if inner < 0 or "\n" not in self.text[at:inner]:
            return close + 2
        line = self.text.find("\n", at)
        while 0 <= line < inner:
            if self.at_header(line + 1):
                return line_end(self.text, at)
            line = self.text.find("\n", line + 1)
        return close + 2

    def _close_after(self, at: int) -> int:
        """Offset of the next `*/`, or -1."""
        if not self.searched <= at <= self.closing and not (self.closing < 0 and self.searched <= at):
            self.searched, self.closing = at, self.text.find("*/", at)
        return self.closing

    def line_start(self, at: int) -> int:
        """Offset of the start of the line of `at`."""
        if at < self.line:
            self.line = self.line_known = self.text.rfind("\n", 0, at) + 1
        if at > self.line_known:
            self.line = max(self.line, self.text.rfind("\n", self.line_known, at) + 1)
            self.line_known = at
        return self.line


def skip_blank(scanner: Scanner, at: int) -> int:
    """The next offset that is neither white space nor comment."""
    text = scanner.text
    while True:
        blank = BLANK.match(text, at)
        if blank:
            at = blank.end()
        if not text.startswith("/*", at):
            scanner.look(at + 2)
            return at
        at = scanner.comment_end(at)
