/* Owners: pieces that are started because an event for one of their streams has
 * arrived.
 *
 * A handler may send to a stream of a piece that is not started here: through a
 * link, or to a piece that was launched in another process. The runtime starts
 * such a piece, and the event waits for that (events_on_missing).
 *
 *   owner-1  A stream belongs to the piece in the id of its document, "piece:"
 *            name "/" part. Any other stream has no owner.
 *   owner-2  The piece is started without effects (piece-6 of runtime/piece.h),
 *            because this process was not asked to run it. It stays, for
 *            further events, until it is started explicitly.
 *   owner-3  If it cannot be started, the event ends with the reason, and the
 *            next event tries again.
 *   owner-5  An event that was sent to a field of the result before the piece
 *            existed is for the stream that the field links to.
 *   owner-4  If the name is declared as something other than a stream, or
 *            belongs to a removed element of a list, it never becomes a stream
 *            (piece_no_stream). A name that the piece does not declare may be a
 *            stream in another version: events stored for it wait. */

#ifndef RUNTIME_OWNER_H
#define RUNTIME_OWNER_H

#include "runtime/runtime.h"

/* Listens for streams without a handler. */
void owners_init(struct runtime *runtime);
void owners_release(struct runtime *runtime);

/* Starts the pieces that events wait for, and reports which of them cannot be
 * started. Whether anything was done. Outside passes. */
bool owners_step(struct runtime *runtime);

/* owner-5: the stream with a handler here that a result field of a piece that
 * runs here links to; or NULL. */
struct stream *owner_stream(const struct runtime *runtime, struct place *place);

/* The piece of a place, with the reason, if it runs here and owner-4 rules out
 * a stream; or NULL. */
struct piece *owner_denies(const struct runtime *runtime,
                           const struct place *place,
                           struct err_detail *why);

#endif
