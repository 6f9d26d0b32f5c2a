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
 *   R2  What is new takes the place of what is old: what is not found here is
 *       in the rows.
 *   R3  Nothing is kept of a document, or of commits, before the first
 *       question: of most documents nothing is ever asked. A question that
 *       reaches below what is kept loads the rows in between, so that the next
 *       one finds them. */

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

/* Whether all that was written to the document above `after` is of these
 * commits of the session, which are in ascending order. False says nothing:
 * what was written since may be more than is kept here. */
MUST_CHECK enum err recent_are_all_of(struct engine *engine,
                                      struct document *document,
                                      uint64_t after,
                                      uint64_t session,
                                      const struct layer_list *layers,
                                      bool *all,
                                      struct err_detail *detail);

/* Of the document, with it; of the commits; and of all that. */
void recent_forget_document(struct document *document);
void recent_forget_commits(struct engine *engine);
void recent_release(struct engine *engine);

#endif
