/* Finding cycles, and the sentence that reports one. */

#include "sched/cycle.h"

#include "sched/graph.h"
#include "sched/introspection.h"
#include "sched/node_registry.h"

enum {
    STEPS_SHOWN = 8,
    RUNS_FOLLOWED = 64,
};

/* -- Finding ------------------------------------------------------------- */

/* A breadth-first search along the reads. It does not use the components of the
 * order: nodes that have just lost their demand are in none. */
struct reached {
    struct node *node;
    size_t before;             /* index of the node that reached it, */
    const struct place *place; /* and the place that this node reads */
};

struct search {
    struct node *from;
    uint64_t stamp;
    VEC(struct reached) reached; /* in order; the first is `from` */
};

/* Examines the reads of one node: whether `from` writes one of them, at
 * *end. */
static bool look_at(struct search *search, size_t at, const struct place **end)
{
    const struct node *node = search->reached.at[at].node;
    VEC_FOREACH (&node->reads, read) {
        struct writer_walk walk = graph_writers(read);
        for (struct node *writer = graph_next_writer(&walk); writer != NULL;
             writer = graph_next_writer(&walk)) {
            if (writer == search->from) {
                *end = read->place;
                return true;
            }
            if (writer->visit != search->stamp) {
                const struct reached next = {writer, at, read->place};
                writer->visit = search->stamp;
                vec_push(&search->reached, next);
            }
        }
    }
    return false;
}

/* From `from` to the node that was reached at `last`, which reads `end`. */
static void collect(const struct search *search,
                    size_t last,
                    const struct place *end,
                    struct cycle *cycle)
{
    size_t length = 1;
    for (size_t at = last; at > 0; at = search->reached.at[at].before) {
        length++;
    }
    vec_reserve(&cycle->steps, length);
    cycle->steps.count = length;
    for (size_t at = last; length > 0; at = search->reached.at[at].before) {
        const struct cycle_step step = {search->reached.at[at].node, end};
        cycle->steps.at[--length] = step;
        end = search->reached.at[at].place;
    }
}

static void find_by_reads(struct sched *sched,
                          struct node *node,
                          struct cycle *cycle)
{
    struct search search = {.from = node, .stamp = ++sched->visits};
    const struct reached first = {node, 0, NULL};
    const struct place *end = NULL;
    node->visit = search.stamp;
    vec_push(&search.reached, first);
    for (size_t at = 0; at < search.reached.count; at++) {
        if (look_at(&search, at, &end)) {
            collect(&search, at, end, cycle);
            break;
        }
    }
    vec_release(&search.reached);
}

/* The run that wrote the last cause of a run, and that cause; NULL: unknown, or
 * not a run. */
static const struct run_record *run_before(const struct sched *sched,
                                           const struct run_record *run,
                                           const struct cause **cause)
{
    const uint32_t count = introspection_kept_causes(run->cause_count);
    *cause = NULL;
    for (uint32_t i = 0; i < count; i++) {
        if (*cause == NULL || run->causes[i].version > (*cause)->version) {
            *cause = &run->causes[i];
        }
    }
    const struct change_record *change =
        *cause != NULL ? introspection_change(sched, (*cause)->version) : NULL;
    return change != NULL ? introspection_run_of_change(sched, change) : NULL;
}

/* Steps are found by their runs first; nodes are looked up only if the path is
 * closed. */
static void find_by_runs(const struct sched *sched,
                         const struct node *node,
                         struct cycle *cycle)
{
    const struct run_record *runs[RUNS_FOLLOWED];
    const struct cause *causes[RUNS_FOLLOWED];
    size_t count = 0;
    runs[0] = introspection_last_run(sched, node);
    while (runs[count] != NULL) {
        const struct run_record *before =
            run_before(sched, runs[count], &causes[count]);
        count++;
        if (before == NULL || count == RUNS_FOLLOWED) {
            return;
        }
        if (before->ordinal == node->ordinal) {
            break;
        }
        runs[count] = before;
    }
    for (size_t i = 0; i < count; i++) {
        const struct cycle_step step = {
            node_registry_node(sched, runs[i]->ordinal),
            causes[i]->place,
        };
        vec_push(&cycle->steps, step);
        if (step.node == NULL) { /* a handler, or removed */
            vec_clear(&cycle->steps);
            return;
        }
    }
}

void cycle_find(struct sched *sched, struct node *node, struct cycle *cycle)
{
    *cycle = (struct cycle){0};
    find_by_reads(sched, node, cycle);
    if (cycle->steps.count == 0 && node->kind == NODE_EFFECT) {
        find_by_runs(sched, node, cycle);
    }
}

void cycle_release(struct cycle *cycle)
{
    vec_release(&cycle->steps);
}

uint32_t cycle_ordinal(const struct cycle *cycle)
{
    uint32_t least = UINT32_MAX;
    VEC_FOREACH (&cycle->steps, step) {
        least = step->node->ordinal < least ? step->node->ordinal : least;
    }
    return least;
}

/* -- Reporting ----------------------------------------------------------- */

bool cycle_is_empty(const struct cycle *cycle)
{
    VEC_FOREACH (&cycle->steps, step) {
        struct value there = VALUE_NONE;
        (void)entity_state_at(&step->place->entity->visible,
                              step->place->path,
                              &there);
        const bool is_absent = value_is_absent(there);
        value_unref(there);
        if (is_absent) {
            return true;
        }
    }
    return false;
}

static void write_value(struct buf *to,
                        struct value text,
                        const char *otherwise)
{
    if (value_is_string(text)) {
        const struct text at = value_text(&text);
        buf_append(to, at.at, at.length);
    } else {
        buf_append_text(to, otherwise);
    }
}

static void write_name(struct buf *to, const struct node *node)
{
    while (node->parent != NULL && value_is_absent(node_name(node))) {
        node = node->parent;
    }
    write_value(to, node_name(node), "a node without a name");
}

/* "a, b and c", or "a, b and 7 more". */
static void write_names(struct buf *to, const struct cycle *cycle)
{
    const size_t count = cycle->steps.count;
    const size_t shown = count > STEPS_SHOWN ? STEPS_SHOWN : count;
    for (size_t i = 0; i < shown; i++) {
        const bool is_last = i + 1 == count;
        buf_append_text(to, i == 0 ? "" : is_last ? " and " : ", ");
        write_name(to, cycle->steps.at[i].node);
    }
    if (shown < count) {
        buf_printf(to, " and %zu more", count - shown);
    }
}

static void write_reads(struct buf *to, const struct cycle *cycle)
{
    const size_t count = cycle->steps.count;
    for (size_t i = 0; i < count && i < STEPS_SHOWN; i++) {
        const struct cycle_step *step = &cycle->steps.at[i];
        buf_append_text(to, i == 0 ? "" : ", ");
        write_name(to, step->node);
        buf_append_text(to, " reads ");
        write_value(to, step->place->entity->id, "a document");
    }
    buf_append_text(to, count > STEPS_SHOWN ? ", ..." : "");
}

static bool has_effect(const struct cycle *cycle)
{
    VEC_FOREACH (&cycle->steps, step) {
        if (step->node->kind == NODE_EFFECT) {
            return true;
        }
    }
    return false;
}

void cycle_write(const struct cycle *cycle, struct buf *to)
{
    write_names(to, cycle);
    buf_append_text(to,
                    cycle_is_empty(cycle)
                        ? " form a cycle without an initial value: "
                        : " form a cycle that does not settle: ");
    write_reads(to, cycle);
    buf_append_text(to,
                    has_effect(cycle)
                        ? "; to break it, let one of them write only what "
                          "settles, or read with sample() what the other one "
                          "writes"
                        : "; to break it, let one of them read a state "
                          "instead, or read the other with sample()");
}
