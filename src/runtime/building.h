/* What the builder keeps while a pattern declares its graph, for the two files
 * that share it: builder.c, which fills it, and piece.c, which begins and ends
 * it.
 *
 *   W1  `transaction` is open, and holds what is written because of the
 *       declarations: nothing, if the piece has had everything before.
 *   W2  `cells` has every name that was declared, the children's with theirs
 *       in front, and what each is; `about` as it was before is in the
 *       piece. */

#ifndef RUNTIME_BUILDING_H
#define RUNTIME_BUILDING_H

#include "runtime/piece.h"

struct declared_schema {
    struct value name; /* from the piece on */
    struct schema *schema;
};

struct declared_migration {
    struct value prefix;
    struct builder_migration migration;
};

/* A pattern, or a child of one. */
struct builder {
    struct piece *piece;
    struct builder *parent; /* or NULL: of the piece itself */
    struct transaction *transaction;
    struct value prefix;    /* in front of names: "" or "child/" */
    struct value arguments; /* that were given; an object, or absent */
    struct value before;    /* those of the last start; likewise */
    struct value result;    /* an object */
    uint32_t numbers;       /* names made so far */

    /* Of the piece itself only. */
    struct value cells;    /* W2; an object */
    struct value children; /* their patterns and arguments, by name */
    VEC(struct declared_schema) schemas; /* runtime/piece_schemas.h */
    struct buf misfits;    /* data that does not fit them: sentences */
    struct value declared; /* `cells` before former ones were added */
    struct value dropped;  /* names that a migration has removed; an object */
    struct value versions; /* runtime/migration.h; an object */
    VEC(struct declared_migration) migrations;
    struct value before_versions; /* as they were; borrowed, or absent */
    bool migrated;                /* at least one has run */
    bool other; /* than before: a pattern that replaces another one, without
                   data in common */
    unsigned scopes; /* a bit for each that a state has beside that of
                        the space */
    struct value made[SCOPE_SESSION + 1]; /* by scope: states and what they are;
                                             or absent */
};

/* The builder of the whole. */
struct builder *builder_root(struct builder *builder);

/* Everything that was declared is taken back. */
void builder_undo(struct piece *piece);

/* After the pattern has declared everything: refuses arguments that it has not
 * declared. `arguments` may be absent. */
MUST_CHECK enum err building_check_arguments(struct builder *builder,
                                             struct value arguments,
                                             const struct pattern *pattern,
                                             struct err_detail *detail);

/* What a kind of part is called in the document of the piece; and the reverse,
 * PART_DOCUMENT for anything else. */
const char *part_kind_name(enum part_kind kind);

/* Who a node of that name is, from the piece on, for the store; and what people
 * see of it, new: "shopping/total". */
struct node_identity building_identity(const struct piece *piece,
                                       struct value name,
                                       const struct digest *fingerprint);
struct value building_label(const struct piece *piece, struct value name);
struct digest building_action(const struct piece *piece, struct value name);

/* Effects are declared and not registered (R6 of runtime/piece.h). */
bool building_is_without_effects(const struct builder *builder);

/* The end of a build (piece_build.c): what was declared before and is not any
 * more; the document of the piece, as far as it is different. */
void building_keep_former(const struct piece *piece, struct builder *builder);
MUST_CHECK enum err building_write_document(struct piece *piece,
                                            const struct builder *builder,
                                            struct value about,
                                            struct err_detail *detail);
void building_release(struct builder *builder);

/* -- States of a user or a session (piece_scopes.c) ---------------------- */

/* Writes the initial value of a state if this user, or session, has not had it
 * before, or if it is given `anew`. If documents have to come first, they are
 * awaited (piece->needs), and the build is repeated. */
MUST_CHECK enum err building_scoped(struct builder *builder,
                                    const struct part *part,
                                    struct value initial,
                                    bool anew,
                                    struct err_detail *detail);

/* Of the whole: notes what was made. */
MUST_CHECK enum err building_write_records(const struct builder *builder,
                                           struct err_detail *detail);

/* Whether the piece has states of that scope. */
bool scopes_of_about(struct value about, enum scope scope);

/* Writes a payload: absent deletes it. Adopts the value. */
MUST_CHECK enum err building_write_adopt(struct transaction *transaction,
                                         struct place *place,
                                         struct value value,
                                         struct err_detail *detail);

#endif
