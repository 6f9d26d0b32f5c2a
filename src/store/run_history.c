/* Queries the rows of runs and commits. */

#include "store/run_history.h"

#include "base/mem.h"
#include "store/observed_page.h"
#include "value/array.h"
#include "value/json.h"
#include "value/path.h"

/* -- Actions ------------------------------------------------------------- */

static void action_release(const struct run_action *action)
{
    value_unref(action->scope_key);
    VEC_FOREACH (&action->places, place) {
        value_unref(place->space);
        value_unref(place->scope_key);
        value_unref(place->id);
        path_unref(place->path);
    }
    mem_free(action->places.at,
             action->places.capacity * sizeof *action->places.at);
}

void run_list_release(struct run_list *list)
{
    VEC_FOREACH (&list->at, action) {
        action_release(action);
    }
    vec_release(&list->at);
}

/* The scope whose rows are being listed. */
struct lister {
    struct engine *engine;
    struct run_list *out;
    struct identity identity; /* owned */
    enum scope scope;
    struct value scope_key; /* owned */
    struct err_detail *detail;
};

static enum err add_past(struct lister *lister, struct run_action *action)
{
    struct query query =
        query_begin(&lister->engine->database, STATEMENT_RUN_PAST);
    query_int(&query, 1, action->number);
    if (query_step(&query)) {
        action->before = query_get_int(&query, 0);
        action->landed = query_get_int(&query, 1);
        action->runs = query_get_int(&query, 2);
    }
    return query_end(&query, lister->detail);
}

static void add_place(struct lister *lister,
                      struct run_action *action,
                      const struct resume_place *place,
                      enum place_kind kind)
{
    struct value scope_key = VALUE_NONE;
    if (place->path == NULL || scope_key_new(place->target.scope,
                                             lister->identity,
                                             &scope_key,
                                             NULL) != ERR_OK) {
        return; /* of an action that is unknown */
    }
    const struct run_place one = {
        .space = value_ref(place->space),
        .scope_key = scope_key,
        .id = value_ref(place->target.id),
        .path = path_ref(place->path),
        .kind = kind,
    };
    vec_push(&action->places, one);
    if (place_is_read(kind) && place->changed[kind] > action->changed &&
        place->changed[kind] > action->seq) {
        action->changed = place->changed[kind];
    }
}

static enum err add_action(struct lister *lister,
                           const struct resume_page *page,
                           const struct resume_action *from)
{
    struct run_action *action = vec_add(&lister->out->at);
    *action = (struct run_action){
        .number = from->number,
        .name = from->action,
        .scope_key = value_ref(lister->scope_key),
        .kind = (enum action_kind)from->kind,
        .state = (enum resume_state)from->state,
        .failed = from->error != RESUME_NONE,
        .seq = from->watermark,
    };
    if (from->gates != RESUME_NONE) {
        action->gates = page->gates.at[from->gates];
    }
    for (uint32_t i = 0; i < from->place_count; i++) {
        const uint32_t index = page->indexes.at[from->places + i];
        add_place(lister,
                  action,
                  &page->places.at[resume_index_place(index)],
                  resume_index_kind(index));
    }
    return add_past(lister, action);
}

/* The rows of one scope key. */
static enum err list_scope(struct lister *lister,
                           struct value branch,
                           struct value piece)
{
    struct resume_query query = {
        .branch = branch,
        .piece = piece,
        .identity = lister->identity,
        .generation = lister->out->generation,
    };
    bool more = true;
    enum err err = ERR_OK;
    while (err == ERR_OK && more) {
        struct resume_page page;
        err = resume_page_inside(lister->engine, &query, &page, lister->detail);
        if (err != ERR_OK) {
            break;
        }
        VEC_FOREACH (&page.actions, action) {
            query.after = action->number;
            if (err == ERR_OK && action->scope == (uint8_t)lister->scope) {
                err = add_action(lister, &page, action);
            }
        }
        more = page.more;
        resume_page_release(&page);
    }
    return err;
}

typedef VEC(struct value) value_list;

static enum err find_scopes(struct engine *engine,
                            const struct observed_piece *piece,
                            value_list *out,
                            struct err_detail *detail)
{
    struct query query =
        query_begin(&engine->database, STATEMENT_ACTION_SCOPES);
    query_int(&query, 1, piece->number);
    query_int(&query, 2, piece->generation);
    while (query_step(&query)) {
        const struct text key = query_get_text(&query, 0);
        vec_push(out, value_string_new(key.at, key.length));
    }
    return query_end(&query, detail);
}

enum err run_history_of_piece(struct engine *engine,
                              struct value branch,
                              struct value piece,
                              struct run_list *out,
                              struct err_detail *detail)
{
    struct branch *of = engine_branch(engine, branch);
    struct observed_piece *row = NULL;
    value_list scopes = {0};
    *out = (struct run_list){0};
    if (of == NULL) {
        return engine_unknown_branch(branch, detail);
    }
    enum err err = observed_piece_find(engine, of, piece, &row, detail);
    if (err != ERR_OK || row == NULL) {
        return err;
    }
    out->generation = row->generation;
    err = find_scopes(engine, row, &scopes, detail);
    VEC_FOREACH (&scopes, key) {
        struct lister lister = {
            .engine = engine,
            .out = out,
            .scope_key = *key,
            .detail = detail,
        };
        if (err == ERR_OK &&
            scope_key_read(*key, &lister.scope, &lister.identity, NULL) ==
                ERR_OK) {
            err = list_scope(&lister, branch, piece);
            value_unref(lister.identity.principal);
            value_unref(lister.identity.session);
        }
        value_unref(*key);
    }
    vec_release(&scopes);
    if (err != ERR_OK) {
        run_list_release(out);
    }
    return err;
}

enum err run_history_pieces(struct engine *engine,
                            struct value branch,
                            struct value *out,
                            struct err_detail *detail)
{
    const struct branch *of = engine_branch(engine, branch);
    *out = VALUE_NONE;
    if (of == NULL) {
        return engine_unknown_branch(branch, detail);
    }
    struct value names = value_empty_array();
    struct query query = query_begin(&engine->database, STATEMENT_PIECE_NAMES);
    query_int(&query, 1, of->number);
    while (query_step(&query)) {
        const struct text name = query_get_text(&query, 0);
        names = array_push_adopt(names, value_string_new(name.at, name.length));
    }
    const enum err err = query_end(&query, detail);
    if (err != ERR_OK) {
        value_unref(names);
        return err;
    }
    *out = names;
    return ERR_OK;
}

/* -- Commits ------------------------------------------------------------- */

void commit_info_release(struct commit_info *commit)
{
    value_unref(commit->session);
    value_unref(commit->branch);
    value_unref(commit->effect);
    VEC_FOREACH (&commit->writes, write) {
        value_unref(write->scope_key);
        value_unref(write->id);
        value_unref(write->data);
    }
    vec_release(&commit->writes);
    *commit = (struct commit_info){0};
}

static enum err load_writes(struct engine *engine,
                            struct commit_info *commit,
                            struct err_detail *detail)
{
    struct query query =
        query_begin(&engine->database, STATEMENT_COMMIT_WRITES);
    query_int(&query, 1, commit->seq);
    bool whole = true;
    while (whole && query_step(&query)) {
        const struct text scope = query_get_text(&query, 0);
        const struct text id = query_get_text(&query, 1);
        const struct text data = query_get_text(&query, 3);
        struct commit_write *write = vec_add(&commit->writes);
        *write = (struct commit_write){
            .scope_key = value_string_new(scope.at, scope.length),
            .id = value_string_new(id.at, id.length),
        };
        whole = document_op_read(query_get_text(&query, 2), &write->op) &&
                (data.length == 0 ||
                 stored_read(engine, data, &write->data, NULL) == ERR_OK);
    }
    const enum err err = query_end(&query, detail);
    if (err != ERR_OK || whole) {
        return err;
    }
    return err_set(
        detail,
        ERR_CORRUPT,
        "the writes of commit %llu are damaged: 'heddle check' shows more",
        (unsigned long long)commit->seq);
}

enum err commits_visit(struct engine *engine,
                       uint64_t after,
                       uint64_t to,
                       commit_info_fn *visit,
                       void *ctx,
                       struct err_detail *detail)
{
    struct query query = query_begin(&engine->database, STATEMENT_COMMIT_SEEN);
    query_int(&query, 1, after > engine->horizon ? after : engine->horizon);
    query_int(&query, 2, to < engine->seq ? to : engine->seq);
    enum err err = ERR_OK;
    bool more = true;
    while (err == ERR_OK && more && query_step(&query)) {
        const struct text session = query_get_text(&query, 1);
        const struct text branch = query_get_text(&query, 2);
        struct commit_info commit = {
            .seq = query_get_int(&query, 0),
            .session = value_string_new(session.at, session.length),
            .branch = value_string_new(branch.at, branch.length),
            .at_ms = query_get_int(&query, 3),
        };
        const struct text effect = query_get_text(&query, 4);
        if (effect.length > 0 &&
            stored_read(engine, effect, &commit.effect, NULL) != ERR_OK) {
            commit.effect = VALUE_NONE; /* it is only informative */
        }
        err = load_writes(engine, &commit, detail);
        if (err == ERR_OK) {
            more = visit(ctx, &commit);
        }
        commit_info_release(&commit);
    }
    const enum err ended = query_end(&query, detail);
    return err != ERR_OK ? err : ended;
}

/* Takes it over from the walk. */
static bool keep_commit(void *ctx, const struct commit_info *commit)
{
    struct commit_info *out = ctx;
    *out = (struct commit_info){
        .seq = commit->seq,
        .session = value_ref(commit->session),
        .branch = value_ref(commit->branch),
        .at_ms = commit->at_ms,
        .effect = value_ref(commit->effect),
    };
    VEC_FOREACH (&commit->writes, write) {
        const struct commit_write copy = {
            .scope_key = value_ref(write->scope_key),
            .id = value_ref(write->id),
            .op = write->op,
            .data = value_ref(write->data),
        };
        vec_push(&out->writes, copy);
    }
    return false;
}

enum err commit_at(struct engine *engine,
                   uint64_t seq,
                   struct commit_info *out,
                   struct err_detail *detail)
{
    *out = (struct commit_info){0};
    const enum err err =
        seq > 0 ? commits_visit(engine, seq - 1, seq, keep_commit, out, detail)
                : ERR_OK;
    if (err != ERR_OK || out->seq == seq) {
        return err;
    }
    return err_set(detail,
                   ERR_NOT_FOUND,
                   "commit %llu not found, or compacted",
                   (unsigned long long)seq);
}

/* -- Values -------------------------------------------------------------- */

enum err run_value_at(struct engine *engine,
                      struct value branch,
                      const struct run_place *place,
                      uint64_t seq,
                      struct value *out,
                      struct err_detail *detail)
{
    struct branch *of = engine_branch(engine, branch);
    struct document *document = NULL;
    struct value whole = VALUE_NONE;
    *out = VALUE_NONE;
    if (of == NULL) {
        return engine_unknown_branch(branch, detail);
    }
    enum err err = document_find(engine,
                                 of,
                                 place->scope_key,
                                 place->id,
                                 &document,
                                 detail);
    if (err == ERR_OK) {
        err = document_at(engine, document, seq, FOLD_FAST, &whole, detail);
    }
    if (err == ERR_OK && !value_is_absent(whole)) {
        *out = value_ref(value_at(whole, place->path));
    }
    value_unref(whole);
    return err;
}
