/* The replica: a runtime's view of its spaces.
 *
 * It keeps the confirmed state, replays this runtime's commits without a
 * verdict on top, and publishes every change through one channel. The files,
 * from the bottom:
 *
 *   place        a document and a path, interned
 *   entity       a document: its visible state
 *   channel      notifications
 *   overlay      the pending layers of one entity
 *   transaction  logged reads, collected writes
 *   ahead        read-ahead for a transaction that waits
 *   draft        the writes of a transaction to one entity, as operations
 *   space        pending commits: applied, accepted, refused, reverted
 *   session      the connection to the store: open, resume, send again
 *   transport    what a host implements
 *
 * It does no I/O and reads no clock: time is an argument. One replica belongs
 * to one thread. */

#ifndef REPLICA_REPLICA_H
#define REPLICA_REPLICA_H

#include "base/host.h"
#include "base/list.h"
#include "base/log.h"
#include "base/map.h"
#include "base/pool.h"
#include "replica/channel.h"
#include "value/path.h"

struct observation;
struct pending;
struct space;
struct transaction;

struct replica {
    struct path_table paths;
    struct path *root_path;    /* the path of a document itself, */
    struct path *payload_path; /* and of its payload */
    struct map places;         /* struct place by parent and key */
    struct pool place_pool;    /* of those, and of the places in no map */
    struct pool entity_pool;
    struct list spaces;          /* struct space */
    size_t sessions;             /* of those, with a store */
    struct list subscribers;     /* struct subscriber */
    VEC(struct entity *) clocks; /* documents of value/clock_id.h */
    bool delivering;             /* a notification is being delivered */
    const struct log *log;       /* or NULL */

    uint64_t version;             /* of the last notification with changes */
    uint64_t epoch;               /* of the last transaction */
    uint32_t open;                /* transactions now */
    struct transaction *follower; /* of those, the one that logs no reads while
                                     it reads what is expected; or NULL */
    bool needs_step;              /* something is to be sent, or has arrived */
    bool pumping;                 /* inside replica_pump */

    /* Kept for reuse. */
    struct transaction *idle_transactions; /* by next_idle */
    VEC(struct pending *) idle_pendings;
    VEC(struct overlay *) idle_overlays;
    VEC(struct observation *) idle_observations;
    struct change_list changes;

    struct replica_counters {
        uint64_t commits;       /* that changed something */
        uint64_t notifications; /* delivered, with or without subscribers */
        uint64_t folds;         /* overlays computed again */
        uint64_t layers_skipped;
        uint64_t documents; /* received from a store */
    } counters;
};

/* `log` may be NULL. */
void replica_init(struct replica *replica, const struct log *log);

/* All transactions are closed; open spaces are closed at once. */
void replica_release(struct replica *replica);

/* Does everything that is due at `now`, in all spaces; and when to call
 * again. */
void replica_step(struct replica *replica, mono_ms now);
mono_ms replica_next_wake(const struct replica *replica);

/* Sends what is queued and handles what has arrived, unless a transaction is
 * open or a notification is being delivered. */
COLD void replica_pump(struct replica *replica);

/* Whether a flush would request documents: a message of the store may cause
 * that. */
bool replica_has_questions(const struct replica *replica);

#endif
