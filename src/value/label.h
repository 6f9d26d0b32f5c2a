/* Sets of labels: small words for how confidential something is.
 *
 * A label is a string; what it means is the matter of who gives it and of who
 * is cleared for it. A set of them is interned in a table: equal sets are the
 * same pointer, so most joins are a comparison, and joining again what was
 * joined before allocates nothing.
 *
 *   L1  NULL is the empty set. A set lives as long as its table.
 *   L2  What cannot be read as a label (not a string, empty, too long, one more
 *       than LIMIT_LABELS) is the label "unreadable": it is kept, not lost, and
 *       whoever is not cleared for it by that name does not see it. */

#ifndef VALUE_LABEL_H
#define VALUE_LABEL_H

#include "base/map.h"
#include "base/vec.h"
#include "value/value.h"

#define LABEL_UNREADABLE "unreadable"

struct label_set {
    uint64_t hash;
    uint32_t count; /* at least 1 */
    uint32_t ids[]; /* sorted */
};

struct label_table {
    VEC(struct value) names; /* by id; the first one is that of L2 */
    struct map ids;          /* struct label_name by name */
    struct map sets;         /* struct label_set by content */
    VEC(uint32_t) scratch;
};

/* All zero is not a table. */
void label_table_init(struct label_table *table);
void label_table_release(struct label_table *table);

/* The set of an array of strings, or of one string. Absent: the empty one.
 * Anything else: L2. */
const struct label_set *label_set_of(struct label_table *table,
                                     struct value labels);

const struct label_set *label_set_join(struct label_table *table,
                                       const struct label_set *a,
                                       const struct label_set *b);

bool label_set_has(const struct label_set *set, uint32_t id);

/* Whether all of `part` is in `set`; and if not, the name of one that is not,
 * borrowed. `missing` may be NULL. */
bool label_set_covers(const struct label_table *table,
                      const struct label_set *set,
                      const struct label_set *part,
                      struct value *missing);

/* The names, in the order of strings; an array, new. */
struct value label_set_names(const struct label_table *table,
                             const struct label_set *set);

/* Whether a value is a label that can be given. */
bool label_is_valid(struct value label);

#endif
