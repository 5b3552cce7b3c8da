"""Lowered functions do what gcc's code does: the same arrays come out of `meaning.c`."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from functools import lru_cache
from pathlib import Path

import pytest
from lowered_machine import Machine
from lowering import lower_text

from polylsp.ir.program import Function

SIZE = 8
SOURCE = Path(__file__).with_name("meaning.c")
NAMES = re.findall(r"^void (\w+)\(", SOURCE.read_text(), re.MULTILINE)


@lru_cache(maxsize=1)
def _lowered() -> dict[str, Function]:
    return lower_text(SOURCE.read_text())


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[float]]:
    """Results of the compiled functions in the arrays, by name."""
    gcc = shutil.which("gcc")
    if gcc is None:
        assert not os.environ.get("CI"), "gcc is missing"
        pytest.skip("gcc is not installed")
    folder = tmp_path_factory.mktemp("meaning")
    lines = [
        "#include <stdio.h>",
        "int bump(int *x) { return ++*x; }",
        f'#include "{SOURCE}"',
        "int main(void) {",
    ]
    for name in NAMES:
        lines.append(f"  {{ int a[{SIZE}]; double b[{SIZE}];")
        lines.append(f"    for (int i = 0; i < {SIZE}; i++) a[i] = i, b[i] = i * 0.5;")
        lines.append(f'    {name}({SIZE}, a, b); printf("{name}");')
        lines.append(f'    for (int i = 0; i < {SIZE}; i++) printf(" %d %.17g", a[i], b[i]);')
        lines.append('    printf("\\n"); }')
    lines.append("  return 0; }")
    (folder / "all.c").write_text("\n".join(lines))
    subprocess.run([gcc, "-w", "-O0", "-o", folder / "all", folder / "all.c", "-lm"], check=True)
    output = subprocess.run([folder / "all"], check=True, capture_output=True, text=True).stdout
    return {line.split()[0]: [float(word) for word in line.split()[1:]] for line in output.splitlines()}


@pytest.mark.parametrize("name", NAMES)
def test_the_same_arrays_come_out(name: str, compiled: dict[str, list[float]]) -> None:
    machine = Machine({("n",): SIZE, ("a",): ("A", 0), ("b",): ("B", 0)})
    for i in range(SIZE):
        machine.memory["A", i] = i
        machine.memory["B", i] = i * 0.5
    machine.run(_lowered()[name])
    left = [machine.memory[array, i] for i in range(SIZE) for array in ("A", "B")]
    assert left == pytest.approx(compiled[name])
