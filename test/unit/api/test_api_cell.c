/* Cells through the public header: reading, writing, links, edits. */

#include "host/system.h"
#include "unit/api/fixture.h"

/* -- Reading and writing ------------------------------------------------- */

TEST(a_cell_holds_what_was_written_to_it)
{
    struct fixture fixture;
    fixture_open(&fixture, NULL, 1);
    hd_cell *cart = cell_of(&fixture, "cart", NULL);
    expect_json(cart, NULL);
    set_json(cart, "{\"items\":[{\"price\":3}],\"open\":true}");
    expect_json(cart, "{\"items\":[{\"price\":3}],\"open\":true}");
    hd_cell *price = NULL;
    hd_error error;
    EXPECT_INT(hd_cell_child(cart, "/items/0/price", &price, &error), HD_OK);
    int64_t integer = 0;
    EXPECT_INT(hd_cell_get_int(price, &integer, &error), HD_OK);
    EXPECT_INT(integer, 3);
    EXPECT_INT(hd_cell_set_int(price, 4, &error), HD_OK);
    expect_json(cart, "{\"items\":[{\"price\":4}],\"open\":true}");
    hd_cell_free(price);
    hd_cell_free(cart);
    fixture_close(&fixture);
}

TEST(typed_reads_take_their_type_and_no_other)
{
    struct fixture fixture;
    fixture_open(&fixture, NULL, 1);
    hd_cell *cell = cell_of(&fixture, "x", "");
    hd_error error;
    bool boolean = true;
    int64_t integer = 7;
    double number = 7;
    char *text = NULL;
    size_t length = 7;

    EXPECT_INT(hd_cell_get_int(cell, &integer, &error), HD_NOT_FOUND);
    EXPECT_INT(integer, 0);
    EXPECT_TEXT(error.address, "main/x#");
    EXPECT_INT(hd_cell_set_double(cell, 2.5, &error), HD_OK);
    EXPECT_INT(hd_cell_get_double(cell, &number, &error), HD_OK);
    EXPECT(number > 2.4 && number < 2.6);
    EXPECT_INT(hd_cell_get_int(cell, &integer, &error), HD_TYPE);
    EXPECT_CONTAINS(error.text, "integer");
    EXPECT_INT(hd_cell_set_int(cell, INT64_MIN, &error), HD_OK);
    EXPECT_INT(hd_cell_get_int(cell, &integer, &error), HD_OK);
    EXPECT(integer == INT64_MIN);
    EXPECT_INT(hd_cell_get_double(cell, &number, &error), HD_OK);
    EXPECT(number < -9e18);
    EXPECT_INT(hd_cell_get_bool(cell, &boolean, &error), HD_TYPE);
    EXPECT(!boolean);
    EXPECT_INT(hd_cell_set_bool(cell, true, &error), HD_OK);
    EXPECT_INT(hd_cell_get_bool(cell, &boolean, &error), HD_OK);
    EXPECT(boolean);
    EXPECT_INT(hd_cell_get_text(cell, &text, &length, &error), HD_TYPE);
    EXPECT(text == NULL);
    EXPECT_EQ(length, 0);
    EXPECT_INT(hd_cell_set_text(cell, "a\0b", 3, &error), HD_OK);
    EXPECT_INT(hd_cell_get_text(cell, &text, &length, &error), HD_OK);
    EXPECT_EQ(length, 3);
    EXPECT(memcmp(text, "a\0b", 4) == 0);
    hd_text_free(text);
    EXPECT_INT(hd_cell_set_text(cell,
                                "long enough to be on the heap",
                                HD_TERMINATED,
                                &error),
               HD_OK);
    EXPECT_INT(hd_cell_get_text(cell, &text, NULL, &error), HD_OK);
    EXPECT_TEXT(text, "long enough to be on the heap");
    hd_text_free(text);
    EXPECT_INT(hd_cell_delete(cell, &error), HD_OK);
    expect_json(cell, NULL);
    EXPECT_INT(hd_cell_delete(cell, &error), HD_OK);
    hd_cell_free(cell);
    fixture_close(&fixture);
}

TEST(a_write_that_does_not_fit_is_refused_and_named)
{
    struct fixture fixture;
    fixture_open(&fixture, NULL, 1);
    hd_cell *deep = cell_of(&fixture, "x", "/a/0");
    hd_error error;
    EXPECT_INT(hd_cell_set_int(deep, 1, &error), HD_NOT_FOUND);
    EXPECT_INT(error.status, HD_NOT_FOUND);
    EXPECT_TEXT(error.address, "main/x#/a/0");
    EXPECT(strlen(error.text) > 0);
    hd_cell *x = cell_of(&fixture, "x", NULL);
    set_json(x, "{\"a\":[1]}");
    hd_cell *beyond = cell_of(&fixture, "x", "/a/2");
    EXPECT_INT(hd_cell_set_int(beyond, 1, &error), HD_RANGE);
    hd_cell *through = cell_of(&fixture, "x", "/a/0/b");
    EXPECT_INT(hd_cell_set_int(through, 1, &error), HD_TYPE);
    expect_json(x, "{\"a\":[1]}");
    hd_cell_free(through);
    hd_cell_free(beyond);
    hd_cell_free(x);
    hd_cell_free(deep);
    fixture_close(&fixture);
}

TEST(the_shape_has_keys_and_a_count)
{
    struct fixture fixture;
    fixture_open(&fixture, NULL, 1);
    hd_cell *x = cell_of(&fixture, "x", NULL);
    hd_cell *list = cell_of(&fixture, "x", "/list");
    hd_cell *leaf = cell_of(&fixture, "x", "/list/0");
    hd_value *keys = NULL;
    size_t count = 7;
    hd_error error;
    EXPECT_INT(hd_cell_count(x, &count, &error), HD_NOT_FOUND);
    EXPECT_EQ(count, 0);
    set_json(x, "{\"list\":[1,2,3],\"b\":0}");
    EXPECT_INT(hd_cell_keys(x, &keys, &error), HD_OK);
    expect_value(keys, "[\"list\",\"b\"]");
    hd_value_unref(keys);
    EXPECT_INT(hd_cell_count(x, &count, &error), HD_OK);
    EXPECT_EQ(count, 2);
    EXPECT_INT(hd_cell_count(list, &count, &error), HD_OK);
    EXPECT_EQ(count, 3);
    EXPECT_INT(hd_cell_keys(list, &keys, &error), HD_TYPE);
    EXPECT(keys == NULL);
    EXPECT_INT(hd_cell_count(leaf, &count, &error), HD_TYPE);
    hd_cell_free(leaf);
    hd_cell_free(list);
    hd_cell_free(x);
    fixture_close(&fixture);
}

TEST(writes_that_merge)
{
    struct fixture fixture;
    fixture_open(&fixture, NULL, 1);
    hd_cell *x = cell_of(&fixture, "x", NULL);
    hd_cell *list = cell_of(&fixture, "x", "/list");
    hd_cell *number = cell_of(&fixture, "x", "/n");
    hd_value *a = value_of("\"a\"");
    hd_error error;
    set_json(x, "{\"list\":[],\"n\":1}");
    EXPECT_INT(hd_cell_append(list, a, &error), HD_OK);
    EXPECT_INT(hd_cell_append(list, a, &error), HD_OK);
    EXPECT_INT(hd_cell_add_unique(list, a, &error), HD_OK);
    expect_json(list, "[\"a\",\"a\"]");
    EXPECT_INT(hd_cell_remove(list, a, &error), HD_OK);
    expect_json(list, "[]");
    EXPECT_INT(hd_cell_add_unique(list, a, &error), HD_OK);
    expect_json(list, "[\"a\"]");
    EXPECT_INT(hd_cell_increment(number, 41, &error), HD_OK);
    EXPECT_INT(hd_cell_increment_double(number, 0.5, &error), HD_OK);
    expect_json(number, "42.5");
    EXPECT(hd_cell_increment(list, 1, &error) != HD_OK);
    EXPECT_TEXT(error.address, "main/x#/list");
    expect_json(list, "[\"a\"]");
    hd_value_unref(a);
    hd_cell_free(number);
    hd_cell_free(list);
    hd_cell_free(x);
    fixture_close(&fixture);
}

/* -- Where --------------------------------------------------------------- */

TEST(a_cell_says_where_it_is)
{
    struct fixture fixture = {.now = 1000};
    static const char *const spaces[] = {"home", "work"};
    hd_runtime_options options = fixture_options(&fixture);
    options.spaces = spaces;
    options.space_count = 2;
    options.user = "ada";
    fixture_open_with(&fixture, &options);
    const hd_address address = {
        .space = "work",
        .scope = HD_SCOPE_USER,
        .document = "notes",
        .path = "/a~1b/0",
    };
    hd_cell *cell = NULL;
    char *text = NULL;
    hd_error error;
    EXPECT_INT(hd_cell_new_at(fixture.runtime, &address, &cell, &error), HD_OK);
    EXPECT_INT(hd_cell_text(cell, &text, &error), HD_OK);
    EXPECT_TEXT(text, "work/user:notes#/a~1b/0");
    hd_text_free(text);
    hd_cell_free(cell);
    fixture_close(&fixture);
}

/* The wall clock may move on at any time, also by an interval. */
TEST(a_clock_holds_the_start_of_the_current_interval)
{
    enum {
        LENGTH = 3600000
    };
    struct fixture fixture = {.now = 1000};
    hd_cell *clock = NULL;
    hd_cell *same = NULL;
    hd_value *shown = NULL;
    char *text = NULL;
    int64_t start = 0;
    hd_error error;
    fixture_open(&fixture, NULL, 1);
    const int64_t before = (int64_t)system_wall_ms();
    EXPECT_INT(hd_cell_clock(fixture.runtime, NULL, LENGTH, &clock, &error),
               HD_OK);
    EXPECT_INT(hd_cell_pull(clock, &shown, &error), HD_OK);
    EXPECT_INT(hd_value_get_int(shown, &start), HD_OK);
    EXPECT_INT(start % LENGTH, 0);
    EXPECT(start > before - LENGTH && start <= (int64_t)system_wall_ms());
    EXPECT_INT(hd_cell_clock(fixture.runtime, "main", LENGTH, &same, &error),
               HD_OK);
    EXPECT_INT(hd_cell_text(same, &text, &error), HD_OK);
    EXPECT_TEXT(text, "main/clock:3600000#");
    hd_text_free(text);
    hd_value_unref(shown);
    hd_cell_free(clock);
    hd_cell_free(same);
    EXPECT_INT(hd_cell_clock(fixture.runtime, NULL, 9, &clock, &error),
               HD_ARGUMENT);
    EXPECT_CONTAINS(error.text, "from 10 on, not 9");
    EXPECT_INT(hd_cell_clock(fixture.runtime, NULL, UINT64_MAX, &clock, &error),
               HD_ARGUMENT);
    EXPECT_INT(hd_cell_clock(fixture.runtime, "no", LENGTH, &clock, &error),
               HD_NOT_FOUND);
    fixture_close(&fixture);
}

static void count_calls(void *context, const hd_value *value)
{
    (void)value;
    ++*(unsigned *)context;
}

/* The wall clock is looked at every ten seconds at the latest. */
TEST(a_clock_is_part_of_the_next_wake_while_a_live_node_reads_it)
{
    struct fixture fixture = {.now = 1000};
    hd_cell *clock = NULL;
    hd_node *sink = NULL;
    unsigned calls = 0;
    uint64_t wake = 0;
    hd_error error;
    const hd_runtime_options options = fixture_options(&fixture);
    fixture_open_as(&fixture, &options); /* the next wake is of the clock
                                            only */
    EXPECT_INT(hd_cell_clock(fixture.runtime, NULL, 86400000, &clock, &error),
               HD_OK);
    EXPECT_INT(hd_sink_new(clock, count_calls, &calls, &sink, &error), HD_OK);
    fixture_settle(&fixture);
    EXPECT_INT(hd_runtime_next_wake(fixture.runtime, &wake), HD_OK);
    EXPECT(calls >= 1);
    EXPECT(wake > fixture.now && wake <= fixture.now + 10000);
    EXPECT_INT(hd_node_remove(sink), HD_OK);
    fixture_settle(&fixture);
    EXPECT_INT(hd_runtime_next_wake(fixture.runtime, &wake), HD_OK);
    EXPECT(wake == HD_NEVER);
    hd_node_free(sink);
    hd_cell_free(clock);
    fixture_close(&fixture);
}

TEST(documents_of_different_spaces_and_scopes_are_different)
{
    struct fixture fixture = {.now = 1000};
    static const char *const spaces[] = {"home", "work"};
    hd_runtime_options options = fixture_options(&fixture);
    options.spaces = spaces;
    options.space_count = 2;
    options.user = "ada";
    fixture_open_with(&fixture, &options);
    hd_cell *cells[4];
    hd_error error;
    for (int i = 0; i < 4; i++) {
        const hd_address address = {
            .space = i == 3 ? "work" : NULL,
            .scope = (hd_scope)(i % 3),
            .document = "x",
        };
        EXPECT_INT(hd_cell_new_at(fixture.runtime, &address, &cells[i], &error),
                   HD_OK);
        EXPECT_INT(hd_cell_set_int(cells[i], i, &error), HD_OK);
    }
    fixture_settle(&fixture);
    for (int i = 0; i < 4; i++) {
        int64_t integer = -1;
        EXPECT_INT(hd_cell_get_int(cells[i], &integer, &error), HD_OK);
        EXPECT_INT(integer, i);
        hd_cell_free(cells[i]);
    }
    EXPECT_INT(fixture.reports, 0);
    fixture_close(&fixture);
}

TEST(addresses_that_cannot_be_are_refused)
{
    struct fixture fixture;
    fixture_open(&fixture, NULL, 1);
    hd_cell *cell = NULL;
    hd_error error;
    static char long_name[2000];
    memset(long_name, 'a', sizeof long_name - 1);
    const struct {
        hd_address address;
        hd_status status;
    } bad[] = {
        {{.document = NULL}, HD_ARGUMENT},
        {{.document = ""}, HD_ARGUMENT},
        {{.document = "\xFF"}, HD_SYNTAX},
        {{.document = long_name}, HD_LIMIT_ID},
        {{.document = "x", .path = "a"}, HD_SYNTAX},
        {{.document = "x", .path = "/\xFF"}, HD_SYNTAX},
        {{.document = "x", .space = "elsewhere"}, HD_NOT_FOUND},
        {{.document = "x", .space = ""}, HD_ARGUMENT},
        {{.document = "x", .scope = (hd_scope)3}, HD_ARGUMENT},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        EXPECT_INT(
            hd_cell_new_at(fixture.runtime, &bad[i].address, &cell, &error),
            bad[i].status);
        EXPECT(cell == NULL);
        EXPECT_INT(error.status, bad[i].status);
        EXPECT(strlen(error.text) > 0);
        EXPECT_EQ(error.limit, bad[i].status == HD_LIMIT_ID ? 1024 : 0);
    }
    char pointer[4100];
    for (size_t i = 0; i < sizeof pointer - 1; i += 2) {
        memcpy(pointer + i, "/a", 2);
    }
    pointer[4098] = '\0';
    EXPECT_INT(hd_cell_new(fixture.runtime, "x", pointer, &cell, &error),
               HD_LIMIT_PATH);
    pointer[1600] = '\0';
    cell = cell_of(&fixture, "x", pointer);
    hd_cell *below = NULL;
    EXPECT_INT(hd_cell_child(cell, pointer, &below, &error), HD_LIMIT_PATH);
    EXPECT(below == NULL);
    hd_cell_free(cell);
    fixture_close(&fixture);
}

/* -- Links --------------------------------------------------------------- */

TEST(links_are_followed_by_reads_and_writes)
{
    struct fixture fixture;
    fixture_open(&fixture, NULL, 1);
    hd_cell *a = cell_of(&fixture, "a", NULL);
    hd_cell *b = cell_of(&fixture, "b", NULL);
    hd_cell *at = cell_of(&fixture, "b", "/to");
    hd_error error;
    set_json(a, "{\"n\":1}");
    set_json(b, "{\"to\":null}");
    EXPECT_INT(hd_cell_set_link(at, a, &error), HD_OK);
    expect_json(at, "{\"n\":1}");
    hd_cell *through = cell_of(&fixture, "b", "/to/n");
    EXPECT_INT(hd_cell_set_int(through, 2, &error), HD_OK);
    expect_json(a, "{\"n\":2}");
    hd_cell *target = NULL;
    char *text = NULL;
    EXPECT_INT(hd_cell_resolve(through, &target, &error), HD_OK);
    EXPECT_INT(hd_cell_text(target, &text, &error), HD_OK);
    EXPECT_TEXT(text, "main/a#/n");
    hd_text_free(text);
    hd_cell_free(target);

    /* As a value, wherever one wants; and the link itself is replaced. */
    hd_cell *c = cell_of(&fixture, "c", NULL);
    hd_value *link = NULL;
    EXPECT_INT(hd_cell_link(a, &link, &error), HD_OK);
    hd_kind kind;
    EXPECT_INT(hd_value_kind(link, &kind), HD_OK);
    EXPECT_INT(kind, HD_LINK);
    EXPECT_INT(hd_cell_set(c, link, &error), HD_OK);
    expect_json(c, "{\"n\":2}");
    EXPECT_INT(hd_cell_set(c, link, &error), HD_OK); /* not to the target */
    expect_json(a, "{\"n\":2}");
    hd_value_unref(link);
    EXPECT_INT(hd_cell_link(b, &link, &error), HD_OK);
    EXPECT_INT(hd_cell_set(c, link, &error), HD_OK);
    hd_value_unref(link);
    expect_json(a, "{\"n\":2}");
    hd_cell *to_n = cell_of(&fixture, "c", "/to/n");
    expect_json(to_n, "2");
    hd_cell_free(to_n);
    EXPECT_INT(hd_cell_set_link(c, at, &error), HD_OK);
    EXPECT_INT(hd_cell_set_link(at, c, &error), HD_OK);
    EXPECT_INT(hd_cell_get(c, &link, &error), HD_ARGUMENT);
    EXPECT(link == NULL);
    EXPECT_CONTAINS(error.text, "cycle");
    hd_cell_free(c);
    hd_cell_free(through);
    hd_cell_free(at);
    hd_cell_free(b);
    hd_cell_free(a);
    fixture_close(&fixture);
}

/* -- Below something absent ---------------------------------------------- */

TEST(a_write_below_something_absent_creates_the_objects_on_the_way)
{
    struct fixture fixture;
    fixture_open(&fixture, NULL, 1);
    hd_cell *d = cell_of(&fixture, "d", NULL);
    hd_cell *deep = cell_of(&fixture, "d", "/a/b/c");
    hd_cell *beside = cell_of(&fixture, "d", "/a/x");
    hd_cell *below = cell_of(&fixture, "d", "/a/x/y");
    hd_cell *listed = cell_of(&fixture, "d", "/list/0");
    hd_error error;
    EXPECT_INT(hd_cell_set_int(deep, 1, &error), HD_OK); /* no document yet */
    expect_json(d, "{\"a\":{\"b\":{\"c\":1}}}");
    EXPECT_INT(hd_cell_set_text(beside, "t", 1, &error), HD_OK);
    expect_json(d, "{\"a\":{\"b\":{\"c\":1},\"x\":\"t\"}}");
    EXPECT_INT(hd_cell_set_bool(below, true, &error), HD_TYPE);
    EXPECT_INT(hd_cell_set_bool(listed, true, &error), HD_NOT_FOUND);
    EXPECT_CONTAINS(error.text, "an array or an object first");
    hd_cell_free(listed);
    hd_cell_free(below);
    hd_cell_free(beside);
    hd_cell_free(deep);
    hd_cell_free(d);
    fixture_close(&fixture);
}

/* -- Edits --------------------------------------------------------------- */

struct transfer {
    hd_cell *from;
    hd_cell *to;
    unsigned calls;
    hd_status fails;
    hd_status nested;
    struct fixture *fixture;
    hd_cell *disturbed; /* by another runtime, at the first attempt */
};

static hd_status transfer(hd_runtime *runtime, void *context)
{
    struct transfer *all = context;
    all->calls++;
    int64_t from = 0;
    hd_status status = hd_cell_get_int(all->from, &from, NULL);
    if (status != HD_OK) {
        return status;
    }
    if (all->disturbed != NULL && all->calls == 1) {
        EXPECT_INT(hd_cell_set_int(all->disturbed, 50, NULL), HD_OK);
        fixture_settle(all->fixture);
    }
    all->nested = hd_runtime_edit(runtime, transfer, context, NULL);
    status = hd_cell_set_int(all->from, from - 1, NULL);
    if (status == HD_OK) {
        status = hd_cell_increment(all->to, 1, NULL);
    }
    return status != HD_OK ? status : all->fails;
}

TEST(an_edit_is_all_or_nothing)
{
    struct fixture fixture;
    fixture_open(&fixture, NULL, 1);
    struct transfer all = {
        .from = cell_of(&fixture, "a", NULL),
        .to = cell_of(&fixture, "b", NULL),
    };
    hd_error error;
    EXPECT_INT(hd_cell_set_int(all.from, 10, &error), HD_OK);
    EXPECT_INT(hd_cell_set_int(all.to, 0, &error), HD_OK);
    EXPECT_INT(hd_runtime_edit(fixture.runtime, transfer, &all, &error), HD_OK);
    EXPECT_INT(error.status, HD_OK);
    EXPECT_INT(all.nested, HD_MISUSE);
    expect_json(all.from, "9");
    expect_json(all.to, "1");
    all.fails = HD_RANGE;
    EXPECT_INT(hd_runtime_edit(fixture.runtime, transfer, &all, &error),
               HD_RANGE);
    EXPECT_CONTAINS(error.text, "HD_RANGE");
    EXPECT_EQ(error.attempts, 1);
    EXPECT(!error.may_have_happened);
    expect_json(all.from, "9");
    expect_json(all.to, "1");
    EXPECT_EQ(all.calls, 2);
    hd_cell_free(all.to);
    hd_cell_free(all.from);
    fixture_close(&fixture);
}

TEST(an_edit_is_done_again_if_another_runtime_was_faster)
{
    char folder[256];
    kit_folder_new(folder, sizeof folder);
    struct fixture one;
    struct fixture two;
    fixture_open(&one, folder, 1);
    fixture_open(&two, folder, 2);
    struct transfer all = {
        .from = cell_of(&one, "a", NULL),
        .to = cell_of(&one, "b", NULL),
        .disturbed = cell_of(&two, "a", NULL),
        .fixture = &two,
    };
    hd_error error;
    EXPECT_INT(hd_cell_set_int(all.from, 10, &error), HD_OK);
    EXPECT_INT(hd_cell_set_int(all.to, 0, &error), HD_OK);
    fixture_settle(&one);
    EXPECT_INT(hd_runtime_edit(one.runtime, transfer, &all, &error), HD_OK);
    EXPECT_EQ(all.calls, 2);
    expect_json(all.from, "49");
    expect_json(all.to, "1");
    EXPECT_INT(one.reports, 0);
    hd_cell_free(all.disturbed);
    hd_cell_free(all.to);
    hd_cell_free(all.from);
    fixture_close(&one);
    fixture_close(&two);
    kit_folder_remove(folder);
}

TEST(a_write_of_its_own_is_done_again_if_another_runtime_was_faster)
{
    char folder[256];
    kit_folder_new(folder, sizeof folder);
    struct fixture one;
    struct fixture two;
    fixture_open(&one, folder, 1);
    fixture_open(&two, folder, 2);
    hd_cell *link = cell_of(&one, "link", NULL);
    hd_cell *a = cell_of(&one, "a", NULL);
    hd_cell *b = cell_of(&one, "b", NULL);
    hd_error error;
    EXPECT_INT(hd_cell_set_int(a, 1, &error), HD_OK);
    EXPECT_INT(hd_cell_set_int(b, 1, &error), HD_OK);
    EXPECT_INT(hd_cell_set_link(link, a, &error), HD_OK);
    fixture_settle(&one);

    /* The other one moves the link, and this one writes through it before it
     * knows: the write belongs where the link leads now. */
    hd_cell *link_there = cell_of(&two, "link", NULL);
    hd_cell *b_there = cell_of(&two, "b", NULL);
    EXPECT_INT(hd_cell_set_link(link_there, b_there, &error), HD_OK);
    fixture_settle(&two);
    EXPECT_INT(hd_cell_set_int(link, 5, &error), HD_OK);
    expect_json(a, "5");
    fixture_settle(&one);
    expect_json(a, "1");
    expect_json(b, "5");
    EXPECT_INT(one.reports, 0);
    hd_cell_free(b_there);
    hd_cell_free(link_there);
    hd_cell_free(b);
    hd_cell_free(a);
    hd_cell_free(link);
    fixture_close(&one);
    fixture_close(&two);
    kit_folder_remove(folder);
}

TEST(what_was_settled_is_there_in_the_next_process)
{
    char folder[256];
    kit_folder_new(folder, sizeof folder);
    struct fixture fixture;
    hd_error error;
    fixture_open(&fixture, folder, 1);
    hd_cell *cell = cell_of(&fixture, "x", NULL);
    EXPECT_INT(hd_cell_set_int(cell, 7, &error), HD_OK);
    EXPECT_INT(hd_runtime_close(fixture.runtime, HD_NEVER, &error), HD_OK);
    hd_cell_free(cell);
    fixture_close(&fixture);

    fixture_open(&fixture, folder, 2);
    cell = cell_of(&fixture, "x", NULL);
    expect_json(cell, "7"); /* without a step */
    hd_cell_free(cell);
    fixture_close(&fixture);
    kit_folder_remove(folder);
}
