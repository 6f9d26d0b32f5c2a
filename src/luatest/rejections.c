/* What is said to commits before the store sees them. */

#include "luatest/rejections.h"

#include <string.h>

#include "base/mem.h"
#include "script/convert.h"
#include "script/transactions.h"
#include "value/array.h"
#include "value/object.h"

static const char refusal[] = "rejected by the test";

bool rejections_has_said(const char *message)
{
    return strcmp(message, refusal) == 0;
}

struct rejection {
    struct list_node node; /* of the runtime */
    enum err err;
    uint64_t times; /* left */
    struct script_function when;
    bool has_when;
};

static const struct {
    const char *name;
    enum err err;
} kinds[] = {
    {"conflict", ERR_CONFLICT},
    {"permanent", ERR_ORIGIN_FAILED},
    {"terminal", ERR_ARGUMENT},
    {"transient", ERR_STORE},
};

static void rejection_free(struct test_runtime *rt, struct rejection *rejection)
{
    list_remove(&rejection->node);
    if (rejection->has_when) {
        script_function_release(rt->lua.script, &rejection->when);
    }
    mem_free(rejection, sizeof *rejection);
}

/* -- A commit as a table ------------------------------------------------- */

/* Who made the commit, or NULL: a node of the scheduler, or a handler's. */
static const struct node *find_source(const struct test_runtime *rt,
                                      uint64_t local_seq)
{
    const struct node *found = NULL;
    VEC_FOREACH (&rt->one->runtime.spaces, space) {
        LIST_FOREACH (&(*space)->pending, at) {
            const struct pending *pending =
                CONTAINER_OF(at, struct pending, node);
            if (pending->commit.local_seq == local_seq &&
                pending->source != NULL) {
                found = pending->source;
            }
        }
    }
    return found;
}

static struct value commit_value(const struct test_runtime *rt,
                                 const struct commit *commit)
{
    struct value docs = value_empty_array();
    VEC_FOREACH (&commit->ops, op) {
        docs = array_push_adopt(docs, value_ref(op->target.id));
    }
    struct value value = value_empty_object();
    object_put_adopt(&value, "session", value_ref(commit->session));
    object_put_number(&value, "seq", commit->local_seq);
    object_put_adopt(&value, "docs", docs);
    object_put_number(&value, "ops", commit->ops.count);
    object_put_adopt(&value,
                     "observation_only",
                     value_bool(commit_is_batch(commit)));
    const struct node *source = find_source(rt, commit->local_seq);
    if (source != NULL && value_is_string(node_name(source))) {
        object_put_adopt(&value,
                         source->kind == NODE_HANDLER ? "event" : "node",
                         value_ref(node_name(source)));
    }
    return value;
}

struct question {
    struct value commit;
    bool yes;
};

static int push_commit(lua_State *L, void *ctx)
{
    const struct question *question = ctx;
    convert_push(L, question->commit);
    return 1;
}

static void take_answer(lua_State *L, int count, void *ctx)
{
    struct question *question = ctx;
    question->yes = count > 0 && lua_toboolean(L, 1) != 0;
}

static bool matches(struct test_runtime *rt,
                    const struct rejection *rejection,
                    const struct commit *commit)
{
    if (!rejection->has_when) {
        return !commit_is_batch(commit);
    }
    struct question question = {commit_value(rt, commit), false};
    const struct script_call call = {
        .function = rejection->when,
        .push = push_commit,
        .take = take_answer,
        .ctx = &question,
    };
    struct script_error error = {0};
    if (script_call(rt->lua.script, &call, &error) != SCRIPT_FINE) {
        struct buf text = {0};
        script_error_write(&text, &error);
        lua_runtime_report(&rt->lua, VALUE_NONE, NULL, buf_text(&text));
        buf_release(&text);
    }
    script_error_release(&error);
    value_unref(question.commit);
    return question.yes;
}

static enum err judge(void *ctx,
                      const struct commit *commit,
                      struct err_detail *detail)
{
    struct test_runtime *rt = ctx;
    LIST_FOREACH (&rt->rejections, at) {
        struct rejection *rejection = CONTAINER_OF(at, struct rejection, node);
        if (matches(rt, rejection, commit)) {
            const enum err err = rejection->err;
            if (--rejection->times == 0) {
                rejection_free(rt, rejection);
            }
            return err_set(detail, err, "%s", refusal);
        }
    }
    return ERR_OK;
}

void rejections_begin(struct test_runtime *rt)
{
    rt->one->judge = judge;
    rt->one->judge_ctx = rt;
}

void rejections_end(struct test_runtime *rt)
{
    rt->one->judge = NULL;
    while (!list_is_empty(&rt->rejections)) {
        rejection_free(
            rt,
            CONTAINER_OF(list_first(&rt->rejections), struct rejection, node));
    }
}

/* -- rt:reject_next ------------------------------------------------------ */

static enum err check_kind(lua_State *L)
{
    if (lua_getfield(L, 2, "kind") == LUA_TSTRING) {
        const char *name = lua_tostring(L, -1);
        for (size_t i = 0; i < COUNT_OF(kinds); i++) {
            if (strcmp(kinds[i].name, name) == 0) {
                lua_pop(L, 1);
                return kinds[i].err;
            }
        }
    }
    (void)luaL_error(L,
                     "kind must be \"conflict\", \"permanent\", \"terminal\" "
                     "or \"transient\"");
    return ERR_OK;
}

int rejections_add(lua_State *L, struct test_runtime *rt)
{
    luaL_checktype(L, 2, LUA_TTABLE);
    lua_settop(L, 2);
    const enum err err = check_kind(L);
    lua_Integer times = 1;
    if (lua_getfield(L, 2, "times") != LUA_TNIL) {
        times = lua_isinteger(L, -1) ? lua_tointeger(L, -1) : 0;
        if (times < 1) {
            return luaL_error(L, "times must be a number from 1 on");
        }
    }
    const int when = lua_getfield(L, 2, "when");
    if (when != LUA_TNIL && when != LUA_TFUNCTION) {
        return luaL_error(L, "when must be a function");
    }
    struct script_function function = {0};
    if (when == LUA_TFUNCTION) {
        function = script_function_keep(L, -1);
    }
    struct rejection *rejection = mem_alloc_zero(sizeof *rejection);
    rejection->err = err;
    rejection->times = (uint64_t)times;
    rejection->when = function;
    rejection->has_when = when == LUA_TFUNCTION;
    list_node_init(&rejection->node);
    list_push_back(&rt->rejections, &rejection->node);
    return 0;
}
