/* What is done outside for an effect, after its run has landed.
 *
 * A run can be given up and made again, and its commit can be refused. So a
 * function of the host whose action cannot be undone (struct
 * program_function, `after`) only notes what is to be done, and returns
 * nothing.
 *
 *   deferred-calls-1  It is done once, in order, after the run that asked for
 *                     it has landed (sched/outbox.h); never, if it did not.
 *   deferred-calls-2  What still waits when the runtime ends is not done. */

#ifndef SCRIPT_DEFERRED_CALLS_H
#define SCRIPT_DEFERRED_CALLS_H

#include "script/heddle.h"
#include "value/value.h"

struct program_function;

/* Notes a call of the run of that frame. Adopts the arguments. */
void deferred_calls_note_adopt(struct heddle *heddle,
                               const struct program_function *function,
                               const struct frame *frame,
                               struct value arguments);

/* After the end of the runtime (deferred-calls-2). */
void deferred_calls_end(struct heddle *heddle);

#endif
