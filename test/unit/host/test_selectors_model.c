/* A client with selectors on a hub, against a model that starts from scratch
 * each time: it watches, unwatches, is deaf for a while, and comes back. After
 * each flush it holds what it named and what the model reaches, as it is. */

#include "host/selectors.h"

#include "host/hub.h"
#include "lib/hub_kit.h"
#include "lib/reach_gen.h"
#include "lib/reach_model.h"
#include "lib/test.h"
#include "lib/values.h"
#include "value/array.h"
#include "value/compare.h"
#include "value/json.h"
#include "value/object.h"

enum {
    CHOICES = 4,
};

struct held {
    struct target target;
    struct value document;
};

struct choice {
    struct value selector; /* an object, or absent: not chosen */
    struct value path;     /* as an array */
};

/* A client that keeps what it is told, as it is told. */
struct client {
    struct hub_fixture *fixture;
    struct random *random;
    struct hub_peer *peer;
    struct path_table paths;
    uint64_t connection;
    uint64_t number;
    uint64_t seen;
    uint64_t local_seq;
    bool deaf;   /* what is sent to it is lost */
    bool is_new; /* the hub did not know the session */
    VEC(struct held) held;
    VEC(struct target) named; /* watched by name */
    struct choice choices[CHOICES];
    VEC(struct value) read; /* by the model */
};

static struct held *held_of(struct client *client, const struct target *target)
{
    VEC_FOREACH (&client->held, held) {
        if (held->target.scope == target->scope &&
            value_equal(held->target.id, target->id)) {
            return held;
        }
    }
    return NULL;
}

static bool is_named(const struct client *client, const struct target *target)
{
    VEC_FOREACH (&client->named, name) {
        if (name->scope == target->scope && value_equal(name->id, target->id)) {
            return true;
        }
    }
    return false;
}

static void drop(struct client *client, const struct target *target)
{
    struct held *held = held_of(client, target);
    if (held != NULL) {
        value_unref(held->target.id);
        value_unref(held->document);
        *held = *vec_last(&client->held);
        client->held.count--;
    }
}

static void drop_first(struct client *client)
{
    const struct target target = client->held.at[0].target;
    drop(client, &target);
}

static void keep(struct client *client, const struct upsert *upsert)
{
    drop(client, &upsert->target);
    const struct held held = {
        {value_ref(upsert->target.id), upsert->target.scope},
        value_ref(upsert->document),
    };
    vec_push(&client->held, held);
}

static void client_hears(void *ctx, struct message *message)
{
    struct client *client = ctx;
    if (!client->deaf && message->kind == MESSAGE_SYNC) {
        EXPECT(message->from_seq <= client->seen);
        EXPECT(message->refused.count == 0);
        for (size_t i = 0; i < message->upserts.count; i++) {
            const struct upsert *upsert = &message->upserts.at[i];
            const bool reached = i + message->reached >= message->upserts.count;
            if (reached || is_named(client, &upsert->target)) {
                keep(client, upsert);
            }
        }
        VEC_FOREACH (&message->targets, target) {
            EXPECT(!is_named(client, target));
            drop(client, target);
        }
        client->seen = message->to_seq;
    }
    if (message->kind == MESSAGE_OPENED && !message->resumed) {
        client->is_new = true;
        client->seen = 0;
        while (client->held.count > 0) {
            drop_first(client);
        }
    }
    message_release(message);
}

static void client_breaks(void *ctx)
{
    (void)ctx;
    (void)test_fail(__FILE__, __LINE__, "the hub broke a peer");
}

/* Adopts the object. */
static void client_sends(struct client *client,
                         const char *kind,
                         struct value object)
{
    object_put_adopt(&object, "kind", value_text_new(kind));
    object_put_number(&object, "connection", client->connection);
    object_put_number(&object, "number", ++client->number);
    struct message message;
    struct err_detail detail = {0};
    if (!EXPECT_INT(message_read(object, &client->paths, &message, &detail),
                    ERR_OK)) {
        (void)test_fail(__FILE__, __LINE__, "%s", detail.text);
    }
    value_unref(object);
    hub_receive(client->peer, &message);
    message_release(&message);
}

static void client_asks(struct client *client,
                        const char *kind,
                        const char *field,
                        struct value item)
{
    struct value object = value_empty_object();
    object_put_adopt(&object,
                     field,
                     array_push_adopt(value_empty_array(), item));
    client_sends(client, kind, object);
}

static struct value target_value(const struct target *target)
{
    struct value object = value_empty_object();
    object_put_adopt(&object, "id", value_ref(target->id));
    object_put_text(&object, "scope", scope_name(target->scope));
    return object;
}

/* A new connection; what was not answered is asked for again. */
static void client_connects(struct client *client)
{
    if (client->peer != NULL) {
        hub_detach(client->peer);
    }
    client->deaf = false;
    client->connection++;
    client->number = 0;
    struct value principal = value_text_new("ann");
    client->peer = hub_attach(&client->fixture->hub,
                              principal,
                              client_hears,
                              client_breaks,
                              client);
    struct value open = from_quoted("{'session':'c'}");
    object_put_number(&open, "seenSeq", client->seen);
    client->is_new = false;
    client_sends(client, "open", open);
    VEC_FOREACH (&client->named, name) {
        if (client->is_new) {
            client_asks(client, "watch", "targets", target_value(name));
        }
    }
    for (size_t i = 0; i < CHOICES; i++) {
        if (!value_is_absent(client->choices[i].selector)) {
            client_asks(client,
                        "watch",
                        "selectors",
                        value_ref(client->choices[i].selector));
        }
    }
    value_unref(principal);
}

static void client_chooses(struct client *client, size_t index)
{
    struct choice *choice = &client->choices[index];
    if (!value_is_absent(choice->selector)) {
        client_asks(client,
                    "unwatch",
                    "selectors",
                    value_ref(object_field(choice->selector, "id")));
        value_unref(choice->selector);
        value_unref(choice->path);
        *choice = (struct choice){VALUE_NONE, VALUE_NONE};
        return;
    }
    const struct target root = reach_gen_target(client->random);
    struct buf pointer = {0};
    choice->path = reach_gen_path(client->random);
    for (uint32_t i = 0; i < array_count(choice->path); i++) {
        const struct value key = array_at(choice->path, i);
        const struct text text = value_text(&key);
        buf_printf(&pointer, "/%.*s", (int)text.length, text.at);
    }
    struct value selector = value_empty_object();
    object_put_adopt(&selector, "id", numbered("x", index));
    object_put_adopt(&selector, "root", target_value(&root));
    object_put_adopt(&selector, "path", value_string_adopt(&pointer));
    object_put_adopt(&selector, "schema", reach_gen_schema(client->random));
    if (random_one_in(client->random, 3)) {
        object_put_number(&selector, "depth", random_below(client->random, 4));
    }
    if (random_one_in(client->random, 4)) {
        object_put_number(&selector, "count", 100);
    }
    choice->selector = selector;
    client_asks(client, "watch", "selectors", value_ref(selector));
    value_unref(root.id);
}

/* Watches a document by name, or not any more. */
static void client_names(struct client *client)
{
    const struct target target = reach_gen_target(client->random);
    if (!is_named(client, &target)) {
        vec_push(&client->named, target);
        client_asks(client, "watch", "targets", target_value(&target));
        return;
    }
    size_t kept = 0;
    VEC_FOREACH (&client->named, name) {
        if (name->scope == target.scope && value_equal(name->id, target.id)) {
            value_unref(name->id);
        } else {
            client->named.at[kept++] = *name;
        }
    }
    client->named.count = kept;
    drop(client, &target);
    client_asks(client, "unwatch", "targets", target_value(&target));
    value_unref(target.id);
}

static void writes(struct raw *raw,
                   const char *session,
                   uint64_t local_seq,
                   const struct target *target,
                   struct value document)
{
    struct buf line = {0};
    struct buf json = {0};
    const struct text id = value_text(&target->id);
    buf_printf(&line, "%s %llu | ", session, (unsigned long long)local_seq);
    if (value_is_absent(document)) {
        buf_append_text(&line, "delete");
    } else {
        buf_append_text(&line, "put");
        json_write(&json, document, JSON_CANONICAL, 0);
    }
    buf_printf(&line, " %.*s", (int)id.length, id.at);
    if (target->scope == SCOPE_USER) {
        buf_append_text(&line, "~user");
    }
    buf_printf(&line, " %s", buf_text(&json));
    for (size_t i = 0; i < line.length; i++) {
        line.at[i] = (char)(line.at[i] == '"' ? '\'' : line.at[i]);
    }
    raw_commit(raw, buf_text(&line));
    buf_release(&line);
    buf_release(&json);
}

/* Another session of the same user writes. */
static void other_writes(struct client *client)
{
    const struct target target = reach_gen_target(client->random);
    struct value document = random_one_in(client->random, 8)
                                ? VALUE_NONE
                                : reach_gen_document(client->random);
    writes(&client->fixture->peers[1],
           "s2",
           ++client->local_seq,
           &target,
           document);
    (void)heard(&client->fixture->peers[1]);
    value_unref(target.id);
    value_unref(document);
}

static struct value model_document(void *ctx, const struct target *target)
{
    struct client *client = ctx;
    const struct engine_address address = {
        .branch = value_text_new(""),
        .scope_key =
            value_text_new(target->scope == SCOPE_USER ? "user:ann" : "space"),
        .id = target->id,
    };
    struct value document = VALUE_NONE;
    EXPECT_INT(engine_read(&client->fixture->kit.engine,
                           &address,
                           ENGINE_HEAD,
                           &document,
                           NULL),
               ERR_OK);
    vec_push(&client->read, document);
    return document;
}

/* The client holds exactly what it named and what the model reaches, as it
 * is. */
static void compare(struct client *client)
{
    struct reach_model model = {.document = model_document, .ctx = client};
    for (size_t i = 0; i < CHOICES; i++) {
        const struct value selector = client->choices[i].selector;
        if (value_is_absent(selector)) {
            continue;
        }
        const struct value root = object_field(selector, "root");
        struct target target = {.id = object_field(root, "id")};
        EXPECT(scope_read(object_field(root, "scope"), &target.scope));
        const struct value first = value_text_new("value");
        struct value path =
            array_splice_adopt(value_ref(client->choices[i].path),
                               0,
                               0,
                               &first,
                               1);
        const struct value depth = object_field(selector, "depth");
        reach_model_add(&model,
                        &target,
                        path,
                        object_field(selector, "schema"),
                        value_is_absent(depth)
                            ? UINT64_MAX
                            : (uint64_t)value_integer(depth));
        value_unref(path);
    }
    size_t count = model.reached.count;
    VEC_FOREACH (&client->named, name) {
        count += reach_model_has(&model, name) ? 0 : 1;
    }
    EXPECT_EQ(client->held.count, count);
    VEC_FOREACH (&client->held, held) {
        EXPECT(reach_model_has(&model, &held->target) ||
               is_named(client, &held->target));
        EXPECT_VALUE(held->document, model_document(client, &held->target));
    }
    VEC_FOREACH (&client->read, document) {
        value_unref(*document);
    }
    vec_clear(&client->read);
    reach_model_release(&model);
}

static void client_ends(struct client *client)
{
    hub_detach(client->peer);
    while (client->held.count > 0) {
        drop_first(client);
    }
    VEC_FOREACH (&client->named, name) {
        value_unref(name->id);
    }
    for (size_t i = 0; i < CHOICES; i++) {
        value_unref(client->choices[i].selector);
        value_unref(client->choices[i].path);
    }
    vec_release(&client->held);
    vec_release(&client->named);
    vec_release(&client->read);
    path_table_release(&client->paths);
}

static void client_steps(struct client *client)
{
    struct random *random = client->random;
    for (uint64_t n = random_below(random, 3); n > 0; n--) {
        other_writes(client);
    }
    if (random_one_in(random, 10)) {
        client->deaf = true;
    }
    if (random_one_in(random, 4)) {
        client_chooses(client, random_below(random, CHOICES));
    }
    if (random_one_in(random, 5) && !client->deaf) {
        client_names(client);
    }
    if (random_one_in(random, 5) && !client->deaf) {
        struct value ack = value_empty_object();
        object_put_number(&ack, "seenSeq", client->seen);
        client_sends(client, "ack", ack);
    }
    if (random_one_in(random, 12) ||
        (client->deaf && random_one_in(random, 3))) {
        client_connects(client);
    }
}

PROPERTY(a_client_holds_what_the_model_finds_from_scratch, 150)
{
    struct hub_fixture fixture;
    hub_fixture_begin(&fixture, NULL, false, false);
    fixture.peers[1].principal = "ann";
    raw_open(&fixture.peers[1], "s2");
    struct client client = {.fixture = &fixture, .random = random};
    path_table_init(&client.paths);
    client_connects(&client);
    for (size_t step = 0; step < 60; step++) {
        client_steps(&client);
        hub_flush(&fixture.hub);
        if (!client.deaf) {
            compare(&client);
        }
    }
    client_ends(&client);
    hub_fixture_end(&fixture);
}
