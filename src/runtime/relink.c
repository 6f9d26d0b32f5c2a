/* A walk over a value that rewrites the links in it, without recursion. */

#include "runtime/relink.h"

#include "base/stack.h"
#include "replica/space.h"
#include "value/array.h"
#include "value/doc_link.h"
#include "value/object.h"

struct relink {
    const struct entity *from;
    const struct entity *to;
};

/* A container that is being walked, and what becomes of it. */
struct relink_frame {
    struct value value; /* borrowed */
    struct value made;  /* ours; absent as long as nothing is different */
    struct value key;   /* its own in the frame above, borrowed; or its index */
    uint32_t index;     /* likewise */
    uint32_t next;      /* element or slot to look at */
};

/* The link as it has to be; new. Absent if it is right as it is. */
static struct value relink_one(void *ctx, struct value value)
{
    const struct relink *relink = ctx;
    struct doc_link link = doc_link_of(value);
    const struct entity *from = relink->from;
    const struct entity *to = relink->to;
    struct value scope = VALUE_NONE;
    bool other = false;
    if (value_is_absent(link.id) && from != to) {
        if (value_is_absent(link.scope) && from->scope != SCOPE_SPACE) {
            scope = value_text_new(scope_name(from->scope));
            link.scope = scope;
        }
        link.id = from->id;
        other = true;
    }
    if (value_is_absent(link.space) && from->space != to->space) {
        link.space = from->space->id;
        other = true;
    }
    const struct value made = other ? doc_link_new(&link) : VALUE_NONE;
    value_unref(scope);
    return made;
}

/* Puts what has become of a part into its container. */
static void put_back(struct relink_frame *frame,
                     struct value key,
                     uint32_t index,
                     struct value made)
{
    if (value_is_absent(frame->made)) {
        frame->made = value_ref(frame->value);
    }
    frame->made = value_is_array(frame->value)
                      ? array_set_adopt(frame->made, index, made)
                      : object_set_adopt(frame->made, value_ref(key), made);
}

/* The next part of the container, borrowed; false at the end. */
static bool next_part(struct relink_frame *frame,
                      struct value *key,
                      uint32_t *index,
                      struct value *part)
{
    uint32_t run = 0;
    if (value_is_array(frame->value)) {
        *index = frame->next++;
        *part = array_at(frame->value, *index);
        return !value_is_absent(*part);
    }
    do {
        const struct value *at = object_chunk(frame->value, frame->next, &run);
        if (at == NULL) {
            return false;
        }
        frame->next += 2;
        *key = at[0];
        *part = at[1];
    } while (value_is_absent(*key));
    return true;
}

static struct value walk(relink_fn *one, void *ctx, struct value top)
{
    STACK(struct relink_frame, 16) frames;
    stack_init(&frames);
    stack_push(&frames, ((struct relink_frame){.value = top}));
    struct value result = VALUE_NONE;
    while (frames.count > 0) {
        struct relink_frame *frame = stack_top(&frames);
        struct value key = VALUE_NONE;
        uint32_t index = 0;
        struct value part;
        if (next_part(frame, &key, &index, &part)) {
            const enum value_kind kind = value_kind(part);
            if (kind == VALUE_LINK) {
                const struct value made = one(ctx, part);
                if (!value_is_absent(made)) {
                    put_back(frame, key, index, made);
                }
            } else if (kind == VALUE_ARRAY || kind == VALUE_OBJECT) {
                stack_push(&frames,
                           ((struct relink_frame){.value = part,
                                                  .key = key,
                                                  .index = index}));
            }
            continue;
        }
        const struct relink_frame done = *frame;
        frames.count--;
        if (frames.count == 0) {
            result = done.made;
        } else if (!value_is_absent(done.made)) {
            put_back(stack_top(&frames), done.key, done.index, done.made);
        }
    }
    stack_release(&frames);
    return result;
}

struct value relink_each_adopt(struct value value, relink_fn *one, void *ctx)
{
    const enum value_kind kind = value_kind(value);
    struct value made = VALUE_NONE;
    if (kind == VALUE_LINK) {
        made = one(ctx, value);
    } else if (kind == VALUE_ARRAY || kind == VALUE_OBJECT) {
        made = walk(one, ctx, value);
    }
    if (value_is_absent(made)) {
        return value;
    }
    value_unref(value);
    return made;
}

struct value relink_adopt(struct value value,
                          const struct entity *from,
                          const struct entity *to)
{
    struct relink relink = {from, to};
    return from == to ? value : relink_each_adopt(value, relink_one, &relink);
}
