/* Selectors of a space, through a link to a hub: what they reach becomes loaded
 * here, what leaves is unloaded, across lost connections and forgotten
 * sessions; and random runs against a model that starts from scratch. */

#include "replica/space_selector.h"

#include "host/hub_link.h"
#include "lib/hub_kit.h"
#include "lib/reach_gen.h"
#include "lib/reach_model.h"
#include "lib/test.h"
#include "lib/values.h"
#include "replica/overlay.h"
#include "replica/session.h"
#include "value/array.h"
#include "value/compare.h"
#include "value/json.h"
#include "value/object.h"

#define LINK(id) "{'/':{'link@1':{'id':'" id "'}}}"

/* A replica of user ann on a hub; another session of hers writes. */
struct runtime_side {
    struct hub_fixture fixture;
    struct replica replica;
    struct space *space;
    struct hub_link link;
    uint64_t commits;
    mono_ms now;
};

static void begin(struct runtime_side *side, enum hub_link_mode mode)
{
    hub_fixture_begin(&side->fixture, NULL, false, true);
    side->fixture.peers[0].principal = "ann";
    raw_open(&side->fixture.peers[0], "writer");
    replica_init(&side->replica, NULL);
    const struct value ann = value_text_new("ann");
    hub_link_init(&side->link, &side->fixture.hub, mode, ann);
    const struct space_options options = {
        .id = value_text_new("space"),
        .transport = &side->link.transport,
        .session = value_text_new("reader"),
        .deltas = mode == HUB_LINK_HELD,
    };
    EXPECT_INT(space_open(&side->replica, &options, &side->space, NULL),
               ERR_OK);
    side->commits = 0;
    side->now = 0;
}

static void end(struct runtime_side *side)
{
    replica_release(&side->replica);
    hub_link_release(&side->link);
    hub_fixture_end(&side->fixture);
}

/* Everything that is under way arrives. */
static void settle(struct runtime_side *side)
{
    for (unsigned i = 0; i < 4; i++) {
        side->now += 60000;
        replica_step(&side->replica, side->now);
        hub_link_pump(&side->link);
        replica_step(&side->replica, side->now);
        hub_link_pump(&side->link);
    }
}

static void writes(struct runtime_side *side, const char *what)
{
    struct buf line = {0};
    buf_printf(&line,
               "writer %llu | %s",
               (unsigned long long)++side->commits,
               what);
    raw_commit(&side->fixture.peers[0], buf_text(&line));
    (void)heard(&side->fixture.peers[0]);
    buf_release(&line);
}

/* Adopts the schema and the path. */
static struct selector selector_of(const char *id,
                                   const char *root,
                                   const char *path,
                                   const char *schema)
{
    return (struct selector){
        .id = value_text_new(id),
        .root = {value_text_new(root), SCOPE_SPACE},
        .path = value_text_new(path),
        .schema = from_quoted(schema),
    };
}

static enum err watch(struct runtime_side *side,
                      const char *id,
                      const char *root,
                      const char *path,
                      const char *schema)
{
    struct selector selector = selector_of(id, root, path, schema);
    struct err_detail detail = {0};
    const enum err err = space_watch_selector(side->space, &selector, &detail);
    EXPECT_INT(detail.err, err);
    selector_release(&selector);
    return err;
}

static enum space_selector_state state(struct runtime_side *side,
                                       const char *id)
{
    return space_selector_state(side->space, value_text_new(id), NULL);
}

/* The document as it is here: its text, "-" if there is none, "?" if it is not
 * loaded. Each may be asked for once per expression. */
static const char *shown(struct runtime_side *side, const char *id)
{
    static char text[256];
    const struct entity *entity =
        entity_find(side->space, SCOPE_SPACE, value_text_new(id));
    if (entity == NULL || !entity->loaded) {
        return "?";
    }
    struct value document = entity_state_document(&entity->visible);
    if (value_is_absent(document)) {
        return "-";
    }
    struct buf json = {0};
    json_write(&json, document, JSON_CANONICAL, 0);
    CHECK(json.length < sizeof text);
    memcpy(text, buf_text(&json), json.length + 1);
    buf_release(&json);
    value_unref(document);
    return text;
}

/* -- Both kinds of links ------------------------------------------------- */

static void reach_and_leave(enum hub_link_mode mode)
{
    struct runtime_side side;
    begin(&side, mode);
    writes(&side, "set A {'x':" LINK("B") "}");
    writes(&side, "set B 1");
    EXPECT_INT(watch(&side, "x", "A", "/x", "true"), ERR_OK);
    EXPECT_INT(watch(&side, "x", "A", "/x", "true"), ERR_OK);
    EXPECT_INT(watch(&side, "x", "B", "/x", "true"), ERR_ARGUMENT);
    EXPECT_INT(state(&side, "x"), SELECTOR_WAITING);
    EXPECT_INT(state(&side, "y"), SELECTOR_NONE);
    settle(&side);
    EXPECT_INT(state(&side, "x"), SELECTOR_INSTALLED);
    EXPECT_TEXT(shown(&side, "B"), "{\"value\":1}");
    writes(&side, "set B 2");
    writes(&side, "set C 3");
    settle(&side);
    EXPECT_TEXT(shown(&side, "B"), "{\"value\":2}");
    EXPECT_TEXT(shown(&side, "C"), "?");
    writes(&side, "set A {'x':" LINK("C") "}");
    settle(&side);
    EXPECT_TEXT(shown(&side, "B"), "?");
    EXPECT_TEXT(shown(&side, "C"), "{\"value\":3}");
    space_unwatch_selector(side.space, value_text_new("x"));
    EXPECT_INT(state(&side, "x"), SELECTOR_NONE);
    settle(&side);
    EXPECT_TEXT(shown(&side, "A"), "?");
    EXPECT_TEXT(shown(&side, "C"), "?");
    EXPECT_EQ(side.fixture.hub.documents.count, 0);
    end(&side);
}

TEST(what_a_selector_reaches_is_loaded_and_what_leaves_is_not_direct)
{
    reach_and_leave(HUB_LINK_DIRECT);
}

TEST(what_a_selector_reaches_is_loaded_and_what_leaves_is_not_held)
{
    reach_and_leave(HUB_LINK_HELD);
}

TEST(m13_requests_of_one_id_take_effect_in_the_order_of_the_calls)
{
    struct runtime_side side;
    begin(&side, HUB_LINK_HELD);
    writes(&side, "set A " LINK("B"));
    writes(&side, "set C " LINK("D"));
    EXPECT_INT(watch(&side, "x", "A", "", "true"), ERR_OK);
    settle(&side);
    const struct value id = value_text_new("x");
    space_unwatch_selector(side.space, id);
    EXPECT_INT(watch(&side, "x", "C", "", "true"), ERR_OK);
    replica_step(&side.replica, side.now); /* both are under way */
    space_unwatch_selector(side.space, id);
    EXPECT_INT(watch(&side, "x", "C", "", "false"), ERR_OK);
    settle(&side);
    EXPECT_INT(state(&side, "x"), SELECTOR_INSTALLED);
    EXPECT_TEXT(shown(&side, "A"), "?");
    EXPECT_TEXT(shown(&side, "D"), "?");
    EXPECT_CONTAINS(shown(&side, "C"), "link@1");
    EXPECT_EQ(side.fixture.hub.documents.count, 1);
    end(&side);
}

TEST(a_refused_selector_says_why_and_can_be_tried_again)
{
    struct runtime_side side;
    begin(&side, HUB_LINK_HELD);
    writes(&side, "set A " LINK("B"));
    EXPECT_INT(watch(&side, "x", "A", "no pointer", "true"), ERR_OK);
    settle(&side);
    struct err_detail why = {0};
    EXPECT_INT(space_selector_state(side.space, value_text_new("x"), &why),
               SELECTOR_REFUSED);
    EXPECT_INT(why.err, ERR_SYNTAX);
    EXPECT_CONTAINS(why.text, "JSON Pointer");
    EXPECT_INT(watch(&side, "x", "A", "", "true"), ERR_OK);
    settle(&side);
    EXPECT_INT(state(&side, "x"), SELECTOR_INSTALLED);
    EXPECT_TEXT(shown(&side, "B"), "-");
    end(&side);
}

TEST(a_selector_that_the_store_ends_is_refused_here)
{
    struct runtime_side side;
    begin(&side, HUB_LINK_HELD);
    struct selector selector = selector_of("x", "A", "", "true");
    selector.has_count = true;
    selector.count = 1;
    EXPECT_INT(space_watch_selector(side.space, &selector, NULL), ERR_OK);
    selector_release(&selector);
    settle(&side);
    EXPECT_INT(state(&side, "x"), SELECTOR_INSTALLED);
    writes(&side, "set A " LINK("B"));
    settle(&side);
    struct err_detail why = {0};
    EXPECT_INT(space_selector_state(side.space, value_text_new("x"), &why),
               SELECTOR_REFUSED);
    EXPECT_INT(why.err, ERR_LIMIT_REACH);
    EXPECT_TEXT(shown(&side, "A"), "?");
    end(&side);
}

TEST(a_space_without_a_store_has_no_selectors)
{
    struct replica replica;
    replica_init(&replica, NULL);
    const struct space_options options = {.id = value_text_new("space")};
    struct space *space = NULL;
    EXPECT_INT(space_open(&replica, &options, &space, NULL), ERR_OK);
    struct selector selector = selector_of("x", "A", "", "true");
    EXPECT_INT(space_watch_selector(space, &selector, NULL), ERR_ARGUMENT);
    selector_release(&selector);
    replica_release(&replica);
}

/* -- Connections --------------------------------------------------------- */

TEST(a_lost_connection_continues_with_what_came_and_left_meanwhile)
{
    struct runtime_side side;
    begin(&side, HUB_LINK_HELD);
    writes(&side, "set A " LINK("B"));
    EXPECT_INT(watch(&side, "x", "A", "", "true"), ERR_OK);
    settle(&side);
    EXPECT_TEXT(shown(&side, "B"), "-");
    hub_link_break(&side.link);
    writes(&side, "set A " LINK("C"));
    settle(&side);
    EXPECT_EQ(side.space->session->counters.resumed, 1);
    EXPECT_TEXT(shown(&side, "B"), "?");
    EXPECT_TEXT(shown(&side, "C"), "-");
    EXPECT_INT(state(&side, "x"), SELECTOR_INSTALLED);
    end(&side);
}

TEST(a_forgotten_session_installs_its_selectors_again)
{
    struct runtime_side side;
    begin(&side, HUB_LINK_HELD);
    writes(&side, "set A " LINK("B"));
    EXPECT_INT(watch(&side, "x", "A", "", "true"), ERR_OK);
    settle(&side);
    hub_link_break(&side.link);
    writes(&side, "set A " LINK("C"));
    hub_step(&side.fixture.hub, 1000 + 2 * HUB_KEEP_MS); /* it is forgotten */
    settle(&side);
    EXPECT_EQ(side.space->session->counters.resumed, 0);
    EXPECT_INT(state(&side, "x"), SELECTOR_INSTALLED);
    EXPECT_TEXT(shown(&side, "B"), "?");
    EXPECT_TEXT(shown(&side, "C"), "-");
    EXPECT_EQ(side.fixture.hub.documents.count, 2);
    writes(&side, "set C 1");
    settle(&side);
    EXPECT_TEXT(shown(&side, "C"), "{\"value\":1}");
    end(&side);
}

TEST(a_reset_installs_them_again_too)
{
    struct runtime_side side;
    begin(&side, HUB_LINK_HELD);
    writes(&side, "set A " LINK("B"));
    EXPECT_INT(watch(&side, "x", "A", "", "true"), ERR_OK);
    settle(&side);
    space_reset(side.space);
    EXPECT_TEXT(shown(&side, "A"), "?");
    settle(&side);
    EXPECT_TEXT(shown(&side, "B"), "-");
    EXPECT_INT(state(&side, "x"), SELECTOR_INSTALLED);
    end(&side);
}

/* -- Beside documents that are wanted by name ---------------------------- */

TEST(a_wanted_document_stays_when_it_leaves_the_reach)
{
    struct runtime_side side;
    begin(&side, HUB_LINK_HELD);
    struct entity *entity = NULL;
    EXPECT_INT(
        entity_of(side.space, SCOPE_SPACE, value_text_new("B"), &entity, NULL),
        ERR_OK);
    space_want(side.space, entity);
    writes(&side, "set A " LINK("B"));
    EXPECT_INT(watch(&side, "x", "A", "", "true"), ERR_OK);
    settle(&side);
    EXPECT(entity->loaded && !entity->pushed);
    writes(&side, "set A 1");
    settle(&side);
    EXPECT(entity->loaded && entity->watched);
    end(&side);
}

TEST(a_document_that_left_the_reach_can_be_wanted)
{
    struct runtime_side side;
    begin(&side, HUB_LINK_HELD);
    writes(&side, "set A " LINK("B"));
    writes(&side, "set B 1");
    EXPECT_INT(watch(&side, "x", "A", "", "true"), ERR_OK);
    settle(&side);
    struct entity *entity =
        entity_find(side.space, SCOPE_SPACE, value_text_new("B"));
    EXPECT(entity->loaded && entity->pushed);
    writes(&side, "set A 1");
    settle(&side);
    EXPECT(!entity->loaded && !entity->watched);
    space_want(side.space, entity);
    settle(&side);
    EXPECT(entity->loaded && !entity->pushed);
    EXPECT_TEXT(shown(&side, "B"), "{\"value\":1}");
    end(&side);
}

/* -- Against the model --------------------------------------------------- */

enum {
    CHOICES = 3,
};

struct choice {
    bool chosen;
    struct selector selector;
    struct value path; /* as an array, with "value" */
};

struct run {
    struct runtime_side side;
    struct random *random;
    struct choice choices[CHOICES];
    VEC(struct value) read;
};

static void choose(struct run *run, size_t index)
{
    struct choice *choice = &run->choices[index];
    if (choice->chosen) {
        space_unwatch_selector(run->side.space, choice->selector.id);
        selector_release(&choice->selector);
        value_unref(choice->path);
        *choice = (struct choice){0};
        return;
    }
    struct buf pointer = {0};
    choice->path = reach_gen_path(run->random);
    for (uint32_t i = 0; i < array_count(choice->path); i++) {
        const struct value key = array_at(choice->path, i);
        const struct text text = value_text(&key);
        buf_printf(&pointer, "/%.*s", (int)text.length, text.at);
    }
    const struct value first = value_text_new("value");
    choice->path = array_splice_adopt(choice->path, 0, 0, &first, 1);
    choice->selector = (struct selector){
        .id = numbered("x", index),
        .root = reach_gen_target(run->random),
        .path = value_string_adopt(&pointer),
        .schema = reach_gen_schema(run->random),
        .has_depth = random_one_in(run->random, 3),
    };
    if (choice->selector.has_depth) {
        choice->selector.depth = random_below(run->random, 4);
    }
    choice->chosen = true;
    EXPECT_INT(space_watch_selector(run->side.space, &choice->selector, NULL),
               ERR_OK);
}

static void write_something(struct run *run)
{
    const struct target target = reach_gen_target(run->random);
    const struct text id = value_text(&target.id);
    struct value document = reach_gen_document(run->random);
    struct buf line = {0};
    buf_printf(&line,
               "put %.*s%s ",
               (int)id.length,
               id.at,
               target.scope == SCOPE_USER ? "~user" : "");
    json_write(&line, document, JSON_CANONICAL, 0);
    for (size_t i = 0; i < line.length; i++) {
        line.at[i] = (char)(line.at[i] == '"' ? '\'' : line.at[i]);
    }
    writes(&run->side, buf_text(&line));
    buf_release(&line);
    value_unref(document);
    value_unref(target.id);
}

/* The replica itself writes a document. */
static void commit_something(struct run *run)
{
    const struct target target = reach_gen_target(run->random);
    struct entity *entity = NULL;
    EXPECT_INT(
        entity_of(run->side.space, target.scope, target.id, &entity, NULL),
        ERR_OK);
    struct transaction *transaction =
        transaction_begin(&run->side.replica, NULL);
    struct place *place = place_root(entity);
    EXPECT_INT(transaction_put_adopt(transaction,
                                     place,
                                     reach_gen_document(run->random),
                                     NULL),
               ERR_OK);
    EXPECT_INT(transaction_finish(transaction, NULL), ERR_OK);
    place_unref(place);
    value_unref(target.id);
}

static struct value model_document(void *ctx, const struct target *target)
{
    struct run *run = ctx;
    const struct engine_address address = {
        .branch = value_text_new(""),
        .scope_key =
            value_text_new(target->scope == SCOPE_USER ? "user:ann" : "space"),
        .id = target->id,
    };
    struct value document = VALUE_NONE;
    EXPECT_INT(engine_read(&run->side.fixture.kit.engine,
                           &address,
                           ENGINE_HEAD,
                           &document,
                           NULL),
               ERR_OK);
    vec_push(&run->read, document);
    return document;
}

static void compare(struct run *run)
{
    struct reach_model model = {.document = model_document, .ctx = run};
    for (size_t i = 0; i < CHOICES; i++) {
        const struct choice *choice = &run->choices[i];
        if (choice->chosen) {
            reach_model_add(&model,
                            &choice->selector.root,
                            choice->path,
                            choice->selector.schema,
                            choice->selector.has_depth ? choice->selector.depth
                                                       : UINT64_MAX);
            EXPECT_INT(space_selector_state(run->side.space,
                                            choice->selector.id,
                                            NULL),
                       SELECTOR_INSTALLED);
        }
    }
    size_t watched = 0;
    MAP_FOREACH (&run->side.space->entities, slot) {
        const struct entity *entity = slot->item;
        const struct target target = {entity->id, entity->scope};
        watched += entity->watched ? 1 : 0;
        /* What it has written itself is watched by name. */
        EXPECT_INT(entity->watched, entity->loaded);
        EXPECT(!entity->watched || !entity->pushed ||
               reach_model_has(&model, &target));
        EXPECT(!entity->reach_lost);
        if (entity->loaded) {
            struct value document = entity_state_document(&entity->visible);
            EXPECT_VALUE(document, model_document(run, &target));
            value_unref(document);
        }
    }
    VEC_FOREACH (&model.reached, target) {
        const struct entity *entity =
            entity_find(run->side.space, target->scope, target->id);
        EXPECT(entity != NULL && entity->loaded);
    }
    EXPECT_EQ(run->side.fixture.hub.documents.count, watched);
    VEC_FOREACH (&run->read, document) {
        value_unref(*document);
    }
    vec_clear(&run->read);
    reach_model_release(&model);
}

/* Some messages arrive, and the connection may be lost, or the session
 * forgotten. */
static void disturb(struct run *run)
{
    struct random *random = run->random;
    if (random_one_in(random, 3)) {
        replica_step(&run->side.replica, run->side.now);
    }
    if (random_one_in(random, 3)) {
        hub_link_pump_to_hub(&run->side.link);
    }
    if (random_one_in(random, 3)) {
        hub_link_pump_to_session(&run->side.link);
    }
    if (random_one_in(random, 8)) {
        hub_link_break(&run->side.link);
        if (random_one_in(random, 4)) {
            hub_step(&run->side.fixture.hub,
                     run->side.fixture.hub.now + 2 * HUB_KEEP_MS);
        }
    }
}

static void run_random(struct random *random, enum hub_link_mode mode)
{
    struct run run = {.random = random};
    begin(&run.side, mode);
    for (size_t step = 0; step < 40; step++) {
        for (uint64_t n = random_below(random, 3); n > 0; n--) {
            write_something(&run);
            disturb(&run);
        }
        if (random_one_in(random, 12)) {
            commit_something(&run);
        }
        if (random_one_in(random, 3)) {
            choose(&run, random_below(random, CHOICES));
            disturb(&run);
        }
        if (random_one_in(random, 2)) {
            settle(&run.side);
            compare(&run);
        }
    }
    for (size_t i = 0; i < CHOICES; i++) {
        if (run.choices[i].chosen) {
            choose(&run, i);
        }
    }
    settle(&run.side);
    compare(&run);
    vec_release(&run.read);
    end(&run.side);
}

PROPERTY(a_replica_holds_what_the_model_finds_from_scratch_direct, 100)
{
    run_random(random, HUB_LINK_DIRECT);
}

PROPERTY(a_replica_holds_what_the_model_finds_from_scratch_held, 100)
{
    run_random(random, HUB_LINK_HELD);
}
