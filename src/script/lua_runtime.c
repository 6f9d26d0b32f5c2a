/* Lua runtimes: their beginning and end, frames, what is said of places. */

#include "script/lua_runtime.h"

#include "base/mem.h"
#include "front/event_ticket.h"
#include "runtime/pattern.h"
#include "sched/handling.h"
#include "script/reads.h"
#include "script/transactions.h"
#include "value/array.h"
#include "value/compare.h"
#include "value/object.h"

/* -- Counting ------------------------------------------------------------ */

static struct lua_runtime_count *count_of(struct lua_runtime *lua,
                                          uint32_t ordinal)
{
    while (lua->counts.count <= ordinal) {
        vec_push(&lua->counts, (struct lua_runtime_count){0});
    }
    return &lua->counts.at[ordinal];
}

void lua_runtime_note_run(struct lua_runtime *lua, const struct node *node)
{
    count_of(lua, node->ordinal)->runs++;
}

uint64_t lua_runtime_runs(const struct lua_runtime *lua, uint32_t ordinal)
{
    return ordinal < lua->counts.count ? lua->counts.at[ordinal].runs : 0;
}

bool lua_runtime_is_lua(const struct lua_runtime *lua, uint32_t ordinal)
{
    return ordinal < lua->counts.count && lua->counts.at[ordinal].is_lua;
}

/* -- Frames -------------------------------------------------------------- */

void frame_begin(struct frame *frame,
                 struct lua_runtime *lua,
                 enum frame_kind kind,
                 struct transaction *transaction)
{
    *frame = (struct frame){
        .outer = lua->frame,
        .below = lua->heddle->frame,
        .lua = lua,
        .now = lua_runtime_wall(lua),
    };
    call_frame_init(&frame->call, kind, lua->runtime, transaction);
    reads_source(&frame->source);
    view_run_begin(&frame->views, &frame->source);
    lua->frame = frame;
    if (frame->outer != NULL) {
        lua->heddle->frame = frame;
    }
}

void frame_begin_run(struct frame *frame,
                     struct lua_runtime *lua,
                     struct run *run,
                     struct handling *handling)
{
    frame_begin(frame, lua, FRAME_RUN, run->transaction);
    call_frame_init_run(&frame->call, lua->runtime, run, handling);
}

void frame_end(struct frame *frame)
{
    struct lua_runtime *lua = frame->lua;
    CHECK(lua->frame == frame);
    transactions_frame_ends(frame);
    view_run_end(&frame->views);
    lua->frame = frame->outer;
    if (frame->outer != NULL) {
        CHECK(lua->heddle->frame == frame);
        lua->heddle->frame = frame->below;
    }
}

void frame_draw(struct frame *frame,
                const struct run *run,
                struct recorded *recorded)
{
    const struct node *node = run->node;
    const bool again = run_is_thrown_away(run) || recorded->again ||
                       node->attempts > 0 || node->conflicts > 0;
    if (!recorded->drawn || !again) {
        recorded->drawn = true;
        recorded->now = frame->now;
        recorded->seed = frame->lua->seed ^ ((uint64_t)node->ordinal << 32) ^
                         recorded->count++;
    }
    if (run->view == NULL) { /* an evaluation is no run */
        recorded->again = false;
        count_of(frame->lua, node->ordinal)->is_lua = true;
    }
    frame->now = recorded->now;
    random_init(&frame->random, recorded->seed);
}

void frame_draw_event(struct frame *frame)
{
    const struct event *event = frame->call.handling->event;
    const struct value id = event_id(event);
    frame->now = event_time(event);
    random_init(&frame->random, frame->lua->seed ^ value_hash(id));
    value_unref(id);
}

/* -- Bindings ------------------------------------------------------------ */

void binding_tie(struct binding *binding,
                 struct lua_runtime *lua,
                 void (*cut)(struct binding *binding))
{
    list_node_init(&binding->node);
    list_push_back(&lua->bindings, &binding->node);
    binding->lua = lua;
    binding->cut = cut;
}

void binding_untie(struct binding *binding)
{
    if (binding->lua != NULL) {
        list_remove(&binding->node);
        binding->lua = NULL;
    }
}

/* -- Lua runtimes -------------------------------------------------------- */

static void report_write(void *ctx,
                         const struct place *place,
                         const struct err_detail *said)
{
    const bool is_said = said->text[0] != '\0';
    lua_runtime_report(ctx,
                       VALUE_NONE,
                       place,
                       is_said ? said->text : err_text(said->err));
}

void lua_runtime_set_up(struct lua_runtime *lua,
                        const struct lua_runtime_options *options)
{
    *lua = (struct lua_runtime){
        .heddle = options->heddle,
        .script = options->heddle->script,
        .runtime = options->runtime,
        .host = options->host,
        .seed = options->seed,
        .forget = options->forget,
    };
    if (lua->runtime->sched->nesting > LUA_RUNTIME_NESTING) {
        lua->runtime->sched->nesting = LUA_RUNTIME_NESTING;
    }
    list_init(&lua->bindings);
    list_init(&lua->tickets);
    lua->runtime->own_writes.report = report_write;
    lua->runtime->own_writes.report_ctx = lua;
    frame_begin(&lua->toplevel, lua, FRAME_TOPLEVEL, NULL);
    random_init(&lua->toplevel.random, options->seed);
    list_node_init(&lua->node);
    list_push_back(&lua->heddle->lua_runtimes, &lua->node);
    VEC_FOREACH (&lua->heddle->patterns, pattern) {
        runtime_add_pattern(lua->runtime, *pattern);
    }
}

void lua_runtime_cut(struct lua_runtime *lua)
{
    CHECK(lua->frame == &lua->toplevel); /* lua-runtime-3 */
    frame_end(&lua->toplevel);
    lua->runtime->own_writes.report = NULL;
    while (!list_is_empty(&lua->bindings)) {
        struct binding *binding =
            CONTAINER_OF(list_first(&lua->bindings), struct binding, node);
        binding_untie(binding);
        binding->cut(binding);
    }
}

void lua_runtime_clear_away(struct lua_runtime *lua)
{
    event_tickets_end(&lua->tickets);
    list_remove(&lua->node);
    VEC_FOREACH (&lua->groups, group) {
        value_unref(**group);
        mem_free(*group, sizeof **group);
    }
    vec_release(&lua->groups);
    vec_release(&lua->counts);
}

uint64_t lua_runtime_wall(const struct lua_runtime *lua)
{
    const struct lua_runtime_host *host = lua->host;
    return host->wall != NULL ? host->wall(host->ctx) : host->now(host->ctx);
}

void lua_runtime_report(struct lua_runtime *lua,
                        struct value source,
                        const struct place *place,
                        const char *message)
{
    const struct lua_runtime_host *host = lua->host;
    if (host->report != NULL) {
        host->report(host->ctx, source, place, message);
    }
}

/* -- Places as values ---------------------------------------------------- */

struct value lua_runtime_place_value(const struct place *place)
{
    const struct entity *entity = place->entity;
    const struct path *path = place->path;
    const uint32_t length =
        path->length -
        (path->length > 0 && key_is_virtual(path->at[path->length - 1].key)
             ? 1
             : 0);
    const bool inside = length > 0 && entity_is_payload_key(path->at[0].key);
    struct value list = value_empty_array();
    if (!inside) {
        list = array_push_adopt(list, value_text_new(".."));
    }
    for (uint32_t i = inside ? 1 : 0; i < length; i++) {
        list = array_push_adopt(list, value_ref(path->at[i].key));
    }
    struct value value = value_empty_object();
    object_put_adopt(&value, "doc", value_ref(entity->id));
    object_put_adopt(&value, "space", value_ref(entity->space->id));
    object_put_adopt(&value, "path", list);
    if (entity->scope != SCOPE_SPACE) {
        object_put_adopt(&value,
                         "scope",
                         value_text_new(scope_name(entity->scope)));
    }
    return value;
}

const void *lua_runtime_group(struct lua_runtime *lua, struct value name)
{
    VEC_FOREACH (&lua->groups, known) {
        if (key_equal(**known, name)) {
            return *known;
        }
    }
    struct value *group = mem_alloc(sizeof *group);
    *group = value_ref(name);
    vec_push(&lua->groups, group);
    return group;
}
