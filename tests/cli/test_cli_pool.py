from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from polylsp.cli.pool import Crashed, Observer, Work, results
from polylsp.settings import Settings

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
            signal.pause()
        elif name == "m":
            bytearray(2**40)
        elif name == "k":
            os.kill(os.getpid(), signal.SIGKILL)
    return "".join(name.upper() if name in given_up else name for name in names)


def keeps_dying(_: str, _given_up: frozenset[str], observe: Observer) -> str:
    observe("f", "f", 0, 0)
    os.kill(os.getpid(), signal.SIGKILL)
    return ""


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


def test_names_of_files_mean_the_same_in_a_worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert mapped(where, ["a.c"]) == [str(tmp_path / "a.c")]
