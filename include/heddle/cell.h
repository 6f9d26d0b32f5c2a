/* Cells: reading and writing what is in documents.
 * Part of heddle/heddle.h, which is the header to include.
 *
 *   hd_cell *price = NULL;
 *   hd_cell_new(runtime, "cart", "/milk/price", &price, &error);
 *   hd_cell_set_int(price, 12, &error);
 *   hd_cell_get_int(price, &cents, &error);
 *   hd_cell_free(price);
 *
 * A document is a value with a name, in a space. A cell is a place in it. The
 * document need not exist, nor what is at the path.
 *
 * Where a call is made decides what it means:
 *
 *   in a run, a handler or an edit   It is part of that transaction: reads see
 *                                    its writes, and all is committed together
 *                                    or not at all.
 *   in a run or a handler            Reads are up to date: what computes the
 *                                    value runs first, if it has to. Each is
 *                                    remembered, and its change runs the
 *                                    function again.
 *   in a handler or an edit          A read of a computation returns the value
 *                                    that it has with the writes made so far.
 *                                    The computation is called for that read;
 *                                    its result is not stored. HD_GIVEN_UP: it
 *                                    failed, and the text says why.
 *   anywhere else                    A read shows what is there now. A write is
 *                                    a transaction of its own: applied at once,
 *                                    sent with the next step, and tried again
 *                                    if another runtime was faster. Later
 *                                    writes and edits of this runtime take
 *                                    effect after it. If the
 *                                    store refuses it for another reason, the
 *                                    `report` of the runtime is called.
 *
 * Links on the way and at the end are followed; each is a read of its own.
 *
 * HD_STALE inside a run or an edit: this cannot be known now. Return it: the
 * function is called again when it can. */

#ifndef HEDDLE_CELL_H
#define HEDDLE_CELL_H

#ifndef HEDDLE_HEDDLE_H
#error "include <heddle/heddle.h>"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* -- Cells ------------------------------------------------------------------
 */

/* Release with hd_cell_free. */
typedef struct hd_cell hd_cell;

typedef enum hd_scope {
    HD_SCOPE_SPACE = 0,  /* one document for all */
    HD_SCOPE_USER = 1,   /* one for each user, */
    HD_SCOPE_SESSION = 2 /* for each session */
} hd_scope;

/* Where a cell is. */
typedef struct hd_address {
    const char *space; /* NULL: the runtime's first */
    hd_scope scope;
    const char *document; /* not empty, at most 1024 bytes */
    const char *path;     /* a JSON Pointer into the value of the document;
                             NULL or "": all of it */
} hd_address;

/* A cell, new; nothing is read. hd_cell_new is in the first space and in
 * HD_SCOPE_SPACE; `path` may be NULL. HD_ARGUMENT, HD_LIMIT_ID: the names;
 * HD_SYNTAX, HD_LIMIT_PATH: the path; HD_NOT_FOUND: the space is not open. */
HD_API hd_status hd_cell_new(hd_runtime *runtime,
                             const char *document,
                             const char *path,
                             hd_cell **cell,
                             hd_error *error);
HD_API hd_status hd_cell_new_at(hd_runtime *runtime,
                                const hd_address *address,
                                hd_cell **cell,
                                hd_error *error);

/* The clock of a space (NULL: the runtime's first), new: a cell that holds the
 * start of the current interval of `ms` milliseconds, in milliseconds since
 * 1970 by the wall clock. A live node that read it runs again when the next
 * interval begins, which hd_runtime_next_wake knows. It costs nothing while no
 * live node reads it. The document is "clock:" and the number of milliseconds.
 * Also while a pattern is built, and inside a run. HD_ARGUMENT: `ms` is less
 * than 10. HD_READ_ONLY. */
HD_API hd_status hd_cell_clock(hd_runtime *runtime,
                               const char *space,
                               uint64_t ms,
                               hd_cell **cell,
                               hd_error *error);

/* The cell at a JSON Pointer below another one, new. */
HD_API hd_status hd_cell_child(hd_cell *cell,
                               const char *path,
                               hd_cell **child,
                               hd_error *error);

/* The cell that is meant, behind all links; new. Inside a run each link on the
 * way is a read. */
HD_API hd_status hd_cell_resolve(hd_cell *cell,
                                 hd_cell **target,
                                 hd_error *error);

/* "main/cart#/items/0", for people; new (hd_text_free). */
HD_API hd_status hd_cell_text(hd_cell *cell, char **text, hd_error *error);

/* NULL is harmless, and so is one whose runtime is closed. From another thread
 * it does nothing. */
HD_API void hd_cell_free(hd_cell *cell);

/* -- Reading ----------------------------------------------------------------
 */

/* What is there, as a whole; new. HD_NOT_FOUND if there is nothing. */
HD_API hd_status hd_cell_get(hd_cell *cell, hd_value **value, hd_error *error);

/* The same for one type; HD_TYPE if it is another. hd_cell_get_double also
 * takes an integer. The text is new (hd_text_free), with a zero byte behind
 * it; `length` may be NULL. */
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

/* A read that a run does not depend on: its change runs nothing. The commit of
 * the transaction does depend on it. */
HD_API hd_status hd_cell_sample(hd_cell *cell,
                                hd_value **value,
                                hd_error *error);

/* Reads of the shape alone: the keys of an object, as an array of strings,
 * new; how many elements an array has, or keys an object. They see keys and
 * elements come and go, and not what is in them. HD_TYPE for a leaf. */
HD_API hd_status hd_cell_keys(hd_cell *cell, hd_value **keys, hd_error *error);
HD_API hd_status hd_cell_count(hd_cell *cell, size_t *count, hd_error *error);

/* Brings what is there up to date, and reads it, new. What computes it runs
 * now, also if a debounce or a throttle would delay it. Not from inside a run,
 * where every read does that (HD_MISUSE). */
HD_API hd_status hd_cell_pull(hd_cell *cell, hd_value **value, hd_error *error);

/* -- Writing ----------------------------------------------------------------
 */

/* Objects on the way that do not exist are created, and so is the document.
 * HD_TYPE: there is another kind of value on the way. HD_RANGE: the index is
 * beyond the one behind the last. HD_NOT_FOUND: what would have to be created
 * above a number may be an array or an object; set it first.
 * Where the cell holds a link, a link replaces it; any other value goes to its
 * target. A transaction writes to one space (HD_ARGUMENT), unless a handler has
 * opted for more. Of a piece, states, arguments and rows of collections can be
 * written: HD_ARGUMENT says that the cell is the output of a computation, a
 * list or a task, a stream, or the result of a piece. */
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

/* What is not there is not an error. */
HD_API hd_status hd_cell_delete(hd_cell *cell, hd_error *error);

/* Writes that merge with those of others, instead of conflicting with them: at
 * the end of an array, to an array unless it is in there already, out of an
 * array wherever it is, to a number. HD_PATCH_TARGET or HD_TYPE: there is
 * something else. */
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

/* -- Links ------------------------------------------------------------------
 */

/* A link to `target`, as a value to be stored wherever one wants; new. It says
 * everything about where the target is. */
HD_API hd_status hd_cell_link(hd_cell *target,
                              hd_value **link,
                              hd_error *error);

/* Sets `cell` to a link to `target`. Both belong to the same runtime. */
HD_API hd_status hd_cell_set_link(hd_cell *cell,
                                  hd_cell *target,
                                  hd_error *error);

/* -- Schemas --------------------------------------------------------------- */

/* What this runtime writes to the cell, above it or below it has to leave
 * something there that fits the schema: HD_SCHEMA otherwise, with the pointer
 * of the fault, and nothing is written. What is there already, and what others
 * write, is not looked at. No link is followed. With `fills`, what is set at
 * the cell itself is completed with the defaults. `schema` NULL: none any more.
 * HD_SCHEMA_MALFORMED, HD_LIMIT_SCHEMA. docs/schemas.md has the subset of JSON
 * Schema. It holds in this runtime only. The schemas that the pattern of a
 * piece has declared are stored with the piece, and hold without this call. */
HD_API hd_status hd_cell_set_schema(hd_cell *cell,
                                    const hd_value *schema,
                                    bool fills,
                                    hd_error *error);

/* What payloads of a stream have to look like; one that does not fit ends its
 * event as failed, with HD_SCHEMA, before the handler is called. One that a
 * handler sends, or that is queued, is refused when it is sent. */
HD_API hd_status hd_cell_set_payload_schema(hd_cell *stream,
                                            const hd_value *schema,
                                            bool fills,
                                            hd_error *error);

/* -- Labels ---------------------------------------------------------------- */

/* Says how confidential what is at the cell is: an array of words, in place of
 * what was said before; a write like any other. What a run or a handler has
 * read under a label, or was made to run by, labels what it writes; an effect
 * that has no clearance for a label does not see it (HD_CLEARANCE).
 * HD_NOT_FOUND: there is no document. No link is followed. */
HD_API hd_status hd_cell_set_labels(hd_cell *cell,
                                    const hd_value *labels,
                                    hd_error *error);

/* All that are on what is at the cell: an array of words, sorted, new. */
HD_API hd_status hd_cell_labels(hd_cell *cell,
                                hd_value **labels,
                                hd_error *error);

/* -- Edits ------------------------------------------------------------------
 */

/* What an edit does. It may be called more than once, and does nothing that
 * cannot be done again. Anything other than HD_OK gives the attempt up. */
typedef hd_status hd_edit_fn(hd_runtime *runtime, void *context);

/* A transaction from outside: everything that `edit` does with cells, or
 * nothing of it. It is called again if what it read has changed meanwhile.
 * HD_OK after the store has accepted it: it is on disk. What `edit` returned,
 * if that was no success; what the store said, if it refused; HD_NOT_CONVERGED
 * after repeated conflicts; HD_TIMEOUT, and error->may_have_happened, if
 * the store did not answer. HD_MISUSE from inside a run or an edit. */
HD_API hd_status hd_runtime_edit(hd_runtime *runtime,
                                 hd_edit_fn *edit,
                                 void *context,
                                 hd_error *error);

#ifdef __cplusplus
}
#endif

#endif
