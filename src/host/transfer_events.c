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
    VEC_FOREACH (&events.documents, one) {
        const struct value made = event_after(removed, names, one->document);
        if (err == ERR_OK && !value_is_same(made, one->document)) {
            err = moved_write(writer, transfer->space, one->id, made, detail);
        }
        value_unref(made);
    }
    moved_set_release(&events);
    return err;
}
