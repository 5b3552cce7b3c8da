"""Compiles kernels for the host, with the header that plays CUDA."""

import ctypes
import os
import re
import subprocess
import tempfile
from pathlib import Path

from pycuda.driver import SIGNATURE, Function, may_fail

compiled: list[str] = []
"""Compiled texts, in order."""


class SourceModule:
    def __init__(self, source: str) -> None:
        may_fail()
        compiled.append(source)
        folder = Path(tempfile.mkdtemp(dir=os.environ["PLAYED_FOLDER"]))
        file, library = folder / "kernels.cpp", folder / "kernels.so"
        file.write_text(_played(source), encoding="utf-8")
        flags = os.environ["PLAYED_FLAGS"].split()
        subprocess.run(["g++", *flags, "-shared", str(file), "-o", str(library)], check=True)
        self._library, self._source = ctypes.CDLL(str(library)), source

    def get_function(self, name: str) -> Function:
        parameters = dict(SIGNATURE.findall(self._source))[name]
        for words, own in re.findall(r"^typedef (.*) (\w+);$", self._source, re.MULTILINE):
            parameters = re.sub(rf"\b{own}\b", words, parameters)
        return Function(getattr(self._library, f"run_{name}"), parameters)


def _played(source: str) -> str:
    """The kernels, and for each a function that launches it."""
    vectors = r"\*\(((?:const )?(?:float|double|int)[24]) \*\)&"
    source = re.sub(vectors, r"played::Vector<\1>() & ", source)
    barriers = "true" if "__syncthreads" in source or "__shfl" in source else "false"
    shape = "dim3(gx, gy, gz), dim3(bx, by, bz)"
    lines = ["#include <cuda_runtime.h>", source]
    for name, parameters in SIGNATURE.findall(source):
        names = [re.findall(r"\w+", each)[-1] for each in parameters.split(",")]
        sizes = ", ".join(f"unsigned {each}" for each in ("gx", "gy", "gz", "bx", "by", "bz"))
        lines += [
            f'extern "C" int run_{name}({sizes}, {parameters}) {{',
            f"    played::launch(nullptr, {barriers}, {name}, {shape}, {', '.join(names)});",
            "    return cudaGetLastError();",
            "}",
        ]
    return "\n".join(lines)
