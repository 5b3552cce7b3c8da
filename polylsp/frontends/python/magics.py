"""Code of a notebook's cell to plain Python of the same length, so that every place stays where it is.

IPython's additions to Python (`%time`, `!ls`, `name?`, cells in other languages) become a comment, or a call
of an unknown function, `_()`: their effects are unknown, and no loop around them may count as understood.
"""

from __future__ import annotations

import ast
import re

from polylsp.frontends.python.tokens import scan_lines

_PYTHON_CELLS = frozenset(["time", "timeit", "capture", "prun", "memit", "mprun", "lprun", "snakeviz"])
"""Magics of whole cells whose rest is code of the notebook."""

_HARMLESS = frozenset(
    [
        "matplotlib", "config", "load_ext", "reload_ext", "unload_ext", "autoreload", "precision", "env",
        "pwd", "cd", "who", "whos", "pinfo", "pdoc", "psource", "history", "pip", "conda", "lsmagic", "xmode",
        "colors", "autosave", "doctest_mode", "pprint",
    ]
)  # fmt: skip
"""Magics that neither change a variable nor write what a program reads."""

_MAYBE = re.compile(r"^[ \t]*[%!?,;/]|=[ \t]*[%!]|\?[ \t]*$", re.MULTILINE)
_CELL_MAGIC = re.compile(r"\s*%%(\w*)")
_NAME = re.compile(r"%{1,2}(\w+)")
_UNKNOWN = "_()"


def without_magics(code: str) -> str:
    """The cell as Python."""
    if not _MAYBE.search(code):
        return code
    whole = _CELL_MAGIC.match(code)
    if whole is not None:
        first = code.index("%%")
        if whole[1] not in _PYTHON_CELLS:
            return _commented(code, 0, len(code))
        end = _line_end(code, first)
        return without_magics(_commented(code, 0, end)) if end < len(code) else _commented(code, 0, end)
    done: list[str] = []
    # Each magic hides what follows it from the tokenizer (`!echo "`), so it is taken out before going on.
    start = 0
    while (found := _next(code, start)) is not None:
        begin, words = found
        end = _line_end(code, begin)
        done += (code[start:begin], _python(words, code[begin:end], _indent(code, begin)))
        start = end
    return "".join((*done, code[start:]))


def _next(code: str, start: int) -> tuple[int, str] | None:
    """Offset and text of the first magic from a line on."""
    texts: list[str] = []
    starts: list[int] = []
    for line in scan_lines(code, start, texts, starts, []):
        begin = starts[line.first]
        if texts[line.first] in ("%", "!", "?", ",", ";", "/") or texts[line.first][:1] == "%":
            return begin, code[begin : _line_end(code, begin)]
        for number in range(line.first, line.last - 1):
            if texts[number] == "=" and texts[number + 1] in ("%", "!"):
                return starts[number + 1], code[starts[number + 1] : _line_end(code, starts[number + 1])]
        if texts[line.last - 1] == "?":
            return begin, "?"
    return None


def _python(words: str, text: str, indent: str | None) -> str:
    """Python in the place of a magic `text`; `indent` is the text before it, if that is white space."""
    name = _NAME.match(words)
    if words.startswith("?") or words.rstrip().endswith("?") or (name and name[1] in _HARMLESS):
        return _as_comment(text, indent)
    if name and name[1] == "time":
        stated = _timed(text, name.end())
        if stated:
            return stated
    if len(text) < len(_UNKNOWN):
        return _short(text, indent)
    return _UNKNOWN + _commented(f"#{text[len(_UNKNOWN) + 1 :]}", 0, len(text))[: len(text) - len(_UNKNOWN)]


def _short(text: str, indent: str | None) -> str:
    """Stand-in for a magic too short for a call: an unknown value inside a line, a comment at top level, else
    the magic itself, which is no Python."""
    if indent is None:
        return f"{_UNKNOWN[0]}#"[: len(text)]
    return text if indent else _as_comment(text, indent)


def _as_comment(text: str, indent: str | None) -> str:
    """No statement at all, or one that does nothing where a block may need one."""
    if indent == "":
        return _commented(text, 0, len(text))
    return f"0{_commented('#' + text[2:], 0, len(text))}"[: len(text)]


def _timed(text: str, name: int) -> str:
    """The statement that `%time` runs, where it is a simple one."""
    statement = text[name:]
    if not statement[:1].isspace() or "\n" in text:
        return ""
    try:
        parsed = ast.parse(statement.strip())
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
    if any(hasattr(each, "body") for each in parsed.body):
        return ""
    return f"0{' ' * (name - 1)};{statement[1:]}"


def _indent(code: str, begin: int) -> str | None:
    before = code[code.rfind("\n", 0, begin) + 1 : begin]
    return None if before.strip() else before


def _line_end(code: str, begin: int) -> int:
    """The end of a line, and of those that `\\` joins to it."""
    end = code.find("\n", begin)
    while end > begin and code[end - 1] == "\\":
        end = code.find("\n", end + 1)
    return end if end >= 0 else len(code)


def _commented(code: str, start: int, end: int) -> str:
    """Some lines as comments: their first characters are lost."""
    lines = code[start:end].split("\n")
    return code[:start] + "\n".join(f"#{line[1:]}" if line else "" for line in lines) + code[end:]
