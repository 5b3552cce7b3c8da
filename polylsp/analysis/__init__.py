"""Summaries, dependences, privatisation, reductions and verdicts, on isl."""
