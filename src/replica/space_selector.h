/* Selectors of a space: documents that the store sends because links lead to
 * them (proto/selector.h).
 *
 * The runtime installs a selector once; it stays installed across reconnects,
 * also when the store has forgotten the session. The documents that it reaches
 * become loaded entities without being asked for one by one, and follow the
 * store from then on. A document that leaves the reach is unloaded and no
 * longer watched, as if it had never been asked for.
 *
 *   space-selector-1  An entity is `pushed` while only selectors watch it: the
 *                     store sends and removes it by itself. A document that is
 *                     wanted by name never is.
 *   space-selector-2  There is one message per request, and one answer to it,
 *                     in the same order. A request without an answer is sent
 *                     again on the next connection.
 *   space-selector-3  When the store has forgotten the session, all selectors
 *                     are installed again. What was pushed before and is not
 *                     pushed again by the time that all are answered has left
 *                     the reach. */

#ifndef REPLICA_SPACE_SELECTOR_H
#define REPLICA_SPACE_SELECTOR_H

#include "base/list.h"
#include "proto/selector.h"
#include "replica/space.h"

enum space_selector_state {
    SELECTOR_NONE,      /* there is none of that id */
    SELECTOR_WAITING,   /* not answered yet */
    SELECTOR_INSTALLED, /* everything that it reaches is here */
    SELECTOR_REFUSED,   /* by the store, or ended by it */
};

/* Installs a selector. The same one again is harmless; a refused one is tried
 * again, also with another definition. ARGUMENT: the space has no store, or
 * another selector of that id. SESSION_LOST, CLOSED. */
MUST_CHECK enum err space_watch_selector(struct space *space,
                                         const struct selector *selector,
                                         struct err_detail *detail);

/* Ends it; harmless if there is none. */
void space_unwatch_selector(struct space *space, struct value id);

/* A change of it comes with a notification (PULL) of the space. `refusal` may
 * be NULL; it says why a selector was refused. */
enum space_selector_state space_selector_state(struct space *space,
                                               struct value id,
                                               struct err_detail *refusal);

/* -- For the session and the space --------------------------------------- */

struct message;
struct space_request;

/* The next request to send, in `message`, which borrows from it; NULL: none.
 * It counts as sent. */
struct space_request *space_selector_next(struct space *space,
                                          struct message *message);
bool space_selector_is_waiting(const struct space *space); /* to be sent */

/* The store has answered. */
void space_selector_answered(struct space *space,
                             struct space_request *request);

/* The connection is lost; or the store has forgotten the session. */
void space_selectors_again(struct space *space, bool forgotten);

/* A sync: before its upserts, the entity of a pushed one; after them, what it
 * says about selectors. True: subscribers must hear of it. */
struct entity *space_selector_push(struct space *space,
                                   const struct target *target);
bool space_selectors_take(struct space *space, const struct message *message);

/* Everything that was pushed is dropped, with the rest. */
void space_selectors_reset(struct space *space);
void space_selectors_free(struct space *space);

#endif
