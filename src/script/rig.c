/* Runtimes of tests: their beginning, what they report, their end. */

#include "script/rig.h"

#include "base/mem.h"
#include "sched/circle.h"
#include "script/bodies.h"
#include "script/rejections.h"
#include "script/test_tasks.h"
#include "value/array.h"
#include "value/object.h"

enum {
    SETTLE_STEPS = 1000
};

/* -- Reports ------------------------------------------------------------- */

static struct value report_new(const struct rig *rig,
                               struct value source,
                               const struct place *place,
                               const char *message)
{
    struct value report =
        place != NULL ? stage_place_value(place) : value_empty_object();
    if (!value_is_absent(source)) {
        object_put_adopt(&report, "source", value_ref(source));
    }
    object_put_adopt(&report, "message", value_text_new(message));
    object_put_adopt(&report,
                     "at",
                     value_int((int64_t)world_now(rig->trial->world)));
    return report;
}

static void add_error(struct rig *rig,
                      struct value source,
                      const struct place *place,
                      const char *message,
                      bool is_asked)
{
    const struct value report = report_new(rig, source, place, message);
    if (!is_asked) {
        rig->unasked = array_push_adopt(rig->unasked, value_ref(report));
    }
    rig->errors = array_push_adopt(rig->errors, report);
}

static void rig_report(void *ctx,
                       struct value source,
                       const struct place *place,
                       const char *message)
{
    add_error(ctx, source, place, message, rejections_has_said(message));
}

void rig_asked(struct rig *rig, const char *message)
{
    struct value left = value_empty_array();
    for (uint32_t i = 0; message != NULL && i < array_count(rig->unasked);
         i++) {
        const struct value error = array_at(rig->unasked, i);
        if (!value_is_text(object_field(error, "message"), message)) {
            left = array_push_adopt(left, value_ref(error));
        }
    }
    value_unref(rig->unasked);
    rig->unasked = left;
}

static void rig_called(void *ctx, const char *name, struct value arguments)
{
    struct rig *rig = ctx;
    struct value call = value_empty_object();
    object_put_adopt(&call, "name", value_text_new(name));
    object_put_adopt(&call, "arguments", value_ref(arguments));
    object_put_adopt(&call,
                     "at",
                     value_int((int64_t)world_now(rig->trial->world)));
    rig->calls = array_push_adopt(rig->calls, call);
}

static void on_error(void *ctx,
                     const struct node *node,
                     const struct err_detail *detail)
{
    const bool is_said = detail->text[0] != '\0';
    const char *message = is_said ? detail->text : err_text(detail->err);
    add_error(ctx,
              node_name(node),
              NULL,
              message,
              bodies_has_aborted(message) || rejections_has_said(message));
}

static void on_not_settling(void *ctx,
                            const struct node *const *nodes,
                            size_t count)
{
    add_error(ctx,
              count > 0 ? node_name(nodes[0]) : VALUE_NONE,
              NULL,
              "it does not settle",
              true);
}

static void on_circle(void *ctx, const struct circle *circle)
{
    struct buf sentence = {0};
    circle_write(circle, &sentence);
    add_error(ctx,
              node_name(circle->steps.at[0].node),
              NULL,
              buf_text(&sentence),
              false);
    buf_release(&sentence);
}

static void on_not_started(void *ctx,
                           struct value name,
                           const struct err_detail *why)
{
    add_error(ctx, name, NULL, why->text, rejections_has_said(why->text));
}

static void put_value(struct value *report, const char *key, struct value value)
{
    if (!value_is_absent(value)) {
        object_put_adopt(report, key, value_ref(value));
    }
}

static void on_not_idempotent(void *ctx, const struct violation *violation)
{
    struct rig *rig = ctx;
    struct value report =
        report_new(rig,
                   node_name(violation->node),
                   violation->place,
                   "a second run on the same inputs wrote different values");
    object_put_adopt(&report, "kind", value_text_new("not-idempotent"));
    put_value(&report, "before", violation->before);
    put_value(&report, "after", violation->after);
    rig->violations = array_push_adopt(rig->violations, report);
}

/* What is said of a document goes with it. */
static bool is_label(const struct place *place)
{
    return place->path->length > 0 &&
           value_is_text(place->path->at[0].key, "label");
}

/* Outputs and envelopes; what is not in the space's own scope is nobody else's
 * business. */
static bool is_in_surface(const struct node *node, const struct place *place)
{
    for (uint32_t i = 0; i < node->write_count; i++) {
        const struct place *output = node->writes[i].place;
        if (output->entity == place->entity &&
            (path_is_prefix(output->path, place->path) || is_label(place))) {
            return true;
        }
    }
    return place->entity->scope != SCOPE_SPACE;
}

static void check_surface(struct rig *rig, const struct run *run)
{
    size_t draft = 0;
    size_t at = 0;
    const struct write_entry *write =
        transaction_next_write(run->transaction, &draft, &at);
    while (write != NULL) {
        if (write->changed && !is_in_surface(run->node, write->place)) {
            struct value report = report_new(rig,
                                             node_name(run->node),
                                             write->place,
                                             "a write outside its declared "
                                             "surface");
            object_put_adopt(&report, "kind", value_text_new("surface"));
            rig->violations = array_push_adopt(rig->violations, report);
        }
        write = transaction_next_write(run->transaction, &draft, &at);
    }
}

static void on_run(void *ctx,
                   const struct run *run,
                   const struct run_record *record)
{
    struct rig *rig = ctx;
    const struct node *node = run->node;
    if (record->outcome != OUTCOME_COMMITTED) {
        return;
    }
    stage_note_run(&rig->stage, node);
    if (node->kind == NODE_COMPUTATION && !node->materializer &&
        stage_is_lua(&rig->stage, node->ordinal)) {
        check_surface(rig, run);
    }
}

static enum channel_answer on_change(void *ctx,
                                     const struct notification *notification)
{
    struct rig *rig = ctx;
    rig->reverted += notification->kind == NOTIFY_REVERT;
    rig->loads += notification->kind == NOTIFY_PULL;
    return CHANNEL_MORE;
}

/* -- Life ---------------------------------------------------------------- */

static enum err open_runtime(struct rig *rig, struct err_detail *detail)
{
    const struct rig_options *options = &rig->options;
    VEC(const char *) names = {0};
    const uint32_t count =
        value_is_array(options->spaces) ? array_count(options->spaces) : 0;
    VEC(struct buf) texts = {0};
    for (uint32_t i = 0; i < count; i++) {
        const struct value name = array_at(options->spaces, i);
        const struct text text = value_text(&name);
        struct buf copy = {0};
        buf_append(&copy, text.at, text.length);
        vec_push(&texts, copy);
    }
    VEC_FOREACH (&texts, text) {
        vec_push(&names, buf_text(text));
    }
    struct buf user = {0};
    if (value_is_string(options->user)) {
        const struct text text = value_text(&options->user);
        buf_append(&user, text.at, text.length);
    }
    struct events_policy policy = events_policy();
    policy.lanes = options->lanes;
    policy.seed = rig->trial->seed;
    if (options->hops > 0) {
        policy.hops = options->hops;
    }
    const struct world_runtime_options world = {
        .spaces = names.at,
        .space_count = names.count,
        .user = user.length > 0 ? buf_text(&user) : NULL,
        .hooks = {.ctx = rig,
                  .error = on_error,
                  .not_settling = on_not_settling,
                  .circle = on_circle,
                  .not_idempotent = on_not_idempotent,
                  .run = on_run},
        .policy = &policy,
    };
    const enum err err =
        world_runtime_new(options->store, &world, &rig->one, detail);
    if (err == ERR_OK) {
        rig->one->runtime.not_started = on_not_started;
        rig->one->runtime.not_started_ctx = rig;
    }
    buf_release(&user);
    VEC_FOREACH (&texts, text) {
        buf_release(text);
    }
    vec_release(&texts);
    vec_release(&names);
    return err;
}

static void rig_free(struct rig *rig)
{
    value_unref(rig->options.spaces);
    value_unref(rig->options.user);
    value_unref(rig->errors);
    value_unref(rig->unasked);
    value_unref(rig->violations);
    value_unref(rig->calls);
    mem_free(rig, sizeof *rig);
}

static mono_ms host_now(void *ctx)
{
    return world_now(((const struct rig *)ctx)->trial->world);
}

static void host_load(void *ctx, struct entity *entity)
{
    world_load(((const struct rig *)ctx)->one, entity);
}

void rig_settle(const struct rig *rig)
{
    for (unsigned i = 0; i < SETTLE_STEPS && world_step(rig->one); i++) {
    }
    (void)world_step(rig->one);
}

static void host_settle(void *ctx)
{
    rig_settle(ctx);
}

static void push_task(lua_State *L,
                      void *ctx,
                      const struct piece *piece,
                      struct value name)
{
    test_tasks_push(L, ctx, piece, name);
}

static void begin_stage(struct rig *rig)
{
    rig->host = (struct stage_host){
        .ctx = rig,
        .now = host_now,
        .report = rig_report,
        .called = rig_called,
        .load = host_load,
        .settle = host_settle,
        .push_task = push_task,
    };
    const struct stage_options options = {
        .heddle = rig->trial->heddle,
        .runtime = &rig->one->runtime,
        .host = &rig->host,
        .seed = rig->trial->seed,
        .forget = rig->options.no_persistence,
    };
    stage_set_up(&rig->stage, &options);
}

enum err rig_new(struct trial *trial,
                 const struct rig_options *options,
                 struct rig **out,
                 struct err_detail *detail)
{
    struct rig *rig = mem_alloc_zero(sizeof *rig);
    *out = NULL;
    rig->trial = trial;
    rig->options = *options;
    rig->options.spaces = value_ref(options->spaces);
    rig->options.user = value_ref(options->user);
    rig->errors = value_empty_array();
    rig->unasked = value_empty_array();
    rig->violations = value_empty_array();
    rig->calls = value_empty_array();
    list_init(&rig->rejections);
    const enum err err = open_runtime(rig, detail);
    if (err != ERR_OK) {
        rig_free(rig);
        return err;
    }
    rig->subscriber.fn = on_change;
    rig->subscriber.ctx = rig;
    channel_subscribe(&rig->one->runtime.replica, &rig->subscriber);
    validator_enable(rig_sched(rig), !options->no_idempotency_check);
    rejections_begin(rig);
    test_tasks_begin(rig);
    if (options->trace) {
        rig->trace = trace_new(rig_sched(rig), TRACE_ALL);
    }
    begin_stage(rig);
    list_node_init(&rig->node);
    list_push_back(&trial->rigs, &rig->node);
    *out = rig;
    return ERR_OK;
}

void rig_end(struct rig *rig)
{
    stage_cut(&rig->stage);
    if (rig->trace != NULL) {
        trace_free(rig->trace);
    }
    rejections_end(rig);
    channel_unsubscribe(&rig->subscriber);
    world_runtime_end(rig->one);
    test_tasks_end(rig);
    stage_clear_away(&rig->stage);
    list_remove(&rig->node);
    rig_free(rig);
}
