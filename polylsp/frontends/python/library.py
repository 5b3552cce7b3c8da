"""Functions of Python, `math` and NumPy whose results depend on their arguments alone."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import reduce
from typing import Literal, Union

from polylsp.frontends.python.kinds import (
    BOOL,
    COMPLEX,
    DOUBLE,
    INT,
    INT64,
    Number,
    NumberType,
    element_type,
    wider,
)

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
_WHOLE = "gcd lcm comb factorial isqrt bitwise_and bitwise_or bitwise_xor left_shift right_shift"
_VIEWS = (
    "reshape ravel view squeeze asarray asanyarray asfarray ascontiguousarray asfortranarray require "
    "atleast_1d atleast_2d atleast_3d broadcast_to expand_dims swapaxes moveaxis rollaxis diagonal "
    "array astype rot90 transpose split array_split hsplit vsplit dsplit broadcast_arrays"
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
LIKE_MAKERS = frozenset(("zeros_like", "ones_like", "empty_like", "full_like", "copy"))
"""NumPy's functions that make an array of the shape of another."""
VIEWS = frozenset(_VIEWS.split())
"""NumPy's functions and methods that may give another view of their array."""
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
    "matrix": "vander kron linalg.pinv vstack column_stack scipy.linalg.toeplitz scipy.linalg.pinv",
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
    "unique": (1, 0), "polyfit": (3, 1), "kron": (2, 2), "linalg.pinv": (2, 2), "linalg.solve": (2, 2),
    "scipy.linalg.solve": (2, 2), "scipy.signal.lfilter": (3, 1), "scipy.signal.filtfilt": (3, 1),
    "linalg.eigvals": (1, 2), "linalg.eigvalsh": (1, 2), "vander": (2, 1),
}  # fmt: skip
_OF_SEVERAL = frozenset(("concatenate", "hstack", "vstack", "column_stack"))
_COMPUTED_BY_NAME: dict[str, Computed] = {
    name: rule for rule, names in _COMPUTED.items() for name in names.split()
}
_WHOLE_RESULT = frozenset(("searchsorted", "digitize", "bincount", "flatnonzero", "linalg.matrix_rank"))
_TRUTH_RESULT = frozenset(("allclose", "array_equal"))
_COMPLEX_RESULT = frozenset(("roots", "linalg.eigvals", "scipy.linalg.sqrtm", "scipy.signal.hilbert"))
_OF_ELEMENTS = frozenset(
    ("diff", "pad", "concatenate", "hstack", "unique", "append", "vstack", "column_stack")
)
_TRANSFORMS = ("fft.fft", "fft.ifft", "fft.fft2", "fft.ifft2", "fft.rfft", "scipy.fft.fft", "scipy.fft.ifft")
_REAL_RESULT = frozenset(("linalg.norm", "scipy.linalg.norm", "fft.irfft", "linalg.cond", "linalg.eigvalsh"))
COUNTING = frozenset(("argmin", "argmax", "argsort", "count_nonzero"))
"""Functions among them whose results are integers."""


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


def has_output(name: str, count: int) -> bool:
    """True if one of `count` arguments of a NumPy function is its output array."""
    if name in _TWO_ARRAYS:
        return count > 2
    if name in ("where", "clip"):
        return count > 3
    return is_pure(f"numpy.{name}") and count > 1


def kind_of_constant(path: str) -> Number | None:
    """Kind of the number that a dotted name stands for; `None` where it stands for none."""
    if path == "sys.maxsize":
        return Number(INT)
    return Number(DOUBLE) if constant(path) is not None else None


def constant(path: str) -> float | None:
    """The number that a dotted name stands for."""
    name = math_name(path)
    return CONSTANTS.get(name.lower()) if name.lower() in CONSTANTS else None
