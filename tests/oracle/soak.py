"""Draws as many programs as wanted and judges what is claimed of them.

    python -m tests.oracle.soak --examples 20000 --seed 1 --jobs 2
    python -m tests.oracle.soak --language python
    python -m tests.oracle.soak --replay file.c...

Prints each kind of failure once, minimised, and a summary. Exit status 1 if there was any.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, seed, settings

from tests.oracle.languages import LANGUAGES, LanguageName
from tests.oracle.nests import Program
from tests.oracle.reading import program
from tests.oracle.trial import Trial, reduced, trial

CHUNK = 100


@dataclass(slots=True)
class Harvest:
    """Results of a number of trials: failures by sort, each the smallest that was seen; for each feature of
    programs the number that had it, their number of loops, and the number of these that were decided."""

    examples: int = 0
    runs: int = 0
    models: int = 0
    slow: int = 0
    failures: dict[str, Trial] = field(default_factory=dict)
    texts: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    verdicts: Counter[str] = field(default_factory=Counter)
    features: Counter[str] = field(default_factory=Counter)
    loops: Counter[str] = field(default_factory=Counter)
    decided: Counter[str] = field(default_factory=Counter)

    def add(self, other: Harvest) -> list[Trial]:
        """Merge; gives the failures of a new kind."""
        fresh = [t for sort, t in other.failures.items() if sort not in self.failures]
        for sort, found in other.failures.items():
            self.keep(sort, found)
        self.examples += other.examples
        self.runs += other.runs
        self.models += other.models
        self.slow += other.slow
        self.counts += other.counts
        self.verdicts += other.verdicts
        self.features += other.features
        self.loops += other.loops
        self.decided += other.decided
        return fresh

    def keep(self, sort: str, found: Trial) -> None:
        """Remember a failure if it is the smallest of its kind."""
        if sort not in self.failures or len(found.text) < len(self.failures[sort].text):
            self.failures[sort] = found


def chunk(start: int, examples: int, affine: bool, language: LanguageName) -> Harvest:
    """Draw and judge one batch from one seed."""
    harvest = Harvest()
    spoken = LANGUAGES[language]

    @seed(start)
    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        report_multiple_bugs=False,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(drawn=spoken.affine() if affine else spoken.any())
    def gather(drawn: Program) -> None:
        done = trial(drawn, affine, language)
        harvest.examples += 1
        harvest.runs += done.inputs
        harvest.models += done.compared
        harvest.slow += done.slow
        harvest.verdicts.update(done.verdicts)
        harvest.features.update(drawn.features)
        for feature in drawn.features:
            harvest.loops[feature] += len(done.claims)
            harvest.decided[feature] += sum(claim.verdict != "unknown" for claim in done.claims)
        harvest.texts += [done.report()] if done.refutations else []
        for sort in {r.sort for r in done.refutations}:
            harvest.counts[sort] += 1
            harvest.keep(sort, done)

    gather()
    return harvest


def minimised(sort: str, found: Trial) -> Trial:
    """A failure with everything left out that is not needed for it."""

    def fails(smaller: Program) -> bool:
        return any(r.sort == sort for r in trial(smaller, found.exact, found.language).refutations)

    return trial(reduced(found.program, fails), found.exact, found.language)


def soak(
    examples: int, start: int, jobs: int, keep: Path | None = None, language: LanguageName = "c"
) -> Harvest:
    """Draw programs of both kinds in equal parts, in parallel batches; every one that fails is written
    to the folder `keep`."""
    total, begun = Harvest(), time.monotonic()
    batches = [
        (start * 1_000_003 + k, min(CHUNK, examples - k * CHUNK), k % 2 == 0)
        for k in range(-(-examples // CHUNK))
    ]
    seen: set[str] = set()
    with ProcessPoolExecutor(jobs) as pool:
        pending = {pool.submit(chunk, s, n, affine, language): s for s, n, affine in batches}
        for future in as_completed(pending):
            harvest = future.result()
            if keep is not None:
                _write(keep, f"{pending[future]}", LANGUAGES[language].suffix, harvest.texts)
            for fresh in total.add(harvest):
                if fresh.text not in seen:
                    seen.add(fresh.text)
                    print(f"\n--- seed {pending[future]}\n{fresh.report()}", flush=True)
            pace = total.examples / (time.monotonic() - begun)
            print(
                f"{total.examples}/{examples} programs, {sum(total.counts.values())} refuted, {pace:.1f}/s",
                file=sys.stderr,
            )
    return total


def _write(folder: Path, batch: str, suffix: str, texts: list[str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for number, text in enumerate(texts):
        (folder / f"{batch}-{number}{suffix}").write_text(text)


def replay(paths: list[str]) -> Harvest:
    """Judge the claims about programs stored as text."""
    total = Harvest()
    for path in paths:
        done = trial(program(Path(path).read_text()), exact=False)
        print(f"--- {path}\n{done.report()}")
        total.examples += 1
        total.runs += done.inputs
        total.verdicts.update(done.verdicts)
        for refutation in done.refutations:
            total.counts[refutation.sort] += 1
            total.keep(refutation.sort, done)
    return total


def summary(total: Harvest) -> str:
    """Counts, for a person."""
    loops = sum(total.verdicts.values()) or 1
    lines = [f"{total.examples} programs, {total.runs} runs, {loops} loops, {total.models} models compared"]
    lines += (
        [f"{total.slow} programs decided only with more operations than the default"] if total.slow else []
    )
    lines += [f"  {100 * count / loops:5.1f} %  {word}" for word, count in total.verdicts.most_common()]
    for feature, count in total.features.most_common():
        share = 100 * total.decided[feature] // (total.loops[feature] or 1)
        lines.append(f"  {count:5} programs with {feature}, {share} % of their loops decided")
    lines += [f"refuted: {sort} ({count} programs)" for sort, count in total.counts.most_common()]
    return "\n".join([*lines, "" if total.counts else "nothing refuted"])


def main() -> int:
    """Run from a command line."""
    parser = argparse.ArgumentParser(
        prog="soak", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--examples", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--no-shrink", action="store_true", help="report failures as drawn")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="write every failure there")
    parser.add_argument("--replay", nargs="+", metavar="FILE", help="judge C files instead of drawing")
    parser.add_argument("--language", choices=[*LANGUAGES], default="c")
    given_ = parser.parse_args()
    total = (
        replay(given_.replay)
        if given_.replay
        else soak(given_.examples, given_.seed, given_.jobs, given_.keep, given_.language)
    )
    print(summary(total))
    for sort, found in total.failures.items():
        shown = found if given_.no_shrink else minimised(sort, found)
        print(f"\n=== {sort}\n{shown.report()}", flush=True)
    return 1 if total.counts else 0


if __name__ == "__main__":
    sys.exit(main())
