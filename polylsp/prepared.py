"""A function of any language, ready for analysis, with the places of its tokens."""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import blake2b

from polylsp.frontends.c.macros import Macro
from polylsp.model.program import Function
from polylsp.text import Span


@dataclass(frozen=True, slots=True)
class Prepared:
    """A function ready for analysis; equal where its tokens and declarations are. `pragmas` are the places of
    its pragmas, of all families, `pragma_words` their words after `pragma`, and `macros` those that its text
    uses. `text` is that of a function which a header or a macro defines, after macro expansion."""

    key: str
    function: Function = field(compare=False, repr=False)
    calls: tuple[str, ...] = field(compare=False)
    places: str = ""
    starts: tuple[int, ...] = field(default=(), compare=False, repr=False)
    ends: tuple[int, ...] = field(default=(), compare=False, repr=False)
    pragmas: tuple[Span, ...] = field(default=(), compare=False, repr=False)
    pragma_words: tuple[str, ...] = field(default=(), compare=False, repr=False)
    macros: tuple[Macro, ...] = field(default=(), compare=False, repr=False)
    seconds: tuple[tuple[str, float], ...] = field(default=(), compare=False)
    language: str = field(default="c", compare=False)
    text: str = field(default="", compare=False, repr=False)


def digest(*values: object) -> str:
    """A short text that stands for values: the same for equal ones, and for no others."""
    return blake2b(repr(values).encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()
