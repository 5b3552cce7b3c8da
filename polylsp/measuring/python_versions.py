"""Versions of a Python file, run by a chosen interpreter with `driver.py`."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from polylsp.core.settings import Settings
from polylsp.measuring.timing import own_processor, python_has_threads
from polylsp.measuring.toolchains import CudaCompiler, cuda_compiler, device_environment
from polylsp.measuring.tools import (
    MEBIBYTE,
    OF_PROJECT,
    ORIGINAL,
    Built,
    NotBuilt,
    Programs,
    Runnable,
    programs_for,
    version_names,
)
from polylsp.model.measurement import Plan

# --------------------------------------------------------------------------------------------------
# Choice of the Python interpreter for measured programs.
# --------------------------------------------------------------------------------------------------


_KNOWN = re.compile(r"(?:python|pypy)[\d.]*t?(?:\.exe)?")
_FOLDERS = (".venv", "venv")


def interpreter_for(path: str, settings: Settings, workspace: Sequence[str] = ()) -> str | NotBuilt:
    """The interpreter for a file: the one that the settings name, that of an environment that is active or
    stands above the file, the one that runs this, or the system's. `workspace`: folders that the editor has
    open."""
    programs = programs_for(path, settings, workspace)
    if settings.python_interpreter:
        return _named(settings.python_interpreter, programs)
    found = next(_found(path, programs), None)
    return found or NotBuilt("There is no Python here: name one in the setting `python_interpreter`.")


def _named(name: str, programs: Programs) -> str | NotBuilt:
    refused = f"`{name}` in the setting `python_interpreter` is refused"
    if not _KNOWN.fullmatch(Path(name).name):
        return NotBuilt(f"{refused}: it is no Python by its name.")
    path = programs.named(name)
    if path is None:
        return NotBuilt(f"`{name}` of the setting `python_interpreter` was not found.")
    return NotBuilt(f"{refused}: {OF_PROJECT}.") if programs.is_of_project(path, _KNOWN) else path


def _found(path: str, programs: Programs) -> Iterator[str]:
    active = os.environ.get("VIRTUAL_ENV", "")
    folders = [Path(active)] if active else []
    folders += [above / name for above in Path(path).absolute().parents for name in _FOLDERS]
    for folder in folders:
        program = folder / "bin" / "python"
        is_there = (folder / "pyvenv.cfg").is_file() and os.access(program, os.X_OK)
        # An environment has a link to the interpreter that created it.
        if is_there and not programs.around(folder.parent).is_of_project(str(program), _KNOWN):
            yield str(program)
    if sys.executable and find_spec("numpy") is not None:
        yield sys.executable
    for name in ("python3", "python"):
        program = programs.on_path(name, _KNOWN)
        if program is not None:
            yield program


# --------------------------------------------------------------------------------------------------
# Versions of a file in Python, each run by an interpreter with `driver.py`.
# --------------------------------------------------------------------------------------------------


_DRIVERS = ("driver.py", "driver_kernels.py")
_MEMORY = 6 * 1024 * MEBIBYTE
"""Address space for libraries and compilers, of which little is ever used."""


@dataclass(frozen=True, slots=True)
class PythonTools:
    """An interpreter runs the versions as they are."""

    interpreter: str
    cuda: CudaCompiler | NotBuilt

    @property
    def is_repeatable(self) -> bool:
        """Always true: Python has no threads unless requested, which the plan records."""
        return True

    @property
    def seconds_at_first(self) -> float:
        """Seconds for little data: Numba then compiles."""
        return 40.0

    @property
    def flags(self) -> str:
        """Empty: an interpreter takes no flags for speed."""
        return ""

    def name(self, about: Callable[[], str], *, has_kernels: bool) -> str:
        """Version line of the interpreter, PyCUDA included."""
        return about()

    def build(self, plan: Plan, folder: str, threads: int, step: Callable[[int, int], None]) -> Built:
        """The programs of all versions."""
        for driver in _DRIVERS:
            shutil.copy(Path(__file__).with_name(driver), Path(folder, driver))
        texts = [plan.text, *(each.text for each in plan.variants)]
        names = (ORIGINAL, *version_names(plan))
        for name, text in zip(names, texts, strict=True):
            Path(folder, f"{name}.py").write_text(text, "utf-8", "surrogateescape")
        for name, text in dict(file for each in plan.variants for file in each.files).items():
            Path(folder, name).write_text(text, "utf-8")
        step(1, 1)
        helpers = ((), *(each.helpers for each in plan.variants))
        return {
            name: self._runnable(plan, folder, name, threads, of_kernels)
            for name, of_kernels in zip(names, helpers, strict=True)
        }

    def _runnable(
        self, plan: Plan, folder: str, name: str, threads: int, helpers: tuple[str, ...]
    ) -> Runnable | NotBuilt:
        environment = _environment(folder, threads)
        if helpers:
            if isinstance(self.cuda, NotBuilt):
                return self.cuda
            environment |= _of_kernels(self.cuda, folder)
        source = str(Path(plan.path).absolute())
        command = (self.interpreter, "-E", "-B", "driver.py", source, f"{name}.py", plan.call, *helpers)
        return Runnable(
            command,
            environment,
            is_lasting=True,
            memory=_MEMORY,
            processes=3 * threads + 16,
            reads=(self.interpreter, str(Path(self.interpreter).resolve()), source),
            shown=self._shown(source, with_kernels=bool(helpers)),
            on_device=bool(helpers),
            processor=own_processor() if name == ORIGINAL and not python_has_threads(plan.text) else None,
        )

    def _shown(self, source: str, *, with_kernels: bool) -> tuple[str, ...]:
        """Folders of the interpreter's environment and of where it comes from, of the user's packages, of the
        file's imports, and of the compiler of kernels."""
        interpreter = Path(self.interpreter)
        folders = [interpreter.parents[1], interpreter.resolve().parents[1], Path.home()]
        folders += [above for above in Path(source).parents if not (above / "__init__.py").is_file()][:1]
        folders += (
            map(Path, self.cuda.folders) if with_kernels and isinstance(self.cuda, CudaCompiler) else ()
        )
        return tuple(map(str, folders))


def python_tools(path: str, settings: Settings, workspace: Sequence[str] = ()) -> PythonTools | NotBuilt:
    """The interpreter for a file, or why there is none."""
    found = interpreter_for(path, settings, workspace)
    if isinstance(found, NotBuilt):
        return found
    return PythonTools(found, cuda_compiler(settings, programs_for(path, settings, workspace)))


def _of_kernels(cuda: CudaCompiler, folder: str) -> dict[str, str]:
    """Environment of PyCUDA: path of the compiler, and cache folders of both."""
    kept = dict.fromkeys(("PYCUDA_CACHE_DIR", "XDG_CACHE_HOME", "TMPDIR"), folder)
    return {"PATH": os.pathsep.join(cuda.folders), **kept, **device_environment()}


def _environment(folder: str, threads: int) -> dict[str, str]:
    """Environment of libraries: number of threads, and cache folders of compiled code."""
    counted = ("NUMBA", "OMP", "OPENBLAS", "MKL")
    return {
        "HOME": str(Path.home()),
        "LC_ALL": "C.UTF-8",
        "NUMBA_CACHE_DIR": folder,
        "OMP_PROC_BIND": "true",
        "OMP_PLACES": "cores",
        **{f"{name}_NUM_THREADS": str(threads) for name in counted},
    }
