"""The least client that can be timed, and what benchmarks make of times."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import psutil

SERVER = "import sys; from polylsp.server.app import serve_stdio; sys.exit(serve_stdio())"


@dataclass(frozen=True)
class Moment:
    """A time on the clock, and the CPU time that had been used by then; also the time between two of them."""

    clock: float
    cpu: float

    def __sub__(self, before: Moment) -> Moment:
        return Moment(self.clock - before.clock, self.cpu - before.cpu)


def cpu_seconds(pid: int) -> float:
    """CPU time of a process and of those below it."""
    seconds = 0.0
    with contextlib.suppress(psutil.Error):
        process = psutil.Process(pid)
        for each in (process, *process.children(recursive=True)):
            with contextlib.suppress(psutil.Error):
                times = each.cpu_times()
                seconds += times.user + times.system
    return seconds


class Client:
    """Raw messages, blocking reads."""

    def __init__(self, *command: str, program: str = sys.executable) -> None:
        self.started = time.perf_counter()
        self.process = subprocess.Popen(
            [program, *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self._number = 0
        self.published: list[tuple[Moment, bytes]] = []
        """The diagnostics that came, and when."""

    def notify(self, method: str, params: Any) -> None:
        self._send({"jsonrpc": "2.0", "method": method, "params": params})

    def request(self, method: str, params: Any) -> Any:
        self._number += 1
        number = self._number
        self._send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        return json.loads(self.receive(lambda body: body.startswith(b'{"') and _id(body) == number))

    def receive(self, accept: Callable[[bytes], bool]) -> bytes:
        while True:
            body = self._read()
            if b"publishDiagnostics" in body[:120]:
                self.published.append((self.moment(), body))
            if accept(body):
                return body

    def moment(self) -> Moment:
        """Now, on the clock and in CPU time of the program with its processes."""
        return Moment(time.perf_counter(), cpu_seconds(self.process.pid))

    def settle(self) -> None:
        """Wait until all that is open is analysed."""
        while True:
            found = self.request("workspace/executeCommand", {"command": "polylsp.status", "arguments": []})
            if found["result"]["quiescent"] and not found["result"]["analysing"]:
                return
            time.sleep(0.02)

    def ready(self) -> float:
        """Seconds from the start of the process to its answer to `initialize`."""
        self.request("initialize", {"processId": None, "rootUri": None, "capabilities": CAPABILITIES})
        seconds = time.perf_counter() - self.started
        self.notify("initialized", {})
        return seconds

    def end(self) -> None:
        self.request("shutdown", None)
        self.notify("exit", None)
        self.process.wait(10)

    def _send(self, message: dict[str, Any]) -> None:
        body = json.dumps(message).encode()
        stdin = self.process.stdin
        assert stdin is not None
        stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        stdin.flush()

    def _read(self) -> bytes:
        stdout = self.process.stdout
        assert stdout is not None
        length = 0
        while (line := stdout.readline().strip()) or not length:
            if not line and self.process.poll() is not None:
                raise SystemExit("the server has ended")
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        return stdout.read(length)


CAPABILITIES = {
    "textDocument": {
        "publishDiagnostics": {"relatedInformation": True, "codeDescriptionSupport": True},
        "hover": {"contentFormat": ["markdown"]},
        "codeAction": {
            "codeActionLiteralSupport": {"codeActionKind": {"valueSet": [""]}},
            "dataSupport": True,
            "disabledSupport": True,
            "resolveSupport": {"properties": ["edit"]},
        },
    }
}


def _id(body: bytes) -> int | None:
    if b'"result"' not in body[:4000] and b'"error"' not in body[:4000]:
        return None
    return json.loads(body).get("id")


def published(body: bytes, version: int) -> bool:
    return b"publishDiagnostics" in body[:120] and b'"version":%d,' % version in body[:300]


def percentile(values: list[float], percent: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))]
