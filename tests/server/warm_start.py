"""Start of servers and workers for tests by a fork of a process that has loaded their modules.

Loading takes a second of CPU time, which hundreds of tests would pay. `warm` gives a command that behaves as
`python SCRIPT ARGUMENT...` does. It hands its standard streams, environment and working directory to the
loaded process and ends as the child there does, which is killed where the command is.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from pathlib import Path
from typing import NoReturn

_STREAMS = (0, 1, 2)
_MODULES = ("polylsp.cli", "polylsp.server.app", "polylsp.server.worker_main", "fake_analysis")
_address = ""


def warm(script: str, *arguments: str) -> tuple[str, ...]:
    """The command that runs a script, with `-m` a module, or an entry point (`package.module:function`), in
    a child of the loaded process."""
    return (sys.executable, "-I", "-S", str(Path(__file__).resolve()), "ask", _loaded(), script, *arguments)


def _loaded() -> str:
    """The address of the loaded process, which is started where there is none, and ends with this process."""
    global _address
    if not _address:
        import atexit
        import shutil
        import subprocess
        import tempfile

        folder = tempfile.mkdtemp(prefix="polylsp-warm-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        _address = f"{folder}/socket"
        process = subprocess.Popen(
            [sys.executable, __file__, "serve", _address], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert process.stdout is not None and process.stdout.readline() == b"loaded\n"
        atexit.register(process.kill)
    return _address


def _ask(address: str, command: list[str]) -> int:
    """Have a command run with the streams of this process; its status, negative where a signal ended it."""
    import json
    import socket

    request = json.dumps(
        {"command": command, "folder": str(Path.cwd()), "environment": dict(os.environ)}
    ).encode()
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(address)
        socket.send_fds(connection, [len(request).to_bytes(8, "big")], _STREAMS)
        connection.sendall(request)
        for stream in _STREAMS:
            os.close(stream)
        return int(connection.recv(16))


def _serve(address: str) -> None:
    """Fork a child for each connection, until standard input ends."""
    import gc
    import select
    import socket
    from importlib import import_module

    tests = Path(__file__).parent
    sys.path[:0] = [str(tests), str(tests.parent.parent)]
    for name in _MODULES:
        import_module(name)
    gc.collect()
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those who attend to a child
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(address)
    listening.listen(64)
    print("loaded", flush=True)
    while True:
        ready, _, _ = select.select([0, listening], [], [])
        if 0 in ready:
            return
        connection, _ = listening.accept()
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            listening.close()
            _attend(connection)
        connection.close()


def _attend(connection: object) -> NoReturn:
    """Run what is asked for in a child, and tell its status; kill it when whoever asked is gone."""
    import json
    import select
    import socket

    assert isinstance(connection, socket.socket)
    size, streams, _, _ = socket.recv_fds(connection, 8, len(_STREAMS))
    with connection.makefile("rb") as incoming:
        request = json.loads(incoming.read(int.from_bytes(size, "big")))
    pid = os.fork()
    if pid == 0:
        connection.close()
        for given, stream in zip(streams, _STREAMS, strict=True):
            os.dup2(given, stream)
            os.close(given)
        _run(request)
    os.closerange(0, max(_STREAMS) + 1)
    for each in streams:
        os.close(each)
    child = os.pidfd_open(pid)
    ready, _, _ = select.select([child, connection], [], [])
    if child not in ready:
        os.kill(pid, signal.SIGKILL)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    with contextlib.suppress(OSError):
        connection.sendall(str(status).encode())
    os._exit(0)


def _run(request: dict[str, object]) -> NoReturn:
    """Be the Python that runs a script."""
    import runpy
    import traceback
    from importlib import import_module

    command, folder, environment = request["command"], request["folder"], request["environment"]
    assert isinstance(command, list) and isinstance(folder, str) and isinstance(environment, dict)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    status = 0
    try:
        if command[0] == "-m":
            sys.argv = command[1:]
            runpy.run_module(command[1], run_name="__main__", alter_sys=True)
        elif ":" in command[0]:
            sys.argv = command
            module, _, function = command[0].partition(":")
            getattr(import_module(module), function)()
        else:
            sys.argv = command
            runpy.run_path(command[0], run_name="__main__")
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
        status = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


if __name__ == "__main__":
    what, address, *command = sys.argv[1:]
    if what == "serve":
        _serve(address)
        sys.exit()
    ended = _ask(address, command)
    if ended < 0:
        signal.signal(-ended, signal.SIG_DFL)
        os.kill(os.getpid(), -ended)
    os._exit(ended)
