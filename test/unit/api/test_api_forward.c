/* Events that handlers send to other streams, through the public header: of a
 * child, of another piece through a link, of a piece that was launched. Each is
 * handled once, whether or not its documents are here and its piece is
 * started. */

#include "base/mem.h"
#include "unit/api/fixture.h"

/* Two patterns: one counts, the other one passes events on. */
struct world {
    hd_pattern *counter;
    hd_pattern *sender;
    bool pure;
    unsigned bumps;
    unsigned effects;
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

static hd_status run_effect(hd_run *run, void *context)
{
    const struct part *part = context;
    int64_t count = 0;
    (void)run;
    part->world->effects++;
    return hd_cell_get_int(part->cell, &count, NULL);
}

static hd_status send_below(hd_cell *cell)
{
    hd_cell *stream = NULL;
    hd_status status = hd_cell_child(cell, "/bump", &stream, NULL);
    if (status == HD_OK) {
        status = hd_cell_send(stream, NULL, NULL, NULL, NULL);
    }
    hd_cell_free(stream);
    return status;
}

static hd_status run_pass_on(hd_run *run, void *context)
{
    const struct part *part = context;
    (void)run;
    const hd_status status = send_below(part->cell);
    return status != HD_OK ? status : send_below(part->child);
}

static hd_status run_launch(hd_run *run, void *context)
{
    const struct part *part = context;
    hd_value *link = NULL;
    hd_status status =
        hd_run_launch(run, part->world->counter, NULL, &link, NULL);
    if (status == HD_OK) {
        status = hd_cell_set(part->cell, link, NULL);
    }
    hd_value_unref(link);
    return status;
}

static hd_status build_counter(hd_builder *builder, void *context)
{
    struct world *world = context;
    hd_cell *count = NULL;
    hd_cell *stream = NULL;
    hd_value *zero = value_of("0");
    EXPECT_INT(hd_build_state(builder, "n", zero, &count, NULL), HD_OK);
    hd_value_unref(zero);
    const hd_handler_options bump = {
        .run = run_bump,
        .context = part_new(world, count, NULL),
        .release = part_free,
        .pure = world->pure,
    };
    EXPECT_INT(hd_build_handler(builder, "bump", &bump, &stream, NULL), HD_OK);
    const hd_node_options effect = {
        .run = run_effect,
        .context = part_new(world, count, NULL),
        .release = part_free,
    };
    EXPECT_INT(hd_build_effect(builder, "look", &effect, NULL), HD_OK);
    EXPECT_INT(hd_build_result(builder, "n", count, NULL), HD_OK);
    return hd_build_result(builder, "bump", stream, NULL);
}

static hd_status build_sender(hd_builder *builder, void *context)
{
    struct world *world = context;
    hd_cell *target = NULL;
    hd_cell *child = NULL;
    EXPECT_INT(hd_build_argument(builder, "target", NULL, &target, NULL),
               HD_OK);
    EXPECT_INT(
        hd_build_piece(builder, "kid", world->counter, NULL, &child, NULL),
        HD_OK);
    const hd_handler_options pass_on = {
        .run = run_pass_on,
        .context = part_new(world, target, child),
        .release = part_free,
        .pure = world->pure,
    };
    EXPECT_INT(hd_build_handler(builder, "bump", &pass_on, NULL, NULL), HD_OK);
    const hd_handler_options launch = {
        .run = run_launch,
        .context = part_new(world, target, NULL),
        .release = part_free,
        .pure = world->pure,
    };
    EXPECT_INT(hd_build_handler(builder, "launch", &launch, NULL, NULL), HD_OK);
    return hd_build_result(builder, "kid", child, NULL);
}

static void world_begin(struct world *world, bool pure)
{
    *world = (struct world){.pure = pure};
    EXPECT_INT(hd_pattern_new("counter",
                              "1",
                              build_counter,
                              world,
                              NULL,
                              &world->counter,
                              NULL),
               HD_OK);
    EXPECT_INT(hd_pattern_new("sender",
                              "1",
                              build_sender,
                              world,
                              NULL,
                              &world->sender,
                              NULL),
               HD_OK);
}

static void world_end(struct world *world)
{
    hd_pattern_free(world->counter);
    hd_pattern_free(world->sender);
}

static void open_at(struct fixture *fixture,
                    const char *folder,
                    unsigned number,
                    const struct world *world)
{
    fixture_open(fixture, folder, number);
    EXPECT_INT(hd_runtime_add_pattern(fixture->runtime, world->counter, NULL),
               HD_OK);
}

static hd_piece *start(struct fixture *fixture,
                       hd_pattern *pattern,
                       const char *name,
                       const char *arguments)
{
    hd_value *given = arguments != NULL ? value_of(arguments) : NULL;
    const hd_piece_options options = {.arguments = given};
    hd_piece *piece = NULL;
    hd_error error;
    EXPECT_INT(hd_piece_start(fixture->runtime,
                              pattern,
                              name,
                              &options,
                              &piece,
                              &error),
               HD_OK);
    EXPECT_TEXT(error.text, "");
    hd_value_unref(given);
    fixture_settle(fixture);
    return piece;
}

static void send(struct fixture *fixture, hd_piece *piece, const char *stream)
{
    hd_ticket *ticket = NULL;
    hd_outcome outcome = HD_WAITING;
    EXPECT_INT(hd_piece_send(piece, stream, NULL, NULL, &ticket, NULL), HD_OK);
    fixture_settle(fixture);
    EXPECT_INT(hd_ticket_outcome(ticket, &outcome), HD_OK);
    EXPECT_INT(outcome, HD_DONE);
    hd_ticket_free(ticket);
}

static void expect_count(struct fixture *fixture,
                         const char *document,
                         int64_t want)
{
    hd_cell *cell = NULL;
    int64_t count = -1;
    EXPECT_INT(hd_cell_new(fixture->runtime, document, "", &cell, NULL), HD_OK);
    EXPECT_INT(hd_cell_get_int(cell, &count, NULL), HD_OK);
    EXPECT_INT(count, want);
    hd_cell_free(cell);
}

static const char to_target[] =
    "{\"target\":{\"/\":{\"link@1\":{\"id\":\"piece:target\",\"path\":"
    "[\"value\"]}}}}";

/* The target is made and the sender started; then the sender alone, twice; then
 * both at the same time in two runtimes. */
static void pass_on(bool pure)
{
    char folder[256];
    kit_folder_new(folder, sizeof folder);
    struct world world;
    struct fixture fixture;
    world_begin(&world, pure);
    open_at(&fixture, folder, 1, &world);
    hd_piece_free(start(&fixture, world.counter, "target", NULL));
    hd_piece *sender = start(&fixture, world.sender, "sender", to_target);
    send(&fixture, sender, "bump");
    expect_count(&fixture, "piece:target/n", 1);
    expect_count(&fixture, "piece:sender/kid/n", 1);
    hd_piece_free(sender);
    fixture_close(&fixture);
    for (unsigned i = 2; i <= 3; i++) {
        open_at(&fixture, folder, i, &world);
        sender = start(&fixture, world.sender, "sender", NULL);
        send(&fixture, sender, "bump");
        expect_count(&fixture, "piece:target/n", i);
        expect_count(&fixture, "piece:sender/kid/n", i);
        EXPECT_EQ(fixture.reports, 0);
        hd_piece_free(sender);
        fixture_close(&fixture);
    }
    struct fixture other;
    open_at(&other, folder, 4, &world);
    hd_piece *target = start(&other, world.counter, "target", NULL);
    open_at(&fixture, folder, 5, &world);
    sender = start(&fixture, world.sender, "sender", NULL);
    const unsigned effects = world.effects;
    send(&fixture, sender, "bump");
    EXPECT_EQ(world.effects, effects + 1); /* the child's */
    fixture_settle(&other);
    EXPECT_EQ(world.effects, effects + 2); /* the target's, where it runs */
    send(&fixture, sender, "bump");
    fixture_settle(&other);
    expect_count(&fixture, "piece:target/n", 5);
    expect_count(&other, "piece:target/n", 5);
    /* What was only taken up can be started. */
    hd_piece_free(start(&fixture, world.counter, "target", NULL));
    send(&fixture, sender, "bump");
    expect_count(&fixture, "piece:target/n", 6);
    EXPECT_EQ(fixture.reports + other.reports, 0);
    hd_piece_free(sender);
    hd_piece_free(target);
    fixture_close(&fixture);
    fixture_close(&other);
    world_end(&world);
    kit_folder_remove(folder);
}

TEST(events_reach_children_and_linked_pieces)
{
    pass_on(false);
}

TEST(events_of_pure_handlers_do_as_well)
{
    pass_on(true);
}

TEST(events_reach_a_piece_that_was_launched)
{
    char folder[256];
    kit_folder_new(folder, sizeof folder);
    struct world world;
    struct fixture fixture;
    world_begin(&world, false);
    open_at(&fixture, folder, 1, &world);
    hd_piece *sender = start(&fixture, world.sender, "sender", NULL);
    send(&fixture, sender, "launch");
    send(&fixture, sender, "bump");
    EXPECT_EQ(world.bumps, 2); /* the child's, and the launched one's */
    hd_piece_free(sender);
    fixture_close(&fixture);
    open_at(&fixture, folder, 2, &world);
    sender = start(&fixture, world.sender, "sender", NULL);
    send(&fixture, sender, "bump");
    EXPECT_EQ(world.bumps, 4);
    EXPECT_EQ(fixture.reports, 0);
    hd_piece_free(sender);
    fixture_close(&fixture);
    world_end(&world);
    kit_folder_remove(folder);
}

TEST(an_event_that_cannot_be_handled_is_reported)
{
    static const char to_nowhere[] =
        "{\"target\":{\"/\":{\"link@1\":{\"id\":\"piece:nowhere\",\"path\":"
        "[\"value\"]}}}}";
    struct world world;
    struct fixture fixture;
    world_begin(&world, false);
    open_at(&fixture, NULL, 1, &world);
    hd_piece *sender = start(&fixture, world.sender, "sender", to_nowhere);
    send(&fixture, sender, "bump");
    EXPECT_EQ(fixture.reports, 1);
    EXPECT_INT(fixture.reported.status, HD_NO_HANDLER);
    EXPECT_TEXT(fixture.reported.text,
                "an event for the stream piece:nowhere was not handled: there "
                "is no piece nowhere");
    EXPECT_EQ(world.bumps, 1);
    send(&fixture, sender, "bump");
    EXPECT_EQ(fixture.reports, 2);
    hd_piece_free(sender);
    fixture_close(&fixture);
    world_end(&world);
}
