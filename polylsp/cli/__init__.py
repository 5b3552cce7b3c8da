"""Command line. The modules of commands are imported on demand: `--help` and `serve` must not pay for
imports that only `check` needs."""

# isort: off
from polylsp.launch import leave_out_working_directory

leave_out_working_directory()  # before anything else is looked for
# isort: on

import argparse
import sys
import traceback
from collections.abc import Sequence
from importlib import import_module

import polylsp
from polylsp.cli import output
from polylsp.cli.files import address, codes, count, define, file_line, pair_of_names, positive, setting, size
from polylsp.cli.output import Exit, Misused

TARGETS = ("openmp", "openacc", "openmp-target", "numba", "cuda", "pycuda", "cupy", "numba-cuda")
TRANSFORMS = (
    "interchange",
    "distribute",
    "fuse",
    "skew",
    "tile",
    "time-tile",
    "unroll-and-jam",
    "simd",
    "restructure",
    "privatize",
    "expand",
    "restrict",
    "overlap-check",
    "rewrite-reduction",
    "substitute-induction",
    "copy",
    "slices",
    "fill",
    "fuse-arrays",
)
"""As in `model/action.py`, which `--help` must not load."""

_SHELLS = ("bash", "zsh", "tcsh")
_FORM = "form of the output (default: text)"
_JOBS = "processes (0, the default: one per core)"
_ANALYSING = ("check", "report", "explain", "model", "offload", "measure", "tune", "mcp")
"""Commands that work in child processes."""

_TOGETHER = {"tune": "measure", "completion": "man"}
"""Commands in the module of another one."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command and gives the exit status that the contract names."""
    is_heard = output.replace_missing_streams()
    options = parser().parse_args(arguments)
    try:
        if not is_heard and options.command != "serve":
            raise output.Unwritten("standard output is closed")
        if options.command in _ANALYSING:
            import_module("polylsp.cli.pool").begin()
        command = import_module(f"polylsp.cli.{_TOGETHER.get(options.command, options.command)}")
        status: int = command.run(options)
        output.flush()
    except output.Unwritten as why:
        output.give_up_output()
        if isinstance(why.__cause__, BrokenPipeError):
            return Exit.DONE  # Whoever reads no further (`| head`) has what was wanted.
        output.complain(str(why))
        return Exit.UNREADABLE
    except Misused as why:
        output.complain(str(why))
        return Exit.USAGE
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    except Exception:
        # A bug of ours; the status 1 that Python would give means something else here.
        traceback.print_exc()
        print("polylsp: internal error, please report it", file=sys.stderr)
        return Exit.UNREADABLE
    return status


def parser() -> argparse.ArgumentParser:
    """The parser of the whole command line."""
    top = argparse.ArgumentParser(
        prog="polylsp",
        description="Polyhedral analysis of loops: which can run in parallel, which cannot and why.",
        epilog="Exit status: 0 done; 1 done, with findings of severity error; 2 wrong usage; "
        "3 some file could not be read or analysed.",
    )
    top.add_argument("--version", action="version", version=f"polylsp {polylsp.__version__}")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _check(commands.add_parser("check", help="report every loop of files and folders"))
    _report(commands.add_parser("report", help="rank the loops that would gain by running in parallel"))
    _explain(commands.add_parser("explain", help="tell all that is known of one loop and its nest"))
    _model(commands.add_parser("model", help="print the polyhedral model of every nest, as isl text"))
    _offload(commands.add_parser("offload", help="print or write the edit that a code action would make"))
    _measure(commands.add_parser("measure", help="build and run a loop and its edits, and compare them"))
    _measure(commands.add_parser("tune", help="look for the settings that make the fastest version"))
    _serve(commands.add_parser("serve", help="run the language server"))
    _mcp(commands.add_parser("mcp", help="offer the analysis to a coding assistant (Model Context Protocol)"))
    commands.add_parser("doctor", help="show compilers, GPUs and headers found, and what is missing")
    completion = commands.add_parser("completion", help="print a script that completes commands in a shell")
    completion.add_argument("shell", choices=_SHELLS, help="the shell that reads the script")
    commands.add_parser("man", help="print the manual page")
    return top


def _check(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "paths",
        nargs="*",
        default=["."],
        metavar="PATH",
        help="a C or Python file, or a folder searched for them (default: the current folder); -: text from"
        " standard input",
    )
    command.add_argument(
        "--stdin-filename",
        metavar="NAME",
        help="the file that the text from standard input belongs to, which need not be there",
    )
    for name, dest, words in (
        ("--select", "selected", "show these findings alone (codes, with commas between)"),
        ("--ignore", "ignored", "do not show these findings"),
    ):
        command.add_argument(
            name, dest=dest, action="extend", default=[], type=codes, metavar="CODE", help=words
        )
    command.add_argument(
        "--severity",
        choices=("error", "warning", "information", "hint"),
        help="show findings from this severity on (default: hint)",
    )
    fixing = command.add_mutually_exclusive_group()
    fixing.add_argument(
        "--fix",
        action="store_true",
        help="first write the safe fixes: OpenMP for loops that are parallel without a condition, and clauses"
        " that directives lack",
    )
    fixing.add_argument("--diff", action="store_true", help="print the safe fixes as a diff, and no findings")
    fixing.add_argument(
        "--baseline", metavar="FILE", help="neither show nor count findings that are in this file"
    )
    fixing.add_argument(
        "--write-baseline", metavar="FILE", help="write the findings to this file, and show none"
    )
    shown = command.add_mutually_exclusive_group()
    shown.add_argument("--quiet", action="store_true", help="print findings only, no summaries (text)")
    shown.add_argument(
        "--statistics", action="store_true", help="print the number of findings by code (text)"
    )
    command.add_argument("--format", choices=("text", "json", "sarif"), default="text", help=_FORM)
    command.add_argument("--jobs", type=count, default=count("0"), metavar="N", help=_JOBS)
    command.add_argument(
        "--cluster",
        default="",
        metavar="ADDRESS",
        help="the scheduler of a Dask cluster whose workers do the work",
    )
    _sources(command)


def _report(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "paths",
        nargs="*",
        default=["."],
        metavar="PATH",
        help="a C or Python file, or a folder searched for them (default: the current folder)",
    )
    command.add_argument("--format", choices=("text", "json"), default="text", help=_FORM)
    command.add_argument(
        "--profile",
        default="",
        metavar="FILE",
        help="rank by the samples of a profile: the text of `perf script -F +srcline`, gprof, or"
        " `py-spy record --format raw`",
    )
    command.add_argument(
        "--top", type=positive, default=20, metavar="N", help="print so many loops at most (20; text)"
    )
    command.add_argument("--jobs", type=count, default=count("0"), metavar="N", help=_JOBS)
    _sources(command)


def _explain(command: argparse.ArgumentParser) -> None:
    command.add_argument("place", type=file_line, metavar="FILE:LINE", help="a line of the loop, from 1")
    command.add_argument("--format", choices=("text", "json", "svg"), default="text", help=_FORM)
    command.add_argument(
        "--dimensions", type=pair_of_names, metavar="I,J", help="the two iterators to draw (svg only)"
    )
    _sources(command)


def _model(command: argparse.ArgumentParser) -> None:
    command.add_argument("path", metavar="FILE", help="a C or Python file")
    command.add_argument("--format", choices=("text", "json"), default="text", help=_FORM)
    _sources(command)


def _offload(command: argparse.ArgumentParser) -> None:
    command.add_argument("place", type=file_line, metavar="FILE:LINE", help="a line of the loop, from 1")
    action = command.add_mutually_exclusive_group(required=True)
    action.add_argument("--target", choices=TARGETS, help="whose directives to write")
    action.add_argument("--transform", choices=TRANSFORMS, help="how to change the loops")
    outcome = command.add_mutually_exclusive_group()
    outcome.add_argument("--diff", action="store_true", help="print the edit as a unified diff (default)")
    outcome.add_argument("--write", action="store_true", help="write the edit to the file")
    _sources(command)


def _measure(command: argparse.ArgumentParser) -> None:
    command.add_argument("place", type=file_line, metavar="FILE:LINE", help="a line of the loop, from 1")
    command.add_argument(
        "--set", dest="sizes", action="append", default=[], type=size, metavar="NAME=SIZE", help="a size"
    )
    command.add_argument(
        "--target",
        dest="targets",
        action="append",
        default=[],
        choices=(*(each for each in TARGETS if each not in ("cupy", "numba-cuda")), "slices"),
        help="a version to measure (default: all for processors, and for a GPU where there is one)",
    )
    command.add_argument("--format", choices=("text", "json"), default="text", help=_FORM)
    command.add_argument(
        "--cluster",
        default="",
        metavar="ADDRESS",
        help="the scheduler of a Dask cluster one of whose workers does it",
    )
    command.add_argument(
        "--allow-program",
        dest="allowed_programs",
        action="append",
        default=[],
        metavar="PATTERN",
        help="paths of compilers and interpreters that may be run although they are files of the project",
    )
    _sources(command)


def _serve(command: argparse.ArgumentParser) -> None:
    channel = command.add_mutually_exclusive_group()
    channel.add_argument("--stdio", action="store_true", help="speak on standard input and output (default)")
    channel.add_argument("--tcp", type=address, metavar="HOST:PORT", help="wait for clients on a port")


def _mcp(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "folder", nargs="?", default=".", metavar="FOLDER", help="the project (default: the current folder)"
    )
    command.add_argument("--write", action="store_true", help="allow the assistant to write edits to files")
    command.add_argument(
        "--measure", action="store_true", help="allow the assistant to build and run functions, confined"
    )
    command.add_argument(
        "--call",
        choices=("check", "report", "explain", "actions", "apply", "measure"),
        help="call one tool, with the arguments of a JSON object on standard input, and print its answer",
    )


def _sources(command: argparse.ArgumentParser) -> None:
    """The options about reading of sources, and settings."""
    command.add_argument("--max-file-mb", type=positive, metavar="N", help="read no file of more MiB (32)")
    command.add_argument(
        "--compile-commands", default="", metavar="DIR", help="the folder that holds compile_commands.json"
    )
    command.add_argument(
        "-I",
        dest="include_paths",
        action="append",
        default=[],
        metavar="DIR",
        help="a folder that is searched for headers",
    )
    command.add_argument(
        "-D",
        dest="defines",
        action="append",
        default=[],
        type=define,
        metavar="NAME[=VALUE]",
        help="a macro that is defined",
    )
    command.add_argument(
        "--no-cache",
        dest="cache",
        action="store_false",
        default=None,
        help="analyse everything anew, and keep nothing in the user's cache folder",
    )
    command.add_argument(
        "--setting",
        dest="settings",
        action="append",
        default=[],
        type=setting,
        metavar="NAME=VALUE",
        help="a setting as in an editor, for this run (max_seconds=30, tile_sizes=32,64)",
    )
    command.add_argument(
        "--isolated",
        action="store_true",
        help="use no settings of the project (.polylsp.toml, or [tool.polylsp] in pyproject.toml)",
    )
