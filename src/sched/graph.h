/* The graph: what each node reads and writes, kept in the places themselves.
 *
 * A node's reads are links in the places that it read; its outputs are links in
 * the places that it writes. An edge from a writer to a reader is not stored:
 * it exists where two such links overlap.
 *
 *   graph-1  An attached node has its read links in their places. Live nodes
 *            are attached, and so are dormant nodes that are clean. A dormant
 *            node that is not clean is detached, and adds no cost to changes.
 *            Its links keep the versions that they saw.
 *   graph-2  A read and a write overlap if one path is a prefix of the other; a
 *            shape read does not see a write that is more than one segment
 *            below it.
 *   graph-3  A node is not a reader of its own outputs.
 *   graph-4  A node has one link per place and kind of read. */

#ifndef SCHED_GRAPH_H
#define SCHED_GRAPH_H

#include "sched/core.h"

/* -- Walking along edges ------------------------------------------------- */

/* The writers of what a link reads, each as often as it overlaps, without
 * envelopes. NULL at the end. Links must not change meanwhile. */
struct writer_walk {
    const struct read_link *read;
    struct place *place;     /* the current place */
    struct chain_link *next; /* in that place */
    bool below;              /* walking the places below the read */
    bool envelopes;          /* include envelopes */
};
struct writer_walk graph_writers(const struct read_link *read);
struct node *graph_next_writer(struct writer_walk *walk);

/* The attached readers of a node's outputs, each as often as it overlaps. */
struct reader_walk {
    const struct node *writer;
    uint32_t output;
    struct place *place;
    unsigned kind;
    struct chain_link *next;
    bool below; /* at and below the output, not above it */
};
struct reader_walk graph_readers(const struct node *writer);
struct read_link *graph_next_reader(struct reader_walk *walk);

/* The next place of the trie below `top` in depth-first order, or NULL. */
struct place *graph_next_below(const struct place *top, struct place *place);

/* -- Changing it --------------------------------------------------------- */

/* Links a node's outputs and envelopes into their places, and unlinks them. */
void graph_add_writes(struct sched *sched,
                      struct node *node,
                      const struct node_spec *spec);
void graph_remove_writes(struct sched *sched, struct node *node);

/* Whether it is an envelope, which affects the order only. */
bool graph_is_envelope(const struct write_link *write);

/* Declares the reads of a node that has never run. */
void graph_declare_reads(struct node *node,
                         struct place *const *places,
                         size_t count);

/* Restores the reads of a run before the restart, for a new node that is not
 * attached yet; no duplicates. First their number. `seq` is the version that
 * each of them saw. */
void graph_reserve_reads(struct node *node, uint32_t count);
void graph_restore_read(struct node *node,
                        struct place *place,
                        enum read_kind kind,
                        uint64_t seq);

/* graph-1. Attaching updates order and liveness. */
void graph_attach(struct sched *sched, struct node *node);
void graph_detach(struct sched *sched, struct node *node);

/* Which of the previous reads stay. */
enum reads_kept {
    READS_KEPT_NONE,
    READS_KEPT_READ, /* not those that were only declared */
    READS_KEPT_ALL,
};

/* Whether the transaction read exactly what the node reads, in the same order;
 * then only the versions change. */
static inline bool graph_reads_stay(struct node *node,
                                    const struct transaction *transaction)
{
    size_t at = 0;
    struct read_link *reads = node->reads.at;
    const struct read_entry *entry = transaction->reads.at;
    for (size_t left = transaction->reads.count; left > 0; left--, entry++) {
        if (UNLIKELY((entry->flags & READ_NOT_FOR_SCHEDULING) != 0)) {
            continue;
        }
        if (at == node->reads.count || reads[at].place != entry->place ||
            reads[at].kind != entry->kind || reads[at].unread) {
            return false;
        }
        reads[at].version = entry->version;
        reads[at].caused = false;
        at++;
    }
    return at == node->reads.count;
}

/* The slow path of graph_apply_reads. */
void graph_change_reads(struct sched *sched,
                        struct node *node,
                        const struct transaction *transaction,
                        enum reads_kept keep);

/* The reads of the transaction become those of the node. Without a difference
 * this only compares and stores versions. */
static inline void graph_apply_reads(struct sched *sched,
                                     struct node *node,
                                     const struct transaction *transaction,
                                     enum reads_kept keep)
{
    if (UNLIKELY(!graph_reads_stay(node, transaction))) {
        graph_change_reads(sched, node, transaction, keep);
    }
}

/* The same for the first run of a node that is attached and reads nothing yet.
 * There was no other transaction since this one began, so each read was logged
 * once. False, with nothing done: one of the reads does not count. */
bool graph_take_first_reads(struct sched *sched,
                            struct node *node,
                            const struct transaction *transaction);

/* Drops all reads. */
void graph_remove_reads(struct sched *sched, struct node *node);

/* graph-1 to graph-3 for one node. */
bool graph_check(const struct node *node);

#endif
