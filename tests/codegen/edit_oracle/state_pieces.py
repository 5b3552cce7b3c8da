"""Pieces of programs that are about state: of called functions, of threads, of the library, of single bits."""

from __future__ import annotations

from tests.codegen.edit_oracle.writing import OPEN, PARALLEL, ROOM, SEQUENTIAL, Writer


def out_parameters(w: Writer) -> None:
    """Functions that leave results in variables whose addresses they are given."""
    kind = w.pick("int", "int", "double", "long", "unsigned")
    f, s, t = w.name("split"), w.local("s"), w.local("t")
    a, b = w.array(kind), w.read(kind)
    lines, mark = w.pick(
        ("*low = v + 1; *high = v * 2;", PARALLEL),
        ("*low = v; *high = *low + 1;", PARALLEL),
        ("*low = v;", OPEN),
        ("if (v > 0) *low = v; *high = 2;", OPEN),
        ("*low += v; *high = v;", OPEN),
        ("*high = *low; *low = v;", OPEN),
    )
    w.top.append(f"static void {f}({kind} v, {kind} *low, {kind} *high) {{ {lines} }}")
    w.head.append(f"{kind} {s} = 1, {t} = 2;")
    call = f"{f}({b}[i], &{s}, {w.pick(f'&{t}', f'&{t}', f'&{s}')});"
    if f"&{s}, &{s}" in call:
        mark = OPEN
    used = w.pick([], [], [f"{a}[i] = {s};"], [f"{a}[i] = {s} + {t};"], [f"{a}[i] = {t};"])
    if used and mark != PARALLEL:
        mark = OPEN
    guarded = w.chance(20)
    body = [f"if ({b}[i] > 1) {call}" if guarded else call, *used]
    w.code += w.loop(w.mixed(body), OPEN if guarded else mark)
    if w.chance(60):
        w.result(w.pick(s, t, f"{s} + {t}"), kind)


def shared_arguments(w: Writer) -> None:
    """Functions of two arrays that are given one array twice, one that they also name, or two."""
    kind = w.pick("double", "int", "long", "float")
    f = w.name("helper")
    a, b = w.array(kind, where="global"), w.array(kind)
    low, line, meets = w.pick(
        ("0", "to[i] = from[i] + 1;", False),
        ("0", "to[i] += from[i];", False),
        ("0", "to[i] = from[i + 1];", True),
        ("1", "to[i] = from[i - 1] + from[i];", True),
        ("0", "to[n - 1 - i] = from[i];", True),
        ("0", "to[2 * i % n] = from[i] + 2;", True),
        ("0", "from[i] = 2; to[i] = from[i] + 1;", False),
        ("0", "from[0] = 2; to[i] = 3;", True),
    )
    is_named = w.chance(30)
    if is_named:
        line = line.replace("to[", f"{a}[")
    const = "" if "from[i] =" in line or "from[0] =" in line else w.pick("", "const ")
    first, second = (a, a) if is_named or w.chance(60) else w.pick((a, b), (b, a))
    parameters = f"int n, {kind} *to, {const}{kind} *from"
    body = w.loop(
        [f"{each.rstrip(chr(59))};" for each in line.split("; ")],
        OPEN if meets or first == second else PARALLEL,
        low,
        plain=True,
    )
    w.top += [f"static void {f}({parameters})", "{", *(f"    {each}" for each in body), "}"]
    call = f"{f}(n, {first}, {second});"
    if w.chance(25):
        outer = w.name("helper")
        w.top.append(f"static void {outer}({parameters}) {{ {f}(n, to, from); }}")
        call = f"{outer}(n, {first}, {second});"
    w.code.append(call)
    if w.chance(30):
        w.code.append(f"{f}(n, {b}, {a});")


def callees(w: Writer) -> None:
    """Functions that keep something from one call to the next, or only look as if."""
    kind = w.pick("double", "int", "long")
    f, g = w.name("callee"), w.name("state")
    a, b = w.array(kind), w.read(kind)
    static = w.pick("", "static ")
    forms = {
        "pure": ([], [f"{kind} t = v * 2;", "return t + 1;"], PARALLEL),
        "scratch": ([], [f"{kind} t[8];", "for (int j = 0; j < 8; j++) t[j] = v + j;", "return t[7] - t[1] + t[0];"], PARALLEL),
        "reads": ([f"{static}{kind} {g} = 3;"], [f"return v + {g};"], PARALLEL),
        "global scratch": ([f"{static}{kind} {g};"], [f"{g} = v * 2;", f"return {g} + 1;"], OPEN),
        "last": ([f"{static}{kind} {g};"], [f"{g} = v;", "return v * 2;"], OPEN),
        "static local": ([], [f"static {kind} t;", "t = v * 2;", "return t + 1;"], OPEN),
        "static before": ([], [f"static {kind} t;", f"{kind} was = t;", "t = v;", "return was;"], SEQUENTIAL),
        "array": ([f"{static}{kind} {g}[40];"], [f"for (int j = 0; j < 40; j++) {g}[j] = v + j;", f"return {g}[39] - {g}[38] + {g}[1];"], OPEN),
        "structure": ([f"struct {g}_t {{ {kind} t, u[4]; }} {g};"], [f"{g}.t = v;", f"{g}.u[1] = v;", f"return {g}.t * 2 + {g}.u[1];"], OPEN),
        "counter": ([f"{static}int {g};"], [f"{g}++;", "return v;"], OPEN),
        "counter read": ([f"{static}int {g};"], [f"return v + {g}++;"], SEQUENTIAL),
        "sum": ([f"{static}{kind} {g};"], [f"{g} += v;", "return v + 1;"], OPEN),
        "generator": ([f"{static}unsigned {g} = 7;"], [f"{g} = {g} * 5 + 3;", f"return v + (int)({g} % 9);"], SEQUENTIAL),
        "once": ([f"{static}int {g};"], [f"if (!{g}) {g} = 1 + (v > 0);", f"return v + {g};"], OPEN),
        "some": ([f"{static}{kind} {g};"], [f"if (v > 0) {g} = v;", "return v;"], OPEN),
        "some read": ([f"{static}{kind} {g};"], [f"if (v > 0) {g} = v;", f"return {g};"], OPEN),
        "pointer": ([f"{static}{kind} {g}, *{g}_p = &{g};"], [f"*{g}_p = v;", f"return {g} + 1;"], OPEN),
        "largest": ([f"{static}{kind} {g};"], [f"if (v > {g}) {g} = v;", "return v;"], OPEN),
    }  # fmt: skip
    form = w.pick(*forms, "pure", "scratch", "reads")
    top, lines, mark = forms[form]
    if "_t {" in "".join(top):
        w.names.append(f"{g}_t")
    if "_p = " in "".join(top):
        w.names.append(f"{g}_p")
    w.top += top
    inline = w.pick("static ", "static ", "static inline ", "")
    if form == "reads" or "static" in "".join(lines):
        inline = "static "
    w.top.append(f"{inline}{kind} {f}({kind} v) {{ {' '.join(lines)} }}")
    if top and form not in ("reads", "generator", "structure", "array"):
        w.fill.append(f"{g} = 0;")
    if w.chance(20):
        outer = w.name("callee")
        w.top.append(f"static {kind} {outer}({kind} v) {{ return {f}(v) + 1; }}")
        f = outer
    body = [f"{a}[i] = {f}({b}[i]);"]
    if w.chance(20):
        into = w.name("callee")
        w.top.append(f"static void {into}({kind} *to, {kind} v) {{ *to = {f}(v); }}")
        body = [f"{into}(&{a}[i], {b}[i]);"]
    if w.chance(15):
        whole = w.name("callee")
        w.top.append(
            f"static void {whole}(int t, {kind} *to, const {kind} *from) {{ to[t] = {f}(from[t]); }}"
        )
        body = [f"{whole}(i, {a}, {b});"]
    if w.chance(12):
        body.append(f"{f}({b}[i] + 1);")
    loop = w.loop(w.mixed(body), mark)
    if w.chance(15):
        rounds = w.local("t")
        loop = w.loop(loop, SEQUENTIAL if mark == SEQUENTIAL else OPEN, "0", "3", rounds, plain=True)
    w.code += loop
    if top and form not in ("array", "structure", "reads"):
        if w.chance(35):
            w.result(g)
        if w.chance(60):
            w.shown_global(g)
    elif form == "structure" and w.chance(50):
        w.shown_global(f"{g}.t")


def overwritten_globals(w: Writer) -> None:
    """Variables with static storage that a loop sets, and that are set anew before the function returns:
    others may read them in between."""
    kind = w.pick("double", "int", "long", "float")
    a, b = w.array(kind), w.read(kind)
    g, look, at = w.name("state"), w.name("look"), w.name("at")
    static = w.pick("", "static ")
    declared, part = w.pick((g, g), (g, g), (f"{g}[6]", f"{g}[2]"))
    w.top += [
        f"{static}{kind} {declared};",
        f"{w.pick('', 'static ')}{kind} *{at} = &{part};",
        f"static {kind} {look}(void) {{ return {w.pick(part, part, f'*{at}')}; }}",
    ]
    if w.chance(20):
        outer = w.name("look")
        w.top.append(f"static {kind} {outer}(void) {{ return {look}() + 1; }}")
        look = outer
    w.fill.append(f"{part} = 3;")
    seen = w.name("seen")
    w.top.append(f"static {kind} {seen};")
    w.show.append(f"show_number({w.next_shown()}, (double){seen});")
    reads = [f"{seen} = {w.pick(f'{look}()', f'{look}()', f'*{at}', part)};"] if w.chance(75) else []
    again = w.pick(f"{part} = 0;", f"{part} = 0;", f"if ({b}[0] > 0) {part} = 0;", "")
    body = [f"{part} = {b}[i];", f"{a}[i] = {part}{w.pick('', ' + 1', ' * 2')};"]
    if w.chance(20):
        body[0] = f"if ({b}[i] > 0) {body[0]}"
    # A pointer of the program may lead to the variable.
    loop = w.loop(w.mixed(body), OPEN)
    if w.chance(25):
        rounds = w.local("t")
        inside = [*loop, *reads, again]
        w.code += w.loop(w.pick(inside, [*reads, again, *loop]), OPEN, "0", "3", rounds, plain=True)
    else:
        w.code += [*loop, *reads, again]
    if w.chance(40):
        w.shown_global(part)


def threads(w: Writer) -> None:
    """Thread-private variables."""
    kind = w.pick("double", "int", "long")
    buf = w.name("buf")
    storage = w.pick("plain", "_Thread_local", "__thread", "threadprivate")
    before = {
        "plain": "static ",
        "_Thread_local": "static _Thread_local ",
        "__thread": "static __thread ",
    }.get(storage, "")
    is_array = w.chance(60)
    w.top.append(f"{before}{kind} {buf}{f'[{ROOM}]' if is_array else ''};")
    if storage == "threadprivate":
        w.top.append(f"#pragma omp threadprivate({buf})")
    a, b = w.array(kind), w.read(kind)
    is_plain = storage == "plain"
    good = PARALLEL if is_plain else OPEN
    if is_array:
        w.fill.append(f"for (int k = 0; k < {ROOM}; k++) {buf}[k] = k;")
        pieces = [
            [*w.loop([f"{buf}[i] = {b}[i] * 2;"], good), *w.loop([f"{a}[i] = {buf}[i - 1] + {buf}[i + 1];"], good, "1", "n - 1")],
            w.loop([f"{a}[i] = {buf}[i] + 1;"], good),
            w.loop(w.mixed([f"for (int j = 0; j < 4; j++) {buf}[j] = {b}[i] + j;", f"{a}[i] = {buf}[3] - {buf}[0] + {buf}[1];"]), OPEN),
            w.loop([f"{buf}[i] = {buf}[i - 1] + {b}[i];"], SEQUENTIAL, "1"),
            w.loop([f"{buf}[i % 7] += {b}[i];"], OPEN),
        ]  # fmt: skip
        w.code += w.pick(*pieces)
        if w.chance(60):
            w.result(f"{buf}[3] + {buf}[5]")
    else:
        w.fill.append(f"{buf} = 2;")
        pieces = [
            w.loop([f"{buf} = {b}[i] * 2;", f"{a}[i] = {buf} + 1;"], OPEN),
            w.loop([f"{buf} += {b}[i];"], good if kind != "float" else OPEN),
            w.loop([f"{a}[i] = {b}[i] + {buf};"], good),
            w.loop([f"{a}[i] = {buf};", f"{buf} = {b}[i];"], SEQUENTIAL),
            w.loop([f"if ({b}[i] > {buf}) {buf} = {b}[i];"], good),
        ]
        w.code += w.pick(*pieces)
        if w.chance(70):
            w.result(buf)


def bit_fields(w: Writer) -> None:
    """Members that share a unit of memory, and others that do not."""
    tag, stored = w.name("bits"), w.name("packed")
    kind = w.pick("unsigned", "unsigned", "uint8_t", "uint16_t", "int")
    layout = w.pick("adjacent", "adjacent", "zero width", "members", "far")
    if layout == "adjacent":
        fields = f"{kind} lo : 4; {kind} hi : 4;"
    elif layout == "zero width":
        fields = f"{kind} lo : 4; {kind} : 0; {kind} hi : 4;"
    elif layout == "members":
        fields = w.pick("unsigned char lo; unsigned char hi;", "short lo; char hi;")
    else:
        fields = f"{kind} lo : 3; double between; {kind} hi : 5;"
    separate = layout != "adjacent"
    w.top.append(f"struct {tag} {{ {fields} }};")
    w.top.append(f"static struct {tag} {stored}[{ROOM}];")
    w.fill.append(
        f"for (int k = 0; k < {ROOM}; k++) {stored}[k].lo = drawn_int(0, 3), {stored}[k].hi = drawn_int(0, 3);"
    )
    w.show.append(
        f"{{ double sum = 0; for (int k = 0; k < {ROOM}; k++) sum = fmod(sum * 3 + {stored}[k].lo + 5 * {stored}[k].hi, 10007.0); "
        f"show_number({w.next_shown()}, sum); }}"
    )
    s = stored
    if w.chance(60):
        s = w.local("s")
        w.params.append((f"struct {tag} *{w.pick('', 'restrict ')}{s}", stored))
    v = w.read("int", 0, 3)
    across = PARALLEL if separate else SEQUENTIAL
    halves = [f"if (i < n) {s}[i].lo = {v}[i % {ROOM}];", f"else {s}[i - n].hi = {v}[i % {ROOM}];"]
    choices = [
        (w.loop(halves, across if separate else OPEN, "0", "2 * n", plain=True)),
        (w.loop([f"if (i % 2) {s}[i / 2].lo = 3;", f"else {s}[i / 2].hi = 1;"], OPEN, "0", "n", plain=True)),
        (w.loop([f"{s}[i].lo = {v}[i];", f"{s}[i].hi = {v}[i];"], PARALLEL)),
        (w.loop([f"{s}[i].lo = {s}[i].hi;"], PARALLEL)),
        (w.loop([f"{s}[i].lo = {v}[i];", f"{s}[i + 1].hi = {v}[i];"], across, plain=True)),
        (w.loop([f"{s}[i].lo = {s}[i - 1].hi;"], PARALLEL if separate else OPEN, "1")),
        (w.loop([f"{s}[i].lo = {s}[i - 1].lo;"], SEQUENTIAL, "1")),
        (w.loop([f"{s}[i].lo = {v}[i];"], PARALLEL)),
    ]
    if w.chance(12):
        lines = [f"{s}[0].lo = i & 3;", f"{s}[0].hi = (i + 1) & 3;"]
        choices = [w.loop(lines, OPEN)]
    w.code += w.pick(*choices)


def library_state(w: Writer) -> None:
    """`errno` and the like after calls of the library."""
    a, b = w.array("double"), w.read("double", -4, 9)
    e = w.array("int", least=0)
    call = w.pick("sqrt", "log", "exp", "fabs", "floor")
    quiet = call in ("fabs", "floor")
    arg = f"{b}[i]" if w.chance(70) else f"fabs({b}[i]) + 1"
    store = f"{a}[i] = {call}({arg}) > 0;"
    form = w.number(0, 9)
    if form == 0:
        w.code += w.loop([store, f"{e}[i] = errno;"], OPEN)
    elif form == 1:
        w.code += w.loop(["errno = 0;", store, f"{e}[i] = errno != 0;"], OPEN)
    elif form == 2:
        w.code += ["errno = 0;", *w.loop([store], OPEN if not quiet else PARALLEL)]
        w.result("errno != 0", "int")
    elif form == 3:
        w.code += w.loop(["errno = 0;", store, f"if (errno) {e}[i] = 1;"], OPEN)
    elif form == 4:
        w.code += w.loop([f"{a}[i] = lgamma({b}[i] + 0.5) > 0;", f"{e}[i] = signgam;"], OPEN)
    elif form == 5:
        check = w.name("checked")
        w.top.append(
            f"static double {check}(double v) {{ errno = 0; double r = {call}(v); return errno ? -1 : r > 0; }}"
        )
        w.code += w.loop([f"{a}[i] = {check}({b}[i]);"], OPEN)
    elif form == 6:
        note = w.name("noted")
        dropped = w.pick("lgamma(v);", "(void)lgamma(v);", "lgamma(v) + 1;", "double r = lgamma(v); (void)r;")
        w.top.append(f"static void {note}(double v) {{ {dropped} }}")
        w.code += w.loop([f"{note}({b}[i] + 0.5);", f"{e}[i] = {w.pick('signgam', '1')};"], OPEN)
    elif form == 7:
        loop, variable = w.name("loop"), w.pick("errno != 0", "signgam")
        used = "lgamma" if variable == "signgam" else call
        w.top.append(
            f"static void {loop}(int n, double *restrict to, const double *restrict from) {{\n"
            f"    for (int i = 0; i < n; i++)\n        to[i] = {used}(from[i] + 0.5) > 0;\n}}"
        )
        w.code += ["errno = 0;", f"{loop}(n, {a}, {b});"]
        w.result(variable, "int")
    else:
        w.code += w.loop(w.mixed([f"{a}[i] = {call}({arg}) > 0;"]), PARALLEL)
    w.fill.append("errno = 0;")


def foreign_pragmas(w: Writer) -> None:
    """Pragmas of compilers and tools above loops."""
    a, b = w.array(), w.read()
    pragma = w.pick(
        "#pragma GCC ivdep", "#pragma GCC unroll 4", "#pragma unroll", "#pragma unroll(4)", "#pragma ivdep",
        "#pragma clang loop vectorize(enable)", "#pragma clang loop unroll_count(2)", "#pragma nounroll",
        "#pragma vector always", "#pragma loop_count(100)", "#pragma GCC ivdep\n#pragma GCC unroll 2",
        "#pragma GCC unroll 8\n    #pragma GCC ivdep", '_Pragma("GCC ivdep")', "",
    )  # fmt: skip
    lines = pragma.split("\n") if pragma else []
    body, mark = w.pick(
        ([f"{a}[i] = {b}[i] * 2;"], PARALLEL),
        ([f"{a}[i] = {b}[i] + {a}[i];"], PARALLEL),
        ([f"{a}[i] = {a}[i - 1] + {b}[i];"], SEQUENTIAL) if "ivdep" not in pragma else ([f"{a}[i] = {b}[i - 1];"], PARALLEL),
        ([f"{a}[i] = 0;", f"for (int j = 0; j < 4; j++) {a}[i] += {b}[i + j];"], PARALLEL),
    )  # fmt: skip
    loop = w.loop(w.mixed(body), mark, "1", plain=True)
    form = w.number(0, 4)
    if form == 0:
        loop = ["#pragma scop", *lines, *loop, "#pragma endscop"]
    elif form == 1:
        c = w.array("double", "200")
        inner = [*lines, *w.loop([f"{c}[i*7 + j] += j;"], PARALLEL, "0", "7", "j", plain=True)]
        loop = w.loop(inner, PARALLEL, "0", "20", plain=True)
        if w.chance(50):
            loop = [*lines, *loop]
    elif form == 2:
        s = w.local("s")
        w.head.append(f"double {s} = 0;")
        loop = [*lines, *w.loop([f"{s} += {b}[i];"], PARALLEL, plain=True)]
        w.code += loop
        w.result(s)
        return
    else:
        loop = [*lines, *loop]
    w.code += loop
