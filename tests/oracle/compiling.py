"""Runs a program with a real compiler, to see that the interpreter means what C means."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

from .extents import evaluated
from .machine import Machine, Slot
from .nests import Number, Program
from .printing import layout

_FORMAT = {"double": "%.17g", "int": "%d", "unsigned": "%u", "long": "%ld"}
MARGIN = 80
"""How many elements the storage of a pointer parameter has before and after element 0."""


def complete(program: Program, run: Machine) -> str:
    """A C program that starts from the inputs of `run` and prints the result and every array
    element that `run` touched, one to a line, in the order of `expected`."""
    kernel = program.kernel
    slots = {slot.name: slot for slot in run.observable}
    aliases = {name: (of, offset) for name, of, offset in run.inputs.aliases}
    given = dict(run.inputs.parameters)
    before: list[str] = []
    main: list[str] = []
    arguments: list[str] = []
    for p in kernel.parameters:
        if p.extents is None:
            arguments.append(str(given[p.name]))
        elif p.name in aliases:
            of, offset = aliases[p.name]
            arguments.append(f"storage_{of} + {MARGIN + offset}")
        elif not p.extents:
            before.append(f"static {p.type} storage_{p.name}[{2 * MARGIN}];")
            arguments.append(f"storage_{p.name} + {MARGIN}")
        else:
            extents = "".join(f"[{evaluated(e, given)}]" for e in p.extents)
            before.append(f"static {p.type} storage_{p.name}{extents};")
            arguments.append(f"storage_{p.name}")
    places = [(slot, key) for slot in slots.values() for key in touched(run, slot)]
    for slot, key in places:
        main.append(f"{_spelled(program, slot, key)} = {_literal(slot.background(key), slot.type)};")
    call = f"kernel({', '.join(arguments)})"
    if kernel.type != "void":
        call = f'printf("{_FORMAT[kernel.type]}\\n", {call})'
    main.append(f"{call};")
    main += [f'printf("{_FORMAT[s.type]}\\n", {_spelled(program, s, key)});' for s, key in places]
    body = "\n    ".join(main)
    head = "#include <stdio.h>\n" + layout(program).text
    return head + "\n".join(before) + f"\nint main(void)\n{{\n    {body}\n    return 0;\n}}\n"


def expected(program: Program, run: Machine) -> list[str]:
    """What `complete` should print."""
    lines = [] if program.kernel.type == "void" else [_shown(run.result)]
    for slot in run.observable:
        lines += [_shown(slot.values.get(key, slot.background(key))) for key in touched(run, slot)]
    return lines


def printed(source: str, folder: Path, compiler: str) -> list[str]:
    """Compile and run a complete program; what it prints, numbers in Python's spelling."""
    path, program = folder / "drawn.c", folder / "drawn"
    path.write_text(source)
    flags = ["-std=c99", "-O1", "-ffp-contract=off", "-fsanitize=undefined", "-w"]
    subprocess.run([compiler, *flags, "-o", str(program), str(path), "-lm"], check=True, timeout=60)
    done = subprocess.run([str(program)], check=True, capture_output=True, text=True, timeout=60)
    assert not done.stderr, done.stderr
    return [_shown(float(line)) for line in done.stdout.split()]


def touched(run: Machine, slot: Slot) -> list[tuple[int, ...]]:
    """The elements of a variable that a run touched."""
    return sorted({event.key for event in run.trace if event.slot == slot.serial})


def _spelled(program: Program, slot: Slot, key: tuple[int, ...]) -> str:
    parameters: dict[str, Any] = {p.name: p for p in program.kernel.parameters}
    name = f"storage_{slot.name}" if slot.name in parameters else slot.name
    if slot.name in parameters and not parameters[slot.name].extents:
        key = (key[0] + MARGIN,)
    return name + "".join(f"[{k}]" for k in key)


def _literal(value: Any, type: str) -> str:
    if type == "double":
        return repr(float(value))
    from .printing import expression_text

    return expression_text(Number(value, "unsigned" if type == "unsigned" else "int"))


def _shown(value: Any) -> str:
    return repr(float(value) + 0.0)
