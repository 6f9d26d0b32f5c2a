/* Tasks of Lua patterns: calls of kinds, and bodies that make such calls. */

#include "script/task_bodies.h"

#include <string.h>

#include "base/mem.h"
#include "base/nearest.h"
#include "runtime/piece.h"
#include "runtime/task_kind.h"
#include "script/bodies.h"
#include "script/building.h"
#include "script/cells.h"
#include "script/convert.h"
#include "script/task.h"
#include "value/object.h"

/* What was declared: the context of the task. */
struct lua_task {
    struct lua_runtime *lua;
    struct value kind; /* absent: it has a body */
    struct script_function body;
    struct script_function key; /* of the idempotency key, if `has_key` */
    bool has_key;
    struct value options; /* an object */
};

struct task_object;

/* One attempt. */
struct lua_attempt {
    struct lua_task *own;
    struct task *task;
    struct task_call call; /* if `calling` */
    bool calling;
    bool in_method; /* the body has just begun the call */
    uint32_t calls; /* of a body: how many were begun */

    /* Of a body. */
    struct script_task *thread;
    struct task_object *object; /* its `task`, or NULL */
    struct value input;
    struct value key; /* of the declaration's function; or absent */
    struct value result;
    struct task_end end; /* of its last call; */
    bool has_end;        /* which is there */
};

struct task_object {
    struct lua_attempt *attempt; /* NULL: is over */
};

/* -- Life ---------------------------------------------------------------- */

static void end_release(struct lua_attempt *attempt)
{
    value_unref(attempt->end.value);
    value_unref(attempt->end.error);
    attempt->end = (struct task_end){0};
    attempt->has_end = false;
}

static void call_release(struct lua_attempt *attempt)
{
    value_unref(attempt->call.name);
    value_unref(attempt->call.key);
    value_unref(attempt->call.request);
    value_unref(attempt->call.options);
    attempt->call = (struct task_call){0};
    attempt->calling = false;
}

static void attempt_free(struct lua_attempt *attempt)
{
    if (attempt->object != NULL) {
        attempt->object->attempt = NULL;
    }
    end_release(attempt);
    call_release(attempt);
    value_unref(attempt->input);
    value_unref(attempt->key);
    value_unref(attempt->result);
    mem_free(attempt, sizeof *attempt);
}

static void task_gone(void *ctx)
{
    struct lua_task *own = ctx;
    script_function_release(own->lua->script, &own->body);
    if (own->has_key) {
        script_function_release(own->lua->script, &own->key);
    }
    value_unref(own->kind);
    value_unref(own->options);
    mem_free(own, sizeof *own);
}

/* -- Calls --------------------------------------------------------------- */

static void resume(struct lua_attempt *attempt);

/* Of a task without a body. */
static void end_attempt(struct lua_attempt *attempt, struct task_end end)
{
    struct task *task = attempt->task;
    attempt_free(attempt);
    if (value_is_absent(end.error)) {
        task_finish_adopt(task, end.value);
    } else if (end.may_retry) {
        task_retry_adopt(task, end.error, end.at_least);
    } else {
        task_fail_adopt(task, end.error);
    }
}

static void on_ended(struct task_call *call, struct task_end end)
{
    struct lua_attempt *attempt = CONTAINER_OF(call, struct lua_attempt, call);
    call_release(attempt);
    if (attempt->thread == NULL && !attempt->in_method) {
        end_attempt(attempt, end);
        return;
    }
    attempt->end = end;
    attempt->has_end = true;
    if (!attempt->in_method) {
        resume(attempt);
    }
}

/* The idempotency key of the task. Borrowed. */
static struct value own_key(const struct lua_attempt *attempt)
{
    return value_is_absent(attempt->key) ? task_key(attempt->task)
                                         : attempt->key;
}

/* A body may make several calls; if it makes them in the same order when it is
 * begun again, each has the key that it had. */
static struct value key_of(const struct lua_attempt *attempt)
{
    const struct value key = own_key(attempt);
    if (attempt->calls == 0) {
        return value_ref(key);
    }
    const struct text text = value_text(&key);
    struct buf numbered = {0};
    buf_append(&numbered, text.at, text.length);
    buf_printf(&numbered, "-%u", (unsigned)attempt->calls);
    const struct value made = value_text_new(buf_text(&numbered));
    buf_release(&numbered);
    return made;
}

/* The request and the options are adopted. */
static void begin_call(struct lua_attempt *attempt,
                       struct value kind,
                       struct value request,
                       struct value options)
{
    const struct runtime *runtime = attempt->own->lua->runtime;
    attempt->calling = true;
    attempt->call = (struct task_call){
        .kind = task_kind_find(runtime, kind),
        .task = attempt->task,
        .key = key_of(attempt),
        .name = value_ref(kind),
        .request = request,
        .options = options,
        .ended = on_ended,
    };
    if (attempt->call.kind != NULL) {
        const struct task_kind *found = attempt->call.kind;
        found->start(found->ctx, &attempt->call);
        return;
    }
    const struct text name = value_text(&kind);
    struct buf known = {0};
    task_kinds_write(runtime, &known);
    task_call_fail(&attempt->call,
                   (struct task_failure){.code = "NO_KIND"},
                   "this process cannot run tasks of the kind '%.*s'%s%s",
                   (int)name.length,
                   name.at,
                   known.length > 0 ? "; it knows " : "",
                   buf_text(&known));
    buf_release(&known);
}

static void cancel_call(struct lua_attempt *attempt)
{
    if (attempt->calling) {
        const struct task_kind *kind = attempt->call.kind;
        kind->cancel(kind->ctx, &attempt->call);
        call_release(attempt);
    }
}

/* -- The task of a body -------------------------------------------------- */

static const struct script_class task_class;

static struct lua_attempt *check_task(lua_State *L)
{
    const struct task_object *object = script_object_check(L, 1, &task_class);
    if (object->attempt == NULL) {
        (void)luaL_error(L, "the task has ended");
    }
    return object->attempt;
}

static void object_release(void *ctx)
{
    struct task_object *object = ctx;
    if (object->attempt != NULL) {
        object->attempt->object = NULL;
    }
}

/* What a wait returns (body-3). */
static int push_end(lua_State *L, void *ctx)
{
    const struct lua_attempt *attempt = ctx;
    if (!attempt->has_end) { /* it has slept */
        return 0;
    }
    if (value_is_absent(attempt->end.error)) {
        convert_push(L, attempt->end.value);
        return 1;
    }
    lua_pushnil(L);
    convert_push(L, attempt->end.error);
    return 2;
}

static void check_waits(lua_State *L)
{
    if (!script_task_is(script_of(L), L)) {
        (void)luaL_error(L,
                         "only the function of the task itself can wait, not a "
                         "coroutine that it made");
    }
}

/* The kind is at `kind` on the stack, or is `name`; the request at `request`,
 * options after it. */
static int call_kind(lua_State *L, const char *name, int request)
{
    struct lua_attempt *attempt = check_task(L);
    lua_settop(L, request + 1);
    check_waits(L);
    end_release(attempt);
    struct view_found *held = view_hold(&attempt->own->lua->frame->views);
    held->value = convert_check(L, request, "the request");
    struct value options = VALUE_NONE;
    if (!lua_isnil(L, request + 1)) {
        luaL_checktype(L, request + 1, LUA_TTABLE);
        options = convert_check(L, request + 1, "the options");
    }
    const struct value kind = value_text_new(name);
    attempt->in_method = true;
    attempt->calls++;
    begin_call(attempt, kind, value_ref(held->value), options);
    attempt->in_method = false;
    value_unref(kind);
    return attempt->has_end ? push_end(L, attempt) : script_wait(L);
}

static int task_call_method(lua_State *L)
{
    return call_kind(L, luaL_checkstring(L, 2), 3);
}

static int task_http(lua_State *L)
{
    return call_kind(L, "http", 2);
}

static int task_exec(lua_State *L)
{
    return call_kind(L, "exec", 2);
}

static void on_woken(void *ctx, struct task *task)
{
    (void)ctx;
    resume(task_user(task));
}

static int task_sleep(lua_State *L)
{
    struct lua_attempt *attempt = check_task(L);
    const lua_Integer ms = luaL_checkinteger(L, 2);
    luaL_argcheck(L,
                  ms >= 0 && ms <= INT32_MAX,
                  2,
                  "expected a number of milliseconds");
    check_waits(L);
    end_release(attempt);
    task_wake_after(attempt->task, (mono_ms)ms, on_woken);
    return script_wait(L);
}

static int task_key_method(lua_State *L)
{
    convert_push(L, own_key(check_task(L)));
    return 1;
}

static int task_attempt_method(lua_State *L)
{
    lua_pushinteger(L, task_attempt(check_task(L)->task));
    return 1;
}

static const luaL_Reg task_methods[] = {
    {"call", task_call_method},
    {"http", task_http},
    {"exec", task_exec},
    {"sleep", task_sleep},
    {"key", task_key_method},
    {"attempt", task_attempt_method},
    {NULL, NULL},
};

static const struct script_class task_class = {
    .name = "task",
    .methods = task_methods,
    .release = object_release,
};

/* -- Bodies -------------------------------------------------------------- */

static int push_arguments(lua_State *L, void *ctx)
{
    struct lua_attempt *attempt = ctx;
    convert_push(L, attempt->input);
    struct task_object *object =
        script_object_push(L, &task_class, sizeof *object);
    object->attempt = attempt;
    attempt->object = object;
    return 2;
}

static void take_result(lua_State *L, int count, void *ctx)
{
    struct lua_attempt *attempt = ctx;
    if (count > 0 && !lua_isnil(L, 1)) {
        attempt->result = convert_check(L, 1, "the value of the task");
    }
}

/* A stretch has ended, with that cause. */
static void end_stretch(struct lua_attempt *attempt,
                        enum script_cause cause,
                        struct script_error *error)
{
    struct task *task = attempt->task;
    if (cause == SCRIPT_PENDING) {
        script_error_release(error);
        return;
    }
    attempt->thread = NULL;
    if (cause == SCRIPT_FINE) {
        const struct value result = attempt->result;
        attempt->result = VALUE_NONE;
        attempt_free(attempt);
        task_finish_adopt(task, result);
    } else if (cause == SCRIPT_INTERRUPTED) { /* the process is about to end */
        attempt_free(attempt);
        task_leave(task);
    } else {
        struct buf text = {0};
        script_error_write(&text, error);
        attempt_free(attempt);
        task_retry_adopt(task, task_error_new("ERROR", buf_text(&text)), 0);
        buf_release(&text);
    }
    script_error_release(error);
}

/* body-1. */
static void frame_of(struct frame *frame, const struct lua_attempt *attempt)
{
    struct lua_runtime *lua = attempt->own->lua;
    frame_begin(frame, lua, FRAME_TASK, NULL);
    frame->call.piece = task_piece(attempt->task);
    random_init(&frame->random,
                lua->seed ^ value_hash(task_key(attempt->task)) ^
                    task_attempt(attempt->task));
}

static void begin_body(struct lua_attempt *attempt)
{
    const struct script_call call = {
        .function = attempt->own->body,
        .push = push_arguments,
        .take = take_result,
        .ctx = attempt,
    };
    struct script *script = attempt->own->lua->script;
    struct script_error error = {0};
    struct frame frame;
    frame_of(&frame, attempt);
    const enum script_cause cause =
        script_task_start(script, &call, &attempt->thread, &error);
    frame_end(&frame);
    end_stretch(attempt, cause, &error);
}

static void resume(struct lua_attempt *attempt)
{
    struct script_error error = {0};
    struct frame frame;
    frame_of(&frame, attempt);
    const enum script_cause cause =
        script_task_resume(attempt->thread, push_end, attempt, &error);
    frame_end(&frame);
    end_stretch(attempt, cause, &error);
}

/* -- The task ------------------------------------------------------------ */

static int push_input(lua_State *L, void *ctx)
{
    convert_push(L, ((const struct lua_attempt *)ctx)->input);
    return 1;
}

static void take_key(lua_State *L, int count, void *ctx)
{
    struct lua_attempt *attempt = ctx;
    size_t length = 0;
    if (count == 0 || lua_type(L, 1) != LUA_TSTRING ||
        lua_tolstring(L, 1, &length) == NULL || length == 0 ||
        length > TASK_KEY_BYTES) {
        (void)luaL_error(L,
                         "'key' must return a text of 1 to %d bytes",
                         (int)TASK_KEY_BYTES);
    }
    attempt->key = convert_check(L, 1, "the key");
}

/* Asks the function of the key. False: the attempt has failed, and is gone. */
static bool find_key(struct lua_attempt *attempt)
{
    const struct lua_task *own = attempt->own;
    const struct script_call call = {
        .function = own->key,
        .push = push_input,
        .take = take_key,
        .ctx = attempt,
    };
    struct script_error error = {0};
    struct frame frame;
    frame_of(&frame, attempt);
    const enum script_cause cause =
        script_call(own->lua->script, &call, &error);
    frame_end(&frame);
    if (cause != SCRIPT_FINE) {
        struct task *task = attempt->task;
        struct buf text = {0};
        script_error_write(&text, &error);
        attempt_free(attempt);
        if (cause == SCRIPT_INTERRUPTED) {
            task_leave(task);
        } else {
            task_fail_adopt(task, task_error_new("ERROR", buf_text(&text)));
        }
        buf_release(&text);
    }
    script_error_release(&error);
    return cause == SCRIPT_FINE;
}

static void start(void *ctx, struct task *task, struct value input)
{
    struct lua_task *own = ctx;
    struct lua_attempt *attempt = mem_alloc_zero(sizeof *attempt);
    attempt->own = own;
    attempt->task = task;
    attempt->input = value_ref(input);
    task_set_user(task, attempt);
    if (own->has_key && !find_key(attempt)) {
        return;
    }
    if (value_is_absent(own->kind)) {
        begin_body(attempt);
    } else {
        begin_call(attempt,
                   own->kind,
                   value_ref(input),
                   value_ref(own->options));
    }
}

/* body-4. */
static void cancelled(void *ctx, struct task *task)
{
    struct lua_task *own = ctx;
    struct lua_attempt *attempt = task_user(task);
    cancel_call(attempt);
    if (attempt->thread != NULL) {
        struct frame frame;
        frame_begin(&frame, own->lua, FRAME_TASK, NULL);
        script_task_cancel(attempt->thread);
        frame_end(&frame);
    }
    attempt_free(attempt);
    task_leave(task);
}

/* -- Declaring ----------------------------------------------------------- */

static const char *const option_names[] = {
    "kind",
    "run",
    "key",
    "retries",
    "backoff",
    "backoff_max",
    "timeout",
    "max_bytes",
    "redirects",
};

static lua_Integer number_option(lua_State *L,
                                 const char *name,
                                 lua_Integer high,
                                 lua_Integer absent)
{
    lua_Integer number = absent;
    if (lua_getfield(L, 4, name) != LUA_TNIL) {
        if (!lua_isinteger(L, -1) || lua_tointeger(L, -1) < 0 ||
            lua_tointeger(L, -1) > high) {
            (void)luaL_error(L,
                             "%s must be an integer from 0 to %I",
                             name,
                             (LUAI_UACINT)high);
        }
        number = lua_tointeger(L, -1);
    }
    lua_pop(L, 1);
    return number;
}

/* The kind that the options name; raises for one that is not known here. */
static const struct task_kind *check_kind(lua_State *L,
                                          const struct runtime *runtime,
                                          struct value kind)
{
    const struct task_kind *found = task_kind_find(runtime, kind);
    if (found != NULL || runtime->task_kinds.count == 0) {
        return found;
    }
    const struct text name = value_text(&kind);
    struct nearest nearest;
    nearest_begin(&nearest, name.at, name.length);
    VEC_FOREACH (&runtime->task_kinds, known) {
        nearest_offer_text(&nearest, (*known)->name);
    }
    (void)luaL_error(L,
                     "unknown kind of task '%s'%s",
                     lua_pushlstring(L, name.at, name.length),
                     nearest_hint(&nearest));
    return NULL;
}

/* The options that a call may have to look at: all but the functions. */
static struct value call_options(lua_State *L)
{
    lua_newtable(L);
    for (size_t i = 0; i < COUNT_OF(option_names); i++) {
        if (strcmp(option_names[i], "run") != 0 &&
            strcmp(option_names[i], "key") != 0) {
            (void)lua_getfield(L, 4, option_names[i]);
            lua_setfield(L, -2, option_names[i]);
        }
    }
    const struct value options = convert_check(L, -1, "the options");
    lua_pop(L, 1);
    return options;
}

static struct lua_task *task_new(lua_State *L,
                                 struct lua_runtime *lua,
                                 bool body)
{
    struct script_function function = {0};
    if (body) {
        (void)lua_getfield(L, 4, "run");
        function = script_function_keep(L, -1);
        lua_pop(L, 1);
    }
    struct lua_task *own = mem_alloc_zero(sizeof *own);
    own->lua = lua;
    own->body = function;
    own->has_key = lua_getfield(L, 4, "key") != LUA_TNIL;
    if (own->has_key) {
        own->key = script_function_keep(L, -1);
    }
    lua_pop(L, 1);
    return own;
}

/* Of what is done: not of how long it may take. */
static bool fingerprint(struct lua_runtime *lua,
                        const struct lua_task *own,
                        struct value name,
                        struct digest *out)
{
    if (value_is_absent(own->kind)) {
        return bodies_fingerprint(lua, own->body, name, out);
    }
    const struct text kind = value_text(&own->kind);
    *out = digest_of_bytes("heddle task kind 1", kind.at, kind.length);
    return !lua->forget;
}

static bool check_body(lua_State *L)
{
    const bool body = lua_getfield(L, 4, "run") != LUA_TNIL;
    if (body && !lua_isfunction(L, -1)) {
        (void)luaL_error(L,
                         "run must be a function: run = function(input, "
                         "task)");
    }
    const bool kind = lua_getfield(L, 4, "kind") != LUA_TNIL;
    if (lua_getfield(L, 4, "key") != LUA_TNIL && !lua_isfunction(L, -1)) {
        (void)luaL_error(L, "key must be a function: key = function(input)");
    }
    lua_pop(L, 3);
    if (body == kind) {
        (void)luaL_error(L,
                         body ? "a task can have a kind or a function, not both"
                              : "a task needs kind = \"...\" or run = "
                                "function(input, task)");
    }
    return body;
}

int task_bodies_declare(lua_State *L)
{
    lua_settop(L, 4);
    const struct builder_object *p = builders_check(L);
    struct building_state *state = p->state;
    struct lua_runtime *lua = p->lua;
    luaL_checktype(L, 4, LUA_TTABLE);
    builders_check_options(L, 4, option_names, COUNT_OF(option_names));
    const bool body = check_body(L);
    const struct value kind = builders_name_option(L, state, 4, "kind");
    const struct task_kind *known =
        body ? NULL : check_kind(L, lua->runtime, kind);
    struct builder_task task = {
        .name = *builders_check_name(L, state, 2),
        .start = start,
        .cancelled = cancelled,
        .release = task_gone,
    };
    task.retries = (uint32_t)number_option(L,
                                           "retries",
                                           TASK_RETRIES_MAX,
                                           known != NULL ? known->retries : 0);
    task.backoff = (mono_ms)number_option(L, "backoff", INT32_MAX, 0);
    task.backoff_max = (mono_ms)number_option(L, "backoff_max", INT32_MAX, 0);
    struct value *options = builders_hold(state, 2);
    *options = call_options(L);
    task.input = builders_check_place(L, p, 3, "inputs");
    struct lua_task *own = task_new(L, lua, body);
    own->kind = value_ref(kind);
    own->options = value_ref(*options);
    struct digest digest;
    task.ctx = own;
    task.fingerprint =
        fingerprint(lua, own, task.name, &digest) ? &digest : NULL;
    struct place *place = NULL;
    struct err_detail detail = {0};
    const enum err err = builder_task(state->builder, &task, &place, &detail);
    builders_raise(L, state, err, &detail);
    cells_push(L, lua, place);
    return 1;
}
