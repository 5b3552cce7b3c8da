"""`isl` fences: `# flow of f nest 1`, then a set or relation that must equal the model's."""

from __future__ import annotations

import re

import islpy as isl
from cases_markdown import Fence

from polylsp.model.facts import FileReport

_SETS = ("domain", "context")
_RELATIONS = ("reads", "may_writes", "must_writes", "flow", "false")


def isl_mismatch(fence: Fence, report: FileReport) -> str:
    """Mismatch of an `isl` fence, or empty. Values of parameters outside the nest's context are not
    compared."""
    head = re.match(r"#\s*(\w+) of (\w+) nest (\d+)", fence.text)
    if not head or head[1] not in _SETS + _RELATIONS:
        return "an isl fence starts with `# domain of FUNCTION nest NUMBER` or the like"
    facts = [p.answer.facts for p in report.functions if p.answer.facts.name == head[2]]
    if not facts or len(facts[0].nests) < int(head[3]):
        return f"expected {head[1]} of {head[2]} nest {head[3]}; got no such nest"
    model = facts[0].nests[int(head[3]) - 1].model
    if model is None or model.relations is None:
        return f"expected {head[1]} of {head[2]} nest {head[3]}; got no model"
    text = "".join(line for line in fence.text.split("\n")[1:])
    read = isl.UnionSet if head[1] in _SETS else isl.UnionMap
    wanted, got = (
        read(text),
        read(getattr(model if head[1] in ("context", "domain") else model.relations, head[1])),
    )
    if head[1] != "context":
        context = isl.Set(model.context).params()
        wanted, got = wanted.intersect_params(context), got.intersect_params(context)
    return "" if wanted.is_equal(got) else f"expected {wanted}; got {got}"
