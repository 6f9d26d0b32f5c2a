/* TRIG: which reads see which changes (reading-1 to reading-4 of
 * docs/spec/values-and-conflicts.md). Paths of the tables begin at the
 * payload. */

#include <stdio.h>
#include <string.h>

#include "lib/sched_kit.h"
#include "lib/test.h"
#include "lib/values.h"
#include "sched/graph.h"
#include "value/array.h"
#include "value/compare.h"
#include "value/object.h"

/* Whether a reader of `surface` runs again when document d changes. A text
 * with "at=" in the second value puts the value there. */
static bool sees(const char *surface,
                 const char *before,
                 const char *at,
                 const char *after)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set(&kit, "d", "0"); /* the document is there on both sides */
    kit_set(&kit, "d", before);
    struct kit_node *e = kit_see(&kit, "E", surface);
    EXPECT_IDLE(&kit);
    kit_set(&kit, at, after);
    EXPECT_IDLE(&kit);
    EXPECT(e->runs <= 2);
    const bool seen = e->runs == 2;
    kit_end(&kit);
    return seen;
}

struct row {
    const char *reads;
    const char *before;
    const char *at;
    const char *after;
    bool seen;
};

static void expect_rows(const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct row *row = &rows[i];
        if (sees(row->reads, row->before, row->at, row->after) != row->seen) {
            (void)test_fail(__FILE__,
                            __LINE__,
                            "%s: %s -> %s = %s should be %s",
                            row->reads,
                            row->before,
                            row->at,
                            row->after,
                            row->seen ? "seen" : "unseen");
        }
    }
}
#define EXPECT_ROWS(...)                               \
    do {                                               \
        const struct row rows[] = {__VA_ARGS__};       \
        expect_rows(rows, sizeof rows / sizeof *rows); \
    } while (0)

/* -- Paths --------------------------------------------------------------- */

TEST(trig_01_paths_overlap_iff_one_begins_with_the_other)
{
    const struct {
        const char *read;
        const char *write;
        bool overlap;
    } rows[] = {
        {"d", "d", true},
        {"d!", "d.a.b", true},
        {"d", "d.a.b", true},
        {"d.a.b", "d", true},
        {"d.a.b", "d!", true},
        {"d.a.b", "d.a.b", true},
        {"d.a.b", "d.a.c", false},
        {"d.a", "d.A", false},
        {"d.user", "d.users", false},
        {"d.123", "d.1234", false},
        {"d", "d~user", false},
        {"d", "d!.slug", false},
        {"d!", "d!.slug", true},
        /* A shape read, and what is too deep for it. */
        {"^d", "d.a", true},
        {"^d", "d.a.b", false},
        {"^d.a.b", "d", true},
        {"^d!", "d", true},
        {"^d!", "d.a", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct sched_kit kit;
        kit_begin(&kit);
        char surface[40];
        (void)snprintf(surface, sizeof surface, "-> %s", rows[i].write);
        struct kit_node *e = kit_see(&kit, "E", rows[i].read);
        EXPECT_IDLE(&kit);
        /* Nobody writes it yet, so the document may be anything. */
        struct kit_node *c =
            kit_computation(&kit, "C", surface, kit_fn_constant, 1);
        if (kit_is_reader(e, c) != rows[i].overlap ||
            (c->node->live_refs > 0) != rows[i].overlap) {
            (void)test_fail(__FILE__,
                            __LINE__,
                            "%s and %s",
                            rows[i].read,
                            rows[i].write);
        }
        kit_remove(c);
        kit_end(&kit);
    }
}

TEST(trig_03_each_read_is_kept_once_a_kind)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set(&kit, "d", "{'a':{'b':{'c':1}}}");
    struct kit_node *e =
        kit_see(&kit, "E", "^d.a ^d.a.b ^d.a.b.c ^d.a d.a d.a");
    EXPECT_IDLE(&kit);
    EXPECT_EQ(e->node->reads.count, 4);
    kit_end(&kit);
}

TEST(trig_04_reads_of_one_document_and_of_its_namesake_in_another_scope)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set(&kit, "d", "{'user':{'name':'x'}}");
    kit_set(&kit, "d~user", "{'user':{'name':'x'}}");
    struct kit_node *e = kit_see(&kit, "E", "d.user d.user.name");
    struct kit_node *f = kit_see(&kit, "F", "d~user.user.name");
    EXPECT_IDLE(&kit);
    kit_set(&kit, "d.user.name", "'y'");
    EXPECT_IDLE(&kit);
    EXPECT_EQ(e->runs, 2);
    EXPECT_EQ(f->runs, 1);
    kit_set(&kit, "d~user.user.name", "'y'");
    EXPECT_IDLE(&kit);
    EXPECT_EQ(e->runs, 2);
    EXPECT_EQ(f->runs, 2);
    kit_end(&kit);
}

/* -- Values -------------------------------------------------------------- */

TEST(trig_05_a_deep_read_sees_another_value)
{
    EXPECT_ROWS({"d.a", "{'a':1}", "d", "{'a':2}", true},
                {"d.a", "{'a':1}", "d", "{'a':1}", false},
                {"d.a", "{'a':1}", "d", "{'a':1,'b':1}", false});
}

TEST(trig_06_each_reader_is_told_once)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set(&kit, "d", "{'a':1}");
    struct kit_node *x = kit_see(&kit, "X", "d.a");
    struct kit_node *y = kit_see(&kit, "Y", "d.a");
    EXPECT_IDLE(&kit);
    kit_trace(&kit, true);
    kit_set(&kit, "d", "{'a':2}");
    EXPECT_TEXT(kit_triggers(&kit),
                "mark-invalid X d by (nobody); mark-invalid Y d by (nobody);");
    EXPECT_IDLE(&kit);
    EXPECT_EQ(x->runs, 2);
    EXPECT_EQ(y->runs, 2);
    kit_end(&kit);
}

TEST(trig_08_a_reader_of_two_places_runs_once)
{
    EXPECT_ROWS({"d.a d.b", "{'a':1,'b':1}", "d", "{'a':1,'b':2}", true},
                {"d.a d.b", "{'a':1,'b':1}", "d", "{'a':2,'b':2}", true});
}

TEST(trig_10_what_becomes_reachable_or_ceases_to_be)
{
    EXPECT_ROWS({"d.a.b", "{'x':1}", "d", "{'a':{'b':2}}", true},
                {"d.a.b", "{'a':{'b':2}}", "d", "{'x':1}", true});
}

TEST(trig_11_arrays)
{
    EXPECT_ROWS(
        {"d.items.0", "{'items':[1,2]}", "d", "{'items':[3,2]}", true},
        {"d.items.0", "{'items':[1,2]}", "d", "{'items':[1,3]}", false},
        {"d.items", "{'items':[1,2]}", "d", "{'items':[1,2,3]}", true},
        {"d.items.1.name",
         "{'items':[{'name':1},{'name':1}]}",
         "d.items.1.name",
         "2",
         true},
        {"d.items.5", "{'items':[1,2]}", "d", "{'items':[3,4]}", false},
        {"d.items.5", "{'items':[1,2]}", "d", "{'items':[1,2,3]}", false},
        {"d.items.2", "{'items':[1,2]}", "d", "{'items':[1,2,3]}", true},
        {"d.items.length", "{'items':[1,2]}", "d", "{'items':[1]}", false});
}

TEST(trig_12_a_change_elsewhere_is_not_seen)
{
    EXPECT_ROWS({"d.user.name",
                 "{'user':{'name':1},'post':{'title':1}}",
                 "d.user",
                 "{'name':2}",
                 true},
                {"d.post.title",
                 "{'user':{'name':1},'post':{'title':1}}",
                 "d.user",
                 "{'name':2}",
                 false},
                {"d.user.name",
                 "{'user':{'name':1},'post':{'title':1}}",
                 "d.post",
                 "{'title':2}",
                 false});
}

TEST(trig_13_above_at_and_below_a_change)
{
    const char *const before = "{'users':{'123':{'profile':1}}}";
    EXPECT_ROWS(
        {"d.users", before, "d.users.123", "{'profile':2}", true},
        {"d.users.123", before, "d.users.123", "{'profile':2}", true},
        {"d.users.123.profile", before, "d.users.123", "{'profile':2}", true});
}

TEST(trig_14_far_below_a_read)
{
    const char *const before = "{'a':{'b':{'c':{'d':1}}}}";
    EXPECT_ROWS({"d.a", before, "d.a.b.c.d", "2", true},
                {"d.a.b", before, "d.a.b.c.d", "2", true});
}

TEST(trig_15_leaves_of_all_kinds)
{
    EXPECT_ROWS({"d.a", "{}", "d", "{}", false},
                {"d.a", "{'a':{'x':[1]}}", "d", "{'a':{'x':[1]}}", false},
                {"d.a", "{}", "d.a", "123", true},
                {"d.a", "{'a':true}", "d.a", "false", true},
                {"d.a", "{'a':null}", "d", "{}", true},
                {"d.a", "{'a':null}", "d.a", "0", true},
                {"d.a", "{'a':0}", "d.a", "false", true},
                {"d.a", "{'a':1}", "d.a", "1.0", false});
}

TEST(trig_16_the_payload_itself)
{
    EXPECT_ROWS({"d", "42", "d", "43", true},
                {"d", "42", "d", "42", false},
                {"d", "null", "d", "()", true},
                {"d", "42", "d", "{'value':42}", true},
                {"d", "{'value':42}", "d", "42", true},
                {"d", "[1,2,3]", "d", "'s'", true},
                {"d!", "42", "d", "43", true},
                {"d!", "42", "d!.slug", "1", true},
                {"d", "42", "d!.slug", "1", false},
                {"d!.slug", "42", "d", "43", false});
}

TEST(trig_17_what_was_never_reachable)
{
    EXPECT_ROWS({"d.field", "42", "d", "43", false},
                {"d.field.x", "{'field':1}", "d.field", "2", false},
                {"d.field.x", "{'field':'s'}", "d.field", "'t'", false});
}

TEST(trig_18_how_far_one_gets_is_seen)
{
    EXPECT_ROWS({"d.a.b.c", "{'a':{}}", "d", "{'a':{'b':{'x':1}}}", true},
                {"d.a.b.c.d", "{'a':{}}", "d", "{'a':{'b':{}}}", true},
                {"d.a.b.c", "{'a':{'b':{}}}", "d.a.b", "1", true},
                {"d.a.b.c", "{'a':1}", "d.a", "{}", true});
    /* A link is a leaf: nothing below it is reachable in this document. */
    const char *const before = "{'internal':{}}";
    const char *const after =
        "{'internal':{'__#0':{'/':{'link@1':{'id':'of:x'}}}}}";
    EXPECT_ROWS({"d.internal.other", before, "d", after, false},
                {"d.internal.__#0", before, "d", after, true},
                {"d.internal.__#0.pieceRegistry", before, "d", after, false});
}

TEST(trig_19_a_sibling_is_not_seen)
{
    EXPECT_ROWS({"d.o.x", "{'o':{'x':1}}", "d.o.y", "1", false});
}

TEST(trig_20_another_kind_of_container)
{
    EXPECT_ROWS({"d.a", "{'a':{}}", "d.a", "[]", true},
                {"d.a.0", "{'a':{'0':1}}", "d.a", "[1]", false},
                {"d.a.0", "{'a':{'0':1}}", "d.a", "[2]", true},
                {"d.a", "{'a':[1,2]}", "d.a", "[2,1]", true},
                {"d.a", "{'a':[]}", "d.a", "[1]", true},
                {"d.a", "{'a':[1]}", "d.a", "[]", true},
                {"d.a", "{'a':[]}", "d.a", "[]", false},
                {"d.a", "{'a':[[1],[2]]}", "d.a.1.0", "3", true});
}

/* -- Shape reads --------------------------------------------------------- */

TEST(trig_21_a_shape_does_not_see_the_value_of_a_child)
{
    EXPECT_ROWS({"^d.a", "{'a':{'b':1}}", "d.a.b", "2", false},
                {"^d.a", "{'a':{'b':1}}", "d.a", "{'b':2}", false},
                {"^d.a", "{'a':{'b':1}}", "d.a.c", "2", true},
                {"^d.a", "{'a':{'b':1}}", "d.a.b", "()", true},
                {"^d.a", "{'a':{'b':1}}", "d.a", "{'c':1}", true});
}

TEST(trig_23_the_shape_of_a_leaf_is_its_value)
{
    EXPECT_ROWS({"^d.a", "{'a':1}", "d.a", "2", true},
                {"^d.a", "{'a':1}", "d.a", "1", false});
}

TEST(trig_24_the_shape_after_a_write_above)
{
    EXPECT_ROWS({"^d.a", "{'a':{'b':1},'x':1}", "d", "{'a':[],'x':2}", true},
                {"^d.a", "{'a':{'b':1},'x':1}", "d", "{'a':{'b':2}}", false});
}

TEST(trig_25_deep_and_shape_readers_of_one_place)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set(&kit, "d", "{'a':{'b':{'c':1}}}");
    struct kit_node *deep = kit_see(&kit, "D", "d.a");
    struct kit_node *shape = kit_see(&kit, "S", "^d.a");
    EXPECT_IDLE(&kit);
    kit_set(&kit, "d.a.b.c", "2");
    EXPECT_IDLE(&kit);
    EXPECT_EQ(deep->runs, 2);
    EXPECT_EQ(shape->runs, 1);
    kit_end(&kit);
}

TEST(trig_26_shapes_of_links_and_arrays)
{
    const char *const link = "{'a':{'/':{'link@1':{'id':'of:x'}}}}";
    const char *const other = "{'a':{'/':{'link@1':{'id':'of:y'}}}}";
    EXPECT_ROWS({"^d.a", link, "d", other, true},
                {"^d.a", link, "d", link, false},
                {"^d.a", link, "d", "{'a':{}}", true},
                {"^d.a", "{'a':[1,2]}", "d.a", "[3,4]", false},
                {"^d.a", "{'a':[1,2]}", "d.a", "[1]", true},
                {"^d.a", "{'a':[]}", "d.a", "{}", true});
}

/* -- The index ----------------------------------------------------------- */

static size_t readers_of(struct sched_kit *kit, const char *name)
{
    struct place *place = kit_place(kit, name);
    size_t count = 0;
    CHAIN_FOREACH(&place->readers[READ_DEEP], link)
    {
        count++;
    }
    place_unref(place);
    return count;
}

/* Reads the place that the first input names. */
static enum run_result see_named(struct run *run, struct kit_node *node)
{
    const struct value name = kit_input(run, node, 0);
    char text[20] = "";
    const struct text bytes = value_text(&name);
    memcpy(text, bytes.at, bytes.length);
    value_unref(name);
    const struct value value = kit_look(run, node, text);
    kit_note(node, value);
    value_unref(value);
    return RUN_DONE;
}

TEST(trig_29_the_readers_of_one_space_go_without_those_of_another)
{
    struct sched_kit kit;
    kit_begin(&kit);
    struct kit_node *b = kit_see(&kit, "B", "d");
    const struct space_options options = {.id = value_text_new("other")};
    struct space *first = kit.space;
    struct space *second = NULL;
    EXPECT_EQ(space_open(&kit.replica, &options, &second, NULL), ERR_OK);
    value_unref(options.id);
    kit.space = second;
    struct kit_node *a = kit_see(&kit, "A", "d");
    EXPECT_IDLE(&kit);
    EXPECT_EQ(readers_of(&kit, "d"), 1);
    kit_remove(a);
    EXPECT_EQ(readers_of(&kit, "d"), 0);
    kit_set(&kit, "d", "1");
    EXPECT_IDLE(&kit);
    EXPECT_SEEN(b, "()");
    kit.space = first;
    EXPECT_EQ(readers_of(&kit, "d"), 1);
    kit_set(&kit, "d", "2");
    EXPECT_IDLE(&kit);
    EXPECT_SEEN(b, "() 2");
    kit_end(&kit);
}

TEST(trig_30_a_read_moves_to_another_scope)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set(&kit, "which", "'d'");
    struct kit_node *e = kit_effect(&kit, "E", "which", see_named, 0);
    EXPECT_IDLE(&kit);
    EXPECT_EQ(readers_of(&kit, "d"), 1);
    kit_set(&kit, "which", "'d~user'");
    EXPECT_IDLE(&kit);
    EXPECT_EQ(readers_of(&kit, "d"), 0);
    EXPECT_EQ(readers_of(&kit, "d~user"), 1);
    kit_set(&kit, "d", "1");
    EXPECT_IDLE(&kit);
    EXPECT_EQ(e->runs, 2);
    kit_set(&kit, "d~user", "1");
    EXPECT_IDLE(&kit);
    EXPECT_EQ(e->runs, 3);
    kit_end(&kit);
}

TEST(trig_31_what_moved_is_removed_from_where_it_is)
{
    struct sched_kit kit;
    kit_begin(&kit);
    kit_set(&kit, "which", "'a'");
    struct kit_node *e = kit_effect(&kit, "E", "which", see_named, 0);
    EXPECT_IDLE(&kit);
    kit_set(&kit, "which", "'b'");
    EXPECT_IDLE(&kit);
    EXPECT_EQ(readers_of(&kit, "a"), 0);
    EXPECT_EQ(readers_of(&kit, "b"), 1);
    kit_remove(e);
    EXPECT_EQ(readers_of(&kit, "b"), 0);
    EXPECT_EQ(readers_of(&kit, "which"), 0);
    kit_end(&kit);
}

TEST(trig_33_one_of_a_hundred_readers)
{
    struct sched_kit kit;
    kit_begin(&kit);
    struct kit_node *readers[100];
    struct buf text = {0};
    buf_append_text(&text, "{");
    for (unsigned i = 0; i < 100; i++) {
        buf_printf(&text, "%s'field%u':0", i > 0 ? "," : "", i);
    }
    buf_append_text(&text, "}");
    kit_set(&kit, "d", buf_text(&text));
    for (unsigned i = 0; i < 100; i++) {
        buf_clear(&text);
        buf_printf(&text, "d.field%u", i);
        readers[i] = kit_see(&kit, "E", buf_text(&text));
    }
    EXPECT_IDLE(&kit);
    kit_set(&kit, "d.field50", "1");
    EXPECT_IDLE(&kit);
    for (unsigned i = 0; i < 100; i++) {
        EXPECT_EQ(readers[i]->runs, i == 50 ? 2 : 1);
    }
    buf_release(&text);
    kit_end(&kit);
}

TEST(trig_34_one_reader_of_twenty_places)
{
    struct sched_kit kit;
    kit_begin(&kit);
    struct buf document = {0};
    struct buf surface = {0};
    for (unsigned i = 0; i < 20; i++) {
        buf_printf(&document, "%s'f%u':0", i > 0 ? "," : "{", i);
        buf_printf(&surface, "d.f%u ", i);
    }
    buf_append_text(&document, "}");
    kit_set(&kit, "d", buf_text(&document));
    struct kit_node *e = kit_see(&kit, "E", buf_text(&surface));
    EXPECT_IDLE(&kit);
    kit_set(&kit, "d.f10", "1");
    EXPECT_EQ(e->node->causes.count, 1);
    EXPECT_IDLE(&kit);
    EXPECT_EQ(e->runs, 2);
    buf_release(&document);
    buf_release(&surface);
    kit_end(&kit);
}

/* -- The rule ------------------------------------------------------------ */

/* A way into a document, and how far it leads. */
struct reach {
    struct value at; /* borrowed; absent if unreachable */
    bool reachable;
    int last; /* the deepest container on the way */
};

static struct reach walk(struct value root, const struct path *path)
{
    struct reach reach = {root, true, value_is_container(root) ? 0 : -1};
    for (uint32_t i = 0; i < path->length; i++) {
        if (!value_is_container(reach.at)) {
            reach.reachable = false;
            reach.at = VALUE_NONE;
            return reach;
        }
        reach.at = value_child(reach.at, &path->at[i]);
        if (value_is_container(reach.at)) {
            reach.last = (int)i + 1;
        }
    }
    return reach;
}

/* Whether a read sees the change, by reading-1 to reading-3 of
 * docs/spec/values-and-conflicts.md, word by word. */
static bool is_change(struct value before,
                      struct value after,
                      const struct place *place,
                      enum read_kind kind)
{
    const struct reach from = walk(before, place->path);
    const struct reach to = walk(after, place->path);
    if (from.reachable != to.reachable) {
        return true;
    }
    if (!from.reachable) {
        return from.last != to.last;
    }
    return kind == READ_DEEP ? !value_equal(from.at, to.at)
                             : !value_shape_equal(from.at, to.at);
}

/* A small value over few keys, so that random ones meet. */
static void random_value(struct random *random, unsigned depth, struct buf *to)
{
    const uint64_t kind = random_below(random, depth == 0 ? 3 : 6);
    const char *const keys[] = {"a", "b", "0", "1"};
    if (kind < 2) {
        buf_printf(to, "%u", (unsigned)random_below(random, 2));
    } else if (kind == 2) {
        buf_append_text(to,
                        random_below(random, 4) == 0
                            ? "{'/':{'link@1':{'id':'of:x'}}}"
                            : "null");
    } else if (kind == 3) {
        const uint64_t count = random_below(random, 3);
        buf_append_char(to, '[');
        for (uint64_t i = 0; i < count; i++) {
            buf_append_text(to, i > 0 ? "," : "");
            random_value(random, depth - 1, to);
        }
        buf_append_char(to, ']');
    } else {
        bool first = true;
        buf_append_char(to, '{');
        for (size_t i = 0; i < 4; i++) {
            if (random_below(random, 2) == 0) {
                buf_printf(to, "%s'%s':", first ? "" : ",", keys[i]);
                random_value(random, depth - 1, to);
                first = false;
            }
        }
        buf_append_char(to, '}');
    }
}

static void random_name(struct random *random, struct buf *to)
{
    const char *const keys[] = {".a", ".b", ".0", ".1"};
    buf_clear(to);
    buf_append_text(to, random_below(random, 8) == 0 ? "d!" : "d");
    if (to->length == 2 && random_below(random, 2) == 0) {
        buf_append_text(to, ".value");
    }
    for (uint64_t i = random_below(random, 4); i > 0; i--) {
        buf_append_text(to, keys[random_below(random, 4)]);
    }
}

enum {
    READERS = 12
};

/* Sets the document, or deletes it, or writes somewhere inside. */
static void change_something(struct sched_kit *kit, struct random *random)
{
    struct buf text = {0};
    const uint64_t how = random_below(random, 8);
    if (how == 0) {
        kit_set(kit, "d!", "()");
    } else if (how == 1) {
        random_value(random, 1, &text);
        kit_set(kit, "d", "0");
        kit_set(kit, "d!.a", buf_text(&text));
    } else {
        random_value(random, 3, &text);
        kit_set(kit, "d", buf_text(&text));
    }
    buf_release(&text);
}

static void one_round(struct sched_kit *kit,
                      struct random *random,
                      struct kit_node *const *readers)
{
    struct place *root = kit_place(kit, "d!");
    uint64_t runs[READERS];
    const struct value before = entity_state_document(&root->entity->visible);
    for (size_t i = 0; i < READERS; i++) {
        runs[i] = readers[i]->runs;
    }
    change_something(kit, random);
    const struct value after = entity_state_document(&root->entity->visible);
    EXPECT_IDLE(kit);
    for (size_t i = 0; i < READERS; i++) {
        const struct kit_place *read = &readers[i]->reads[0];
        const bool want = is_change(before, after, read->place, read->kind);
        if ((readers[i]->runs > runs[i]) != want) {
            struct buf path = {0};
            path_write(&path, read->place->path);
            (void)test_fail(__FILE__,
                            __LINE__,
                            "%s read of %s should %s the change to %s",
                            read->kind == READ_DEEP ? "deep" : "shape",
                            buf_text(&path),
                            want ? "see" : "not see",
                            kit_get(kit, "d!"));
            buf_release(&path);
        }
    }
    value_unref(before);
    value_unref(after);
    place_unref(root);
}

/* The walk over places and differences against the rule, reader by reader.
 * Two changes before a step would be one for the rule: so it steps each. */
PROPERTY(trig_32_the_walk_agrees_with_the_rule, 300)
{
    struct sched_kit kit;
    kit_begin(&kit);
    struct kit_node *readers[READERS];
    struct buf name = {0};
    struct buf surface = {0};
    for (size_t i = 0; i < READERS; i++) {
        random_name(random, &name);
        buf_clear(&surface);
        buf_printf(&surface,
                   "%s%s",
                   random_below(random, 3) == 0 ? "^" : "",
                   buf_text(&name));
        readers[i] = kit_see(&kit, "E", buf_text(&surface));
    }
    EXPECT_IDLE(&kit);
    for (unsigned i = 0; i < 20; i++) {
        one_round(&kit, random, readers);
    }
    buf_release(&name);
    buf_release(&surface);
    kit_end(&kit);
}
