/* What is lost when a visit ends: changes that could not be stored, and events
 * that were not handled. */

#include <stdio.h>

#include "cli/report.h"
#include "cli/visit.h"
#include "value/object.h"

enum {
    HANDLERS_SHOWN = 8, /* in a sentence */
};

/* The events whose changes are lost, by handler. */
struct lost_events {
    struct value handler; /* borrowed; or absent */
    size_t count;
};
typedef VEC(struct lost_events) lost_list;

static void count_lost_events(const struct sched *sched, lost_list *lost)
{
    for (const struct event *event = events_next_unconfirmed(sched, NULL);
         event != NULL;
         event = events_next_unconfirmed(sched, event)) {
        const struct value name = event_handler_name(event);
        struct lost_events *of = NULL;
        VEC_FOREACH (lost, known) {
            of = value_is_string(name) && value_is_string(known->handler) &&
                         key_equal(known->handler, name)
                     ? known
                     : of;
        }
        if (of != NULL) {
            of->count++;
        } else {
            vec_push(lost, ((struct lost_events){name, 1}));
        }
    }
}

/* In parentheses: " (1 event of shop/add, 2 events of shop/count)". */
static void write_lost_events(const struct sched *sched, struct buf *to)
{
    lost_list lost = {0};
    count_lost_events(sched, &lost);
    for (size_t i = 0; i < lost.count && i < HANDLERS_SHOWN; i++) {
        const struct lost_events *of = &lost.at[i];
        buf_printf(to,
                   "%s%zu %s of ",
                   i == 0 ? " (" : ", ",
                   of->count,
                   of->count == 1 ? "event" : "events");
        if (value_is_string(of->handler)) {
            const struct text name = value_text(&of->handler);
            buf_append(to, name.at, name.length);
        } else {
            buf_append_text(to, "a handler without a name");
        }
    }
    buf_append_text(to, lost.count > HANDLERS_SHOWN ? ", ..." : "");
    buf_append_text(to, lost.count > 0 ? ")" : "");
    vec_release(&lost);
}

int visit_flush(struct visit *visit, int code)
{
    struct live *live = visit->live;
    if (live_outstanding(live) == 0 || visit->gave_up) {
        return code;
    }
    const struct err_detail *trouble = live_trouble(live);
    const bool is_damaged = trouble != NULL && trouble->err == ERR_CORRUPT;
    const mono_ms time = is_damaged                           ? 0
                         : visit->late || visit_was_stopped() ? VISIT_LATE_MS
                                                              : VISIT_FLUSH_MS;
    if (live_flush(live, live_now(live) + time) == LIVE_AT_REST) {
        return code;
    }
    visit->gave_up = true;
    struct err_detail detail = {0};
    struct buf events = {0};
    const struct sched *sched = live_runtime(live)->sched;
    const size_t lost = live_outstanding(live);
    const bool is_kept = events_unconfirmed_stored(sched) == lost;
    trouble = live_trouble(live);
    write_lost_events(sched, &events);
    (void)err_set(&detail,
                  trouble != NULL ? trouble->err : ERR_IO,
                  "%zu %s could not be stored%s%s%s%s",
                  lost,
                  lost == 1 ? "change" : "changes",
                  is_kept     ? ""
                  : lost == 1 ? " and is lost"
                              : " and are lost",
                  buf_text(&events),
                  trouble != NULL ? "" : ": the time limit was reached",
                  is_kept ? "; the events are stored, and the next process "
                            "that runs the piece handles them"
                          : "");
    (void)visit_report(visit->options, visit->folder, &detail);
    buf_release(&events);
    return CODE_IO;
}

/* Events that the store keeps are handled later; any other is lost. */
void visit_report_waiting(struct visit *visit)
{
    const struct sched *sched = live_runtime(visit->live)->sched;
    const size_t stored = events_waiting_stored(sched);
    const size_t lost = events_waiting(sched) - stored;
    struct err_detail detail = {0};
    if (lost > 0) {
        (void)err_set(&detail,
                      ERR_CLOSED,
                      "%zu %s not handled, and %s lost",
                      lost,
                      lost == 1 ? "event was" : "events were",
                      lost == 1 ? "is" : "are");
        (void)visit_report(visit->options, visit->folder, &detail);
        visit->lost = true;
    }
    if (stored > 0) {
        (void)fprintf(stderr,
                      "heddle: %zu %s not handled, and %s stored for the next "
                      "process that runs the piece; see 'heddle events'\n",
                      stored,
                      stored == 1 ? "event was" : "events were",
                      stored == 1 ? "is" : "are");
    }
}
