"""Draws whole programs of each class, asks for every verdict and edit of their loops, and runs the outcome:

python -m tests.codegen.edit_oracle --programs 400 --seed 1 --classes pointers,callees --jobs 2 --builds full
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

from tests.codegen.edit_oracle.soaking import BUILDS, CLASSES, batch, minimised, saved
from tests.codegen.edit_oracle.trial import Harvest

BATCH = 10


def main() -> int:
    """Run from a command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--programs", type=int, default=400, help="of all classes together")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--classes", default=",".join(CLASSES))
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--builds", choices=sorted(BUILDS), default="quick")
    parser.add_argument("--transforms", type=int, help="how many transforms are tried of a program")
    parser.add_argument(
        "--keep", type=Path, metavar="FOLDER", help="write failures there, one folder for each class"
    )
    parser.add_argument(
        "--missed", action="store_true", help="print parallel loops that were not found to be"
    )
    parser.add_argument("--no-shrink", action="store_true", help="report failures as drawn")
    asked = parser.parse_args()
    groups = asked.classes.split(",")
    each = max(1, asked.programs // len(groups))
    tasks = [(group, start, min(BATCH, each - start)) for group in groups for start in range(0, each, BATCH)]
    total: dict[str, Harvest] = {group: Harvest() for group in groups}
    begun = time.monotonic()
    with ProcessPoolExecutor(asked.jobs) as pool:
        pending = {
            pool.submit(batch, group, asked.seed, start, count, asked.builds, asked.transforms): group
            for group, start, count in tasks
        }
        for future in as_completed(pending):
            total[pending[future]].add(future.result())
            done = sum(harvest.programs for harvest in total.values())
            print(f"{done} programs, {time.monotonic() - begun:.0f} s", file=sys.stderr, flush=True)
    wrong = 0
    for group, harvest in total.items():
        sorts = Counter(failure.sort for failure in harvest.failures)
        wrong += len(harvest.failures)
        programs = len({failure.program.text for failure in harvest.failures})
        recall = f"{harvest.found_parallel}/{harvest.parallel}"
        print(
            f"{group:13} {harvest.programs:5} programs {harvest.edits:6} edits"
            f" {harvest.reordered:5} reordered {harvest.runs:7} runs; recall {recall};"
            f" skipped {sum(harvest.skipped.values())};"
            f" {len(harvest.failures)} failures in {programs} programs"
        )
        for sort, count in sorts.most_common():
            print(f"{'':14}{count:4}  {sort}")
        for reason, count in harvest.skipped.most_common(6):
            print(f"{'':14}{count:4}  skipped: {reason}")
        if asked.missed:
            print("\n".join(dict.fromkeys(harvest.missed)))
    for harvest in total.values():
        smallest: dict[str, list] = {}
        for failure in sorted(harvest.failures, key=lambda one: len(one.program.text)):
            smallest.setdefault(failure.sort, []).append(failure)
        for failures in smallest.values():
            for number, failure in enumerate(failures[: 3 if asked.keep else 1]):
                shown = failure if asked.no_shrink else minimised(failure, asked.builds)
                if asked.keep:
                    saved(asked.keep, shown, number)
                else:
                    print(f"\n{shown.report()}", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
