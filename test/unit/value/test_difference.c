/* difference: which paths changed (difference-1 to difference-5), which reads
 * notice, patches from differences, and writing over without losing
 * identity. */

#include "value/difference.h"

#include <string.h>

#include "lib/gen.h"
#include "lib/model.h"
#include "lib/test.h"
#include "lib/values.h"
#include "value/array.h"
#include "value/compare.h"
#include "value/object.h"
#include "value/patch.h"

static struct value quoted_or_none(const char *json)
{
    return json != NULL ? from_quoted(json) : VALUE_NONE;
}

/* -- Changed paths: the table -------------------------------------------- */

static void write_list(struct buf *to, const path_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        buf_append_text(to, i > 0 ? " [" : "[");
        path_write(to, list->at[i]);
        buf_append_char(to, ']');
    }
}

TEST(the_changed_paths_of_two_values)
{
    static const struct {
        const char *before; /* NULL: absent */
        const char *after;
        const char *paths;
    } rows[] = {
        /* difference-1 */
        {NULL, NULL, ""},
        {"1", "1.0", ""},
        {"{'a':1,'b':2}", "{'b':2,'a':1}", ""},
        {"[1,{'a':[]}]", "[1,{'a':[]}]", ""},
        {"{'/':{'number@1':'NaN'}}", "{'/':{'number@1':'NaN'}}", ""},
        /* difference-2 */
        {NULL, "{'a':1}", "[]"},
        {"{'a':1}", NULL, "[]"},
        {NULL, "null", "[]"},
        {"{}", "{'a':1}", "[/a]"},
        {"{'a':1}", "{}", "[/a]"},
        {"{'a':{'b':1}}", "{'a':{'c':1}}", "[/a/b] [/a/c]"},
        {"{'a':null}", "{}", "[/a]"},
        /* difference-3 */
        {"[1,2]", "[1,3]", "[/1]"},
        {"[1,2]", "[1,2,3]", "[]"},
        {"[1,2]", "[5,2,3]", "[] [/0]"},
        {"[1,2,3]", "[2,3]", "[] [/0] [/1]"},
        {"[]", "[1]", "[]"},
        {"{'l':[[1],[2]]}", "{'l':[[1],[2,3]]}", "[/l/1]"},
        {"[0,0,0,0,0,0,0,0,0,0,0]", "[0,0,1,0,0,0,0,0,0,0,1]", "[/10] [/2]"},
        /* difference-4 */
        {"{'a':{'b':1,'c':2}}", "{'a':{'b':1,'c':3}}", "[/a/c]"},
        {"{'b':1,'a':2}", "{'b':2,'a':1}", "[/a] [/b]"},
        {"{'a/b':1}", "{'a/b':2}", "[/a~1b]"},
        /* difference-5 */
        {"1", "2", "[]"},
        {"0", "-0", "[]"},
        {"[]", "{}", "[]"},
        {"{'a':[1]}", "{'a':{'0':1}}", "[/a]"},
        {"{'a':1}", "{'a':[1]}", "[/a]"},
        {"{'/':{'x@1':{'a':1}}}", "{'/':{'x@1':{'a':2}}}", "[]"},
        {"{'a':{'/':{'link@1':{'id':'x'}}}}",
         "{'a':{'/':{'link@1':{'id':'y'}}}}",
         "[/a]"},
        {"{'a':{'/':1}}", "{'a':{'/':2}}", "[/a/~1]"},
        {"{'a':{'/':{}}}", "{'a':{'/':{'x@1':2}}}", "[/a]"},
    };
    struct path_table paths;
    path_table_init(&paths);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct value before = quoted_or_none(rows[i].before);
        struct value after = quoted_or_none(rows[i].after);
        path_list list = {0};
        struct buf text = {0};
        difference_paths(before, after, &paths, &list);
        write_list(&text, &list);
        EXPECT_TEXT(buf_text(&text), rows[i].paths);
        buf_release(&text);
        path_list_release(&list);
        value_unref(before);
        value_unref(after);
    }
    path_table_release(&paths);
}

struct report_log {
    struct buf text;
};

static void log_report(void *ctx, const struct difference *difference)
{
    struct report_log *log = ctx;
    buf_append_char(&log->text, '[');
    path_write_segments(&log->text, difference->path, difference->length);
    buf_append_text(&log->text,
                    value_is_absent(difference->before)  ? " +"
                    : value_is_absent(difference->after) ? " -"
                                                         : "");
    buf_append_text(&log->text, "]");
}

TEST(a_walk_reports_both_sides_in_its_order)
{
    static const struct {
        const char *before;
        const char *after;
        enum difference_how how;
        const char *reports;
    } rows[] = {
        {"{'b':1,'a':1,'c':1}",
         "{'d':1,'b':2,'c':1}",
         DIFFERENCE_BY_PATH,
         "[/b][/a -][/d +]"},
        {"[[1],[2]]", "[[3],[2],[4]]", DIFFERENCE_BY_PATH, "[][/0/0]"},
        {"[[1],[2]]", "[[3],[2],[4]]", DIFFERENCE_BY_STEPS, "[]"},
        {"[[1],[2]]", "[[3],[2]]", DIFFERENCE_BY_STEPS, "[/0/0]"},
        {"{'/':1,'a':1}", "{'/':1,'a':2}", DIFFERENCE_BY_PATH, "[/a]"},
        {"{'/':1,'a':1}", "{'/':1,'a':2}", DIFFERENCE_BY_STEPS, "[]"},
        {"{'a':1}", "{'/':1,'a':1}", DIFFERENCE_BY_STEPS, "[]"},
        {"{'/':1,'a':1}", "{'a':1,'/':1}", DIFFERENCE_BY_STEPS, ""},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct value before = from_quoted(rows[i].before);
        struct value after = from_quoted(rows[i].after);
        struct report_log log = {{0}};
        difference_walk(before, after, rows[i].how, log_report, &log);
        EXPECT_TEXT(buf_text(&log.text), rows[i].reports);
        buf_release(&log.text);
        value_unref(before);
        value_unref(after);
    }
}

/* -- Changed paths: the model -------------------------------------------- */

struct collector {
    struct path_table *paths;
    path_list *out;
};

static void collect(const struct collector *to,
                    const struct model *before,
                    const struct model *after,
                    struct path *path);

static void collect_child(const struct collector *to,
                          const struct model *before,
                          const struct model *after,
                          struct path *path,
                          struct path_segment segment)
{
    struct path *child = path_child(path, segment.key);
    collect(to,
            model_child(before, &segment),
            model_child(after, &segment),
            child);
    path_unref(child);
    path_segment_release(&segment);
}

/* reading-5 to reading-7 of docs/spec/values-and-conflicts.md, literally. */
static void collect(const struct collector *to,
                    const struct model *before,
                    const struct model *after,
                    struct path *path)
{
    if (model_equal(before, after)) {
        return;
    }
    const bool both = model_is_container(before) && model_is_container(after) &&
                      before->kind == after->kind;
    if (!both) {
        vec_push(to->out, path_ref(path));
    } else if (before->kind == VALUE_ARRAY) {
        if (before->count != after->count) {
            vec_push(to->out, path_ref(path));
        }
        for (size_t i = 0; i < before->count && i < after->count; i++) {
            collect_child(to,
                          before,
                          after,
                          path,
                          path_segment_of_index((uint32_t)i));
        }
    } else {
        for (size_t i = 0; i < before->count; i++) {
            collect_child(to,
                          before,
                          after,
                          path,
                          path_segment(before->keys[i]));
        }
        for (size_t i = 0; i < after->count; i++) {
            struct path_segment segment = path_segment(after->keys[i]);
            if (model_child(before, &segment) == NULL) {
                collect_child(to, before, after, path, segment);
            } else {
                path_segment_release(&segment);
            }
        }
    }
}

/* Two values with much in common, sometimes in nodes, sometimes only in
 * content. */
struct pair {
    struct value before;
    struct value after;
};

static struct pair pair_new(const struct gen *gen)
{
    struct pair pair = {.before = gen_value(gen)};
    pair.after = gen_edit_adopt(gen, value_ref(pair.before));
    if (random_one_in(gen->random, 3)) {
        struct value rebuilt = gen_rebuild(gen, pair.after);
        value_unref(pair.after);
        pair.after = rebuilt;
    }
    return pair;
}

static void pair_release(struct pair *pair)
{
    value_unref(pair->before);
    value_unref(pair->after);
}

static struct gen any_gen(struct random *random)
{
    struct gen gen = {random, 4, 5, GEN_SPECIALS};
    if (random_one_in(random, 3)) {
        gen.flags |= GEN_ENVELOPES;
    }
    if (random_one_in(random, 12)) {
        gen.width = 700;
        gen.depth = 2;
    }
    return gen;
}

static bool contains_path(const path_list *list, const struct path *path)
{
    for (size_t i = 0; i < list->count; i++) {
        if (list->at[i] == path) {
            return true;
        }
    }
    return false;
}

PROPERTY(the_changed_paths_are_those_of_the_model, 600)
{
    const struct gen gen = any_gen(random);
    struct path_table paths;
    path_table_init(&paths);
    struct pair pair = pair_new(&gen);
    struct model *before = model_of(pair.before);
    struct model *after = model_of(pair.after);
    path_list got = {0};
    path_list want = {0};
    struct path *root = from_pointer(&paths, "");
    const struct collector collector = {&paths, &want};
    difference_paths(pair.before, pair.after, &paths, &got);
    collect(&collector, before, after, root);
    EXPECT_EQ(got.count, want.count);
    for (size_t i = 0; i < got.count; i++) {
        EXPECT(contains_path(&want, got.at[i]));
        if (i > 0) {
            EXPECT(path_compare(got.at[i - 1], got.at[i]) < 0);
        }
    }
    path_unref(root);
    path_list_release(&got);
    path_list_release(&want);
    model_free(before);
    model_free(after);
    pair_release(&pair);
    path_table_release(&paths);
}

/* -- Who notices --------------------------------------------------------- */

static const struct {
    const char *before;
    const char *after;
    const char *path;
    bool deep;
    bool shape;
} notices[] = {
    /* Reached on both sides: the value, or the shape of it. */
    {"{'a':1}", "{'a':1}", "/a", false, false},
    {"{'a':1}", "{'a':2}", "/a", true, true},
    {"{'a':1}", "{'a':2}", "", true, false},
    {"{'a':1}", "{'b':1}", "", true, true},
    {"{'a':1}", "{'a':1,'b':1}", "", true, true},
    {"{'a':1,'b':1}", "{'b':1,'a':1}", "", false, false},
    {"[1,2]", "[1,3]", "", true, false},
    {"[1,2]", "[1]", "", true, true},
    {"[]", "{}", "", true, true},
    {"[1]", "{'0':1}", "", true, true},
    {"[1]", "{'0':1}", "/0", false, false},
    {"{'a':[1]}", "{'a':1}", "/a", true, true},
    {"1", "2", "", true, true},
    {NULL, "null", "", true, true},
    {NULL, NULL, "", false, false},
    {"{'a':{'b':1}}", "{'a':{'b':[]}}", "/a", true, false},
    {"{'a':{'b':{'c':1}}}", "{'a':{'b':{'c':2}}}", "/a/b", true, false},
    /* A missing key is not null, and not another key. */
    {"{}", "{'a':null}", "/a", true, true},
    {"{'a':1}", "{}", "/a", true, true},
    {"{'b':1}", "{'b':2}", "/a", false, false},
    {"{'b':1}", "{'c':2}", "/a", false, false},
    {"[1]", "[2]", "/1", false, false},
    {"[1]", "[1,null]", "/1", true, true},
    {"[1]", "[2]", "/x", false, false},
    /* Reached on one side only. */
    {"{}", "{'a':{}}", "/a/b", true, true},
    {"{'a':{}}", "{'a':1}", "/a/b", true, true},
    {"{'a':{}}", "{'a':[]}", "/a/b", false, false},
    {NULL, "{}", "/a", true, true},
    {NULL, "1", "/a", false, false},
    {"1", "{}", "/a", true, true},
    /* On neither: how deep one gets. */
    {"{}", "{'a':{}}", "/a/b/c", true, true},
    {"{'a':{}}", "{'a':{'b':{}}}", "/a/b/c/d", true, true},
    {"{'a':1}", "{'a':2}", "/a/b", false, false},
    {"{'a':1}", "{}", "/a/b", false, false},
    {"{'a':1}", "{'a':null}", "/a/b/c", false, false},
    {NULL, "{}", "/a/b/c", true, true},
    {NULL, "7", "/a/b/c", false, false},
    /* Links and tagged leaves are leaves. */
    {"{'a':{'/':{'link@1':{'id':'x'}}}}",
     "{'a':{'/':{'link@1':{'id':'y'}}}}",
     "/a",
     true,
     true},
    {"{'a':{'/':{'link@1':{'id':'x'}}}}",
     "{'a':{'/':{'link@1':{'id':'y'}}}}",
     "",
     true,
     false},
    {"{'a':{'/':{'x@1':1}}}", "{'a':{'/':{'x@1':2}}}", "/a/~1", false, false},
    {"{'a':{'/':{'x@1':1}}}", "{'a':{'/':1}}", "/a/~1", true, true},
    {"{'a':{'/':{'x@1':[]}}}", "{'a':{'/':{'x@1':[1]}}}", "/a", true, true},
    {"'text'", "'other'", "/0", false, false},
    {"{'/':{'number@1':'NaN'}}", "{'/':{'number@1':'NaN'}}", "", false, false},
    {"0", "-0", "", true, true},
};

TEST(a_read_of_the_kind_notices_an_array_in_the_place_of_an_object_only)
{
    static const struct {
        const char *before;
        const char *after;
        bool seen;
    } rows[] = {
        {"{'a':{}}", "{'a':[]}", true},
        {"{'a':{'x':1}}", "{'a':[1]}", true},
        {"{'a':{'x':1}}", "{'a':{'y':2}}", false},
        {"{'a':[1]}", "{'a':[2,3]}", false},
        {"{'a':[]}", "{'a':1}", true},
        {"{'a':[]}", "{}", true},
    };
    struct path_table paths;
    path_table_init(&paths);
    const struct value key = value_text_new(PATH_KIND);
    struct path *above = from_pointer(&paths, "/a");
    struct path *path = path_child(above, key);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct value a = quoted_or_none(rows[i].before);
        const struct value b = quoted_or_none(rows[i].after);
        EXPECT_EQ(difference_is_seen(a, b, path, READ_DEEP), rows[i].seen);
        EXPECT_EQ(difference_is_seen(b, a, path, READ_DEEP), rows[i].seen);
        value_unref(a);
        value_unref(b);
    }
    path_unref(path);
    path_unref(above);
    value_unref(key);
    path_table_release(&paths);
}

TEST(a_read_notices_its_own_value_and_how_far_it_gets)
{
    struct path_table paths;
    path_table_init(&paths);
    for (size_t i = 0; i < COUNT_OF(notices); i++) {
        struct value a = quoted_or_none(notices[i].before);
        struct value b = quoted_or_none(notices[i].after);
        struct path *path = from_pointer(&paths, notices[i].path);
        for (int turn = 0; turn < 2; turn++) { /* and backwards */
            const struct value from = turn == 0 ? a : b;
            const struct value to = turn == 0 ? b : a;
            if (!EXPECT_EQ(difference_is_seen(from, to, path, READ_DEEP),
                           notices[i].deep) ||
                !EXPECT_EQ(difference_is_seen(from, to, path, READ_SHAPE),
                           notices[i].shape)) {
                (void)test_fail(__FILE__, __LINE__, "in row %zu", i);
            }
        }
        path_unref(path);
        value_unref(a);
        value_unref(b);
    }
    path_table_release(&paths);
}

static bool model_shape_equal(const struct model *a, const struct model *b)
{
    if (!model_is_container(a) || !model_is_container(b)) {
        return model_equal(a, b);
    }
    if (a->kind != b->kind || a->count != b->count) {
        return false;
    }
    for (size_t i = 0; a->kind == VALUE_OBJECT && i < a->count; i++) {
        struct path_segment segment = path_segment(a->keys[i]);
        const bool there = model_child(b, &segment) != NULL;
        path_segment_release(&segment);
        if (!there) {
            return false;
        }
    }
    return true;
}

/* The walk of rule 2.3: what is at the end, and `last`. */
static const struct model *walk(const struct model *root,
                                const struct path *path,
                                int64_t *last)
{
    const struct model *at = root;
    *last = model_is_container(root) ? 0 : -1;
    for (size_t i = 0; i < path->length; i++) {
        if (!model_is_container(at)) {
            return NULL;
        }
        at = model_child(at, &path->at[i]);
        if (model_is_container(at)) {
            *last = (int64_t)i + 1;
        }
    }
    return at;
}

static bool model_is_seen(const struct model *before,
                          const struct model *after,
                          const struct path *path,
                          enum read_kind kind)
{
    const int64_t length = path->length;
    int64_t last_before = 0;
    int64_t last_after = 0;
    const struct model *b = walk(before, path, &last_before);
    const struct model *a = walk(after, path, &last_after);
    const bool reach_before = length == 0 || last_before + 1 >= length;
    const bool reach_after = length == 0 || last_after + 1 >= length;
    if (reach_before && reach_after) {
        return kind == READ_DEEP ? !model_equal(b, a)
                                 : !model_shape_equal(b, a);
    }
    return reach_before != reach_after || last_before != last_after;
}

PROPERTY(what_reads_notice_is_what_the_model_says, 600)
{
    const struct gen gen = any_gen(random);
    struct path_table paths;
    path_table_init(&paths);
    struct pair pair = pair_new(&gen);
    struct model *before = model_of(pair.before);
    struct model *after = model_of(pair.after);
    for (int i = 0; i < 15; i++) {
        struct path *path =
            gen_path(&gen,
                     &paths,
                     random_one_in(random, 2) ? pair.before : pair.after);
        for (int kind = READ_DEEP; kind <= READ_SHAPE; kind++) {
            EXPECT_EQ(difference_is_seen(pair.before,
                                         pair.after,
                                         path,
                                         (enum read_kind)kind),
                      model_is_seen(before, after, path, (enum read_kind)kind));
        }
        path_unref(path);
    }
    EXPECT_EQ(value_shape_equal(pair.before, pair.after),
              model_shape_equal(before, after));
    model_free(before);
    model_free(after);
    pair_release(&pair);
    path_table_release(&paths);
}

/* A read that notices overlaps a changed path: whoever looks at the changed
 * paths first misses nobody. */
PROPERTY(a_read_that_notices_overlaps_a_changed_path, 400)
{
    const struct gen gen = any_gen(random);
    struct path_table paths;
    path_table_init(&paths);
    struct pair pair = pair_new(&gen);
    path_list changed = {0};
    difference_paths(pair.before, pair.after, &paths, &changed);
    for (int i = 0; i < 15; i++) {
        struct path *path = gen_path(&gen, &paths, pair.before);
        bool overlaps = false;
        VEC_FOREACH (&changed, other) {
            overlaps = overlaps || path_overlaps(*other, path);
        }
        EXPECT(overlaps ||
               !difference_is_seen(pair.before, pair.after, path, READ_DEEP));
        EXPECT(overlaps ||
               !difference_is_seen(pair.before, pair.after, path, READ_SHAPE));
        path_unref(path);
    }
    path_list_release(&changed);
    pair_release(&pair);
    path_table_release(&paths);
}

/* -- Patches from differences -------------------------------------------- */

TEST(a_difference_is_a_patch_of_small_operations)
{
    static const struct {
        const char *before;
        const char *after;
        const char *patch;
    } rows[] = {
        {"{'a':1}", "{'a':1}", "[]"},
        {"1", "2", "[{'op':'replace','path':'','value':2}]"},
        {"{'a':1}", "{'a':2}", "[{'op':'replace','path':'/a','value':2}]"},
        {"{}", "{'a':1}", "[{'op':'add','path':'/a','value':1}]"},
        {"{'a':1}", "{}", "[{'op':'remove','path':'/a'}]"},
        {"[1,2]", "[1,3]", "[{'op':'replace','path':'/1','value':3}]"},
        {"[1,2,3]",
         "[1,9,8,3]",
         "[{'op':'splice','path':'','index':1,'remove':1,'add':[9,8]}]"},
        {"[0,1,2,3,4]",
         "[0,1,9,8,3,4]",
         "[{'op':'splice','path':'','index':2,'remove':1,'add':[9,8]}]"},
        {"[1,2,3]",
         "[1,3]",
         "[{'op':'splice','path':'','index':1,'remove':1,'add':[]}]"},
        {"[1,1,1]",
         "[1,1]",
         "[{'op':'splice','path':'','index':2,'remove':1,'add':[]}]"},
        {"{'l':[]}",
         "{'l':[1]}",
         "[{'op':'splice','path':'/l','index':0,'remove':0,'add':[1]}]"},
        {"{'a':[1]}",
         "{'a':{'0':1}}",
         "[{'op':'replace','path':'/a','value':{'0':1}}]"},
        {"{'a':{'b':1,'c':2}}",
         "{'a':{'c':3,'d':4}}",
         "[{'op':'remove','path':'/a/b'},"
         "{'op':'replace','path':'/a/c','value':3},"
         "{'op':'add','path':'/a/d','value':4}]"},
        {"{'0':1}", "{}", "[{'op':'remove','path':'/0'}]"},
        /* Step by step this would pass through an envelope. */
        {"{'a':{'/':{}}}",
         "{'a':{'/':{'x@1':1,'y@1':2}}}",
         "[{'op':'replace','path':'/a','value':{'/':{'x@1':1,'y@1':2}}}]"},
    };
    struct path_table paths;
    path_table_init(&paths);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct value before = from_quoted(rows[i].before);
        struct value after = from_quoted(rows[i].after);
        struct patch patch = {{0}};
        patch_diff(before, after, &paths, &patch);
        struct value list = patch_write(&patch);
        EXPECT_QUOTED(list, rows[i].patch);
        value_unref(list);
        patch_release(&patch);
        value_unref(before);
        value_unref(after);
    }
    path_table_release(&paths);
}

/* The producer's duty: nothing that shifts elements is said by an index. */
static void expect_no_shifts(const struct patch *patch, struct value before)
{
    for (size_t i = 0; i < patch->ops.count; i++) {
        const struct patch_op *op = &patch->ops.at[i];
        EXPECT(op->kind != PATCH_MOVE);
        if ((op->kind == PATCH_ADD || op->kind == PATCH_REMOVE) &&
            EXPECT(op->path->length > 0)) {
            struct path *parent = path_prefix(op->path, op->path->length - 1);
            EXPECT(value_is_object(value_at(before, parent)));
            path_unref(parent);
        }
    }
}

PROPERTY(a_difference_applied_gives_back_the_value, 800)
{
    const struct gen gen = any_gen(random);
    struct path_table paths;
    path_table_init(&paths);
    struct pair pair = pair_new(&gen);
    struct patch patch = {{0}};
    struct value out;
    struct err_detail detail = {0};
    patch_diff(pair.before, pair.after, &paths, &patch);
    EXPECT_EQ(patch.ops.count == 0, value_equal(pair.before, pair.after));
    expect_no_shifts(&patch, pair.before);
    const enum err err =
        patch_apply(&patch, pair.before, PATCH_ROOT_ANY, &out, NULL, &detail);
    EXPECT_TEXT(detail.text, "");
    if (EXPECT_EQ(err, ERR_OK)) {
        EXPECT_VALUE(out, pair.after);
        EXPECT_CHECK(out);
    }
    value_unref(out);
    patch_release(&patch);
    pair_release(&pair);
    path_table_release(&paths);
}

/* -- Writing over -------------------------------------------------------- */

TEST(writing_an_equal_value_over_gives_the_very_same)
{
    static const char *const texts[] = {
        "1",
        "'a string of many bytes'",
        "[1,[2],{'a':3}]",
        "{'a':{'b':[1,2]}}",
        "{'/':{'x@1':[1]}}",
        "{'/':1,'a':[2]}",
        "[]",
    };
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        struct value before = from_quoted(texts[i]);
        struct value after = from_quoted(texts[i]);
        struct value result = value_reuse_adopt(before, after);
        EXPECT(value_is_same(result, before));
        value_unref(result);
        value_unref(before);
    }
}

TEST(writing_over_keeps_places_and_what_is_equal)
{
    static const struct {
        const char *before;
        const char *after;
        const char *result;
        const char *kept; /* a pointer to a part that is the same */
    } rows[] = {
        {"{'a':1,'b':[2]}", "{'b':[2],'a':3}", "{'a':3,'b':[2]}", "/b"},
        {"{'a':1,'b':[2]}", "{'c':0,'b':[2]}", "{'b':[2],'c':0}", "/b"},
        {"{'a':[[1],[2]]}", "{'a':[[1],[3]]}", "{'a':[[1],[3]]}", "/a/0"},
        {"{'a':{'b':[1]}}", "{'a':{'b':[1],'c':2}}", NULL, "/a/b"},
        {"[[1],[2],[3]]", "[[1],[3]]", NULL, "/0"},
        {"[{'a':[1],'b':1}]", "[{'a':[1],'b':2},5]", NULL, "/0/a"},
        {"[[1],[1],[1]]", "[[1],[1]]", NULL, "/1"},
        {"[[1],[1]]", "[[1],[1],[1]]", NULL, "/1"},
        {"[1,2,1,2]", "[1,2]", NULL, NULL},
        {"[[1]]", "[]", NULL, NULL},
        {"{'k':[1]}", "[{'k':[1]}]", NULL, NULL},
        {"{}", "{'/':{'x@1':1},'b':2}", NULL, NULL},
        {"{'/':{'a':1}}", "{'/':{'x@1':1},'b':2}", NULL, NULL},
        {"{'/':{'x@1':1},'k':1}", "{}", NULL, NULL},
    };
    struct path_table paths;
    path_table_init(&paths);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct value before = from_quoted(rows[i].before);
        struct value after = from_quoted(rows[i].after);
        struct value result = value_reuse_adopt(before, after);
        EXPECT_QUOTED(result,
                      rows[i].result != NULL ? rows[i].result : rows[i].after);
        EXPECT_QUOTED(before, rows[i].before);
        if (rows[i].kept != NULL) {
            struct path *path = from_pointer(&paths, rows[i].kept);
            EXPECT(value_is_heap(value_at(result, path)));
            EXPECT(
                value_is_same(value_at(before, path), value_at(result, path)));
            path_unref(path);
        }
        EXPECT_CHECK(result);
        value_unref(result);
        value_unref(before);
    }
    path_table_release(&paths);
}

static void expect_reused(struct value before, struct value result);

/* Arrays of one length are paired by index. Others have their equal ends in
 * common, and what is between is paired from the left. */
static void expect_reused_array(struct value before, struct value result)
{
    const uint32_t a = array_count(before);
    const uint32_t b = array_count(result);
    const uint32_t least = a < b ? a : b;
    uint32_t start = 0;
    while (start < least &&
           value_equal(array_at(before, start), array_at(result, start))) {
        start++;
    }
    uint32_t suffix = 0;
    while (suffix < least - start &&
           value_equal(array_at(before, a - 1 - suffix),
                       array_at(result, b - 1 - suffix))) {
        EXPECT(a == b || value_is_same(array_at(before, a - 1 - suffix),
                                       array_at(result, b - 1 - suffix)));
        suffix++;
    }
    for (uint32_t i = 0; i < (a == b ? a : least - suffix); i++) {
        expect_reused(array_at(before, i), array_at(result, i));
    }
}

static void expect_reused_object(struct value before, struct value result)
{
    struct object_iter iter = object_iter(before);
    struct object_iter others = object_iter(result);
    struct value key;
    struct value item;
    struct value other = VALUE_NONE;
    struct value other_item;
    while (object_next(&iter, &key, &item)) {
        if (value_is_absent(object_get(result, key))) {
            continue;
        }
        expect_reused(item, object_get(result, key));
        /* The keys that stayed come first, in their old order. */
        EXPECT(object_next(&others, &other, &other_item));
        EXPECT(key_equal(key, other));
    }
}

/* Wherever the old was equal, the new is the old. */
static void expect_reused(struct value before, struct value result)
{
    if (value_equal(before, result)) {
        EXPECT(value_is_same(before, result));
    } else if (value_is_array(before) && value_is_array(result)) {
        expect_reused_array(before, result);
    } else if (value_is_object(before) && value_is_object(result) &&
               !value_is_near_envelope(before) &&
               !value_is_near_envelope(result)) {
        expect_reused_object(before, result);
    }
}

PROPERTY(writing_over_gives_the_new_value_and_keeps_all_that_is_equal, 600)
{
    const struct gen gen = any_gen(random);
    struct pair pair = pair_new(&gen);
    struct value apart = gen_rebuild(&gen, pair.after);
    struct model *kept = model_of(pair.before);
    struct value result = value_reuse_adopt(pair.before, apart);
    EXPECT_VALUE(result, pair.after);
    EXPECT_CHECK(result);
    expect_reused(pair.before, result);
    struct value before = model_value(kept);
    EXPECT_VALUE(pair.before, before);
    value_unref(before);
    model_free(kept);
    value_unref(result);
    pair_release(&pair);
}

/* -- What is not looked at ----------------------------------------------- */

/* Two large values that differ at one place, and everything that they share
 * out of sight. */
static struct pair large_pair(bool objects)
{
    struct value before = objects ? value_empty_object() : value_empty_array();
    for (uint32_t i = 0; i < 50000; i++) {
        before = objects
                     ? object_set_adopt(before, numbered("k", i), value_int(i))
                     : array_push_adopt(before, value_int(i));
    }
    struct value after = value_ref(before);
    after = objects ? object_set_adopt(after, numbered("k", 777), value_null())
                    : array_set_adopt(after, 777, value_null());
    EXPECT(values_hide_shared(before, after) > 1500);
    return (struct pair){before, after};
}

TEST(the_cost_of_a_difference_is_what_differs)
{
    struct path_table paths;
    path_table_init(&paths);
    for (int objects = 0; objects < 2; objects++) {
        struct pair pair = large_pair(objects == 1);
        path_list list = {0};
        difference_paths(pair.before, pair.after, &paths, &list);
        EXPECT_EQ(list.count, 1);
        struct path *root = path_prefix(list.at[0], 0);
        EXPECT(difference_is_seen(pair.before, pair.after, root, READ_DEEP));
        EXPECT(!difference_is_seen(pair.before, pair.after, root, READ_SHAPE));
        path_unref(root);
        path_list_release(&list);

        struct patch patch = {{0}};
        patch_diff(pair.before, pair.after, &paths, &patch);
        EXPECT_EQ(patch.ops.count, 1);
        patch_release(&patch);
        values_show(pair.before);
        pair_release(&pair);
    }
    path_table_release(&paths);
}

TEST(writing_over_an_array_that_shares_nodes_looks_at_one_path)
{
    struct pair pair = large_pair(false);
    struct value result = value_reuse_adopt(pair.before, value_ref(pair.after));
    values_show(pair.before);
    EXPECT_VALUE(result, pair.after);
    value_unref(result);
    pair_release(&pair);
}

TEST(the_result_of_writing_over_shares_nodes_with_the_old)
{
    struct pair pair = large_pair(false);
    values_show(pair.before);
    struct value apart = value_empty_array();
    for (uint32_t i = 0; i < array_count(pair.after); i++) {
        apart = array_push_adopt(apart, value_ref(array_at(pair.after, i)));
    }
    struct value result = value_reuse_adopt(pair.before, apart);
    EXPECT(values_hide_shared(pair.before, result) > 1500);
    EXPECT(!value_equal(pair.before, result));
    values_show(pair.before);
    EXPECT_VALUE(result, pair.after);
    value_unref(result);
    pair_release(&pair);
}
