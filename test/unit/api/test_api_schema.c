/* Schemas that a pattern of the program declares: stored with the piece, and
 * obeyed by runtimes that do not have the pattern. */

#include "unit/api/fixture.h"

struct form {
    const char *schema;  /* of the state */
    const char *other;   /* a name that is given a schema and not declared */
    const char *initial; /* of the state */
    hd_status refused;   /* what the schema was answered with */
    unsigned calls;      /* of the handler */
};

static hd_status take(hd_run *run, void *context)
{
    (void)run;
    ((struct form *)context)->calls++;
    return HD_OK;
}

static void give_schema(hd_builder *builder,
                        const char *name,
                        const char *json,
                        hd_status want)
{
    hd_value *schema = value_of(json);
    hd_error error;
    EXPECT_INT(hd_build_schema(builder, name, schema, &error), want);
    hd_value_unref(schema);
}

static hd_status build(hd_builder *builder, void *context)
{
    struct form *form = context;
    hd_cell *list = NULL;
    hd_cell *stream = NULL;
    hd_error error;
    give_schema(builder, "list", form->schema, form->refused);
    if (form->refused != HD_OK) {
        return form->refused;
    }
    if (form->other != NULL) {
        give_schema(builder, form->other, "true", HD_OK);
    }
    give_schema(builder, "take", "{\"type\":\"integer\"}", HD_OK);
    hd_value *initial = value_of(form->initial);
    const hd_status status =
        hd_build_state(builder, "list", initial, &list, &error);
    hd_value_unref(initial);
    if (status != HD_OK) {
        return status;
    }
    give_schema(builder, "list", "true", HD_ARGUMENT); /* too late */
    const hd_handler_options handler = {.run = take, .context = form};
    EXPECT_INT(hd_build_handler(builder, "take", &handler, &stream, &error),
               HD_OK);
    EXPECT_INT(hd_build_result(builder, "take", stream, &error), HD_OK);
    return hd_build_result(builder, "list", list, &error);
}

static hd_piece *start_form(struct fixture *fixture, struct form *form)
{
    hd_pattern *pattern = NULL;
    hd_piece *piece = NULL;
    hd_error error;
    EXPECT_INT(hd_pattern_new("form", "1", build, form, NULL, &pattern, NULL),
               HD_OK);
    EXPECT_INT(
        hd_piece_start(fixture->runtime, pattern, "mine", NULL, &piece, &error),
        HD_OK);
    hd_pattern_free(pattern);
    fixture_settle(fixture);
    return piece;
}

static void expect_failed(struct form *form,
                          hd_status status,
                          const char *sentence)
{
    struct fixture fixture;
    fixture_open(&fixture, NULL, 1);
    hd_piece *piece = start_form(&fixture, form);
    hd_piece_state state = HD_PIECE_RUNNING;
    hd_error error;
    EXPECT_INT(hd_piece_look(piece, &state, &error), HD_OK);
    EXPECT_INT(state, HD_PIECE_FAILED);
    EXPECT_INT(error.status, status);
    EXPECT_CONTAINS(error.text, sentence);
    hd_piece_free(piece);
    fixture_close(&fixture);
}

static void append(hd_cell *cell, const char *json, hd_status want)
{
    hd_value *value = value_of(json);
    hd_error error;
    EXPECT_INT(hd_cell_append(cell, value, &error), want);
    if (want != HD_OK) {
        EXPECT_CONTAINS(error.text,
                        "piece:mine/list does not match its "
                        "schema");
    }
    hd_value_unref(value);
}

#define NUMBERS "{\"type\":\"array\",\"items\":{\"type\":\"integer\"}}"

TEST(a_schema_of_a_pattern_holds_in_every_runtime)
{
    char folder[256];
    kit_folder_new(folder, sizeof folder);
    struct fixture fixture;
    fixture_open(&fixture, folder, 1);
    struct form form = {.schema = NUMBERS, .initial = "[1]"};
    hd_piece *piece = start_form(&fixture, &form);
    hd_cell *list = cell_of(&fixture, "piece:mine/list", NULL);
    append(list, "\"x\"", HD_SCHEMA);
    append(list, "2", HD_OK);
    fixture_settle(&fixture);
    expect_json(list, "[1,2]");

    hd_value *payload = value_of("\"x\"");
    hd_ticket *ticket = NULL;
    hd_error error;
    EXPECT_INT(hd_piece_send(piece, "take", payload, NULL, &ticket, &error),
               HD_OK);
    fixture_settle(&fixture);
    EXPECT_INT(hd_ticket_error(ticket, &error), HD_OK);
    EXPECT_INT(error.status, HD_SCHEMA);
    EXPECT_EQ(form.calls, 0);
    hd_ticket_free(ticket);
    hd_value_unref(payload);

    /* Another runtime, beside the first, that does not know the pattern. */
    struct fixture other;
    fixture_open(&other, folder, 2);
    hd_cell *same = cell_of(&other, "piece:mine/list", NULL);
    append(same, "\"x\"", HD_SCHEMA);
    append(same, "3", HD_OK);
    fixture_settle(&other);
    fixture_settle(&fixture);
    expect_json(list, "[1,2,3]");
    hd_cell_free(same);
    fixture_close(&other);
    hd_cell_free(list);
    hd_piece_free(piece);
    fixture_close(&fixture);
    kit_folder_remove(folder);
}

TEST(a_piece_with_a_wrong_schema_does_not_start)
{
    struct form malformed = {
        .schema = "{\"type\":\"text\"}",
        .initial = "[1]",
        .refused = HD_SCHEMA_MALFORMED,
    };
    expect_failed(&malformed,
                  HD_SCHEMA_MALFORMED,
                  "the schema of 'list' at /type");
    struct form misfit = {.schema = NUMBERS, .initial = "5"};
    expect_failed(&misfit,
                  HD_SCHEMA,
                  "the initial value of 'list': must be array, not integer");
    struct form unknown = {
        .schema = NUMBERS,
        .initial = "[1]",
        .other = "lost",
    };
    expect_failed(&unknown,
                  HD_ARGUMENT,
                  "a schema was given for 'lost', but the pattern declares no "
                  "such state, argument or stream");
}
