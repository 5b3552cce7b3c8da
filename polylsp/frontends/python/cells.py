"""Notebook cells as plain Python, and the part of a notebook that one function needs to run.

IPython syntax (`%time`, `!ls`, `name?`, cell magics) becomes a comment or a call of the unknown
function `_()`, of the same length; no loop around it counts as understood. The program of a
function has its definition and the bindings that it uses, transitively, in order of cells.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from polylsp.core.notebook import cells_of
from polylsp.frontends.python.nodes import children, nodes_in
from polylsp.frontends.python.words import scan_lines

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


# --------------------------------------------------------------------------------------------------
# Part of a notebook that has to run before one of its functions can be called: the function's
# definition, and the bindings of the names that it uses, transitively. All else, plots and long
# computations, is left out.
#
# Cells count as run up to the function's one, as they are when it is called first. A name without a
# binding in these may be bound by a later one.
# --------------------------------------------------------------------------------------------------


_MAGIC = "_"
"""Stand-in for a call of an IPython feature; see `magics.py`."""

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


@dataclass(frozen=True, slots=True)
class NoProgram:
    """Reason why the function cannot be called, in one sentence."""

    reason: str


@dataclass(frozen=True, slots=True)
class _Statement:
    """A statement at the left margin of a cell, on the lines from `start` (counted from 0) to below `end` of
    the notebook's text."""

    node: ast.stmt
    cell: int
    start: int
    end: int


def cell_program(text: str, name: str, start: int) -> str | NoProgram:
    """A program that defines the function `name` that starts at an offset of the text of a notebook. All
    lines stand where they stand in that text, and those that are not needed are empty."""
    cells = cells_of(text)
    own = sum(at <= start for at, _ in cells) - 1
    statements = [each for number in range(len(cells)) for each in _statements(text, cells[number], number)]
    line = text.count("\n", 0, start)
    root = next((each for each in statements if each.cell == own and each.start <= line < each.end), None)
    if root is None:
        return NoProgram(f"The cell of `{name}` cannot be read: mend what is wrong in it first.")
    needed = _needed(statements, root)
    for each in needed:
        if _is_of_magic(each.node):
            bound = next(iter(_bound(each.node)), name)
            return NoProgram(
                f"`{bound}`, which `{name}` needs, is what a magic gives in cell {each.cell + 1}: write that "
                "in Python to measure this function."
            )
    return _written(text, needed, statements)


def _statements(text: str, cell: tuple[int, str], number: int) -> Iterator[_Statement]:
    """Statements of a cell; none where it cannot be read."""
    at, code = cell
    first = text.count("\n", 0, at)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            body = ast.parse(without_magics(code)).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in body:
        decorators = node.decorator_list if isinstance(node, _SCOPES) else []
        above = min((each.lineno for each in (node, *decorators)), default=node.lineno)
        yield _Statement(node, number, first + above - 1, first + (node.end_lineno or node.lineno))


def _needed(statements: Sequence[_Statement], root: _Statement) -> list[_Statement]:
    """The statements that have to run, in their order."""
    own = _bound(root.node)
    found, names = {id(root)}, _used(root.node)
    before = [each for each in statements if each.cell <= root.cell and each is not root]
    # A later binding of the function's name would replace it.
    before = [each for each in before if not _bound(each.node) & own]
    after = [each for each in statements if each.cell > root.cell and not _bound(each.node) & own]
    known = {name for each in before for name in _bound(each.node)}
    later = [each for each in after if not _bound(each.node) & known]
    grown = True
    while grown:
        grown = False
        for each in (*before, *later):
            if id(each) not in found and (_bound(each.node) & names or _is_always(each.node)):
                found.add(id(each))
                names |= _used(each.node)
                grown = True
    return [each for each in statements if id(each) in found]


def _is_always(node: ast.stmt) -> bool:
    """True for a `__future__` or star import, and for a change of the module search path."""
    if isinstance(node, ast.ImportFrom):
        return node.module == "__future__" or any(each.name == "*" for each in node.names)
    called = node.value if isinstance(node, ast.Expr) else None
    return isinstance(called, ast.Call) and ast.unparse(called.func).startswith("sys.path.")


def _bound(node: ast.stmt) -> set[str]:
    """The names that a statement binds, and those of the objects it stores into."""
    if isinstance(node, _SCOPES):
        return {node.name}
    found = set[str]()
    for each in _inside(node):
        match each:
            case ast.Import() | ast.ImportFrom():
                found |= {(one.asname or one.name).partition(".")[0] for one in each.names}
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                found.add(each.name)
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                found.add(name)
            case ast.Subscript(ctx=ast.Store()) | ast.Attribute(ctx=ast.Store()):
                found |= _root(each)
            case _:
                pass
    return found


def _inside(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a statement, but those of functions and classes in it."""
    yield node
    if not isinstance(node, _SCOPES):
        for each in children(node):
            yield from _inside(each)


def _root(node: ast.expr) -> set[str]:
    while isinstance(node, (ast.Subscript, ast.Attribute)):
        node = node.value
    return {node.id} if isinstance(node, ast.Name) else set()


def _used(node: ast.stmt) -> set[str]:
    """The names that a statement may read, in functions too, which are called later."""
    return {each.id for each in nodes_in(node) if isinstance(each, ast.Name)}


def _is_of_magic(node: ast.stmt) -> bool:
    calls = (each.func for each in nodes_in(node) if isinstance(each, ast.Call))
    return any(isinstance(each, ast.Name) and each.id == _MAGIC for each in calls)


def _written(text: str, needed: Sequence[_Statement], every: Sequence[_Statement]) -> str:
    """The lines of some statements, those about the language itself first."""
    plain = _plain(text).split("\n")
    lines = [""] * len(plain)
    begun = Counter(each.start for each in every)
    for each in needed:
        is_first = isinstance(each.node, ast.ImportFrom) and each.node.module == "__future__"
        if is_first or begun[each.start] > 1:
            # The line before the first cell is free.
            at = 0 if is_first else each.start
            lines[at] = "; ".join(filter(None, (lines[at], ast.unparse(each.node))))
        else:
            lines[each.start : each.end] = plain[each.start : each.end]
    return "\n".join(lines)


def _plain(text: str) -> str:
    """The text of a notebook without magics, as long as before."""
    for start, code in cells_of(text):
        text = text[:start] + without_magics(code) + text[start + len(code) :]
    return text
