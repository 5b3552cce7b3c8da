"""The promises of the Makefile, of .ci/run and of the options of the test run."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

NO_TOOL = "pytest.skip('no such tool'"
SKIPPING = {
    "a test": f"def test_one():\n    {NO_TOOL})\n",
    "a mark": "@pytest.mark.skipif(True, reason='no such tool')\ndef test_one():\n    pass\n",
    "a module": f"{NO_TOOL}, allow_module_level=True)\n",
    "a fixture": f"@pytest.fixture\ndef tool():\n    {NO_TOOL})\n\ndef test_one(tool):\n    pass\n",
}


def run_tests(folder: Path, text: str, ci: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Run a test file, and one that passes, with the hooks of this project."""
    (folder / "tests").mkdir(exist_ok=True)
    shutil.copy(ROOT / "tests/conftest.py", folder)
    for name in ("loud.py", "extent.py"):
        shutil.copy(ROOT / "tests" / name, folder / "tests")
    (folder / "test_given.py").write_text(f"import pytest\n\n{text}")
    (folder / "test_passing.py").write_text("def test_two():\n    pass\n")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", *options],
        cwd=folder,
        env={**environment, "CI": ci},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("options", [[], ["-n", "1"]], ids=["one process", "xdist"])
def test_a_skip_fails_in_ci_alone(tmp_path: Path, options: list[str]) -> None:
    for number, text in enumerate(SKIPPING.values()):
        (tmp_path / f"test_skipping{number}.py").write_text(f"import pytest\n\n{text}")
    count = len(SKIPPING)
    all_files = ("-rfEs", "--continue-on-collection-errors", *options)
    in_ci = run_tests(tmp_path, "", "true", *all_files)
    assert in_ci.returncode != 0 and in_ci.stdout.count("Skipped, which CI does not allow") >= count
    failed = set(re.findall(r"^(?:FAILED|ERROR) test_skipping(\d)", in_ci.stdout, re.MULTILINE))
    assert failed == {str(number) for number in range(count)}
    elsewhere = run_tests(tmp_path, "", "", *all_files)
    assert elsewhere.returncode == 0 and elsewhere.stdout.count("no such tool") == count


SWEEP = """@pytest.mark.sweep
@pytest.mark.parametrize("size", range(4))
@pytest.mark.parametrize("sample", range(6))
def test_one(sample, size):
    print(f"ran {size} of {sample}")


@pytest.mark.parametrize("sample", range(6))
def test_three(sample):
    pass


@pytest.mark.sweep(7)
@pytest.mark.parametrize("sample", range(8))
def test_slow(sample):
    pass


@pytest.mark.release
def test_in_depth():
    pass
"""


def test_a_part_of_a_sweep_has_every_variant_and_every_sample(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("POLYLSP_TESTS", raising=False)
    part = run_tests(tmp_path, SWEEP, "true", "-s").stdout
    ran = re.findall(r"ran (\d) of (\d)", part)
    assert len(ran) == 8 and {size for size, _ in ran} == {*"0123"} and {at for _, at in ran} == {*"012345"}
    assert "17 passed, 23 deselected" in part
    named = run_tests(tmp_path, SWEEP, "true", "-s", "test_given.py::test_one").stdout
    assert "24 passed" in named


def test_a_whole_run_leaves_nothing_of_a_sweep_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POLYLSP_TESTS", "all")
    assert "40 passed" in run_tests(tmp_path, SWEEP, "true").stdout


def test_an_expected_failure_is_no_skip(tmp_path: Path) -> None:
    ran = run_tests(tmp_path, "@pytest.mark.xfail\ndef test_one():\n    assert False\n", "true")
    assert ran.returncode == 0, ran.stdout


@pytest.mark.parametrize(
    "target",
    [
        *("setup", "demo", "test", "test-all", "lint", "vsix", "first-steps", "test-editors", "soak"),
        *(
            "bench-latency",
            "bench-transform",
            "bench-speed",
            "bench-gpu",
            "bench-measure",
            "test-gpu",
            "clean",
        ),
    ],
)
def test_every_promised_target_is_there(target: str) -> None:
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.MULTILINE)


def test_the_script_for_ci_is_sound() -> None:
    script = ROOT / ".ci/run"
    assert os.access(script, os.X_OK)
    subprocess.run(["bash", "-n", str(script)], check=True)
    assert script.read_text().endswith("\nmake test\nmake test-editors\n")


def test_every_dependency_has_a_tried_version() -> None:
    """Dependencies of pyproject.toml stand in constraints.txt, and no entry there names a host."""
    text = (ROOT / "constraints.txt").read_text()
    pinned = set(re.findall(r"^([a-z0-9-]+)==", text, re.MULTILINE))
    project = (ROOT / "pyproject.toml").read_text()
    lists = re.findall(r"^(?:dependencies|dev) = \[(.*?)^\]", project, re.MULTILINE | re.DOTALL)
    asked = {name for each in lists for name in re.findall(r'"([A-Za-z0-9-]+)', each)}
    assert len(asked) > 15
    assert asked <= pinned
    assert "://" not in text and "--" not in text.replace("`", "")
