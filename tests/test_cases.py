"""Every Markdown suite: tests/cases/**/*.md, and the page of each diagnostic code."""

from __future__ import annotations

from pathlib import Path

import pytest
from cases_markdown import Case, cases
from cases_runner import mismatches

from polylsp.engine.queries import analyse

ROOT = Path(__file__).parent.parent
DOCS = sorted((ROOT / "polylsp/ide/docs").glob("*.md"))
PAGES = [page for page in DOCS if page.stem not in ("cuda", "running-code")]
"""Pages about a code."""
SUITES = [*sorted((ROOT / "tests/cases").rglob("*.md")), *DOCS]
CASES = [case for suite in SUITES for case in cases(suite)]


def _name(case: Case) -> str:
    return f"{case.path.relative_to(ROOT).as_posix()}: {case.title}".replace("::", ":")


@pytest.mark.parametrize("case", CASES, ids=_name)
def test_case(case: Case, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    found = mismatches(case, analyse, tmp_path, update=request.config.getoption("update"))
    if found:
        pytest.fail("\n".join(line.replace(f"{ROOT}/", "") for line in found), pytrace=False)


# No code of C stands for a bug of ours: there is no example of one.
@pytest.mark.parametrize("page", [p for p in PAGES if p.stem != "internal-error"], ids=lambda p: p.stem)
def test_a_page_shows_a_failing_and_a_fixed_example(page: Path) -> None:
    assert len(cases(page)) >= 2
