/* The hub: commits, their group, and their verdicts.
 *
 * A message of commits is decided by one engine_commit. Between hub_group_begin
 * and hub_group_end the messages of all peers are kept and decided together:
 * one transaction and one sync of the file for all of them.
 *
 *   hub-commits-1  Commits are decided in the order of their arrival.
 *   hub-commits-2  A peer has deferred commits only while its session is its
 *                  own: whatever would change that decides the group first.
 *   hub-commits-3  A commit that the hub refuses itself never reaches the
 *                  engine, and does not divide the group. */

#include "base/limits.h"
#include "host/fanout.h"
#include "value/object.h"

/* -- Refusals of the hub itself ------------------------------------------ */

/* A session speaks for itself, on its own branch. */
static bool is_of(const struct commit *commit,
                  const struct hub_session *session)
{
    return value_is_string(commit->session) &&
           key_equal(commit->session, session->id) &&
           value_is_string(commit->branch) &&
           key_equal(commit->branch, session->branch);
}

/* What the hub says about a commit before the engine sees it. With *barrier,
 * the commit is to be decided before the next one is judged. */
static enum err judge(struct hub_peer *peer,
                      const struct commit *commit,
                      bool *barrier,
                      struct err_detail *detail)
{
    const struct hub_options *options = &peer->hub->options;
    if (!is_of(commit, peer->session)) {
        return err_set(detail,
                       ERR_PROTOCOL,
                       "a commit must name the session and the branch of its "
                       "connection");
    }
    if (options->judge == NULL) {
        return ERR_OK;
    }
    struct hub_judgement judgement = {
        .commit = commit,
        .peer = peer,
        .principal = peer->session->principal,
    };
    const enum err err = options->judge(options->ctx, &judgement, detail);
    *barrier = judgement.barrier;
    return err;
}

/* -- Deciding ------------------------------------------------------------ */

/* Up to which seq nothing that the session watches has changed since its view
 * of that seq; 0: not known. */
static uint64_t unchanged_since(struct hub_session *session,
                                const struct commit_view *view)
{
    struct hub *hub = session->hub;
    if (!view->given || view->seq < session->told) {
        return 0;
    }
    const struct engine *engine = hub->engine;
    if (engine->seq > view->seq + view->commits ||
        hub->changes != database_changes(&engine->database)) {
        hub_notice_others(hub);
    }
    return list_is_empty(&session->dirty) ? hub->seq : 0;
}

/* The requests from `from` on, as one group. */
static enum err decide_from(struct hub *hub,
                            size_t from,
                            struct err_detail *detail)
{
    const size_t count = hub->requests.count - from;
    if (count == 0) {
        return ERR_OK;
    }
    hub->counters.groups++;
    hub->counters.commits += count;
    return engine_commit(hub->engine, &hub->requests.at[from], count, detail);
}

/* Adds the commits of one message to hub->requests, except those that the hub
 * refuses. Decides what waits at a barrier; *from is where the undecided
 * begin, and *index counts the commits. */
static enum err add_requests(const struct hub_deferred *deferred,
                             uint64_t at_ms,
                             size_t *from,
                             size_t *index,
                             struct err_detail *detail)
{
    struct hub_session *session = deferred->peer->session;
    struct hub *hub = session->hub;
    for (size_t i = 0; i < deferred->message.commits.count; i++, ++*index) {
        const struct commit *commit = deferred->message.commits.at[i];
        struct hub_refusal refusal = {.index = *index};
        bool barrier = false;
        refusal.err = judge(deferred->peer, commit, &barrier, &refusal.detail);
        if (refusal.err != ERR_OK) {
            refusal.detail.err = refusal.err;
            refusal.head_seq = hub->engine->seq;
            vec_push(&hub->refusals, refusal);
            continue;
        }
        const struct engine_request request = {
            .commit = commit,
            .principal = session->principal,
            .client = session->client,
            .at_ms = at_ms,
            .unchanged_seq = unchanged_since(session, &commit->view),
        };
        vec_push(&hub->requests, request);
        if (UNLIKELY(barrier)) {
            const enum err err = decide_from(hub, *from, detail);
            *from = hub->requests.count;
            if (err != ERR_OK) {
                return err;
            }
        }
    }
    return ERR_OK;
}

/* Fills in hub->requests and hub->refusals, and lets the engine decide. */
static enum err decide(struct hub *hub,
                       const struct hub_deferred *deferred,
                       size_t count,
                       struct err_detail *detail)
{
    const uint64_t at_ms = hub->options.wall_ms != NULL
                               ? hub->options.wall_ms(hub->options.ctx)
                               : 0;
    size_t from = 0;
    size_t index = 0;
    enum err err = ERR_OK;
    for (size_t i = 0; err == ERR_OK && i < count; i++) {
        err = add_requests(&deferred[i], at_ms, &from, &index, detail);
    }
    return err == ERR_OK ? decide_from(hub, from, detail) : err;
}

/* -- Verdicts ------------------------------------------------------------ */

/* Other processes may have committed between hub->seq and `seq`. If their
 * commits cannot be read, hub->seq stays behind, and the next flush retries. */
static bool notice_before(struct hub *hub, uint64_t seq)
{
    if (hub->seq + 1 >= seq) {
        return true;
    }
    struct err_detail detail = {0};
    enum err err = engine_read_begin(hub->engine, &detail);
    if (err == ERR_OK) {
        err = fanout_feed(hub, seq - 1, &detail);
        engine_read_end(hub->engine);
    }
    if (err != ERR_OK) {
        hub_fault(hub,
                  HUB_READING,
                  "changes of other sessions could not be read",
                  &detail);
    }
    return err == ERR_OK;
}

/* What the verdict means for this session and the others. */
static bool digest(struct hub_session *session,
                   const struct commit *commit,
                   const struct verdict *verdict,
                   bool noticed)
{
    if (verdict->err == ERR_OK && commit_is_batch(commit)) {
        fanout_observed(session, commit, verdict); /* nothing landed */
    } else if (verdict->err == ERR_OK && !verdict->replayed && noticed) {
        noticed = notice_before(session->hub, verdict->seq);
        if (noticed) {
            fanout_landed(session, commit, verdict);
            fanout_observed(session, commit, verdict);
        }
    } else if (verdict->err == ERR_CONFLICT) {
        session->hub->counters.conflicts++;
        fanout_conflicted(session, commit);
    }
    fanout_owe_marker(session, commit->local_seq);
    return noticed;
}

/* The verdicts of a peer go out as one message per group, or more if a message
 * is full. It is in the outbox and still empty, or grows there. */
static struct message *answer_of(struct hub_peer *peer)
{
    struct hub *hub = peer->hub;
    if (peer->answered_group == hub->group) {
        struct message *answer = &hub->outbox.at[peer->answer].message;
        if (answer->verdicts.count < LIMIT_MESSAGE_COMMITS) {
            return answer;
        }
    }
    struct message answer = {.kind = MESSAGE_VERDICTS};
    peer->answered_group = hub->group;
    peer->answer = hub->outbox.count;
    hub_queue(peer, &answer);
    return &hub->outbox.at[peer->answer].message;
}

/* The verdict of the commit with this index: of the engine, which has decided
 * about *requests before it, or of the hub. */
static struct verdict verdict_at(struct hub *hub,
                                 size_t index,
                                 size_t *requests)
{
    const size_t refusals = index - *requests;
    if (refusals == hub->refusals.count ||
        hub->refusals.at[refusals].index != index) {
        return hub->requests.at[(*requests)++].verdict;
    }
    const struct hub_refusal *refusal = &hub->refusals.at[refusals];
    return (struct verdict){
        .err = refusal->err,
        .detail = refusal->detail,
        .head_seq = refusal->head_seq,
    };
}

static void answer_all(struct hub *hub,
                       const struct hub_deferred *deferred,
                       size_t count)
{
    bool noticed = true;
    size_t index = 0;
    size_t requests = 0;
    for (size_t i = 0; i < count; i++) {
        struct hub_peer *peer = deferred[i].peer;
        const struct message *message = &deferred[i].message;
        for (size_t j = 0; j < message->commits.count; j++, index++) {
            const struct commit *commit = message->commits.at[j];
            const struct message_verdict one = {
                .local_seq = commit->local_seq,
                .verdict = verdict_at(hub, index, &requests),
            };
            noticed = digest(peer->session, commit, &one.verdict, noticed);
            struct message *answer = answer_of(peer);
            vec_push(&answer->verdicts, one);
        }
    }
    if (noticed && hub->seq == hub->engine->seq) {
        hub->changes = hub->engine->changes;
    }
}

/* A fault is not a verdict (hub-5). Some of the commits may have landed; their
 * authors send them again and learn it. */
static void break_peers(struct hub *hub,
                        const struct hub_deferred *deferred,
                        size_t count,
                        const struct err_detail *detail)
{
    VEC_FOREACH (&hub->requests, request) {
        verdict_release(&request->verdict);
    }
    hub_fault(hub, HUB_WRITING, "a group commit failed", detail);
    for (size_t i = 0; i < count; i++) {
        if (!deferred[i].peer->over) {
            hub_break_peer(deferred[i].peer);
        }
    }
}

static void decide_and_answer(struct hub *hub,
                              const struct hub_deferred *deferred,
                              size_t count)
{
    struct err_detail detail = {0};
    hub->group++;
    if (decide(hub, deferred, count, &detail) == ERR_OK) {
        hub_worked(hub, HUB_WRITING);
        answer_all(hub, deferred, count);
    } else {
        break_peers(hub, deferred, count, &detail);
    }
    vec_clear(&hub->requests);
    vec_clear(&hub->refusals);
}

/* -- Groups -------------------------------------------------------------- */

bool hub_has_deferred(const struct hub_peer *peer)
{
    return peer->deferred_group == peer->hub->group + 1;
}

void hub_receive_commits(struct hub_peer *peer, struct message *message)
{
    struct hub *hub = peer->hub;
    if (message->commits.count == 0) {
        return;
    }
    struct hub_deferred deferred = {.peer = peer, .message = *message};
    if (hub->grouping && message->owned) {
        *message = (struct message){0};
        vec_push(&hub->deferred, deferred);
        peer->deferred_group = hub->group + 1;
        return;
    }
    hub_decide_deferred(hub);
    if (!peer->over) { /* a fault of the group breaks its peers */
        decide_and_answer(hub, &deferred, 1);
    }
}

void hub_decide_deferred(struct hub *hub)
{
    if (hub->deferred.count == 0) {
        return;
    }
    decide_and_answer(hub, hub->deferred.at, hub->deferred.count);
    VEC_FOREACH (&hub->deferred, deferred) {
        message_release(&deferred->message);
    }
    vec_clear(&hub->deferred);
}
