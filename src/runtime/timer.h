/* Parameters of a timer, and when its ticks are due.
 *
 *   calendar-1  A plan is derived from the request and the wall clock at that
 *               moment: `after` counts from then, `at` is taken as it is, a
 *               repeating timer begins with its first time after then.
 *   calendar-2  Ticks of `every` are due at the first one plus a multiple of
 *               it; those of cron at the times that its fields name in their
 *               zone. When a tick was handled makes no difference.
 *   calendar-3  A tick is missed if it is taken up when the next one is due, or
 *               a minute late (TIMER_LATE_MS). MISSED_ONE: it is handled, and
 *               the next one is the first in the future. MISSED_ALL: each is
 *               handled. MISSED_NONE: no missed tick is handled; the next one
 *               is the first that is not missed, which may already be due. */

#ifndef RUNTIME_TIMER_H
#define RUNTIME_TIMER_H

#include "proto/event.h"

struct runtime;
struct space;
struct transaction;

enum {
    TIMER_EVERY_LEAST_MS = 100,
    TIMER_LATE_MS = 60000,
    TIMER_NAME_BYTES = 256,
};

/* The last ms of the year 9999. */
#define TIMER_TIME_MOST UINT64_C(253402300799999)

/* From the caller; all borrowed. Error messages use these names: after, at,
 * every, zone, missed, id. */
struct timer_request {
    bool has_after;
    uint64_t after; /* ms */
    bool has_at;
    uint64_t at;         /* ms of the wall clock */
    uint64_t every;      /* ms; 0: not used */
    struct value cron;   /* a string, or absent */
    struct value zone;   /* likewise; only with cron */
    struct value missed; /* likewise; only if it repeats */
    struct value id;     /* likewise */
};

/* Whether the request has a time at all. */
bool timer_is_asked(const struct timer_request *request);

/* calendar-1. ARGUMENT: with the reason. *out has its own references. */
MUST_CHECK enum err timer_plan(struct runtime *runtime,
                               const struct timer_request *request,
                               uint64_t wall,
                               struct event_timer *out,
                               struct err_detail *detail);

struct timer_tick {
    bool is_skipped; /* not to be handled */
    uint64_t next;   /* when the next one is due; 0: it does not repeat */
};

/* calendar-3, for a tick that is taken up at that time. */
MUST_CHECK enum err timer_tick(struct runtime *runtime,
                               const struct event_timer *plan,
                               uint64_t wall,
                               struct timer_tick *out,
                               struct err_detail *detail);

/* Parses a time: "2026-11-18T09:00:00Z", optionally with a fraction of a second
 * and with an offset such as +01:00 for the Z; or a number of ms. False: the
 * text is neither. */
bool timer_read_time(const char *text, uint64_t *out);

/* Parses a duration: a number of ms, or a number with a unit: ms, s, m, h or d.
 */
bool timer_read_duration(const char *text, uint64_t *out);

/* What is to be cancelled: the timer of that name on a stream, or those on all
 * streams of a piece (event_timer_owner). A name that is the id of a document
 * is what waits there. Borrowed. */
struct timer_target {
    struct space *space;
    struct value stream; /* absent: all streams */
    struct value owner;  /* of them */
    struct value name;
};

/* Cancels it in a transaction. *was: there was one. STALE: as timers_cancel.
 * ARGUMENT: timer_check_name. The cost follows the timers of that name in the
 * piece, also those that have been handled. */
MUST_CHECK enum err timer_cancel_in(struct runtime *runtime,
                                    struct transaction *transaction,
                                    const struct timer_target *target,
                                    bool *was,
                                    struct err_detail *detail);

/* Cancels it in a transaction of its own. `done`, unless it is NULL, is called
 * once with the answer, perhaps before this returns. *was, unless it is NULL,
 * is what is visible now. Not inside of a run. */
struct timer_cancelling {
    void (*done)(void *ctx, bool was, const struct err_detail *said);
    void *ctx;
};
MUST_CHECK enum err timer_cancel(struct runtime *runtime,
                                 const struct timer_target *target,
                                 const struct timer_cancelling *cancelling,
                                 bool *was,
                                 struct err_detail *detail);

/* Whether a name is valid for a timer; ARGUMENT. */
MUST_CHECK enum err timer_check_name(struct value name,
                                     struct err_detail *detail);

#endif
