/* The state, its memory and its budgets, and the one door into it. */

#include "script/vm.h"

#include <inttypes.h>
#include <lauxlib.h>
#include <string.h>

#include "base/check.h"
#include "base/mem.h"
#include "script/convert.h"
#include "script/object.h"
#include "script/sandbox.h"
#include "value/json.h"

enum {
    BYTES_OF_STEP = 64,     /* that are allocated for the price of one step */
    CLOSING_MAX = 4,        /* coroutines whose closing closes others */
    DESCRIBE_STEPS = 10000, /* for an error object's __tostring */
};

/* The error object of a stop: its address, so that raising it needs no
 * memory. */
static const char stop_object = 0;

/* -- Memory -------------------------------------------------------------- */

/* After a refusal Lua collects all garbage and asks once more for the same.
 * Where something else follows, or the same is refused again, somebody has gone
 * without, and the call must end (vm-3): string buffers raise an error of their
 * own then, which looks like any other. */
static bool is_repeated(const struct script *script,
                        const void *block,
                        size_t size)
{
    return script->refused_size == size && script->refused_block == block;
}

static void note_want(struct script *script)
{
    if (script->refused_size > 0 && script->stop == SCRIPT_FINE) {
        script->stop = SCRIPT_MEMORY_OUT;
    }
    script->refused_size = 0;
}

static bool has_room(const struct script *script, size_t more)
{
    const size_t limit = script->config.memory_bytes;
    const size_t used = script->memory_used + script->host_bytes;
    return script->is_unlimited || (used <= limit && more <= limit - used);
}

/* Whether `block` may grow; what it costs is paid either way. */
static bool may_grow(struct script *script,
                     const void *block,
                     size_t old_size,
                     size_t size)
{
    const bool repeated = is_repeated(script, block, size);
    const bool granted = has_room(script, size - old_size);
    if (!repeated || !granted) {
        note_want(script);
    }
    script->refused_size = 0;
    if (granted) {
        script->steps_left -= (int64_t)((size - old_size) / BYTES_OF_STEP);
        return true;
    }
    /* The collection that follows looks at everything. */
    script->steps_left -= (int64_t)(script->memory_used / BYTES_OF_STEP);
    if (!repeated) {
        script->refused_block = block;
        script->refused_size = size;
    }
    return false;
}

static void on_count(lua_State *L, lua_Debug *event);

/* As many instructions as take about as long as SCRIPT_TICK of the usual ones,
 * if each compares two of the long strings. */
static void set_tick(struct script *script)
{
    const size_t pair = script->long_bytes / 2;
    size_t tick = SCRIPT_TICK;
    if (pair > SCRIPT_LONG_BYTES) {
        tick = (size_t)SCRIPT_TICK * SCRIPT_LONG_BYTES / pair;
    }
    script->tick = tick < SCRIPT_TICK_MIN ? SCRIPT_TICK_MIN : (int)tick;
    if (!script->is_unlimited && script->stop == SCRIPT_FINE) {
        lua_sethook(script->running, on_count, LUA_MASKCOUNT, script->tick);
    }
}

static uint64_t hash_address(const void *block)
{
    return (uint64_t)(uintptr_t)block >> 4;
}

static void note_long_string(struct script *script, void *block, size_t size)
{
    map_insert(&script->long_strings, hash_address(block), block);
    script->long_bytes += size;
    set_tick(script);
}

static void forget_long_block(struct script *script, void *block, size_t size)
{
    if (map_remove(&script->long_strings,
                   hash_address(block),
                   map_same,
                   block) != NULL) {
        script->long_bytes -= size;
        set_tick(script);
    }
}

static void *allocate(void *ctx, void *block, size_t old_size, size_t size)
{
    struct script *script = ctx;
    /* Without a block, the old size is what kind of object is made. */
    const size_t old = block != NULL ? old_size : 0;
    if (size == 0) {
        if (UNLIKELY(old >= SCRIPT_LONG_BYTES)) {
            forget_long_block(script, block, old);
        }
        mem_free(block, old);
        script->memory_used -= old;
        return NULL;
    }
    if (size > old && !may_grow(script, block, old, size)) {
        return NULL;
    }
    script->memory_used = script->memory_used - old + size;
    if (block != NULL) {
        return mem_resize(block, old, size);
    }
    void *made = mem_alloc(size);
    if (UNLIKELY(size >= SCRIPT_LONG_BYTES && old_size == LUA_TSTRING)) {
        note_long_string(script, made, size);
    }
    return made;
}

/* -- Stops --------------------------------------------------------------- */

static int raise_stop(lua_State *L)
{
    lua_pushlightuserdata(L, (void *)(uintptr_t)&stop_object);
    return lua_error(L);
}

int script_stop(lua_State *L,
                enum script_cause cause,
                int code,
                const char *format,
                ...)
{
    struct script *script = script_of(L);
    if (script->stop == SCRIPT_FINE) {
        struct script_error *caught = &script->caught;
        script_error_clear(caught);
        caught->code = code;
        va_list arguments;
        va_start(arguments, format);
        char sentence[ERR_TEXT_SIZE];
        (void)vsnprintf(sentence, sizeof sentence, format, arguments);
        va_end(arguments);
        buf_append_text(&caught->message, sentence);
        script->stop = cause;
        /* Last, because it needs memory and may raise. */
        lua_pushnil(L);
        script_error_locate(caught, L, L, -1);
        lua_pop(L, 1);
    }
    return raise_stop(L);
}

bool script_is_stopped(lua_State *L)
{
    note_want(script_of(L));
    return script_of(L)->stop != SCRIPT_FINE;
}

void script_pass_stop(lua_State *L)
{
    if (script_is_stopped(L)) {
        (void)raise_stop(L);
    }
}

int script_out_of_steps(lua_State *L)
{
    return script_stop(L, SCRIPT_STEPS_OUT, 0, "the step budget is used up");
}

void script_expect_memory(lua_State *L, uint64_t bytes)
{
    struct script *script = script_of(L);
    const size_t limit = script->config.memory_bytes;
    if (bytes > limit) {
        (void)script_stop(L,
                          SCRIPT_MEMORY_OUT,
                          0,
                          "%" PRIu64 " bytes are more than the memory budget "
                          "of %zu bytes",
                          bytes,
                          limit);
    }
    if (!has_room(script, (size_t)bytes)) {
        script_charge(L, script->memory_used / BYTES_OF_STEP);
        (void)lua_gc(L, LUA_GCCOLLECT);
    }
}

void script_hold(lua_State *L, size_t bytes)
{
    struct script *script = script_of(L);
    if (!has_room(script, bytes)) {
        script_charge(L, script->memory_used / BYTES_OF_STEP);
        /* To call what releases an object may take some memory. */
        script->is_unlimited = true;
        (void)lua_gc(L, LUA_GCCOLLECT);
        script->is_unlimited = false;
    }
    if (!has_room(script, bytes)) {
        (void)script_stop(L,
                          SCRIPT_MEMORY_OUT,
                          0,
                          "the writes of this call exceed the rest of the "
                          "memory budget of %zu bytes: write less in one call",
                          script->config.memory_bytes);
    }
    script->host_bytes += bytes;
}

static void on_count(lua_State *L, lua_Debug *event)
{
    (void)event;
    struct script *script = script_of(L);
    const struct script_host *host = &script->config.host;
    if (script->stop == SCRIPT_FINE) {
        script->steps_left -= lua_gethookcount(L);
        if (script->steps_left >= 0 &&
            (host->interrupted == NULL || !host->interrupted(host->ctx))) {
            return;
        }
    }
    /* vm-4: from now on no instruction of this thread gets through. The count
     * of 1 also marks the thread for script_close_thread: an error out of a
     * hook leaves hooks switched off. */
    lua_sethook(L, on_count, LUA_MASKCOUNT, 1);
    if (script->stop != SCRIPT_FINE) {
        (void)raise_stop(L);
    } else if (script->steps_left < 0) {
        (void)script_out_of_steps(L);
    } else {
        (void)script_stop(L, SCRIPT_INTERRUPTED, 0, "interrupted by the host");
    }
}

/* -- Life ---------------------------------------------------------------- */

static int on_panic(lua_State *L)
{
    (void)L;
    UNREACHABLE("an error of Lua outside of a protected call (S1)");
}

static int open_state(lua_State *L)
{
    sandbox_open(L);
    return 0;
}

struct script *script_new(const struct script_config *config)
{
    struct script *script = mem_alloc_zero(sizeof *script);
    script->config = *config;
    if (script->config.memory_bytes == 0) {
        script->config.memory_bytes = SCRIPT_MEMORY_BYTES;
    }
    if (script->config.memory_bytes < SCRIPT_MEMORY_BYTES_MIN) {
        script->config.memory_bytes = SCRIPT_MEMORY_BYTES_MIN;
    }
    if (script->config.steps == 0) {
        script->config.steps = SCRIPT_STEPS;
    }
    script->is_unlimited = true;
    script->main = lua_newstate(allocate, script);
    CHECK(script->main != NULL);
    script->running = script->main;
    (void)lua_atpanic(script->main, on_panic);
    *(struct script **)lua_getextraspace(script->main) = script;
    script->tick = SCRIPT_TICK;
    lua_sethook(script->main, on_count, LUA_MASKCOUNT, script->tick);

    struct script_error error = {0};
    const enum script_cause cause =
        script_protect(script, open_state, NULL, SCRIPT_STEPS, &error);
    CHECK(cause == SCRIPT_FINE);
    script_error_release(&error);
    script->is_unlimited = false;
    return script;
}

void script_free(struct script *script)
{
    if (script == NULL) {
        return;
    }
    CHECK(script->running == script->main);
    CHECK(script->task == NULL);
    script->is_unlimited = true;
    lua_close(script->main);
    CHECK(script->memory_used == 0 && script->long_bytes == 0);
    map_release(&script->long_strings);
    script_error_release(&script->caught);
    mem_free(script, sizeof *script);
}

/* -- Protected calls ----------------------------------------------------- */

struct script_budget script_budget_begin(struct script *script, uint64_t steps)
{
    const struct script_budget outer = {script->steps_left,
                                        script->stop,
                                        script->host_bytes};
    const uint64_t given = steps > 0 ? steps : script->config.steps;
    script->steps_left = given < INT64_MAX ? (int64_t)given : INT64_MAX;
    script->stop = SCRIPT_FINE;
    script->refused_size = 0;
    script_error_clear(&script->caught);
    return outer;
}

void script_budget_end(struct script *script, struct script_budget outer)
{
    lua_State *L = script->running;
    if (script->stop != SCRIPT_FINE) {
        lua_sethook(L, on_count, LUA_MASKCOUNT, script->tick);
    }
    const bool is_full = script->stop == SCRIPT_MEMORY_OUT;
    script->host_bytes = outer.host_bytes;
    script->steps_left = outer.steps_left;
    script->stop = outer.stop;
    if (is_full) {
        (void)lua_gc(L, LUA_GCCOLLECT);
    }
}

/* The message handler: notes where it happened while the stack still stands. */
static int on_error(lua_State *L)
{
    struct script *script = script_of(L);
    if (script->stop == SCRIPT_FINE) {
        script_error_clear(&script->caught);
        script_error_locate(&script->caught, L, L, 1);
    }
    return 1;
}

/* Pushes the table at 1 as JSON; false: it is not a value. */
static bool push_json(lua_State *L)
{
    struct buf *text = script_buffer_push(L);
    struct value value = VALUE_NONE;
    struct err_detail ignored = {0};
    if (convert_read(L, 1, "the error", NULL, &value, &ignored) != ERR_OK) {
        return false;
    }
    json_write(text, value, JSON_AS_GIVEN, 0);
    value_unref(value);
    lua_pushlstring(L, buf_text(text), text->length);
    return true;
}

/* A table has a message, and the rest of its content, as JSON; or only one of
 * them. False, and pushes nothing of use: it has neither. */
static bool describe_table(lua_State *L)
{
    lua_pushliteral(L, "message");
    const bool has_message = lua_rawget(L, 1) == LUA_TSTRING;
    const int message = lua_gettop(L);
    size_t fields = 0;
    lua_pushnil(L);
    while (fields < 2 && lua_next(L, 1) != 0) {
        lua_pop(L, 1);
        fields++;
    }
    lua_settop(L, message);
    if (has_message && (fields == 1 || !push_json(L))) {
        lua_settop(L, message);
        return true;
    }
    if (has_message) {
        lua_pushfstring(L,
                        "%s %s",
                        lua_tostring(L, message),
                        lua_tostring(L, -1));
        return true;
    }
    return fields > 0 && push_json(L);
}

/* What an error object that is neither a string nor a number has to say. */
static int describe(lua_State *L)
{
    if (lua_type(L, 1) == LUA_TTABLE &&
        luaL_getmetafield(L, 1, "__tostring") == LUA_TNIL &&
        describe_table(L)) {
        return 1;
    }
    lua_settop(L, 1);
    if (luaL_callmeta(L, 1, "__tostring") != 0 &&
        lua_type(L, -1) == LUA_TSTRING) {
        return 1;
    }
    lua_pushfstring(L, "an error object of type %s", luaL_typename(L, 1));
    return 1;
}

/* Runs code of the object, in what is left of nothing: a budget of its own, and
 * whatever it does changes only the sentence. */
static bool take_description(struct script *script,
                             lua_State *thread,
                             struct script_error *to)
{
    lua_State *L = script->running;
    if (lua_checkstack(L, 3) == 0 || lua_checkstack(thread, 1) == 0) {
        return false;
    }
    const int64_t steps_left = script->steps_left;
    script->steps_left = DESCRIBE_STEPS;
    lua_pushcfunction(L, describe);
    if (thread == L) {
        lua_pushvalue(L, -2);
    } else {
        lua_pushvalue(thread, -1);
        lua_xmove(thread, L, 1);
    }
    const bool described =
        lua_pcall(L, 1, 1, 0) == LUA_OK && script_error_take_text(to, L, -1);
    lua_pop(L, 1);
    if (script->stop != SCRIPT_FINE) {
        lua_sethook(L, on_count, LUA_MASKCOUNT, script->tick);
        script->stop = SCRIPT_FINE;
    }
    script->steps_left = steps_left;
    return described;
}

/* The error of the code itself: `caught` has the place, the object has the
 * sentence. */
static void take_message(struct script *script, lua_State *thread)
{
    struct script_error error = script->caught;
    script->caught = (struct script_error){0};
    if (!script_error_take_text(&error, thread, -1) &&
        !take_description(script, thread, &error)) {
        buf_clear(&error.message);
        buf_append_text(&error.message, "an error object without a message");
    }
    script_error_release(&script->caught);
    script->caught = error;
}

enum script_cause script_failed(struct script *script,
                                lua_State *thread,
                                int status,
                                struct script_error *error)
{
    note_want(script);
    enum script_cause cause = script->stop;
    if (cause == SCRIPT_FINE && status == LUA_ERRMEM) {
        cause = SCRIPT_MEMORY_OUT;
    }
    if (cause == SCRIPT_FINE) {
        cause = SCRIPT_ERROR;
        take_message(script, thread);
    } else if (script->caught.message.length == 0) {
        buf_printf(&script->caught.message,
                   "the memory budget of %zu bytes is used up",
                   script->config.memory_bytes);
    }
    lua_pop(thread, 1);
    script->caught.cause = cause;
    if (error != NULL) {
        const struct script_error before = *error;
        *error = script->caught;
        script->caught = before;
    }
    return cause;
}

static enum script_cause refuse_call(struct script_error *error)
{
    if (error != NULL) {
        script_error_clear(error);
        error->cause = SCRIPT_ERROR;
        buf_append_text(&error->message, "stack overflow");
    }
    return SCRIPT_ERROR;
}

enum script_cause script_protect(struct script *script,
                                 lua_CFunction body,
                                 void *ctx,
                                 uint64_t steps,
                                 struct script_error *error)
{
    lua_State *L = script->running;
    if (lua_checkstack(L, 4) == 0) {
        return refuse_call(error);
    }
    const struct script_budget outer = script_budget_begin(script, steps);
    const int top = lua_gettop(L);
    lua_pushcfunction(L, on_error);
    lua_pushcfunction(L, body);
    lua_pushlightuserdata(L, ctx);
    const int status = lua_pcall(L, 1, 0, top + 1);
    enum script_cause cause = SCRIPT_FINE;
    if (status != LUA_OK) {
        cause = script_failed(script, L, status, error);
    } else if (error != NULL) {
        script_error_clear(error);
    }
    lua_settop(L, top);
    script_budget_end(script, outer);
    CHECK(script->running == L);
    return cause;
}

/* -- Functions ----------------------------------------------------------- */

struct script_function script_function_keep(lua_State *L, int index)
{
    lua_pushvalue(L, index);
    return (struct script_function){luaL_ref(L, LUA_REGISTRYINDEX)};
}

void script_function_release(struct script *script,
                             struct script_function *function)
{
    lua_State *L = script->running;
    if (function->reference > 0) {
        /* Both write to slots that exist, and raise nothing. Without a free
         * slot on a stack that is full to its limit the value stays: a leak
         * until the state is closed, and no more. */
        if (lua_checkstack(L, 3) != 0) {
            luaL_unref(L, LUA_REGISTRYINDEX, function->reference);
        }
    }
    function->reference = 0;
}

void script_function_push(lua_State *L, struct script_function function)
{
    (void)lua_rawgeti(L, LUA_REGISTRYINDEX, function.reference);
}

static int run_call(lua_State *L)
{
    const struct script_call *call = lua_touserdata(L, 1);
    lua_settop(L, 0);
    script_function_push(L, call->function);
    const int count = call->push != NULL ? call->push(L, call->ctx) : 0;
    CHECK(lua_gettop(L) == count + 1);
    lua_call(L, count, LUA_MULTRET);
    /* A refusal that Lua could do without, as of a larger table of strings. */
    script_pass_stop(L);
    if (call->take != NULL) {
        call->take(L, lua_gettop(L), call->ctx);
    }
    return 0;
}

/* A refusal by the allocator knows no place, nor does what is wrong with a
 * result: that of the function is better than none. */
static void place_at_function(struct script *script,
                              struct script_function function,
                              struct script_error *error)
{
    lua_State *L = script->running;
    lua_Debug at;
    if (lua_checkstack(L, 2) == 0) {
        return;
    }
    script_function_push(L, function);
    if (lua_type(L, -1) == LUA_TFUNCTION) {
        (void)lua_getinfo(L, ">S", &at);
        if (at.linedefined >= 0 && at.source[0] == '@') {
            buf_append_text(&error->file, at.source + 1);
            error->line = (uint32_t)at.linedefined;
        }
    } else {
        lua_pop(L, 1);
    }
}

enum script_cause script_call(struct script *script,
                              const struct script_call *call,
                              struct script_error *error)
{
    const enum script_cause cause = script_protect(script,
                                                   run_call,
                                                   (void *)(uintptr_t)call,
                                                   call->steps,
                                                   error);
    const bool may_be_nowhere =
        cause == SCRIPT_MEMORY_OUT || cause == SCRIPT_ERROR;
    if (may_be_nowhere && error != NULL && error->line == 0 &&
        error->file.length == 0) {
        place_at_function(script, call->function, error);
    }
    return cause;
}

/* -- Threads ------------------------------------------------------------- */

/* A thread that did not run when the tick became another one. */
static void match_tick(const struct script *script, lua_State *thread)
{
    const int count = lua_gethookcount(thread);
    if (count != script->tick && count > 1) {
        lua_sethook(thread, on_count, LUA_MASKCOUNT, script->tick);
    }
}

int script_resume(struct script *script,
                  lua_State *thread,
                  int arguments,
                  int *results)
{
    lua_State *from = script->running;
    script->running = thread;
    match_tick(script, thread);
    const int status = lua_resume(thread, from, arguments, results);
    script->running = from;
    match_tick(script, from);
    return status;
}

int script_close_thread(struct script *script, lua_State *thread)
{
    if (script->stop != SCRIPT_FINE || lua_gethookcount(thread) == 1) {
        return LUA_OK;
    }
    /* Lua 5.4.4 counts C calls anew in a thread that is closed, so nested
     * closing is counted here: the C stack would end first. */
    if (script->closing >= CLOSING_MAX) {
        lua_settop(thread, 0);
        lua_pushboolean(thread, 0);
        return LUA_ERRERR;
    }
    lua_State *from = script->running;
    script->closing++;
    script->running = thread;
    const int status = lua_resetthread(thread);
    script->running = from;
    script->closing--;
    return status;
}
