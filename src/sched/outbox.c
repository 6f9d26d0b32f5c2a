/* Calls that wait for a commit to land. */

#include "sched/outbox.h"

#include "base/mem.h"
#include "sched/event.h"

/* Records with calls, by the space of their first commit (outbox-2). */
struct outbox_lane {
    const struct space *space; /* NULL: no store */
    struct list records;
};

#define RECORD_OF(list_node) \
    CONTAINER_OF((list_node), struct lineage, in_outbox)

static struct outbox_lane *lane_of(struct events *events,
                                   const struct space *space)
{
    VEC_FOREACH (&events->outboxes, lane) {
        if ((*lane)->space == space) {
            return *lane;
        }
    }
    struct outbox_lane *lane = mem_alloc_zero(sizeof *lane);
    lane->space = space;
    list_init(&lane->records);
    vec_push(&events->outboxes, lane);
    return lane;
}

void outbox_add(struct sched *sched, struct lineage *lineage)
{
    const struct space *space =
        lineage->commits.count > 0 ? lineage->commits.at[0].space : NULL;
    struct outbox_lane *lane = lane_of(events_of(sched), space);
    list_push_back(&lane->records, &lineage_ref(lineage)->in_outbox);
}

static bool is_settled(const struct lineage *lineage)
{
    return lineage->state == LINEAGE_CONFIRMED ||
           lineage->state == LINEAGE_FAILED;
}

/* Takes the first record out of the lane, if its verdict is known; or NULL. */
static struct lineage *take_settled(const struct outbox_lane *lane)
{
    if (list_is_empty(&lane->records)) {
        return NULL;
    }
    struct lineage *lineage = RECORD_OF(list_first(&lane->records));
    if (!is_settled(lineage)) {
        return NULL;
    }
    list_remove(&lineage->in_outbox);
    return lineage;
}

bool outbox_flush(struct sched *sched)
{
    struct events *events = sched->events;
    bool any = false;
    /* A call may add others, and even a lane. */
    for (size_t i = 0; events != NULL && i < events->outboxes.count; i++) {
        const struct outbox_lane *lane = events->outboxes.at[i];
        for (struct lineage *lineage = take_settled(lane); lineage != NULL;
             lineage = take_settled(lane)) {
            VEC_FOREACH (&lineage->outbox, later) {
                any = true;
                later->call(later->ctx);
            }
            lineage_unref(lineage);
        }
    }
    return any;
}

bool outbox_is_ready(const struct sched *sched)
{
    if (sched->events == NULL) {
        return false;
    }
    VEC_FOREACH (&sched->events->outboxes, lane) {
        const struct list *records = &(*lane)->records;
        if (!list_is_empty(records) &&
            is_settled(RECORD_OF(list_first(records)))) {
            return true;
        }
    }
    return false;
}

bool outbox_is_empty(const struct sched *sched)
{
    if (sched->events == NULL) {
        return true;
    }
    VEC_FOREACH (&sched->events->outboxes, lane) {
        if (!list_is_empty(&(*lane)->records)) {
            return false;
        }
    }
    return true;
}

void outbox_free(struct sched *sched)
{
    struct events *events = sched->events;
    VEC_FOREACH (&events->outboxes, lane) {
        while (!list_is_empty(&(*lane)->records)) {
            struct lineage *lineage = RECORD_OF(list_first(&(*lane)->records));
            list_remove(&lineage->in_outbox);
            lineage_unref(lineage);
        }
        mem_free(*lane, sizeof **lane);
    }
    vec_release(&events->outboxes);
}
