/* I7: a restart changes nothing. Nodes that are registered anew are never taken
 * for clean; those that are resumed run what a process that stayed alive would
 * have run, and nothing else; and whatever was lost or damaged, nobody is taken
 * for clean who should run. */

#include <stdio.h>
#include <string.h>

#include "lib/persist_kit.h"
#include "lib/sched_draw.h"
#include "lib/test.h"
#include "replica/space.h"

static void count_run(struct world_slot *slot, const struct run *run)
{
    bool *ran = slot->world->ctx;
    (void)run;
    ran[slot - slot->world->slots] = true;
}

PROPERTY(i7_nodes_that_are_registered_anew_are_not_taken_for_clean, 300)
{
    struct world_tally tally = {0};
    struct world world;
    bool ran[MODEL_SLOTS] = {false};
    world_open(&world, &tally);
    draw_graph(random, &world);
    draw_population(random, &world);
    draw_inputs(random, &world);
    EXPECT(world_settle(&world));

    world_restart(&world);
    if (random_one_in(random, 2)) {
        draw_inputs(random, &world); /* while it was down */
    }
    world.on_run = count_run;
    world.ctx = ran;
    draw_population(random, &world);
    EXPECT(world_settle(&world)); /* compares with everything computed anew */
    for (size_t i = 0; i < world.count; i++) {
        const struct node *node = world.slots[i].node;
        EXPECT(node == NULL || !node_is_live(node) || ran[i] ||
               node->place_in_queue == QUEUE_GATED);
    }
    world_close(&world);
}

/* -- Random pieces ------------------------------------------------------- */

enum {
    INPUTS = 3,
    COMPUTATIONS = 8,
    EFFECTS = 3,
    DOCUMENTS = INPUTS + COMPUTATIONS,
    STEPS_MAX = 3,
};

/* One node: it reads documents that come before its own. */
struct plan_node {
    char name[8];
    char surface[64];
    kit_fn *fn;
    int64_t k;
    size_t reads[STEPS_MAX];
    size_t read_count;
};

struct plan {
    struct plan_node computations[COMPUTATIONS];
    struct plan_node effects[EFFECTS];
};

/* Documents are d0, d1, ...: the inputs, then what is computed. */
static void draw_node(struct random *random,
                      struct plan_node *node,
                      size_t below,
                      bool select)
{
    node->read_count = select ? 3 : 1 + random_below(random, STEPS_MAX);
    size_t length = 0;
    for (size_t i = 0; i < node->read_count; i++) {
        node->reads[i] = random_below(random, below);
        /* What a select reads is not known before it does. */
        length += (size_t)snprintf(node->surface + length,
                                   sizeof node->surface - length,
                                   "%sd%zu ",
                                   select && i > 0 ? "-" : "",
                                   node->reads[i]);
    }
}

static void draw_plan(struct random *random, struct plan *plan)
{
    *plan = (struct plan){0};
    for (size_t i = 0; i < COMPUTATIONS; i++) {
        struct plan_node *node = &plan->computations[i];
        const uint64_t what = random_below(random, 3);
        (void)snprintf(node->name, sizeof node->name, "C%zu", i);
        node->fn = what == 0   ? kit_fn_sum
                   : what == 1 ? kit_fn_modulo
                               : kit_fn_select;
        node->k = 2 + (int64_t)random_below(random, 3);
        draw_node(random, node, INPUTS + i, what == 2);
        const size_t length = strlen(node->surface);
        (void)snprintf(node->surface + length,
                       sizeof node->surface - length,
                       "-> d%zu",
                       INPUTS + i);
    }
    for (size_t i = 0; i < EFFECTS; i++) {
        struct plan_node *node = &plan->effects[i];
        (void)snprintf(node->name, sizeof node->name, "E%zu", i);
        node->fn = kit_fn_see;
        draw_node(random, node, DOCUMENTS, false);
    }
}

struct cast {
    struct kit_node *computations[COMPUTATIONS];
    struct kit_node *effects[EFFECTS];
};

static void add_cast(struct sched_kit *kit,
                     const struct plan *plan,
                     struct cast *cast)
{
    for (size_t i = 0; i < COMPUTATIONS; i++) {
        const struct plan_node *node = &plan->computations[i];
        cast->computations[i] =
            kit_computation(kit, node->name, node->surface, node->fn, node->k);
    }
    for (size_t i = 0; i < EFFECTS; i++) {
        const struct plan_node *node = &plan->effects[i];
        cast->effects[i] = kit_see(kit, node->name, node->surface);
    }
}

/* What all documents would be, computed anew. */
static void compute(const struct plan *plan, int64_t *documents)
{
    for (size_t i = 0; i < COMPUTATIONS; i++) {
        const struct plan_node *node = &plan->computations[i];
        int64_t *out = &documents[INPUTS + i];
        if (node->fn == kit_fn_modulo) {
            *out = documents[node->reads[0]] % node->k;
        } else if (node->fn == kit_fn_select) {
            *out =
                documents[node->reads[documents[node->reads[0]] != 0 ? 1 : 2]];
        } else {
            *out = node->k;
            for (size_t j = 0; j < node->read_count; j++) {
                *out += documents[node->reads[j]];
            }
        }
    }
}

static void set_input(struct sched_kit *kit, size_t input, int64_t number)
{
    char name[8];
    (void)snprintf(name, sizeof name, "d%zu", input);
    kit_set_number(kit, name, number);
}

static void set_elsewhere(struct sched_kit *kit, size_t input, int64_t number)
{
    char line[40];
    (void)
        snprintf(line, sizeof line, "set d%zu %lld", input, (long long)number);
    kit_elsewhere(kit, line);
}

static int64_t document(struct sched_kit *kit, size_t index)
{
    char name[8];
    (void)snprintf(name, sizeof name, "d%zu", index);
    return kit_get_number(kit, name);
}

static void load_all(struct sched_kit *kit)
{
    kit_load(kit, "d0 d1 d2 d3 d4 d5 d6 d7 d8 d9 d10");
}

/* -- Two processes ------------------------------------------------------- */

/* Runs of each node in the process that came back and in the one that stayed
 * alive, since the other was down. */
static void expect_same_runs(const struct cast *resumed,
                             const struct cast *alive,
                             const uint64_t *before)
{
    for (size_t i = 0; i < COMPUTATIONS; i++) {
        EXPECT_EQ(resumed->computations[i]->runs,
                  alive->computations[i]->runs - before[i]);
    }
    for (size_t i = 0; i < EFFECTS; i++) {
        EXPECT_EQ(resumed->effects[i]->runs,
                  alive->effects[i]->runs - before[COMPUTATIONS + i]);
    }
}

PROPERTY(i7_resuming_runs_what_a_process_that_stayed_alive_runs, 60)
{
    struct plan plan;
    struct sched_kit kits[2]; /* the first one ends, the other lives */
    struct cast casts[2];
    draw_plan(random, &plan);
    int64_t next = 100; /* no two values are equal */
    for (int i = 0; i < 2; i++) {
        kit_begin_with_store(&kits[i], false);
        kits[i].piece = "p";
        kit_set_all(&kits[i], "d0=1 d1=2 d2=3");
        load_all(&kits[i]);
        add_cast(&kits[i], &plan, &casts[i]);
        EXPECT_IDLE(&kits[i]);
    }
    const uint64_t edits = random_below(random, 4);
    for (uint64_t i = 0; i < edits; i++, next++) {
        const size_t input = random_below(random, INPUTS);
        for (int j = 0; j < 2; j++) {
            set_input(&kits[j], input, next);
            EXPECT_IDLE(&kits[j]);
        }
    }
    uint64_t before[COMPUTATIONS + EFFECTS];
    for (size_t i = 0; i < COMPUTATIONS; i++) {
        before[i] = casts[1].computations[i]->runs;
    }
    for (size_t i = 0; i < EFFECTS; i++) {
        before[COMPUTATIONS + i] = casts[1].effects[i]->runs;
    }

    kit_restart(&kits[0], false);
    for (size_t input = 0; input < INPUTS; input++) {
        if (random_one_in(random, 2)) {
            set_elsewhere(&kits[0], input, next);
            set_elsewhere(&kits[1], input, next++);
        }
    }
    struct persist persist;
    persist_begin(&persist, &kits[0], (uint32_t)random_between(random, 1, 20));
    add_cast(&kits[0], &plan, &casts[0]);
    load_all(&kits[0]);
    (void)persist_end(&persist);
    for (int i = 0; i < 3; i++) { /* and afterwards */
        EXPECT_IDLE(&kits[0]);
        EXPECT_IDLE(&kits[1]);
        expect_same_runs(&casts[0], &casts[1], before);
        for (size_t j = 0; j < DOCUMENTS; j++) {
            EXPECT_INT(document(&kits[0], j), document(&kits[1], j));
        }
        const size_t input = random_below(random, INPUTS);
        set_input(&kits[0], input, next);
        set_input(&kits[1], input, next++);
    }
    kit_end(&kits[0]);
    kit_end(&kits[1]);
}

/* -- Crashes and damage -------------------------------------------------- */

/* Rows go, or are of another time; as many as there are may be hit. */
static void damage(struct random *random, struct sched_kit *kit)
{
    static const char *const statements[] = {
        "UPDATE run SET mark = mark + 1 WHERE action",
        "DELETE FROM edge WHERE edge",
        "DELETE FROM place WHERE place",
        "DELETE FROM action WHERE action",
        "UPDATE run SET seq = seq + 1 WHERE action",
        "UPDATE run SET error = NULL WHERE action",
    };
    char sql[100];
    (void)snprintf(sql,
                   sizeof sql,
                   "%s %% 3 = %u",
                   statements[random_below(random, COUNT_OF(statements))],
                   (unsigned)random_below(random, 3));
    (void)kit_sql(kit_store_of(kit), sql);
    observations_forget(&kit_store_of(kit)->engine);
}

/* One life: edits, runs and messages in any order, up to the crash. */
static void live(struct random *random, struct sched_kit *kit, int64_t *next)
{
    const uint64_t steps = random_below(random, 12);
    for (uint64_t i = 0; i < steps; i++) {
        const size_t input = random_below(random, INPUTS);
        /* Few values, so that some are what they were. */
        const int64_t number = (*next)++ % 4;
        switch (random_below(random, 5)) {
        case 0:
            set_input(kit, input, number);
            break;
        case 1:
            set_elsewhere(kit, input, number);
            break;
        case 2:
            kit_pump(kit);
            break;
        default:
            (void)kit_idle(kit);
            break;
        }
    }
}

static void settle(struct sched_kit *kit)
{
    bool quiet = false;
    for (int i = 0; i < 50 && !quiet; i++) {
        kit_pump(kit);
        EXPECT_IDLE(kit);
        quiet = space_outstanding(kit->space) == 0 &&
                scheduler_is_settled(kit->sched);
        kit_tick(kit, 1);
    }
    EXPECT(quiet);
}

/* Everything that somebody looks at is what it would be, computed anew. */
static void expect_computed(struct sched_kit *kit,
                            const struct plan *plan,
                            const struct cast *cast)
{
    int64_t documents[DOCUMENTS] = {0};
    for (size_t i = 0; i < INPUTS; i++) {
        documents[i] = document(kit, i);
    }
    compute(plan, documents);
    for (size_t i = 0; i < COMPUTATIONS; i++) {
        if (node_is_live(cast->computations[i]->node)) {
            EXPECT_INT(document(kit, INPUTS + i), documents[INPUTS + i]);
        }
    }
}

static void crash_round(struct random *random, bool damaged)
{
    struct plan plan;
    struct sched_kit kit;
    struct cast cast;
    int64_t next = 0;
    draw_plan(random, &plan);
    kit_begin_with_store(&kit, true);
    kit.piece = "p";
    kit_set_all(&kit, "d0=1 d1=2 d2=3");
    load_all(&kit);
    add_cast(&kit, &plan, &cast);
    for (int i = 0; i < 4; i++) {
        live(random, &kit, &next);
        kit_restart(&kit, random_one_in(random, 2));
        if (random_one_in(random, 2)) {
            set_elsewhere(&kit, random_below(random, INPUTS), next++ % 4);
        }
        if (damaged) {
            damage(random, &kit);
        }
        struct persist persist;
        persist_begin(&persist, &kit, 0);
        add_cast(&kit, &plan, &cast);
        load_all(&kit);
        (void)persist_end(&persist);
        settle(&kit);
        expect_computed(&kit, &plan, &cast);
    }
    kit_end(&kit);
}

PROPERTY(i7_after_a_crash_nobody_is_taken_for_clean_who_should_run, 60)
{
    crash_round(random, false);
}

PROPERTY(i7_rows_that_are_wrong_or_missing_make_nobody_clean, 60)
{
    crash_round(random, true);
}
