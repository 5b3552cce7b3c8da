"""Every module loads, and a file is analysed, where the system has none of what only Unix or Linux has."""

from __future__ import annotations

import subprocess
import sys

import pytest

# The libraries are loaded first: they look at the system themselves.
LOADED = """
import asyncio, islpy, multiprocessing.forkserver, numpy, pathlib, pygls.lsp.server, rich.console, subprocess
import psutil, tempfile, urllib.request, xml.sax.saxutils
"""

WITHOUT = """
import ctypes, importlib, os, pkgutil, signal, sys
platform, modules, names, signals = {platform!r}, {modules!r}, {names!r}, {signals!r}

class Missing:
    def __init__(self, given, missing):
        self.__dict__.update({{k: v for k, v in vars(given).items() if k not in missing}})

def of_linux(name, *rest, **more):
    if name is None and platform == "win32":
        raise TypeError("bad argument type for built-in operation")
    return loaded(name, *rest, **more)

loaded, ctypes.CDLL = ctypes.CDLL, of_linux
sys.platform = platform
for name in modules:
    sys.modules[name] = None
sys.modules["os"] = Missing(os, names)
sys.modules["signal"] = Missing(signal, signals)
import polylsp
for found in pkgutil.walk_packages(polylsp.__path__, "polylsp."):
    # The driver is a separate program, which runs beside a generated file.
    if not found.name.endswith((".__main__", "measuring.driver")):
        importlib.import_module(found.name)
from polylsp.ir.verdict import word
from polylsp.engine.queries import analyse
from polylsp.core.settings import Settings
text = "void f(int n, double *a) {{ for (int i = 0; i < n; i++) a[i] = 0.0; }}"
(function,) = analyse("a.c", text, Settings(cache=False)).functions
print(word(function.answer.facts.loops[0].verdict))
"""

WINDOWS = {
    "platform": "win32",
    "modules": ("fcntl", "grp", "pty", "pwd", "resource", "termios"),
    "names": (
        "fork",
        "geteuid",
        "getuid",
        "killpg",
        "sched_getaffinity",
        "setsid",
        "O_CLOEXEC",
        "O_PATH",
        "O_TMPFILE",
    ),
    "signals": ("SIGBUS", "SIGKILL", "SIGPROF", "SIGSYS", "SIGXCPU", "SIGXFSZ", "setitimer"),
}
MACOS = {
    "platform": "darwin",
    "modules": (),
    "names": ("sched_getaffinity", "sched_setaffinity", "O_PATH", "O_TMPFILE"),
    "signals": (),
}


@pytest.mark.parametrize("system", [WINDOWS, MACOS], ids=["windows", "macos"])
def test_all_loads_without_what_a_system_lacks(system: dict[str, object]) -> None:
    code = LOADED + WITHOUT.format(**system)
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (result.stdout, result.returncode) == ("parallel\n", 0), result.stderr
