/* Computations, effects and sinks: registering them, running them, asking. */

#include "api/node.h"

#include "api/cell.h"
#include "api/event.h"
#include "api/handle.h"
#include "api/label.h"
#include "api/loop.h"
#include "api/pattern.h"
#include "base/mem.h"
#include "front/pull.h"
#include "runtime/piece.h"
#include "sched/event.h"

/* -- Callbacks ----------------------------------------------------------- */

struct callback *callback_new(hd_runtime *runtime,
                              hd_run_fn *run,
                              void *context,
                              void (*release)(void *context))
{
    struct callback *callback = mem_alloc_zero(sizeof *callback);
    callback->refs = 1;
    callback->runtime = runtime;
    callback->run = run;
    callback->context = context;
    callback->release = release;
    return callback;
}

void callback_unref(struct callback *callback)
{
    if (--callback->refs == 0) {
        CHECK(callback->gone);
        mem_free(callback, sizeof *callback);
    }
}

void callback_gone(void *ctx)
{
    struct callback *callback = ctx;
    CHECK(!callback->gone);
    callback->gone = true;
    callback->node = NULL;
    callback->handler = NULL;
    if (callback->place != NULL) {
        place_unref(callback->place);
        callback->place = NULL;
    }
    if (callback->release != NULL) {
        callback->runtime->busy++;
        callback->release(callback->context);
        callback->runtime->busy--;
    }
    if (callback->scope != NULL) {
        build_scope_unref(callback->scope);
        callback->scope = NULL;
    }
    callback_unref(callback);
}

/* What a sink is called with. */
static hd_status call_sink(const struct callback *callback)
{
    struct value found;
    struct err_detail detail = {0};
    const enum err err = cell_look(callback->runtime,
                                   callback->place,
                                   READ_DEEP,
                                   READ_FOR_BOTH,
                                   &found,
                                   &detail);
    if (err != ERR_OK && err != ERR_NOT_FOUND) {
        return status_of(err);
    }
    hd_value *value = err == ERR_OK ? handle_new_adopt(found) : NULL;
    callback->sink(callback->context, value);
    hd_value_unref(value);
    return HD_OK;
}

static hd_status call_reduce(const struct callback *callback,
                             struct hd_run *frame,
                             const struct call_context *call_context)
{
    hd_value *accumulator =
        handle_new_adopt(value_ref(call_context->accumulator));
    hd_value *item = handle_new_adopt(value_ref(call_context->item));
    const hd_status status =
        callback->reduce(frame, accumulator, item, callback->context);
    hd_value_unref(item);
    hd_value_unref(accumulator);
    return status;
}

static hd_status call(const struct callback *callback,
                      struct hd_run *frame,
                      const struct call_context *call_context)
{
    if (callback->sink != NULL) {
        return call_sink(callback);
    }
    if (callback->element != NULL) {
        return callback->element(frame,
                                 frame_lend(frame, call_context->element),
                                 callback->context);
    }
    return callback->reduce != NULL ? call_reduce(callback, frame, call_context)
                                    : callback->run(frame, callback->context);
}

enum run_result callback_call(struct callback *callback,
                              const struct call_context *call_context)
{
    hd_runtime *runtime = callback->runtime;
    struct run *run = call_context->run;
    struct hd_run *frame = api_frame_begin(runtime);
    call_frame_init_run(&frame->call,
                        runtime_core(runtime),
                        run,
                        call_context->handling);
    frame->call.piece = call_context->piece;
    frame->returns = call_context->result != NULL;
    callback->refs++;
    const hd_status status = call(callback, frame, call_context);
    const enum run_result result = frame_result(frame, status);
    if (result == RUN_DONE && run->view == NULL) {
        callback->runs++;
    }
    if (result == RUN_DONE && call_context->result != NULL) {
        *call_context->result = frame->result;
        frame->result = VALUE_NONE;
    }
    api_frame_end(frame);
    callback_unref(callback);
    return result;
}

static enum run_result run_node(struct run *run, void *ctx)
{
    const struct call_context call_context = {.run = run};
    return callback_call(ctx, &call_context);
}

/* -- Handles ------------------------------------------------------------- */

static void cut(struct object *object)
{
    hd_node *node = CONTAINER_OF(object, hd_node, object);
    if (node->piece != NULL) {
        piece_unref(node->piece);
        node->piece = NULL;
    }
}

hd_node *node_handle(hd_runtime *runtime, struct callback *callback)
{
    hd_node *node = object_new(runtime, OBJECT_NODE, sizeof *node, cut);
    node->callback = callback;
    callback->refs++;
    return node;
}

hd_node *node_handle_of_piece(hd_runtime *runtime,
                              struct piece *piece,
                              struct value name)
{
    hd_node *node = object_new(runtime, OBJECT_NODE, sizeof *node, cut);
    node->piece = piece_ref(piece);
    node->name = value_ref(name);
    return node;
}

void hd_node_free(hd_node *node)
{
    if (!object_may_go(node, OBJECT_NODE)) {
        return;
    }
    if (node->callback != NULL) {
        callback_unref(node->callback);
    }
    value_unref(node->name);
    object_free(&node->object, sizeof *node);
}

/* -- Registering --------------------------------------------------------- */

struct node_places {
    struct cell_places reads;
    struct cell_places writes;
};

static void places_release(struct node_places *places)
{
    cell_places_release(&places->reads);
    cell_places_release(&places->writes);
}

static enum err check_options(hd_runtime *runtime,
                              enum node_kind kind,
                              const hd_node_options *options,
                              struct node_places *places,
                              struct err_detail *detail)
{
    *places = (struct node_places){0};
    if (options->run == NULL) {
        return err_set(detail, ERR_ARGUMENT, "'run' must not be NULL");
    }
    if ((kind == NODE_COMPUTATION) != (options->write_count > 0)) {
        return err_set(detail,
                       ERR_ARGUMENT,
                       kind == NODE_COMPUTATION
                           ? "a computation must declare its 'writes'"
                           : "an effect cannot have 'writes'");
    }
    enum err err = ERR_OK;
    if (options->clearance != NULL && kind == NODE_COMPUTATION) {
        return err_set(detail,
                       ERR_ARGUMENT,
                       "a computation cannot have a "
                       "clearance");
    }
    if (options->clearance != NULL) {
        err = label_check(options->clearance->value, true, detail);
    }
    if (err == ERR_OK) {
        err = cell_places(runtime,
                          options->reads,
                          options->read_count,
                          "reads",
                          &places->reads,
                          detail);
    }
    if (err == ERR_OK) {
        err = cell_places(runtime,
                          options->writes,
                          options->write_count,
                          "writes",
                          &places->writes,
                          detail);
    }
    return err;
}

static enum err check_moment(const hd_runtime *runtime,
                             struct err_detail *detail)
{
    if (runtime->run != NULL && runtime->run->call.access.run == NULL) {
        return err_set(detail,
                       ERR_MISUSE,
                       "an edit cannot register or remove nodes");
    }
    if (runtime->run != NULL && runtime->run->call.handling != NULL) {
        return err_set(detail,
                       ERR_MISUSE,
                       "a handler cannot register or remove nodes");
    }
    return runtime_check_writing(runtime, detail);
}

/* The name is optional, and new. */
static enum err check_name(const char *name,
                           struct value *out,
                           struct err_detail *detail)
{
    *out = VALUE_NONE;
    return name != NULL ? edge_name(name, "name", out, detail) : ERR_OK;
}

/* The context that was given is released in any case (api-node-2). */
static void refuse(const hd_node_options *options)
{
    if (options != NULL && options->release != NULL) {
        options->release(options->context);
    }
}

static void register_node(hd_runtime *runtime,
                          enum node_kind kind,
                          const hd_node_options *options,
                          const struct node_places *places,
                          struct value name,
                          hd_node **node)
{
    struct callback *callback =
        callback_new(runtime, options->run, options->context, options->release);
    const struct node_spec spec = {
        .kind = kind,
        .run = run_node,
        .ctx = callback,
        .release = callback_gone,
        .name = name,
        .outputs = places->writes.at,
        .output_count = places->writes.count,
        .reads = places->reads.at,
        .read_count = places->reads.count,
        .debounce = options->debounce_ms,
        .debounce_max = options->debounce_max_ms,
        .throttle = options->throttle_ms,
        .no_auto_debounce = options->no_auto_debounce,
        .clearance =
            options->clearance != NULL ? options->clearance->value : VALUE_NONE,
    };
    callback->node = sched_register(runtime_sched(runtime), &spec);
    for (size_t i = 0; i < places->reads.count; i++) {
        cell_want(places->reads.at[i]);
    }
    for (size_t i = 0; i < places->writes.count; i++) {
        cell_want(places->writes.at[i]);
    }
    if (node != NULL) {
        *node = node_handle(runtime, callback);
    }
}

static hd_status new_node(hd_runtime *runtime,
                          enum node_kind kind,
                          const hd_node_options *options,
                          hd_node **node,
                          hd_error *error)
{
    if (node != NULL) {
        *node = NULL;
    }
    struct err_detail detail = {0};
    struct node_places places = {0};
    struct value name = VALUE_NONE;
    enum err err =
        object_check_open(runtime, OBJECT_RUNTIME, "runtime", &detail);
    if (err == ERR_OK) {
        err = options == NULL
                  ? err_set(&detail, ERR_ARGUMENT, "'options' must not be NULL")
                  : check_moment(runtime, &detail);
    }
    if (err == ERR_OK && kind == NODE_COMPUTATION) {
        err = runtime_check_changing(runtime, "a computation", &detail);
    }
    if (err == ERR_OK) {
        err = check_options(runtime, kind, options, &places, &detail);
    }
    if (err == ERR_OK) {
        err = check_name(options->name, &name, &detail);
    }
    if (err == ERR_OK) {
        register_node(runtime, kind, options, &places, name, node);
    } else {
        refuse(options);
    }
    value_unref(name);
    places_release(&places);
    return error_report(error, err, &detail);
}

hd_status hd_computation_new(hd_runtime *runtime,
                             const hd_node_options *options,
                             hd_node **node,
                             hd_error *error)
{
    return new_node(runtime, NODE_COMPUTATION, options, node, error);
}

hd_status hd_effect_new(hd_runtime *runtime,
                        const hd_node_options *options,
                        hd_node **node,
                        hd_error *error)
{
    return new_node(runtime, NODE_EFFECT, options, node, error);
}

/* Of a cell that was checked; the name is new. */
static enum err check_sink(const hd_cell *cell,
                           const hd_sink_options *options,
                           struct value *name,
                           struct err_detail *detail)
{
    enum err err = check_moment(cell->object.runtime, detail);
    if (err == ERR_OK && options->sink == NULL) {
        err = err_set(detail, ERR_ARGUMENT, "'sink' must not be NULL");
    }
    if (err == ERR_OK && options->clearance != NULL) {
        err = label_check(options->clearance->value, true, detail);
    }
    const char *given = options->name != NULL ? options->name : "sink";
    return err == ERR_OK ? edge_name(given, "name", name, detail) : err;
}

static void register_sink(const hd_cell *cell,
                          const hd_sink_options *options,
                          struct value name,
                          hd_node **node)
{
    hd_runtime *runtime = cell->object.runtime;
    struct callback *callback =
        callback_new(runtime, NULL, options->context, options->release);
    callback->sink = options->sink;
    callback->place = place_ref(cell->place);
    const struct node_spec spec = {
        .kind = NODE_EFFECT,
        .run = run_node,
        .ctx = callback,
        .release = callback_gone,
        .name = name,
        .reads = &callback->place,
        .read_count = 1,
        .clearance =
            options->clearance != NULL ? options->clearance->value : VALUE_NONE,
    };
    callback->node = sched_register(runtime_sched(runtime), &spec);
    cell_want(callback->place);
    if (node != NULL) {
        *node = node_handle(runtime, callback);
    }
}

hd_status hd_sink_new_with(hd_cell *cell,
                           const hd_sink_options *options,
                           hd_node **node,
                           hd_error *error)
{
    if (node != NULL) {
        *node = NULL;
    }
    struct err_detail detail = {0};
    struct value name = VALUE_NONE;
    enum err err = cell_check(cell, "cell", &detail);
    if (err == ERR_OK && options == NULL) {
        err = err_set(&detail, ERR_ARGUMENT, "'options' must not be NULL");
    }
    if (err == ERR_OK) {
        err = check_sink(cell, options, &name, &detail);
    }
    if (err == ERR_OK) {
        register_sink(cell, options, name, node);
    } else if (options != NULL && options->release != NULL) {
        options->release(options->context); /* api-node-2 */
    }
    value_unref(name);
    return error_report(error, err, &detail);
}

hd_status hd_sink_new(hd_cell *cell,
                      hd_sink_fn *sink,
                      void *context,
                      hd_node **node,
                      hd_error *error)
{
    const hd_sink_options options = {.sink = sink, .context = context};
    return hd_sink_new_with(cell, &options, node, error);
}

/* -- Up to date ---------------------------------------------------------- */

enum err node_pull(hd_runtime *runtime,
                   struct place *place,
                   struct value *out,
                   struct err_detail *detail)
{
    struct pull pull = {.runtime = runtime_core(runtime), .place = place};
    pull_begin(&pull);
    const enum err err = loop_step(runtime, NULL, detail);
    pull_end(&pull);
    value_unref(pull.seen);
    return err != ERR_OK ? err
                         : cell_look(runtime,
                                     place,
                                     READ_DEEP,
                                     READ_FOR_BOTH,
                                     out,
                                     detail);
}

/* -- Asking -------------------------------------------------------------- */

/* Of a handle that was checked; NULL: it is gone, or a handler. */
static struct node *inner(const hd_node *node)
{
    if (node->callback != NULL) {
        return node->callback->node;
    }
    return node->piece != NULL ? piece_node(node->piece, node->name) : NULL;
}

const struct node *node_core(const hd_node *node)
{
    return node->callback != NULL && node->callback->handler != NULL
               ? &node->callback->handler->node
               : inner(node);
}

static hd_node_state state_of(const struct node *node)
{
    switch (node->status) {
    case NODE_NEVER_RAN:
        return HD_NEVER_RAN;
    case NODE_CLEAN:
        return HD_CLEAN;
    case NODE_INVALID:
        break;
    }
    return HD_INVALID;
}

hd_status hd_node_look(hd_node *node, hd_node_info *info)
{
    if (info == NULL) {
        return HD_ARGUMENT;
    }
    *info = (hd_node_info){.state = HD_REMOVED};
    const enum err err = object_check_open(node, OBJECT_NODE, "node", NULL);
    if (err != ERR_OK) {
        return status_of(err);
    }
    const struct callback *callback = node->callback;
    const struct node *at = inner(node);
    info->runs = callback != NULL ? callback->runs : at != NULL ? at->runs : 0;
    if (at != NULL) {
        info->kind = at->kind == NODE_EFFECT ? HD_EFFECT : HD_COMPUTATION;
        info->state = state_of(at);
        info->live = node_is_live(at);
    } else if (callback != NULL && callback->handler != NULL) {
        info->kind = HD_HANDLER;
        info->state = HD_CLEAN;
        info->live = true;
    }
    return HD_OK;
}

/* A node that is there: CLOSED if it was removed, MISUSE for a handler. */
static enum err check_node(const hd_node *node, struct node **out)
{
    const enum err err = object_check_open(node, OBJECT_NODE, "node", NULL);
    if (err != ERR_OK) {
        return err;
    }
    if (node->callback != NULL && node->callback->handler != NULL) {
        return ERR_MISUSE;
    }
    *out = inner(node);
    return *out != NULL ? check_moment(node->object.runtime, NULL) : ERR_CLOSED;
}

hd_status hd_node_invalidate(hd_node *node)
{
    struct node *at;
    const enum err err = check_node(node, &at);
    if (err == ERR_OK) {
        sched_invalidate(runtime_sched(node->object.runtime), at);
    }
    return status_of(err);
}

hd_status hd_node_set_debounce(hd_node *node, uint32_t milliseconds)
{
    struct node *at;
    const enum err err = check_node(node, &at);
    if (err == ERR_OK) {
        struct sched *sched = runtime_sched(node->object.runtime);
        sched_set_debounce(sched, at, milliseconds);
    }
    return status_of(err);
}

hd_status hd_node_set_throttle(hd_node *node, uint32_t milliseconds)
{
    struct node *at;
    const enum err err = check_node(node, &at);
    if (err == ERR_OK) {
        struct sched *sched = runtime_sched(node->object.runtime);
        sched_set_throttle(sched, at, milliseconds);
    }
    return status_of(err);
}

hd_status hd_node_remove(hd_node *node)
{
    const enum err err = object_check_open(node, OBJECT_NODE, "node", NULL);
    if (err != ERR_OK) {
        return status_of(err);
    }
    if (node->piece != NULL) {
        return HD_MISUSE; /* it goes with its piece */
    }
    struct sched *sched = runtime_sched(node->object.runtime);
    if (node->callback->handler != NULL) {
        const enum err now = runtime_check_writing(node->object.runtime, NULL);
        if (now == ERR_OK) {
            handler_remove(sched, node->callback);
        }
        return status_of(now);
    }
    struct node *at;
    const enum err there = check_node(node, &at);
    if (there != ERR_OK) {
        return status_of(there);
    }
    if (at->running) {
        return HD_MISUSE;
    }
    sched_remove_all(sched, at);
    return HD_OK;
}
