/* The machine of a piece: an instance of a pattern that a runtime keeps alive
 * in a space.
 *
 * Requests (start, stop, restart, resume) come from people and from the
 * runtime; reports (started, failed, stopped) come from the run itself, at any
 * time later, perhaps twice, perhaps when the piece has been restarted since.
 *
 *   - Each way into `starting` stamps a new run (EFFECT_STAMP_RUN), and a
 *     report names the run it is about. One of another run is superseded
 *     (FACT_STALE_RUN): a late end of the old run cannot end the new one.
 *   - A report that comes twice, or after its run is over, changes nothing: the
 *     table has an edge back to the same status.
 *   - A request for what already is changes nothing, too. A start while
 *     stopping is illegal: the stop has been promised, and its end will be
 *     reported; then the piece can be started.
 *   - After a crash the row says what was wanted. `resume` starts a piece again
 *     that was running, and ends a stop that nobody is left to end.
 *
 * One profile: strict. */

#ifndef LIFECYCLE_PIECE_H
#define LIFECYCLE_PIECE_H

#include "lifecycle/machine.h"

enum piece_status {
    PIECE_CREATED, /* of a new row */
    PIECE_STARTING,
    PIECE_RUNNING,
    PIECE_STOPPING,
    PIECE_STOPPED,
    PIECE_ERROR,
    PIECE_STATUS_COUNT,
};

/* DO: a request. ON: a report, which names its run. */
enum piece_event {
    PIECE_DO_START,
    PIECE_ON_STARTED,
    PIECE_ON_FAILED,
    PIECE_DO_STOP,
    PIECE_ON_STOPPED,
    PIECE_DO_RESTART,
    PIECE_DO_RESUME,
    PIECE_EVENT_COUNT,
};

extern const struct lifecycle_machine piece_lifecycle;

#endif
