"""Macro definitions as values: parsing, history within a file, and closure over names.

Includes the macros that a C compiler for 64-bit Linux predefines. `closure` gives the macros that
some names can lead to; the expansion of a text depends on no others.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from polylsp.frontends.c.tokens import tokenize


@dataclass(frozen=True, slots=True)
class Macro:
    """A macro: `parameters` is `None` for one without an argument list; with `variadic` the last
    parameter takes all remaining arguments. `spaces[k]`: white space stands before `body[k]`."""

    name: str
    parameters: tuple[str, ...] | None
    variadic: bool
    body: tuple[str, ...]
    spaces: tuple[bool, ...]


def macro(definition: str) -> Macro | None:
    """The macro of a definition such as `SQUARE(x) ((x) * (x))`; `None` if it is malformed."""
    tokens = tokenize(definition, directives=False)
    texts, starts, ends = tokens.texts, tokens.starts, tokens.ends
    if len(texts) == 0 or not (texts[0][0].isalpha() or texts[0][0] in "_$"):
        return None
    first = 1
    parameters: tuple[str, ...] | None = None
    variadic = False
    if len(texts) > 1 and texts[1] == "(" and starts[1] == ends[0]:
        if ")" not in texts:
            return None
        close = texts.index(")")
        names = [text for text in texts[2:close] if text != ","]
        if names and names[-1] == "...":
            variadic = True
            named = len(names) > 1 and texts[close - 2] != ","
            names = names[:-1] if named else [*names[:-1], "__VA_ARGS__"]
        parameters = tuple(names)
        first = close + 1
    spaces = tuple(starts[k] > ends[k - 1] for k in range(first, len(texts)))
    return Macro(texts[0], parameters, variadic, texts[first:], spaces)


class History:
    """The macros of a file as they are defined and taken back, from those that are `given` on."""

    def __init__(self, given: Mapping[str, Macro]) -> None:
        self.given = dict(given)
        self.changes: dict[str, list[tuple[int, Macro | None]]] = {}
        self.count = 0
        self._names: tuple[int, frozenset[str], list[str]] = (-1, frozenset(), [])

    def change(self, name: str, known: Macro | None) -> None:
        """Note that a macro is defined, or that there is none any more."""
        self.changes.setdefault(name, []).append((self.count, known))
        self.count += 1

    def names_from(self, piece: str) -> Iterator[str]:
        """The names of macros, in force or not, that begin with a piece and are longer."""
        names = self._by_name()[2]
        for at in range(bisect_right(names, piece), len(names)):
            if not names[at].startswith(piece):
                return
            yield names[at]

    @property
    def names(self) -> frozenset[str]:
        """The names of all macros, in force or not."""
        return self._by_name()[1]

    def _by_name(self) -> tuple[int, frozenset[str], list[str]]:
        if self._names[0] != self.count:
            names = frozenset((*self.given, *self.changes))
            self._names = self.count, names, sorted(names)
        return self._names


class InForce(Mapping[str, Macro]):
    """The macros in force at a point of a file, which shares its history with all others."""

    def __init__(self, history: History) -> None:
        self.history = history
        self._count = history.count

    def find(self, name: str) -> Macro | None:
        """The macro of that name, if there is one."""
        changes = self.history.changes.get(name)
        if changes is not None:
            at = bisect_left(changes, self._count, key=lambda change: change[0])
            if at:
                return changes[at - 1][1]
        return self.history.given.get(name)

    def __getitem__(self, name: str) -> Macro:
        found = self.find(name)
        if found is None:
            raise KeyError(name)
        return found

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.find(name) is not None

    def __iter__(self) -> Iterator[str]:
        return (name for name in self.history.given.keys() | self.history.changes.keys() if name in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def names_any(texts: Sequence[str], macros: Mapping[str, Macro]) -> bool:
    """False if surely none of some tokens names a macro."""
    names = macros.history.names if isinstance(macros, InForce) else macros.keys()
    return not names.isdisjoint(texts)


def ever_defined(macros: Mapping[str, Macro]) -> Iterator[Macro]:
    """The macros that are in force at some point of the file to which a mapping belongs."""
    if not isinstance(macros, InForce):
        yield from macros.values()
        return
    yield from macros.history.given.values()
    for changes in macros.history.changes.values():
        yield from (known for _, known in changes if known is not None)


def closure(names: Iterable[str], macros: Mapping[str, Macro]) -> tuple[Macro, ...]:
    """The macros that `names` can lead to, by name: a text's expansion depends on no others."""
    macros = macros if isinstance(macros, InForce) else InForce(History(macros))
    found: dict[str, Macro] = {}
    names = set(names)
    waiting = [name for name in names if name in macros]
    pasted = False
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        known = found[name] = macros[name]
        pasted = pasted or "##" in known.body
        waiting += [word for word in known.body if word in macros and word not in found]
        if pasted and not waiting:
            waiting += [other for other in _pasteable(names, found, macros) if other not in found]
    return tuple(found[name] for name in sorted(found))


def closure_without_pasting(names: Iterable[str], macros: Mapping[str, Macro]) -> tuple[Macro, ...] | None:
    """The `closure` of names in their order; `None` where `##` may put further names together."""
    found: dict[str, Macro] = {}
    waiting = [name for name in names if name in macros]
    for name in waiting:
        if name not in found:
            known = found[name] = macros[name]
            if "##" in known.body:
                return None
            waiting += [word for word in known.body if word in macros and word not in found]
    return tuple(found.values())


def _pasteable(names: Iterable[str], found: Mapping[str, Macro], macros: InForce) -> list[str]:
    """Macros whose name `##` could put together: it would begin with a word at hand."""
    pieces = set(names)
    for known in found.values():
        pieces.update(known.body)
    longer = {name for piece in pieces if piece for name in macros.history.names_from(piece)}
    return [name for name in longer if name in macros]


# --------------------------------------------------------------------------------------------------
# The macros that a C compiler for 64-bit Linux defines before it reads a file.
# --------------------------------------------------------------------------------------------------


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
