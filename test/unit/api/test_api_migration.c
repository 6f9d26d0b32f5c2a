/* Patterns that change under a piece, through the public header: states that
 * are computed now, other patterns under a name, and migrations. */

#include "unit/api/fixture.h"

/* One pattern in several versions. */
struct world {
    unsigned version;  /* which one is built */
    bool as_computed;  /* "list" is one */
    hd_status fails;   /* what the last migration returns */
    unsigned calls;    /* of migrations */
    unsigned releases; /* of their contexts */
    hd_cell *title;
    hd_cell *computed;
    bool misbehaves; /* it reads what is computed, and sends */
    hd_status read;
    hd_status sent;
};

static hd_status run_computed(hd_run *run, void *context)
{
    (void)context;
    hd_value *value = value_of("\"computed\"");
    const hd_status status = hd_run_return(run, value);
    hd_value_unref(value);
    return status;
}

static void count_release(void *context)
{
    ((struct world *)context)->releases++;
}

/* From "name" in version 1 to "title" in version 2. */
static hd_status to_second(hd_run *run, void *context)
{
    struct world *world = context;
    world->calls++;
    hd_value *name = NULL;
    hd_error error;
    EXPECT_INT(hd_run_former(run, "nothing", &name, &error), HD_NOT_FOUND);
    EXPECT_INT(hd_run_drop(run, "title", &error), HD_NOT_FOUND);
    hd_status status = hd_run_former(run, "name", &name, &error);
    EXPECT_TEXT(error.text, "");
    if (status == HD_OK) {
        status = hd_cell_set(world->title, name, NULL);
    }
    hd_value_unref(name);
    return status != HD_OK ? status : hd_run_drop(run, "name", NULL);
}

static hd_status to_third(hd_run *run, void *context)
{
    struct world *world = context;
    world->calls++;
    hd_value *title = NULL;
    hd_status status = hd_cell_get(world->title, &title, NULL);
    expect_value(title, "\"old\"");
    hd_value_unref(title);
    if (status == HD_OK) {
        status = hd_cell_set_text(world->title, "new", HD_TERMINATED, NULL);
    }
    if (world->misbehaves) {
        world->read = hd_cell_get(world->computed, &title, NULL);
        world->sent = hd_cell_send(world->title, NULL, NULL, NULL, NULL);
        status = world->read;
    }
    (void)run;
    return status != HD_OK ? status : world->fails;
}

static hd_status build_second(hd_builder *builder, struct world *world)
{
    hd_error error;
    EXPECT_INT(hd_build_state(builder, "title", NULL, &world->title, &error),
               HD_OK);
    EXPECT_INT(
        hd_build_migration(builder, 2, to_second, world, count_release, &error),
        HD_OK);
    if (world->version >= 3) {
        EXPECT_INT(hd_build_migration(builder,
                                      3,
                                      to_third,
                                      world,
                                      count_release,
                                      &error),
                   HD_OK);
    }
    return hd_build_result(builder, "title", world->title, NULL);
}

static hd_status build(hd_builder *builder, void *context)
{
    struct world *world = context;
    hd_value *initial = value_of("\"old\"");
    hd_cell *list = NULL;
    hd_error error;
    const hd_node_options node = {.run = run_computed};
    EXPECT_INT(
        hd_build_computed(builder, "other", &node, &world->computed, &error),
        HD_OK);
    if (world->as_computed) {
        EXPECT_INT(hd_build_computed(builder, "list", &node, &list, &error),
                   HD_OK);
    } else {
        EXPECT_INT(hd_build_state(builder, "list", initial, &list, &error),
                   HD_OK);
    }
    EXPECT_INT(hd_build_result(builder, "list", list, &error), HD_OK);
    hd_cell *name = NULL;
    hd_status status = HD_OK;
    if (world->version >= 2) {
        status = build_second(builder, world);
    } else {
        EXPECT_INT(hd_build_state(builder, "name", initial, &name, &error),
                   HD_OK);
        status = hd_build_result(builder, "name", name, &error);
    }
    hd_value_unref(initial);
    return status;
}

/* A runtime with the piece, or why it has failed. */
static hd_piece *take_up(struct fixture *fixture,
                         const char *folder,
                         unsigned number,
                         struct world *world,
                         const char *why_not)
{
    hd_pattern *pattern = NULL;
    hd_piece *piece = NULL;
    hd_piece_state state = HD_PIECE_LOADING;
    hd_error error;
    fixture_open(fixture, folder, number);
    EXPECT_INT(hd_pattern_new("p", "1", build, world, NULL, &pattern, NULL),
               HD_OK);
    EXPECT_INT(hd_piece_start(fixture->runtime,
                              pattern,
                              "piece",
                              NULL,
                              &piece,
                              &error),
               HD_OK);
    fixture_settle(fixture);
    EXPECT_INT(hd_piece_look(piece, &state, &error), HD_OK);
    EXPECT_INT(state, why_not == NULL ? HD_PIECE_RUNNING : HD_PIECE_FAILED);
    EXPECT_TEXT(error.text, why_not == NULL ? "" : why_not);
    hd_pattern_free(pattern);
    return piece;
}

static void leave(struct fixture *fixture, hd_piece *piece)
{
    hd_piece_free(piece);
    fixture_close(fixture);
}

static void expect_at(hd_piece *piece, const char *path, const char *json)
{
    hd_value *value = NULL;
    EXPECT_INT(hd_piece_get(piece, path, &value, NULL), HD_OK);
    expect_value(value, json);
    hd_value_unref(value);
}

TEST(a_state_that_is_computed_meanwhile_keeps_its_data)
{
    char folder[256];
    kit_folder_new(folder, sizeof folder);
    struct world world = {.version = 1};
    struct fixture fixture;
    hd_cell *list = NULL;
    hd_piece *piece = take_up(&fixture, folder, 1, &world, NULL);
    EXPECT_INT(hd_piece_cell(piece, "/list", &list, NULL), HD_OK);
    set_json(list, "[1,2]");
    hd_cell_free(list);
    fixture_settle(&fixture);
    leave(&fixture, piece);
    world.as_computed = true;
    piece = take_up(&fixture, folder, 2, &world, NULL);
    expect_at(piece, "/list", "\"computed\"");
    leave(&fixture, piece);
    world.as_computed = false;
    piece = take_up(&fixture, folder, 3, &world, NULL);
    expect_at(piece, "/list", "[1,2]");
    /* Removing takes both documents. */
    EXPECT_INT(hd_piece_remove(piece, NULL), HD_OK);
    fixture_settle(&fixture);
    hd_piece_free(piece);
    static const char *const documents[] = {"piece:piece/list",
                                            "piece:piece/list//computed"};
    for (size_t i = 0; i < 2; i++) {
        hd_value *value = NULL;
        EXPECT_INT(hd_cell_new(fixture.runtime, documents[i], "", &list, NULL),
                   HD_OK);
        EXPECT_INT(hd_cell_get(list, &value, NULL), HD_NOT_FOUND);
        hd_cell_free(list);
    }
    fixture_close(&fixture);
    kit_folder_remove(folder);
}

TEST(migrations_run_in_order_and_once)
{
    char folder[256];
    kit_folder_new(folder, sizeof folder);
    struct world world = {.version = 1};
    struct fixture fixture;
    leave(&fixture, take_up(&fixture, folder, 1, &world, NULL));
    world.version = 3;
    world.fails = HD_TYPE;
    leave(&fixture,
          take_up(&fixture,
                  folder,
                  2,
                  &world,
                  "the migration of piece to version 3 failed, and nothing was "
                  "changed: the function returned HD_TYPE: the value has the "
                  "wrong type"));
    EXPECT_EQ(world.calls, 2);
    EXPECT_EQ(world.releases % 2, 0);
    EXPECT(world.releases >= 2);
    world.fails = HD_OK;
    world.calls = 0;
    hd_piece *piece = take_up(&fixture, folder, 3, &world, NULL);
    EXPECT_EQ(world.calls, 2);
    expect_at(piece, "/title", "\"new\"");
    leave(&fixture, piece);
    piece = take_up(&fixture, folder, 4, &world, NULL);
    EXPECT_EQ(world.calls, 2);
    expect_at(piece, "/title", "\"new\"");
    leave(&fixture, piece);
    world.version = 2;
    leave(
        &fixture,
        take_up(&fixture,
                folder,
                5,
                &world,
                "piece has version 3, but this pattern has version 2: use the "
                "newer file that migrated it"));
    kit_folder_remove(folder);
}

TEST(a_migration_sees_data_alone)
{
    char folder[256];
    kit_folder_new(folder, sizeof folder);
    struct world world = {.version = 1};
    struct fixture fixture;
    leave(&fixture, take_up(&fixture, folder, 1, &world, NULL));
    world.version = 3;
    world.misbehaves = true;
    leave(&fixture,
          take_up(&fixture,
                  folder,
                  2,
                  &world,
                  "the migration of piece to version 3 failed, and nothing was "
                  "changed: the function returned HD_MISUSE: not allowed in "
                  "this context"));
    EXPECT_INT(world.read, HD_MISUSE);
    EXPECT_INT(world.sent, HD_MISUSE);
    kit_folder_remove(folder);
}

static hd_status build_wrong(hd_builder *builder, void *context)
{
    hd_error error;
    EXPECT_INT(hd_build_migration(builder,
                                  1,
                                  to_third,
                                  context,
                                  count_release,
                                  &error),
               HD_ARGUMENT);
    EXPECT_INT(
        hd_build_migration(builder, 2, NULL, context, count_release, &error),
        HD_ARGUMENT);
    EXPECT_INT(hd_build_migration(builder,
                                  2,
                                  to_third,
                                  context,
                                  count_release,
                                  &error),
               HD_OK);
    EXPECT_INT(hd_build_migration(builder,
                                  2,
                                  to_third,
                                  context,
                                  count_release,
                                  &error),
               HD_ARGUMENT);
    EXPECT_TEXT(error.text, "a migration to version 2 is already declared");
    return HD_OK;
}

TEST(another_pattern_is_refused_unless_it_replaces)
{
    struct fixture fixture;
    struct world world = {.version = 1};
    hd_pattern *one = NULL;
    hd_pattern *other = NULL;
    hd_piece *piece = NULL;
    hd_piece_state state = HD_PIECE_LOADING;
    hd_error error;
    fixture_open(&fixture, NULL, 1);
    EXPECT_INT(hd_pattern_new("one", "1", build, &world, NULL, &one, NULL),
               HD_OK);
    EXPECT_INT(
        hd_pattern_new("other", "1", build_wrong, &world, NULL, &other, NULL),
        HD_OK);
    EXPECT_INT(hd_piece_start(fixture.runtime, one, "p", NULL, &piece, &error),
               HD_OK);
    fixture_settle(&fixture);
    EXPECT_INT(hd_piece_stop(piece, NULL), HD_OK);
    hd_piece_free(piece);
    EXPECT_INT(
        hd_piece_start(fixture.runtime, other, "p", NULL, &piece, &error),
        HD_OK);
    fixture_settle(&fixture);
    EXPECT_INT(hd_piece_look(piece, &state, &error), HD_OK);
    EXPECT_INT(state, HD_PIECE_FAILED);
    EXPECT_TEXT(error.text,
                "the piece p is of the pattern one, not of other: choose "
                "another name, or replace it (--replace), which hides list, "
                "name");
    EXPECT_INT(hd_piece_stop(piece, NULL), HD_OK);
    hd_piece_free(piece);
    const hd_piece_options options = {.replace = true};
    EXPECT_INT(
        hd_piece_start(fixture.runtime, other, "p", &options, &piece, &error),
        HD_OK);
    fixture_settle(&fixture);
    EXPECT_INT(hd_piece_look(piece, &state, &error), HD_OK);
    hd_piece_free(piece);
    hd_pattern_free(one);
    hd_pattern_free(other);
    fixture_close(&fixture);
    EXPECT_EQ(world.releases, 8);
}
