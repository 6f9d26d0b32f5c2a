/* The options of timers: --after, --at, --every, --zone and --missed. */

#ifndef CLI_TIMERS_H
#define CLI_TIMERS_H

#include "cli/options.h"
#include "cli/visit.h"
#include "proto/event.h"

#define OPTIONS_TIMER \
    (OPTION_AFTER | OPTION_AT | OPTION_EVERY | OPTION_ZONE | OPTION_MISSED)

/* Whether any of them is given. */
bool timers_are_given(const struct options *options);

/* What they say, for a runtime; its references are new. CODE_OK, or what was
 * reported. */
int timers_read(struct visit *visit, struct event_timer *out);

/* Cancels the event or timer of that id, of a piece, and waits for the
 * answer. */
int timers_cancel_one(const struct options *options, const char *what);

#endif
