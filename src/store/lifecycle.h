/* The one writer of a status.
 *
 * Who knows that something happened reports it here. The row is loaded, the
 * machine is asked (lifecycle/machine.h), and what it says is written by one
 * statement, UPDATE ... WHERE id = ? AND status = ?, together with the columns
 * that belong to the event: all of it in one immediate transaction.
 *
 *   S1  A status changes by an edge of its table and in no other way. No other
 *       code has SQL that writes one (tools/tidy).
 *   S2  An event that does not apply leaves the row as it was, byte for byte,
 *       tells nobody, and is explained in the log: id, event, reason, detail.
 *   S3  If the row has left the status that it was loaded with, nothing is
 *       written: a conflict. So it is for a destroy that a thread is in the
 *       way of, because that condition is part of the same statement.
 *
 * Not here: which event to report, and what to do about the outcome. */

#ifndef STORE_LIFECYCLE_H
#define STORE_LIFECYCLE_H

#include "store/registry.h"

/* What happened. The strings are borrowed. */
struct lifecycle_report {
    uint8_t event;

    /* Of a thread: the run that it is about, or NULL. `begins`: the run is
     * new, and the row shall have it. A report about another run than the
     * row's is stale, and so is one that begins a run where the machine begins
     * none. */
    const char *run;
    bool begins;

    /* Of an environment: the destroy attempt that it is about or begins, and
     * the workspace that was made; or NULL, or absent. */
    const char *attempt;
    struct value workspace;

    /* That it does not apply is no news: it is logged for debugging only. Of
     * two reports that come in any order and say the same, the later one. */
    bool is_routine;
};

struct lifecycle_result {
    enum lifecycle_kind kind;
    uint8_t from; /* the status that it had; without meaning if NOT_FOUND */
    uint8_t to;   /* the status that it has */
    char detail[LIFECYCLE_DETAIL_SIZE]; /* why */
};

/* Inside registry_begin and registry_end. Other than OK is a fault, and the
 * transaction must end with it. ARGUMENT: the machine wants a run or an
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
