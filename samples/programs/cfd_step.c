/*
 * cfd_step: a lid-driven cavity, incompressible flow by the projection method.
 *
 * The grid lives in globals, as in many codes that began as a listing in a
 * book; one-dimensional storage, an indexing macro, one function per sweep.
 *
 * Sizes: NX = NY = 32, STEPS = 20, SWEEPS = 30 (override with -DNX=... etc.)
 */
#include <math.h>
#include <stdio.h>

#ifndef NX
#define NX 32
#endif
#ifndef NY
#define NY 32
#endif
#ifndef STEPS
#define STEPS 20
#endif
#ifndef SWEEPS
#define SWEEPS 30 /* of the pressure solver, per step */
#endif

#define IDX(i, j) ((i) * (NY + 2) + (j))
#define FOR_INNER(i, j)              \
    for (i = 1; i <= NX; i++)        \
        for (j = 1; j <= NY; j++)

#define SQ(x) ((x) * (x))

static double u[(NX + 2) * (NY + 2)], v[(NX + 2) * (NY + 2)];
static double un[(NX + 2) * (NY + 2)], vn[(NX + 2) * (NY + 2)];
static double p[(NX + 2) * (NY + 2)], pn[(NX + 2) * (NY + 2)];
static double rhs[(NX + 2) * (NY + 2)];

static double h = 1.0 / NX;
static double dt = 0.002;
static double nu = 0.05;

/* No slip on three walls; the lid drags the fluid along. */
static void velocity_boundary(void)
{
    int i, j;

    for (i = 0; i < NX + 2; i++) {
        u[IDX(i, 0)] = 0.0;
        v[IDX(i, 0)] = 0.0;
        u[IDX(i, NY + 1)] = 1.0;
        v[IDX(i, NY + 1)] = 0.0;
    }
    for (j = 1; j <= NY; j++) {
        u[IDX(0, j)] = v[IDX(0, j)] = 0.0;
        u[IDX(NX + 1, j)] = v[IDX(NX + 1, j)] = 0.0;
    }
}

/* Convection and diffusion, explicit, into un and vn. */
static void predict(void)
{
    int i, j;
    double dudx, dudy, dvdx, dvdy, lapu, lapv;

    FOR_INNER(i, j) {
        dudx = (u[IDX(i + 1, j)] - u[IDX(i - 1, j)]) / (2.0 * h);
        dudy = (u[IDX(i, j + 1)] - u[IDX(i, j - 1)]) / (2.0 * h);
        dvdx = (v[IDX(i + 1, j)] - v[IDX(i - 1, j)]) / (2.0 * h);
        dvdy = (v[IDX(i, j + 1)] - v[IDX(i, j - 1)]) / (2.0 * h);
        lapu = (u[IDX(i + 1, j)] + u[IDX(i - 1, j)] + u[IDX(i, j + 1)] + u[IDX(i, j - 1)]
                - 4.0 * u[IDX(i, j)]) / SQ(h);
        lapv = (v[IDX(i + 1, j)] + v[IDX(i - 1, j)] + v[IDX(i, j + 1)] + v[IDX(i, j - 1)]
                - 4.0 * v[IDX(i, j)]) / SQ(h);
        un[IDX(i, j)] = u[IDX(i, j)] + dt * (nu * lapu - u[IDX(i, j)] * dudx - v[IDX(i, j)] * dudy);
        vn[IDX(i, j)] = v[IDX(i, j)] + dt * (nu * lapv - u[IDX(i, j)] * dvdx - v[IDX(i, j)] * dvdy);
    }
}

static void divergence(void)
{
    int i, j;

    FOR_INNER(i, j)
        rhs[IDX(i, j)] = (un[IDX(i + 1, j)] - un[IDX(i - 1, j)]
                          + vn[IDX(i, j + 1)] - vn[IDX(i, j - 1)]) / (2.0 * h * dt);
}

/* Jacobi sweeps for the Poisson equation; returns the last change. */
static double pressure(void)
{
    int sweep, i, j, k;
    double change = 0.0, d;

    for (sweep = 0; sweep < SWEEPS; sweep++) {
        FOR_INNER(i, j) {
            k = IDX(i, j);
            pn[k] = 0.25 * (p[k - NY - 2] + p[k + NY + 2] + p[k - 1] + p[k + 1] - SQ(h) * rhs[k]);
        }
        change = 0.0;
        FOR_INNER(i, j) {
            d = fabs(pn[IDX(i, j)] - p[IDX(i, j)]);
            if (d > change)
                change = d;
            p[IDX(i, j)] = pn[IDX(i, j)];
        }
        /* Walls: no gradient across them. */
        for (i = 1; i <= NX; i++) {
            p[IDX(i, 0)] = p[IDX(i, 1)];
            p[IDX(i, NY + 1)] = p[IDX(i, NY)];
        }
        for (j = 1; j <= NY; j++) {
            p[IDX(0, j)] = p[IDX(1, j)];
            p[IDX(NX + 1, j)] = p[IDX(NX, j)];
        }
    }
    return change;
}

static void correct(void)
{
    int i, j;

    FOR_INNER(i, j) {
        u[IDX(i, j)] = un[IDX(i, j)] - dt * (p[IDX(i + 1, j)] - p[IDX(i - 1, j)]) / (2.0 * h);
        v[IDX(i, j)] = vn[IDX(i, j)] - dt * (p[IDX(i, j + 1)] - p[IDX(i, j - 1)]) / (2.0 * h);
    }
}

static double kinetic_energy(void)
{
    int i, j;
    double e = 0.0;

    FOR_INNER(i, j)
        e += 0.5 * (SQ(u[IDX(i, j)]) + SQ(v[IDX(i, j)])) * SQ(h);
    return e;
}

int main(void)
{
    int step, k;
    double change = 0.0, sum = 0.0;

    for (step = 0; step < STEPS; step++) {
        velocity_boundary();
        predict();
        divergence();
        change = pressure();
        correct();
    }
    for (k = 0; k < (NX + 2) * (NY + 2); k++)
        sum += (u[k] + 2.0 * v[k] + 3.0 * p[k]) * (k % 7 + 1);
    printf("energy %.12e\n", kinetic_energy());
    printf("change %.12e\n", change);
    printf("checksum %.12e\n", sum);
    return 0;
}
