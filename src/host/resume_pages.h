/* Fetching what stores know of a piece: implements runtime_resume_fn on top of
 * stores, for every host of a runtime.
 *
 * The pages come from the store of the piece's space. If a commit lands between
 * two of them, the listing has moved: it starts again with the largest page
 * size, a bounded number of times. Then every other space that one of the
 * actions has read is asked, once per page (host/resume.h). */

#ifndef HOST_RESUME_PAGES_H
#define HOST_RESUME_PAGES_H

#include "runtime/resume_set.h"
#include "value/address.h"

struct store_access;

enum {
    RESUME_PAGES_ACTIONS = 20000, /* per page, at the first attempt */
    RESUME_PAGES_TRIES = 8,       /* after which a moving listing fails */
};

struct resume_pages_source {
    /* The store of the space of that name; NULL: not open here. */
    struct store_access *(*store)(void *ctx, struct value space);
    void *ctx;
    struct identity identity; /* of the reader; borrowed */
    uint32_t limit;           /* actions per page; 0: RESUME_PAGES_ACTIONS */

    /* Called after each page with the number of actions so far and in total;
     * counts from 0 again when the listing has moved. False gives up. May be
     * NULL. */
    bool (*progress)(void *ctx, uint64_t actions, uint64_t total);
    void *progress_ctx;

    /* Asked before the first page and after each; true gives up. May be
     * NULL. */
    bool (*interrupted)(void *ctx);
};

/* See runtime_resume_fn. */
MUST_CHECK enum err resume_pages_fetch(const struct resume_pages_source *source,
                                       const struct space *space,
                                       struct value piece,
                                       struct resume_set *out,
                                       struct err_detail *detail);

#endif
