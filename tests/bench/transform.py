"""Latency of code actions, and the number offered in vain.

    python tests/bench/transform.py [--samples GLOB]

Opens each sample in the real server, and requests the actions on each of its loops, and the edit of each
action that can be chosen.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from client import SERVER, Client, percentile, published
from rich.console import Console
from rich.table import Table

SAMPLES = Path(__file__).parents[2] / "samples"
LISTING_GOAL, RESOLVING_GOAL = 0.020, 0.150


@dataclass
class Times:
    """Seconds. `edits` and `firsts` are by action; `firsts` has those that came first in their function,
    for which nothing was remembered; `declined` has the titles of actions that there turned out to be no
    edit for, and `disabled` counts those that were shown with the reason why they cannot be chosen."""

    listings: list[float] = field(default_factory=list)
    edits: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    firsts: list[float] = field(default_factory=list)
    declined: list[str] = field(default_factory=list[str])
    disabled: int = 0


def measure(client: Client, path: Path, times: Times) -> None:
    uri = path.resolve().as_uri()
    document = {"uri": uri, "languageId": "c", "version": 1, "text": path.read_text()}
    client.notify("textDocument/didOpen", {"textDocument": document})
    client.receive(lambda body: published(body, 1))
    body = client.receive(lambda body: published(body, 1))  # with transforms
    seen: set[str] = set()
    for found in json.loads(body)["params"]["diagnostics"]:
        if "data" in found:
            list_and_resolve(client, uri, found, seen, times)
    client.notify("textDocument/didClose", {"textDocument": {"uri": uri}})


def list_and_resolve(client: Client, uri: str, found: dict[str, Any], seen: set[str], times: Times) -> None:
    """Actions on the loop of a diagnostic; `seen` has the functions of which an edit was requested."""
    start = found["range"]["start"]
    params = {
        "textDocument": {"uri": uri},
        "range": {"start": start, "end": start},
        "context": {"diagnostics": [found]},
    }
    began = time.perf_counter()
    actions = client.request("textDocument/codeAction", params)["result"]
    times.listings.append(time.perf_counter() - began)
    for action in actions:
        times.disabled += "disabled" in action
        if "data" not in action or "disabled" in action:
            continue
        began = time.perf_counter()
        answer = client.request("codeAction/resolve", action)
        seconds = time.perf_counter() - began
        times.edits[action["data"]["action"]].append(seconds)
        if "edit" not in answer["result"]:
            line = found["range"]["start"]["line"] + 1
            times.declined.append(f"{Path(uri).name}:{line}: {action['title']}")
        if found["data"]["function"] not in seen:
            seen.add(found["data"]["function"])
            times.firsts.append(seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", default="*/**/*.c", metavar="GLOB", help="those under samples/ to take")
    arguments = parser.parse_args()
    times = Times()
    client = Client("-c", SERVER)
    client.ready()
    for path in sorted(SAMPLES.glob(arguments.samples)):
        measure(client, path, times)
    client.end()
    report(times)


def report(times: Times) -> None:
    every = [seconds for each in times.edits.values() for seconds in each]
    table = Table("figure", "count", "median", "99 %", "goal", title="How long code actions take")
    row(table, "listing the actions on a loop", times.listings, f"≤ {1000 * LISTING_GOAL:.0f} ms")
    table.add_section()
    row(table, "working an edit out", every, f"≤ {1000 * RESOLVING_GOAL:.0f} ms")
    row(table, "… the first of its function", times.firsts, "")
    for action, seconds in sorted(times.edits.items()):
        row(table, f"… {action}", seconds, "")
    console = Console(width=110)
    console.print(table)
    console.print(f"{times.disabled} actions were shown with the reason why they cannot be chosen.")
    console.print(f"{len(times.declined)} of {len(every)} that were chosen were declined.")
    for title in times.declined:
        console.print(f"    {title}", highlight=False)


def row(table: Table, figure: str, times: list[float], goal: str) -> None:
    if times:
        median, high = statistics.median(times), percentile(times, 99)
        table.add_row(figure, str(len(times)), f"{1000 * median:.1f} ms", f"{1000 * high:.1f} ms", goal)


if __name__ == "__main__":
    main()
