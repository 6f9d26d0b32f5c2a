/* Accounts (inspect/account.h) of a live runtime: what its scheduler has in
 * memory (sched/introspection.h).
 *
 * Beside what every account has, it knows of a run "pass", "sweep", "at", "ms",
 * "outcome" and, of a handler, "event"; of a cause "commit", the number of the
 * commit in its session.
 *
 * All answers are new. Nothing is changed. */

#ifndef INSPECT_LIVE_WHY_H
#define INSPECT_LIVE_WHY_H

#include "inspect/account.h"
#include "sched/introspection.h"

struct runtime;

struct live_source {
    struct sched *sched;
    const struct runtime *runtime; /* its pieces have nodes; may be NULL */
};

/* `runs`: of a handler, whose node does not count them. */
struct value live_why(const struct live_source *source,
                      const struct node *node,
                      uint64_t runs);
struct value live_why_not(const struct live_source *source,
                          const struct node *node);

/* [{"why":{...},"whyNot":{...}}]: of each node whose outputs a read of the
 * place sees. */
struct value live_writers(const struct live_source *source,
                          struct place *place);

/* The nodes, and the graph, of sched/introspection.h; those of one piece, or
 * all if it is absent. */
struct value live_nodes(const struct live_source *source, struct value piece);
struct value live_graph(const struct live_source *source, struct value piece);

#endif
