/* What happened and why, in records. */

#include "sched/introspection.h"

#include "base/mem.h"
#include "replica/space.h"

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
