"""Start of our Python processes, so that no file of the user's is taken for a module.

`python -m` and `python -c` look for modules in the working directory before they look in the standard
library, and so do empty and relative entries of `PYTHONPATH`: a `dataclasses.py` beside the user's
sources would run. A process of ours is isolated (`-I`), runs this file by its path, and gets the search
path of the process that starts it, without the working directory. `-P` would need Python 3.11.

This module imports only what every Python has loaded when it starts.
"""

import os
import sys

_PACKAGES = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_FLAGS_OF_MULTIPROCESSING = "_args_from_interpreter_flags"


def entry_point_command(entry_point: str) -> tuple[str, ...]:
    """The command that calls a function of ours (`package.module:function`) in a new process."""
    flags = ["-B"] if sys.dont_write_bytecode else []
    flags += ["-X", "utf8"] if sys.flags.utf8_mode else []
    path = _without_working_directory(sys.path)
    return (sys.executable, "-I", *flags, os.path.abspath(__file__), entry_point, *path)


def polylsp_command() -> tuple[str, ...]:
    """The command that runs `polylsp` as in a shell in a new process; arguments follow."""
    path = _without_working_directory(sys.path)
    path += [_PACKAGES] if _PACKAGES not in path else []
    code = f"import sys; sys.path[:] = {path!r}; from polylsp.cli import main; sys.exit(main())"
    return (sys.executable, "-I", "-c", code)


def leave_out_working_directory() -> None:
    """Look for modules in the working directory no more, nor in folders relative to it."""
    sys.path[:] = _without_working_directory(sys.path)


def isolate_multiprocessing() -> None:
    """Isolate the processes that `multiprocessing` starts with `-c`. They take over the search path of this
    process, which must be without the working directory."""
    from multiprocessing import util

    of_this_process = getattr(util, _FLAGS_OF_MULTIPROCESSING)

    def flags() -> list[str]:
        return ["-I", *(each for each in of_this_process() if each != "-I")]

    setattr(util, _FLAGS_OF_MULTIPROCESSING, flags)


def _without_working_directory(path: list[str]) -> list[str]:
    """A search path without relative entries, and without the working directory unless polylsp is there."""
    try:
        here = os.path.realpath(os.getcwd())
    except OSError:  # it was removed
        here = ""
    left_out = here if here != os.path.realpath(_PACKAGES) else ""
    return [each for each in path if os.path.isabs(each) and os.path.realpath(each) != left_out]


def _enter(entry_point: str, path: list[str]) -> None:
    """Call an entry point, with the modules of a search path."""
    known = _without_working_directory(sys.path)
    sys.path[:] = path + [each for each in (*known, _PACKAGES) if each not in path]
    leave_out_working_directory()
    from importlib import import_module

    module, _, function = entry_point.partition(":")
    getattr(import_module(module), function)()


if __name__ == "__main__":
    _enter(sys.argv[1], sys.argv[2:])
