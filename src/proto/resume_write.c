/* Encoding a page of actions (proto/resume.h). */

#include "proto/resume.h"
#include "value/array.h"
#include "value/object.h"

static struct value number(uint64_t number)
{
    return value_int((int64_t)number);
}

static struct value index_or_none(uint32_t index)
{
    return value_int(index == RESUME_NONE ? -1 : (int64_t)index);
}

static struct value digest_text(const struct digest *digest)
{
    char text[DIGEST_TEXT_LENGTH + 1];
    digest_write(*digest, text);
    return value_string_new(text, DIGEST_TEXT_LENGTH);
}

typedef VEC(struct value) value_list;

/* An array of the values, which leaves the list empty. */
static struct value take_array(value_list *list)
{
    const struct value array = list->count > 0
                                   ? array_new_adopt(list->at, list->count)
                                   : value_empty_array();
    vec_clear(list);
    return array;
}

static struct value write_place(const struct resume_place *place)
{
    if (place->path == NULL) {
        return value_null();
    }
    struct buf pointer = {0};
    path_write(&pointer, place->path);
    const struct value items[] = {
        value_ref(place->target.id),
        value_int(place->target.scope),
        value_string_adopt(&pointer),
        number(place->changed[READ_DEEP]),
        number(place->changed[READ_SHAPE]),
        value_bool(place->touched),
        value_ref(place->space),
    };
    const bool is_own = value_is_absent(place->space);
    return array_new_adopt(items, COUNT_OF(items) - (is_own ? 1 : 0));
}

/* `rest` has room for the numbers of the action. */
static struct value write_action(const struct resume_page *page,
                                 const struct resume_action *action,
                                 value_list *rest)
{
    for (uint32_t i = 0; i < action->place_count; i++) {
        vec_push(rest, value_int(page->indexes.at[action->places + i]));
    }
    const struct value places = take_array(rest);
    for (uint32_t i = 0; i < action->space_count; i++) {
        vec_push(rest, value_int(action->spaces + i));
    }
    const struct value spaces = take_array(rest);
    const struct value items[] = {
        number(action->number),
        digest_text(&action->action),
        digest_text(&action->surface),
        digest_text(&action->read_set),
        number(action->watermark),
        value_int(action->kind),
        value_int(action->scope),
        value_int(action->state),
        index_or_none(action->code),
        index_or_none(action->gates),
        index_or_none(action->error),
        places,
        spaces,
    };
    return array_new_adopt(items, COUNT_OF(items));
}

static void write_small(const struct resume_page *page, struct value *object)
{
    value_list list = {0};
    VEC_FOREACH (&page->elsewhere, seen) {
        const struct value items[] = {
            value_ref(seen->space),
            value_ref(seen->branch),
            number(seen->seq),
        };
        vec_push(&list, array_new_adopt(items, COUNT_OF(items)));
    }
    object_put_adopt(object, "elsewhere", take_array(&list));
    VEC_FOREACH (&page->codes, code) {
        const struct value items[] = {
            digest_text(&code->implementation),
            digest_text(&code->runtime),
            digest_text(&code->schema),
        };
        vec_push(&list, array_new_adopt(items, COUNT_OF(items)));
    }
    object_put_adopt(object, "codes", take_array(&list));
    VEC_FOREACH (&page->gates, gates) {
        const struct value items[] = {
            number(gates->debounce_ms),
            number(gates->throttle_ms),
            value_bool(gates->no_auto_debounce),
        };
        vec_push(&list, array_new_adopt(items, COUNT_OF(items)));
    }
    object_put_adopt(object, "gates", take_array(&list));
    VEC_FOREACH (&page->errors, error) {
        vec_push(&list, digest_text(error));
    }
    object_put_adopt(object, "errors", take_array(&list));
    vec_release(&list);
}

struct value resume_page_write(const struct resume_page *page)
{
    struct value object = value_empty_object();
    object_put_number(&object, "seq", page->seq);
    object_put_number(&object, "generation", page->generation);
    if (page->more) {
        object_put_adopt(&object, "more", value_bool(true));
    }
    value_list list = {0};
    value_list rest = {0};
    VEC_FOREACH (&page->actions, action) {
        vec_push(&list, write_action(page, action, &rest));
    }
    object_put_adopt(&object, "actions", take_array(&list));
    VEC_FOREACH (&page->places, place) {
        vec_push(&list, write_place(place));
    }
    object_put_adopt(&object, "places", take_array(&list));
    vec_release(&list);
    vec_release(&rest);
    write_small(page, &object);
    return object;
}
