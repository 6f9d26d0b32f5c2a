/* A session's connection: connecting, sending, and resending. */

#include "replica/session.h"

#include <stdio.h>

#include "base/mem.h"
#include "replica/pending.h"
#include "replica/space_selector.h"
#include "value/object.h"

#define PENDING_OF(list_node) CONTAINER_OF((list_node), struct pending, node)

struct session *session_new(struct space *space,
                            const struct space_options *options)
{
    struct session *session = mem_alloc_zero(sizeof *session);
    session->space = space;
    session->transport = options->transport;
    session->state = SESSION_IDLE;
    session->id = value_is_absent(options->session)
                      ? value_text_new("")
                      : value_ref(options->session);
    random_init(&session->random, options->seed);
    session->backoff_max = options->backoff_max > 0 ? options->backoff_max
                                                    : SESSION_BACKOFF_MAX_MS;
    if (options->seed != 0) {
        session->client = random_u64(&session->random) >> 2 | 1;
    }
    session->deltas = options->deltas;
    session->batch_max = SESSION_BATCH_MAX;
    session->wake = MONO_NEVER;
    space->replica->sessions++;
    return session;
}

static bool has_connection(const struct session *session)
{
    return session->state == SESSION_CONNECTING ||
           session->state == SESSION_OPENING || session->state == SESSION_OPEN;
}

static void clear_inbox(struct session *session)
{
    for (size_t i = session->inbox_read; i < session->inbox.count; i++) {
        message_release(&session->inbox.at[i]);
    }
    vec_clear(&session->inbox);
    session->inbox_read = 0;
}

static void clear_held(struct session *session)
{
    VEC_FOREACH (&session->held, message) {
        message_release(message);
    }
    vec_clear(&session->held);
}

void session_close(struct session *session)
{
    const bool connected = has_connection(session);
    session->state = SESSION_CLOSED;
    session->wake = MONO_NEVER;
    if (connected) {
        session->transport->methods->disconnect(session->transport);
    }
}

enum err session_check(const struct session *session, struct err_detail *detail)
{
    if (session->state == SESSION_CLOSED) {
        return err_set(detail, ERR_CLOSED, "the space is closed");
    }
    if (session->state == SESSION_REVOKED) {
        return err_set(detail,
                       ERR_SESSION_LOST,
                       "the store has revoked the session");
    }
    return ERR_OK;
}

void session_free(struct session *session)
{
    session_close(session);
    session->space->replica->sessions--;
    clear_inbox(session);
    vec_release(&session->inbox);
    clear_held(session);
    vec_release(&session->held);
    vec_release(&session->outgoing.commits);
    vec_release(&session->followed);
    vec_release(&session->follows);
    vec_release(&session->requests);
    value_unref(session->id);
    value_unref(session->token);
    mem_free(session, sizeof *session);
}

/* -- Disconnecting and reconnecting -------------------------------------- */

/* 25 ms, 50 ms, ... and up to a fifth more, so that many sessions do not
 * reconnect at the same moment. */
static mono_ms backoff(struct session *session)
{
    mono_ms delay = session->backoff_max;
    if (session->failures < 11) {
        delay = (mono_ms)SESSION_BACKOFF_MS << session->failures;
    }
    if (delay > session->backoff_max) {
        delay = session->backoff_max;
    }
    return delay + random_below(&session->random, delay / 5 + 1);
}

/* Nothing that was sent can be relied on any more. What was received stays: it
 * is valid, and in order. */
static void lose(struct session *session)
{
    session->state = SESSION_WAITING;
    session->wake = session->now + backoff(session);
    session->failures++;
    LIST_FOREACH (&session->space->pending, node) {
        struct pending *pending = PENDING_OF(node);
        if (pending->state == PENDING_SENT) {
            pending->state = PENDING_QUEUED;
            pending->unsure = true;
            session->unsure = true;
        }
    }
    space_watch_again(session->space, false);
    space_selectors_again(session->space, false);
}

static void give_up(struct session *session)
{
    session->transport->methods->disconnect(session->transport);
    lose(session);
}

static void connect(struct session *session)
{
    session->state = SESSION_CONNECTING;
    session->connection++;
    session->sent = 0;
    session->sent_seq = 0;
    session->order = (struct message_order){session->connection, 0};
    session->pulls_owed = 0;
    vec_clear(&session->followed);
    vec_clear(&session->follows);
    vec_clear(&session->requests);
    session->wake = session->now + SESSION_ANSWER_MS;
    session->counters.connections++;
    session->transport->methods->connect(session->transport, session);
}

void session_disconnected(struct session *session)
{
    if (has_connection(session)) {
        lose(session);
    }
}

void session_restart(struct session *session)
{
    if (has_connection(session)) {
        session->transport->methods->disconnect(session->transport);
    }
    clear_inbox(session);
    clear_held(session);
    session->seen_seq = 0;
    session->acked_seq = 0;
    if (session->state != SESSION_REVOKED && session->state != SESSION_CLOSED) {
        session->state = SESSION_IDLE;
        session->wake = MONO_NEVER;
    }
    session->space->replica->needs_step = true;
}

/* -- Sending ------------------------------------------------------------- */

static void send(struct session *session, struct message *message)
{
    message->connection = session->connection;
    message->number = ++session->sent;
    session->transport->methods->send(session->transport, message);
}

void session_connected(struct session *session)
{
    if (session->state != SESSION_CONNECTING) {
        return;
    }
    session->state = SESSION_OPENING;
    struct message message = {
        .kind = MESSAGE_OPEN,
        .session =
            value_text(&session->id).length > 0 ? session->id : VALUE_NONE,
        .branch = session->space->branch,
        .seen_seq = session->seen_seq,
        .client = session->client,
        .observations = session->space->observer.told != NULL,
        .deltas = session->deltas,
        .token = session->token,
    };
    send(session, &message);
}

static void send_watch(struct session *session)
{
    struct space *space = session->space;
    struct message message = {.kind = MESSAGE_WATCH};
    uint32_t follows = 0;
    const size_t count = space->wanted.count < SESSION_WATCH_MAX
                             ? space->wanted.count
                             : SESSION_WATCH_MAX;
    for (size_t i = 0; i < count; i++) {
        struct entity *entity = space->wanted.at[i];
        const struct target target = {entity->id, entity->scope};
        vec_push(&message.targets, target);
        vec_push(&message.since, entity->unloaded ? entity->known : 0);
        if (entity->unloaded) {
            vec_push(&session->followed, entity);
            follows++;
        }
        entity->queued = false;
    }
    space->wanted.count -= count;
    memmove(space->wanted.at,
            space->wanted.at + count,
            space->wanted.count * sizeof *space->wanted.at);
    vec_push(&session->follows, follows);
    vec_push(&session->requests, NULL);
    if (follows == 0) {
        vec_clear(&message.since);
    }
    session->pulls_owed++;
    session->wake = session->now + SESSION_ANSWER_MS;
    send(session, &message);
    vec_release(&message.targets);
    vec_release(&message.since);
}

/* One message per selector, so that each has its own answer. */
static void send_selectors(struct session *session)
{
    while (session->state == SESSION_OPEN) {
        struct message message = {.kind = MESSAGE_WATCH};
        struct space_request *request =
            space_selector_next(session->space, &message);
        if (request == NULL) {
            return;
        }
        vec_push(&session->follows, 0);
        vec_push(&session->requests, request);
        session->pulls_owed++;
        session->wake = session->now + SESSION_ANSWER_MS;
        send(session, &message);
        vec_release(&message.selectors);
    }
}

static void send_unwatch(struct session *session)
{
    struct space *space = session->space;
    if (LIKELY(space->unwanted.count == 0)) {
        return;
    }
    struct message message = {.kind = MESSAGE_UNWATCH};
    VEC_FOREACH (&space->unwanted, target) {
        vec_push(&message.targets, *target);
    }
    send(session, &message);
    vec_release(&message.targets);
    space_forget_unwanted(space);
}

/* The first commit that has not been examined on this connection, or the head:
 * searches from the back, because there may be much more outstanding than
 * new. */
static struct list_node *first_unsent(struct session *session)
{
    struct list_node *head = &session->space->pending.head;
    struct list_node *node = head;
    while (node->prev != head &&
           PENDING_OF(node->prev)->commit.local_seq > session->sent_seq) {
        node = node->prev;
        session->counters.looked_at++;
    }
    return node;
}

/* One message of commits; false if there was none to send. */
static bool send_commits(struct session *session)
{
    struct message *message = &session->outgoing;
    *message = (struct message){
        .kind = MESSAGE_COMMITS,
        .commits = {message->commits.at, 0, message->commits.capacity},
    };
    const struct list_node *head = &session->space->pending.head;
    for (struct list_node *node = first_unsent(session); node != head;
         node = node->next) {
        struct pending *pending = PENDING_OF(node);
        session->sent_seq = pending->commit.local_seq;
        if (pending->state != PENDING_QUEUED || pending->doomed) {
            continue;
        }
        pending->state = PENDING_SENT;
        /* The store may have chosen the id in the meantime. */
        value_unref(pending->commit.session);
        pending->commit.session = value_ref(session->id);
        vec_push(&message->commits, &pending->commit);
        if (message->commits.count >= session->batch_max) {
            break;
        }
    }
    if (message->commits.count == 0) {
        return false;
    }
    session->counters.sent_commits += message->commits.count;
    session->wake = session->now + SESSION_ANSWER_MS;
    send(session, message);
    return true;
}

static void send_ack(struct session *session)
{
    if (session->acked_seq < session->seen_seq) {
        session->acked_seq = session->seen_seq;
        session->counters.acks++;
        struct message message = {
            .kind = MESSAGE_ACK,
            .seen_seq = session->seen_seq,
        };
        send(session, &message);
    }
}

static bool has_queued(const struct session *session)
{
    struct list_node *last = list_last(&session->space->pending);
    return last != NULL && PENDING_OF(last)->state == PENDING_QUEUED;
}

bool session_has_commits(const struct session *session)
{
    const bool open = session->state == SESSION_OPEN;
    const uint64_t sent = open ? session->sent_seq : 0;
    const struct list_node *head = &session->space->pending.head;
    struct list_node *node = head->prev;
    if (!open && session->state != SESSION_IDLE) {
        return false;
    }
    for (; node != head; node = node->prev) {
        const struct pending *pending = PENDING_OF(node);
        if (pending->commit.local_seq <= sent) {
            return false;
        }
        if (pending->state == PENDING_QUEUED && !pending->doomed) {
            return true;
        }
    }
    return false;
}

/* At most so many messages that ask for documents, and of commits, which go out
 * when all documents are asked for: they may have been made for one of them. */
static void flush(struct session *session, size_t questions, size_t messages)
{
    if (session->state == SESSION_IDLE &&
        (session->space->wanted.count > 0 || has_queued(session) ||
         space_selector_is_waiting(session->space))) {
        connect(session);
    }
    if (session->state != SESSION_OPEN || session->flushing) {
        return;
    }
    /* A synchronous store answers inside: its answers wait until everything is
     * sent, and commits that they cause go out in the next round. */
    struct replica *replica = session->space->replica;
    const bool pumping = replica->pumping;
    replica->pumping = true;
    session->flushing = true;
    send_unwatch(session); /* a dropped document may be watched again */
    if (UNLIKELY(!list_is_empty(&session->space->selectors))) {
        send_selectors(session);
    }
    const struct space *space = session->space;
    for (; questions > 0 && session->state == SESSION_OPEN &&
           space->wanted.count > 0;
         questions--) {
        send_watch(session);
    }
    while (messages > 0 && session->state == SESSION_OPEN &&
           space->wanted.count == 0 && !space->held && send_commits(session)) {
        messages--;
    }
    session->flushing = false;
    replica->pumping = pumping;
}

void session_flush(struct session *session)
{
    flush(session, SIZE_MAX, SIZE_MAX);
}

void session_flush_group(struct session *session)
{
    flush(session, 1, 1);
}

/* -- Receiving ----------------------------------------------------------- */

/* The store does not know this session any more. Its verdicts are in its file;
 * what it was going to send is lost. */
static void begin_anew(struct session *session)
{
    struct space *space = session->space;
    session->seen_seq = 0;
    session->acked_seq = 0;
    space->caught_up = 0;
    clear_held(session); /* what is settled below is not in them */
    space_watch_again(space, true);
    space_selectors_again(space, true);
    space_settle_parked(space);
}

/* session-4 */
static bool is_unsure(struct session *session)
{
    if (LIKELY(!session->unsure)) {
        return false;
    }
    LIST_FOREACH (&session->space->pending, node) {
        const struct pending *pending = PENDING_OF(node);
        if (pending->unsure && !pending->doomed &&
            (pending->state == PENDING_QUEUED ||
             pending->state == PENDING_SENT)) {
            return true;
        }
    }
    session->unsure = false;
    return false;
}

/* The next connection says what was seen, and gets the rest whole. What has
 * arrived behind a sync that cannot be used cannot be used, either. */
static void ask_again(struct session *session)
{
    session->counters.useless_deltas++;
    log_write(session->space->replica->log,
              LOG_LEVEL_WARNING,
              "a delta does not apply to the document here: asking again");
    clear_inbox(session);
    if (has_connection(session)) {
        give_up(session);
    }
}

static bool integrate(struct session *session, struct message *message)
{
    if (UNLIKELY(!space_take_sync(session->space, message))) {
        ask_again(session);
        return false;
    }
    if (message->to_seq > session->seen_seq) {
        session->seen_seq = message->to_seq;
    }
    return true;
}

/* Watches are answered in order. A document that is not in an answer is
 * unchanged since it was known. */
static void take_pull(struct session *session)
{
    if (session->pulls_owed == 0) {
        return;
    }
    session->pulls_owed--;
    const uint32_t follows = session->follows.at[0];
    for (uint32_t i = 0; i < follows; i++) {
        session->followed.at[i]->answered = true;
    }
    session->followed.count -= follows;
    for (size_t i = 0; i < session->followed.count; i++) {
        session->followed.at[i] = session->followed.at[i + follows];
    }
    struct space_request *request = session->requests.at[0];
    session->follows.count--;
    session->requests.count--;
    for (size_t i = 0; i < session->follows.count; i++) {
        session->follows.at[i] = session->follows.at[i + 1];
        session->requests.at[i] = session->requests.at[i + 1];
    }
    if (UNLIKELY(request != NULL)) {
        space_selector_answered(session->space, request);
    }
}

static void take_sync(struct session *session, struct message *message)
{
    if (message->pull) {
        take_pull(session);
    }
    if (UNLIKELY(is_unsure(session))) {
        vec_push(&session->held, *message);
        *message = (struct message){0};
    } else {
        (void)integrate(session, message);
    }
}

/* session-4: everything that they may include has its verdict. */
static void take_held(struct session *session)
{
    bool usable = true;
    VEC_FOREACH (&session->held, held) {
        usable = usable && integrate(session, held);
    }
    clear_held(session);
}

static void take_verdicts(struct session *session, struct message *message)
{
    VEC_FOREACH (&message->verdicts, entry) {
        pending_take_verdict(session->space, entry->local_seq, &entry->verdict);
    }
    if (UNLIKELY(session->held.count > 0) && !is_unsure(session)) {
        take_held(session);
    }
}

static void take_opened(struct session *session, struct message *message)
{
    struct space *space = session->space;
    if (session->state != SESSION_OPENING ||
        message->connection != session->connection) {
        return;
    }
    session->state = SESSION_OPEN;
    session->failures = 0;
    session->wake = MONO_NEVER;
    value_unref(session->token);
    session->token = value_ref(message->token);
    space->markers = message->markers;
    space->others = message->observations;
    const struct text name = value_text(&session->id);
    if (!key_equal(session->id, message->session)) {
        const bool replaced = name.length > 0;
        value_unref(session->id);
        session->id = value_ref(message->session);
        if (replaced) {
            pending_fail_all(space,
                             ERR_SESSION_LOST,
                             "another session replaced this one");
        }
    }
    if (message->resumed) {
        /* The marker is not used yet: what it stands for, and was not seen,
         * comes in a sync, which has the marker as well. */
        session->counters.resumed++;
    } else {
        begin_anew(session);
    }
    space->replica->needs_step = true;
}

static void take_revoked(struct session *session, const struct message *message)
{
    session->transport->methods->disconnect(session->transport);
    session->state = SESSION_REVOKED;
    session->wake = MONO_NEVER;
    const struct text reason = value_text(&message->reason);
    char why[128];
    (void)snprintf(why,
                   sizeof why,
                   "the store revoked the session: %.*s",
                   (int)reason.length,
                   reason.at);
    pending_fail_all(session->space, ERR_SESSION_LOST, why);
}

static void take(struct session *session, struct message *message)
{
    switch (message->kind) {
    case MESSAGE_OPENED:
        take_opened(session, message);
        return;
    case MESSAGE_VERDICTS:
        take_verdicts(session, message);
        return;
    case MESSAGE_SYNC:
        take_sync(session, message);
        return;
    case MESSAGE_REVOKED:
        take_revoked(session, message);
        return;
    case MESSAGE_OPEN:
    case MESSAGE_COMMITS:
    case MESSAGE_WATCH:
    case MESSAGE_UNWATCH:
    case MESSAGE_ACK:
        give_up(session); /* not for us: a protocol error of the other side */
        return;
    }
    UNREACHABLE("all kinds are above");
}

void session_receive(struct session *session, struct message *message)
{
    const enum message_turn turn = has_connection(session)
                                       ? message_take(&session->order, message)
                                       : MESSAGE_STALE;
    if (turn == MESSAGE_NEXT) {
        vec_push(&session->inbox, *message);
        *message = (struct message){0};
        session->space->replica->needs_step = true;
        replica_pump(session->space->replica);
        return;
    }
    session->counters.dropped_messages++;
    message_release(message);
    *message = (struct message){0};
    if (turn == MESSAGE_GAP) {
        give_up(session);
    }
}

void session_receive_garbage(struct session *session)
{
    session->counters.dropped_messages++;
    if (has_connection(session)) {
        give_up(session);
    }
}

/* Whether the store owes an answer. It owes none for a commit that was not
 * sent, as while the space is held. */
static bool is_owed(const struct session *session)
{
    struct list_node *first = list_first(&session->space->pending);
    return session->pulls_owed > 0 ||
           (first != NULL &&
            PENDING_OF(first)->commit.local_seq <= session->sent_seq);
}

static void watch_silence(struct session *session)
{
    if (session->state == SESSION_OPEN) {
        session->wake =
            is_owed(session) ? session->now + SESSION_ANSWER_MS : MONO_NEVER;
    }
}

void session_drain(struct session *session)
{
    const struct replica *replica = session->space->replica;
    if (session->draining) {
        return;
    }
    session->draining = true;
    bool any = false;
    while (session->inbox_read < session->inbox.count && replica->open == 0 &&
           !replica->delivering) {
        /* Moved out of the vector, which may grow meanwhile. */
        struct message message = session->inbox.at[session->inbox_read++];
        take(session, &message);
        message_release(&message);
        any = true;
    }
    if (session->inbox_read == session->inbox.count) {
        vec_clear(&session->inbox);
        session->inbox_read = 0;
    }
    if (any) {
        watch_silence(session);
    }
    session->draining = false;
}

bool session_needs_step(const struct session *session)
{
    return session->inbox.count > session->inbox_read;
}

/* -- Time ---------------------------------------------------------------- */

void session_step(struct session *session, mono_ms now)
{
    session->now = now;
    if (session->wake <= now) {
        session->wake = MONO_NEVER;
        if (has_connection(session)) {
            give_up(session); /* no answer for too long */
        } else if (session->state == SESSION_WAITING) {
            connect(session);
        }
    }
    flush(session, 1, SIZE_MAX);
    if (session->state == SESSION_OPEN) {
        send_ack(session);
    }
}

mono_ms session_next_wake(const struct session *session)
{
    if (session->state == SESSION_OPEN &&
        session->acked_seq < session->seen_seq) {
        return session->now; /* an ack is owed */
    }
    return session->wake;
}
