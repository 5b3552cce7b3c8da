/* Each function changes `a` and `b` (8 elements each): gcc's code and the lowered program must agree. */
#include <math.h>
#include <stdlib.h>

int bump(int *);

void stencil(int n, int *a, double *b) {
    for (int i = 1; i < n - 1; i++) b[i] = (b[i - 1] + b[i + 1]) / 2 + a[i];
}

void postfix(int n, int *a, double *b) {
    int k = 0;
    while (k < n) { a[k++] = 3;
        b[n - k] += a[k - 1]; }
}

void count_down(int n, int *a, double *b) {
    int i = n;
    while (i-- > 0) a[i] = i * 2;
}

void count_down_unsigned(int n, int *a, double *b) {
    for (unsigned i = n - 1; i < 8u; i--) a[i] += (int) i;
}

void unsigned_wrap(int n, int *a, double *b) {
    unsigned u = 0;
    u = u - 1;
    a[0] = u / 1000000000u;
    a[1] = (u > 5) + (-1 < 1u);
}

void small_types(int n, int *a, double *b) {
    unsigned char c = 250;
    for (int i = 0; i < n; i++) { c += 3;
        a[i] = c; }
    char d = 200;
    a[0] = d;
}

void short_circuit(int n, int *a, double *b) {
    int k = 0;
    for (int i = 0; i < n; i++) if (a[i] > 2 && k++ < 3 || i == 6) b[i] = k;
}

void ternary_effects(int n, int *a, double *b) {
    int k = 0;
    for (int i = 0; i < n; i++) b[i] = a[i] % 2 ? k++ : --k;
}

void comma(int n, int *a, double *b) {
    int i, j;
    for (i = 0, j = n - 1; i < j; i++, j--) { int t = a[i];
        a[i] = a[j], a[j] = t; }
}

void chain(int n, int *a, double *b) {
    int x, y;
    x = y = a[2] + 1;
    a[0] = x + y;
    b[1] = a[1] = 2.9;
}

void pointers(int n, int *a, double *b) {
    int *p = a, *q = a + n;
    while (p < q) *p++ += 1;
    p -= 2;
    *p = 77;
    a[1] = q - p;
    *(p - 1) = p[1];
}

void reverse_pointer(int n, int *a, double *b) {
    double *p = b + n;
    while (p-- > b) *p = p - b;
}

void do_while(int n, int *a, double *b) {
    int i = 0;
    do { a[i] += i;
        if (i == 3) { i += 2;
            continue; }
        i++; }
    while (i < n);
}

void do_once(int n, int *a, double *b) {
    do { a[0] = 5; }
    while (0);
    do { a[1] = 4;
        if (a[0]) break;
        a[1] = 3; }
    while (0);
}

void breaks(int n, int *a, double *b) {
    for (int i = 0; i < n; i++) { for (int j = 0; ; j++) { if (j > i) break;
            a[i] += j; }
        if (a[i] > 9) break; }
}

void early_return(int n, int *a, double *b) {
    for (int i = 0; i < n; i++) { if (i == 4) return;
        a[i] = -i; }
}

void switches(int n, int *a, double *b) {
    for (int i = 0; i < n; i++) switch (i % 5) { case 0: a[i] = 1;
        break;
        case 1: case 2: { a[i] = 2;
            break; }
        case 3: continue;
        default: a[i] = -a[i]; }
}

void falling(int n, int *a, double *b) {
    for (int i = 0; i < n; i++) switch (i % 6) { case 0: a[i] = 1;
        case 1: case 2: a[i] += 20;
        break;
        case 3: b[i] = 7;
        default: a[i] *= 300;
        case 4: a[i] -= 4000; }
}

void falling_to_the_default(int n, int *a, double *b) {
    for (int i = 0; i < n; i++) switch (i) { default: a[i] = 10;
        case 1: a[i] += 5;
        case 2: a[i] += 7; if (i > 6) { b[i] = -1; continue; }
        case 3: { a[i] += 9;
            break; }
        case 4: b[i] = 3;
        case 5: ; }
}

void falling_after_a_change(int n, int *a, double *b) {
    for (int i = 0; i < n; i++) { int k = i % 4; switch (k) { case 0: k = 3;
        case 1: k += 1; a[i] = k;
        case 2: k = 0; b[i] = k;
        break;
        case 3: a[i] = -k; }
        switch (a[i]) { case 4: a[i] = 2;
        case 2: a[i] = 5; default: b[i] += 100; } }
}

void falling_into_the_last(int n, int *a, double *b) {
    for (int i = 0; i < n; i++) { switch (i & 3) { case 1: b[i] = 4; case 3: a[i] = 70; default: b[i] += 1; }
        switch (i) { case 0: a[i] = 8; default: a[i] += 1; break; case 5: a[i] = 50; case 6: a[i] += 2; } }
}

void falling_around_a_loop(int n, int *a, double *b) {
    switch (n) { case 8: a[0] = 3;
        case 9: for (int i = 1; i < n; i++) { if (a[i] == 5) break; a[i] = 60; }
        case 1: b[1] = a[5]; break;
        default: b[2] = 9; }
}

void division(int n, int *a, double *b) {
    for (int i = 0; i < n; i++) a[i] = (i - 4) / 3 * 10 + (i - 4) % 3;
}

void shifts(int n, int *a, double *b) {
    for (int i = 0; i < n; i++) a[i] = (1 << i | 3) ^ ~i & 5;
    a[0] <<= 2;
    a[1] >>= 1;
    a[2] &= 6;
    a[3] %= 3;
}

void conversions(int n, int *a, double *b) {
    for (int i = 0; i < n; i++) { a[i] = b[i] * 1.7 + i;
        b[i] = a[i] / 2; }
    a[0] *= 1.5;
    _Bool t = 4;
    a[1] = t;
}

void float_width(int n, int *a, double *b) {
    float f = 0.1f;
    b[0] = f + 0.5f > 0.6;
    b[1] = (float) 3 / 2;
    f += 1;
    b[2] = f > 1;
}

void two_dimensions(int n, int *a, double *b) {
    int t[3][4];
    for (int i = 0; i < 3; i++) for (int j = 0; j < 4; j++) t[i][j] = i * j;
    a[0] = t[2][3];
    a[1] = *(t[1] + 2);
    a[2] = (*(t + 2))[1];
}

void initialisers(int n, int *a, double *b) {
    int t[5] = {1, [3] = 4, 5}, m[2][2] = {1, 2, 3};
    for (int i = 0; i < 4; i++) a[i] = t[i] * 10 + m[i / 2][i % 2];
}

void structs(int n, int *a, double *b) {
    struct p { int x, y; }
    s = {.y = 3}, t[2] = {{1, 2}};
    s.x = t[0].y;
    t[1] = s;
    a[0] = t[1].x * 10 + t[1].y;
}

void pointer_to_struct(int n, int *a, double *b) {
    struct p { int x, y; }
    t[2] = {{1, 2}, {3, 4}}, *q = t;
    q->x = 9;
    (q + 1)->y = 8;
    q++;
    a[0] = t[0].x + q->y;
}

void calls(int n, int *a, double *b) {
    int x = 3;
    a[0] = bump(&x) * 10;
    a[1] = x;
    if (a[2] > 0 && bump(&x) > 4) a[2] = x;
    while (bump(&x) < 9) a[3]++;
}

void math(int n, int *a, double *b) {
    for (int i = 0; i < n; i++) b[i] = fmax(fabs(b[i] - 3), sqrt(4)) + abs(a[i] - 5);
}

void shadows(int n, int *a, double *b) {
    int i = 2;
    { int i = 5;
        a[i] = 1;
        for (int i = 0; i < 2; i++) a[i] = 7;
        a[i] += 1; }
    a[i] = 9;
}

void nothing(int n, int *a, double *b) {
    for (int i = n; i < n; i++) a[i] = 1;
    while (0) a[0] = 1;
    for (;;) { break; }
    if (0) a[1] = 1;
    else a[2] = 2;
}

void chars(int n, int *a, double *b) {
    a[0] = 'a' + '\n';
    a[1] = '\xff';
    a[2] = sizeof(int) * 2 + sizeof "abc";
    a[3] = 010 + 0x1F;
    a[4] = '\0';
}
