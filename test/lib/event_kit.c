/* Events on a stage (lib/event_kit.h is the manual). */

#include "lib/event_kit.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "lib/test.h"
#include "lib/values.h"
#include "value/array.h"

struct scene_store {
    struct store_kit kit;
    struct hub hub;
    uint64_t others; /* commits of somebody else */
    unsigned users;
};

/* What every commit that is to be refused says to have read. */
static const char GONE[] = "gone";

/* -- Between a session and its link -------------------------------------- */

static struct scene_link *link_of(struct transport *transport)
{
    return CONTAINER_OF(transport, struct scene_link, transport);
}

/* Answers get the names that were asked for. */
static void on_answer(void *ctx, struct message *message)
{
    struct hub_link *inner = ctx;
    struct scene_link *link = CONTAINER_OF(inner, struct scene_link, link);
    VEC_FOREACH (&message->verdicts, answer) {
        VEC_FOREACH (&link->refused, refused) {
            struct verdict *verdict = &answer->verdict;
            if (refused->local_seq == answer->local_seq &&
                verdict->err == ERR_CONFLICT && refused->err != ERR_CONFLICT) {
                (void)err_set(&verdict->detail,
                              refused->err,
                              "the test wants it");
                verdict->err = refused->err;
            }
        }
    }
    link->send(ctx, message);
}

/* A copy that read at the very beginning what was written since. */
static struct commit *spoil(struct scene_link *link,
                            const struct commit *commit)
{
    struct commit *copy = mem_alloc_zero(sizeof *copy);
    const struct value form = commit_write(commit);
    CHECK(commit_read(form, &link->link.paths, copy, NULL) == ERR_OK);
    value_unref(form);
    struct commit_read *last = commit_add_read(copy);
    last->target.id = value_text_new(GONE);
    last->path = from_pointer(&link->link.paths, "/value");
    /* Confirmed reads come first. */
    const struct commit_read stale = *last;
    memmove(copy->reads.at + 1,
            copy->reads.at,
            (copy->reads.count - 1) * sizeof *last);
    copy->reads.at[0] = stale;
    return copy;
}

static void link_send_spoiled(struct scene_link *link,
                              const struct message *message)
{
    struct message copy = *message;
    memset(&copy.commits, 0, sizeof copy.commits);
    size_t spoiled = 0;
    for (size_t i = 0; i < message->commits.count; i++) {
        const struct commit *commit = message->commits.at[i];
        if (spoiled < link->refusals.count) {
            const struct scene_refusal refusal = {commit->local_seq,
                                                  link->refusals.at[spoiled]};
            vec_push(&link->refused, refusal);
            commit = spoil(link, commit);
            spoiled++;
        }
        vec_push(&copy.commits, commit);
    }
    memmove(link->refusals.at,
            link->refusals.at + spoiled,
            (link->refusals.count - spoiled) * sizeof link->refusals.at[0]);
    link->refusals.count -= spoiled;
    link->link.transport.methods->send(&link->link.transport, &copy);
    for (size_t i = 0; i < spoiled; i++) {
        union {
            const struct commit *given;
            struct commit *own;
        } made = {.given = copy.commits.at[i]};
        commit_release(made.own);
        mem_free(made.own, sizeof *made.own);
    }
    vec_release(&copy.commits);
}

static void link_connect(struct transport *transport, struct session *session)
{
    struct transport *inner = &link_of(transport)->link.transport;
    inner->methods->connect(inner, session);
}

static void link_send(struct transport *transport,
                      const struct message *message)
{
    struct scene_link *link = link_of(transport);
    struct hub_peer *peer = link->link.peer;
    if (peer != NULL && peer->send != on_answer) {
        link->send = peer->send;
        peer->send = on_answer;
    }
    link->commits += message->commits.count;
    if (message->commits.count > 0 && link->refusals.count > 0) {
        link_send_spoiled(link, message);
    } else {
        link->link.transport.methods->send(&link->link.transport, message);
    }
}

static void link_disconnect(struct transport *transport)
{
    struct transport *inner = &link_of(transport)->link.transport;
    inner->methods->disconnect(inner);
}

static const struct transport_methods methods = {
    .connect = link_connect,
    .send = link_send,
    .disconnect = link_disconnect,
};

static struct scene_link *link_new(struct scene_store *store,
                                   enum scene_where where)
{
    struct scene_link *link = mem_alloc_zero(sizeof *link);
    link->transport.methods = &methods;
    hub_link_init(&link->link,
                  &store->hub,
                  where == AT_STORE_HELD ? HUB_LINK_HELD : HUB_LINK_DIRECT,
                  VALUE_NONE);
    store->users++;
    return link;
}

static void link_free(struct scene_link *link)
{
    hub_link_release(&link->link);
    vec_release(&link->refusals);
    vec_release(&link->refused);
    mem_free(link, sizeof *link);
}

/* -- Stores -------------------------------------------------------------- */

static void land_elsewhere(struct scene_store *store, const char *operation)
{
    char line[400];
    (void)snprintf(line,
                   sizeof line,
                   "elsewhere %u | %s",
                   (unsigned)++store->others,
                   operation);
    kit_commit(&store->kit, line);
    EXPECT_EQ(store->kit.verdicts[0].err, ERR_OK);
}

static struct scene_store *store_new(mono_ms now)
{
    struct scene_store *store = mem_alloc_zero(sizeof *store);
    kit_open_memory(&store->kit, NULL);
    land_elsewhere(store, "set gone 1");
    const struct hub_options options = {
        .immediate = true,
        .seed = 1,
        .long_deltas = true,
    };
    hub_init(&store->hub, &store->kit.engine, &options, now);
    return store;
}

static void store_leave(struct scene_store *store)
{
    if (--store->users > 0) {
        return;
    }
    hub_release(&store->hub);
    kit_close(&store->kit);
    mem_free(store, sizeof *store);
}

static struct scene_store *store_named(struct scene *on, const char **name)
{
    const size_t space = **name == '>';
    *name += space;
    CHECK(on->stores[space] != NULL);
    return on->stores[space];
}

void scene_elsewhere(struct scene *on, const char *operation)
{
    struct scene_store *store = store_named(on, &operation);
    land_elsewhere(store, operation);
    hub_poll(&store->hub);
}

const char *scene_stored(struct scene *on, const char *name)
{
    struct scene_store *store = store_named(on, &name);
    return kit_read(&store->kit, name);
}

/* -- Life ---------------------------------------------------------------- */

static void begin(struct scene *on,
                  struct scene_store *store,
                  const char *session,
                  uint64_t seed,
                  enum scene_where where)
{
    *on = (struct scene){0};
    (void)snprintf(on->instance, sizeof on->instance, "%s", session);
    if (store == NULL) {
        kit_begin(&on->kit);
        return;
    }
    on->stores[0] = store;
    on->links[0] = link_new(store, where);
    kit_begin_behind(&on->kit, &on->links[0]->transport, session, seed);
}

void scene_begin(struct scene *on, enum scene_where where)
{
    begin(on, where == AT_HOME ? NULL : store_new(1), "first", 1, where);
}

void scene_begin_beside(struct scene *on,
                        struct scene *other,
                        const char *session,
                        enum scene_where where)
{
    struct scene_store *store = other->stores[0];
    CHECK(store != NULL && where != AT_HOME);
    begin(on, store, session, store->users + 1, where);
    const struct events_policy policy = events_policy();
    scene_policy(on, &policy);
}

void scene_open_second(struct scene *on, enum scene_where where)
{
    const struct space_options options = {
        .id = value_text_new("second"),
        .session = where != AT_HOME ? value_text_new(on->instance) : VALUE_NONE,
        .transport = NULL,
        .seed = 7,
    };
    struct space_options real = options;
    if (where != AT_HOME) {
        on->stores[1] = store_new(1);
        on->links[1] = link_new(on->stores[1], where);
        real.transport = &on->links[1]->transport;
    }
    CHECK(space_open(&on->kit.replica, &real, &on->kit.second, NULL) == ERR_OK);
    value_unref(options.id);
    value_unref(options.session);
}

void scene_policy(struct scene *on, const struct events_policy *policy)
{
    const struct value instance = value_text_new(on->instance);
    events_configure(on->kit.sched, policy, instance);
    value_unref(instance);
}

/* Before the replica goes. */
static void release_places(struct scene_handler *handler)
{
    for (size_t i = 0; i < handler->read_count; i++) {
        place_unref(handler->reads[i].place);
    }
    for (size_t i = 0; i < handler->write_count; i++) {
        place_unref(handler->writes[i].place);
    }
    handler->read_count = 0;
    handler->write_count = 0;
}

static void handler_free(struct scene_handler *handler)
{
    release_places(handler);
    buf_release(&handler->seen);
    mem_free(handler, sizeof *handler);
}

static void sent_free(struct scene_sent *sent)
{
    buf_release(&sent->payload);
    buf_release(&sent->id);
    buf_release(&sent->receipt_id);
    buf_release(&sent->receipt);
    mem_free(sent, sizeof *sent);
}

static bool is_answered(struct scene *on)
{
    return on->kit.sched->inflight == 0 && !events_in_flight(on->kit.sched);
}

void scene_end(struct scene *on)
{
    for (unsigned i = 0; i < KIT_WAKES_MAX && !is_answered(on); i++) {
        kit_tick(&on->kit, 1);
        scene_pump(on);
    }
    scene_drop(on);
}

void scene_drop(struct scene *on)
{
    kit_end(&on->kit);
    VEC_FOREACH (&on->sent, sent) {
        if ((*sent)->ended != 1) {
            (void)test_fail(__FILE__,
                            __LINE__,
                            "what was sent as %s has ended %u times",
                            buf_text(&(*sent)->payload),
                            (*sent)->ended);
        }
        sent_free(*sent);
    }
    vec_release(&on->sent);
    VEC_FOREACH (&on->handlers, handler) {
        EXPECT_EQ((*handler)->released, 1);
        handler_free(*handler);
    }
    vec_release(&on->handlers);
    for (size_t i = 0; i < SCENE_SPACES; i++) {
        if (on->stores[i] != NULL) {
            link_free(on->links[i]);
            store_leave(on->stores[i]);
        }
    }
    buf_release(&on->handled);
    buf_release(&on->ended);
}

void scene_pump_one(struct scene *on, size_t space)
{
    replica_pump(&on->kit.replica);
    hub_link_pump(&on->links[space]->link);
    replica_pump(&on->kit.replica);
    hub_link_pump(&on->links[space]->link);
}

void scene_pump(struct scene *on)
{
    for (size_t i = 0; i < SCENE_SPACES; i++) {
        if (on->links[i] != NULL) {
            scene_pump_one(on, i);
        }
    }
}

bool scene_settle(struct scene *on)
{
    struct sched_kit *kit = &on->kit;
    for (unsigned i = 0; i < KIT_WAKES_MAX; i++) {
        kit_step(kit);
        scene_pump(on);
        const mono_ms wake = sched_next_wake(kit->sched);
        if (sched_is_idle(kit->sched) && is_answered(on)) {
            sched_idle_over(kit->sched);
            return true;
        }
        const mono_ms other = replica_next_wake(&kit->replica);
        const mono_ms next = wake < other ? wake : other;
        if (next != MONO_NEVER && next > kit->sim.now) {
            sim_host_advance(&kit->sim, next);
        }
    }
    return false;
}

void scene_refuse(struct scene *on, enum err err, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        vec_push(&on->links[0]->refusals, err);
    }
}

/* -- Texts --------------------------------------------------------------- */

static const char *take(struct scene *on, struct buf *from)
{
    struct sched_kit *kit = &on->kit;
    struct buf *text = &kit->texts[kit->next_text++ % KIT_ANSWERS];
    buf_clear(text);
    buf_append(text, from->at, from->length);
    buf_clear(from);
    return buf_text(text);
}

const char *scene_handled(struct scene *on)
{
    return take(on, &on->handled);
}

const char *scene_ended(struct scene *on)
{
    return take(on, &on->ended);
}

static void put_blank(struct buf *to)
{
    if (to->length > 0) {
        buf_append_char(to, ' ');
    }
}

static void put_end(struct buf *to, const struct scene_sent *sent)
{
    static const char *const names[] = {
        [EVENT_DONE] = "done",
        [EVENT_DROPPED] = "dropped",
        [EVENT_FAILED] = "failed",
    };
    if (sent->ended == 0) {
        buf_append_text(to, "waits");
        return;
    }
    buf_append_text(to, names[sent->outcome]);
    if (sent->error.err != ERR_OK) {
        buf_printf(to, " %s", err_name(sent->error.err));
    }
}

const char *scene_end_of(struct scene_sent *sent)
{
    struct buf text = {0};
    put_end(&text, sent);
    const char *shown = take(sent->on, &text);
    buf_release(&text);
    return shown;
}

const struct events_counters *scene_counters(struct scene *on)
{
    return events_counters(on->kit.sched);
}

/* -- Sending ------------------------------------------------------------- */

static void put_plain(struct buf *to, struct value value)
{
    if (value_is_string(value)) {
        const struct text text = value_text(&value);
        buf_append(to, text.at, text.length);
    } else {
        kit_put_value(to, value);
    }
}

static void on_done(void *ctx, const struct event_result *result)
{
    struct scene_sent *sent = ctx;
    struct scene *on = sent->on;
    sent->ended++;
    sent->outcome = result->outcome;
    sent->error = result->error;
    sent->attempts = result->attempts;
    buf_clear(&sent->id);
    const struct value id = event_id(result->event);
    put_plain(&sent->id, id);
    value_unref(id);
    buf_clear(&sent->receipt_id);
    put_plain(&sent->receipt_id, result->receipt_id);
    buf_clear(&sent->receipt);
    kit_put_value(&sent->receipt, result->receipt);
    put_blank(&on->ended);
    buf_append(&on->ended, sent->payload.at, sent->payload.length);
    buf_append_char(&on->ended, ' ');
    put_end(&on->ended, sent);
    buf_append_char(&on->ended, ';');
    if (sent->then != NULL) {
        sent->then(sent);
    }
}

struct stream *scene_stream(struct scene *on, const char *name)
{
    struct place *place = kit_place(&on->kit, name);
    struct stream *stream = events_stream(on->kit.sched, place);
    place_unref(place);
    return stream;
}

static enum err send(struct scene *on,
                     const char *stream,
                     const struct scene_sending *sending,
                     struct scene_sent *sent,
                     struct err_detail *detail)
{
    const struct event_spec spec = {
        .payload = sending->payload != NULL ? from_quoted(sending->payload)
                                            : VALUE_NONE,
        .origin = sending->origin,
        .id = sending->id != NULL ? value_text_new(sending->id) : VALUE_NONE,
        .session = sending->session != NULL ? value_text_new(sending->session)
                                            : VALUE_NONE,
        .time = sending->time,
        .no_retry = sending->no_retry,
        .known = sending->known,
        .done = on_done,
        .ctx = sent,
    };
    struct stream *to = scene_stream(on, stream);
    const enum err err =
        sending->handling != NULL
            ? handling_send(sending->handling, to, &spec, detail)
            : events_send(on->kit.sched, to, &spec, detail);
    value_unref(spec.payload);
    value_unref(spec.id);
    value_unref(spec.session);
    return err;
}

struct scene_sent *scene_try_send(struct scene *on,
                                  const char *stream,
                                  const struct scene_sending *sending,
                                  struct err_detail *detail)
{
    struct scene_sent *sent = mem_alloc_zero(sizeof *sent);
    sent->on = on;
    sent->then = sending->then;
    buf_append_text(&sent->payload,
                    sending->payload != NULL ? sending->payload : "()");
    const enum err err = send(on, stream, sending, sent, detail);
    EXPECT_EQ(sent->ended, 0);
    if (err != ERR_OK) {
        sent_free(sent);
        return NULL;
    }
    vec_push(&on->sent, sent);
    return sent;
}

struct scene_sent *scene_send_with(struct scene *on,
                                   const char *stream,
                                   const struct scene_sending *sending)
{
    struct err_detail detail = {0};
    struct scene_sent *sent = scene_try_send(on, stream, sending, &detail);
    if (sent == NULL) {
        (void)test_fail(__FILE__, __LINE__, "not sent: %s", detail.text);
    }
    return sent;
}

struct scene_sent *scene_send(struct scene *on,
                              const char *stream,
                              const char *payload)
{
    const struct scene_sending sending = {.payload = payload};
    return scene_send_with(on, stream, &sending);
}

struct scene_sent *scene_send_number(struct scene *on,
                                     const char *stream,
                                     int64_t number)
{
    char payload[24];
    (void)snprintf(payload, sizeof payload, "%lld", (long long)number);
    return scene_send(on, stream, payload);
}

struct scene_sent *scene_send_as(struct scene *on,
                                 const char *stream,
                                 const char *id,
                                 const char *payload)
{
    const struct scene_sending sending = {
        .payload = payload,
        .id = id,
        .session = "caller",
    };
    return scene_send_with(on, stream, &sending);
}

struct scene_sent *scene_send_from(struct scene *on,
                                   const char *stream,
                                   struct transaction *origin,
                                   const char *payload)
{
    const struct scene_sending sending = {.payload = payload, .origin = origin};
    return scene_send_with(on, stream, &sending);
}

/* -- Handlers ------------------------------------------------------------ */

static enum run_result run_handler(struct handling *handling, void *ctx)
{
    struct scene_handler *handler = ctx;
    struct scene *on = handler->on;
    const struct value payload = handling_payload(handling);
    handler->runs++;
    put_blank(&on->kit.order);
    buf_append_text(&on->kit.order, handler->name);
    put_blank(&on->handled);
    buf_printf(&on->handled, "%s=", handler->name);
    kit_put_value(&on->handled, payload);
    put_blank(&handler->seen);
    kit_put_value(&handler->seen, payload);
    const enum run_result result = handler->fn(handling, handler);
    return handling->sched->unwinding ? RUN_AGAIN : result;
}

static void on_release(void *ctx)
{
    struct scene_handler *handler = ctx;
    handler->released++;
    handler->handler = NULL;
    release_places(handler);
}

/* The last arrow: ->a is a place of the second space that is not declared. */
static void parse_surface(struct scene_handler *handler, const char *surface)
{
    const char *arrow = NULL;
    for (const char *next = strstr(surface, "->"); next != NULL;
         next = strstr(next + 2, "->")) {
        arrow = next;
    }
    struct sched_kit *kit = &handler->on->kit;
    handler->read_count =
        kit_places(kit,
                   surface,
                   arrow != NULL ? (size_t)(arrow - surface) : strlen(surface),
                   handler->reads);
    if (arrow != NULL) {
        handler->write_count =
            kit_places(kit, arrow + 2, strlen(arrow + 2), handler->writes);
    }
}

static size_t declared(const struct scene_handler *handler,
                       struct declared_read *out)
{
    size_t count = 0;
    for (size_t i = 0; i < handler->read_count; i++) {
        const struct kit_place *from = &handler->reads[i];
        if (from->declared) {
            out[count++] = (struct declared_read){from->place, from->kind};
        }
    }
    return count;
}

struct scene_handler *scene_try_handle(struct scene *on,
                                       const char *name,
                                       const struct scene_handler_spec *spec,
                                       struct err_detail *detail)
{
    struct scene_handler *handler = mem_alloc_zero(sizeof *handler);
    handler->on = on;
    handler->fn = spec->fn;
    handler->ctx = spec->ctx;
    handler->k = spec->k;
    handler->target = spec->target;
    (void)snprintf(handler->name, sizeof handler->name, "%s", name);
    parse_surface(handler, spec->surface != NULL ? spec->surface : "");
    struct declared_read reads[KIT_PLACES_MAX];
    const struct handler_spec real = {
        .run = run_handler,
        .ctx = handler,
        .release = on_release,
        .name = value_text_new(name),
        .reads = reads,
        .read_count = declared(handler, reads),
        .declare = spec->declare,
        .pure = spec->pure,
        .several_spaces = spec->several_spaces,
        .replace = spec->replace,
    };
    const enum err err = events_handle(on->kit.sched,
                                       scene_stream(on, spec->stream),
                                       &real,
                                       &handler->handler,
                                       detail);
    value_unref(real.name);
    if (err != ERR_OK) {
        EXPECT_EQ(handler->released, 0);
        handler_free(handler);
        return NULL;
    }
    vec_push(&on->handlers, handler);
    return handler;
}

struct scene_handler *scene_handle(struct scene *on,
                                   const char *name,
                                   const struct scene_handler_spec *spec)
{
    struct err_detail detail = {0};
    struct scene_handler *handler = scene_try_handle(on, name, spec, &detail);
    if (handler == NULL) {
        (void)test_fail(__FILE__, __LINE__, "no handler: %s", detail.text);
    }
    return handler;
}

struct scene_handler *scene_on(struct scene *on,
                               const char *name,
                               const char *stream,
                               const char *surface,
                               scene_fn *fn,
                               int64_t k)
{
    const struct scene_handler_spec spec = {
        .stream = stream,
        .surface = surface,
        .fn = fn,
        .k = k,
    };
    return scene_handle(on, name, &spec);
}

void scene_cancel(struct scene_handler *handler)
{
    struct handler *gone = handler->handler;
    CHECK(gone != NULL);
    handler->handler = NULL;
    events_cancel(handler->on->kit.sched, gone);
}

/* -- What functions do --------------------------------------------------- */

struct value handler_input(struct handling *handling,
                           struct scene_handler *handler,
                           size_t index)
{
    CHECK(index < handler->read_count);
    const struct kit_place *from = &handler->reads[index];
    struct value value = VALUE_NONE;
    (void)run_read(handling->run, from->place, from->kind, from->flags, &value);
    return value;
}

static int64_t number_of(struct value value)
{
    return value_tag(value) == TAG_INT ? value_integer(value) : 0;
}

int64_t handler_number(struct handling *handling,
                       struct scene_handler *handler,
                       size_t index)
{
    const struct value value = handler_input(handling, handler, index);
    const int64_t number = number_of(value);
    value_unref(value);
    return number;
}

int64_t handler_payload(struct handling *handling)
{
    return number_of(handling_payload(handling));
}

static void written(enum err err, const struct err_detail *detail)
{
    if (err != ERR_OK) {
        (void)test_fail(__FILE__, __LINE__, "%s", detail->text);
    }
}

void handler_output_adopt(struct handling *handling,
                          struct scene_handler *handler,
                          size_t index,
                          struct value value)
{
    CHECK(index < handler->write_count);
    struct err_detail detail = {0};
    if (handling->sched->unwinding) { /* what was read is not there */
        value_unref(value);
        return;
    }
    written(transaction_put_adopt(handling_transaction(handling),
                                  handler->writes[index].place,
                                  value,
                                  &detail),
            &detail);
}

enum run_result handle_nothing(struct handling *handling,
                               struct scene_handler *handler)
{
    (void)handling;
    (void)handler;
    return RUN_DONE;
}

enum run_result handle_store(struct handling *handling,
                             struct scene_handler *handler)
{
    for (size_t i = 0; i < handler->write_count; i++) {
        handler_output_adopt(handling,
                             handler,
                             i,
                             value_ref(handling_payload(handling)));
    }
    return RUN_DONE;
}

enum run_result handle_sum(struct handling *handling,
                           struct scene_handler *handler)
{
    int64_t sum = handler_payload(handling) + handler->k;
    for (size_t i = 0; i < handler->read_count; i++) {
        sum += handler_number(handling, handler, i);
    }
    for (size_t i = 0; i < handler->write_count; i++) {
        handler_output_adopt(handling, handler, i, value_int(sum));
    }
    return RUN_DONE;
}

static struct value output_now(struct handling *handling,
                               struct scene_handler *handler,
                               size_t index)
{
    struct value value = VALUE_NONE;
    (void)run_read(handling->run,
                   handler->writes[index].place,
                   READ_DEEP,
                   READ_FOR_BOTH,
                   &value);
    return value;
}

enum run_result handle_count(struct handling *handling,
                             struct scene_handler *handler)
{
    for (size_t i = 0; i < handler->write_count; i++) {
        const struct value now = output_now(handling, handler, i);
        const int64_t sum = number_of(now) + handler_payload(handling);
        value_unref(now);
        handler_output_adopt(handling, handler, i, value_int(sum));
    }
    return RUN_DONE;
}

enum run_result handle_append(struct handling *handling,
                              struct scene_handler *handler)
{
    for (size_t i = 0; i < handler->write_count; i++) {
        struct err_detail detail = {0};
        const struct value item = value_ref(handling_payload(handling));
        written(transaction_merge_adopt(handling_transaction(handling),
                                        handler->writes[i].place,
                                        WRITE_APPEND,
                                        array_new_adopt(&item, 1),
                                        &detail),
                &detail);
    }
    return RUN_DONE;
}

enum run_result handle_append_whole(struct handling *handling,
                                    struct scene_handler *handler)
{
    for (size_t i = 0; i < handler->write_count; i++) {
        const struct value item = value_ref(handling_payload(handling));
        const struct value list = output_now(handling, handler, i);
        handler_output_adopt(handling,
                             handler,
                             i,
                             value_is_absent(list)
                                 ? array_new_adopt(&item, 1)
                                 : array_push_adopt(list, item));
    }
    return RUN_DONE;
}

enum run_result handle_forward(struct handling *handling,
                               struct scene_handler *handler)
{
    const int64_t number = handler_payload(handling) + handler->k;
    char payload[24];
    (void)snprintf(payload, sizeof payload, "%lld", (long long)number);
    const struct scene_sending sending = {
        .payload = payload,
        .handling = handling,
    };
    (void)scene_send_with(handler->on, handler->target, &sending);
    return handle_store(handling, handler);
}

enum run_result handle_fail(struct handling *handling,
                            struct scene_handler *handler)
{
    (void)handle_store(handling, handler);
    struct err_detail detail = {0};
    (void)err_set(&detail, ERR_ARGUMENT, "%s fails", handler->name);
    return run_fail(handling->run, &detail);
}
