"""JSON-RPC as the specification wants it, where pygls does less: every request gets one answer,
whatever is wrong with it, and answers that are JSON already are sent as they are."""

from __future__ import annotations

import asyncio
import inspect
import json
import logging
from collections.abc import Callable, Generator
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, TypeVar

from cattrs import Converter
from lsprotocol import types
from pygls.exceptions import (
    JsonRpcException,
    JsonRpcInvalidParams,
    JsonRpcInvalidRequest,
    JsonRpcParseError,
)
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
    """Typed messages from JSON. What ought to be a text is one: `5` is not taken for `"5"`, nor `null` for
    `"None"`, which would be the text of a document from then on."""
    converter = default_converter()
    converter.register_structure_hook(str, _text)
    return converter


def _text(value: object, kind: type[str]) -> str:
    """A text, or one of an enumeration of texts."""
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return kind(value)


class Protocol(LanguageServerProtocol):
    """The server's side of the conversation. Open documents are kept by the server (see
    `documents.py`), not by the workspace of pygls."""

    initialized = False
    """Whether `initialize` has been received."""

    _writing: asyncio.Future[Any] | None = None

    client_lost: Callable[[], None] = staticmethod(lambda: None)
    """Called when the client no longer reads."""

    @property
    def is_shut_down(self) -> bool:
        """Whether `shutdown` has been received."""
        return self._shutdown

    # --- receiving -------------------------------------------------------------------------

    def structure_message(self, data: dict[str, Any]) -> Any:
        """The typed message; raises `BadMessage` for one with wrong parameters."""
        if "jsonrpc" not in data:
            return data
        method = data.get("method")
        if method is not None and self.get_message_type(method) is None:
            if "id" in data:
                return JsonRPCRequestMessage(data["id"], method, "2.0", data.get("params"))
            return JsonRPCNotification(method, "2.0", data.get("params"))
        try:
            return super().structure_message(data)
        except Exception as error:
            msg_id = data.get("id") if method is not None else None
            raise BadMessage(msg_id, f"Invalid parameters for {method}") from error

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
        elif is_request and self._shutdown:
            self.refuse(message.id, JsonRpcInvalidRequest("The server is shutting down"))
        else:
            self.initialized = self.initialized or method == types.INITIALIZE
            super().handle_message(message)

    def reject(self, error: Exception) -> None:
        """Answer a message that was no message: not JSON, or not of the right shape."""
        if isinstance(error, BadMessage):
            if error.msg_id is not None:
                self.refuse(error.msg_id, error)
        elif isinstance(error, (ValueError, RecursionError)):
            self.refuse(None, JsonRpcParseError("A message was not valid JSON"))
        else:
            self.refuse(None, JsonRpcInvalidRequest("A message was not a JSON-RPC message"))

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
        """Run a command, and wait for what it answers."""
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
        """Send what a handler returned, or its error; what it did not foresee is logged."""
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
        """A notification that failed is logged; there is nobody to answer."""
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
        except (ConnectionError, ValueError):
            # ValueError: the stream was closed, as `exit` does.
            self.writer = None
            if not self._shutdown:
                self.client_lost()
            return
        if inspect.isawaitable(written):
            self._writing = asyncio.ensure_future(written)
