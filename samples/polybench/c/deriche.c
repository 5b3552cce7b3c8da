/* deriche: The recursive smoothing filter of Deriche: convolves an image with k (1 + alpha |d|)
 * exp(-alpha |d|) along both of its axes, with two recurrences per line (left to right and
 * back, down and up).
 *
 * size  MINI (default)   SMALL  MEDIUM   LARGE
 * W                 64     192     720    4096
 * H                 64     128     480    2160
 *
 * Another size: cc -O2 -DW=4096 -DH=2160 deriche.c -lm
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#ifndef W
#define W 64
#endif
#ifndef H
#define H 64
#endif

static void kernel_deriche(int w, int h, float alpha, float in[restrict w][h], float out[restrict w][h],
                           float y1[restrict w][h], float y2[restrict w][h])
{
    const float e1 = expf(-alpha), e2 = expf(-2.0f * alpha);
    const float k = (1.0f - e1) * (1.0f - e1) / (1.0f + 2.0f * alpha * e1 - e2);
    const float a1 = k, a2 = k * e1 * (alpha - 1.0f);
    const float a3 = k * e1 * (alpha + 1.0f), a4 = -k * e2;
    const float b1 = 2.0f * e1, b2 = -e2;
    float x1, x2, p1, p2; /* the last two inputs and outputs of the recurrence at hand */

    for (int i = 0; i < w; i++) {
        p1 = p2 = x1 = 0.0f;
        for (int j = 0; j < h; j++) {
            y1[i][j] = a1 * in[i][j] + a2 * x1 + b1 * p1 + b2 * p2;
            x1 = in[i][j];
            p2 = p1;
            p1 = y1[i][j];
        }
    }
    for (int i = 0; i < w; i++) {
        p1 = p2 = x1 = x2 = 0.0f;
        for (int j = h - 1; j >= 0; j--) {
            y2[i][j] = a3 * x1 + a4 * x2 + b1 * p1 + b2 * p2;
            x2 = x1;
            x1 = in[i][j];
            p2 = p1;
            p1 = y2[i][j];
        }
    }
    for (int i = 0; i < w; i++)
        for (int j = 0; j < h; j++)
            out[i][j] = y1[i][j] + y2[i][j];

    for (int j = 0; j < h; j++) {
        p1 = p2 = x1 = 0.0f;
        for (int i = 0; i < w; i++) {
            y1[i][j] = a1 * out[i][j] + a2 * x1 + b1 * p1 + b2 * p2;
            x1 = out[i][j];
            p2 = p1;
            p1 = y1[i][j];
        }
    }
    for (int j = 0; j < h; j++) {
        p1 = p2 = x1 = x2 = 0.0f;
        for (int i = w - 1; i >= 0; i--) {
            y2[i][j] = a3 * x1 + a4 * x2 + b1 * p1 + b2 * p2;
            x2 = x1;
            x1 = out[i][j];
            p2 = p1;
            p1 = y2[i][j];
        }
    }
    for (int i = 0; i < w; i++)
        for (int j = 0; j < h; j++)
            out[i][j] = y1[i][j] + y2[i][j];
}

static void init(int w, int h, float in[w][h])
{
    for (int i = 0; i < w; i++)
        for (int j = 0; j < h; j++)
            in[i][j] = (313 * i + 991 * j) % 257 / 256.0f;
}

static double checksum(int w, int h, float out[w][h])
{
    double sum = 0.0;
    for (int i = 0; i < w; i++)
        for (int j = 0; j < h; j++)
            sum += (double)out[i][j] * ((i * h + j) % 7 + 1);
    return sum;
}

static void *allocate(size_t bytes)
{
    void *memory = malloc(bytes);
    if (memory == NULL) {
        fprintf(stderr, "out of memory\n");
        exit(EXIT_FAILURE);
    }
    return memory;
}

int main(void)
{
    float (*in)[H] = allocate(sizeof(float[W][H]));
    float (*out)[H] = allocate(sizeof(float[W][H]));
    float (*y1)[H] = allocate(sizeof(float[W][H]));
    float (*y2)[H] = allocate(sizeof(float[W][H]));

    init(W, H, in);
    kernel_deriche(W, H, 0.25f, in, out, y1, y2);
    printf("deriche %.12e\n", checksum(W, H, out));

    free(in);
    free(out);
    free(y1);
    free(y2);
    return 0;
}
