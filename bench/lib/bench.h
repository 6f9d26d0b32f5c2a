/* A benchmark: workloads timed in turn with a peer's, a table for people, and
 * a file for tools.
 *
 * Time is what this process spent on a CPU, not what passed, unless a workload
 * says otherwise; the process stays
 * on one CPU where the system allows it. A workload is repeated until a round
 * takes long enough to be measured, unless it says how often; then rounds of
 * ours and of the peer's alternate, so that a busy machine disturbs both. The
 * figures are medians, the ratio is the median of the rounds' ratios, and the
 * spread is how far the middle half of the rounds lies apart, in percent of the
 * median. If the two halves of the rounds do not agree within 15 %, two runs
 * might not, and the table says so.
 *
 *   struct bench bench;
 *   if (!bench_begin(&bench, "value", argc, argv, &exit_code)) {
 *       return exit_code;
 *   }
 *   bench_run(&bench, &(struct bench_case){...});
 *   return bench_end(&bench); */

#ifndef BENCH_LIB_BENCH_H
#define BENCH_LIB_BENCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

/* Does the work `times` times. */
typedef void bench_fn(void *ctx, uint64_t times);

enum bench_bar_kind {
    BENCH_NO_BAR,  /* for information */
    BENCH_FASTER,  /* peer / ours is at least the bar */
    BENCH_SHARE,   /* ours / peer is at most the bar */
    BENCH_AT_MOST, /* ours is at most the bar, in the row's unit */
    BENCH_TIMES,   /* ours is at most so many times the peer's */
    BENCH_AS_TIMES /* for information: how many times the peer's it is */
};

struct bench_bar {
    enum bench_bar_kind kind;
    double limit;
};

struct bench_case {
    const char *name;
    bench_fn *ours;
    bench_fn *peer; /* or NULL */
    void *ctx;      /* of both */
    struct bench_bar bar;
    uint64_t units; /* things that one time deals with; 0 means 1 */
    uint64_t times; /* a round, for work that changes what it works on; or 0 */
    bool wall;      /* time that passes, for work that waits for a disk */
};

/* What is exact. */
struct bench_counts {
    bool has_runs; /* of nodes, and how many are expected */
    uint64_t runs;
    uint64_t expected;
    bool has_allocations;
    uint64_t allocations;
};

struct bench_row {
    char name[64];
    const char *unit; /* "ns", "bytes", ... */
    double ours;
    double peer;  /* 0: there is none */
    double other; /* another peer's; 0: there is none */
    double spread;
    double apart; /* the halves of the rounds: bench_apart() */
    struct bench_bar bar;
    struct bench_counts counts;
    char note[48]; /* what else belongs to it, or "" */
};

struct bench {
    const char *name;
    bool quick;
    bool strict;
    bool silent;        /* prints no table */
    const char *filter; /* only workloads whose name contains it, or NULL */
    const char *json;
    bool peers;             /* also those that have to be installed */
    const char *peer_name;  /* the head of its column; NULL: "peer" */
    const char *other_name; /* of the other peer; NULL: there is none */
    unsigned wrong;         /* results that were not as they must be */
    VEC(struct bench_row) rows;
};

/* Reads the arguments. False if the program should end with *exit_code: help
 * was asked for, or an argument is not known. */
bool bench_begin(struct bench *bench,
                 const char *name,
                 int argc,
                 char **argv,
                 int *exit_code);

/* Prints the table, writes the file. Returns the exit code: 0, or with
 * --strict 1 if a bar was missed; in any case 1 if a result was wrong. */
int bench_end(struct bench *bench);

/* Whether --only selects a workload of this name. */
bool bench_wants(const struct bench *bench, const char *name);

/* Times a case and adds its row; returns ours, in nanoseconds a unit. */
double bench_run(struct bench *bench, const struct bench_case *work);

/* Adds a figure that was counted or calculated, not timed. */
void bench_figure(struct bench *bench,
                  const char *name,
                  const char *unit,
                  double ours,
                  double peer,
                  struct bench_bar bar);

/* Adds a row that was measured elsewhere. */
void bench_add(struct bench *bench, const struct bench_row *row);

/* A result that is not what it must be: told at once, and the exit code will
 * be 1. */
__attribute__((format(printf, 2, 3))) void bench_wrong(struct bench *bench,
                                                       const char *format,
                                                       ...);

/* The value at a quarter (0.25), a half ... of figures, which are sorted. */
double bench_quantile(double *figures, unsigned count, double where);

/* How far the middle half lies apart, in percent of the median. */
double bench_spread(double *figures, unsigned count);

/* How far the median of the rounds' first half and that of the second are
 * apart, in percent of the smaller one: two runs of half the length. The
 * figures are in the order of the rounds, so this comes before what sorts
 * them. */
double bench_apart(const double *figures, unsigned count);

/* Inside a bench_fn: the clock stands still between the two. Costs about a
 * microsecond, so it is for work that takes longer. */
void bench_pause(void);
void bench_resume(void);

/* A result that must not be optimised away. */
static inline void bench_keep(uint64_t value)
{
    __asm__ volatile("" : : "r"(value) : "memory");
}

#endif
