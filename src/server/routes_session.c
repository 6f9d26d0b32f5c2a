/* Sessions that commit on behalf of HTTP requests.
 *
 * The requests of one principal share a session of the hub, with a connection
 * and local sequence numbers like any other. It is opened by the first write
 * and closed when it has not been used for a while.
 *
 *   route-session-1  The name of a session is never used twice, so none of its
 *                    commits can be taken for a repetition.
 *   route-session-2  A commit that was sent gets its verdict, or the error of
 *                    the lost connection. Whether it has landed is then not
 *                    known, and the answer says so by its class (fault).
 *   route-session-3  A document is watched exactly while a look of the session
 *                    is at it. */

#include "server/routes_internal.h"
#include "value/compare.h"
#include "value/object.h"

enum {
    IDLE_MS = 30000,
    SESSIONS_MAX = 1000, /* of a space, unless more of them are in use */
};

struct route_session {
    struct route_peer peer;
    struct list_node node; /* in the space */
    struct value principal;
    struct value id;
    uint64_t local_seq; /* the last one */
    struct list commits;
    struct map by_document; /* struct document_looks */
    mono_ms used;
};

struct document_looks {
    struct value id;
    struct list looks; /* never empty */
};

/* -- From the hub -------------------------------------------------------- */

static struct route_commit *find_commit(const struct route_session *session,
                                        uint64_t local_seq)
{
    LIST_FOREACH (&session->commits, node) {
        struct route_commit *pending =
            CONTAINER_OF(node, struct route_commit, in_session);
        if (pending->local_seq == local_seq) {
            return pending;
        }
    }
    return NULL;
}

static void decide(struct route_commit *pending)
{
    pending->is_decided = true;
    list_remove(&pending->in_session);
    route_wait_ready(pending->wait);
}

static void take_verdicts(struct route_session *session,
                          struct message *message)
{
    VEC_FOREACH (&message->verdicts, one) {
        struct route_commit *pending = find_commit(session, one->local_seq);
        if (pending != NULL) {
            if (session->peer.space->metrics != NULL) {
                metrics_commit(session->peer.space->metrics, one->verdict.err);
            }
            pending->verdict = one->verdict;
            one->verdict = (struct verdict){0};
            decide(pending);
        }
    }
}

static bool is_document(const void *item, const void *id)
{
    const struct document_looks *looks = item;
    return key_equal(looks->id, *(const struct value *)id);
}

static struct document_looks *find_looks(const struct route_session *session,
                                         struct value id)
{
    return map_find(&session->by_document, value_hash(id), is_document, &id);
}

static void take_sync(struct route_session *session,
                      const struct message *message)
{
    VEC_FOREACH (&message->upserts, upsert) {
        struct document_looks *looks = find_looks(session, upsert->target.id);
        if (looks == NULL || upsert->target.scope != SCOPE_SPACE) {
            continue;
        }
        LIST_FOREACH (&looks->looks, node) {
            struct route_look *look =
                CONTAINER_OF(node, struct route_look, in_session);
            value_unref(look->document);
            look->document = value_ref(upsert->document);
            look->seq = upsert->seq;
            look->changed = true;
            route_wait_ready(look->wait);
        }
    }
}

/* route-session-2. */
static void take_loss(struct route_session *session)
{
    LIST_FOREACH (&session->commits, node) {
        struct route_commit *pending =
            CONTAINER_OF(node, struct route_commit, in_session);
        pending->verdict.err = session->peer.why.err;
        pending->verdict.detail = session->peer.why;
        decide(pending);
    }
    MAP_FOREACH (&session->by_document, slot) {
        const struct document_looks *looks = slot->item;
        LIST_FOREACH (&looks->looks, node) {
            struct route_look *look =
                CONTAINER_OF(node, struct route_look, in_session);
            route_wait_ready(look->wait);
        }
    }
}

static void received(struct route_peer *peer, struct message *message)
{
    struct route_session *session =
        CONTAINER_OF(peer, struct route_session, peer);
    if (message->kind == MESSAGE_VERDICTS) {
        take_verdicts(session, message);
    } else if (message->kind == MESSAGE_SYNC) {
        take_sync(session, message);
    } else if (message->kind == MESSAGE_REVOKED) {
        take_loss(session);
    }
}

/* -- Sessions ------------------------------------------------------------ */

static bool is_of(const struct route_session *session, struct value principal)
{
    return value_is_absent(principal) || value_is_absent(session->principal)
               ? value_is_absent(principal) &&
                     value_is_absent(session->principal)
               : key_equal(session->principal, principal);
}

static bool is_used(const struct route_session *session)
{
    return !list_is_empty(&session->commits) || session->by_document.count > 0;
}

static void free_session(struct route_session *session)
{
    route_peer_close(&session->peer);
    session->peer.space->session_count--;
    list_remove(&session->node);
    map_release(&session->by_document);
    value_unref(session->principal);
    value_unref(session->id);
    mem_free(session, sizeof *session);
}

static struct route_session *new_session(struct route_space *space,
                                         struct value principal)
{
    struct route_session *session = mem_alloc_zero(sizeof *session);
    struct buf name = {0};
    buf_printf(&name,
               "http-%016llx%016llx",
               (unsigned long long)random_u64(&space->random),
               (unsigned long long)random_u64(&space->random));
    session->id = value_string_adopt(&name);
    session->principal = value_ref(principal);
    session->peer.received = received;
    list_node_init(&session->node);
    list_init(&session->commits);
    list_push_back(&space->sessions, &session->node);
    space->session_count++;
    route_peer_open(&session->peer, space, principal, session->id);
    return session;
}

struct route_session *route_session_of(struct route_space *space,
                                       struct value principal)
{
    struct route_session *found = NULL;
    LIST_FOREACH (&space->sessions, node) {
        struct route_session *session =
            CONTAINER_OF(node, struct route_session, node);
        if (is_of(session, principal) && !session->peer.is_lost) {
            found = session;
            break;
        }
    }
    if (found == NULL) {
        found = new_session(space, principal);
    }
    found->used = space->now;
    list_move_back(&space->sessions, &found->node);
    return found;
}

void route_sessions_sweep(struct route_space *space, mono_ms now)
{
    LIST_FOREACH (&space->sessions, node) {
        struct route_session *session =
            CONTAINER_OF(node, struct route_session, node);
        const bool is_old = session->used + IDLE_MS <= now;
        if (!is_old && !session->peer.is_lost &&
            space->session_count <= SESSIONS_MAX) {
            break; /* those behind it were used later */
        }
        if (!is_used(session)) {
            free_session(session);
        }
    }
}

void route_sessions_free(struct route_space *space)
{
    LIST_FOREACH (&space->sessions, node) {
        struct route_session *session =
            CONTAINER_OF(node, struct route_session, node);
        CHECK(!is_used(session)); /* all waits have ended */
        free_session(session);
    }
}

/* -- Commits ------------------------------------------------------------- */

struct commit *route_commit_new(struct route_session *session)
{
    struct commit *commit = mem_alloc_zero(sizeof *commit);
    commit->session = value_ref(session->id);
    commit->branch = value_text_new("");
    commit->local_seq = ++session->local_seq;
    return commit;
}

void route_commit_send_adopt(struct route_commit *pending,
                             struct route_session *session,
                             struct route_wait *wait,
                             struct commit *commit)
{
    struct message message = {.kind = MESSAGE_COMMITS, .owned = true};
    *pending = (struct route_commit){
        .session = session,
        .wait = wait,
        .local_seq = commit->local_seq,
    };
    list_node_init(&pending->in_session);
    list_push_back(&session->commits, &pending->in_session);
    vec_push(&message.commits, commit);
    route_peer_send(&session->peer, &message);
    if (session->peer.is_lost && !pending->is_decided) {
        take_loss(session);
    }
}

void route_commit_release(struct route_commit *pending)
{
    if (pending->session != NULL) {
        list_remove(&pending->in_session);
        verdict_release(&pending->verdict);
        *pending = (struct route_commit){0};
    }
}

const struct credential *route_credential(const struct hub_peer *peer,
                                          const struct commit *commit)
{
    struct route_peer *of = route_peer_of(peer);
    if (of == NULL || of->received != received) {
        return NULL;
    }
    const struct route_session *session =
        CONTAINER_OF(of, struct route_session, peer);
    const struct route_commit *pending =
        find_commit(session, commit->local_seq);
    return pending != NULL && pending->wait->has_credential
               ? &pending->wait->credential
               : NULL;
}

/* -- Looks --------------------------------------------------------------- */

static void send_target(struct route_session *session,
                        enum message_kind kind,
                        struct value id)
{
    struct message message = {.kind = kind};
    const struct target target = {value_ref(id), SCOPE_SPACE};
    vec_push(&message.targets, target);
    route_peer_send(&session->peer, &message);
}

void route_look_begin(struct route_look *look,
                      struct route_session *session,
                      struct route_wait *wait,
                      struct value id)
{
    struct document_looks *looks = find_looks(session, id);
    *look = (struct route_look){
        .session = session,
        .wait = wait,
        .id = value_ref(id),
    };
    list_node_init(&look->in_session);
    if (looks == NULL) {
        looks = mem_alloc_zero(sizeof *looks);
        looks->id = value_ref(id);
        list_init(&looks->looks);
        map_insert(&session->by_document, value_hash(id), looks);
    }
    list_push_back(&looks->looks, &look->in_session);
    /* Also if it is watched already: the answer is its current state. */
    send_target(session, MESSAGE_WATCH, id);
    if (session->peer.is_lost) {
        route_wait_ready(wait);
    }
}

const struct err_detail *route_look_lost(const struct route_look *look)
{
    const struct route_peer *peer = &look->session->peer;
    return peer->is_lost ? &peer->why : NULL;
}

void route_look_end(struct route_look *look)
{
    struct route_session *session = look->session;
    if (session == NULL) {
        return;
    }
    struct document_looks *looks = find_looks(session, look->id);
    list_remove(&look->in_session);
    if (list_is_empty(&looks->looks)) {
        (void)map_remove(&session->by_document,
                         value_hash(look->id),
                         is_document,
                         &look->id);
        send_target(session, MESSAGE_UNWATCH, look->id);
        value_unref(looks->id);
        mem_free(looks, sizeof *looks);
    }
    value_unref(look->id);
    value_unref(look->document);
    *look = (struct route_look){0};
}
