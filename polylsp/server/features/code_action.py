"""textDocument/codeAction, codeAction/resolve, and the commands that stand for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from difflib import unified_diff
from pathlib import Path
from typing import Any

from lsprotocol import types
from pygls.exceptions import JsonRpcContentModified, JsonRpcInvalidParams

from polylsp.core.settings import Settings
from polylsp.core.text import Span
from polylsp.ide.actions import Offer
from polylsp.ide.lightbulb import joined_fixes, lightbulb, safe_fixes
from polylsp.ide.lookup import loop_of_ask
from polylsp.model.action import Answer, Ask, Declined, Edited, ReadyOffer, Replacement
from polylsp.model.facts import FileReport
from polylsp.server import convert
from polylsp.server.convert import Json, Reference
from polylsp.server.documents import Document
from polylsp.server.features import commands
from polylsp.server.features.decorations import PATIENCE_OF_A_PERSON, fresh
from polylsp.server.session import PolylspServer

FIX_ALL = "source.fixAll.polylsp"
"""Kind of the action that applies every safe fix of a file; clients apply it on save where configured."""


async def code_action(ls: PolylspServer, params: types.CodeActionParams) -> list[Json] | None:
    """Code actions at a cursor or in a selection. Edits of loops are left to `resolve`, if the client
    supports it; clients that support commands alone get these."""
    uri, client = params.text_document.uri, ls.client
    document = ls.document_of(uri)
    source = document.seen(uri) if document else None
    if document is None or source is None:
        return None
    span = convert.span_of(source, params.range, client.encoding)
    if params.context.trigger_kind == types.CodeActionTriggerKind.Automatic:
        report = await fresh(document)
    else:
        report = await _awaited(ls, document, span)
    if report is None:
        return None
    settings = ls.settings_of(document)
    makes_files = client.makes_files and document.uri.startswith("file:")
    ls.wishes(document, span)
    listed = lightbulb(source, report, settings, span, makes_files=makes_files)
    wanted = [each for one in listed for each in _of_kind(one, params.context.only)]
    if not client.action_literals:
        return [_command(document, each) for each in wanted if client.applies_edits and not each.disabled]
    made = [await _literal(ls, document, report, each, params.context) for each in wanted]
    if params.context.only and _is_wanted(FIX_ALL, params.context.only):
        made.extend(await _fix_all(ls, document, report, settings))
    return [each for each in made if client.disabled_actions or "disabled" not in each]


async def resolve(ls: PolylspServer, action: types.CodeAction) -> Json:
    """Add the edit to an action; where there turns out to be none, report the reason to the user."""
    made: Json = ls.protocol.plain(action)
    document, answer = await _worked_out(ls, action.data)
    if isinstance(answer, Declined):
        _tell_why(ls, answer)
        return made
    made.update(_edit(ls, document, answer))
    if "command" in made and not ls.client.resolves_commands:
        del made["command"]
        for remark in answer.remarks:
            ls.window_log_message(types.LogMessageParams(types.MessageType.Info, remark))
    return made


async def apply(ls: PolylspServer, data: Any) -> Json:
    """Work an action out and have the client apply it; answers whether it did."""
    document, answer = await _worked_out(ls, data)
    if isinstance(answer, Declined):
        _tell_why(ls, answer)
        return {"applied": False}
    edit = convert.workspace_edit(document, answer.replacements, ls.client, answer.created)
    params = types.ApplyWorkspaceEditParams(ls.protocol.typed(edit, types.WorkspaceEdit))
    outcome = await ls.workspace_apply_edit_async(params)
    if not outcome.applied:
        ls.tell_user(f"The edit was not applied: {outcome.failure_reason or 'the editor refused it'}.")
    elif answer.remarks:
        ls.tell_user(" ".join(answer.remarks), types.MessageType.Info)
    return {"applied": outcome.applied}


def _tell_why(ls: PolylspServer, answer: Declined) -> None:
    """Report to the user why there is no edit; the refused changes to existing files go to the log."""
    shown = " The log shows the difference." if answer.kept else ""
    ls.tell_user(f"{answer.reason}{shown}", types.MessageType.Info)
    for each in answer.kept:
        old, new = (text.splitlines(keepends=True) for text in (each.text, each.wanted))
        lines = unified_diff(old, new, each.name, each.name)
        changes = "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)
        ls.window_log_message(types.LogMessageParams(types.MessageType.Info, changes))


# --- Listing -----------------------------------------------------------------------------


async def _awaited(ls: PolylspServer, document: Document, span: Span) -> FileReport | None:
    """Wait for the report of the function at a place, for a person who asks for its actions; returns what is
    known of the file after some seconds. An empty list would mean that there is nothing to do: where the
    function is not analysed by then, a message to the user says so."""
    report = await fresh(document, PATIENCE_OF_A_PERSON, span)
    if document.is_due and not (document.is_reported or document.reports(span)):
        name = Path(document.path).name
        ls.tell_user(f"{name} is still being analysed: ask again in a moment.", types.MessageType.Info)
    return report


def _is_wanted(kind: str, only: Sequence[types.CodeActionKind | str] | None) -> bool:
    """True if a kind is one of those requested, or below one."""
    return only is None or any(f"{kind}.".startswith(f"{each}." if each else "") for each in only)


def _of_kind(
    offer: Offer | ReadyOffer, only: Sequence[types.CodeActionKind | str] | None
) -> list[Offer | ReadyOffer]:
    """The offer under the first of its kinds that is requested, if any is."""
    kinds = [kind for kind in offer.kinds or (offer.kind,) if _is_wanted(kind, only)]
    if not kinds or isinstance(offer, ReadyOffer):
        return [offer] if kinds else []
    return [replace(offer, kind=kinds[0])]


async def _fix_all(
    ls: PolylspServer, document: Document, report: FileReport, settings: Settings
) -> list[Json]:
    """The safe fixes of the file as one action, if the user has switched some on and there are any. The edit
    is worked out at once: a client that asks for this kind is about to apply it."""
    if not settings.fix_all:
        return []
    fixes = safe_fixes(document.source, report, settings, settings.fix_all)
    edits = joined_fixes(fixes.ready, [await _asked(ls, document, each) for each in fixes.asks])
    if not edits:
        return []
    edit = convert.workspace_edit(document, edits, ls.client)
    return [{"title": "Apply the safe fixes of polylsp", "kind": FIX_ALL, "edit": edit}]


async def _literal(
    ls: PolylspServer,
    document: Document,
    report: FileReport,
    offer: Offer | ReadyOffer,
    context: types.CodeActionContext,
) -> Json:
    answered = _answered(ls, document, report, offer, context.diagnostics)
    made = convert.action(offer, ls.client, answered)
    if isinstance(offer, ReadyOffer):
        made["edit"] = convert.workspace_edit(document, [offer.replacement], ls.client)
    elif ls.client.resolves_edits:
        made["data"] = convert.reference(document, offer.ask)
    elif not offer.disabled:
        answer = await _asked(ls, document, offer.ask)
        made.update(
            {"disabled": {"reason": answer.reason}}
            if isinstance(answer, Declined)
            else _edit(ls, document, answer)
        )
    return made


def _answered(
    ls: PolylspServer,
    document: Document,
    report: FileReport,
    offer: Offer | ReadyOffer,
    diagnostics: Sequence[types.Diagnostic],
) -> list[Json]:
    """Diagnostics of the client that an offer answers."""
    if isinstance(offer, ReadyOffer):
        span = offer.span
    else:
        found = loop_of_ask(report, offer.ask)
        if found is None:
            return []
        span = found[0].span(found[1].header)
    extent = convert.extent(document.source, span, ls.client.encoding)
    known = [each for each in diagnostics if each.source == "polylsp" and each.code in offer.codes]
    if isinstance(offer, ReadyOffer):
        known = [each for each in known if offer.answers(each.message)]
    plain: list[Json] = [ls.protocol.plain(each) for each in known]
    return [each for each in plain if each["range"] == extent]


def _command(document: Document, offer: Offer | ReadyOffer) -> Json:
    ask = offer.replacement if isinstance(offer, ReadyOffer) else offer.ask
    data = convert.reference(document, ask)
    return convert.command(offer.title, commands.APPLY_ACTION, data)


# --- Working out -------------------------------------------------------------------------


async def _worked_out(ls: PolylspServer, data: Any) -> tuple[Document, Answer]:
    """The edit that a reference means. Raises `JsonRpcContentModified` if its text is no more."""
    reference = convert.reference_of(data)
    if reference is None:
        raise JsonRpcInvalidParams("This is no action that polylsp has listed")
    document = _document(ls, reference)
    if isinstance(reference.ask, Replacement):
        return document, Edited((reference.ask,))
    return document, await _asked(ls, document, reference.ask)


def _document(ls: PolylspServer, reference: Reference) -> Document:
    document = ls.documents.get(reference.uri)
    if document is None:
        raise JsonRpcContentModified("The document was closed after the action was listed")
    if convert.text_name(document.source) != reference.text:
        raise JsonRpcContentModified("The text changed after the action was listed")
    return document


async def _asked(ls: PolylspServer, document: Document, ask: Ask) -> Answer:
    answer = await ls.jobs.ask(document, ls.tunings.applied(document, ask, ls.settings_of(document)))
    if not isinstance(answer, (Edited, Declined)):
        raise JsonRpcContentModified("The text changed")
    return answer


def _edit(ls: PolylspServer, document: Document, answer: Edited) -> Json:
    """The parts of an action that are worked out."""
    edit = convert.workspace_edit(document, answer.replacements, ls.client, answer.created)
    made: Json = {"edit": edit}
    if answer.remarks:
        made["command"] = convert.command("Tell more", commands.TELL_REMARKS, *answer.remarks)
    return made
