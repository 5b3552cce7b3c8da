"""Compilation and instrumentation of the versions of a C file.

Several versions build at once, each compiler confined like the program that it builds.
Instrumented kernels report to `driver.c` and `driver.cuh`; their semantics stay the same.
"""

from __future__ import annotations

import itertools
import os
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import wait
from pathlib import Path
from time import monotonic

from polylsp.core.settings import Settings
from polylsp.measuring.confined_program import Ended, Program
from polylsp.measuring.confinement import Limits
from polylsp.measuring.timing import c_has_threads, own_processor
from polylsp.measuring.toolchains import (
    MANDATORY,
    Compiler,
    CudaCompiler,
    NoCompiler,
    compiler_for,
    compiler_name,
    cuda_compiler,
    cuda_name,
    device_environment,
    offloading_flags,
    why_no_device,
)
from polylsp.measuring.tools import ORIGINAL, Built, NotBuilt, Runnable, programs_for, version_names
from polylsp.model.action import DEVICE_TARGETS, ActionName
from polylsp.model.measurement import Plan, Variant

_DRIVERS, _DRIVER = ("driver.c", "driver.cuh"), "driver.o"
_LIMITS = Limits(cpu_seconds=120, memory=4 * 2**30, file_size=2**28, processes=64, trusted=True)
_SECONDS = 60.0
_STACK_MEBIBYTES = 16
_QUIET = ("-w", "-Dmain=polylsp_main_of_the_program")
_LINKED = ("-no-pie", "-Wl,--unresolved-symbols=ignore-all", "-lm")
"""Linker flags: definitions from other files may be missing, as long as they are not called."""


@dataclass(frozen=True, slots=True)
class Version:
    """A text to compile, by a name that a file can have; `flags` beside those of the project. `kernels` are
    files with kernels, by name, for the CUDA compiler; `before` is the text to prepend. A program for a
    device gets its settings by its `environment`; one with a single thread gets a `processor`."""

    name: str
    text: str
    flags: tuple[str, ...] = ()
    kernels: tuple[tuple[str, str], ...] = ()
    before: str = ""
    environment: Mapping[str, str] | None = None
    processor: int | None = None


_NO_CUDA = NotBuilt("Nothing here builds kernels.")


def built(
    path: str,
    versions: Sequence[Version],
    compiler: Compiler,
    folder: str,
    jobs: int,
    step: Callable[[], None],
    cuda: CudaCompiler | NotBuilt = _NO_CUDA,
) -> Built:
    """The programs of the versions of a file, by name, in a folder; `step` is called after each
    command."""
    made: dict[str, Runnable | NotBuilt] = {}
    if isinstance(cuda, NotBuilt):
        made.update((each.name, cuda) for each in versions if each.kernels)
        versions = [each for each in versions if not each.kernels]
    folders = cuda.folders if isinstance(cuda, CudaCompiler) else ()
    environment = {**compiler.environment, "TMPDIR": folder}
    environment["PATH"] = os.pathsep.join(dict.fromkeys((*environment["PATH"].split(os.pathsep), *folders)))
    shop = _Shop(environment, folder, jobs, step)
    for driver in _DRIVERS:
        shutil.copy(Path(__file__).with_name(driver), Path(folder, driver))
    compiling = {_DRIVER: (compiler.path, *compiler.spelled.optimised, "-w", "-c", "driver.c", "-o", _DRIVER)}
    for each in versions:
        _write(path, each, folder)
        compiling |= _compiling(path, each, compiler, cuda)
    # What takes longest stands last: versions that most was done to, and their kernels.
    objects = _run_all(shop, dict(reversed(compiling.items())))
    wrong = {each.name: _first_wrong(objects, each) for each in versions}
    whole = [each for each in versions if not wrong[each.name]]
    linked = _run_all(shop, {each.name: _linking(each, compiler, cuda) for each in whole})
    # Libraries of the compiler, and what the program may read beside its source.
    shown = (str(Path(compiler.path).parents[1]), str(Path(path).absolute().parent))
    for each in versions:
        reason = wrong[each.name] or linked[each.name]
        made[each.name] = NotBuilt(reason) if reason else _runnable(each, folder, jobs, shown)
    return made


def _compiling(
    path: str, version: Version, compiler: Compiler, cuda: CudaCompiler | NotBuilt
) -> dict[str, tuple[str, ...]]:
    """The commands that make the objects of a version, by the name of each."""
    beside = f"-iquote{Path(path).absolute().parent}"
    source, made = f"{version.name}.c", f"{version.name}.o"
    flags = (*compiler.spelled.optimised, *compiler.flags, *version.flags, *_QUIET, beside)
    found: dict[str, tuple[str, ...]] = {made: (compiler.path, *flags, "-c", source, "-o", made)}
    if isinstance(cuda, CudaCompiler):
        found.update((f"{name}.o", cuda.compiling(name, f"{name}.o")) for name in _kernel_files(version))
    return found


def _linking(version: Version, compiler: Compiler, cuda: CudaCompiler | NotBuilt) -> tuple[str, ...]:
    objects = _objects(version)
    if version.kernels and isinstance(cuda, CudaCompiler):
        return cuda.linking(objects, compiler.flags, version.name)
    return (compiler.path, *compiler.flags, *version.flags, *objects, "-o", version.name, *_LINKED)


def _kernel_files(version: Version) -> tuple[str, ...]:
    return tuple(f"{version.name}-{name}" for name, _ in version.kernels)


def _objects(version: Version) -> tuple[str, ...]:
    return (f"{version.name}.o", *(f"{name}.o" for name in _kernel_files(version)), _DRIVER)


def _first_wrong(objects: Mapping[str, str], version: Version) -> str:
    return next((objects[each] for each in _objects(version) if objects[each]), "")


def _runnable(version: Version, folder: str, threads: int, shown: tuple[str, ...]) -> Runnable:
    command, environment = (str(Path(folder, version.name)),), _threads(threads)
    if version.environment is None:
        return Runnable(command, environment, shown=shown, processor=version.processor)
    told = {**environment, **version.environment, **device_environment()}
    return Runnable(command, told, shown=shown, on_device=True)


def _threads(count: int) -> dict[str, str]:
    """Environment of OpenMP's runtime."""
    return {
        "OMP_NUM_THREADS": str(count),
        "OMP_PROC_BIND": "true",
        "OMP_PLACES": "cores",
        "OMP_STACKSIZE": f"{_STACK_MEBIBYTES}M",
        "OMP_DYNAMIC": "false",
    }


def _write(path: str, version: Version, folder: str) -> None:
    """The text as a file, and those with kernels; messages of the compiler name the user's file."""
    shown = str(Path(path).absolute()).replace("\\", "\\\\").replace('"', '\\"')
    texts = {f"{version.name}.c": f'{version.before}#line 1 "{shown}"\n{version.text}'}
    texts |= {f"{version.name}-{name}": text for name, text in version.kernels}
    for name, text in texts.items():
        Path(folder, name).write_text(text, "utf-8", "surrogateescape")


@dataclass(frozen=True, slots=True)
class _Shop:
    """Setting of the commands: their environment and folder, how many run at once, and the callback after
    each."""

    environment: Mapping[str, str]
    folder: str
    jobs: int
    step: Callable[[], None]


def _run_all(shop: _Shop, commands: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Run some commands of compilers; returns the error of each, in a sentence."""
    waiting = list(commands.items())
    running: dict[str, Program] = {}
    wrong: dict[str, str] = {}
    try:
        while waiting or running:
            while waiting and len(running) < shop.jobs:
                name, command = waiting.pop(0)
                running[name] = Program(command, shop.folder, _LIMITS, shop.environment)
            for name, reason in _next(running).items():
                wrong[name] = reason
                running.pop(name).close()
                shop.step()
    finally:
        for program in running.values():
            program.close()
    return wrong


def _next(running: Mapping[str, Program]) -> dict[str, str]:
    """The commands that end next, each with its error; all where none ends for long."""
    until = monotonic() + _SECONDS
    while wait([each for program in running.values() for each in program.streams], until - monotonic()):
        found = {name: _outcome(program) for name, program in running.items()}
        ended = {name: reason for name, reason in found.items() if reason is not None}
        if ended:
            return ended
    return dict.fromkeys(running, f"The compiler did not come to its end within {_SECONDS:.0f} s.")


def _outcome(program: Program) -> str | None:
    """Error of a command, empty for success; `None` while it runs."""
    try:
        if not program.has_ended():
            return None
        done = program.finish(_SECONDS)
    except Ended as ended:
        return f"The compiler {ended}."
    if done.status == 0:
        return ""
    lines = done.words.splitlines()
    shown = next((line for line in lines if "error" in line), lines[-1] if lines else f"status {done.status}")
    return f"The compiler refuses it: {shown.strip()}"


# --------------------------------------------------------------------------------------------------
# Instrumented files with kernels, and calls of their host functions, for measuring: they report to
# `driver.c` and `driver.cuh`. Their semantics stay the same.
# --------------------------------------------------------------------------------------------------


_LAUNCH = re.compile(r"\w+(?:<\w+>)?<<<[^>;]*?(?:, 0, ([^>;]+))?>>>\(")

DECLARED = "extern void polylsp_entered(void);\nextern int polylsp_left(int);\n"
"""Declarations that precede a text with instrumented calls."""


def telling_calls(text: str, helpers: tuple[str, ...]) -> str:
    """A text in which each call of a host function, with the conditions before it, tells whether its kernels
    ran, and how long it took."""
    for name in helpers:
        found = re.search(rf"\b{name}\([^;{{}}]*?\) != 0(?=\) \{{)", text)
        if found is None:
            continue
        start = text.rindex("if (", 0, found.start()) + len("if (")
        asked = f"polylsp_entered(), polylsp_left({text[start : found.end()]})"
        text = text[:start] + asked + text[found.end() :]
    return text


def telling_kernels(name: str, text: str, *, is_first: bool) -> str:
    """A file with kernels, instrumented to report launches and transfers. The first one of a program has the
    shared definitions."""

    def told(found: re.Match[str]) -> str:
        return f"polylsp::launching({found[1] or 'nullptr'}); {found[0]}"

    defines = "#define POLYLSP_DEFINES\n" if is_first else ""
    return f'{defines}#include "driver.cuh"\n#line 1 "{name}"\n{_LAUNCH.sub(told, text)}'


# --------------------------------------------------------------------------------------------------
# Tools that build versions of a function in C: a compiler, and `nvcc` for those with kernels.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CTools:
    """A compiler makes programs of versions, each with `driver.c`; another one those with kernels."""

    compiler: Compiler
    cuda: CudaCompiler | NotBuilt

    @property
    def is_repeatable(self) -> bool:
        """True if the original has no threads."""
        return not self.compiler.has_threads

    @property
    def seconds_at_first(self) -> float:
        """Seconds for little data."""
        return 10.0

    @property
    def flags(self) -> str:
        """Flags for speed."""
        return " ".join(self.compiler.spelled.optimised)

    def name(self, about: Callable[[], str], *, has_kernels: bool) -> str:
        """Version lines of the compilers."""
        own = compiler_name(self.compiler)
        if not has_kernels or isinstance(self.cuda, NotBuilt):
            return own
        return f"{own}; {cuda_name(self.cuda.path)}"

    def build(self, plan: Plan, folder: str, threads: int, step: Callable[[int, int], None]) -> Built:
        """The programs of all versions."""
        alone = None if c_has_threads(plan.text, self.compiler.flags) else own_processor()
        versions = [Version(ORIGINAL, plan.text + plan.call, processor=alone)]
        left_out = self._without_device(plan, folder)
        for name, each in zip(version_names(plan), plan.variants, strict=True):
            versions += [self._version(name, each, plan.call)] if name not in left_out else []
        done, steps = itertools.count(1), 1 + sum(2 + len(each.kernels) for each in versions)
        made = built(
            plan.path,
            versions,
            self.compiler,
            folder,
            threads,
            lambda: step(next(done), steps),
            self.cuda,
        )
        return {**made, **left_out}

    def _without_device(self, plan: Plan, folder: str) -> dict[str, NotBuilt]:
        """The versions for devices that there are none of, by name, each with why."""
        asked: list[ActionName] = [
            each for each in DEVICE_TARGETS if any(variant.target == each for variant in plan.variants)
        ]
        reasons = {each: why_no_device(self.compiler, each, folder) for each in asked}
        named = zip(version_names(plan), plan.variants, strict=True)
        found = {name: reasons.get(each.target) for name, each in named}
        return {name: reason for name, reason in found.items() if reason is not None}

    def _version(self, name: str, variant: Variant, call: str) -> Version:
        if variant.target in DEVICE_TARGETS:
            flags = offloading_flags(self.compiler, variant.target)
            return Version(name, variant.text + call, flags, environment=MANDATORY)
        if not variant.files:
            return Version(name, variant.text + call, (self.compiler.spelled.openmp,))
        kernels = tuple(
            (each, telling_kernels(each, text, is_first=number == 0))
            for number, (each, text) in enumerate(variant.files)
        )
        text = telling_calls(variant.text, variant.helpers)
        return Version(name, text + call, (), kernels, DECLARED, {})


def c_tools(path: str, settings: Settings, workspace: Sequence[str] = ()) -> CTools | NotBuilt:
    """The compiler of a file, or why there is none."""
    compiler = compiler_for(path, settings, workspace)
    if isinstance(compiler, NoCompiler):
        return NotBuilt(compiler.reason)
    return CTools(compiler, cuda_compiler(settings, programs_for(path, settings, workspace)))
