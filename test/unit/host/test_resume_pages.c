/* A piece on a world's runtime is taken up by another one, through the hook
 * that the host gives. */

#include "host/resume_pages.h"

#include <string.h>

#include "host/engine_access.h"
#include "host/world.h"
#include "lib/test.h"
#include "runtime/cell.h"

enum {
    NODES = 5,
    GENERATION = 3,
};

/* Five effects, each of which reads "a"; the last one reads "b" of the second
 * space as well. */
struct scene {
    struct world *world;
    struct world_store *store;
    struct world_runtime *one;
    struct value piece;
    struct place *here;  /* "a" */
    struct place *there; /* "b" */
    uint64_t runs;
};

static struct place *payload_of(struct world_runtime *one,
                                size_t space,
                                const char *id)
{
    struct entity *entity;
    struct value name = value_text_new(id);
    EXPECT_EQ(entity_of(one->runtime.spaces.at[space],
                        SCOPE_SPACE,
                        name,
                        &entity,
                        NULL),
              ERR_OK);
    value_unref(name);
    return place_payload(entity);
}

/* A runtime, and what it works with. */
static void enter(struct scene *scene)
{
    static const char *const spaces[] = {"main", "second"};
    const struct world_runtime_options options = {
        .spaces = spaces,
        .space_count = 2,
    };
    EXPECT_EQ(world_runtime_new(scene->store, &options, &scene->one, NULL),
              ERR_OK);
    scene->here = payload_of(scene->one, 0, "a");
    scene->there = payload_of(scene->one, 1, "b");
}

static void leave(struct scene *scene)
{
    place_unref(scene->here);
    place_unref(scene->there);
    world_runtime_end(scene->one);
}

static enum run_result look(struct run *run, void *ctx)
{
    struct scene *scene = ctx;
    struct value value;
    const struct value name = node_name(run->node);
    const bool last = value_text(&name).at[1] == '0' + NODES - 1;
    scene->runs++;
    if (run_read(run, scene->here, READ_DEEP, 0, &value) == ERR_OK) {
        value_unref(value);
    }
    if (last && run_read(run, scene->there, READ_DEEP, 0, &value) == ERR_OK) {
        value_unref(value);
    }
    return RUN_DONE;
}

static void register_all(struct scene *scene, uint64_t generation)
{
    for (int i = 0; i < NODES; i++) {
        const char name[] = {'n', (char)('0' + i), '\0'};
        const struct node_identity identity = {
            .space = scene->one->runtime.spaces.at[0],
            .piece = scene->piece,
            .generation = generation,
            .action = digest_of_bytes("action", name, strlen(name)),
        };
        const struct node_spec spec = {
            .kind = NODE_EFFECT,
            .run = look,
            .ctx = scene,
            .name = value_text_new(name),
            .identity = &identity,
        };
        (void)sched_register(scene->one->runtime.sched, &spec);
        value_unref(spec.name);
    }
}

static void put(struct scene *scene, struct place *place, int64_t number)
{
    const struct cell_access access = {.runtime = &scene->one->runtime};
    world_load(scene->one, place->entity);
    EXPECT_EQ(cell_put_adopt(&access, place, value_int(number), NULL), ERR_OK);
    EXPECT_EQ(world_idle(scene->one, true), WORLD_AT_REST);
}

/* Everything has run, and the runtime is gone. */
static void begin(struct scene *scene)
{
    *scene = (struct scene){
        .world = world_new(1),
        .piece = value_text_new("piece"),
    };
    EXPECT_EQ(world_store_new(scene->world, NULL, &scene->store, NULL), ERR_OK);
    enter(scene);
    put(scene, scene->here, 1);
    put(scene, scene->there, 1);
    register_all(scene, GENERATION);
    EXPECT_EQ(world_idle(scene->one, true), WORLD_AT_REST);
    EXPECT_EQ(scene->runs, NODES);
    leave(scene);
    scene->runs = 0;
}

static void end(struct scene *scene)
{
    leave(scene);
    value_unref(scene->piece);
    world_free(scene->world);
}

static enum err fetch(struct scene *scene, struct resume_set *set)
{
    struct runtime *runtime = &scene->one->runtime;
    return runtime->resume(runtime->resume_ctx,
                           runtime->spaces.at[0],
                           scene->piece,
                           set,
                           NULL);
}

/* Takes the piece up with the set, and lets it come to rest. */
static struct resume_counts take_up(struct scene *scene, struct resume_set *set)
{
    struct runtime *runtime = &scene->one->runtime;
    const struct resume_options options =
        resume_set_options(set,
                           runtime->spaces.at[0],
                           scene->piece,
                           resume_set_generation(set));
    world_load(scene->one, scene->here->entity); /* who runs, runs once */
    world_load(scene->one, scene->there->entity);
    EXPECT_EQ(persistence_resume_begin(runtime->sched, &options, NULL), ERR_OK);
    register_all(scene, resume_set_generation(set));
    const struct resume_counts counts = persistence_resume_end(runtime->sched);
    resume_set_release(set);
    EXPECT_EQ(world_idle(scene->one, true), WORLD_AT_REST);
    return counts;
}

TEST(a_piece_is_taken_up_with_no_run_in_one_page_or_many)
{
    for (uint32_t limit = 0; limit < 4; limit++) {
        struct scene scene;
        struct resume_set set;
        begin(&scene);
        enter(&scene);
        scene.one->page_limit = limit;
        EXPECT_EQ(fetch(&scene, &set), ERR_OK);
        EXPECT_EQ(set.pages.count, limit > 0 ? (NODES - 1) / limit + 1 : 1);
        EXPECT_EQ(resume_set_count(&set), NODES);
        EXPECT_EQ(resume_set_generation(&set), GENERATION);
        EXPECT_EQ(set.asked.count, 1);
        EXPECT_EQ(take_up(&scene, &set).restored, NODES);
        EXPECT_EQ(scene.runs, 0);
        end(&scene);
    }
}

TEST(what_changed_meanwhile_in_the_own_space_wakes_all_of_its_readers)
{
    struct scene scene;
    struct resume_set set;
    begin(&scene);
    enter(&scene);
    put(&scene, scene.here, 2);
    leave(&scene);
    enter(&scene);
    EXPECT_EQ(fetch(&scene, &set), ERR_OK);
    EXPECT_EQ(take_up(&scene, &set).dirty, NODES);
    EXPECT_EQ(scene.runs, NODES);
    end(&scene);
}

TEST(what_changed_meanwhile_in_another_space_is_asked_for_there)
{
    struct scene scene;
    struct resume_set set;
    begin(&scene);
    enter(&scene);
    put(&scene, scene.there, 2);
    leave(&scene);
    enter(&scene);
    EXPECT_EQ(fetch(&scene, &set), ERR_OK);
    const struct resume_counts counts = take_up(&scene, &set);
    EXPECT_EQ(counts.restored, NODES - 1);
    EXPECT_EQ(counts.dirty, 1);
    EXPECT_EQ(scene.runs, 1);
    end(&scene);
}

TEST(a_piece_that_nobody_knows_has_one_empty_page)
{
    struct scene scene;
    struct resume_set set;
    begin(&scene);
    enter(&scene);
    value_unref(scene.piece);
    scene.piece = value_text_new("another");
    EXPECT_EQ(fetch(&scene, &set), ERR_OK);
    EXPECT_EQ(set.pages.count, 1);
    EXPECT_EQ(resume_set_generation(&set), 0);
    EXPECT_EQ(take_up(&scene, &set).unknown, NODES);
    EXPECT_EQ(scene.runs, NODES);
    end(&scene);
}

/* -- A source of its own ------------------------------------------------- */

struct teller {
    struct scene *scene;
    bool alone;     /* only the piece's own space is here */
    unsigned moves; /* after so many pages, somebody commits */
    unsigned calls;
    uint64_t last;
    uint64_t total;
    uint64_t first_total;
    bool stop;
    struct engine_access access[2]; /* of main, and of another one */
};

static struct store_access *store_of(void *ctx, struct value space)
{
    struct teller *teller = ctx;
    struct engine *engine = NULL;
    const struct text name = value_text(&space);
    const bool is_main = strcmp(name.at, "main") == 0;
    if (teller->alone && !is_main) {
        return NULL;
    }
    EXPECT_EQ(world_engine(teller->scene->store, name.at, &engine, NULL),
              ERR_OK);
    struct engine_access *access = &teller->access[is_main ? 0 : 1];
    engine_access_init(access, engine);
    return &access->store;
}

static bool progress(void *ctx, uint64_t actions, uint64_t total)
{
    struct teller *teller = ctx;
    if (teller->calls++ == 0) {
        teller->first_total = total;
    }
    teller->last = actions;
    teller->total = total;
    EXPECT(actions <= total);
    if (teller->calls <= teller->moves) {
        put(teller->scene, teller->scene->here, 100 + teller->calls);
    }
    return !teller->stop;
}

static enum err fetch_from(struct teller *teller,
                           uint32_t limit,
                           struct resume_set *set,
                           struct err_detail *detail)
{
    const struct resume_pages_source source = {
        .store = store_of,
        .ctx = teller,
        .limit = limit,
        .progress = progress,
        .progress_ctx = teller,
    };
    return resume_pages_fetch(&source,
                              teller->scene->one->runtime.spaces.at[0],
                              teller->scene->piece,
                              set,
                              detail);
}

TEST(progress_is_told_a_page_and_can_stop_it)
{
    struct scene scene;
    struct resume_set set;
    struct err_detail detail = {0};
    begin(&scene);
    enter(&scene);
    struct teller teller = {.scene = &scene};
    EXPECT_EQ(fetch_from(&teller, 2, &set, &detail), ERR_OK);
    EXPECT_EQ(teller.calls, 3);
    EXPECT_EQ(teller.last, NODES);
    EXPECT_EQ(teller.total, NODES);
    EXPECT_EQ(teller.first_total, NODES); /* known from the first page on */
    resume_set_release(&set);
    teller.stop = true;
    EXPECT_EQ(fetch_from(&teller, 2, &set, &detail), ERR_GIVEN_UP);
    EXPECT_EQ(set.pages.count, 0);
    end(&scene);
}

TEST(a_listing_that_moves_begins_again)
{
    struct scene scene;
    struct resume_set set;
    struct err_detail detail = {0};
    begin(&scene);
    enter(&scene);
    struct teller teller = {.scene = &scene, .moves = 1};
    EXPECT_EQ(fetch_from(&teller, 1, &set, &detail), ERR_OK);
    EXPECT_EQ(set.pages.count, 1); /* the second time, as large as it can be */
    EXPECT_EQ(resume_set_count(&set), NODES);
    EXPECT_EQ(take_up(&scene, &set).dirty, NODES);
    end(&scene);
}

TEST(a_space_that_is_not_here_leaves_its_readers_unknown)
{
    struct scene scene;
    struct resume_set set;
    struct err_detail detail = {0};
    begin(&scene);
    enter(&scene);
    struct teller teller = {.scene = &scene, .alone = true};
    EXPECT_EQ(fetch_from(&teller, 0, &set, &detail), ERR_OK);
    EXPECT_EQ(set.asked.count, 0);
    const struct resume_counts counts = take_up(&scene, &set);
    EXPECT_EQ(counts.restored, NODES - 1);
    EXPECT_EQ(counts.unknown, 1);
    EXPECT_EQ(scene.runs, 1);
    end(&scene);
}
