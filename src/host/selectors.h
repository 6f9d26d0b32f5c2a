/* The selectors of a session: watches of everything that links lead to.
 *
 * Selectors without a depth and a count share one graph (host/reach.h), so that
 * what one of them covers costs the others nothing; each other one has its own.
 * A document that a graph reaches is watched by the session (host/fanout.h).
 *
 *   selectors-1  A watch message installs all its selectors, or none.
 *   selectors-2  A change of a reached document, also by the session itself or
 *                while it has no peer, is noted at once; the reach is updated
 *                before the session's next sync.
 *   selectors-3  What left the reach, and a selector that has ended, is told in
 *                the next sync, and again after a resume that did not see it.
 *                If too much of it is not acknowledged, the session cannot be
 *                resumed.
 *   selectors-4  The documents of all graphs together are at most
 *                LIMIT_REACH_DOCUMENTS. If a change exceeds a limit, the
 *                selectors that were installed last end first. */

#ifndef HOST_SELECTORS_H
#define HOST_SELECTORS_H

#include "host/fanout.h"

struct selectors;

/* -- Installing ---------------------------------------------------------- */

/* Walks the selectors of a watch message. Between engine_read_begin and _end.
 * OK: selectors_take or selectors_cancel follows; or *refused says what is
 * wrong, and nothing has changed. Anything else is a fault of the engine, and
 * nothing has changed. */
MUST_CHECK enum err selectors_install(struct hub_session *session,
                                      const struct message *watch,
                                      struct selector_refusal *refused,
                                      struct err_detail *detail);
void selectors_cancel(struct hub_session *session, const struct message *watch);

/* The session watches what its selectors reach now. The answer has the
 * documents that it does not hold, and names what it watches no longer. */
void selectors_take(struct hub_session *session, struct message *answer);

/* The selectors that an unwatch message names are over. The reach is updated
 * as for a sync. */
void selectors_remove(struct hub_session *session,
                      const struct message *unwatch);

void selectors_free(struct hub_session *session);

/* -- Events -------------------------------------------------------------- */

/* A document that the session's selectors reach has changed (selectors-2). */
void selectors_changed(struct hub_session *session,
                       const struct target *target);

/* Whether the next sync has something to do or to tell. */
bool selectors_owe(const struct hub_session *session);

/* Updates the reach; new documents are marked for the next sync. Between
 * engine_read_begin and _end. An error leaves the rest for the next time. */
MUST_CHECK enum err selectors_update(struct hub_session *session,
                                     struct err_detail *detail);

/* Adds what is to be told about selectors; selectors_told once the message is
 * queued. */
void selectors_tell(const struct hub_session *session, struct message *message);
void selectors_told(struct hub_session *session);

/* A connection that has seen everything up to `seen` continues the session; and
 * the session has seen that much. */
void selectors_resume(struct hub_session *session, uint64_t seen);
void selectors_acked(struct hub_session *session, uint64_t seen);

/* selectors-3 */
bool selectors_can_resume(const struct hub_session *session);

#endif
