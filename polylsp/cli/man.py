"""`polylsp man` and `polylsp completion`: the manual page, and the script by which a shell completes command
lines, generated from the parser of the command line."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator

import polylsp
from polylsp.cli.output import Exit, write_text

_CONTROL = re.compile(r"^([.'])", re.MULTILINE)

_FILES = (
    (".polylsp.toml", "settings of a project, for the files in its folder and below"),
    ("pyproject.toml", "the same, under [tool.polylsp]"),
)
_VARIABLES = (
    ("POLYLSP_CACHE_DIR", "folder for what is kept from one run to the next"),
    ("NO_COLOR, FORCE_COLOR", "output without colour, or with colour wherever it goes"),
    ("POLYLSP_TOKEN", "secret that clients of serve --tcp show"),
)


def run(options: argparse.Namespace) -> int:
    """Prints the page or the script."""
    from polylsp.cli import parser

    is_page = options.command == "man"
    write_text("\n".join(_page(parser())) if is_page else _script(parser(), options.shell))
    return Exit.DONE


def _script(top: argparse.ArgumentParser, shell: str) -> str:
    import shtab

    for _, command, _ in commands_of(top):
        for action in command._actions:  # pyright: ignore[reportPrivateUsage]
            is_named = action.metavar == "NAME" and action.dest != "stdin_filename"
            if action.metavar in ("FILE", "PATH", "FILE:LINE", "NAME") and not is_named:
                action.complete = shtab.FILE  # pyright: ignore[reportAttributeAccessIssue]
            elif action.metavar == "DIR":
                action.complete = shtab.DIRECTORY  # pyright: ignore[reportAttributeAccessIssue]
    return shtab.complete(top, shell=shell)


def commands_of(top: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.ArgumentParser, str]]:
    """The commands of the command line, with their parsers and what they do."""
    for action in top._actions:  # pyright: ignore[reportPrivateUsage]
        if isinstance(action, argparse._SubParsersAction):  # pyright: ignore[reportPrivateUsage]
            words = {each.dest: each.help or "" for each in action._choices_actions}  # pyright: ignore
            for name, command in action.choices.items():
                yield name, command, words.get(name, "")


def _page(top: argparse.ArgumentParser) -> Iterator[str]:
    yield f'.TH POLYLSP 1 "" "polylsp {polylsp.__version__}" "User Commands"'
    yield ".ad l"
    yield ".SH NAME"
    yield f"polylsp \\- {_text((top.description or '').removesuffix('.'))}"
    yield ".SH SYNOPSIS"
    yield ".B polylsp"
    yield r"\fICOMMAND\fR [\fIOPTION\fR]... [\fIARGUMENT\fR]..."
    yield ".SH COMMANDS"
    for _, command, words in commands_of(top):
        yield f".SS {_text(_usage(command))}"
        yield _text(f"{words[:1].upper()}{words[1:]}.")
        for action in command._actions:  # pyright: ignore[reportPrivateUsage]
            if action.dest != "help":
                yield ".TP"
                yield f".B {_text(_names(action))}"
                yield _text((action.help or "").replace("%%", "%"))
    yield ".SH EXIT STATUS"
    for number, words in _statuses(top):
        yield from (".TP", f".B {number}", _text(words))
    for heading, table in (("FILES", _FILES), ("ENVIRONMENT", _VARIABLES)):
        yield f".SH {heading}"
        for name, words in table:
            yield from (".TP", f".B {_text(name)}", _text(words))


def _usage(command: argparse.ArgumentParser) -> str:
    """A command with its arguments, without its options."""
    arguments = [each for each in command._actions if not each.option_strings]  # pyright: ignore
    names = (f"[{each.metavar}]..." if each.nargs == "*" else str(each.metavar) for each in arguments)
    return " ".join([command.prog, *names])


def _names(action: argparse.Action) -> str:
    """The option or argument as it is written."""
    value = action.metavar or (f"{{{','.join(map(str, action.choices))}}}" if action.choices else "")
    if not action.option_strings:
        return str(value or action.dest)
    value = "" if action.nargs == 0 else f" {value or action.dest.upper()}"
    return ", ".join(f"{each}{value}" for each in action.option_strings)


def _statuses(top: argparse.ArgumentParser) -> Iterator[tuple[str, str]]:
    """The exit statuses and their meanings, from the epilogue."""
    listed = (top.epilog or "").partition(":")[2].removesuffix(".")
    for each in listed.split(";"):
        number, _, words = each.strip().partition(" ")
        yield number, words


def _text(words: str) -> str:
    """Words as roff shows them."""
    return _CONTROL.sub(r"\\&\1", words.replace("\\", r"\e").replace("-", r"\-"))
