/* Documents as rows and back (scenarios A and B), at any seq and through
 * snapshots (D). */

#include "store/documents.h"

#include <stdio.h>
#include <string.h>

#include "lib/store_kit.h"
#include "lib/test.h"

/* -- Rows ---------------------------------------------------------------- */

TEST(a06_a_set_is_a_commit_a_document_and_a_revision)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    kit.at_ms = 77;
    EXPECT_LANDED(&kit, 1, "s1 4 | conf A @0 | put A {'value':1,'meta':{}}");
    EXPECT_TEXT(kit_sql(&kit,
                        "SELECT seq, record, branch, local_seq, at, context,"
                        " resolution, length(digest), length(chain)"
                        " FROM 'commit'"),
                "1|1|0|4|77|{'reads':{'confirmed':[{'id':'A','path':"
                "['value'],'seq':0}]}}|NULL|16|32;");
    EXPECT_TEXT(kit_sql(&kit, "SELECT * FROM revision"),
                "1|1|0|set|{'meta':{},'value':1}|NULL;");
    EXPECT_TEXT(kit_sql(&kit,
                        "SELECT scope, id, head_seq, head_index, op, base_seq,"
                        " tail_count FROM document"),
                "space|A|1|0|set|1|0;");
    EXPECT_TEXT(kit_sql(&kit, "SELECT * FROM session"), "1|s1;");
    kit_close(&kit);
}

TEST(a07_a_delete_is_a_revision_without_data_and_the_head)
{
    struct store_kit kit;
    kit_open_file(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A 1");
    EXPECT_LANDED(&kit, 2, "s1 2 | delete A");
    for (unsigned i = 0; i < 2; i++) {
        EXPECT_TEXT(kit_read(&kit, "A"), "(absent)");
        EXPECT_TEXT(kit_read_at(&kit, "A", 1), "{'value':1}");
        EXPECT_TEXT(kit_sql(&kit, "SELECT op, data FROM revision"),
                    "set|{'value':1};delete|NULL;");
        EXPECT_TEXT(kit_sql(&kit, "SELECT op, head_seq FROM document"),
                    "delete|2;");
        kit_reopen(&kit);
    }
    kit_close(&kit);
}

/* Each damage is made to the document A; B stays readable. */
static void expect_damage(const char *sql, const char *part)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A {'x':1} | set B 1");
    EXPECT_LANDED(&kit, 2, "s1 2 | replace A.x 2");
    kit_run(&kit, "PRAGMA ignore_check_constraints = ON");
    kit_run(&kit, sql);
    EXPECT_TEXT(kit_read(&kit, "A"), "CORRUPT");
    EXPECT_CONTAINS(kit.detail.text, "A: ");
    EXPECT_CONTAINS(kit.detail.text, part);
    EXPECT_TEXT(kit_read(&kit, "B"), "{'value':1}");
    /* Writing on top of it is a fault, and the others go on. */
    kit_commit(&kit, "s1 3 | replace A.x 3");
    EXPECT_INT(kit.fault, ERR_CORRUPT);
    EXPECT_INT(kit.verdicts[0].err, ERR_CORRUPT);
    EXPECT_LANDED(&kit, 3, "s1 4 | replace B! {'value':2}");
    EXPECT_TEXT(kit_read(&kit, "B"), "{'value':2}");
    kit_close(&kit);
}

TEST(a10_damaged_rows_are_named_and_harm_nobody_else)
{
    static const struct {
        const char *sql;
        const char *part;
    } rows[] = {
        {"UPDATE revision SET data = '5' WHERE document = 1 AND seq = 1",
         "plain object roots"},
        {"UPDATE revision SET data = '[]' WHERE document = 1 AND seq = 1",
         "plain object roots"},
        {"UPDATE revision SET data = '{' WHERE document = 1 AND seq = 1",
         "line 1"},
        {"UPDATE revision SET data = NULL WHERE document = 1 AND seq = 1", ""},
        {"UPDATE revision SET op = 'grow' WHERE document = 1 AND seq = 1",
         "unknown operation"},
        {"UPDATE document SET op = 'grow' WHERE id = 'A'", "unknown operation"},
        {"UPDATE revision SET data = '[{}]' WHERE document = 1 AND seq = 2",
         ""},
        {"UPDATE revision SET data = '7' WHERE document = 1 AND seq = 2", ""},
        {"INSERT INTO snapshot VALUES(1, 2, '[1]');"
         "UPDATE document SET tail_count = 0 WHERE id = 'A'",
         "plain object roots"},
        {"INSERT INTO snapshot VALUES(1, 2, 'x');"
         "UPDATE document SET tail_count = 0 WHERE id = 'A'",
         "line 1"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        expect_damage(rows[i].sql, rows[i].part);
    }
}

TEST(a_damaged_patch_is_a_fault_for_the_conflict_scan_too)
{
    static const char *const rows[] = {
        "UPDATE revision SET data = '[1]' WHERE op = 'patch'",
        "UPDATE revision SET data = '[' WHERE op = 'patch'",
        "UPDATE revision SET trace = '[1]' WHERE op = 'patch'",
        "UPDATE revision SET trace = '[[1,2,-3]]' WHERE op = 'patch'",
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct store_kit kit;
        kit_open_memory(&kit, NULL);
        EXPECT_LANDED(&kit, 1, "s1 1 | set A {'x':1}");
        EXPECT_LANDED(&kit, 2, "s2 1 | replace A.x 2");
        kit_run(&kit, rows[i]);
        kit_commit(&kit, "s1 2 | conf A.x @1 | set B 1");
        EXPECT_INT(kit.fault, ERR_CORRUPT);
        EXPECT_INT(kit.verdicts[0].err, ERR_CORRUPT);
        EXPECT_TEXT(kit_read(&kit, "B"), "(absent)");
        EXPECT_LANDED(&kit, 3, "s1 2 | set B 1");
        kit_close(&kit);
    }
}

TEST(a12_what_a_failed_commit_looked_at_is_not_served_later)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A {'x':'aaaa'}");
    kit_run(&kit,
            "CREATE TEMP TRIGGER stop BEFORE INSERT ON revision"
            " WHEN new.op_index = 1 BEGIN SELECT RAISE(ABORT, 'stop'); END");
    kit_commit(&kit, "s1 2 | replace A.x 'bbbb' | replace A.y 1");
    EXPECT_INT(kit.fault, ERR_STORE);
    kit_run_unseen(&kit, "DROP TRIGGER stop");
    EXPECT_TEXT(kit_read(&kit, "A"), "{'value':{'x':'aaaa'}}");
    EXPECT_LANDED(&kit, 2, "s1 2 | replace A.x 'cccc'");
    EXPECT_TEXT(kit_read(&kit, "A"), "{'value':{'x':'cccc'}}");
    EXPECT_TEXT(kit_read_at(&kit, "A", 2), "{'value':{'x':'cccc'}}");
    kit_close(&kit);
}

TEST(a12_a_refused_patch_list_leaves_the_document_as_it_was)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A {'x':1}");
    EXPECT_REFUSED(&kit,
                   ERR_PATCH_MISSING,
                   "",
                   "s1 2 | replace A.x 2 | set B 1 | remove A.nothing");
    EXPECT_TEXT(kit_read(&kit, "A"), "{'value':{'x':1}}");
    EXPECT_TEXT(kit_read(&kit, "B"), "(absent)");
    EXPECT_LANDED(&kit, 2, "s1 2 | increment A.x 5");
    EXPECT_TEXT(kit_read(&kit, "A"), "{'value':{'x':6}}");
    kit_close(&kit);
}

/* -- Documents and scopes ------------------------------------------------ */

TEST(b01_a_document_without_a_value_is_live)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | put A {'schema':{'a':1}} | put B {}");
    EXPECT_TEXT(kit_read(&kit, "A"), "{'schema':{'a':1}}");
    EXPECT_TEXT(kit_read(&kit, "B"), "{}");
    EXPECT_TEXT(kit_list(&kit, "", "space", NULL, 10, 0), "['A','B']");
    EXPECT_LANDED(&kit, 2, "s1 2 | remove A!.schema");
    EXPECT_TEXT(kit_read(&kit, "A"), "{}");
    kit_close(&kit);
}

TEST(b02_an_inner_key_named_value_is_data)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A {'value':1,'other':2}");
    EXPECT_TEXT(kit_read(&kit, "A"), "{'value':{'other':2,'value':1}}");
    kit_close(&kit);
}

TEST(b05_one_session_id_of_two_principals_has_two_documents)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    kit.principal = "Alice";
    EXPECT_LANDED(&kit, 1, "s1 1 | set A~session 1");
    kit.principal = "Bob";
    EXPECT_LANDED(&kit, 2, "s1 1 | conf A~session @0 | set A~session 2");
    EXPECT_TEXT(kit_read(&kit, "A~session:Alice:s1"), "{'value':1}");
    EXPECT_TEXT(kit_read(&kit, "A~session:Bob:s1"), "{'value':2}");
    EXPECT_TEXT(kit_read(&kit, "A"), "(absent)");
    kit_close(&kit);
}

TEST(b06_parts_of_scope_keys_are_percent_encoded)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    kit.principal = "did:x/y %";
    EXPECT_LANDED(&kit, 1, "s:1 1 | set A~user 1 | set A~session 2");
    EXPECT_TEXT(kit_sql(&kit, "SELECT scope FROM document ORDER BY document"),
                "user:did%3Ax%2Fy%20%25;session:did%3Ax%2Fy%20%25:s%3A1;");
    EXPECT_TEXT(kit_read(&kit, "A~user:did%3Ax%2Fy%20%25"), "{'value':1}");
    kit_close(&kit);
}

TEST(b07_a_scope_without_its_identity_is_refused)
{
    static const char *const commits[] = {
        "s1 1 | set A~user 1",
        "s1 1 | set A~session 1",
        "s1 1 | delete A~user",
        "s1 1 | replace A~user.x 1",
        "s1 1 | conf A~user @0 | set B 1",
        "s1 1 | shape conf A~session @0 | set B 1",
        "s1 1 | absent A~user | set B 1",
        "s1 1 | hash A~session null | set B 1",
    };
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    for (size_t i = 0; i < COUNT_OF(commits); i++) {
        kit.principal = NULL;
        EXPECT_REFUSED(&kit, ERR_PROTOCOL, "needs a user", commits[i]);
        kit.principal = "";
        EXPECT_REFUSED(&kit, ERR_PROTOCOL, "needs a user", commits[i]);
    }
    kit_close(&kit);
}

TEST(b08_scopes_conflict_independently)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    kit.principal = "Alice";
    EXPECT_LANDED(&kit, 1, "s1 1 | set A~user 1");
    kit.principal = "Bob";
    EXPECT_LANDED(&kit, 2, "s1 1 | conf A~user @0 | set A~user 2");
    kit.principal = "Alice";
    EXPECT_REFUSED(&kit,
                   ERR_CONFLICT,
                   "A at seq 0 conflicted with seq 1",
                   "s2 1 | conf A~user @0 | set A~user 3");
    EXPECT_LANDED(&kit, 3, "s2 1 | conf A @0 | conf A~session @0 | set A 3");
    kit_close(&kit);
}

/* -- Listing ------------------------------------------------------------- */

TEST(b10_live_ids_of_one_scope_and_branch_are_listed_in_order)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    kit.principal = "Alice";
    EXPECT_LANDED(&kit, 1, "s1 1 | set d 1 | set b 1 | set a 1 | set c 1");
    EXPECT_LANDED(&kit, 2, "s1 2 | add e.x 1");
    EXPECT_INT(kit_fork(&kit, "feature", "", ENGINE_HEAD), ERR_OK);
    EXPECT_LANDED(&kit, 3, "s1 3 | delete c | set u~user 1");
    EXPECT_LANDED(&kit, 4, "s1 4 | branch feature | set f 1");
    EXPECT_TEXT(kit_list(&kit, "", "space", NULL, 10, 0), "['a','b','d','e']");
    EXPECT_TEXT(kit_list(&kit, "", "user:Alice", NULL, 10, 0), "['u']");
    EXPECT_TEXT(kit_list(&kit, "", "user:Bob", NULL, 10, 0), "[]");
    EXPECT_TEXT(kit_list(&kit, "feature", "space", NULL, 10, 0), "['f']");
    EXPECT_TEXT(kit_read(&kit, "c"), "(absent)");
    EXPECT_LANDED(&kit, 5, "s1 5 | set c 2");
    EXPECT_TEXT(kit_list(&kit, "", "space", "b", 2, 0), "['c','d']");
    kit_close(&kit);
}

static void commit_ids(struct store_kit *kit, unsigned count)
{
    struct buf commit = {0};
    buf_append_text(&commit, "s1 1");
    for (unsigned i = 0; i < count; i++) {
        buf_printf(&commit, " | set id%06u {'fill':'%0200u'}", i, i);
    }
    EXPECT_LANDED(kit, 1, buf_text(&commit));
    buf_release(&commit);
}

TEST(b11_pages_have_every_id_once_and_notice_a_change_between_them)
{
    enum {
        IDS = 1203
    };
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    commit_ids(&kit, IDS);
    char after[32] = "";
    unsigned seen = 0;
    for (;;) {
        const char *page = kit_list(&kit, "", "space", after, 100, 1);
        unsigned number = 0;
        for (const char *at = page; (at = strstr(at, "'id")) != NULL; at++) {
            EXPECT_INT(sscanf(at, "'id%u'", &number), 1);
            EXPECT_EQ(number, seen);
            seen++;
        }
        EXPECT(strstr(page, "fill") == NULL);
        if (strcmp(page, "[]") == 0) {
            break;
        }
        (void)snprintf(after, sizeof after, "id%06u", number);
    }
    EXPECT_EQ(seen, IDS);
    EXPECT_LANDED(&kit, 2, "s2 1 | delete id000500");
    EXPECT_TEXT(kit_list(&kit, "", "space", after, 100, 1), "LISTING_MOVED");
    EXPECT_INT(err_class_of(ERR_LISTING_MOVED), ERR_CLASS_RETRY);
    kit_close(&kit);
}

static unsigned count_of(const char *text, const char *part)
{
    unsigned count = 0;
    for (const char *at = text; (at = strstr(at, part)) != NULL; at++) {
        count++;
    }
    return count;
}

TEST(b13_a_page_has_at_least_one_id_and_at_most_a_thousand)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    commit_ids(&kit, ENGINE_PAGE_MAX + 1);
    EXPECT_EQ(count_of(kit_list(&kit, "", "space", NULL, UINT32_MAX, 0), "'id"),
              ENGINE_PAGE_MAX);
    EXPECT_EQ(count_of(kit_list(&kit, "", "space", NULL, 1000, 1), "'id"),
              ENGINE_PAGE_MAX);
    EXPECT_TEXT(kit_list(&kit, "", "space", "id000999", 5, 1), "['id001000']");
    EXPECT_TEXT(kit_list(&kit, "", "space", NULL, 1, 0), "['id000000']");
    EXPECT_TEXT(kit_list(&kit, "", "space", NULL, 0, 0), "ARGUMENT");
    EXPECT_TEXT(kit_list(&kit, "nope", "space", NULL, 1, 0), "BRANCH_UNKNOWN");
    kit_close(&kit);
}

/* -- Patches in rows ----------------------------------------------------- */

TEST(c19_patches_of_nothing_begin_with_an_empty_document)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | append A.list [1]");
    EXPECT_TEXT(kit_read(&kit, "A"), "{'value':{'list':[1]}}");
    EXPECT_REFUSED(&kit, ERR_PATCH_ROOT, "", "s1 2 | replace B! 5");
    EXPECT_LANDED(&kit, 2, "s1 2 | delete A");
    EXPECT_LANDED(&kit, 3, "s1 3 | add A.y 1");
    EXPECT_TEXT(kit_read(&kit, "A"), "{'value':{'y':1}}");
    kit_close(&kit);
}

TEST(c21_the_patch_list_is_stored_as_it_was_given)
{
    struct store_kit kit;
    kit_open_file(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A {'l':[1,2],'x':0}");
    EXPECT_LANDED(&kit,
                  2,
                  "s1 2 | patch A [{'op':'replace','path':'/value/x',"
                  "'value':1},{'op':'add','path':'/value/y','value':2},"
                  "{'op':'splice','path':'/value/l','index':1,'remove':1,"
                  "'add':[7,8]}]");
    kit_reopen(&kit);
    EXPECT_TEXT(kit_read(&kit, "A"), "{'value':{'l':[1,7,8],'x':1,'y':2}}");
    EXPECT_TEXT(kit_read_at(&kit, "A", 1), "{'value':{'l':[1,2],'x':0}}");
    EXPECT_TEXT(kit_sql(&kit, "SELECT data FROM revision WHERE op = 'patch'"),
                "[{'op':'replace','path':'/value/x','value':1},"
                "{'op':'add','path':'/value/y','value':2},"
                "{'add':[7,8],'index':1,'op':'splice','path':'/value/l',"
                "'remove':1}];");
    kit_close(&kit);
}

TEST(c20_special_leaves_survive_the_store)
{
    static const char document[] =
        "{'value':{'a':{'/':{'number@1':'NaN'}},'b':-0.0,"
        "'c':{'/':{'bytes@1':'AAEC'}},'d':{'/':{'link@1':{'id':'of:x'}}},"
        "'e':[1e308,5e-324,9007199254740993]}}";
    struct store_kit kit;
    kit_open_file(&kit, NULL);
    struct buf commit = {0};
    buf_printf(&commit, "s1 1 | put A %s", document);
    EXPECT_LANDED(&kit, 1, buf_text(&commit));
    buf_release(&commit);
    struct buf before = {0};
    buf_append_text(&before, kit_read(&kit, "A"));
    kit_reopen(&kit);
    EXPECT_TEXT(kit_read(&kit, "A"), buf_text(&before));
    EXPECT_CONTAINS(buf_text(&before), "'b':-0");
    EXPECT_CONTAINS(buf_text(&before), "9007199254740993");
    EXPECT_LANDED(&kit, 2, "s1 2 | replace A.c {'/':{'bytes@1':'AA'}}");
    kit_reopen(&kit);
    EXPECT_CONTAINS(kit_read(&kit, "A"), "'c':{'/':{'bytes@1':'AA'}}");
    buf_release(&before);
    kit_close(&kit);
}

TEST(a_document_that_grew_beyond_the_limit_of_a_text_is_read_again)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A []");
    kit_run(&kit,
            "WITH part(x) AS (SELECT printf('\"%.*c\"', 14000000, 'x'))"
            " INSERT INTO snapshot SELECT 1, 1, '{\"value\":[' || x || ',' ||"
            " x || ',' || x || ',' || x || ',' || x || ']}' FROM part");
    const struct engine_address address = {
        .branch = value_string_new("", 0),
        .scope_key = value_text_new("space"),
        .id = value_text_new("A"),
    };
    struct value value = VALUE_NONE;
    EXPECT_INT(
        engine_read(&kit.engine, &address, ENGINE_HEAD, &value, &kit.detail),
        ERR_OK);
    EXPECT_TEXT(kit.detail.text, "");
    value_unref(value);
    kit_close(&kit);
}

/* -- Content-addressed documents ----------------------------------------- */

TEST(j01_a_content_addressed_document_is_installed_once)
{
    struct store_kit kit;
    kit_open_file(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set cid:a 1 | set A 1");
    EXPECT_TEXT(kit_verdict(&kit, 0), "{'seq':1}");
    kit_reopen(&kit);
    EXPECT_LANDED(&kit, 2, "s1 2 | set A 2 | set cid:a 1");
    EXPECT_TEXT(kit_verdict(&kit, 0), "{'elidedOpIndexes':[1],'seq':2}");
    EXPECT_LANDED(&kit, 3, "s2 1 | set cid:a 1");
    EXPECT_TEXT(kit_sql(&kit, "SELECT seq, op_index FROM revision ORDER BY 1"),
                "1|0;1|1;2|0;");
    EXPECT_TEXT(kit_sql(&kit, "SELECT head_seq FROM document ORDER BY id"),
                "2;1;");
    /* Nothing changed, so nobody who read it is stale. */
    EXPECT_LANDED(&kit, 4, "s2 2 | conf cid:a @1 | set A 3");
    kit_close(&kit);
}

TEST(j02_a_content_addressed_document_never_changes)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    kit.principal = "Alice";
    EXPECT_LANDED(&kit, 1, "s1 1 | set cid:a 1");
    EXPECT_REFUSED(&kit, ERR_IMMUTABLE, "cid:a", "s1 2 | set cid:a 2");
    EXPECT_REFUSED(&kit, ERR_IMMUTABLE, "cid:a", "s1 2 | delete cid:a");
    EXPECT_REFUSED(&kit, ERR_IMMUTABLE, "cid:b", "s1 2 | delete cid:b");
    EXPECT_REFUSED(&kit, ERR_IMMUTABLE, "cid:a", "s1 2 | add cid:a!.x 1");
    EXPECT_REFUSED(&kit,
                   ERR_IMMUTABLE,
                   "cid:c",
                   "s1 2 | set cid:c 1 | set cid:c 2");
    EXPECT_REFUSED(&kit, ERR_PROTOCOL, "space", "s1 2 | set cid:a~user 1");
    EXPECT_LANDED(&kit, 2, "s1 2 | set cid:c 1 | set cid:c 1");
    EXPECT_TEXT(kit_verdict(&kit, 0), "{'elidedOpIndexes':[1],'seq':2}");
    kit_close(&kit);
}

TEST(j03_a_replay_tells_again_what_was_elided)
{
    struct store_kit kit;
    kit_open_file(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set cid:a 1");
    EXPECT_LANDED(&kit, 2, "s1 2 | set B 1 | set cid:a 1 | set cid:b 1");
    kit_reopen(&kit);
    EXPECT_LANDED(&kit, 2, "s1 2 | set B 1 | set cid:a 1 | set cid:b 1");
    EXPECT_TEXT(kit_verdict(&kit, 0),
                "{'elidedOpIndexes':[1],'replayed':true,'seq':2}");
    EXPECT_LANDED(&kit, 1, "s1 1 | set cid:a 1");
    EXPECT_TEXT(kit_verdict(&kit, 0), "{'replayed':true,'seq':1}");
    kit_close(&kit);
}
