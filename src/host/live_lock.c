/* Waiting for the write lock of a space. */

#include "base/text.h"
#include "host/live_internal.h"
#include "host/system.h"

/* Whether one process keeps the others from writing: many that write one after
 * the other are no trouble. */
static bool is_held_long(const struct live_space *at,
                         const struct lock_holder *holder,
                         mono_ms now)
{
    return holder->stopped ||
           (now >= at->busy_since + LIVE_BUSY_MS &&
            (holder->since_ms == 0 ||
             system_wall_ms() >= holder->since_ms + LIVE_BUSY_MS));
}

void live_find_holder(struct live_space *at, mono_ms now)
{
    struct lock_holder holder;
    struct err_detail why = {0};
    const struct text name = value_text(&at->name);
    lock_holder_find(buf_text(&at->engine.database.path), &holder);
    if (holder.kind != LOCK_NONE) {
        at->busy_long = is_held_long(at, &holder, now);
        (void)lock_holder_explain(&holder, &why);
    } else if (at->busy.err == ERR_OK) {
        (void)err_set(&why, ERR_BUSY, "other processes write to it: retry");
    }
    if (why.err != ERR_OK) {
        (void)err_set(&at->busy,
                      ERR_BUSY,
                      "the space '%.*s': %s",
                      text_shown(name.at, name.length, 60),
                      name.at,
                      why.text);
    }
}

void live_end_wait(struct live_space *at)
{
    at->busy_since = 0;
    at->busy_long = false;
    at->busy = (struct err_detail){0};
}

/* live-8: it is asked again when the lock file was written to. A program that
 * is not Heddle does not do that, so it is asked now and then in any case. */
void live_begin_wait(struct live_space *at, mono_ms now)
{
    if (at->busy_since == 0) {
        at->busy_since = now;
        at->pause = 1;
    } else if (now >= at->busy_since + LOCK_PATIENCE_MS &&
               now >= at->ask_again) {
        live_find_holder(at, now);
    }
    if (now >= at->ask_again) {
        at->pause = at->pause < LIVE_POLL_MS / 2 ? at->pause * 2 : LIVE_POLL_MS;
        at->ask_again = now + at->pause;
    }
}
