/* Requests in flight, in this process.
 *
 * A caller that is about to send a request claims its kind and id, and releases
 * the claim when the answer has been processed. Meanwhile no other caller sends
 * the same. A claim is not durable, on purpose: what must survive a restart is
 * a status of the row, and after a restart nothing is in flight.
 *
 *   guard-1  A pair of kind and id is held at most once.
 *   guard-2  Kinds are independent: a stop can be in flight beside a start.
 *
 * All zero is a guard that holds nothing and owns nothing. One thread. */

#ifndef LIFECYCLE_GUARD_H
#define LIFECYCLE_GUARD_H

#include <stdbool.h>
#include <stddef.h>

#include "base/map.h"

enum guard_kind {
    GUARD_THREAD_START,
    GUARD_THREAD_STOP,
    GUARD_THREAD_SEND,
    GUARD_ENVIRONMENT_PROVISION,
    GUARD_ENVIRONMENT_CANCEL,
    GUARD_ENVIRONMENT_DESTROY,
    GUARD_PIECE_START,
    GUARD_PIECE_STOP,
    GUARD_KIND_COUNT,
};

/* "thread.start", ...: for a log. */
const char *guard_kind_name(enum guard_kind kind);

struct guard {
    struct map claims;
};

/* Forgets all claims. */
void guard_release_all(struct guard *guard);

/* True if the caller has the claim now; false if it is already held. */
bool guard_claim(struct guard *guard, enum guard_kind kind, const char *id);

/* Releases a claim. False, and nothing happens, if it was not held: the answer
 * to a request may come after its claim was given up. */
bool guard_release(struct guard *guard, enum guard_kind kind, const char *id);

bool guard_is_held(const struct guard *guard,
                   enum guard_kind kind,
                   const char *id);

/* How many claims there are. */
size_t guard_count(const struct guard *guard);

#endif
