"""Compilers and interpreters that a project brings are not run, however they are named."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from polylsp.core.settings import Settings
from polylsp.measuring import tools as machine
from polylsp.measuring.python_versions import interpreter_for
from polylsp.measuring.toolchains import Compiler, CudaCompiler, NoCompiler, compiler_for, cuda_compiler
from polylsp.measuring.tools import NotBuilt, programs_for

Naming = Callable[[Path], str]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace with a source in a folder, and programs beside it; the working directory is elsewhere."""
    made = tmp_path / "project"
    (made / "src").mkdir(parents=True)
    (made / "tools").mkdir()
    for name in ("gcc", "python3", "nvcc", "planted"):
        (made / "tools" / name).write_text("#!/bin/sh\n")
        (made / "tools" / name).chmod(0o755)
    (made / "src" / "a.c").write_text("int x;\n")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    return made


def linked(project: Path, name: str, target: str) -> str:
    """A link in a folder beside the project."""
    made = project.with_name("elsewhere") / name
    made.symlink_to(target)
    return str(made)


WAYS: dict[str, Naming] = {
    "its path": lambda project: f"{project}/tools/NAME",
    "dots": lambda project: f"/usr/bin/../..{project}/src/../tools/NAME",
    "a link to it": lambda project: linked(project, "NAME", f"{project}/tools/NAME"),
    "a link to its folder": lambda project: f"{linked(project, 'bin', f'{project}/tools')}/NAME",
    "the root of a process": lambda project: f"/proc/self/root{project}/tools/NAME",
    "relative to the workspace": lambda _: "tools/NAME",
    "from the workspace": lambda _: "${workspaceFolder}/tools/NAME",
}


def named(way: str, project: Path, name: str) -> str:
    found = WAYS[way](project)
    if "NAME" in found and not found.startswith("$"):
        link = project.with_name("elsewhere") / "NAME"
        if link.is_symlink():
            link.unlink()
            link.with_name(name).symlink_to(project / "tools" / name)
    return found.replace("NAME", name)


@pytest.mark.parametrize("way", WAYS)
def test_programs_of_the_workspace_are_refused_in_settings(project: Path, way: str) -> None:
    source, workspace = str(project / "src" / "a.c"), (str(project),)
    compiler = compiler_for(source, Settings(c_compiler=named(way, project, "gcc")), workspace)
    assert isinstance(compiler, NoCompiler) and "of the project itself" in compiler.reason


@pytest.mark.parametrize("way", WAYS)
def test_interpreters_and_compilers_of_kernels_are_judged_alike(project: Path, way: str) -> None:
    source, workspace = str(project / "src" / "a.py"), (str(project),)
    name = "python3" if "link" in way else "nvcc"
    given = named(way, project, name)
    settings = Settings(python_interpreter=given) if name == "python3" else Settings(cuda_compiler=given)
    if name == "python3":
        found = interpreter_for(source, settings, workspace)
    else:
        found = cuda_compiler(settings, programs_for(source, settings, workspace))
    assert isinstance(found, NotBuilt) and "of the project itself" in found.reason


@pytest.mark.parametrize(
    "written", ["PROJECT/tools/gcc", "tools/gcc", "src/../tools/gcc", "./tools/link/gcc"]
)
@pytest.mark.parametrize("place", ["", "build"])
def test_programs_of_the_project_are_refused_in_a_database(project: Path, written: str, place: str) -> None:
    (project / "tools" / "link").symlink_to(".")
    source = project / "src" / "a.c"
    words = [written.replace("PROJECT", str(project)), "-c", str(source)]
    entry = {"directory": str(project), "file": str(source), "arguments": words}
    (project / place).mkdir(exist_ok=True)
    (project / place / "compile_commands.json").write_text(json.dumps([entry]))
    found = compiler_for(str(source), Settings())
    assert isinstance(found, NoCompiler) and "of the project itself" in found.reason


@pytest.mark.parametrize("pattern", ["PROJECT/tools/*", "PROJECT/*/gcc", "PROJECT/tools/gcc"])
def test_what_the_user_allows_is_run(project: Path, pattern: str) -> None:
    settings = Settings(c_compiler="tools/gcc", allowed_programs=(pattern.replace("PROJECT", str(project)),))
    found = compiler_for(str(project / "src" / "a.c"), settings, (str(project),))
    assert found == Compiler(str(project / "tools" / "gcc"), ())
    other = Settings(c_compiler="tools/gcc", allowed_programs=("/opt/*",))
    assert isinstance(compiler_for(str(project / "src" / "a.c"), other, (str(project),)), NoCompiler)


def test_a_link_of_the_project_leads_to_a_compiler_or_to_nothing_that_is_run(project: Path) -> None:
    system = shutil.which("gcc")
    assert system is not None
    (project / "cc").symlink_to(system)
    (project / "clang").symlink_to("/bin/sh")
    source, workspace = str(project / "src" / "a.c"), (str(project),)
    assert compiler_for(source, Settings(c_compiler="cc"), workspace) == Compiler(
        shutil.which("cc") or "", ()
    )
    assert compiler_for(source, Settings(c_compiler="./cc"), workspace) == Compiler(str(project / "cc"), ())
    refused = compiler_for(source, Settings(c_compiler="./clang"), workspace)
    assert isinstance(refused, NoCompiler) and "of the project itself" in refused.reason


def test_a_folder_under_version_control_is_a_project_without_a_workspace(project: Path) -> None:
    source, settings = str(project / "src" / "a.c"), Settings(c_compiler=str(project / "tools" / "gcc"))
    assert isinstance(compiler_for(source, settings), Compiler)
    (project / ".git").mkdir()
    assert isinstance(compiler_for(source, settings), NoCompiler)


def test_the_home_folder_is_no_project_by_itself(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / ".git").mkdir()
    monkeypatch.setenv("HOME", str(project))
    settings = Settings(c_compiler=str(project / "tools" / "gcc"))
    assert isinstance(compiler_for(str(project / "src" / "a.c"), settings), Compiler)


def test_the_path_has_no_programs_of_the_working_directory_or_of_the_project(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools, system = project / "tools", shutil.which("gcc")
    monkeypatch.chdir(tools)
    monkeypatch.setenv("PATH", f":.:{os.environ['PATH']}")
    assert machine.compiler_here() == system
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
    found = compiler_for(str(project / "src" / "a.c"), Settings(), (str(project),))
    assert found == Compiler(system or "", ())
    cuda = cuda_compiler(Settings(), programs_for(str(project / "a.c"), Settings(), (str(project),)))
    assert not isinstance(cuda, CudaCompiler) or not cuda.path.startswith(str(project))
