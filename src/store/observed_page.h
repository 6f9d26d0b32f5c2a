/* Pages of actions, internal: what building a page, checking one and storing an
 * image of one share.
 *
 * A page is built in three steps. Its *static* part (the identity, reads and
 * writes of the actions) is assembled from ranges of numbers, each from an
 * image or from rows. Then the last run of each action is added. Then dirtiness
 * is derived.
 *
 *   observed-page-1  The actions of a page are in the order of their numbers.
 *   observed-page-2  A place occurs once per range; it may occur again in
 *                    another range. */

#ifndef STORE_OBSERVED_PAGE_H
#define STORE_OBSERVED_PAGE_H

#include <string.h>

#include "store/observed.h"

enum {
    CHECK_PAGE = 1000,
    SCOPES = SCOPE_SESSION + 1,
};

/* The sum of an action's row, until its edges are known. */
struct resume_sums {
    uint64_t stored;
    uint64_t row;
};

/* Numbers from 1 on, and an index for each. */
struct number_slot {
    uint64_t number; /* 0: free */
    uint32_t index;
};

struct number_table {
    struct number_slot *slots;
    size_t capacity; /* 0 or a power of two */
    size_t count;    /* of slots in use; the code that fills a slot counts it */
};

/* The slot of a number, or the free one where it would go. */
struct number_slot *number_table_slot(struct number_table *table,
                                      uint64_t number);
/* Room for that many, so that nothing moves. */
void number_table_reserve(struct number_table *table, size_t count);
void number_table_clear(struct number_table *table);
void number_table_release(struct number_table *table);

/* A page being made. */
struct page_builder {
    struct engine *engine;
    struct branch *branch;
    struct resume_page *page;
    uint64_t piece;
    uint64_t generation;
    uint64_t after;
    uint32_t limit;
    bool all; /* for the check: all scopes and generations */
    struct err_detail *detail;
    struct value scope_keys[SCOPES]; /* absent: not for this author; owned */

    /* The current range of rows. */
    size_t first_action; /* in the page */
    size_t first_place;
    size_t others;               /* of its generation, of other authors */
    struct number_table numbers; /* of places, to their indexes */
    VEC(uint64_t) place_numbers;
    VEC(uint64_t) place_sums; /* 0: there is no such place, or it is damaged */
    VEC(struct resume_sums) sums; /* one per action */

    /* Of all of them. */
    VEC(uint64_t) code_numbers; /* of fingerprints, */
    VEC(uint32_t) codes;        /* and where in the page they are */
    size_t last_code;           /* which one was asked for the last time */
    struct buf last_path;
    struct path *path; /* that it is, a reference */
};

void page_builder_release(struct page_builder *page_builder);

static inline bool same_text(struct text a, struct text b)
{
    return a.length == b.length &&
           (a.length == 0 || memcmp(a.at, b.at, a.length) == 0);
}

/* The scope of a key of this author; false for any other key. */
bool page_builder_own_scope(const struct page_builder *page_builder,
                            struct text key,
                            enum scope *out);

/* Adds the actions with numbers above `after` and up to `last`, from the rows,
 * as far as there is room. Inconsistent ones are UNKNOWN, the others CLEAN, and
 * nothing is known of their runs. */
MUST_CHECK enum err page_builder_add_rows(struct page_builder *page_builder,
                                          uint64_t after,
                                          uint64_t last);

/* Which of the CLEAN ones are dirty, or have failed. */
MUST_CHECK enum err page_builder_derive(struct page_builder *page_builder);

/* The next actions of a piece, of all scopes and generations; inconsistent ones
 * are UNKNOWN, and nothing else is decided. Inside a transaction, and from the
 * rows. */
MUST_CHECK enum err resume_page_of_piece(struct engine *engine,
                                         uint64_t piece,
                                         uint64_t after,
                                         struct resume_page *page,
                                         struct err_detail *detail);

/* engine_resume without a transaction of its own: inside one. */
MUST_CHECK enum err resume_page_inside(struct engine *engine,
                                       const struct resume_query *query,
                                       struct resume_page *page,
                                       struct err_detail *detail);

#endif
