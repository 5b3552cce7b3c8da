"""Names of variables that are unique in a function, in any language."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True, kw_only=True)
class UniqueNames:
    """Number of times that each name was given so far."""

    _used: dict[str, int] = field(default_factory=dict[str, int], init=False)

    def unique(self, name: str) -> str:
        """`name`, or `name@2` and so on if the function used it before."""
        count = self._used.get(name, 0) + 1
        self._used[name] = count
        return name if count == 1 else f"{name}@{count}"

    def unused(self, stem: str) -> str:
        """`stem@@1` and so on: a name for a temporary, which no variable of the user has."""
        count = self._used.get(stem + "@@", 0) + 1
        self._used[stem + "@@"] = count
        return f"{stem}@@{count}"
