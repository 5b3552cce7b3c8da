"""isl's expressions as C: sums with their positive terms first, `<` rather than `<=` where that is shorter,
minima and maxima spelled out, division that rounds down; and the loops of its syntax trees."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Union

import islpy as isl

from polylsp.emit.affine_bounds import ShadowedError, in_turn, operator_of, syntax_tree
from polylsp.emit.c_syntax import Braces
from polylsp.emit.c_text import Kept, Made, Piece, Written
from polylsp.model.action import Declined


@dataclass(frozen=True, slots=True)
class Quotient:
    """A sum divided by a number; `floors`: it may be negative, and is rounded down, as C does not."""

    numerator: tuple[tuple[Term, int], ...]
    denominator: int
    floors: bool


@dataclass(frozen=True, slots=True)
class Narrow:
    """A name of fewer than 64 bits in a sum that is to be computed with 64."""

    name: str


@dataclass(frozen=True, slots=True)
class Opposite:
    """A counter that stands for minus a number of isl's: its loop counts down."""

    name: str


Term = Union[str, Quotient, Narrow]
Linear = dict[Term, int]
"""A sum of terms times numbers; the term "" stands for one."""

Atoms = Mapping[str, Union[Term, Opposite]]
"""Meanings of the names in the expressions of isl."""


def in_64_bits(value: Linear) -> Linear:
    """A sum of narrow names that C is to compute with 64 bits."""
    return {Narrow(t) if isinstance(t, str) and t else t: factor for t, factor in value.items()}


_OP = isl.ast_expr_op_type
_KIND = isl.ast_expr_type
_AND, _OR = (_OP["and_"], _OP.and_then), (_OP["or_"], _OP.or_else)
_UP_TO = {_OP.le: ">=", _OP.lt: ">"}
"""Comparisons of a counter that counts up with its bound, for one that counts down."""

_COMPARE = {_OP.lt: "<", _OP.ge: ">=", _OP.gt: ">", _OP.eq: "=="}


def text_of(expression: isl.AstExpr, atoms: Atoms) -> str:
    """An expression in C; names that are keys of `atoms` stand for the texts there."""
    return sum_text(_linear(expression, atoms))


def condition_text(expression: isl.AstExpr, atoms: Atoms) -> str:
    """A condition in C."""
    operator = operator_of(expression)
    left, right = expression.get_op_arg(0), expression.get_op_arg(1)
    if operator in _AND:
        return f"{condition_text(left, atoms)} && {condition_text(right, atoms)}"
    if operator in _OR:
        return f"({' || '.join(_alternative(each, atoms) for each in operands(expression, _OR))})"
    shown = text_of(left, atoms)
    if operator == _OP.le:
        below, reached = _plus_one(right, atoms), text_of(right, atoms)
        return f"{shown} < {below}" if len(below) <= len(reached) else f"{shown} <= {reached}"
    return f"{shown} {_COMPARE[operator]} {text_of(right, atoms)}"


def _alternative(expression: isl.AstExpr, atoms: Atoms) -> str:
    """A side of `||`: compilers warn of `&&` there without parentheses."""
    text = condition_text(expression, atoms)
    return f"({text})" if operator_of(expression) in _AND else text


def comparison_text(expression: isl.AstExpr, atoms: Atoms) -> str:
    """A comparison in C, with nothing subtracted where that can be: `i < n` for `n >= i + 1`."""
    if expression.get_type() != _KIND.op or operator_of(expression) not in (_OP.le, _OP.ge):
        return condition_text(expression, atoms)
    small, large = expression.get_op_arg(0), expression.get_op_arg(1)
    if operator_of(expression) == _OP.ge:
        small, large = large, small
    apart = added(_linear(large, atoms), _linear(small, atoms), -1)
    rest = apart.pop("", 0)
    above: Linear = {term: factor for term, factor in apart.items() if factor > 0}
    below: Linear = {term: -factor for term, factor in apart.items() if factor < 0}
    if not below:
        return f"{sum_text(above)} >= {-rest}"
    if -rest in (1, 2, 3):
        return f"{sum_text(below)} < {sum_text({**above, '': rest + 1})}"
    return f"{sum_text({**below, '': max(-rest, 0)})} <= {sum_text({**above, '': max(rest, 0)})}"


def operands(expression: isl.AstExpr, operators: Sequence[isl.ast_expr_op_type]) -> list[isl.AstExpr]:
    """The operands of nested operations of one kind; else the expression alone."""
    if expression.get_type() != _KIND.op or operator_of(expression) not in operators:
        return [expression]
    count = expression.get_op_n_arg()
    return [each for k in range(count) for each in operands(expression.get_op_arg(k), operators)]


def added(left: Linear, right: Linear, sign: int) -> Linear:
    """`left + sign * right`."""
    return {name: left.get(name, 0) + sign * right.get(name, 0) for name in dict.fromkeys((*left, *right))}


def sum_text(value: Linear, not_negative: bool = False) -> str:
    """A sum as a person would write it; `not_negative`: only positive values matter."""
    value = _folded(value)
    terms = [(factor, term) for term, factor in value.items() if factor and term]
    terms.sort(key=lambda term: term[0] < 0)
    first = None
    if len(terms) > 1 and any(isinstance(term, Narrow) for _, term in terms):
        # C computes with 64 bits from the first term that has as many.
        terms.sort(key=lambda term: (term[0] < 0, not _is_wide(*term)))
        first = None if _is_wide(*terms[0]) else terms[0]
    rest = value.get("", 0)
    if rest or not terms:
        terms.insert(0 if rest > 0 and terms and terms[0][0] < 0 else len(terms), (rest, ""))
    text = ""
    for factor, term in terms:
        shown = _product(abs(factor), term, not_negative and len(terms) == 1)
        shown = f"(long long){shown}" if (factor, term) == first else shown
        sign = "-" if factor < 0 else "+"
        text = f"{text} {sign} {shown}" if text else (f"-{shown}" if factor < 0 else shown)
    return text


def _folded(value: Linear) -> Linear:
    """`floor(a / d) + b` as `floor((a + d * b) / d)`."""
    floors = [t for t, factor in value.items() if isinstance(t, Quotient) and t.floors and factor == 1]
    if len(floors) != 1:
        return value
    (quotient,) = floors
    rest: Linear = {t: factor for t, factor in value.items() if t is not quotient}
    whole = added(dict(quotient.numerator), rest, quotient.denominator)
    return {Quotient(tuple(whole.items()), quotient.denominator, True): 1}


def _is_wide(factor: int, term: Term) -> bool:
    """True if a term of a sum with narrow names has 64 bits in C."""
    if isinstance(term, Quotient):
        return any(_is_wide(f, t) for t, f in term.numerator if t)
    return abs(factor) != 1 if isinstance(term, Narrow) else term.isidentifier()


def _product(factor: int, term: Term, not_negative: bool) -> str:
    if isinstance(term, Narrow):
        return term.name if factor == 1 else f"{factor}LL * {term.name}"
    if isinstance(term, Quotient):
        text = _quotient(term, not_negative)
        return text if factor == 1 else f"{factor} * ({text})"
    return str(factor) if not term else term if factor == 1 else f"{factor} * {term}"


def _quotient(quotient: Quotient, not_negative: bool) -> str:
    numerator = dict(quotient.numerator)
    plain = f"{_factor(sum_text(numerator))} / {quotient.denominator}"
    if not quotient.floors or not_negative:
        return plain
    up = sum_text(added({"": quotient.denominator - 1}, numerator, -1))
    return f"({sum_text(numerator)} < 0 ? -(({up}) / {quotient.denominator}) : {plain})"


def _factor(text: str) -> str:
    return text if text.isidentifier() or text.isdigit() else f"({text})"


# --- From isl ----------------------------------------------------------------------------


def _plus_one(expression: isl.AstExpr, atoms: Atoms) -> str:
    """Expression plus one; within a minimum or maximum, each operand plus one."""
    if expression.get_type() == _KIND.op and operator_of(expression) in (_OP.min, _OP.max):
        found = [added(_linear(each, atoms), {"": 1}, 1) for each in _arguments(expression)]
        return extremum(found, "<" if operator_of(expression) == _OP.min else ">")
    return sum_text(added(_linear(expression, atoms), {"": 1}, 1))


def _opposite(expression: isl.AstExpr, atoms: Atoms) -> str:
    """Minus an expression; of a minimum, the maximum of the opposites."""
    if expression.get_type() == _KIND.op and operator_of(expression) in (_OP.min, _OP.max):
        found = [added({}, _linear(each, atoms), -1) for each in _arguments(expression)]
        return extremum(found, ">" if operator_of(expression) == _OP.min else "<")
    return sum_text(added({}, _linear(expression, atoms), -1))


def _linear(expression: isl.AstExpr, atoms: Atoms) -> Linear:
    kind = expression.get_type()
    if kind == _KIND.int:
        return {"": expression.int_get_val().to_python()}
    if kind == _KIND.id:
        name = expression.id_get_id().get_name()
        term = atoms.get(name, name)
        return {term.name: -1} if isinstance(term, Opposite) else {term: 1}
    if operator_of(expression) in (_OP.select, _OP.cond):
        condition, *chosen = (expression.get_op_arg(k) for k in range(3))
        then, otherwise = (text_of(each, atoms) for each in chosen)
        return {f"({condition_text(condition, atoms)} ? {then} : {otherwise})": 1}
    return _operation(operator_of(expression), [_linear(each, atoms) for each in _arguments(expression)])


def _operation(operator: isl.ast_expr_op_type, found: list[Linear]) -> Linear:
    match operator:
        case _OP.add:
            return added(found[0], found[1], 1)
        case _OP.sub:
            return added(found[0], found[1], -1)
        case _OP.minus:
            return added({}, found[0], -1)
        case _OP.mul:
            number, other = found if set(found[0]) <= {""} else reversed(found)
            return {term: number.get("", 0) * factor for term, factor in other.items()}
        case _OP.min:
            return {extremum(found, "<"): 1}
        case _OP.max:
            return {extremum(found, ">"): 1}
        case _OP.div | _OP.pdiv_q | _OP.fdiv_q:
            return {Quotient(tuple(found[0].items()), found[1][""], operator == _OP.fdiv_q): 1}
        case _OP.pdiv_r | _OP.zdiv_r:
            return {f"({_factor(sum_text(found[0]))} % {sum_text(found[1])})": 1}
        case _:
            raise ValueError(f"isl's operation {operator} has no spelling here")


def extremum(operands: list[Linear], order: str) -> str:
    """`(a < b ? a : b)`; numbers come last."""
    ordered = sorted(operands, key=lambda one: set(one) <= {""})
    positive = order == ">" and set(ordered[-1]) <= {""} and ordered[-1].get("", 0) >= 0
    return _choice([sum_text(each, positive) for each in ordered], order)


def _choice(texts: list[str], order: str) -> str:
    if len(texts) == 1:
        return texts[0]
    first, second, *rest = texts
    one, other = _choice([first, *rest], order), _choice([second, *rest], order)
    return f"({first} {order} {second} ? {one} : {other})"


def _arguments(expression: isl.AstExpr) -> list[isl.AstExpr]:
    """Operands; nested minima (or maxima) are flattened."""
    operator = operator_of(expression)
    found: list[isl.AstExpr] = []
    for k in range(expression.get_op_n_arg()):
        inner = expression.get_op_arg(k)
        nests = inner.get_type() == _KIND.op and operator_of(inner) == operator
        found += _arguments(inner) if nests and operator in (_OP.min, _OP.max) else [inner]
    return found


# --------------------------------------------------------------------------------------------------
# Loops that visit the iterations of a leaf in another order, as C that a person would write.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Counter:
    """A counter's name, and the words that declare it; none where it is declared before the loops. `header`
    is the original header of its loop; the comments about that loop go with it: `remark` after the header,
    `lead` before the loop, `after` after it."""

    name: str
    declared: str
    header: str = ""
    remark: str = ""
    lead: str = ""
    after: str = ""


@dataclass(frozen=True, slots=True)
class Leaf:
    """Code for each point of one part of a schedule's domain: see `Scan`."""

    values: tuple[Counter | None, ...]
    body: Kept | Written


@dataclass(frozen=True, slots=True)
class Scan:
    """Specification of the loops: `loops` are the new loops' counters, outermost first; `values` are the
    counters of the schedule's domain, in its order: the body sets those that no loop counts, apart from
    unused ones (`None`). A loop whose counter is an `Opposite` in `atoms` counts down. Where the domain has
    named parts, `others` has their code; loops whose numbers are `apart` only determine the order."""

    schedule: isl.Map | isl.UnionMap
    loops: tuple[Counter, ...]
    values: tuple[Counter | None, ...]
    body: Kept | Written
    atoms: Atoms
    braces: tuple[Braces, ...]
    others: Mapping[str, Leaf] = field(default_factory=dict[str, "Leaf"])
    apart: tuple[int, ...] = ()


def scanned(scan: Scan) -> tuple[Piece, ...] | Declined:
    """The loops that visit the domain of the schedule, in its order."""
    schedule, options = scan.schedule, None
    if scan.apart:
        inside = ", ".join(f"x{k}" for k in range(len(scan.loops)))
        chosen = " or ".join(f"d = {k}" for k in scan.apart)
        options = isl.UnionMap(f"{{ [{inside}] -> unroll[d] : {chosen} }}")
    if isinstance(schedule, isl.Map):
        schedule = schedule.set_tuple_name(isl.dim_type.in_, "L").to_union_map()
    tree = syntax_tree(schedule, [loop.name for loop in scan.loops], options=options)
    return _pieces(scan, tree, 0)


def _pieces(scan: Scan, node: isl.AstNode, depth: int) -> tuple[Piece, ...] | Declined:
    kind = node.get_type()
    if kind == isl.ast_node_type.user:
        try:
            return (_leaf(scan, node),)
        except ShadowedError:
            return Declined("The new order needs counters of its own: write these loops with steps of 1.")
    if kind == isl.ast_node_type["for_"] and not node.for_is_degenerate():
        inner = _pieces(scan, node.for_get_body(), depth + 1)
        if isinstance(inner, Declined):
            return inner
        braces = scan.braces[min(depth, len(scan.braces) - 1)]
        loop = _loop(scan, node)
        if loop in (scan.loops[k] for k in scan.apart):
            return Declined("The new order needs more than simple loops.")
        return (Made(_header(scan, loop, node), inner, braces, loop.remark, loop.lead, loop.after),)
    if kind == isl.ast_node_type["if_"]:
        inner = _pieces(scan, node.if_get_then_node(), depth)
        rest = _pieces(scan, node.if_get_else_node(), depth) if node.if_has_else_node() else ()
        if isinstance(inner, Declined):
            return inner
        if isinstance(rest, Declined):
            return rest
        return (Made(f"if ({condition_text(node.if_get_cond(), scan.atoms)})", inner, otherwise=rest),)
    if kind == isl.ast_node_type.block:
        return _sequence(scan, node, depth)
    return Declined("The new order needs more than simple loops.")


def _sequence(scan: Scan, node: isl.AstNode, depth: int) -> tuple[Piece, ...] | Declined:
    children = node.block_get_children()
    found: list[Piece] = []
    for k in range(children.n_ast_node()):
        inner = _pieces(scan, children.get_ast_node(k), depth)
        if isinstance(inner, Declined):
            return inner
        found += inner
    return tuple(found)


def _loop(scan: Scan, node: isl.AstNode) -> Counter:
    name = node.for_get_iterator().get_id().get_name()
    return next(loop for loop in scan.loops if loop.name == name)


def _header(scan: Scan, loop: Counter, node: isl.AstNode) -> str:
    name = loop.name
    if isinstance(scan.atoms.get(name), Opposite):
        return _downward(scan, loop, node)
    first = f"{name} = {text_of(node.for_get_init(), scan.atoms)}"
    step = text_of(node.for_get_inc(), scan.atoms)
    advance = f"++{name}" if f"++{name}" in loop.header else f"{name}++"
    made = "; ".join(
        (
            f"{loop.declared} {first}" if loop.declared else first,
            condition_text(node.for_get_cond(), scan.atoms),
            advance if step == "1" else f"{name} += {step}",
        )
    )
    return loop.header if _same(loop.header, made) else f"for ({made})"


def _downward(scan: Scan, loop: Counter, node: isl.AstNode) -> str:
    """The header of a loop that counts down by one, while isl counts minus its counter up."""
    condition, first = node.for_get_cond(), _opposite(node.for_get_init(), scan.atoms)
    assert operator_of(condition) in _UP_TO and text_of(node.for_get_inc(), scan.atoms) == "1", condition
    last = f"{_UP_TO[operator_of(condition)]} {_opposite(condition.get_op_arg(1), scan.atoms)}"
    made = f"{loop.declared} {loop.name} = {first}; {loop.name} {last}; {loop.name}--".lstrip()
    return loop.header if _same(loop.header, made) else f"for ({made})"


def _same(header: str, made: str) -> bool:
    """True if two headers are equal, apart from spaces and the side of `++`."""
    inside = header.partition("(")[2].rpartition(")")[0]
    first, second = (_plain(text) for text in (inside, made))
    return first == second


def _plain(text: str) -> str:
    compact = "".join(text.split())
    head, _, step = compact.rpartition(";")
    name = step.strip("+")
    return f"{head};{name}++" if step in (f"++{name}", f"{name}++", f"{name}+=1") else compact


def _leaf(scan: Scan, node: isl.AstNode) -> Piece:
    call = node.user_get_expr()
    own = scan.others.get(call.get_op_arg(0).id_get_id().get_name(), Leaf(scan.values, scan.body))
    texts = [text_of(call.get_op_arg(k + 1), scan.atoms) for k in range(len(own.values))]
    found = {
        value: text
        for value, text in zip(own.values, texts, strict=True)
        if value is not None and text != value.name
    }
    in_turn((value.name, text) for value, text in found.items())
    first = [f"{_declaring(value)}{value.name} = {text};" for value, text in found.items()]
    if isinstance(own.body, Written):
        return Made("", (*map(Written, first), own.body)) if first else own.body
    kept = Kept(own.body.span, tuple(first), own.body.single and not first)
    # Beside others, its declarations need a separate block.
    return Made("", (kept,)) if first and scan.others else kept


def _declaring(value: Counter) -> str:
    return f"const {value.declared.removeprefix('const ')} " if value.declared else ""
