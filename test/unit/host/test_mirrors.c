/* PERS-12, R15, R17, R18: a space that is read from elsewhere knows by whom. */

#include "host/mirrors.h"

#include <stdio.h>
#include <string.h>

#include "host/engine_access.h"
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
    struct engine_access access[2]; /* of main, and of the other one */
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
    (void)sched_register(scene->one->runtime.sched, &spec);
    const struct node_spec looks = {
        .kind = NODE_EFFECT,
        .run = look,
        .ctx = scene->reader.out,
    };
    (void)sched_register(scene->one->runtime.sched, &looks);
    settle(scene);
}

static void forget(struct scene *scene)
{
    place_unref(scene->reader.switch_);
    place_unref(scene->reader.other);
    place_unref(scene->reader.out);
}

static void end(struct scene *scene)
{
    forget(scene);
    world_free(scene->world);
}

/* -- What the other space knows ------------------------------------------ */

static void add_name(void *ctx, const struct observed_reader *reader)
{
    const struct text space = value_is_absent(reader->space)
                                  ? (struct text){"here", 4}
                                  : value_text(&reader->space);
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
    forget(&scene);
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

/* -- Three spaces -------------------------------------------------------- */

/* A copy from one place to another. */
struct copier {
    struct place *from;
    struct place *to;
};

static enum run_result copy_number(struct run *run, void *ctx)
{
    const struct copier *copier = ctx;
    EXPECT_EQ(transaction_put_adopt(run->transaction,
                                    copier->to,
                                    value_int(number(run, copier->from)),
                                    NULL),
              ERR_OK);
    return RUN_DONE;
}

static void add_copier(struct scene *scene,
                       struct copier *copier,
                       const char *piece)
{
    struct sched *sched = scene->one->runtime.sched;
    const struct node_identity identity = {
        .space = copier->to->entity->space,
        .piece = value_text_new(piece),
        .action = digest_of_bytes("test", "copies", 6),
    };
    const struct node_spec spec = {
        .kind = NODE_COMPUTATION,
        .run = copy_number,
        .ctx = copier,
        .outputs = &copier->to,
        .output_count = 1,
        .identity = &identity,
    };
    (void)sched_register(sched, &spec);
    const struct node_spec looks = {
        .kind = NODE_EFFECT,
        .run = look,
        .ctx = copier->to,
    };
    (void)sched_register(sched, &looks);
}

/* other:x -> main:out (piece p) -> main:more (q) and third:end (r). */
static void begin_three(struct scene *scene, struct copier *copiers)
{
    static const char *const spaces[] = {"main", "other", "third"};
    const struct world_runtime_options options = {.spaces = spaces,
                                                  .space_count = 3};
    *scene = (struct scene){.world = world_new(1)};
    EXPECT_EQ(world_store_new(scene->world, NULL, &scene->store, NULL), ERR_OK);
    EXPECT_EQ(world_runtime_new(scene->store, &options, &scene->one, NULL),
              ERR_OK);
    EXPECT_EQ(world_engine(scene->store, "main", &scene->main, NULL), ERR_OK);
    EXPECT_EQ(world_engine(scene->store, "other", &scene->other, NULL), ERR_OK);
    copiers[0] = (struct copier){at(scene, 1, "of:x"), at(scene, 0, "of:out")};
    copiers[1] =
        (struct copier){at(scene, 0, "of:out"), at(scene, 0, "of:more")};
    copiers[2] =
        (struct copier){at(scene, 0, "of:out"), at(scene, 2, "of:end")};
    put(scene, copiers[0].from, 10);
    settle(scene);
    add_copier(scene, &copiers[0], "p");
    settle(scene);
    add_copier(scene, &copiers[1], "q");
    add_copier(scene, &copiers[2], "r");
    settle(scene);
    for (size_t i = 0; i < 3; i++) {
        place_unref(copiers[i].from);
        place_unref(copiers[i].to);
    }
    world_runtime_end(scene->one);
}

/* Somebody without any of the pieces writes a number. */
static void write_number(struct scene *scene, const char *space, const char *id)
{
    const struct world_runtime_options options = {.spaces = &space,
                                                  .space_count = 1};
    EXPECT_EQ(world_runtime_new(scene->store, &options, &scene->one, NULL),
              ERR_OK);
    struct place *place = at(scene, 0, id);
    put(scene, place, 11);
    settle(scene);
    place_unref(place);
    world_runtime_end(scene->one);
}

static const char *to_wake_in(struct engine *engine)
{
    static char text[64];
    text[0] = '\0';
    EXPECT_EQ(engine_pieces_to_wake(engine,
                                    value_text_new(""),
                                    0,
                                    add_name,
                                    text,
                                    NULL),
              ERR_OK);
    return text;
}

/* What is written in one space wakes who reads it there, and nobody behind
 * him: what he writes because of it does, when he has. */
TEST(r18_a_change_elsewhere_is_not_followed_into_further_spaces)
{
    struct scene scene;
    struct copier copiers[3];
    struct engine *third;
    begin_three(&scene, copiers);
    EXPECT_EQ(world_engine(scene.store, "third", &third, NULL), ERR_OK);
    EXPECT_EQ(mirrors_in(scene.main), 1); /* third:r */
    EXPECT_EQ(mirrors_in(scene.other), 1);
    EXPECT_TEXT(to_wake_in(scene.main), "");
    write_number(&scene, "other", "of:x");
    EXPECT_TEXT(to_wake_in(scene.other), "main:p ");
    EXPECT_TEXT(to_wake_in(scene.main), "");
    EXPECT_TEXT(to_wake_in(third), "");
    write_number(&scene, "main", "of:out"); /* what p would have written */
    EXPECT_TEXT(to_wake_in(scene.main), "here:q third:r ");
    EXPECT_TEXT(to_wake_in(third), "");
    world_free(scene.world);
}

/* -- Alone --------------------------------------------------------------- */

static struct store_access *store_of_scene(void *ctx, struct value space)
{
    struct scene *scene = ctx;
    const bool is_main = value_is_text(space, "main");
    struct engine_access *access = &scene->access[is_main ? 0 : 1];
    engine_access_init(access, is_main ? scene->main : scene->other);
    return &access->store;
}

static struct store_access *nowhere(void *ctx, struct value space)
{
    return value_is_text(space, "main") ? store_of_scene(ctx, space) : NULL;
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

/* mirrors-5, in a process that has told nobody of it before. */
TEST(a_piece_that_was_removed_is_forgotten_here_and_there)
{
    struct scene scene;
    begin(&scene);
    EXPECT_EQ(mirrors_in(scene.other), 1);
    struct mirrors mirrors = {0};
    const struct value main = value_text_new("main");
    const struct value branch = value_text_new("");
    const struct value piece = value_text_new("p");
    mirrors_note_removed(&mirrors, main, branch, piece);
    EXPECT(mirrors.noted);
    const struct mirrors_source source = {store_of_scene, &scene};
    mirrors_flush(&mirrors, &source, NULL);
    EXPECT_EQ(mirrors.pieces.count, 0);
    EXPECT_EQ(mirrors_in(scene.other), 0);
    struct collect_counts counts;
    EXPECT_EQ(engine_collect(scene.main, NULL, NULL, &counts, NULL), ERR_OK);
    EXPECT_EQ(counts.actions, 1);
    EXPECT_EQ(counts.pieces, 1);
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
