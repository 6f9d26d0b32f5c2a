/* Stages: their beginning and end, frames, what is said of places. */

#include "script/stage.h"

#include "base/mem.h"
#include "front/event_ticket.h"
#include "runtime/pattern.h"
#include "sched/handling.h"
#include "script/attempts.h"
#include "script/reads.h"
#include "value/array.h"
#include "value/compare.h"
#include "value/object.h"

/* -- Counting ------------------------------------------------------------ */

static struct stage_count *count_of(struct stage *stage, uint32_t ordinal)
{
    while (stage->counts.count <= ordinal) {
        vec_push(&stage->counts, (struct stage_count){0});
    }
    return &stage->counts.at[ordinal];
}

void stage_note_run(struct stage *stage, const struct node *node)
{
    count_of(stage, node->ordinal)->runs++;
}

uint64_t stage_runs(const struct stage *stage, uint32_t ordinal)
{
    return ordinal < stage->counts.count ? stage->counts.at[ordinal].runs : 0;
}

bool stage_is_lua(const struct stage *stage, uint32_t ordinal)
{
    return ordinal < stage->counts.count && stage->counts.at[ordinal].is_lua;
}

/* -- Frames -------------------------------------------------------------- */

void frame_begin(struct frame *frame,
                 struct stage *stage,
                 enum frame_kind kind,
                 struct transaction *transaction)
{
    *frame = (struct frame){
        .outer = stage->frame,
        .below = stage->heddle->frame,
        .stage = stage,
        .now = stage_wall(stage),
    };
    call_frame_init(&frame->call, kind, stage->runtime, transaction);
    reads_source(&frame->source);
    view_run_begin(&frame->views, &frame->source);
    stage->frame = frame;
    if (frame->outer != NULL) {
        stage->heddle->frame = frame;
    }
}

void frame_begin_run(struct frame *frame,
                     struct stage *stage,
                     struct run *run,
                     struct handling *handling)
{
    frame_begin(frame, stage, FRAME_RUN, run->transaction);
    call_frame_init_run(&frame->call, stage->runtime, run, handling);
}

void frame_end(struct frame *frame)
{
    struct stage *stage = frame->stage;
    CHECK(stage->frame == frame);
    attempts_frame_ends(frame);
    view_run_end(&frame->views);
    stage->frame = frame->outer;
    if (frame->outer != NULL) {
        CHECK(stage->heddle->frame == frame);
        stage->heddle->frame = frame->below;
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
        recorded->seed = frame->stage->seed ^ ((uint64_t)node->ordinal << 32) ^
                         recorded->count++;
    }
    if (run->view == NULL) { /* an evaluation is no run */
        recorded->again = false;
        count_of(frame->stage, node->ordinal)->is_lua = true;
    }
    frame->now = recorded->now;
    random_init(&frame->random, recorded->seed);
}

void frame_draw_event(struct frame *frame)
{
    const struct event *event = frame->call.handling->event;
    const struct value id = event_id(event);
    frame->now = event_time(event);
    random_init(&frame->random, frame->stage->seed ^ value_hash(id));
    value_unref(id);
}

/* -- Bindings ------------------------------------------------------------ */

void binding_tie(struct binding *binding,
                 struct stage *stage,
                 void (*cut)(struct binding *binding))
{
    list_node_init(&binding->node);
    list_push_back(&stage->bindings, &binding->node);
    binding->stage = stage;
    binding->cut = cut;
}

void binding_untie(struct binding *binding)
{
    if (binding->stage != NULL) {
        list_remove(&binding->node);
        binding->stage = NULL;
    }
}

/* -- Stages -------------------------------------------------------------- */

static void report_write(void *ctx,
                         const struct place *place,
                         const struct err_detail *said)
{
    const bool is_said = said->text[0] != '\0';
    stage_report(ctx,
                 VALUE_NONE,
                 place,
                 is_said ? said->text : err_text(said->err));
}

void stage_set_up(struct stage *stage, const struct stage_options *options)
{
    *stage = (struct stage){
        .heddle = options->heddle,
        .script = options->heddle->script,
        .runtime = options->runtime,
        .host = options->host,
        .seed = options->seed,
        .forget = options->forget,
    };
    if (stage->runtime->sched->nesting > STAGE_NESTING) {
        stage->runtime->sched->nesting = STAGE_NESTING;
    }
    list_init(&stage->bindings);
    list_init(&stage->tickets);
    stage->runtime->own_writes.report = report_write;
    stage->runtime->own_writes.report_ctx = stage;
    frame_begin(&stage->ground, stage, FRAME_TOPLEVEL, NULL);
    random_init(&stage->ground.random, options->seed);
    list_node_init(&stage->node);
    list_push_back(&stage->heddle->stages, &stage->node);
    VEC_FOREACH (&stage->heddle->patterns, pattern) {
        runtime_add_pattern(stage->runtime, *pattern);
    }
}

void stage_cut(struct stage *stage)
{
    CHECK(stage->frame == &stage->ground); /* G3 */
    frame_end(&stage->ground);
    stage->runtime->own_writes.report = NULL;
    while (!list_is_empty(&stage->bindings)) {
        struct binding *binding =
            CONTAINER_OF(list_first(&stage->bindings), struct binding, node);
        binding_untie(binding);
        binding->cut(binding);
    }
}

void stage_clear_away(struct stage *stage)
{
    event_tickets_end(&stage->tickets);
    list_remove(&stage->node);
    VEC_FOREACH (&stage->groups, group) {
        value_unref(**group);
        mem_free(*group, sizeof **group);
    }
    vec_release(&stage->groups);
    vec_release(&stage->counts);
}

uint64_t stage_wall(const struct stage *stage)
{
    const struct stage_host *host = stage->host;
    return host->wall != NULL ? host->wall(host->ctx) : host->now(host->ctx);
}

void stage_report(struct stage *stage,
                  struct value source,
                  const struct place *place,
                  const char *message)
{
    const struct stage_host *host = stage->host;
    if (host->report != NULL) {
        host->report(host->ctx, source, place, message);
    }
}

/* -- Places as values ---------------------------------------------------- */

struct value stage_place_value(const struct place *place)
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

const void *stage_group(struct stage *stage, struct value name)
{
    VEC_FOREACH (&stage->groups, known) {
        if (key_equal(**known, name)) {
            return *known;
        }
    }
    struct value *group = mem_alloc(sizeof *group);
    *group = value_ref(name);
    vec_push(&stage->groups, group);
    return group;
}
