/* The rows of documents that hold an event. */

#include "store/waiting.h"

#include "proto/event.h"
#include "value/address.h"
#include "value/compare.h"

/* Whether such a document may hold one at all. */
static bool may_wait(const struct document *document)
{
    return event_is_document_id(document->id) &&
           value_is_text(document->scope_key, scope_name(SCOPE_SPACE));
}

bool waiting_is_due(const struct document *document, struct value head)
{
    return may_wait(document) && event_is_waiting(head);
}

static enum err change_row(struct engine *engine,
                           enum statement statement,
                           uint64_t document,
                           struct err_detail *detail)
{
    struct query query = query_begin(&engine->database, statement);
    query_int(&query, 1, document);
    (void)query_step(&query);
    return query_end(&query, detail);
}

enum err waiting_apply(struct engine *engine,
                       struct document *document,
                       struct err_detail *detail)
{
    struct value head = VALUE_NONE;
    if (LIKELY(!may_wait(document))) {
        return ERR_OK;
    }
    const enum err err = document_head(engine, document, &head, detail);
    if (err != ERR_OK) {
        return err;
    }
    return change_row(engine,
                      event_is_waiting(head) ? STATEMENT_WAITING_INSERT
                                             : STATEMENT_WAITING_REMOVE,
                      document->number,
                      detail);
}

/* -- Checking ------------------------------------------------------------ */

enum err waiting_has(struct engine *engine,
                     uint64_t document,
                     bool *out,
                     struct err_detail *detail)
{
    struct query query = query_begin(&engine->database, STATEMENT_WAITING_HAS);
    query_int(&query, 1, document);
    *out = query_step(&query);
    return query_end(&query, detail);
}

enum err waiting_strays(struct engine *engine,
                        waiting_numbers *out,
                        struct err_detail *detail)
{
    struct query query =
        query_begin(&engine->database, STATEMENT_WAITING_STRAY);
    while (query_step(&query)) {
        const uint64_t number = query_get_int(&query, 0);
        vec_push(out, number);
    }
    return query_end(&query, detail);
}

enum err waiting_rebuild(struct engine *engine,
                         uint64_t document,
                         struct err_detail *detail)
{
    document_names names = {0};
    struct document *row = NULL;
    enum err err =
        change_row(engine, STATEMENT_WAITING_REMOVE, document, detail);
    if (err == ERR_OK) {
        err = documents_list(engine, document - 1, 1, &names, detail);
    }
    if (err == ERR_OK && names.count > 0 && names.at[0].number == document &&
        names.at[0].branch < engine->branches.count) {
        err = document_find(engine,
                            engine_branch_by_number(engine, names.at[0].branch),
                            names.at[0].scope_key,
                            names.at[0].id,
                            &row,
                            detail);
    }
    document_names_release(&names);
    return err == ERR_OK && row != NULL ? waiting_apply(engine, row, detail)
                                        : err;
}

/* -- Asking -------------------------------------------------------------- */

static enum err list(struct engine *engine,
                     const struct branch *branch,
                     uint64_t after,
                     uint64_t limit,
                     document_names *out,
                     struct err_detail *detail)
{
    struct query query = query_begin(&engine->database, STATEMENT_WAITING_LIST);
    query_int(&query, 1, after);
    query_int(&query, 2, branch->number);
    query_int(&query, 3, limit);
    while (query_step(&query)) {
        const struct text scope = query_get_text(&query, 1);
        const struct text id = query_get_text(&query, 2);
        const struct document_name name = {
            .number = query_get_int(&query, 0),
            .branch = branch->number,
            .scope_key = value_string_new(scope.at, scope.length),
            .id = value_string_new(id.at, id.length),
        };
        vec_push(out, name);
    }
    return query_end(&query, detail);
}

static enum err tell(struct engine *engine,
                     struct branch *branch,
                     const struct document_name *name,
                     waiting_fn *found,
                     void *ctx,
                     struct err_detail *detail)
{
    struct document *document = NULL;
    struct waiting_event event = {.number = name->number, .id = name->id};
    enum err err = document_find(engine,
                                 branch,
                                 name->scope_key,
                                 name->id,
                                 &document,
                                 detail);
    if (err == ERR_OK) {
        err = document_head(engine, document, &event.document, detail);
    }
    if (err == ERR_OK && event_is_waiting(event.document)) {
        found(ctx, &event);
    }
    return err;
}

enum err engine_waiting(struct engine *engine,
                        struct value branch,
                        uint64_t after,
                        uint64_t limit,
                        waiting_fn *found,
                        void *ctx,
                        struct err_detail *detail)
{
    document_names names = {0};
    struct branch *on = engine_branch(engine, branch);
    enum err err = on != NULL ? list(engine, on, after, limit, &names, detail)
                              : engine_unknown_branch(branch, detail);
    VEC_FOREACH (&names, name) {
        if (err == ERR_OK) {
            err = tell(engine, on, name, found, ctx, detail);
        }
    }
    document_names_release(&names);
    return err;
}
