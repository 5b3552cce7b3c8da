"""NVIDIA's compiler: which one there is, and how files with kernels are built to be measured."""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from polylsp.runtime.machine import gpu_here
from polylsp.runtime.programs import OF_PROJECT, Programs
from polylsp.runtime.tools import NotBuilt
from polylsp.settings import Settings

_KNOWN = re.compile("nvcc")
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
    path = programs.named(named) if named else programs.on_path("nvcc", _KNOWN) or shutil.which(_USUAL)
    if path and named and programs.is_of_project(path, _KNOWN):
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
