/* Signals on the scheduler: what a function calls.
 *
 * A signal is a document holding a number, a computed is a computation with
 * its output document, an effect is an effect; a batch is one transaction from
 * outside. All of it is in one space that is its own authority, with everything
 * on that a user has on: reads are logged and matched by path, the change
 * channel tells of every commit, causes and runs are recorded, runs are
 * timed. */

#ifndef BENCH_SIGNALS_OURS_H
#define BENCH_SIGNALS_OURS_H

#include "sched/sched.h"
#include "value/array.h"

struct signal {
    struct place *place;
    struct node *node; /* NULL: written from outside */
};

struct reading {
    struct run *run;
    bool stale; /* cannot be known now: what the function makes is dropped */
};

/* The replica and the scheduler of the graph, for whoever looks closer. */
struct replica *ours_replica(void);
struct sched *ours_sched(void);

/* A clock and nothing else. */
struct host *ours_host(void);

static inline double number_of(struct value value)
{
    const enum value_tag tag = value_tag(value);
    return tag == TAG_INT      ? (double)(int64_t)value.word[0]
           : tag == TAG_DOUBLE ? value_fraction_of(value)
                               : 0;
}

static inline double signal_get(struct reading *at, struct signal *signal)
{
    struct value value;
    if (run_read(at->run, signal->place, READ_DEEP, READ_FOR_BOTH, &value) ==
        ERR_STALE) {
        at->stale = true;
        return 0;
    }
    return number_of(value);
}

static inline double signal_get_item(struct reading *at,
                                     struct signal *list,
                                     uint32_t index)
{
    struct value value;
    if (run_read(at->run, list->place, READ_DEEP, READ_FOR_BOTH, &value) ==
        ERR_STALE) {
        at->stale = true;
        return 0;
    }
    const double number = number_of(array_at(value, index));
    value_unref(value);
    return number;
}

#endif
