"""Kernels of random nests of Python: `python -m tests.gpu.python_nests --examples 200`.

The function must leave the same memory, and return the same result, as the original, for all sizes.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

from polylsp.core.settings import Settings
from polylsp.targets.gpu import slabs as cutting
from tests.codegen.python_nests import SIZES, inputs, nest

from .playing import OnGpu, Played, many, on_gpu, written

SETTINGS = Settings(offload_threshold=0, max_operations=500_000)
_MAIN = """
for sizes, arrays in {data}:
    arrays = [np.array(each, "{dtype}") for each in arrays]
    try:
        with np.errstate(all="ignore"):
            result = kernel(*sizes, *arrays)
    except Exception as error:
        result = type(error).__name__
    print([f"{{each:.6g}}" for array in arrays for each in array.ravel()], result and f"{{result:.6}}")
"""


def main_of(text: str, single: bool = False) -> str:
    """A program that calls the function with arrays of some sizes, of `float32` if they are `single`."""
    data = [(sizes, [each.tolist() for each in inputs(*sizes)]) for sizes in SIZES]
    return text + _MAIN.format(data=data, dtype="f4" if single else "f8")


def without_types(text: str) -> str:
    """The same function without annotations of its arrays."""
    return text.replace(": NDArray[np.float64]", "")


def trial(
    texts: Sequence[str], played: Played, folder: Path, slabs: bool = False, single: bool = False
) -> tuple[list[OnGpu], list[str]]:
    """The nests of some functions on the device, and the texts of those that do something else there; with
    `slabs`, on devices with little memory too. `single`: the arrays of the calls are `float32`."""
    settings = replace(SETTINGS, cuda_slabs=slabs)
    # Drawn arrays are small: a device is played that has no room for these either.
    with patch.multiple(cutting, SMALL=0, FEWEST_DIMENSIONS=1):
        done = [
            on_gpu("drawn.py", text, settings, "kernel", whole=bool(k % 2)) for k, text in enumerate(texts)
        ]
    changed = [(k, text) for k, text in enumerate(texts) if done[k].text != text]
    before = played.run(*written(folder, [(f"before{k}", main_of(text, single)) for k, text in changed]))
    # Every other program counts elements with 64 bits.
    own = {k: many(each.text) if k % 2 else each.text for k, each in enumerate(done)}
    programs = written(folder, [(f"after{k}", main_of(own[k], single)) for k, _ in changed])
    refuted: dict[int, str] = {}
    for memory in (0, *_LITTLE) if slabs else (0,):
        after = played.run(*programs, memory=memory)
        pairs = zip(changed, before, after, strict=True)
        refuted |= {k: done[k].text for (k, _), one, other in pairs if one.printed != other.printed}
    return done, list(refuted.values())


_LITTLE = (1200, 500, 200)
"""Bytes of devices with little memory."""


def main() -> int:
    """Draw as many as requested; each kind of outcome is counted."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--examples", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1000)
    parser.add_argument("--slabs", action="store_true", help="also on devices with little memory")
    parser.add_argument("--single", action="store_true", help="arrays of no known type, which are float32")
    asked = parser.parse_args()
    outcomes, reasons = Counter[str](), Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        played = Played("g++", Path(folder), "-w")
        for first in range(asked.seed, asked.seed + asked.examples, 10):
            texts = [nest(random.Random(number)) for number in range(first, first + 10)]
            texts = [without_types(text) if asked.single else text for text in texts]
            done, refuted = trial(texts, played, Path(folder), asked.slabs, asked.single)
            outcomes["cut"] += sum("taken(" in each.text for each in done)
            outcomes.update(
                "run" if each.text != text else "declined" for each, text in zip(done, texts, strict=True)
            )
            outcomes["refuted"] += len(refuted)
            reasons.update(re.sub("`[^`]*`", "`…`", reason) for each in done for reason in each.declined)
            for text in refuted:
                print(text, flush=True)
    for reason, count in reasons.most_common():
        print(f"{count:6}  {reason}")
    print(dict(outcomes))
    return 1 if outcomes["refuted"] else 0


if __name__ == "__main__":
    sys.exit(main())
