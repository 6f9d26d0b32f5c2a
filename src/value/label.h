/* Sets of labels: short strings that say how confidential data is.
 *
 * The meaning of a label is up to the application. A set of labels is interned
 * in a table: equal sets are the same pointer, so most joins are a comparison,
 * and repeating a join allocates nothing.
 *
 *   label-1  NULL is the empty set. A set lives as long as its table.
 *   label-2  An invalid label (not a string, empty, too long, beyond
 *            LIMIT_LABELS) becomes the label "unreadable": it is kept, not
 *            lost, and a reader without clearance for that name does not see
 *            the data. */

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
    VEC(struct value) names; /* by id; the first is that of label-2 */
    struct map ids;          /* struct label_name by name */
    struct map sets;         /* struct label_set by content */
    VEC(uint32_t) scratch;
};

/* All zero is not a table. */
void label_table_init(struct label_table *table);
void label_table_release(struct label_table *table);

/* The set of an array of strings, or of one string. Absent: the empty set.
 * Anything else: label-2. */
const struct label_set *label_set_of(struct label_table *table,
                                     struct value labels);

const struct label_set *label_set_join(struct label_table *table,
                                       const struct label_set *a,
                                       const struct label_set *b);

bool label_set_has(const struct label_set *set, uint32_t id);

/* Whether `set` contains all of `part`; if not, *missing is the name of one
 * that is missing, borrowed. `missing` may be NULL. */
bool label_set_covers(const struct label_table *table,
                      const struct label_set *set,
                      const struct label_set *part,
                      struct value *missing);

/* The names, sorted as strings; an array, new. */
struct value label_set_names(const struct label_table *table,
                             const struct label_set *set);

/* Whether a value is a valid label. */
bool label_is_valid(struct value label);

#endif
