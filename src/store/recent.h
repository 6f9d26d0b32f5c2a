/* What has landed lately, kept in memory.
 *
 * Commits on their way that read and write one document name all those below
 * them, again and again; the rows that would tell about those were written a
 * moment ago by the same process. So the last of them are remembered: the seq
 * of a commit by session and local seq, and who wrote to a document, from its
 * head downwards.
 *
 *   R1  What is found here is what the transaction at hand would read. It is
 *       forgotten with the other caches (engine_forget).
 *   R2  What is new takes the place of what is old: who does not find what he
 *       looks for asks the rows.
 *   R3  Nothing is kept of a document, or of commits, before somebody has
 *       asked for the first time: of most nobody ever does. */

#ifndef STORE_RECENT_H
#define STORE_RECENT_H

#include "store/engine.h"

/* A commit has landed. A session is the number of its row. */
void recent_add_commit(struct engine *engine,
                       uint64_t session,
                       uint64_t local_seq,
                       uint64_t seq);

/* It has written to a document. */
void recent_add_write(struct document *document,
                      uint64_t session,
                      uint64_t local_seq,
                      uint64_t seq);

/* The seq of a commit; 0: not known here. */
uint64_t recent_commit(struct engine *engine,
                       uint64_t session,
                       uint64_t local_seq);

/* Whether all that was written to the document above `after` is known here,
 * and is of these commits of the session, which are in ascending order. False
 * says nothing. */
bool recent_are_all_of(const struct engine *engine,
                       struct document *document,
                       uint64_t after,
                       uint64_t session,
                       const struct layer_list *layers);

/* Of the document, with it; of the commits; and of all that. */
void recent_forget_document(struct document *document);
void recent_forget_commits(struct engine *engine);
void recent_release(struct engine *engine);

#endif
