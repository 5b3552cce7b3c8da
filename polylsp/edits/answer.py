"""Edit for the action that the user chose, within a time limit.

Returns the edit, or the reason why there is none. A request for kernels is declined when the search
takes too long.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from polylsp.analysis.dependence.shared_arguments import contradicting
from polylsp.core.language import PYTHON, named
from polylsp.core.settings import Settings
from polylsp.emit.subject import Again, Subject
from polylsp.model.action import (
    DEVICE_TARGETS,
    KERNEL_TARGETS,
    KERNEL_TARGETS_OF,
    ON_FUNCTIONS,
    TARGETS,
    TARGETS_OF,
    TRANSFORMS_OF,
    ActionName,
    Answer,
    Ask,
    Declined,
    Edited,
    applied,
)
from polylsp.model.facts import is_governed, parallel_roots
from polylsp.poly.budget import Exhausted, budgeted
from polylsp.targets.directives.rewriting import (
    Edit,
    counters_first,
    hints_aside,
    rewritten_first,
)
from polylsp.transforms import MODULES, transformed
from polylsp.transforms.composing import limited

# --------------------------------------------------------------------------------------------------
# Modules of actions, which are loaded when the action is requested.
# --------------------------------------------------------------------------------------------------


def _edit_of(action: ActionName, again: Again) -> Edit:
    """Directives or CUDA kernels of a loop."""
    match action:
        case "cuda":
            from polylsp.targets.gpu import cuda

            return lambda subject, ordinal, settings: cuda.edit(subject, ordinal, settings, again)
        case "openacc" | "openmp-target":
            from polylsp.targets.directives.device_dialects import DIALECTS
            from polylsp.targets.directives.device_directives import offloaded

            return partial(offloaded, dialect=DIALECTS[action])
        case _:
            from polylsp.targets.directives.openmp import edit

            return edit


# --------------------------------------------------------------------------------------------------
# Edit for the action that a person chose.
# --------------------------------------------------------------------------------------------------


_ONE_BY_ONE = ("openmp", "overlap-check")
"""Actions that keep the order of loops and the arrays as they are: the verdict of each loop suffices."""


def answer(subject: Subject, ask: Ask, settings: Settings, again: Again) -> Answer:
    """The edit that an action makes of a loop, or why there is none. `again` reads another text of the file,
    and gives the same function in it."""
    made = _answer(subject, ask, settings, again)
    if subject.shared and isinstance(made, Edited) and ask.action not in _ONE_BY_ONE:
        calls = contradicting(made.assumptions, subject.shared)
        return Declined(f"{calls[0].sentence}, and the edit needs these apart.") if calls else made
    return made


def _answer(subject: Subject, ask: Ask, settings: Settings, again: Again) -> Answer:
    if not _is_for(ask.action, subject.language):
        return Declined(f"`{ask.action}` is not for loops in {named(subject.language).title}.")
    if ask.action != "openmp":
        subject, again = subject.strict, _strictly(again)
    if ask.ordinal == 0 and ask.action in ON_FUNCTIONS:
        return _of_function(subject, ask, settings, again)
    if ask.action == "fuse-arrays":
        from polylsp.targets.numba import array_fusion

        return array_fusion.edit(subject, ask.ordinal)
    if all(each.ordinal != ask.ordinal for each in subject.facts.loops):
        return Declined(f"`{ask.function}` has no such loop any more.")
    roots = parallel_roots(subject.facts, ask.ordinal) if ask.action in TARGETS else ()
    if any(is_governed(subject.facts, root.ordinal) for root in roots):
        what = "`prange`" if ask.action == "numba" else "A directive"
        return Declined(f"{what} runs this loop in parallel already.")
    if subject.language == PYTHON.name:
        return _in_python(subject, ask, settings, again)
    return _in_c(subject, ask, settings, again)


def _in_c(subject: Subject, ask: Ask, settings: Settings, again: Again) -> Answer:
    """The edit of an action on a loop in C."""
    from polylsp.targets.gpu.preparation import inner_first

    match ask.action:
        case "openmp" | "openacc" | "openmp-target" as name:
            edit = _edit_of(name, again)
            if name in DEVICE_TARGETS:
                return inner_first(subject, ask.ordinal, settings, partial(_directives, edit), again)

            def threads(one: Subject, ordinal: int, settings: Settings) -> Answer:
                return rewritten_first(one, ordinal, settings, _counting(edit, again), again)

            return _walking(threads, again)(subject, ask.ordinal, settings)
        case "cuda":
            return inner_first(subject, ask.ordinal, settings, _kernels, again)
        case "restructure":
            from polylsp.transforms.restructure import restructured

            return hints_aside(subject, 0, lambda one: restructured(one, settings, again), again)
        case name if name in MODULES:
            return hints_aside(
                subject, ask.ordinal, lambda one: transformed(name, one, ask.ordinal, settings), again
            )
        case _:
            return Declined(f"`{ask.action}` is not known here.")


def _directives(edit: Edit, again: Again) -> Edit:
    """The edit with directives of a device, on a text that suits them if it is not made otherwise."""
    prepared = _counting(_searching(_prepared(edit, again), again), again)

    def rewritten(subject: Subject, ordinal: int, settings: Settings) -> Answer:
        return rewritten_first(subject, ordinal, settings, prepared, again)

    return _inlining(_walking(rewritten, again), again)


def _kernels(again: Again) -> Edit:
    """The edit with CUDA kernels, on a text that suits them if it is not made otherwise."""
    edit = _hoisting(_measuring(_edit_of("cuda", again), again), again)
    prepared = _counting(_searching(_testing(edit, again), again), again)

    def counted(subject: Subject, ordinal: int, settings: Settings) -> Answer:
        return counters_first(subject, ordinal, settings, prepared, again)

    return _inlining(_inlining(_walking(counted, again), again), again, statements=True)


def _inlining(edit: Edit, again: Again, *, statements: bool = False) -> Edit:
    """An edit on the text with helpers that take structures as expressions, or as `statements` before those
    that call them, if none is made otherwise."""

    def whole(subject: Subject, ordinal: int, settings: Settings) -> Answer:
        first = edit(subject, ordinal, settings)
        if not isinstance(first, Declined) or not ordinal or not subject.companions:
            return first
        from polylsp.targets.gpu.inlined_helpers import inlined, integrated

        rewritten = integrated if statements else inlined
        return rewritten(subject, ordinal, settings, edit, again) or first

    return whole


def _walking(edit: Edit, again: Again) -> Edit:
    """An edit on the text with subscripts in the place of pointers that move, if none is made otherwise."""

    def walked(subject: Subject, ordinal: int, settings: Settings) -> Answer:
        first = edit(subject, ordinal, settings)
        if not isinstance(first, Declined) or not ordinal:
            return first
        from polylsp.targets.directives.pointer_walks import walked as on_subscripts

        return on_subscripts(subject, ordinal, settings, edit, again) or first

    return walked


def _in_python(subject: Subject, ask: Ask, settings: Settings, again: Again) -> Answer:
    """The edit of an action on a loop in Python, or with kernels on all of a function (0)."""
    from polylsp.targets import numpy_slices
    from polylsp.targets.numba import restructure_python
    from polylsp.targets.numba.extraction import or_extracted

    match ask.action:
        case "slices":
            return limited(settings, lambda: numpy_slices.edit(subject, ask.ordinal))
        case "fill":
            from polylsp.targets.numba import list_filling

            return list_filling.edit(subject, ask.ordinal)
        case "copy":
            return limited(settings, lambda: restructure_python.copy_edit(subject, ask.ordinal))
        case "numba":
            return or_extracted(subject, ask.ordinal, again, restructure_python.edit)
        case _:
            from polylsp.targets.gpu import pycuda
            from polylsp.targets.numba.spelled_statements import spelled_first

            libraries = {"pycuda": pycuda.PYCUDA, "cupy": pycuda.CUPY, "numba-cuda": pycuda.NUMBA}
            edit = partial(pycuda.edit, library=libraries[ask.action])

            def kernels(one: Subject, ordinal: int, again: Again) -> Answer:
                return spelled_first(one, ordinal, settings, edit, again)

            return or_extracted(subject, ask.ordinal, again, kernels)


def _of_function(subject: Subject, ask: Ask, settings: Settings, again: Again) -> Answer:
    """The edit of an action on all loops of a function."""
    if subject.language == PYTHON.name:
        return _in_python(subject, ask, settings, again)
    together = _edit_of(ask.action, again)(subject, 0, settings)
    if ask.action == "cuda" and isinstance(together, Declined) and together.unsized:
        return _one_by_one(subject, ask, settings, again, together)
    return together


def _one_by_one(subject: Subject, ask: Ask, settings: Settings, again: Again, declined: Answer) -> Answer:
    """The edits of a function's outermost loops, each as if it were requested alone, as one edit; `declined`
    if there are none. The last loop comes first, so that those before it keep their numbers."""
    from polylsp.targets.gpu.preparation import edited_together

    found: list[Edited] = []
    reasons: list[str] = []
    made: Subject | None = subject
    for loop in reversed([each for each in subject.facts.loops if each.depth == 1]):
        assert made is not None
        one = answer(made, replace(ask, ordinal=loop.ordinal), settings, again)
        following = again(applied(made.text, one.replacements)) if isinstance(one, Edited) else None
        if isinstance(one, Edited) and following is not None:
            found.insert(0, one)
            made = following
        elif isinstance(one, Declined):
            reasons.insert(0, one.reason)
    if not found:
        return declined
    assert made is not None
    return edited_together(subject, made, found, reasons)


def _strictly(again: Again) -> Again:
    """Analysis of another text without presumptions about branches that print or end the program."""

    def read(text: str, function: str = "") -> Subject | None:
        found = again(text, function)
        return found.strict if found is not None else None

    return read


def _measuring(edit: Edit, again: Again) -> Edit:
    """An edit that finds out the sizes of arrays first where it needs them."""
    from polylsp.targets.gpu.inspector import sized_first
    from polylsp.targets.gpu.preparation import settled_first

    def settled(subject: Subject, ordinal: int, settings: Settings) -> Answer:
        return settled_first(subject, ordinal, settings, edit)

    return lambda subject, ordinal, settings: sized_first(subject, ordinal, settings, settled, again)


def _counting(edit: Edit, again: Again) -> Edit:
    """An edit that gives loops counters of their own first where it needs them."""
    from polylsp.targets.gpu.preparation import counted_first

    return lambda subject, ordinal, settings: counted_first(subject, ordinal, settings, edit, again)


def _searching(edit: Edit, again: Again) -> Edit:
    """An edit that makes searches of extrema in parts first."""

    def searched(subject: Subject, ordinal: int, settings: Settings) -> Answer:
        if not ordinal or not any(one.terms.searches for one in parallel_roots(subject.facts, ordinal)):
            return edit(subject, ordinal, settings)
        from polylsp.targets.gpu.search_parts import searched_first

        return searched_first(subject, ordinal, settings, edit, again)

    return searched


def _testing(edit: Edit, again: Again) -> Edit:
    """An edit that compares pointers with null before the loops where it needs that."""
    from polylsp.targets.gpu.null_tests import tested_first

    return lambda subject, ordinal, settings: tested_first(subject, ordinal, settings, edit, again)


def _prepared(edit: Edit, again: Again) -> Edit:
    """An edit with directives of a device, which has pointers of structures in local variables."""
    from polylsp.targets.gpu.members import with_led_pointers
    from polylsp.targets.gpu.preparation import with_rows

    def led(one: Subject, ordinal: int, settings: Settings) -> Answer:
        return edit(with_led_pointers(one, with_rows(one), ordinal), ordinal, settings)

    return _hoisting(_measuring(led, again), again)


def _hoisting(edit: Edit, again: Again) -> Edit:
    """An edit on the text with pointers of structures in local variables, if none is made otherwise."""
    from polylsp.targets.gpu.member_pointers import hoisted_first

    return lambda subject, ordinal, settings: hoisted_first(subject, ordinal, settings, edit, again)


def _is_for(action: ActionName, language: str) -> bool:
    """True if an action applies to loops of a language."""
    if action in KERNEL_TARGETS:
        return action in KERNEL_TARGETS_OF[language]
    if action in TARGETS:
        return action in TARGETS_OF[language]
    return action in TRANSFORMS_OF[language]


# --------------------------------------------------------------------------------------------------
# Edits on request, with a time limit: a request for kernels is declined when they take too long to
# find.
# --------------------------------------------------------------------------------------------------


_PATIENCE = 2
"""Factor on the budget of a nest that kernels may take: several orders of the nest are tried."""

_INSTEAD: dict[str, tuple[tuple[ActionName, str], ...]] = {
    "cuda": (("openmp-target", "OpenMP offloading"), ("openacc", "OpenACC"), ("openmp", "OpenMP")),
    "pycuda": (("numba", "Numba"),),
    "cupy": (("numba", "Numba"),),
    "numba-cuda": (("numba", "Numba"),),
}
"""Alternative targets that run such loops in parallel, by name and in words."""


def asked(subject: Subject, ask: Ask, settings: Settings, again: Again) -> Answer:
    """The edit that an action makes of a loop, or why there is none."""
    if ask.action not in KERNEL_TARGETS:
        return answer(subject, ask, settings, again)
    operations = _PATIENCE * settings.max_operations
    found = budgeted(operations, lambda: answer(subject, ask, settings, again))
    return _too_long(subject, ask, settings, again) if isinstance(found, Exhausted) else found


def _too_long(subject: Subject, ask: Ask, settings: Settings, again: Again) -> Declined:
    loop = next((each for each in subject.facts.loops if each.ordinal == ask.ordinal), None)
    which = f"the loops of `{subject.function.name}`"
    if loop is not None:
        which = f"the loop `{loop.iterator or loop.kind}` in line {subject.line_number(loop.site)}"
    advice = "split it into smaller ones, or raise `polylsp.max_operations`"
    for action, words in _INSTEAD[ask.action]:
        other = replace(ask, action=action)
        found = budgeted(settings.max_operations, lambda o=other: answer(subject, o, settings, again))
        if isinstance(found, Edited):
            advice = f"{words} (`{action}`) can run it in parallel instead"
            break
    return Declined(f"An order of {which} for a GPU takes too long to find: {advice}.")
