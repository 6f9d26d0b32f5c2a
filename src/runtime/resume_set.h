/* Everything that stores know of one piece, for a runtime that takes it up.
 *
 * The runtime asks its host, once a piece, and goes on without the host:
 *
 *   struct resume_set set;
 *   err = runtime->resume(runtime->resume_ctx, space, piece, &set, &detail);
 *   if (err == ERR_OK) {
 *       const struct resume_options options =
 *           resume_set_options(&set, space, piece, generation);
 *       err = persistence_resume_begin(sched, &options, &detail);
 *       if (err == ERR_OK) {
 *           ... registrations ...
 *           counts = persistence_resume_end(sched);
 *       }
 *       resume_set_release(&set);
 *   }
 *
 *   T1  The pages are all of the piece, of one seq and one generation, in
 *       order: persistence_resume_begin does not refuse them.
 *   T2  A space that was read and is not among `asked` could not be asked, or
 *       is not open here. Its readers are unknown, and run.
 *   T3  A set is data: nothing in it asks the host or a store again, and what
 *       lands after it was made is told like any other change.
 *
 * A set is never needed for a right answer. Who has none, or is refused one,
 * registers the same nodes, and all of them run once. */

#ifndef RUNTIME_RESUME_SET_H
#define RUNTIME_RESUME_SET_H

#include "sched/persistence.h"

/* All zero is empty. */
struct resume_set {
    VEC(struct resume_page *) pages;
    VEC(struct resume_asked) asked; /* its names are references */
};

/* Adds an empty page, which belongs to the set. Takes the names of `asked`
 * over. For hosts. */
struct resume_page *resume_set_add_page(struct resume_set *set);
void resume_set_add_asked(struct resume_set *set, struct resume_asked asked);

void resume_set_release(struct resume_set *set);

/* The generation of the piece that the pages are of, as the store knows it. 0
 * if the store does not know the piece. */
uint64_t resume_set_generation(const struct resume_set *set);

/* The actions in the pages. */
uint64_t resume_set_count(const struct resume_set *set);

/* For persistence_resume_begin; borrows everything. A `generation` that is not
 * that of the pages is no error: nothing of them fits then. */
struct resume_options resume_set_options(const struct resume_set *set,
                                         struct space *space,
                                         struct value piece,
                                         uint64_t generation);

/* How a host is asked for the set of a piece of `space`, which is open. The
 * pages are of the generation that the store has. OK: the caller releases the
 * set, which has one page at least. Otherwise it is empty: GIVEN_UP if
 * somebody did not want to wait any longer, LISTING_MOVED if others commit too
 * fast for it, ARGUMENT if the host does not serve that space, or a fault. */
typedef enum err runtime_resume_fn(void *ctx,
                                   struct space *space,
                                   struct value piece,
                                   struct resume_set *out,
                                   struct err_detail *detail);

/* A piece was removed, and the store has taken that: what it remembers of its
 * runs is of no use any more. Called in the middle of things: the host makes a
 * note of it, and forgets them later. */
typedef void runtime_forget_fn(void *ctx,
                               struct space *space,
                               struct value piece);

/* The same of nodes of a piece that runs, by the names of their actions: they
 * were an element's, which has gone. */
typedef void runtime_forget_nodes_fn(void *ctx,
                                     struct space *space,
                                     struct value piece,
                                     const struct digest *names,
                                     size_t count);

#endif
