/* Runtimes whose spaces are on a server: the client's side of the protocol,
 * line by line, against real hubs on a wire that the test cuts, holds and
 * garbles. */

#include "host/remote.h"

#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/mem.h"
#include "host/hub.h"
#include "host/live.h"
#include "host/questions.h"
#include "lib/live_kit.h"
#include "lib/store_kit.h"
#include "lib/test.h"
#include "replica/session.h"
#include "runtime/cell.h"
#include "value/json.h"
#include "value/object.h"

enum {
    SPACES = 2,
    CHANNELS = 8,
};

/* -- A server ------------------------------------------------------------ */

struct fake;

struct fake_channel {
    struct fake *fake;
    uint32_t number;
    struct fake_space *space; /* NULL: not attached */
    struct hub_peer *peer;
    struct value session;
    struct lease_holder holder;
};

struct fake_space {
    const char *name;
    struct store_kit kit;
    struct hub hub;
    enum err refusal; /* of attaches; OK: none */
    struct client_leases leases;
};

/* The wire, and the server at its other end, which answers at once. */
struct fake {
    struct wire wire;
    struct sim_host *sim;
    struct fake_space spaces[SPACES];
    struct fake_channel channels[CHANNELS];
    VEC(struct wire_event) events;
    size_t taken;
    bool is_connected;
    bool is_down;          /* cannot be dialed */
    bool is_silent;        /* answers nothing */
    bool has_no_challenge; /* in its welcome */
    bool has_no_next;      /* challenge after an attach */
    unsigned cut_after;    /* closes after so many messages; 0: never */
    bool loses;            /* what comes when it is cut */
    uint32_t message_bytes;
    struct value principal;
    struct buf heard; /* the kinds of the lines, and what was proven */
    unsigned attaches;
};

static void tell(struct fake *fake, const char *text, size_t length)
{
    struct wire_event event = {.kind = WIRE_TEXT};
    if (fake->is_connected && !fake->is_silent) {
        buf_append(&event.text, text, length);
        vec_push(&fake->events, event);
    }
}

static void say_adopt(struct fake *fake, uint32_t channel, struct value object)
{
    struct buf line = {0};
    buf_printf(&line, "%u ", (unsigned)channel);
    json_write(&line, object, JSON_AS_GIVEN, 0);
    tell(fake, line.at, line.length);
    buf_release(&line);
    value_unref(object);
}

static void on_send(void *ctx, struct message *message)
{
    struct fake_channel *channel = ctx;
    struct buf line = {0};
    buf_printf(&line, "%u ", (unsigned)channel->number);
    message_append(&line, message);
    tell(channel->fake, line.at, line.length);
    buf_release(&line);
    message_release(message);
}

static void on_broken(void *ctx)
{
    (void)ctx;
}

static void detach(struct fake_channel *channel)
{
    if (channel->space != NULL) {
        hub_detach(channel->peer);
        client_leases_end(&channel->space->leases, &channel->holder);
        value_unref(channel->session);
        channel->space = NULL;
    }
}

static void drop_events(struct fake *fake)
{
    for (size_t i = fake->taken; i < fake->events.count; i++) {
        buf_release(&fake->events.at[i].text);
    }
    vec_clear(&fake->events);
    fake->taken = 0;
}

/* The connection ends; what the client has not taken yet arrives, unless it is
 * lost. */
static void cut(struct fake *fake)
{
    struct wire_event event = {.kind = WIRE_CLOSED};
    if (!fake->is_connected) {
        return;
    }
    if (fake->loses) {
        drop_events(fake);
    }
    fake->is_connected = false;
    for (size_t i = 0; i < CHANNELS; i++) {
        detach(&fake->channels[i]);
    }
    buf_append_text(&event.text, "it was cut");
    vec_push(&fake->events, event);
}

static struct value answer_new(const char *kind, uint64_t channel)
{
    struct value object = value_empty_object();
    object_put_text(&object, "kind", kind);
    object_put_number(&object, "channel", channel);
    return object;
}

static void put_error(struct value *object, enum err err)
{
    object_put_text(object, "code", err_name(err));
    object_put_text(object, "class", err_class_name(err_class_of(err)));
    object_put_text(object, "message", "the server says no");
}

static void put_challenge(struct fake *fake, struct value *object)
{
    if (!fake->has_no_next) {
        struct buf text = {0};
        buf_printf(&text, "challenge-%u", fake->attaches);
        object_put_text(object, "challenge", buf_text(&text));
        buf_release(&text);
    }
}

static void note_proof(struct fake *fake, struct value attach)
{
    const struct value proof = object_field(attach, "proof");
    if (!value_is_absent(proof)) {
        buf_append_text(&fake->heard, "(");
        json_write(&fake->heard, proof, JSON_AS_GIVEN, 0);
        buf_append_text(&fake->heard, ") ");
    }
}

static void take_attach(struct fake *fake, struct value attach)
{
    const uint64_t number = object_number(attach, "channel");
    struct fake_space *space = NULL;
    CHECK(number > 0 && number < CHANNELS);
    struct fake_channel *channel = &fake->channels[number];
    for (size_t i = 0; i < SPACES; i++) {
        if (value_is_text(object_field(attach, "space"),
                          fake->spaces[i].name)) {
            space = &fake->spaces[i];
        }
    }
    fake->attaches++;
    note_proof(fake, attach);
    EXPECT(channel->space == NULL);
    if (space == NULL || space->refusal != ERR_OK) {
        struct value refused = answer_new("refused", number);
        put_error(&refused, space == NULL ? ERR_NOT_FOUND : space->refusal);
        put_challenge(fake, &refused);
        say_adopt(fake, 0, refused);
        return;
    }
    *channel = (struct fake_channel){
        .fake = fake,
        .number = (uint32_t)number,
        .space = space,
        .session = value_ref(object_field(attach, "session")),
    };
    lease_holder_init(&channel->holder);
    channel->peer =
        hub_attach(&space->hub, fake->principal, on_send, on_broken, channel);
    const struct identity identity = {fake->principal, channel->session};
    uint64_t next = 1;
    EXPECT_EQ(engine_session_next(&space->kit.engine, identity, &next, NULL),
              ERR_OK);
    struct value attached = answer_new("attached", number);
    object_put_number(&attached, "seq", space->hub.seq);
    object_put_number(&attached, "nextLocalSeq", next);
    object_put_text(&attached, "capability", "WRITE");
    if (!value_is_absent(fake->principal)) {
        object_put_adopt(&attached, "principal", value_ref(fake->principal));
    }
    put_challenge(fake, &attached);
    say_adopt(fake, 0, attached);
}

static void take_hello(struct fake *fake)
{
    struct value welcome = value_empty_object();
    object_put_text(&welcome, "kind", "welcome");
    object_put_number(&welcome, "version", 1);
    object_put_text(&welcome, "audience", "heddle:test");
    if (!fake->has_no_challenge) {
        object_put_text(&welcome, "challenge", "challenge-0");
    }
    if (fake->message_bytes > 0) {
        struct value limits = value_empty_object();
        object_put_number(&limits, "messageBytes", fake->message_bytes);
        object_put_adopt(&welcome, "limits", limits);
    }
    say_adopt(fake, 0, welcome);
}

static void take_control(struct fake *fake, struct value object)
{
    const struct value kind = object_field(object, "kind");
    if (value_is_text(kind, "hello")) {
        take_hello(fake);
    } else if (value_is_text(kind, "attach")) {
        take_attach(fake, object);
    } else if (value_is_text(kind, "detach")) {
        const uint64_t number = object_number(object, "channel");
        CHECK(number < CHANNELS);
        detach(&fake->channels[number]);
        say_adopt(fake, 0, answer_new("detached", number));
    } else {
        (void)test_fail(__FILE__, __LINE__, "an unknown line");
    }
}

static void take_question(struct fake_channel *channel, struct value question)
{
    struct value answer = value_empty_object();
    struct value found = VALUE_NONE;
    struct err_detail detail = {0};
    const struct questions_context context = {
        .identity = {channel->fake->principal, channel->session},
        .may_write = true,
        .leases = &channel->space->leases,
        .holder = &channel->holder,
    };
    const enum err err = questions_answer(&channel->space->kit.engine,
                                          &context,
                                          question,
                                          &found,
                                          &detail);
    object_put_text(&answer, "kind", "answer");
    object_put_adopt(&answer, "id", value_ref(object_field(question, "id")));
    if (err == ERR_OK) {
        object_put_adopt(&answer, "answer", found);
    } else {
        struct value error = value_empty_object();
        put_error(&error, err);
        object_put_adopt(&answer, "error", error);
    }
    say_adopt(channel->fake, channel->number, answer);
}

static void take_line(struct fake *fake, const char *line, size_t length)
{
    struct value object;
    struct path_table paths;
    const uint32_t number = (uint32_t)(line[0] - '0');
    EXPECT(number < CHANNELS && line[1] == ' ');
    EXPECT_EQ(json_read(line + 2, length - 2, NULL, &object, NULL), ERR_OK);
    const struct value kind = object_field(object, "kind");
    const struct text name = value_text(&kind);
    struct fake_channel *channel = &fake->channels[number];
    buf_printf(&fake->heard,
               "%u:%.*s ",
               (unsigned)number,
               (int)name.length,
               name.at);
    path_table_init(&paths);
    if (number == 0) {
        take_control(fake, object);
    } else if (channel->space == NULL) {
        buf_append_text(&fake->heard, "(late) ");
    } else if (value_is_text(kind, "ask")) {
        take_question(channel, object);
    } else {
        struct message message;
        EXPECT_EQ(message_read(object, &paths, &message, NULL), ERR_OK);
        hub_receive(channel->peer, &message);
        message_release(&message);
    }
    value_unref(object);
    path_table_release(&paths);
}

static struct fake *fake_of(struct wire *wire)
{
    return CONTAINER_OF(wire, struct fake, wire);
}

static enum err fake_dial(struct wire *wire, struct err_detail *detail)
{
    (void)detail;
    struct fake *fake = fake_of(wire);
    struct wire_event event = {0};
    drop_events(fake);
    fake->is_connected = !fake->is_down;
    event.kind = fake->is_down ? WIRE_CLOSED : WIRE_CONNECTED;
    buf_append_text(&event.text, fake->is_down ? "connection refused" : "");
    vec_push(&fake->events, event);
    return ERR_OK;
}

static void fake_send(struct wire *wire, const char *text, size_t length)
{
    struct fake *fake = fake_of(wire);
    if (!fake->is_connected) {
        return;
    }
    if (fake->cut_after > 0 && --fake->cut_after == 0) {
        cut(fake);
        return;
    }
    for (const char *at = text; at < text + length;) {
        const char *end = memchr(at, '\n', (size_t)(text + length - at));
        end = end != NULL ? end : text + length;
        take_line(fake, at, (size_t)(end - at));
        at = end + 1;
    }
    for (size_t i = 0; i < SPACES; i++) {
        hub_flush(&fake->spaces[i].hub);
    }
}

static void fake_hang_up(struct wire *wire)
{
    struct fake *fake = fake_of(wire);
    cut(fake);
    drop_events(fake);
}

/* A caller that finds nothing waits: time goes on. */
static bool fake_take(struct wire *wire, struct wire_event *event)
{
    struct fake *fake = fake_of(wire);
    if (fake->taken == fake->events.count) {
        vec_clear(&fake->events);
        fake->taken = 0;
        sim_host_advance(fake->sim, fake->sim->now + 1);
        return false;
    }
    *event = fake->events.at[fake->taken++];
    return true;
}

static void fake_free(struct wire *wire)
{
    fake_hang_up(wire);
}

static const struct wire_methods fake_methods = {
    .dial = fake_dial,
    .send = fake_send,
    .hang_up = fake_hang_up,
    .take = fake_take,
    .free = fake_free,
};

/* -- A client ------------------------------------------------------------ */

struct scene {
    struct sim_host sim;
    struct fake fake;
    struct live *live;
    struct buf troubles;
    const char *proven; /* with a key; or NULL */
};

static void scene_begin(struct scene *scene)
{
    static const char *const names[] = {"main", "second"};
    *scene = (struct scene){.fake = {.wire = {.methods = &fake_methods}}};
    struct fake *fake = &scene->fake;
    sim_host_init(&scene->sim, 1000, 7);
    fake->sim = &scene->sim;
    fake->principal = value_text_new("ann");
    fake->wire.fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
    for (size_t i = 0; i < SPACES; i++) {
        struct fake_space *space = &fake->spaces[i];
        const struct hub_options options = {.seed = 5 + i};
        const struct engine_options engine = {
            .durability = DURABILITY_MEMORY,
        };
        space->name = names[i];
        kit_open_file(&space->kit, &engine);
        hub_init(&space->hub, &space->kit.engine, &options, 1000);
        client_leases_init(&space->leases, space->kit.folder);
    }
}

static void scene_end(struct scene *scene)
{
    struct fake *fake = &scene->fake;
    live_drop(scene->live);
    for (size_t i = 0; i < SPACES; i++) {
        hub_release(&fake->spaces[i].hub);
        client_leases_release(&fake->spaces[i].leases);
        kit_close(&fake->spaces[i].kit);
    }
    drop_events(fake);
    vec_release(&fake->events);
    (void)close(fake->wire.fd);
    value_unref(fake->principal);
    buf_release(&fake->heard);
    buf_release(&scene->troubles);
}

static void on_trouble(void *ctx,
                       struct space *space,
                       const struct err_detail *trouble)
{
    struct scene *scene = ctx;
    (void)space;
    buf_printf(&scene->troubles,
               "%s, ",
               trouble != NULL ? err_name(trouble->err) : "over");
}

static enum err prove(void *ctx,
                      const struct remote_challenge *challenge,
                      struct value *proof,
                      struct err_detail *detail)
{
    (void)ctx;
    (void)detail;
    *proof = value_ref(challenge->challenge);
    return ERR_OK;
}

static enum err enter(struct scene *scene,
                      const char *session,
                      struct err_detail *detail)
{
    const struct remote_options options = {
        .wire = &scene->fake.wire,
        .url = "ws://test",
        .prove = scene->proven != NULL ? prove : NULL,
    };
    const struct live_options live = {
        .remote = remote_new(&options),
        .connect_ms = 3000,
        .session = session,
        .host = &scene->sim.host,
        .on_trouble = on_trouble,
        .ctx = scene,
    };
    return live_open(&live, &scene->live, detail);
}

static void enter_well(struct scene *scene)
{
    struct err_detail detail = {0};
    if (enter(scene, NULL, &detail) != ERR_OK) {
        (void)test_fail(__FILE__, __LINE__, "not opened: %s", detail.text);
    }
    CHECK(scene->live != NULL);
}

/* What was heard since the last time. */
static const char *heard(struct scene *scene)
{
    static char shown[4096];
    (void)snprintf(shown, sizeof shown, "%s", buf_text(&scene->fake.heard));
    buf_clear(&scene->fake.heard);
    return shown;
}

static int64_t stored(struct scene *scene, size_t space, const char *id)
{
    struct store_kit *kit = &scene->fake.spaces[space].kit;
    struct value key = value_text_new("space");
    struct value name = value_text_new(id);
    struct value document = VALUE_NONE;
    const struct engine_address address = {value_text_new(""), key, name};
    EXPECT_EQ(engine_read(&kit->engine, &address, ENGINE_HEAD, &document, NULL),
              ERR_OK);
    const struct value payload = object_field(document, "value");
    const int64_t number =
        value_kind(payload) == VALUE_INT ? value_integer(payload) : -1;
    value_unref(document);
    value_unref(name);
    return number;
}

static void settle(struct scene *scene)
{
    EXPECT_EQ(live_settle(scene->live, live_now(scene->live) + 60000),
              LIVE_AT_REST);
}

/* -- Connections --------------------------------------------------------- */

TEST(a_runtime_reads_and_writes_over_lines)
{
    struct scene scene;
    scene_begin(&scene);
    enter_well(&scene);
    EXPECT_TEXT(heard(&scene), "0:hello 0:attach ");
    site_put(scene.live, "a", 5);
    settle(&scene);
    EXPECT_TEXT(heard(&scene), "1:open 1:watch 1:commits 1:ack ");
    EXPECT_EQ(stored(&scene, 0, "a"), 5);
    EXPECT_EQ(site_number(scene.live, "a"), 5);
    EXPECT(value_is_text(live_user(scene.live), "ann"));
    scene_end(&scene);
}

TEST(a_server_that_is_not_there_is_named_after_the_time_limit)
{
    struct scene scene;
    struct err_detail detail = {0};
    scene_begin(&scene);
    scene.fake.is_down = true;
    EXPECT_EQ(enter(&scene, NULL, &detail), ERR_UNREACHABLE);
    EXPECT(strstr(detail.text, "ws://test") != NULL);
    EXPECT(strstr(detail.text, "connection refused") != NULL);
    EXPECT(scene.live == NULL);
    scene_end(&scene);
}

TEST(a_server_that_says_nothing_is_given_up)
{
    struct scene scene;
    struct err_detail detail = {0};
    scene_begin(&scene);
    scene.fake.is_silent = true;
    EXPECT_EQ(enter(&scene, NULL, &detail), ERR_UNREACHABLE);
    scene_end(&scene);
}

TEST(a_space_is_opened_on_demand_and_has_its_own_channel)
{
    struct scene scene;
    struct space *second;
    struct space *third;
    scene_begin(&scene);
    enter_well(&scene);
    EXPECT_EQ(live_open_space(scene.live, "second", &second, NULL), ERR_OK);
    EXPECT_EQ(live_open_space(scene.live, "third", &third, NULL),
              ERR_NOT_FOUND);
    site_put(scene.live, "a", 1);
    settle(&scene);
    EXPECT_EQ(stored(&scene, 0, "a"), 1);
    scene_end(&scene);
}

/* -- Losses -------------------------------------------------------------- */

TEST(o01_a_commit_is_sent_again_after_the_wire_was_cut_and_lands_once)
{
    for (unsigned after = 1; after < 8; after++) {
        for (unsigned loses = 0; loses < 2; loses++) {
            struct scene scene;
            scene_begin(&scene);
            enter_well(&scene);
            scene.fake.cut_after = after;
            scene.fake.loses = loses == 1;
            site_put(scene.live, "a", 1);
            settle(&scene);
            site_put(scene.live, "a", 2);
            site_put(scene.live, "b", 3);
            settle(&scene);
            EXPECT_EQ(stored(&scene, 0, "a"), 2);
            EXPECT_EQ(stored(&scene, 0, "b"), 3);
            EXPECT_EQ(scene.fake.spaces[0].kit.engine.seq, 3);
            scene_end(&scene);
        }
    }
}

TEST(o02_commits_in_flight_are_resent_in_order)
{
    struct scene scene;
    scene_begin(&scene);
    enter_well(&scene);
    site_put(scene.live, "a", 1);
    settle(&scene);
    scene.fake.is_silent = true; /* they land, and no answer comes back */
    site_put(scene.live, "a", 2);
    (void)live_step(scene.live);
    site_put(scene.live, "a", 3);
    (void)live_step(scene.live);
    EXPECT_EQ(scene.fake.spaces[0].kit.engine.seq, 3);
    scene.fake.loses = true;
    cut(&scene.fake);
    scene.fake.is_silent = false;
    settle(&scene);
    EXPECT_EQ(scene.fake.spaces[0].kit.engine.seq, 3);
    EXPECT_EQ(stored(&scene, 0, "a"), 3);
    scene_end(&scene);
}

TEST(o05_a_resumed_session_catches_up_without_watching_again)
{
    struct scene scene;
    scene_begin(&scene);
    enter_well(&scene);
    struct place *place = site_at(scene.live, "a");
    settle(&scene);
    cut(&scene.fake);
    EXPECT_LANDED(&scene.fake.spaces[0].kit, 1, "x 1 | set a 9");
    (void)heard(&scene);
    hub_poll(&scene.fake.spaces[0].hub);
    site_put(scene.live, "b", 1);
    settle(&scene);
    EXPECT_EQ(site_number(scene.live, "a"), 9);
    EXPECT(strstr(heard(&scene), "1:open 1:watch 1:watch") == NULL);
    place_unref(place);
    scene_end(&scene);
}

/* The server keeps a session without a connection for HUB_KEEP_MS. */
TEST(k16_a_forgotten_session_watches_again_and_is_told_of_changes)
{
    struct scene scene;
    scene_begin(&scene);
    enter_well(&scene);
    struct place *place = site_at(scene.live, "a");
    site_put(scene.live, "b", 1);
    settle(&scene);
    cut(&scene.fake);
    hub_step(&scene.fake.spaces[0].hub, scene.sim.now);
    hub_step(&scene.fake.spaces[0].hub, scene.sim.now + HUB_KEEP_MS + 1);
    EXPECT_EQ(scene.fake.spaces[0].hub.sessions.count, 0);
    EXPECT_LANDED(&scene.fake.spaces[0].kit, 2, "x 1 | set a 9");
    hub_poll(&scene.fake.spaces[0].hub);
    (void)heard(&scene);
    site_put(scene.live, "b", 2);
    settle(&scene);
    EXPECT(strstr(heard(&scene), "1:watch") != NULL);
    EXPECT_EQ(site_number(scene.live, "a"), 9);
    EXPECT_EQ(stored(&scene, 0, "b"), 2);
    place_unref(place);
    scene_end(&scene);
}

TEST(o10_a_close_ends_the_attempts_to_reconnect)
{
    struct scene scene;
    struct err_detail detail = {0};
    scene_begin(&scene);
    enter_well(&scene);
    site_put(scene.live, "a", 1);
    settle(&scene);
    scene.fake.is_down = true;
    cut(&scene.fake);
    site_put(scene.live, "a", 2);
    EXPECT_EQ(live_stop(scene.live, live_now(scene.live) + 2000, &detail),
              ERR_UNREACHABLE);
    EXPECT(strstr(detail.text, "lost unconfirmed commits: 1") != NULL);
    scene.live = NULL;
    scene_end(&scene);
}

TEST(a_lost_server_is_a_trouble_once_and_then_over)
{
    struct scene scene;
    scene_begin(&scene);
    enter_well(&scene);
    site_put(scene.live, "a", 1);
    settle(&scene);
    scene.fake.is_down = true;
    cut(&scene.fake);
    site_put(scene.live, "a", 2);
    EXPECT_EQ(live_settle(scene.live, live_now(scene.live) + 5000),
              LIVE_NOT_IN_TIME);
    EXPECT_TEXT(buf_text(&scene.troubles), "UNREACHABLE, ");
    scene.fake.is_down = false;
    settle(&scene);
    EXPECT_TEXT(buf_text(&scene.troubles), "UNREACHABLE, over, ");
    EXPECT_EQ(stored(&scene, 0, "a"), 2);
    scene_end(&scene);
}

TEST(o12_a_line_that_cannot_be_read_breaks_its_channel_and_nothing_is_lost)
{
    static const char *const lines[] = {
        "1 {",
        "1 7",
        "1 {\"kind\":\"sync\"}",
        "1 {\"kind\":\"verdicts\",\"connection\":1,\"number\":99}",
        "x",
        "0 {}",
        "0 {\"kind\":\"attached\",\"channel\":99}",
        "0 {\"kind\":\"detached\",\"channel\":1}",
        "99999999999999999999 {}",
        "",
    };
    for (size_t i = 0; i < COUNT_OF(lines); i++) {
        struct scene scene;
        scene_begin(&scene);
        enter_well(&scene);
        site_put(scene.live, "a", 1);
        settle(&scene);
        if (strcmp(lines[i], "0 {\"kind\":\"detached\",\"channel\":1}") == 0) {
            detach(&scene.fake.channels[1]);
        }
        tell(&scene.fake, lines[i], strlen(lines[i]));
        site_put(scene.live, "a", 2);
        settle(&scene);
        EXPECT_EQ(stored(&scene, 0, "a"), 2);
        scene_end(&scene);
    }
}

TEST(o14_an_answer_before_the_end_counts)
{
    struct scene scene;
    scene_begin(&scene);
    enter_well(&scene);
    site_put(scene.live, "a", 1);
    EXPECT_EQ(live_stop(scene.live, live_now(scene.live) + 1000, NULL), ERR_OK);
    scene.live = NULL;
    EXPECT_EQ(stored(&scene, 0, "a"), 1);
    scene_end(&scene);
}

/* -- Refusals ------------------------------------------------------------ */

TEST(k14_a_permanent_refusal_ends_that_space_and_no_other)
{
    struct scene scene;
    struct space *second;
    scene_begin(&scene);
    enter_well(&scene);
    EXPECT_EQ(live_open_space(scene.live, "second", &second, NULL), ERR_OK);
    site_put(scene.live, "a", 1);
    settle(&scene);
    struct entity *entity;
    struct value name = value_text_new("b");
    EXPECT_EQ(entity_of(second, SCOPE_SPACE, name, &entity, NULL), ERR_OK);
    EXPECT_EQ(live_load(scene.live, entity, NULL), ERR_OK);
    scene.fake.spaces[1].refusal = ERR_ACCESS;
    cut(&scene.fake);
    site_put(scene.live, "a", 2);
    (void)live_settle(scene.live, live_now(scene.live) + 3000);
    EXPECT_EQ(stored(&scene, 0, "a"), 2);
    EXPECT_TEXT(buf_text(&scene.troubles), "ACCESS, ");
    EXPECT_EQ(second->session->state, SESSION_REVOKED);
    EXPECT_EQ(scene.live != NULL && live_trouble(scene.live) != NULL, true);
    scene_end(&scene);
}

TEST(k14_a_refusal_that_may_change_is_tried_again)
{
    struct scene scene;
    scene_begin(&scene);
    enter_well(&scene);
    site_put(scene.live, "a", 1);
    settle(&scene);
    scene.fake.spaces[0].refusal = ERR_OVERLOADED;
    cut(&scene.fake);
    site_put(scene.live, "a", 2);
    EXPECT_EQ(live_settle(scene.live, live_now(scene.live) + 3000),
              LIVE_NOT_IN_TIME);
    scene.fake.spaces[0].refusal = ERR_OK;
    settle(&scene);
    EXPECT_EQ(stored(&scene, 0, "a"), 2);
    scene_end(&scene);
}

TEST(a_refused_first_attach_fails_at_once_with_the_servers_sentence)
{
    struct scene scene;
    struct err_detail detail = {0};
    scene_begin(&scene);
    scene.fake.spaces[0].refusal = ERR_ACCESS;
    const mono_ms before = scene.sim.now;
    EXPECT_EQ(enter(&scene, NULL, &detail), ERR_ACCESS);
    EXPECT_TEXT(detail.text, "the server says no");
    EXPECT(scene.sim.now < before + 1000);
    scene_end(&scene);
}

/* -- Identity ------------------------------------------------------------ */

TEST(each_attach_proves_the_identity_for_the_next_challenge)
{
    struct scene scene;
    struct space *second;
    scene_begin(&scene);
    scene.proven = "ann";
    enter_well(&scene);
    EXPECT_EQ(live_open_space(scene.live, "second", &second, NULL), ERR_OK);
    EXPECT_TEXT(heard(&scene),
                "0:hello 0:attach (\"challenge-0\") "
                "0:attach (\"challenge-1\") ");
    scene_end(&scene);
}

TEST(k12_a_server_without_a_challenge_is_refused)
{
    struct scene scene;
    struct err_detail detail = {0};
    scene_begin(&scene);
    scene.proven = "ann";
    scene.fake.has_no_challenge = true;
    EXPECT_EQ(enter(&scene, NULL, &detail), ERR_PROTOCOL);
    EXPECT_TEXT(heard(&scene), "0:hello ");
    scene_end(&scene);
}

TEST(k12_a_server_that_does_not_renew_the_challenge_is_refused)
{
    struct scene scene;
    struct space *second;
    scene_begin(&scene);
    scene.proven = "ann";
    scene.fake.has_no_next = true;
    enter_well(&scene);
    EXPECT_EQ(live_open_space(scene.live, "second", &second, NULL),
              ERR_PROTOCOL);
    scene_end(&scene);
}

static bool interrupt_at(struct scene *scene, unsigned messages)
{
    scene->fake.cut_after = messages;
    scene->fake.is_silent = messages == 0;
    struct err_detail detail = {0};
    const enum err err = enter(scene, NULL, &detail);
    EXPECT(err == ERR_OK || err == ERR_UNREACHABLE);
    return err == ERR_OK;
}

/* Whatever ends an attempt to open, nothing of it stays: each test looks for
 * leaks. */
TEST(k13_an_attempt_that_ends_early_leaves_no_session_behind)
{
    for (unsigned messages = 0; messages < 4; messages++) {
        struct scene scene;
        scene_begin(&scene);
        (void)interrupt_at(&scene, messages);
        live_drop(scene.live);
        scene.live = NULL;
        EXPECT_EQ(scene.fake.spaces[0].hub.peers, 0);
        scene_end(&scene);
    }
}

TEST(a_named_session_continues_its_numbers_and_belongs_to_one_runtime)
{
    struct scene scene;
    struct err_detail detail = {0};
    scene_begin(&scene);
    EXPECT_EQ(enter(&scene, "mine", &detail), ERR_OK);
    site_put(scene.live, "a", 1);
    settle(&scene);
    EXPECT_EQ(live_stop(scene.live, live_now(scene.live), NULL), ERR_OK);
    scene.live = NULL;
    EXPECT_EQ(enter(&scene, "mine", &detail), ERR_OK);
    site_put(scene.live, "a", 2);
    settle(&scene);
    EXPECT_EQ(stored(&scene, 0, "a"), 2);
    EXPECT_EQ(scene.fake.spaces[0].kit.engine.seq, 2);
    scene_end(&scene);
}

/* -- Sizes --------------------------------------------------------------- */

/* The limit of the server is 64 KiB: commits go in as many messages as that
 * takes. */
TEST(commits_that_exceed_the_servers_limit_together_are_sent_apart)
{
    struct scene scene;
    scene_begin(&scene);
    scene.fake.message_bytes = 64 * 1024;
    enter_well(&scene);
    struct place *places[20];
    struct buf text = {0};
    for (unsigned i = 0; i < 10000; i++) {
        buf_append_char(&text, 'x');
    }
    const struct cell_access access = {.runtime = live_runtime(scene.live)};
    for (size_t i = 0; i < COUNT_OF(places); i++) {
        const char id[] = {(char)('a' + i), '\0'};
        places[i] = site_at(scene.live, id);
    }
    for (size_t i = 0; i < COUNT_OF(places); i++) {
        EXPECT_EQ(cell_put_adopt(&access,
                                 places[i],
                                 value_string_new(text.at, text.length),
                                 NULL),
                  ERR_OK);
        place_unref(places[i]);
    }
    settle(&scene);
    EXPECT_EQ(scene.fake.spaces[0].kit.engine.seq, COUNT_OF(places));
    buf_release(&text);
    scene_end(&scene);
}

/* -- At random ----------------------------------------------------------- */

/* Two documents, cuts at random places: what is stored at the end is what was
 * written last, and each commit landed once. */
PROPERTY(random_cuts_lose_and_repeat_nothing, 15)
{
    struct scene scene;
    int64_t last[2] = {-1, -1};
    uint64_t commits = 0;
    scene_begin(&scene);
    enter_well(&scene);
    struct place *places[] = {site_at(scene.live, "a"),
                              site_at(scene.live, "b")};
    for (int i = 0; i < 30; i++) {
        const size_t which = random_below(random, 2);
        last[which] = i;
        commits++;
        site_put(scene.live, which == 0 ? "a" : "b", i);
        if (random_below(random, 3) == 0) {
            scene.fake.cut_after = 1 + (unsigned)random_below(random, 6);
            scene.fake.loses = random_below(random, 2) == 0;
        }
        if (random_below(random, 4) == 0) {
            settle(&scene);
        }
    }
    scene.fake.cut_after = 0;
    settle(&scene);
    EXPECT_EQ(stored(&scene, 0, "a"), last[0]);
    EXPECT_EQ(stored(&scene, 0, "b"), last[1]);
    EXPECT_EQ(scene.fake.spaces[0].kit.engine.seq, commits);
    place_unref(places[0]);
    place_unref(places[1]);
    scene_end(&scene);
}
