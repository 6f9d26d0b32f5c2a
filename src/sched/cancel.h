/* Cancel groups: what is to be undone when something is over.
 *
 * Who starts something on behalf of another adds what ends it to the other's
 * group. So a start that comes late, because its commit had to land first, and
 * a stop that came before it cannot miss each other.
 *
 *   K1  Each cleanup is called at most once, the last one first.
 *   K2  One that is added during or after the cancellation is called at once.
 *   K3  One that fails keeps no other from being called. The failures are
 *       counted, and what the first one said is kept.
 *   K4  What is cancelled stays cancelled; to cancel it again is harmless.
 *
 * All zero is a group that is not cancelled and has nothing to undo. */

#ifndef SCHED_CANCEL_H
#define SCHED_CANCEL_H

#include <stdbool.h>

#include "base/err.h"
#include "base/vec.h"

/* What it returns other than OK, it says in `detail`. May add to the group and
 * cancel it, but not release it. */
typedef enum err cancel_fn(void *ctx, struct err_detail *detail);

struct cancel_cleanup {
    cancel_fn *call;
    void *ctx;
};

struct cancel_group {
    VEC(struct cancel_cleanup) cleanups; /* not called yet */
    bool cancelled;
    uint32_t failures;
    struct err_detail first; /* of them; OK if there is none */
};

void cancel_group_add(struct cancel_group *group, cancel_fn *call, void *ctx);

/* Calls what was added. OK, or what the first failure was, also at a second
 * call; `detail` may be NULL. */
MUST_CHECK enum err cancel_group_cancel(struct cancel_group *group,
                                        struct err_detail *detail);

/* Forgets what was not called. */
void cancel_group_release(struct cancel_group *group);

#endif
