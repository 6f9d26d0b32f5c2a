/* Cancel groups: cleanups to call when an activity ends.
 *
 * Code that starts an activity on behalf of an owner adds the cleanup to the
 * owner's group. So a late start, which had to wait for its commit to land, and
 * an earlier stop cannot miss each other.
 *
 *   cancel-1  Each cleanup is called at most once, the last one first.
 *   cancel-2  A cleanup that is added during or after the cancellation is
 *             called at once.
 *   cancel-3  A cleanup that fails does not prevent the others from being
 *             called. Failures are counted, and the first error is kept.
 *   cancel-4  A cancelled group stays cancelled; cancelling it again is
 *             harmless.
 *
 * A zeroed group is valid: not cancelled and empty. */

#ifndef SCHED_CANCEL_H
#define SCHED_CANCEL_H

#include <stdbool.h>

#include "base/err.h"
#include "base/vec.h"

/* On failure, it fills in `detail`. It may add to the group and cancel it, but
 * not release it. */
typedef enum err cancel_fn(void *ctx, struct err_detail *detail);

struct cancel_cleanup {
    cancel_fn *call;
    void *ctx;
};

struct cancel_group {
    VEC(struct cancel_cleanup) cleanups; /* not called yet */
    bool cancelled;
    uint32_t failures;
    struct err_detail first; /* the first failure, or OK */
};

void cancel_group_add(struct cancel_group *group, cancel_fn *call, void *ctx);

/* Calls the cleanups. Returns OK or the first failure, also on later calls;
 * `detail` may be NULL. */
MUST_CHECK enum err cancel_group_cancel(struct cancel_group *group,
                                        struct err_detail *detail);

/* Drops the cleanups that have not been called. */
void cancel_group_release(struct cancel_group *group);

#endif
