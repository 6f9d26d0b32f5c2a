/* Decoding a commit. Nothing is trusted (P1).
 *
 * Each function reads one thing from a value and names it in its sentence as
 * a person would: reads.pending[2].localSeq[0]. */

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "proto/commit.h"
#include "value/array.h"
#include "value/compare.h"
#include "value/object.h"

struct decoder {
    struct path_table *paths;
    struct err_detail *detail;
    char where[96]; /* the object being read, with a dot behind it */
};

__attribute__((format(printf, 2, 3))) static void enter(struct decoder *decoder,
                                                        const char *format,
                                                        ...)
{
    va_list args;
    va_start(args, format);
    (void)vsnprintf(decoder->where, sizeof decoder->where, format, args);
    va_end(args);
}

static enum err bad(const struct decoder *decoder,
                    const char *field,
                    const char *what)
{
    return err_set(decoder->detail,
                   ERR_PROTOCOL,
                   "%s%s %s",
                   decoder->where,
                   field,
                   what);
}

/* -- Leaves -------------------------------------------------------------- */

static enum err read_number(const struct decoder *decoder,
                            struct value object,
                            const char *field,
                            uint64_t *out)
{
    const struct value number = object_field(object, field);
    if (value_kind(number) != VALUE_INT || value_integer(number) < 0) {
        return bad(decoder, field, "must be a whole number from 0 on");
    }
    *out = (uint64_t)value_integer(number);
    return ERR_OK;
}

static enum err read_flag(const struct decoder *decoder,
                          struct value object,
                          const char *field,
                          bool *out)
{
    const struct value flag = object_field(object, field);
    if (!value_is_absent(flag) && value_kind(flag) != VALUE_BOOL) {
        return bad(decoder, field, "must be true or false");
    }
    *out = !value_is_absent(flag) && value_boolean(flag);
    return ERR_OK;
}

/* A string of bounded length; absent gives `fallback`, unless that is NULL. */
static enum err read_name(const struct decoder *decoder,
                          struct value object,
                          const char *field,
                          const char *fallback,
                          struct value *out)
{
    const struct value name = object_field(object, field);
    if (value_is_absent(name) && fallback != NULL) {
        *out = value_text_new(fallback);
        return ERR_OK;
    }
    if (!value_is_string(name)) {
        return bad(decoder, field, "must be a string");
    }
    if (value_text(&name).length > LIMIT_ID_BYTES) {
        return err_set(decoder->detail,
                       ERR_LIMIT_ID,
                       "%s%s has more than %d bytes",
                       decoder->where,
                       field,
                       LIMIT_ID_BYTES);
    }
    *out = value_ref(name);
    return ERR_OK;
}

static enum err read_target(const struct decoder *decoder,
                            struct value object,
                            struct target *out)
{
    const struct value id = object_field(object, "id");
    struct err_detail why = {0};
    const enum err err = document_id_check(id, &why);
    if (err != ERR_OK) {
        return err_set(decoder->detail,
                       err == ERR_LIMIT_ID ? err : ERR_PROTOCOL,
                       "%sid: %s",
                       decoder->where,
                       why.text);
    }
    const struct value scope = object_field(object, "scope");
    out->scope = SCOPE_SPACE;
    if (!value_is_absent(scope) && !scope_read(scope, &out->scope)) {
        return bad(decoder, "scope", "must be space, user or session");
    }
    out->id = value_ref(id);
    return ERR_OK;
}

static enum err read_path(const struct decoder *decoder,
                          struct value object,
                          struct path **out)
{
    struct err_detail why = {0};
    const enum err err =
        path_of_array(decoder->paths, object_field(object, "path"), out, &why);
    if (err != ERR_OK) {
        return err_set(decoder->detail,
                       err == ERR_LIMIT_PATH ? err : ERR_PROTOCOL,
                       "%spath: %s",
                       decoder->where,
                       why.text);
    }
    return ERR_OK;
}

/* -- Lists --------------------------------------------------------------- */

/* The array in a field, of at most `most` elements; absent is empty. */
static enum err read_list(struct decoder *decoder,
                          struct value object,
                          const char *field,
                          uint32_t most,
                          struct value *out)
{
    *out = object_field(object, field);
    if (value_is_absent(*out)) {
        *out = value_empty_array();
        return ERR_OK;
    }
    if (!value_is_array(*out)) {
        return bad(decoder, field, "must be an array");
    }
    if (array_count(*out) > most) {
        return err_set(decoder->detail,
                       ERR_LIMIT_COMMIT,
                       "%s%s has more than %u elements",
                       decoder->where,
                       field,
                       most);
    }
    return ERR_OK;
}

static enum err read_layers(struct decoder *decoder,
                            struct value object,
                            struct layer_list *out)
{
    const struct value layers = object_field(object, "localSeq");
    if (!value_is_array(layers) || array_count(layers) == 0) {
        return bad(decoder, "localSeq", "must be an array that is not empty");
    }
    if (array_count(layers) > LIMIT_COMMIT_LAYERS) {
        return err_set(decoder->detail,
                       ERR_LIMIT_COMMIT,
                       "%slocalSeq has more than %d elements",
                       decoder->where,
                       LIMIT_COMMIT_LAYERS);
    }
    uint64_t last = 0;
    for (uint32_t i = 0; i < array_count(layers); i++) {
        const struct value layer = array_at(layers, i);
        if (value_kind(layer) != VALUE_INT || value_integer(layer) < 0) {
            return bad(decoder,
                       "localSeq",
                       "must hold whole numbers from 0 on");
        }
        const uint64_t number = (uint64_t)value_integer(layer);
        if (i > 0 && number <= last) {
            return bad(decoder, "localSeq", "must be ascending");
        }
        vec_push(&out->at, number);
        last = number;
    }
    return ERR_OK;
}

static enum err read_one_read(struct decoder *decoder,
                              struct value object,
                              struct commit_read *read)
{
    if (!value_is_object(object)) {
        return bad(decoder, "", "must be an object");
    }
    bool shape = false;
    enum err err = read_target(decoder, object, &read->target);
    if (err == ERR_OK) {
        err = read_path(decoder, object, &read->path);
    }
    if (err == ERR_OK) {
        err = read_flag(decoder, object, "nonRecursive", &shape);
    }
    if (err == ERR_OK) {
        err = read_number(decoder,
                          object,
                          read->pending ? "basisSeq" : "seq",
                          &read->seq);
    }
    if (err == ERR_OK && read->pending) {
        err = read_layers(decoder, object, &read->layers);
    }
    if (err == ERR_OK && !read->pending &&
        !value_is_absent(object_field(object, "branch"))) {
        err = read_name(decoder, object, "branch", NULL, &read->branch);
    }
    read->kind = shape ? READ_SHAPE : READ_DEEP;
    return err;
}

/* A read of the commit's own branch need not say so, and then does not (P2). */
static void leave_out_branch(struct commit_read *read, struct value branch)
{
    if (!value_is_absent(read->branch) && key_equal(read->branch, branch)) {
        value_unref(read->branch);
        read->branch = VALUE_NONE;
    }
}

static enum err read_reads_of(struct decoder *decoder,
                              struct value reads,
                              bool pending,
                              struct commit *out)
{
    const char *field = pending ? "pending" : "confirmed";
    struct value list;
    enter(decoder, "reads.");
    enum err err = read_list(decoder, reads, field, LIMIT_COMMIT_READS, &list);
    for (uint32_t i = 0; err == ERR_OK && i < array_count(list); i++) {
        enter(decoder, "reads.%s[%u].", field, i);
        const struct commit_read empty = {.pending = pending};
        vec_push(&out->reads, empty);
        err = read_one_read(decoder, array_at(list, i), vec_last(&out->reads));
        leave_out_branch(vec_last(&out->reads), out->branch);
    }
    return err;
}

static enum err read_reads(struct decoder *decoder,
                           struct value object,
                           struct commit *out)
{
    const struct value reads = object_field(object, "reads");
    if (value_is_absent(reads)) {
        return ERR_OK;
    }
    if (!value_is_object(reads)) {
        return bad(decoder, "reads", "must be an object");
    }
    const enum err err = read_reads_of(decoder, reads, false, out);
    return err == ERR_OK ? read_reads_of(decoder, reads, true, out) : err;
}

/* -- Operations ---------------------------------------------------------- */

static enum err read_op_kind(const struct decoder *decoder,
                             struct value object,
                             enum commit_op_kind *out)
{
    const struct value name = object_field(object, "op");
    for (unsigned i = COMMIT_SET; i <= COMMIT_DELETE; i++) {
        if (value_is_text(name, commit_op_name((enum commit_op_kind)i))) {
            *out = (enum commit_op_kind)i;
            return ERR_OK;
        }
    }
    return bad(decoder, "op", "must be set, patch or delete");
}

static enum err read_patches(const struct decoder *decoder,
                             struct value object,
                             struct patch *out)
{
    struct err_detail why = {0};
    const enum err err =
        patch_read(object_field(object, "patches"), decoder->paths, out, &why);
    if (err == ERR_OK) {
        return ERR_OK;
    }
    return err_set(
        decoder->detail,
        err == ERR_LIMIT_PATCH || err == ERR_LIMIT_PATH ? err : ERR_PROTOCOL,
        "%spatches: %s",
        decoder->where,
        why.text);
}

static enum err read_op(struct decoder *decoder,
                        struct value object,
                        struct commit_op *op)
{
    if (!value_is_object(object)) {
        return bad(decoder, "", "must be an object");
    }
    enum err err = read_op_kind(decoder, object, &op->kind);
    if (err == ERR_OK) {
        err = read_target(decoder, object, &op->target);
    }
    if (err == ERR_OK && op->kind == COMMIT_SET) {
        op->document = value_ref(object_field(object, "value"));
    }
    if (err == ERR_OK && op->kind == COMMIT_PATCH) {
        err = read_patches(decoder, object, &op->patch);
    }
    return err;
}

static enum err read_ops(struct decoder *decoder,
                         struct value object,
                         struct commit *out)
{
    struct value list;
    enter(decoder, "%s", "");
    enum err err = read_list(decoder,
                             object,
                             "operations",
                             LIMIT_COMMIT_OPERATIONS,
                             &list);
    for (uint32_t i = 0; err == ERR_OK && i < array_count(list); i++) {
        enter(decoder, "operations[%u].", i);
        const struct commit_op empty = {0};
        vec_push(&out->ops, empty);
        err = read_op(decoder, array_at(list, i), vec_last(&out->ops));
    }
    return err;
}

/* -- Preconditions ------------------------------------------------------- */

static enum err read_hash(const struct decoder *decoder,
                          struct value object,
                          struct value *out)
{
    const struct value hash = object_field(object, "valueHash");
    if (value_kind(hash) != VALUE_NULL && !value_is_string(hash)) {
        return bad(decoder, "valueHash", "must be a string or null");
    }
    *out = value_ref(hash);
    return ERR_OK;
}

static enum err read_precondition(struct decoder *decoder,
                                  struct value object,
                                  struct commit_precondition *out)
{
    if (!value_is_object(object)) {
        return bad(decoder, "", "must be an object");
    }
    const struct value kind = object_field(object, "kind");
    if (value_is_text(kind, precondition_name(PRECONDITION_ORIGIN_COMMITTED))) {
        out->kind = PRECONDITION_ORIGIN_COMMITTED;
        return read_number(decoder,
                           object,
                           "originLocalSeq",
                           &out->origin_local_seq);
    }
    if (value_is_text(kind, precondition_name(PRECONDITION_ENTITY_ABSENT))) {
        out->kind = PRECONDITION_ENTITY_ABSENT;
        return read_target(decoder, object, &out->target);
    }
    if (!value_is_text(kind, precondition_name(PRECONDITION_VALUE_HASH))) {
        return bad(decoder,
                   "kind",
                   "must be origin-committed, entity-absent or "
                   "entity-value-hash");
    }
    out->kind = PRECONDITION_VALUE_HASH;
    const enum err err = read_target(decoder, object, &out->target);
    return err == ERR_OK ? read_hash(decoder, object, &out->hash) : err;
}

static enum err read_preconditions(struct decoder *decoder,
                                   struct value object,
                                   struct commit *out)
{
    struct value list;
    enter(decoder, "%s", "");
    enum err err = read_list(decoder,
                             object,
                             "preconditions",
                             LIMIT_COMMIT_PRECONDITIONS,
                             &list);
    for (uint32_t i = 0; err == ERR_OK && i < array_count(list); i++) {
        enter(decoder, "preconditions[%u].", i);
        const struct commit_precondition empty = {.kind = 0};
        vec_push(&out->preconditions, empty);
        err = read_precondition(decoder,
                                array_at(list, i),
                                vec_last(&out->preconditions));
    }
    return err;
}

/* -- The whole ----------------------------------------------------------- */

static enum err read_head(struct decoder *decoder,
                          struct value object,
                          struct commit *out)
{
    enum err err = read_name(decoder, object, "session", NULL, &out->session);
    if (err == ERR_OK) {
        err = read_number(decoder, object, "localSeq", &out->local_seq);
    }
    if (err == ERR_OK) {
        err = read_name(decoder, object, "branch", "", &out->branch);
    }
    const struct value merge = object_field(object, "merge");
    if (err == ERR_OK && !value_is_absent(merge)) {
        if (!value_is_object(merge)) {
            return bad(decoder, "merge", "must be an object");
        }
        out->merge = value_ref(merge);
    }
    return err;
}

enum err commit_read(struct value value,
                     struct path_table *paths,
                     struct commit *out,
                     struct err_detail *detail)
{
    struct decoder decoder = {.paths = paths, .detail = detail};
    *out = (struct commit){0};
    if (!value_is_object(value)) {
        return err_set(detail, ERR_PROTOCOL, "a commit must be an object");
    }
    enum err err = read_head(&decoder, value, out);
    if (err == ERR_OK) {
        err = read_reads(&decoder, value, out);
    }
    if (err == ERR_OK) {
        err = read_ops(&decoder, value, out);
    }
    if (err == ERR_OK) {
        err = read_preconditions(&decoder, value, out);
    }
    if (err == ERR_OK) {
        err = commit_check(out, detail);
    }
    if (err != ERR_OK) {
        commit_release(out);
    }
    return err;
}
