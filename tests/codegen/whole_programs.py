"""Edits of all loops of other people's programs, in place: `python -m tests.codegen.whole_programs FILE…`.

The program's own tests tell whether it still works. Take a copy of it, and run these before and after, with
`OMP_NUM_THREADS=4`, and built with ThreadSanitizer under Archer (`OMP_TOOL_LIBRARIES=…/libarcher.so`).
Kernels for CUDA come with files `….cu.cpp` for the stand-in of our tests (`-I tests/gpu`), which runs on a
host.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

from tests.codegen.editing import EAGER, everywhere
from tests.gpu.device import offloaded
from tests.gpu.translating import played


def edited(path: Path, target: str, unless: str) -> tuple[int, tuple[str, ...]]:
    """The number of edits in a file, and the reasons why other loops have none."""
    text = path.read_text(encoding="utf-8", errors="surrogateescape")
    if target == "cuda":
        made = offloaded(str(path), text, EAGER, unless=unless)
        for name, content in made.files.items():
            (path.parent / name).write_text(content, encoding="utf-8")
            (path.parent / f"{name}.cpp").write_text(played(content), encoding="utf-8")
        path.write_text(made.text, encoding="utf-8", errors="surrogateescape")
        return len(made.files), made.declined
    done = everywhere(str(path), text, target)  # type: ignore[arg-type]
    path.write_text(done.edited, encoding="utf-8", errors="surrogateescape")
    return done.edits, done.declined


def main() -> int:
    """Edit the files in turn; a failure of ours ends it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", type=Path)
    targets = ("openmp", "openacc", "openmp-target", "numba", "cuda")
    parser.add_argument("--target", choices=targets, default="openmp")
    parser.add_argument("--unless", default="", help="no kernels that rest on an assumption that says so")
    asked = parser.parse_args()
    total, reasons = 0, Counter[str]()
    for path in asked.files:
        count, declined = edited(path, asked.target, asked.unless)
        total += count
        reasons.update(declined)
        print(f"{path}: {count} edits", flush=True)
    print(f"{total} edits")
    for reason, count in reasons.most_common(12):
        print(count, reason)
    return 0


if __name__ == "__main__":
    sys.exit(main())
