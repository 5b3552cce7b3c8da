"""C compilers that run loops with directives on a device: their flags, and a check that their programs find
one here, which needs a program."""

from __future__ import annotations

from pathlib import Path

from polylsp.model.action import ActionName
from polylsp.runtime.compiler import Compiler
from polylsp.runtime.confine import Limits
from polylsp.runtime.cuda_tools import device_environment
from polylsp.runtime.program import Ended, run
from polylsp.runtime.tools import NotBuilt

MANDATORY = {"OMP_TARGET_OFFLOAD": "MANDATORY"}
"""Environment that runs code on a device, or not at all: the host's time must not pass for a device's."""

_NAMES: dict[ActionName, str] = {"openacc": "OpenACC", "openmp-target": "OpenMP"}
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
            f"Whether {_NAMES[target]} has a device here could not be found out: it {ended}.", True
        )
    if isinstance(found, NotBuilt) or (found.isdecimal() and int(found) > 0):
        return found if isinstance(found, NotBuilt) else None
    name, call = Path(compiler.path).name, _COUNTED[target][1]
    told = f"`{call}` is {found or 'nothing'}"
    return NotBuilt(f"What `{name}` builds has no device for {_NAMES[target]} here: {told}.", True)


def _counted(compiler: Compiler, target: ActionName, folder: str) -> str | NotBuilt:
    """Output of a program that counts devices; raises `Ended`."""
    header, call = _COUNTED[target]
    source = f'#include <stdio.h>\n#include <{header}>\nint main(void) {{ printf("%d\\n", {call}); }}\n'
    Path(folder, f"{target}.c").write_text(source)
    flags, made = offloading_flags(compiler, target), f"{target}-devices"
    build = (compiler.path, *flags, f"{target}.c", "-o", made)
    if run(build, folder, _LIMITS, {**compiler.environment, "TMPDIR": folder}, _SECONDS).status != 0:
        name, told = Path(compiler.path).name, " ".join(flags)
        return NotBuilt(f"`{name}` does not build {_NAMES[target]} for a device (`{told}`).", True)
    return run((str(Path(folder, made)),), folder, _LIMITS, device_environment(), _SECONDS).words.strip()
