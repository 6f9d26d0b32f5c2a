/* The builder: a pattern declares its graph through it.
 *
 *   builder_state(builder, &(struct builder_cell){name, initial}, &items, d);
 *   builder_computed(builder, &node, &total, d);
 *   builder_handler(builder, &handler, &add, d);
 *   builder_result(builder, value_text("total"), total, d);
 *
 *   builder-1  Each declaration has a name, unique in its piece, and a document
 *              whose id is derived from the names: "piece:" piece "/" name. So
 *              a piece has the same documents in every process and after every
 *              restart. A name is not empty and has no '/'.
 *   builder-2  Nothing runs, and no document is read. The documents that are
 *              new to the piece are written in the one transaction that starts
 *              it.
 *   builder-3  A returned place is borrowed from the piece and valid for as
 *              long as the piece is built.
 *   builder-4  The builder owns each body that it is given, even if the call
 *              fails. It releases the body once, after the last possible call.
 *   builder-5  A node with a fingerprint outlives the process as an action of
 *              the piece (sched/persistence.h). A node without one is fresh at
 *              every start.
 *
 * Values, names and arrays in the records are borrowed for the call. */

#ifndef RUNTIME_BUILDER_H
#define RUNTIME_BUILDER_H

#include "runtime/pattern.h"
#include "runtime/runtime.h"
#include "sched/handling.h"

struct piece;

/* What a pattern declares. */
enum part_kind {
    PART_STATE,
    PART_ARGUMENT,
    PART_COMPUTED,
    PART_EFFECT,
    PART_HANDLER,
    PART_PIECE,
    PART_DOCUMENT,
    PART_PRELOADED,
    PART_COLLECTION, /* collection/collection.h; its root is preloaded, too */
    PART_LIST, /* a coordinator (runtime/keyed_list.h); its document links to
                  that of each child, and is preloaded, too */
};

/* -- Bodies -------------------------------------------------------------- */

/* The function of a node or a handler. `run` is as in a node's function
 * (sched/runner.h): it reads with run_read or cell_read and writes through
 * run->transaction. In a handler, run->handling is set (sched/handling.h).
 * *result starts out absent. It becomes the output of a computation (absent: no
 * output) or the receipt of a handler. It is new, and ignored unless the
 * function returns RUN_DONE. */
typedef enum run_result body_fn(struct run *run,
                                void *ctx,
                                struct value *result);

struct body {
    body_fn *run;
    void *ctx;
    void (*release)(void *ctx);       /* or NULL */
    const struct digest *fingerprint; /* of the code and what it captures; NULL:
                                         none (builder-5) */
};

/* -- Documents ----------------------------------------------------------- */

/* A zero field means none or the default. */
struct builder_cell {
    struct value name;
    struct value initial; /* absent: the document is not created */
    enum scope scope;
};

/* Sets the schema of the state, argument or stream that is declared under this
 * name after the call. It is stored with the piece (runtime/piece_schemas.h).
 * SCHEMA_MALFORMED, LIMIT_SCHEMA; ARGUMENT: the name is already declared. If
 * the name is never declared, the build fails. */
MUST_CHECK enum err builder_schema(struct builder *builder,
                                   struct value name,
                                   struct value source,
                                   struct err_detail *detail);

/* A stored document of the piece. `initial` is written only if the document is
 * new to the piece. *out is its payload. ARGUMENT: the name. SCHEMA: the
 * initial value is invalid. */
MUST_CHECK enum err builder_state(struct builder *builder,
                                  const struct builder_cell *cell,
                                  struct place **out,
                                  struct err_detail *detail);

/* An argument: the value or link that was passed when the piece was started, or
 * `initial`. Reads follow links. */
MUST_CHECK enum err builder_argument(struct builder *builder,
                                     const struct builder_cell *cell,
                                     struct place **out,
                                     struct err_detail *detail);

struct builder_collection {
    struct value name;
    struct value definition; /* an object: collection/collection.h */
};

/* A collection whose documents belong to the piece. If the piece already has
 * it, its rows stay and new indexes are filled. *out is borrowed from the
 * runtime. ARGUMENT, SCHEMA_MALFORMED: the definition. */
MUST_CHECK enum err builder_collection(struct builder *builder,
                                       const struct builder_collection *given,
                                       struct collection **out,
                                       struct err_detail *detail);

/* -- Nodes --------------------------------------------------------------- */

struct builder_node {
    struct value name;
    struct body body;
    struct place *const *reads; /* declared: for the order of the first run */
    size_t read_count;
    struct place *const *writes; /* static targets beside the output */
    size_t write_count;
    struct place *const *envelopes; /* if any, the node is a materializer */
    size_t envelope_count;
    mono_ms debounce;
    mono_ms debounce_max;
    mono_ms throttle;
    bool no_auto_debounce;
    struct value clearance; /* of an effect (sched/labels.h); or absent */
    bool preload;           /* its document is loaded before the next build */
    bool unshared;          /* struct node_spec */
    bool coordinates; /* built-in nodes only: it registers other nodes, and
                         reports them at the next build (runtime/keyed_list.h).
                         Its document is loaded by then; the node writes it */
};

/* A computation with its own output document; *out is the payload of that
 * document. piece_node finds the node by name. */
MUST_CHECK enum err builder_computed(struct builder *builder,
                                     const struct builder_node *node,
                                     struct place **out,
                                     struct err_detail *detail);

/* An effect; the result of the body is ignored. */
MUST_CHECK enum err builder_effect(struct builder *builder,
                                   const struct builder_node *node,
                                   struct err_detail *detail);

/* -- Handlers ------------------------------------------------------------ */

struct builder_handler {
    struct value name;
    struct body body;
    const struct declared_read *reads;
    size_t read_count;
    bool pure; /* sched/events.h */
    bool several_spaces;
    bool collapses;
};

/* The only handler of the stream of that name; *out is the place of the
 * stream. */
MUST_CHECK enum err builder_handler(struct builder *builder,
                                    const struct builder_handler *handler,
                                    struct place **out,
                                    struct err_detail *detail);

/* -- Pieces -------------------------------------------------------------- */

struct builder_child {
    struct value name; /* absent: the pattern's, with a number */
    struct pattern *pattern;
    struct value arguments; /* an object of values and links; or absent */
    struct value space; /* a string: another space than the piece's, in which
                           the child is a separate piece (piece-8 of
                           runtime/piece.h); or absent */
};

/* A child: part of this piece, with its own names below its name. It starts and
 * stops with its parent. *out is the payload of its result. */
MUST_CHECK enum err builder_piece(struct builder *builder,
                                  const struct builder_child *child,
                                  struct place **out,
                                  struct err_detail *detail);

/* -- Migrations (runtime/migration.h) ------------------------------------ */

struct migration;

/* Brings the data of a piece of an earlier version to `version`, in the
 * transaction of the build. It reads with migration_read and through cells of
 * states and arguments, and writes to those. Anything but OK fails the start.
 */
typedef enum err migration_fn(struct migration *migration,
                              void *ctx,
                              struct err_detail *detail);

struct builder_migration {
    uint32_t version; /* from 2 on */
    migration_fn *run;
    void *ctx;
    void (*release)(void *ctx); /* when the build has ended; or NULL */
};

/* ARGUMENT: the version. The builder owns the context, as in builder-4. */
MUST_CHECK enum err builder_migration(struct builder *builder,
                                      const struct builder_migration *migration,
                                      struct err_detail *detail);

/* The former value of a state or an argument, by its former name; new, absent
 * if there was none. NOT_FOUND: there was no such name, or it was computed. */
MUST_CHECK enum err migration_read(struct migration *migration,
                                   struct value name,
                                   struct value *out,
                                   struct err_detail *detail);

/* Removes a state or argument that the pattern no longer declares. */
MUST_CHECK enum err migration_drop(struct migration *migration,
                                   struct value name,
                                   struct err_detail *detail);

/* The current version of the piece, and the access for cells. */
uint32_t migration_version(const struct migration *migration);
struct transaction *migration_transaction(const struct migration *migration);
struct runtime *migration_runtime(const struct migration *migration);

/* -- The result ---------------------------------------------------------- */

/* A field of the result document: a link to the place, or a value. The value is
 * borrowed. */
MUST_CHECK enum err builder_result(struct builder *builder,
                                   struct value key,
                                   struct place *place,
                                   struct err_detail *detail);
MUST_CHECK enum err builder_result_value(struct builder *builder,
                                         struct value key,
                                         struct value value,
                                         struct err_detail *detail);

/* For an element of a list (runtime/list.h): the result is this value, or
 * absent. Adopts it. */
void builder_result_adopt(struct builder *builder, struct value value);

/* -- For the built-in nodes of this folder ------------------------------- */

struct runtime *builder_runtime(const struct builder *builder);
struct space *builder_space(const struct builder *builder);
struct piece *builder_piece_of(const struct builder *builder); /* the whole */

/* Whether the piece is being resumed and already had that name as that kind.
 */
bool builder_is_known(const struct builder *builder,
                      struct value name,
                      enum part_kind kind);

/* A unique name: `stem` and a number, the same at every build that declares the
 * same things in the same order; new. */
struct value builder_number(struct builder *builder, const char *stem);

/* Declares a document of the piece under this name; returns its payload,
 * borrowed from the piece. `preload`: at the next start of the piece, the
 * document is loaded before the build (piece-1 of runtime/piece.h). */
MUST_CHECK enum err builder_document(struct builder *builder,
                                     struct value name,
                                     bool preload,
                                     struct place **out,
                                     struct err_detail *detail);

#endif
