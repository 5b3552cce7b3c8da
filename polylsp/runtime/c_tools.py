"""Tools that build versions of a function in C: a compiler, and `nvcc` for those with kernels."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from polylsp.model.action import DEVICE_TARGETS, ActionName
from polylsp.model.measurement import Plan, Variant
from polylsp.runtime.building import Version, built
from polylsp.runtime.compiler import Compiler, NoCompiler, compiler_for
from polylsp.runtime.cuda_tools import CudaCompiler, cuda_compiler
from polylsp.runtime.device import compiler_name, cuda_name
from polylsp.runtime.instrumented import DECLARED, telling_calls, telling_kernels
from polylsp.runtime.offload_tools import MANDATORY, offloading_flags, why_no_device
from polylsp.runtime.programs import programs_for
from polylsp.runtime.threads import c_has_threads, own_processor
from polylsp.runtime.tools import ORIGINAL, Built, NotBuilt, version_names
from polylsp.settings import Settings


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
