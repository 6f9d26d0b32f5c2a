/* The machine of a thread as it was observed, as tables: 50 edges, nine of
 * them doubtful and kept nevertheless, each with what is wrong about it. A
 * change of an edge here is an error: what should be better is in thread.c. */

#include "base/check.h"
#include "lifecycle/thread.h"

static const struct lifecycle_status statuses[OBSERVED_THREAD_STATUS_COUNT] = {
    [OBSERVED_THREAD_CREATED] = {"created",
                                 false,
                                 "the row exists, nothing else does"},
    [OBSERVED_THREAD_PROVISIONING] = {"provisioning",
                                      false,
                                      "its workspace is being created"},
    [OBSERVED_THREAD_IDLE] = {"idle", true, "no turn runs"},
    [OBSERVED_THREAD_ACTIVE] = {"active", false, "a turn runs"},
    [OBSERVED_THREAD_ERROR] = {"error", true, "something failed"},
};

enum {
    NOT_DELETED = 1 << PREDICATE_NOT_DELETED,
    NOT_ARCHIVED = 1 << PREDICATE_NOT_ARCHIVED,
    NOT_STOPPED = 1 << PREDICATE_NOT_STOP_REQUESTED,
};

#define EVENT(name) [OBSERVED_THREAD_##name]

static const struct lifecycle_event events[OBSERVED_THREAD_EVENT_COUNT] = {
    EVENT(TURN_STARTED) = {"turn.started",
                           NOT_STOPPED,
                           "the host reports that a turn began"},
    EVENT(TURN_COMPLETED) = {"turn.completed",
                             0,
                             "the host reports that the turn succeeded"},
    EVENT(TURN_FAILED) = {"turn.failed",
                          NOT_STOPPED,
                          "the host reports that the turn failed"},
    EVENT(TURN_INTERRUPTED) = {"turn.interrupted",
                               0,
                               "the host reports that the turn was "
                               "interrupted"},
    EVENT(RUNTIME_EXITED) = {"runtime.exited",
                             NOT_STOPPED,
                             "the host reports that the process died"},
    EVENT(TURN_DISPATCHED) = {"turn.dispatched",
                              0,
                              "a turn was handed to a ready runtime"},
    EVENT(REPROVISION_STARTED) = {"reprovision.started",
                                  0,
                                  "its workspace is being restored for a "
                                  "waiting turn"},
    EVENT(START_SUCCEEDED) = {"start.succeeded",
                              NOT_DELETED | NOT_ARCHIVED | NOT_STOPPED,
                              "the command to start it has succeeded"},
    EVENT(COMMAND_FAILED) = {"command.failed",
                             NOT_DELETED,
                             "the command to start or submit has failed"},
    EVENT(PROVISION_FAILED) = {"provision.failed",
                               NOT_DELETED,
                               "provisioning of it or of its environment has "
                               "failed"},
    EVENT(WORKSPACE_LOST) = {"workspace.lost",
                             NOT_DELETED | NOT_ARCHIVED,
                             "its environment was destroyed"},
    EVENT(STOP_COMPLETED) = {"stop.completed",
                             0,
                             "a stop that was asked for is done"},
    EVENT(
        SESSION_LOST) = {"session.lost", 0, "the host restarted or went away"},
    EVENT(RUNTIME_OBSERVED_ACTIVE) = {"runtime.observed-active",
                                      NOT_DELETED | NOT_STOPPED,
                                      "a connecting host reports that it runs"},
};

#define DOUBT(status, what, target, doubt)                                   \
    {                                                                        \
        .from = OBSERVED_THREAD_##status, .event = OBSERVED_THREAD_##what,   \
        .to = OBSERVED_THREAD_##target, .to_with = OBSERVED_THREAD_##target, \
        .questionable = (doubt),                                             \
    }
#define EDGE(status, what, target) DOUBT(status, what, target, NULL)

static const char early[] =
    "a completion is applied although no start of the turn was reported";
static const char revived[] =
    "a late completion makes a thread idle that is being revived";
static const char no_turn[] = "an error although no turn runs";
static const char all_fail[] =
    "a failure of the environment is an error of every thread in it";
static const char not_back[] = "a thread that never ran is idle, not created";
static const char before_ack[] = "active before the host has reported anything";

static const struct lifecycle_edge edges[] = {
    EDGE(CREATED, TURN_STARTED, ACTIVE),
    DOUBT(CREATED, TURN_COMPLETED, IDLE, early),
    EDGE(CREATED, TURN_FAILED, ERROR),
    EDGE(CREATED, TURN_INTERRUPTED, IDLE),
    EDGE(CREATED, RUNTIME_EXITED, ERROR),
    EDGE(CREATED, START_SUCCEEDED, ACTIVE),
    EDGE(CREATED, COMMAND_FAILED, ERROR),
    DOUBT(CREATED, PROVISION_FAILED, ERROR, all_fail),
    EDGE(CREATED, WORKSPACE_LOST, ERROR),
    DOUBT(CREATED, STOP_COMPLETED, IDLE, not_back),
    EDGE(CREATED, SESSION_LOST, ERROR),
    EDGE(CREATED, RUNTIME_OBSERVED_ACTIVE, ACTIVE),

    EDGE(PROVISIONING, TURN_STARTED, ACTIVE),
    DOUBT(PROVISIONING, TURN_COMPLETED, IDLE, revived),
    EDGE(PROVISIONING, TURN_FAILED, ERROR),
    EDGE(PROVISIONING, TURN_INTERRUPTED, IDLE),
    EDGE(PROVISIONING, RUNTIME_EXITED, ERROR),
    EDGE(PROVISIONING, START_SUCCEEDED, ACTIVE),
    EDGE(PROVISIONING, COMMAND_FAILED, ERROR),
    EDGE(PROVISIONING, PROVISION_FAILED, ERROR),
    EDGE(PROVISIONING, WORKSPACE_LOST, ERROR),
    EDGE(PROVISIONING, STOP_COMPLETED, IDLE),
    EDGE(PROVISIONING, SESSION_LOST, ERROR),
    EDGE(PROVISIONING, RUNTIME_OBSERVED_ACTIVE, ACTIVE),

    EDGE(IDLE, TURN_STARTED, ACTIVE),
    DOUBT(IDLE, TURN_FAILED, ERROR, no_turn),
    DOUBT(IDLE, RUNTIME_EXITED, ERROR, no_turn),
    EDGE(IDLE, TURN_DISPATCHED, ACTIVE),
    EDGE(IDLE, REPROVISION_STARTED, PROVISIONING),
    EDGE(IDLE, START_SUCCEEDED, ACTIVE),
    EDGE(IDLE, COMMAND_FAILED, ERROR),
    DOUBT(IDLE, PROVISION_FAILED, ERROR, all_fail),
    EDGE(IDLE, WORKSPACE_LOST, ERROR),
    EDGE(IDLE, RUNTIME_OBSERVED_ACTIVE, ACTIVE),

    EDGE(ACTIVE, TURN_COMPLETED, IDLE),
    EDGE(ACTIVE, TURN_FAILED, ERROR),
    EDGE(ACTIVE, TURN_INTERRUPTED, IDLE),
    EDGE(ACTIVE, RUNTIME_EXITED, ERROR),
    EDGE(ACTIVE, COMMAND_FAILED, ERROR),
    DOUBT(ACTIVE, PROVISION_FAILED, ERROR, all_fail),
    EDGE(ACTIVE, WORKSPACE_LOST, ERROR),
    EDGE(ACTIVE, STOP_COMPLETED, IDLE),
    EDGE(ACTIVE, SESSION_LOST, ERROR),

    EDGE(ERROR, TURN_STARTED, ACTIVE),
    EDGE(ERROR, TURN_COMPLETED, IDLE),
    EDGE(ERROR, TURN_INTERRUPTED, IDLE),
    DOUBT(ERROR, TURN_DISPATCHED, ACTIVE, before_ack),
    EDGE(ERROR, REPROVISION_STARTED, PROVISIONING),
    EDGE(ERROR, START_SUCCEEDED, ACTIVE),
    EDGE(ERROR, RUNTIME_OBSERVED_ACTIVE, ACTIVE),
};

#define RULE(status, target, fact)                                \
    {                                                             \
        .from = OBSERVED_THREAD_##status, .event = LIFECYCLE_ANY, \
        .to = OBSERVED_THREAD_##target, .unless = (fact),         \
        .effects = EFFECT_RAISE_ATTENTION,                        \
    }

static const struct lifecycle_rule rules[] = {
    RULE(ACTIVE, IDLE, FACT_CHILD),
    RULE(ACTIVE, ERROR, 0),
    RULE(PROVISIONING, ERROR, 0),
};

const struct lifecycle_machine observed_thread_lifecycle = {
    .name = "thread",
    .profile = LIFECYCLE_OBSERVED,
    .about = "The behaviour that the strict tables were derived from, kept for "
             "comparison: a stop is a fact of\n"
             "the row, reports name no run, and some edges look wrong.",
    .initial = OBSERVED_THREAD_CREATED,
    .statuses = statuses,
    .status_count = COUNT_OF(statuses),
    .events = events,
    .event_count = COUNT_OF(events),
    .edges = edges,
    .edge_count = COUNT_OF(edges),
    .rules = rules,
    .rule_count = COUNT_OF(rules),
};
