"""Polyhedral model of a loop nest, and budgets for isl."""
