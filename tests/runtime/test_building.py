"""Compilers at work, several at once."""

from __future__ import annotations

import os
from pathlib import Path

from polylsp.measuring.c_versions import Version, built
from polylsp.measuring.toolchains import Compiler
from polylsp.measuring.tools import NotBuilt, Runnable

COMPILER = """#!/bin/sh
case "$*" in
*" -o slow.o") read line < pipe ;;
*" -o driver.o") echo go on > pipe ;;
*" -o wrong.o") echo "given.c:1: error: it is wrong"; exit 1 ;;
esac
"""


def test_a_command_that_takes_long_does_not_hold_up_the_others(tmp_path: Path, folder: str) -> None:
    program = tmp_path / "gcc"
    program.write_text(COMPILER)
    program.chmod(0o755)
    os.mkfifo(Path(folder, "pipe"))
    versions = [Version(name, "") for name in ("wrong", "quick", "slow")]
    done: list[None] = []
    made = built(
        str(tmp_path / "a.c"), versions, Compiler(str(program), ()), folder, 2, lambda: done.append(None)
    )
    assert made["wrong"] == NotBuilt("The compiler refuses it: given.c:1: error: it is wrong")
    assert isinstance(made["quick"], Runnable) and isinstance(made["slow"], Runnable)
    assert len(done) == 4 + 2
