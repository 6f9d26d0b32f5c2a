/* Maintenance of the rows of observations: removes what is unreachable, finds
 * what is inconsistent, and may remove that, too. Only work is lost: an action
 * without rows runs once. */

#include <stdio.h>

#include "base/mem.h"
#include "store/images.h"
#include "store/observed.h"
#include "store/observed_page.h"
#include "value/compare.h"

enum {
    SWEEP_STEP = 1000 /* rows looked at in one transaction */
};

/* -- Collecting ---------------------------------------------------------- */

struct doomed {
    uint64_t piece;
    uint64_t number;
};

typedef VEC(struct doomed) doomed_list;

/* The position of the sweep, and which rows of a page to remove. */
struct sweep {
    struct engine *engine;
    struct collect_counts *counts;
    struct err_detail *detail;
    uint64_t piece;
    uint64_t number;
    bool more;
    doomed_list doomed;
};

static enum err find_actions(struct sweep *sweep)
{
    struct query query =
        query_begin(&sweep->engine->database, STATEMENT_ACTION_SWEEP);
    query_int(&query, 1, sweep->piece);
    query_int(&query, 2, sweep->number);
    query_int(&query, 3, SWEEP_STEP);
    uint64_t rows = 0;
    while (query_step(&query)) {
        const uint64_t piece = query_get_int(&query, 0);
        const uint64_t number = query_get_int(&query, 1);
        if (!query_expects(&query,
                           piece > sweep->piece || (piece == sweep->piece &&
                                                    number > sweep->number))) {
            break;
        }
        rows++;
        sweep->piece = piece;
        sweep->number = number;
        if (query_get_int(&query, 2) != 0) {
            const struct doomed one = {sweep->piece, sweep->number};
            vec_push(&sweep->doomed, one);
        }
    }
    sweep->more = rows == SWEEP_STEP;
    return query_end(&query, sweep->detail);
}

static enum err sweep_actions(struct sweep *sweep)
{
    enum err err = find_actions(sweep);
    VEC_FOREACH (&sweep->doomed, one) {
        if (err == ERR_OK) {
            err = observed_action_remove(sweep->engine,
                                         one->piece,
                                         one->number,
                                         sweep->detail);
            sweep->counts->actions++;
        }
    }
    return err;
}

static enum err sweep_pieces(struct sweep *sweep)
{
    struct query query =
        query_begin(&sweep->engine->database, STATEMENT_PIECE_SWEEP);
    (void)query_step(&query);
    const enum err err = query_end(&query, sweep->detail);
    sweep->counts->pieces +=
        (uint64_t)sqlite3_changes64(sweep->engine->database.db);
    sweep->more = false;
    if (err != ERR_OK) {
        return err;
    }
    query = query_begin(&sweep->engine->database, STATEMENT_IMAGE_SWEEP);
    (void)query_step(&query);
    return query_end(&query, sweep->detail);
}

static enum err find_places(struct sweep *sweep)
{
    struct query query =
        query_begin(&sweep->engine->database, STATEMENT_PLACE_SWEEP);
    query_int(&query, 1, sweep->number);
    query_int(&query, 2, SWEEP_STEP);
    uint64_t rows = 0;
    while (query_step(&query)) {
        const uint64_t number = query_get_int(&query, 0);
        if (!query_expects(&query, number > sweep->number)) {
            break;
        }
        rows++;
        sweep->number = number;
        if (query_get_int(&query, 1) == 0) {
            const struct doomed one = {0, sweep->number};
            vec_push(&sweep->doomed, one);
        }
    }
    sweep->more = rows == SWEEP_STEP;
    return query_end(&query, sweep->detail);
}

static enum err sweep_places(struct sweep *sweep)
{
    enum err err = find_places(sweep);
    VEC_FOREACH (&sweep->doomed, one) {
        if (err == ERR_OK) {
            struct query query =
                query_begin(&sweep->engine->database, STATEMENT_PLACE_REMOVE);
            query_int(&query, 1, one->number);
            (void)query_step(&query);
            err = query_end(&query, sweep->detail);
            sweep->counts->places++;
        }
    }
    return err;
}

/* There are few, and their numbers are reused: caches of them must be
 * dropped. */
static enum err sweep_fingerprints(struct sweep *sweep)
{
    struct query query =
        query_begin(&sweep->engine->database, STATEMENT_FINGERPRINT_SWEEP);
    (void)query_step(&query);
    const enum err err = query_end(&query, sweep->detail);
    sweep->counts->fingerprints +=
        (uint64_t)sqlite3_changes64(sweep->engine->database.db);
    sweep->more = false;
    observations_forget(sweep->engine);
    return err;
}

/* The next piece. */
static enum err next_piece(struct sweep *sweep)
{
    struct query query =
        query_begin(&sweep->engine->database, STATEMENT_PIECE_ALL);
    query_int(&query, 1, sweep->piece);
    sweep->more = query_step(&query);
    const uint64_t piece = sweep->more ? query_get_int(&query, 0) : 0;
    (void)query_expects(&query, !sweep->more || piece > sweep->piece);
    sweep->piece = piece;
    sweep->number = 0;
    return query_end(&query, sweep->detail);
}

/* Writes missing images: at this time no caller waits. */
static enum err write_images(struct sweep *sweep)
{
    bool more = false;
    enum err err = ERR_OK;
    if (sweep->piece > 0) {
        err = images_write(sweep->engine,
                           sweep->piece,
                           &sweep->number,
                           &more,
                           sweep->detail);
        observations_forget(sweep->engine);
    }
    return err != ERR_OK || more ? err : next_piece(sweep);
}

typedef enum err sweep_fn(struct sweep *sweep);

/* One step in a transaction of its own. */
static enum err sweep_step(struct sweep *sweep, sweep_fn *step)
{
    enum err err = engine_write_begin(sweep->engine, sweep->detail);
    if (err != ERR_OK) {
        return err;
    }
    vec_clear(&sweep->doomed);
    err = step(sweep);
    if (sweep->doomed.count > 0) {
        observations_forget(sweep->engine);
    }
    return engine_write_end(sweep->engine, err, sweep->detail);
}

enum err engine_collect(struct engine *engine,
                        bool (*progress)(void *ctx, uint64_t done),
                        void *ctx,
                        struct collect_counts *counts,
                        struct err_detail *detail)
{
    static sweep_fn *const steps[] = {sweep_actions,
                                      sweep_pieces,
                                      sweep_places,
                                      sweep_fingerprints,
                                      write_images};
    struct err_detail why = {0};
    struct sweep sweep = {.engine = engine, .counts = counts, .detail = &why};
    enum err err = ERR_OK;
    uint64_t done = 0;
    *counts = (struct collect_counts){0};
    for (size_t i = 0; i < COUNT_OF(steps); i++) {
        sweep.piece = sweep.number = 0;
        sweep.more = true;
        while (err == ERR_OK && sweep.more && !counts->stopped) {
            err = sweep_step(&sweep, steps[i]);
            counts->stopped = progress != NULL && !progress(ctx, ++done);
        }
    }
    vec_release(&sweep.doomed);
    if (err != ERR_OK && detail != NULL) {
        *detail = why;
    }
    return err;
}

/* -- Checking ------------------------------------------------------------ */

/* A piece, and what to do with the pages of its actions. */
struct inspection {
    struct engine *engine;
    struct err_detail *detail;
    uint64_t actions;
    observed_difference_fn *difference; /* NULL: no report */
    void *ctx;
    doomed_list *doomed; /* inconsistent actions, or NULL */
};

__attribute__((format(printf, 2, 3))) static void differs(
    struct inspection *inspection,
    const char *format,
    ...)
{
    char sentence[ERR_TEXT_SIZE];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(sentence, sizeof sentence, format, args);
    va_end(args);
    if (inspection->difference != NULL) {
        inspection->difference(inspection->ctx, sentence);
    }
}

/* Whether the digests are those of the places. */
static bool digests_fit(const struct resume_page *page,
                        const struct resume_action *action)
{
    struct observation *copy = observation_new();
    for (uint32_t i = 0; i < action->place_count; i++) {
        const uint32_t index = page->indexes.at[action->places + i];
        const struct resume_place *place =
            &page->places.at[resume_index_place(index)];
        observation_add_place(copy,
                              place->space,
                              &place->target,
                              place->path,
                              resume_index_kind(index));
    }
    observation_seal(copy);
    const bool fit =
        digest_equal(&copy->read_set, &action->read_set) &&
        digest_equal(&copy->fingerprints.surface, &action->surface);
    observation_unref(copy);
    return fit;
}

/* A run of which nothing is known has no watermark; that is no damage. */
static enum err is_unknown_on_purpose(struct inspection *inspection,
                                      uint64_t action,
                                      bool *out)
{
    struct query query =
        query_begin(&inspection->engine->database, STATEMENT_RUN_GET);
    query_int(&query, 1, action);
    *out = query_step(&query) && query_is_null(&query, 0);
    return query_end(&query, inspection->detail);
}

static enum err inspect_page(struct inspection *inspection,
                             uint64_t piece,
                             const struct resume_page *page)
{
    enum err err = ERR_OK;
    VEC_FOREACH (&page->actions, action) {
        bool fits =
            action->state != RESUME_UNKNOWN && digests_fit(page, action);
        inspection->actions++;
        if (err == ERR_OK && !fits && action->state == RESUME_UNKNOWN) {
            err = is_unknown_on_purpose(inspection, action->number, &fits);
        }
        if (err == ERR_OK && !fits) {
            differs(inspection,
                    "action %llu of piece %llu: its rows are inconsistent",
                    (unsigned long long)action->number,
                    (unsigned long long)piece);
            if (inspection->doomed != NULL) {
                const struct doomed one = {piece, action->number};
                vec_push(inspection->doomed, one);
            }
        }
    }
    return err;
}

static enum err inspect_piece(struct inspection *inspection, uint64_t piece)
{
    struct resume_page page = {0};
    uint64_t after = 0;
    enum err err = ERR_OK;
    do {
        resume_page_release(&page);
        err = resume_page_of_piece(inspection->engine,
                                   piece,
                                   after,
                                   &page,
                                   inspection->detail);
        if (err == ERR_OK) {
            err = inspect_page(inspection, piece, &page);
        }
        VEC_FOREACH (&page.actions, action) {
            after = action->number;
        }
    } while (err == ERR_OK && page.more);
    resume_page_release(&page);
    return err;
}

static enum err inspect_orphans(struct inspection *inspection)
{
    static const char *const what[] = {
        "runs have no action",
        "edges have no action",
        "actions have no run",
        "actions have no piece",
        "edges of mirrors have no target",
    };
    struct query query =
        query_begin(&inspection->engine->database, STATEMENT_OBSERVED_ORPHANS);
    uint64_t counts[COUNT_OF(what)] = {0};
    if (query_step(&query)) {
        for (size_t i = 0; i < COUNT_OF(what); i++) {
            counts[i] = query_get_int(&query, (int)i);
        }
    }
    const enum err err = query_end(&query, inspection->detail);
    for (size_t i = 0; i < COUNT_OF(what); i++) {
        if (counts[i] > 0) {
            differs(inspection,
                    "%llu %s",
                    (unsigned long long)counts[i],
                    what[i]);
        }
    }
    return err;
}

/* Every piece, by its row. */
static enum err inspect_all(struct inspection *inspection)
{
    uint64_t piece = 0;
    bool more = true;
    enum err err = ERR_OK;
    while (err == ERR_OK && more) {
        struct query query =
            query_begin(&inspection->engine->database, STATEMENT_PIECE_ALL);
        query_int(&query, 1, piece);
        more = query_step(&query);
        if (more) {
            const uint64_t before = piece;
            piece = query_get_int(&query, 0);
            (void)query_expects(&query, piece > before);
            if (query_get_int(&query, 1) >=
                inspection->engine->branches.count) {
                differs(inspection,
                        "piece %llu is on an unknown branch",
                        (unsigned long long)piece);
            }
        }
        err = query_end(&query, inspection->detail);
        if (err == ERR_OK && more) {
            err = inspect_piece(inspection, piece);
        }
    }
    return err;
}

enum err observations_check(struct engine *engine,
                            observed_difference_fn *difference,
                            void *ctx,
                            uint64_t *actions,
                            struct err_detail *detail)
{
    struct inspection inspection = {
        .engine = engine,
        .detail = detail,
        .difference = difference,
        .ctx = ctx,
    };
    enum err err = inspect_orphans(&inspection);
    if (err == ERR_OK) {
        err = inspect_all(&inspection);
    }
    *actions = inspection.actions;
    return err == ERR_OK ? images_check(engine, difference, ctx, false, detail)
                         : err;
}

/* -- Repairing ----------------------------------------------------------- */

static const char repair_sql[] =
    "DELETE FROM piece WHERE piece < 1; DELETE FROM place WHERE place < 1;"
    "DELETE FROM fingerprint WHERE fingerprint < 1;"
    "DELETE FROM run WHERE action < 1; DELETE FROM action WHERE action < 1;"
    "DELETE FROM action WHERE piece NOT IN (SELECT piece FROM piece)"
    "  OR action NOT IN (SELECT action FROM run);"
    "DELETE FROM run WHERE action NOT IN (SELECT action FROM action);"
    "DELETE FROM edge WHERE NOT EXISTS(SELECT 1 FROM action a"
    "  WHERE a.piece = edge.piece AND a.action = edge.action);"
    "DELETE FROM mirror_edge WHERE mirror NOT IN (SELECT mirror FROM mirror)"
    "  OR edge / 4 NOT IN (SELECT place FROM place);"
    "REINDEX edge_by_place; REINDEX mirror_by_place;"
    "REINDEX place_by_address; REINDEX action_by_name; REINDEX piece_by_id";

static enum err repair(struct engine *engine,
                       uint64_t *removed,
                       struct err_detail *detail)
{
    doomed_list doomed = {0};
    struct inspection inspection = {
        .engine = engine,
        .detail = detail,
        .doomed = &doomed,
    };
    const int64_t before = sqlite3_total_changes64(engine->database.db);
    enum err err = inspect_all(&inspection);
    VEC_FOREACH (&doomed, one) {
        if (err == ERR_OK) {
            err =
                observed_action_remove(engine, one->piece, one->number, detail);
        }
    }
    vec_release(&doomed);
    if (err == ERR_OK) {
        err = database_run(&engine->database, repair_sql, detail);
    }
    if (err == ERR_OK) {
        err = images_check(engine, NULL, NULL, true, detail);
    }
    *removed =
        (uint64_t)(sqlite3_total_changes64(engine->database.db) - before);
    return err;
}

/* Nothing is recorded any more, which is always correct. */
static const char clear_sql[] =
    "DELETE FROM image; DELETE FROM action; DELETE FROM run; DELETE FROM edge;"
    "DELETE FROM piece; DELETE FROM fingerprint; DELETE FROM mirror_edge;"
    "DELETE FROM mirror; DELETE FROM place";

enum err observed_repair(struct engine *engine,
                         int attempt,
                         struct err_detail *detail)
{
    uint64_t removed = 0;
    observations_forget(engine);
    const enum err err =
        attempt == 0 ? repair(engine, &removed, detail)
                     : database_run(&engine->database, clear_sql, detail);
    observations_forget(engine);
    return err;
}

enum err engine_repair_observations(struct engine *engine,
                                    uint64_t *removed,
                                    struct err_detail *detail)
{
    struct err_detail why = {0};
    *removed = 0;
    enum err err = engine_write_begin(engine, &why);
    if (err == ERR_OK) {
        observations_forget(engine);
        err = repair(engine, removed, &why);
        observations_forget(engine);
        err = engine_write_end(engine, err, &why);
    }
    if (err != ERR_OK && detail != NULL) {
        *detail = why;
    }
    return err;
}
