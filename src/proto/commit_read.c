/* Decoding a commit. Nothing is trusted (commit-1).
 *
 * Each function reads one field from a value and names it in its error message:
 * reads.pending[2].localSeq[0]. */

#include <stdio.h>

#include "base/limits.h"
#include "proto/commit.h"
#include "proto/fields.h"
#include "value/array.h"
#include "value/compare.h"
#include "value/object.h"

/* -- Reads --------------------------------------------------------------- */

static enum err read_layers(struct fields *fields,
                            struct value object,
                            struct layer_list *out)
{
    const struct value layers = object_field(object, "localSeq");
    if (!value_is_array(layers) || array_count(layers) == 0) {
        return fields_bad(fields,
                          "localSeq",
                          "must be an array that is not empty");
    }
    if (array_count(layers) > LIMIT_COMMIT_LAYERS) {
        char where[FIELDS_WHERE_SIZE];
        return err_set(fields->detail,
                       ERR_LIMIT_COMMIT,
                       "%slocalSeq has more than %d elements",
                       fields_where(fields, where),
                       LIMIT_COMMIT_LAYERS);
    }
    uint64_t last = 0;
    for (uint32_t i = 0; i < array_count(layers); i++) {
        const struct value layer = array_at(layers, i);
        if (value_kind(layer) != VALUE_INT || value_integer(layer) < 0) {
            return fields_bad(fields,
                              "localSeq",
                              "must hold integers from 0 on");
        }
        const uint64_t number = (uint64_t)value_integer(layer);
        if (i > 0 && number <= last) {
            return fields_bad(fields, "localSeq", "must be ascending");
        }
        vec_push(&out->at, number);
        last = number;
    }
    return ERR_OK;
}

static enum err read_one_read(struct fields *fields,
                              struct value object,
                              struct commit_read *read)
{
    if (!value_is_object(object)) {
        return fields_bad(fields, "", "must be an object");
    }
    bool shape = false;
    enum err err = field_target(fields, object, &read->target);
    if (err == ERR_OK) {
        err = field_path(fields, object, &read->path);
    }
    if (err == ERR_OK) {
        err = field_flag(fields, object, "nonRecursive", &shape);
    }
    if (err == ERR_OK) {
        err = field_number(fields,
                           object,
                           read->pending ? "basisSeq" : "seq",
                           &read->seq);
    }
    if (err == ERR_OK && read->pending) {
        err = read_layers(fields, object, &read->layers);
    }
    if (err == ERR_OK && !read->pending &&
        !value_is_absent(object_field(object, "branch"))) {
        err = field_name(fields, object, "branch", NULL, &read->branch);
    }
    read->kind = shape ? READ_SHAPE : READ_DEEP;
    return err;
}

/* A read of the commit's own branch need not say so, and then does not
 * (commit-2). */
static void leave_out_branch(struct commit_read *read, struct value branch)
{
    if (!value_is_absent(read->branch) && key_equal(read->branch, branch)) {
        value_unref(read->branch);
        read->branch = VALUE_NONE;
    }
}

static enum err read_reads_of(struct fields *fields,
                              struct value reads,
                              bool pending,
                              struct commit *out)
{
    const char *field = pending ? "pending" : "confirmed";
    struct value list;
    fields_enter(fields, "reads.");
    enum err err = field_list(fields,
                              reads,
                              field,
                              LIMIT_COMMIT_READS,
                              ERR_LIMIT_COMMIT,
                              &list);
    for (uint32_t i = 0; err == ERR_OK && i < array_count(list); i++) {
        fields_enter_element(fields, "reads.", field, i);
        struct commit_read *read = commit_add_read(out);
        read->pending = pending;
        err = read_one_read(fields, array_at(list, i), read);
        leave_out_branch(read, out->branch);
    }
    return err;
}

static enum err read_reads(struct fields *fields,
                           struct value object,
                           struct commit *out)
{
    const struct value reads = object_field(object, "reads");
    if (value_is_absent(reads)) {
        return ERR_OK;
    }
    if (!value_is_object(reads)) {
        return fields_bad(fields, "reads", "must be an object");
    }
    const enum err err = read_reads_of(fields, reads, false, out);
    return err == ERR_OK ? read_reads_of(fields, reads, true, out) : err;
}

/* -- Operations ---------------------------------------------------------- */

static enum err read_op_kind(const struct fields *fields,
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
    return fields_bad(fields, "op", "must be set, patch or delete");
}

static enum err read_patches(const struct fields *fields,
                             struct value object,
                             struct patch *out)
{
    struct err_detail why = {0};
    const enum err err =
        patch_read(object_field(object, "patches"), fields->paths, out, &why);
    if (err == ERR_OK) {
        return ERR_OK;
    }
    char where[FIELDS_WHERE_SIZE];
    return err_set(
        fields->detail,
        err == ERR_LIMIT_PATCH || err == ERR_LIMIT_PATH ? err : ERR_PROTOCOL,
        "%spatches: %s",
        fields_where(fields, where),
        why.text);
}

static enum err read_op(struct fields *fields,
                        struct value object,
                        struct commit_op *op)
{
    if (!value_is_object(object)) {
        return fields_bad(fields, "", "must be an object");
    }
    enum err err = read_op_kind(fields, object, &op->kind);
    if (err == ERR_OK) {
        err = field_target(fields, object, &op->target);
    }
    if (err == ERR_OK && op->kind == COMMIT_SET) {
        op->document = value_ref(object_field(object, "value"));
    }
    if (err == ERR_OK && op->kind == COMMIT_PATCH) {
        err = read_patches(fields, object, &op->patch);
    }
    return err;
}

static enum err read_ops(struct fields *fields,
                         struct value object,
                         struct commit *out)
{
    struct value list;
    fields_enter(fields, "");
    enum err err = field_list(fields,
                              object,
                              "operations",
                              LIMIT_COMMIT_OPERATIONS,
                              ERR_LIMIT_COMMIT,
                              &list);
    for (uint32_t i = 0; err == ERR_OK && i < array_count(list); i++) {
        fields_enter_element(fields, "", "operations", i);
        err = read_op(fields, array_at(list, i), commit_add_op(out));
    }
    return err;
}

/* -- Preconditions ------------------------------------------------------- */

static enum err read_hash(const struct fields *fields,
                          struct value object,
                          struct value *out)
{
    const struct value hash = object_field(object, "valueHash");
    if (value_kind(hash) != VALUE_NULL && !value_is_string(hash)) {
        return fields_bad(fields, "valueHash", "must be a string or null");
    }
    *out = value_ref(hash);
    return ERR_OK;
}

static enum err read_event_condition(const struct fields *fields,
                                     struct value object,
                                     struct commit_precondition *out)
{
    const enum err err = field_target(fields, object, &out->target);
    return err != ERR_OK || value_is_absent(object_field(object, "eventHash"))
               ? err
               : field_name(fields, object, "eventHash", NULL, &out->hash);
}

static enum err read_precondition(struct fields *fields,
                                  struct value object,
                                  struct commit_precondition *out)
{
    if (!value_is_object(object)) {
        return fields_bad(fields, "", "must be an object");
    }
    const struct value kind = object_field(object, "kind");
    if (value_is_text(kind, precondition_name(PRECONDITION_ORIGIN_COMMITTED))) {
        out->kind = PRECONDITION_ORIGIN_COMMITTED;
        return field_number(fields,
                            object,
                            "originLocalSeq",
                            &out->origin_local_seq);
    }
    if (value_is_text(kind, precondition_name(PRECONDITION_ENTITY_ABSENT))) {
        out->kind = PRECONDITION_ENTITY_ABSENT;
        return field_target(fields, object, &out->target);
    }
    if (value_is_text(kind, precondition_name(PRECONDITION_EVENT_WAITING))) {
        out->kind = PRECONDITION_EVENT_WAITING;
        return read_event_condition(fields, object, out);
    }
    if (!value_is_text(kind, precondition_name(PRECONDITION_VALUE_HASH))) {
        return fields_bad(fields,
                          "kind",
                          "must be origin-committed, entity-absent, "
                          "event-waiting or entity-value-hash");
    }
    out->kind = PRECONDITION_VALUE_HASH;
    const enum err err = field_target(fields, object, &out->target);
    return err == ERR_OK ? read_hash(fields, object, &out->hash) : err;
}

static enum err read_preconditions(struct fields *fields,
                                   struct value object,
                                   struct commit *out)
{
    struct value list;
    fields_enter(fields, "");
    enum err err = field_list(fields,
                              object,
                              "preconditions",
                              LIMIT_COMMIT_PRECONDITIONS,
                              ERR_LIMIT_COMMIT,
                              &list);
    for (uint32_t i = 0; err == ERR_OK && i < array_count(list); i++) {
        fields_enter_element(fields, "", "preconditions", i);
        err = read_precondition(fields,
                                array_at(list, i),
                                commit_add_precondition(out));
    }
    return err;
}

/* -- The view ------------------------------------------------------------ */

static enum err read_view(struct fields *fields,
                          struct value object,
                          struct commit_view *out)
{
    const struct value view = object_field(object, "view");
    if (LIKELY(value_is_absent(view))) {
        return ERR_OK;
    }
    if (!value_is_object(view)) {
        return err_set(fields->detail, ERR_PROTOCOL, "view must be an object");
    }
    fields_enter(fields, "view.");
    out->given = true;
    const enum err err = field_number(fields, view, "seq", &out->seq);
    return err == ERR_OK && !value_is_absent(object_field(view, "commits"))
               ? field_number(fields, view, "commits", &out->commits)
               : err;
}

/* -- The whole ----------------------------------------------------------- */

static enum err read_head(struct fields *fields,
                          struct value object,
                          struct commit *out)
{
    enum err err = field_name(fields, object, "session", NULL, &out->session);
    if (err == ERR_OK) {
        err = field_number(fields, object, "localSeq", &out->local_seq);
    }
    if (err == ERR_OK) {
        err = field_name(fields, object, "branch", "", &out->branch);
    }
    const struct value merge = object_field(object, "merge");
    if (err == ERR_OK && !value_is_absent(merge)) {
        if (!value_is_object(merge)) {
            return fields_bad(fields, "merge", "must be an object");
        }
        out->merge = value_ref(merge);
    }
    return err;
}

static enum err read_observation(const struct fields *fields,
                                 struct value value,
                                 const char *name,
                                 struct observation **out)
{
    struct err_detail why = {0};
    const enum err err = observation_read(value, fields->paths, out, &why);
    return err == ERR_OK
               ? ERR_OK
               : err_set(fields->detail, err, "%s: %s", name, why.text);
}

static enum err read_observations(struct fields *fields,
                                  struct value object,
                                  struct commit *out)
{
    struct value list = VALUE_NONE;
    fields_enter(fields, "");
    const struct value one = object_field(object, "observation");
    enum err err = ERR_OK;
    if (!value_is_absent(one)) {
        err = read_observation(fields, one, "observation", &out->observation);
    }
    if (err == ERR_OK) {
        err = field_list(fields,
                         object,
                         "observations",
                         LIMIT_COMMIT_OBSERVATIONS,
                         ERR_LIMIT_COMMIT,
                         &list);
    }
    if (err == ERR_OK && array_count(list) == 0 &&
        !value_is_absent(object_field(object, "observations"))) {
        return fields_bad(fields, "observations", "must not be empty");
    }
    for (uint32_t i = 0; err == ERR_OK && i < array_count(list); i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "observations[%u]", i);
        struct observation *observation = NULL;
        err = read_observation(fields, array_at(list, i), name, &observation);
        if (err == ERR_OK) {
            vec_push(&out->batch, observation);
        }
    }
    return err;
}

enum err commit_read(struct value value,
                     struct path_table *paths,
                     struct commit *out,
                     struct err_detail *detail)
{
    struct fields fields = {.paths = paths, .detail = detail};
    *out = (struct commit){0};
    if (!value_is_object(value)) {
        return err_set(detail, ERR_PROTOCOL, "a commit must be an object");
    }
    enum err err = read_head(&fields, value, out);
    if (err == ERR_OK) {
        err = read_reads(&fields, value, out);
    }
    if (err == ERR_OK) {
        err = read_ops(&fields, value, out);
    }
    if (err == ERR_OK) {
        err = read_preconditions(&fields, value, out);
    }
    if (err == ERR_OK) {
        err = read_view(&fields, value, &out->view);
    }
    if (err == ERR_OK) {
        err = read_observations(&fields, value, out);
    }
    if (err == ERR_OK) {
        err = commit_check(out, detail);
    }
    if (err != ERR_OK) {
        commit_release(out);
    }
    return err;
}
