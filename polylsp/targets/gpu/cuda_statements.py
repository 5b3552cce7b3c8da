"""Statements and isl's loops as lines of CUDA C++, at most a hundred characters each.

Code without a form on the device raises `Unwritable`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

import islpy as isl

from polylsp.emit.affine_bounds import is_mentioned, syntax_tree
from polylsp.emit.c_expressions import comparison_text, condition_text, operands
from polylsp.emit.c_expressions import text_of as c_expressions_text_of
from polylsp.emit.c_text import plain_words
from polylsp.ir.effects import effects, places_in
from polylsp.ir.program import (
    Array,
    Assign,
    Assume,
    Block,
    Constant,
    Declare,
    Evaluate,
    Floating,
    If,
    Integer,
    Jump,
    Loop,
    Pointer,
    Statement,
    Unsupported,
    Variable,
)
from polylsp.ir.program import Call as ProgramCall
from polylsp.targets.directives.host_code import starts
from polylsp.targets.gpu.cuda_expressions import (
    Unwritable,
    Words,
    assigned_text,
    place_text,
    text_of,
    update_text,
)
from polylsp.targets.gpu.python_semantics import exact_words, is_unlimited
from polylsp.targets.gpu.region import flat

INDENT = "    "


def lines_of(statements: Sequence[Statement], words: Words) -> Iterator[str]:
    """The lines of statements that follow one another; raises `Unwritable`."""
    inside = [inner for each in statements for inner in (flat(each) if _is_header(each) else [each])]
    loops = [starts(inside, s) for s in inside if isinstance(s, Loop)]
    heads = {id(s) for head in loops for s in head}
    own = {id(s) for head in loops if _is_initialiser(head) for s in head}
    # The scope of a `for`'s declaration is that loop.
    _refuse_twins([s.variable for s in inside if isinstance(s, Declare) and id(s) not in own], words)
    merged = {k: n for k, n in _initialisers(inside).items() if id(inside[k]) not in heads}
    dead = _dead(inside, merged)
    for number, each in enumerate(inside):
        if id(each) in heads or number in merged.values() or number in dead:
            continue
        if number in merged:
            yield _initialised(inside[merged[number]], each, words)
        elif isinstance(each, Loop):
            yield from _loop(each, starts(inside, each), words)
        else:
            yield from _statement(each, words)


def _refuse_twins(variables: list[Variable], words: Words) -> None:
    names = [words.names[v.name] for v in variables]
    twin = next((v for v, name in zip(variables, names, strict=True) if names.count(name) > 1), None)
    if twin is not None:
        raise Unwritable(f"Two variables are called `{twin.source_name}` in one iteration: rename one.")


def declared(variable: Variable, words: Words) -> str:
    """The declaration of a variable, without a value."""
    extents: list[str] = []
    of_type = variable.type
    while isinstance(of_type, Array):
        if not isinstance(of_type.extent, Constant):
            raise Unwritable(f"`{variable.source_name}` has no fixed size: declare it outside of the loops.")
        extents.append(f"[{of_type.extent.value}]")
        of_type = of_type.element
    exact = exact_words(of_type) if words.exact is not None else None
    text = "long long" if is_unlimited(of_type) else exact or type_words(variable)
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
        name = variable.source_name
        if isinstance(of_type, Pointer):
            raise Unwritable(f"`{name}` is a pointer of the host: index the array itself.")
        raise Unwritable(f"`{name}` has a type that the device does not have.")
    return "bool" if text == "_Bool" else text


def _is_header(statement: Statement) -> bool:
    """True if a block is only there for the declaration of a `for`."""
    inside = flat(statement) if isinstance(statement, Block) else []
    loops = [s for s in inside if isinstance(s, Loop)]
    return len(loops) == 1 and len(starts(inside, loops[0])) + 1 == len(inside)


def _initialisers(inside: list[Statement]) -> dict[int, int]:
    """Assignments that are the first to name a variable declared before them, with that declaration, by their
    numbers."""
    found: dict[int, int] = {}
    for number, one in enumerate(inside):
        if not isinstance(one, Declare):
            continue
        later = range(number + 1, len(inside))
        first = next((k for k in later if one.variable in effects(inside[k]).variables), None)
        other = inside[first] if first is not None else None
        if first is not None and isinstance(other, Assign) and other.operator is None:
            named = [each for each in places_in(other) if each.variable == one.variable]
            found.update({first: number} if named == [other.target] and not other.target.steps else {})
    return found


def _dead(inside: list[Statement], merged: Mapping[int, int]) -> set[int]:
    """Numbers of the assignments, of those `merged` with a declaration, whose variable nothing reads."""
    found: set[int] = set()
    for number in sorted(merged, reverse=True):
        own = inside[merged[number]]
        later = (each for k, each in enumerate(inside) if k > number and k not in found)
        read = isinstance(own, Declare) and any(own.variable in effects(each).variables for each in later)
        found |= set[int]() if read or effects(inside[number]).calls else {number}
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
            # In Python a function returns what it has computed, in whatever type.
            exact = words.exact is not None
            text = text_of(value, words) if exact else assigned_text(value, words.returns, words)
            yield f"return {text};"
        case Evaluate(ProgramCall() as value) if value.function in words.helpers:
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


# --------------------------------------------------------------------------------------------------
# Lines of at most a hundred characters.
# --------------------------------------------------------------------------------------------------


_WIDTH = 100


def wrapped(head: str, items: Sequence[str], tail: str) -> list[str]:
    """`head`, the items with commas between, `tail`: on one line, or continued below the first item."""
    lines, margin = [head], " " * len(head)
    for number, item in enumerate(items):
        end = tail if number + 1 == len(items) else ","
        text = f"{item}{end}"
        if len(lines[-1]) + 1 + len(text) > _WIDTH and lines[-1] != head:
            lines.append(f"{margin}{text}")
        else:
            gap = " " if number and lines[-1] != head else ""
            lines[-1] += f"{gap}{text}"
    if not items:
        lines[-1] += tail
    return lines


# --- Statements --------------------------------------------------------------------------

_GAP = re.compile(r"(?<=[,;]) | (?=(?:[-+*/%?:<>]|&&|\|\||<=|>=|==|!=) )")
_WEIGHTS = {"?": 1.0, ":": 1.0, "||": 1.5, "&&": 2.0, "+": 3.0, "-": 3.0, "*": 5.0, "/": 5.0, "%": 5.0}
"""Binding strength of operators for line breaks."""

_LEAST = 40
"""Largest indentation of a continued line."""


def folded(line: str) -> Iterator[str]:
    """A statement as lines: a long one continues below the expression that it belongs to."""
    margin = _margin(line)
    while len(line) > _WIDTH and not line.lstrip().startswith(("//", "#")):
        places = [m.end() - 1 for m in _GAP.finditer(line) if margin + 20 < m.end() <= _WIDTH]
        if not places:
            break
        at = min(places, key=lambda place: (_weight(line, place), -place))
        yield line[:at]
        line = " " * margin + line[at + 1 :]
    yield line


def _margin(line: str) -> int:
    begin = re.match(r"\s*(?:(?:if|for|while) \(|\w[^=<>!]*? [-+*/]?= )", line)
    return begin.end() if begin is not None and begin.end() < _LEAST else len(line) - len(line.lstrip()) + 4


def _weight(line: str, place: int) -> float:
    """Nesting depth of a place between two words in a statement."""
    before = line[:place]
    depth = 1.5 * (before.count("(") - before.count(")")) + 4 * (before.count("[") - before.count("]"))
    operator = line[place + 1 :].partition(" ")[0]
    return depth + (0.0 if before.endswith((",", ";")) else _WEIGHTS.get(operator, 2.5))


# --------------------------------------------------------------------------------------------------
# isl's syntax trees as lines of C.
# --------------------------------------------------------------------------------------------------


_NODE = isl.ast_node_type
_OP = isl.ast_expr_op_type
Call = Callable[[str, list[str]], Iterator[str]]
"""The lines for one instance: of what, and at which values."""


def scanned(
    order: isl.UnionMap, context: isl.Set, names: list[str], atoms: Mapping[str, str], call: Call
) -> list[str]:
    """Loops that visit the domain of a schedule in its order; `names` are their counters."""
    return list(_lines(syntax_tree(order, names, context), atoms, call))


def expression(value: isl.PwAff, context: isl.Set, atoms: Mapping[str, str]) -> str:
    """A value in C."""
    return c_expressions_text_of(isl.AstBuild.from_context(context).expr_from_pw_aff(value), atoms)


def condition(values: isl.Set, context: isl.Set, atoms: Mapping[str, str]) -> str:
    """A condition in C: parameters are in a set. It has no effect, so that its parts may change places."""
    return _condition(isl.AstBuild.from_context(context).expr_from_set(values), atoms)


def _condition(node: isl.AstExpr, atoms: Mapping[str, str]) -> str:
    parts = operands(node, (_OP["and_"], _OP.and_then))
    if len(parts) > 1:
        return " && ".join(sorted(_condition(each, atoms) for each in parts))
    if len(operands(node, (_OP["or_"], _OP.or_else))) > 1:
        return condition_text(node, atoms)
    return comparison_text(node, atoms)


def _lines(node: isl.AstNode, atoms: Mapping[str, str], call: Call) -> Iterator[str]:
    kind = node.get_type()
    if kind == _NODE.user:
        yield from _called(node, atoms, call)
    elif kind == _NODE.block:
        children = node.block_get_children()
        for number in range(children.n_ast_node()):
            yield from _lines(children.get_at(number), atoms, call)
    elif kind == _NODE["for_"]:
        yield from _for(node, atoms, call)
    elif kind == _NODE["if_"]:
        condition = _condition(node.if_get_cond(), atoms)
        yield from braced(f"if ({condition})", _lines(node.if_get_then_node(), atoms, call))
        if node.if_has_else_node():
            yield from braced("else", _lines(node.if_get_else_node(), atoms, call))
    else:
        yield from _lines(node.mark_get_node(), atoms, call)


def _called(node: isl.AstNode, atoms: Mapping[str, str], call: Call) -> Iterator[str]:
    expr = node.user_get_expr()
    name = expr.get_op_arg(0).id_get_id().get_name()
    yield from call(
        name, [c_expressions_text_of(expr.get_op_arg(k), atoms) for k in range(1, expr.get_op_n_arg())]
    )


def _for(node: isl.AstNode, atoms: Mapping[str, str], call: Call) -> Iterator[str]:
    name = node.for_get_iterator().id_get_id().get_name()
    name = atoms.get(name, name)
    first = c_expressions_text_of(node.for_get_init(), atoms)
    body = list(_lines(node.for_get_body(), atoms, call))
    if node.for_is_degenerate():
        if is_mentioned(node):
            yield from braced("", iter((f"const int {name} = {first};", *body)))
        else:
            yield from body
        return
    step = c_expressions_text_of(node.for_get_inc(), atoms)
    condition = condition_text(node.for_get_cond(), atoms)
    advance = f"{name}++" if step == "1" else f"{name} += {step}"
    yield from braced(f"for (int {name} = {first}; {condition}; {advance})", iter(body))
