/* src/replica/overlay: layers over what is confirmed (entity-2, entity-3,
 * overlay-1; scenarios P27, P28 and P30). */

#include "lib/replica_kit.h"
#include "lib/test.h"
#include "lib/values.h"

static void end(struct fixture *fixture)
{
    EXPECT_STAGE(fixture);
    fixture_close(fixture);
}

static void begin(struct fixture *fixture, const char *sync)
{
    fixture_open(fixture, "s1");
    EXPECT_COMMIT(fixture, "read A | read B | read C");
    fixture_say(fixture, sync);
    (void)fixture_heard(fixture);
}

/* -- Layers -------------------------------------------------------------- */

TEST(n2_without_layers_there_is_no_overlay)
{
    struct fixture fixture;
    begin(&fixture, "sync 0-1 pull A@1=1 B@1=1 C@1=1");
    EXPECT(fixture_entity(&fixture, "A")->overlay == NULL);
    EXPECT_COMMIT(&fixture, "put A 2");
    EXPECT(fixture_entity(&fixture, "A")->overlay != NULL);
    EXPECT(fixture_entity(&fixture, "B")->overlay == NULL);
    fixture_say(&fixture, "verdict 1 @2");
    fixture_say(&fixture, "sync 1-2 mark=1");
    EXPECT(fixture_entity(&fixture, "A")->overlay == NULL);
    EXPECT_COMMIT(&fixture, "put A 3");
    fixture_say(&fixture, "verdict 2 RECEIPT_EXISTS");
    EXPECT(fixture_entity(&fixture, "A")->overlay == NULL);
    end(&fixture);
}

TEST(o1_layers_are_in_local_order_and_one_a_commit)
{
    struct fixture fixture;
    begin(&fixture, "sync 0-1 pull A@1={'x':1} B@1=1 C@1=1");
    EXPECT_COMMIT(&fixture, "put A.x 2 | put A.y 3 | put A.x 4");
    EXPECT_COMMIT(&fixture, "put A.x 5");
    const struct overlay *overlay = fixture_entity(&fixture, "A")->overlay;
    EXPECT_EQ(overlay->layers.count, 2);
    EXPECT_EQ(overlay->layers.at[0].local_seq, 1);
    EXPECT_EQ(overlay->layers.at[1].local_seq, 2);
    end(&fixture);
}

/* The checks of the other tests can fail. */
TEST(n3_and_o1_are_checked)
{
    struct fixture fixture;
    begin(&fixture, "sync 0-1 pull A@1=1 B@1=1 C@1=1");
    EXPECT_COMMIT(&fixture, "put A 2");
    EXPECT_COMMIT(&fixture, "inc A 2");
    struct entity *entity = fixture_entity(&fixture, "A");
    struct overlay *overlay = entity->overlay;
    EXPECT(overlay_check(entity));
    entity->visible.payload = value_int(7);
    EXPECT(!overlay_check(entity));
    entity->visible.payload = value_int(4);
    EXPECT(overlay_check(entity));
    overlay->layers.at[1].local_seq = 1;
    EXPECT(!overlay_check(entity));
    overlay->layers.at[1].local_seq = 2;
    const size_t count = overlay->layers.count;
    overlay->layers.count = 0;
    EXPECT(!overlay_check(entity));
    overlay->layers.count = count;
    end(&fixture);
}

TEST(p27_a_layer_that_does_not_apply_is_skipped)
{
    static const struct {
        const char *write;
        const char *base;
        const char *want;
    } rows[] = {
        {"put A.x 2", "A@2=null", "null"},
        {"put A.x 2", "A@2=5", "5"},
        {"put A.x 2", "A@2=[1]", "[1]"},
        {"put A.x 2", "A@2=()", "()"},
        {"put A.o.p 2", "A@2={'x':9}", "{'x':9}"},
        {"put A.l.1 7", "A@2={'l':[1]}", "{'l':[1]}"},
        {"append A.l [7]", "A@2={'l':5}", "{'l':5}"},
        {"inc A.x 1", "A@2={'x':'s'}", "{'x':'s'}"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct fixture fixture;
        begin(&fixture,
              "sync 0-1 pull A@1={'x':1,'l':[1,2],'o':{'p':1}} B@1=1 C@1=1");
        EXPECT_COMMIT(&fixture, rows[i].write);
        struct buf line = {0};
        buf_printf(&line, "sync 1-2 %s", rows[i].base);
        fixture_say(&fixture, buf_text(&line));
        buf_release(&line);
        if (!EXPECT_TEXT(fixture_see(&fixture, "A"), rows[i].want)) {
            (void)test_fail(__FILE__, __LINE__, "%s", rows[i].write);
        }
        EXPECT(fixture.replica.counters.layers_skipped > 0);
        /* It may well apply again. */
        fixture_say(&fixture, "sync 2-3 A@3={'x':1,'l':[1,2],'o':{'p':1}}");
        EXPECT(fixture_entity(&fixture, "A")->overlay != NULL);
        EXPECT_CONTAINS(fixture_heard(&fixture), "integrate A");
        end(&fixture);
    }
}

TEST(p27_what_a_dropped_layer_wrote_does_not_come_back)
{
    struct fixture fixture;
    begin(&fixture, "sync 0-1 pull A@1=1 B@1=1 C@1=1");
    EXPECT_COMMIT(&fixture, "put A {'x':1}");
    EXPECT_COMMIT(&fixture, "put A.y 2");
    EXPECT_TEXT(fixture_see(&fixture, "A"), "{'x':1,'y':2}");
    fixture_say(&fixture, "verdict 1 RECEIPT_EXISTS");
    EXPECT_TEXT(fixture_see(&fixture, "A"), "1");
    end(&fixture);
}

TEST(p28_every_kind_of_change_shows_through)
{
    struct fixture fixture;
    begin(&fixture, "sync 0-1 pull A@1={'l':[1,2,3]} B@1=1 C@1=1");
    EXPECT_COMMIT(&fixture, "put A.l.3 4");
    EXPECT_COMMIT(&fixture, "delete A.l.0");
    EXPECT_COMMIT(&fixture, "append A.l [9]");
    EXPECT_COMMIT(&fixture, "put A.s {'/':{'number@1':'NaN'}}");
    EXPECT_COMMIT(&fixture, "put A.r {'/':{'link@1':{'id':'B'}}}");
    EXPECT_TEXT(fixture_see(&fixture, "A"),
                "{'l':[2,3,4,9],'r':{'/':{'link@1':{'id':'B'}}},"
                "'s':{'/':{'number@1':'NaN'}}}");
    fixture_say(&fixture, "sync 1-2 A@2={'l':[0,1,2,3],'n':1}");
    /* The splice at 3 claims to have read an array of three elements, so it
     * will be refused; until then it shows where it was made. */
    EXPECT_TEXT(fixture_see(&fixture, "A"),
                "{'l':[1,2,4,3,9],'n':1,'r':{'/':{'link@1':{'id':'B'}}},"
                "'s':{'/':{'number@1':'NaN'}}}");
    end(&fixture);
}

TEST(p28_reading_again_folds_nothing)
{
    struct fixture fixture;
    begin(&fixture, "sync 0-1 pull A@1={'x':1,'big':[1,2]} B@1=1 C@1=1");
    EXPECT_COMMIT(&fixture, "put A.x 2");
    const uint64_t folds = fixture.replica.counters.folds;
    for (int i = 0; i < 10; i++) {
        EXPECT_COMMIT(&fixture, "read A | read A.x | read A!");
    }
    EXPECT_EQ(fixture.replica.counters.folds, folds);
    struct place *big = fixture_place(&fixture, "A.big");
    struct value before;
    struct value after;
    EXPECT(entity_state_at(&big->entity->visible, big->path, &before) ==
           ERR_OK);
    EXPECT_COMMIT(&fixture, "put A.x 3");
    fixture_say(&fixture, "verdict 1 @2");
    fixture_say(&fixture, "sync 1-2 mark=1");
    EXPECT(entity_state_at(&big->entity->visible, big->path, &after) == ERR_OK);
    EXPECT(value_is_same(before, after));
    value_unref(before);
    value_unref(after);
    place_unref(big);
    end(&fixture);
}

/* -- P30: random stacks against a model ---------------------------------- */

enum {
    DOCUMENTS = 3,
    COMMITS_MAX = 40,
};

struct fields {
    int64_t x;
    int64_t y;
};

enum edit {
    SET_BOTH,
    SET_X,
    ADD_Y,
};

struct model_commit {
    int document;
    enum edit edit;
    int64_t number;
    uint64_t reads; /* a bit for each layer that it read from */
    enum {
        ABSENT,
        UNDECIDED,
        LANDED,
        REFUSED, /* waits for the marker */
        DOOMED,  /* waits for those that it read from */
    } state;
};

/* The store and what this replica makes of it. Commits count from 1. */
struct world {
    struct fixture fixture;
    struct random *random;
    struct fields store[DOCUMENTS];
    uint64_t store_seq[DOCUMENTS];
    bool foreign[DOCUMENTS]; /* changed by others since the last frame */
    struct fields confirmed[DOCUMENTS];
    struct model_commit commits[COMMITS_MAX + 1];
    uint64_t seq;
    uint64_t told;
    uint64_t made;
    uint64_t decided;
    uint64_t unsure; /* up to here they were sent on a lost connection */
};

static void apply_change(struct fields *to, const struct model_commit *commit)
{
    if (commit->edit == ADD_Y) {
        to->y += commit->number;
        return;
    }
    to->x = commit->number;
    to->y = commit->edit == SET_BOTH ? commit->number : to->y;
}

/* Dead ones go, one after the other, when nothing dead that they read from is
 * left. */
static void topple(struct world *world)
{
    for (uint64_t i = 1; i <= world->made; i++) {
        struct model_commit *commit = &world->commits[i];
        bool waits = false;
        for (uint64_t j = 1; j < i; j++) {
            const bool dead = world->commits[j].state == REFUSED ||
                              world->commits[j].state == DOOMED;
            const bool named = (commit->reads >> j & 1) != 0;
            if (dead && named && commit->state == UNDECIDED) {
                commit->state = DOOMED;
            }
            waits = waits || (dead && named);
        }
        if (commit->state == DOOMED && !waits) {
            commit->state = ABSENT;
        }
    }
}

static void expect_visible(struct world *world)
{
    for (int d = 0; d < DOCUMENTS; d++) {
        struct fields fields = world->confirmed[d];
        for (uint64_t i = 1; i <= world->made; i++) {
            if (world->commits[i].document == d &&
                world->commits[i].state != ABSENT) {
                apply_change(&fields, &world->commits[i]);
            }
        }
        const char name[2] = {(char)('A' + d), '\0'};
        struct buf want = {0};
        buf_printf(&want,
                   "{'x':%" PRId64 ",'y':%" PRId64 "}",
                   fields.x,
                   fields.y);
        EXPECT_TEXT(fixture_see(&world->fixture, name), buf_text(&want));
        buf_release(&want);
    }
}

static void commit_something(struct world *world)
{
    if (world->made == COMMITS_MAX) {
        return;
    }
    struct random *random = world->random;
    struct model_commit *commit = &world->commits[++world->made];
    *commit = (struct model_commit){
        .document = (int)random_below(random, DOCUMENTS),
        .edit = (enum edit)random_below(random, 3),
        .number = (int64_t)(100 * world->made + random_below(random, 5)) + 1,
        .state = UNDECIDED,
    };
    struct buf line = {0};
    for (int d = 0; d < DOCUMENTS; d++) {
        if (random_one_in(random, 3)) {
            buf_printf(&line, "read %c.x | ", 'A' + d);
            for (uint64_t i = 1; i < world->made; i++) {
                if (world->commits[i].document == d &&
                    world->commits[i].state != ABSENT) {
                    commit->reads |= UINT64_C(1) << i;
                }
            }
        }
    }
    const int name = 'A' + commit->document;
    const int64_t number = commit->number;
    if (commit->edit == SET_BOTH) {
        buf_printf(&line, "put %c {'x':%" PRId64, name, number);
        buf_printf(&line, ",'y':%" PRId64 "}", number);
    } else if (commit->edit == SET_X) {
        buf_printf(&line, "put %c.x %" PRId64, name, number);
    } else {
        buf_printf(&line, "inc %c.y %" PRId64, name, number);
    }
    EXPECT_COMMIT(&world->fixture, buf_text(&line));
    EXPECT_EQ(world->fixture.local_seq, world->made);
    buf_release(&line);
    topple(world);
}

/* The store answers the next one, unless it was doomed and never sent. */
static void decide(struct world *world)
{
    if (world->decided == world->made ||
        world->fixture.script.session == NULL) {
        return;
    }
    const uint64_t number = ++world->decided;
    struct model_commit *commit = &world->commits[number];
    if (commit->state != UNDECIDED) {
        return;
    }
    struct buf line = {0};
    const uint64_t dice = random_below(world->random, 4);
    if (dice < 2) {
        apply_change(&world->store[commit->document], commit);
        world->store_seq[commit->document] = ++world->seq;
        commit->state = LANDED;
        buf_printf(&line, "verdict %" PRIu64 " @%" PRIu64, number, world->seq);
    } else if (dice == 2) {
        commit->state = REFUSED;
        buf_printf(&line, "verdict %" PRIu64 " CONFLICT A", number);
    } else {
        commit->state = REFUSED;
        topple(world);
        commit->state = ABSENT;
        buf_printf(&line, "verdict %" PRIu64 " RECEIPT_EXISTS", number);
    }
    fixture_say(&world->fixture, buf_text(&line));
    buf_release(&line);
    topple(world);
}

static void change_elsewhere(struct world *world)
{
    const uint64_t d = random_below(world->random, DOCUMENTS);
    world->store[d].x = -(int64_t)++world->seq;
    world->store_seq[d] = world->seq;
    world->foreign[d] = true;
}

/* What others changed, and perhaps what only we did. */
static void send_frame(struct world *world)
{
    if (world->fixture.script.session == NULL ||
        world->decided < world->unsure) {
        return; /* it would be held back (session-4) */
    }
    struct buf line = {0};
    buf_printf(&line,
               "sync %" PRIu64 "-%" PRIu64 " mark=%" PRIu64,
               world->told,
               world->seq,
               world->decided);
    for (int d = 0; d < DOCUMENTS; d++) {
        if (world->foreign[d] || random_one_in(world->random, 3)) {
            buf_printf(&line,
                       " %c@%" PRIu64 "={'x':%" PRId64 ",'y':%" PRId64 "}",
                       'A' + d,
                       world->store_seq[d],
                       world->store[d].x,
                       world->store[d].y);
        }
        world->foreign[d] = false;
        world->confirmed[d] = world->store[d];
    }
    world->told = world->seq;
    for (uint64_t i = 1; i <= world->decided; i++) {
        struct model_commit *commit = &world->commits[i];
        if (commit->state == LANDED) {
            commit->state = ABSENT;
        }
    }
    for (uint64_t i = 1; i <= world->decided; i++) {
        if (world->commits[i].state == REFUSED) {
            world->commits[i].state = ABSENT;
        }
    }
    topple(world);
    fixture_say(&world->fixture, buf_text(&line));
    buf_release(&line);
}

/* What was answered stays answered; the rest is sent again. */
static void reconnect(struct world *world)
{
    if (world->fixture.script.session != NULL) {
        fixture_lose(&world->fixture);
        world->unsure = world->made;
    } else {
        fixture_wake(&world->fixture);
    }
}

PROPERTY(p30_random_stacks_look_like_their_model_after_every_step, 300)
{
    struct world *world = mem_alloc_zero(sizeof *world);
    world->random = random;
    world->seq = world->told = 1;
    begin(&world->fixture,
          "sync 0-1 pull A@1={'x':0,'y':0} B@1={'x':0,'y':0} "
          "C@1={'x':0,'y':0}");
    for (int d = 0; d < DOCUMENTS; d++) {
        world->store_seq[d] = 1;
    }
    for (int step = 0; step < 120; step++) {
        const uint64_t dice = random_below(random, 20);
        if (dice < 8) {
            commit_something(world);
        } else if (dice < 14) {
            decide(world);
        } else if (dice < 16) {
            change_elsewhere(world);
        } else if (dice < 18) {
            send_frame(world);
        } else {
            reconnect(world);
        }
        expect_visible(world);
        EXPECT_STAGE(&world->fixture);
    }
    end(&world->fixture);
    mem_free(world, sizeof *world);
}
