/* Owners: pieces that are taken up because an event has come for one of their
 * streams.
 *
 * A handler may send to a stream of a piece that is not started here: through a
 * link, or to a piece that was launched in another process. The runtime takes
 * such a piece up, and the event waits for that (events_on_missing).
 *
 *   O1  A stream belongs to the piece in the id of its document, "piece:" name
 *       "/" part. Any other stream has no owner.
 *   O2  The piece is taken up without effects (R6 of runtime/piece.h): nothing
 *       has asked this process to run it. It stays, for the next event, until
 *       it is started.
 *   O3  If it cannot be taken up, the event ends with the reason, and the next
 *       event tries again.
 *   O5  What was sent to a field of the result before the piece was there, is
 *       for the stream that the field is a link to.
 *   O4  Where the piece has something else than a stream, or had an element of
 *       a list that has gone, there will never be a stream (piece_no_stream).
 *       A name that the piece does not declare may be one in another version:
 *       what is stored for it waits. */

#ifndef RUNTIME_OWNER_H
#define RUNTIME_OWNER_H

#include "runtime/runtime.h"

/* Listens for streams without a handler. */
void owners_init(struct runtime *runtime);
void owners_release(struct runtime *runtime);

/* Starts the pieces that events wait for, and says which of them will not
 * come. Whether anything was done. Outside of passes. */
bool owners_step(struct runtime *runtime);

/* O5: the stream that has a handler here, behind a field of the result of a
 * piece that runs here; or NULL. */
struct stream *owner_stream(const struct runtime *runtime, struct place *place);

/* The piece of a place, if it runs here and O4 holds, and why; or NULL. */
struct piece *owner_denies(const struct runtime *runtime,
                           const struct place *place,
                           struct err_detail *why);

#endif
