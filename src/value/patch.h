/* Patches: lists of small changes to a document.
 *
 * Nine operations, each one row of a registry (patch_kinds in patch.c): its
 * name, its fields, whether it changes the keys of its parent, and how it is
 * applied. The store, the conflict matcher and the replica all use that row; a
 * new operation is a new row.
 *
 *   op               fields                  what it does
 *   replace          path value              object: sets the key, new or not;
 *                                            array: the index must exist
 *   add              path value              creates missing keys on the way;
 *                                            array: inserts before the index,
 *                                            "-" appends
 *   remove           path                    the key or index must exist
 *   move             from path               remove, then add
 *   splice           path index remove add   in an existing array; `remove` is
 *                                            clipped at its end
 *   append           path values             at the end; creates the array
 *   add-unique       path values             those that are not there yet
 *   remove-by-value  path value              all equal elements; nothing to do
 *                                            is not an error
 *   increment        path by                 absent counts as 0
 *
 * A list is applied in order, each operation to the result of the previous one.
 * A failure anywhere fails the whole list and changes nothing. The base never
 * changes, and untouched parts keep their identity. */

#ifndef VALUE_PATCH_H
#define VALUE_PATCH_H

#include "base/vec.h"
#include "value/difference.h"
#include "value/path.h"

enum patch_kind {
    PATCH_REPLACE,
    PATCH_ADD,
    PATCH_REMOVE,
    PATCH_MOVE,
    PATCH_SPLICE,
    PATCH_APPEND,
    PATCH_ADD_UNIQUE,
    PATCH_REMOVE_BY_VALUE,
    PATCH_INCREMENT,
    PATCH_KIND_COUNT,
};

struct patch_op {
    enum patch_kind kind;
    struct path *path;
    struct path *from;  /* move; otherwise NULL */
    struct value value; /* value, values, add or by; absent where none is */
    uint32_t index;     /* splice */
    uint32_t remove;    /* splice: how many elements */
    bool creates_key;   /* the writer saw nothing at `path` */
};

/* All zero is an empty patch. */
struct patch {
    VEC(struct patch_op) ops;
};

void patch_release(struct patch *patch);

/* Empties it and keeps its memory. */
void patch_clear(struct patch *patch);

/* Adds an operation; adopts the references in it. */
void patch_push_adopt(struct patch *patch, struct patch_op op);

/* From a JSON array of objects. Unknown fields of an operation are ignored.
 * Errors: PATCH_MALFORMED, SYNTAX (a pointer), LIMIT_*; *out is then empty and
 * `detail` names the operation and the field. */
MUST_CHECK enum err patch_read(struct value list,
                               struct path_table *paths,
                               struct patch *out,
                               struct err_detail *detail);

/* The same as a value, and its JSON text. */
struct value patch_write(const struct patch *patch);
void patch_append(struct buf *to, const struct patch *patch);

/* -- Applying ------------------------------------------------------------ */

enum patch_root {
    PATCH_ROOT_ANY,      /* any value */
    PATCH_ROOT_DOCUMENT, /* the result is a plain object, or PATCH_ROOT fails */
};

/* What an operation found when it was applied. The conflict matcher needs more
 * than the operation itself: `add /list/0 x` shifts the elements behind it if
 * /list is an array, and touches nothing else if it is an object. */
struct patch_trace {
    uint32_t created_length; /* of the shortest path that was created, or 0 */
    uint32_t collapsed;      /* 1 and the length of the shortest path at which a
                                container became a leaf (value-4), or 0 */
    bool path_in_array;      /* the parent of `path` is an array */
    bool from_in_array;
};

/* The patched `base` (absent: an empty object). On an error *out is absent.
 * `traces`, if not NULL, has room for one entry per operation. Errors: PATCH_*,
 * RANGE, LIMIT_DEPTH, LIMIT_KEYS, LIMIT_ELEMENTS. */
MUST_CHECK enum err patch_apply(const struct patch *patch,
                                struct value base,
                                enum patch_root root,
                                struct value *out,
                                struct patch_trace *traces,
                                struct err_detail *detail);

/* -- What an operation touches ------------------------------------------- */

enum patch_touch_kind {
    PATCH_TOUCH_VALUE, /* the value at `path`, and so everything below */
    PATCH_TOUCH_KEYS,  /* the key set of the container at `path` */
};

struct patch_touch {
    enum patch_touch_kind kind;
    struct path *path; /* a reference */
};

enum {
    PATCH_TOUCH_MAX = 6
};

/* A deep read at p sees a change iff a VALUE touch overlaps p; a shape read
 * iff a VALUE touch is p or a prefix of p, or a KEYS touch is p. Returns how
 * many. */
size_t patch_touches(const struct patch_op *op,
                     const struct patch_trace *trace,
                     struct patch_touch out[PATCH_TOUCH_MAX]);

/* -- The registry -------------------------------------------------------- */

const char *patch_kind_name(enum patch_kind kind);

/* Changes the keys of the parent at every application. */
bool patch_kind_is_structural(enum patch_kind kind);

/* -- Difference ---------------------------------------------------------- */

/* The operation that repeats one difference of a walk by steps. Its references
 * are owned. */
struct patch_op patch_op_of_difference(const struct difference *difference,
                                       struct path_table *paths);

/* A patch that turns `before` into a value equal to `after`: keys are added and
 * removed, arrays of the same length are changed by index, others by a splice
 * of what differs between their common ends. It never adds or removes by an
 * array index, which would shift unchanged elements. Neither is absent. */
void patch_diff(struct value before,
                struct value after,
                struct path_table *paths,
                struct patch *out);

#endif
