/* Pattern files from anywhere: whatever the text does, loading and running it
 * ends within its budgets, its results convert or are refused with a sentence,
 * and the state is well afterwards. The input is the text. */

#include <lauxlib.h>
#include <string.h>

#include "base/buf.h"
#include "fuzz.h"
#include "script/convert.h"
#include "script/fingerprint.h"
#include "script/sandbox.h"

static void open_heddle(lua_State *L, void *ctx)
{
    (void)ctx;
    lua_newtable(L);
    convert_add_functions(L);
    script_lock(L, "heddle");
}

/* Every result is a value, or there is a reason; a value comes back equal. */
static void take(lua_State *L, int count, void *ctx)
{
    struct script_function *function = ctx;
    for (int i = 1; i <= count && i <= 8; i++) {
        struct value value;
        struct err_detail detail = {0};
        const enum err err =
            convert_read(L, i, "result", NULL, &value, &detail);
        if (err != ERR_OK) {
            fuzz_check_detail(err, &detail);
        }
        CHECK(value_check(value));
        value_unref(value);
    }
    if (count > 0 && lua_isfunction(L, 1)) {
        *function = script_function_keep(L, 1);
    }
}

static void check_error(enum script_cause cause,
                        const struct script_error *error)
{
    CHECK(error->cause == cause);
    if (cause != SCRIPT_FINE) {
        CHECK(cause != SCRIPT_INTERRUPTED);
        CHECK(error->traceback.length < 100000);
    }
}

static void check_fingerprint(struct script *script,
                              struct script_function function)
{
    struct digest first;
    struct digest second;
    struct err_detail detail = {0};
    const enum err err = script_fingerprint(script, function, &first, &detail);
    if (err != ERR_OK) {
        fuzz_check_detail(err, &detail);
        return;
    }
    CHECK(script_fingerprint(script, function, &second, &detail) == ERR_OK);
    CHECK(memcmp(&first, &second, sizeof first) == 0);
}

/* Loads and runs a text; gives the function that it returned, if any. */
static enum script_cause run(struct script *script,
                             struct script_function environment,
                             const struct script_chunk *chunk,
                             struct script_function *result)
{
    struct script_error error = {0};
    struct script_function function;
    *result = (struct script_function){0};
    enum script_cause cause =
        script_load(script, environment, chunk, &function, &error);
    check_error(cause, &error);
    if (cause == SCRIPT_FINE) {
        check_fingerprint(script, function);
        const struct script_call call = {.function = function,
                                         .take = take,
                                         .ctx = result};
        cause = script_call(script, &call, &error);
        check_error(cause, &error);
    }
    script_function_release(script, &function);
    script_error_release(&error);
    return cause;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_memory memory;
    fuzz_begin(&memory);
    struct script *script = script_new(
        &(struct script_config){.memory_bytes = 2 << 20, .steps = 100000});
    struct script_function environment;
    CHECK(script_module_register(script, "heddle", open_heddle, NULL, NULL) ==
          SCRIPT_FINE);
    CHECK(script_environment_new(script, GLOBALS_OPEN, &environment, NULL) ==
          SCRIPT_FINE);

    const struct script_chunk chunk = {"fuzz.lua", (const char *)data, size};
    struct script_function result;
    (void)run(script, environment, &chunk, &result);
    if (result.reference > 0) {
        check_fingerprint(script, result);
    }
    script_function_release(script, &result);
    script_function_release(script, &environment);

    /* Health: another environment knows nothing of what has happened. */
    const char *text = "local n = 0 for i = 1, 10 do n = n + i end\n"
                       "assert(n == 55 and ('x'):rep(3) == 'xxx')\n"
                       "assert(select('#', pcall(error)) == 2)";
    const struct script_chunk health = {"health.lua", text, strlen(text)};
    CHECK(script_environment_new(script, GLOBALS_FIXED, &environment, NULL) ==
          SCRIPT_FINE);
    CHECK(run(script, environment, &health, &result) == SCRIPT_FINE);
    script_function_release(script, &result);
    script_function_release(script, &environment);
    CHECK(lua_gettop(script->main) == 0);
    script_free(script);
    fuzz_end(&memory);
    return 0;
}
