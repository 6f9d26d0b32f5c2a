/* What is behind a commit: the run of a node, an event, the start of a piece, a
 * clock, or an edit from outside (docs/explaining.md says in which order it is
 * found). */

#ifndef INSPECT_AUTHOR_H
#define INSPECT_AUTHOR_H

#include "inspect/offline_graph.h"

enum author_kind {
    AUTHOR_NODE,
    AUTHOR_EVENT,
    AUTHOR_START,
    AUTHOR_EFFECT, /* of a node that is not known any more */
    AUTHOR_CLOCK,  /* the next interval has begun */
    AUTHOR_EDIT,
};

/* Borrowed from the commit and the graph. */
struct author {
    enum author_kind kind;
    struct offline_node *node; /* NODE */
    bool earlier;              /* NODE: it has run since */
    const struct commit_write *receipt;
    struct value piece; /* START, EFFECT: its name */
};

struct author author_of(const struct offline_graph *graph,
                        const struct commit_seen *commit);

/* For people and programs: {"type": "node", "piece": ..., "node": ...}, new. */
struct value author_describe(const struct offline_graph *graph,
                             const struct author *author);

/* The fields of a node: its piece, its name, and its scope if it has one. */
void author_put_node(struct value *object, const struct offline_node *node);

/* The fields of a stream, which is the document of its handler: the piece and
 * the handler, or else its id. */
void author_put_stream(const struct offline_graph *graph,
                       struct value stream,
                       struct value *object);

#endif
