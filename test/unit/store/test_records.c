/* Records: what is captured from one engine gives equal tables and an equal
 * chain in another, and nothing else does. */

#include "store/commit_record.h"

#include <string.h>

#include "lib/gen.h"
#include "lib/store_kit.h"
#include "lib/test.h"
#include "lib/values.h"
#include "store/verify.h"
#include "value/array.h"
#include "value/compare.h"
#include "value/json.h"
#include "value/object.h"

struct tape {
    VEC(struct value) records;
};

static void record(void *ctx, const struct commit_record *commit_record)
{
    struct tape *tape = ctx;
    vec_push(&tape->records, record_write(commit_record));
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
    options.on_commit_record = record;
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
    EXPECT_CONTAINS(detail.text, "does not follow record");
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
        struct commit_record commit_record;
        EXPECT_INT(commit_record_read(*one, &commit_record, NULL), ERR_OK);
        struct value again = record_write(&commit_record);
        EXPECT_VALUE(again, *one);
        value_unref(again);
        commit_record_release(&commit_record);
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

/* -- Records that no engine made ----------------------------------------- */

/* The last of two records, applied behind the first, which sets A to
 * {"value":{"x":1,"l":[1]}}. */
static enum err apply_second(const char *field,
                             const char *item,
                             struct err_detail *detail)
{
    struct store_kit source;
    struct store_kit replica;
    struct tape tape;
    const struct engine_options options = {0};
    kit_open_recorded(&source, &tape, options);
    EXPECT_LANDED(&source, 1, "s1 1 | set A {'x':1,'l':[1]}");
    EXPECT_LANDED(&source, 2, "s1 2 | add A.l.0 2 | add A.y.z 3");
    kit_open_memory(&replica, NULL);
    EXPECT_INT(engine_apply(&replica.engine, tape.records.at[0], NULL), ERR_OK);
    struct value copy = edited(tape.records.at[1], field, item);
    struct buf before = kit_dump(&replica);
    const enum err err = engine_apply(&replica.engine, copy, detail);
    struct buf after = kit_dump(&replica);
    EXPECT_TEXT(buf_text(&after), buf_text(&before));
    /* And the right one lands. */
    EXPECT_INT(engine_apply(&replica.engine, tape.records.at[1], NULL), ERR_OK);
    expect_same_tables(&source, &replica);
    buf_release(&before);
    buf_release(&after);
    value_unref(copy);
    tape_release(&tape);
    kit_close(&source);
    kit_close(&replica);
    return err;
}

#define WRITE(fields)      "[{'index':0,'id':'A','scope':'space'," fields "}]"
#define PATCH(list, trace) WRITE("'op':'patch','data':" list ",'trace':" trace)

TEST(a_malformed_record_is_refused_and_the_field_is_named)
{
    static const struct {
        const char *field;
        const char *item;
        const char *err;
        const char *part;
    } rows[] = {
        {"writes", PATCH("[{}]", "[[0,0,0,0]]"), "PROTOCOL", "writes[0].data"},
        {"writes",
         PATCH("[{'op':'what','path':'/x'}]", "[[0,0,0,0]]"),
         "PROTOCOL",
         "writes[0].data"},
        {"writes",
         PATCH("[{'op':'remove','path':'/value/nope'}]", "[[0,0,0,0]]"),
         "CORRUPT",
         "writes[0].data"},
        {"writes",
         PATCH("[{'op':'add','path':'','value':5}]", "[[0,0,0,0]]"),
         "CORRUPT",
         "writes[0].data"},
        {"writes",
         PATCH("[{'op':'add','path':'/value/l/0','value':2}]", "5"),
         "PROTOCOL",
         "writes[0].trace"},
        {"writes",
         PATCH("[{'op':'add','path':'/value/l/0','value':2}]", "[[0,0,0,0]]"),
         "CORRUPT",
         "writes[0].trace"},
        {"writes",
         PATCH("[{'op':'add','path':'/value/l/0','value':2}]",
               "[[0,0,1,0],[0,0,0,0]]"),
         "CORRUPT",
         "writes[0].trace"},
        {"writes",
         WRITE("'op':'set','data':{},'trace':[]"),
         "PROTOCOL",
         "writes[0].trace"},
        {"writes",
         WRITE("'op':'delete','data':{}"),
         "PROTOCOL",
         "writes[0].data"},
        {"writes",
         "[{'index':100000,'id':'A','scope':'space','op':'delete'}]",
         "PROTOCOL",
         "writes[0].index"},
        {"writes",
         "[{'index':1,'id':'A','scope':'space','op':'delete'},"
         "{'index':1,'id':'B','scope':'space','op':'delete'}]",
         "PROTOCOL",
         "writes[1].index"},
        {"writes",
         "[{'index':0,'id':'','scope':'space','op':'delete'}]",
         "PROTOCOL",
         "writes[0].id"},
        {"writes",
         "[{'index':0,'id':'A','scope':'user:%2f','op':'delete'}]",
         "PROTOCOL",
         "writes[0].scope"},
        {"session", "''", "PROTOCOL", "session"},
        {"session", "'session:a'", "PROTOCOL", "session"},
        {"context", "5", "PROTOCOL", "context"},
        {"localSeq", "1", "CORRUPT", "localSeq"},
        {"branch", "'b'", "BRANCH_UNKNOWN", "b"},
        {"kind", "'close'", "BRANCH_CLOSED", "branch"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct err_detail detail = {0};
        const enum err err = apply_second(rows[i].field, rows[i].item, &detail);
        EXPECT_TEXT(err_name(err), rows[i].err);
        EXPECT_CONTAINS(detail.text, rows[i].part);
    }
}

TEST(a_branch_change_that_no_engine_made_is_refused)
{
    static const char *const texts[] = {
        /* Beyond the head, from a deleted one, without a name. */
        "{'kind':'fork','record':4,'branch':'c','parent':'','forkSeq':2}",
        "{'kind':'fork','record':4,'branch':'c','parent':'b','forkSeq':1}",
        "{'kind':'fork','record':4,'branch':'','parent':'','forkSeq':1}",
        "{'kind':'close','record':4,'branch':'b'}",
        "{'kind':'close','record':4,'branch':''}",
        ("{'kind':'commit','record':4,'branch':'b','seq':2,'session':'s',"
         "'localSeq':1,'digest':'00000000000000000000000000000000','at':0,"
         "'resolved':[],'writes':[]}"),
    };
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A 1");
    EXPECT_INT(kit_fork(&kit, "b", "", 1), ERR_OK);
    EXPECT_INT(kit_branch_delete(&kit, "b"), ERR_OK);
    struct buf before = kit_dump(&kit);
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        struct value value = from_quoted(texts[i]);
        struct err_detail detail = {0};
        EXPECT(engine_apply(&kit.engine, value, &detail) != ERR_OK);
        EXPECT(detail.text[0] != '\0');
        value_unref(value);
    }
    struct buf after = kit_dump(&kit);
    EXPECT_TEXT(buf_text(&after), buf_text(&before));
    buf_release(&before);
    buf_release(&after);
    kit_close(&kit);
}

/* One byte of its text is another; absent if that is no JSON any more. */
static struct value draw_other_byte(struct random *random, struct value record)
{
    static const char bytes[] = "0123456789abcsxyz/-\",[]{}:~";
    struct buf text = {0};
    struct value out = VALUE_NONE;
    json_write(&text, record, JSON_AS_GIVEN, 0);
    text.at[random_below(random, text.length)] =
        bytes[random_below(random, sizeof bytes - 1)];
    if (json_read(buf_text(&text), text.length, NULL, &out, NULL) != ERR_OK) {
        out = VALUE_NONE;
    }
    buf_release(&text);
    return out;
}

static struct value draw_mutation(struct random *random, struct value record)
{
    const struct gen gen = {.random = random, .depth = 3, .width = 4};
    struct value out = VALUE_NONE;
    if (random_one_in(random, 4)) {
        out = gen_edit_adopt(&gen, value_ref(record));
    }
    for (unsigned i = 0; value_is_absent(out) && i < 100; i++) {
        out = draw_other_byte(random, record);
    }
    return value_is_absent(out) ? value_ref(record) : out;
}

static void print_difference(void *ctx, const char *sentence)
{
    (void)ctx;
    (void)test_fail(__FILE__, __LINE__, "engine_verify: %s", sentence);
}

static bool is_sound(struct store_kit *kit)
{
    const struct verify_options options = {.difference = print_difference};
    struct verify_counts counts = {0};
    EXPECT_INT(engine_verify(&kit->engine, &options, &counts, NULL), ERR_OK);
    return counts.differences == 0;
}

/* Refused, with nothing changed; or taken, and the space is sound. */
static bool try_mutation(struct store_kit *replica,
                         struct value record,
                         struct value mutation)
{
    struct err_detail detail = {0};
    struct buf before = kit_dump(replica);
    const enum err err = engine_apply(&replica->engine, mutation, &detail);
    struct buf after = kit_dump(replica);
    bool held = true;
    if (err == ERR_OK) {
        held = is_sound(replica);
    } else {
        held = EXPECT(detail.text[0] != '\0');
        held = EXPECT_TEXT(buf_text(&after), buf_text(&before)) && held;
        held =
            EXPECT_INT(engine_apply(&replica->engine, record, NULL), ERR_OK) &&
            held;
    }
    if (!held) {
        struct buf text = {0};
        json_write(&text, mutation, JSON_AS_GIVEN, 0);
        (void)test_fail(__FILE__, __LINE__, "record: %s", buf_text(&text));
        buf_release(&text);
    }
    buf_release(&before);
    buf_release(&after);
    return err == ERR_OK;
}

PROPERTY(a_mutated_record_is_refused_or_leaves_a_sound_space, 100)
{
    struct store_kit source;
    struct tape tape;
    const struct engine_options options = {.snapshot_patches = 3};
    kit_open_recorded(&source, &tape, options);
    make_history(&source);
    struct store_kit replica;
    kit_open_memory(&replica, &options);
    bool taken = false;
    for (size_t i = 0; !taken && i < tape.records.count; i++) {
        const struct value record = tape.records.at[i];
        if (random_one_in(random, 2)) {
            struct value mutation = draw_mutation(random, record);
            taken = try_mutation(&replica, record, mutation) &&
                    !value_equal(mutation, record);
            value_unref(mutation);
        } else {
            EXPECT_INT(engine_apply(&replica.engine, record, NULL), ERR_OK);
        }
    }
    tape_release(&tape);
    kit_close(&source);
    kit_close(&replica);
}

/* -- Telling ------------------------------------------------------------- */

struct witness {
    struct store_kit *kit;
    unsigned told;
};

/* What is told is in the file: another connection would see it. */
static void witness_record(void *ctx, const struct commit_record *commit_record)
{
    struct witness *witness = ctx;
    witness->told++;
    EXPECT_INT(sqlite3_get_autocommit(witness->kit->engine.database.db), 1);
    EXPECT(commit_record->record <= witness->kit->engine.record);
}

TEST(a_record_is_told_when_its_group_is_in_the_file_and_not_before)
{
    static const char *const lines[] = {"s1 1 | set A 1",
                                        "s1 2 | set B 1",
                                        "s1 3 | set C 1"};
    struct store_kit kit;
    struct witness witness = {.kit = &kit};
    const struct engine_options options = {
        .on_commit_record = witness_record,
        .ctx = &witness,
    };
    kit_open_memory(&kit, &options);
    kit_run(&kit,
            "CREATE TEMP TRIGGER stop BEFORE INSERT ON main.document"
            " WHEN NEW.id = 'C' BEGIN SELECT RAISE(ABORT, 'no'); END");
    kit_group(&kit, lines, COUNT_OF(lines));
    EXPECT_INT(kit.fault, ERR_STORE);
    EXPECT_EQ(witness.told, 0);
    kit_run(&kit, "DROP TRIGGER stop");
    kit_group(&kit, lines, COUNT_OF(lines));
    EXPECT_INT(kit.fault, ERR_OK);
    EXPECT_EQ(witness.told, 3);
    kit_group(&kit, lines, COUNT_OF(lines)); /* replays: nothing new */
    EXPECT_EQ(witness.told, 3);
    EXPECT_INT(kit_fork(&kit, "b", "", 9), ERR_SEQUENCE);
    EXPECT_EQ(witness.told, 3);
    EXPECT_INT(kit_fork(&kit, "b", "", 3), ERR_OK);
    EXPECT_EQ(witness.told, 4);
    kit_close(&kit);
}
