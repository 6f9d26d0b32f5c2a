/* Absurd arguments: every public function of the engine answers with a
 * status, and goes on. */

#include <string.h>

#include "base/limits.h"
#include "lib/store_kit.h"
#include "lib/test.h"
#include "lib/values.h"
#include "value/object.h"
#include "value/utf8.h"

/* Commits of this process, built by hand. */
static struct commit commit_new(struct path_table *paths)
{
    struct commit commit;
    struct value value =
        from_json("{\"session\":\"s1\",\"localSeq\":1,\"reads\":{"
                  "\"confirmed\":[{\"id\":\"A\",\"path\":[],\"seq\":0}],"
                  "\"pending\":[{\"id\":\"A\",\"path\":[],\"basisSeq\":0,"
                  "\"localSeq\":[1]}]},"
                  "\"operations\":[{\"op\":\"set\",\"id\":\"A\","
                  "\"value\":{}}],\"preconditions\":[{\"kind\":"
                  "\"origin-committed\",\"originLocalSeq\":1}]}");
    CHECK(commit_read(value, paths, &commit, NULL) == ERR_OK);
    value_unref(value);
    return commit;
}

static enum err answer(struct store_kit *kit,
                       const struct commit *commit,
                       struct value principal,
                       uint64_t at_ms)
{
    struct engine_request request = {
        .commit = commit,
        .principal = principal,
        .at_ms = at_ms,
    };
    EXPECT_INT(engine_commit(&kit->engine, &request, 1, NULL), ERR_OK);
    const enum err err = request.verdict.err;
    EXPECT_EQ(request.verdict.seq, 0);
    verdict_release(&request.verdict);
    return err;
}

TEST(numbers_beyond_what_a_row_holds_are_refused)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    for (unsigned i = 0; i < 5; i++) {
        struct commit commit = commit_new(&kit.engine.paths);
        uint64_t *const numbers[] = {
            &commit.local_seq,
            &commit.reads.at[0].seq,
            &commit.reads.at[1].seq,
            &commit.reads.at[1].layers.at.at[0],
            &commit.preconditions.at[0].origin_local_seq,
        };
        *numbers[i] = UINT64_MAX;
        EXPECT_INT(answer(&kit, &commit, VALUE_NONE, 0), ERR_PROTOCOL);
        *numbers[i] = (uint64_t)INT64_MAX + 1;
        EXPECT_INT(answer(&kit, &commit, VALUE_NONE, 0), ERR_PROTOCOL);
        commit_release(&commit);
    }
    EXPECT_EQ(kit.engine.seq, 0);
    kit_close(&kit);
}

TEST(a_time_beyond_what_a_row_holds_is_refused)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    kit.at_ms = UINT64_MAX;
    EXPECT_REFUSED(&kit, ERR_ARGUMENT, "time", "s1 1 | set A 1");
    kit.at_ms = INT64_MAX;
    EXPECT_LANDED(&kit, 1, "s1 1 | set A 1");
    EXPECT_TEXT(kit_sql(&kit, "SELECT at FROM 'commit'"),
                "9223372036854775807;");
    kit_close(&kit);
}

TEST(a_principal_is_a_usable_string)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    char name[LIMIT_ID_BYTES + 2];
    memset(name, 'p', sizeof name);
    name[LIMIT_ID_BYTES + 1] = '\0';
    kit.principal = name;
    EXPECT_REFUSED(&kit, ERR_PROTOCOL, "needs a user", "s1 1 | set A 1");
    name[LIMIT_ID_BYTES] = '\0';
    EXPECT_LANDED(&kit, 1, "s1 1 | set A~user 1");
    kit.principal = "";
    EXPECT_REFUSED(&kit, ERR_PROTOCOL, "needs a user", "s2 1 | set A 1");
    struct commit commit = commit_new(&kit.engine.paths);
    EXPECT_INT(answer(&kit, &commit, value_int(5), 0), ERR_PROTOCOL);
    EXPECT_INT(answer(&kit, &commit, value_null(), 0), ERR_PROTOCOL);
    commit_release(&commit);
    kit_close(&kit);
}

TEST(a_commit_built_in_the_process_is_checked_like_any_other)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    struct commit commit = commit_new(&kit.engine.paths);
    commit.ops.at[0].document = value_int(5);
    EXPECT_INT(answer(&kit, &commit, VALUE_NONE, 0), ERR_PROTOCOL);
    commit.ops.at[0].document = value_empty_array();
    EXPECT_INT(answer(&kit, &commit, VALUE_NONE, 0), ERR_PROTOCOL);
    value_unref(commit.ops.at[0].target.id);
    commit.ops.at[0].target.id = value_string_new("", 0);
    commit.ops.at[0].document = value_empty_object();
    EXPECT_INT(answer(&kit, &commit, VALUE_NONE, 0), ERR_PROTOCOL);
    value_unref(commit.session);
    commit.session = value_string_new("", 0);
    EXPECT_INT(answer(&kit, &commit, VALUE_NONE, 0), ERR_PROTOCOL);
    commit_release(&commit);
    kit_close(&kit);
}

TEST(text_that_is_not_utf8_is_refused)
{
    static const char bytes[] = "caf\xE9";
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    struct commit commit = commit_new(&kit.engine.paths);
    const struct value text = value_text_new(bytes);
    struct value document = value_empty_object();
    object_put_adopt(&document, "value", value_ref(text));
    commit.ops.at[0].document = document;
    EXPECT_INT(answer(&kit, &commit, VALUE_NONE, 0), ERR_PROTOCOL);
    value_unref(document);
    document = value_empty_object();
    object_put_adopt(&document, bytes, value_null());
    commit.ops.at[0].document = document;
    EXPECT_INT(answer(&kit, &commit, VALUE_NONE, 0), ERR_PROTOCOL);
    value_unref(document);
    commit.ops.at[0].document = value_empty_object();
    EXPECT_INT(answer(&kit, &commit, text, 0), ERR_PROTOCOL);
    value_unref(commit.ops.at[0].target.id);
    commit.ops.at[0].target.id = value_ref(text);
    EXPECT_INT(answer(&kit, &commit, VALUE_NONE, 0), ERR_PROTOCOL);
    value_unref(commit.session);
    commit.session = value_ref(text);
    EXPECT_INT(answer(&kit, &commit, VALUE_NONE, 0), ERR_PROTOCOL);
    commit_release(&commit);
    const struct value main_branch = value_text_new("");
    EXPECT_INT(engine_fork(&kit.engine, text, main_branch, 0, NULL),
               ERR_ARGUMENT);
    EXPECT_EQ(kit.engine.seq, 0);
    value_unref(text);
    kit_close(&kit);
}

TEST(names_that_nobody_would_choose_are_only_names)
{
    static const char *const names[] = {
        "",
        " ",
        "'; DROP TABLE revision; --",
        "\x01\x7F",
        "\xF0\x9F\x98\x80",
        "%s%n",
        "../../x",
    };
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A 1");
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        const struct engine_address address = {
            .branch = value_string_new("", 0),
            .scope_key = value_text_new(names[i]),
            .id = value_text_new(names[i]),
        };
        struct value out = value_null();
        EXPECT_INT(engine_read(&kit.engine, &address, ENGINE_HEAD, &out, NULL),
                   ERR_OK);
        EXPECT(value_is_absent(out));
        value_unref(address.scope_key);
        value_unref(address.id);
        EXPECT_TEXT(kit_list(&kit, "", names[i], names[i], 5, 0), "[]");
        if (*names[i] != '\0') {
            EXPECT_TEXT(kit_list(&kit, names[i], "space", NULL, 5, 0),
                        "BRANCH_UNKNOWN");
            EXPECT_INT(kit_branch_delete(&kit, names[i]), ERR_BRANCH_UNKNOWN);
            EXPECT_INT(kit_fork(&kit, names[i], names[i], 0),
                       ERR_BRANCH_UNKNOWN);
            EXPECT_INT(kit_fork(&kit, names[i], "", 1), ERR_OK);
            EXPECT_INT(kit_branch_delete(&kit, names[i]), ERR_OK);
        }
    }
    EXPECT_TEXT(kit_read(&kit, "A"), "{'value':1}");
    kit_close(&kit);
}

TEST(a_zero_byte_in_a_name_ends_nothing)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    const struct value one = value_string_new("b\0one", 5);
    const struct value other = value_string_new("b\0two", 5);
    const struct value main_branch = value_string_new("", 0);
    EXPECT_INT(engine_fork(&kit.engine, one, main_branch, 0, NULL), ERR_OK);
    EXPECT_INT(engine_branch_delete(&kit.engine, other, NULL),
               ERR_BRANCH_UNKNOWN);
    EXPECT_INT(engine_fork(&kit.engine, other, one, 0, NULL), ERR_OK);
    engine_forget(&kit.engine);
    EXPECT_INT(engine_branch_delete(&kit.engine, other, NULL), ERR_OK);
    kit_close(&kit);
}

TEST(a_sentence_about_a_long_name_is_cut_at_a_character)
{
    for (size_t lead = 90; lead < 125; lead++) {
        struct buf id = {0};
        for (size_t i = 0; i < lead; i++) {
            buf_append_char(&id, 'i');
        }
        for (size_t i = 0; i < 120; i++) {
            buf_append_text(&id, "\xF0\x9F\x98\x80");
        }
        struct store_kit kit;
        kit_open_memory(&kit, NULL);
        struct buf text = {0};
        buf_printf(&text, "s1 1 | set %s 1", buf_text(&id));
        EXPECT_LANDED(&kit, 1, buf_text(&text));
        buf_clear(&text);
        buf_printf(&text, "s1 2 | conf %s @0 | set B 1", buf_text(&id));
        EXPECT_REFUSED(&kit, ERR_CONFLICT, "stale", buf_text(&text));
        const char *sentence = kit.verdicts[0].detail.text;
        EXPECT(utf8_is_valid(sentence, strlen(sentence)));
        buf_clear(&text);
        buf_printf(&text, "s1 2 | branch %s | set B 1", buf_text(&id));
        EXPECT_REFUSED(&kit, ERR_BRANCH_UNKNOWN, "", buf_text(&text));
        EXPECT(utf8_is_valid(sentence, strlen(sentence)));
        EXPECT_INT(kit_fork(&kit, "b", buf_text(&id), 0), ERR_BRANCH_UNKNOWN);
        EXPECT(utf8_is_valid(kit.detail.text, strlen(kit.detail.text)));
        kit_run(&kit, "UPDATE revision SET data = '5'");
        EXPECT_TEXT(kit_read(&kit, buf_text(&id)), "CORRUPT");
        EXPECT(utf8_is_valid(kit.detail.text, strlen(kit.detail.text)));
        buf_release(&text);
        buf_release(&id);
        kit_close(&kit);
    }
}

TEST(details_may_be_left_out)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    const struct value nope = value_text_new("nope");
    const struct engine_address address = {nope, nope, nope};
    struct value out;
    EXPECT_INT(engine_read(&kit.engine, &address, 0, &out, NULL),
               ERR_BRANCH_UNKNOWN);
    const struct engine_page page = {nope, nope, VALUE_NONE, 1, 0};
    EXPECT_INT(engine_list(&kit.engine, &page, &out, NULL), ERR_BRANCH_UNKNOWN);
    EXPECT_INT(engine_fork(&kit.engine, nope, nope, 0, NULL),
               ERR_BRANCH_UNKNOWN);
    EXPECT_INT(engine_branch_delete(&kit.engine, nope, NULL),
               ERR_BRANCH_UNKNOWN);
    EXPECT_INT(engine_apply(&kit.engine, nope, NULL), ERR_PROTOCOL);
    kit_run(&kit, "ALTER TABLE branch RENAME TO hidden");
    EXPECT_INT(engine_branch_list(&kit.engine, &out, NULL), ERR_STORE);
    EXPECT(value_is_absent(out));
    EXPECT_INT(engine_read(&kit.engine, &address, 0, &out, NULL), ERR_STORE);
    EXPECT_INT(engine_commit(&kit.engine, NULL, 0, NULL), ERR_STORE);
    kit_run(&kit, "ALTER TABLE hidden RENAME TO branch");
    EXPECT_LANDED(&kit, 1, "s1 1 | set A 1");
    kit_close(&kit);
}
