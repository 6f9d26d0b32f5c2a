/* The delivery of one notification, for the files of this folder.
 *
 * Inline, because each run of a node delivers one, nearly always to one
 * subscriber (channel-1 to channel-4 of replica/channel.h). */

#ifndef REPLICA_CHANNEL_DELIVER_H
#define REPLICA_CHANNEL_DELIVER_H

#include "replica/channel.h"
#include "replica/replica.h"

/* The slow path: several subscribers, or one that does not return MORE. */
COLD void channel_deliver_many(struct replica *replica,
                               const struct notification *what);
COLD void channel_deliver_answer(const struct replica *replica,
                                 struct subscriber *subscriber,
                                 const struct notification *what,
                                 enum channel_answer answer);

static inline void channel_deliver_one(const struct replica *replica,
                                       struct subscriber *subscriber,
                                       const struct notification *what)
{
    const enum channel_answer answer = subscriber->fn(subscriber->ctx, what);
    if (UNLIKELY(answer != CHANNEL_MORE)) {
        channel_deliver_answer(replica, subscriber, what, answer);
    }
}

static inline void channel_deliver_all(struct replica *replica,
                                       const struct notification *what)
{
    CHECK(!replica->delivering);
    replica->counters.notifications++;
    struct list_node *head = &replica->subscribers.head;
    struct list_node *first = head->next;
    replica->delivering = true;
    if (UNLIKELY(first->next != head)) {
        channel_deliver_many(replica, what);
    } else if (LIKELY(first != head)) {
        channel_deliver_one(replica,
                            CONTAINER_OF(first, struct subscriber, node),
                            what);
    }
    replica->delivering = false;
}

#endif
