/* Marking one reader when something that it has read has changed.
 *
 * Inline, because nearly every run of a node ends with this.
 * sched/invalidation.h decides which readers see a change; its rules
 * invalidation-3 and invalidation-4 hold here as well. */

#ifndef SCHED_READER_MARK_H
#define SCHED_READER_MARK_H

#include "sched/gates.h"
#include "sched/introspection.h"
#include "sched/invalidation.h"
#include "sched/queue.h"

#define READER_MARK_READ_OF(chain_link) \
    CONTAINER_OF((chain_link), struct read_link, in_place)

/* -- One node ------------------------------------------------------------ */

COLD void reader_mark_reserve(struct node *node);

static inline void reader_mark_add_cause(struct node *node,
                                         struct place *place,
                                         uint64_t version)
{
    if (UNLIKELY(node->causes.count == node->causes.capacity)) {
        reader_mark_reserve(node);
    }
    struct cause *cause = &node->causes.at[node->causes.count++];
    cause->place = place_ref(place);
    cause->version = version;
}

static inline void reader_mark_invalid(struct sched *sched, struct node *node)
{
    sched->counters.invalidations++;
    if (node->status == NODE_CLEAN) {
        node_set_status(node, NODE_INVALID);
        sched->stale_epoch++;
    }
    if (UNLIKELY(node->gate != NULL)) {
        gates_on_invalid(sched, node);
    }
    queue_consider(sched, node);
}

/* -- One reader ---------------------------------------------------------- */

/* The node will run soon: prefetches what its run touches. For graphs larger
 * than the second-level cache, waiting for memory took half of the time. */
static inline void reader_mark_prefetch(const struct node *node)
{
    __builtin_prefetch(&node->runs, 1);
    __builtin_prefetch(&node->component, 1);
    __builtin_prefetch(node->ctx);
    __builtin_prefetch(node->writes);
}

/* The node is dormant: it leaves its places, and adds no cost from now on
 * (graph-1). */
COLD void reader_mark_detach(struct sched *sched, struct node *node);

/* Each place once. While the node runs, its links still say what caused the
 * run; this records the last change that the run may not have seen. */
static inline void reader_mark_note_cause(struct read_link *read,
                                          uint64_t version)
{
    struct node *node = read->node;
    if (UNLIKELY(node->running)) {
        VEC_FOREACH (&node->causes, cause) {
            if (cause->place == read->place) {
                cause->version = version;
                return;
            }
        }
    } else if (read->caused) {
        return;
    }
    read->caused = true;
    reader_mark_add_cause(node, read->place, version);
}

static inline void reader_mark_stale(struct sched *sched,
                                     struct read_link *read,
                                     uint64_t version)
{
    struct node *node = read->node;
    if (LIKELY(node->state == node_at_rest(NODE_CLEAN) && !read->caused &&
               (!sched->in_pass || node->height >= sched->sweep_floor))) {
        /* The following holds for nearly every node. */
        read->caused = true;
        reader_mark_add_cause(node, read->place, version);
        sched->counters.invalidations++;
        sched->stale_epoch++;
        node->state = node_at_rest(NODE_INVALID);
        queue_put(sched, node);
        reader_mark_prefetch(node);
        return;
    }
    if (node->place_in_queue != QUEUE_NONE && node_waits(node)) {
        /* It was marked for another change, and is in a queue already. */
        if (!read->caused) {
            read->caused = true;
            reader_mark_add_cause(node, read->place, version);
        }
        sched->counters.invalidations++;
        return;
    }
    reader_mark_note_cause(read, version);
    if (LIKELY(node->counted)) {
        reader_mark_invalid(sched, node);
    } else {
        reader_mark_detach(sched, node);
    }
}

/* -- A node's own write -------------------------------------------------- */

/* One reader of what `writer` has written. */
static inline void reader_mark_one(struct sched *sched,
                                   const struct node *writer,
                                   struct read_link *read,
                                   uint64_t version)
{
    sched->counters.visits++;
    /* One that was only declared never ran: it will read what is there. */
    if (LIKELY(read->node != writer && !read->unread)) {
        reader_mark_stale(sched, read, version);
    }
}

/* Several, in the order of their links. */
void reader_mark_all(struct sched *sched,
                     const struct node *writer,
                     const struct chain *readers,
                     uint64_t version);

/* A payload of which no part was read has got another value, by a run of
 * `writer` (replica/payload_write.h) or, if NULL, by no node. Does what the
 * notification would do. */
static inline void reader_mark_write(struct sched *sched,
                                     const struct node *writer,
                                     const struct place *payload,
                                     uint64_t version)
{
    sched->change_epoch++;
    struct change_record *record = &sched->changes[version % SCHED_RECORDS];
    record->version = version;
    record->local_seq = 0;
    record->kind = NOTIFY_COMMIT;
    record->source = writer != NULL ? writer->ordinal + 1 : 0;
    if (writer == NULL) {
        sched->outside_version = version;
    }
    const struct chain *readers = &payload->readers[READ_DEEP];
    struct chain_link *first = readers->first;
    if (first != NULL && first->next == NULL) {
        reader_mark_one(sched, writer, READER_MARK_READ_OF(first), version);
    } else if (first != NULL) {
        reader_mark_all(sched, writer, readers, version);
    }
}

#endif
