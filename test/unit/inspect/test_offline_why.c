/* Accounts from the file against those of the live runtime: in random graphs
 * with random edits, both tell the same causes with the same authors in the
 * same words; and who is behind them. */

#include "inspect/offline_why.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "host/presence.h"
#include "host/world.h"
#include "inspect/live_why.h"
#include "inspect/read_at.h"
#include "lib/store_kit.h"
#include "lib/test.h"
#include "runtime/cell.h"
#include "runtime/piece.h"
#include "value/array.h"
#include "value/compare.h"
#include "value/object.h"

enum {
    STATES = 4,
    NODES = 6, /* computations; and an effect */
    CELLS = STATES + NODES,
    READS = 3,
};

/* -- A random piece ------------------------------------------------------ */

struct web;

struct web_node {
    struct web *web;
    size_t number;
    size_t reads[READS];
    uint64_t runs; /* seen by the test */
};

struct web {
    struct pattern *pattern;
    struct place *cells[CELLS];
    struct web_node nodes[NODES + 1]; /* the last is the effect */
    struct digest digest;
};

static struct value cell_name(size_t cell)
{
    char name[16];
    (void)snprintf(name,
                   sizeof name,
                   cell < STATES ? "s%zu" : "c%zu",
                   cell < STATES ? cell : cell - STATES);
    return value_text_new(name);
}

static enum run_result add_up(struct run *run, void *ctx, struct value *result)
{
    const struct web_node *node = ctx;
    int64_t sum = 0;
    for (size_t i = 0; i < READS; i++) {
        struct value value = VALUE_NONE;
        (void)run_read(run,
                       node->web->cells[node->reads[i]],
                       READ_DEEP,
                       READ_FOR_BOTH,
                       &value);
        sum += value_kind(value) == VALUE_INT ? value_integer(value) : 0;
        value_unref(value);
    }
    if (node->number < NODES) {
        *result = value_int(sum / 2);
    }
    return RUN_DONE;
}

static enum err build(struct builder *builder,
                      void *ctx,
                      struct err_detail *detail)
{
    struct web *web = ctx;
    enum err err = ERR_OK;
    for (size_t i = 0; err == ERR_OK && i < CELLS; i++) {
        const struct value name = cell_name(i);
        if (i < STATES) {
            const struct builder_cell cell = {.name = name,
                                              .initial = value_int(1)};
            err = builder_state(builder, &cell, &web->cells[i], detail);
        } else {
            struct web_node *own = &web->nodes[i - STATES];
            const struct builder_node node = {
                .name = name,
                .body = {add_up, own, NULL, &web->digest},
            };
            err = builder_computed(builder, &node, &web->cells[i], detail);
        }
        if (err == ERR_OK) {
            err = builder_result(builder, name, web->cells[i], detail);
        }
        value_unref(name);
    }
    const struct value name = value_text_new("effect");
    const struct builder_node node = {
        .name = name,
        .body = {add_up, &web->nodes[NODES], NULL, &web->digest},
    };
    if (err == ERR_OK) {
        err = builder_effect(builder, &node, detail);
    }
    value_unref(name);
    return err;
}

static void web_init(struct web *web, struct random *random)
{
    const struct value name = value_text_new("web");
    *web = (struct web){0};
    web->digest = digest_of_bytes("test", "web", 3);
    for (size_t i = 0; i <= NODES; i++) {
        web->nodes[i].web = web;
        web->nodes[i].number = i;
        for (size_t j = 0; j < READS; j++) {
            web->nodes[i].reads[j] = random_below(random, STATES + i);
        }
    }
    web->pattern = pattern_new(
        &(struct pattern_spec){.name = name, .build = build, .ctx = web});
    value_unref(name);
}

/* -- Comparing ----------------------------------------------------------- */

struct site {
    char folder[256];
    struct world *world;
    struct world_store *store;
    struct world_runtime *one;
    struct piece *piece;
};

static void site_begin(struct site *site, struct web *web)
{
    static const char *const spaces[] = {"main.db"};
    const struct world_runtime_options options = {.spaces = spaces,
                                                  .space_count = 1};
    const struct value name = value_text_new("w");
    const struct piece_options start = {.name = name, .pattern = web->pattern};
    struct err_detail detail = {0};
    kit_folder_new(site->folder, sizeof site->folder);
    site->world = world_new(1);
    EXPECT(world_store_new(site->world, site->folder, &site->store, &detail) ==
           ERR_OK);
    EXPECT(world_runtime_new(site->store, &options, &site->one, &detail) ==
           ERR_OK);
    EXPECT(piece_start(&site->one->runtime, &start, &site->piece, &detail) ==
           ERR_OK);
    EXPECT(world_idle(site->one, true) == WORLD_AT_REST);
    value_unref(name);
}

static void site_end(struct site *site)
{
    world_free(site->world);
    kit_folder_remove(site->folder);
}

static int compare_lines(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Lines in an order, so that sets can be compared as texts. */
struct lines {
    char text[16][128];
    size_t count;
};

static void add_line(struct lines *lines, const char *text)
{
    for (size_t i = 0; i < lines->count; i++) {
        if (strcmp(lines->text[i], text) == 0) {
            return;
        }
    }
    if (lines->count < COUNT_OF(lines->text)) {
        (void)snprintf(lines->text[lines->count++], 128, "%s", text);
    }
}

static void join_lines(const struct lines *lines, struct buf *out)
{
    const char *all[16];
    for (size_t i = 0; i < lines->count; i++) {
        all[i] = lines->text[i];
    }
    qsort(all, lines->count, sizeof *all, compare_lines);
    for (size_t i = 0; i < lines->count; i++) {
        buf_append_text(out, all[i]);
        buf_append_char(out, '\n');
    }
}

/* The facts that a live runtime and a file share, in the words of the model:
 * each cause with its author. A runtime has several spaces and names them; a
 * file is one, and does not. */
static void write_causes(struct value account, struct buf *out)
{
    static const char space[] = "main.db/";
    struct lines lines = {0};
    const struct value causes = object_field(account, "causes");
    for (uint32_t i = 0; value_is_array(causes) && i < array_count(causes);
         i++) {
        struct buf line = {0};
        account_write_cause(&line, array_at(causes, i));
        const char *text = buf_text(&line);
        const bool named = strncmp(text, space, sizeof space - 1) == 0;
        add_line(&lines, named ? text + sizeof space - 1 : text);
        buf_release(&line);
    }
    join_lines(&lines, out);
}

static void expect_same(struct value live, struct value file, const char *field)
{
    if (!EXPECT(value_equal(object_field(live, field),
                            object_field(file, field)))) {
        (void)test_fail(__FILE__, __LINE__, "at '%s'", field);
    }
}

/* The sentence of an account without what only one of the sources knows. */
static struct value shared_sentence(struct value account)
{
    static const char *const own[] = {"pass", "sweep", "outcome", "causes"};
    struct value copy = value_ref(account);
    for (size_t i = 0; i < COUNT_OF(own); i++) {
        const struct value key = value_text_new(own[i]);
        copy = object_remove_adopt(copy, key);
        value_unref(key);
    }
    account_end_why(&copy);
    const struct value sentence = value_ref(object_field(copy, "sentence"));
    value_unref(copy);
    return sentence;
}

static void expect_same_why(struct value live, struct value file)
{
    static const char *const fields[] = {"piece", "node", "runs", "reason"};
    struct buf want = {0};
    struct buf got = {0};
    for (size_t i = 0; i < COUNT_OF(fields); i++) {
        expect_same(live, file, fields[i]);
    }
    write_causes(live, &want);
    write_causes(file, &got);
    EXPECT_TEXT(buf_text(&got), buf_text(&want));
    const struct value one = shared_sentence(live);
    const struct value other = shared_sentence(file);
    EXPECT(value_equal(one, other));
    value_unref(one);
    value_unref(other);
    buf_release(&want);
    buf_release(&got);
}

static struct offline_graph *graph_of(const struct site *site)
{
    struct offline_graph *graph = NULL;
    struct err_detail detail = {0};
    if (!EXPECT(
            offline_graph_open(site->folder, "main", NULL, &graph, &detail) ==
            ERR_OK)) {
        (void)test_fail(__FILE__, __LINE__, "%s", detail.text);
    }
    return graph;
}

static void compare_node(struct offline_graph *graph,
                         const struct site *site,
                         struct web_node *own)
{
    const struct value name = own->number < NODES
                                  ? cell_name(STATES + own->number)
                                  : value_text_new("effect");
    const struct text text = value_text(&name);
    char plain[32];
    (void)snprintf(plain, sizeof plain, "%.*s", (int)text.length, text.at);
    const struct node *node = piece_node(site->piece, name);
    const struct offline_node *seen =
        offline_node(offline_piece(graph, "w"), plain);
    const struct live_source source = {site->one->runtime.sched,
                                       &site->one->runtime};
    value_unref(name);
    if (!EXPECT(seen != NULL) || node->runs == own->runs ||
        !EXPECT(seen->run != NULL)) {
        return;
    }
    own->runs = node->runs;
    struct err_detail detail = {0};
    struct value file = VALUE_NONE;
    EXPECT(offline_why(graph, seen, true, &file, &detail) == ERR_OK);
    const struct value live = live_why(&source, node, node->runs);
    expect_same_why(live, file);
    value_unref(live);
    value_unref(file);
    const struct value live_not = live_why_not(&source, node);
    const struct value file_not = offline_why_not(graph, seen);
    expect_same(live_not, file_not, "piece");
    expect_same(live_not, file_not, "node");
    expect_same(live_not, file_not, "condition");
    expect_same(live_not, file_not, "needs");
    value_unref(live_not);
    value_unref(file_not);
}

static void compare_all(const struct site *site, struct web *web)
{
    struct offline_graph *graph = graph_of(site);
    for (size_t i = 0; graph != NULL && i <= NODES; i++) {
        compare_node(graph, site, &web->nodes[i]);
    }
    if (graph != NULL) {
        offline_graph_close(graph);
    }
}

static void edit(const struct site *site, struct place *cell, int64_t number)
{
    const struct cell_access access = {.runtime = &site->one->runtime};
    struct err_detail detail = {0};
    EXPECT(cell_put_adopt(&access, cell, value_int(number), &detail) == ERR_OK);
}

PROPERTY(the_file_has_the_causes_that_the_scheduler_has, 12)
{
    struct web web;
    struct site site;
    web_init(&web, random);
    site_begin(&site, &web);
    compare_all(&site, &web);
    for (unsigned round = 0; round < 12; round++) {
        const uint64_t edits = 1 + random_below(random, 2);
        for (uint64_t i = 0; i < edits; i++) {
            edit(&site,
                 web.cells[random_below(random, STATES)],
                 (int64_t)random_below(random, 6));
        }
        EXPECT(world_idle(site.one, true) == WORLD_AT_REST);
        compare_all(&site, &web);
    }
    site_end(&site);
    pattern_unref(web.pattern);
}

/* -- Who is behind it ---------------------------------------------------- */

/* c0 reads s0, c1 reads c0, everybody else s1; the effect reads c1. */
static void make_chain(struct web *web, struct random *random)
{
    web_init(web, random);
    for (size_t i = 0; i <= NODES; i++) {
        for (size_t j = 0; j < READS; j++) {
            web->nodes[i].reads[j] = i == 0       ? 0
                                     : i == 1     ? STATES
                                     : i == NODES ? STATES + 1
                                                  : 1;
        }
    }
}

TEST(a_chain_is_explained_back_to_the_edit)
{
    struct random random;
    struct web web;
    struct site site;
    random_init(&random, 1);
    make_chain(&web, &random);
    site_begin(&site, &web);
    edit(&site, web.cells[0], 10);
    EXPECT(world_idle(site.one, true) == WORLD_AT_REST);
    world_runtime_end(site.one); /* as a kill would */
    struct offline_graph *graph = graph_of(&site);
    const struct offline_node *node =
        offline_node(offline_piece(graph, "w"), "effect");
    struct value why = VALUE_NONE;
    struct err_detail detail = {0};
    EXPECT(offline_why(graph, node, true, &why, &detail) == ERR_OK);
    struct value at = why;
    static const char *const nodes[] = {"c1", "c0"};
    for (size_t i = 0; i < COUNT_OF(nodes); i++) {
        const struct value by =
            object_field(array_at(object_field(at, "causes"), 0), "by");
        const struct value name = object_field(by, "node");
        const struct text text = value_text(&name);
        EXPECT(text.length == 2 && memcmp(text.at, nodes[i], 2) == 0);
        at = object_field(by, "run");
    }
    const struct value type = object_field(
        object_field(array_at(object_field(at, "causes"), 0), "by"),
        "type");
    const struct text text = value_text(&type);
    EXPECT(text.length == 4 && memcmp(text.at, "edit", 4) == 0);
    value_unref(why);

    EXPECT(node->wanted && !node->live);
    EXPECT(offline_node(offline_piece(graph, "w"), "c1")->wanted);
    EXPECT(!offline_node(offline_piece(graph, "w"), "c2")->wanted);
    offline_graph_close(graph);
    site_end(&site);
    pattern_unref(web.pattern);
}

TEST(a_result_is_read_as_it_was)
{
    struct random random;
    struct web web;
    struct site site;
    random_init(&random, 1);
    make_chain(&web, &random);
    site_begin(&site, &web);
    struct offline_graph *graph = graph_of(&site);
    const uint64_t before = graph->engine.seq;
    offline_graph_close(graph);
    edit(&site, web.cells[0], 10);
    EXPECT(world_idle(site.one, true) == WORLD_AT_REST);
    graph = graph_of(&site);
    struct value path = array_push_adopt(value_empty_array(), cell_name(0));
    const struct value name = value_text_new("w");
    struct err_detail detail = {0};
    struct value found = VALUE_NONE;
    EXPECT(read_at(&graph->engine, name, path, before, &found, &detail) ==
           ERR_OK);
    EXPECT_INT(value_integer(found), 1);
    EXPECT(read_at(&graph->engine, name, path, ENGINE_HEAD, &found, &detail) ==
           ERR_OK);
    EXPECT_INT(value_integer(found), 10);
    EXPECT(read_at(&graph->engine,
                   name,
                   path,
                   graph->engine.seq + 1,
                   &found,
                   &detail) == ERR_SEQUENCE);
    value_unref(path);
    value_unref(name);
    offline_graph_close(graph);
    site_end(&site);
    pattern_unref(web.pattern);
}

/* -- Presence ------------------------------------------------------------ */

TEST(who_is_there_is_listed_and_who_has_gone_is_not)
{
    char folder[256];
    kit_folder_new(folder, sizeof folder);
    struct value about = value_empty_object();
    struct err_detail detail = {0};
    struct presence *one = NULL;
    struct presence *two = NULL;
    const struct value plain = value_text_new("session-1");
    const struct value odd = value_text_new("../a name/with: anything");
    object_put_adopt(&about, "command", value_text_new("test"));
    EXPECT(presence_begin(folder, plain, about, &one, &detail) == ERR_OK);
    EXPECT(presence_begin(folder, odd, about, &two, &detail) == ERR_OK);
    struct value list = presence_list(folder);
    EXPECT_EQ(array_count(list), 2);
    value_unref(list);
    presence_end(one);
    list = presence_list(folder);
    EXPECT_EQ(array_count(list), 1);
    EXPECT(key_equal(object_field(array_at(list, 0), "session"), odd));
    value_unref(list);
    presence_end(two);
    list = presence_list(folder);
    EXPECT_EQ(array_count(list), 0);
    value_unref(list);
    value_unref(about);
    value_unref(plain);
    value_unref(odd);
    kit_folder_sweep(folder, "");
    char run[300];
    (void)snprintf(run, sizeof run, "%s/run", folder);
    kit_folder_remove(run);
    kit_folder_remove(folder);
}
