/* Mirrors: rows in the store of a space about its readers in other spaces, so
 * that a commit there finds the pieces to wake (store/observations.h).
 *
 * A hub reports every kept observation with places (hub_options.observed). A
 * piece that reads other spaces is recorded. When the host is idle, it asks the
 * piece's store what the piece reads where, and writes that to each of those
 * spaces.
 *
 *   struct mirrors mirrors = {0};
 *   mirrors_note(&mirrors, space, branch, observation);     from the hub
 *   mirrors_flush(&mirrors, &source, log);                  now and then
 *   mirrors_release(&mirrors);
 *
 *   mirrors-1  A mirror is a hint: a failure is logged and dropped, and
 *              correctness does not depend on it. If another process holds the
 *              lock, or the server cannot be reached, the next flush tries
 *              again.
 *   mirrors-2  A space that is not open here is skipped: its readers are not
 *              recorded there.
 *   mirrors-3  A mirror claims no more than was seen: its seq is the lowest
 *              that an action of the piece has seen of that space.
 *   mirrors-4  Rows of a user or a session are not told to other spaces.
 *   mirrors-5  A removed piece is forgotten by the store of its space
 *              (engine_piece_forget) and by all spaces that it has read.
 *   mirrors-6  The nodes of a removed element of a list are forgotten by the
 *              store (engine_actions_forget). */

#ifndef HOST_MIRRORS_H
#define HOST_MIRRORS_H

#include "base/log.h"
#include "base/vec.h"
#include "proto/observation.h"

struct store_access;

/* A piece with something to write, and the spaces that it has written to. */
struct mirrored {
    struct value space;
    struct value branch;
    struct value piece;
    bool noted;
    bool removed;           /* mirrors-5 */
    VEC(struct value) told; /* spaces */
};

/* Removed nodes (mirrors-6). */
struct gone_nodes {
    struct value space;
    struct value branch;
    struct value piece;
    VEC(struct digest) names;
};

struct mirrors {
    VEC(struct mirrored) pieces;
    VEC(struct gone_nodes) gone;
    bool noted; /* at least one of them is */
};

struct mirrors_source {
    /* The store of the space of that name; NULL: not open here (mirrors-2). */
    struct store_access *(*store)(void *ctx, struct value space);
    void *ctx;
};

/* mirrors-6. */
void mirrors_note_gone(struct mirrors *mirrors,
                       struct value space,
                       struct value branch,
                       struct value piece,
                       const struct digest *names,
                       size_t count);

/* An observation with places, kept by the store of `space`. */
void mirrors_note(struct mirrors *mirrors,
                  struct value space,
                  struct value branch,
                  const struct observation *observation);

/* mirrors-5: a piece of `space` was removed. */
void mirrors_note_removed(struct mirrors *mirrors,
                          struct value space,
                          struct value branch,
                          struct value piece);

/* Writes what was recorded. `log` may be NULL. The cost grows with the size of
 * the recorded pieces; it is zero if there are none. */
void mirrors_flush(struct mirrors *mirrors,
                   const struct mirrors_source *source,
                   const struct log *log);

void mirrors_release(struct mirrors *mirrors);

#endif
