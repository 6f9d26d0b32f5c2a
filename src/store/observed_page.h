/* The inside of a page of actions: what making one and checking one share. */

#ifndef STORE_OBSERVED_PAGE_H
#define STORE_OBSERVED_PAGE_H

#include "store/observed.h"

enum {
    CHECK_PAGE = 1000
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
    size_t count;    /* of slots in use: whoever fills one counts it */
};

/* The slot of a number, or the free one where it would go. */
struct number_slot *number_table_slot(struct number_table *table,
                                      uint64_t number);
void number_table_release(struct number_table *table);

/* The next actions of a piece, everybody's and of every generation; those whose
 * rows do not fit together are UNKNOWN, and nothing else is decided. Inside a
 * transaction. */
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
