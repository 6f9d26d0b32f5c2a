/* Machines: every cell of every machine, for every set of facts, against the
 * same tables written down a second time in test/data/lifecycle.json.
 *
 * The expectation is computed here from the data alone: predicates in the
 * order of the list, then the cell. */

#include <string.h>

#include "lib/test.h"
#include "lib/values.h"
#include "lifecycle/catalog.h"
#include "value/array.h"
#include "value/json.h"
#include "value/object.h"

/* What each predicate is about, and whether that must be there. */
static const struct {
    const char *name;
    const char *fact;
    bool wanted;
} meanings[] = {
    {"notDeleted", "deleted", false},
    {"notArchived", "archived", false},
    {"notStopRequested", "stop-requested", false},
    {"currentRun", "stale-run", false},
    {"managed", "managed", true},
    {"cleanupRequested", "cleanup-requested", true},
    {"workspacePathPresent", "workspace", true},
    {"workspacePathAbsent", "workspace", false},
    {"matchingDestroyAttempt", "stale-attempt", false},
};

static struct value load(void)
{
    size_t length = 0;
    char *text = test_read_file(test_data_path("lifecycle.json"), &length);
    struct value data = VALUE_NONE;
    if (text != NULL) {
        EXPECT_INT(json_read(text, length, NULL, &data, NULL), ERR_OK);
        test_release_file(text, length);
    }
    return data;
}

static struct value table_of(struct value data,
                             const struct lifecycle_machine *machine)
{
    return object_field(object_field(data, machine->name),
                        lifecycle_profile_name(machine->profile));
}

static bool holds(struct value predicate, unsigned facts)
{
    for (size_t i = 0; i < sizeof meanings / sizeof meanings[0]; i++) {
        if (value_is_text(predicate, meanings[i].name)) {
            const unsigned fact = lifecycle_fact_find(meanings[i].fact);
            return EXPECT(fact != 0) &&
                   ((facts & fact) != 0) == meanings[i].wanted;
        }
    }
    return test_fail(__FILE__, __LINE__, "a predicate that nobody knows");
}

/* The first predicate that does not hold, or absent. */
static struct value broken(struct value predicates, unsigned facts)
{
    for (uint32_t i = 0; i < array_count(predicates); i++) {
        if (!holds(array_at(predicates, i), facts)) {
            return array_at(predicates, i);
        }
    }
    return VALUE_NONE;
}

/* Where a cell leads: a name, or a choice by a fact. */
static struct value target(struct value cell, unsigned facts)
{
    if (!value_is_object(cell)) {
        return cell;
    }
    const struct value fact = object_field(cell, "if");
    const struct text name = value_text(&fact);
    char word[32] = "";
    if (EXPECT(name.length < sizeof word)) {
        memcpy(word, name.at, name.length);
    }
    const unsigned bit = lifecycle_fact_find(word);
    EXPECT(bit != 0);
    return object_field(cell, (facts & bit) != 0 ? "then" : "else");
}

static void expect_outcome(const struct lifecycle_machine *machine,
                           struct value table,
                           uint8_t status,
                           uint8_t event,
                           unsigned facts)
{
    const char *from = machine->statuses[status].name;
    const char *what = machine->events[event].name;
    const struct lifecycle_outcome outcome =
        lifecycle_evaluate(machine, status, event, facts);
    const struct value cell =
        object_field(object_field(object_field(table, "table"), from), what);
    const struct value first =
        broken(object_field(object_field(table, "predicates"), what), facts);
    const char *to = machine->statuses[outcome.to].name;
    bool held = false;
    if (!value_is_absent(first)) {
        held = EXPECT_INT(outcome.kind, LIFECYCLE_SUPERSEDED) &&
               EXPECT(value_is_text(
                   first,
                   lifecycle_predicate_name(outcome.predicate))) &&
               EXPECT_TEXT(to, from);
    } else if (value_is_absent(cell)) {
        held = EXPECT_INT(outcome.kind, LIFECYCLE_ILLEGAL) &&
               EXPECT_TEXT(to, from);
    } else {
        const bool stays = value_is_text(target(cell, facts), from);
        held = EXPECT_INT(outcome.kind,
                          stays ? LIFECYCLE_UNCHANGED : LIFECYCLE_APPLIED) &&
               EXPECT(value_is_text(target(cell, facts), to));
    }
    if (!held) {
        (void)test_fail(__FILE__,
                        __LINE__,
                        "%s %s, %s in %s with facts %#x",
                        machine->name,
                        lifecycle_profile_name(machine->profile),
                        what,
                        from,
                        facts);
    }
}

TEST(every_cell_under_every_set_of_facts_is_as_written_down)
{
    struct value data = load();
    for (size_t i = 0; i < LIFECYCLE_MACHINE_COUNT; i++) {
        const struct lifecycle_machine *machine = lifecycle_machines[i];
        const struct value table = table_of(data, machine);
        for (size_t status = 0; status < machine->status_count; status++) {
            for (size_t event = 0; event < machine->event_count; event++) {
                for (unsigned facts = 0; facts < 1U << LIFECYCLE_FACT_COUNT;
                     facts++) {
                    expect_outcome(machine,
                                   table,
                                   (uint8_t)status,
                                   (uint8_t)event,
                                   facts);
                }
            }
        }
    }
    value_unref(data);
}

/* Nothing is written down that the machine does not have. */
static void expect_names(const struct lifecycle_machine *machine,
                         struct value table)
{
    const struct value rows = object_field(table, "table");
    EXPECT_EQ(object_count(rows), machine->status_count);
    EXPECT_EQ(object_count(object_field(table, "predicates")),
              machine->event_count);
    EXPECT(value_is_text(object_field(table, "initial"),
                         machine->statuses[machine->initial].name));
    size_t cells = 0;
    struct object_iter iter = object_iter(rows);
    struct value key;
    struct value row;
    while (object_next(&iter, &key, &row)) {
        cells += object_count(row);
    }
    EXPECT_EQ(cells, machine->edge_count);
}

TEST(names_and_numbers_of_edges_are_as_written_down)
{
    struct value data = load();
    for (size_t i = 0; i < LIFECYCLE_MACHINE_COUNT; i++) {
        expect_names(lifecycle_machines[i],
                     table_of(data, lifecycle_machines[i]));
    }
    value_unref(data);
}

TEST(the_questionable_edges_are_those_written_down)
{
    struct value data = load();
    for (size_t i = 0; i < LIFECYCLE_MACHINE_COUNT; i++) {
        const struct lifecycle_machine *machine = lifecycle_machines[i];
        const struct value list =
            object_field(table_of(data, machine), "questionable");
        uint32_t found = 0;
        for (size_t j = 0; j < machine->edge_count; j++) {
            const struct lifecycle_edge *edge = &machine->edges[j];
            if (edge->questionable == NULL) {
                continue;
            }
            struct buf name = {0};
            buf_printf(&name,
                       "%s %s",
                       machine->statuses[edge->from].name,
                       machine->events[edge->event].name);
            if (EXPECT(found < array_count(list))) {
                EXPECT(value_is_text(array_at(list, found), buf_text(&name)));
            }
            found++;
            buf_release(&name);
        }
        EXPECT_EQ(found, array_count(list));
    }
    value_unref(data);
}

TEST(the_observed_machines_have_as_many_cells_as_were_observed)
{
    const struct lifecycle_machine *thread =
        lifecycle_machine_find("thread", LIFECYCLE_OBSERVED);
    EXPECT_EQ(thread->status_count, 5);
    EXPECT_EQ(thread->event_count, 14);
    EXPECT_EQ(thread->edge_count, 50);
    const struct lifecycle_machine *environment =
        lifecycle_machine_find("environment", LIFECYCLE_OBSERVED);
    EXPECT_EQ(environment->status_count, 5);
    EXPECT_EQ(environment->event_count, 9);
    EXPECT_EQ(environment->edge_count, 19);
}

TEST(no_edge_of_a_thread_or_an_environment_leads_back_to_its_status)
{
    for (size_t i = 0; i < LIFECYCLE_MACHINE_COUNT; i++) {
        const struct lifecycle_machine *machine = lifecycle_machines[i];
        const bool is_piece = strcmp(machine->name, "piece") == 0;
        for (size_t j = 0; j < machine->edge_count && !is_piece; j++) {
            EXPECT(machine->edges[j].to != machine->edges[j].from);
            EXPECT(machine->edges[j].to_with != machine->edges[j].from);
        }
    }
}
