"""Compiler options from compile_commands.json and the settings."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from polylsp.core.settings import Settings
from polylsp.frontends.c import compile_options
from polylsp.frontends.c.compile_options import options_for, project_of


def database(folder: Path, *entries: dict[str, Any]) -> None:
    (folder / "compile_commands.json").write_text(json.dumps(entries))


FLAGS = [
    "cc",
    "-Iinc",
    "-I",
    "/abs",
    "-isystem",
    "sys",
    "-iquote",
    "q",
    "-DA",
    "-D",
    "B=2",
    "-UC",
    "-include",
    "pre.h",
]


@pytest.mark.parametrize("form", ["command", "arguments"])
def test_both_forms_are_read_relative_to_their_directory(tmp_path: Path, form: str):
    (tmp_path / "build").mkdir()
    (tmp_path / "build" / "pre.h").touch()
    arguments = [*FLAGS, "-c", "../src/a.c"]
    value = " ".join(arguments) if form == "command" else arguments
    database(tmp_path, {"directory": str(tmp_path / "build"), "file": "../src/a.c", form: value})
    found = options_for(str(tmp_path / "src" / "a.c"), Settings())
    build = tmp_path / "build"
    assert found.include_paths == (str(build / "inc"), "/abs")
    assert found.system_paths == (str(build / "sys"),)
    assert found.quote_paths == (str(build / "q"),)
    assert found.defines == ("A", "B=2")
    assert found.undefines == ("C",)
    assert found.forced_includes == (str(build / "pre.h"),)
    assert found.problem == ""


def test_quotes_in_a_command(tmp_path: Path):
    command = 'cc \'-DNAME="x y"\' -I"dir with space" a.c'
    database(tmp_path, {"directory": str(tmp_path), "file": "a.c", "command": command})
    found = options_for(str(tmp_path / "a.c"), Settings())
    assert found.defines == ('NAME="x y"',)
    assert found.include_paths == (str(tmp_path / "dir with space"),)


def test_the_settings_come_first_and_win(tmp_path: Path):
    database(
        tmp_path, {"directory": str(tmp_path), "file": "a.c", "arguments": ["cc", "-Ione", "-DN=1", "-UM"]}
    )
    settings = Settings(include_paths=(str(tmp_path / "two"),), defines=("N=2", "M"))
    found = options_for(str(tmp_path / "a.c"), settings)
    assert found.include_paths == (str(tmp_path / "two"), str(tmp_path / "one"))
    assert found.defines == ("N=2", "M")
    assert found.undefines == ()


def test_a_named_folder_is_used_instead_of_the_one_above(tmp_path: Path):
    (tmp_path / "other").mkdir()
    database(tmp_path, {"directory": str(tmp_path), "file": "a.c", "arguments": ["cc", "-DABOVE"]})
    database(tmp_path / "other", {"directory": str(tmp_path), "file": "a.c", "arguments": ["cc", "-DNAMED"]})
    found = options_for(str(tmp_path / "a.c"), Settings(compile_commands=str(tmp_path / "other")))
    assert found.defines == ("NAMED",)


def test_a_named_folder_without_a_database_is_told(tmp_path: Path):
    found = options_for(str(tmp_path / "a.c"), Settings(compile_commands=str(tmp_path)))
    assert "compile_commands.json" in found.problem


def test_a_new_file_takes_the_options_of_its_folder(tmp_path: Path):
    database(tmp_path, {"directory": str(tmp_path), "file": "a.c", "arguments": ["cc", "-DX"]})
    assert options_for(str(tmp_path / "new.c"), Settings()).defines == ("X",)
    assert options_for(str(tmp_path / "deeper" / "new.c"), Settings()).defines == ()


@pytest.mark.parametrize(
    "text", ["{", "3", '[{"file": 1}, 5, {"file": "a.c", "command": "cc \'"}]', "\xff", ""]
)
def test_a_broken_database_is_a_value(tmp_path: Path, text: str):
    (tmp_path / "compile_commands.json").write_bytes(text.encode("latin-1"))
    found = options_for(str(tmp_path / "a.c"), Settings(defines=("KEPT",)))
    assert found.defines == ("KEPT",)
    assert bool(found.problem) == (not text.startswith("["))


def test_a_change_on_disk_is_seen(tmp_path: Path):
    path = str(tmp_path / "a.c")
    for turn, name in enumerate(("ONE", "TWO")):
        database(tmp_path, {"directory": str(tmp_path), "file": "a.c", "arguments": ["cc", f"-D{name}"]})
        os.utime(tmp_path / "compile_commands.json", (turn, turn))
        assert options_for(path, Settings()).defines == (name,)


def test_openmp_defines_its_macro(tmp_path: Path):
    database(tmp_path, {"directory": str(tmp_path), "file": "a.c", "arguments": ["cc", "-fopenmp"]})
    assert options_for(str(tmp_path / "a.c"), Settings()).defines == ("_OPENMP=201511",)


def test_below_a_folder_that_many_projects_share_nothing_is_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "far.h").write_text("")
    (tmp_path / "near.h").write_text("")
    path = str(tmp_path / "a.c")
    assert project_of(path).header("far.h", str(tmp_path)) == str(tmp_path / "one" / "far.h")
    monkeypatch.setenv("HOME", str(tmp_path))
    compile_options._projects.clear()
    found = project_of(path)
    assert found.header("far.h", str(tmp_path)) is None
    assert found.header("near.h", str(tmp_path)) == str(tmp_path / "near.h")
