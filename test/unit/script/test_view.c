/* view: what code sees of a document, and what is noted of what it looks at. */

#include "script/view.h"

#include "lib/gen.h"
#include "lib/values.h"
#include "script/convert.h"
#include "unit/script/kit.h"
#include "value/compare.h"
#include "value/doc_link.h"

/* A source over two documents, which notes every read as a line: "leaf
 * /a/0", "kind /a", "shape /a", "deep ", with "other" before those of the
 * second document. Links of the first lead to the root of the second. */
struct lua_runtime {
    struct kit kit;
    struct view_source source;
    struct view_run run;
    struct path_table paths;
    struct value documents[2];
    struct buf notes;
    struct value taken;
    struct err_detail refused;
};

static void note(struct lua_runtime *lua,
                 const char *what,
                 const struct view_place *place,
                 const struct path_segment *step)
{
    if (lua->notes.length > 0) {
        buf_append_char(&lua->notes, ' ');
    }
    if (place->document == &lua->documents[1]) {
        buf_append_text(&lua->notes, "other ");
    }
    buf_append_text(&lua->notes, what);
    buf_append_char(&lua->notes, ' ');
    path_write(&lua->notes, place->path);
    if (step != NULL) {
        path_write_segments(&lua->notes, step, 1);
    }
}

static struct value at(const struct view_place *place)
{
    const struct value *document = place->document;
    return value_at(*document, place->path);
}

static enum err find_child(struct view_source *source,
                           const struct view_place *place,
                           const struct path_segment *step,
                           struct view_found *out,
                           struct err_detail *detail)
{
    struct lua_runtime *lua = CONTAINER_OF(source, struct lua_runtime, source);
    if (value_is_text(step->key, "forbidden")) {
        return err_set(detail, ERR_STALE, "not today");
    }
    struct value found = value_child(at(place), step);
    if (value_kind(found) == VALUE_LINK) {
        note(lua, "link", place, step);
        out->value = value_ref(lua->documents[1]);
        out->place.document = &lua->documents[1];
        out->place.path = path_new(&lua->paths, NULL, 0);
        return ERR_OK;
    }
    note(lua, value_is_container(found) ? "kind" : "leaf", place, step);
    out->value = value_ref(found);
    out->place.document = place->document;
    out->place.path = path_child(place->path, step->key);
    return ERR_OK;
}

static enum err find_shape(struct view_source *source,
                           const struct view_place *place,
                           struct value *out,
                           struct err_detail *detail)
{
    struct lua_runtime *lua = CONTAINER_OF(source, struct lua_runtime, source);
    (void)detail;
    note(lua, "shape", place, NULL);
    *out = value_ref(at(place));
    return ERR_OK;
}

static enum err find_deep(struct view_source *source,
                          const struct view_place *place,
                          struct value *out,
                          struct err_detail *detail)
{
    struct lua_runtime *lua = CONTAINER_OF(source, struct lua_runtime, source);
    (void)detail;
    note(lua, "deep", place, NULL);
    *out = value_ref(at(place));
    return ERR_OK;
}

static void open_heddle(lua_State *L, void *ctx)
{
    (void)ctx;
    lua_newtable(L);
    convert_add_functions(L);
}

static void lua_runtime_init(struct lua_runtime *lua, const char *json)
{
    *lua = (struct lua_runtime){0};
    kit_init(&lua->kit, NULL);
    EXPECT_EQ(script_module_register(lua->kit.script,
                                     "heddle",
                                     open_heddle,
                                     NULL,
                                     &lua->kit.error),
              SCRIPT_FINE);
    lua->source = (struct view_source){find_child, find_shape, find_deep};
    path_table_init(&lua->paths);
    lua->documents[0] = from_quoted(json);
    lua->documents[1] = from_quoted("{'name':'linked'}");
    view_run_begin(&lua->run, &lua->source);
}

static void lua_runtime_release(struct lua_runtime *lua)
{
    view_run_end(&lua->run);
    value_unref(lua->documents[0]);
    value_unref(lua->documents[1]);
    value_unref(lua->taken);
    path_table_release(&lua->paths);
    kit_release(&lua->kit);
    buf_release(&lua->notes);
}

static int push_root(lua_State *L, void *ctx)
{
    struct lua_runtime *lua = ctx;
    struct view_found *found = view_hold(&lua->run);
    found->value = value_ref(lua->documents[0]);
    found->place.document = &lua->documents[0];
    found->place.path = path_new(&lua->paths, NULL, 0);
    view_push_held(L, &lua->run);
    EXPECT_EQ(view_is(L, -1), value_is_container(lua->documents[0]));
    return 1;
}

static void take_text(lua_State *L, int count, void *ctx)
{
    struct lua_runtime *lua = ctx;
    kit_take(L, count, &lua->kit);
}

static void take_value(lua_State *L, int count, void *ctx)
{
    struct lua_runtime *lua = ctx;
    EXPECT_INT(count, 1);
    value_unref(lua->taken);
    lua->refused = (struct err_detail){0};
    const enum err err =
        convert_read(L, 1, "v", NULL, &lua->taken, &lua->refused);
    EXPECT_EQ(lua->refused.err, err);
}

static void run(struct lua_runtime *lua,
                const char *code,
                void (*take)(lua_State *L, int count, void *ctx))
{
    buf_clear(&lua->notes);
    struct script_function function;
    if (!kit_load(&lua->kit, code, &function)) {
        return;
    }
    const struct script_call call = {.function = function,
                                     .push = push_root,
                                     .take = take,
                                     .ctx = lua};
    if (script_call(lua->kit.script, &call, &lua->kit.error) != SCRIPT_FINE) {
        script_error_write(&lua->kit.result, &lua->kit.error);
    }
    script_function_release(lua->kit.script, &function);
}

/* The document is the argument of `code`. */
static void expect_seen(struct lua_runtime *lua,
                        const char *code,
                        const char *want,
                        const char *notes)
{
    run(lua, code, take_text);
    EXPECT_TEXT(buf_text(&lua->kit.result), want);
    EXPECT_TEXT(buf_text(&lua->notes), notes);
}

TEST(only_what_is_touched_is_noted)
{
    struct lua_runtime lua;
    lua_runtime_init(&lua,
                     "{'items':[{'price':2,'qty':3},{'price':4}],'title':'x',"
                     "'none':null,'b':{'y':1,'x':2}}");
    expect_seen(&lua, "local v = ...", "", "");
    expect_seen(&lua, "return (...).title", "x", "leaf /title");
    expect_seen(&lua, "return (...).none", "null", "leaf /none");
    expect_seen(&lua, "return (...).missing", "nil", "leaf /missing");
    expect_seen(&lua, "local x = (...).items", "", "kind /items");
    expect_seen(&lua, "return #(...).items", "2", "kind /items shape /items");
    expect_seen(&lua,
                "return (...).items[1].price",
                "2",
                "kind /items kind /items/0 leaf /items/0/price");
    expect_seen(&lua,
                "local n = 0 for i, item in ipairs((...).items) do n = n + i * "
                "item.price end return n",
                "10",
                "kind /items shape /items kind /items/0 leaf /items/0/price "
                "kind /items/1 leaf /items/1/price");
    expect_seen(&lua,
                "for k, v in pairs((...).items) do return k, v.qty end",
                "1 3",
                "kind /items shape /items kind /items/0 leaf /items/0/qty");
    expect_seen(
        &lua,
        "local s = '' for k, v in pairs((...).b) do s = s .. k .. v end "
        "return s",
        "x2y1",
        "kind /b shape /b leaf /b/x leaf /b/y");
    lua_runtime_release(&lua);
}

TEST(keys_that_cannot_be_there_are_nil_and_no_read)
{
    struct lua_runtime lua;
    lua_runtime_init(&lua, "{'a':[1,2],'0':'zero','1':'one'}");
    expect_seen(&lua, "return (...)[1], (...)[true]", "nil nil", "");
    expect_seen(&lua, "return (...)['1']", "one", "leaf /1");
    expect_seen(&lua,
                "local a = (...).a return a[0], a[-1], a.x, a['1'], a[1.5], "
                "a[2^40]",
                "nil nil nil nil nil nil",
                "kind /a");
    expect_seen(&lua,
                "local a = (...).a return a[1.0], a[3]",
                "1 nil",
                "kind /a leaf /a/0 leaf /a/2");
    expect_seen(&lua, "return (...)['\\xff']", "nil", "");
    expect_seen(&lua, "return #(...)", "0", "shape ");
    expect_seen(&lua,
                "for i in ipairs(...) do return i end return 'none'",
                "none",
                "shape ");
    lua_runtime_release(&lua);
}

TEST(views_are_read_only)
{
    struct lua_runtime lua;
    lua_runtime_init(&lua, "{'a':[1]}");
    expect_seen(&lua,
                "\nlocal v = ... v.price = 1",
                "test.lua:2: the value of get() is read-only: use "
                "cell:key(\"price\"):set(value)",
                "");
    expect_seen(&lua,
                "(...).a[2] = 1",
                "test.lua:1: the value of get() is read-only: use "
                "cell:key(2):set(value) or cell:append(value)",
                "kind /a");
    expect_seen(&lua,
                "table.insert((...).a, 5)",
                "test.lua:1: the value of get() is read-only: use "
                "cell:key(2):set(value) or cell:append(value)",
                "kind /a shape /a");
    expect_seen(&lua,
                "(...)[{}] = 1",
                "test.lua:1: the value of get() is read-only: use "
                "cell:key(...):set(value)",
                "");
    expect_seen(
        &lua,
        "return getmetatable(...), pcall(setmetatable, ..., {})",
        "false false bad argument #1 to 'setmetatable' (table expected, "
        "got view)",
        "");
    expect_seen(&lua,
                "return pcall(rawset, ..., 1, 1)",
                "false bad argument #1 to 'rawset' (table expected, got view)",
                "");
    lua_runtime_release(&lua);
}

TEST(the_table_library_reads_views)
{
    struct lua_runtime lua;
    lua_runtime_init(&lua, "['a','b','c']");
    expect_seen(&lua,
                "return table.concat(..., '-')",
                "a-b-c",
                "shape  leaf /0 leaf /1 leaf /2");
    expect_seen(&lua,
                "return (select('#', table.unpack(...)))",
                "3",
                "shape  leaf /0 leaf /1 leaf /2");
    lua_runtime_release(&lua);
}

TEST(links_are_followed)
{
    struct lua_runtime lua;
    lua_runtime_init(&lua, "{'to':{'/':{'link@1':{'id':'of:y'}}}}");
    expect_seen(&lua,
                "return (...).to.name",
                "linked",
                "link /to other leaf /name");
    lua_runtime_release(&lua);
}

TEST(views_of_one_place_are_equal)
{
    struct lua_runtime lua;
    lua_runtime_init(&lua, "{'a':[[1],[1]],'b':{}}");
    expect_seen(
        &lua,
        "local v = ... return v.a == v.a, v.a[1] == v.a[2], v.a == v.b, "
        "v.a == 1, v.a ~= v.a",
        "true false false false false",
        "kind /a kind /a kind /a kind /a/0 kind /a kind /a/1 kind /a "
        "kind /b kind /a kind /a kind /a");
    lua_runtime_release(&lua);
}

TEST(a_view_is_its_value_where_a_value_is_wanted)
{
    struct lua_runtime lua;
    lua_runtime_init(&lua, "{'a':[1,{'b':null}],'c':{}}");
    expect_seen(&lua,
                "return tostring((...).a)",
                "[1,{\"b\":null}]",
                "kind /a deep /a");
    run(&lua, "return {x = (...).a, y = ...}", take_value);
    struct value want =
        from_quoted("{'x':[1,{'b':null}],'y':{'a':[1,{'b':null}],'c':{}}}");
    EXPECT_VALUE(lua.taken, want);
    value_unref(want);
    lua_runtime_release(&lua);
}

TEST(a_view_dies_with_its_run)
{
    struct lua_runtime lua;
    lua_runtime_init(&lua, "{'a':[1,2]}");
    expect_seen(&lua,
                "kept = (...).a loop = {pairs(...)}",
                "",
                "kind /a shape ");
    view_run_end(&lua.run);
    EXPECT(list_is_empty(&lua.run.views));
    static const char *const uses[] = {
        "return kept[1]",
        "return #kept",
        "for _ in pairs(kept) do end",
        "for _ in ipairs(kept) do end",
        "return tostring(kept)",
        "loop[1](loop[2], loop[3])",
    };
    for (size_t i = 0; i < COUNT_OF(uses); i++) {
        EXPECT_CONTAINS(kit_run(&lua.kit, uses[i]),
                        "this value was read in a run that has ended: read it "
                        "again with get()");
    }
    EXPECT_TEXT(kit_run(&lua.kit, "return kept == kept"), "true");
    view_run_begin(&lua.run, &lua.source);
    run(&lua, "return kept", take_value);
    EXPECT_TEXT(lua.refused.text,
                "v cannot be read: it was read in a run that has ended");
    lua_runtime_release(&lua);
}

TEST(a_loop_sees_what_the_run_writes)
{
    struct lua_runtime lua;
    lua_runtime_init(&lua, "{'a':1,'b':2}");
    expect_seen(&lua,
                "kept = ... f, s, k = pairs(kept) k = f(s, k) return k",
                "a",
                "shape  leaf /a");
    value_unref(lua.documents[0]);
    lua.documents[0] = from_quoted("{'a':1,'c':2}");
    EXPECT_TEXT(kit_run(&lua.kit, "return f(s, k)"), "nil");
    EXPECT_TEXT(kit_run(&lua.kit, "return kept.c"), "2");
    lua_runtime_release(&lua);
}

TEST(what_the_source_refuses_is_raised)
{
    struct lua_runtime lua;
    lua_runtime_init(&lua, "{}");
    expect_seen(&lua, "\nreturn (...).forbidden", "test.lua:2: not today", "");
    lua_runtime_release(&lua);
}

TEST(garbage_views_are_forgotten)
{
    struct lua_runtime lua;
    lua_runtime_init(&lua, "{'a':{'b':1}}");
    run(&lua, "for i = 1, 20000 do local x = (...).a.b end", take_text);
    size_t alive = 0;
    for (const struct list_node *node = lua.run.views.head.next;
         node != &lua.run.views.head;
         node = node->next) {
        alive++;
    }
    EXPECT(alive < 15000);
    lua_runtime_release(&lua);
}

PROPERTY(a_copy_through_views_is_the_value, 150)
{
    const struct gen gen = {.random = random,
                            .depth = 4,
                            .width = 40,
                            .flags = GEN_PLAIN};
    struct lua_runtime lua;
    lua_runtime_init(&lua, "null");
    value_unref(lua.documents[0]);
    lua.documents[0] = gen_value(&gen);
    run(&lua,
        "local heddle = require 'heddle'\n"
        "local function copy(v)\n"
        "  if type(v) ~= 'userdata' or v == heddle.null then return v end\n"
        "  local t = tostring(v):find('^[%[a]') and heddle.array{} or {}\n"
        "  for k, item in pairs(v) do t[k] = copy(item) end\n"
        "  return t\n"
        "end\n"
        "return copy(...)",
        take_value);
    EXPECT_TEXT(lua.refused.text, "");
    EXPECT_VALUE(lua.taken, lua.documents[0]);
    lua_runtime_release(&lua);
}
