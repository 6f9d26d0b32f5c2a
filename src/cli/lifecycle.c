/* heddle lifecycle: the tables by which a status changes.
 *
 * Prints what src/lifecycle holds and asks its evaluator; opens no file and
 * changes nothing. A name that is not there is answered with those that are. */

#include "base/buf.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/report.h"
#include "lifecycle/catalog.h"
#include "lifecycle/diagram.h"
#include "lifecycle/page.h"
#include "value/array.h"
#include "value/json.h"
#include "value/object.h"

/* -- Names from the command line ----------------------------------------- */

/* A sentence that lists what could have been said. */
struct choice {
    struct buf sentence;
    const char *between;
};

static void choice_add(struct choice *choice, const char *name)
{
    buf_printf(&choice->sentence, "%s%s", choice->between, name);
    choice->between = ", ";
}

static void choice_report(const struct options *options, struct choice *choice)
{
    (void)report_name(options, buf_text(&choice->sentence));
    buf_release(&choice->sentence);
}

/* The names of the two profiles are easily mixed up. */
static const struct lifecycle_machine *other_profile(
    const struct lifecycle_machine *machine)
{
    return lifecycle_machine_find(machine->name,
                                  machine->profile == LIFECYCLE_STRICT
                                      ? LIFECYCLE_OBSERVED
                                      : LIFECYCLE_STRICT);
}

static void choice_point_to(struct choice *choice,
                            const struct lifecycle_machine *other)
{
    buf_printf(&choice->sentence,
               "; --profile %s has it",
               lifecycle_profile_name(other->profile));
}

static void refuse_profile(const struct options *options, const char *name)
{
    struct choice choice = {.between = ""};
    buf_printf(&choice.sentence, "there is no profile '%s'; there are ", name);
    for (size_t i = 0; i < LIFECYCLE_PROFILE_COUNT; i++) {
        choice_add(&choice, lifecycle_profile_name((enum lifecycle_profile)i));
    }
    choice_report(options, &choice);
}

static void refuse_machine(const struct options *options,
                           const char *name,
                           enum lifecycle_profile profile)
{
    struct choice choice = {.between = ""};
    buf_printf(&choice.sentence,
               "there is no machine '%s' in the profile %s; there are ",
               name,
               lifecycle_profile_name(profile));
    for (size_t i = 0; i < LIFECYCLE_MACHINE_COUNT; i++) {
        if (lifecycle_machines[i]->profile == profile) {
            choice_add(&choice, lifecycle_machines[i]->name);
        }
    }
    choice_report(options, &choice);
}

/* The profile that was asked for. Like all functions below that find something:
 * false, or NULL, after having reported why. */
static bool find_profile(const struct options *options,
                         enum lifecycle_profile *out)
{
    const char *name = options->values.profile;
    *out = LIFECYCLE_STRICT;
    if (name == NULL || lifecycle_profile_find(name, out)) {
        return true;
    }
    refuse_profile(options, name);
    return false;
}

static const struct lifecycle_machine *find_machine(
    const struct options *options,
    const char *name)
{
    enum lifecycle_profile profile = LIFECYCLE_STRICT;
    if (!find_profile(options, &profile)) {
        return NULL;
    }
    const struct lifecycle_machine *machine =
        lifecycle_machine_find(name, profile);
    if (machine == NULL) {
        refuse_machine(options, name, profile);
    }
    return machine;
}

static void refuse_status(const struct options *options,
                          const struct lifecycle_machine *machine,
                          const char *name)
{
    struct choice choice = {.between = ""};
    buf_printf(&choice.sentence,
               "%s (%s) has no status '%s'; its statuses are ",
               machine->name,
               lifecycle_profile_name(machine->profile),
               name);
    for (size_t i = 0; i < machine->status_count; i++) {
        choice_add(&choice, machine->statuses[i].name);
    }
    const struct lifecycle_machine *other = other_profile(machine);
    if (other != NULL && lifecycle_status_find(other, name) >= 0) {
        choice_point_to(&choice, other);
    }
    choice_report(options, &choice);
}

static void refuse_event(const struct options *options,
                         const struct lifecycle_machine *machine,
                         const char *name)
{
    struct choice choice = {.between = ""};
    buf_printf(&choice.sentence,
               "%s (%s) has no event '%s'; its events are ",
               machine->name,
               lifecycle_profile_name(machine->profile),
               name);
    for (size_t i = 0; i < machine->event_count; i++) {
        choice_add(&choice, machine->events[i].name);
    }
    const struct lifecycle_machine *other = other_profile(machine);
    if (other != NULL && lifecycle_event_find(other, name) >= 0) {
        choice_point_to(&choice, other);
    }
    choice_report(options, &choice);
}

static void refuse_fact(const struct options *options,
                        const struct lifecycle_machine *machine,
                        const char *name)
{
    const unsigned known = lifecycle_facts_read(machine);
    struct choice choice = {.between = ""};
    buf_printf(&choice.sentence,
               "%s (%s) asks for no fact '%s'; its facts are ",
               machine->name,
               lifecycle_profile_name(machine->profile),
               name);
    for (unsigned i = 0; i < LIFECYCLE_FACT_COUNT; i++) {
        if ((known & 1U << i) != 0) {
            choice_add(&choice,
                       lifecycle_fact_name((enum lifecycle_fact)(1U << i)));
        }
    }
    choice_report(options, &choice);
}

/* -- diagram, page ------------------------------------------------------- */

static void print_text(const struct options *options,
                       const char *key,
                       struct buf *text)
{
    if (option_is_given(options, OPTION_JSON)) {
        struct value object = value_empty_object();
        struct buf json = {0};
        object_put_text(&object, key, buf_text(text));
        json_write(&json, object, JSON_AS_GIVEN, 0);
        output_bytes(buf_text(&json), json.length);
        buf_release(&json);
        value_unref(object);
    } else {
        /* The text ends its last line itself. */
        output_bytes(buf_text(text), text->length - 1);
    }
    buf_release(text);
}

/* All machines of a profile, under headings, each in a block of its own. */
static int print_diagrams(const struct options *options)
{
    enum lifecycle_profile profile = LIFECYCLE_STRICT;
    if (!find_profile(options, &profile)) {
        return CODE_BAD;
    }
    struct buf text = {0};
    for (size_t i = 0; i < LIFECYCLE_MACHINE_COUNT; i++) {
        const struct lifecycle_machine *machine = lifecycle_machines[i];
        if (machine->profile == profile) {
            buf_printf(&text,
                       "%s## %s, %s\n\n```mermaid\n",
                       text.length > 0 ? "\n" : "",
                       machine->name,
                       lifecycle_profile_name(profile));
            lifecycle_diagram(machine, &text);
            buf_append_text(&text, "```\n");
        }
    }
    print_text(options, "markdown", &text);
    return CODE_OK;
}

static int run_diagram(const struct options *options)
{
    if (options->operand_count == 0) {
        return print_diagrams(options);
    }
    if (options->operand_count > 1) {
        return report_usage(options,
                            "'lifecycle diagram' takes one MACHINE at most");
    }
    const struct lifecycle_machine *machine =
        find_machine(options, options->operands[0].word);
    if (machine == NULL) {
        return CODE_BAD;
    }
    struct buf text = {0};
    lifecycle_diagram(machine, &text);
    print_text(options, "mermaid", &text);
    return CODE_OK;
}

static int run_page(const struct options *options)
{
    struct buf text = {0};
    lifecycle_page(&text);
    print_text(options, "markdown", &text);
    return CODE_OK;
}

/* -- explain ------------------------------------------------------------- */

struct question {
    const struct lifecycle_machine *machine;
    uint8_t status;
    uint8_t event;
    unsigned facts;
};

static bool find_facts(const struct options *options,
                       const struct lifecycle_machine *machine,
                       unsigned *out)
{
    const unsigned known = lifecycle_facts_read(machine);
    *out = 0;
    for (size_t i = 0; i < options->fact_count; i++) {
        const unsigned fact = lifecycle_fact_find(options->facts[i]);
        if ((fact & known) == 0) {
            refuse_fact(options, machine, options->facts[i]);
            return false;
        }
        *out |= fact;
    }
    return true;
}

/* The question about a machine that the operands behind its name ask. */
static bool find_question(const struct options *options,
                          const struct lifecycle_machine *machine,
                          struct question *out)
{
    const char *status_name = options->operands[1].word;
    const char *event_name = options->operands[2].word;
    const int status = lifecycle_status_find(machine, status_name);
    if (status < 0) {
        refuse_status(options, machine, status_name);
        return false;
    }
    const int event = lifecycle_event_find(machine, event_name);
    if (event < 0) {
        refuse_event(options, machine, event_name);
        return false;
    }
    *out = (struct question){machine, (uint8_t)status, (uint8_t)event, 0};
    return find_facts(options, machine, &out->facts);
}

/* Which events the status takes, and which statuses take the event. */
static void explain_illegal(const struct question *question, struct buf *out)
{
    const struct lifecycle_machine *machine = question->machine;
    const char *between = "";
    buf_printf(out,
               "Events with an edge from %s: ",
               machine->statuses[question->status].name);
    for (size_t i = 0; i < machine->edge_count; i++) {
        const struct lifecycle_edge *edge = &machine->edges[i];
        if (edge->from == question->status) {
            buf_printf(out, "%s%s", between, machine->events[edge->event].name);
            between = ", ";
        }
    }
    buf_append_text(out, between[0] == '\0' ? "none; it is final.\n" : ".\n");
    between = "";
    buf_printf(out,
               "%s has an edge from: ",
               machine->events[question->event].name);
    for (size_t i = 0; i < machine->edge_count; i++) {
        const struct lifecycle_edge *edge = &machine->edges[i];
        if (edge->event == question->event) {
            buf_printf(out,
                       "%s%s",
                       between,
                       machine->statuses[edge->from].name);
            between = ", ";
        }
    }
    buf_append_text(out, ".\n");
}

static void explain_edge(const struct question *question,
                         const struct lifecycle_outcome *outcome,
                         struct buf *out)
{
    const struct lifecycle_machine *machine = question->machine;
    const struct lifecycle_event *event = &machine->events[question->event];
    const struct lifecycle_edge *edge = outcome->edge;
    if (event->predicates != 0) {
        buf_append_text(out, "Predicates that hold: ");
        lifecycle_predicates_append(event, out);
        buf_append_text(out, ".\n");
    }
    if (edge->fact != 0) {
        buf_printf(out,
                   "The target depends on the row: %s if %s, else %s.\n",
                   machine->statuses[edge->to_with].name,
                   lifecycle_fact_name((enum lifecycle_fact)edge->fact),
                   machine->statuses[edge->to].name);
    }
    for (unsigned i = 0; i < LIFECYCLE_EFFECT_COUNT; i++) {
        const enum lifecycle_effect effect = (enum lifecycle_effect)(1U << i);
        if ((outcome->effects & (unsigned)effect) != 0) {
            buf_printf(out,
                       "%s: %s.\n",
                       lifecycle_effect_name(effect),
                       lifecycle_effect_meaning(effect));
        }
    }
    if (edge->questionable != NULL) {
        buf_printf(out, "Questionable: %s.\n", edge->questionable);
    }
}

static void print_answer(const struct question *question,
                         const struct lifecycle_outcome *outcome,
                         const char *detail)
{
    struct buf text = {0};
    buf_printf(&text, "%s: %s", lifecycle_kind_name(outcome->kind), detail);
    if (outcome->kind == LIFECYCLE_SUPERSEDED) {
        buf_printf(&text,
                   " (%s)",
                   lifecycle_predicate_name(outcome->predicate));
    }
    buf_append_char(&text, '\n');
    if (outcome->edge != NULL) {
        explain_edge(question, outcome, &text);
    } else if (outcome->kind == LIFECYCLE_ILLEGAL) {
        explain_illegal(question, &text);
    }
    output_bytes(buf_text(&text), text.length - 1);
    buf_release(&text);
}

/* -- explain, as JSON ---------------------------------------------------- */

static void put_text(struct value *object, const char *key, const char *text)
{
    object_put_adopt(object,
                     key,
                     text != NULL ? value_text_new(text) : value_null());
}

static struct value names_of_facts(unsigned facts)
{
    struct value names[LIFECYCLE_FACT_COUNT];
    size_t count = 0;
    for (unsigned i = 0; i < LIFECYCLE_FACT_COUNT; i++) {
        if ((facts & 1U << i) != 0) {
            names[count++] = value_text_new(
                lifecycle_fact_name((enum lifecycle_fact)(1U << i)));
        }
    }
    return array_new_adopt(names, count);
}

static struct value names_of_effects(unsigned effects)
{
    struct value names[LIFECYCLE_EFFECT_COUNT];
    size_t count = 0;
    for (unsigned i = 0; i < LIFECYCLE_EFFECT_COUNT; i++) {
        if ((effects & 1U << i) != 0) {
            names[count++] = value_text_new(
                lifecycle_effect_name((enum lifecycle_effect)(1U << i)));
        }
    }
    return array_new_adopt(names, count);
}

static void print_answer_json(const struct question *question,
                              const struct lifecycle_outcome *outcome,
                              const char *detail)
{
    const struct lifecycle_machine *machine = question->machine;
    struct value object = value_empty_object();
    put_text(&object, "machine", machine->name);
    put_text(&object, "profile", lifecycle_profile_name(machine->profile));
    put_text(&object, "status", machine->statuses[question->status].name);
    put_text(&object, "event", machine->events[question->event].name);
    object_put_adopt(&object, "facts", names_of_facts(question->facts));
    put_text(&object, "outcome", lifecycle_kind_name(outcome->kind));
    put_text(&object, "to", machine->statuses[outcome->to].name);
    put_text(&object,
             "predicate",
             outcome->predicate != PREDICATE_NONE
                 ? lifecycle_predicate_name(outcome->predicate)
                 : NULL);
    object_put_adopt(&object, "effects", names_of_effects(outcome->effects));
    put_text(&object,
             "questionable",
             outcome->edge != NULL ? outcome->edge->questionable : NULL);
    put_text(&object, "detail", detail);

    struct buf text = {0};
    json_write(&text, object, JSON_AS_GIVEN, 0);
    output_bytes(buf_text(&text), text.length);
    buf_release(&text);
    value_unref(object);
}

static int run_explain(const struct options *options)
{
    struct question question;
    const struct lifecycle_machine *machine =
        find_machine(options, options->operands[0].word);
    if (machine == NULL || !find_question(options, machine, &question)) {
        return CODE_BAD;
    }
    const struct lifecycle_outcome outcome = lifecycle_evaluate(machine,
                                                                question.status,
                                                                question.event,
                                                                question.facts);
    char detail[LIFECYCLE_DETAIL_SIZE];
    lifecycle_detail(machine,
                     question.status,
                     question.event,
                     &outcome,
                     detail,
                     sizeof detail);
    if (option_is_given(options, OPTION_JSON)) {
        print_answer_json(&question, &outcome, detail);
    } else {
        print_answer(&question, &outcome, detail);
    }
    return outcome.kind == LIFECYCLE_APPLIED ? CODE_OK : CODE_NO;
}

/* -- The table ----------------------------------------------------------- */

const struct command lifecycle_commands[] = {
    {
        .name = "diagram",
        .operands = "[MACHINE]",
        .takes_more = true,
        .options = OPTION_PROFILE,
        .brief = "a machine as a Mermaid state diagram",
        .manual =
            "Prints the state diagram of thread, environment or piece, in\n"
            "Mermaid. Without MACHINE, prints all of them as Markdown. Names\n"
            "in angle brackets are the predicates that must hold.\n",
        .example = "  $ heddle lifecycle diagram thread | head -n 3\n"
                   "  stateDiagram-v2\n"
                   "      [*] --> starting\n"
                   "      idle --> starting : run.preparing "
                   "\u27E8notDeleted, notArchived\u27E9\n",
        .run = run_diagram,
    },
    {
        .name = "explain",
        .operands = "MACHINE STATUS EVENT",
        .operand_count = 3,
        .options = OPTION_PROFILE | OPTION_FACT,
        .brief = "what an event would do, and why",
        .manual =
            "Prints the outcome of EVENT for a row in STATUS: applied,\n"
            "unchanged, superseded or illegal, and why. --fact names a fact\n"
            "of the row. Exits with 1 if the event would not be applied.\n",
        .example = "  $ heddle lifecycle explain piece stopping stopped "
                   "--fact stale-run\n"
                   "  superseded: the report is about another run "
                   "(currentRun)\n"
                   "  $ heddle lifecycle explain thread active stop.requested\n"
                   "  applied: stop.requested goes from active to stopping\n",
        .run = run_explain,
    },
    {
        .name = "page",
        .operands = "",
        .brief = "all machines, as one page of Markdown",
        .manual = "Prints the tables and diagrams of all machines in both\n"
                  "profiles, and explains their names.\n",
        .example = "  $ heddle lifecycle page | head -n 1\n"
                   "  # Lifecycles\n",
        .run = run_page,
    },
    {.name = NULL},
};
