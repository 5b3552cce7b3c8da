"""Dependence analysis of a nest: conflicts, privatisation, reductions, schedules."""
