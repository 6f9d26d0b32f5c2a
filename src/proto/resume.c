/* Pages of actions as data: names and release. */

#include "proto/resume.h"

void resume_page_release(struct resume_page *page)
{
    VEC_FOREACH (&page->places, one) {
        value_unref(one->space);
        value_unref(one->target.id);
        path_unref(one->path);
    }
    VEC_FOREACH (&page->elsewhere, space) {
        value_unref(space->space);
        value_unref(space->branch);
    }
    vec_release(&page->actions);
    vec_release(&page->places);
    vec_release(&page->indexes);
    vec_release(&page->elsewhere);
    vec_release(&page->codes);
    vec_release(&page->gates);
    vec_release(&page->errors);
    *page = (struct resume_page){0};
}

const char *resume_state_name(enum resume_state state)
{
    static const char *const names[] = {
        [RESUME_CLEAN] = "clean",
        [RESUME_DIRTY] = "dirty",
        [RESUME_FAILED] = "failed",
        [RESUME_UNKNOWN] = "unknown",
    };
    return names[state];
}
