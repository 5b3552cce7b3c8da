"""Random functions that combine all features of C code: members of structs, rows reached by pointers, flat
arrays, macros, numbers of several types, calls, induction variables, time loops, `while`, bounds with `MIN`
and `MAX`, declarations in headers, and directives that are there already."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

from hypothesis import strategies as st

from .mixture_programs import HEAD, MAIN
from .mixture_statements import Statements

_PARAMETERS = (
    "int n, int m, double *{0}x, const double *{0}y, double **rows, double (*{0}v)[S], struct grid *g, "
    "int *{0}out"
)
_DECLARING = ("double ", "int ", "Cell ", "const ", "float ", "real ")


@st.composite
def mixtures(draw: Any) -> str:
    """A program with a function `kernel`."""
    return mixture(Random(draw(st.integers(0, 2**48))))


def mixture(random: Random) -> str:
    """The same, of a generator of random numbers."""
    return HEAD + "\n" + "\n".join(_Drawer(random).function()) + "\n" + MAIN


class _Drawer(Statements):
    """Draws one function."""

    def function(self) -> Iterator[str]:
        self.early = self.chance(30)
        yield f"static double kernel({_PARAMETERS.format(self.pick('', 'restrict '))})"
        yield "{"
        yield "    int i = 0, j = 0, k = 1, q = 0, at = 0;"
        yield "    double t = 0.5, s = 0, best = -1;"
        yield "    float u = 0;"
        if self.chance(25):
            yield f"    const int last = {self.pick('n - 1', 'MIN(n, m)', 'last_of(n)', 'n / 2')};"
        else:
            yield f"    int last = {self.pick('n', 'm', 'LAST', 'n + 2')};"
        for _ in range(self.random.choice((1, 2, 2, 3))):
            yield from self.piece()
        yield "    (void)i; (void)j; (void)k; (void)q; (void)at; (void)t; (void)best; (void)u; (void)last;"
        if self.chance(40):
            yield "    G[0] = u;"
        results = ("s", "s + t", "best", "s + at", "k + q", "t + k", "i + j", "0", "best + at")
        yield f"    return {self.pick(*results)};"
        yield "}"

    def piece(self) -> Iterator[str]:
        self.divide()
        kind = self.random.randrange(100)
        if kind < 64:
            yield from self.loop([], "    ", self.random.choice((1, 2, 2, 3)))
        elif kind < 73:
            yield from self.time_loop()
        elif kind < 79:
            yield from self.walking_pointer()
        elif kind < 85:
            yield from self.counting_while()
        elif kind < 91:
            yield from self.directed()
        elif kind < 96:
            yield from self.tiled()
        else:
            yield f"    {self.pick('k = 2;', 's = 0;', 't = x[3];', 'q = out[2] & 7;', 'smooth(x, 9);')}"

    # --- Loops ---

    def loop(self, around: list[str], pad: str, depth: int) -> Iterator[str]:
        name = "ijk"[len(around)] if len(around) < 2 and self.chance(80) else self.fresh("p")
        header = self.header(name, around)
        body = list(self.body([*around, name], pad + "    ", depth))
        yield from self.wrapped(pad, header, body)

    def wrapped(self, pad: str, header: str, body: list[str]) -> Iterator[str]:
        """A loop, with braces where it needs some, and often where it does not."""
        least = min(len(line) - len(line.lstrip()) for line in body)
        alone = sum(len(line) - len(line.lstrip()) == least for line in body) == 1
        if alone and not body[0].lstrip().startswith((*_DECLARING, "#", "/")) and self.chance(50):
            yield f"{pad}{header}"
            yield from body
        elif self.chance(70):
            yield f"{pad}{header} {{{self.pick('', '', '', ' /* each */', ' // all')}"
            yield from body
            yield f"{pad}}}"
        else:
            yield f"{pad}{header}"
            yield f"{pad}{{"
            yield from body
            yield f"{pad}}}"

    def header(self, name: str, around: list[str]) -> str:
        low, high = self.bounds(around)
        counter = name in "ijk"
        if counter and not around and self.chance(6):
            return f"EACH({name}, {high})"
        words = self.pick("int ", "int ", "int ", "long ")
        if counter and (self.early or self.chance(25)):
            words = ""
        kind = self.random.randrange(100)
        if kind < 6:
            return f"for ({words}{name} = (int)({high}) - 1; {name} >= {low}; {name}--)"
        if kind < 11:
            return f"for ({words}{name} = {low}; {name} < {high}; {name} += {self.pick('2', '3')})"
        if kind < 15 and words:
            return f"for ({words}{name} = {low}, end{name} = {high}; {name} < end{name}; ++{name})"
        if kind < 18 and words and "-" not in low:
            return f"for (unsigned {name} = {low}; {name} < (unsigned)MAX({high}, 0); {name}++)"
        if kind < 20 and not words:
            return f"for (s += 0.5, {name} = {low}; {name} < {high}; {name}++)"
        compare = f"<= {high}" if self.chance(8) else f"< {high}"
        step = self.pick(f"{name}++", f"++{name}", f"{name} += 1")
        return f"for ({words}{name} = {low}; {name} {compare}; {step})"

    def bounds(self, around: list[str]) -> tuple[str, str]:
        if not around or self.chance(55):
            high = self.pick("n", "n", "m", "last", "n - 1", "LAST", "n / 2 + 1", "g->nx / 4")
            return self.pick("0", "0", "0", "1", "2"), high
        o = around[-1]
        return self.random.choice((
            ("0", o), ("0", f"{o} + 1"), (o, "n"), (f"{o} + 1", "n"), (f"MAX({o}, 2)", "m"), ("0", "FEW"),
            (f"MAX(0, {o} - 2)", f"MIN(n, {o} + 3)"), ("0", f"MIN({o}, m)"), ("0", f"({o} < 5 ? {o} : 5)"),
            (f"{o} - 2", f"{o} + 2"),
        ))  # fmt: skip

    def body(self, inside: list[str], pad: str, depth: int) -> Iterator[str]:
        if depth > 1:
            if self.chance(35):
                yield from self.statement(inside, pad)
            yield from self.loop(inside, pad, depth - 1)
            if self.chance(30):
                yield from self.statement(inside, pad)
            elif self.chance(15):
                yield from self.loop(inside, pad, 1)
            return
        for _ in range(self.random.choice((1, 1, 2, 2, 3))):
            yield from self.statement(inside, pad)

    # --- Other pieces ---

    def time_loop(self) -> Iterator[str]:
        """A stencil whose arrays change places, or are copied back, in each step."""
        a, b = self.random.choice((("x", "z"), ("a", "b")))
        yield "    {"
        if a == "a":
            first, second = self.pick("x", "g->row", "g->data"), self.pick("z", "A[3]", "B[0]")
            yield f"        double *a = {first}, *b = {second};"
        yield f"        for (int step = 0; step < {self.pick('3', 'm', 'FEW', 'last')}; step++) {{"
        yield f"            for (int i = 1; i < {self.pick('n - 1', 'n', 'LAST')}; i++)"
        yield f"                {b}[i] = 0.25 * ({a}[i - 1] + {a}[i] + {a}[i + 1]);"
        if self.chance(30):
            yield f"            {self.pick(f's += {b}[2];', 'hist[step & 7]++;', f'{b}[0] = 0.5 * step;')}"
        if a == "a" and self.chance(60):
            yield "            double *c = a;"
            yield "            a = b;"
            yield "            b = c;"
        else:
            yield "            for (int i = 1; i < n - 1; i++)"
            yield f"                {a}[i] = {self.pick(f'{b}[i]', f'HALF({b}[i] + {a}[i])')};"
        yield "        }"
        yield "    }"

    def walking_pointer(self) -> Iterator[str]:
        array = self.pick("x", "z", "g->row", "v[2]", "g->data")
        if self.chance(50):
            count = self.pick("LAST", "MAX(n, 0)")
            yield f"    for (double *p = {array}, *end = {array} + {count}; p < end; p++)"
            yield f"        *p = {self.pick('*p * 0.5 + 1', 'HALF(*p)', '*p + y[3]')};"
        else:
            value = self.pick("0.5 * *r++", "r[i]", "0.25 * r[i + 1]")
            yield f"    {{ double *p = {array}; const double *r = {self.pick('y', 'B[1]')};"
            yield f"    for (i = 0; i < {self.pick('n', 'm')}; i++)"
            yield f"        *p++ {self.pick('=', '+=')} {value};"
            yield "    }"

    def counting_while(self) -> Iterator[str]:
        step = f"        {self.pick('q++;', 'q += 1;', 'q += 2;', '++q;')}"
        body = next(filter(_leaves_q, (list(self.statement(["q"], "        ")) for _ in range(100))))
        yield f"    q = {self.pick('0', '1', '2')};"
        if self.chance(70):
            yield f"    while (q < {self.pick('n', 'm', 'LAST')}) {{"
            yield from (*body, step)
            yield "    }"
        else:
            yield "    do {"
            yield from (*body, step)
            yield f"    }} while (q < {self.pick('n', 'LAST')});"

    def directed(self) -> Iterator[str]:
        """Directives that are right, beside what has none yet."""
        yield from self.random.choice(_DIRECTED).format(end=self.pick("n", "m", "LAST")).splitlines()

    def tiled(self) -> Iterator[str]:
        """A loop in blocks, as somebody wrote it by hand."""
        size = self.pick("3", "4", "FEW")
        yield f"    for (int ii = 0; ii < n; ii += {size})"
        yield f"        for (int i = ii; i < MIN(ii + {size}, n); i++) {{"
        for _ in range(self.random.choice((1, 2))):
            yield from self.statement(["i"], "            ")
        yield "        }"


def _leaves_q(lines: list[str]) -> bool:
    return not any(word in line for line in lines for word in ("&q", "q = 0", "continue"))


_DIRECTED = (
    """\
    #pragma omp parallel for schedule(static)
    for (int i = 0; i < {end}; i++)
        z[i] = y[i] * 0.5;
""",
    """\
    #pragma omp parallel for reduction(+:s)
    for (int i = 0; i < {end}; i++)
        s += y[i] * x[i];
""",
    """\
    #pragma omp parallel sections
    {{
        #pragma omp section
        for (int i = 0; i < {end}; i++)
            z[i] = y[i] + 1;
        #pragma omp section
        for (int i = 0; i < {end}; i++)
            x[i] = y[i] - 1;
    }}
""",
    """\
    for (int i = 0; i < {end}; i++) {{
        #pragma omp simd
        for (int j = 0; j < 9; j++)
            A[i][j] += 0.5 * B[j][i];
    }}
""",
)
