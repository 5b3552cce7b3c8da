"""What is held against functions, and against the worker itself, when the worker dies."""

from __future__ import annotations

from dataclasses import dataclass, field

STRIKES = 3
"""Deaths in a row without a function to blame, after which the worker is left alone for a while."""

_MEMORY = 1000


@dataclass(slots=True)
class Blame:
    """The record. `given_up` holds the keys of functions that are not analysed again; since a key
    depends on the function's text, changing the text lifts the sentence."""

    _given_up: dict[str, None] = field(default_factory=dict[str, None])
    _suspects: dict[str, None] = field(default_factory=dict[str, None])
    _strikes: int = 0

    @property
    def given_up(self) -> frozenset[str]:
        """The keys of the functions that are not tried again."""
        return frozenset(self._given_up)

    def function(self, key: str, *, second_chance: bool) -> bool:
        """Hold a death against a function; with `second_chance` only from the second time on.
        Answers whether that explains the death: no, if the function had been given up before."""
        if key in self._given_up:
            return False
        if second_chance and key not in self._suspects:
            _note(self._suspects, key)
        else:
            _note(self._given_up, key)
        return True

    def strike(self) -> bool:
        """Hold a death against the worker; answers whether it has had its last chance."""
        self._strikes += 1
        return self._strikes >= STRIKES

    def success(self) -> None:
        """The worker did its work."""
        self._strikes = 0

    def forget(self) -> None:
        """Start again."""
        self._given_up.clear()
        self._suspects.clear()
        self._strikes = 0


def _note(record: dict[str, None], key: str) -> None:
    record[key] = None
    if len(record) > _MEMORY:
        del record[next(iter(record))]
