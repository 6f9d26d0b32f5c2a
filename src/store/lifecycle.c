/* Load, ask the machine, update if the status is unchanged (lifecycle-1 to
 * lifecycle-3). */

#include "store/lifecycle.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "lifecycle/environment.h"
#include "lifecycle/thread.h"

/* An event on its way to a row. */
struct change {
    struct registry *registry;
    const struct lifecycle_machine *machine;
    const char *id;
    const struct lifecycle_report *report;
    struct lifecycle_outcome outcome;
    struct lifecycle_result *result;
};

/* -- What the machine says ----------------------------------------------- */

/* `is_same`: the report names what the row has. A report that begins something
 * new is not stale if the machine accepts it as such, by `stamp`. */
static void decide(struct change *change,
                   uint8_t status,
                   unsigned facts,
                   bool is_same,
                   bool begins,
                   unsigned stale,
                   unsigned stamp)
{
    const uint8_t event = change->report->event;
    change->outcome = lifecycle_evaluate(change->machine, status, event, facts);
    if (!is_same && !(begins && (change->outcome.effects & stamp) != 0)) {
        change->outcome =
            lifecycle_evaluate(change->machine, status, event, facts | stale);
    }
    *change->result = (struct lifecycle_result){
        .kind = change->outcome.kind,
        .from = status,
        .to = change->outcome.to,
    };
}

static bool is_named(const char *wanted, const char *name)
{
    return name != NULL && *wanted != '\0' && strcmp(wanted, name) == 0;
}

static void decide_thread(struct change *change, const struct thread_row *row)
{
    const unsigned facts = (row->is_deleted ? FACT_DELETED : 0U) |
                           (row->is_archived ? FACT_ARCHIVED : 0U) |
                           (*row->parent != '\0' ? FACT_CHILD : 0U);
    decide(change,
           row->status,
           facts,
           is_named(row->run, change->report->run),
           change->report->begins,
           FACT_STALE_RUN,
           EFFECT_STAMP_RUN);
}

static void decide_environment(struct change *change,
                               const struct environment_row *row)
{
    const unsigned facts =
        (row->is_managed ? FACT_MANAGED : 0U) |
        (!value_is_absent(row->workspace) ? FACT_WORKSPACE : 0U);
    decide(change,
           row->status,
           facts,
           is_named(row->attempt, change->report->attempt),
           true,
           FACT_STALE_ATTEMPT,
           EFFECT_STAMP_ATTEMPT);
}

/* -- The statements ------------------------------------------------------ */

static void put_status(struct query *query,
                       int parameter,
                       const struct lifecycle_machine *machine,
                       uint8_t status)
{
    const char *name = machine->statuses[status].name;
    query_text(query, parameter, name, strlen(name));
}

/* Two parameters: whether a column changes, and its new value. */
static void put_change(struct query *query,
                       int parameter,
                       unsigned set,
                       unsigned clear,
                       const char *text,
                       size_t length)
{
    query_int(query, parameter, set != 0 || clear != 0 ? 1 : 0);
    if (set != 0) {
        query_text(query, parameter + 1, text, length);
    } else {
        query_null(query, parameter + 1);
    }
}

static void put_key(struct query *query, const struct change *change)
{
    query_text(query, 1, change->id, strlen(change->id));
    put_status(query, 2, change->machine, change->result->from);
    put_status(query, 3, change->machine, change->outcome.to);
    query_int(query, 4, change->registry->now_ms);
}

/* To its last row, because only then the statement is done. */
static enum err finish(struct query *query,
                       bool *changed,
                       struct err_detail *detail)
{
    *changed = false;
    while (query_step(query)) {
        *changed = true;
    }
    return query_end(query, detail);
}

/* *changed is false if the row no longer has the status it was loaded with. */
static enum err thread_set_status(struct change *change,
                                  bool *changed,
                                  struct err_detail *detail)
{
    const unsigned effects = change->outcome.effects;
    const char *run = change->report->run;
    struct query query = query_begin(&change->registry->engine->database,
                                     STATEMENT_THREAD_SET_STATUS);
    put_key(&query, change);
    put_change(&query,
               5,
               effects & EFFECT_STAMP_RUN,
               effects & EFFECT_CLEAR_RUN,
               run,
               run != NULL ? strlen(run) : 0);
    query_int(&query, 7, (effects & EFFECT_RAISE_ATTENTION) != 0 ? 1 : 0);
    return finish(&query, changed, detail);
}

/* Likewise, or if a thread prevents a claim. */
static enum err environment_set_status(struct change *change,
                                       bool *changed,
                                       struct err_detail *detail)
{
    const unsigned effects = change->outcome.effects;
    const char *attempt = change->report->attempt;
    const struct value *workspace = &change->report->workspace;
    const struct text path = value_is_absent(*workspace)
                                 ? (struct text){"", 0}
                                 : value_text(workspace);
    struct query query = query_begin(&change->registry->engine->database,
                                     STATEMENT_ENVIRONMENT_SET_STATUS);
    put_key(&query, change);
    put_change(&query,
               5,
               effects & EFFECT_STAMP_ATTEMPT,
               effects & EFFECT_CLEAR_ATTEMPT,
               attempt,
               attempt != NULL ? strlen(attempt) : 0);
    put_change(&query,
               7,
               effects & EFFECT_SET_WORKSPACE,
               effects & EFFECT_CLEAR_WORKSPACE,
               path.at,
               path.length);
    query_int(&query, 9, (effects & EFFECT_CLAIM) != 0 ? 1 : 0);
    return finish(&query, changed, detail);
}

/* -- The outcome --------------------------------------------------------- */

/* lifecycle-2. */
static void explain(struct change *change)
{
    struct lifecycle_result *result = change->result;
    struct registry *registry = change->registry;
    change->outcome.kind = result->kind;
    if (result->kind == LIFECYCLE_CONFLICT &&
        (change->outcome.effects & EFFECT_CLAIM) != 0) {
        (void)snprintf(result->detail,
                       sizeof result->detail,
                       "a thread is live or busy, or the %s has changed "
                       "meanwhile",
                       change->machine->name);
    } else {
        lifecycle_detail(change->machine,
                         result->from,
                         change->report->event,
                         &change->outcome,
                         result->detail,
                         sizeof result->detail);
    }
    if (result->kind == LIFECYCLE_APPLIED) {
        return;
    }
    registry->not_applied++;
    log_write(registry->options.log,
              change->report->is_routine ? LOG_LEVEL_DEBUG : LOG_LEVEL_INFO,
              "%s %s: %s not applied: %s: %s",
              change->machine->name,
              change->id,
              change->machine->events[change->report->event].name,
              lifecycle_kind_name(result->kind),
              result->detail);
}

static void note_change(struct change *change)
{
    struct registry_change told = {
        .machine = change->machine,
        .event = change->report->event,
        .from = change->result->from,
        .to = change->result->to,
    };
    (void)snprintf(told.id, sizeof told.id, "%s", change->id);
    vec_push(&change->registry->changes, told);
}

/* What the machine has to write must be in the report. */
static enum err check_report(const struct change *change,
                             struct err_detail *detail)
{
    const unsigned effects = change->outcome.effects;
    const struct lifecycle_report *report = change->report;
    const bool lacks_run =
        (effects & EFFECT_STAMP_RUN) != 0 &&
        (report->run == NULL || !registry_name_is_valid(report->run));
    const bool lacks_attempt =
        (effects & EFFECT_STAMP_ATTEMPT) != 0 &&
        (report->attempt == NULL || !registry_name_is_valid(report->attempt));
    const bool lacks_workspace = (effects & EFFECT_SET_WORKSPACE) != 0 &&
                                 !value_is_string(report->workspace);
    if (!lacks_run && !lacks_attempt && !lacks_workspace) {
        return ERR_OK;
    }
    return err_set(detail,
                   ERR_ARGUMENT,
                   "%s has no valid %s",
                   change->machine->events[report->event].name,
                   lacks_run       ? "run"
                   : lacks_attempt ? "attempt"
                                   : "workspace");
}

/* The outcome is known; what is left is to write it. */
static enum err write_outcome(struct change *change,
                              bool found,
                              enum err (*set_status)(struct change *change,
                                                     bool *changed,
                                                     struct err_detail *detail),
                              struct err_detail *detail)
{
    struct lifecycle_result *result = change->result;
    if (!found) {
        *result = (struct lifecycle_result){.kind = LIFECYCLE_NOT_FOUND};
    }
    enum err err = ERR_OK;
    if (result->kind == LIFECYCLE_APPLIED) {
        bool changed = false;
        err = check_report(change, detail);
        if (err == ERR_OK) {
            err = set_status(change, &changed, detail);
        }
        if (err == ERR_OK && changed) {
            const struct registry_move move = {
                change->machine,
                result->from,
                result->to,
            };
            note_change(change);
            err = registry_publish(change->registry,
                                   change->machine,
                                   change->id,
                                   &move,
                                   detail);
        } else if (err == ERR_OK) {
            result->kind = LIFECYCLE_CONFLICT;
            result->to = result->from;
        }
    }
    if (err == ERR_OK) {
        explain(change);
    }
    return err;
}

static struct change begin(struct registry *registry,
                           const struct lifecycle_machine *machine,
                           const char *id,
                           const struct lifecycle_report *report,
                           struct lifecycle_result *result)
{
    CHECK(registry->is_open);
    CHECK(report->event < machine->event_count);
    *result = (struct lifecycle_result){0};
    return (struct change){
        .registry = registry,
        .machine = machine,
        .id = id,
        .report = report,
        .result = result,
    };
}

static void after_load(const struct registry *registry)
{
    if (registry->options.after_load != NULL) {
        registry->options.after_load(registry->options.ctx);
    }
}

enum err registry_thread_event_within(struct registry *registry,
                                      const char *id,
                                      const struct lifecycle_report *report,
                                      struct lifecycle_result *result,
                                      struct err_detail *detail)
{
    struct change change =
        begin(registry, &thread_lifecycle, id, report, result);
    struct thread_row row;
    bool found = false;
    const enum err err = registry_thread(registry, id, &row, &found, detail);
    if (err != ERR_OK) {
        return err;
    }
    if (found) {
        decide_thread(&change, &row);
    }
    thread_row_release(&row);
    after_load(registry);
    return write_outcome(&change, found, thread_set_status, detail);
}

enum err registry_environment_event_within(
    struct registry *registry,
    const char *id,
    const struct lifecycle_report *report,
    struct lifecycle_result *result,
    struct err_detail *detail)
{
    struct change change =
        begin(registry, &environment_lifecycle, id, report, result);
    struct environment_row row;
    bool found = false;
    const enum err err =
        registry_environment(registry, id, &row, &found, detail);
    if (err != ERR_OK) {
        return err;
    }
    if (found) {
        decide_environment(&change, &row);
    }
    environment_row_release(&row);
    after_load(registry);
    return write_outcome(&change, found, environment_set_status, detail);
}

/* -- In a transaction of their own --------------------------------------- */

typedef enum err within_fn(struct registry *registry,
                           const char *id,
                           const struct lifecycle_report *report,
                           struct lifecycle_result *result,
                           struct err_detail *detail);

static enum err alone(within_fn *within,
                      struct registry *registry,
                      const char *id,
                      const struct lifecycle_report *report,
                      uint64_t now_ms,
                      struct lifecycle_result *result,
                      struct err_detail *detail)
{
    enum err err = registry_begin(registry, now_ms, detail);
    if (err != ERR_OK) {
        return err;
    }
    err = within(registry, id, report, result, detail);
    return registry_end(registry, err, detail);
}

enum err registry_thread_event(struct registry *registry,
                               const char *id,
                               const struct lifecycle_report *report,
                               uint64_t now_ms,
                               struct lifecycle_result *result,
                               struct err_detail *detail)
{
    return alone(registry_thread_event_within,
                 registry,
                 id,
                 report,
                 now_ms,
                 result,
                 detail);
}

enum err registry_environment_event(struct registry *registry,
                                    const char *id,
                                    const struct lifecycle_report *report,
                                    uint64_t now_ms,
                                    struct lifecycle_result *result,
                                    struct err_detail *detail)
{
    return alone(registry_environment_event_within,
                 registry,
                 id,
                 report,
                 now_ms,
                 result,
                 detail);
}
