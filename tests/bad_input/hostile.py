"""Two good functions that must keep their answers, and what was said of the file around them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

FIRST = "void first(int n, double *a)\n{\n    for (int i = 0; i < n; i++)\n        a[i] = 0.0;\n}\n"
LAST = "void last(int n, double *a)\n{\n    for (int i = 1; i < n; i++)\n        a[i] = a[i - 1];\n}\n"


def between(trouble: str) -> str:
    """A text with trouble between the good functions; it begins on line 6."""
    return f"{FIRST}{trouble}\n{LAST}"


def function(body: str, parameters: str = "int n, double *a") -> str:
    """A function `odd` between the good ones; its body begins on line 8."""
    return between(f"void odd({parameters})\n{{\n{body}\n}}")


@dataclass(frozen=True)
class Checked:
    """Output of `polylsp check --format json` for one file."""

    status: int
    object: dict[str, Any]
    stderr: str

    def verdicts(self, function: str) -> list[str]:
        """The verdicts of a function's loops; of an undecided one, the rejection's code."""
        return [
            loop["rejection"]["code"] if loop["verdict"] == "unknown" else loop["verdict"]
            for loop in self.object["loops"]
            if loop["function"] == function
        ]

    def messages(self, *codes: str) -> list[str]:
        """The messages of the diagnostics with these codes, each with its line, from 1."""
        return [
            f"{each['range']['start']['line'] + 1}: {each['message']}"
            for each in self.object["diagnostics"]
            if each["code"] in codes
        ]

    def keeps_the_good_ones(self) -> bool:
        """True if the functions before and after the trouble have their usual answers."""
        return self.verdicts("first") == ["parallel"] and self.verdicts("last") == ["sequential"]


Check = Callable[..., Checked]
