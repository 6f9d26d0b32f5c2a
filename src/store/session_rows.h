/* Sessions: the rows that number them, and the highest local seq of each.
 *
 * Most commits of a session are new: their local seq is above every one that
 * has landed. The highest one is enough to decide that, without reading the
 * rows of commits.
 *
 *   session-rows-1  The cache of a session equals what the current transaction
 *                   would read. It is dropped with the other caches, after a
 *                   fault or a foreign commit (engine_forget).
 *
 * engine_session, which finds the number of a session, is in engine.h. */

#ifndef STORE_SESSION_ROWS_H
#define STORE_SESSION_ROWS_H

#include "store/engine.h"

/* Whether no commit of this session can have that local seq or a higher one.
 * False if the session is not cached. */
bool session_rows_are_ahead(struct engine *engine,
                            struct value key,
                            uint64_t local_seq);

/* A commit of this session was written, in a transaction that is still open.
 * The engine holds a lease for it from now on (leases.h). */
void session_rows_landed(struct engine *engine,
                         struct value key,
                         uint64_t local_seq);

void session_rows_forget(struct engine *engine);

#endif
