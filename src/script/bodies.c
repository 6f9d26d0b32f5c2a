/* Running functions of Lua for the nodes and handlers of a pattern. */

#include "script/bodies.h"

#include <string.h>

#include "base/mem.h"
#include "runtime/piece.h"
#include "sched/handling.h"
#include "sched/labels.h"
#include "script/convert.h"
#include "script/fingerprint.h"
#include "script/items.h"
#include "script/transactions.h"

struct lua_body {
    struct lua_runtime *lua;
    struct piece *piece; /* outlives it */
    struct script_function function;
    struct recorded recorded;
    struct digest fingerprint;
    bool has_fingerprint;
    struct value labels;  /* of its output, or absent */
    struct place *output; /* if it has labels: a reference */
};

/* The arguments of one call, beside `tx`: borrowed. */
struct calling {
    struct body_call call;
    struct place *element;  /* of a list, */
    struct value values[2]; /* or of a reduction */
};

static const char aborted[] = "the handler called tx:abort()";

bool bodies_has_aborted(const char *message)
{
    return strcmp(message, aborted) == 0;
}

/* The result of a run whose Lua code has ended so; releases the error. */
static enum run_result result_of(const struct frame *frame,
                                 enum script_cause cause,
                                 struct script_error *error)
{
    struct err_detail detail = {0};
    if (cause != SCRIPT_FINE && !frame->call.stale && !frame->aborted) {
        struct buf text = {0};
        script_error_write(&text, error);
        (void)err_set(&detail, ERR_GIVEN_UP, "%s", buf_text(&text));
        buf_release(&text);
    }
    script_error_release(error);
    if (frame->aborted && frame->call.kind == FRAME_HANDLER) {
        (void)err_set(&detail, ERR_GIVEN_UP, "%s", aborted); /* EVT-19 */
    } else if (frame->aborted && !call_frame_waits(&frame->call)) {
        return RUN_AGAIN;
    }
    return call_frame_result(&frame->call,
                             detail.err != ERR_OK ? &detail : NULL);
}

/* -- Calling ------------------------------------------------------------- */

int bodies_push_tx(lua_State *L, struct body_call *call)
{
    transactions_push(L, call->frame);
    return 1;
}

int bodies_push_event(lua_State *L, struct body_call *call)
{
    convert_push(L, handling_payload(call->frame->call.handling));
    transactions_push(L, call->frame);
    return 2;
}

static int push_element(lua_State *L, struct body_call *call)
{
    const struct calling *calling = CONTAINER_OF(call, struct calling, call);
    items_push(L, call->lua, calling->element);
    return 1;
}

static int push_values(lua_State *L, struct body_call *call)
{
    const struct calling *calling = CONTAINER_OF(call, struct calling, call);
    convert_push(L, calling->values[0]);
    convert_push(L, calling->values[1]);
    return 2;
}

static int push_arguments(lua_State *L, void *ctx)
{
    struct body_call *call = ctx;
    return call->push(L, call);
}

static void take_result(lua_State *L, int count, void *ctx)
{
    struct body_call *call = ctx;
    if (call->result != NULL && count > 0 && !lua_isnil(L, 1)) {
        *call->result = convert_check(L, 1, "the result");
    }
}

enum run_result bodies_call(struct run *run,
                            struct handling *handling,
                            struct body_call *call)
{
    struct frame frame;
    frame_begin_run(&frame, call->lua, run, handling);
    frame.call.piece = call->piece;
    frame.node = call->node;
    if (handling != NULL) {
        frame_draw_event(&frame);
    } else {
        frame_draw(&frame, run, call->recorded);
    }
    call->frame = &frame;
    const struct script_call inside = {
        .function = call->function,
        .push = push_arguments,
        .take = take_result,
        .ctx = call,
    };
    struct script_error error = {0};
    const enum script_cause cause =
        script_call(call->lua->script, &inside, &error);
    frame_end(&frame);
    const enum run_result ended = result_of(&frame, cause, &error);
    if (handling == NULL) {
        call->recorded->again |=
            (ended == RUN_AGAIN || ended == RUN_WAITING) && run->view == NULL;
    }
    return ended;
}

static enum run_result call_body(struct run *run,
                                 struct lua_body *body,
                                 struct calling *calling,
                                 struct value *result)
{
    calling->call.lua = body->lua;
    calling->call.function = body->function;
    calling->call.recorded = &body->recorded;
    calling->call.piece = body->piece;
    calling->call.result = result;
    return bodies_call(run, run->handling, &calling->call);
}

/* The label is said of a document that is there: so it is written here, and the
 * builder finds it as it should be. */
static enum run_result say_label(struct run *run,
                                 const struct lua_body *body,
                                 struct value result)
{
    struct err_detail detail = {0};
    enum err err = transaction_put_adopt(run->transaction,
                                         body->output,
                                         value_ref(result),
                                         &detail);
    if (err == ERR_OK) {
        err = labels_declare(run->transaction,
                             body->output,
                             body->labels,
                             &detail);
    }
    return err == ERR_OK ? RUN_DONE : run_fail(run, &detail);
}

static enum run_result run_body(struct run *run,
                                void *ctx,
                                struct value *result)
{
    struct lua_body *body = ctx;
    struct calling calling = {
        .call.push = run->handling != NULL ? bodies_push_event : bodies_push_tx,
    };
    const enum run_result ended = call_body(run, body, &calling, result);
    return ended == RUN_DONE && body->output != NULL &&
                   !value_is_absent(*result)
               ? say_label(run, body, *result)
               : ended;
}

static enum run_result run_element(struct run *run,
                                   void *ctx,
                                   struct place *element,
                                   struct value *result)
{
    struct calling calling = {.call.push = push_element, .element = element};
    return call_body(run, ctx, &calling, result);
}

static enum run_result run_reduce(struct run *run,
                                  void *ctx,
                                  struct value accumulator,
                                  struct value element,
                                  struct value *result)
{
    struct calling calling = {
        .call.push = push_values,
        .values = {accumulator, element},
    };
    return call_body(run, ctx, &calling, result);
}

static void body_release(void *ctx)
{
    struct lua_body *body = ctx;
    script_function_release(body->lua->script, &body->function);
    value_unref(body->labels);
    if (body->output != NULL) {
        place_unref(body->output);
    }
    mem_free(body, sizeof *body);
}

/* -- Making -------------------------------------------------------------- */

static void tell_once(struct lua_runtime *lua,
                      struct value name,
                      const struct err_detail *detail)
{
    const struct lua_runtime_host *host = lua->host;
    if (lua->told || host->notice == NULL) {
        return;
    }
    lua->told = true;
    struct buf text = {0};
    const struct text of = value_text(&name);
    buf_printf(&text,
               "%.*s runs again at every start: its function has no "
               "fingerprint (%s)",
               (int)of.length,
               of.at,
               detail->text);
    host->notice(host->ctx, buf_text(&text));
    buf_release(&text);
}

bool bodies_fingerprint(struct lua_runtime *lua,
                        struct script_function function,
                        struct value name,
                        struct digest *out)
{
    if (lua->forget) {
        return false;
    }
    struct err_detail detail = {0};
    const enum err err = script_fingerprint_first(lua->script,
                                                  function,
                                                  lua->heddle->memory,
                                                  out,
                                                  &detail);
    if (err != ERR_OK) {
        tell_once(lua, name, &detail);
    }
    return err == ERR_OK;
}

static struct lua_body *body_new(lua_State *L,
                                 struct lua_runtime *lua,
                                 struct piece *piece,
                                 int index,
                                 struct value name)
{
    luaL_checktype(L, index, LUA_TFUNCTION);
    const struct script_function function = script_function_keep(L, index);
    struct lua_body *body = mem_alloc_zero(sizeof *body);
    body->lua = lua;
    body->piece = piece;
    body->function = function;
    body->has_fingerprint =
        bodies_fingerprint(lua, function, name, &body->fingerprint);
    return body;
}

static const struct digest *fingerprint_of(const struct lua_body *body)
{
    return body->has_fingerprint ? &body->fingerprint : NULL;
}

struct body bodies_new(lua_State *L,
                       struct lua_runtime *lua,
                       struct piece *piece,
                       int index,
                       struct value name)
{
    struct lua_body *body = body_new(L, lua, piece, index, name);
    return (struct body){
        .run = run_body,
        .ctx = body,
        .release = body_release,
        .fingerprint = fingerprint_of(body),
    };
}

void bodies_set_label(const struct body *body,
                      struct value labels,
                      struct place *output)
{
    struct lua_body *own = body->ctx;
    own->labels = value_ref(labels);
    own->output = place_ref(output);
}

struct element_body bodies_new_element(lua_State *L,
                                       struct lua_runtime *lua,
                                       struct piece *piece,
                                       int index,
                                       struct value name)
{
    struct lua_body *body = body_new(L, lua, piece, index, name);
    return (struct element_body){
        .run = run_element,
        .ctx = body,
        .release = body_release,
        .fingerprint = fingerprint_of(body),
    };
}

void bodies_new_reduce(lua_State *L,
                       struct lua_runtime *lua,
                       struct piece *piece,
                       int index,
                       struct builder_reduce *reduce)
{
    struct lua_body *body = body_new(L, lua, piece, index, reduce->name);
    reduce->run = run_reduce;
    reduce->ctx = body;
    reduce->release = body_release;
    reduce->fingerprint = fingerprint_of(body);
}
