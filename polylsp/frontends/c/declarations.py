"""Declarations: of the file, of parameters, of local variables."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any, Literal

from pycparser import c_ast

from polylsp.frontends.c.declarators import (
    FUNCTION,
    adjusted,
    is_const,
    is_enumeration,
    is_realigned,
    is_volatile,
    prototype,
    resolve,
)
from polylsp.frontends.c.declared_attributes import (
    ANOTHER_NAME,
    LAYOUT,
    OTHER_TYPES,
    makes_another_type,
    replacing,
    unknown,
)
from polylsp.frontends.c.initializers import initialise, sized, table_values
from polylsp.frontends.c.lowering_context import Context, Effects, Prototype, initialise_static, token_of
from polylsp.frontends.c.top_level import Declaration
from polylsp.frontends.c.types import DOUBLE, INT, STANDARD, promote, size
from polylsp.frontends.c.values import convert, is_scalar
from polylsp.ir.program import (
    NOWHERE,
    Array,
    Assign,
    Constant,
    Declare,
    Expr,
    Floating,
    Integer,
    OtherType,
    Place,
    Pointer,
    Read,
    Site,
    Statement,
    Struct,
    Type,
    Unsupported,
    Variable,
)


def declare_file_level(context: Context, tree: Any, source: Declaration | None, own: frozenset[str]) -> None:
    """Enter a declaration of the file into the outermost scope; `own` are functions that the file defines."""
    attributes = source.attributes if source is not None else frozenset[str]()
    context.attributes = attributes
    if source is not None and "packed" in attributes and "enum" in source.tokens:
        # Which of several types is packed is not known.
        several = sum(source.tokens.count(word) for word in ("enum", "struct", "union")) > 1
        context.attributes = attributes | {"packed-part"} if several else attributes
    _declare(context, tree, source, own)
    context.attributes = frozenset()


def _declare(context: Context, tree: Any, source: Declaration | None, own: frozenset[str]) -> None:
    attributes = source.attributes if source is not None else frozenset[str]()
    vector = not attributes.isdisjoint(OTHER_TYPES)
    if source is not None and source.opaque:
        context.scopes[-1].typedefs[source.name] = (STANDARD.get(source.name, OtherType(source.name)), False)
    elif isinstance(tree, c_ast.Typedef):
        define_type(context, tree, Effects())
        if not attributes.isdisjoint(LAYOUT):
            context.realigned.add(tree.name)
        if makes_another_type(attributes):
            context.scopes[-1].typedefs[tree.name] = (OtherType(tree.name), False)
    elif isinstance(tree, c_ast.FuncDef):
        _function(context, tree.decl, source, own)
    elif isinstance(tree, c_ast.Decl):
        if isinstance(tree.type, c_ast.FuncDecl):
            _function(context, tree, source, own)
        elif tree.name is None and (not vector or isinstance(tree.type, c_ast.Enum)):
            resolve(context, tree.type, Effects())
        elif tree.name is not None:
            _global(context, tree)
            _restrain(context, tree.name, attributes)


def _restrain(context: Context, name: str, attributes: frozenset[str]) -> None:
    """Note the attributes that leave open what a variable of the file is, or what it holds."""
    variable = context.scopes[-1].names.get(name)
    if not isinstance(variable, Variable):
        return
    if not attributes.isdisjoint(OTHER_TYPES):
        context.scopes[-1].names[name] = replace(variable, type=OtherType("vector"), bytes=None)
    elif not attributes.isdisjoint(ANOTHER_NAME):
        context.refused[variable.name] = f"`{name}` may be another name of an object (`alias`, `asm`)"
    elif others := unknown(attributes):
        context.refused[variable.name] = (
            f"the attribute `{min(others)}` of `{name}` is not analysed, and may change what it is"
        )
    elif replacing(attributes) and (variable.const or variable.leads_to):
        context.refused[variable.name] = f"`{name}` is `weak`: the linker may choose another definition"


def define_type(context: Context, tree: Any, fx: Effects) -> None:
    """Enter a `typedef`."""
    type = resolve(context, tree.type, fx)
    if len(context.scopes) == 1:
        type = _spelled_elsewhere(type)
    context.scopes[-1].typedefs[tree.name] = (type, is_volatile(context, tree))
    if is_enumeration(context, tree):
        context.enumerations.add(tree.name)
    if is_realigned(context, tree):
        context.realigned.add(tree.name)


def _spelled_elsewhere(type: Type) -> Type:
    """The type of a `typedef` of the file in a function: the function does not spell its extents."""
    match type:
        case Array(element=element, extent=extent):
            known = replace(extent, site=NOWHERE) if isinstance(extent, Constant) else extent
            return replace(type, element=_spelled_elsewhere(element), extent=known)
        case Pointer(to=to):
            return replace(type, to=_spelled_elsewhere(to))
        case _:
            return type


def declare_parameters(
    context: Context, definition: Any
) -> tuple[tuple[Variable, ...], tuple[Statement, ...]]:
    """The parameters of a function definition, old style or new, and what happens before its body: sizes with
    effects, and conversions of arguments that a caller without a prototype has promoted (C11 6.9.1p10)."""
    declarator = definition.decl.type
    old_style = {d.name: d for d in definition.param_decls or () if isinstance(d, c_ast.Decl)}
    parameters: list[Variable] = []
    fx = Effects()
    for node in declarator.args.params if getattr(declarator, "args", None) is not None else ():
        decl = old_style.get(node.name, node) if isinstance(node, c_ast.ID) else node
        if isinstance(decl, c_ast.ID):
            parameters.append(_enter(context, decl.name, INT, "parameter"))
        elif isinstance(decl, c_ast.Decl) and decl.name:
            is_promoted = isinstance(node, c_ast.ID)
            parameters.append(_parameter(context, decl, fx, is_promoted, definition.body))
    refused = (Unsupported(each, each.site) for each in fx.rejections)
    return tuple(parameters), (*refused, *fx.statements)


def declare_local(context: Context, decl: Any, fx: Effects) -> None:
    """A declaration inside the function, with its initialiser."""
    if isinstance(decl.type, c_ast.FuncDecl):
        context.scopes[-1].names[decl.name] = prototype(context, decl.name, decl.type, False, False)
        return
    type = resolve(context, decl.type, fx)
    if decl.name is None:
        return
    if isinstance(type, Array):
        type = sized(context, type, decl.init)
    if decl.init is not None and _is_typeof(type):
        type = _inferred(context, decl)
    storage = _storage(decl)
    variable = _enter(
        context,
        decl.name,
        type,
        storage,
        storage == "static" and _is_table(decl),
        storage != "local" and _is_per_thread(context, decl),
    )
    _note(context, decl, variable)
    if storage != "local":
        _initialised(context, variable, decl)
        return
    name = token_of(decl)
    last = context.site(decl.init).last if decl.init is not None else _end(context, name)
    fx.statements.append(Declare(variable, Site(name, max(name, last))))
    if decl.init is not None:
        context.volatile.discard(variable.name)
        initialise(context, Place(variable, (), type, Site(name, name)), decl.init, fx)
        if is_volatile(context, decl):
            context.volatile.add(variable.name)
        if is_const(decl):
            _remember(context, variable, decl.init)


def _end(context: Context, name: int) -> int:
    """The last token of a declarator without initialiser: the name, or the brackets after it."""
    tokens = context.sites.tokens
    while name + 1 < len(tokens) and tokens[name + 1] in ("[", "("):
        name = context.sites.match.get(name + 1, name + 1)
    return name


def _storage(decl: Any) -> Literal["local", "static", "global"]:
    if "static" in decl.storage:
        return "static"
    return "global" if "extern" in decl.storage else "local"


def _is_table(decl: Any) -> bool:
    """True if the object is defined by this declaration, and as `const` with all its elements."""
    declared = decl.type
    while isinstance(declared, c_ast.ArrayDecl):
        declared = declared.type
    defined = "extern" not in decl.storage
    return defined and isinstance(declared, c_ast.TypeDecl) and "const" in (declared.quals or ())


def _is_per_thread(context: Context, decl: Any) -> bool:
    """True for a thread-local variable; `errno` always is one."""
    return "_Thread_local" in decl.storage or decl.name in context.per_thread or decl.name == "errno"


def _enter(
    context: Context,
    name: str,
    type: Any,
    storage: Literal["parameter", "local", "static", "global"],
    const: bool = False,
    per_thread: bool = False,
) -> Variable:
    unique = context.unique(name)
    variable = Variable(
        unique,
        name,
        type,
        storage,
        unique in context.escaping,
        const,
        bytes=size(type, context.structs),
        per_thread=per_thread,
    )
    context.scopes[-1].names[name] = variable
    return variable


def _parameter(context: Context, decl: Any, fx: Effects, is_promoted: bool, body: Any) -> Variable:
    type = resolve(context, decl.type, fx)
    if type == FUNCTION or (isinstance(type, Array) and _is_assigned(context, decl.name, body)):
        type = adjusted(type)
    passed = DOUBLE if type == Floating(32) else promote(type)
    if is_promoted and passed != type:
        return _converted_parameter(context, decl, passed, type, fx)
    variable = _enter(context, decl.name, type, "parameter")
    _note(context, decl, variable)
    return variable


def _is_assigned(context: Context, name: str, body: Any) -> bool:
    """True if code changes a name itself, or takes its address: as a parameter it is no array then."""
    # Of most parameters elements alone are named.
    if all(after == "[" for own, after in pairwise(context.sites.tokens) if own == name):
        return False
    return name in changed_names(body)


def changed_names(body: Any) -> frozenset[str]:
    """Names that code assigns, or whose address it takes."""
    found: set[str] = set()
    pending = [body]
    while pending:
        node = pending.pop()
        is_update = isinstance(node, c_ast.UnaryOp) and node.op in ("&", "++", "--", "p++", "p--")
        target = node.lvalue if isinstance(node, c_ast.Assignment) else node.expr if is_update else None
        if isinstance(target, c_ast.ID):
            found.add(target.name)
        pending.extend(node)
    return frozenset(found)


def _converted_parameter(context: Context, decl: Any, passed: Type, type: Type, fx: Effects) -> Variable:
    """A parameter of an old-style definition that is narrower than the argument: a variable that is set to
    the converted argument."""
    site = Site(token_of(decl), token_of(decl))
    given = _enter(context, decl.name, passed, "parameter")
    variable = _enter(context, decl.name, type, "local")
    _note(context, decl, variable)
    value = convert(Read(Place(given, (), passed, site)), type)
    fx.statements += [Declare(variable, site), Assign(Place(variable, (), type, site), None, value, site)]
    return given


def _global(context: Context, decl: Any) -> None:
    type = resolve(context, decl.type, Effects())
    if isinstance(type, Array):
        type = sized(context, type, decl.init)
    known = context.scopes[-1].names.get(decl.name)
    if isinstance(known, Variable):
        # `extern double a[];` beside `double a[10];`: the more complete one wins.
        complete = isinstance(known.type, Array) and known.type.extent is not None
        of_type = known.type if complete else type
        variable = replace(
            known,
            type=of_type,
            const=known.const or _is_table(decl),
            bytes=size(of_type, context.structs),
            per_thread=known.per_thread or _is_per_thread(context, decl),
        )
        context.scopes[-1].names[decl.name] = variable
        if complete:
            return
    else:
        per_thread = _is_per_thread(context, decl)
        variable = _enter(context, decl.name, type, "global", _is_table(decl), per_thread)
    _note(context, decl, variable)
    _initialised(context, variable, decl)


def _note(context: Context, decl: Any, variable: Variable) -> None:
    """Record what the type of a variable does not tell."""
    if is_volatile(context, decl):
        context.volatile.add(variable.name)
    if is_enumeration(context, decl):
        context.enumerations.add(variable.name)


def _initialised(context: Context, variable: Variable, decl: Any) -> None:
    """Record the initialiser of a variable with static storage."""
    leads_to = initialise_static(context, decl.init)
    is_table = variable.const and variable.name not in context.volatile
    values = table_values(context, variable.type, decl.init) if is_table else ()
    if leads_to or values:
        context.scopes[-1].names[decl.name] = replace(variable, leads_to=leads_to, values=values)
    if is_const(decl) and decl.init is not None:
        _remember(context, variable, decl.init)


def _function(context: Context, decl: Any, source: Declaration | None, own: frozenset[str]) -> None:
    defined = decl.name in own or (source is not None and bool(source.definition))
    const = source is not None and source.const
    pure = source is not None and source.pure
    ends = source is not None and source.ends
    known = context.scopes[-1].names.get(decl.name)
    if isinstance(known, Prototype):
        const, pure, defined = const or known.const, pure or known.pure, defined or known.defined
        ends = ends or known.ends
    found = prototype(context, decl.name, decl.type, const, pure)
    replaceable = replacing(source.attributes) if source is not None else ""
    if not replaceable and isinstance(known, Prototype):
        replaceable = known.replaceable
    context.scopes[-1].names[decl.name] = Prototype(
        found.name, found.result, found.parameters, const, pure, defined, ends, replaceable
    )


def _remember(context: Context, variable: Variable, init: Any) -> None:
    """Record the value of a `const` with a constant initialiser, to stand for the variable."""
    from polylsp.frontends.c.expressions import value

    if not isinstance(variable.type, Integer | Floating) or isinstance(init, c_ast.InitList):
        return
    found: Expr = convert(value(context, init, Effects()), variable.type)
    if isinstance(found, Constant) and is_scalar(found.type) and variable.name not in context.volatile:
        context.known[variable.name] = found


def _is_typeof(type: Type) -> bool:
    while isinstance(type, Pointer):
        type = type.to
    return isinstance(type, Struct) and type.name == "__polylsp_typeof_type"


def _inferred(context: Context, decl: Any) -> Any:
    """The type of `__auto_type` and of `typeof` an expression: that of the initialiser."""
    from polylsp.frontends.c.expressions import value

    return value(context, decl.init, Effects()).type
