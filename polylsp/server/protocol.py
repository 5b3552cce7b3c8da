"""JSON-RPC as the specification requires it, where pygls does less: every request gets one answer, also a
malformed one, and answers that are JSON already are sent as they are."""

from __future__ import annotations

import asyncio
import inspect
import json
import logging
import re
from collections.abc import Awaitable, Callable, Generator, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, TypeVar
from typing import Protocol as Structural

from cattrs import Converter
from lsprotocol import types
from pygls.exceptions import JsonRpcException, JsonRpcInvalidParams, JsonRpcInvalidRequest, JsonRpcParseError
from pygls.protocol import LanguageServerProtocol, default_converter, lsp_method
from pygls.protocol.json_rpc import JsonRPCNotification, JsonRPCRequestMessage

logger = logging.getLogger(__name__)


T = TypeVar("T")
_Step = Generator[Any, Any, None]


@dataclass(frozen=True, slots=True)
class JsonText:
    """A value as JSON text, ready to be sent."""

    text: str


class ServerCancelled(JsonRpcException):
    """The server did not finish a request; for pulled diagnostics `data` says whether to ask again."""

    CODE = -32802
    MESSAGE = "Server Cancelled"


class BadMessage(JsonRpcException):
    """A message that could not be understood; `msg_id` names the request that it was, if any."""

    CODE = -32602
    MESSAGE = "Invalid Params"

    def __init__(self, msg_id: int | str | None, message: str) -> None:
        super().__init__(message)
        self.msg_id = msg_id


def strict_converter() -> Converter:
    """Typed messages from JSON. A text has to be one: `5` is not taken for `"5"`, nor `null` for `"None"`,
    which would be the text of a document from then on; and a text is not taken for a number."""
    converter = default_converter()
    converter.register_structure_hook(str, _text)
    converter.register_structure_hook(int, _whole)
    return converter


def _text(value: object, kind: type[str]) -> str:
    """A text, or one of an enumeration of texts."""
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return kind(value)


def _whole(value: object, kind: type[int]) -> int:
    """A whole number, which some clients write as `1.0`, or one of an enumeration; or a truth value."""
    if kind is bool:
        if not isinstance(value, bool):
            raise TypeError(f"{value!r} is no truth value")
        return value
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != int(value):
        raise TypeError(f"{value!r} is no whole number")
    return kind(int(value))


def _no_number(value: str) -> None:
    raise ValueError(f"{value} is no number of JSON")


def _admits_all(_: types.InitializeParams) -> bool:
    return True


def _ignores(_: str | None) -> None: ...


class Protocol(LanguageServerProtocol):
    """Server side of the JSON-RPC connection. The server stores open documents (see `documents.py`), not the
    workspace of pygls."""

    initialized = False
    """Set once `initialize` has been received."""

    has_left = False
    """Set once the client has said `exit`, or was refused."""

    _writing: asyncio.Future[Any] | None = None

    admits: Callable[[types.InitializeParams], bool] = staticmethod(_admits_all)
    """Predicate that decides whether a client may begin."""

    edits_lost: Callable[[str | None], None] = staticmethod(_ignores)
    """Called when a change of a document could not be read, with its URI; with `None` where messages were
    lost, and any of them may have been a change."""

    client_lost: Callable[[], None] = staticmethod(lambda: None)
    """Called when the client no longer reads."""

    @property
    def is_shut_down(self) -> bool:
        """True after `shutdown` has been received."""
        return self._shutdown

    # --- receiving -------------------------------------------------------------------------

    def receive(self, body: bytes) -> bool:
        """Take a message, and answer it, even if malformed; true if it was JSON."""
        try:
            data = json.loads(body, parse_constant=_no_number)
        except (ValueError, RecursionError, MemoryError) as error:
            self._refuse_message(None, JsonRpcParseError("A message was not valid JSON"), error)
            self.edits_lost(None)
            return False
        wrong = _misshapen(data)
        if wrong:
            msg_id = data.get("id") if isinstance(data, dict) else None
            self._refuse_message(msg_id if _is_id(msg_id) else None, JsonRpcInvalidRequest(wrong), wrong)
            return True
        try:
            self.handle_message(self.structure_message(data))
        except BadMessage as bad:
            self._refuse_message(bad.msg_id, bad, bad.__cause__, is_answered=bad.msg_id is not None)
            if data.get("method") in _CHANGES:
                self.edits_lost(_uri_of(data))
        except Exception as error:
            # Only requests are answered (JSON-RPC 2.0, sections 4.1 and 5).
            msg_id = data.get("id") if "method" in data else None
            refused = JsonRpcInvalidRequest("A message could not be handled")
            self._refuse_message(msg_id, refused, error, is_answered=msg_id is not None)
        return True

    def lose(self, reason: str) -> None:
        """Bytes were passed over between two messages."""
        self._refuse_message(None, JsonRpcParseError(f"{reason}: it was passed over"), reason)
        self.edits_lost(None)

    def structure_message(self, data: dict[str, Any]) -> Any:
        """The typed message; raises `BadMessage` for one with wrong parameters."""
        method = data.get("method")
        if method is not None and self.get_message_type(method) is None:
            if "id" in data:
                return JsonRPCRequestMessage(data["id"], method, "2.0", data.get("params"))
            return JsonRPCNotification(method, "2.0", data.get("params"))
        try:
            return super().structure_message(data)
        except Exception as error:
            if method is None:
                self._forget_question(data["id"], error)
                raise BadMessage(None, "An answer was not of the kind that was asked for") from error
            raise BadMessage(data.get("id"), f"Invalid parameters for {method}") from (
                error.__cause__ or error
            )

    def handle_message(self, message: Any) -> None:
        """Refuse requests that come before `initialize` or after `shutdown`."""
        method = getattr(message, "method", None)
        is_request = method is not None and hasattr(message, "id")
        if method == types.INITIALIZE and self.initialized:
            self.refuse(message.id, JsonRpcInvalidRequest("The server is initialized already"))
        elif method is not None and not self.initialized and method not in (types.INITIALIZE, types.EXIT):
            if is_request:
                error = JsonRpcException("The server is not initialized yet", code=-32002)
                self.refuse(message.id, error)
        elif method == types.INITIALIZE and not self.admits(message.params):
            self.refuse(message.id, JsonRpcException("The token is missing or wrong", code=-32803))
            self.has_left = True
        elif is_request and self._shutdown:
            self.refuse(message.id, JsonRpcInvalidRequest("The server is shutting down"))
        else:
            self.initialized = self.initialized or method == types.INITIALIZE
            super().handle_message(message)

    def _handle_response(
        self, msg_id: Any, result: Any | None = None, error: types.ResponseError | None = None
    ) -> None:
        """Take the client's answer to a request of the server; one whose future was cancelled is dropped."""
        asked = self._request_futures.get(msg_id)
        if asked is not None and asked.done():
            del self._request_futures[msg_id]
        else:
            super()._handle_response(msg_id, result, error)

    def _refuse_message(
        self, msg_id: int | str | None, answer: JsonRpcException, why: object, *, is_answered: bool = True
    ) -> None:
        """Answer a message that was none, or had wrong parameters, and note why."""
        if is_answered:
            self.refuse(msg_id, answer)
        logger.warning("A message was refused: %s: %s", answer.message, why)

    def _forget_question(self, msg_id: Any, error: Exception) -> None:
        """Fail a request to the client whose answer was malformed."""
        asked = self._request_futures.pop(msg_id, None)
        if asked is not None and not asked.done():
            asked.set_exception(JsonRpcException(f"The client's answer was of another kind: {error}"))

    @lsp_method(types.EXIT)
    def lsp_exit(self, *_: Any) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Leave: the listener of the stream ends after this message."""
        self.has_left = True

    # --- documents: straight to our handlers -----------------------------------------------------

    @lsp_method(types.TEXT_DOCUMENT_DID_OPEN)
    def lsp_text_document__did_open(self, params: types.DidOpenTextDocumentParams) -> _Step:
        """Pass it on."""
        yield self.fm.features[types.TEXT_DOCUMENT_DID_OPEN], (params,), None

    @lsp_method(types.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(self, params: types.DidChangeTextDocumentParams) -> _Step:
        """Pass it on."""
        yield self.fm.features[types.TEXT_DOCUMENT_DID_CHANGE], (params,), None

    @lsp_method(types.TEXT_DOCUMENT_DID_CLOSE)
    def lsp_text_document__did_close(self, params: types.DidCloseTextDocumentParams) -> _Step:
        """Pass it on."""
        yield self.fm.features[types.TEXT_DOCUMENT_DID_CLOSE], (params,), None

    @lsp_method(types.NOTEBOOK_DOCUMENT_DID_OPEN)
    def lsp_notebook_document__did_open(self, params: types.DidOpenNotebookDocumentParams) -> _Step:
        """Pass it on."""
        yield self.fm.features[types.NOTEBOOK_DOCUMENT_DID_OPEN], (params,), None

    @lsp_method(types.NOTEBOOK_DOCUMENT_DID_CHANGE)
    def lsp_notebook_document__did_change(self, params: types.DidChangeNotebookDocumentParams) -> _Step:
        """Pass it on."""
        yield self.fm.features[types.NOTEBOOK_DOCUMENT_DID_CHANGE], (params,), None

    @lsp_method(types.NOTEBOOK_DOCUMENT_DID_CLOSE)
    def lsp_notebook_document__did_close(self, params: types.DidCloseNotebookDocumentParams) -> _Step:
        """Pass it on."""
        yield self.fm.features[types.NOTEBOOK_DOCUMENT_DID_CLOSE], (params,), None

    # --- commands: as tasks, which end when their request is cancelled --------------------------------

    @lsp_method(types.WORKSPACE_EXECUTE_COMMAND)
    async def lsp_workspace__execute_command(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, params: types.ExecuteCommandParams
    ) -> Any:
        """Run a command, and wait for its result."""
        command = self.fm.commands.get(params.command)
        if command is None:
            raise JsonRpcInvalidParams(f"There is no command {params.command!r}")
        answer = command(*(params.arguments or ()))
        return await answer if inspect.isawaitable(answer) else answer

    # --- values ----------------------------------------------------------------------------

    def plain(self, value: Any) -> Any:
        """A typed value as it is in JSON."""
        return self._converter.unstructure(value)

    def typed(self, value: Any, kind: type[T]) -> T:
        """A value as it is in JSON, typed."""
        return self._converter.structure(value, kind)

    # --- sending ---------------------------------------------------------------------------

    def notify_json(self, method: str, params: str) -> None:
        """Send a notification whose parameters are JSON text."""
        self._write(f'{{"jsonrpc":"2.0","method":{json.dumps(method)},"params":{params}}}')

    def refuse(self, msg_id: int | str | None, error: JsonRpcException) -> None:
        """Answer a request with an error."""
        body: dict[str, Any] = {"code": error.code, "message": error.message}
        if error.data is not None:
            body["data"] = error.data
        self._write(json.dumps({"jsonrpc": "2.0", "id": msg_id, "error": body}))

    def _send_response(
        self, msg_id: Any, result: Any | None = None, error: types.ResponseError | None = None
    ) -> None:
        if error is not None or hasattr(result, "__attrs_attrs__"):
            super()._send_response(msg_id, result, error)
            return
        text = result.text if isinstance(result, JsonText) else json.dumps(result)
        self._write(f'{{"jsonrpc":"2.0","id":{json.dumps(msg_id)},"result":{text}}}')

    def _send_handler_result(self, future: Future[Any], *, msg_id: Any) -> None:
        """Send what a handler returned, or its error; unexpected errors are logged."""
        self._request_futures.pop(msg_id, None)
        if future.cancelled():
            self.refuse(msg_id, JsonRpcException("The request was cancelled", code=-32800))
            return
        error = future.exception()
        if error is None:
            try:
                self._send_response(msg_id, result=future.result())
                return
            except (TypeError, ValueError) as unsendable:
                error = unsendable
        if not isinstance(error, JsonRpcException):
            logger.error("A request failed: %s", error, exc_info=error)
            error = JsonRpcException(f"Internal error: {type(error).__name__}: {error}", code=-32603)
        self.refuse(msg_id, error)

    def _check_handler_result(self, future: Future[Any]) -> None:
        """Log a notification that failed; it has no reply."""
        if not future.cancelled() and (error := future.exception()) is not None:
            logger.error("A notification failed: %s", error, exc_info=error)

    def _write(self, body: str) -> None:
        if self.writer is None:
            return
        data = body.encode("ascii")
        if self._include_headers:
            data = b"Content-Length: %d\r\n\r\n" % len(data) + data
        try:
            written = self.writer.write(data)
        except (OSError, ValueError):
            # ValueError: the stream was closed, as `exit` does.
            self.writer = None
            if not self._shutdown:
                self.client_lost()
            return
        if inspect.isawaitable(written):
            self._writing = asyncio.ensure_future(written)


_CHANGES = (types.TEXT_DOCUMENT_DID_CHANGE, types.NOTEBOOK_DOCUMENT_DID_CHANGE)


def _misshapen(data: object) -> str:
    """Reason why a value is no message of JSON-RPC, or empty."""
    if isinstance(data, list):
        return "Messages come one by one, not in a batch"
    if not isinstance(data, dict) or data.get("jsonrpc") != "2.0":
        return "A message was not a JSON-RPC message"
    if "method" in data:
        if not isinstance(data["method"], str):
            return "A method is a text"
        return "" if "id" not in data or _is_id(data["id"]) else "The id of a request is a number or a text"
    if "id" not in data or ("result" not in data and "error" not in data):
        return "A message was neither a request nor an answer"
    return "" if data["id"] is None or _is_id(data["id"]) else "The id of an answer is a number or a text"


def _is_id(value: object) -> bool:
    return isinstance(value, (int, str)) and not isinstance(value, bool)


def _uri_of(data: dict[str, Any]) -> str | None:
    """The document that a message with wrong parameters is about, if it says so."""
    params = data.get("params")
    for name in ("textDocument", "notebookDocument"):
        document = params.get(name) if isinstance(params, dict) else None
        if isinstance(document, dict) and isinstance(document.get("uri"), str):
            return document["uri"]
    return None


# --------------------------------------------------------------------------------------------------
# Messages on a stream of bytes, each after a header that tells its length. Bytes that are no
# message are passed over, up to the next header.
# --------------------------------------------------------------------------------------------------


MOST_BYTES = 2**28
"""Limit on the size of a message: no text of a document is as long."""

_MOST_HEADER = 2**13
_LENGTH = re.compile(rb"content-length[ \t]*:[ \t]*(\d{1,18})[ \t]*\r?\n\Z", re.IGNORECASE)
_LONGEST = 64
"""At least the length of a line that `_LENGTH` finds, as programs write it."""
_FIELD = re.compile(rb"([A-Za-z0-9-]+)[ \t]*:[^\r\n]*\r?\n")


@dataclass(frozen=True, slots=True)
class Lost:
    """Bytes were passed over, and why: there may have been messages among them."""

    reason: str


class Stream:
    """Buffered input of a stream, cut into the bodies of messages. `most` bytes are read of one."""

    def __init__(self) -> None:
        self.most = MOST_BYTES
        self._waiting = bytearray()
        self._length: int | None = None
        self._named: int | None = None
        self._searched = 0
        self._is_lost = False

    def feed(self, data: bytes) -> Iterator[bytes | Lost]:
        """Take bytes as they come; gives the bodies that are complete now."""
        self._waiting += data
        while (found := self._next()) is not None:
            yield found

    def read_again(self, body: bytes) -> None:
        """Look for headers in the last body too: it was no JSON, so that its length may have been wrong."""
        self._waiting[:0] = body
        self._is_lost = True

    def _next(self) -> bytes | Lost | None:
        """The next body, or why there is none; `None`: more bytes have to come for that."""
        if self._is_lost and not self._found_again():
            return None
        if self._length is None:
            lost = self._read_header()
            if lost is not None or self._length is None:
                return lost
        if len(self._waiting) >= self._length:
            body = bytes(self._waiting[: self._length])
            self._begin(self._length)
            return body
        # No text of JSON holds a line break as it is: a header in a body is that of another message.
        at = self._length_line(self._searched)
        self._searched = max(0, len(self._waiting) - _LONGEST)
        return None if at is None else self._lose("A message was shorter than its header said", at)

    def _read_header(self) -> Lost | None:
        """Read the header that comes next, if it is all there; lines that were read are not read again."""
        waiting, at = self._waiting, self._searched
        while (end := waiting.find(b"\n", at, at + _MOST_HEADER)) >= 0:
            line = bytes(waiting[at : end + 1])
            if not line.strip():
                if at == 0:
                    del waiting[: end + 1]  # An empty line between two messages.
                    continue
                if self._named is None:
                    return self._lose("A header named no length", end + 1)
                if self._named > self.most:
                    return self._lose(f"A message of {self._named} bytes is too long", end + 1)
                length = self._named
                self._begin(end + 1)
                self._length = length
                return None
            field, told = _FIELD.fullmatch(line), _LENGTH.search(line)
            if field is None or (told is not None and told.start() > 0):
                return self._lose("What stood before a message was no header", at)
            if field[1].lower() == b"content-length":
                if told is None or self._named not in (None, int(told[1])):
                    return self._lose("A header named no length", end + 1 if told is None else at)
                self._named = int(told[1])
            self._searched = at = end + 1
            if at > _MOST_HEADER:
                return self._lose("A header had no end", at)
        if len(waiting) - at >= _MOST_HEADER:
            return self._lose("A header had no end", at)
        return None

    def _lose(self, reason: str, upto: int) -> Lost:
        """Pass over the first bytes, and those up to the next header."""
        self._begin(upto)
        self._is_lost = True
        return Lost(reason)

    def _begin(self, after: int) -> None:
        """Expect a header after the first bytes, which are dropped."""
        del self._waiting[:after]
        self._length, self._named, self._searched = None, None, 0

    def _found_again(self) -> bool:
        """True if a header has come since messages were lost; the bytes before it are dropped."""
        at = self._length_line(0)
        del self._waiting[: max(0, len(self._waiting) - _LONGEST) if at is None else at]
        self._is_lost = at is None
        return not self._is_lost

    def _length_line(self, start: int) -> int | None:
        """Offset of the first line with a length, with any text before it in the same line."""
        end = self._waiting.find(b"\n", start)
        while end >= 0:
            found = _LENGTH.search(self._waiting, max(0, end - _LONGEST), end + 1)
            if found is not None:
                return found.start()
            end = self._waiting.find(b"\n", end + 1)
        return None


class Listener(Structural):
    """Receiver of the messages of a stream."""

    has_left: bool
    """Set once the other side has said that no further message is to come."""

    def receive(self, body: bytes) -> bool:
        """Take the body of a message, and answer it; tells whether it was JSON."""
        ...

    def lose(self, reason: str) -> None:
        """Learn that bytes were passed over."""
        ...


async def converse(read: Callable[[], Awaitable[bytes]], listener: Listener, stream: Stream) -> None:
    """Pass on all messages, until the stream ends or the other side has left."""
    while data := await read():
        for found in stream.feed(data):
            if isinstance(found, Lost):
                listener.lose(found.reason)
            elif not listener.receive(found):
                stream.read_again(found)
            if listener.has_left:
                return
            # What a message has begun has its turn before the next one is taken.
            await asyncio.sleep(0)
