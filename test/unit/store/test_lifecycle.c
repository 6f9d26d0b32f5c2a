/* The one writer of a status: what applies, what does not and says why, what
 * happens if the row moves between the loading and the writing, and that the
 * documents follow. The tests w.. and e.. are the writer's races, in
 * the words of the strict tables. */

#include "store/lifecycle.h"

#include <stdio.h>
#include <string.h>

#include "lib/registry_check.h"
#include "lib/store_kit.h"
#include "lib/test.h"
#include "lifecycle/environment.h"
#include "lifecycle/thread.h"
#include "store/verify.h"

/* -- A registry with one environment and one thread ---------------------- */

struct fixture {
    struct store_kit kit;
    struct recorder recorder;
    struct registry registry;
    struct lifecycle_result result;
    struct err_detail detail;
    const char *between; /* SQL that runs between load and set, once */
    int second_code;     /* what a second connection got there */
    bool second;         /* it tries */
    unsigned told;
    struct registry_change last;
    bool told_inside; /* while the transaction was open */
    bool answers;     /* who is told that it started says that it ended */
};

static void on_change(void *ctx, const struct registry_change *change)
{
    struct fixture *fixture = ctx;
    fixture->told++;
    fixture->last = *change;
    fixture->told_inside = fixture->registry.is_open;
    if (fixture->answers && change->to == THREAD_ACTIVE) {
        const struct lifecycle_report report = {
            .event = THREAD_RUN_SUCCEEDED,
            .run = "r1",
        };
        struct lifecycle_result result;
        EXPECT_INT(registry_thread_event(&fixture->registry,
                                         change->id,
                                         &report,
                                         200,
                                         &result,
                                         &fixture->detail),
                   ERR_OK);
        EXPECT_INT(result.kind, LIFECYCLE_APPLIED);
    }
}

/* The row moves between load and set. */
static void after_load(void *ctx)
{
    struct fixture *fixture = ctx;
    const char *sql = fixture->between;
    fixture->between = NULL;
    if (sql != NULL && fixture->second) {
        sqlite3 *db = NULL;
        CHECK(sqlite3_open(fixture->kit.path, &db) == SQLITE_OK);
        fixture->second_code = sqlite3_exec(db, sql, NULL, NULL, NULL);
        (void)sqlite3_close(db);
    } else if (sql != NULL) {
        kit_run_unseen(&fixture->kit, sql);
    }
}

static void open_registry(struct fixture *fixture)
{
    const struct registry_options options = {
        .log = &fixture->recorder.log,
        .on_change = on_change,
        .after_load = after_load,
        .ctx = fixture,
    };
    const enum err err = registry_open(&fixture->registry,
                                       &fixture->kit.engine,
                                       &options,
                                       1,
                                       &fixture->detail);
    CHECK(err == ERR_OK);
}

static void add_environment(struct fixture *fixture, const char *id)
{
    struct environment_row row = {.is_managed = true};
    (void)snprintf(row.id, sizeof row.id, "%s", id);
    struct registry *registry = &fixture->registry;
    enum err err = registry_begin(registry, 10, &fixture->detail);
    if (err == ERR_OK) {
        err = registry_environment_add(registry, &row, &fixture->detail);
        err = registry_end(registry, err, &fixture->detail);
    }
    EXPECT_INT(err, ERR_OK);
}

static void add_thread(struct fixture *fixture,
                       const char *id,
                       const char *parent)
{
    struct thread_row row = {.environment = "e", .run = "r1"};
    (void)snprintf(row.id, sizeof row.id, "%s", id);
    (void)snprintf(row.parent, sizeof row.parent, "%s", parent);
    struct registry *registry = &fixture->registry;
    enum err err = registry_begin(registry, 10, &fixture->detail);
    if (err == ERR_OK) {
        err = registry_thread_add(registry, &row, &fixture->detail);
        err = registry_end(registry, err, &fixture->detail);
    }
    EXPECT_INT(err, ERR_OK);
}

static void setup(struct fixture *fixture)
{
    *fixture = (struct fixture){0};
    kit_open_file(&fixture->kit, NULL);
    recorder_init(&fixture->recorder);
    open_registry(fixture);
    add_environment(fixture, "e");
    add_thread(fixture, "t", "");
}

static void teardown(struct fixture *fixture)
{
    EXPECT(registry_check(&fixture->registry));
    registry_close(&fixture->registry);
    recorder_release(&fixture->recorder);
    kit_close(&fixture->kit);
}

/* Puts rows into a state; the documents follow. */
static void prepare(struct fixture *fixture, const char *sql)
{
    struct registry *registry = &fixture->registry;
    enum err err = registry_begin(registry, 20, &fixture->detail);
    if (err == ERR_OK) {
        kit_run_unseen(&fixture->kit, sql);
        err = registry_publish(registry,
                               &thread_lifecycle,
                               "t",
                               NULL,
                               &fixture->detail);
        if (err == ERR_OK) {
            err = registry_publish(registry,
                                   &environment_lifecycle,
                                   "e",
                                   NULL,
                                   &fixture->detail);
        }
        if (err == ERR_OK) {
            err = registry_recount(registry, &fixture->detail);
        }
        err = registry_end(registry, err, &fixture->detail);
    }
    EXPECT_INT(err, ERR_OK);
}

static enum lifecycle_kind thread_event(struct fixture *fixture,
                                        enum thread_event event,
                                        const char *run,
                                        bool begins)
{
    const struct lifecycle_report report = {
        .event = (uint8_t)event,
        .run = run,
        .begins = begins,
    };
    EXPECT_INT(registry_thread_event(&fixture->registry,
                                     "t",
                                     &report,
                                     100,
                                     &fixture->result,
                                     &fixture->detail),
               ERR_OK);
    return fixture->result.kind;
}

static enum lifecycle_kind environment_event(struct fixture *fixture,
                                             enum environment_event event,
                                             const char *attempt)
{
    const struct lifecycle_report report = {
        .event = (uint8_t)event,
        .attempt = attempt,
        .workspace = value_text_new("w/1"),
    };
    EXPECT_INT(registry_environment_event(&fixture->registry,
                                          "e",
                                          &report,
                                          100,
                                          &fixture->result,
                                          &fixture->detail),
               ERR_OK);
    return fixture->result.kind;
}

static const char *thread(struct fixture *fixture)
{
    return kit_sql(&fixture->kit,
                   "SELECT status, coalesce(run, '-'), attention_at,"
                   " updated_at FROM thread WHERE id = 't'");
}

static const char *environment(struct fixture *fixture)
{
    return kit_sql(&fixture->kit,
                   "SELECT status, coalesce(attempt, '-'),"
                   " coalesce(workspace, '-'), updated_at FROM environment");
}

/* -- Threads ------------------------------------------------------------- */

TEST(w1_an_event_that_applies_is_written_and_told_once_after_the_commit)
{
    struct fixture fixture;
    setup(&fixture);
    EXPECT_INT(thread_event(&fixture, THREAD_RUN_STARTED, "r1", false),
               LIFECYCLE_APPLIED);
    EXPECT_TEXT(thread(&fixture), "active|r1|10|100;");
    EXPECT_EQ(fixture.told, 1);
    EXPECT(!fixture.told_inside);
    EXPECT_TEXT(fixture.last.id, "t");
    EXPECT_INT(fixture.last.from, THREAD_STARTING);
    EXPECT_INT(fixture.last.to, THREAD_ACTIVE);
    EXPECT_EQ(fixture.recorder.not_applied, 0);
    teardown(&fixture);
}

TEST(who_is_told_may_report_the_next_event)
{
    struct fixture fixture;
    setup(&fixture);
    fixture.answers = true;
    EXPECT_INT(thread_event(&fixture, THREAD_RUN_STARTED, "r1", false),
               LIFECYCLE_APPLIED);
    EXPECT_TEXT(thread(&fixture), "idle|-|200|200;");
    EXPECT_EQ(fixture.told, 2);
    teardown(&fixture);
}

static void within(struct fixture *fixture, enum err end)
{
    struct registry *registry = &fixture->registry;
    const struct lifecycle_report report = {.event = THREAD_RUN_STARTED,
                                            .run = "r1"};
    CHECK(registry_begin(registry, 100, &fixture->detail) == ERR_OK);
    EXPECT_INT(registry_thread_event_within(registry,
                                            "t",
                                            &report,
                                            &fixture->result,
                                            &fixture->detail),
               ERR_OK);
    EXPECT_INT(fixture->result.kind, LIFECYCLE_APPLIED);
    EXPECT_EQ(fixture->told, 0);
    EXPECT_INT(registry_end(registry, end, &fixture->detail), end);
}

TEST(w2_inside_a_transaction_of_the_caller_nobody_is_told_before_its_end)
{
    struct fixture fixture;
    setup(&fixture);
    within(&fixture, ERR_OK);
    EXPECT_EQ(fixture.told, 1);
    EXPECT_TEXT(thread(&fixture), "active|r1|10|100;");
    teardown(&fixture);
}

TEST(a_transaction_that_is_rolled_back_leaves_nothing_and_tells_nobody)
{
    struct fixture fixture;
    setup(&fixture);
    struct buf before = kit_dump(&fixture.kit);
    within(&fixture, ERR_CONFLICT);
    struct buf after = kit_dump(&fixture.kit);
    EXPECT_TEXT(buf_text(&after), buf_text(&before));
    EXPECT_EQ(fixture.told, 0);
    EXPECT_TEXT(thread(&fixture), "starting|r1|10|10;");
    buf_release(&before);
    buf_release(&after);
    EXPECT_INT(thread_event(&fixture, THREAD_RUN_STARTED, "r1", false),
               LIFECYCLE_APPLIED);
    teardown(&fixture);
}

/* A status, what else is so, an event, and what becomes of it. */
struct noop_row {
    const char *sql;
    const char *run;
    const char *detail;
    enum thread_event event;
    enum lifecycle_kind kind;
};

static const struct noop_row noop_rows[] = {
    /* w3: a completion that comes again. */
    {"status = 'idle', run = NULL",
     "r1",
     "the report is about another run",
     THREAD_RUN_SUCCEEDED,
     LIFECYCLE_SUPERSEDED},
    /* w3 of a failure: the strict tables flip no settled thread to error. */
    {"status = 'idle', run = NULL",
     "r1",
     "the report is about another run",
     THREAD_RUN_FAILED,
     LIFECYCLE_SUPERSEDED},
    /* w4 */
    {"deleted_at = 5",
     "r1",
     "the row is deleted",
     THREAD_RUN_STARTED,
     LIFECYCLE_SUPERSEDED},
    /* w5: no new work while stopping. */
    {"status = 'stopping'",
     "r1",
     "no edge for run.started from stopping",
     THREAD_RUN_STARTED,
     LIFECYCLE_ILLEGAL},
    {"status = 'stopping'",
     "r2",
     "no edge for run.preparing from stopping",
     THREAD_RUN_PREPARING,
     LIFECYCLE_ILLEGAL},
    /* w6 */
    {"deleted_at = 5, archived_at = 5",
     "r1",
     "the row is deleted",
     THREAD_RUN_STARTED,
     LIFECYCLE_SUPERSEDED},
    {"archived_at = 5",
     "r1",
     "the row is archived",
     THREAD_RUN_STARTED,
     LIFECYCLE_SUPERSEDED},
    /* w7: superseded although there is no edge. */
    {"status = 'active', deleted_at = 5",
     "r1",
     "the row is deleted",
     THREAD_RUN_STARTED,
     LIFECYCLE_SUPERSEDED},
    /* w9 */
    {"status = 'active'",
     "r1",
     "no edge for run.started from active",
     THREAD_RUN_STARTED,
     LIFECYCLE_ILLEGAL},
    /* A start of the run before, late, on a thread that rests. */
    {"status = 'idle', run = NULL",
     "r0",
     "the report is about another run",
     THREAD_RUN_STARTED,
     LIFECYCLE_SUPERSEDED},
    {"status = 'error', run = NULL",
     "r0",
     "the report is about another run",
     THREAD_RUN_STARTED,
     LIFECYCLE_SUPERSEDED},
    {"status = 'active', run = 'r2'",
     "r1",
     "the report is about another run",
     THREAD_STOP_SETTLED,
     LIFECYCLE_SUPERSEDED},
};

TEST(w3_to_w9_what_does_not_apply_leaves_the_row_alone_and_is_explained)
{
    for (size_t i = 0; i < COUNT_OF(noop_rows); i++) {
        const struct noop_row *row = &noop_rows[i];
        struct fixture fixture;
        setup(&fixture);
        struct buf sql = {0};
        buf_printf(&sql, "UPDATE thread SET %s", row->sql);
        prepare(&fixture, buf_text(&sql));
        struct buf before = kit_dump(&fixture.kit);
        struct buf was = {0};
        buf_append_text(&was, thread(&fixture));
        EXPECT_INT(thread_event(&fixture, row->event, row->run, false),
                   row->kind);
        EXPECT_TEXT(fixture.result.detail, row->detail);
        EXPECT_INT(fixture.result.to, fixture.result.from);
        EXPECT_TEXT(thread(&fixture), buf_text(&was));
        struct buf after = kit_dump(&fixture.kit);
        EXPECT_TEXT(buf_text(&after), buf_text(&before));
        EXPECT_EQ(fixture.told, 0);
        EXPECT_EQ(fixture.recorder.not_applied, 1);
        buf_clear(&sql);
        buf_printf(&sql,
                   "info: thread t: %s not applied: %s: %s\n",
                   thread_lifecycle.events[row->event].name,
                   lifecycle_kind_name(row->kind),
                   row->detail);
        EXPECT_TEXT(buf_text(&fixture.recorder.text), buf_text(&sql));
        buf_release(&sql);
        buf_release(&was);
        buf_release(&before);
        buf_release(&after);
        teardown(&fixture);
    }
}

TEST(w8_a_row_that_is_not_there_is_an_outcome)
{
    struct fixture fixture;
    setup(&fixture);
    const struct lifecycle_report report = {.event = THREAD_RUN_STARTED};
    EXPECT_INT(registry_thread_event(&fixture.registry,
                                     "nobody",
                                     &report,
                                     100,
                                     &fixture.result,
                                     &fixture.detail),
               ERR_OK);
    EXPECT_INT(fixture.result.kind, LIFECYCLE_NOT_FOUND);
    EXPECT_CONTAINS(buf_text(&fixture.recorder.text),
                    "thread nobody: run.started not applied: not-found: thread "
                    "not found");
    teardown(&fixture);
}

/* The compare of compare-and-set: without it this thread would be active. */
TEST(w10_a_thread_that_moves_between_load_and_set_is_a_conflict)
{
    struct fixture fixture;
    setup(&fixture);
    fixture.between = "UPDATE thread SET status = 'stopping' WHERE id = 't'";
    EXPECT_INT(thread_event(&fixture, THREAD_RUN_STARTED, "r1", false),
               LIFECYCLE_CONFLICT);
    EXPECT_CONTAINS(thread(&fixture), "stopping|r1|10|10;");
    EXPECT_EQ(fixture.told, 0);
    EXPECT_CONTAINS(buf_text(&fixture.recorder.text),
                    "run.started not applied: conflict: the thread left "
                    "starting while run.started was applied");
    prepare(&fixture, "SELECT 1"); /* the document of what was done by hand */
    teardown(&fixture);
}

/* The immediate transaction: nobody else gets between load and set at all. */
TEST(a_second_connection_cannot_write_between_load_and_set)
{
    struct fixture fixture;
    setup(&fixture);
    fixture.second = true;
    fixture.between = "UPDATE thread SET status = 'stopping' WHERE id = 't'";
    EXPECT_INT(thread_event(&fixture, THREAD_RUN_STARTED, "r1", false),
               LIFECYCLE_APPLIED);
    EXPECT_INT(fixture.second_code, SQLITE_BUSY);
    EXPECT_CONTAINS(thread(&fixture), "active|r1|");
    teardown(&fixture);
}

TEST(w11_attention_is_raised_by_an_answer_to_a_root_and_by_every_failure)
{
    static const struct {
        const char *sql;
        enum thread_event event;
        const char *want;
    } rows[] = {
        {"status = 'active'", THREAD_RUN_SUCCEEDED, "idle|-|100|100;"},
        {"status = 'active', parent = 'p'",
         THREAD_RUN_SUCCEEDED,
         "idle|-|10|100;"},
        {"status = 'starting'", THREAD_RUN_STARTED, "active|r1|10|100;"},
        {"status = 'starting'", THREAD_RUN_FAILED, "error|-|100|100;"},
        {"status = 'active', parent = 'p'",
         THREAD_RUN_FAILED,
         "error|-|100|100;"},
        {"status = 'stopping'", THREAD_STOP_SETTLED, "idle|-|10|100;"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct fixture fixture;
        setup(&fixture);
        struct buf sql = {0};
        buf_printf(&sql, "UPDATE thread SET %s", rows[i].sql);
        prepare(&fixture, buf_text(&sql));
        buf_release(&sql);
        EXPECT_INT(thread_event(&fixture, rows[i].event, "r1", false),
                   LIFECYCLE_APPLIED);
        EXPECT_TEXT(thread(&fixture), rows[i].want);
        teardown(&fixture);
    }
}

TEST(a_run_begins_where_the_machine_begins_one_and_only_there)
{
    struct fixture fixture;
    setup(&fixture);
    /* starting has a run already: one that is new is stale there. */
    EXPECT_INT(thread_event(&fixture, THREAD_RUN_STARTED, "r2", true),
               LIFECYCLE_SUPERSEDED);
    EXPECT_INT(thread_event(&fixture, THREAD_RUN_SUCCEEDED, "r1", false),
               LIFECYCLE_APPLIED);
    EXPECT_INT(thread_event(&fixture, THREAD_RUN_STARTED, "r2", true),
               LIFECYCLE_APPLIED);
    EXPECT_CONTAINS(thread(&fixture), "active|r2|");
    EXPECT_INT(thread_event(&fixture, THREAD_RUN_FAILED, "r1", false),
               LIFECYCLE_SUPERSEDED);
    EXPECT_INT(thread_event(&fixture, THREAD_RUN_FAILED, "r2", false),
               LIFECYCLE_APPLIED);
    EXPECT_INT(thread_event(&fixture, THREAD_RUN_PREPARING, "r3", true),
               LIFECYCLE_APPLIED);
    EXPECT_CONTAINS(thread(&fixture), "starting|r3|");
    teardown(&fixture);
}

TEST(a_report_that_lacks_what_is_to_be_written_is_refused_and_changes_nothing)
{
    struct fixture fixture;
    setup(&fixture);
    prepare(&fixture, "UPDATE thread SET status = 'idle', run = NULL");
    struct lifecycle_report report = {.event = THREAD_RUN_PREPARING,
                                      .begins = true};
    EXPECT_INT(registry_thread_event(&fixture.registry,
                                     "t",
                                     &report,
                                     100,
                                     &fixture.result,
                                     &fixture.detail),
               ERR_ARGUMENT);
    EXPECT_TEXT(fixture.detail.text, "run.preparing has no valid run");
    report.run = "a run with spaces";
    EXPECT_INT(registry_thread_event(&fixture.registry,
                                     "t",
                                     &report,
                                     100,
                                     &fixture.result,
                                     &fixture.detail),
               ERR_ARGUMENT);
    EXPECT_CONTAINS(thread(&fixture), "idle|-|");
    EXPECT_EQ(fixture.told, 0);
    teardown(&fixture);
}

TEST(a_no_op_that_was_to_be_expected_is_for_debugging_only)
{
    struct fixture fixture;
    setup(&fixture);
    const struct lifecycle_report report = {.event = THREAD_STOP_SETTLED,
                                            .run = "r1",
                                            .is_routine = true};
    EXPECT_INT(registry_thread_event(&fixture.registry,
                                     "t",
                                     &report,
                                     100,
                                     &fixture.result,
                                     &fixture.detail),
               ERR_OK);
    EXPECT_CONTAINS(buf_text(&fixture.recorder.text), "debug: thread t: ");
    EXPECT_EQ(fixture.registry.not_applied, 1);
    teardown(&fixture);
}

TEST(a_status_that_the_machine_does_not_know_is_a_damaged_row)
{
    struct fixture fixture;
    setup(&fixture);
    kit_run(&fixture.kit, "UPDATE thread SET status = 'asleep'");
    const struct lifecycle_report report = {.event = THREAD_RUN_STARTED,
                                            .run = "r1"};
    EXPECT_INT(registry_thread_event(&fixture.registry,
                                     "t",
                                     &report,
                                     100,
                                     &fixture.result,
                                     &fixture.detail),
               ERR_CORRUPT);
    EXPECT_TEXT(fixture.detail.text, "the row of thread t is damaged");
    kit_run(&fixture.kit, "UPDATE thread SET status = 'starting'");
    teardown(&fixture);
}

/* -- Environments -------------------------------------------------------- */

TEST(e1_a_failure_of_another_destroy_attempt_is_superseded)
{
    struct fixture fixture;
    setup(&fixture);
    prepare(&fixture,
            "UPDATE environment SET status = 'destroying', attempt = 'a2'");
    EXPECT_INT(environment_event(&fixture, ENVIRONMENT_DESTROY_FAILED, "a1"),
               LIFECYCLE_SUPERSEDED);
    EXPECT_TEXT(environment(&fixture), "destroying|a2|-|10;");
    EXPECT_INT(environment_event(&fixture, ENVIRONMENT_DESTROY_COMPLETED, NULL),
               LIFECYCLE_SUPERSEDED);
    EXPECT_TEXT(environment(&fixture), "destroying|a2|-|10;");
    teardown(&fixture);
}

TEST(e2_a_destroy_completes_once_and_clears_what_belonged_to_it)
{
    struct fixture fixture;
    setup(&fixture);
    prepare(&fixture,
            "UPDATE environment SET status = 'destroying', attempt = 'a1',"
            " workspace = 'w'");
    EXPECT_INT(environment_event(&fixture, ENVIRONMENT_DESTROY_COMPLETED, "a1"),
               LIFECYCLE_APPLIED);
    EXPECT_TEXT(environment(&fixture), "destroyed|-|-|100;");
    EXPECT_INT(environment_event(&fixture, ENVIRONMENT_DESTROY_COMPLETED, "a1"),
               LIFECYCLE_SUPERSEDED);
    EXPECT_EQ(fixture.told, 1);
    teardown(&fixture);
}

TEST(e3_an_environment_that_moves_between_load_and_set_is_a_conflict)
{
    struct fixture fixture;
    setup(&fixture);
    prepare(&fixture, "UPDATE environment SET status = 'ready'");
    fixture.between = "UPDATE environment SET status = 'error'";
    EXPECT_INT(
        environment_event(&fixture, ENVIRONMENT_PROVISION_REQUESTED, NULL),
        LIFECYCLE_CONFLICT);
    EXPECT_TEXT(environment(&fixture), "error|-|-|10;");
    EXPECT_EQ(fixture.told, 0);
    prepare(&fixture, "SELECT 1");
    teardown(&fixture);
}

TEST(e4_the_claim_of_a_destroy_holds_only_if_no_thread_is_in_the_way)
{
    struct fixture fixture;
    setup(&fixture);
    prepare(&fixture,
            "UPDATE environment SET status = 'retiring', workspace = 'w';"
            "UPDATE thread SET status = 'idle', run = NULL");
    EXPECT_INT(environment_event(&fixture, ENVIRONMENT_DESTROY_STARTED, "a1"),
               LIFECYCLE_CONFLICT);
    EXPECT_TEXT(environment(&fixture), "retiring|-|w|10;");
    EXPECT_CONTAINS(fixture.result.detail, "a thread is live or busy");

    /* Deleted, and its stop is not settled. */
    prepare(&fixture,
            "UPDATE thread SET status = 'stopping', run = 'r1',"
            " deleted_at = 5");
    EXPECT_INT(environment_event(&fixture, ENVIRONMENT_DESTROY_STARTED, "a1"),
               LIFECYCLE_CONFLICT);

    prepare(&fixture, "UPDATE thread SET status = 'idle', run = NULL");
    EXPECT_INT(environment_event(&fixture, ENVIRONMENT_DESTROY_STARTED, "a1"),
               LIFECYCLE_APPLIED);
    EXPECT_TEXT(environment(&fixture), "destroying|a1|w|100;");
    teardown(&fixture);
}

/* The condition is in the statement: it sees what came after the load. */
TEST(e4_a_thread_that_comes_between_load_and_claim_is_seen)
{
    struct fixture fixture;
    setup(&fixture);
    prepare(&fixture,
            "UPDATE environment SET status = 'retiring';"
            "UPDATE thread SET status = 'idle', run = NULL, archived_at = 5");
    fixture.between = "UPDATE thread SET archived_at = NULL";
    EXPECT_INT(environment_event(&fixture, ENVIRONMENT_DESTROY_STARTED, "a1"),
               LIFECYCLE_CONFLICT);
    EXPECT_TEXT(environment(&fixture), "retiring|-|-|10;");
    prepare(&fixture, "SELECT 1");
    teardown(&fixture);
}

TEST(e6_a_destroy_that_fails_is_retired_again_without_an_attempt)
{
    struct fixture fixture;
    setup(&fixture);
    prepare(&fixture,
            "UPDATE environment SET status = 'destroying', attempt = 'a1',"
            " workspace = 'w'");
    EXPECT_INT(environment_event(&fixture, ENVIRONMENT_DESTROY_FAILED, "a1"),
               LIFECYCLE_APPLIED);
    EXPECT_TEXT(environment(&fixture), "retiring|-|w|100;");
    teardown(&fixture);
}

TEST(a_workspace_is_written_with_the_status_or_not_at_all)
{
    struct fixture fixture;
    setup(&fixture);
    EXPECT_INT(
        environment_event(&fixture, ENVIRONMENT_PROVISION_SUCCEEDED, NULL),
        LIFECYCLE_APPLIED);
    EXPECT_TEXT(environment(&fixture), "ready|-|w/1|100;");
    prepare(&fixture,
            "UPDATE environment SET status = 'error', workspace = NULL");
    EXPECT_INT(
        environment_event(&fixture, ENVIRONMENT_PROVISION_SUCCEEDED, NULL),
        LIFECYCLE_ILLEGAL);
    EXPECT_CONTAINS(environment(&fixture), "error|-|-|");
    teardown(&fixture);
}

TEST(a_lost_attempt_keeps_its_name_and_its_answer_still_counts)
{
    struct fixture fixture;
    setup(&fixture);
    prepare(&fixture,
            "UPDATE environment SET status = 'destroying', attempt = 'a1'");
    EXPECT_INT(environment_event(&fixture, ENVIRONMENT_DESTROY_LOST, NULL),
               LIFECYCLE_APPLIED);
    EXPECT_TEXT(environment(&fixture), "error|a1|-|100;");
    EXPECT_INT(environment_event(&fixture, ENVIRONMENT_DESTROY_COMPLETED, "a1"),
               LIFECYCLE_APPLIED);
    EXPECT_TEXT(environment(&fixture), "destroyed|-|-|100;");
    teardown(&fixture);
}

/* -- Documents ----------------------------------------------------------- */

TEST(a_status_can_be_read_as_a_document_and_in_the_counts)
{
    struct fixture fixture;
    setup(&fixture);
    add_thread(&fixture, "t2", "t");
    EXPECT_INT(thread_event(&fixture, THREAD_RUN_STARTED, "r1", false),
               LIFECYCLE_APPLIED);
    EXPECT_TEXT(kit_read(&fixture.kit, "thread:t"),
                "{'value':{'archived':false,'attentionAt':10,'deleted':false,"
                "'environment':'e','queued':0,'run':'r1','since':100,"
                "'status':'active'}}");
    EXPECT_TEXT(kit_read(&fixture.kit, "lifecycle:counts"),
                "{'value':{'environment':{'destroyed':0,'destroying':0,"
                "'error':0,'provisioning':1,'ready':0,'retiring':0},'thread':"
                "{'active':1,'error':0,'idle':0,'starting':1,'stopping':0}}}");
    teardown(&fixture);
}

TEST(a_change_of_a_row_is_a_commit_like_any_other)
{
    struct fixture fixture;
    setup(&fixture);
    EXPECT_LANDED(&fixture.kit, fixture.kit.engine.seq + 1, "s1 1 | set A 1");
    EXPECT_INT(thread_event(&fixture, THREAD_RUN_STARTED, "r1", false),
               LIFECYCLE_APPLIED);
    const struct verify_options options = {0};
    struct verify_counts counts = {0};
    EXPECT_INT(
        engine_verify(&fixture.kit.engine, &options, &counts, &fixture.detail),
        ERR_OK);
    /* A reader of the old status is in conflict, as with any document. */
    struct buf line = {0};
    buf_printf(&line,
               "s1 2 | conf thread:t.status @%" PRIu64 " | set B 1",
               fixture.kit.engine.seq - 1);
    EXPECT_REFUSED(&fixture.kit, ERR_CONFLICT, "thread:t", buf_text(&line));
    buf_release(&line);
    teardown(&fixture);
}

TEST(counts_that_somebody_has_damaged_are_counted_again)
{
    struct fixture fixture;
    setup(&fixture);
    kit_commit(&fixture.kit, "s1 1 | put lifecycle:counts {'value':7}");
    EXPECT_INT(fixture.kit.verdicts[0].err, ERR_OK);
    EXPECT_INT(thread_event(&fixture, THREAD_RUN_STARTED, "r1", false),
               LIFECYCLE_APPLIED);
    EXPECT(registry_check(&fixture.registry));
    kit_commit(&fixture.kit, "s1 2 | delete lifecycle:counts");
    registry_close(&fixture.registry);
    open_registry(&fixture);
    const uint64_t seq = fixture.kit.engine.seq;
    EXPECT(registry_check(&fixture.registry));

    /* What is right is not written again. */
    registry_close(&fixture.registry);
    open_registry(&fixture);
    EXPECT_EQ(fixture.kit.engine.seq, seq);
    teardown(&fixture);
}

TEST(two_registries_on_one_file_see_each_other)
{
    struct fixture fixture;
    setup(&fixture);
    struct store_kit beside;
    kit_open_beside(&beside, &fixture.kit);
    const struct registry_options options = {0};
    struct registry other;
    EXPECT_INT(
        registry_open(&other, &beside.engine, &options, 1, &fixture.detail),
        ERR_OK);
    const struct lifecycle_report report = {.event = THREAD_RUN_STARTED,
                                            .run = "r1"};
    EXPECT_INT(registry_thread_event(&other,
                                     "t",
                                     &report,
                                     50,
                                     &fixture.result,
                                     &fixture.detail),
               ERR_OK);
    EXPECT_INT(fixture.result.kind, LIFECYCLE_APPLIED);
    EXPECT_INT(thread_event(&fixture, THREAD_RUN_STARTED, "r1", false),
               LIFECYCLE_ILLEGAL);
    EXPECT_INT(thread_event(&fixture, THREAD_RUN_SUCCEEDED, "r1", false),
               LIFECYCLE_APPLIED);
    EXPECT(registry_check(&other));
    registry_close(&other);
    kit_close(&beside);
    teardown(&fixture);
}

TEST(names_are_short_and_plain)
{
    EXPECT(registry_name_is_valid("thr_1-a.b~c:D"));
    EXPECT(!registry_name_is_valid(""));
    EXPECT(!registry_name_is_valid("a b"));
    EXPECT(!registry_name_is_valid("a/b"));
    char name[REGISTRY_NAME_SIZE + 1];
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    EXPECT(!registry_name_is_valid(name));
    name[sizeof name - 2] = '\0';
    EXPECT(registry_name_is_valid(name));
}
