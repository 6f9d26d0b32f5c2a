/* Storing observations: the rows that a run leaves. */

#include "store/observations.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "store/conflict.h"
#include "store/images.h"
#include "store/observed.h"
#include "value/compare.h"
#include "value/object.h"

/* One observation being stored. */
struct taking {
    struct engine *engine;
    struct observed_cache *cache;
    const struct observation *observation;
    struct branch *branch;
    struct identity identity;
    struct err_detail *detail;
    struct observed_piece *piece;
    struct value scope_key; /* owned */
    uint64_t landed;        /* the commit of the run; 0: it made none */
};

/* -- Fingerprints -------------------------------------------------------- */

static bool is_fingerprint(const void *item, const void *key)
{
    const struct observed_fingerprint *fingerprint = item;
    return memcmp(&fingerprint->code, key, sizeof fingerprint->code) == 0;
}

static void bind_code(struct query *query, const struct resume_code *code)
{
    query_bytes(query, 1, &code->implementation, sizeof(struct digest));
    query_bytes(query, 2, &code->runtime, sizeof(struct digest));
    query_bytes(query, 3, &code->schema, sizeof(struct digest));
}

static enum err find_fingerprint_row(struct engine *engine,
                                     const struct resume_code *code,
                                     uint64_t *number,
                                     struct err_detail *detail)
{
    struct query query =
        query_begin(&engine->database, STATEMENT_FINGERPRINT_FIND);
    bind_code(&query, code);
    *number = query_step(&query) ? query_get_int(&query, 0) : 0;
    enum err err = query_end(&query, detail);
    if (err != ERR_OK || *number != 0) {
        return err;
    }
    query = query_begin(&engine->database, STATEMENT_FINGERPRINT_INSERT);
    bind_code(&query, code);
    (void)query_step(&query);
    *number = query_inserted(&query);
    return query_end(&query, detail);
}

static enum err find_fingerprint(struct taking *taking, uint64_t *number)
{
    const struct fingerprints *given = &taking->observation->fingerprints;
    const struct resume_code code = {
        .implementation = given->implementation,
        .runtime = given->runtime,
        .schema = given->schema,
    };
    struct map *map = &taking->cache->fingerprints;
    const uint64_t hash = digest_bits(&code.implementation) ^
                          digest_bits(&code.runtime) * 3 ^
                          digest_bits(&code.schema) * 7;
    const struct observed_fingerprint *known =
        map_find(map, hash, is_fingerprint, &code);
    if (known != NULL) {
        *number = known->number;
        return ERR_OK;
    }
    const enum err err =
        find_fingerprint_row(taking->engine, &code, number, taking->detail);
    if (err == ERR_OK) {
        struct observed_fingerprint *made = mem_alloc(sizeof *made);
        *made = (struct observed_fingerprint){code, *number};
        map_insert(map, hash, made);
    }
    return err;
}

/* -- Pieces -------------------------------------------------------------- */

static enum err insert_piece(struct taking *taking)
{
    struct query query =
        query_begin(&taking->engine->database, STATEMENT_PIECE_INSERT);
    query_int(&query, 1, taking->branch->number);
    query_kept(&query, 2, &taking->observation->piece);
    query_int(&query, 3, taking->observation->generation);
    (void)query_step(&query);
    const enum err err = query_end(&query, taking->detail);
    return err == ERR_OK ? observed_piece_find(taking->engine,
                                               taking->branch,
                                               taking->observation->piece,
                                               &taking->piece,
                                               taking->detail)
                         : err;
}

/* The piece, created if it is new; an observation of a later generation changes
 * the piece's generation. */
static enum err find_piece(struct taking *taking)
{
    const struct observation *observation = taking->observation;
    enum err err = observed_piece_find(taking->engine,
                                       taking->branch,
                                       observation->piece,
                                       &taking->piece,
                                       taking->detail);
    if (err == ERR_OK && taking->piece == NULL) {
        err = insert_piece(taking);
    }
    if (err != ERR_OK || taking->piece->generation >= observation->generation) {
        return err;
    }
    struct query query =
        query_begin(&taking->engine->database, STATEMENT_PIECE_GENERATION);
    query_int(&query, 1, taking->piece->number);
    query_int(&query, 2, observation->generation);
    (void)query_step(&query);
    err = query_end(&query, taking->detail);
    if (err == ERR_OK) {
        taking->piece->generation = observation->generation;
    }
    return err;
}

/* -- Actions ------------------------------------------------------------- */

static bool is_action(const void *item, const void *key)
{
    const struct observed_action *action = item;
    const struct taking *taking = key;
    return action->piece == taking->piece->number &&
           digest_equal(&action->name, &taking->observation->action) &&
           key_equal(action->scope_key, taking->scope_key);
}

static uint64_t hash_action(const struct taking *taking)
{
    return digest_bits(&taking->observation->action) + taking->piece->number;
}

/* What edges add to the checksum of an action, from the rows. */
static enum err load_edges(struct taking *taking, uint64_t action)
{
    vec_clear(&taking->cache->present);
    struct query query =
        query_begin(&taking->engine->database, STATEMENT_EDGE_OF_ACTION);
    query_int(&query, 1, taking->piece->number);
    query_int(&query, 2, action);
    while (query_step(&query)) {
        vec_push(&taking->cache->present, query_get_int(&query, 0));
    }
    return query_end(&query, taking->detail);
}

static enum err sum_edges(struct taking *taking, uint64_t *sum)
{
    enum err err = ERR_OK;
    *sum = 0;
    VEC_FOREACH (&taking->cache->present, edge) {
        struct query query =
            query_begin(&taking->engine->database, STATEMENT_PLACE_GET);
        query_int(&query, 1, *edge / PLACE_KINDS);
        if (query_step(&query)) {
            *sum += observed_edge_sum(
                *edge,
                observed_address_sum(query_get_text(&query, 0),
                                     query_get_text(&query, 1),
                                     query_get_text(&query, 2),
                                     query_get_text(&query, 3)));
        }
        const enum err ended = query_end(&query, taking->detail);
        err = err == ERR_OK ? ended : err;
    }
    return err;
}

/* The row; false if there is none, or it is damaged: then everything about it
 * is written again. */
static enum err load_action(struct taking *taking,
                            struct observed_action *action,
                            bool *whole)
{
    struct query query =
        query_begin(&taking->engine->database, STATEMENT_ACTION_FIND);
    query_int(&query, 1, taking->piece->number);
    query_bytes(&query,
                2,
                taking->observation->action.bytes,
                sizeof taking->observation->action.bytes);
    query_kept(&query, 3, &taking->scope_key);
    *whole = false;
    if (query_step(&query)) {
        action->number = query_get_int(&query, 0);
        action->generation = query_get_int(&query, 1);
        action->kind = (enum action_kind)query_get_int(&query, 2);
        action->fingerprint = query_get_int(&query, 3);
        *whole =
            observed_bytes(&query, 4, &action->sets, sizeof action->sets) &&
            observed_gates_read(query_get_text(&query, 5), &action->gates);
        action->sum = query_get_int(&query, 6);
    }
    enum err err = query_end(&query, taking->detail);
    if (err == ERR_OK && action->number != 0) {
        err = load_edges(taking, action->number);
    }
    if (err == ERR_OK && *whole) {
        err = sum_edges(taking, &action->edges);
        const uint64_t row =
            observed_row_sum(action, value_text(&action->scope_key));
        *whole = action->sum == observed_action_sum(row, action->edges);
    }
    return err;
}

/* The action, from the cache or the rows; NULL if it was never observed. An
 * inconsistent row is found, with digests of nothing. */
static enum err find_action(struct taking *taking, struct observed_action **out)
{
    const uint64_t hash = hash_action(taking);
    *out = map_find(&taking->cache->actions, hash, is_action, taking);
    if (*out != NULL) {
        return ERR_OK;
    }
    struct observed_action *action = mem_alloc_zero(sizeof *action);
    action->piece = taking->piece->number;
    action->name = taking->observation->action;
    action->scope_key = value_ref(taking->scope_key);
    bool whole = false;
    const enum err err = load_action(taking, action, &whole);
    if (err != ERR_OK || action->number == 0) {
        value_unref(action->scope_key);
        mem_free(action, sizeof *action);
        return err;
    }
    if (!whole) {
        action->sum = 0;
    }
    map_insert(&taking->cache->actions, hash, action);
    *out = action;
    return ERR_OK;
}

/* -- Writing them -------------------------------------------------------- */

static enum err write_edge(struct taking *taking,
                           enum statement statement,
                           uint64_t action,
                           uint64_t edge)
{
    struct query query = query_begin(&taking->engine->database, statement);
    query_int(&query, 1, taking->piece->number);
    query_int(&query, 2, action);
    query_int(&query, 3, edge);
    (void)query_step(&query);
    return query_end(&query, taking->detail);
}

static int compare_numbers(const void *a, const void *b)
{
    const uint64_t left = *(const uint64_t *)a;
    const uint64_t right = *(const uint64_t *)b;
    return (left > right) - (left < right);
}

/* The edges of the observation, in cache->wanted, sorted, and what they add to
 * the checksum. */
static enum err collect_edges(struct taking *taking, uint64_t *sum)
{
    const struct observation *observation = taking->observation;
    enum err err = ERR_OK;
    vec_clear(&taking->cache->wanted);
    *sum = 0;
    for (size_t i = 0; err == ERR_OK && i < observation->places.count; i++) {
        const struct observed_place *place = &observation->places.at[i];
        struct value key = VALUE_NONE;
        struct observed_address *address = NULL;
        err = scope_key_new(place->target.scope,
                            taking->identity,
                            &key,
                            taking->detail);
        if (err == ERR_OK) {
            err = observed_address_number(taking->engine,
                                          value_is_absent(place->space)
                                              ? value_string_new("", 0)
                                              : place->space,
                                          key,
                                          place->target.id,
                                          place->path,
                                          &address,
                                          taking->detail);
        }
        value_unref(key);
        if (err == ERR_OK) {
            const uint64_t edge =
                address->number * PLACE_KINDS + (uint64_t)place->kind;
            vec_push(&taking->cache->wanted, edge);
            *sum += observed_edge_sum(edge, address->sum);
        }
    }
    if (taking->cache->wanted.count > 1) {
        qsort(taking->cache->wanted.at,
              taking->cache->wanted.count,
              sizeof *taking->cache->wanted.at,
              compare_numbers);
    }
    return err;
}

/* Two at a time: most actions read one place and write one. */
static enum err write_two_edges(struct taking *taking,
                                uint64_t action,
                                const uint64_t edges[2])
{
    struct query query =
        query_begin(&taking->engine->database, STATEMENT_EDGE_INSERT_TWO);
    query_int(&query, 1, taking->piece->number);
    query_int(&query, 2, action);
    query_int(&query, 3, edges[0]);
    query_int(&query, 4, edges[1]);
    (void)query_step(&query);
    return query_end(&query, taking->detail);
}

/* Writes only the difference to the `present` edges: rows that stay are not
 * touched. */
static enum err write_edges(struct taking *taking, uint64_t action)
{
    enum err err = ERR_OK;
    const struct observed_cache *cache = taking->cache;
    size_t had = 0;
    size_t want = 0;
    while (err == ERR_OK &&
           (had < cache->present.count || want < cache->wanted.count)) {
        const uint64_t old =
            had < cache->present.count ? cache->present.at[had] : UINT64_MAX;
        const uint64_t new =
            want < cache->wanted.count ? cache->wanted.at[want] : UINT64_MAX;
        if (old == new) {
            had++;
            want++;
        } else if (old < new) {
            err = write_edge(taking, STATEMENT_EDGE_REMOVE, action, old);
            had++;
        } else if (had == cache->present.count &&
                   want + 1 < cache->wanted.count) {
            err = write_two_edges(taking, action, &cache->wanted.at[want]);
            want += 2;
        } else {
            err = write_edge(taking, STATEMENT_EDGE_INSERT, action, new);
            want++;
        }
    }
    return err;
}

static enum err write_action(struct taking *taking,
                             enum statement statement,
                             struct observed_action *action)
{
    char gates[GATES_TEXT];
    observed_gates_write(&action->gates, gates);
    const uint64_t row =
        observed_row_sum(action, value_text(&action->scope_key));
    action->sum = observed_action_sum(row, action->edges);
    const enum err err = images_drop_cached(taking->engine,
                                            taking->piece,
                                            action->number,
                                            taking->detail);
    if (err != ERR_OK) {
        return err;
    }
    struct query query = query_begin(&taking->engine->database, statement);
    query_int(&query, 1, action->piece);
    query_int(&query, 2, action->number);
    query_int(&query, 3, action->generation);
    query_bytes(&query, 4, action->name.bytes, sizeof action->name.bytes);
    query_kept(&query, 5, &action->scope_key);
    query_int(&query, 6, (uint64_t)action->kind);
    query_int(&query, 7, action->fingerprint);
    query_bytes(&query, 8, &action->sets, sizeof action->sets);
    if (gates[0] != '\0') {
        query_text(&query, 9, gates, strlen(gates));
    } else {
        query_null(&query, 9);
    }
    query_int(&query, 10, action->sum);
    (void)query_step(&query);
    return query_end(&query, taking->detail);
}

/* `seq` of UINT64_MAX: nothing is known any more.
 *
 * A run that was recorded as failed because its commit had no verdict yet is
 * reported again in a batch when it has one: that is no other run
 * (persistence-3 of sched/persistence.h), and neither is a batch that arrives
 * twice. */
static enum err write_run(struct taking *taking,
                          enum statement statement,
                          uint64_t action,
                          uint64_t seq)
{
    const struct observation *observation = taking->observation;
    const bool known = seq != UINT64_MAX;
    struct buf *elsewhere = &taking->cache->text;
    buf_clear(elsewhere);
    if (known) {
        observed_elsewhere_write(elsewhere, observation);
    }
    const bool failed = known && observation->failed;
    const struct text error = {
        (const char *)observation->error.bytes,
        failed ? sizeof observation->error.bytes : 0,
    };
    const struct text spaces = {buf_text(elsewhere), elsewhere->length};
    struct query query = query_begin(&taking->engine->database, statement);
    query_int(&query, 1, action);
    query_int(&query, 3, observed_run_mark(action, seq, error, spaces));
    if (known) {
        query_int(&query, 2, seq);
    } else {
        query_null(&query, 2);
    }
    if (failed) {
        query_bytes(&query, 4, error.at, error.length);
    } else {
        query_null(&query, 4);
    }
    if (spaces.length > 0) {
        query_text(&query, 5, spaces.at, spaces.length);
    } else {
        query_null(&query, 5);
    }
    query_int(&query, 6, taking->landed);
    (void)query_step(&query);
    if (known && observation->scope == SCOPE_SPACE) {
        run_ring_note(&taking->engine->database.run_ring,
                      taking->piece->number,
                      action);
    }
    return query_end(&query, taking->detail);
}

/* A commit is always another run; a batch has to be compared. */
static enum err update_run(struct taking *taking, uint64_t action, uint64_t seq)
{
    return write_run(taking,
                     taking->landed > 0 ? STATEMENT_RUN_LANDED
                                        : STATEMENT_RUN_UPDATE,
                     action,
                     seq);
}

/* The number of a new action, which no other has ever had. */
static enum err number_action(struct taking *taking, uint64_t *action)
{
    struct observed_cache *cache = taking->cache;
    enum err err = ERR_OK;
    if (cache->last_action == 0) {
        struct query query =
            query_begin(&taking->engine->database, STATEMENT_RUN_LAST);
        if (query_step(&query)) {
            cache->last_action = query_get_int(&query, 0);
        }
        err = query_end(&query, taking->detail);
    }
    *action = ++cache->last_action;
    return err;
}

/* -- The rows of an action ----------------------------------------------- */

static void fill_action(const struct taking *taking,
                        uint64_t fingerprint,
                        struct observed_action *action)
{
    const struct observation *observation = taking->observation;
    action->generation = observation->generation;
    action->kind = observation->kind;
    action->fingerprint = fingerprint;
    action->sets.surface = observation->fingerprints.surface;
    action->sets.read_set = observation->read_set;
    action->gates = observation->gates;
}

static bool same_sets(const struct taking *taking,
                      const struct observed_action *action)
{
    const struct observation *observation = taking->observation;
    return action->sum != 0 &&
           digest_equal(&action->sets.read_set, &observation->read_set) &&
           digest_equal(&action->sets.surface,
                        &observation->fingerprints.surface);
}

static bool same_action(const struct taking *taking,
                        uint64_t fingerprint,
                        const struct observed_action *action)
{
    const struct observation *observation = taking->observation;
    return action->generation == observation->generation &&
           action->kind == observation->kind &&
           action->fingerprint == fingerprint &&
           action->gates.debounce_ms == observation->gates.debounce_ms &&
           action->gates.throttle_ms == observation->gates.throttle_ms &&
           action->gates.no_auto_debounce ==
               observation->gates.no_auto_debounce;
}

/* Of one user's sessions, those that ran the action last stay. */
static enum err prune_sessions(struct taking *taking)
{
    struct buf from = {0};
    struct buf to = {0};
    const struct text key = value_text(&taking->scope_key);
    const char *last = memrchr(key.at, ':', key.length);
    CHECK(last != NULL);
    buf_append(&from, key.at, (size_t)(last - key.at) + 1);
    buf_append(&to, key.at, (size_t)(last - key.at));
    buf_append_char(&to, ':' + 1);
    VEC(uint64_t) actions = {0};
    struct query query =
        query_begin(&taking->engine->database, STATEMENT_ACTION_OF_SESSIONS);
    query_int(&query, 1, taking->piece->number);
    query_bytes(&query,
                2,
                taking->observation->action.bytes,
                sizeof taking->observation->action.bytes);
    query_text(&query, 3, buf_text(&from), from.length);
    query_text(&query, 4, buf_text(&to), to.length);
    query_int(&query, 5, SESSION_ROWS_KEPT);
    while (query_step(&query)) {
        vec_push(&actions, query_get_int(&query, 1));
    }
    enum err err = query_end(&query, taking->detail);
    VEC_FOREACH (&actions, action) {
        if (err == ERR_OK) {
            err = observed_action_remove(taking->engine,
                                         taking->piece->number,
                                         *action,
                                         taking->detail);
        }
    }
    if (actions.count > 0) {
        observations_forget(taking->engine);
        taking->cache = NULL;
    }
    vec_release(&actions);
    buf_release(&from);
    buf_release(&to);
    return err;
}

static enum err insert_action(struct taking *taking,
                              uint64_t fingerprint,
                              uint64_t seq)
{
    struct observed_action *action = mem_alloc_zero(sizeof *action);
    action->piece = taking->piece->number;
    action->name = taking->observation->action;
    action->scope_key = value_ref(taking->scope_key);
    fill_action(taking, fingerprint, action);
    map_insert(&taking->cache->actions, hash_action(taking), action);
    enum err err = number_action(taking, &action->number);
    if (err == ERR_OK) {
        err = write_run(taking, STATEMENT_RUN_INSERT, action->number, seq);
    }
    if (err == ERR_OK) {
        err = collect_edges(taking, &action->edges);
    }
    if (err == ERR_OK) {
        vec_clear(&taking->cache->present);
        err = write_edges(taking, action->number);
    }
    if (err == ERR_OK) {
        err = write_action(taking, STATEMENT_ACTION_INSERT, action);
    }
    if (err == ERR_OK && taking->observation->scope == SCOPE_SESSION) {
        err = prune_sessions(taking);
    }
    return err;
}

static enum err update_action(struct taking *taking,
                              uint64_t fingerprint,
                              struct observed_action *action,
                              uint64_t seq)
{
    enum err err = ERR_OK;
    const bool sets = same_sets(taking, action);
    if (!sets) {
        err = collect_edges(taking, &action->edges);
        if (err == ERR_OK) {
            err = load_edges(taking, action->number);
        }
        if (err == ERR_OK) {
            err = write_edges(taking, action->number);
        }
    }
    if (err == ERR_OK && (!sets || !same_action(taking, fingerprint, action))) {
        fill_action(taking, fingerprint, action);
        err = write_action(taking, STATEMENT_ACTION_UPDATE, action);
    }
    return err == ERR_OK ? update_run(taking, action->number, seq) : err;
}

static enum err take(struct taking *taking,
                     uint64_t seq,
                     enum observation_outcome *outcome)
{
    const struct observation *observation = taking->observation;
    uint64_t fingerprint = 0;
    struct observed_action *action = NULL;
    enum err err = find_piece(taking);
    if (err != ERR_OK) {
        return err;
    }
    if (taking->piece->generation > observation->generation) {
        *outcome = OBSERVATION_SUPERSEDED;
        return ERR_OK;
    }
    err = find_action(taking, &action);
    if (err == ERR_OK && !observation->has_places &&
        (action == NULL || !same_sets(taking, action))) {
        /* It ran, and nobody knows what it read: what is in the rows is of a
         * run before that. */
        *outcome = OBSERVATION_SET_UNKNOWN;
        return action == NULL ? ERR_OK
                              : update_run(taking, action->number, UINT64_MAX);
    }
    if (err == ERR_OK) {
        err = find_fingerprint(taking, &fingerprint);
    }
    if (err != ERR_OK) {
        return err;
    }
    return action == NULL ? insert_action(taking, fingerprint, seq)
                          : update_action(taking, fingerprint, action, seq);
}

/* Conflicting rows, with a number or a name that is taken, are damage, and no
 * reason to refuse a commit: they are repaired, or all removed. */
static enum err take_in_any_case(struct taking *taking,
                                 uint64_t seq,
                                 enum observation_outcome *outcome)
{
    enum err err = take(taking, seq, outcome);
    for (int i = 0; UNLIKELY(err == ERR_STORE) && i < OBSERVED_MENDINGS; i++) {
        err = observed_repair(taking->engine, i, taking->detail);
        if (err == ERR_OK) {
            taking->cache = observed_cache(taking->engine);
            taking->piece = NULL;
            *outcome = OBSERVATION_KEPT;
            err = take(taking, seq, outcome);
        }
    }
    return err;
}

/* -- From the engine ----------------------------------------------------- */

/* Whose observation it is. */
static enum err taking_begin(struct taking *taking,
                             struct engine *engine,
                             const struct commit *commit,
                             const struct observation *observation,
                             struct value principal,
                             struct err_detail *detail)
{
    *taking = (struct taking){
        .engine = engine,
        .cache = observed_cache(engine),
        .observation = observation,
        .branch = engine_branch(engine, commit->branch),
        .identity = {principal, commit->session},
        .detail = detail,
    };
    CHECK(taking->branch != NULL);
    return scope_key_new(observation->scope,
                         taking->identity,
                         &taking->scope_key,
                         detail);
}

enum err observations_take(struct engine *engine,
                           const struct commit *commit,
                           struct value principal,
                           uint64_t seq,
                           enum observation_outcome *outcome,
                           struct err_detail *detail)
{
    const struct observation *observation = commit->observation;
    struct taking taking;
    *outcome = OBSERVATION_KEPT;
    enum err err =
        taking_begin(&taking, engine, commit, observation, principal, detail);
    taking.landed = seq;
    if (err == ERR_OK) {
        /* What the admission has not proved is as old as the author says. */
        const struct observed_basis *basis = &observation->basis;
        err = take_in_any_case(&taking,
                               basis->given && basis->seq < seq ? basis->seq
                                                                : seq,
                               outcome);
    }
    value_unref(taking.scope_key);
    return err;
}

enum err observations_lose(struct engine *engine,
                           const struct commit *commit,
                           struct value principal,
                           struct err_detail *detail)
{
    const struct observation *observation = commit->observation;
    struct observed_action *action = NULL;
    struct taking taking;
    enum err err =
        taking_begin(&taking, engine, commit, observation, principal, detail);
    if (err == ERR_OK) {
        err = observed_piece_find(engine,
                                  taking.branch,
                                  observation->piece,
                                  &taking.piece,
                                  detail);
    }
    if (err == ERR_OK && taking.piece != NULL) {
        err = find_action(&taking, &action);
    }
    if (err == ERR_OK && action != NULL &&
        taking.piece->generation <= observation->generation) {
        err = update_run(&taking, action->number, UINT64_MAX);
    }
    value_unref(taking.scope_key);
    return err;
}

/* -- Batches ------------------------------------------------------------- */

/* A place that a batch's observation read, to be checked. */
struct checked {
    struct value scope_key;
    struct value id;
    struct path *path;
    enum read_kind kind;
};

typedef VEC(struct checked) checked_list;

static void checked_release(checked_list *list)
{
    VEC_FOREACH (list, one) {
        value_unref(one->scope_key);
        value_unref(one->id);
        path_unref(one->path);
    }
    vec_release(list);
}

static enum err add_given(struct taking *taking, checked_list *out)
{
    const struct observation *observation = taking->observation;
    enum err err = ERR_OK;
    for (size_t i = 0; err == ERR_OK && i < observation->places.count; i++) {
        const struct observed_place *place = &observation->places.at[i];
        if (!place_is_read(place->kind) || !value_is_absent(place->space)) {
            continue;
        }
        struct checked one = {
            .id = value_ref(place->target.id),
            .path = path_ref(place->path),
            .kind = place->kind == PLACE_SHAPE ? READ_SHAPE : READ_DEEP,
        };
        err = scope_key_new(place->target.scope,
                            taking->identity,
                            &one.scope_key,
                            taking->detail);
        vec_push(out, one);
    }
    return err;
}

/* The previous places, from the rows. A damaged one cannot be checked. */
static enum err add_stored(struct taking *taking,
                           checked_list *out,
                           bool *whole)
{
    enum err err = ERR_OK;
    VEC_FOREACH (&taking->cache->present, edge) {
        const enum place_kind kind = (enum place_kind)(*edge % PLACE_KINDS);
        if (err != ERR_OK || !place_is_read(kind)) {
            continue;
        }
        struct query query =
            query_begin(&taking->engine->database, STATEMENT_PLACE_GET);
        query_int(&query, 1, *edge / PLACE_KINDS);
        if (!query_step(&query)) {
            *whole = false;
        } else if (query_get_text(&query, 0).length == 0) {
            const struct text scope = query_get_text(&query, 1);
            const struct text id = query_get_text(&query, 2);
            const struct text path = query_get_text(&query, 3);
            struct checked one = {
                .scope_key = value_string_new(scope.at, scope.length),
                .id = value_string_new(id.at, id.length),
                .kind = kind == PLACE_SHAPE ? READ_SHAPE : READ_DEEP,
            };
            *whole = *whole && path_read_stored(&taking->engine->paths,
                                                path.at,
                                                path.length,
                                                &one.path,
                                                NULL) == ERR_OK;
            vec_push(out, one);
        }
        err = query_end(&query, taking->detail);
    }
    return err;
}

static enum err load_stored(struct taking *taking,
                            checked_list *out,
                            bool *whole)
{
    struct observed_action *action = NULL;
    enum err err = observed_piece_find(taking->engine,
                                       taking->branch,
                                       taking->observation->piece,
                                       &taking->piece,
                                       taking->detail);
    if (err == ERR_OK && taking->piece != NULL) {
        err = find_action(taking, &action);
    }
    *whole = action != NULL && same_sets(taking, action);
    if (err == ERR_OK && *whole) {
        err = load_edges(taking, action->number);
    }
    if (err == ERR_OK && *whole) {
        err = add_stored(taking, out, whole);
        if (!*whole) {
            action->sum = 0; /* it is not what the digests stand for */
        }
    }
    return err;
}

/* Whether everything that it read is unchanged since its basis. */
static enum err check_reads(struct taking *taking,
                            uint64_t session,
                            const checked_list *list,
                            enum observation_outcome *outcome)
{
    const struct observed_basis *basis = &taking->observation->basis;
    for (size_t i = 0; i < list->count; i++) {
        const struct checked *one = &list->at[i];
        struct conflict_query query = {
            .path = one->path,
            .kind = one->kind,
            .after_seq = basis->seq,
            .session = session,
            .layers = basis->layers.at.count > 0 ? &basis->layers : NULL,
        };
        uint64_t seq = 0;
        enum err err = document_find(taking->engine,
                                     taking->branch,
                                     one->scope_key,
                                     one->id,
                                     &query.document,
                                     taking->detail);
        if (err == ERR_OK) {
            err = conflict_find(taking->engine, &query, &seq, taking->detail);
        }
        if (err != ERR_OK || seq != 0) {
            *outcome = seq != 0 ? OBSERVATION_STALE : *outcome;
            return err;
        }
    }
    return ERR_OK;
}

enum err observations_take_alone(struct engine *engine,
                                 const struct commit *commit,
                                 const struct observation *observation,
                                 struct value principal,
                                 uint64_t session,
                                 enum observation_outcome *outcome,
                                 struct err_detail *detail)
{
    struct taking taking;
    checked_list list = {0};
    bool whole = true;
    *outcome = OBSERVATION_KEPT;
    enum err err =
        taking_begin(&taking, engine, commit, observation, principal, detail);
    /* Most come while nothing else has landed: then there is nothing to
     * check. */
    if (err == ERR_OK && observation->basis.seq < engine->seq) {
        err = observation->has_places ? add_given(&taking, &list)
                                      : load_stored(&taking, &list, &whole);
        if (err == ERR_OK && whole) {
            err = check_reads(&taking, session, &list, outcome);
        }
    }
    if (err == ERR_OK && *outcome == OBSERVATION_KEPT) {
        err = take_in_any_case(&taking, engine->seq, outcome);
    }
    checked_release(&list);
    value_unref(taking.scope_key);
    return err;
}

/* -- Forgetting ---------------------------------------------------------- */

static enum err forget_rows(struct engine *engine,
                            enum statement statement,
                            const struct branch *branch,
                            struct value piece,
                            struct err_detail *detail)
{
    struct query query = query_begin(&engine->database, statement);
    query_int(&query, 1, branch->number);
    query_string(&query, 2, piece);
    (void)query_step(&query);
    return query_end(&query, detail);
}

/* An image names the piece of its rows, so it is removed before the name is. */
enum err engine_piece_forget(struct engine *engine,
                             struct value branch,
                             struct value piece,
                             struct err_detail *detail)
{
    struct err_detail why = {0};
    enum err err = engine_write_begin(engine, &why);
    if (err == ERR_OK) {
        const struct branch *of = engine_branch(engine, branch);
        if (of == NULL) {
            err = engine_unknown_branch(branch, &why);
        } else {
            err = forget_rows(engine, STATEMENT_IMAGE_FORGET, of, piece, &why);
        }
        if (err == ERR_OK) {
            err = forget_rows(engine, STATEMENT_PIECE_FORGET, of, piece, &why);
        }
        observations_forget(engine);
        err = engine_write_end(engine, err, &why);
    }
    if (err != ERR_OK && detail != NULL) {
        *detail = why;
    }
    return err;
}
