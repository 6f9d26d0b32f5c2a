/* The stored events (proto/event.h) of removed or renamed pieces: they are
 * removed with their piece, or follow its name. Those of an import are checked.
 */

#include <string.h>

#include "base/cron.h"
#include "host/transfer_internal.h"
#include "host/zones.h"
#include "proto/event.h"
#include "runtime/timer.h"
#include "store/waiting.h"
#include "value/array.h"
#include "value/compare.h"
#include "value/object.h"

static void add_event(void *ctx, const struct waiting_event *event)
{
    struct moved_set *set = ctx;
    const struct moved_document one = {
        .id = value_ref(event->id),
        .document = value_ref(event->document),
    };
    vec_push(&set->documents, one);
}

/* The event under the new names; the same reference if none of them is in
 * it. New. */
static struct value rename_event(const struct moved_names *names,
                                 struct value document)
{
    static const char *const fields[] = {"stream", "from"};
    struct value event = value_ref(object_field(document, "event"));
    bool changed = false;
    for (size_t i = 0; i < COUNT_OF(fields); i++) {
        const struct value id = object_field(event, fields[i]);
        const bool is_elsewhere =
            i == 0 && !value_is_absent(object_field(event, "space"));
        if (!value_is_string(id) || is_elsewhere) {
            continue;
        }
        const struct value moved = moved_id(names, id);
        if (!key_equal(moved, id)) {
            object_put_adopt(&event, fields[i], value_ref(moved));
            changed = true;
        }
        value_unref(moved);
    }
    struct value made = value_ref(document);
    if (changed) {
        object_put_adopt(&made, "event", value_ref(event));
    }
    value_unref(event);
    return made;
}

/* Whether a stream of another space is that of a piece that goes, too. */
static bool is_for_relative(const struct moved_set *removed,
                            struct value space,
                            struct value stream)
{
    bool is = false;
    for (uint32_t i = 0; value_is_array(removed->relatives) &&
                         i < array_count(removed->relatives);
         i++) {
        const struct value one = array_at(removed->relatives, i);
        struct moved_set there = {0};
        vec_push(&there.names, object_field(one, "piece"));
        is = is || (value_is_string(space) &&
                    key_equal(object_field(one, "space"), space) &&
                    moved_set_has(&there, stream));
        vec_release(&there.names);
    }
    return is;
}

/* Absent: it goes. New. */
static struct value event_after(const struct moved_set *removed,
                                const struct moved_names *names,
                                struct value document)
{
    const struct value event = object_field(document, "event");
    if (!value_is_object(event)) {
        return value_ref(document);
    }
    if (names != NULL) {
        return rename_event(names, document);
    }
    const struct value stream = object_field(event, "stream");
    const struct value space = object_field(event, "space");
    const bool goes = value_is_absent(space)
                          ? moved_set_has(removed, stream)
                          : is_for_relative(removed, space, stream);
    return goes ? VALUE_NONE : value_ref(document);
}

/* The id of the document of an event under its new name: that of a timer with
 * a name follows from its stream. New. */
static struct value id_after(struct value id, struct value document)
{
    const struct value event = object_field(document, "event");
    const struct value name = object_field(event, "timer");
    if (!event_is_timer_id(id) || !value_is_string(name)) {
        return value_ref(id);
    }
    return event_timer_id(object_field(event, "stream"), name);
}

static enum err write_one(struct moved_writer *writer,
                          struct value id,
                          struct value made,
                          struct err_detail *detail)
{
    const struct value space = writer->transfer->space;
    if (value_is_absent(made)) {
        return moved_write(writer, space, id, made, detail);
    }
    const struct value to = id_after(id, made);
    enum err err = moved_write(writer, space, to, made, detail);
    if (err == ERR_OK && !key_equal(to, id)) {
        err = moved_write(writer, space, id, VALUE_NONE, detail);
    }
    value_unref(to);
    return err;
}

enum err moved_write_events(struct moved_writer *writer,
                            const struct moved_set *removed,
                            const struct moved_names *names,
                            struct err_detail *detail)
{
    struct transfer *transfer = writer->transfer;
    struct moved_set events = {0};
    enum err err = engine_waiting(&transfer->engine,
                                  transfer->branch,
                                  0,
                                  INT64_MAX,
                                  add_event,
                                  &events,
                                  detail);
    if (err == ERR_OK) {
        err = engine_timers(&transfer->engine,
                            transfer->branch,
                            (struct timer_mark){0},
                            INT64_MAX,
                            INT64_MAX,
                            add_event,
                            &events,
                            detail);
    }
    VEC_FOREACH (&events.documents, one) {
        const struct value made = event_after(removed, names, one->document);
        if (err == ERR_OK && !value_is_same(made, one->document)) {
            err = write_one(writer, one->id, made, detail);
        }
        value_unref(made);
    }
    moved_set_release(&events);
    return err;
}

/* -- Checking ------------------------------------------------------------ */

static enum err refuse(const char *field,
                       const char *why,
                       struct err_detail *detail)
{
    return err_set(detail, ERR_ARGUMENT, "event.%s %s", field, why);
}

static enum err check_cron(const struct event_timer *timer,
                           struct err_detail *detail)
{
    char fields[CRON_TEXT_MOST + 1];
    struct cron cron;
    struct err_detail why = {0};
    const struct text text = value_text(&timer->cron);
    if (text.length > CRON_TEXT_MOST ||
        memchr(text.at, '\0', text.length) != NULL) {
        return refuse("cron", "must be five cron fields", detail);
    }
    memcpy(fields, text.at, text.length);
    fields[text.length] = '\0';
    return cron_read(fields, &cron, &why) == ERR_OK
               ? ERR_OK
               : err_set(detail, ERR_ARGUMENT, "event.cron: %s", why.text);
}

static enum err check_zone(const struct event_timer *timer,
                           struct err_detail *detail)
{
    struct zones zones = {0};
    struct err_detail why = {0};
    const bool known = value_is_text(timer->zone, "UTC") ||
                       zones_find(&zones, timer->zone, &why) != NULL;
    zones_release(&zones);
    return known ? ERR_OK
                 : err_set(detail, ERR_ARGUMENT, "event.zone: %s", why.text);
}

static enum err check_timer(const struct stored_event *event,
                            bool is_timer,
                            struct err_detail *detail)
{
    const struct event_timer *timer = &event->timer;
    enum err err = ERR_OK;
    if (event->is_timer != is_timer) {
        err = refuse("due",
                     is_timer ? "is missing: the id is that of a timer"
                              : "must be absent: the id is not that of a timer",
                     detail);
    } else if (timer->due > TIMER_TIME_MOST) {
        err = refuse("due", "must be before the year 10000", detail);
    } else if (timer->every > TIMER_TIME_MOST ||
               (timer->every > 0 && timer->every < TIMER_EVERY_LEAST_MS)) {
        err = refuse("every", "must be a time from 100 ms on", detail);
    }
    if (err == ERR_OK && !value_is_absent(timer->cron)) {
        err = check_cron(timer, detail);
    }
    if (err == ERR_OK && !value_is_absent(timer->zone)) {
        err = check_zone(timer, detail);
    }
    return err;
}

enum err moved_check_event(struct value id,
                           struct value document,
                           struct err_detail *detail)
{
    struct stored_event event;
    struct path_table paths;
    if (!event_is_document_id(id) || !event_is_waiting(document)) {
        return ERR_OK;
    }
    path_table_init(&paths);
    enum err err = stored_event_read(document, &paths, &event, detail);
    if (err == ERR_OK) {
        err = check_timer(&event, event_is_timer_id(id), detail);
        stored_event_release(&event);
    }
    path_table_release(&paths);
    return err;
}
