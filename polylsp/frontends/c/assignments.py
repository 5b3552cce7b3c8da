"""Lowering of C assignments, increments and calls.

Calls evaluate argument side effects first, and use the table of library functions.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

from pycparser import c_ast

from polylsp.frontends.c.lowering_context import Context, Effects, Prototype, give, occurrences, refuse, store
from polylsp.frontends.c.lvalues import assign_temporary, place, temporary
from polylsp.frontends.c.types import (
    BOOL,
    DOUBLE,
    INT,
    SIZE,
    VOID,
    canonical,
    common,
    is_allocator,
    is_arithmetic,
    is_forgetful,
    library_result,
    library_variables,
    memory_result,
    promote,
    pure_result,
    size,
    spelling,
    usual_macro,
)
from polylsp.frontends.c.values import binary, convert, decayed, is_scalar, note_change, settle
from polylsp.ir.program import (
    AddressOf,
    Array,
    Assign,
    Assume,
    Binary,
    BinaryOperator,
    Block,
    Call,
    Cast,
    Constant,
    Evaluate,
    Expr,
    Field,
    Floating,
    If,
    Index,
    Integer,
    Invariant,
    OtherType,
    Place,
    Pointer,
    Read,
    Site,
    Struct,
    Type,
    Variable,
    stripped,
    subexpressions,
)


def held(context: Context, result: Expr, node: Any, fx: Effects) -> Expr:
    """Value with a call at its top evaluated first into a temporary, unless the call is pure."""
    if isinstance(result, Cast):
        inner = held(context, result.operand, node, fx)
        return result if inner is result.operand else Cast(inner, result.type, result.site)
    if not isinstance(result, Call) or result.pure:
        return result
    if isinstance(result.type, OtherType):
        if not fx.rejections:
            message = f"`{context.text(node)}` gives a value of a type that is not analysed"
            refuse(fx, "unsupported-type", context.site(node), message)
        return Invariant(context.text(node), INT, context.site(node))
    note_given(result, fx, kept=True)
    target = temporary(context, fx, result.type, node, result.function.lstrip("*"))
    assign_temporary(fx.statements, target, result)
    return Read(target)


def note_given(result: Expr, fx: Effects, kept: bool) -> None:
    """Note that a call may change the scalars whose addresses it is given; if it is not `kept` in a
    temporary, its mention of them is in order."""
    while isinstance(result, Cast):
        result = result.operand
    for argument in result.arguments if isinstance(result, Call) and not result.pure else ():
        if isinstance(argument, AddressOf) and not argument.place.steps and is_scalar(argument.place.type):
            variable = argument.place.variable
            note_change(fx, variable, 0 if kept else occurrences(result, variable), target_counts=False)


def call(context: Context, node: Any, fx: Effects) -> Expr:
    """A call as an expression; the side effects of its arguments come before."""
    name, known = _callee(context, node, fx)
    if name == "__polylsp_asm":
        refuse(fx, "unsupported-statement", context.site(node), "inline assembly is not analysed")
        return Invariant("asm", INT, context.site(node))
    if name == "__polylsp_block":
        message = "this statement expression `({ ... })` does more than name values, which is not analysed"
        refuse(fx, "unsupported-statement", context.site(node), message)
        return Invariant("({ ... })", INT, context.site(node))
    if name == "offsetof":
        from polylsp.frontends.c.expressions import offset

        return offset(context, node, fx)
    if name == "__polylsp_attribute":
        attribute = context.text(node.args).strip('"')
        message = f"the attribute `{attribute}` of this declaration is not analysed"
        refuse(fx, "unsupported-statement", context.site(node), message)
        return Invariant(attribute, INT, context.site(node))
    arguments = _arguments(context, node, known, fx)
    site = context.site(node)
    if name in ("__builtin_constant_p", "__builtin_prefetch"):
        return Constant(0, INT, site)
    if known is not None and known.defined and known.replaceable and not (known.const or known.pure):
        message = f"`{name}` is declared `{known.replaceable}`: it may do something else than its body says"
        refuse(fx, "unknown-call", site, message)
    pure = known.const if known is not None else False
    reads = known.pure if known is not None else False
    if _is_library(known):
        pure = pure or pure_result(name) is not None
        reads = reads or memory_result(name) is not None
    if not (pure or reads or is_forgetful(name)):
        for argument in arguments:
            give(context, argument)
    ends = known.ends if known is not None else False
    sets = library_variables(name) if pure and _is_library(known) else ()
    macro = usual_macro(name, [each.type for each in arguments]) if known is None else None
    if macro is not None:
        return Call(name, arguments, False, macro[1], site, macro=macro[0])
    reads = reads and not pure
    record, bytes_each = _record(context, name, arguments) if _is_library(known) else ((), 0)
    of_type = _result(name, known)
    watched = context.watched
    return Call(name, arguments, pure, of_type, site, reads, ends, sets, watched, "", record, bytes_each)


_Numbers = tuple[tuple[tuple[str | int, ...], Type], ...]


def _record(context: Context, name: str, arguments: tuple[Expr, ...]) -> tuple[_Numbers, int]:
    """The numbers in a structure that the first argument leads to, and its size in bytes: `qsort` must be
    told that size, other functions copy or set bytes."""
    match arguments:
        case (array, _, amount, *_) if isinstance(array.type, Pointer) and isinstance(array.type.to, Struct):
            bytes_each, given = size(array.type.to, context.structs), stripped(amount)
        case _:
            return (), 0
    is_given = isinstance(given, Constant) and given.value == bytes_each
    fits = is_given if name == "qsort" else name in ("memcpy", "memmove", "memset")
    numbers = _numbers(context, array.type.to) if fits and bytes_each else None
    if numbers is None or bytes_each is None or len(numbers) > _WHOLE_COPY_LIMIT:
        return (), 0
    return numbers, bytes_each


def _numbers(context: Context, type: Type) -> _Numbers | None:
    """The numbers in an object; `None` where there may be others, or two that share memory."""
    inner: list[tuple[str | int, Type]]
    match type:
        case Integer() | Floating() if type.bits <= 64:
            return (((), type),)
        case Array(element=element, extent=Constant(value=count)):
            inner = [(int(count), element)]
        case Struct(name=name, union=False) if name in context.structs:
            members = context.structs[name]
            if any(m.volatile or m.anonymous or m.bit_field for m in members):
                return None
            inner = [(m.name, m.type) for m in members]
        case _:
            return None
    found: list[tuple[tuple[str | int, ...], Type]] = []
    for step, of_type in inner:
        parts = _numbers(context, of_type)
        if parts is None:
            return None
        found += [((step, *way), number) for way, number in parts]
    return tuple(found)


def stated_facts(context: Context, node: Any, fx: Effects) -> list[Assume] | None:
    """The facts that a call states which stands for an assumption or an assertion; `None` for any other call.
    An assertion is evaluated; an assumption is not, and says nothing where it would have effects."""
    name = node.name.name if isinstance(node.name, c_ast.ID) else ""
    if name not in _FACTS or isinstance(context.lookup(name), Variable):
        return None
    from polylsp.frontends.c.expressions import condition

    site = context.site(node)
    operands = node.args.exprs if node.args is not None else []
    if not operands:
        return [Assume(Constant(0, INT, site), site)]
    inner = fx.sequenced() if name == "__polylsp_assert" else Effects()
    stated = condition(context, operands[-1], inner)
    evaluated = inner.statements and name != "__polylsp_assert"
    return [] if inner.rejections or evaluated else [Assume(stated, site)]


_FACTS = frozenset(("__builtin_unreachable", "__builtin_assume", "__polylsp_assert"))


def _callee(context: Context, node: Any, fx: Effects) -> tuple[str, Prototype | None]:
    """The name that the call goes by, and the function of that name if it is declared."""
    if isinstance(node.name, c_ast.ID):
        known = context.lookup(node.name.name)
        if known is None:
            return canonical(node.name.name), None
        if isinstance(known, Prototype):
            return canonical(known.name), known
    from polylsp.frontends.c.expressions import value

    value(context, node.name, fx)
    return "*" + context.text(node.name).strip("(*) "), None


def _arguments(context: Context, node: Any, known: Prototype | None, fx: Effects) -> tuple[Expr, ...]:
    from polylsp.frontends.c.expressions import value

    inner = fx.sequenced()
    parameters = known.parameters if known is not None else None
    arguments: list[Expr] = []
    for position, argument in enumerate(node.args.exprs if node.args is not None else ()):
        given = value(context, argument, inner)
        wanted = parameters[position] if parameters is not None and position < len(parameters) else None
        arguments.append(_passed(given, wanted))
    if arguments:
        settle(inner, tuple(arguments))
    return tuple(arguments)


def _passed(argument: Expr, wanted: Type | None) -> Expr:
    if wanted is None or isinstance(wanted, OtherType | Struct):
        default = DOUBLE if argument.type == Floating(32) else promote(argument.type)
        return convert(argument, default) if isinstance(argument.type, Floating | Integer) else argument
    if isinstance(wanted, Pointer) and isinstance(argument.type, Pointer):
        return argument
    return convert(argument, wanted) if is_scalar(argument.type) else argument


def _is_library(known: Prototype | None) -> bool:
    """A function that is only declared, or not at all, is the library's of that name."""
    return known is None or not known.defined


def _result(name: str, known: Prototype | None) -> Type:
    if known is not None:
        return known.result
    result = pure_result(name) or memory_result(name)
    if result is None and is_allocator(name):
        result = library_result(name)
    return result if result is not None else INT


# --------------------------------------------------------------------------------------------------
# Assignments, increments, and expressions evaluated for their side effects.
# --------------------------------------------------------------------------------------------------


_WHOLE_COPY_LIMIT = 64
_ELEMENTWISE = 16
"""Parts of a structure that are assigned one by one, and elements of an array of numbers among them; a longer
one is moved as memory."""

_Pairs = list[tuple[Place, Place]]


def effect(context: Context, node: Any, fx: Effects) -> None:
    """Evaluate an expression and drop its value."""
    from polylsp.frontends.c.expressions import value

    match node:
        case c_ast.Assignment():
            assignment(context, node, fx, used=False)
        case c_ast.UnaryOp(op="++" | "--" | "p++" | "p--"):
            increment(context, node, fx, used=False)
        case c_ast.ExprList():
            for part in node.exprs:
                effect(context, part, fx.sequenced())
        case c_ast.FuncCall() if (fact := stated_facts(context, node, fx)) is not None:
            fx.statements.extend(fact)
        case c_ast.FuncCall():
            result = call(context, node, fx)
            if isinstance(result, Call) and not (_only_returns(result) or _moves_object(context, result, fx)):
                fx.statements.append(Evaluate(result, context.site(node)))
        case c_ast.Cast():
            effect(context, node.expr, fx)
        case c_ast.TernaryOp():
            _branches(context, node, node.cond, node.iftrue, node.iffalse, fx)
        case c_ast.BinaryOp(op="&&"):
            _branches(context, node, node.left, node.right, None, fx)
        case c_ast.BinaryOp(op="||"):
            _branches(context, node, node.left, None, node.right, fx)
        case _:
            dropped = value(context, node, fx)
            settle(fx, dropped)
            setting = (e for e in subexpressions(dropped) if isinstance(e, Call) and e.pure and e.sets)
            fx.statements.extend(Evaluate(each, each.site) for each in setting)


def _only_returns(call: Call) -> bool:
    """True for a call that does nothing but return a value: it sets no variable of the library either."""
    return call.pure and not call.sets


def assignment(context: Context, node: Any, fx: Effects, used: bool) -> Expr:
    """`target = value` or `target op= value`; the value that the target then has."""
    from polylsp.frontends.c.expressions import direct_value, value

    site = context.site(node)
    target = place(context, node.lvalue, fx)
    if target is None:
        effect(context, node.rvalue, fx)
        return Invariant(context.text(node), INT, site)
    lowering = direct_value if node.op == "=" else value
    result = lowering(context, node.rvalue, fx)
    note_given(result, fx, kept=False)
    settle(fx, (result, *target.steps), target.variable)
    if not _fits(context, target, result, fx):
        return Invariant(context.text(node), INT, site)
    if node.op == "=":
        assign(context, target, result, site, fx)
    else:
        _update(target, cast(BinaryOperator, node.op[:-1]), result, site, fx)
    return _afterwards(target, node.op, result, fx) if used else Invariant("", INT, site)


def assign(context: Context, target: Place, value: Expr, site: Site, fx: Effects) -> None:
    """`target = value`, a structure member by member."""
    if isinstance(target.type, Struct) and isinstance(value, Read):
        _copy(context, target, value.place, site, fx)
        return
    converted = convert(value, target.type)
    store(context, target, converted)
    fx.statements.append(Assign(target, None, converted, site))


def increment(context: Context, node: Any, fx: Effects, used: bool) -> Expr:
    """`++x`, `x++` and their like; the value that C gives them."""
    site = context.site(node)
    target = place(context, node.expr, fx)
    if target is None or not _fits(context, target, None, fx):
        return Invariant(context.text(node), INT, site)
    operator: BinaryOperator = "+" if "+" in node.op else "-"
    one = _one(target.type, site)
    statements = fx.statements
    if used and node.op[0] == "p" and fx.after is not None:
        statements = fx.after
    _append_update(statements, target, operator, one, site)
    if not used:
        return one
    if not target.steps:
        note_change(fx, target.variable, 1)
    result = Read(Place(target.variable, target.steps, target.type, target.site))
    if node.op[0] != "p" or statements is fx.after:
        return result
    # The variable has its new value already: the old one is computed back, exactly.
    back: BinaryOperator = "-" if operator == "+" else "+"
    return convert(binary(back, result, one, site), target.type)


def _branches(context: Context, node: Any, test: Any, then: Any, otherwise: Any, fx: Effects) -> None:
    from polylsp.frontends.c.expressions import condition

    decided = condition(context, test, fx)
    blocks: list[Block] = []
    for part in (then, otherwise):
        branch = fx.branch()
        if part is not None:
            effect(context, part, branch)
        blocks.append(Block(tuple(branch.statements)))
    if blocks[0].statements or blocks[1].statements:
        fx.statements.append(If(decided, blocks[0], blocks[1], context.site(node)))


def _update(target: Place, operator: BinaryOperator, value: Expr, site: Site, fx: Effects) -> None:
    _append_update(fx.statements, target, operator, value, site)


def _append_update(
    statements: list[Any], target: Place, operator: BinaryOperator, value: Expr, site: Site
) -> None:
    """`target operator= value`, the value converted to the type that C computes in."""
    if target.type == BOOL:
        statements.append(
            Assign(target, None, convert(binary(operator, Read(target), value, site), BOOL), site)
        )
        return
    if operator in ("<<", ">>") or isinstance(target.type, Pointer):
        value = convert(value, promote(value.type))
    else:
        value = convert(value, common(target.type, value.type))
    statements.append(Assign(target, operator, value, site))


def _one(type: Type, site: Site) -> Constant:
    return Constant(1.0, type, site) if isinstance(type, Floating) else Constant(1, INT, site)


def _fits(context: Context, target: Place, value: Expr | None, fx: Effects) -> bool:
    """True if the target can take the value; otherwise note a rejection."""
    fits = (
        is_scalar(target.type)
        if value is None
        else (
            (is_scalar(target.type) and is_scalar(value.type))
            or (isinstance(target.type, Struct) and target.type == value.type)
        )
    )
    if not fits and not fx.rejections:
        what = context.sites.text(target.site)
        message = f"`{what}` has the type `{spelling(target.type)}`, to which assignments are not analysed"
        refuse(fx, "unsupported-type", target.site, message)
    return fits


def _afterwards(target: Place, operator: str, value: Expr, fx: Effects) -> Expr:
    """The value of an assignment: the new value of its target."""
    if operator == "=" and isinstance(value, Constant) and is_arithmetic(target.type):
        if not target.steps:
            note_change(fx, target.variable, 0)
        return convert(value, target.type)
    if not target.steps:
        note_change(fx, target.variable, 1)
    return Read(target)


def _copy(context: Context, target: Place, source: Place, site: Site, fx: Effects) -> None:
    """A structure's members one by one, in their order."""
    pairs: _Pairs = []
    if not _leaves(context, target, source, site, pairs, fx):
        what = context.sites.text(source.site)
        message = f"`{what}` is copied whole, which is not analysed"
        refuse(fx, "unsupported-type", site, message, "copy the members that are needed")
        return
    _store_parts(context, pairs, site, fx)


def _store_parts(context: Context, pairs: _Pairs, site: Site, fx: Effects, cleared: bool = False) -> None:
    """Assign the parts of a structure from those of another, or (`cleared`) zeroes; arrays as memory."""
    for number, (written, read) in enumerate(pairs, start=1):
        target, source, own = _numbered(written, number), _numbered(read, number), replace(site, part=number)
        zero = Constant(0, INT, own)
        if isinstance(target.type, Array):
            first, second = (
                AddressOf(_start(each), Pointer(_start(each).type), own) for each in (target, source)
            )
            amount = Constant(size(target.type, context.structs) or 0, SIZE, own)
            moved = (first, zero if cleared else second, amount)
            name = "memset" if cleared else "memcpy"
            fx.statements.append(Evaluate(Call(name, moved, False, Pointer(VOID), own), own))
            continue
        value = convert(zero, target.type) if cleared else decayed(source)
        store(context, target, value)
        fx.statements.append(Assign(target, None, value, own))


def _start(array: Place) -> Place:
    """The first element of an array."""
    assert isinstance(array.type, Array)
    return _part(array, Index(Constant(0, INT, array.site)), array.type.element)


def _moves_object(context: Context, moving: Call, fx: Effects) -> bool:
    """Lower a call of the library that clears or copies a whole structure (`memset(&s, 0, sizeof s)`) to the
    assignments of its members; false for any other call, and for members that cannot be followed."""
    known = context.lookup(moving.function)
    library = not (isinstance(known, Prototype) and known.defined)
    if moving.function not in _MOVING or not library or len(moving.arguments) != 3:
        return False
    first, second, amount = moving.arguments
    target = _led_to(first)
    source = _led_to(second) if moving.function != "memset" else None
    if target is None or not isinstance(target.type, Struct) or not isinstance(amount, Constant):
        return False
    if amount.value != size(target.type, context.structs):
        return False
    pairs: _Pairs = []
    if moving.function == "memset":
        cleared = isinstance(second, Constant) and second.value == 0
        # The members are read only to find them.
        if not cleared or not _leaves(context, target, target, moving.site, pairs, fx):
            return False
    elif (
        source is None
        or source.type != target.type
        or not _leaves(context, target, source, moving.site, pairs, fx)
    ):
        return False
    _store_parts(context, pairs, moving.site, fx, cleared=source is None)
    return True


_MOVING = frozenset(("memset", "memcpy", "memmove"))


def _led_to(pointer: Expr) -> Place | None:
    """The object that a pointer argument leads to, if it is named by a place."""
    inner = pointer
    while isinstance(inner, Cast) and isinstance(inner.operand.type, Pointer):
        inner = inner.operand
    match inner:
        case AddressOf(place):
            return place
        case Read(place) if isinstance(place.type, Pointer):
            return _pointed(place, Constant(0, INT, place.site))
        case Binary("+", Read(place), offset) if isinstance(place.type, Pointer):
            return _pointed(place, offset)
        case _:
            return None


def _pointed(pointer: Place, offset: Expr) -> Place:
    """The element that lies at an offset from where a pointer leads."""
    assert isinstance(pointer.type, Pointer)
    return Place(pointer.variable, (*pointer.steps, Index(offset)), pointer.type.to, pointer.site)


def _numbered(place: Place, number: int) -> Place:
    """A member's place, told apart from the others of the structure."""
    return replace(place, site=replace(place.site, part=number))


def _leaves(context: Context, target: Place, source: Place, site: Site, pairs: _Pairs, fx: Effects) -> bool:
    """Collect the scalars of two places of one type; whether that is possible."""
    steps: list[tuple[Field | Index, Type]]
    match target.type:
        case Struct(name=name, union=False) if name in context.structs:
            steps = [(entry.step, entry.type) for entry in context.structs[name]]
        case Array(element=element, extent=Constant(value=count)) if count > _ELEMENTWISE and is_arithmetic(
            element
        ):
            pairs.append((target, source))
            return len(pairs) <= _WHOLE_COPY_LIMIT
        case Array(element=element, extent=Constant(value=count)) if count <= _WHOLE_COPY_LIMIT:
            steps = [(Index(Constant(position, INT, site)), element) for position in range(int(count))]
        case _ if is_scalar(target.type):
            pairs.append((target, source))
            return len(pairs) <= _WHOLE_COPY_LIMIT
        case _:
            return False
    return all(
        _leaves(context, _part(target, step, type), _part(source, step, type), site, pairs, fx)
        for step, type in steps
    )


def _part(whole: Place, step: Field | Index, type: Type) -> Place:
    return Place(whole.variable, (*whole.steps, step), type, whole.site)
