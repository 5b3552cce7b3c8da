"""The text of a leaf at one point."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from polylsp.codegen.cuda.expressions import Words
from polylsp.codegen.cuda.leaves import Leaf
from polylsp.codegen.cuda.statements import braced, declared, lines_of, words_of
from polylsp.codegen.shadowing import WORD, in_turn
from polylsp.codegen.transform.leaves import counter

_DECLARES = ("char ", "signed ", "unsigned ", "short ", "int ", "long ", "float ", "double ", "bool ")


def instance(leaf: Leaf, values: Sequence[str], words: Words) -> Iterator[str]:
    """A leaf, with its counters at some values; in braces where it declares something."""
    lines = list(declarations(leaf, values, words))
    body = list(lines_of(leaf.statements, words))
    if lines or any(line.startswith(_DECLARES) for line in body):
        yield from braced("", iter([*lines, *body]))
    else:
        yield from body


def declarations(leaf: Leaf, values: Sequence[str], words: Words) -> Iterator[str]:
    """Declarations before the statements of a leaf: mentioned counters, and its local variables. Raises
    `ShadowedError`."""
    named = {w for line in lines_of(leaf.statements, words) for w in WORD.findall(line)}
    counters = [counter(words.subject, ordinal) for ordinal in leaf.loops]
    types = {words.names[own.name]: words_of(own, words) for own in counters}
    # Of several counters of one name, statements know the innermost.
    found = dict(zip((words.names[own.name] for own in counters), values, strict=True))
    for name, value in in_turn((n, v) for n, v in found.items() if n in named and n != v):
        yield f"const {types[name]} {name} = {value};"
    yield from (f"{declared(own, words)};" for own in leaf.own)
