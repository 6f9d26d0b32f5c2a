/* PERS-20 and R30: what a piece that comes back does not need. Its documents
 * are not fetched while it is clean, and of what happens then as much as is
 * needed. */

#include <stdio.h>

#include "base/mem.h"
#include "lib/persist_kit.h"
#include "lib/test.h"
#include "replica/session.h"
#include "sched/fetching.h"

static void begin(struct sched_kit *kit, const char *line)
{
    kit_begin_with_store(kit, false);
    kit->piece = "p";
    kit_set_all(kit, line);
}

/* -- Not here ------------------------------------------------------------ */

/* By path, deep and shape, though what was there is not here: nobody else is
 * woken, and no other document is fetched than those that a run needs. */
TEST(pers_20_r30_a_change_of_what_is_not_here_wakes_exactly_its_readers)
{
    struct sched_kit kit;
    struct kit_node *nodes[5];
    static const char *const surfaces[] = {"a.x",
                                           "a.y.z",
                                           "^a.y",
                                           "^a",
                                           "other"};
    static const struct {
        const char *change;
        const char *ran;
    } cases[] = {
        {"replace a.x 2", "N0"},
        {"replace a.y.z 2", "N1"},
        {"replace a.y {'z':1,'w':1}", "N2"},
        {"add a.v 1", "N3"},
        {"set a {'x':1,'y':{'z':1}}", ""},
        {"set a {'x':7,'y':{'z':1}}", "N0"},
        {"delete a", "N3 N2 N1 N0"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        for (unsigned life = 0; life < 2; life++) {
            struct persist persist;
            if (life == 0) {
                begin(&kit, "a={'x':1,'y':{'z':1}} other=1");
            } else {
                kit_restart(&kit, false);
                persist_begin(&persist, &kit, 0);
            }
            for (size_t j = 0; j < COUNT_OF(nodes); j++) {
                char name[4];
                (void)snprintf(name, sizeof name, "N%zu", j);
                nodes[j] = kit_see(&kit, name, surfaces[j]);
            }
            if (life == 1) {
                EXPECT_TEXT(persist_end(&persist),
                            "restored 5 dirty 0 unknown 0");
            }
            EXPECT_IDLE(&kit);
        }
        EXPECT_EQ(kit.replica.counters.documents, 0);
        (void)kit_ran(&kit);
        kit_elsewhere(&kit, cases[i].change);
        EXPECT_IDLE(&kit);
        EXPECT_TEXT(kit_ran(&kit), cases[i].ran);
        EXPECT_EQ(kit.replica.counters.documents, 1);
        kit_end(&kit);
    }
}

/* A chain that was clean runs in order and once, and its documents are asked
 * for in few messages. */
TEST(pers_20_what_a_chain_needs_is_asked_for_together)
{
    enum {
        LENGTH = 200
    };
    struct sched_kit kit;
    char surface[24];
    char name[8];
    for (unsigned life = 0; life < 2; life++) {
        struct persist persist;
        if (life == 0) {
            begin(&kit, "d0=1 z=1");
        } else {
            kit_restart(&kit, false);
            persist_begin(&persist, &kit, 0);
        }
        for (unsigned i = 0; i < LENGTH; i++) {
            (void)snprintf(name, sizeof name, "C%u", i);
            (void)snprintf(surface, sizeof surface, "d%u -> d%u", i, i + 1);
            kit_sum(&kit, name, surface, 1);
        }
        (void)snprintf(surface, sizeof surface, "d%u", (unsigned)LENGTH);
        (void)kit_see(&kit, "E", surface);
        if (life == 1) {
            (void)persist_end(&persist);
            EXPECT_EQ(persist.counts.restored, LENGTH + 1);
        }
        EXPECT_IDLE(&kit);
    }
    const uint64_t sent = kit.space->session->sent;
    kit_elsewhere(&kit, "set d0 5");
    EXPECT_IDLE(&kit);
    EXPECT_EQ(kit.sched->counters.runs, LENGTH + 1);
    kit_load(&kit, surface);
    EXPECT_GET(&kit, surface, "205");
    EXPECT_EQ(kit.replica.counters.documents, LENGTH + 1);
    /* Of those, two ask for documents; each run commits. */
    EXPECT(kit.space->session->sent - sent <= LENGTH + 8);
    EXPECT(kit.sched->counters.held < 8);
    kit_end(&kit);
}

/* A change that ends at once fetches what is near, and not all. */
TEST(pers_20_what_a_change_does_not_reach_is_not_fetched)
{
    struct sched_kit kit;
    char surface[24];
    char name[8];
    for (unsigned life = 0; life < 2; life++) {
        struct persist persist;
        if (life == 0) {
            begin(&kit, "a=4");
        } else {
            kit_restart(&kit, false);
            persist_begin(&persist, &kit, 0);
        }
        kit_computation(&kit, "M", "a -> d0", kit_fn_modulo, 2);
        for (unsigned i = 0; i < 1000; i++) {
            (void)snprintf(name, sizeof name, "C%u", i);
            (void)snprintf(surface, sizeof surface, "d%u -> d%u", i, i + 1);
            kit_sum(&kit, name, surface, 1);
        }
        (void)kit_see(&kit, "E", "d1000");
        if (life == 1) {
            (void)persist_end(&persist);
        }
        EXPECT_IDLE(&kit);
    }
    (void)kit_ran(&kit);
    kit_elsewhere(&kit, "set a 6");
    EXPECT_IDLE(&kit);
    EXPECT_TEXT(kit_ran(&kit), "M");
    EXPECT(kit.replica.counters.documents <= FETCHING_AHEAD + 2);
    kit_end(&kit);
}

/* What is beside the payload of a document that is not here stays there when
 * somebody writes the payload. */
TEST(pers_20_a_write_to_what_is_not_here_loses_nothing)
{
    struct sched_kit kit;
    struct persist persist;
    begin(&kit, "a=1");
    kit_sum(&kit, "C", "a -> b", 1);
    (void)kit_see(&kit, "E", "b");
    EXPECT_IDLE(&kit);
    kit_set(&kit, "b!.note", "7");
    EXPECT_IDLE(&kit);
    kit_restart(&kit, false);
    persist_begin(&persist, &kit, 0);
    kit_sum(&kit, "C", "a -> b", 1);
    (void)kit_see(&kit, "E", "b");
    EXPECT_TEXT(persist_end(&persist), "restored 2 dirty 0 unknown 0");
    (void)kit_ran(&kit);
    kit_elsewhere(&kit, "set a 3");
    EXPECT_IDLE(&kit);
    EXPECT_TEXT(kit_ran(&kit), "C E");
    EXPECT_GET(&kit, "b", "4");
    EXPECT_GET(&kit, "b!.note", "7");
    kit_end(&kit);
}

/* Writes below a document of which it has read nothing. */
static enum run_result write_below(struct run *run, struct kit_node *node)
{
    if (kit_number(run, node, 0) == 1) {
        return RUN_DONE;
    }
    struct err_detail detail;
    struct place *place = kit_place(node->kit, "t.x");
    const enum err err =
        transaction_put_adopt(run->transaction, place, value_int(5), &detail);
    place_unref(place);
    return err == ERR_OK ? RUN_DONE : RUN_FAILED;
}

/* Below nothing nothing can be written; that it is only not here is no reason
 * to fail. */
TEST(pers_20_a_write_below_what_is_not_here_waits_for_it)
{
    struct sched_kit kit;
    for (unsigned life = 0; life < 2; life++) {
        struct persist persist;
        if (life == 0) {
            begin(&kit, "a=1 t={'x':1,'y':2}");
        } else {
            kit_restart(&kit, false);
            persist_begin(&persist, &kit, 0);
        }
        (void)kit_effect(&kit, "W", "a", write_below, 0);
        (void)kit_see(&kit, "E", "t.y");
        if (life == 1) {
            EXPECT_TEXT(persist_end(&persist), "restored 2 dirty 0 unknown 0");
        }
        EXPECT_IDLE(&kit);
    }
    (void)kit_ran(&kit);
    kit_elsewhere(&kit, "set a 2");
    EXPECT_IDLE(&kit);
    EXPECT_TEXT(kit_ran(&kit), "W W"); /* the first time it has to wait */
    EXPECT_EQ(kit.sched->counters.failed_runs, 0);
    EXPECT_GET(&kit, "t", "{'x':5,'y':2}");
    kit_end(&kit);
}

/* -- Zero ---------------------------------------------------------------- */

struct crowd_node {
    struct place *from;
    struct place *to; /* or NULL: it only looks */
};

static enum run_result run_crowd(struct run *run, void *ctx)
{
    const struct crowd_node *node = ctx;
    struct value value = VALUE_NONE;
    (void)run_read(run, node->from, READ_DEEP, READ_FOR_BOTH, &value);
    if (node->to == NULL) {
        value_unref(value);
        return RUN_DONE;
    }
    EXPECT_INT(transaction_put_adopt(run->transaction, node->to, value, NULL),
               ERR_OK);
    return RUN_DONE;
}

static void release_crowd(void *ctx)
{
    struct crowd_node *node = ctx;
    place_unref(node->from);
    if (node->to != NULL) {
        place_unref(node->to);
    }
    mem_free(node, sizeof *node);
}

/* Every hundredth computes something, which those behind it look at. */
static void add_crowd(struct sched_kit *kit, size_t count)
{
    char name[24] = "a";
    const struct value piece = value_text_new("p");
    for (size_t i = 0; i < count; i++) {
        const bool computes = i % 100 == 0;
        struct crowd_node *ctx = mem_alloc_zero(sizeof *ctx);
        ctx->from = kit_place(kit, computes ? "a" : name);
        if (computes) {
            (void)snprintf(name, sizeof name, "o%zu", i);
            ctx->to = kit_place(kit, name);
        }
        const struct node_identity identity = {
            .space = kit->space,
            .piece = piece,
            .action = digest_of_bytes("crowd", &i, sizeof i),
        };
        const struct node_spec spec = {
            .kind = computes ? NODE_COMPUTATION : NODE_EFFECT,
            .run = run_crowd,
            .ctx = ctx,
            .release = release_crowd,
            .outputs = &ctx->to,
            .output_count = computes,
            .identity = &identity,
        };
        (void)sched_register(kit->sched, &spec);
    }
    value_unref(piece);
}

static void expect_zero(size_t count)
{
    struct sched_kit kit;
    begin(&kit, "a=1");
    kit.unchecked = true;
    kit_load(&kit, "a");
    add_crowd(&kit, count);
    EXPECT_IDLE(&kit);
    kit_pump(&kit);
    EXPECT_IDLE(&kit);
    kit_restart(&kit, false);
    const uint64_t transactions = kit.replica.epoch;
    const uint64_t decodes = kit_store_of(&kit)->engine.counters.decodes;
    struct persist persist;
    persist_begin(&persist, &kit, 0);
    add_crowd(&kit, count);
    (void)persist_end(&persist);
    EXPECT_EQ(persist.counts.restored, count);
    EXPECT_EQ(persist.counts.dirty + persist.counts.unknown, 0);
    EXPECT_IDLE(&kit);
    EXPECT_EQ(kit.sched->counters.runs, 0);
    EXPECT_EQ(kit.sched->counters.invalidations, 0);
    EXPECT_EQ(kit.replica.epoch, transactions);   /* nothing was read, */
    EXPECT_EQ(kit.replica.counters.documents, 0); /* nothing has come, */
    EXPECT_EQ(kit_store_of(&kit)->engine.counters.decodes, decodes);
    EXPECT_EQ(kit.replica.counters.commits, 0);
    EXPECT(kit.space->unloaded > 0);
    kit_end(&kit);
}

TEST(zero_runs_and_reads_when_10_clean_nodes_are_resumed)
{
    expect_zero(10);
}

TEST(zero_runs_and_reads_when_1000_clean_nodes_are_resumed)
{
    expect_zero(1000);
}

TEST(zero_runs_and_reads_when_100000_clean_nodes_are_resumed)
{
    expect_zero(test_is_slow() ? 10000 : 100000);
}
