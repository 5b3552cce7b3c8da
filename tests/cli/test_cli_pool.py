from __future__ import annotations

import os
import signal

import pytest

from polylsp.cli.pool import Crashed, results


def square_unless_thirteen(number: int) -> int:
    if number == 13:
        os.kill(os.getpid(), signal.SIGKILL)
    return number * number


def fails(number: int) -> int:
    raise ValueError(number)


def test_results_are_in_order() -> None:
    assert list(results(square_unless_thirteen, [5, 1, 4, 2, 3], 2)) == [25, 1, 16, 4, 9]


def test_only_the_argument_that_killed_its_process_has_no_result() -> None:
    assert list(results(square_unless_thirteen, [1, 13, 2, 3], 2)) == [1, Crashed(), 4, 9]


def test_an_exception_is_not_hidden() -> None:
    with pytest.raises(ValueError, match="7"):
        list(results(fails, [7, 8], 2))
