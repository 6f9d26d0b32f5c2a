/* `tx`, edits, and commits that are waited for. */

#include "script/transactions.h"

#include "base/mem.h"
#include "front/commit_ticket.h"
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

void transactions_frame_ends(struct frame *frame)
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
    struct lua_runtime *lua;
    (void)cells_check(L, 2, &lua);
    if (lua != frame->lua) {
        return luaL_error(L, "the cell belongs to another runtime");
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
                       "the attempt was aborted");
}

static int attempt_log(lua_State *L)
{
    struct frame *frame = check_attempt(L);
    const struct transaction *transaction = frame->call.access.transaction;
    struct value reads = value_empty_array();
    struct value shallow = value_empty_array();
    struct value writes = value_empty_array();
    VEC_FOREACH (&transaction->reads, read) {
        if (!reads_is_probe(read->place) &&
            (read->flags & READ_NOT_FOR_SCHEDULING) == 0) {
            struct value *to = read->kind == READ_DEEP ? &reads : &shallow;
            *to = array_push_adopt(*to, lua_runtime_place_value(read->place));
        }
    }
    size_t draft = 0;
    size_t at = 0;
    for (const struct write_entry *write =
             transaction_next_write(transaction, &draft, &at);
         write != NULL;
         write = transaction_next_write(transaction, &draft, &at)) {
        writes =
            array_push_adopt(writes, lua_runtime_place_value(write->place));
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

void transactions_push(lua_State *L, struct frame *frame)
{
    struct attempt *attempt =
        script_object_push(L, &attempt_class, sizeof *attempt);
    attempt->frame = frame;
    frame->attempt = attempt;
}

/* -- Commits ------------------------------------------------------------- */

struct commit_handle {
    struct commit_ticket *ticket; /* a reference */
};

static void handle_release(void *object)
{
    struct commit_handle *handle = object;
    if (handle->ticket != NULL) {
        commit_ticket_unref(handle->ticket);
        handle->ticket = NULL;
    }
}

static const struct script_class handle_class;

static int handle_state(lua_State *L)
{
    const struct commit_handle *handle =
        script_object_check(L, 1, &handle_class);
    const struct commit_ticket *ticket = handle->ticket;
    lua_pushstring(L,
                   ticket->said.err != ERR_OK ? "rejected"
                   : ticket->ended            ? "confirmed"
                                              : "pending");
    return 1;
}

void transactions_push_error(lua_State *L, const struct err_detail *detail)
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
    transactions_push_error(L, &handle->ticket->said);
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

static const void *check_group(lua_State *L, struct lua_runtime *lua)
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
    const void *group =
        value_is_string(name) ? lua_runtime_group(lua, name) : NULL;
    value_unref(name);
    if (group == NULL) {
        (void)luaL_error(L, "group must be a string");
    }
    lua_pop(L, 1);
    return group;
}

static int push_attempt(lua_State *L, void *ctx)
{
    transactions_push(L, ctx);
    return 1;
}

/* One edit, until its transaction has ended. */
struct edit {
    struct lua_runtime *lua;
    struct script_function function;
    struct script_error
        *error; /* for who calls rt:edit(); NULL: has returned */
};

/* Calls the function in the frame of the transaction. */
static enum err edit_write(void *ctx,
                           struct transaction *transaction,
                           struct err_detail *detail)
{
    struct edit *edit = ctx;
    struct lua_runtime *lua = edit->lua;
    struct frame frame;
    frame_begin(&frame, lua, FRAME_EDIT, transaction);
    frame.random = lua->toplevel.random;
    const struct script_call call = {
        .function = edit->function,
        .push = push_attempt,
        .ctx = &frame,
    };
    struct script_error error = {0};
    if (edit->error != NULL) { /* of an attempt on an older view */
        script_error_release(edit->error);
        *edit->error = (struct script_error){0};
    }
    const enum script_cause cause = script_call(lua->script, &call, &error);
    lua->toplevel.random = frame.random;
    frame_end(&frame);
    if (frame.call.stale || cause == SCRIPT_FINE) {
        script_error_release(&error);
        return frame.call.stale
                   ? err_set(detail, ERR_STALE, "it cannot be read now")
                   : ERR_OK;
    }
    if (frame.aborted) {
        script_error_release(&error);
        return err_set(detail, ERR_GIVEN_UP, "the attempt was aborted");
    }
    struct buf text = {0};
    script_error_write(&text, &error);
    (void)err_set(detail, ERR_GIVEN_UP, "%s", buf_text(&text));
    buf_release(&text);
    if (edit->error != NULL && transaction->unloaded == 0) {
        *edit->error = error;
    } else {
        script_error_release(&error);
    }
    return ERR_GIVEN_UP;
}

/* It was reported, and the ticket says it. */
static void edit_ended(void *ctx, const struct err_detail *said)
{
    struct edit *edit = ctx;
    (void)said;
    script_function_release(edit->lua->script, &edit->function);
    mem_free(edit, sizeof *edit);
}

int transactions_raise(lua_State *L, struct script_error *error)
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

int transactions_edit(lua_State *L, struct lua_runtime *lua)
{
    luaL_checktype(L, 2, LUA_TFUNCTION);
    const void *group = check_group(L, lua);
    if (!frame_is_toplevel(lua->frame)) {
        return luaL_error(L, "edit() cannot be called inside a run");
    }
    struct commit_handle *handle =
        script_object_push(L, &handle_class, sizeof *handle);
    const struct script_function function = script_function_keep(L, 2);
    struct edit *edit = mem_alloc_zero(sizeof *edit);
    edit->lua = lua;
    edit->function = function;
    struct script_error error = {0};
    edit->error = &error;
    const struct own_write_spec spec = {
        .write = edit_write,
        .ended = edit_ended,
        .ctx = edit,
        .group = group,
        .several_spaces = true,
        .reported = true,
    };
    struct err_detail detail = {0};
    const enum err err =
        commit_ticket_make(lua->runtime, &spec, &handle->ticket, &detail);
    if (err != ERR_OK) {
        edit_ended(edit, &detail);
    } else if (!handle->ticket->ended) {
        edit->error = NULL;
    }
    if (error.cause != SCRIPT_FINE) {
        return transactions_raise(L, &error);
    }
    if (err != ERR_OK) {
        detail.err = err;
        lua_pushnil(L);
        transactions_push_error(L, &detail);
        return 2;
    }
    lua_pushboolean(L, 1);
    lua_pushvalue(L, -2);
    return 2;
}
