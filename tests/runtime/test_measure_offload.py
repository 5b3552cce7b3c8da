"""Directives for devices: measured where a program of the compiler finds a device, which is played here."""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from runtime_plans import Planning

from polylsp.core.settings import Settings
from polylsp.measuring import timing
from polylsp.measuring.trials import measured
from polylsp.model.measurement import Measurement, NotMeasured, Plan

SCALE = "void f(int n, double *restrict a) { for (int i = 0; i < n; i++) a[i] = 2.0 * a[i] + 1.0; }\n"
DEVICE = """
#include <stddef.h>
int omp_get_num_devices(void) { return 1; }
void GOMP_target_ext(int device, void (*run)(void *), size_t count, void **data) { run(data); }
"""
"""A device that has the host's memory."""


@pytest.fixture(autouse=True)
def few_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timing, "_SECONDS_OF_RUNS", 0.0)


@pytest.fixture
def gcc(tmp_path: Path) -> str:
    """A compiler whose programs have a device for OpenMP."""
    folder = tmp_path / "with device"
    folder.mkdir()
    (folder / "device.c").write_text(DEVICE)
    found = shutil.which("gcc")
    assert found is not None
    subprocess.run([found, "-c", "device.c"], cwd=folder, check=True)
    script = f'case " $* " in *" -c "*) exec {found} "$@";; esac\nexec {found} "$@" "{folder}/device.o"\n'
    (folder / "gcc").write_text(f"#!/bin/sh\n{script}")
    (folder / "gcc").chmod(0o755)
    return str(folder / "gcc")


def test_directives_run_on_a_device_that_there_is(planning: Planning, folder: str, gcc: str) -> None:
    plan = planning(SCALE, targets=("openmp-target", "openacc"), n=2000)
    assert isinstance(plan, Plan) and "omp target" in plan.variants[0].text
    # Targets that were not named are not reported where there is no device for them.
    unasked = replace(plan.variants[1], is_wanted=False)
    plan = replace(plan, variants=(*plan.variants, unasked))
    found = measured(plan, Settings(c_compiler=gcc, allowed_programs=(gcc,)), folder, lambda *_: None)
    assert isinstance(found, Measurement)
    assert [each.target for each in found.figures] == ["openmp-target"]
    (missing,) = found.missing
    assert missing.target == "openacc" and not missing.is_error
    assert missing.reason.endswith(
        "has no device for OpenACC here: `acc_get_num_devices(acc_device_not_host)` is 0."
    )


def test_without_a_device_nothing_is_built_for_it(planning: Planning, folder: str) -> None:
    plan = planning(SCALE, targets=("openmp-target",), n=2000)
    assert isinstance(plan, Plan)
    found = measured(plan, Settings(c_compiler="gcc"), folder, lambda *_: None)
    assert isinstance(found, NotMeasured)
    assert found.reason == "What `gcc` builds has no device for OpenMP here: `omp_get_num_devices()` is 0."
    assert not list(Path(folder).glob("0-openmp-target*"))


# --- nvc, which cannot be had here: a stand-in takes its flags, and nothing else ----------------

NVC = """#!{python}
import subprocess, sys

KNOWN = {{
    "-fast": (), "-O3": ("-O3",), "-tp=native": ("-march=native",), "-mp": ("-fopenmp",),
    "-mp=gpu": ("-fopenmp",), "-gpu=ccnative": (), "-w": ("-w",), "-c": ("-c",),
    "-lm": ("-lm",), "-no-pie": ("-no-pie",),
}}
given, made, device = iter(sys.argv[1:]), [], "-mp=gpu" in sys.argv and "-c" not in sys.argv
if "--version" in sys.argv:
    print("\\nnvc 26.1-0 64-bit target on x86-64 Linux -tp icelake-server")
    sys.exit()
for each in given:
    if each == "-o":
        made += ["-o", next(given)]
    elif each in KNOWN:
        made += KNOWN[each]
    elif each.startswith(("-D", "-I", "-iquote", "-Wl,")) or not each.startswith("-"):
        made.append(each)
    else:
        sys.exit(f"nvc-Error-Unknown switch: {{each}}")
sys.exit(subprocess.call(["{gcc}", *made, *(["{folder}/device.o"] if device else [])]))
"""


@pytest.fixture
def nvc(gcc: str) -> str:
    folder = Path(gcc).parent
    text = NVC.format(python=sys.executable, gcc=shutil.which("gcc"), folder=folder)
    (folder / "nvc").write_text(text)
    (folder / "nvc").chmod(0o755)
    return str(folder / "nvc")


def test_nvc_is_given_flags_of_its_own(planning: Planning, folder: str, nvc: str) -> None:
    plan = planning(SCALE, targets=("openmp", "openmp-target", "openacc"), n=2000)
    assert isinstance(plan, Plan)
    found = measured(plan, Settings(c_compiler=nvc, allowed_programs=(nvc,)), folder, lambda *_: None)
    assert isinstance(found, Measurement), found
    assert [each.target for each in found.figures if each.form == "directives"] == ["openmp", "openmp-target"]
    assert found.compiler.startswith("nvc 26.1") and found.flags == "-fast -O3 -tp=native"
    (missing,) = (each for each in found.missing if each.target == "openacc")
    assert missing.reason == "`nvc` does not build OpenACC for a device (`-acc=gpu -gpu=ccnative`)."
