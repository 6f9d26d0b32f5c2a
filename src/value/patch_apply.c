/* Applying patches.
 *
 * An operation walks down from the root, makes each container on its way
 * unshared (copied only if it has other references), and changes the last one
 * in place. So a list of operations copies each spine at most once, and a
 * failure just drops the working copy. */

#include <math.h>
#include <string.h>

#include "base/limits.h"
#include "base/map.h"
#include "value/array.h"
#include "value/compare.h"
#include "value/object.h"
#include "value/patch.h"

struct apply {
    const struct patch_op *op;
    size_t number;
    struct value root; /* the working copy */
    struct patch_trace trace;
    struct err_detail *detail;
};

/* -- Faults -------------------------------------------------------------- */

static enum err fail(const struct apply *apply,
                     enum err err,
                     const char *what,
                     const struct path *path)
{
    if (apply->detail != NULL) {
        struct buf pointer = {0};
        path_write(&pointer, path);
        (void)err_set(apply->detail,
                      err,
                      "operation %zu (%s): %s %s",
                      apply->number,
                      patch_kind_name(apply->op->kind),
                      what,
                      pointer.length > 0 ? buf_text(&pointer) : "(the root)");
        buf_release(&pointer);
    }
    return err;
}

static enum err missing(const struct apply *apply, const struct path *path)
{
    return fail(apply, ERR_PATCH_MISSING, "missing path", path);
}

static enum err bad_index(const struct apply *apply, const struct path *path)
{
    return fail(apply, ERR_PATCH_INDEX, "invalid array index in", path);
}

static enum err not_traversable(const struct apply *apply,
                                const struct path *path)
{
    return fail(apply, ERR_PATCH_TRAVERSAL, "path is not traversable at", path);
}

static enum err wrong_target(const struct apply *apply, const char *what)
{
    return fail(apply, ERR_PATCH_TARGET, what, apply->op->path);
}

/* -- Walking ------------------------------------------------------------- */

static bool is_key(const struct path_segment *segment, char c)
{
    const struct text text = value_text(&segment->key);
    return text.length == 1 && text.at[0] == c;
}

/* Creates the container for the segments after `at`, under a key that the
 * object *slot lacks. An element of an array is never made up to walk through
 * it, so an index may only come last. */
static enum err create_key(struct apply *apply,
                           struct value *slot,
                           const struct path *path,
                           size_t at)
{
    const struct path_segment *next = &path->at[at + 1];
    const bool array = next->index != PATH_NOT_INDEX || is_key(next, '-');
    if (array && at + 2 < path->length) {
        return missing(apply, path);
    }
    if (object_count(*slot) >= LIMIT_OBJECT_KEYS) {
        return fail(apply, ERR_LIMIT_KEYS, "too many keys at", path);
    }
    if (apply->trace.created_length == 0) {
        apply->trace.created_length = (uint32_t)at + 1;
    }
    *slot =
        object_set_adopt(*slot,
                         value_ref(path->at[at].key),
                         array ? value_empty_array() : value_empty_object());
    return ERR_OK;
}

/* One step down from the container *slot, which is owned. */
static enum err step_down(struct apply *apply,
                          struct value **slot,
                          const struct path *path,
                          size_t at,
                          bool create)
{
    const struct path_segment *segment = &path->at[at];
    if (value_is_array(**slot)) {
        if (segment->index == PATH_NOT_INDEX) {
            return bad_index(apply, path);
        }
        if (segment->index >= array_count(**slot)) {
            return missing(apply, path);
        }
        *slot = array_own_slot(*slot, segment->index);
        return ERR_OK;
    }
    if (!value_is_object(**slot)) {
        return not_traversable(apply, path);
    }
    struct value *child = object_own_slot(*slot, segment->key);
    if (child == NULL) {
        const enum err err =
            create ? create_key(apply, *slot, path, at) : missing(apply, path);
        if (err != ERR_OK) {
            return err;
        }
        child = object_own_slot(*slot, segment->key);
    }
    *slot = child;
    return ERR_OK;
}

/* The container that holds the last segment of `path`, owned. */
static enum err walk_to_parent(struct apply *apply,
                               const struct path *path,
                               bool create,
                               struct value **out)
{
    CHECK(path->length > 0);
    struct value *slot = &apply->root;
    for (size_t i = 0; i + 1 < path->length; i++) {
        const enum err err = step_down(apply, &slot, path, i, create);
        if (err != ERR_OK) {
            return err;
        }
    }
    if (!value_is_container(*slot)) {
        return not_traversable(apply, path);
    }
    *out = slot;
    return ERR_OK;
}

/* What was a container at the first `length` segments has become a leaf. */
static void note_collapse(struct apply *apply, size_t length)
{
    const uint32_t mark = (uint32_t)length + 1;
    if (apply->trace.collapsed == 0 || apply->trace.collapsed > mark) {
        apply->trace.collapsed = mark;
    }
}

/* The value at the first `length` segments of a path, as it is. */
static struct value value_at_prefix(struct value value,
                                    const struct path *path,
                                    size_t length)
{
    for (size_t i = 0; i < length && !value_is_absent(value); i++) {
        value = value_child(value, &path->at[i]);
    }
    return value;
}

/* value-4 again: a change below a key "/" may have made an envelope of what is
 * above it. Rare, so a walk from the root for each level will do. */
static void collapse_envelopes(struct apply *apply, const struct path *path)
{
    bool possible = false;
    for (size_t i = 0; i < path->length; i++) {
        possible = possible || is_key(&path->at[i], '/');
    }
    for (size_t depth = path->length; possible && depth-- > 0;) {
        if (!value_is_envelope(value_at_prefix(apply->root, path, depth))) {
            continue;
        }
        struct value *slot = &apply->root;
        for (size_t i = 0; i < depth; i++) {
            slot = value_is_array(*slot)
                       ? array_own_slot(slot, path->at[i].index)
                       : object_own_slot(slot, path->at[i].key);
        }
        *slot = value_normalise_adopt(*slot);
        note_collapse(apply, depth);
    }
}

static const struct path_segment *last_of(const struct path *path)
{
    return &path->at[path->length - 1];
}

static void swap_in_adopt(struct value *slot, struct value value)
{
    const struct value old = *slot;
    *slot = value;
    value_unref(old);
}

/* Everything that puts `value` at `path` makes the document at most this
 * deep there. */
static enum err check_depth(const struct apply *apply,
                            const struct path *path,
                            struct value value)
{
    if (path->length + value_depth(value) > LIMIT_DEPTH) {
        return fail(apply, ERR_LIMIT_DEPTH, "nested too deeply at", path);
    }
    return ERR_OK;
}

static enum err check_elements(const struct apply *apply,
                               struct value array,
                               uint32_t more)
{
    if (more > LIMIT_ARRAY_ELEMENTS ||
        array_count(array) > LIMIT_ARRAY_ELEMENTS - more) {
        return fail(apply,
                    ERR_LIMIT_ELEMENTS,
                    "too many elements at",
                    apply->op->path);
    }
    return ERR_OK;
}

/* Sets a key of the object *container. */
static enum err set_key(struct apply *apply,
                        struct value *container,
                        const struct path *path,
                        struct value value)
{
    const struct value key = last_of(path)->key;
    if (value_is_absent(object_get(*container, key))) {
        if (object_count(*container) >= LIMIT_OBJECT_KEYS) {
            return fail(apply, ERR_LIMIT_KEYS, "too many keys at", path);
        }
        if (apply->trace.created_length == 0) {
            apply->trace.created_length = path->length;
        }
    }
    *container = object_set_adopt(*container, value_ref(key), value_ref(value));
    if (!value_is_object(*container)) {
        note_collapse(apply, path->length - 1);
    }
    return ERR_OK;
}

/* -- replace, add, remove, move ------------------------------------------ */

static enum err apply_replace(struct apply *apply)
{
    const struct path *path = apply->op->path;
    enum err err = check_depth(apply, path, apply->op->value);
    if (err != ERR_OK) {
        return err;
    }
    if (path->length == 0) {
        swap_in_adopt(&apply->root, value_ref(apply->op->value));
        return ERR_OK;
    }
    struct value *parent = NULL;
    err = walk_to_parent(apply, path, false, &parent);
    if (err != ERR_OK) {
        return err;
    }
    if (value_is_object(*parent)) {
        return set_key(apply, parent, path, apply->op->value);
    }
    struct value *slot = parent;
    err = step_down(apply, &slot, path, path->length - 1, false);
    if (err == ERR_OK) {
        apply->trace.path_in_array = true;
        swap_in_adopt(slot, value_ref(apply->op->value));
    }
    return err;
}

static enum err insert(struct apply *apply,
                       struct value *array,
                       const struct path *path,
                       struct value value)
{
    const struct path_segment *last = last_of(path);
    const uint32_t count = array_count(*array);
    const uint32_t index = is_key(last, '-') ? count : last->index;
    if (index == PATH_NOT_INDEX) {
        return bad_index(apply, path);
    }
    if (index > count) {
        return missing(apply, path);
    }
    const enum err err = check_elements(apply, *array, 1);
    if (err == ERR_OK) {
        apply->trace.path_in_array = true;
        if (apply->trace.created_length == 0) {
            apply->trace.created_length = path->length;
        }
        (void)value_ref(value);
        *array = array_splice_adopt(*array, index, 0, &value, 1);
    }
    return err;
}

static enum err add_at(struct apply *apply,
                       const struct path *path,
                       struct value value)
{
    enum err err = check_depth(apply, path, value);
    if (err != ERR_OK) {
        return err;
    }
    if (path->length == 0) {
        swap_in_adopt(&apply->root, value_ref(value));
        return ERR_OK;
    }
    struct value *parent = NULL;
    err = walk_to_parent(apply, path, true, &parent);
    if (err != ERR_OK) {
        return err;
    }
    return value_is_array(*parent) ? insert(apply, parent, path, value)
                                   : set_key(apply, parent, path, value);
}

static enum err apply_add(struct apply *apply)
{
    return add_at(apply, apply->op->path, apply->op->value);
}

static enum err remove_at(struct apply *apply,
                          const struct path *path,
                          bool *in_array)
{
    if (path->length == 0) {
        return fail(apply,
                    ERR_PATCH_TARGET,
                    "use delete, not a patch, to remove",
                    path);
    }
    struct value *parent = NULL;
    enum err err = walk_to_parent(apply, path, false, &parent);
    if (err != ERR_OK) {
        return err;
    }
    struct value *slot = parent; /* proves that it is there */
    err = step_down(apply, &slot, path, path->length - 1, false);
    if (err != ERR_OK) {
        return err;
    }
    *in_array = value_is_array(*parent);
    if (*in_array) {
        *parent = array_splice_adopt(*parent, last_of(path)->index, 1, NULL, 0);
    } else {
        *parent = object_remove_adopt(*parent, last_of(path)->key);
        if (!value_is_object(*parent)) {
            note_collapse(apply, path->length - 1);
        }
    }
    return ERR_OK;
}

static enum err apply_remove(struct apply *apply)
{
    return remove_at(apply, apply->op->path, &apply->trace.path_in_array);
}

static enum err apply_move(struct apply *apply)
{
    const struct path *from = apply->op->from;
    const struct path *path = apply->op->path;
    if (from->length == 0) {
        return fail(apply, ERR_PATCH_TARGET, "cannot move", from);
    }
    if (from->length < path->length && path_is_prefix(from, path)) {
        return fail(apply,
                    ERR_PATCH_TARGET,
                    "cannot move a value into itself at",
                    path);
    }
    const struct value moved = value_ref(value_at(apply->root, from));
    enum err err = remove_at(apply, from, &apply->trace.from_in_array);
    if (err == ERR_OK) {
        /* Now, because adding may shift what `from` says. */
        collapse_envelopes(apply, from);
        err = add_at(apply, path, moved);
    }
    value_unref(moved);
    return err;
}

/* -- Arrays -------------------------------------------------------------- */

/* The place of the value at `path`, owned. */
static enum err walk_to(struct apply *apply,
                        const struct path *path,
                        struct value **out)
{
    struct value *slot = &apply->root;
    for (size_t i = 0; i < path->length; i++) {
        const enum err err = step_down(apply, &slot, path, i, false);
        if (err != ERR_OK) {
            return err;
        }
    }
    *out = slot;
    return ERR_OK;
}

static void splice_values(struct value *array,
                          uint32_t index,
                          uint32_t removed,
                          struct value added)
{
    const uint32_t count = array_count(added);
    const size_t size = mem_array_size(count, sizeof(struct value));
    struct value *items = mem_alloc(size);
    for (uint32_t i = 0; i < count; i++) {
        items[i] = value_ref(array_at(added, i));
    }
    *array = array_splice_adopt(*array, index, removed, items, count);
    mem_free(items, size);
}

static enum err apply_splice(struct apply *apply)
{
    const struct patch_op *op = apply->op;
    struct value *slot = NULL;
    enum err err = check_depth(apply, op->path, op->value);
    if (err == ERR_OK) {
        err = walk_to(apply, op->path, &slot);
    }
    if (err != ERR_OK) {
        return err;
    }
    if (!value_is_array(*slot)) {
        return wrong_target(apply, "splice needs an array at");
    }
    const uint32_t count = array_count(*slot);
    if (op->index > count) {
        return fail(apply,
                    ERR_PATCH_INDEX,
                    "splice beyond the end of",
                    op->path);
    }
    err = check_elements(apply, *slot, array_count(op->value));
    if (err != ERR_OK) {
        return err;
    }
    const uint32_t behind = count - op->index;
    const uint32_t removed = op->remove < behind ? op->remove : behind;
    splice_values(slot, op->index, removed, op->value);
    return ERR_OK;
}

/* The place of the array at `path`, which is created if nothing is there. */
static enum err walk_to_array(struct apply *apply, struct value **out)
{
    const struct path *path = apply->op->path;
    struct value *slot = NULL;
    if (path->length == 0) {
        slot = &apply->root;
    } else {
        enum err err = walk_to_parent(apply, path, true, &slot);
        if (err != ERR_OK) {
            return err;
        }
        if (value_is_object(*slot) &&
            value_is_absent(object_get(*slot, last_of(path)->key))) {
            err = set_key(apply, slot, path, value_empty_array());
            if (err != ERR_OK) {
                return err;
            }
            err = walk_to_parent(apply, path, false, &slot);
        }
        if (err == ERR_OK) {
            err = step_down(apply, &slot, path, path->length - 1, false);
        }
        if (err != ERR_OK) {
            return err;
        }
    }
    *out = slot;
    return value_is_array(*slot)
               ? ERR_OK
               : wrong_target(apply, "the target is not an array at");
}

static enum err apply_append(struct apply *apply)
{
    struct value *slot = NULL;
    enum err err = check_depth(apply, apply->op->path, apply->op->value);
    if (err == ERR_OK) {
        err = walk_to_array(apply, &slot);
    }
    if (err == ERR_OK) {
        err = check_elements(apply, *slot, array_count(apply->op->value));
    }
    if (err == ERR_OK) {
        splice_values(slot, array_count(*slot), 0, apply->op->value);
    }
    return err;
}

static bool contains(struct value array, struct value wanted)
{
    const uint32_t count = array_count(array);
    uint32_t run = 0;
    for (uint32_t i = 0; i < count; i += run) {
        const struct value *chunk = array_chunk(array, i, &run);
        for (uint32_t j = 0; j < run; j++) {
            if (value_equal(chunk[j], wanted)) {
                return true;
            }
        }
    }
    return false;
}

/* -- add-unique ---------------------------------------------------------- */

/* Few comparisons are made one by one; beyond that a set of what is there
 * keeps the cost in line with the two lists. */
enum {
    UNIQUE_COMPARISONS_MAX = 4096,
    UNIQUE_FEW = 16,
};

struct value_set {
    struct map values; /* of pointers into `items` */
    struct value *items;
    size_t count;
    size_t capacity;
};

static bool is_value(const void *item, const void *key)
{
    return value_equal(*(const struct value *)item, *(const struct value *)key);
}

static bool value_set_has(const struct value_set *set, struct value value)
{
    return map_find(&set->values, value_hash(value), is_value, &value) != NULL;
}

static void value_set_add(struct value_set *set, struct value value)
{
    CHECK(set->count < set->capacity);
    set->items[set->count] = value;
    map_insert(&set->values, value_hash(value), &set->items[set->count]);
    set->count++;
}

/* Room for `capacity` values, which are borrowed. */
static void value_set_init(struct value_set *set,
                           struct value array,
                           size_t capacity)
{
    *set = (struct value_set){.capacity = capacity};
    set->items = mem_alloc(mem_array_size(capacity, sizeof(struct value)));
    struct array_iter iter = array_iter(array);
    struct value item;
    while (array_next(&iter, &item)) {
        if (!value_set_has(set, item)) {
            value_set_add(set, item);
        }
    }
}

static void value_set_release(struct value_set *set)
{
    map_release(&set->values);
    mem_free(set->items, set->capacity * sizeof(struct value));
}

/* Those of `wanted` that are not in `array`, each once, as a new array. */
static struct value missing_by_set(struct value array, struct value wanted)
{
    struct value_set set;
    struct value missing_values = value_empty_array();
    value_set_init(&set,
                   array,
                   (size_t)array_count(array) + array_count(wanted));
    struct array_iter iter = array_iter(wanted);
    struct value item;
    while (array_next(&iter, &item)) {
        if (!value_set_has(&set, item)) {
            value_set_add(&set, item);
            missing_values = array_push_adopt(missing_values, value_ref(item));
        }
    }
    value_set_release(&set);
    return missing_values;
}

static struct value missing_one_by_one(struct value array, struct value wanted)
{
    struct value missing_values = value_empty_array();
    struct array_iter iter = array_iter(wanted);
    struct value item;
    while (array_next(&iter, &item)) {
        if (!contains(array, item) && !contains(missing_values, item)) {
            missing_values = array_push_adopt(missing_values, value_ref(item));
        }
    }
    return missing_values;
}

static struct value missing_from(struct value array, struct value wanted)
{
    const uint64_t comparisons =
        ((uint64_t)array_count(array) + array_count(wanted)) *
        array_count(wanted);
    /* To make a set of the array costs many comparisons for each element. */
    return comparisons > UNIQUE_COMPARISONS_MAX &&
                   array_count(wanted) > UNIQUE_FEW
               ? missing_by_set(array, wanted)
               : missing_one_by_one(array, wanted);
}

static enum err apply_add_unique(struct apply *apply)
{
    const struct path *path = apply->op->path;
    const struct value there = value_at(apply->root, path);
    struct value added =
        value_is_array(there)
            ? missing_from(there, apply->op->value)
            : missing_from(value_empty_array(), apply->op->value);
    /* Nothing to add must leave the very same document. */
    if (value_is_array(there) && array_count(added) == 0) {
        return ERR_OK;
    }
    struct value *slot = NULL;
    enum err err = check_depth(apply, path, apply->op->value);
    if (err == ERR_OK) {
        err = walk_to_array(apply, &slot);
    }
    if (err == ERR_OK) {
        err = check_elements(apply, *slot, array_count(added));
    }
    if (err == ERR_OK) {
        splice_values(slot, array_count(*slot), 0, added);
    }
    value_unref(added);
    return err;
}

static enum err apply_remove_by_value(struct apply *apply)
{
    const struct value unwanted = apply->op->value;
    const struct value array = value_at(apply->root, apply->op->path);
    if (!value_is_array(array) || !contains(array, unwanted)) {
        return ERR_OK;
    }
    struct value *slot = NULL;
    const enum err err = walk_to(apply, apply->op->path, &slot);
    CHECK(err == ERR_OK);

    /* From the end, and by whole runs, so that removing many costs little
     * more than looking at them. */
    uint32_t i = array_count(*slot);
    while (i > 0) {
        uint32_t end = i--;
        if (!value_equal(array_at(*slot, i), unwanted)) {
            continue;
        }
        while (i > 0 && value_equal(array_at(*slot, i - 1), unwanted)) {
            i--;
        }
        *slot = array_splice_adopt(*slot, i, end - i, NULL, 0);
    }
    return ERR_OK;
}

/* -- increment ----------------------------------------------------------- */

/* Exact while both are integers and the sum fits, a double otherwise. */
static struct value add_numbers(struct value a, struct value b)
{
    int64_t sum = 0;
    if (value_kind(a) == VALUE_INT && value_kind(b) == VALUE_INT &&
        !__builtin_add_overflow(value_integer(a), value_integer(b), &sum)) {
        return value_int(sum);
    }
    return value_double(value_real(a) + value_real(b));
}

static enum err increment_slot(struct apply *apply, struct value *slot)
{
    if (!value_is_number(*slot)) {
        return wrong_target(apply, "increment needs a number at");
    }
    const struct value sum = add_numbers(*slot, apply->op->value);
    if (!isfinite(value_real(sum))) {
        return fail(apply,
                    ERR_RANGE,
                    "the sum is out of range at",
                    apply->op->path);
    }
    *slot = sum;
    return ERR_OK;
}

static enum err apply_increment(struct apply *apply)
{
    const struct path *path = apply->op->path;
    if (path->length == 0) {
        return wrong_target(apply, "cannot increment");
    }
    struct value *slot = NULL;
    enum err err = walk_to_parent(apply, path, true, &slot);
    if (err != ERR_OK) {
        return err;
    }
    const bool in_array = value_is_array(*slot);
    apply->trace.path_in_array = in_array;
    if (value_is_object(*slot) &&
        value_is_absent(object_get(*slot, last_of(path)->key))) {
        return set_key(apply, slot, path, apply->op->value);
    }
    if (in_array && last_of(path)->index == array_count(*slot)) {
        return insert(apply, slot, path, apply->op->value);
    }
    err = step_down(apply, &slot, path, path->length - 1, false);
    return err == ERR_OK ? increment_slot(apply, slot) : err;
}

/* -- The list ------------------------------------------------------------ */

typedef enum err apply_fn(struct apply *apply);

static apply_fn *const apply_kinds[PATCH_KIND_COUNT] = {
    [PATCH_REPLACE] = apply_replace,
    [PATCH_ADD] = apply_add,
    [PATCH_REMOVE] = apply_remove,
    [PATCH_MOVE] = apply_move,
    [PATCH_SPLICE] = apply_splice,
    [PATCH_APPEND] = apply_append,
    [PATCH_ADD_UNIQUE] = apply_add_unique,
    [PATCH_REMOVE_BY_VALUE] = apply_remove_by_value,
    [PATCH_INCREMENT] = apply_increment,
};

static enum err apply_all(struct apply *apply,
                          const struct patch *patch,
                          struct patch_trace *traces)
{
    for (size_t i = 0; i < patch->ops.count; i++) {
        apply->op = &patch->ops.at[i];
        apply->number = i;
        apply->trace = (struct patch_trace){0};
        const enum err err = apply_kinds[apply->op->kind](apply);
        if (err != ERR_OK) {
            return err;
        }
        collapse_envelopes(apply, apply->op->path);
        if (traces != NULL) {
            traces[i] = apply->trace;
        }
    }
    return ERR_OK;
}

enum err patch_apply(const struct patch *patch,
                     struct value base,
                     enum patch_root root,
                     struct value *out,
                     struct patch_trace *traces,
                     struct err_detail *detail)
{
    struct apply apply = {
        .root = value_is_absent(base) ? value_empty_object() : value_ref(base),
        .detail = detail,
    };
    *out = VALUE_NONE;
    enum err err = apply_all(&apply, patch, traces);
    if (err == ERR_OK && root == PATCH_ROOT_DOCUMENT &&
        !value_is_object(apply.root)) {
        err = err_set(detail,
                      ERR_PATCH_ROOT,
                      "the result is not an entity document: %s",
                      value_kind_name(value_kind(apply.root)));
    }
    if (err != ERR_OK) {
        value_unref(apply.root);
        return err;
    }
    CHECK_DEEP(value_check(apply.root));
    *out = apply.root;
    return ERR_OK;
}
