/* machine: the evaluator is total and pure, effects follow their rules, names
 * go round, and the check finds every kind of broken table. */

#include "lifecycle/machine.h"

#include <string.h>

#include "lib/test.h"
#include "lifecycle/catalog.h"
#include "lifecycle/environment.h"
#include "lifecycle/piece.h"
#include "lifecycle/thread.h"

/* -- Totality ------------------------------------------------------------ */

/* An outcome says one thing, and nothing that contradicts it. */
static bool is_defined(const struct lifecycle_machine *machine,
                       uint8_t status,
                       const struct lifecycle_outcome *outcome)
{
    const bool has_edge = outcome->edge != NULL;
    const bool is_broken = outcome->predicate != PREDICATE_NONE;
    if (outcome->to >= machine->status_count ||
        outcome->predicate > PREDICATE_NONE) {
        return false;
    }
    switch (outcome->kind) {
    case LIFECYCLE_APPLIED:
        return has_edge && !is_broken && outcome->to != status;
    case LIFECYCLE_UNCHANGED:
        return has_edge && !is_broken && outcome->to == status &&
               outcome->effects == 0;
    case LIFECYCLE_SUPERSEDED:
        return !has_edge && is_broken && outcome->to == status &&
               outcome->effects == 0;
    case LIFECYCLE_ILLEGAL:
        return !has_edge && !is_broken && outcome->to == status &&
               outcome->effects == 0;
    case LIFECYCLE_NOT_FOUND:
    case LIFECYCLE_CONFLICT:
    case LIFECYCLE_KIND_COUNT:
        break;
    }
    return false;
}

/* Every subset of `all`, beginning with the empty one; false after the last. */
static bool next_subset(unsigned *subset, unsigned all)
{
    *subset = (*subset - all) & all;
    return *subset != 0;
}

/* Every second event after the first, whatever has become of the row. */
static void try_seconds(const struct lifecycle_machine *machine,
                        uint8_t status,
                        uint64_t *count)
{
    const unsigned all = lifecycle_facts_read(machine);
    for (size_t event = 0; event < machine->event_count; event++) {
        unsigned facts = 0;
        do {
            const struct lifecycle_outcome outcome =
                lifecycle_evaluate(machine, status, (uint8_t)event, facts);
            if (!is_defined(machine, status, &outcome)) {
                EXPECT(is_defined(machine, status, &outcome));
            }
            ++*count;
        } while (next_subset(&facts, all));
    }
}

static uint64_t try_pairs(const struct lifecycle_machine *machine)
{
    const unsigned all = lifecycle_facts_read(machine);
    uint64_t count = 0;
    for (size_t status = 0; status < machine->status_count; status++) {
        for (size_t event = 0; event < machine->event_count; event++) {
            unsigned facts = 0;
            do {
                const struct lifecycle_outcome first =
                    lifecycle_evaluate(machine,
                                       (uint8_t)status,
                                       (uint8_t)event,
                                       facts);
                EXPECT(is_defined(machine, (uint8_t)status, &first));
                try_seconds(machine, first.to, &count);
            } while (next_subset(&facts, all));
        }
    }
    return count;
}

TEST(every_pair_of_events_has_outcomes_for_every_row)
{
    const uint64_t before = test_allocations();
    for (size_t i = 0; i < LIFECYCLE_MACHINE_COUNT; i++) {
        const struct lifecycle_machine *machine = lifecycle_machines[i];
        unsigned sets = 0;
        unsigned facts = 0;
        do {
            sets++;
        } while (next_subset(&facts, lifecycle_facts_read(machine)));
        EXPECT(sets >= 4);
        EXPECT_EQ(try_pairs(machine),
                  machine->status_count * machine->event_count * sets *
                      machine->event_count * sets);
    }
    EXPECT_EQ(test_allocations(), before);
}

TEST(facts_that_a_machine_does_not_read_have_no_influence)
{
    for (size_t i = 0; i < LIFECYCLE_MACHINE_COUNT; i++) {
        const struct lifecycle_machine *machine = lifecycle_machines[i];
        const unsigned others =
            ~lifecycle_facts_read(machine) & ((1U << LIFECYCLE_FACT_COUNT) - 1);
        for (size_t status = 0; status < machine->status_count; status++) {
            for (size_t event = 0; event < machine->event_count; event++) {
                const struct lifecycle_outcome with =
                    lifecycle_evaluate(machine,
                                       (uint8_t)status,
                                       (uint8_t)event,
                                       others);
                const struct lifecycle_outcome without =
                    lifecycle_evaluate(machine,
                                       (uint8_t)status,
                                       (uint8_t)event,
                                       0);
                EXPECT_INT(with.kind, without.kind);
                EXPECT_EQ(with.to, without.to);
                EXPECT_EQ(with.effects, without.effects);
            }
        }
    }
}

/* -- Order --------------------------------------------------------------- */

static struct lifecycle_outcome thread(enum thread_status status,
                                       enum thread_event event,
                                       unsigned facts)
{
    return lifecycle_evaluate(&thread_lifecycle,
                              (uint8_t)status,
                              (uint8_t)event,
                              facts);
}

static struct lifecycle_outcome observed(enum observed_thread_status status,
                                         enum observed_thread_event event,
                                         unsigned facts)
{
    return lifecycle_evaluate(&observed_thread_lifecycle,
                              (uint8_t)status,
                              (uint8_t)event,
                              facts);
}

static struct lifecycle_outcome environment(enum environment_status status,
                                            enum environment_event event,
                                            unsigned facts)
{
    return lifecycle_evaluate(&environment_lifecycle,
                              (uint8_t)status,
                              (uint8_t)event,
                              facts);
}

static struct lifecycle_outcome observed_environment(
    enum observed_environment_status status,
    enum observed_environment_event event,
    unsigned facts)
{
    return lifecycle_evaluate(&observed_environment_lifecycle,
                              (uint8_t)status,
                              (uint8_t)event,
                              facts);
}

TEST(the_first_broken_predicate_is_named)
{
    const struct lifecycle_outcome all =
        observed(OBSERVED_THREAD_PROVISIONING,
                 OBSERVED_THREAD_START_SUCCEEDED,
                 FACT_DELETED | FACT_ARCHIVED | FACT_STOP_REQUESTED);
    EXPECT_INT(all.predicate, PREDICATE_NOT_DELETED);
    const struct lifecycle_outcome two =
        observed(OBSERVED_THREAD_PROVISIONING,
                 OBSERVED_THREAD_START_SUCCEEDED,
                 FACT_ARCHIVED | FACT_STOP_REQUESTED);
    EXPECT_INT(two.predicate, PREDICATE_NOT_ARCHIVED);
    const struct lifecycle_outcome claim =
        observed_environment(OBSERVED_ENVIRONMENT_READY,
                             OBSERVED_ENVIRONMENT_DESTROY_DISPATCHED,
                             0);
    EXPECT_INT(claim.predicate, PREDICATE_MANAGED);
}

TEST(what_is_superseded_is_not_illegal_also_without_an_edge)
{
    const struct lifecycle_outcome outcome =
        observed(OBSERVED_THREAD_ACTIVE,
                 OBSERVED_THREAD_START_SUCCEEDED,
                 FACT_DELETED);
    EXPECT(lifecycle_edge(&observed_thread_lifecycle,
                          OBSERVED_THREAD_ACTIVE,
                          OBSERVED_THREAD_START_SUCCEEDED) == NULL);
    EXPECT_INT(outcome.kind, LIFECYCLE_SUPERSEDED);
}

/* -- Races that strict does not lose ------------------------------------- */

TEST(strict_a_late_start_does_not_revive_a_thread_that_was_stopped)
{
    EXPECT_INT(thread(THREAD_STOPPING, THREAD_RUN_STARTED, 0).kind,
               LIFECYCLE_ILLEGAL);
    /* The stop is settled and has cleared the run: the report is stale. */
    const struct lifecycle_outcome settled =
        thread(THREAD_STOPPING, THREAD_STOP_SETTLED, 0);
    EXPECT_INT(settled.to, THREAD_IDLE);
    EXPECT((settled.effects & EFFECT_CLEAR_RUN) != 0);
    EXPECT_INT(
        thread(THREAD_IDLE, THREAD_RUN_STARTED, FACT_STALE_RUN).predicate,
        PREDICATE_CURRENT_RUN);
}

TEST(strict_no_work_begins_while_stopping_or_for_a_deleted_thread)
{
    EXPECT_INT(thread(THREAD_STOPPING, THREAD_RUN_PREPARING, 0).kind,
               LIFECYCLE_ILLEGAL);
    EXPECT_INT(
        thread(THREAD_IDLE, THREAD_RUN_PREPARING, FACT_DELETED).predicate,
        PREDICATE_NOT_DELETED);
    EXPECT_INT(thread(THREAD_IDLE, THREAD_RUN_STARTED, FACT_ARCHIVED).predicate,
               PREDICATE_NOT_ARCHIVED);
}

TEST(strict_a_redelivered_end_changes_no_thread)
{
    EXPECT_INT(thread(THREAD_IDLE, THREAD_RUN_FAILED, 0).kind,
               LIFECYCLE_ILLEGAL);
    EXPECT_INT(thread(THREAD_IDLE, THREAD_RUN_SUCCEEDED, 0).kind,
               LIFECYCLE_ILLEGAL);
    /* Not even one that is in its next run. */
    EXPECT_INT(thread(THREAD_ACTIVE, THREAD_RUN_FAILED, FACT_STALE_RUN).kind,
               LIFECYCLE_SUPERSEDED);
    EXPECT_INT(
        thread(THREAD_STARTING, THREAD_RUN_SUCCEEDED, FACT_STALE_RUN).kind,
        LIFECYCLE_SUPERSEDED);
}

TEST(strict_nothing_leaves_destroyed)
{
    for (unsigned event = 0; event < ENVIRONMENT_EVENT_COUNT; event++) {
        const struct lifecycle_outcome outcome =
            environment(ENVIRONMENT_DESTROYED,
                        (enum environment_event)event,
                        FACT_MANAGED | FACT_WORKSPACE);
        EXPECT_INT(outcome.kind, LIFECYCLE_ILLEGAL);
    }
}

TEST(strict_a_late_provision_does_not_touch_a_dying_environment)
{
    for (unsigned status = ENVIRONMENT_READY; status < ENVIRONMENT_STATUS_COUNT;
         status++) {
        const struct lifecycle_outcome late =
            environment((enum environment_status)status,
                        ENVIRONMENT_PROVISION_SUCCEEDED,
                        FACT_MANAGED);
        EXPECT_INT(late.kind, LIFECYCLE_ILLEGAL);
    }
}

TEST(strict_a_lost_destroy_can_still_be_completed_by_its_own_answer)
{
    const struct lifecycle_outcome lost =
        environment(ENVIRONMENT_DESTROYING, ENVIRONMENT_DESTROY_LOST, 0);
    EXPECT_INT(lost.to, ENVIRONMENT_ERROR);
    EXPECT_EQ(lost.effects & EFFECT_CLEAR_ATTEMPT, 0);
    EXPECT_INT(
        environment(ENVIRONMENT_ERROR, ENVIRONMENT_DESTROY_COMPLETED, 0).to,
        ENVIRONMENT_DESTROYED);
    EXPECT_INT(environment(ENVIRONMENT_ERROR,
                           ENVIRONMENT_DESTROY_COMPLETED,
                           FACT_STALE_ATTEMPT)
                   .kind,
               LIFECYCLE_SUPERSEDED);
}

/* -- Effects ------------------------------------------------------------- */

TEST(observed_attention_is_raised_by_an_answer_of_a_root_and_by_failures)
{
    static const struct {
        enum observed_thread_status status;
        enum observed_thread_event event;
        unsigned facts;
        unsigned effects;
    } rows[] = {
        {OBSERVED_THREAD_ACTIVE,
         OBSERVED_THREAD_TURN_COMPLETED,
         0,
         EFFECT_RAISE_ATTENTION},
        {OBSERVED_THREAD_ACTIVE, OBSERVED_THREAD_TURN_COMPLETED, FACT_CHILD, 0},
        {OBSERVED_THREAD_ACTIVE,
         OBSERVED_THREAD_TURN_FAILED,
         FACT_CHILD,
         EFFECT_RAISE_ATTENTION},
        {OBSERVED_THREAD_PROVISIONING,
         OBSERVED_THREAD_PROVISION_FAILED,
         0,
         EFFECT_RAISE_ATTENTION},
        {OBSERVED_THREAD_IDLE, OBSERVED_THREAD_TURN_FAILED, 0, 0},
        {OBSERVED_THREAD_CREATED, OBSERVED_THREAD_TURN_FAILED, 0, 0},
        {OBSERVED_THREAD_CREATED, OBSERVED_THREAD_TURN_STARTED, 0, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct lifecycle_outcome outcome =
            observed(rows[i].status, rows[i].event, rows[i].facts);
        EXPECT_INT(outcome.kind, LIFECYCLE_APPLIED);
        EXPECT_EQ(outcome.effects, rows[i].effects);
    }
}

TEST(strict_effects_of_a_thread)
{
    EXPECT_EQ(thread(THREAD_ACTIVE, THREAD_RUN_SUCCEEDED, 0).effects,
              EFFECT_RAISE_ATTENTION | EFFECT_CLEAR_RUN);
    EXPECT_EQ(thread(THREAD_ACTIVE, THREAD_RUN_SUCCEEDED, FACT_CHILD).effects,
              EFFECT_CLEAR_RUN);
    EXPECT_EQ(thread(THREAD_STOPPING, THREAD_STOP_SETTLED, 0).effects,
              EFFECT_CLEAR_RUN);
    EXPECT_EQ(thread(THREAD_STARTING, THREAD_RUN_FAILED, FACT_CHILD).effects,
              EFFECT_RAISE_ATTENTION | EFFECT_CLEAR_RUN);
    EXPECT_EQ(thread(THREAD_IDLE, THREAD_RUN_PREPARING, 0).effects,
              EFFECT_STAMP_RUN);
    EXPECT_EQ(thread(THREAD_ERROR, THREAD_RUN_STARTED, 0).effects,
              EFFECT_STAMP_RUN);
    EXPECT_EQ(thread(THREAD_STARTING, THREAD_RUN_STARTED, 0).effects, 0);
    EXPECT_EQ(thread(THREAD_ACTIVE, THREAD_STOP_REQUESTED, 0).effects, 0);
}

TEST(strict_effects_of_an_environment)
{
    EXPECT_EQ(environment(ENVIRONMENT_PROVISIONING,
                          ENVIRONMENT_PROVISION_SUCCEEDED,
                          0)
                  .effects,
              EFFECT_SET_WORKSPACE);
    EXPECT_EQ(environment(ENVIRONMENT_ERROR, ENVIRONMENT_PROVISION_REQUESTED, 0)
                  .effects,
              EFFECT_CLEAR_ATTEMPT);
    EXPECT_EQ(environment(ENVIRONMENT_RETIRING,
                          ENVIRONMENT_DESTROY_STARTED,
                          FACT_MANAGED)
                  .effects,
              EFFECT_CLAIM | EFFECT_STAMP_ATTEMPT);
    /* Nobody uses what was never made: there is nothing to claim. */
    EXPECT_EQ(environment(ENVIRONMENT_PROVISIONING,
                          ENVIRONMENT_PROVISION_CANCELLED,
                          0)
                  .effects,
              EFFECT_STAMP_ATTEMPT);
    EXPECT_EQ(environment(ENVIRONMENT_PROVISIONING,
                          ENVIRONMENT_PROVISION_CANCELLED,
                          FACT_WORKSPACE)
                  .effects,
              0);
    EXPECT_EQ(environment(ENVIRONMENT_DESTROYING, ENVIRONMENT_DESTROY_FAILED, 0)
                  .effects,
              EFFECT_CLEAR_ATTEMPT);
    EXPECT_EQ(
        environment(ENVIRONMENT_DESTROYING, ENVIRONMENT_DESTROY_COMPLETED, 0)
            .effects,
        EFFECT_CLEAR_ATTEMPT | EFFECT_CLEAR_WORKSPACE);
}

TEST(observed_effects_of_an_environment)
{
    const unsigned wanted = FACT_MANAGED | FACT_CLEANUP_REQUESTED;
    EXPECT_EQ(observed_environment(OBSERVED_ENVIRONMENT_READY,
                                   OBSERVED_ENVIRONMENT_DESTROY_DISPATCHED,
                                   wanted | FACT_WORKSPACE)
                  .effects,
              EFFECT_CLAIM | EFFECT_STAMP_ATTEMPT);
    EXPECT_EQ(observed_environment(OBSERVED_ENVIRONMENT_DESTROYING,
                                   OBSERVED_ENVIRONMENT_DESTROY_SUCCEEDED,
                                   wanted)
                  .effects,
              EFFECT_CLEAR_ATTEMPT | EFFECT_CLEAR_CLEANUP);
    EXPECT_EQ(observed_environment(OBSERVED_ENVIRONMENT_READY,
                                   OBSERVED_ENVIRONMENT_CLEANUP_COMPLETED,
                                   wanted)
                  .effects,
              EFFECT_CLEAR_ATTEMPT | EFFECT_CLEAR_CLEANUP);
    EXPECT_EQ(observed_environment(OBSERVED_ENVIRONMENT_DESTROYING,
                                   OBSERVED_ENVIRONMENT_DESTROY_FAILED,
                                   wanted)
                  .effects,
              EFFECT_CLEAR_ATTEMPT);
    EXPECT_EQ(observed_environment(OBSERVED_ENVIRONMENT_DESTROYING,
                                   OBSERVED_ENVIRONMENT_DESTROY_LOST,
                                   wanted | FACT_WORKSPACE)
                  .effects,
              EFFECT_CLEAR_ATTEMPT);
    EXPECT_EQ(observed_environment(OBSERVED_ENVIRONMENT_DESTROYED,
                                   OBSERVED_ENVIRONMENT_PROVISION_SUCCEEDED,
                                   0)
                  .effects,
              EFFECT_SET_WORKSPACE);
}

/* -- Sentences and names ------------------------------------------------- */

static void expect_detail(const struct lifecycle_outcome *outcome,
                          const char *want)
{
    char detail[LIFECYCLE_DETAIL_SIZE];
    lifecycle_detail(&thread_lifecycle,
                     THREAD_STOPPING,
                     THREAD_RUN_STARTED,
                     outcome,
                     detail,
                     sizeof detail);
    EXPECT_TEXT(detail, want);
}

TEST(every_kind_of_outcome_has_a_sentence)
{
    expect_detail(&(struct lifecycle_outcome){.kind = LIFECYCLE_APPLIED,
                                              .to = THREAD_IDLE},
                  "run.started goes from stopping to idle");
    expect_detail(&(struct lifecycle_outcome){.kind = LIFECYCLE_UNCHANGED},
                  "run.started has nothing to do in stopping");
    expect_detail(
        &(struct lifecycle_outcome){.kind = LIFECYCLE_SUPERSEDED,
                                    .predicate = PREDICATE_NOT_DELETED},
        "the row is deleted");
    expect_detail(&(struct lifecycle_outcome){.kind = LIFECYCLE_ILLEGAL},
                  "no edge for run.started from stopping");
    expect_detail(&(struct lifecycle_outcome){.kind = LIFECYCLE_NOT_FOUND},
                  "thread not found");
    expect_detail(&(struct lifecycle_outcome){.kind = LIFECYCLE_CONFLICT},
                  "the thread left stopping while run.started was "
                  "applied");
}

TEST(the_size_of_a_detail_is_always_enough)
{
    for (size_t i = 0; i < LIFECYCLE_MACHINE_COUNT; i++) {
        const struct lifecycle_machine *machine = lifecycle_machines[i];
        for (size_t status = 0; status < machine->status_count; status++) {
            for (size_t event = 0; event < machine->event_count; event++) {
                char detail[LIFECYCLE_DETAIL_SIZE];
                const struct lifecycle_outcome longest = {
                    .kind = LIFECYCLE_CONFLICT};
                lifecycle_detail(machine,
                                 (uint8_t)status,
                                 (uint8_t)event,
                                 &longest,
                                 detail,
                                 sizeof detail);
                EXPECT_CONTAINS(detail, "was applied");
            }
        }
    }
}

TEST(names_go_round)
{
    for (size_t i = 0; i < LIFECYCLE_MACHINE_COUNT; i++) {
        const struct lifecycle_machine *machine = lifecycle_machines[i];
        EXPECT(lifecycle_machine_find(machine->name, machine->profile) ==
               machine);
        for (size_t j = 0; j < machine->status_count; j++) {
            EXPECT_INT(
                lifecycle_status_find(machine, machine->statuses[j].name),
                j);
        }
        for (size_t j = 0; j < machine->event_count; j++) {
            EXPECT_INT(lifecycle_event_find(machine, machine->events[j].name),
                       j);
        }
        EXPECT_INT(lifecycle_status_find(machine, "no such"), -1);
        EXPECT_INT(lifecycle_event_find(machine, ""), -1);
    }
    EXPECT(lifecycle_machine_find("piece", LIFECYCLE_OBSERVED) == NULL);
    EXPECT(lifecycle_machine_find("loom", LIFECYCLE_STRICT) == NULL);
    for (unsigned i = 0; i < LIFECYCLE_FACT_COUNT; i++) {
        const enum lifecycle_fact fact = (enum lifecycle_fact)(1U << i);
        EXPECT_EQ(lifecycle_fact_find(lifecycle_fact_name(fact)), fact);
        EXPECT(lifecycle_fact_meaning(fact)[0] != '\0');
    }
    EXPECT_EQ(lifecycle_fact_find("no such"), 0);
    enum lifecycle_profile profile = LIFECYCLE_STRICT;
    EXPECT(lifecycle_profile_find("observed", &profile));
    EXPECT_INT(profile, LIFECYCLE_OBSERVED);
    EXPECT(!lifecycle_profile_find("lenient", &profile));
    EXPECT_TEXT(lifecycle_kind_name(LIFECYCLE_CONFLICT), "conflict");
    EXPECT_TEXT(lifecycle_effect_name(EFFECT_CLEAR_WORKSPACE),
                "clear-workspace");
}

/* -- The check ----------------------------------------------------------- */

TEST(all_machines_are_sound)
{
    for (size_t i = 0; i < LIFECYCLE_MACHINE_COUNT; i++) {
        EXPECT(lifecycle_machine_check(lifecycle_machines[i]));
    }
}

/* The machine of a piece with one edge changed. */
static bool is_sound_with(size_t at, struct lifecycle_edge edge)
{
    struct lifecycle_edge edges[64];
    struct lifecycle_machine machine = piece_lifecycle;
    if (!EXPECT(machine.edge_count <= sizeof edges / sizeof edges[0])) {
        return false;
    }
    memcpy(edges, machine.edges, machine.edge_count * sizeof machine.edges[0]);
    edges[at] = edge;
    machine.edges = edges;
    return lifecycle_machine_check(&machine);
}

TEST(the_check_finds_a_broken_edge)
{
    const struct lifecycle_edge good = piece_lifecycle.edges[1];
    EXPECT(is_sound_with(1, good));
    struct lifecycle_edge edge = good;
    edge.to = edge.to_with = PIECE_STATUS_COUNT;
    EXPECT(!is_sound_with(1, edge));
    edge = good;
    edge.event = PIECE_EVENT_COUNT;
    EXPECT(!is_sound_with(1, edge));
    edge = good;
    edge.fact = FACT_DELETED; /* and leads to the same */
    EXPECT(!is_sound_with(1, edge));
    edge = good;
    edge.to_with = PIECE_ERROR; /* and depends on nothing */
    EXPECT(!is_sound_with(1, edge));
    edge.fact = FACT_DELETED | FACT_ARCHIVED; /* on two things */
    EXPECT(!is_sound_with(1, edge));
    EXPECT(!is_sound_with(1, piece_lifecycle.edges[0])); /* twice */
    EXPECT(!is_sound_with(1, piece_lifecycle.edges[9])); /* out of order */
}

TEST(the_check_finds_other_broken_parts)
{
    static const struct lifecycle_rule rules[] = {
        {LIFECYCLE_ANY, PIECE_EVENT_COUNT, LIFECYCLE_ANY, 0, 1},
        {PIECE_STATUS_COUNT, LIFECYCLE_ANY, LIFECYCLE_ANY, 0, 1},
        {LIFECYCLE_ANY, LIFECYCLE_ANY, PIECE_STATUS_COUNT, 0, 1},
        {LIFECYCLE_ANY, LIFECYCLE_ANY, LIFECYCLE_ANY, 0, 0},
        {LIFECYCLE_ANY, LIFECYCLE_ANY, LIFECYCLE_ANY, 3, 1},
    };
    struct lifecycle_machine machine = piece_lifecycle;
    machine.rule_count = 1;
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        machine.rules = &rules[i];
        EXPECT(!lifecycle_machine_check(&machine));
    }
    machine = piece_lifecycle;
    machine.initial = PIECE_STATUS_COUNT;
    EXPECT(!lifecycle_machine_check(&machine));
    machine = piece_lifecycle;
    machine.status_count = 0;
    EXPECT(!lifecycle_machine_check(&machine));

    /* A status without a way to it, and two with one name. */
    struct lifecycle_status statuses[PIECE_STATUS_COUNT + 1];
    memcpy(statuses,
           piece_lifecycle.statuses,
           PIECE_STATUS_COUNT * sizeof statuses[0]);
    statuses[PIECE_STATUS_COUNT] = (struct lifecycle_status){"far", true, ""};
    machine = piece_lifecycle;
    machine.statuses = statuses;
    EXPECT(lifecycle_machine_check(&machine));
    machine.status_count = PIECE_STATUS_COUNT + 1;
    EXPECT(!lifecycle_machine_check(&machine));
    statuses[PIECE_ERROR].name = "stopped";
    machine.status_count = PIECE_STATUS_COUNT;
    EXPECT(!lifecycle_machine_check(&machine));

    struct lifecycle_event events[PIECE_EVENT_COUNT];
    memcpy(events, piece_lifecycle.events, sizeof events);
    machine = piece_lifecycle;
    machine.events = events;
    EXPECT(lifecycle_machine_check(&machine));
    events[0].predicates = 1U << PREDICATE_NONE;
    EXPECT(!lifecycle_machine_check(&machine));
    events[0].predicates = 0;
    events[0].name = events[1].name;
    EXPECT(!lifecycle_machine_check(&machine));
}
