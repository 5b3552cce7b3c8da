"""The pages about the codes: one for each, none without a code; what they claim is run elsewhere."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import pytest

from polylsp.ide.code_pages import FOLDER, page_path, page_summary, page_text, page_uri
from polylsp.ide.diagnostics import ARRAY_CODES, LOOP_CODES, MEASUREMENT_CODES, PRAGMA_CODES
from polylsp.ir.program import RejectionCode

REJECTIONS: tuple[str, ...] = get_args(RejectionCode)
CODES = (*LOOP_CODES, *ARRAY_CODES, *PRAGMA_CODES, *REJECTIONS)
EXAMPLE = re.compile(r"^```c(?! *file=)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PYTHON_EXAMPLE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PYTHON_ONLY = ("generic-iterable", "array-temporaries", "whole-arrays")


def gives(example: str, code: str) -> bool:
    """True if an example expects the code of a diagnostic or a rejection."""
    return bool(re.search(rf"(?<!no-)code: {code}\b|reject\([^)]*\b{code}\b|problem: {code}\b", example))


# No code of C stands for a bug of ours: there is no example of one.
@pytest.mark.parametrize("code", [code for code in CODES if code != "internal-error"])
def test_a_page_has_an_example_that_gives_the_code_and_one_that_does_not(code: str) -> None:
    examples = (PYTHON_EXAMPLE if code in PYTHON_ONLY else EXAMPLE).findall(page_text(code))
    assert len(examples) >= 2
    assert gives(examples[0], code)
    for example in examples[1:]:
        assert not gives(example, code)
        # An expectation that the code would break checks the counterexample.
        assert f"no-code: {code}" in example if code not in REJECTIONS else " verdict:" in example


@pytest.mark.parametrize("code", [*CODES, *MEASUREMENT_CODES])
def test_a_page_begins_with_its_code_and_a_sentence(code: str) -> None:
    assert page_text(code).startswith(f"# {code}\n\n")
    summary = page_summary(code)
    assert summary[0].isupper() and summary.endswith((".", ":")) and len(summary) < 1000
    assert page_uri(code) == page_path(code).as_uri()


def test_no_page_is_orphaned_and_none_links_into_the_void() -> None:
    assert {path.stem for path in FOLDER.glob("*")} == {*CODES, *MEASUREMENT_CODES, "cuda", "running-code"}
    for path in FOLDER.glob("*.md"):
        for target in re.findall(r"\]\(([^)]*)\)", path.read_text(encoding="utf-8")):
            assert (Path(FOLDER) / target).is_file(), f"{path.name} links to {target}"
