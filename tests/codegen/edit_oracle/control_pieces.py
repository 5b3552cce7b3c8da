"""Pieces of programs that are about control: what counts, nests of loops, and statements of every shape."""

from __future__ import annotations

from tests.codegen.edit_oracle.writing import OPEN, ROOM, SIZE, Writer

SIDE = 36
"""Rows and columns of the matrices of nests; loops stay two away from the edges."""


def counters(w: Writer) -> None:
    """Counters of all types, in steps of all sizes, in both directions."""
    kind = w.pick("double", "int", "long")
    a, b = w.array(kind), w.array(kind)
    counter = w.pick(
        "int", "long", "unsigned", "size_t", "short", "unsigned short", "unsigned char", "long long"
    )
    w.sizes = (SIZE // 2, w.pick(7, 1, 2, 0))
    is_signed = counter in ("int", "long", "short", "long long")
    step = w.pick("2", "3", "5", "2", "3", "n / 9 + 1")
    i = w.local("i")
    heads = [
        f"for ({{0}}{i} = 0; {i} < n; {i} += {step})",
        f"for ({{0}}{i} = 1; {i} <= n; {i} = {i} + {step})",
        f"for ({{0}}{i} = 0; {i} != n; {i}++)",
        f"for ({{0}}{i} = 0; {i} + 1 < n; {i}++)",
        f"for ({{0}}{i} = n; {i}-- > 0;)",
        f"for ({{0}}{i} = n; {i} > 0; {i}--)",
        f"for ({{0}}{i} = 0; 2 * {i} < n; {i}++)",
        f"for ({{0}}{i} = 0; {i} < n && {i} < 50; {i}++)",
        f"for ({{0}}{i} = n / 4; {i} < n - n / 4; {i}++)",
        f"for ({{0}}{i} = 0; n > {i}; {i} += 1)",
    ]
    if is_signed:
        heads += [
            f"for ({{0}}{i} = n - 1; {i} >= 0; {i} -= {step})",
            f"for ({{0}}{i} = -3; {i} < n - 4; {i}++)",
            f"for ({{0}}{i} = n; --{i} >= 0;)",
        ]
    else:
        heads += [
            f"for ({{0}}{i} = n - 1; {i} < n; {i}--)",
            f"for ({{0}}{i} = n - 1; {i} != ({counter})-1; {i}--)",
            f"for ({{0}}{i} = n; {i} != 0; {i}--)",
        ]
    head = w.pick(*heads)
    at = f"{i} + 4" if "= -3" in head else i
    is_outside = w.chance(40)
    if is_outside:
        w.head.append(f"{counter} {i} = {w.pick('0', '3')};")
    t, k = w.local("t"), w.local("k")
    wrapping = _wrapping(w, k, a, f"{b}[{at}]")
    body = w.pick(
        [f"{a}[{at}] = {b}[{at}] + 1;"],
        [f"{a}[{at}] = {a}[{at} + 1] * 2;"],
        [f"{a}[{at}] -= {b}[{at}];"],
        [f"{a}[{at}] = {b}[{at}];", f"{b}[{at}] = {i};"],
        [f"{a}[2 * ({at}) % 160] = {b}[{at}];"],
        [f"{a}[{ROOM - 1} - ({at})] = {b}[{at}];"],
        [f"{a}[{at} + 2] = {a}[{at}] + 1;"],
        [f"{a}[{at} + 3] = {a}[{at}];", f"{a}[{at}] = {b}[{at}];"],
        [f"{kind} {t} = {b}[{at}];", f"{a}[{at}] = {t} * {t};"],
        [f"{a}[(int)({at}) % 8] += {b}[{at}];"],
        [f"{a}[({at}) / 2] = {b}[{at}];"],
        [f"{a}[({at}) & ~1] += {i};"],
        [f"{a}[{k}] = {b}[{at}];", f"{k} += 2;"],
        [f"{a}[{at}] = {k};", f"{k}++;"],
        *wrapping,
    )
    if any(k in line for line in body):
        is_narrow = body in wrapping
        narrow = w.pick("unsigned char", "signed char", "unsigned char", "unsigned short")
        w.head.append(
            f"{narrow if is_narrow else 'int'} {k} = {w.pick('0', '1', '250' if is_narrow else '0')};"
        )
    w.code += [
        f"{OPEN} {head.format('' if is_outside else f'{counter} ')} {{",
        *(f"    {each}" for each in body),
        "}",
    ]
    if any(k in line for line in body):
        w.result(k)
    if is_outside:
        w.result(i)


def _wrapping(w: Writer, k: str, a: str, value: str) -> list[list[str]]:
    """Bodies with a variable `k` of a narrow type, which soon wraps around."""
    step = w.pick("+= 64", "+= 100", "-= 96", "+= 255", f"= {k} + 128", "++", "--")
    return [
        [f"{a}[({k} + 128) % 100] = {value};", f"{k} {step};"],
        [f"{k} {step};", f"{a}[(unsigned char){k} % 100] = {value};"],
        [f"if ({k} == 100) break;", f"{a}[({k} + 128) % 100] = {value};", f"{k} {step};"],
    ]


def nests(w: Writer) -> None:
    """Two or three loops with dependences of all distances; statements between them; names that edits might take."""
    kind = w.pick("double", "int", "long")
    w.sizes = (SIDE - 4, w.pick(5, 1, 2))
    a, b = (_matrix(w, kind) for _ in range(2))
    row = w.array(kind)
    i, j = w.pick(
        ("i", "j"), ("ii", "jj"), ("i0", "j0"), ("x", "y"), ("it", "jt"), ("t1", "t2"), ("c0", "c1")
    )
    di, dj = w.pick("", " - 1", " - 2", " + 1"), w.pick("", " - 1", " + 1", " - 2", " + 2")
    s = w.local("s")
    is_set = w.chance(65)
    w.head.append(f"{kind} {s}{' = 1' if is_set else ''};")
    outside = w.pick(0, 0, 0, 1, 2, 3)
    """The counters that are declared before the nest: none, one or both."""
    declared = [f"int {i};"] * (outside & 1) + [f"int {j} = 7;"] * (outside >> 1)
    w.head += [each for each in declared if each not in w.head]
    own_i, own_j = ("" if outside & 1 else "int "), ("" if outside & 2 else "int ")
    outer = w.pick(
        f"for ({own_i}{i} = 2; {i} < n + 2; {i}++)",
        f"for ({own_i}{i} = n + 1; {i} >= 2; {i}--)",
        f"for ({own_i}{i} = 2; {i} <= n; {i} += 2)",
        f"for ({own_i}{i} = 3; {i} < n; ++{i})",
    )
    inner = w.pick(
        f"for ({own_j}{j} = 2; {j} < n + 2; {j}++)",
        f"for ({own_j}{j} = n + 1; {j} > 2; {j}--)",
        f"for ({own_j}{j} = {i}; {j} < n; {j}++)",
        f"for ({own_j}{j} = 2; {j} <= {i}; {j}++)",
        f"for ({own_j}{j} = 2; {j} < 9; {j} += 3)",
    )
    here, there = f"[{i}][{j}]", f"[{i}{di}][{j}{dj}]"
    deep = w.chance(20)
    core = w.pick(
        [f"{a}{here} = {a}{there} + {b}{here};"],
        [f"{a}{here} = {a}{there} + {a}[{i}][{j} - 1];"],
        [f"{a}{here} = {b}{there};", f"{b}{here} = {a}[{i}][{j} - 1] + 1;"],
        [f"{a}{here} += {b}[{j}][{i}];"],
        [f"{a}[{j}][{i}] = {a}{here} * 2;"],
        [f"{row}[{i}] += {a}{here};"],
        [f"{row}[{j}] += {a}{here};"],
        [f"{row}[{i} + {j}] = {a}{here};"],
        [f"if ({b}{here} > 0) {a}{here} = {a}{there};"],
        [f"{kind} v = {a}{there};", f"{b}{here} = v;", f"{a}{here} = v + 1;"],
        [f"if ({i} + {j} > n) continue;", f"{a}{here} = {b}{here};"],
        [f"{s} = {b}{here};", f"{a}{here} = {s} + {a}{there};"],
        [f"{a}{here} = {b}{there};", f"{row}[{j}] = {a}{here};"],
    )
    if deep:
        core = [f"for (int q = 0; q < {w.pick('3', 'n')}; q++) {{", *core, "}"]
    between = w.pick(
        [], [], [], [f"{row}[{i}] = {b}[{i}][3];"], [f"{s} = {b}[{i}][2];"], [f"{row}[{i}] = {row}[{i} + 1];"]
    )
    after = w.pick(
        [], [], [], [f"{row}[{i}] += {a}[{i}][4];"], [f"{b}[{i}][{w.pick('2', 'n')}] = {row}[{i}];"]
    )
    body = [*between, f"{OPEN} {inner} {{", *(f"    {each}" for each in core), "}", *after]
    if w.chance(20):
        second = f"for ({own_j}{j} = 2; {j} < n + 2; {j}++)"
        body += [f"{OPEN} {second}", f"    {w.pick(a, b)}{here} = {w.pick(a, b)}{there} + 2;"]
    w.code += [f"{OPEN} {outer} {{", *(f"    {each}" for each in body), "}"]
    if w.chance(25):
        w.code += [f"{OPEN} for (int q = 2; q < n + 2; q++)", f"    {row}[q] = {row}[q{di}] + {a}[q][3];"]
    if outside & 1:
        w.result(i)
    if outside & 2 and w.chance(60):
        w.result(j)
    if is_set and w.chance(50):
        w.result(s)


def _matrix(w: Writer, kind: str) -> str:
    """A matrix that the kernel reaches by its name, as a parameter with constant rows, or with rows of `m`."""
    stored = w.name("mat")
    w.data.append(f"static {kind} {stored}[{SIDE}][{SIDE}];")
    w.fill.append(f"fill_{kind}(&{stored}[0][0], {SIDE * SIDE}, -4, 6);")
    w.show.append(f"show_{kind}({w.next_shown()}, &{stored}[0][0], {SIDE * SIDE});")
    seen, form = w.local("m"), w.pick("rows", "rows", "variable", "global")
    if form == "global":
        w.top.append(w.data.pop())
        return stored
    if form == "rows":
        w.params.append((f"{kind} (*restrict {seen})[{SIDE}]", stored))
        return seen
    width = w.integer(SIDE, SIDE, "w")
    # The width must be declared before the matrix that has it.
    w.params.pop()
    w.params.append((f"int {width}, {kind} {seen}[restrict][{width}]", f"{SIDE}, {stored}"))
    return seen


def statements(w: Writer) -> None:
    """Statements with several effects, written in unusual ways, or with two paths to one memory."""
    kind = w.pick("double", "int", "long")
    a, b, c = w.array(kind), w.array(kind), w.read(kind)
    t, k, p = w.local("t"), w.local("k"), w.local("p")
    w.head += [f"{kind} {t} = 2;", f"int {k} = 1;", f"{kind} *{p};"]
    whole = "(int)" if kind == "double" else ""
    box = w.name("box")
    w.top.append(f"struct {box} {{ {kind} x, y[4]; }};")
    w.top.append(f"union {box}_u {{ {kind} x; {kind} z[2]; }};")
    w.names.append(f"{box}_u")
    shift = w.pick("", " + 1", " - 1", " + 2")
    bodies = [
        [f"{a}[i] = {b}[i] = {c}[i] + 1;"],
        [f"{a}[i] = ({t} = {c}[i], {t} * 2);"],
        [f"{a}[i] *= ({t} = {c}[i]) > 0 ? {t} : 1;"],
        [f"({c}[i] > 0 ? {a} : {b})[i] = i;"],
        [f"*({c}[i] > 1 ? &{a}[i] : &{b}[i]) = 3;"],
        [f"{a}[i] = ({kind}[]){{ 1, 2, {c}[i] }}[2];"],
        [
            f"struct {box} v = {{ .x = {c}[i], .y = {{ [2] = {a}[i{shift}] }} }};",
            f"{a}[i] = v.x + v.y[2] + v.y[0];",
        ],
        [f"union {box}_u v;", f"v.x = {c}[i];", f"{a}[i] = v.z[0] + 1;"],
        [f"{a}[i] = ({{ {kind} v = {c}[i]; v > 1 ? v : {b}[i]; }});"],
        [f"{kind} v[{w.pick('3', 'n', 'i % 5 + 1')}];", f"v[0] = {c}[i];", f"{a}[i] = v[0] + 1;"],
        [f"static {kind} v;", f"v = {c}[i];", f"{a}[i] = v;"],
        [f"{p} = &{a}[i];", f"*{p} = {c}[i];", f"{p} = &{b}[i{shift}];", f"*{p} += 1;"],
        [f"{p} = {a} + i;", f"{p}[0] = {p}[1] + {c}[i];"],
        [
            f"switch ({whole}{c}[i] & 3) {{",
            f"case 0: {a}[i] = 1; break;",
            f"case 1: {a}[i] = 2;",
            f"default: {b}[i] = {a}[i]; }}",
        ],
        [f"switch (i % 3) {{ case 1: {t} = {c}[i]; case 2: {a}[i] = {t}; }}"],
        ["if (i > 3)", f"    if ({c}[i] > 0) {a}[i] = 1;", f"    else {b}[i] = 2;"],
        [f"do {{ {a}[i]++; }} while ({a}[i] < {c}[i]);"],
        [f"for (int q = 0, r = 3; q < r; q++, r--) {a}[i] += q * r;"],
        [f"for (;;) {{ if ({a}[i] > 3) break; {a}[i] += 2; }}"],
        [f"{{ {{ {kind} {t} = {c}[i]; {a}[i] = {t}; }} {{ {kind} {t} = {b}[i]; {a}[i] += {t}; }} }}"],
        [f"const {kind} v = {c}[i], w = v + 1, *z = &{b}[i{shift}];", f"{a}[i] = v * w + *z;"],
        [f"{a}[i] = sizeof({a}[i]) + {c}[i];", f"(void){t};", ";"],
        [f"{a}[i] = i[{c}] + *({b} + i{shift});"],
        [f"if ({c}[i] > 2 && ({t} = {c}[i]) > 3) {a}[i] = 1;"],
        [f"{a}[i] = {c}[i] > 0 || ({k} = i, 0);"],
        [f"memset(&{a}[i], 0, sizeof {a}[i]);", f"memmove(&{b}[i], &{c}[i], sizeof({kind}));"],
        [f"{t} = {a}[i];", f"{a}[i] = {b}[i];", f"{b}[i] = {t};"],
        [f"{t} = {a}[i];", f"{a}[i] = {a}[{ROOM - 1} - i];", f"{a}[{ROOM - 1} - i] = {t};"],
        [f"volatile {kind} v = {c}[i];", f"{a}[i] = v;"],
        [f"register {kind} v;", f"v = {c}[i];", f"{a}[i] = v;"],
        [f"if ({c}[i] < 0) goto next{t};", f"{a}[i] = {c}[i];", f"next{t}:;"],
        [f"{a}[{k}] = {c}[i];", f"{k} = {k} < 9 ? {k} + 1 : 0;"],
        [f"{a}[i] = {k};", f"{k} = 3;"],
        [f"{a}[i] = {t};", f"{t} = {c}[i] * 0 + 2;"],
        [f"{k} = i;", f"{a}[{k}] = {c}[{k}];", f"{k}++;", f"{b}[{k}] = 1;"],
        [f"int v = {whole}{c}[i];", "v = v < 0 ? -v : v;", f"{a}[v] = 1;"],
        [f"{a}[i] = {c}[i] / ({whole}{b}[i] ? {b}[i] : 1);"],
        [f"{a}[i] = !{c}[i] + -{b}[i] + (+{c}[i]) + ~{whole}{c}[i];"],
        [f"{a}[i]++, {b}[i]--;"],
        [f"{a}[i] = {b}[i]++ + {c}[i];"],
    ]
    body = w.pick(*bodies)
    w.code += w.loop(
        w.mixed(body), OPEN, w.pick("1", "1", "2"), plain=w.chance(40) or any("goto" in x for x in body)
    )
    if w.chance(35):
        w.result(w.pick(t, k))
    if w.chance(15):
        w.code += w.loop([f"{b}[i] += {a}[i{shift}];"], OPEN, "1")


def bounds(w: Writer) -> None:
    """Bounds and numbers that memory holds, which loops may write."""
    kind = w.pick("int", "int", "long")
    a, b = w.array(kind, where="global"), w.read(kind)
    g, tag = w.name("size"), w.name("shape")
    form = w.pick("global", "pointer", "field", "element", "alias")
    count = w.local("m")
    if form == "global":
        w.top.append(f"{w.pick('static ', '')}{kind} {g};")
        w.fill.append(f"{g} = n;")
        high = g
    elif form == "pointer":
        w.data.append(f"static {kind} {g};")
        w.fill.append(f"{g} = n;")
        w.params.append((f"{w.pick('', 'const ')}{kind} *{count}", f"&{g}"))
        high = f"*{count}"
    elif form == "field":
        w.top.append(f"struct {tag} {{ {kind} rows, *data; }};")
        w.data.append(f"static struct {tag} {g};")
        w.fill.append(f"{g}.rows = n; {g}.data = {a};")
        w.params.append((f"struct {tag} *{count}", f"&{g}"))
        high = f"{count}->rows"
        if w.chance(40):
            a = f"{count}->data"
    else:
        w.top.append(f"static {kind} {g}[4];")
        w.fill.append(f"for (int k = 0; k < 4; k++) {g}[k] = n - k;")
        high = f"{g}[{w.pick(0, 1)}]"
        if form == "alias":
            name = w.local("q")
            w.params.append((f"{kind} *{name}", g))
            b = name
    out = f"*{count}" if form == "pointer" and w.chance(20) else f"{a}[i]"
    if form == "pointer" and "const" in w.params[-1][0]:
        out = f"{a}[i]"
    same = form == "alias"
    source = f"{b}[i % 4]" if same else f"{b}[i]"
    body = w.pick(
        [f"{out} = {source} + 1;" if out != f"*{count}" else f"{a}[i] = {out};"],
        [
            f"{a}[i] = {source};",
            f"if ({source} > 90) {high} = i;" if "const" not in str(w.params[-1:]) else ";",
        ],
        [f"{a}[i] = {high} - i;"],
        [f"{a}[{high} - 1 - i] = {source};"],
        [f"{a}[i + {high}] = {a}[i];"]
        if form not in ("element", "alias") and w.chance(30)
        else [f"{a}[i] += {source};"],
        [f"{b}[i % 4] = {source} + 0;", f"{a}[i] = i;"] if same else [f"{a}[i] -= {source};"],
    )
    if any(f"[i + {high}]" in line for line in body):
        w.sizes = (60, 7)
    if same and body[0].startswith(f"{b}["):
        w.violated.add("no-overlap")
    w.code += [f"{OPEN} for (int i = 0; i < {high}; i++) {{", *(f"    {each}" for each in body), "}"]
    if w.chance(30):
        w.code += [f"{OPEN} for (int i = 1; i < {high}; i++)", f"    {a}[i] = {a}[i - 1] + {high};"]


def walks(w: Writer) -> None:
    """Pointers that move through rows and parts of an array: forth, back, and toward each other."""
    kind = w.pick("double", "int", "long", "unsigned char", "short")
    a, b = w.array(kind, "400"), w.array(kind, "400")
    rows, length = w.integer(w.pick(9, 10), 3, "r"), w.pick("8", "13", "")
    length = length or w.integer(w.pick(11, 12), w.pick(5, 1), "c")
    p, e, q, t = (w.local(stem) for stem in "peqt")
    start = w.pick(
        f"{a} + i * {length}",
        f"&{a}[i * {length}]",
        f"{a} + {rows} * {length} - (i + 1) * {length}",
        a,
        f"{a} + i",
    )
    from_b = w.pick(
        f"{b} + i * {length}", f"{b}", f"{b} + i", f"{a} + i * {length} + {w.pick('1', '0', length)}"
    )
    declared = w.pick("outside", "inside", "mixed")
    typed = f"{kind} *" if declared == "inside" else ""
    if declared != "inside":
        w.head += [f"{kind} *{p};", f"{kind} *{e};", f"{kind} *{q};"]
    own = f"{kind} " if declared != "outside" else ""
    if not own:
        w.head.append(f"{kind} {t} = 0;")
    begin = [f"{typed}{p} = {start};", f"{typed}{e} = {p} + {length};"]
    source = f"{typed}{q} = {from_b};"
    body = w.pick(
        [*begin, f"while ({p} < {e}) {{ {own}{t} = *{p}; *{p}++ = *--{e}; *{e} = {t}; }}"],
        [*begin, f"for (; {p} < --{e}; {p}++) {{ {own}{t} = *{p}; *{p} = *{e}; *{e} = {t}; }}"],
        [*begin, f"while ({p} != {e}) *{p}++ = i;"],
        [*begin, source, f"while ({p} < {e}) *{p}++ = *{q}++ + 1;"],
        [*begin, source, f"do *{p}++ += *{q}++; while ({p} < {e});"],
        [*begin, source, f"for ({q} += {length} - 1; {p} < {e}; {p}++, {q}--) *{p} = *{q};"],
        [*begin, f"for (int j = 0; {p} + j < {e}; j += 2) {p}[j] = {p}[j + 1] + 1;"],
        [*begin, f"while (--{e} >= {p}) *{e} = {e}[1];"],
        [*begin[:1], source, f"for (int j = 0; j < {length}; j++) *{p}++ = {q}[j];", f"{p}[-1] += 1;"],
        [
            *begin[:1],
            source,
            f"for (int j = 0; j < {length}; j++, {p} += 1) {{ {own}{t} = {q}[j] * 2; *{p} = {t}; }}",
        ],
    )
    head = w.pick(
        f"for (int i = 0; i < {rows}; i++)",
        f"for (int i = {rows} - 1; i >= 0; i--)",
        f"for (int i = 1; i < {rows}; i += 2)",
    )
    w.code += [f"{OPEN} {head} {{", *(f"    {each}" for each in body), "}"]
    if not own and w.chance(30):
        w.result(t)
    if w.chance(30):
        at = w.local("w")
        w.head.append(f"{kind} *{at} = {b};")
        w.code += [
            f"{OPEN} for (int i = 0; i < {rows}; i++)",
            w.pick(f"    *{at}++ = {a}[i];", f"    {{ *{at} += i; {at} += 2; }}"),
        ]
        w.result(f"{at} - {b}")
    if w.chance(40):
        _kept_positions(w, kind, b)


def _kept_positions(w: Writer, kind: str, b: str) -> None:
    """Pointers that are stored or compared, but not followed, while they move by even or uneven steps."""
    table, step, at, sign = w.name("rows"), w.name("step"), w.local("w"), w.local("k")
    w.top += [f"static {kind} *{table}[40];", f"static int {step}[40];"]
    w.fill.append(f"for (int k = 0; k < 40; k++) {step}[k] = k % 5;")
    w.head += [f"{kind} *{at} = {b};", f"int {sign} = 1;"]
    moved = w.pick(
        f"{at} += 3;",
        f"{at} += {step}[2];",
        f"{at} += {step}[i];",
        f"{at} += i % 4;",
        f"{sign} = {step}[i]; {at} += {sign};",
        f"for (int j = 0; j < {step}[i]; j++) {at}++;",
        f"for (int j = 0; j < 3; j++) {at}++;",
        f"if ({step}[i] > 2) {at} += 2;",
        f"{at} += {step}[2]; {step}[2] = i % 3;",
    )
    used = w.pick(f"{table}[i] = {at};", f"{step}[i] = {at} > {b} + 20;", f"{step}[39 - i] = {at} - {b};")
    body = w.pick([used, moved], [moved, used], [moved])
    w.code += [f"{OPEN} for (int i = 0; i < 30; i++) {{", *(f"    {each}" for each in body), "}"]
    w.result(f"{at} - {b} + {step}[7] * 1000 + {step}[31]", "long")
    if used.startswith(table):
        w.result(f"{table}[9] ? {table}[9] - {b} : -1", "long")


def layouts(w: Writer) -> None:
    """Loops where text is easily put in the wrong place: under labels, after `else`, on one line, between comments."""
    kind = w.pick("double", "int")
    a, b, c = w.array(kind), w.read(kind), w.array(kind)
    k, s, t = w.local("k"), w.local("s"), w.local("t")
    mode = w.integer(w.pick(0, 1, 2), w.pick(0, 1, 2), "mode")
    w.head += [f"int {k} = 1;", f"{kind} {s} = 0;", f"{kind} {t} = 1;"]
    head = w.pick(
        "for (int i = 0; i < n; i++)",
        "for (int i = 0; i < n; i++) ",
        "for(int i=0;i<n;i++)",
        "for (int i = 0; /* all of them */ i < n; i++) // one by one\n",
        "for (int i = 0;\n         i < n;\n         i++)",
        "for \\\n    (int i = 0; i < n; i++)",
        "for (int i = 0, m = n; i < m; i++)",
        "for\t(int\ti = 0; i < n; i++)",
        "for (int i = 0; i < n; i++) /* to { do } */",
    )
    body = w.pick(
        f"{a}[i] = {b}[i] + 1;",
        f"{{ {a}[i] = {b}[i]; }}",
        f"{s} += {b}[i];",
        f"{{ {t} = {b}[i]; {a}[i] = {t}; }}",
        f"if ({b}[i] > 0) {a}[i] = 1; else {c}[i] = 2;",
        f"if ({b}[i] > 0) {a}[i] = 1;",
        f"{{ {a}[i] = {b}[i]; /* }} */ {c}[i] = '}}' + '\\''; }}",
        f"for (int j = 0; j < 3; j++) {a}[i] += {b}[j];",
        f"for (int j = 0; j < 3; j++) {{ {a}[i] += {b}[j]; }}",
        f"{{ for (int j = 0; j < 3; j++) {a}[i] += {b}[j]; for (int j = 0; j < 2; j++) {c}[i] += {b}[j + 1]; }}",
        f"{{ {a}[i] = {b}[i]; {c}[i + 1] = {c}[i] + {a}[i]; }}",
        f"{{ {a}[i] = {b}[i]; {s} = {s} + {a}[i] * 2; {c}[i] = {t}; }}",
        f"{a}[i] = {b}[i],\n        {c}[i] = 3;",
        f"{{\n#if 1\n        {a}[i] = {b}[i];\n#else\n        {a}[i] = 0;\n#endif\n    }}",
        f"{{ {a}[i] = {b}[i]; ; {{ }} {c}[i] += 1; }}",
    )
    loop = f"{head} {body}"
    other = f"for (int i = 0; i < n; i++) {c}[i] {w.pick('=', '+=')} {w.pick(a, b)}[i];"
    w.code += w.pick(
        [loop],
        [loop],
        [f"{loop} {other}"],
        [loop, other],
        [f"if ({mode}) {loop}"],
        [f"if ({mode} > 1)", f"    {loop}", "else", f"    {other}"],
        [f"if ({mode})", f"    if ({mode} > 1) {loop}", "    else {", f"        {other}", "    }"],
        [
            f"switch ({mode}) {{",
            "case 0:",
            f"    {loop}",
            "    break;",
            f"case 1: {loop}",
            f"default: {other}",
            "}",
        ],
        [f"if ({mode} == 1) goto {k}_on;", f"{k}_on: {loop}"],
        [f"{k}_on:", loop, f"if ({k}-- > 0) goto {k}_on;"],
        [f"do {loop} while ({k}-- > 0);"],
        [f"while ({k}-- > 0) {loop}"],
        [f"for (int r = 0; r < 2; r++) {loop}"],
        [f"for (int r = 0; r < 2; r++) {{ {loop} {other} }}"],
        [f"{{ {loop} }} {{ int i = 3; {k} += i; {other} }}"],
        [f"{k} = ({{ {loop} {k} + 1; }});"],
        [f"else_(n) {loop}"],
        ["{", f"    const int n2 = n; (void)n2; {loop}", "}"],
    )
    if any("else_(" in line for line in w.code) and not any("define else_" in line for line in w.top):
        w.top.append("#define else_(x) if ((x) < 0) ; else")
    for each in w.pick([], [s], [s, t], [k]):
        w.result(each)


def reports(w: Writer) -> None:
    """Loops with branches that print or end the program: never taken, or taken beside loops that must not rest
    on that."""
    kind = w.pick("double", "int", "long")
    a, b = w.array(kind), w.read(kind)
    w.top.append("int printf(const char *, ...);")
    taken = w.chance(35)
    flag, t, k = w.name("flag"), w.local("t"), w.local("k")
    w.top.append(f"static int {flag} = {int(taken)};")
    tests = [f"{b}[i] > 3", flag, f"{flag} != 0", f"!(!{flag})", f"{flag} && {b}[i] > 2"]
    if not taken:
        tests = [
            f"{b}[i] > 1000",
            f"{b}[i] != {b}[i]",
            f"i > {4 * ROOM}",
            *tests[1:],
            f"{flag} && i % 7 == 0",
        ]
    else:
        w.violated.add("not-taken")
    test = w.pick(*tests)
    w.head += [f"{kind} {t} = 1;", f"int {k} = 1;"]
    fatal, check, say = w.name("fatal"), w.name("check"), w.name("say")
    w.top.append(f'static void {fatal}(int code) {{ printf("code %d\\n", code); exit(code); }}')
    w.top.append(f"static void {check}({kind} v) {{ if (v > 1000) {fatal}(3); }}")
    w.top.append(
        f'static void {say}(int at, {kind} v) {{ if ({flag} > 1) printf("%d %g\\n", at, (double)v); }}'
    )
    spoken = w.pick(
        [f'printf("%g\\n", (double){t});'],
        ['printf("x\\n");', f"{k} = 3;"],
        [f"{k} = 2;", f'printf("%g\\n", (double){a}[i]);'],
        [f'for (int j = 0; j < 3; j++) printf("%g\\n", (double){b}[j]);'],
        ['printf("x\\n");', f"{t} = 5;"],
        ['printf("x\\n");', "continue;"],
    )
    ended = w.pick(
        ["exit(2);"],
        ['printf("x\\n");', "exit(2);"],
        [f"{fatal}(4);"],
        ['printf("x\\n");', "return;"],
        ["abort();"],
    )
    branch = spoken if taken or w.chance(60) else ended
    whole = [f"if ({test}) {{", *(f"    {line}" for line in branch), "}"]
    if w.chance(20) and not taken:
        whole = w.pick([f"{check}({b}[i]);"], [f"{say}(i, {b}[i]);"], [f"if ({test}) {say}(i, {t});"])
    body = w.pick(
        [f"{a}[i] = {b}[i] + 1;"],
        [f"{t} = {b}[i] * 2;", f"{a}[i] = {t} + 1;"],
        [f"{t} += {b}[i];"],
        [f"{a}[i] = {a}[i + 1] + {k};"],
        [f"{a}[i] += {a}[i - 1];"],
        [f"if ({b}[i] > 0) {a}[i] = {k};"],
    )
    place = w.number(0, len(body))
    lines = [*body[:place], *whole, *body[place:]]
    form = w.number(0, 4)
    if form < 2:
        w.code += w.loop(lines, OPEN, "1")
    elif form == 2:
        rounds = w.local("r")
        inner = w.loop(body, OPEN, "1")
        around = [line.replace("[i]", f"[{rounds}]").replace("i % 7", f"{rounds} % 7") for line in whole]
        around = [line.replace("(i,", f"({rounds},").replace("i >", f"{rounds} >") for line in around]
        w.code += w.loop(w.pick([*around, *inner], [*inner, *around]), OPEN, "0", "4", rounds, plain=True)
    elif form == 3:
        w.code += w.loop(lines, OPEN, "1")
        w.code += w.loop([f"{a}[i + {k}] = {a}[i] + {k};"], OPEN, "1")
    else:
        w.code += [f"if ({flag}) {{", '    printf("before\\n");', "}"]
        w.code += w.loop(lines, OPEN, "1")
    w.result(t)
    w.result(k)
