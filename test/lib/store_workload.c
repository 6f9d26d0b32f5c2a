/* A life of a store (lib/store_workload.h is the manual). */

#include "lib/store_workload.h"
#include "lib/observe_kit.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/fault_vfs.h"
#include "lib/test.h"
#include "store/maintain.h"
#include "store/retention.h"
#include "store/verify.h"
#include "value/json.h"

/* -- Planning ------------------------------------------------------------ */

static void put_pad(struct buf *to, uint64_t count)
{
    memset(buf_reserve(to, (size_t)count), 'x', (size_t)count);
    buf_advance(to, (size_t)count);
}

static void put_list(struct buf *to, uint64_t count)
{
    buf_append_char(to, '[');
    for (uint64_t i = 0; i < count; i++) {
        buf_append_text(to, i > 0 ? ",0" : "0");
    }
    buf_append_char(to, ']');
}

/* What the document holds, as canonical JSON with apostrophes. */
static void put_payload(struct buf *to,
                        const struct workload_document *document)
{
    buf_append_text(to, "{'l':");
    put_list(to, document->list);
    buf_printf(to, ",'n':%" PRIu64 ",'p':'", document->number);
    put_pad(to, document->pad);
    buf_append_text(to, "'}");
}

/* Mostly small; sometimes more than a page has room for. */
static uint64_t draw_pad(struct random *random)
{
    return random_one_in(random, 5) ? random_below(random, 9000)
                                    : random_below(random, 60);
}

/* What a run saw goes with some of the commits: of a few actions, whose sets
 * change now and then. The check of the file compares their rows. */
static void put_observation(struct buf *line,
                            uint64_t which,
                            struct random *random)
{
    char text[96];
    struct path_table paths;
    path_table_init(&paths);
    (void)snprintf(text,
                   sizeof text,
                   "p/a%d deep D%d.n %s D%d out D%d%s",
                   (int)random_below(random, 4),
                   (int)random_below(random, WORKLOAD_DOCUMENTS),
                   random_one_in(random, 2) ? "shape" : "deep",
                   (int)random_below(random, 2),
                   (int)which,
                   random_one_in(random, 4) ? " same" : "");
    struct observation *observation = observe_new(&paths, text);
    struct value value = observation_write(observation);
    struct buf json = {0};
    json_write(&json, value, JSON_CANONICAL, 0);
    for (size_t i = 0; i < json.length; i++) {
        json.at[i] = (char)(json.at[i] == '"' ? '\'' : json.at[i]);
    }
    buf_printf(line, " | json 'observation':%s", buf_text(&json));
    buf_release(&json);
    value_unref(value);
    observation_unref(observation);
    path_table_release(&paths);
}

/* One commit on one document, and what becomes of it. */
static void plan_commit(struct workload *workload,
                        struct workload_step *step,
                        struct random *random)
{
    struct workload_state *state = &workload->state;
    const uint64_t branch = state->forked ? random_below(random, 2) : 0;
    const uint64_t which = random_below(random, WORKLOAD_DOCUMENTS);
    struct workload_document *document = &state->at[branch][which];
    struct buf *line = &step->commits[step->commit_count];
    const uint64_t number = ++workload->local_seq;
    buf_printf(line, "w %" PRIu64 " | ", number);
    buf_append_text(line, branch > 0 ? "branch side | " : "");
    document->number = number;
    if (document->alive && random_one_in(random, 8)) {
        document->alive = false;
        buf_printf(line, "delete D%" PRIu64, which);
    } else if (document->alive && !random_one_in(random, 4)) {
        document->list++;
        buf_printf(line,
                   "replace D%" PRIu64 ".n %" PRIu64 " | append D%" PRIu64
                   ".l [0]",
                   which,
                   number,
                   which);
    } else {
        document->alive = true;
        document->list = random_below(random, 3);
        document->pad = draw_pad(random);
        buf_printf(line, "set D%" PRIu64 " ", which);
        put_payload(line, document);
    }
    if (random_one_in(random, 2)) {
        put_observation(line, which, random);
    }
    step->commit_count++;
}

/* A neighbour in the group that is refused: its document has existed. */
static void plan_refused(struct workload *workload, struct workload_step *step)
{
    step->verdicts[step->commit_count] = ERR_RECEIPT_EXISTS;
    buf_printf(&step->commits[step->commit_count],
               "v %" PRIu64 " | absent first | set first 0",
               ++workload->local_seq);
    step->commit_count++;
}

static void plan_group(struct workload *workload,
                       struct workload_step *step,
                       struct random *random)
{
    const uint64_t count = 2 + random_below(random, WORKLOAD_GROUP_MAX - 1);
    const uint64_t refused = random_below(random, count);
    for (uint64_t i = 0; i < count; i++) {
        if (i == refused) {
            plan_refused(workload, step);
        } else {
            plan_commit(workload, step, random);
        }
    }
}

/* The first document is there from the beginning. */
static void plan_first(struct workload *workload, struct workload_step *step)
{
    buf_printf(&step->commits[0],
               "w %" PRIu64 " | set first 1",
               ++workload->local_seq);
    step->commit_count = 1;
}

static void plan_kind(struct workload *workload,
                      struct workload_step *step,
                      struct random *random)
{
    struct workload_state *state = &workload->state;
    switch (step->kind) {
    case WORK_COMMIT:
        if (random_one_in(random, 3)) {
            plan_group(workload, step, random);
        } else {
            plan_commit(workload, step, random);
        }
        break;
    case WORK_FORK:
        if (!state->forked) {
            memcpy(state->at[1], state->at[0], sizeof state->at[0]);
        }
        state->forked = true;
        break;
    case WORK_COMPACT:
    case WORK_CHECKPOINT:
    case WORK_REOPEN:
        break;
    }
}

static enum workload_kind draw_kind(struct random *random)
{
    static const enum workload_kind others[] = {WORK_FORK,
                                                WORK_COMPACT,
                                                WORK_CHECKPOINT,
                                                WORK_REOPEN};
    return random_one_in(random, 6)
               ? others[random_below(random, COUNT_OF(others))]
               : WORK_COMMIT;
}

void workload_init(struct workload *workload,
                   uint64_t seed,
                   size_t count,
                   enum durability durability)
{
    static const enum workload_kind first[] = {
        WORK_COMMIT,
        WORK_COMMIT,
        WORK_COMMIT,
        WORK_CHECKPOINT,
        WORK_COMMIT,
        WORK_FORK,
        WORK_COMMIT,
        WORK_COMMIT,
        WORK_COMPACT,
        WORK_COMMIT,
        WORK_REOPEN,
        WORK_COMMIT,
    };
    struct random random;
    random_init(&random, seed);
    *workload = (struct workload){
        .wal_bytes_max = 4096 * (4 + random_below(&random, 40)),
    };
    struct store_kit *kit = &workload->kit;
    kit_folder_new(kit->folder, sizeof kit->folder);
    (void)snprintf(kit->path, sizeof kit->path, "%s/space.db", kit->folder);
    kit->options = (struct engine_options){
        .path = kit->path,
        .vfs = FAULT_VFS,
        .durability = durability,
        .snapshot_patches = 2 + (uint32_t)random_below(&random, 4),
        .documents_cached = random_one_in(&random, 2) ? 2 : 0,
    };
    for (size_t i = 0; i < count; i++) {
        struct workload_step step = {
            .kind = i < COUNT_OF(first) ? first[i] : draw_kind(&random),
        };
        if (i == 0) {
            plan_first(workload, &step);
        } else {
            plan_kind(workload, &step, &random);
        }
        step.after = workload->state;
        vec_push(&workload->steps, step);
    }
}

void workload_release(struct workload *workload)
{
    workload_close(workload);
    for (size_t i = 0; i < KIT_GROUP_MAX; i++) {
        verdict_release(&workload->kit.verdicts[i]);
    }
    for (size_t i = 0; i < KIT_TEXTS; i++) {
        buf_release(&workload->kit.texts[i]);
    }
    kit_folder_remove(workload->kit.folder);
    VEC_FOREACH (&workload->steps, step) {
        for (size_t i = 0; i < step->commit_count; i++) {
            buf_release(&step->commits[i]);
        }
    }
    vec_release(&workload->steps);
}

/* -- Running ------------------------------------------------------------- */

enum err workload_open(struct workload *workload)
{
    struct store_kit *kit = &workload->kit;
    if (workload->is_open) {
        return ERR_OK;
    }
    kit->detail = (struct err_detail){0};
    const enum err err = engine_open(&kit->engine, &kit->options, &kit->detail);
    if (err == ERR_OK) {
        workload->is_open = true;
        kit->engine.database.wal_bytes_max = workload->wal_bytes_max;
    }
    return err;
}

void workload_close(struct workload *workload)
{
    if (workload->is_open) {
        engine_close(&workload->kit.engine);
    }
    workload->is_open = false;
}

static enum err run_commits(struct workload *workload,
                            const struct workload_step *step)
{
    struct store_kit *kit = &workload->kit;
    const char *lines[WORKLOAD_GROUP_MAX];
    for (size_t i = 0; i < step->commit_count; i++) {
        lines[i] = buf_text(&step->commits[i]);
    }
    kit_group(kit, lines, step->commit_count);
    for (size_t i = 0; kit->fault == ERR_OK && i < step->commit_count; i++) {
        if (kit->verdicts[i].err != step->verdicts[i]) {
            (void)test_fail(__FILE__,
                            __LINE__,
                            "%.200s\n  planned %s, got %s: %s",
                            lines[i],
                            err_name(step->verdicts[i]),
                            err_name(kit->verdicts[i].err),
                            kit->verdicts[i].detail.text);
        }
    }
    return kit->fault;
}

/* The collection leaves images of the actions that there are; what the later
 * steps observe drops them. Which sessions are alive does not matter: a plan
 * must lead to the same rows, however often the file was opened. */
static enum err compact(struct store_kit *kit)
{
    const struct retention retention = {
        .commits = (uint64_t)2 * WORKLOAD_GROUP_MAX,
        .now_ms = UINT64_MAX / 2,
    };
    struct compact_counts counts;
    struct retire_counts retired;
    struct collect_counts collected;
    enum err err = engine_compact(&kit->engine,
                                  ENGINE_HEAD,
                                  NULL,
                                  NULL,
                                  &counts,
                                  &kit->detail);
    if (err == ERR_OK) {
        err = engine_retire(&kit->engine,
                            &retention,
                            NULL,
                            NULL,
                            &retired,
                            &kit->detail);
    }
    return err != ERR_OK ? err
                         : engine_collect(&kit->engine,
                                          NULL,
                                          NULL,
                                          &collected,
                                          &kit->detail);
}

enum err workload_run(struct workload *workload, size_t index)
{
    const struct workload_step *step = &workload->steps.at[index];
    struct store_kit *kit = &workload->kit;
    const enum err err = workload_open(workload);
    if (err != ERR_OK) {
        return err;
    }
    kit->detail = (struct err_detail){0};
    switch (step->kind) {
    case WORK_COMMIT:
        return run_commits(workload, step);
    case WORK_FORK:
        return kit_fork(kit, "side", "", ENGINE_HEAD);
    case WORK_COMPACT:
        return compact(kit);
    case WORK_CHECKPOINT:
        return database_checkpoint(&kit->engine.database, true, &kit->detail);
    case WORK_REOPEN:
        workload_close(workload);
        return workload_open(workload);
    }
    UNREACHABLE("all kinds are above");
}

/* -- Looking ------------------------------------------------------------- */

static void put_expected(struct buf *to,
                         const struct workload_state *state,
                         size_t branch,
                         size_t which)
{
    const struct workload_document *document = &state->at[branch][which];
    if (branch > 0 && !state->forked) {
        buf_append_text(to, err_name(ERR_BRANCH_UNKNOWN));
    } else if (!document->alive) {
        buf_append_text(to, "(absent)");
    } else {
        buf_append_text(to, "{'value':");
        put_payload(to, document);
        buf_append_char(to, '}');
    }
}

static enum workload_sight look_at(struct workload *workload,
                                   const struct workload_state *state,
                                   size_t branch,
                                   size_t which,
                                   struct buf *why)
{
    struct store_kit *kit = &workload->kit;
    char name[32];
    (void)
        snprintf(name, sizeof name, "%sD%zu", branch > 0 ? "side/" : "", which);
    struct buf want = {0};
    put_expected(&want, state, branch, which);
    const char *got = kit_read(kit, name);
    enum workload_sight sight = WORKLOAD_EQUAL;
    if (strcmp(got, buf_text(&want)) != 0) {
        sight =
            kit->detail.err == ERR_OK || kit->detail.err == ERR_BRANCH_UNKNOWN
                ? WORKLOAD_DIFFERENT
                : WORKLOAD_UNREADABLE;
        buf_printf(why,
                   "%s is %.60s (%s), not %.60s; ",
                   name,
                   got,
                   kit->detail.text,
                   buf_text(&want));
    }
    buf_release(&want);
    return sight;
}

enum workload_sight workload_look(struct workload *workload,
                                  size_t done,
                                  struct buf *why)
{
    static const struct workload_state nothing = {0};
    const struct workload_state *state =
        done > 0 ? &workload->steps.at[done - 1].after : &nothing;
    enum workload_sight worst = WORKLOAD_EQUAL;
    for (size_t branch = 0; branch < WORKLOAD_BRANCHES; branch++) {
        for (size_t which = 0; which < WORKLOAD_DOCUMENTS; which++) {
            const enum workload_sight sight =
                look_at(workload, state, branch, which, why);
            worst = sight > worst ? sight : worst;
        }
    }
    return worst;
}

static void on_difference(void *ctx, const char *sentence)
{
    (void)ctx;
    (void)test_fail(__FILE__, __LINE__, "engine_verify: %s", sentence);
}

bool workload_verify(struct workload *workload)
{
    const struct verify_options options = {.difference = on_difference};
    struct verify_counts counts = {0};
    struct err_detail detail = {0};
    const enum err err =
        engine_verify(&workload->kit.engine, &options, &counts, &detail);
    if (err != ERR_OK) {
        return test_fail(__FILE__,
                         __LINE__,
                         "engine_verify failed: %s",
                         detail.text);
    }
    return counts.differences == 0;
}
