"""Versions of a function `kernel`, built at once and run one after the other: a compiler that starts once for
twenty versions costs less than half."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

_KERNEL = re.compile(r"^(?:static )?\w+ kernel\(", re.MULTILINE)
_MAIN = "int main(void)\n{\n"
_CHOICE = (
    "int atoi(const char *);\nint main(int count, char **given)\n{\n    kernel = versions[atoi(given[1])];\n"
)
_FLAGS = ("-std=gnu11", "-O1", "-ffp-contract=off", "-w")


def outputs(texts: Sequence[str], *flags: str, threads: Sequence[int] = (1,)) -> list[list[str]]:
    """Output of each of some programs with each number of threads, or its failure. Those that differ in
    `kernel` alone are built as one."""
    around: dict[tuple[str, str], list[tuple[int, str]]] = {}
    for number, text in enumerate(texts):
        before, kernel, behind = _parts(text)
        around.setdefault((before, behind), []).append((number, kernel))
    found: dict[int, list[str]] = {}
    for (before, behind), members in around.items():
        whole = _together(before, [kernel for _, kernel in members], behind)
        for (number, _), lines in zip(members, _printed(whole, len(members), flags, threads), strict=True):
            found[number] = lines
    return [found[number] for number in range(len(texts))]


def _parts(text: str) -> tuple[str, str, str]:
    """Text before the function, the function, and the text after it."""
    header = _KERNEL.search(text)
    assert header is not None, text
    end = text.index("\n}", header.end()) + len("\n}\n")
    return text[: header.start()], text[header.start() : end], text[end:]


def _together(before: str, kernels: Sequence[str], behind: str) -> str:
    """A program whose argument says which version it calls."""
    assert behind.count(_MAIN) == 1, behind
    versions = [text.replace("kernel(", f"kernel_{k}(", 1) for k, text in enumerate(kernels)]
    names = ", ".join(f"kernel_{k}" for k in range(len(kernels)))
    table = f"static __typeof__(kernel_0) *const versions[] = {{{names}}}, *kernel;\n"
    return "\n".join((before, *versions, table, behind.replace(_MAIN, _CHOICE)))


def printed(text: str, *flags: str) -> str:
    """Output of a whole program."""
    ((lines,),) = _printed(text, 1, flags, (1,))
    return lines


def _printed(text: str, count: int, flags: Sequence[str], threads: Sequence[int]) -> Iterator[list[str]]:
    with tempfile.TemporaryDirectory() as folder:
        path, program = Path(folder, "drawn.c"), Path(folder, "drawn")
        path.write_text(text)
        build = ["gcc", *_FLAGS, *flags, "-o", str(program), str(path), "-lm"]
        built = subprocess.run(build, capture_output=True, text=True, check=False, timeout=120)
        assert built.returncode == 0, f"{built.stderr}\n{text}"
        for number in range(count):
            yield [_run([str(program), str(number)], each) for each in threads]


def _run(command: Sequence[str], threads: int) -> str:
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads), "OMP_WAIT_POLICY": "passive"}
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, env=environment)
    return ran.stdout if ran.returncode == 0 else f"exit {ran.returncode}: {ran.stderr}"
