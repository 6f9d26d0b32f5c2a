/* Calls of tasks that a test answers. */

#include "script/test_tasks.h"

#include "base/mem.h"
#include "runtime/piece.h"
#include "script/convert.h"
#include "value/compare.h"
#include "value/object.h"

struct call_object;

struct test_call {
    struct list_node node;
    struct task_call *call;
    struct call_object *object; /* or NULL */
};

struct call_object {
    struct test_call *waiting; /* NULL: it has ended */
};

/* -- The kind ------------------------------------------------------------ */

static void drop(struct test_call *waiting)
{
    if (waiting->object != NULL) {
        waiting->object->waiting = NULL;
    }
    list_remove(&waiting->node);
    mem_free(waiting, sizeof *waiting);
}

static void start(void *ctx, struct task_call *call)
{
    struct rig *rig = ctx;
    struct test_call *waiting = mem_alloc_zero(sizeof *waiting);
    waiting->call = call;
    call->user = waiting;
    list_node_init(&waiting->node);
    list_push_back(&rig->task_calls, &waiting->node);
}

static void cancel(void *ctx, struct task_call *call)
{
    (void)ctx;
    drop(call->user);
}

void test_tasks_begin(struct rig *rig)
{
    list_init(&rig->task_calls);
    rig->task_kind = mem_alloc_zero(sizeof *rig->task_kind);
    *rig->task_kind =
        (struct task_kind){.start = start, .cancel = cancel, .ctx = rig};
    task_kinds_add(&rig->one->runtime, rig->task_kind);
}

void test_tasks_end(struct rig *rig)
{
    CHECK(list_is_empty(&rig->task_calls));
    mem_free(rig->task_kind, sizeof *rig->task_kind);
}

/* -- The object ---------------------------------------------------------- */

static const struct script_class call_class;

static struct task_call *check_call(lua_State *L)
{
    const struct call_object *object = script_object_check(L, 1, &call_class);
    if (object->waiting == NULL) {
        (void)luaL_error(L, "the call has ended, or was cancelled");
    }
    return object->waiting->call;
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

static int call_finish(lua_State *L)
{
    lua_settop(L, 2);
    struct task_call *call = check_call(L);
    const struct value value = convert_check(L, 2, "the value");
    drop(call->user);
    task_call_finish_adopt(call, value);
    script_pass_stop(L);
    return 0;
}

/* fail(error [, { retry=, after= }]): a text, or a table with code and text. */
static int call_fail(lua_State *L)
{
    lua_settop(L, 3);
    struct task_call *call = check_call(L);
    struct task_end end = {0};
    if (!lua_isnil(L, 3)) {
        luaL_checktype(L, 3, LUA_TTABLE);
        (void)lua_getfield(L, 3, "retry");
        end.may_retry = lua_toboolean(L, -1) != 0;
        (void)lua_getfield(L, 3, "after");
        end.at_least = (mono_ms)luaL_optinteger(L, -1, 0);
    }
    if (lua_type(L, 2) == LUA_TSTRING) {
        end.error = task_error_new("ERROR", lua_tostring(L, 2));
    } else {
        luaL_checktype(L, 2, LUA_TTABLE);
        end.error = convert_check(L, 2, "the error");
    }
    drop(call->user);
    call->ended(call, end);
    script_pass_stop(L);
    return 0;
}

static const luaL_Reg call_methods[] = {
    {"kind", call_kind},
    {"request", call_request},
    {"key", call_key},
    {"attempt", call_attempt},
    {"finish", call_finish},
    {"fail", call_fail},
    {NULL, NULL},
};

static void object_release(void *ctx)
{
    struct call_object *object = ctx;
    if (object->waiting != NULL) {
        object->waiting->object = NULL;
    }
}

static const struct script_class call_class = {
    .name = "task_call",
    .methods = call_methods,
    .release = object_release,
};

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
                     struct rig *rig,
                     const struct piece *piece,
                     struct value name)
{
    LIST_FOREACH (&rig->task_calls, at) {
        struct test_call *waiting = CONTAINER_OF(at, struct test_call, node);
        const struct task *task = waiting->call->task;
        if (is_named(task, piece, name)) {
            if (waiting->object != NULL) { /* one object per call */
                waiting->object->waiting = NULL;
            }
            struct call_object *object =
                script_object_push(L, &call_class, sizeof *object);
            object->waiting = waiting;
            waiting->object = object;
            return;
        }
    }
    lua_pushnil(L);
}
