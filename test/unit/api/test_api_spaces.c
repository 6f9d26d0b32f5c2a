/* Children in other spaces, through the public header. */

#include "base/mem.h"
#include "unit/api/fixture.h"

/* One pattern counts, the other one has such a child, and launches more. */
struct world {
    hd_pattern *counter;
    hd_pattern *parent;
    const char *space;
    const char *launched; /* the name; or NULL */
    unsigned bumps;
    hd_error refused; /* of the last build or launch */
};

struct part {
    struct world *world;
    hd_cell *cell;
    hd_cell *child;
};

static void part_free(void *context)
{
    mem_free(context, sizeof(struct part));
}

static struct part *part_new(struct world *world, hd_cell *cell, hd_cell *child)
{
    struct part *part = mem_alloc(sizeof *part);
    *part = (struct part){world, cell, child};
    return part;
}

static hd_status run_bump(hd_run *run, void *context)
{
    const struct part *part = context;
    (void)run;
    part->world->bumps++;
    return hd_cell_increment(part->cell, 1, NULL);
}

static hd_status run_kick(hd_run *run, void *context)
{
    const struct part *part = context;
    hd_cell *stream = NULL;
    (void)run;
    hd_status status = hd_cell_child(part->child, "/bump", &stream, NULL);
    if (status == HD_OK) {
        status = hd_cell_send(stream, NULL, NULL, NULL, NULL);
    }
    hd_cell_free(stream);
    return status;
}

static hd_status run_launch(hd_run *run, void *context)
{
    const struct part *part = context;
    struct world *world = part->world;
    const hd_launch_options options = {
        .name = world->launched,
        .space = world->space,
    };
    hd_value *link = NULL;
    hd_status status = hd_run_launch_with(run,
                                          world->counter,
                                          NULL,
                                          &options,
                                          &link,
                                          &world->refused);
    if (status == HD_OK) {
        status = hd_cell_set(part->cell, link, NULL);
    }
    hd_value_unref(link);
    return status;
}

static hd_status build_counter(hd_builder *builder, void *context)
{
    struct world *world = context;
    hd_cell *base = NULL;
    hd_cell *count = NULL;
    hd_cell *stream = NULL;
    hd_value *zero = value_of("0");
    EXPECT_INT(hd_build_argument(builder, "base", zero, &base, NULL), HD_OK);
    EXPECT_INT(hd_build_state(builder, "n", zero, &count, NULL), HD_OK);
    hd_value_unref(zero);
    const hd_handler_options bump = {
        .run = run_bump,
        .context = part_new(world, count, NULL),
        .release = part_free,
        .pure = true,
    };
    EXPECT_INT(hd_build_handler(builder, "bump", &bump, &stream, NULL), HD_OK);
    EXPECT_INT(hd_build_result(builder, "n", count, NULL), HD_OK);
    EXPECT_INT(hd_build_result(builder, "base", base, NULL), HD_OK);
    return hd_build_result(builder, "bump", stream, NULL);
}

/* {"base": a link to the cell} */
static hd_value *arguments_of(hd_cell *base)
{
    hd_value *link = NULL;
    hd_value *none = value_of("{}");
    hd_value *arguments = NULL;
    EXPECT_INT(hd_cell_link(base, &link, NULL), HD_OK);
    EXPECT_INT(
        hd_value_set(none, "/base", HD_TERMINATED, link, &arguments, NULL),
        HD_OK);
    hd_value_unref(none);
    hd_value_unref(link);
    return arguments;
}

static hd_status build_parent(hd_builder *builder, void *context)
{
    struct world *world = context;
    hd_cell *base = NULL;
    hd_cell *last = NULL;
    hd_cell *child = NULL;
    hd_value *seven = value_of("7");
    EXPECT_INT(hd_build_state(builder, "base", seven, &base, NULL), HD_OK);
    EXPECT_INT(hd_build_state(builder, "last", NULL, &last, NULL), HD_OK);
    hd_value_unref(seven);
    hd_value *arguments = arguments_of(base);
    const hd_status status = hd_build_piece_in(builder,
                                               world->space,
                                               "kid",
                                               world->counter,
                                               arguments,
                                               &child,
                                               &world->refused);
    hd_value_unref(arguments);
    if (status != HD_OK) {
        return status;
    }
    const hd_handler_options kick = {
        .run = run_kick,
        .context = part_new(world, NULL, child),
        .release = part_free,
        .pure = true,
    };
    const hd_handler_options launch = {
        .run = run_launch,
        .context = part_new(world, last, NULL),
        .release = part_free,
        .pure = true,
    };
    EXPECT_INT(hd_build_handler(builder, "kick", &kick, NULL, NULL), HD_OK);
    EXPECT_INT(hd_build_handler(builder, "launch", &launch, NULL, NULL), HD_OK);
    EXPECT_INT(hd_build_result(builder, "base", base, NULL), HD_OK);
    EXPECT_INT(hd_build_result(builder, "last", last, NULL), HD_OK);
    return hd_build_result(builder, "kid", child, NULL);
}

static void world_begin(struct world *world)
{
    *world = (struct world){.space = "team"};
    EXPECT_INT(hd_pattern_new("counter",
                              "1",
                              build_counter,
                              world,
                              NULL,
                              &world->counter,
                              NULL),
               HD_OK);
    EXPECT_INT(hd_pattern_new("parent",
                              "1",
                              build_parent,
                              world,
                              NULL,
                              &world->parent,
                              NULL),
               HD_OK);
}

static void world_end(struct world *world)
{
    hd_pattern_free(world->counter);
    hd_pattern_free(world->parent);
}

static hd_piece *start(struct fixture *fixture, hd_pattern *pattern)
{
    hd_piece *piece = NULL;
    hd_error error;
    EXPECT_INT(hd_piece_start(fixture->runtime,
                              pattern,
                              "board",
                              NULL,
                              &piece,
                              &error),
               HD_OK);
    EXPECT_TEXT(error.text, "");
    fixture_settle(fixture);
    return piece;
}

static void send(struct fixture *fixture, hd_piece *piece, const char *stream)
{
    hd_error error;
    EXPECT_INT(hd_piece_send(piece, stream, NULL, NULL, NULL, &error), HD_OK);
    EXPECT_TEXT(error.text, "");
    fixture_settle(fixture);
}

static void expect_get(hd_piece *piece, const char *path, const char *json)
{
    hd_value *value = NULL;
    hd_error error;
    EXPECT_INT(hd_piece_get(piece, path, &value, &error), HD_OK);
    EXPECT_TEXT(error.text, "");
    expect_value(value, json);
    hd_value_unref(value);
}

/* What a document of another space is. */
static void expect_there(struct fixture *fixture,
                         const char *space,
                         const char *document,
                         const char *json)
{
    hd_cell *cell = NULL;
    const hd_address address = {.space = space, .document = document};
    EXPECT_INT(hd_cell_new_at(fixture->runtime, &address, &cell, NULL), HD_OK);
    expect_json(cell, json);
    hd_cell_free(cell);
}

TEST(a_child_in_another_space_is_read_and_sent_to)
{
    struct fixture fixture;
    struct world world;
    fixture_open(&fixture, NULL, 1);
    world_begin(&world);
    hd_piece *piece = start(&fixture, world.parent);
    expect_get(piece, "/kid/base", "7");
    send(&fixture, piece, "kick");
    EXPECT_EQ(world.bumps, 1);
    expect_get(piece, "/kid/n", "1");
    expect_there(&fixture, "team", "piece:board~kid/n", "1");
    EXPECT_EQ(fixture.reports, 0);
    hd_piece_free(piece);
    fixture_close(&fixture);
    world_end(&world);
}

TEST(a_child_in_another_file_goes_on_after_a_restart)
{
    char folder[256];
    kit_folder_new(folder, sizeof folder);
    struct fixture fixture;
    struct world world;
    fixture_open(&fixture, folder, 1);
    world_begin(&world);
    hd_piece *piece = start(&fixture, world.parent);
    send(&fixture, piece, "kick");
    hd_piece_free(piece);
    fixture_close(&fixture);

    fixture_open(&fixture, folder, 2);
    piece = start(&fixture, world.parent);
    expect_get(piece, "/kid/n", "1");
    send(&fixture, piece, "kick");
    expect_get(piece, "/kid/n", "2");
    hd_error error;
    EXPECT_INT(hd_piece_remove(piece, &error), HD_OK);
    fixture_settle(&fixture);
    hd_cell *gone = NULL;
    hd_value *value = NULL;
    const hd_address address = {.space = "team",
                                .document = "piece:board~kid/n"};
    EXPECT_INT(hd_cell_new_at(fixture.runtime, &address, &gone, NULL), HD_OK);
    EXPECT_INT(hd_cell_get(gone, &value, NULL), HD_NOT_FOUND);
    hd_cell_free(gone);
    EXPECT_EQ(fixture.reports, 0);
    hd_piece_free(piece);
    fixture_close(&fixture);
    world_end(&world);
    kit_folder_remove(folder);
}

TEST(a_handler_launches_in_another_space)
{
    struct fixture fixture;
    struct world world;
    fixture_open(&fixture, NULL, 1);
    world_begin(&world);
    hd_piece *piece = start(&fixture, world.parent);
    world.space = "notes";
    world.launched = "one";
    send(&fixture, piece, "launch");
    expect_get(piece, "/last/n", "0");
    expect_there(&fixture, "notes", "piece:one/n", "0");
    send(&fixture, piece, "launch");
    EXPECT_TEXT(world.refused.text,
                "a piece named 'one' already exists in the space 'notes': "
                "launch it with another name");
    EXPECT_EQ(fixture.reports, 1);
    world.space = NULL;
    world.launched = "two";
    send(&fixture, piece, "launch");
    expect_there(&fixture, "main", "piece:two/n", "0");
    hd_piece_free(piece);
    fixture_close(&fixture);
    world_end(&world);
}

TEST(a_child_that_cannot_be_started_is_reported)
{
    struct fixture fixture;
    struct world world;
    fixture_open(&fixture, NULL, 1);
    world_begin(&world);
    hd_error error;
    EXPECT_INT(hd_runtime_open_space(fixture.runtime, "team", &error), HD_OK);
    const hd_piece_options there = {.space = "team"};
    hd_piece *other = NULL;
    EXPECT_INT(hd_piece_start(fixture.runtime,
                              world.counter,
                              "board~kid",
                              &there,
                              &other,
                              &error),
               HD_OK);
    fixture_settle(&fixture);
    EXPECT_INT(hd_piece_stop(other, &error), HD_OK);
    hd_piece *piece = start(&fixture, world.parent);
    EXPECT_EQ(fixture.reports, 1);
    EXPECT_INT(fixture.reported.status, HD_ARGUMENT);
    EXPECT_TEXT(fixture.reported.address, "board~kid");
    EXPECT_TEXT(fixture.reported.text,
                "the space 'team' has a piece 'board~kid' that is not the "
                "child of 'board': give the child another name");
    hd_piece_free(piece);
    hd_piece_free(other);
    fixture_close(&fixture);
    world_end(&world);
}

TEST(a_space_with_a_name_that_none_can_have_fails_the_build)
{
    struct fixture fixture;
    struct world world;
    fixture_open(&fixture, NULL, 1);
    world_begin(&world);
    world.space = "a/b";
    hd_piece *piece = NULL;
    hd_error error;
    EXPECT_INT(hd_piece_start(fixture.runtime,
                              world.parent,
                              "board",
                              NULL,
                              &piece,
                              &error),
               HD_OK);
    fixture_settle(&fixture);
    hd_piece_state state = HD_PIECE_RUNNING;
    EXPECT_INT(hd_piece_look(piece, &state, &error), HD_OK);
    EXPECT_INT(state, HD_PIECE_FAILED);
    EXPECT_CONTAINS(world.refused.text, "the name of a space must not be");
    hd_piece_free(piece);
    fixture_close(&fixture);
    world_end(&world);
}
