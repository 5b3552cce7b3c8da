/*
 * dynamic_programming: three tables that everybody has filled in once.
 *
 * Longest common subsequence, 0/1 knapsack, edit distance; the last one keeps
 * two rows only, as one does when memory counts.
 *
 * Sizes: LENGTH = 60 (strings), ITEMS = 20, CAPACITY = 100
 */
#include <stdio.h>
#include <stdlib.h>

#ifndef LENGTH
#define LENGTH 60
#endif
#ifndef ITEMS
#define ITEMS 20
#endif
#ifndef CAPACITY
#define CAPACITY 100
#endif

#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define max(a, b) ((a) > (b) ? (a) : (b))

/* table has (n + 1) x (m + 1) entries. Every cell needs its upper and left
 * neighbours: parallel along the antidiagonals only. */
static int lcs(const char *a, int n, const char *b, int m, int *table)
{
    int i, j;

    for (i = 0; i <= n; i++)
        table[i * (m + 1)] = 0;
    for (j = 0; j <= m; j++)
        table[j] = 0;
    for (i = 1; i <= n; i++)
        for (j = 1; j <= m; j++) {
            if (a[i - 1] == b[j - 1])
                table[i * (m + 1) + j] = table[(i - 1) * (m + 1) + (j - 1)] + 1;
            else
                table[i * (m + 1) + j] = max(table[(i - 1) * (m + 1) + j], table[i * (m + 1) + (j - 1)]);
        }
    return table[n * (m + 1) + m];
}

/* Walks the table back: how far depends on what is in it. */
static int recover(const char *a, int n, const char *b, int m, const int *table, char *out)
{
    const int stride = m + 1;
    int length = table[n * stride + m], k = length;

    out[k] = '\0';
    while (n > 0 && m > 0) {
        if (a[n - 1] == b[m - 1]) {
            out[--k] = a[n - 1];
            n--, m--;
        } else if (table[(n - 1) * stride + m] >= table[n * stride + (m - 1)]) {
            n--;
        } else {
            m--;
        }
    }
    return length;
}

/* Row i reads row i - 1 at w and at w - weight[i - 1]: the inner loop is free. */
static int knapsack(int best[ITEMS + 1][CAPACITY + 1], const int weight[ITEMS], const int value[ITEMS])
{
    for (int w = 0; w <= CAPACITY; w++)
        best[0][w] = 0;
    for (int i = 1; i <= ITEMS; i++)
        for (int w = 0; w <= CAPACITY; w++) {
            best[i][w] = best[i - 1][w];
            if (w >= weight[i - 1])
                best[i][w] = max(best[i][w], best[i - 1][w - weight[i - 1]] + value[i - 1]);
        }
    return best[ITEMS][CAPACITY];
}

/* The one-row version: w runs down so that no item is taken twice. */
static int knapsack_in_place(int *best, const int *weight, const int *value)
{
    int i, w;

    for (w = 0; w <= CAPACITY; w++)
        best[w] = 0;
    for (i = 0; i < ITEMS; i++)
        for (w = CAPACITY; w >= weight[i]; w--)
            if (best[w - weight[i]] + value[i] > best[w])
                best[w] = best[w - weight[i]] + value[i];
    return best[CAPACITY];
}

/* Levenshtein; above and current change places after every row. */
static int edit_distance(const char *a, int n, const char *b, int m, int *above, int *current)
{
    int i, j, cost, *held;

    for (j = 0; j <= m; j++)
        above[j] = j;
    for (i = 1; i <= n; i++) {
        current[0] = i;
        for (j = 1; j <= m; j++) {
            cost = a[i - 1] == b[j - 1] ? 0 : 1;
            current[j] = MIN(MIN(above[j] + 1, current[j - 1] + 1), above[j - 1] + cost);
        }
        held = above;
        above = current;
        current = held;
    }
    return above[m];
}

int main(void)
{
    static char a[LENGTH + 1], b[LENGTH + 1], common[LENGTH + 1];
    static int best[ITEMS + 1][CAPACITY + 1], row[CAPACITY + 1];
    int weight[ITEMS], value[ITEMS];
    int *table = malloc((LENGTH + 1) * (LENGTH + 1) * sizeof *table);
    int *rows = malloc(2 * (LENGTH + 1) * sizeof *rows);
    int subsequence, recovered, distance, sum = 0;

    if (table == NULL || rows == NULL)
        return EXIT_FAILURE;
    for (int i = 0; i < LENGTH; i++) {
        a[i] = "ACGT"[(i * i + i / 3) % 4];
        b[i] = "ACGT"[(i * 7 + i / 5) % 4];
    }
    for (int i = 0; i < ITEMS; i++) {
        weight[i] = 3 + i * 7 % 17;
        value[i] = 10 + i * 13 % 29;
    }
    subsequence = lcs(a, LENGTH, b, LENGTH, table);
    recovered = recover(a, LENGTH, b, LENGTH, table, common);
    distance = edit_distance(a, LENGTH, b, LENGTH, rows, rows + LENGTH + 1);
    for (int i = 0; i < (LENGTH + 1) * (LENGTH + 1); i++)
        sum += table[i] * (i % 7 + 1);
    printf("a %s\nb %s\ncommon %s\n", a, b, common);
    printf("lcs %d\n", subsequence);
    printf("recovered %d\n", recovered);
    printf("knapsack %d\n", knapsack(best, weight, value));
    printf("knapsack_in_place %d\n", knapsack_in_place(row, weight, value));
    printf("edit_distance %d\n", distance);
    printf("checksum %d\n", sum);
    free(table);
    free(rows);
    return 0;
}
