"""Macros as values: how one is defined, and which others it can lead to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

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


def closure(names: Iterable[str], macros: Mapping[str, Macro]) -> tuple[Macro, ...]:
    """The macros that `names` can lead to, by name: a text's expansion depends on no others."""
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


def _pasteable(names: Iterable[str], found: Mapping[str, Macro], macros: Mapping[str, Macro]) -> list[str]:
    """Macros whose name `##` could put together: it would begin with a word at hand."""
    pieces = set(names)
    for known in found.values():
        pieces.update(known.body)
    return [name for name in macros if any(name[:cut] in pieces for cut in range(1, len(name)))]
