/* The machines of an environment: a workspace on a host that threads share,
 * which is created, used, created again, and destroyed.
 *
 * environment_lifecycle is strict: the wish to destroy is a status (retiring),
 * and a destroyed environment stays destroyed. An answer to a destroy counts
 * only if it is to the attempt that the row names; it is stale if the row names
 * another or none (FACT_STALE_ATTEMPT). An attempt whose answer was lost keeps
 * its name in `error`, so that a late answer still counts.
 *
 * Two events may carry a new attempt: destroy.started, and provision.cancelled,
 * which begins a destroy if there is no workspace to return to.
 *
 * EFFECT_CLAIM is a condition and not a column: the writer adds to the same
 * statement that no thread of the environment is live or stopping.
 *
 * observed_environment_lifecycle has 5 statuses and 9 events, as they were
 * found. There the wish to destroy is a fact (FACT_CLEANUP_REQUESTED). */

#ifndef LIFECYCLE_ENVIRONMENT_H
#define LIFECYCLE_ENVIRONMENT_H

#include "lifecycle/machine.h"

enum environment_status {
    ENVIRONMENT_PROVISIONING, /* of a new row */
    ENVIRONMENT_READY,
    ENVIRONMENT_RETIRING,
    ENVIRONMENT_ERROR,
    ENVIRONMENT_DESTROYING,
    ENVIRONMENT_DESTROYED,
    ENVIRONMENT_STATUS_COUNT,
};

enum environment_event {
    ENVIRONMENT_PROVISION_REQUESTED,
    ENVIRONMENT_PROVISION_SUCCEEDED,
    ENVIRONMENT_PROVISION_FAILED,
    ENVIRONMENT_PROVISION_CANCELLED,
    ENVIRONMENT_RETIRE_REQUESTED,
    ENVIRONMENT_RETIRE_CANCELLED,
    ENVIRONMENT_DESTROY_STARTED,
    ENVIRONMENT_DESTROY_COMPLETED,
    ENVIRONMENT_DESTROY_FAILED,
    ENVIRONMENT_DESTROY_LOST,
    ENVIRONMENT_EVENT_COUNT,
};

extern const struct lifecycle_machine environment_lifecycle;

enum observed_environment_status {
    OBSERVED_ENVIRONMENT_PROVISIONING, /* of a new row */
    OBSERVED_ENVIRONMENT_READY,
    OBSERVED_ENVIRONMENT_ERROR,
    OBSERVED_ENVIRONMENT_DESTROYING,
    OBSERVED_ENVIRONMENT_DESTROYED,
    OBSERVED_ENVIRONMENT_STATUS_COUNT,
};

enum observed_environment_event {
    OBSERVED_ENVIRONMENT_PROVISION_REQUESTED,
    OBSERVED_ENVIRONMENT_PROVISION_SUCCEEDED,
    OBSERVED_ENVIRONMENT_PROVISION_FAILED,
    OBSERVED_ENVIRONMENT_PROVISION_CANCELLED,
    OBSERVED_ENVIRONMENT_DESTROY_DISPATCHED,
    OBSERVED_ENVIRONMENT_DESTROY_SUCCEEDED,
    OBSERVED_ENVIRONMENT_DESTROY_FAILED,
    OBSERVED_ENVIRONMENT_DESTROY_LOST,
    OBSERVED_ENVIRONMENT_CLEANUP_COMPLETED,
    OBSERVED_ENVIRONMENT_EVENT_COUNT,
};

extern const struct lifecycle_machine observed_environment_lifecycle;

#endif
