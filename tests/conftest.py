"""Options of the test run, and which part of the sweeps it takes; in CI a test that is skipped has failed."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Generator
from itertools import count
from pathlib import Path

import pytest

from tests.extent import IS_WHOLE, stride
from tests.loud import be_loud

be_loud()

_CACHES = Path(tempfile.mkdtemp(prefix="polylsp-tests-"))
_NUMBERS = count()
atexit.register(shutil.rmtree, _CACHES, ignore_errors=True)


def _use_new_cache() -> None:
    """Nothing that polylsp keeps gets into the user's folder, or from one test to the next."""
    os.environ["POLYLSP_CACHE_DIR"] = str(_CACHES / str(next(_NUMBERS)))


_use_new_cache()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update", action="store_true", help="rewrite golden fences in tests/cases and tests/actions"
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "sweep(stride): over all samples, of which `make test` takes a part")
    config.addinivalue_line("markers", "release: asks in depth what others ask in part; for `make test-all`")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is for a whole run alone, unless some tests are named."""
    if IS_WHOLE or config.getoption("keyword") or any("::" in each for each in config.args):
        return
    seen: Counter[str] = Counter()
    left_out: list[pytest.Item] = []
    for item in items:
        sweep = item.get_closest_marker("sweep")
        if item.get_closest_marker("release") is not None:
            left_out.append(item)
        elif sweep is not None:
            name = item.nodeid.partition("[")[0]
            if seen[name] % stride(*sweep.args):
                left_out.append(item)
            seen[name] += 1
    config.hook.pytest_deselected(items=left_out)
    gone = set(left_out)
    items[:] = [item for item in items if item not in gone]


def pytest_runtest_setup() -> None:
    _use_new_cache()


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    return _strict((yield))


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    _strict(report)
    return report


def _strict(report: pytest.TestReport | pytest.CollectReport) -> pytest.TestReport | pytest.CollectReport:
    """A machine that lacks a tool skips its tests; CI must not, or they would be skipped for ever."""
    if report.skipped and not hasattr(report, "wasxfail") and os.environ.get("CI") == "true":
        report.outcome = "failed"
        report.longrepr = f"Skipped, which CI does not allow: {report.longrepr}"
    return report
