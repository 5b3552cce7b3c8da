"""Dependences, privatisation, reductions, schedules and verdicts, on isl."""
