"""Versions of a file in C made programs, several at once, each compiler confined like what it compiles."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from polylsp.model.measurement import Plan
from polylsp.runtime.compiler import OPTIMISED, Compiler, NoCompiler, compiler_for
from polylsp.runtime.confine import Limits
from polylsp.runtime.device import compiler_name
from polylsp.runtime.program import Ended, Program
from polylsp.runtime.tools import ORIGINAL, Built, NotBuilt, Runnable, version_names
from polylsp.settings import Settings

_DRIVER = Path(__file__).with_name("driver.c")
_LIMITS = Limits(cpu_seconds=120, memory=4 * 2**30, file_size=2**28, processes=64, trusted=True)
_SECONDS = 60.0
_STACK_MEBIBYTES = 16
_QUIET = ("-w", "-Dmain=polylsp_main_of_the_program")
_LINKED = ("-no-pie", "-Wl,--unresolved-symbols=ignore-all", "-lm")
"""What other files define may be missing, as long as it is not called."""


@dataclass(frozen=True, slots=True)
class Version:
    """A text to be compiled, by a name that a file can have; `flags` beside those of the project."""

    name: str
    text: str
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CTools:
    """A compiler makes programs of versions, each with `driver.c`."""

    compiler: Compiler

    @property
    def is_repeatable(self) -> bool:
        """Whether the original has no threads."""
        return "-fopenmp" not in self.compiler.flags

    @property
    def seconds_at_first(self) -> float:
        """Seconds for little data."""
        return 10.0

    @property
    def flags(self) -> str:
        """Those for speed."""
        return " ".join(OPTIMISED)

    def name(self, about: Callable[[], str]) -> str:
        """What the compiler says of itself."""
        return compiler_name(self.compiler)

    def build(self, plan: Plan, folder: str, threads: int, step: Callable[[int, int], None]) -> Built:
        """The programs of all versions."""
        versions = [Version(ORIGINAL, plan.text + plan.call)]
        for name, each in zip(version_names(plan), plan.variants, strict=True):
            versions.append(Version(name, each.text + plan.call, ("-fopenmp",)))
        done = itertools.count(1)
        return built(
            plan.path,
            versions,
            self.compiler,
            folder,
            threads,
            lambda: step(next(done), 2 * len(versions) + 1),
        )


def c_tools(path: str, settings: Settings) -> CTools | NotBuilt:
    """The compiler of a file, or why there is none."""
    compiler = compiler_for(path, settings)
    return NotBuilt(compiler.reason) if isinstance(compiler, NoCompiler) else CTools(compiler)


def built(
    path: str,
    versions: Sequence[Version],
    compiler: Compiler,
    folder: str,
    jobs: int,
    step: Callable[[], None],
) -> Built:
    """The programs of the versions of a file, by name, in a folder; `step` is called after each."""
    environment = {**compiler.environment, "TMPDIR": folder}
    shutil.copy(_DRIVER, Path(folder, "driver.c"))
    compiling: dict[str, tuple[str, ...]] = {"": (*OPTIMISED, "-w", "-c", "driver.c", "-o", "driver.o")}
    for each in versions:
        _write(path, each, folder)
        compiling[each.name] = (
            *(*OPTIMISED, *compiler.flags, *each.flags, *_QUIET, f"-iquote{Path(path).absolute().parent}"),
            *("-c", f"{each.name}.c", "-o", f"{each.name}.o"),
        )
    objects = _run_all(compiler.path, compiling, environment, folder, jobs, step)
    linking = {
        each.name: (*compiler.flags, *each.flags, f"{each.name}.o", "driver.o", "-o", each.name, *_LINKED)
        for each in versions
        if not objects[each.name]
    }
    linked = {} if objects[""] else _run_all(compiler.path, linking, environment, folder, jobs, step)
    return {
        each.name: Runnable((str(Path(folder, each.name)),), _threads(jobs))
        if linked.get(each.name) == ""
        else NotBuilt(objects[each.name] or objects[""] or linked.get(each.name, ""))
        for each in versions
    }


def _threads(count: int) -> dict[str, str]:
    """What OpenMP is told."""
    return {
        "OMP_NUM_THREADS": str(count),
        "OMP_PROC_BIND": "true",
        "OMP_STACKSIZE": f"{_STACK_MEBIBYTES}M",
        "OMP_DYNAMIC": "false",
    }


def _write(path: str, version: Version, folder: str) -> None:
    """The text as a file; what the compiler says of it names the user's."""
    shown = str(Path(path).absolute()).replace("\\", "\\\\").replace('"', '\\"')
    Path(folder, f"{version.name}.c").write_text(
        f'#line 1 "{shown}"\n{version.text}', "utf-8", "surrogateescape"
    )


def _run_all(
    compiler: str,
    commands: Mapping[str, Sequence[str]],
    environment: Mapping[str, str],
    folder: str,
    jobs: int,
    step: Callable[[], None],
) -> dict[str, str]:
    """Run some commands of a compiler, so many at once; gives what went wrong with each, in a sentence."""
    waiting = list(commands.items())
    running: dict[str, Program] = {}
    wrong: dict[str, str] = {}
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                name, arguments = waiting.pop(0)
                running[name] = Program([compiler, *arguments], folder, _LIMITS, environment)
            name = next(iter(running))
            wrong[name] = _outcome(running[name])
            running.pop(name).close()
            step()
    finally:
        for program in running.values():
            program.close()
    return wrong


def _outcome(program: Program) -> str:
    try:
        done = program.finish(_SECONDS)
    except Ended as ended:
        return f"The compiler {ended}."
    if done.status == 0:
        return ""
    lines = done.words.splitlines()
    shown = next((line for line in lines if "error" in line), lines[-1] if lines else f"status {done.status}")
    return f"The compiler refuses it: {shown.strip()}"
