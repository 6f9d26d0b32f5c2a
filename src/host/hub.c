/* The hub: peers, sessions, and their messages. */

#include "host/hub.h"

#include "host/fanout.h"
#include "host/selectors.h"
#include "store/observations.h"
#include "value/compare.h"
#include "value/object.h"

void hub_fault(struct hub *hub,
               enum hub_work work,
               const char *what,
               const struct err_detail *detail)
{
    hub->counters.faults++;
    hub->troubles[work] = *detail;
    log_write(hub->options.log,
              LOG_LEVEL_WARNING,
              "hub: %s: %s: %s",
              what,
              err_name(detail->err),
              detail->text);
}

void hub_worked(struct hub *hub, enum hub_work work)
{
    if (UNLIKELY(hub->troubles[work].err != ERR_OK)) {
        hub->troubles[work] = (struct err_detail){0};
        log_write(hub->options.log, LOG_LEVEL_INFO, "hub: recovered");
    }
}

/* -- The outbox ---------------------------------------------------------- */

void hub_queue(struct hub_peer *peer, struct message *message)
{
    message->connection = peer->order.connection;
    message->number = ++peer->sent;
    const struct hub_outgoing outgoing = {.peer = peer, .message = *message};
    vec_push(&peer->hub->outbox, outgoing);
    *message = (struct message){0};
}

static void enter(struct hub *hub)
{
    hub->depth++;
}

/* The outermost call sends; a send may call back. */
static void leave(struct hub *hub)
{
    while (hub->depth == 1 && hub->outbox_sent < hub->outbox.count) {
        struct hub_outgoing next = hub->outbox.at[hub->outbox_sent++];
        if (next.peer != NULL && next.broken) {
            next.peer->broken(next.peer->ctx);
        } else if (next.peer != NULL) {
            next.peer->send(next.peer->ctx, &next.message);
        }
        message_release(&next.message);
    }
    if (hub->depth == 1) {
        vec_clear(&hub->outbox);
        hub->outbox_sent = 0;
    }
    hub->depth--;
}

static void forget_outgoing(struct hub *hub, const struct hub_peer *peer)
{
    for (size_t i = hub->outbox_sent; i < hub->outbox.count; i++) {
        if (hub->outbox.at[i].peer == peer) {
            hub->outbox.at[i].peer = NULL;
        }
    }
}

/* -- Sessions ------------------------------------------------------------ */

static bool is_session(const void *item, const void *id)
{
    const struct hub_session *session = item;
    return key_equal(session->id, *(const struct value *)id);
}

static struct hub_session *find_session(const struct hub *hub, struct value id)
{
    return map_find(&hub->sessions, value_hash(id), is_session, &id);
}

static struct hub_session *new_session(struct hub *hub,
                                       struct value id,
                                       struct value branch,
                                       struct value principal)
{
    struct hub_session *session = mem_alloc_zero(sizeof *session);
    session->hub = hub;
    session->id = value_ref(id);
    session->branch = value_ref(branch);
    session->principal = value_ref(principal);
    const struct identity identity = {principal, id};
    for (size_t i = 0; i < SCOPE_COUNT; i++) {
        const enum err err = scope_key_new((enum scope)i,
                                           identity,
                                           &session->scope_keys[i],
                                           NULL);
        /* Refused: a scope that is not for this one. */
        CHECK(err == ERR_OK || value_is_absent(session->scope_keys[i]));
    }
    list_node_init(&session->in_idle);
    list_node_init(&session->in_owing);
    list_node_init(&session->in_listening);
    list_init(&session->watches);
    list_init(&session->dirty);
    map_insert(&hub->sessions, value_hash(id), session);
    return session;
}

/* It has no peer. */
static void free_session(struct hub_session *session)
{
    CHECK(session->peer == NULL);
    selectors_free(session);
    fanout_unwatch_all(session);
    fanout_listen(session, false);
    vec_release(&session->observations);
    list_remove(&session->in_idle);
    list_remove(&session->in_owing);
    (void)map_remove(&session->hub->sessions,
                     value_hash(session->id),
                     is_session,
                     &session->id);
    for (size_t i = 0; i < SCOPE_COUNT; i++) {
        value_unref(session->scope_keys[i]);
    }
    value_unref(session->id);
    value_unref(session->token);
    value_unref(session->shown);
    value_unref(session->branch);
    value_unref(session->principal);
    mem_free(session, sizeof *session);
}

/* The session of a peer, if it has one, continues without it. */
static void leave_session(struct hub_peer *peer)
{
    struct hub_session *session = peer->session;
    if (session == NULL) {
        return;
    }
    struct hub *hub = peer->hub;
    peer->session = NULL;
    session->peer = NULL;
    session->ends = hub->now + HUB_KEEP_MS;
    list_remove(&session->in_owing);
    fanout_listen(session, false);
    list_push_back(&hub->idle, &session->in_idle);
}

void hub_break_peer(struct hub_peer *peer)
{
    leave_session(peer);
    peer->over = true;
    const struct hub_outgoing outgoing = {.peer = peer, .broken = true};
    vec_push(&peer->hub->outbox, outgoing);
}

/* The peer is told why; its later messages are ignored. */
static void revoke_peer(struct hub_peer *peer, const char *reason)
{
    leave_session(peer);
    peer->over = true;
    struct message message = {
        .kind = MESSAGE_REVOKED,
        .reason = value_text_new(reason),
    };
    hub_queue(peer, &message);
}

/* -- Opening ------------------------------------------------------------- */

static struct value mint_id(struct hub *hub)
{
    struct value id = VALUE_NONE;
    do {
        struct buf text = {0};
        value_unref(id);
        buf_printf(&text,
                   "s-%016llx%016llx",
                   (unsigned long long)random_u64(&hub->random),
                   (unsigned long long)random_u64(&hub->random));
        id = value_string_new(buf_text(&text), text.length);
        buf_release(&text);
    } while (find_session(hub, id) != NULL);
    return id;
}

/* Processes everything that has landed; and whether the branch exists. */
static enum err look(struct hub *hub,
                     struct value branch,
                     bool *known,
                     struct err_detail *detail)
{
    enum err err = engine_read_begin(hub->engine, detail);
    if (err != ERR_OK) {
        return err;
    }
    err = fanout_feed(hub, hub->engine->seq, detail);
    if (err == ERR_OK) {
        hub->changes = hub->engine->changes;
    }
    *known = engine_branch(hub->engine, branch) != NULL;
    engine_read_end(hub->engine);
    if (err == ERR_OK) {
        hub_worked(hub, HUB_READING);
    }
    return err;
}

static bool same_name(struct value a, struct value b)
{
    return value_is_absent(a) || value_is_absent(b)
               ? value_is_absent(a) && value_is_absent(b)
               : key_equal(a, b);
}

/* Whether other sessions on its branch have runs to report. Sessions of another
 * hub may be on any branch. */
static bool has_company(const struct hub_session *session)
{
    if (engine_has_peers(session->hub->engine)) {
        return true;
    }
    LIST_FOREACH (&session->hub->listening, node) {
        const struct hub_session *other =
            CONTAINER_OF(node, struct hub_session, in_listening);
        if (other != session && key_equal(other->branch, session->branch)) {
            return true;
        }
    }
    return false;
}

static void queue_opened(struct hub_session *session, bool resumed)
{
    struct message message = {
        .kind = MESSAGE_OPENED,
        .session = value_ref(session->id),
        .token = value_ref(session->token),
        .resumed = resumed,
        .markers = true,
        .observations = has_company(session),
        .server_seq = session->hub->seq,
        .caught_up = session->caught_up,
    };
    hub_queue(session->peer, &message);
}

/* The peer takes over the session from any former peer. */
static void take_over(struct hub_session *session,
                      struct hub_peer *peer,
                      bool resumed,
                      uint64_t seen)
{
    if (session->peer != NULL) {
        revoke_peer(session->peer, "taken-over");
    }
    list_remove(&session->in_idle);
    session->peer = peer;
    peer->session = session;
    queue_opened(session, resumed);
    if (resumed) {
        /* A seq that never existed counts as 0. */
        fanout_resume(session, seen <= session->hub->seq ? seen : 0);
        fanout_tell(session);
    }
}

/* -- Tokens (hub-7) ------------------------------------------------------ */

/* Takes as long for any two of the same length. */
static bool same_token(struct value a, struct value b)
{
    if (!value_is_string(a) || !value_is_string(b)) {
        return false;
    }
    const struct text x = value_text(&a);
    const struct text y = value_text(&b);
    unsigned char difference = x.length != y.length;
    for (size_t i = 0; i < x.length && x.length == y.length; i++) {
        difference |= (unsigned char)(x.at[i] ^ y.at[i]);
    }
    return difference == 0;
}

/* Whether the `open` comes from the client that has the session. One whose
 * `opened` may be lost has no token to show, but its own number. */
static bool has_token(const struct hub_session *session,
                      const struct message *open)
{
    return session->hub->options.tokens == NULL ||
           same_token(session->token, open->token) ||
           same_token(session->shown, open->token) ||
           (!session->heard_of && open->client != 0 &&
            open->client == session->client);
}

/* The `open` succeeds: a new token for the next one. */
static void renew_token(struct hub_session *session, const struct message *open)
{
    const struct hub_options *options = &session->hub->options;
    if (options->tokens == NULL) {
        return;
    }
    struct buf text = {0};
    for (size_t i = 0; i < 2; i++) {
        buf_printf(&text,
                   "%016llx",
                   (unsigned long long)options->tokens(options->ctx));
    }
    value_unref(session->shown);
    session->shown = value_ref(open->token);
    value_unref(session->token);
    session->token = value_string_adopt(&text);
}

/* -- Sessions, opened or taken over -------------------------------------- */

/* An `open` that was under way for so long that its sender has opened another
 * connection since. */
static bool is_outdated(const struct hub_session *session,
                        const struct message *open)
{
    return session != NULL && open->client != 0 &&
           open->client == session->client &&
           open->connection < session->connection;
}

static void open_session(struct hub_peer *peer,
                         struct value id,
                         struct value branch,
                         const struct message *open)
{
    struct hub *hub = peer->hub;
    struct hub_session *session = find_session(hub, id);
    if (is_outdated(session, open)) {
        hub_break_peer(peer);
        return;
    }
    if (session != NULL && !same_name(session->principal, peer->principal)) {
        revoke_peer(peer, "unauthorized");
        return;
    }
    const bool is_owner = session != NULL && has_token(session, open);
    if (session != NULL && session->peer != NULL && !is_owner) {
        revoke_peer(peer, "in-use");
        return;
    }
    if (session != NULL && (!is_owner || !session->heard_of ||
                            !key_equal(session->branch, branch) ||
                            !selectors_can_resume(session))) {
        /* Another view of the space; or too much is not acknowledged; or the
         * client does not know that this session is new, and would take it for
         * the former one, with its watches; or it is not that client. */
        if (session->peer != NULL) {
            revoke_peer(session->peer, "taken-over");
        }
        free_session(session);
        session = NULL;
    }
    const bool resumed = session != NULL;
    if (!resumed) {
        session = new_session(hub, id, branch, peer->principal);
    }
    session->client = open->client;
    session->connection = open->connection;
    session->deltas = open->deltas;
    renew_token(session, open);
    take_over(session, peer, resumed, open->seen_seq);
    fanout_listen(session, open->observations); /* after the former peer */
}

static void receive_open(struct hub_peer *peer, const struct message *message)
{
    struct hub *hub = peer->hub;
    struct err_detail detail = {0};
    bool known = false;
    leave_session(peer);
    struct value branch = value_is_absent(message->branch)
                              ? value_text_new("")
                              : value_ref(message->branch);
    if (look(hub, branch, &known, &detail) != ERR_OK) {
        hub_fault(hub, HUB_READING, "a session could not be opened", &detail);
        hub_break_peer(peer);
    } else if (!known) {
        revoke_peer(peer, "unknown-branch");
    } else {
        struct value id = value_is_absent(message->session)
                              ? mint_id(hub)
                              : value_ref(message->session);
        open_session(peer, id, branch, message);
        value_unref(id);
    }
    value_unref(branch);
}

/* -- Watching ------------------------------------------------------------ */

/* Whether the session knows the state of the target, and is to be told only
 * when it changes. The answer is the same for every session that asks in this
 * state of the file. */
static bool is_followed(const struct hub_session *session,
                        const struct message *watch,
                        size_t i)
{
    return i < watch->since.count && watch->since.at[i] > 0 &&
           engine_has_history(session->hub->engine,
                              session->branch,
                              watch->since.at[i]);
}

static enum err follow_targets(struct hub_session *session,
                               const struct message *watch,
                               struct message *answer,
                               struct err_detail *detail)
{
    uint64_t known = session->hub->seq;
    for (size_t i = 0; i < watch->since.count; i++) {
        if (is_followed(session, watch, i)) {
            fanout_follow(session, &watch->targets.at[i], watch->since.at[i]);
            known = watch->since.at[i] < known ? watch->since.at[i] : known;
        }
    }
    if (known == session->hub->seq) {
        return ERR_OK;
    }
    enum err err = fanout_catch_up(session, known, detail);
    for (size_t i = 0; err == ERR_OK && i < watch->since.count; i++) {
        if (is_followed(session, watch, i)) {
            err = fanout_answer(session, &watch->targets.at[i], answer, detail);
        }
    }
    return err;
}

static enum err read_targets(struct hub_session *session,
                             const struct message *watch,
                             struct message *answer,
                             struct err_detail *detail)
{
    enum err err = ERR_OK;
    for (size_t i = 0; err == ERR_OK && i < watch->targets.count; i++) {
        const struct target *target = &watch->targets.at[i];
        if (is_followed(session, watch, i)) {
            continue;
        }
        struct upsert upsert = {
            .target = {value_ref(target->id), target->scope},
        };
        const struct engine_address address = {
            .branch = session->branch,
            .scope_key = session->scope_keys[target->scope],
            .id = target->id,
        };
        /* A document that can never be written counts as never written. */
        if (!value_is_absent(address.scope_key)) {
            err = engine_head(session->hub->engine,
                              &address,
                              &upsert.document,
                              &upsert.seq,
                              detail);
        }
        if (err == ERR_OK) {
            err = fanout_add_before(session, &upsert, detail);
        }
        vec_push(&answer->upserts, upsert);
    }
    return err == ERR_OK ? follow_targets(session, watch, answer, detail) : err;
}

/* The answer to a watch, or to an unwatch of selectors. */
static void queue_answer(struct hub_session *session, struct message *answer)
{
    session->hub->counters.answers += answer->upserts.count;
    answer->from_seq = session->told;
    if (list_is_empty(&session->dirty) && !session->marker_owed &&
        !selectors_owe(session)) {
        session->told = session->hub->seq; /* nothing else is to be told */
    }
    answer->to_seq = session->told;
    hub_queue(session->peer, answer);
}

static void answer_watch(struct hub_session *session,
                         const struct message *watch,
                         struct message *answer)
{
    size_t next = 0;
    for (size_t i = 0; i < watch->targets.count; i++) {
        const struct target *target = &watch->targets.at[i];
        if (!is_followed(session, watch, i)) {
            fanout_watch(session, target, answer->upserts.at[next++].seq);
        }
    }
    /* What comes behind those are followed ones that are not as they were. */
    const bool changed = next < answer->upserts.count;
    for (size_t i = 0; changed && i < watch->since.count; i++) {
        if (is_followed(session, watch, i)) {
            fanout_told(session, &watch->targets.at[i]);
        }
    }
    if (watch->selectors.count > 0) {
        selectors_take(session, answer);
    }
    queue_answer(session, answer);
}

/* The documents that a watch asks for. Nothing is watched yet if it is
 * refused. */
static enum err read_watch(struct hub_session *session,
                           const struct message *watch,
                           struct message *answer,
                           struct err_detail *detail)
{
    struct selector_refusal refusal;
    enum err err = selectors_install(session, watch, &refusal, detail);
    if (err == ERR_OK && !value_is_absent(refusal.id)) {
        vec_push(&answer->refused, refusal);
        return ERR_OK;
    }
    if (err == ERR_OK) {
        err = read_targets(session, watch, answer, detail);
        if (err != ERR_OK) {
            selectors_cancel(session, watch);
        }
    }
    return err;
}

static void receive_watch(struct hub_peer *peer, const struct message *message)
{
    struct hub *hub = peer->hub;
    struct message answer = {.kind = MESSAGE_SYNC, .pull = true};
    struct err_detail detail = {0};
    enum err err = engine_read_begin(hub->engine, &detail);
    if (err == ERR_OK) {
        err = fanout_feed(hub, hub->engine->seq, &detail);
        if (err == ERR_OK) {
            hub->changes = hub->engine->changes;
            err = read_watch(peer->session, message, &answer, &detail);
        }
        engine_read_end(hub->engine);
    }
    if (err == ERR_OK && answer.refused.count > 0) {
        queue_answer(peer->session, &answer);
    } else if (err == ERR_OK) {
        hub_worked(hub, HUB_READING);
        hub_worked(hub, HUB_WATCHING);
        answer_watch(peer->session, message, &answer);
    } else {
        hub_fault(hub, HUB_WATCHING, "documents could not be read", &detail);
        message_release(&answer);
        hub_break_peer(peer);
    }
}

/* What only the selectors watched is named in the answer; if the reach cannot
 * be updated now, in a later sync. */
static void unwatch_selectors(struct hub_session *session,
                              const struct message *message)
{
    struct hub *hub = session->hub;
    struct message answer = {.kind = MESSAGE_SYNC, .pull = true};
    struct err_detail detail = {0};
    selectors_remove(session, message);
    enum err err = engine_read_begin(hub->engine, &detail);
    if (err == ERR_OK) {
        err = fanout_feed(hub, hub->engine->seq, &detail);
        if (err == ERR_OK) {
            hub->changes = hub->engine->changes;
            err = selectors_update(session, &detail);
        }
        engine_read_end(hub->engine);
    }
    if (err != ERR_OK) {
        hub_fault(hub, HUB_READING, "a reach was not updated", &detail);
    }
    selectors_tell(session, &answer);
    selectors_told(session);
    queue_answer(session, &answer);
}

static void receive_unwatch(struct hub_session *session,
                            const struct message *message)
{
    VEC_FOREACH (&message->targets, target) {
        fanout_unwatch(session, target);
    }
    if (message->selectors.count > 0) {
        unwatch_selectors(session, message);
    }
}

/* -- Commits of other processes ------------------------------------------ */

/* One word; and another for writers that use the engine without the hub. */
static bool nothing_landed(const struct hub *hub)
{
    return hub->changes != 0 && hub->engine->seq == hub->seq &&
           !engine_runs_are_waiting(hub->engine) &&
           hub->changes == database_changes(&hub->engine->database);
}

/* Marks changes of other processes; the sessions are told later. */
void hub_notice_others(struct hub *hub)
{
    if (nothing_landed(hub)) {
        return;
    }
    struct err_detail detail = {0};
    enum err err = engine_read_begin(hub->engine, &detail);
    if (err == ERR_OK) {
        err = fanout_feed(hub, hub->engine->seq, &detail);
        if (err == ERR_OK) {
            hub->changes = hub->engine->changes;
        }
        engine_read_end(hub->engine);
    }
    if (err == ERR_OK) {
        hub_worked(hub, HUB_READING);
    } else {
        hub_fault(hub,
                  HUB_READING,
                  "changes of other sessions could not be read",
                  &detail);
    }
}

/* -- Receiving ----------------------------------------------------------- */

/* A connection begins with its `open`, which gives it its number. */
static enum message_turn judge(struct hub_peer *peer,
                               const struct message *message)
{
    const bool begun = peer->order.received > 0;
    if (message->kind == MESSAGE_OPEN && message->number == 1 &&
        (!begun || message->connection > peer->order.connection)) {
        peer->order = (struct message_order){.connection = message->connection};
        peer->sent = 0;
    } else if (!begun || message->connection > peer->order.connection) {
        return MESSAGE_GAP;
    }
    return message_take(&peer->order, message);
}

static void handle(struct hub_peer *peer, struct message *message)
{
    const bool is_open = peer->session != NULL;
    if (is_open && message->kind != MESSAGE_OPEN) {
        peer->session->heard_of = true; /* it has answered */
        value_unref(peer->session->shown);
        peer->session->shown = VALUE_NONE;
    }
    switch (message->kind) {
    case MESSAGE_OPEN:
        if (message->number == 1) {
            receive_open(peer, message);
            return;
        }
        break;
    case MESSAGE_COMMITS:
        if (is_open) {
            hub_receive_commits(peer, message);
            return;
        }
        break;
    case MESSAGE_WATCH:
        if (is_open) {
            receive_watch(peer, message);
            return;
        }
        break;
    case MESSAGE_UNWATCH:
        if (is_open) {
            receive_unwatch(peer->session, message);
            return;
        }
        break;
    case MESSAGE_ACK:
        if (is_open) {
            /* A resume says what was seen; only this is kept for it. */
            selectors_acked(peer->session, message->seen_seq);
            return;
        }
        break;
    case MESSAGE_OPENED:
    case MESSAGE_VERDICTS:
    case MESSAGE_SYNC:
    case MESSAGE_REVOKED:
        break;
    }
    hub_break_peer(peer);
}

/* Whether the deferred commits must be decided before this message is handled.
 * An `open` can take a session over from another peer. An ack changes
 * nothing. */
static bool ends_group(const struct hub_peer *peer,
                       const struct message *message)
{
    return message->kind == MESSAGE_OPEN ||
           (hub_has_deferred(peer) && message->kind != MESSAGE_COMMITS &&
            message->kind != MESSAGE_ACK);
}

static void receive_next(struct hub_peer *peer, struct message *message)
{
    if (ends_group(peer, message)) {
        hub_decide_deferred(peer->hub);
    }
    if (!peer->over) { /* a fault of the group breaks its peers */
        handle(peer, message);
    }
}

static void receive_gap(struct hub_peer *peer)
{
    if (hub_has_deferred(peer)) {
        hub_decide_deferred(peer->hub);
    }
    if (!peer->over) {
        hub_break_peer(peer);
    }
}

void hub_receive(struct hub_peer *peer, struct message *message)
{
    struct hub *hub = peer->hub;
    if (peer->over) {
        return;
    }
    enter(hub);
    switch (judge(peer, message)) {
    case MESSAGE_NEXT:
        receive_next(peer, message);
        break;
    case MESSAGE_GAP:
        receive_gap(peer);
        break;
    case MESSAGE_STALE:
        break;
    }
    if (hub->options.immediate && !hub->grouping) {
        fanout_flush(hub);
    }
    leave(hub);
}

void hub_group_begin(struct hub *hub)
{
    CHECK(!hub->grouping);
    hub->grouping = true;
}

void hub_group_end(struct hub *hub)
{
    CHECK(hub->grouping);
    enter(hub);
    hub->grouping = false;
    hub_decide_deferred(hub);
    if (hub->options.immediate) {
        fanout_flush(hub);
    }
    leave(hub);
}

/* -- Life ---------------------------------------------------------------- */

void hub_init(struct hub *hub,
              struct engine *engine,
              const struct hub_options *options,
              mono_ms now)
{
    *hub = (struct hub){
        .engine = engine,
        .options = *options,
        .now = now,
        .polled = now,
    };
    if (hub->options.poll == 0) {
        hub->options.poll = HUB_POLL_MS;
    }
    (void)value_ref(hub->options.space);
    random_init(&hub->random, options->seed);
    list_init(&hub->owing);
    list_init(&hub->idle);
    list_init(&hub->listening);
}

void hub_release(struct hub *hub)
{
    CHECK(hub->peers == 0 && hub->depth == 0 && !hub->grouping);
    for (struct list_node *node = list_first(&hub->idle); node != NULL;
         node = list_first(&hub->idle)) {
        free_session(CONTAINER_OF(node, struct hub_session, in_idle));
    }
    CHECK(hub->sessions.count == 0 && hub->documents.count == 0);
    map_release(&hub->sessions);
    map_release(&hub->documents);
    vec_release(&hub->outbox);
    vec_release(&hub->read);
    vec_release(&hub->deferred);
    vec_release(&hub->requests);
    vec_release(&hub->refusals);
    value_unref(hub->options.space);
}

struct hub_peer *hub_attach(struct hub *hub,
                            struct value principal,
                            void (*send)(void *ctx, struct message *message),
                            void (*broken)(void *ctx),
                            void *ctx)
{
    struct hub_peer *peer = mem_alloc_zero(sizeof *peer);
    peer->hub = hub;
    peer->principal = value_ref(principal);
    peer->send = send;
    peer->broken = broken;
    peer->ctx = ctx;
    hub->peers++;
    return peer;
}

void hub_detach(struct hub_peer *peer)
{
    struct hub *hub = peer->hub;
    if (hub_has_deferred(peer)) {
        hub_decide_deferred(hub); /* sent by hub_group_end at the latest */
    }
    leave_session(peer);
    forget_outgoing(hub, peer);
    hub->peers--;
    value_unref(peer->principal);
    mem_free(peer, sizeof *peer);
}

void hub_flush(struct hub *hub)
{
    enter(hub);
    fanout_flush(hub);
    leave(hub);
}

/* -- Time ---------------------------------------------------------------- */

void hub_poll(struct hub *hub)
{
    hub->polled = hub->now;
    database_look_at_lock_file(&hub->engine->database);
    if (nothing_landed(hub)) {
        return;
    }
    enter(hub);
    database_end_dead_write(&hub->engine->database);
    hub_notice_others(hub);
    if (hub->options.immediate) {
        fanout_flush(hub);
    }
    leave(hub);
}

void hub_set_poll(struct hub *hub, mono_ms every)
{
    hub->options.poll = every;
}

void hub_step(struct hub *hub, mono_ms now)
{
    hub->now = now;
    for (struct list_node *node = list_first(&hub->idle); node != NULL;
         node = list_first(&hub->idle)) {
        struct hub_session *session =
            CONTAINER_OF(node, struct hub_session, in_idle);
        if (session->ends > now) {
            break;
        }
        free_session(session);
    }
    if (now >= hub->polled + hub->options.poll) {
        hub_poll(hub);
        if (hub->options.immediate) {
            hub_flush(hub);
        }
    }
}

/* A session watches, and other processes may write; or a sync must be retried.
 */
static bool must_poll(const struct hub *hub)
{
    const bool shared = hub->engine->options.durability != DURABILITY_MEMORY;
    return (shared && hub->documents.count > 0) ||
           (hub->options.immediate && !list_is_empty(&hub->owing));
}

mono_ms hub_next_wake(const struct hub *hub)
{
    mono_ms wake = MONO_NEVER;
    struct list_node *node = list_first(&hub->idle);
    if (node != NULL) {
        wake = CONTAINER_OF(node, struct hub_session, in_idle)->ends;
    }
    const mono_ms poll = hub->polled + hub->options.poll;
    return must_poll(hub) && poll < wake ? poll : wake;
}
