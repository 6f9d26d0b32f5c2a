/* The selectors of a session: installing, updating, and what is told. */

#include "host/selectors.h"

#include "base/limits.h"
#include "host/reach.h"
#include "value/compare.h"
#include "value/object.h"
#include "value/schema.h"

struct installed {
    struct list_node in_session; /* in the order of installation */
    struct selector definition;
    struct reach *reach; /* its own, or the common one */
    struct reach_node *root;
    bool is_new; /* not taken yet (selectors_take) */
};

/* What the session has to know (selectors-3). */
struct note {
    struct target target;            /* left the reach; or */
    struct selector_refusal refusal; /* this selector has ended, */
    bool ended;                      /* if so */
    bool sent;                       /* and a session that has seen more */
    uint64_t since;                  /* than this knows it */
};

struct selectors {
    struct reach common;
    struct list installed;
    size_t count;
    VEC(struct note) notes;
    size_t unsent; /* of those */
    bool overflowed;
};

/* -- Reading ------------------------------------------------------------- */

static enum err on_read(void *ctx,
                        const struct target *target,
                        struct value *document,
                        uint64_t *seq,
                        struct err_detail *detail)
{
    struct hub_session *session = ctx;
    const struct engine_address address = {
        .branch = session->branch,
        .scope_key = session->scope_keys[target->scope],
        .id = target->id,
    };
    *document = VALUE_NONE;
    *seq = 0;
    /* A document that can never be written counts as never written. */
    if (value_is_absent(address.scope_key)) {
        return ERR_OK;
    }
    session->hub->counters.reach_reads++;
    return engine_head(session->hub->engine, &address, document, seq, detail);
}

static void begin_reach(struct reach *reach,
                        struct hub_session *session,
                        uint32_t depth)
{
    const struct hub *hub = session->hub;
    reach_init(reach, &hub->engine->paths, hub->options.space, depth, 0);
    reach->read = on_read;
    reach->read_ctx = session;
}

static struct selectors *take_selectors(struct hub_session *session)
{
    if (session->selectors == NULL) {
        struct selectors *selectors = mem_alloc_zero(sizeof *selectors);
        begin_reach(&selectors->common, session, REACH_ANY_DEPTH);
        list_init(&selectors->installed);
        session->selectors = selectors;
    }
    return session->selectors;
}

/* -- Graphs -------------------------------------------------------------- */

static struct installed *installed_of(struct list_node *node)
{
    return CONTAINER_OF(node, struct installed, in_session);
}

static bool is_own(const struct selectors *selectors, const struct reach *reach)
{
    return reach != &selectors->common;
}

/* What is left of a limit. */
static size_t left_of(size_t limit, size_t used)
{
    return used < limit ? limit - used : 0;
}

/* How large the graph may become, beside the others (selectors-4). */
static void bound_reach(const struct selectors *selectors,
                        struct reach *reach,
                        const struct selector *definition)
{
    const bool own = is_own(selectors, reach);
    size_t documents = own ? selectors->common.live : 0;
    size_t places = own ? selectors->common.nodes.count : 0;
    LIST_FOREACH (&selectors->installed, node) {
        const struct installed *one = installed_of(node);
        if (one->reach != reach && is_own(selectors, one->reach)) {
            documents += one->reach->live;
            places += one->reach->nodes.count;
        }
    }
    reach->most = left_of(LIMIT_REACH_DOCUMENTS, documents);
    reach->most_places = left_of(LIMIT_REACH_PLACES, places);
    if (definition != NULL && definition->has_count &&
        definition->count < reach->most) {
        reach->most = definition->count;
    }
}

static void release_own(const struct selectors *selectors, struct reach *reach)
{
    if (is_own(selectors, reach)) {
        reach_release(reach);
        mem_free(reach, sizeof *reach);
    }
}

/* -- Installing ---------------------------------------------------------- */

static struct installed *find(const struct selectors *selectors,
                              struct value id)
{
    LIST_FOREACH (&selectors->installed, node) {
        if (key_equal(installed_of(node)->definition.id, id)) {
            return installed_of(node);
        }
    }
    return NULL;
}

/* The numbers and the schema. */
static enum err check_selector(const struct selector *selector,
                               struct err_detail *detail)
{
    if (selector->has_depth && selector->depth > LIMIT_REACH_DEPTH) {
        return err_set(detail,
                       ERR_LIMIT_REACH,
                       "the depth of a selector is at most %d; leave it out to "
                       "follow links to their end",
                       LIMIT_REACH_DEPTH);
    }
    if (selector->has_count && selector->count > LIMIT_REACH_DOCUMENTS) {
        return err_set(detail,
                       ERR_LIMIT_REACH,
                       "the count of a selector is at most %d",
                       LIMIT_REACH_DOCUMENTS);
    }
    struct schema *schema;
    struct schema_fault fault;
    if (schema_new(selector->schema, &schema, &fault) != ERR_OK) {
        return schema_fault_tell(&fault, "the schema of the selector", detail);
    }
    schema_unref(schema);
    return ERR_OK;
}

/* The place in the document: the pointer is in its value. New. */
static enum err read_path(struct hub *hub,
                          struct value pointer,
                          struct path **out,
                          struct err_detail *detail)
{
    const struct text text = value_text(&pointer);
    if (text.length > 0 && text.at[0] != '/') {
        return err_set(detail,
                       ERR_SYNTAX,
                       "the path of a selector must be a JSON Pointer: empty, "
                       "or begin with /");
    }
    struct buf whole = {0};
    buf_append_text(&whole, "/value");
    buf_append(&whole, text.at, text.length);
    const enum err err =
        path_read(&hub->engine->paths, whole.at, whole.length, out, detail);
    buf_release(&whole);
    return err;
}

static struct reach *reach_for(struct selectors *selectors,
                               struct hub_session *session,
                               const struct selector *selector)
{
    if (!selector->has_depth && !selector->has_count) {
        return &selectors->common;
    }
    struct reach *reach = mem_alloc_zero(sizeof *reach);
    begin_reach(reach,
                session,
                selector->has_depth ? (uint32_t)selector->depth
                                    : REACH_ANY_DEPTH);
    return reach;
}

static enum err add_root(struct hub_session *session,
                         const struct selector *selector,
                         struct path *path,
                         struct err_detail *detail)
{
    struct selectors *selectors = session->selectors;
    const struct reach_place place = {
        selector->root,
        path,
        selector->schema,
    };
    struct reach *reach = reach_for(selectors, session, selector);
    struct reach_node *root;
    bound_reach(selectors, reach, selector);
    const enum err err = reach_add(reach, &place, &root, detail);
    if (err != ERR_OK) {
        release_own(selectors, reach);
        return err;
    }
    struct installed *one = mem_alloc_zero(sizeof *one);
    list_node_init(&one->in_session);
    one->definition = selector_copy(selector);
    one->reach = reach;
    one->root = root;
    one->is_new = true;
    list_push_back(&selectors->installed, &one->in_session);
    selectors->count++;
    return ERR_OK;
}

static enum err install(struct hub_session *session,
                        const struct selector *selector,
                        struct err_detail *detail)
{
    struct selectors *selectors = take_selectors(session);
    const struct installed *before = find(selectors, selector->id);
    if (before != NULL) {
        return selector_same(&before->definition, selector)
                   ? ERR_OK
                   : err_set(detail,
                             ERR_ARGUMENT,
                             "the session has a selector of this id with "
                             "another definition; unwatch it first, or choose "
                             "another id");
    }
    if (selectors->count >= LIMIT_REACH_SELECTORS) {
        return err_set(detail,
                       ERR_LIMIT_REACH,
                       "a session has at most %d selectors; unwatch one first",
                       LIMIT_REACH_SELECTORS);
    }
    struct path *path = NULL;
    enum err err = check_selector(selector, detail);
    if (err == ERR_OK) {
        err = read_path(session->hub, selector->path, &path, detail);
    }
    if (err == ERR_OK) {
        err = add_root(session, selector, path, detail);
    }
    path_unref(path);
    return err;
}

/* A fault that another attempt may not have, in contrast to the selector's own
 * fault, or that of a document that it reaches. */
static bool is_fault(enum err err)
{
    return err_class_of(err) == ERR_CLASS_RETRY ||
           (err_class_of(err) == ERR_CLASS_FAULT && err != ERR_CORRUPT);
}

enum err selectors_install(struct hub_session *session,
                           const struct message *watch,
                           struct selector_refusal *refused,
                           struct err_detail *detail)
{
    *refused = (struct selector_refusal){0};
    for (size_t i = 0; i < watch->selectors.count; i++) {
        const struct selector *selector = &watch->selectors.at[i];
        const enum err err = install(session, selector, detail);
        if (err == ERR_OK) {
            continue;
        }
        selectors_cancel(session, watch);
        if (is_fault(err)) {
            return err;
        }
        refused->id = value_ref(selector->id);
        refused->detail = *detail;
        break;
    }
    return ERR_OK;
}

/* -- Notes --------------------------------------------------------------- */

static void add_note(struct hub_session *session, struct note note)
{
    struct selectors *selectors = session->selectors;
    if (selectors->notes.count >= LIMIT_REACH_DOCUMENTS) {
        selectors->overflowed = true; /* sent notes are of no use any more */
        selectors_acked(session, UINT64_MAX);
    }
    vec_push(&selectors->notes, note);
    selectors->unsent++;
}

static void release_note(struct note *note)
{
    value_unref(note->target.id);
    value_unref(note->refusal.id);
}

void selectors_acked(struct hub_session *session, uint64_t seen)
{
    struct selectors *selectors = session->selectors;
    if (selectors == NULL) {
        return;
    }
    size_t kept = 0;
    VEC_FOREACH (&selectors->notes, note) {
        if (note->sent && note->since < seen) {
            release_note(note);
        } else {
            selectors->notes.at[kept++] = *note;
        }
    }
    selectors->notes.count = kept;
}

/* A note that nothing has changed since. */
static bool is_current(const struct hub_session *session,
                       const struct note *note)
{
    return note->ended ? find(session->selectors, note->refusal.id) == NULL
                       : !fanout_watches(session, &note->target);
}

void selectors_tell(const struct hub_session *session, struct message *message)
{
    if (session->selectors == NULL || session->selectors->unsent == 0) {
        return;
    }
    VEC_FOREACH (&session->selectors->notes, note) {
        if (note->sent || !is_current(session, note)) {
            continue;
        }
        if (note->ended) {
            const struct selector_refusal refusal = {
                value_ref(note->refusal.id),
                note->refusal.detail,
            };
            vec_push(&message->refused, refusal);
        } else {
            const struct target target = {
                value_ref(note->target.id),
                note->target.scope,
            };
            vec_push(&message->targets, target);
        }
    }
}

void selectors_told(struct hub_session *session)
{
    if (session->selectors == NULL || session->selectors->unsent == 0) {
        return;
    }
    session->selectors->unsent = 0;
    VEC_FOREACH (&session->selectors->notes, note) {
        if (!note->sent) {
            note->sent = true;
            note->since = session->told;
        }
    }
}

void selectors_resume(struct hub_session *session, uint64_t seen)
{
    if (session->selectors == NULL) {
        return;
    }
    selectors_acked(session, seen);
    VEC_FOREACH (&session->selectors->notes, note) {
        note->sent = false;
    }
    session->selectors->unsent = session->selectors->notes.count;
}

bool selectors_can_resume(const struct hub_session *session)
{
    return session->selectors == NULL || !session->selectors->overflowed;
}

/* -- Taking -------------------------------------------------------------- */

struct taking {
    struct hub_session *session;
    struct message *answer; /* NULL: mark for the next sync */
};

static void take_document(void *ctx,
                          const struct reach_document *document,
                          bool added)
{
    const struct taking *taking = ctx;
    struct hub_session *session = taking->session;
    const struct target *target = &document->target;
    if (!added) {
        if (fanout_unreach(session, target)) {
            const struct note note = {
                .target = {value_ref(target->id), target->scope},
            };
            add_note(session, note);
        }
        return;
    }
    if (!fanout_reach(session, target, document->seq)) {
        return; /* the session holds it */
    }
    if (taking->answer == NULL) {
        fanout_mark(session, target);
        return;
    }
    const struct upsert upsert = {
        .target = {value_ref(target->id), target->scope},
        .seq = document->seq,
        .document = value_ref(document->value),
    };
    vec_push(&taking->answer->upserts, upsert);
    taking->answer->reached++;
    fanout_holds(session, target, document->seq);
}

/* All graphs that are up to date. */
static void take_all(struct hub_session *session, struct message *answer)
{
    struct selectors *selectors = session->selectors;
    struct taking taking = {session, answer};
    if (reach_is_settled(&selectors->common)) {
        reach_take(&selectors->common, take_document, &taking);
    }
    LIST_FOREACH (&selectors->installed, node) {
        struct installed *one = installed_of(node);
        one->is_new = false;
        if (is_own(selectors, one->reach) && reach_is_settled(one->reach)) {
            reach_take(one->reach, take_document, &taking);
        }
    }
}

void selectors_take(struct hub_session *session, struct message *answer)
{
    if (session->selectors != NULL) {
        take_all(session, answer);
        selectors_tell(session, answer);
        selectors_told(session);
    }
}

/* -- Ending -------------------------------------------------------------- */

static void free_installed(struct selectors *selectors, struct installed *one)
{
    list_remove(&one->in_session);
    selectors->count--;
    selector_release(&one->definition);
    mem_free(one, sizeof *one);
}

/* The documents of a graph of its own leave with it; those of the common one
 * with the next update. */
static void end_selector(struct hub_session *session, struct installed *one)
{
    struct selectors *selectors = session->selectors;
    struct reach *reach = one->reach;
    reach_remove(reach, one->root);
    if (is_own(selectors, reach)) {
        struct taking taking = {session, NULL};
        const enum err err = reach_update(reach, NULL);
        CHECK(err == ERR_OK); /* nothing is left to read */
        reach_take(reach, take_document, &taking);
        release_own(selectors, reach);
    }
    free_installed(selectors, one);
}

void selectors_cancel(struct hub_session *session, const struct message *watch)
{
    struct selectors *selectors = session->selectors;
    if (watch->selectors.count == 0 || selectors == NULL) {
        return;
    }
    LIST_FOREACH (&selectors->installed, node) {
        struct installed *one = installed_of(node);
        if (one->is_new) {
            reach_cancel(one->reach, one->root);
            release_own(selectors, one->reach);
            free_installed(selectors, one);
        }
    }
}

void selectors_remove(struct hub_session *session,
                      const struct message *unwatch)
{
    struct selectors *selectors = session->selectors;
    for (size_t i = 0; selectors != NULL && i < unwatch->selectors.count; i++) {
        struct installed *one = find(selectors, unwatch->selectors.at[i].id);
        if (one != NULL) {
            end_selector(session, one);
        }
    }
}

void selectors_free(struct hub_session *session)
{
    struct selectors *selectors = session->selectors;
    if (selectors == NULL) {
        return;
    }
    LIST_FOREACH (&selectors->installed, node) {
        struct installed *one = installed_of(node);
        release_own(selectors, one->reach);
        free_installed(selectors, one);
    }
    VEC_FOREACH (&selectors->notes, note) {
        release_note(note);
    }
    vec_release(&selectors->notes);
    reach_release(&selectors->common);
    mem_free(selectors, sizeof *selectors);
    session->selectors = NULL;
}

/* -- Updating ------------------------------------------------------------ */

void selectors_changed(struct hub_session *session, const struct target *target)
{
    struct selectors *selectors = session->selectors;
    reach_changed(&selectors->common, target);
    LIST_FOREACH (&selectors->installed, node) {
        struct installed *one = installed_of(node);
        if (is_own(selectors, one->reach)) {
            reach_changed(one->reach, target);
        }
    }
}

bool selectors_owe(const struct hub_session *session)
{
    const struct selectors *selectors = session->selectors;
    if (LIKELY(selectors == NULL)) {
        return false;
    }
    bool owes = selectors->unsent > 0 || reach_is_pending(&selectors->common);
    LIST_FOREACH (&selectors->installed, node) {
        owes = owes || reach_is_pending(installed_of(node)->reach);
    }
    return owes;
}

/* selectors-4: the session is told which selector, and why. */
static void end_beyond(struct hub_session *session,
                       struct installed *one,
                       const struct err_detail *why)
{
    const struct note note = {
        .refusal = {value_ref(one->definition.id), *why},
        .ended = true,
    };
    end_selector(session, one);
    add_note(session, note);
}

static struct installed *last_common(const struct selectors *selectors)
{
    struct installed *last = NULL;
    LIST_FOREACH (&selectors->installed, node) {
        if (!is_own(selectors, installed_of(node)->reach)) {
            last = installed_of(node);
        }
    }
    return last;
}

static enum err update_common(struct hub_session *session,
                              struct err_detail *detail)
{
    struct selectors *selectors = session->selectors;
    struct reach *reach = &selectors->common;
    enum err err = ERR_OK;
    do {
        if (err == ERR_LIMIT_REACH) {
            end_beyond(session, last_common(selectors), detail);
            err_clear(detail);
        }
        bound_reach(selectors, reach, NULL);
        err = reach_is_pending(reach) ? reach_update(reach, detail) : ERR_OK;
    } while (err == ERR_LIMIT_REACH && last_common(selectors) != NULL);
    return err;
}

enum err selectors_update(struct hub_session *session,
                          struct err_detail *detail)
{
    struct selectors *selectors = session->selectors;
    if (selectors == NULL) {
        return ERR_OK;
    }
    enum err err = update_common(session, detail);
    LIST_FOREACH (&selectors->installed, node) {
        struct installed *one = installed_of(node);
        if (err != ERR_OK || !is_own(selectors, one->reach) ||
            !reach_is_pending(one->reach)) {
            continue;
        }
        bound_reach(selectors, one->reach, &one->definition);
        err = reach_update(one->reach, detail);
        if (err == ERR_LIMIT_REACH) {
            end_beyond(session, one, detail);
            err_clear(detail);
            err = ERR_OK;
        }
    }
    take_all(session, NULL); /* of graphs that are up to date */
    return err;
}
