/* Introspection: what happened, and why. It changes only its own records, and
 * no run depends on it. The only exception is the limit of hops (sched/hops.h).
 *
 *   introspection-1  Every run is recorded in a ring, with its first causes. So
 *                    is every notification, with its author. So "why did this
 *                    run" has an answer for the last SCHED_RECORDS runs.
 *
 * inspect/live_why.h turns these records into explanations. */

#ifndef SCHED_INTROSPECTION_H
#define SCHED_INTROSPECTION_H

#include "base/buf.h"
#include "sched/runner.h"

void introspection_begin(struct sched *sched);
void introspection_end(struct sched *sched);

/* -- Recording ----------------------------------------------------------- */

/* A notification with changes: without any, its version belongs to another
 * one. */
static inline void introspection_note_change(struct sched *sched,
                                             const struct notification *what)
{
    struct change_record *record =
        &sched->changes[what->version % SCHED_RECORDS];
    const struct node *writer = sched->committing;
    record->version = what->version;
    record->local_seq = what->local_seq;
    record->kind = what->kind;
    record->source =
        writer != NULL && what->source == writer ? writer->ordinal + 1 : 0;
    if (record->source == 0) {
        sched->outside_version = what->version;
    }
}

/* How many of a run's causes its record keeps. */
static inline uint32_t introspection_kept_causes(uint32_t count)
{
    const uint32_t most = COUNT_OF(((struct run_record *)0)->causes);
    return count < most ? count : most;
}

static inline void introspection_clear(const struct run_record *record)
{
    const uint32_t kept = introspection_kept_causes(record->cause_count);
    for (uint32_t i = 0; i < kept; i++) {
        place_unref(record->causes[i].place);
    }
    value_unref(record->name);
}

/* The record takes over the references to the places of the causes that it
 * keeps; returns their number. */
static inline uint32_t introspection_fill(struct run_record *record,
                                          const struct run *run,
                                          enum run_outcome outcome)
{
    const struct sched *sched = run->sched;
    const struct node *node = run->node;
    introspection_clear(record);
    record->number = run->number;
    record->version = run->version;
    record->pass = sched->pass;
    record->sweep = sched->sweep;
    record->height = node->height;
    record->ordinal = node->ordinal;
    record->parent = node->parent != NULL ? node->parent->ordinal + 1 : 0;
    record->at = sched->now;
    record->busy_ms = node->last_ms;
    value_store(&record->name, value_ref(node_name(node)));
    record->kind = node->kind;
    record->outcome = outcome;
    record->first = run->was == NODE_NEVER_RAN;
    record->cause_count = run->causes.count;
    const uint32_t kept = introspection_kept_causes(run->causes.count);
    for (uint32_t i = 0; i < kept; i++) {
        record->causes[i].place = run->causes.at[i].place;
        record->causes[i].version = run->causes.at[i].version;
    }
    return kept;
}

/* Records a run in the ring, and calls the hook. */
static inline uint32_t introspection_note_run(struct sched *sched,
                                              const struct run *run,
                                              enum run_outcome outcome)
{
    struct run_record *record = &sched->records[run->number % SCHED_RECORDS];
    const uint32_t kept = introspection_fill(record, run, outcome);
    if (UNLIKELY(sched->hooks.run != NULL)) {
        sched->hooks.run(sched->hooks.ctx, run, record);
        sched->clock_is_right = false;
    }
    return kept;
}

/* -- Queries ------------------------------------------------------------- */

/* The last run of a node that is still in the ring, or NULL. */
const struct run_record *introspection_last_run(const struct sched *sched,
                                                const struct node *node);

/* The notification with that version, or NULL if it has left the ring. */
const struct change_record *introspection_change(const struct sched *sched,
                                                 uint64_t version);

/* The run that made a change, or NULL: none, or it has left the ring. Recent
 * runs are found sooner. */
const struct run_record *introspection_run_of_change(
    const struct sched *sched,
    const struct change_record *change);

/* How a run ended, in a word: "committed", "refused", "failed", "given-up" (it
 * is to run again) or "dropped". */
const char *introspection_outcome(enum run_outcome outcome);

/* The status of a node, in a word: "clean", "invalid" or "never-ran"; and its
 * kind: "computation", "materializer" or "effect". */
const char *introspection_status(enum node_status status);
const char *introspection_kind(const struct node *node);

/* Adds the writers of what a link reads to a set, in which each is once. */
struct writer_set {
    VEC(const struct node *) at;
};
void introspection_add_writers(const struct read_link *read,
                               struct writer_set *set);

/* All nodes and edges as an object, new:
 *
 *   {"at":1000,"nodes":[{"id":"n0","type":"computation","status":"clean",...},
 *                       {"id":"input:space/a","type":"input"}],
 *    "edges":[{"from":"input:space/a","to":"n0","documents":["space/a"]},
 *             {"from":"n0","to":"n1","type":"parent"}]}
 *
 * Documents that are read and that no node writes are nodes of their own. Walks
 * the whole graph, once per input: for diagnosis only. */
struct value introspection_graph(const struct sched *sched);

/* The nodes alone, as an array, new: the same without inputs and edges, and
 * without the walks that these take. */
struct value introspection_nodes(const struct sched *sched);

/* Statistics of a node's runs as an object, new: the count, and the total,
 * average and last duration. */
struct value introspection_statistics(const struct node *node);

/* The counters as an object, new; and resets them. */
struct value introspection_counters(const struct sched *sched);
void introspection_reset_counters(struct sched *sched);

/* -- For files that write reports ---------------------------------------- */

/* "space/a#/value/x", "space/a@user", and a node's name or number. */
void introspection_write_place(struct buf *out, const struct place *place);
void introspection_write_entity(struct buf *out, const struct entity *entity);
void introspection_write_name(struct buf *out,
                              struct value name,
                              uint32_t ordinal);

#endif
