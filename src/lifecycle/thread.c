/* The strict machine of a thread, as tables. */

#include "lifecycle/thread.h"

#include "base/check.h"

static const struct lifecycle_status statuses[THREAD_STATUS_COUNT] = {
    [THREAD_IDLE] = {"idle", true, "nothing runs; it can be given a turn"},
    [THREAD_STARTING] = {"starting",
                         false,
                         "a run is being prepared or dispatched"},
    [THREAD_ACTIVE] = {"active", false, "a turn is running"},
    [THREAD_STOPPING] = {"stopping",
                         false,
                         "a stop was requested and is not settled"},
    [THREAD_ERROR] = {"error",
                      true,
                      "the last run failed; it can be given another turn"},
};

enum {
    IS_WANTED = 1 << PREDICATE_NOT_DELETED | 1 << PREDICATE_NOT_ARCHIVED,
    IS_CURRENT = 1 << PREDICATE_CURRENT_RUN,
};

static const struct lifecycle_event events[THREAD_EVENT_COUNT] = {
    [THREAD_RUN_PREPARING] = {"run.preparing",
                              IS_WANTED,
                              "a run was asked for and needs preparation, "
                              "such as a workspace"},
    [THREAD_RUN_STARTED] = {"run.started",
                            IS_WANTED | IS_CURRENT,
                            "a turn was handed to a ready runtime, or the "
                            "runtime says that it runs"},
    [THREAD_RUN_SUCCEEDED] = {"run.succeeded",
                              IS_CURRENT,
                              "the turn has ended, and nothing failed"},
    [THREAD_RUN_FAILED] = {"run.failed",
                           1 << PREDICATE_NOT_DELETED | IS_CURRENT,
                           "the run failed: the turn, the command, the "
                           "preparation, the process or the host"},
    [THREAD_STOP_REQUESTED] = {"stop.requested",
                               0,
                               "a stop of the run is requested"},
    [THREAD_STOP_SETTLED] = {"stop.settled",
                             IS_CURRENT,
                             "the stop is done: nothing runs any more"},
};

#define EDGE(status, what, target)                         \
    {                                                      \
        .from = THREAD_##status, .event = THREAD_##what,   \
        .to = THREAD_##target, .to_with = THREAD_##target, \
    }

static const struct lifecycle_edge edges[] = {
    EDGE(IDLE, RUN_PREPARING, STARTING),
    EDGE(IDLE, RUN_STARTED, ACTIVE),

    EDGE(STARTING, RUN_STARTED, ACTIVE),
    /* A short turn ends before anybody has said that it began. */
    EDGE(STARTING, RUN_SUCCEEDED, IDLE),
    EDGE(STARTING, RUN_FAILED, ERROR),
    EDGE(STARTING, STOP_REQUESTED, STOPPING),

    EDGE(ACTIVE, RUN_SUCCEEDED, IDLE),
    EDGE(ACTIVE, RUN_FAILED, ERROR),
    EDGE(ACTIVE, STOP_REQUESTED, STOPPING),

    EDGE(STOPPING, RUN_SUCCEEDED, IDLE),
    EDGE(STOPPING, RUN_FAILED, ERROR),
    EDGE(STOPPING, STOP_SETTLED, IDLE),

    EDGE(ERROR, RUN_PREPARING, STARTING),
    EDGE(ERROR, RUN_STARTED, ACTIVE),
};

enum {
    ANY = LIFECYCLE_ANY
};

/* Attention is raised when a root thread has an answer, or any thread has
 * failed; not for a requested stop, which the requester expects. */
static const struct lifecycle_rule rules[] = {
    {THREAD_ACTIVE, ANY, THREAD_IDLE, FACT_CHILD, EFFECT_RAISE_ATTENTION},
    {THREAD_STARTING, ANY, THREAD_IDLE, FACT_CHILD, EFFECT_RAISE_ATTENTION},
    {ANY, ANY, THREAD_ERROR, 0, EFFECT_RAISE_ATTENTION},
    {ANY, THREAD_RUN_PREPARING, ANY, 0, EFFECT_STAMP_RUN},
    {THREAD_IDLE, THREAD_RUN_STARTED, ANY, 0, EFFECT_STAMP_RUN},
    {THREAD_ERROR, THREAD_RUN_STARTED, ANY, 0, EFFECT_STAMP_RUN},
    {ANY, ANY, THREAD_IDLE, 0, EFFECT_CLEAR_RUN},
    {ANY, ANY, THREAD_ERROR, 0, EFFECT_CLEAR_RUN},
};

const struct lifecycle_machine thread_lifecycle = {
    .name = "thread",
    .profile = LIFECYCLE_STRICT,
    .about =
        "A thread is a conversation; a host runs its turns. A stop is a "
        "status, so new work while\n"
        "stopping is an edge that does not exist. Each report names its run: a "
        "report about an\n"
        "earlier run is superseded.",
    .initial = THREAD_STARTING,
    .statuses = statuses,
    .status_count = COUNT_OF(statuses),
    .events = events,
    .event_count = COUNT_OF(events),
    .edges = edges,
    .edge_count = COUNT_OF(edges),
    .rules = rules,
    .rule_count = COUNT_OF(rules),
};
