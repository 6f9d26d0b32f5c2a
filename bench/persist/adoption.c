/* Several runtimes with the same piece on one store, or each on an engine of
 * its own on one file, as processes are. Somebody else edits; all of them step,
 * and only then what they have sent is delivered. What is counted are the runs
 * of computations, of all together, by an edit; and how many there would be if
 * nobody waited for anybody. */

#include <stdio.h>

#include "persist/desk.h"
#include "persist/rows.h"
#include "value/compare.h"

enum {
    DESKS_MAX = 8,
    NODES = 100,
    EDITS = 50,
    ROUND_MS = 5,
    ROUNDS_MAX = 200,
};

struct office {
    struct store
        store; /* the author's, and all others' unless they are apart */
    struct store apart[DESKS_MAX];
    bool is_apart;
    struct desk desks[DESKS_MAX];
    struct desk author; /* who edits, and computes nothing */
    struct place *source;
    size_t count;
};

/* A chain of computations, and somebody who looks at its end. */
static void add_nodes(struct desk *desk)
{
    for (uint64_t i = 0; i < NODES; i++) {
        const struct digest action = desk_action(i);
        desk_add(desk,
                 i == 0 ? desk_place(desk, 's', 0)
                        : desk_place(desk, 'n', i - 1),
                 NULL,
                 desk_place(desk, 'n', i),
                 &action);
    }
    const struct digest action = desk_action(NODES);
    desk_add(desk, desk_place(desk, 'n', NODES - 1), NULL, NULL, &action);
}

/* What the others on the file have done. */
static void poll(struct office *office)
{
    for (size_t i = 0; office->is_apart && i < office->count; i++) {
        hub_poll(&office->apart[i].hub);
    }
}

static void deliver(struct office *office)
{
    poll(office);
    for (size_t i = 0; i < office->count; i++) {
        space_flush(office->desks[i].space);
        link_pump_to_hub(&office->desks[i].link);
    }
    poll(office);
    for (size_t i = 0; i < office->count; i++) {
        link_pump_to_session(&office->desks[i].link);
        replica_settle(&office->desks[i].replica);
    }
}

static void settle(struct office *office)
{
    for (unsigned round = 0; round < ROUNDS_MAX; round++) {
        bool idle = true;
        for (size_t i = 0; i < office->count; i++) {
            struct desk *desk = &office->desks[i];
            desk->now += ROUND_MS;
            replica_step(&desk->replica, desk->now);
            scheduler_step(desk->sched, desk->now);
        }
        deliver(office);
        for (size_t i = 0; i < office->count; i++) {
            const struct desk *desk = &office->desks[i];
            idle = idle && scheduler_is_settled(desk->sched) &&
                   space_outstanding(desk->space) == 0;
        }
        if (idle) {
            return;
        }
    }
    stop("the runtimes do not come to rest");
}

static void office_open(struct office *office,
                        const char *folder,
                        size_t count,
                        mono_ms grace,
                        bool apart)
{
    *office = (struct office){.count = count, .is_apart = apart};
    store_open(&office->store, folder, "office", DURABILITY_NORMAL);
    desk_open(&office->author, &office->store, "author", false, 1);
    office->source = desk_place(&office->author, 's', 0);
    desk_put(&office->author, office->source, 1);
    desk_work(&office->author);
    for (size_t i = 0; i < count; i++) {
        struct desk *desk = &office->desks[i];
        char session[32];
        (void)snprintf(session, sizeof session, "runtime %zu", i);
        if (apart) {
            store_open(&office->apart[i], folder, "office", DURABILITY_NORMAL);
        }
        desk_open(desk,
                  apart ? &office->apart[i] : &office->store,
                  session,
                  true,
                  NODES + 1);
        desk->link.mode = LINK_HELD;
        persistence_set_grace(desk->sched, grace);
        add_nodes(desk);
        for (size_t j = 0; j < desk->count; j++) {
            space_want(desk->space, desk->nodes[j].from[0]->entity);
        }
    }
    for (int i = 0; i < 4; i++) {
        deliver(office);
    }
    settle(office);
}

static void office_close(struct office *office)
{
    for (size_t i = 0; i < office->count; i++) {
        desk_close(&office->desks[i]);
        if (office->is_apart) {
            store_close(&office->apart[i]);
        }
    }
    place_unref(office->source);
    desk_close(&office->author);
    store_close(&office->store);
    store_remove(&office->store);
}

/* Of computations: who looks is each runtime's own. */
static uint64_t runs_of(const struct office *office)
{
    uint64_t runs = 0;
    for (size_t i = 0; i < office->count; i++) {
        LIST_FOREACH (&office->desks[i].sched->nodes, at) {
            const struct node *node = CONTAINER_OF(at, struct node, all);
            runs += node->kind == NODE_COMPUTATION ? node->runs : 0;
        }
    }
    return runs;
}

static void check_values(struct bench *bench, const struct office *office)
{
    const struct value want =
        office->desks[0].nodes[NODES].from[0]->entity->visible.payload;
    for (size_t i = 1; i < office->count; i++) {
        const struct place *end = office->desks[i].nodes[NODES].from[0];
        if (!value_equal(end->entity->visible.payload, want)) {
            bench_wrong(bench, "runtime %zu has another value", i);
        }
    }
}

/* The runs an edit makes. */
static double measure(struct bench *bench,
                      const char *folder,
                      size_t count,
                      mono_ms grace,
                      bool apart)
{
    static struct office office;
    office_open(&office, folder, count, grace, apart);
    const uint64_t before = runs_of(&office);
    for (uint64_t i = 0; i < EDITS; i++) {
        desk_put(&office.author, office.source, 100 + i);
        desk_work(&office.author);
        settle(&office);
    }
    const uint64_t runs = runs_of(&office) - before;
    check_values(bench, &office);
    office_close(&office);
    return (double)runs / EDITS;
}

static void measure_some(struct bench *bench,
                         const char *folder,
                         size_t count,
                         bool apart,
                         double one)
{
    char name[64];
    (void)snprintf(name,
                   sizeof name,
                   "adoption, %zu %s, runs per edit",
                   count,
                   apart ? "processes" : "runtimes");
    bench_figure(bench,
                 name,
                 "runs",
                 measure(bench, folder, count, PERSISTENCE_GRACE_MS, apart),
                 measure(bench, folder, count, 0, apart),
                 (struct bench_bar){BENCH_AT_MOST, 1.1 * one});
}

void bench_adoption(struct bench *bench, const char *folder)
{
    static const size_t counts[] = {2, 4, 8};
    if (!bench_wants(bench, "adoption")) {
        return;
    }
    const size_t most = bench->quick ? 1 : COUNT_OF(counts);
    const double one = measure(bench, folder, 1, PERSISTENCE_GRACE_MS, false);
    for (size_t i = 0; i < most; i++) {
        measure_some(bench, folder, counts[i], false, one);
    }
    for (size_t i = 0; i < most; i++) {
        measure_some(bench, folder, counts[i], true, one);
    }
}
