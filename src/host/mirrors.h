/* Mirrors: rows in the store of a space that is read from elsewhere, so that
 * what lands there finds the pieces that must wake (store/observations.h).
 *
 * A hub tells of every observation with places that its store has kept
 * (hub_options.observed). A piece that reads other spaces is noted, and when
 * the host has nothing better to do, its store is asked what the piece reads
 * where, and each of those spaces is told.
 *
 *   struct mirrors mirrors = {0};
 *   mirrors_note(&mirrors, space, branch, observation);     from the hub
 *   mirrors_flush(&mirrors, &source, log);                  now and then
 *   mirrors_release(&mirrors);
 *
 *   X1  A hint: what fails is logged and forgotten, and nothing rests on it.
 *       What another process is in the way of is told with the next flush.
 *   X2  A space that is not open here is left alone: nobody is told of who
 *       reads, whom he could not tell himself.
 *   X3  A mirror says no more than was seen: its seq is the lowest that an
 *       action of the piece has seen of that space.
 *   X4  What a user's or a session's own rows say is not told to other
 *       spaces.
 *   X5  A piece that was removed is forgotten: by the store of its space
 *       (engine_piece_forget), and by all that it has read.
 *   X6  Nodes of a piece that have gone, with the element of a list that they
 *       were of, are forgotten by the store (engine_actions_forget). */

#ifndef HOST_MIRRORS_H
#define HOST_MIRRORS_H

#include "base/log.h"
#include "base/vec.h"
#include "proto/observation.h"

struct engine;

/* A piece with something to tell, and where it has told. */
struct mirrored {
    struct value space;
    struct value branch;
    struct value piece;
    bool noted;
    bool removed;           /* X5 */
    VEC(struct value) told; /* spaces */
};

/* Nodes that have gone (X6). */
struct gone_nodes {
    struct value space;
    struct value branch;
    struct value piece;
    VEC(struct digest) names;
};

struct mirrors {
    VEC(struct mirrored) pieces;
    VEC(struct gone_nodes) gone;
    bool noted; /* one of them is */
};

struct mirrors_source {
    /* The engine of the space of that name, or NULL: not here (X2). */
    struct engine *(*engine)(void *ctx, struct value space);
    void *ctx;
};

/* X6. */
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

/* X5: a piece of `space` was removed. */
void mirrors_note_removed(struct mirrors *mirrors,
                          struct value space,
                          struct value branch,
                          struct value piece);

/* Tells what was noted. `log` may be NULL. Costs as much as the pieces are
 * large, and nothing if nothing was noted. */
void mirrors_flush(struct mirrors *mirrors,
                   const struct mirrors_source *source,
                   const struct log *log);

void mirrors_release(struct mirrors *mirrors);

#endif
