/* PERS-12, R15, R17: a space that is read from elsewhere knows by whom. */

#include "host/mirrors.h"

#include <stdio.h>
#include <string.h>

#include "host/world.h"
#include "lib/test.h"
#include "runtime/cell.h"
#include "sched/persistence.h"
#include "store/observations.h"

/* A node of the piece "p" in the space "main". */
struct reader {
    struct place *switch_;
    struct place *other; /* of the space "other"; read if the switch is on */
    struct place *out;
    uint64_t runs;
};

struct scene {
    struct world *world;
    struct world_store *store;
    struct world_runtime *one;
    struct engine *main;
    struct engine *other;
    struct reader reader;
};

static struct place *at(struct scene *scene, size_t space, const char *id)
{
    struct entity *entity;
    struct value name = value_text_new(id);
    EXPECT_EQ(entity_of(scene->one->runtime.spaces.at[space],
                        SCOPE_SPACE,
                        name,
                        &entity,
                        NULL),
              ERR_OK);
    value_unref(name);
    world_load(scene->one, entity);
    return place_payload(entity);
}

static int64_t number(struct run *run, struct place *place)
{
    struct value value;
    (void)run_read(run, place, READ_DEEP, READ_FOR_BOTH, &value);
    const int64_t result =
        value_kind(value) == VALUE_INT ? value_integer(value) : 0;
    value_unref(value);
    return result;
}

static enum run_result read_both(struct run *run, void *ctx)
{
    struct reader *reader = ctx;
    reader->runs++;
    const int64_t on = number(run, reader->switch_);
    const int64_t sum = on + (on > 0 ? number(run, reader->other) : 0);
    EXPECT_EQ(transaction_put_adopt(run->transaction,
                                    reader->out,
                                    value_int(sum),
                                    NULL),
              ERR_OK);
    return RUN_DONE;
}

static enum run_result look(struct run *run, void *ctx)
{
    (void)number(run, ctx);
    return RUN_DONE;
}

static void put(struct scene *scene, struct place *place, int64_t value)
{
    const struct cell_access access = {.runtime = &scene->one->runtime};
    EXPECT_EQ(cell_put_adopt(&access, place, value_int(value), NULL), ERR_OK);
}

static void settle(struct scene *scene)
{
    EXPECT_EQ(world_idle(scene->one, true), WORLD_AT_REST);
}

static void begin(struct scene *scene)
{
    static const char *const spaces[] = {"main", "other"};
    const struct world_runtime_options options = {.spaces = spaces,
                                                  .space_count = 2};
    *scene = (struct scene){.world = world_new(1)};
    EXPECT_EQ(world_store_new(scene->world, NULL, &scene->store, NULL), ERR_OK);
    EXPECT_EQ(world_runtime_new(scene->store, &options, &scene->one, NULL),
              ERR_OK);
    EXPECT_EQ(world_engine(scene->store, "main", &scene->main, NULL), ERR_OK);
    EXPECT_EQ(world_engine(scene->store, "other", &scene->other, NULL), ERR_OK);
    scene->reader = (struct reader){
        .switch_ = at(scene, 0, "of:switch"),
        .other = at(scene, 1, "of:x"),
        .out = at(scene, 0, "of:out"),
    };
    put(scene, scene->reader.switch_, 1);
    put(scene, scene->reader.other, 10);
    settle(scene);
    const struct node_identity identity = {
        .space = scene->one->runtime.spaces.at[0],
        .piece = value_text_new("p"),
        .action = digest_of_bytes("test", "action", 6),
    };
    const struct node_spec spec = {
        .kind = NODE_COMPUTATION,
        .run = read_both,
        .ctx = &scene->reader,
        .outputs = &scene->reader.out,
        .output_count = 1,
        .identity = &identity,
    };
    (void)scheduler_register(scene->one->runtime.sched, &spec);
    const struct node_spec looks = {
        .kind = NODE_EFFECT,
        .run = look,
        .ctx = scene->reader.out,
    };
    (void)scheduler_register(scene->one->runtime.sched, &looks);
    settle(scene);
}

static void end(struct scene *scene)
{
    place_unref(scene->reader.switch_);
    place_unref(scene->reader.other);
    place_unref(scene->reader.out);
    world_free(scene->world);
}

/* -- What the other space knows ------------------------------------------ */

static void add_name(void *ctx, const struct observed_reader *reader)
{
    const struct text space = value_text(&reader->space);
    const struct text piece = value_text(&reader->piece);
    char *text = ctx;
    const size_t length = strlen(text);
    (void)snprintf(text + length,
                   64 - length,
                   "%.*s:%.*s ",
                   (int)space.length,
                   space.at,
                   (int)piece.length,
                   piece.at);
}

static const char *readers(struct scene *scene, const char *id)
{
    static char text[64];
    text[0] = '\0';
    struct engine_address address = {
        .branch = value_text_new(""),
        .id = value_text_new(id),
    };
    const struct identity nobody = {VALUE_NONE, VALUE_NONE};
    EXPECT_EQ(scope_key_new(SCOPE_SPACE, nobody, &address.scope_key, NULL),
              ERR_OK);
    EXPECT_EQ(engine_readers_of(scene->other,
                                &address,
                                scene->reader.other->path,
                                add_name,
                                text,
                                NULL),
              ERR_OK);
    value_unref(address.scope_key);
    value_unref(address.id);
    return text;
}

static const char *to_wake(struct scene *scene)
{
    static char text[64];
    text[0] = '\0';
    EXPECT_EQ(engine_pieces_to_wake(scene->other,
                                    value_text_new(""),
                                    0,
                                    add_name,
                                    text,
                                    NULL),
              ERR_OK);
    return text;
}

static void count_one(void *ctx, const struct mirror *mirror)
{
    (void)mirror;
    ++*(size_t *)ctx;
}

static size_t mirrors_in(struct engine *engine)
{
    size_t count = 0;
    EXPECT_EQ(engine_mirror_list(engine, count_one, &count, NULL), ERR_OK);
    return count;
}

TEST(pers_12_r15_a_space_that_is_read_knows_by_whom)
{
    struct scene scene;
    begin(&scene);
    EXPECT_EQ(scene.reader.runs, 1);
    EXPECT_TEXT(readers(&scene, "of:x"), "main:p ");
    EXPECT_TEXT(readers(&scene, "of:y"), "");
    EXPECT_TEXT(to_wake(&scene), "");
    EXPECT_EQ(mirrors_in(scene.main), 0);
    end(&scene);
}

/* The runtime is gone, and something lands there. */
TEST(r15_a_change_there_wakes_the_piece_here)
{
    struct scene scene;
    begin(&scene);
    put(&scene, scene.reader.other, 11);
    place_unref(scene.reader.switch_);
    place_unref(scene.reader.other);
    place_unref(scene.reader.out);
    (void)world_step(scene.one);
    world_runtime_end(scene.one);
    EXPECT_TEXT(to_wake(&scene), "main:p ");
    world_free(scene.world);
}

TEST(r15_what_is_not_read_any_more_has_no_mirror)
{
    struct scene scene;
    begin(&scene);
    put(&scene, scene.reader.switch_, 0);
    settle(&scene);
    EXPECT_EQ(scene.reader.runs, 2);
    EXPECT_EQ(mirrors_in(scene.other), 0);
    EXPECT_TEXT(readers(&scene, "of:x"), "");
    put(&scene, scene.reader.switch_, 1);
    settle(&scene);
    EXPECT_TEXT(readers(&scene, "of:x"), "main:p ");
    end(&scene);
}

/* -- Alone --------------------------------------------------------------- */

static struct engine *nowhere(void *ctx, struct value space)
{
    struct scene *scene = ctx;
    return value_is_text(space, "main") ? scene->main : NULL;
}

TEST(r17_a_space_that_is_not_open_here_is_not_told)
{
    struct scene scene;
    begin(&scene);
    struct mirrors mirrors = {0};
    struct observation *observation = observation_new();
    const struct mirrors_source source = {nowhere, &scene};
    observation->piece = value_text_new("p");
    observation_add_space(observation,
                          value_text_new("other"),
                          value_text_new(""),
                          1);
    mirrors_note(&mirrors,
                 value_text_new("main"),
                 value_text_new(""),
                 observation);
    EXPECT(mirrors.noted);
    mirrors_flush(&mirrors, &source, NULL);
    EXPECT(!mirrors.noted);
    EXPECT_EQ(mirrors_in(scene.other), 1); /* the world's own */
    observation_unref(observation);
    mirrors_release(&mirrors);
    end(&scene);
}

TEST(who_reads_only_here_is_not_noted)
{
    struct mirrors mirrors = {0};
    struct observation *observation = observation_new();
    observation->piece = value_text_new("p");
    mirrors_note(&mirrors,
                 value_text_new("main"),
                 value_text_new(""),
                 observation);
    EXPECT(!mirrors.noted);
    EXPECT_EQ(mirrors.pieces.count, 0);
    observation_unref(observation);
    mirrors_release(&mirrors);
}
