/* Fetching what stores know of a piece: the answer to runtime_resume_fn, on
 * top of engines. Every host of a runtime uses this one.
 *
 * The pages come from the store of the piece's own space. If somebody commits
 * between two of them the listing has moved: it begins again, with the largest
 * pages there are, and a bounded number of times. Then every other space that
 * one of the actions has read is asked, once a page (host/resume.h). */

#ifndef HOST_PAGES_H
#define HOST_PAGES_H

#include "runtime/resume_set.h"
#include "value/address.h"

struct engine;

enum {
    PAGES_ACTIONS = 20000, /* a page, of the first attempt */
    PAGES_TRIES = 8,       /* of which the listing may move */
};

struct pages_source {
    /* The engine of the space of that name, or NULL: not here. */
    struct engine *(*engine)(void *ctx, struct value space);
    void *ctx;
    struct identity identity; /* for whom; borrowed */
    uint32_t limit;           /* actions a page; 0: PAGES_ACTIONS */

    /* Told after each page how many actions there are so far, and how many
     * there will be; it counts from the start when the listing has moved.
     * False gives up. May be NULL. */
    bool (*progress)(void *ctx, uint64_t actions, uint64_t total);
    void *progress_ctx;

    /* Asked before the first page and after each; true gives up. May be
     * NULL. */
    bool (*interrupted)(void *ctx);
};

/* See runtime_resume_fn. */
MUST_CHECK enum err pages_fetch(const struct pages_source *source,
                                const struct space *space,
                                struct value piece,
                                struct resume_set *out,
                                struct err_detail *detail);

#endif
