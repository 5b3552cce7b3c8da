"""Kernels are compiled when a file is saved, by a process that may do anything but disturb."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from polylsp.model.device_code import Compiled, DeviceCode, NotCompiled
from polylsp.model.report import FileReport
from polylsp.server.app import create_server
from polylsp.server.kernel_words import KernelWords

pytestmark = pytest.mark.asyncio

REAL = (sys.executable, "-m", "polylsp", "serve")
SCALE = "void f(int n, double *a)\n{\n    for (int i = 0; i < n; i++)\n        a[i] *= 2;\n}\n"
ONE, TWO = DeviceCode("one", ()), DeviceCode("two", ())

ANSWERING = """\
import sys
from polylsp import frames
from polylsp.model.device_code import Compiled, NotCompiled
open(sys.argv[1], "a").write("x")
for code in frames.read(sys.stdin.buffer.read):
    word = {"one": Compiled(()), "two": NotCompiled(90, "no")}[code.text]
    sys.stdout.buffer.write(frames.frame(word))
    sys.stdout.buffer.flush()
"""
DYING = 'import sys; open(sys.argv[1], "a").write("x"); sys.exit(1)'
MISSING = 'import sys; open(sys.argv[1], "a").write("x"); sys.exit(3)'
SILENT = 'import sys, time; open(sys.argv[1], "a").write("x"); time.sleep(600)'


def words(program: str, log: Path) -> KernelWords:
    log.touch()
    return KernelWords((sys.executable, "-c", program, str(log)))


async def ended(asked: KernelWords) -> None:
    assert asked._task is not None
    await asyncio.wait([asked._task])


async def test_each_word_is_asked_for_once(tmp_path: Path, caplog) -> None:
    asked = words(ANSWERING, tmp_path / "log")
    asked.want("a.c", (ONE, ONE, TWO))
    await ended(asked)
    assert asked.of(ONE) == Compiled(()) and asked.of(TWO) == NotCompiled(90, "no")
    assert "refuses kernels: no\ntwo" in caplog.text, "what is ours to mend is logged with its text"
    asked.want("a.c", (TWO, ONE))
    await ended(asked)
    assert (tmp_path / "log").read_text() == "x"


async def test_kernels_on_which_the_process_dies_are_not_asked_for_again(tmp_path: Path) -> None:
    asked = words(DYING, tmp_path / "log")
    for _ in range(2):
        asked.want("a.c", (ONE,))
        await ended(asked)
    assert asked.of(ONE) is None and (tmp_path / "log").read_text() == "x"
    asked.want("a.c", (TWO,))
    await ended(asked)
    assert (tmp_path / "log").read_text() == "xx", "others are"


async def test_where_the_compiler_is_not_installed_it_is_not_asked_again(tmp_path: Path) -> None:
    asked = words(MISSING, tmp_path / "log")
    asked.want("a.c", (ONE,))
    await ended(asked)
    asked.want("a.c", (TWO,))
    await ended(asked)
    assert (tmp_path / "log").read_text() == "x"


async def test_who_is_saved_later_takes_the_turn_and_loses_nobody(tmp_path: Path) -> None:
    asked = words(SILENT, tmp_path / "log")
    asked.want("a.c", (ONE,))
    first = asked._task
    asked.command = (sys.executable, "-c", ANSWERING, str(tmp_path / "log"))
    asked.want("b.c", (TWO,))
    await ended(asked)
    assert first is not None and first.cancelled()
    assert asked.of(ONE) == Compiled(()) and asked.of(TWO) is not None


async def test_a_closed_document_is_forgotten(tmp_path: Path) -> None:
    asked = words(ANSWERING, tmp_path / "log")
    asked.want("a.c", (ONE,))
    asked.close()
    asked.forget("a.c")
    asked.want("b.c", (TWO,))
    await ended(asked)
    assert asked.of(ONE) is None and asked.of(TWO) is not None


async def test_after_a_save_the_hover_has_the_word_of_the_compiler(start) -> None:
    editor = await start("nvim-bookworm", *REAL)
    uri = editor.open(SCALE)
    await editor.settle()
    assert "registers" not in (await editor.hover(uri, 2, 8)).contents.value
    editor.save(uri)
    while "f_cuda_kernel0" not in (text := (await editor.hover(uri, 2, 8)).contents.value):
        pass
    assert "sm_75, sm_80 and sm_90" in text and "| occupancy |" in text and "100%" in text


@pytest.mark.parametrize(("is_trusted", "count"), [(True, 1), (False, 0)])
async def test_in_a_folder_that_is_not_trusted_nothing_is_compiled(monkeypatch, is_trusted: bool, count: int):
    wanted: list[str] = []
    monkeypatch.setattr(KernelWords, "want", lambda _, uri, codes: wanted.append(uri))
    server = create_server()
    server.measurements.is_trusted = is_trusted
    server._compile_kernels("a.c", FileReport("a.c", "c", ()))
    assert len(wanted) == count
