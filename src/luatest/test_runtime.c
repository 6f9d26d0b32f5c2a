/* Runtimes of tests: their beginning, what they report, their end. */

#include "luatest/test_runtime.h"

#include "base/mem.h"
#include "luatest/rejections.h"
#include "luatest/test_tasks.h"
#include "sched/cycle.h"
#include "script/bodies.h"
#include "value/array.h"
#include "value/object.h"

enum {
    SETTLE_STEPS = 1000
};

/* -- Reports ------------------------------------------------------------- */

static struct value report_new(const struct test_runtime *rt,
                               struct value source,
                               const struct place *place,
                               const char *message)
{
    struct value report =
        place != NULL ? lua_runtime_place_value(place) : value_empty_object();
    if (!value_is_absent(source)) {
        object_put_adopt(&report, "source", value_ref(source));
    }
    object_put_text(&report, "message", message);
    object_put_number(&report, "at", world_now(rt->test_case->world));
    return report;
}

static void add_error(struct test_runtime *rt,
                      struct value source,
                      const struct place *place,
                      const char *message,
                      bool is_asked)
{
    const struct value report = report_new(rt, source, place, message);
    if (!is_asked) {
        rt->unasked = array_push_adopt(rt->unasked, value_ref(report));
    }
    rt->errors = array_push_adopt(rt->errors, report);
}

static void on_report(void *ctx,
                      struct value source,
                      const struct place *place,
                      const char *message)
{
    add_error(ctx, source, place, message, rejections_has_said(message));
}

void test_runtime_asked(struct test_runtime *rt, const char *message)
{
    struct value left = value_empty_array();
    for (uint32_t i = 0; message != NULL && i < array_count(rt->unasked); i++) {
        const struct value error = array_at(rt->unasked, i);
        if (!value_is_text(object_field(error, "message"), message)) {
            left = array_push_adopt(left, value_ref(error));
        }
    }
    value_unref(rt->unasked);
    rt->unasked = left;
}

static void on_call(void *ctx, const char *name, struct value arguments)
{
    struct test_runtime *rt = ctx;
    struct value call = value_empty_object();
    object_put_text(&call, "name", name);
    object_put_adopt(&call, "arguments", value_ref(arguments));
    object_put_number(&call, "at", world_now(rt->test_case->world));
    rt->calls = array_push_adopt(rt->calls, call);
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

static void on_cycle(void *ctx, const struct cycle *cycle)
{
    struct buf sentence = {0};
    cycle_write(cycle, &sentence);
    add_error(ctx,
              node_name(cycle->steps.at[0].node),
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
    struct test_runtime *rt = ctx;
    struct value report =
        report_new(rt,
                   node_name(violation->node),
                   violation->place,
                   "a second run on the same inputs wrote different values");
    object_put_text(&report, "kind", "not-idempotent");
    put_value(&report, "before", violation->before);
    put_value(&report, "after", violation->after);
    rt->violations = array_push_adopt(rt->violations, report);
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

static void check_surface(struct test_runtime *rt, const struct run *run)
{
    size_t draft = 0;
    size_t at = 0;
    const struct write_entry *write =
        transaction_next_write(run->transaction, &draft, &at);
    while (write != NULL) {
        if (write->changed && !is_in_surface(run->node, write->place)) {
            struct value report = report_new(rt,
                                             node_name(run->node),
                                             write->place,
                                             "a write outside its declared "
                                             "surface");
            object_put_text(&report, "kind", "surface");
            rt->violations = array_push_adopt(rt->violations, report);
        }
        write = transaction_next_write(run->transaction, &draft, &at);
    }
}

static void on_run(void *ctx,
                   const struct run *run,
                   const struct run_record *record)
{
    struct test_runtime *rt = ctx;
    const struct node *node = run->node;
    if (record->outcome != OUTCOME_COMMITTED) {
        return;
    }
    lua_runtime_note_run(&rt->lua, node);
    if (node->kind == NODE_COMPUTATION && !node->materializer &&
        lua_runtime_is_lua(&rt->lua, node->ordinal)) {
        check_surface(rt, run);
    }
}

static enum channel_answer on_change(void *ctx,
                                     const struct notification *notification)
{
    struct test_runtime *rt = ctx;
    rt->reverted += notification->kind == NOTIFY_REVERT;
    rt->loads += notification->kind == NOTIFY_PULL;
    return CHANNEL_MORE;
}

/* -- Life ---------------------------------------------------------------- */

static enum err open_runtime(struct test_runtime *rt, struct err_detail *detail)
{
    const struct test_runtime_options *options = &rt->options;
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
    policy.seed = rt->test_case->seed;
    if (options->hops > 0) {
        policy.hops = options->hops;
    }
    const struct world_runtime_options world = {
        .spaces = names.at,
        .space_count = names.count,
        .user = user.length > 0 ? buf_text(&user) : NULL,
        .hooks = {.ctx = rt,
                  .error = on_error,
                  .not_settling = on_not_settling,
                  .cycle = on_cycle,
                  .not_idempotent = on_not_idempotent,
                  .run = on_run},
        .policy = &policy,
    };
    const enum err err =
        world_runtime_new(options->store, &world, &rt->one, detail);
    if (err == ERR_OK) {
        rt->one->runtime.not_started = on_not_started;
        rt->one->runtime.not_started_ctx = rt;
    }
    buf_release(&user);
    VEC_FOREACH (&texts, text) {
        buf_release(text);
    }
    vec_release(&texts);
    vec_release(&names);
    return err;
}

static void test_runtime_free(struct test_runtime *rt)
{
    value_unref(rt->options.spaces);
    value_unref(rt->options.user);
    value_unref(rt->errors);
    value_unref(rt->unasked);
    value_unref(rt->violations);
    value_unref(rt->calls);
    mem_free(rt, sizeof *rt);
}

static mono_ms host_now(void *ctx)
{
    return world_now(((const struct test_runtime *)ctx)->test_case->world);
}

static void host_load(void *ctx, struct entity *entity)
{
    world_load(((const struct test_runtime *)ctx)->one, entity);
}

void test_runtime_settle(const struct test_runtime *rt)
{
    for (unsigned i = 0; i < SETTLE_STEPS && world_step(rt->one); i++) {
    }
    (void)world_step(rt->one);
}

static void host_settle(void *ctx)
{
    test_runtime_settle(ctx);
}

static void push_task(lua_State *L,
                      void *ctx,
                      const struct piece *piece,
                      struct value name)
{
    test_tasks_push(L, ctx, piece, name);
}

static void begin_lua(struct test_runtime *rt)
{
    rt->host = (struct lua_runtime_host){
        .ctx = rt,
        .now = host_now,
        .report = on_report,
        .called = on_call,
        .load = host_load,
        .settle = host_settle,
        .push_task = push_task,
    };
    const struct lua_runtime_options options = {
        .heddle = rt->test_case->heddle,
        .runtime = &rt->one->runtime,
        .host = &rt->host,
        .seed = rt->test_case->seed,
        .forget = rt->options.no_persistence,
    };
    lua_runtime_set_up(&rt->lua, &options);
}

enum err test_runtime_new(struct test_case *test_case,
                          const struct test_runtime_options *options,
                          struct test_runtime **out,
                          struct err_detail *detail)
{
    struct test_runtime *rt = mem_alloc_zero(sizeof *rt);
    *out = NULL;
    rt->test_case = test_case;
    rt->options = *options;
    rt->options.spaces = value_ref(options->spaces);
    rt->options.user = value_ref(options->user);
    rt->errors = value_empty_array();
    rt->unasked = value_empty_array();
    rt->violations = value_empty_array();
    rt->calls = value_empty_array();
    list_init(&rt->rejections);
    const enum err err = open_runtime(rt, detail);
    if (err != ERR_OK) {
        test_runtime_free(rt);
        return err;
    }
    rt->subscriber.fn = on_change;
    rt->subscriber.ctx = rt;
    channel_subscribe(&rt->one->runtime.replica, &rt->subscriber);
    validator_enable(test_runtime_sched(rt), !options->no_idempotency_check);
    rejections_begin(rt);
    test_tasks_begin(rt);
    if (options->trace) {
        rt->trace = trace_new(test_runtime_sched(rt), TRACE_ALL);
    }
    begin_lua(rt);
    list_node_init(&rt->node);
    list_push_back(&test_case->runtimes, &rt->node);
    *out = rt;
    return ERR_OK;
}

void test_runtime_end(struct test_runtime *rt)
{
    lua_runtime_cut(&rt->lua);
    if (rt->trace != NULL) {
        trace_free(rt->trace);
    }
    rejections_end(rt);
    channel_unsubscribe(&rt->subscriber);
    world_runtime_end(rt->one);
    test_tasks_end(rt);
    lua_runtime_clear_away(&rt->lua);
    list_remove(&rt->node);
    test_runtime_free(rt);
}
