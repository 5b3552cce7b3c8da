/*
 * nbody: gravity between bodies in an array of structs, all pairs, leapfrog.
 *
 * Sizes: BODIES = 64, STEPS = 20 (override with -DBODIES=... -DSTEPS=...)
 */
#include <math.h>
#include <stdio.h>

#ifndef BODIES
#define BODIES 64
#endif
#ifndef STEPS
#define STEPS 20
#endif
#define SOFTENING 0.05

struct vec3 { double x, y, z; };

struct body {
    struct vec3 position, velocity, acceleration;
    double mass;
};

static struct body bodies[BODIES];

/* Every pair twice: more work, but each iteration of i writes only its own body. */
static void accelerations(struct body *b, int n)
{
    for (int i = 0; i < n; i++) {
        double ax = 0.0, ay = 0.0, az = 0.0;
        for (int j = 0; j < n; j++) {
            if (j == i)
                continue;
            double dx = b[j].position.x - b[i].position.x;
            double dy = b[j].position.y - b[i].position.y;
            double dz = b[j].position.z - b[i].position.z;
            double d2 = dx * dx + dy * dy + dz * dz + SOFTENING * SOFTENING;
            double s = b[j].mass / (d2 * sqrt(d2));
            ax += s * dx;
            ay += s * dy;
            az += s * dz;
        }
        b[i].acceleration.x = ax;
        b[i].acceleration.y = ay;
        b[i].acceleration.z = az;
    }
}

/* Every pair once: half of the work, but iteration i also adds to body j. */
static void accelerations_by_pairs(struct body *b, int n)
{
    int i, j;
    struct vec3 d;
    double d2, s;

    for (i = 0; i < n; i++)
        b[i].acceleration.x = b[i].acceleration.y = b[i].acceleration.z = 0.0;
    for (i = 0; i < n; i++)
        for (j = i + 1; j < n; j++) {
            d.x = b[j].position.x - b[i].position.x;
            d.y = b[j].position.y - b[i].position.y;
            d.z = b[j].position.z - b[i].position.z;
            d2 = d.x * d.x + d.y * d.y + d.z * d.z + SOFTENING * SOFTENING;
            s = 1.0 / (d2 * sqrt(d2));
            b[i].acceleration.x += b[j].mass * s * d.x;
            b[i].acceleration.y += b[j].mass * s * d.y;
            b[i].acceleration.z += b[j].mass * s * d.z;
            b[j].acceleration.x -= b[i].mass * s * d.x;
            b[j].acceleration.y -= b[i].mass * s * d.y;
            b[j].acceleration.z -= b[i].mass * s * d.z;
        }
}

static void kick(struct body *b, int n, double dt)
{
    struct body *end = b + n;

    for (; b != end; b++) {
        b->velocity.x += dt * b->acceleration.x;
        b->velocity.y += dt * b->acceleration.y;
        b->velocity.z += dt * b->acceleration.z;
    }
}

static void drift(struct body *b, int n, double dt)
{
    for (int i = 0; i < n; i++) {
        b[i].position.x += dt * b[i].velocity.x;
        b[i].position.y += dt * b[i].velocity.y;
        b[i].position.z += dt * b[i].velocity.z;
    }
}

static double energy(const struct body *b, int n)
{
    double e = 0.0;
    for (int i = 0; i < n; i++) {
        e += 0.5 * b[i].mass * (b[i].velocity.x * b[i].velocity.x + b[i].velocity.y * b[i].velocity.y
                                + b[i].velocity.z * b[i].velocity.z);
        for (int j = i + 1; j < n; j++) {
            double dx = b[i].position.x - b[j].position.x;
            double dy = b[i].position.y - b[j].position.y;
            double dz = b[i].position.z - b[j].position.z;
            e -= b[i].mass * b[j].mass / sqrt(dx * dx + dy * dy + dz * dz + SOFTENING * SOFTENING);
        }
    }
    return e;
}

/* A small generator of our own, so that every platform starts alike. */
static double uniform(unsigned *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (*state >> 8) / 16777216.0;
}

static void set_up(struct body *b, int n)
{
    unsigned state = 42u;
    for (int i = 0; i < n; i++) {
        b[i].position.x = uniform(&state) - 0.5;
        b[i].position.y = uniform(&state) - 0.5;
        b[i].position.z = uniform(&state) - 0.5;
        b[i].velocity.x = b[i].velocity.y = b[i].velocity.z = 0.0;
        b[i].mass = (0.5 + uniform(&state)) / n;
    }
}

int main(void)
{
    const double dt = 0.005;
    double before, momentum = 0.0, difference = 0.0, sum = 0.0;
    double ax[BODIES];

    set_up(bodies, BODIES);
    before = energy(bodies, BODIES);
    accelerations(bodies, BODIES);
    for (int step = 0; step < STEPS; step++) {
        kick(bodies, BODIES, 0.5 * dt);
        drift(bodies, BODIES, dt);
        accelerations(bodies, BODIES);
        kick(bodies, BODIES, 0.5 * dt);
    }
    for (int i = 0; i < BODIES; i++) {
        ax[i] = bodies[i].acceleration.x;
        momentum += bodies[i].mass * bodies[i].velocity.x;
        sum += (bodies[i].position.x + 2.0 * bodies[i].position.y + 3.0 * bodies[i].position.z) * (i % 7 + 1);
    }
    accelerations_by_pairs(bodies, BODIES);
    for (int i = 0; i < BODIES; i++)
        difference = fmax(difference, fabs(ax[i] - bodies[i].acceleration.x));
    printf("energy_before %.12e\n", before);
    printf("energy_after %.12e\n", energy(bodies, BODIES));
    printf("momentum %.12e\n", momentum);
    printf("difference %.12e\n", difference);
    printf("checksum %.12e\n", sum);
    return 0;
}
