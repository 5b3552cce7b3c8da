"""workspace/didChangeConfiguration, and workspace/configuration requested from the client."""

from __future__ import annotations

from collections.abc import Mapping

from lsprotocol import types

from polylsp.server.configuration import SECTION
from polylsp.server.session import PolylspServer


def did_change_configuration(ls: PolylspServer, params: types.DidChangeConfigurationParams) -> None:
    """Settings changed: ask for them, or take those that came along."""
    if ls.client.configuration:
        ls.in_background(pull(ls))
        return
    settings = params.settings
    if isinstance(settings, Mapping):
        ls.folder_settings.clear()
        ls.configure(settings.get(SECTION, settings))
        ls.reanalyse()


async def pull(ls: PolylspServer) -> None:
    """Ask the client for the settings of the workspace and of each of its folders."""
    folders = list(ls.folders)
    items = [types.ConfigurationItem(section=SECTION)]
    items += [types.ConfigurationItem(scope_uri=uri, section=SECTION) for uri in folders]
    try:
        values = await ls.workspace_configuration_async(types.ConfigurationParams(items=items))
        before = ls.settings, dict(ls.folder_settings)
        ls.folder_settings.clear()
        for folder, value in zip([None, *folders], values, strict=False):
            if value is not None:
                ls.configure(value, folder)
        if before != (ls.settings, ls.folder_settings):
            ls.reanalyse()
    finally:
        ls.jobs.resume()


def register(ls: PolylspServer) -> None:
    """Register for notifications of changes, where the client requires that."""
    if ls.client.registers_configuration:
        ls.register(
            types.WORKSPACE_DID_CHANGE_CONFIGURATION,
            types.DidChangeConfigurationRegistrationOptions(section=SECTION),
        )
