"""Measurement plans: calls of a function, and the versions of it that actions produce."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from polylsp.core.language import PYTHON, C
from polylsp.core.notebook import cells_of
from polylsp.core.settings import Settings
from polylsp.emit.subject import Again, Subject
from polylsp.frontends.c.compile_options import options_for
from polylsp.frontends.python.cells import NoProgram, cell_program
from polylsp.frontends.python.definitions import outline
from polylsp.ir.effects import loops_in
from polylsp.measuring.plans.measurement_plan import guarded, harness, macros, told_already, wishes_of
from polylsp.model.action import (
    DEVICE_TARGETS,
    KERNEL_TARGETS,
    ActionName,
    Answer,
    Ask,
    Declined,
    Edited,
    applied,
)
from polylsp.model.measurement import (
    AskToMeasure,
    Missing,
    NoPlan,
    Plan,
    Variant,
    are_of_directives,
    are_of_kernels,
)

MEASURED: dict[str, tuple[ActionName, ...]] = {
    C.name: ("openmp", "openacc", "openmp-target", "cuda"),
    PYTHON.name: ("numba", "slices", "pycuda"),
}
"""Targets that can be compared, by language; those for devices only where there is a GPU, unless named."""

_ALWAYS = (("offload_threshold", "0"),)
"""On a device also where that does not pay: small sizes are for comparing what comes out."""

Making = Callable[[str, Ask], Answer]
"""Function that applies an action to a text of the file."""


def planned(
    subject: Subject,
    path: str,
    wanted: AskToMeasure,
    preset: Mapping[str, int],
    make: Making,
    again: Again,
    *,
    has_gpu: bool = False,
    given: Mapping[str, int] = MappingProxyType({}),
) -> Plan | NoPlan:
    """Measurement plan of a function, or the reason why there is none. `again` reads another text of it.
    `given` are sizes that are macros: the subject has them already, and its programs are to have them too."""
    loops = subject.facts.loops
    if not loops:
        return NoPlan(_without_loops(subject))
    if wanted.parameters and subject.language != C.name and not are_of_kernels(wanted.parameters):
        return NoPlan(f"No setting changes what is made of `{wanted.function}`.")
    made = harness(subject, dict(wanted.sizes), preset, again, given)
    if isinstance(made, NoPlan):
        return made
    found = _compared(_Maker(subject, wanted, make), has_gpu=has_gpu)
    if isinstance(found, NoPlan):
        return found
    names, is_c = made.data.sizes, subject.language == C.name
    return Plan(
        path,
        wanted.function,
        wanted.ordinal or loops[0].ordinal,
        found.original,
        made.call,
        names,
        made.data.arguments,
        made.data.memories,
        made.rungs,
        made.small,
        found.variants,
        found.missing,
        made.given,
        subject.language,
        (*_seen_to(subject), *(f"`{name}` is not negative" for name in names)),
        not is_c and "parallel=True" in subject.text,
        workloads=made.workloads,
        macros=tuple(given.items()),
        unset=tuple(sorted(guarded(subject.text) - {*given})) if is_c and not names else (),
        usual=made.usual,
        basis=made.basis,
    )


@dataclass(frozen=True, slots=True)
class _Compared:
    """The programs of a function as it stands and of its versions, and those that there are none of."""

    original: str
    variants: tuple[Variant, ...]
    missing: tuple[Missing, ...]


def _compared(maker: _Maker, *, has_gpu: bool) -> _Compared | NoPlan:
    subject, wanted = maker.subject, maker.wanted
    targets = wanted.targets or _usual(subject.language, has_gpu=has_gpu)
    versions = list(_versions(maker, targets))
    variants = [each for each in versions if isinstance(each, Variant)]
    missing = tuple(each for each in versions if isinstance(each, Missing))
    if not variants:
        return NoPlan(missing[0].reason if missing else f"No setting changes `{wanted.function}`.")
    if not wanted.targets:
        variants = [replace(each, is_wanted=False) for each in variants]
        # Most loops have no form on slices; only an explicit request reports that.
        missing = tuple(each for each in missing if each.target != "slices")
    texts = [_program(subject, each) for each in (subject.text, *(one.text for one in variants))]
    programs = [each for each in texts if isinstance(each, str)]
    if len(programs) < len(texts):
        return next(NoPlan(each.reason) for each in texts if isinstance(each, NoProgram))
    original, *others = programs
    made = (replace(one, text=text) for one, text in zip(variants, others, strict=True))
    return _Compared(original, tuple(made), missing)


def macro_sizes(
    subject: Subject, path: str, wanted: AskToMeasure, preset: Mapping[str, int], settings: Settings
) -> dict[str, int] | NoPlan:
    """The sizes that are macros of a file in C, or why these cannot be set."""
    if subject.language != C.name:
        return {}
    sizes = {**preset, **wishes_of(subject).sizes, **dict(wanted.sizes)}
    found = macros(subject.text, sizes, [each.source_name for each in subject.function.parameters])
    wrong = told_already(found, options_for(path, settings).defines) if found else None
    return wrong or found


def _usual(language: str, *, has_gpu: bool) -> tuple[ActionName, ...]:
    """Versions compared by default."""
    return tuple(
        each for each in MEASURED[language] if has_gpu or each not in (*DEVICE_TARGETS, *KERNEL_TARGETS)
    )


def _without_loops(subject: Subject) -> str:
    name = subject.function.name
    if not any(True for _ in loops_in(subject.function.body)):
        return f"`{name}` has no loops."
    return (
        f"`{name}` has array statements but no loops: NumPy runs these as they are, and there is no other "
        "version to compare them with."
    )


def _seen_to(subject: Subject) -> tuple[str, ...]:
    """Assumptions on the types of parameters, which the data satisfy."""
    told = (sentence for v in subject.function.parameters for sentence in v.assumed)
    words = (" holds ", " is an array of ")
    return tuple(
        each for each in told if any(w in each for w in words) or each.endswith((" dimension", " dimensions"))
    )


@dataclass(frozen=True, slots=True)
class _Maker:
    subject: Subject
    wanted: AskToMeasure
    make: Making

    def ask(
        self, text: str, action: ActionName, ordinal: int, parameters: tuple[tuple[str, str], ...] = ()
    ) -> Answer:
        wanted = self.wanted
        chosen = (*parameters, *wanted.parameters)
        return self.make(text, Ask(action, wanted.function, self._starts(text), ordinal, chosen))

    def _starts(self, text: str) -> int:
        return self.wanted.starts if self.subject.language == C.name else _starts_in(text, self.subject)


def _starts_in(text: str, subject: Subject) -> int:
    """Start of a Python function in an edited text: imports may stand above it now."""
    if text is subject.text:
        return subject.start
    name = subject.function.name
    before, after = (
        [f.start for f in outline(each).functions if f.name == name] for each in (subject.text, text)
    )
    return after[before.index(subject.start)]


def _program(subject: Subject, text: str) -> str | NoProgram:
    """Program to run for a version: the file, or the part of a notebook that it needs."""
    if not cells_of(text):
        return text
    return cell_program(text, subject.function.name, _starts_in(text, subject))


def _versions(maker: _Maker, targets: tuple[ActionName, ...]) -> Iterator[Variant | Missing]:
    for target in targets:
        if target not in MEASURED[maker.subject.language]:
            name = maker.subject.language.capitalize()
            yield Missing(target, "directives", f"There is no `{target}` for functions of {name}.")
        else:
            yield from _versions_for(maker, target)


def _versions_for(maker: _Maker, target: ActionName) -> Iterator[Variant | Missing]:
    """Versions for one target; with settings, only those that the settings change."""
    parameters = maker.wanted.parameters
    if target in KERNEL_TARGETS:
        if not parameters or are_of_kernels(parameters):
            yield _with_kernels(maker, target)
        return
    if not parameters or are_of_directives(parameters):
        yield _directed(maker, target)
    if target == "openmp" and maker.subject.language == C.name and not are_of_kernels(parameters):
        yield _restructured(maker, target)


def _with_kernels(maker: _Maker, target: ActionName) -> Variant | Missing:
    """Version with the requested nest on a GPU, or all of them."""
    text, parameters = maker.subject.text, maker.wanted.parameters
    answer = maker.ask(text, target, maker.wanted.ordinal, _ALWAYS)
    if isinstance(answer, Declined):
        return Missing(target, "directives", answer.reason, parameters=parameters)
    made = applied(text, answer.replacements)
    files = tuple((each.name, each.text) for each in answer.created)
    kernels = [name.removesuffix(".cu") for name, _ in files if name.endswith(".cu")]
    names = kernels or _OFFLOADED.findall(made)
    known = set(_OFFLOADED.findall(text))
    helpers = tuple(each for each in names if each not in known)
    return Variant(target, "directives", made, answer.assumptions, (), parameters, files, helpers)


_OFFLOADED = re.compile(r"^def (\w+_cuda\d*)\(", re.MULTILINE)
"""Definition of a Python function that runs kernels."""


def _restructured(maker: _Maker, target: ActionName) -> Variant | Missing:
    text, parameters = maker.subject.text, maker.wanted.parameters
    answer = maker.ask(text, "restructure", 1)
    if isinstance(answer, Declined):
        return Missing(target, "restructured", answer.reason, parameters=parameters)
    made = applied(text, answer.replacements)
    return Variant(target, "restructured", made, answer.assumptions, answer.parts, parameters)


def _directed(maker: _Maker, target: ActionName) -> Variant | Missing:
    """The function with directives on the requested loop, or on all of its outermost loops: from the last to
    the first, so that those before keep their numbers. Slices may be those of loops inside."""
    wanted, refused = maker.wanted, list[Declined]()
    outermost = [loop.ordinal for loop in maker.subject.facts.loops if loop.depth == 1]
    waiting = [wanted.ordinal] if wanted.ordinal else outermost
    made: Variant | None = None
    while waiting:
        ordinal = waiting.pop()
        text = made.text if made is not None else maker.subject.text
        answer = maker.ask(text, target, ordinal, _ALWAYS if target in DEVICE_TARGETS else ())
        if isinstance(answer, Edited):
            assumed = made.assumptions if made is not None else ()
            both = tuple(dict.fromkeys((*assumed, *answer.assumptions)))
            after = applied(text, answer.replacements)
            made = Variant(target, "directives", after, both, (), wanted.parameters)
        else:
            refused.append(answer)
            inside = (loop.ordinal for loop in maker.subject.facts.loops if loop.parent == ordinal)
            waiting += inside if target == "slices" else ()
    if made is None:
        return Missing(target, "directives", refused[0].reason, parameters=wanted.parameters)
    return made
