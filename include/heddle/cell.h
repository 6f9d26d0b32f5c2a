/* Cells: read and write documents. Part of heddle/heddle.h, which is the header
 * to include.
 *
 *   hd_cell *price = NULL;
 *   hd_cell_new(runtime, "cart", "/milk/price", &price, &error);
 *   hd_cell_set_int(price, 12, &error);
 *   hd_cell_get_int(price, &cents, &error);
 *   hd_cell_free(price);
 *
 * A document is a named value in a space. A cell refers to a path in a
 * document. Neither the document nor the path needs to exist.
 *
 * What a call means depends on where it is made:
 *
 *   outside            A read returns the current value. A write is a
 *                      transaction of its own: it takes effect at once, is sent
 *                      with the next step, and is retried if another runtime
 *                      committed first. Writes and edits of one runtime take
 *                      effect in order. If the store refuses a write for
 * another reason, the runtime's `report` hook is called. in a run, a        The
 * call is part of that transaction: reads see its handler or an      writes,
 * and all its writes commit together or not at edit               all. in a run
 * or        Reads are up to date: a stale computation runs before a handler its
 * output is read. The run depends on what it read: a change of it runs the
 * function again. in a handler       Reading a computation returns its value
 * with the writes or an edit         made so far. The computation is called for
 * that read, and its result is not stored. HD_GIVEN_UP: it failed; the text
 * says why.
 *
 * Links on the path and at its end are followed; each is a read of its own.
 *
 * HD_STALE in a run or an edit means that the value is not available yet.
 * Return it: the function is called again when the value is available. */

#ifndef HEDDLE_CELL_H
#define HEDDLE_CELL_H

#ifndef HEDDLE_HEDDLE_H
#error "include <heddle/heddle.h>"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* -- Cells ---------------------------------------------------------------- */

/* Release with hd_cell_free. */
typedef struct hd_cell hd_cell;

typedef enum hd_scope {
    HD_SCOPE_SPACE = 0,  /* one document per space */
    HD_SCOPE_USER = 1,   /* one per user */
    HD_SCOPE_SESSION = 2 /* one per session */
} hd_scope;

/* The address of a cell. */
typedef struct hd_address {
    const char *space; /* NULL: the runtime's first */
    hd_scope scope;
    const char *document; /* not empty, at most 1024 bytes */
    const char *path;     /* a JSON Pointer into the document's value; NULL or
                             "": all of it */
} hd_address;

/* Create a cell; nothing is read. hd_cell_new refers to the first space and
 * HD_SCOPE_SPACE; `path` may be NULL. The cell is new. HD_ARGUMENT or
 * HD_LIMIT_ID for an invalid name, HD_SYNTAX or HD_LIMIT_PATH for an invalid
 * path, HD_NOT_FOUND if the space is not open. */
HD_API hd_status hd_cell_new(hd_runtime *runtime,
                             const char *document,
                             const char *path,
                             hd_cell **cell,
                             hd_error *error);
HD_API hd_status hd_cell_new_at(hd_runtime *runtime,
                                const hd_address *address,
                                hd_cell **cell,
                                hd_error *error);

/* Creates a cell for the clock of a space (NULL: the runtime's first). It holds
 * the start of the current interval of `ms` milliseconds, in milliseconds since
 * 1970 by the wall clock. A live node that read it runs again when the next
 * interval begins; hd_runtime_next_wake accounts for that. The clock costs
 * nothing while no live node reads it. Its document is named "clock:" and the
 * number of milliseconds. It may also be called in a build function and in a
 * run. The cell is new. HD_ARGUMENT if `ms` is less than 10; HD_READ_ONLY. */
HD_API hd_status hd_cell_clock(hd_runtime *runtime,
                               const char *space,
                               uint64_t ms,
                               hd_cell **cell,
                               hd_error *error);

/* Creates a cell at a JSON Pointer below `cell`. The child is new. */
HD_API hd_status hd_cell_child(hd_cell *cell,
                               const char *path,
                               hd_cell **child,
                               hd_error *error);

/* Follows all links and returns the cell that they lead to, new. Inside a run
 * each link on the path is a read. */
HD_API hd_status hd_cell_resolve(hd_cell *cell,
                                 hd_cell **target,
                                 hd_error *error);

/* Returns the address as text, such as "main/cart#/items/0", for people; new
 * (hd_text_free). */
HD_API hd_status hd_cell_text(hd_cell *cell, char **text, hd_error *error);

/* Releases a cell. NULL is allowed, and so is a cell of a closed runtime. Does
 * nothing when called from another thread. */
HD_API void hd_cell_free(hd_cell *cell);

/* -- Reading -------------------------------------------------------------- */

/* Returns the whole value, new. HD_NOT_FOUND if there is none. */
HD_API hd_status hd_cell_get(hd_cell *cell, hd_value **value, hd_error *error);

/* Return a value of one type; HD_TYPE if it has another. hd_cell_get_double
 * also accepts an integer. The text is new (hd_text_free) and followed by a
 * zero byte; `length` may be NULL. */
HD_API hd_status hd_cell_get_bool(hd_cell *cell,
                                  bool *boolean,
                                  hd_error *error);
HD_API hd_status hd_cell_get_int(hd_cell *cell,
                                 int64_t *integer,
                                 hd_error *error);
HD_API hd_status hd_cell_get_double(hd_cell *cell,
                                    double *number,
                                    hd_error *error);
HD_API hd_status hd_cell_get_text(hd_cell *cell,
                                  char **text,
                                  size_t *length,
                                  hd_error *error);

/* Reads without a dependency: a change does not run the node again. The commit
 * of the transaction still conflicts if the value has changed. */
HD_API hd_status hd_cell_sample(hd_cell *cell,
                                hd_value **value,
                                hd_error *error);

/* Read only the shape: the keys of an object, as a new array of strings; or the
 * number of elements of an array or keys of an object. The run depends on keys
 * and elements being added or removed, not on their values. HD_TYPE for a leaf.
 */
HD_API hd_status hd_cell_keys(hd_cell *cell, hd_value **keys, hd_error *error);
HD_API hd_status hd_cell_count(hd_cell *cell, size_t *count, hd_error *error);

/* Brings the value up to date and returns it, new. The computation that
 * produces it runs now, even if a debounce or throttle would delay it.
 * HD_MISUSE from inside a run, where every read does this. */
HD_API hd_status hd_cell_pull(hd_cell *cell, hd_value **value, hd_error *error);

/* -- Writing -------------------------------------------------------------- */

/* Write a value. The document and missing objects on the path are created. If
 * the cell holds a link, writing a link replaces it; any other value is written
 * to its target. A transaction writes to one space, unless its handler sets
 * `several_spaces`.
 *
 * In a piece, only states, arguments and rows of collections can be written.
 * Errors:
 *
 *   HD_TYPE       a value on the path is of another kind
 *   HD_RANGE      the index is more than one past the last element
 *   HD_NOT_FOUND  a key is a number, and its parent does not exist: set the
 *                 parent to an array or an object first
 *   HD_ARGUMENT   a second space; or the cell is the output of a computation,
 *                 a list or a task, a stream, or the result of a piece */
HD_API hd_status hd_cell_set(hd_cell *cell,
                             const hd_value *value,
                             hd_error *error);
HD_API hd_status hd_cell_set_bool(hd_cell *cell, bool boolean, hd_error *error);
HD_API hd_status hd_cell_set_int(hd_cell *cell,
                                 int64_t integer,
                                 hd_error *error);
HD_API hd_status hd_cell_set_double(hd_cell *cell,
                                    double number,
                                    hd_error *error);
HD_API hd_status hd_cell_set_text(hd_cell *cell,
                                  const char *text,
                                  size_t length,
                                  hd_error *error);

/* Deletes the value. Deleting what does not exist is not an error. */
HD_API hd_status hd_cell_delete(hd_cell *cell, hd_error *error);

/* Merge instead of conflicting with concurrent writes. hd_cell_append adds to
 * the end of an array. hd_cell_add_unique adds to an array unless it already
 * contains the value. hd_cell_remove removes the value from an array wherever
 * it is. hd_cell_increment adds to a number. HD_PATCH_TARGET or HD_TYPE if the
 * cell holds another kind of value. */
HD_API hd_status hd_cell_append(hd_cell *cell,
                                const hd_value *value,
                                hd_error *error);
HD_API hd_status hd_cell_add_unique(hd_cell *cell,
                                    const hd_value *value,
                                    hd_error *error);
HD_API hd_status hd_cell_remove(hd_cell *cell,
                                const hd_value *value,
                                hd_error *error);
HD_API hd_status hd_cell_increment(hd_cell *cell, int64_t by, hd_error *error);
HD_API hd_status hd_cell_increment_double(hd_cell *cell,
                                          double by,
                                          hd_error *error);

/* -- Links ---------------------------------------------------------------- */

/* Returns a link to `target` as a value that can be stored anywhere, new. It
 * contains the full address of the target. */
HD_API hd_status hd_cell_link(hd_cell *target,
                              hd_value **link,
                              hd_error *error);

/* Sets `cell` to a link to `target`. Both must belong to the same runtime. */
HD_API hd_status hd_cell_set_link(hd_cell *cell,
                                  hd_cell *target,
                                  hd_error *error);

/* -- Schemas -------------------------------------------------------------- */

/* Requires that every write of this runtime to the cell, above it or below it
 * leaves a value that matches the schema. Otherwise the write fails with
 * HD_SCHEMA and the pointer of the mismatch, and nothing is written. Existing
 * values and writes of other runtimes are not checked. Links are not followed.
 * With `fills`, a value that is set at the cell itself is completed with the
 * schema's defaults. `schema` NULL removes the schema. HD_SCHEMA_MALFORMED,
 * HD_LIMIT_SCHEMA. docs/schemas.md describes the subset of JSON Schema.
 *
 * The schema applies to this runtime only. Schemas that a pattern declares are
 * stored with the piece and apply without this call. */
HD_API hd_status hd_cell_set_schema(hd_cell *cell,
                                    const hd_value *schema,
                                    bool fills,
                                    hd_error *error);

/* Requires that payloads of a stream match a schema. An event whose payload
 * does not match fails with HD_SCHEMA before the handler is called. If a
 * handler sends it, or if it is queued, it is refused when it is sent. */
HD_API hd_status hd_cell_set_payload_schema(hd_cell *stream,
                                            const hd_value *schema,
                                            bool fills,
                                            hd_error *error);

/* -- Labels --------------------------------------------------------------- */

/* Sets the confidentiality labels of a cell: an array of words that replaces
 * the previous labels. This is a write like any other. Everything that a run or
 * a handler writes carries the labels of what it read and of what made it run.
 * An effect without clearance for a label cannot read the data (HD_CLEARANCE).
 * HD_NOT_FOUND if the document does not exist. Links are not followed. */
HD_API hd_status hd_cell_set_labels(hd_cell *cell,
                                    const hd_value *labels,
                                    hd_error *error);

/* Returns all labels of the cell's value: a sorted array of words, new. */
HD_API hd_status hd_cell_labels(hd_cell *cell,
                                hd_value **labels,
                                hd_error *error);

/* -- Edits ---------------------------------------------------------------- */

/* The function of an edit. It may be called more than once, so it must not do
 * anything that cannot be repeated. Any result but HD_OK aborts the attempt. */
typedef hd_status hd_edit_fn(hd_runtime *runtime, void *context);

/* Runs a transaction from outside: everything that `edit` does with cells
 * commits together or not at all. `edit` is called again if another runtime
 * changed what it read. HD_OK means that the store has accepted the commit: it
 * is on disk. Otherwise:
 *
 *   the result of `edit`, if that was not HD_OK
 *   the error of the store, if it refused the commit
 *   HD_NOT_CONVERGED after repeated conflicts
 *   HD_TIMEOUT with error->may_have_happened, if the store did not answer
 *   HD_MISUSE from inside a run or an edit */
HD_API hd_status hd_runtime_edit(hd_runtime *runtime,
                                 hd_edit_fn *edit,
                                 void *context,
                                 hd_error *error);

#ifdef __cplusplus
}
#endif

#endif
