"""Programs of `python_objects`: an object with elements that a loop stores to, another name of it or code that
reads it, and the loop. A definition stands in a program that names it.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass

from tests.codegen.python_object_words import (
    ALIASES,
    HARMLESS,
    HAZARDS,
    HEAD,
    HEADERS,
    MAKES,
    ORDER,
    READERS,
    TOP,
)


@dataclass(frozen=True)
class Written:
    """A program with a function `run` that gives what is left. `kind` is its subject; `shows`: the function
    with the loop makes the second name itself."""

    group: str
    kind: str
    text: str
    shows: bool


class _Writer:
    def __init__(self, draw: random.Random) -> None:
        self.draw = draw
        self.kind: list[str] = []

    def pick(self, *options: str) -> str:
        return self.draw.choice(options)

    def chance(self, percent: int) -> bool:
        return self.draw.randrange(100) < percent

    def drawn(self, table: dict[str, str] | dict[str, tuple[str, str]]) -> str:
        """A key of a table, which counts for the program's kind."""
        key = self.draw.choice(list(table))
        self.kind.append(key)
        return key

    # --- Groups: the lines before the loop, and the value that it stores.

    def aliases(self, whole: str) -> tuple[str, str]:
        whole = "xs" if self.chance(25) else whole
        name = self.drawn(ALIASES)
        return ALIASES[name].format(A=whole), f"b[{self.before()}]"

    def readers(self, whole: str) -> tuple[str, str]:
        whole = "xs" if self.chance(25) else whole
        lines, value = READERS[self.drawn(READERS)]
        return lines.format(A=whole), value.format(A=whole, i=self.before())

    def hazards(self, whole: str) -> tuple[str, str]:
        table = HARMLESS if self.chance(40) else HAZARDS
        lines, value = table[self.drawn(table)]
        return lines, re.sub(r"\bx\b", "xs[i]", value) if self.is_counted else value

    def stores(self, whole: str) -> tuple[str, str]:
        return "", self.pick(
            f"{whole}[{self.before()}]", "xs[i]", "pure(xs[i])", f"pure({whole}[i])", f"{whole}[i] + 1.0", "str(i)",
            "[xs[i]]", "pure_pair(xs[i], i)[0]", "float(i)", f"{whole}[{self.before()}] if i % 2 else 1.0", f"len({whole})",
        )  # fmt: skip

    is_counted, is_plain = True, False

    def before(self) -> str:
        return self.pick("i - 1", "i - 1", "i - 1", "i - 1", "i - 1", "i + 1", "idx[i]", "0", "-1", "i")

    def wrapped(self, value: str) -> str:
        return self.pick(
            value, value, f"{value} * 2.0 + 1.0", f"pure({value})", f"pure({value}) + i", f"float({value}) + i", f"[{value}, i][0]",
            f"pure(xs[i], {value})", f"pure_pair({value}, i)[0]", f"{value} if i > 0 else 1.0", f"max(float({value}), 1.0)",
            f"sum([float({value}), 1.0])", f"str({value})", f"str({value}) + '.'", f"float({value}) + float(xs[i])",
            f"[float({value}) for _ in range(2)][0]", f"float(np.sum({value})) + 1.0", f"doubled({value})", f"({value}, i)",
        )  # fmt: skip

    def statement(self, whole: str, shape: str, value: str) -> list[str]:
        at = "i" if self.is_plain else self.pick("i", "i", "i", "i + 1", "i - 1", "idx[i]", "-i")
        if shape == "rows":
            target = self.pick(
                f"{whole}[{at}][0]", f"{whole}[{at}][0]", f"{whole}[{at}, 0]", f"{whole}[{at}][:]"
            )
            value = f"[{value}] * 2" if target.endswith("[:]") else value
        else:
            target = f"{whole}[{at}]"
        form = self.draw.randrange(1 if self.is_plain else 14)
        if form < 7:
            return [f"{target} = {value}"]
        if form == 7:
            return [f"{target} += {value}"]
        if form == 8:
            return [f"y = {value}", f"{target} = y"]
        if form == 9:
            return ["if i % 3 == 1:", "    continue", f"{target} = {value}"]
        if form == 10:
            return ["for j in range(2):", f"    {target} = {value}"]
        if form == 11:
            return ["try:", f"    {target} = {value}", "except ValueError:", "    pass"]
        if form == 12:
            return ["parts = []", f"parts.append({value})", f"{target} = parts[0]"]
        return [f"y = {value}", "if y is not None:", f"    {target} = y"]

    def program(self, group: str) -> tuple[str, bool]:
        """The text of a program; true if its function makes the second name itself."""
        self.is_plain = group not in ("stores", "iterables") and self.chance(70)
        shape = self.draw.choice(["list", "array"] if self.is_plain else ["list", "array", "rows"])
        rare = group == "stores" or (self.chance(40) and not self.is_plain)
        make = self.draw.choice(MAKES[shape][: None if rare else 3])
        place = self.draw.choice(["local", "local", "given", "given", "self", "class", "global", "object"])
        whole = {
            "local": "a",
            "given": "a",
            "self": "self.a",
            "class": "self.a",
            "global": "G",
            "object": "o1.a",
        }[place]
        header = HEADERS[
            self.draw.choice(
                list(HEADERS)
                if group == "iterables" or (self.chance(40) and not self.is_plain)
                else ["range", "from 0"]
            )
        ]
        self.is_counted = not re.search(r"\bx\b", header)
        makers: dict[str, Callable[[str], tuple[str, str]]] = {
            "aliases": self.aliases, "readers": self.readers, "hazards": self.hazards, "stores": self.stores, "iterables": self.stores,
        }  # fmt: skip
        before, value = makers[group](whole)
        if shape == "rows" and re.search(r"\]$", value):
            value += "[0]"
        if not self.is_counted:
            value = value.replace("xs[i]", "x")
        value = self.wrapped(value)
        # Most second names conflict with what a loop stores: half of the loops store to what has none.
        is_apart = group in ("aliases", "readers") and shape != "rows" and self.chance(55)
        before += "\nr = " + self.draw.choice(MAKES[shape][:3]) if is_apart else ""
        whole = "r" if is_apart else whole
        stored = "b" if group == "aliases" and self.chance(15) and "b[" in value else whole
        value = value.replace("b[", f"{whole}[") if stored == "b" else value
        body = self.statement(stored, shape, value)
        if self.chance(15):
            body.append(
                self.pick(
                    "s += float(xs[i])", "s = s + pure(i)", "last = i", "o2.k = i", "out.append(i)"
                ).replace("xs[i]", "xs[i]" if self.is_counted else "x")
            )
        self.kind += [shape if group not in ("stores", "iterables") else f"{make} {body[-1]} {header}"]
        return self.text(place, shape, make, before, header.format(A=whole), body), group in (
            "aliases",
            "readers",
            "stores",
            "iterables",
        )

    def text(self, place: str, shape: str, make: str, before: str, header: str, body: list[str]) -> str:
        note = {"list": ": list", "array": ": np.ndarray", "rows": ""}[shape] if self.chance(25) else ""
        first = {"local": [f"a = {make}"], "object": ["o2 = Box(1.0)"]}.get(place, [])
        inner = [
            *first,
            "s, last, out = 0.0, 0, []",
            *(["o2 = Box(1.0)"] if "o2" in " ".join(body) and place != "object" else []),
        ]
        declared = ["global G"] if place == "global" and self.chance(30) else []
        if "global G" in before and place == "global":
            before, declared = before.replace("global G\n", ""), ["global G"]
        if "global G" in before:
            before, declared = before.replace("global G\n", ""), ["global G"]
        around = self.chance(10)
        lines = [*declared, *inner, *filter(None, before.split("\n"))]
        loop = [header, *(f"    {line}" for line in body)]
        lines += ["for turn in range(2):", *(f"    {line}" for line in loop)] if around else loop
        lines += [
            self.pick(
                "return s, last, out",
                "return s",
                *(["return a"] if place in ("local", "given") else ["return out"]),
            )
        ]
        types = self.pick("xs, ys, idx, n", "xs, ys, idx, n: int", "xs: list, ys: list, idx: list, n: int")
        given = {"given": f"a{note}, {types}", "object": f"o1{self.pick(': Box', '')}, {types}"}.get(
            place, types
        )
        made = {"given": f"{make}, ", "object": f"Box({make}), "}.get(place, "")
        if place in ("self", "class"):
            indent = "\n        ".join(lines)
            start = (
                f"    a = {make}\n"
                if place == "class"
                else f"    def __init__(self, ys):\n        self.a = {make}\n        self.n = N\n"
            )
            kernel = f"class Model:\n{start}\n    def kernel(self, {given}):\n        {indent}\n"
            call = "Model(ys).kernel" if place == "self" else "Model().kernel"
        else:
            indent = "\n    ".join(lines)
            kernel, call = f"def kernel({given}):\n    {indent}\n", "kernel"
        head = "ys = [float(k * k % 7) for k in range(12)]\n"
        run = (
            f"def run():\n    xs = [float(3 * k % 5 + k) for k in range(10)]\n    idx = [3, 1, 4, 2, 5, 8, 7, 6, 0, 9]\n"
            f"    given = [{made}xs, ys, idx, N]\n    model = {call}\n    return model(*given), given, getattr(model, '__self__', None)\n"
        )
        top = dict(TOP)
        if place == "global":
            top["G"] = f"G = {make}\n"
        return f"{HEAD}{head}\n\n" + "\n\n".join([*_needed(top, kernel + run), kernel, run])


def _needed(top: dict[str, str], text: str) -> list[str]:
    found: set[str] = set()
    pending = [text]
    while pending:
        words = set(re.findall(r"\w+", pending.pop()))
        new = {name for name in words & top.keys() if name not in found}
        new |= {
            name
            for name, each in top.items()
            if name not in found
            and any(f"{w} = " in each.split("\n\n\n")[0] and w.isupper() for w in words & {"KEPT", "kept"})
        }
        found |= new
        pending += [top[name] for name in new]
    return [top[name] for name in ORDER if name in found]


GROUPS = ("aliases", "readers", "hazards", "stores", "iterables")
"""Subjects of the programs of each class."""


def written(group: str, seed: int, number: int) -> Written:
    """A program of a class."""
    writer = _Writer(random.Random(f"{group} {seed} {number}"))
    text, shows = writer.program(group)
    return Written(group, f"{group}: {writer.kind[0]}", text, shows)
