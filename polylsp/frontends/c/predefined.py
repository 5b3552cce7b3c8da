"""The macros that a C compiler for 64-bit Linux defines before it reads a file."""

from __future__ import annotations

from functools import lru_cache

from polylsp.frontends.c.macros import Macro, macro

_DEFINITIONS = """
__STDC__ 1
__STDC_VERSION__ 201710L
__STDC_HOSTED__ 1
__GNUC__ 12
__GNUC_MINOR__ 2
__GNUC_PATCHLEVEL__ 0
__VERSION__ "12.2.0"
__x86_64__ 1
__x86_64 1
__amd64__ 1
__linux__ 1
__linux 1
linux 1
__gnu_linux__ 1
__unix__ 1
__unix 1
unix 1
__ELF__ 1
_LP64 1
__LP64__ 1
__CHAR_BIT__ 8
__SCHAR_MAX__ 127
__SHRT_MAX__ 32767
__INT_MAX__ 2147483647
__LONG_MAX__ 9223372036854775807L
__LONG_LONG_MAX__ 9223372036854775807LL
__SIZE_MAX__ 18446744073709551615UL
__PTRDIFF_MAX__ 9223372036854775807L
__SIZEOF_SHORT__ 2
__SIZEOF_INT__ 4
__SIZEOF_LONG__ 8
__SIZEOF_LONG_LONG__ 8
__SIZEOF_FLOAT__ 4
__SIZEOF_DOUBLE__ 8
__SIZEOF_LONG_DOUBLE__ 16
__SIZEOF_POINTER__ 8
__SIZEOF_SIZE_T__ 8
__SIZEOF_INT128__ 16
__SIZE_TYPE__ unsigned long
__PTRDIFF_TYPE__ long
__WCHAR_TYPE__ int
__INT8_TYPE__ signed char
__INT16_TYPE__ short
__INT32_TYPE__ int
__INT64_TYPE__ long
__UINT8_TYPE__ unsigned char
__UINT16_TYPE__ unsigned short
__UINT32_TYPE__ unsigned int
__UINT64_TYPE__ unsigned long
__INTPTR_TYPE__ long
__UINTPTR_TYPE__ unsigned long
__ORDER_LITTLE_ENDIAN__ 1234
__ORDER_BIG_ENDIAN__ 4321
__BYTE_ORDER__ 1234
__FLT_MAX__ 3.40282346638528859811704183484516925e+38F
__FLT_MIN__ 1.17549435082228750796873653722224568e-38F
__FLT_EPSILON__ 1.19209289550781250000000000000000000e-7F
__DBL_MAX__ 1.79769313486231570814527423731704357e+308
__DBL_MIN__ 2.22507385850720138309023271733240406e-308
__DBL_EPSILON__ 2.22044604925031308084726333618164062e-16
__LINE__ 1
__FILE__ ""
__DATE__ ""
__TIME__ ""
__TIMESTAMP__ ""
__COUNTER__ 0
__INCLUDE_LEVEL__ 0
"""


@lru_cache(maxsize=1)
def predefined() -> dict[str, Macro]:
    """The predefined macros by name; not to be changed."""
    found = (macro(line) for line in _DEFINITIONS.strip().splitlines())
    return {known.name: known for known in found if known is not None}
