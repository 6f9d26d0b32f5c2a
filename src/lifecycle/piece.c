/* The machine of a piece, as tables. */

#include "lifecycle/piece.h"

#include "base/check.h"

static const struct lifecycle_status statuses[PIECE_STATUS_COUNT] = {
    [PIECE_CREATED] = {"created", true, "it has never been started"},
    [PIECE_STARTING] = {"starting", false, "its pattern is being set up"},
    [PIECE_RUNNING] = {"running", true, "it reacts"},
    [PIECE_STOPPING] = {"stopping", false, "its last run is being ended"},
    [PIECE_STOPPED] = {"stopped", true, "its last run is over"},
    [PIECE_ERROR] = {"error", true, "its last run failed"},
};

enum {
    IS_WANTED = 1 << PREDICATE_NOT_DELETED,
    IS_CURRENT = 1 << PREDICATE_CURRENT_RUN,
};

static const struct lifecycle_event events[PIECE_EVENT_COUNT] = {
    [PIECE_DO_START] = {"start", IS_WANTED, "it should run"},
    [PIECE_ON_STARTED] = {"started",
                          IS_WANTED | IS_CURRENT,
                          "the run has been set up"},
    [PIECE_ON_FAILED] = {"failed", IS_CURRENT, "the run has failed"},
    [PIECE_DO_STOP] = {"stop", 0, "it should not run"},
    [PIECE_ON_STOPPED] = {"stopped", IS_CURRENT, "the run has ended"},
    [PIECE_DO_RESTART] = {"restart",
                          IS_WANTED,
                          "it should restart, even if it is running"},
    [PIECE_DO_RESUME] = {"resume",
                         0,
                         "a process has opened the space, and no other process "
                         "runs its pieces"},
};

#define EDGE(status, what, target)                                           \
    {                                                                        \
        .from = PIECE_##status, .event = PIECE_##what, .to = PIECE_##target, \
        .to_with = PIECE_##target,                                           \
    }
#define UNLESS_DELETED(status, what, target)                                 \
    {                                                                        \
        .from = PIECE_##status, .event = PIECE_##what, .to = PIECE_##target, \
        .to_with = PIECE_STOPPED, .fact = FACT_DELETED,                      \
    }

static const struct lifecycle_edge edges[] = {
    EDGE(CREATED, DO_START, STARTING),
    EDGE(CREATED, DO_STOP, STOPPED),
    EDGE(CREATED, DO_RESTART, STARTING),
    EDGE(CREATED, DO_RESUME, CREATED),

    EDGE(STARTING, DO_START, STARTING),
    EDGE(STARTING, ON_STARTED, RUNNING),
    EDGE(STARTING, ON_FAILED, ERROR),
    EDGE(STARTING, DO_STOP, STOPPING),
    EDGE(STARTING, ON_STOPPED, STOPPED),
    EDGE(STARTING, DO_RESTART, STARTING),
    UNLESS_DELETED(STARTING, DO_RESUME, STARTING),

    EDGE(RUNNING, DO_START, RUNNING),
    EDGE(RUNNING, ON_STARTED, RUNNING),
    EDGE(RUNNING, ON_FAILED, ERROR),
    EDGE(RUNNING, DO_STOP, STOPPING),
    EDGE(RUNNING, ON_STOPPED, STOPPED),
    EDGE(RUNNING, DO_RESTART, STARTING),
    UNLESS_DELETED(RUNNING, DO_RESUME, STARTING),

    EDGE(STOPPING, ON_STARTED, STOPPING),
    EDGE(STOPPING, ON_FAILED, ERROR),
    EDGE(STOPPING, DO_STOP, STOPPING),
    EDGE(STOPPING, ON_STOPPED, STOPPED),
    EDGE(STOPPING, DO_RESUME, STOPPED),

    EDGE(STOPPED, DO_START, STARTING),
    EDGE(STOPPED, ON_STARTED, STOPPED),
    EDGE(STOPPED, ON_FAILED, STOPPED),
    EDGE(STOPPED, DO_STOP, STOPPED),
    EDGE(STOPPED, ON_STOPPED, STOPPED),
    EDGE(STOPPED, DO_RESTART, STARTING),
    EDGE(STOPPED, DO_RESUME, STOPPED),

    EDGE(ERROR, DO_START, STARTING),
    EDGE(ERROR, ON_STARTED, ERROR),
    EDGE(ERROR, ON_FAILED, ERROR),
    /* Seen, and put away. */
    EDGE(ERROR, DO_STOP, STOPPED),
    EDGE(ERROR, ON_STOPPED, ERROR),
    EDGE(ERROR, DO_RESTART, STARTING),
    EDGE(ERROR, DO_RESUME, ERROR),
};

static const struct lifecycle_rule rules[] = {
    {
        .from = LIFECYCLE_ANY,
        .event = LIFECYCLE_ANY,
        .to = PIECE_STARTING,
        .effects = EFFECT_STAMP_RUN,
    },
};

const struct lifecycle_machine piece_lifecycle = {
    .name = "piece",
    .profile = LIFECYCLE_STRICT,
    .about =
        "A piece is an instance of a pattern that a runtime keeps running. "
        "Requests (start, stop, restart,\n"
        "resume) set the goal; reports (started, failed, stopped) name their "
        "run, so that a late report\n"
        "cannot affect the next run. Duplicates change nothing.",
    .initial = PIECE_CREATED,
    .statuses = statuses,
    .status_count = COUNT_OF(statuses),
    .events = events,
    .event_count = COUNT_OF(events),
    .edges = edges,
    .edge_count = COUNT_OF(edges),
    .rules = rules,
    .rule_count = COUNT_OF(rules),
};
