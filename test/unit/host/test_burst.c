/* One read that makes thousands of nodes run: what is in flight is bounded, and
 * the work ends when the host is interrupted or its time is over. */

#include "host/live.h"

#include <stdio.h>

#include "lib/live_kit.h"
#include "lib/test.h"
#include "replica/session.h"
#include "sched/core.h"

enum {
    NODES = 3 * SCHED_BURST_MAX + 7,
    STOPS_AT = 10,
};

struct scene {
    struct live *live;
    struct sched *sched;
    struct sim_host *sim;
    struct place *input;
    struct place *outputs[NODES];
    struct output_of {
        struct scene *scene;
        unsigned index;
    } nodes[NODES];
    void (*during)(struct scene *scene); /* called by one of the runs */
    unsigned runs;
    unsigned looks;  /* that came to an end */
    size_t inflight; /* the most there were */
    int64_t sum;
};

static enum run_result run_one(struct run *run, void *ctx)
{
    struct output_of *node = ctx;
    struct scene *scene = node->scene;
    struct value value;
    if (run_read(run, scene->input, READ_DEEP, 0, &value) == ERR_STALE) {
        return RUN_AGAIN;
    }
    value_unref(value);
    scene->runs++;
    if (scene->sched->inflight > scene->inflight) {
        scene->inflight = scene->sched->inflight;
    }
    if (scene->runs == STOPS_AT && scene->during != NULL) {
        scene->during(scene);
    }
    EXPECT_EQ(transaction_put_adopt(run->transaction,
                                    scene->outputs[node->index],
                                    value_int(node->index),
                                    NULL),
              ERR_OK);
    return RUN_DONE;
}

/* Reads all of them, each of which runs inside its read. */
static enum run_result run_all(struct run *run, void *ctx)
{
    struct scene *scene = ctx;
    int64_t sum = 0;
    for (unsigned i = 0; i < NODES; i++) {
        struct value value;
        const enum err err =
            run_read(run, scene->outputs[i], READ_DEEP, 0, &value);
        if (err == ERR_STALE) {
            return RUN_AGAIN;
        }
        sum += value_kind(value) == VALUE_INT ? value_integer(value) : 0;
        value_unref(value);
    }
    scene->sum = sum;
    scene->looks++;
    return RUN_DONE;
}

/* Nothing looks yet: nothing has run. */
static void scene_begin(struct scene *scene, struct site *site)
{
    site_begin(site);
    *scene = (struct scene){.live = site_enter(site), .sim = &site->sim};
    scene->sched = live_runtime(scene->live)->sched;
    site_put(scene->live, "input", 1);
    scene->input = site_at(scene->live, "input");
    for (unsigned i = 0; i < NODES; i++) {
        char id[32];
        (void)snprintf(id, sizeof id, "output-%u", i);
        scene->nodes[i] = (struct output_of){scene, i};
        scene->outputs[i] = site_at(scene->live, id);
        const struct node_spec spec = {
            .kind = NODE_COMPUTATION,
            .run = run_one,
            .ctx = &scene->nodes[i],
            .outputs = &scene->outputs[i],
            .output_count = 1,
        };
        (void)sched_register(scene->sched, &spec);
    }
    site_settle(scene->live);
    EXPECT_EQ(scene->runs, 0);
    const struct node_spec spec = {
        .kind = NODE_EFFECT,
        .run = run_all,
        .ctx = scene,
    };
    (void)sched_register(scene->sched, &spec);
}

static void scene_end(struct scene *scene, struct site *site)
{
    place_unref(scene->input);
    for (unsigned i = 0; i < NODES; i++) {
        place_unref(scene->outputs[i]);
    }
    site_leave(scene->live);
    site_end(site);
}

static void expect_all(const struct scene *scene)
{
    EXPECT_EQ(scene->runs, NODES);
    EXPECT_EQ(scene->looks, 1);
    EXPECT_EQ(scene->sum, (int64_t)NODES * (NODES - 1) / 2);
}

TEST(p6_a_read_that_makes_thousands_run_has_a_bounded_number_in_flight)
{
    static struct scene scene;
    struct site site;
    scene_begin(&scene, &site);
    site_settle(scene.live);
    expect_all(&scene);
    EXPECT(scene.inflight <= SCHED_BURST_MAX);
    scene_end(&scene, &site);
}

static void interrupt(struct scene *scene)
{
    live_interrupt(scene->live);
}

TEST(p6_an_interrupt_is_seen_after_the_run_at_hand)
{
    static struct scene scene;
    struct site site;
    scene_begin(&scene, &site);
    scene.during = interrupt;
    EXPECT_EQ(live_settle(scene.live, MONO_NEVER), LIVE_STOPPED);
    EXPECT_EQ(scene.runs, STOPS_AT);
    EXPECT_EQ(scene.looks, 0);
    EXPECT_EQ(live_outstanding(scene.live), 0);
    scene.during = NULL;
    site_settle(scene.live);
    expect_all(&scene);
    scene_end(&scene, &site);
}

static void let_time_pass(struct scene *scene)
{
    scene->sim->now += 1000;
}

TEST(p6_a_deadline_is_seen_after_the_run_at_hand)
{
    static struct scene scene;
    struct site site;
    scene_begin(&scene, &site);
    scene.during = let_time_pass;
    EXPECT_EQ(live_settle(scene.live, live_now(scene.live) + 1000),
              LIVE_NOT_IN_TIME);
    EXPECT_EQ(scene.runs, STOPS_AT);
    EXPECT_EQ(scene.looks, 0);
    site_settle(scene.live);
    expect_all(&scene);
    scene_end(&scene, &site);
}

/* -- Documents that are asked for ---------------------------------------- */

enum {
    DOCUMENTS = 4 * SESSION_WATCH_MAX + 1,
};

/* A clock that is asked whether the time is over, and counts what was asked for
 * since the last time. */
struct questions {
    struct host host;
    struct host *below;
    struct space *space; /* NULL: nobody counts yet */
    size_t wanted;       /* documents, at the last question */
    size_t most;         /* that went out between two of them */
};

static mono_ms count_now(struct host *host)
{
    struct questions *questions = CONTAINER_OF(host, struct questions, host);
    if (questions->space != NULL) {
        const size_t wanted = questions->space->wanted.count;
        const size_t went =
            wanted < questions->wanted ? questions->wanted - wanted : 0;
        questions->most = went > questions->most ? went : questions->most;
        questions->wanted = wanted;
    }
    return questions->below->now(questions->below);
}

static uint64_t draw(struct host *host)
{
    struct questions *questions = CONTAINER_OF(host, struct questions, host);
    return questions->below->random(questions->below);
}

TEST(p6_documents_are_asked_for_in_groups_between_which_an_interrupt_is_seen)
{
    struct site site;
    site_begin(&site);
    struct questions questions = {
        .host = {.now = count_now, .random = draw},
        .below = &site.sim.host,
    };
    struct live_options options = site_options(&site);
    options.host = &questions.host;
    struct live *live = site_enter_with(&options);
    struct space *space = live_runtime(live)->spaces.at[0];
    static struct entity *entities[DOCUMENTS];
    for (unsigned i = 0; i < DOCUMENTS; i++) {
        char id[32];
        (void)snprintf(id, sizeof id, "document-%u", i);
        const struct value name = value_text_new(id);
        EXPECT_EQ(entity_of(space, SCOPE_SPACE, name, &entities[i], NULL),
                  ERR_OK);
        value_unref(name);
        space_want(space, entities[i]);
    }
    questions.wanted = space->wanted.count;
    EXPECT_EQ(questions.wanted, DOCUMENTS);
    questions.space = space;
    EXPECT_EQ(live_settle(live, live_now(live) + 1000), LIVE_AT_REST);
    EXPECT_EQ(space->wanted.count, 0);
    EXPECT(questions.most <= 2 * SESSION_WATCH_MAX); /* a step, and a group */
    for (unsigned i = 0; i < DOCUMENTS; i++) {
        EXPECT(entities[i]->loaded);
    }
    site_leave(live);
    site_end(&site);
}
