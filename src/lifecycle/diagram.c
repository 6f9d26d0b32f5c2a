/* Printing a machine as Mermaid. */

#include "lifecycle/diagram.h"

void lifecycle_predicates_append(const struct lifecycle_event *event,
                                 struct buf *out)
{
    const char *between = "";
    for (enum lifecycle_predicate p = 0; p < PREDICATE_NONE; p++) {
        if ((event->predicates & 1U << p) != 0) {
            buf_printf(out, "%s%s", between, lifecycle_predicate_name(p));
            between = ", ";
        }
    }
}

/* `when` is how the target depends on the edge's fact, if it has one. */
static void print_edge(const struct lifecycle_machine *machine,
                       const struct lifecycle_edge *edge,
                       uint8_t to,
                       const char *when,
                       struct buf *out)
{
    const struct lifecycle_event *event = &machine->events[edge->event];
    if (to == edge->from) {
        return;
    }
    buf_printf(out,
               "    %s --> %s : %s",
               machine->statuses[edge->from].name,
               machine->statuses[to].name,
               event->name);
    if (edge->fact != 0) {
        buf_printf(out,
                   " (%s %s)",
                   when,
                   lifecycle_fact_name((enum lifecycle_fact)edge->fact));
    }
    if (event->predicates != 0) {
        buf_append_text(out, " \u27E8");
        lifecycle_predicates_append(event, out);
        buf_append_text(out, "\u27E9");
    }
    buf_append_text(out, edge->questionable != NULL ? " (?)\n" : "\n");
}

/* The edges from `status` back to itself. One that goes away with a fact and
 * stays without it is named with what it depends on. */
static void print_note(const struct lifecycle_machine *machine,
                       uint8_t status,
                       struct buf *out)
{
    const char *before = "";
    for (size_t i = 0; i < machine->edge_count; i++) {
        const struct lifecycle_edge *edge = &machine->edges[i];
        if (edge->from != status ||
            (edge->to != status && edge->to_with != status)) {
            continue;
        }
        if (before[0] == '\0') {
            buf_printf(out,
                       "    note right of %s : stays on ",
                       machine->statuses[status].name);
        }
        buf_printf(out, "%s%s", before, machine->events[edge->event].name);
        if (edge->fact != 0) {
            buf_printf(out,
                       " (%s %s)",
                       edge->to == status ? "unless" : "if",
                       lifecycle_fact_name((enum lifecycle_fact)edge->fact));
        }
        before = ", ";
    }
    if (before[0] != '\0') {
        buf_append_char(out, '\n');
    }
}

void lifecycle_diagram(const struct lifecycle_machine *machine, struct buf *out)
{
    buf_printf(out,
               "stateDiagram-v2\n    [*] --> %s\n",
               machine->statuses[machine->initial].name);
    for (size_t i = 0; i < machine->edge_count; i++) {
        const struct lifecycle_edge *edge = &machine->edges[i];
        if (edge->fact != 0) {
            print_edge(machine, edge, edge->to_with, "if", out);
        }
        print_edge(machine, edge, edge->to, "unless", out);
    }
    for (size_t i = 0; i < machine->status_count; i++) {
        print_note(machine, (uint8_t)i, out);
    }
}
