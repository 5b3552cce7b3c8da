"""Types as people write them: annotations, Numba's signatures and their like, to kinds."""

from __future__ import annotations

import ast

from polylsp.frontends.python.kinds import (
    DOUBLE,
    DTYPES,
    GENERATOR,
    INT,
    INT64,
    ITERATOR,
    MOST_DIMENSIONS,
    REAL,
    UNKNOWN,
    WHOLE,
    Array,
    Instance,
    Items,
    Kind,
    Nothing,
    Number,
    NumberType,
    Other,
    array_of,
)
from polylsp.frontends.python.names import ClassOf, Declarations, Value, path_of, type_name
from polylsp.ir.library import PYTHON_GENERATORS

LIBRARY_ARRAYS = {"torch": "a tensor of PyTorch", "jax": "an array of JAX", "cupy": "an array of CuPy"}
"""Arrays of other libraries than NumPy, which compilers of loops do not take."""
_LISTS = ("list", "List", "Sequence", "MutableSequence")
_JAXTYPING: dict[str, NumberType] = {
    "Float": DOUBLE, "Float64": DOUBLE, "Float32": DTYPES["float32"], "Float16": DTYPES["float16"],
    "Int": DTYPES["int"], "Int64": DTYPES["int"], "Int32": DTYPES["int32"], "Bool": DTYPES["bool"],
    "UInt8": DTYPES["uint8"], "Complex": DTYPES["complex"], "Num": DOUBLE, "Shaped": DOUBLE,
}  # fmt: skip


def annotated(node: ast.expr | None, declarations: Declarations) -> Kind | None:
    """Kind by an annotation; `None` where it does not help. An array with only the type of its elements
    annotated has the rank -1."""
    if node is None:
        return None
    if isinstance(node, ast.Constant):
        return _constant(node, declarations)
    if isinstance(node, ast.Subscript):
        return _generic(node, declarations)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return _optional([node.left, node.right], declarations)
    path = path_of(node, declarations)
    if path in PYTHON_GENERATORS:
        return GENERATOR
    library = path.partition(".")[0]
    if library in LIBRARY_ARRAYS and path.rpartition(".")[2] in ("Tensor", "Array", "ndarray"):
        return Other(LIBRARY_ARRAYS[library])
    return _named(type_name(node), declarations)


def _listed(of: Kind | None) -> Kind:
    """A list of numbers, or of lists of them."""
    match of:
        case Number(of_type) if of_type in (INT, DOUBLE):
            return Array(INT64 if of_type == INT else DOUBLE, 1, lists=True)
        case Array(element, rank, lists=True) if rank > 0:
            return Array(element, rank + 1, lists=True)
        case _:
            return Other("a list")


def _constant(node: ast.Constant, declarations: Declarations) -> Kind | None:
    if node.value is None:
        return Nothing()
    if not isinstance(node.value, str):
        return None
    try:
        return annotated(ast.parse(node.value.strip(), mode="eval").body, declarations)
    except (SyntaxError, ValueError):
        return None


def _named(name: str, declarations: Declarations) -> Kind | None:
    if name in ("int", "i8", "int64", "intp"):
        return WHOLE
    if name in DTYPES:
        return Number(DTYPES[name])
    if name in ("ndarray", "NDArray", "ArrayLike", "Array"):
        return Array(DOUBLE, -1, assumed=True)
    if name in _LISTS:
        return Array(DOUBLE, -1, assumed=True, lists=True)
    if name == "Iterator":
        return ITERATOR
    if name in ("dict", "Dict", "set", "str", "defaultdict", "DefaultDict"):
        return Other(f"a {name.lower()}")
    found = declarations.get(name)
    if isinstance(found, Value):
        return found.annotates
    return Instance(name) if isinstance(found, ClassOf) else None


def _generic(node: ast.Subscript, declarations: Declarations) -> Kind | None:
    name = type_name(node.value)
    arguments = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    if name == "NDArray":
        return array_of(type_name(arguments[0]), -1)
    if name == "ndarray":
        return _ndarray(arguments)
    if name in _JAXTYPING and len(arguments) == 2 and isinstance(arguments[1], ast.Constant):
        sizes = str(arguments[1].value).split()
        return Array(_JAXTYPING[name], -1 if any("." in s or "*" in s for s in sizes) else len(sizes))
    if name in _LISTS:
        return _listed(annotated(arguments[0], declarations))
    if name == "Annotated":
        return annotated(arguments[0], declarations)
    if name in ("Optional", "Union"):
        return _optional(arguments, declarations)
    if name in ("tuple", "Tuple"):
        return Items(tuple(annotated(one, declarations) or UNKNOWN for one in arguments))
    if name in DTYPES:
        return _numba_array(name, arguments)
    return _named(name, declarations)


def _ndarray(arguments: list[ast.expr]) -> Kind:
    """`np.ndarray[shape, np.dtype[np.float64]]`, and `ndarray[float, 2]` as some decorators have it."""
    rank = -1
    shape = arguments[0]
    if isinstance(shape, ast.Subscript) and isinstance(shape.slice, ast.Tuple):
        rank = len(shape.slice.elts)
    element = arguments[-1]
    if isinstance(element, ast.Constant) and isinstance(element.value, int):
        if not 0 <= element.value <= MOST_DIMENSIONS:
            return Array(DTYPES.get(type_name(shape), DOUBLE), -1)
        return array_of(type_name(shape), element.value)
    if isinstance(element, ast.Subscript):
        element = element.slice
    return array_of(type_name(element), rank)


def _numba_array(name: str, arguments: list[ast.expr]) -> Kind | None:
    """`f8[:, ::1]`."""
    if all(isinstance(one, ast.Slice) for one in arguments):
        return Array(DTYPES[name], len(arguments))
    return None


def _optional(parts: list[ast.expr], declarations: Declarations) -> Kind | None:
    kinds = [annotated(one, declarations) for one in parts]
    known = [kind for kind in kinds if kind is not None and not isinstance(kind, Nothing)]
    numbers = [kind for kind in known if isinstance(kind, Number)]
    if len(known) == 1 and (len(kinds) == 1 or Nothing() in kinds):
        return known[0]
    return REAL if known and len(numbers) == len(kinds) else None


def signature(text: str) -> tuple[tuple[Kind | None, ...], Kind | None] | None:
    """The parameters and the result of a signature in Numba's words (`void(f8[:,:], i8)`)."""
    try:
        node = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError):
        return None
    arguments = node.elts if isinstance(node, ast.Tuple) else None
    result: Kind | None = None
    if isinstance(node, ast.Call):
        arguments = node.args
        name = type_name(node.func)
        result = Nothing() if name in ("void", "none") else annotated(node.func, {})
    return (tuple(annotated(one, {}) for one in arguments), result) if arguments is not None else None
