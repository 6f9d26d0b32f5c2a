/* The rows of documents that hold an event. */

#include "store/waiting.h"

#include <string.h>

#include "proto/event.h"
#include "value/address.h"
#include "value/compare.h"

/* Whether such a document can hold an event at all. */
static bool may_wait(const struct document *document)
{
    return event_is_document_id(document->id) &&
           value_is_text(document->scope_key, scope_name(SCOPE_SPACE));
}

bool waiting_is_due(const struct document *document, struct value head)
{
    uint64_t due;
    return may_wait(document) && event_is_waiting(head) &&
           (!event_is_timer_id(document->id) || event_timer_due(head, &due));
}

/* waiting-2. */
static uint64_t waiting_number(const struct document *document)
{
    return document->head_seq * WAITING_PER_COMMIT + document->head_index;
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

static enum err insert_row(struct engine *engine,
                           const struct document *document,
                           struct err_detail *detail)
{
    struct query query =
        query_begin(&engine->database, STATEMENT_WAITING_INSERT);
    query_int(&query, 1, document->number);
    query_int(&query, 2, waiting_number(document));
    (void)query_step(&query);
    return query_end(&query, detail);
}

/* The document of a timer (event-3 of proto/event.h). */
static enum err apply_timer(struct engine *engine,
                            const struct document *document,
                            struct value head,
                            struct err_detail *detail)
{
    uint64_t due;
    if (!event_is_waiting(head) || !event_timer_due(head, &due)) {
        return change_row(engine,
                          STATEMENT_TIMER_REMOVE,
                          document->number,
                          detail);
    }
    struct query query = query_begin(&engine->database, STATEMENT_TIMER_INSERT);
    query_int(&query, 1, document->number);
    query_int(&query, 2, document->branch->number);
    query_int(&query, 3, due);
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
    if (UNLIKELY(event_is_timer_id(document->id))) {
        return apply_timer(engine, document, head, detail);
    }
    return event_is_waiting(head) ? insert_row(engine, document, detail)
                                  : change_row(engine,
                                               STATEMENT_WAITING_REMOVE,
                                               document->number,
                                               detail);
}

/* -- Checking ------------------------------------------------------------ */

/* Whether there is a row, and its number or time. */
static enum err read_row(struct engine *engine,
                         enum statement statement,
                         uint64_t document,
                         bool *has,
                         uint64_t *content,
                         struct err_detail *detail)
{
    struct query query = query_begin(&engine->database, statement);
    query_int(&query, 1, document);
    *has = query_step(&query);
    *content = *has ? query_get_int(&query, 0) : 0;
    return query_end(&query, detail);
}

enum err waiting_check(struct engine *engine,
                       const struct document *document,
                       struct value head,
                       bool *out,
                       struct err_detail *detail)
{
    const bool is_timer = event_is_timer_id(document->id);
    bool waits = false;
    bool is_timed = false;
    uint64_t number = 0;
    uint64_t time = 0;
    uint64_t due = 0;
    *out = false;
    enum err err = read_row(engine,
                            STATEMENT_WAITING_HAS,
                            document->number,
                            &waits,
                            &number,
                            detail);
    if (err == ERR_OK) {
        err = read_row(engine,
                       STATEMENT_TIMER_HAS,
                       document->number,
                       &is_timed,
                       &time,
                       detail);
    }
    if (err == ERR_OK) {
        const bool ought = waiting_is_due(document, head);
        *out = waits == (ought && !is_timer) &&
               (!waits || number == waiting_number(document)) &&
               is_timed == (ought && is_timer) &&
               (!is_timed || (event_timer_due(head, &due) && due == time));
    }
    return err;
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
        err = change_row(engine, STATEMENT_TIMER_REMOVE, document, detail);
    }
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

/* -- Queries ------------------------------------------------------------- */

static void add_name(struct query *query,
                     const struct branch *branch,
                     document_names *out)
{
    const struct text scope = query_get_text(query, 1);
    const struct text id = query_get_text(query, 2);
    const struct document_name name = {
        .number = query_get_int(query, 0),
        .branch = branch->number,
        .scope_key = value_string_new(scope.at, scope.length),
        .id = value_string_new(id.at, id.length),
    };
    vec_push(out, name);
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
        (void)event_timer_due(event.document, &event.due);
        found(ctx, &event);
    }
    return err;
}

/* Runs the query, and visits its results. */
static enum err list(struct engine *engine,
                     struct branch *branch,
                     struct query *query,
                     waiting_fn *found,
                     void *ctx,
                     struct err_detail *detail)
{
    document_names names = {0};
    while (query_step(query)) {
        add_name(query, branch, &names);
    }
    enum err err = query_end(query, detail);
    VEC_FOREACH (&names, name) {
        if (err == ERR_OK) {
            err = tell(engine, branch, name, found, ctx, detail);
        }
    }
    document_names_release(&names);
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
    struct branch *on = engine_branch(engine, branch);
    if (on == NULL) {
        return engine_unknown_branch(branch, detail);
    }
    struct query query = query_begin(&engine->database, STATEMENT_WAITING_LIST);
    query_int(&query, 1, after);
    query_int(&query, 2, on->number);
    query_int(&query, 3, limit);
    return list(engine, on, &query, found, ctx, detail);
}

/* -- Timers -------------------------------------------------------------- */

static uint64_t at_most(uint64_t number)
{
    return number < INT64_MAX ? number : INT64_MAX;
}

enum err engine_timers(struct engine *engine,
                       struct value branch,
                       struct timer_mark after,
                       uint64_t until,
                       uint64_t limit,
                       waiting_fn *found,
                       void *ctx,
                       struct err_detail *detail)
{
    struct branch *on = engine_branch(engine, branch);
    if (on == NULL) {
        return engine_unknown_branch(branch, detail);
    }
    struct query query = query_begin(&engine->database, STATEMENT_TIMER_LIST);
    query_int(&query, 1, on->number);
    query_int(&query, 2, after.due);
    query_int(&query, 3, after.number);
    query_int(&query, 4, at_most(until));
    query_int(&query, 5, at_most(limit));
    return list(engine, on, &query, found, ctx, detail);
}

enum err engine_timers_named(struct engine *engine,
                             struct value branch,
                             struct value prefix,
                             waiting_fn *found,
                             void *ctx,
                             struct err_detail *detail)
{
    struct branch *on = engine_branch(engine, branch);
    if (on == NULL) {
        return engine_unknown_branch(branch, detail);
    }
    struct buf behind = {0}; /* all of them: no byte of a text is 0xff */
    const struct text text = value_text(&prefix);
    const char *scope = scope_name(SCOPE_SPACE);
    buf_append(&behind, text.at, text.length);
    buf_append_char(&behind, '\xff');
    struct query query = query_begin(&engine->database, STATEMENT_TIMER_NAMED);
    query_int(&query, 1, on->number);
    query_text(&query, 2, scope, strlen(scope));
    query_text(&query, 3, text.at, text.length);
    query_text(&query, 4, buf_text(&behind), behind.length);
    const enum err err = list(engine, on, &query, found, ctx, detail);
    buf_release(&behind);
    return err;
}

enum err engine_timer_next(struct engine *engine,
                           struct value branch,
                           uint64_t time,
                           uint64_t *out,
                           struct err_detail *detail)
{
    const struct branch *on = engine_branch(engine, branch);
    *out = TIMER_NONE;
    if (on == NULL) {
        return engine_unknown_branch(branch, detail);
    }
    struct query query = query_begin(&engine->database, STATEMENT_TIMER_NEXT);
    query_int(&query, 1, on->number);
    query_int(&query, 2, at_most(time));
    if (query_step(&query)) {
        *out = query_get_int(&query, 0);
    }
    return query_end(&query, detail);
}
