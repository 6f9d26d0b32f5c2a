/* Introspection: what happened, and why. Nothing here changes anything but the
 * records of its own; no decision depends on it.
 *
 *   N1  Every run is recorded, with its first causes, in a ring. Every
 *       notification is, with who caused it. So "why did this run" has an
 *       answer for the last SCHED_RECORDS runs.
 *   N2  A node that does not run can say which condition is missing. */

#ifndef SCHED_INTROSPECTION_H
#define SCHED_INTROSPECTION_H

#include "base/buf.h"
#include "sched/runner.h"

void introspection_begin(struct sched *sched);
void introspection_end(struct sched *sched);

/* -- Recording ----------------------------------------------------------- */

void introspection_note_change(struct sched *sched,
                               const struct notification *what);
void introspection_note_run(struct sched *sched,
                            const struct run *run,
                            enum run_outcome outcome);

/* -- Asking -------------------------------------------------------------- */

/* The last run of a node that is still in the ring, or NULL. */
const struct run_record *introspection_last_run(const struct sched *sched,
                                                const struct node *node);

/* What a version was, or NULL if it is too long ago. */
const struct change_record *introspection_change(const struct sched *sched,
                                                 uint64_t version);

/* A sentence or several: why the node ran last, and why it does not run
 * now. */
void introspection_why(const struct sched *sched,
                       const struct node *node,
                       struct buf *out);
void introspection_why_not(const struct sched *sched,
                           const struct node *node,
                           struct buf *out);

/* All nodes and edges as an object, new:
 *
 *   {"at":1000,"nodes":[{"id":"n0","type":"computation","status":"clean",...},
 *                       {"id":"input:space/a","type":"input"}],
 *    "edges":[{"from":"input:space/a","to":"n0","documents":["space/a"]},
 *             {"from":"n0","to":"n1","type":"parent"}]}
 *
 * Documents that are read and that no node writes are nodes of their own. It
 * walks everything, and inputs by everything: for people. */
struct value introspection_graph(const struct sched *sched);

/* A node's runs as an object, new: how many, and how long they took in all, on
 * average and the last time. */
struct value introspection_statistics(const struct node *node);

/* The counters as an object, new; and all of them at 0. */
struct value introspection_counters(const struct sched *sched);
void introspection_reset_counters(struct sched *sched);

/* -- For the files that write about it ----------------------------------- */

/* "space/a#/value/x", "space/a@user", and a node's name or number. */
void introspection_write_place(struct buf *out, const struct place *place);
void introspection_write_entity(struct buf *out, const struct entity *entity);
void introspection_write_name(struct buf *out,
                              struct value name,
                              uint32_t ordinal);

#endif
