"""Stand-in for `nvcc` in tests: a compiler of C++, with the header that simulates CUDA on the host.

nvcc.py GXX HEADERS ARGUMENT…
"""

import subprocess
import sys
from pathlib import Path

from tests.gpu.translating import CXX, played

_KNOWN = ("-O3", "-arch=native", "-w")


def main() -> int:
    gxx, headers, *given = sys.argv[1:]
    arguments = [each for each in given if each not in _KNOWN]
    while "-Xcompiler" in arguments:
        at = arguments.index("-Xcompiler")
        arguments[at : at + 2] = [arguments[at + 1]] if arguments[at + 1] != "-march=native" else []
    while "-Xlinker" in arguments:
        at = arguments.index("-Xlinker")
        arguments[at : at + 2] = [f"-Wl,{arguments[at + 1]}"]
    if "-c" not in arguments:
        return subprocess.run([gxx, *arguments], check=False).returncode
    source = Path(arguments[arguments.index("-c") + 1])
    made = source.with_suffix(".cpp")
    made.write_text(played(source.read_text("utf-8")), encoding="utf-8")
    arguments[arguments.index("-c") + 1] = str(made)
    header = (f"-I{headers}", "-include", "cuda_runtime.h")
    return subprocess.run([gxx, *CXX, "-w", *header, *arguments], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
