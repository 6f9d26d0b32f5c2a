/* The requests of a space that wait, and when each is looked at again.
 *
 *   route-wait-1  A wait is in `waits` and `by_id` from its begin to its end;
 *                 in `ready` iff it is to be stepped; in `dues` iff it has a
 *                 due time.
 *   route-wait-2  Nothing is stepped inside a call of the hub: what the hub
 *                 sends makes waits ready, and route_space_step steps them. */

#include "base/heap.h"
#include "server/routes_internal.h"
#include "value/object.h"

/* -- Due times ----------------------------------------------------------- */

static bool is_before(const void *items, size_t a, size_t b)
{
    struct route_wait *const *waits = items;
    return waits[a]->due < waits[b]->due;
}

static void swap(void *items, size_t a, size_t b)
{
    struct route_wait **waits = items;
    struct route_wait *one = waits[a];
    waits[a] = waits[b];
    waits[b] = one;
    waits[a]->at = a;
    waits[b]->at = b;
}

static void leave_heap(struct route_wait *wait)
{
    struct route_space *space = wait->space;
    const size_t at = wait->at;
    if (at == SIZE_MAX) {
        return;
    }
    const size_t last = space->dues.count - 1;
    swap(space->dues.at, at, last);
    (void)vec_pop(&space->dues);
    wait->at = SIZE_MAX;
    if (at < last) {
        heap_up(space->dues.at, at, is_before, swap);
        heap_down(space->dues.at, space->dues.count, at, is_before, swap);
    }
}

void route_wait_set_due(struct route_wait *wait, mono_ms due)
{
    struct route_space *space = wait->space;
    leave_heap(wait);
    wait->due = due;
    if (due != MONO_NEVER) {
        vec_push(&space->dues, wait);
        wait->at = space->dues.count - 1;
        heap_up(space->dues.at, wait->at, is_before, swap);
    }
}

/* -- Begin and end ------------------------------------------------------- */

static bool has_id(const void *item, const void *id)
{
    const struct route_wait *wait = item;
    return wait->id == *(const net_id *)id;
}

static struct route_wait *find_wait(const struct route_space *space, net_id id)
{
    return map_find(&space->by_id, id, has_id, &id);
}

static mono_ms expiry_of(const struct route_context *context)
{
    const struct credential *credential = context->credential;
    if (credential == NULL || credential->expires_ms == 0) {
        return MONO_NEVER;
    }
    return context->now + (credential->expires_ms > context->wall_ms
                               ? credential->expires_ms - context->wall_ms
                               : 0);
}

enum err route_wait_begin(struct route_wait *wait, struct route_call *call)
{
    struct route_space *space = call_space(call);
    const net_id id = call->request->id;
    const struct credential *credential = call->context->credential;
    if (space->waiting >= ROUTE_WAITING_MAX) {
        return err_set(&call->detail,
                       ERR_OVERLOADED,
                       "%u requests of this space wait already, which is the "
                       "limit",
                       (unsigned)ROUTE_WAITING_MAX);
    }
    CHECK(find_wait(space, id) == NULL);
    wait->space = space;
    wait->id = id;
    wait->due = MONO_NEVER;
    wait->at = SIZE_MAX;
    wait->expires = expiry_of(call->context);
    wait->has_credential = credential != NULL;
    if (credential != NULL) {
        wait->credential = *credential;
    }
    list_node_init(&wait->in_space);
    list_node_init(&wait->in_ready);
    list_push_back(&space->waits, &wait->in_space);
    map_insert(&space->by_id, id, wait);
    space->waiting++;
    return ERR_OK;
}

void route_wait_end(struct route_wait *wait)
{
    struct route_space *space = wait->space;
    leave_heap(wait);
    list_remove(&wait->in_space);
    list_remove(&wait->in_ready);
    (void)map_remove(&space->by_id, wait->id, has_id, &wait->id);
    space->waiting--;
    wait->methods->free(wait);
}

void route_wait_ready(struct route_wait *wait)
{
    if (!list_node_is_linked(&wait->in_ready)) {
        list_push_back(&wait->space->ready, &wait->in_ready);
    }
}

void route_wait_settled(struct route_wait *wait)
{
    list_remove(&wait->in_ready);
}

/* -- Delivering ---------------------------------------------------------- */

void route_count(struct metrics *metrics, const struct route_answer *answer)
{
    if (metrics != NULL) {
        metrics_answer(metrics, answer->http_status);
    }
}

void route_wait_answer_adopt(struct route_wait *wait,
                             const struct route_turn *turn,
                             struct route_answer *answer)
{
    const net_id id = wait->id;
    route_count(wait->space->metrics, answer);
    if (!answer->is_stream) {
        route_wait_end(wait);
    }
    turn->deliver(turn->ctx, id, ROUTE_ANSWER, answer);
    route_answer_release(answer);
}

void route_wait_chunk_adopt(struct route_wait *wait,
                            const struct route_turn *turn,
                            struct buf *chunk)
{
    struct route_answer answer = {.body = *chunk};
    *chunk = (struct buf){0};
    turn->deliver(turn->ctx, wait->id, ROUTE_CHUNK, &answer);
    route_answer_release(&answer);
}

void route_wait_end_stream(struct route_wait *wait,
                           const struct route_turn *turn)
{
    const net_id id = wait->id;
    struct route_answer answer = {0};
    route_wait_end(wait);
    turn->deliver(turn->ctx, id, ROUTE_END, &answer);
    route_answer_release(&answer);
}

/* -- Life ---------------------------------------------------------------- */

struct route_space *route_space_new(const struct route_space_options *options)
{
    struct route_space *space = mem_alloc_zero(sizeof *space);
    space->engine = options->engine;
    space->hub = options->hub;
    space->name = value_text_new(options->name);
    space->folder = options->folder;
    space->metrics = options->metrics;
    space->requests_per_second = options->requests_per_second;
    random_init(&space->random, options->seed);
    path_table_init(&space->paths);
    list_init(&space->waits);
    list_init(&space->ready);
    list_init(&space->sessions);
    return space;
}

void route_space_free(struct route_space *space)
{
    LIST_FOREACH (&space->waits, node) {
        route_wait_end(CONTAINER_OF(node, struct route_wait, in_space));
    }
    route_sessions_free(space);
    route_budgets_clear(space);
    map_release(&space->budgets);
    vec_release(&space->dues);
    map_release(&space->by_id);
    path_table_release(&space->paths);
    value_unref(space->name);
    mem_free(space, sizeof *space);
}

void route_space_step(struct route_space *space,
                      mono_ms now,
                      uint64_t wall_ms,
                      route_deliver_fn *deliver,
                      void *ctx)
{
    const struct route_turn turn = {now, wall_ms, deliver, ctx};
    struct list ready;
    space->now = now;
    while (space->dues.count > 0 && space->dues.at[0]->due <= now) {
        struct route_wait *wait = space->dues.at[0];
        leave_heap(wait); /* `due` stays, for the step */
        route_wait_ready(wait);
    }
    /* Those that become ready meanwhile have their turn in the next round. */
    while (!list_is_empty(&space->ready)) {
        list_init(&ready);
        list_splice_back(&ready, &space->ready);
        for (struct list_node *node = list_pop_front(&ready); node != NULL;
             node = list_pop_front(&ready)) {
            struct route_wait *wait =
                CONTAINER_OF(node, struct route_wait, in_ready);
            wait->methods->step(wait, &turn);
        }
    }
    route_sessions_sweep(space, now);
}

mono_ms route_space_next_wake(const struct route_space *space)
{
    if (!list_is_empty(&space->ready)) {
        return 0;
    }
    return space->dues.count > 0 ? space->dues.at[0]->due : MONO_NEVER;
}

void route_space_closed(struct route_space *space, net_id id)
{
    struct route_wait *wait = find_wait(space, id);
    if (wait != NULL) {
        route_wait_end(wait);
    }
}

void route_space_end(struct route_space *space,
                     const struct err_detail *why,
                     uint64_t retry_ms,
                     route_deliver_fn *deliver,
                     void *ctx)
{
    const struct route_turn turn = {space->now, 0, deliver, ctx};
    while (!list_is_empty(&space->waits)) {
        struct route_wait *wait = CONTAINER_OF(list_first(&space->waits),
                                               struct route_wait,
                                               in_space);
        wait->methods->fail(wait, why, retry_ms, &turn);
    }
}

void route_space_recheck(struct route_space *space,
                         bool (*may_read)(void *ctx,
                                          const struct credential *credential),
                         void *may_read_ctx,
                         route_deliver_fn *deliver,
                         void *ctx)
{
    const struct route_turn turn = {space->now, 0, deliver, ctx};
    struct err_detail why = {0};
    (void)err_set(&why,
                  ERR_ACCESS,
                  "the access document of the space no longer permits reading");
    LIST_FOREACH (&space->waits, node) {
        struct route_wait *wait =
            CONTAINER_OF(node, struct route_wait, in_space);
        if (wait->methods->reads &&
            (!wait->has_credential ||
             !may_read(may_read_ctx, &wait->credential))) {
            wait->methods->fail(wait, &why, 0, &turn);
        }
    }
}

size_t route_space_waiting(const struct route_space *space)
{
    return space->waiting;
}
