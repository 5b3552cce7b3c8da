"""Settings, each defined once: the editor's schema and the table in `docs/settings.md` come from here.

A field's metadata has its `doc`; where not every value makes sense, also what it must be `above`, or
`least`, or at `most`, or the `choices`, or of a list the `items`, or a pattern for `each` of them, with its
name; `runs` if its value is a program that is run; `of_machine` if a workspace must not set it; `measures` if
it is about programs that a measurement runs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

MACRO = re.compile(r"[A-Za-z_]\w*(?:=.*)?", re.DOTALL)
"""Definition of a macro, `NAME` or `NAME=VALUE`."""


@dataclass(frozen=True, slots=True)
class Settings:
    """User settings, under `polylsp` in the editor's settings."""

    include_paths: tuple[str, ...] = field(
        default=(), metadata={"doc": "Folders searched for `#include` files, before the bundled headers."}
    )
    defines: tuple[str, ...] = field(
        default=(),
        metadata={
            "doc": "Macros defined for every file, as `NAME` or `NAME=VALUE`.",
            "each": (MACRO, "NAME or NAME=VALUE"),
        },
    )
    compile_commands: str = field(
        default="",
        metadata={"doc": "Folder that holds `compile_commands.json`; empty: looked for above the file."},
    )
    max_operations: int = field(
        default=2_000_000,
        metadata={
            "doc": "isl operations that one loop may use before it is given up; all loops of a function may"
            " use six times as many, fewer in files of more than 64 functions.",
            "above": 0,
        },
    )
    max_seconds: float = field(
        default=10.0,
        metadata={
            "doc": "Seconds of CPU time after which the analysis of one function is stopped.",
            "above": 0,
            "most": 100_000,
            "limit": True,
        },
    )
    max_memory_mb: int = field(
        default=2048,
        metadata={
            "doc": "Address space of the analysis process, in MiB (0: no limit).",
            "least": 0,
            "limit": True,
        },
    )
    max_file_mb: int = field(
        default=32,
        metadata={
            "doc": "MiB of a source file or a header; a larger one is not read.",
            "above": 0,
            "limit": True,
        },
    )
    cache: bool = field(
        default=True,
        metadata={
            "doc": "Keep what was found out about functions in the user's cache folder, so that files which"
            " are opened or checked again are not analysed again."
        },
    )
    parallel_threshold: int = field(
        default=10_000,
        metadata={"doc": "Operations from which on running a loop in several threads is worth its start."},
    )
    offload_threshold: int = field(
        default=1_000_000,
        metadata={"doc": "Operations from which on running a loop on a device is worth the transfers."},
    )
    collapse: int = field(
        default=0,
        metadata={
            "doc": "Loops inside each other that one directive of OpenMP or OpenACC hands out"
            " together, or fewer where not as many can be; 0: by what the loops do.",
            "least": 0,
        },
    )
    unroll_factors: tuple[int, ...] = field(
        default=(),
        metadata={
            "doc": "Iterations that unrolling runs together, from 1 to 16, of each loop that it is done to,"
            " outermost first; loops beyond those named stay as they are; empty: by what they do."
        },
    )
    tile_sizes: tuple[int, ...] = field(
        default=(),
        metadata={"doc": "Sides of the tiles that tiling makes, outermost first; empty: by `cache_kb`."},
    )
    cache_kb: int = field(
        default=256, metadata={"doc": "Size in KiB of the cache whose half a tile's data may fill."}
    )
    numba_options: tuple[str, ...] = field(
        default=(),
        metadata={
            "doc": "Options of the decorators of Numba that edits write: `cache` keeps what is compiled, and"
            " `fastmath` lets numbers be added up in other orders."
        },
    )
    gpu_libraries: tuple[str, ...] = field(
        default=(),
        metadata={
            "doc": "Libraries by which the lightbulb offers to run loops of Python on a GPU: `pycuda`,"
            " `cupy`, `numba-cuda`; empty: those that the file imports, or PyCUDA.",
            "items": ("pycuda", "cupy", "numba-cuda"),
        },
    )
    cuda_fusion: str = field(
        default="auto",
        metadata={
            "doc": "Which statements share a kernel for a GPU: `min`, `max`, `maximal-band`, or `auto`,"
            " whichever leaves the shortest chain of steps one after the other."
        },
    )
    cuda_block_sizes: tuple[int, ...] = field(
        default=(),
        metadata={
            "doc": "Threads of a block of a GPU from `x` on, powers of two; empty: by what a kernel does."
            " Threads that share a sum are left as they are."
        },
    )
    cuda_tile_sizes: tuple[int, ...] = field(
        default=(),
        metadata={
            "doc": "Iterations that a block of a GPU takes at once where it copies to shared memory,"
            " outermost loop first, the loop inside of threads last; empty: by what a kernel does."
        },
    )
    cuda_vectors: bool = field(
        default=True,
        metadata={
            "doc": "Let a thread of a GPU load and store neighbouring elements at once (`double2`, `float4`),"
            " where they lie at multiples of 16 bytes."
        },
    )
    cuda_pinned: bool = field(
        default=False,
        metadata={
            "doc": "Lock the host's arrays in memory while a GPU uses them: transfers are faster, and the"
            " lock itself takes about as long as one of them."
        },
    )
    cuda_slabs: bool = field(
        default=True,
        metadata={
            "doc": "Let a GPU that has no room for the arrays of a nest take the iterations of a loop in"
            " slabs, each with the parts of the arrays that it needs."
        },
    )
    sizes: tuple[str, ...] = field(
        default=(),
        metadata={
            "doc": "Sizes at which functions are measured, as `n=2000`; others are chosen.",
            "measures": True,
        },
    )
    max_measure_seconds: float = field(
        default=60.0,
        metadata={
            "doc": "Seconds after which a measurement is stopped.",
            "above": 0,
            "most": 100_000,
            "measures": True,
        },
    )
    c_compiler: str = field(
        default="",
        metadata={
            "doc": "Compiler for measurements; empty: that of compile_commands.json, or the system's.",
            "runs": True,
        },
    )
    cuda_compiler: str = field(
        default="",
        metadata={
            "doc": "`nvcc` for measurements on a GPU; empty: the one on the `PATH`, or in `/usr/local/cuda`.",
            "runs": True,
        },
    )
    python_interpreter: str = field(
        default="",
        metadata={
            "doc": "Python for measurements; empty: that of an environment above the file, or the system's.",
            "runs": True,
        },
    )
    allowed_programs: tuple[str, ...] = field(
        default=(),
        metadata={
            "doc": "Patterns of paths of compilers and interpreters that may be run although they are files"
            " of the project (`/opt/toolchains/*/bin/*gcc`).",
            "of_machine": True,
        },
    )
    estimated_gpu: str = field(
        default="H100",
        metadata={
            "doc": "GPU for which measurements come with an estimate of its speed, if there is none here.",
            "choices": ("none", "RTX 4090", "A100", "H100", "H200"),
        },
    )
    cluster: str = field(
        default="",
        metadata={
            "doc": "Scheduler of a Dask cluster on whose workers functions are measured; empty: here.",
            "runs": True,
        },
    )
    delay_ms: int = field(
        default=0, metadata={"doc": "Milliseconds without typing before an edit is analysed.", "least": 0}
    )
    inlay_hints: bool = field(
        default=True, metadata={"doc": "Show the verdict of each loop beside its header."}
    )
    hint_unknown: bool = field(
        default=False, metadata={"doc": "Show a hint also beside loops that could not be decided."}
    )
    code_lenses: tuple[str, ...] = field(
        default=("measure",),
        metadata={
            "doc": "Links above outermost loops: `why` tells all that is known, `offload` lists targets,"
            " `measure` times them.",
            "items": ("why", "offload", "measure"),
        },
    )
    findings: str = field(
        default="essential",
        metadata={
            "doc": "Loops with findings and hints: `essential`, the outermost loops that can run in parallel,"
            " and one where none can; `all`, as for codes that are selected; or `off`, which leaves"
            " directives and errors.",
            "choices": ("essential", "all", "off"),
        },
    )
    workspace_diagnostics: bool = field(
        default=False,
        metadata={
            "doc": "List findings of all C and Python files of the workspace, not of the open ones alone."
            " Read when the server starts; files beyond the first 2,000 are left out."
        },
    )
    disabled_diagnostics: tuple[str, ...] = field(
        default=(), metadata={"doc": "Codes of diagnostics that are not shown, such as `sequential-loop`."}
    )
    selected_diagnostics: tuple[str, ...] = field(
        default=(),
        metadata={"doc": "Codes of the only diagnostics that are shown; empty: all but the disabled ones."},
    )
    least_severity: str = field(
        default="hint",
        metadata={
            "doc": "Diagnostics below this severity are not shown.",
            "choices": ("error", "warning", "information", "hint"),
        },
    )
    fix_all: tuple[str, ...] = field(
        default=(),
        metadata={
            "doc": "Fixes that `source.fixAll.polylsp` applies, on save if the editor does so: `clauses`"
            " that directives lack, `directives` of OpenMP for loops that are parallel without a condition.",
            "items": ("clauses", "directives"),
        },
    )
    trace: str = field(
        default="off",
        metadata={
            "doc": "What the server logs: `off`, `messages` or `verbose`.",
            "choices": ("off", "messages", "verbose"),
        },
    )

    def shows(self, code: str, severity: str) -> bool:
        """True if findings of a code and a severity are shown."""
        order = ("error", "warning", "information", "hint")
        is_selected = not self.selected_diagnostics or code in self.selected_diagnostics
        is_severe = order.index(severity) <= order.index(self.least_severity)
        return is_selected and is_severe and code not in self.disabled_diagnostics

    def measured_sizes(self) -> tuple[tuple[str, int], ...]:
        """The sizes by name; other texts are left out."""
        pairs = (each.partition("=") for each in self.sizes)
        return tuple((name.strip(), int(value)) for name, _, value in pairs if value.strip().isdecimal())

    def with_macros(self, sizes: Iterable[tuple[str, int]]) -> Settings:
        """Settings with some sizes as macros for the compiler."""
        return replace(self, defines=(*self.defines, *(f"{name}={size}" for name, size in sizes)))

    def with_parameters(self, parameters: tuple[tuple[str, str], ...]) -> Settings:
        """The settings with other values of some that are whole numbers, or several of them."""
        numbers = {name: tuple(int(each) for each in value.split()) for name, value in parameters}
        whole = {name: found[0] for name, found in numbers.items() if name not in _SEVERAL}
        return replace(self, **{**numbers, **whole})


_SEVERAL = ("unroll_factors", "tile_sizes", "cuda_block_sizes", "cuda_tile_sizes")
