/* Whether what is read would be up to date. */

#include "sched/preflight.h"

#include "replica/overlay.h"
#include "replica/session.h"
#include "replica/space.h"
#include "sched/fetching.h"
#include "sched/gates.h"
#include "sched/graph.h"
#include "sched/liveness.h"
#include "sched/queue.h"

/* -- Obstacles ----------------------------------------------------------- */

static bool has_ended(const struct space *space)
{
    return space->session != NULL &&
           (space->session->state == SESSION_REVOKED ||
            space->session->state == SESSION_CLOSED);
}

/* A document of the closure that has not arrived, or NULL; all of them are
 * requested from now on. */
static struct place *unloaded_place(const struct closure *closure)
{
    struct place *found = NULL;
    VEC_FOREACH (&closure->at, read) {
        struct entity *entity = read->place->entity;
        if (UNLIKELY(!entity->loaded)) {
            space_want(entity->space, entity);
            found = found == NULL && !entity_is_available(entity) ? read->place
                                                                  : found;
        }
    }
    return found;
}

/* A read that is on its way; what is unloaded is known, and need not arrive. */
static struct place *unloaded_read(const struct node *node)
{
    VEC_FOREACH (&node->reads, read) {
        if (!read->place->entity->loaded && !read->place->entity->unloaded) {
            return read->place;
        }
    }
    return NULL;
}

static bool is_loading(const struct sched *sched)
{
    bool any = false;
    LIST_FOREACH (&sched->replica->spaces, at) {
        any = space_is_loading(CONTAINER_OF(at, struct space, node)) || any;
    }
    return any;
}

/* -- From both ends ------------------------------------------------------ */

/* A search for a path from stale nodes to the closure (preflight-3). */
struct search {
    struct sched *sched;
    struct node *self;
    bool loading;  /* documents are: nodes may wait for one */
    bool through;  /* obstacles are passed through: the two sides never meet */
    uint64_t up;   /* marks nodes that lead to the closure, */
    uint64_t down; /* and those that read from stale nodes */
    size_t base;   /* of both stacks */
    size_t found_base;
    size_t writers; /* of the closure itself */
    uint64_t up_visits;
    uint64_t down_visits;
    bool met;

    /* The seeds of the downward search that were not used yet. */
    struct chain_link *sleeper;
    size_t gated;
    struct list_node *idle;
    size_t loads; /* of all spaces, counted */
};

static bool is_obstacle(const struct search *search, const struct node *node)
{
    return node_is_stale(node) ||
           (search->loading && unloaded_read(node) != NULL);
}

/* The node leads to the closure. */
static void reach_up(struct search *search, struct node *node)
{
    search->up_visits++;
    if (node == search->self || !node->registered) {
        return;
    }
    if (!search->through &&
        (node->visit == search->down || is_obstacle(search, node))) {
        search->met = true;
    } else if (node->visit != search->up) {
        node->visit = search->up;
        vec_push(&search->sched->stack, node);
    }
}

/* The node reads, perhaps through others, from a stale node. */
static void reach_down(struct search *search, struct node *node)
{
    search->down_visits++;
    if (node->visit == search->up) {
        search->met = true;
    } else if (node->visit != search->down) {
        node->visit = search->down;
        vec_push(&search->sched->found, node);
    }
}

static void reach_writers(struct search *search, const struct read_link *read)
{
    struct writer_walk walk = graph_writers(read);
    walk.envelopes = true;
    for (struct node *writer = graph_next_writer(&walk); writer != NULL;
         writer = graph_next_writer(&walk)) {
        reach_up(search, writer);
    }
}

/* One node further up. False if there is none. */
static bool step_up(struct search *search)
{
    struct sched *sched = search->sched;
    if (sched->stack.count == search->base) {
        return false;
    }
    const struct node *node = vec_pop(&sched->stack);
    VEC_FOREACH (&node->reads, read) {
        reach_writers(search, read);
    }
    return true;
}

/* The nodes that have read something of the document. */
static void reach_readers_of(struct search *search, const struct entity *entity)
{
    struct place *top = entity->root != NULL ? entity->root : entity->payload;
    for (struct place *place = top; place != NULL;
         place = graph_next_below(top, place)) {
        for (unsigned kind = 0; kind < COUNT_OF(place->readers); kind++) {
            CHAIN_FOREACH(&place->readers[kind], link)
            {
                reach_down(
                    search,
                    CONTAINER_OF(link, struct read_link, in_place)->node);
            }
        }
    }
}

/* The n-th document that is loading, or NULL. */
static struct entity *load_at(const struct sched *sched, size_t index)
{
    LIST_FOREACH (&sched->replica->spaces, at) {
        const struct space *space = CONTAINER_OF(at, struct space, node);
        if (index < space->loading.count) {
            return space->loading.at[index];
        }
        index -= space->loading.count;
    }
    return NULL;
}

/* A queued node may have become clean meanwhile. */
static void seed(struct search *search, struct node *node)
{
    if (node_is_stale(node)) {
        reach_down(search, node);
    }
}

/* The next seed of the downward search. False if there is none. */
static bool next_seed(struct search *search)
{
    const struct sched *sched = search->sched;
    if (search->gated < sched->gated.count) {
        seed(search, sched->gated.at[search->gated++]);
        return true;
    }
    if (search->idle != &sched->idle_materializers.head) {
        struct list_node *at = search->idle;
        search->idle = at->next;
        seed(search, CONTAINER_OF(at, struct node, item.links));
        return true;
    }
    const struct entity *load = load_at(sched, search->loads);
    if (load != NULL) {
        search->loads++;
        reach_readers_of(search, load);
        return true;
    }
    if (search->sleeper != NULL) {
        struct chain_link *at = search->sleeper;
        search->sleeper = at->next;
        seed(search, CONTAINER_OF(at, struct node, asleep));
        return true;
    }
    return false;
}

/* One node further down. False if there is none. */
static bool step_down(struct search *search)
{
    struct sched *sched = search->sched;
    if (sched->found.count == search->found_base) {
        return next_seed(search);
    }
    const struct node *node = vec_pop(&sched->found);
    struct reader_walk walk = graph_readers(node);
    for (const struct read_link *read = graph_next_reader(&walk); read != NULL;
         read = graph_next_reader(&walk)) {
        reach_down(search, read->node);
    }
    return true;
}

static void reach_closure(struct search *search, const struct closure *closure)
{
    VEC_FOREACH (&closure->at, read) {
        const struct read_link link = {
            .node = search->self,
            .place = read->place,
            .kind = (uint8_t)read->kind,
        };
        reach_writers(search, &link);
    }
}

/* Whether there is a path. If nodes wait for this very sweep, they are not
 * among the seeds, and only the upward search is valid. */
static bool is_reached(struct search *search, const struct closure *closure)
{
    struct sched *sched = search->sched;
    reach_closure(search, closure);
    const bool up_only = !queue_has_no_sweep(sched);
    while (!search->met) {
        const bool up = up_only || search->up_visits < search->down_visits;
        if (up ? !step_up(search) : !step_down(search)) {
            break; /* one side is exhausted: they do not meet */
        }
    }
    sched->stack.count = search->base;
    sched->found.count = search->found_base;
    return search->met;
}

static bool is_quiet(const struct sched *sched, bool loading)
{
    return !loading && sched->sleepers.first == NULL &&
           sched->gated.count == 0 && queue_is_empty(sched);
}

/* -- What opens the gate ------------------------------------------------- */

/* How an obstacle can be removed. */
static void judge(const struct sched *sched,
                  struct node *node,
                  struct gate_look *look)
{
    if (!node_is_stale(node)) {
        struct place *place = unloaded_read(node);
        if (look->loads == NULL) {
            look->loads = place;
        }
        return;
    }
    struct place *missing = node->waiting ? fetching_missing(node) : NULL;
    if (missing != NULL) { /* it is held */
        look->loads = look->loads == NULL ? missing : look->loads;
        return;
    }
    const bool waits =
        node->gate != NULL &&
        (node->gate->rearm || gates_needed_at(node) > sched->now);
    if (!waits) {
        look->state = GATE_WORK;
        look->waits = node;
        return;
    }
    const mono_ms until =
        node->gate->rearm ? sched->now + 1 : gates_needed_at(node);
    look->backoff = look->backoff || node->gate->backoff_until > sched->now;
    if (look->waits == NULL || until < look->until) {
        look->waits = node;
        look->until = until;
    }
}

static struct search search_begin(struct sched *sched, struct node *self)
{
    return (struct search){
        .sched = sched,
        .self = self,
        .up = ++sched->visits,
        .down = ++sched->visits,
        .base = sched->stack.count,
        .found_base = sched->found.count,
        .sleeper = sched->sleepers.first,
        .idle = sched->idle_materializers.head.next,
    };
}

/* From the nodes in sched->stack along their reads. */
static void climb(struct search *search)
{
    struct sched *sched = search->sched;
    for (size_t i = search->base; i < sched->stack.count; i++) {
        const struct node *node = sched->stack.at[i];
        VEC_FOREACH (&node->reads, read) {
            reach_writers(search, read);
        }
    }
}

/* Everything that leads to the closure, in sched->stack from `base` on, its own
 * writers first. */
static struct search collect_upstream(struct sched *sched,
                                      struct node *self,
                                      const struct closure *closure)
{
    struct search search = search_begin(sched, self);
    search.through = true;
    reach_closure(&search, closure);
    search.writers = sched->stack.count - search.base;
    climb(&search);
    return search;
}

struct node *preflight_stale_source(struct sched *sched,
                                    const struct node *node)
{
    struct search search = search_begin(sched, NULL);
    struct node *found = NULL;
    search.through = true;
    VEC_FOREACH (&node->reads, read) {
        reach_writers(&search, read);
    }
    climb(&search);
    for (size_t i = search.base; i < sched->stack.count && found == NULL; i++) {
        struct node *source = sched->stack.at[i];
        found = node_is_stale(source) ? source : NULL;
    }
    sched->stack.count = search.base;
    return found;
}

static struct gate_look look_closer(struct sched *sched,
                                    struct node *self,
                                    const struct closure *closure)
{
    struct gate_look look = {.state = GATE_TIME, .until = MONO_NEVER};
    struct search search = collect_upstream(sched, self, closure);
    search.loading = true;
    for (size_t i = search.base; i < sched->stack.count; i++) {
        struct node *node = sched->stack.at[i];
        if (is_obstacle(&search, node) && look.state != GATE_WORK) {
            judge(sched, node, &look);
        }
    }
    sched->stack.count = search.base;
    look.visits = search.up_visits;
    if (look.state == GATE_TIME && look.waits == NULL) {
        look.state = look.loads == NULL                     ? GATE_OPEN
                     : has_ended(look.loads->entity->space) ? GATE_LOST
                                                            : GATE_LOAD;
    }
    return look;
}

struct gate_look preflight_look(struct sched *sched,
                                struct node *self,
                                const struct closure *closure)
{
    struct place *cold = unloaded_place(closure);
    if (cold != NULL) {
        const bool lost = has_ended(cold->entity->space);
        return (struct gate_look){
            .state = lost ? GATE_LOST : GATE_LOAD,
            .loads = cold,
        };
    }
    const bool loading = sched->replica->sessions > 0 && is_loading(sched);
    if (LIKELY(is_quiet(sched, loading))) {
        return (struct gate_look){.state = GATE_OPEN};
    }
    struct search search = search_begin(sched, self);
    search.loading = loading;
    const bool reached = is_reached(&search, closure);
    const uint64_t visits = search.up_visits + search.down_visits;
    if (!reached) {
        return (struct gate_look){.state = GATE_OPEN, .visits = visits};
    }
    struct gate_look look = look_closer(sched, self, closure);
    look.visits += visits;
    return look;
}

/* -- Lending ------------------------------------------------------------- */

void preflight_lend(struct sched *sched,
                    struct node *self,
                    const struct closure *closure,
                    struct lent_nodes *lent)
{
    const struct search search = collect_upstream(sched, self, closure);
    const size_t base = lent->at.count;
    for (size_t i = search.base; i < sched->stack.count; i++) {
        struct node *node = sched->stack.at[i];
        queue_promote(sched, node);
        if (node->gate != NULL && node->gate->peer_until > sched->now) {
            gates_end_peer(sched, node); /* an event does not wait for peers */
        }
        if (i < search.base + search.writers) {
            vec_push(&lent->at, node);
        }
    }
    sched->stack.count = search.base;
    for (size_t i = base; i < lent->at.count; i++) {
        struct node *node = lent->at.at[i];
        node->demands++;
        liveness_root_gained(sched, node);
    }
}

void preflight_return(struct sched *sched, struct lent_nodes *lent)
{
    while (lent->at.count > 0) {
        struct node *node = vec_pop(&lent->at);
        node->demands--;
        if (!node_is_root(node)) {
            liveness_root_lost(sched, node);
        }
    }
}
