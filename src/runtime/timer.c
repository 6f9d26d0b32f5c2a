/* Plans, ticks, and the parsing of times. */

#include "runtime/timer.h"

#include <inttypes.h>
#include <string.h>

#include "base/calendar.h"
#include "base/cron.h"
#include "base/mem.h"
#include "base/text.h"
#include "runtime/own_write.h"
#include "runtime/runtime.h"
#include "sched/timers.h"

/* -- Plans --------------------------------------------------------------- */

bool timer_is_asked(const struct timer_request *request)
{
    return request->has_after || request->has_at || request->every > 0 ||
           !value_is_absent(request->cron) || !value_is_absent(request->zone) ||
           !value_is_absent(request->missed);
}

enum err timer_check_name(struct value name, struct err_detail *detail)
{
    const struct text text =
        value_is_string(name) ? value_text(&name) : (struct text){0};
    if (text.length == 0 || text.length > TIMER_NAME_BYTES) {
        return err_set(detail,
                       ERR_ARGUMENT,
                       "the id of a timer must be a string of 1 to %d bytes",
                       TIMER_NAME_BYTES);
    }
    return ERR_OK;
}

static enum err check(const struct timer_request *request,
                      struct err_detail *detail)
{
    const bool has_cron = !value_is_absent(request->cron);
    const bool repeats = request->every > 0 || has_cron;
    const char *what = NULL;
    if (request->has_after && request->has_at) {
        what = "'after' and 'at' exclude each other";
    } else if (has_cron && request->every > 0) {
        what = "'every' and cron fields exclude each other";
    } else if (has_cron && (request->has_after || request->has_at)) {
        what = "'after' and 'at' cannot be combined with cron fields";
    } else if (!has_cron && !value_is_absent(request->zone)) {
        what = "a time zone requires cron fields";
    } else if (!repeats && !value_is_absent(request->missed)) {
        what = "'missed' requires 'every' or 'cron'";
    } else if (request->every > 0 && request->every < TIMER_EVERY_LEAST_MS) {
        what = "'every' must be at least 100 ms";
    } else if (request->every > TIMER_TIME_MOST ||
               request->after > TIMER_TIME_MOST ||
               request->at > TIMER_TIME_MOST) {
        what = "the time of a timer must be before the year 10000";
    }
    if (what != NULL) {
        return err_set(detail, ERR_ARGUMENT, "%s", what);
    }
    return value_is_absent(request->id) ? ERR_OK
                                        : timer_check_name(request->id, detail);
}

static enum err read_cron(const struct event_timer *plan,
                          struct cron *out,
                          struct err_detail *detail)
{
    char text[CRON_TEXT_MOST + 1];
    const struct text given = value_text(&plan->cron);
    if (given.length > CRON_TEXT_MOST ||
        memchr(given.at, '\0', given.length) != NULL) {
        return err_set(detail,
                       ERR_ARGUMENT,
                       "'every' must be a number of ms, or five cron fields");
    }
    memcpy(text, given.at, given.length);
    text[given.length] = '\0';
    return cron_read(text, out, detail);
}

/* The first time after `time` that the fields name. */
static enum err cron_after(struct runtime *runtime,
                           const struct event_timer *plan,
                           uint64_t time,
                           uint64_t *out,
                           struct err_detail *detail)
{
    const struct stored_events_source *source = &runtime->stored_events.source;
    const struct zone *zone = zone_utc();
    struct cron cron;
    enum err err = read_cron(plan, &cron, detail);
    if (err != ERR_OK) {
        return err;
    }
    if (!value_is_absent(plan->zone) && !value_is_text(plan->zone, "UTC")) {
        if (source->zone == NULL) {
            return err_set(detail,
                           ERR_ARGUMENT,
                           "time zones cannot be read here: use UTC");
        }
        zone = source->zone(source->ctx, plan->zone, detail);
        if (zone == NULL) {
            return ERR_ARGUMENT;
        }
    }
    int64_t next;
    if (!cron_next(&cron, zone, (int64_t)(time / 1000), &next)) {
        return err_set(detail,
                       ERR_ARGUMENT,
                       "the cron fields never match a time");
    }
    *out = (uint64_t)next * 1000;
    return ERR_OK;
}

enum err timer_plan(struct runtime *runtime,
                    const struct timer_request *request,
                    uint64_t wall,
                    struct event_timer *out,
                    struct err_detail *detail)
{
    *out = (struct event_timer){0};
    enum err err = check(request, detail);
    if (err != ERR_OK) {
        return err;
    }
    struct event_timer plan = {
        .due = request->has_at      ? request->at
               : request->has_after ? wall + request->after
                                    : wall + request->every,
        .id = request->id,
        .every = request->every,
        .cron = request->cron,
        .zone = request->zone,
    };
    if (!value_is_absent(request->missed) &&
        !timer_missed_find(request->missed, &plan.missed)) {
        return err_set(detail,
                       ERR_ARGUMENT,
                       "'missed' must be \"one\", \"all\" or \"none\"");
    }
    if (!value_is_absent(request->cron)) {
        err = cron_after(runtime, &plan, wall, &plan.due, detail);
    }
    if (err == ERR_OK) {
        *out = event_timer_copy(&plan);
    }
    return err;
}

/* -- Ticks --------------------------------------------------------------- */

/* The first tick after `time`, which is not before the one that the plan is
 * at. */
static enum err tick_after(struct runtime *runtime,
                           const struct event_timer *plan,
                           uint64_t time,
                           uint64_t *out,
                           struct err_detail *detail)
{
    if (plan->every == 0) {
        return cron_after(runtime, plan, time, out, detail);
    }
    const uint64_t passed = (time - plan->due) / plan->every;
    *out = plan->due + (passed + 1) * plan->every;
    return ERR_OK;
}

/* The first tick that is not missed when the one of the plan is. */
static enum err tick_not_missed(struct runtime *runtime,
                                const struct event_timer *plan,
                                uint64_t wall,
                                uint64_t *out,
                                struct err_detail *detail)
{
    /* Cron ticks are no closer than that, so at most one is in between. */
    uint64_t late = TIMER_LATE_MS;
    if (plan->every > 0 && plan->every < late) {
        late = plan->every;
    }
    const uint64_t from = wall > late ? wall - late : 0;
    return tick_after(runtime,
                      plan,
                      from > plan->due ? from : plan->due,
                      out,
                      detail);
}

enum err timer_tick(struct runtime *runtime,
                    const struct event_timer *plan,
                    uint64_t wall,
                    struct timer_tick *out,
                    struct err_detail *detail)
{
    *out = (struct timer_tick){0};
    if (!event_timer_repeats(plan)) {
        return ERR_OK;
    }
    enum err err = tick_after(runtime, plan, plan->due, &out->next, detail);
    if (err != ERR_OK || wall < plan->due) {
        return err;
    }
    const bool is_missed =
        wall >= out->next || wall - plan->due >= TIMER_LATE_MS;
    if (is_missed && plan->missed == MISSED_NONE) {
        out->is_skipped = true;
        err = tick_not_missed(runtime, plan, wall, &out->next, detail);
    } else if (is_missed && plan->missed == MISSED_ONE) {
        err = tick_after(runtime, plan, wall, &out->next, detail);
    }
    return err;
}

/* -- Texts --------------------------------------------------------------- */

/* Digits, at most `most` of them, from *at on. */
static bool read_number(const char **at, unsigned most, uint64_t *out)
{
    unsigned count = 0;
    *out = 0;
    while (count < most && **at >= '0' && **at <= '9') {
        *out = *out * 10 + (uint64_t)(**at - '0');
        (*at)++;
        count++;
    }
    return count > 0;
}

bool timer_read_duration(const char *text, uint64_t *out)
{
    static const struct {
        const char *name;
        uint64_t ms;
    } units[] = {
        {"", 1},
        {"ms", 1},
        {"s", 1000},
        {"m", 60000},
        {"h", 3600000},
        {"d", 86400000},
    };
    if (!read_number(&text, 12, out)) {
        return false;
    }
    for (size_t i = 0; i < COUNT_OF(units); i++) {
        if (strcmp(text, units[i].name) == 0) {
            *out *= units[i].ms;
            return true;
        }
    }
    return false;
}

bool timer_read_time(const char *text, uint64_t *out)
{
    const char *at = text;
    if (read_number(&at, 15, out) && *at == '\0') {
        return true;
    }
    return calendar_read(text, out);
}

/* -- Cancelling ---------------------------------------------------------- */

static void add_document(void *ctx,
                         uint64_t number,
                         struct value id,
                         struct value document)
{
    timer_documents *documents = ctx;
    (void)number;
    (void)document;
    vec_push(documents, value_ref(id));
}

/* What the store has on any stream, and what is being set here. A timer that
 * another session sets after this was set after the cancel. */
static enum err find_group(struct runtime *runtime,
                           const struct timer_target *target,
                           timer_documents *out,
                           struct err_detail *detail)
{
    const struct stored_events_source *source = &runtime->stored_events.source;
    const struct value group = event_timer_group(target->owner, target->name);
    timers_list_pending(runtime->sched, target->space, group, out);
    enum err err = ERR_OK;
    if (source->named != NULL) {
        err = source->named(source->ctx,
                            target->space,
                            group,
                            add_document,
                            out,
                            detail);
    }
    value_unref(group);
    return err;
}

enum err timer_cancel_in(struct runtime *runtime,
                         struct transaction *transaction,
                         const struct timer_target *target,
                         bool *was,
                         struct err_detail *detail)
{
    timer_documents documents = {0};
    *was = false;
    enum err err = timer_check_name(target->name, detail);
    if (err != ERR_OK || target->space->session == NULL) {
        return err; /* without a store there are none */
    }
    if (event_is_document_id(target->name)) {
        vec_push(&documents, value_ref(target->name));
    } else if (!value_is_absent(target->stream)) {
        vec_push(&documents, event_timer_id(target->stream, target->name));
    } else {
        err = find_group(runtime, target, &documents, detail);
    }
    VEC_FOREACH (&documents, document) {
        bool one = false;
        if (err == ERR_OK || err == ERR_STALE) { /* all are loaded at once */
            const enum err said = timers_cancel(runtime->sched,
                                                transaction,
                                                target->space,
                                                *document,
                                                &one,
                                                detail);
            err = said != ERR_OK ? said : err;
        }
        *was = *was || one;
    }
    timer_documents_release(&documents);
    return err;
}

struct cancelling {
    struct runtime *runtime;
    struct timer_target target; /* owned */
    struct timer_cancelling asked;
    bool was;
    bool *seen; /* while timer_cancel has not returned: of the caller */
    bool *over; /* likewise: it has ended */
};

static enum err cancel(void *ctx,
                       struct transaction *transaction,
                       struct err_detail *detail)
{
    struct cancelling *cancelling = ctx;
    const enum err err = timer_cancel_in(cancelling->runtime,
                                         transaction,
                                         &cancelling->target,
                                         &cancelling->was,
                                         detail);
    if (cancelling->seen != NULL) {
        *cancelling->seen = cancelling->was;
    }
    return err;
}

static void cancelling_free(struct cancelling *cancelling)
{
    if (cancelling->over != NULL) {
        *cancelling->over = true;
    }
    value_unref(cancelling->target.stream);
    value_unref(cancelling->target.owner);
    value_unref(cancelling->target.name);
    mem_free(cancelling, sizeof *cancelling);
}

static void on_cancelled(void *ctx, const struct err_detail *said)
{
    struct cancelling *cancelling = ctx;
    if (cancelling->asked.done != NULL) {
        cancelling->asked.done(cancelling->asked.ctx, cancelling->was, said);
    }
    cancelling_free(cancelling);
}

enum err timer_cancel(struct runtime *runtime,
                      const struct timer_target *target,
                      const struct timer_cancelling *asked,
                      bool *was,
                      struct err_detail *detail)
{
    bool over = false;
    enum err err = timer_check_name(target->name, detail);
    if (err != ERR_OK) {
        return err;
    }
    struct cancelling *cancelling = mem_alloc_zero(sizeof *cancelling);
    *cancelling = (struct cancelling){
        .runtime = runtime,
        .target = {.space = target->space,
                   .stream = value_ref(target->stream),
                   .owner = value_ref(target->owner),
                   .name = value_ref(target->name)},
        .asked = *asked,
        .seen = was,
        .over = &over,
    };
    const struct own_write_spec spec = {
        .write = cancel,
        .ended = on_cancelled,
        .ctx = cancelling,
    };
    err = own_write_make(runtime, &spec, detail);
    if (err != ERR_OK) {
        cancelling_free(cancelling);
    } else if (!over) {
        cancelling->seen = NULL;
        cancelling->over = NULL;
    }
    return err;
}
