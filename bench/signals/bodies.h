/* What the functions of several families do. */

#ifndef BENCH_SIGNALS_BODIES_H
#define BENCH_SIGNALS_BODIES_H

#include "signals/signals.h"

static inline double add_number(struct reading *at, const struct body *body)
{
    return signal_get(at, body->in[0]) + body->number;
}

static inline double times_number(struct reading *at, const struct body *body)
{
    return signal_get(at, body->in[0]) * body->number;
}

static inline double sum_all(struct reading *at, const struct body *body)
{
    double sum = 0;
    for (uint32_t i = 0; i < body->count; i++) {
        sum += signal_get(at, body->in[i]);
    }
    return sum;
}

static inline double look(struct reading *at, const struct body *body)
{
    return signal_get(at, body->in[0]);
}

/* A graph with one source and one computed that is looked at: the iteration
 * writes 1, 0, 1, 2, ... and sums up what it sees (kairo.c). */
void head_and_out(struct signal *new_head, struct signal *new_out);
double iterate_head(const struct workload *workload);

#endif
