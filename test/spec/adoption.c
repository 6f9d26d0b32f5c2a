/* D10: several runtimes with the same piece on one space do the work of one.
 * An edit comes from somewhere else, or from one of them. All of them step, and
 * only then what they have sent is delivered: nobody knows what the others do
 * in the same round. Every run of a computation is counted. The runtimes are
 * behind one hub, or each behind a hub and an engine of its own on one file, as
 * processes are. */

#include <stdio.h>

#include "base/random.h"
#include "host/hub_link.h"
#include "lib/event_kit.h"
#include "lib/persist_kit.h"
#include "lib/test.h"

enum {
    RUNTIMES_MAX = 8,
    COMPUTATIONS = 5,
    ROUNDS_MAX = 1000,
    ROUND_MS = 5,
};

struct crowd {
    struct store_kit stores[RUNTIMES_MAX]; /* on one file, if more than one */
    struct hub hubs[RUNTIMES_MAX];
    size_t hub_count;
    struct hub_link links[RUNTIMES_MAX];
    struct sched_kit kits[RUNTIMES_MAX];
    size_t count;
    struct kit_node *nodes[RUNTIMES_MAX][COMPUTATIONS];
    struct kit_node *looks[RUNTIMES_MAX];
    struct random random;
    uint64_t edits;
};

/* b = a + 1, so whoever sees both sees that. */
static enum run_result see_both(struct run *run, struct kit_node *node)
{
    const int64_t a = kit_number(run, node, 0);
    const int64_t b = kit_number(run, node, 1);
    if (b != a + 1) {
        node->k++;
    }
    return RUN_DONE;
}

static void add_nodes(struct crowd *crowd, size_t i)
{
    struct sched_kit *kit = &crowd->kits[i];
    struct kit_node **nodes = crowd->nodes[i];
    nodes[0] = kit_sum(kit, "B", "a -> b", 1);
    nodes[1] = kit_sum(kit, "D", "b c -> d", 0);
    nodes[2] = kit_sum(kit, "F", "a b -> f", 0);
    nodes[3] = kit_sum(kit, "G", "d f -> g", 0);
    nodes[4] = kit_computation(kit, "M", "g -> m", kit_fn_modulo, 2);
    crowd->looks[i] = kit_effect(kit, "L", "a b", see_both, 0);
    kit_see(kit, "E", "g m");
}

static void edit_elsewhere(struct crowd *crowd, const char *name)
{
    char line[64];
    const unsigned number = (unsigned)++crowd->edits;
    (void)snprintf(line,
                   sizeof line,
                   "somebody %u | set %s %u",
                   number,
                   name,
                   number);
    kit_commit(&crowd->stores[0], line);
    EXPECT_INT(crowd->stores[0].verdicts[0].err, ERR_OK);
}

/* What was sent arrives, everywhere. */
static void deliver(struct crowd *crowd)
{
    for (size_t i = 0; i < crowd->hub_count; i++) {
        hub_poll(&crowd->hubs[i]);
    }
    for (size_t i = 0; i < crowd->count; i++) {
        replica_pump(&crowd->kits[i].replica);
        hub_link_pump_to_hub(&crowd->links[i]);
    }
    for (size_t i = 0; i < crowd->hub_count; i++) {
        hub_poll(&crowd->hubs[i]);
    }
    for (size_t i = 0; i < crowd->count; i++) {
        hub_link_pump_to_session(&crowd->links[i]);
    }
}

/* All step, until none has anything to do. */
static void settle(struct crowd *crowd)
{
    for (unsigned round = 0; round < ROUNDS_MAX; round++) {
        bool idle = true;
        for (size_t i = 0; i < crowd->count; i++) {
            kit_tick(&crowd->kits[i], ROUND_MS);
        }
        deliver(crowd);
        for (size_t i = 0; i < crowd->count; i++) {
            idle = idle && sched_is_settled(crowd->kits[i].sched);
        }
        if (idle) {
            return;
        }
    }
    EXPECT(false);
}

static void want(struct sched_kit *kit, const char *names)
{
    struct kit_place places[KIT_PLACES_MAX];
    const size_t count = kit_places(kit, names, strlen(names), places);
    for (size_t i = 0; i < count; i++) {
        space_want(kit->space, places[i].place->entity);
        place_unref(places[i].place);
    }
}

/* Who comes later takes up what the others have done. */
static void take_up(struct crowd *crowd, size_t i)
{
    struct sched_kit *kit = &crowd->kits[i];
    const struct resume_query query = {
        .branch = value_text_new(""),
        .piece = value_text_new("p"),
    };
    struct resume_page page;
    EXPECT_INT(engine_resume(&crowd->stores[0].engine, &query, &page, NULL),
               ERR_OK);
    const struct resume_page *pages[] = {&page};
    const struct resume_options options = {
        .space = kit->space,
        .piece = query.piece,
        .pages = pages,
        .page_count = 1,
    };
    EXPECT_INT(persistence_resume_begin(kit->sched, &options, NULL), ERR_OK);
    add_nodes(crowd, i);
    (void)persistence_resume_end(kit->sched);
    resume_page_release(&page);
}

static void open_stores(struct crowd *crowd)
{
    for (size_t i = 0; i < crowd->hub_count; i++) {
        if (i > 0) {
            kit_open_beside(&crowd->stores[i], &crowd->stores[0]);
        } else if (crowd->hub_count > 1) {
            kit_open_file(&crowd->stores[0], NULL);
        } else {
            kit_open_memory(&crowd->stores[0], NULL);
        }
        const struct hub_options options = {.immediate = true, .seed = i + 1};
        hub_init(&crowd->hubs[i], &crowd->stores[i].engine, &options, 0);
    }
}

static void crowd_begin(struct crowd *crowd, size_t count, bool apart)
{
    *crowd = (struct crowd){.count = count, .hub_count = apart ? count : 1};
    open_stores(crowd);
    edit_elsewhere(crowd, "a");
    edit_elsewhere(crowd, "c");
    for (size_t i = 0; i < count; i++) {
        char session[32];
        (void)snprintf(session, sizeof session, "runtime %zu", i);
        hub_link_init(&crowd->links[i],
                      &crowd->hubs[i % crowd->hub_count],
                      HUB_LINK_HELD,
                      VALUE_NONE);
        kit_begin_behind(&crowd->kits[i],
                         &crowd->links[i].transport,
                         session,
                         i + 1);
        crowd->kits[i].piece = "p";
        want(&crowd->kits[i], "a c b d f g m");
    }
    for (int i = 0; i < 4; i++) {
        deliver(crowd);
    }
    /* They come one after the other, as people do. */
    for (size_t i = 0; i < count; i++) {
        take_up(crowd, i);
        settle(crowd);
    }
}

static void crowd_end(struct crowd *crowd)
{
    for (size_t i = 0; i < crowd->count; i++) {
        kit_end(&crowd->kits[i]);
        hub_link_release(&crowd->links[i]);
    }
    for (size_t i = crowd->hub_count; i > 0; i--) {
        hub_release(&crowd->hubs[i - 1]);
        kit_close(&crowd->stores[i - 1]);
    }
}

static void edit(struct crowd *crowd, bool elsewhere)
{
    const char *name = random_below(&crowd->random, 2) == 0 ? "a" : "c";
    const size_t author = (size_t)random_below(&crowd->random, crowd->count);
    if (elsewhere) {
        edit_elsewhere(crowd, name);
    } else {
        kit_set_number(&crowd->kits[author], name, (int64_t)++crowd->edits);
    }
}

static uint64_t runs_of(const struct crowd *crowd)
{
    uint64_t runs = 0;
    for (size_t i = 0; i < crowd->count; i++) {
        for (size_t j = 0; j < COMPUTATIONS; j++) {
            runs += crowd->nodes[i][j]->runs;
        }
    }
    return runs;
}

/* What all of them have, and the store. */
static void expect_equal(struct crowd *crowd)
{
    static const char *const names[] = {"a", "b", "c", "d", "f", "g", "m"};
    for (size_t j = 0; j < COUNT_OF(names); j++) {
        for (size_t i = 1; i < crowd->count; i++) {
            EXPECT_TEXT(kit_get(&crowd->kits[i], names[j]),
                        kit_get(&crowd->kits[0], names[j]));
        }
    }
    for (size_t i = 0; i < crowd->count; i++) {
        EXPECT_EQ(crowd->looks[i]->k, 0); /* nobody saw half of an edit */
    }
}

/* The runs of that many edits. */
static uint64_t runs_with(size_t count,
                          bool elsewhere,
                          bool apart,
                          const char **g)
{
    enum {
        EDITS = 40
    };
    static struct crowd crowd;
    static char text[RUNTIMES_MAX + 1][16];
    crowd_begin(&crowd, count, apart);
    settle(&crowd);
    /* The edits are the same, whatever else is drawn. */
    for (unsigned i = 0; i < EDITS; i++) {
        random_init(&crowd.random, 100 + i);
        edit(&crowd, elsewhere);
        settle(&crowd);
    }
    expect_equal(&crowd);
    const uint64_t runs = runs_of(&crowd);
    (void)snprintf(text[count],
                   sizeof text[count],
                   "%s",
                   kit_get(&crowd.kits[0], "g"));
    *g = text[count];
    crowd_end(&crowd);
    return runs;
}

static void expect_work_of_one(size_t count, bool elsewhere, bool apart)
{
    const char *alone = NULL;
    const char *together = NULL;
    const uint64_t one = runs_with(1, elsewhere, false, &alone);
    const uint64_t all = runs_with(count, elsewhere, apart, &together);
    EXPECT_TEXT(together, alone);
    EXPECT(one > 100);
    if (all * 10 > one * 11) {
        (void)test_fail(__FILE__,
                        __LINE__,
                        "%llu runs, and %llu of one",
                        (unsigned long long)all,
                        (unsigned long long)one);
    }
}

TEST(d10_2_runtimes_run_what_one_runs_when_others_edit)
{
    expect_work_of_one(2, true, false);
}

TEST(d10_4_runtimes_run_what_one_runs_when_others_edit)
{
    expect_work_of_one(4, true, false);
}

TEST(d10_8_runtimes_run_what_one_runs_when_others_edit)
{
    expect_work_of_one(8, true, false);
}

TEST(d10_2_runtimes_run_what_one_runs_when_they_edit)
{
    expect_work_of_one(2, false, false);
}

TEST(d10_4_runtimes_run_what_one_runs_when_they_edit)
{
    expect_work_of_one(4, false, false);
}

TEST(d10_8_runtimes_run_what_one_runs_when_they_edit)
{
    expect_work_of_one(8, false, false);
}

TEST(d10_2_processes_run_what_one_runs_when_others_edit)
{
    expect_work_of_one(2, true, true);
}

TEST(d10_4_processes_run_what_one_runs_when_others_edit)
{
    expect_work_of_one(4, true, true);
}

TEST(d10_8_processes_run_what_one_runs_when_others_edit)
{
    expect_work_of_one(8, true, true);
}

TEST(d10_2_processes_run_what_one_runs_when_they_edit)
{
    expect_work_of_one(2, false, true);
}

TEST(d10_4_processes_run_what_one_runs_when_they_edit)
{
    expect_work_of_one(4, false, true);
}

TEST(d10_8_processes_run_what_one_runs_when_they_edit)
{
    expect_work_of_one(8, false, true);
}

/* -- Events -------------------------------------------------------------- */

static void want_all(struct sched_kit *kit)
{
    want(kit, "s co r");
    replica_pump(&kit->replica);
}

/* What it reads waits for a peer, and is run for it. */
TEST(p9_an_event_does_not_wait_for_a_peer)
{
    struct scene one;
    struct scene other;
    scene_begin(&one, AT_STORE);
    scene_begin_beside(&other, &one, "other", AT_STORE);
    struct sched_kit *kits[2] = {&one.kit, &other.kit};
    struct kit_node *nodes[2];
    kit_set_all(&one.kit, "s=10 r=0");
    for (int i = 0; i < 2; i++) {
        kits[i]->piece = "p";
        want_all(kits[i]);
        nodes[i] = kit_computation(kits[i], "C", "s -> co", kit_fn_times, 2);
        kit_see(kits[i], "E", "co");
    }
    scene_on(&other, "H", "in", "co -> r", handle_sum, 0);
    EXPECT_IDLE(&one.kit);
    EXPECT_IDLE(&other.kit);
    EXPECT_EQ(nodes[1]->runs, 0);
    kit_set(&one.kit, "s", "20");
    kit_step(&other.kit);
    EXPECT_EQ(other.kit.sched->counters.waits, 1);
    EXPECT_EQ(nodes[1]->runs, 0);
    scene_send(&other, "in", "5");
    kit_step(&other.kit); /* at the same moment */
    EXPECT_EQ(nodes[1]->runs, 1);
    EXPECT_GET(&other.kit, "r", "45");
    EXPECT_IDLE(&one.kit);
    EXPECT_IDLE(&other.kit);
    scene_end(&other);
    scene_end(&one);
}
