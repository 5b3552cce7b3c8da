"""The part of the translator that is about code actions and their edits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import quote

from typing_extensions import assert_never

from polylsp.ide.actions import Offer
from polylsp.ide.ready import ReadyOffer
from polylsp.model.action import (
    KERNEL_TARGETS,
    TARGETS,
    TRANSFORMS,
    ActionName,
    Ask,
    Created,
    Replacement,
    in_order,
)
from polylsp.server.client import Client
from polylsp.server.convert import Json, extent
from polylsp.server.documents import Document
from polylsp.text import Source, Span

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
