/* Records: what is captured from one engine gives equal tables and an equal
 * chain in another, and nothing else does. */

#include "store/effects.h"

#include <string.h>

#include "lib/store_kit.h"
#include "lib/test.h"
#include "lib/values.h"
#include "value/array.h"
#include "value/json.h"
#include "value/object.h"

struct tape {
    VEC(struct value) records;
};

static void record(void *ctx, const struct effects *effects)
{
    struct tape *tape = ctx;
    vec_push(&tape->records, effects_write(effects));
}

static void tape_release(struct tape *tape)
{
    VEC_FOREACH (&tape->records, one) {
        value_unref(*one);
    }
    vec_release(&tape->records);
}

static void kit_open_recorded(struct store_kit *kit,
                              struct tape *tape,
                              struct engine_options options)
{
    *tape = (struct tape){0};
    options.on_effects = record;
    options.ctx = tape;
    kit_open_memory(kit, &options);
}

static bool same_chain(const struct store_kit *a, const struct store_kit *b)
{
    return memcmp(&a->engine.chain, &b->engine.chain, sizeof a->engine.chain) ==
           0;
}

static void expect_same_tables(struct store_kit *a, struct store_kit *b)
{
    struct buf one = kit_dump(a);
    struct buf other = kit_dump(b);
    EXPECT_TEXT(buf_text(&one), buf_text(&other));
    EXPECT(same_chain(a, b));
    EXPECT_EQ(a->engine.seq, b->engine.seq);
    EXPECT_EQ(a->engine.record, b->engine.record);
    buf_release(&one);
    buf_release(&other);
}

/* A history with everything in it. */
static void make_history(struct store_kit *kit)
{
    kit->at_ms = 1000;
    EXPECT_LANDED(kit, 1, "s1 1 | conf A @0 | set A {'x':1,'list':[1]}");
    kit->principal = "Alice";
    EXPECT_LANDED(kit, 2, "s1 1 | set A~user 1 | set A~session 2 | delete Z");
    kit->principal = NULL;
    EXPECT_INT(kit_fork(kit, "b", "", 1), ERR_OK);
    EXPECT_LANDED(kit, 3, "s1 2 | pend A.x [1] b=0 | replace A.x 2");
    EXPECT_LANDED(kit, 4, "s1 3 | branch b | add A.list.0 9 | add A.y.z 1");
    EXPECT_REFUSED(kit, ERR_CONFLICT, "", "s2 1 | conf A @1 | set A 0");
    EXPECT_INT(kit_fork(kit, "c", "b", 4), ERR_OK);
    EXPECT_INT(kit_branch_delete(kit, "b"), ERR_OK);
    EXPECT_LANDED(kit, 5, "s2 1 | absent R | set R 1 | json 'merge':{'m':1}");
    EXPECT_LANDED(kit, 6, "s2 2 | absent Q");
    for (unsigned i = 7; i < 14; i++) {
        struct buf commit = {0};
        buf_printf(&commit,
                   "s3 %u | branch c | increment A.x 1 | append A.list [%u]",
                   i,
                   i);
        EXPECT_LANDED(kit, i, buf_text(&commit));
        buf_release(&commit);
    }
    EXPECT_LANDED(kit, 14, "s3 14 | add A.k 1 | set A 1 | delete A");
}

TEST(records_applied_to_an_empty_engine_give_equal_tables_and_chain)
{
    const struct engine_options options[] = {
        {0},
        {.snapshot_patches = 3},
        {.snapshot_patches = 1, .snapshots_kept = 1},
    };
    for (size_t i = 0; i < COUNT_OF(options); i++) {
        struct store_kit source;
        struct store_kit replica;
        struct tape tape;
        kit_open_recorded(&source, &tape, options[i]);
        make_history(&source);
        EXPECT_EQ(tape.records.count, 17);
        kit_open_memory(&replica, &options[i]);
        replica.at_ms = source.at_ms;
        VEC_FOREACH (&tape.records, one) {
            EXPECT_INT(engine_apply(&replica.engine, *one, NULL), ERR_OK);
        }
        expect_same_tables(&source, &replica);
        EXPECT_TEXT(kit_read(&replica, "A"), "(absent)");
        EXPECT_TEXT(kit_read(&replica, "c/A"), kit_read(&source, "c/A"));
        /* The replica goes on like the source. */
        EXPECT_LANDED(&source, 15, "s1 9 | set A 5");
        EXPECT_LANDED(&replica, 15, "s1 9 | set A 5");
        expect_same_tables(&source, &replica);
        tape_release(&tape);
        kit_close(&source);
        kit_close(&replica);
    }
}

TEST(records_survive_being_text)
{
    struct store_kit source;
    struct store_kit replica;
    struct tape tape;
    const struct engine_options options = {0};
    kit_open_recorded(&source, &tape, options);
    make_history(&source);
    kit_open_file(&replica, NULL);
    VEC_FOREACH (&tape.records, one) {
        struct buf text = {0};
        json_write(&text, *one, JSON_AS_GIVEN, 0);
        struct value again = from_json(buf_text(&text));
        buf_release(&text);
        EXPECT_INT(engine_apply(&replica.engine, again, NULL), ERR_OK);
        value_unref(again);
        kit_reopen(&replica);
    }
    expect_same_tables(&source, &replica);
    tape_release(&tape);
    kit_close(&source);
    kit_close(&replica);
}

TEST(a_gap_and_a_repetition_are_refused)
{
    struct store_kit source;
    struct store_kit replica;
    struct tape tape;
    const struct engine_options options = {0};
    kit_open_recorded(&source, &tape, options);
    make_history(&source);
    kit_open_memory(&replica, NULL);
    struct err_detail detail = {0};
    for (size_t i = 0; i < tape.records.count; i++) {
        struct buf before = kit_dump(&replica);
        for (size_t j = 0; j < tape.records.count; j++) {
            if (j != i) {
                EXPECT_INT(
                    engine_apply(&replica.engine, tape.records.at[j], &detail),
                    ERR_SEQUENCE);
            }
        }
        struct buf after = kit_dump(&replica);
        EXPECT_TEXT(buf_text(&after), buf_text(&before));
        buf_release(&before);
        buf_release(&after);
        EXPECT_INT(engine_apply(&replica.engine, tape.records.at[i], &detail),
                   ERR_OK);
    }
    EXPECT_CONTAINS(detail.text, "is not the one after");
    expect_same_tables(&source, &replica);
    tape_release(&tape);
    kit_close(&source);
    kit_close(&replica);
}

/* The record with one field replaced by a text with ' for ", or removed. */
static struct value edited(struct value record,
                           const char *field,
                           const char *item)
{
    struct value copy = value_ref(record);
    struct value key = value_text_new(field);
    if (item == NULL) {
        copy = object_remove_adopt(copy, key);
    } else {
        struct buf text = {0};
        for (const char *at = item; *at != '\0'; at++) {
            buf_append_char(&text, (char)(*at == '\'' ? '"' : *at));
        }
        copy =
            object_set_adopt(copy, value_ref(key), from_json(buf_text(&text)));
        buf_release(&text);
    }
    value_unref(key);
    return copy;
}

TEST(an_edited_record_is_refused_or_shows_in_the_chain)
{
    static const struct {
        const char *field;
        const char *item; /* NULL: removed */
    } rows[] = {
        {"localSeq", "99"},
        {"session", "'s9'"},
        {"at", "1"},
        {"digest", "'00000000000000000000000000000000'"},
        {"digest", "'0'"},
        {"context", "{}"},
        {"resolved", "[[1,1]]"},
        {"resolved", "5"},
        {"branch", "'nope'"},
        {"branch", "5"},
        {"seq", "2"},
        {"seq", "0"},
        {"record", "2"},
        {"record", "0"},
        {"record", "-1"},
        {"kind", "'fork'"},
        {"kind", "'close'"},
        {"kind", "'other'"},
        {"writes", "[]"},
        {"writes", "[5]"},
        {"writes", "[{'id':'A','scope':'space','op':'delete'}]"},
        {"writes", "[{'id':'A','scope':'space','op':'set','data':[]}]"},
        {"writes", "[{'id':'A','scope':'space','op':'patch','data':{}}]"},
        {"writes", "[{'id':'A','scope':'space','op':'what'}]"},
        {"kind", NULL},
        {"record", NULL},
        {"seq", NULL},
        {"session", NULL},
        {"localSeq", NULL},
        {"digest", NULL},
        {"at", NULL},
        {"context", NULL},
        {"resolved", NULL},
        {"writes", NULL},
    };
    struct store_kit source;
    struct tape tape;
    const struct engine_options options = {0};
    kit_open_recorded(&source, &tape, options);
    EXPECT_LANDED(&source, 1, "s1 1 | conf A @0 | set A {'x':1}");
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct value copy =
            edited(tape.records.at[0], rows[i].field, rows[i].item);
        struct store_kit replica;
        kit_open_memory(&replica, NULL);
        struct buf empty = kit_dump(&replica);
        if (engine_apply(&replica.engine, copy, NULL) == ERR_OK) {
            EXPECT(!same_chain(&source, &replica));
        } else {
            struct buf after = kit_dump(&replica);
            EXPECT_TEXT(buf_text(&after), buf_text(&empty));
            buf_release(&after);
        }
        buf_release(&empty);
        value_unref(copy);
        kit_close(&replica);
    }
    tape_release(&tape);
    kit_close(&source);
}

TEST(the_chain_depends_on_every_record_and_their_order)
{
    struct store_kit a;
    struct store_kit b;
    kit_open_memory(&a, NULL);
    kit_open_memory(&b, NULL);
    EXPECT_LANDED(&a, 1, "s1 1 | set A 1");
    EXPECT_LANDED(&a, 2, "s1 2 | set B 1");
    EXPECT_LANDED(&b, 1, "s1 2 | set B 1");
    EXPECT(!same_chain(&a, &b));
    EXPECT_LANDED(&b, 2, "s1 1 | set A 1");
    EXPECT(!same_chain(&a, &b));
    /* The same record after another history. */
    EXPECT_LANDED(&a, 3, "s1 3 | set C 1");
    EXPECT_LANDED(&b, 3, "s1 3 | set C 1");
    EXPECT(!same_chain(&a, &b));
    kit_close(&a);
    kit_close(&b);
}

TEST(a_record_is_written_and_read_without_loss)
{
    struct store_kit source;
    struct tape tape;
    const struct engine_options options = {0};
    kit_open_recorded(&source, &tape, options);
    make_history(&source);
    VEC_FOREACH (&tape.records, one) {
        struct effects effects;
        EXPECT_INT(effects_read(*one, &effects, NULL), ERR_OK);
        struct value again = effects_write(&effects);
        EXPECT_VALUE(again, *one);
        value_unref(again);
        effects_release(&effects);
    }
    tape_release(&tape);
    kit_close(&source);
}

TEST(what_is_not_a_record_is_refused)
{
    static const char *const texts[] = {
        "null",
        "5",
        "[]",
        "{}",
        "\"commit\"",
        "{\"kind\":\"commit\"}",
        "{\"kind\":\"fork\",\"record\":1,\"branch\":\"b\"}",
        "{\"kind\":\"fork\",\"record\":1,\"branch\":\"b\",\"parent\":\"x\","
        "\"forkSeq\":0}",
        "{\"kind\":\"fork\",\"record\":1,\"branch\":\"\",\"parent\":\"\","
        "\"forkSeq\":0}",
        "{\"kind\":\"fork\",\"record\":1,\"branch\":\"b\",\"parent\":\"\","
        "\"forkSeq\":-1}",
        "{\"kind\":\"close\",\"record\":1,\"branch\":\"b\"}",
        "{\"kind\":\"close\",\"record\":1.5,\"branch\":\"\"}",
    };
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    struct buf before = kit_dump(&kit);
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        struct value value = from_json(texts[i]);
        struct err_detail detail = {0};
        const enum err err = engine_apply(&kit.engine, value, &detail);
        EXPECT(err != ERR_OK);
        EXPECT_INT(detail.err, err);
        value_unref(value);
    }
    struct buf after = kit_dump(&kit);
    EXPECT_TEXT(buf_text(&after), buf_text(&before));
    buf_release(&before);
    buf_release(&after);
    kit_close(&kit);
}
