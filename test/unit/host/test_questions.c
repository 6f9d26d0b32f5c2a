/* Questions to a store that is elsewhere: what comes back is what the engine
 * says, and nothing that comes in is trusted. */

#include "host/questions.h"

#include <string.h>

#include "host/engine_access.h"
#include "host/resume_pages.h"
#include "host/world.h"
#include "lib/store_kit.h"
#include "lib/test.h"
#include "runtime/cell.h"
#include "value/array.h"
#include "value/json.h"
#include "value/object.h"

/* -- The way there and back ---------------------------------------------- */

/* A channel to an engine: everything is text on the way. */
struct wire {
    struct engine *engine;
    struct questions_context context;
    struct client_leases leases;
    struct lease_holder holder;
    unsigned asked;
    bool is_down;
    const char *instead; /* of each answer; or NULL */
};

static struct value through_text(struct value value)
{
    struct buf text = {0};
    struct value copy = VALUE_NONE;
    json_write(&text, value, JSON_AS_GIVEN, 0);
    EXPECT_EQ(json_read(text.at, text.length, NULL, &copy, NULL), ERR_OK);
    buf_release(&text);
    return copy;
}

static struct value parse(const char *text)
{
    struct value value = VALUE_NONE;
    struct buf plain = {0};
    buf_append_text(&plain, text);
    for (size_t i = 0; i < plain.length; i++) {
        plain.at[i] = (char)(plain.at[i] == '\'' ? '"' : plain.at[i]);
    }
    EXPECT_EQ(json_read(plain.at, plain.length, NULL, &value, NULL), ERR_OK);
    buf_release(&plain);
    return value;
}

static enum err ask(void *ctx,
                    struct value question,
                    struct value *answer,
                    struct err_detail *detail)
{
    struct wire *wire = ctx;
    wire->asked++;
    if (wire->is_down) {
        return err_set(detail, ERR_UNREACHABLE, "the wire is down");
    }
    if (wire->instead != NULL) {
        *answer = parse(wire->instead);
        return ERR_OK;
    }
    struct value there = through_text(question);
    struct value found = VALUE_NONE;
    const enum err err =
        questions_answer(wire->engine, &wire->context, there, &found, detail);
    EXPECT((err == ERR_OK) == !value_is_absent(found));
    if (err == ERR_OK) {
        *answer = through_text(found);
    }
    value_unref(found);
    value_unref(there);
    return err;
}

static void wire_begin(struct wire *wire, struct engine *engine)
{
    *wire = (struct wire){.engine = engine};
    wire->context = (struct questions_context){
        .identity = {value_text_new("ann"), value_text_new("s1")},
        .instance = value_text_new("i1"),
        .may_write = true,
    };
}

static void wire_end(struct wire *wire)
{
    value_unref(wire->context.identity.principal);
    value_unref(wire->context.identity.session);
    value_unref(wire->context.instance);
}

/* -- Pieces -------------------------------------------------------------- */

enum {
    NODES = 6,
};

/* Effects that read "a", the last of them also "b" of the second space. */
struct scene {
    struct world *world;
    struct world_store *store;
    struct world_runtime *one;
    struct place *here;
    struct place *there;
    struct engine *engines[2];
    struct wire wires[2];
    struct asked_store asked[2];
    struct engine_access direct[2];
};

static struct place *payload_of(struct world_runtime *one,
                                size_t space,
                                const char *id)
{
    struct entity *entity;
    struct value name = value_text_new(id);
    EXPECT_EQ(entity_of(one->runtime.spaces.at[space],
                        SCOPE_SPACE,
                        name,
                        &entity,
                        NULL),
              ERR_OK);
    value_unref(name);
    return place_payload(entity);
}

static enum run_result look(struct run *run, void *ctx)
{
    struct scene *scene = ctx;
    struct value value;
    const struct value name = node_name(run->node);
    const bool is_last = value_text(&name).at[1] == '0' + NODES - 1;
    if (run_read(run, scene->here, READ_DEEP, 0, &value) == ERR_OK) {
        value_unref(value);
    }
    if (is_last &&
        run_read(run, scene->there, READ_SHAPE, 0, &value) == ERR_OK) {
        value_unref(value);
    }
    return RUN_DONE;
}

static void put(struct scene *scene, struct place *place, int64_t number)
{
    const struct cell_access access = {.runtime = &scene->one->runtime};
    world_load(scene->one, place->entity);
    EXPECT_EQ(cell_put_adopt(&access, place, value_int(number), NULL), ERR_OK);
    EXPECT_EQ(world_idle(scene->one, true), WORLD_AT_REST);
}

static void register_all(struct scene *scene)
{
    struct value piece = value_text_new("piece");
    for (int i = 0; i < NODES; i++) {
        const char name[] = {'n', (char)('0' + i), '\0'};
        const struct node_identity identity = {
            .space = scene->one->runtime.spaces.at[0],
            .piece = piece,
            .generation = 3,
            .action = digest_of_bytes("action", name, strlen(name)),
        };
        const struct node_spec spec = {
            .kind = NODE_EFFECT,
            .run = look,
            .ctx = scene,
            .name = value_text_new(name),
            .identity = &identity,
        };
        (void)sched_register(scene->one->runtime.sched, &spec);
        value_unref(spec.name);
    }
    value_unref(piece);
}

static void scene_begin(struct scene *scene)
{
    static const char *const spaces[] = {"main", "second"};
    const struct world_runtime_options options = {
        .spaces = spaces,
        .space_count = 2,
    };
    *scene = (struct scene){.world = world_new(1)};
    EXPECT_EQ(world_store_new(scene->world, NULL, &scene->store, NULL), ERR_OK);
    EXPECT_EQ(world_runtime_new(scene->store, &options, &scene->one, NULL),
              ERR_OK);
    scene->here = payload_of(scene->one, 0, "a");
    scene->there = payload_of(scene->one, 1, "b");
    put(scene, scene->here, 1);
    put(scene, scene->there, 1);
    register_all(scene);
    EXPECT_EQ(world_idle(scene->one, true), WORLD_AT_REST);
    for (size_t i = 0; i < 2; i++) {
        EXPECT_EQ(
            world_engine(scene->store, spaces[i], &scene->engines[i], NULL),
            ERR_OK);
        wire_begin(&scene->wires[i], scene->engines[i]);
        asked_store_init(&scene->asked[i], ask, &scene->wires[i], NULL);
        engine_access_init(&scene->direct[i], scene->engines[i]);
    }
}

static void scene_end(struct scene *scene)
{
    for (size_t i = 0; i < 2; i++) {
        asked_store_release(&scene->asked[i]);
        wire_end(&scene->wires[i]);
    }
    place_unref(scene->here);
    place_unref(scene->there);
    world_free(scene->world);
}

static struct store_access *asked_of(void *ctx, struct value space)
{
    struct scene *scene = ctx;
    return &scene->asked[value_is_text(space, "main") ? 0 : 1].store;
}

static struct store_access *direct_of(void *ctx, struct value space)
{
    struct scene *scene = ctx;
    return &scene->direct[value_is_text(space, "main") ? 0 : 1].store;
}

/* All pages and what was asked elsewhere, as one canonical text. */
static void fetch(struct scene *scene,
                  struct store_access *(*store)(void *ctx, struct value space),
                  uint32_t limit,
                  struct buf *out)
{
    struct resume_set set;
    struct value piece = value_text_new("piece");
    const struct resume_pages_source source = {
        .store = store,
        .ctx = scene,
        .identity = {VALUE_NONE, value_text_new("s1")},
        .limit = limit,
    };
    EXPECT_EQ(resume_pages_fetch(&source,
                                 scene->one->runtime.spaces.at[0],
                                 piece,
                                 &set,
                                 NULL),
              ERR_OK);
    EXPECT_EQ(resume_set_count(&set), NODES);
    VEC_FOREACH (&set.pages, page) {
        struct value value = resume_page_write(*page);
        json_write(out, value, JSON_CANONICAL, 0);
        value_unref(value);
    }
    VEC_FOREACH (&set.asked, asked) {
        buf_printf(out, " asked %llu", (unsigned long long)asked->seq);
    }
    resume_set_release(&set);
    value_unref(source.identity.session);
    value_unref(piece);
}

TEST(a_piece_is_resumed_with_the_pages_that_the_engine_has)
{
    for (uint32_t limit = 0; limit < 4; limit++) {
        struct scene scene;
        struct buf asked = {0};
        struct buf direct = {0};
        scene_begin(&scene);
        for (int round = 0; round < 3; round++) {
            buf_clear(&asked);
            buf_clear(&direct);
            fetch(&scene, asked_of, limit, &asked);
            fetch(&scene, direct_of, limit, &direct);
            EXPECT_TEXT(buf_text(&asked), buf_text(&direct));
            EXPECT(strstr(buf_text(&asked), "\"second\"") != NULL);
            EXPECT(strstr(buf_text(&asked), " asked ") != NULL);
            put(&scene, round == 0 ? scene.there : scene.here, 5 + round);
        }
        buf_release(&asked);
        buf_release(&direct);
        scene_end(&scene);
    }
}

static struct resume_query query_of(struct value branch, struct value piece)
{
    return (struct resume_query){
        .branch = branch,
        .piece = piece,
        .generation = 3,
    };
}

TEST(actions_are_counted_and_forgotten)
{
    struct scene scene;
    scene_begin(&scene);
    struct store_access *store = &scene.asked[0].store;
    struct value main = value_text_new("");
    struct value piece = value_text_new("piece");
    const struct resume_query query = query_of(main, piece);
    uint64_t count = 0;
    EXPECT_EQ(store->methods->resume_count(store, &query, &count, NULL),
              ERR_OK);
    EXPECT_EQ(count, NODES);
    const struct digest names[] = {
        digest_of_bytes("action", "n0", 2),
        digest_of_bytes("action", "n3", 2),
    };
    EXPECT_EQ(
        store->methods->forget_actions(store, main, piece, names, 2, NULL),
        ERR_OK);
    EXPECT_EQ(store->methods->resume_count(store, &query, &count, NULL),
              ERR_OK);
    EXPECT_EQ(count, NODES - 2);
    EXPECT_EQ(store->methods->forget_piece(store, main, piece, NULL), ERR_OK);
    struct resume_page page;
    EXPECT_EQ(store->methods->resume(store, &query, &page, NULL), ERR_OK);
    EXPECT_EQ(page.actions.count, 0);
    resume_page_release(&page);
    value_unref(piece);
    scene_end(&scene);
}

static void count_mirror(void *ctx, const struct mirror *mirror)
{
    unsigned *count = ctx;
    if (value_is_text(mirror->piece, "p")) { /* not that of the scene */
        EXPECT_EQ(mirror->seq, 1);
        (*count)++;
    }
}

TEST(a_mirror_is_put_and_taken_back)
{
    struct scene scene;
    scene_begin(&scene);
    struct store_access *store = &scene.asked[1].store;
    struct mirror mirror = {
        .space = value_text_new("main"),
        .branch = value_text_new(""),
        .piece = value_text_new("p"),
        .here = value_text_new(""),
        .seq = 1,
    };
    const struct changed_read read = {
        .id = value_text_new("b"),
        .path = scene.one->runtime.replica.payload_path,
        .kind = READ_SHAPE,
    };
    unsigned count = 0;
    EXPECT_EQ(store->methods->put_mirror(store, &mirror, &read, 1, NULL),
              ERR_OK);
    EXPECT_EQ(engine_mirror_list(scene.engines[1], count_mirror, &count, NULL),
              ERR_OK);
    EXPECT_EQ(count, 1);
    mirror.seq = STORE_ACCESS_HEAD;
    EXPECT_EQ(store->methods->put_mirror(store, &mirror, NULL, 0, NULL),
              ERR_OK);
    EXPECT_EQ(engine_mirror_list(scene.engines[1], count_mirror, &count, NULL),
              ERR_OK);
    EXPECT_EQ(count, 1);
    scene_end(&scene);
}

TEST(a_reader_changes_nothing)
{
    struct scene scene;
    scene_begin(&scene);
    struct store_access *store = &scene.asked[0].store;
    struct value main = value_text_new("");
    struct value piece = value_text_new("piece");
    const struct resume_query query = query_of(main, piece);
    const struct digest name = digest_of_bytes("action", "n0", 2);
    const struct mirror mirror = {piece, main, piece, main, 1};
    uint64_t count = 0;
    scene.wires[0].context.may_write = false;
    EXPECT_EQ(store->methods->forget_piece(store, main, piece, NULL),
              ERR_ACCESS);
    EXPECT_EQ(
        store->methods->forget_actions(store, main, piece, &name, 1, NULL),
        ERR_ACCESS);
    EXPECT_EQ(store->methods->put_mirror(store, &mirror, NULL, 0, NULL),
              ERR_ACCESS);
    EXPECT_EQ(store->methods->resume_count(store, &query, &count, NULL),
              ERR_OK);
    EXPECT_EQ(count, NODES);
    value_unref(piece);
    scene_end(&scene);
}

TEST(a_server_that_cannot_be_reached_says_nothing_about_the_data)
{
    struct scene scene;
    scene_begin(&scene);
    struct store_access *store = &scene.asked[0].store;
    struct value main = value_text_new("");
    struct resume_page page;
    const struct resume_query query = query_of(main, main);
    scene.wires[0].is_down = true;
    EXPECT_EQ(store->methods->resume(store, &query, &page, NULL),
              ERR_UNREACHABLE);
    EXPECT_EQ(page.actions.count, 0);
    scene_end(&scene);
}

/* -- Events -------------------------------------------------------------- */

static void append_event(void *ctx, const struct waiting_event *event)
{
    struct buf *out = ctx;
    const struct text id = value_text(&event->id);
    buf_printf(out,
               "%llu:%.*s@%llu ",
               (unsigned long long)event->number,
               (int)id.length,
               id.at,
               (unsigned long long)event->due);
}

static void store_events(struct store_kit *kit)
{
    EXPECT_LANDED(kit, 1, "s1 1 | put receipt:e1 {'event':{'instance':'i1'}}");
    EXPECT_LANDED(kit, 2, "s1 2 | put receipt:e2 {'event':{'instance':'i2'}}");
    EXPECT_LANDED(kit, 3, "s1 3 | put receipt:timer:x:1 {'event':{'due':50}}");
    EXPECT_LANDED(kit, 4, "s1 4 | put receipt:timer:x:2 {'event':{'due':40}}");
    EXPECT_LANDED(kit, 5, "s1 5 | put receipt:timer:y:3 {'event':{'due':90}}");
}

static void list_all(struct store_access *store, struct buf *out)
{
    struct value main = value_text_new("");
    struct value prefix = value_text_new("receipt:timer:x:");
    uint64_t next = 0;
    EXPECT_EQ(
        store->methods->waiting(store, main, 0, 10, append_event, out, NULL),
        ERR_OK);
    EXPECT_EQ(store->methods->waiting(store,
                                      main,
                                      WAITING_PER_COMMIT,
                                      10,
                                      append_event,
                                      out,
                                      NULL),
              ERR_OK);
    EXPECT_EQ(store->methods->timers(store,
                                     main,
                                     (struct timer_mark){0},
                                     60,
                                     1,
                                     append_event,
                                     out,
                                     &next,
                                     NULL),
              ERR_OK);
    EXPECT_EQ(next, 90);
    EXPECT_EQ(store->methods->timers(store,
                                     main,
                                     (struct timer_mark){60, 0},
                                     100,
                                     10,
                                     append_event,
                                     out,
                                     &next,
                                     NULL),
              ERR_OK);
    EXPECT_EQ(next, TIMER_NONE);
    EXPECT_EQ(store->methods
                  ->timers_named(store, main, prefix, append_event, out, NULL),
              ERR_OK);
    value_unref(prefix);
}

TEST(events_and_timers_are_listed_as_by_the_engine)
{
    struct store_kit kit;
    struct wire wire;
    struct asked_store asked;
    struct engine_access direct;
    struct buf there = {0};
    struct buf here = {0};
    kit_open_memory(&kit, NULL);
    store_events(&kit);
    wire_begin(&wire, &kit.engine);
    asked_store_init(&asked, ask, &wire, NULL);
    engine_access_init(&direct, &kit.engine);
    list_all(&asked.store, &there);
    list_all(&direct.store, &here);
    EXPECT_TEXT(buf_text(&there), buf_text(&here));
    buf_release(&there);
    buf_release(&here);
    asked_store_release(&asked);
    wire_end(&wire);
    kit_close(&kit);
}

/* -- Claims -------------------------------------------------------------- */

struct two {
    struct store_kit kit;
    struct wire wires[2];
    struct asked_claims claims[2];
};

static void two_begin(struct two *two)
{
    kit_open_file(&two->kit, NULL);
    store_events(&two->kit);
    for (size_t i = 0; i < 2; i++) {
        wire_begin(&two->wires[i], &two->kit.engine);
        asked_claims_init(&two->claims[i], ask, &two->wires[i]);
        lease_holder_init(&two->wires[i].holder);
        two->wires[i].context.leases = &two->wires[0].leases;
        two->wires[i].context.holder = &two->wires[i].holder;
    }
    client_leases_init(&two->wires[0].leases, two->kit.folder);
    value_unref(two->wires[1].context.instance);
    two->wires[1].context.instance = value_text_new("i2");
}

static void two_end(struct two *two)
{
    for (size_t i = 0; i < 2; i++) {
        asked_claims_release(&two->claims[i]);
        client_leases_end(&two->wires[0].leases, &two->wires[i].holder);
        two->wires[i].context.leases = NULL;
        wire_end(&two->wires[i]);
    }
    client_leases_release(&two->wires[0].leases);
    kit_close(&two->kit);
}

static void *take(struct two *two, size_t index, const char *key)
{
    struct claims *claims = &two->claims[index].claims;
    struct value name = value_text_new(key);
    void *claim = claims->methods->take(claims, CLAIM_TASK, name);
    value_unref(name);
    return claim;
}

static bool is_held(struct two *two, enum claim_kind kind, const char *key)
{
    struct claims *claims = &two->claims[1].claims;
    struct value name = value_text_new(key);
    const bool held = claims->methods->is_held(claims, kind, name);
    value_unref(name);
    return held;
}

TEST(a_task_is_claimed_by_one_of_two_clients)
{
    struct two two;
    two_begin(&two);
    struct claims *first = &two.claims[0].claims;
    void *claim = take(&two, 0, "task-1");
    EXPECT(claim != NULL);
    EXPECT(take(&two, 1, "task-1") == NULL);
    EXPECT(is_held(&two, CLAIM_TASK, "task-1"));
    first->methods->give_back(first, claim);
    EXPECT(!is_held(&two, CLAIM_TASK, "task-1"));
    EXPECT(take(&two, 1, "task-1") != NULL);
    EXPECT(take(&two, 0, "task-1") == NULL);
    two_end(&two);
}

TEST(a_claim_ends_with_its_channel)
{
    struct two two;
    two_begin(&two);
    EXPECT(take(&two, 0, "task-1") != NULL);
    client_leases_end(&two.wires[0].leases, &two.wires[0].holder);
    EXPECT(take(&two, 1, "task-1") != NULL);
    two_end(&two);
}

TEST(a_runtime_on_another_channel_takes_its_claims_along)
{
    struct two two;
    two_begin(&two);
    EXPECT(take(&two, 0, "task-1") != NULL);
    struct lease_holder next;
    lease_holder_init(&next);
    two.wires[0].context.holder = &next;
    asked_claims_renew(&two.claims[0]);
    client_leases_end(&two.wires[0].leases, &two.wires[0].holder);
    EXPECT(is_held(&two, CLAIM_TASK, "task-1"));
    EXPECT_EQ(next.count, 1);
    client_leases_end(&two.wires[0].leases, &next);
    EXPECT(!is_held(&two, CLAIM_TASK, "task-1"));
    two.wires[0].context.holder = &two.wires[0].holder;
    two_end(&two);
}

TEST(a_task_that_a_process_beside_the_server_has_is_not_claimed)
{
    struct two two;
    struct folder_claims beside;
    struct value name = value_text_new("task-1");
    two_begin(&two);
    folder_claims_init(&beside, two.kit.folder);
    struct claims *claims = &beside.claims;
    void *claim = claims->methods->take(claims, CLAIM_TASK, name);
    EXPECT(claim != NULL);
    EXPECT(take(&two, 0, "task-1") == NULL);
    claims->methods->give_back(claims, claim);
    EXPECT(take(&two, 0, "task-1") != NULL);
    EXPECT(claims->methods->take(claims, CLAIM_TASK, name) == NULL);
    two_end(&two);
}

TEST(a_named_session_is_refused_while_another_runtime_has_it)
{
    struct two two;
    struct err_detail detail = {0};
    two_begin(&two);
    EXPECT_EQ(questions_claim_session(ask, &two.wires[0], &detail), ERR_OK);
    EXPECT_EQ(questions_claim_session(ask, &two.wires[0], &detail), ERR_OK);
    EXPECT_EQ(questions_claim_session(ask, &two.wires[1], &detail),
              ERR_SESSION_IN_USE);
    EXPECT(strstr(detail.text, "another client of the server") != NULL);
    client_leases_end(&two.wires[0].leases, &two.wires[0].holder);
    EXPECT_EQ(questions_claim_session(ask, &two.wires[1], &detail), ERR_OK);
    two_end(&two);
}

struct heard {
    struct asked_claims *claims;
    unsigned at_work;
    unsigned gone;
};

static void hear(void *ctx, const struct waiting_event *event)
{
    struct heard *heard = ctx;
    struct claims *claims = &heard->claims->claims;
    const struct value instance =
        object_field(object_field(event->document, "event"), "instance");
    if (claims->methods->is_held(claims, CLAIM_SENDER, instance)) {
        heard->at_work++;
    } else {
        heard->gone++;
    }
}

/* One round trip says which of all senders are alive. */
TEST(a_listing_of_events_knows_which_senders_are_at_work)
{
    struct two two;
    struct asked_store asked;
    struct value main = value_text_new("");
    struct heard heard = {.claims = &two.claims[1]};
    two_begin(&two);
    struct claims *first = &two.claims[0].claims;
    struct value instance = value_text_new("i1");
    EXPECT(first->methods->take(first, CLAIM_SENDER, instance) != NULL);
    asked_store_init(&asked, ask, &two.wires[1], &two.claims[1]);
    two.wires[1].asked = 0;
    EXPECT_EQ(asked.store.methods
                  ->waiting(&asked.store, main, 0, 10, hear, &heard, NULL),
              ERR_OK);
    EXPECT_EQ(two.wires[1].asked, 1);
    EXPECT_EQ(heard.at_work, 1);
    EXPECT_EQ(heard.gone, 1);
    asked_store_release(&asked);
    two_end(&two);
}

TEST(a_client_has_a_limit_of_claims_and_of_words_about_itself)
{
    struct two two;
    two_begin(&two);
    two.wires[0].holder.count = LEASES_MAX;
    EXPECT(take(&two, 0, "task-1") == NULL);
    two.wires[0].holder.count = 0;
    struct buf long_text = {0};
    for (unsigned i = 0; i < LEASE_ABOUT_BYTES; i++) {
        buf_append_char(&long_text, 'x');
    }
    struct value about = value_empty_object();
    object_put_adopt(&about, "command", value_string_adopt(&long_text));
    EXPECT_EQ(questions_begin_presence(ask, &two.wires[0], about, NULL),
              ERR_PROTOCOL);
    value_unref(about);
    about = parse("{'command':'run'}");
    EXPECT_EQ(questions_begin_presence(ask, &two.wires[0], about, NULL),
              ERR_OK);
    value_unref(about);
    two_end(&two);
}

/* -- What is not trusted ------------------------------------------------- */

TEST(an_invalid_question_is_refused_and_named)
{
    static const struct {
        const char *question;
        enum err err;
    } rows[] = {
        {"{}", ERR_NOT_FOUND},
        {"{'question':7}", ERR_NOT_FOUND},
        {"{'question':'nothing'}", ERR_NOT_FOUND},
        {"{'question':'resume'}", ERR_PROTOCOL},
        {"{'question':'resume','branch':'','piece':''}", ERR_PROTOCOL},
        {"{'question':'resume','branch':'','piece':'p','generation':-1,"
         "'after':0,'seq':0,'limit':1}",
         ERR_PROTOCOL},
        {"{'question':'resume','branch':'','piece':'p','generation':1,"
         "'after':0,'seq':0,'limit':0}",
         ERR_PROTOCOL},
        {"{'question':'resume','branch':'x','piece':'p','generation':1,"
         "'after':0,'seq':0,'limit':1}",
         ERR_BRANCH_UNKNOWN},
        {"{'question':'changed','branch':'','above':0,'reads':[[1]]}",
         ERR_PROTOCOL},
        {"{'question':'changed','branch':'','above':0,"
         "'reads':[['a',3,'/value']]}",
         ERR_PROTOCOL},
        {"{'question':'changed','branch':'','above':0,"
         "'reads':[['a',0,'value']]}",
         ERR_SYNTAX},
        {"{'question':'changed','branch':'','above':99,'reads':[]}",
         ERR_SEQUENCE},
        {"{'question':'events','branch':'','after':0,'limit':'1'}",
         ERR_PROTOCOL},
        {"{'question':'timers','branch':'','due':0,'number':0,'limit':1}",
         ERR_PROTOCOL},
        {"{'question':'forgetActions','branch':'','piece':'p',"
         "'actions':['x']}",
         ERR_PROTOCOL},
        {"{'question':'claim','claim':'all','name':'x'}", ERR_PROTOCOL},
        {"{'question':'claim','claim':'task'}", ERR_PROTOCOL},
        {"{'question':'claim','claim':'task','name':'t','about':[]}",
         ERR_PROTOCOL},
    };
    struct two two;
    two_begin(&two);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct value question = parse(rows[i].question);
        struct value answer;
        struct err_detail detail = {0};
        EXPECT_EQ(questions_answer(&two.kit.engine,
                                   &two.wires[0].context,
                                   question,
                                   &answer,
                                   &detail),
                  rows[i].err);
        EXPECT(detail.text[0] != '\0');
        EXPECT(value_is_absent(answer));
        value_unref(question);
    }
    EXPECT_EQ(two.wires[0].holder.count, 0);
    two_end(&two);
}

TEST(an_invalid_answer_is_refused)
{
    static const char *const answers[] = {
        "7",
        "{}",
        "{'seq':1,'generation':3,'actions':[],'places':[],'elsewhere':[],"
        "'codes':[],'gates':[]}",
        "{'seq':1,'generation':3,'more':true,'actions':[],'places':[],"
        "'elsewhere':[],'codes':[],'gates':[],'errors':[]}",
        "{'seq':1,'generation':3,'actions':[[]],'places':[],"
        "'elsewhere':[],'codes':[],'gates':[],'errors':[]}",
        "{'seq':1,'generation':3,'actions':[],'places':[['a',0,'x',0,0,"
        "false]],'elsewhere':[],'codes':[],'gates':[],'errors':[]}",
        "{'seq':1,'generation':3,'actions':[],'places':[],"
        "'elsewhere':[['',7,1]],'codes':[],'gates':[],'errors':[]}",
        "{'seq':1,'generation':3,'actions':[],'places':[],"
        "'elsewhere':[],'codes':[['a','b','c']],'gates':[],'errors':[]}",
    };
    struct store_kit kit;
    struct wire wire;
    struct asked_store asked;
    struct value main = value_text_new("");
    const struct resume_query query = query_of(main, main);
    uint64_t next;
    kit_open_memory(&kit, NULL);
    wire_begin(&wire, &kit.engine);
    asked_store_init(&asked, ask, &wire, NULL);
    struct store_access *store = &asked.store;
    for (size_t i = 0; i < COUNT_OF(answers); i++) {
        struct resume_page page;
        wire.instead = answers[i];
        EXPECT_EQ(store->methods->resume(store, &query, &page, NULL),
                  ERR_PROTOCOL);
        EXPECT_EQ(page.actions.count, 0);
    }
    wire.instead = "{'events':[[1,2,3]]}";
    EXPECT_EQ(
        store->methods->waiting(store, main, 0, 10, append_event, NULL, NULL),
        ERR_PROTOCOL);
    wire.instead = "{'events':[],'next':-1}";
    EXPECT_EQ(store->methods->timers(store,
                                     main,
                                     (struct timer_mark){0},
                                     1,
                                     1,
                                     append_event,
                                     NULL,
                                     &next,
                                     NULL),
              ERR_PROTOCOL);
    asked_store_release(&asked);
    wire_end(&wire);
    kit_close(&kit);
}

/* A damaged page is refused, or its indexes are inside it. */
PROPERTY(random_damage_of_a_page_is_refused_or_harmless, 5)
{
    struct scene scene;
    scene_begin(&scene);
    struct resume_page page;
    struct value main = value_text_new("");
    struct value piece = value_text_new("piece");
    const struct resume_query query = query_of(main, piece);
    EXPECT_EQ(engine_resume(scene.engines[0], &query, &page, NULL), ERR_OK);
    struct value good = resume_page_write(&page);
    struct buf text = {0};
    json_write(&text, good, JSON_AS_GIVEN, 0);
    for (int i = 0; i < 600; i++) {
        struct buf damaged = {0};
        struct value value;
        struct resume_page read;
        buf_append(&damaged, text.at, text.length);
        damaged.at[random_below(random, damaged.length)] =
            "0123456789[]-,\"x"[random_below(random, 16)];
        if (json_read(damaged.at, damaged.length, NULL, &value, NULL) ==
            ERR_OK) {
            if (resume_page_read(value, &scene.asked[0].paths, &read, NULL) ==
                ERR_OK) {
                VEC_FOREACH (&read.indexes, index) {
                    EXPECT(resume_index_place(*index) < read.places.count);
                }
                VEC_FOREACH (&read.actions, action) {
                    EXPECT(action->places + action->place_count <=
                           read.indexes.count);
                    EXPECT(action->spaces + action->space_count <=
                           read.elsewhere.count);
                    EXPECT(action->code == RESUME_NONE ||
                           action->code < read.codes.count);
                }
                resume_page_release(&read);
            }
            value_unref(value);
        }
        buf_release(&damaged);
    }
    buf_release(&text);
    value_unref(good);
    resume_page_release(&page);
    value_unref(piece);
    scene_end(&scene);
}
