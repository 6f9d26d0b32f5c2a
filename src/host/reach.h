/* The reach of selectors: every document that links lead to.
 *
 * A selector is a place with a schema (host/reach_links.h). Its document is in
 * the reach; so is every document that it leads to from there, link by link.
 * The reach is kept as a graph: a node is a place that some selector leads to,
 * an edge is a link that is followed. A change costs as much as what changes:
 * only the changed documents are read and searched for links again, and the
 * places behind their other links stay as they are.
 *
 *   reach-1  After reach_update, and after reach_add has succeeded, the nodes
 *            are exactly the places that the selectors lead to, in the state of
 *            the documents that was read.
 *   reach-2  A node has a parent, the edge by which its level was found, or it
 *            is a selector. The parents form a forest, so nodes in a cycle that
 *            no selector leads to are found to be lost. Only the nodes below a
 *            removed parent edge are examined for that.
 *   reach-3  With a depth, the level of a node is the least number of links to
 *            other documents on the way from a selector, at most the depth.
 *            Without one all levels are 0.
 *   reach-4  Without a depth, a node below a place that is followed whole is
 *            *covered* by it: it leads to nothing else, and needs no edges of
 *            its own. When the covering node is lost, it gets them.
 *   reach-5  A document is read at most once per update, and only if it is new
 *            or has changed (the counters tell). A new one is always read: its
 *            owner needs it.
 *   reach-6  An error leaves the graph as it was, or unfinished: the next
 *            update continues. Documents that the owner does not hold yet are
 *            read again then, because it has not followed their changes.
 *
 * The reach does no I/O but by the read function, and knows no session. */

#ifndef HOST_REACH_H
#define HOST_REACH_H

#include "base/bucket_queue.h"
#include "base/list.h"
#include "base/map.h"
#include "host/reach_links.h"

#define REACH_ANY_DEPTH UINT32_MAX

struct reach_document {
    struct target target;
    struct list nodes;
    uint32_t live;  /* nodes of them that are reached */
    uint32_t whole; /* and that are followed whole (reach-4) */
    uint64_t epoch; /* counts changes */
    bool held;      /* was reported as reached (reach_take) */
    bool is_read;   /* by this update: */
    struct value value;
    uint64_t seq;
    struct list_node in_touched; /* begins or ends to be reached */
};

struct reach_node;

/* The document at the head, new, or absent; and the seq of its last
 * revision. */
typedef enum err reach_read_fn(void *ctx,
                               const struct target *target,
                               struct value *document,
                               uint64_t *seq,
                               struct err_detail *detail);

struct reach {
    struct reach_links links;
    uint32_t depth;     /* reach-3, or REACH_ANY_DEPTH */
    size_t most;        /* documents; more are LIMIT_REACH, */
    size_t most_places; /* and so are more places than this */
    reach_read_fn *read;
    void *read_ctx;

    struct map documents; /* struct reach_document by scope and id */
    struct map nodes;     /* struct reach_node by document, path and schema */
    size_t live;          /* documents that are reached */
    struct bucket_queue queue; /* nodes to look at, by level */
    struct list lost;          /* nodes that lost their parent edge, and may
                                  have another one now */
    struct list touched;       /* documents, by in_touched */
    VEC(struct reach_document *) values; /* documents with is_read */
    struct reach_node *searched;         /* whose links are being collected */
    uint64_t search;                     /* counts searches */

    struct reach_counters {
        uint64_t reads;    /* documents that were read */
        uint64_t searches; /* for links */
    } counters;
};

/* `paths`, `space` (may be absent) and the context outlive the reach; the read
 * function and the two limits may be changed later. */
void reach_init(struct reach *reach,
                struct path_table *paths,
                struct value space,
                uint32_t depth,
                size_t most);
void reach_release(struct reach *reach);

/* A selector; its place is a node, *out; reach_take follows before a document
 * changes. On an error nothing is added: what the
 * read function reported, or LIMIT_REACH. */
MUST_CHECK enum err reach_add(struct reach *reach,
                              const struct reach_place *root,
                              struct reach_node **out,
                              struct err_detail *detail);

/* The selector that reach_add made is over; takes effect with the next
 * update. */
void reach_remove(struct reach *reach, struct reach_node *root);

/* Undoes reach_add, whose result was not taken; reads nothing. */
void reach_cancel(struct reach *reach, struct reach_node *root);

/* A document has changed; harmless if it is not reached. Takes effect with the
 * next update. */
void reach_changed(struct reach *reach, const struct target *target);

/* Whether an update, or reach_take, has something to do; whether an update has
 * not. */
bool reach_is_pending(const struct reach *reach);
bool reach_is_settled(const struct reach *reach);

/* reach-1. LIMIT_REACH: there are more documents than `most`; the caller ends a
 * selector and tries again. */
MUST_CHECK enum err reach_update(struct reach *reach,
                                 struct err_detail *detail);

bool reach_holds(const struct reach *reach, const struct target *target);

/* Reports each document that is reached since the last time (`added`), or no
 * longer, with what was read of it. Nothing is pending. The function must not
 * call the reach. */
typedef void reach_take_fn(void *ctx,
                           const struct reach_document *document,
                           bool added);
void reach_take(struct reach *reach, reach_take_fn *take, void *ctx);

/* True if reach-1 (as far as the graph itself shows it) to reach-4 hold. */
bool reach_check(const struct reach *reach);

#endif
