/* What a runtime asks the store of a space, beside the messages of its session:
 * an interface with one implementation for an engine in this process
 * (host/engine_access.h) and one for a server (host/questions.h). A host uses
 * stores through it only, so it has one path for both.
 *
 *   store-access-1  An answer is of one state of the space, as the engine
 *                   functions of the same name say (store/observations.h,
 *                   store/waiting.h).
 *   store-access-2  UNREACHABLE, BUSY, TIMEOUT and INTERRUPTED say nothing
 *                   about the data: the question may be asked again. */

#ifndef HOST_STORE_ACCESS_H
#define HOST_STORE_ACCESS_H

#include "host/resume.h"
#include "store/observations.h"
#include "store/waiting.h"

struct store_access;

#define STORE_ACCESS_HEAD UINT64_MAX

struct store_access_methods {
    /* engine_resume; the identity of the query is that of this runtime, or
     * empty for the rows of the space alone. */
    enum err (*resume)(struct store_access *store,
                       const struct resume_query *query,
                       struct resume_page *page,
                       struct err_detail *detail);
    enum err (*resume_count)(struct store_access *store,
                             const struct resume_query *query,
                             uint64_t *count,
                             struct err_detail *detail);

    /* resume_ask. */
    enum err (*changed)(struct store_access *store,
                        const struct resume_asking *asking,
                        struct resume_page *page,
                        uint64_t *head,
                        struct err_detail *detail);

    /* engine_waiting, engine_timers with engine_timer_next, and
     * engine_timers_named. `found` must not use the store. */
    enum err (*waiting)(struct store_access *store,
                        struct value branch,
                        uint64_t after,
                        uint64_t limit,
                        waiting_fn *found,
                        void *ctx,
                        struct err_detail *detail);
    enum err (*timers)(struct store_access *store,
                       struct value branch,
                       struct timer_mark after,
                       uint64_t until,
                       uint64_t limit,
                       waiting_fn *found,
                       void *ctx,
                       uint64_t *next,
                       struct err_detail *detail);
    enum err (*timers_named)(struct store_access *store,
                             struct value branch,
                             struct value prefix,
                             waiting_fn *found,
                             void *ctx,
                             struct err_detail *detail);

    /* engine_piece_forget and engine_actions_forget. */
    enum err (*forget_piece)(struct store_access *store,
                             struct value branch,
                             struct value piece,
                             struct err_detail *detail);
    enum err (*forget_actions)(struct store_access *store,
                               struct value branch,
                               struct value piece,
                               const struct digest *names,
                               size_t count,
                               struct err_detail *detail);

    /* engine_mirror_put, of reads in the scope of the space. The seq of the
     * mirror may be STORE_ACCESS_HEAD. */
    enum err (*put_mirror)(struct store_access *store,
                           const struct mirror *mirror,
                           const struct changed_read *reads,
                           size_t count,
                           struct err_detail *detail);
};

struct store_access {
    const struct store_access_methods *methods;
};

#endif
