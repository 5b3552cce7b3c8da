"""Settings in a file of the project."""

from __future__ import annotations

import os
from pathlib import Path

import facts
import pytest

from polylsp.core.project import Project, project_of
from polylsp.core.settings import Settings


@pytest.fixture(autouse=True)
def file(polylsp, tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text(facts.MANY)


def settings_for(known: list[tuple[str, Settings]], path: str = "a.c") -> Settings:
    return {os.path.normpath(name): settings for name, settings in known}[path]


@pytest.mark.parametrize(
    ("name", "head"), [(".polylsp.toml", ""), ("pyproject.toml", "[tool.other]\nx = 1\n[tool.polylsp]\n")]
)
def test_values_of_every_type_are_read(polylsp, known, tmp_path: Path, name: str, head: str) -> None:
    text = 'disabled_diagnostics = ["parallel-loop"]\nmax_seconds = 3\ncache = false\ntile_sizes = [8, 16]\n'
    (tmp_path / name).write_text(head + text)
    ran = polylsp("check")
    assert ran.status == 0 and "parallel-loop" not in ran.out and "reduction-loop" in ran.out
    assert settings_for(known) == Settings(
        disabled_diagnostics=("parallel-loop",), max_seconds=3.0, cache=False, tile_sizes=(8, 16)
    )


def test_the_command_line_comes_before_the_file_and_that_before_defaults(
    polylsp, known, tmp_path: Path
) -> None:
    (tmp_path / ".polylsp.toml").write_text(
        'least_severity = "error"\nmax_file_mb = 5\ncache_kb = 64\ndefines = ["N=1"]\n'
        "parallel_threshold = 7\n"
    )
    polylsp(
        "check", "--severity", "hint", "--max-file-mb", "9", "-D", "N=2", "--setting", "cache_kb=32", "a.c"
    )
    assert settings_for(known) == Settings(max_file_mb=9, cache_kb=32, defines=("N=2",), parallel_threshold=7)
    polylsp("check", "--isolated", "a.c")
    assert settings_for(known) == Settings()


@pytest.mark.usefixtures("known")
def test_the_nearest_file_counts_for_each_source_file(polylsp, known, tmp_path: Path) -> None:
    inner = tmp_path / "inner" / "deep"
    inner.mkdir(parents=True)
    (inner / "b.c").write_text(facts.MANY)
    (tmp_path / ".polylsp.toml").write_text(
        'include_paths = ["inc"]\nmax_seconds = 2\ncompile_commands = "build"'
    )
    (tmp_path / "inner" / "pyproject.toml").write_text('[tool.polylsp]\ninclude_paths = ["inc", "/abs"]')
    (inner / "pyproject.toml").write_text("# nothing of polylsp\n[tool.ruff]\n")
    polylsp("check", ".")
    outer = settings_for(known)
    assert outer.include_paths == (str(tmp_path / "inc"),) and outer.max_seconds == 2
    assert outer.compile_commands == str(tmp_path / "build")
    assert settings_for(known, "inner/deep/b.c") == Settings(
        include_paths=(str(tmp_path / "inner" / "inc"), "/abs")
    )


def test_an_own_file_comes_before_the_shared_one(polylsp, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.polylsp]\ncache = false")
    assert project_of(tmp_path / "a.c").values == (("cache", False),)
    (tmp_path / ".polylsp.toml").write_text("cache_kb = 1")
    assert project_of(tmp_path / "a.c").values == (("cache_kb", 1),)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("cache = true\nmax_second = 3", ":2: there is no setting `max_second`; did you mean `max_seconds`?"),
        ("maxSeconds = 3", ":1: there is no setting `maxSeconds`; did you mean `max_seconds`?"),
        ("zzz = 3", ":1: there is no setting `zzz`\n"),
        ("\n[zzz]\na = 3", ":2: there is no setting `zzz`\n"),
        ('max_seconds = "3"', ":1: `max_seconds` must be a number"),
        ("max_seconds = 0", ":1: `max_seconds` must be more than 0"),
        ("max_seconds = 2e6", ":1: `max_seconds` must not be more than 100000"),
        ("max_seconds = inf", ":1: `max_seconds` is too large"),
        ("max_seconds = nan", ":1: `max_seconds` is too large"),
        ("max_memory_mb = 1" + 40 * "0", ":1: `max_memory_mb` is too large"),
        ("max_operations = 1" + 9000 * "0", ".toml: not TOML: "),
        ("max_operations = true", ":1: `max_operations` must be a whole number"),
        ('cache = "no"', ":1: `cache` must be true or false"),
        ('defines = "N"', ":1: `defines` must be a list of strings"),
        ('defines = ["1X"]', ":1: `defines` must be a list of NAME or NAME=VALUE"),
        ("defines = [1]", ":1: `defines` must be a list of strings"),
        ("tile_sizes = [1, 2.5]", ":1: `tile_sizes` must be a whole number"),
        ('least_severity = "loud"', ":1: `least_severity` must be one of error, warning, information, hint"),
        ('disabled_diagnostics = ["paralel-loop"]', "paralel-loop is no code of a finding"),
        ("cache = \n", ":1: not TOML: invalid value"),
        ("cache = true\ncache = false", ".toml: not TOML: "),
        (500 * "[" + 500 * "]", ".toml"),
        (f"defines = {2000 * '['}", ".toml"),
    ],
)
@pytest.mark.parametrize("command", ["check", "offload"])
def test_a_wrong_file_is_one_message_and_status_2(
    polylsp, tmp_path: Path, text: str, words: str, command: str
) -> None:
    (tmp_path / ".polylsp.toml").write_text(text)
    target = ("--target", "openmp") if command == "offload" else ()
    ran = polylsp(command, "a.c:2" if target else "a.c", *target)
    assert (ran.status, ran.out) == (2, "")
    assert ran.err.startswith(f"polylsp: {tmp_path}/.polylsp.toml") and words in ran.err
    assert ran.err.count("\n") == 1


@pytest.mark.parametrize(
    "text",
    [
        'c_compiler = "./cc"',
        'cuda_compiler = "./nvcc"',
        'python_interpreter = "./python"',
        'allowed_programs = ["*"]',
        'cluster = "evil:1"',
        'sizes = ["n=9"]',
        "max_measure_seconds = 1000.0",
    ],
)
def test_settings_about_programs_that_are_run_are_refused(polylsp, tmp_path: Path, text: str) -> None:
    (tmp_path / "pyproject.toml").write_text(f"[tool.polylsp]\n{text}\n")
    ran = polylsp("check", "a.c")
    name = text.split(" ")[0]
    assert ran.status == 2
    assert f"pyproject.toml:2: `{name}` is not taken from a file of the project" in ran.err


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("max_seconds = 1000.0", 2),
        ("max_memory_mb = 9000", 2),
        ("max_memory_mb = 0", 2),
        ("max_file_mb = 64", 2),
        ("max_seconds = 5.0", 0),
        ("max_memory_mb = 1024", 0),
    ],
)
def test_limits_are_lowered_in_a_project_not_raised(polylsp, tmp_path: Path, text: str, status: int) -> None:
    (tmp_path / "pyproject.toml").write_text(f"[tool.polylsp]\n{text}\n")
    (tmp_path / "a.c").write_text("void f(void) {}\n")
    ran = polylsp("check", "a.c")
    name = text.split(" ")[0]
    assert ran.status == status
    assert (f"pyproject.toml:2: `{name}` can only be lowered in a file of the project" in ran.err) == bool(
        status
    )


@pytest.mark.usefixtures("known")
@pytest.mark.parametrize("text", ["[tool]\npolylsp = 3", "[[tool.polylsp]]\n"])
def test_the_section_is_a_table(polylsp, tmp_path: Path, text: str) -> None:
    (tmp_path / "pyproject.toml").write_text(text)
    ran = polylsp("check", "a.c")
    assert ran.status == 2 and "`tool.polylsp` must be a table of settings" in ran.err


@pytest.mark.usefixtures("known")
def test_files_that_cannot_be_read(polylsp, tmp_path: Path) -> None:
    (tmp_path / ".polylsp.toml").write_bytes("# naïve".encode("latin-1"))
    ran = polylsp("check", "a.c")
    assert (ran.status, ran.err) == (2, f"polylsp: {tmp_path}/.polylsp.toml: not UTF-8, as TOML must be\n")
    (tmp_path / ".polylsp.toml").unlink()
    os.mkfifo(tmp_path / ".polylsp.toml")
    (tmp_path / "pyproject.toml").mkdir()
    assert polylsp("check", "a.c").status == 0


def test_a_client_comes_before_the_project() -> None:
    project = Project("x", (("max_seconds", 3.0), ("cache", False)))
    assert project.beneath(Settings(max_seconds=4.0)) == Settings(max_seconds=4.0, cache=False)
