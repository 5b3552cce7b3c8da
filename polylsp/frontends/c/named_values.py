"""Statement expressions that only name values (`({ typeof(a) x = (a); x * x; })`), as one expression."""

from __future__ import annotations

_TYPES = frozenset(("char", "short", "int", "long", "float", "double", "signed", "unsigned", "_Bool"))
_OF_VALUE = frozenset(("typeof", "__typeof__", "__typeof", "typeof_unqual"))
_AUTO = frozenset(("__auto_type",))
_WRITES = frozenset("= ++ -- += -= *= /= %= <<= >>= &= |= ^= { } &".split())  # noqa: SIM905
_LIKE_CALLS = frozenset(("sizeof", *_OF_VALUE))
_LONGEST = 400  # tokens: nested ones double with each level


def named_values(texts: list[str]) -> list[str] | None:
    """The expression that a block `{ T x = a; U y = b; value; }` is worth. `None` where it does more than
    name values (calls, effects, addresses), or where a name's type may not be that of its value."""
    if texts[:1] != ["{"] or texts[-2:] != [";", "}"] or len(texts) > _LONGEST:
        return None
    inner = _without_blocks(texts[1:-2])
    if inner is None:
        return None
    *declared, last = _statements(inner)
    values: dict[str, list[str]] = {}
    for statement in declared:
        named = _named(statement, values)
        if named is None:
            return None
        values[named[0]] = named[1]
    found = _substituted(last, values)
    return None if found is None or not last or len(found) > _LONGEST else ["(", *found, ")"]


def _without_blocks(texts: list[str]) -> list[str] | None:
    """The tokens with the statement expressions among them written as expressions."""
    found: list[str] = []
    k = 0
    while k < len(texts):
        if texts[k] == "(" and texts[k + 1 : k + 2] == ["{"]:
            close = _closing(texts, k)
            value = named_values(texts[k + 1 : close])
            if value is None:
                return None
            found += value
            k = close + 1
        else:
            found.append(texts[k])
            k += 1
    return found


def _closing(texts: list[str], opening: int) -> int:
    depth = 0
    for k in range(opening, len(texts)):
        depth += (texts[k] in ("(", "{", "[")) - (texts[k] in (")", "}", "]"))
        if depth == 0:
            return k
    return len(texts)


def _statements(texts: list[str]) -> list[list[str]]:
    found: list[list[str]] = [[]]
    for text in texts:
        if text == ";":
            found.append([])
        else:
            found[-1].append(text)
    return found


def _named(statement: list[str], values: dict[str, list[str]]) -> tuple[str, list[str]] | None:
    """The name that a declaration introduces, and its value in the type of the name."""
    tokens = statement[1:] if statement[:1] == ["const"] else statement
    if "=" not in tokens[:_LONGEST]:
        return None
    equal = tokens.index("=")
    type, name, given = tokens[: equal - 1], tokens[equal - 1], tokens[equal + 1 :]
    value = _substituted(given, values)
    if not given or value is None or not (name[0].isalpha() or name[0] == "_") or name in values:
        return None
    if type and all(word in _TYPES for word in type):
        return name, ["(", "(", *type, ")", "(", *value, ")", ")"]
    if type and type[0] in _AUTO and len(type) == 1:
        return name, ["(", *value, ")"]
    of_value = len(type) > 3 and type[0] in _OF_VALUE and _bare(type[1:]) == _bare(given)
    return (name, ["(", *value, ")"]) if of_value else None


def _bare(texts: list[str]) -> list[str]:
    """An expression without parentheses around all of it."""
    while texts[:1] == ["("] and _closing(texts, 0) == len(texts) - 1:
        texts = texts[1:-1]
    return texts


def _substituted(texts: list[str], values: dict[str, list[str]]) -> list[str] | None:
    """An expression with values in the place of names; `None` where it may have effects, or declares."""
    found: list[str] = []
    for k, text in enumerate(texts):
        word = text[0].isalpha() or text[0] == "_"
        if text in _WRITES or text[0] == "#" or "," in text:
            return None
        if word and texts[k + 1 : k + 2] == ["("] and text not in _LIKE_CALLS:
            return None
        if word and k and texts[k - 1] in (".", "->"):
            found.append(text)
        elif text in values:
            found += values[text]
        elif word and k and (texts[k - 1][0].isalpha() or texts[k - 1][0] == "_"):
            return None
        else:
            found.append(text)
    return found
