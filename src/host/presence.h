/* Presence: which processes use a data directory, and for what.
 *
 * Such a process has a file, DIR/run/SESSION, with one JSON object in it, and
 * holds a lock on it that the system releases when the process ends, in
 * whatever way. So a file without a lock is left over from a process that was
 * killed: it is ignored, and the next process removes it.
 *
 *   struct presence *presence;
 *   err = presence_begin(folder, session, about, &presence, &detail);
 *   ...
 *   presence_end(presence);
 *
 * It is for people (`heddle ps`, `heddle doctor`); correctness does not depend
 * on it. */

#ifndef HOST_PRESENCE_H
#define HOST_PRESENCE_H

#include "base/buf.h"
#include "base/err.h"
#include "base/vec.h"
#include "value/value.h"

struct presence;

/* `about` is an object that is stored beside "session" and "pid":
 *
 *   {"command":"run","space":"main","pieces":["shopping"],"effects":true,
 *    "looks":true}
 *
 * `effects`: it runs their effects. `looks`: it reads their results, with
 * everything that they link to.
 *
 * Creates DIR/run. IO, FULL: then other processes do not see this one; all else
 * works. */
MUST_CHECK enum err presence_begin(const char *folder,
                                   struct value session,
                                   struct value about,
                                   struct presence **out,
                                   struct err_detail *detail);

/* Removes the file. NULL is harmless. */
void presence_end(struct presence *presence);

/* The processes that are present: an array of the objects, new; empty if
 * DIR/run does not exist. Changes nothing. */
struct value presence_list(const char *folder);

/* Whether that process has the piece of that space started. */
bool presence_has(struct value one, struct value space, struct value piece);

#endif
