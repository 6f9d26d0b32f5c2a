/* The change channel: the one way in which anybody learns that something has
 * changed.
 *
 * A local commit, a remote change, a revert and the first load of a document
 * are the same thing to those above: a notification with the documents that
 * look different now, each with its state before and after.
 *
 *   C1  Notifications come in the order of the changes, one at a time, and
 *       folding them over the initial state gives the visible state after
 *       each. A hidden intermediate state is never told of.
 *   C2  A local commit's notification is delivered before the commit returns.
 *   C3  A commit has exactly one COMMIT and at most one REVERT; none, if
 *       nothing looks different for it (a condition, or a document that must
 *       be new and is the same as one that waits for its verdict).
 *   C4  A subscriber sees every notification from its subscription on until it
 *       says that it is done, whatever the others do. It may not commit. */

#ifndef REPLICA_CHANNEL_H
#define REPLICA_CHANNEL_H

#include "base/list.h"
#include "replica/entity.h"

struct verdict;

enum notification_kind {
    NOTIFY_COMMIT,    /* this runtime's own, applied just now */
    NOTIFY_REVERT,    /* one of those did not land */
    NOTIFY_PULL,      /* the answer to a watch; may be without changes */
    NOTIFY_INTEGRATE, /* somebody else's commit */
    NOTIFY_RESET,     /* everything was forgotten; without changes */
};

struct change {
    struct entity *entity;
    struct entity_state before;
    struct entity_state after;
};

/* Borrowed for the call. */
struct notification {
    enum notification_kind kind;
    struct space *space;
    const struct change *changes;
    size_t count;
    bool more;          /* something beside payloads is different, or all is */
    uint64_t version;   /* of the entities that changed (N1) */
    uint64_t local_seq; /* commit, revert: whose; 0 in a local space */
    const void *source; /* commit, revert: who wrote, by identity, or NULL */
    const void *group;  /* likewise: its change group, or NULL */
    const struct verdict *reason; /* revert: why */
};

enum channel_answer {
    CHANNEL_MORE,
    CHANNEL_DONE,   /* never call again */
    CHANNEL_FAILED, /* something went wrong in there: logged, and no more */
};

typedef enum channel_answer channel_fn(void *ctx,
                                       const struct notification *notification);

/* A commit has given one payload, of which nobody has read a part, another
 * value; nobody in particular made it, in no group, and nobody waits for an
 * answer. */
typedef void channel_leaf_fn(void *ctx,
                             const struct place *payload,
                             uint64_t version);

/* Embedded in the subscriber. */
struct subscriber {
    struct list_node node;
    channel_fn *fn;
    channel_leaf_fn *leaf; /* called instead of `fn` for such commits while
                              there is no other subscriber, and no space with a
                              store; or NULL */
    void *ctx;
};

struct replica;

/* At the end of the list; called in the order of subscription. */
void channel_subscribe(struct replica *replica, struct subscriber *subscriber);
void channel_unsubscribe(struct subscriber *subscriber);

const char *notification_name(enum notification_kind kind);

/* -- For the files of this folder ---------------------------------------- */

/* Changes being collected: what an entity was before the first of them. */
struct change_list {
    VEC(struct change)
    at; /* of entities that are `listed`; one list a
           replica */
};

/* Remembers the state of `entity` as it is, unless it is in the list. */
void change_list_touch(struct change_list *list, struct entity *entity);

/* Reads the states after, drops entities that look as before, gives the others
 * a new version, and tells everybody; then the list is empty. Without any
 * change nobody is told, unless the kind says that there may be none. */
void channel_publish(struct replica *replica,
                     struct change_list *list,
                     struct notification *notification);

#endif
