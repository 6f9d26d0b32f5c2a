/* Recent commits, kept in memory.
 *
 * Pipelined commits that read and write one document name all those below them,
 * again and again; the same process has just written the rows in question. So
 * the latest are cached: the seq of a commit by session and local seq, and the
 * writers of a document, from its head downwards.
 *
 *   recent-1  The cache equals what the current transaction would read. It is
 *             dropped with the other caches (engine_forget).
 *   recent-2  New entries replace old ones: what is not found here is in the
 *             rows.
 *   recent-3  Nothing is cached of a document, or of commits, before the first
 *             query: most documents are never queried. A query that reaches
 *             below the cache loads the rows in between, so that the next one
 *             finds them. */

#ifndef STORE_RECENT_H
#define STORE_RECENT_H

#include "store/engine.h"

/* A commit has landed. A session is the number of its row. */
void recent_add_commit(struct engine *engine,
                       uint64_t session,
                       uint64_t local_seq,
                       uint64_t seq);

/* That commit has written to a document. */
void recent_add_write(struct document *document,
                      uint64_t session,
                      uint64_t local_seq,
                      uint64_t seq);

/* The seq of a commit; 0: not in the cache. */
uint64_t recent_commit(struct engine *engine,
                       uint64_t session,
                       uint64_t local_seq);

/* Whether everything written to the document above `after` is by these commits
 * of the session, which are in ascending order. False proves nothing: there may
 * be more writes than the cache holds. */
MUST_CHECK enum err recent_are_all_of(struct engine *engine,
                                      struct document *document,
                                      uint64_t after,
                                      uint64_t session,
                                      const struct layer_list *layers,
                                      bool *all,
                                      struct err_detail *detail);

/* Drops the cache of a document; of the commits; and everything. */
void recent_forget_document(struct document *document);
void recent_forget_commits(struct engine *engine);
void recent_release(struct engine *engine);

#endif
