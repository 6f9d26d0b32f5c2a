/* An offline graph: the pieces of a space as its file has them, without any
 * process that runs them.
 *
 * The file remembers what each node read and wrote (store/run_history.h) under
 * the digest of its name; the result document of a piece has the names
 * (runtime/piece.h). Together they are the graph as it was last.
 *
 *   struct offline_graph *graph;
 *   err = offline_graph_open(folder, "main", NULL, &graph, &detail);
 *   VEC_FOREACH (&graph->pieces, piece) ...
 *   offline_graph_close(graph);
 *
 *   offline-graph-1  It is of one state of the space, `graph->engine.seq`, and
 *                    nothing is changed.
 *   offline-graph-2  A node is *wanted* if an effect reads what it writes,
 *                    directly or through others. It is *live* if a process that
 *                    runs effects has started the piece of such an effect, and
 *                    the piece of the node. A process that looks at a result
 *                    counts as an effect as long as the process is there; the
 *                    file does not record it.
 *   offline-graph-3  A node that never ran, or has no fingerprint, has no row:
 *                    only its name and its kind are known. */

#ifndef INSPECT_OFFLINE_GRAPH_H
#define INSPECT_OFFLINE_GRAPH_H

#include "store/run_history.h"

struct offline_piece;

struct offline_node {
    struct offline_piece *piece;
    struct value name; /* "total"; of a row without a name "#" and a digest */
    struct value kind; /* "computed", "effect", "handler", "list", "child",
                          "task" */
    const struct run_action *run; /* or NULL (offline-graph-3) */
    bool wanted;                  /* offline-graph-2 */
    bool live;
};

struct offline_piece {
    struct value name;
    struct value about; /* what is at "piece" of its result; or absent */
    struct run_list runs;
    VEC(struct offline_node) nodes;
    struct value sessions; /* of those that have it started: an array of
                              presence objects (host/presence.h) */
    bool started;          /* by one that runs effects */
    bool looked_at;        /* and that looks at its result */
};

/* A document that nodes write, and who. */
struct offline_output {
    struct offline_node *node;
    const struct run_place *place;
};

struct offline_document {
    struct value scope_key; /* borrowed */
    struct value id;
    VEC(struct offline_output) outputs;
};

struct offline_graph {
    struct engine engine;
    struct value space; /* its name */
    bool reading;       /* inside a read transaction, from the opening on
                           (offline-graph-1) */
    struct value branch;
    struct value present; /* of host/presence.h */
    VEC(struct offline_piece *) pieces;
    struct map names;     /* of them: struct offline_piece by name */
    struct map documents; /* struct offline_document */
    struct map landed;    /* struct offline_node by the commit of its run */
};

/* What folder.h says, and faults. The file is opened for reading only. `branch`
 * may be NULL: the first one. */
MUST_CHECK enum err offline_graph_open(const char *folder,
                                       const char *space,
                                       const char *branch,
                                       struct offline_graph **out,
                                       struct err_detail *detail);
void offline_graph_close(struct offline_graph *graph);

/* By name, or NULL. */
struct offline_piece *offline_piece(const struct offline_graph *graph,
                                    const char *name);
struct offline_piece *offline_piece_named(const struct offline_graph *graph,
                                          struct value name);
struct offline_node *offline_node(const struct offline_piece *piece,
                                  const char *name);

/* The node of that name whose last run was that of a user, or of all; NULL: it
 * has run for others only, or there is none. */
struct offline_node *offline_node_of_user(const struct offline_piece *piece,
                                          const char *name,
                                          const char *user);

/* The scope key of a node that has run for a user or a session, borrowed;
 * absent: it has run for all, or not at all. */
struct value offline_node_scope(const struct offline_node *node);

/* The document with its writers, or NULL. */
const struct offline_document *offline_document(
    const struct offline_graph *graph,
    struct value scope_key,
    struct value id);

/* Whether a read sees what is written at an output. */
static inline bool offline_reads(const struct run_place *read,
                                 const struct offline_output *output)
{
    return path_overlaps(read->path, output->place->path);
}

/* Whether a node can read what another one has written: not if they have run
 * for different users. */
bool offline_is_shared(const struct offline_node *reader,
                       const struct offline_node *writer);

/* The node whose last run made this commit, or NULL. */
struct offline_node *offline_landed(const struct offline_graph *graph,
                                    uint64_t seq);

/* How far a task is, new: {"state":"failed","attempts":3,"error":{...}}, as its
 * output says (runtime/task.h), and with "waitsFor": "inputs" if it is idle,
 * or, while it is running, "outcome", or "process" if no process has the piece
 * started. Empty: it never ran. Absent: the node is no task. */
struct value offline_task(struct offline_graph *graph,
                          const struct offline_node *node);

/* Whether its runs are recorded. Those of a handler are not: its events are in
 * the log. */
bool offline_has_runs(const struct offline_node *node);

/* "clean", "dirty", "failed", "unknown"; "never-ran" without a row. For nodes
 * that have runs. */
const char *offline_status(const struct offline_node *node);

#endif
