/* program: files of patterns on a runtime, and hostile ones. */

#include "script/program.h"

#include <string.h>

#include "host/world.h"
#include "lib/test.h"
#include "runtime/piece.h"
#include "value/array.h"
#include "value/json.h"
#include "value/object.h"

/* A program on a runtime of a world of its own; everything that is told is
 * kept. */
struct troupe {
    struct world *world;
    struct world_store *store;
    struct world_runtime *one;
    struct program *program;
    struct piece *piece;
    struct buf told;
    struct buf shown;
    bool stop;
};

static mono_ms on_now(void *ctx)
{
    return world_now(((struct troupe *)ctx)->world);
}

static uint64_t on_wall(void *ctx)
{
    return 1000000 + on_now(ctx);
}

static void on_print(void *ctx, const char *line, size_t length)
{
    struct troupe *troupe = ctx;
    buf_append_char(&troupe->told, '>');
    buf_append(&troupe->told, line, length);
    buf_append_char(&troupe->told, ';');
}

static void on_notice(void *ctx, const char *text)
{
    buf_printf(&((struct troupe *)ctx)->told, "(%s);", text);
}

static bool on_interrupted(void *ctx)
{
    return ((const struct troupe *)ctx)->stop;
}

static void on_settle(void *ctx)
{
    struct troupe *troupe = ctx;
    for (unsigned i = 0; i < 100 && world_step(troupe->one); i++) {
    }
}

static void on_error(void *ctx,
                     const struct node *node,
                     const struct err_detail *detail)
{
    const struct value name = node_name(node);
    const struct text text = value_text(&name);
    buf_printf(&((struct troupe *)ctx)->told,
               "%.*s failed: %s;",
               (int)text.length,
               text.at,
               detail->text);
}

static void on_run(void *ctx,
                   const struct run *run,
                   const struct run_record *record)
{
    if (record->outcome == OUTCOME_COMMITTED) {
        program_note_run(((struct troupe *)ctx)->program, run->node);
    }
}

static enum err on_shout(void *ctx,
                         struct value arguments,
                         struct value *result,
                         struct err_detail *detail)
{
    struct troupe *troupe = ctx;
    if (array_count(arguments) == 0) {
        return err_set(detail, ERR_ARGUMENT, "there is nothing to shout");
    }
    buf_append_text(&troupe->told, "shout ");
    json_write(&troupe->told, arguments, JSON_CANONICAL, 0);
    buf_append_char(&troupe->told, ';');
    *result = value_int((int64_t)array_count(arguments));
    return ERR_OK;
}

static void on_post(void *ctx, struct value arguments)
{
    struct troupe *troupe = ctx;
    buf_append_text(&troupe->told, "post ");
    json_write(&troupe->told, arguments, JSON_CANONICAL, 0);
    buf_append_char(&troupe->told, ';');
}

static void troupe_start_runtime(struct troupe *troupe)
{
    const struct world_runtime_options options = {
        .hooks = {.ctx = troupe, .error = on_error, .run = on_run},
    };
    struct err_detail detail = {0};
    EXPECT_EQ(world_runtime_new(troupe->store, &options, &troupe->one, &detail),
              ERR_OK);
}

static void troupe_init(struct troupe *troupe)
{
    static struct program_function functions[3]; /* and an end */
    *troupe = (struct troupe){.world = world_new(1)};
    functions[0] = (struct program_function){.name = "shout",
                                             .call = on_shout,
                                             .ctx = troupe};
    functions[1] = (struct program_function){.name = "post",
                                             .after = on_post,
                                             .ctx = troupe};
    struct err_detail detail = {0};
    EXPECT_EQ(world_store_new(troupe->world, NULL, &troupe->store, &detail),
              ERR_OK);
    const struct program_options options = {
        .host = {.ctx = troupe,
                 .now = on_now,
                 .wall = on_wall,
                 .print = on_print,
                 .notice = on_notice,
                 .interrupted = on_interrupted,
                 .settle = on_settle},
        .functions = functions,
        .seed = 7,
        .memory_bytes = 4 * 1024 * 1024,
        .steps = 1000 * 1000,
    };
    troupe->program = program_new(&options);
    troupe_start_runtime(troupe);
    program_attach(troupe->program, &troupe->one->runtime);
}

static void troupe_release(struct troupe *troupe)
{
    program_detach(troupe->program);
    world_free(troupe->world);
    program_free(troupe->program);
    buf_release(&troupe->told);
    buf_release(&troupe->shown);
}

/* The process ends as in a crash, and there is another one. */
static void troupe_restart(struct troupe *troupe)
{
    EXPECT_EQ(world_idle(troupe->one, true), WORLD_AT_REST);
    program_detach(troupe->program);
    world_runtime_end(troupe->one);
    troupe_start_runtime(troupe);
    program_attach(troupe->program, &troupe->one->runtime);
}

/* "", or the error. */
static const char *load(struct troupe *troupe, const char *text)
{
    struct err_detail detail = {0};
    const struct program_source source = {"p.lua", text, strlen(text)};
    buf_clear(&troupe->shown);
    const enum err err = program_load(troupe->program, &source, &detail);
    if (err != ERR_OK) {
        buf_printf(&troupe->shown, "%s: %s", err_name(err), detail.text);
    }
    return buf_text(&troupe->shown);
}

/* Starts a piece of what was loaded: "", or the error. */
static const char *start(struct troupe *troupe, const char *name)
{
    struct err_detail detail = {0};
    const struct piece_options options = {
        .name = value_text_new(name),
        .pattern = program_pattern(troupe->program),
    };
    buf_clear(&troupe->shown);
    enum err err =
        piece_start(&troupe->one->runtime, &options, &troupe->piece, &detail);
    value_unref(options.name);
    for (unsigned i = 0;
         i < 20 && err == ERR_OK && troupe->piece->state == PIECE_LOADING;
         i++) {
        (void)world_step(troupe->one);
    }
    if (err == ERR_OK && troupe->piece->state != PIECE_RUNNING) {
        err = troupe->piece->error.err;
        detail = troupe->piece->error;
        piece_stop(troupe->piece);
    }
    if (err != ERR_OK) {
        buf_printf(&troupe->shown, "%s", detail.text);
    }
    return buf_text(&troupe->shown);
}

/* What is at a field of the result, as JSON. */
static const char *look(struct troupe *troupe, const char *field)
{
    struct place *result = piece_result(troupe->piece);
    const struct value key = value_text_new(field);
    struct place *place = place_child(result, key);
    struct value value = VALUE_NONE;
    struct err_detail detail = {0};
    buf_clear(&troupe->shown);
    if (program_read(troupe->program, place, &value, &detail) != ERR_OK) {
        buf_append_text(&troupe->shown, detail.text);
    } else if (!value_is_absent(value)) {
        json_write(&troupe->shown, value, JSON_CANONICAL, 0);
    }
    value_unref(value);
    place_unref(place);
    value_unref(key);
    place_unref(result);
    return buf_text(&troupe->shown);
}

static void send(struct troupe *troupe, const char *name, struct value payload)
{
    const struct value key = value_text_new(name);
    struct stream *stream = NULL;
    struct err_detail detail = {0};
    EXPECT_EQ(piece_stream(troupe->piece, key, &stream, &detail), ERR_OK);
    const struct event_spec spec = {.payload = payload,
                                    .time = on_wall(troupe)};
    EXPECT_EQ(events_send(troupe->one->runtime.sched, stream, &spec, &detail),
              ERR_OK);
    value_unref(key);
    EXPECT_EQ(world_idle(troupe->one, true), WORLD_AT_REST);
}

static uint64_t runs(const struct troupe *troupe, const char *name)
{
    const struct value key = value_text_new(name);
    const struct node *node = piece_node(troupe->piece, key);
    value_unref(key);
    return EXPECT(node != NULL) ? program_runs(troupe->program, node) : 0;
}

static const char counter[] =
    "local heddle = require 'heddle'\n"
    "return heddle.pattern('counter', function(p)\n"
    "  local n = p:state('n', 0)\n"
    "  local twice = p:computed('twice', function() return n:get() * 2 end)\n"
    "  local add = p:handler('add', function(by) n:increment(by)\n"
    "    return n:get() end)\n"
    "  p:effect('shown', function() print(twice:get()) end)\n"
    "  return { n = n, twice = twice, add = add }\n"
    "end)\n";

/* -- Ordinary life ------------------------------------------------------- */

TEST(a_file_gives_its_pattern_and_a_piece_of_it_runs)
{
    struct troupe troupe;
    troupe_init(&troupe);
    EXPECT_TEXT(load(&troupe, counter), "");
    EXPECT(program_pattern(troupe.program) ==
           program_pattern_named(troupe.program, "counter"));
    EXPECT_TEXT(start(&troupe, "c"), "");
    send(&troupe, "add", value_int(3));
    EXPECT_TEXT(look(&troupe, "twice"), "6");
    EXPECT_TEXT(buf_text(&troupe.told), ">0;>6;");
    EXPECT_INT(runs(&troupe, "twice"), 2);
    troupe_release(&troupe);
}

TEST(a_piece_is_taken_up_again_and_nothing_runs)
{
    struct troupe troupe;
    troupe_init(&troupe);
    EXPECT_TEXT(load(&troupe, counter), "");
    EXPECT_TEXT(start(&troupe, "c"), "");
    send(&troupe, "add", value_int(3));
    troupe_restart(&troupe);
    buf_clear(&troupe.told);
    EXPECT_TEXT(start(&troupe, "c"), "");
    EXPECT_EQ(world_idle(troupe.one, true), WORLD_AT_REST);
    EXPECT_TEXT(buf_text(&troupe.told), "");
    EXPECT_TEXT(look(&troupe, "twice"), "6");
    EXPECT_INT(runs(&troupe, "twice"), 0);
    EXPECT_INT((int64_t)troupe.piece->counts.restored, 2);
    troupe_release(&troupe);
}

TEST(a_file_that_is_loaded_again_runs_only_what_was_edited)
{
    struct troupe troupe;
    troupe_init(&troupe);
    EXPECT_TEXT(load(&troupe, counter), "");
    EXPECT_TEXT(start(&troupe, "c"), "");
    send(&troupe, "add", value_int(3));
    piece_stop(troupe.piece);
    struct buf edited = {0};
    buf_append_text(&edited, "-- a line more, and another handler\n");
    buf_append_text(&edited, counter);
    char *by = strstr(edited.at, "increment(by)");
    memcpy(by, "set      (by)", strlen("set      (by)"));
    EXPECT_TEXT(load(&troupe, buf_text(&edited)), "");
    buf_clear(&troupe.told);
    EXPECT_TEXT(start(&troupe, "c"), "");
    EXPECT_EQ(world_idle(troupe.one, true), WORLD_AT_REST);
    EXPECT_INT((int64_t)troupe.piece->counts.restored, 2);
    EXPECT_TEXT(buf_text(&troupe.told), "");
    send(&troupe, "add", value_int(10));
    EXPECT_TEXT(look(&troupe, "twice"), "20");
    buf_release(&edited);
    troupe_release(&troupe);
}

TEST(what_has_no_fingerprint_runs_at_every_start_and_is_told_of_once)
{
    struct troupe troupe;
    troupe_init(&troupe);
    EXPECT_TEXT(
        load(&troupe,
             "local heddle = require 'heddle'\n"
             "local routine = coroutine.create(function() end)\n"
             "return heddle.pattern('x', function(p)\n"
             "  local function status() return coroutine.status(routine) end\n"
             "  return { a = p:computed('a', status),\n"
             "           b = p:computed('b', status) } end)\n"),
        "");
    EXPECT_TEXT(start(&troupe, "x"), "");
    EXPECT_TEXT(buf_text(&troupe.told),
                "(a runs again at every start: its function has no fingerprint "
                "('routine' is a thread, which has no identity));");
    EXPECT_TEXT(look(&troupe, "b"), "\"suspended\"");
    troupe_release(&troupe);
}

TEST(effects_reach_the_functions_of_the_host_and_nobody_else_does)
{
    struct troupe troupe;
    troupe_init(&troupe);
    EXPECT_TEXT(
        load(&troupe,
             "local heddle = require 'heddle'\n"
             "return heddle.pattern('x', function(p)\n"
             "  local n = p:state('n', 1)\n"
             "  local c = p:computed('c', function() return heddle.shout() "
             "end)\n"
             "  p:effect('e', function()\n"
             "    print(heddle.shout(n:get(), {a = 1}, nil, 'x'))\n"
             "    heddle.shout() end)\n"
             "  p:effect('f', function() c:get() end)\n"
             "  return { n = n } end)\n"),
        "");
    EXPECT_TEXT(start(&troupe, "x"), "");
    EXPECT_EQ(world_idle(troupe.one, true), WORLD_AT_REST);
    const char *told = buf_text(&troupe.told);
    EXPECT(strstr(told, "shout [1,{\"a\":1},null,\"x\"];>4;") != NULL);
    EXPECT(strstr(told, "e failed: p.lua:7: there is nothing to shout;") !=
           NULL);
    EXPECT(strstr(told, "heddle.shout is only for effects;") != NULL);
    troupe_release(&troupe);
}

TEST(what_cannot_be_taken_back_is_done_once_after_the_run_has_landed)
{
    struct troupe troupe;
    troupe_init(&troupe);
    EXPECT_TEXT(load(&troupe,
                     "local heddle = require 'heddle'\n"
                     "return heddle.pattern('x', function(p)\n"
                     "  local n = p:state('n', 1)\n"
                     "  local log = p:state('log', 0)\n"
                     "  p:effect('e', function()\n"
                     "    heddle.post('n', n:get()) print('ran')\n"
                     "    log:set(n:get())\n"
                     "    if n:get() > 1 then error('no') end end)\n"
                     "  local set = p:handler('set', function(v)\n"
                     "    if v == 0 then heddle.post(v) end n:set(v) end)\n"
                     "  return { n = n, set = set } end)\n"),
                "");
    world_hold(troupe.one, true); /* nothing lands */
    EXPECT_TEXT(start(&troupe, "x"), "");
    for (unsigned i = 0; i < 10; i++) {
        (void)world_step(troupe.one);
    }
    EXPECT(strstr(buf_text(&troupe.told), ">ran;") != NULL); /* it has run */
    EXPECT(strstr(buf_text(&troupe.told), "post") == NULL);
    world_hold(troupe.one, false);
    EXPECT_EQ(world_idle(troupe.one, true), WORLD_AT_REST);
    EXPECT(strstr(buf_text(&troupe.told), "post [\"n\",1];") != NULL);
    /* A run that fails does nothing, and a handler may not. */
    buf_clear(&troupe.told);
    send(&troupe, "set", value_int(2));
    send(&troupe, "set", value_int(0));
    EXPECT_EQ(world_idle(troupe.one, true), WORLD_AT_REST);
    EXPECT(strstr(buf_text(&troupe.told), "e failed: p.lua:8: no;") != NULL);
    EXPECT(strstr(buf_text(&troupe.told), "post [") == NULL);
    troupe_release(&troupe);
}

TEST(time_and_chance_are_recorded_with_the_run_and_the_event)
{
    struct troupe troupe;
    troupe_init(&troupe);
    EXPECT_TEXT(
        load(&troupe,
             "local heddle = require 'heddle'\n"
             "return heddle.pattern('x', function(p)\n"
             "  local at = p:state('at', 0)\n"
             "  local go = p:handler('go', function()\n"
             "    at:set(heddle.now()) return heddle.random(1000) end)\n"
             "  local c = p:computed('c', function()\n"
             "    return { heddle.now(), at:get() } end)\n"
             "  return { at = at, go = go, c = c } end)\n"),
        "");
    EXPECT_TEXT(start(&troupe, "x"), "");
    world_advance(troupe.world, 10);
    send(&troupe, "go", value_null());
    EXPECT_TEXT(look(&troupe, "c"), "[1000010,1000010]");
    world_advance(troupe.world, 10);
    EXPECT_TEXT(look(&troupe, "c"), "[1000010,1000010]");
    troupe_release(&troupe);
}

TEST(lines_are_expressions_or_statements_and_reach_documents_and_pieces)
{
    static const struct {
        const char *line;
        const char *shown;
    } rows[] = {
        {"1 + 1, 'x'", "2\n\"x\"\n"},
        {"x = 5", ""},
        {"x", "5\n"},
        {"doc('a'):set{1, 2}", ""},
        {"doc('a'):get()", "[1,2]\n"},
        {"piece('c'):get('twice')", "0\n"},
        {"piece('nobody')", "line:1: no piece with this name is running"},
        {"error('no')", "line:1: no"},
        {"if", "line:1: unexpected symbol near <eof>"},
    };
    struct troupe troupe;
    troupe_init(&troupe);
    EXPECT_TEXT(load(&troupe, counter), "");
    EXPECT_TEXT(start(&troupe, "c"), "");
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct program_source source = {"line",
                                              rows[i].line,
                                              strlen(rows[i].line)};
        struct err_detail detail = {0};
        buf_clear(&troupe.shown);
        if (program_eval(troupe.program, &source, &troupe.shown, &detail) !=
            ERR_OK) {
            buf_append_text(&troupe.shown, detail.text);
        }
        EXPECT_TEXT(buf_text(&troupe.shown), rows[i].shown);
    }
    troupe_release(&troupe);
}

/* -- Files that are none ------------------------------------------------- */

TEST(a_file_that_fails_says_where)
{
    static const struct {
        const char *text;
        const char *error;
    } rows[] = {
        {"return 1 +", "SYNTAX: p.lua:1: unexpected symbol near <eof>"},
        {"\nerror('no')", "ARGUMENT: p.lua:2: no"},
        {"error({})", "ARGUMENT: p.lua:1: an error object of type table"},
        {"error(nil)", "ARGUMENT: p.lua:1: an error object of type nil"},
        {"return 1",
         "ARGUMENT: p.lua: a pattern file must return the result of "
         "heddle.pattern(name, function(p) ... end)"},
        {"return {}",
         "ARGUMENT: p.lua: a pattern file must return the result of "
         "heddle.pattern(name, function(p) ... end)"},
        {"return require('heddle').pattern('', function() end)",
         "ARGUMENT: p.lua:1: a pattern must have a name"},
        {"return require('heddle').pattern(1, function() end)",
         "ARGUMENT: p.lua:1: bad argument #1 to 'pattern' (string expected, "
         "got number)"},
        {"return require('heddle').pattern('x', 1)",
         "ARGUMENT: p.lua:1: bad argument #2 to 'pattern' (function expected, "
         "got number)"},
        {"while true do end", "ARGUMENT: p.lua:1: the step budget is used up"},
        {"coroutine.yield()",
         "ARGUMENT: p.lua:1: attempt to yield from outside a coroutine"},
        {"return require('heddle').random()",
         "ARGUMENT: p.lua:1: heddle.random() is not available outside a test "
         "or a run"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct troupe troupe;
        troupe_init(&troupe);
        if (i == COUNT_OF(rows) - 1) {
            program_detach(troupe.program); /* otherwise there is the ground */
        }
        EXPECT_TEXT(load(&troupe, rows[i].text), rows[i].error);
        EXPECT(program_pattern(troupe.program) == NULL);
        troupe_release(&troupe);
    }
}

TEST(a_file_may_return_several_patterns)
{
    struct troupe troupe;
    troupe_init(&troupe);
    EXPECT_TEXT(load(&troupe,
                     "local h = require 'heddle'\n"
                     "return { a = h.pattern('a', function() end),\n"
                     "         b = h.pattern('b', function() end) }"),
                "");
    EXPECT(program_pattern(troupe.program) == NULL);
    EXPECT(program_pattern_named(troupe.program, "b") != NULL);
    EXPECT(program_pattern_named(troupe.program, "c") == NULL);
    troupe_release(&troupe);
}

/* -- Hostile patterns ---------------------------------------------------- */

/* The body of a pattern, and what its start says. */
static const struct {
    const char *body;
    const char *error;
} hostile[] = {
    {"while true do end", "p.lua:2: the step budget is used up"},
    {"pcall(function() while true do end end) return {}",
     "p.lua:2: the step budget is used up"},
    {"local t = {} for i = 1, 1e9 do t[i] = ('x'):rep(1000) .. i end",
     "p.lua:2: the memory budget of 4194304 bytes is used up"},
    {"local s = 'x' while true do s = s .. s end",
     "p.lua:2: the memory budget of 4194304 bytes is used up"},
    {"local function f() return 1 + f() end f()",
     "p.lua:2: the memory budget of 4194304 bytes is used up"},
    {"coroutine.yield(1)",
     "p.lua:2: attempt to yield from outside a coroutine"},
    {"coroutine.wrap(function() p:state('a', 1) coroutine.yield() end)() "
     "return { b = p:state('a', 1) }",
     "p.lua:2: 'a' is already declared in this piece"},
    {"error({})", "p.lua:2: an error object of type table"},
    {"error(setmetatable({}, {__tostring = function() error('x') end}))",
     "p.lua:2: an error object without a message"},
    {"return 5",
     "p.lua:2: a pattern must return a table with the fields of its result, "
     "not a number"},
    {"return p",
     "p.lua:2: a pattern must return a table with the fields of its result, "
     "not a userdata"},
    {"return { function() end }",
     "p.lua:2: the fields of a result must have "
     "names"},
    {"return { f = function() end }",
     "p.lua:2: f is a function, which cannot be stored"},
    {"return { f = { g = print } }",
     "p.lua:2: f.g is a function, which cannot be stored"},
    {"local t = {} t.t = t return { t = t }", "p.lua:2: t.t contains itself"},
    {"p:state()",
     "p.lua:2: bad argument #1 to 'state' (string expected, got nil)"},
    {"p.state('x')",
     "p.lua:2: bad argument #1 to 'state' (builder expected, "
     "got string)"},
    {"p:state('')", "p.lua:2: a name must have 1 to 128 bytes"},
    {"p:state('a/b')",
     "p.lua:2: the name a/b must not contain '/' or a zero byte"},
    {"p:state('a', print)",
     "p.lua:2: the initial value is a function, which "
     "cannot be stored"},
    {"p:state('a', 1, {scope = 'moon'})",
     "p.lua:2: the scope must be \"space\", \"user\" or \"session\""},
    {"p:state('a', 1, {scop = 'user'})",
     "p.lua:2: unknown option 'scop'; did you mean 'scope'?"},
    {"p:state('a') p:state('a')",
     "p.lua:2: 'a' is already declared in this piece"},
    {"p:state('a') p:computed('a', function() end)",
     "p.lua:2: 'a' is already declared in this piece"},
    {"p:computed('a')",
     "p.lua:2: bad argument #2 to 'computed' (function expected, got nil)"},
    {"p:computed('a', function() end, {reads = 5})",
     "p.lua:2: reads must be a list of cells"},
    {"p:computed('a', function() end, {debounce = -1})",
     "p.lua:2: debounce must be a number of milliseconds"},
    {"p:computed('a', function() end, {label = 5})",
     "p.lua:2: label must be a string or a list of strings"},
    {"p:effect('a', function() end, {read = {}})",
     "p.lua:2: unknown option 'read'; did you mean 'reads'?"},
    {"p:handler('a', function() end, {writes = {}})",
     "p.lua:2: unknown option 'writes'"},
    {"p:piece({})",
     "p.lua:2: bad argument #1 to 'piece' (pattern expected, got table)"},
    {"p:piece(heddle.pattern('q', function() end), {1})",
     "p.lua:2: bad argument #2 to 'piece' (the arguments of a piece must have "
     "names)"},
    {"p:piece(heddle.pattern('q', function() error('inside') end))",
     "p.lua:2: p.lua:2: inside"},
    {"local s = p:state('a', 1) s:get()",
     "p.lua:2: a pattern is built, not run: read in a function that is given "
     "to p:computed, p:effect or p:handler"},
    {"local s = p:state('a', 1) return { b = s + 1 }",
     "p.lua:2: a pattern is built, not run: read in a function that is given "
     "to p:computed, p:effect or p:handler"},
    {"local s = p:state('a', 1) s:set(2)",
     "p.lua:2: a pattern is built, not run: write in a function that is given "
     "to p:computed, p:effect or p:handler"},
    {"local s = p:handler('a', function() end) s:send(1)",
     "p.lua:2: a pattern is built, not run: send in a function that is given "
     "to p:handler"},
    {"heddle.now()",
     "p.lua:2: heddle.now() is not available while a pattern is built: a "
     "pattern must declare the same each time"},
    {"heddle.random()",
     "p.lua:2: heddle.random() is not available while a pattern is built: a "
     "pattern must declare the same each time"},
    {"heddle.launch(heddle.pattern('q', function() end))",
     "p.lua:2: heddle.launch is only for handlers"},
    {"for i = 1, 1e9 do p:state('s' .. i, i) end",
     "p.lua:2: the step budget is used up"},
};

TEST(a_hostile_pattern_fails_its_start_and_nothing_of_it_stays)
{
    struct troupe troupe;
    troupe_init(&troupe);
    for (size_t i = 0; i < COUNT_OF(hostile); i++) {
        struct buf text = {0};
        buf_printf(&text,
                   "local heddle = require 'heddle'\n"
                   "return heddle.pattern('x', function(p) %s end)",
                   hostile[i].body);
        if (EXPECT_TEXT(load(&troupe, buf_text(&text)), "")) {
            const char *error = start(&troupe, "x");
            const size_t length = strlen(hostile[i].error);
            if (strncmp(error, hostile[i].error, length) != 0) {
                EXPECT_TEXT(error, hostile[i].error);
            }
        }
        buf_release(&text);
        EXPECT(troupe.one->runtime.sched->computations == 0);
        EXPECT(list_is_empty(&troupe.one->runtime.pieces));
    }
    /* And it is as well as ever. */
    EXPECT_TEXT(load(&troupe, counter), "");
    EXPECT_TEXT(start(&troupe, "c"), "");
    EXPECT_TEXT(look(&troupe, "twice"), "0");
    troupe_release(&troupe);
}

TEST(a_pattern_that_contains_itself_ends)
{
    struct troupe troupe;
    troupe_init(&troupe);
    EXPECT_TEXT(load(&troupe,
                     "local heddle = require 'heddle'\n"
                     "local x\n"
                     "x = heddle.pattern('x', function(p) p:piece(x) end)\n"
                     "return x"),
                "");
    const char *error = start(&troupe, "x");
    EXPECT(strstr(error, "p.lua:3: ") == error);
    EXPECT(list_is_empty(&troupe.one->runtime.pieces));
    troupe_release(&troupe);
}

TEST(a_builder_is_of_no_use_after_the_building)
{
    struct troupe troupe;
    troupe_init(&troupe);
    EXPECT_TEXT(
        load(&troupe,
             "local heddle = require 'heddle'\n"
             "return heddle.pattern('x', function(p)\n"
             "  p:effect('e', function() p:state('late', 1) end)\n"
             "  p:effect('y', function() coroutine.yield() end)\n"
             "  p:effect('r', function() error(setmetatable({}, {})) end)\n"
             "end)"),
        "");
    EXPECT_TEXT(start(&troupe, "x"), "");
    EXPECT_EQ(world_idle(troupe.one, true), WORLD_AT_REST);
    const char *told = buf_text(&troupe.told);
    EXPECT(strstr(told,
                  "e failed: p.lua:3: the pattern is already built: declare "
                  "everything in its function;") != NULL);
    EXPECT(strstr(told,
                  "y failed: p.lua:4: attempt to yield from outside a "
                  "coroutine;") != NULL);
    EXPECT(strstr(told, "r failed: ") != NULL);
    troupe_release(&troupe);
}

/* The budget of a call is that of a body; a piece with many nodes is declared
 * in one call. */
TEST(a_building_has_a_budget_of_its_own)
{
    struct troupe troupe;
    troupe_init(&troupe);
    EXPECT_TEXT(
        load(&troupe,
             "local heddle = require 'heddle'\n"
             "return heddle.pattern('x', function(p)\n"
             "  local last\n"
             "  for i = 1, 3000 do\n"
             "    last = p:computed('c' .. i, function() return i end)\n"
             "  end\n"
             "  local slow = p:computed('slow', function()\n"
             "    for i = 1, 2e6 do end return 1 end)\n"
             "  p:effect('e', function() last:get() slow:get() end)\n"
             "  return { last = last } end)"),
        "");
    EXPECT_TEXT(start(&troupe, "x"), "");
    EXPECT_EQ(world_idle(troupe.one, true), WORLD_AT_REST);
    const char *told = buf_text(&troupe.told);
    EXPECT(strstr(told, "p.lua:8: the step budget is used up") != NULL);
    troupe_release(&troupe);
}

TEST(an_interrupt_ends_a_building)
{
    struct troupe troupe;
    troupe_init(&troupe);
    EXPECT_TEXT(load(&troupe,
                     "local heddle = require 'heddle'\n"
                     "return heddle.pattern('x', function(p)\n"
                     "  for i = 1, 1e5 do local x = i end end)"),
                "");
    troupe.stop = true;
    EXPECT_TEXT(start(&troupe, "x"), "p.lua:3: interrupted by the host");
    troupe.stop = false;
    EXPECT_TEXT(start(&troupe, "x"), "");
    troupe_release(&troupe);
}
