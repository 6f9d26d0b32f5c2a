/* Observations in the store (docs/spec/persistence.md): dirtiness is derived
 * and never stored, batches leave no replay rows, and an action has one row.
 * R, S01 and PERS group the tests. */

#include "store/observations.h"

#include <stdio.h>
#include <string.h>

#include "lib/observe_kit.h"
#include "lib/test.h"
#include "lib/values.h"
#include "store/maintain.h"
#include "store/observed.h"
#include "store/run_history.h"

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

/* There are no replay rows for batches: a batch is decided anew, and is
 * idempotent; only the number of a commit is taken. */
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

/* With a commit likewise: what the commit does not prove is of the basis, which
 * never was. The commit lands, and what was known of the action is of a run
 * before this one. */
TEST(r06_the_basis_of_a_commit_with_one_that_did_not_land_is_dropped)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A 1");
    observe_commit(&kit, "s1 2 | set C 1", "p/a1 deep A out C");
    EXPECT_TEXT(observe_resume(&kit, "p"), "a1=clean");
    EXPECT_REFUSED(&kit, ERR_CONFLICT, "", "s1 3 | conf A @0 | set B 1");
    observe_commit(&kit,
                   "s1 4 | set C 2",
                   "p/a1 deep A deep B out C basis=2 layers=3");
    EXPECT_TEXT(observe_verdict(&kit), "3 dropped 0=layer-missing");
    EXPECT_TEXT(kit_read(&kit, "C"), "{'value':2}");
    EXPECT_TEXT(observe_resume(&kit, "p"), "a1=unknown");
    /* Nobody knows it; or it failed, which is no claim. */
    observe_commit(&kit,
                   "s1 5 | set D 2",
                   "p/a2 deep B out D basis=2 layers=3");
    EXPECT_TEXT(observe_verdict(&kit), "4 dropped 0=layer-missing");
    EXPECT_TEXT(observe_resume(&kit, "p"), "a1=unknown");
    observe_commit(&kit,
                   "s1 6 | set D 3",
                   "p/a2 deep B out D basis=2 layers=3 fail=x");
    EXPECT_TEXT(observe_verdict(&kit), "5");
    EXPECT_TEXT(observe_resume(&kit, "p"), "a1=unknown a2=failed");
    /* What did land is taken, and another session's is not this one's. */
    observe_commit(&kit,
                   "s1 7 | set D 4",
                   "p/a2 deep A out D basis=2 layers=2");
    EXPECT_TEXT(observe_verdict(&kit), "6");
    observe_commit(&kit,
                   "s2 1 | set D 5",
                   "p/a2 deep A out D basis=2 layers=2");
    EXPECT_TEXT(observe_verdict(&kit), "7 dropped 0=layer-missing");
    EXPECT_TEXT(observe_resume(&kit, "p"), "a1=unknown a2=unknown");
    /* A commit that is refused says nothing of its observation. */
    observe_commit(&kit,
                   "s2 2 | replace A.x.y.z 6",
                   "p/a2 deep A out D basis=2 layers=9");
    EXPECT(kit.verdicts[0].err != ERR_OK);
    EXPECT_EQ(kit.verdicts[0].dropped.count, 0);
    EXPECT_TEXT(observe_check(&kit), "");
    kit_close(&kit);
}

/* One that is to come cannot have been in view. */
TEST(a_basis_with_a_commit_of_later_is_dropped)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A 1");
    observe_alone(&kit, 2, "p/a1 deep A basis=1 layers=3");
    EXPECT_TEXT(observe_verdict(&kit), "1 dropped 0=layer-missing");
    observe_commit(&kit,
                   "s1 3 | set C 1",
                   "p/a1 deep A out C basis=1 layers=3");
    EXPECT_TEXT(observe_verdict(&kit), "2 dropped 0=layer-missing");
    kit_close(&kit);
}

TEST(a_basis_whose_commits_landed_in_another_order_is_stale)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A {'x':1}");
    EXPECT_LANDED(&kit, 2, "s1 3 | replace A.x 3");
    EXPECT_LANDED(&kit, 3, "s1 2 | replace A.x 2");
    observe_alone(&kit, 4, "p/a1 deep A.x basis=1 layers=2,3");
    EXPECT_TEXT(observe_verdict(&kit), "3 dropped 0=stale");
    observe_alone(&kit, 5, "p/a1 deep A.x basis=3 layers=2,3"); /* all below */
    EXPECT_TEXT(observe_verdict(&kit), "3");
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

/* "a1@2 a2@0": the newest commit that makes each of them dirty. */
static const char *changed_at(struct store_kit *kit, const char *piece)
{
    static char text[80];
    struct run_list list;
    size_t length = 0;
    text[0] = '\0';
    const struct value branch = value_text_new("");
    const struct value name = value_text_new(piece);
    EXPECT_INT(engine_read_begin(&kit->engine, &kit->detail), ERR_OK);
    EXPECT_INT(run_history_of_piece(&kit->engine, branch, name, &list, NULL),
               ERR_OK);
    VEC_FOREACH (&list.at, action) {
        length += (size_t)snprintf(text + length,
                                   sizeof text - length,
                                   "%sa%d@%d",
                                   length > 0 ? " " : "",
                                   (int)action->number,
                                   (int)action->changed);
    }
    run_list_release(&list);
    engine_read_end(&kit->engine);
    value_unref(branch);
    value_unref(name);
    return text;
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
    EXPECT_TEXT(changed_at(&kit, "p"), "a1@2 a2@0 a3@3");
    EXPECT_LANDED(&kit, 4, "s2 3 | set A 1");
    EXPECT_TEXT(observe_resume(&kit, "p"), "a1=dirty a2=dirty a3=dirty");
    EXPECT_TEXT(changed_at(&kit, "p"), "a1@4 a2@4 a3@4");
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

/* S02: ours has no waves; a commit is one run's. It is refused if anything that
 * it read has moved, names it, and leaves nothing. The seq to wait for is above
 * all that has moved, so one look brings the whole basis up to date; and a
 * basis is what was seen, no less and no more. */
TEST(s02_a_basis_that_was_left_behind_is_refused_and_named_document_by_document)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A 1 | set B 1 | set C 1");
    observe_alone(&kit, 2, "p/a1 deep A deep B deep C out D");
    EXPECT_LANDED(&kit, 2, "s2 1 | set A 2");
    EXPECT_LANDED(&kit, 3, "s2 2 | set B 2");
    static const struct {
        const char *basis;
        const char *moved; /* or NULL: it lands */
        uint64_t at;
    } rows[] = {
        {"conf A @1 | conf B @1 | conf C @1", "A", 2},
        {"conf A @2 | conf B @1 | conf C @1", "B", 3},
        {"conf A @2 | conf B @2 | conf C @1", "B", 3},
        {"conf A @2 | conf B @4 | conf C @1", NULL, 0}, /* beyond the head */
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char line[100];
        struct buf before = kit_dump(&kit);
        (void)snprintf(line,
                       sizeof line,
                       "s1 %d | %s | set D 1",
                       (int)i + 3,
                       rows[i].basis);
        observe_commit(&kit, line, "p/a1 same deep A deep B deep C out D");
        const struct verdict *verdict = &kit.verdicts[0];
        EXPECT(verdict->err != ERR_OK);
        if (rows[i].moved != NULL) {
            EXPECT_INT(verdict->err, ERR_CONFLICT);
            EXPECT(value_is_text(verdict->id, rows[i].moved));
            EXPECT_EQ(verdict->conflict_seq, rows[i].at);
            EXPECT_EQ(verdict->head_seq, 3);
        }
        struct buf after = kit_dump(&kit);
        EXPECT_TEXT(buf_text(&after), buf_text(&before));
        buf_release(&before);
        buf_release(&after);
        EXPECT_TEXT(observe_resume(&kit, "p"), "a1=dirty");
    }
    observe_commit(&kit,
                   "s1 9 | conf A @2 | conf B @3 | conf C @1 | set D 1",
                   "p/a1 same deep A deep B deep C out D");
    EXPECT_TEXT(observe_verdict(&kit), "4");
    EXPECT_TEXT(observe_resume(&kit, "p"), "a1=clean");
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
    EXPECT_TEXT(observe_resume(&kit, "p"), "a1=unknown a2=clean");
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
    int listed = 0;
    for (size_t i = 0; i < COUNT_OF(want); i++) {
        struct resume_page page;
        EXPECT_INT(engine_resume(&kit.engine, &query, &page, NULL), ERR_OK);
        EXPECT_EQ(page.actions.count, want[i]);
        VEC_FOREACH (&page.actions, action) { /* each once, in order */
            char name[16];
            (void)snprintf(name, sizeof name, "a%d", listed++);
            const struct digest digest = observe_name(name);
            EXPECT(digest_equal(&action->action, &digest));
        }
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
