/* Commits: nothing is trusted when one is read (commit-1), and one commit has
 * one canonical text (commit-2). In texts here ' stands for ". */

#include "proto/commit.h"

#include <string.h>

#include "base/limits.h"
#include "lib/gen.h"
#include "lib/test.h"
#include "lib/values.h"
#include "value/array.h"
#include "value/json.h"
#include "value/object.h"

static struct value quoted(const char *text)
{
    struct buf json = {0};
    for (const char *at = text; *at != '\0'; at++) {
        buf_append_char(&json, (char)(*at == '\'' ? '"' : *at));
    }
    struct value value = from_json(buf_text(&json));
    buf_release(&json);
    return value;
}

/* Reads and forgets. */
static enum err try_value(struct value value, struct err_detail *detail)
{
    struct path_table paths;
    path_table_init(&paths);
    struct commit commit;
    const enum err err = commit_read(value, &paths, &commit, detail);
    if (err != ERR_OK) {
        EXPECT_INT(detail->err, err);
        EXPECT(commit.ops.at == NULL && commit.reads.at == NULL &&
               value_is_absent(commit.session));
    }
    commit_release(&commit);
    path_table_release(&paths);
    return err;
}

static void expect_refused(const char *text, enum err err, const char *field)
{
    struct err_detail detail = {0};
    struct value value = quoted(text);
    if (!EXPECT_INT(try_value(value, &detail), err) ||
        !EXPECT_CONTAINS(detail.text, field)) {
        (void)test_fail(__FILE__, __LINE__, "%s: %s", text, detail.text);
    }
    value_unref(value);
}

/* The canonical text of the commit that `text` is. */
static void canonical(struct value value, struct buf *to)
{
    struct path_table paths;
    path_table_init(&paths);
    struct commit commit;
    struct err_detail detail = {0};
    if (commit_read(value, &paths, &commit, &detail) == ERR_OK) {
        struct value written = commit_write(&commit);
        json_write(to, written, JSON_CANONICAL, 0);
        struct buf text = {0};
        commit_append(&text, &commit);
        EXPECT_TEXT_OF(&text, written);
        value_unref(written);
        commit_release(&commit);
    } else {
        buf_append_text(to, detail.text);
    }
    path_table_release(&paths);
}

static void expect_canonical(const char *text, const char *want)
{
    struct buf got = {0};
    struct value value = quoted(text);
    canonical(value, &got);
    value_unref(value);
    for (size_t i = 0; i < got.length; i++) {
        got.at[i] = got.at[i] == '"' ? '\'' : got.at[i];
    }
    EXPECT_TEXT(buf_text(&got), want);
    buf_release(&got);
}

/* -- commit-1: every field ----------------------------------------------- */

#define OPS "'operations':[{'op':'delete','id':'a'}]"

TEST(p1_the_head_of_a_commit_is_checked)
{
    static const struct {
        const char *text;
        const char *field;
    } rows[] = {
        {"null", "a commit"},
        {"[]", "a commit"},
        {"'x'", "a commit"},
        {"{}", "session"},
        {"{'session':5,'localSeq':1," OPS "}", "session"},
        {"{'session':null,'localSeq':1," OPS "}", "session"},
        {"{'session':'','localSeq':1," OPS "}", "session"},
        {"{'session':'s'," OPS "}", "localSeq"},
        {"{'session':'s','localSeq':'1'," OPS "}", "localSeq"},
        {"{'session':'s','localSeq':-1," OPS "}", "localSeq"},
        {"{'session':'s','localSeq':1.5," OPS "}", "localSeq"},
        {"{'session':'s','localSeq':-0.0," OPS "}", "localSeq"},
        {"{'session':'s','localSeq':[1]," OPS "}", "localSeq"},
        {"{'session':'s','localSeq':9223372036854775808," OPS "}", "localSeq"},
        {"{'session':'s','localSeq':1,'branch':5," OPS "}", "branch"},
        {"{'session':'s','localSeq':1,'branch':null," OPS "}", "branch"},
        {"{'session':'s','localSeq':1,'merge':[]," OPS "}", "merge"},
        {"{'session':'s','localSeq':1,'merge':null," OPS "}", "merge"},
        {"{'session':'s','localSeq':1,'reads':[]," OPS "}", "reads"},
        {"{'session':'s','localSeq':1,'reads':null," OPS "}", "reads"},
        {"{'session':'s','localSeq':1,'reads':{'confirmed':{}}," OPS "}",
         "reads.confirmed"},
        {"{'session':'s','localSeq':1,'reads':{'pending':5}," OPS "}",
         "reads.pending"},
        {"{'session':'s','localSeq':1,'operations':{}}", "operations"},
        {"{'session':'s','localSeq':1,'operations':null}", "operations"},
        {"{'session':'s','localSeq':1,'preconditions':{}," OPS "}",
         "preconditions"},
        {"{'session':'s','localSeq':1}", "at least one operation"},
        {"{'session':'s','localSeq':1,'operations':[],'preconditions':[]}",
         "at least one operation"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        expect_refused(rows[i].text, ERR_PROTOCOL, rows[i].field);
    }
}

TEST(p1_every_field_of_a_read_is_checked)
{
    static const struct {
        bool pending;
        const char *read;
        const char *field;
    } rows[] = {
        {false, "null", " must be"},
        {false, "'a'", " must be"},
        {false, "{'path':[],'seq':1}", "id"},
        {false, "{'id':5,'path':[],'seq':1}", "id"},
        {false, "{'id':'','path':[],'seq':1}", "id"},
        {false, "{'id':'a\\u0000','path':[],'seq':1}", "id"},
        {false, "{'id':'a','scope':'world','path':[],'seq':1}", "scope"},
        {false, "{'id':'a','scope':null,'path':[],'seq':1}", "scope"},
        {false, "{'id':'a','seq':1}", "path"},
        {false, "{'id':'a','path':'/x','seq':1}", "path"},
        {false, "{'id':'a','path':[1],'seq':1}", "path"},
        {false, "{'id':'a','path':[null],'seq':1}", "path"},
        {false, "{'id':'a','path':[]}", "seq"},
        {false, "{'id':'a','path':[],'seq':-1}", "seq"},
        {false, "{'id':'a','path':[],'seq':'1'}", "seq"},
        {false,
         "{'id':'a','path':[],'seq':1,'nonRecursive':1}",
         "nonRecursive"},
        {false,
         "{'id':'a','path':[],'seq':1,'nonRecursive':null}",
         "nonRecursive"},
        {false, "{'id':'a','path':[],'seq':1,'branch':1}", "branch"},
        {true, "{'id':'a','path':[],'localSeq':[1]}", "basisSeq"},
        {true, "{'id':'a','path':[],'localSeq':[1],'basisSeq':-1}", "basisSeq"},
        {true,
         "{'id':'a','path':[],'localSeq':[1],'basisSeq':1.5}",
         "basisSeq"},
        {true, "{'id':'a','path':[],'localSeq':[1],'seq':1}", "basisSeq"},
        {true, "{'id':'a','path':[],'basisSeq':1}", "localSeq"},
        {true, "{'id':'a','path':[],'basisSeq':1,'localSeq':1}", "localSeq"},
        {true, "{'id':'a','path':[],'basisSeq':1,'localSeq':[]}", "localSeq"},
        {true,
         "{'id':'a','path':[],'basisSeq':1,'localSeq':[1.5]}",
         "localSeq"},
        {true, "{'id':'a','path':[],'basisSeq':1,'localSeq':[-1]}", "localSeq"},
        {true,
         "{'id':'a','path':[],'basisSeq':1,'localSeq':[1,1]}",
         "localSeq"},
        {true,
         "{'id':'a','path':[],'basisSeq':1,'localSeq':[2,1]}",
         "localSeq"},
        {true,
         "{'id':'a','path':[],'basisSeq':1,'localSeq':[null]}",
         "localSeq"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const char *list = rows[i].pending ? "pending" : "confirmed";
        struct buf text = {0};
        struct buf field = {0};
        buf_printf(&text,
                   "{'session':'s','localSeq':1,'reads':{'%s':["
                   "{'id':'x','path':[],'seq':0,'basisSeq':0,'localSeq':[1]},"
                   "%s]}," OPS "}",
                   list,
                   rows[i].read);
        const char *dot = rows[i].field[0] == ' ' ? "" : ".";
        buf_printf(&field, "reads.%s[1]%s%s", list, dot, rows[i].field);
        expect_refused(buf_text(&text), ERR_PROTOCOL, buf_text(&field));
        buf_release(&text);
        buf_release(&field);
    }
}

TEST(p1_every_field_of_an_operation_is_checked)
{
    static const struct {
        const char *op;
        const char *field;
    } rows[] = {
        {"null", "operations[1]"},
        {"[]", "operations[1]"},
        {"{}", "operations[1].op"},
        {"{'op':5,'id':'a'}", "operations[1].op"},
        {"{'op':'merge','id':'a'}", "operations[1].op"},
        {"{'op':'delete'}", "operations[1].id"},
        {"{'op':'delete','id':''}", "operations[1].id"},
        {"{'op':'delete','id':'\\u0000'}", "operations[1].id"},
        {"{'op':'delete','id':['a']}", "operations[1].id"},
        {"{'op':'delete','id':'a','scope':'Space'}", "operations[1].scope"},
        {"{'op':'delete','id':'a','scope':1}", "operations[1].scope"},
        {"{'op':'set','id':'a'}", "operations[1].value"},
        {"{'op':'set','id':'a','value':null}", "operations[1].value"},
        {"{'op':'set','id':'a','value':[]}", "operations[1].value"},
        {"{'op':'set','id':'a','value':'x'}", "operations[1].value"},
        {"{'op':'set','id':'a','value':{'/':{'link@1':{'id':'b'}}}}",
         "operations[1].value"},
        {"{'op':'patch','id':'a'}", "operations[1].patches"},
        {"{'op':'patch','id':'a','patches':{}}", "operations[1].patches"},
        {"{'op':'patch','id':'a','patches':[5]}", "operations[1].patches"},
        {"{'op':'patch','id':'a','patches':[{'op':'grow','path':''}]}",
         "operations[1].patches"},
        {"{'op':'patch','id':'a','patches':[{'op':'remove'}]}",
         "operations[1].patches"},
        {"{'op':'patch','id':'a','patches':[{'op':'remove','path':'x'}]}",
         "operations[1].patches"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct buf text = {0};
        buf_printf(&text,
                   "{'session':'s','localSeq':1,'operations':["
                   "{'op':'delete','id':'x'},%s]}",
                   rows[i].op);
        expect_refused(buf_text(&text), ERR_PROTOCOL, rows[i].field);
        buf_release(&text);
    }
}

TEST(p1_every_field_of_a_precondition_is_checked)
{
    static const struct {
        const char *one;
        const char *field;
    } rows[] = {
        {"null", "preconditions[1]"},
        {"'entity-absent'", "preconditions[1]"},
        {"{}", "preconditions[1].kind"},
        {"{'kind':5}", "preconditions[1].kind"},
        {"{'kind':'entity-present','id':'a'}", "preconditions[1].kind"},
        {"{'kind':'origin-committed'}", "preconditions[1].originLocalSeq"},
        {"{'kind':'origin-committed','originLocalSeq':'1'}",
         "preconditions[1].originLocalSeq"},
        {"{'kind':'origin-committed','originLocalSeq':-1}",
         "preconditions[1].originLocalSeq"},
        {"{'kind':'entity-absent'}", "preconditions[1].id"},
        {"{'kind':'entity-absent','id':5}", "preconditions[1].id"},
        {"{'kind':'entity-absent','id':'a','scope':'x'}",
         "preconditions[1].scope"},
        {"{'kind':'entity-value-hash','valueHash':null}",
         "preconditions[1].id"},
        {"{'kind':'entity-value-hash','id':'a'}", "preconditions[1].valueHash"},
        {"{'kind':'entity-value-hash','id':'a','valueHash':5}",
         "preconditions[1].valueHash"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct buf text = {0};
        buf_printf(&text,
                   "{'session':'s','localSeq':1,'preconditions':["
                   "{'kind':'entity-absent','id':'x'},%s]}",
                   rows[i].one);
        expect_refused(buf_text(&text), ERR_PROTOCOL, rows[i].field);
        buf_release(&text);
    }
}

/* -- commit-1: limits ---------------------------------------------------- */

/* `count` times the same item. */
static struct value many(const char *item, uint32_t count)
{
    struct value one = quoted(item);
    struct value list = value_empty_array();
    for (uint32_t i = 0; i < count; i++) {
        list = array_push_adopt(list, value_ref(one));
    }
    value_unref(one);
    return list;
}

static void expect_limit_adopt(struct value commit,
                               enum err err,
                               const char *field)
{
    struct err_detail detail = {0};
    EXPECT_INT(try_value(commit, &detail), err);
    EXPECT_CONTAINS(detail.text, field);
    value_unref(commit);
}

/* A good commit with one list replaced, below `outer` if that is not NULL. */
static struct value with_list_adopt(const char *outer,
                                    const char *field,
                                    struct value list)
{
    struct value commit = quoted("{'session':'s','localSeq':1," OPS "}");
    if (outer != NULL) {
        struct value object = value_empty_object();
        object_put_adopt(&object, field, list);
        object_put_adopt(&commit, outer, object);
    } else {
        object_put_adopt(&commit, field, list);
    }
    return commit;
}

TEST(p1_every_field_of_a_view_is_checked)
{
    static const struct {
        const char *text;
        const char *field;
    } rows[] = {
        {"null", "view must"},
        {"5", "view must"},
        {"[]", "view must"},
        {"{}", "view.seq"},
        {"{'seq':'1'}", "view.seq"},
        {"{'seq':-1}", "view.seq"},
        {"{'seq':9223372036854775808}", "view.seq"},
        {"{'commits':1}", "view.seq"},
        {"{'seq':1,'commits':null}", "view.commits"},
        {"{'seq':1,'commits':-1}", "view.commits"},
        {"{'seq':1,'commits':1.5}", "view.commits"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct buf text = {0};
        buf_printf(&text,
                   "{'session':'s','localSeq':1,'view':%s," OPS "}",
                   rows[i].text);
        expect_refused(buf_text(&text), ERR_PROTOCOL, rows[i].field);
        buf_release(&text);
    }
}

TEST(p1_lists_have_limits)
{
    expect_limit_adopt(with_list_adopt("reads",
                                       "confirmed",
                                       many("null", LIMIT_COMMIT_READS + 1)),
                       ERR_LIMIT_COMMIT,
                       "reads.confirmed");
    expect_limit_adopt(with_list_adopt("reads",
                                       "pending",
                                       many("null", LIMIT_COMMIT_READS + 1)),
                       ERR_LIMIT_COMMIT,
                       "reads.pending");
    expect_limit_adopt(
        with_list_adopt(NULL,
                        "operations",
                        many("null", LIMIT_COMMIT_OPERATIONS + 1)),
        ERR_LIMIT_COMMIT,
        "operations");
    expect_limit_adopt(
        with_list_adopt(NULL,
                        "preconditions",
                        many("null", LIMIT_COMMIT_PRECONDITIONS + 1)),
        ERR_LIMIT_COMMIT,
        "preconditions");
    expect_limit_adopt(
        with_list_adopt(NULL,
                        "observations",
                        many("null", LIMIT_COMMIT_OBSERVATIONS + 1)),
        ERR_LIMIT_COMMIT,
        "observations");
}

TEST(p1_layers_patches_and_paths_have_limits)
{
    struct value read =
        quoted("{'id':'a','path':[],'basisSeq':0,'localSeq':[1]}");
    struct value layers = value_empty_array();
    for (int64_t i = 0; i <= LIMIT_COMMIT_LAYERS; i++) {
        layers = array_push_adopt(layers, value_int(i));
    }
    object_put_adopt(&read, "localSeq", layers);
    expect_limit_adopt(
        with_list_adopt("reads", "pending", array_new_adopt(&read, 1)),
        ERR_LIMIT_COMMIT,
        "reads.pending[0].localSeq");

    read = quoted("{'id':'a','path':[],'seq':0}");
    object_put_adopt(&read, "path", many("'p'", LIMIT_PATH_SEGMENTS + 1));
    expect_limit_adopt(
        with_list_adopt("reads", "confirmed", array_new_adopt(&read, 1)),
        ERR_LIMIT_PATH,
        "reads.confirmed[0].path");

    struct value op = quoted("{'op':'patch','id':'a','patches':[]}");
    object_put_adopt(
        &op,
        "patches",
        many("{'op':'remove','path':'/a'}", LIMIT_PATCH_OPERATIONS + 1));
    expect_limit_adopt(
        with_list_adopt(NULL, "operations", array_new_adopt(&op, 1)),
        ERR_LIMIT_PATCH,
        "operations[0].patches");
}

TEST(p1_names_have_limits)
{
    static const struct {
        const char *format;
        const char *field;
    } rows[] = {
        {"{'session':'%s','localSeq':1," OPS "}", "session"},
        {"{'session':'s','localSeq':1,'branch':'%s'," OPS "}", "branch"},
        {"{'session':'s','localSeq':1,'operations':[{'op':'delete',"
         "'id':'%s'}]}",
         "operations[0].id"},
        {"{'session':'s','localSeq':1,'preconditions':[{'id':'%s',"
         "'kind':'entity-absent'}]}",
         "preconditions[0].id"},
        {"{'session':'s','localSeq':1,'reads':{'confirmed':[{'id':'%s',"
         "'path':[],'seq':0}]}," OPS "}",
         "reads.confirmed[0].id"},
        {"{'session':'s','localSeq':1,'reads':{'confirmed':[{'id':'a',"
         "'branch':'%s','path':[],'seq':0}]}," OPS "}",
         "reads.confirmed[0].branch"},
    };
    char name[LIMIT_ID_BYTES + 2];
    memset(name, 'n', sizeof name);
    name[LIMIT_ID_BYTES + 1] = '\0';
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        for (unsigned longer = 0; longer < 2; longer++) {
            const char *mark = strstr(rows[i].format, "%s");
            struct buf text = {0};
            buf_append(&text, rows[i].format, (size_t)(mark - rows[i].format));
            buf_append(&text, name, LIMIT_ID_BYTES + longer);
            buf_append_text(&text, mark + 2);
            if (longer > 0) {
                expect_refused(buf_text(&text), ERR_LIMIT_ID, rows[i].field);
            } else {
                struct err_detail detail = {0};
                struct value value = quoted(buf_text(&text));
                EXPECT_INT(try_value(value, &detail), ERR_OK);
                value_unref(value);
            }
            buf_release(&text);
        }
    }
}

TEST(p1_a_document_has_a_depth_limit)
{
    for (unsigned deeper = 0; deeper < 2; deeper++) {
        struct value document = value_empty_object();
        for (unsigned depth = 1; depth < LIMIT_DEPTH + deeper; depth++) {
            struct value outer = value_empty_object();
            object_put_adopt(&outer, "d", document);
            document = outer;
        }
        struct value op = quoted("{'op':'set','id':'a'}");
        object_put_adopt(&op, "value", document);
        struct value commit =
            with_list_adopt(NULL, "operations", array_new_adopt(&op, 1));
        struct err_detail detail = {0};
        const enum err err = try_value(commit, &detail);
        if (deeper > 0) {
            EXPECT_INT(err, ERR_LIMIT_DEPTH);
            EXPECT_CONTAINS(detail.text, "operations[0].value");
        } else {
            EXPECT_INT(err, ERR_OK);
        }
        value_unref(commit);
    }
}

/* -- commit-2: one text -------------------------------------------------- */

TEST(p2_a_whole_commit_comes_back_in_canonical_form)
{
    expect_canonical(
        "{'localSeq':7,'session':'s1','branch':'b',"
        "'reads':{'pending':[{'basisSeq':3,'localSeq':[5,6],'path':[],"
        "'id':'of:b','nonRecursive':true}],'confirmed':[{'seq':3,'id':'of:a',"
        "'path':['value','n'],'branch':'c'}]},'operations':["
        "{'value':{'value':1,'a':2},'op':'set','id':'of:a'},"
        "{'op':'patch','id':'of:b','scope':'session','patches':["
        "{'op':'add','path':'/x','value':1}]},"
        "{'op':'delete','id':'of:c','scope':'user'}],"
        "'preconditions':[{'kind':'origin-committed','originLocalSeq':4},"
        "{'id':'of:r','kind':'entity-absent'},"
        "{'id':'of:h','kind':'entity-value-hash','valueHash':null}],"
        "'view':{'commits':2,'seq':9},'merge':{'z':1,'a':2}}",
        "{'branch':'b','localSeq':7,'merge':{'a':2,'z':1},'operations':["
        "{'id':'of:a','op':'set','value':{'a':2,'value':1}},"
        "{'id':'of:b','op':'patch','patches':[{'op':'add','path':'/x',"
        "'value':1}],'scope':'session'},"
        "{'id':'of:c','op':'delete','scope':'user'}],"
        "'preconditions':[{'kind':'origin-committed','originLocalSeq':4},"
        "{'id':'of:r','kind':'entity-absent'},"
        "{'id':'of:h','kind':'entity-value-hash','valueHash':null}],"
        "'reads':{'confirmed':[{'branch':'c','id':'of:a',"
        "'path':['value','n'],'seq':3}],"
        "'pending':[{'basisSeq':3,'id':'of:b','localSeq':[5,6],"
        "'nonRecursive':true,'path':[]}]},'session':'s1',"
        "'view':{'commits':2,'seq':9}}");
}

TEST(p2_what_has_its_default_is_left_out)
{
    static const char least[] = "{'localSeq':0,'operations':[{'id':'a',"
                                "'op':'delete'}],'session':'s'}";
    expect_canonical("{'session':'s','localSeq':0," OPS "}", least);
    expect_canonical("{'session':'s','localSeq':0.0,'branch':'',"
                     "'reads':{},'preconditions':[],'unknown':1," OPS "}",
                     least);
    expect_canonical("{'session':'s','localSeq':0,'reads':{'confirmed':[],"
                     "'pending':[]},'operations':[{'scope':'space','id':'a',"
                     "'op':'delete','more':2}]}",
                     least);
}

TEST(p2_a_view_without_own_commits_does_not_count_them)
{
    expect_canonical("{'session':'s','localSeq':1,"
                     "'view':{'commits':0,'seq':0,'more':1}," OPS "}",
                     "{'localSeq':1,'operations':[{'id':'a','op':'delete'}],"
                     "'session':'s','view':{'seq':0}}");
}

TEST(p2_a_read_of_the_commits_own_branch_does_not_name_it)
{
    static const char want[] =
        "{'branch':'b','localSeq':1,'operations':[{'id':'a','op':'delete'}],"
        "'reads':{'confirmed':[{'id':'a','path':[],'seq':0}]},"
        "'session':'s'}";
    expect_canonical("{'session':'s','localSeq':1,'branch':'b','reads':"
                     "{'confirmed':[{'id':'a','path':[],'seq':0,"
                     "'nonRecursive':false}]}," OPS "}",
                     want);
    expect_canonical("{'session':'s','localSeq':1,'branch':'b','reads':"
                     "{'confirmed':[{'id':'a','path':[],'seq':0,"
                     "'branch':'b'}]}," OPS "}",
                     want);
}

TEST(the_parts_of_a_commit_are_where_they_belong)
{
    struct path_table paths;
    path_table_init(&paths);
    struct commit commit;
    struct value value =
        quoted("{'session':'s','localSeq':7,'reads':{'pending':[{'id':'p',"
               "'path':['a','0'],'localSeq':[2,5],'basisSeq':4,"
               "'scope':'user'}],'confirmed':[{'id':'c','path':[],'seq':9,"
               "'nonRecursive':true}]},'preconditions':["
               "{'kind':'entity-value-hash','id':'h','scope':'session',"
               "'valueHash':'x'}]}");
    EXPECT_INT(commit_read(value, &paths, &commit, NULL), ERR_OK);
    value_unref(value);
    EXPECT_EQ(commit.local_seq, 7);
    EXPECT_EQ(commit.reads.count, 2);
    const struct commit_read *read = &commit.reads.at[0];
    EXPECT(!read->pending && read->kind == READ_SHAPE && read->seq == 9);
    EXPECT(value_is_text(read->target.id, "c") &&
           value_is_absent(read->branch) && read->path->length == 0);
    read = &commit.reads.at[1];
    EXPECT(read->pending && read->kind == READ_DEEP && read->seq == 4);
    EXPECT(read->target.scope == SCOPE_USER && read->path->length == 2);
    EXPECT(read->layers.at.count == 2 && read->layers.at.at[1] == 5);
    EXPECT_EQ(commit.ops.count, 0);
    const struct commit_precondition *one = &commit.preconditions.at[0];
    EXPECT(one->kind == PRECONDITION_VALUE_HASH &&
           one->target.scope == SCOPE_SESSION && value_is_text(one->hash, "x"));
    commit_release(&commit);
    EXPECT(value_is_absent(commit.session) && commit.reads.at == NULL);
    commit_release(&commit); /* again is harmless */
    path_table_release(&paths);
}

/* -- Random commits ------------------------------------------------------ */

struct maker {
    struct gen gen;
    struct path_table paths;
};

static struct value make_target(struct random *random, struct value object)
{
    static const char *const scopes[] = {"space", "user", "session"};
    object_put_adopt(&object, "id", numbered("id", random_below(random, 5)));
    if (random_one_in(random, 2)) {
        object_put_adopt(&object,
                         "scope",
                         value_text_new(scopes[random_below(random, 3)]));
    }
    return object;
}

static struct value make_path(struct maker *maker)
{
    struct value array = value_empty_array();
    for (uint64_t n = random_below(maker->gen.random, 4); n > 0; n--) {
        array = array_push_adopt(array, gen_key(&maker->gen));
    }
    return array;
}

static struct value make_number(struct random *random)
{
    const uint64_t bits = random_below(random, 64);
    return value_int((int64_t)(random_u64(random) >> (bits == 0 ? 1 : bits)));
}

static struct value make_read(struct maker *maker, bool pending)
{
    struct random *random = maker->gen.random;
    struct value read = make_target(random, value_empty_object());
    object_put_adopt(&read, "path", make_path(maker));
    object_put_adopt(&read, pending ? "basisSeq" : "seq", make_number(random));
    if (pending) {
        struct value layers = value_empty_array();
        int64_t layer = 0;
        do {
            layer += random_between(random, 1, 9);
            layers = array_push_adopt(layers, value_int(layer));
        } while (random_one_in(random, 2));
        object_put_adopt(&read, "localSeq", layers);
    } else if (random_one_in(random, 3)) {
        object_put_adopt(&read,
                         "branch",
                         numbered("b", random_below(random, 2)));
    }
    if (random_one_in(random, 2)) {
        object_put_adopt(&read,
                         "nonRecursive",
                         value_bool(random_one_in(random, 2)));
    }
    return read;
}

static struct value make_op(struct maker *maker)
{
    struct random *random = maker->gen.random;
    struct value op = make_target(random, value_empty_object());
    switch (random_below(random, 3)) {
    case 0: {
        struct value document = value_empty_object();
        object_put_adopt(&document, "value", gen_value(&maker->gen));
        object_put_adopt(&op, "op", value_text_new("set"));
        object_put_adopt(&op, "value", document);
        break;
    }
    case 1: {
        struct patch patch = {0};
        struct value base = gen_object(&maker->gen);
        patch_push_adopt(&patch, gen_op(&maker->gen, &maker->paths, base));
        value_unref(base);
        object_put_adopt(&op, "op", value_text_new("patch"));
        object_put_adopt(&op, "patches", patch_write(&patch));
        patch_release(&patch);
        break;
    }
    default:
        object_put_adopt(&op, "op", value_text_new("delete"));
        break;
    }
    return op;
}

static struct value make_precondition(struct random *random)
{
    struct value one = value_empty_object();
    switch (random_below(random, 3)) {
    case 0:
        object_put_adopt(&one, "kind", value_text_new("origin-committed"));
        object_put_adopt(&one, "originLocalSeq", make_number(random));
        return one;
    case 1:
        object_put_adopt(&one, "kind", value_text_new("entity-absent"));
        break;
    default:
        object_put_adopt(&one, "kind", value_text_new("entity-value-hash"));
        object_put_adopt(&one,
                         "valueHash",
                         random_one_in(random, 2) ? value_null()
                                                  : numbered("h", 1));
        break;
    }
    return make_target(random, one);
}

static struct value make_commit(struct maker *maker)
{
    struct random *random = maker->gen.random;
    struct value lists[4];
    for (size_t i = 0; i < COUNT_OF(lists); i++) {
        lists[i] = value_empty_array();
        uint64_t n = random_below(random, 3) + (i == 2 ? 1 : 0);
        for (; n > 0; n--) {
            const struct value item = i < 2    ? make_read(maker, i == 1)
                                      : i == 2 ? make_op(maker)
                                               : make_precondition(random);
            lists[i] = array_push_adopt(lists[i], item);
        }
    }
    struct value reads = value_empty_object();
    object_put_adopt(&reads, "confirmed", lists[0]);
    object_put_adopt(&reads, "pending", lists[1]);
    struct value commit = value_empty_object();
    object_put_adopt(&commit, "reads", reads);
    object_put_adopt(&commit, "operations", lists[2]);
    object_put_adopt(&commit, "preconditions", lists[3]);
    object_put_adopt(&commit,
                     "session",
                     numbered("s", random_below(random, 3)));
    object_put_adopt(&commit, "localSeq", make_number(random));
    if (random_one_in(random, 3)) {
        struct value view = value_empty_object();
        object_put_adopt(&view, "seq", make_number(random));
        object_put_adopt(&view, "commits", make_number(random));
        object_put_adopt(&commit, "view", view);
    }
    if (random_one_in(random, 2)) {
        object_put_adopt(&commit,
                         "branch",
                         numbered("b", random_below(random, 2)));
    }
    return commit;
}

static void maker_init(struct maker *maker, struct random *random)
{
    *maker = (struct maker){
        .gen = {.random = random, .depth = 3, .width = 4},
    };
    path_table_init(&maker->paths);
}

PROPERTY(p2_reading_what_was_written_gives_the_same_commit, 300)
{
    struct maker maker;
    maker_init(&maker, random);
    struct value value = make_commit(&maker);
    struct commit commit;
    struct err_detail detail = {0};
    if (!EXPECT_INT(commit_read(value, &maker.paths, &commit, &detail),
                    ERR_OK)) {
        (void)test_fail(__FILE__, __LINE__, "%s", detail.text);
    }
    struct value once = commit_write(&commit);
    commit_release(&commit);
    EXPECT_INT(commit_read(once, &maker.paths, &commit, &detail), ERR_OK);
    struct value twice = commit_write(&commit);
    struct buf text = {0};
    commit_append(&text, &commit);
    EXPECT_TEXT_OF(&text, twice);
    commit_release(&commit);
    EXPECT_VALUE(twice, once);
    /* The order in which keys came makes no difference. */
    struct value rebuilt = gen_rebuild(&maker.gen, value);
    struct buf one = {0};
    struct buf other = {0};
    canonical(value, &one);
    canonical(rebuilt, &other);
    EXPECT_TEXT(buf_text(&other), buf_text(&one));
    buf_release(&one);
    buf_release(&other);
    value_unref(value);
    value_unref(once);
    value_unref(twice);
    value_unref(rebuilt);
    path_table_release(&maker.paths);
}

PROPERTY(p1_garbage_is_refused_or_read_and_never_stops_the_program, 600)
{
    struct maker maker;
    maker_init(&maker, random);
    maker.gen.flags = GEN_SPECIALS | GEN_ENVELOPES;
    struct value value =
        random_one_in(random, 8) ? gen_value(&maker.gen) : make_commit(&maker);
    for (uint64_t n = 1 + random_below(random, 3); n > 0; n--) {
        value = gen_edit_adopt(&maker.gen, value);
    }
    struct commit commit;
    struct err_detail detail = {0};
    const enum err err = commit_read(value, &maker.paths, &commit, &detail);
    if (err == ERR_OK) {
        struct value written = commit_write(&commit);
        EXPECT_CHECK(written);
        struct buf text = {0};
        commit_append(&text, &commit);
        EXPECT_TEXT_OF(&text, written);
        value_unref(written);
        commit_release(&commit);
    } else {
        EXPECT_INT(err_class_of(err), ERR_CLASS_TERMINAL);
        EXPECT(detail.text[0] != '\0');
    }
    value_unref(value);
    path_table_release(&maker.paths);
}

/* -- Building ------------------------------------------------------------ */

/* A commit with `reads` reads of three layers each, and as many operations
 * with patches of four. */
static void build(struct commit *commit, struct path *path, size_t reads)
{
    commit->session = value_text_new("s1");
    commit->branch = value_text_new("");
    commit->local_seq = 7;
    for (size_t i = 0; i < reads; i++) {
        struct commit_read *read = commit_add_read(commit);
        EXPECT(!read->pending && read->kind == 0 && read->path == NULL &&
               read->seq == 0 && value_is_absent(read->target.id) &&
               value_is_absent(read->branch) && read->layers.at.count == 0);
        read->pending = true;
        read->kind = READ_SHAPE;
        read->target = (struct target){value_text_new("of:a"), SCOPE_USER};
        read->path = path_ref(path);
        read->seq = 4;
        for (uint64_t layer = 1; layer <= 3; layer++) {
            vec_push(&read->layers.at, layer);
        }
        struct commit_op *op = commit_add_op(commit);
        EXPECT(op->kind == COMMIT_SET && value_is_absent(op->target.id) &&
               op->target.scope == SCOPE_SPACE &&
               value_is_absent(op->document) && op->patch.ops.count == 0);
        op->kind = COMMIT_PATCH;
        op->target = (struct target){value_text_new("of:b"), SCOPE_USER};
        for (int n = 0; n < 4; n++) {
            patch_push_adopt(&op->patch,
                             (struct patch_op){.kind = PATCH_REPLACE,
                                               .path = path_ref(path),
                                               .value = value_int(n)});
        }
        struct commit_precondition *one = commit_add_precondition(commit);
        EXPECT(one->kind == 0 && one->origin_local_seq == 0 &&
               value_is_absent(one->target.id) && value_is_absent(one->hash));
        one->origin_local_seq = 3;
    }
}

TEST(a_cleared_commit_is_built_again_without_an_allocation)
{
    struct path_table paths;
    path_table_init(&paths);
    struct path *path = path_new(&paths, NULL, 0);
    struct commit commit = {0};
    build(&commit, path, 20);
    struct value first = commit_write(&commit);
    const uint64_t before = test_allocations();
    for (size_t round = 0; round < 3; round++) {
        commit_clear(&commit);
        EXPECT_EQ(commit.reads.count + commit.ops.count, 0);
        EXPECT_EQ(commit.preconditions.count + commit.local_seq, 0);
        EXPECT(value_is_absent(commit.session) &&
               value_is_absent(commit.branch));
        build(&commit, path, round == 1 ? 5 : 20);
    }
    EXPECT_EQ(test_allocations(), before);
    struct value again = commit_write(&commit);
    EXPECT_VALUE(again, first);
    value_unref(first);
    value_unref(again);
    /* A few elements in use, the rest spare: all of them are released, which
     * the harness counts. */
    commit_clear(&commit);
    build(&commit, path, 2);
    commit_release(&commit);
    EXPECT(commit.reads.at == NULL && commit.reads_made == 0);
    path_unref(path);
    path_table_release(&paths);
}

TEST(a_cleared_commit_keeps_the_room_of_elements_that_were_pushed)
{
    struct commit commit = {0};
    struct commit_read read = {.pending = true};
    vec_push(&read.layers.at, 1);
    vec_push(&commit.reads, read);
    commit_clear(&commit);
    const uint64_t before = test_allocations();
    struct commit_read *again = commit_add_read(&commit);
    EXPECT(!again->pending);
    EXPECT_EQ(again->layers.at.count, 0);
    vec_push(&again->layers.at, 2);
    EXPECT_EQ(test_allocations(), before);
    commit_release(&commit);
}

/* What its reader would not take is not made, either. */
TEST(a_commit_with_too_many_parts_is_refused_by_its_author)
{
    struct commit commit = {
        .session = value_text_new("s"),
        .local_seq = 1,
        .branch = value_text_new(""),
    };
    struct commit_op *op = commit_add_op(&commit);
    op->kind = COMMIT_DELETE;
    op->target.id = value_text_new("of:a");
    EXPECT(commit_check(&commit, NULL) == ERR_OK);
    struct commit_read *read = commit_add_read(&commit);
    for (uint64_t i = 1; i <= LIMIT_COMMIT_LAYERS; i++) {
        vec_push(&read->layers.at, i);
    }
    EXPECT(commit_check(&commit, NULL) == ERR_OK);
    vec_push(&read->layers.at, LIMIT_COMMIT_LAYERS + 1);
    EXPECT(commit_check(&commit, NULL) == ERR_LIMIT_COMMIT);
    vec_clear(&read->layers.at);
    for (size_t i = 0; i <= LIMIT_COMMIT_PRECONDITIONS; i++) {
        (void)commit_add_precondition(&commit);
    }
    EXPECT(commit_check(&commit, NULL) == ERR_LIMIT_COMMIT);
    commit_release(&commit);
}
