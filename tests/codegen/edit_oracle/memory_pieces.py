"""Pieces of programs that are about memory: pointers in it, addresses of variables, structures, scatters,
flat images, large arrays."""

from __future__ import annotations

from tests.codegen.edit_oracle.writing import OPEN, PARALLEL, ROOM, SEQUENTIAL, SIZE, Writer


def pointers(w: Writer) -> None:
    """Values of pointers that are loaded, stored, compared and copied."""
    kind = w.pick("double", "int", "char", "void", "struct", "function")
    base = w.name("cells")
    if kind == "function":
        one, two, three = w.name("f"), w.name("f"), w.name("f")
        element = w.name("fp")
        for k, each in enumerate((one, two, three)):
            w.top.append(f"static int {each}(int v) {{ return v + {k}; }}")
        w.top.append(f"typedef int (*{element})(int);")
        value = f"(drawn_int(0, 2) ? {one} : drawn_int(0, 1) ? {two} : {three})"
        seen, null = "({0} ? {0}(1) : -1)", "0"
    elif kind == "struct":
        tag = w.name("node")
        w.top.append(f"struct {tag} {{ struct {tag} *next; int v; }};")
        element = f"struct {tag} *"
        w.top.append(f"static struct {tag} {base}[{ROOM}];")
        value, seen, null = f"&{base}[drawn_int(0, {SIZE})]", f"({{0}} ? {{0}} - {base} : -1)", "NULL"
    else:
        element = f"{kind} *"
        w.top.append(f"static {'char' if kind == 'void' else kind} {base}[{ROOM}];")
        cast = f"({'char' if kind == 'void' else kind} *)"
        value, seen, null = f"{base} + drawn_int(0, {SIZE})", f"({{0}} ? {cast}{{0}} - {base} : -1)", "NULL"
    container = w.pick("array", "array", "restrict", "plain", "field", "rows")
    if kind == "struct" and w.chance(40):
        container = "link"
    target, source = _pointer_arrays(w, container, element, value, seen, base, kind)
    fits_move = kind in ("double", "int", "char", "struct")
    shift = w.pick("", "", " - 1", " + 1", " + 1", " - 2", " + 8", " - 9", "k", "k")
    low = {" - 1": "1", " - 2": "2", " - 9": "9", "k": "9"}.get(shift, w.pick("0", "1"))
    if shift == "k":
        shift = f" {w.pick('+', '-')} {w.integer(w.pick(3, 1, 7), w.pick(1, 2))}"
    other = w.chance(45)
    here, there = target("i"), (source if other else target)(f"i{shift}")
    mark = PARALLEL if other or not shift else SEQUENTIAL
    temp = w.local("t")
    if kind == "function":
        forms = [
            [f"{here} = {there};"],
            [f"{element} {temp} = {there};", f"{here} = {temp};"],
            [f"{here} = {there} ? {there} : {one};"],
            [f"if ({there} == {two}) {here} = {one};", f"else {here} = {three};"],
        ]
    else:
        flags = w.array("int")
        forms = [
            [f"{here} = {there};"],
            [f"{element} {temp} = {there};", f"{here} = {temp};"],
            [f"{here} = {flags}[0] > 0 ? {there} : {here};"],
            [f"if ({there} == {null}) {here} = ({element}){base};", f"else {here} = {null};"],
            [f"{flags}[i] = ({there} == {null});", f"{here} = {null};"],
            [f"if ({there}) {here} = {there};"],
            [f"{here} = ({element})(void *){there};"],
            [f"{here} = ({element})(intptr_t){there};"],
            [f"memcpy(&{here}, &{there}, sizeof {here});"],
        ]
        if fits_move:
            step = w.pick("1", w.integer(2, 1))
            forms += [
                [f"{here} = {there} + {step};"],
                [f"{flags}[i] = (int)({there} - {base});", f"{here} = ({element}){base} + i;"],
            ]
        if kind in ("double", "int") and container != "link":
            put, get = w.name("put"), w.name("get")
            w.top.append(f"static void {put}({element}*to, {element}from) {{ *to = from; }}")
            w.top.append(f"static {element}{get}({element}const *from) {{ return *from; }}")
            forms += [
                [f"{put}(&{here}, {there});"],
                [f"{here} = {get}(&{there});"],
                [f"{here} = {base} + i;", f"{flags}[i] = (int)({there} != {null});"],
                [f"{here} = {base} + i;", f"if ({there}) {flags}[i] = (int)*{there};"],
            ]
        if shift and not other:
            forms.append([f"{element} {temp} = {here};", f"{here} = {there};", f"{there} = {temp};"])
    body = w.pick(*forms)
    if w.chance(12) and kind != "function":
        last = w.local("last")
        w.head.append(f"{element} {last} = {null};")
        body, mark = [f"{element} c = {here};", f"{here} = {last};", f"{last} = c;"], SEQUENTIAL
    w.code += w.loop(w.mixed(body), mark, low)


def _pointer_arrays(w: Writer, container: str, element: str, value: str, seen: str, base: str, kind: str):
    """Two arrays that hold pointers, as functions of a subscript."""
    if container == "link":
        tag = element.split()[1]
        names = []
        for _ in range(2):
            stored = w.name("nodes")
            w.top.append(f"static struct {tag} {stored}[{ROOM}];")
            names.append(stored)
            _loop_in_main(w, f"{stored}[k].next = {value};", seen.format(f"{stored}[k].next"))
        return tuple(lambda at, name=name: f"{name}[{at}].next" for name in names)
    found = []
    for _ in range(2):
        stored = w.name("m")
        if container == "field":
            tag = w.name("holder")
            w.top.append(f"struct {tag} {{ int v; {element} p; double x; }};")
            w.top.append(f"static struct {tag} {stored}[{ROOM}];")
            _loop_in_main(w, f"{stored}[k].p = {value};", seen.format(f"{stored}[k].p"))
            name = stored
            if w.chance(50):
                name = w.local("s")
                w.params.append((f"struct {tag} *{w.pick('', 'restrict ')}{name}", stored))
            found.append(lambda at, name=name: f"{name}[{at}].p")
            continue
        if container == "rows":
            w.top.append(f"static {element} {stored}[{ROOM}][3];")
            _loop_in_main(w, f"{stored}[k][1] = {value};", seen.format(f"{stored}[k][1]"))
            found.append(lambda at, name=stored: f"{name}[{at}][1]")
            continue
        w.top.append(f"static {element} {stored}[{ROOM}];")
        _loop_in_main(w, f"{stored}[k] = {value};", seen.format(f"{stored}[k]"))
        name = stored
        if container != "array":
            name = w.local("p")
            star = "*restrict " if container == "restrict" else "*"
            w.params.append((f"{element} {star}{name}", stored))
        found.append(lambda at, name=name: f"{name}[{at}]")
    return tuple(found)


def _loop_in_main(w: Writer, fill: str, seen: str, count: int = ROOM) -> None:
    """Lines of `main` that fill and show an array element by element."""
    w.fill.append(f"for (int k = 0; k < {count}; k++) {fill}")
    w.show.append(
        f"{{ double sum = 0; for (int k = 0; k < {count}; k++) sum = sum * 3 + (double)({seen}), "
        f"sum = fmod(sum, 1000003.0); show_number({w.next_shown()}, sum); }}"
    )


def addresses(w: Writer) -> None:
    """Variables of the function that pointers lead to, too."""
    kind = w.pick("double", "int", "long", "float")
    a, b = w.array(kind), w.read(kind)
    t, p = w.local("t"), w.local("p")
    form = w.number(0, 11)
    static = w.pick("", "", "static ")
    aliased = w.chance(60)
    """An alias that a copy per iteration does not move."""
    if form <= 1:
        shape, write, read = f"{static}{kind} {t}[2];", f"{t}[0]", f"{p}[0]"
        alias, none = f"{kind} *{p} = {t};", f"{t}[0]"
        if w.chance(35):
            # A pointer to the pointer.
            inner = w.local("p")
            read, alias = f"{p}[0][0]", f"{kind} *{inner} = {t}, **{p} = &{inner};"
    elif form <= 3:
        shape, write, read = f"{static}{kind} {t};", t, f"*{p}"
        alias, none = f"{kind} *{p} = &{t};", t
    elif form == 4:
        tag = w.name("pair")
        w.top.append(f"struct {tag} {{ {kind} x, y; }};")
        shape, write, read = f"struct {tag} {t};", f"{t}.x", f"{p}->x"
        alias, none = f"struct {tag} *{p} = &{t};", f"{t}.x"
    elif form == 5:
        shape, write, read = f"{kind} {t}[4][4];", f"{t}[2][3]", f"{p}[3]"
        alias, none = f"{kind} *{p} = {t}[2];", f"{t}[2][3]"
    elif form == 6:
        other = w.name("gp")
        w.top.append(f"{w.pick('', 'static ')}{kind} *{other};")
        shape, write, read = f"static {kind} {t};", t, f"*{other}"
        alias, none = f"{other} = &{t};", t
    elif form == 7:
        tag = w.name("pair")
        w.top.append(f"struct {tag} {{ {kind} x, y[3]; }};")
        shape, write, read = f"struct {tag} {t};", f"{t}.y[1]", f"*{p}"
        alias, none = f"{kind} *{p} = &{t}.y[1];", f"{t}.y[1]"
    elif form == 8:
        shape, write, read = f"{kind} {t}[6];", f"{t}[3]", f"{p}[1]"
        alias, none = f"{kind} *{p} = {t} + 2;", f"{t}[3]"
    elif form >= 10:
        # Functions of the file keep the address, and follow it.
        kept, keep, look = w.name("kept"), w.name("keep"), w.name("look")
        w.top += [
            f"{w.pick('', 'static ')}{kind} *{kept};",
            f"{w.pick('', 'static ')}void {keep}({kind} *p) {{ {kept} = p; }}",
        ]
        called = f"{look}()"
        if w.chance(40):
            # More than a value that stands for the call.
            seen, called = w.name("seen"), f"{look}(i)"
            w.top += [
                f"static {kind} {seen}[{ROOM}];",
                f"static {kind} {look}(int i) {{ {seen}[i] = *{kept}; return {seen}[i]; }}",
            ]
        else:
            w.top.append(f"static {kind} {look}(void) {{ return *{kept}; }}")
        shape, write, read = (
            f"{w.pick('', 'static ')}{kind} {t};",
            t,
            w.pick(called, called, f"*{kept}"),
        )
        alias, none = w.pick(f"{keep}(&{t});", f"{kept} = &{t};"), t
    else:
        hold = w.name("hold")
        w.top.append(f"struct {hold} {{ {kind} *at; }};")
        shape, write, read = f"{kind} {t}[3];", f"{t}[1]", f"{p}.at[1]"
        alias, none = f"struct {hold} {p} = {{ {t} }};", f"{t}[1]"
    use = read if aliased else none
    first = write
    if aliased and w.chance(35) and not read.endswith("()"):
        first, use = read, none
    by_global = form == 6 or form >= 10
    body = [f"{first} = {b}[i];", f"{a}[i] = {use}{w.pick('', ' + 1', ' * 2')};"]
    if w.chance(25):
        body.insert(1, f"for (int j = 0; j < 5; j++) {first} += j;")
    place = w.pick("before", "before", "inside", "assigned")
    mark = OPEN if aliased else PARALLEL
    if place == "inside" and not static and not by_global:
        body = [shape, alias, *body]
        mark = OPEN if ", **" in alias else PARALLEL
    elif (
        place == "assigned"
        and alias.split(" = ")[0].count("*") == 1
        and ", **" not in alias
        and not by_global
    ):
        w.head += [shape, alias.split(" = ")[0] + ";"]
        body = [f"{p} = {alias.split(' = ')[1]}", *body]
        mark = PARALLEL if not static else OPEN
    else:
        w.head += [shape, alias] if not by_global else [shape]
        if by_global:
            w.code.append(alias)
    w.code += w.loop(w.mixed(body), mark)
    outside = place not in ("inside",) or static or by_global
    if outside and w.chance(30) and w.sizes[1] > 0:
        after = read.replace("(i)", "(0)")
        w.result(w.pick(after, none) if (alias in w.head or by_global) else none)


def scatters(w: Writer) -> None:
    """`h[idx[i]] += ...`, with and without repeated subscripts."""
    kind = w.pick("double", "int", "unsigned", "float", "long")
    h = w.array(kind)
    repeated = w.chance(60)
    idx_store = w.name("idx")
    w.data.append(f"static int {idx_store}[{ROOM}];")
    span = w.pick(5, 17, SIZE)
    w.fill.append(
        f"for (int k = 0; k < {ROOM}; k++) {idx_store}[k] = "
        + (f"drawn_int(0, {span - 1});" if repeated else f"(k * 7 + 3) % {ROOM};")
    )
    idx = w.local("idx")
    w.params.append((f"const int *{w.pick('', 'restrict ')}{idx}", idx_store))
    if repeated:
        w.violated.add("distinct-values")
    at = f"{idx}[i]"
    b = w.read(kind, 0, 6) if w.chance(80) else h
    bit = kind in ("int", "unsigned", "long")
    x = f"{b}[i]" if b != h else "1"
    place = f"{h}[{at}]"
    if w.chance(15):
        x = f"{h}[i]"
    forms = [
        [f"{place} += {x};"], [f"{place} = {place} + {x};"], [f"{place} += 1;"], [f"{place}++;"], [f"{place} -= {x};"],
        [f"{place} = {x};"], [f"if ({x} > {place}) {place} = {x};"],
        [f"{place} = {place} > {x} ? {place} : {x};"],
        [f"int k = {at};", f"{h}[k] += {x};"],
        [f"{h}[{at} % 8] += {x};"],
        [f"{kind} *q = &{place};", f"*q += {x};"],
    ]  # fmt: skip
    if bit:
        forms += [[f"{place} |= {x};"], [f"{place} ^= (int)i;"]]
    if w.chance(40):
        forms = _scattered_rows(w, kind, at, x)
    gathers = [[f"{h}[i] = {b}[{at}];"], [f"{h}[i] += {b}[{at}];"], [f"{h}[i] = {at};"]] if b != h else []
    if gathers and w.chance(35):
        w.code += w.loop(w.mixed(w.pick(*gathers)), PARALLEL)
        return
    w.code += w.loop(w.mixed(w.pick(*forms)), OPEN)
    if w.chance(25):
        w.code += w.loop([f"{h}[{idx}[j]] += 1;"], OPEN, name="j")


def _scattered_rows(w: Writer, kind: str, at: str, x: str) -> list[list[str]]:
    """Statements on several elements that an index chooses together, some of them those of its neighbour."""
    wide, per = w.name("wide"), w.pick("4", w.integer(4, 4))
    w.top.append(f"static {kind} {wide}[{5 * ROOM}];")
    _loop_in_main(w, f"{wide}[k] = drawn_int(-3, 4);", f"{wide}[k]", 5 * ROOM)
    each = f"for (int j = 0; j < {w.pick(per, per, '3', '5')}; j++)"
    if w.chance(40):
        d = w.integer(ROOM, ROOM) if w.chance(60) else w.integer(1, 3)
        forms = [[f"{wide}[{at} + {d} * {k}] = {x} + {k};" for k in range(w.pick(2, 3))]]
        forms += [[f"for (int j = 0; j < 3; j++) {wide}[{at} + {d} * j] = {x};"]]
        return [*forms, [f"{wide}[{at} + {d}] = {x};", f"{wide}[{at}] {w.pick('', '+')}= 2;"]]
    return [
        [f"{wide}[2 * {at}] = {x};", f"{wide}[2 * {at} + 1] = 2;"],
        [f"{wide}[2 * {at}] = {x};", f"{wide}[2 * {at} + 2] = 2;"],
        [f"{wide}[3 * {at} + 1] = {x};"],
        [f"{each} {wide}[{at} * {per} + j] = {x} + j;"],
        [f"{each} {wide}[j + {per} * {at}] += {x};"],
        [f"{wide}[{at} + 1] = {x};", f"{wide}[{at} + {w.pick('1', '2')}] += 1;"],
        [f"{wide}[{ROOM} - {at}] = {x};"],
        [f"{kind} *r = {wide} + {per} * {at};", f"r[0] = {x};", f"r[{w.pick('2', '4')}] = r[1];"],
        [f"int k = {at} * {per};", f"{each} {wide}[k + j] = {x};"],
    ]


def big_arrays(w: Writer) -> None:
    """A scratch array of each iteration, which may be larger than a stack."""
    kind = w.pick("double", "float", "int")
    is_big = w.chance(50)
    length = (
        {"double": "1300000", "float": "2500000", "int": "2400000"}[kind] if is_big else w.pick("16", "40")
    )
    tmp, store = w.name("tmp"), ""
    form = w.pick("file", "file", "static", "field", "rows")
    if form == "static":
        w.head.append(f"static {kind} {tmp}[{length}];")
        store = f"{tmp}[{{0}}]"
    elif form == "field":
        tag = w.name("work")
        w.top.append(f"struct {tag} {{ int used; {kind} w[{length}]; }};")
        w.top.append(f"static struct {tag} {tmp};")
        store = f"{tmp}.w[{{0}}]"
    elif form == "rows":
        w.top.append(f"static {kind} {tmp}[{length}][1];")
        store = f"{tmp}[{{0}}][0]"
    else:
        w.top.append(f"{w.pick('', 'static ')}{kind} {tmp}[{length}];")
        store = f"{tmp}[{{0}}]"
    count = length if w.chance(75) or form == "field" else "9"
    a, b = w.array(kind), w.read(kind)
    updates = w.pick("=", "=", "=", "+=")
    body = [f"for (int j = 0; j < {count}; j++) {store.format('j')} {updates} {b}[i] + j % 7;"]
    body += [f"{a}[i] = {store.format('3')} + {store.format('1')};"]
    is_whole = count == length and updates == "=" and form != "field"
    mark = PARALLEL if not is_big and is_whole else OPEN
    w.code += w.loop(w.mixed(body), mark, "0", "3" if is_big else "n")
    if w.chance(40):
        w.result(store.format(w.pick("3", "8")))
    if form != "static":
        w.fill.append(f"memset(&{tmp}, 0, sizeof {tmp});")


def structures(w: Writer) -> None:
    """Arrays of structures and structures of arrays."""
    kind = w.pick("double", "int", "float")
    if w.chance(55):
        tag, stored = w.name("item"), w.name("items")
        w.top.append(f"struct {tag} {{ {kind} x, y; int v; {kind} w[{w.pick('3', '3', '40')}]; }};")
        w.top.append(f"{w.pick('', 'static ')}struct {tag} {stored}[{ROOM}];")
        _loop_in_main(
            w,
            f"{{ {stored}[k].x = drawn_int(-3, 4); {stored}[k].y = drawn_int(-3, 4); {stored}[k].v = drawn_int(0, 5); "
            f"for (int j = 0; j < 3; j++) {stored}[k].w[j] = drawn_int(-3, 4); }}",
            f"{stored}[k].x + 2 * {stored}[k].y + 3 * {stored}[k].v + 5 * {stored}[k].w[0] + 7 * {stored}[k].w[1]"
            f" + 9 * {stored}[k].w[2]",
        )
        s = stored
        if w.chance(60):
            s = w.local("s")
            w.params.append((f"struct {tag} *{w.pick('', 'restrict ')}{s}", stored))
        low, k = "2", w.pick(" - 1", " + 1", " - 2", " + 4")
        body, mark = w.pick(
            ([f"{s}[i].x = {s}[i].y * 2;"], PARALLEL),
            ([f"{s}[i].x = {s}[i{k}].y * 2;"], PARALLEL),
            ([f"{s}[i].x = {s}[i{k}].x + 2;"], SEQUENTIAL),
            ([f"{s}[i] = {s}[i{k}];"], SEQUENTIAL),
            ([f"{s}[i].w[0] = {s}[i{k}].w[1];"], PARALLEL),
            ([f"{s}[i].w[0] = {s}[i{k}].w[0];"], SEQUENTIAL),
            ([f"struct {tag} t = {s}[i];", "t.x += t.y;", f"{s}[i] = t;"], PARALLEL),
            ([f"struct {tag} t = {s}[i{k}];", "t.x += t.y;", f"{s}[i] = t;"], SEQUENTIAL),
            ([f"struct {tag} *q = &{s}[i];", "q->x = q->y + q->v;"], PARALLEL),
            ([f"struct {tag} *q = &{s}[i];", f"q->x = (q{k})->x + 1;"], SEQUENTIAL),
            ([f"{s}[i].v = {s}[{s}[i].v].v;"], OPEN),
            ([f"for (int j = 0; j < 3; j++) {s}[i].w[j] += {s}[i].x;"], PARALLEL),
            ([f"for (int j = 0; j < 3; j++) {s}[0].w[j] += {s}[i].x;"], OPEN),
            ([f"{kind} *q = {s}[i].w;", "q[0] = q[1];", f"{s}[i].y = {s}[i].w[0];"], PARALLEL),
            ([f"memcpy(&{s}[i], &{s}[i{k}], sizeof {s}[i]);"], SEQUENTIAL),
            ([f"memset(&{s}[i], 0, sizeof *{s});", f"{s}[i].w[2] = i;"], PARALLEL),
            ([f"memset({s} + i, 0, sizeof(struct {tag}));", f"{s}[i].x = {s}[i{k}].y;"], SEQUENTIAL),
            (
                [
                    f"struct {tag} t;",
                    "memset(&t, 0, sizeof t);",
                    f"t.w[1] = {s}[i].x;",
                    f"memcpy(&{s}[i], &t, sizeof t);",
                ],
                PARALLEL,
            ),
            (
                [f"struct {tag} t;", f"memcpy(&t, &{s}[i{k}], sizeof t);", "t.w[2] += t.y;", f"{s}[i] = t;"],
                SEQUENTIAL,
            ),
            ([f"memcpy({s}[i].w, &{s}[i].x, sizeof({kind}));"], PARALLEL),
        )
        w.code += w.loop(w.mixed(body), mark, low)
        return
    tag, stored = w.name("vec"), w.name("vecs")
    w.top.append(f"struct {tag} {{ int n; {kind} *x, *y; {kind} z[{ROOM}]; }};")
    w.top.append(f"static struct {tag} {stored};")
    x, y = w.name("store"), w.name("store")
    same = w.chance(15)
    w.top.append(f"static {kind} {x}[{ROOM}], {y}[{ROOM}];")
    if same:
        w.violated.add("no-overlap")
    w.fill.append(f"{stored}.n = n; {stored}.x = {x}; {stored}.y = {x + ' + 1' if same else y};")
    for each in (x, y, f"{stored}.z"):
        _loop_in_main(w, f"{each}[k] = drawn_int(-3, 4);", f"{each}[k]")
    v = f"{stored}."
    if w.chance(70):
        name = w.local("v")
        w.params.append((f"struct {tag} *{w.pick('', 'restrict ')}{name}", f"&{stored}"))
        v = f"{name}->"
    d = w.pick(" - 1", " + 1", " - 2")
    unknown = OPEN
    body, mark = w.pick(
        ([f"{v}x[i] = {v}y[i] + 1;"], unknown),
        ([f"{v}x[i] += {v}y[i{d}];"], unknown),
        ([f"{v}x[i] = {v}x[i{d}] + 1;"], SEQUENTIAL),
        ([f"{v}z[i] = {v}z[i] * 2 + i;"], PARALLEL),
        ([f"{v}z[i] = {v}z[i{d}] + 2;"], SEQUENTIAL),
        ([f"{v}z[i] = {v}x[i] - {v}y[i{d}];"], unknown),
        ([f"{kind} *q = {v}x;", f"q[i] = {v}x[i{d}];"], SEQUENTIAL),
        ([f"{v}x[i] = 1;", f"{v}y[i] = 2;"], unknown),
    )
    w.code += w.loop(w.mixed(body), mark, "2", w.pick("n", "n", f"{v}n"), plain=True)


def members(w: Writer) -> None:
    """Members of nested structures by their names and through their addresses."""
    kind = w.pick("double", "int", "float")
    pair, tag, stored = w.name("pair"), w.name("item"), w.name("items")
    w.top.append(f"struct {pair} {{ {kind} a, b; }};")
    w.top.append(f"struct {tag} {{ {kind} x, y; struct {pair} in; {kind} w[3]; }};")
    w.top.append(f"static struct {tag} {stored}[{ROOM}];")
    fields = ("x", "y", "in.a", "in.b", "w[1]")
    fill = " ".join(f"{stored}[k].{each} = drawn_int(-3, 4);" for each in fields)
    seen = " + ".join(f"{k + 1} * {stored}[k].{each}" for k, each in enumerate(fields))
    _loop_in_main(w, f"{{ {fill} }}", seen)
    a, b = w.array(kind), w.read(kind)
    s = stored
    if w.chance(60):
        s = w.local("s")
        w.params.append((f"struct {tag} *{s}", stored))
    put, get = w.name("put"), w.name("get")
    w.top.append(f"static void {put}(struct {pair} *p, {kind} v) {{ p->b = v; }}")
    w.top.append(f"static {kind} {get}(const struct {pair} *p) {{ return p->b; }}")
    q = w.local("q")
    field, declared, through = w.pick(
        ("in.b", f"struct {pair} *{q} = &{{}}.in;", w.pick(f"{q}->b", f"{q}[0].b", f"(*{q}).b")),
        ("in.b", f"{kind} *{q} = &{{}}.in.b;", w.pick(f"*{q}", f"{q}[0]")),
        ("y", f"{kind} *{q} = &{{}}.y;", w.pick(f"*{q}", f"{q}[0]")),
        ("w[1]", f"{kind} (*{q})[3] = &{{}}.w;", w.pick(f"(*{q})[1]", f"{q}[0][1]")),
        ("in.b", f"struct {tag} *{q} = &{{}};", f"{q}->in.b"),
    )
    other = "in.a" if field != "in.a" else "x"
    place = w.pick(f"{s}[3]", f"{s}[3]", f"(*{s})")
    one, own = f"{place}.{field}", f"{s}[i].{field}"
    k = w.pick(" - 1", " + 1", " - 2")
    within = declared.format(f"{s}[i]")
    body, mark = w.pick(
        ([f"{a}[i] = {through};", f"{own} = {b}[i];"], SEQUENTIAL),
        ([f"{through} = {b}[i];", f"{a}[i] = {one};"], OPEN),
        ([f"{a}[i] = {one};", f"{through} = {b}[i];"], SEQUENTIAL),
        ([f"{own} += {through};"], SEQUENTIAL),
        ([f"{through} += {b}[i];", f"{a}[i] = {s}[i].{other};"], OPEN),
        ([f"{through} += {b}[i];", f"{own} += 1;"], OPEN),
        ([within, f"{through} = {s}[i].{other} + 1;", f"{a}[i] = {own};"], PARALLEL),
        ([within, f"{through} = {s}[i{k}].{field} + 1;"], SEQUENTIAL),
        ([within, f"{through} = {s}[i{k}].{other} + 1;"], PARALLEL),
        ([f"{put}(&{s}[i].in, {b}[i]);", f"{a}[i] = {s}[i].in.b;"], PARALLEL),
        ([f"{put}(&{s}[i].in, {b}[i]);", f"{a}[i] = {s}[3].in.b;"], SEQUENTIAL),
        ([f"{a}[i] = {get}(&{place}.in);", f"{s}[i].in.b = {b}[i];"], SEQUENTIAL),
        ([f"{a}[i] = {get}(&{s}[i].in);", f"{s}[i].in.b = {b}[i];"], PARALLEL),
    )
    if w.chance(30):
        # A variable of its own: functions get the addresses of its members.
        g, put_one = w.local("g"), w.name("set")
        w.top.append(f"static void {put_one}({kind} *p, {kind} v) {{ *p = v; }}")
        w.head.append(f"{w.pick('', 'static ')}struct {tag} {g} = {{ 1, 2, {{ 3, 4 }}, {{ 5, 6, 7 }} }};")
        set_member = f"{put_one}(&{g}.{field}, {b}[i]);"
        body, mark = w.pick(
            ([f"{a}[i] = {g}.{field};", set_member], SEQUENTIAL),
            ([set_member, f"{a}[i] = {g}.{field};"], OPEN),
            ([set_member, f"{a}[i] = {g}.{other};"], OPEN),
            ([f"{a}[i] = {get}(&{g}.in);", f"{g}.in.b = {b}[i];"], SEQUENTIAL),
            ([f"{put}(&{g}.in, {b}[i]);", f"{a}[i] = {g}.in.b;"], OPEN),
        )
    elif any(through in line for line in body) and within not in body:
        w.head.append(declared.format(place))
    w.code += w.loop(w.mixed(body), mark, "0" if place.startswith("(") else "2")


def flat_images(w: Writer) -> None:
    """Two dimensions in one array, all subscripts inside of it."""
    kind = w.pick("double", "int", "float", "unsigned char")
    rows = w.integer(w.pick(9, 10), 3, "r")
    columns = w.pick("m", "8", "m")
    if columns == "m":
        columns = w.integer(w.pick(11, 8, 12), 5, "c")
    room = "400"
    a, b = w.array(kind, room), w.array(kind, room)
    here = f"i*{columns} + j"
    turned = w.pick(
        f"({rows} - 1 - i)*{columns} + j", f"i*{columns} + ({columns} - 1 - j)", f"j*{rows} + i",
        f"j*{rows} + ({rows} - 1 - i)", f"({columns} - 1 - j)*{rows} + i", f"(i + 1)*{columns} + j + 1", here,
    )  # fmt: skip
    body, outer, inner = w.pick(
        ([f"{a}[{turned}] = {b}[{here}];"], PARALLEL, PARALLEL),
        ([f"{a}[{here}] = {b}[{turned}];"], PARALLEL, PARALLEL),
        ([f"{a}[{here} + {columns}] = {a}[{here}] + 1;"], SEQUENTIAL, PARALLEL),
        ([f"{a}[{here} + 1] = {a}[{here}] + 1;"], SEQUENTIAL, SEQUENTIAL),
        ([f"{a}[i*{columns} + {columns} - 1 - j] = {a}[{here}];"], PARALLEL, OPEN),
        ([f"{a}[{here}] = {a}[{here}] + {b}[{here}];"], PARALLEL, PARALLEL),
        ([f"{a}[i] += {b}[{here}];"], PARALLEL, PARALLEL),
        ([f"{a}[j] += {b}[{here}];"], OPEN, PARALLEL),
        ([f"{a}[i + j] = {b}[{here}];"], OPEN, PARALLEL),
        ([f"{a}[i + j] += {b}[{here}];"], OPEN, PARALLEL),
    )
    inside = w.loop(body, inner, "0", columns, "j", plain=w.chance(60))
    offset = w.chance(20)
    if offset:
        shift = w.integer(w.pick(0, 3, 13), 2, "off")
        inside = [line.replace(f"{a}[", f"{a}[{shift} + ") for line in inside]
    w.code += w.loop(inside, outer, "0", rows, "i", plain=w.chance(60))


def copies(w: Writer) -> None:
    """Functions of the library that copy memory, fill it, and overlap."""
    kind = w.pick("double", "int", "float", "short")
    a, b = w.array(kind), w.read(kind)
    t = w.local("t")
    count = w.pick("4", "8", "5")
    copy = w.pick("memcpy", "memmove", "__builtin_memcpy")
    bytes_of = w.pick(f"{count} * sizeof({kind})", f"sizeof({kind}) * {count}", f"sizeof {t}")
    part = w.pick(f"3 * sizeof({kind})", f"{count} * sizeof({kind}) - 1", "7")
    w.head.append(f"{kind} {t}[{count}];")
    w.code += [f"for (int k = 0; k < {count}; k++) {t}[k] = k;"]
    few = f"(n - 1) / {count}"
    forms = [
        w.loop([f"{copy}({t}, &{b}[i], {bytes_of});", f"{a}[i] = {t}[0] + {t}[{count} - 1];"], PARALLEL),
        w.loop([f"{copy}({t}, {b} + i, {part});", f"{a}[i] = {t}[0] + {t}[{count} - 1];"], OPEN),
        w.loop(
            [f"{copy}({a} + {count} * i, {b} + {count} * i, {count} * sizeof({kind}));"], PARALLEL, "0", few
        ),
        w.loop([f"{copy}(&{a}[{count} * i], &{b}[i], {part});"], OPEN, "0", few),
        w.loop([f"memset(&{a}[{count} * i], 0, {part});"], OPEN, "0", few),
        w.loop([f"memset({a} + i, 0, {count} * sizeof({kind}));"], OPEN),
        w.loop([f"memset({a} + i, 0, sizeof({kind}));", f"{a}[i] += {b}[i];"], PARALLEL),
        w.loop([f"memcpy({a} + i, {a} + i + {count}, sizeof({kind}) * {count});"], SEQUENTIAL),
        w.loop([f"memmove({a} + i, {a} + i + 1, sizeof({kind}) * {count});"], SEQUENTIAL),
        w.loop([f"memmove({a} + i + 1, {a} + i, sizeof({kind}));"], SEQUENTIAL),
        w.loop([f"{kind} x = {b}[i];", f"memcpy(&{a}[i], &x, sizeof x);"], PARALLEL),
        w.loop([f"if ({b}[i] > 0) memcpy(&{a}[i], &{b}[i], sizeof({kind}));"], PARALLEL),
        w.loop([f"if ({b}[i] > 0) {copy}({t}, &{b}[i], {bytes_of});", f"{a}[i] = {t}[1];"], SEQUENTIAL),
    ]
    w.code += w.pick(*forms)
    if w.chance(60):
        w.result(f"{t}[0] + {t}[{count} - 1]")


def led(w: Writer) -> None:
    """Pointers that are set to an array on some ways, or kept in memory, beside the array's own name."""
    kind = w.pick("double", "int")
    flags = w.read("int")
    a, b = w.array(kind, where=w.pick("restrict", "restrict", "plain", "global")), w.array(kind)
    w.violated.add("no-overlap")
    s = w.local("s")
    k = w.pick(" - 1", " + 1", " - 2", "")
    if w.chance(35):
        # An array of the function, of which a part is shown.
        a, shown = w.local("own"), a
        w.head.append(f"{kind} {a}[{ROOM}];")
        w.head.append(f"for (int k = 0; k < {ROOM}; k++) {a}[k] = {shown}[k];")
    else:
        shown = ""
    way = w.pick("chosen", "moved", "later", "member", "table", "made", "searched", "either", "before")
    q = a
    if way == "either":
        w.code.append(f"{kind} *{s} = {w.pick(a, b, a + ' + 1')};")
        w.code.append(f"if ({flags}[0] > {w.number(-3, 3)}) {s} = {w.pick(a, b)};")
    elif way == "before":
        # The other name is one that the pointer had, or is led along with it.
        q = w.local("q")
        w.code.append(f"{kind} *{s} = {a}, *{q} = {w.pick(s, a)}{w.pick('', ' + 1')};")
        moved = w.pick("", f" {q} = {w.pick(a, b)};")
        w.code.append(f"if ({flags}[0] > {w.number(-3, 3)}) {{ {s} = {b};{moved} }}")
    elif way == "chosen":
        w.code.append(f"{kind} *{s} = {b};")
        w.code.append(f"for (int k = 0; k < 6; k++) {s} = {flags}[k] > 0 ? {a} : {s};")
    elif way == "moved":
        w.code.append(f"{kind} *{s} = {a};")
        w.code.append(f"for (int k = 0; k < 5; k++) if ({flags}[k] > 1) {s}++;")
    elif way == "searched":
        w.code.append(f"{kind} *{s} = {a};")
        w.code.append(f"while (*{s} < 3 && {s} < {a} + 6) {s}++;")
    elif way in ("member", "made"):
        tag = w.name("held")
        w.top.append(f"struct {tag} {{ {kind} *p; int m; }};")
        stored, s = s, f"{s}.p"
        if way == "made":
            make = w.name("make")
            w.top.append(
                f"static struct {tag} {make}({kind} *p) {{ struct {tag} t = {{ p, 1 }}; return t; }}"
            )
            w.code.append(f"struct {tag} {stored} = {make}({a});")
        else:
            w.code += [f"struct {tag} {stored};", f"{s} = {a};"]
    elif way == "table":
        stored, s = s, f"{s}[1]"
        w.code.append(f"{kind} *{stored}[2] = {{ {b}, {a} }};")
    body = w.pick(
        [f"{s}[i] = {q}[i{k}] + 1;"],
        [f"{q}[i] = {s}[i{k}] * 2 - {flags}[i];"],
        [f"{b}[i] = {s}[i{k}];", f"{q}[i] = {flags}[i];"],
    )
    mark = OPEN
    if way in ("either", "before") and w.chance(35):
        body = w.pick([f"{s}[i] = {flags}[i] + 1;"], [f"*{s}++ = {flags}[i] - 2;"])
        mark = PARALLEL
    if way == "later":
        w.code.append(f"{kind} *{s} = {b};")
        inner = w.loop(w.mixed(body), OPEN, "2")
        w.code += [
            "for (int t = 0; t < 3; t++) {",
            *(f"    {line}" for line in inner),
            f"    {s} = {a};",
            "}",
        ]
    else:
        w.code += w.loop(w.mixed(body) if mark == OPEN else body, mark, "2")
    if shown:
        w.code.append(f"for (int k = 0; k < {ROOM}; k++) {shown}[k] = {a}[k];")


def recasts(w: Writer) -> None:
    """Structures around a member, and rows of other lengths, that a cast leads to."""
    kind = w.pick("double", "int")
    k = w.pick(" - 1", " + 1", " - 2", "")
    if w.chance(30):
        long, short = w.pick((8, 4), (6, 3), (4, 8))
        flat = w.array(kind, length=str(16 * ROOM))
        m, r = w.local("m"), w.local("r")
        w.code.append(f"{kind} (*{m})[{long}] = (void *){flat};")
        w.code.append(f"{kind} (*{r})[{short}] = ({kind} (*)[{short}]){m};")
        w.code += w.loop(w.mixed([f"{r}[i][0] = {m}[i{k}][{w.number(0, long - 1)}] + 1;"]), OPEN, "2")
        return
    base, tag, stored = w.name("base"), w.name("derived"), w.name("items")
    w.top.append(f"struct {base} {{ {kind} v; }};")
    w.top.append(f"struct {tag} {{ struct {base} b; {kind} w; struct {base} c; }};")
    w.top.append(f"static struct {tag} {stored}[{ROOM}];")
    fields = ("b.v", "w", "c.v")
    _loop_in_main(
        w,
        "{ " + " ".join(f"{stored}[k].{each} = drawn_int(-3, 4);" for each in fields) + " }",
        " + ".join(f"{n + 1} * {stored}[k].{each}" for n, each in enumerate(fields)),
    )
    s = stored
    if w.chance(60):
        s = w.local("s")
        w.params.append((f"struct {tag} *{s}", stored))
    p = w.local("p")
    first = f"struct {tag} *{p} = (struct {tag} *)&{s}[i].b;"
    scalar = f"struct {tag} *{p} = (void *)&{s}[i].b.v;"
    around = f"struct {tag} *{p} = (struct {tag} *)((char *)&{s}[i].{{0}} - offsetof(struct {tag}, {{0}}));"
    made = w.pick(first, scalar, around.format("w"), around.format("c"), f"struct {tag} *{p} = &{s}[i];")
    field = w.pick("w", "b.v", "c.v")
    w.code += w.loop([f"struct {base} *q = &{s}[i].c;", f"q->v = {s}[i].w + q->v;"], PARALLEL)
    w.code += w.loop(w.mixed([made, f"{p}->{field} = {s}[i{k}].{w.pick(field, field, 'w')} + 1;"]), OPEN, "2")


def rings(w: Writer) -> None:
    """Subscripts modulo a constant, of whole numbers that wrap around."""
    a = w.array(w.pick("double", "int"))
    size = w.pick(20, 16, 12, 24, 7)
    kind = w.pick("size_t", "unsigned", "unsigned long", "unsigned char", "int")
    head = w.local("h")
    start = w.pick("3", "0", "5", "40") if kind in ("int", "unsigned char") else w.pick("3", "0", "-5", "-1")
    w.params.append((f"{kind} {head}", f"({kind}){start}"))
    at = w.pick(
        f"({head} - i)",
        f"({head} - i)",
        f"({head} + i)",
        f"({kind})i",
        f"({head} + 2 * i)",
        f"({kind})(i - 4)",
        f"({head} * 2 + i)",
    )
    if kind == "int":
        at = f"({head} + i + 8)"
    if "*" in at and start.startswith("-"):
        w.violated.add("no-wrap")
    value = w.pick("i", f"{a}[{at} % {size}] + 1", "2 * i - 1")
    # Within one round, different subscripts meet where they wrap around alone.
    high = str(size - w.pick(0, 0, 1, 4))
    w.code += w.loop([f"{a}[{at} % {size}] = {value};"], OPEN, "0", high)
