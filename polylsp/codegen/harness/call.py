"""The text that calls a function: in C it stands after a version of the file; see `runtime/driver.c`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from polylsp.analysis.effects import walk
from polylsp.codegen.harness.storage import Storage
from polylsp.codegen.subject import Subject
from polylsp.model.measurement import Argument, Number, Pointee, Size, Structure
from polylsp.model.program import Jump

_DECLARATIONS = """\
extern long long polylsp_integer(int);
extern double polylsp_real(int);
extern void *polylsp_memory(int);
extern void polylsp_object(int, void *, unsigned long);
extern void polylsp_structure(int, unsigned long);
extern void polylsp_field(int, const char *, unsigned long, unsigned long, unsigned long, char);
extern void polylsp_result(const void *, unsigned long, char);
"""


def call(subject: Subject, data: Storage) -> str:
    """Registers the variables of the file, and calls the function. The compiler is not to know which function
    that is: it must not be made part of its caller."""
    name = subject.function.name
    given = data.arguments[: len(subject.function.parameters)]
    arguments = ", ".join(_argument(number, each) for number, each in enumerate(given))
    lines = [
        "",
        '#line 1 "polylsp"',
        _DECLARATIONS + "\n".join(_structures(given)),
        "void polylsp_register(void)",
        "{",
        *_objects(data),
        *_fields(data),
        "}",
        "void polylsp_call(void)",
        "{",
        f"    __auto_type polylsp_function = &{name};",
        '    __asm__ volatile("" : "+r"(polylsp_function));',
        *_members(data, len(given)),
        *_called(subject, f"polylsp_function({arguments})"),
        "}",
        "",
    ]
    return "\n".join(lines)


def python_call(subject: Subject, data: Storage) -> str:
    """The expression that calls a function of Python; see `runtime/driver.py`."""
    arguments = ", ".join(_handed(number, each) for number, each in enumerate(data.arguments))
    return f"function.{subject.function.name}({arguments})"


def _handed(number: int, argument: Argument) -> str:
    return f"memory({argument.memory})" if isinstance(argument, Pointee) else f"number({number})"


def _objects(data: Storage) -> Iterator[str]:
    for number, memory in enumerate(data.memories):
        if memory.is_global:
            place = _place(memory.name)
            yield f"    polylsp_object({number}, (void *)&{place}, sizeof {place});"


def _fields(data: Storage) -> Iterator[str]:
    """What is in the structures of memories."""
    for number, memory in enumerate(data.memories):
        if memory.members:
            yield f"    polylsp_structure({number}, sizeof({memory.structure}));"
        for each in memory.members:
            offset = f"__builtin_offsetof({memory.structure}, {each.name})"
            whole = f"sizeof((({memory.structure} *)0)->{each.name})"
            told = f"\"{each.name}\", {offset}, {whole}, {each.size}, '{each.kind}'"
            yield f"    polylsp_field({number}, {told});"


def _structures(given: Iterable[Argument]) -> Iterator[str]:
    for each in given:
        if isinstance(each, Structure):
            yield f"static {each.type} polylsp_structure_{each.name};"


def _members(data: Storage, first: int) -> Iterator[str]:
    """What members of structures are before a call."""
    for number, each in enumerate(data.arguments[first:], first):
        assert isinstance(each, (Size, Number))
        yield f"    {_place(each.name)} = {_argument(number, each)};"
    for number, memory in enumerate(data.memories):
        if "->" in memory.name and not memory.is_global:
            yield f"    {_place(memory.name)} = polylsp_memory({number});"


def _place(name: str) -> str:
    """A variable of the file, or a member of a structure that is made up."""
    structure, arrow, member = name.partition("->")
    return f"polylsp_structure_{structure}.{member}" if arrow else name


def _argument(number: int, argument: Argument) -> str:
    match argument:
        case Structure(name):
            return f"&polylsp_structure_{name}"
        case Size():
            return f"polylsp_integer({number})"
        case Number(_, value):
            return f"polylsp_{'real' if isinstance(value, float) else 'integer'}({number})"
        case Pointee(memory):
            return f"polylsp_memory({memory})"


def _called(subject: Subject, text: str) -> Iterator[str]:
    if not any(
        isinstance(s, Jump) and s.kind == "return" and s.value is not None
        for s in walk(subject.function.body)
    ):
        yield f"    {text};"
        return
    yield f"    __auto_type polylsp_value = {text};"
    yield "    polylsp_result(&polylsp_value, sizeof polylsp_value,"
    yield "        _Generic(polylsp_value, float: 'f', double: 'f', long double: 'f', default: 'i'));"
