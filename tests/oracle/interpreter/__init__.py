"""Runs a program: turns it into Python closures once, then runs it on any inputs.

A run goes in source order and records every access, or it runs one loop in another order
(`Machine.reordering`), which is how claims of independence are put to the test.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..extents import extents
from ..looping import Code
from ..machine import Machine, View
from ..nests import Inputs, Program
from .starting import arguments, walks_rows
from .statements import Statements


@dataclass(slots=True)
class Runner:
    """A program ready to run."""

    program: Program
    start: Code

    def run(self, inputs: Inputs, **how: Any) -> Machine:
        """Run once; the machine afterwards holds the trace and the final state."""
        machine = Machine(inputs, **how)
        self.start(machine)
        return machine


def runner(program: Program) -> Runner:
    """Make a program ready to run."""
    return Runner(program, _program_code(program))


def _program_code(program: Program) -> Code:
    compiled = Statements(program)
    for function in program.functions:
        compiled.functions[function.name] = compiled.function(function)
        compiled.signatures[function.name] = function
    call, rows_walked = compiled.functions[program.kernel.name], walks_rows(program)

    def start(m: Machine) -> None:
        if program.wraps:
            m.shapes = extents(program, m.inputs)
            m.shapes |= {name: m.shapes[of] for name, of, _ in m.inputs.aliases}
        for variable in program.globals:
            slot = m.slot(variable.name, variable.type, filled=True)
            m.observable.append(slot)
            m.env.append(View(slot) if variable.extents else slot)
        m.rows_walked = rows_walked
        held = {slot.name: View(slot) for slot in m.observable}
        m.result = call(m, arguments(m, program, held))

    return start
