"""The work of `pool` spread over the machines of a Dask cluster.

Dask restarts a dead worker's work elsewhere. Each batch runs in a separate process beside the worker: one
that Dask started may not have the processes by which `pool` survives an analysis that never ends.
"""

from __future__ import annotations

import pickle
import subprocess
from collections.abc import Generator, Sequence
from concurrent.futures import CancelledError
from pathlib import Path
from typing import Any, TypeVar, Union

from polylsp.cli.pool import Crashed, Work
from polylsp.cluster import Unusable, check_workers, connected
from polylsp.launch import python_command
from polylsp.settings import Settings

A = TypeVar("A")
R = TypeVar("R")

_LARGEST_BATCH = 32
_BATCHES_PER_THREAD = 4
"""So that threads end at about the same time, though files differ."""


def results(
    work: Work[A, R], arguments: Sequence[A], address: str, settings: Settings
) -> Generator[Union[R, Crashed], None, None]:
    """As `pool.results`, from the workers of the scheduler at `address`; raises `Unusable`."""
    with connected(address) as client:
        check_workers(client)
        batches = _batches(arguments, sum(client.nthreads().values()))
        sent = [pickle.dumps((work, batch, settings)) for batch in batches]
        futures = client.map(done_here, sent, folder=str(Path.cwd()), pure=False)
        try:
            for batch, future in zip(batches, futures, strict=True):
                yield from _outcome(batch, future, address)
                future.release()
        finally:
            client.cancel(futures)


def done_here(batch: bytes, folder: str) -> bytes:
    """The results of a pickled batch, pickled; called in a worker of Dask."""
    if not Path(folder).is_dir():
        raise Unusable(f"{folder} is not there: workers need the files in the same places as here")
    command = python_command("polylsp.cli.batch:main")
    done = subprocess.run(command, input=batch, capture_output=True, cwd=folder)
    if done.returncode:
        raise RuntimeError(done.stderr.decode(errors="replace"))
    return done.stdout


def _batches(arguments: Sequence[A], threads: int) -> list[Sequence[A]]:
    size = max(1, min(_LARGEST_BATCH, len(arguments) // (_BATCHES_PER_THREAD * threads)))
    return [arguments[first : first + size] for first in range(0, len(arguments), size)]


def _outcome(batch: Sequence[A], future: Any, address: str) -> Sequence[Union[Any, Crashed]]:
    from distributed import KilledWorker

    try:
        return pickle.loads(future.result())
    except KilledWorker as killed:
        return [Crashed(f"several workers died at it, {killed.last_worker.address} the last")] * len(batch)
    except (CancelledError, OSError) as error:
        raise Unusable(f"the scheduler at {address} went away") from error
