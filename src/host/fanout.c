/* Watches, and which session must be told what. */

#include "host/fanout.h"

#include "host/deltas.h"
#include "host/selectors.h"
#include "store/observations.h"
#include "value/compare.h"
#include "value/object.h"

/* -- The index ----------------------------------------------------------- */

static uint64_t hash_address(const struct engine_address *address)
{
    return value_hash(address->id) ^ (value_hash(address->scope_key) << 1) ^
           (value_hash(address->branch) << 2);
}

static bool is_document(const void *item, const void *key)
{
    const struct hub_document *document = item;
    const struct engine_address *address = key;
    return key_equal(document->id, address->id) &&
           key_equal(document->scope_key, address->scope_key) &&
           key_equal(document->branch, address->branch);
}

static struct hub_document *find_document(const struct hub *hub,
                                          const struct engine_address *address)
{
    return hub->documents.count > 0 ? map_find(&hub->documents,
                                               hash_address(address),
                                               is_document,
                                               address)
                                    : NULL;
}

static struct engine_address address_of(const struct hub_session *session,
                                        const struct target *target)
{
    return (struct engine_address){
        .branch = session->branch,
        .scope_key = session->scope_keys[target->scope],
        .id = target->id,
    };
}

/* The document of a session's target; NULL if no session watches it. */
static struct hub_document *find_target(const struct hub_session *session,
                                        const struct target *target)
{
    const struct engine_address address = address_of(session, target);
    return value_is_absent(address.scope_key)
               ? NULL
               : find_document(session->hub, &address);
}

static struct hub_document *take_document(struct hub *hub,
                                          const struct engine_address *address)
{
    struct hub_document *document = find_document(hub, address);
    if (document == NULL) {
        document = mem_alloc_zero(sizeof *document);
        document->branch = value_ref(address->branch);
        document->scope_key = value_ref(address->scope_key);
        document->id = value_ref(address->id);
        list_init(&document->watches);
        map_insert(&hub->documents, hash_address(address), document);
    }
    return document;
}

static void drop_document(struct hub *hub, struct hub_document *document)
{
    deltas_release(document);
    const struct engine_address address = {
        .branch = document->branch,
        .scope_key = document->scope_key,
        .id = document->id,
    };
    (void)map_remove(&hub->documents,
                     hash_address(&address),
                     is_document,
                     &address);
    value_unref(document->branch);
    value_unref(document->scope_key);
    value_unref(document->id);
    mem_free(document, sizeof *document);
}

static uint64_t hash_pointer(const void *pointer)
{
    return (uint64_t)(uintptr_t)pointer;
}

static bool is_watch_of(const void *item, const void *document)
{
    const struct hub_watch *watch = item;
    return watch->document == document;
}

static struct hub_watch *find_watch(const struct hub_session *session,
                                    const struct hub_document *document)
{
    return map_find(&session->watch_by_document,
                    hash_pointer(document),
                    is_watch_of,
                    document);
}

/* -- Marks --------------------------------------------------------------- */

static void owe(struct hub_session *session)
{
    if (session->peer != NULL && !list_node_is_linked(&session->in_owing)) {
        list_push_back(&session->hub->owing, &session->in_owing);
    }
}

/* A session without a peer is handled when it reconnects. */
static void mark_dirty(struct hub_watch *watch)
{
    struct hub_session *session = watch->session;
    if (session->peer != NULL && !list_node_is_linked(&watch->in_dirty)) {
        list_push_back(&session->dirty, &watch->in_dirty);
        owe(session);
    }
}

/* A revision of the document landed; `author` and `op` are NULL if they are
 * unknown.
 *
 * An author that held the previous revision derives this one (hub-3). An author
 * that did not hold it is dirty already, and stays so. */
static void mark_revision(struct hub *hub,
                          struct hub_document *document,
                          uint64_t seq,
                          const struct hub_session *author,
                          const struct commit_op *op)
{
    bool wanted = false; /* as a delta */
    LIST_FOREACH (&document->watches, node) {
        struct hub_watch *watch =
            CONTAINER_OF(node, struct hub_watch, in_document);
        if (UNLIKELY(watch->reached > 0)) {
            selectors_changed(watch->session, &watch->target);
            owe(watch->session);
        }
        if (watch->session != author || watch->unloaded) {
            mark_dirty(watch);
        } else if (!list_node_is_linked(&watch->in_dirty)) {
            hub->counters.echoes++;
            (void)deltas_held(watch); /* of what it had written before */
            watch->own = seq;
            watch->marked = watch->session->markers;
        }
        wanted = wanted || (watch->session->deltas &&
                            list_node_is_linked(&watch->in_dirty));
    }
    deltas_add_step(document, seq, op, wanted);
    if (document->seq < seq) {
        document->seq = seq;
    }
}

/* -- Watches ------------------------------------------------------------- */

/* The watch of the session, created on demand; NULL: the scope key is missing,
 * so the document can never be written. */
static struct hub_watch *take_watch(struct hub_session *session,
                                    const struct target *target)
{
    const struct engine_address address = address_of(session, target);
    if (value_is_absent(address.scope_key)) {
        return NULL;
    }
    struct hub_document *document = take_document(session->hub, &address);
    struct hub_watch *watch = find_watch(session, document);
    if (watch == NULL) {
        watch = mem_alloc_zero(sizeof *watch);
        list_node_init(&watch->in_document);
        list_node_init(&watch->in_session);
        list_node_init(&watch->in_dirty);
        watch->session = session;
        watch->document = document;
        watch->target = (struct target){value_ref(target->id), target->scope};
        list_push_back(&document->watches, &watch->in_document);
        list_push_back(&session->watches, &watch->in_session);
        map_insert(&session->watch_by_document, hash_pointer(document), watch);
    }
    list_remove(&watch->in_dirty);
    watch->since = session->told;
    return watch;
}

void fanout_watch(struct hub_session *session,
                  const struct target *target,
                  uint64_t seq)
{
    struct hub_watch *watch = take_watch(session, target);
    if (watch != NULL) {
        watch->asked = true;
        watch->unloaded = false;
        watch->held = seq;
        watch->own = 0;
        if (watch->document->seq < seq) {
            watch->document->seq = seq;
        }
    }
}

void fanout_follow(struct hub_session *session,
                   const struct target *target,
                   uint64_t known)
{
    struct hub_watch *watch = take_watch(session, target);
    if (watch != NULL) {
        watch->asked = true;
        watch->unloaded = true;
        watch->known = known;
        watch->held = 0;
        session->hub->counters.follows++;
    }
}

/* The watch of a target, or NULL. */
static struct hub_watch *watch_of(const struct hub_session *session,
                                  const struct target *target)
{
    const struct hub_document *document = find_target(session, target);
    return document != NULL ? find_watch(session, document) : NULL;
}

/* A document that was written: decides whether one session has to be told. */
static void notice_for(void *ctx, const struct engine_change *change)
{
    struct hub_session *session = ctx;
    struct hub_document *document =
        find_document(session->hub, &change->address);
    struct hub_watch *watch =
        document != NULL ? find_watch(session, document) : NULL;
    if (watch == NULL) {
        return;
    }
    if (document->seq < change->seq) {
        document->seq = change->seq;
        deltas_forget_steps(document);
    }
    if (watch->unloaded && change->seq > watch->known) {
        mark_dirty(watch);
    }
}

enum err fanout_catch_up(struct hub_session *session,
                         uint64_t known,
                         struct err_detail *detail)
{
    struct hub *hub = session->hub;
    return known < hub->seq ? engine_changes(hub->engine,
                                             known,
                                             hub->seq,
                                             notice_for,
                                             session,
                                             detail)
                            : ERR_OK;
}

static void end_watch(struct hub_watch *watch)
{
    struct hub_session *session = watch->session;
    list_remove(&watch->in_document);
    list_remove(&watch->in_session);
    list_remove(&watch->in_dirty);
    if (list_is_empty(&watch->document->watches)) {
        drop_document(session->hub, watch->document);
    }
    value_unref(watch->target.id);
    mem_free(watch, sizeof *watch);
}

static void drop_watch(struct hub_watch *watch)
{
    (void)map_remove(&watch->session->watch_by_document,
                     hash_pointer(watch->document),
                     is_watch_of,
                     watch->document);
    end_watch(watch);
}

void fanout_unwatch(struct hub_session *session, const struct target *target)
{
    struct hub_watch *watch = watch_of(session, target);
    if (watch != NULL && watch->reached > 0) {
        watch->asked = false;
        watch->since = session->told;
        watch->held = 0;
        watch->own = 0;
        mark_dirty(watch);
    } else if (watch != NULL) {
        drop_watch(watch);
    }
}

bool fanout_reach(struct hub_session *session,
                  const struct target *target,
                  uint64_t seq)
{
    struct hub_watch *watch = watch_of(session, target);
    const bool watched = watch != NULL;
    if (!watched) {
        watch = take_watch(session, target);
    }
    if (watch == NULL) {
        return true; /* never written: it is told so */
    }
    watch->reached++;
    if (watch->document->seq < seq) {
        watch->document->seq = seq;
    }
    if (watched &&
        (!watch->unloaded || list_node_is_linked(&watch->in_dirty))) {
        return false;
    }
    watch->unloaded = false;
    watch->since = session->told;
    return true;
}

void fanout_holds(struct hub_session *session,
                  const struct target *target,
                  uint64_t seq)
{
    struct hub_watch *watch = watch_of(session, target);
    if (watch != NULL) {
        watch->held = seq;
        watch->own = 0;
    }
}

bool fanout_unreach(struct hub_session *session, const struct target *target)
{
    struct hub_watch *watch = watch_of(session, target);
    if (watch == NULL) {
        return true;
    }
    CHECK(watch->reached > 0);
    watch->reached--;
    const bool over = watch->reached == 0 && !watch->asked;
    if (over) {
        drop_watch(watch);
    }
    return over;
}

bool fanout_watches(const struct hub_session *session,
                    const struct target *target)
{
    return watch_of(session, target) != NULL;
}

void fanout_unwatch_all(struct hub_session *session)
{
    LIST_FOREACH (&session->watches, node) {
        end_watch(CONTAINER_OF(node, struct hub_watch, in_session));
    }
    map_release(&session->watch_by_document);
}

/* Whether a session that has seen all up to `seen`, and perhaps more, may lack
 * what the document is. */
static bool must_tell(struct hub_watch *watch, uint64_t seen)
{
    const bool lost = seen <= watch->since;
    if (watch->known > watch->session->hub->seq) {
        watch->known = 0; /* it knows what never was */
        watch->unloaded = false;
    }
    watch->unloaded = watch->unloaded || (lost && watch->known > 0);
    return watch->unloaded ? watch->document->seq > watch->known
                           : lost || watch->document->seq > seen;
}

void fanout_resume(struct hub_session *session, uint64_t seen)
{
    session->told = seen;
    LIST_FOREACH (&session->watches, node) {
        struct hub_watch *watch =
            CONTAINER_OF(node, struct hub_watch, in_session);
        list_remove(&watch->in_dirty);
        watch->held = 0; /* what arrived of what was sent is unknown */
        watch->own = 0;
        if (must_tell(watch, seen)) {
            mark_dirty(watch);
        }
    }
    selectors_resume(session, seen);
    session->marker_owed = session->caught_up > 0;
    if (session->marker_owed || selectors_owe(session)) {
        owe(session);
    }
}

/* -- What happened ------------------------------------------------------- */

static bool is_elided(const struct verdict *verdict, size_t op)
{
    for (size_t i = 0; i < verdict->elided.count; i++) {
        if (verdict->elided.at[i] == op) {
            return true;
        }
    }
    return false;
}

void fanout_landed(struct hub_session *session,
                   const struct commit *commit,
                   const struct verdict *verdict)
{
    for (size_t i = 0; i < commit->ops.count; i++) {
        struct hub_document *document =
            find_target(session, &commit->ops.at[i].target);
        if (document != NULL && !is_elided(verdict, i)) {
            mark_revision(session->hub,
                          document,
                          verdict->seq,
                          session,
                          &commit->ops.at[i]);
        }
    }
    session->hub->seq = verdict->seq;
}

void fanout_listen(struct hub_session *session, bool listen)
{
    VEC_FOREACH (&session->observations, one) {
        observation_unref(one->observation);
    }
    vec_clear(&session->observations);
    struct hub *hub = session->hub;
    const bool listened = !list_is_empty(&hub->listening);
    list_remove(&session->in_listening);
    if (listen) {
        list_push_back(&hub->listening, &session->in_listening);
    }
    const bool listens = !list_is_empty(&hub->listening);
    if (listens != listened) {
        hub->heard_seq = hub->seq;
        engine_listen(hub->engine, listens);
    }
}

/* Reports the places of an observation to the host. */
static void note_observation(const struct hub_session *author,
                             const struct observation *observation)
{
    const struct hub_options *options = &author->hub->options;
    if (options->observed != NULL && observation->has_places) {
        options->observed(options->observed_ctx, author->branch, observation);
    }
}

/* To all listening sessions on the branch except the author; `author` is NULL
 * if it belongs to another hub. */
static void tell_observation(struct hub *hub,
                             const struct hub_session *author,
                             struct value branch,
                             struct observation *observation,
                             uint64_t seq)
{
    LIST_FOREACH (&hub->listening, node) {
        struct hub_session *session =
            CONTAINER_OF(node, struct hub_session, in_listening);
        /* Observations of a user's or a session's documents are not for other
         * sessions. */
        if (session != author && observation->scope == SCOPE_SPACE &&
            key_equal(session->branch, branch)) {
            const struct told_observation one = {
                seq,
                observation_ref(observation),
            };
            vec_push(&session->observations, one);
            hub->counters.observations++;
            owe(session);
        }
    }
}

static bool was_dropped(const struct verdict *verdict, size_t index)
{
    for (size_t i = 0; i < verdict->dropped.count; i++) {
        if (verdict->dropped.at[i].index == index) {
            return true;
        }
    }
    return false;
}

/* The seq up to which the reads are proved, as the engine has it. */
static uint64_t watermark(const struct observation *observation,
                          const struct verdict *verdict)
{
    const struct observed_basis *basis = &observation->basis;
    return basis->given && basis->seq < verdict->seq ? basis->seq
                                                     : verdict->seq;
}

static void pass_on(const struct hub_session *author,
                    struct observation *observation,
                    uint64_t seq)
{
    note_observation(author, observation);
    tell_observation(author->hub, author, author->branch, observation, seq);
}

void fanout_observed(struct hub_session *session,
                     const struct commit *commit,
                     const struct verdict *verdict)
{
    if (list_is_empty(&session->hub->listening) &&
        session->hub->options.observed == NULL) {
        return;
    }
    if (commit->observation != NULL && !was_dropped(verdict, 0)) {
        pass_on(session,
                commit->observation,
                watermark(commit->observation, verdict));
    }
    for (size_t i = 0; i < commit->batch.count; i++) {
        if (!was_dropped(verdict, i)) {
            pass_on(session, commit->batch.at[i], verdict->seq);
        }
    }
}

void fanout_mark(struct hub_session *session, const struct target *target)
{
    struct hub_watch *watch = watch_of(session, target);
    if (watch != NULL) {
        mark_dirty(watch);
    }
}

void fanout_conflicted(struct hub_session *session, const struct commit *commit)
{
    for (size_t i = 0; i < commit->reads.count; i++) {
        /* What was read on another branch is not watched here. */
        if (value_is_absent(commit->reads.at[i].branch)) {
            fanout_mark(session, &commit->reads.at[i].target);
        }
    }
    for (size_t i = 0; i < commit->ops.count; i++) {
        fanout_mark(session, &commit->ops.at[i].target);
    }
}

void fanout_owe_marker(struct hub_session *session, uint64_t local_seq)
{
    if (session->caught_up < local_seq) {
        session->caught_up = local_seq;
    }
    session->marker_owed = true;
    owe(session);
}

static void notice_change(void *ctx, const struct engine_change *change)
{
    struct hub *hub = ctx;
    struct hub_document *document = find_document(hub, &change->address);
    if (document != NULL) {
        mark_revision(hub, document, change->seq, NULL, NULL);
    }
}

/* A session of another hub on the same file has run the action. */
static void hear_run(void *ctx,
                     struct value branch,
                     uint64_t seq,
                     struct observation *observation)
{
    tell_observation(ctx, NULL, branch, observation, seq);
}

static enum err feed_changes(struct hub *hub,
                             uint64_t to,
                             struct err_detail *detail)
{
    if (to <= hub->seq) {
        return ERR_OK;
    }
    enum err err = ERR_OK;
    if (hub->documents.count > 0) {
        hub->counters.feeds++;
        err = engine_changes(hub->engine,
                             hub->seq,
                             to,
                             notice_change,
                             hub,
                             detail);
    }
    if (err == ERR_OK) {
        hub->seq = to;
    }
    return err;
}

enum err fanout_feed(struct hub *hub, uint64_t to, struct err_detail *detail)
{
    enum err err = feed_changes(hub, to, detail);
    if (err == ERR_OK && engine_runs_are_waiting(hub->engine)) {
        err = engine_take_runs(hub->engine,
                               hub->heard_seq,
                               hear_run,
                               hub,
                               detail);
        hub->heard_seq = hub->seq;
    }
    return err;
}

/* -- Telling ------------------------------------------------------------- */

/* The state of the document that the session knew, unless it is unchanged or no
 * longer known. */
static enum err add_before(const struct hub_watch *watch,
                           struct upsert *upsert,
                           struct err_detail *detail)
{
    const struct hub_session *session = watch->session;
    struct engine *engine = session->hub->engine;
    if (watch->known == 0 || upsert->seq <= watch->known ||
        !engine_has_history(engine, session->branch, watch->known)) {
        return ERR_OK;
    }
    const struct engine_address address = address_of(session, &watch->target);
    upsert->has_before = true;
    return engine_before(engine,
                         &address,
                         watch->known,
                         &upsert->before,
                         detail);
}

enum err fanout_add_before(const struct hub_session *session,
                           struct upsert *upsert,
                           struct err_detail *detail)
{
    const struct hub_watch *watch = watch_of(session, &upsert->target);
    return watch != NULL ? add_before(watch, upsert, detail) : ERR_OK;
}

/* fanout-5 */
static enum err read_document(struct hub *hub,
                              struct hub_document *document,
                              struct err_detail *detail)
{
    if (document->read) {
        return ERR_OK;
    }
    const struct engine_address address = {
        .branch = document->branch,
        .scope_key = document->scope_key,
        .id = document->id,
    };
    const enum err err = engine_head(hub->engine,
                                     &address,
                                     &document->head,
                                     &document->head_seq,
                                     detail);
    if (err == ERR_OK) {
        document->read = true;
        vec_push(&hub->read, document);
        if (list_first(&document->watches) != list_last(&document->watches)) {
            document->text = upsert_text_new();
        }
    }
    return err;
}

/* What was read is no longer the state of the file. `all`: every session was
 * told of it. */
static void forget_read(struct hub *hub, bool all)
{
    VEC_FOREACH (&hub->read, at) {
        struct hub_document *document = *at;
        document->read = false;
        deltas_forget(document);
        if (all) {
            deltas_forget_steps(document);
        }
        value_unref(document->head);
        document->head = VALUE_NONE;
        upsert_text_unref(document->text);
        document->text = NULL;
    }
    vec_clear(&hub->read);
}

static enum err add_upsert(struct hub_watch *watch,
                           struct message *message,
                           struct err_detail *detail)
{
    struct hub_document *document = watch->document;
    enum err err = read_document(watch->session->hub, document, detail);
    if (err != ERR_OK || deltas_add(watch, message)) {
        return err;
    }
    struct upsert upsert = {
        .target = {value_ref(watch->target.id), watch->target.scope},
        .seq = document->head_seq,
        .document = value_ref(document->head),
    };
    if (watch->unloaded) {
        err = add_before(watch, &upsert, detail);
    }
    if (document->text != NULL && !upsert.has_before) {
        upsert.shared = upsert_text_ref(document->text);
    }
    vec_push(&message->upserts, upsert);
    return err;
}

/* Its document is in the outbox, as it was read. */
static void settle_watch(struct hub_watch *watch)
{
    list_remove(&watch->in_dirty);
    watch->held = watch->document->head_seq;
    watch->own = 0;
    if (watch->unloaded) {
        watch->unloaded = false;
        watch->since = watch->session->told;
    }
}

enum err fanout_answer(struct hub_session *session,
                       const struct target *target,
                       struct message *answer,
                       struct err_detail *detail)
{
    struct hub_watch *watch = watch_of(session, target);
    if (watch == NULL || !list_node_is_linked(&watch->in_dirty)) {
        return ERR_OK;
    }
    const enum err err = add_upsert(watch, answer, detail);
    forget_read(session->hub, false);
    return err;
}

void fanout_told(struct hub_session *session, const struct target *target)
{
    struct hub_watch *watch = watch_of(session, target);
    if (watch != NULL && list_node_is_linked(&watch->in_dirty)) {
        settle_watch(watch);
    }
}

/* The sync is in the outbox: from here on the session is taken to hold it. */
static void settle(struct hub_session *session, struct message *message)
{
    struct hub *hub = session->hub;
    VEC_FOREACH (&session->observations, one) {
        vec_push(&message->told, *one);
    }
    vec_clear(&session->observations);
    LIST_FOREACH (&session->dirty, node) {
        settle_watch(CONTAINER_OF(node, struct hub_watch, in_dirty));
    }
    selectors_told(session);
    session->told = message->to_seq;
    session->markers += session->marker_owed ? 1 : 0;
    session->marker_owed = false;
    list_remove(&session->in_owing);
    hub->counters.frames++;
    hub->counters.upserts += message->upserts.count;
}

static bool owes_nothing(const struct hub_session *session)
{
    return list_is_empty(&session->dirty) && !session->marker_owed &&
           session->observations.count == 0 && !selectors_owe(session);
}

/* The dirty documents that the session asked for by name, or the others. */
static enum err add_dirty(struct hub_session *session,
                          bool asked,
                          struct message *message,
                          struct err_detail *detail)
{
    enum err err = ERR_OK;
    LIST_FOREACH (&session->dirty, node) {
        struct hub_watch *watch =
            CONTAINER_OF(node, struct hub_watch, in_dirty);
        if (err == ERR_OK && watch->asked == asked) {
            err = add_upsert(watch, message, detail);
            message->reached += asked ? 0 : 1;
        }
    }
    return err;
}

/* What the session is owed, as it is now. */
static enum err add_owed(struct hub_session *session,
                         struct message *message,
                         struct err_detail *detail)
{
    enum err err = selectors_update(session, detail);
    if (err == ERR_OK) {
        err = add_dirty(session, true, message, detail);
    }
    if (err == ERR_OK) {
        err = add_dirty(session, false, message, detail);
    }
    if (err == ERR_OK) {
        selectors_tell(session, message);
    }
    return err;
}

static void flush_session(struct hub_session *session)
{
    struct hub *hub = session->hub;
    if (owes_nothing(session)) {
        list_remove(&session->in_owing); /* what it was owed came otherwise */
        return;
    }
    struct message message = {
        .kind = MESSAGE_SYNC,
        .from_seq = session->told,
        .to_seq = hub->seq,
        .caught_up = session->marker_owed ? session->caught_up : 0,
    };
    struct err_detail detail = {0};
    const enum err err = add_owed(session, &message, &detail);
    if (err == ERR_OK && owes_nothing(session)) {
        list_remove(&session->in_owing); /* the reach is as it was */
    } else if (err == ERR_OK) {
        settle(session, &message);
        hub_queue(session->peer, &message);
    } else {
        hub_fault(hub, HUB_READING, "a sync failed", &detail);
        message_release(&message);
    }
}

static void flush_owing(struct hub *hub, struct hub_session *only)
{
    if (only != NULL) {
        flush_session(only);
        return;
    }
    LIST_FOREACH (&hub->owing, node) {
        flush_session(CONTAINER_OF(node, struct hub_session, in_owing));
    }
}

/* A sync that only carries a marker needs nothing from the file, as long as
 * nothing has landed unnoticed. */
static bool needs_state(const struct hub *hub)
{
    if (hub->engine->seq != hub->seq || engine_runs_are_waiting(hub->engine)) {
        return true;
    }
    LIST_FOREACH (&hub->owing, node) {
        const struct hub_session *session =
            CONTAINER_OF(node, struct hub_session, in_owing);
        if (!list_is_empty(&session->dirty) || selectors_owe(session)) {
            return true;
        }
    }
    return false;
}

static void flush(struct hub *hub, struct hub_session *only)
{
    if (!needs_state(hub)) {
        flush_owing(hub, only);
        return;
    }
    struct err_detail detail = {0};
    enum err err = engine_read_begin(hub->engine, &detail);
    if (err == ERR_OK) {
        err = fanout_feed(hub, hub->engine->seq, &detail);
        if (err == ERR_OK) {
            hub->changes = hub->engine->changes;
            hub_worked(hub, HUB_READING); /* or hear otherwise at once */
            flush_owing(hub, only);
            forget_read(hub, only == NULL);
        }
        engine_read_end(hub->engine);
    }
    if (err != ERR_OK) {
        hub_fault(hub,
                  HUB_READING,
                  "subscribers were not notified of a "
                  "commit",
                  &detail);
    }
}

void fanout_flush(struct hub *hub)
{
    if (!list_is_empty(&hub->owing)) {
        flush(hub, NULL);
    }
}

void fanout_tell(struct hub_session *session)
{
    if (list_node_is_linked(&session->in_owing)) {
        flush(session->hub, session);
    }
}
