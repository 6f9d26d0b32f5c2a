/* Lists of pieces through the public header. */

#include "base/mem.h"
#include "unit/api/fixture.h"

/* What all cards of a board have in common. */
struct board {
    unsigned built;
    unsigned views;
    unsigned released; /* contexts of functions of cards, */
    unsigned let_go;   /* and of the list */
    hd_pattern *child;
    const char *key;
    bool fails;
    hd_cell *kept; /* an element, after its call */
};

/* What a function of one card has: borrowed cells. */
struct card {
    struct board *board;
    hd_cell *element;
    hd_cell *count;
};

static void card_free(void *context)
{
    struct card *card = context;
    card->board->released++;
    mem_free(card, sizeof *card);
}

static struct card *card_new(const struct card *with)
{
    struct card *card = mem_alloc(sizeof *card);
    *card = *with;
    return card;
}

static void let_go(void *context)
{
    ((struct board *)context)->let_go++;
}

/* {"title": ..., "count": ...} */
static hd_status run_view(hd_run *run, void *context)
{
    const struct card *card = context;
    card->board->views++;
    hd_value *element = NULL;
    hd_value *count = NULL;
    hd_value *view = NULL;
    hd_status status = hd_cell_get(card->element, &element, NULL);
    if (status == HD_OK) {
        status = hd_cell_get(card->count, &count, NULL);
    }
    if (status == HD_OK) {
        status =
            hd_value_set(element, "/count", HD_TERMINATED, count, &view, NULL);
    }
    if (status == HD_OK) {
        status = hd_run_return(run, view);
    }
    hd_value_unref(view);
    hd_value_unref(count);
    hd_value_unref(element);
    return status;
}

static hd_status run_bump(hd_run *run, void *context)
{
    (void)run;
    const struct card *card = context;
    return hd_cell_increment(card->count, 1, NULL);
}

/* The pattern of a child of a card: its argument is what it returns. */
static hd_status build_child(hd_builder *builder, void *context)
{
    (void)context;
    hd_cell *about = NULL;
    hd_status status = hd_build_argument(builder, "about", NULL, &about, NULL);
    return status != HD_OK ? status
                           : hd_build_result(builder, "about", about, NULL);
}

static hd_status add_child(hd_builder *builder, const struct card *card)
{
    hd_value *link = NULL;
    hd_value *none = value_of("{}");
    hd_value *arguments = NULL;
    hd_cell *child = NULL;
    hd_status status = hd_cell_link(card->element, &link, NULL);
    if (status == HD_OK) {
        status =
            hd_value_set(none, "/about", HD_TERMINATED, link, &arguments, NULL);
    }
    if (status == HD_OK) {
        status = hd_build_piece(builder,
                                "child",
                                card->board->child,
                                arguments,
                                &child,
                                NULL);
    }
    if (status == HD_OK) {
        status = hd_build_result(builder, "child", child, NULL);
    }
    hd_value_unref(arguments);
    hd_value_unref(none);
    hd_value_unref(link);
    return status;
}

static hd_status build_card(hd_builder *builder,
                            hd_cell *element,
                            void *context)
{
    struct board *board = context;
    board->built++;
    board->kept = element;
    if (board->fails) {
        return HD_GIVEN_UP;
    }
    struct card card = {board, element, NULL};
    hd_value *zero = value_of("0");
    hd_cell *view = NULL;
    hd_cell *bump = NULL;
    hd_error error;
    EXPECT_INT(hd_build_state(builder, "count", zero, &card.count, &error),
               HD_OK);
    hd_value_unref(zero);
    const hd_node_options node = {
        .run = run_view,
        .context = card_new(&card),
        .release = card_free,
    };
    EXPECT_INT(hd_build_computed(builder, "view", &node, &view, &error), HD_OK);
    const hd_handler_options handler = {
        .run = run_bump,
        .context = card_new(&card),
        .release = card_free,
    };
    EXPECT_INT(hd_build_handler(builder, "bump", &handler, &bump, &error),
               HD_OK);
    EXPECT_INT(hd_build_result(builder, "view", view, &error), HD_OK);
    EXPECT_INT(hd_build_result(builder, "bump", bump, &error), HD_OK);
    return board->child != NULL ? add_child(builder, &card) : HD_OK;
}

static hd_status build_board(hd_builder *builder, void *context)
{
    struct board *board = context;
    hd_value *none = value_of("[]");
    hd_cell *list = NULL;
    hd_cell *cards = NULL;
    hd_error error;
    EXPECT_INT(hd_build_state(builder, "list", none, &list, &error), HD_OK);
    hd_value_unref(none);
    const hd_pieces_options options = {
        .list = list,
        .key = board->key,
        .build = build_card,
        .context = board,
        .release = let_go,
    };
    hd_status status =
        hd_build_map_pieces(builder, "cards", &options, &cards, &error);
    if (status == HD_OK) {
        status = hd_build_result(builder, "cards", cards, NULL);
    }
    return status != HD_OK ? status
                           : hd_build_result(builder, "list", list, NULL);
}

static hd_pattern *pattern_of(const char *name,
                              hd_build_fn *build,
                              void *context)
{
    hd_pattern *pattern = NULL;
    EXPECT_INT(hd_pattern_new(name, "1", build, context, NULL, &pattern, NULL),
               HD_OK);
    return pattern;
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
    fixture_settle(fixture);
    return piece;
}

static void expect_get(hd_piece *piece, const char *path, const char *json)
{
    hd_value *value = NULL;
    EXPECT_INT(hd_piece_get(piece, path, &value, NULL), HD_OK);
    expect_value(value, json);
    hd_value_unref(value);
}

static void set_list(struct fixture *fixture, hd_piece *piece, const char *json)
{
    hd_cell *list = NULL;
    EXPECT_INT(hd_piece_cell(piece, "/list", &list, NULL), HD_OK);
    set_json(list, json);
    hd_cell_free(list);
    fixture_settle(fixture);
}

static void bump(struct fixture *fixture, hd_piece *piece, const char *stream)
{
    EXPECT_INT(hd_piece_send(piece, stream, NULL, NULL, NULL, NULL), HD_OK);
    fixture_settle(fixture);
}

TEST(each_element_has_a_piece)
{
    struct fixture fixture;
    fixture_open(&fixture, NULL, 1);
    struct board board = {.key = "id"};
    hd_pattern *pattern = pattern_of("board", build_board, &board);
    hd_piece *piece = start(&fixture, pattern);
    set_list(&fixture, piece, "[{\"id\":\"a\"},{\"id\":\"b\"}]");
    EXPECT_EQ(board.built, 2);
    expect_get(piece, "/cards/0/view", "{\"count\":0,\"id\":\"a\"}");
    bump(&fixture, piece, "cards/1/bump");
    expect_get(piece, "/cards/1/view", "{\"count\":1,\"id\":\"b\"}");

    /* A piece moves with its element, and keeps its state through an edit. */
    set_list(&fixture, piece, "[{\"id\":\"b\",\"x\":1},{\"id\":\"a\"}]");
    EXPECT_EQ(board.built, 2);
    expect_get(piece, "/cards/0/view", "{\"count\":1,\"id\":\"b\",\"x\":1}");

    /* It goes with it, and its key is not given out again. */
    const unsigned released = board.released;
    set_list(&fixture, piece, "[{\"id\":\"a\"}]");
    EXPECT_EQ(board.released, released + 2);
    set_list(&fixture, piece, "[{\"id\":\"a\"},{\"id\":\"b\"}]");
    expect_get(piece, "/cards/1/view", "{\"count\":0,\"id\":\"b\"}");
    EXPECT_EQ(board.built, 3);
    EXPECT_INT(hd_piece_send(piece, "cards/1/bump", NULL, NULL, NULL, NULL),
               HD_NOT_FOUND);
    EXPECT_EQ(fixture.reports, 0);
    hd_piece_free(piece);
    hd_pattern_free(pattern);
    fixture_close(&fixture);
    EXPECT_EQ(board.released, 6);
    EXPECT_EQ(board.let_go, 1);
}

TEST(pieces_of_elements_are_taken_up_again)
{
    char folder[256];
    kit_folder_new(folder, sizeof folder);
    struct board board = {.key = "id"};
    board.child = pattern_of("child", build_child, NULL);
    hd_pattern *pattern = pattern_of("board", build_board, &board);
    struct fixture fixture;
    fixture_open(&fixture, folder, 1);
    hd_piece *piece = start(&fixture, pattern);
    set_list(&fixture, piece, "[{\"id\":\"a\"},{\"id\":\"b\"}]");
    bump(&fixture, piece, "cards/0/bump");
    expect_get(piece, "/cards/0/view", "{\"count\":1,\"id\":\"a\"}");
    expect_get(piece, "/cards/1/child/about", "{\"id\":\"b\"}");
    hd_piece_free(piece);
    fixture_close(&fixture);

    const unsigned views = board.views;
    fixture_open(&fixture, folder, 2);
    piece = start(&fixture, pattern);
    EXPECT_EQ(board.built, 4);
    expect_get(piece, "/cards/0/view", "{\"count\":1,\"id\":\"a\"}");
    EXPECT_EQ(board.views, views);
    expect_get(piece, "/cards/1/child/about", "{\"id\":\"b\"}");
    bump(&fixture, piece, "cards/0/bump");
    expect_get(piece, "/cards/0/view", "{\"count\":2,\"id\":\"a\"}");
    hd_piece_free(piece);
    fixture_close(&fixture);
    hd_pattern_free(pattern);
    hd_pattern_free(board.child);
    kit_folder_remove(folder);
}

TEST(a_card_that_cannot_be_built_fails_the_list)
{
    struct fixture fixture;
    fixture_open(&fixture, NULL, 1);
    struct board board = {0};
    hd_pattern *pattern = pattern_of("board", build_board, &board);
    hd_piece *piece = start(&fixture, pattern);
    board.fails = true;
    set_list(&fixture, piece, "[1]");
    EXPECT_EQ(fixture.reports, 1);
    EXPECT_CONTAINS(fixture.reported.text, "the build function returned HD_");
    board.fails = false;
    set_list(&fixture, piece, "[1,2]");
    hd_value *element = NULL;
    hd_error error;
    EXPECT_INT(hd_cell_get(board.kept, &element, &error), HD_OK);
    expect_value(element, "2");
    hd_value_unref(element);
    hd_piece_free(piece);
    hd_pattern_free(pattern);
    fixture_close(&fixture);
}

static hd_status build_wrongly(hd_builder *builder, void *context)
{
    struct board *board = context;
    hd_value *none = value_of("[]");
    hd_cell *list = NULL;
    hd_cell *cards = NULL;
    hd_error error;
    EXPECT_INT(hd_build_state(builder, "list", none, &list, &error), HD_OK);
    hd_value_unref(none);
    hd_pieces_options options = {.context = board, .release = let_go};
    EXPECT_INT(hd_build_map_pieces(builder, "a", NULL, &cards, &error),
               HD_ARGUMENT);
    EXPECT_INT(hd_build_map_pieces(builder, "b", &options, &cards, &error),
               HD_ARGUMENT);
    options.build = build_card;
    EXPECT_INT(hd_build_map_pieces(builder, "c", &options, &cards, &error),
               HD_ARGUMENT);
    options.list = list;
    options.key = "";
    EXPECT_INT(hd_build_map_pieces(builder, "d", &options, &cards, &error),
               HD_ARGUMENT);
    options.key = NULL;
    EXPECT_INT(hd_build_map_pieces(builder, "list", &options, &cards, &error),
               HD_ARGUMENT);
    EXPECT(cards == NULL);
    return hd_build_result(builder, "list", list, NULL);
}

TEST(a_list_of_pieces_needs_a_list_and_a_function)
{
    struct fixture fixture;
    fixture_open(&fixture, NULL, 1);
    struct board board = {0};
    hd_pattern *pattern = pattern_of("board", build_wrongly, &board);
    hd_piece *piece = start(&fixture, pattern);
    EXPECT_EQ(board.let_go, 4);
    hd_piece_free(piece);
    hd_pattern_free(pattern);
    fixture_close(&fixture);
}
