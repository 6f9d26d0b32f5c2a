/* A naive model of values and patches (lib/model.h is the manual). */

#include "lib/model.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "value/array.h"
#include "value/object.h"

/* -- Trees --------------------------------------------------------------- */

static struct model *model_new(enum value_kind kind)
{
    struct model *model = mem_alloc_zero(sizeof *model);
    model->kind = kind;
    return model;
}

bool model_is_container(const struct model *model)
{
    return model != NULL &&
           (model->kind == VALUE_ARRAY || model->kind == VALUE_OBJECT);
}

static bool has_keys(const struct model *model)
{
    return model->kind == VALUE_OBJECT || model->kind == VALUE_LINK ||
           model->kind == VALUE_TAGGED;
}

void model_free(struct model *model)
{
    if (model == NULL) {
        return;
    }
    value_unref(model->leaf);
    for (size_t i = 0; i < model->count; i++) {
        model_free(model->items[i]);
        if (has_keys(model)) {
            value_unref(model->keys[i]);
        }
    }
    mem_free(model->items, model->count * sizeof *model->items);
    if (model->keys != NULL) {
        mem_free(model->keys, model->count * sizeof *model->keys);
    }
    mem_free(model, sizeof *model);
}

/* Makes room at `at` for one item, and a key if there are keys. */
static void insert_adopt(struct model *model,
                         size_t at,
                         struct value key,
                         struct model *item)
{
    const size_t count = model->count;
    const size_t size = sizeof *model->items;
    struct model **items = mem_alloc((count + 1) * size);
    for (size_t i = 0; i < count; i++) {
        items[i < at ? i : i + 1] = model->items[i];
    }
    items[at] = item;
    mem_free(model->items, count * size);
    model->items = items;
    if (has_keys(model)) {
        struct value *keys = mem_alloc((count + 1) * sizeof *keys);
        for (size_t i = 0; i < count; i++) {
            keys[i < at ? i : i + 1] = model->keys[i];
        }
        keys[at] = key;
        mem_free(model->keys, count * sizeof *keys);
        model->keys = keys;
    }
    model->count = count + 1;
}

/* Takes the item at `at` out and returns it. */
static struct model *take(struct model *model, size_t at)
{
    struct model *taken = model->items[at];
    const size_t count = model->count - 1;
    struct model **items = mem_alloc(count * sizeof *items);
    for (size_t i = 0; i < count; i++) {
        items[i] = model->items[i < at ? i : i + 1];
    }
    mem_free(model->items, model->count * sizeof *items);
    model->items = items;
    if (has_keys(model)) {
        struct value *keys = mem_alloc(count * sizeof *keys);
        for (size_t i = 0; i < count; i++) {
            keys[i] = model->keys[i < at ? i : i + 1];
        }
        value_unref(model->keys[at]);
        mem_free(model->keys, model->count * sizeof *keys);
        model->keys = keys;
    }
    model->count = count;
    return taken;
}

static void append_item(struct model *model,
                        struct value key,
                        struct value item)
{
    insert_adopt(model, model->count, value_ref(key), model_of(item));
}

struct model *model_of(struct value value)
{
    if (value_is_absent(value)) {
        return NULL;
    }
    struct model *model = model_new(value_kind(value));
    if (value_is_array(value)) {
        for (uint32_t i = 0; i < array_count(value); i++) {
            append_item(model, VALUE_NONE, array_at(value, i));
        }
    } else if (value_is_object(value)) {
        struct object_iter iter = object_iter(value);
        struct value key;
        struct value item;
        while (object_next(&iter, &key, &item)) {
            append_item(model, key, item);
        }
    } else if (has_keys(model)) {
        append_item(model, value_tagged_type(value), value_tagged_state(value));
    } else {
        model->leaf = value_ref(value);
    }
    return model;
}

struct value model_value(const struct model *model)
{
    if (model == NULL) {
        return VALUE_NONE;
    }
    struct value value = value_ref(model->leaf);
    if (model->kind == VALUE_ARRAY) {
        value = value_empty_array();
        for (size_t i = 0; i < model->count; i++) {
            value = array_push_adopt(value, model_value(model->items[i]));
        }
    } else if (model->kind == VALUE_OBJECT) {
        VEC(struct value) pairs = {0};
        for (size_t i = 0; i < model->count; i++) {
            vec_push(&pairs, value_ref(model->keys[i]));
            vec_push(&pairs, model_value(model->items[i]));
        }
        value = object_new_adopt(pairs.at, model->count);
        vec_release(&pairs);
    } else if (has_keys(model)) {
        value = value_tagged_adopt(value_ref(model->keys[0]),
                                   model_value(model->items[0]));
    }
    return value;
}

struct model *model_copy(const struct model *model)
{
    if (model == NULL) {
        return NULL;
    }
    struct model *copy = model_new(model->kind);
    copy->leaf = value_ref(model->leaf);
    for (size_t i = 0; i < model->count; i++) {
        const struct value key =
            has_keys(model) ? value_ref(model->keys[i]) : VALUE_NONE;
        insert_adopt(copy, i, key, model_copy(model->items[i]));
    }
    return copy;
}

/* -- Looking ------------------------------------------------------------- */

static bool same_text(struct value a, struct value b)
{
    const struct text x = value_text(&a);
    const struct text y = value_text(&b);
    return x.length == y.length && memcmp(x.at, y.at, x.length) == 0;
}

static bool key_is(struct value key, const char *text)
{
    const struct text x = value_text(&key);
    return x.length == strlen(text) && memcmp(x.at, text, x.length) == 0;
}

/* The place of a key, or `count`. */
static size_t place_of(const struct model *model, struct value key)
{
    size_t i = 0;
    while (i < model->count && !same_text(model->keys[i], key)) {
        i++;
    }
    return i;
}

static bool leaf_equal(struct value a, struct value b)
{
    if (value_is_string(a)) {
        return same_text(a, b);
    }
    return memcmp(&a, &b, sizeof a) == 0; /* value-1 */
}

bool model_equal(const struct model *a, const struct model *b)
{
    if (a == NULL || b == NULL) {
        return a == b;
    }
    if (a->kind != b->kind || a->count != b->count) {
        return false;
    }
    if (!model_is_container(a) && !has_keys(a)) {
        return leaf_equal(a->leaf, b->leaf);
    }
    for (size_t i = 0; i < a->count; i++) {
        size_t j = i;
        if (has_keys(a)) {
            j = place_of(b, a->keys[i]);
        }
        if (j == b->count || !model_equal(a->items[i], b->items[j])) {
            return false;
        }
    }
    return true;
}

struct model *model_child(const struct model *model,
                          const struct path_segment *segment)
{
    if (model == NULL) {
        return NULL;
    }
    if (model->kind == VALUE_OBJECT) {
        const size_t at = place_of(model, segment->key);
        return at < model->count ? model->items[at] : NULL;
    }
    if (model->kind == VALUE_ARRAY && segment->index < model->count) {
        return model->items[segment->index];
    }
    return NULL;
}

/* -- value-4 ------------------------------------------------------------- */

/* {"/":{"name@1":state}} becomes what it means. Everything below is what it
 * means already. */
static void normalise(struct model **slot)
{
    struct model *model = *slot;
    if (model->kind == VALUE_OBJECT && model->count == 1 &&
        key_is(model->keys[0], "/") && model->items[0]->count == 1 &&
        model->items[0]->kind == VALUE_OBJECT &&
        value_is_type_name(model->items[0]->keys[0])) {
        struct value type = value_ref(model->items[0]->keys[0]);
        struct value state = model_value(model->items[0]->items[0]);
        struct value leaf = value_tagged_adopt(type, state);
        model_free(model);
        *slot = model_of(leaf);
        value_unref(leaf);
    }
}

static void normalise_along(struct model **slot,
                            const struct path *path,
                            size_t at)
{
    struct model *model = *slot;
    if (model_is_container(model) && at < path->length) {
        size_t place = path->at[at].index;
        if (model->kind == VALUE_OBJECT) {
            place = place_of(model, path->at[at].key);
        }
        if (place < model->count) {
            normalise_along(&model->items[place], path, at + 1);
        }
    }
    normalise(slot);
}

/* -- Walking for patches ------------------------------------------------- */

static bool is_dash(const struct path_segment *segment)
{
    return key_is(segment->key, "-");
}

/* One step of a walk; with `create`, missing keys come into being. */
static enum err step(struct model ***slot,
                     const struct path *path,
                     size_t at,
                     bool create)
{
    struct model *model = **slot;
    const struct path_segment *segment = &path->at[at];
    if (model->kind == VALUE_ARRAY) {
        if (segment->index == PATH_NOT_INDEX) {
            return ERR_PATCH_INDEX;
        }
        if (segment->index >= model->count) {
            return ERR_PATCH_MISSING;
        }
        *slot = &model->items[segment->index];
        return ERR_OK;
    }
    if (model->kind != VALUE_OBJECT) {
        return ERR_PATCH_TRAVERSAL;
    }
    const size_t place = place_of(model, segment->key);
    if (place == model->count) {
        if (!create) {
            return ERR_PATCH_MISSING;
        }
        const struct path_segment *next = &path->at[at + 1];
        const bool array = next->index != PATH_NOT_INDEX || is_dash(next);
        if (array && at + 2 < path->length) {
            return ERR_PATCH_MISSING;
        }
        insert_adopt(model,
                     place,
                     value_ref(segment->key),
                     model_new(array ? VALUE_ARRAY : VALUE_OBJECT));
    }
    *slot = &model->items[place];
    return ERR_OK;
}

/* To the container of the last segment, or, with `length` the whole path, to
 * what is there. */
static enum err walk(struct model **root,
                     const struct path *path,
                     size_t length,
                     bool create,
                     struct model ***out)
{
    struct model **slot = root;
    for (size_t i = 0; i < length; i++) {
        const enum err err = step(&slot, path, i, create);
        if (err != ERR_OK) {
            return err;
        }
    }
    if (length < path->length && !model_is_container(*slot)) {
        return ERR_PATCH_TRAVERSAL;
    }
    *out = slot;
    return ERR_OK;
}

static void put(struct model **slot, struct value value)
{
    model_free(*slot);
    *slot = model_of(value);
}

static void set_key(struct model *object, struct value key, struct value value)
{
    const size_t place = place_of(object, key);
    if (place < object->count) {
        put(&object->items[place], value);
    } else {
        append_item(object, key, value);
    }
}

/* -- The operations ------------------------------------------------------ */

static enum err apply_replace(struct model **root,
                              const struct path *path,
                              struct value value)
{
    if (path->length == 0) {
        put(root, value);
        return ERR_OK;
    }
    struct model **parent = NULL;
    enum err err = walk(root, path, path->length - 1, false, &parent);
    if (err != ERR_OK) {
        return err;
    }
    if ((*parent)->kind == VALUE_OBJECT) {
        set_key(*parent, path->at[path->length - 1].key, value);
        return ERR_OK;
    }
    err = step(&parent, path, path->length - 1, false);
    if (err == ERR_OK) {
        put(parent, value);
    }
    return err;
}

static enum err apply_add(struct model **root,
                          const struct path *path,
                          struct value value)
{
    if (path->length == 0) {
        put(root, value);
        return ERR_OK;
    }
    struct model **parent = NULL;
    const enum err err = walk(root, path, path->length - 1, true, &parent);
    if (err != ERR_OK) {
        return err;
    }
    const struct path_segment *last = &path->at[path->length - 1];
    if ((*parent)->kind == VALUE_OBJECT) {
        set_key(*parent, last->key, value);
        return ERR_OK;
    }
    const size_t at = is_dash(last) ? (*parent)->count : last->index;
    if (at == PATH_NOT_INDEX) {
        return ERR_PATCH_INDEX;
    }
    if (at > (*parent)->count) {
        return ERR_PATCH_MISSING;
    }
    insert_adopt(*parent, at, VALUE_NONE, model_of(value));
    return ERR_OK;
}

static enum err apply_remove(struct model **root, const struct path *path)
{
    if (path->length == 0) {
        return ERR_PATCH_TARGET;
    }
    struct model **parent = NULL;
    enum err err = walk(root, path, path->length - 1, false, &parent);
    if (err != ERR_OK) {
        return err;
    }
    struct model **gone = parent;
    err = step(&gone, path, path->length - 1, false);
    if (err == ERR_OK) {
        model_free(take(*parent, (size_t)(gone - (*parent)->items)));
    }
    return err;
}

static enum err apply_move(struct model **root, const struct patch_op *op)
{
    const struct path *from = op->from;
    if (from->length == 0 ||
        (from->length < op->path->length && path_is_prefix(from, op->path))) {
        return ERR_PATCH_TARGET;
    }
    struct model **source = NULL;
    if (walk(root, from, from->length, false, &source) != ERR_OK) {
        return apply_remove(root, from); /* which says why */
    }
    struct value moved = model_value(*source);
    enum err err = apply_remove(root, from);
    if (err == ERR_OK) {
        normalise_along(root, from, 0);
        err = apply_add(root, op->path, moved);
    }
    value_unref(moved);
    return err;
}

static enum err apply_splice(struct model **root, const struct patch_op *op)
{
    struct model **slot = NULL;
    const enum err err = walk(root, op->path, op->path->length, false, &slot);
    if (err != ERR_OK) {
        return err;
    }
    struct model *array = *slot;
    if (array->kind != VALUE_ARRAY) {
        return ERR_PATCH_TARGET;
    }
    if (op->index > array->count) {
        return ERR_PATCH_INDEX;
    }
    for (size_t i = 0; i < op->remove && op->index < array->count; i++) {
        model_free(take(array, op->index));
    }
    for (uint32_t i = 0; i < array_count(op->value); i++) {
        insert_adopt(array,
                     op->index + i,
                     VALUE_NONE,
                     model_of(array_at(op->value, i)));
    }
    return ERR_OK;
}

static bool contains(const struct model *array, const struct model *item)
{
    for (size_t i = 0; i < array->count; i++) {
        if (model_equal(array->items[i], item)) {
            return true;
        }
    }
    return false;
}

static enum err apply_append(struct model **root, const struct patch_op *op)
{
    const struct path *path = op->path;
    struct model **slot = root;
    if (path->length > 0) {
        const size_t last = path->length - 1;
        enum err err = walk(root, path, last, true, &slot);
        if (err != ERR_OK) {
            return err;
        }
        if ((*slot)->kind == VALUE_OBJECT &&
            model_child(*slot, &path->at[last]) == NULL) {
            set_key(*slot, path->at[last].key, value_empty_array());
        }
        err = walk(root, path, path->length, false, &slot);
        if (err != ERR_OK) {
            return err;
        }
    }
    if ((*slot)->kind != VALUE_ARRAY) {
        return ERR_PATCH_TARGET;
    }
    for (uint32_t i = 0; i < array_count(op->value); i++) {
        struct model *item = model_of(array_at(op->value, i));
        if (op->kind == PATCH_ADD_UNIQUE && contains(*slot, item)) {
            model_free(item);
        } else {
            insert_adopt(*slot, (*slot)->count, VALUE_NONE, item);
        }
    }
    return ERR_OK;
}

static enum err apply_remove_by_value(struct model **root,
                                      const struct patch_op *op)
{
    struct model **slot = NULL;
    if (walk(root, op->path, op->path->length, false, &slot) != ERR_OK ||
        (*slot)->kind != VALUE_ARRAY) {
        return ERR_OK;
    }
    struct model *unwanted = model_of(op->value);
    for (size_t i = (*slot)->count; i-- > 0;) {
        if (model_equal((*slot)->items[i], unwanted)) {
            model_free(take(*slot, i));
        }
    }
    model_free(unwanted);
    return ERR_OK;
}

static struct value sum_of(struct value a, struct value b)
{
    int64_t sum = 0;
    if (value_kind(a) == VALUE_INT && value_kind(b) == VALUE_INT &&
        !__builtin_add_overflow(value_integer(a), value_integer(b), &sum)) {
        return value_int(sum);
    }
    return value_double(value_real(a) + value_real(b));
}

static enum err apply_increment(struct model **root, const struct patch_op *op)
{
    const struct path *path = op->path;
    if (path->length == 0) {
        return ERR_PATCH_TARGET;
    }
    const struct path_segment *last = &path->at[path->length - 1];
    struct model **slot = NULL;
    enum err err = walk(root, path, path->length - 1, true, &slot);
    if (err != ERR_OK) {
        return err;
    }
    struct model *parent = *slot;
    if (parent->kind == VALUE_OBJECT && model_child(parent, last) == NULL) {
        set_key(parent, last->key, op->value);
        return ERR_OK;
    }
    if (parent->kind == VALUE_ARRAY && last->index == parent->count) {
        insert_adopt(parent, parent->count, VALUE_NONE, model_of(op->value));
        return ERR_OK;
    }
    err = step(&slot, path, path->length - 1, false);
    if (err != ERR_OK) {
        return err;
    }
    if ((*slot)->kind != VALUE_INT && (*slot)->kind != VALUE_DOUBLE) {
        return ERR_PATCH_TARGET;
    }
    const struct value sum = sum_of((*slot)->leaf, op->value);
    if (!isfinite(value_real(sum))) {
        return ERR_RANGE;
    }
    put(slot, sum);
    return ERR_OK;
}

static enum err apply_one(struct model **root, const struct patch_op *op)
{
    switch (op->kind) {
    case PATCH_REPLACE:
        return apply_replace(root, op->path, op->value);
    case PATCH_ADD:
        return apply_add(root, op->path, op->value);
    case PATCH_REMOVE:
        return apply_remove(root, op->path);
    case PATCH_MOVE:
        return apply_move(root, op);
    case PATCH_SPLICE:
        return apply_splice(root, op);
    case PATCH_APPEND:
    case PATCH_ADD_UNIQUE:
        return apply_append(root, op);
    case PATCH_REMOVE_BY_VALUE:
        return apply_remove_by_value(root, op);
    case PATCH_INCREMENT:
        return apply_increment(root, op);
    case PATCH_KIND_COUNT:
        break;
    }
    UNREACHABLE("all kinds are listed");
}

enum err model_apply(struct model **root, const struct patch_op *op)
{
    const enum err err = apply_one(root, op);
    if (err == ERR_OK) {
        normalise_along(root, op->path, 0);
    }
    return err;
}
