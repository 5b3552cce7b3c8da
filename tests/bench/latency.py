"""Latency of the editor: `python tests/bench/latency.py [--edits N] [--quick]`.

Starts the real server over stdio, opens a file of 100 functions (1,000 lines) and one of 1,000 functions
(10,000 lines), edits inside functions, hovers, and prints each figure beside its goal. The same for a file in
Python, and the figures of clangd 19 for the files in C, in the same run (where it is not on the PATH,
`CLANGD` names it). Then `polylsp check` on the PolyBench samples, with one process and two.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import python_kernels
from client import SERVER, Client, Moment, percentile, published
from rich.console import Console
from rich.table import Table

HERE = Path(__file__).parent
POLYBENCH = HERE.parent.parent / "samples" / "polybench"

BARE_SERVER = """
from pygls.lsp.server import LanguageServer
LanguageServer("bare", "1").start_io()
"""


# Ten lines each, so that a hundred functions are a thousand lines; `@` is the function's number.
KERNELS = (
    """\
void scale_@(int n, double *restrict x, const double *restrict y)
{
    for (int i = 0; i < n; i++) {
        x[i] = @.5 * y[i];
    }
    for (int i = 1; i < n; i++) {
        x[i] += x[i - 1];
    }
}

""",
    """\
double dot_@(int n, const double *x, const double *y)
{
    double sum = 0.0;
    for (int i = 0; i < n; i++) {
        double t = x[i] * y[i];
        sum += t + @;
    }
    return sum;
}

""",
    """\
void matmul_@(int n, double a[n][n], double b[n][n], double c[n][n])
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            c[i][j] = @;
            for (int k = 0; k < n; k++)
                c[i][j] += a[i][k] * b[k][j];
        }
}

""",
    """\
void seidel_@(int steps, int n, double a[n][n])
{
    for (int t = 0; t < steps; t++)
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                a[i][j] = (a[i - 1][j] + a[i][j - 1] + a[i][j]
                           + a[i][j + 1] + a[i + 1][j]) / (5.0 + @);
}

""",
    """\
void blur_@(int w, int h, unsigned char *restrict out, const unsigned char *in)
{
    for (int y = 1; y < h - 1; y++)
        for (int x = 1; x < w - 1; x++) {
            int s = in[y * w + x - 1] + in[y * w + x] + in[y * w + x + 1];
            out[y * w + x] = (s + @) / 3;
        }
}


""",
    """\
void histogram_@(int n, const int *key, int *count)
{
    for (int i = 0; i < n; i++) {
        count[key[i]] += @;
    }
    for (int i = 0; i < n && count[i] != 0; i++)
        count[i] = 0;
}


""",
    """\
int scan_@(int n, const double *x)
{
    int best = 0, k = 0;
    for (int i = 1; i < n; i++) {
        if (x[i] > x[best]) best = i;
        k += 2;
    }
    return best + k + @;
}

""",
    """\
void triangle_@(int n, double l[n][n], double *x, const double *b)
{
    for (int i = 0; i < n; i++) {
        x[i] = b[i] + @;
        for (int j = 0; j < i; j++)
            x[i] -= l[i][j] * x[j];
    }
}


""",
)


def program(functions: int, kernels: tuple[str, ...] = KERNELS) -> str:
    return "".join(kernels[number % len(kernels)].replace("@", str(number)) for number in range(functions))


@dataclass(frozen=True)
class Measured:
    """A file that is edited: its text, its language, and the loops at whose `mark` words are put in."""

    language: str
    suffix: str
    text: str
    loop: str
    mark: str


def in_c(functions: int) -> Measured:
    return Measured("c", "c", program(functions), "for (", "; ")


def in_python(functions: int) -> Measured:
    text = python_kernels.HEAD + program(functions, python_kernels.KERNELS)
    return Measured("python", "py", text, " in range(", "range(")


@dataclass
class Session:
    """Measurements on one file, in seconds and MiB: from opening to the first findings, to all of them, to
    transforms and edits beside, and to all findings in a server that finds the file in the cache."""

    opened: Moment
    found: Moment
    full: Moment
    reopened: Moment
    edits: list[float]
    hovers: list[float]
    memory: tuple[float, float]
    findings: int


def measure(given: Measured, edits: int) -> Session:
    """All figures of a file, of which nothing is cached to begin with."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["POLYLSP_CACHE_DIR"] = folder
        return measured(given, edits)


def measured(given: Measured, edits: int) -> Session:
    client = Client("-c", SERVER)
    client.ready()
    uri, text = f"file:///bench/bench.{given.suffix}", given.text
    opened, full = open_file(client, given)
    found, findings = all_found(client)
    lines = text.split("\n")
    loops = [number for number, line in enumerate(lines) if given.loop in line]
    times: list[float] = []
    for count in range(edits):
        line = loops[(count * 7919) % len(loops)]
        column = lines[line].index(given.mark) + len(given.mark)
        at = {"line": line, "character": column}
        change = {"range": {"start": at, "end": at}, "text": "1 + "}
        lines[line] = lines[line][:column] + "1 + " + lines[line][column:]
        version = count + 2
        start = time.perf_counter()
        client.notify(
            "textDocument/didChange",
            {"textDocument": {"uri": uri, "version": version}, "contentChanges": [change]},
        )
        client.receive(lambda body, version=version: published(body, version))
        times.append(time.perf_counter() - start)
    hovers: list[float] = []
    for line in loops[:: max(1, len(loops) // 50)]:
        position = {"line": line, "character": lines[line].index("for") + 1}
        start = time.perf_counter()
        answer = client.request("textDocument/hover", {"textDocument": {"uri": uri}, "position": position})
        hovers.append(time.perf_counter() - start)
        assert answer["result"] is not None
    status = client.request("workspace/executeCommand", {"command": "polylsp.status", "arguments": []})
    worker = status["result"]["workerPid"]
    memory = resident(client.process.pid), resident(worker)
    client.end()
    again = Client("-c", SERVER)
    again.ready()
    open_file(again, given)
    reopened, findings_again = all_found(again)
    again.end()
    assert findings_again == findings
    return Session(opened, found, full, reopened, times, hovers, memory, findings)


def open_file(client: Client, given: Measured) -> tuple[Moment, Moment]:
    """Open a file; the time until its first findings, and until all is done."""
    warm_up(client, given.language)
    client.published.clear()
    start = client.moment()
    document = {
        "uri": f"file:///bench/bench.{given.suffix}",
        "languageId": given.language,
        "version": 1,
        "text": given.text,
    }
    client.notify("textDocument/didOpen", {"textDocument": document})
    client.receive(lambda body: b"bench/bench" in body and published(body, 1))
    opened = client.moment() - start
    client.settle()
    client.published = [(at - start, body) for at, body in client.published]
    return opened, client.moment() - start


def warm_up(client: Client, language: str) -> None:
    """Open a small file, so that all is loaded, as it is where a file of the project was opened before;
    clangd has all loaded when it answers `initialize`."""
    text = "def f(x):\n    pass\n" if language == "python" else "void f(int n) { }\n"
    document = {"uri": "file:///bench/warm", "languageId": language, "version": 1, "text": text}
    client.notify("textDocument/didOpen", {"textDocument": document})
    client.receive(lambda body: diagnosed(body, 1))
    client.settle()


def all_found(client: Client) -> tuple[Moment, int]:
    """The time until all findings were there, and their number."""
    counts = [(at, len(json.loads(body)["params"]["diagnostics"])) for at, body in client.published]
    findings = counts[-1][1]
    return next(at for at, count in counts if count == findings), findings


@dataclass
class Other:
    """Figures of clangd, in seconds: from opening to its first diagnostics, and from an edit to the next."""

    opened: Moment
    edits: list[float]


def clangd() -> str | None:
    """The program, if it is here."""
    return os.environ.get("CLANGD") or shutil.which("clangd-19") or shutil.which("clangd")


def measure_other(program: str, given: Measured, edits: int) -> Other:
    """The same file and the same edits in clangd."""
    client = Client("--log=error", program=program)
    client.ready()
    uri, lines = f"file:///bench/bench.{given.suffix}", given.text.split("\n")
    start = client.moment()
    document = {"uri": uri, "languageId": given.language, "version": 1, "text": given.text}
    client.notify("textDocument/didOpen", {"textDocument": document})
    client.receive(lambda body: diagnosed(body, 1))
    opened = client.moment() - start
    loops = [number for number, line in enumerate(lines) if given.loop in line]
    times: list[float] = []
    for count in range(edits):
        line = loops[(count * 7919) % len(loops)]
        column = lines[line].index(given.mark) + len(given.mark)
        at = {"line": line, "character": column}
        change = {"range": {"start": at, "end": at}, "text": "1 + "}
        lines[line] = lines[line][:column] + "1 + " + lines[line][column:]
        version = count + 2
        start = time.perf_counter()
        named = {"uri": uri, "version": version}
        client.notify("textDocument/didChange", {"textDocument": named, "contentChanges": [change]})
        client.receive(lambda body, version=version: diagnosed(body, version))
        times.append(time.perf_counter() - start)
    client.end()
    return Other(opened, times)


def diagnosed(body: bytes, version: int) -> bool:
    """True if a message has the diagnostics of a version, wherever it names that."""
    if b"publishDiagnostics" not in body:
        return False
    return json.loads(body)["params"].get("version") == version


def cpu_seconds(text: str) -> float:
    """CPU seconds that the analysis of a file takes, with schedules, in a process that is warm."""
    code = (
        "import gc, sys, time\n"
        "from polylsp.engine.queries import analyse\n"
        "from polylsp.core.settings import Settings\n"
        "analyse('warm.c', 'void f(int n, int *a) { for (int i = 0; i < n; i++) a[i] = 0; }', Settings())\n"
        "gc.freeze()\n"
        "gc.set_threshold(50_000, 20, 50)\n"
        "text = sys.stdin.read()\n"
        "start = time.process_time()\n"
        "analyse('bench.c', text, Settings(cache=False))\n"
        "print(time.process_time() - start)\n"
    )
    command = [sys.executable, "-c", code]
    result = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    return float(result.stdout.splitlines()[-1])


def resident(pid: int) -> float:
    """MiB of memory that a process has resident."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


def ready_times(repeat: int) -> tuple[float, float]:
    """Seconds until a bare pygls server, and ours, answer `initialize`: the best of some starts."""
    bare: list[float] = []
    ours: list[float] = []
    for _ in range(repeat):
        for times, code in ((bare, BARE_SERVER), (ours, SERVER)):
            client = Client("-c", code)
            times.append(client.ready())
            client.end()
    return min(bare), min(ours)


def split(functions: int) -> dict[str, float]:
    """Seconds spent in each part when a file is analysed for the first time."""
    code = (
        "import json, sys, time\n"
        "from polylsp.frontends.c.outline import outline\n"
        "from polylsp.engine.queries import analyse\n"
        "from polylsp.core.settings import Settings\n"
        "text = sys.stdin.read()\n"
        "start = time.perf_counter()\n"
        "outline(text)\n"
        "outlined = time.perf_counter() - start\n"
        "start = time.perf_counter()\n"
        "report = analyse('bench.c', text, Settings(cache=False))\n"
        "parts = {'all': time.perf_counter() - start, 'outline': outlined}\n"
        "for placed in report.functions:\n"
        "    for part, seconds in placed.answer.facts.seconds:\n"
        "        parts[part] = parts.get(part, 0.0) + seconds\n"
        "print(json.dumps(parts))\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], input=program(functions), capture_output=True, text=True, check=True
    )
    return json.loads(result.stdout.splitlines()[-1])


def check_times(repeat: int, folder: Path) -> tuple[float, float]:
    """Seconds that `polylsp check` takes for the PolyBench samples, in one process and in two, in turn."""

    def seconds(jobs: int) -> float:
        command = [sys.executable, "-m", "polylsp", "check", "--no-cache", "--jobs", str(jobs), str(folder)]
        start = time.perf_counter()
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
        return time.perf_counter() - start

    times = [(seconds(1), seconds(2)) for _ in range(repeat)]
    return statistics.median(one for one, _ in times), statistics.median(two for _, two in times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--edits", type=int, default=200)
    parser.add_argument("--quick", action="store_true", help="only the file of 1,000 lines")
    arguments = parser.parse_args()
    edits, quick = arguments.edits, arguments.quick
    bare, ours = ready_times(5)
    small = measure(in_c(100), edits)
    other = clangd()
    table = Table("figure", "measured", "goal", title="How long an editor waits")
    table.add_row(
        "server ready / bare pygls server", f"{ours / bare:.2f} ({ours:.3f} s / {bare:.3f} s)", "≤ 1.3"
    )
    report(table, "1,000 lines", small, "≤ 1.5 s", "≤ 40 ms", "≤ 120 ms")
    compare(table, small, other and measure_other(other, in_c(100), min(20, edits)), opening=False)
    table.add_row("1,000 lines: CPU time of the analysis", f"{cpu_seconds(in_c(100).text):.2f} s", "≤ 0.8 s")
    python = measure(in_python(100), edits)
    report(table, "1,000 lines of Python", python, "", "≤ 40 ms", "")
    if not quick:
        large = measure(in_c(1000), edits)
        limit = 1.5 * statistics.median(small.edits)
        report(table, "10,000 lines", large, "", f"≤ 60 ms (1.5 × measured: {limit * 1000:.1f} ms)", "")
        compare(table, large, other and measure_other(other, in_c(1000), min(20, edits)))
    one, two = check_times(5, POLYBENCH / "c")
    in_one, _ = check_times(3, POLYBENCH / "python")
    table.add_section()
    table.add_row("polylsp check samples/polybench/python", f"{in_one:.2f} s", "≤ 6 s")
    table.add_row("polylsp check samples/polybench/c", f"{one:.2f} s", "≤ 6 s")
    table.add_row("… with --jobs 2", f"{one / two:.2f} times faster", "≥ 1.7 times")
    Console(width=110).print(table)
    parts = Table(
        "part", "seconds", title="Where the time goes: 100 functions, first analysis with schedules"
    )
    for part, seconds in split(100).items():
        parts.add_row(part, f"{seconds:.3f}")
    Console(width=110).print(parts)


def report(
    table: Table, name: str, session: Session, open_goal: str, median_goal: str, p99_goal: str
) -> None:
    def milliseconds(seconds: float) -> str:
        return f"{1000 * seconds:.1f} ms"

    server, worker = session.memory
    table.add_section()
    table.add_row(f"{name}: open → first findings", f"{session.opened.clock:.2f} s", open_goal)
    table.add_row(f"{name}: open → all findings ({session.findings})", f"{session.found.clock:.2f} s", "")
    table.add_row(f"{name}: open → transforms, and edits that were tried", f"{session.full.clock:.2f} s", "")
    table.add_row(f"{name}: open → all findings, cached", f"{session.reopened.clock:.2f} s", "")
    table.add_row(
        f"{name}: edit → findings, median", milliseconds(statistics.median(session.edits)), median_goal
    )
    table.add_row(f"{name}: edit → findings, 99 %", milliseconds(percentile(session.edits, 99)), p99_goal)
    table.add_row(f"{name}: hover, median", milliseconds(statistics.median(session.hovers)), "≤ 10 ms")
    table.add_row(
        f"{name}: memory", f"{server + worker:.0f} MiB ({server:.0f} + {worker:.0f})", "≤ 250 MB together"
    )


def compare(table: Table, ours: Session, theirs: Other | str | None, opening: bool = True) -> None:
    """Rows beside clangd: `theirs` is nothing where it is not here."""
    if not isinstance(theirs, Other):
        table.add_row("beside clangd", "clangd is not here", "")
        return

    def row(what: str, seconds: float, other: float, goal: str) -> None:
        table.add_row(f"… {what}, beside clangd", f"{seconds / other:.2f} times ({other:.3f} s)", goal)

    def both(what: str, own: Moment, other: Moment, goal: str) -> None:
        # On a machine that has other work to do, the clock says little.
        row(what, own.clock, other.clock, goal)
        row(f"{what}, CPU time", own.cpu, other.cpu, goal)

    if opening:
        both("first findings", ours.opened, theirs.opened, "≤ 1.5 times")
        both("all findings", ours.found, theirs.opened, "≤ 6 times")
        both("all findings when cached", ours.reopened, theirs.opened, "≤ 1 times")
    row(
        "edit → findings, median",
        statistics.median(ours.edits),
        statistics.median(theirs.edits),
        "≤ 0.3 times",
    )


if __name__ == "__main__":
    main()
