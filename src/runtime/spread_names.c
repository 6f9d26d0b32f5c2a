/* The names and fingerprints of what belongs to a list. */

#include "base/buf.h"
#include "runtime/spread.h"

struct value spread_joined(struct value before, struct value after)
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

struct builder spread_below(struct builder *builder, struct value name)
{
    const struct value slash = value_text_new("/");
    const struct value front = spread_joined(builder->prefix, name);
    const struct builder below = {
        .piece = builder->piece,
        .parent = builder,
        .transaction = builder->transaction,
        .prefix = spread_joined(front, slash),
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

struct digest spread_fingerprint(const char *purpose,
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
