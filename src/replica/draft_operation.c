/* From the writes of a draft to the operation for the store.
 *
 * The writes are sorted by path and grouped into clusters: a path and
 * everything written below it. Each cluster becomes steps in one of three ways
 * (draft-2 to draft-4): its final value as a whole, its writes as they were
 * made, or a difference from what was there, which the commit then claims to
 * have read. The first two are right whatever the document holds when they
 * land. */

#include <stdlib.h>

#include "base/limits.h"
#include "base/mem.h"
#include "replica/draft.h"
#include "replica/overlay.h"
#include "value/array.h"
#include "value/compare.h"

enum {
    /* An array that replaces one at least this long is sent as a difference, if
     * that is less than half of it. */
    ARRAY_COMPARED_MIN = 32,
};

struct maker {
    struct draft *draft;
    struct patch *out;
};

/* The operation is right only if the value at the path is unchanged. */
static void claim(struct maker *maker, struct path *path)
{
    vec_push(&maker->draft->claims, path_ref(path));
}

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

/* A new key. One that an array would take for an index is set: an add would
 * insert it if there is an array when it lands. */
static enum patch_kind kind_of_new_key(const struct path *path)
{
    const struct path_segment *last = &path->at[path->length - 1];
    return last->index != PATH_NOT_INDEX || value_is_text(last->key, "-")
               ? PATCH_REPLACE
               : PATCH_ADD;
}

/* Two arrays of one length: the elements that differ, by index. */
static void replace_elements(struct maker *maker,
                             struct path *path,
                             struct value before,
                             struct value after)
{
    const uint32_t count = array_count(after);
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

/* Two arrays: what is between their common prefix and suffix. */
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

static uint32_t count_differing(struct value before, struct value after)
{
    const uint32_t count = array_count(after);
    uint32_t differing = 0;
    for (uint32_t i = 0; i < count; i++) {
        differing += !value_equal(array_at(before, i), array_at(after, i));
    }
    return differing;
}

/* How many elements of `after` are outside the common prefix and suffix. */
static uint32_t count_between(struct value before, struct value after)
{
    const uint32_t before_count = array_count(before);
    const uint32_t after_count = array_count(after);
    const uint32_t shorter =
        before_count < after_count ? before_count : after_count;
    uint32_t head = 0;
    uint32_t tail = 0;
    while (head < shorter &&
           value_equal(array_at(before, head), array_at(after, head))) {
        head++;
    }
    while (tail < shorter - head &&
           value_equal(array_at(before, before_count - 1 - tail),
                       array_at(after, after_count - 1 - tail))) {
        tail++;
    }
    return after_count - head - tail;
}

/* Two similar arrays: their difference, which is right only for the array that
 * was there. False if they are not similar, or one has fewer than `least`
 * elements. */
static bool compare_arrays(struct maker *maker,
                           struct path *path,
                           struct value before,
                           struct value after,
                           uint32_t least)
{
    if (!value_is_array(before) || !value_is_array(after) ||
        array_count(before) < least || array_count(after) < least) {
        return false;
    }
    const uint32_t most = array_count(after) / 2;
    if (array_count(before) == array_count(after) &&
        count_differing(before, after) <= most) {
        replace_elements(maker, path, before, after);
    } else if (count_between(before, after) <= most) {
        splice_elements(maker, path, before, after);
    } else {
        return false;
    }
    claim(maker, path);
    return true;
}

/* Sets the present value at the path. Only arrays with `least` elements are
 * compared with what was there. True if the value differs. */
static bool set_at(struct maker *maker, struct path *path, uint32_t least)
{
    struct value before;
    struct value after;
    (void)entity_state_at(&maker->draft->base, path, &before);
    (void)entity_state_at(&maker->draft->work, path, &after);
    const bool changed = !value_equal(before, after);
    if (!changed) {
        claim(maker, path); /* transaction-3: writing what is there is reading
                               it */
    } else if (value_is_absent(before)) {
        push_step(maker,
                  kind_of_new_key(path),
                  path_ref(path),
                  value_ref(after));
    } else if (value_is_absent(after)) {
        push_step(maker, PATCH_REMOVE, path_ref(path), VALUE_NONE);
    } else if (!compare_arrays(maker, path, before, after, least)) {
        push_step(maker, PATCH_REPLACE, path_ref(path), value_ref(after));
    }
    value_unref(before);
    value_unref(after);
    return changed;
}

/* The same for writes that depend on what was there. */
static void compare_at(struct maker *maker, struct path *path)
{
    const size_t claimed = maker->draft->claims.count;
    if (set_at(maker, path, 0) && maker->draft->claims.count == claimed) {
        claim(maker, path);
    }
}

/* -- Steps that are writes ----------------------------------------------- */

/* Whether the write has the same effect on whatever is there when it lands: it
 * merges, replaces what exists, or removes it. Not a put behind the last
 * element of an array, which inserts here and replaces in a longer array; and
 * not a put that had to create objects, which would overwrite those of other
 * writers. */
static bool can_be_replayed(const struct write_entry *write)
{
    switch (write->kind) {
    case WRITE_PUT:
        return write->step == write->place->path;
    case WRITE_DELETE:
        return !write->vacant;
    case WRITE_APPEND:
    case WRITE_ADD_UNIQUE:
    case WRITE_REMOVE_VALUE:
    case WRITE_INCREMENT:
        return write->step == write->place->path || write->creates;
    }
    UNREACHABLE("all kinds are above");
}

/* Each write as it was made, in order. */
static void replay(struct maker *maker,
                   struct write_entry *const *writes,
                   size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct write_entry *write = writes[i];
        const bool adds_key = write->kind == WRITE_PUT && write->vacant;
        push_step(maker,
                  adds_key ? kind_of_new_key(write->place->path)
                           : draft_patch_kind(write->kind),
                  path_ref(write->place->path),
                  value_ref(write->value));
    }
}

/* -- Clusters ------------------------------------------------------------ */

static int compare_order(const void *a, const void *b)
{
    const struct write_entry *left = *(struct write_entry *const *)a;
    const struct write_entry *right = *(struct write_entry *const *)b;
    return (left > right) - (left < right);
}

/* By path, then in the order of writing, which is the order of the entries in
 * memory. */
static int compare_writes(const void *a, const void *b)
{
    const struct write_entry *left = *(struct write_entry *const *)a;
    const struct write_entry *right = *(struct write_entry *const *)b;
    const int order = path_compare(left->step, right->step);
    return order != 0 ? order : compare_order(a, b);
}

/* The first put or delete at the path of the cluster, or NULL: from then on the
 * value there is this transaction's alone. */
static const struct write_entry *find_cover(struct write_entry *const *writes,
                                            size_t count,
                                            const struct path *path)
{
    for (size_t i = 0; i < count; i++) {
        if (writes[i]->kind <= WRITE_DELETE && writes[i]->step == path &&
            writes[i]->place->path == path) {
            return writes[i];
        }
    }
    return NULL;
}

/* Whether an earlier write went to a position of an array. It leaves nothing,
 * but it succeeded on what was there, and would fail on a shorter array. */
static bool has_earlier_position(struct write_entry *const *writes,
                                 size_t count,
                                 const struct write_entry *cover)
{
    for (size_t i = 0; i < count; i++) {
        const struct path *path = writes[i]->place->path;
        for (size_t at = cover->step->length;
             writes[i] < cover && at < path->length;
             at++) {
            if (path->at[at].index != PATH_NOT_INDEX) {
                return true;
            }
        }
    }
    return false;
}

static void make_cluster(struct maker *maker,
                         struct write_entry **writes,
                         size_t count)
{
    struct path *path = writes[0]->step;
    const struct write_entry *cover = find_cover(writes, count, path);
    if (cover != NULL) {
        (void)set_at(maker, path, ARRAY_COMPARED_MIN);
        if (has_earlier_position(writes, count, cover) &&
            entity_is_available(maker->draft->entity)) {
            claim(maker, path);
        }
        return;
    }
    for (size_t i = 0; i < count; i++) {
        if (!can_be_replayed(writes[i])) {
            compare_at(maker, path);
            return;
        }
    }
    qsort(writes, count, sizeof *writes, compare_order);
    replay(maker, writes, count);
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

static void make_patch(struct draft *draft, struct patch *out)
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

/* Steps that were derived one by one may interfere: an object that for a moment
 * has only the keys of an envelope is a leaf (value-4), and the next step
 * cannot pass through it. */
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
static void make_common_step(struct draft *draft, struct patch *out)
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

/* How a draft writes the document. */
enum extent {
    EXTENT_PARTS, /* somewhere in it */
    EXTENT_OWN,   /* as a whole, independent of what was there */
    EXTENT_SEEN,  /* as a whole, depending on what was there */
};

/* draft-1. A document that does not exist is patched as well: the store treats
 * it as empty, and another writer may be creating it concurrently. */
static enum extent extent_of(const struct draft *draft)
{
    enum extent extent = EXTENT_PARTS;
    VEC_FOREACH (&draft->writes, write) {
        if (write->place->path->length == 0 && write->kind <= WRITE_DELETE) {
            return EXTENT_OWN;
        }
        if (write->step->length == 0) {
            extent = EXTENT_SEEN;
        }
    }
    return extent;
}

static void set_document(struct draft *draft, struct commit_op *op)
{
    op->kind = COMMIT_SET;
    op->document = entity_state_document(&draft->work);
    if (extent_of(draft) != EXTENT_OWN) {
        struct maker maker = {draft, NULL};
        struct path *root = path_prefix(draft->writes.at[0].place->path, 0);
        claim(&maker, root);
        path_unref(root);
    }
}

/* The writes as one difference. If the paths have only the root in common, the
 * whole document. */
static void set_common(struct draft *draft, struct commit_op *op)
{
    patch_clear(&op->patch);
    draft_drop_claims(draft);
    make_common_step(draft, &op->patch);
    if (op->patch.ops.count == 0) {
        set_document(draft, op);
    }
}

void draft_claim(struct draft *draft)
{
    struct maker maker = {draft, NULL};
    draft_drop_claims(draft);
    VEC_FOREACH (&draft->writes, write) {
        claim(&maker, write->step);
    }
}

void draft_operation(struct draft *draft, struct commit_op *op)
{
    const struct entity *entity = draft->entity;
    op->target.id = value_ref(entity->id);
    op->target.scope = entity->scope;
    draft_drop_claims(draft);
    if (!entity_state_exists(&draft->work)) {
        op->kind = COMMIT_DELETE;
    } else if (extent_of(draft) != EXTENT_PARTS) {
        set_document(draft, op);
    } else {
        op->kind = COMMIT_PATCH;
        make_patch(draft, &op->patch);
        const size_t count = op->patch.ops.count;
        if (count == 0 || count > LIMIT_PATCH_OPERATIONS ||
            (count > 1 && !gives_work(draft, &op->patch))) {
            set_common(draft, op);
        }
    }
}
