"""Tuned settings for functions of the open documents."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from polylsp.model.action import Ask
    from polylsp.model.measurement import Tuned
    from polylsp.server.documents import Document
    from polylsp.settings import Settings


@dataclass(slots=True, eq=False)
class Tunings:
    """Tuned settings, read from the cache folder at the first request for a document."""

    _known: dict[str, dict[str, tuple[Tuned, ...]]] = field(
        default_factory=dict[str, "dict[str, tuple[Tuned, ...]]"]
    )

    def of(self, document: Document) -> dict[str, tuple[Tuned, ...]]:
        """Tuned settings, by function."""
        if document.uri not in self._known:
            from polylsp.runtime.tuned import load

            self._known[document.uri] = dict(load(document.path))
        return self._known[document.uri]

    def keep(self, document: Document, function: str, found: tuple[Tuned, ...]) -> None:
        """Store tuned settings, or that there are none, beyond this session too."""
        from polylsp.runtime.tuned import save

        known = self.of(document)
        known[function] = found
        save(document.path, known)

    def forget(self, uri: str) -> None:
        """A document was closed."""
        self._known.pop(uri, None)

    def applied(self, document: Document, ask: Ask, settings: Settings) -> Ask:
        """Request with the tuned settings for the present code."""
        from polylsp.ide.lookup import loop_of_ask
        from polylsp.ide.measuring import code_name
        from polylsp.runtime.tuned import parameters_for

        report = document.known()
        found = loop_of_ask(report, ask) if report is not None and self.of(document) else None
        if report is None or found is None:
            return ask
        code = code_name(document.source, report, found[0])
        known = self.of(document)
        return replace(ask, parameters=parameters_for(known, ask.action, ask.function, code, settings))
