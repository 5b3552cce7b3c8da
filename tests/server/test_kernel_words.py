"""Kernels are compiled when a file is saved, by a process that may do anything but disturb."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from io import BytesIO
from pathlib import Path

import pytest
from editor import SECONDS_BETWEEN_LOOKS

from polylsp.core import processes
from polylsp.core.settings import Settings
from polylsp.core.text import Source
from polylsp.model.action import Ask
from polylsp.model.facts import FileReport
from polylsp.model.kernel_report import Compiled, DeviceCode, KernelWord, NotCompiled
from polylsp.server.app import create_server
from polylsp.server.documents import Document
from polylsp.server.kernel_checks import KernelWords
from polylsp.server.kernel_compiler import COMMAND, NOT_INSTALLED, Errand

REAL = (sys.executable, "-m", "polylsp", "serve")
SCALE = "void f(int n, double *a)\n{\n    for (int i = 0; i < n; i++)\n        a[i] *= 2;\n}\n"
SETTINGS = Settings()
ONE, TWO = (("one", 1), Ask("cuda", "one", 0, 1)), (("two", 1), Ask("cuda", "two", 0, 1))

STARTED = "import sys, time; open(sys.argv[1], 'a').write('x')\n"
ANSWERING = f"""\
{STARTED}
from polylsp.core import processes as frames
from polylsp.model.kernel_report import Compiled
from polylsp.model.kernel_report import DeviceCode
from polylsp.model.kernel_report import KernelWord
from polylsp.model.kernel_report import NotCompiled
for ask in frames.read(sys.stdin.buffer.read).asks:
    word = {{"one": Compiled(()), "two": NotCompiled(90, "no")}}[ask.function]
    sys.stdout.buffer.write(frames.frame(KernelWord(DeviceCode(ask.function, ()), word)))
    sys.stdout.buffer.flush()
"""
SAID = {
    "one": KernelWord(DeviceCode("one", ()), Compiled(())),
    "two": KernelWord(DeviceCode("two", ()), NotCompiled(90, "no")),
}


class Asking:
    """Requests, and the process that receives them; `started` counts its starts."""

    def __init__(self, folder: Path, program: str) -> None:
        self.log = folder / "log"
        self.log.touch()
        self.words = KernelWords()
        self.does(program)

    def does(self, program: str) -> None:
        self.words.command = (sys.executable, "-c", program, str(self.log))

    @property
    def started(self) -> int:
        return len(self.log.read_text())

    def want(self, path: str, *asks: tuple[tuple[str, int], Ask]) -> asyncio.Task[None] | None:
        self.words.want(Document(path, path, "c", 1, Source("")), SETTINGS, dict(asks))
        return self.words._task

    async def wanted(self, path: str, *asks: tuple[tuple[str, int], Ask]) -> None:
        task = self.want(path, *asks)
        if task is not None:
            await asyncio.wait([task])

    def of(self, name: str, settings: Settings = SETTINGS) -> KernelWord | None:
        return self.words.of(settings, (name, 1))


@pytest.mark.asyncio
async def test_each_word_is_asked_for_once(tmp_path: Path, caplog) -> None:
    asking = Asking(tmp_path, ANSWERING)
    await asking.wanted("a.c", ONE, TWO)
    assert (asking.of("one"), asking.of("two")) == (SAID["one"], SAID["two"])
    assert "refuses kernels: no\ntwo" in caplog.text, "what is ours to mend is logged with its text"
    await asking.wanted("a.c", TWO, ONE)
    assert asking.started == 1
    assert asking.of("one", Settings(cuda_fusion="min")) is None, "other settings, other kernels"


@pytest.mark.asyncio
async def test_nests_on_which_the_process_dies_are_not_asked_about_again(tmp_path: Path) -> None:
    asking = Asking(tmp_path, f"{STARTED}sys.exit(1)")
    await asking.wanted("a.c", ONE)
    await asking.wanted("a.c", ONE)
    assert asking.of("one") is None and asking.started == 1
    await asking.wanted("a.c", ONE, TWO)
    assert asking.started == 2, "others are"


@pytest.mark.asyncio
async def test_where_the_compiler_is_not_installed_it_is_not_asked_again(tmp_path: Path) -> None:
    asking = Asking(tmp_path, f"{STARTED}sys.exit({NOT_INSTALLED})")
    await asking.wanted("a.c", ONE)
    await asking.wanted("a.c", TWO)
    assert asking.started == 1


@pytest.mark.asyncio
async def test_who_is_saved_later_ends_what_is_under_way_and_loses_nothing(tmp_path: Path) -> None:
    asking = Asking(tmp_path, f"{STARTED}time.sleep(600)")
    first = asking.want("a.c", ONE)
    asking.does(ANSWERING)
    await asking.wanted("b.c", TWO)
    assert first is not None
    await asyncio.wait([first])
    assert first.cancelled()
    assert (asking.of("one"), asking.of("two")) == (SAID["one"], SAID["two"])


@pytest.mark.asyncio
async def test_a_closed_document_is_forgotten(tmp_path: Path) -> None:
    asking = Asking(tmp_path, ANSWERING)
    asking.want("a.c", ONE)
    asking.words.forget("a.c")
    await asking.wanted("b.c", TWO)
    assert asking.of("one") is None and asking.of("two") == SAID["two"]


def test_the_process_makes_kernels_and_has_them_compiled() -> None:
    sequential = "void g(int n, double *a) { for (int i = 1; i < n; i++) a[i] = a[i - 1]; }\n"
    text = SCALE + sequential
    asks = (Ask("cuda", "g", len(SCALE), 1), Ask("cuda", "f", 0, 1))
    errand = processes.frame(Errand("a.c", text, SETTINGS, asks))
    ran = subprocess.run(COMMAND, input=errand, capture_output=True, check=True)
    replies = BytesIO(ran.stdout)
    assert processes.read(replies.read) is None or "g" not in text
    word = processes.read(replies.read)
    assert isinstance(word, KernelWord) and isinstance(word.word, Compiled)
    assert [(each.kernel, each.architecture) for each in word.word.resources] == [
        ("f_cuda_kernel0", each) for each in (75, 80, 90)
    ]


def test_without_the_compiler_the_process_says_so_before_it_works() -> None:
    hidden = "import sys; sys.modules['cuda'] = None; import polylsp.server.kernel_compiler as k; k.main()"
    errand = processes.frame(Errand("a.c", SCALE, SETTINGS, (Ask("cuda", "f", 0, 1),)))
    ran = subprocess.run([sys.executable, "-c", hidden], input=errand, capture_output=True, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (NOT_INSTALLED, b"", b"")


@pytest.mark.asyncio
async def test_after_a_save_the_hover_has_the_word_of_the_compiler(start) -> None:
    editor = await start("nvim-bookworm", *REAL)
    uri = editor.open(SCALE)
    await editor.settle()
    assert "registers" not in (await editor.hover(uri, 2, 8)).contents.value
    editor.save(uri)
    while "f_cuda_kernel0" not in (text := (await editor.hover(uri, 2, 8)).contents.value):
        await asyncio.sleep(SECONDS_BETWEEN_LOOKS)
    assert "sm_75, sm_80 and sm_90" in text and "| occupancy |" in text and "100%" in text


@pytest.mark.asyncio
@pytest.mark.parametrize(("is_trusted", "count"), [(True, 1), (False, 0)])
async def test_in_a_folder_that_is_not_trusted_nothing_is_compiled(monkeypatch, is_trusted: bool, count: int):
    wanted: list[str] = []
    monkeypatch.setattr(KernelWords, "want", lambda _, document, *rest: wanted.append(document.uri))
    server = create_server()
    server.measurements.is_trusted = is_trusted
    document = Document("a.c", "a.c", "c", 1, Source(""))
    server._compile_kernels(document, FileReport("a.c", "c", ()), SETTINGS)
    assert len(wanted) == count
