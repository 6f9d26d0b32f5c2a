/* An ordering of a collection: a B-link tree whose pages are documents.
 *
 * A page is {"entries": {<sort key>: ...}, "fence": {<sort key>: 1}}. Entries
 * of a leaf (level 0) hold the keys of rows; those of an inner page are the
 * lowest sort keys of pages one level below. The fence has the lowest sort key
 * of the next page of the same level, or is empty in the last one.
 *
 *   pages-1  A page has the sort keys from its own lowest one up to its fence.
 *            Its id is derived from its ordering, its level and its lowest sort
 *            key, so a page is found without a stored link. The first page of a
 *            level begins with "".
 *   pages-2  A page that is too full is split: its upper half moves to a new
 *            page, whose lowest sort key becomes its fence. Pages are never
 *            merged or removed, so the lowest sort key of a page never changes.
 *            An empty page stays.
 *   pages-3  A search may begin with a stale page: entries that have moved
 *            since are found behind the fence. So searches are not tracked.
 *   pages-4  A writer tracks the fence of the page to which it writes, for its
 *            commit only: a concurrent split of that page is a conflict, and
 *            another entry of the same page is not.
 *   pages-5  A reader of a range tracks, in each leaf that it visits, the
 *            entries inside the range that it takes, and the fence up to the
 *            end of that range. So it runs again if an entry inside the range
 *            is added, removed, or moved to another page.
 *   pages-6  A page that is not loaded is requested, and the transaction waits
 *            for it (transaction-9 of replica/transaction.h): STALE.
 *
 * Keys of objects are unordered: a search scans all entries of a page. */

#ifndef COLLECTION_PAGES_H
#define COLLECTION_PAGES_H

#include "base/vec.h"
#include "replica/transaction.h"
#include "sched/runner.h"

enum {
    PAGES_ENTRIES_MAX = 1024, /* of a leaf, before it is split; */
    PAGES_INNER_MAX = 16,     /* of an inner page, which a search scans whole */
    PAGES_LEVELS_MAX = 32,
};

/* The transaction and the run of an access. */
struct collection_access {
    struct transaction *transaction;
    struct run *run; /* or NULL */
};

/* The value at a place of a document of a collection, new, including writes of
 * the transaction, untracked. pages-6 if it is not loaded. */
MUST_CHECK enum err pages_look(const struct collection_access *access,
                               struct place *place,
                               struct value *out);

/* Tracks such a place. What only the transaction itself has set is not a read.
 */
void pages_track(const struct collection_access *access,
                 struct place *place,
                 enum read_kind kind,
                 unsigned flags);

struct pages {
    struct space *space;
    struct value front;   /* of the ids of its pages: a string */
    struct place *height; /* of the number of levels, less one; a
                             reference */
    uint32_t entries_max;
};

/* A field of "collection" in the root; new. */
struct place *pages_place_in_root(struct entity *root, const char *name);

/* "heights" in the root has an entry for the name of the ordering. */
void pages_init(struct pages *pages, struct entity *root, struct value name);
void pages_release(struct pages *pages);

/* Creates the first page of an ordering. */
MUST_CHECK enum err pages_create(struct pages *pages,
                                 struct transaction *transaction,
                                 struct err_detail *detail);

/* Adds an entry; adopts nothing. And removes one. */
MUST_CHECK enum err pages_put(struct pages *pages,
                              const struct collection_access *access,
                              struct value sort_key,
                              struct value row_key,
                              struct err_detail *detail);
MUST_CHECK enum err pages_remove(struct pages *pages,
                                 const struct collection_access *access,
                                 struct value sort_key,
                                 struct err_detail *detail);

/* Whether there is such an entry: a read for the commit. */
MUST_CHECK enum err pages_has(struct pages *pages,
                              const struct collection_access *access,
                              struct value sort_key,
                              bool *has,
                              struct err_detail *detail);

/* The entries between two sort keys, both included. */
struct pages_range {
    struct value from; /* strings; absent: from the beginning, */
    struct value to;   /* to the end */
    uint64_t limit;    /* 0: none */
    bool reverse;      /* from the end */
    bool count_only;   /* `found` stays empty */
};

struct pages_found {
    VEC(struct value) row_keys; /* references */
    uint64_t count;
};
void pages_found_release(struct pages_found *found);

/* STALE: a page is not loaded; the pages behind it are requested with it, and
 * `found` has the entries before it (pages-6). */
MUST_CHECK enum err pages_find(struct pages *pages,
                               const struct collection_access *access,
                               const struct pages_range *range,
                               struct pages_found *found,
                               struct err_detail *detail);

/* All loaded pages, in any order. Whether these are all; missing ones are
 * requested. For the removal of a collection. */
bool pages_visit(struct pages *pages,
                 void (*visit)(void *ctx, struct entity *page, bool is_leaf),
                 void *ctx);

#endif
