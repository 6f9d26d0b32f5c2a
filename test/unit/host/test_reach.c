/* The reach of selectors, without a hub: what is found, what a change costs,
 * and random graphs against a model that starts from scratch each time. */

#include "host/reach.h"

#include <string.h>

#include "base/buf.h"
#include "base/limits.h"
#include "lib/reach_gen.h"
#include "lib/reach_model.h"
#include "lib/test.h"
#include "lib/values.h"
#include "value/array.h"
#include "value/compare.h"
#include "value/object.h"

enum {
    DOCUMENTS = 40,
    SELECTORS = 5,
};

struct stored {
    struct target target;
    struct value document;
};

/* A store of few documents, and a reach over it. */
struct world {
    struct path_table paths;
    struct reach reach;
    struct stored stored[DOCUMENTS];
    size_t count;
    size_t failing; /* reads until one fails; 0: none does */
    struct buf heard;
    size_t held;
};

static struct stored *stored_of(struct world *world,
                                const struct target *target)
{
    for (size_t i = 0; i < world->count; i++) {
        struct stored *stored = &world->stored[i];
        if (stored->target.scope == target->scope &&
            value_equal(stored->target.id, target->id)) {
            return stored;
        }
    }
    return NULL;
}

static enum err on_read(void *ctx,
                        const struct target *target,
                        struct value *document,
                        uint64_t *seq,
                        struct err_detail *detail)
{
    struct world *world = ctx;
    if (world->failing > 0 && --world->failing == 0) {
        return err_set(detail, ERR_CORRUPT, "a damaged document");
    }
    const struct stored *stored = stored_of(world, target);
    *document = stored != NULL ? value_ref(stored->document) : VALUE_NONE;
    *seq = 7;
    return ERR_OK;
}

static void world_begin(struct world *world, uint32_t depth, size_t most)
{
    *world = (struct world){0};
    path_table_init(&world->paths);
    reach_init(&world->reach, &world->paths, VALUE_NONE, depth, most);
    world->reach.read = on_read;
    world->reach.read_ctx = world;
}

static void world_end(struct world *world)
{
    reach_release(&world->reach);
    for (size_t i = 0; i < world->count; i++) {
        value_unref(world->stored[i].target.id);
        value_unref(world->stored[i].document);
    }
    buf_release(&world->heard);
    path_table_release(&world->paths);
}

/* Adopts the document; the reach hears of the change. */
static void store(struct world *world,
                  const struct target *target,
                  struct value document)
{
    struct stored *stored = stored_of(world, target);
    if (stored == NULL) {
        CHECK(world->count < DOCUMENTS);
        stored = &world->stored[world->count++];
        stored->target = (struct target){value_ref(target->id), target->scope};
        stored->document = VALUE_NONE;
    }
    value_unref(stored->document);
    stored->document = document;
    reach_changed(&world->reach, target);
}

static void put(struct world *world, const char *id, const char *document)
{
    const struct target target = {value_text_new(id), SCOPE_SPACE};
    store(world, &target, from_quoted(document));
    value_unref(target.id);
}

static void on_take(void *ctx, const struct reach_document *document, bool add)
{
    struct world *world = ctx;
    const struct text id = value_text(&document->target.id);
    buf_printf(&world->heard,
               "%s%c%.*s",
               world->heard.length > 0 ? " " : "",
               add ? '+' : '-',
               (int)id.length,
               id.at);
    world->held = add ? world->held + 1 : world->held - 1;
}

/* What came and went since the last time: "+a -b". */
static const char *taken(struct world *world)
{
    buf_release(&world->heard);
    reach_take(&world->reach, on_take, world);
    return buf_text(&world->heard);
}

static const char *updated(struct world *world)
{
    struct err_detail detail = {0};
    EXPECT_INT(reach_update(&world->reach, &detail), ERR_OK);
    EXPECT(reach_check(&world->reach));
    return taken(world);
}

static enum err try_add(struct world *world,
                        const char *id,
                        const char *pointer,
                        const char *schema,
                        struct reach_node **out)
{
    struct reach_place root = {
        .target = {value_text_new(id), SCOPE_SPACE},
        .path = from_pointer(&world->paths, pointer),
        .schema = from_quoted(schema),
    };
    struct err_detail detail = {0};
    const enum err err = reach_add(&world->reach, &root, out, &detail);
    EXPECT_INT(detail.err, err);
    EXPECT(reach_check(&world->reach) || err != ERR_OK);
    value_unref(root.target.id);
    value_unref(root.schema);
    path_unref(root.path);
    return err;
}

static struct reach_node *add(struct world *world,
                              const char *id,
                              const char *pointer,
                              const char *schema)
{
    struct reach_node *node = NULL;
    EXPECT_INT(try_add(world, id, pointer, schema, &node), ERR_OK);
    return node;
}

#define LINK(id)     "{'/':{'link@1':{'id':'" id "'}}}"
#define AT(id, path) "{'/':{'link@1':{'id':'" id "','path':[" path "]}}}"

/* -- What is reached ----------------------------------------------------- */

TEST(m03_a_schema_names_what_is_followed_and_cycles_end)
{
    struct world world;
    world_begin(&world, REACH_ANY_DEPTH, 100);
    put(&world,
        "a",
        "{'value':{'named':" LINK("b") ",'opaque':" LINK(
            "x") ","
                 "'list':[{'in':" LINK("c") ",'out':" LINK("y") "}]}}");
    put(&world, "b", "{'value':{'named':" LINK("a") ",'opaque':1}}");
    put(&world, "c", "{'value':[" LINK("z") "]}");
    (void)add(&world,
              "a",
              "/value",
              "{'type':'object','properties':{'named':{'properties':"
              "{'named':{'type':'object'}}},'list':{'type':'array','items':"
              "{'properties':{'in':{'type':'string'}}}}}}");
    /* b leads back to a, and what is named there names nothing more. */
    EXPECT_TEXT(taken(&world), "+a +b +c");
    world_end(&world);
}

TEST(m03_a_link_beside_the_value_brings_its_document_and_no_more)
{
    struct world world;
    world_begin(&world, REACH_ANY_DEPTH, 100);
    put(&world, "a", "{'value':1,'source':{'code':[" LINK("b") "]}}");
    put(&world, "b", "{'value':" LINK("c") "}");
    struct reach_node *root = add(&world, "a", "/value", "true");
    EXPECT_TEXT(taken(&world), "+a +b");
    reach_remove(&world.reach, root);
    EXPECT_TEXT(updated(&world), "-a -b");
    (void)add(&world, "a", "/value", "false");
    EXPECT_TEXT(taken(&world), "+a");
    world_end(&world);
}

TEST(a_path_goes_on_behind_the_links_on_it)
{
    struct world world;
    world_begin(&world, REACH_ANY_DEPTH, 100);
    put(&world,
        "a",
        "{'value':{'x':" AT("b", "'value','in'") ",'y':" LINK("n") "}}");
    put(&world, "b", "{'value':{'in':{'z':" LINK("c") ",'w':" LINK("n") "}}}");
    put(&world, "c", "{'value':[1," LINK("d") "]}");
    (void)add(&world, "a", "/value/x/z", "true");
    EXPECT_TEXT(taken(&world), "+a +b +c +d");
    world_end(&world);
}

TEST(links_into_other_spaces_and_to_nothing_are_not_followed)
{
    struct world world;
    world_begin(&world, REACH_ANY_DEPTH, 100);
    put(&world,
        "a",
        "{'value':[{'/':{'link@1':{'id':'b','space':'other'}}},"
        "{'/':{'link@1':{'id':''}}},{'/':{'link@2':{'id':'c'}}},"
        "{'/':{'link@1':{}}}]}");
    (void)add(&world, "a", "/value", "true");
    EXPECT_TEXT(taken(&world), "+a");
    world_end(&world);
}

TEST(a_link_that_names_this_space_is_followed)
{
    struct world world;
    world_begin(&world, REACH_ANY_DEPTH, 100);
    world.reach.links.space = value_text_new("here");
    put(&world, "a", "{'value':{'/':{'link@1':{'id':'b','space':'here'}}}}");
    (void)add(&world, "a", "/value", "true");
    EXPECT_TEXT(taken(&world), "+a +b");
    world_end(&world);
}

TEST(a_depth_counts_links_to_other_documents)
{
    struct world world;
    world_begin(&world, 2, 100);
    put(&world,
        "a",
        "{'value':{'b':" LINK("b") ",'own':" AT("a", "'value','b'") "}}");
    put(&world, "b", "{'value':" LINK("c") "}");
    put(&world, "c", "{'value':" LINK("d") "}");
    put(&world, "d", "{'value':" LINK("e") "}");
    (void)add(&world, "a", "/value", "true");
    EXPECT_TEXT(taken(&world), "+a +b +c");
    /* Two places of a, and b; c leads no further. */
    EXPECT_EQ(world.reach.counters.searches, 3);
    put(&world, "a", "{'value':[" LINK("b") "," LINK("c") "]}");
    EXPECT_TEXT(updated(&world), "+d");
    put(&world, "a", "{'value':[" LINK("b") "]}");
    EXPECT_TEXT(updated(&world), "-d");
    world_end(&world);
}

/* -- What a change costs ------------------------------------------------- */

TEST(m04_a_retarget_reads_what_changed_and_what_is_new)
{
    struct world world;
    world_begin(&world, REACH_ANY_DEPTH, 100);
    put(&world, "a", "{'value':[" LINK("b") "," LINK("c") "]}");
    put(&world, "b", "{'value':" LINK("e") "}");
    put(&world, "d", "{'value':" LINK("e") "}");
    (void)add(&world, "a", "/value", "true");
    EXPECT_TEXT(taken(&world), "+a +b +c +e");
    EXPECT_EQ(world.reach.counters.reads, 4);
    put(&world, "a", "{'value':[" LINK("d") "," LINK("c") "]}");
    EXPECT_TEXT(updated(&world), "-b +d");
    EXPECT_EQ(world.reach.counters.reads, 6); /* a and d */
    put(&world, "d", "{'value':1}");
    EXPECT_TEXT(updated(&world), "-e");
    EXPECT_EQ(world.reach.counters.reads, 7);
    put(&world, "z", "{'value':1}"); /* is not reached */
    EXPECT(!reach_is_pending(&world.reach));
    world_end(&world);
}

TEST(a_cycle_that_nothing_leads_to_is_dropped)
{
    struct world world;
    world_begin(&world, REACH_ANY_DEPTH, 100);
    put(&world, "a", "{'value':" LINK("b") "}");
    put(&world, "b", "{'value':" LINK("c") "}");
    put(&world, "c", "{'value':[" LINK("b") "," LINK("c") "]}");
    (void)add(&world, "a", "/value", "true");
    EXPECT_TEXT(taken(&world), "+a +b +c");
    put(&world, "a", "{'value':0}");
    EXPECT_TEXT(updated(&world), "-b -c");
    EXPECT_EQ(world.reach.documents.count, 1);
    EXPECT_EQ(world.reach.nodes.count, 1);
    world_end(&world);
}

TEST(m05_a_covered_selector_reads_nothing_until_its_cover_is_gone)
{
    struct world world;
    world_begin(&world, REACH_ANY_DEPTH, 100);
    put(&world, "a", "{'value':{'x':" LINK("b") "}}");
    put(&world, "b", "{'value':{'y':" LINK("c") ",'z':" LINK("d") "}}");
    struct reach_node *whole = add(&world, "a", "/value", "true");
    EXPECT_TEXT(taken(&world), "+a +b +c +d");
    EXPECT_EQ(world.reach.counters.reads, 4);
    (void)add(&world, "b", "/value", "{'properties':{'y':true}}");
    (void)add(&world, "b", "/value/y", "true");
    (void)add(&world, "a", "/value/x", "{'properties':{'z':false}}");
    struct reach_node *same = add(&world, "a", "/value", "true");
    EXPECT_TEXT(taken(&world), "");
    EXPECT_EQ(world.reach.counters.reads, 4);
    reach_remove(&world.reach, same);
    EXPECT_TEXT(updated(&world), "");
    EXPECT_EQ(world.reach.counters.reads, 4);
    reach_remove(&world.reach, whole);
    EXPECT_TEXT(updated(&world), "-d");
    world_end(&world);
}

/* -- Refusals ------------------------------------------------------------ */

TEST(more_documents_than_allowed_are_refused_and_nothing_is_added)
{
    struct world world;
    world_begin(&world, REACH_ANY_DEPTH, 3);
    put(&world, "a", "{'value':[" LINK("b") "," LINK("c") "]}");
    put(&world, "x", "{'value':" LINK("a") "}");
    (void)add(&world, "a", "/value", "true");
    EXPECT_TEXT(taken(&world), "+a +b +c");
    struct reach_node *node = NULL;
    EXPECT_INT(try_add(&world, "x", "/value", "true", &node), ERR_LIMIT_REACH);
    EXPECT(node == NULL);
    EXPECT_TEXT(updated(&world), "");
    EXPECT_EQ(world.reach.documents.count, 3);
    world_end(&world);
}

TEST(more_places_than_allowed_are_refused_too)
{
    struct world world;
    world_begin(&world, 3, 100);
    world.reach.most_places = 3;
    put(&world,
        "a",
        "{'value':[" AT("b", "'value','x'") "," AT("b", "'value','y'") "]}");
    struct reach_node *node = NULL;
    EXPECT_INT(try_add(&world, "a", "/value", "true", &node), ERR_OK);
    EXPECT_TEXT(taken(&world), "+a +b");
    put(&world,
        "a",
        "{'value':[" AT("b", "'value','x'") "," AT("b", "'value','y'") "," AT(
            "b",
            "'value','z'") "]}");
    struct err_detail detail = {0};
    EXPECT_INT(reach_update(&world.reach, &detail), ERR_LIMIT_REACH);
    EXPECT_CONTAINS(detail.text, "more than 3 places");
    world_end(&world);
}

TEST(a_reach_that_grows_beyond_the_limit_fits_again_without_a_selector)
{
    struct world world;
    world_begin(&world, REACH_ANY_DEPTH, 3);
    put(&world, "a", "{'value':" LINK("b") "}");
    (void)add(&world, "a", "/value", "true");
    struct reach_node *last = add(&world, "c", "/value", "true");
    EXPECT_TEXT(taken(&world), "+a +b +c");
    put(&world, "c", "{'value':" LINK("d") "}");
    struct err_detail detail = {0};
    EXPECT_INT(reach_update(&world.reach, &detail), ERR_LIMIT_REACH);
    EXPECT_CONTAINS(detail.text, "more than 3 documents");
    reach_remove(&world.reach, last);
    EXPECT_TEXT(updated(&world), "-c");
    world_end(&world);
}

TEST(a_failed_read_adds_nothing_and_an_update_is_continued)
{
    struct world world;
    world_begin(&world, REACH_ANY_DEPTH, 100);
    put(&world, "a", "{'value':[" LINK("b") "," LINK("c") "]}");
    struct reach_node *node = NULL;
    for (size_t i = 1; i <= 3; i++) {
        world.failing = i;
        EXPECT_INT(try_add(&world, "a", "/value", "true", &node), ERR_CORRUPT);
        EXPECT(!reach_is_pending(&world.reach));
        EXPECT_EQ(world.reach.documents.count, 0);
    }
    (void)add(&world, "a", "/value", "true");
    EXPECT_TEXT(taken(&world), "+a +b +c");
    put(&world, "b", "{'value':" LINK("d") "}");
    put(&world, "d", "{'value':" LINK("e") "}");
    world.failing = 3;
    struct err_detail detail = {0};
    EXPECT_INT(reach_update(&world.reach, &detail), ERR_CORRUPT);
    EXPECT(reach_is_pending(&world.reach));
    put(&world, "d", "{'value':" LINK("f") "}"); /* not followed by its owner */
    EXPECT_TEXT(updated(&world), "+d +f");
    world_end(&world);
}

/* -- Against the model --------------------------------------------------- */

struct chosen {
    struct reach_node *node; /* NULL: free */
    struct target root;
    struct value path;
    struct value schema;
};

static struct value model_document(void *ctx, const struct target *target)
{
    const struct stored *stored = stored_of(ctx, target);
    return stored != NULL ? stored->document : VALUE_NONE;
}

static void end_chosen(struct chosen *chosen)
{
    value_unref(chosen->root.id);
    value_unref(chosen->path);
    value_unref(chosen->schema);
    *chosen = (struct chosen){0};
}

static void choose(struct world *world,
                   struct random *random,
                   struct chosen *chosen)
{
    if (chosen->node != NULL) {
        reach_remove(&world->reach, chosen->node);
        end_chosen(chosen);
        return;
    }
    chosen->root = reach_gen_target(random);
    chosen->path = reach_gen_path(random);
    const struct value first = value_text_new("value");
    chosen->path = array_splice_adopt(chosen->path, 0, 0, &first, 1);
    chosen->schema = reach_gen_schema(random);
    struct reach_place root = {
        .target = chosen->root,
        .schema = chosen->schema,
    };
    EXPECT_INT(path_of_array(&world->paths, chosen->path, &root.path, NULL),
               ERR_OK);
    world->failing = random_one_in(random, 8) ? random_below(random, 4) : 0;
    const enum err err = reach_add(&world->reach, &root, &chosen->node, NULL);
    world->failing = 0;
    path_unref(root.path);
    if (err != ERR_OK) {
        end_chosen(chosen);
    }
}

static void change(struct world *world, struct random *random)
{
    const struct target target = reach_gen_target(random);
    store(world,
          &target,
          random_one_in(random, 8) ? VALUE_NONE : reach_gen_document(random));
    value_unref(target.id);
}

static void compare(struct world *world,
                    const struct chosen *all,
                    uint64_t depth)
{
    struct reach_model model = {.document = model_document, .ctx = world};
    for (size_t i = 0; i < SELECTORS; i++) {
        if (all[i].node != NULL) {
            reach_model_add(&model,
                            &all[i].root,
                            all[i].path,
                            all[i].schema,
                            depth);
        }
    }
    EXPECT_EQ(world->held, model.reached.count);
    VEC_FOREACH (&model.reached, target) {
        EXPECT(reach_holds(&world->reach, target));
    }
    reach_model_release(&model);
}

static void run_random(struct random *random, uint32_t depth, uint64_t limit)
{
    struct world world;
    struct chosen chosen[SELECTORS] = {0};
    world_begin(&world, depth, 1000);
    for (size_t step = 0; step < 60; step++) {
        for (uint64_t n = random_below(random, 3); n > 0; n--) {
            change(&world, random);
        }
        if (random_one_in(random, 4)) {
            choose(&world, random, &chosen[random_below(random, SELECTORS)]);
        }
        world.failing = random_one_in(random, 6) ? random_below(random, 5) : 0;
        struct err_detail detail = {0};
        const enum err err = reach_update(&world.reach, &detail);
        world.failing = 0;
        if (err == ERR_OK) {
            EXPECT(reach_check(&world.reach));
            (void)taken(&world);
            compare(&world, chosen, limit);
        }
    }
    for (size_t i = 0; i < SELECTORS; i++) {
        if (chosen[i].node != NULL) {
            choose(&world, random, &chosen[i]);
        }
    }
    (void)updated(&world);
    EXPECT_EQ(world.held, 0);
    EXPECT_EQ(world.reach.documents.count, 0);
    world_end(&world);
}

PROPERTY(the_reach_is_what_the_model_finds_from_scratch, 300)
{
    run_random(random, REACH_ANY_DEPTH, UINT64_MAX);
}

PROPERTY(the_reach_with_a_depth_is_what_the_model_finds_from_scratch, 300)
{
    const uint32_t depth = (uint32_t)random_below(random, 5);
    run_random(random, depth, depth);
}
