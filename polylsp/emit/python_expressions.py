"""isl's expressions as Python: sums with their positive terms first, as a person would write them."""

from __future__ import annotations

from collections.abc import Mapping

import islpy as isl

from polylsp.emit.affine_bounds import operator_of

_OPERATION = isl.ast_expr_op_type
_CHOICE, _OR, _AND, _COMPARISON, _SUM, _QUOTIENT, _PRODUCT, _WORD = range(8)
"""Binding strengths of texts: a quotient less than a product, as `-a // b` divides `-a`; a call is a word."""

_DIVISIONS: dict[isl.ast_expr_op_type, str] = {
    # Python divides as isl does where it uses these: downwards, or without a rest.
    _OPERATION.div: "//",
    _OPERATION.fdiv_q: "//",
    _OPERATION.pdiv_q: "//",
    _OPERATION.pdiv_r: "%",
    _OPERATION.zdiv_r: "%",
}
_COMPARISONS: dict[isl.ast_expr_op_type, str] = {
    _OPERATION.lt: "<",
    _OPERATION.le: "<=",
    _OPERATION.gt: ">",
    _OPERATION.ge: ">=",
    _OPERATION.eq: "==",
}
_LOGICAL: dict[isl.ast_expr_op_type, tuple[str, int]] = {
    _OPERATION["and_"]: ("and", _AND),
    _OPERATION.and_then: ("and", _AND),
    _OPERATION["or_"]: ("or", _OR),
    _OPERATION.or_else: ("or", _OR),
}


class NotSimpleError(Exception):
    """Something that has no simple form in Python."""


Text = tuple[str, int]
"""The text of an expression, and how tightly it holds together."""


def text_of(expression: isl.AstExpr, atoms: Mapping[str, str], more: int = 0) -> str:
    """An expression, with a number added to it; names that are keys of `atoms` stand for the texts there.
    Raises `NotSimpleError`."""
    return _text(expression, atoms, more)[0]


def _text(expression: isl.AstExpr, atoms: Mapping[str, str], more: int = 0) -> Text:
    if _is(expression, _OPERATION.min) or _is(expression, _OPERATION.max):
        name = "min" if _is(expression, _OPERATION.min) else "max"
        return f"{name}({', '.join(_text(each, atoms, more)[0] for each in _arguments(expression))})", _WORD
    terms, number = _sum(expression, atoms)
    number += more
    if not terms:
        return str(number), _WORD if number >= 0 else _SUM
    if len(terms) == 1 and not number and terms[0][0] > 0:
        return terms[0][1]
    text = ""
    # What is added comes first, so that no sum begins with a sign where it can be helped.
    for sign, term in sorted(terms, key=lambda each: -each[0]):
        if text or sign > 0:
            shown = _tight(term, _QUOTIENT)
            text = f"{text} {'+' if sign > 0 else '-'} {shown}" if text else shown
        else:
            text = f"-{_tight(term, _PRODUCT)}"
    return f"{text} {'+' if number > 0 else '-'} {abs(number)}" if number else text, _SUM


def _sum(expression: isl.AstExpr, atoms: Mapping[str, str]) -> tuple[list[tuple[int, Text]], int]:
    """The terms of a sum, each with its sign, and the number in it."""
    if expression.get_type() == isl.ast_expr_type.int:
        return [], expression.get_val().to_python()
    for operation, signs in (
        (_OPERATION.add, (1, 1)),
        (_OPERATION.sub, (1, -1)),
        (_OPERATION.minus, (-1,)),
    ):
        if _is(expression, operation):
            terms: list[tuple[int, Text]] = []
            number = 0
            for sign, argument in zip(signs, _arguments(expression), strict=True):
                inside, own = _sum(argument, atoms)
                terms += [(sign * each, term) for each, term in inside]
                number += sign * own
            return terms, number
    return [(1, _term(expression, atoms))], 0


def _term(expression: isl.AstExpr, atoms: Mapping[str, str]) -> Text:
    """An expression that is no sum and no number."""
    if expression.get_type() == isl.ast_expr_type.id:
        name = expression.get_id().get_name()
        return _atom(atoms.get(name, name))
    if _is(expression, _OPERATION.min) or _is(expression, _OPERATION.max):
        return _text(expression, atoms)
    texts = [_text(each, atoms) for each in _arguments(expression)]
    operation = operator_of(expression)
    if operation in _DIVISIONS:
        return f"{_tight(texts[0], _QUOTIENT)} {_DIVISIONS[operation]} {_tight(texts[1], _WORD)}", _QUOTIENT
    if operation == _OPERATION.mul:
        return f"{_tight(texts[0], _PRODUCT)} * {_tight(texts[1], _PRODUCT)}", _PRODUCT
    if operation in _COMPARISONS:
        sides = [_tight(each, _SUM) for each in texts]
        return f"{sides[0]} {_COMPARISONS[operation]} {sides[1]}", _COMPARISON
    if operation in _LOGICAL:
        word, strength = _LOGICAL[operation]
        return f" {word} ".join(_tight(each, strength) for each in texts), strength
    if operation in (_OPERATION.cond, _OPERATION.select):
        test, then, otherwise = (_tight(each, _OR) for each in texts)
        return f"{then} if {test} else {otherwise}", _CHOICE
    raise NotSimpleError


def _atom(text: str) -> Text:
    """The text that a name stands for: a word, or a product of words."""
    return text, _PRODUCT if " " in text else _WORD


def _is(expression: isl.AstExpr, operation: isl.ast_expr_op_type) -> bool:
    return expression.get_type() == isl.ast_expr_type.op and operator_of(expression) == operation


def _arguments(expression: isl.AstExpr) -> list[isl.AstExpr]:
    return [expression.get_op_arg(k) for k in range(expression.get_op_n_arg())]


def _tight(argument: Text, least: int) -> str:
    text, strength = argument
    return text if strength >= least else f"({text})"
