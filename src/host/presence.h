/* Presence: which processes are at work in a data directory, and on what.
 *
 * Such a process has a file, DIR/run/SESSION, with one object of JSON in it,
 * and holds a lock on it that the system takes away when the process ends, in
 * whatever way. So a file without a lock is left over from one that was
 * killed: it says nothing, and goes with the next process that comes.
 *
 *   struct presence *presence;
 *   err = presence_begin(folder, session, about, &presence, &detail);
 *   ...
 *   presence_end(presence);
 *
 * It is for people (`heddle ps`, `heddle doctor`); nothing rests on it. */

#ifndef HOST_PRESENCE_H
#define HOST_PRESENCE_H

#include "base/buf.h"
#include "base/err.h"
#include "base/vec.h"
#include "value/value.h"

struct presence;

/* `about` is an object that is kept beside "session" and "pid":
 *
 *   {"command":"run","space":"main","pieces":["shopping"],"effects":true,
 *    "looks":true}
 *
 * `effects`: it runs their effects. `looks`: at their results, with everything
 * that they link to.
 *
 * Makes DIR/run. IO, FULL: then nobody sees this process, and nothing else is
 * wrong. */
MUST_CHECK enum err presence_begin(const char *folder,
                                   struct value session,
                                   struct value about,
                                   struct presence **out,
                                   struct err_detail *detail);

/* Takes the file away. NULL is harmless. */
void presence_end(struct presence *presence);

/* Those that are there now: an array of the objects, new. A directory in which
 * there never was one has none. Nothing is changed. */
struct value presence_list(const char *folder);

/* Whether one of them has a piece of that space started, by its name. */
bool presence_has(struct value one, struct value space, struct value piece);

#endif
