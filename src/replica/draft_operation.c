/* From the writes of a draft to the operation that the store gets.
 *
 * The writes are sorted by path and cut into clusters: a path and everything
 * written below it. Each cluster gives one step, or one a changed element
 * where arrays are compared (W2, W3, W4). */

#include <stdlib.h>

#include "base/mem.h"
#include "replica/draft.h"
#include "value/array.h"
#include "value/compare.h"

struct maker {
    const struct draft *draft;
    struct patch *out;
};

/* -- Steps from a comparison --------------------------------------------- */

static void push_step(struct maker *maker,
                      enum patch_kind kind,
                      struct path *path,
                      struct value value)
{
    patch_push_adopt(maker->out,
                     (struct patch_op){
                         .kind = kind,
                         .path = path,
                         .value = value,
                         .creates_key = kind == PATCH_ADD,
                     });
}

/* Two arrays of one length: the elements that differ, by index; all of it if
 * that is most of them. */
static void replace_elements(struct maker *maker,
                             struct path *path,
                             struct value before,
                             struct value after)
{
    const uint32_t count = array_count(after);
    uint32_t differing = 0;
    for (uint32_t i = 0; i < count; i++) {
        differing += !value_equal(array_at(before, i), array_at(after, i));
    }
    if (differing > 1 && differing > count / 2) {
        push_step(maker, PATCH_REPLACE, path_ref(path), value_ref(after));
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (!value_equal(array_at(before, i), array_at(after, i))) {
            struct path_segment index = path_segment_of_index(i);
            push_step(maker,
                      PATCH_REPLACE,
                      path_child(path, index.key),
                      value_ref(array_at(after, i)));
            path_segment_release(&index);
        }
    }
}

/* Two arrays of different length: what is between their common ends. */
static void splice_elements(struct maker *maker,
                            struct path *path,
                            struct value before,
                            struct value after)
{
    struct difference difference = {
        .before = before,
        .after = after,
    };
    struct patch_op op = patch_op_of_difference(&difference, path->table);
    path_unref(op.path); /* of the arrays themselves: the root */
    op.path = path_ref(path);
    patch_push_adopt(maker->out, op);
}

static void compare_at(struct maker *maker, struct path *path)
{
    struct value before;
    struct value after;
    (void)entity_state_at(&maker->draft->base, path, &before);
    (void)entity_state_at(&maker->draft->work, path, &after);
    if (value_equal(before, after)) {
        /* Nothing to say: T3. */
    } else if (value_is_absent(before)) {
        push_step(maker, PATCH_ADD, path_ref(path), value_ref(after));
    } else if (value_is_absent(after)) {
        push_step(maker, PATCH_REMOVE, path_ref(path), VALUE_NONE);
    } else if (!value_is_array(before) || !value_is_array(after)) {
        push_step(maker, PATCH_REPLACE, path_ref(path), value_ref(after));
    } else if (array_count(before) == array_count(after)) {
        replace_elements(maker, path, before, after);
    } else {
        splice_elements(maker, path, before, after);
    }
    value_unref(before);
    value_unref(after);
}

/* -- Steps that merge ---------------------------------------------------- */

/* Each as it was made, in order: several are as good as their sum. */
static void merge_at(struct maker *maker,
                     struct write_entry *const *writes,
                     size_t count)
{
    for (size_t i = 0; i < count; i++) {
        push_step(maker,
                  draft_patch_kind(writes[i]->kind),
                  path_ref(writes[i]->place->path),
                  value_ref(writes[i]->value));
    }
}

/* -- Clusters ------------------------------------------------------------ */

/* By path, and in the order of writing at one path, which is the order of the
 * entries in memory. */
static int compare_writes(const void *a, const void *b)
{
    const struct write_entry *left = *(struct write_entry *const *)a;
    const struct write_entry *right = *(struct write_entry *const *)b;
    const int order = path_compare(left->step, right->step);
    if (order != 0) {
        return order;
    }
    return (left > right) - (left < right);
}

/* A write that merges and can be sent as such: not one that made a new element
 * in an array, or a leaf of what is around it. */
static bool is_mergeable(const struct write_entry *write)
{
    return write->kind > WRITE_DELETE &&
           (write->step == write->place->path || write->creates);
}

/* Whether two that merge leave each other alone. */
static bool agree(const struct write_entry *a, const struct write_entry *b)
{
    return a->place == b->place
               ? a->kind == b->kind
               : !path_overlaps(a->place->path, b->place->path);
}

static void make_cluster(struct maker *maker,
                         struct write_entry *const *writes,
                         size_t count)
{
    bool merges = is_mergeable(writes[0]);
    for (size_t i = 1; i < count && merges; i++) {
        merges = is_mergeable(writes[i]);
        for (size_t j = 0; j < i && merges; j++) {
            merges = agree(writes[i], writes[j]);
        }
    }
    if (merges) {
        merge_at(maker, writes, count);
    } else {
        compare_at(maker, writes[0]->step);
    }
}

static void make_clusters(struct maker *maker,
                          struct write_entry **writes,
                          size_t count)
{
    qsort(writes, count, sizeof *writes, compare_writes);
    for (size_t from = 0, to; from < count; from = to) {
        to = from + 1;
        while (to < count &&
               path_is_prefix(writes[from]->step, writes[to]->step)) {
            to++;
        }
        make_cluster(maker, writes + from, to - from);
    }
}

static void make_patch(const struct draft *draft, struct patch *out)
{
    struct maker maker = {draft, out};
    const size_t count = draft->writes.count;
    if (count == 1) {
        struct write_entry *only = draft->writes.at;
        CHECK(only != NULL);
        make_cluster(&maker, &only, 1);
        return;
    }
    struct write_entry **sorted =
        mem_alloc(mem_array_size(count, sizeof *sorted));
    for (size_t i = 0; i < count; i++) {
        sorted[i] = &draft->writes.at[i];
    }
    make_clusters(&maker, sorted, count);
    mem_free(sorted, mem_array_size(count, sizeof *sorted));
}

/* Steps that were made one by one may meet on the way: an object of which only
 * the keys of an envelope are left for a moment is a leaf (V4), and the next
 * step cannot go through it. */
static bool gives_work(const struct draft *draft, const struct patch *patch)
{
    const struct value base = entity_state_document(&draft->base);
    struct value document;
    const enum err err =
        patch_apply(patch, base, PATCH_ROOT_DOCUMENT, &document, NULL, NULL);
    value_unref(base);
    const struct entity_state state = entity_state_of(document);
    value_unref(document);
    const bool same = err == ERR_OK && entity_state_equal(&state, &draft->work);
    value_unref(state.payload);
    value_unref(state.rest);
    return same;
}

/* One step for all of them, above everything that they touched. */
static void make_common_step(const struct draft *draft, struct patch *out)
{
    struct path *step = draft->writes.at[0].step;
    size_t length = step->length;
    VEC_FOREACH (&draft->writes, write) {
        struct path *prefix = path_prefix(step, length);
        while (!path_is_prefix(prefix, write->step)) {
            path_unref(prefix);
            prefix = path_prefix(step, --length);
        }
        path_unref(prefix);
    }
    struct maker maker = {draft, out};
    struct path *common = path_prefix(step, length);
    if (length > 0) {
        compare_at(&maker, common);
    }
    path_unref(common);
}

/* Whether the document is written as a whole (W1): at its root, or because it
 * is new and not only merged into, which others may do at the same time. */
static bool is_whole(const struct draft *draft)
{
    const bool is_new = !entity_state_exists(&draft->base);
    VEC_FOREACH (&draft->writes, write) {
        if (write->step->length == 0 ||
            (is_new && write->kind <= WRITE_DELETE)) {
            return true;
        }
    }
    return false;
}

/* The ways part at the root, where there is nothing but the whole. */
static void set_if_empty(const struct draft *draft, struct commit_op *op)
{
    if (op->patch.ops.count == 0) {
        op->kind = COMMIT_SET;
        op->document = entity_state_document(&draft->work);
    }
}

void draft_operation(const struct draft *draft, struct commit_op *op)
{
    const struct entity *entity = draft->entity;
    op->target.id = value_ref(entity->id);
    op->target.scope = entity->scope;
    if (!entity_state_exists(&draft->work)) {
        op->kind = COMMIT_DELETE;
    } else if (is_whole(draft)) {
        op->kind = COMMIT_SET;
        op->document = entity_state_document(&draft->work);
    } else {
        op->kind = COMMIT_PATCH;
        make_patch(draft, &op->patch);
        if (op->patch.ops.count > 1 && !gives_work(draft, &op->patch)) {
            patch_clear(&op->patch);
            make_common_step(draft, &op->patch);
            set_if_empty(draft, op);
        }
    }
}
