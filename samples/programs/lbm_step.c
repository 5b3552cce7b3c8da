/*
 * lbm_step: flow around a disc by the lattice Boltzmann method (D2Q9, BGK).
 *
 * A cell is a struct; the two grids are swapped after every step, so that a
 * step reads one and writes the other. Periodic in x, walls at y = 0 and at
 * y = height - 1, and cells of the disc throw back what reaches them.
 *
 * Sizes: NX = 48, NY = 24, STEPS = 30 (override with -DNX=... etc.)
 */
#include <stdio.h>
#include <stdlib.h>

#ifndef NX
#define NX 48
#endif
#ifndef NY
#define NY 24
#endif
#ifndef STEPS
#define STEPS 30
#endif

enum { Q = 9 };

typedef struct {
    double f[Q];  /* populations by direction */
    int obstacle; /* non-zero: solid */
} Cell;

typedef struct {
    int nx, ny;
    double omega; /* relaxation rate */
    double force; /* along x */
    Cell *now, *next;
} Lattice;

static const int EX[Q] = {0, 1, 0, -1, 0, 1, -1, -1, 1};
static const int EY[Q] = {0, 0, 1, 0, -1, 1, 1, -1, -1};
static const int OPPOSITE[Q] = {0, 3, 4, 1, 2, 7, 8, 5, 6};
static const double WEIGHT[Q] = {4.0 / 9,  1.0 / 9,  1.0 / 9,  1.0 / 9, 1.0 / 9,
                                 1.0 / 36, 1.0 / 36, 1.0 / 36, 1.0 / 36};

static double equilibrium(int q, double rho, double ux, double uy)
{
    double eu = EX[q] * ux + EY[q] * uy;
    double uu = ux * ux + uy * uy;
    return WEIGHT[q] * rho * (1.0 + 3.0 * eu + 4.5 * eu * eu - 1.5 * uu);
}

/* Relaxes every fluid cell towards its local equilibrium, in place. */
static void collide(Lattice *lattice)
{
    int cell, q;
    double rho, ux, uy;

    for (cell = 0; cell < lattice->nx * lattice->ny; cell++) {
        Cell *c = &lattice->now[cell];
        if (c->obstacle)
            continue;
        rho = ux = uy = 0.0;
        for (q = 0; q < Q; q++) {
            rho += c->f[q];
            ux += EX[q] * c->f[q];
            uy += EY[q] * c->f[q];
        }
        ux = ux / rho + lattice->force;
        uy = uy / rho;
        for (q = 0; q < Q; q++)
            c->f[q] += lattice->omega * (equilibrium(q, rho, ux, uy) - c->f[q]);
    }
}

/* Each cell pulls its populations from its neighbours. */
static void stream(const Lattice *lattice)
{
    const int nx = lattice->nx, ny = lattice->ny;
    const Cell *from = lattice->now;
    Cell *to = lattice->next;

    for (int y = 0; y < ny; y++) {
        for (int x = 0; x < nx; x++) {
            int here = y * nx + x;
            for (int q = 0; q < Q; q++) {
                int xs = (x - EX[q] + nx) % nx;
                int ys = y - EY[q];
                if (ys < 0 || ys >= ny || from[ys * nx + xs].obstacle) {
                    /* Half-way bounce-back. */
                    to[here].f[q] = from[here].f[OPPOSITE[q]];
                } else {
                    to[here].f[q] = from[ys * nx + xs].f[q];
                }
            }
            to[here].obstacle = from[here].obstacle;
        }
    }
}

static void swap_grids(Lattice *lattice)
{
    Cell *held = lattice->now;
    lattice->now = lattice->next;
    lattice->next = held;
}

static double fluid_mass(const Lattice *lattice)
{
    double mass = 0.0;
    for (int cell = 0; cell < lattice->nx * lattice->ny; cell++)
        if (!lattice->now[cell].obstacle)
            for (int q = 0; q < Q; q++)
                mass += lattice->now[cell].f[q];
    return mass;
}

static void set_up(Lattice *lattice)
{
    int x, y, q, r = lattice->ny / 6;

    for (y = 0; y < lattice->ny; y++)
        for (x = 0; x < lattice->nx; x++) {
            Cell *c = lattice->now + y * lattice->nx + x;
            int dx = x - lattice->nx / 4, dy = y - lattice->ny / 2;
            c->obstacle = dx * dx + dy * dy <= r * r;
            for (q = 0; q < Q; q++)
                c->f[q] = c->obstacle ? 0.0 : equilibrium(q, 1.0, 0.05, 0.0);
        }
}

int main(void)
{
    Lattice lattice = {NX, NY, 1.2, 1e-4, NULL, NULL};
    double sum = 0.0;

    lattice.now = calloc((size_t)NX * NY, sizeof(Cell));
    lattice.next = calloc((size_t)NX * NY, sizeof(Cell));
    if (lattice.now == NULL || lattice.next == NULL)
        return EXIT_FAILURE;
    set_up(&lattice);
    printf("mass_before %.12e\n", fluid_mass(&lattice));
    for (int step = 0; step < STEPS; step++) {
        collide(&lattice);
        stream(&lattice);
        swap_grids(&lattice);
    }
    printf("mass_after %.12e\n", fluid_mass(&lattice));
    for (int cell = 0; cell < NX * NY; cell++)
        for (int q = 0; q < Q; q++)
            sum += lattice.now[cell].f[q] * ((cell + q) % 7 + 1);
    printf("checksum %.12e\n", sum);
    free(lattice.now);
    free(lattice.next);
    return 0;
}
