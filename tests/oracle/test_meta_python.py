"""The oracle for Python can fail: wrong claims are refuted, and so is a text that does something else."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.oracle.claims import AssumptionClaim, Claim
from tests.oracle.evidence import Evidence
from tests.oracle.fitting import plus
from tests.oracle.judge import judge
from tests.oracle.machine import Machine
from tests.oracle.nests import Assign, Element, Expr, For, Name, Number, Program, Slice, numbered
from tests.oracle.python.drawing import pythonic
from tests.oracle.python.running import disagreements, evidence
from tests.oracle.reading import program

COPY = """
void kernel(int n, double a[n + 2], double b[n + 2])
{
    for (int i = 1; i < n; i++) {
        a[i] = b[i - 1] * 2.0;
    }
}
"""
APART = AssumptionClaim("no-overlap", ("a", "b"))


def in_python(drawn: Program) -> Program:
    said = pythonic(drawn)
    assert said is not None
    return said


def rules(of: Evidence, *claims: Claim) -> set[str]:
    return {refutation.rule for refutation in judge(of, list(claims))}


def test_a_copy_is_parallel_only_if_the_arrays_are_apart() -> None:
    copy = evidence(in_python(program(COPY)))
    assert rules(copy, Claim("kernel", 1, "parallel", assumptions=(APART,))) == set()
    assert "unexplained conflict" in rules(copy, Claim("kernel", 1, "parallel"))


@pytest.mark.parametrize(
    ("text", "other", "difference"),
    [
        ("b[i - 1]", "b[i]", "accesses"),
        ("b[i - 1]", "a[i - 1]", "accesses"),
        ("range(1, n)", "range(1, n - 1)", "accesses"),
        ("a[i] = b[i - 1]", "if i > n: a[i] = b[i - 1]", "accesses"),
        ("* 2.0", "* 3.0", "values"),
        ("* 2.0", "* 2.0\n    for j in range(2):\n        pass", "iterations"),
    ],
)
def test_a_text_that_does_something_else_is_found(text: str, other: str, difference: str) -> None:
    copy = evidence(in_python(program(COPY)))
    assert disagreements(copy) == []
    assert text in copy.layout.text
    copy.layout.text = copy.layout.text.replace(text, other)
    (refutation,) = disagreements(copy)
    assert refutation.text.startswith(difference)


def whole(stop: Expr, shift: int) -> Evidence:
    """`for i in range(1, n): a[1:n] = a[1 + shift:stop]`."""
    source = program(COPY)
    (loop,) = source.kernel.body
    assert isinstance(loop, For)
    target = Element("a", (Slice(Number(1), Name("n")),))
    value = Element("a", (Slice(Number(1 + shift), stop),))
    kernel = replace(source.kernel, body=(replace(loop, body=(Assign(target, value),)),))
    return evidence(in_python(numbered(replace(source, functions=(kernel,)))))


def test_an_array_statement_that_shifts_an_array_must_keep_its_order() -> None:
    shift = whole(plus(Name("n"), 1), 1)
    assert "a[1:n] = a[2:n + 1]" in shift.layout.text
    assert disagreements(shift) == []
    assert "unexplained conflict" in rules(shift, Claim("kernel", 1, "parallel"))


def test_slices_of_different_lengths_are_not_run() -> None:
    assert any(touches(run) for run in whole(Name("n"), 0).runs)
    assert not any(touches(run) for run in whole(plus(Name("n"), 1), 0).runs)


def touches(run: Machine) -> bool:
    """True if a run accesses an array."""
    return any(event.key for event in run.trace)
