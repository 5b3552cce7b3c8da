"""Execution of a plan on a worker of a Dask cluster: one that has a GPU to offer, if there is one.

Dask restarts a dead worker's work elsewhere. On the worker, the process that measures and its children are
the same as they would be here.
"""

from __future__ import annotations

import pickle
import subprocess
import threading
from collections.abc import Callable
from concurrent.futures import CancelledError
from dataclasses import replace
from typing import Any
from uuid import uuid4

from polylsp.cluster import Unusable, check_workers, connected
from polylsp.model.measurement import NotMeasured, Outcome
from polylsp.runtime.process import Errand, Step, carried_out

_GPU = {"GPU": 1}
_SECONDS_BETWEEN_LOOKS = 0.5


def measured_there(errand: Errand, observe: Callable[[Step], None]) -> Outcome:
    """Outcome of a plan on a worker of the cluster that the settings name."""
    try:
        with connected(errand.settings.cluster) as client:
            check_workers(client)
            return _on_a_worker(client, errand, observe)
    except Unusable as unusable:
        return NotMeasured(f"The cluster cannot be used: {unusable}.")


def _on_a_worker(client: Any, errand: Errand, observe: Callable[[Step], None]) -> Outcome:
    from distributed import KilledWorker

    settings = errand.settings

    def gpus(dask_worker: Any) -> float:
        found: float = dask_worker.state.total_resources.get("GPU", 0)
        return found

    has_gpu = any(found >= 1 for found in client.run(gpus).values())
    observe(Step(1, f"on a worker {'with a GPU ' if has_gpu else ''}of {settings.cluster}"))
    topic = f"polylsp-{uuid4().hex}"

    def told(event: tuple[float, bytes]) -> None:
        observe(pickle.loads(event[1]))

    client.subscribe_topic(topic, told)
    sent = pickle.dumps((errand.plan, replace(settings, cluster=""), errand.workspace, topic))
    future = client.submit(measured_here, sent, pure=False, resources=_GPU if has_gpu else None)
    try:
        return pickle.loads(future.result())
    except KilledWorker as killed:
        return NotMeasured(f"Several workers died at it, {killed.last_worker.address} the last.")
    except (CancelledError, OSError) as error:
        raise Unusable(f"the scheduler at {settings.cluster} went away") from error
    finally:
        future.release()


def measured_here(errand: bytes) -> bytes:
    """Outcome of a pickled plan, pickled; called in a worker of Dask. Progress is logged under a topic. It
    ends on cancellation."""
    from distributed import get_worker

    plan, settings, workspace, topic = pickle.loads(errand)
    is_done, worker = threading.Event(), get_worker()

    def tell(step: Step) -> None:
        worker.log_event(topic, pickle.dumps(step))

    def watch(process: subprocess.Popen[bytes]) -> None:
        is_wanted = _wanted()
        watching = threading.Thread(target=_end_if_unwanted, args=(process, is_wanted, is_done), daemon=True)
        watching.start()

    try:
        return pickle.dumps(carried_out(plan, settings, tell, watch, workspace))
    finally:
        is_done.set()


def _wanted() -> Callable[[], bool]:
    """Predicate: a client still waits for the task that this thread runs."""
    from distributed import get_worker

    worker = get_worker()
    key = worker.get_current_task()

    def is_wanted() -> bool:
        task = worker.state.tasks.get(key)
        return task is not None and task.state != "cancelled"

    return is_wanted


def _end_if_unwanted(
    process: subprocess.Popen[bytes], is_wanted: Callable[[], bool], is_done: threading.Event
) -> None:
    while not is_done.wait(_SECONDS_BETWEEN_LOOKS):
        if not is_wanted():
            process.terminate()
            return
