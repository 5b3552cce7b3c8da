"""Requests for plans."""

from __future__ import annotations

from collections.abc import Callable

from polylsp.model.measurement import NoPlan, Plan

Planning = Callable[..., Plan | NoPlan]
