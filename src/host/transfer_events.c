/* The stored events (proto/event.h) of pieces that are removed or renamed: they
 * go with their piece, or follow its name. */

#include "host/transfer_inside.h"
#include "proto/event.h"
#include "store/waiting.h"
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
        if (!value_is_string(id)) {
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
    return value_is_string(stream) && moved_set_has(removed, stream)
               ? VALUE_NONE
               : value_ref(document);
}

/* The id of the document of an event under its new name: that of a timer with
 * a name follows from the piece. New. */
static struct value id_after(struct value id, struct value document)
{
    const struct value event = object_field(document, "event");
    const struct value name = object_field(event, "timer");
    if (!event_is_timer_id(id) || !value_is_string(name)) {
        return value_ref(id);
    }
    const struct value owner = event_timer_owner(object_field(event, "stream"));
    const struct value made = event_timer_id(owner, name);
    value_unref(owner);
    return made;
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
