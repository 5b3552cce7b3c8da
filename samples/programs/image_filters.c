/*
 * image_filters: the usual filters on 8-bit images.
 *
 * An image is one `unsigned char` buffer, row after row, its channels
 * interleaved: sample c of pixel (x, y) is data[(y * w + x) * channels + c].
 *
 * Sizes: W = 64, H = 48, 3 channels (override with -DW=... -DH=...)
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef W
#define W 64
#endif
#ifndef H
#define H 48
#endif
#define CHANNELS 3

typedef unsigned char u8;

static u8 clamp(int value)
{
    return (u8)(value < 0 ? 0 : value > 255 ? 255 : value);
}

/* Luma of ITU-R BT.601, in fixed point. */
static void grayscale(const u8 *rgb, u8 *gray, int w, int h, int channels)
{
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) {
            const u8 *px = rgb + (y * w + x) * channels;
            gray[y * w + x] = (u8)((77 * px[0] + 150 * px[1] + 29 * px[2]) >> 8);
        }
}

/* Mean over a (2r + 1)^2 window, cut off at the border. */
static void box_blur(const u8 *restrict in, u8 *restrict out, int w, int h, int channels, int r)
{
    for (int y = 0; y < h; y++) {
        for (int x = 0; x < w; x++) {
            int x0 = x - r < 0 ? 0 : x - r;
            int x1 = x + r > w - 1 ? w - 1 : x + r;
            int y0 = y - r < 0 ? 0 : y - r;
            int y1 = y + r > h - 1 ? h - 1 : y + r;
            int count = (x1 - x0 + 1) * (y1 - y0 + 1);
            for (int c = 0; c < channels; c++) {
                int sum = 0;
                for (int yy = y0; yy <= y1; yy++)
                    for (int xx = x0; xx <= x1; xx++)
                        sum += in[(yy * w + xx) * channels + c];
                out[(y * w + x) * channels + c] = (u8)((sum + count / 2) / count);
            }
        }
    }
}

/* Gradient magnitude of a grayscale image; the border stays black. */
static void sobel(const u8 *restrict in, u8 *restrict out, int w, int h)
{
    memset(out, 0, (size_t)w * (size_t)h);
    for (int y = 1; y < h - 1; y++)
        for (int x = 1; x < w - 1; x++) {
            int i = y * w + x;
            int gx = in[i - w + 1] + 2 * in[i + 1] + in[i + w + 1]
                   - in[i - w - 1] - 2 * in[i - 1] - in[i + w - 1];
            int gy = in[i + w - 1] + 2 * in[i + w] + in[i + w + 1]
                   - in[i - w - 1] - 2 * in[i - w] - in[i - w + 1];
            out[i] = clamp(abs(gx) + abs(gy));
        }
}

/* A global threshold, halfway between the darkest and the brightest sample. */
static u8 threshold(u8 *data, size_t n)
{
    u8 lo = 255, hi = 0, cut;
    size_t i;

    for (i = 0; i < n; i++) {
        if (data[i] < lo)
            lo = data[i];
        if (data[i] > hi)
            hi = data[i];
    }
    cut = (u8)((lo + hi) / 2);
    for (i = 0; i < n; i++)
        data[i] = data[i] > cut ? 255 : 0;
    return cut;
}

/* Gamma through a table: the write is regular, only the read is indirect. */
static void gamma_correct(u8 *data, size_t n, double gamma)
{
    u8 table[256];

    for (int level = 0; level < 256; level++)
        table[level] = clamp((int)(255.0 * pow(level / 255.0, 1.0 / gamma) + 0.5));
    while (n-- > 0) {
        *data = table[*data];
        data++;
    }
}

static void flip_horizontally(u8 *data, int w, int h, int channels)
{
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w / 2; x++)
            for (int c = 0; c < channels; c++) {
                u8 *left = &data[(y * w + x) * channels + c];
                u8 *right = &data[(y * w + (w - 1 - x)) * channels + c];
                u8 held = *left;
                *left = *right;
                *right = held;
            }
}

static unsigned long checksum(const u8 *data, size_t n)
{
    unsigned long sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += data[i] * (i % 7 + 1);
    return sum;
}

int main(void)
{
    const size_t pixels = (size_t)W * H;
    u8 *image = malloc(pixels * CHANNELS), *blurred = malloc(pixels * CHANNELS);
    u8 *gray = malloc(pixels), *edges = malloc(pixels);
    unsigned long sum;
    size_t white = 0;

    if (!image || !blurred || !gray || !edges)
        return EXIT_FAILURE;
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++)
            for (int c = 0; c < CHANNELS; c++)
                image[(y * W + x) * CHANNELS + c] = (u8)((x * x + 3 * y * (c + 1) + 40 * c) % 256);

    box_blur(image, blurred, W, H, CHANNELS, 2);
    printf("blurred %lu\n", checksum(blurred, pixels * CHANNELS));
    gamma_correct(blurred, pixels * CHANNELS, 2.2);
    flip_horizontally(blurred, W, H, CHANNELS);
    printf("flipped %lu\n", checksum(blurred, pixels * CHANNELS));
    grayscale(blurred, gray, W, H, CHANNELS);
    sobel(gray, edges, W, H);
    sum = checksum(edges, pixels);
    printf("cut %d\n", threshold(edges, pixels));
    for (size_t i = 0; i < pixels; i++)
        white += edges[i] == 255;
    printf("white %lu\n", (unsigned long)white);
    printf("checksum %lu\n", sum + checksum(edges, pixels));
    free(image);
    free(blurred);
    free(gray);
    free(edges);
    return 0;
}
