"""The iterations of a chain of loops, in terms of its headers: a bound that is written `n - 1` stays `n - 1`,
also where the analysis knows that `n` is a macro for 40."""

from __future__ import annotations

from dataclasses import dataclass

import islpy as isl

from polylsp.codegen.subject import Subject
from polylsp.codegen.transform.chain import Chain, chain_comments, header_values
from polylsp.codegen.transform.expression import Linear, sum_text
from polylsp.codegen.transform.headers import Reader, header_of
from polylsp.codegen.transform.leaves import counter
from polylsp.codegen.transform.scan import Counter
from polylsp.model.action import Declined
from polylsp.model.expressions import stripped
from polylsp.model.program import Binary, Integer


@dataclass(frozen=True, slots=True)
class Iterations:
    """`domain` is a set over the counters, outermost first (`i0`, `i1`, …); its parameters (`__p0`, `__p1`,
    …) stand for texts of the headers (`atoms`). `counters` are the counters' names, `declared` the words
    that declare each in its header, empty where it is declared before; `firsts` are their least
    values, `lasts` the bounds that they stay below; of an extremum of several that depend on counters, one
    that does. `steps` are 1 for those that count up, -1 for the others."""

    domain: isl.Set
    atoms: dict[str, str]
    counters: tuple[str, ...]
    declared: tuple[str, ...]
    firsts: tuple[Linear, ...]
    lasts: tuple[Linear, ...]
    steps: tuple[int, ...]


def iterations(subject: Subject, chain: Chain, down: bool = False) -> Iterations | Declined:
    """The iterations of loops that count up by one, in signed integers, between linear bounds; or `down` by
    one, for an edit that asks in which direction they go."""
    reader = Reader(subject, [counter(subject, o).source_name for o in chain.ordinals])
    conditions: list[str] = []
    declared: list[str] = []
    firsts: list[Linear] = []
    lasts: list[Linear] = []
    steps: list[int] = []
    for depth, (ordinal, text) in enumerate(zip(chain.ordinals, chain.texts, strict=True)):
        name = reader.counters[depth]
        if not counts_signed(subject, ordinal):
            return Declined(
                f"The loop `{name}` counts in unsigned integers, where new bounds could wrap around."
            )
        found = header_of(reader, depth, text.node)
        if found is None or (found.step < 0 and not down):
            header = subject.text[text.header.start : text.header.end]
            how = "by one" if down else "up by one"
            return Declined(f"New bounds cannot be computed from `{header}`: it has to count {how}.")
        conditions += found.limits
        declared.append(found.declared)
        firsts.append(found.first)
        lasts.append(found.last)
        steps.append(found.step)
    names = ", ".join(f"i{k}" for k in range(len(chain.ordinals)))
    parameters = ", ".join(reader.atoms)
    domain = isl.Set(f"[{parameters}] -> {{ [{names}] : {' and '.join(conditions)} }}")
    named = tuple(reader.counters), tuple(declared)
    return Iterations(domain, reader.atoms, *named, tuple(firsts), tuple(lasts), tuple(steps))


def counters(subject: Subject, chain: Chain, found: Iterations) -> tuple[Counter, ...]:
    """The chain's loops, as they are to be written again."""
    result: list[Counter] = []
    for depth, text in enumerate(chain.texts):
        header = subject.text[text.header.start : text.header.end]
        before, after = chain_comments(subject, chain, depth)
        name, declared = found.counters[depth], found.declared[depth]
        result.append(Counter(name, declared, header, text.remark, before, after))
    return tuple(result)


def counts_signed(subject: Subject, ordinal: int) -> bool:
    """True if a loop compares and counts in signed integers."""
    loop = subject.loop(ordinal)
    condition = loop.condition
    if not isinstance(condition, Binary):
        return False
    types = [counter(subject, ordinal).type, condition.left.type, condition.right.type]
    types += [stripped(value).type for value in header_values(subject, loop) if value is not condition]
    return all(isinstance(t, Integer) and t.signed for t in types)


def spelled(points: Iterations, value: Linear) -> str:
    """A sum in C."""
    return sum_text({points.atoms.get(t, t) if isinstance(t, str) else t: f for t, f in value.items()})
