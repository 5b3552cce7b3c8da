"""Arguments that functions of NumPy and SciPy, and methods of arrays, store to or return.

A method takes the arguments of the function of its name, but the first, which is its array.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from polylsp.frontends.python.kinds import OBJECTS
from polylsp.frontends.python.names import type_name
from polylsp.frontends.python.nodes import children
from polylsp.frontends.python.numpy_functions import VIEWS, is_pure, math_name, numpy_name, of_two_arrays

_OUTPUTS: dict[int, str] = {
    1: "fix isneginf isposinf scipy.ndimage.laplace",
    2: (
        "all any max min amax amin argmax argmin around round choose concatenate concat dot nanargmax "
        "nanargmin nanmax nanmin median nanmedian outer ptp stack divmod scipy.ndimage.uniform_filter "
        "scipy.ndimage.convolve scipy.ndimage.shift scipy.ndimage.sobel"
    ),
    3: (
        "clip compress cumprod cumsum mean nancumprod nancumsum nanmean nanprod nanstd nansum nanvar prod "
        "percentile nanpercentile quantile nanquantile std sum take var scipy.ndimage.gaussian_filter "
        "scipy.ndimage.median_filter scipy.ndimage.convolve1d"
    ),
    4: (
        "fft.fft fft.fft2 fft.fftn fft.hfft fft.ifft fft.ifft2 fft.ifftn fft.ihfft fft.irfft fft.irfft2 "
        "fft.irfftn fft.rfft fft.rfft2 fft.rfftn scipy.ndimage.gaussian_filter1d"
    ),
    5: "trace",
}
OUTPUT_POSITIONS = {name: position for position, names in _OUTPUTS.items() for name in names.split()}
"""Position of the output array among the arguments of functions that are no ufuncs, from 0 on."""
_OF_ARRAYS = frozenset((*OUTPUT_POSITIONS, "conj", "conjugate"))
"""Functions that arrays have as methods, among those with an output array: other ufuncs are none, so that
`self.subtract(x, y)` is a call of something else."""
_WITHOUT_OUTPUT = frozenset(("isclose", "where", "sinc"))
"""Functions of each element that are no ufuncs of NumPy."""
OVERWRITE_POSITIONS = {
    "median": 3, "nanmedian": 3, "percentile": 4, "nanpercentile": 4, "quantile": 4, "nanquantile": 4,
    "scipy.linalg.inv": 1, "scipy.linalg.det": 1, "scipy.linalg.cholesky": 2, "scipy.linalg.solve": 3,
    "scipy.signal.detrend": 4,
}  # fmt: skip
"""Position of the argument that lets a function overwrite its first one."""
_OVERWRITE_IN = {"scipy.fft.": 4, "scipy.fftpack.": 3}
COPY_POSITIONS = {"nan_to_num": 1, "astype": 5}
"""Position of the argument that asks for a copy of the first one; without it, there is a copy."""
_ORDERS = {"diff": ("n", 0), "linalg.matrix_power": ("n", 1), "polyder": ("m", 0), "polyint": ("m", 0)}
"""Functions that return their first argument for one value of the second, with the name of that."""
_OF_ALL = frozenset(
    ("einsum", "broadcast_arrays", "atleast_1d", "atleast_2d", "atleast_3d", "ix_", "ma.array")
)
"""Functions whose result may share the elements of each of their arguments, not of the first alone."""
_OVERLAPPING = frozenset(("as_strided", "sliding_window_view", "broadcast_to", "broadcast_arrays"))


def stored_arguments(path: str, call: ast.Call) -> list[ast.expr]:
    """The arguments whose elements a call may change; `path` is empty for a method of an array."""
    name, given = _name(path, call), _arguments(path, call)
    named = {one.arg: one.value for one in call.keywords if one.arg is not None}
    found = [named[each] for each in ("out", "output") if each in named]
    found += _at(given, output_position(name) if path or name in _OF_ARRAYS else None)
    overwrites = [value for each, value in named.items() if each.startswith("overwrite")]
    overwrites += _at(given, _overwrite_position(name))
    if name == "nan_to_num" and not _copies(name, call, given):
        overwrites.append(given[0] if given else ast.Constant(True))
    first = [one for one in given[:2] if not isinstance(one, ast.Constant)]
    return [
        *(one for one in found if not isinstance(one, ast.Constant)),
        *(first if any(not _is_false(one) for one in overwrites) else ()),
    ]


def output_position(name: str) -> int | None:
    """Position of the output array among the arguments of a function; `None` where it has none."""
    if name in OUTPUT_POSITIONS or name in _WITHOUT_OUTPUT:
        return OUTPUT_POSITIONS.get(name)
    if of_two_arrays(name):
        return 2
    return 1 if is_pure(f"numpy.{name}") else None


def gives_argument(path: str, call: ast.Call) -> bool:
    """True if the result of a call may be one of its arguments, or share the elements of one; `path` is
    empty for a method of an array."""
    name, given = _name(path, call), _arguments(path, call)
    last = name.rpartition(".")[2]
    if stored_arguments(path, call):
        return True
    if path and name in _ORDERS:
        return _gives_first(name, call, given)
    if last != name and name in VIEWS:
        return True
    if last in ("conj", "conjugate"):
        # The method returns the array of real numbers that it is called on.
        return not path and not call.args
    if last in ("array", *COPY_POSITIONS):
        return not _copies(last, call, given)
    if last == "ndarray":
        return bool(buffers(path, call))
    return last in VIEWS and (last != "byteswap" or bool(call.args or call.keywords))


def shared_arguments(path: str, call: ast.Call) -> list[ast.expr]:
    """The arguments whose elements the result of a call may share, among them those that it is stored to."""
    if stored := stored_arguments(path, call):
        return stored
    if path != "memoryview" and not gives_argument(path, call):
        return []
    given = _arguments(path, call)
    return [*(given if _name(path, call) in _OF_ALL else given[:1]), *buffers(path, call)]


def buffers(path: str, call: ast.Call) -> list[ast.expr]:
    """The memory that a call of `np.ndarray` takes for its array, if it is given some."""
    if not path.endswith(".ndarray"):
        return []
    found = [*(one.value for one in call.keywords if one.arg == "buffer"), *_at(call.args, 2)]
    return [one for one in found if not isinstance(one, ast.Constant)]


def overlaps_itself(path: str) -> bool:
    """True for a function whose result may have several elements in one place."""
    return path.rpartition(".")[2] in _OVERLAPPING


def asks_for_objects(node: ast.expr) -> bool:
    """True for an annotation, and for a call that makes an array, whose elements are objects."""
    match node:
        case ast.Constant(value=str(text)):
            return "object" in text
        case ast.Call(args=arguments, keywords=named):
            return any(type_name(one) in OBJECTS for one in (*arguments, *(one.value for one in named)))
        case ast.Subscript(slice=given):
            return any(
                type_name(one) in OBJECTS for one in (given, *children(given)) if isinstance(one, ast.expr)
            )
        case _:
            return False


def _name(path: str, call: ast.Call) -> str:
    """Name of a function in NumPy, or of a method; in full for functions of SciPy, and empty for others."""
    if not path:
        return call.func.attr if isinstance(call.func, ast.Attribute) else ""
    if path.startswith("scipy."):
        return math_name(path) if is_pure(path) else path
    return numpy_name(path)


def _arguments(path: str, call: ast.Call) -> list[ast.expr]:
    """The arguments by position; those of a method begin with its array."""
    is_method = not path and isinstance(call.func, ast.Attribute)
    return [call.func.value, *call.args] if is_method else list(call.args)  # type: ignore[attr-defined]


def _at(given: Sequence[ast.expr], position: int | None) -> Iterator[ast.expr]:
    """The argument at a position, if it is or may be given."""
    if position is None:
        return
    spread = next((one for one in given[: position + 1] if isinstance(one, ast.Starred)), None)
    if spread is not None or len(given) > position:
        yield spread or given[position]


def _overwrite_position(name: str) -> int | None:
    found = OVERWRITE_POSITIONS.get(name)
    return next((at for root, at in _OVERWRITE_IN.items() if name.startswith(root)), found)


def _copies(name: str, call: ast.Call, given: list[ast.expr]) -> bool:
    """True unless a call asks not to copy its first argument."""
    asked = [one.value for one in call.keywords if one.arg == "copy"]
    asked += _at(given, COPY_POSITIONS.get(name))
    return all(isinstance(one, ast.Constant) and one.value is True for one in asked)


def _is_false(node: ast.expr) -> bool:
    """True for `None`, `False` and for a string, which asks for nothing."""
    return isinstance(node, ast.Constant) and (not node.value or isinstance(node.value, str))


def _gives_first(name: str, call: ast.Call, given: list[ast.expr]) -> bool:
    keyword, alike = _ORDERS[name]
    orders = [one.value for one in call.keywords if one.arg == keyword] + given[1:2]
    return any(not isinstance(one, ast.Constant) or one.value == alike for one in orders)
