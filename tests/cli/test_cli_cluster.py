"""Work spread over a real scheduler and real workers, on this machine."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from multiprocessing.connection import Client, Listener
from pathlib import Path
from typing import Any

import psutil
import pytest
from distributed import LocalCluster, Nanny, Scheduler, SpecCluster

from polylsp.cli import main, pool
from polylsp.cli.check import Task, check_file
from polylsp.cli.pool import Crashed, Observer, results
from polylsp.core import processes
from polylsp.core.processes import Unusable
from polylsp.core.settings import Settings
from polylsp.engine.queries import analyse, measurable
from polylsp.measuring.remote import Step, carried_out
from polylsp.model.measurement import AskToMeasure, Measurement, Plan

PROGRAM = "void f(int n, double *a) { for (int i = 0; i < n; i++) a[i] *= 2.0; }\n"


@pytest.fixture(scope="module")
def workers() -> Iterator[Any]:
    """A cluster of two workers, in processes that find the functions of this module."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", f"{Path(__file__).parent}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
        with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as made:
            yield made


def held(argument: tuple[str, int], _given_up: frozenset[str], _observe: Observer) -> int:
    """Report that the work has begun, and by which processes; continue on request."""
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
    there = list(pool.cluster_results(check_file, tasks, workers.scheduler_address, Settings()))
    assert there == list(results(check_file, tasks, 1, Settings()))
    assert [each[1].rendered.words["parallel"] for each in there[:2]] == [1, 1]
    (lost,) = there[2]
    assert "lost.c" in lost.failure


def test_a_worker_that_is_killed_costs_nothing_and_nothing_is_done_twice(workers: Any) -> None:
    with Listener() as listener, ThreadPoolExecutor(1) as asking:
        arguments = [(listener.address, number) for number in range(4)]
        found = asking.submit(
            lambda: list(pool.cluster_results(held, arguments, workers.scheduler_address, Settings()))
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
    found = list(pool.cluster_results(dies, [1], workers.scheduler_address, Settings()))
    assert found == [Crashed("the analysis process died")]


def test_an_exception_is_not_hidden(workers: Any) -> None:
    with pytest.raises(RuntimeError, match="ValueError: 7"):
        list(pool.cluster_results(fails, [7], workers.scheduler_address, Settings()))


def test_workers_need_the_files(tmp_path: Path) -> None:
    with pytest.raises(Unusable, match="workers need the files in the same places as here"):
        pool.done_here(b"", str(tmp_path / "not there"))


def test_workers_of_another_version_are_named(workers: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "__version__", "0.0.1")
    with pytest.raises(Unusable, match=r"polylsp is 0\.0\.1 here, and on worker tcp://.* it is \d"):
        list(pool.cluster_results(fails, [7], workers.scheduler_address, Settings()))


def test_a_cluster_without_workers_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(processes, "_SECONDS_TO_CONNECT", 1)
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


def test_a_worker_tells_how_far_it_is_and_what_is_fastest_so_far(with_gpu: Any, tmp_path: Path) -> None:
    path, settings = str(tmp_path / "a.c"), Settings(cluster=with_gpu.scheduler_address)
    (placed,) = analyse(path, SCALE, settings, schedules=False).functions
    plan = measurable(path, SCALE, settings, AskToMeasure("scale", placed.start, 0, (("n", 3000),)))
    assert isinstance(plan, Plan)
    steps: list[Step] = []
    found = carried_out(replace(plan, is_search=True), settings, steps.append)
    assert isinstance(found, Measurement)
    told = [step.what for step in steps]
    assert told[0].startswith("on a worker with a GPU of tcp://") and told[1] == "compiling"
    assert "trying versions" in told and "run 5" in told, told
    assert any(" versions tried, " in each for each in told)
    assert all((step.best is not None) == ("best so far" in step.what) for step in steps)


def test_a_measurement_that_nobody_waits_for_is_ended(with_gpu: Any, tmp_path: Path) -> None:
    path = tmp_path / "a.c"
    path.write_text(ENDLESS)
    command = [sys.executable, "-m", "polylsp", "measure", f"{path}:4", "--set", "n=3000"]
    asking = subprocess.Popen([*command, "--cluster", with_gpu.scheduler_address])
    while not measuring(with_gpu):
        assert asking.poll() is None
        time.sleep(0.02)
    asking.send_signal(signal.SIGINT)
    asking.wait(20)
    while measuring(with_gpu):
        time.sleep(0.02)


HELD = """
int open(const char *, int, ...);
long read(int, void *, unsigned long);
static void wait_until_told(void) { char c; read(open("PIPE", 0), &c, 1); }
void scale(int n, double a[restrict n][n])
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            a[i][j] *= 2.0;
    wait_until_told();
}
"""


@pytest.fixture
def pipe() -> Iterator[Path]:
    """A pipe that programs of any user can read from, as long as it is there."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        made = Path(folder, "pipe")
        os.mkfifo(made)
        yield made


def asked(command: str, made: Any, pipe: Path) -> subprocess.Popen[str]:
    """Measures a function that waits for a pipe to close, on a cluster."""
    source = pipe.with_name("a.c")
    source.write_text(HELD.replace("PIPE", str(pipe)))
    line = ("-m", "polylsp", command, f"{source}:7", "--set", "n=50", "--target", "openmp")
    return subprocess.Popen(
        [sys.executable, *line, "--format", "json", "--cluster", made.scheduler_address],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "XDG_CACHE_HOME": str(pipe.parent)},
    )


def kill_the_worker_of(made: Any, pipe: Path) -> None:
    """Kill the worker whose program runs, once there is one; those that follow do not wait any more."""
    with pipe.open("w"):  # opened when somebody reads
        (worker,) = (n.pid for n in made.workers.values() if running_below(n.pid, "/original"))
        os.kill(worker, signal.SIGKILL)
        pipe.unlink()


@pytest.mark.release
@pytest.mark.parametrize("command", ["measure", "tune"])
def test_a_worker_that_is_killed_while_it_measures_costs_nothing(
    workers: Any, pipe: Path, command: str
) -> None:
    with asked(command, workers, pipe) as asking:
        kill_the_worker_of(workers, pipe)
        out, error = asking.communicate()
    assert asking.returncode == 0, error
    found = json.loads(out)  # one result, and no more
    assert found["sizes"] == {"n": 50} and any(each["matches"] for each in found["targets"])
    assert not any(each["matches"] is False for each in found["targets"]) and not measuring(workers)


def test_a_measurement_that_workers_die_of_is_told(
    workers: Any, pipe: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers.scheduler, "allowed_failures", 0)
    with asked("measure", workers, pipe) as asking:
        kill_the_worker_of(workers, pipe)
        out, error = asking.communicate()
    assert asking.returncode == 2 and not out
    assert "a.c:7: Several workers died at it, tcp://" in error


def measuring(made: Any) -> list[int]:
    """The processes of the workers that measure."""
    return [
        each
        for nanny in made.workers.values()
        for each in running_below(nanny.pid, "polylsp.measuring.measuring_process:main")
    ]


def running_below(worker: int, word: str) -> list[int]:
    """The processes that a worker has started in whose command there is a word."""
    found: list[int] = []
    with contextlib.suppress(psutil.Error):  # those that end while they are looked at
        for child in psutil.Process(worker).children(recursive=True):
            with contextlib.suppress(psutil.Error):
                found += [child.pid] if any(each.endswith(word) for each in child.cmdline()) else []
    return found
