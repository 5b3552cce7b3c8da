"""Flags of compile_commands.json: those taken, those left out, those refused with a reason."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from polylsp.core.settings import Settings
from polylsp.measuring.toolchains import Compiler, NoCompiler, RefusedFlag, compiler_for, taken


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("-DN=3 -D M -UX -std=gnu11 -fPIC -mavx2", "-DN=3 -DM -UX -std=gnu11 -fPIC -mavx2"),
        ("-Iinc -I inc -isystem /usr/x", "-I /p/inc -I /p/inc -isystem /usr/x"),
        ("-include stdint.h -ffp-contract=off", "-include stdint.h -ffp-contract=off"),
        ("-c -o x.o -O0 -g3 -Wall -Werror -MD -MF x.d x.c -march=k8 -flto -fsanitize=address", ""),
        ("-fopenmp -pthread", "-fopenmp -pthread"),
        ("-acc=gpu -gpu=cc80,managed -mp -Minfo=accel -fast -tp=zen3", "-acc=gpu -gpu=cc80,managed -mp"),
    ],
)
def test_what_says_something_of_the_language_or_the_machine_is_taken(given: str, expected: str) -> None:
    assert taken(given.split(), "/p", "/p/x.c") == tuple(expected.split())


@pytest.mark.parametrize(
    "flag",
    [
        *(
            "-fplugin=./evil.so",
            "-fpass-plugin=evil.so",
            "-Xclang",
            "-mllvm",
            "-B./bin",
            "@flags",
            "-wrapper",
        ),
        *(
            "-specs=evil",
            "--specs=evil",
            "-Wl,-rpath,x",
            "-Wa,--x",
            "-Wp,-MD,x",
            "-fuse-ld=/tmp/ld",
            "evil.so",
        ),
        *(
            "-aux-info",
            "-fplugin-arg-x-y=z",
            "-fdiagnostics=x/../y,-B.",
            "-l../x",
            "-T",
            "-dumpdir",
            "-std=@x",
        ),
    ],
)
def test_everything_else_is_refused_by_name(flag: str) -> None:
    found = taken(["-DA", flag, "value"], "/p", "/p/x.c")
    assert isinstance(found, RefusedFlag) and flag in found.reason


def database(folder: Path, arguments: list[str]) -> Path:
    source = folder / "a.c"
    source.write_text("int x;\n")
    entry = {"directory": str(folder), "file": "a.c", "arguments": arguments}
    (folder / "compile_commands.json").write_text(json.dumps([entry]))
    return source


def test_the_compiler_of_the_project_is_taken_with_its_flags(tmp_path: Path) -> None:
    source = database(tmp_path, ["gcc", "-DN=3", "-O2", "-c", "a.c", "-o", "a.o"])
    found = compiler_for(str(source), Settings(defines=("M=1",)))
    assert isinstance(found, Compiler)
    assert Path(found.path).name == "gcc" and found.flags == ("-DM=1", "-DN=3")


@pytest.mark.parametrize("wrapper", ["ccache", "env", "/bin/sh", "distcc", "gcc.sh"])
def test_a_wrapper_is_refused_and_a_way_out_is_named(tmp_path: Path, wrapper: str) -> None:
    found = compiler_for(str(database(tmp_path, [wrapper, "gcc", "-c", "a.c"])), Settings())
    assert isinstance(found, NoCompiler) and wrapper in found.reason and "`c_compiler`" in found.reason


def test_a_compiler_inside_the_project_is_refused(tmp_path: Path) -> None:
    (tmp_path / "gcc").write_text("#!/bin/sh\n")
    (tmp_path / "gcc").chmod(0o755)
    found = compiler_for(str(database(tmp_path, [str(tmp_path / "gcc"), "-c", "a.c"])), Settings())
    assert isinstance(found, NoCompiler) and "a file of the project itself" in found.reason


def test_a_setting_comes_before_the_project(tmp_path: Path) -> None:
    source = database(tmp_path, ["ccache", "gcc", "-DN=3", "a.c"])
    found = compiler_for(str(source), Settings(c_compiler="gcc"))
    assert isinstance(found, Compiler) and Path(found.path).name == "gcc" and found.flags == ("-DN=3",)
