"""Duration of a measurement, and overhead of the harness on a time: `python -m tests.bench.measure [--kernels
PATTERN…]`.

Prints the time from the click on the lens to the figure beside `gemm`, over the language server; the time of
`gemm` in the harness against its time in a separate program; for the samples that are named, their figures;
and where there is a GPU, the error of the estimates of all samples.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from polylsp.core.settings import Settings
from polylsp.ide.measured import measured_label
from polylsp.measuring.c_versions import Version, built
from polylsp.measuring.confined_program import Harness, footprint
from polylsp.measuring.confinement import open_to_programs
from polylsp.measuring.remote import carried_out, new_folder, remove
from polylsp.measuring.toolchains import Compiler, compiler_for
from polylsp.measuring.tools import Runnable
from polylsp.model.measurement import Measurement, NoPlan, Outcome, Plan

from . import estimates
from .client import SERVER, Client, published
from .plans import planned
from .variants import GCC, timed

SAMPLES = Path(__file__).parents[2] / "samples/polybench/c"
GEMM = SAMPLES / "gemm.c"
ROUNDS = 9
SIDE = 800
WAIT_GOAL, OVERHEAD_GOAL = 6.0, 0.02


# --- From the click to the hint ------------------------------------------------------------------


def waited() -> tuple[float, Any]:
    """Seconds from the command to its answer, and that answer."""
    client = Client("-c", SERVER)
    client.ready()
    uri = GEMM.as_uri()
    document = {"uri": uri, "languageId": "c", "version": 1, "text": GEMM.read_text()}
    client.notify("textDocument/didOpen", {"textDocument": document})
    client.receive(lambda body: published(body, 1))
    client.receive(lambda body: published(body, 1))  # with transforms
    began = time.perf_counter()
    loop = {"uri": uri, "function": "kernel_gemm", "ordinal": 1}
    answer = client.request("workspace/executeCommand", {"command": "polylsp.measure", "arguments": [loop]})
    seconds = time.perf_counter() - began
    client.end()
    return seconds, answer["result"]


# --- What the harness adds -----------------------------------------------------------------------


def overhead() -> tuple[float, float]:
    """Seconds of `gemm` in a separate program, whose arrays begin where the harness puts them (by `malloc`
    they would lie across cache lines, which costs 15 %), and in the harness, in turn: the medians."""
    text = GEMM.read_text()
    plan = planned(GEMM, text, dict.fromkeys(("ni", "nj", "nk"), SIDE))
    assert isinstance(plan, Plan)
    folder = new_folder()
    try:
        return _overhead(replace(plan, variants=()), text, folder)
    finally:
        remove(folder)


def _overhead(plan: Plan, text: str, folder: str) -> tuple[float, float]:
    own = Path(folder, "own")
    sizes = [f"-D{name}={SIDE}" for name in ("NI", "NJ", "NK")]
    own.with_suffix(".c").write_text(timed(aligned(by_pointer(text))))
    subprocess.run([*GCC, "-w", *sizes, "-o", own, own.with_suffix(".c"), "-lm"], check=True)
    compiler = compiler_for(plan.path, Settings())
    assert isinstance(compiler, Compiler)
    programs = built(plan.path, [Version("original", text + plan.call)], compiler, folder, 1, lambda: None)
    open_to_programs(folder)
    rung = plan.rungs[0]
    program = programs["original"]
    assert isinstance(program, Runnable)
    harness = Harness(plan, program, folder, program.limits(footprint(plan, rung), 600, 1))
    harness.prepare(rung, 60)
    harness.time(60)
    alone, inside = [], []
    for _ in range(ROUNDS):
        done = subprocess.run([own], capture_output=True, text=True, check=True)
        alone.append(float(done.stderr.split()[-1]))
        inside.append(harness.time(60))
    harness.close()
    return statistics.median(alone), statistics.median(inside)


def by_pointer(text: str) -> str:
    """The sample, whose compiler does not know which function it calls, and with which sizes."""
    hidden = (
        '    __auto_type kernel_hidden = &kernel_gemm;\n    __asm__ volatile("" : "+r"(kernel_hidden));\n'
    )
    call = "    kernel_gemm(NI"
    assert call in text
    return text.replace(call, f"{hidden}    kernel_hidden(NI")


def aligned(text: str) -> str:
    """The sample, with arrays that begin at cache lines, each at another one of a page."""
    placed = """static int number;
    char *page = aligned_alloc(4096, (bytes + 2 * 4096) / 4096 * 4096);
    void *memory = page == NULL ? NULL : page + 64 * ++number;"""
    call = "void *memory = malloc(bytes);"
    assert call in text
    return re.sub(r"^ +free\(\w+\);$", "", text.replace(call, placed), flags=re.MULTILINE)


# --- Samples -------------------------------------------------------------------------------------


def figure(path: Path) -> str:
    """Figures of the kernel of a sample, in a line."""
    plan = planned(path, path.read_text(), {})
    if isinstance(plan, NoPlan):
        return plan.reason
    outcome: Outcome = carried_out(plan, Settings(), lambda _: None)
    if not isinstance(outcome, Measurement):
        return outcome.reason
    wrong = [each.reason for each in outcome.missing if each.is_error]
    return "; ".join([f"{outcome.original.median:.3f} s  {measured_label(outcome)}", *wrong])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kernels", nargs="*", default=[], metavar="PATTERN", help="samples to measure")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as cache:
        os.environ["XDG_CACHE_HOME"] = cache
        seconds, answer = waited()
    print(f"gemm: {seconds:.2f} s from the click to the figure (goal {WAIT_GOAL:.0f})", answer["sizes"])
    alone, inside = overhead()
    added = 100 * (inside / alone - 1)
    print(f"gemm at {SIDE}: {alone:.4f} s in a program of its own, {inside:.4f} s in the harness: ", end="")
    print(f"{added:+.1f} % (goal {100 * OVERHEAD_GOAL:.0f})")
    for path in sorted({path for each in arguments.kernels for path in SAMPLES.glob(f"{each}.c")}):
        print(f"{path.stem:16} {figure(path)}", flush=True)
    for line in estimates.lines(["*"]):
        print(line, flush=True)


if __name__ == "__main__":
    main()
