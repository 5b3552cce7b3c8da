"""C and CUDA compilers for measured programs, the flags that they get, and what names this machine has.

A project's flag is taken if it concerns the language or the machine alone. Flags that measuring
replaces (`-o`, `-O2`, warnings) are left out; all others are refused: they may load code into the
compiler, start programs, or write elsewhere. Offloading compilers are checked for a device.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from polylsp.core.settings import Settings
from polylsp.frontends.c.compile_options import Command, command_for
from polylsp.measuring.confined_program import Ended, run
from polylsp.measuring.confinement import Limits
from polylsp.measuring.tools import OF_PROJECT, NotBuilt, Programs, gpu_here, programs_for
from polylsp.model.action import ActionName


@dataclass(frozen=True, slots=True)
class RefusedFlag:
    """A flag that is not used, and why, in one sentence."""

    flag: str
    reason: str


_PATHS = ("-isystem", "-iquote", "-idirafter", "-isysroot", "--sysroot", "-imacros", "-include", "-I")
_NAMES = ("-D", "-U")
_LEFT_OUT = re.compile(
    r"-c|-S|-E|-O.*|-g(?!pu=).*|-M[MDPG]?|-MMD|-W(?![alp],).*|-w|-pipe|-v|-pg|--coverage|--|-p"
    r"|-M(neg)?info(=.*)?|-tp=.*|-fast|-march=.*|-mtune=.*|-mcpu=.*|-save-temps.*|-fsyntax-only"
    r"|-f(no-)?lto.*|-f(no-)?sanitize.*"
    r"|-fprofile-.*|-ftest-coverage|-fdump-.*|-fstack-usage|-fcallgraph-info.*|-fsave-optimization-record.*"
    r"|-fdiagnostics-.*|-f(no-)?color-diagnostics|-fmessage-length=\d+|-fuse-ld=[a-z]+|-fmax-errors=\d+"
)
_LEFT_OUT_WITH_VALUE = ("-o", "-MF", "-MT", "-MQ", "-x")
_TAKEN = re.compile(
    r"-std=[\w+:]+|-ansi|-pthread|-f[a-zA-Z0-9-]+|-nostdinc"
    r"|-f(visibility|tls-model|fp-contract|excess-precision|strict-flex-arrays|stack-protector)=[\w-]+"
    r"|-f(align-\w+|inline-limit|stack-clash-protection)=\d+"
    r"|-m(?!llvm)[a-z0-9][\w.+-]*(=[\w.+-]+)?"
    r"|-acc(=(gpu|multicore|host))?|-gpu=(cc\w+|fastmath|managed|unified)(,(cc\w+|fastmath|managed|unified))*"
)


def taken(arguments: Sequence[str], directory: str, source: str) -> tuple[str, ...] | RefusedFlag:
    """The flags of a command that was run in a folder to compile `source`."""
    found: list[str] = []
    rest = iter(arguments)
    for argument in rest:
        if argument in _LEFT_OUT_WITH_VALUE:
            next(rest, "")
        elif (pair := _with_value(argument, rest, directory)) is not None:
            found += pair
        elif _TAKEN.fullmatch(argument) and not _LEFT_OUT.fullmatch(argument):
            found.append(argument)
        elif not _LEFT_OUT.fullmatch(argument) and not _is_source(argument, directory, source):
            return RefusedFlag(argument, _reason(argument))
    return tuple(found)


def _with_value(argument: str, rest: Iterator[str], directory: str) -> tuple[str, ...] | None:
    for flag in (*_PATHS, *_NAMES):
        if not argument.startswith(flag):
            continue
        value = argument[len(flag) :].removeprefix("=") if argument != flag else next(rest, "")
        if flag in _NAMES:
            return (flag + value,)
        # A forced header may be searched for like any other.
        searched = flag in ("-include", "-imacros") and not Path(directory, value).is_file()
        return (flag, value if searched else str(Path(directory, value)))
    return None


def _is_source(argument: str, directory: str, source: str) -> bool:
    if argument.startswith(("-", "@")):
        return False
    path = Path(directory, argument)
    return path.resolve() == Path(source).resolve() or path.suffix == ".c"


def _reason(flag: str) -> str:
    if flag.startswith("@"):
        why = "it stands for flags in another file"
    elif flag.startswith(("-fplugin", "-fpass-plugin", "-Xclang", "-mllvm", "-load")):
        why = "it loads code into the compiler"
    elif flag.startswith(("-B", "-specs", "--specs", "-wrapper", "-no-integrated-cpp")):
        why = "it has the compiler start other programs"
    elif flag.startswith("-W"):
        why = "it passes flags on that are not looked at here"
    else:
        why = "it is not known to be harmless"
    return f"The flag `{flag}` in compile_commands.json is refused: {why}."


# --------------------------------------------------------------------------------------------------
# Choice of the compiler for measured programs, and of its flags.
# --------------------------------------------------------------------------------------------------


_KNOWN = re.compile(r"(?:[\w.+]+-)*(?:gcc|clang|cc|icx|nvc)(?:-[\d.]+)?")
_LOOKED_FOR = ("gcc", "cc", "clang")


@dataclass(frozen=True, slots=True)
class Flags:
    """Spelling of a compiler's flags: speed on this machine, OpenMP, and each kind of directives for a
    device."""

    optimised: tuple[str, ...]
    openmp: str
    openmp_target: tuple[str, ...]
    openacc: tuple[str, ...]


# gcc builds for the devices that it was configured for; clang needs a flag.
_GCC = Flags(("-O3", "-march=native"), "-fopenmp", ("-fopenmp",), ("-fopenacc",))
_CLANG = replace(
    _GCC,
    openmp_target=("-fopenmp", "--offload-arch=native"),
    openacc=("-fopenacc", "--offload-arch=native"),
)
# NVIDIA HPC Compilers User's Guide, "Command-line options", "Using OpenACC", "Using OpenMP": with these,
# directives are obeyed by the device alone.
_NVC = Flags(
    ("-fast", "-O3", "-tp=native"), "-mp", ("-mp=gpu", "-gpu=ccnative"), ("-acc=gpu", "-gpu=ccnative")
)


@dataclass(frozen=True, slots=True)
class Compiler:
    """A compiler's path, and the flags of the project that it is given."""

    path: str
    flags: tuple[str, ...]

    @property
    def spelled(self) -> Flags:
        """Spelling of this compiler's flags for speed and directives."""
        name = Path(self.path).name
        return _NVC if re.fullmatch(r"nvc(-[\d.]+)?", name) else _CLANG if "clang" in name else _GCC

    @property
    def has_threads(self) -> bool:
        """True if the project enables directives of OpenMP."""
        return any(each == self.spelled.openmp or each.startswith("-mp") for each in self.flags)

    @property
    def environment(self) -> dict[str, str]:
        """Environment in which the compiler finds its parts, and no more."""
        folders = (str(Path(self.path).parent), "/usr/local/bin", "/usr/bin", "/bin")
        return {"PATH": os.pathsep.join(dict.fromkeys(folders)), "LC_ALL": "C"}


@dataclass(frozen=True, slots=True)
class NoCompiler:
    """Reason why nothing can be compiled, in one sentence."""

    reason: str


def compiler_for(path: str, settings: Settings, workspace: Sequence[str] = ()) -> Compiler | NoCompiler:
    """The compiler of a file: the one that the settings name, that of its compilation database, or the
    system's. `workspace`: folders that the editor has open."""
    command = command_for(path, settings)
    programs = programs_for(path, settings, workspace)
    found = _program(command, settings, programs)
    if isinstance(found, NoCompiler):
        return found
    flags = taken(_after_compiler(command), command.directory, path) if command is not None else ()
    if isinstance(flags, RefusedFlag):
        return NoCompiler(flags.reason)
    own = (
        *(f"-I{Path(each).absolute()}" for each in settings.include_paths),
        *(f"-D{d}" for d in settings.defines),
    )
    return Compiler(found, (*own, *flags))


def _after_compiler(command: Command) -> tuple[str, ...]:
    """The arguments after the compiler's name; before that may stand a wrapper's."""
    names = [Path(each).name for each in command.arguments]
    first = next((k for k, name in enumerate(names) if _KNOWN.fullmatch(name)), 0)
    return command.arguments[first + 1 :]


def _program(command: Command | None, settings: Settings, programs: Programs) -> str | NoCompiler:
    if settings.c_compiler:
        return _accepted(settings.c_compiler, "the setting `c_compiler`", programs)
    if command is not None and command.arguments:
        holding = Path(command.database).parent
        around = programs.around(holding.parent if holding.name == "build" else holding)
        return _accepted(command.arguments[0], "compile_commands.json", around, command.directory)
    for name in _LOOKED_FOR:
        path = programs.on_path(name, _KNOWN)
        if path is not None:
            return path
    return NoCompiler("There is no C compiler here: install the package `gcc`.")


def _accepted(name: str, where: str, programs: Programs, base: str = "") -> str | NoCompiler:
    """The path of a compiler that is named. A file of the project itself is none: it may be anything."""
    if not _KNOWN.fullmatch(Path(name).name):
        return NoCompiler(
            f"`{name}` in {where} is refused: it is no C compiler that is known here, but perhaps a wrapper "
            "that starts one. Name the compiler itself in the setting `c_compiler`."
        )
    path = programs.named(name, base)
    if path is None:
        return NoCompiler(f"The compiler `{name}` of {where} was not found.")
    if programs.is_of_project(path, _KNOWN):
        return NoCompiler(f"`{name}` in {where} is refused: {OF_PROJECT}.")
    return path


# --------------------------------------------------------------------------------------------------
# NVIDIA's compiler: which one there is, and how files with kernels are built to be measured.
# --------------------------------------------------------------------------------------------------


_CUDA_TOOLS_KNOWN = re.compile("nvcc")
_USUAL = "/usr/local/cuda/bin/nvcc"
_OPTIMISED = ("-O3", "-arch=native", "-Xcompiler", "-march=native", "-w")
_LINKED = ("-Xcompiler", "-no-pie", "-Xlinker", "--unresolved-symbols=ignore-all", "-lm")
_OF_LINKER = ("-fopenmp", "-pthread")
"""Flags of the project that its linker needs too."""

_TOLD = ("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER")
"""Selection of the devices that we may use."""


@dataclass(frozen=True, slots=True)
class CudaCompiler:
    """The path of `nvcc`."""

    path: str

    @property
    def folders(self) -> tuple[str, ...]:
        """Folders of its parts, and of the compiler for the host."""
        return (str(Path(self.path).parent), "/usr/local/bin", "/usr/bin", "/bin")

    def compiling(self, source: str, made: str) -> tuple[str, ...]:
        """The command that compiles a file with kernels for the device that is here."""
        return (self.path, *_OPTIMISED, "-c", source, "-o", made)

    def linking(self, objects: tuple[str, ...], flags: tuple[str, ...], made: str) -> tuple[str, ...]:
        """The command that links a program; `flags` are those of the project."""
        handed = (part for flag in flags if flag in _OF_LINKER for part in ("-Xcompiler", flag))
        return (self.path, *handed, *objects, "-o", made, *_LINKED)


def cuda_compiler(settings: Settings, programs: Programs) -> CudaCompiler | NotBuilt:
    """The `nvcc` that the settings name, or that of the system, or why there is none."""
    named = settings.cuda_compiler
    refused = f"`{named}` in the setting `cuda_compiler` is refused"
    if named and Path(named).name != "nvcc":
        return NotBuilt(f"{refused}: it is no `nvcc` by its name.")
    path = (
        programs.named(named)
        if named
        else programs.on_path("nvcc", _CUDA_TOOLS_KNOWN) or shutil.which(_USUAL)
    )
    if path and named and programs.is_of_project(path, _CUDA_TOOLS_KNOWN):
        return NotBuilt(f"{refused}: {OF_PROJECT}.")
    if path:
        return CudaCompiler(path)
    if named:
        return NotBuilt(f"The compiler `{named}` of the setting `cuda_compiler` was not found.")
    reason = "There is no `nvcc` here, which builds kernels: install NVIDIA's CUDA Toolkit."
    return NotBuilt(reason, is_absence=not gpu_here())


def device_environment() -> dict[str, str]:
    """Variables of our environment that a program on a GPU gets."""
    return {name: os.environ[name] for name in _TOLD if name in os.environ}


# --------------------------------------------------------------------------------------------------
# C compilers that run loops with directives on a device: their flags, and a check that their
# programs find one here, which needs a program.
# --------------------------------------------------------------------------------------------------


MANDATORY = {"OMP_TARGET_OFFLOAD": "MANDATORY"}
"""Environment that runs code on a device, or not at all: the host's time must not pass for a device's."""

_OFFLOAD_TOOLS_NAMES: dict[ActionName, str] = {"openacc": "OpenACC", "openmp-target": "OpenMP"}
_COUNTED: dict[ActionName, tuple[str, str]] = {
    "openacc": ("openacc.h", "acc_get_num_devices(acc_device_not_host)"),
    "openmp-target": ("omp.h", "omp_get_num_devices()"),
}
_LIMITS = Limits(30, 2**32, 2**26, 64, trusted=True, on_device=True)
_SECONDS = 30.0


def offloading_flags(compiler: Compiler, target: ActionName) -> tuple[str, ...]:
    """The flags with which a compiler builds directives of a target for a device."""
    return compiler.spelled.openacc if target == "openacc" else compiler.spelled.openmp_target


def why_no_device(compiler: Compiler, target: ActionName, folder: str) -> NotBuilt | None:
    """Reason why programs that this compiler builds have no device to run on; `None` if they have one."""
    try:
        found = _counted(compiler, target, folder)
    except Ended as ended:
        return NotBuilt(
            f"Whether {_OFFLOAD_TOOLS_NAMES[target]} has a device here could not be found out: it {ended}.",
            True,
        )
    if isinstance(found, NotBuilt) or (found.isdecimal() and int(found) > 0):
        return found if isinstance(found, NotBuilt) else None
    name, call = Path(compiler.path).name, _COUNTED[target][1]
    told = f"`{call}` is {found or 'nothing'}"
    return NotBuilt(
        f"What `{name}` builds has no device for {_OFFLOAD_TOOLS_NAMES[target]} here: {told}.", True
    )


def _counted(compiler: Compiler, target: ActionName, folder: str) -> str | NotBuilt:
    """Output of a program that counts devices; raises `Ended`."""
    header, call = _COUNTED[target]
    source = f'#include <stdio.h>\n#include <{header}>\nint main(void) {{ printf("%d\\n", {call}); }}\n'
    Path(folder, f"{target}.c").write_text(source)
    flags, made = offloading_flags(compiler, target), f"{target}-devices"
    build = (compiler.path, *flags, f"{target}.c", "-o", made)
    if run(build, folder, _LIMITS, {**compiler.environment, "TMPDIR": folder}, _SECONDS).status != 0:
        name, told = Path(compiler.path).name, " ".join(flags)
        return NotBuilt(
            f"`{name}` does not build {_OFFLOAD_TOOLS_NAMES[target]} for a device (`{told}`).", True
        )
    return run((str(Path(folder, made)),), folder, _LIMITS, device_environment(), _SECONDS).words.strip()


# --------------------------------------------------------------------------------------------------
# Names of the compiler and the processor of this machine, which stand beside figures.
# --------------------------------------------------------------------------------------------------


_SECONDS_TO_TELL_NAME = 20
_PROCESSORS = Path("/sys/devices/system/cpu")


def compiler_name(compiler: Compiler) -> str:
    """Version line of a compiler."""
    return next((each for each in _said(compiler.path, compiler.environment) if each.strip()), compiler.path)


def cuda_name(path: str) -> str:
    """Release line of `nvcc`, which stands below the copyright."""
    release = (each for each in _said(path, {"PATH": "/usr/bin:/bin"}) if "release" in each)
    return next(release, path)


def _said(path: str, environment: Mapping[str, str]) -> list[str]:
    """The lines that a compiler says of itself."""
    try:
        return (
            subprocess.run(
                [path, "--version"],
                capture_output=True,
                timeout=_SECONDS_TO_TELL_NAME,
                check=False,
                env=environment,
                stdin=subprocess.DEVNULL,
                cwd=Path(path).parent,
            )
            .stdout.decode(errors="replace")
            .splitlines()
        )
    except (OSError, subprocess.TimeoutExpired):
        return []


def processors() -> int:
    """Number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def governor(processors: Path = _PROCESSORS) -> str:
    """Governor of the processor's frequency, if the system reports it: `performance` leaves it at its
    maximum."""
    found = {each.read_text().strip() for each in processors.glob("cpu[0-9]*/cpufreq/scaling_governor")}
    return ", ".join(sorted(found))


def processor_name() -> str:
    """The name of the processor, as far as the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    found = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(found, platform.processor() or platform.machine())
