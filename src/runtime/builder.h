/* The builder: what a pattern declares its graph with.
 *
 *   builder_state(builder, &(struct builder_cell){name, initial}, &items, d);
 *   builder_computed(builder, &node, &total, d);
 *   builder_handler(builder, &handler, &add, d);
 *   builder_result(builder, value_text("total"), total, d);
 *
 *   B1  Each thing that is declared has a name, unique in its piece, and a
 *       document whose id follows from the names: "piece:" piece "/" name. So
 *       the same piece has the same documents in every process and after every
 *       restart. A name is not empty and has no '/'.
 *   B2  Nothing runs, and no document is read. A document that the piece has
 *       not had before is written, with all others, in the one transaction that
 *       starts the piece.
 *   B3  A place that comes back is borrowed from the piece: it is there as long
 *       as the piece is built.
 *   B4  A body that was given is the builder's, also if the call fails: it is
 *       released once, when nothing can call it any more.
 *   B5  Who has a fingerprint outlives the process: a node with one is an
 *       action of the piece (sched/persistence.h); one without is fresh at
 *       every start.
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
    PART_LIST, /* a coordinator (runtime/spread.h), whose document has a link to
                  that of each of its children; it is preloaded, too */
};

/* -- Bodies -------------------------------------------------------------- */

/* What a node or a handler does. `run` is as a node's function has it
 * (sched/runner.h): reads by run_read or cell_read, writes by run->transaction.
 * In a handler, run->handling is there (sched/handling.h). *result, absent at
 * first, becomes the output of a computation (absent: there is none) or the
 * receipt of a handler; it is new, and of no interest unless RUN_DONE is
 * returned. */
typedef enum run_result body_fn(struct run *run,
                                void *ctx,
                                struct value *result);

struct body {
    body_fn *run;
    void *ctx;
    void (*release)(void *ctx);       /* or NULL */
    const struct digest *fingerprint; /* of the code and what it captures; NULL:
                                         it has none (B5) */
};

/* -- Documents ----------------------------------------------------------- */

/* A zero field means none or the default. */
struct builder_cell {
    struct value name;
    struct value initial; /* absent: the document is not made */
    enum scope scope;
};

/* What the state, the argument or the stream takes that is declared under that
 * name after this call; stored with the piece (runtime/piece_schemas.h).
 * SCHEMA_MALFORMED, LIMIT_SCHEMA; ARGUMENT: it is declared already. If it is
 * not declared later, the build fails. */
MUST_CHECK enum err builder_schema(struct builder *builder,
                                   struct value name,
                                   struct value source,
                                   struct err_detail *detail);

/* A stored document of the piece: `initial` is written only if the piece has
 * not had it before. *out is its payload. ARGUMENT: the name. SCHEMA: the
 * initial value does not fit. */
MUST_CHECK enum err builder_state(struct builder *builder,
                                  const struct builder_cell *cell,
                                  struct place **out,
                                  struct err_detail *detail);

/* An argument: what was given when the piece was started, a value or a link
 * that reads follow; `initial` if nothing was. */
MUST_CHECK enum err builder_argument(struct builder *builder,
                                     const struct builder_cell *cell,
                                     struct place **out,
                                     struct err_detail *detail);

struct builder_collection {
    struct value name;
    struct value definition; /* an object: collection/collection.h */
};

/* A collection, whose documents are the piece's. If the piece has had it
 * before, its rows stay, and indexes that are new are filled. *out is borrowed
 * from the runtime. ARGUMENT, SCHEMA_MALFORMED: the definition. */
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
    struct place *const *envelopes; /* it is a materializer */
    size_t envelope_count;
    mono_ms debounce;
    mono_ms debounce_max;
    mono_ms throttle;
    bool no_auto_debounce;
    struct value clearance; /* of an effect (sched/labels.h); or absent */
    bool preload;           /* its document has come before the next build */
    bool unshared;          /* struct node_spec */
    bool coordinates; /* of the built-in nodes only: it registers others, and
                         says at the next build which (runtime/spread.h). Its
                         document has come by then; it writes it itself */
};

/* A computation with a document of its own for its output; *out is the payload
 * of that. The node can be asked for by name (piece_node). */
MUST_CHECK enum err builder_computed(struct builder *builder,
                                     const struct builder_node *node,
                                     struct place **out,
                                     struct err_detail *detail);

/* Somebody who looks; the result of the body is of no interest. */
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

/* The one handler of the stream of that name; *out is the place of the
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
    struct value space; /* a string: another space than that of the piece, in
                           which the child is a piece of its own (R8 of
                           runtime/piece.h); or absent */
};

/* A child: part of this piece, with names of its own below its name. It comes
 * and goes with its parent. *out is the payload of its result. */
MUST_CHECK enum err builder_piece(struct builder *builder,
                                  const struct builder_child *child,
                                  struct place **out,
                                  struct err_detail *detail);

/* -- Migrations (runtime/migration.h) ------------------------------------ */

struct migration;

/* Brings the data of a piece of an earlier version to `version`. In the
 * transaction of the build: it reads with migration_read and by cells of states
 * and arguments, and writes to those. Anything but OK fails the start. */
typedef enum err migration_fn(struct migration *migration,
                              void *ctx,
                              struct err_detail *detail);

struct builder_migration {
    uint32_t version; /* from 2 on */
    migration_fn *run;
    void *ctx;
    void (*release)(void *ctx); /* when the build has ended; or NULL */
};

/* ARGUMENT: the version. The context is the builder's, as a body is (B4). */
MUST_CHECK enum err builder_migration(struct builder *builder,
                                      const struct builder_migration *migration,
                                      struct err_detail *detail);

/* What was in a state or an argument, by the name that it had; new, absent if
 * there was nothing. NOT_FOUND: there was no such name, or it was computed. */
MUST_CHECK enum err migration_read(struct migration *migration,
                                   struct value name,
                                   struct value *out,
                                   struct err_detail *detail);

/* Removes one that the pattern no longer declares. */
MUST_CHECK enum err migration_drop(struct migration *migration,
                                   struct value name,
                                   struct err_detail *detail);

/* The version that the piece has, and on whose behalf cells are used. */
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

/* Of an element of a list (runtime/list.h): the result is this value, or
 * nothing. Adopts it. */
void builder_result_adopt(struct builder *builder, struct value value);

/* -- For the built-in nodes of this folder ------------------------------- */

struct runtime *builder_runtime(const struct builder *builder);
struct space *builder_space(const struct builder *builder);
struct piece *builder_piece_of(const struct builder *builder); /* the whole */

/* Whether the piece is being taken up again, and had that name as that kind
 * before. */
bool builder_is_known(const struct builder *builder,
                      struct value name,
                      enum part_kind kind);

/* A name that no other has: `stem` and a number, the same at every build that
 * declares the same things in the same order; new. */
struct value builder_number(struct builder *builder, const char *stem);

/* A document of the piece under this name, declared; its payload, borrowed
 * from the piece. `preload`: at the next start of the piece it has come before
 * the pattern is built (R of runtime/piece.h). */
MUST_CHECK enum err builder_document(struct builder *builder,
                                     struct value name,
                                     bool preload,
                                     struct place **out,
                                     struct err_detail *detail);

#endif
