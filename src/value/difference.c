/* Walking two values side by side, without recursion. */

#include "value/difference.h"

#include <stdlib.h>

#include "base/stack.h"
#include "value/array.h"
#include "value/compare.h"
#include "value/object.h"

/* Two containers of one kind that are being compared. */
struct diff_frame {
    struct value before;
    struct value after;
    uint32_t next;  /* the slot or index to look at next */
    bool additions; /* objects: the second round, over keys of `after` */
    bool removals;  /* the first has seen some */
};

struct diff_walk {
    enum difference_how how;
    difference_fn *report;
    void *ctx;
    STACK(struct diff_frame, 16) frames;
    STACK(struct path_segment, 16) path; /* one a frame, and the current one */
};

static void report(struct diff_walk *walk,
                   struct value before,
                   struct value after)
{
    const struct difference difference = {walk->path.at,
                                          walk->path.count,
                                          before,
                                          after};
    walk->report(walk->ctx, &difference);
}

/* The pair at the current path: nothing, a difference, or a frame to go on
 * with. True if a frame was pushed, which then owns the last segment. */
static bool look_at(struct diff_walk *walk,
                    struct value before,
                    struct value after)
{
    if (value_is_same(before, after)) {
        return false;
    }
    if (walk->how == DIFFERENCE_OF_CHILDREN && walk->path.count > 0) {
        report(walk, before, after);
        return false;
    }
    const bool arrays = value_is_array(before) && value_is_array(after);
    bool objects = value_is_object(before) && value_is_object(after);
    if (walk->how == DIFFERENCE_BY_STEPS && objects &&
        (value_is_near_envelope(before) || value_is_near_envelope(after))) {
        objects = false;
    }
    if (arrays && array_count(before) != array_count(after)) {
        report(walk, before, after);
        if (walk->how == DIFFERENCE_BY_STEPS) {
            return false;
        }
    }
    if (arrays || objects) {
        stack_push(&walk->frames,
                   ((struct diff_frame){.before = before, .after = after}));
        return true;
    }
    if (!value_equal(before, after)) {
        report(walk, before, after);
    }
    return false;
}

/* Steps return true when they pushed a frame; the caller goes on there. */

static bool step_array(struct diff_walk *walk)
{
    struct diff_frame *frame = stack_top(&walk->frames);
    const uint32_t count_before = array_count(frame->before);
    const uint32_t count_after = array_count(frame->after);
    const uint32_t count =
        count_before < count_after ? count_before : count_after;
    while (frame->next < count) {
        const uint32_t shared =
            array_shared_run(frame->before, frame->after, frame->next);
        if (shared > 0) {
            frame->next += shared;
            continue;
        }
        const uint32_t index = frame->next++;
        const struct value before = array_at(frame->before, index);
        const struct value after = array_at(frame->after, index);
        if (value_is_same(before, after)) {
            continue;
        }
        stack_push(&walk->path, path_segment_of_index(index));
        if (look_at(walk, before, after)) {
            return true;
        }
        walk->path.count--;
    }
    return false;
}

/* A segment that borrows its key: it is gone before the values are. */
static void enter_key(struct diff_walk *walk, struct value key)
{
    const struct path_segment segment = {.key = key, .index = path_index(key)};
    stack_push(&walk->path, segment);
}

/* One entry of the side that this round goes over. */
static bool look_at_entry(struct diff_walk *walk,
                          struct diff_frame *frame,
                          struct value key,
                          struct value item)
{
    const struct value other =
        object_get(frame->additions ? frame->before : frame->after, key);
    if (frame->additions && !value_is_absent(other)) {
        return false; /* the first round saw it */
    }
    if (value_is_same(item, other)) {
        return false;
    }
    frame->removals = frame->removals || value_is_absent(other);
    enter_key(walk, key);
    if (look_at(walk,
                frame->additions ? other : item,
                frame->additions ? item : other)) {
        return true;
    }
    walk->path.count--;
    return false;
}

static bool step_object(struct diff_walk *walk)
{
    struct diff_frame *frame = stack_top(&walk->frames);
    for (;;) {
        const struct value side =
            frame->additions ? frame->after : frame->before;
        const uint32_t shared =
            object_shared_run(frame->before, frame->after, frame->next);
        if (shared > 0) {
            frame->next += shared;
            continue;
        }
        uint32_t run = 0;
        const struct value *at = object_chunk(side, frame->next, &run);
        if (at == NULL) {
            if (frame->additions ||
                (!frame->removals &&
                 object_count(frame->before) == object_count(frame->after))) {
                return false;
            }
            frame->additions = true;
            frame->next = 0;
            continue;
        }
        frame->next += 2;
        if (!value_is_absent(at[0]) &&
            look_at_entry(walk, frame, at[0], at[1])) {
            return true;
        }
    }
}

void difference_walk(struct value before,
                     struct value after,
                     enum difference_how how,
                     difference_fn *report_fn,
                     void *ctx)
{
    struct diff_walk walk;
    walk.how = how;
    walk.report = report_fn;
    walk.ctx = ctx;
    stack_init(&walk.frames);
    stack_init(&walk.path);
    (void)look_at(&walk, before, after);
    while (walk.frames.count > 0) {
        const bool is_array = value_is_array(stack_top(&walk.frames)->before);
        const bool deeper = is_array ? step_array(&walk) : step_object(&walk);
        if (!deeper) {
            walk.frames.count--;
            if (walk.path.count > 0) {
                walk.path.count--;
            }
        }
    }
    stack_release(&walk.frames);
    stack_release(&walk.path);
}

/* -- Changed paths ------------------------------------------------------- */

struct collect {
    struct path_table *paths;
    path_list *out;
};

static void collect_path(void *ctx, const struct difference *difference)
{
    struct collect *collect = ctx;
    struct path *path =
        path_new(collect->paths, difference->path, difference->length);
    vec_push(collect->out, path);
}

static int by_path(const void *a, const void *b)
{
    struct path *const *x = a;
    struct path *const *y = b;
    return path_compare(*x, *y);
}

void difference_paths(struct value before,
                      struct value after,
                      struct path_table *paths,
                      path_list *out)
{
    struct collect collect = {paths, out};
    difference_walk(before, after, DIFFERENCE_BY_PATH, collect_path, &collect);
    if (out->count > 1) {
        qsort(out->at, out->count, sizeof out->at[0], by_path);
    }
}

void path_list_release(path_list *list)
{
    VEC_FOREACH (list, path) {
        path_unref(*path);
    }
    vec_release(list);
}

/* -- Which reads see a change -------------------------------------------- */

bool value_shape_equal(struct value a, struct value b)
{
    if (value_is_same(a, b)) {
        return true;
    }
    if (value_is_array(a) && value_is_array(b)) {
        return array_count(a) == array_count(b);
    }
    if (!value_is_object(a) || !value_is_object(b)) {
        return value_equal(a, b);
    }
    if (object_count(a) != object_count(b)) {
        return false;
    }
    const uint32_t slots = object_slots(a);
    uint32_t slot = 0;
    while (slot < slots) {
        const uint32_t shared = object_shared_run(a, b, slot);
        if (shared > 0) {
            slot += shared;
            continue;
        }
        uint32_t run = 0;
        const struct value key = *object_chunk(a, slot, &run);
        if (!value_is_absent(key) && value_is_absent(object_get(b, key))) {
            return false;
        }
        slot += 2;
    }
    return true;
}

/* How far one gets along a path: `containers` is how many of the values on
 * the way, the root included, are containers without a gap. */
struct reach {
    struct value value; /* at the end; absent if not reached */
    size_t containers;
};

static struct reach reach_along(struct value root, const struct path *path)
{
    struct reach reach = {root, 0};
    for (size_t i = 0; i < path->length; i++) {
        if (!value_is_container(reach.value)) {
            reach.value = VALUE_NONE;
            return reach;
        }
        reach.containers++;
        reach.value = value_child_or_virtual(reach.value, &path->at[i]);
    }
    return reach;
}

bool difference_is_seen(struct value before,
                        struct value after,
                        const struct path *path,
                        enum read_kind kind)
{
    const struct reach was = reach_along(before, path);
    const struct reach is = reach_along(after, path);
    if (was.containers != is.containers) {
        return true;
    }
    if (was.containers < path->length) {
        return false; /* as unreachable as before */
    }
    return kind == READ_DEEP ? !value_equal(was.value, is.value)
                             : !value_shape_equal(was.value, is.value);
}
