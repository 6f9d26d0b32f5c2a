/* Writing a new value over an old one so that equal parts keep their identity.
 *
 * The result starts as the old value and is changed where the new one differs,
 * so it shares with the old one not only equal elements but the tree nodes
 * that hold them, and every later comparison of the two is cheap. */

#include "base/stack.h"
#include "value/array.h"
#include "value/compare.h"
#include "value/difference.h"
#include "value/object.h"

/* Two containers of one kind. Elements of arrays are paired from `start`, for
 * `pairs` of them; what is behind those is spliced in at the end. */
struct reuse_frame {
    struct value before; /* borrowed */
    struct value after;  /* borrowed */
    struct value result; /* owned; becomes equal to `after` */
    struct object_iter iter;
    struct value key; /* object: the entry being worked on */
    uint32_t next;    /* array: the index being worked on */
    uint32_t start;
    uint32_t pairs;
    uint32_t suffix; /* equal elements at the ends of both */
};

typedef STACK(struct reuse_frame, 16) reuse_stack;

/* Whether one can be turned into the other entry by entry. */
static bool same_kind(struct value a, struct value b)
{
    if (value_is_array(a) && value_is_array(b)) {
        return true;
    }
    return value_is_object(a) && value_is_object(b) &&
           !value_is_near_envelope(a) && !value_is_near_envelope(b);
}

/* Equal elements at the beginning and at the end stay as they are; what is
 * between is paired in order. */
static void pair_arrays(struct reuse_frame *frame)
{
    const uint32_t count_a = array_count(frame->before);
    const uint32_t count_b = array_count(frame->after);
    if (count_a == count_b) {
        frame->pairs = count_a;
        return;
    }
    const struct array_ends ends =
        array_common_ends(frame->before, frame->after);
    const uint32_t least = count_a < count_b ? count_a : count_b;
    frame->start = ends.start;
    frame->suffix = ends.end;
    frame->pairs = least - ends.start - ends.end;
    frame->next = frame->start;
}

static void push_frame(reuse_stack *stack,
                       struct value before,
                       struct value after)
{
    struct reuse_frame frame = {
        .before = before,
        .after = after,
        .result = value_ref(before),
    };
    if (value_is_array(before)) {
        pair_arrays(&frame);
    } else {
        frame.iter = object_iter(after);
    }
    stack_push(stack, frame);
}

/* The next pair of elements that are not the same; false at the end. */
static bool next_array_pair(struct reuse_frame *frame,
                            struct value *before,
                            struct value *after)
{
    const uint32_t end = frame->start + frame->pairs;
    while (frame->next < end) {
        const uint32_t shared =
            array_shared_run(frame->before, frame->after, frame->next);
        if (shared > 0) {
            frame->next += shared;
            continue;
        }
        *before = array_at(frame->before, frame->next);
        *after = array_at(frame->after, frame->next);
        frame->next++;
        if (!value_is_same(*before, *after)) {
            return true;
        }
    }
    return false;
}

static bool next_object_pair(struct reuse_frame *frame,
                             struct value *before,
                             struct value *after)
{
    while (object_next(&frame->iter, &frame->key, after)) {
        *before = object_get(frame->before, frame->key);
        if (!value_is_same(*before, *after)) {
            return true;
        }
    }
    return false;
}

/* Puts a part into the frame's result, unless it is what is there already. */
static void put_adopt(struct reuse_frame *frame,
                      struct value before,
                      struct value part)
{
    if (value_is_same(before, part)) {
        value_unref(part);
    } else if (value_is_array(frame->before)) {
        frame->result = array_set_adopt(frame->result, frame->next - 1, part);
    } else {
        frame->result =
            object_set_adopt(frame->result, value_ref(frame->key), part);
    }
}

static void splice_rest(struct reuse_frame *frame)
{
    const uint32_t at = frame->start + frame->pairs;
    const uint32_t removed = array_count(frame->before) - frame->suffix - at;
    const uint32_t added = array_count(frame->after) - frame->suffix - at;
    if (removed == 0 && added == 0) {
        return;
    }
    const size_t size = mem_array_size(added, sizeof(struct value));
    struct value *items = mem_alloc(size);
    for (uint32_t i = 0; i < added; i++) {
        items[i] = value_ref(array_at(frame->after, at + i));
    }
    frame->result =
        array_splice_adopt(frame->result, at, removed, items, added);
    mem_free(items, size);
}

static void remove_missing_keys(struct reuse_frame *frame)
{
    /* Everything of `after` is in the result by now, so equal counts mean
     * that nothing else is. */
    if (object_count(frame->result) == object_count(frame->after)) {
        return;
    }
    struct object_iter iter = object_iter(frame->before);
    struct value key;
    struct value item;
    while (object_next(&iter, &key, &item)) {
        if (value_is_absent(object_get(frame->after, key))) {
            frame->result = object_remove_adopt(frame->result, key);
        }
    }
}

/* The finished part becomes the next one of the container around it. */
static struct value finish_frame(reuse_stack *stack)
{
    struct reuse_frame *frame = stack_top(stack);
    if (value_is_array(frame->before)) {
        splice_rest(frame);
    } else {
        remove_missing_keys(frame);
    }
    const struct value before = frame->before;
    const struct value result = frame->result;
    stack->count--;
    if (stack->count == 0) {
        return result;
    }
    put_adopt(stack_top(stack), before, result);
    return VALUE_NONE;
}

struct value value_reuse_adopt(struct value before, struct value after)
{
    if (!same_kind(before, after)) {
        if (value_equal(before, after)) {
            value_unref(after);
            return value_ref(before);
        }
        return after;
    }
    reuse_stack stack;
    stack_init(&stack);
    push_frame(&stack, before, after);
    struct value result = VALUE_NONE;
    while (stack.count > 0) {
        struct reuse_frame *frame = stack_top(&stack);
        struct value old = VALUE_NONE;
        struct value new = VALUE_NONE;
        const bool more = value_is_array(frame->before)
                              ? next_array_pair(frame, &old, &new)
                              : next_object_pair(frame, &old, &new);
        if (!more) {
            result = finish_frame(&stack);
        } else if (same_kind(old, new)) {
            push_frame(&stack, old, new);
        } else {
            put_adopt(frame, old, value_ref(value_equal(old, new) ? old : new));
        }
    }
    stack_release(&stack);
    value_unref(after);
    return result;
}
