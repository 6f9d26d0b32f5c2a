/* Traces: what a scheduler did recently, on request.
 *
 * A trace listens to the hooks of a scheduler, in front of the existing hooks,
 * and keeps three rings: the reads that changes were compared with, the runs,
 * and the passes.
 *
 *   trace-1  It only observes; the hooks behind it are called as without it.
 *   trace-2  An entry is borrowed until the next step of the scheduler. Its
 *            places and names are references, so it outlives its node. A trace
 *            is freed before its scheduler.
 *
 *   struct trace *trace = trace_new(sched, TRACE_RUNS | TRACE_PASSES);
 *   for (size_t i = 0; i < trace_run_count(trace); i++) {
 *       const struct trace_run *run = trace_run_at(trace, i);
 *   }
 *   trace_free(trace); */

#ifndef SCHED_TRACE_H
#define SCHED_TRACE_H

#include "base/buf.h"
#include "sched/runner.h"

enum {
    TRACE_TRIGGERS_MAX = 400,
    TRACE_RUNS_MAX = 2000,
    TRACE_PASSES_MAX = 20,
    TRACE_NAMED = 30,       /* nodes of a sweep, the first ones */
    TRACE_WRITES = 4,       /* places of a run, likewise */
    TRACE_SUMMARY_SIZE = 48 /* of a value, with its zero byte */
};

enum trace_kind {
    TRACE_TRIGGERS = 1,
    TRACE_RUNS = 2,
    TRACE_PASSES = 4,
    TRACE_ALL = 7,
};

/* A read was compared because of a change. */
struct trace_trigger {
    uint64_t version; /* of the notification */
    enum notification_kind kind;
    uint32_t change; /* index of the document in it */
    uint32_t writer; /* 1 + ordinal of the node that wrote; 0: no node */
    uint32_t ordinal;
    struct value name;
    struct place *place;
    char before[TRACE_SUMMARY_SIZE];
    char after[TRACE_SUMMARY_SIZE];
    const char *decision; /* mark-invalid, already-invalid,
                             skip-own-commit-source or
                             skip-same-change-group */
    enum node_status was; /* its status before */
    bool queued;          /* and whether it was queued */
};

struct trace_run {
    uint64_t number;
    uint32_t ordinal;
    uint32_t parent; /* 1 + ordinal; 0: none */
    struct value name;
    enum node_kind kind;
    enum run_outcome outcome;
    mono_ms at;
    mono_ms busy_ms;
    uint32_t declared_count; /* outputs and envelopes; the first ones follow */
    uint32_t actual_count;   /* places that it changed; likewise */
    struct place *declared[TRACE_WRITES];
    struct place *actual[TRACE_WRITES];
};

struct trace_sweep {
    uint32_t runs;
    uint32_t first[TRACE_NAMED]; /* ordinals */
};

struct trace_pass {
    uint64_t number;
    mono_ms at;
    uint32_t sweeps;
    uint32_t busy_sweeps; /* with at least one run */
    uint64_t runs;
    uint64_t looked_at; /* nodes taken from the queue */
    bool settled;       /* nothing was backed off */
    struct trace_sweep sweep[SCHED_SWEEPS_MAX];
};

struct trace;

/* Traces from now on; `kinds` is a mask of enum trace_kind. */
struct trace *trace_new(struct sched *sched, unsigned kinds);

/* Restores the hooks. Traces are freed in reverse order. */
void trace_free(struct trace *trace);

/* Drops all entries. */
void trace_clear(struct trace *trace);

/* Oldest first. */
size_t trace_trigger_count(const struct trace *trace);
size_t trace_run_count(const struct trace *trace);
size_t trace_pass_count(const struct trace *trace);
const struct trace_trigger *trace_trigger_at(const struct trace *trace,
                                             size_t index);
const struct trace_run *trace_run_at(const struct trace *trace, size_t index);
const struct trace_pass *trace_pass_at(const struct trace *trace, size_t index);

#endif
