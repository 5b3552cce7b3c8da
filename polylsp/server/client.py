"""Client capabilities and settings, from `initialize` and the configuration.

Unknown keys are ignored; an invalid value leaves the default and is reported to the user.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from lsprotocol import types
from pygls.capabilities import ServerCapabilitiesBuilder, get_capability

from polylsp.core.project import WrongValue, checked
from polylsp.core.settings import Settings
from polylsp.core.text import Encoding

# --------------------------------------------------------------------------------------------------
# Capabilities of the client, read once from its `initialize` request.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Client:
    """Capabilities of a client. `pulls`: it requests diagnostics and accepts refresh requests; otherwise
    diagnostics are published. `action_literals`: it takes code actions that contain edits, not commands
    alone; `resolves_edits` and `resolves_commands`: it requests these later; `makes_files`: an edit may
    create files; `images`: Markdown may contain them; `commands`: client-side ones that the server may
    name."""

    encoding: Encoding = "utf-16"
    markdown: bool = False
    images: bool = False
    pulls: bool = False
    related_information: bool = False
    code_description: bool = False
    symbol_tree: bool = False
    refreshes_hints: bool = False
    refreshes_lenses: bool = False
    progress: bool = False
    configuration: bool = False
    registers_configuration: bool = False
    registers_watched_files: bool = False
    wants_status: bool = False
    action_literals: bool = False
    resolves_edits: bool = False
    resolves_commands: bool = False
    preferred_actions: bool = False
    disabled_actions: bool = False
    document_changes: bool = False
    makes_files: bool = False
    applies_edits: bool = False
    commands: frozenset[str] = frozenset()


def client_of(params: types.InitializeParams) -> Client:
    """The abilities that an `initialize` request tells of."""
    capabilities = params.capabilities

    def has(path: str) -> bool:
        return bool(get_capability(capabilities, path, False))

    pulls = capabilities.text_document is not None and capabilities.text_document.diagnostic is not None
    pulls = pulls and has("workspace.diagnostics.refresh_support")
    diagnostics = "text_document.diagnostic" if pulls else "text_document.publish_diagnostics"
    actions = "text_document.code_action"
    resolved = get_capability(capabilities, f"{actions}.resolve_support.properties", ()) or ()
    keeps_data = has(f"{actions}.data_support")
    formats = get_capability(capabilities, "text_document.hover.content_format", ()) or ()
    return Client(
        encoding=_encoding(capabilities),
        markdown=types.MarkupKind.Markdown in formats,
        images="img" in (get_capability(capabilities, "general.markdown.allowed_tags", ()) or ())
        or _asks(params.initialization_options, "images"),
        pulls=pulls,
        related_information=has(f"{diagnostics}.related_information")
        or has("text_document.publish_diagnostics.related_information"),
        code_description=has(f"{diagnostics}.code_description_support")
        or has("text_document.publish_diagnostics.code_description_support"),
        symbol_tree=has("text_document.document_symbol.hierarchical_document_symbol_support"),
        refreshes_hints=has("workspace.inlay_hint.refresh_support"),
        refreshes_lenses=has("workspace.code_lens.refresh_support"),
        progress=has("window.work_done_progress"),
        configuration=has("workspace.configuration"),
        registers_configuration=has("workspace.did_change_configuration.dynamic_registration"),
        registers_watched_files=has("workspace.did_change_watched_files.dynamic_registration"),
        wants_status=_wants_status(params),
        action_literals=has(f"{actions}.code_action_literal_support"),
        resolves_edits=keeps_data and "edit" in resolved,
        resolves_commands=keeps_data and "command" in resolved,
        preferred_actions=has(f"{actions}.is_preferred_support"),
        disabled_actions=has(f"{actions}.disabled_support"),
        document_changes=has("workspace.workspace_edit.document_changes"),
        makes_files=_makes_files(capabilities),
        applies_edits=has("workspace.apply_edit"),
        commands=_commands(params),
    )


def _encoding(capabilities: types.ClientCapabilities) -> Encoding:
    match ServerCapabilitiesBuilder.choose_position_encoding(capabilities):
        case types.PositionEncodingKind.Utf8:
            return "utf-8"
        case types.PositionEncodingKind.Utf32:
            return "utf-32"
        case _:
            return "utf-16"


def _makes_files(capabilities: types.ClientCapabilities) -> bool:
    known = get_capability(capabilities, "workspace.workspace_edit.resource_operations", ()) or ()
    return types.ResourceOperationKind.Create in known


def _commands(params: types.InitializeParams) -> frozenset[str]:
    options = params.initialization_options
    given = options.get("commands") if isinstance(options, Mapping) else None
    return frozenset(each for each in given or () if isinstance(each, str))


def _wants_status(params: types.InitializeParams) -> bool:
    return _asks(params.initialization_options, "status") or _asks(
        params.capabilities.experimental, "serverStatusNotification"
    )


def _asks(options: Any, key: str) -> bool:
    return isinstance(options, Mapping) and options.get(key) is True


# --------------------------------------------------------------------------------------------------
# Conversion of the client's settings to `Settings`: unknown keys are ignored, and an invalid value
# leaves the default and is reported to the user.
# --------------------------------------------------------------------------------------------------


SECTION = "polylsp"


@dataclass(frozen=True, slots=True)
class Reading:
    """Settings, beside errors (for the user) and ignored keys (for the log)."""

    settings: Settings
    wrong: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()


def read(values: Any, defaults: Settings | None = None) -> Reading:
    """Read a client's values for the section `polylsp`; keys in camelCase or snake_case."""
    settings = defaults or Settings()
    if values is None or values == []:  # Lua has one empty table for both
        return Reading(settings)
    if not isinstance(values, Mapping):
        return Reading(settings, wrong=(f"`{SECTION}` must be an object of settings.",))
    known = setting_names()
    wrong: list[str] = []
    ignored: list[str] = []
    for given, value in values.items():
        name = _snake_case(str(given))
        if name not in known:
            ignored.append(str(given))
            continue
        if value is None:
            continue
        try:
            settings = replace(settings, **{name: checked(name, value)})
        except WrongValue as reason:
            kept = getattr(settings, name)
            wrong.append(f"The setting `{SECTION}.{given}` {reason}; {kept!r} is used instead.")
    return Reading(settings, tuple(wrong), tuple(ignored))


def setting_names() -> tuple[str, ...]:
    """The names of all settings, as in `Settings`."""
    return tuple(each.name for each in fields(Settings))


def _snake_case(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name).lower()
