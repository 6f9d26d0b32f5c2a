/* Running functions of Lua for the nodes and handlers of a pattern. */

#include "script/bodies.h"

#include <string.h>

#include "base/mem.h"
#include "runtime/piece.h"
#include "sched/handling.h"
#include "sched/labels.h"
#include "script/attempts.h"
#include "script/convert.h"
#include "script/fingerprint.h"
#include "script/items.h"

struct lua_body {
    struct stage *stage;
    struct piece *piece; /* outlives it */
    struct script_function function;
    struct recorded recorded;
    struct digest fingerprint;
    bool has_fingerprint;
    struct value labels;  /* of its output, or absent */
    struct place *output; /* if it has labels: a reference */
};

/* One call: its arguments, and where its result goes. */
struct calling {
    int (*push)(lua_State *L, const struct calling *calling);
    struct frame *frame;
    struct value *result;
    struct place *element;  /* of a list, */
    struct value values[2]; /* or of a reduction: both borrowed */
};

static const char aborted[] = "the handler called tx:abort()";

bool bodies_has_aborted(const char *message)
{
    return strcmp(message, aborted) == 0;
}

enum run_result bodies_result(const struct frame *frame,
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

static int push_for_node(lua_State *L, const struct calling *calling)
{
    attempts_push(L, calling->frame);
    return 1;
}

static int push_for_handler(lua_State *L, const struct calling *calling)
{
    convert_push(L, handling_payload(calling->frame->call.handling));
    attempts_push(L, calling->frame);
    return 2;
}

static int push_element(lua_State *L, const struct calling *calling)
{
    items_push(L, calling->frame->stage, calling->element);
    return 1;
}

static int push_values(lua_State *L, const struct calling *calling)
{
    convert_push(L, calling->values[0]);
    convert_push(L, calling->values[1]);
    return 2;
}

static int push_arguments(lua_State *L, void *ctx)
{
    const struct calling *calling = ctx;
    return calling->push(L, calling);
}

static void take_result(lua_State *L, int count, void *ctx)
{
    const struct calling *calling = ctx;
    if (count > 0 && !lua_isnil(L, 1)) {
        *calling->result = convert_check(L, 1, "the result");
    }
}

static enum run_result call(struct run *run,
                            struct lua_body *body,
                            struct calling *calling)
{
    struct stage *stage = body->stage;
    struct frame frame;
    frame_begin_run(&frame, stage, run, run->handling);
    frame.call.piece = body->piece;
    if (run->handling != NULL) {
        frame_draw_event(&frame);
    } else {
        frame_draw(&frame, run, &body->recorded);
    }
    calling->frame = &frame;
    const struct script_call call = {
        .function = body->function,
        .push = push_arguments,
        .take = take_result,
        .ctx = calling,
    };
    struct script_error error = {0};
    const enum script_cause cause = script_call(stage->script, &call, &error);
    frame_end(&frame);
    const enum run_result ended = bodies_result(&frame, cause, &error);
    body->recorded.again |= ended == RUN_AGAIN && run->view == NULL;
    return ended;
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
    struct calling calling = {
        .push = run->handling != NULL ? push_for_handler : push_for_node,
        .result = result,
    };
    const struct lua_body *body = ctx;
    const enum run_result ended = call(run, ctx, &calling);
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
    struct calling calling = {
        .push = push_element,
        .result = result,
        .element = element,
    };
    return call(run, ctx, &calling);
}

static enum run_result run_reduce(struct run *run,
                                  void *ctx,
                                  struct value accumulator,
                                  struct value element,
                                  struct value *result)
{
    struct calling calling = {
        .push = push_values,
        .result = result,
        .values = {accumulator, element},
    };
    return call(run, ctx, &calling);
}

static void body_release(void *ctx)
{
    struct lua_body *body = ctx;
    script_function_release(body->stage->script, &body->function);
    value_unref(body->labels);
    if (body->output != NULL) {
        place_unref(body->output);
    }
    mem_free(body, sizeof *body);
}

/* -- Making -------------------------------------------------------------- */

static void tell_once(struct stage *stage,
                      struct value name,
                      const struct err_detail *detail)
{
    const struct stage_host *host = stage->host;
    if (stage->told || host->notice == NULL) {
        return;
    }
    stage->told = true;
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

bool bodies_fingerprint(struct stage *stage,
                        struct script_function function,
                        struct value name,
                        struct digest *out)
{
    if (stage->forget) {
        return false;
    }
    struct err_detail detail = {0};
    const enum err err = script_fingerprint_first(stage->script,
                                                  function,
                                                  stage->heddle->memory,
                                                  out,
                                                  &detail);
    if (err != ERR_OK) {
        tell_once(stage, name, &detail);
    }
    return err == ERR_OK;
}

static struct lua_body *body_new(lua_State *L,
                                 struct stage *stage,
                                 struct piece *piece,
                                 int index,
                                 struct value name)
{
    luaL_checktype(L, index, LUA_TFUNCTION);
    const struct script_function function = script_function_keep(L, index);
    struct lua_body *body = mem_alloc_zero(sizeof *body);
    body->stage = stage;
    body->piece = piece;
    body->function = function;
    body->has_fingerprint =
        bodies_fingerprint(stage, function, name, &body->fingerprint);
    return body;
}

static const struct digest *fingerprint_of(const struct lua_body *body)
{
    return body->has_fingerprint ? &body->fingerprint : NULL;
}

struct body bodies_new(lua_State *L,
                       struct stage *stage,
                       struct piece *piece,
                       int index,
                       struct value name)
{
    struct lua_body *body = body_new(L, stage, piece, index, name);
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
                                       struct stage *stage,
                                       struct piece *piece,
                                       int index,
                                       struct value name)
{
    struct lua_body *body = body_new(L, stage, piece, index, name);
    return (struct element_body){
        .run = run_element,
        .ctx = body,
        .release = body_release,
        .fingerprint = fingerprint_of(body),
    };
}

void bodies_new_reduce(lua_State *L,
                       struct stage *stage,
                       struct piece *piece,
                       int index,
                       struct builder_reduce *reduce)
{
    struct lua_body *body = body_new(L, stage, piece, index, reduce->name);
    reduce->run = run_reduce;
    reduce->ctx = body;
    reduce->release = body_release;
    reduce->fingerprint = fingerprint_of(body);
}
