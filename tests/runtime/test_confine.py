"""Programs that misbehave: contained, and reported."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from polylsp.measuring import isolation as kernel
from polylsp.measuring.confined_program import Crashed, Done, Ended, Program, run
from polylsp.measuring.confinement import NOBODY, Limits, isolation

LIMITS = Limits(cpu_seconds=5, memory=2**28, file_size=2**20, processes=8)
HEAD = "#define _GNU_SOURCE\n" + "".join(
    f"#include <{name}.h>\n"
    for name in (
        "stdio",
        "stdlib",
        "string",
        "unistd",
        "signal",
        "errno",
        "fcntl",
        "sys/socket",
        "netinet/in",
    )
)
Running = Callable[..., Done]


@pytest.fixture
def running(folder: str, tmp_path: Path) -> Running:
    """Builds the body of a `main`, and runs it confined."""

    def build_and_run(body: str, seconds: float = 20.0, limits: Limits = LIMITS) -> Done:
        source = tmp_path / "given.c"
        source.write_text(f"{HEAD}int main(void) {{ {body} }}\n")
        program = Path(folder, "given")
        subprocess.run(["gcc", "-w", "-O0", source, "-o", program], check=True)
        return run([str(program)], folder, limits, {}, seconds)

    return build_and_run


@pytest.fixture(params=[True, False], ids=["numbers of its own", "numbers of all"])
def separation(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """With and without the kernel's handling of orphaned processes."""
    if not request.param:
        monkeypatch.setattr(kernel, "separate", lambda: False)


def alive(mark: str) -> list[str]:
    """The processes whose command line has a mark in it."""
    found: list[str] = []
    for each in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = each.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if mark in words:
            found.append(words)
    return found


def ends(mark: str) -> bool:
    """True if no such process is left, soon."""
    until = time.monotonic() + 20
    while alive(mark) and time.monotonic() < until:
        os.sched_yield()
    return not alive(mark)


def test_a_program_that_behaves_is_let_be(running: Running, folder: str) -> None:
    body = 'printf("hello"); FILE *f = fopen("here", "w"); fputs("x", f); fclose(f); return 3;'
    assert running(body) == Done(3, "hello")
    assert Path(folder, "here").read_text() == "x"


def test_one_that_never_ends_is_ended(running: Running, folder: str) -> None:
    with pytest.raises(Ended, match="did not come to its end within 1 s"):
        running("for (;;) pause();", seconds=1.0)
    assert ends(folder)


def test_one_that_computes_for_ever_runs_out_of_processor_time(running: Running) -> None:
    done = running("volatile int x = 0; for (;;) x++;", limits=replace(LIMITS, cpu_seconds=1))
    assert done.status in (128 + 9, 128 + 24)


def test_memory_without_end_is_refused(running: Running) -> None:
    body = """long n = 0; while (1) { char *p = malloc(1 << 20); if (!p) break; memset(p, 1, 1 << 20); n++; }
        printf("%d", n < 256); return 0;"""
    assert running(body) == Done(0, "1")


def test_what_the_same_user_runs_elsewhere_takes_nothing_from_a_program(running: Running) -> None:
    user = NOBODY if os.geteuid() == 0 else None
    others = [subprocess.Popen(["cat"], stdin=subprocess.PIPE, user=user) for _ in range(10)]
    try:
        assert running("return fork() < 0;") == Done(0, "")
    finally:
        for each in others:
            each.communicate()


@pytest.mark.usefixtures("separation")
def test_forks_without_end_are_refused_and_ended(running: Running, folder: str) -> None:
    body = """int n = 0, c; for (;;) { if ((c = fork()) < 0) break; if (!c) { setsid(); pause(); } n++; }
        printf("%d", n > 0 && n < 200); fflush(stdout); _exit(0);"""
    assert running(body, limits=replace(LIMITS, processes=32)) == Done(0, "1")
    assert ends(folder)


@pytest.mark.usefixtures("separation")
def test_a_child_that_outlives_it_in_a_session_of_its_own_is_ended(running: Running, folder: str) -> None:
    body = (
        "if (fork() == 0) { setsid(); if (fork() == 0) { close(1); close(2); pause(); } _exit(0); } return 0;"
    )
    assert running(body).status == 0
    assert ends(folder)


def test_a_large_file_is_refused(running: Running, folder: str) -> None:
    body = """signal(SIGXFSZ, SIG_IGN); int f = open("big", O_CREAT | O_WRONLY, 0600); char b[4096] = {0};
        while (write(f, b, sizeof b) > 0); printf("%d", errno == EFBIG); return 0;"""
    assert running(body) == Done(0, "1")
    assert Path(folder, "big").stat().st_size <= 2**20


def test_nothing_is_written_outside_where_the_kernel_sees_to_it(running: Running, folder: str) -> None:
    outside = Path(folder).with_name("polylsp-outside")
    body = f'int f = open("{outside}", O_CREAT | O_WRONLY, 0600); printf("%d", f < 0); return 0;'
    try:
        done = running(body)
        files = isolation(folder).files
        assert done.words == "1" or not files
        assert not outside.exists() or not files
    finally:
        outside.unlink(missing_ok=True)


def test_there_is_no_network_where_the_kernel_sees_to_it(running: Running, folder: str) -> None:
    body = """int s = socket(AF_INET, SOCK_DGRAM, 0); struct sockaddr_in a = {.sin_family = AF_INET,
        .sin_port = htons(9), .sin_addr = {htonl(0x08080808)}};
        printf("%d", connect(s, (void *)&a, sizeof a) != 0); return 0;"""
    assert running(body).words == "1" or not isolation(folder).network


def test_megabytes_of_text_are_cut_off(running: Running) -> None:
    with pytest.raises(Ended, match="printed more than 1 MiB"):
        running('for (;;) puts("word word word word word word word word word word");')


def test_the_environment_is_empty(running: Running) -> None:
    assert running('extern char **environ; printf("%d", environ[0] == 0); return 0;') == Done(0, "1")


def test_whoever_may_do_everything_is_nobody_in_there(running: Running) -> None:
    assert running('printf("%d", getuid() != 0); return 0;') == Done(0, "1")


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("*(volatile int *)8 = 1;", "segmentation fault"),
        ("raise(SIGFPE);", "divided a whole number by zero"),
        ("abort();", "abort"),
        ("exit(7);", "ended by itself with status 7"),
    ],
)
def test_a_crash_is_told_in_words(folder: str, tmp_path: Path, body: str, words: str) -> None:
    source = tmp_path / "given.c"
    source.write_text(f"{HEAD}int main(void) {{ getchar(); {body} }}\n")
    subprocess.run(["gcc", "-w", "-O0", source, "-o", Path(folder, "given")], check=True)
    program = Program([str(Path(folder, "given"))], folder, LIMITS, {})
    with pytest.raises(Ended) as ended:
        program.ask("go", 20.0)
    program.close()
    assert words in str(ended.value) and isinstance(ended.value, Crashed) == ("segmentation" in words)


def test_what_is_cancelled_is_gone_with_all_that_it_started(folder: str, tmp_path: Path) -> None:
    source = tmp_path / "given.c"
    source.write_text(
        f'{HEAD}int main(void) {{ fork(); setsid(); fork(); puts("up"); fflush(stdout); pause(); }}\n'
    )
    subprocess.run(["gcc", "-w", source, "-o", Path(folder, "given")], check=True)
    program = Program([str(Path(folder, "given"))], folder, LIMITS, {})
    assert program.ask("", 20.0) == "up"
    program.close()
    assert ends(folder)
