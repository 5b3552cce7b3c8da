"""Layout of C text, scanned without parsing: comments, headers of functions, names."""

from __future__ import annotations

import re

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
_LINE_COMMENT = re.compile(LINE_COMMENT)

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
    rf"(?:__attribute__|__attribute|__declspec|__asm__|asm|_Alignas|__typeof__|typeof)\s*{_PARENS}"
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
