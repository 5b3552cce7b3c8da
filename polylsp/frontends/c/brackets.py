"""Matching of the brackets in a token list."""

from __future__ import annotations


def matching_brackets(tokens: tuple[str, ...]) -> dict[int, int]:
    """The partner of each bracket; brackets without one are left out."""
    pairs = {")": "(", "]": "[", "}": "{"}
    partners: dict[int, int] = {}
    opened: list[int] = []
    waiting = {"(": 0, "[": 0, "{": 0}  # how many of each are open
    for index, token in enumerate(tokens):
        if token in ("(", "[", "{"):
            opened.append(index)
            waiting[token] += 1
        elif token in pairs and waiting[pairs[token]]:
            while True:
                opening = opened.pop()
                waiting[tokens[opening]] -= 1
                if tokens[opening] == pairs[token]:
                    break
            partners[opening], partners[index] = index, opening
    return partners
