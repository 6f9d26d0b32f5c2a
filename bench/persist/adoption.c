/* Several runtimes with the same piece on one store, or each on an engine of
 * its own on one file, as processes are. Somebody else edits; all of them step,
 * and only then what they have sent is delivered. What is counted are the runs
 * of computations, of all together, by an edit; and how many there would be if
 * nobody waited for anybody. */

#include <stdio.h>

#include "persist/rows.h"
#include "persist/worker.h"
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
    struct worker workers[DESKS_MAX];
    struct worker author; /* who edits, and computes nothing */
    struct place *source;
    size_t count;
};

/* A chain of computations, and somebody who looks at its end. */
static void add_nodes(struct worker *worker)
{
    for (uint64_t i = 0; i < NODES; i++) {
        const struct digest action = worker_action(i);
        worker_add(worker,
                   i == 0 ? worker_place(worker, 's', 0)
                          : worker_place(worker, 'n', i - 1),
                   NULL,
                   worker_place(worker, 'n', i),
                   &action);
    }
    const struct digest action = worker_action(NODES);
    worker_add(worker,
               worker_place(worker, 'n', NODES - 1),
               NULL,
               NULL,
               &action);
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
        space_flush(office->workers[i].space);
        hub_link_pump_to_hub(&office->workers[i].link);
    }
    poll(office);
    for (size_t i = 0; i < office->count; i++) {
        hub_link_pump_to_session(&office->workers[i].link);
        replica_pump(&office->workers[i].replica);
    }
}

static void settle(struct office *office)
{
    for (unsigned round = 0; round < ROUNDS_MAX; round++) {
        bool idle = true;
        for (size_t i = 0; i < office->count; i++) {
            struct worker *worker = &office->workers[i];
            worker->now += ROUND_MS;
            replica_step(&worker->replica, worker->now);
            sched_step(worker->sched, worker->now);
        }
        deliver(office);
        for (size_t i = 0; i < office->count; i++) {
            const struct worker *worker = &office->workers[i];
            idle = idle && sched_is_settled(worker->sched) &&
                   space_outstanding(worker->space) == 0;
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
    worker_open(&office->author, &office->store, "author", false, 1);
    office->source = worker_place(&office->author, 's', 0);
    worker_put(&office->author, office->source, 1);
    worker_work(&office->author);
    for (size_t i = 0; i < count; i++) {
        struct worker *worker = &office->workers[i];
        char session[32];
        (void)snprintf(session, sizeof session, "runtime %zu", i);
        if (apart) {
            store_open(&office->apart[i], folder, "office", DURABILITY_NORMAL);
        }
        worker_open(worker,
                    apart ? &office->apart[i] : &office->store,
                    session,
                    true,
                    NODES + 1);
        worker->link.mode = HUB_LINK_HELD;
        persistence_set_grace(worker->sched, grace);
        add_nodes(worker);
        for (size_t j = 0; j < worker->count; j++) {
            space_want(worker->space, worker->nodes[j].from[0]->entity);
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
        worker_close(&office->workers[i]);
        if (office->is_apart) {
            store_close(&office->apart[i]);
        }
    }
    place_unref(office->source);
    worker_close(&office->author);
    store_close(&office->store);
    store_remove(&office->store);
}

/* Of computations: who looks is each runtime's own. */
static uint64_t runs_of(const struct office *office)
{
    uint64_t runs = 0;
    for (size_t i = 0; i < office->count; i++) {
        LIST_FOREACH (&office->workers[i].sched->nodes, at) {
            const struct node *node = CONTAINER_OF(at, struct node, all);
            runs += node->kind == NODE_COMPUTATION ? node->runs : 0;
        }
    }
    return runs;
}

static void check_values(struct bench *bench, const struct office *office)
{
    const struct value want =
        office->workers[0].nodes[NODES].from[0]->entity->visible.payload;
    for (size_t i = 1; i < office->count; i++) {
        const struct place *end = office->workers[i].nodes[NODES].from[0];
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
        worker_put(&office.author, office.source, 100 + i);
        worker_work(&office.author);
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
