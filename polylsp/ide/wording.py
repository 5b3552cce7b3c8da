"""Sentences on verdicts, dependences, assumptions and transforms, for programmers.

One place for all wording: diagnostics, hover and terminal agree. Lines in sentences are 1-based;
accesses are spelled as in the source. Advice uses the terms of the source language.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from typing_extensions import assert_never

from polylsp.core.language import PYTHON, C
from polylsp.core.text import Source
from polylsp.ide.excerpt import access_excerpt, element, generator_words, running_sum_words
from polylsp.ir.program import ArrayStatements, Rejection, Site
from polylsp.ir.verdict import (
    AccessPoint,
    Assumption,
    Dependence,
    Parallel,
    Reduction,
    Sequential,
    Unknown,
    Witness,
)
from polylsp.model.facts import Idiom, LoopFacts, PlacedFunction, Transform

# --------------------------------------------------------------------------------------------------
# Advice on removing an obstacle, in the terms of the language that a function is written in.
# --------------------------------------------------------------------------------------------------


_PYTHON = (
    (", or declare it `__attribute__((const))` if it only computes from its arguments", ""),
    (", or declare it `__attribute__((pure))` if it writes nothing", ""),
    ("declare it inside the loop", "assign it in each iteration before it is read"),
)
"""Phrases for C programmers, with those for Python programmers."""


def advice_words(placed: PlacedFunction, rejection: Rejection) -> str:
    """The advice that comes with a rejection; empty where there is none."""
    words = rejection.advice
    if placed.answer.language == PYTHON.name:
        for word, other in _PYTHON:
            words = words.replace(word, other)
    return words


# --------------------------------------------------------------------------------------------------
# Verdicts, dependences, assumptions and transforms as sentences that a programmer reads.
#
# One place for all wording: the diagnostics, the hover and the terminal say the same words. Lines
# in sentences are 1-based; accesses are spelled as in the source.
# --------------------------------------------------------------------------------------------------


_SHOWN_ASSUMPTIONS = 3


def subject(loop: LoopFacts) -> str:
    """Name of the loop in a sentence: its iterator, or "this `while` loop"."""
    return f"`{loop.iterator}`" if loop.iterator else f"this `{loop.kind}` loop"


def verdict_sentence(source: Source, placed: PlacedFunction, loop: LoopFacts) -> str:
    """The verdict of one loop in one sentence."""
    match loop.verdict:
        case Parallel() as verdict:
            told = f"{subject(loop)} can run in parallel{_terms(source, placed, verdict)}."
            return capital(f"{told}{idiom_words(placed, loop)}")
        case Sequential(witness=witness, former=former, advice=advice):
            obstacle = dependence_clause(source, placed, witness.dependence)
            told = f"{obstacle}{condition_words(witness)}{_example(witness)}{_former_words(former)}"
            known = f"; {advice}" if advice else generator_words(source, placed, witness.dependence)
            told += known or running_sum_words(source, placed, loop, witness.dependence)
            return capital(f"{subject(loop)} cannot run in parallel: {told}.")
        case Unknown() as verdict:
            return capital(_swap_words(source, placed, loop) or _unknown_sentence(placed, loop, verdict))
        case _:
            assert_never(loop.verdict)


def band_sentence(placed: PlacedFunction, loops: Sequence[LoopFacts]) -> str:
    """Several loops that can all run in parallel together."""
    both = "both" if len(loops) == 2 else "all"
    told = f"{listing([subject(loop) for loop in loops])} can {both} run in parallel."
    return capital(f"{told}{idiom_words(placed, loops[0])}")


def idiom_words(placed: PlacedFunction, loop: LoopFacts) -> str:
    """A sentence, after a blank, with the usual name of what the nest computes and what is usually done about
    it; empty without one."""
    idiom = loop.idiom
    if idiom is None:
        return ""
    first, last = f"`{idiom.arrays[0]}`", f"`{idiom.arrays[-1]}`"
    in_python = placed.answer.language == PYTHON.name
    match idiom.name:
        case "matrix product":
            both = f"the matrices {first} and {last}" if first != last else f"the matrix {first} and itself"
            return f" It computes a product of {both}: {_library(idiom, 'gemm', in_python)}."
        case "matrix-vector product":
            both = f"the matrix {first} and the vector {last}"
            return f" It computes a product of {both}: {_library(idiom, 'gemv', in_python)}."
        case "transpose":
            tiles = "square tiles of its loops use all of each cache line that they load"
            return f" It transposes {first}: {f'`{idiom.arrays[0]}.T` does that' if in_python else tiles}."
        case "stencil":
            steps = "tiles that go through several time steps keep its data in the caches"
            blocks = "threads with blocks of neighbouring iterations share the fewest elements"
            around = next((one for one in placed.answer.facts.loops if one.ordinal == loop.parent), None)
            in_steps = around is not None and isinstance(around.verdict, Sequential)
            return f" It is a stencil over {first}: {steps if in_steps else blocks}."
        case "histogram":
            own = "each thread counts in an array of its own, and these are added up"
            return f" It is a histogram in {first}: {'`np.bincount` does that' if in_python else own}."
        case _:
            assert_never(idiom.name)


def _library(idiom: Idiom, routine: str, in_python: bool) -> str:
    """The usual way to a product of matrices: of C's floating-point numbers, the routine of BLAS."""
    if in_python:
        return "NumPy's `@` is usually fastest"
    letter = {32: "s", 64: "d"}.get(idiom.bits)
    if letter is None:
        return "tiles of its loops keep their data in the caches"
    return f"a BLAS library (`cblas_{letter}{routine}`) is usually fastest"


def transform_sentence(loop: LoopFacts, transform: Transform) -> str:
    """Sentence on a transform that would expose parallelism which the loop as written does not have."""
    name = subject(loop)
    detail = f": {_open(transform.sentence)}" if transform.sentence else ""
    match transform.kind:
        case "interchange":
            way = f"it can after its loops are interchanged{detail}"
        case "distribute":
            way = f"its statements can once they stand in loops of their own{detail}"
        case "skew":
            way = f"the nest can after skewing{detail}"
        case "fuse":
            way = f"it can after the loops are fused{detail}"
        case "none" | "none-found":
            return capital(f"no reordering of the loops around {name} was found that runs in parallel.")
        case _:
            assert_never(transform.kind)
    return capital(f"{name} cannot run in parallel as written, but {way}.")


def dependence_clause(source: Source, placed: PlacedFunction, dependence: Dependence) -> str:
    """A dependence in a clause: the later access, and the earlier one that it conflicts with."""
    sink, before = dependence.sink, dependence.source
    if dependence.order:
        return dependence.order
    verb = _verb(dependence, sink)
    past = "read" if before.kind == "read" else "wrote"
    when = distance_words(dependence.distance)
    if before.site == sink.site and before.kind == sink.kind:
        return f"{place(source, placed, sink)} {verb} what it {past} {when}"
    return f"{place(source, placed, sink)} {verb} what {place(source, placed, before)} {past} {when}"


def place(source: Source, placed: PlacedFunction, access: AccessPoint) -> str:
    """An access and its line: "`a[i - 1]` on line 12", "`total` in `add(x)` on line 12"."""
    # An address that a call gets stands for what the call reads and writes there.
    text = access_excerpt(source, placed, access).removeprefix("&")
    in_call = text.endswith(")") and not re.search(rf"\b{re.escape(access.variable)}\b", text)
    called = f"`{access.variable}` in " if in_call else ""
    return f"{called}`{text}` on line {site_line(source, placed, access.site)}"


def site_line(source: Source, placed: PlacedFunction, site: Site) -> str:
    """Name of the line of a site."""
    return source.line_name(placed.span(site).start)


def handed_out(loop: LoopFacts) -> str:
    """Sentence on a loop over `prange` without findings."""
    verdict = loop.verdict
    if not isinstance(verdict, Parallel):
        return f"Numba runs the iterations of {subject(loop)} in parallel without a check that this is safe."
    private = listing([f"`{name}`" for name in verdict.private])
    own = [f"each has its own {private}"] if private else []
    names = [f"`{each.variable}`" for each in verdict.reductions if not each.is_array]
    combined = [f"Numba combines what threads find for {listing(names)}"] if names else []
    rest = f": {' and '.join([*own, *combined])}" if own or combined else ""
    when = f" if {assumption_words(verdict.assumptions)}" if verdict.assumptions else ""
    return f"Numba runs the iterations of {subject(loop)} in parallel, which is proven safe{when}{rest}."


def distance_words(distance: int | None) -> str:
    """Distance to the other iteration, in words."""
    if distance is None:
        return "in an earlier iteration"
    return "one iteration earlier" if distance == 1 else f"{distance} iterations earlier"


def condition_words(witness: Witness) -> str:
    """The condition under which two iterations conflict, to follow the clause about it; empty if none."""
    return f" {witness.condition}" if witness.condition else ""


def example_words(witness: Witness) -> str:
    """Two concrete iterations that conflict: "i = 1 writes a[1], i = 2 reads it"."""
    first, second = _iterations(witness.source_iteration, witness.sink_iteration)
    dependence = witness.dependence
    values = dict(witness.parameters) | dict(witness.source_iteration)
    what = (element(dependence.source.text, values) or dependence.source.text).removeprefix("&")
    if not first:
        return ""
    if dependence.order:
        return f"{first} calls `{dependence.source.variable}`, {second} calls it again"
    verb = "reads" if dependence.source.kind == "read" else "writes"
    return f"{first} {verb} {what}, {second} {_verb(dependence, dependence.sink)} it"


def assumption_words(assumptions: Sequence[Assumption], most: int = _SHOWN_ASSUMPTIONS) -> str:
    """Assumptions as one condition, without "if"; of more than `most`, the number of the others."""
    overlaps = [a for a in assumptions if a.kind == "no-overlap" and not a.or_one]
    others = [a for a in assumptions if a not in overlaps]
    sentences = list(dict.fromkeys(a.sentence for a in others))
    parts = overlap_words(overlaps) + [_open(one) for one in _types_together(sentences)]
    if len(parts) > most:
        left = len(parts) - most
        parts = [
            *parts[:most],
            f"{left} more {'condition holds' if left == 1 else 'conditions hold'}",
        ]
    return listing(parts)


_TYPE = re.compile(r"(`[^`]+`) is an (array of \w+)( with [a-z0-9]+ dimensions?)?")


def _types_together(sentences: Sequence[str]) -> Iterator[str]:
    """Sentences; those that give arrays one type are one: "`a` and `b` are arrays of float64"."""
    found = {one: _TYPE.fullmatch(one) for one in sentences}
    alike: dict[tuple[str, str], list[str]] = {}
    for match in found.values():
        if match is not None:
            alike.setdefault((match[2], match[3] or ""), []).append(match[1])
    for one, match in found.items():
        names = alike[match[2], match[3] or ""] if match is not None else []
        if match is None or len(names) == 1:
            yield one
        elif match[1] == names[0]:
            yield f"{listing(names)} are {match[2].replace('array', 'arrays', 1)}{match[3] or ''}"


def reduction_words(reductions: Sequence[Reduction]) -> str:
    """Reductions as a phrase, one part per operator: "a `+` reduction of `s` and the elements of `h`"."""
    return listing([_of_operator(o, reductions) for o in dict.fromkeys(r.operator for r in reductions)])


def _of_operator(operator: str, reductions: Sequence[Reduction]) -> str:
    of = [r for r in reductions if r.operator == operator]
    numbers = [_with_carried(r) for r in of if not r.is_array or r.is_member]
    arrays = [f"`{r.variable}`" for r in of if r.is_array and not r.is_member]
    elements = [f"the elements of {listing(arrays)}"] if arrays else []
    return f"a `{operator}` reduction of {' and '.join([*filter(None, [listing(numbers)]), *elements])}"


def _with_carried(reduction: Reduction) -> str:
    kept = listing([f"`{name}`" for name in reduction.carried])
    return f"`{reduction.variable}`" + (f" with its {kept}" if kept else "")


def private_words(verdict: Parallel) -> str:
    """Variables that need a copy per iteration, as a clause, or empty."""
    if not verdict.private and not verdict.lastprivate:
        return ""
    names = listing([f"`{name}`" for name in (*verdict.private, *verdict.lastprivate)])
    own = f"each iteration has its own {names}"
    if not verdict.lastprivate:
        return own
    last = listing([f"`{name}`" for name in verdict.lastprivate])
    needed = "values of {} are" if len(verdict.lastprivate) > 1 else "value of {} is"
    return f"{own} (the last {needed.format(last)} needed after the loop)"


def restrict_promises(placed: PlacedFunction, assumption: Assumption) -> bool:
    """True if `restrict` can make the promise: it is about the targets of named pointers of C, which no call
    in the file passes as one."""
    if placed.answer.language != C.name or assumption.or_one:
        return False
    return assumption.kind == "no-overlap" and all(name.isidentifier() for name in assumption.subjects)


def promise_words(source: Source, placed: PlacedFunction, assumptions: Sequence[Assumption]) -> str:
    """Advice by which the user can promise the assumptions, or empty. Of parameters and other variables, the
    former are declared anew."""
    if not assumptions or not all(restrict_promises(placed, assumption) for assumption in assumptions):
        return ""
    names = sorted({name for a in assumptions for name in a.subjects})
    header = source.text[placed.start : source.text.find("{", placed.start)]
    parameters = [name for name in names if re.search(rf"\b{name}\b", header)]
    if parameters and parameters != names:
        return f"declare {listing([f'`{name}`' for name in parameters])} `restrict` to promise it"
    return f"declare {'them' if len(names) > 1 else 'it'} `restrict` to promise it"


def array_sentence(run: ArrayStatements) -> str:
    """Number of passes and temporary arrays of array statements, before and after fusion."""
    several = run.count > 1
    what = f"These {run.count} array statements pass" if several else "This array statement passes"
    make, it = ("make", "they pass") if several else ("makes", "it passes")
    less = _times(run.fused_passes)
    left = f" and {make} {run.fused_temporaries}" if run.fused_temporaries else f" and {make} none"
    return (
        f"{what} {_times(run.passes)} over arrays like `{run.like}` and {make} {run.temporaries} temporary "
        f"ones. Fused, {it} {less}{left}."
    )


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number} times"


def listing(parts: Sequence[str]) -> str:
    """Words in a row: "a, b and c"; with a comma before "and" where one of them is a row itself."""
    if len(parts) <= 1:
        return "".join(parts)
    is_nested = any(", " in each for each in parts)
    return f"{', '.join(parts[:-1])}{',' if is_nested else ''} and {parts[-1]}"


def rounded(number: int) -> str:
    """A count to two digits, as one says it: "about 9,600"."""
    digits = max(0, len(str(number)) - 2)
    return f"{round(number, -digits):,}"


def capital(sentence: str) -> str:
    """The sentence with a capital letter first; code in backticks is left alone."""
    return sentence[:1].upper() + sentence[1:]


def _terms(source: Source, placed: PlacedFunction, verdict: Parallel) -> str:
    """Terms on which a loop is parallel: reductions, private copies, assumptions."""
    words = f" as {reduction_words(verdict.reductions)}" if verdict.reductions else ""
    if private := private_words(verdict):
        words += f"{',' if verdict.reductions else ''} once {private}"
    if verdict.assumptions:
        words += f"{',' if words else ''} if {assumption_words(verdict.assumptions)}"
    if promise := promise_words(source, placed, verdict.assumptions):
        words += f"; {promise}"
    return words


def _unknown_sentence(placed: PlacedFunction, loop: LoopFacts, verdict: Unknown) -> str:
    rejection = verdict.rejection
    reason = _open(rejection.message)
    if verdict.would_help:
        return f"{subject(loop)} could run in parallel if {assumption_words(verdict.would_help)}: {reason}."
    told = advice_words(placed, rejection)
    words = f"; {_open(told)}" if told else ""
    return f"unknown whether {subject(loop)} can run in parallel: {reason}{words}."


def _former_words(former: Sequence[tuple[str, str]]) -> str:
    """Remedy by reading from copies (array renaming), or empty."""
    if not former:
        return ""
    reads, copies = copies_words(former)
    verb = "is" if len(former) == 1 else "are"
    return f"; it can once {reads} {verb} read from {copies} made before the loop"


def copies_words(former: Sequence[tuple[str, str]]) -> tuple[str, str]:
    """Reads, and the copies of arrays that these could be from."""
    reads = listing([f"`{text}`" for text, _ in former])
    arrays = dict.fromkeys(f"`{name}`" for _, name in former)
    return reads, f"{'a copy' if len(arrays) == 1 else 'copies'} of {listing([*arrays])}"


_CHANGES = re.compile(r"`(\w+)` changes in this loop in a way that cannot be followed")


def _swap_words(source: Source, placed: PlacedFunction, loop: LoopFacts) -> str:
    """Sentence on a loop that is unknown because it swaps two arrays at its end, or empty."""
    assert isinstance(loop.verdict, Unknown)
    changed = _CHANGES.fullmatch(loop.verdict.rejection.message)
    if changed is None:
        return ""
    span, name = placed.span(loop.site), changed[1]
    body = source.text[span.start : span.end]
    swaps = (
        rf"^\s*{name}\s*,\s*(\w+)\s*=\s*\1\s*,\s*{name}\s*(?:#.*)?$",
        rf"^\s*(\w+)\s*,\s*{name}\s*=\s*{name}\s*,\s*\1\s*(?:#.*)?$",
        rf"\b(\w+)\s*=\s*{name}\s*;\s*{name}\s*=\s*(?P<other>\w+)\s*;\s*(?P=other)\s*=\s*\1\s*;",
        rf"\b(\w+)\s*=\s*(?P<other>\w+)\s*;\s*(?P=other)\s*=\s*{name}\s*;\s*{name}\s*=\s*\1\s*;",
    )
    found = next(filter(None, (re.search(each, body, re.MULTILINE) for each in swaps)), None)
    if found is None:
        return ""
    other = found.groupdict().get("other") or found[1]
    return (
        f"unknown whether {subject(loop)} can run in parallel: it swaps `{name}` and `{other}` in each"
        " iteration, as time steps do; the loops inside it have verdicts of their own."
    )


def _example(witness: Witness) -> str:
    words = example_words(witness)
    return f" (for example {words})" if words else ""


def _verb(dependence: Dependence, sink: AccessPoint) -> str:
    verb = "reads" if sink.kind == "read" else "overwrites"
    return verb if dependence.certain else f"may {verb.removesuffix('s')}"


def _iterations(first: Sequence[tuple[str, int]], second: Sequence[tuple[str, int]]) -> tuple[str, str]:
    """Two iterations in words, the second without the names where they are those of the first."""
    if len(first) <= 1 or [n for n, _ in first] != [n for n, _ in second]:
        return ", ".join(f"{n} = {v}" for n, v in first), ", ".join(f"{n} = {v}" for n, v in second)
    names = ", ".join(name for name, _ in first)
    return f"({names}) = ({_values(first)})", f"({_values(second)})"


def _values(iteration: Sequence[tuple[str, int]]) -> str:
    return ", ".join(str(value) for _, value in iteration)


def overlap_words(assumptions: Sequence[Assumption]) -> list[str]:
    """Pairs that must not overlap, in few clauses: each covers the pairs within a group of names, and those
    between that group and others. The names of a group have the partners of the name in most pairs."""
    pairs = {frozenset(a.subjects) for a in assumptions}
    names = list(dict.fromkeys(name for a in assumptions for name in a.subjects))
    if len(pairs) <= 1 or any(len(pair) != 2 for pair in pairs):
        return list(dict.fromkeys(_open(a.sentence) for a in assumptions))
    partners = {name: {other for other in names if frozenset((name, other)) in pairs} for name in names}
    found: list[str] = []
    while any(partners.values()):
        first = max(names, key=lambda name: len(partners[name]))
        each_other = [name for name in names if partners[name] | {name} == partners[first] | {first}]
        others = [name for name in names if name in partners[first] and name not in each_other]
        alike = each_other if others else []
        if len(each_other) == 1:
            alike = [name for name in names if partners[name] == partners[first]]
        found.append(_apart_words(alike or each_other, others, len(each_other) > 1))
        for name in (*alike, *each_other):
            for other in partners[name]:
                partners[other] -= {name}
            partners[name] = set()
    return found


def _apart_words(group: Sequence[str], others: Sequence[str], each_other: bool) -> str:
    """A clause on names that overlap none of some others, nor each other."""
    if not others:
        return f"{_few(group)} do not overlap"
    if len(group) == len(others) == 1:
        return f"{_few(sorted((*group, *others)))} do not overlap"
    verb = "do" if len(group) > 1 else "does"
    far = _few(others)
    if each_other:
        far = f"each other, {far}" if len(others) > 1 else f"each other and {far}"
    return f"{_few(group)} {verb} not overlap {' or '.join(far.rsplit(' and ', 1))}"


def _few(names: Sequence[str]) -> str:
    """Names in a row, the first ones of many."""
    quoted = [f"`{name}`" for name in names]
    return listing(quoted if len(quoted) <= 8 else [*quoted[:6], f"{len(quoted) - 6} more"])


def _open(sentence: str) -> str:
    """A sentence to be put into another one: no full stop, no capital of a plain word."""
    text = sentence.strip().rstrip(".")
    first = text.split(" ", 1)[0]
    return text[:1].lower() + text[1:] if first.istitle() and first != "I" else text
