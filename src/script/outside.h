/* What is done outside for an effect, after its run has landed.
 *
 * A run can be given up and made again, and its commit can be refused. So a
 * function of the host whose deed cannot be taken back (struct
 * program_function, `after`) only notes what is to be done, and returns
 * nothing.
 *
 *   J1  It is done once, in order, after the run that asked for it has landed
 *       (sched/outbox.h); never, if it did not.
 *   J2  What still waits when the runtime ends is not done. */

#ifndef SCRIPT_OUTSIDE_H
#define SCRIPT_OUTSIDE_H

#include "script/heddle.h"
#include "value/value.h"

struct program_function;

/* Notes a call of the run of that frame. Adopts the arguments. */
void outside_note_adopt(struct heddle *heddle,
                        const struct program_function *function,
                        const struct frame *frame,
                        struct value arguments);

/* After the end of the runtime (J2). */
void outside_end(struct heddle *heddle);

#endif
