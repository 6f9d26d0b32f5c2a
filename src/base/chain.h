/* Intrusive chains: lists whose head is one pointer.
 *
 * For tables with many heads, most of them empty: half the size of a struct
 * list, and a link can still be removed in O(1) without its head. All zero is
 * an empty chain and a link that is in none.
 *
 *   chain-1  *link->back == link, and link->next == NULL or link->next->back ==
 *            &link->next.
 *   chain-2  A link that is in no chain has a `back` of NULL.
 *
 * Not here: the other end, and an order (a push goes to the front). */

#ifndef BASE_CHAIN_H
#define BASE_CHAIN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/check.h"

struct chain_link {
    struct chain_link *next;
    struct chain_link **back; /* what points to this link */
};

struct chain {
    struct chain_link *first;
};

static inline bool chain_link_is_in(const struct chain_link *link)
{
    return link->back != NULL;
}

static inline void chain_push(struct chain *chain, struct chain_link *link)
{
    CHECK(!chain_link_is_in(link));
    link->next = chain->first;
    link->back = &chain->first;
    if (link->next != NULL) {
        link->next->back = &link->next;
    }
    chain->first = link;
}

/* Harmless if it is in none. */
static inline void chain_remove(struct chain_link *link)
{
    if (link->back == NULL) {
        return;
    }
    *link->back = link->next;
    if (link->next != NULL) {
        link->next->back = link->back;
    }
    link->next = NULL;
    link->back = NULL;
}

/* Visits each struct chain_link *link. The body may remove `link` itself. */
#define CHAIN_FOREACH(chain, link)                                \
    for (struct chain_link *                                      \
             (link) = (chain)->first,                             \
             *link##_next = (link) != NULL ? (link)->next : NULL; \
         (link) != NULL;                                          \
         (link) = link##_next,                                    \
             link##_next = (link) != NULL ? (link)->next : NULL)

#endif
