/* src/replica/transaction and commit_reads: what is logged, what is validated,
 * what the store is told (transaction-1 to transaction-5; scenarios Q10 to
 * Q21). */

#include <string.h>

#include "lib/replica_kit.h"
#include "lib/test.h"
#include "lib/values.h"

static void end(struct fixture *fixture)
{
    EXPECT_STAGE(fixture);
    fixture_close(fixture);
}

/* A session that watches A to C, with this at seq 1. */
static void begin(struct fixture *fixture, const char *sync)
{
    fixture_open(fixture, "s1");
    EXPECT_COMMIT(fixture, "read A | read B | read C");
    fixture_say(fixture, sync);
    (void)fixture_heard(fixture);
    (void)fixture_said(fixture);
}

/* What the last commit told of its reads. */
static const char *reads_of(struct fixture *fixture)
{
    const char *all = fixture_pending(fixture, fixture->local_seq);
    const char *reads = strstr(all, "'reads':");
    return reads != NULL ? reads : "none";
}

/* -- Reading ------------------------------------------------------------- */

TEST(q16_how_far_the_way_led_is_part_of_the_answer)
{
    struct fixture fixture;
    fixture_open_local(&fixture);
    EXPECT_COMMIT(&fixture, "put A {'n':1,'o':{}}");
    struct transaction *transaction = fixture_begin(&fixture);
    EXPECT_TEXT(fixture_read(&fixture, transaction, "A.o.x"), "()");
    EXPECT_TEXT(fixture_read(&fixture, transaction, "A.p"), "()");
    EXPECT_TEXT(fixture_read(&fixture, transaction, "A.p.x"), "NOT_FOUND");
    EXPECT_TEXT(fixture_read(&fixture, transaction, "A.n.x"), "TYPE");
    EXPECT_TEXT(fixture_read(&fixture, transaction, "Z"), "NOT_FOUND");
    EXPECT_TEXT(fixture_read(&fixture, transaction, "Z!"), "()");
    EXPECT_TEXT(fixture_read(&fixture, transaction, "A!"),
                "{'value':{'n':1,'o':{}}}");
    transaction_release(transaction);
    end(&fixture);
}

TEST(a_transaction_sees_its_own_writes_and_nobody_else_does)
{
    struct fixture fixture;
    fixture_open_local(&fixture);
    EXPECT_COMMIT(&fixture, "put A 1");
    struct transaction *one = fixture_begin(&fixture);
    struct transaction *two = fixture_begin(&fixture);
    EXPECT(fixture_do(&fixture,
                      one,
                      "put A 2 | put B {'x':[1]} | append B.x [2]") == ERR_OK);
    EXPECT_TEXT(fixture_read(&fixture, one, "A"), "2");
    EXPECT_TEXT(fixture_read(&fixture, one, "B.x.1"), "2");
    EXPECT_TEXT(fixture_read(&fixture, two, "A"), "1");
    EXPECT(fixture_do(&fixture, two, "put A 3") == ERR_OK);
    EXPECT_TEXT(fixture_read(&fixture, one, "A"), "2");
    EXPECT_TEXT(fixture_read(&fixture, two, "A"), "3");
    EXPECT_TEXT(fixture_see(&fixture, "A"), "1");
    transaction_release(two);
    EXPECT_TEXT(fixture_read(&fixture, one, "A"), "2");
    transaction_release(one);
    EXPECT_TEXT(fixture_see(&fixture, "A"), "1");
    end(&fixture);
}

TEST(transactions_on_one_document_end_in_any_order)
{
    static const int orders[][3] =
        {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    static const char *const puts[] = {"put A 1", "put A 2", "put A 3"};
    static const char *const seen[] = {"1", "2", "3"};
    for (size_t i = 0; i < COUNT_OF(orders); i++) {
        struct fixture fixture;
        fixture_open_local(&fixture);
        struct transaction *open[3];
        for (size_t j = 0; j < 3; j++) {
            open[j] = fixture_begin(&fixture);
            EXPECT(fixture_do(&fixture, open[j], puts[j]) == ERR_OK);
        }
        for (size_t j = 0; j < 3; j++) {
            for (size_t k = j; k < 3; k++) {
                const int left = orders[i][k];
                EXPECT_TEXT(fixture_read(&fixture, open[left], "A"),
                            seen[left]);
            }
            transaction_release(open[orders[i][j]]);
        }
        EXPECT_TEXT(fixture_see(&fixture, "A"), "()");
        end(&fixture);
    }
}

/* -- transaction-1 ------------------------------------------------------- */

TEST(t1_a_place_is_logged_once_a_kind)
{
    struct fixture fixture;
    fixture_open_local(&fixture);
    EXPECT_COMMIT(&fixture, "put A {'x':1}");
    struct transaction *transaction = fixture_begin(&fixture);
    EXPECT(fixture_do(&fixture,
                      transaction,
                      "shape A | shape A | read A | read A") == ERR_OK);
    EXPECT_EQ(transaction->reads.count, 2);
    EXPECT(fixture_do(&fixture,
                      transaction,
                      "read A.x | shape A.x | read A.x") == ERR_OK);
    EXPECT_EQ(transaction->reads.count, 3); /* deep sees what shape sees */
    EXPECT(fixture_do(&fixture, transaction, "peek A | peek A.x") == ERR_OK);
    EXPECT_EQ(transaction->reads.count, 3);
    transaction_release(transaction);
    transaction = fixture_begin(&fixture);
    EXPECT(fixture_do(&fixture, transaction, "read A.x") == ERR_OK);
    EXPECT_EQ(transaction->reads.count, 1);
    transaction_release(transaction);
    end(&fixture);
}

/* -- transaction-2 ------------------------------------------------------- */

TEST(q12_what_was_read_must_still_be_what_it_was)
{
    static const struct {
        const char *read;
        const char *change;
        enum err want;
    } rows[] = {
        {"read A", "put A.x 2", ERR_STALE},
        {"read A.x", "put A.x 2", ERR_STALE},
        {"read A.x", "put A.y 2", ERR_OK},
        {"read A.x", "put A {'x':1}", ERR_OK},
        {"shape A", "put A.x 2", ERR_OK},
        {"shape A", "put A.z 2", ERR_STALE},
        {"shape A.x", "put A.x 2", ERR_STALE},
        {"read A.z", "put A.z 2", ERR_STALE},
        {"read Z", "put Z 2", ERR_STALE},
        {"read A!", "put A!.meta 2", ERR_STALE},
        {"read A.x", "put A!.meta 2", ERR_OK},
        {"peek A.x", "put A.x 2", ERR_OK},
        {"loose A.x", "put A.x 2", ERR_OK},
        {"still A.x", "put A.x 2", ERR_STALE},
        {"put A.x 5 | read A.x", "put A.x 2", ERR_OK},
        {"inc A.x 5 | read A.x", "put A.x 2", ERR_STALE},
        {"read A.x", "delete A!", ERR_STALE},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct fixture fixture;
        fixture_open_local(&fixture);
        EXPECT_COMMIT(&fixture, "put A {'x':1,'y':1}");
        struct transaction *transaction = fixture_begin(&fixture);
        EXPECT(fixture_do(&fixture, transaction, rows[i].read) == ERR_OK);
        EXPECT(fixture_do(&fixture, transaction, "put B 1") == ERR_OK);
        EXPECT_COMMIT(&fixture, rows[i].change);
        (void)fixture_heard(&fixture);
        const enum err err = fixture_end(&fixture, transaction);
        if (!EXPECT_INT(err, rows[i].want)) {
            (void)test_fail(__FILE__, __LINE__, "row %zu", i);
        }
        EXPECT_TEXT(fixture_see(&fixture, "B"), err == ERR_OK ? "1" : "()");
        end(&fixture);
    }
}

TEST(q12_a_document_that_is_not_there_yet_was_read_as_absent)
{
    struct fixture fixture;
    fixture_open(&fixture, "s1");
    struct transaction *transaction = fixture_begin(&fixture);
    EXPECT(fixture_do(&fixture, transaction, "read A | put B 1") == ERR_OK);
    EXPECT_EQ(transaction->unloaded, 1);
    EXPECT(fixture_end(&fixture, transaction) == ERR_OK);
    EXPECT_CONTAINS(buf_text(&fixture.script.last),
                    "'reads':{'confirmed':[{'id':'A','path':['value'],"
                    "'seq':0}]}");
    end(&fixture);
}

TEST(t2_nothing_is_applied_and_nothing_sent_when_it_is_stale)
{
    struct fixture fixture;
    begin(&fixture, "sync 0-1 pull A@1=0 B@1=0 C@1=0");
    struct transaction *transaction = fixture_begin(&fixture);
    EXPECT(fixture_do(&fixture, transaction, "read A | put B 1 | put C 1") ==
           ERR_OK);
    EXPECT_COMMIT(&fixture, "put A 5");
    (void)fixture_heard(&fixture);
    EXPECT_INT(fixture_end(&fixture, transaction), ERR_STALE);
    EXPECT_CONTAINS(fixture.detail.text, "changed A since");
    EXPECT_TEXT(fixture_heard(&fixture), "");
    EXPECT_TEXT(fixture_said(&fixture), "commits 1");
    EXPECT_TEXT(fixture_outcomes(&fixture), "");
    end(&fixture);
}

TEST(t2_writes_are_replayed_on_what_somebody_else_made_of_the_document)
{
    struct fixture fixture;
    fixture_open_local(&fixture);
    EXPECT_COMMIT(&fixture, "put A {'x':1,'y':1,'l':[1]}");
    struct transaction *transaction = fixture_begin(&fixture);
    EXPECT(fixture_do(&fixture,
                      transaction,
                      "put A.x 2 | append A.l [9] | inc A.n 1") == ERR_OK);
    EXPECT_COMMIT(&fixture, "put A.y 3 | append A.l [5] | put A.n 10");
    EXPECT(fixture_end(&fixture, transaction) == ERR_OK);
    EXPECT_TEXT(fixture_see(&fixture, "A"), "{'l':[1,5,9],'n':11,'x':2,'y':3}");
    transaction = fixture_begin(&fixture);
    EXPECT(fixture_do(&fixture, transaction, "put A.l.2 7 | put B 1") ==
           ERR_OK);
    EXPECT_COMMIT(&fixture, "put A.l []");
    EXPECT_INT(fixture_end(&fixture, transaction), ERR_STALE);
    EXPECT_TEXT(fixture_see(&fixture, "B"), "()");
    end(&fixture);
}

/* -- transaction-3 ------------------------------------------------------- */

TEST(q11_what_changes_nothing_is_not_sent_and_not_checked)
{
    static const char *const lines[] = {
        "put A 5",
        "put A! {'value':5}",
        "put B.x 1",
        "put B {'x':1}",
        "delete B.y",
        "delete B.x.y.z",
        "delete Z",
        "delete Z!",
        "put B.y 1 | delete B.y",
        "inc A 0",
        "inc A 1 | inc A -1",
        "unique C [1]",
        "remove C 7",
        "append C []",
        "put A 6 | put A 5",
        "delete A! | put A! {'value':5}",
    };
    for (size_t i = 0; i < COUNT_OF(lines); i++) {
        struct fixture fixture;
        begin(&fixture, "sync 0-1 pull A@1=5 B@1={'x':1} C@1=[1]");
        EXPECT_COMMIT(&fixture, "put D 0 | read Z");
        fixture_say(&fixture, "sync 1-1 pull Z@0=()");
        (void)fixture_heard(&fixture);
        (void)fixture_said(&fixture);
        struct transaction *transaction = fixture_begin(&fixture);
        EXPECT(fixture_do(&fixture, transaction, "read D") == ERR_OK);
        EXPECT(fixture_do(&fixture, transaction, lines[i]) == ERR_OK);
        EXPECT_COMMIT(&fixture, "put D 1"); /* its basis is stale */
        EXPECT_INT(fixture_end(&fixture, transaction), ERR_OK);
        if (!EXPECT_TEXT(fixture_heard(&fixture), "commit #2 D 0->1")) {
            (void)test_fail(__FILE__, __LINE__, "%s", lines[i]);
        }
        EXPECT_EQ(fixture.space->local_seq, 2);
        EXPECT_TEXT(fixture_outcomes(&fixture), "");
        end(&fixture);
    }
}

TEST(q11_without_effect_no_session_is_opened)
{
    struct fixture fixture;
    fixture_open(&fixture, "s1");
    fixture_entity(&fixture, "A")->loaded = true;
    EXPECT_COMMIT(&fixture, "delete A.x");
    EXPECT_TEXT(fixture_said(&fixture), "");
    end(&fixture);
}

/* -- transaction-5 ------------------------------------------------------- */

TEST(q21_the_log_can_be_read_after_the_end)
{
    struct fixture fixture;
    fixture_open_local(&fixture);
    EXPECT_COMMIT(&fixture, "put A {'x':1,'l':[1]} | put B 1");
    struct transaction *transaction = fixture_begin(&fixture);
    EXPECT(fixture_do(&fixture,
                      transaction,
                      "read B | shape A | loose A.x | still A.l | peek B | "
                      "put A.x 2 | put A.y 1 | put B 1 | append A.l [2]") ==
           ERR_OK);
    EXPECT(transaction_commit(transaction, NULL) == ERR_OK);
    EXPECT(transaction->state == TRANSACTION_COMMITTED);
    static const struct {
        enum read_kind kind;
        unsigned flags;
    } reads[] = {
        {READ_DEEP, READ_FOR_BOTH},
        {READ_SHAPE, READ_FOR_BOTH},
        {READ_DEEP, READ_NOT_FOR_COMMIT},
        {READ_DEEP, READ_NOT_FOR_SCHEDULING},
    };
    if (EXPECT_EQ(transaction->reads.count, COUNT_OF(reads))) {
        for (size_t i = 0; i < COUNT_OF(reads); i++) {
            EXPECT_EQ(transaction->reads.at[i].kind, reads[i].kind);
            EXPECT_EQ(transaction->reads.at[i].flags, reads[i].flags);
        }
        EXPECT_JSON(transaction->reads.at[0].seen, "1");
    }
    static const bool changed[] = {true, true, true, false};
    size_t draft = 0;
    size_t write = 0;
    size_t count = 0;
    const struct write_entry *entry;
    while ((entry = transaction_next_write(transaction, &draft, &write)) !=
           NULL) {
        EXPECT(count < COUNT_OF(changed) && entry->changed == changed[count]);
        count++;
    }
    EXPECT_EQ(count, 4);
    transaction_release(transaction);
    end(&fixture);
}

TEST(a_transaction_says_why_it_runs)
{
    struct fixture fixture;
    fixture_open_local(&fixture);
    struct place *place = fixture_place(&fixture, "A.x");
    const struct cause cause = {place, 7};
    const struct transaction_options options = {
        .source = "x",
        .group = "g",
        .attempt = 3,
        .causes = &cause,
        .cause_count = 1,
    };
    struct transaction *transaction =
        transaction_begin(&fixture.replica, &options);
    EXPECT_EQ(transaction->cause_count, 1);
    EXPECT(transaction->causes[0].place == place);
    EXPECT_EQ(transaction->attempt, 3);
    transaction_release(transaction);
    transaction = fixture_begin(&fixture);
    EXPECT_EQ(transaction->cause_count, 0);
    place_unref(place);
    EXPECT(transaction->source == NULL && transaction->group == NULL);
    EXPECT_EQ(transaction->attempt, 0);
    transaction_release(transaction);
    end(&fixture);
}

/* -- What the store is told of the reads --------------------------------- */

TEST(q13_only_reads_that_say_something_are_sent)
{
    static const struct {
        const char *line;
        const char *want;
    } rows[] = {
        {"read A.x.y | read A | read A.x",
         "{'confirmed':[{'id':'A','path':['value'],'seq':1}]}"},
        {"shape A | read A.x",
         "{'confirmed':[{'id':'A','nonRecursive':true,'path':['value'],"
         "'seq':1},{'id':'A','path':['value','x'],'seq':1}]}"},
        {"shape A | read A",
         "{'confirmed':[{'id':'A','path':['value'],'seq':1}]}"},
        {"read A | shape A.x",
         "{'confirmed':[{'id':'A','path':['value'],'seq':1}]}"},
        {"read data:x | read cid:y | read A.x",
         "{'confirmed':[{'id':'A','path':['value','x'],'seq':1}]}"},
        {"still A.x | peek B",
         "{'confirmed':[{'id':'A','path':['value','x'],'seq':1}]}"},
        {"read A~user",
         "{'confirmed':[{'id':'A','path':['value'],'scope':'user','seq':0}]}"},
        {"put B 1 | read B | read B.x", NULL},
        {"read >Z", NULL},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct fixture fixture;
        begin(&fixture, "sync 0-1 pull A@1={'x':{'y':1}} B@1={'x':1} C@1=0");
        fixture_open_second(&fixture);
        struct transaction *transaction = fixture_begin(&fixture);
        EXPECT(fixture_do(&fixture, transaction, rows[i].line) == ERR_OK);
        EXPECT(fixture_do(&fixture, transaction, "put C 1") == ERR_OK);
        EXPECT(fixture_end(&fixture, transaction) == ERR_OK);
        const char *reads = reads_of(&fixture);
        if (rows[i].want == NULL) {
            EXPECT_TEXT(reads, "none");
        } else {
            EXPECT_CONTAINS(reads, rows[i].want);
        }
        end(&fixture);
    }
}

TEST(q13_a_read_that_is_not_for_the_commit_leaves_the_parent_of_the_write)
{
    struct fixture fixture;
    begin(&fixture, "sync 0-1 pull A@1={'x':{'y':1}} B@1=0 C@1=0");
    EXPECT_COMMIT(&fixture, "loose A.x | put A.x.y 2 | put B 1");
    EXPECT_CONTAINS(reads_of(&fixture),
                    "{'confirmed':[{'id':'A','nonRecursive':true,'path':"
                    "['value','x'],'seq':1}]}");
    end(&fixture);
}

TEST(a_read_names_all_layers_and_the_basis_below_them)
{
    struct fixture fixture;
    begin(&fixture, "sync 0-4 pull A@4={'x':1} B@1=0 C@1=0");
    EXPECT_COMMIT(&fixture, "put A.x 2");
    EXPECT_COMMIT(&fixture, "put A.y 2");
    EXPECT_COMMIT(&fixture, "read A.x | put B 1");
    EXPECT_CONTAINS(reads_of(&fixture),
                    "{'pending':[{'basisSeq':4,'id':'A','localSeq':[1,2],"
                    "'path':['value','x']}]}");
    end(&fixture);
}

/* What moved in an array is not where it was: to read it is to read more than
 * its own writes. */
TEST(what_moved_in_an_array_is_no_own_writing)
{
    static const char *const lines[] = {
        "delete A.0 | read A.0 | put B 1",
        "put A.1 9 | delete A.0 | read A.1 | put B 1",
        "remove A 1 | read A.0 | put B 1",
        "put A.1 9 | remove A 1 | read A.1 | put B 1",
    };
    for (size_t i = 0; i < COUNT_OF(lines); i++) {
        struct fixture fixture;
        begin(&fixture, "sync 0-1 pull A@1=[1,2,3,4] B@1=0 C@1=0");
        EXPECT_COMMIT(&fixture, lines[i]);
        if (!EXPECT_CONTAINS(reads_of(&fixture),
                             "{'id':'A','path':['value'],'seq':1}")) {
            (void)test_fail(__FILE__, __LINE__, "%s", lines[i]);
        }
        end(&fixture);
    }
    struct fixture fixture;
    begin(&fixture, "sync 0-1 pull A@1=[1,2] B@1=0 C@1=0");
    EXPECT_COMMIT(&fixture, "put A [5,6,7] | delete A.0 | read A.1 | put B 1");
    EXPECT_TEXT(reads_of(&fixture), "none");
    end(&fixture);
}

/* Few reads and many go different ways to the same end. */
PROPERTY(few_and_many_reads_say_the_same, 200)
{
    struct fixture fixture;
    begin(&fixture, "sync 0-1 pull A@1={'x':{'y':1}} B@1=0 C@1=0");
    struct transaction *transaction = fixture_begin(&fixture);
    struct path *paths[40];
    enum read_kind kinds[40];
    const size_t count = 1 + random_below(random, 40);
    for (size_t i = 0; i < count; i++) {
        struct buf name = {0};
        buf_append_text(&name, random_one_in(random, 8) ? "A!" : "A");
        for (uint64_t more = random_below(random, 4); more > 0; more--) {
            buf_printf(&name, ".%c", 'a' + (int)random_below(random, 3));
        }
        struct place *place = fixture_place(&fixture, buf_text(&name));
        kinds[i] = random_one_in(random, 2) ? READ_DEEP : READ_SHAPE;
        paths[i] = path_ref(place->path);
        struct value value;
        (void)transaction_read(transaction,
                               place,
                               kinds[i],
                               READ_FOR_BOTH,
                               &value);
        value_unref(value);
        place_unref(place);
        buf_release(&name);
    }
    EXPECT(fixture_do(&fixture, transaction, "put B 1") == ERR_OK);
    EXPECT(fixture_end(&fixture, transaction) == ERR_OK);
    const struct pending *pending =
        CONTAINER_OF(list_last(&fixture.space->pending), struct pending, node);
    /* All that was read is covered, and nothing is there twice. */
    for (size_t i = 0; i < count; i++) {
        size_t covered = 0;
        size_t same = 0;
        VEC_FOREACH (&pending->commit.reads, read) {
            const bool deep = read->kind == READ_DEEP;
            covered += deep ? path_is_prefix(read->path, paths[i])
                            : read->path == paths[i] && kinds[i] == READ_SHAPE;
            same += read->path == paths[i] && read->kind == kinds[i];
        }
        EXPECT_EQ(covered, 1);
        EXPECT(same <= 1);
    }
    VEC_FOREACH (&pending->commit.reads, read) {
        bool was_read = false;
        for (size_t i = 0; i < count; i++) {
            was_read =
                was_read || (paths[i] == read->path && kinds[i] == read->kind);
        }
        EXPECT(was_read);
    }
    for (size_t i = 0; i < count; i++) {
        path_unref(paths[i]);
    }
    end(&fixture);
}

/* -- Writing ------------------------------------------------------------- */

TEST(q16_where_something_can_be_written)
{
    static const struct {
        const char *line;
        enum err want;
        const char *after; /* of A, or NULL: as before */
    } rows[] = {
        {"put A.n 2", ERR_OK, "{'l':[1,2],'n':2,'o':{}}"},
        {"put A.p 2", ERR_OK, "{'l':[1,2],'n':1,'o':{},'p':2}"},
        {"put A.p.q 2", ERR_NOT_FOUND, NULL},
        {"put A.n.q 2", ERR_TYPE, NULL},
        {"put A.l.1 3", ERR_OK, "{'l':[1,3],'n':1,'o':{}}"},
        {"put A.l.2 3", ERR_OK, "{'l':[1,2,3],'n':1,'o':{}}"},
        {"put A.l.3 3", ERR_RANGE, NULL},
        {"put A.l.x 3", ERR_RANGE, NULL},
        {"put A! 5", ERR_PATCH_ROOT, NULL},
        {"put Z.x 5", ERR_NOT_FOUND, NULL},
        {"append A.n [1]", ERR_TYPE, NULL},
        {"append A.l 1", ERR_TYPE, NULL},
        {"append A! [1]", ERR_TYPE, NULL},
        {"inc A.n 'x'", ERR_TYPE, NULL},
        {"inc A.n {'/':{'number@1':'NaN'}}", ERR_TYPE, NULL},
        {"inc A.n 0", ERR_OK, NULL},
        {"inc A.q 0", ERR_OK, "{'l':[1,2],'n':1,'o':{},'q':0}"},
        {"inc A.o 1", ERR_TYPE, NULL},
        {"delete A.l.0", ERR_OK, "{'l':[2],'n':1,'o':{}}"},
        {"delete A.l.7", ERR_OK, NULL},
        {"delete A.n.x", ERR_OK, NULL},
        {"delete A", ERR_OK, "!{}"},
        {"put A.n -0.0", ERR_OK, "{'l':[1,2],'n':-0,'o':{}}"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct fixture fixture;
        fixture_open_local(&fixture);
        EXPECT_COMMIT(&fixture, "put A {'n':1,'l':[1,2],'o':{}}");
        const enum err err = fixture_commit(&fixture, rows[i].line);
        const char *want =
            rows[i].after != NULL ? rows[i].after : "{'l':[1,2],'n':1,'o':{}}";
        if (!EXPECT_INT(err, rows[i].want) ||
            !EXPECT_TEXT(fixture_see(&fixture, "A"), want)) {
            (void)test_fail(__FILE__, __LINE__, "%s", rows[i].line);
        }
        end(&fixture);
    }
}

TEST(q16_zero_and_minus_zero_are_different)
{
    struct fixture fixture;
    fixture_open_local(&fixture);
    EXPECT_COMMIT(&fixture, "put A 0.0");
    (void)fixture_heard(&fixture);
    EXPECT_COMMIT(&fixture, "put A -0.0");
    EXPECT_CONTAINS(fixture_heard(&fixture), "commit A 0");
    end(&fixture);
}

TEST(a_write_that_fails_leaves_the_others)
{
    struct fixture fixture;
    fixture_open_local(&fixture);
    struct transaction *transaction = fixture_begin(&fixture);
    EXPECT(fixture_do(&fixture, transaction, "put A 1") == ERR_OK);
    EXPECT(fixture_do(&fixture, transaction, "put A.x.y 1") == ERR_TYPE);
    EXPECT(fixture_do(&fixture, transaction, "put B.x 1") == ERR_NOT_FOUND);
    EXPECT(fixture_end(&fixture, transaction) == ERR_OK);
    EXPECT_TEXT(fixture_see(&fixture, "A"), "1");
    EXPECT_TEXT(fixture_see(&fixture, "B"), "()");
    end(&fixture);
}

TEST(q17_a_document_can_be_without_a_payload)
{
    struct fixture fixture;
    fixture_open_local(&fixture);
    EXPECT_COMMIT(&fixture, "put A! {'meta':1,'value':2}");
    EXPECT_TEXT(fixture_see(&fixture, "A"), "!{'meta':1,'value':2}");
    EXPECT_COMMIT(&fixture, "delete A");
    EXPECT_TEXT(fixture_see(&fixture, "A"), "!{'meta':1}");
    EXPECT_COMMIT(&fixture, "put A 3");
    EXPECT_TEXT(fixture_see(&fixture, "A"), "!{'meta':1,'value':3}");
    EXPECT_COMMIT(&fixture, "delete A!");
    EXPECT_TEXT(fixture_see(&fixture, "A"), "()");
    end(&fixture);
}

/* -- Several spaces ------------------------------------------------------ */

TEST(q15_a_second_space_is_refused_unless_it_was_opted_in)
{
    struct fixture fixture;
    fixture_open_local(&fixture);
    fixture_open_second(&fixture);
    struct transaction *transaction = fixture_begin(&fixture);
    EXPECT(fixture_do(&fixture, transaction, "read A | read >B | put A 1") ==
           ERR_OK);
    EXPECT(fixture_do(&fixture, transaction, "put >B 1") == ERR_ARGUMENT);
    EXPECT(fixture_end(&fixture, transaction) == ERR_OK);
    EXPECT_TEXT(fixture_see(&fixture, "A"), "1");
    EXPECT_TEXT(fixture_see(&fixture, ">B"), "()");
    end(&fixture);
}

/* Also where both documents are there, and only their payloads are put. */
TEST(q15_a_second_space_is_refused_for_payload_writes_as_well)
{
    struct fixture fixture;
    fixture_open_local(&fixture);
    fixture_open_second(&fixture);
    EXPECT_COMMIT(&fixture, "put A 1");
    EXPECT_COMMIT(&fixture, "put >B 1");
    EXPECT_NO_COMMIT(&fixture, ERR_ARGUMENT, "put A 2 | put >B 2");
    EXPECT_NO_COMMIT(&fixture, ERR_ARGUMENT, "put A 2 | inc >B 2");
    EXPECT_NO_COMMIT(&fixture, ERR_ARGUMENT, "put >B 2 | put A.x 2");
    EXPECT_TEXT(fixture_see(&fixture, "A"), "1");
    EXPECT_TEXT(fixture_see(&fixture, ">B"), "1");
    fixture.several = true;
    (void)fixture_heard(&fixture);
    EXPECT_COMMIT(&fixture, "put >B 2 | put A 2");
    EXPECT_TEXT(fixture_heard(&fixture), "commit B 1->2; commit A 1->2");
    end(&fixture);
}

/* Payloads of documents that are there go a way of their own. */
TEST(payload_writes_are_like_any_others)
{
    static const struct {
        const char *line;
        const char *heard;
    } rows[] = {
        {"put A 2 | put B 3", "commit A 1->2 B 1->3"},
        {"put A 2 | put A 1", ""},
        {"put A 2 | put A 3", "commit A 1->3"},
        {"put A 2 | read A | put B 2", "commit A 1->2 B 1->2"},
        {"put A 2 | delete A!", "commit A 1->()"},
        {"put A {'x':1} | put A.y 2", "commit A 1->{'x':1,'y':2}"},
        {"put A [1] | append A [2]", "commit A 1->[1,2]"},
        {"put A 2 | put Z 1", "commit A 1->2 Z ()->1"},
        {"put A 1 | put B 2", "commit B 1->2"},
        {"put A 2 | new Z | put Z 1", "commit A 1->2 Z ()->1"},
        {"new Z | put A 2", "commit A 1->2"},
        {"put Y 1 | put Z 2", "commit Y ()->1 Z ()->2"},
        {"put Z 1 | put Z 2", "commit Z ()->2"},
        {"put Z 1 | read Z | put A 2", "commit Z ()->1 A 1->2"},
        {"put Z 1 | delete Z!", ""},
        {"put Z {'x':1} | put Z.y 2", "commit Z ()->{'x':1,'y':2}"},
        {"put A 2 | put B 2 | put C 2 | put D 2 | put E 2 | put F 2 | put G 2 "
         "| put H 2 | put I 2 | put J 2 | put A 3",
         "commit A 1->3 B 1->2 C ()->2 D ()->2 E ()->2 F ()->2 G ()->2 H "
         "()->2 I ()->2 J ()->2"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct fixture fixture;
        fixture_open_local(&fixture);
        EXPECT_COMMIT(&fixture, "put A 1 | put B 1");
        (void)fixture_heard(&fixture);
        (void)fixture_outcomes(&fixture);
        EXPECT_COMMIT(&fixture, rows[i].line);
        if (!EXPECT_TEXT(fixture_heard(&fixture), rows[i].heard)) {
            (void)test_fail(__FILE__, __LINE__, "%s", rows[i].line);
        }
        EXPECT_TEXT(fixture_outcomes(&fixture),
                    rows[i].heard[0] == '\0' ? ""
                                             : "verdict #0 @2; settled #0 @2");
        end(&fixture);
    }
}

TEST(t2_payload_writes_meet_what_somebody_else_did_meanwhile)
{
    static const char *const changes[] = {"delete A!", "put A 7", "delete A"};
    static const char *const heard[] = {
        "commit A 1->(); commit A ()->2",
        "commit A 1->7; commit A 7->2",
        "commit A 1->!{}; commit A !{}->2",
    };
    for (size_t i = 0; i < COUNT_OF(changes); i++) {
        struct fixture fixture;
        fixture_open_local(&fixture);
        EXPECT_COMMIT(&fixture, "put A 1");
        (void)fixture_heard(&fixture);
        struct transaction *transaction = fixture_begin(&fixture);
        EXPECT(fixture_do(&fixture, transaction, "put A 2") == ERR_OK);
        EXPECT_COMMIT(&fixture, changes[i]);
        EXPECT(fixture_end(&fixture, transaction) == ERR_OK);
        EXPECT_TEXT(fixture_heard(&fixture), heard[i]);
        end(&fixture);
    }
}

/* The end and the way back into the pool in one. Nobody waits for an answer, so
 * the first of them goes the shortest way. */
TEST(a_transaction_that_is_finished_is_committed_and_released)
{
    static const struct {
        const char *line;
        const char *heard;
    } rows[] = {
        {"put A 2", "commit A 1->2"},
        {"put A 1", ""},
        {"put A 'a text that is on the heap'",
         "commit A 1->'a text that is on the heap'"},
        {"put Z 1", "commit Z ()->1"},
        {"put A 2 | put B 3", "commit A 1->2 B 1->3"},
        {"put A.x 2 | put B 3", NULL},
        {"read A | put A 2", "commit A 1->2"},
        {"read A", ""},
        {"put A {'x':1} | put A.y 2", "commit A 1->{'x':1,'y':2}"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct fixture fixture;
        fixture_open_local(&fixture);
        EXPECT_COMMIT(&fixture, "put A 1 | put B 1");
        (void)fixture_heard(&fixture);
        struct err_detail detail;
        struct transaction *transaction =
            transaction_begin(&fixture.replica, NULL);
        const enum err err = fixture_do(&fixture, transaction, rows[i].line);
        EXPECT_EQ(err, rows[i].heard != NULL ? ERR_OK : ERR_TYPE);
        EXPECT_EQ(transaction_finish(transaction, &detail), ERR_OK);
        EXPECT_TEXT(fixture_heard(&fixture),
                    rows[i].heard != NULL ? rows[i].heard : "");
        EXPECT_EQ(fixture.replica.open, 0);
        struct transaction *next = transaction_begin(&fixture.replica, NULL);
        EXPECT(next == transaction);
        EXPECT_EQ(next->payload_writes.count + next->reads.count +
                      next->drafts_used,
                  0);
        transaction_release(next);
        end(&fixture);
    }
}

TEST(a_transaction_that_is_finished_can_be_stale)
{
    struct fixture fixture;
    fixture_open_local(&fixture);
    EXPECT_COMMIT(&fixture, "put A 1 | put B 1");
    struct err_detail detail;
    struct transaction *transaction = transaction_begin(&fixture.replica, NULL);
    EXPECT_EQ(fixture_do(&fixture, transaction, "read A | put B 2"), ERR_OK);
    EXPECT_COMMIT(&fixture, "put A 5");
    (void)fixture_heard(&fixture);
    EXPECT_EQ(transaction_finish(transaction, &detail), ERR_STALE);
    EXPECT_TEXT(fixture_heard(&fixture), "");
    EXPECT_EQ(fixture.replica.open, 0);

    /* One that was overtaken and read nothing is not. */
    transaction = transaction_begin(&fixture.replica, NULL);
    EXPECT_EQ(fixture_do(&fixture, transaction, "put B 1"), ERR_OK);
    EXPECT_COMMIT(&fixture, "put B 7");
    EXPECT_EQ(transaction_finish(transaction, &detail), ERR_OK);
    EXPECT_TEXT(fixture_heard(&fixture), "commit B 1->7; commit B 7->1");
    transaction = transaction_begin(&fixture.replica, NULL);
    EXPECT_EQ(fixture_do(&fixture, transaction, "put B 2"), ERR_OK);
    EXPECT_COMMIT(&fixture, "put B! {'beside':1}");
    EXPECT_EQ(transaction_finish(transaction, &detail), ERR_OK);
    EXPECT_TEXT(fixture_heard(&fixture),
                "commit B 1->!{'beside':1}; commit B "
                "!{'beside':1}->!{'beside':1,'value':2}");
    end(&fixture);
}

/* payload-write-3 of quick.h: who asks is the older one of two, or the
 * younger. */
TEST(payload_writes_of_two_transactions_to_one_document)
{
    for (unsigned older_first = 0; older_first < 2; older_first++) {
        struct fixture fixture;
        fixture_open_local(&fixture);
        EXPECT_COMMIT(&fixture, "put A 1");
        (void)fixture_heard(&fixture);
        struct transaction *older = fixture_begin(&fixture);
        struct transaction *younger = fixture_begin(&fixture);
        struct transaction *first = older_first ? older : younger;
        struct transaction *second = older_first ? younger : older;
        EXPECT(fixture_do(&fixture, first, "put A 2") == ERR_OK);
        EXPECT(fixture_do(&fixture, second, "put A 3") == ERR_OK);
        EXPECT(fixture_do(&fixture, first, "put A 4 | put B 1") == ERR_OK);
        EXPECT(fixture_do(&fixture, second, "put A 5") == ERR_OK);
        EXPECT(fixture_end(&fixture, first) == ERR_OK);
        EXPECT(fixture_end(&fixture, second) == ERR_OK);
        EXPECT_TEXT(fixture_heard(&fixture),
                    "commit A 1->4 B ()->1; commit A 4->5");
        end(&fixture);
    }
}

/* What is kept of an epoch comes again after a long time (payload-write-3). */
TEST(payload_writes_after_very_many_transactions)
{
    static const uint64_t jumps[] = {
        UINT64_C(1) << 31,
        UINT64_C(1) << 32,
        UINT64_C(3) << 31,
    };
    for (size_t i = 0; i < COUNT_OF(jumps); i++) {
        for (uint64_t back = 0; back < 5; back++) {
            struct fixture fixture;
            fixture_open_local(&fixture);
            EXPECT_COMMIT(&fixture, "put A 1 | put B 1");
            (void)fixture_heard(&fixture);
            fixture.replica.epoch += jumps[i] - back;
            EXPECT_COMMIT(&fixture, "put B 2 | put A 2 | put C 2 | put A 3");
            EXPECT_COMMIT(&fixture, "put B 3 | put A 4 | put A 5");
            EXPECT_TEXT(fixture_heard(&fixture),
                        "commit B 1->2 A 1->3 C ()->2; commit B 2->3 A 3->5");
            end(&fixture);
        }
    }
}

TEST(q15_several_spaces_commit_in_order_up_to_the_first_that_fails)
{
    struct fixture fixture;
    fixture_open_local(&fixture);
    fixture_open_second(&fixture);
    fixture.several = true;
    EXPECT_COMMIT(&fixture, "put >B 1 | put A 1 | put >C 1");
    EXPECT_TEXT(fixture_heard(&fixture),
                "commit B ()->1 C ()->1; commit A ()->1");
    /* The second one fails; the first stays. */
    EXPECT_NO_COMMIT(&fixture,
                     ERR_RECEIPT_EXISTS,
                     "new D | put D 1 | new >B | put >B 2");
    EXPECT_TEXT(fixture_heard(&fixture), "commit D ()->1");
    /* What must be new goes first, so that nothing is left without it. */
    EXPECT_NO_COMMIT(&fixture,
                     ERR_RECEIPT_EXISTS,
                     "put A 2 | new >B | put >B 2");
    EXPECT_TEXT(fixture_heard(&fixture), "");
    EXPECT_NO_COMMIT(&fixture,
                     ERR_RECEIPT_EXISTS,
                     "new >B | put >B 2 | put A 3");
    EXPECT_TEXT(fixture_heard(&fixture), "");
    end(&fixture);
}

TEST(q15_a_local_space_has_no_numbers_of_another_one)
{
    struct fixture fixture;
    fixture_open(&fixture, "s1");
    fixture_open_second(&fixture);
    fixture.several = true;
    EXPECT_COMMIT(&fixture, "put A 1 | put >B 1");
    EXPECT_TEXT(fixture_heard(&fixture), "commit #1 A ()->1; commit B ()->1");
    EXPECT_EQ(fixture.local_seq, 1);
    end(&fixture);
}

/* -- Conditions ---------------------------------------------------------- */

TEST(conditions_are_sent_or_checked_at_once)
{
    struct fixture fixture;
    begin(&fixture, "sync 0-1 pull A@1=0 B@1=0 C@1=0");
    EXPECT_COMMIT(&fixture, "put A 1");
    EXPECT_COMMIT(&fixture, "new Z | needs 1 | put Z 1");
    EXPECT_CONTAINS(fixture_pending(&fixture, 2),
                    "'preconditions':[{'id':'Z','kind':'entity-absent'},"
                    "{'kind':'origin-committed','originLocalSeq':1}]");
    end(&fixture);
    fixture_open_local(&fixture);
    EXPECT_COMMIT(&fixture, "new Z | put Z 1");
    EXPECT_NO_COMMIT(&fixture, ERR_RECEIPT_EXISTS, "new Z | put Z 2");
    EXPECT_COMMIT(&fixture, "delete Z!");
    EXPECT_NO_COMMIT(&fixture, ERR_RECEIPT_EXISTS, "new Z | put Z 3");
    end(&fixture);
}

/* -- Allocations --------------------------------------------------------- */

static void run_once(struct fixture *fixture,
                     struct place *const places[3],
                     int n)
{
    struct transaction *transaction =
        transaction_begin(&fixture->replica, NULL);
    struct value a;
    struct value b;
    (void)transaction_read(transaction, places[0], READ_DEEP, 0, &a);
    (void)transaction_read(transaction, places[1], READ_DEEP, 0, &b);
    EXPECT(transaction_put_adopt(transaction, places[2], value_int(n), NULL) ==
           ERR_OK);
    EXPECT(transaction_commit(transaction, NULL) == ERR_OK);
    transaction_release(transaction);
}

TEST(a_run_in_a_local_space_allocates_nothing)
{
    struct fixture fixture;
    fixture_open_local(&fixture);
    EXPECT_COMMIT(&fixture, "put A 1 | put B 2 | put C 3");
    fixture.deaf = true;
    struct place *places[3] = {
        fixture_place(&fixture, "A"),
        fixture_place(&fixture, "B"),
        fixture_place(&fixture, "C"),
    };
    for (int i = 0; i < 10; i++) {
        run_once(&fixture, places, i);
    }
    const uint64_t before = test_allocations();
    for (int i = 10; i < 1000; i++) {
        run_once(&fixture, places, i);
    }
    EXPECT_EQ(test_allocations() - before, 0);
    for (size_t i = 0; i < 3; i++) {
        place_unref(places[i]);
    }
    fixture_close(&fixture);
}

/* The messages of the store are the transport's to allocate. */
TEST(a_run_in_a_space_with_a_store_allocates_nothing)
{
    struct fixture fixture;
    begin(&fixture, "sync 0-1 pull A@1=1 B@1=2 C@1=3");
    fixture.deaf = true;
    fixture.script.quiet = true;
    struct place *places[3] = {
        fixture_place(&fixture, "A"),
        fixture_place(&fixture, "B"),
        fixture_place(&fixture, "C"),
    };
    uint64_t allocated = 0;
    for (int i = 1; i <= 200; i++) {
        const uint64_t before = test_allocations();
        run_once(&fixture, places, 3 + i);
        const uint64_t after = test_allocations();
        struct buf line = {0};
        buf_printf(&line, "verdict %d @%d", i, i + 1);
        fixture_say(&fixture, buf_text(&line));
        buf_clear(&line);
        buf_printf(&line, "sync %d-%d mark=%d", i, i + 1, i);
        const uint64_t told = test_allocations();
        fixture_say(&fixture, buf_text(&line));
        allocated += i > 20 ? after - before + (test_allocations() - told) : 0;
        buf_release(&line);
    }
    EXPECT_EQ(allocated, 0);
    EXPECT_TEXT(fixture_confirmed(&fixture, "C"), "203");
    for (size_t i = 0; i < 3; i++) {
        place_unref(places[i]);
    }
    fixture_close(&fixture);
}
