/* Threads: created, given turns, stopped, archived, deleted; and what follows
 * when one comes to rest. */

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "lifecycle/environment.h"
#include "lifecycle/thread.h"
#include "service/service_internal.h"

static enum err load(struct step *step,
                     const char *id,
                     struct thread_row *row,
                     bool *found)
{
    return registry_thread(&step->service->registry,
                           id,
                           row,
                           found,
                           step->detail);
}

static bool is_resting(const struct thread_row *row)
{
    return thread_lifecycle.statuses[row->status].is_resting;
}

/* -- Mail ---------------------------------------------------------------- */

enum err thread_post_run(struct step *step, const char *id)
{
    struct thread_row row;
    struct environment_row environment;
    struct registry *registry = &step->service->registry;
    bool found = false;
    enum err err = load(step, id, &row, &found);
    if (err != ERR_OK || !found) {
        return err;
    }
    err = registry_environment(registry,
                               row.environment,
                               &environment,
                               &found,
                               step->detail);
    if (err == ERR_OK && found && row.status == THREAD_STARTING) {
        struct service_mail mail = {
            .verb = DAEMON_RUN,
            .workspace = environment.workspace,
            .input = row.input,
        };
        memcpy(mail.environment, row.environment, sizeof mail.environment);
        memcpy(mail.thread, row.id, sizeof mail.thread);
        memcpy(mail.token, row.run, sizeof mail.token);
        step_post(step, &mail);
    }
    environment_row_release(&environment);
    thread_row_release(&row);
    return err;
}

void thread_post_stop(struct step *step,
                      const struct thread_row *row,
                      const char *run)
{
    struct service_mail mail = {
        .verb = DAEMON_STOP,
        .is_stray = strcmp(row->run, run) != 0,
    };
    memcpy(mail.environment, row->environment, sizeof mail.environment);
    memcpy(mail.thread, row->id, sizeof mail.thread);
    (void)snprintf(mail.token, sizeof mail.token, "%s", run);
    step_post(step, &mail);
}

/* -- Coming to rest ------------------------------------------------------ */

/* The run is over: no answer to it is expected. */
static enum err after_rest(struct step *step,
                           const char *id,
                           const char *run,
                           enum thread_event event)
{
    struct thread_row row;
    bool found = false;
    inflight_end(step->service, DAEMON_RUN, id, run);
    inflight_end(step->service, DAEMON_STOP, id, run);
    enum err err = load(step, id, &row, &found);
    if (err != ERR_OK || !found) {
        return err;
    }
    thread_row_release(&row);
    if (row.is_deleted) {
        err =
            registry_thread_remove(&step->service->registry, id, step->detail);
    }
    if (err == ERR_OK && !thread_is_live(&row)) {
        return environment_advance(step, row.environment);
    }
    return err == ERR_OK && event == THREAD_RUN_SUCCEEDED
               ? thread_give_message(step, id)
               : err;
}

enum err thread_event(struct step *step,
                      const char *id,
                      const struct lifecycle_report *report,
                      bool *applied)
{
    struct lifecycle_result result;
    const enum err err = registry_thread_event_within(&step->service->registry,
                                                      id,
                                                      report,
                                                      &result,
                                                      step->detail);
    *applied = err == ERR_OK && result.kind == LIFECYCLE_APPLIED;
    if (!*applied || !thread_lifecycle.statuses[result.to].is_resting) {
        return err;
    }
    return after_rest(step, id, report->run, (enum thread_event)report->event);
}

/* -- Turns --------------------------------------------------------------- */

static enum err check_turn(struct step *step, const struct thread_row *row)
{
    if (row->is_deleted) {
        return step_refuse(step, SERVICE_DELETED, "%s is deleted", row->id);
    }
    if (row->is_archived) {
        return step_refuse(step, SERVICE_ARCHIVED, "%s is archived", row->id);
    }
    if (row->status == THREAD_STOPPING) {
        return step_refuse(step, SERVICE_STOPPING, "%s is stopping", row->id);
    }
    if (!is_resting(row)) {
        return step_refuse(step,
                           SERVICE_BUSY,
                           "%s is %s",
                           row->id,
                           thread_lifecycle.statuses[row->status].name);
    }
    if (!step->service->is_connected) {
        return step_refuse(step, SERVICE_OFFLINE, "no daemon is connected");
    }
    return ERR_OK;
}

/* Begins a run of a thread that was checked. */
static enum err begin_run(struct step *step,
                          const struct thread_row *row,
                          struct value input,
                          bool is_ready)
{
    struct registry *registry = &step->service->registry;
    char run[REGISTRY_NAME_SIZE];
    struct lifecycle_result result;
    step_token(step, 'r', run);
    const struct lifecycle_report report = {
        .event = THREAD_RUN_PREPARING,
        .run = run,
        .begins = true,
    };
    enum err err = registry_thread_event_within(registry,
                                                row->id,
                                                &report,
                                                &result,
                                                step->detail);
    if (err == ERR_OK && result.kind != LIFECYCLE_APPLIED) {
        /* The row was checked in this transaction: undo all of it. */
        return err_set(step->detail,
                       ERR_CONFLICT,
                       "thread %s: %s",
                       row->id,
                       result.detail);
    }
    if (err == ERR_OK) {
        err = registry_set_input(registry, row->id, input, step->detail);
    }
    return err == ERR_OK && is_ready ? thread_post_run(step, row->id) : err;
}

enum err thread_give_turn(struct step *step,
                          const struct thread_row *row,
                          struct value input)
{
    bool is_ready = false;
    enum err err = check_turn(step, row);
    if (err == ERR_OK && !step_is_refused(step)) {
        err = environment_wake(step, row->environment, &is_ready);
    }
    return err == ERR_OK && !step_is_refused(step)
               ? begin_run(step, row, input, is_ready)
               : err;
}

/* The message leaves the queue in the transaction in which its run begins, so
 * it is neither lost nor sent twice. */
enum err thread_give_message(struct step *step, const char *id)
{
    struct registry *registry = &step->service->registry;
    struct service_outcome outcome = {.kind = SERVICE_ACCEPTED};
    struct step quiet = *step;
    struct thread_row row;
    struct value message = VALUE_NONE;
    bool found = false;
    bool is_ready = false;
    quiet.outcome = &outcome;
    enum err err = load(step, id, &row, &found);
    if (err != ERR_OK || !found) {
        return err;
    }
    if (row.queued == 0 || row.holds || row.status != THREAD_IDLE) {
        thread_row_release(&row);
        return ERR_OK;
    }
    err = check_turn(&quiet, &row);
    if (err == ERR_OK && !step_is_refused(&quiet)) {
        err = environment_wake(&quiet, row.environment, &is_ready);
    }
    if (err == ERR_OK && !step_is_refused(&quiet)) {
        err = registry_message_take(registry, id, &message, step->detail);
        if (err == ERR_OK) {
            err = begin_run(step, &row, message, is_ready);
        }
    }
    value_unref(message);
    thread_row_release(&row);
    return err;
}

/* -- Creating ------------------------------------------------------------ */

/* The environment of a new thread: the one with that id, or a new one. */
static enum err join_environment(struct step *step,
                                 const struct service_thread *thread,
                                 bool *is_ready)
{
    struct registry *registry = &step->service->registry;
    struct environment_row row;
    bool found = false;
    enum err err = registry_environment(registry,
                                        thread->environment,
                                        &row,
                                        &found,
                                        step->detail);
    environment_row_release(&row);
    *is_ready = false;
    if (err == ERR_OK && found && row.is_kept) {
        err = registry_set_kept(registry, row.id, false, step->detail);
    }
    if (err != ERR_OK || found) {
        return err != ERR_OK
                   ? err
                   : environment_wake(step, thread->environment, is_ready);
    }
    row = (struct environment_row){.is_managed = thread->is_managed};
    (void)snprintf(row.id, sizeof row.id, "%s", thread->environment);
    step_token(step, 'p', row.provision);
    err = registry_environment_add(registry, &row, step->detail);
    environment_post_provision(step, &row);
    return err;
}

static enum err add_thread(struct step *step,
                           const struct service_thread *thread,
                           struct value input,
                           bool is_ready)
{
    struct thread_row row = {.input = input};
    (void)snprintf(row.id, sizeof row.id, "%s", thread->id);
    (void)snprintf(row.environment,
                   sizeof row.environment,
                   "%s",
                   thread->environment);
    (void)snprintf(row.parent,
                   sizeof row.parent,
                   "%s",
                   thread->parent != NULL ? thread->parent : "");
    step_token(step, 'r', row.run);
    const enum err err =
        registry_thread_add(&step->service->registry, &row, step->detail);
    return err == ERR_OK && is_ready ? thread_post_run(step, row.id) : err;
}

static enum err check_new(struct step *step,
                          const struct service_thread *thread)
{
    struct thread_row row;
    bool found = false;
    if (!registry_name_is_valid(thread->id) ||
        !registry_name_is_valid(thread->environment) ||
        (thread->parent != NULL && !registry_name_is_valid(thread->parent))) {
        return step_refuse(step, SERVICE_INVALID, "invalid id");
    }
    if (!step->service->is_connected) {
        return step_refuse(step, SERVICE_OFFLINE, "no daemon is connected");
    }
    const enum err err = load(step, thread->id, &row, &found);
    thread_row_release(&row);
    return err == ERR_OK && found ? step_refuse(step,
                                                SERVICE_EXISTS,
                                                "thread %s already exists",
                                                thread->id)
                                  : err;
}

/* The text of a caller, or a refusal. */
static struct value read_text(struct step *step, const char *text)
{
    struct value value = VALUE_NONE;
    struct err_detail why = {0};
    if (registry_text(text, &value, &why) != ERR_OK) {
        (void)step_refuse(step, SERVICE_INVALID, "%.150s", why.text);
    }
    return value;
}

enum err service_create(struct service *service,
                        const struct service_thread *thread,
                        uint64_t now,
                        struct service_outcome *outcome,
                        struct err_detail *detail)
{
    struct step step = {service, now, outcome, detail};
    bool is_ready = false;
    enum err err = step_begin(&step);
    if (err != ERR_OK) {
        return err;
    }
    struct value input = read_text(&step, thread->input);
    if (!step_is_refused(&step)) {
        err = check_new(&step, thread);
    }
    if (err == ERR_OK && !step_is_refused(&step)) {
        err = join_environment(&step, thread, &is_ready);
    }
    if (err == ERR_OK && !step_is_refused(&step)) {
        err = add_thread(&step, thread, input, is_ready);
    }
    value_unref(input);
    return step_end(&step, err);
}

/* -- Stopping ------------------------------------------------------------ */

/* A thread that waits for its environment has nothing to stop: it rests at
 * once, and the environment may not be wanted any more. */
static enum err settle_waiting(struct step *step, const struct thread_row *row)
{
    bool applied = false;
    const struct lifecycle_report report = {
        .event = THREAD_STOP_SETTLED,
        .run = row->run,
    };
    const enum err err = thread_event(step, row->id, &report, &applied);
    return err == ERR_OK ? environment_unwanted(step, row->environment) : err;
}

static enum err stop_row(struct step *step, const struct thread_row *row)
{
    struct environment_row environment;
    bool found = false;
    bool applied = false;
    const struct lifecycle_report report = {
        .event = THREAD_STOP_REQUESTED,
        .run = row->run,
    };
    enum err err = thread_event(step, row->id, &report, &applied);
    if (err == ERR_OK) {
        err = registry_environment(&step->service->registry,
                                   row->environment,
                                   &environment,
                                   &found,
                                   step->detail);
    }
    if (err != ERR_OK || !applied) {
        return err;
    }
    environment_row_release(&environment);
    if (found && environment.status == ENVIRONMENT_PROVISIONING) {
        return settle_waiting(step, row);
    }
    thread_post_stop(step, row, row->run);
    return ERR_OK;
}

static enum err stop(struct step *step, const struct thread_row *row)
{
    if (is_resting(row)) {
        return step_nothing(step, "nothing runs in %s", row->id);
    }
    if (row->status == THREAD_STOPPING) {
        return step_nothing(step, "%s is being stopped", row->id);
    }
    /* Waiting messages must not revive a thread that was just stopped. */
    const enum err err = registry_set_holds(&step->service->registry,
                                            row->id,
                                            true,
                                            step->detail);
    return err == ERR_OK ? stop_row(step, row) : err;
}

static enum err finalize(struct step *step, const struct thread_row *row)
{
    bool applied = false;
    if (row->status != THREAD_STOPPING) {
        return step_nothing(step, "%s is not stopping", row->id);
    }
    const struct lifecycle_report report = {
        .event = THREAD_STOP_SETTLED,
        .run = row->run,
    };
    return thread_event(step, row->id, &report, &applied);
}

/* -- Leaving ------------------------------------------------------------- */

/* What is busy is stopped, and goes when it rests. */
static enum err leave(struct step *step, const struct thread_row *row)
{
    if (row->status == THREAD_STOPPING) {
        return ERR_OK;
    }
    return is_resting(row) ? environment_advance(step, row->environment)
                           : stop_row(step, row);
}

static enum err delete_row(struct step *step, const struct thread_row *row)
{
    struct registry *registry = &step->service->registry;
    if (row->is_deleted) {
        return step_nothing(step, "%s is deleted", row->id);
    }
    const enum err err =
        is_resting(row)
            ? registry_thread_remove(registry, row->id, step->detail)
            : registry_set_deleted(registry, row->id, step->detail);
    return err == ERR_OK ? leave(step, row) : err;
}

static enum err archive(struct step *step, const struct thread_row *row)
{
    struct registry *registry = &step->service->registry;
    if (row->is_archived) {
        return step_nothing(step, "%s is archived", row->id);
    }
    enum err err = registry_set_archived(registry, row->id, true, step->detail);
    if (err == ERR_OK) {
        err = registry_schedules_forget(registry, row->id, step->detail);
    }
    return err == ERR_OK ? leave(step, row) : err;
}

static enum err unarchive(struct step *step, const struct thread_row *row)
{
    struct registry *registry = &step->service->registry;
    struct environment_row environment;
    bool found = false;
    bool applied = false;
    if (!row->is_archived) {
        return step_nothing(step, "%s is not archived", row->id);
    }
    enum err err = registry_environment(registry,
                                        row->environment,
                                        &environment,
                                        &found,
                                        step->detail);
    environment_row_release(&environment);
    if (err != ERR_OK) {
        return err;
    }
    if (!found || environment.status == ENVIRONMENT_DESTROYING ||
        environment.status == ENVIRONMENT_DESTROYED) {
        return step_refuse(step,
                           SERVICE_GONE,
                           "the environment of %s is gone",
                           row->id);
    }
    err = registry_set_archived(registry, row->id, false, step->detail);
    if (err == ERR_OK && environment.status == ENVIRONMENT_RETIRING) {
        err = environment_event(step,
                                row->environment,
                                ENVIRONMENT_RETIRE_CANCELLED,
                                NULL,
                                &applied);
    }
    return err;
}

/* -- The calls ----------------------------------------------------------- */

typedef enum err row_fn(struct step *step, const struct thread_row *row);

/* A deleted thread is visible only to calls that end it. */
static enum err with_row(struct service *service,
                         const char *id,
                         uint64_t now,
                         struct service_outcome *outcome,
                         struct err_detail *detail,
                         row_fn *what)
{
    struct step step = {service, now, outcome, detail};
    struct thread_row row;
    bool found = false;
    enum err err = step_begin(&step);
    if (err != ERR_OK) {
        return err;
    }
    err = load(&step, id, &row, &found);
    if (err == ERR_OK && !found) {
        err = step_refuse(&step, SERVICE_NOT_FOUND, "thread not found");
    } else if (err == ERR_OK && row.is_deleted && what != finalize &&
               what != stop && what != delete_row) {
        err = step_refuse(&step, SERVICE_DELETED, "%s is deleted", row.id);
    } else if (err == ERR_OK) {
        err = what(&step, &row);
    }
    thread_row_release(&row);
    return step_end(&step, err);
}

#define THREAD_CALL(call, what)                                   \
    enum err call(struct service *service,                        \
                  const char *id,                                 \
                  uint64_t now,                                   \
                  struct service_outcome *outcome,                \
                  struct err_detail *detail)                      \
    {                                                             \
        return with_row(service, id, now, outcome, detail, what); \
    }

THREAD_CALL(service_stop, stop)
THREAD_CALL(service_finalize, finalize)
THREAD_CALL(service_delete, delete_row)
THREAD_CALL(service_archive, archive)
THREAD_CALL(service_unarchive, unarchive)

/* -- With a text --------------------------------------------------------- */

static enum err send_text(struct step *step,
                          const struct thread_row *row,
                          struct value text)
{
    enum err err = thread_give_turn(step, row, text);
    if (err == ERR_OK && !step_is_refused(step)) {
        err = registry_set_holds(&step->service->registry,
                                 row->id,
                                 false,
                                 step->detail);
    }
    return err;
}

static enum err queue_text(struct step *step,
                           const struct thread_row *row,
                           struct value text)
{
    struct registry *registry = &step->service->registry;
    if (!thread_is_live(row)) {
        return check_turn(step, row);
    }
    enum err err = registry_message_add(registry, row->id, text, step->detail);
    if (err == ERR_OK) {
        err = registry_set_holds(registry, row->id, false, step->detail);
    }
    return err == ERR_OK ? thread_give_message(step, row->id) : err;
}

static enum err with_text(struct step *step,
                          const char *id,
                          const char *text,
                          enum err (*what)(struct step *step,
                                           const struct thread_row *row,
                                           struct value text))
{
    struct thread_row row;
    bool found = false;
    struct value value = read_text(step, text);
    enum err err = load(step, id, &row, &found);
    if (err == ERR_OK && !found) {
        err = step_refuse(step, SERVICE_NOT_FOUND, "thread not found");
    }
    if (err == ERR_OK && !step_is_refused(step)) {
        err = what(step, &row, value);
    }
    thread_row_release(&row);
    value_unref(value);
    return err;
}

enum err service_send(struct service *service,
                      const char *thread,
                      const char *input,
                      uint64_t now,
                      struct service_outcome *outcome,
                      struct err_detail *detail)
{
    struct step step = {service, now, outcome, detail};
    const enum err err = step_begin(&step);
    return err != ERR_OK
               ? err
               : step_end(&step, with_text(&step, thread, input, send_text));
}

enum err service_queue(struct service *service,
                       const char *thread,
                       const char *input,
                       uint64_t now,
                       struct service_outcome *outcome,
                       struct err_detail *detail)
{
    struct step step = {service, now, outcome, detail};
    const enum err err = step_begin(&step);
    return err != ERR_OK
               ? err
               : step_end(&step, with_text(&step, thread, input, queue_text));
}
