"""What is measured of a function: how it is called, and the versions of it that actions make."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from polylsp.codegen.harness.plan import harness
from polylsp.codegen.subject import Subject
from polylsp.language import PYTHON, C
from polylsp.model.action import ActionName, Answer, Ask, Declined, Edited, applied
from polylsp.model.measurement import (
    AskToMeasure,
    Missing,
    NoPlan,
    Plan,
    Variant,
    are_of_kernels,
)

MEASURED: dict[str, tuple[ActionName, ...]] = {
    C.name: ("openmp", "openacc", "openmp-target", "cuda"),
    PYTHON.name: ("numba", "pycuda"),
}
"""The targets that can be compared, by language; where there is no GPU, the first alone is unless others are
named."""

_OFFLOADED = ("openacc", "openmp-target")
_KERNELS = ("cuda", "pycuda")
_ALWAYS = (("offload_threshold", "0"),)
"""On a device also where that does not pay: small sizes are for comparing what comes out."""

Making = Callable[[str, Ask], Answer]
"""What an action makes of a text of the file."""


def planned(
    subject: Subject,
    path: str,
    wanted: AskToMeasure,
    preset: Mapping[str, int],
    make: Making,
    *,
    has_gpu: bool = False,
) -> Plan | NoPlan:
    """How to measure a function, or why that cannot be done."""
    loops = subject.facts.loops
    if not loops:
        return NoPlan(f"`{wanted.function}` has no loops.")
    if wanted.parameters and subject.language != C.name and not are_of_kernels(wanted.parameters):
        return NoPlan(f"No setting changes what is made of `{wanted.function}`.")
    made = harness(subject, dict(wanted.sizes), preset)
    if isinstance(made, NoPlan):
        return made
    usual = MEASURED[subject.language] if has_gpu else MEASURED[subject.language][:1]
    versions = [
        replace(each, is_wanted=False) if isinstance(each, Variant) and not wanted.targets else each
        for each in _versions(_Maker(subject, wanted, make), wanted.targets or usual)
    ]
    variants = tuple(each for each in versions if isinstance(each, Variant))
    missing = tuple(each for each in versions if isinstance(each, Missing))
    if not variants:
        return NoPlan(missing[0].reason if missing else f"No setting changes `{wanted.function}`.")
    return Plan(
        path,
        wanted.function,
        wanted.ordinal or loops[0].ordinal,
        subject.text,
        made.call,
        made.data.sizes,
        made.data.arguments,
        made.data.memories,
        made.rungs,
        made.small,
        variants,
        missing,
        made.given,
        subject.language,
        _seen_to(subject),
        subject.language == PYTHON.name and "parallel=True" in subject.text,
        workloads=made.workloads,
    )


def _seen_to(subject: Subject) -> tuple[str, ...]:
    """What was assumed of the types of parameters, which data are made for."""
    told = (sentence for v in subject.function.parameters for sentence in v.assumed)
    return tuple(each for each in told if " holds " in each or each.endswith("has one dimension"))


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
        return self.make(text, Ask(action, wanted.function, wanted.starts, ordinal, chosen))


def _versions(maker: _Maker, targets: tuple[ActionName, ...]) -> Iterator[Variant | Missing]:
    for target in targets:
        if target not in MEASURED[maker.subject.language]:
            name = maker.subject.language.capitalize()
            yield Missing(target, "directives", f"There is no `{target}` for functions of {name}.")
        else:
            yield from _versions_for(maker, target)


def _versions_for(maker: _Maker, target: ActionName) -> Iterator[Variant | Missing]:
    """Those for one target; with settings, only what they make another."""
    parameters = maker.wanted.parameters
    if target in _KERNELS:
        if not parameters or are_of_kernels(parameters):
            yield _with_kernels(maker, target)
        return
    if not parameters:
        yield _directed(maker, target)
    if target == "openmp" and maker.subject.language == C.name and not are_of_kernels(parameters):
        yield _restructured(maker, target)


def _with_kernels(maker: _Maker, target: ActionName) -> Variant | Missing:
    """The nest that is asked for on a GPU, or all of them."""
    text, parameters = maker.subject.text, maker.wanted.parameters
    answer = maker.ask(text, target, maker.wanted.ordinal, _ALWAYS)
    if isinstance(answer, Declined):
        return Missing(target, "directives", answer.reason, parameters=parameters)
    made = applied(text, answer.replacements)
    files = tuple((each.name, each.text) for each in answer.created)
    names = [name.removesuffix(".cu") for name, _ in files] if files else _COMPILED.findall(made)
    known = set(_COMPILED.findall(text))
    helpers = tuple(each for each in names if each not in known)
    return Variant(target, "directives", made, answer.assumptions, (), parameters, files, helpers)


_COMPILED = re.compile(r"^def _compiled_(\w+)\(\):", re.MULTILINE)
"""What compiles the kernels of a function of Python, before which its name stands."""


def _restructured(maker: _Maker, target: ActionName) -> Variant | Missing:
    text, parameters = maker.subject.text, maker.wanted.parameters
    answer = maker.ask(text, "restructure", 1)
    if isinstance(answer, Declined):
        return Missing(target, "restructured", answer.reason, parameters=parameters)
    made = applied(text, answer.replacements)
    return Variant(target, "restructured", made, answer.assumptions, answer.parts, parameters)


def _directed(maker: _Maker, target: ActionName) -> Variant | Missing:
    """The function with directives on the loop that is asked for, or on all of its outermost loops: from
    the last to the first, so that those before keep their numbers."""
    text, wanted = maker.subject.text, maker.wanted
    outermost = [loop.ordinal for loop in maker.subject.facts.loops if loop.depth == 1]
    chosen = [wanted.ordinal] if wanted.ordinal else list(reversed(outermost))
    made: Variant | None = None
    refused: list[Declined] = []
    for ordinal in chosen:
        answer = maker.ask(text, target, ordinal, _ALWAYS if target in _OFFLOADED else ())
        if isinstance(answer, Edited):
            text = applied(text, answer.replacements)
            assumed = made.assumptions if made is not None else ()
            made = Variant(target, "directives", text, tuple(dict.fromkeys((*assumed, *answer.assumptions))))
        else:
            refused.append(answer)
    return made if made is not None else Missing(target, "directives", refused[0].reason)
