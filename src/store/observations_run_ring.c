/* Runs of other connections: from an entry of the ring (run_ring.h) to the
 * rows, and from the rows to the observation that they were made of. */

#include <string.h>

#include "base/mem.h"
#include "store/observed.h"

/* An action being read from the rows. */
struct load {
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

bool engine_has_peers(const struct engine *engine)
{
    return database_has_listeners(&engine->database);
}

bool engine_runs_are_waiting(const struct engine *engine)
{
    return run_ring_is_waiting(&engine->database.run_ring);
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
static bool read_run(struct load *load, struct query *query)
{
    struct observation *observation = load->observation;
    const struct text error = query_get_text(query, 12);
    const struct text elsewhere = query_get_text(query, 13);
    load->seq = query_get_int(query, 10);
    observation->failed = error.length > 0;
    return !query_is_null(query, 10) && load->seq <= load->engine->seq &&
           query_get_int(query, 11) == observed_run_mark(load->action.number,
                                                         load->seq,
                                                         error,
                                                         elsewhere) &&
           (error.length == 0 || observed_bytes(query,
                                                12,
                                                &observation->error,
                                                sizeof observation->error)) &&
           read_elsewhere(elsewhere, observation);
}

/* The columns of the action and its piece. */
static bool read_action(struct load *load, struct query *query)
{
    struct observation *observation = load->observation;
    struct observed_action *action = &load->action;
    const uint64_t branch = query_get_int(query, 0);
    const struct text piece = query_get_text(query, 1);
    const uint64_t kind = query_get_int(query, 5);
    if (branch >= load->engine->branches.count || kind > ACTION_HANDLER) {
        return false;
    }
    load->branch = engine_branch_by_number(load->engine, branch)->name;
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
static enum err load_row(struct load *load, bool *whole)
{
    struct query query =
        query_begin(&load->engine->database, STATEMENT_RUN_TOLD);
    query_int(&query, 1, load->action.piece);
    query_int(&query, 2, load->action.number);
    *whole = false;
    if (query_step(&query)) {
        const struct text scope = query_get_text(&query, 4);
        const struct text space = {"space", strlen("space")};
        *whole = scope.length == space.length &&
                 memcmp(scope.at, space.at, space.length) == 0 &&
                 read_action(load, &query) && read_run(load, &query);
    }
    return query_end(&query, load->detail);
}

/* -- Its places ---------------------------------------------------------- */

static enum err load_edges(struct load *load)
{
    struct query query =
        query_begin(&load->engine->database, STATEMENT_EDGE_OF_ACTION);
    query_int(&query, 1, load->action.piece);
    query_int(&query, 2, load->action.number);
    while (query_step(&query)) {
        vec_push(&load->edges, query_get_int(&query, 0));
    }
    return query_end(&query, load->detail);
}

static bool add_place(struct load *load, struct query *query, uint64_t edge)
{
    const struct text space = query_get_text(query, 0);
    const struct text scope = query_get_text(query, 1);
    const struct text id = query_get_text(query, 2);
    const struct text text = query_get_text(query, 3);
    struct path *path = NULL;
    if (path_read_stored(&load->engine->paths,
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
    observation_add_place(load->observation,
                          where,
                          &target,
                          path,
                          (enum place_kind)(edge % PLACE_KINDS));
    load->action.edges +=
        observed_edge_sum(edge, observed_address_sum(space, scope, id, text));
    value_unref(where);
    value_unref(target.id);
    path_unref(path);
    return true;
}

static enum err load_places(struct load *load, bool *whole)
{
    enum err err = load_edges(load);
    VEC_FOREACH (&load->edges, edge) {
        if (err != ERR_OK || !*whole) {
            break;
        }
        struct query query =
            query_begin(&load->engine->database, STATEMENT_PLACE_GET);
        query_int(&query, 1, *edge / PLACE_KINDS);
        *whole = query_step(&query) && add_place(load, &query, *edge);
        err = query_end(&query, load->detail);
    }
    return err;
}

/* -- The whole observation ----------------------------------------------- */

static enum err load_code(struct load *load, bool *whole)
{
    struct resume_code code;
    const enum err err = observed_fingerprint_get(load->engine,
                                                  load->action.fingerprint,
                                                  &code,
                                                  whole,
                                                  load->detail);
    if (err == ERR_OK && *whole) {
        load->observation->fingerprints = (struct fingerprints){
            .implementation = code.implementation,
            .runtime = code.runtime,
            .schema = code.schema,
        };
    }
    return err;
}

/* The checksum is right, and the places match the digests (observation-1). All
 * of them have space scope, so the digests are those that the author made. */
static bool is_whole(struct load *load)
{
    const struct observed_action *action = &load->action;
    struct observation *observation = load->observation;
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
                     engine_run_fn *run_ring,
                     void *ctx,
                     struct err_detail *detail)
{
    struct load load = {
        .engine = engine,
        .action = {.piece = run_word_piece(word),
                   .number = run_word_action(word)},
        .observation = observation_new(),
        .detail = detail,
    };
    bool whole = false;
    enum err err = load_row(&load, &whole);
    if (err == ERR_OK && whole) {
        err = load_places(&load, &whole);
    }
    if (err == ERR_OK && whole) {
        err = load_code(&load, &whole);
    }
    if (err == ERR_OK && whole && is_whole(&load)) {
        run_ring(ctx, load.branch, load.seq, load.observation);
    }
    observation_unref(load.observation);
    vec_release(&load.edges);
    return err;
}

/* Entries were missed: reports everything since then. */
static enum err find_all(struct engine *engine,
                         uint64_t since,
                         run_words *words,
                         struct err_detail *detail)
{
    struct query query = query_begin(&engine->database, STATEMENT_RUN_SINCE);
    query_int(&query, 1, since);
    vec_clear(words);
    while (query_step(&query)) {
        const uint64_t word =
            run_word(query_get_int(&query, 0), query_get_int(&query, 1));
        if (word != 0) {
            vec_push(words, word);
        }
    }
    return query_end(&query, detail);
}

enum err engine_take_runs(struct engine *engine,
                          uint64_t since,
                          engine_run_fn *run_ring,
                          void *ctx,
                          struct err_detail *detail)
{
    run_words words = {0};
    enum err err = ERR_OK;
    if (!engine_runs_are_waiting(engine)) {
        return ERR_OK;
    }
    if (!run_ring_take(&engine->database.run_ring, &words)) {
        err = find_all(engine, since, &words, detail);
    }
    VEC_FOREACH (&words, word) {
        if (err == ERR_OK) {
            err = tell(engine, *word, run_ring, ctx, detail);
        }
    }
    vec_release(&words);
    return err;
}
