/* Cancel groups (sched/cancel.h): calls each cleanup once. */

#include "sched/cancel.h"

static void undo(struct cancel_group *group, struct cancel_cleanup cleanup)
{
    struct err_detail detail = {0};
    const enum err err = cleanup.call(cleanup.ctx, &detail);
    if (err == ERR_OK) {
        return;
    }
    if (group->failures == 0) {
        group->first = detail;
        group->first.err = err; /* even if its detail is empty */
    }
    group->failures++;
}

void cancel_group_add(struct cancel_group *group, cancel_fn *call, void *ctx)
{
    const struct cancel_cleanup cleanup = {call, ctx};
    if (group->cancelled) {
        undo(group, cleanup);
    } else {
        vec_push(&group->cleanups, cleanup);
    }
}

enum err cancel_group_cancel(struct cancel_group *group,
                             struct err_detail *detail)
{
    group->cancelled = true;
    while (group->cleanups.count > 0) {
        undo(group, vec_pop(&group->cleanups)); /* may cancel: cancel-1 holds */
    }
    if (detail != NULL) {
        *detail = group->first;
    }
    return group->first.err;
}

void cancel_group_release(struct cancel_group *group)
{
    vec_release(&group->cleanups);
}
