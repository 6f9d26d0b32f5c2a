/* The signal workloads: graphs of numbers as the benchmarks of signal
 * libraries have them, with the checksum and the number of runs that each must
 * give.
 *
 * They are written once and compiled twice, against two engines with the same
 * functions: ours (signals/ours.h: the scheduler on a replica) and, with
 * SIGNALS_FLOOR, a small one that keeps the structures and leaves out what they
 * are for (signals/floor.h). A third engine, a library under node, has the same
 * workloads in peers/workloads.mjs.
 *
 *   signal    a number that is written from outside
 *   computed  a number, or a list of numbers, made from others
 *   effect    somebody who looks
 *   batch     writes from outside, and everything that follows from them
 *
 * There is one graph at a time. */

#ifndef BENCH_SIGNALS_SIGNALS_H
#define BENCH_SIGNALS_SIGNALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct signal;
struct reading; /* one run, as its function sees it */

/* What a function is made of, beside its code. */
struct body {
    double number;
    uint32_t count;
    struct signal *const *in;
};

typedef double signal_fn(struct reading *at, const struct body *body);
typedef void list_fn(struct reading *at,
                     const struct body *body,
                     double *list,
                     uint32_t length);

/* -- The graph ----------------------------------------------------------- */

void graph_open(void);
void graph_close(void);

/* Every effect that was made has run. */
void graph_settle(void);

struct signal *signal_new(double number);

/* `in` is copied. */
struct signal *computed_new(signal_fn *fn,
                            double number,
                            uint32_t count,
                            struct signal *const *in);
struct signal *computed_list_new(list_fn *fn,
                                 uint32_t length,
                                 uint32_t count,
                                 struct signal *const *in);
void effect_new(signal_fn *fn,
                double number,
                uint32_t count,
                struct signal *const *in);

/* Room that lasts as long as the graph. */
void *graph_alloc(size_t size);

/* Writes happen inside a batch. */
void batch_begin(void);
void signal_set(struct signal *signal, double number);
void batch_end(void);

/* What somebody outside sees now. */
double signal_peek(struct signal *signal);

/* Functions that were called, since whoever reads this has set it to 0. */
extern uint64_t computed_runs;
extern uint64_t effect_runs;

/* And, for functions, in the engine's header:
 *
 *   double signal_get(struct reading *at, struct signal *signal);
 *   double signal_get_item(struct reading *at, struct signal *list,
 *                          uint32_t index);
 *
 * The second reads the whole list and picks one. */
#ifdef SIGNALS_FLOOR
#include "signals/floor.h"
#else
#include "signals/ours.h"
#endif

/* -- The workloads ------------------------------------------------------- */

struct workload {
    const char *name;

    /* The graph, up to what is measured. */
    void (*build)(const struct workload *workload);

    /* All updates of the workload, or the creation that is measured. Returns
     * the checksum. */
    double (*iterate)(const struct workload *workload);

    uint32_t size[2]; /* whatever the functions make of it */
    uint32_t updates; /* batches of an iteration; 0: the workload is a
                         creation, and each iteration has a graph of its own */
    uint32_t warm;    /* iterations before the one that is checked */

    /* What an iteration must give. */
    double checksum;
    uint64_t computed;
    uint64_t effects;

    /* More than that, for a reason that the workload tells; 0: no more. */
    uint64_t computed_allowed;

    uint32_t nodes; /* of a creation: what it creates */
    bool lists;     /* makes values that need memory */
};

struct workload_family {
    const struct workload *at;
    size_t count;
};

extern const struct workload_family kairo_family;
extern const struct workload_family grid_family;
extern const struct workload_family dynamic_family;
extern const struct workload_family creation_family;
extern const struct workload_family update_family;
extern const struct workload_family demand_family;

/* The workload with that number, or NULL behind the last. */
const struct workload *workload_at(size_t number);
const struct workload *workload_find(const char *name);

/* What one iteration is divided by: the runs that are expected, or the nodes
 * that are created, or the updates if there are neither. */
double workload_units(const struct workload *workload);

/* -- Time ---------------------------------------------------------------- */

/* Opens a graph and warms up, and gives the checksum of the iteration that is
 * checked. A creation has no graph between two iterations. */
double workload_begin(const struct workload *workload);
void workload_end(const struct workload *workload);

/* Iterates for at least `round_ns` on the CPU. Nanoseconds an iteration. */
double workload_round(const struct workload *workload, double round_ns);

#endif
