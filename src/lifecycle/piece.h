/* The machine of a piece: an instance of a pattern that a runtime runs in a
 * space.
 *
 * Requests (start, stop, restart, resume) come from people and from the
 * runtime. Reports (started, failed, stopped) come from the run itself, at any
 * later time, possibly twice, possibly after a restart of the piece.
 *
 *   - Each edge into `starting` stamps a new run (EFFECT_STAMP_RUN), and a
 *     report names its run. A report on another run is superseded
 *     (FACT_STALE_RUN): a late end of the old run cannot end the new one.
 *   - A report that is repeated, or late for its run, changes nothing: the
 *     table has an edge back to the same status.
 *   - A request for the current state changes nothing, too. A start while
 *     stopping is illegal: the stop has been promised, and its end will be
 *     reported; then the piece can be started.
 *   - After a crash the row has the wanted state. `resume` restarts a piece
 *     that was running, and ends a stop whose run is gone.
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
