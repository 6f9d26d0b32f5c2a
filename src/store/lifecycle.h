/* The only writer of a status.
 *
 * Code that knows of an event reports it here. The row is loaded, the state
 * machine decides (lifecycle/machine.h), and one statement, UPDATE ... WHERE id
 * = ? AND status = ?, writes the result together with the columns that belong
 * to the event: all in one immediate transaction.
 *
 *   lifecycle-1  A status changes by an edge of its table and in no other way.
 *                No other code has SQL that writes one (tools/tidy).
 *   lifecycle-2  An event that does not apply leaves the row unchanged, byte
 *                for byte, causes no notification, and is explained in the log:
 *                id, event, reason, detail.
 *   lifecycle-3  If the row no longer has the status that it was loaded with,
 *                nothing is written: a conflict. The same holds for a destroy
 *                that a thread prevents, because that condition is part of the
 *                statement.
 *
 * Not here: which event to report, and how to react to the outcome. */

#ifndef STORE_LIFECYCLE_H
#define STORE_LIFECYCLE_H

#include "store/registry.h"

/* An event. The strings are borrowed. */
struct lifecycle_report {
    uint8_t event;

    /* For a thread: the run that it concerns, or NULL. `begins`: the run is
     * new, and is stored in the row. A report about another run than the row's
     * is stale, and so is one that begins a run where the machine begins
     * none. */
    const char *run;
    bool begins;

    /* For an environment: the destroy attempt that it concerns or begins, and
     * the workspace that was created; or NULL, or absent. */
    const char *attempt;
    struct value workspace;

    /* If it does not apply, that is expected and only logged for debugging: the
     * later one of two reports that say the same and come in any order. */
    bool is_routine;
};

struct lifecycle_result {
    enum lifecycle_kind kind;
    uint8_t from; /* the status before; undefined if NOT_FOUND */
    uint8_t to;   /* the status after */
    char detail[LIFECYCLE_DETAIL_SIZE]; /* why */
};

/* Inside registry_begin and registry_end. Any result but OK is a fault, and the
 * transaction must end with it. ARGUMENT: the machine needs a run or an
 * attempt, and the report has none. */
MUST_CHECK enum err registry_thread_event_within(
    struct registry *registry,
    const char *id,
    const struct lifecycle_report *report,
    struct lifecycle_result *result,
    struct err_detail *detail);
MUST_CHECK enum err registry_environment_event_within(
    struct registry *registry,
    const char *id,
    const struct lifecycle_report *report,
    struct lifecycle_result *result,
    struct err_detail *detail);

/* The same in a transaction of their own. */
MUST_CHECK enum err registry_thread_event(struct registry *registry,
                                          const char *id,
                                          const struct lifecycle_report *report,
                                          uint64_t now_ms,
                                          struct lifecycle_result *result,
                                          struct err_detail *detail);
MUST_CHECK enum err registry_environment_event(
    struct registry *registry,
    const char *id,
    const struct lifecycle_report *report,
    uint64_t now_ms,
    struct lifecycle_result *result,
    struct err_detail *detail);

#endif
