/* What is behind a commit: the run of a node, an event, the start of a piece, a
 * clock, or an edit from outside (docs/explaining.md says in which order it is
 * found). */

#ifndef INSPECT_AUTHOR_H
#define INSPECT_AUTHOR_H

#include "inspect/account.h"
#include "inspect/offline_graph.h"

/* Borrowed from the commit and the graph. */
struct author {
    enum author_kind kind;
    struct offline_node *node; /* NODE */
    bool earlier;              /* NODE: it has run since */
    const struct commit_write *receipt;
    struct value piece; /* START, EFFECT: its name */
};

struct author author_of(const struct offline_graph *graph,
                        const struct commit_info *commit);

/* For people and programs: {"type": "node", "piece": ..., "node": ...}, new. */
struct value author_describe(const struct offline_graph *graph,
                             const struct author *author);

/* What an account says of a node. Borrowed from it. */
struct account_node author_node(const struct offline_node *node);

/* The fields of a stream, which is the document of its handler: the piece and
 * the handler, or else its id. */
void author_put_stream(const struct offline_graph *graph,
                       struct value stream,
                       struct value *object);

#endif
