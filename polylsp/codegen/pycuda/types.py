"""Types of the device as NumPy calls them."""

from __future__ import annotations

from polylsp.codegen.cuda.buffers import Buffer
from polylsp.codegen.cuda.python_whole import is_unlimited
from polylsp.frontends.python.kinds import dtype_name
from polylsp.model.program import Floating, Integer, Variable


def number_text(variable: Variable) -> str:
    """NumPy's type of a number that a kernel takes."""
    of_type = variable.type
    assert isinstance(of_type, (Integer, Floating))
    return "int32" if is_unlimited(of_type) else dtype_name(of_type)


def element_text(buffer: Buffer) -> str:
    """NumPy's type of a buffer's elements."""
    element = buffer.memory.element
    assert isinstance(element, (Integer, Floating))
    return dtype_name(element)


def itemsize(buffer: Buffer) -> int:
    """Size of an element in bytes."""
    element = buffer.memory.element
    assert isinstance(element, (Integer, Floating))
    return max(8, element.bits) // 8
