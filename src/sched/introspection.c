/* What happened and why, in records and sentences. */

#include "sched/introspection.h"

#include "base/mem.h"
#include "replica/space.h"
#include "sched/gates.h"
#include "sched/preflight.h"
#include "sched/registry.h"

void introspection_begin(struct sched *sched)
{
    sched->records = mem_alloc_zero(
        mem_array_size(SCHED_RECORDS + 1, sizeof *sched->records));
    sched->changes =
        mem_alloc_zero(mem_array_size(SCHED_RECORDS, sizeof *sched->changes));
}

void introspection_end(struct sched *sched)
{
    for (size_t i = 0; i < SCHED_RECORDS; i++) {
        introspection_clear(&sched->records[i]);
    }
    mem_free(sched->records,
             mem_array_size(SCHED_RECORDS + 1, sizeof *sched->records));
    mem_free(sched->changes,
             mem_array_size(SCHED_RECORDS, sizeof *sched->changes));
}

/* -- Queries ------------------------------------------------------------- */

const struct run_record *introspection_last_run(const struct sched *sched,
                                                const struct node *node)
{
    const struct run_record *last = NULL;
    for (size_t i = 0; i < SCHED_RECORDS; i++) {
        const struct run_record *record = &sched->records[i];
        if (record->number > 0 && record->ordinal == node->ordinal &&
            (last == NULL || record->number > last->number)) {
            last = record;
        }
    }
    return last;
}

const struct change_record *introspection_change(const struct sched *sched,
                                                 uint64_t version)
{
    const struct change_record *record =
        &sched->changes[version % SCHED_RECORDS];
    return record->version == version && version > 0 ? record : NULL;
}

const struct run_record *introspection_run_of_change(
    const struct sched *sched,
    const struct change_record *change)
{
    for (uint64_t back = 0; back < SCHED_RECORDS && back < sched->run_number;
         back++) {
        const struct run_record *record =
            &sched->records[(sched->run_number - back) % SCHED_RECORDS];
        if (record->version == change->version &&
            record->ordinal + 1 == change->source) {
            return record;
        }
    }
    return NULL;
}

void introspection_write_name(struct buf *out,
                              struct value name,
                              uint32_t ordinal)
{
    if (value_is_string(name)) {
        const struct text text = value_text(&name);
        buf_append(out, text.at, text.length);
    } else {
        buf_printf(out, "node %u", ordinal);
    }
}

void introspection_write_entity(struct buf *out, const struct entity *entity)
{
    const struct text space = value_text(&entity->space->id);
    const struct text id = value_text(&entity->id);
    buf_append(out, space.at, space.length);
    buf_append_char(out, '/');
    buf_append(out, id.at, id.length);
    if (entity->scope != SCOPE_SPACE) {
        buf_printf(out, "@%s", scope_name(entity->scope));
    }
}

void introspection_write_place(struct buf *out, const struct place *place)
{
    introspection_write_entity(out, place->entity);
    buf_append_char(out, '#');
    path_write(out, place->path);
}

/* The author of a change: a node, or a handler and the event that it
 * handled. */
static void write_source(const struct sched *sched,
                         const struct change_record *change,
                         struct buf *out)
{
    const uint32_t ordinal = change->source - 1;
    const struct run_record *run = introspection_run_of_change(sched, change);
    const struct node *node = registry_node(sched, ordinal);
    const struct value name = node != NULL  ? node_name(node)
                              : run != NULL ? run->name
                                            : VALUE_NONE;
    if (run == NULL || run->kind != NODE_HANDLER) {
        introspection_write_name(out, name, ordinal);
        return;
    }
    buf_append_text(out, "the handler ");
    introspection_write_name(out, name, ordinal);
    buf_printf(out, ", event %llu", (unsigned long long)run->event);
}

static void write_cause(const struct sched *sched,
                        const struct cause *cause,
                        struct buf *out)
{
    introspection_write_place(out, cause->place);
    const struct change_record *change =
        introspection_change(sched, cause->version);
    if (change == NULL) {
        buf_printf(out, " changed");
        return;
    }
    buf_printf(out, " changed by ");
    if (change->source > 0) {
        write_source(sched, change, out);
    } else {
        buf_printf(out, "external %s", notification_name(change->kind));
    }
    if (change->local_seq > 0) {
        buf_printf(out,
                   " (commit %llu)",
                   (unsigned long long)change->local_seq);
    }
}

const char *introspection_outcome(enum run_outcome outcome)
{
    switch (outcome) {
    case OUTCOME_COMMITTED:
        return "committed";
    case OUTCOME_REFUSED:
        return "refused";
    case OUTCOME_FAILED:
        return "failed";
    case OUTCOME_GIVEN_UP:
    case OUTCOME_WAITED:
        return "given-up";
    case OUTCOME_DROPPED:
        break;
    }
    return "dropped";
}

static const char *outcome_text(enum run_outcome outcome)
{
    switch (outcome) {
    case OUTCOME_COMMITTED:
        break;
    case OUTCOME_REFUSED:
        return ", and its commit was refused";
    case OUTCOME_FAILED:
        return ", and failed";
    case OUTCOME_GIVEN_UP:
    case OUTCOME_WAITED:
        return ", and was aborted, to run again";
    case OUTCOME_DROPPED:
        return ", and was removed during the run";
    }
    return "";
}

static void write_causes(const struct sched *sched,
                         const struct cause *causes,
                         size_t kept,
                         size_t count,
                         struct buf *out)
{
    for (size_t i = 0; i < kept; i++) {
        buf_printf(out, i == 0 ? ", because " : "; ");
        write_cause(sched, &causes[i], out);
    }
    if (count > kept) {
        buf_printf(out, "; and %zu more", count - kept);
    }
}

void introspection_why(const struct sched *sched,
                       const struct node *node,
                       struct buf *out)
{
    const struct run_record *record = introspection_last_run(sched, node);
    introspection_write_name(out, node_name(node), node->ordinal);
    if (record == NULL) {
        buf_printf(out,
                   node->runs == 0 ? " has never run"
                                   : " ran so long ago that the reason is no "
                                     "longer recorded");
        return;
    }
    buf_printf(out,
               " ran in pass %llu, sweep %u",
               (unsigned long long)record->pass,
               record->sweep + 1);
    if (record->cause_count > 0) {
        write_causes(sched,
                     record->causes,
                     introspection_kept_causes(record->cause_count),
                     record->cause_count,
                     out);
    } else {
        buf_printf(out,
                   record->first ? ", for the first time" : ", on request");
    }
    buf_append_text(out, outcome_text(record->outcome));
}

/* What would end the wait. */
static void write_gate(const struct sched *sched,
                       const struct node *node,
                       const char *gate,
                       struct buf *out)
{
    const mono_ms at = gates_eligible_at(node);
    if (node->gate->rearm || at <= sched->now) {
        buf_printf(out,
                   " is dirty and waits for its %s: the time counts from the "
                   "next step on",
                   gate);
        return;
    }
    buf_printf(out,
               " is dirty and waits for its %s: it runs in %llu ms",
               gate,
               (unsigned long long)(at - sched->now));
}

static void write_clean(struct sched *sched,
                        const struct node *node,
                        struct buf *out)
{
    const struct node *source = preflight_stale_source(sched, node);
    if (source == NULL) {
        buf_printf(out,
                   " is up to date: it runs when one of its inputs changes");
        return;
    }
    buf_printf(out, " waits for ");
    introspection_write_name(out, node_name(source), source->ordinal);
    buf_printf(out,
               ", which must run first: it runs if that changes one of its "
               "inputs");
}

/* The first condition that is missing, and what would make it true. */
void introspection_why_not(struct sched *sched,
                           const struct node *node,
                           struct buf *out)
{
    introspection_write_name(out, node_name(node), node->ordinal);
    const char *gate = gates_reason(node, sched->now);
    if (!node->registered) {
        buf_printf(out, " is not registered");
    } else if (node->running) {
        buf_printf(out, " is running");
    } else if (node->status == NODE_CLEAN) {
        write_clean(sched, node, out);
    } else if (!node->counted && !node->again) {
        buf_printf(out,
                   " is dirty but dormant: it runs when an effect reads its "
                   "output");
    } else if (gate != NULL) {
        write_gate(sched, node, gate, out);
    } else {
        buf_printf(out, " is dirty and runs in the next step");
        write_causes(sched,
                     node->causes.at,
                     introspection_kept_causes(node->causes.count),
                     node->causes.count,
                     out);
    }
}
