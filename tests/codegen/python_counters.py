"""Bodies of functions of Python that compute with counters, drawn at random: negative values, differences,
products, copies that get other values, subscripts from the end, divisions that round down, and powers."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from typing import Any


def counting(draw: random.Random) -> str:
    """The statements of a function of `n`, arrays `a`, `w` and `h` of floats, and `idx` of integers."""
    return _Counting(draw).body()


@dataclass
class _Counting:
    draw: random.Random

    def pick(self, *options: Any) -> Any:
        return self.draw.choice(options)

    def body(self) -> str:
        kind = self.draw.randrange(10)
        lines = self.nested() if kind < 3 else self.rebound() if kind < 5 else self.simple()
        end = "min(n, 300)" if kind < 5 else self.pick("n", "n", "len(w) - 8")
        start = self.pick("", "", "", "0, ", "1, ", "z, ")
        before = ["s = 0", "z = 0", *self.pick([], [], ["h[:n] = 1.0"])]
        after = ["a[0] += s"]
        if kind > 4 and self.draw.random() < 0.4:
            # Numba fuses the loop with the statement that makes the array.
            lines = [re.sub(r"\bh\[", "t[", line) for line in lines]
            before, end, after = [*before, "t = np.zeros(n)"], "n", [*after, "w[:n] = t"]
        header = f"for i in range({start}{end}):"
        if self.draw.random() < 0.15 and not start:
            header = f"for i in range({end} - 1, -1, -1):"
        return "\n    ".join((*before, header, *(f"    {line}" for line in lines), *after))

    def simple(self) -> list[str]:
        value = self.value("i")
        return self.pick(
            [f"h[i] = {value} * 0.5"],
            [f"h[i] += {value}"],
            [f"h[i] -= {value}"],
            [f"h[i] = {value}", f"w[i] = {value}"],
            [f"k = {value}", f"h[i] = k * 0.5 - {self.value('i', 'k')}"],
            [f"h[i] = a[{self.place()}]"],
            [f"h[i] = a[{self.place()}] * {value}"],
            [f"h[{self.pick('-i', '~i', '-i - 1', 'n - 1 - i')}] = {value}"],
            [f"if {value} < {self.value('i')}:", f"    h[i] = {self.value('i')}"],
            [f"s += {self.pick('i', 'i % 5', '-(i % 3)', '1 - i % 4')}"],
            [f"s = max(s, {self.pick('i', '-i', 'i % 7 - 9')})"],
            [f"k = i if a[i] > 0 else {self.term('i')}", "h[i] = k - 2 * i"],
            [f"h[i] = {value} if a[i] > 0 else -i"],
        )

    def nested(self) -> list[str]:
        ends = self.pick("i", "i", "i + 1", "0, i", "-i, i", "i, i + 5", "i // 2", "i * i % 9", "i - 3, i")
        place = self.pick("j - i", "i - j", "-j", "~j") if ends in ("i", "0, i", "i // 2") else "-j"
        inside = self.pick(
            f"h[i] += {self.value('i', 'j')}",
            f"h[i] += {self.value('j')} * 0.5",
            f"h[i] += a[{place}]",
            f"if {self.value('i', 'j')} > {self.value('j')}: h[i] += 1.0",
            f"k = {self.value('i', 'j')}",
        )
        return ["k = 1", f"for j in range({ends}):", f"    {inside}", "h[i] += k"]

    def rebound(self) -> list[str]:
        return self.pick(
            [
                "k = i",
                "for j in range(i + 1, min(n, i + 9)):",
                "    if a[j] < a[k]:",
                "        k = j",
                "h[i] = k",
            ],
            [
                "k = i",
                "while k > 0:",
                f"    h[i] += k {self.pick('& 1', '% 3', '- i')}",
                f"    k {self.pick('>>= 1', '//= 3', '-= 50')}",
            ],
            ["k = -i", "while k < 0:", "    h[i] += k * 0.5", f"    k += {self.pick('7', '1 + i', '3 * i')}"],
            [
                "lo, hi = 0, i",
                "while lo < hi:",
                "    k = (lo + hi) // 2",
                f"    if k * k < {self.pick('i', 'i + 5')}:",
                "        lo = k + 1",
                "    else:",
                "        hi = k",
                f"h[i] = lo - {self.pick('i', 'hi', '1')}",
            ],
            [
                f"k = {self.term('i')}",
                "for j in range(3):",
                f"    k = k {self.pick('+', '-')} {self.term('i', 'j')}",
                "h[i] = k",
            ],
            ["k = i", f"if a[i] > 0: k = {self.value('i')}", f"h[i] = {self.value('i', 'k')}"],
        )

    def value(self, *counters: str) -> str:
        """An expression in brackets, whose value is exact as a float."""
        one, other, third = (self.term(*counters) for _ in range(3))
        divisor = self.pick("2", "3", "-3", "7")
        return self.pick(
            f"(-{one})",
            f"(~{one})",
            f"({one} - {other})",
            f"({one} - {other})",
            f"({one} * {other} - {third})",
            f"({one} - {other} * {third})",
            f"({one} - {other}) // {divisor}",
            f"({one} - {other}) % {divisor}",
            f"({one} // {divisor} - {other})",
            f"({one} % {divisor} - {other} % 5)",
            f"abs({one} - {other})",
            f"(min({one}, {other}) - {third})",
            f"-max({one}, {other})",
            f"({one} ** 2 - {other})",
            f"(2 ** ({counters[0]} % 5) - {one})",
            f"({other} - int({one}))",
            f"(({one} << 1) - {other})",
            f"(({one} & 5) - ({other} & 3))",
            f"(({one} ^ {other}) - {third})",
            f"(float({one}) - {other})",
            f"(-{one} - {other})",
            f"(-{one} / 2)",
            f"(2.0 ** -({counters[0]} % 9))",
            f"({one} - {other} + {third})",
            f"opposite({one})",
            f"({one} > {other} - {third})",
            f"-(({one} + {other}) * 3)",
            f"({one} / 4 - {other})",
        )

    def term(self, *counters: str) -> str:
        return self.pick(*counters, *counters, *counters, "i", "idx[i]", "3", f"({self.pick(*counters)} + 2)")

    def place(self) -> str:
        return self.pick(
            "-i",
            "~i",
            "-i - 1",
            "i - n",
            "(i - 3) % n",
            "-(i // 2)",
            "i - 1",
            "-(i * i % n)",
            "i // 3 - i",
            "i % 3 - 3",
        )
