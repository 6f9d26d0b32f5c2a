/* Patterns and pieces: graphs that are built by name, and outlive the process.
 * Part of heddle/heddle.h, which is the header to include.
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
 * handlers, children, and a result. A piece is an instance of it, with
 * documents of its own that follow from its name. So a piece that is started
 * again after a restart finds what it had, and what is still valid does not
 * run again. */

#ifndef HEDDLE_PATTERN_H
#define HEDDLE_PATTERN_H

#ifndef HEDDLE_HEDDLE_H
#error "include <heddle/heddle.h>"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* -- Patterns ---------------------------------------------------------------
 */

/* Release with hd_pattern_free. Belongs to the thread that made it. */
typedef struct hd_pattern hd_pattern;

/* What a pattern declares its graph with. Borrowed for the call. */
typedef struct hd_builder hd_builder;

/* Declares the graph: reads no cell and writes none. It may be called again at
 * any time, and declares the same under the same names. Anything other than
 * HD_OK fails the start of the piece, and nothing of it stays. */
typedef hd_status hd_build_fn(hd_builder *builder, void *context);

/* A pattern, new. `version` says what its functions do: change it when they do
 * something else, and what they had computed is computed again. NULL: with
 * every start. `release` may be NULL. */
HD_API hd_status hd_pattern_new(const char *name,
                                const char *version,
                                hd_build_fn *build,
                                void *context,
                                void (*release)(void *context),
                                hd_pattern **pattern,
                                hd_error *error);

/* Makes it known under its name, in the place of one before: for pieces that
 * are started by their name alone, and that handlers launch. */
HD_API hd_status hd_runtime_add_pattern(hd_runtime *runtime,
                                        hd_pattern *pattern,
                                        hd_error *error);

/* Pieces of it stay as they are. NULL is harmless. From another thread it does
 * nothing. */
HD_API void hd_pattern_free(hd_pattern *pattern);

/* -- Building ---------------------------------------------------------------
 */

/* A name is unique in its piece, not empty, and has no '/' (HD_ARGUMENT). The
 * cells that come back are borrowed: they are there as long as a function that
 * this call of the build function has declared can be called, and may be kept
 * in its context. They may be NULL if they are not wanted. */

/* What the state, the argument or the stream takes that is declared under that
 * name after this call. The schema is stored with the piece and holds in every
 * process (docs/schemas.md, "Schemas in patterns"): what does not fit is
 * refused with HD_SCHEMA, and defaults are filled in. HD_SCHEMA_MALFORMED,
 * HD_LIMIT_SCHEMA: the schema; HD_ARGUMENT: the name is declared already. If
 * nothing is declared under the name, the start fails with HD_ARGUMENT. */
HD_API hd_status hd_build_schema(hd_builder *builder,
                                 const char *name,
                                 const hd_value *schema,
                                 hd_error *error);

/* A document of the piece; `initial` is written if the piece has not had it
 * before, and may be NULL. */
HD_API hd_status hd_build_state(hd_builder *builder,
                                const char *name,
                                const hd_value *initial,
                                hd_cell **cell,
                                hd_error *error);

/* The same for a document of another scope: each user, or each session, has one
 * of its own, with `initial` in it when the piece is first started for that
 * user. A write to the user's document before that start replaces `initial`:
 * start the piece first. What is computed from it belongs to the user as well
 * (docs/pieces.md, "Scopes"). */
HD_API hd_status hd_build_state_scoped(hd_builder *builder,
                                       const char *name,
                                       hd_scope scope,
                                       const hd_value *initial,
                                       hd_cell **cell,
                                       hd_error *error);

/* An argument: what was given when the piece was started, a value or a link;
 * otherwise `initial`, which may be NULL. */
HD_API hd_status hd_build_argument(hd_builder *builder,
                                   const char *name,
                                   const hd_value *initial,
                                   hd_cell **cell,
                                   hd_error *error);

/* A computation: what it returns by hd_run_return is its output. The name in
 * the options is not used. Static targets beside the output are `writes`. */
HD_API hd_status hd_build_computed(hd_builder *builder,
                                   const char *name,
                                   const hd_node_options *options,
                                   hd_cell **output,
                                   hd_error *error);
HD_API hd_status hd_build_effect(hd_builder *builder,
                                 const char *name,
                                 const hd_node_options *options,
                                 hd_error *error);

/* The handler of the stream of that name. `replace` is not used. */
HD_API hd_status hd_build_handler(hd_builder *builder,
                                  const char *name,
                                  const hd_handler_options *options,
                                  hd_cell **stream,
                                  hd_error *error);

/* -- Building: migrations */

/* Brings the data of a piece from an earlier version to `version`, from 2 on: a
 * piece begins with version 1, and a new one has the highest version that its
 * pattern has a migration to. Those above the version of the piece are called
 * in order when it is started, before any other function of it, in one
 * transaction with the new version: once, all or none. Anything but HD_OK fails
 * the start, and the piece is as it was. The function reads and writes cells of
 * states and arguments, and may be called again if another process was faster.
 * It sends nothing (HD_MISUSE). `release` may be NULL. */
HD_API hd_status hd_build_migration(hd_builder *builder,
                                    uint32_t version,
                                    hd_run_fn *run,
                                    void *context,
                                    void (*release)(void *context),
                                    hd_error *error);

/* In a migration: what a state or an argument held, by the name that it had,
 * new; of a collection, the array of its rows, by key. HD_NOT_FOUND: it held
 * nothing, or there was none. HD_STALE: return it, and the function is called
 * again. And removes one that the pattern no longer declares (HD_ARGUMENT: it
 * does). */
HD_API hd_status hd_run_former(hd_run *run,
                               const char *name,
                               hd_value **value,
                               hd_error *error);
HD_API hd_status hd_run_drop(hd_run *run, const char *name, hd_error *error);

/* -- Building: lists and choices */

/* Computes something from one element of a list; hd_run_return is its output.
 * `element` is borrowed for the call, and reads of it follow a link. */
typedef hd_status hd_element_fn(hd_run *run, hd_cell *element, void *context);

typedef struct hd_list_options {
    hd_cell *list; /* an array, behind links; nothing is an empty one */
    hd_element_fn *run;
    void *context;
    void (*release)(void *context); /* as for nodes */
} hd_list_options;

/* One child an element. An element is the same as before if it is a link to the
 * same target, or has the same value, wherever it is now: a move runs nothing,
 * an edit runs one child, a deletion takes its child away. What comes out is an
 * array of links: of map to what the function returned for each element, of
 * filter to the elements for which that was neither false nor null nor
 * nothing; flat_map puts the arrays that it returned one behind the other. */
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

/* Declares what belongs to one element of a list. The builder is that of the
 * element: names are unique per element, and everything can be declared, child
 * pieces and other lists included, but states with a scope. `element` and what
 * is lent here belong to the functions that are declared here, as in a pattern,
 * and are read by them. What the list has for the element is the object of its
 * results (hd_build_result). */
typedef hd_status hd_element_build_fn(hd_builder *builder,
                                      hd_cell *element,
                                      void *context);

typedef struct hd_pieces_options {
    hd_cell *list;   /* as in hd_list_options */
    const char *key; /* the field by whose value an object is known, however it
                        is edited; NULL: elements are known as those of
                        hd_build_map */
    hd_element_build_fn *build;
    void *context;
    void (*release)(void *context); /* as for nodes */
} hd_pieces_options;

/* One piece an element: declared when the element comes, in the commit with
 * which the list takes it up; kept with its states as long as the element is
 * there, wherever it moves; removed with it, in one commit. Its address is
 * PIECE/NAME/KEY, where KEY is a number that the list gives out once
 * (docs/lists.md). What comes out is an array of links to the results. Each
 * element has to declare the same: the function is called once per element, and
 * again when the piece is started. */
HD_API hd_status hd_build_map_pieces(hd_builder *builder,
                                     const char *name,
                                     const hd_pieces_options *options,
                                     hd_cell **output,
                                     hd_error *error);

/* The next value of an accumulator, by hd_run_return; both are borrowed. */
typedef hd_status hd_reduce_fn(hd_run *run,
                               const hd_value *accumulator,
                               const hd_value *element,
                               void *context);

typedef struct hd_reduce_options {
    hd_cell *list;
    const hd_value *initial;
    hd_reduce_fn *run;
    void *context;
    void (*release)(void *context); /* as for nodes */
} hd_reduce_options;

/* One computation that goes over the whole list. */
HD_API hd_status hd_build_reduce(hd_builder *builder,
                                 const char *name,
                                 const hd_reduce_options *options,
                                 hd_cell **output,
                                 hd_error *error);

/* A link to one of two cells, by a condition that is true if it is neither
 * false nor null nor nothing; or to one, or nothing. What is not chosen is not
 * looked at, and does not run. */
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

/* Work that the program does outside, and that ends later. Release with
 * hd_task_free.
 *
 * All of these functions are for the thread of the runtime. Work that is done
 * in another thread gives what it has to that one by the program's own means,
 * and hd_interrupt, or a descriptor in its loop, wakes it. */
typedef struct hd_task hd_task;

/* Begins the work, and does not wait for it. `input` is borrowed; links in it
 * are replaced by the values behind them. The task is the program's, until
 * hd_task_free: also after the runtime has ended. It may be ended in here. */
typedef void hd_task_fn(hd_task *task, const hd_value *input, void *context);

/* Nobody wants it any more: the input is another one, or the piece is stopped,
 * or the runtime closed. Called once. The task may be released in here. */
typedef void hd_task_cancelled_fn(hd_task *task, void *context);

typedef struct hd_task_options {
    hd_cell *input;
    hd_task_fn *start;
    hd_task_cancelled_fn *cancelled; /* or NULL */
    void *context;
    void (*release)(void *context); /* as for nodes */
    uint32_t retries;        /* at most 100: how often hd_task_retry begins it
                                again */
    uint32_t backoff_ms;     /* the first pause (0: 500), which doubles, */
    uint32_t backoff_max_ms; /* up to this one (0: 30000) */
} hd_task_options;

/* Begun in a step when the output is read and the input is there, once
 * "running" is committed. The output is one of
 *
 *   {"state": "idle"}     as long as the input is nothing
 *   {"state": "running", "input": <digest of the input>}
 *   {"state": "done",    "input": ..., "value": ..., "attempts": 1}
 *   {"state": "failed",  "input": ..., "error": {"code": ..., "text": ...},
 *    "attempts": 1}
 *
 * What is done or has failed stays so as long as the input is that one, also
 * after a restart if the pattern has a version. What was running when the
 * process ended is begun again: the work is done at least once. Of several
 * processes on a data directory, one does it; if that one ends, another takes
 * it up. */
HD_API hd_status hd_build_task(hd_builder *builder,
                               const char *name,
                               const hd_task_options *options,
                               hd_cell **output,
                               hd_error *error);

/* The end: what it gives, NULL for null; or why it failed, `text` a sentence or
 * NULL. It is written in a transaction of its own; if nobody wants it any more,
 * it is dropped, and HD_OK, too. HD_CLOSED: it has ended before, or the runtime
 * has. HD_ARGUMENT: a failure with HD_OK, or with a status that is none.
 * HD_MISUSE: from inside a run, an edit, or a callback other than `start`. */
HD_API hd_status hd_task_finish(hd_task *task,
                                const hd_value *value,
                                hd_error *error);
HD_API hd_status hd_task_fail(hd_task *task,
                              hd_status status,
                              const char *text,
                              hd_error *error);

/* Ends a failed attempt that can be retried: `start` is called again with a new
 * handle, after the backoff and at least `after_ms`. After options.retries
 * retries the task has failed. This handle has ended. Otherwise as
 * hd_task_fail. */
HD_API hd_status hd_task_retry(hd_task *task,
                               hd_status status,
                               const char *text,
                               uint32_t after_ms,
                               hd_error *error);

/* The idempotency key of the work: 43 letters, digits, '-' and '_'. It follows
 * from the piece, the task and the input, so it is the same in each attempt and
 * after each restart. New (hd_text_free). */
HD_API hd_status hd_task_key(hd_task *task, char **key);

/* Something of the program's, NULL at first. It can be had until the task is
 * released. */
HD_API hd_status hd_task_set_user(hd_task *task, void *user);
HD_API hd_status hd_task_user(hd_task *task, void **user);

/* Releases it. One that has not ended, and is wanted, fails with HD_GIVEN_UP.
 * NULL is harmless. From another thread it does nothing; nor does it where
 * hd_task_fail would be HD_MISUSE. */
HD_API void hd_task_free(hd_task *task);

/* -- Building: children and the result */

/* A child, which comes and goes with its parent. `name` NULL: that of the
 * pattern, with a number. `arguments` is an object of values and links, or
 * NULL. */
HD_API hd_status hd_build_piece(hd_builder *builder,
                                const char *name,
                                hd_pattern *pattern,
                                const hd_value *arguments,
                                hd_cell **result,
                                hd_error *error);

/* A field of the result: a link to the cell, or a value. */
HD_API hd_status hd_build_result(hd_builder *builder,
                                 const char *key,
                                 hd_cell *cell,
                                 hd_error *error);
HD_API hd_status hd_build_result_value(hd_builder *builder,
                                       const char *key,
                                       const hd_value *value,
                                       hd_error *error);

/* -- Pieces -----------------------------------------------------------------
 */

/* Release with hd_piece_free. The piece runs on without its handle, until it
 * is stopped or the runtime ends. */
typedef struct hd_piece hd_piece;

/* Every field may be zero. */
typedef struct hd_piece_options {
    const char *space;         /* NULL: the runtime's first */
    const hd_value *arguments; /* an object of values and links; NULL: those
                                  that it has, or none */
    bool must_exist;           /* otherwise it is made if there is none */
    bool fresh;                /* nothing is taken from the store: all of its
                                  computations run */
    bool replace;              /* also if it is of a pattern of another name,
                                  which is HD_ARGUMENT otherwise: what the new
                                  one does not declare is hidden */
} hd_piece_options;

/* Starts a piece, or takes up again what is there under its name. `pattern`
 * NULL: the one that it was started with, which has been added. `options` and
 * `piece` may be NULL. It loads its result before anything of it is there:
 * hd_piece_state. HD_ARGUMENT: the name, or a piece of that name is started
 * already. */
HD_API hd_status hd_piece_start(hd_runtime *runtime,
                                hd_pattern *pattern,
                                const char *name,
                                const hd_piece_options *options,
                                hd_piece **piece,
                                hd_error *error);

typedef enum hd_piece_state {
    HD_PIECE_LOADING = 1, /* step */
    HD_PIECE_RUNNING = 2,
    HD_PIECE_FAILED = 3, /* the error says why; nothing of it is there */
    HD_PIECE_STOPPED = 4,
    HD_PIECE_REMOVING = 5 /* its documents are on their way here, to be
                             deleted: step */
} hd_piece_state;

/* `error` gets the reason of a failure, and is cleared otherwise. */
HD_API hd_status hd_piece_look(hd_piece *piece,
                               hd_piece_state *state,
                               hd_error *error);

/* A piece that is started, by its name; new. `space` NULL: the runtime's
 * first. HD_NOT_FOUND. */
HD_API hd_status hd_piece_find(hd_runtime *runtime,
                               const char *space,
                               const char *name,
                               hd_piece **piece,
                               hd_error *error);

/* The names of the pieces of a space that are nobody's child, started here or
 * not, as an array of strings; new. */
HD_API hd_status hd_runtime_pieces(hd_runtime *runtime,
                                   const char *space,
                                   hd_value **names,
                                   hd_error *error);

/* What is at a JSON Pointer in the result: the cell behind the links, or the
 * value, brought up to date; both new. HD_NOT_FOUND. Not from inside a run
 * (HD_MISUSE). */
HD_API hd_status hd_piece_cell(hd_piece *piece,
                               const char *path,
                               hd_cell **cell,
                               hd_error *error);
HD_API hd_status hd_piece_get(hd_piece *piece,
                              const char *path,
                              hd_value **value,
                              hd_error *error);

/* Sends to a stream of the piece, by its name or that of the field of the
 * result. As hd_cell_send. */
HD_API hd_status hd_piece_send(hd_piece *piece,
                               const char *stream,
                               const hd_value *payload,
                               const hd_send_options *options,
                               hd_ticket **ticket,
                               hd_error *error);

/* The node of that name, new; HD_NOT_FOUND. */
HD_API hd_status hd_piece_node(hd_piece *piece,
                               const char *name,
                               hd_node **node,
                               hd_error *error);

/* Its nodes and handlers go; what they have committed stays, for the next
 * start. HD_MISUSE from inside a run. HD_CLOSED if it is stopped. */
HD_API hd_status hd_piece_stop(hd_piece *piece, hd_error *error);

/* The same, and its documents are deleted, in one transaction, as soon as they
 * have come: HD_PIECE_REMOVING until then. What it has launched goes with
 * it. */
HD_API hd_status hd_piece_remove(hd_piece *piece, hd_error *error);

/* The handle, not the piece. NULL is harmless. From another thread it does
 * nothing. */
HD_API void hd_piece_free(hd_piece *piece);

/* From inside a handler that a pattern has built: another piece comes to be
 * with this attempt's commit. `link` is a link to its result, new, for the
 * receipt. The pattern has been added to the runtime. */
HD_API hd_status hd_run_launch(hd_run *run,
                               hd_pattern *pattern,
                               const hd_value *arguments,
                               hd_value **link,
                               hd_error *error);

#ifdef __cplusplus
}
#endif

#endif
