"""Functions that are set aside since a worker was lost over them, and losses without a function to blame."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from polylsp.process import Stop

STRIKES = 3
"""Losses in a row without a function to blame, after which workers are left alone for a while."""

_KILLS = 12
"""The same for workers that were killed from outside."""

_MEMORY = 1000
_MORE_TIME = 4.0
"""Factor on the limit when a function is tried again."""

_IDLE_RETRIES = 1
_IDLE_RETRIES_AFTER_KILLS = 4


@dataclass(frozen=True, slots=True)
class Culprit:
    """Work during which a worker was lost: its key, the name of its function and its document. `is_asked`: a
    person requested it, and has to request it again."""

    key: str
    name: str
    uri: str
    is_asked: bool = False


@dataclass(frozen=True, slots=True)
class _Record:
    """`stop` is `None` while the work may be tried."""

    culprit: Culprit
    stop: Stop | None = None
    kills: int = 0
    retries: int = 0
    is_killed: bool = False


@dataclass(slots=True)
class Blame:
    """The records, by key. Since a key depends on the function's text, changing the text clears it."""

    _records: dict[str, _Record] = field(default_factory=dict[str, _Record])
    _strikes: int = 0
    _kills: int = 0

    @property
    def stops(self) -> dict[str, Stop]:
        """The limits that were reached, by the keys of the work that is not tried."""
        return {key: each.stop for key, each in self._records.items() if each.stop is not None}

    @property
    def set_aside(self) -> list[tuple[Culprit, Stop]]:
        """The functions that are not tried, and why."""
        return [
            (each.culprit, each.stop)
            for each in self._records.values()
            if each.stop is not None and not each.culprit.is_asked
        ]

    def function(self, culprit: Culprit, stop: Stop, *, killed: bool) -> bool:
        """Hold a loss against a function; one that was `killed`, from outside perhaps, only from the second
        time on. Answers whether that explains the loss: no, if the function had been set aside before."""
        known = self._records.pop(culprit.key, _Record(culprit))
        self._records[culprit.key] = known
        if known.stop is not None:
            return False
        kills = known.kills + killed
        is_suspect = killed and kills == 1
        self._records[culprit.key] = replace(
            known, stop=None if is_suspect else stop, kills=kills, is_killed=killed
        )
        if len(self._records) > _MEMORY:
            del self._records[next(iter(self._records))]
        return True

    def factor(self, key: str) -> float:
        """Factor on the usual limit for some work."""
        known = self._records.get(key)
        return _MORE_TIME if known is not None and known.retries else 1.0

    def retry(self, uri: str) -> bool:
        """Let all of a document be tried once more, with more time; answers whether anything is."""
        return self._lift([each for each in self._records.values() if each.culprit.uri == uri])

    def retry_idle(self, uris: set[str]) -> set[str]:
        """Let everything of some documents be tried once more that was not yet, now that there is time;
        those that it is of."""
        chosen = [each for each in self._records.values() if _deserves(each, uris)]
        self._lift(chosen)
        return {each.culprit.uri for each in chosen}

    def has_retries(self, uris: set[str]) -> bool:
        """True if `retry_idle` would find work."""
        return any(_deserves(each, uris) for each in self._records.values())

    def strike(self, *, killed: bool) -> int:
        """Count a loss without a function to blame; answers how many there were in a row once that is too
        many, else 0."""
        self._strikes += not killed
        self._kills += killed
        return self._strikes + self._kills if self._strikes >= STRIKES or self._kills >= _KILLS else 0

    def success(self) -> None:
        """A worker has found something."""
        self._strikes = self._kills = 0

    def forget(self) -> None:
        """Start again."""
        self._records.clear()
        self.success()

    def _lift(self, records: list[_Record]) -> bool:
        lifted = [each for each in records if each.stop is not None]
        for each in lifted:
            self._records[each.culprit.key] = replace(each, stop=None, kills=0, retries=each.retries + 1)
        return bool(lifted)


def _deserves(record: _Record, uris: set[str]) -> bool:
    if record.stop is None or record.culprit.is_asked or record.culprit.uri not in uris:
        return False
    most = _IDLE_RETRIES_AFTER_KILLS if record.is_killed else _IDLE_RETRIES
    return record.retries < most
