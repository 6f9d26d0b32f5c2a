/* Three rings that the hooks of a scheduler fill. */

#include "sched/trace.h"

#include <string.h>

#include "base/text.h"
#include "sched/invalidation.h"
#include "value/json.h"

/* How many entries were ever put into a ring; the last ones are still there. */
struct ring {
    size_t put;
    size_t size;
};

struct trace {
    struct sched *sched;
    struct sched_hooks next; /* the hooks before */
    unsigned kinds;
    struct ring triggers_ring;
    struct ring runs_ring;
    struct ring passes_ring;
    struct trace_trigger *triggers;
    struct trace_run *runs;
    struct trace_pass *passes;
    struct trace_pass pass; /* the one in progress */
    uint64_t pops;          /* counters when it began */
    struct buf text;
};

static size_t ring_count(const struct ring *ring)
{
    return ring->put < ring->size ? ring->put : ring->size;
}

/* The index of an entry, counted from the oldest. */
static size_t ring_at(const struct ring *ring, size_t index)
{
    CHECK(index < ring_count(ring));
    return (ring->put - ring_count(ring) + index) % ring->size;
}

static size_t ring_put(struct ring *ring)
{
    return ring->put++ % ring->size;
}

/* -- Triggers ------------------------------------------------------------ */

static void clear_trigger(struct trace_trigger *entry)
{
    value_unref(entry->name);
    if (entry->place != NULL) {
        place_unref(entry->place);
    }
    *entry = (struct trace_trigger){.name = VALUE_NONE};
}

/* The value at a place, in a few characters; "-" for none. */
static void summarize(struct trace *trace,
                      const struct entity_state *state,
                      const struct place *place,
                      char *out)
{
    struct value value = VALUE_NONE;
    (void)entity_state_at(state, place->path, &value);
    buf_clear(&trace->text);
    if (value_is_absent(value)) {
        buf_append_text(&trace->text, "-");
    } else {
        json_write(&trace->text, value, JSON_AS_GIVEN, 0);
    }
    value_unref(value);
    size_t length = trace->text.length;
    if (length >= TRACE_SUMMARY_SIZE) {
        const size_t room = TRACE_SUMMARY_SIZE - sizeof "...";
        length = text_whole_length(trace->text.at, room);
        memcpy(out, trace->text.at, length);
        memcpy(out + length, "...", sizeof "...");
        return;
    }
    memcpy(out, trace->text.at, length);
    out[length] = '\0';
}

static void on_trigger(void *ctx,
                       const struct node *node,
                       const struct notification *what,
                       const struct place *place,
                       const char *decision)
{
    struct trace *trace = ctx;
    const struct sched *sched = trace->sched;
    if ((trace->kinds & TRACE_TRIGGERS) != 0) {
        struct trace_trigger *entry =
            &trace->triggers[ring_put(&trace->triggers_ring)];
        clear_trigger(entry);
        uint32_t change = 0;
        while (what->changes[change].entity != place->entity) {
            change++;
        }
        entry->version = what->version;
        entry->kind = what->kind;
        entry->change = change;
        entry->writer =
            what->source != NULL && what->source == sched->committing
                ? sched->committing->ordinal + 1
                : 0;
        entry->ordinal = node->ordinal;
        entry->name = value_ref(node_name(node));
        entry->place = place_find(place->entity, place->path);
        place_ref(entry->place);
        summarize(trace, &what->changes[change].before, place, entry->before);
        summarize(trace, &what->changes[change].after, place, entry->after);
        entry->decision = decision;
        entry->was = node->status;
        entry->queued = node->place_in_queue != QUEUE_NONE;
    }
    if (trace->next.trigger != NULL) {
        trace->next.trigger(trace->next.ctx, node, what, place, decision);
    }
}

/* -- Runs ---------------------------------------------------------------- */

static uint32_t at_most(uint32_t count, uint32_t most)
{
    return count < most ? count : most;
}

static void clear_run(struct trace_run *entry)
{
    value_unref(entry->name);
    for (uint32_t i = 0; i < at_most(entry->declared_count, TRACE_WRITES);
         i++) {
        place_unref(entry->declared[i]);
    }
    for (uint32_t i = 0; i < at_most(entry->actual_count, TRACE_WRITES); i++) {
        place_unref(entry->actual[i]);
    }
    *entry = (struct trace_run){.name = VALUE_NONE};
}

static void note_writes(struct trace_run *entry, const struct run *run)
{
    const struct node *node = run->node;
    for (uint32_t i = 0; i < node->write_count; i++) {
        if (i < TRACE_WRITES) {
            entry->declared[i] = place_ref(node->writes[i].place);
        }
        entry->declared_count++;
    }
    if (entry->outcome != OUTCOME_COMMITTED) {
        return;
    }
    size_t draft = 0;
    size_t at = 0;
    for (const struct write_entry *write =
             transaction_next_write(run->transaction, &draft, &at);
         write != NULL;
         write = transaction_next_write(run->transaction, &draft, &at)) {
        if (write->changed) {
            if (entry->actual_count < TRACE_WRITES) {
                entry->actual[entry->actual_count] = place_ref(write->place);
            }
            entry->actual_count++;
        }
    }
}

static void note_run(struct trace *trace,
                     const struct run *run,
                     const struct run_record *record)
{
    struct trace_run *entry = &trace->runs[ring_put(&trace->runs_ring)];
    clear_run(entry);
    entry->number = record->number;
    entry->ordinal = record->ordinal;
    entry->parent = record->parent;
    entry->name = value_ref(record->name);
    entry->kind = record->kind;
    entry->outcome = record->outcome;
    entry->at = record->at;
    entry->busy_ms = record->busy_ms;
    note_writes(entry, run);
}

static void note_in_pass(struct trace *trace, const struct run_record *record)
{
    if (trace->pass.number != record->pass ||
        record->sweep >= SCHED_SWEEPS_MAX) {
        return; /* not in a pass */
    }
    struct trace_sweep *sweep = &trace->pass.sweep[record->sweep];
    if (sweep->runs < TRACE_NAMED) {
        sweep->first[sweep->runs] = record->ordinal;
    }
    sweep->runs++;
    trace->pass.runs++;
}

static void on_run(void *ctx,
                   const struct run *run,
                   const struct run_record *record)
{
    struct trace *trace = ctx;
    if ((trace->kinds & TRACE_RUNS) != 0) {
        note_run(trace, run, record);
    }
    if ((trace->kinds & TRACE_PASSES) != 0) {
        note_in_pass(trace, record);
    }
    if (trace->next.run != NULL) {
        trace->next.run(trace->next.ctx, run, record);
    }
}

/* -- Passes -------------------------------------------------------------- */

static void begin_pass(struct trace *trace, const struct sched *sched)
{
    trace->pass = (struct trace_pass){
        .number = sched->pass,
        .at = sched->now,
    };
    trace->pops = sched->counters.pops;
}

static void end_pass(struct trace *trace,
                     const struct sched *sched,
                     bool settled)
{
    struct trace_pass *pass = &trace->pass;
    if (pass->number != sched->pass) {
        return; /* the trace began during the pass */
    }
    pass->settled = settled;
    pass->looked_at = sched->counters.pops - trace->pops;
    pass->sweeps = at_most(sched->sweep, SCHED_SWEEPS_MAX);
    for (uint32_t i = 0; i < pass->sweeps; i++) {
        pass->busy_sweeps += pass->sweep[i].runs > 0;
    }
    trace->passes[ring_put(&trace->passes_ring)] = *pass;
}

static void on_pass(void *ctx,
                    const struct sched *sched,
                    enum pass_moment moment)
{
    struct trace *trace = ctx;
    if ((trace->kinds & TRACE_PASSES) != 0) {
        if (moment == PASS_BEGINS) {
            begin_pass(trace, sched);
        } else {
            end_pass(trace, sched, moment == PASS_SETTLED);
        }
    }
    if (trace->next.pass != NULL) {
        trace->next.pass(trace->next.ctx, sched, moment);
    }
}

/* -- Hooks that are only forwarded --------------------------------------- */

static void on_error(void *ctx,
                     const struct node *node,
                     const struct err_detail *detail)
{
    const struct sched_hooks *next = &((struct trace *)ctx)->next;
    if (next->error != NULL) {
        next->error(next->ctx, node, detail);
    }
}

static void on_not_settling(void *ctx,
                            const struct node *const *nodes,
                            size_t count)
{
    const struct sched_hooks *next = &((struct trace *)ctx)->next;
    if (next->not_settling != NULL) {
        next->not_settling(next->ctx, nodes, count);
    }
}

static void on_cycle(void *ctx, const struct cycle *cycle)
{
    const struct sched_hooks *next = &((struct trace *)ctx)->next;
    if (next->cycle != NULL) {
        next->cycle(next->ctx, cycle);
    }
}

static void on_not_idempotent(void *ctx, const struct violation *violation)
{
    const struct sched_hooks *next = &((struct trace *)ctx)->next;
    if (next->not_idempotent != NULL) {
        next->not_idempotent(next->ctx, violation);
    }
}

/* -- Begin and end ------------------------------------------------------- */

struct trace *trace_new(struct sched *sched, unsigned kinds)
{
    struct trace *trace = mem_alloc_zero(sizeof *trace);
    trace->sched = sched;
    trace->next = sched->hooks;
    trace->kinds = kinds;
    trace->triggers_ring.size = TRACE_TRIGGERS_MAX;
    trace->runs_ring.size = TRACE_RUNS_MAX;
    trace->passes_ring.size = TRACE_PASSES_MAX;
    trace->triggers = mem_alloc_zero(
        mem_array_size(TRACE_TRIGGERS_MAX, sizeof *trace->triggers));
    trace->runs =
        mem_alloc_zero(mem_array_size(TRACE_RUNS_MAX, sizeof *trace->runs));
    trace->passes =
        mem_alloc_zero(mem_array_size(TRACE_PASSES_MAX, sizeof *trace->passes));
    sched->can_run_fast = false;
    sched->hooks = (struct sched_hooks){
        .ctx = trace,
        .error = on_error,
        .not_settling = on_not_settling,
        .cycle = on_cycle,
        .not_idempotent = on_not_idempotent,
        .run = on_run,
        .pass = on_pass,
        .trigger = on_trigger,
    };
    invalidation_follow_hooks(sched);
    return trace;
}

void trace_clear(struct trace *trace)
{
    for (size_t i = 0; i < TRACE_TRIGGERS_MAX; i++) {
        clear_trigger(&trace->triggers[i]);
    }
    for (size_t i = 0; i < TRACE_RUNS_MAX; i++) {
        clear_run(&trace->runs[i]);
    }
    trace->triggers_ring.put = 0;
    trace->runs_ring.put = 0;
    trace->passes_ring.put = 0;
}

void trace_free(struct trace *trace)
{
    CHECK(trace->sched->hooks.ctx == trace);
    trace->sched->hooks = trace->next;
    invalidation_follow_hooks(trace->sched);
    trace_clear(trace);
    mem_free(trace->triggers,
             mem_array_size(TRACE_TRIGGERS_MAX, sizeof *trace->triggers));
    mem_free(trace->runs, mem_array_size(TRACE_RUNS_MAX, sizeof *trace->runs));
    mem_free(trace->passes,
             mem_array_size(TRACE_PASSES_MAX, sizeof *trace->passes));
    buf_release(&trace->text);
    mem_free(trace, sizeof *trace);
}

/* -- Queries ------------------------------------------------------------- */

size_t trace_trigger_count(const struct trace *trace)
{
    return ring_count(&trace->triggers_ring);
}

size_t trace_run_count(const struct trace *trace)
{
    return ring_count(&trace->runs_ring);
}

size_t trace_pass_count(const struct trace *trace)
{
    return ring_count(&trace->passes_ring);
}

const struct trace_trigger *trace_trigger_at(const struct trace *trace,
                                             size_t index)
{
    return &trace->triggers[ring_at(&trace->triggers_ring, index)];
}

const struct trace_run *trace_run_at(const struct trace *trace, size_t index)
{
    return &trace->runs[ring_at(&trace->runs_ring, index)];
}

const struct trace_pass *trace_pass_at(const struct trace *trace, size_t index)
{
    return &trace->passes[ring_at(&trace->passes_ring, index)];
}
