/* The evaluator, and the names that all machines share. Reads tables and
 * changes nothing; it does not know which tables exist. */

#include "lifecycle/machine.h"

#include <stdio.h>
#include <string.h>

#include "base/check.h"

/* -- What all machines share --------------------------------------------- */

struct named_bit {
    const char *name;
    const char *meaning;
};

static const struct named_bit fact_table[LIFECYCLE_FACT_COUNT] = {
    {"deleted", "the row is marked as deleted"},
    {"archived", "the row is archived"},
    {"stop-requested", "a stop is requested and not settled"},
    {"child", "the thread belongs to another thread"},
    {"stale-run", "the report is about another run than the row's"},
    {"managed", "the workspace is managed here and can be destroyed"},
    {"cleanup-requested", "cleanup of the environment is requested"},
    {"workspace", "the row has a workspace path"},
    {"stale-attempt", "the answer is to another destroy attempt"},
};

static const struct named_bit effect_table[LIFECYCLE_EFFECT_COUNT] = {
    {"raise-attention", "the time of attention is now"},
    {"stamp-run", "the row's run is the event's"},
    {"clear-run", "the row has no run any more"},
    {"claim",
     "only if no thread of the environment is live or has a stop requested"},
    {"stamp-attempt", "the row's destroy attempt is the event's"},
    {"clear-attempt", "the row has no destroy attempt any more"},
    {"clear-cleanup", "cleanup of the environment is no longer requested"},
    {"set-workspace", "the row's workspace is the event's"},
    {"clear-workspace", "the row has no workspace path any more"},
};

static const struct predicate {
    const char *name;
    unsigned fact;
    bool wanted; /* the fact must be there, or must not */
    const char *wrong;
} predicate_table[PREDICATE_NONE] = {
    [PREDICATE_NOT_DELETED] = {"notDeleted",
                               FACT_DELETED,
                               false,
                               "the row is deleted"},
    [PREDICATE_NOT_ARCHIVED] = {"notArchived",
                                FACT_ARCHIVED,
                                false,
                                "the row is archived"},
    [PREDICATE_NOT_STOP_REQUESTED] = {"notStopRequested",
                                      FACT_STOP_REQUESTED,
                                      false,
                                      "a stop is requested"},
    [PREDICATE_CURRENT_RUN] = {"currentRun",
                               FACT_STALE_RUN,
                               false,
                               "the report is about another run"},
    [PREDICATE_MANAGED] = {"managed",
                           FACT_MANAGED,
                           true,
                           "the environment is not managed"},
    [PREDICATE_CLEANUP_REQUESTED] = {"cleanupRequested",
                                     FACT_CLEANUP_REQUESTED,
                                     true,
                                     "no cleanup is requested any more"},
    [PREDICATE_WORKSPACE_PRESENT] = {"workspacePathPresent",
                                     FACT_WORKSPACE,
                                     true,
                                     "there is no workspace path"},
    [PREDICATE_WORKSPACE_ABSENT] = {"workspacePathAbsent",
                                    FACT_WORKSPACE,
                                    false,
                                    "there is a workspace path"},
    [PREDICATE_CURRENT_ATTEMPT] = {"matchingDestroyAttempt",
                                   FACT_STALE_ATTEMPT,
                                   false,
                                   "the answer is to another destroy attempt"},
};

static const char *const kind_names[LIFECYCLE_KIND_COUNT] = {
    [LIFECYCLE_APPLIED] = "applied",
    [LIFECYCLE_UNCHANGED] = "unchanged",
    [LIFECYCLE_SUPERSEDED] = "superseded",
    [LIFECYCLE_ILLEGAL] = "illegal",
    [LIFECYCLE_NOT_FOUND] = "not-found",
    [LIFECYCLE_CONFLICT] = "conflict",
};

static const char *const profile_names[LIFECYCLE_PROFILE_COUNT] = {
    [LIFECYCLE_STRICT] = "strict",
    [LIFECYCLE_OBSERVED] = "observed",
};

/* The place of a bit in its table. */
static size_t index_of(unsigned bit, size_t count)
{
    size_t index = 0;
    while (index < count && bit != 1U << index) {
        index++;
    }
    CHECK(index < count);
    return index;
}

const char *lifecycle_fact_name(enum lifecycle_fact fact)
{
    return fact_table[index_of((unsigned)fact, LIFECYCLE_FACT_COUNT)].name;
}

const char *lifecycle_fact_meaning(enum lifecycle_fact fact)
{
    return fact_table[index_of((unsigned)fact, LIFECYCLE_FACT_COUNT)].meaning;
}

const char *lifecycle_effect_name(enum lifecycle_effect effect)
{
    return effect_table[index_of((unsigned)effect, LIFECYCLE_EFFECT_COUNT)]
        .name;
}

const char *lifecycle_effect_meaning(enum lifecycle_effect effect)
{
    return effect_table[index_of((unsigned)effect, LIFECYCLE_EFFECT_COUNT)]
        .meaning;
}

const char *lifecycle_predicate_name(enum lifecycle_predicate predicate)
{
    CHECK(predicate < PREDICATE_NONE);
    return predicate_table[predicate].name;
}

const char *lifecycle_predicate_wrong(enum lifecycle_predicate predicate)
{
    CHECK(predicate < PREDICATE_NONE);
    return predicate_table[predicate].wrong;
}

const char *lifecycle_kind_name(enum lifecycle_kind kind)
{
    CHECK(kind < LIFECYCLE_KIND_COUNT);
    return kind_names[kind];
}

const char *lifecycle_profile_name(enum lifecycle_profile profile)
{
    CHECK(profile < LIFECYCLE_PROFILE_COUNT);
    return profile_names[profile];
}

unsigned lifecycle_fact_find(const char *name)
{
    for (size_t i = 0; i < LIFECYCLE_FACT_COUNT; i++) {
        if (strcmp(fact_table[i].name, name) == 0) {
            return 1U << i;
        }
    }
    return 0;
}

bool lifecycle_profile_find(const char *name, enum lifecycle_profile *out)
{
    for (size_t i = 0; i < COUNT_OF(profile_names); i++) {
        if (strcmp(profile_names[i], name) == 0) {
            *out = (enum lifecycle_profile)i;
            return true;
        }
    }
    return false;
}

int lifecycle_status_find(const struct lifecycle_machine *machine,
                          const char *name)
{
    for (size_t i = 0; i < machine->status_count; i++) {
        if (strcmp(machine->statuses[i].name, name) == 0) {
            return (int)i;
        }
    }
    return -1;
}

int lifecycle_event_find(const struct lifecycle_machine *machine,
                         const char *name)
{
    for (size_t i = 0; i < machine->event_count; i++) {
        if (strcmp(machine->events[i].name, name) == 0) {
            return (int)i;
        }
    }
    return -1;
}

/* -- The evaluator ------------------------------------------------------- */

bool lifecycle_holds(enum lifecycle_predicate predicate, unsigned facts)
{
    CHECK(predicate < PREDICATE_NONE);
    const struct predicate *asked = &predicate_table[predicate];
    return ((facts & asked->fact) != 0) == asked->wanted;
}

const struct lifecycle_edge *lifecycle_edge(
    const struct lifecycle_machine *machine,
    uint8_t status,
    uint8_t event)
{
    for (size_t i = 0; i < machine->edge_count; i++) {
        const struct lifecycle_edge *edge = &machine->edges[i];
        if (edge->from == status && edge->event == event) {
            return edge;
        }
    }
    return NULL;
}

/* The first predicate of the event that does not hold, or NONE. */
static enum lifecycle_predicate first_broken(
    const struct lifecycle_event *event,
    unsigned facts)
{
    enum lifecycle_predicate predicate = PREDICATE_NOT_DELETED;
    while (predicate < PREDICATE_NONE &&
           ((event->predicates & 1U << predicate) == 0 ||
            lifecycle_holds(predicate, facts))) {
        predicate++;
    }
    return predicate;
}

static bool matches(uint8_t pattern, uint8_t number)
{
    return pattern == LIFECYCLE_ANY || pattern == number;
}

static unsigned effects_of(const struct lifecycle_machine *machine,
                           const struct lifecycle_edge *edge,
                           uint8_t to,
                           unsigned facts)
{
    unsigned all = 0;
    for (size_t i = 0; i < machine->rule_count; i++) {
        const struct lifecycle_rule *rule = &machine->rules[i];
        if (matches(rule->from, edge->from) &&
            matches(rule->event, edge->event) && matches(rule->to, to) &&
            (rule->unless & facts) == 0) {
            all |= rule->effects;
        }
    }
    return all;
}

struct lifecycle_outcome lifecycle_evaluate(
    const struct lifecycle_machine *machine,
    uint8_t status,
    uint8_t event,
    unsigned facts)
{
    CHECK(status < machine->status_count);
    CHECK(event < machine->event_count);

    struct lifecycle_outcome outcome = {
        .kind = LIFECYCLE_ILLEGAL,
        .to = status,
        .predicate = first_broken(&machine->events[event], facts),
    };
    if (outcome.predicate != PREDICATE_NONE) {
        outcome.kind = LIFECYCLE_SUPERSEDED;
        return outcome;
    }
    outcome.edge = lifecycle_edge(machine, status, event);
    if (outcome.edge == NULL) {
        return outcome;
    }
    outcome.to = (facts & outcome.edge->fact) != 0 ? outcome.edge->to_with
                                                   : outcome.edge->to;
    if (outcome.to == status) {
        outcome.kind = LIFECYCLE_UNCHANGED;
        return outcome;
    }
    outcome.kind = LIFECYCLE_APPLIED;
    outcome.effects = effects_of(machine, outcome.edge, outcome.to, facts);
    return outcome;
}

void lifecycle_detail(const struct lifecycle_machine *machine,
                      uint8_t status,
                      uint8_t event,
                      const struct lifecycle_outcome *outcome,
                      char *text,
                      size_t size)
{
    const char *from = machine->statuses[status].name;
    const char *what = machine->events[event].name;
    switch (outcome->kind) {
    case LIFECYCLE_APPLIED:
        (void)snprintf(text,
                       size,
                       "%s goes from %s to %s",
                       what,
                       from,
                       machine->statuses[outcome->to].name);
        return;
    case LIFECYCLE_UNCHANGED:
        (void)snprintf(text, size, "%s has nothing to do in %s", what, from);
        return;
    case LIFECYCLE_SUPERSEDED:
        (void)snprintf(text,
                       size,
                       "%s",
                       lifecycle_predicate_wrong(outcome->predicate));
        return;
    case LIFECYCLE_ILLEGAL:
        (void)snprintf(text, size, "no edge for %s from %s", what, from);
        return;
    case LIFECYCLE_NOT_FOUND:
        (void)snprintf(text, size, "%s not found", machine->name);
        return;
    case LIFECYCLE_CONFLICT:
        (void)snprintf(text,
                       size,
                       "the %s left %s while %s was applied",
                       machine->name,
                       from,
                       what);
        return;
    case LIFECYCLE_KIND_COUNT:
        break;
    }
    UNREACHABLE("every kind of outcome has its sentence");
}

/* -- Whether a machine is sound ------------------------------------------ */

unsigned lifecycle_facts_read(const struct lifecycle_machine *machine)
{
    unsigned all = 0;
    for (size_t i = 0; i < machine->event_count; i++) {
        for (size_t p = 0; p < PREDICATE_NONE; p++) {
            if ((machine->events[i].predicates & 1U << p) != 0) {
                all |= predicate_table[p].fact;
            }
        }
    }
    for (size_t i = 0; i < machine->edge_count; i++) {
        all |= machine->edges[i].fact;
    }
    for (size_t i = 0; i < machine->rule_count; i++) {
        all |= machine->rules[i].unless;
    }
    return all;
}

static bool is_one_bit_at_most(unsigned set)
{
    return (set & (set - 1)) == 0;
}

static bool edge_check(const struct lifecycle_machine *machine,
                       const struct lifecycle_edge *edge)
{
    return edge->from < machine->status_count &&
           edge->event < machine->event_count &&
           edge->to < machine->status_count &&
           edge->to_with < machine->status_count &&
           is_one_bit_at_most(edge->fact) &&
           (edge->fact != 0) == (edge->to != edge->to_with);
}

static bool edges_check(const struct lifecycle_machine *machine)
{
    for (size_t i = 0; i < machine->edge_count; i++) {
        const struct lifecycle_edge *edge = &machine->edges[i];
        const struct lifecycle_edge *before = i > 0 ? edge - 1 : NULL;
        if (!edge_check(machine, edge)) {
            return false;
        }
        /* Strictly in order, so no cell is there twice (machine-4). */
        if (before != NULL &&
            (before->from > edge->from ||
             (before->from == edge->from && before->event >= edge->event))) {
            return false;
        }
    }
    return true;
}

static bool is_in(uint8_t number, size_t count)
{
    return number == LIFECYCLE_ANY || number < count;
}

static bool rules_check(const struct lifecycle_machine *machine)
{
    for (size_t i = 0; i < machine->rule_count; i++) {
        const struct lifecycle_rule *rule = &machine->rules[i];
        if (!is_in(rule->from, machine->status_count) ||
            !is_in(rule->to, machine->status_count) ||
            !is_in(rule->event, machine->event_count) || rule->effects == 0 ||
            !is_one_bit_at_most(rule->unless)) {
            return false;
        }
    }
    return true;
}

/* Each status can be reached from the first. At most 32 statuses: one word. */
static bool all_reachable(const struct lifecycle_machine *machine)
{
    unsigned reached = 1U << machine->initial;
    unsigned before = 0;
    while (reached != before) {
        before = reached;
        for (size_t i = 0; i < machine->edge_count; i++) {
            const struct lifecycle_edge *edge = &machine->edges[i];
            if ((reached & 1U << edge->from) != 0) {
                reached |= 1U << edge->to | 1U << edge->to_with;
            }
        }
    }
    return reached == (1U << machine->status_count) - 1;
}

bool lifecycle_machine_check(const struct lifecycle_machine *machine)
{
    if (machine->status_count == 0 || machine->status_count >= 32 ||
        machine->initial >= machine->status_count) {
        return false;
    }
    for (size_t i = 0; i < machine->status_count; i++) {
        if (machine->statuses[i].name == NULL ||
            lifecycle_status_find(machine, machine->statuses[i].name) !=
                (int)i) {
            return false;
        }
    }
    for (size_t i = 0; i < machine->event_count; i++) {
        if (machine->events[i].name == NULL ||
            machine->events[i].predicates >= 1U << PREDICATE_NONE ||
            lifecycle_event_find(machine, machine->events[i].name) != (int)i) {
            return false;
        }
    }
    return edges_check(machine) && rules_check(machine) &&
           all_reachable(machine);
}
