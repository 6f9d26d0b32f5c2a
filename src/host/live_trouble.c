/* The troubles of a live host's spaces (live-3): finding and reporting them. */

#include "base/text.h"
#include "host/live_internal.h"

static const struct err_detail *trouble_of(struct live_space *at)
{
    if (at->channel != NULL) {
        return live_remote_trouble(at, live_now(at->live));
    }
    const struct err_detail *troubles = at->hub.troubles;
    for (unsigned work = HUB_WORK_COUNT; at->stored && work-- > 0;) {
        if (troubles[work].err != ERR_OK) {
            return &troubles[work];
        }
    }
    return at->stored && at->busy_long ? &at->busy : NULL;
}

static void report(struct live *live, struct live_space *at)
{
    const struct err_detail *now = trouble_of(at);
    const enum err err = now != NULL ? now->err : ERR_OK;
    if (err == at->trouble.err) {
        return;
    }
    at->trouble = (struct err_detail){0};
    if (now == &at->busy) {
        at->trouble = at->busy;
    } else if (now != NULL) {
        const struct text name = value_text(&at->name);
        (void)err_set(&at->trouble,
                      err,
                      "the space '%.*s': %s%s",
                      text_shown(name.at, name.length, 60),
                      name.at,
                      now->text,
                      err == ERR_CORRUPT ? "; 'heddle check' lists the damage"
                      : err_class_of(err) == ERR_CLASS_TERMINAL ? ""
                                                                : "; retrying");
    }
    if (live->options.on_trouble != NULL) {
        live->options.on_trouble(live->options.ctx,
                                 at->space,
                                 now != NULL ? &at->trouble : NULL);
    }
}

void live_report_troubles(struct live *live)
{
    VEC_FOREACH (&live->spaces, at) {
        report(live, *at);
    }
}

const struct err_detail *live_trouble(const struct live *live)
{
    VEC_FOREACH (&live->spaces, at) {
        if ((*at)->trouble.err != ERR_OK) {
            return &(*at)->trouble;
        }
    }
    VEC_FOREACH (&live->spaces, at) {
        if ((*at)->busy_since != 0) {
            live_find_holder(*at, live_now(live));
            return &(*at)->busy;
        }
    }
    return NULL;
}
