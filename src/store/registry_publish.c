/* Rows as documents: what a computation can read of the registry (registry-1).
 *
 * Each change of a row is a commit of the registry's own session inside the
 * caller's transaction: the document as a whole, and the two counts that
 * changed. It reads nothing, so nothing conflicts with it. Its local seq is the
 * seq that it will get, which is unique. */

#include <stdio.h>
#include <string.h>

#include "lifecycle/environment.h"
#include "lifecycle/thread.h"
#include "store/documents.h"
#include "store/registry.h"
#include "value/compare.h"
#include "value/object.h"

#define COUNTS_ID "lifecycle:counts"

static void put_text(struct value *object, const char *key, const char *text)
{
    if (*text != '\0') {
        object_put_text(object, key, text);
    }
}

static void put_status(struct value *object,
                       const struct lifecycle_machine *machine,
                       uint8_t status,
                       uint64_t since)
{
    object_put_text(object, "status", machine->statuses[status].name);
    object_put_number(object, "since", since);
}

static struct value describe_thread(const struct thread_row *row)
{
    struct value object = value_empty_object();
    put_status(&object, &thread_lifecycle, row->status, row->since);
    put_text(&object, "environment", row->environment);
    put_text(&object, "parent", row->parent);
    put_text(&object, "run", row->run);
    object_put_adopt(&object, "archived", value_bool(row->is_archived));
    object_put_adopt(&object, "deleted", value_bool(row->is_deleted));
    object_put_number(&object, "attentionAt", row->attention_at);
    object_put_number(&object, "queued", row->queued);
    return object;
}

static struct value describe_environment(const struct environment_row *row)
{
    struct value object = value_empty_object();
    put_status(&object, &environment_lifecycle, row->status, row->since);
    object_put_adopt(&object, "managed", value_bool(row->is_managed));
    if (!value_is_absent(row->workspace)) {
        object_put_adopt(&object, "workspace", value_ref(row->workspace));
    }
    put_text(&object, "attempt", row->attempt);
    return object;
}

/* The present row, new; absent if there is none. */
static enum err describe(struct registry *registry,
                         const struct lifecycle_machine *machine,
                         const char *id,
                         struct value *out,
                         struct err_detail *detail)
{
    bool found = false;
    enum err err = ERR_OK;
    *out = VALUE_NONE;
    if (machine == &thread_lifecycle) {
        struct thread_row row;
        err = registry_thread(registry, id, &row, &found, detail);
        if (err == ERR_OK && found) {
            *out = describe_thread(&row);
        }
        thread_row_release(&row);
    } else {
        struct environment_row row;
        err = registry_environment(registry, id, &row, &found, detail);
        if (err == ERR_OK && found) {
            *out = describe_environment(&row);
        }
        environment_row_release(&row);
    }
    return err;
}

/* -- Operations ---------------------------------------------------------- */

/* A document has its payload at "value". */
static struct commit_op set_op_adopt(const char *id, struct value value)
{
    struct commit_op op = {.kind = COMMIT_SET};
    op.target.id = value_text_new(id);
    op.document = value_empty_object();
    object_put_adopt(&op.document, "value", value);
    return op;
}

static void push_increment(struct registry *registry,
                           struct patch *patch,
                           const struct lifecycle_machine *machine,
                           int status,
                           int by)
{
    if (status < 0) {
        return;
    }
    struct path_segment segments[] = {
        path_segment(value_text_new("value")),
        path_segment(value_text_new(machine->name)),
        path_segment(value_text_new(machine->statuses[status].name)),
    };
    const struct patch_op op = {
        .kind = PATCH_INCREMENT,
        .path =
            path_new(&registry->engine->paths, segments, COUNT_OF(segments)),
        .value = value_int(by),
    };
    patch_push_adopt(patch, op);
    for (size_t i = 0; i < COUNT_OF(segments); i++) {
        path_segment_release(&segments[i]);
    }
}

/* How many rows a machine has in each status. */
static enum err count_rows(struct registry *registry,
                           const struct lifecycle_machine *machine,
                           enum statement statement,
                           struct value *counts,
                           struct err_detail *detail)
{
    struct value object = value_empty_object();
    for (size_t i = 0; i < machine->status_count; i++) {
        object_put_adopt(&object, machine->statuses[i].name, value_int(0));
    }
    struct query query = query_begin(&registry->engine->database, statement);
    while (query_step(&query)) {
        const struct text name = query_get_text(&query, 0);
        const struct value count = value_int((int64_t)query_get_int(&query, 1));
        struct value key = value_string_new(name.at, name.length);
        object = object_set_adopt(object, key, count);
    }
    object_put_adopt(counts, machine->name, object);
    return query_end(&query, detail);
}

static enum err count_all(struct registry *registry,
                          struct commit *commit,
                          struct err_detail *detail)
{
    struct value counts = value_empty_object();
    enum err err = count_rows(registry,
                              &thread_lifecycle,
                              STATEMENT_THREAD_COUNTS,
                              &counts,
                              detail);
    if (err == ERR_OK) {
        err = count_rows(registry,
                         &environment_lifecycle,
                         STATEMENT_ENVIRONMENT_COUNTS,
                         &counts,
                         detail);
    }
    vec_push(&commit->ops, set_op_adopt(COUNTS_ID, counts));
    return err;
}

static void move_counts(struct registry *registry,
                        const struct registry_move *move,
                        struct commit *commit)
{
    struct commit_op op = {.kind = COMMIT_PATCH};
    op.target.id = value_text_new(COUNTS_ID);
    push_increment(registry, &op.patch, move->machine, move->from, -1);
    push_increment(registry, &op.patch, move->machine, move->to, 1);
    vec_push(&commit->ops, op);
}

static enum err push_document(struct registry *registry,
                              const struct lifecycle_machine *machine,
                              const char *id,
                              struct commit *commit,
                              struct err_detail *detail)
{
    char name[REGISTRY_NAME_SIZE + sizeof "environment:"];
    (void)snprintf(name, sizeof name, "%s:%s", machine->name, id);
    struct value value = VALUE_NONE;
    const enum err err = describe(registry, machine, id, &value, detail);
    if (err != ERR_OK) {
        return err;
    }
    if (value_is_absent(value)) {
        struct commit_op op = {.kind = COMMIT_DELETE};
        op.target.id = value_text_new(name);
        vec_push(&commit->ops, op);
    } else {
        vec_push(&commit->ops, set_op_adopt(name, value));
    }
    return ERR_OK;
}

/* Whether the counts already are what the operation would set. */
static enum err counts_are_right(struct registry *registry,
                                 const struct commit_op *op,
                                 bool *right,
                                 struct err_detail *detail)
{
    struct engine *engine = registry->engine;
    struct document *document = NULL;
    struct value head = VALUE_NONE;
    enum err err = document_find(engine,
                                 engine_branch_by_number(engine, 0),
                                 value_text_new("space"),
                                 op->target.id,
                                 &document,
                                 detail);
    if (err == ERR_OK) {
        err = document_head(engine, document, &head, detail);
    }
    *right = err == ERR_OK && !value_is_absent(head) &&
             value_equal(head, op->document);
    return err;
}

/* -- The commit ---------------------------------------------------------- */

/* *verdict: OK, or why the engine refused. */
static enum err commit_once(struct registry *registry,
                            const struct commit *commit,
                            struct err_detail *verdict,
                            struct err_detail *detail)
{
    struct engine_request request = {
        .commit = commit,
        .principal = value_text_new("heddle"),
        .at_ms = registry->now_ms,
    };
    const enum err err =
        engine_write_commit(registry->engine, &request, detail);
    *verdict = request.verdict.detail;
    verdict->err = request.verdict.err;
    verdict_release(&request.verdict);
    value_unref(request.principal);
    return err;
}

static struct commit new_commit(struct registry *registry)
{
    return (struct commit){
        .session = value_text_new("registry"),
        .local_seq = registry->engine->seq + 1,
        .branch = value_text_new(""),
    };
}

/* With the two counts changed, or all of them counted again. */
static enum err try_publish(struct registry *registry,
                            const struct lifecycle_machine *machine,
                            const char *id,
                            const struct registry_move *move,
                            bool recount,
                            struct err_detail *verdict,
                            struct err_detail *detail)
{
    struct commit commit = new_commit(registry);
    enum err err = push_document(registry, machine, id, &commit, detail);
    if (err == ERR_OK && recount) {
        err = count_all(registry, &commit, detail);
    } else if (err == ERR_OK && move != NULL) {
        move_counts(registry, move, &commit);
    }
    if (err == ERR_OK) {
        err = commit_once(registry, &commit, verdict, detail);
    }
    commit_release(&commit);
    return err;
}

static enum err check_verdict(enum err err,
                              const struct err_detail *verdict,
                              struct err_detail *detail)
{
    return err != ERR_OK || verdict->err == ERR_OK
               ? err
               : err_set(detail,
                         ERR_STORE,
                         "the document of a row was refused: %.200s",
                         verdict->text);
}

enum err registry_recount(struct registry *registry, struct err_detail *detail)
{
    CHECK(registry->is_open);
    struct commit commit = new_commit(registry);
    struct err_detail verdict = {0};
    bool right = false;
    enum err err = count_all(registry, &commit, detail);
    if (err == ERR_OK) {
        err = counts_are_right(registry, &commit.ops.at[0], &right, detail);
    }
    if (err == ERR_OK && !right) {
        err = commit_once(registry, &commit, &verdict, detail);
    }
    commit_release(&commit);
    return check_verdict(err, &verdict, detail);
}

enum err registry_publish(struct registry *registry,
                          const struct lifecycle_machine *machine,
                          const char *id,
                          const struct registry_move *move,
                          struct err_detail *detail)
{
    CHECK(registry->is_open);
    struct err_detail verdict = {0};
    enum err err =
        try_publish(registry, machine, id, move, false, &verdict, detail);
    if (err == ERR_OK && verdict.err != ERR_OK && move != NULL) {
        /* Any program can write to a document, even to the counts: start
         * over. */
        err = try_publish(registry, machine, id, move, true, &verdict, detail);
    }
    return check_verdict(err, &verdict, detail);
}
