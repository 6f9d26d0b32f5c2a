/* Everything that the stores know of one piece, for a runtime that resumes it.
 *
 * The runtime asks its host once per piece, and then works without the host:
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
 *   resume-set-1  All pages are of the piece, of one seq and one generation, in
 *                 order: persistence_resume_begin does not refuse them.
 *   resume-set-2  A space that was read and is not in `asked` could not be
 *                 asked, or is not open here. Its readers are unknown, and run.
 *   resume-set-3  A set is data: nothing in it asks the host or a store again,
 *                 and what lands after its creation is delivered like any other
 *                 change.
 *
 * A correct result never needs a set. A runtime without one registers the same
 * nodes, and each of them runs once. */

#ifndef RUNTIME_RESUME_SET_H
#define RUNTIME_RESUME_SET_H

#include "sched/persistence.h"

/* All zero is empty. */
struct resume_set {
    VEC(struct resume_page *) pages;
    VEC(struct resume_asked) asked; /* its names are references */
};

/* Adds an empty page, owned by the set; the second function takes over the
 * names of `asked`. For hosts. */
struct resume_page *resume_set_add_page(struct resume_set *set);
void resume_set_add_asked(struct resume_set *set, struct resume_asked asked);

void resume_set_release(struct resume_set *set);

/* The generation of the piece in the pages, as the store knows it. 0 if the
 * store does not know the piece. */
uint64_t resume_set_generation(const struct resume_set *set);

/* The actions in the pages. */
uint64_t resume_set_count(const struct resume_set *set);

/* For persistence_resume_begin; borrows everything. A `generation` other than
 * that of the pages is no error: none of them matches then. */
struct resume_options resume_set_options(const struct resume_set *set,
                                         struct space *space,
                                         struct value piece,
                                         uint64_t generation);

/* Asks the host for the set of a piece of `space`, which is open. The pages
 * have the generation that the store has. OK: the caller releases the set,
 * which has at least one page. Otherwise it is empty: GIVEN_UP if interrupted,
 * LISTING_MOVED after repeated concurrent commits, ARGUMENT if the host does
 * not serve that space, or a fault. */
typedef enum err runtime_resume_fn(void *ctx,
                                   struct space *space,
                                   struct value piece,
                                   struct resume_set *out,
                                   struct err_detail *detail);

/* The store has confirmed that a piece was removed, so its remembered runs are
 * useless. The host only records this during the call, and forgets them later.
 */
typedef void runtime_forget_fn(void *ctx,
                               struct space *space,
                               struct value piece);

/* The same for nodes of a running piece, by the names of their actions: they
 * belonged to a removed element. */
typedef void runtime_forget_nodes_fn(void *ctx,
                                     struct space *space,
                                     struct value piece,
                                     const struct digest *names,
                                     size_t count);

#endif
