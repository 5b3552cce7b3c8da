"""All samples of PolyBench with their kernels on a device: NVIDIA's compiler takes them, and the programs
print what the originals print, at sizes that no block fits."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from polylsp.core.settings import Settings
from tests.codegen.editing import assert_same

from .device import Device, Program, offloaded

FOLDER = Path(__file__).parents[2] / "samples" / "polybench" / "c"
FILES = sorted(FOLDER.glob("*.c"))
SIZES = ({}, {"NI": 37, "NJ": 45, "NK": 53, "NL": 41, "NM": 35, "N": 43, "M": 39, "W": 37, "H": 45,
              "NX": 37, "NY": 41, "NR": 9, "NQ": 11, "NP": 37, "TMAX": 5, "TSTEPS": 4})  # fmt: skip
"""The sizes that the samples have, and others; none is a multiple of a block's side."""

OWN = {"gramschmidt": {"M": 47}}
"""More columns than rows depend on each other: what is left of them is the rounding of sums."""

LITTLE = 20_000
"""Bytes on a device for which most samples are too large: slabs are, or the host computes, what is right."""


def defines(text: str, sizes: dict[str, int]) -> tuple[str, ...]:
    """The sizes that a sample knows."""
    return tuple(f"{n}={v}" for n, v in sizes.items() if re.search(rf"^#define {n} ", text, re.MULTILINE))


@pytest.mark.sweep(7)
@pytest.mark.parametrize("sizes", SIZES, ids=["given", "odd"])
@pytest.mark.parametrize("file", FILES, ids=[file.stem for file in FILES])
def test_prints_the_same(file: Path, sizes: dict[str, int], program: Program, device: Device) -> None:
    text = file.read_text(encoding="utf-8")
    chosen = defines(text, {**sizes, **OWN.get(file.stem, {})} if sizes else sizes)
    # Other sizes are those of whole functions, whose nests share what is on the device.
    settings = Settings(offload_threshold=0, defines=chosen)
    done = offloaded(str(file), text, settings, "kernel_", whole=bool(sizes))
    assert not done.declined, done.declined
    for content in done.files.values():
        for architecture, index in (("sm_75", "int"), ("sm_80", "long long"), ("sm_90", "int")):
            assert device.compiled(content, architecture, index) == ""
    flags = [f"-D{each}" for each in chosen]
    expected = program.output(program.build(text, {}, *flags))
    built = program.build(done.text, done.files, *flags, many=bool(sizes))
    assert program.calls(built) > 0
    assert_same(expected, program.output(built))
    assert_same(expected, program.output(built, memory=LITTLE))
