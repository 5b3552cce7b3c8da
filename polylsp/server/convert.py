"""Conversion of values of `ide` to LSP shapes ready for JSON; the only one.

Covers positions, hovers, hints, lenses, symbols, diagnostics, code actions with their edits, and
the drawing beside the text (`polylsp/iterationSpace`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, cast
from urllib.parse import quote

from lsprotocol import types
from typing_extensions import assert_never

from polylsp.core.text import Encoding, Position, Source, Span
from polylsp.ide.actions import Offer
from polylsp.ide.diagnostics import Diagnostic, Severity
from polylsp.ide.hints import Hint, Symbol
from polylsp.ide.hover import Hover
from polylsp.ide.loop_view import Between, End, Ray, View
from polylsp.model.action import (
    KERNEL_TARGETS,
    TARGETS,
    TRANSFORMS,
    ActionName,
    Ask,
    Created,
    ReadyOffer,
    Replacement,
    in_order,
)
from polylsp.model.iteration_points import Point
from polylsp.server.client import Client
from polylsp.server.documents import Document, Edit

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


def inlay_hint(source: Source, hint: Hint, uri: str, encoding: Encoding, click: Json | None = None) -> Json:
    """An inlay hint, without its tooltip, and with the command that a click runs; `data` finds it again."""
    return {
        "position": position(source, hint.offset, encoding),
        "label": [{"value": hint.label, "command": click}] if click else hint.label,
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
        """Diagnostics as items of a JSON list, separated by commas."""
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


# --------------------------------------------------------------------------------------------------
# The part of the translator that is about code actions and their edits.
# --------------------------------------------------------------------------------------------------


_ACTIONS = (*TARGETS, *KERNEL_TARGETS, *TRANSFORMS)


@dataclass(frozen=True, slots=True)
class Reference:
    """Data of an action at the client: the request, or the edit. `text` names the text that it was listed
    for."""

    uri: str
    text: str
    ask: Ask | Replacement


def text_name(source: Source) -> str:
    """A name for a text: another text, another name."""
    return f"{hash(source.text):x}"


# --- To LSP --------------------------------------------------------------------------------


def reference(document: Document, ask: Ask | Replacement) -> Json:
    """A reference to an action on the present text."""
    known: Json = {"uri": document.uri, "text": text_name(document.source)}
    match ask:
        case Ask():
            asked: Json = {"action": ask.action, "function": ask.function}
            return {**known, **asked, "starts": ask.starts, "ordinal": ask.ordinal}
        case Replacement():
            return {**known, "from": ask.span.start, "to": ask.span.end, "write": ask.text}
        case _:
            assert_never(ask)


def action(offer: Offer | ReadyOffer, client: Client, diagnostics: Sequence[Json]) -> Json:
    """An action without its edit; `diagnostics` are those that it answers."""
    made: Json = {"title": offer.title, "kind": offer.kind}
    if diagnostics:
        made["diagnostics"] = list(diagnostics)
    if offer.preferred and client.preferred_actions:
        made["isPreferred"] = True
    if offer.disabled:
        made["disabled"] = {"reason": offer.disabled}
    return made


def command(title: str, name: str, *arguments: Any) -> Json:
    """A command of ours."""
    return {"title": title, "command": name, "arguments": list(arguments)}


def workspace_edit(
    document: Document, replacements: Sequence[Replacement], client: Client, created: Sequence[Created] = ()
) -> Json:
    """The edit of a document (of a notebook, its cells) as it is now; where the client can tell, of no other
    version. Files that are `created` beside it come first, since the document then refers to their
    contents."""
    edits: dict[tuple[str, int], list[Json]] = {}
    for each in in_order(replacements):
        edit = {"range": extent(document.source, each.span, client.encoding), "newText": each.text}
        edits.setdefault(document.text_document(each.span.start), []).append(edit)
    if not client.document_changes and not created:
        return {"changes": {uri: own for (uri, _), own in edits.items()}}
    # A client that can make files takes this form too, though it may know of no versions.
    files = [change for each in created for change in _creation(document, each)]
    changes = [
        {"textDocument": {"uri": uri, "version": version if client.document_changes else None}, "edits": own}
        for (uri, version), own in edits.items()
    ]
    return {"documentChanges": [*files, *changes]}


def _creation(document: Document, created: Created) -> list[Json]:
    """Changes that create a file, never replacing one, and then write it."""
    uri = f"{document.uri.rpartition('/')[0]}/{quote(created.name)}"
    nothing = {"line": 0, "character": 0}
    text = {"range": {"start": nothing, "end": nothing}, "newText": created.text}
    return [
        {"kind": "create", "uri": uri, "options": {"overwrite": False, "ignoreIfExists": False}},
        {"textDocument": {"uri": uri, "version": None}, "edits": [text]},
    ]


# --- From LSP ------------------------------------------------------------------------------


def reference_of(data: Any) -> Reference | None:
    """Action that a reference means; `None` where it does not come from `reference`."""
    if not isinstance(data, Mapping):
        return None

    def word(key: str) -> str:
        value = data.get(key)
        return value if isinstance(value, str) else ""

    def number(key: str) -> int:
        value = data.get(key)
        return value if isinstance(value, int) else -1

    asked = _ask(word, number) or (_replacement(word, number) if "write" in data else None)
    return Reference(word("uri"), word("text"), asked) if asked is not None else None


def _ask(word: Callable[[str], str], number: Callable[[str], int]) -> Ask | None:
    if word("action") not in _ACTIONS:
        return None
    name = cast(ActionName, word("action"))
    return Ask(name, word("function"), number("starts"), number("ordinal"))


def _replacement(word: Callable[[str], str], number: Callable[[str], int]) -> Replacement | None:
    start, end = number("from"), number("to")
    return Replacement(Span(start, end), word("write")) if 0 <= start <= end else None


# --------------------------------------------------------------------------------------------------
# The drawing beside the text, as JSON: `polylsp/iterationSpace`.
# --------------------------------------------------------------------------------------------------


def view(source: Source, found: View, version: int, encoding: Encoding) -> Json:
    """Everything of it, for the text of that version."""
    space = found.space
    return {
        "version": version,
        "range": extent(source, found.span, encoding),
        "function": found.function,
        "ordinal": found.ordinal,
        "sentence": found.sentence,
        "reason": found.reason or None,
        "iterators": list(found.iterators),
        "dimensions": [each for each in space.dimensions if each] if space else [],
        "sizes": [list(each) for each in space.sizes] if space else [],
        "complete": space is None or space.complete,
        "points": _points(space.points) if space else [],
        "tiles": [_points(each) for each in space.tiles] if space else [],
        "arrows": [_ray(each) for each in found.rays],
        "dependences": [_between(source, each, encoding) for each in found.dependences],
        "orders": [
            {"words": each.words, "steps": [_points(step) for step in each.steps]} for each in found.orders
        ],
        "bars": [{"words": each.words, "seconds": each.seconds, "note": each.note} for each in found.bars],
    }


def _points(points: tuple[Point, ...]) -> list[list[int]]:
    return [list(each) for each in points]


def _ray(ray: Ray) -> Json:
    return {
        "kind": ray.kind,
        "source": list(ray.source),
        "sink": list(ray.sink),
        "dependences": list(ray.between),
    }


def _between(source: Source, found: Between, encoding: Encoding) -> Json:
    return {
        "kind": found.kind,
        "variable": found.variable,
        "source": _end(source, found.source, encoding),
        "sink": _end(source, found.sink, encoding),
    }


def _end(source: Source, end: End, encoding: Encoding) -> Json:
    return {"text": end.text, "access": end.kind, "range": extent(source, end.span, encoding)}
