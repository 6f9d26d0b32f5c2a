/* Runs of other connections: from an entry of the ring (ran.h) to the rows, and
 * from the rows to the observation that they were made of. */

#include <string.h>

#include "base/mem.h"
#include "store/observed.h"

/* An action being read from the rows. */
struct telling {
    struct engine *engine;
    struct observed_action action;
    struct observation *observation;
    struct value branch; /* name, borrowed */
    uint64_t seq;
    VEC(uint64_t) edges;
    struct err_detail *detail;
};

void engine_listen(struct engine *engine, bool listens)
{
    database_listen(&engine->database, listens);
}

bool engine_has_company(const struct engine *engine)
{
    return database_has_listeners(&engine->database);
}

bool engine_ran_is_waiting(const struct engine *engine)
{
    return ran_is_waiting(&engine->database.ran);
}

/* -- The row ------------------------------------------------------------- */

static bool read_elsewhere(struct text text, struct observation *observation)
{
    struct resume_page page = {0};
    struct resume_action action = {0};
    const bool valid = observed_elsewhere_read(text, &page, &action);
    VEC_FOREACH (&page.elsewhere, one) {
        observation_add_space(observation, one->space, one->branch, one->seq);
    }
    resume_page_release(&page);
    return valid;
}

/* The columns of the run. */
static bool read_run(struct telling *telling, struct query *query)
{
    struct observation *observation = telling->observation;
    const struct text error = query_get_text(query, 12);
    const struct text elsewhere = query_get_text(query, 13);
    telling->seq = query_get_int(query, 10);
    observation->failed = error.length > 0;
    return !query_is_null(query, 10) && telling->seq <= telling->engine->seq &&
           query_get_int(query, 11) == observed_run_mark(telling->action.number,
                                                         telling->seq,
                                                         error,
                                                         elsewhere) &&
           (error.length == 0 || observed_bytes(query,
                                                12,
                                                &observation->error,
                                                sizeof observation->error)) &&
           read_elsewhere(elsewhere, observation);
}

/* The columns of the action and its piece. */
static bool read_action(struct telling *telling, struct query *query)
{
    struct observation *observation = telling->observation;
    struct observed_action *action = &telling->action;
    const uint64_t branch = query_get_int(query, 0);
    const struct text piece = query_get_text(query, 1);
    const uint64_t kind = query_get_int(query, 5);
    if (branch >= telling->engine->branches.count || kind > ACTION_HANDLER) {
        return false;
    }
    telling->branch = engine_branch_by_number(telling->engine, branch)->name;
    observation->piece = value_string_new(piece.at, piece.length);
    action->generation = query_get_int(query, 2);
    action->kind = (enum action_kind)kind;
    action->fingerprint = query_get_int(query, 6);
    action->sum = query_get_int(query, 9);
    const bool whole =
        observed_bytes(query, 3, &action->name, sizeof action->name) &&
        observed_bytes(query, 7, &action->sets, sizeof action->sets) &&
        observed_gates_read(query_get_text(query, 8), &action->gates);
    observation->generation = action->generation;
    observation->action = action->name;
    observation->kind = action->kind;
    observation->gates = action->gates;
    return whole;
}

/* False: there is nothing to report. */
static enum err load_row(struct telling *telling, bool *whole)
{
    struct query query =
        query_begin(&telling->engine->database, STATEMENT_RUN_TOLD);
    query_int(&query, 1, telling->action.piece);
    query_int(&query, 2, telling->action.number);
    *whole = false;
    if (query_step(&query)) {
        const struct text scope = query_get_text(&query, 4);
        const struct text space = {"space", strlen("space")};
        *whole = scope.length == space.length &&
                 memcmp(scope.at, space.at, space.length) == 0 &&
                 read_action(telling, &query) && read_run(telling, &query);
    }
    return query_end(&query, telling->detail);
}

/* -- Its places ---------------------------------------------------------- */

static enum err load_edges(struct telling *telling)
{
    struct query query =
        query_begin(&telling->engine->database, STATEMENT_EDGE_OF_ACTION);
    query_int(&query, 1, telling->action.piece);
    query_int(&query, 2, telling->action.number);
    while (query_step(&query)) {
        vec_push(&telling->edges, query_get_int(&query, 0));
    }
    return query_end(&query, telling->detail);
}

static bool add_place(struct telling *telling,
                      struct query *query,
                      uint64_t edge)
{
    const struct text space = query_get_text(query, 0);
    const struct text scope = query_get_text(query, 1);
    const struct text id = query_get_text(query, 2);
    const struct text text = query_get_text(query, 3);
    struct path *path = NULL;
    if (path_read_stored(&telling->engine->paths,
                         text.at,
                         text.length,
                         &path,
                         NULL) != ERR_OK) {
        return false;
    }
    struct value where = space.length > 0
                             ? value_string_new(space.at, space.length)
                             : VALUE_NONE;
    const struct target target = {value_string_new(id.at, id.length),
                                  SCOPE_SPACE};
    observation_add_place(telling->observation,
                          where,
                          &target,
                          path,
                          (enum place_kind)(edge % PLACE_KINDS));
    telling->action.edges +=
        observed_edge_sum(edge, observed_address_sum(space, scope, id, text));
    value_unref(where);
    value_unref(target.id);
    path_unref(path);
    return true;
}

static enum err load_places(struct telling *telling, bool *whole)
{
    enum err err = load_edges(telling);
    VEC_FOREACH (&telling->edges, edge) {
        if (err != ERR_OK || !*whole) {
            break;
        }
        struct query query =
            query_begin(&telling->engine->database, STATEMENT_PLACE_GET);
        query_int(&query, 1, *edge / PLACE_KINDS);
        *whole = query_step(&query) && add_place(telling, &query, *edge);
        err = query_end(&query, telling->detail);
    }
    return err;
}

/* -- The whole observation ----------------------------------------------- */

static enum err load_code(struct telling *telling, bool *whole)
{
    struct resume_code code;
    const enum err err = observed_fingerprint_get(telling->engine,
                                                  telling->action.fingerprint,
                                                  &code,
                                                  whole,
                                                  telling->detail);
    if (err == ERR_OK && *whole) {
        telling->observation->fingerprints = (struct fingerprints){
            .implementation = code.implementation,
            .runtime = code.runtime,
            .schema = code.schema,
        };
    }
    return err;
}

/* The checksum is right, and the places match the digests (O1). All of them
 * have space scope, so the digests are those that the author made. */
static bool is_whole(struct telling *telling)
{
    const struct observed_action *action = &telling->action;
    struct observation *observation = telling->observation;
    const struct text scope = {"space", strlen("space")};
    observation_seal(observation);
    return action->sum == observed_action_sum(observed_row_sum(action, scope),
                                              action->edges) &&
           digest_equal(&observation->read_set, &action->sets.read_set) &&
           digest_equal(&observation->fingerprints.surface,
                        &action->sets.surface);
}

static enum err tell(struct engine *engine,
                     uint64_t word,
                     engine_ran_fn *ran,
                     void *ctx,
                     struct err_detail *detail)
{
    struct telling telling = {
        .engine = engine,
        .action = {.piece = ran_piece(word), .number = ran_action(word)},
        .observation = observation_new(),
        .detail = detail,
    };
    bool whole = false;
    enum err err = load_row(&telling, &whole);
    if (err == ERR_OK && whole) {
        err = load_places(&telling, &whole);
    }
    if (err == ERR_OK && whole) {
        err = load_code(&telling, &whole);
    }
    if (err == ERR_OK && whole && is_whole(&telling)) {
        ran(ctx, telling.branch, telling.seq, telling.observation);
    }
    observation_unref(telling.observation);
    vec_release(&telling.edges);
    return err;
}

/* Entries were missed: reports everything since then. */
static enum err find_all(struct engine *engine,
                         uint64_t since,
                         ran_words *words,
                         struct err_detail *detail)
{
    struct query query = query_begin(&engine->database, STATEMENT_RUN_SINCE);
    query_int(&query, 1, since);
    vec_clear(words);
    while (query_step(&query)) {
        const uint64_t word =
            ran_word(query_get_int(&query, 0), query_get_int(&query, 1));
        if (word != 0) {
            vec_push(words, word);
        }
    }
    return query_end(&query, detail);
}

enum err engine_ran(struct engine *engine,
                    uint64_t since,
                    engine_ran_fn *ran,
                    void *ctx,
                    struct err_detail *detail)
{
    ran_words words = {0};
    enum err err = ERR_OK;
    if (!engine_ran_is_waiting(engine)) {
        return ERR_OK;
    }
    if (!ran_take(&engine->database.ran, &words)) {
        err = find_all(engine, since, &words, detail);
    }
    VEC_FOREACH (&words, word) {
        if (err == ERR_OK) {
            err = tell(engine, *word, ran, ctx, detail);
        }
    }
    vec_release(&words);
    return err;
}
