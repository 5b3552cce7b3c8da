"""C types, literals and builtin functions on an LP64 machine.

Sizes, alignments, promotions and conversions (C11 6.3.1.8); values of numeric, character and
string literals (C11 6.4.4); a table of library and gcc functions by purity, effects and result.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from functools import reduce

from polylsp.frontends.c.lowering_context import Member
from polylsp.ir.program import Array, Complex, Constant, Floating, Integer, OtherType, Pointer, Struct, Type

BOOL = Integer(1, False)
CHAR = Integer(8, True)
INT = Integer(32, True)
UNSIGNED = Integer(32, False)
LONG = Integer(64, True)
SIZE = Integer(64, False)
DOUBLE = Floating(64)
VOID = OtherType("void")

STANDARD: Mapping[str, Integer] = {
    **{f"int{bits}_t": Integer(bits, True) for bits in (8, 16, 32, 64)},
    **{f"uint{bits}_t": Integer(bits, False) for bits in (8, 16, 32, 64)},
    **dict.fromkeys(("ssize_t", "ptrdiff_t", "intptr_t", "intmax_t"), LONG),
    **dict.fromkeys(("size_t", "uintptr_t", "uintmax_t"), SIZE),
    "bool": BOOL,
}
"""Integers of the standard headers, whose names mean the same wherever a header that was not found brings
them (C11 7.18, 7.19, 7.20; POSIX)."""


def basic(names: Sequence[str]) -> Type:
    """The type that type specifiers such as `unsigned long int` spell."""
    words = set(names)
    if words & {"_Decimal32", "_Decimal64", "_Decimal128"}:
        return OtherType(" ".join(names))
    if "_Complex" in words:
        part = basic([*words - {"_Complex"}] or ["double"])
        return Complex(part.bits) if isinstance(part, Floating) else OtherType(" ".join(names))
    if "double" in words:
        return Floating(80 if "long" in words else 64)
    if "float" in words:
        return Floating(32)
    if "void" in words:
        return VOID
    if "_Bool" in words or "bool" in words:
        return BOOL
    signed = "unsigned" not in words
    if "char" in words:
        return Integer(8, signed)
    if "short" in words:
        return Integer(16, signed)
    if "__int128" in words:
        return Integer(128, signed)
    return Integer(64 if "long" in words else 32, signed)


def promote(type: Type) -> Type:
    """The type of an operand after the integer promotions."""
    if isinstance(type, Integer) and (type.bits < 32):
        return INT
    return type


def common(left: Type, right: Type) -> Type:
    """The common type of two arithmetic operands (C11 6.3.1.8)."""
    if isinstance(left, Floating | Complex) or isinstance(right, Floating | Complex):
        bits = max(t.bits for t in (left, right) if isinstance(t, Floating | Complex))
        return Complex(bits) if isinstance(left, Complex) or isinstance(right, Complex) else Floating(bits)
    left, right = promote(left), promote(right)
    if not isinstance(left, Integer) or not isinstance(right, Integer):
        return left
    bits = max(left.bits, right.bits)
    # An unsigned type of the greatest rank wins; a wider signed one holds all its values.
    signed = not any(not t.signed and t.bits == bits for t in (left, right))
    return Integer(bits, signed)


def is_arithmetic(type: Type) -> bool:
    """True if arithmetic is defined on values of the type."""
    return isinstance(type, Integer | Floating | Complex)


def wrapped(value: int, type: Integer) -> int:
    """An integer as the type holds it."""
    if type == BOOL:
        return int(value != 0)
    value &= (1 << type.bits) - 1
    if type.signed and value >> (type.bits - 1):
        value -= 1 << type.bits
    return value


def size(type: Type, structs: Mapping[str, tuple[Member, ...]]) -> int | None:
    """`sizeof` in bytes; `None` where it is not constant or undetermined."""
    match type:
        case Integer(bits=bits):
            return max(1, (bits + 7) // 8)
        case Floating(bits=bits):
            return 16 if bits > 64 else bits // 8
        case Complex(bits=bits):
            return 32 if bits > 64 else bits // 4
        case Pointer():
            return 8
        case Array(element=element, extent=Constant(value=count)):
            each = size(element, structs)
            return None if each is None else each * int(count)
        case Array():
            return None
        case Struct():
            return _struct_size(type, structs)
        case OtherType():
            return 1 if type.name == "void" else None


def alignment(type: Type, structs: Mapping[str, tuple[Member, ...]]) -> int | None:
    """Alignment in bytes; `None` where it is undetermined."""
    match type:
        case Array(element=element):
            return alignment(element, structs)
        case Complex(bits=bits):
            return alignment(Floating(bits), structs)
        case Struct(name=name):
            members = structs.get(name)
            if members is None or any(m.displaced for m in members):
                return None
            each = [alignment(m.type, structs) for m in members if not m.bit_field]
            known = [one for one in each if one is not None]
            is_known = len(known) == len(members)
            return max(known, default=1) if is_known else None
        case _:
            return size(type, structs)


def offset_of(struct: Struct, name: str, structs: Mapping[str, tuple[Member, ...]]) -> int | None:
    """Offset of a member in its structure, in bytes."""
    offset = 0
    for member in structs.get(struct.name, ()):
        width, to = size(member.type, structs), alignment(member.type, structs)
        # The last member may be a flexible array.
        if to is None or member.bit_field or member.displaced or (width is None and member.name != name):
            return None
        offset = _aligned(offset, to)
        if member.name == name:
            return 0 if struct.union else offset
        offset += width or 0
    return None


def _struct_size(struct: Struct, structs: Mapping[str, tuple[Member, ...]]) -> int | None:
    members = structs.get(struct.name)
    whole = alignment(struct, structs)
    if members is None or whole is None or any(m.bit_field for m in members):
        return None
    offset = 0
    for member in members:
        width, to = size(member.type, structs), alignment(member.type, structs)
        if width is None or to is None:
            return None
        offset = max(offset, width) if struct.union else _aligned(offset, to) + width
    return _aligned(offset, whole)


def _aligned(offset: int, to: int) -> int:
    return (offset + to - 1) // to * to


def spelling(type: Type) -> str:
    """A type as C would spell it, for a message."""
    match type:
        case Integer(bits=bits, signed=signed):
            word = {1: "_Bool", 8: "char", 16: "short", 32: "int", 64: "long"}.get(bits, f"int{bits}")
            return word if signed or bits == 1 else f"unsigned {word}"
        case Floating(bits=bits):
            return {16: "_Float16", 32: "float", 64: "double"}.get(bits, "long double")
        case Complex(bits=bits):
            return f"{spelling(Floating(bits))} _Complex"
        case Pointer(to=to):
            return f"{spelling(to)} *"
        case Array(element=element):
            return f"{spelling(element)}[]"
        case Struct(name=name, union=union):
            return f"{'union' if union else 'struct'} {name}"
        case OtherType(name=name):
            return name


# --------------------------------------------------------------------------------------------------
# Values of C literals.
# --------------------------------------------------------------------------------------------------


def number(text: str) -> tuple[int | float, Type] | None:
    """The value and type of a numeric literal (C11 6.4.4), or `None` if it is not one."""
    lower = text.lower().replace("'", "")
    hexadecimal = lower.startswith("0x")
    if "." in lower or ("p" in lower if hexadecimal else "e" in lower):
        return _floating(lower, hexadecimal)
    digits = lower.rstrip("ul")
    try:
        value = _integer(digits)
    except ValueError:
        return None
    if value.bit_length() > 64:
        return None  # No type of C holds it.
    return value, _integer_type(value, lower[len(digits) :], decimal=not (lower[0] == "0" and len(lower) > 1))


def character(text: str) -> int | None:
    """The value of a character literal."""
    start = text.find("'")
    escaped = text[start:].replace("\\?", "?").replace("\\e", "\\x1b")
    try:
        decoded = ast.literal_eval(escaped)
    except (SyntaxError, ValueError):
        return None
    if len(decoded) != 1:
        return None
    value = ord(decoded)
    # Plain `char` is signed: '\xff' is -1.
    return value - 256 if start == 0 and 128 <= value < 256 else value


def string(text: str) -> str | None:
    """The characters of a string literal, without the final NUL."""
    try:
        parts = text[text.index('"') :]
        return ast.literal_eval("(" + parts + ")")
    except (SyntaxError, ValueError):
        return None


def string_element(text: str) -> Integer:
    """The type of the characters of a string literal (C11 6.4.5)."""
    prefix = text[: text.find('"')].rpartition('"')[2].strip()
    return {"L": INT, "u": Integer(16, False), "U": UNSIGNED}.get(prefix, CHAR)


def string_bytes(text: str) -> int | None:
    """`sizeof` of a string literal; `None` where it depends on how characters are encoded, or adjacent
    literals were joined."""
    quotes = text.count('"') - text.count('\\"')
    is_plain = text.isascii() and quotes == 2 and not _UNUSUAL_ESCAPE.search(text)
    found = string(text) if is_plain else None
    return (len(found) + 1) * string_element(text).bits // 8 if found is not None else None


_UNUSUAL_ESCAPE = re.compile(r"\\([uUNxe?\n]|[0-7]{2})")
"""Escapes of characters of several bytes, of which a joined literal may have more digits, and those that
Python reads in another way."""


def _floating(lower: str, hexadecimal: bool) -> tuple[float, Type] | None:
    type = DOUBLE
    if lower[-1] == "l":
        lower, type = lower[:-1], Floating(80)
    elif lower[-1] == "f" and (not hexadecimal or "p" in lower):
        lower, type = lower[:-1], Floating(32)
    try:
        return (float.fromhex(lower) if hexadecimal else float(lower)), type
    except (ValueError, OverflowError):
        return None


def _integer(digits: str) -> int:
    if digits.startswith(("0x", "0b")):
        return int(digits, 0)
    return int(digits, 8 if digits[0] == "0" and len(digits) > 1 else 10)


def _integer_type(value: int, suffix: str, decimal: bool) -> Type:
    """The first type of C's list that holds the value."""
    for bits in (64,) if "l" in suffix else (32, 64):
        if "u" not in suffix and value < 1 << (bits - 1):
            return Integer(bits, True)
        if ("u" in suffix or not decimal) and value < 1 << bits:
            return Integer(bits, False)
    return Integer(64, False) if value >= 1 << 63 else INT


# --------------------------------------------------------------------------------------------------
# Functions of the C library and of gcc that need no declaration to be understood.
# --------------------------------------------------------------------------------------------------


_UNARY_MATH = (
    *"acos acosh asin asinh atan atanh cbrt ceil cos cosh erf erfc exp exp2 exp10 expm1 fabs floor".split(),  # noqa: SIM905
    *"log log10 log1p log2 logb nearbyint rint round roundeven sin sinh sqrt tan tanh tgamma trunc".split(),  # noqa: SIM905
)
_BINARY_MATH = "atan2 copysign fdim fmax fmin fmod hypot nextafter pow remainder".split()  # noqa: SIM905
_COMPLEX_PARTS = "cabs carg creal cimag".split()  # noqa: SIM905
_COMPLEX_MATH = (
    *"conj cproj cexp clog csqrt cpow csin ccos ctan csinh ccosh ctanh".split(),  # noqa: SIM905
    *"casin cacos catan casinh cacosh catanh".split(),  # noqa: SIM905
)
_MIXED_MATH = "fma ldexp scalbn scalbln nan".split()  # noqa: SIM905
_TO_INTEGER = {
    "abs": INT, "labs": LONG, "llabs": LONG,
    **dict.fromkeys(("lround", "lroundf", "lroundl", "llround", "llroundf", "llroundl"), LONG),
    **dict.fromkeys(("lrint", "lrintf", "lrintl", "llrint", "llrintf", "llrintl"), LONG),
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
    "modf remquo sincos rand_r qsort bsearch strtol strtod strtoul atoi atof getline".split()
)


_MACROS = {
    **dict.fromkeys(("MAX", "max", "Max"), ("max", 2)),
    **dict.fromkeys(("MIN", "min", "Min"), ("min", 2)),
    **dict.fromkeys(("ABS", "Abs"), ("abs", 1)),
}
"""Usual macros for numbers, with the number of arguments: the header that defines them may be missing."""


def usual_macro(name: str, arguments: Sequence[Type]) -> tuple[str, Type] | None:
    """The usual macro of a name, in lower case, and the type of its value for arguments of some types."""
    macro, count = _MACROS.get(name, ("", 0))
    if not macro or len(arguments) != count or not all(map(is_arithmetic, arguments)):
        return None
    return macro, reduce(common, arguments[1:], promote(arguments[0]))


def _results() -> dict[str, Type]:
    results: dict[str, Type] = dict(_TO_INTEGER)
    results |= {f"__builtin_{name}{suffix}": INT for name in _BITS for suffix in ("", "l", "ll")}
    for name in [*_UNARY_MATH, *_BINARY_MATH, *_MIXED_MATH]:
        results[name] = DOUBLE
        results[name + "f"] = Floating(32)
        results[name + "l"] = Floating(80)
    for suffix, bits in (("", 64), ("f", 32), ("l", 80)):
        results |= {name + suffix: Floating(bits) for name in _COMPLEX_PARTS}
        results |= {name + suffix: Complex(bits) for name in _COMPLEX_MATH}
    return results | {"__builtin_complex": Complex(64)}


_PURE = _results()


def in_library(name: str) -> bool:
    """True if effects of a library function of this name are tabulated, provided the file does not define
    it."""
    return name in _PURE or name in _READS_MEMORY or name in _ALLOCATORS or name in _FORGETFUL


def is_pure(name: str) -> bool:
    """True if a library function of this name computes its result from its arguments alone, or the name is a
    string literal, which gives the character at a number."""
    return name.endswith('"') or canonical(name) in _PURE


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


def watched_variables(names: frozenset[str]) -> tuple[str, ...]:
    """The variables of the library that are read where these names stand."""
    return tuple(variable for variable, readers in _READERS.items() if not readers.isdisjoint(names))


_READERS = {"errno": frozenset(("errno", "perror", "__errno_location")), "signgam": frozenset(("signgam",))}


def is_forgetful(name: str) -> bool:
    """True if the function does not retain the addresses it is given."""
    return name in _FORGETFUL or name in _PURE


def library_result(name: str) -> Type | None:
    """The result type of an allocator, for a file that forgot to include its header."""
    return Pointer(VOID) if name in _ALLOCATORS else None
