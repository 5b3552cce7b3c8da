"""Completion in a shell, and the manual page."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from polylsp.cli import parser
from polylsp.cli.man import commands_of

COMPLETE = """\
source {script}
complete -p polylsp >/dev/null
COMP_WORDS=({words} "")
COMP_CWORD={count}
_shtab_polylsp 2>/dev/null
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


def test_everything_is_described() -> None:
    for name, command, words in commands_of(parser()):
        assert words
        for action in command._actions:
            assert action.help, (name, action.dest)


@pytest.mark.parametrize("shell", ["bash", "zsh", "tcsh"])
def test_scripts_know_commands_and_options(polylsp, shell: str) -> None:
    ran = polylsp("completion", shell)
    assert (ran.status, ran.err) == (0, "")
    for word in ("check", "report", "offload", "openmp-target", "write-baseline", "sarif"):
        assert word in ran.out, word


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("polylsp", {"check", "report", "doctor", "serve"}),
        ("polylsp check --format", {"text", "json", "sarif"}),
        ("polylsp offload a.c:1 --target", {"openmp", "cuda", "numba"}),
        ("polylsp check", {"a.c", "src"}),
        ("polylsp check -I", {"src"}),
        ("polylsp check --baseline", {"a.c", "src"}),
    ],
)
def test_bash_completes(polylsp, tmp_path: Path, words: str, expected: set[str]) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "a.c").touch()
    script = tmp_path / "script"
    script.write_text(polylsp("completion", "bash").out)
    text = COMPLETE.format(script=script, words=words, count=len(words.split()))
    ran = subprocess.run(["bash", "-c", text], capture_output=True, text=True, cwd=tmp_path, check=True)
    found = {each.rstrip("/") for each in ran.stdout.split("\n")}
    assert expected <= found
    assert words != "polylsp check -I" or "a.c" not in found


def test_the_manual_page_has_every_option_and_is_roff(polylsp) -> None:
    ran = polylsp("man")
    assert (ran.status, ran.err) == (0, "") and ran.out.startswith(".TH POLYLSP 1 ")
    for _, command, _ in commands_of(parser()):
        for action in command._actions:
            for option in action.option_strings:
                assert action.dest == "help" or option.replace("-", "\\-") in ran.out
    macros = set(re.findall(r"^[.'](\w*)", ran.out, re.MULTILINE))
    assert macros == {"TH", "ad", "SH", "SS", "TP", "B"}
    for status in ("0", "1", "2", "3"):
        assert f".B {status}\n" in ran.out


@pytest.mark.skipif(shutil.which("groff") is None, reason="needs groff")
def test_groff_has_nothing_to_say_about_the_page(polylsp) -> None:
    page = polylsp("man").out
    ran = subprocess.run(
        ["groff", "-man", "-Tutf8", "-ww", "-z"], input=page, capture_output=True, text=True, check=True
    )
    assert ran.stderr == ""
