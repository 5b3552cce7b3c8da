"""Equivalent forms of a computation get the same verdicts, the same transform, and the same kernels."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import pytest

from polylsp.core.settings import Settings
from polylsp.engine.queries import analyse, subject_of
from polylsp.model.action import Declined
from polylsp.targets.gpu.cuda import made, made_of
from polylsp.targets.gpu.members import with_members

from .equal_forms import FORMS, SAMPLES, Form, Sample, written

SETTINGS = Settings(offload_threshold=0, parallel_threshold=0)


@dataclass(frozen=True)
class Outcome:
    """Verdicts of the loops, transforms of the nests, and of each kernel the number of dimensions of its
    threads, and of loops of the host around it."""

    verdicts: tuple[str, ...]
    transforms: tuple[str, ...]
    kernels: tuple[tuple[int, int], ...]


def outcome(text: str) -> Outcome:
    """All of it for the function `kernel` of a file."""
    placed = next(p for p in analyse("a.c", text, SETTINGS).functions if p.answer.facts.name == "kernel")
    facts = placed.answer.facts
    subject = subject_of("a.c", text, SETTINGS, "kernel", placed.start)
    assert subject is not None
    found = made_of(with_members(subject), lambda region, taken: made(region, SETTINGS, taken))
    assert not isinstance(found, Declined), found.reason
    kernels = tuple((k.parallel, k.counters) for one in found[0] for k, _ in one.launched.kernels)
    verdicts = tuple(type(loop.verdict).__name__ for loop in facts.loops)
    return Outcome(
        verdicts, tuple(nest.transform.kind if nest.transform else "" for nest in facts.nests), kernels
    )


@cache
def usual(name: str) -> Outcome:
    """Outcome of the plain form."""
    return outcome(written(next(each for each in SAMPLES if each.name == name), Form()))


@pytest.mark.parametrize("form", FORMS, ids=[form.name for form in FORMS])
@pytest.mark.parametrize("sample", SAMPLES, ids=[sample.name for sample in SAMPLES])
def test_is_the_same(sample: Sample, form: Form) -> None:
    text = written(sample, form)
    assert outcome(text) == usual(sample.name), text
