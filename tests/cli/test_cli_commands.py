from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import facts
import pytest

import polylsp as package
from polylsp.cli import doctor, parser
from polylsp.engine import queries
from polylsp.ir.program import Rejection, Site
from polylsp.model.iteration_points import IterationSpace


def test_version(polylsp) -> None:
    ran = polylsp("--version")
    assert (ran.status, ran.out) == (0, f"polylsp {package.__version__}\n")


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("check", "--severity", "loud", "a.c"),
        ("check", "--fix", "--diff", "a.c"),
        ("check", "--format", "xml", "a.c"),
        ("check", "--jobs", "-1", "a.c"),
        ("check", "-D", "1X", "a.c"),
        ("explain", "a.c"),
        ("explain", "a.c:0"),
        ("explain", "a.c:1", "--dimensions", "i"),
        ("serve", "--tcp", "localhost"),
        ("serve", "--tcp", "localhost:99999"),
        ("serve", "--stdio", "--tcp", "localhost:1"),
        ("offload", "a.c:1"),
        ("offload", "a.c:1", "--target", "cuda", "--setting", "cuda_slabs"),
        ("offload", "a.c:1", "--target", "cuda", "--setting", "slabs=true"),
        ("offload", "a.c:1", "--target", "cuda", "--setting", "cuda_slabs=1"),
        ("offload", "a.c:1", "--target", "cuda", "--setting", "tile_sizes=32,x"),
        ("offload", "a.c:1", "--target", "cuda", "--setting", "trace=loud"),
    ],
)
def test_wrong_usage_is_status_2(polylsp, arguments: tuple[str, ...]) -> None:
    ran = polylsp(*arguments)
    assert ran.status == 2 and "usage: polylsp" in ran.err


def test_settings() -> None:
    def settings(*texts: str) -> dict[str, object]:
        options = [word for text in texts for word in ("--setting", text)]
        return dict(parser().parse_args(["offload", "a.c:1", "--target", "cuda", *options]).settings)

    assert settings("cuda_slabs=true", "tile_sizes=32,64", "max_seconds=2.5") == {
        "cuda_slabs": True, "tile_sizes": (32, 64), "max_seconds": 2.5,
    }  # fmt: skip
    assert settings("cuda_fusion=min", "cache_kb=64", "code_lenses=why, measure", "cuda_pinned=false") == {
        "cuda_fusion": "min", "cache_kb": 64, "code_lenses": ("why", "measure"), "cuda_pinned": False,
    }  # fmt: skip


def test_addresses() -> None:
    def tcp(text: str):
        return parser().parse_args(["serve", "--tcp", text]).tcp

    assert tcp("localhost:2087") == ("localhost", 2087)
    assert tcp("[::1]:0") == ("::1", 0)


@pytest.mark.parametrize("command", ["explain", "model"])
def test_an_unreadable_file_is_status_3(polylsp, command: str) -> None:
    ran = polylsp(command, "lost.c:1" if command == "explain" else "lost.c")
    assert (ran.status, ran.out, ran.err) == (3, "", "polylsp: lost.c: No such file or directory\n")


@pytest.mark.usefixtures("known")
def test_a_bug_is_status_3(polylsp, tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text("boom")
    ran = polylsp("model", "a.c")
    assert ran.status == 3
    assert "RuntimeError: a bug" in ran.err and "internal error, please report it" in ran.err


@pytest.mark.usefixtures("known")
class TestExplain:
    @pytest.fixture(autouse=True)
    def file(self, polylsp, tmp_path: Path) -> None:
        (tmp_path / "a.c").write_text(facts.MANY)

    def test_text(self, polylsp) -> None:
        ran = polylsp("explain", "a.c:28")
        assert ran.status == 0
        assert ran.out.startswith("Loop 1 of `column`, line 28: `for (int i = 1; i < n; i++)`\n\n")
        assert "dependence  from" in ran.out

    def test_json(self, polylsp) -> None:
        found = json.loads(polylsp("explain", "a.c:29", "--format", "json").out)
        assert found["loop"]["iterator"] == "j" and found["path"] == "a.c"

    def test_a_line_without_a_loop(self, polylsp) -> None:
        ran = polylsp("explain", "a.c:1")
        assert (ran.status, ran.out) == (2, "")
        assert ran.err.startswith("polylsp: a.c:1: no loop here; there are loops on lines 2, 7, 8, ")

    def test_svg(self, polylsp, monkeypatch) -> None:
        asked = []

        def space(path, text, settings, function, ordinal, dimensions):
            asked.append((path, function, ordinal, dimensions))
            return IterationSpace(("j", "i"), ((0, 1), (1, 1)), (), (("n", 2),))

        monkeypatch.setattr(queries, "iteration_space", space, raising=False)
        ran = polylsp("explain", "a.c:28", "--format", "svg", "--dimensions", "j, i")
        assert asked == [("a.c", "column", 1, ("j", "i"))]
        assert ran.status == 0
        root = ElementTree.fromstring(ran.out)
        assert "column: iterations of j and i" in [each.text for each in root.iter()]

    def test_svg_of_what_cannot_be_drawn(self, polylsp, monkeypatch) -> None:
        why = Rejection("unknown-call", Site(0, 0), "`next` may change anything")
        monkeypatch.setattr(queries, "iteration_space", lambda *_: why, raising=False)
        ran = polylsp("explain", "a.c:28", "--format", "svg")
        assert (ran.status, ran.out) == (2, "")
        assert ran.err == "polylsp: a.c:28: cannot be drawn: `next` may change anything\n"


@pytest.mark.usefixtures("known")
def test_model(polylsp, tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text(facts.MANY)
    (tmp_path / "empty.c").write_text("")
    ran = polylsp("model", "a.c")
    assert ran.status == 0 and "a.c:28: column, loops i and j\n" in ran.out
    nests = json.loads(polylsp("model", "a.c", "--format", "json").out)["nests"]
    assert [nest["function"] for nest in nests] == ["copy", "add", "dot", "column", "column"]
    assert polylsp("model", "empty.c").out == "empty.c: no nest of loops was modelled\n"


def test_doctor_tells_what_is_missing_and_how_to_get_it(polylsp, monkeypatch) -> None:
    monkeypatch.setenv("PATH", "")
    ran = polylsp("doctor")
    for name in (
        "polylsp",
        "Python",
        "islpy",
        "gcc",
        "clang",
        "nvcc",
        "NVRTC",
        "NVIDIA",
        "compile_commands.json",
        "cache",
    ):
        assert f"\n  {name} " in ran.out
    assert "install the package `gcc`" in ran.out


def test_doctor_without_a_package_fails(polylsp, monkeypatch) -> None:
    monkeypatch.setattr(doctor, "_PACKAGES", ("no-such-package-at-all",))
    ran = polylsp("doctor")
    assert ran.status == 3
    assert "MISSING   run `" in ran.out


def test_doctor_tells_what_compiles_kernels(polylsp, monkeypatch) -> None:
    monkeypatch.setenv("PATH", "")
    found = " ".join(polylsp("doctor").out.split())
    assert " NVRTC ok cuda-bindings " in found and " and nvidia-cuda-nvrtc " in found
    monkeypatch.setattr(doctor, "_NVRTC", ("no-such-package-at-all",))
    ran = polylsp("doctor")
    assert ran.status == 0 and "pip install no-such-package-at-all`" in ran.out


def test_probe_survives_commands_that_fail() -> None:
    assert doctor.probe("false") is None
    assert doctor.probe("no-such-command-at-all") is None
    assert doctor.probe("echo", "hello") == "hello"


def imported(code: str) -> set[str]:
    shown = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys; print(*sys.modules, file=sys.stderr)"],
        capture_output=True,
        text=True,
        check=True,
    )
    return {name.partition(".")[0] for name in shown.stderr.split()} | set(shown.stderr.split())


def test_help_imports_next_to_nothing() -> None:
    modules = imported("from polylsp.cli import parser; parser().format_help()")
    assert not modules & {
        "islpy",
        "rich",
        "pygls",
        "lsprotocol",
        "polylsp.ide",
        "polylsp.engine.queries",
        "polylsp.model",
    }


def test_serving_imports_neither_isl_nor_rich() -> None:
    modules = imported("import polylsp.cli.serve, polylsp.server.app")
    assert "pygls" in modules
    assert not modules & {"islpy", "rich", "pycparser", "pcpp"}


def test_a_reader_that_leaves_is_no_error(tmp_path: Path) -> None:
    script = (
        "import os, sys; from polylsp.cli import main; import polylsp.cli.doctor as d; "
        "from polylsp.cli.output import write_text; "
        "d.run = lambda options: [write_text('x' * 99) for _ in range(99999)] and 0; "
        "sys.exit(main(['doctor']))"
    )
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.read(10)
    process.stdout.close()
    assert process.stderr is not None
    assert process.stderr.read() == b""
    assert process.wait() == 0
