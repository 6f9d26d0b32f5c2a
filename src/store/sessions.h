/* Sessions: the rows that give them numbers, and how far each has come.
 *
 * Most commits of a session are new: their local seq is above every one that
 * has landed. Knowing the highest is enough to tell that, without a look at
 * the rows of commits.
 *
 *   N1  What is cached of a session is what the transaction at hand would
 *       read. The cache is forgotten with the others, after a fault or a
 *       foreign commit (engine_forget).
 *
 * engine_session, which finds the number of a session, is in engine.h. */

#ifndef STORE_SESSIONS_H
#define STORE_SESSIONS_H

#include "store/engine.h"

/* Whether no commit of this session can have that local seq or a higher one.
 * False if the session is not in the cache. */
bool session_is_ahead(struct engine *engine,
                      struct value key,
                      uint64_t local_seq);

/* A commit of this session was written, in a transaction that is still open.
 * The engine has a lease for it from now on (leases.h). */
void session_landed(struct engine *engine,
                    struct value key,
                    uint64_t local_seq);

void sessions_forget(struct engine *engine);

#endif
