/* Commits as data: names, release, and the checks that apply to every commit,
 * whatever its origin. */

#include "proto/commit.h"

#include "base/limits.h"
#include "value/array.h"
#include "value/compare.h"
#include "value/object.h"
#include "value/utf8.h"

const char *commit_op_name(enum commit_op_kind kind)
{
    static const char *const names[] = {
        [COMMIT_SET] = "set",
        [COMMIT_PATCH] = "patch",
        [COMMIT_DELETE] = "delete",
    };
    return names[kind];
}

const char *precondition_name(enum precondition_kind kind)
{
    static const char *const names[] = {
        [PRECONDITION_ORIGIN_COMMITTED] = "origin-committed",
        [PRECONDITION_ENTITY_ABSENT] = "entity-absent",
        [PRECONDITION_EVENT_WAITING] = "event-waiting",
        [PRECONDITION_VALUE_HASH] = "entity-value-hash",
    };
    return names[kind];
}

/* -- Building ------------------------------------------------------------ */

struct commit_read *commit_add_read(struct commit *commit)
{
    vec_reserve(&commit->reads, commit->reads.count + 1);
    struct commit_read *read = &commit->reads.at[commit->reads.count++];
    if (commit->reads.count > commit->reads_made) {
        commit->reads_made = commit->reads.count;
        *read = (struct commit_read){0};
    }
    return read;
}

struct commit_op *commit_add_op(struct commit *commit)
{
    vec_reserve(&commit->ops, commit->ops.count + 1);
    struct commit_op *op = &commit->ops.at[commit->ops.count++];
    if (commit->ops.count > commit->ops_made) {
        commit->ops_made = commit->ops.count;
        *op = (struct commit_op){0};
    }
    return op;
}

struct commit_precondition *commit_add_precondition(struct commit *commit)
{
    vec_push(&commit->preconditions, (struct commit_precondition){0});
    return vec_last(&commit->preconditions);
}

static void clear_read(struct commit_read *read)
{
    value_unref(read->target.id);
    value_unref(read->branch);
    path_unref(read->path);
    struct layer_list layers = read->layers;
    vec_clear(&layers.at);
    *read = (struct commit_read){.layers = layers};
}

static void clear_op(struct commit_op *op)
{
    value_unref(op->target.id);
    value_unref(op->document);
    struct patch patch = op->patch;
    patch_clear(&patch);
    *op = (struct commit_op){.patch = patch};
}

void commit_clear(struct commit *commit)
{
    VEC_FOREACH (&commit->reads, read) {
        clear_read(read);
    }
    VEC_FOREACH (&commit->ops, op) {
        clear_op(op);
    }
    VEC_FOREACH (&commit->preconditions, precondition) {
        value_unref(precondition->target.id);
        value_unref(precondition->hash);
    }
    if (commit->reads_made < commit->reads.count) {
        commit->reads_made = commit->reads.count;
    }
    if (commit->ops_made < commit->ops.count) {
        commit->ops_made = commit->ops.count;
    }
    vec_clear(&commit->reads);
    vec_clear(&commit->ops);
    vec_clear(&commit->preconditions);
    if (commit->observation != NULL) {
        observation_unref(commit->observation);
        commit->observation = NULL;
    }
    VEC_FOREACH (&commit->batch, observation) {
        observation_unref(*observation);
    }
    vec_clear(&commit->batch);
    value_unref(commit->session);
    value_unref(commit->branch);
    value_unref(commit->merge);
    commit->session = commit->branch = commit->merge = VALUE_NONE;
    commit->view = (struct commit_view){0};
    commit->local_seq = 0;
}

void commit_release(struct commit *commit)
{
    commit_clear(commit);
    for (size_t i = 0; i < commit->reads_made; i++) {
        vec_release(&commit->reads.at[i].layers.at);
    }
    for (size_t i = 0; i < commit->ops_made; i++) {
        patch_release(&commit->ops.at[i].patch);
    }
    vec_release(&commit->reads);
    vec_release(&commit->ops);
    vec_release(&commit->preconditions);
    vec_release(&commit->batch);
    *commit = (struct commit){0};
}

/* -- Checks -------------------------------------------------------------- */

bool commit_numbers_fit(const struct commit *commit)
{
    /* Only the highest bit matters, and it survives an OR. */
    uint64_t all = commit->local_seq | commit->view.seq | commit->view.commits;
    for (size_t i = 0; i < commit->reads.count; i++) {
        const struct commit_read *read = &commit->reads.at[i];
        all |= read->seq;
        for (size_t j = 0; j < read->layers.at.count; j++) {
            all |= read->layers.at.at[j];
        }
    }
    for (size_t i = 0; i < commit->preconditions.count; i++) {
        all |= commit->preconditions.at[i].origin_local_seq;
    }
    for (size_t i = 0; i < commit->batch.count; i++) {
        if (!observation_numbers_fit(commit->batch.at[i])) {
            return false;
        }
    }
    return all <= INT64_MAX && (commit->observation == NULL ||
                                observation_numbers_fit(commit->observation));
}

static enum err check_name(struct value name,
                           const char *what,
                           bool may_be_empty,
                           struct err_detail *detail)
{
    if (!value_is_string(name)) {
        return err_set(detail, ERR_PROTOCOL, "%s must be a string", what);
    }
    const size_t length = value_text(&name).length;
    if (length > LIMIT_ID_BYTES) {
        return err_set(detail,
                       ERR_LIMIT_ID,
                       "%s has more than %d bytes",
                       what,
                       LIMIT_ID_BYTES);
    }
    if (length == 0 && !may_be_empty) {
        return err_set(detail, ERR_PROTOCOL, "%s must not be empty", what);
    }
    return utf8_is_valid(value_text(&name).at, length)
               ? ERR_OK
               : err_set(detail, ERR_PROTOCOL, "%s must be UTF-8", what);
}

/* What is read from JSON was counted there; what a process built was not. */
static enum err check_counts(const struct commit *commit,
                             struct err_detail *detail)
{
    const struct {
        size_t count;
        size_t most;
        const char *what;
    } parts[] = {
        {commit->ops.count, LIMIT_COMMIT_OPERATIONS, "operations"},
        {commit->reads.count,
         LIMIT_COMMIT_READS,
         "reads: read a container with one deep read, or split the commit"},
        {commit->preconditions.count,
         LIMIT_COMMIT_PRECONDITIONS,
         "preconditions"},
        {commit->batch.count, LIMIT_COMMIT_OBSERVATIONS, "observations"},
    };
    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        if (parts[i].count > parts[i].most) {
            return err_set(detail,
                           ERR_LIMIT_COMMIT,
                           "a commit has more than %zu %s",
                           parts[i].most,
                           parts[i].what);
        }
    }
    for (size_t i = 0; i < commit->reads.count; i++) {
        const struct commit_read *read = &commit->reads.at[i];
        if (read->layers.at.count > LIMIT_COMMIT_LAYERS) {
            return err_set(detail,
                           ERR_LIMIT_COMMIT,
                           "a read names more than %d layers",
                           LIMIT_COMMIT_LAYERS);
        }
        if (read->path != NULL &&
            path_check(read->path->length, detail) != ERR_OK) {
            return ERR_LIMIT_PATH;
        }
    }
    return ERR_OK;
}

static enum err check_ops(const struct commit *commit,
                          struct err_detail *detail)
{
    if (commit->ops.count == 0 && commit->preconditions.count == 0) {
        return err_set(detail,
                       ERR_PROTOCOL,
                       "a commit requires at least one operation or one "
                       "precondition");
    }
    for (size_t i = 0; i < commit->ops.count; i++) {
        const struct commit_op *op = &commit->ops.at[i];
        const enum err err = document_id_check(op->target.id, detail);
        if (err != ERR_OK) {
            return err == ERR_LIMIT_ID
                       ? err
                       : err_set(detail,
                                 ERR_PROTOCOL,
                                 "operations[%zu].id must be a valid id",
                                 i);
        }
        if (op->kind == COMMIT_SET && !value_is_object(op->document)) {
            return err_set(detail,
                           ERR_PROTOCOL,
                           "operations[%zu].value must be an object: documents "
                           "have plain object roots",
                           i);
        }
        if (op->patch.ops.count > LIMIT_PATCH_OPERATIONS) {
            return err_set(detail,
                           ERR_LIMIT_PATCH,
                           "operations[%zu].patches has more than %d entries",
                           i,
                           LIMIT_PATCH_OPERATIONS);
        }
        if (op->kind == COMMIT_SET && value_depth(op->document) > LIMIT_DEPTH) {
            return err_set(detail,
                           ERR_LIMIT_DEPTH,
                           "operations[%zu].value is nested too deeply",
                           i);
        }
    }
    return ERR_OK;
}

/* A batch is nothing else; and each observation is one. */
static enum err check_observations(const struct commit *commit,
                                   struct err_detail *detail)
{
    if (commit_is_batch(commit) &&
        (commit->ops.count > 0 || commit->reads.count > 0 ||
         commit->preconditions.count > 0 || commit->observation != NULL ||
         commit->view.given || !value_is_absent(commit->merge))) {
        return err_set(detail,
                       ERR_PROTOCOL,
                       "a batch of observations must contain nothing else");
    }
    struct err_detail why = {0};
    if (commit->observation != NULL) {
        const enum err err =
            observation_check(commit->observation, false, &why);
        if (err != ERR_OK) {
            return err_set(detail, err, "observation: %s", why.text);
        }
    }
    for (size_t i = 0; i < commit->batch.count; i++) {
        const enum err err = observation_check(commit->batch.at[i], true, &why);
        if (err != ERR_OK) {
            return err_set(detail, err, "observations[%zu]: %s", i, why.text);
        }
    }
    return ERR_OK;
}

enum err commit_check(const struct commit *commit, struct err_detail *detail)
{
    enum err err = check_name(commit->session, "session", false, detail);
    if (err == ERR_OK) {
        err = check_name(commit->branch, "branch", true, detail);
    }
    if (err == ERR_OK) {
        err = check_counts(commit, detail);
    }
    if (err == ERR_OK) {
        err = check_observations(commit, detail);
    }
    if (err == ERR_OK && commit_is_batch(commit)) {
        return ERR_OK;
    }
    return err == ERR_OK ? check_ops(commit, detail) : err;
}
