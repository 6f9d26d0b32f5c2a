/* The invariants of values, checked over everything that is below one. For
 * debug builds (CHECK_DEEP) and tests; costs a walk of the whole value. */

#include <string.h>

#include "base/stack.h"
#include "value/array.h"
#include "value/compare.h"
#include "value/doc_link.h"
#include "value/index.h"
#include "value/object.h"
#include "value/utf8.h"

/* value-1 to value-3 of one handle. */
static bool check_leaf(struct value value)
{
    if (value_is_string(value)) {
        const struct text text = value_text(&value);
        return utf8_is_valid(text.at, text.length) &&
               (value_tag(value) != TAG_LONG || text.length > VALUE_INLINE_MAX);
    }
    if (value_tag(value) == TAG_DOUBLE) {
        return value_is_same(value, value_double(value_fraction_of(value)));
    }
    return value_tag(value) <= TAG_TAGGED;
}

/* object-1 to object-3, value-4 and the index of one object. */
static bool check_object(struct value object)
{
    struct object_iter iter = object_iter(object);
    struct value key;
    struct value item;
    uint32_t live = 0;
    while (object_next(&iter, &key, &item)) {
        live++;
        if (!value_is_string(key) || value_is_absent(item) ||
            !value_is_same(object_get(object, key), item)) {
            return false;
        }
    }
    if (live != object_count(object)) {
        return false;
    }
    if (object_is_large(value_heap(object))) {
        const struct heap *entries = large_node(value_heap(object))->entries;
        return live > OBJECT_FLAT_MAX / 2 && tree_check(entries) &&
               entries->count % 2 == 0 && entries->count <= 4 * live;
    }
    struct value normal = value_normalise_adopt(value_ref(object));
    const bool same = value_is_same(normal, object);
    value_unref(normal);
    return same && live >= 1 && live <= OBJECT_FLAT_MAX;
}

static bool check_one(struct value value)
{
    if (value_tag(value) == TAG_ARRAY) {
        return tree_check(value_heap(value));
    }
    if (value_tag(value) == TAG_OBJECT) {
        return check_object(value);
    }
    if (value_tag(value) == TAG_LINK) {
        return doc_link_state_is_valid(value_tagged_state(value));
    }
    return check_leaf(value);
}

typedef STACK(struct value, 32) value_stack;

static void push_children(value_stack *stack, struct value value)
{
    if (value_tag(value) == TAG_LINK || value_tag(value) == TAG_TAGGED) {
        stack_push(stack, value_tagged_type(value));
        stack_push(stack, value_tagged_state(value));
    } else if (value_tag(value) == TAG_ARRAY) {
        for (uint32_t i = 0; i < array_count(value); i++) {
            stack_push(stack, array_at(value, i));
        }
    } else if (value_tag(value) == TAG_OBJECT) {
        struct object_iter iter = object_iter(value);
        struct value key;
        struct value item;
        while (object_next(&iter, &key, &item)) {
            stack_push(stack, key);
            stack_push(stack, item);
        }
    }
}

bool value_check(struct value value)
{
    value_stack stack;
    bool valid = true;
    stack_init(&stack);
    stack_push(&stack, value);
    while (valid && stack.count > 0) {
        const struct value top = stack.at[--stack.count];
        valid = check_one(top);
        if (valid) {
            push_children(&stack, top);
        }
    }
    stack_release(&stack);
    return valid;
}
