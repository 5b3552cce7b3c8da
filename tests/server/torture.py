"""Random messages, right and wrong: after each burst the server's state equals that of a fresh one.

    python -m tests.server.torture --messages 20000 --seed 1

prints each burst, and ends with status 1 where the two differ; the printed seed shows it again.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.server.plain_client import Json, PlainClient
from tests.server.torture_texts import Text, edited, program

CAPTURES = Path(__file__).parents[1] / "editors" / "captures"
SERVER = (sys.executable, "-m", "polylsp", "serve")
SETTINGS: Json = {"max_seconds": 100.0, "max_operations": 300_000, "code_lenses": ["why", "offload"]}
OPTIONS = {"commands": ["polylsp.why", "polylsp.offload"], "status": True}
LANGUAGES = {"a.c": "c", "b.c": "c", "c.py": "python"}


@dataclass(slots=True)
class Torture:
    """A server and the messages of its client. `texts` are those of the open documents."""

    client: PlainClient
    draw: random.Random
    pulls: bool
    encoding: str
    texts: dict[str, Text] = field(default_factory=dict[str, Text])
    doubtful: set[str] = field(default_factory=set[str])
    """Documents of which, as far as the server can tell, a change may have been lost."""

    def burst(self, messages: int) -> None:
        """Send so many messages."""
        until = self.client.sent + messages
        while len(self.texts) < 2:
            self.open()
        while self.client.sent < until:
            weights = [weight for _, weight in _STEPS]
            (step,) = self.draw.choices([step for step, _ in _STEPS], weights)
            step(self)

    def save_all(self) -> None:
        """From now on everything is wanted of every document."""
        for uri in self.texts:
            self.client.tell("textDocument/didSave", _document(uri))

    # --- documents ---------------------------------------------------------------------------

    def open(self) -> None:
        name = self.draw.choice(list(LANGUAGES))
        uri = f"file:///torture/{name}"
        if uri in self.texts:
            return
        self.texts[uri] = Text(program(self.draw, LANGUAGES[name]), self.draw.randrange(5))
        self._open(uri)

    def change(self) -> None:
        if (uri := self._any()) is None:
            return
        text = self.texts[uri]
        changes: list[Json] = []
        for _ in range(self.draw.choice((1, 1, 1, 2, 5))):
            change, after = edited(self.draw, text.text, LANGUAGES[uri.rpartition("/")[2]], self.encoding)
            changes.append(change)
            text = Text(after, text.version)
        step = self.draw.choice((1, 1, 1, 2, 0, -1))
        version = self.texts[uri].version + step
        self.texts[uri] = Text(text.text, version)
        params = {"textDocument": {"uri": uri, "version": version}, "contentChanges": changes}
        self.client.tell("textDocument/didChange", params)
        is_lost = uri in self.doubtful and step != 1 and all("range" in each for each in changes)
        self.doubtful.discard(uri)
        if is_lost:
            # The server asks for the text, which the user gives it.
            self._open(uri)

    def save(self) -> None:
        if (uri := self._any()) is not None:
            self.client.tell("textDocument/didSave", _document(uri))

    def close(self) -> None:
        uri = self._any() or "file:///torture/closed.c"
        self.texts.pop(uri, None)
        self.doubtful.discard(uri)
        self.client.tell("textDocument/didClose", _document(uri))

    # --- requests ----------------------------------------------------------------------------

    def ask(self) -> None:
        uri = self._any() or "file:///torture/closed.c"
        method, params = self.draw.choice(_questions(uri, self._position(uri), self._position(uri)))
        if method != "textDocument/diagnostic" or self.pulls:
            self.client.request(method, params)

    def resolve(self) -> None:
        listings = [n for n, method in self.client.asked.items() if method == "textDocument/codeAction"]
        answers = [self.client.answers.get(each, {}).get("result") or [] for each in listings[-5:]]
        actions = [action for each in answers for action in each if "data" in action]
        if actions:
            self.client.request("codeAction/resolve", self.draw.choice(actions))

    def cancel(self) -> None:
        numbers = list(self.client.asked)[-20:]
        self.client.tell("$/cancelRequest", {"id": self.draw.choice([*numbers, 10**6, "none"])})

    def configure(self) -> None:
        # The same settings as before: every request is repeated, with the same answers.
        self.client.tell("workspace/didChangeConfiguration", {"settings": {"polylsp": SETTINGS}})

    def restart(self) -> None:
        self.client.request("workspace/executeCommand", {"command": "polylsp.restartWorker"})

    # --- nonsense ----------------------------------------------------------------------------

    def nonsense(self) -> None:
        body = self.draw.choice((*_NO_JSON, *_NONSENSE))
        self.client.raw(body)
        if body in _NO_JSON:
            self.doubtful.update(self.texts)

    def broken(self) -> None:
        """Bytes that are no message, or a message of another length than its header says."""
        body, garbage = _NONSENSE[-1], self.draw.randbytes(self.draw.randrange(1, 300))
        length = self.draw.choice((len(body) - 20, len(body) + 4, len(body) + 2000, 10**12, 10**25))
        wrong = b"Content-Length: %d\r\n\r\n%b" % (length, body)
        self.client.bytes(self.draw.choice((wrong, wrong, garbage, b"Content-Length: x\r\n\r\n", body)))
        self.doubtful.update(self.texts)

    def wrong(self) -> None:
        method = self.draw.choice(_METHODS)
        self.client.request(method, self.draw.choice((None, 7, [], {"textDocument": 3}, {"position": "x"})))

    def misplaced(self) -> None:
        """Edits of documents that are not open, and ones that are no edits."""
        uri = self._any() or "file:///torture/closed.c"
        bad = self.draw.choice(({"range": "here", "text": ""}, 5, {}, {"text": 5}, {"text": None}))
        document, changes = {"uri": uri, "version": 10**9}, [bad]
        if self.draw.random() < 0.5:
            document, changes = {"uri": "file:///torture/closed.c", "version": 1}, [{"text": "void"}]
        self.client.tell("textDocument/didChange", {"textDocument": document, "contentChanges": changes})
        if document["uri"] in self.texts:
            self._open(document["uri"])

    def _open(self, uri: str) -> None:
        self.doubtful.discard(uri)
        self.client.tell("textDocument/didOpen", {"textDocument": _item(uri, self.texts[uri])})

    def _any(self) -> str | None:
        return self.draw.choice(list(self.texts)) if self.texts else None

    def _position(self, uri: str) -> Json:
        lines = self.texts[uri].text.count("\n") + 2 if uri in self.texts else 9
        return {
            "line": self.draw.randrange(lines),
            "character": self.draw.choice((0, 4, 8, self.draw.randrange(200))),
        }


_STEPS: list[tuple[Callable[[Torture], None], int]] = [
    (Torture.change, 40),
    (Torture.ask, 30),
    (Torture.cancel, 10),
    (Torture.open, 6),
    (Torture.save, 4),
    (Torture.close, 2),
    (Torture.resolve, 3),
    (Torture.nonsense, 2),
    (Torture.broken, 2),
    (Torture.wrong, 2),
    (Torture.misplaced, 2),
    (Torture.configure, 1),
    (Torture.restart, 1),
]

_METHODS = (
    "textDocument/hover",
    "textDocument/inlayHint",
    "textDocument/codeAction",
    "codeAction/resolve",
    "textDocument/documentSymbol",
    "textDocument/codeLens",
    "workspace/executeCommand",
    "textDocument/makeCoffee",
)

_NO_JSON = (b"{not json", b"\xff\xfe", b"", b'{"jsonrpc":"2.0","method":"exit"')
_NONSENSE = (
    b"[]",
    b"7",
    b'{"jsonrpc":"2.0"}',
    b'{"jsonrpc":"2.0","method":"$/unheardOf"}',
    b'{"jsonrpc":"2.0","method":"textDocument/didOpen","params":{"textDocument":7}}',
    b'{"jsonrpc":"2.0","method":"textDocument/didClose","params":null}',
    b'{"jsonrpc":"2.0","method":"textDocument/didSave"}',
)


_EXTRAS = re.compile(
    r"\n\n!\[[^\]]*\]\(data:[^)]*\)|\n\nKernels for a GPU, as NVIDIA's compiler makes them.*", re.DOTALL
)


def _questions(uri: str, one: Json, other: Json) -> list[tuple[str, Json]]:
    document, extent = _document(uri), {"start": one, "end": other}
    return [
        ("textDocument/hover", {**document, "position": one}),
        ("textDocument/inlayHint", {**document, "range": extent}),
        ("textDocument/documentSymbol", document),
        ("textDocument/codeLens", document),
        ("textDocument/diagnostic", document),
        ("textDocument/codeAction", {**document, "range": extent, "context": {"diagnostics": []}}),
        (
            "textDocument/codeAction",
            {**document, "range": {"start": one, "end": one}, "context": {"diagnostics": []}},
        ),
        ("workspace/executeCommand", {"command": "polylsp.status"}),
    ]


def _document(uri: str) -> Json:
    return {"textDocument": {"uri": uri}}


def _item(uri: str, text: Text) -> Json:
    language = LANGUAGES[uri.rpartition("/")[2]]
    return {"uri": uri, "languageId": language, "version": text.version, "text": text.text}


# --- What a server knows -----------------------------------------------------------------------


async def known(client: PlainClient, texts: dict[str, Text], pulls: bool) -> Json:
    """Answers to all requests about each document, once no work is due."""
    await client.settle()
    return {uri: await _known_of(client, uri, texts[uri], pulls) for uri in sorted(texts)}


async def _known_of(client: PlainClient, uri: str, text: Text, pulls: bool) -> Json:
    document = _document(uri)
    end = {"line": text.text.count("\n") + 1, "character": 0}
    everything = {"start": {"line": 0, "character": 0}, "end": end}
    found: Json = {"text": text.text}
    found["symbols"] = await _result(client, "textDocument/documentSymbol", document)
    found["lenses"] = await _result(client, "textDocument/codeLens", document)
    hints = await _result(client, "textDocument/inlayHint", {**document, "range": everything})
    found["hints"] = hints
    found["diagnostics"] = await _diagnostics(client, uri, pulls)
    for hint in hints:
        # Hints stand at the end of a header: there are a loop, its hover and its actions.
        at = hint["position"]
        place = f"{at['line']}:{at['character']}"
        hover = await _result(client, "textDocument/hover", {**document, "position": at})
        found[f"hover {place}"] = _without_extras(hover)
        asked = {**document, "range": {"start": at, "end": at}, "context": {"diagnostics": []}}
        actions = await _result(client, "textDocument/codeAction", asked) or []
        found[f"actions {place}"] = [(each["title"], each.get("disabled")) for each in actions]
    return found


def _without_extras(hover: Json | None) -> Json | None:
    """Remove the parts of a hover that depend on time: the picture, which a busy machine may not finish, and
    the compiler's report on kernels, which follows a save alone."""
    if hover is None:
        return None
    contents = hover["contents"]
    return {**hover, "contents": {**contents, "value": _EXTRAS.sub("", contents["value"])}}


async def _result(client: PlainClient, method: str, params: Json) -> Any:
    answer = await client.ask(method, params)
    assert "result" in answer, f"{method}: {answer}"
    return answer["result"]


async def _diagnostics(client: PlainClient, uri: str, pulls: bool) -> Any:
    if pulls:
        return (await _result(client, "textDocument/diagnostic", _document(uri)))["items"]
    published = [each["params"] for each in client.told if each["method"].endswith("publishDiagnostics")]
    return [each["diagnostics"] for each in published if each["uri"] == uri][-1]


# --- A session -------------------------------------------------------------------------------


async def session(
    seed: int, messages: int, burst: int = 100, say: Callable[[str], None] = lambda _: None
) -> None:
    """Torture one server with so many messages; raises `AssertionError` where it is wrong."""
    draw = random.Random(seed)
    capture = draw.choice(("vscode1139-ext11", "nvim-bookworm", "nvim-sid"))
    client, pulls, encoding = await _started(capture)
    torture = Torture(client, draw, pulls, encoding)
    say(f"seed {seed}: {capture}, {encoding}, {'pulls' if pulls else 'is sent'} diagnostics")
    for number in range(-(-messages // burst)):
        torture.burst(burst)
        torture.save_all()
        ours = await known(client, torture.texts, pulls)
        _check(client)
        fresh, _, _ = await _started(capture)
        for uri, text in torture.texts.items():
            fresh.tell("textDocument/didOpen", {"textDocument": _item(uri, text)})
        theirs = await known(fresh, torture.texts, pulls)
        _check(fresh)
        assert await fresh.stop() == 0
        say(f"  burst {number}: {client.sent} messages, {sum(map(len, ours.values()))} answers compared")
        for uri in ours:
            assert ours[uri] == theirs[uri], _difference(number, uri, ours[uri], theirs[uri])
    assert await client.stop() == 0
    # What asyncio itself says where it ends while a worker is being ended is none of ours.
    said = client.stderr.partition("Exception ignored in: <function BaseSubprocessTransport.__del__")[0]
    at = said.find("Traceback")
    assert at < 0, said[max(0, at - 1000) : at + 9000]


def _difference(burst: int, uri: str, ours: Json, theirs: Json) -> str:
    """Difference between the answers of two servers about a document, for a person."""
    lines = [f"burst {burst}, {uri}:"]
    for what in sorted({*ours, *theirs}):
        if ours.get(what) != theirs.get(what):
            lines += [f"--- {what}, after the torture:", json.dumps(ours.get(what)), "--- fresh:"]
            lines += [json.dumps(theirs.get(what))]
    return "\n".join([*lines, "--- the text:", ours["text"]])


def _check(client: PlainClient) -> None:
    """Each request is answered once, and no bug of ours was logged."""
    assert set(client.times.values()) <= {1}
    for each in client.told:
        if each["method"] == "window/logMessage":
            assert "Traceback" not in each["params"]["message"], each["params"]["message"]


async def _started(capture: str) -> tuple[PlainClient, bool, str]:
    initialize = json.loads((CAPTURES / f"{capture}.caps.json").read_text())
    initialize |= {"workspaceFolders": None, "rootUri": None, "rootPath": None}
    initialize["initializationOptions"] = {**OPTIONS, "settings": SETTINGS}
    client = PlainClient(SETTINGS)
    result = await client.start(SERVER, initialize)
    capabilities = result["capabilities"]
    return client, "diagnosticProvider" in capabilities, capabilities.get("positionEncoding", "utf-16")


def main() -> int:
    """Sessions of 2,000 messages, one after the other."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--burst", type=int, default=200)
    options = parser.parse_args()
    wrong = 0
    each = min(2000, options.messages)
    for seed in range(options.seed, options.seed + -(-options.messages // each)):
        try:
            asyncio.run(session(seed, each, options.burst, print))
        except AssertionError as error:
            wrong += 1
            print(f"seed {seed}: {error}")
    print(f"{options.messages} messages, {wrong} sessions wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
