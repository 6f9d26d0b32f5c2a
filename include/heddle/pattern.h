/* Patterns and pieces: named graphs that persist across restarts. Part of
 * heddle/heddle.h, which is the header to include.
 *
 *   static hd_status build(hd_builder *builder, void *context)
 *   {
 *       hd_build_state(builder, "count", zero, &count, &error);
 *       hd_build_computed(builder, "twice", &twice, &double_of, &error);
 *       hd_build_result(builder, "twice", double_of, &error);
 *   }
 *   hd_pattern_new("counter", "1", build, NULL, NULL, &pattern, &error);
 *   hd_piece_start(runtime, pattern, "my-counter", NULL, &piece, &error);
 *   hd_piece_get(piece, "/twice", &value, &error);
 *
 * A pattern is a function that declares a graph: documents, computations,
 * handlers, children and a result. A piece is an instance of a pattern. Its
 * documents are named after the piece, so a piece that is started again finds
 * its data, and computations that are still valid do not run again. */

#ifndef HEDDLE_PATTERN_H
#define HEDDLE_PATTERN_H

#ifndef HEDDLE_HEDDLE_H
#error "include <heddle/heddle.h>"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* -- Patterns ------------------------------------------------------------- */

/* Release with hd_pattern_free. Belongs to the thread that created it. */
typedef struct hd_pattern hd_pattern;

/* Collects the declarations of a pattern. Borrowed for the call. */
typedef struct hd_builder hd_builder;

/* Declares the graph. It must not read or write cells. It may be called again
 * at any time and must then declare the same names. Any result but HD_OK fails
 * the start of the piece, and nothing that it declared is stored. */
typedef hd_status hd_build_fn(hd_builder *builder, void *context);

/* Creates a pattern, new. `version` identifies what its functions compute:
 * change it when they change, and their outputs are recomputed. NULL: recompute
 * at every start. `release` may be NULL. */
HD_API hd_status hd_pattern_new(const char *name,
                                const char *version,
                                hd_build_fn *build,
                                void *context,
                                void (*release)(void *context),
                                hd_pattern **pattern,
                                hd_error *error);

/* Registers the pattern under its name, replacing an earlier one. Needed for
 * pieces that are started by name alone and for pieces that handlers launch. */
HD_API hd_status hd_runtime_add_pattern(hd_runtime *runtime,
                                        hd_pattern *pattern,
                                        hd_error *error);

/* Releases the pattern; its pieces continue. NULL is allowed. Does nothing when
 * called from another thread. */
HD_API void hd_pattern_free(hd_pattern *pattern);

/* -- Building ------------------------------------------------------------- */

/* Names are unique within a piece, not empty, and contain no '/' (HD_ARGUMENT).
 * The returned cells are borrowed: they remain valid for as long as a function
 * that this call of the build function has declared can be called, and may be
 * kept in its context. Pass NULL for a cell that is not needed. */

/* Declares the schema of the state, argument or stream that is declared under
 * `name` after this call. The schema is stored with the piece and applies in
 * every process (docs/schemas.md, "Schemas in patterns"). A write that does not
 * match is refused with HD_SCHEMA; defaults are filled in. HD_SCHEMA_MALFORMED
 * or HD_LIMIT_SCHEMA for an invalid schema; HD_ARGUMENT if the name is already
 * declared. If nothing is declared under the name, the start fails with
 * HD_ARGUMENT. */
HD_API hd_status hd_build_schema(hd_builder *builder,
                                 const char *name,
                                 const hd_value *schema,
                                 hd_error *error);

/* Declares a state: a document of the piece. `initial` is written if the piece
 * does not have the document yet; it may be NULL. */
HD_API hd_status hd_build_state(hd_builder *builder,
                                const char *name,
                                const hd_value *initial,
                                hd_cell **cell,
                                hd_error *error);

/* Declares a state of another scope: each user or each session has a document
 * of its own. `initial` is written when the piece is first started for that
 * user. A write to the user's document before that start replaces `initial`, so
 * start the piece first. Values computed from it also belong to the user
 * (docs/pieces.md, "Scopes"). */
HD_API hd_status hd_build_state_scoped(hd_builder *builder,
                                       const char *name,
                                       hd_scope scope,
                                       const hd_value *initial,
                                       hd_cell **cell,
                                       hd_error *error);

/* Declares an argument: the value or link that was passed when the piece was
 * started; otherwise `initial`, which may be NULL. */
HD_API hd_status hd_build_argument(hd_builder *builder,
                                   const char *name,
                                   const hd_value *initial,
                                   hd_cell **cell,
                                   hd_error *error);

/* Declare a computation, whose output is what it passes to hd_run_return, and
 * an effect. The name in the options is ignored. `writes` lists other cells
 * that a computation writes. */
HD_API hd_status hd_build_computed(hd_builder *builder,
                                   const char *name,
                                   const hd_node_options *options,
                                   hd_cell **output,
                                   hd_error *error);
HD_API hd_status hd_build_effect(hd_builder *builder,
                                 const char *name,
                                 const hd_node_options *options,
                                 hd_error *error);

/* Declares a stream of that name and its handler. `replace` is ignored. */
HD_API hd_status hd_build_handler(hd_builder *builder,
                                  const char *name,
                                  const hd_handler_options *options,
                                  hd_cell **stream,
                                  hd_error *error);

/* -- Building: migrations */

/* Declares a migration of the piece's data to `version`, which is 2 or more. A
 * piece begins with version 1; a new piece gets the highest version for which
 * its pattern has a migration. When a piece is started, the migrations above
 * its version are called in order, before any other of its functions. They
 * commit in one transaction with the new version: once, all or none. Any result
 * but HD_OK fails the start and leaves the piece unchanged.
 *
 * The function reads and writes cells of states and arguments. It may be called
 * again if another process committed first. It must not send (HD_MISUSE).
 * `release` may be NULL. */
HD_API hd_status hd_build_migration(hd_builder *builder,
                                    uint32_t version,
                                    hd_run_fn *run,
                                    void *context,
                                    void (*release)(void *context),
                                    hd_error *error);

/* For migrations. hd_run_former returns the value of a state or argument by its
 * former name, new; HD_NOT_FOUND if there is none. hd_run_drop removes one that
 * the pattern no longer declares; HD_ARGUMENT if it still does. */
HD_API hd_status hd_run_former(hd_run *run,
                               const char *name,
                               hd_value **value,
                               hd_error *error);
HD_API hd_status hd_run_drop(hd_run *run, const char *name, hd_error *error);

/* -- Building: lists and conditions */

/* Computes the output for one element of a list, with hd_run_return. `element`
 * is borrowed for the call; reading it follows a link. */
typedef hd_status hd_element_fn(hd_run *run, hd_cell *element, void *context);

typedef struct hd_list_options {
    hd_cell *list; /* an array or a link to one; no value: an empty array */
    hd_element_fn *run;
    void *context;
    void (*release)(void *context); /* as in hd_node_options */
} hd_list_options;

/* Declare one child node per element of a list. An element is identified by its
 * link target or by its value, not by its position: a move runs nothing, an
 * edit runs one child, and a deletion removes its child. The output is an array
 * of links. hd_build_map links to what the function returned for each element.
 * hd_build_filter links to the elements for which it returned anything but
 * false, null or no value. hd_build_flat_map concatenates the returned arrays.
 */
HD_API hd_status hd_build_map(hd_builder *builder,
                              const char *name,
                              const hd_list_options *options,
                              hd_cell **output,
                              hd_error *error);
HD_API hd_status hd_build_filter(hd_builder *builder,
                                 const char *name,
                                 const hd_list_options *options,
                                 hd_cell **output,
                                 hd_error *error);
HD_API hd_status hd_build_flat_map(hd_builder *builder,
                                   const char *name,
                                   const hd_list_options *options,
                                   hd_cell **output,
                                   hd_error *error);

/* Declares the piece of one element of a list. Names are unique per element.
 * Everything except scoped states can be declared, including child pieces and
 * lists. `element` and the borrowed cells are for the functions declared here
 * to read, as in a pattern. The output for the element is the object of its
 * results (hd_build_result). */
typedef hd_status hd_element_build_fn(hd_builder *builder,
                                      hd_cell *element,
                                      void *context);

typedef struct hd_pieces_options {
    hd_cell *list; /* as in hd_list_options */

    /* The field that identifies an object, so that it remains the same element
     * when it is edited; NULL: elements are identified as for hd_build_map. */
    const char *key;
    hd_element_build_fn *build;
    void *context;
    void (*release)(void *context); /* as in hd_node_options */
} hd_pieces_options;

/* Declares one piece per element. The commit that adds the element to the
 * output creates its piece. The piece and its states remain while the element
 * is in the list, wherever it moves. The piece is removed with the element, in
 * one commit. Its address is PIECE/NAME/KEY, where KEY is a number that the
 * list assigns once (docs/lists.md). The output is an array of links to the
 * results. The function is called once per element, and again when the piece is
 * started; it must declare the same for each element. */
HD_API hd_status hd_build_map_pieces(hd_builder *builder,
                                     const char *name,
                                     const hd_pieces_options *options,
                                     hd_cell **output,
                                     hd_error *error);

/* Computes the next value of the accumulator, with hd_run_return. Both values
 * are borrowed. */
typedef hd_status hd_reduce_fn(hd_run *run,
                               const hd_value *accumulator,
                               const hd_value *element,
                               void *context);

typedef struct hd_reduce_options {
    hd_cell *list;
    const hd_value *initial;
    hd_reduce_fn *run;
    void *context;
    void (*release)(void *context); /* as in hd_node_options */
} hd_reduce_options;

/* Declares one computation over the whole list. */
HD_API hd_status hd_build_reduce(hd_builder *builder,
                                 const char *name,
                                 const hd_reduce_options *options,
                                 hd_cell **output,
                                 hd_error *error);

/* hd_build_if_else declares a link to one of two cells; hd_build_when declares
 * a link to one cell, or no value. A condition holds unless it is false, null
 * or has no value. The other cell is not in demand, so what computes it does
 * not run. */
HD_API hd_status hd_build_if_else(hd_builder *builder,
                                  const char *name,
                                  hd_cell *condition,
                                  hd_cell *then,
                                  hd_cell *otherwise,
                                  hd_cell **output,
                                  hd_error *error);
HD_API hd_status hd_build_when(hd_builder *builder,
                               const char *name,
                               hd_cell *condition,
                               hd_cell *then,
                               hd_cell **output,
                               hd_error *error);

/* -- Building: tasks */

/* A task: work that the program does outside the runtime and that finishes
 * later. Release with hd_task_free.
 *
 * These functions must be called in the thread of the runtime. If another
 * thread does the work, the program passes the result to the runtime's thread
 * and wakes it with hd_interrupt or through its event loop. */
typedef struct hd_task hd_task;

/* Starts the work without waiting for it. `input` is borrowed; links in it are
 * replaced by their values. The program owns the task until hd_task_free, even
 * after the runtime has ended. The function may finish the task at once. */
typedef void hd_task_fn(hd_task *task, const hd_value *input, void *context);

/* The task is cancelled: its input has changed, the piece is stopped, or the
 * runtime is closed. Called once. The function may release the task. */
typedef void hd_task_cancelled_fn(hd_task *task, void *context);

typedef struct hd_task_options {
    hd_cell *input;
    hd_task_fn *start;
    hd_task_cancelled_fn *cancelled; /* may be NULL */
    void *context;
    void (*release)(void *context); /* as in hd_node_options */
    uint32_t retries;               /* by hd_task_retry, at most 100 */
    uint32_t backoff_ms;     /* the first delay (0: 500); doubles each time, */
    uint32_t backoff_max_ms; /* up to this delay (0: 30000) */
} hd_task_options;

/* Declares a task. A step starts it when its output is in demand and its input
 * has a value, after "running" is committed. The output is one of
 *
 *   {"state": "idle"}     while the input has no value
 *   {"state": "running", "input": <digest of the input>}
 *   {"state": "done",    "input": ..., "value": ..., "attempts": 1}
 *   {"state": "failed",  "input": ..., "error": {"code": ..., "text": ...},
 *    "attempts": 1}
 *
 * "done" and "failed" remain until the input changes; across restarts, if the
 * pattern has a version. A task that was running when the process ended is
 * started again: the work is done at least once. Of several processes on a data
 * directory, one does the work; if it ends, another takes over. */
HD_API hd_status hd_build_task(hd_builder *builder,
                               const char *name,
                               const hd_task_options *options,
                               hd_cell **output,
                               hd_error *error);

/* Finish a task: with its value (NULL means null), or with the reason for its
 * failure, where `text` is a sentence or NULL. The outcome is written in a
 * transaction of its own. If the task has been cancelled, the outcome is
 * discarded, and the result is HD_OK. HD_CLOSED: the task or the runtime has
 * already ended. HD_ARGUMENT: hd_task_fail with HD_OK or an unknown status.
 * HD_MISUSE: called from inside a run, an edit, or a callback other than
 * `start`. */
HD_API hd_status hd_task_finish(hd_task *task,
                                const hd_value *value,
                                hd_error *error);
HD_API hd_status hd_task_fail(hd_task *task,
                              hd_status status,
                              const char *text,
                              hd_error *error);

/* Ends an attempt that failed and can be retried. `start` is called again with
 * a new handle, after the backoff and after at least `after_ms`. After
 * `retries` retries, the task fails. This handle has then ended. Otherwise like
 * hd_task_fail. */
HD_API hd_status hd_task_retry(hd_task *task,
                               hd_status status,
                               const char *text,
                               uint32_t after_ms,
                               hd_error *error);

/* Returns the idempotency key of the work, new (hd_text_free): 43 letters,
 * digits, '-' and '_'. It is derived from the piece, the task and the input, so
 * it is the same in each attempt and after each restart. */
HD_API hd_status hd_task_key(hd_task *task, char **key);

/* Set and return a pointer of the program; initially NULL. Available until the
 * task is released. */
HD_API hd_status hd_task_set_user(hd_task *task, void *user);
HD_API hd_status hd_task_user(hd_task *task, void **user);

/* Releases a task. A task that has neither ended nor been cancelled fails with
 * HD_GIVEN_UP. NULL is allowed. Does nothing when called from another thread,
 * or where hd_task_fail would return HD_MISUSE. */
HD_API void hd_task_free(hd_task *task);

/* -- Building: children and the result */

/* Declares a child piece, which is created and removed with its parent. `name`
 * NULL: the name of the pattern with a number. `arguments` is an object of
 * values and links, or NULL. */
HD_API hd_status hd_build_piece(hd_builder *builder,
                                const char *name,
                                hd_pattern *pattern,
                                const hd_value *arguments,
                                hd_cell **result,
                                hd_error *error);

/* Declare a child piece in another space of the runtime's directory; the space
 * is created if it does not exist. The child is a piece of its own there, named
 * after its parent and `name` ("board~clock"). It is created when the commit
 * that starts its parent has landed, or at a later start of the parent; until
 * then the parent is HD_PIECE_LOADING. `result` is read through a link. `space`
 * NULL means the space of the piece. If the child cannot be started, the
 * runtime reports it: HD_ARGUMENT if a piece of that name exists there and is
 * not a child of this piece. HD_ARGUMENT: the name of the space is invalid, or
 * the piece is on a branch or an element of a list. */
HD_API hd_status hd_build_piece_in(hd_builder *builder,
                                   const char *space,
                                   const char *name,
                                   hd_pattern *pattern,
                                   const hd_value *arguments,
                                   hd_cell **result,
                                   hd_error *error);

/* Declare a field of the result: a link to a cell, or a value. */
HD_API hd_status hd_build_result(hd_builder *builder,
                                 const char *key,
                                 hd_cell *cell,
                                 hd_error *error);
HD_API hd_status hd_build_result_value(hd_builder *builder,
                                       const char *key,
                                       const hd_value *value,
                                       hd_error *error);

/* -- Pieces --------------------------------------------------------------- */

/* A piece. Release the handle with hd_piece_free; the piece runs until it is
 * stopped or the runtime ends. */
typedef struct hd_piece hd_piece;

/* Every field may be zero. */
typedef struct hd_piece_options {
    const char *space;         /* NULL: the runtime's first */
    const hd_value *arguments; /* an object of values and links; NULL: its
                                  stored arguments, or none */
    bool must_exist;           /* do not create the piece */
    bool fresh;                /* ignore stored runs: all computations run */
    bool replace;              /* also if the piece has a pattern of another
                                  name, otherwise HD_ARGUMENT; data that the
                                  new pattern does not declare is hidden */
} hd_piece_options;

/* Starts a new piece, or resumes the stored piece of that name. `pattern` NULL:
 * the pattern that it was started with, which must have been added. `options`
 * and `piece` may be NULL. The piece first loads its result; hd_piece_look
 * returns its state. HD_ARGUMENT: the name is invalid, or a piece of that name
 * is already started. */
HD_API hd_status hd_piece_start(hd_runtime *runtime,
                                hd_pattern *pattern,
                                const char *name,
                                const hd_piece_options *options,
                                hd_piece **piece,
                                hd_error *error);

typedef enum hd_piece_state {
    HD_PIECE_LOADING = 1, /* keep stepping */
    HD_PIECE_RUNNING = 2,
    HD_PIECE_FAILED = 3, /* it did not start; the error says why */
    HD_PIECE_STOPPED = 4,
    HD_PIECE_REMOVING = 5 /* its documents are loaded to be deleted: keep
                             stepping */
} hd_piece_state;

/* Returns the state. `error` gets the reason of a failure and is cleared
 * otherwise. */
HD_API hd_status hd_piece_look(hd_piece *piece,
                               hd_piece_state *state,
                               hd_error *error);

/* Returns a started piece by name, new. `space` NULL: the runtime's first.
 * HD_NOT_FOUND. */
HD_API hd_status hd_piece_find(hd_runtime *runtime,
                               const char *space,
                               const char *name,
                               hd_piece **piece,
                               hd_error *error);

/* Returns the names of all pieces of a space that are not children, started or
 * not, as a new array of strings. */
HD_API hd_status hd_runtime_pieces(hd_runtime *runtime,
                                   const char *space,
                                   hd_value **names,
                                   hd_error *error);

/* Return the cell at a JSON Pointer in the result, with links followed, or its
 * value, brought up to date; both new. HD_NOT_FOUND. HD_MISUSE from inside a
 * run. */
HD_API hd_status hd_piece_cell(hd_piece *piece,
                               const char *path,
                               hd_cell **cell,
                               hd_error *error);
HD_API hd_status hd_piece_get(hd_piece *piece,
                              const char *path,
                              hd_value **value,
                              hd_error *error);

/* Sends to a stream of the piece, by the name of the stream or of its field in
 * the result. Otherwise like hd_cell_send. */
HD_API hd_status hd_piece_send(hd_piece *piece,
                               const char *stream,
                               const hd_value *payload,
                               const hd_send_options *options,
                               hd_ticket **ticket,
                               hd_error *error);

/* Returns the node of that name, new; HD_NOT_FOUND. */
HD_API hd_status hd_piece_node(hd_piece *piece,
                               const char *name,
                               hd_node **node,
                               hd_error *error);

/* Stops the piece: its nodes and handlers are removed, and its data remains for
 * the next start. HD_MISUSE from inside a run. HD_CLOSED if it is already
 * stopped. */
HD_API hd_status hd_piece_stop(hd_piece *piece, hd_error *error);

/* Stops the piece and deletes its documents, in one transaction, when they have
 * been loaded; until then its state is HD_PIECE_REMOVING. The pieces that it
 * launched are removed with it. */
HD_API hd_status hd_piece_remove(hd_piece *piece, hd_error *error);

/* Releases the handle, not the piece. NULL is allowed. Does nothing when called
 * from another thread. */
HD_API void hd_piece_free(hd_piece *piece);

/* Launches a piece from inside a handler that a pattern has built. The commit
 * of this attempt creates the piece. `link` is a link to its result, new, for
 * the receipt. The pattern must have been added to the runtime. */
HD_API hd_status hd_run_launch(hd_run *run,
                               hd_pattern *pattern,
                               const hd_value *arguments,
                               hd_value **link,
                               hd_error *error);

/* A zero field means none or the default. */
typedef struct hd_launch_options {
    const char *name;  /* NULL: one of the piece and the event */
    const char *space; /* NULL: that of the handler's piece */
} hd_launch_options;

/* The same, with a name, or in another space (hd_build_piece_in). HD_ARGUMENT:
 * a piece of that name exists. HD_STALE: this is not known yet; the handler is
 * called again. */
HD_API hd_status hd_run_launch_with(hd_run *run,
                                    hd_pattern *pattern,
                                    const hd_value *arguments,
                                    const hd_launch_options *options,
                                    hd_value **link,
                                    hd_error *error);

#ifdef __cplusplus
}
#endif

#endif
