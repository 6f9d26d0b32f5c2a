/* The delivery of one notification, for the files of this folder.
 *
 * Inline, because each run of a node delivers one, nearly always to one
 * subscriber (C1 to C4 of replica/channel.h). */

#ifndef REPLICA_TELLING_H
#define REPLICA_TELLING_H

#include "replica/channel.h"
#include "replica/replica.h"

/* The slow path: several subscribers, or one that does not return MORE. */
COLD void telling_many(struct replica *replica,
                       const struct notification *what);
COLD void telling_take_answer(const struct replica *replica,
                              struct subscriber *subscriber,
                              const struct notification *what,
                              enum channel_answer answer);

static inline void telling_one(const struct replica *replica,
                               struct subscriber *subscriber,
                               const struct notification *what)
{
    const enum channel_answer answer = subscriber->fn(subscriber->ctx, what);
    if (UNLIKELY(answer != CHANNEL_MORE)) {
        telling_take_answer(replica, subscriber, what, answer);
    }
}

static inline void telling_all(struct replica *replica,
                               const struct notification *what)
{
    CHECK(!replica->telling);
    replica->counters.notifications++;
    struct list_node *head = &replica->subscribers.head;
    struct list_node *first = head->next;
    replica->telling = true;
    if (UNLIKELY(first->next != head)) {
        telling_many(replica, what);
    } else if (LIKELY(first != head)) {
        telling_one(replica,
                    CONTAINER_OF(first, struct subscriber, node),
                    what);
    }
    replica->telling = false;
}

#endif
