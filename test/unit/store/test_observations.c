/* Observations in the store: scenarios R, S01 and PERS of the specification as
 * far as they apply, by their ids. Where ours decides otherwise (dirtiness is
 * derived and never stored, batches leave no replay rows, one row an action),
 * the test says what ours does. */

#include "store/observations.h"

#include <stdio.h>
#include <string.h>

#include "lib/observe_kit.h"
#include "lib/test.h"
#include "lib/values.h"
#include "store/maintain.h"
#include "store/observed.h"

static const char rows_sql[] =
    "SELECT (SELECT count(*) FROM action), (SELECT count(*) FROM run),"
    " (SELECT count(*) FROM edge), (SELECT count(*) FROM \"commit\")";

/* -- What is kept -------------------------------------------------------- */

/* Sums are in the files: they are what they always were, word by word, with
 * zeros behind the last. */
static uint64_t naive_sum(uint64_t from, const char *at, size_t length)
{
    uint64_t sum = from ^ (length * 0x9E3779B97F4A7C15U);
    for (size_t i = 0; i <= length; i += 8) {
        unsigned char bytes[8] = {0};
        for (size_t j = 0; j < 8 && i + j < length; j++) {
            bytes[j] = (unsigned char)at[i + j];
        }
        uint64_t word;
        memcpy(&word, bytes, sizeof word);
        sum = observed_mix(sum ^ word);
    }
    return sum;
}

TEST(the_sum_of_a_text_is_what_it_always_was)
{
    char bytes[64];
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (char)(i * 37 + 129);
    }
    for (size_t from = 0; from < 8; from++) {
        for (size_t length = 0; length <= 40; length++) {
            const struct text text = {bytes + from, length};
            EXPECT_EQ(observed_text_sum(from, text),
                      naive_sum(from, text.at, length));
        }
    }
    EXPECT_EQ(observed_text_sum(1, (struct text){"of:node-1", 9}),
              0x2D734C6B665B8AE0U);
}

TEST(r01_an_observation_alone_leaves_its_rows_and_no_commit)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A {'x':1}");
    observe_alone(&kit, 2, "p/a1 deep A.x shape B out C debounce=5 manual");
    EXPECT_TEXT(observe_verdict(&kit), "1");
    EXPECT_TEXT(observe_show(&kit, "p", "a1"),
                "computation clean @1 gates 5,0,manual deep A/value/x"
                " shape B/value out C/value");
    EXPECT_TEXT(kit_sql(&kit, rows_sql), "1|1|3|1;");
    EXPECT_TEXT(observe_check(&kit), "");
    kit_close(&kit);
}

TEST(r02_pers22_a_batch_takes_no_seq_and_the_same_again_changes_nothing)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A 1");
    observe_alone(&kit, 2, "p/a1 deep A out B");
    struct buf before = kit_dump(&kit);
    observe_alone(&kit, 2, "p/a1 deep A out B");
    EXPECT_TEXT(observe_verdict(&kit), "1");
    struct buf after = kit_dump(&kit);
    EXPECT_TEXT(buf_text(&after), buf_text(&before));
    EXPECT_EQ(kit.engine.seq, 1);
    EXPECT_TEXT(kit_sql(&kit, rows_sql), "1|1|2|1;");
    EXPECT_LANDED(&kit, 2, "s1 3 | set A 2");
    buf_release(&before);
    buf_release(&after);
    kit_close(&kit);
}

/* runs, the watermark before, the commit of the last run. */
static const char why_sql[] = "SELECT runs, before, landed FROM run";

TEST(a_run_leaves_how_often_and_between_which_commits)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A 1");
    observe_commit(&kit, "s1 2 | set B 1", "p/a1 deep A out B");
    EXPECT_TEXT(kit_sql(&kit, why_sql), "1|0|2;");
    EXPECT_LANDED(&kit, 3, "s2 1 | set A 2");
    observe_commit(&kit, "s1 3 | set B 2", "p/a1 deep A out B");
    EXPECT_TEXT(kit_sql(&kit, why_sql), "2|2|4;");
    EXPECT_LANDED(&kit, 5, "s2 2 | set A 3");
    observe_alone(&kit, 4, "p/a1 deep A out B");
    EXPECT_TEXT(kit_sql(&kit, why_sql), "3|4|0;");
    kit_close(&kit);
}

/* Upstream keeps replay rows for batches and refuses another one with the same
 * number. Ours keeps none: a batch is decided anew, and is idempotent; only
 * the number of a commit is taken. */
TEST(r03_pers22_the_number_of_a_commit_is_no_number_of_a_batch)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A 1");
    observe_alone(&kit, 1, "p/a1 deep A");
    EXPECT_CONTAINS(observe_verdict(&kit), "REPLAY_MISMATCH");
    EXPECT_TEXT(kit_sql(&kit, rows_sql), "0|0|0|1;");
    observe_commit(&kit, "s1 2 | set B 1", "p/a1 deep A out B");
    EXPECT_TEXT(observe_verdict(&kit), "2");
    observe_commit(&kit, "s1 2 | set B 1", "p/a1 deep A out B");
    EXPECT_TEXT(observe_verdict(&kit), "2");
    EXPECT(kit.verdicts[0].replayed);
    observe_commit(&kit, "s1 2 | set B 1", "p/a1 deep A.x out B");
    EXPECT_CONTAINS(observe_verdict(&kit), "REPLAY_MISMATCH");
    kit_commit(&kit, "s1 2 | set B 1");
    EXPECT_INT(kit.verdicts[0].err, ERR_REPLAY_MISMATCH);
    kit_close(&kit);
}

TEST(r04_each_of_a_batch_is_kept_or_dropped_for_itself)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A {'x':1,'y':1}");
    EXPECT_LANDED(&kit, 2, "s2 1 | replace A.x 2");
    const char *const batch[] = {
        "p/a1 deep A.y basis=1",
        "p/a2 deep A.x basis=1",
        "p/a3 same deep A.y basis=1",
        "p/a4 deep A.x basis=2",
    };
    observe_batch(&kit, "s1", 9, batch, COUNT_OF(batch));
    EXPECT_TEXT(observe_verdict(&kit), "2 dropped 1=stale 2=set-unknown");
    EXPECT_TEXT(observe_resume(&kit, "p"), "a1=clean a4=clean");
    kit_close(&kit);
}

TEST(r06_a_basis_with_a_commit_that_did_not_land_is_dropped)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A 1");
    observe_alone(&kit, 9, "p/a1 deep A basis=0 layers=1,5");
    EXPECT_TEXT(observe_verdict(&kit), "1 dropped 0=layer-missing");
    observe_alone(&kit, 9, "p/a1 deep A basis=0 layers=1,5");
    EXPECT_TEXT(observe_verdict(&kit), "1 dropped 0=layer-missing");
    EXPECT_TEXT(kit_sql(&kit, rows_sql), "0|0|0|1;");
    kit_close(&kit);
}

TEST(layers_that_were_in_view_do_not_make_an_observation_stale)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A {'x':1}");
    EXPECT_LANDED(&kit, 2, "s1 2 | replace A.x 2");
    observe_alone(&kit, 3, "p/a1 deep A.x basis=1 layers=2");
    EXPECT_TEXT(observe_verdict(&kit), "2");
    observe_alone(&kit, 4, "p/a2 deep A.x basis=1");
    EXPECT_TEXT(observe_verdict(&kit), "2 dropped 0=stale");
    EXPECT_LANDED(&kit, 3, "s2 1 | replace A.x 3");
    observe_alone(&kit, 5, "p/a1 same deep A.x basis=1 layers=2");
    EXPECT_TEXT(observe_verdict(&kit), "3 dropped 0=stale");
    EXPECT_TEXT(observe_resume(&kit, "p"), "a1=dirty");
    kit_close(&kit);
}

TEST(r08_pers25_the_same_again_after_dirt_is_one_row_and_clean)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A 1");
    observe_alone(&kit, 2, "p/a1 deep A out B");
    EXPECT_LANDED(&kit, 2, "s2 1 | set A 2");
    EXPECT_TEXT(observe_resume(&kit, "p"), "a1=dirty");
    observe_alone(&kit, 3, "p/a1 same deep A out B");
    EXPECT_TEXT(observe_resume(&kit, "p"), "a1=clean");
    EXPECT_TEXT(kit_sql(&kit, rows_sql), "1|1|2|2;");
    kit_close(&kit);
}

/* Ours marks nothing at the write: the question is asked when a piece comes
 * back, and the answer is the same. */
TEST(r11_pers28_a_commit_to_what_was_read_makes_the_reader_dirty)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A {'x':1,'y':1}");
    observe_alone(&kit, 2, "p/a1 deep A.x");
    observe_alone(&kit, 3, "p/a2 deep A.y");
    observe_alone(&kit, 4, "p/a3 shape A");
    EXPECT_LANDED(&kit, 2, "s2 1 | replace A.x 2");
    EXPECT_TEXT(observe_resume(&kit, "p"), "a1=dirty a2=clean a3=clean");
    EXPECT_LANDED(&kit, 3, "s2 2 | add A.z 1");
    EXPECT_TEXT(observe_resume(&kit, "p"), "a1=dirty a2=clean a3=dirty");
    EXPECT_LANDED(&kit, 4, "s2 3 | set A 1");
    EXPECT_TEXT(observe_resume(&kit, "p"), "a1=dirty a2=dirty a3=dirty");
    kit_close(&kit);
}

TEST(a_set_below_a_newer_patch_does_not_hide_the_patch)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A {'x':1}");
    observe_alone(&kit, 2, "p/a1 deep B"); /* the lowest watermark */
    EXPECT_LANDED(&kit, 2, "s1 3 | set A {'x':2}");
    observe_alone(&kit, 4, "p/a2 deep A.x");
    EXPECT_LANDED(&kit, 3, "s1 5 | replace A.x 3");
    EXPECT_TEXT(observe_resume(&kit, "p"), "a1=clean a2=dirty");
    kit_close(&kit);
}

TEST(r12_an_action_that_writes_what_it_reads_is_clean_and_others_are_not)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A {'x':1}");
    observe_alone(&kit, 2, "p/a1 deep A.x");
    observe_commit(&kit,
                   "s1 3 | conf A.x @1 | replace A.x 2",
                   "p/a2 deep A.x out A.x");
    EXPECT_TEXT(observe_verdict(&kit), "2");
    EXPECT_TEXT(observe_resume(&kit, "p"), "a1=dirty a2=clean");
    kit_close(&kit);
}

TEST(a_refused_commit_leaves_nothing_of_its_observation)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A 1");
    EXPECT_LANDED(&kit, 2, "s2 1 | set A 2");
    struct buf before = kit_dump(&kit);
    observe_commit(&kit, "s1 3 | conf A @1 | set B 1", "p/a1 deep A out B");
    EXPECT_CONTAINS(observe_verdict(&kit), "CONFLICT");
    struct buf after = kit_dump(&kit);
    EXPECT_TEXT(buf_text(&after), buf_text(&before));
    buf_release(&before);
    buf_release(&after);
    kit_close(&kit);
}

TEST(reads_that_the_commit_does_not_prove_are_as_old_as_their_basis)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A 1");
    EXPECT_LANDED(&kit, 2, "s2 1 | set A 2");
    observe_commit(&kit, "s1 3 | set B 1", "p/a1 deep A out B basis=1");
    EXPECT_TEXT(observe_show(&kit, "p", "a1"),
                "computation dirty @1 deep A/value out B/value");
    kit_close(&kit);
}

TEST(a_run_with_the_same_set_writes_one_row)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A 1");
    observe_alone(&kit, 2, "p/a1 deep A out B");
    const int64_t before = sqlite3_total_changes64(kit.engine.database.db);
    observe_alone(&kit, 3, "p/a1 same deep A out B");
    EXPECT_EQ(sqlite3_total_changes64(kit.engine.database.db) - before, 1);
    kit_close(&kit);
}

TEST(pers26_s01_a_changed_set_is_written_as_a_difference)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A 1");
    observe_alone(&kit, 2, "p/a1 deep A deep B deep C out O");
    EXPECT_TEXT(observe_readers(&kit, "A"), "p/a1");
    EXPECT_TEXT(observe_readers(&kit, "D"), "");
    const int64_t before = sqlite3_total_changes64(kit.engine.database.db);
    observe_alone(&kit, 3, "p/a1 deep B deep C deep D out O");
    /* one edge out, one in, one place, the action and its run */
    EXPECT_EQ(sqlite3_total_changes64(kit.engine.database.db) - before, 5);
    EXPECT_TEXT(observe_readers(&kit, "A"), "");
    EXPECT_TEXT(observe_readers(&kit, "D"), "p/a1");
    observe_alone(&kit, 4, "p/a1");
    EXPECT_TEXT(kit_sql(&kit, "SELECT count(*) FROM edge"), "0;");
    EXPECT_TEXT(observe_resume(&kit, "p"), "a1=clean");
    EXPECT_TEXT(observe_check(&kit), "");
    kit_close(&kit);
}

TEST(a_number_that_was_lost_is_not_given_out_again)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A 1");
    observe_alone(&kit, 2, "p/a1 deep A");
    (void)kit_sql(&kit, "DELETE FROM run");
    engine_forget(&kit.engine);
    observe_alone(&kit, 3, "p/a2 deep A");
    EXPECT_TEXT(observe_verdict(&kit), "1");
    EXPECT_TEXT(observe_resume(&kit, "p"), "a2=clean");
    kit_close(&kit);
}

TEST(a_set_that_the_store_has_not_got_makes_the_action_unknown)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A 1");
    observe_alone(&kit, 2, "p/a1 deep A out B");
    observe_commit(&kit, "s1 3 | set B 1", "p/a1 same deep C out B");
    EXPECT_TEXT(observe_verdict(&kit), "2 dropped 0=set-unknown");
    EXPECT_TEXT(observe_resume(&kit, "p"), "a1=unknown");
    EXPECT_TEXT(observe_check(&kit), "");
    observe_alone(&kit, 4, "p/a1 deep C out B");
    EXPECT_TEXT(observe_resume(&kit, "p"), "a1=clean");
    kit_close(&kit);
}

TEST(a_failed_run_is_kept_with_what_its_error_looks_like)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A 1");
    observe_alone(&kit, 2, "p/a1 deep A fail=boom");
    EXPECT_TEXT(observe_resume(&kit, "p"), "a1=failed");
    EXPECT_LANDED(&kit, 2, "s2 1 | set A 2");
    EXPECT_TEXT(observe_resume(&kit, "p"), "a1=dirty");
    observe_alone(&kit, 3, "p/a1 same deep A");
    EXPECT_TEXT(observe_resume(&kit, "p"), "a1=clean");
    kit_close(&kit);
}

/* -- Identity ------------------------------------------------------------ */

TEST(pers27_one_row_an_action_whatever_its_fingerprints)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A 1");
    observe_alone(&kit, 2, "p/a1 deep A impl=one");
    observe_alone(&kit, 3, "p/a1 deep A impl=two kind=effect");
    EXPECT_TEXT(kit_sql(&kit, "SELECT count(*) FROM action"), "1;");
    EXPECT_TEXT(observe_show(&kit, "p", "a1"), "effect clean @1 deep A/value");
    kit_close(&kit);
}

/* Two owner spaces are two files here: the same names in two pieces. */
TEST(r14_equal_names_in_two_pieces_are_two_actions)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A 1");
    observe_alone(&kit, 2, "p/a1 deep A");
    observe_alone(&kit, 3, "q/a1 deep A");
    EXPECT_TEXT(observe_readers(&kit, "A"), "p/a1 q/a1");
    EXPECT_LANDED(&kit, 2, "s1 4 | set A 2");
    EXPECT_TEXT(observe_resume(&kit, "p"), "a1=dirty");
    EXPECT_TEXT(observe_resume(&kit, "q"), "a1=dirty");
    kit_close(&kit);
}

TEST(a_later_generation_supersedes_and_an_earlier_one_is_dropped)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A 1");
    observe_alone(&kit, 2, "p/a1 deep A");
    observe_alone(&kit, 3, "p/a2 deep A");
    observe_alone(&kit, 4, "p/a1 same deep A gen=1");
    EXPECT_TEXT(observe_verdict(&kit), "1");
    EXPECT_TEXT(observe_resume(&kit, "p#1"), "a1=clean");
    EXPECT_TEXT(observe_resume(&kit, "p"), "");
    EXPECT_TEXT(observe_readers(&kit, "A"), "p/a1");
    observe_alone(&kit, 5, "p/a2 deep A");
    EXPECT_TEXT(observe_verdict(&kit), "1 dropped 0=superseded");
    kit_close(&kit);
}

TEST(r39_an_observation_is_of_its_branch)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A 1");
    observe_alone(&kit, 2, "p/a1 deep A");
    EXPECT_INT(kit_fork(&kit, "b", "", 1), ERR_OK);
    EXPECT_TEXT(observe_resume(&kit, "b/p"), "");
    observe_alone(&kit, 3, "on b: p/a1 deep A");
    EXPECT_TEXT(observe_resume(&kit, "b/p"), "a1=clean");
    EXPECT_LANDED(&kit, 2, "s1 4 | set A 2");
    EXPECT_TEXT(observe_resume(&kit, "p"), "a1=dirty");
    EXPECT_TEXT(observe_resume(&kit, "b/p"), "a1=clean");
    EXPECT_LANDED(&kit, 3, "s1 5 | branch b | set A 3");
    EXPECT_TEXT(observe_resume(&kit, "b/p"), "a1=dirty");
    EXPECT_INT(kit_branch_delete(&kit, "b"), ERR_OK);
    EXPECT_TEXT(observe_resume(&kit, "b/p"), "");
    EXPECT_TEXT(observe_resume(&kit, "c/p"), "BRANCH_UNKNOWN");
    kit_close(&kit);
}

/* R24 and R25: who has rows of his own is decided by what is read, and a user's
 * documents are his. */
TEST(r24_r25_what_reads_a_users_documents_is_that_users)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    kit.principal = "alice";
    EXPECT_LANDED(&kit, 1, "s1 1 | set A~user 1");
    observe_alone(&kit, 2, "p/a1 deep A~user");
    observe_alone(&kit, 3, "p/a2 deep B");
    kit.principal = "bob";
    EXPECT_TEXT(observe_resume(&kit, "p"), "a2=clean");
    EXPECT_LANDED(&kit, 2, "s1 1 | set A~user 1");
    observe_alone(&kit, 2, "p/a1 deep A~user");
    EXPECT_TEXT(observe_resume(&kit, "p"), "a2=clean a1=clean");
    EXPECT_LANDED(&kit, 3, "s1 3 | set A~user 2");
    EXPECT_TEXT(observe_resume(&kit, "p"), "a2=clean a1=dirty");
    kit.principal = "alice";
    EXPECT_TEXT(observe_resume(&kit, "p"), "a1=clean a2=clean");
    kit.principal = NULL;
    observe_alone(&kit, 9, "p/a1 deep A~user");
    EXPECT_CONTAINS(observe_verdict(&kit), "PROTOCOL");
    EXPECT_TEXT(observe_check(&kit), "");
    kit_close(&kit);
}

TEST(r23_pers30_of_many_sessions_the_last_32_are_kept)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    kit.principal = "alice";
    for (int i = 0; i < 35; i++) {
        char session[16];
        char commit[40];
        (void)snprintf(session, sizeof session, "t%02d", i);
        (void)snprintf(commit, sizeof commit, "%s 1 | set A %d", session, i);
        kit_commit(&kit, commit);
        const char *const line = "p/a1 deep A~session";
        observe_batch(&kit, session, 2, &line, 1);
    }
    EXPECT_TEXT(kit_sql(&kit,
                        "SELECT count(*), min(scope), (SELECT count(*) FROM"
                        " run), (SELECT count(*) FROM edge) FROM action"),
                "32|session:alice:t03|32|32;");
    EXPECT_TEXT(observe_check(&kit), "");
    kit_close(&kit);
}

/* -- Pages --------------------------------------------------------------- */

TEST(r13_pages_are_in_order_and_of_one_seq)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A 1");
    for (uint64_t i = 0; i < 5; i++) {
        char line[32];
        (void)snprintf(line, sizeof line, "p/a%d deep A", (int)i);
        observe_alone(&kit, 2 + i, line);
    }
    struct resume_query query = {
        .branch = value_text_new(""),
        .piece = value_text_new("p"),
        .limit = 2,
    };
    static const size_t want[] = {2, 2, 1};
    for (size_t i = 0; i < COUNT_OF(want); i++) {
        struct resume_page page;
        EXPECT_INT(engine_resume(&kit.engine, &query, &page, NULL), ERR_OK);
        EXPECT_EQ(page.actions.count, want[i]);
        EXPECT(page.more == (i < 2));
        EXPECT_EQ(page.places.count, 1);
        query.after = vec_last(&page.actions)->number;
        query.seq = page.seq;
        resume_page_release(&page);
    }
    EXPECT_LANDED(&kit, 2, "s1 9 | set B 1");
    struct resume_page page;
    struct err_detail detail = {0};
    EXPECT_INT(engine_resume(&kit.engine, &query, &page, &detail),
               ERR_LISTING_MOVED);
    value_unref(query.branch);
    value_unref(query.piece);
    kit_close(&kit);
}

TEST(a_long_history_is_asked_by_document_and_a_short_one_by_commit)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A {'x':1,'y':1}");
    observe_alone(&kit, 2, "p/a1 deep A.x");
    observe_alone(&kit, 3, "p/a2 deep A.y");
    for (uint64_t i = 0; i < 20; i++) {
        char commit[64];
        (void)snprintf(commit,
                       sizeof commit,
                       "s2 %d | replace A.y %d",
                       (int)i + 1,
                       (int)i);
        kit_commit(&kit, commit);
    }
    EXPECT_TEXT(observe_resume(&kit, "p"), "a1=clean a2=dirty");
    kit_close(&kit);
}

/* -- Who reads this, who must wake --------------------------------------- */

TEST(readers_are_found_by_path_deep_and_shape)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A {'x':{'y':1}}");
    observe_alone(&kit, 2, "p/a1 deep A.x.y");
    observe_alone(&kit, 3, "p/a2 shape A");
    observe_alone(&kit, 4, "p/a3 deep A out A.z");
    observe_alone(&kit, 5, "q/a4 deep A.other shape A.x deep A.x");
    EXPECT_TEXT(observe_readers(&kit, "A.x.y"), "p/a1 p/a3 q/a4");
    EXPECT_TEXT(observe_readers(&kit, "A.x"), "p/a1 p/a2 p/a3 q/a4");
    EXPECT_TEXT(observe_readers(&kit, "A.z"), "p/a2 p/a3");
    EXPECT_TEXT(observe_readers(&kit, "A!"), "p/a1 p/a2 p/a3 q/a4");
    EXPECT_TEXT(observe_readers(&kit, "B"), "");
    kit_close(&kit);
}

TEST(r32_pieces_that_must_wake_are_those_whose_input_changed)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A {'x':1,'y':1}");
    observe_alone(&kit, 2, "p/a1 deep A.x");
    observe_alone(&kit, 3, "q/a1 deep A.y");
    EXPECT_TEXT(observe_wake(&kit, 0), "");
    EXPECT_LANDED(&kit, 2, "s2 1 | replace A.x 2");
    EXPECT_TEXT(observe_wake(&kit, 0), "p/a1");
    EXPECT_TEXT(observe_wake(&kit, 1), "p/a1");
    EXPECT_TEXT(observe_wake(&kit, 2), "");
    observe_alone(&kit, 4, "p/a1 same deep A.x");
    EXPECT_TEXT(observe_wake(&kit, 0), "");
    kit_close(&kit);
}

/* -- Other spaces -------------------------------------------------------- */

static struct changed_read read_of(struct store_kit *kit, const char *id)
{
    return (struct changed_read){
        .scope_key = value_text_new("space"),
        .id = value_text_new(id),
        .path = from_pointer(&kit->engine.paths, "/value/x"),
        .kind = READ_DEEP,
    };
}

static void read_release(struct changed_read *read)
{
    value_unref(read->scope_key);
    value_unref(read->id);
    path_unref(read->path);
}

TEST(pers13_reads_in_another_space_have_its_watermark_and_are_decided_there)
{
    struct store_kit owner;
    struct store_kit other;
    kit_open_memory(&owner, NULL);
    kit_open_memory(&other, NULL);
    EXPECT_LANDED(&other, 1, "s1 1 | set A {'x':1,'y':1}");
    EXPECT_LANDED(&owner, 1, "s1 1 | set B 1");
    observe_alone(&owner, 2, "p/a1 far other:A.x @1 deep B");
    EXPECT_TEXT(observe_show(&owner, "p", "a1"),
                "computation clean @1 deep B/value deep other:A/value/x"
                " other@1");
    struct changed_read read = read_of(&other, "A");
    struct value branch = value_text_new("");
    EXPECT_LANDED(&other, 2, "s2 1 | replace A.y 2");
    EXPECT_INT(engine_changed_above(&other.engine, branch, 1, &read, 1, NULL),
               ERR_OK);
    EXPECT_EQ(read.changed, 0);
    EXPECT_LANDED(&other, 3, "s2 2 | replace A.x 2");
    EXPECT_INT(engine_changed_above(&other.engine, branch, 1, &read, 1, NULL),
               ERR_OK);
    EXPECT_EQ(read.changed, 3);
    EXPECT_INT(engine_changed_above(&other.engine, branch, 4, &read, 1, NULL),
               ERR_SEQUENCE);
    read_release(&read);
    value_unref(branch);
    kit_close(&owner);
    kit_close(&other);
}

static void count_mirror(void *ctx, const struct mirror *mirror)
{
    (void)mirror;
    ++*(int *)ctx;
}

static int count_mirrors(struct store_kit *kit)
{
    int count = 0;
    EXPECT_INT(engine_mirror_list(&kit->engine, count_mirror, &count, NULL),
               ERR_OK);
    return count;
}

TEST(r15_pers12_a_mirror_lets_the_space_that_is_read_find_its_readers)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A {'x':1,'y':1}");
    struct changed_read read = read_of(&kit, "A");
    struct mirror mirror = {
        .space = value_text_new("owner"),
        .branch = value_text_new(""),
        .piece = value_text_new("p"),
        .here = value_text_new(""),
        .seq = 1,
    };
    EXPECT_INT(engine_mirror_put(&kit.engine, &mirror, &read, 1, NULL), ERR_OK);
    EXPECT_TEXT(observe_readers(&kit, "A.x"), "owner:p");
    EXPECT_TEXT(observe_readers(&kit, "A.y"), "");
    EXPECT_TEXT(observe_wake(&kit, 0), "");
    EXPECT_LANDED(&kit, 2, "s1 2 | replace A.y 2");
    EXPECT_TEXT(observe_wake(&kit, 0), "");
    EXPECT_LANDED(&kit, 3, "s1 3 | replace A.x 2");
    EXPECT_TEXT(observe_wake(&kit, 0), "owner:p");
    mirror.seq = 3;
    EXPECT_INT(engine_mirror_put(&kit.engine, &mirror, &read, 1, NULL), ERR_OK);
    EXPECT_TEXT(observe_wake(&kit, 0), "");
    mirror.seq = 1; /* late: nothing happens */
    EXPECT_INT(engine_mirror_put(&kit.engine, &mirror, &read, 0, NULL), ERR_OK);
    EXPECT_INT(count_mirrors(&kit), 1);
    mirror.seq = 4;
    EXPECT_INT(engine_mirror_put(&kit.engine, &mirror, &read, 1, NULL),
               ERR_SEQUENCE);
    mirror.seq = 3;
    EXPECT_INT(engine_mirror_put(&kit.engine, &mirror, &read, 0, NULL), ERR_OK);
    EXPECT_INT(count_mirrors(&kit), 0);
    EXPECT_TEXT(observe_check(&kit), "");
    read_release(&read);
    value_unref(mirror.space);
    value_unref(mirror.branch);
    value_unref(mirror.piece);
    value_unref(mirror.here);
    kit_close(&kit);
}

/* -- Time goes by -------------------------------------------------------- */

/* Below the horizon a revision stands for all that were folded into it: what
 * might have changed counts as changed, and what did not is still clean. */
TEST(compaction_never_makes_a_dirty_action_clean)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A {'x':1,'y':1}");
    EXPECT_LANDED(&kit, 2, "s1 2 | set B 1");
    observe_alone(&kit, 3, "p/a1 deep A.x");
    observe_alone(&kit, 4, "p/a2 deep A.y");
    observe_alone(&kit, 5, "p/a3 deep B");
    EXPECT_LANDED(&kit, 3, "s1 6 | replace A.x 2");
    EXPECT_LANDED(&kit, 4, "s1 7 | set C 1");
    EXPECT_TEXT(observe_resume(&kit, "p"), "a1=dirty a2=clean a3=clean");
    struct compact_counts counts;
    EXPECT_INT(
        engine_compact(&kit.engine, ENGINE_HEAD, NULL, NULL, &counts, NULL),
        ERR_OK);
    EXPECT_EQ(counts.horizon, 4);
    EXPECT_TEXT(observe_resume(&kit, "p"), "a1=dirty a2=dirty a3=clean");
    kit_close(&kit);
}

TEST(a_restart_finds_everything_again)
{
    struct store_kit kit;
    kit_open_file(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A 1");
    observe_alone(&kit, 2, "p/a1 deep A out B throttle=9");
    observe_commit(&kit, "s1 3 | set B 1", "p/a2 deep B far o:A @4");
    kit_reopen(&kit);
    EXPECT_TEXT(observe_show(&kit, "p", "a1"),
                "computation clean @1 gates 0,9 deep A/value out B/value");
    EXPECT_TEXT(observe_show(&kit, "p", "a2"),
                "computation clean @2 deep B/value deep o:A/value o@4");
    observe_alone(&kit, 4, "p/a1 same deep A out B throttle=9");
    EXPECT_TEXT(observe_verdict(&kit), "2");
    EXPECT_TEXT(observe_check(&kit), "");
    kit_close(&kit);
}

static bool stop_after(void *ctx, uint64_t done)
{
    return done < *(uint64_t *)ctx;
}

TEST(what_nobody_asks_for_any_more_is_collected)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A 1");
    EXPECT_INT(kit_fork(&kit, "b", "", 1), ERR_OK);
    observe_alone(&kit, 2, "p/a1 deep A out B");
    observe_alone(&kit, 3, "p/a2 deep A out C");
    observe_alone(&kit, 4, "p/a1 deep A out B gen=1");
    observe_alone(&kit, 5, "q/a1 deep A out D");
    observe_alone(&kit, 6, "on b: p/a1 deep A out E");
    struct value main = value_text_new("");
    struct value piece = value_text_new("q");
    EXPECT_INT(engine_piece_forget(&kit.engine, main, piece, NULL), ERR_OK);
    EXPECT_TEXT(observe_resume(&kit, "q"), "");
    EXPECT_INT(kit_branch_delete(&kit, "b"), ERR_OK);
    struct collect_counts counts;
    uint64_t once = 1;
    EXPECT_INT(engine_collect(&kit.engine, stop_after, &once, &counts, NULL),
               ERR_OK);
    EXPECT(counts.stopped);
    EXPECT_EQ(counts.actions, 3);
    EXPECT_INT(engine_collect(&kit.engine, NULL, NULL, &counts, NULL), ERR_OK);
    EXPECT_EQ(counts.actions, 0);
    EXPECT_EQ(counts.pieces, 2);
    EXPECT_EQ(counts.places, 3);
    EXPECT_TEXT(kit_sql(&kit,
                        "SELECT (SELECT count(*) FROM action),"
                        " (SELECT count(*) FROM run), (SELECT count(*) FROM"
                        " edge), (SELECT group_concat(id) FROM place)"),
                "1|1|2|A,B;");
    EXPECT_TEXT(observe_resume(&kit, "p#1"), "a1=clean");
    EXPECT_TEXT(observe_check(&kit), "");
    /* A piece of that name may come again, and begins anew. */
    observe_alone(&kit, 7, "q/a2 deep A");
    EXPECT_TEXT(observe_resume(&kit, "q"), "a2=clean");
    value_unref(main);
    value_unref(piece);
    kit_close(&kit);
}

/* Code that changes with every release leaves nothing behind. */
TEST(fingerprints_of_nobody_are_collected)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A 1");
    observe_alone(&kit, 2, "p/a1 deep A out B impl=one");
    observe_alone(&kit, 3, "p/a2 deep A out C impl=two");
    observe_alone(&kit, 4, "p/a1 deep A out B impl=three");
    EXPECT_TEXT(kit_sql(&kit, "SELECT count(*) FROM fingerprint"), "3;");
    struct collect_counts counts;
    EXPECT_INT(engine_collect(&kit.engine, NULL, NULL, &counts, NULL), ERR_OK);
    EXPECT_EQ(counts.fingerprints, 1);
    EXPECT_TEXT(kit_sql(&kit, "SELECT count(*) FROM fingerprint"), "2;");
    /* The one that is gone is another row when it comes again. */
    observe_alone(&kit, 5, "p/a2 deep A out C impl=one");
    EXPECT_TEXT(observe_resume(&kit, "p"), "a1=clean a2=clean");
    EXPECT_TEXT(kit_sql(&kit, "SELECT count(*) FROM fingerprint"), "3;");
    EXPECT_TEXT(observe_check(&kit), "");
    kit_close(&kit);
}

/* -- Damage -------------------------------------------------------------- */

TEST(rows_that_were_changed_or_are_missing_never_look_clean)
{
    static const struct {
        const char *sql;
        const char *want; /* of a1; a2 is always clean */
        const char *check;
    } rows[] = {
        {"DELETE FROM edge WHERE action = 1 AND edge = 4", "a1=unknown", "fit"},
        {"UPDATE edge SET edge = 404 WHERE action = 1 AND edge = 4",
         "a1=unknown",
         "fit"},
        {"DELETE FROM place WHERE id = 'A'", "a1=unknown", "fit"},
        {"UPDATE place SET id = 'Z' WHERE id = 'A'", "a1=unknown", "fit"},
        {"UPDATE place SET path = 'x' WHERE id = 'A'", "a1=unknown", "fit"},
        {"UPDATE run SET seq = 1 WHERE action = 1", "a1=unknown", "fit"},
        {"UPDATE run SET seq = 99 WHERE action = 1", "a1=unknown", "fit"},
        {"UPDATE run SET error = x'00' WHERE action = 1", "a1=unknown", "fit"},
        {"UPDATE run SET elsewhere = '[' WHERE action = 1",
         "a1=unknown",
         "fit"},
        {"DELETE FROM run WHERE action = 1", "", "no run"},
        {"DELETE FROM action WHERE action = 1", "", "no action"},
        {"UPDATE action SET sets = zeroblob(64) WHERE action = 1",
         "a1=unknown",
         "fit"},
        {"UPDATE action SET kind = 2 WHERE action = 1", "a1=unknown", "fit"},
        {"UPDATE action SET fingerprint = 77 WHERE action = 1",
         "a1=unknown",
         "fit"},
        {"UPDATE action SET name = x'11' WHERE action = 1", NULL, "fit"},
        {"UPDATE action SET gates = '1 2' WHERE action = 1",
         "a1=unknown",
         "fit"},
        {"UPDATE fingerprint SET runtime = x'11' WHERE fingerprint = 1",
         NULL,
         "fit"},
        {"UPDATE action SET sum = 5 WHERE action = 1", "a1=unknown", "fit"},
        {"DELETE FROM piece WHERE id = 'p'", "", "no piece"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct store_kit kit;
        kit_open_memory(&kit, NULL);
        EXPECT_LANDED(&kit, 1, "s1 1 | set A 1");
        EXPECT_LANDED(&kit, 2, "s1 2 | set A 2");
        observe_alone(&kit, 3, "p/a1 deep A out B");
        observe_alone(&kit, 4, "q/a2 deep C out D impl=other");
        kit_run(&kit, rows[i].sql);
        if (rows[i].want != NULL) {
            EXPECT_TEXT(observe_resume(&kit, "p"), rows[i].want);
        } else {
            EXPECT(strstr(observe_resume(&kit, "p"), "clean") == NULL);
        }
        EXPECT_TEXT(observe_resume(&kit, "q"), "a2=clean");
        EXPECT_CONTAINS(observe_check(&kit), rows[i].check);
        uint64_t removed = 0;
        EXPECT_INT(engine_repair_observations(&kit.engine, &removed, NULL),
                   ERR_OK);
        EXPECT(removed > 0);
        EXPECT_TEXT(observe_check(&kit), "");
        EXPECT_TEXT(observe_resume(&kit, "p"), "");
        EXPECT_TEXT(observe_resume(&kit, "q"), "a2=clean");
        observe_alone(&kit, 5, "p/a1 deep A out B");
        EXPECT_TEXT(observe_resume(&kit, "p"), "a1=clean");
        EXPECT_TEXT(observe_check(&kit), "");
        kit_close(&kit);
    }
}

TEST(the_same_set_over_damaged_rows_is_not_taken)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A 1");
    observe_alone(&kit, 2, "p/a1 deep A out B");
    kit_run(&kit, "DELETE FROM edge WHERE edge = 4");
    observe_alone(&kit, 3, "p/a1 same deep A out B");
    EXPECT_TEXT(observe_verdict(&kit), "1 dropped 0=set-unknown");
    EXPECT_TEXT(observe_resume(&kit, "p"), "a1=unknown");
    observe_alone(&kit, 4, "p/a1 deep A out B");
    EXPECT_TEXT(observe_resume(&kit, "p"), "a1=clean");
    EXPECT_TEXT(observe_check(&kit), "");
    kit_close(&kit);
}

/* R26: the reverse index is used. */
TEST(r26_readers_are_found_by_an_index)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_CONTAINS(kit_sql(&kit,
                            "EXPLAIN QUERY PLAN SELECT action FROM edge"
                            " WHERE edge = 4"),
                    "edge_by_place");
    EXPECT_CONTAINS(kit_sql(&kit,
                            "EXPLAIN QUERY PLAN SELECT place, path FROM place"
                            " WHERE space = '' AND scope = 'space' AND"
                            " id = 'A'"),
                    "place_by_address");
    kit_close(&kit);
}
