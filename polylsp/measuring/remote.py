"""Process that carries out a measurement plan, here or on a worker of a Dask cluster.

The folder of a plan and its programs are removed however it ends. Dask restarts a dead worker's
work elsewhere.
"""

from __future__ import annotations

import contextlib
import pickle
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Callable
from concurrent.futures import CancelledError
from dataclasses import dataclass, replace
from typing import Any
from uuid import uuid4

from polylsp.core import processes
from polylsp.core.processes import Unusable, check_workers, connected
from polylsp.core.settings import Settings
from polylsp.launch import entry_point_command
from polylsp.model.measurement import Figure, NotMeasured, Outcome, Plan

# --------------------------------------------------------------------------------------------------
# The process that measures, as others see it: started for one plan, and ended at will.
# --------------------------------------------------------------------------------------------------


COMMAND: tuple[str, ...] = entry_point_command("polylsp.measuring.measuring_process:main")
_SECONDS_TO_LEAVE = 5.0


@dataclass(frozen=True, slots=True)
class Errand:
    """A plan to be carried out in a folder that is removed afterwards. `workspace`: the folders that the
    editor has open."""

    plan: Plan
    settings: Settings
    folder: str
    workspace: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Step:
    """Progress in percent, and the current activity; the fastest version so far, in a search."""

    percent: int
    what: str
    best: Figure | None = None


def carried_out(
    plan: Plan,
    settings: Settings,
    observe: Callable[[Step], None],
    begun: Callable[[subprocess.Popen[bytes]], None] | None = None,
    workspace: tuple[str, ...] = (),
) -> Outcome:
    """Outcome of a plan. However this function ends, the programs end too, and their folder is removed.
    `begun` receives the process, which it may end."""
    folder = new_folder()
    process = subprocess.Popen(COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None and process.stdout is not None
    try:
        if begun is not None:
            begun(process)
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(processes.frame(Errand(plan, settings, folder, workspace)))
            process.stdin.close()
        while (message := processes.read(process.stdout.read)) is not None:
            if not isinstance(message, Step):
                return message
            observe(message)
        return NotMeasured("The process that measures died.", is_error=True)
    finally:
        process.terminate()
        try:
            process.wait(_SECONDS_TO_LEAVE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()
        remove(folder)


def new_folder() -> str:
    """A folder for one measurement, that others cannot look into."""
    return tempfile.mkdtemp(prefix="polylsp-")


def remove(folder: str) -> None:
    """Remove the folder of a measurement."""
    shutil.rmtree(folder, ignore_errors=True)


# --------------------------------------------------------------------------------------------------
# Execution of a plan on a worker of a Dask cluster: one that has a GPU to offer, if there is one.
#
# Dask restarts a dead worker's work elsewhere. On the worker, the process that measures and its
# children are the same as they would be here.
# --------------------------------------------------------------------------------------------------


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
