from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from time import process_time
from typing import Any

import pytest

from polylsp.cli.pool import Crashed, Finished, Observer, Share, Tell, Work, results, stream
from polylsp.core.settings import Settings

DEFAULT = Settings()
DIED = Crashed("the analysis process died")


def mapped(work: Work[Any, Any], arguments: Sequence[Any], settings: Settings = DEFAULT) -> list[Any]:
    return list(results(work, arguments, 2, settings))


def square_unless_thirteen(number: int, _given_up: frozenset[str], _observe: Observer) -> int:
    if number == 13:
        os.kill(os.getpid(), signal.SIGKILL)
    return number * number


def fails(number: int, _given_up: frozenset[str], _observe: Observer) -> int:
    raise ValueError(number)


def functions(names: str, given_up: frozenset[str], observe: Observer) -> str:
    """A file of functions with one letter each: some are analysed, some hang, eat memory, or kill."""
    for name in names:
        if name in given_up:
            continue
        observe(name, name, 0, 0)
        if name == "h":
            while True:
                pass
        elif name == "m":
            bytearray(2**40)
        elif name == "k":
            os.kill(os.getpid(), signal.SIGKILL)
    return "".join(name.upper() if name in given_up else name for name in names)


def keeps_dying(_: str, _given_up: frozenset[str], observe: Observer) -> str:
    observe("f", "f", 0, 0)
    os.kill(os.getpid(), signal.SIGKILL)
    return ""


def slow(_: str, _given_up: frozenset[str], observe: Observer) -> str:
    observe("f", "f", 0, 0)
    while True:
        pass


def lighter(key: str, given_up: frozenset[str], observe: Observer) -> str:
    """Half a second of CPU time for a key, or for that of the lighter work once this was stopped."""
    key = key.removesuffix("s") if key in given_up else key
    if key in given_up:
        return "stopped"
    observe(key, "f", 0, 0)
    until = process_time() + 0.5
    while process_time() < until:
        pass
    return key


def where(name: str, _given_up: frozenset[str], _observe: Observer) -> str:
    return str(Path(name).resolve())


def test_results_are_in_order() -> None:
    assert mapped(square_unless_thirteen, [5, 1, 4, 2, 3]) == [25, 1, 16, 4, 9]


def test_only_the_argument_that_killed_its_process_has_no_result() -> None:
    assert mapped(square_unless_thirteen, [1, 13, 2, 3]) == [1, DIED, 4, 9]


def test_an_exception_is_not_hidden() -> None:
    with pytest.raises(RuntimeError, match=r"ValueError: 7"):
        mapped(fails, [7, 7])


def test_the_function_at_fault_is_given_up_and_the_others_are_answered() -> None:
    impatient = Settings(max_seconds=2.0, max_memory_mb=1024)
    assert mapped(functions, ["ab", "ahb", "kbm", "c"], impatient) == ["ab", "aHb", "KbM", "c"]


def test_a_function_is_blamed_once() -> None:
    assert mapped(keeps_dying, ["a.c"]) == [DIED]


def test_the_limit_on_time_counts_cpu_time_and_says_so() -> None:
    (found,) = mapped(slow, ["a.c"], Settings(max_seconds=0.5))
    assert found.reason == "the analysis took more than 0.5 s of CPU time; raise `polylsp.max_seconds`"


def test_lighter_work_in_place_of_what_took_too_long_may_take_longer() -> None:
    assert mapped(lighter, ["fs", "f"], Settings(max_seconds=0.3)) == ["f", "stopped"]


def test_names_of_files_mean_the_same_in_a_worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert mapped(where, ["a.c"]) == [str(tmp_path / "a.c")]


def letters(names: str, share: Share, observe: Observer, tell: Tell[str]) -> None:
    """The letters of a name and, in each step, who takes it; some are waited for."""
    share.total = len(names)
    tell(-1, "begin")
    for number, name in enumerate(names):
        if not share.takes(number):
            continue
        if name in share.given_up:
            tell(number, f"{number}{name.upper()}")
            continue
        observe(name, name, number, len(names))
        if name == "w":
            Path("pipe").read_text()  # Until another one opens it too.
        elif name == "g":
            Path("pipe").write_text("")
        elif name == "k":
            os.kill(os.getpid(), signal.SIGKILL)
        tell(number, f"{number}{name}")


def streamed(arguments: Sequence[str], jobs: int) -> dict[int, list[str]]:
    found: dict[int, list[str]] = {}
    ended: set[int] = set()
    for number, value in stream(letters, arguments, jobs, Settings(max_seconds=100.0)):
        assert number not in ended
        if isinstance(value, Finished):
            ended.add(number)
        elif value != "begin":
            found.setdefault(number, []).append(value)
    assert ended == set(range(len(arguments)))
    return found


def test_each_step_is_answered_once() -> None:
    name = "abcdefij" * 20
    expected = [f"{number}{letter}" for number, letter in enumerate(name)]
    found = streamed([name, "", name, "a"], 3)
    assert sorted(found[0]) == sorted(found[2]) == sorted(expected) and found[3] == ["0a"]


def test_a_worker_with_nothing_to_do_takes_over_steps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The first step waits for the last one.
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe")
    found = streamed(["w" + "a" * 6 + "g"], 2)
    assert sorted(found[0]) == ["0w", *(f"{number}a" for number in range(1, 7)), "7g"]


def test_steps_that_are_done_are_not_done_again_after_a_death() -> None:
    assert streamed(["abkcd"], 1) == {0: ["0a", "1b", "2K", "3c", "4d"]}


def test_what_is_not_read_any_more_ends_the_workers() -> None:
    found = stream(letters, ["abc"], 1, DEFAULT)
    assert next(found) == (0, "begin")
    found.close()


def test_a_long_path_of_the_temporary_folder_is_no_obstacle(tmp_path: Path) -> None:
    folder = tmp_path / ("t" * 80)
    folder.mkdir()
    (tmp_path / "a.c").write_text("void f(int n, double *a) { for (int i = 0; i < n; i++) a[i] = 0; }\n")
    ran = subprocess.run(
        (sys.executable, "-m", "polylsp", "check", "--no-cache", "a.c"),
        cwd=tmp_path,
        env={**os.environ, "TMPDIR": str(folder)},
        capture_output=True,
        text=True,
    )
    assert (ran.returncode, ran.stderr) == (0, "") and "1 parallel" in ran.stdout
