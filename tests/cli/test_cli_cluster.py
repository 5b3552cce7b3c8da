"""Work spread over a real scheduler and real workers, on this machine."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Client, Listener
from pathlib import Path
from typing import Any

import psutil
import pytest
from distributed import LocalCluster, Nanny, Scheduler, SpecCluster

from polylsp import cluster as clusters
from polylsp.cli import cluster, main
from polylsp.cli.check import Task, check_file
from polylsp.cli.pool import Crashed, Observer, results
from polylsp.cluster import Unusable
from polylsp.settings import Settings

PROGRAM = "void f(int n, double *a) { for (int i = 0; i < n; i++) a[i] *= 2.0; }\n"


@pytest.fixture(scope="module")
def workers() -> Iterator[Any]:
    """A cluster of two workers, in processes that find the functions of this module."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", f"{Path(__file__).parent}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
        with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as made:
            yield made


def held(argument: tuple[str, int], _given_up: frozenset[str], _observe: Observer) -> int:
    """Say that the work has begun, and by which processes; go on when told to."""
    address, number = argument
    with Client(address) as line:
        line.send((number, [each.pid for each in psutil.Process().parents()]))
        line.recv()
    return number


def dies(_: int, _given_up: frozenset[str], _observe: Observer) -> int:
    os.kill(os.getpid(), signal.SIGKILL)
    return 0


def fails(number: int, _given_up: frozenset[str], _observe: Observer) -> int:
    raise ValueError(number)


def test_findings_are_those_of_this_machine(workers: Any, tmp_path: Path) -> None:
    for name in ("a.c", "b.c"):
        (tmp_path / name).write_text(PROGRAM)
    files = [*sorted(tmp_path.iterdir()), tmp_path / "lost.c"]
    tasks = [Task(str(file), True, Settings(), "json", 80) for file in files]
    there = list(cluster.results(check_file, tasks, workers.scheduler_address, Settings()))
    assert there == list(results(check_file, tasks, 1, Settings()))
    assert [each.words["parallel"] for each in there] == [1, 1, 0] and "lost.c" in there[2].failure


def test_a_worker_that_is_killed_costs_nothing_and_nothing_is_done_twice(workers: Any) -> None:
    with Listener() as listener, ThreadPoolExecutor(1) as asking:
        arguments = [(listener.address, number) for number in range(4)]
        found = asking.submit(
            lambda: list(cluster.results(held, arguments, workers.scheduler_address, Settings()))
        )
        with listener.accept() as line:
            lost, parents = line.recv()
            (victim,) = {each.process.pid for each in workers.workers.values()} & set(parents)
            os.kill(victim, signal.SIGKILL)
        done: list[int] = []
        while len(done) < len(arguments):
            with listener.accept() as line:
                done.append(line.recv()[0])
                line.send("go on")
        assert found.result() == [0, 1, 2, 3]
        assert sorted(done) == [0, 1, 2, 3] and lost in done


def test_an_analysis_that_dies_is_given_up_as_on_one_machine(workers: Any) -> None:
    found = list(cluster.results(dies, [1], workers.scheduler_address, Settings()))
    assert found == [Crashed("the analysis process died")]


def test_an_exception_is_not_hidden(workers: Any) -> None:
    with pytest.raises(RuntimeError, match="ValueError: 7"):
        list(cluster.results(fails, [7], workers.scheduler_address, Settings()))


def test_workers_need_the_files(tmp_path: Path) -> None:
    with pytest.raises(Unusable, match="workers need the files in the same places as here"):
        cluster.done_here(b"", str(tmp_path / "not there"))


def test_workers_of_another_version_are_named(workers: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clusters, "__version__", "0.0.1")
    with pytest.raises(Unusable, match=r"polylsp is 0\.0\.1 here, and on worker tcp://.* it is \d"):
        list(cluster.results(fails, [7], workers.scheduler_address, Settings()))


def test_a_cluster_without_workers_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(clusters, "_SECONDS_TO_CONNECT", 1)
    (tmp_path / "a.c").write_text(PROGRAM)
    with LocalCluster(n_workers=0, dashboard_address=":0") as empty:
        status = main(["check", str(tmp_path), "--cluster", empty.scheduler_address])
    assert status == 3 and "the cluster has no workers: start one" in capsys.readouterr().err
    status = main(["check", str(tmp_path), "--cluster", empty.scheduler_address])
    assert status == 3 and "no scheduler answers at tcp://" in capsys.readouterr().err


SCALE = "void scale(int n, double *restrict a)\n{\n    for (int i = 0; i < n; i++)\n        a[i] *= 2.0;\n}\n"
ENDLESS = "static void never(void) { while (1) ; }\n" + SCALE.replace("2.0;\n", "2.0;\n    never();\n")


@pytest.fixture(scope="module")
def with_gpu() -> Iterator[Any]:
    """A cluster of a worker that says that it has a GPU, and one that does not, and finds no compiler."""
    local = {"host": "127.0.0.1", "nthreads": 1}
    plain = {"cls": Nanny, "options": {**local, "env": {"PATH": ""}}}
    gpu = {"cls": Nanny, "options": {**local, "resources": {"GPU": 1}}}
    scheduler = {"cls": Scheduler, "options": {"host": local["host"], "dashboard_address": ":0"}}
    with SpecCluster(workers={"plain": plain, "gpu": gpu}, scheduler=scheduler) as made:
        yield made


def test_a_function_is_measured_by_the_worker_that_has_a_gpu(
    with_gpu: Any, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.c").write_text(SCALE)
    address = with_gpu.scheduler_address
    line = ("a.c:3", "--set", "n=3000", "--format", "json")
    assert main(["measure", *line, "--cluster", address]) == 0
    found = json.loads(capfd.readouterr().out)
    assert found["sizes"] == {"n": 3000} and found["targets"][0]["matches"] and found["device"]


def test_a_measurement_that_nobody_waits_for_is_ended(with_gpu: Any, tmp_path: Path) -> None:
    path = tmp_path / "a.c"
    path.write_text(ENDLESS)
    command = [sys.executable, "-m", "polylsp", "measure", f"{path}:4", "--set", "n=3000"]
    asking = subprocess.Popen([*command, "--cluster", with_gpu.scheduler_address])
    while not measuring(with_gpu):
        assert asking.poll() is None
    asking.send_signal(signal.SIGINT)
    asking.wait(20)
    while measuring(with_gpu):
        os.sched_yield()


def measuring(made: Any) -> list[int]:
    """The processes of the workers that measure."""
    found: list[int] = []
    for nanny in made.workers.values():
        for child in psutil.Process(nanny.pid).children(recursive=True):
            with contextlib.suppress(psutil.Error):  # one that ends while it is looked at
                found += [child.pid] if "polylsp.runtime" in child.cmdline() else []
    return found
