/* The engine against a naive model (lib/store_model.h): random schedules of
 * several authors on a few documents and branches, which are merged, closed,
 * compacted and copied on the way. What the engine accepts the model accepts;
 * what it refuses it may refuse; every document at every seq is the same; the
 * check of the file finds nothing; and the records of the whole schedule,
 * applied to an empty engine, give the same tables and the same chain. */

#include <stdio.h>

#include "lib/store_compare.h"
#include "lib/test.h"
#include "lib/values.h"
#include "store/maintain.h"
#include "store/merge.h"
#include "value/array.h"
#include "value/compare.h"
#include "value/json.h"
#include "value/object.h"

/* The release build runs 2,000 schedules in memory and some on files. The two
 * builds with sanitizers take four times as long for one: they run fewer. */
enum {
    STEPS = 50,
#ifdef HD_PARANOID
    SCHEDULES = 800,
    SCHEDULES_IN_FILES = 24,
#else
    SCHEDULES = 2000,
    SCHEDULES_IN_FILES = 60,
#endif
};

/* -- What has happened in all schedules ---------------------------------- */

static struct {
    uint64_t schedules;
    uint64_t landed;
    uint64_t landed_on_branches;
    uint64_t landed_in_scopes;
    uint64_t confirmed_accepted;
    uint64_t pending_accepted;
    uint64_t sparse_accepted;
    uint64_t sparse_refused;
    uint64_t views_accepted;
    uint64_t views_ahead_accepted; /* with own commits above their seq */
    uint64_t views_refused;        /* and the reads alone would have landed */
    uint64_t replays;
    uint64_t stricter; /* refused, and the model would not have */
    uint64_t groups;
    uint64_t forks;
    uint64_t closes;
    uint64_t elided;
    uint64_t elided_on_branches;
    uint64_t merged;            /* landed */
    uint64_t merged_alike;      /* nothing to do */
    uint64_t merges_conflicted; /* before there was a commit */
    uint64_t merges_overtaken;
    uint64_t merges_refused;     /* when it came */
    uint64_t compactions;        /* that moved the horizon */
    uint64_t reads_refused;      /* because of it */
    uint64_t landed_compacted;   /* behind it */
    uint64_t forgotten_accepted; /* reads from before it */
    uint64_t forgotten_refused;
    uint64_t replicas_uncompacted;
    uint64_t backups;
    uint64_t snapshots;
    uint64_t reopened;
    uint64_t refused[128]; /* by error */
} seen;

/* -- Comparing ----------------------------------------------------------- */

/* What had landed, for the reader of a failure. */
static void print_log(const struct schedule *schedule)
{
    for (size_t i = 0; i < schedule->model.log.count; i++) {
        struct buf text = {0};
        struct value commit =
            object_remove_adopt(commit_write(schedule->model.log.at[i].commit),
                                value_text_new("reads"));
        json_write(&text, commit, JSON_AS_GIVEN, 0);
        (void)printf("#   %zu %s\n", i + 1, buf_text(&text));
        value_unref(commit);
        buf_release(&text);
    }
}

static void fail_commit(struct schedule *schedule,
                        const struct engine_request *request,
                        const struct model_answer *want,
                        const char *what)
{
    struct buf text = {0};
    struct value commit = commit_write(request->commit);
    json_write(&text, commit, JSON_AS_GIVEN, 0);
    value_unref(commit);
    (void)test_fail(__FILE__,
                    __LINE__,
                    "%s\n  commit %s\n  engine %s (seq %" PRIu64
                    ") %s\n  model  %s (seq %" PRIu64 ")%s",
                    what,
                    buf_text(&text),
                    err_name(request->verdict.err),
                    request->verdict.seq,
                    request->verdict.detail.text,
                    err_name(want->err),
                    want->seq,
                    want->may_conflict ? " or CONFLICT" : "");
    buf_release(&text);
    print_log(schedule);
    schedule->failed = true;
}

static bool is_same_resolution(const struct verdict *verdict,
                               const struct model_answer *want)
{
    bool same = verdict->resolved.count == want->resolved.count;
    for (size_t i = 0; same && i < verdict->resolved.count; i++) {
        same = verdict->resolved.at[i].local_seq ==
                   want->resolved.at[i].local_seq &&
               verdict->resolved.at[i].seq == want->resolved.at[i].seq;
    }
    return same;
}

static bool is_same_elision(const struct verdict *verdict,
                            const struct model_answer *want)
{
    bool same = verdict->elided.count == want->elided.count;
    for (size_t i = 0; same && i < verdict->elided.count; i++) {
        same = verdict->elided.at[i] == want->elided.at[i];
    }
    return same;
}

/* Layers of the author since then that the read does not name. */
static bool is_sparse(const struct schedule *schedule,
                      const struct author *author,
                      const struct commit *commit,
                      const struct commit_read *read)
{
    size_t sent = 0;
    for (size_t i = 0; i < schedule->commits.count; i++) {
        sent +=
            schedule->commit_authors.at[i] == author &&
                    schedule->commits.at[i]->local_seq < commit->local_seq &&
                    schedule->commits.at[i]->local_seq >= read->layers.at.at[0]
                ? 1
                : 0;
    }
    return read->pending && sent > read->layers.at.count;
}

static void count_reads(const struct schedule *schedule,
                        const struct author *author,
                        const struct engine_request *request)
{
    const enum err err = request->verdict.err;
    for (size_t i = 0; i < request->commit->reads.count; i++) {
        const struct commit_read *read = &request->commit->reads.at[i];
        const bool sparse =
            read->pending && is_sparse(schedule, author, request->commit, read);
        seen.pending_accepted += err == ERR_OK && read->pending ? 1 : 0;
        seen.confirmed_accepted += err == ERR_OK && !read->pending ? 1 : 0;
        seen.sparse_accepted += err == ERR_OK && sparse ? 1 : 0;
        seen.sparse_refused += err == ERR_CONFLICT && sparse ? 1 : 0;
        const bool forgotten = read->seq < schedule->model.horizon;
        seen.forgotten_accepted += err == ERR_OK && forgotten ? 1 : 0;
        seen.forgotten_refused += err == ERR_CONFLICT && forgotten ? 1 : 0;
    }
}

static void count_verdict(const struct schedule *schedule,
                          const struct author *author,
                          const struct engine_request *request,
                          const struct model_answer *want)
{
    const struct verdict *verdict = &request->verdict;
    const struct commit_view *view = &request->commit->view;
    count_reads(schedule, author, request);
    if (view->given && verdict->err == ERR_OK && !verdict->replayed) {
        seen.views_accepted++;
        seen.views_ahead_accepted += view->commits > 0 ? 1 : 0;
    } else if (view->given && verdict->err == ERR_CONFLICT &&
               value_is_absent(verdict->id)) {
        seen.views_refused++;
    }
    seen.stricter += verdict->err != want->err ? 1 : 0;
    seen.refused[verdict->err]++;
    seen.replays += verdict->replayed ? 1 : 0;
    if (verdict->err == ERR_OK && !verdict->replayed) {
        const bool on_main = value_is_text(request->commit->branch, "");
        seen.landed++;
        seen.landed_on_branches += on_main ? 0 : 1;
        seen.landed_compacted += schedule->model.horizon > 0 ? 1 : 0;
        seen.elided += verdict->elided.count;
        seen.elided_on_branches += on_main ? 0 : verdict->elided.count;
        for (size_t i = 0; i < request->commit->ops.count; i++) {
            seen.landed_in_scopes +=
                request->commit->ops.at[i].target.scope != SCOPE_SPACE ? 1 : 0;
        }
    }
}

/* One verdict, and the model follows the engine. */
static void check_verdict(struct schedule *schedule,
                          const struct author *author,
                          const struct engine_request *request)
{
    const struct verdict *verdict = &request->verdict;
    struct model_answer want;
    store_model_ask(&schedule->model,
                    request->commit,
                    request->principal,
                    &want);
    const bool stricter = verdict->err == ERR_CONFLICT && want.may_conflict;
    if (verdict->err != want.err && !stricter) {
        fail_commit(schedule,
                    request,
                    &want,
                    verdict->err == ERR_OK ? "accepted, but must not be"
                                           : "refused for a wrong reason");
    } else if (verdict->err != ERR_OK && verdict->seq != 0) {
        fail_commit(schedule, request, &want, "refused, and has a seq");
    } else if (verdict->err != ERR_OK && verdict->err != ERR_REPLAY_MISMATCH &&
               verdict->head_seq != store_model_seq(&schedule->model)) {
        fail_commit(schedule, request, &want, "refused at another head");
    } else if (verdict->err == ERR_OK && (verdict->seq != want.seq ||
                                          verdict->replayed != want.replayed ||
                                          !is_same_resolution(verdict, &want) ||
                                          !is_same_elision(verdict, &want))) {
        fail_commit(schedule, request, &want, "landed, but otherwise");
    }
    count_verdict(schedule, author, request, &want);
    if (verdict->err == ERR_OK && !verdict->replayed) {
        store_model_land(&schedule->model, request->commit, request->principal);
    }
    model_answer_release(&want);
}

/* -- Steps --------------------------------------------------------------- */

static void step_group(struct schedule *schedule)
{
    struct random *random = schedule->random;
    struct engine_request requests[GROUP_MAX] = {{0}};
    struct author *authors[GROUP_MAX];
    const size_t count = random_one_in(random, 3)
                             ? 1 + (size_t)random_below(random, GROUP_MAX)
                             : 1;
    for (size_t i = 0; i < count; i++) {
        requests[i].commit = draw_commit(schedule, &authors[i]);
        requests[i].principal = authors[i]->principal;
        requests[i].at_ms = schedule->commits.count;
    }
    struct err_detail detail = {0};
    const enum err err = engine_commit(&schedule_kit(schedule)->engine,
                                       requests,
                                       count,
                                       &detail);
    schedule->failed = !EXPECT_INT(err, ERR_OK);
    seen.groups += count > 1 ? 1 : 0;
    for (size_t i = 0; i < count; i++) {
        if (!schedule->failed) {
            check_verdict(schedule, authors[i], &requests[i]);
        }
        verdict_release(&requests[i].verdict);
    }
}

static void step_fork(struct schedule *schedule)
{
    struct random *random = schedule->random;
    const uint64_t limit = schedule->model.branches.count < 4 ? 5 : 2;
    struct value name = numbered("b", random_below(random, limit));
    vec_push(&schedule->owned, name);
    const size_t parent = random_below(random, schedule->model.branches.count);
    const uint64_t seq =
        random_one_in(random, 2)
            ? ENGINE_HEAD
            : random_below(random, store_model_seq(&schedule->model) + 2);
    const struct value from = schedule->model.branches.at[parent].name;
    const enum err want = store_model_fork(&schedule->model, name, from, seq);
    const enum err got =
        engine_fork(&schedule_kit(schedule)->engine, name, from, seq, NULL);
    schedule->failed = !EXPECT_TEXT(err_name(got), err_name(want));
    seen.forks += got == ERR_OK ? 1 : 0;
}

static void step_close(struct schedule *schedule)
{
    struct random *random = schedule->random;
    const size_t count = schedule->model.branches.count;
    struct value name =
        random_one_in(random, 3)
            ? numbered("b", random_below(random, 5))
            : value_ref(
                  schedule->model.branches
                      .at[count - 1 - random_below(random, (count + 1) / 2)]
                      .name);
    const enum err want = store_model_close(&schedule->model, name);
    const enum err got =
        engine_branch_delete(&schedule_kit(schedule)->engine, name, NULL);
    schedule->failed = !EXPECT_TEXT(err_name(got), err_name(want));
    seen.closes += got == ERR_OK ? 1 : 0;
    value_unref(name);
}

/* -- Merging ------------------------------------------------------------- */

/* One merge: what the engine made, and the documents as they must be then. */
struct merging {
    struct schedule *schedule;
    size_t source;
    size_t target;
    uint64_t seq; /* when it was made */
    struct commit commit;
    struct value conflicts;      /* of the engine */
    struct value want_conflicts; /* of the model */
    VEC(struct value) want;      /* by id */
};

static bool has_item(struct value array, struct value item)
{
    for (uint32_t i = 0; i < array_count(array); i++) {
        if (value_equal(array_at(array, i), item)) {
            return true;
        }
    }
    return false;
}

/* In any order. */
static void check_conflicts(struct merging *merging)
{
    const uint32_t count = array_count(merging->conflicts);
    bool same = count == array_count(merging->want_conflicts);
    for (uint32_t i = 0; same && i < count; i++) {
        same =
            has_item(merging->want_conflicts, array_at(merging->conflicts, i));
    }
    if (!same) {
        (void)EXPECT_VALUE(merging->conflicts, merging->want_conflicts);
        print_log(merging->schedule);
    }
    merging->schedule->failed =
        !same || !EXPECT(count == 0 || merging->commit.ops.count == 0);
}

static bool is_written(const struct commit *commit, struct value id)
{
    for (size_t i = 0; i < commit->ops.count; i++) {
        if (value_equal(commit->ops.at[i].target.id, id)) {
            return true;
        }
    }
    return false;
}

/* The documents on the target that the commit writes, or those it does not,
 * are what the model says that they are after the merge. */
static void check_merged(struct merging *merging,
                         const struct commit *commit,
                         bool written)
{
    struct schedule *schedule = merging->schedule;
    for (size_t i = 0; i < merging->want.count; i++) {
        struct value id = schedule_id(schedule, i);
        const struct model_name name = {.id = id};
        if (is_written(commit, id) == written) {
            struct value now = store_model_read(&schedule->model,
                                                merging->target,
                                                &name,
                                                ENGINE_HEAD);
            if (!EXPECT_VALUE(now, merging->want.at[i])) {
                print_log(schedule);
                schedule->failed = true;
            }
            value_unref(now);
        }
        value_unref(id);
    }
}

static bool has_moved(const struct merging *merging,
                      size_t branch,
                      struct value id)
{
    const struct store_model *model = &merging->schedule->model;
    const struct model_name name = {.id = id};
    struct value was = store_model_read(model, branch, &name, merging->seq);
    struct value now = store_model_read(model, branch, &name, ENGINE_HEAD);
    const bool same = value_equal(was, now);
    value_unref(was);
    value_unref(now);
    return !same;
}

/* Either branch has changed what the merge was made from. */
static bool is_overtaken(const struct merging *merging)
{
    bool moved = false;
    for (size_t i = 0; i < merging->commit.ops.count; i++) {
        const struct value id = merging->commit.ops.at[i].target.id;
        moved = moved || has_moved(merging, merging->source, id) ||
                has_moved(merging, merging->target, id);
    }
    return moved;
}

/* The merge is an ordinary commit, and somebody may be faster. */
static void land_merge(struct merging *merging, struct author *author)
{
    struct schedule *schedule = merging->schedule;
    struct engine_request request = {
        .commit = schedule_keep(schedule, author, &merging->commit),
        .principal = author->principal,
        .at_ms = schedule->commits.count,
    };
    if (random_one_in(schedule->random, 4)) {
        step_group(schedule);
    }
    if (schedule->failed) {
        return;
    }
    const bool overtaken = is_overtaken(merging);
    seen.merges_overtaken += overtaken ? 1 : 0;
    const enum err err =
        engine_commit(&schedule_kit(schedule)->engine, &request, 1, NULL);
    schedule->failed = !EXPECT_INT(err, ERR_OK);
    if (!schedule->failed) {
        check_verdict(schedule, author, &request);
    }
    if (request.verdict.err == ERR_OK && !request.verdict.replayed) {
        schedule->failed = !EXPECT(!overtaken) || schedule->failed;
        check_merged(merging, request.commit, true);
        seen.merged++;
    } else {
        seen.merges_refused++;
    }
    verdict_release(&request.verdict);
}

static void ask_model(struct merging *merging)
{
    merging->want_conflicts = value_empty_array();
    for (size_t i = 0; i < schedule_id_count(merging->schedule); i++) {
        struct value id = schedule_id(merging->schedule, i);
        const struct model_name name = {.id = id};
        vec_push(&merging->want,
                 store_model_merge(&merging->schedule->model,
                                   merging->source,
                                   merging->target,
                                   &name,
                                   &merging->want_conflicts));
        value_unref(id);
    }
}

static void finish_merge(struct merging *merging, struct author *author)
{
    check_conflicts(merging);
    if (merging->schedule->failed) {
        return;
    }
    if (array_count(merging->conflicts) > 0) {
        seen.merges_conflicted++;
        return;
    }
    check_merged(merging, &merging->commit, false);
    if (merging->commit.ops.count == 0) {
        seen.merged_alike++;
    } else {
        land_merge(merging, author);
    }
}

static void step_merge(struct schedule *schedule)
{
    struct random *random = schedule->random;
    const size_t count = schedule->model.branches.count;
    struct author *author =
        &schedule->authors[random_below(random, schedule->author_count)];
    struct merging merging = {
        .schedule = schedule,
        .source = random_below(random, count),
        .target = random_below(random, count),
        .seq = store_model_seq(&schedule->model),
    };
    if (merging.source == merging.target && !random_one_in(random, 8)) {
        merging.target = (merging.source + 1) % count;
    }
    const struct merge_request request = {
        .source = schedule->model.branches.at[merging.source].name,
        .target = schedule->model.branches.at[merging.target].name,
        .session = author->session,
        .local_seq = draw_local_seq(schedule, author),
    };
    const enum err err = engine_merge(&schedule_kit(schedule)->engine,
                                      &request,
                                      &merging.commit,
                                      &merging.conflicts,
                                      NULL);
    schedule->failed = !EXPECT_INT(err, ERR_OK);
    if (!schedule->failed) {
        ask_model(&merging);
        finish_merge(&merging, author);
    }
    VEC_FOREACH (&merging.want, value) {
        value_unref(*value);
    }
    vec_release(&merging.want);
    commit_release(&merging.commit);
    value_unref(merging.conflicts);
    value_unref(merging.want_conflicts);
}

/* -- The rest ------------------------------------------------------------ */

/* Drops the layers that are in the state which the author now knows, and
 * those that were refused, if the author has heard of it. */
static void step_catch_up(struct schedule *schedule, struct author *author)
{
    struct random *random = schedule->random;
    const uint64_t head = store_model_seq(&schedule->model);
    if (random_one_in(random, 2)) {
        author->confirmed += random_below(random, head - author->confirmed + 1);
    }
    size_t kept = 0;
    for (size_t i = 0; i < author->layers.count; i++) {
        const uint64_t local_seq = author->layers.at[i];
        uint64_t seq = 0;
        for (size_t j = 0; j < schedule->model.log.count; j++) {
            const struct model_entry *entry = &schedule->model.log.at[j];
            if (value_equal(entry->commit->session, author->session) &&
                entry->commit->local_seq == local_seq) {
                seq = j + 1;
            }
        }
        const bool pending =
            seq > author->confirmed || (seq == 0 && random_one_in(random, 4));
        if (pending) {
            author->layers.at[kept++] = local_seq;
        }
    }
    author->layers.count = kept;
}

static void step_cold(struct schedule *schedule)
{
    if (schedule->in_file) {
        seen.snapshots += schedule->kit.engine.counters.snapshots;
        kit_reopen(&schedule->kit);
        seen.reopened++;
    } else {
        engine_forget(&schedule->kit.engine);
    }
}

static void step_compact(struct schedule *schedule)
{
    struct random *random = schedule->random;
    const uint64_t before = schedule->model.horizon;
    const struct compaction compaction = {
        .records = schedule->records.count,
        .keep_from =
            random_one_in(random, 2)
                ? ENGINE_HEAD
                : random_below(random, store_model_seq(&schedule->model) + 2),
    };
    struct compact_counts counts;
    const enum err err = engine_compact(&schedule_kit(schedule)->engine,
                                        compaction.keep_from,
                                        NULL,
                                        NULL,
                                        &counts,
                                        NULL);
    store_model_compact(&schedule->model, compaction.keep_from);
    vec_push(&schedule->compactions, compaction);
    schedule->failed = !EXPECT_INT(err, ERR_OK) ||
                       !EXPECT_EQ(counts.horizon, schedule->model.horizon);
    seen.compactions += schedule->model.horizon > before ? 1 : 0;
}

/* Files are slow: a copy of one in memory is made less often. */
static void step_backup(struct schedule *schedule)
{
    if (schedule->in_file || random_one_in(schedule->random, 10)) {
        compare_backup(schedule, schedule_kit(schedule));
        seen.backups++;
    }
}

static void step(struct schedule *schedule, unsigned number)
{
    const uint64_t draw = random_below(schedule->random, 80);
    if (draw < 4 && number >= schedule->first_fork) {
        step_fork(schedule);
    } else if (draw < 6) {
        step_compact(schedule); /* often, while no fork stands in its way */
    } else if (draw < 8) {
        step_close(schedule);
    } else if (draw < 10) {
        step_cold(schedule);
    } else if (draw < 11) {
        step_backup(schedule);
    } else if (draw < 19 && schedule->model.branches.count > 1) {
        step_merge(schedule);
    } else {
        step_group(schedule);
    }
    for (size_t i = 0; i < schedule->author_count; i++) {
        if (random_one_in(schedule->random, 3)) {
            step_catch_up(schedule, &schedule->authors[i]);
        }
    }
    if (!schedule->failed) {
        const bool refused =
            compare_any_document(schedule, schedule_kit(schedule));
        seen.reads_refused += refused ? 1 : 0;
    }
}

/* What is there at the end, whatever the way was. */
static void compare_all(struct schedule *schedule)
{
    struct random *random = schedule->random;
    compare_documents(schedule,
                      schedule_kit(schedule),
                      random_one_in(random, 16));
    compare_branches(schedule, schedule_kit(schedule));
    compare_history(schedule, schedule_kit(schedule));
    compare_replica(schedule);
    if (schedule->model.horizon > 0 && random_one_in(random, 4)) {
        compare_uncompacted_replica(schedule);
        seen.replicas_uncompacted++;
    }
}

static void run_schedule(struct random *random, bool in_file)
{
    struct schedule *schedule = mem_alloc(sizeof *schedule);
    schedule_init(schedule, random, in_file);
    for (unsigned i = 0; i < STEPS && !schedule->failed; i++) {
        step(schedule, i);
    }
    if (!schedule->failed) {
        compare_all(schedule);
    }
    seen.schedules++;
    seen.snapshots += schedule->kit.engine.counters.snapshots;
    schedule_release(schedule);
    mem_free(schedule, sizeof *schedule);
}

PROPERTY(the_engine_agrees_with_the_model, SCHEDULES)
{
    run_schedule(random, false);
}

PROPERTY(two_engines_on_one_file_agree_with_the_model, SCHEDULES_IN_FILES)
{
    run_schedule(random, true);
}

/* -- What the schedules have found, each in its smallest form ------------ */

TEST(a_snapshot_is_the_document_after_the_whole_commit)
{
    struct store_kit kit;
    kit_open_memory(&kit, &(struct engine_options){.snapshot_patches = 2});
    EXPECT_LANDED(&kit, 1, "s1 1 | set A {'n':0}");
    EXPECT_LANDED(&kit,
                  2,
                  "s1 2 | increment A.n 1 | increment A.n 1 | increment A.n 1");
    EXPECT_LANDED(&kit,
                  3,
                  "s1 3 | increment A.n 1 | increment A.n 1 | set A 7");
    engine_forget(&kit.engine);
    EXPECT_TEXT(kit_read_at(&kit, "A", 2), "{'value':{'n':3}}");
    EXPECT_TEXT(kit_read(&kit, "A"), "{'value':7}");
    kit_close(&kit);
}

TEST(a_patch_that_makes_a_document_is_seen_everywhere_in_it)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | add A.x 1 | patch B []");
    EXPECT_REFUSED(&kit, ERR_CONFLICT, "stale", "s2 1 | conf A.y @0 | set C 1");
    EXPECT_REFUSED(&kit, ERR_CONFLICT, "stale", "s2 1 | conf B! @0 | set C 1");
    EXPECT_REFUSED(&kit,
                   ERR_CONFLICT,
                   "stale",
                   "s2 1 | shape conf B! @0 | set C 1");
    kit_close(&kit);
}

TEST(a_container_that_was_made_on_the_way_is_seen_below_it)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A {}");
    EXPECT_LANDED(&kit, 2, "s1 2 | add A.p.q 1");
    EXPECT_REFUSED(&kit,
                   ERR_CONFLICT,
                   "conflicted with seq 2",
                   "s2 1 | conf A.p.z @1 | set B 1");
    EXPECT_LANDED(&kit, 3, "s2 1 | conf A.z @1 | set B 1");
    kit_close(&kit);
}

TEST(a_new_key_beside_it_is_not_seen_by_a_shape_read)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A {'p':{}}");
    EXPECT_LANDED(&kit, 2, "s1 2 | add A.q 1");
    EXPECT_REFUSED(&kit,
                   ERR_CONFLICT,
                   "conflicted with seq 2",
                   "s2 1 | shape conf A @1 | add A.p.x 1");
    EXPECT_LANDED(&kit, 3, "s2 1 | shape conf A.p @1 | add A.p.x 1");
    kit_close(&kit);
}

TEST(layers_that_landed_out_of_order_were_never_in_view)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A {'x':0}");
    EXPECT_LANDED(&kit, 2, "s1 3 | replace A.x 3");
    EXPECT_LANDED(&kit, 3, "s1 2 | replace A.x 2");
    EXPECT_REFUSED(&kit,
                   ERR_CONFLICT,
                   "stale pending read",
                   "s1 4 | pend A.x [2,3] b=1 | set B 1");
    EXPECT_LANDED(&kit, 4, "s1 4 | pend A.x [2,3] b=3 | set B 1");
    kit_close(&kit);
}

TEST(an_object_that_becomes_a_leaf_is_seen_below_it)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A {'p':{'k':1,'/':{'x@1':1}},'q':0}");
    EXPECT_LANDED(&kit, 2, "s1 2 | remove A.p.k");
    EXPECT_REFUSED(&kit,
                   ERR_CONFLICT,
                   "conflicted with seq 2",
                   "s2 1 | conf A.p./ @1 | set B 1");
    EXPECT_LANDED(&kit, 3, "s2 1 | conf A.q @1 | set B 1");
    kit_close(&kit);
}

TEST(what_a_layer_has_carried_is_seen_at_its_source)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s2 1 | set A {'x':0,'y':1,'z':0,'l':[0,1,2]}");
    EXPECT_LANDED(&kit, 2, "s2 2 | replace A.y 2 | replace A.l.1 5");
    EXPECT_LANDED(
        &kit,
        3,
        "s1 1 | patch A [{'op':'move','from':'/value/y','path':'/value/x'}]");
    EXPECT_LANDED(&kit, 4, "s1 2 | remove A.l.0");
    EXPECT_REFUSED(&kit,
                   ERR_CONFLICT,
                   "conflicted with seq 2",
                   "s1 3 | pend A.x [1] b=1 | set B 1");
    EXPECT_REFUSED(&kit,
                   ERR_CONFLICT,
                   "conflicted with seq 2",
                   "s1 3 | pend A.l.0 [2] b=1 | set B 1");
    EXPECT_LANDED(&kit, 5, "s1 3 | pend A.z [1,2] b=1 | set B 1");
    kit_close(&kit);
}

/* -- Floors -------------------------------------------------------------- */

/* Runs last: the tests of a file run in their order. */
TEST(all_of_it_happened_often_enough)
{
    (void)printf("# %" PRIu64 " schedules, %" PRIu64 " commits landed\n",
                 seen.schedules,
                 seen.landed);
    static const struct {
        const char *what;
        const uint64_t *count;
        uint64_t floor; /* a thousand schedules */
    } rows[] = {
        {"landed on a branch", &seen.landed_on_branches, 2000},
        {"writes in a scope", &seen.landed_in_scopes, 3000},
        {"confirmed reads accepted", &seen.confirmed_accepted, 5000},
        {"pending reads accepted", &seen.pending_accepted, 4000},
        {"sparse ones of these", &seen.sparse_accepted, 1500},
        {"sparse ones refused", &seen.sparse_refused, 7000},
        {"replays", &seen.replays, 900},
        {"views accepted", &seen.views_accepted, 500},
        {"of these, above own commits", &seen.views_ahead_accepted, 50},
        {"views refused", &seen.views_refused, 500},
        {"refused, too strictly", &seen.stricter, 800},
        {"groups", &seen.groups, 7000},
        {"forks", &seen.forks, 900},
        {"branches closed", &seen.closes, 250},
        {"operations elided", &seen.elided, 700},
        {"elided on branches", &seen.elided_on_branches, 60},
        {"changes of content", &seen.refused[ERR_IMMUTABLE], 900},
        {"merges landed", &seen.merged, 200},
        {"merges of nothing", &seen.merged_alike, 400},
        {"merges with conflicts", &seen.merges_conflicted, 500},
        {"merges overtaken", &seen.merges_overtaken, 6},
        {"merges refused", &seen.merges_refused, 40},
        {"compactions", &seen.compactions, 600},
        {"landed after one", &seen.landed_compacted, 6000},
        {"older reads accepted", &seen.forgotten_accepted, 500},
        {"older reads refused", &seen.forgotten_refused, 3500},
        {"reads below the horizon", &seen.reads_refused, 2500},
        {"replicas without one", &seen.replicas_uncompacted, 90},
        {"backups", &seen.backups, 30},
        {"snapshots", &seen.snapshots, 1500},
        {"conflicts", &seen.refused[ERR_CONFLICT], 15000},
        {"origins failed", &seen.refused[ERR_ORIGIN_FAILED], 1200},
        {"receipts existing", &seen.refused[ERR_RECEIPT_EXISTS], 600},
        {"replay mismatches", &seen.refused[ERR_REPLAY_MISMATCH], 400},
        {"of wrong shape", &seen.refused[ERR_PROTOCOL], 1800},
        {"of unknown branches", &seen.refused[ERR_BRANCH_UNKNOWN], 600},
        {"of closed branches", &seen.refused[ERR_BRANCH_CLOSED], 600},
        {"patches of missing paths", &seen.refused[ERR_PATCH_MISSING], 800},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        (void)printf("#   %-26s %" PRIu64 "\n", rows[i].what, *rows[i].count);
    }
    /* A few rounds, or a single one that is repeated, prove nothing here. */
    for (size_t i = 0; seen.schedules >= SCHEDULES && i < COUNT_OF(rows); i++) {
        const uint64_t floor = rows[i].floor * seen.schedules / 1000;
        if (*rows[i].count < floor) {
            (void)test_fail(__FILE__,
                            __LINE__,
                            "%s: %" PRIu64 ", expected at least %" PRIu64,
                            rows[i].what,
                            *rows[i].count,
                            floor);
        }
    }
}
