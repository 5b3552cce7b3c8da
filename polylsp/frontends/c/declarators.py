"""Declared types: pycparser's declarators and specifiers to the types of the model."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from pycparser import c_ast

from polylsp.frontends.c.declared_attributes import changes_layout, makes_another_type
from polylsp.frontends.c.lowering_context import (
    Context,
    Effects,
    Member,
    Prototype,
    is_update,
    refuse,
    token_of,
)
from polylsp.frontends.c.types import INT, LONG, UNSIGNED, basic, size, wrapped
from polylsp.frontends.c.values import settle
from polylsp.ir.program import (
    UNTAGGED,
    Array,
    Constant,
    Expr,
    Field,
    Floating,
    Integer,
    OtherType,
    Pointer,
    Read,
    Site,
    Struct,
    Type,
    Variable,
)

FUNCTION = OtherType("function")


def resolve(context: Context, node: Any, fx: Effects) -> Type:
    """The type of a declarator; extents that are expressions are lowered in place."""
    match node:
        case c_ast.Typename() | c_ast.Decl() | c_ast.Typedef():
            return resolve(context, node.type, fx)
        case c_ast.TypeDecl():
            type = resolve(context, node.type, fx)
            if isinstance(type, Pointer) and "restrict" in (node.quals or ()):
                return Pointer(type.to, True)
            return type
        case c_ast.PtrDecl():
            return Pointer(resolve(context, node.type, fx), "restrict" in (node.quals or ()))
        case c_ast.ArrayDecl():
            extent = _evaluated_extent(context, node.dim, fx)
            element = resolve(context, node.type, fx)
            return Array(element, extent, "restrict" in (node.dim_quals or ()))
        case c_ast.FuncDecl():
            return FUNCTION
        case c_ast.IdentifierType():
            if node.names == ["__polylsp_evaluated"]:
                message = "this `typeof` may evaluate its operand, which has effects"
                refuse(fx, "unsupported-type", Site(token_of(node), token_of(node)), message)
            return _named(context, node.names)
        case c_ast.Struct() | c_ast.Union():
            return _struct(context, node, fx)
        case c_ast.Enum():
            return _enumeration(context, node)
        case _:
            return OtherType(type_name(node))


def type_name(node: Any) -> str:
    """The kind of a node of the tree, for a type that is not modelled."""
    return type(node).__name__


def is_volatile(context: Context, node: Any) -> bool:
    """True if a declarator says `volatile` or `_Atomic` anywhere, through typedefs too."""
    while node is not None:
        quals = getattr(node, "quals", None) or ()
        if "volatile" in quals or "_Atomic" in quals:
            return True
        if isinstance(node, c_ast.IdentifierType):
            known = context.lookup_type(node.names[0]) if len(node.names) == 1 else None
            return bool(known and known[1])
        node = getattr(node, "type", None)
    return False


def is_enumeration(context: Context, node: Any) -> bool:
    """True if a declarator is of an enumerated type itself."""
    while node is not None and not isinstance(node, c_ast.PtrDecl | c_ast.ArrayDecl | c_ast.FuncDecl):
        if isinstance(node, c_ast.Enum):
            return True
        if isinstance(node, c_ast.IdentifierType):
            return len(node.names) == 1 and node.names[0] in context.enumerations
        node = getattr(node, "type", None)
    return False


def is_const(node: Any) -> bool:
    """True if the object declared is itself `const` (not the target of a pointer)."""
    declared = node.type
    return isinstance(declared, c_ast.TypeDecl) and "const" in (declared.quals or ())


def prototype(context: Context, name: str, node: Any, const: bool, pure: bool) -> Prototype:
    """A function from its declarator (`FuncDecl`)."""
    fx = Effects()
    parameters: list[Type] | None = [] if node.args is not None else None
    for parameter in node.args.params if node.args is not None else ():
        if isinstance(parameter, c_ast.EllipsisParam):
            break
        if isinstance(parameter, c_ast.ID):
            parameters = None
            break
        type = resolve(context, parameter, fx)
        if parameters is not None and type != OtherType("void"):
            parameters.append(adjusted(type))
    kept = None if parameters is None else tuple(parameters)
    return Prototype(name, resolve(context, node.type, fx), kept, const, pure)


def adjusted(type: Type) -> Type:
    """A parameter's type as the callee sees it: an array is a pointer."""
    if isinstance(type, Array):
        return Pointer(type.element, type.restrict)
    return Pointer(type) if type == FUNCTION else type


def _named(context: Context, names: list[str]) -> Type:
    if len(names) == 1:
        known = context.lookup_type(names[0])
        if known is not None:
            return known[0]
    return basic(names)


def _extent(context: Context, dim: Any) -> Expr | None:
    from polylsp.frontends.c.expressions import value

    if dim is None or (isinstance(dim, c_ast.ID) and dim.name == "*"):
        return None
    inner = Effects()
    extent = value(context, dim, inner)
    if inner.rejections or inner.statements:
        return None
    return extent


def _evaluated_extent(context: Context, dim: Any, fx: Effects) -> Expr | None:
    """The size of an array, which is evaluated where it is declared: a temporary if that has effects."""
    from polylsp.frontends.c.expressions import value
    from polylsp.frontends.c.lvalues import assign_temporary, temporary

    if dim is None or not _has_effects(context, dim):
        return _extent(context, dim)
    inner = Effects(fx.statements, None, fx.rejections)
    extent = value(context, dim, inner)
    settle(inner, extent)
    held = temporary(context, fx, LONG, dim, "size")
    assign_temporary(fx.statements, held, extent)
    return Read(held)


def _has_effects(context: Context, node: Any) -> bool:
    """True if an expression changes something, or calls a declared function; others are macros of headers
    that are not there."""
    if is_update(node):
        return True
    name = node.name.name if isinstance(node, c_ast.FuncCall) and isinstance(node.name, c_ast.ID) else ""
    if isinstance(node, c_ast.FuncCall) and (not name or context.lookup(name) is not None):
        return True
    return any(_has_effects(context, child) for _, child in node.children())


def is_realigned(context: Context, node: Any) -> bool:
    """True if a declarator is of a type whose alignment attributes change, or an array of it."""
    while node is not None and not isinstance(node, c_ast.PtrDecl | c_ast.FuncDecl):
        if isinstance(node, c_ast.IdentifierType):
            return len(node.names) == 1 and node.names[0] in context.realigned
        node = getattr(node, "type", None)
    return False


def _struct(context: Context, node: Any, fx: Effects) -> Type:
    union = isinstance(node, c_ast.Union)
    if node.decls is None:
        known = context.lookup_tag(node.name)
        if known is not None:
            return known
        forward = Struct(context.unique(f"struct {node.name}").removeprefix("struct "), union)
        context.scopes[-1].tags[node.name] = forward
        return forward
    known = context.scopes[-1].tags.get(node.name) if node.name else None
    if isinstance(known, Struct):
        struct = known
    else:
        # The tree of one specifier is shared by all the names that it declares.
        key = f"struct {node.name or f'#{id(node)}'}"
        shared = context.scopes[-1].tags.get(key)
        if isinstance(shared, Struct):
            return shared
        name = context.unique(f"struct {node.name or UNTAGGED}").removeprefix("struct ")
        struct = Struct(name, union)
        context.scopes[-1].tags[node.name or key] = struct
    if struct.name not in context.structs:
        members = _members(context, node, fx)
        context.structs[struct.name] = _in_union(context, members) if union else members
    return struct


def _members(context: Context, node: Any, fx: Effects) -> tuple[Member, ...]:
    members: list[Member] = []
    locations: dict[int, list[Field]] = {}
    location = 0
    for index, decl in enumerate(node.decls):
        if not isinstance(decl, c_ast.Decl):
            continue
        type = resolve(context, decl.type, fx)
        width = _extent(context, decl.bitsize) if decl.bitsize is not None else None
        if isinstance(width, Constant) and isinstance(type, Integer):
            type = Integer(max(1, int(width.value)), type.signed)
        anonymous = decl.name is None
        name = decl.name or f"#{index}"
        bit_field = decl.bitsize is not None
        if not bit_field or (isinstance(width, Constant) and width.value == 0):
            location = index + 1
        elif not anonymous:
            locations.setdefault(location, []).append(Field(name, type, bit_field=True))
        displaced = changes_layout(context.attributes) or is_realigned(context, decl.type)
        members.append(
            Member(name, type, is_volatile(context, decl), anonymous, bit_field, displaced=displaced)
        )
    known = [_with_neighbours(member, locations.values()) for member in members]
    empty = [k for k, member in enumerate(known[:-1]) if _is_empty(member.type)]
    return tuple(replace(member, covers=True) if k in empty else member for k, member in enumerate(known))


def _is_empty(type: Type) -> bool:
    """True for an array of no elements (GNU C)."""
    return isinstance(type, Array) and isinstance(type.extent, Constant) and type.extent.value == 0


def _in_union(context: Context, members: tuple[Member, ...]) -> tuple[Member, ...]:
    """Members of a union, those marked that do not fill it, or may not."""
    sizes = [None if m.bit_field else size(m.type, context.structs) for m in members]
    most = -1 if None in sizes else max((each or 0 for each in sizes), default=0)
    # The bytes behind a `long double` stay as they are.
    fills = (s == most and m.type != Floating(80) for s, m in zip(sizes, members, strict=True))
    return tuple(replace(m, partial=not each) for m, each in zip(members, fills, strict=True))


def _with_neighbours(member: Member, locations: Iterable[list[Field]]) -> Member:
    """A bit-field with the others of its memory location."""
    for fields in locations if member.bit_field else ():
        if any(one.name == member.name for one in fields):
            return replace(member, shares=tuple(one for one in fields if one.name != member.name))
    return member


def _enumeration(context: Context, node: Any) -> Type:
    if node.values is None:
        return (context.lookup_tag(f"enum {node.name}")) or UNSIGNED
    key = f"enum {node.name or f'#{id(node)}'}"
    known = context.scopes[-1].tags.get(key)
    if known is not None:
        return known
    next_value: int | None = 0
    values: dict[str, int] = {}
    for enumerator in node.values.enumerators:
        if not isinstance(enumerator, c_ast.Enumerator):
            continue
        if enumerator.value is not None:
            given = _extent(context, enumerator.value)
            next_value = int(given.value) if isinstance(given, Constant) else None
        context.scopes[-1].names[enumerator.name] = _enumerator(context, enumerator.name, next_value)
        if next_value is not None:
            values[enumerator.name] = next_value
            next_value += 1
    type = _enumerated(context, node, min(values.values(), default=0), max(values.values(), default=0))
    for name, one in values.items():
        if isinstance(type, Integer) and wrapped(one, INT) != one:
            context.scopes[-1].names[name] = Constant(one, type, Site(0, 0))
    context.scopes[-1].tags[key] = type
    return type


def _enumerator(context: Context, name: str, number: int | None) -> Constant | Variable:
    """An enumerator, as a constant variable where its number is unknown."""
    if number is None:
        return Variable(context.unique(name), name, INT, "global", const=True, bytes=4)
    return Constant(number, INT if wrapped(number, INT) == number else LONG, Site(0, 0))


def _enumerated(context: Context, node: Any, lowest: int, highest: int) -> Type:
    """The type of an enumeration as gcc chooses it: unsigned unless an enumerator is negative, of 32 bits if
    these suffice; the smallest one if it is `packed`."""
    attributes = context.attributes
    if makes_another_type(attributes):
        return OtherType(f"enum {node.name or UNTAGGED}")
    for bits in (8, 16, 32, 64) if "packed" in attributes else (32, 64):
        type = Integer(bits, lowest < 0)
        if wrapped(lowest, type) == lowest and wrapped(highest, type) == highest:
            return type
    return OtherType(f"enum {node.name or UNTAGGED}")
