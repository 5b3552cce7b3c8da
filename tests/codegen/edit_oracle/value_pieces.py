"""Pieces of programs that are about values and control: conversions, narrow types, macros, conditions, last values,
loops that end early."""

from __future__ import annotations

from tests.codegen.edit_oracle.writing import OPEN, PARALLEL, ROOM, SEQUENTIAL, SIZE, Writer

_CASTS = (
    "uint8_t", "int8_t", "short", "uint16_t", "int", "long", "unsigned", "float", "unsigned char", "signed char",
    "unsigned short", "int64_t", "uint32_t",
)  # fmt: skip


def conversions(w: Writer) -> None:
    """Updates that convert what they compute."""
    w.pick(_narrowed, _narrowed, _truncated, _compared, _compared, _unconverted)(w)


def _accumulated(w: Writer, kind: str, start: str) -> tuple[str, bool]:
    """Target of an update: a variable, an element that is the same for all iterations, or (true) one of
    each."""
    if w.chance(25):
        out = w.array(kind, least=1, most=9)
        return (f"{out}[i]", True) if w.chance(35) else (f"{out}[0]", False)
    s = w.local("s")
    w.head.append(f"{kind} {s} = {start};")
    return s, False


def _updated(w: Writer, target: str, is_each: bool, body: list[str], mark: str) -> None:
    if w.chance(25) and len(body) == 1 and body[0].startswith(f"{target} = (") and "?" not in body[0]:
        temp = w.local("v")
        body = [f"{w.pick('int', 'long')} {temp} = {body[0].split(' = ', 1)[1]}", f"{target} = {temp};"]
    w.code += w.loop(w.mixed(body), PARALLEL if is_each else mark)
    if "[" not in target:
        w.result(target)


def _narrowed(w: Writer) -> None:
    """Whole numbers cut to a narrow type at each step."""
    kind = w.pick("int", "int", "unsigned", "long", "short", "unsigned char", "signed char", "double")
    a = w.read(w.pick("int", "unsigned char", "short", "signed char"), 0, 99)
    cast = w.pick("uint8_t", "int8_t", "short", "uint16_t", "unsigned char", "signed char", "int16_t")
    target, is_each = _accumulated(w, kind, w.pick("0", "1", "3", "200" if kind != "signed char" else "7"))
    s, x = f"(int){target}" if kind == "double" else target, f"{a}[i]"
    line = w.pick(
        f"{target} = ({cast})({s} + {x});", f"{target} = ({cast})({s} + {x});", f"{target} = ({cast})({s} * ({x} | 1));",
        f"{target} = ({cast})({s} - {x});", f"{target} = ({cast})({s} ^ ({x} * 7));", f"{target} = ({cast}){s} + {x};",
        f"{target} = ({cast})({s} & ({x} | 240));", f"{target} = ({cast})({s} | {x});", f"{target} += ({cast})({x} * 3);",
        f"{target} = {s} + ({cast})({x} * 3);", f"{target} = ({cast})({s} + ({cast}){x});",
    )  # fmt: skip
    _updated(w, target, is_each, [line], OPEN)


def _truncated(w: Writer) -> None:
    """Real numbers that lose their fraction at each step."""
    kind = w.pick("double", "float", "int", "long")
    a = w.read(w.pick("double", "float", "int"), -9, 90)
    cast = w.pick("int", "long", "float", "int64_t")
    target, is_each = _accumulated(w, kind, w.pick("0", "1"))
    x = f"{a}[i] * 0.5"
    line = w.pick(
        f"{target} = ({cast})({target} + {x});", f"{target} = ({cast})({target} + {x});", f"{target} += ({cast})({x});",
        f"{target} = {target} + ({cast})({x});", f"{target} = ({cast})({target} * 0.5 + {a}[i]);",
        f"{target} = ({cast}){target} + {x};", f"{target} -= {x};", f"{target} += {x};",
    )  # fmt: skip
    sums = kind in ("double", "float") and line.startswith((f"{target} += ", f"{target} -= "))
    _updated(w, target, is_each, [line], PARALLEL if sums else OPEN)


def _compared(w: Writer) -> None:
    """Extremes that compare something else than they store."""
    kind = w.pick("int", "int", "unsigned", "long", "short", "signed char", "unsigned char")
    a = w.read(w.pick("int", "short", "signed char", "int"), -99, 99)
    target, is_each = _accumulated(w, kind, w.pick("0", "-1", "50"))
    cast = w.pick(*_CASTS)
    sign = w.pick("<", ">", "<=", ">=")
    x = f"{a}[i]"
    many = w.pick("", " * 7")
    line = w.pick(
        f"if ({x} {sign} {target}) {target} = {x};",
        f"{target} = {x}{many} {sign} {target} ? ({cast})({x}{many}) : {target};",
        f"if (({cast}){x} {sign} ({cast}){target}) {target} = {x};",
        f"if (({cast})({x}{many}) {sign} {target}) {target} = ({cast})({x}{many});",
        f"if ({x}{many} {sign} {target}) {target} = ({cast})({x}{many});",
        f"if ((unsigned){x} {sign} (unsigned){target}) {target} = {x};",
        f"{target} = ({cast})({x} {sign} {target} ? {x} : {target});",
        f"if ({x} {sign} {target}) {target} = {x} + 1;",
    )
    _updated(w, target, is_each, [line], OPEN)


def _unconverted(w: Writer) -> None:
    """The same without a conversion that loses anything."""
    kind = w.pick("int", "unsigned", "long", "double")
    a = w.read(w.pick("int", "short", "unsigned char"), 0, 20)
    target, is_each = _accumulated(w, kind, "1")
    s, x = target, f"{a}[i]"
    lines = [
        f"{s} += {x};",
        f"{s} = {s} + (long){x};",
        f"if ({x} > {s}) {s} = {x};" if kind != "unsigned" else f"{s} += 2;",
    ]
    if kind != "double":
        lines += [f"{s} ^= {x};", f"{s} |= {x};", f"{s} = {s} & ({x} | 240);"]
    _updated(w, target, is_each, [w.pick(*lines)], OPEN if kind == "double" else PARALLEL)


def narrow_types(w: Writer) -> None:
    """Flags, and sums in types that are smaller than `int`."""
    kind = w.pick("bool", "unsigned char", "signed char", "short", "unsigned short", "bool")
    a = w.read(w.pick("int", "double", "signed char"), -3, 60)
    s = w.local("s")
    w.head.append(f"{kind} {s} = {w.pick('0', '1', '0', '1', '3')};")
    flags = w.array(kind, least=0, most=3)
    flag = w.read("bool")
    is_bool = kind == "bool"
    forms = [
        ([f"{flags}[i] = {a}[i] > 3;"], PARALLEL),
        ([f"{flags}[i] = !{flags}[i];"], PARALLEL),
        ([f"{flags}[i] = {flags}[i - 1];"], SEQUENTIAL),
        ([f"{flags}[i] = {flags}[i - 1] || {a}[i] > 50;"], SEQUENTIAL),
        ([f"{s} |= {a}[i] > 58;"], PARALLEL),
        ([f"{s} = {s} || {a}[i] > 58;"], PARALLEL if is_bool else OPEN),
        ([f"{s} = {s} && {a}[i] > -3;"], PARALLEL if is_bool else OPEN),
        ([f"{s} &= {flag}[i];"], PARALLEL),
        ([f"{s} = {s} & ({a}[i] > -2) & {flag}[i];"], PARALLEL),
        ([f"{s} &= (int){a}[i] * 2 + 3;"] if is_bool else [f"{s} &= 7;"], OPEN),
        ([f"if ({a}[i] == 7) {s} = 1;"], OPEN),
        ([f"if ({a}[i] > 58) {s} = 1;", f"{flags}[i] = {a}[i] > 9;"], OPEN),
        ([f"if ({a}[i] > 58 && {flag}[i]) {s} = 0;"], OPEN),
        ([f"if ({a}[i] > 58) {s} = 1;", f"if ({a}[i] < -2) {s} = 0;"], OPEN),
        ([f"if ({a}[i] > 58) {s} = 1;", f"{flags}[i] = {s};"], OPEN),
        ([f"for (int j = 0; j < 3; j++) if ({a}[i + j] == 7) {s} = 1;"], OPEN),
        ([f"{s} = 1;", f"if ({a}[i] > 50) continue;", f"{flags}[i] = 1;"], OPEN),
        ([f"if ({a}[i] == 7) {s} = 2;"], OPEN),
        ([f"{s} ^= {flag}[i];"], PARALLEL),
        ([f"{s} += {flag}[i];"], OPEN),
        ([f"if ({flag}[i]) {flags}[i] = {s};"], PARALLEL),
        ([f"{kind} t = {flag}[i];", f"{flags}[i] = t;"], PARALLEL),
        ([f"{s} = {flag}[i];", f"{flags}[i] = {s} + 1;"], PARALLEL),
        ([f"{s} = !{s};", f"{flags}[i] = {s};"], SEQUENTIAL),
        ([f"{flags}[i] += {flag}[i] * 200;"], PARALLEL),
        ([f"{s} *= 3;"], OPEN),
        ([f"{s}++;"], OPEN),
        ([f"if ({a}[i] > {s}) {s} = {a}[i];"], OPEN),
    ]
    body, mark = w.pick(*forms)
    w.code += w.loop(w.mixed(body), mark, "1")
    w.result(s, "int")


def macros(w: Writer) -> None:
    """Macros in bounds, subscripts, bodies, and for whole loops."""
    a, b = w.array(), w.array()
    length, last = w.name("LEN"), w.name("LAST")
    shift = w.name("SHIFT")
    d = w.pick("0", "1", "2", "(1)", "3 - 2")
    w.top += [f"#define {length} (n - 2)", f"#define {last} n - 1", f"#define {shift} {d}"]
    is_zero = d == "0"
    bigger, cell, each = w.name("BIGGER"), w.name("AT"), w.name("FOR")
    w.top += [f"#define {bigger}(x, y) ((x) > (y) ? (x) : (y))", f"#define {cell}(p, i) p[(i) + {shift}]"]
    w.top += [f"#define {each}(v, to) for (int v = 0; v < (to); v++)"]
    moved = PARALLEL if is_zero else SEQUENTIAL
    form = w.number(0, 8)
    high = w.pick(length, last, "n")
    if form == 0:
        w.code += w.loop(w.mixed([f"{a}[i] = {cell}({b}, i);"]), PARALLEL, "0", high, plain=True)
    elif form == 1:
        w.code += w.loop(w.mixed([f"{cell}({a}, i) = {a}[i] + 1;"]), moved, "0", high, plain=True)
    elif form == 2:
        s = w.local("s")
        w.head.append(f"double {s} = -100;")
        w.code += w.loop([f"{s} = {bigger}({s}, {a}[i]);"], PARALLEL, "0", high, plain=True)
        w.result(s)
    elif form == 3:
        w.code += [f"{OPEN} {each}(i, {length})", f"    {a}[i] = {b}[i + {shift}];"]
    elif form == 4:
        w.code += [
            f"{OPEN} {each}(i, n) {{",
            f"    {OPEN} {each}(j, 3)",
            f"        {a}[i + j] = {b}[i] + j;",
            "}",
        ]
    elif form == 5:
        step = w.name("STEP")
        w.top.append(f"#define {step}(x) do {{ x = x * 2 + 1; }} while (0)")
        w.code += w.loop(w.mixed([f"{step}({a}[i]);"]), PARALLEL, "0", high, plain=True)
    elif form == 6:
        both, end = w.name("BOTH"), w.pick(";", "")
        second = w.pick("y[i] = y[i - 1] + x[i]", "x[i] = x[i - 1] + y[i]")
        w.top.append(
            f"#define {both}(x, y) for (int i = 0; i < n; i++) x[i] += 1; for (int i = 1; i < n; i++) {second}{end}"
        )
        w.code += w.loop([f"{a}[i] = {b}[i];"], PARALLEL, plain=True)
        w.code.append(f"{both}({a}, {b}){'' if end else ';'}")
        if w.chance(50):
            w.code += w.loop([f"{b}[i] += {a}[i];"], PARALLEL, plain=True)
    elif form == 7:
        most, number = w.name("MOST"), w.pick(5, 16)
        w.top.append(f"#define {most} {w.pick(f'(n + {number})', f'n + {number}', f'({number})')}")
        w.code += w.loop([f"{a}[i] = i;"], PARALLEL, "0", most, plain=True)
        w.code += w.loop([f"{b}[i] = {a}[i] + 1;"], PARALLEL, "0", str(number), plain=True)
    else:
        w.code += w.loop([f"{a}[i] = {a}[i + {shift}] + {b}[i];"], moved, "0", high, plain=True)


def tables(w: Writer) -> None:
    """Arrays whose initialiser says how many elements they have, and sizes that constants name."""
    a, t, count = w.array(), w.local("t"), w.number(8, 24)
    numbers = ", ".join(str(w.number(1, 9)) for _ in range(count))
    named = w.local("SOME")
    home = w.pick(w.top, w.head)
    if home is w.top:
        w.names += [t, named]
    kind = w.pick("int", "double", "short", "const float")
    size = w.pick(str(count), named, f"(int)(sizeof {t} / sizeof {t}[0])")
    is_enumerator = size == named and w.pick(True, False)
    if is_enumerator:
        home.append(f"enum {{ {named} = {count} }};")
    elif size == named:
        home.append(f"static const int {named} = {count};")
    home.append(
        w.pick(
            f"{kind} {t}[] = {{{numbers}}};",
            f"{kind} {t}[] = {{[{count - 1}] = 2, [3] = 1}};",
            f"{kind} {t}[{named if is_enumerator else count}] = {{{numbers}}};",
            f'char {t}[] = "{"the letters of a very long text"[: count - 1]}";',
        )
    )
    first = w.pick("0", str(count), "n")
    last = size if first == "0" else f"{first} + {size}"
    body = w.pick(f"{a}[i] = {t}[i - {first}];", f"{a}[i] += {t}[i - {first}] * 2;", f"{a}[i] = i;")
    w.code += w.loop(w.mixed([body.replace("[i - 0]", "[i]")]), PARALLEL, first, last, plain=True)
    if w.chance(40) and "const" not in kind:
        w.code += w.loop([f"{t}[i] = {t}[i] + 1;"], PARALLEL, "0", size, plain=True)
        w.code += w.loop([f"{a}[i] -= {t}[i];"], PARALLEL, "0", size, plain=True)


def facts(w: Writer) -> None:
    """Conditions that hold because the program says so."""
    kind = w.pick("double", "int", "float")
    a = w.array(kind, str(3 * SIZE))
    m = w.integer(SIZE + w.number(0, 5), w.number(7, 9), "m")
    helps = w.chance(60)
    fact = f"{m} >= n" if helps else w.pick(f"{m} >= 1", f"{m} > 2", "n >= 0")
    contrary = fact.replace(">=", "<") if ">=" in fact else fact.replace(">", "<=")
    low_m = not helps and w.chance(60)
    if low_m:
        w.numbers[m] = (w.pick(3, 5, 9), 3)
        at = next(k for k, (decl, _) in enumerate(w.params) if decl == f"int {m}")
        first, second = w.numbers[m]
        w.params[at] = (f"int {m}", f"(call ? {second} : {first})")
    form = w.number(0, 5)
    if form == 0:
        w.code.append(f"if ({contrary}) __builtin_unreachable();")
    elif form == 1:
        w.code.append(f"assert({fact});")
    elif form == 2:
        w.code.append(f"if ({contrary}) return;")
    elif form == 3:
        name = w.name("ASSUME")
        w.top.append(f"#define {name}(x) do {{ if (!(x)) __builtin_unreachable(); }} while (0)")
        w.code.append(f"{name}({fact});")
    elif form == 4:
        w.code.append(f"if (!({fact})) abort();")
    else:
        w.code += [f"if ({contrary}) {{", "    exit(3);", "}"]
    body = w.pick(
        [f"{a}[i + {m}] = {a}[i] + 1;"],
        [f"{a}[i] = {a}[i + {m}] * 2;"],
        [f"{a}[i + {m}] = i;", f"{a}[i] = {a}[i] + 1;"],
    )
    w.code += w.loop(w.mixed(body), PARALLEL if helps else OPEN)


def conditions(w: Writer) -> None:
    """Writes that only some iterations make."""
    kind = w.pick("double", "int", "long")
    a, b = w.array(kind), w.read(kind)
    t, k = w.local("t"), w.local("k")
    w.head += [f"{kind} {t} = 1;", f"int {k} = 0;"]
    forms = [
        ([f"if ({b}[i] > 0) {a}[i] = {b}[i];"], PARALLEL),
        ([f"if ({b}[i] > 0) {t} = {b}[i];", f"{a}[i] = {t};"], SEQUENTIAL),
        ([f"if ({b}[i] > 0) {t} = {b}[i];", f"else {t} = 0;", f"{a}[i] = {t};"], PARALLEL),
        ([f"if ({b}[i] > 0) {a}[{k}++] = {b}[i];"], SEQUENTIAL),
        ([f"if ({b}[i] > 0) {k} = i;"], OPEN),
        ([f"if (i == 3) {t} = {b}[i];", f"{a}[i] = {t};"], OPEN),
        ([f"if ({b}[i] > 0) {{ {t} = {b}[i]; {a}[i] = {t}; }}"], OPEN),
        ([f"if ({b}[i] > 2) {a}[0] = {b}[i];"], OPEN),
        ([f"for (int j = 0; j < (int){b}[i]; j++) {a}[{k}++] = j;"], SEQUENTIAL),
        ([f"for (int j = 0; j < {b}[i]; j++) {t} = {t} * {t} % 7 + j;"] if kind != "double" else [f"for (int j = 0; j < {b}[i]; j++) {t} = 1 - {t} * {t} / 2;"], SEQUENTIAL),
        ([f"{t} = 1;", f"for (int j = 0; j < {b}[i]; j++) {t} = 1 - {t} * {t} / 2;", f"{a}[i] = {t};"], PARALLEL),
        ([f"for (int j = 0; j < {b}[i]; j++) if ({b}[i] < 0) {t} = 1 - {t} * {t} / 2;"], OPEN),
        ([f"for (int j = (int){b}[i]; j < (int){b}[i]; j++) {a}[0] = {a}[0] / 2 + j;"], OPEN),
        ([f"if (i > 4) {a}[i] = {a}[3];"], PARALLEL),
        ([f"if (i > 2) {a}[i] = {a}[3];"], OPEN),
        ([f"{a}[i] = {b}[i] > 0 ? {b}[i] : {a}[i];"], PARALLEL),
        ([f"{a}[i] = {b}[i] > 0 ? {b}[i] : {a}[i - 1];"], SEQUENTIAL),
        ([f"if ({b}[i] > 0) continue;", f"{a}[i] = 0;"], PARALLEL),
        ([f"if ({b}[i] > 0) {k}++;"], PARALLEL),
        ([f"if (n > 50) {a}[0] = i;", f"{a}[i] = i;"], OPEN),
        ([f"switch ((int){b}[i]) {{ case 1: {t} = 3; break; case 2: {t} = 4; break; default: {t} = 0; }}", f"{a}[i] = {t};"], PARALLEL),
        ([f"switch ((int){b}[i]) {{ case 1: {t} = 3; break; case 2: {t} = 4; break; }}", f"{a}[i] = {t};"], SEQUENTIAL),
    ]  # fmt: skip
    body, mark = w.pick(*forms)
    w.code += w.loop(w.mixed(body), mark, "1")
    if w.chance(60):
        w.result(w.pick(t, k))


def last_values(w: Writer) -> None:
    """Values that are used after the loop that sets them."""
    kind = w.pick("double", "int", "float")
    w.sizes = (SIZE, w.pick(7, 0, 1, 2))
    a, b = w.array(kind), w.read(kind)
    t = w.local("t")
    w.head.append(f"{kind} {t} = 5;")
    low = w.pick("0", "0", "1", "3")
    form = w.number(0, 7)
    if form == 0:
        w.code += w.loop([f"{t} = {b}[i] * 2;", f"{a}[i] = {t};"], PARALLEL, low)
        w.result(t)
    elif form == 1:
        i = w.local("i")
        w.head.append(f"int {i};")
        w.code += [f"{PARALLEL} for ({i} = {low}; {i} < n; {i}++)", f"    {a}[{i}] = {b}[{i}];"]
        w.result(i)
    elif form == 2:
        tmp = w.local("tmp")
        w.head.append(f"{kind} {tmp}[4] = {{ 1, 2, 3, 4 }};")
        w.code += w.loop(
            [f"for (int j = 0; j < 4; j++) {tmp}[j] = {b}[i] + j;", f"{a}[i] = {tmp}[1] + {tmp}[3];"],
            PARALLEL,
            low,
        )
        w.result(f"{tmp}[{w.pick(0, 2)}]")
    elif form == 3:
        j = w.local("j")
        w.head.append(f"int {j} = 9;")
        w.code += w.loop(
            [f"for ({j} = 0; {j} < {w.pick('4', '(int)i', 'n')}; {j}++) {a}[i] += {b}[{j}];"], PARALLEL, low
        )
        w.result(j)
    elif form == 4:
        w.code += w.loop([f"if ({b}[i] > 0) {t} = {b}[i];"], OPEN, low)
        w.result(t)
    elif form == 5:
        tmp = w.local("tmp")
        w.head.append(f"{kind} {tmp}[6] = {{ 1, 2, 3, 4, 5, 6 }};")
        w.code += w.loop(
            [f"for (int j = 0; j < (int)i % 6; j++) {tmp}[j] = {b}[i] + j;", f"{a}[i] = {tmp}[0];"], OPEN, low
        )
        w.result(f"{tmp}[2]")
    elif form == 6:
        k = w.local("k")
        w.head.append(f"int {k} = 2;")
        w.code += w.loop(
            [f"{a}[{k}] = {b}[i];", f"{k} += {w.pick('1', '2')};"], OPEN, low, w.pick("n / 2", "n / 2")
        )
        w.result(k)
    else:
        w.code += w.loop([f"{t} = {b}[i];", f"{a}[i] = {t};"], PARALLEL, low)
        w.code += w.loop([f"{a}[i] += {t};"], PARALLEL, low)


def triangles(w: Writer) -> None:
    """Nests whose inner loops are of different lengths, with values that are used after them."""
    kind = w.pick("double", "int", "float")
    side = 40
    w.sizes = (side, w.pick(7, 1, 2))
    c, b = w.name("rows"), w.read(kind)
    w.top.append(f"static {kind} {c}[{side}][{side}];")
    w.fill.append(f"memset({c}, 0, sizeof {c});")
    w.show.append(f"show_{kind}({w.next_shown()}, &{c}[0][0], {side * side});")
    t, i, j = w.local("t"), w.local("i"), w.local("j")
    w.head += [f"{kind} {t}{w.pick(' = 5', ' = 5', '')};", f"int {i};", f"int {j} = 1;"]
    low, high = w.pick(("0", f"{i} + 1"), ("0", i), (i, "n"), (f"{i} + 1", "n"), ("1", f"{i} - 1"))
    row = w.name("out")
    w.top.append(f"static {kind} {row}[{ROOM}];")
    w.show.append(f"show_{kind}({w.next_shown()}, {row}, {ROOM});")
    inner = f"for (int j = {low}; j < {high}; j++)"
    body, mark, after = w.pick(
        ([f"{t} = {b}[{i}];", f"{inner} {c}[{i}][j] = {t} + j;"], PARALLEL, t),
        ([f"{inner} {{ {t} = {b}[j]; {c}[{i}][j] = {t}; }}"], OPEN, t),
        ([f"{inner} {c}[{i}][j] += {b}[j];"], PARALLEL, i),
        ([f"for ({j} = {low}; {j} < {high}; {j}++) {c}[{i}][{j}] = {b}[{j}];"], PARALLEL, j),
        ([f"{t} = 0;", f"{inner} {t} += {b}[j];", f"{row}[{i}] = {t};"], PARALLEL, t),
        ([f"{t} = {i};", f"{inner} for (int k = 0; k < j; k++) {c}[{i}][j] += {b}[k] + {t};"], PARALLEL, t),
        ([f"{inner} {c}[{i}][j] = {c}[j][{i}] + 1;"], OPEN, i),
        ([f"{inner} {row}[{i}] = {row}[j] + {b}[j];"], OPEN, i),
        ([f"if ({b}[{i}] > 0) {t} = {b}[{i}];", f"{inner} {c}[{i}][j] = {b}[j];"], OPEN, t),
    )
    outer = w.pick(
        f"for ({i} = 0; {i} < n; {i}++)",
        f"for ({i} = 0; {i} < n; ++{i})",
        f"for ({i} = n - 1; {i} >= 0; {i}--)",
    )
    w.code += [f"{mark} {outer} {{", *(f"    {line}" for line in body), "}"]
    if w.head[0].endswith("= 5;") or after != t:
        w.result(after)
    if w.chance(40):
        w.result(i)


def extremes(w: Writer) -> None:
    """The largest or least element, and where it stands."""
    kind = w.pick("double", "int", "float", "short")
    b = w.read(kind, -90, 90) if w.chance(60) else w.read(kind, -3, 4)
    best, at = w.local("best"), w.local("at")
    sign, limit = w.pick((">", "-100"), ("<", "100"), (">=", "-100"), ("<=", "100"))
    w.head += [f"{kind} {best} = {limit};", f"int {at} = {w.pick('0', '-1')};"]
    forms = [
        [f"if ({b}[i] {sign} {best}) {{ {best} = {b}[i]; {at} = i; }}"],
        [f"if ({b}[i] {sign} {b}[{at}]) {at} = i;"],
        [f"{best} = {b}[i] {sign} {best} ? {b}[i] : {best};"],
        [f"if ({b}[i] {sign} {best}) {at} = i;"],
        [f"if ({b}[i] {sign} {best}) {best} = {b}[i];", f"else {at}++;"],
        [f"{at} = {b}[i] {sign} {best} ? i : {at};", f"{best} = {b}[i] {sign} {best} ? {b}[i] : {best};"],
        [f"if ({b}[i] {sign} {best}) {best} = {b}[i];"],
        [f"if (!({b}[i] {sign} {best})) continue;", f"{best} = {b}[i];"],
        [f"if ({b}[i] {sign} {best}) {best} = {b}[i] + 1;"],
        [f"{best} = fmax({best}, {b}[i]);"],
        [f"if ({best} < {b}[i]) {best} = {b}[i];", f"if ({at} > (int){b}[i]) {at} = (int){b}[i];"],
    ]
    chosen = w.number(0, len(forms) - 1)
    if chosen == 1:
        w.head[-1] = f"int {at} = 0;"
    mark = PARALLEL if chosen in (0, 2, 6) else OPEN
    w.code += w.loop(w.mixed(forms[chosen]), mark)
    w.result(best)
    w.result(at)


def exits(w: Writer) -> None:
    """Loops that end early, and loops around these."""
    kind = w.pick("double", "int")
    a, b = w.array(kind), w.read(kind)
    c = w.local("c")
    inner = w.loop([f"if ({b}[j] > {b}[i]) {{ {c} = j; break; }}"], OPEN, "0", "9", "j", plain=True)
    w.head.append(f"int {c} = 0;")
    done = w.name("done")
    forms = [
        (w.loop([f"if ({b}[i] > 5) break;", f"{a}[i] = {b}[i];"], SEQUENTIAL), []),
        (w.loop([f"{c} = 0;", *inner, f"{a}[i] = {c};"], PARALLEL), []),
        (w.loop([*inner, f"{a}[i] = {c};"], SEQUENTIAL), []),
        (w.loop([f"if ({b}[i] == 4) {{ {c} = i; break; }}"], SEQUENTIAL), []),
        (w.loop(["if (i == 40) break;", f"{a}[i] = {b}[i];"], OPEN), []),
        (w.loop([f"if ({a}[i] == 77) return;", f"{a}[i] = {b}[i];"], OPEN), []),
        (w.loop([f"if ({b}[i] > 3) goto {done};", f"{a}[i] = {b}[i];"], SEQUENTIAL), [f"{done}:;"]),
        (w.loop(["int k = 0;", f"while (k < 5 && {b}[k] < {b}[i]) k++;", f"{a}[i] = k;"], PARALLEL), []),
        (w.loop(["for (int k = 0; k < 9; k++) {", f"    if ({b}[k] > 3) continue;", "    if (k == 7) break;", f"    {a}[i] += {b}[k];", "}"], PARALLEL), []),
        (w.loop([f"if ({b}[i] < 0) exit(0);", f"{a}[i] = 1;"], OPEN) if w.chance(10) else w.loop([f"{a}[i] = 1;"], PARALLEL), []),
    ]  # fmt: skip
    loop, after = w.pick(*forms)
    w.code += [*loop, *after]
    if w.chance(50):
        w.result(c)


def while_loops(w: Writer) -> None:
    """Loops that `while` and `do` write."""
    a, b = w.array(), w.read()
    i, k = w.local("i"), w.local("k")
    w.head += [f"int {i} = 0;", f"int {k} = 0;"]
    w.sizes = (SIZE, w.pick(7, 1, 3))
    body, mark = w.pick(
        (f"{a}[{i}] = {b}[{i}] + 1;", PARALLEL),
        (f"{a}[{i}] = {b}[{i}];", PARALLEL),
        (f"{a}[{i} + 1] = {a}[{i}] + 1;", SEQUENTIAL),
        (f"{k} += {b}[{i}] > 0;", PARALLEL),
        (f"{a}[{i}] = {k}; {k} = {i} * 2;", OPEN),
    )
    form = w.number(0, 6)
    if form == 0:
        w.code += [f"{mark} while ({i} < n) {{", f"    {body}", f"    {i}++;", "}"]
    elif form == 1:
        w.code += [f"{mark} do {{", f"    {body}", f"    {i}++;", f"}} while ({i} < n);"]
    elif form == 2:
        w.code += [f"{OPEN} while ({i} < n && {b}[{i}] > -4) {{", f"    {body}", f"    {i}++;", "}"]
    elif form == 3:
        w.code += [f"{i} = n;", f"{mark} while ({i}-- > 0) {{", f"    {body}", "}"]
    elif form == 4:
        w.code += [f"{mark} for (; {i} < n; ) {{", f"    {body}", f"    {i} += 1;", "}"]
    elif form == 5:
        w.code += [f"{OPEN} while (1) {{", f"    if ({i} >= n) break;", f"    {body}", f"    {i}++;", "}"]
    else:
        p, q = w.local("p"), w.local("q")
        w.top.append(f"static double {w.name('walked')}[{ROOM}];")
        name = w.names[-1]
        w.show.append(f"show_double({w.next_shown()}, {name}, {ROOM});")
        w.code += [f"double *{p} = {name}, *{q} = {name} + n;"]
        w.code += [
            f"{OPEN} while ({p} < {q}) {{",
            f"    *{p}{w.pick('++ = 1;', f' = {p}[1]; {p}++;', f' += 2; {p} += 1;')}",
            "}",
        ]
    w.result(i)
    w.result(k)


def _complex_array(w: Writer, kind: str) -> str:
    """An array of complex numbers as the kernel names it, and whose parts are small whole numbers."""
    part, stored, seen = kind.split()[0], w.name("g"), w.local("z")
    w.data.append(f"static {kind} {stored}[{ROOM}];")
    w.fill.append(f"fill_{part}(({part} *){stored}, {2 * ROOM}, -3, 3);")
    w.show.append(f"show_{part}({w.next_shown()}, ({part} *){stored}, {2 * ROOM});")
    star = w.pick("*restrict ", "*")
    w.params.append((f"{kind} {star}{seen}", stored))
    return seen


def complex_numbers(w: Writer) -> None:
    """Complex numbers: element by element, passed on, summed up, kept by iterations, and seen by their parts."""
    kind = w.pick("double complex", "double complex", "float complex")
    part = kind.split()[0]
    w.top.append("#include <complex.h>")
    z, y, r = _complex_array(w, kind), _complex_array(w, kind), w.array(part)
    s, t, p = w.local("s"), w.local("t"), w.local("p")
    w.head += [f"{kind} {s} = 0, {t} = 1;", f"{part} *{p} = ({part} *){z};"]
    forms = [
        w.loop([f"{z}[i] = {y}[i] * (1 + 2 * I);"], PARALLEL),
        w.loop([f"{z}[i] = conj({y}[i]) - {z}[i];", f"{r}[i] = creal({y}[i]) + cimag({z}[i]);"], PARALLEL),
        w.loop([f"{t} = {y}[i] + 2.0i;", f"{z}[i] = {t} * {t};"], PARALLEL),
        w.loop([f"{s} += {y}[i] * {r}[i];"], PARALLEL),
        w.loop([f"{s} = {y}[i] + {s};", f"{r}[i] = cimag({y}[i]);"], PARALLEL),
        w.loop([f"{z}[i] = {z}[i - 1] + {y}[i];"], SEQUENTIAL, "1"),
        w.loop([f"{s} = {y}[i] - conj({s});"], OPEN),
        w.loop([f"{p}[2 * i] = creal({z}[i + 1]);"], SEQUENTIAL, "0", "n - 1"),
        w.loop([f"{p}[2 * i + 1] = {r}[i];"], PARALLEL),
        w.loop([f"{p}[i] = {r}[i] + cimag({z}[i]);"], OPEN),
        w.loop([f"if (creal({y}[i]) > 0) {z}[i] = {y}[i] * I;"], PARALLEL),
    ]
    w.code += w.pick(*forms)
    if w.chance(50):
        w.code += w.pick(*forms)
    w.result(f"creal({s}) + 3 * cimag({s}) + creal({t})")
