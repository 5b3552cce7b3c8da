"""Subset of Python that Numba compiles with Python's semantics.

An allow-list, so that all other code is left alone. Gives the reason for code outside of it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from polylsp.frontends.python.kinds import INT64
from polylsp.frontends.python.kinds import Array as ArrayKind
from polylsp.frontends.python.names import Callable, Imported, Value
from polylsp.frontends.python.syntax import constant
from polylsp.ir.program import Array, Floating, Integer, Pointer, Type, Variable
from polylsp.model.action import Edited, Replacement
from polylsp.targets.numba.python_loops import Source, source_of, with_edits
from polylsp.targets.numba.whole_numbers import why_not_whole

_PLAIN = (
    ast.Assign, ast.AugAssign, ast.For, ast.While, ast.If, ast.Return, ast.Pass, ast.Continue, ast.Break,
    ast.Expr, ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Name, ast.Subscript, ast.Slice,
    ast.Tuple, ast.keyword, ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop,
)  # fmt: skip
_BUILTINS = (
    "range", "len", "abs", "min", "max", "int", "float", "complex", "bool", "round",
    "prange", "numba.prange", "numba.get_num_threads",
)  # fmt: skip
ELEMENTWISE = (
    "sqrt", "exp", "log", "log2", "log10", "log1p", "expm1", "sin", "cos", "tan", "arcsin", "arccos",
    "arctan", "arctan2", "sinh", "cosh", "tanh", "abs", "absolute", "fabs", "floor", "ceil", "power",
    "maximum", "minimum", "hypot", "sign",
)  # fmt: skip
"""Functions that NumPy applies to each element."""
_TYPES = ("float64", "float32", "int64", "complex128", "complex64", "bool_")
_NUMPY = (
    *ELEMENTWISE, *_TYPES, "zeros", "ones", "empty", "full", "zeros_like", "ones_like", "empty_like",
    "full_like", "arange", "linspace", "sum", "prod", "mean", "cumsum", "where", "square", "isnan", "isinf",
    "isfinite", "logical_and", "logical_or", "logical_not", "min", "max", "argmin", "argmax", "std", "var",
    "any", "all", "median",
)  # fmt: skip
_REDUCING = ("sum", "prod", "mean", "min", "max", "argmin", "argmax", "std", "var", "any", "all")
"""Methods of arrays that reduce them to a number."""
_NUMBERS = ("pi", "e", "inf", "nan", *_TYPES)
_DTYPE_PLACES = {
    "zeros": 1, "ones": 1, "empty": 1, "ndarray": 1, "full": 2,
    "zeros_like": 1, "ones_like": 1, "empty_like": 1, "full_like": 2, "linspace": 5, "arange": 3,
}  # fmt: skip
"""Positions of the element type among the arguments of functions that make arrays."""
_COMPILED_TYPES = {"int": "int64", "float": "float64", "complex": "complex128", "bool": "bool_"}
"""Types of Python, and those of NumPy for which these stand as types of elements."""
_ATTRIBUTES = ("shape", "size", "ndim", "T", "copy")


def why_not(source: Source, node: ast.AST) -> str:
    """Reason why Numba does not compile a node, or computes other whole numbers, regardless of the nodes
    inside it; empty if there is none."""
    return why_not_whole(source, node) or _why_not(source, node)


def _why_not(source: Source, node: ast.AST) -> str:
    match node:
        case ast.BinOp(op=ast.MatMult()) | ast.AugAssign(op=ast.MatMult()):
            return f"`@` on line {source.line(node)} needs SciPy when Numba compiles it: write loops."
        case ast.Call():
            return _call(source, node)
        case ast.Attribute():
            return _attribute(source, node)
        case ast.Name(id=name, ctx=ast.Load()) if name not in source.local:
            return _outer(source, node)
        case ast.Compare() if (differing := _of_objects(node)) is not None:
            return (
                f"`{ast.unparse(differing)}` on line {source.line(node)} compares objects, and Numba numbers."
            )
        case ast.Constant(value=None | bool() | int() | float() | complex()):
            return ""
        case _ if isinstance(node, _PLAIN):
            return ""
        case ast.stmt() | ast.expr():
            return _unknown(source, node)
        case _:
            return f"Numba may not compile what stands in `{source.subject.function.name}`."


def _of_objects(node: ast.Compare) -> ast.Compare | None:
    """A comparison that can differ for numbers that are equal: `np.False_ is False` does not hold, and NaN is
    in a tuple with itself."""
    left = node.left
    for operator, right in zip(node.ops, node.comparators, strict=True):
        of_none = isinstance(right, ast.Constant) and right.value is None
        if isinstance(operator, ast.Is | ast.IsNot) and not of_none:
            return node
        if isinstance(operator, ast.In | ast.NotIn) and constant(left) is None:
            return node
        left = right
    return None


def _unknown(source: Source, node: ast.stmt | ast.expr) -> str:
    text = ast.unparse(node).partition("\n")[0]
    return f"Numba may not compile `{text}` on line {source.line(node)}."


def _call(source: Source, node: ast.Call) -> str:
    path = source.path(node.func)
    root, _, name = path.rpartition(".")
    known = path in _BUILTINS or root == "math" or (root == "numpy" and name in _NUMPY)
    keywords = {k.arg for k in node.keywords}
    if known and keywords <= {"dtype"}:
        return _element_type(source, node)
    if path == "numpy.sum" and keywords == {"axis"} and len(node.args) == 1:
        axes = node.keywords[0].value
        each = axes.elts if isinstance(axes, ast.Tuple) else [axes]
        return "" if all(constant(one) is not None for one in each) else _unknown(source, node)
    if _copies_array(source, node) or _reduces_array(source, node):
        return ""
    called = _function_of_file(source, node)
    if called is not None:
        return _callee(source, node, called.id)
    return _unknown(source, node)


def _element_type(source: Source, node: ast.Call) -> str:
    """Reason why Numba does not compile the element type that a call asks for."""
    told, path = _told_type(source, node), source.path(node.func)
    if told is not None and (path == "numpy.linspace" or _type_compiled(source, node)):
        text = ast.unparse(told)
        return f"Numba does not compile `{text}` as a type of elements on line {source.line(node)}."
    return ""


def _type_compiled(source: Source, node: ast.Call) -> str:
    """NumPy's name of the element type that a call asks for by Python's; empty where Numba compiles that."""
    told, name = _told_type(source, node), source.path(node.func).rpartition(".")[2]
    path = source.path(told) if told is not None else ""
    is_compiled = path == "float" and name in ("zeros", "ones", "empty", "full")
    return "" if is_compiled else _COMPILED_TYPES.get(path, "")


def _told_type(source: Source, node: ast.Call) -> ast.expr | None:
    """The element type among the arguments of a call that makes an array."""
    root, _, name = source.path(node.func).rpartition(".")
    if root != "numpy":
        return None
    place = _DTYPE_PLACES.get(name, len(node.args))
    told = node.args[place] if place < len(node.args) else None
    return next((k.value for k in node.keywords if k.arg == "dtype"), told)


def _copies_array(source: Source, node: ast.Call) -> bool:
    """`a.copy()`."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name() as array, attr="copy"), args=[], keywords=[]):
            return _is_array(source, array)
        case _:
            return False


def _reduces_array(source: Source, node: ast.Call) -> bool:
    """`a.sum()`, and `(a * b).sum()`."""
    match node:
        case ast.Call(func=ast.Attribute(value=array, attr=name), args=[], keywords=[]) if name in _REDUCING:
            return rank_of(source, array) > 0
        case _:
            return False


def _function_of_file(source: Source, node: ast.AST) -> ast.Name | None:
    """The name in a call of a function of the file; `None` for other nodes."""
    called = node.func if isinstance(node, ast.Call) else None
    if isinstance(called, ast.Name) and isinstance(source.declarations.get(called.id), Callable):
        return called
    return None


def _callee(source: Source, node: ast.Call, name: str) -> str:
    if name == source.subject.function.name:
        return f"`{name}` calls itself on line {source.line(node)}."
    item = next((each for each in source.file.functions if each.name == name), None)
    decorator = item.texts[:4] if item is not None else ()
    if decorator[:1] == ("@",) and not {"njit", "jit"}.isdisjoint(decorator):
        return ""
    told = f"`{name}`, called on line {source.line(node)}, is not compiled by Numba"
    own = called_source(source, name)
    if own is None:
        return f"{told}: decorate it with `@njit` first."
    further = next((called.id for n in own.nodes if (called := _function_of_file(own, n))), "")
    if further == name:
        return f"`{name}`, called on line {source.line(node)}, calls itself."
    if further:
        return f"{told}, and calls `{further}`: decorate both with `@njit` first."
    # Reasons with lines are about the function that is edited.
    return f"{told}, which may not compile all of it." if why_not_compiled(own) else ""


def called_source(source: Source, name: str) -> Source | None:
    """A plain function of the file above the one that is edited, which calls it."""
    found = [each for each in source.subject.companions if each.function.name == name]
    if len(found) != 1 or found[0].start > source.subject.start:
        return None
    own = source_of(source.subject.of(found[0]))
    return own if isinstance(own, Source) and not own.definition.decorator_list else None


def uncompiled(source: Source) -> dict[str, list[ast.Name]]:
    """The plain functions of the file that a function calls, each with the names in its calls."""
    found: dict[str, list[ast.Name]] = {}
    for node in source.nodes:
        called = _function_of_file(source, node)
        if called is not None and called.id not in source.local:
            found.setdefault(called.id, []).append(called)
    return {name: calls for name, calls in found.items() if called_source(source, name) is not None}


def _attribute(source: Source, node: ast.Attribute) -> str:
    path = source.path(node)
    root, _, name = path.rpartition(".")
    known = root == "math" or (root == "numpy" and name in (*_NUMBERS, *_NUMPY)) or path == "numba.prange"
    reduces = node.attr in _REDUCING and rank_of(source, node.value) > 0
    if known or (not path and (node.attr in _ATTRIBUTES or reduces)):
        return ""
    told = (_told_type(source, call) for call in source.nodes if isinstance(call, ast.Call))
    if node.attr == "dtype" and _is_array(source, node.value) and any(one is node for one in told):
        return ""
    return _unknown(source, node)


def _is_array(source: Source, node: ast.expr) -> bool:
    known = (v for v in source.subject.variables if isinstance(v.type, (Array, Pointer)))
    return isinstance(node, ast.Name) and any(v.source_name == node.id for v in known)


def _outer(source: Source, node: ast.Name) -> str:
    """Reason why Numba must not use a name of the file, whose value it freezes at compilation."""
    found = source.declarations.get(node.id)
    if isinstance(found, Value):
        if not changes_in_file(source, node.id):
            return ""
        told = f"`{node.id}` is a variable of the file, whose value Numba reads once"
        return f"{told}: make it a parameter first."
    if isinstance(found, Imported) and found.path.partition(".")[0] not in ("numpy", "math", "numba"):
        return f"`{node.id}` on line {source.line(node)} is imported, and Numba may not compile it."
    return "" if found is None or isinstance(found, (Callable, Imported)) else _unknown(source, node)


def changes_in_file(source: Source, name: str) -> bool:
    """True for a variable of the file that is no number, or may change while the program runs."""
    found = source.declarations.get(name)
    return isinstance(found, Value) and (found.constant is None or _is_rebound(source, name))


def _is_rebound(source: Source, name: str) -> bool:
    """True if a function may give a name of the file another value."""
    return any({"global", name} <= each.words for each in source.file.functions)


# --------------------------------------------------------------------------------------------------
# Python code that Numba does not compile, or compiles with other semantics than plain Python's.
# --------------------------------------------------------------------------------------------------


def why_not_compiled(source: Source) -> str:
    """Reason why Numba cannot compile the function, or would compute another result; empty if none was
    found."""
    return next(filter(None, _reasons(source)), "")


def _reasons(source: Source) -> Iterator[str]:
    name = source.subject.function.name
    arguments = source.definition.args
    if arguments.kwarg is not None or arguments.vararg is not None or arguments.kwonlyargs:
        yield f"`{name}` takes arguments by name alone, or any number of them, which Numba does not compile."
    for default in arguments.defaults:
        if not isinstance(default, ast.Constant | ast.UnaryOp):
            # Numba takes the array of a default for a constant; storing to it crashes.
            yield f"`{name}` has the default `{ast.unparse(default)}`, which Numba takes for a constant."
    for parameter in source.subject.function.parameters:
        if not isinstance(parameter.type, (Integer, Floating, Array, Pointer)):
            told = f"What `{parameter.source_name}` is cannot be told"
            yield f"{told}: Numba compiles functions of numbers and arrays."
    listed = next(iter(source.lists), "")
    yield f"`{listed}` is a list: Numba compiles functions of numbers and arrays." if listed else ""
    for variable in sorted(source.subject.variables, key=lambda each: each.name):
        yield _narrow(variable)
    texts = {
        id(n.value) for n in source.nodes if isinstance(n, ast.Expr) and isinstance(n.value, ast.Constant)
    }
    texts |= {id(n.args[0]) for n in source.nodes if isinstance(n, ast.Call) and _writes_number(source, n)}
    for node in source.nodes:
        yield "" if id(node) in texts else why_not(source, node)


def _writes_number(source: Source, node: ast.Call) -> bool:
    """True for `float("inf")` and the like."""
    is_written = len(node.args) == 1 and isinstance(node.args[0], ast.Constant)
    return is_written and source.path(node.func) == "float"


def why_not_in_parallel(source: Source) -> str:
    """Reason why Numba cannot run the array statements of a function in parallel, though it may compile it:
    operands with a dimension added by `None` fail at run time, as do arrays of one row that are stored to
    more; updates by an array of fewer dimensions do not compile. Empty if none was found."""
    for node in source.nodes:
        match node:
            case ast.Subscript(slice=index) if any(_is_added(source, one) for one in indices(index)):
                told = f"`{ast.unparse(node)}` on line {source.line(node)} adds a dimension"
                return f"{told}, which Numba cannot run in parallel: write loops."
            case ast.AugAssign(target=target, value=value) if _spreads(source, target, value):
                told = f"`{ast.unparse(target)}` on line {source.line(node)} changes by an array of fewer"
                return f"{told} dimensions, which Numba cannot run in parallel: write loops."
            case ast.Assign(targets=[ast.Subscript(slice=index)], value=ast.Name(id=name) as value) if (
                any(_is_part(one) for one in indices(index)) and rank_of(source, value) > 0
            ):
                told = (
                    f"`{name}` on line {source.line(node)} may be stretched to the part that it is stored to"
                )
                return f"{told}, which Numba does not do in parallel: write loops."
            case _:
                pass
    return ""


def indices(node: ast.expr) -> list[ast.expr]:
    """The subscripts of an element."""
    return node.elts if isinstance(node, ast.Tuple) else [node]


def _is_part(index: ast.expr) -> bool:
    return isinstance(index, ast.Slice) and (index.lower is not None or index.upper is not None)


def _is_added(source: Source, index: ast.expr) -> bool:
    is_none = isinstance(index, ast.Constant) and index.value is None
    return is_none or (isinstance(index, ast.Attribute) and source.path(index) == "numpy.newaxis")


def _spreads(source: Source, target: ast.expr, value: ast.expr) -> bool:
    """True if an array is changed by one of fewer dimensions."""
    return 0 < rank_of(source, value) < rank_of(source, target)


def element_of(variable: Variable) -> Type:
    """The type of a variable, or of an array's elements."""
    return element_and_rank(variable)[0]


def dimensions_of(variable: Variable) -> int:
    """The number of a variable's dimensions: 0 for a number."""
    return element_and_rank(variable)[1]


def element_and_rank(variable: Variable) -> tuple[Type, int]:
    """The type of a variable's elements, and the number of its dimensions: 0 for a number."""
    found, rank = variable.type, 0
    while isinstance(found, (Array, Pointer)):
        found, rank = found.element if isinstance(found, Array) else found.to, rank + 1
    return found, rank


def _narrow(variable: Variable) -> str:
    """NumPy's small integers wrap around; Numba computes with 64 bits."""
    element = element_of(variable)
    if not isinstance(element, Integer) or element.bits not in (8, 16, 32, 64) or element == INT64:
        return ""
    told = f"`{variable.source_name}` holds integers that wrap around in NumPy, and not in Numba"
    return f"{told}: convert it to `int64` first."


# --------------------------------------------------------------------------------------------------
# Expressions that Numba does not compile, in forms that it does.
# --------------------------------------------------------------------------------------------------


def compiled_forms(source: Source) -> Edited:
    """Expressions in forms that Numba compiles: `np.sum(x * y)` for the product `x @ y` of vectors, which
    needs SciPy there; means along an axis; `a[:] = a - b` for an update by an array of fewer dimensions;
    `np.ndarray(…)`, lists as shapes, `int`, `float` and `bool` as types of elements."""
    found = {source.span(node): text for node in source.nodes for text in [_form(source, node)] if text}
    spans = [one for one in found if not any(one != each and each.cover(one) == each for each in found)]
    remarks = ("Products of vectors and means are written as sums: their rounding may differ.",)
    is_sum = any(".sum(" in found[span] for span in spans)
    return Edited(
        tuple(Replacement(span, found[span]) for span in sorted(spans)), (), remarks if is_sum else ()
    )


def _form(source: Source, node: ast.AST) -> str:
    """The other form of an expression; empty where there is none."""
    numpy = next((n for n, d in source.declarations.items() if _is_numpy(d) and n not in source.local), "")
    match node:
        case ast.AugAssign(target=target, op=operator, value=value) if _spreads(source, target, value):
            whole = f"{target.id}[:]" if isinstance(target, ast.Name) else ast.unparse(target)
            changed = ast.BinOp(ast.parse(whole, mode="eval").body, operator, value)
            return f"{whole} = {ast.unparse(changed)}"
        case ast.BinOp(left=left, op=ast.MatMult(), right=right):
            return _product(source, left, right, numpy)
        case ast.Call(func=function, args=[left, right], keywords=[]) if source.path(function) == "numpy.dot":
            return _product(source, left, right, numpy)
        case ast.Call(func=function, args=[ast.Name(id=name)], keywords=[ast.keyword("axis", axis)]) if (
            source.path(function) == "numpy.mean" and rank_of(source, node.args[0]) > 1
        ):
            at = constant(axis)
            return (
                f"({numpy}.sum({name}, axis={at}) / {name}.shape[{at}])" if at is not None and numpy else ""
            )
        case ast.Call(func=function, args=[shape, *_]) if numpy:
            return _maker(source, node, function, shape, numpy)
        case _:
            return ""


def _is_numpy(declared: object) -> bool:
    return isinstance(declared, Imported) and declared.path == "numpy"


def _product(source: Source, left: ast.expr, right: ast.expr, numpy: str) -> str:
    """The sums that a product with a vector is; empty for other products."""
    match rank_of(source, left), rank_of(source, right):
        case 1, 1:
            summed, axis = ast.BinOp(left, ast.Mult(), right), ""
        case 2, 1:
            summed, axis = ast.BinOp(left, ast.Mult(), right), ", axis=1"
        case 1, 2:
            summed, axis = ast.BinOp(ast.Attribute(right, "T"), ast.Mult(), left), ", axis=1"
        case _:
            return ""
    return f"{numpy}.sum({ast.unparse(summed)}{axis})" if numpy else ""


def rank_of(source: Source, node: ast.expr) -> int:
    """Number of dimensions of an array; -1 for other values and where it is undetermined."""
    kind = source.kinds.of(node)
    return kind.rank if isinstance(kind, ArrayKind) and not kind.lists else -1


def _maker(source: Source, node: ast.Call, function: ast.expr, shape: ast.expr, numpy: str) -> str:
    """A call that makes an array, with a tuple as shape and NumPy's name of the type of its elements."""
    root, _, name = source.path(function).rpartition(".")
    told, compiled = _told_type(source, node), _type_compiled(source, node)
    count = len(node.args) + len(node.keywords)
    if root != "numpy" or name not in _DTYPE_PLACES:
        return ""
    if name not in ("zeros", "ones", "empty", "ndarray") or count != 1 + (told is not None):
        replaced = [(source.span(told), f"{numpy}.{compiled}")] if told is not None and compiled else []
        return with_edits(source.subject.text, source.span(node), replaced) if replaced else ""
    made = f"{numpy}.empty" if name == "ndarray" else ast.unparse(function)
    size = ast.unparse(ast.Tuple(shape.elts) if isinstance(shape, ast.List) else shape)
    kind = ast.unparse(told) if told is not None else ""
    if compiled:
        kind = f"{numpy}.{compiled}"
    if name != "ndarray" and not isinstance(shape, ast.List) and kind in ("", ast.unparse(told or shape)):
        return ""
    return f"{made}({size}{', dtype=' if kind else ''}{kind})"
