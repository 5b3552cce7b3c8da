"""Translator from the values of `ide` to the shapes of LSP, as values ready for JSON; the only one."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

from lsprotocol import types

from polylsp.ide.diagnostics import Diagnostic, Severity
from polylsp.ide.hints import Hint
from polylsp.ide.hover import Hover
from polylsp.ide.symbols import Symbol
from polylsp.server.client import Client
from polylsp.server.documents import Edit
from polylsp.text import Encoding, Position, Source, Span

Json = dict[str, Any]

_SEVERITIES: dict[Severity, int] = {"error": 1, "warning": 2, "information": 3, "hint": 4}

_FUNCTION, _NAMESPACE, _ARRAY = 12, 3, 18
_SYMBOL_KINDS = {"function": _FUNCTION, "nest": _NAMESPACE, "loop": _ARRAY}


# --- From LSP ------------------------------------------------------------------------------


def offset_of(source: Source, position: types.Position, encoding: Encoding) -> int:
    """The offset that a position means; one outside the text is clamped."""
    return source.offset(Position(position.line, position.character), encoding)


def span_of(source: Source, extent: types.Range, encoding: Encoding) -> Span:
    """The span that a range means, also where its ends are the wrong way round."""
    start, end = offset_of(source, extent.start, encoding), offset_of(source, extent.end, encoding)
    return Span(min(start, end), max(start, end))


def edit_of(change: types.TextDocumentContentChangeEvent) -> Edit:
    """The edit that a change event means."""
    if isinstance(change, types.TextDocumentContentChangePartial):
        start, end = change.range.start, change.range.end
        return Edit(Position(start.line, start.character), Position(end.line, end.character), change.text)
    return Edit(None, None, change.text)


# --- To LSP --------------------------------------------------------------------------------


def position(source: Source, offset: int, encoding: Encoding) -> Json:
    """An offset as a position."""
    at = source.position(offset, encoding)
    return {"line": at.line, "character": at.character}


def extent(source: Source, span: Span, encoding: Encoding) -> Json:
    """A span as a range."""
    return {
        "start": position(source, span.start, encoding),
        "end": position(source, span.end, encoding),
    }


def hover(source: Source, found: Hover, client: Client) -> Json:
    """A hover in the best format that the client shows."""
    text = found.markdown if client.markdown else found.plain
    return {"contents": markup(text, client), "range": extent(source, found.span, client.encoding)}


def markup(text: str, client: Client) -> Json:
    """A text in the format that the client shows."""
    return {"kind": "markdown" if client.markdown else "plaintext", "value": text}


def inlay_hint(source: Source, hint: Hint, uri: str, encoding: Encoding) -> Json:
    """An inlay hint, without its tooltip; `data` finds it again."""
    return {
        "position": position(source, hint.offset, encoding),
        "label": hint.label,
        "paddingLeft": True,
        "data": {"uri": uri, "function": hint.function, "ordinal": hint.ordinal},
    }


def code_lens(
    source: Source, span: Span, title: str, command: str, arguments: list[Any], encoding: Encoding
) -> Json:
    """A link above a span that runs a command."""
    return {
        "range": extent(source, span, encoding),
        "command": {"title": title, "command": command, "arguments": arguments},
    }


def symbol_tree(source: Source, symbols: Sequence[Symbol], encoding: Encoding) -> list[Json]:
    """Symbols with their children."""
    return [
        {
            "name": symbol.name,
            "detail": symbol.detail,
            "kind": _SYMBOL_KINDS[symbol.kind],
            "range": extent(source, symbol.span, encoding),
            "selectionRange": extent(source, symbol.selection, encoding),
            "children": symbol_tree(source, symbol.children, encoding),
        }
        for symbol in symbols
    ]


def symbol_list(
    source: Source, symbols: Sequence[Symbol], uri: str, encoding: Encoding, container: str = ""
) -> list[Json]:
    """Symbols one after the other, each with the name of its parent."""
    result: list[Json] = []
    for symbol in symbols:
        result.append(
            {
                "name": symbol.name,
                "kind": _SYMBOL_KINDS[symbol.kind],
                "location": {"uri": uri, "range": extent(source, symbol.span, encoding)},
                "containerName": container,
            }
        )
        result.extend(symbol_list(source, symbol.children, uri, encoding, symbol.name))
    return result


# --- Diagnostics, as JSON text with holes for the lines --------------------------------------


@dataclass(frozen=True, slots=True)
class Template:
    """JSON text with a `%d` for each line number, and those numbers for a first line of 0.

    Moving the findings of a function by whole lines is then one formatting operation.
    """

    text: str
    lines: tuple[int, ...]

    def at(self, line: int) -> str:
        """The JSON text when the first line is `line`."""
        return self.text % tuple(each + line for each in self.lines)


@dataclass(frozen=True)
class RelativeSource(Source):
    """Text of one function. Its line numbers have `base` added, which distinguishes them from all other
    numbers in a message, so that they can be replaced by holes."""

    base: int = 0

    def line_of(self, offset: int) -> int:
        """The line, marked by `base`."""
        return self.base + super().line_of(offset)


def relative(text: str) -> RelativeSource:
    """The text of one function, with a base that the text itself does not contain."""
    base = next(each for each in count(7_000_000_000, 10_000_000) if str(each)[:4] not in text)
    return RelativeSource(text, base)


class DiagnosticWriter:
    """Writer of diagnostics on a text that starts `character` units into its first line. Lines in messages
    are holes where they come from a `RelativeSource`. `uri_of` maps a span to the client's document."""

    def __init__(self, source: Source, character: int, uri_of: Callable[[Span], str], client: Client) -> None:
        is_relative = isinstance(source, RelativeSource)
        self._base = source.base if is_relative else None
        self._source = Source(source.text) if is_relative else source
        self._character = character
        self._uri_of = uri_of
        self._client = client
        self._lines: list[int] = []

    def template(self, diagnostics: Sequence[Diagnostic]) -> Template:
        """All of them, separated by commas."""
        self._lines = []
        text = ",".join(self._diagnostic(each) for each in diagnostics)
        return Template(text, tuple(self._lines))

    def _diagnostic(self, found: Diagnostic) -> str:
        # The order matters: `_extent` and `_text` note their lines as they write the holes.
        rest: Json = {"severity": _SEVERITIES[found.severity], "code": found.code, "source": "polylsp"}
        if self._client.code_description and found.href:
            rest["codeDescription"] = {"href": found.href}
        if found.ordinal:
            rest["data"] = {"function": found.function, "ordinal": found.ordinal}
        static = json.dumps(rest)[1:].replace("%", "%%")
        extent = self._extent(found.span)
        message = self._text(found.message)
        related = self._related(found) if self._client.related_information else ""
        return f'{{"range":{extent},"message":{message},{related}{static}'

    def _related(self, found: Diagnostic) -> str:
        items = [
            f'{{"location":{{"uri":{self._uri(each.span)},"range":{self._extent(each.span)}}},'
            f'"message":{self._text(each.message)}}}'
            for each in found.related
        ]
        return f'"relatedInformation":[{",".join(items)}],' if items else ""

    def _uri(self, span: Span) -> str:
        return json.dumps(self._uri_of(span)).replace("%", "%%")

    def _extent(self, span: Span) -> str:
        return f'{{"start":{self._position(span.start)},"end":{self._position(span.end)}}}'

    def _position(self, offset: int) -> str:
        at = self._source.position(offset, self._client.encoding)
        character = at.character + (self._character if at.line == 0 else 0)
        self._lines.append(at.line)
        return f'{{"line":%d,"character":{character}}}'

    def _text(self, message: str) -> str:
        """A message as JSON; each marked line number in it becomes a hole."""
        quoted = json.dumps(message)
        if self._base is None:
            return quoted.replace("%", "%%")
        pieces: list[str] = []
        for index, piece in enumerate(re.split(rf"({str(self._base)[:4]}\d{{6}})", quoted)):
            if index % 2:
                self._lines.append(int(piece) - self._base)
            pieces.append("%d" if index % 2 else piece.replace("%", "%%"))
        return "".join(pieces)
