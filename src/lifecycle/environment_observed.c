/* The machine of an environment as it was observed, as tables: 19 edges, eight
 * of them doubtful and kept nevertheless, each with what is wrong about it. A
 * change of an edge here is an error: what should be better is in
 * environment.c. */

#include "base/check.h"
#include "lifecycle/environment.h"

static const struct lifecycle_status
    statuses[OBSERVED_ENVIRONMENT_STATUS_COUNT] = {
        [OBSERVED_ENVIRONMENT_PROVISIONING] = {"provisioning",
                                               false,
                                               "its workspace is being "
                                               "created"},
        [OBSERVED_ENVIRONMENT_READY] = {"ready",
                                        true,
                                        "threads can use it; it may have no "
                                        "path yet"},
        [OBSERVED_ENVIRONMENT_ERROR] = {"error",
                                        true,
                                        "it could not be "
                                        "created"},
        [OBSERVED_ENVIRONMENT_DESTROYING] = {"destroying",
                                             false,
                                             "the host is destroying it"},
        [OBSERVED_ENVIRONMENT_DESTROYED] = {"destroyed",
                                            true,
                                            "it was "
                                            "destroyed"},
};

enum {
    MANAGED = 1 << PREDICATE_MANAGED,
    REQUESTED = 1 << PREDICATE_CLEANUP_REQUESTED,
    PRESENT = 1 << PREDICATE_WORKSPACE_PRESENT,
    ABSENT = 1 << PREDICATE_WORKSPACE_ABSENT,
    CURRENT = 1 << PREDICATE_CURRENT_ATTEMPT,
};

#define EVENT(name) [OBSERVED_ENVIRONMENT_##name]

static const struct lifecycle_event events[OBSERVED_ENVIRONMENT_EVENT_COUNT] = {
    EVENT(PROVISION_REQUESTED) = {"provision.requested",
                                  0,
                                  "its workspace is wanted, again or for "
                                  "the first time"},
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
    EVENT(DESTROY_DISPATCHED) = {"destroy.dispatched",
                                 MANAGED | REQUESTED | PRESENT,
                                 "it is claimed for an attempt to "
                                 "destroy it"},
    EVENT(DESTROY_SUCCEEDED) = {"destroy.succeeded",
                                0,
                                "the host has destroyed it"},
    EVENT(DESTROY_FAILED) = {"destroy.failed",
                             CURRENT,
                             "the host could not destroy it"},
    EVENT(DESTROY_LOST) = {"destroy.lost",
                           REQUESTED,
                           "the answer to a destroy was lost"},
    EVENT(CLEANUP_COMPLETED) = {"cleanup.completed",
                                MANAGED | REQUESTED | ABSENT,
                                "there is no workspace to destroy"},
};

#define CHOICE(status, what, with, without)                             \
    {                                                                   \
        .from = OBSERVED_ENVIRONMENT_##status,                          \
        .event = OBSERVED_ENVIRONMENT_##what,                           \
        .to = OBSERVED_ENVIRONMENT_##without,                           \
        .to_with = OBSERVED_ENVIRONMENT_##with, .fact = FACT_WORKSPACE, \
    }
#define DOUBT(status, what, target, doubt)                                 \
    {                                                                      \
        .from = OBSERVED_ENVIRONMENT_##status,                             \
        .event = OBSERVED_ENVIRONMENT_##what,                              \
        .to = OBSERVED_ENVIRONMENT_##target,                               \
        .to_with = OBSERVED_ENVIRONMENT_##target, .questionable = (doubt), \
    }
#define EDGE(status, what, target) DOUBT(status, what, target, NULL)

static const char stale_attempt[] =
    "revives a destroy in flight and leaves its attempt behind";
static const char from_death[] = "a destroyed environment comes back";
static const char late_success[] =
    "a late success undoes the failure that was recorded";
static const char revives[] = "a late success revives a destroy in flight";
static const char settled[] = "a late failure overrides a settled outcome";
static const char half[] = "a late failure hides a destroy in flight";
static const char no_answer[] =
    "a destroy in flight is finished without its answer";

static const struct lifecycle_edge edges[] = {
    EDGE(PROVISIONING, PROVISION_SUCCEEDED, READY),
    EDGE(PROVISIONING, PROVISION_FAILED, ERROR),
    CHOICE(PROVISIONING, PROVISION_CANCELLED, READY, ERROR),

    EDGE(READY, PROVISION_REQUESTED, PROVISIONING),
    DOUBT(READY, PROVISION_FAILED, ERROR, settled),
    EDGE(READY, DESTROY_DISPATCHED, DESTROYING),
    EDGE(READY, CLEANUP_COMPLETED, DESTROYED),

    EDGE(ERROR, PROVISION_REQUESTED, PROVISIONING),
    DOUBT(ERROR, PROVISION_SUCCEEDED, READY, late_success),
    EDGE(ERROR, CLEANUP_COMPLETED, DESTROYED),

    DOUBT(DESTROYING, PROVISION_REQUESTED, PROVISIONING, stale_attempt),
    DOUBT(DESTROYING, PROVISION_SUCCEEDED, READY, revives),
    DOUBT(DESTROYING, PROVISION_FAILED, ERROR, half),
    EDGE(DESTROYING, DESTROY_SUCCEEDED, DESTROYED),
    CHOICE(DESTROYING, DESTROY_FAILED, READY, ERROR),
    CHOICE(DESTROYING, DESTROY_LOST, READY, DESTROYED),
    DOUBT(DESTROYING, CLEANUP_COMPLETED, DESTROYED, no_answer),

    DOUBT(DESTROYED, PROVISION_REQUESTED, PROVISIONING, from_death),
    DOUBT(DESTROYED, PROVISION_SUCCEEDED, READY, from_death),
};

#define ON_EVENT(what, all)                                          \
    {                                                                \
        .from = LIFECYCLE_ANY, .event = OBSERVED_ENVIRONMENT_##what, \
        .to = LIFECYCLE_ANY, .effects = (all),                       \
    }

static const struct lifecycle_rule rules[] = {
    ON_EVENT(PROVISION_SUCCEEDED, EFFECT_SET_WORKSPACE),
    ON_EVENT(DESTROY_DISPATCHED, EFFECT_CLAIM | EFFECT_STAMP_ATTEMPT),
    ON_EVENT(DESTROY_FAILED, EFFECT_CLEAR_ATTEMPT),
    ON_EVENT(DESTROY_LOST, EFFECT_CLEAR_ATTEMPT),
    {
        .from = LIFECYCLE_ANY,
        .event = LIFECYCLE_ANY,
        .to = OBSERVED_ENVIRONMENT_DESTROYED,
        .effects = EFFECT_CLEAR_ATTEMPT | EFFECT_CLEAR_CLEANUP,
    },
};

const struct lifecycle_machine observed_environment_lifecycle = {
    .name = "environment",
    .profile = LIFECYCLE_OBSERVED,
    .about = "The behaviour that the strict tables were derived from, kept for "
             "comparison: the request to\n"
             "destroy is a fact of the row, and late answers revive "
             "environments that are being destroyed.",
    .initial = OBSERVED_ENVIRONMENT_PROVISIONING,
    .statuses = statuses,
    .status_count = COUNT_OF(statuses),
    .events = events,
    .event_count = COUNT_OF(events),
    .edges = edges,
    .edge_count = COUNT_OF(edges),
    .rules = rules,
    .rule_count = COUNT_OF(rules),
};
