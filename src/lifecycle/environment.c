/* The strict machine of an environment, as tables. */

#include "lifecycle/environment.h"

#include "base/check.h"

static const struct lifecycle_status statuses[ENVIRONMENT_STATUS_COUNT] = {
    [ENVIRONMENT_PROVISIONING] = {"provisioning",
                                  false,
                                  "its workspace is being created or restored"},
    [ENVIRONMENT_READY] = {"ready", true, "threads can use it"},
    [ENVIRONMENT_RETIRING] = {"retiring",
                              false,
                              "it is to be destroyed as soon as no thread uses "
                              "it"},
    [ENVIRONMENT_ERROR] = {"error",
                           true,
                           "it could not be created, or the outcome of its "
                           "destruction is unknown"},
    [ENVIRONMENT_DESTROYING] = {"destroying",
                                false,
                                "the host is destroying its workspace"},
    [ENVIRONMENT_DESTROYED] = {"destroyed",
                               true,
                               "it was destroyed "
                               "permanently"},
};

enum {
    IS_MANAGED = 1 << PREDICATE_MANAGED,
    IS_CURRENT = 1 << PREDICATE_CURRENT_ATTEMPT,
};

#define EVENT(name) [ENVIRONMENT_##name]

static const struct lifecycle_event events[ENVIRONMENT_EVENT_COUNT] = {
    EVENT(PROVISION_REQUESTED) = {"provision.requested",
                                  0,
                                  "a workspace is wanted again"},
    EVENT(PROVISION_SUCCEEDED) = {"provision.succeeded",
                                  0,
                                  "the host has created the workspace"},
    EVENT(PROVISION_FAILED) = {"provision.failed",
                               0,
                               "the host could not create it, or was "
                               "interrupted"},
    EVENT(PROVISION_CANCELLED) = {"provision.cancelled",
                                  0,
                                  "all threads that waited for it have "
                                  "stopped"},
    EVENT(RETIRE_REQUESTED) = {"retire.requested",
                               IS_MANAGED,
                               "it is no longer needed"},
    EVENT(RETIRE_CANCELLED) = {"retire.cancelled", 0, "it is needed again"},
    EVENT(DESTROY_STARTED) = {"destroy.started",
                              IS_MANAGED,
                              "it is claimed for an attempt to destroy it"},
    EVENT(DESTROY_COMPLETED) = {"destroy.completed",
                                IS_CURRENT,
                                "the host has destroyed it"},
    EVENT(DESTROY_FAILED) = {"destroy.failed",
                             IS_CURRENT,
                             "the host could not destroy it"},
    EVENT(DESTROY_LOST) = {"destroy.lost",
                           0,
                           "no answer to the attempt will arrive"},
};

#define CHOICE(status, what, with, without)                         \
    {                                                               \
        .from = ENVIRONMENT_##status, .event = ENVIRONMENT_##what,  \
        .to = ENVIRONMENT_##without, .to_with = ENVIRONMENT_##with, \
        .fact = FACT_WORKSPACE,                                     \
    }
#define EDGE(status, what, target)                                   \
    {                                                                \
        .from = ENVIRONMENT_##status, .event = ENVIRONMENT_##what,   \
        .to = ENVIRONMENT_##target, .to_with = ENVIRONMENT_##target, \
    }

static const struct lifecycle_edge edges[] = {
    EDGE(PROVISIONING, PROVISION_SUCCEEDED, READY),
    EDGE(PROVISIONING, PROVISION_FAILED, ERROR),
    /* Back to what was there; or away with what may have been begun. */
    CHOICE(PROVISIONING, PROVISION_CANCELLED, READY, DESTROYING),

    EDGE(READY, PROVISION_REQUESTED, PROVISIONING),
    EDGE(READY, RETIRE_REQUESTED, RETIRING),

    EDGE(RETIRING, RETIRE_CANCELLED, READY),
    EDGE(RETIRING, DESTROY_STARTED, DESTROYING),

    EDGE(ERROR, PROVISION_REQUESTED, PROVISIONING),
    EDGE(ERROR, DESTROY_STARTED, DESTROYING),
    /* The answer that was given up for lost. */
    EDGE(ERROR, DESTROY_COMPLETED, DESTROYED),

    EDGE(DESTROYING, DESTROY_COMPLETED, DESTROYED),
    EDGE(DESTROYING, DESTROY_FAILED, RETIRING),
    EDGE(DESTROYING, DESTROY_LOST, ERROR),
};

enum {
    ANY = LIFECYCLE_ANY
};

static const struct lifecycle_rule rules[] = {
    {ANY, ENVIRONMENT_PROVISION_SUCCEEDED, ANY, 0, EFFECT_SET_WORKSPACE},
    /* Restored: an answer to an old attempt has no meaning any more. */
    {ANY, ENVIRONMENT_PROVISION_REQUESTED, ANY, 0, EFFECT_CLEAR_ATTEMPT},
    {ANY, ENVIRONMENT_DESTROY_STARTED, ANY, 0, EFFECT_CLAIM},
    {ANY, ANY, ENVIRONMENT_DESTROYING, 0, EFFECT_STAMP_ATTEMPT},
    {ANY, ENVIRONMENT_DESTROY_FAILED, ANY, 0, EFFECT_CLEAR_ATTEMPT},
    {ANY,
     ANY,
     ENVIRONMENT_DESTROYED,
     0,
     EFFECT_CLEAR_ATTEMPT | EFFECT_CLEAR_WORKSPACE},
};

const struct lifecycle_machine environment_lifecycle = {
    .name = "environment",
    .profile = LIFECYCLE_STRICT,
    .about =
        "An environment is a workspace on a host that threads share. The "
        "request to destroy it is a status,\n"
        "a destroyed environment stays destroyed, and an answer to a destroy "
        "counts only if it belongs to\n"
        "the attempt that the row names. An attempt whose answer was lost "
        "keeps its name in `error`: the answer\n"
        "counts if it comes after all.",
    .initial = ENVIRONMENT_PROVISIONING,
    .statuses = statuses,
    .status_count = COUNT_OF(statuses),
    .events = events,
    .event_count = COUNT_OF(events),
    .edges = edges,
    .edge_count = COUNT_OF(edges),
    .rules = rules,
    .rule_count = COUNT_OF(rules),
};
