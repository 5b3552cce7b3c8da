"""Which brackets of a token list belong together."""

from __future__ import annotations


def matching_brackets(tokens: tuple[str, ...]) -> dict[int, int]:
    """The partner of each bracket; brackets without one are left out."""
    pairs = {")": "(", "]": "[", "}": "{"}
    partners: dict[int, int] = {}
    opened: list[int] = []
    for index, token in enumerate(tokens):
        if token in ("(", "[", "{"):
            opened.append(index)
        elif token in pairs:
            depth = next((d for d in range(len(opened) - 1, -1, -1) if tokens[opened[d]] == pairs[token]), -1)
            if depth >= 0:
                partners[opened[depth]], partners[index] = index, opened[depth]
                del opened[depth:]
    return partners
