"""The interpreter against a real compiler, and programs that can be read back from their text."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from tests.oracle.compiling import complete, expected, printed
from tests.oracle.drawing import affine_programs, programs
from tests.oracle.interpreter import runner
from tests.oracle.nests import Program
from tests.oracle.printing import layout
from tests.oracle.reading import program
from tests.oracle.values import Floating

_FEW = settings(
    max_examples=12,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture(scope="module")
def compiler() -> str:
    found = shutil.which("gcc")
    if found is None:
        if os.environ.get("CI"):
            pytest.fail("gcc is not installed, and this is CI")
        pytest.skip("gcc is not installed")
    return found


def _same_as_compiled(drawn: Program, compiler: str) -> None:
    run = runner(drawn).run(drawn.inputs[0], arithmetic=Floating)
    with tempfile.TemporaryDirectory() as folder:
        source = complete(drawn, run)
        assert printed(source, Path(folder), compiler) == expected(drawn, run), source


@_FEW
@given(drawn=affine_programs())
def test_affine_programs_leave_what_compiled_ones_leave(drawn: Program, compiler: str) -> None:
    _same_as_compiled(drawn, compiler)


@_FEW
@given(drawn=programs())
def test_all_programs_leave_what_compiled_ones_leave(drawn: Program, compiler: str) -> None:
    _same_as_compiled(drawn, compiler)


@settings(_FEW, max_examples=20)
@given(drawn=programs())
def test_a_printed_program_reads_back_as_itself(drawn: Program) -> None:
    again = program(layout(drawn).text)
    assert again.functions == drawn.functions
    assert again.globals == drawn.globals


def test_unsigned_arithmetic_wraps_and_signed_overflow_ends_the_run() -> None:
    text = "unsigned kernel(unsigned n)\n{\n    unsigned s = 0u;\n    s = n - 7u;\n    return s;\n}\n"
    drawn = program(text)
    assert runner(drawn).run(drawn.inputs[0]).result == 2**32 - 3
