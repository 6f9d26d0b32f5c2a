/* Which rows compaction removes, and that nothing misses them. */

#include "store/retention.h"

#include <stdio.h>
#include <unistd.h>

#include "lib/fault_vfs.h"
#include "lib/store_kit.h"
#include "lib/test.h"
#include "store/verify.h"

enum {
    DAY = 24 * 3600 * 1000,
    NOW = 10 * DAY, /* some wall clock */
};

/* Nothing is kept but what a process may need. */
static const struct retention nothing = {.now_ms = UINT64_MAX / 2};

static struct retire_counts retire(struct store_kit *kit,
                                   const struct retention *retention)
{
    struct compact_counts folded;
    struct retire_counts counts = {0};
    EXPECT_INT(engine_compact(&kit->engine,
                              ENGINE_HEAD,
                              NULL,
                              NULL,
                              &folded,
                              &kit->detail),
               ERR_OK);
    EXPECT_INT(engine_retire(&kit->engine,
                             retention,
                             NULL,
                             NULL,
                             &counts,
                             &kit->detail),
               ERR_OK);
    return counts;
}

static void expect_sound(struct store_kit *kit)
{
    const struct verify_options options = {.difference = NULL};
    struct verify_counts counts;
    EXPECT_EQ(engine_verify(&kit->engine, &options, &counts, NULL), ERR_OK);
    EXPECT_EQ(counts.differences, 0);
}

/* `count` commits of a session, from number `first` on, at document D. */
static void commit_some(struct store_kit *kit,
                        const char *session,
                        unsigned first,
                        unsigned count)
{
    for (unsigned i = first; i < first + count; i++) {
        struct buf line = {0};
        buf_printf(&line, "%s %u | set D %u", session, i, i);
        kit_commit(kit, buf_text(&line));
        EXPECT_INT(kit->verdicts[0].err, ERR_OK);
        buf_release(&line);
    }
}

/* An event: a receipt that must not exist, and a change. */
static enum err handle(struct store_kit *kit,
                       const char *session,
                       unsigned number,
                       const char *receipt)
{
    struct buf line = {0};
    buf_printf(&line,
               "%s %u | absent receipt:%s | set receipt:%s {} | set D %u",
               session,
               number,
               receipt,
               receipt,
               number);
    kit_commit(kit, buf_text(&line));
    buf_release(&line);
    return kit->verdicts[0].err;
}

/* -- Commits and sessions ------------------------------------------------ */

TEST(the_last_commits_and_those_above_the_horizon_stay)
{
    struct store_kit kit;
    const struct retention ten = {.commits = 10, .now_ms = NOW};
    kit_open_file(&kit, NULL);
    commit_some(&kit, "s1", 1, 30);
    kit_reopen(&kit); /* the session has ended */
    struct retire_counts counts = {0};
    EXPECT_INT(
        engine_retire(&kit.engine, &nothing, NULL, NULL, &counts, &kit.detail),
        ERR_OK);
    EXPECT_EQ(counts.commits, 0); /* nothing was folded */
    counts = retire(&kit, &ten);
    EXPECT_EQ(counts.commits, 20);
    EXPECT_EQ(counts.sessions, 0);
    EXPECT_TEXT(kit_sql(&kit, "SELECT min(seq), count(*) FROM \"commit\""),
                "21|10;");
    expect_sound(&kit);
    EXPECT_LANDED(&kit, 25, "s1 25 | set D 25");
    EXPECT(kit.verdicts[0].replayed);
    EXPECT_EQ(retire(&kit, &ten).commits, 0);
    kit_close(&kit);
}

TEST(a_session_that_has_ended_goes_with_its_commits)
{
    struct store_kit kit;
    kit_open_file(&kit, NULL);
    commit_some(&kit, "s1", 1, 5);
    commit_some(&kit, "s2", 1, 5);
    commit_some(&kit, "s3", 1, 5);
    kit_reopen(&kit);
    const struct retire_counts counts = retire(&kit, &nothing);
    EXPECT_EQ(counts.commits, 14); /* the last one is the head */
    EXPECT_EQ(counts.sessions, 2);
    EXPECT_TEXT(kit_sql(&kit, "SELECT key FROM session"), "s3;");
    expect_sound(&kit);
    EXPECT_EQ(kit.engine.seq, 15);
    /* A session of that name begins anew, and the history goes on. */
    EXPECT_LANDED(&kit, 16, "s1 1 | set D 1");
    EXPECT_TEXT(kit_read(&kit, "D"), "{'value':1}");
    kit_reopen(&kit);
    EXPECT_EQ(kit.engine.seq, 16);
    expect_sound(&kit);
    kit_close(&kit);
}

TEST(a_session_of_a_process_that_is_alive_keeps_its_last_commits)
{
    struct store_kit a;
    struct store_kit b;
    const struct retention two = {.session_commits = 2, .now_ms = NOW};
    kit_open_file(&a, NULL);
    kit_open_beside(&b, &a);
    commit_some(&a, "s1", 1, 5);
    commit_some(&b, "s2", 1, 5);
    commit_some(&a, "s3", 1, 5);
    kit_reopen(&a);
    EXPECT_EQ(retire(&a, &two).commits, 12); /* all but 9, 10 and the head */
    EXPECT_TEXT(kit_sql(&a, "SELECT seq FROM \"commit\""), "9;10;15;");
    EXPECT_LANDED(&b, 10, "s2 5 | set D 5"); /* sent again */
    EXPECT(b.verdicts[0].replayed);
    EXPECT_LANDED(&b, 16, "s2 6 | origin 4 | set D 6");
    kit_close(&b);
    EXPECT_EQ(retire(&a, &two).commits, 3);
    /* The number of s3 would be given to another one. */
    EXPECT_TEXT(kit_sql(&a, "SELECT key FROM session"), "s2;s3;");
    EXPECT_TEXT(kit_sql(&a, "SELECT seq FROM \"commit\""), "16;");
    expect_sound(&a);
    kit_close(&a);
}

/* The engine that compacts knows of its own sessions, too. */
TEST(a_session_of_the_same_process_is_kept_likewise)
{
    struct store_kit kit;
    const struct retention two = {.session_commits = 2, .now_ms = NOW};
    kit_open_memory(&kit, NULL);
    commit_some(&kit, "s1", 1, 5);
    commit_some(&kit, "s2", 1, 5);
    EXPECT_EQ(retire(&kit, &two).commits, 6);
    EXPECT_TEXT(kit_sql(&kit, "SELECT seq FROM \"commit\""), "4;5;9;10;");
    EXPECT_LANDED(&kit, 4, "s1 4 | set D 4");
    EXPECT_LANDED(&kit, 11, "s1 6 | set D 6");
    kit_close(&kit);
}

TEST(leases_outlive_the_lock_file)
{
    struct store_kit a;
    struct store_kit b;
    struct buf name = {0};
    const struct retention two = {.session_commits = 2, .now_ms = NOW};
    kit_open_file(&a, NULL);
    kit_open_beside(&b, &a);
    commit_some(&b, "s2", 1, 3);
    commit_some(&a, "s1", 1, 3);
    buf_printf(&name, "%s-lock", a.path);
    EXPECT_INT(unlink(buf_text(&name)), 0);
    commit_some(&b, "s2", 4, 1); /* which notices */
    commit_some(&a, "s1", 4, 3);
    kit_reopen(&a);
    EXPECT_EQ(retire(&a, &two).commits, 7);
    EXPECT_TEXT(kit_sql(&a, "SELECT seq FROM \"commit\""), "3;7;10;");
    buf_release(&name);
    kit_close(&b);
    kit_close(&a);
}

/* -- What others see ----------------------------------------------------- */

TEST(a_read_from_before_the_horizon_is_refused_without_the_commit_of_the_change)
{
    struct store_kit kit;
    kit_open_file(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A {'x':1} | set B 1");
    EXPECT_LANDED(&kit, 2, "s1 2 | replace A.x 2");
    EXPECT_LANDED(&kit, 3, "s1 3 | set C 1");
    kit_reopen(&kit);
    EXPECT_EQ(retire(&kit, &nothing).commits, 2);
    EXPECT_REFUSED(&kit, ERR_CONFLICT, "A", "s2 1 | conf A.x @1 | set E 1");
    EXPECT_REFUSED(&kit, ERR_CONFLICT, "A", "s2 2 | shape conf A @1 | set E 1");
    EXPECT_LANDED(&kit, 4, "s2 3 | conf B @1 | conf A @2 | set E 1");
    expect_sound(&kit);
    kit_close(&kit);
}

static void note_change(void *ctx, const struct engine_change *change)
{
    const struct text id = value_text(&change->address.id);
    buf_printf(ctx,
               "%llu %.*s;",
               (unsigned long long)change->seq,
               (int)id.length,
               id.at);
}

TEST(changes_are_told_without_the_rows_of_their_commits)
{
    struct store_kit a;
    struct store_kit b;
    struct buf got = {0};
    kit_open_file(&a, NULL);
    kit_open_beside(&b, &a);
    EXPECT_LANDED(&a, 1, "s1 1 | set A 1 | set B 1 | set C 1");
    EXPECT_LANDED(&a, 2, "s1 2 | set B 2");
    EXPECT_LANDED(&a, 3, "s1 3 | increment A 1");
    EXPECT_LANDED(&a, 4, "s1 4 | delete B");
    EXPECT_LANDED(&a, 5, "s1 5 | set D 1");
    kit_reopen(&a);
    EXPECT_EQ(retire(&a, &nothing).commits, 4);
    EXPECT_LANDED(&a, 6, "s1 6 | set A 6");
    EXPECT_INT(engine_read_begin(&b.engine, &b.detail), ERR_OK);
    EXPECT_INT(
        engine_changes(&b.engine, 1, ENGINE_HEAD, note_change, &got, &b.detail),
        ERR_OK);
    EXPECT_TEXT(buf_text(&got), "4 B;5 D;6 A;");
    buf_clear(&got);
    EXPECT_INT(engine_changes(&b.engine, 1, 5, note_change, &got, &b.detail),
               ERR_OK);
    EXPECT_TEXT(buf_text(&got), "3 A;4 B;5 D;");
    engine_read_end(&b.engine);
    buf_release(&got);
    kit_close(&b);
    kit_close(&a);
}

TEST(branches_keep_their_heads_and_the_horizon_its_place_in_the_chain)
{
    struct store_kit kit;
    kit_open_file(&kit, NULL);
    commit_some(&kit, "s1", 1, 4);
    EXPECT_EQ(kit_fork(&kit, "b", "", 3), ERR_OK);
    EXPECT_LANDED(&kit, 5, "s1 5 | branch b | set D 5");
    EXPECT_LANDED(&kit, 6, "s1 6 | branch b | set D 6");
    kit_reopen(&kit);
    EXPECT_EQ(retire(&kit, &nothing).commits, 2); /* up to the fork at 3 */
    EXPECT_TEXT(kit_sql(&kit, "SELECT seq FROM \"commit\""), "3;4;5;6;");
    EXPECT_TEXT(kit_read(&kit, "D"), "{'value':4}");
    EXPECT_TEXT(kit_read(&kit, "b/D"), "{'value':6}");
    expect_sound(&kit);
    kit_reopen(&kit);
    EXPECT_EQ(engine_branch_by_number(&kit.engine, 0)->head_seq, 4);
    EXPECT_EQ(engine_branch_by_number(&kit.engine, 1)->head_seq, 6);
    expect_sound(&kit);
    kit_close(&kit);
}

/* -- Receipts ------------------------------------------------------------ */

TEST(the_receipt_of_an_event_without_an_id_goes_with_its_session)
{
    struct store_kit a;
    struct store_kit b;
    const struct retention two = {
        .session_commits = 2,
        .receipts_ms = DAY,
        .now_ms = 1,
    };
    kit_open_file(&a, NULL);
    kit_open_beside(&b, &a);
    EXPECT_INT(handle(&a, "s1", 1, "x:a1:a0"), ERR_OK);
    EXPECT_INT(handle(&b, "s2", 1, "y:a1:a0"), ERR_OK);
    EXPECT_INT(handle(&b, "s2", 2, "y:a1:a1"), ERR_OK);
    EXPECT_INT(handle(&b, "s2", 3, "y:a1:a2"), ERR_OK);
    commit_some(&a, "s1", 2, 2);
    EXPECT_LANDED(&a, 7, "s1 4 | set Last 1"); /* the last document stays */
    kit_reopen(&a);
    EXPECT_EQ(retire(&a, &two).receipts, 2);
    EXPECT_TEXT(kit_read(&a, "receipt:x:a1:a0"), "(absent)");
    EXPECT_TEXT(kit_read(&a, "receipt:y:a1:a0"), "(absent)");
    EXPECT_INT(handle(&b, "s2", 4, "y:a1:a2"), ERR_RECEIPT_EXISTS);
    EXPECT_INT(handle(&b, "s2", 5, "y:a1:a1"), ERR_RECEIPT_EXISTS);
    expect_sound(&a);
    kit_close(&b);
    kit_close(&a);
}

TEST(the_receipt_of_an_event_with_an_id_stays_for_its_time)
{
    struct store_kit kit;
    struct retention day = {.receipts_ms = DAY, .now_ms = NOW};
    kit_open_file(&kit, NULL);
    kit.at_ms = NOW - 2 * DAY;
    EXPECT_INT(handle(&kit, "s1", 1, "old"), ERR_OK);
    kit.at_ms = NOW - DAY;
    EXPECT_INT(handle(&kit, "s1", 2, "aDayAgo"), ERR_OK);
    kit.at_ms = NOW - DAY + 1;
    EXPECT_INT(handle(&kit, "s1", 3, "young"), ERR_OK);
    kit.at_ms = NOW;
    commit_some(&kit, "s1", 4, 5);
    EXPECT_LANDED(&kit, 9, "s1 9 | set Last 1");
    kit_reopen(&kit);
    day.commits = 9;
    EXPECT_EQ(retire(&kit, &day).receipts, 0); /* of the last commits */
    day.commits = 0;
    EXPECT_EQ(retire(&kit, &day).receipts, 2);
    EXPECT_INT(handle(&kit, "s2", 1, "young"), ERR_RECEIPT_EXISTS);
    EXPECT_INT(handle(&kit, "s2", 2, "old"), ERR_OK);
    expect_sound(&kit);
    kit_close(&kit);
}

/* It has the id of its receipt (proto/event.h), and is none. */
TEST(an_event_that_waits_stays)
{
    struct store_kit kit;
    kit_open_file(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | put receipt:x:a1:a0 {'event':{'n':1}}");
    EXPECT_LANDED(&kit, 2, "s1 2 | put receipt:named {'event':{'n':2}}");
    EXPECT_LANDED(&kit, 3, "s1 3 | put receipt:x:a1:a1 {'event':{'n':3}}");
    EXPECT_LANDED(&kit, 4, "s1 4 | put receipt:x:a1:a1 {'value':{}}");
    EXPECT_LANDED(&kit, 5, "s1 5 | set Last 1");
    kit_reopen(&kit);
    EXPECT_EQ(retire(&kit, &nothing).receipts, 1);
    EXPECT_TEXT(kit_read(&kit, "receipt:x:a1:a0"), "{'event':{'n':1}}");
    EXPECT_TEXT(kit_read(&kit, "receipt:named"), "{'event':{'n':2}}");
    EXPECT_TEXT(kit_read(&kit, "receipt:x:a1:a1"), "(absent)");
    expect_sound(&kit);
    /* Also if the table that lists them is damaged. */
    kit_run(&kit, "DELETE FROM waiting");
    EXPECT_EQ(retire(&kit, &nothing).receipts, 0);
    kit_close(&kit);
}

/* The other space may not know yet that it was delivered. */
TEST(the_receipt_of_an_event_of_another_space_stays_for_its_time)
{
    struct store_kit kit;
    struct retention day = {.receipts_ms = DAY, .now_ms = NOW};
    kit_open_file(&kit, NULL);
    kit.at_ms = NOW;
    EXPECT_LANDED(&kit,
                  1,
                  "s1 1 | put receipt:x:a1:a0 {'fromSpace':'b','value':{}}");
    EXPECT_LANDED(&kit, 2, "s1 2 | set Last 1");
    kit_reopen(&kit);
    EXPECT_EQ(retire(&kit, &day).receipts, 0);
    day.now_ms = NOW + DAY;
    EXPECT_EQ(retire(&kit, &day).receipts, 1);
    expect_sound(&kit);
    kit_close(&kit);
}

/* Most commits have no row any more, and the age is known all the same. */
TEST(the_age_of_a_receipt_is_known_by_one_commit_in_many)
{
    struct store_kit kit;
    struct retention day = {.receipts_ms = DAY, .now_ms = NOW};
    const struct engine_options quick = {.durability = DURABILITY_NORMAL};
    kit_open_file(&kit, &quick);
    kit.at_ms = NOW - DAY / 2;
    commit_some(&kit, "s1", 1, 900);
    EXPECT_INT(handle(&kit, "s1", 901, "first"), ERR_OK);
    commit_some(&kit, "s1", 902, 1200);
    EXPECT_INT(handle(&kit, "s1", 2102, "second"), ERR_OK);
    commit_some(&kit, "s1", 2103, 100);
    EXPECT_LANDED(&kit, 2203, "s1 2203 | set Last 1");
    kit_reopen(&kit);
    EXPECT_EQ(retire(&kit, &day).receipts, 0);
    EXPECT_TEXT(kit_sql(&kit, "SELECT seq FROM \"commit\""), "1024;2048;2203;");
    day.now_ms = NOW + DAY / 2; /* at the age of a day, both go, */
    day.commits = 103;          /* but one is of the last commits */
    EXPECT_EQ(retire(&kit, &day).receipts, 1);
    EXPECT_TEXT(kit_read(&kit, "receipt:first"), "(absent)");
    EXPECT_INT(handle(&kit, "s2", 1, "second"), ERR_RECEIPT_EXISTS);
    EXPECT_TEXT(kit_sql(&kit, "SELECT seq FROM \"commit\""), "2203;");
    day.commits = 0;
    EXPECT_EQ(retire(&kit, &day).receipts, 1);
    expect_sound(&kit);
    kit_close(&kit);
}

TEST(a_clock_that_was_set_back_removes_nothing_that_is_young)
{
    struct store_kit kit;
    const struct retention day = {.receipts_ms = DAY, .now_ms = NOW};
    kit_open_file(&kit, NULL);
    kit.at_ms = NOW + 50 * (uint64_t)DAY; /* ahead */
    EXPECT_INT(handle(&kit, "s1", 1, "one"), ERR_OK);
    kit.at_ms = NOW - 10;
    EXPECT_INT(handle(&kit, "s1", 2, "two"), ERR_OK);
    EXPECT_LANDED(&kit, 3, "s1 3 | set Last 1");
    kit_reopen(&kit);
    EXPECT_EQ(retire(&kit, &day).receipts, 0);
    kit_close(&kit);
}

/* -- Steps --------------------------------------------------------------- */

static bool stop_at(void *ctx, uint64_t done, uint64_t total)
{
    unsigned *left = ctx;
    EXPECT(done <= total);
    return (*left)-- > 1;
}

static void fill(struct store_kit *kit)
{
    const struct engine_options quick = {.durability = DURABILITY_NORMAL};
    kit_open_file(kit, &quick);
    for (unsigned i = 1; i <= 2500; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "x:a1:%u", i);
        EXPECT_INT(handle(kit, i % 2 == 0 ? "s1" : "s2", i, name), ERR_OK);
    }
    EXPECT_LANDED(kit, 2501, "s3 1 | set Last 1");
    kit_reopen(kit);
}

TEST(it_can_be_stopped_after_each_step_and_goes_on)
{
    struct store_kit kit;
    struct compact_counts folded;
    struct retire_counts all = {0};
    bool stopped = true;
    unsigned runs = 0;
    fill(&kit);
    EXPECT_INT(engine_compact(&kit.engine,
                              ENGINE_HEAD,
                              NULL,
                              NULL,
                              &folded,
                              &kit.detail),
               ERR_OK);
    while (stopped && runs < 100) {
        unsigned left = ++runs; /* each comes a step farther */
        struct retire_counts counts = {0};
        EXPECT_INT(engine_retire(&kit.engine,
                                 &nothing,
                                 stop_at,
                                 &left,
                                 &counts,
                                 &kit.detail),
                   ERR_OK);
        stopped = counts.stopped;
        all.receipts += counts.receipts;
        all.commits += counts.commits;
        all.sessions += counts.sessions;
        expect_sound(&kit);
    }
    EXPECT(runs >= 5);
    EXPECT_EQ(all.receipts, 2500);
    EXPECT_EQ(all.commits, 2500);
    EXPECT_EQ(all.sessions, 2);
    kit_close(&kit);
}

/* A step that fails removes nothing, and is not counted. */
TEST(a_fault_in_any_step_leaves_a_sound_file)
{
    static const enum fault_kind kinds[] = {FAULT_WRITE,
                                            FAULT_FULL,
                                            FAULT_SYNC};
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        bool reached = true;
        for (uint64_t k = 1; reached; k += 4) {
            struct store_kit kit;
            struct compact_counts folded;
            struct retire_counts counts = {0};
            struct shrink_counts shrunk = {0};
            fault_vfs_use_real();
            const struct engine_options options = {.vfs = FAULT_REAL_VFS};
            kit_open_file(&kit, &options);
            for (unsigned n = 1; n <= 40; n++) {
                char name[32];
                (void)snprintf(name, sizeof name, "x:a1:%u", n);
                EXPECT_INT(handle(&kit, "s1", n, name), ERR_OK);
            }
            EXPECT_LANDED(&kit, 41, "s2 1 | set Last 1");
            kit_reopen(&kit);
            fault_vfs_plan((struct fault_plan){kinds[i], k, k % 2 == 0});
            enum err err = engine_compact(&kit.engine,
                                          ENGINE_HEAD,
                                          NULL,
                                          NULL,
                                          &folded,
                                          &kit.detail);
            if (err == ERR_OK) {
                err = engine_retire(&kit.engine,
                                    &nothing,
                                    NULL,
                                    NULL,
                                    &counts,
                                    &kit.detail);
            }
            if (err == ERR_OK) {
                err = engine_shrink(&kit.engine,
                                    NULL,
                                    NULL,
                                    &shrunk,
                                    &kit.detail);
            }
            reached = fault_vfs_failures() > 0;
            fault_vfs_plan((struct fault_plan){FAULT_NONE, 0, false});
            EXPECT(err == ERR_OK || reached);
            kit_reopen(&kit);
            expect_sound(&kit);
            EXPECT_TEXT(kit_read(&kit, "D"), "{'value':40}");
            const struct retire_counts rest = retire(&kit, &nothing);
            /* A transaction of which the sync failed may have landed. */
            EXPECT(counts.receipts + rest.receipts <= 40);
            EXPECT(counts.commits + rest.commits <= 40);
            EXPECT_TEXT(kit_sql(&kit,
                                "SELECT count(*) FROM document UNION ALL"
                                " SELECT count(*) FROM \"commit\""),
                        "2;1;");
            expect_sound(&kit);
            kit_close(&kit);
        }
    }
}

/* -- Pages --------------------------------------------------------------- */

TEST(free_pages_are_given_back_and_an_old_file_is_written_anew)
{
    struct store_kit kit;
    struct shrink_counts shrunk;
    fill(&kit);
    kit_run(&kit, "PRAGMA auto_vacuum = NONE");
    kit_run(&kit, "VACUUM");
    unsigned left = 1;
    EXPECT_INT(engine_rewrite(&kit.engine, stop_at, &left, &kit.detail),
               ERR_BUSY);
    expect_sound(&kit);
    EXPECT_TEXT(kit_sql(&kit, "PRAGMA auto_vacuum"), "0;");
    (void)retire(&kit, &nothing);
    EXPECT_INT(engine_shrink(&kit.engine, NULL, NULL, &shrunk, &kit.detail),
               ERR_OK);
    EXPECT(shrunk.cannot);
    EXPECT(shrunk.left > 100);
    EXPECT_INT(engine_rewrite(&kit.engine, NULL, NULL, &kit.detail), ERR_OK);
    expect_sound(&kit);
    EXPECT_TEXT(kit_sql(&kit, "PRAGMA freelist_count"), "0;");
    for (unsigned i = 1; i <= 3000; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "y:a1:%u", i);
        EXPECT_INT(handle(&kit, "s9", i, name), ERR_OK);
    }
    EXPECT_LANDED(&kit, 5502, "s9 3001 | set LastOfAll 1");
    kit_reopen(&kit);
    (void)retire(&kit, &nothing);
    left = 1;
    EXPECT_INT(engine_shrink(&kit.engine, stop_at, &left, &shrunk, &kit.detail),
               ERR_OK);
    EXPECT(shrunk.stopped && shrunk.pages > 0 && shrunk.left > 0);
    expect_sound(&kit);
    EXPECT_INT(engine_shrink(&kit.engine, NULL, NULL, &shrunk, &kit.detail),
               ERR_OK);
    EXPECT(!shrunk.cannot && shrunk.pages > 0);
    EXPECT_EQ(shrunk.left, 0);
    expect_sound(&kit);
    EXPECT_TEXT(kit_read(&kit, "Last"), "{'value':1}");
    kit_close(&kit);
}

/* -- What could be had --------------------------------------------------- */

TEST(what_could_be_reclaimed_is_what_is_removed)
{
    struct store_kit kit;
    struct reclaimable found;
    const struct retention some = {.commits = 500, .now_ms = NOW};
    fill(&kit);
    EXPECT_INT(engine_read_begin(&kit.engine, &kit.detail), ERR_OK);
    EXPECT_INT(engine_reclaimable(&kit.engine, &some, &found, &kit.detail),
               ERR_OK);
    engine_read_end(&kit.engine);
    const struct retire_counts counts = retire(&kit, &some);
    EXPECT_EQ(found.commits, counts.commits);
    EXPECT_EQ(found.receipts, counts.receipts);
    EXPECT_EQ(found.sessions, counts.sessions);
    EXPECT_EQ(found.revisions, 2499);
    EXPECT_EQ(found.free_bytes, 0);
    struct shrink_counts shrunk;
    EXPECT_INT(engine_shrink(&kit.engine, NULL, NULL, &shrunk, &kit.detail),
               ERR_OK);
    const uint64_t returned = shrunk.pages * 4096;
    EXPECT(found.row_bytes > returned / 2 && found.row_bytes < returned * 2);
    EXPECT_INT(engine_read_begin(&kit.engine, &kit.detail), ERR_OK);
    EXPECT_INT(engine_reclaimable(&kit.engine, &some, &found, &kit.detail),
               ERR_OK);
    engine_read_end(&kit.engine);
    EXPECT_EQ(found.commits + found.receipts + found.sessions, 0);
    kit_close(&kit);
}
