"""Functions of Python, `math` and NumPy whose results depend on their arguments alone."""

from __future__ import annotations

from polylsp.frontends.python.kinds import DOUBLE, INT, Number

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
COUNTING = frozenset(("argmin", "argmax", "argsort", "count_nonzero"))
"""Functions among them whose results are integers."""


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
