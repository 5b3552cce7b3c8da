"""Runs a program with a real compiler, to see that the interpreter means what C means."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.oracle.arguments import SIZES, evaluated
from tests.oracle.machine import Key, Machine, Slot, View
from tests.oracle.nests import Number, Program, Type
from tests.oracle.printing import elsewhere, layout

_FORMAT = {"double": "%.17g", "int": "%d", "unsigned": "%u", "long": "%ld"}
MARGIN = 80
"""Number of elements of a pointer parameter's storage before and after element 0."""


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
        if p.scalar:
            arguments.append(str(given[p.name]))
        elif p.name in aliases:
            of, offset = aliases[p.name]
            arguments.append(f"&{_spelled(program, slots[of], (offset,))}")
        elif p.structure or p.rows:
            of_type = p.structure or f"{p.type} *"
            before.append(f"static {of_type} storage_{p.name}[{2 * MARGIN}];")
            arguments.append(f"storage_{p.name}" + (f"[{MARGIN}]" if p.extents is None else f" + {MARGIN}"))
        elif not p.extents:
            before.append(f"static {p.type} storage_{p.name}[{2 * MARGIN}];")
            arguments.append(f"storage_{p.name} + {MARGIN}")
        else:
            extents = "".join(f"[{evaluated(e, given)}]" for e in p.extents)
            before.append(f"static {p.type} storage_{p.name}{extents};")
            arguments.append(f"storage_{p.name}")
    for name in slots.keys() - {p.name for p in kernel.parameters} - {g.name for g in program.globals}:
        before.append(f"static {slots[name].type} storage_{name.replace('.', '_')}[{2 * MARGIN}];")
    for slot, key in held_places(program, run):
        main.append(f"{_spelled(program, slot, key)} = {_initial(program, slot, key)};")
    places = [(slot, key) for slot in slots.values() for key in touched(run, slot)]
    call = f"kernel({', '.join(arguments)})"
    if kernel.type != "void":
        call = f'printf("{_FORMAT[kernel.type]}\\n", {call})'
    main.append(f"{call};")
    main += [f'printf("{_FORMAT[_type(s, key)]}\\n", {_spelled(program, s, key)});' for s, key in places]
    body = "\n    ".join(main)
    head = "#include <stdio.h>\n" + layout(program).text + elsewhere(program)
    return head + "\n".join(before) + f"\nint main(void)\n{{\n    {body}\n    return 0;\n}}\n"


def expected(program: Program, run: Machine) -> list[str]:
    """Expected output of `complete`."""
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


def touched(run: Machine, slot: Slot) -> list[Key]:
    """The elements of a variable that a run touched and that can be printed: pointers cannot."""
    keys = sorted({event.key for event in run.trace if event.slot == slot.serial})
    return [key for key in keys if not isinstance(slot.background(key), View)]


def held_places(program: Program, run: Machine) -> Iterator[tuple[Slot, Key]]:
    """Places to set before a run: all that it touched of its arguments' targets."""
    arguments = {p.name for p in program.kernel.parameters if p.structure or p.rows}
    observable = {slot.serial for slot in run.observable}
    first: dict[str, int] = {}
    for slot in run.slots:
        # The first of a name is the argument; others are parameters of functions that it calls.
        mine = first.setdefault(slot.name, slot.serial) == slot.serial
        if slot.serial in observable or (mine and slot.name in arguments):
            touched_keys = {event.key for event in run.trace if event.slot == slot.serial}
            yield from ((slot, key) for key in sorted(touched_keys) if key or slot.serial in observable)


def _initial(program: Program, slot: Slot, key: Key) -> str:
    value = slot.background(key)
    if isinstance(value, View):
        return f"&{_spelled(program, value.slot, (value.offset,))}"
    return _literal(value, _type(slot, key))


def _type(slot: Slot, key: Key) -> Type:
    return "int" if key and key[-1] in SIZES else slot.type


def _spelled(program: Program, slot: Slot, key: Key) -> str:
    parameters: dict[str, Any] = {p.name: p for p in program.kernel.parameters}
    own = slot.name.split(".")[0] in parameters
    name = f"storage_{slot.name.replace('.', '_')}" if own else slot.name
    if own and not (slot.name in parameters and parameters[slot.name].extents):
        key = (key[0] + MARGIN, *key[1:])
    return name + "".join(f"[{k}]" if isinstance(k, int) else f".{k}" for k in key)


def _literal(value: Any, type: str) -> str:
    if type == "double":
        return repr(float(value))
    from .printing import expression_text

    return expression_text(Number(value, "unsigned" if type == "unsigned" else "int"))


def _shown(value: Any) -> str:
    return repr(float(value) + 0.0)
