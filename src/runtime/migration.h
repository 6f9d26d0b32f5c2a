/* Migrations: functions of a pattern that bring the data of a piece from one
 * version of the pattern to the next.
 *
 *   builder_migration(builder, &(struct builder_migration){2, run, ctx}, d);
 *
 *   migration-1  A pattern has the version of its highest migration, or 1; a
 *                child has its own. A new piece has the version of its pattern.
 *   migration-2  A piece of an earlier version is migrated when it is started:
 *                the migrations above its version run in order, in the
 *                transaction of the build, which also writes the new version.
 *                So they happen once, all or none, whoever else starts the
 *                piece, and before any node of it runs.
 *   migration-3  A migration sees the states and arguments of the piece, which
 *                have been loaded before, and its collections, whose documents
 *                are loaded when it asks for them: then it runs again. What it
 *                reads is part of what the commit depends on.
 *   migration-4  One that fails fails the start, and the piece is as it was.
 *   migration-5  A pattern of an earlier version than the piece is refused. A
 *                piece that runs here is stopped when another process migrates
 *                it.
 *   migration-6  A pattern that replaces this one (runtime/change.h) and shares
 *                no data with it has its own versions; those of the replaced
 *                pattern are kept under its name. */

#ifndef RUNTIME_MIGRATION_H
#define RUNTIME_MIGRATION_H

#include "runtime/building.h"

enum {
    MIGRATION_VERSION_MAX = 1000000000,
};

/* Runs the missing migrations (migration-2) and sets the content of "versions"
 * (an object, by the prefix of the child; only those above 1). STALE with
 * documents in piece->needs: they have to be loaded first. */
MUST_CHECK enum err migrations_run(struct piece *piece,
                                   struct builder *builder,
                                   struct err_detail *detail);
void migrations_release(struct builder *builder);

/* The version of a piece or a child by its prefix ("" or "child/"). */
uint32_t migration_version_in(struct value versions, struct value prefix);

/* The content of "replaced" (migration-6); new. */
struct value migrations_replaced(const struct piece *piece,
                                 const struct builder *builder);

/* migration-5: stops a piece that another process has migrated. */
void migration_check_running(struct piece *piece);

#endif
