/* Waiting events: the options of timers (--after, --at, --every, --zone and
 * --missed), and what `heddle timers` and `heddle events` share. */

#ifndef CLI_TIMERS_H
#define CLI_TIMERS_H

#include "cli/look.h"
#include "cli/options.h"
#include "cli/visit.h"
#include "proto/event.h"

#define OPTIONS_TIMER \
    (OPTION_AFTER | OPTION_AT | OPTION_EVERY | OPTION_ZONE | OPTION_MISSED)

/* Whether any of them is given. */
bool timers_are_given(const struct options *options);

/* Their values, for a runtime; new references. CODE_OK, or the reported code.
 */
int timers_read(struct visit *visit, struct event_timer *out);

/* Cancels the event or timer of that id, of a piece, and waits for the verdict.
 */
int timers_cancel_one(const struct options *options, const char *what);

/* "add of cart", or the id of the stream. */
void timers_append_stream(struct buf *to, struct value stream);

/* Lists waiting events, or cancels one: all of both commands. */
struct timers_kind {
    const char *name;                                        /* "timer" */
    struct value (*question)(const struct options *options); /* new */
    void (*print)(struct value found);
};

int timers_list(const struct options *options, const struct timers_kind *kind);

#endif
