/* The engine against a naive model (lib/store_model.h): random schedules of
 * several authors on a few documents and branches. What the engine accepts the
 * model accepts; what it refuses it may refuse; every document at every seq is
 * the same; and the records of the whole schedule, applied to an empty engine,
 * give the same tables and the same chain. */

#include <stdio.h>
#include <string.h>

#include "lib/store_schedule.h"
#include "lib/test.h"
#include "lib/values.h"
#include "value/array.h"
#include "value/compare.h"
#include "value/json.h"
#include "value/object.h"

enum {
    STEPS = 50,
    SCHEDULES = 700, /* in each of the three builds that `./dev test` runs */
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
    uint64_t replays;
    uint64_t stricter; /* refused, and the model would not have */
    uint64_t groups;
    uint64_t forks;
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
    }
}

static void count_verdict(const struct schedule *schedule,
                          const struct author *author,
                          const struct engine_request *request,
                          const struct model_answer *want)
{
    const struct verdict *verdict = &request->verdict;
    count_reads(schedule, author, request);
    seen.stricter += verdict->err != want->err ? 1 : 0;
    seen.refused[verdict->err]++;
    seen.replays += verdict->replayed ? 1 : 0;
    if (verdict->err == ERR_OK && !verdict->replayed) {
        seen.landed++;
        seen.landed_on_branches +=
            value_is_text(request->commit->branch, "") ? 0 : 1;
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
    } else if (verdict->err == ERR_OK &&
               (verdict->seq != want.seq ||
                verdict->replayed != want.replayed ||
                !is_same_resolution(verdict, &want))) {
        fail_commit(schedule, request, &want, "landed, but otherwise");
    }
    count_verdict(schedule, author, request, &want);
    if (verdict->err == ERR_OK && !verdict->replayed) {
        store_model_land(&schedule->model, request->commit, request->principal);
    }
    vec_release(&want.resolved);
}

/* -- Comparing documents ------------------------------------------------- */

static void check_document(struct schedule *schedule,
                           size_t branch,
                           const struct author *author,
                           const struct target *target,
                           uint64_t seq)
{
    const struct identity identity = {author->principal, author->session};
    struct model_name name;
    if (!model_name_of(target, author->principal, author->session, &name)) {
        return;
    }
    struct engine_address address = {
        .branch = schedule->model.branches.at[branch].name,
        .id = target->id,
    };
    struct err_detail detail = {0};
    enum err err =
        scope_key_new(target->scope, identity, &address.scope_key, &detail);
    struct value got = VALUE_NONE;
    if (err == ERR_OK) {
        err = engine_read(&schedule_kit(schedule)->engine,
                          &address,
                          seq,
                          &got,
                          &detail);
    }
    struct value want = store_model_read(&schedule->model, branch, &name, seq);
    schedule->failed = !EXPECT_TEXT(detail.text, "") || schedule->failed;
    schedule->failed = !EXPECT_INT(err, ERR_OK) || schedule->failed;
    if (!EXPECT_VALUE(got, want)) {
        (void)printf("#   branch %zu, scope %s, seq %" PRIu64 "\n",
                     branch,
                     scope_name(target->scope),
                     seq);
        schedule->failed = true;
    }
    value_unref(got);
    value_unref(want);
    value_unref(address.scope_key);
}

/* One document somewhere in its history. */
static void check_any_document(struct schedule *schedule)
{
    struct random *random = schedule->random;
    const size_t branch = random_below(random, schedule->model.branches.count);
    const uint64_t first = schedule->model.branches.at[branch].fork_seq;
    const uint64_t head = store_model_head(&schedule->model, branch);
    const uint64_t seq = random_one_in(random, 3)
                             ? ENGINE_HEAD
                             : first + random_below(random, head - first + 1);
    struct target target = draw_target(schedule);
    check_document(
        schedule,
        branch,
        &schedule->authors[random_below(random, schedule->author_count)],
        &target,
        seq);
    value_unref(target.id);
}

static void check_history(struct schedule *schedule,
                          size_t branch,
                          const struct author *author,
                          const struct target *target,
                          bool whole)
{
    check_document(schedule, branch, author, target, ENGINE_HEAD);
    const uint64_t head = store_model_head(&schedule->model, branch);
    uint64_t seq = schedule->model.branches.at[branch].fork_seq;
    for (; whole && !schedule->failed && seq <= head; seq++) {
        check_document(schedule, branch, author, target, seq);
    }
}

/* Every document of every author on every branch; at every seq, if `whole`. */
static void check_documents(struct schedule *schedule, bool whole)
{
    for (uint64_t i = 0; i < schedule->id_count; i++) {
        struct target target = {.id = numbered("of:", i)};
        for (size_t b = 0; b < schedule->model.branches.count; b++) {
            target.scope = SCOPE_SPACE;
            check_history(schedule, b, &schedule->authors[0], &target, whole);
            for (size_t a = 0; a < schedule->author_count; a++) {
                const struct author *author = &schedule->authors[a];
                target.scope = SCOPE_USER;
                check_history(schedule, b, author, &target, whole && a < 2);
                target.scope = SCOPE_SESSION;
                check_history(schedule, b, author, &target, whole);
            }
        }
        value_unref(target.id);
    }
}

static void check_listing(struct schedule *schedule, size_t branch)
{
    struct value want = value_empty_array();
    for (uint64_t i = 0; i < schedule->id_count; i++) {
        struct value id = numbered("of:", i);
        const struct model_name name = {.id = id, .scope = SCOPE_SPACE};
        if (store_model_is_listed(&schedule->model, branch, &name)) {
            want = array_push_adopt(want, value_ref(id));
        }
        value_unref(id);
    }
    struct value got = VALUE_NONE;
    const enum err err = engine_list(&schedule_kit(schedule)->engine,
                                     schedule->model.branches.at[branch].name,
                                     value_text_new("space"),
                                     VALUE_NONE,
                                     ENGINE_PAGE_MAX,
                                     0,
                                     &got,
                                     NULL);
    schedule->failed = !EXPECT_INT(err, ERR_OK) || schedule->failed;
    schedule->failed = !EXPECT_VALUE(got, want) || schedule->failed;
    value_unref(got);
    value_unref(want);
}

static void check_branches(struct schedule *schedule)
{
    struct value list = VALUE_NONE;
    const enum err err =
        engine_branch_list(&schedule_kit(schedule)->engine, &list, NULL);
    schedule->failed = !EXPECT_INT(err, ERR_OK) || schedule->failed;
    (void)EXPECT_EQ(array_count(list), schedule->model.branches.count);
    for (uint32_t i = 0; i < array_count(list); i++) {
        const struct value got = array_at(list, i);
        const struct model_branch *want = &schedule->model.branches.at[i];
        (void)EXPECT_VALUE(object_field(got, "name"), want->name);
        (void)EXPECT(value_boolean(object_field(got, "active")) ==
                     want->active);
        (void)EXPECT_INT(value_integer(object_field(got, "headSeq")),
                         store_model_head(&schedule->model, i));
        check_listing(schedule, i);
    }
    value_unref(list);
}

/* The records alone make an equal store. */
static void check_replay(struct schedule *schedule)
{
    struct engine_options options = schedule->kit.options;
    options.on_effects = NULL;
    struct store_kit replica;
    kit_open_memory(&replica, &options);
    VEC_FOREACH (&schedule->records, record) {
        struct err_detail detail = {0};
        const enum err err = engine_apply(&replica.engine, *record, &detail);
        if (err != ERR_OK) {
            (void)EXPECT_TEXT(detail.text, "");
            break;
        }
    }
    struct buf is = kit_dump(&replica);
    struct buf want = kit_dump(&schedule->kit);
    schedule->failed = !EXPECT_TEXT(buf_text(&is), buf_text(&want));
    (void)EXPECT_INT(engine_refresh(&schedule->kit.engine, NULL), ERR_OK);
    (void)EXPECT(memcmp(replica.engine.chain.bytes,
                        schedule->kit.engine.chain.bytes,
                        DIGEST_BYTES) == 0);
    (void)EXPECT_EQ(replica.engine.record, schedule->records.count);
    buf_release(&is);
    buf_release(&want);
    kit_close(&replica);
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
    /* No fork of what is deleted, unless it is there already. */
    const bool ended = !schedule->model.branches.at[parent].active &&
                       store_model_branch(&schedule->model, name) < 0;
    const enum err want =
        ended ? ERR_BRANCH_CLOSED
              : store_model_fork(&schedule->model, name, from, seq);
    const enum err got =
        engine_fork(&schedule_kit(schedule)->engine, name, from, seq, NULL);
    schedule->failed = !EXPECT_TEXT(err_name(got), err_name(want));
    seen.forks += got == ERR_OK ? 1 : 0;
}

static void step_close(struct schedule *schedule)
{
    struct value name = numbered("b", random_below(schedule->random, 5));
    const enum err want = store_model_close(&schedule->model, name);
    const enum err got =
        engine_branch_delete(&schedule_kit(schedule)->engine, name, NULL);
    schedule->failed = !EXPECT_TEXT(err_name(got), err_name(want));
    value_unref(name);
}

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

static void step(struct schedule *schedule)
{
    const uint64_t draw = random_below(schedule->random, 40);
    if (draw < 2) {
        step_fork(schedule);
    } else if (draw == 2) {
        step_close(schedule);
    } else if (draw == 3) {
        step_cold(schedule);
    } else {
        step_group(schedule);
    }
    for (size_t i = 0; i < schedule->author_count; i++) {
        if (random_one_in(schedule->random, 3)) {
            step_catch_up(schedule, &schedule->authors[i]);
        }
    }
    if (!schedule->failed) {
        check_any_document(schedule);
    }
}

static void run_schedule(struct random *random, bool in_file)
{
    struct schedule *schedule = mem_alloc(sizeof *schedule);
    schedule_init(schedule, random, in_file);
    for (unsigned i = 0; i < STEPS && !schedule->failed; i++) {
        step(schedule);
    }
    if (!schedule->failed) {
        check_documents(schedule, random_one_in(random, 16));
        check_branches(schedule);
        check_replay(schedule);
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

PROPERTY(two_engines_on_one_file_agree_with_the_model, 24)
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
        uint64_t floor;
    } rows[] = {
        {"landed on a branch", &seen.landed_on_branches, 1000},
        {"writes in a scope", &seen.landed_in_scopes, 1000},
        {"confirmed reads accepted", &seen.confirmed_accepted, 2000},
        {"pending reads accepted", &seen.pending_accepted, 2000},
        {"sparse ones of these", &seen.sparse_accepted, 500},
        {"sparse ones refused", &seen.sparse_refused, 500},
        {"replays", &seen.replays, 500},
        {"refused, too strictly", &seen.stricter, 100},
        {"groups", &seen.groups, 3000},
        {"forks", &seen.forks, 500},
        {"snapshots", &seen.snapshots, 1000},
        {"conflicts", &seen.refused[ERR_CONFLICT], 5000},
        {"origins failed", &seen.refused[ERR_ORIGIN_FAILED], 300},
        {"receipts existing", &seen.refused[ERR_RECEIPT_EXISTS], 200},
        {"replay mismatches", &seen.refused[ERR_REPLAY_MISMATCH], 200},
        {"of wrong shape", &seen.refused[ERR_PROTOCOL], 500},
        {"of unknown branches", &seen.refused[ERR_BRANCH_UNKNOWN], 100},
        {"of closed branches", &seen.refused[ERR_BRANCH_CLOSED], 100},
        {"patches of missing paths", &seen.refused[ERR_PATCH_MISSING], 100},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        (void)printf("#   %-26s %" PRIu64 "\n", rows[i].what, *rows[i].count);
    }
    /* A few rounds, or a single one that is repeated, prove nothing here. */
    for (size_t i = 0; seen.schedules >= SCHEDULES && i < COUNT_OF(rows); i++) {
        if (*rows[i].count < rows[i].floor) {
            (void)test_fail(__FILE__,
                            __LINE__,
                            "%s: %" PRIu64 ", expected at least %" PRIu64,
                            rows[i].what,
                            *rows[i].count,
                            rows[i].floor);
        }
    }
}
