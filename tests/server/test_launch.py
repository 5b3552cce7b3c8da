"""No process of ours takes a file in the working directory for a module."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import indent
from typing import Any

import pytest

from polylsp import launch
from polylsp.cli import pool
from polylsp.core.processes import frame
from polylsp.core.settings import Settings
from polylsp.model.action import Ask
from polylsp.server.kernel_compiler import COMMAND, Errand

C_TEXT = "void f(int n, double *restrict a)\n{\n    for (int i = 0; i < n; i++)\n        a[i] *= 2.0;\n}\n"
PYTHON_TEXT = (
    "import numpy as np\n\ndef f(n: int, a: np.ndarray):\n    for i in range(n):\n        a[i] = 2.0 * a[i]\n"
)
START = (
    "import os, sys\n"
    "sys.path[:0] = ['', '.', 'beside', os.getcwd()]\n"
    "os.environ['PYTHONPATH'] = f':.:beside:{os.getcwd()}'\n"
    "from polylsp.cli import main\n"
    "sys.exit(main(sys.argv[1:]))\n"
)
"""A first process with all of that on its path; Python has loaded `os` and `sys` before it looks there. It is
a script elsewhere: for `-c`, Python 3.14 itself loads modules from the working directory."""

SPAWN = (
    "import polylsp.cli.pool\n"
    "import multiprocessing\n"
    "child = multiprocessing.get_context('spawn').Process(target=print, args=('child',))\n"
    "child.start()\n"
    "child.join()\n"
)


class Trap:
    """A folder with a module of every name that ours import, each of which leaves a mark."""

    def __init__(self, folder: Path) -> None:
        self.folder, self._marks = folder, folder.with_name("marks")
        self._marks.mkdir()
        ours = (
            "pygls",
            "lsprotocol",
            "islpy",
            "pycparser",
            "pcpp",
            "cattrs",
            "rich",
            "attrs",
            "numpy",
            "cuda",
        )
        for place in (folder, folder / "beside"):
            place.mkdir()
            for name in {*sys.stdlib_module_names, *ours, "sitecustomize", "usercustomize"}:
                (place / f"{name}.py").write_text(f"open({str(self._marks / name)!r}, 'w').close()\n")
        (folder / "a.c").write_text(C_TEXT)
        (folder / "b.c").write_text(C_TEXT)

    def sprung(self) -> list[str]:
        return sorted(each.name for each in self._marks.iterdir())


@pytest.fixture
def trap(tmp_path: Path) -> Iterator[Trap]:
    made = Trap(tmp_path / "project")
    yield made
    assert made.sprung() == []


Run = Callable[..., "subprocess.CompletedProcess[str]"]


def script(folder: Path, code: str) -> tuple[str, str]:
    """The command that runs a script of this text, which processes that it spawns do not run again."""
    path = folder / "scripts" / "start.py"
    path.parent.mkdir(exist_ok=True)
    path.write_text('if __name__ == "__main__":\n' + indent(code, "    "))
    return sys.executable, str(path)


@pytest.fixture
def run(trap: Trap, tmp_path: Path) -> Run:
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}

    def in_the_trap(*words: str, code: str = START) -> subprocess.CompletedProcess[str]:
        command = [*script(tmp_path, code), *words]
        return subprocess.run(
            command, cwd=trap.folder, env=environment, capture_output=True, text=True, check=False
        )

    return in_the_trap


def test_the_trap_works(tmp_path: Path) -> None:
    made = Trap(tmp_path / "project")
    code = START.partition("from polylsp")[0] + "import dataclasses\n"
    subprocess.run(script(tmp_path, code), cwd=made.folder, check=True)
    assert "dataclasses" in made.sprung()


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (("check", "--jobs", "2", "a.c", "b.c"), 0),
        (("check", "--format", "json", "a.c"), 0),
        (("explain", "a.c:3"), 0),
        (("model", "a.c"), 0),
        (("offload", "a.c:3", "--target", "openmp", "--diff"), 0),
        (("measure", "a.c:3", "--set", "n=64", "--target", "openmp"), 0),
        (("doctor",), 0),
    ],
    ids=lambda given: given[0] if isinstance(given, tuple) else "",
)
def test_commands_import_nothing_of_the_folder_they_run_in(
    run: Run, words: tuple[str, ...], status: int
) -> None:
    done = run(*words)
    assert (done.returncode, bool(done.stdout)) == (status, True), done.stderr


def test_a_measured_interpreter_imports_nothing_of_the_working_directory(run: Run, tmp_path: Path) -> None:
    source = tmp_path / "source" / "f.py"
    source.parent.mkdir()
    source.write_text(PYTHON_TEXT)
    done = run("measure", f"{source}:4", "--set", "n=64", "--target", "numba")
    assert "Numba" in done.stdout, done.stderr


def test_children_that_are_spawned_import_nothing_of_it(run: Run) -> None:
    done = run(code=START.partition("sys.exit")[0] + SPAWN)
    assert done.stdout == "child\n", done.stderr


def test_a_batch_on_a_worker_of_a_cluster_imports_nothing_of_it(trap: Trap) -> None:
    batch = pickle.dumps((check_one, ["a.c"], Settings()))
    (length,) = pickle.loads(pool.done_here(batch, str(trap.folder)))
    assert length == len(C_TEXT)


def check_one(path: str, _given_up: object, _observe: object) -> int:
    return len(Path(path).read_text())


@pytest.mark.asyncio
async def test_nothing_of_it_is_imported_for_a_file_that_is_opened_and_measured(
    trap: Trap, start: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(trap.folder)
    editor = await start("nvim-bookworm", *script(tmp_path, START), "serve")
    uri = editor.open(C_TEXT, uri=(trap.folder / "a.c").as_uri())
    await editor.diagnostics(uri, 1, "parallel-loop")
    found = await editor.execute("polylsp.measure", {"uri": uri, "function": "f", "ordinal": 1})
    assert found["original"]["runs"] >= 5


def test_nothing_of_it_is_imported_for_kernels_that_are_compiled(trap: Trap) -> None:
    errand = frame(Errand("a.c", C_TEXT, Settings(), (Ask("cuda", "f", 0, 1),)))
    done = subprocess.run(COMMAND, cwd=trap.folder, input=errand, capture_output=True, check=True)
    assert done.stdout


def test_a_command_keeps_the_search_path_but_for_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, other = tmp_path / "here", tmp_path / "other"
    here.mkdir()
    (tmp_path / "link").symlink_to(here)
    monkeypatch.chdir(here)
    monkeypatch.setattr(sys, "path", ["", ".", "sub", str(here), str(tmp_path / "link"), str(other)])
    assert launch.entry_point_command("a:b")[-2:] == ("a:b", str(other))
    monkeypatch.chdir(Path(launch.__file__).parents[1])
    monkeypatch.setattr(sys, "path", [str(Path.cwd())])
    assert launch.entry_point_command("a:b")[-1] == str(Path.cwd())
