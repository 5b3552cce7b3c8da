"""Command-line option for a setting of the editor, for one run."""

from __future__ import annotations

import argparse
from dataclasses import fields
from typing import Union, get_type_hints

from polylsp.core.settings import Settings

Value = Union[bool, int, float, str, tuple[int, ...], tuple[str, ...]]


def setting(text: str) -> tuple[str, Value]:
    """`NAME=VALUE`; of several values, with commas between."""
    name, _, value = text.partition("=")
    known = {each.name for each in fields(Settings)}
    if name not in known or "=" not in text:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE with the name of a setting")
    from polylsp.core.project import WrongValue, checked

    try:
        return name, checked(name, _value(value.strip(), get_type_hints(Settings)[name]))
    except WrongValue as reason:
        raise argparse.ArgumentTypeError(f"{value!r} is no value of {name}, which {reason}") from reason
    except (ValueError, KeyError):
        raise argparse.ArgumentTypeError(f"{value!r} is no value of {name}") from None


def _value(text: str, kind: object) -> Value:
    """A value of a type; raises `ValueError` or `KeyError`."""
    several = [each.strip() for each in text.split(",") if each.strip()]
    if kind is bool:
        return _TRUTH[text]
    if kind == tuple[int, ...]:
        return tuple(int(each) for each in several)
    if kind == tuple[str, ...]:
        return tuple(several)
    if kind is int:
        return int(text)
    return float(text) if kind is float else text


_TRUTH = {"true": True, "false": False}
