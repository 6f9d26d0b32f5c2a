/* The state of a build, shared by builder.c, which fills it, and piece.c, which
 * begins and ends it.
 *
 *   building-1  `transaction` is open and holds the writes that the
 *               declarations require: none, if the piece already has
 *               everything.
 *   building-2  `cells` maps every declared name to its kind. Names of children
 *               have the child's name in front. The former `about` is in the
 *               piece. */

#ifndef RUNTIME_BUILDING_H
#define RUNTIME_BUILDING_H

#include "runtime/piece.h"

struct declared_schema {
    struct value name; /* relative to the piece */
    struct schema *schema;
};

struct declared_migration {
    struct value prefix;
    struct builder_migration migration;
};

/* The builder of a pattern, or of a child. */
struct builder {
    struct piece *piece;
    struct builder *parent; /* or NULL: of the piece itself */
    struct transaction *transaction;
    struct value prefix;    /* in front of names: "" or "child/" */
    struct value arguments; /* as passed; an object, or absent */
    struct value before;    /* those of the last start; likewise */
    struct value result;    /* an object */
    uint32_t numbers;       /* names generated so far */

    /* Of the piece itself only. */
    struct value cells;    /* building-2; an object */
    struct value children; /* their patterns and arguments, by name */
    VEC(struct declared_schema) schemas; /* runtime/piece_schemas.h */
    struct buf misfits;    /* sentences about data that violates a schema */
    struct value declared; /* `cells` before former ones were added */
    struct value dropped;  /* names that a migration has removed; an object */
    struct value versions; /* runtime/migration.h; an object */
    VEC(struct declared_migration) migrations;
    struct value before_versions; /* as they were; borrowed, or absent */
    bool migrated;                /* at least one has run */
    bool other; /* the pattern replaces another one, and they have no data in
                   common */
    unsigned scopes; /* one bit per scope that a state has, other than the
                        space's */
    struct value made[SCOPE_SESSION + 1]; /* per scope: states and their kinds;
                                             or absent */
};

/* The builder of the piece itself. */
struct builder *builder_root(struct builder *builder);

/* Undoes all declarations. */
void builder_undo(struct piece *piece);

/* After the pattern has declared everything: rejects undeclared arguments.
 * `arguments` may be absent. */
MUST_CHECK enum err building_check_arguments(struct builder *builder,
                                             struct value arguments,
                                             const struct pattern *pattern,
                                             struct err_detail *detail);

/* The name of a kind of part in the document of the piece; and the reverse,
 * PART_DOCUMENT for an unknown name. */
const char *part_kind_name(enum part_kind kind);

/* The identity of a node in the store, from its name in the piece; and its
 * display name, new: "shopping/total". */
struct node_identity building_identity(const struct piece *piece,
                                       struct value name,
                                       const struct digest *fingerprint);
struct value building_label(const struct piece *piece, struct value name);
struct digest building_action(const struct piece *piece, struct value name);

/* Effects are declared and not registered (piece-6 of runtime/piece.h). */
bool building_is_without_effects(const struct builder *builder);

/* The end of a build (piece_build.c): keeps what was declared before and no
 * longer is; writes the document of the piece where it changed. */
void building_keep_former(const struct piece *piece, struct builder *builder);
MUST_CHECK enum err building_write_document(struct piece *piece,
                                            const struct builder *builder,
                                            struct value about,
                                            struct err_detail *detail);
void building_release(struct builder *builder);

/* -- States of a user or a session (piece_scopes.c) ---------------------- */

/* Writes the initial value of a state if it is new to this user or session, or
 * if it is given `anew`. If documents have to be loaded first, the build waits
 * for them (piece->needs) and is repeated. */
MUST_CHECK enum err building_scoped(struct builder *builder,
                                    const struct part *part,
                                    struct value initial,
                                    bool anew,
                                    struct err_detail *detail);

/* For the piece itself: records what was created. */
MUST_CHECK enum err building_write_records(const struct builder *builder,
                                           struct err_detail *detail);

/* Whether the piece has states of that scope. */
bool scopes_of_about(struct value about, enum scope scope);

/* Writes a payload; absent deletes it. Adopts the value. */
MUST_CHECK enum err building_write_adopt(struct transaction *transaction,
                                         struct place *place,
                                         struct value value,
                                         struct err_detail *detail);

#endif
