"""What a plan is asked for with."""

from __future__ import annotations

from collections.abc import Callable

from polylsp.model.measurement import NoPlan, Plan

Planning = Callable[..., Plan | NoPlan]
