"""Workers that take long, die, or are killed: what is finished stays, and the rest goes on."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
import pytest_asyncio
from bench import Bench, facts

from polylsp.core.processes import Stop
from polylsp.core.text import Span
from polylsp.ir.verdict import word
from polylsp.server.crew import Blame, Culprit
from polylsp.server.messages import Ready
from polylsp.server.worker import Limit, Loss, Supervisor
from tests.extent import IS_WHOLE

pytestmark = pytest.mark.asyncio

Make = Callable[..., Bench]


def function(name: str, index: str = "i") -> str:
    return f"void {name}(int n) {{\n    for (i = 0; i < n; i++) a[{index}] = 0;\n}}\n"


@pytest_asyncio.fixture
async def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Make]:
    monkeypatch.setenv("FAKE_GATES", str(tmp_path))
    made: list[Bench] = []

    def make_one(**options: float) -> Bench:
        made.append(Bench(**options))
        return made[-1]

    yield make_one
    for each in made:
        await each.close()


def analysed(folder: Path) -> list[str]:
    """Functions that were really analysed, in order."""
    return (folder / "analysed").read_text().splitlines()


# --- at once ---------------------------------------------------------------------------------


async def test_functions_are_known_while_others_are_not(make: Make, tmp_path: Path):
    bench = make()
    document = bench.open(function("f") + function("g", "WAIT_gate") + function("h"))
    await bench.until(lambda: bench.names(document) == ["f"])
    (tmp_path / "gate").touch()
    assert len((await bench.whole(document)).functions) == 3


async def test_what_was_edited_comes_first_then_what_is_on_the_screen(make: Make, tmp_path: Path):
    bench = make()
    text = "".join(function(name) for name in "fghk")
    document = bench.open(function("wait", "MARK_begun + FOCUS") + text)
    await bench.until(lambda: (tmp_path / "begun").exists() and not bench.names(document))
    places = [document.source.text.index(f"void {name}") for name in "gk"]
    document.edited, shown = (Span(at + 8, at + 9) for at in places[::-1])
    assert document.show(shown)
    bench.jobs.refocus(document)
    await bench.whole(document)
    quick = [line.removeprefix("quick ") for line in analysed(tmp_path) if line.startswith("quick")]
    assert quick == ["wait", "k", "g", "f", "h"]


# --- beside what takes long -------------------------------------------------------------------


async def test_the_rest_of_a_file_is_analysed_beside_a_function_that_takes_long(make: Make, tmp_path: Path):
    bench = make(patience=0.0)
    document = bench.open(function("f") + function("g", "WAIT_gate") + function("h"))
    await bench.until(lambda: bench.names(document) == ["f", "h"])
    (tmp_path / "gate").touch()
    await bench.whole(document)
    assert Counter(analysed(tmp_path)) == {
        f"{kind} {name}": 1 for kind in ("quick", "full") for name in "fgh"
    }


async def test_other_files_are_analysed_beside_one_that_takes_long(make: Make, tmp_path: Path):
    bench = make(patience=0.0)
    slow = bench.open(function("f", "WAIT_gate"), "slow.c")
    await bench.whole(bench.open(function("g"), "quick.c"))
    assert not slow.is_reported
    (tmp_path / "gate").touch()
    await bench.whole(slow)


async def test_there_are_few_workers(make: Make, tmp_path: Path):
    bench = make(patience=0.0)
    many = [bench.open(function(f"f{n}", f"MARK_{n} + WAIT_gate"), f"{n}.c") for n in range(6)]
    await bench.until(lambda: sum((tmp_path / str(n)).exists() for n in range(6)) == 3)
    assert len(bench.jobs.worker_pids) == 3
    (tmp_path / "gate").touch()
    for document in many:
        await bench.whole(document)


# --- set aside, and tried again ----------------------------------------------------------------


async def test_a_function_that_ends_the_worker_is_set_aside_alone_and_says_why(make: Make, tmp_path: Path):
    bench = make()
    document = bench.open(function("f") + function("g", "NEEDS_gate") + function("h"))
    report = await bench.whole(document)
    assert [word(each.answer.facts.loops[0].verdict) for each in report.functions] == [
        "parallel",
        "unknown",
        "parallel",
    ]
    assert bench.jobs.set_aside == ["`g`: the analysis process ended unexpectedly."]
    counted = Counter(analysed(tmp_path))
    assert {counted[f"{kind} {name}"] for kind in ("quick", "full") for name in "fh"} == {1}


async def test_what_was_set_aside_is_tried_again_on_save(make: Make, tmp_path: Path):
    bench = make()
    document = bench.open(function("g", "NEEDS_gate") + function("h"))
    await bench.whole(document)
    (tmp_path / "gate").touch()
    bench.jobs.want_schedules(document)
    report = await bench.whole(document)
    assert [word(each.answer.facts.loops[0].verdict) for each in report.functions] == ["parallel"] * 2
    assert not bench.jobs.set_aside


async def test_what_was_set_aside_is_tried_once_more_when_there_is_time(make: Make, tmp_path: Path):
    bench = make(rest=0.0)
    document = bench.open(function("g", "NEEDS_gate") + function("h"))
    await bench.until(lambda: analysed(tmp_path).count("quick g") == 2 if document.report else False)
    await bench.until(lambda: bench.jobs.is_idle and bool(bench.jobs.set_aside))
    assert not bench.jobs._crew.blame.has_retries({document.uri})


async def test_a_file_whose_workers_die_before_any_function_is_tried_again_after_a_rest(make: Make):
    bench = make()
    bench.jobs._crew.command = ("/nonexistent/python",)
    document = bench.open(function("f"))
    await bench.until(lambda: bool(bench.jobs.trouble))
    bench.jobs._crew.command = Bench().jobs.command
    for each in bench.jobs._crew.workers:
        each.command = bench.jobs._crew.command
    await bench.whole(document)
    assert len(bench.told) == 1 and "3 times" in bench.told[0]


@pytest.mark.timeout(600)
@pytest.mark.parametrize("together", (False, True), ids=("one worker", "several workers"))
async def test_workers_killed_at_random_lose_nothing(make: Make, tmp_path: Path, together: bool):
    kills = 200 if IS_WHOLE else 20
    bench, calm, added = make(patience=0.0 if together else 1e9, rest=0.0), make(), 0
    text = "".join(function(f"f{n}", "t" if n % 3 else "i") for n in range(40))

    def go_on() -> None:
        nonlocal added
        added += 1
        bench.edit(document, text + "".join(function(f"added{added}_{n}") for n in range(10)))

    document = bench.open(text)
    await bench.kill(kills, 7, go_on)
    bench.jobs.want_schedules(document)
    await bench.until(lambda: bench.jobs.is_idle and not bench.jobs.set_aside)
    begun = Counter(analysed(tmp_path))
    # A worker that takes over from another one may begin with the function that this one is at.
    assert together or begun.total() - len(begun) <= kills, "a kill costs the function at hand, and no other"
    expected = await calm.whole(calm.open(document.source.text))
    assert facts(await bench.whole(document)) == facts(expected)
    assert bench.jobs.restarts >= kills and calm.jobs.restarts == 0


# --- limits ------------------------------------------------------------------------------------


class Fake:
    """A worker process, a clock and a CPU clock that stand still until they are moved."""

    def __init__(self) -> None:
        self.now = self.cpu = 0.0
        self.pid: int | None = 1
        self.losses: list[Loss] = []
        self.supervisor = Supervisor((), self, lambda: self.now, lambda _: self.cpu)
        self.supervisor._worker = self  # pyright: ignore

    def close(self) -> None:
        self.pid = None

    def worker_replied(self, supervisor: Supervisor, reply: Ready) -> None: ...

    def worker_lost(self, supervisor: Supervisor, loss: Loss) -> None:
        self.losses.append(loss)


async def test_limits_count_cpu_time_not_time_on_a_busy_machine():
    fake = Fake()
    fake.cpu = 5.0
    fake.supervisor.watch(Limit.of(10.0, "wait"))
    fake.now, fake.cpu = 250.0, 14.9
    fake.supervisor.check()
    assert not fake.losses
    fake.cpu = 15.0
    fake.supervisor.check()
    assert [loss.stop for loss in fake.losses] == [Stop("it took too long (10 s of CPU time)", "wait")]
    assert fake.pid is None


async def test_a_limit_begins_with_the_function_not_when_that_is_heard_of():
    fake = Fake()
    fake.cpu = 8.0
    fake.supervisor.watch(Limit.of(10.0, "wait"), used=2.0)
    fake.cpu = 12.0
    fake.supervisor.check()
    assert fake.losses


async def test_other_settings_limit_what_is_under_way():
    fake = Fake()
    fake.supervisor.watch(Limit.of(10.0, "wait"))
    fake.cpu = 2.0
    fake.supervisor.relimit(Limit.of(1.0, "wait"))
    fake.supervisor.check()
    assert [loss.stop.reason for loss in fake.losses] == ["it took too long (1 s of CPU time)"]


async def test_a_process_that_is_stuck_is_ended_in_the_end():
    fake = Fake()
    fake.supervisor.watch(Limit.of(10.0, "wait"))
    fake.now = 299.0
    fake.supervisor.check()
    assert not fake.losses
    fake.now = 300.0
    fake.supervisor.check()
    assert [loss.stop.reason for loss in fake.losses] == ["it took too long (no progress in 300 s)"]


STOP = Stop("it took too long", "wait")


async def test_a_function_is_set_aside_until_it_is_retried_with_more_time():
    blame, culprit = Blame(), Culprit("key", "f", "file:///a.c")
    assert blame.function(culprit, STOP, killed=False) and blame.stops == {"key": STOP}
    assert not blame.function(culprit, STOP, killed=False)
    assert blame.factor("key") == 1 and not blame.retry("file:///b.c")
    assert blame.retry("file:///a.c") and not blame.stops and blame.factor("key") > 1
    blame.function(culprit, STOP, killed=False)
    assert not blame.has_retries({"file:///a.c"})


async def test_a_kill_from_outside_counts_from_the_second_time_on():
    blame, culprit = Blame(), Culprit("key", "f", "file:///a.c")
    assert blame.function(culprit, STOP, killed=True) and not blame.stops
    assert blame.function(culprit, STOP, killed=True) and blame.stops
    assert blame.retry_idle({"file:///b.c"}) == set()
    assert blame.retry_idle({"file:///a.c"}) == {"file:///a.c"} and not blame.stops


async def test_what_a_person_asked_for_is_not_tried_by_itself():
    blame = Blame()
    blame.function(Culprit("key", "tile", "file:///a.c", is_asked=True), STOP, killed=False)
    assert not blame.has_retries({"file:///a.c"}) and not blame.set_aside and blame.stops


async def test_losses_without_a_function_to_blame():
    blame = Blame()
    assert [blame.strike(killed=False) for _ in range(3)] == [0, 0, 3]
    blame.success()
    assert [blame.strike(killed=True) for _ in range(11)] == [0] * 11
