/* Selectors of a space: requests to the store, and pushed documents. */

#include "replica/space_selector.h"

#include "base/mem.h"
#include "proto/message.h"
#include "replica/session.h"
#include "value/object.h"

/* One selector; it stays until the store has answered its end. */
struct space_request {
    struct list_node in_space;
    struct selector selector;
    bool leaving;  /* the runtime does not want it any more */
    bool sent;     /* its watch, or its unwatch, has no answer yet */
    bool answered; /* the store has the selector; or, leaving, may have it */
    bool was_sent; /* ever, to this session of the store */
    bool refused;
    struct err_detail refusal;
};

static struct space_request *request_of(struct list_node *node)
{
    return CONTAINER_OF(node, struct space_request, in_space);
}

/* The one that the runtime means by that id. */
static struct space_request *find(struct space *space, struct value id)
{
    LIST_FOREACH (&space->selectors, node) {
        struct space_request *request = request_of(node);
        if (!request->leaving && key_equal(request->selector.id, id)) {
            return request;
        }
    }
    return NULL;
}

static void free_request(struct space_request *request)
{
    list_remove(&request->in_space);
    selector_release(&request->selector);
    mem_free(request, sizeof *request);
}

static bool is_to_send(const struct space_request *request)
{
    return !request->sent && !request->refused &&
           request->answered == request->leaving;
}

/* Another one of the same id leaves, and the store has not been told. */
static bool is_blocked(const struct space *space,
                       const struct space_request *request)
{
    LIST_FOREACH (&space->selectors, node) {
        const struct space_request *other = request_of(node);
        if (other == request) {
            return false;
        }
        if (other->leaving && !(other->sent && other->answered) &&
            key_equal(other->selector.id, request->selector.id)) {
            return true;
        }
    }
    return false;
}

/* -- For the runtime ----------------------------------------------------- */

enum err space_watch_selector(struct space *space,
                              const struct selector *selector,
                              struct err_detail *detail)
{
    if (space->session == NULL) {
        return err_set(detail,
                       ERR_ARGUMENT,
                       "a space without a store has no selectors");
    }
    const enum err err = session_check(space->session, detail);
    if (err != ERR_OK) {
        return err;
    }
    struct space_request *before = find(space, selector->id);
    if (before != NULL && before->refused) {
        free_request(before);
    } else if (before != NULL) {
        return selector_same(&before->selector, selector)
                   ? ERR_OK
                   : err_set(detail,
                             ERR_ARGUMENT,
                             "there is a selector of this id with another "
                             "definition; end it first, or choose another id");
    }
    struct space_request *request = mem_alloc_zero(sizeof *request);
    list_node_init(&request->in_space);
    request->selector = selector_copy(selector);
    list_push_back(&space->selectors, &request->in_space);
    space->replica->needs_step = true;
    return ERR_OK;
}

void space_unwatch_selector(struct space *space, struct value id)
{
    struct space_request *request = find(space, id);
    if (request == NULL) {
        return;
    }
    if (request->refused || !request->was_sent) {
        free_request(request); /* the store does not have it */
        return;
    }
    /* An answer that is still to come, comes first. If it was lost, the store
     * is told in any case. */
    request->leaving = true;
    request->answered = request->answered || !request->sent;
    space->replica->needs_step = true;
}

enum space_selector_state space_selector_state(struct space *space,
                                               struct value id,
                                               struct err_detail *refusal)
{
    const struct space_request *request = find(space, id);
    if (request == NULL) {
        return SELECTOR_NONE;
    }
    if (request->refused) {
        if (refusal != NULL) {
            *refusal = request->refusal;
        }
        return SELECTOR_REFUSED;
    }
    /* Its answer may be among the syncs that wait (session-4). */
    return request->answered && space->session->held.count == 0
               ? SELECTOR_INSTALLED
               : SELECTOR_WAITING;
}

/* -- Requests ------------------------------------------------------------ */

bool space_selector_is_waiting(const struct space *space)
{
    LIST_FOREACH (&space->selectors, node) {
        if (is_to_send(request_of(node)) &&
            !is_blocked(space, request_of(node))) {
            return true;
        }
    }
    return false;
}

struct space_request *space_selector_next(struct space *space,
                                          struct message *message)
{
    LIST_FOREACH (&space->selectors, node) {
        struct space_request *request = request_of(node);
        if (is_to_send(request) && !is_blocked(space, request)) {
            request->sent = true;
            request->was_sent = true;
            message->kind = request->leaving ? MESSAGE_UNWATCH : MESSAGE_WATCH;
            vec_push(&message->selectors, request->selector);
            return request;
        }
    }
    return NULL;
}

void space_selector_answered(struct space *space, struct space_request *request)
{
    if (request->leaving && request->answered) {
        free_request(request);
        return;
    }
    request->answered = true;
    request->sent = false;
    space->replica->needs_step = true;
}

/* -- Documents ----------------------------------------------------------- */

struct entity *space_selector_push(struct space *space,
                                   const struct target *target)
{
    struct entity *entity;
    if (entity_of(space, target->scope, target->id, &entity, NULL) != ERR_OK) {
        return NULL;
    }
    if (!entity->watched) {
        entity->watched = true;
        entity->pushed = true;
    }
    entity->reach_lost = false;
    return entity;
}

/* The answers of all selectors have arrived. */
static bool all_answered(const struct space *space)
{
    LIST_FOREACH (&space->selectors, node) {
        const struct space_request *request = request_of(node);
        if (!request->answered && !request->refused) {
            return false;
        }
    }
    return true;
}

/* space-selector-3 */
static void remove_lost(struct space *space)
{
    space->reach_lost = false;
    MAP_FOREACH (&space->entities, slot) {
        struct entity *entity = slot->item;
        if (entity->reach_lost) {
            space_remove(space, entity);
        }
    }
}

/* Without a selector to install, no answer comes that could do it. */
static void remove_at_once(struct space *space)
{
    if (space->reach_lost && all_answered(space)) {
        remove_lost(space);
        struct notification notification = {
            .kind = NOTIFY_PULL,
            .space = space,
        };
        channel_publish(space->replica,
                        &space->replica->changes,
                        &notification);
    }
}

void space_selectors_again(struct space *space, bool forgotten)
{
    LIST_FOREACH (&space->selectors, node) {
        struct space_request *request = request_of(node);
        if (request->leaving && forgotten) {
            free_request(request);
            continue;
        }
        /* A store that may have a leaving one is told; that is harmless if it
         * has not. */
        request->sent = false;
        request->was_sent = request->was_sent && !forgotten;
        request->answered =
            request->leaving || (request->answered && !forgotten);
    }
    if (forgotten) {
        MAP_FOREACH (&space->entities, slot) {
            struct entity *entity = slot->item;
            entity->reach_lost = entity->pushed;
            space->reach_lost = space->reach_lost || entity->pushed;
        }
        remove_at_once(space);
    }
}

bool space_selectors_take(struct space *space, const struct message *message)
{
    for (size_t i = 0; i < message->refused.count; i++) {
        struct space_request *request = find(space, message->refused.at[i].id);
        if (request != NULL && request->answered) {
            request->refused = true;
            request->refusal = message->refused.at[i].detail;
        }
    }
    if (UNLIKELY(space->reach_lost) && space->session->held.count == 0 &&
        all_answered(space)) {
        remove_lost(space);
    }
    return message->refused.count > 0;
}

void space_selectors_reset(struct space *space)
{
    MAP_FOREACH (&space->entities, slot) {
        struct entity *entity = slot->item;
        entity->watched = entity->watched && !entity->pushed;
        entity->pushed = false;
        entity->reach_lost = false;
    }
    space->reach_lost = false;
    space_selectors_again(space, true);
}

void space_selectors_free(struct space *space)
{
    LIST_FOREACH (&space->selectors, node) {
        free_request(request_of(node));
    }
}
