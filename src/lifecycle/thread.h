/* The machines of a thread: a conversation whose turns are run elsewhere, and
 * whose status follows from reports about them.
 *
 * thread_lifecycle is strict: a stop is a status, so that "no new work while
 * stopping" is a missing edge, and each report names its run, so that a report
 * on an earlier run is superseded (FACT_STALE_RUN). The row keeps the run of
 * its last EFFECT_STAMP_RUN (a new row is created with its first), until
 * EFFECT_CLEAR_RUN. A report is stale if the row has another run or none; an
 * event that begins a run is never stale.
 *
 * observed_thread_lifecycle has other statuses and events: 5 and 14, as they
 * were found. There a stop is a fact (FACT_STOP_REQUESTED). */

#ifndef LIFECYCLE_THREAD_H
#define LIFECYCLE_THREAD_H

#include "lifecycle/machine.h"

enum thread_status {
    THREAD_IDLE,
    THREAD_STARTING, /* of a new row */
    THREAD_ACTIVE,
    THREAD_STOPPING,
    THREAD_ERROR,
    THREAD_STATUS_COUNT,
};

enum thread_event {
    THREAD_RUN_PREPARING,
    THREAD_RUN_STARTED,
    THREAD_RUN_SUCCEEDED,
    THREAD_RUN_FAILED,
    THREAD_STOP_REQUESTED,
    THREAD_STOP_SETTLED,
    THREAD_EVENT_COUNT,
};

extern const struct lifecycle_machine thread_lifecycle;

enum observed_thread_status {
    OBSERVED_THREAD_CREATED, /* of a new row */
    OBSERVED_THREAD_PROVISIONING,
    OBSERVED_THREAD_IDLE,
    OBSERVED_THREAD_ACTIVE,
    OBSERVED_THREAD_ERROR,
    OBSERVED_THREAD_STATUS_COUNT,
};

enum observed_thread_event {
    OBSERVED_THREAD_TURN_STARTED,
    OBSERVED_THREAD_TURN_COMPLETED,
    OBSERVED_THREAD_TURN_FAILED,
    OBSERVED_THREAD_TURN_INTERRUPTED,
    OBSERVED_THREAD_RUNTIME_EXITED,
    OBSERVED_THREAD_TURN_DISPATCHED,
    OBSERVED_THREAD_REPROVISION_STARTED,
    OBSERVED_THREAD_START_SUCCEEDED,
    OBSERVED_THREAD_COMMAND_FAILED,
    OBSERVED_THREAD_PROVISION_FAILED,
    OBSERVED_THREAD_WORKSPACE_LOST,
    OBSERVED_THREAD_STOP_COMPLETED,
    OBSERVED_THREAD_SESSION_LOST,
    OBSERVED_THREAD_RUNTIME_OBSERVED_ACTIVE,
    OBSERVED_THREAD_EVENT_COUNT,
};

extern const struct lifecycle_machine observed_thread_lifecycle;

#endif
