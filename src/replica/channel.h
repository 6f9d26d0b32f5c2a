/* The change channel: the only way to learn that something has changed.
 *
 * A local commit, a remote change, a revert and the first load of a document
 * look the same to subscribers: a notification with the documents that changed
 * visibly, each with its state before and after.
 *
 *   channel-1  Notifications come in the order of the changes, one at a time.
 *              Folding them over the initial state gives the visible state
 *              after each. Hidden intermediate states are never published.
 *   channel-2  A local commit's notification is delivered before the commit
 *              returns.
 *   channel-3  A commit has exactly one COMMIT and at most one REVERT; none, if
 *              it changes nothing visible (a condition, or a document that must
 *              be new and equals one that waits for its verdict).
 *   channel-4  A subscriber sees every notification from its subscription on
 *              until it says that it is done, whatever other subscribers do. It
 *              may not commit. */

#ifndef REPLICA_CHANNEL_H
#define REPLICA_CHANNEL_H

#include "base/list.h"
#include "replica/entity.h"

struct verdict;

enum notification_kind {
    NOTIFY_COMMIT,    /* of this runtime, just applied */
    NOTIFY_REVERT,    /* a local commit did not land */
    NOTIFY_PULL,      /* the answer to a watch; may be without changes */
    NOTIFY_INTEGRATE, /* a commit of another session */
    NOTIFY_RESET,     /* everything was dropped; without changes */
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
    bool more;          /* something outside payloads changed, or everything */
    uint64_t version;   /* of the changed entities (entity-1) */
    uint64_t local_seq; /* of the commit or reverted commit; 0 in a local
                           space */
    const void *source; /* commit, revert: the author, by identity, or NULL */
    const void *group;  /* likewise: the author's change group, or NULL */
    const struct verdict *reason; /* revert: the refusal */
};

enum channel_answer {
    CHANNEL_MORE,
    CHANNEL_DONE,   /* do not call again */
    CHANNEL_FAILED, /* an internal error: logged, and not called again */
};

typedef enum channel_answer channel_fn(void *ctx,
                                       const struct notification *notification);

/* A commit gave another value to one payload of which no part was read. It has
 * no author and no group, and nothing waits for its verdict. */
typedef void channel_leaf_fn(void *ctx,
                             const struct place *payload,
                             uint64_t version);

/* Embedded in the subscriber. */
struct subscriber {
    struct list_node node;
    channel_fn *fn;
    channel_leaf_fn *leaf; /* called instead of `fn` for such commits while this
                              is the only subscriber and no space has a store;
                              or NULL */
    void *ctx;
};

struct replica;

/* Appends; subscribers are called in the order of subscription. */
void channel_subscribe(struct replica *replica, struct subscriber *subscriber);
void channel_unsubscribe(struct subscriber *subscriber);

const char *notification_name(enum notification_kind kind);

/* -- Internal to this directory ------------------------------------------ */

/* Changes being collected: the state of each entity before the first of
 * them. */
struct change_list {
    VEC(struct change)
    at; /* of entities that are `listed`; one list per replica */
};

/* Records the present state of `entity`, unless it is in the list. */
void change_list_touch(struct change_list *list, struct entity *entity);

/* Compares with the states after, drops entities that look as before, gives the
 * others a new version, and notifies the subscribers; then the list is empty.
 * Without any change there is no notification, unless the kind allows an empty
 * one. */
void channel_publish(struct replica *replica,
                     struct change_list *list,
                     struct notification *notification);

#endif
