"""Statements of the program as CUDA C++."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from polylsp.codegen.cuda.expressions import Unwritable, Words, assigned_text, place_text, text_of
from polylsp.codegen.cuda.python_whole import is_unlimited
from polylsp.codegen.cuda.region import flat
from polylsp.codegen.cuda.updating import update_text
from polylsp.codegen.host import starts
from polylsp.codegen.transform.type_words import plain_words
from polylsp.model.program import (
    Array,
    Assign,
    Assume,
    Block,
    Call,
    Constant,
    Declare,
    Evaluate,
    Floating,
    If,
    Integer,
    Jump,
    Loop,
    Statement,
    Unsupported,
    Variable,
)

INDENT = "    "


def lines_of(statements: Sequence[Statement], words: Words) -> Iterator[str]:
    """The lines of statements that follow one another; raises `Unwritable`."""
    inside = [inner for each in statements for inner in (flat(each) if _is_header(each) else [each])]
    loops = [starts(inside, s) for s in inside if isinstance(s, Loop)]
    heads = {id(s) for head in loops for s in head}
    own = {id(s) for head in loops if _is_initialiser(head) for s in head}
    # The scope of a `for`'s declaration is that loop.
    _refuse_twins([s.variable for s in inside if isinstance(s, Declare) and id(s) not in own])
    merged = _initialisers(inside)
    for number, each in enumerate(inside):
        if id(each) in heads or number in merged.values():
            continue
        if number in merged:
            yield _initialised(each, inside[merged[number]], words)
        elif isinstance(each, Loop):
            yield from _loop(each, starts(inside, each), words)
        else:
            yield from _statement(each, words)


def _refuse_twins(variables: list[Variable]) -> None:
    names = [v.source_name for v in variables]
    twin = next((name for name in names if names.count(name) > 1), None)
    if twin is not None:
        raise Unwritable(f"Two variables are called `{twin}` in one iteration: rename one.")


def declared(variable: Variable, words: Words) -> str:
    """The declaration of a variable, without a value."""
    extents: list[str] = []
    of_type = variable.type
    while isinstance(of_type, Array):
        if not isinstance(of_type.extent, Constant):
            raise Unwritable(f"`{variable.source_name}` has no fixed size: declare it outside of the loops.")
        extents.append(f"[{of_type.extent.value}]")
        of_type = of_type.element
    text = "long long" if is_unlimited(of_type) else type_words(variable)
    return f"{text} {words.names[variable.name]}{''.join(extents)}"


def words_of(variable: Variable, words: Words) -> str:
    """Type of a scalar on the device, as C++ spells it."""
    if variable.name in words.strides:
        return words.index
    return "int" if variable.name in words.narrow else type_words(variable)


def type_words(variable: Variable) -> str:
    """Type of a variable, or of an array's elements, as C++ spells it."""
    of_type = variable.type
    while isinstance(of_type, Array):
        of_type = of_type.element
    # What has no limits is a counter or a size, which the call has seen to be small.
    text = "int" if is_unlimited(of_type) else plain_words(of_type)
    if text is None or (isinstance(of_type, Floating) and of_type.bits > 64):
        raise Unwritable(f"`{variable.source_name}` has a type that the device does not have.")
    return "bool" if text == "_Bool" else text


def _is_header(statement: Statement) -> bool:
    """True if a block is only there for the declaration of a `for`."""
    inside = flat(statement) if isinstance(statement, Block) else []
    loops = [s for s in inside if isinstance(s, Loop)]
    return len(loops) == 1 and len(starts(inside, loops[0])) + 1 == len(inside)


def _initialisers(inside: list[Statement]) -> dict[int, int]:
    """Declarations with the assignment that follows them, by their numbers."""
    found: dict[int, int] = {}
    for number, (one, other) in enumerate(pairwise(inside)):
        if isinstance(one, Declare) and isinstance(other, Assign) and other.operator is None:
            own = other.target.variable == one.variable and not other.target.steps
            found.update({number: number + 1} if own else {})
    return found


def _initialised(one: Statement, other: Statement, words: Words) -> str:
    assert isinstance(one, Declare) and isinstance(other, Assign)
    return f"{declared(one.variable, words)} = {assigned_text(other.value, other.target.type, words)};"


def _statement(statement: Statement, words: Words) -> Iterator[str]:
    match statement:
        case Block(statements):
            yield from braced("", lines_of(statements, words))
        case Declare(variable, _):
            yield f"{declared(variable, words)};"
        case Assign():
            yield f"{_assign(statement, words)};"
        case If(condition, Block(()), otherwise, _) if otherwise.statements:
            head = f"if (!({text_of(condition, words)}))"
            yield from braced(head, lines_of(otherwise.statements, words))
        case If(condition, then, otherwise, _):
            yield from braced(f"if ({text_of(condition, words)})", lines_of(then.statements, words))
            if otherwise.statements:
                yield from braced("else", lines_of(otherwise.statements, words))
        case Jump(kind, _, None):
            yield f"{kind};"
        case Jump("return", _, value) if words.returns is not None and value is not None:
            yield f"return {assigned_text(value, words.returns, words)};"
        case Evaluate(Call() as value) if value.function in words.helpers:
            yield f"{text_of(value, words)};"
        case Loop():
            yield from _loop(statement, [], words)
        case Assume():
            pass
        case Evaluate() | Jump() | Unsupported():
            line = words.subject.line_number(statement.site)
            raise Unwritable(f"The statement in line {line} has no place on the device.")


def braced(head: str, body: Iterator[str]) -> Iterator[str]:
    """Lines between braces, which one statement on one line does without."""
    inside = list(body)
    if _is_block(inside):
        inside = [line.removeprefix(INDENT) for line in inside[1:-1]]
    if head and len(inside) == 1:
        yield head
        yield f"{INDENT}{inside[0]}"
        return
    yield f"{head} {{".lstrip()
    yield from (f"{INDENT}{line}" for line in inside)
    yield "}"


def _is_block(lines: list[str]) -> bool:
    """True if lines are one block."""
    return lines[:1] == ["{"] and lines.index("}") == len(lines) - 1


def _assign(assign: Assign, words: Words) -> str:
    if assign.target.site in words.atomic:
        return update_text(assign, words)
    target = place_text(assign.target, words)
    if assign.operator is None:
        return f"{target} = {assigned_text(assign.value, assign.target.type, words)}"
    counts = assign.value == Constant(1, assign.value.type, assign.value.site) and not assign.target.steps
    if counts and assign.operator in ("+", "-") and isinstance(assign.target.type, Integer):
        return f"({target}){assign.operator * 2}" if target[0] == "*" else f"{target}{assign.operator * 2}"
    if assign.operator in ("min", "max", "<", "<=", ">", ">=", "==", "!=", "&&", "||"):
        raise Unwritable(f"`{words.subject.source(assign.site)}` has no spelling on the device.")
    return f"{target} {assign.operator}= {text_of(assign.value, words)}"


def _loop(loop: Loop, head: Sequence[Statement], words: Words) -> Iterator[str]:
    """A loop that a thread runs as it stands."""
    if loop.prologue.statements or (loop.post_test and loop.step.statements):
        line = words.subject.line_number(loop.site)
        raise Unwritable(f"The loop in line {line} changes something in its condition: write it apart.")
    condition = "" if loop.condition is None else text_of(loop.condition, words)
    body = list(lines_of(loop.body.statements, words))
    if loop.post_test:
        yield from (*list(braced("do", iter([*body, ""])))[:-2], f"}} while ({condition or 'true'});")
        return
    first, before = _first(head, words)
    step = [s for s in loop.step.statements if isinstance(s, Assign)]
    if len(step) != len(loop.step.statements):
        raise Unwritable(f"The loop in line {words.subject.line_number(loop.site)} has an unusual step.")
    last = ", ".join(_assign(s, words) for s in step)
    yield from before
    space = " " if condition else ""
    yield from braced(f"for ({first};{space}{condition};{' ' if last else ''}{last})", iter(body))


def _is_initialiser(head: Sequence[Statement]) -> bool:
    """True if the initialisation of a `for` declares a variable with its value."""
    return len(head) == 2 and bool(_initialisers(list(head)))


def _first(head: Sequence[Statement], words: Words) -> tuple[str, list[str]]:
    """Initialisation of a `for`, in its header where it is one expression; the lines before it otherwise."""
    if _is_initialiser(head):
        return _initialised(head[0], head[1], words).rstrip(";"), []
    if len(head) == 1 and isinstance(head[0], Assign):
        return _assign(head[0], words), []
    return "", [line for each in head for line in _statement(each, words)]
