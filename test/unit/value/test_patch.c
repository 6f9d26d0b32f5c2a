/* patch: the nine operations, rule by rule (docs/values.md; the
 * numbers group the tests), reading and writing, limits, traces.
 *
 * Properties are in test_patch_model.c, the public set in test_patch_rfc.c. */

#include "value/patch.h"

#include <string.h>

#include "base/limits.h"
#include "lib/test.h"
#include "lib/values.h"
#include "value/array.h"
#include "value/node.h"
#include "value/object.h"

/* One application: a result, or an error and a part of its sentence. */
struct row {
    const char *base; /* NULL: absent */
    const char *patch;
    const char *want;
    enum err err;
    const char *sentence;
};

static enum err apply(const char *base,
                      const char *list,
                      enum patch_root root,
                      struct value *out,
                      struct err_detail *detail)
{
    struct path_table paths;
    path_table_init(&paths);
    struct value value = base != NULL ? from_quoted(base) : VALUE_NONE;
    struct value operations = from_quoted(list);
    struct patch patch;
    enum err err = patch_read(operations, &paths, &patch, detail);
    *out = VALUE_NONE;
    if (err == ERR_OK) {
        err = patch_apply(&patch, value, root, out, NULL, detail);
        EXPECT_EQ(value_is_absent(*out), err != ERR_OK);
        if (base != NULL) {
            EXPECT_QUOTED(value, base); /* never changed */
        }
    }
    patch_release(&patch);
    value_unref(operations);
    value_unref(value);
    path_table_release(&paths);
    return err;
}

static void run_row(const struct row *row, enum patch_root root)
{
    struct value got;
    struct err_detail detail = {0};
    const enum err err = apply(row->base, row->patch, root, &got, &detail);
    bool held = EXPECT_TEXT(err_name(err), err_name(row->err));
    if (err == ERR_OK && row->want != NULL) {
        held = EXPECT_QUOTED(got, row->want) && EXPECT_CHECK(got) && held;
    }
    if (err != ERR_OK) {
        held = EXPECT_EQ(detail.err, err) &&
               EXPECT_CONTAINS(detail.text, row->sentence) && held;
    }
    if (!held) {
        (void)test_fail(__FILE__,
                        __LINE__,
                        "%s on %s: %s",
                        row->patch,
                        row->base != NULL ? row->base : "nothing",
                        detail.text);
    }
    value_unref(got);
}

static void run_rows(const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        run_row(&rows[i], PATCH_ROOT_ANY);
    }
}

#define RUN(rows) run_rows((rows), COUNT_OF(rows))

/* Rows read best on one line each. */
/* clang-format off */
#define GIVES(want) (want), ERR_OK, ""
#define MISSING   NULL, ERR_PATCH_MISSING, "missing path"
#define TRAVERSAL NULL, ERR_PATCH_TRAVERSAL, "path is not traversable"
#define INDEX     NULL, ERR_PATCH_INDEX, "invalid array index"
#define TARGET    NULL, ERR_PATCH_TARGET
#define OUT_OF_RANGE NULL, ERR_RANGE, "out of range"
#define MALFORMED NULL, ERR_PATCH_MALFORMED

#define REPLACE(path, value) \
    "[{'op':'replace','path':'" path "','value':" value "}]"
#define ADD(path, value) \
    "[{'op':'add','path':'" path "','value':" value "}]"
#define REMOVE(path) "[{'op':'remove','path':'" path "'}]"
#define MOVE(from, path) \
    "[{'op':'move','from':'" from "','path':'" path "'}]"
#define SPLICE(path, index, remove, add)                                 \
    "[{'op':'splice','path':'" path "','index':" index \
    ",'remove':" remove ",'add':" add "}]"
#define APPEND(path, values) \
    "[{'op':'append','path':'" path "','values':" values "}]"
#define UNIQUE(path, values) \
    "[{'op':'add-unique','path':'" path "','values':" values "}]"
#define WITHOUT(path, value)                             \
    "[{'op':'remove-by-value','path':'" path \
    "','value':" value "}]"
#define INCREMENT(path, by) \
    "[{'op':'increment','path':'" path "','by':" by "}]"

#define BOX  "{'/':{'x@1':5}}"
#define NOT_A_NUMBER "{'/':{'number@1':'NaN'}}"
#define INFINITE(sign) "{'/':{'number@1':'" sign "Infinity'}}"
#define LINK "{'/':{'link@1':{'id':'a'}}}"

/* -- replace ------------------------------------------------------------- */

TEST(c06_replace_needs_an_existing_parent)
{
    static const struct row rows[] = {
        {"{'a':{}}", REPLACE("/a/b/c", "1"), MISSING " /a/b/c"},
        {"{}", REPLACE("/a/b", "1"), MISSING},
        {"{'a':{'b':7}}", REPLACE("/a/b/c", "1"), TRAVERSAL},
        {"{'a':'text'}", REPLACE("/a/0", "1"), TRAVERSAL},
        {"{'a':null}", REPLACE("/a/b", "1"), TRAVERSAL},
        {"{'a':" BOX "}", REPLACE("/a/~1", "1"), TRAVERSAL},
        {"{'a':" LINK "}", REPLACE("/a/id", "1"), TRAVERSAL},
        {"5", REPLACE("/a", "1"), TRAVERSAL},
        {"{'a':{'b':7}}", REPLACE("/a/b/c/d", "1"), TRAVERSAL},
    };
    RUN(rows);
}

TEST(replace_sets_the_last_key_new_or_not)
{
    static const struct row rows[] = {
        {"{'a':1,'b':2}", REPLACE("/a", "[9]"), GIVES("{'a':[9],'b':2}")},
        {"{'a':1}", REPLACE("/b", "2"), GIVES("{'a':1,'b':2}")},
        {"{'a':{}}", REPLACE("/a/b", "2"), GIVES("{'a':{'b':2}}")},
        {"{'a':1}", REPLACE("", "{'b':2}"), GIVES("{'b':2}")},
        {"{'a':1}", REPLACE("", "7"), GIVES("7")},
        {"{'a':{'0':1}}", REPLACE("/a/0", "2"), GIVES("{'a':{'0':2}}")},
    };
    RUN(rows);
}

TEST(c07_replace_in_an_array_needs_an_existing_index)
{
    static const struct row rows[] = {
        {"{'a':[]}", REPLACE("/a/0", "1"), MISSING},
        {"{'a':[1]}", REPLACE("/a/1", "1"), MISSING},
        {"{'a':[1]}", REPLACE("/a/4294967294", "1"), MISSING},
        {"{'a':[1]}", REPLACE("/a/x", "1"), INDEX},
        {"{'a':[1]}", REPLACE("/a/-", "1"), INDEX},
        {"{'a':[1]}", REPLACE("/a/00", "1"), INDEX},
        {"{'a':[1]}", REPLACE("/a/4294967295", "1"), INDEX},
        {"{'a':[[1]]}", REPLACE("/a/x/0", "1"), INDEX},
        {"{'a':[[1]]}", REPLACE("/a/1/0", "1"), MISSING},
        {"{'a':[1,2]}", REPLACE("/a/1", "{}"), GIVES("{'a':[1,{}]}")},
        {"[[1],2]", REPLACE("/0/0", "3"), GIVES("[[3],2]")},
    };
    RUN(rows);
}

/* -- add ----------------------------------------------------------------- */

TEST(c08_add_creates_what_is_missing_on_its_way)
{
    static const struct row rows[] = {
        {"{}", ADD("/a/b/c", "1"), GIVES("{'a':{'b':{'c':1}}}")},
        {"{'a':{'x':0}}", ADD("/a/b", "1"), GIVES("{'a':{'x':0,'b':1}}")},
        {"{'a':1}", ADD("", "{'b':2}"), GIVES("{'b':2}")},
        {"{'a':1}", ADD("/a", "2"), GIVES("{'a':2}")},
        {"{}", ADD("/a/0", "1"), GIVES("{'a':[1]}")},
        {"{}", ADD("/a/-", "1"), GIVES("{'a':[1]}")},
        {"{}", ADD("/a/01", "1"), GIVES("{'a':{'01':1}}")},
        {"[{}]", ADD("/0/a/b", "1"), GIVES("[{'a':{'b':1}}]")},
        {"{'a':7}", ADD("/a/b", "1"), TRAVERSAL},
        {"{'a':7}", ADD("/a/b/c", "1"), TRAVERSAL},
        {"{'a':" BOX "}", ADD("/a/b", "1"), TRAVERSAL},
        {"{}", ADD("/a/1", "1"), MISSING},
    };
    RUN(rows);
}

TEST(c10_add_never_makes_up_an_element_to_walk_through)
{
    static const struct row rows[] = {
        {"{}", ADD("/k/0/x", "1"), MISSING},
        {"{}", ADD("/k/-/x", "1"), MISSING},
        {"{}", ADD("/a/k/0/x", "1"), MISSING},
        {"{'k':[]}", ADD("/k/0/x", "1"), MISSING},
        {"{'k':[]}", ADD("/k/-/x", "1"), INDEX},
        {"{'k':{}}", ADD("/k/0/x", "1"), GIVES("{'k':{'0':{'x':1}}}")},
        {"{'k':[{}]}", ADD("/k/0/x", "1"), GIVES("{'k':[{'x':1}]}")},
    };
    RUN(rows);
}

TEST(add_inserts_before_an_index_and_appends_at_a_dash)
{
    static const struct row rows[] = {
        {"[1,2]", ADD("/0", "9"), GIVES("[9,1,2]")},
        {"[1,2]", ADD("/1", "9"), GIVES("[1,9,2]")},
        {"[1,2]", ADD("/2", "9"), GIVES("[1,2,9]")},
        {"[1,2]", ADD("/-", "[9]"), GIVES("[1,2,[9]]")},
        {"[1,2]", ADD("/3", "9"), MISSING},
        {"[1,2]", ADD("/x", "9"), INDEX},
        {"[1,2]", ADD("/01", "9"), INDEX},
        {"{'-':1}", ADD("/-", "2"), GIVES("{'-':2}")},
    };
    RUN(rows);
}

/* -- remove, move -------------------------------------------------------- */

TEST(c12_remove_needs_what_it_removes)
{
    static const struct row rows[] = {
        {"{'a':1,'b':2}", REMOVE("/a"), GIVES("{'b':2}")},
        {"{'a':1}", REMOVE("/a"), GIVES("{}")},
        {"[1,2,3]", REMOVE("/1"), GIVES("[1,3]")},
        {"[1]", REMOVE("/0"), GIVES("[]")},
        {"{'a':1}", REMOVE("/b"), MISSING},
        {"{'a':1}", REMOVE("/b/c"), MISSING},
        {"{'a':1}", REMOVE("/a/c"), TRAVERSAL},
        {"[1]", REMOVE("/1"), MISSING},
        {"[1]", REMOVE("/-"), INDEX},
        {"[1]", REMOVE("/a"), INDEX},
        {"{'a':1}", REMOVE(""), TARGET, "use delete"},
    };
    RUN(rows);
}

TEST(move_removes_and_then_adds)
{
    static const struct row rows[] = {
        {"{'a':{'b':1},'c':{}}", MOVE("/a/b", "/c/d"),
         GIVES("{'a':{},'c':{'d':1}}")},
        {"[0,1,2,3]", MOVE("/0", "/3"), GIVES("[1,2,3,0]")},
        {"[0,1,2,3]", MOVE("/3", "/0"), GIVES("[3,0,1,2]")},
        {"[0,1,2,3]", MOVE("/0", "/4"), MISSING},
        {"[0,1,2]", MOVE("/0", "/-"), GIVES("[1,2,0]")},
        {"{'a':1,'b':2}", MOVE("/a", "/a"), GIVES("{'b':2,'a':1}")},
        {"{'a':1}", MOVE("/a", "/b/c/d"), GIVES("{'b':{'c':{'d':1}}}")},
        {"{'a':{'b':1}}", MOVE("/a/b", "/a"), GIVES("{'a':1}")},
        {"{'a':1}", MOVE("/a", ""), GIVES("1")},
        {"{'l':[[0],[1]]}", MOVE("/l/0", "/l/0/-"), TARGET, "into itself"},
        {"{'a':{'b':1}}", MOVE("/a", "/a/b"), TARGET, "into itself"},
        {"{'a':{'b':1}}", MOVE("", "/a"), TARGET, "cannot move"},
        {"{'a':1}", MOVE("/b", "/c"), MISSING},
        {"{'a':1}", MOVE("/a/b", "/c"), TRAVERSAL},
        {"{'a':[1]}", MOVE("/a/x", "/c"), INDEX},
        {"{'a':1,'b':2}", MOVE("/a", "/b/c"), TRAVERSAL},
    };
    RUN(rows);
}

/* -- arrays -------------------------------------------------------------- */

TEST(c13_splice_needs_an_array_and_clips_at_its_end)
{
    static const struct row rows[] = {
        {"[0,1,2]", SPLICE("", "1", "1", "[7,8]"), GIVES("[0,7,8,2]")},
        {"[0,1,2]", SPLICE("", "3", "0", "[7]"), GIVES("[0,1,2,7]")},
        {"[0,1,2]", SPLICE("", "0", "0", "[]"), GIVES("[0,1,2]")},
        {"[0,1,2]", SPLICE("", "1", "99", "[]"), GIVES("[0]")},
        {"[0,1,2]", SPLICE("", "1", "4294967295", "[5]"), GIVES("[0,5]")},
        {"[0,1,2]", SPLICE("", "3", "9", "[]"), GIVES("[0,1,2]")},
        {"{'a':[[1]]}", SPLICE("/a/0", "0", "1", "[3]"), GIVES("{'a':[[3]]}")},
        {"[0]", SPLICE("", "2", "0", "[]"), NULL, ERR_PATCH_INDEX, "beyond"},
        {"{'a':1}", SPLICE("/a", "0", "0", "[]"), TARGET, "needs an array"},
        {"{'a':{}}", SPLICE("/a", "0", "0", "[]"), TARGET, "needs an array"},
        {"{}", SPLICE("/a", "0", "0", "[]"), MISSING},
        {"{'a':1}", SPLICE("/a/b", "0", "0", "[]"), TRAVERSAL},
        {"[[]]", SPLICE("/x", "0", "0", "[]"), INDEX},
        {"[0]", SPLICE("", "-1", "0", "[]"), MALFORMED, "'index'"},
        {"[0]", SPLICE("", "0", "-1", "[]"), MALFORMED, "'remove'"},
        {"[0]", SPLICE("", "0.5", "0", "[]"), MALFORMED, "'index'"},
        {"[0]", SPLICE("", "0", "0", "{}"), MALFORMED, "'add'"},
    };
    RUN(rows);
}

TEST(c14_append_creates_the_array_it_appends_to)
{
    static const struct row rows[] = {
        {"{'l':['a']}", APPEND("/l", "['b']"), GIVES("{'l':['a','b']}")},
        {"{'l':['b']}", APPEND("/l", "['b']"), GIVES("{'l':['b','b']}")},
        {"{}", APPEND("/l", "[1,2]"), GIVES("{'l':[1,2]}")},
        {"{}", APPEND("/a/b/l", "[1]"), GIVES("{'a':{'b':{'l':[1]}}}")},
        {"{}", APPEND("/l", "[]"), GIVES("{'l':[]}")},
        {"[1]", APPEND("", "[2]"), GIVES("[1,2]")},
        {"[[1]]", APPEND("/0", "[2]"), GIVES("[[1,2]]")},
        {"{'l':{}}", APPEND("/l", "[1]"), TARGET, "not an array"},
        {"{'l':7}", APPEND("/l", "[1]"), TARGET, "not an array"},
        {"{'l':null}", APPEND("/l", "[1]"), TARGET, "not an array"},
        {"{'l':7}", APPEND("/l/m", "[1]"), TRAVERSAL},
        {"{}", APPEND("", "[1]"), TARGET, "not an array"},
        {"[]", APPEND("/0", "[1]"), MISSING},
        {"{}", APPEND("/l", "1"), MALFORMED, "'values'"},
    };
    RUN(rows);
}

TEST(c15_add_unique_compares_by_content)
{
    static const struct row rows[] = {
        {"[1,2]", UNIQUE("", "[2,1]"), GIVES("[1,2]")},
        {"[1]", UNIQUE("", "[2,2,3,2]"), GIVES("[1,2,3]")},
        {"[{'a':1,'b':2}]", UNIQUE("", "[{'b':2,'a':1.0}]"),
         GIVES("[{'a':1,'b':2}]")},
        {"[" BOX "]", UNIQUE("", "[" BOX "]"), GIVES("[" BOX "]")},
        {"[" NOT_A_NUMBER "]", UNIQUE("", "[" NOT_A_NUMBER "]"),
         GIVES("[" NOT_A_NUMBER "]")},
        {"[0]", UNIQUE("", "[-0.0,0]"), GIVES("[0,-0]")},
        {"[1]", UNIQUE("", "['1']"), GIVES("[1,'1']")},
        {"{}", UNIQUE("/l", "[1,1]"), GIVES("{'l':[1]}")},
        {"{}", UNIQUE("/a/l", "[]"), GIVES("{'a':{'l':[]}}")},
        {"{'l':{}}", UNIQUE("/l", "[]"), TARGET, "not an array"},
        {"{'l':7}", UNIQUE("/l", "[1]"), TARGET, "not an array"},
    };
    RUN(rows);
}

TEST(c16_remove_by_value_removes_all_or_does_nothing)
{
    static const struct row rows[] = {
        {"[1,2,1,1]", WITHOUT("", "1"), GIVES("[2]")},
        {"[1,1]", WITHOUT("", "1.0"), GIVES("[]")},
        {"[{'a':[1]},2]", WITHOUT("", "{'a':[1]}"), GIVES("[2]")},
        {"[0,-0]", WITHOUT("", "-0"), GIVES("[0]")},
        {"[1,2]", WITHOUT("", "3"), GIVES("[1,2]")},
        {"{'a':1}", WITHOUT("/b", "3"), GIVES("{'a':1}")},
        {"{'a':1}", WITHOUT("/b/c", "3"), GIVES("{'a':1}")},
        {"{'a':1}", WITHOUT("/a", "1"), GIVES("{'a':1}")},
        {"{'a':1}", WITHOUT("/a/b", "1"), GIVES("{'a':1}")},
        {"[[1]]", WITHOUT("/7", "1"), GIVES("[[1]]")},
        {"[[1]]", WITHOUT("/x", "1"), GIVES("[[1]]")},
    };
    RUN(rows);
}

TEST(c17_increment_adds_and_absent_is_zero)
{
    static const struct row rows[] = {
        {"{'n':5}", INCREMENT("/n", "2"), GIVES("{'n':7}")},
        {"{'n':5}", INCREMENT("/n", "-7"), GIVES("{'n':-2}")},
        {"{'n':5}", INCREMENT("/n", "0.5"), GIVES("{'n':5.5}")},
        {"{'n':0.5}", INCREMENT("/n", "0.5"), GIVES("{'n':1}")},
        {"{}", INCREMENT("/n", "3"), GIVES("{'n':3}")},
        {"{}", INCREMENT("/a/n", "3"), GIVES("{'a':{'n':3}}")},
        {"[1,2]", INCREMENT("/1", "3"), GIVES("[1,5]")},
        {"[1,2]", INCREMENT("/2", "3"), GIVES("[1,2,3]")},
        {"{}", INCREMENT("/l/0", "3"), GIVES("{'l':[3]}")},
        {"{'n':9223372036854775807}", INCREMENT("/n", "1"),
         GIVES("{'n':9223372036854776000}")},
        {"{'n':9007199254740993}", INCREMENT("/n", "2"),
         GIVES("{'n':9007199254740995}")},
        {"{'n':-0}", INCREMENT("/n", "1"), GIVES("{'n':1}")},
        {"{'n':1}", "[{'op':'increment','path':'/n','by':2},"
                    "{'op':'increment','path':'/n','by':3}]",
         GIVES("{'n':6}")},
    };
    RUN(rows);
}

TEST(c18_increment_refuses_what_is_no_sum)
{
    static const struct row rows[] = {
        {"{}", INCREMENT("/n", "0"), MALFORMED, "'by'"},
        {"{}", INCREMENT("/n", "-0.0"), MALFORMED, "'by'"},
        {"{}", INCREMENT("/n", NOT_A_NUMBER), MALFORMED, "'by'"},
        {"{}", INCREMENT("/n", INFINITE("")), MALFORMED, "'by'"},
        {"{}", INCREMENT("/n", INFINITE("-")), MALFORMED, "'by'"},
        {"{}", INCREMENT("/n", "'1'"), MALFORMED, "'by'"},
        {"{}", INCREMENT("", "1"), TARGET, "cannot increment"},
        {"{'n':'1'}", INCREMENT("/n", "1"), TARGET, "needs a number"},
        {"{'n':null}", INCREMENT("/n", "1"), TARGET, "needs a number"},
        {"{'n':[]}", INCREMENT("/n", "1"), TARGET, "needs a number"},
        {"{'n':1e+308}", INCREMENT("/n", "1e308"), OUT_OF_RANGE},
        {"{'n':" NOT_A_NUMBER "}", INCREMENT("/n", "1"), OUT_OF_RANGE},
        {"[1]", INCREMENT("/2", "1"), MISSING},
        {"[1]", INCREMENT("/-", "1"), INDEX},
        {"{'n':1}", INCREMENT("/n/m", "1"), TRAVERSAL},
    };
    RUN(rows);
}
/* clang-format on */

/* -- Lists --------------------------------------------------------------- */

TEST(c19_an_absent_base_is_an_empty_object_and_a_document_stays_one)
{
    static const struct row rows[] = {
        {NULL, ADD("/a", "1"), GIVES("{'a':1}")},
        {NULL, "[]", GIVES("{}")},
        {NULL, REPLACE("/a", "1"), GIVES("{'a':1}")},
        {NULL, REMOVE("/a"), NULL, ERR_PATCH_MISSING, "missing path"},
        {"{}", REPLACE("", "[]"), NULL, ERR_PATCH_ROOT, "entity document"},
        {"{}", ADD("", "1"), NULL, ERR_PATCH_ROOT, "entity document"},
        {"{}", ADD("", BOX), NULL, ERR_PATCH_ROOT, "entity document"},
        {"{}", ADD("", LINK), NULL, ERR_PATCH_ROOT, "entity document"},
        {"{'/':{}}", ADD("/~1/x@1", "1"), NULL, ERR_PATCH_ROOT, "entity"},
        /* In between it may be anything. */
        {"{'a':1}",
         "[{'op':'replace','path':'','value':7},"
         "{'op':'replace','path':'','value':{'b':2}}]",
         "{'b':2}",
         ERR_OK,
         ""},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        run_row(&rows[i], PATCH_ROOT_DOCUMENT);
    }
}

TEST(c20_special_leaves_survive)
{
    static const struct row rows[] = {
        {"{}", ADD("/a", BOX), GIVES("{'a':" BOX "}")},
        {"{}", ADD("/a", LINK), GIVES("{'a':" LINK "}")},
        {"{'a':" LINK "}",
         MOVE("/a", "/b/c"),
         "{'b':{'c':" LINK "}}",
         ERR_OK,
         ""},
        {"{'a':[" BOX "]}",
         APPEND("/a", "[{'/':{'number@1':'-Infinity'}}]"),
         "{'a':[" BOX ",{'/':{'number@1':'-Infinity'}}]}",
         ERR_OK,
         ""},
        {"{'a':9007199254740993}",
         MOVE("/a", "/b"),
         "{'b':9007199254740993}",
         ERR_OK,
         ""},
    };
    RUN(rows);
}

TEST(c21_a_list_is_applied_in_order_and_reads_back_as_written)
{
    static const char list[] =
        "[{'op':'replace','path':'/a','value':2},"
        "{'op':'add','path':'/l/0','value':'x'},"
        "{'op':'splice','path':'/l','index':1,'remove':1,"
        "'add':[7,8]}]";
    static const struct row row = {"{'a':1,'l':[1,2]}",
                                   list,
                                   "{'a':2,'l':['x',7,8,2]}",
                                   ERR_OK,
                                   ""};
    run_row(&row, PATCH_ROOT_DOCUMENT);
}

TEST(every_kind_reads_back_as_written)
{
    static const char list[] =
        "[{'op':'replace','path':'/a~1b','value':null},"
        "{'op':'add','path':'/-','value':{'x':1}},"
        "{'op':'remove','path':'/a'},"
        "{'op':'move','from':'/a','path':'/b'},"
        "{'op':'splice','path':'','index':0,'remove':4294967295,"
        "'add':[]},"
        "{'op':'append','path':'/l','values':[1],"
        "'createsKey':true},"
        "{'op':'add-unique','path':'/l','values':[]},"
        "{'op':'remove-by-value','path':'/l','value':[]},"
        "{'op':'increment','path':'/n','by':-0.5,"
        "'createsKey':true}]";
    struct path_table paths;
    path_table_init(&paths);
    struct value value = from_quoted(list);
    struct patch patch;
    EXPECT_EQ(patch_read(value, &paths, &patch, NULL), ERR_OK);
    EXPECT_EQ(patch.ops.count, PATCH_KIND_COUNT);
    for (size_t i = 0; i < patch.ops.count; i++) {
        EXPECT_EQ(patch.ops.at[i].kind, i);
    }
    EXPECT(patch.ops.at[PATCH_APPEND].creates_key);
    EXPECT(!patch.ops.at[PATCH_ADD_UNIQUE].creates_key);
    struct value written = patch_write(&patch);
    EXPECT_QUOTED(written, list);
    value_unref(written);
    value_unref(value);
    patch_release(&patch);
    path_table_release(&paths);
}

TEST(fields_that_an_operation_does_not_have_are_ignored)
{
    static const struct row rows[] = {
        {"{'a':1}",
         "[{'op':'remove','path':'/a','value':5,'from':7,"
         "'createsKey':9,'comment':[]}]",
         "{}",
         ERR_OK,
         ""},
    };
    RUN(rows);
}

TEST(a_malformed_operation_is_named)
{
    static const struct {
        const char *list;
        enum err err;
        const char *sentence;
    } rows[] = {
        {"{}", ERR_PATCH_MALFORMED, "array of operations"},
        {"[7]",
         ERR_PATCH_MALFORMED,
         "operation 0: an operation must be an "
         "object"},
        {"[{}]", ERR_PATCH_MALFORMED, "operation 0: 'op'"},
        {"[{'op':1}]", ERR_PATCH_MALFORMED, "'op' must be a string"},
        {"[{'op':'copy'}]", ERR_PATCH_MALFORMED, "operation 'copy'"},
        {"[{'op':'add'}]", ERR_PATCH_MALFORMED, "'path'"},
        {"[{'op':'remove','path':null}]", ERR_PATCH_MALFORMED, "'path'"},
        {"[{'op':'remove','path':[]}]", ERR_PATCH_MALFORMED, "Pointer"},
        {"[{'op':'remove','path':'a'}]", ERR_SYNTAX, "or begin with"},
        {"[{'op':'remove','path':'/~'}]", ERR_SYNTAX, "'path': "},
        {"[{'op':'add','path':''}]", ERR_PATCH_MALFORMED, "'value'"},
        {"[{'op':'move','path':''}]", ERR_PATCH_MALFORMED, "'from'"},
        {"[{'op':'move','path':'','from':'x'}]", ERR_SYNTAX, "'from': "},
        {"[{'op':'append','path':''}]", ERR_PATCH_MALFORMED, "'values'"},
        {"[{'op':'append','path':'','values':[],'createsKey':1}]",
         ERR_PATCH_MALFORMED,
         "'createsKey'"},
        {"[{'op':'splice','path':''}]", ERR_PATCH_MALFORMED, "'index'"},
        {"[{'op':'increment','path':''}]", ERR_PATCH_MALFORMED, "'by'"},
        {"[{'op':'remove','path':'/a'},{'op':'no'}]",
         ERR_PATCH_MALFORMED,
         "operation 1: "},
    };
    struct path_table paths;
    path_table_init(&paths);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct value list = from_quoted(rows[i].list);
        struct patch patch;
        struct err_detail detail = {0};
        EXPECT_EQ(patch_read(list, &paths, &patch, &detail), rows[i].err);
        EXPECT_CONTAINS(detail.text, rows[i].sentence);
        EXPECT_EQ(patch.ops.count, 0);
        EXPECT(patch.ops.at == NULL);
        EXPECT_EQ(patch_read(list, &paths, &patch, NULL), rows[i].err);
        value_unref(list);
    }
    path_table_release(&paths);
}

TEST(a_failure_names_its_operation_and_changes_nothing)
{
    static const struct row rows[] = {
        {"{'a':{'b':1}}",
         "[{'op':'replace','path':'/a/b','value':2},"
         "{'op':'remove','path':'/a/c'}]",
         NULL,
         ERR_PATCH_MISSING,
         "operation 1 (remove): missing path /a/c"},
        {"{'a':1}",
         "[{'op':'remove','path':''}]",
         NULL,
         ERR_PATCH_TARGET,
         "(the root)"},
        {"{'a/b':1}",
         "[{'op':'increment','path':'/a~1b/c','by':1}]",
         NULL,
         ERR_PATCH_TRAVERSAL,
         "operation 0 (increment): path is not traversable at /a~1b/c"},
    };
    RUN(rows);
}

TEST(what_an_operation_does_not_touch_keeps_its_identity)
{
    struct path_table paths;
    path_table_init(&paths);
    struct value base =
        from_quoted("{'a':{'b':[1],'c':[2]},'d':[[3],[4]],'e':{}}");
    struct value list =
        from_quoted("[{'op':'append','path':'/a/b','values':[5]},"
                    "{'op':'replace','path':'/d/1','value':6},"
                    "{'op':'remove-by-value','path':'/a/c','value':7},"
                    "{'op':'add-unique','path':'/a/c','values':[2]}]");
    struct patch patch;
    struct value out;
    EXPECT_EQ(patch_read(list, &paths, &patch, NULL), ERR_OK);
    EXPECT_EQ(patch_apply(&patch, base, PATCH_ROOT_ANY, &out, NULL, NULL),
              ERR_OK);
    static const char *const kept[] = {"/a/c", "/d/0", "/e"};
    for (size_t i = 0; i < COUNT_OF(kept); i++) {
        struct path *path = from_pointer(&paths, kept[i]);
        EXPECT(value_is_same(value_at(base, path), value_at(out, path)));
        path_unref(path);
    }
    value_unref(out);
    patch_release(&patch);
    value_unref(list);

    /* Nothing to do gives the very same document. */
    list = from_quoted("[{'op':'remove-by-value','path':'/a/c',"
                       "'value':7},{'op':'add-unique','path':'/a/c',"
                       "'values':[2]}]");
    EXPECT_EQ(patch_read(list, &paths, &patch, NULL), ERR_OK);
    EXPECT_EQ(patch_apply(&patch, base, PATCH_ROOT_ANY, &out, NULL, NULL),
              ERR_OK);
    EXPECT(value_is_same(out, base));
    value_unref(out);
    patch_release(&patch);
    value_unref(list);
    value_unref(base);
    path_table_release(&paths);
}

/* -- Envelopes (value-4) ------------------------------------------------- */

TEST(v4_a_patch_may_complete_an_envelope_but_not_enter_one)
{
    static const struct row rows[] = {
        {"{'a':{'/':{}}}", ADD("/a/~1/x@1", "5"), GIVES("{'a':" BOX "}")},
        {"{'a':{'/':7}}",
         REPLACE("/a/~1", "{'x@1':5}"),
         GIVES("{'a':" BOX "}")},
        {"{'a':{'b':1,'/':{'x@1':5}}}", REMOVE("/a/b"), GIVES("{'a':" BOX "}")},
        {"{'a':{'/':{'x@1':5,'b':1}}}",
         REMOVE("/a/~1/b"),
         GIVES("{'a':" BOX "}")},
        {"{'a':{'/':{}},'b':5}",
         MOVE("/b", "/a/~1/x@1"),
         GIVES("{'a':" BOX "}")},
        {"{'/':{}}", INCREMENT("/~1/x@1", "5"), GIVES(BOX)},
        {"[{'/':{'y':5}}]", MOVE("/0/~1/y", "/0/~1/x@1"), GIVES("[" BOX "]")},
        {"{}", ADD("/a/~1/x@1/y", "5"), GIVES("{'a':{'/':{'x@1':{'y':5}}}}")},
        {"{'a':" BOX "}", ADD("/a/~1/b", "1"), TRAVERSAL},
        {"{'a':" BOX "}", REMOVE("/a/~1/x@1"), TRAVERSAL},
        {"{'a':" BOX "}", REPLACE("/a/~1/x@1", "6"), TRAVERSAL},
        {"{'a':" BOX "}", APPEND("/a/~1/x@1", "[6]"), TRAVERSAL},
        {"{'a':" BOX "}", INCREMENT("/a/~1/x@1", "6"), TRAVERSAL},
        {"{'a':" BOX "}", WITHOUT("/a/~1/x@1", "6"), GIVES("{'a':" BOX "}")},
        /* After the removal there is a leaf where it wants to go. */
        {"{'a':{'b':1,'/':{'x@1':5}}}", MOVE("/a/b", "/a/~1/c"), TRAVERSAL},
        {"{'/':{}}", APPEND("/~1/x@1", "[5]"), GIVES("{'/':{'x@1':[5]}}")},
        {"{'a':{'/':{'b':1,'x@1':5}}}", MOVE("/a/~1/b", "/a/~1/c"), TRAVERSAL},
        {"[0,{'/':{'x@1':5,'b':1}}]",
         MOVE("/1/~1/b", "/0"),
         GIVES("[1,0," BOX "]")},
        {"[0,{'/':{'x@1':5,'b':1}}]",
         MOVE("/1/~1/b", "/-"),
         GIVES("[0," BOX ",1]")},
    };
    RUN(rows);
}

/* -- Limits -------------------------------------------------------------- */

static struct value nested(unsigned depth)
{
    struct value value = value_int(1);
    for (unsigned i = 0; i < depth; i++) {
        value = array_new_adopt(&value, 1);
    }
    return value;
}

/* "/a/a/a", of that many segments. */
static struct path *deep_path(struct path_table *paths, unsigned length)
{
    struct buf text = {0};
    for (unsigned i = 0; i < length; i++) {
        buf_append_text(&text, "/a");
    }
    struct path *path = from_pointer(paths, buf_text(&text));
    buf_release(&text);
    return path;
}

static enum err apply_op_adopt(struct value base, struct patch_op op)
{
    struct patch patch = {{0}};
    patch_push_adopt(&patch, op);
    struct value out;
    struct err_detail detail = {0};
    const enum err err =
        patch_apply(&patch, base, PATCH_ROOT_ANY, &out, NULL, &detail);
    EXPECT_EQ(detail.err, err);
    value_unref(out);
    patch_release(&patch);
    return err;
}

TEST(no_operation_nests_deeper_than_the_limit)
{
    static const enum patch_kind kinds[] = {PATCH_ADD,
                                            PATCH_APPEND,
                                            PATCH_ADD_UNIQUE};
    struct path_table paths;
    path_table_init(&paths);
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        for (unsigned depth = 1; depth <= 2; depth++) {
            const enum err err =
                apply_op_adopt(value_empty_object(),
                               (struct patch_op){
                                   .kind = kinds[i],
                                   .path = deep_path(&paths, 999),
                                   .value = nested(depth),
                               });
            EXPECT_EQ(err, depth == 1 ? ERR_OK : ERR_LIMIT_DEPTH);
        }
    }
    EXPECT_EQ(apply_op_adopt(value_empty_object(),
                             (struct patch_op){
                                 .kind = PATCH_INCREMENT,
                                 .path = deep_path(&paths, 1000),
                                 .value = value_int(1),
                             }),
              ERR_OK);
    EXPECT_EQ(apply_op_adopt(value_empty_object(),
                             (struct patch_op){
                                 .kind = PATCH_REPLACE,
                                 .path = deep_path(&paths, 0),
                                 .value = nested(1001),
                             }),
              ERR_LIMIT_DEPTH);
    struct value base = value_empty_object();
    base = object_set_adopt(base, value_text_new("b"), nested(999));
    for (unsigned length = 1; length <= 2; length++) {
        EXPECT_EQ(apply_op_adopt(base,
                                 (struct patch_op){
                                     .kind = PATCH_MOVE,
                                     .from = from_pointer(&paths, "/b"),
                                     .path = deep_path(&paths, length),
                                 }),
                  length == 1 ? ERR_OK : ERR_LIMIT_DEPTH);
        EXPECT_EQ(apply_op_adopt(base,
                                 (struct patch_op){
                                     .kind = PATCH_SPLICE,
                                     .path = from_pointer(&paths, "/b/0"),
                                     .value = nested(997 + length),
                                 }),
                  length == 1 ? ERR_OK : ERR_LIMIT_DEPTH);
    }
    value_unref(base);
    path_table_release(&paths);
}

/* A container that says it is full: none of these looks inside. */
TEST(no_operation_makes_a_container_larger_than_the_limit)
{
    static const char *const keys[] = {ADD("/o/b", "1"),
                                       REPLACE("/o/b", "1"),
                                       APPEND("/o/b", "[]"),
                                       INCREMENT("/o/b", "1"),
                                       ADD("/o/b/c", "1")};
    static const char *const elements[] = {ADD("/l/0", "1"),
                                           ADD("/l/-", "1"),
                                           APPEND("/l", "[1]"),
                                           SPLICE("/l", "0", "0", "[1]")};
    struct path_table paths;
    path_table_init(&paths);
    struct value base = from_quoted("{'o':{'a':1},'l':[1]}");
    struct value object = object_get_text(base, "o", 1);
    struct value list = object_get_text(base, "l", 1);
    for (size_t i = 0; i < COUNT_OF(keys) + COUNT_OF(elements); i++) {
        const bool is_key = i < COUNT_OF(keys);
        const char *text = is_key ? keys[i] : elements[i - COUNT_OF(keys)];
        struct value operations = from_quoted(text);
        struct patch patch;
        struct value out;
        EXPECT_EQ(patch_read(operations, &paths, &patch, NULL), ERR_OK);
        value_heap(object)->count = is_key ? LIMIT_OBJECT_KEYS : 1;
        value_heap(list)->count = is_key ? 1 : LIMIT_ARRAY_ELEMENTS;
        const enum err err =
            patch_apply(&patch, base, PATCH_ROOT_ANY, &out, NULL, NULL);
        value_heap(object)->count = 1;
        value_heap(list)->count = 1;
        EXPECT_TEXT(err_name(err), is_key ? "LIMIT_KEYS" : "LIMIT_ELEMENTS");
        value_unref(out);
        value_unref(operations);
        patch_release(&patch);
    }
    value_unref(base);
    path_table_release(&paths);
}

TEST(a_patch_has_at_most_100000_operations)
{
    struct path_table paths;
    path_table_init(&paths);
    VEC(struct value) list = {0};
    for (int i = 0; i <= LIMIT_PATCH_OPERATIONS; i++) {
        vec_push(&list, value_null());
    }
    struct patch patch;
    struct err_detail detail = {0};
    struct value value = array_new_adopt(list.at, list.count);
    EXPECT_EQ(patch_read(value, &paths, &patch, &detail), ERR_LIMIT_PATCH);
    EXPECT_CONTAINS(detail.text, "100000 operations");
    value = array_splice_adopt(value, 0, 1, NULL, 0);
    EXPECT_EQ(patch_read(value, &paths, &patch, &detail), ERR_PATCH_MALFORMED);
    value_unref(value);
    vec_release(&list);

    struct path *path = deep_path(&paths, LIMIT_PATH_SEGMENTS);
    struct buf text = {0};
    buf_append_text(&text, "[{\"op\":\"remove\",\"path\":\"/a");
    path_write(&text, path);
    buf_append_text(&text, "\"}]");
    value = from_json(buf_text(&text));
    EXPECT_EQ(patch_read(value, &paths, &patch, &detail), ERR_LIMIT_PATH);
    value_unref(value);
    buf_release(&text);
    path_unref(path);
    path_table_release(&paths);
}

/* -- Traces and touches -------------------------------------------------- */

static void write_touches(struct buf *to,
                          const struct patch_op *op,
                          const struct patch_trace *trace)
{
    struct patch_touch touches[PATCH_TOUCH_MAX];
    const size_t count = patch_touches(op, trace, touches);
    for (size_t i = 0; i < count; i++) {
        buf_append_text(to, i > 0 ? " " : "");
        buf_append_text(to, touches[i].kind == PATCH_TOUCH_VALUE ? "=" : "#");
        path_write(to, touches[i].path);
        path_unref(touches[i].path);
    }
}

/* "=path" is a touched value, "#path" a touched set of keys. */
TEST(the_trace_of_an_application_says_what_it_touched)
{
    static const struct {
        const char *base;
        const char *patch;
        const char *touches;
    } rows[] = {
        {"{'a':1}", REPLACE("/a", "2"), "=/a"},
        {"{'a':1}", REPLACE("/b", "2"), "=/b #"},
        {"{'a':[1]}", REPLACE("/a/0", "2"), "=/a/0"},
        {"{'a':1}", REPLACE("", "{}"), "="},
        {"{}", ADD("/a/b/c", "1"), "=/a #"},
        {"{'a':{}}", ADD("/a/b/c", "1"), "=/a/b #/a"},
        {"{'a':{'b':1}}", ADD("/a/b", "1"), "=/a/b"},
        {"{'a':[1]}", ADD("/a/0", "1"), "=/a #/a"},
        {"{'a':[1]}", ADD("/a/-", "1"), "=/a #/a"},
        {"{'a':{}}", ADD("/a/0", "1"), "=/a/0 #/a"},
        {"{}", ADD("/a/0", "1"), "=/a #"},
        {"{'a':{'b':1}}", REMOVE("/a/b"), "=/a/b #/a"},
        {"{'a':[1]}", REMOVE("/a/0"), "=/a"},
        {"{'a':1}", MOVE("/a", "/b"), "=/a # =/b #"},
        {"{'a':[1],'b':[2]}", MOVE("/a/0", "/b/0"), "=/a =/b #/b"},
        {"{'a':1,'b':{'c':1}}", MOVE("/a", "/b/c"), "=/a # =/b/c"},
        {"{'a':{'b':1,'/':{'x@1':5}},'q':{}}",
         MOVE("/a/b", "/q/r"),
         "=/a/b #/a =/q/r #/q =/q =/a"},
        {"{'a':[1]}", SPLICE("/a", "0", "1", "[]"), "=/a"},
        {"{'a':[1]}", APPEND("/a", "[2]"), "=/a"},
        {"{}", APPEND("/a/b", "[2]"), "=/a #"},
        {"{'a':{}}", UNIQUE("/a/b", "[2]"), "=/a/b #/a"},
        {"{'a':[2]}", UNIQUE("/a", "[2]"), "=/a"},
        {"{'a':[2]}", WITHOUT("/a", "2"), "=/a"},
        {"{'a':1}", INCREMENT("/a", "2"), "=/a"},
        {"{}", INCREMENT("/a", "2"), "=/a #"},
        {"{'a':[1]}", INCREMENT("/a/0", "2"), "=/a/0"},
        {"{'a':[1]}", INCREMENT("/a/1", "2"), "=/a/1 #/a"},
    };
    struct path_table paths;
    path_table_init(&paths);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct value base = from_quoted(rows[i].base);
        struct value list = from_quoted(rows[i].patch);
        struct patch patch;
        struct patch_trace trace;
        struct value out;
        EXPECT_EQ(patch_read(list, &paths, &patch, NULL), ERR_OK);
        EXPECT_EQ(patch_apply(&patch, base, PATCH_ROOT_ANY, &out, &trace, NULL),
                  ERR_OK);
        struct buf text = {0};
        write_touches(&text, &patch.ops.at[0], &trace);
        if (!EXPECT_TEXT(buf_text(&text), rows[i].touches)) {
            (void)test_fail(__FILE__,
                            __LINE__,
                            "%s on %s",
                            rows[i].patch,
                            rows[i].base);
        }
        buf_release(&text);
        value_unref(out);
        value_unref(base);
        value_unref(list);
        patch_release(&patch);
    }
    path_table_release(&paths);
}

TEST(the_registry_names_its_kinds_and_says_which_are_structural)
{
    static const struct {
        enum patch_kind kind;
        const char *name;
        bool structural;
    } rows[] = {
        {PATCH_REPLACE, "replace", false},
        {PATCH_ADD, "add", true},
        {PATCH_REMOVE, "remove", true},
        {PATCH_MOVE, "move", true},
        {PATCH_SPLICE, "splice", false},
        {PATCH_APPEND, "append", false},
        {PATCH_ADD_UNIQUE, "add-unique", false},
        {PATCH_REMOVE_BY_VALUE, "remove-by-value", false},
        {PATCH_INCREMENT, "increment", false},
    };
    EXPECT_EQ(COUNT_OF(rows), PATCH_KIND_COUNT);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        EXPECT_TEXT(patch_kind_name(rows[i].kind), rows[i].name);
        EXPECT_EQ(patch_kind_is_structural(rows[i].kind), rows[i].structural);
    }
}
