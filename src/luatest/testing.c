/* From the text of a file to the results of its tests. */

#include "luatest/testing.h"

#include <string.h>

#include "base/mem.h"
#include "luatest/checks.h"
#include "script/heddle.h"
#include "script/program.h"
#include "script/sandbox.h"
#include "value/array.h"
#include "value/json.h"

/* What test(name, fn) has been given. */
struct planned {
    struct buf name;
    struct script_function function;
};

struct testing {
    const struct testing_options *options;
    struct script *script;
    struct test_case *test_case; /* that runs, or NULL */
    uint64_t test_cases;
    bool closed; /* the file itself has ended */
    VEC(struct planned) plan;
    struct heddle heddle;
    struct program_function functions[4];
};

/* -- Time and chance outside of every run -------------------------------- */

static struct random *source_random(void *ctx)
{
    const struct testing *testing = ctx;
    return testing->test_case != NULL ? world_random(testing->test_case->world)
                                      : NULL;
}

static mono_ms source_now(void *ctx)
{
    const struct testing *testing = ctx;
    return world_now(testing->test_case->world);
}

static void source_asked(void *ctx, const char *message)
{
    const struct testing *testing = ctx;
    if (testing->test_case == NULL) {
        return;
    }
    LIST_FOREACH (&testing->test_case->runtimes, at) {
        test_runtime_asked(CONTAINER_OF(at, struct test_runtime, node),
                           message);
    }
}

/* -- Functions of the host ----------------------------------------------- */

/* What `heddle run` has for effects: here it is only printed. */
static void print_call(const struct testing *testing,
                       const char *name,
                       struct value arguments)
{
    struct buf line = {0};
    buf_append_text(&line, name);
    for (uint32_t i = 0; i < array_count(arguments); i++) {
        const struct value argument = array_at(arguments, i);
        buf_append_char(&line, ' ');
        if (value_is_string(argument)) {
            const struct text text = value_text(&argument);
            buf_append(&line, text.at, text.length);
        } else {
            json_write(&line, argument, JSON_AS_GIVEN, 0);
        }
    }
    if (testing->options->print != NULL) {
        testing->options->print(testing->options->ctx,
                                buf_text(&line),
                                line.length);
    }
    buf_release(&line);
}

static void do_notify(void *ctx, struct value arguments)
{
    print_call(ctx, "notify:", arguments);
}

static void do_write_line(void *ctx, struct value arguments)
{
    print_call(ctx, "write_line:", arguments);
}

static void do_exec(void *ctx, struct value arguments)
{
    print_call(ctx, "exec:", arguments);
}

/* -- heddle.test --------------------------------------------------------- */

static int do_test(lua_State *L)
{
    struct testing *testing = lua_touserdata(L, lua_upvalueindex(1));
    size_t length = 0;
    const char *name = luaL_checklstring(L, 1, &length);
    luaL_argcheck(L, length > 0, 1, "a test must have a name");
    luaL_checktype(L, 2, LUA_TFUNCTION);
    if (testing->closed) {
        return luaL_error(L, "a test cannot start another test");
    }
    const struct script_function function = script_function_keep(L, 2);
    struct planned planned = {.function = function};
    buf_append(&planned.name, name, length);
    vec_push(&testing->plan, planned);
    return 0;
}

static void open_test(lua_State *L, void *ctx)
{
    lua_newtable(L);
    lua_pushlightuserdata(L, ctx);
    lua_pushcclosure(L, do_test, 1);
    lua_setfield(L, -2, "__call");
    script_lock(L, "heddle.test");
}

/* -- One test ------------------------------------------------------------ */

static int push_t(lua_State *L, void *ctx)
{
    const struct testing *testing = ctx;
    checks_push(L, testing->test_case);
    return 1;
}

static void tell(const struct testing *testing,
                 const struct planned *planned,
                 const struct buf *message,
                 struct testing_counts *counts)
{
    const bool passed = message->length == 0;
    counts->passed += passed;
    counts->failed += !passed;
    const struct testing_result result = {
        .name = buf_text(&planned->name),
        .passed = passed,
        .message = passed ? NULL : buf_text(message),
    };
    if (testing->options->report != NULL) {
        testing->options->report(testing->options->ctx, &result);
    }
}

/* Each line as if the test had printed it, once. */
static void print_notes(const struct testing *testing, struct buf *notes)
{
    const char *at = buf_text(notes);
    const char *last = "";
    size_t last_length = 0;
    while (*at != '\0') {
        const size_t length = strcspn(at, "\n");
        if (testing->options->print != NULL &&
            (length != last_length || memcmp(at, last, length) != 0)) {
            testing->options->print(testing->options->ctx, at, length);
        }
        last = at;
        last_length = length;
        at += length + (at[length] == '\n');
    }
}

static void run_test(struct testing *testing,
                     const struct planned *planned,
                     struct testing_counts *counts)
{
    const uint64_t seed =
        testing->options->seed != 0 ? testing->options->seed : TESTING_SEED;
    struct test_case test_case = {
        .heddle = &testing->heddle,
        .world = world_new(seed),
        .seed = seed,
        .number = ++testing->test_cases,
        .folder = testing->options->folder,
        .folder_ctx = testing->options->ctx,
    };
    list_init(&test_case.runtimes);
    testing->test_case = &test_case;
    const struct script_call call = {
        .function = planned->function,
        .push = push_t,
        .ctx = testing,
    };
    struct script_error error = {0};
    struct buf message = {0};
    if (heddle_remember(&testing->heddle, &error) != SCRIPT_FINE ||
        script_call(testing->script, &call, &error) != SCRIPT_FINE) {
        script_error_write(&message, &error);
        if (message.length == 0) {
            buf_append_text(&message, "an error without a message");
        }
    }
    script_error_release(&error);
    checks_end_runtimes(&test_case, 0);
    checks_end(&test_case);
    world_free(test_case.world);
    if (message.length > 0 && test_case.faults.length > 0) {
        buf_append_char(&message, '\n');
    }
    buf_append(&message, buf_text(&test_case.faults), test_case.faults.length);
    testing->test_case = NULL;
    print_notes(testing, &test_case.notes);
    tell(testing, planned, &message, counts);
    buf_release(&test_case.notes);
    buf_release(&test_case.faults);
    buf_release(&message);
}

/* -- A file -------------------------------------------------------------- */

static bool run_file(struct testing *testing,
                     const char *file,
                     const struct buf *text,
                     struct script_error *error)
{
    struct script *script = testing->script;
    struct script_function environment = {0};
    struct script_function main = {0};
    const struct script_chunk chunk = {file, buf_text(text), text->length};
    const struct heddle_source source = {source_random,
                                         source_now,
                                         testing,
                                         source_asked};
    const bool is_begun =
        heddle_begin(&testing->heddle, script, &source, error) == SCRIPT_FINE;
    testing->heddle.functions = testing->functions;
    const bool done =
        is_begun &&
        script_module_register(script,
                               "heddle.test",
                               open_test,
                               testing,
                               error) == SCRIPT_FINE &&
        script_environment_new(script, GLOBALS_FIXED, &environment, error) ==
            SCRIPT_FINE &&
        script_load(script, environment, &chunk, &main, error) == SCRIPT_FINE &&
        script_call(script, &(struct script_call){.function = main}, error) ==
            SCRIPT_FINE;
    script_function_release(script, &main);
    script_function_release(script, &environment);
    testing->closed = true;
    return done;
}

bool testing_run(const char *file,
                 const struct buf *text,
                 const struct testing_options *options,
                 struct testing_counts *counts,
                 struct buf *fault)
{
    const struct script_config config = {
        .host = {.ctx = options->ctx,
                 .print = options->print,
                 .interrupted = options->interrupted,
                 .module = options->module},
    };
    struct testing testing = {
        .options = options,
        .script = script_new(&config),
    };
    testing.functions[0] = (struct program_function){.name = "notify",
                                                     .after = do_notify,
                                                     .ctx = &testing};
    testing.functions[1] = (struct program_function){.name = "write_line",
                                                     .after = do_write_line,
                                                     .ctx = &testing};
    testing.functions[2] = (struct program_function){.name = "exec",
                                                     .after = do_exec,
                                                     .ctx = &testing};
    struct script_error error = {0};
    const bool done = run_file(&testing, file, text, &error);
    if (!done) {
        script_error_write(fault, &error);
    }
    VEC_FOREACH (&testing.plan, planned) {
        const bool wanted =
            options->filter == NULL ||
            strstr(buf_text(&planned->name), options->filter) != NULL;
        counts->left_out += done && !wanted;
        if (done && wanted) {
            run_test(&testing, planned, counts);
        }
        script_function_release(testing.script, &planned->function);
        buf_release(&planned->name);
    }
    vec_release(&testing.plan);
    if (options->ended != NULL) {
        options->ended(options->ctx, testing.script);
    }
    script_error_release(&error);
    heddle_end(&testing.heddle);
    script_free(testing.script);
    return done;
}
