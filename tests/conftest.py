"""Options of the test run; in CI a test that is skipped has failed."""

from __future__ import annotations

import os
from collections.abc import Generator

import pytest

from tests.loud import be_loud

be_loud()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update", action="store_true", help="rewrite golden fences in tests/cases and tests/actions"
    )


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
