/* Changed values, and what changed between two of them.
 *
 * Both ends are bounded here. A difference may be much larger than the values
 * it is between (a thousand levels above a million elements are a million
 * paths of a thousand segments), so it is measured before it is built. */

#include <stdlib.h>

#include "api/edge.h"
#include "api/error.h"
#include "api/handle.h"
#include "base/limits.h"
#include "value/array.h"
#include "value/compare.h"
#include "value/difference.h"
#include "value/patch.h"

/* -- One place ----------------------------------------------------------- */

/* To set a value is a patch of one operation, but the caller wrote none: its
 * number and name say nothing to him. */
static const char *without_operation(const char *sentence)
{
    static const char intro[] = "operation 0 (add): ";
    const size_t length = sizeof intro - 1;
    return strncmp(sentence, intro, length) == 0 ? sentence + length : sentence;
}

static enum err set_at(struct value value,
                       struct path *path,
                       struct value item,
                       struct value *changed,
                       struct err_detail *detail)
{
    struct patch patch = {0};
    patch_push_adopt(&patch,
                     (struct patch_op){.kind = PATCH_ADD,
                                       .path = path_ref(path),
                                       .value = value_ref(item)});
    struct err_detail why = {0};
    const enum err err =
        patch_apply(&patch, value, PATCH_ROOT_ANY, changed, NULL, &why);
    patch_release(&patch);
    return err_set(detail, err, "%s", without_operation(why.text));
}

hd_status hd_value_set(const hd_value *value,
                       const char *pointer,
                       size_t length,
                       const hd_value *item,
                       hd_value **changed,
                       hd_error *error)
{
    if (changed == NULL) {
        return error_null(error, "changed");
    }
    *changed = NULL;
    if (value == NULL || pointer == NULL || item == NULL) {
        return error_null(error,
                          value == NULL     ? "value"
                          : pointer == NULL ? "pointer"
                                            : "item");
    }
    length = edge_length(pointer, length, LIMIT_POINTER_BYTES);
    struct err_detail detail = {0};
    struct path_table paths;
    struct path *path = NULL;
    path_table_init(&paths);
    enum err err = path_read(&paths, pointer, length, &path, &detail);
    if (err == ERR_OK) {
        struct value result;
        err = set_at(value->value, path, item->value, &result, &detail);
        if (err == ERR_OK) {
            *changed = handle_new_adopt(result);
        }
    }
    path_unref(path);
    path_table_release(&paths);
    return error_report(error, err, &detail);
}

/* -- A patch ------------------------------------------------------------- */

hd_status hd_value_patch(const hd_value *value,
                         const hd_value *patch,
                         hd_value **patched,
                         hd_error *error)
{
    if (patched == NULL) {
        return error_null(error, "patched");
    }
    *patched = NULL;
    if (value == NULL || patch == NULL) {
        return error_null(error, value == NULL ? "value" : "patch");
    }
    struct err_detail detail = {0};
    struct path_table paths;
    struct patch list;
    path_table_init(&paths);
    enum err err = patch_read(patch->value, &paths, &list, &detail);
    if (err == ERR_OK) {
        struct value result;
        err = patch_apply(&list,
                          value->value,
                          PATCH_ROOT_ANY,
                          &result,
                          NULL,
                          &detail);
        if (err == ERR_OK) {
            *patched = handle_new_adopt(result);
        }
        patch_release(&list);
    }
    path_table_release(&paths);
    return error_report(error, err, &detail);
}

/* -- A difference as a patch --------------------------------------------- */

enum {
    /* More than this in pointers alone, and a patch is no longer the shorter
     * way to say it. */
    DIFF_POINTER_BYTES = 8 * 1024 * 1024
};

/* What patch_diff would make, without making it. */
struct extent {
    struct buf pointer;
    size_t operations;
    size_t pointer_bytes;
    bool too_large;
};

static void measure(void *ctx, const struct difference *difference)
{
    struct extent *extent = ctx;
    if (extent->too_large) {
        return;
    }
    buf_clear(&extent->pointer);
    path_write_segments(&extent->pointer, difference->path, difference->length);
    extent->operations++;
    extent->pointer_bytes += extent->pointer.length;
    extent->too_large = extent->operations > LIMIT_PATCH_OPERATIONS ||
                        extent->pointer.length > LIMIT_POINTER_BYTES ||
                        extent->pointer_bytes > DIFF_POINTER_BYTES;
}

static bool is_worth_a_patch(struct value before, struct value after)
{
    struct extent extent = {.operations = 0};
    difference_walk(before, after, DIFFERENCE_BY_STEPS, measure, &extent);
    buf_release(&extent.pointer);
    return !extent.too_large;
}

static struct value diff(struct value before, struct value after)
{
    struct path_table paths;
    struct patch patch = {0};
    path_table_init(&paths);
    if (is_worth_a_patch(before, after)) {
        patch_diff(before, after, &paths, &patch);
    } else {
        /* Always right, and never more than the limits allow. */
        patch_push_adopt(&patch,
                         (struct patch_op){.kind = PATCH_REPLACE,
                                           .path = path_new(&paths, NULL, 0),
                                           .value = value_ref(after)});
    }
    const struct value list = patch_write(&patch);
    patch_release(&patch);
    path_table_release(&paths);
    return list;
}

hd_status hd_value_diff(const hd_value *before,
                        const hd_value *after,
                        hd_value **patch)
{
    if (patch == NULL) {
        return HD_ARGUMENT;
    }
    *patch = NULL;
    if (before == NULL || after == NULL) {
        return HD_ARGUMENT;
    }
    const struct value list = diff(before->value, after->value);
    if (value_depth(list) > LIMIT_DEPTH) {
        value_unref(list);
        return HD_LIMIT_DEPTH;
    }
    *patch = handle_new_adopt(list);
    return HD_OK;
}

/* -- A difference as paths ----------------------------------------------- */

struct collector {
    VEC(struct value) pointers; /* strings */
    size_t pointer_bytes;
    struct buf pointer;
    enum err err;
};

static void collect(void *ctx, const struct difference *difference)
{
    struct collector *collector = ctx;
    if (collector->err != ERR_OK) {
        return;
    }
    struct buf *pointer = &collector->pointer;
    buf_clear(pointer);
    path_write_segments(pointer, difference->path, difference->length);
    collector->pointer_bytes += pointer->length;
    if (pointer->length > LIMIT_STRING_BYTES) {
        collector->err = ERR_LIMIT_STRING;
    } else if (collector->pointer_bytes > LIMIT_TEXT_BYTES) {
        collector->err = ERR_LIMIT_SIZE;
    } else if (collector->pointers.count >= LIMIT_ARRAY_ELEMENTS) {
        collector->err = ERR_LIMIT_ELEMENTS;
    } else {
        vec_push(&collector->pointers,
                 value_string_new(buf_text(pointer), pointer->length));
    }
}

static int by_bytes(const void *a, const void *b)
{
    const struct value *x = a;
    const struct value *y = b;
    return value_compare_strings(*x, *y);
}

static struct value sorted_pointers_take(struct collector *collector)
{
    const size_t count = collector->pointers.count;
    if (count > 1) {
        qsort(collector->pointers.at, count, sizeof(struct value), by_bytes);
    }
    collector->pointers.count = 0;
    return array_new_adopt(collector->pointers.at, count);
}

hd_status hd_value_changed_paths(const hd_value *before,
                                 const hd_value *after,
                                 hd_value **pointers)
{
    if (pointers == NULL) {
        return HD_ARGUMENT;
    }
    *pointers = NULL;
    struct collector collector = {.err = ERR_OK};
    difference_walk(before != NULL ? before->value : VALUE_NONE,
                    after != NULL ? after->value : VALUE_NONE,
                    DIFFERENCE_BY_PATH,
                    collect,
                    &collector);
    if (collector.err == ERR_OK) {
        *pointers = handle_new_adopt(sorted_pointers_take(&collector));
    }
    VEC_FOREACH (&collector.pointers, pointer) {
        value_unref(*pointer);
    }
    vec_release(&collector.pointers);
    buf_release(&collector.pointer);
    return status_of(collector.err);
}
