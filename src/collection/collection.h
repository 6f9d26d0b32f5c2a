/* Collections: rows by key, in one or several orders.
 *
 * Each row is a document. The document of the collection, its root, is
 *
 *   {"value": {"count": 2},
 *    "collection": {"definition": {"key": "id", "index": {"by_age": ["age"]},
 *                                  "schema": ...},
 *                   "heights": {"": 0, "by_age": 0}}}
 *
 * and each ordering, that of the keys ("") and each index, is a tree of pages
 * (collection/pages.h).
 *
 *   collection-1  The root is the authority: each runtime maintains the
 *                 orderings by the definition that is stored there, whether or
 *                 not it knows the pattern.
 *   collection-2  The id of a row is derived from the id of the root and the
 *                 key of the row: root "//row/" key. So a row is found without
 *                 an index, and a link to it stays valid.
 *   collection-3  Every write to the document of a row is in one transaction
 *                 with the resulting changes to the orderings and the count. An
 *                 invalid row is refused before anything is written.
 *   collection-4  The ordering of the keys decides whether a row exists: a new
 *                 row is written without being loaded.
 *   collection-5  A commit that changes orderings depends on the definition, on
 *                 the existence of the row, and on the fields of the row that
 *                 indexes use, and on nothing else of the row.
 *   collection-6  If a write needs a document that is not loaded, the
 *                 transaction waits for it (transaction-9 of
 *                 replica/transaction.h), and the call returns OK: it is
 *                 repeated.
 *
 * A field that a row does not have counts as null in an index. */

#ifndef COLLECTION_COLLECTION_H
#define COLLECTION_COLLECTION_H

#include "base/map.h"
#include "collection/pages.h"
#include "collection/part_id.h"
#include "value/schema.h"

enum {
    COLLECTION_FIELD_BYTES_MAX = 1024, /* of a text in an index */
    COLLECTION_INDEXES_MAX = 16,
    COLLECTION_INDEX_FIELDS_MAX = 8,
    COLLECTION_INDEX_NAME_BYTES_MAX = 64,
};

/* An ordering: the first one is that of the keys. */
struct ordering {
    struct value name;        /* "" for the keys */
    VEC(struct value) fields; /* names; of the keys, the key field */
    struct pages pages;
};

struct collection {
    struct place *root;      /* the payload of its document; a reference */
    struct value definition; /* the source of the rest; or absent */
    struct value key;        /* the name of the key field */
    VEC(struct ordering) orderings;
    struct schema *schema; /* of a row; or NULL */
    uint32_t entries_max;  /* of a page; 0: PAGES_ENTRIES_MAX */
};

/* The collections of a runtime, by root. All zero is empty. */
struct collections {
    struct map by_root;
};

void collections_release(struct collections *collections);

/* The collection with that root, the payload of a document; created on demand.
 * Borrowed as long as the runtime lives. */
struct collection *collections_of(struct collections *collections,
                                  struct place *root);

/* Whether a document is the root of a collection. */
bool collection_is_root(const struct entity *entity);

/* Whether an id is that of a row; and the collection of a row, NULL if its id
 * is not one. */
bool collection_is_row(struct value id);
struct collection *collections_of_row(struct collections *collections,
                                      struct entity *row);

/* -- Definitions --------------------------------------------------------- */

/* ARGUMENT, SCHEMA_MALFORMED: what is wrong with the definition of the
 * collection of that name. */
MUST_CHECK enum err collection_check(struct value definition,
                                     struct value name,
                                     struct err_detail *detail);

/* Creates a new collection: its root, and an empty page per ordering. */
MUST_CHECK enum err collection_create(struct collection *collection,
                                      struct transaction *transaction,
                                      struct value definition,
                                      struct err_detail *detail);

/* Changes the definition of an existing collection. Its rows stay, and new
 * indexes are filled. STALE: the transaction waits for documents. ARGUMENT: the
 * definition names a different key. */
MUST_CHECK enum err collection_redefine(struct collection *collection,
                                        struct transaction *transaction,
                                        struct value definition,
                                        struct err_detail *detail);

/* The known documents of pages and rows of the collection with that root.
 * Whether these are all; missing ones are requested. */
bool collection_visit(struct place *root,
                      void (*visit)(void *ctx, struct entity *document),
                      void *ctx);

/* -- Rows ---------------------------------------------------------------- */

/* The document of the row with that key. ARGUMENT: the key is invalid. */
MUST_CHECK enum err collection_row(const struct collection *collection,
                                   struct value key,
                                   struct entity **out,
                                   struct err_detail *detail);

/* All values are borrowed. insert: RECEIPT_EXISTS if the row exists. update:
 * NOT_FOUND if it does not. remove: *existed is whether it did. */
MUST_CHECK enum err collection_insert(struct collection *collection,
                                      const struct collection_access *access,
                                      struct value row,
                                      struct err_detail *detail);
MUST_CHECK enum err collection_put(struct collection *collection,
                                   const struct collection_access *access,
                                   struct value row,
                                   struct err_detail *detail);
MUST_CHECK enum err collection_update(struct collection *collection,
                                      const struct collection_access *access,
                                      struct value key,
                                      struct value fields,
                                      struct err_detail *detail);
MUST_CHECK enum err collection_remove(struct collection *collection,
                                      const struct collection_access *access,
                                      struct value key,
                                      bool *existed,
                                      struct err_detail *detail);

/* Any other write to the document of a row (collection-3). The value is
 * borrowed. */
MUST_CHECK enum err collection_write(struct collection *collection,
                                     const struct collection_access *access,
                                     struct place *place,
                                     enum write_kind kind,
                                     struct value value,
                                     struct err_detail *detail);

/* -- Ranges -------------------------------------------------------------- */

/* A zero field means none. Bounds are arrays of field values. */
struct collection_range {
    struct value index; /* its name; absent: by key */
    struct value from;
    struct value to;
    struct value after; /* excluded; may have the key of a row as one more
                           element than the index has fields */
    uint64_t limit;     /* 0: none */
    bool reverse;
    bool count_only;
};

/* ARGUMENT: an unknown index, an invalid bound. STALE: see pages_find. */
MUST_CHECK enum err collection_find(struct collection *collection,
                                    const struct collection_access *access,
                                    const struct collection_range *range,
                                    struct pages_found *found,
                                    struct err_detail *detail);

/* How many rows there are. */
MUST_CHECK enum err collection_count(struct collection *collection,
                                     const struct collection_access *access,
                                     uint64_t *out,
                                     struct err_detail *detail);

/* The position of a row in an ordering, for `after`: an array, new. */
MUST_CHECK enum err collection_position(struct collection *collection,
                                        const struct collection_access *access,
                                        struct value index,
                                        struct value row,
                                        struct value *out,
                                        struct err_detail *detail);

#endif
