/* JSON Patch and Merge Patch. See routes_patch.h. */

#include "server/routes_patch.h"

#include <string.h>

#include "base/text.h"
#include "value/array.h"
#include "value/compare.h"
#include "value/object.h"

/* -- Paths --------------------------------------------------------------- */

/* A pointer in a body, behind `front`. */
static enum err join(struct path *front,
                     struct value pointer,
                     struct path_table *paths,
                     struct path **out,
                     struct err_detail *detail)
{
    struct buf text = {0};
    const struct text rest = value_text(&pointer);
    if (rest.length == 0 || rest.at[0] == '/') {
        path_write(&text, front); /* a pointer, else refused as it is */
    }
    buf_append(&text, rest.at, rest.length);
    const enum err err =
        path_read(paths, buf_text(&text), text.length, out, detail);
    buf_release(&text);
    return err;
}

/* The body with `front` before the paths of its operations, new. What is not an
 * operation stays, for patch_read to refuse. */
static struct value with_front(struct value body, const struct path *front)
{
    static const char *const fields[] = {"path", "from"};
    struct value list = value_empty_array();
    struct array_iter iter = array_iter(body);
    struct value item;
    while (array_next(&iter, &item)) {
        struct value op = value_ref(item);
        for (size_t i = 0; i < COUNT_OF(fields); i++) {
            const struct value pointer = object_field(op, fields[i]);
            if (!value_is_string(pointer)) {
                continue;
            }
            struct buf text = {0};
            const struct text rest = value_text(&pointer);
            if (rest.length == 0 || rest.at[0] == '/') {
                path_write(&text, front);
            }
            buf_append(&text, rest.at, rest.length);
            object_put_adopt(&op, fields[i], value_string_adopt(&text));
        }
        list = array_push_adopt(list, op);
    }
    return list;
}

/* -- JSON Patch ---------------------------------------------------------- */

struct json_patch {
    struct path *front;
    struct path_table *paths;
    struct value now; /* the document so far */
    struct patch *out;
    struct err_detail *detail;
};

static enum err refuse(const struct json_patch *json,
                       enum err err,
                       uint32_t index,
                       const char *why)
{
    return err_set(json->detail,
                   err,
                   "operation %u of the patch: %s",
                   (unsigned)index,
                   why);
}

/* Applies one operation to the state so far, and keeps it. Adopts it. */
static enum err apply_adopt(struct json_patch *json, struct patch_op op)
{
    struct patch one = {0};
    struct value next = VALUE_NONE;
    patch_push_adopt(&one, op);
    enum err err = patch_apply(&one,
                               json->now,
                               PATCH_ROOT_DOCUMENT,
                               &next,
                               NULL,
                               json->detail);
    if (err == ERR_OK) {
        value_unref(json->now);
        json->now = next;
        patch_push_adopt(json->out, vec_pop(&one.ops));
    }
    patch_release(&one);
    return err;
}

/* Whether RFC 6902 lets something be added there: the parent exists. */
static bool has_parent(const struct json_patch *json, struct path *path)
{
    if (path->length == 0) {
        return true;
    }
    struct path *parent = path_prefix(path, path->length - 1);
    const bool has = value_is_container(value_at(json->now, parent));
    path_unref(parent);
    return has;
}

static enum err add(struct json_patch *json,
                    struct path *path,
                    struct value value,
                    uint32_t index)
{
    if (!has_parent(json, path)) {
        return refuse(json,
                      ERR_PATCH_MISSING,
                      index,
                      "what is to hold the new value does not exist");
    }
    return apply_adopt(json,
                       (struct patch_op){.kind = PATCH_ADD,
                                         .path = path_ref(path),
                                         .value = value_ref(value)});
}

static enum err move(struct json_patch *json,
                     struct path *from,
                     struct path *path,
                     uint32_t index)
{
    if (from == path) {
        return ERR_OK;
    }
    if (path_is_prefix(from, path)) {
        return refuse(json,
                      ERR_PATCH_TARGET,
                      index,
                      "a value cannot be moved into itself");
    }
    return apply_adopt(json,
                       (struct patch_op){.kind = PATCH_MOVE,
                                         .from = path_ref(from),
                                         .path = path_ref(path)});
}

static enum err one_operation(struct json_patch *json,
                              struct value op,
                              struct path *path,
                              struct path *from,
                              uint32_t index)
{
    const struct value name = object_field(op, "op");
    const struct value value = object_field(op, "value");
    const struct value there = value_at(json->now, path);
    if (value_is_text(name, "add")) {
        return add(json, path, value, index);
    }
    if (from != NULL && value_is_absent(value_at(json->now, from))) {
        return refuse(json,
                      ERR_PATCH_MISSING,
                      index,
                      "there is nothing at 'from'");
    }
    if (value_is_text(name, "move")) {
        return move(json, from, path, index);
    }
    if (value_is_text(name, "copy")) {
        const struct value copied = value_ref(value_at(json->now, from));
        const enum err err = add(json, path, copied, index);
        value_unref(copied);
        return err;
    }
    if (value_is_absent(there)) {
        return refuse(json,
                      value_is_text(name, "test") ? ERR_CONFLICT
                                                  : ERR_PATCH_MISSING,
                      index,
                      "there is nothing at 'path'");
    }
    if (value_is_text(name, "test")) {
        return value_equal(there, value)
                   ? ERR_OK
                   : refuse(json,
                            ERR_CONFLICT,
                            index,
                            "the test failed: the value is another one");
    }
    const bool replaces = value_is_text(name, "replace");
    if (replaces && path->length == 0) {
        return add(json, path, value, index); /* of the root: sets it */
    }
    return apply_adopt(
        json,
        (struct patch_op){.kind = replaces ? PATCH_REPLACE : PATCH_REMOVE,
                          .path = path_ref(path),
                          .value = replaces ? value_ref(value) : VALUE_NONE});
}

/* The fields that each operation has; "from" and "value" exclude each other. */
static const struct {
    const char *name;
    bool has_value;
    bool has_from;
} json_operations[] = {
    {"add", true, false},
    {"remove", false, false},
    {"replace", true, false},
    {"move", false, true},
    {"copy", false, true},
    {"test", true, false},
};

static enum err check_operation(const struct json_patch *json,
                                struct value op,
                                uint32_t index)
{
    const struct value name = object_field(op, "op");
    for (size_t i = 0; i < COUNT_OF(json_operations); i++) {
        if (!value_is_text(name, json_operations[i].name)) {
            continue;
        }
        if (!value_is_string(object_field(op, "path"))) {
            return refuse(json,
                          ERR_PATCH_MALFORMED,
                          index,
                          "'path' must be a text");
        }
        if (json_operations[i].has_value &&
            value_is_absent(object_field(op, "value"))) {
            return refuse(json,
                          ERR_PATCH_MALFORMED,
                          index,
                          "'value' is missing");
        }
        if (json_operations[i].has_from &&
            !value_is_string(object_field(op, "from"))) {
            return refuse(json,
                          ERR_PATCH_MALFORMED,
                          index,
                          "'from' must be a text");
        }
        return ERR_OK;
    }
    return refuse(json,
                  ERR_PATCH_MALFORMED,
                  index,
                  "'op' must be add, remove, replace, move, copy or test; "
                  "other operations need the content type application/json");
}

static enum err read_operation(struct json_patch *json,
                               struct value op,
                               uint32_t index)
{
    struct path *path = NULL;
    struct path *from = NULL;
    enum err err = check_operation(json, op, index);
    if (err == ERR_OK) {
        err = join(json->front,
                   object_field(op, "path"),
                   json->paths,
                   &path,
                   json->detail);
    }
    if (err == ERR_OK && (value_is_text(object_field(op, "op"), "move") ||
                          value_is_text(object_field(op, "op"), "copy"))) {
        err = join(json->front,
                   object_field(op, "from"),
                   json->paths,
                   &from,
                   json->detail);
    }
    if (err == ERR_OK) {
        err = one_operation(json, op, path, from, index);
    }
    path_unref(from);
    path_unref(path);
    return err;
}

static enum err read_json_patch(struct json_patch *json, struct value body)
{
    enum err err = ERR_OK;
    for (uint32_t i = 0; err == ERR_OK && i < array_count(body); i++) {
        err = i < LIMIT_PATCH_OPERATIONS
                  ? read_operation(json, array_at(body, i), i)
                  : err_set(json->detail,
                            ERR_LIMIT_PATCH,
                            "the patch has more than %u operations",
                            (unsigned)LIMIT_PATCH_OPERATIONS);
    }
    return err;
}

/* -- Merge Patch --------------------------------------------------------- */

/* RFC 7396, section 2. As deep as the body, which is bounded by LIMIT_DEPTH.
 * New. */
static struct value merge(struct value base, struct value patch)
{
    if (!value_is_object(patch)) {
        return value_ref(patch);
    }
    struct value result =
        value_is_object(base) ? value_ref(base) : value_empty_object();
    struct object_iter iter = object_iter(patch);
    struct value key;
    struct value item;
    while (object_next(&iter, &key, &item)) {
        if (value_kind(item) == VALUE_NULL) {
            result = value_is_object(result) ? object_remove_adopt(result, key)
                                             : result;
            continue;
        }
        const struct value merged = merge(
            value_is_object(result) ? object_get(result, key) : VALUE_NONE,
            item);
        result = value_is_object(result) ? result : value_empty_object();
        result = object_set_adopt(result, value_ref(key), merged);
    }
    return result;
}

static enum err read_merge_patch(struct value body,
                                 struct value base,
                                 struct path *front,
                                 struct path_table *paths,
                                 struct patch *out,
                                 struct err_detail *detail)
{
    const struct value there = value_at(base, front);
    const struct value merged = merge(there, body);
    struct patch set = {0};
    struct value next = VALUE_NONE;
    patch_push_adopt(&set,
                     (struct patch_op){.kind = PATCH_ADD,
                                       .path = path_ref(front),
                                       .value = merged});
    if (!value_is_absent(there) && front->length > 0) {
        set.ops.at[0].kind = PATCH_REPLACE;
    }
    const enum err err =
        patch_apply(&set, base, PATCH_ROOT_DOCUMENT, &next, NULL, detail);
    if (err == ERR_OK) {
        patch_diff(base, next, paths, out);
    }
    value_unref(next);
    patch_release(&set);
    return err;
}

/* -- All of them --------------------------------------------------------- */

static enum err read_own(struct value body,
                         struct path *front,
                         struct path_table *paths,
                         struct patch *out,
                         struct err_detail *detail)
{
    const struct value list = with_front(body, front);
    const enum err err = patch_read(list, paths, out, detail);
    value_unref(list);
    return err;
}

enum err route_patch_read(enum route_patch_kind kind,
                          struct value body,
                          struct value base,
                          struct path *front,
                          struct path_table *paths,
                          struct patch *out,
                          struct err_detail *detail)
{
    enum err err = ERR_OK;
    const struct value document =
        value_is_object(base) ? base : value_empty_object();
    *out = (struct patch){0};
    if (kind != ROUTE_PATCH_MERGE && !value_is_array(body)) {
        return err_set(detail,
                       ERR_PATCH_MALFORMED,
                       "the body must be an array of operations");
    }
    struct json_patch json = {
        .front = front,
        .paths = paths,
        .out = out,
        .detail = detail,
    };
    switch (kind) {
    case ROUTE_PATCH_OWN:
        err = read_own(body, front, paths, out, detail);
        break;
    case ROUTE_PATCH_JSON:
        json.now = value_ref(document);
        err = read_json_patch(&json, body);
        value_unref(json.now);
        break;
    case ROUTE_PATCH_MERGE:
        err = read_merge_patch(body, document, front, paths, out, detail);
        break;
    }
    if (err != ERR_OK) {
        patch_release(out);
    }
    return err;
}
