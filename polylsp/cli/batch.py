"""Batch of work in a child process, for `cluster`.

Standard input brings `(work, arguments, settings)`, standard output takes the results, both pickled.
"""

from __future__ import annotations

import pickle
import sys

from polylsp.cli.pool import results
from polylsp.core.processes import end_with_parent, take_standard_output


def main() -> None:
    """Carry out one batch of work, read from standard input, and write its results."""
    end_with_parent()
    answer = take_standard_output()
    work, arguments, settings = pickle.load(sys.stdin.buffer)
    with answer:
        pickle.dump(list(results(work, arguments, 1, settings)), answer)
