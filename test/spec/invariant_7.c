/* I7: a restart changes nothing. Nodes that are registered anew are never taken
 * for clean; those that are resumed run what a process that stayed alive would
 * have run, and nothing else; and whatever was lost or damaged, nobody is taken
 * for clean who should run. */

#include <stdio.h>
#include <string.h>

#include "host/hub_link.h"
#include "lib/persist_kit.h"
#include "lib/sched_draw.h"
#include "lib/test.h"
#include "replica/session.h"
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

/* Each process opens the file anew; where there is none, the store is the same
 * one. In files it is one round in three, because a file that is closed waits
 * for the disk. */
static void begin_somewhere(struct random *random,
                            struct sched_kit *kit,
                            bool held)
{
    if (random_one_in(random, 3)) {
        kit_begin_with_file(kit, held);
    } else {
        kit_begin_with_store(kit, held);
    }
}

/* -- Two processes ------------------------------------------------------- */

/* Runs of each node in the process that came back and in the one that stayed
 * alive, since the other was down. */
static void expect_same_runs(const struct cast *resumed,
                             const struct cast *alive,
                             const uint64_t *before,
                             bool unloaded)
{
    for (size_t i = 0; i < COMPUTATIONS; i++) {
        const uint64_t runs = resumed->computations[i]->runs;
        const uint64_t most = alive->computations[i]->runs - before[i];
        /* Who had to wait for a document may not be needed any more. */
        EXPECT(unloaded ? runs <= most : runs == most);
    }
    for (size_t i = 0; i < EFFECTS; i++) {
        EXPECT_EQ(resumed->effects[i]->runs,
                  alive->effects[i]->runs - before[COMPUTATIONS + i]);
    }
}

/* The same edit in both, from here or from elsewhere. Who edits from here has
 * the document. */
static void edit_both(struct random *random,
                      struct sched_kit *kits,
                      int64_t number)
{
    char name[8];
    const size_t input = random_below(random, INPUTS);
    const bool here = random_one_in(random, 2);
    (void)snprintf(name, sizeof name, "d%zu", input);
    for (int i = 0; i < 2; i++) {
        if (here) {
            kit_load(&kits[i], name);
            set_input(&kits[i], input, number);
        } else {
            set_elsewhere(&kits[i], input, number);
        }
    }
}

/* With the documents, or without them until they are needed. */
static void resume_and_compare(struct random *random, bool unloaded)
{
    struct plan plan;
    struct sched_kit kits[2]; /* the first one ends, the other lives */
    struct cast casts[2];
    draw_plan(random, &plan);
    int64_t next = 100; /* no two values are equal */
    for (int i = 0; i < 2; i++) {
        begin_somewhere(random, &kits[i], false);
        kits[i].piece = "p";
        kits[i].waits = true;
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
    if (!unloaded) {
        load_all(&kits[0]);
    }
    (void)persist_end(&persist);
    for (int i = 0; i < 5; i++) { /* and afterwards */
        EXPECT_IDLE(&kits[0]);
        EXPECT_IDLE(&kits[1]);
        expect_same_runs(&casts[0], &casts[1], before, unloaded);
        if (!unloaded || i == 4) {
            load_all(&kits[0]);
            for (size_t j = 0; j < DOCUMENTS; j++) {
                if (j < INPUTS ||
                    node_is_live(casts[1].computations[j - INPUTS]->node)) {
                    EXPECT_INT(document(&kits[0], j), document(&kits[1], j));
                }
            }
        }
        edit_both(random, kits, next++);
    }
    kit_end(&kits[0]);
    kit_end(&kits[1]);
}

PROPERTY(i7_resuming_runs_what_a_process_that_stayed_alive_runs, 60)
{
    resume_and_compare(random, false);
}

PROPERTY(i7_pers_20_without_its_documents_a_process_runs_the_same, 60)
{
    resume_and_compare(random, true);
}

/* -- Crashes and damage -------------------------------------------------- */

/* A column of the tables of observations, whatever they are called now: those
 * that are not of the history or the registry. */
struct column {
    char table[24];
    char name[24];
    char type[12];
};

static const char columns_sql[] =
    "FROM sqlite_master m, pragma_table_info(m.name) c WHERE m.type = 'table'"
    " AND m.name NOT IN ('space', 'branch', 'session', 'commit', 'document',"
    " 'revision', 'snapshot', 'environment', 'thread', 'message', 'schedule',"
    " 'sqlite_sequence')";

static struct column draw_column(struct random *random, struct store_kit *store)
{
    struct column column = {0};
    struct buf sql = {0};
    unsigned count = 0;
    buf_printf(&sql, "SELECT count(*) %s", columns_sql);
    EXPECT_INT(sscanf(kit_sql(store, buf_text(&sql)), "%u", &count), 1);
    buf_clear(&sql);
    buf_printf(&sql,
               "SELECT m.name || ' ' || c.name || ' ' || c.type %s"
               " ORDER BY m.name, c.cid LIMIT 1 OFFSET %u",
               columns_sql,
               (unsigned)random_below(random, count));
    EXPECT_INT(sscanf(kit_sql(store, buf_text(&sql)),
                      "%23s %23s %11[^;]",
                      column.table,
                      column.name,
                      column.type),
               3);
    buf_release(&sql);
    return column;
}

/* What a column becomes: of another time, of another row, nothing, or a bit of
 * another. */
static void draw_value(struct random *random,
                       const struct column *column,
                       struct buf *to)
{
    const bool number = strcmp(column->type, "INTEGER") == 0;
    switch (random_below(random, 5)) {
    case 0:
        buf_printf(to, number ? "%s + 1" : "substr(%s, 2)", column->name);
        break;
    case 1:
        buf_printf(to,
                   number ? "%s - 1" : "zeroblob(length(%s))",
                   column->name);
        break;
    case 2:
        buf_append_text(to, number ? "0" : "NULL");
        break;
    default:
        buf_printf(to,
                   "coalesce((SELECT x.%s FROM %s x LIMIT 1 OFFSET %u), 0)",
                   column->name,
                   column->table,
                   (unsigned)random_below(random, 8));
        break;
    }
}

/* Rows go, or are not what they were; as many as there are may be hit. */
static void damage(struct random *random, struct sched_kit *kit)
{
    struct store_kit *store = kit_store_of(kit);
    const struct column column = draw_column(random, store);
    struct buf sql = {0};
    if (random_one_in(random, 3)) {
        buf_printf(&sql, "DELETE FROM %s", column.table);
    } else {
        buf_printf(&sql,
                   "UPDATE OR IGNORE %s SET %s = ",
                   column.table,
                   column.name);
        draw_value(random, &column, &sql);
    }
    buf_printf(
        &sql,
        " WHERE (SELECT count(*) FROM %s y WHERE y.%s < %s.%s) %% 3 = %u",
        column.table,
        column.name,
        column.table,
        column.name,
        (unsigned)random_below(random, 3));
    kit_run(store, buf_text(&sql));
    buf_release(&sql);
}

/* One life: edits, runs and messages in any order, up to the crash. */
static void live(struct random *random, struct sched_kit *kit, int64_t *next)
{
    const uint64_t steps = random_below(random, 12);
    for (uint64_t i = 0; i < steps; i++) {
        const size_t input = random_below(random, INPUTS);
        /* Few values, so that some are what they were. */
        const int64_t number = (*next)++ % 4;
        switch (random_below(random, 7)) {
        case 0:
            set_input(kit, input, number);
            break;
        case 1:
            set_elsewhere(kit, input, number);
            break;
        case 2:
            kit_pump(kit);
            break;
        case 3:
            if (random_one_in(random, 3)) {
                hub_link_break(CONTAINER_OF(kit->space->session->transport,
                                            struct hub_link,
                                            transport));
            }
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
        quiet =
            space_outstanding(kit->space) == 0 && sched_is_settled(kit->sched);
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

static void crash_round(struct random *random, bool damaged, bool unloaded)
{
    struct plan plan;
    struct sched_kit kit;
    struct cast cast;
    int64_t next = 0;
    draw_plan(random, &plan);
    begin_somewhere(random, &kit, true);
    kit.piece = "p";
    kit.waits = unloaded;
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
        if (!unloaded) {
            load_all(&kit);
        }
        (void)persist_end(&persist);
        settle(&kit);
        if (unloaded && random_one_in(random, 2)) {
            continue; /* what is not here stays away */
        }
        load_all(&kit);
        settle(&kit);
        expect_computed(&kit, &plan, &cast);
    }
    kit_end(&kit);
}

PROPERTY(i7_after_a_crash_nobody_is_taken_for_clean_who_should_run, 60)
{
    crash_round(random, false, false);
}

PROPERTY(i7_after_a_crash_without_documents_nobody_is_taken_for_clean, 60)
{
    crash_round(random, false, true);
}

PROPERTY(i7_rows_that_are_wrong_or_missing_make_nobody_clean, 60)
{
    crash_round(random, true, random_one_in(random, 2));
}

/* -- A crash, and one that stayed alive ---------------------------------- */

/* Two equal processes: one ends at any moment, the other lives. What the first
 * one loses is what had not landed. Edits come from elsewhere, so that both
 * have the same. */
struct twins {
    struct plan plan;
    struct sched_kit kits[2];
    struct cast casts[2];
    bool lost[COMPUTATIONS + EFFECTS]; /* it ran, and that may not be known */
    uint64_t before[COMPUTATIONS + EFFECTS]; /* runs of who lives */
    char seen[EFFECTS][40];
    int64_t next; /* no two values are equal */
};

NOINLINE static struct kit_node *cast_at(const struct cast *cast, size_t index)
{
    if (index < COMPUTATIONS) {
        return cast->computations[index];
    }
    return cast->effects[index - COMPUTATIONS];
}

static void note_runs(const struct cast *cast, uint64_t *runs)
{
    for (size_t i = 0; i < COMPUTATIONS + EFFECTS; i++) {
        runs[i] = cast_at(cast, i)->runs;
    }
}

/* The last that an effect has seen. */
static const char *last_seen(const struct cast *cast, size_t effect)
{
    const char *text = buf_text(&cast->effects[effect]->seen);
    const char *blank = strrchr(text, ' ');
    return blank != NULL ? blank + 1 : text;
}

static void twins_begin(struct random *random, struct twins *twins)
{
    *twins = (struct twins){.next = 100};
    draw_plan(random, &twins->plan);
    begin_somewhere(random, &twins->kits[0], true);
    kit_begin_with_store(&twins->kits[1], true);
    for (int i = 0; i < 2; i++) {
        struct sched_kit *kit = &twins->kits[i];
        kit->piece = "p";
        kit_set_all(kit, "d0=1 d1=2 d2=3");
        load_all(kit);
        add_cast(kit, &twins->plan, &twins->casts[i]);
        settle(kit);
    }
}

static void edit_twins(struct random *random, struct twins *twins)
{
    const size_t input = random_below(random, INPUTS);
    for (int i = 0; i < 2; i++) {
        set_elsewhere(&twins->kits[i], input, twins->next);
    }
    twins->next++;
}

/* Both do the same, up to the crash. */
static void twins_live(struct random *random, struct twins *twins)
{
    uint64_t settled[COMPUTATIONS + EFFECTS];
    note_runs(&twins->casts[0], settled);
    const uint64_t steps = random_below(random, 10);
    for (uint64_t i = 0; i < steps; i++) {
        const uint64_t what = random_below(random, 4);
        if (what == 0) {
            edit_twins(random, twins);
        }
        for (int j = 0; j < 2; j++) {
            if (what == 1) {
                kit_pump(&twins->kits[j]);
            } else if (what > 1) {
                kit_step(&twins->kits[j]);
            }
        }
    }
    for (size_t i = 0; i < COMPUTATIONS + EFFECTS; i++) {
        twins->lost[i] = cast_at(&twins->casts[0], i)->runs > settled[i];
    }
    for (size_t i = 0; i < EFFECTS; i++) {
        (void)snprintf(twins->seen[i],
                       sizeof twins->seen[i],
                       "%s",
                       last_seen(&twins->casts[0], i));
    }
    note_runs(&twins->casts[1], twins->before);
}

/* The first one ends, things happen, and another one comes. */
static void twins_crash(struct random *random, struct twins *twins)
{
    struct sched_kit *kit = &twins->kits[0];
    kit_restart(kit, true);
    const uint64_t edits = random_below(random, 3);
    for (uint64_t i = 0; i < edits; i++) {
        edit_twins(random, twins);
    }
    struct persist persist;
    persist_begin(&persist, kit, (uint32_t)random_between(random, 1, 20));
    add_cast(kit, &twins->plan, &twins->casts[0]);
    load_all(kit);
    (void)persist_end(&persist);
}

static void expect_equal_values(struct twins *twins)
{
    for (size_t i = 0; i < INPUTS; i++) {
        EXPECT_INT(document(&twins->kits[0], i), document(&twins->kits[1], i));
    }
    for (size_t i = 0; i < COMPUTATIONS; i++) {
        const struct node *node = twins->casts[0].computations[i]->node;
        EXPECT(node_is_live(node) ==
               node_is_live(twins->casts[1].computations[i]->node));
        if (node_is_live(node)) {
            EXPECT_INT(document(&twins->kits[0], INPUTS + i),
                       document(&twins->kits[1], INPUTS + i));
        }
    }
}

/* Whoever ran had a reason: the other one ran, too, or what it did before the
 * crash was lost. And nobody ran twice. */
static void expect_no_more_runs(struct twins *twins)
{
    for (size_t i = 0; i < COMPUTATIONS + EFFECTS; i++) {
        const uint64_t here = cast_at(&twins->casts[0], i)->runs;
        const uint64_t there =
            cast_at(&twins->casts[1], i)->runs - twins->before[i];
        EXPECT(here <= 1);
        EXPECT(here == 0 || there > 0 || twins->lost[i]);
        EXPECT(here == 1 || there == 0 || twins->lost[i]);
    }
    for (size_t i = 0; i < EFFECTS; i++) {
        const bool ran = twins->casts[0].effects[i]->runs > 0;
        if (ran || !twins->lost[COMPUTATIONS + i]) { /* or nobody knows */
            EXPECT_TEXT(ran ? last_seen(&twins->casts[0], i) : twins->seen[i],
                        last_seen(&twins->casts[1], i));
        }
    }
}

PROPERTY(i7_a_crash_costs_what_had_not_landed_and_nothing_else, 60)
{
    struct twins twins;
    twins_begin(random, &twins);
    twins_live(random, &twins);
    twins_crash(random, &twins);
    settle(&twins.kits[0]);
    settle(&twins.kits[1]);
    expect_equal_values(&twins);
    expect_no_more_runs(&twins);
    uint64_t runs[2][COMPUTATIONS + EFFECTS];
    for (int i = 0; i < 2; i++) {
        note_runs(&twins.casts[i], runs[i]);
    }
    edit_twins(random, &twins); /* and from here on they are the same */
    settle(&twins.kits[0]);
    settle(&twins.kits[1]);
    expect_equal_values(&twins);
    for (size_t i = 0; i < COMPUTATIONS + EFFECTS; i++) {
        EXPECT_EQ(cast_at(&twins.casts[0], i)->runs - runs[0][i],
                  cast_at(&twins.casts[1], i)->runs - runs[1][i]);
    }
    kit_end(&twins.kits[0]);
    kit_end(&twins.kits[1]);
}
