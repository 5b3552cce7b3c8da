"""Functions measured on a GPU: the compiler and the driver are stand-ins, all else is what a user has."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from polylsp.core.settings import Settings
from polylsp.engine.queries import analyse, measurable
from polylsp.measuring import timing
from polylsp.measuring.c_versions import CTools
from polylsp.measuring.confinement import open_to_programs
from polylsp.measuring.remote import new_folder, remove
from polylsp.measuring.stored_figures import parameters_for
from polylsp.measuring.toolchains import cuda_compiler
from polylsp.measuring.tools import ORIGINAL, Built, NotBuilt, Runnable, programs_for, version_names
from polylsp.measuring.trials import measured, of_kernels, searched, tools_for
from polylsp.model.measurement import AskToMeasure, Measurement, NotMeasured, Outcome, Plan, Tuned

from .device import HERE
from .playing import STAND_IN, Played

TWO = """
double smooth(int n, double *restrict a, double *restrict b)
{
    double total = 0.0;
    for (int i = 1; i < n - 1; i++)
        b[i] = 0.25 * (a[i - 1] + 2.0 * a[i] + a[i + 1]);
    for (int i = 0; i < n; i++)
        total += b[i];
    return total;
}
"""


@pytest.fixture(scope="session")
def nvcc(compilers: tuple[str, str], headers: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A compiler of that name, for a device that is played on the host."""
    path = tmp_path_factory.mktemp("cuda") / "nvcc"
    script = f"{sys.executable} {HERE / 'stand_in' / 'nvcc.py'} {compilers[1]} {headers}"
    path.write_text(f'#!/bin/sh\nPYTHONPATH={HERE.parents[1]} exec {script} "$@"\n')
    path.chmod(0o755)
    return str(path)


def planned(text: str, path: Path, *parameters: tuple[str, str], **sizes: int) -> Plan:
    """A plan to measure the last function of a text with kernels, which settings may make other ones."""
    path.write_text(text)
    target = "cuda" if path.suffix == ".c" else "pycuda"
    last = analyse(str(path), text, Settings(), schedules=False).functions[-1]
    wanted = AskToMeasure(last.answer.facts.name, last.start, 0, tuple(sizes.items()), (target,), parameters)
    plan = measurable(str(path), text, Settings(), wanted)
    assert isinstance(plan, Plan), plan
    return plan


@dataclass(frozen=True)
class Bench:
    """Measures with the stand-ins. What was built of a plan is used again, with other words to the device."""

    settings: Settings
    stand_ins: str = ""
    """Path by which programs find the simulated device in their environments."""

    def outcome(self, plan: Plan) -> Outcome:
        with folder_for_programs() as folder:
            return measured(plan, self.settings, folder, lambda *_: None)

    def outcome_of_each(self, plan: Plan, *said: Mapping[str, str]) -> Measurement:
        """Measurement of a plan whose variants run in different environments."""
        tools = tools_for(plan, self.settings)
        assert not isinstance(tools, NotBuilt)
        plain = type(tools).build

        def build(*arguments: Any) -> Built:
            programs = plain(*arguments)
            told = {ORIGINAL: {}, **dict(zip(version_names(plan), said, strict=True))}
            return {name: self._saying(program, told[name]) for name, program in programs.items()}

        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(type(tools), "build", build)
            return measurement(self.outcome(plan))

    def outcomes(self, plan: Plan, *said: Mapping[str, str]) -> Iterator[Outcome]:
        """Outcomes of a plan for each of some environments of the programs with kernels."""
        with folder_for_programs() as folder:
            tools = tools_for(plan, self.settings)
            assert not isinstance(tools, NotBuilt)
            programs = tools.build(plan, folder, 2, lambda *_: None)
            for each in said:
                told = {name: self._saying(program, each) for name, program in programs.items()}
                with pytest.MonkeyPatch.context() as patched:
                    patched.setattr(CTools, "build", lambda *_, told=told: told)
                    yield measured(plan, self.settings, folder, lambda *_: None)

    def _saying(self, program: Runnable | NotBuilt, said: Mapping[str, str]) -> Runnable | NotBuilt:
        assert isinstance(program, Runnable), program
        told, shown = {**program.environment, **said}, (*program.shown, self.stand_ins)
        return replace(program, environment=told, shown=shown) if program.on_device else program


@contextmanager
def folder_for_programs() -> Iterator[str]:
    folder = new_folder()
    open_to_programs(folder)
    yield folder
    remove(folder)


@pytest.fixture
def bench(nvcc: str, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Bench:
    monkeypatch.setattr(timing, "_SECONDS_OF_RUNS", 0.0)  # As few runs as there can be.
    return Bench(Settings(cuda_compiler=nvcc), str(tmp_path_factory.getbasetemp()))


NAMED = {"POLYLSP_CUDA_DEVICE": f"NVIDIA H100 80GB HBM3 {2**36}"}


def test_kernels_and_transfers_are_told_apart(bench: Bench, tmp_path: Path) -> None:
    plan = planned(TWO, tmp_path / "two.c", n=20000)
    (named, absent, full, failing, illegal, late) = bench.outcomes(
        plan,
        NAMED,
        {"POLYLSP_CUDA_ABSENT": "1"},
        {"POLYLSP_CUDA_DEVICE": f"A small one {2**12}", "POLYLSP_CUDA_MEMORY": f"{2**12}"},
        {"POLYLSP_CUDA_FAIL": "2"},
        {"POLYLSP_CUDA_ILLEGAL": "1"},
        {"POLYLSP_CUDA_FAIL": "40"},
    )
    (figure,) = measurement(named).figures
    there = figure.on_device
    assert there is not None and there.device == "NVIDIA H100 80GB HBM3"
    assert there.transfers.median > 0 and 0 < there.kernels.median < figure.times.median
    assert there.speedup > figure.speedup and figure.max_error < 1e-12
    assert [each.device for each in measurement(named).estimates] == ["H100"]
    assert left_out(absent) == ("It did not run on a GPU: no CUDA-capable device is detected.", False)
    reason, is_error = left_out(full)
    assert "KiB, and 4 KiB are free on A small one" in reason and not is_error
    assert left_out(failing) == ("It did not run on a GPU: out of memory.", False)
    assert left_out(illegal) == ("It did not run on a GPU: an illegal memory access was encountered.", True)
    # It fails later, between two runs that are timed.
    assert left_out(late) == ("It did not run on a GPU: unknown error.", False)


def measurement(found: Outcome) -> Measurement:
    assert isinstance(found, Measurement), found
    return found


def left_out(found: Outcome) -> tuple[str, bool]:
    """Reason why the one version has no figure, and whether that is our error."""
    assert measurement(found).figures == ()
    (missing,) = measurement(found).missing
    return missing.reason, missing.is_error


def test_kernels_that_do_something_else_are_an_error_without_a_figure(bench: Bench, tmp_path: Path) -> None:
    plan = planned(TWO, tmp_path / "two.c", n=2000)
    (variant,) = plan.variants
    wrong = [
        replace(variant, files=tuple((name, text.replace(*errors)) for name, text in variant.files))
        for errors in (("0.25 * (", "0.2500001 * ("), ("b[i] = ", "b[i + 100000 * (i == 7)] = "))
    ]
    assert variant not in wrong
    found = measurement(bench.outcome(replace(plan, variants=tuple(wrong))))
    assert found.figures == () and all(each.is_error for each in found.missing)
    off, crashed = (each.reason for each in found.missing)
    assert "where the original makes it" in off and "touched memory that is not its own" in crashed


WAVE = """import numpy as np
from numpy.typing import NDArray


def smooth(n: int, a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    total = 0.5
    for i in range(1, n - 1):
        b[i] = 0.25 * (a[i - 1] + 2 * a[i] + a[i + 1])
    for i in range(n):
        total += b[i] * i
    return total
"""


def test_kernels_of_python_are_measured_in_the_interpreter_of_the_user(
    bench: Bench, played: Played, tmp_path: Path
) -> None:
    (tmp_path / "pycuda").symlink_to(STAND_IN / "pycuda")
    plan = planned(WAVE, tmp_path / "wave.py", n=500)
    (variant,) = plan.variants
    assert variant.helpers == ("smooth_cuda",)
    kernels, head, rest = variant.text.partition("def smooth_cuda(")
    wrong = replace(variant, text=kernels.replace("0.25 * (", "0.2500001 * (") + head + rest)
    told = {k: v for k, v in played.environment.items() if k.startswith("PLAYED_")} | {"PLAYED_FOLDER": "."}
    found = bench.outcome_of_each(
        replace(plan, variants=(variant, wrong, variant, variant, variant)),
        {**told, "PLAYED_NAME": "NVIDIA A100-SXM4-80GB"},
        told,
        {**told, "POLYLSP_CUDA_MEMORY": "10"},
        {**told, "PLAYED_FAILING": "2"},
        {**told, "PLAYED_FAILING": "1"},
    )
    (figure,) = found.figures
    there = figure.on_device
    assert there is not None and there.device == "NVIDIA A100-SXM4-80GB" and "PyCUDA played" in found.compiler
    assert there.transfers.median > 0 and 0 < there.kernels.median < figure.times.median
    off, full, failing, absent = found.missing
    assert "where the original makes it" in off.reason and off.is_error
    assert "bytes, and 10 bytes are free on the host" in full.reason
    assert failing.reason == "It did not run on a GPU: call 2 fails."
    assert absent.reason == "It did not run on a GPU: call 1 fails."
    assert not any(each.is_error for each in (full, failing, absent))


@pytest.mark.parametrize(("name", "text"), [("two.c", TWO), ("wave.py", WAVE)])
def test_other_blocks_are_tried_where_there_is_a_device(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, text: str
) -> None:
    own = planned(text, tmp_path / name, n=500)
    other = planned(text, tmp_path / name, ("cuda_block_sizes", "64"), n=500)
    plan = searched(own, [other, own])
    assert isinstance(plan, Plan) and [each.parameters for each in plan.variants] == [
        (),
        (("cuda_block_sizes", "64"),),
    ]
    monkeypatch.setattr("polylsp.measuring.trials.gpu_here", lambda: "")
    assert of_kernels(Settings()) == () and of_kernels(Settings(cluster="tcp://there:8786"))
    monkeypatch.setattr("polylsp.measuring.trials.gpu_here", lambda: "NVIDIA H200")
    assert (("cuda_block_sizes", "64"),) in of_kernels(Settings())
    target, setting = own.variants[0].target, (("cuda_block_sizes", "64"),)
    kept = {"smooth": (Tuned("smooth", "code", target, "directives", setting, 2.0, (), 0.0),)}
    usual = Settings()
    assert parameters_for(kept, target, "smooth", "code", usual) == setting
    assert parameters_for(kept, "restructure", "smooth", "code", usual) == ()
    assert parameters_for(kept, target, "smooth", "changed", usual) == ()
    assert parameters_for(kept, target, "smooth", "code", Settings(cuda_block_sizes=(32,))) == ()


def test_without_pycuda_nothing_passes_for_a_kernel(bench: Bench, tmp_path: Path) -> None:
    plan = planned(WAVE, tmp_path / "wave.py", n=500)
    # Targets that were not named are not reported.
    unasked = replace(plan.variants[0], is_wanted=False)
    (missing,) = bench.outcome_of_each(replace(plan, variants=(*plan.variants, unasked)), {}, {}).missing
    assert "PyCUDA cannot be imported by this Python" in missing.reason and not missing.is_error


def test_without_a_compiler_of_kernels_nothing_is_measured(tmp_path: Path) -> None:
    plan = planned(TWO, tmp_path / "two.c", n=2000)
    bench = Bench(Settings(cuda_compiler="nowhere/nvcc"))
    found = bench.outcome(plan)
    assert isinstance(found, NotMeasured) and "`nowhere/nvcc` of the setting" in found.reason
    settings = Settings(cuda_compiler="/bin/sh")
    refused = cuda_compiler(settings, programs_for("a.c", settings))
    assert isinstance(refused, NotBuilt) and "no `nvcc` by its name" in refused.reason
