"""Text that calls a function on generated data: in C, lines that stand after a version of the file
(`measuring/driver.c`); in Python, an expression (`measuring/driver.py`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from polylsp.emit.subject import Subject
from polylsp.ir.effects import walk
from polylsp.ir.program import Jump
from polylsp.measuring.plans.arguments import Storage
from polylsp.model.measurement import Argument, Number, Pointee, Size, Structure

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
    """Lines that register the variables of the file, and call the function indirectly: the compiler must not
    inline it into its caller."""
    name = subject.function.name
    given = data.arguments[: len(subject.function.parameters)]
    arguments = ", ".join(_argument(number, each) for number, each in enumerate(given))
    lines = [
        "",
        '#line 1 "polylsp"',
        _DECLARATIONS + "\n".join(_structures(given)),
        *_led_to(data),
        "void polylsp_register(void)",
        "{",
        *_links(data),
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
    """The lines that make objects, then the expression that calls a function of Python; see
    `measuring/driver.py`."""
    name = subject.function.name
    given = [(k, each) for k, each in enumerate(data.arguments) if "." not in _spelling(each)]
    makers = [_maker(k, each, name, data) for k, each in given if isinstance(each, Structure)]
    called = f"function.{name}({', '.join(_handed(k, each) for k, each in given)})"
    return "\n".join((*makers, called))


def _spelling(argument: Argument) -> str:
    """Spelling of an argument; empty for an array."""
    return "" if isinstance(argument, Pointee) else argument.name


def _maker(number: int, made: Structure, function: str, data: Storage) -> str:
    """Makes an object without its `__init__`: the attributes that the function uses are set, but for numbers
    that its class sets and that are no sizes."""
    sizes, numbers = list[str](), list[str]()
    for k, each in enumerate(data.arguments):
        of, dot, attribute = _spelling(each).rpartition(".")
        if dot and of == made.name:
            text = f"{_attribute(attribute, function)!r}: number({k})"
            (sizes if isinstance(each, Size) else numbers).append(text)
    for k, variable in enumerate(data.variables):
        of, dot, attribute = variable.source_name.rpartition(".")
        if dot and of == made.name:
            sizes.append(f"{_attribute(attribute, function)!r}: memory({k})")
    parts = ", ".join((f"{{{', '.join(sizes)}}}", f"{{{', '.join(numbers)}}}"))
    return f"make({number}, {made.name!r}, function.{made.type}, {parts})"


def _attribute(name: str, function: str) -> str:
    """An attribute as its object has it: Python puts the class before names that begin with `__`."""
    owner = function.rpartition(".")[0].rpartition(".")[2].lstrip("_")
    is_private = name.startswith("__") and not name.endswith("__")
    return f"_{owner}{name}" if is_private and owner else name


def _handed(number: int, argument: Argument) -> str:
    match argument:
        case Pointee(memory):
            return f"memory({memory})"
        case Structure():
            return f"made({number})"
        case _:
            return f"number({number})"


def _objects(data: Storage) -> Iterator[str]:
    for number, memory in enumerate(data.memories):
        if memory.is_global:
            place = _place(memory.name)
            yield f"    polylsp_object({number}, (void *)&{place}, sizeof {place});"


def _fields(data: Storage) -> Iterator[str]:
    """Fields in the structures of memories."""
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


def _inner(data: Storage) -> tuple[str, ...]:
    """The structures that pointers in others lead to, those that lead there first."""
    names = [each.name for each in (*data.arguments, *data.memories) if not isinstance(each, Pointee)]
    paths = (name.split("->")[:-1] for name in names)
    found = {"->".join(path[:last]) for path in paths for last in range(2, len(path) + 1)}
    return tuple(sorted(found))


def _led_to(data: Storage) -> Iterator[str]:
    """The room for those: bytes, as the type may be one that does not let itself be changed."""
    types = {each.name: each.type for each in data.arguments if isinstance(each, Structure)}
    for number, path in enumerate(_inner(data)):
        name, _, member = path.partition("->")
        size = f"sizeof(*(({types[name]} *)0)->{member})"
        yield f"static unsigned char polylsp_inner_{number}[{size}] __attribute__((aligned));"


def _links(data: Storage) -> Iterator[str]:
    """Let pointers in structures lead to the others."""
    for number, path in enumerate(_inner(data)):
        yield _set(path, f"(void *)polylsp_inner_{number}")


def _members(data: Storage, first: int) -> Iterator[str]:
    """Initial values of members of structures."""
    for number, each in enumerate(data.arguments[first:], first):
        assert isinstance(each, (Size, Number))
        yield _set(each.name, _argument(number, each))
    for number, memory in enumerate(data.memories):
        if "->" in memory.name and not memory.is_global:
            yield _set(memory.name, f"polylsp_memory({number})")


def _set(member: str, value: str) -> str:
    """A member set, also where it is one that does not let itself be changed."""
    place = _place(member)
    if "->" not in place:
        return f"    {place} = {value};"
    copied = f"__builtin_memcpy((void *)&{place}, &value, sizeof value);"
    return f"    {{ __auto_type value = {place}; value = {value}; {copied} }}"


def _place(name: str) -> str:
    """A variable of the file, or a member of a generated structure."""
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
