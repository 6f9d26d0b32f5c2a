/* Printing all machines as a page for people. The only prose here is what no
 * table says: the rest is the meanings that the tables carry. */

#include "lifecycle/page.h"

#include "lifecycle/catalog.h"
#include "lifecycle/diagram.h"

static const char introduction[] =
    "# Lifecycles\n"
    "\n"
    "<!-- Printed by `heddle lifecycle page` from src/lifecycle; `./dev docs` "
    "writes it again. Do not edit. -->\n"
    "\n"
    "Long-lived objects (threads, environments, pieces) have a status, and no "
    "caller sets it directly. Callers report\n"
    "events; a transition table determines the new status; a single writer "
    "stores it if the row has not changed since\n"
    "the table was consulted. An event that does not apply is an outcome with "
    "a reason, never a failure.\n"
    "\n"
    "| outcome | meaning |\n"
    "| --- | --- |\n"
    "| applied | the status has changed |\n"
    "| unchanged | the event has no effect in this status: a duplicate report, "
    "or a request that is already met |\n"
    "| superseded | a predicate of the event does not hold: the report is "
    "obsolete. Predicates are evaluated before the table, in the order below "
    "|\n"
    "| illegal | the table has no edge for this event in this status |\n"
    "| not-found | the row does not exist |\n"
    "| conflict | the row changed between the evaluation and the write |\n"
    "\n"
    "`heddle lifecycle explain MACHINE STATUS EVENT` prints the outcome and "
    "the reason; the code is `src/lifecycle`.\n"
    "\n"
    "A machine may come in two profiles. **strict** is what Heddle uses. "
    "**observed** is the behaviour of an older system,\n"
    "cell by cell, with questionable cells marked by (?): the strict tables "
    "were made from it, and tests compare with it.\n"
    "The two have different names for what happens, because in strict a stop "
    "and a retirement are statuses:\n"
    "\n"
    "| observed | strict |\n"
    "| --- | --- |\n"
    "| reprovision.started | run.preparing |\n"
    "| turn.started, turn.dispatched, start.succeeded, runtime.observed-active "
    "| run.started |\n"
    "| turn.completed, turn.interrupted | run.succeeded |\n"
    "| turn.failed, runtime.exited, command.failed, provision.failed, "
    "workspace.lost, session.lost | run.failed |\n"
    "| a stop is requested: a column | stop.requested |\n"
    "| stop.completed | stop.settled |\n"
    "| cleanup is requested, or not any more: a column | retire.requested, "
    "retire.cancelled |\n"
    "| destroy.dispatched | destroy.started |\n"
    "| destroy.succeeded | destroy.completed |\n"
    "| cleanup.completed | destroy.started and destroy.completed: a missing "
    "workspace is destroyed by finding that out |\n";

static void print_facts(struct buf *out)
{
    buf_append_text(out,
                    "\n"
                    "## Facts\n"
                    "\n"
                    "Facts of a row and of the report about it that predicates "
                    "and edges use.\n"
                    "\n"
                    "| fact | meaning |\n"
                    "| --- | --- |\n");
    for (unsigned i = 0; i < LIFECYCLE_FACT_COUNT; i++) {
        const enum lifecycle_fact fact = (enum lifecycle_fact)(1U << i);
        buf_printf(out,
                   "| %s | %s |\n",
                   lifecycle_fact_name(fact),
                   lifecycle_fact_meaning(fact));
    }
}

static void print_predicates(struct buf *out)
{
    buf_append_text(out,
                    "\n"
                    "## Predicates\n"
                    "\n"
                    "In order of evaluation; the first that does not hold "
                    "supersedes the event.\n"
                    "\n"
                    "| predicate | reason if it does not hold |\n"
                    "| --- | --- |\n");
    for (enum lifecycle_predicate p = 0; p < PREDICATE_NONE; p++) {
        buf_printf(out,
                   "| %s | %s |\n",
                   lifecycle_predicate_name(p),
                   lifecycle_predicate_wrong(p));
    }
}

static void print_effects(struct buf *out)
{
    buf_append_text(out,
                    "\n"
                    "## Effects\n"
                    "\n"
                    "Fields that are stored in the same statement as the "
                    "status, and their conditions.\n"
                    "\n"
                    "| effect | meaning |\n"
                    "| --- | --- |\n");
    for (unsigned i = 0; i < LIFECYCLE_EFFECT_COUNT; i++) {
        const enum lifecycle_effect effect = (enum lifecycle_effect)(1U << i);
        buf_printf(out,
                   "| %s | %s |\n",
                   lifecycle_effect_name(effect),
                   lifecycle_effect_meaning(effect));
    }
}

/* -- A machine ----------------------------------------------------------- */

static void print_statuses(const struct lifecycle_machine *machine,
                           struct buf *out)
{
    buf_append_text(out,
                    "\n| status | rests | meaning |\n| --- | --- | --- |\n");
    for (size_t i = 0; i < machine->status_count; i++) {
        const struct lifecycle_status *status = &machine->statuses[i];
        buf_printf(out,
                   "| %s | %s | %s%s |\n",
                   status->name,
                   status->is_resting ? "yes" : "",
                   status->meaning,
                   i == machine->initial ? "; the first one" : "");
    }
}

static void print_events(const struct lifecycle_machine *machine,
                         struct buf *out)
{
    buf_append_text(
        out,
        "\n| event | predicates | meaning |\n| --- | --- | --- |\n");
    for (size_t i = 0; i < machine->event_count; i++) {
        const struct lifecycle_event *event = &machine->events[i];
        buf_printf(out, "| %s | ", event->name);
        lifecycle_predicates_append(event, out);
        buf_printf(out,
                   "%s| %s |\n",
                   event->predicates != 0 ? " " : "",
                   event->meaning);
    }
}

static void print_cell(const struct lifecycle_machine *machine,
                       const struct lifecycle_edge *edge,
                       struct buf *out)
{
    const struct lifecycle_status *statuses = machine->statuses;
    if (edge == NULL) {
        return;
    }
    if (edge->fact != 0) {
        buf_printf(out,
                   "%s if %s, else ",
                   statuses[edge->to_with].name,
                   lifecycle_fact_name((enum lifecycle_fact)edge->fact));
    }
    buf_printf(out,
               "%s%s ",
               edge->to == edge->from ? "stays" : statuses[edge->to].name,
               edge->questionable != NULL ? " (?)" : "");
}

static void print_cells(const struct lifecycle_machine *machine,
                        struct buf *out)
{
    buf_append_text(out, "\n| event in |");
    for (size_t i = 0; i < machine->status_count; i++) {
        buf_printf(out, " %s |", machine->statuses[i].name);
    }
    buf_append_text(out, "\n| --- |");
    for (size_t i = 0; i < machine->status_count; i++) {
        buf_append_text(out, " --- |");
    }
    for (size_t event = 0; event < machine->event_count; event++) {
        buf_printf(out, "\n| %s |", machine->events[event].name);
        for (size_t status = 0; status < machine->status_count; status++) {
            buf_append_char(out, ' ');
            print_cell(machine,
                       lifecycle_edge(machine, (uint8_t)status, (uint8_t)event),
                       out);
            buf_append_char(out, '|');
        }
    }
    buf_append_text(out, "\n\nAn empty cell is illegal.\n");
}

static const char *status_name(const struct lifecycle_machine *machine,
                               uint8_t status)
{
    return status == LIFECYCLE_ANY ? "any" : machine->statuses[status].name;
}

static void print_rules(const struct lifecycle_machine *machine,
                        struct buf *out)
{
    buf_append_text(out,
                    "\n| from | event | to | unless | effects |\n"
                    "| --- | --- | --- | --- | --- |\n");
    for (size_t i = 0; i < machine->rule_count; i++) {
        const struct lifecycle_rule *rule = &machine->rules[i];
        buf_printf(out,
                   "| %s | %s | %s | %s | ",
                   status_name(machine, rule->from),
                   rule->event == LIFECYCLE_ANY
                       ? "any"
                       : machine->events[rule->event].name,
                   status_name(machine, rule->to),
                   rule->unless != 0
                       ? lifecycle_fact_name((enum lifecycle_fact)rule->unless)
                       : "");
        const char *between = "";
        for (unsigned bit = 0; bit < LIFECYCLE_EFFECT_COUNT; bit++) {
            if ((rule->effects & 1U << bit) != 0) {
                buf_printf(
                    out,
                    "%s%s",
                    between,
                    lifecycle_effect_name((enum lifecycle_effect)(1U << bit)));
                between = ", ";
            }
        }
        buf_append_text(out, " |\n");
    }
}

static void print_doubts(const struct lifecycle_machine *machine,
                         struct buf *out)
{
    bool is_first = true;
    for (size_t i = 0; i < machine->edge_count; i++) {
        const struct lifecycle_edge *edge = &machine->edges[i];
        if (edge->questionable == NULL) {
            continue;
        }
        buf_printf(out,
                   "%s- %s, %s: %s\n",
                   is_first ? "\n"
                              "Questionable behaviour, kept as observed:\n"
                              "\n"
                            : "",
                   machine->statuses[edge->from].name,
                   machine->events[edge->event].name,
                   edge->questionable);
        is_first = false;
    }
}

static void print_machine(const struct lifecycle_machine *machine,
                          struct buf *out)
{
    buf_printf(out,
               "\n## %s, %s\n\n%s\n",
               machine->name,
               lifecycle_profile_name(machine->profile),
               machine->about);
    print_statuses(machine, out);
    print_events(machine, out);
    print_cells(machine, out);
    print_doubts(machine, out);
    buf_append_text(out,
                    "\n"
                    "Effects of applied events:\n");
    print_rules(machine, out);
    buf_append_text(out, "\n```mermaid\n");
    lifecycle_diagram(machine, out);
    buf_append_text(out, "```\n");
}

void lifecycle_page(struct buf *out)
{
    buf_append_text(out, introduction);
    print_facts(out);
    print_predicates(out);
    print_effects(out);
    for (size_t i = 0; i < LIFECYCLE_MACHINE_COUNT; i++) {
        print_machine(lifecycle_machines[i], out);
    }
}
