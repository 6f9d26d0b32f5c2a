/* The names and fingerprints of the parts of a list. */

#include <stdio.h>

#include "base/buf.h"
#include "base/limits.h"
#include "runtime/keyed_list.h"
#include "value/doc_link.h"

enum {
    KEY_TEXT = 11, /* digits of a key, and a zero byte */
};

struct value keyed_list_key_name(uint32_t key)
{
    char text[KEY_TEXT];
    (void)snprintf(text, sizeof text, "%u", (unsigned)key);
    return value_text_new(text);
}

bool keyed_list_key_of_link(const struct keyed_list *keyed,
                            struct value link,
                            uint32_t *key)
{
    if (value_kind(link) != VALUE_LINK) {
        return false;
    }
    const struct value id = doc_link_of(link).id;
    if (!value_is_string(id)) {
        return false;
    }
    const struct text text = value_text(&id);
    const struct text piece = value_text(&keyed->piece->name);
    const struct text prefix = value_text(&keyed->prefix);
    const size_t front = sizeof "piece:/" - 1 + piece.length + prefix.length;
    if (text.length <= front || text.length - front >= KEY_TEXT) {
        return false;
    }
    uint64_t number = 0;
    for (size_t i = front; i < text.length; i++) {
        if (text.at[i] < '0' || text.at[i] > '9') {
            return false;
        }
        number = number * 10 + (uint64_t)(text.at[i] - '0');
    }
    *key = (uint32_t)number;
    return number < LIMIT_ARRAY_ELEMENTS;
}

struct value keyed_joined(struct value before, struct value after)
{
    struct buf text = {0};
    const struct text first = value_text(&before);
    const struct text last = value_text(&after);
    buf_append(&text, first.at, first.length);
    buf_append(&text, last.at, last.length);
    const struct value made = value_string_new(text.at, text.length);
    buf_release(&text);
    return made;
}

struct builder keyed_list_below(struct builder *builder, struct value name)
{
    const struct value slash = value_text_new("/");
    const struct value front = keyed_joined(builder->prefix, name);
    const struct builder below = {
        .piece = builder->piece,
        .parent = builder,
        .transaction = builder->transaction,
        .prefix = keyed_joined(front, slash),
    };
    value_unref(front);
    value_unref(slash);
    return below;
}

static void append_place(struct buf *text, const struct place *place)
{
    const struct entity *entity = place->entity;
    const struct value parts[] = {entity->space->id, entity->id};
    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        const struct text part = value_text(&parts[i]);
        buf_append(text, part.at, part.length);
        buf_append_char(text, '\n');
    }
    buf_append_text(text, scope_name(entity->scope));
    path_write(text, place->path);
    buf_append_char(text, '\n');
}

struct digest keyed_list_fingerprint(const char *purpose,
                                     struct place *const *places,
                                     size_t count,
                                     const struct digest *body)
{
    struct buf text = {0};
    for (size_t i = 0; i < count; i++) {
        append_place(&text, places[i]);
    }
    if (body != NULL) {
        buf_append(&text, (const char *)body->bytes, sizeof body->bytes);
    }
    const struct digest digest = digest_of_bytes(purpose, text.at, text.length);
    buf_release(&text);
    return digest;
}
