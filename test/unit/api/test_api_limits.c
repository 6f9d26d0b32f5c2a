/* The limits of docs/limits.md through the public header: what is accepted is
 * read back after a restart, what is not is refused with the code of its limit,
 * and nothing of it is there. Names of pieces, texts of documents and
 * reads are tried through the command (test/e2e/limits.sh); keys, elements and
 * documents of a commit, which are many, by test/programs/header_limits.c. */

#include "base/limits.h"
#include "unit/api/fixture.h"

/* A document is {"value": ...}, so a value may have this many levels. */
enum {
    LEVELS = LIMIT_DEPTH - 1
};

struct box {
    struct fixture fixture;
    char folder[256];
    hd_cell *cell;
    hd_cell *list;
    hd_cell *stream;
    hd_value *value; /* that an edit sets */
};

static hd_value *nested(unsigned depth)
{
    hd_value *value = NULL;
    EXPECT_INT(hd_value_new_int(1, &value), HD_OK);
    for (unsigned i = 0; i < depth; i++) {
        hd_value *object = NULL;
        hd_value *around = NULL;
        EXPECT_INT(hd_value_new_object(&object), HD_OK);
        EXPECT_INT(
            hd_value_set(object, "/a", HD_TERMINATED, value, &around, NULL),
            HD_OK);
        hd_value_unref(object);
        hd_value_unref(value);
        value = around;
    }
    return value;
}

static bool is_equal(const hd_value *a, const hd_value *b)
{
    bool equal = false;
    return hd_value_equal(a, b, &equal) == HD_OK && equal;
}

static hd_status put_payload(hd_run *run, void *context)
{
    const struct box *box = context;
    hd_value *payload = NULL;
    hd_status status = hd_run_payload(run, &payload);
    if (status == HD_OK) {
        status = hd_cell_set(box->cell, payload, NULL);
    }
    if (status == HD_OK) {
        status = hd_run_return(run, payload);
    }
    hd_value_unref(payload);
    return status;
}

static void box_open(struct box *box)
{
    fixture_open(&box->fixture, box->folder, 1);
    box->cell = cell_of(&box->fixture, "box", NULL);
    box->list = cell_of(&box->fixture, "list", NULL);
    box->stream = cell_of(&box->fixture, "stream", NULL);
    const hd_handler_options options = {
        .name = "put",
        .run = put_payload,
        .context = box,
    };
    EXPECT_INT(hd_handler_new(box->stream, &options, NULL, NULL), HD_OK);
}

static void box_close(struct box *box)
{
    hd_cell_free(box->cell);
    hd_cell_free(box->list);
    hd_cell_free(box->stream);
    fixture_close(&box->fixture);
}

static void box_begin(struct box *box)
{
    *box = (struct box){0};
    kit_folder_new(box->folder, sizeof box->folder);
    box_open(box);
    set_json(box->cell, "{}");
    set_json(box->list, "[]");
    fixture_settle(&box->fixture);
}

/* What is in the cell after a restart; NULL: what it began with. */
static void box_end(struct box *box, hd_cell **cell, const hd_value *want)
{
    fixture_settle(&box->fixture);
    const bool is_list = *cell == box->list;
    box_close(box);
    box_open(box);
    hd_value *found = NULL;
    EXPECT_INT(hd_cell_get(is_list ? box->list : box->cell, &found, NULL),
               HD_OK);
    if (want == NULL) {
        expect_value(found, is_list ? "[]" : "{}");
    } else {
        EXPECT(is_equal(found, want));
    }
    hd_value_unref(found);
    box_close(box);
    kit_folder_remove(box->folder);
}

static hd_status edit_value(hd_runtime *runtime, void *context)
{
    (void)runtime;
    const struct box *box = context;
    return hd_cell_set(box->cell, box->value, NULL);
}

TEST(a_value_that_is_set_has_a_thousand_levels_with_its_document)
{
    for (unsigned levels = LEVELS - 1; levels <= LEVELS + 1; levels++) {
        struct box box;
        box_begin(&box);
        hd_value *value = nested(levels);
        const bool fits = levels <= LEVELS;
        const hd_status status = hd_cell_set(box.cell, value, NULL);
        fixture_settle(&box.fixture);
        const hd_status said =
            status != HD_OK ? status : box.fixture.reported.status;
        EXPECT_INT(said, fits ? HD_OK : HD_LIMIT_DEPTH);
        box_end(&box, &box.cell, fits ? value : NULL);
        hd_value_unref(value);
    }
}

TEST(an_edit_has_the_same_limit)
{
    for (unsigned levels = LEVELS - 1; levels <= LEVELS + 1; levels++) {
        struct box box;
        box_begin(&box);
        box.value = nested(levels);
        const bool fits = levels <= LEVELS;
        hd_error error;
        EXPECT_INT(
            hd_runtime_edit(box.fixture.runtime, edit_value, &box, &error),
            fits ? HD_OK : HD_LIMIT_DEPTH);
        box_end(&box, &box.cell, fits ? box.value : NULL);
        hd_value_unref(box.value);
    }
}

TEST(an_event_and_its_receipt_have_it)
{
    for (unsigned levels = LEVELS - 1; levels <= LEVELS + 1; levels++) {
        struct box box;
        box_begin(&box);
        hd_value *value = nested(levels);
        const bool fits = levels <= LEVELS;
        hd_ticket *ticket = NULL;
        EXPECT_INT(hd_cell_send(box.stream, value, NULL, &ticket, NULL), HD_OK);
        fixture_settle(&box.fixture);
        hd_error error;
        hd_value *receipt = NULL;
        EXPECT_INT(hd_ticket_error(ticket, &error), HD_OK);
        EXPECT_INT(error.status, fits ? HD_OK : HD_LIMIT_DEPTH);
        EXPECT_INT(hd_ticket_receipt(ticket, &receipt),
                   fits ? HD_OK : HD_NOT_FOUND);
        EXPECT(!fits || is_equal(receipt, value));
        hd_value_unref(receipt);
        hd_ticket_free(ticket);
        box_end(&box, &box.cell, fits ? value : NULL);
        hd_value_unref(value);
    }
}

TEST(an_element_that_is_appended_has_one_level_less)
{
    for (unsigned levels = LEVELS - 2; levels <= LEVELS; levels++) {
        struct box box;
        box_begin(&box);
        hd_value *value = nested(levels);
        hd_value *list = NULL;
        hd_value *empty = value_of("[]");
        const bool fits = levels < LEVELS;
        EXPECT_INT(hd_value_set(empty, "/-", HD_TERMINATED, value, &list, NULL),
                   HD_OK);
        const hd_status status = hd_cell_append(box.list, value, NULL);
        fixture_settle(&box.fixture);
        const hd_status said =
            status != HD_OK ? status : box.fixture.reported.status;
        EXPECT_INT(said, fits ? HD_OK : HD_LIMIT_DEPTH);
        box_end(&box, &box.list, fits ? list : NULL);
        hd_value_unref(empty);
        hd_value_unref(list);
        hd_value_unref(value);
    }
}

/* "value" is the first segment. */
TEST(a_path_has_a_thousand_segments_with_its_document)
{
    for (unsigned count = LIMIT_PATH_SEGMENTS - 2; count <= LIMIT_PATH_SEGMENTS;
         count++) {
        struct box box;
        struct buf pointer = {0};
        box_begin(&box);
        for (unsigned i = 0; i < count; i++) {
            buf_append_text(&pointer, "/a");
        }
        const bool fits = count < LIMIT_PATH_SEGMENTS;
        hd_cell *below = NULL;
        hd_error error;
        EXPECT_INT(hd_cell_child(box.cell, buf_text(&pointer), &below, &error),
                   fits ? HD_OK : HD_LIMIT_PATH);
        hd_value *want = nested(count);
        if (fits) {
            EXPECT_INT(hd_cell_set_int(below, 1, &error), HD_OK);
            fixture_settle(&box.fixture);
            EXPECT_INT(box.fixture.reports, 0);
        }
        hd_cell_free(below);
        box_end(&box, &box.cell, fits ? want : NULL);
        hd_value_unref(want);
        buf_release(&pointer);
    }
}

TEST(a_link_and_the_path_behind_it_are_one_path)
{
    struct box box;
    struct buf pointer = {0};
    box_begin(&box);
    for (unsigned i = 0; i < 600; i++) {
        buf_append_text(&pointer, "/a");
    }
    hd_cell *target = NULL;
    hd_cell *through = NULL;
    hd_error error;
    EXPECT_INT(hd_cell_child(box.cell, buf_text(&pointer), &target, &error),
               HD_OK);
    EXPECT_INT(hd_cell_set_int(target, 1, &error), HD_OK);
    EXPECT_INT(hd_cell_set_link(box.list, target, &error), HD_OK);
    EXPECT_INT(hd_cell_child(box.list, buf_text(&pointer), &through, &error),
               HD_OK);
    hd_value *value = NULL;
    EXPECT_INT(hd_cell_get(through, &value, &error), HD_LIMIT_PATH);
    EXPECT_INT(hd_cell_set_int(through, 1, &error), HD_LIMIT_PATH);
    hd_value_unref(value);
    hd_cell_free(through);
    hd_cell_free(target);
    fixture_settle(&box.fixture);
    box_close(&box);
    kit_folder_remove(box.folder);
    buf_release(&pointer);
}

/* -- Strings, pointers, ids, patches ------------------------------------- */

static struct buf repeated(char byte, size_t count)
{
    struct buf text = {0};
    for (size_t i = 0; i < count; i++) {
        buf_append_char(&text, byte);
    }
    (void)buf_text(&text); /* terminated */
    return text;
}

TEST(a_string_has_a_limit)
{
    for (size_t more = 0; more < 3; more++) {
        const size_t length = LIMIT_STRING_BYTES - 1 + more;
        struct buf text = repeated('x', length);
        const bool fits = length <= LIMIT_STRING_BYTES;
        hd_value *value = NULL;
        EXPECT_INT(hd_value_new_string(text.at, length, &value),
                   fits ? HD_OK : HD_LIMIT_STRING);
        if (fits) {
            struct box box;
            box_begin(&box);
            EXPECT_INT(hd_cell_set(box.cell, value, NULL), HD_OK);
            box_end(&box, &box.cell, value);
        }
        hd_value_unref(value);
        buf_release(&text);
    }
}

TEST(a_pointer_has_a_limit)
{
    for (size_t more = 0; more < 3; more++) {
        const size_t length = LIMIT_POINTER_BYTES - 1 + more;
        struct buf keys = repeated('k', length);
        keys.at[0] = '/';
        const char *pointer = keys.at;
        const bool fits = length <= LIMIT_POINTER_BYTES;
        struct box box;
        box_begin(&box);
        hd_cell *below = NULL;
        EXPECT_INT(hd_cell_child(box.cell, pointer, &below, NULL),
                   fits ? HD_OK : HD_LIMIT_PATH);
        hd_value *want = value_of("{}");
        if (fits) {
            hd_value *one = value_of("1");
            hd_value *set = NULL;
            EXPECT_INT(hd_cell_set_int(below, 1, NULL), HD_OK);
            EXPECT_INT(hd_value_set(want, pointer, length, one, &set, NULL),
                       HD_OK);
            hd_value_unref(one);
            hd_value_unref(want);
            want = set;
        }
        hd_cell_free(below);
        box_end(&box, &box.cell, want);
        hd_value_unref(want);
        buf_release(&keys);
    }
}

TEST(an_id_has_a_limit)
{
    for (size_t more = 0; more < 3; more++) {
        const size_t length = LIMIT_ID_BYTES - 1 + more;
        struct buf name = repeated('d', length);
        const char *id = name.at;
        const bool fits = length <= LIMIT_ID_BYTES;
        struct box box;
        box_begin(&box);
        hd_cell *cell = NULL;
        EXPECT_INT(hd_cell_new(box.fixture.runtime, id, NULL, &cell, NULL),
                   fits ? HD_OK : HD_LIMIT_ID);
        const hd_send_options options = {.id = id, .session = id};
        hd_ticket *ticket = NULL;
        EXPECT_INT(hd_cell_send(box.stream, NULL, &options, &ticket, NULL),
                   fits ? HD_OK : HD_LIMIT_ID);
        if (fits) {
            EXPECT_INT(hd_cell_set_int(cell, 7, NULL), HD_OK);
            fixture_settle(&box.fixture);
            hd_cell_free(cell);
            box_close(&box);
            box_open(&box);
            cell = cell_of(&box.fixture, id, NULL);
            expect_json(cell, "7");
            hd_ticket_free(ticket);
        }
        hd_cell_free(cell);
        box_close(&box);
        kit_folder_remove(box.folder);
        buf_release(&name);
    }
}

TEST(a_patch_has_a_limit)
{
    for (unsigned more = 0; more < 3; more++) {
        const unsigned count = LIMIT_PATCH_OPERATIONS - 1 + more;
        struct buf text = {0};
        buf_append_char(&text, '[');
        for (unsigned i = 0; i < count; i++) {
            buf_append_text(&text, i > 0 ? "," : "");
            buf_append_text(&text,
                            "{\"op\":\"increment\",\"path\":\"/n\",\"by\":1}");
        }
        buf_append_char(&text, ']');
        hd_value *patch = value_of(buf_text(&text));
        hd_value *object = value_of("{\"n\":0}");
        hd_value *result = NULL;
        const bool fits = count <= LIMIT_PATCH_OPERATIONS;
        EXPECT_INT(hd_value_patch(object, patch, &result, NULL),
                   fits ? HD_OK : HD_LIMIT_PATCH);
        char want[32];
        (void)snprintf(want, sizeof want, "{\"n\":%u}", count);
        expect_value(result, fits ? want : NULL);
        hd_value_unref(result);
        hd_value_unref(object);
        hd_value_unref(patch);
        buf_release(&text);
    }
}

/* -- Schemas and labels -------------------------------------------------- */

static hd_status set_schema(const char *json)
{
    struct fixture fixture;
    fixture_open(&fixture, NULL, 1);
    hd_cell *cell = cell_of(&fixture, "box", NULL);
    hd_value *schema = value_of(json);
    const hd_status status = hd_cell_set_schema(cell, schema, false, NULL);
    hd_value_unref(schema);
    hd_cell_free(cell);
    fixture_close(&fixture);
    return status;
}

TEST(a_schema_has_a_depth)
{
    for (unsigned depth = LIMIT_SCHEMA_DEPTH - 1;
         depth <= LIMIT_SCHEMA_DEPTH + 1;
         depth++) {
        struct buf text = {0};
        for (unsigned i = 1; i < depth; i++) {
            buf_append_text(&text, "{\"items\":");
        }
        buf_append_text(&text, "{}");
        for (unsigned i = 1; i < depth; i++) {
            buf_append_char(&text, '}');
        }
        EXPECT_INT(set_schema(buf_text(&text)),
                   depth <= LIMIT_SCHEMA_DEPTH ? HD_OK : HD_LIMIT_SCHEMA);
        buf_release(&text);
    }
}

/* The schema itself is the first part. */
TEST(a_schema_has_a_number_of_parts)
{
    for (unsigned parts = LIMIT_SCHEMA_NODES - 1;
         parts <= LIMIT_SCHEMA_NODES + 1;
         parts++) {
        struct buf text = {0};
        buf_append_text(&text, "{\"properties\":{");
        for (unsigned i = 1; i < parts; i++) {
            buf_printf(&text, "%s\"k%u\":{}", i > 1 ? "," : "", i);
        }
        buf_append_text(&text, "}}");
        EXPECT_INT(set_schema(buf_text(&text)),
                   parts <= LIMIT_SCHEMA_NODES ? HD_OK : HD_LIMIT_SCHEMA);
        buf_release(&text);
    }
}

TEST(a_label_has_a_length_and_a_runtime_knows_a_number_of_them)
{
    struct fixture fixture;
    fixture_open(&fixture, NULL, 1);
    hd_cell *cell = cell_of(&fixture, "box", NULL);
    set_json(cell, "1");
    for (size_t more = 0; more < 3; more++) {
        const size_t length = LIMIT_LABEL_BYTES - 1 + more;
        struct buf name = repeated('l', length);
        struct buf text = {0};
        buf_printf(&text, "[\"%s\"]", name.at);
        hd_value *labels = value_of(buf_text(&text));
        EXPECT_INT(hd_cell_set_labels(cell, labels, NULL),
                   length <= LIMIT_LABEL_BYTES ? HD_OK : HD_ARGUMENT);
        hd_value_unref(labels);
        buf_release(&text);
        buf_release(&name);
    }
    struct buf many = {0};
    buf_append_char(&many, '[');
    for (unsigned i = 0; i <= LIMIT_LABELS; i++) {
        buf_printf(&many, "%s\"m%u\"", i > 0 ? "," : "", i);
    }
    buf_append_char(&many, ']');
    hd_value *labels = value_of(buf_text(&many));
    EXPECT_INT(hd_cell_set_labels(cell, labels, NULL), HD_OK);
    fixture_settle(&fixture);
    hd_value_unref(labels);
    EXPECT_INT(hd_cell_labels(cell, &labels, NULL), HD_OK);
    char *told = NULL;
    EXPECT_INT(hd_value_write(labels, HD_CANONICAL, 0, &told, NULL), HD_OK);
    EXPECT_CONTAINS(told, "unreadable");
    hd_text_free(told);
    hd_value_unref(labels);
    buf_release(&many);
    hd_cell_free(cell);
    fixture_close(&fixture);
}

/* -- Chains of events ---------------------------------------------------- */

struct chain {
    struct fixture fixture;
    hd_cell *stream;
    hd_cell *count;
};

static hd_status send_on(hd_run *run, void *context)
{
    (void)run;
    const struct chain *chain = context;
    hd_status status = hd_cell_increment(chain->count, 1, NULL);
    if (status == HD_OK) {
        status = hd_cell_send(chain->stream, NULL, NULL, NULL, NULL);
    }
    return status;
}

TEST(a_handler_that_sends_to_itself_comes_to_an_end)
{
    for (uint32_t hops = 1; hops <= 3; hops++) {
        struct chain chain = {.fixture = {.now = 1000}};
        hd_runtime_options options = fixture_options(&chain.fixture);
        options.hops = hops;
        fixture_open_with(&chain.fixture, &options);
        chain.stream = cell_of(&chain.fixture, "stream", NULL);
        chain.count = cell_of(&chain.fixture, "count", NULL);
        set_json(chain.count, "0");
        const hd_handler_options handler = {
            .name = "again",
            .run = send_on,
            .context = &chain,
        };
        EXPECT_INT(hd_handler_new(chain.stream, &handler, NULL, NULL), HD_OK);
        EXPECT_INT(hd_cell_send(chain.stream, NULL, NULL, NULL, NULL), HD_OK);
        fixture_settle(&chain.fixture);
        EXPECT_INT(chain.fixture.reported.status, HD_LIMIT_HOPS);
        char want[2] = {(char)('0' + hops), '\0'};
        expect_json(chain.count, want);
        hd_cell_free(chain.stream);
        hd_cell_free(chain.count);
        fixture_close(&chain.fixture);
    }
}

/* -- Cycles of effects, events and handlers ------------------------------ */

enum {
    LONG_WAY = 1500, /* runs: more than a runtime remembers */
};

static hd_status count_event(hd_run *run, void *context)
{
    (void)run;
    const struct chain *chain = context;
    return hd_cell_increment(chain->count, 1, NULL);
}

struct step {
    hd_cell *from;
    hd_cell *to;
};

static hd_status copy_step(hd_run *run, void *context)
{
    (void)run;
    const struct step *step = context;
    int64_t number = 0;
    const hd_status status = hd_cell_get_int(step->from, &number, NULL);
    return status == HD_OK ? hd_cell_set_int(step->to, number, NULL) : status;
}

/* Sends an event for each value but the first, and ignores what comes of it. */
static void send_seen(void *context, const hd_value *value)
{
    const struct chain *chain = context;
    int64_t number = 0;
    EXPECT_INT(hd_value_get_int(value, &number), HD_OK);
    if (number > 0) {
        (void)hd_cell_send(chain->stream, NULL, NULL, NULL, NULL);
    }
}

static void add_round(struct chain *chain, hd_cell *seen)
{
    const hd_handler_options handler = {
        .name = "count",
        .run = count_event,
        .context = chain,
    };
    EXPECT_INT(hd_handler_new(chain->stream, &handler, NULL, NULL), HD_OK);
    const hd_sink_options sink = {
        .name = "again",
        .sink = send_seen,
        .context = chain,
    };
    EXPECT_INT(hd_sink_new_with(seen, &sink, NULL, NULL), HD_OK);
}

TEST(an_effect_whose_event_makes_it_run_again_comes_to_an_end)
{
    for (uint32_t hops = 1; hops <= 3; hops++) {
        struct chain chain = {.fixture = {.now = 1000}};
        hd_runtime_options options = fixture_options(&chain.fixture);
        options.hops = hops;
        fixture_open_with(&chain.fixture, &options);
        chain.stream = cell_of(&chain.fixture, "stream", NULL);
        chain.count = cell_of(&chain.fixture, "count", NULL);
        set_json(chain.count, "0");
        add_round(&chain, chain.count);
        EXPECT_INT(hd_cell_send(chain.stream, NULL, NULL, NULL, NULL), HD_OK);
        fixture_settle(&chain.fixture);
        EXPECT_EQ(chain.fixture.reports, 1);
        EXPECT_INT(chain.fixture.reported.status, HD_LIMIT_HOPS);
        EXPECT_CONTAINS(chain.fixture.reported.text, "from the effect again");
        EXPECT_CONTAINS(chain.fixture.reported.text, "to the stream count");
        char want[2] = {(char)('1' + hops), '\0'};
        expect_json(chain.count, want);
        hd_cell_free(chain.stream);
        hd_cell_free(chain.count);
        fixture_close(&chain.fixture);
    }
}

/* Between the handler and the effect are more runs than are remembered. */
TEST(a_cycle_over_many_computations_comes_to_an_end)
{
    struct chain chain = {.fixture = {.now = 1000}};
    hd_runtime_options options = fixture_options(&chain.fixture);
    options.hops = 3;
    fixture_open_as(&chain.fixture, &options);
    chain.stream = cell_of(&chain.fixture, "stream", NULL);
    chain.count = cell_of(&chain.fixture, "count", NULL);
    set_json(chain.count, "0");
    static struct step steps[LONG_WAY];
    hd_cell *from = chain.count;
    for (size_t i = 0; i < LONG_WAY; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "step%zu", i);
        steps[i] = (struct step){from, cell_of(&chain.fixture, name, NULL)};
        const hd_node_options node = {
            .run = copy_step,
            .context = &steps[i],
            .writes = &steps[i].to,
            .write_count = 1,
        };
        EXPECT_INT(hd_computation_new(chain.fixture.runtime, &node, NULL, NULL),
                   HD_OK);
        from = steps[i].to;
    }
    add_round(&chain, from);
    fixture_settle(&chain.fixture);
    EXPECT_INT(hd_cell_send(chain.stream, NULL, NULL, NULL, NULL), HD_OK);
    fixture_settle(&chain.fixture);
    EXPECT_EQ(chain.fixture.reports, 1);
    EXPECT_INT(chain.fixture.reported.status, HD_LIMIT_HOPS);
    expect_json(chain.count, "4");
    for (size_t i = 0; i < LONG_WAY; i++) {
        hd_cell_free(steps[i].to);
    }
    hd_cell_free(chain.stream);
    hd_cell_free(chain.count);
    fixture_close(&chain.fixture);
}

/* -- Cycles of effects --------------------------------------------------- */

static hd_status count_step(hd_run *run, void *context)
{
    (void)run;
    const struct step *step = context;
    int64_t number = 0;
    const hd_status status = hd_cell_get_int(step->from, &number, NULL);
    return status == HD_OK ? hd_cell_set_int(step->to, number + 1, NULL)
                           : status;
}

TEST(a_cycle_of_effects_is_reported_once)
{
    struct fixture fixture;
    fixture_open(&fixture, NULL, 1);
    hd_cell *a = cell_of(&fixture, "a", NULL);
    hd_cell *b = cell_of(&fixture, "b", NULL);
    set_json(a, "0");
    set_json(b, "0");
    struct step steps[] = {{a, b}, {b, a}};
    const char *const names[] = {"left", "right"};
    for (size_t i = 0; i < 2; i++) {
        const hd_node_options node = {
            .name = names[i],
            .run = count_step,
            .context = &steps[i],
        };
        EXPECT_INT(hd_effect_new(fixture.runtime, &node, NULL, NULL), HD_OK);
    }
    for (int i = 0; i < 3; i++) {
        fixture_settle(&fixture);
    }
    EXPECT_EQ(fixture.reports, 1);
    EXPECT_INT(fixture.reported.status, HD_NOT_SETTLED);
    EXPECT_CONTAINS(fixture.reported.text, "left reads a");
    EXPECT_CONTAINS(fixture.reported.text, "right reads b");
    hd_cell_free(a);
    hd_cell_free(b);
    fixture_close(&fixture);
}
