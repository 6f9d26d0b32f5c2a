/* Calls of tasks that a test answers. */

#include "luatest/test_tasks.h"

#include "base/mem.h"
#include "runtime/piece.h"
#include "script/convert.h"
#include "value/compare.h"
#include "value/object.h"

struct test_call {
    struct list_node node;
    struct task_call *call; /* NULL: it has ended */
    bool cancelled;         /* because the task was */
    uint32_t refs;          /* the call, and objects */
};

struct call_object {
    struct test_call *of;
};

/* What a test does for a kind of tasks: rt:tasks(kind, fn). */
struct test_kind {
    struct value name;
    struct script_function function;
};

struct test_tasks {
    struct list calls; /* struct test_call that wait */
    VEC(struct test_kind) kinds;
    struct task_kind any;
    struct task_kind exec; /* whose tasks are not repeated by default */
};

/* -- Calls --------------------------------------------------------------- */

static void call_unref(struct test_call *of)
{
    if (--of->refs == 0) {
        mem_free(of, sizeof *of);
    }
}

/* It does not wait any more; the call itself. */
static struct task_call *take_out(struct test_call *of)
{
    struct task_call *call = of->call;
    of->call = NULL;
    list_remove(&of->node);
    call_unref(of);
    return call;
}

static void finish_adopt(struct test_call *of, struct value value)
{
    task_call_finish_adopt(take_out(of), value);
}

static void fail_adopt(struct test_call *of, struct task_end end)
{
    struct task_call *call = take_out(of);
    call->ended(call, end);
}

/* -- The object ---------------------------------------------------------- */

static const struct script_class call_class;

static void push_call(lua_State *L, struct test_call *of)
{
    struct call_object *object =
        script_object_push(L, &call_class, sizeof *object);
    object->of = of;
    of->refs++;
}

static struct test_call *check_object(lua_State *L)
{
    return ((struct call_object *)script_object_check(L, 1, &call_class))->of;
}

static struct test_call *check_waiting(lua_State *L)
{
    struct test_call *of = check_object(L);
    if (of->call == NULL) {
        (void)luaL_error(L, "the call has ended, or was cancelled");
    }
    return of;
}

static const struct task_call *check_call(lua_State *L)
{
    return check_waiting(L)->call;
}

static int call_kind(lua_State *L)
{
    convert_push(L, check_call(L)->name);
    return 1;
}

static int call_request(lua_State *L)
{
    convert_push(L, check_call(L)->request);
    return 1;
}

static int call_key(lua_State *L)
{
    convert_push(L, check_call(L)->key);
    return 1;
}

static int call_attempt(lua_State *L)
{
    lua_pushinteger(L, task_attempt(check_call(L)->task));
    return 1;
}

static int call_cancelled(lua_State *L)
{
    lua_pushboolean(L, check_object(L)->cancelled);
    return 1;
}

static int call_finish(lua_State *L)
{
    lua_settop(L, 2);
    struct test_call *of = check_waiting(L);
    finish_adopt(of, convert_check(L, 2, "the value"));
    script_pass_stop(L);
    return 0;
}

/* fail(error [, { retry=, after= }]): a text, or a table with code and text. */
static int call_fail(lua_State *L)
{
    lua_settop(L, 3);
    struct test_call *of = check_waiting(L);
    struct task_end end = {.may_retry = true};
    if (!lua_isnil(L, 3)) {
        luaL_checktype(L, 3, LUA_TTABLE);
        end.may_retry = lua_getfield(L, 3, "retry") == LUA_TNIL ||
                        lua_toboolean(L, -1) != 0;
        (void)lua_getfield(L, 3, "after");
        end.at_least = (mono_ms)luaL_optinteger(L, -1, 0);
    }
    if (lua_type(L, 2) == LUA_TSTRING) {
        end.error = task_error_new("ERROR", lua_tostring(L, 2));
    } else {
        luaL_checktype(L, 2, LUA_TTABLE);
        end.error = convert_check(L, 2, "the error");
    }
    fail_adopt(of, end);
    script_pass_stop(L);
    return 0;
}

static const luaL_Reg call_methods[] = {
    {"kind", call_kind},
    {"request", call_request},
    {"key", call_key},
    {"attempt", call_attempt},
    {"finish", call_finish},
    {"done", call_finish},
    {"fail", call_fail},
    {"cancelled", call_cancelled},
    {NULL, NULL},
};

static void object_release(void *ctx)
{
    struct call_object *object = ctx;
    if (object->of != NULL) {
        call_unref(object->of);
        object->of = NULL;
    }
}

static const struct script_class call_class = {
    .name = "task_call",
    .methods = call_methods,
    .release = object_release,
};

/* -- Kinds of the test --------------------------------------------------- */

/* A call of the function of a kind. */
struct answer {
    struct test_call *of;
    struct value request;
    struct value value;
};

static int push_answer(lua_State *L, void *ctx)
{
    const struct answer *answer = ctx;
    convert_push(L, answer->request);
    push_call(L, answer->of);
    return 2;
}

static void take_answer(lua_State *L, int count, void *ctx)
{
    struct answer *answer = ctx;
    if (count > 0 && !lua_isnil(L, 1)) {
        answer->value = convert_check(L, 1, "the value of the task");
    }
}

static void report(struct test_runtime *rt,
                   struct test_call *of,
                   struct script_error *error)
{
    struct buf text = {0};
    script_error_write(&text, error);
    lua_runtime_report(&rt->lua, VALUE_NONE, NULL, buf_text(&text));
    if (of->call != NULL) {
        fail_adopt(of,
                   (struct task_end){
                       .error = task_error_new("ERROR", buf_text(&text)),
                   });
    }
    buf_release(&text);
}

/* The function may end the call itself, or later; what it returns ends it. */
static void ask(struct test_runtime *rt,
                const struct test_kind *kind,
                struct test_call *of)
{
    struct answer answer = {.of = of, .request = value_ref(of->call->request)};
    const struct script_call call = {
        .function = kind->function,
        .push = push_answer,
        .take = take_answer,
        .ctx = &answer,
    };
    struct script_error error = {0};
    of->refs++;
    const enum script_cause cause = script_call(rt->lua.script, &call, &error);
    if (cause != SCRIPT_FINE) {
        report(rt, of, &error);
        value_unref(answer.value);
    } else if (of->call != NULL && !value_is_absent(answer.value)) {
        finish_adopt(of, answer.value);
    } else {
        value_unref(answer.value);
    }
    script_error_release(&error);
    value_unref(answer.request);
    call_unref(of);
}

static struct test_kind *find_kind(const struct test_tasks *tasks,
                                   struct value name)
{
    VEC_FOREACH (&tasks->kinds, kind) {
        if (key_equal(kind->name, name)) {
            return kind;
        }
    }
    return NULL;
}

static void start(void *ctx, struct task_call *call)
{
    struct test_runtime *rt = ctx;
    struct test_call *of = mem_alloc_zero(sizeof *of);
    const struct test_kind *kind = find_kind(rt->tasks, call->name);
    of->call = call;
    of->refs = 1;
    call->user = of;
    list_node_init(&of->node);
    list_push_back(&rt->tasks->calls, &of->node);
    if (kind != NULL) {
        ask(rt, kind, of);
    }
}

static void cancel(void *ctx, struct task_call *call)
{
    (void)ctx;
    struct test_call *of = call->user;
    of->cancelled = true;
    (void)take_out(of);
}

void test_tasks_begin(struct test_runtime *rt)
{
    struct test_tasks *tasks = mem_alloc_zero(sizeof *tasks);
    list_init(&tasks->calls);
    tasks->any = (struct task_kind){
        .start = start,
        .cancel = cancel,
        .ctx = rt,
        .retries = TASK_RETRIES,
    };
    tasks->exec = tasks->any;
    tasks->exec.name = "exec";
    tasks->exec.retries = 0;
    rt->tasks = tasks;
    task_kinds_add(&rt->one->runtime, &tasks->any);
    task_kinds_add(&rt->one->runtime, &tasks->exec);
}

void test_tasks_end(struct test_runtime *rt)
{
    struct test_tasks *tasks = rt->tasks;
    CHECK(list_is_empty(&tasks->calls));
    VEC_FOREACH (&tasks->kinds, kind) {
        value_unref(kind->name);
        script_function_release(rt->lua.script, &kind->function);
    }
    vec_release(&tasks->kinds);
    mem_free(tasks, sizeof *tasks);
}

int test_tasks_answer(lua_State *L, struct test_runtime *rt)
{
    lua_settop(L, 3);
    luaL_checktype(L, 2, LUA_TSTRING);
    luaL_checktype(L, 3, LUA_TFUNCTION);
    struct view_found *held = view_hold(&rt->lua.frame->views);
    held->value = convert_check(L, 2, "the kind");
    const struct script_function function = script_function_keep(L, 3);
    struct test_kind *known = find_kind(rt->tasks, held->value);
    if (known != NULL) {
        script_function_release(rt->lua.script, &known->function);
        known->function = function;
        return 0;
    }
    const struct test_kind kind = {value_ref(held->value), function};
    vec_push(&rt->tasks->kinds, kind);
    return 0;
}

/* Tasks of an element have its key in front: "cards/3/card1/price". */
static bool is_named(const struct task *task,
                     const struct piece *piece,
                     struct value name)
{
    struct piece *owner = task_piece(task);
    if (owner == NULL || piece_whole(owner) != piece) {
        return false;
    }
    if (owner == piece) {
        return key_equal(task_name(task), name);
    }
    const struct value inner = task_name(task);
    const struct text front = value_text(&owner->front);
    const struct text rest = value_text(&inner);
    struct buf full = {0};
    buf_append(&full, front.at, front.length);
    buf_append(&full, rest.at, rest.length);
    const bool is = value_is_text(name, buf_text(&full));
    buf_release(&full);
    return is;
}

void test_tasks_push(lua_State *L,
                     struct test_runtime *rt,
                     const struct piece *piece,
                     struct value name)
{
    LIST_FOREACH (&rt->tasks->calls, at) {
        struct test_call *of = CONTAINER_OF(at, struct test_call, node);
        if (is_named(of->call->task, piece, name)) {
            push_call(L, of);
            return;
        }
    }
    lua_pushnil(L);
}
