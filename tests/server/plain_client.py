"""Client that sends given messages, right or wrong, and records the answers: no library corrects or refuses
them."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

Json = dict[str, Any]

PATIENCE = 100.0


class PlainClient:
    """A session. `answers` has the responses by the number of the request, `times` the number of answers to
    each; `told` the notifications; `settings` is the answer to `workspace/configuration`."""

    def __init__(self, settings: Json) -> None:
        self.settings = settings
        self.sent = 0
        self.answers: dict[int, Json] = {}
        self.times: Counter[int] = Counter()
        self.asked: dict[int, str] = {}
        self.told: list[Json] = []
        self.stderr = ""
        self._news = asyncio.Event()

    async def start(self, command: Sequence[str], initialize: Json) -> Json:
        """Start the server and shake hands; answers what it says of itself."""
        pipe = asyncio.subprocess.PIPE
        self.process = await asyncio.create_subprocess_exec(
            *command, stdin=pipe, stdout=pipe, stderr=pipe, limit=2**26
        )
        self._tasks = [asyncio.create_task(each) for each in (self._listen(), self._listen_to_errors())]
        answer = await self.ask("initialize", {**initialize, "processId": os.getpid()})
        self.tell("initialized", {})
        result: Json = answer["result"]
        return result

    async def stop(self) -> int:
        """Say goodbye; answers the exit status."""
        await self.ask("shutdown", None)
        self.tell("exit", None)
        status = await asyncio.wait_for(self.process.wait(), PATIENCE)
        await asyncio.gather(*self._tasks)
        return status

    # --- sending -----------------------------------------------------------------------------

    def raw(self, body: bytes) -> None:
        """Send a body as it is."""
        self.bytes(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))

    def bytes(self, data: bytes) -> None:
        """Send what may be no message."""
        assert self.process.stdin is not None
        self.sent += 1
        self.process.stdin.write(data)

    def tell(self, method: str, params: Any) -> None:
        """Send a notification."""
        self.raw(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}).encode())

    def request(self, method: str, params: Any) -> int:
        """Send a request, and do not wait."""
        number = len(self.asked) + 1
        self.asked[number] = method
        message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        self.raw(json.dumps(message).encode())
        return number

    async def ask(self, method: str, params: Any) -> Json:
        """Send a request and wait for the response."""
        number = self.request(method, params)
        await self.until(lambda: number in self.answers, f"no answer to {method}")
        return self.answers[number]

    async def execute(self, command: str) -> Any:
        """Result of a command."""
        return (await self.ask("workspace/executeCommand", {"command": command}))["result"]

    async def settle(self) -> None:
        """Wait until every request is answered, and nothing is due any more."""
        await self.until(lambda: len(self.answers) == len(self.asked), "requests were not answered")
        while not (await self.execute("polylsp.status"))["quiescent"]:
            await asyncio.sleep(0.01)

    async def until(self, holds: Callable[[], bool], trouble: str) -> None:
        """Wait for something that the server's messages bring about."""

        async def wait() -> None:
            while not holds():
                self._news.clear()
                await self._news.wait()

        try:
            await asyncio.wait_for(wait(), PATIENCE)
        except asyncio.TimeoutError:
            open_requests = [self.asked[each] for each in self.asked if each not in self.answers]
            raise AssertionError(f"{trouble}; unanswered: {open_requests}; {self.stderr[-2000:]}") from None

    # --- hearing -----------------------------------------------------------------------------

    async def _listen(self) -> None:
        assert self.process.stdout is not None
        stdout = self.process.stdout
        with contextlib.suppress(asyncio.IncompleteReadError):
            while True:
                header = await stdout.readuntil(b"\r\n\r\n")
                length = re.search(rb"Content-Length: (\d+)", header)
                assert length is not None
                self._take(json.loads(await stdout.readexactly(int(length.group(1)))))
                self._news.set()

    def _take(self, message: Json) -> None:
        if "method" not in message:
            if message.get("id") is not None:
                self.answers[message["id"]] = message
                self.times[message["id"]] += 1
        elif "id" in message:
            result = self._result(message)
            answer = {"jsonrpc": "2.0", "id": message["id"], "result": result}
            self.raw(json.dumps(answer).encode())
            self.sent -= 1
        else:
            self.told.append(message)

    def _result(self, message: Json) -> Any:
        if message["method"] == "workspace/configuration":
            return [self.settings for _ in message["params"]["items"]]
        return {"applied": True} if message["method"] == "workspace/applyEdit" else None

    async def _listen_to_errors(self) -> None:
        assert self.process.stderr is not None
        while data := await self.process.stderr.read(2**16):
            self.stderr += data.decode("utf-8", "replace")
