/* Patches: a document and a list of operations, and everything that must hold
 * before and after they are applied.
 *
 * The input is text, a document and a patch with a zero byte between them; or
 * it begins with 'G', and the bytes after it make decisions: what the document
 * looks like and which operations are tried on it. The first form finds what
 * is wrong with reading, the second gets deep into applying.
 *
 *   - A document is never changed by a patch, and a patch that fails leaves
 *     nothing behind.
 *   - Operations one by one give what the list gives.
 *   - The difference between before and after is a patch that does the same.
 *   - A patch, and its result, survive being written and read.
 *   - Changed paths, what a reader sees, and what an operation says that it
 *     touches agree. */

#include <string.h>

#include "base/limits.h"
#include "fuzz.h"
#include "value/array.h"
#include "value/compare.h"
#include "value/difference.h"
#include "value/json.h"
#include "value/object.h"
#include "value/patch.h"

/* -- What must hold ------------------------------------------------------ */

static struct buf text_of(struct value value)
{
    struct buf text = {0};
    json_write(&text, value, JSON_AS_GIVEN, 0);
    return text;
}

static struct value read_text(const struct buf *text)
{
    struct value value;
    CHECK(json_read(text->at, text->length, NULL, &value, NULL) == ERR_OK);
    return value;
}

static void check_value(struct value value)
{
    CHECK(value_check(value));
    CHECK(value_depth(value) <= LIMIT_DEPTH);
    struct buf text = text_of(value);
    struct value copy = read_text(&text);
    CHECK(value_equal(value, copy));
    CHECK(value_hash(value) == value_hash(copy));
    value_unref(copy);
    buf_release(&text);
}

static void check_same_op(const struct patch_op *a, const struct patch_op *b)
{
    CHECK(a->kind == b->kind);
    CHECK(a->path == b->path);
    CHECK(a->from == b->from);
    CHECK(value_equal(a->value, b->value));
    CHECK(a->index == b->index);
    CHECK(a->remove == b->remove);
    CHECK(a->creates_key == b->creates_key);
}

/* Written and read, it is the same patch. */
static void check_patch_text(const struct patch *patch,
                             struct path_table *paths)
{
    struct value list = patch_write(patch);
    struct buf text = text_of(list);
    struct value again = read_text(&text);
    CHECK(value_equal(list, again));
    struct patch copy;
    CHECK(patch_read(again, paths, &copy, NULL) == ERR_OK);
    CHECK(copy.ops.count == patch->ops.count);
    for (size_t i = 0; i < copy.ops.count; i++) {
        check_same_op(&copy.ops.at[i], &patch->ops.at[i]);
    }
    patch_release(&copy);
    value_unref(list);
    value_unref(again);
    buf_release(&text);
}

/* The difference between the two, applied to the one, is the other. */
static void check_diff(struct value before,
                       struct value after,
                       struct path_table *paths)
{
    struct patch patch = {0};
    struct value out;
    patch_diff(before, after, paths, &patch);
    CHECK((patch.ops.count == 0) == value_equal(before, after));
    const enum err err =
        patch_apply(&patch, before, PATCH_ROOT_ANY, &out, NULL, NULL);
    CHECK(err == ERR_OK);
    CHECK(value_equal(out, after));
    value_unref(out);
    check_patch_text(&patch, paths);
    patch_release(&patch);
}

/* Writing the one over the other, when it shares parts with it and when it
 * does not. */
static void check_reuse(struct value before, struct value after)
{
    struct value reused = value_reuse_adopt(before, value_ref(after));
    CHECK(value_equal(reused, after));
    CHECK(value_check(reused));
    value_unref(reused);

    struct buf text = text_of(after);
    reused = value_reuse_adopt(before, read_text(&text));
    CHECK(value_equal(reused, after));
    CHECK(value_check(reused));
    if (value_equal(before, after)) {
        CHECK(value_is_same(before, reused));
    }
    value_unref(reused);
    buf_release(&text);
}

/* -- Who notices --------------------------------------------------------- */

struct seen {
    struct value before;
    struct value after;
    const path_list *changed;
    const struct patch_touch *touches;
    size_t touch_count;
};

static bool any_overlaps(const path_list *changed, const struct path *path)
{
    for (size_t i = 0; i < changed->count; i++) {
        if (path_overlaps(changed->at[i], path)) {
            return true;
        }
    }
    return false;
}

/* What an operation says that it touches covers every path at which another
 * value is read. (That a parent is there now and the key still is not, which
 * difference_is_seen tells apart, is no other value.) */
static void check_touched(const struct seen *seen, const struct path *path)
{
    const struct value before = value_at(seen->before, path);
    const struct value after = value_at(seen->after, path);
    bool deep = value_equal(before, after);
    bool shape = value_shape_equal(before, after);
    for (size_t i = 0; i < seen->touch_count; i++) {
        const struct patch_touch *touch = &seen->touches[i];
        deep = deep || (touch->kind == PATCH_TOUCH_VALUE &&
                        path_overlaps(touch->path, path));
        shape = shape || path_is_prefix(touch->path, path);
    }
    CHECK(deep);
    CHECK(shape);
}

static void check_reader(const struct seen *seen, const struct path *path)
{
    const bool deep =
        difference_is_seen(seen->before, seen->after, path, READ_DEEP);
    const bool shape =
        difference_is_seen(seen->before, seen->after, path, READ_SHAPE);
    CHECK(!shape || deep);
    CHECK(!deep || any_overlaps(seen->changed, path));
    for (size_t i = 0; i < seen->changed->count; i++) {
        CHECK(deep || !path_is_prefix(path, seen->changed->at[i]));
    }
    check_touched(seen, path);
}

/* Readers of the path, of everything above it, and of one key below. */
static void check_readers(const struct seen *seen, struct path *path)
{
    static const char *const below[] = {"a", "0", "/"};
    for (size_t length = 0; length <= path->length && length < 8; length++) {
        struct path *prefix = path_prefix(path, length);
        check_reader(seen, prefix);
        for (size_t i = 0; i < COUNT_OF(below); i++) {
            struct path *child = path_child(prefix, value_text_new(below[i]));
            check_reader(seen, child);
            path_unref(child);
        }
        path_unref(prefix);
    }
}

static void check_changed(struct value before,
                          struct value after,
                          const struct patch_op *op,
                          const struct patch_trace *trace)
{
    path_list changed = {0};
    difference_paths(before, after, op->path->table, &changed);
    CHECK((changed.count == 0) == value_equal(before, after));
    for (size_t i = 1; i < changed.count; i++) {
        CHECK(path_compare(changed.at[i - 1], changed.at[i]) < 0);
    }
    struct patch_touch touches[PATCH_TOUCH_MAX];
    const struct seen seen = {
        .before = before,
        .after = after,
        .changed = &changed,
        .touches = touches,
        .touch_count = patch_touches(op, trace, touches),
    };
    check_readers(&seen, op->path);
    if (op->from != NULL) {
        check_readers(&seen, op->from);
    }
    for (size_t i = 0; i < changed.count && i < 6; i++) {
        check_readers(&seen, changed.at[i]);
    }
    for (size_t i = 0; i < seen.touch_count; i++) {
        path_unref(touches[i].path);
    }
    path_list_release(&changed);
}

/* -- Applying ------------------------------------------------------------ */

static void check_same_text(const struct buf *text, struct value value)
{
    struct buf now = text_of(value);
    CHECK(now.length == text->length);
    CHECK(memcmp(now.at, text->at, now.length) == 0);
    buf_release(&now);
}

/* One operation; VALUE_NONE if it fails. */
static struct value apply_one(struct value before, struct patch_op *op)
{
    const struct patch one = {.ops = {op, 1, 1}};
    struct patch_trace trace;
    struct err_detail detail = {0};
    struct buf text = text_of(before);
    struct value after;
    const enum err err =
        patch_apply(&one, before, PATCH_ROOT_ANY, &after, &trace, &detail);
    check_same_text(&text, before);
    buf_release(&text);
    if (err == ERR_OK) {
        check_changed(before, after, op, &trace);
    } else {
        CHECK(value_is_absent(after));
        fuzz_check_detail(err, &detail);
    }
    return after;
}

/* All in order; VALUE_NONE if one of them fails. */
static struct value apply_each(struct value base, struct patch *patch)
{
    struct value current = value_ref(base);
    for (size_t i = 0; i < patch->ops.count; i++) {
        struct value next = apply_one(current, &patch->ops.at[i]);
        value_unref(current);
        current = next;
        if (value_is_absent(current)) {
            break;
        }
    }
    return current;
}

static void check_apply(struct value base,
                        struct patch *patch,
                        struct path_table *paths)
{
    struct buf text = text_of(base);
    struct value copy = read_text(&text);
    struct value each = apply_each(base, patch);
    struct value out;
    struct err_detail detail = {0};
    const enum err err =
        patch_apply(patch, base, PATCH_ROOT_ANY, &out, NULL, &detail);
    CHECK(value_check(base));
    CHECK(value_equal(base, copy));
    CHECK(value_equal(out, each));
    CHECK(value_is_absent(out) == (err != ERR_OK));
    if (err == ERR_OK) {
        check_value(out);
        check_diff(base, out, paths);
        check_diff(out, base, paths);
        check_reuse(base, out);
        check_reuse(out, base);
    } else {
        fuzz_check_detail(err, &detail);
    }
    check_patch_text(patch, paths);
    value_unref(out);
    value_unref(each);
    value_unref(copy);
    buf_release(&text);
}

/* -- From text ----------------------------------------------------------- */

static void run_text(const char *text, size_t size, struct path_table *paths)
{
    const char *cut = memchr(text, '\0', size);
    if (cut == NULL) {
        return;
    }
    const size_t first = (size_t)(cut - text);
    struct value base;
    struct value list;
    enum err err = json_read(text, first, NULL, &base, NULL);
    if (err != ERR_OK) {
        return;
    }
    err = json_read(cut + 1, size - first - 1, NULL, &list, NULL);
    if (err == ERR_OK) {
        struct patch patch;
        struct err_detail detail = {0};
        err = patch_read(list, paths, &patch, &detail);
        if (err == ERR_OK) {
            check_apply(base, &patch, paths);
        } else {
            CHECK(patch.ops.count == 0);
            fuzz_check_detail(err, &detail);
        }
        patch_release(&patch);
        value_unref(list);
    }
    value_unref(base);
}

/* -- From decisions ------------------------------------------------------ */

struct choices {
    const uint8_t *at;
    const uint8_t *end;
};

/* Below `bound`; 0 when the input has run out. */
static unsigned choose(struct choices *choices, unsigned bound)
{
    return choices->at < choices->end ? *choices->at++ % bound : 0;
}

/* Few, so that they meet; the parts of envelopes among them. */
static struct value choose_key(struct choices *choices)
{
    static const char *const keys[] = {
        "a",
        "b",
        "c",
        "0",
        "1",
        "-",
        "/",
        "x@1",
        "link@1",
        "~",
        "",
        "number@1",
        "id",
        "path",
        "a key of more than 15 bytes",
        "item_2",
        "\xC3\xA9",
        "another key of many bytes",
    };
    return value_text_new(keys[choose(choices, COUNT_OF(keys))]);
}

static struct value choose_number(struct choices *choices)
{
    static const double reals[] = {0.5, -0.0, 1e300, -1e300, 5e-324, 1e19};
    switch (choose(choices, 4)) {
    case 0:
        return value_int((int64_t)choose(choices, 16) - 8);
    case 1:
        return value_double(reals[choose(choices, COUNT_OF(reals))]);
    case 2:
        return value_int(INT64_MAX - (int64_t)choose(choices, 2));
    default:
        return value_int(INT64_MIN + (int64_t)choose(choices, 2));
    }
}

static struct value choose_leaf(struct choices *choices)
{
    switch (choose(choices, 8)) {
    case 0:
        return value_null();
    case 1:
        return value_bool(choose(choices, 2) == 1);
    case 2:
    case 3:
        return choose_number(choices);
    case 4:
        return value_double(strtod("nan", NULL));
    case 5:
        return value_tagged_adopt(value_text_new("x@1"),
                                  choose_number(choices));
    case 6:
        return choose_key(choices);
    default:
        return value_int((int64_t)choose(choices, 4));
    }
}

/* How many parts a container has: mostly few, sometimes enough for a tree. */
static unsigned choose_count(struct choices *choices)
{
    const unsigned count = choose(choices, 32);
    return count < 31 ? count % 5 : 30 + choose(choices, 40);
}

static struct value choose_value(struct choices *choices, unsigned depth);

static struct value choose_array(struct choices *choices, unsigned depth)
{
    struct value array = value_empty_array();
    const unsigned count = choose_count(choices);
    for (unsigned i = 0; i < count; i++) {
        array = array_push_adopt(array,
                                 i < 5 ? choose_value(choices, depth)
                                       : value_int((int64_t)i));
    }
    return array;
}

static struct value choose_object(struct choices *choices, unsigned depth)
{
    VEC(struct value) pairs = {0};
    const unsigned count = choose_count(choices);
    for (unsigned i = 0; i < count; i++) {
        char text[16] = "item_00";
        text[5] = (char)('0' + i / 10);
        text[6] = (char)('0' + i % 10);
        vec_push(&pairs, i < 5 ? choose_key(choices) : value_text_new(text));
        vec_push(&pairs,
                 i < 5 ? choose_value(choices, depth) : value_int((int64_t)i));
    }
    struct value object = object_new_adopt(pairs.at, pairs.count / 2);
    vec_release(&pairs);
    return object;
}

/* Recursion is fine here: the depth is ours. */
static struct value choose_value(struct choices *choices, unsigned depth)
{
    const unsigned kind = depth > 0 ? choose(choices, 4) : 0;
    if (kind == 2) {
        return choose_array(choices, depth - 1);
    }
    if (kind == 3) {
        return choose_object(choices, depth - 1);
    }
    return choose_leaf(choices);
}

/* A key, mostly one that the value has. */
static struct value choose_step(struct choices *choices, struct value value)
{
    const unsigned pick = choose(choices, 64);
    if (pick < 48 && value_is_array(value)) {
        /* One beyond the end, too. */
        const struct path_segment segment =
            path_segment_of_index(pick % (array_count(value) + 1));
        return segment.key;
    }
    if (pick < 48 && value_is_object(value) && object_count(value) > 0) {
        struct object_iter iter = object_iter(value);
        struct value key = VALUE_NONE;
        struct value item;
        for (unsigned i = 0; i <= pick % object_count(value); i++) {
            CHECK(object_next(&iter, &key, &item));
        }
        return value_ref(key);
    }
    return choose_key(choices);
}

static struct path *choose_path(struct choices *choices,
                                struct value value,
                                struct path_table *paths)
{
    struct path *path = path_new(paths, NULL, 0);
    const unsigned length = choose(choices, 6);
    for (unsigned i = 0; i < length; i++) {
        struct value key = choose_step(choices, value);
        struct path *next = path_child(path, key);
        path_unref(path);
        path = next;
        value = value_child(value, &path->at[path->length - 1]);
        value_unref(key);
    }
    return path;
}

static struct patch_op choose_op(struct choices *choices,
                                 struct value value,
                                 struct path_table *paths)
{
    struct patch_op op = {
        .kind = (enum patch_kind)choose(choices, PATCH_KIND_COUNT),
        .path = choose_path(choices, value, paths),
    };
    switch (op.kind) {
    case PATCH_REPLACE:
    case PATCH_ADD:
    case PATCH_REMOVE_BY_VALUE:
        op.value = choose_value(choices, 3);
        break;
    case PATCH_MOVE:
        op.from = choose_path(choices, value, paths);
        break;
    case PATCH_SPLICE:
        op.index = choose(choices, 40);
        op.remove = choose(choices, 40);
        op.value = choose_array(choices, 1);
        break;
    case PATCH_APPEND:
    case PATCH_ADD_UNIQUE:
        op.value = choose_array(choices, 1);
        op.creates_key = choose(choices, 2) == 1;
        break;
    case PATCH_INCREMENT:
        op.value = choose_number(choices);
        if (value_is_same(op.value, value_int(0)) ||
            value_is_same(op.value, value_double(-0.0))) {
            op.value = value_int(1);
        }
        break;
    case PATCH_REMOVE:
    case PATCH_KIND_COUNT:
        break;
    }
    return op;
}

/* Operations that fail are dropped, but for one in eight: the rest of the
 * list gets its chance. */
static void run_choices(const uint8_t *data,
                        size_t size,
                        struct path_table *paths)
{
    struct choices choices = {data, data + size};
    struct value base = choose_value(&choices, 4);
    struct value current = value_ref(base);
    struct patch patch = {0};
    while (choices.at < choices.end && patch.ops.count < 10) {
        struct patch_op op = choose_op(&choices, current, paths);
        struct patch one = {0};
        struct value next;
        patch_push_adopt(&one, op);
        const enum err err =
            patch_apply(&one, current, PATCH_ROOT_ANY, &next, NULL, NULL);
        if (err == ERR_OK || choose(&choices, 8) == 1) {
            patch_push_adopt(&patch, op);
            vec_clear(&one.ops);
        }
        if (err == ERR_OK) {
            value_unref(current);
            current = next;
        }
        patch_release(&one);
    }
    value_unref(current);
    check_apply(base, &patch, paths);
    patch_release(&patch);
    value_unref(base);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_memory memory;
    fuzz_begin(&memory);
    struct path_table paths;
    path_table_init(&paths);
    if (size > 0 && data[0] == 'G') {
        run_choices(data + 1, size - 1, &paths);
    } else if (size > 0) {
        run_text((const char *)data, size, &paths);
    }
    path_table_release(&paths);
    fuzz_end(&memory);
    return 0;
}
