"""Result kinds of calls to Python, `math`, NumPy and the file's functions.

Tabulates the functions whose results depend on their arguments alone.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING, Literal, Union

from polylsp.frontends.python.kinds import (
    ARRAY_OF_OBJECTS,
    ARRAY_OF_STRINGS,
    BOOL,
    COMPLEX,
    DOUBLE,
    DTYPES,
    GENERATOR,
    INT,
    INT64,
    ITERATOR,
    UNKNOWN,
    Array,
    Instance,
    Items,
    Kind,
    Nothing,
    Number,
    NumberType,
    Other,
    array_of,
    array_without_numbers,
    combined,
    either,
    element_type,
    product,
    wider,
)
from polylsp.frontends.python.kinds import REAL as KINDS_REAL
from polylsp.frontends.python.kinds import WHOLE as KINDS_WHOLE
from polylsp.frontends.python.names import Callable, ClassOf, name_of, path_of, type_name
from polylsp.ir.library import PYTHON_GENERATORS
from polylsp.ir.program import Floating

if TYPE_CHECKING:
    from polylsp.frontends.python.inference import Kinds


_REAL = (
    "sqrt exp exp2 expm1 log log2 log10 log1p sin cos tan sinh cosh tanh cbrt erf erfc "
    "gamma lgamma "
    "asin acos atan asinh acosh atanh arcsin arccos arctan arcsinh arccosh arctanh degrees radians "
    "deg2rad rad2deg fabs pow power atan2 arctan2 hypot copysign fmod nextafter reciprocal float_power "
    "logaddexp dist heaviside sinc"
)
_SAME = (
    "abs absolute square negative positive maximum minimum fmax fmin clip sign conj conjugate mod remainder "
    "floor_divide rint trunc add subtract multiply where"
)
_ROUNDING = "floor ceil trunc"
_TRUTH = (
    "isnan isinf isfinite isclose signbit less less_equal greater greater_equal equal not_equal logical_and "
    "logical_or logical_not logical_xor"
)
ELEMENTWISE = frozenset(f"{_REAL} {_SAME} {_ROUNDING} {_TRUTH}".split())
"""Functions of NumPy that compute each element of their result from one of each argument."""
_WHOLE = "gcd lcm comb factorial isqrt bitwise_and bitwise_or bitwise_xor left_shift right_shift"
_VIEWS = (
    "reshape ravel view squeeze asarray asanyarray asfarray ascontiguousarray asfortranarray require "
    "atleast_1d atleast_2d atleast_3d broadcast_to expand_dims swapaxes moveaxis rollaxis diagonal "
    "array astype rot90 transpose split array_split hsplit vsplit dsplit broadcast_arrays real imag "
    "sliding_window_view as_strided nan_to_num byteswap masked_array trim_zeros flip fliplr flipud diag "
    "einsum real_if_close asarray_chkfinite permute_dims matrix_transpose unstack frombuffer asmatrix matrix "
    "getfield ix_ ma.array ma.asarray ma.asanyarray ma.masked_array ma.getdata ma.filled"
)
_OF_TWO = (
    "power pow float_power atan2 arctan2 hypot copysign fmod nextafter logaddexp heaviside maximum minimum "
    "fmax fmin mod remainder floor_divide add subtract multiply less less_equal greater greater_equal equal "
    "not_equal isclose logical_and logical_or logical_xor gcd lcm comb bitwise_and bitwise_or bitwise_xor "
    "left_shift right_shift dot matmul outer dist"
)
_NUMPY = ("numpy.", "jax.numpy.", "cupy.")
_SCALAR = ("math.", "cmath.", "scipy.special.", "numba.cuda.libdevice.")

REAL = frozenset(_REAL.split())
"""Functions with a floating-point result."""
SAME = frozenset(_SAME.split())
"""Functions whose result has the type of their arguments."""
TRUTH = frozenset(_TRUTH.split())
WHOLE = frozenset(_WHOLE.split())
ROUNDING = frozenset(_ROUNDING.split())
"""In `math` they give whole numbers, in NumPy floating-point ones."""

_TWO_ARRAYS = frozenset(_OF_TWO.split())
"""Functions that compute something of two numbers for each element."""

CONSTANTS = {
    "pi": 3.141592653589793, "e": 2.718281828459045, "tau": 6.283185307179586, "inf": float("inf"),
    "nan": float("nan"), "euler_gamma": 0.5772156649015329,
}  # fmt: skip
"""Numbers of `math` and NumPy."""

MAKERS = frozenset(("zeros", "ones", "empty", "full", "ndarray"))
"""NumPy's functions that make an array of a given shape."""
_TYPE_POSITIONS = {
    "zeros": 1, "ones": 1, "empty": 1, "ndarray": 1, "full": 2, "array": 1, "asarray": 1, "asanyarray": 1,
    "zeros_like": 1, "ones_like": 1, "empty_like": 1, "full_like": 2,
}  # fmt: skip
"""Position of the argument that says the type of the elements."""
_MADE_OF_TYPE = frozenset(("array", "asarray", "asanyarray", "arange", "eye", "identity", "fromiter"))
_NO_STRINGS = re.compile(r"(is|.*(count|index|find|with|len|equal|greater|less|compare_chararrays))")
"""Functions of `numpy.char` that give no strings."""
LIKE_MAKERS = frozenset(("zeros_like", "ones_like", "empty_like", "full_like", "copy"))
"""NumPy's functions that make an array of the shape of another."""
VIEWS = frozenset(_VIEWS.split())
"""NumPy's functions and methods that may give another view of their array."""
VIEW_ATTRIBUTES = frozenset(("T", "mT", "real", "imag", "flat", "base"))
"""Attributes of an array that give another view of it."""
REDUCTIONS = frozenset(("sum", "prod", "min", "max", "amin", "amax", "mean", "all", "any"))
STATISTICS = frozenset(
    [
        "std",
        "var",
        "median",
        "ptp",
        "argmin",
        "argmax",
        "nanmax",
        "nanmin",
        "nansum",
        "nanmean",
        "count_nonzero",
    ]
)
"""Like reductions, but how the result comes of the elements is not modelled."""
SHAPED = frozenset(
    [
        "cumsum",
        "cumprod",
        "sort",
        "argsort",
        "triu",
        "tril",
        "roll",
        "linalg.inv",
        "linalg.cholesky",
        "fft.fft",
        "fft.ifft",
        "nan_to_num",
    ]
)
"""NumPy's functions that give a new array of the shape of their first argument, each element of which may
depend on all of what they are given."""
_READING = (
    "meshgrid einsum tensordot inner cross isin in1d setdiff1d intersect1d union1d tile repeat stack dstack "
    "block logspace geomspace histogram histogram2d cov corrcoef nanargmin nanargmax nonzero argwhere tri "
    "diag diagflat indices ix_ unravel_index ravel_multi_index angle real imag size shape ndim isscalar "
    "iscomplex isreal iscomplexobj isrealobj divmod fliplr flipud lexsort partition argpartition select "
    "triu_indices tril_indices linalg.eig linalg.eigh linalg.svd linalg.qr linalg.lstsq linalg.slogdet "
    "linalg.multi_dot fft.rfft2 fft.irfft2 fft.fftn fft.ifftn fft.fftfreq fft.rfftfreq take take_along_axis "
    "delete insert resize finfo iinfo array_equal nanmedian array2string real_if_close compress extract "
    "unwrap i0 blackman hamming hanning bartlett kaiser trim_zeros vsplit polynomial.polynomial.polyval"
)
READING = frozenset(_READING.split())
"""More functions of NumPy that change nothing."""
Computed = Union[Literal["number", "resized", "flat", "matrix"], int]
"""Shape of the new value that a function computes of its arguments: a number, an array with the dimensions of
the first argument but other lengths, of one dimension, of two; or the shape of the argument at a position."""

_COMPUTED: dict[Computed, str] = {
    "number": (
        "linalg.norm linalg.det linalg.matrix_rank linalg.cond trapz trapezoid percentile quantile average "
        "nanpercentile nanquantile nanstd nanvar trace vdot allclose array_equal "
        "scipy.linalg.norm scipy.linalg.det scipy.integrate.trapezoid scipy.integrate.simpson"
    ),
    0: (
        "interp digitize gradient around round linalg.matrix_power nancumsum fft.fft2 fft.ifft2 fft.fftshift "
        "fft.ifftshift scipy.linalg.inv scipy.linalg.expm scipy.linalg.cholesky scipy.linalg.sqrtm "
        "scipy.fft.fft scipy.fft.ifft scipy.fft.dct scipy.fft.idct "
        "scipy.ndimage.gaussian_filter scipy.ndimage.median_filter scipy.ndimage.uniform_filter "
        "scipy.ndimage.convolve scipy.ndimage.convolve1d scipy.ndimage.shift "
        "scipy.ndimage.gaussian_filter1d scipy.ndimage.sobel scipy.ndimage.laplace scipy.signal.detrend "
        "scipy.signal.savgol_filter scipy.signal.medfilt scipy.signal.hilbert"
    ),
    1: "searchsorted polyval linalg.solve scipy.linalg.solve",
    2: "scipy.signal.lfilter scipy.signal.filtfilt",
    "resized": (
        "diff pad concatenate hstack fft.rfft fft.irfft scipy.signal.convolve scipy.signal.fftconvolve"
    ),
    "flat": (
        "convolve correlate unique roots poly polyfit polymul polyadd polysub polyder polyint bincount "
        "flatnonzero append linalg.eigvals linalg.eigvalsh"
    ),
    "matrix": "argwhere vander kron linalg.pinv vstack column_stack scipy.linalg.toeplitz scipy.linalg.pinv",
}
_BY_NAME = (
    "axis mode ord side left right period n k norm kind ddof rtol atol equal_nan weights dx x method "
    "minlength decimals order cval sigma size constant_values deg w q xp fp values window_length polyorder "
    "type"
)
COMPUTED_BY_KEYWORD = frozenset(_BY_NAME.split())
"""Arguments by name of such functions: read like the others, never written, and not of other results."""
_ONE_RESULT: dict[str, tuple[int, int]] = {
    # Most arguments by position that leave the result's shape as it is, and the rank of the first (0: any).
    "linalg.norm": (2, 0), "scipy.linalg.norm": (2, 0), "linalg.det": (1, 2), "scipy.linalg.det": (1, 2),
    "linalg.matrix_rank": (1, 2), "linalg.cond": (1, 2), "trapz": (3, 1), "trapezoid": (3, 1),
    "scipy.integrate.trapezoid": (3, 1), "scipy.integrate.simpson": (3, 1), "percentile": (2, 0),
    "quantile": (2, 0), "nanpercentile": (2, 0), "nanquantile": (2, 0), "average": (1, 0), "nanstd": (1, 0),
    "nanvar": (1, 0), "trace": (2, 2), "gradient": (2, 1), "linalg.matrix_power": (2, 2), "append": (2, 0),
    "unique": (1, 0), "argwhere": (1, 0), "flatnonzero": (1, 0),
    "polyfit": (3, 1), "kron": (2, 2), "linalg.pinv": (2, 2), "linalg.solve": (2, 2),
    "scipy.linalg.solve": (2, 2), "scipy.signal.lfilter": (3, 1), "scipy.signal.filtfilt": (3, 1),
    "linalg.eigvals": (1, 2), "linalg.eigvalsh": (1, 2), "vander": (2, 1),
}  # fmt: skip
_OF_SEVERAL = frozenset(("concatenate", "hstack", "vstack", "column_stack"))
_COMPUTED_BY_NAME: dict[str, Computed] = {
    name: rule for rule, names in _COMPUTED.items() for name in names.split()
}
_WHOLE_RESULT = frozenset(
    ("searchsorted", "digitize", "bincount", "flatnonzero", "argwhere", "linalg.matrix_rank")
)
_TRUTH_RESULT = frozenset(("allclose", "array_equal"))
_COMPLEX_RESULT = frozenset(("roots", "linalg.eigvals", "scipy.linalg.sqrtm", "scipy.signal.hilbert"))
_OF_ELEMENTS = frozenset(
    ("diff", "pad", "concatenate", "hstack", "unique", "append", "vstack", "column_stack")
)
_TRANSFORMS = ("fft.fft", "fft.ifft", "fft.fft2", "fft.ifft2", "fft.rfft", "scipy.fft.fft", "scipy.fft.ifft")
_REAL_RESULT = frozenset(("linalg.norm", "scipy.linalg.norm", "fft.irfft", "linalg.cond", "linalg.eigvalsh"))
_CONTAINERS = {
    "list": "a list", "sorted": "a list", "dict": "a dictionary", "set": "a set", "frozenset": "a set",
    "str": "a string", "repr": "a string", "input": "a string", "collections.defaultdict": "a defaultdict",
    "collections.Counter": "a dictionary", "collections.OrderedDict": "a dictionary",
    "collections.ChainMap": "a dictionary", "collections.deque": "a deque",
}  # fmt: skip
"""Functions of Python that give a value of another kind, in words."""
_ITERATORS = frozenset(
    "iter map filter zip enumerate reversed open io.open csv.reader csv.DictReader re.finditer "  # noqa: SIM905
    "os.scandir os.walk glob.iglob".split()
)
"""Functions of Python that give an iterator, beside those of `itertools`."""
COUNTING = frozenset(("argmin", "argmax", "argsort", "count_nonzero"))
"""Functions among them whose results are integers."""


_ALONG = frozenset(
    ["linalg.norm", "average", "nanstd", "nanvar", "percentile", "quantile", "nanpercentile", "nanquantile"]
)
_REAL_STATISTICS = _ALONG | {"mean", "std", "var", "median", "nanmean"}


def is_statistic(name: str, node: ast.Call) -> bool:
    """True for a call of a function of NumPy that reduces an array, or does so along an axis that it is
    given, to numbers that are not modelled."""
    along = [one.value for one in node.keywords if one.arg == "axis"]
    return name in STATISTICS or (
        name in _ALONG and bool(along) and not (isinstance(along[0], ast.Constant) and along[0].value is None)
    )


def computed(path: str) -> Computed | None:
    """Shape of the result of a function that computes a new value of all its arguments, and leaves these
    unchanged; `None` for others."""
    return _COMPUTED_BY_NAME.get(_own_name(path))


def _own_name(path: str) -> str:
    """Name of a function in NumPy, or in full in SciPy; empty for others."""
    return numpy_name(path) or (path if path.startswith("scipy.") else "")


def is_computed(path: str, ranks: Sequence[int | None], by_name: Collection[str | None]) -> bool:
    """True if a call of such a function gives a result of the shape that `computed` says: `ranks` are those
    of its arguments by position (0: a number; -1: several in a tuple; `None`: unknown), `by_name` the other
    ones."""
    name = _own_name(path)
    most, first = _ONE_RESULT.get(name, (6, 0))
    if not ranks or len(ranks) > most or not COMPUTED_BY_KEYWORD.issuperset(by_name):  # type: ignore[arg-type]
        return False
    if first and ranks[0] != first:
        return False
    if "axis" in by_name and _COMPUTED_BY_NAME[name] in ("number", "flat", "matrix"):
        return False
    if name in _OF_SEVERAL:
        return ranks[0] == -1
    if "percentile" in name or "quantile" in name:
        return len(ranks) == 2 and ranks[1] == 0
    if name == "polyfit":
        return ranks[1:2] == [1]
    return -1 not in ranks[:1]


def computed_element(path: str, elements: Sequence[NumberType]) -> NumberType:
    """Type of the numbers that such a function computes of arrays and numbers of certain types."""
    name = _own_name(path)
    if name in _WHOLE_RESULT or name in _TRUTH_RESULT:
        return INT64 if name in _WHOLE_RESULT else BOOL
    if name in _REAL_RESULT:
        return DOUBLE
    if COMPLEX in elements or name in _COMPLEX_RESULT or name in _TRANSFORMS:
        return COMPLEX
    of_elements = reduce(wider, elements) if elements else DOUBLE
    return element_type(of_elements) if name in _OF_ELEMENTS and of_elements != BOOL else DOUBLE


def numpy_name(path: str) -> str:
    """The name of a function of NumPy, or of a library that is like it; empty for others."""
    return next((path.removeprefix(root) for root in _NUMPY if path.startswith(root)), "")


def math_name(path: str) -> str:
    """The name of a function of `math` or of NumPy; empty for others."""
    return numpy_name(path) or next(
        (path.removeprefix(root) for root in _SCALAR if path.startswith(root)), ""
    )


def is_pure(path: str) -> bool:
    """True if a function computes its result from its numeric arguments alone."""
    name = math_name(path)
    return name in REAL or name in SAME or name in TRUTH or name in WHOLE or name in ROUNDING


def of_two_arrays(name: str) -> bool:
    """True for a function that computes something of two numbers for each element."""
    return name in _TWO_ARRAYS


def kind_of_constant(path: str) -> Number | None:
    """Kind of the number that a dotted name stands for; `None` where it stands for none."""
    if path == "sys.maxsize":
        return Number(INT)
    return Number(DOUBLE) if constant(path) is not None else None


def constant(path: str) -> float | None:
    """The number that a dotted name stands for."""
    name = math_name(path)
    return CONSTANTS.get(name.lower()) if name.lower() in CONSTANTS else None


# --------------------------------------------------------------------------------------------------
# Kinds of call results: functions of Python and NumPy, methods of arrays, functions of the file.
# --------------------------------------------------------------------------------------------------


THREADS = ("numba.get_num_threads",)
"""Functions that tell how many threads a loop has."""


def called(node: ast.Call, kinds: Kinds) -> Kind | None:
    """Kind of a call's result."""
    path = path_of(node.func, kinds.declarations)
    if isinstance(node.func, ast.Attribute):
        base = kinds.of(node.func.value) if not path or path.split(".")[0] in kinds.local else UNKNOWN
        if isinstance(base, Array) or base is None:
            return _method(node.func.attr, base, node, kinds)
        if isinstance(base, Instance):
            return _own_method(node.func.attr, base, kinds)
    if path in PYTHON_GENERATORS:
        return GENERATOR
    if path in _ITERATORS or path.startswith("itertools."):
        return ITERATOR if path != "itertools.tee" else Items((ITERATOR, ITERATOR))
    arguments = [kinds.of(argument) for argument in node.args]
    name = math_name(path)
    if (path in ("len", "int", "round", "ord", "hash") and len(node.args) < 2) or path in THREADS:
        return KINDS_WHOLE
    if path in ("float", "complex", "bool"):
        return Number(DTYPES[path]) if path != "bool" else KINDS_WHOLE
    if path in _CONTAINERS:
        return Other(_CONTAINERS[path])
    if path in ("abs", "min", "max", "sum", "divmod"):
        return _builtin(path, arguments)
    if numpy_name(path) in DTYPES:
        return Number(DTYPES[numpy_name(path)])
    if (others := _without_numbers(path, name, node)) is not None:
        return others
    if name and name in MAKERS:
        return _made(node, kinds)
    if name and name in LIKE_MAKERS and arguments:
        return _like(arguments[0], node, kinds)
    if (name == "nonzero" or (name == "where" and not node.keywords)) and len(arguments) == 1:
        return _indices(arguments[0])
    if (name in REDUCTIONS or is_statistic(name, node)) and arguments:
        return _reduced(arguments[0], node, name)
    if name in SHAPED and arguments:
        return _shaped(arguments[0], name)
    if computed(path) is not None:
        return _computed(path, node, kinds)
    if name == "flip" and len(arguments) == 1:
        return arguments[0]
    if name in ("array", "asarray") and len(node.args) == 1:
        return _of_list(node, kinds)
    if name in ("eye", "identity") and len(node.args) == 1:
        return Array(_dtype(node, kinds) or DOUBLE, 2)
    if name in ("dot", "matmul", "inner") and len(arguments) == 2:
        return product(arguments[0], arguments[1])
    if name == "outer" and len(arguments) == 2:
        both = combined(arguments[0], arguments[1])
        return Array(both.element, 2) if isinstance(both, Array) else UNKNOWN
    if name == "arange" or name == "linspace":
        real = name == "linspace" or any(one != KINDS_WHOLE for one in arguments)
        return Array(_dtype(node, kinds) or (DOUBLE if real else INT), 1)
    if name and is_pure(path):
        return _pure(path, name, arguments)
    found = kinds.declarations.get(node.func.id) if isinstance(node.func, ast.Name) else None
    if isinstance(found, Callable):
        return found.result
    return Instance(found.name) if isinstance(found, ClassOf) else UNKNOWN


def _builtin(path: str, arguments: list[Kind | None]) -> Kind | None:
    if path == "divmod":
        both = either(arguments)
        return Items((both, both)) if both is not None else None
    if len(arguments) == 1 and isinstance(arguments[0], Array):
        return arguments[0] if path == "abs" else Number(arguments[0].element)
    if path == "abs" and arguments == [Number(COMPLEX)]:
        return KINDS_REAL
    return either(arguments) if arguments else UNKNOWN


def _pure(path: str, name: str, arguments: list[Kind | None]) -> Kind | None:
    """The result of a function of numbers, or of each element of arrays."""
    if any(one is None for one in arguments) or not arguments:
        return None if arguments else UNKNOWN
    used = arguments[1:] if name == "where" and len(arguments) == 3 else arguments
    result = used[0]
    for one in used[1:]:
        result = combined(result, one)
    if name == "where" and isinstance(arguments[0], Array) and isinstance(result, Number):
        result = Array(result.type, arguments[0].rank)
    whole_rounding = name in ROUNDING and path.startswith("math.")
    match result:
        case Array(element, rank):
            return Array(_result_type(name, element, whole_rounding), rank)
        case Number(of_type):
            return Number(_result_type(name, of_type, whole_rounding))
        case _:
            return UNKNOWN


def _result_type(name: str, of_type: NumberType, whole_rounding: bool) -> NumberType:
    if name in TRUTH:
        return BOOL
    if whole_rounding or name in WHOLE:
        return INT
    if of_type == COMPLEX and name in ("abs", "absolute"):
        return DOUBLE
    if name in SAME or isinstance(of_type, Floating):
        return of_type
    return DOUBLE


def _shaped(of: Kind | None, name: str) -> Kind | None:
    """The result of a function that gives an array of the shape of its argument."""
    if not isinstance(of, Array):
        return None if of is None else UNKNOWN
    element = INT if name in COUNTING else COMPLEX if name.startswith("fft.") else of.element
    element = DOUBLE if name.startswith("linalg.") and not isinstance(element, Floating) else element
    return Array(INT if element == BOOL else element, of.rank, of.assumed and name not in COUNTING)


def arguments_of(node: ast.Call) -> list[ast.expr]:
    """The arguments of a call, and those in tuples and lists among them (`np.concatenate((a, b))`)."""
    found: list[ast.expr] = []
    for one in (*node.args, *(each.value for each in node.keywords)):
        found += one.elts if isinstance(one, (ast.Tuple, ast.List)) else [one]
    return found


def _rank(node: ast.expr, kinds: Kinds) -> int | None:
    """The number of dimensions of an argument: -1 for several in a tuple or a list."""
    if isinstance(node, (ast.Tuple, ast.List)):
        several = all(isinstance(kinds.of(one), Array) for one in node.elts)
        return -1 if several else None
    kind = kinds.of(node)
    return kind.rank if isinstance(kind, Array) else 0 if isinstance(kind, Number) else None


def _computed(path: str, node: ast.Call, kinds: Kinds) -> Kind | None:
    """The new value that a function computes of arrays."""
    rule = computed(path)
    told = [kinds.of(one) for one in arguments_of(node)]
    arrays = [one for one in told if isinstance(one, Array)]
    ranks = [_rank(one, kinds) for one in node.args]
    if not arrays or not is_computed(path, ranks, [one.arg for one in node.keywords]):
        return None if None in told else UNKNOWN
    numeric = [
        one for one in told if isinstance(one, Array) or (isinstance(one, Number) and one != KINDS_WHOLE)
    ]
    types = [one.element if isinstance(one, Array) else one.type for one in numeric]
    element = computed_element(path, types)
    if isinstance(rule, int):
        like = kinds.of(node.args[rule]) if rule < len(node.args) else UNKNOWN
        if isinstance(like, Array) and not like.lists:
            return Array(element, like.rank, like.assumed)
        return Number(element) if isinstance(like, Number) else None if like is None else UNKNOWN
    if rule == "number":
        return Number(element)
    rank = {"flat": 1, "matrix": 2, "resized": arrays[0].rank}[rule or "flat"]
    return Array(element, rank)


def _of_list(node: ast.Call, kinds: Kinds) -> Kind | None:
    """The array that `np.array` makes of a list of numbers, or of another array."""
    given = node.args[0]
    if not isinstance(given, (ast.List, ast.Tuple)) or not given.elts:
        found = kinds.of(given)
        if isinstance(found, Array):
            return replace(found, element=_dtype(node, kinds) or found.element)
        return found if found is None or isinstance(found, Number) else UNKNOWN
    result = either([kinds.of(one) for one in given.elts])
    if result is None or not isinstance(result, Number):
        return None if result is None else UNKNOWN
    return Array(_dtype(node, kinds) or result.type, 1)


def _method(name: str, base: Array | None, node: ast.Call, kinds: Kinds) -> Kind | None:
    """The result of a method of an array."""
    if base is None or base.lists:
        return None if base is None else UNKNOWN
    if name == "copy":
        return Array(base.element, base.rank, base.assumed)
    if name == "astype" and node.args:
        return array_of(type_name(node.args[0]), base.rank)
    if name in REDUCTIONS or name in STATISTICS:
        return _reduced(base, node, name)
    if name == "dot" and node.args:
        return product(base, kinds.of(node.args[0]))
    if name == "nonzero" and not node.args:
        return _indices(base)
    if name == "transpose" and not node.args:
        return base
    return Number(base.element) if name == "item" else UNKNOWN


def _indices(of: Kind | None) -> Kind | None:
    """The subscripts of the elements that are not zero: an array for each dimension."""
    if of is None:
        return None
    known = isinstance(of, Array) and of.rank > 0 and not of.lists
    return Items((Array(INT, 1),) * of.rank) if isinstance(of, Array) and known else UNKNOWN


def _own_method(name: str, base: Instance, kinds: Kinds) -> Kind:
    """The result of a method of an object."""
    found = kinds.declarations.get(base.name)
    method = found.method(name) if isinstance(found, ClassOf) else None
    return method.result if method is not None else UNKNOWN


def _reduced(of: Kind | None, node: ast.Call, name: str) -> Kind | None:
    if not isinstance(of, Array):
        return of if of is None or isinstance(of, Number) else UNKNOWN
    axis = next((k.value for k in node.keywords if k.arg == "axis"), None)
    real = name in _REAL_STATISTICS and not isinstance(of.element, Floating)
    element = INT if name in COUNTING else DOUBLE if real else of.element
    element = INT if name in ("sum", "prod") and element == BOOL else element
    if any(k.arg == "keepdims" for k in node.keywords):
        return Array(element, of.rank)
    if axis is None and len(node.args) > (1 if isinstance(node.func, ast.Name) else 0):
        return UNKNOWN if not isinstance(node.func, ast.Attribute) or len(node.args) > 1 else Number(element)
    if axis is None:
        return Number(element)
    gone = len(axis.elts) if isinstance(axis, ast.Tuple) else 1
    return Array(element, of.rank - gone) if of.rank > gone else Number(element)


def _made(node: ast.Call, kinds: Kinds) -> Kind | None:
    """The result of `np.zeros(shape)` and its like."""
    shape = shape_of(node)
    if shape is None:
        return UNKNOWN
    told = kinds.of(ast.Tuple(shape.elts, ast.Load()) if isinstance(shape, ast.List) else shape)
    rank = len(told.items) if isinstance(told, Items) else 1
    if told is None or not isinstance(told, (Items, Number)):
        return None if told is None else UNKNOWN
    filled = kinds.of(node.args[1]) if name_of(node) == "full" and len(node.args) > 1 else KINDS_REAL
    if isinstance(filled, Nothing):
        return ARRAY_OF_OBJECTS
    element = filled.type if isinstance(filled, Number) else DOUBLE
    named = any(k.arg == "dtype" for k in node.keywords) or len(node.args) > 1 + (name_of(node) == "full")
    found = _dtype(node, kinds)
    return Array(found or element, rank, assumed=named and found is None)


def _without_numbers(path: str, name: str, node: ast.Call) -> Kind | None:
    """The array that a call of NumPy makes, if its elements are objects or strings."""
    if path.startswith("numpy.char.") and not _NO_STRINGS.match(path.removeprefix("numpy.char.")):
        return ARRAY_OF_STRINGS
    if name not in MAKERS | LIKE_MAKERS | _MADE_OF_TYPE:
        return None
    told = _type_asked(node)
    return array_without_numbers(type_name(told)) if told is not None else None


def shape_of(node: ast.Call) -> ast.expr | None:
    """Shape argument of a call that allocates an array."""
    keyword = next((k.value for k in node.keywords if k.arg == "shape"), None)
    return node.args[0] if node.args else keyword


def _like(of: Kind | None, node: ast.Call, kinds: Kinds) -> Kind | None:
    if not isinstance(of, Array):
        return None if of is None else UNKNOWN
    return Array(_dtype(node, kinds) or of.element, of.rank, of.assumed)


def _dtype(node: ast.Call, kinds: Kinds) -> NumberType | None:
    """The element type that a call asks for."""
    told = _type_asked(node)
    if told is None:
        return None
    if isinstance(told, ast.Attribute) and told.attr == "dtype":
        other = kinds.of(told.value)
        return other.element if isinstance(other, Array) else None
    return DTYPES.get(type_name(told))


def _type_asked(node: ast.Call) -> ast.expr | None:
    """Argument of a call that says the type of the elements."""
    position = _TYPE_POSITIONS.get(name_of(node), 99)
    told = next((k.value for k in node.keywords if k.arg == "dtype"), None)
    return node.args[position] if told is None and len(node.args) > position else told
