/* Pages of a piece's actions.
 *
 * What does not change from run to run comes from the images of the piece
 * (images.h), or from the rows (observed_rows.c) where there is none. One scan
 * adds the runs; then dirtiness is derived (observed_derive.c). */

#include <string.h>

#include "base/mem.h"
#include "store/images.h"
#include "store/observed_page.h"
#include "value/object.h"

/* -- Runs ---------------------------------------------------------------- */

/* The columns of a run; false if they are inconsistent. */
static bool read_run(struct page_builder *page_builder,
                     struct query *query,
                     struct resume_action *action)
{
    struct resume_page *page = page_builder->page;
    /* Mostly there is neither. */
    const struct text none = {"", 0};
    const struct text error =
        query_is_null(query, 2) ? none : query_get_text(query, 2);
    const struct text elsewhere =
        query_is_null(query, 3) ? none : query_get_text(query, 3);
    action->watermark = query_get_int(query, 0);
    action->spaces = (uint32_t)page->elsewhere.count;
    if (query_get_int(query, 1) != observed_run_mark(action->number,
                                                     action->watermark,
                                                     error,
                                                     elsewhere) ||
        action->watermark > page_builder->engine->seq ||
        (action->watermark == 0 && query_is_null(query, 0))) {
        return false;
    }
    if (error.length > 0) {
        struct digest digest;
        if (!observed_bytes(query, 2, &digest, sizeof digest)) {
            return false;
        }
        action->error = (uint32_t)page->errors.count;
        vec_push(&page->errors, digest);
    }
    return elsewhere.length == 0 ||
           observed_elsewhere_read(elsewhere, page, action);
}

/* The run of each action, if they are far apart. */
static enum err get_runs(struct page_builder *page_builder)
{
    enum err err = ERR_OK;
    VEC_FOREACH (&page_builder->page->actions, action) {
        struct query query =
            query_begin(&page_builder->engine->database, STATEMENT_RUN_GET);
        query_int(&query, 1, action->number);
        if (!query_step(&query) || !read_run(page_builder, &query, action)) {
            action->state = RESUME_UNKNOWN;
        }
        err = query_end(&query, page_builder->detail);
        if (err != ERR_OK) {
            break;
        }
    }
    return err;
}

/* Actions are in the order of their numbers, each once; in a damaged tree they
 * may not be. */
static enum err check_order(const struct page_builder *page_builder)
{
    uint64_t last = page_builder->after;
    VEC_FOREACH (&page_builder->page->actions, action) {
        if (action->number <= last) {
            return err_set(
                page_builder->detail,
                ERR_CORRUPT,
                "the file is damaged: the rows of actions are not in "
                "order");
        }
        last = action->number;
    }
    return ERR_OK;
}

/* Actions that were numbered together are adjacent, and so are their runs. An
 * action without a run is inconsistent. */
static enum err scan_runs(struct page_builder *page_builder)
{
    struct resume_page *page = page_builder->page;
    const size_t count = page->actions.count;
    if (count == 0) {
        return ERR_OK;
    }
    const uint64_t first = page->actions.at[0].number;
    const uint64_t last = page->actions.at[count - 1].number;
    if ((last - first) / 4 > count) {
        return get_runs(page_builder);
    }
    struct query query =
        query_begin(&page_builder->engine->database, STATEMENT_RUN_ROWS);
    query_int(&query, 1, first);
    query_int(&query, 2, last);
    size_t at = 0;
    while (at < count && query_step(&query)) {
        const uint64_t number = query_get_int(&query, 4);
        while (at < count && page->actions.at[at].number < number) {
            page->actions.at[at++].state = RESUME_UNKNOWN;
        }
        if (at < count && page->actions.at[at].number == number) {
            struct resume_action *action = &page->actions.at[at++];
            if (!read_run(page_builder, &query, action)) {
                action->state = RESUME_UNKNOWN;
            }
        }
    }
    for (; at < count; at++) {
        page->actions.at[at].state = RESUME_UNKNOWN;
    }
    return query_end(&query, page_builder->detail);
}

/* -- The whole page ------------------------------------------------------ */

static void set_scope_keys(struct page_builder *page_builder,
                           struct identity identity)
{
    for (unsigned i = 0; i < SCOPES; i++) {
        if (scope_key_new((enum scope)i,
                          identity,
                          &page_builder->scope_keys[i],
                          NULL) != ERR_OK) {
            page_builder->scope_keys[i] = VALUE_NONE;
        }
    }
}

enum err resume_page_of_piece(struct engine *engine,
                              uint64_t piece,
                              uint64_t after,
                              struct resume_page *page,
                              struct err_detail *detail)
{
    struct page_builder page_builder = {
        .engine = engine,
        .page = page,
        .piece = piece,
        .after = after,
        .limit = CHECK_PAGE,
        .all = true,
        .detail = detail,
    };
    *page = (struct resume_page){.seq = engine->seq};
    enum err err = page_builder_add_rows(&page_builder, after, INT64_MAX);
    if (err == ERR_OK) {
        err = check_order(&page_builder);
    }
    if (err == ERR_OK) {
        err = scan_runs(&page_builder);
    }
    page_builder_release(&page_builder);
    return err;
}

/* The piece of a query. *found is false if there is nothing to list. */
static enum err find_piece(struct page_builder *page_builder,
                           const struct resume_query *query,
                           bool *found)
{
    struct observed_piece *piece = NULL;
    *found = false;
    page_builder->branch = engine_branch(page_builder->engine, query->branch);
    if (page_builder->branch == NULL) {
        return engine_unknown_branch(query->branch, page_builder->detail);
    }
    const enum err err = observed_piece_find(page_builder->engine,
                                             page_builder->branch,
                                             query->piece,
                                             &piece,
                                             page_builder->detail);
    if (err != ERR_OK || piece == NULL) {
        return err;
    }
    page_builder->page->generation = piece->generation;
    if (piece->generation == query->generation &&
        page_builder->branch->active) {
        page_builder->piece = piece->number;
        set_scope_keys(page_builder, query->identity);
        *found = true;
    }
    return ERR_OK;
}

static enum err resume(struct engine *engine,
                       const struct resume_query *query,
                       struct resume_page *page,
                       struct err_detail *detail)
{
    struct page_builder page_builder = {
        .engine = engine,
        .page = page,
        .generation = query->generation,
        .after = query->after,
        .limit = query->limit > 0 && query->limit < RESUME_PAGE_MAX
                     ? query->limit
                     : RESUME_PAGE_MAX,
        .detail = detail,
    };
    bool found;
    enum err err = find_piece(&page_builder, query, &found);
    if (err == ERR_OK && found) {
        err = images_add_static(&page_builder);
        if (err == ERR_OK) {
            err = check_order(&page_builder);
        }
        if (err == ERR_OK) {
            err = scan_runs(&page_builder);
        }
        if (err == ERR_OK) {
            err = page_builder_derive(&page_builder);
        }
    }
    page_builder_release(&page_builder);
    return err;
}

enum err resume_page_inside(struct engine *engine,
                            const struct resume_query *query,
                            struct resume_page *page,
                            struct err_detail *detail)
{
    *page = (struct resume_page){.seq = engine->seq};
    const enum err err = resume(engine, query, page, detail);
    if (err != ERR_OK) {
        resume_page_release(page);
    }
    return err;
}

static enum err count_actions(struct engine *engine,
                              const struct resume_query *query,
                              uint64_t *count,
                              struct err_detail *detail)
{
    struct resume_page page = {0};
    struct page_builder page_builder = {.engine = engine,
                                        .page = &page,
                                        .detail = detail};
    bool found;
    enum err err = find_piece(&page_builder, query, &found);
    if (err == ERR_OK && found) {
        struct query counting =
            query_begin(&engine->database, STATEMENT_ACTION_COUNT_LISTED);
        query_int(&counting, 1, page_builder.piece);
        query_int(&counting, 2, query->after);
        query_int(&counting, 3, query->generation);
        for (unsigned i = 0; i < SCOPES; i++) {
            if (!value_is_absent(page_builder.scope_keys[i])) {
                query_string(&counting, 4 + (int)i, page_builder.scope_keys[i]);
            } else {
                query_null(&counting, 4 + (int)i);
            }
        }
        *count = query_step(&counting) ? query_get_int(&counting, 0) : 0;
        err = query_end(&counting, detail);
    }
    page_builder_release(&page_builder);
    return err;
}

/* Whether the listing is unchanged. */
static enum err check_seq(const struct engine *engine,
                          const struct resume_query *query,
                          struct err_detail *detail)
{
    if (query->seq == 0 || query->seq == engine->seq) {
        return ERR_OK;
    }
    return err_set(detail,
                   ERR_LISTING_MOVED,
                   "the listing began at seq %llu, the head is now %llu",
                   (unsigned long long)query->seq,
                   (unsigned long long)engine->seq);
}

enum err engine_resume_count(struct engine *engine,
                             const struct resume_query *query,
                             uint64_t *count,
                             struct err_detail *detail)
{
    *count = 0;
    enum err err = engine_read_begin(engine, detail);
    if (err != ERR_OK) {
        return err;
    }
    err = check_seq(engine, query, detail);
    if (err == ERR_OK) {
        err = count_actions(engine, query, count, detail);
    }
    engine_read_end(engine);
    return err;
}

enum err engine_resume(struct engine *engine,
                       const struct resume_query *query,
                       struct resume_page *page,
                       struct err_detail *detail)
{
    *page = (struct resume_page){0};
    enum err err = engine_read_begin(engine, detail);
    if (err != ERR_OK) {
        return err;
    }
    page->seq = engine->seq;
    err = check_seq(engine, query, detail);
    if (err == ERR_OK) {
        err = resume(engine, query, page, detail);
    }
    engine_read_end(engine);
    if (err != ERR_OK) {
        resume_page_release(page);
    }
    return err;
}
