/* Lifecycle machines: callers report what happened, a table decides the status.
 *
 * A machine is data: statuses, events, edges, and for each event the
 * predicates that supersede it. lifecycle_evaluate() is the only reader of that
 * data; every writer of a status calls it first and writes its outcome.
 *
 *   machine-1  No caller names a target status: an event and the row decide.
 *   machine-2  An event that does not apply is an outcome, not an error. Late
 *              and repeated reports are normal; every one of them has an
 *              explanation.
 *   machine-3  Predicates are tested before the table, in the order of the
 *              enum: an outdated event is superseded even where the table has
 *              no edge for it.
 *   machine-4  For each status and event there is at most one edge. An edge
 *              back to its own status says that nothing needs to be done.
 *   machine-5  The evaluator is total: every status, event and set of facts of
 *              a machine has an outcome. It allocates nothing and has no state.
 *
 * A row is passed as a set of facts, because tables and predicates depend on
 * nothing else; what must be written beside the status is returned as a set of
 * effects. Not here: rows, columns, clocks (the writer), and lists of machines
 * (lifecycle/catalog.h). */

#ifndef LIFECYCLE_MACHINE_H
#define LIFECYCLE_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a machine may depend on in a row and in the report about it: bits of a
 * set. The empty set is the ordinary row. */
enum lifecycle_fact {
    FACT_DELETED = 1 << 0,        /* the row is marked as deleted */
    FACT_ARCHIVED = 1 << 1,       /* it is archived */
    FACT_STOP_REQUESTED = 1 << 2, /* a stop is requested and not settled */
    FACT_CHILD = 1 << 3,          /* the thread belongs to another thread */
    FACT_STALE_RUN = 1 << 4,      /* a report on another run than the row's */
    FACT_MANAGED = 1 << 5,        /* the workspace is ours to destroy */
    FACT_CLEANUP_REQUESTED = 1 << 6, /* its removal is requested */
    FACT_WORKSPACE = 1 << 7,         /* the row has a workspace path */
    FACT_STALE_ATTEMPT = 1 << 8,     /* an answer to another destroy attempt */
};

/* What must hold for an event to count, in the order of testing (machine-3). */
enum lifecycle_predicate {
    PREDICATE_NOT_DELETED,
    PREDICATE_NOT_ARCHIVED,
    PREDICATE_NOT_STOP_REQUESTED,
    PREDICATE_CURRENT_RUN,
    PREDICATE_MANAGED,
    PREDICATE_CLEANUP_REQUESTED,
    PREDICATE_WORKSPACE_PRESENT,
    PREDICATE_WORKSPACE_ABSENT,
    PREDICATE_CURRENT_ATTEMPT,
    PREDICATE_NONE, /* also the number of them */
};

/* What a writer stores in the same statement as the status: bits of a set. */
enum lifecycle_effect {
    EFFECT_RAISE_ATTENTION = 1 << 0, /* the time of attention is now */
    EFFECT_STAMP_RUN = 1 << 1,       /* the row's run is the event's */
    EFFECT_CLEAR_RUN = 1 << 2,       /* the row has no run */
    EFFECT_CLAIM = 1 << 3,           /* only if no thread prevents it */
    EFFECT_STAMP_ATTEMPT = 1 << 4,   /* the destroy attempt is the event's */
    EFFECT_CLEAR_ATTEMPT = 1 << 5,   /* the row has no destroy attempt */
    EFFECT_CLEAR_CLEANUP = 1 << 6,   /* its removal is no longer requested */
    EFFECT_SET_WORKSPACE = 1 << 7,   /* the workspace is the event's */
    EFFECT_CLEAR_WORKSPACE = 1 << 8, /* the row has no workspace path */
};

enum {
    LIFECYCLE_FACT_COUNT = 9,
    LIFECYCLE_EFFECT_COUNT = 9,
};

enum lifecycle_kind {
    LIFECYCLE_APPLIED,    /* the status changes */
    LIFECYCLE_UNCHANGED,  /* an edge says that nothing is to be done */
    LIFECYCLE_SUPERSEDED, /* a predicate does not hold */
    LIFECYCLE_ILLEGAL,    /* there is no edge */
    LIFECYCLE_NOT_FOUND,  /* from a writer only: there is no such row */
    LIFECYCLE_CONFLICT,   /* from a writer only: the row has changed */
    LIFECYCLE_KIND_COUNT,
};

/* New code uses the strict profile. The observed one is the behaviour of the
 * system that the tables were taken from, cell by cell, with doubtful cells
 * marked. */
enum lifecycle_profile {
    LIFECYCLE_STRICT,
    LIFECYCLE_OBSERVED,
    LIFECYCLE_PROFILE_COUNT,
};

/* -- A machine ----------------------------------------------------------- */

/* Statuses and events are numbers: the indexes of the machine's arrays. */

struct lifecycle_status {
    const char *name;
    bool is_resting; /* it may last for ever: no event is owed */
    const char *meaning;
};

struct lifecycle_event {
    const char *name;
    unsigned predicates; /* bits 1 << PREDICATE_* */
    const char *meaning;
};

/* One line of a table, one line of a diff. */
struct lifecycle_edge {
    uint8_t from;
    uint8_t event;
    uint8_t to;      /* without the fact */
    uint8_t to_with; /* with it; the same as `to` if there is no fact */
    unsigned fact;   /* one FACT_*, or 0: the target does not depend on it */
    const char *questionable; /* what looks wrong about it, or NULL */
};

enum {
    LIFECYCLE_ANY = UINT8_MAX,
};

/* An applied transition has all effects of all rules that match it. */
struct lifecycle_rule {
    uint8_t from;    /* these may be LIFECYCLE_ANY */
    uint8_t event;   /* */
    uint8_t to;      /* */
    unsigned unless; /* one FACT_* that disables the rule, or 0 */
    unsigned effects;
};

struct lifecycle_machine {
    const char *name;
    enum lifecycle_profile profile;
    const char *about; /* a paragraph for people */
    uint8_t initial;
    const struct lifecycle_status *statuses;
    size_t status_count;
    const struct lifecycle_event *events;
    size_t event_count;
    const struct lifecycle_edge *edges; /* by status, then by event */
    size_t edge_count;
    const struct lifecycle_rule *rules;
    size_t rule_count;
};

/* The edge of a status and an event, or NULL. */
const struct lifecycle_edge *lifecycle_edge(
    const struct lifecycle_machine *machine,
    uint8_t status,
    uint8_t event);

/* All facts that an outcome of the machine can depend on. */
unsigned lifecycle_facts_read(const struct lifecycle_machine *machine);

/* True if the tables are sound: names, numbers in range, edges in order and
 * one per cell (machine-4), every status reachable. */
bool lifecycle_machine_check(const struct lifecycle_machine *machine);

/* -- An outcome ---------------------------------------------------------- */

struct lifecycle_outcome {
    enum lifecycle_kind kind;
    uint8_t to;       /* APPLIED: the new status, else the current one */
    unsigned effects; /* EFFECT_* bits, APPLIED only */
    enum lifecycle_predicate predicate; /* SUPERSEDED, else NONE */
    const struct lifecycle_edge *edge;  /* APPLIED and UNCHANGED */
};

/* What `event` means for a row in `status` with `facts` (FACT_* bits; bits that
 * the machine does not read have no influence). Both numbers are the machine's.
 */
struct lifecycle_outcome lifecycle_evaluate(
    const struct lifecycle_machine *machine,
    uint8_t status,
    uint8_t event,
    unsigned facts);

enum {
    LIFECYCLE_DETAIL_SIZE = 128,
};

/* Explains an outcome in half a sentence, for a log. Cut to `size`;
 * LIFECYCLE_DETAIL_SIZE is always enough. */
void lifecycle_detail(const struct lifecycle_machine *machine,
                      uint8_t status,
                      uint8_t event,
                      const struct lifecycle_outcome *outcome,
                      char *text,
                      size_t size);

/* Whether the predicate holds for a row with these facts. */
bool lifecycle_holds(enum lifecycle_predicate predicate, unsigned facts);

/* -- Names --------------------------------------------------------------- */

/* The status or event with that name, or -1. */
int lifecycle_status_find(const struct lifecycle_machine *machine,
                          const char *name);
int lifecycle_event_find(const struct lifecycle_machine *machine,
                         const char *name);

/* The name of one bit of a set. */
const char *lifecycle_fact_name(enum lifecycle_fact fact);
const char *lifecycle_fact_meaning(enum lifecycle_fact fact);
const char *lifecycle_effect_name(enum lifecycle_effect effect);
const char *lifecycle_effect_meaning(enum lifecycle_effect effect);

const char *lifecycle_predicate_name(enum lifecycle_predicate predicate);
const char *lifecycle_predicate_wrong(enum lifecycle_predicate predicate);
const char *lifecycle_kind_name(enum lifecycle_kind kind);
const char *lifecycle_profile_name(enum lifecycle_profile profile);

/* The FACT_* with that name, or 0. */
unsigned lifecycle_fact_find(const char *name);

/* False if there is no such profile. */
bool lifecycle_profile_find(const char *name, enum lifecycle_profile *out);

#endif
