/* `tx`, edits, and commits that are waited for. */

#include "script/attempts.h"

#include "base/mem.h"
#include "sched/lineage.h"
#include "script/cells.h"
#include "script/convert.h"
#include "script/reads.h"
#include "value/array.h"
#include "value/object.h"

/* -- tx ------------------------------------------------------------------ */

struct attempt {
    struct frame *frame; /* NULL: is over */
};

static void attempt_release(void *object)
{
    struct attempt *attempt = object;
    if (attempt->frame != NULL) {
        attempt->frame->attempt = NULL;
        attempt->frame = NULL;
    }
}

void attempts_frame_ends(struct frame *frame)
{
    if (frame->attempt != NULL) {
        attempt_release(frame->attempt);
    }
}

static const struct script_class attempt_class;

static struct frame *check_attempt(lua_State *L)
{
    const struct attempt *attempt = script_object_check(L, 1, &attempt_class);
    if (attempt->frame == NULL) {
        (void)luaL_error(L, "this transaction is over");
    }
    return attempt->frame;
}

static int attempt_set(lua_State *L)
{
    const struct frame *frame = check_attempt(L);
    struct stage *stage;
    (void)cells_check(L, 2, &stage);
    if (stage != frame->stage) {
        return luaL_error(L, "the cell is one of another runtime");
    }
    cells_set(L, 2, 3);
    return 0;
}

static int attempt_abort(lua_State *L)
{
    check_attempt(L)->aborted = true;
    return script_stop(L,
                       SCRIPT_STOPPED,
                       ATTEMPT_ABORTED,
                       "the attempt was given up");
}

static int attempt_log(lua_State *L)
{
    struct frame *frame = check_attempt(L);
    const struct transaction *transaction = frame->access.transaction;
    struct value reads = value_empty_array();
    struct value shallow = value_empty_array();
    struct value writes = value_empty_array();
    VEC_FOREACH (&transaction->reads, read) {
        if (!reads_is_probe(read->place) &&
            (read->flags & READ_NOT_FOR_SCHEDULING) == 0) {
            struct value *to = read->kind == READ_DEEP ? &reads : &shallow;
            *to = array_push_adopt(*to, stage_place_value(read->place));
        }
    }
    size_t draft = 0;
    size_t at = 0;
    for (const struct write_entry *write =
             transaction_next_write(transaction, &draft, &at);
         write != NULL;
         write = transaction_next_write(transaction, &draft, &at)) {
        writes = array_push_adopt(writes, stage_place_value(write->place));
    }
    struct value log = value_empty_object();
    object_put_adopt(&log, "reads", reads);
    object_put_adopt(&log, "shallow", shallow);
    object_put_adopt(&log, "writes", writes);
    view_hold(&frame->views)->value = log;
    convert_push(L, log);
    return 1;
}

static const luaL_Reg attempt_methods[] = {
    {"set", attempt_set},
    {"abort", attempt_abort},
    {"log", attempt_log},
    {NULL, NULL},
};

static const struct script_class attempt_class = {
    .name = "transaction",
    .methods = attempt_methods,
    .release = attempt_release,
};

void attempts_push(lua_State *L, struct frame *frame)
{
    struct attempt *attempt =
        script_object_push(L, &attempt_class, sizeof *attempt);
    attempt->frame = frame;
    frame->attempt = attempt;
}

/* -- Commits ------------------------------------------------------------- */

/* What has become of a commit: held by its watch, and by Lua. How many answers
 * there are to be is known after some have come. */
struct fate {
    uint32_t refs;
    uint32_t answers;
    uint32_t expected; /* once it is `applied` */
    bool applied;
    struct err_detail error;
};

struct commit_handle {
    struct fate *fate;
};

static void fate_unref(struct fate *fate)
{
    if (--fate->refs == 0) {
        mem_free(fate, sizeof *fate);
    }
}

static void fate_answered(void *ctx, const struct verdict *verdict)
{
    struct fate *fate = ctx;
    if (verdict->err != ERR_OK && fate->error.err == ERR_OK) {
        fate->error = verdict->detail;
        fate->error.err = verdict->err;
    }
    fate->answers++;
    if (fate->applied && fate->answers == fate->expected) {
        fate_unref(fate);
    }
}

/* The commit was tried, and so many answers belong to it. */
static void fate_expect(struct fate *fate, uint32_t expected)
{
    fate->applied = true;
    fate->expected = expected;
    if (fate->answers == expected) {
        fate_unref(fate);
    }
}

static void handle_release(void *object)
{
    struct commit_handle *handle = object;
    if (handle->fate != NULL) {
        fate_unref(handle->fate);
        handle->fate = NULL;
    }
}

static const struct script_class handle_class;

static int handle_state(lua_State *L)
{
    const struct commit_handle *handle =
        script_object_check(L, 1, &handle_class);
    const struct fate *fate = handle->fate;
    lua_pushstring(L,
                   fate->error.err != ERR_OK        ? "rejected"
                   : fate->answers < fate->expected ? "pending"
                                                    : "confirmed");
    return 1;
}

void attempts_push_error(lua_State *L, const struct err_detail *detail)
{
    if (detail->err == ERR_OK) {
        lua_pushnil(L);
        return;
    }
    const bool is_said = detail->text[0] != '\0';
    lua_createtable(L, 0, 3);
    lua_pushstring(L, err_name(detail->err));
    lua_setfield(L, -2, "name");
    lua_pushstring(L, is_said ? detail->text : err_text(detail->err));
    lua_setfield(L, -2, "message");
    lua_pushboolean(L,
                    err_class_of(detail->err) == ERR_CLASS_PERMANENT ? 1 : 0);
    lua_setfield(L, -2, "precondition");
}

static int handle_error(lua_State *L)
{
    const struct commit_handle *handle =
        script_object_check(L, 1, &handle_class);
    attempts_push_error(L, &handle->fate->error);
    return 1;
}

static const luaL_Reg handle_methods[] = {
    {"state", handle_state},
    {"error", handle_error},
    {NULL, NULL},
};

static const struct script_class handle_class = {
    .name = "commit",
    .methods = handle_methods,
    .release = handle_release,
};

/* -- rt:edit ------------------------------------------------------------- */

static const void *check_group(lua_State *L, struct stage *stage)
{
    if (lua_isnoneornil(L, 3)) {
        return NULL;
    }
    luaL_checktype(L, 3, LUA_TTABLE);
    if (lua_getfield(L, 3, "group") == LUA_TNIL) {
        lua_pop(L, 1);
        return NULL;
    }
    const struct value name = convert_check(L, -1, "group");
    const void *group = value_is_string(name) ? stage_group(stage, name) : NULL;
    value_unref(name);
    if (group == NULL) {
        (void)luaL_error(L, "group is a string");
    }
    lua_pop(L, 1);
    return group;
}

static int push_attempt(lua_State *L, void *ctx)
{
    attempts_push(L, ctx);
    return 1;
}

/* Calls the function in the frame of the transaction. SCRIPT_FINE, or an
 * error; *aborted: it gave the transaction up itself. */
static enum script_cause call_in(struct stage *stage,
                                 struct transaction *transaction,
                                 struct script_function function,
                                 bool *aborted,
                                 struct script_error *error)
{
    struct frame frame;
    const struct cell_access access = {stage->runtime, NULL, transaction};
    frame_begin(&frame, stage, &access);
    frame.random = stage->ground.random;
    const struct script_call call = {
        .function = function,
        .push = push_attempt,
        .ctx = &frame,
    };
    const enum script_cause cause = script_call(stage->script, &call, error);
    stage->ground.random = frame.random;
    *aborted = frame.aborted;
    frame_end(&frame);
    return cause;
}

int attempts_raise(lua_State *L, struct script_error *error)
{
    const enum script_cause cause = error->cause;
    struct buf *text = script_buffer_push(L);
    script_error_write(text, error);
    script_error_release(error);
    if (cause != SCRIPT_ERROR) {
        return script_stop(L, cause, 0, "%s", buf_text(text));
    }
    lua_pushlstring(L, buf_text(text), text->length);
    return lua_error(L);
}

/* One attempt. True if it cannot end before documents have come that it writes
 * to, and they have. */
static bool attempt_once(struct stage *stage,
                         struct script_function function,
                         const struct transaction_options *options,
                         struct fate *fate,
                         struct script_error *error,
                         struct err_detail *detail)
{
    struct runtime *runtime = stage->runtime;
    struct transaction *transaction =
        transaction_begin(&runtime->replica, options);
    bool aborted = false;
    const enum script_cause cause =
        call_in(stage, transaction, function, &aborted, error);
    enum err err = ERR_GIVEN_UP;
    if (cause == SCRIPT_FINE) {
        err = lineage_commit(stage_sched(stage), transaction, detail);
        detail->err = err;
    } else {
        lineage_abort(transaction);
        (void)err_set(detail, err, "the attempt was given up");
    }
    VEC(struct entity *) awaited = {0};
    VEC_FOREACH (&transaction->awaited, entity) {
        vec_push(&awaited, *entity);
    }
    const uint32_t applied = transaction->applied;
    transaction_release(transaction);
    bool again = awaited.count > 0 && !aborted && runtime->fetch != NULL;
    VEC_FOREACH (&awaited, entity) {
        if (again) {
            runtime->fetch(runtime->fetch_ctx, *entity);
            again = (*entity)->loaded;
        }
    }
    vec_release(&awaited);
    if (aborted || again) {
        script_error_release(error);
    }
    if (!again) {
        fate_expect(fate, err == ERR_OK ? applied : 0);
    }
    return again;
}

static struct err_detail edit_with(struct stage *stage,
                                   struct script_function function,
                                   const struct transaction_options *options,
                                   struct fate *fate,
                                   struct script_error *error)
{
    struct err_detail detail = {0};
    bool again = true;
    while (again) {
        err_clear(&detail);
        again = attempt_once(stage, function, options, fate, error, &detail);
    }
    return detail;
}

int attempts_edit(lua_State *L, struct stage *stage)
{
    luaL_checktype(L, 2, LUA_TFUNCTION);
    const void *group = check_group(L, stage);
    if (!frame_is_ground(stage->frame)) {
        return luaL_error(L, "edit() is not for code inside of a run");
    }
    struct commit_handle *handle =
        script_object_push(L, &handle_class, sizeof *handle);
    struct script_function function = script_function_keep(L, 2);
    handle->fate = mem_alloc_zero(sizeof *handle->fate);
    handle->fate->refs = 2;
    const struct transaction_options options = {
        .group = group,
        .several_spaces = true,
        .watch = {.settled = fate_answered, .ctx = handle->fate},
    };
    struct script_error error = {0};
    const struct err_detail detail =
        edit_with(stage, function, &options, handle->fate, &error);
    script_function_release(script_of(L), &function);
    if (error.cause != SCRIPT_FINE) {
        return attempts_raise(L, &error);
    }
    if (detail.err != ERR_OK) {
        lua_pushnil(L);
        attempts_push_error(L, &detail);
        return 2;
    }
    lua_pushboolean(L, 1);
    lua_pushvalue(L, -2);
    return 2;
}
