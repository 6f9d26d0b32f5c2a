/* The bounds of base/limits.h where the store meets them: what is as large as
 * allowed lands, one more is refused with a code of its own, and nothing has
 * changed. Keys and elements of one container: test_patch.c and test_json.c. */

#include "base/limits.h"

#include <inttypes.h>
#include <string.h>

#include "lib/gen.h"
#include "lib/store_kit.h"
#include "lib/test.h"
#include "lib/values.h"
#include "store/documents.h"
#include "value/array.h"
#include "value/json.h"
#include "value/object.h"

static void put_fill(struct buf *to, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        buf_append_char(to, 'x');
    }
}

/* -- The size of a document ---------------------------------------------- */

enum {
    SMALL_LIMIT = 1000
};

static const struct engine_options small = {.document_bytes = SMALL_LIMIT};

/* A commit with a string that is so long. */
static void put_commit(struct buf *to,
                       unsigned local_seq,
                       const char *before,
                       size_t fill,
                       const char *after)
{
    buf_clear(to);
    buf_printf(to, "s1 %u | %s", local_seq, before);
    put_fill(to, fill);
    buf_append_text(to, after);
}

TEST(d13_a_document_has_the_limit_of_a_text_unless_told_otherwise)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_EQ(kit.engine.options.document_bytes, LIMIT_TEXT_BYTES);
    kit_close(&kit);
}

TEST(d13_a_set_beyond_the_size_of_a_document_is_refused)
{
    struct store_kit kit;
    struct buf line = {0};
    const size_t frame = strlen("{\"value\":\"\"}");
    kit_open_memory(&kit, &small);
    put_commit(&line, 1, "set A '", SMALL_LIMIT - frame, "'");
    EXPECT_LANDED(&kit, 1, buf_text(&line));
    put_commit(&line, 2, "set A '", SMALL_LIMIT - frame + 1, "'");
    EXPECT_REFUSED(&kit, ERR_LIMIT_SIZE, "more than 1000", buf_text(&line));
    EXPECT_CONTAINS(kit_verdict(&kit, 0), "'id':'A'");
    /* Its text was shorter than its canonical text is. */
    put_commit(&line, 3, "put A {'n':1e9,'s':'", SMALL_LIMIT - 21, "'}");
    EXPECT_REFUSED(&kit, ERR_LIMIT_SIZE, "A", buf_text(&line));
    buf_release(&line);
    kit_close(&kit);
}

TEST(d13_a_patch_that_makes_a_document_too_large_is_refused)
{
    struct store_kit kit;
    struct buf line = {0};
    const size_t frame = strlen("{\"value\":{\"a\":\"\",\"b\":\"\"}}");
    kit_open_file(&kit, &small);
    put_commit(&line, 1, "set A {'a':'", 500, "'}");
    EXPECT_LANDED(&kit, 1, buf_text(&line));
    for (unsigned i = 0; i < 2; i++) {
        /* Once from what was committed, once from what was read again. */
        put_commit(&line, 2, "add A.b '", SMALL_LIMIT - frame - 499, "'");
        EXPECT_REFUSED(&kit, ERR_LIMIT_SIZE, "A", buf_text(&line));
        kit_reopen(&kit);
    }
    put_commit(&line, 3, "add A.b '", SMALL_LIMIT - frame - 500, "'");
    EXPECT_LANDED(&kit, 2, buf_text(&line));
    EXPECT_REFUSED(&kit, ERR_LIMIT_SIZE, "A", "s1 4 | add A.c 1");
    EXPECT_LANDED(&kit, 3, "s1 5 | remove A.a");
    EXPECT_LANDED(&kit, 4, "s1 6 | add A.c 1");
    buf_release(&line);
    kit_close(&kit);
}

TEST(d13_a_document_that_is_refused_for_its_size_harms_no_neighbour)
{
    struct store_kit kit;
    struct buf line = {0};
    kit_open_memory(&kit, &small);
    put_commit(&line, 1, "set A {'a':'", 900, "'}");
    EXPECT_LANDED(&kit, 1, buf_text(&line));
    put_commit(&line, 3, "set B 7 | add A.b '", 100, "'");
    const char *const lines[] = {
        "s1 2 | add A.n 1 | set C 1",
        buf_text(&line),
        "s1 4 | increment A.n 1 | increment C 1",
    };
    kit_group(&kit, lines, COUNT_OF(lines));
    EXPECT_INT(kit.fault, ERR_OK);
    EXPECT_INT(kit.verdicts[0].err, ERR_OK);
    EXPECT_INT(kit.verdicts[1].err, ERR_LIMIT_SIZE);
    EXPECT_INT(kit.verdicts[2].err, ERR_OK);
    EXPECT_EQ(kit.verdicts[2].seq, 3);
    EXPECT_CONTAINS(kit_read(&kit, "A"), "'n':2");
    EXPECT_TEXT(kit_read(&kit, "B"), "(absent)");
    EXPECT_TEXT(kit_read(&kit, "C"), "{'value':2}");
    buf_release(&line);
    kit_close(&kit);
}

TEST(d13_operations_of_one_commit_add_up)
{
    struct store_kit kit;
    struct buf line = {0};
    kit_open_memory(&kit, &small);
    put_commit(&line, 1, "set A {'a':'", 900, "'} | add A.b 'yyyyyyyyyy");
    put_fill(&line, 100);
    buf_append_text(&line, "'");
    EXPECT_REFUSED(&kit, ERR_LIMIT_SIZE, "A", buf_text(&line));
    EXPECT_REFUSED(&kit,
                   ERR_PATCH_MISSING,
                   "missing",
                   "s1 2 | delete A | remove A.a");
    buf_release(&line);
    kit_close(&kit);
}

TEST(d13_a_fork_goes_on_with_the_size_of_its_parent)
{
    struct store_kit kit;
    struct buf line = {0};
    kit_open_memory(&kit, &small);
    put_commit(&line, 1, "set A {'a':'", 900, "'}");
    EXPECT_LANDED(&kit, 1, buf_text(&line));
    EXPECT_INT(kit_fork(&kit, "b", "", 1), ERR_OK);
    EXPECT_LANDED(&kit, 2, "s1 2 | set A 1");
    put_commit(&line, 3, "branch b | add A.b '", 100, "'");
    EXPECT_REFUSED(&kit, ERR_LIMIT_SIZE, "A", buf_text(&line));
    put_commit(&line, 4, "branch b | add A.b '", 50, "'");
    EXPECT_LANDED(&kit, 3, buf_text(&line));
    buf_release(&line);
    kit_close(&kit);
}

/* How often a document is written only to know its size. */
TEST(d13_a_document_is_measured_only_when_it_might_be_too_large)
{
    struct store_kit kit;
    const struct engine_options options = {.document_bytes = 100 * 1000};
    kit_open_memory(&kit, &options);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A {'n':0,'l':[]}");
    for (unsigned i = 2; i <= 100; i++) {
        struct buf line = {0};
        buf_printf(&line, "s1 %u | increment A.n 1 | append A.l [%u]", i, i);
        EXPECT_LANDED(&kit, i, buf_text(&line));
        buf_release(&line);
    }
    EXPECT_EQ(kit.engine.counters.measured, 0);
    for (unsigned i = 101; i <= 1000; i++) {
        struct buf line = {0};
        buf_printf(&line, "s1 %u | increment A.n 1 | append A.l [%u]", i, i);
        EXPECT_LANDED(&kit, i, buf_text(&line));
        buf_release(&line);
    }
    /* The number that was measured is remembered. */
    EXPECT(kit.engine.counters.measured >= 1);
    EXPECT(kit.engine.counters.measured <= 20);
    kit_close(&kit);
}

/* A patch that often applies. */
static struct value draw_patch(const struct gen *gen,
                               struct path_table *paths,
                               struct value document)
{
    struct patch patch = {0};
    const uint64_t count = 1 + random_below(gen->random, 4);
    for (uint64_t i = 0; i < count; i++) {
        patch_push_adopt(&patch, gen_op(gen, paths, document));
    }
    const struct value list = patch_write(&patch);
    patch_release(&patch);
    return list;
}

static enum err commit_patch(struct store_kit *kit,
                             unsigned local_seq,
                             struct value list)
{
    struct value op = from_quoted("{'op':'patch','id':'A'}");
    object_put_adopt(&op, "patches", value_ref(list));
    struct value value = from_quoted("{'session':'s1'}");
    object_put_adopt(&value, "localSeq", value_int(local_seq));
    object_put_adopt(&value, "operations", array_new_adopt(&op, 1));
    struct commit commit;
    enum err err = commit_read(value, &kit->engine.paths, &commit, NULL);
    value_unref(value);
    if (err != ERR_OK) {
        return err;
    }
    struct engine_request request = {.commit = &commit};
    EXPECT_INT(engine_commit(&kit->engine, &request, 1, NULL), ERR_OK);
    err = request.verdict.err;
    verdict_release(&request.verdict);
    commit_release(&commit);
    return err;
}

static struct document *find_a(struct store_kit *kit)
{
    struct document *document = NULL;
    EXPECT_INT(document_find(&kit->engine,
                             kit->engine.branches.at[0],
                             value_text_new("space"),
                             value_text_new("A"),
                             &document,
                             NULL),
               ERR_OK);
    return document;
}

PROPERTY(d13_the_bound_is_never_below_the_size, 60)
{
    struct store_kit kit;
    const struct gen gen = {
        .random = random,
        .depth = 4,
        .width = 6,
        .flags = GEN_SPECIALS | GEN_ENVELOPES,
    };
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A {}");
    unsigned landed = 0;
    /* Many patches do not apply; how many is a matter of luck. */
    for (unsigned i = 2; landed < 20 && i < 5000; i++) {
        struct document *document = find_a(&kit);
        struct value list = draw_patch(&gen, &kit.engine.paths, document->head);
        landed += commit_patch(&kit, i, list) == ERR_OK ? 1 : 0;
        value_unref(list);
        if (random_one_in(random, 5)) {
            engine_forget(&kit.engine); /* the bound of the fold */
            (void)kit_read(&kit, "A");
        }
        document = find_a(&kit);
        struct buf text = {0};
        json_write(&text, document->head, JSON_CANONICAL, 0);
        if (!EXPECT(document->head_bytes >= text.length)) {
            landed = 20;
        }
        buf_release(&text);
    }
    EXPECT_EQ(landed, 20);
    kit_close(&kit);
}

TEST(d13_the_growth_of_empty_keys_on_the_way_is_within_the_bound)
{
    struct store_kit kit;
    struct buf line = {0};
    kit_open_memory(&kit, NULL);
    buf_append_text(&line, "s1 1 | set A {} | patch A [{'op':'add','path':'");
    for (unsigned i = 0; i < LIMIT_DEPTH - 1; i++) {
        buf_append_char(&line, '/');
    }
    buf_append_text(&line, "','value':0}]");
    EXPECT_LANDED(&kit, 1, buf_text(&line));
    struct buf text = {0};
    json_write(&text, find_a(&kit)->head, JSON_CANONICAL, 0);
    EXPECT(text.length > 4000);
    EXPECT(find_a(&kit)->head_bytes >= text.length);
    buf_release(&text);
    buf_release(&line);
    kit_close(&kit);
}

/* -- All the others ------------------------------------------------------ */

/* The answer to a commit in JSON, wherever it was refused. */
static enum err answer_adopt(struct store_kit *kit, struct buf text)
{
    struct value value = VALUE_NONE;
    struct commit commit;
    for (size_t i = 0; i < text.length; i++) {
        text.at[i] = (char)(text.at[i] == '\'' ? '"' : text.at[i]);
    }
    struct buf before = kit_dump(kit);
    enum err err = json_read(buf_text(&text), text.length, NULL, &value, NULL);
    buf_release(&text);
    if (err == ERR_OK) {
        err = commit_read(value, &kit->engine.paths, &commit, NULL);
        value_unref(value);
    }
    if (err == ERR_OK) {
        struct engine_request request = {.commit = &commit};
        EXPECT_INT(engine_commit(&kit->engine, &request, 1, NULL), ERR_OK);
        err = request.verdict.err;
        verdict_release(&request.verdict);
        commit_release(&commit);
    }
    if (err != ERR_OK) {
        struct buf after = kit_dump(kit);
        EXPECT_TEXT(buf_text(&after), buf_text(&before));
        buf_release(&after);
    }
    buf_release(&before);
    return err;
}

/* `before`, `item` so many times with commas between, `after`. */
static struct buf many(const char *before,
                       const char *item,
                       size_t count,
                       const char *after)
{
    struct buf text = {0};
    buf_append_text(&text, before);
    for (size_t i = 0; i < count; i++) {
        buf_append_text(&text, i > 0 ? "," : "");
        buf_append_text(&text, item);
    }
    buf_append_text(&text, after);
    return text;
}

/* The same without commas. */
static struct buf row(const char *before,
                      const char *item,
                      size_t count,
                      const char *after)
{
    struct buf text = {0};
    buf_append_text(&text, before);
    for (size_t i = 0; i < count; i++) {
        buf_append_text(&text, item);
    }
    buf_append_text(&text, after);
    return text;
}

#define HEAD  "{'session':'s1','localSeq':1,"
#define SET_A "'operations':[{'op':'set','id':'A','value':{}}]"

static void expect_edge(
    struct buf (*make)(const char *, const char *, size_t, const char *),
    const char *before,
    const char *item,
    size_t limit,
    const char *after,
    enum err at_limit,
    enum err beyond)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_TEXT(
        err_name(answer_adopt(&kit, make(before, item, limit + 1, after))),
        err_name(beyond));
    EXPECT_TEXT(err_name(answer_adopt(&kit, make(before, item, limit, after))),
                err_name(at_limit));
    kit_close(&kit);
}

TEST(d13_operations_of_a_commit)
{
    expect_edge(many,
                HEAD "'operations':[",
                "{'op':'set','id':'cid:a','value':{}}",
                LIMIT_COMMIT_OPERATIONS,
                "]}",
                ERR_OK,
                ERR_LIMIT_COMMIT);
}

TEST(d13_reads_of_a_commit)
{
    expect_edge(many,
                HEAD SET_A ",'reads':{'confirmed':[",
                "{'id':'B','path':[],'seq':0}",
                LIMIT_COMMIT_READS,
                "]}}",
                ERR_OK,
                ERR_LIMIT_COMMIT);
}

TEST(d13_preconditions_of_a_commit)
{
    expect_edge(many,
                HEAD SET_A ",'preconditions':[",
                "{'kind':'entity-absent','id':'B'}",
                LIMIT_COMMIT_PRECONDITIONS,
                "]}",
                ERR_OK,
                ERR_LIMIT_COMMIT);
}

/* Layers are ascending, so they cannot be one item repeated. */
TEST(d13_layers_of_a_read)
{
    for (unsigned more = 0; more < 2; more++) {
        struct store_kit kit;
        struct buf text = {0};
        kit_open_memory(&kit, NULL);
        buf_append_text(&text,
                        HEAD SET_A ",'reads':{'pending':[{'id':'B','path':[],"
                                   "'basisSeq':0,'localSeq':[2");
        for (unsigned i = 1; i < LIMIT_COMMIT_LAYERS + more; i++) {
            buf_printf(&text, ",%u", i + 2);
        }
        buf_append_text(&text, "]}]}}");
        /* None of them has landed, which is another answer. */
        EXPECT_TEXT(err_name(answer_adopt(&kit, text)),
                    more > 0 ? "LIMIT_COMMIT" : "CONFLICT");
        kit_close(&kit);
    }
}

TEST(d13_operations_of_a_patch)
{
    expect_edge(many,
                HEAD "'operations':[{'op':'patch','id':'A','patches':[",
                "{'op':'increment','path':'/n','by':1}",
                LIMIT_PATCH_OPERATIONS,
                "]}]}",
                ERR_OK,
                ERR_LIMIT_PATCH);
}

TEST(d13_segments_of_a_path)
{
    expect_edge(many,
                HEAD SET_A ",'reads':{'confirmed':[{'id':'B','seq':0,'path':[",
                "'p'",
                LIMIT_PATH_SEGMENTS,
                "]}]}}",
                ERR_OK,
                ERR_LIMIT_PATH);
}

/* A key may be longer than the pointers that functions and commands take, and
 * what a handler writes below it is read back. */
TEST(d13_a_pointer_in_a_commit_has_keys_of_any_length)
{
    struct store_kit kit;
    kit_open_file(&kit, NULL);
    EXPECT_TEXT(err_name(answer_adopt(
                    &kit,
                    row(HEAD "'operations':[{'op':'patch','id':'A','patches':["
                             "{'op':'add','value':1,'path':'/",
                        "x",
                        LIMIT_POINTER_BYTES + 1,
                        "'}]}]}"))),
                "OK");
    kit_reopen(&kit);
    EXPECT(strlen(kit_read(&kit, "A")) > LIMIT_POINTER_BYTES);
    kit_close(&kit);
}

TEST(d13_depth_of_a_document_after_a_patch)
{
    expect_edge(row,
                HEAD "'operations':[{'op':'patch','id':'A','patches':["
                     "{'op':'add','value':{},'path':'",
                "/p",
                LIMIT_DEPTH - 1,
                "'}]}]}",
                ERR_OK,
                ERR_LIMIT_DEPTH);
}

TEST(d13_bytes_of_an_id)
{
    expect_edge(row,
                HEAD "'operations':[{'op':'delete','id':'",
                "x",
                LIMIT_ID_BYTES,
                "'}]}",
                ERR_OK,
                ERR_LIMIT_ID);
}

TEST(d13_bytes_of_a_string)
{
    expect_edge(row,
                HEAD "'operations':[{'op':'set','id':'A','value':{'value':'",
                "x",
                LIMIT_STRING_BYTES,
                "'}}]}",
                ERR_OK,
                ERR_LIMIT_STRING);
}

/* -- Commits that a process built ---------------------------------------- */

static struct commit commit_new(struct path_table *paths)
{
    struct commit commit;
    struct value value = from_quoted(
        HEAD "'operations':[{'op':'patch','id':'A','patches':[{'op':"
             "'increment','path':'/n','by':1}]}]}");
    CHECK(commit_read(value, paths, &commit, NULL) == ERR_OK);
    value_unref(value);
    return commit;
}

static enum err answer_to(struct store_kit *kit, const struct commit *commit)
{
    struct engine_request request = {.commit = commit};
    EXPECT_INT(engine_commit(&kit->engine, &request, 1, NULL), ERR_OK);
    const enum err err = request.verdict.err;
    verdict_release(&request.verdict);
    return err;
}

TEST(d13_parts_are_counted_in_a_commit_that_was_built_too)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    struct commit commit = commit_new(&kit.engine.paths);
    while (commit.preconditions.count <= LIMIT_COMMIT_PRECONDITIONS) {
        const struct commit_precondition one = {
            .kind = PRECONDITION_ENTITY_ABSENT,
            .target = {.id = value_text_new("B")},
        };
        vec_push(&commit.preconditions, one);
    }
    EXPECT_TEXT(err_name(answer_to(&kit, &commit)), "LIMIT_COMMIT");
    commit_release(&commit);

    commit = commit_new(&kit.engine.paths);
    struct patch *patch = &commit.ops.at[0].patch;
    while (patch->ops.count <= LIMIT_PATCH_OPERATIONS) {
        struct patch_op op = patch->ops.at[0];
        op.path = path_ref(op.path);
        vec_push(&patch->ops, op);
    }
    EXPECT_TEXT(err_name(answer_to(&kit, &commit)), "LIMIT_PATCH");
    commit_release(&commit);

    commit = commit_new(&kit.engine.paths);
    while (commit.ops.count <= LIMIT_COMMIT_OPERATIONS) {
        const struct commit_op op = {
            .kind = COMMIT_DELETE,
            .target = {.id = value_text_new("B")},
        };
        vec_push(&commit.ops, op);
    }
    EXPECT_TEXT(err_name(answer_to(&kit, &commit)), "LIMIT_COMMIT");
    commit_release(&commit);
    EXPECT_EQ(kit.engine.seq, 0);
    kit_close(&kit);
}
