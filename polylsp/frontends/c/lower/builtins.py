"""Functions of the C library and of gcc that need no declaration to be understood."""

from __future__ import annotations

from polylsp.frontends.c.lower.types import DOUBLE, INT, LONG, SIZE, VOID
from polylsp.model.program import Floating, Integer, Pointer, Type

_UNARY_MATH = (
    *"acos acosh asin asinh atan atanh cbrt ceil cos cosh erf erfc exp exp2 exp10 expm1 fabs floor".split(),  # noqa: SIM905
    *"log log10 log1p log2 logb nearbyint rint round roundeven sin sinh sqrt tan tanh tgamma trunc".split(),  # noqa: SIM905
)
_BINARY_MATH = "atan2 copysign fdim fmax fmin fmod hypot nextafter pow remainder".split()  # noqa: SIM905
_MIXED_MATH = "fma ldexp scalbn scalbln nan".split()  # noqa: SIM905
_TO_INTEGER = {
    "abs": INT, "labs": LONG, "llabs": LONG, "lround": LONG, "llround": LONG, "lrint": LONG, "llrint": LONG,
    "ilogb": INT, "isnan": INT, "isinf": INT, "isfinite": INT, "isnormal": INT, "signbit": INT,
    "fpclassify": INT, "isgreater": INT, "isless": INT, "tolower": INT, "toupper": INT, "isalpha": INT,
    "isdigit": INT, "isalnum": INT, "isspace": INT, "isupper": INT, "islower": INT, "ispunct": INT,
    "isxdigit": INT, "isprint": INT, "iscntrl": INT, "isgraph": INT,
    "__builtin_bswap16": Integer(16, False), "__builtin_bswap32": Integer(32, False),
    "__builtin_bswap64": Integer(64, False), "__builtin_inf": DOUBLE, "__builtin_inff": Floating(32),
    "__builtin_huge_val": DOUBLE, "__builtin_huge_valf": Floating(32),
}  # fmt: skip
_BITS = ("popcount", "clz", "ctz", "ffs", "parity")
_READS_MEMORY = {"strlen": SIZE, "strcmp": INT, "strncmp": INT, "memcmp": INT, "atoi": INT, "atof": DOUBLE}
_ALLOCATORS = frozenset(("malloc", "calloc", "realloc", "aligned_alloc", "alloca", "valloc", "memalign"))
_KEEPS_ERRNO = (
    frozenset(
        f"{name}{suffix}"
        for name in "fabs floor ceil trunc round rint nearbyint roundeven copysign fmax fmin nan cbrt".split()  # noqa: SIM905
        for suffix in ("", "f", "l")
    )
    | frozenset(name for name in _TO_INTEGER if name[:2] not in ("lr", "ll", "il"))
)
# They neither keep a pointer that they are given nor hand one to something that does.
_FORGETFUL = frozenset(
    "printf fprintf sprintf snprintf scanf fscanf sscanf puts fputs memcpy memmove memset memcmp strlen "  # noqa: SIM905
    "strcmp strncmp strcpy strncpy strcat free fread fwrite fgets gettimeofday clock_gettime time frexp "
    "modf remquo sincos qsort bsearch strtol strtod strtoul atoi atof getline".split()
)


def _results() -> dict[str, Type]:
    results: dict[str, Type] = dict(_TO_INTEGER)
    results |= {f"__builtin_{name}{suffix}": INT for name in _BITS for suffix in ("", "l", "ll")}
    for name in [*_UNARY_MATH, *_BINARY_MATH, *_MIXED_MATH]:
        results[name] = DOUBLE
        results[name + "f"] = Floating(32)
        results[name + "l"] = Floating(80)
    return results


_PURE = _results()


def in_library(name: str) -> bool:
    """True if effects of a library function of this name are tabulated, provided the file does not define
    it."""
    return name in _PURE or name in _READS_MEMORY or name in _ALLOCATORS or name in _FORGETFUL


def is_pure(name: str) -> bool:
    """True if a library function of this name computes its result from its arguments alone."""
    return canonical(name) in _PURE


def canonical(name: str) -> str:
    """`__builtin_sqrt` is `sqrt`, where gcc's name means the same."""
    plain = name.removeprefix("__builtin_")
    return plain if plain in _PURE or plain in _ALLOCATORS or plain in _FORGETFUL else name


def pure_result(name: str) -> Type | None:
    """The result type of a function that reads only its arguments and writes nothing."""
    return _PURE.get(name)


def memory_result(name: str) -> Type | None:
    """The result type of a function that reads through its arguments and writes nothing."""
    return _READS_MEMORY.get(name)


def is_allocator(name: str) -> bool:
    """True if the result points at a new allocation."""
    return name in _ALLOCATORS


def library_variables(name: str) -> tuple[str, ...]:
    """The variables of the library that a function of this name may set beside its result."""
    if name in _KEEPS_ERRNO or name.startswith("__builtin_"):
        return ()
    return ("errno", "signgam") if name.startswith(("lgamma", "gamma")) else ("errno",)


def is_forgetful(name: str) -> bool:
    """True if the function does not retain the addresses it is given."""
    return name in _FORGETFUL or name in _PURE


def library_result(name: str) -> Type | None:
    """The result type of an allocator, for a file that forgot to include its header."""
    return Pointer(VOID) if name in _ALLOCATORS else None
