/* Environments: created when a thread needs them, destroyed when none does. */

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "lifecycle/environment.h"
#include "lifecycle/thread.h"
#include "service/service_internal.h"

static enum err load(struct step *step,
                     const char *id,
                     struct environment_row *row,
                     bool *found)
{
    return registry_environment(&step->service->registry,
                                id,
                                row,
                                found,
                                step->detail);
}

/* -- Events -------------------------------------------------------------- */

/* What has left a status waits for no answer that belongs to it. */
static void end_inflight(struct step *step, const struct environment_row *row)
{
    struct service *service = step->service;
    if (row->status == ENVIRONMENT_PROVISIONING) {
        inflight_end(service, DAEMON_PROVISION, row->id, row->provision);
        inflight_end(service, DAEMON_CANCEL, row->id, row->provision);
    } else if (row->status == ENVIRONMENT_DESTROYING) {
        inflight_end(service, DAEMON_DESTROY, row->id, row->attempt);
    }
}

static enum err report_event(struct step *step,
                             const char *id,
                             const struct lifecycle_report *report,
                             bool *applied)
{
    struct lifecycle_result result;
    struct environment_row row;
    bool found = false;
    *applied = false;
    enum err err = load(step, id, &row, &found);
    environment_row_release(&row);
    if (err != ERR_OK) {
        return err;
    }
    err = registry_environment_event_within(&step->service->registry,
                                            id,
                                            report,
                                            &result,
                                            step->detail);
    *applied = err == ERR_OK && result.kind == LIFECYCLE_APPLIED;
    if (*applied) {
        end_inflight(step, &row);
    }
    return err;
}

enum err environment_event(struct step *step,
                           const char *id,
                           enum environment_event event,
                           const char *attempt,
                           bool *applied)
{
    const struct lifecycle_report report = {
        .event = (uint8_t)event,
        .attempt = attempt,
    };
    return report_event(step, id, &report, applied);
}

/* -- Mail ---------------------------------------------------------------- */

static struct service_mail mail_to(enum daemon_verb verb,
                                   const struct environment_row *row,
                                   const char *token)
{
    struct service_mail mail = {.verb = verb, .workspace = row->workspace};
    memcpy(mail.environment, row->id, sizeof mail.environment);
    (void)snprintf(mail.token, sizeof mail.token, "%s", token);
    return mail;
}

void environment_post_provision(struct step *step,
                                const struct environment_row *row)
{
    const struct service_mail mail =
        mail_to(DAEMON_PROVISION, row, row->provision);
    step_post(step, &mail);
}

void environment_post_destroy(struct step *step,
                              const struct environment_row *row,
                              const char *attempt)
{
    const struct service_mail mail = mail_to(DAEMON_DESTROY, row, attempt);
    step_post(step, &mail);
}

/* -- Threads that use it ------------------------------------------------- */

static enum err count_use(struct step *step, const char *id, void *ctx)
{
    struct environment_use *use = ctx;
    struct thread_row row;
    bool found = false;
    const enum err err = registry_thread(&step->service->registry,
                                         id,
                                         &row,
                                         &found,
                                         step->detail);
    thread_row_release(&row);
    if (err == ERR_OK && found) {
        use->live += thread_is_live(&row) ? 1 : 0;
        use->starting += row.status == THREAD_STARTING ? 1 : 0;
        use->busy += thread_lifecycle.statuses[row.status].is_resting ? 0 : 1;
    }
    return err;
}

enum err environment_use(struct step *step,
                         const char *id,
                         struct environment_use *out)
{
    *out = (struct environment_use){0};
    return step_each(step, REGISTRY_THREADS_OF_ENVIRONMENT, id, count_use, out);
}

/* -- Making -------------------------------------------------------------- */

/* A new request to make it, in a status that allows one. */
static enum err request_provision(struct step *step, const char *id)
{
    bool applied = false;
    char token[REGISTRY_NAME_SIZE];
    enum err err = environment_event(step,
                                     id,
                                     ENVIRONMENT_PROVISION_REQUESTED,
                                     NULL,
                                     &applied);
    if (err != ERR_OK || !applied) {
        return err;
    }
    step_token(step, 'p', token);
    err = registry_set_provision(&step->service->registry,
                                 id,
                                 token,
                                 step->detail);
    struct environment_row row;
    bool found = false;
    if (err == ERR_OK) {
        err = load(step, id, &row, &found);
    }
    if (err == ERR_OK && found) {
        environment_post_provision(step, &row);
        environment_row_release(&row);
    }
    return err;
}

enum err environment_wake(struct step *step, const char *id, bool *is_ready)
{
    struct environment_row row;
    bool found = false;
    bool applied = false;
    *is_ready = false;
    enum err err = load(step, id, &row, &found);
    if (err != ERR_OK) {
        return err;
    }
    environment_row_release(&row);
    if (!found) {
        return step_refuse(step, SERVICE_NOT_FOUND, "no environment %s", id);
    }
    switch ((enum environment_status)row.status) {
    case ENVIRONMENT_READY:
        *is_ready = true;
        return ERR_OK;
    case ENVIRONMENT_PROVISIONING:
        return ERR_OK;
    case ENVIRONMENT_RETIRING:
        err = environment_event(step,
                                id,
                                ENVIRONMENT_RETIRE_CANCELLED,
                                NULL,
                                &applied);
        *is_ready = applied;
        return err;
    case ENVIRONMENT_ERROR:
        return request_provision(step, id);
    case ENVIRONMENT_DESTROYING:
    case ENVIRONMENT_DESTROYED:
        return step_refuse(step,
                           SERVICE_GONE,
                           "environment %s is %s",
                           id,
                           environment_lifecycle.statuses[row.status].name);
    case ENVIRONMENT_STATUS_COUNT:
        break;
    }
    UNREACHABLE("every status of an environment is named above");
}

/* -- Unmaking ------------------------------------------------------------ */

static enum err begin_destroy(struct step *step,
                              const struct environment_row *row)
{
    bool applied = false;
    char attempt[REGISTRY_NAME_SIZE];
    if (!step->service->is_connected) {
        return ERR_OK; /* the wish is kept, or kept being noticed by a sweep */
    }
    step_token(step, 'a', attempt);
    const enum err err = environment_event(step,
                                           row->id,
                                           ENVIRONMENT_DESTROY_STARTED,
                                           attempt,
                                           &applied);
    if (err == ERR_OK && applied) {
        environment_post_destroy(step, row, attempt);
    }
    return err;
}

static void post_cancel(struct step *step, const struct environment_row *row)
{
    const struct service_mail mail =
        mail_to(DAEMON_CANCEL, row, row->provision);
    step_post(step, &mail);
}

static enum err advance_row(struct step *step,
                            const struct environment_row *row,
                            const struct environment_use *use)
{
    bool applied = true;
    enum err err = ERR_OK;
    switch ((enum environment_status)row->status) {
    case ENVIRONMENT_READY:
        err = environment_event(step,
                                row->id,
                                ENVIRONMENT_RETIRE_REQUESTED,
                                NULL,
                                &applied);
        break;
    case ENVIRONMENT_RETIRING:
    case ENVIRONMENT_ERROR:
        break;
    case ENVIRONMENT_PROVISIONING:
        post_cancel(step, row);
        return ERR_OK;
    case ENVIRONMENT_DESTROYING:
    case ENVIRONMENT_DESTROYED:
    case ENVIRONMENT_STATUS_COUNT:
        return ERR_OK;
    }
    /* A thread that is being stopped will call again when it rests. */
    return err == ERR_OK && applied && use->busy == 0 ? begin_destroy(step, row)
                                                      : err;
}

enum err environment_advance(struct step *step, const char *id)
{
    struct environment_row row;
    struct environment_use use;
    bool found = false;
    enum err err = load(step, id, &row, &found);
    if (err != ERR_OK || !found) {
        return err;
    }
    err = environment_use(step, id, &use);
    if (err == ERR_OK && row.is_managed && !row.is_kept && use.live == 0) {
        err = advance_row(step, &row, &use);
    }
    environment_row_release(&row);
    return err;
}

enum err environment_unwanted(struct step *step, const char *id)
{
    struct environment_row row;
    struct environment_use use;
    bool found = false;
    enum err err = load(step, id, &row, &found);
    if (err != ERR_OK || !found) {
        return err;
    }
    err = environment_use(step, id, &use);
    if (err == ERR_OK && row.status == ENVIRONMENT_PROVISIONING &&
        use.starting == 0) {
        post_cancel(step, &row);
    }
    environment_row_release(&row);
    return err;
}

/* -- Answers ------------------------------------------------------------- */

static enum err fail_waiting(struct step *step, const char *id, void *ctx)
{
    (void)ctx;
    struct thread_row row;
    bool found = false;
    bool applied = false;
    enum err err = registry_thread(&step->service->registry,
                                   id,
                                   &row,
                                   &found,
                                   step->detail);
    thread_row_release(&row);
    if (err == ERR_OK && found && row.status == THREAD_STARTING) {
        const struct lifecycle_report report = {
            .event = THREAD_RUN_FAILED,
            .run = row.run,
        };
        err = thread_event(step, id, &report, &applied);
    }
    return err;
}

enum err environment_fail(struct step *step, const char *id)
{
    bool applied = false;
    enum err err = environment_event(step,
                                     id,
                                     ENVIRONMENT_PROVISION_FAILED,
                                     NULL,
                                     &applied);
    if (err == ERR_OK && applied) {
        err = step_each(step,
                        REGISTRY_THREADS_OF_ENVIRONMENT,
                        id,
                        fail_waiting,
                        NULL);
    }
    return err == ERR_OK ? environment_advance(step, id) : err;
}

/* It was cancelled, as we had asked: back to what was there, or away with what
 * may have been begun. But a thread that can still be given a turn keeps its
 * environment, to be made another time; and if one is waiting already, then
 * it is made again now. */
static enum err settle_cancel(struct step *step,
                              const struct environment_row *row)
{
    struct environment_use use;
    char attempt[REGISTRY_NAME_SIZE];
    bool applied = false;
    enum err err = environment_use(step, row->id, &use);
    if (err != ERR_OK) {
        return err;
    }
    const bool has_workspace = !value_is_absent(row->workspace);
    if (use.starting > 0 ||
        (!has_workspace && (use.live > 0 || !row->is_managed))) {
        err = environment_event(step,
                                row->id,
                                ENVIRONMENT_PROVISION_FAILED,
                                NULL,
                                &applied);
        return err == ERR_OK && applied && use.starting > 0
                   ? request_provision(step, row->id)
                   : err;
    }
    step_token(step, 'a', attempt);
    err = environment_event(step,
                            row->id,
                            ENVIRONMENT_PROVISION_CANCELLED,
                            attempt,
                            &applied);
    if (err == ERR_OK && applied && !has_workspace) {
        environment_post_destroy(step, row, attempt);
        return ERR_OK;
    }
    return err == ERR_OK ? environment_advance(step, row->id) : err;
}

static enum err run_waiting(struct step *step, const char *id, void *ctx)
{
    (void)ctx;
    return thread_post_run(step, id);
}

static enum err settle_provision(struct step *step,
                                 const struct environment_row *row,
                                 const struct daemon_answer *answer)
{
    struct value workspace = VALUE_NONE;
    bool applied = false;
    struct err_detail why;
    if (answer->workspace == NULL ||
        registry_text(answer->workspace, &workspace, &why) != ERR_OK) {
        return environment_fail(step, row->id);
    }
    const struct lifecycle_report report = {
        .event = ENVIRONMENT_PROVISION_SUCCEEDED,
        .workspace = workspace,
    };
    enum err err = report_event(step, row->id, &report, &applied);
    value_unref(workspace);
    if (err == ERR_OK && applied) {
        err = step_each(step,
                        REGISTRY_THREADS_OF_ENVIRONMENT,
                        row->id,
                        run_waiting,
                        NULL);
    }
    return err == ERR_OK ? environment_advance(step, row->id) : err;
}

static enum err answer_making(struct step *step,
                              const struct environment_row *row,
                              const struct daemon_answer *answer,
                              bool was_cancelled)
{
    struct service *service = step->service;
    if (strcmp(row->provision, answer->token) != 0) {
        log_write(service->log,
                  LOG_LEVEL_INFO,
                  "environment %s: the answer to %s %s belongs to an old "
                  "request",
                  row->id,
                  daemon_verb_name(answer->verb),
                  answer->token);
        return ERR_OK;
    }
    if (answer->verb == DAEMON_PROVISION && answer->ok) {
        return settle_provision(step, row, answer);
    }
    if (row->status == ENVIRONMENT_PROVISIONING && was_cancelled) {
        return settle_cancel(step, row);
    }
    if (answer->verb == DAEMON_PROVISION) {
        return environment_fail(step, row->id);
    }
    log_write(service->log,
              LOG_LEVEL_DEBUG,
              "environment %s: there was nothing left to cancel",
              row->id);
    return ERR_OK;
}

static enum err answer_destroy(struct step *step,
                               const struct environment_row *row,
                               const struct daemon_answer *answer)
{
    bool applied = false;
    return environment_event(step,
                             row->id,
                             answer->ok ? ENVIRONMENT_DESTROY_COMPLETED
                                        : ENVIRONMENT_DESTROY_FAILED,
                             answer->token,
                             &applied);
}

enum err environment_answer(struct step *step,
                            const struct daemon_answer *answer)
{
    struct service *service = step->service;
    struct environment_row row;
    bool found = false;
    /* A request that fails while its cancel is in flight was cancelled. */
    const bool was_cancelled = answer->verb == DAEMON_CANCEL
                                   ? answer->ok
                                   : inflight_is_held(service,
                                                      DAEMON_CANCEL,
                                                      answer->id,
                                                      answer->token);
    inflight_end(service, answer->verb, answer->id, answer->token);
    enum err err = load(step, answer->id, &row, &found);
    if (err != ERR_OK || !found) {
        log_write(service->log,
                  LOG_LEVEL_INFO,
                  "environment %s: received an answer, but the environment "
                  "does not exist",
                  answer->id);
        return err;
    }
    if (!answer->ok) {
        log_write(service->log,
                  LOG_LEVEL_INFO,
                  "environment %s: %s failed: %s",
                  row.id,
                  daemon_verb_name(answer->verb),
                  answer->why != NULL ? answer->why : "no reason given");
    }
    err = answer->verb == DAEMON_DESTROY
              ? answer_destroy(step, &row, answer)
              : answer_making(step, &row, answer, was_cancelled);
    environment_row_release(&row);
    return err;
}

/* -- What people want ---------------------------------------------------- */

static enum err provision(struct step *step, const char *id)
{
    struct environment_row row = {.is_managed = true, .is_kept = true};
    bool found = false;
    if (!registry_name_is_valid(id)) {
        return step_refuse(step, SERVICE_INVALID, "invalid id");
    }
    if (!step->service->is_connected) {
        return step_refuse(step, SERVICE_OFFLINE, "no daemon is connected");
    }
    struct environment_row taken;
    enum err err = load(step, id, &taken, &found);
    environment_row_release(&taken);
    if (err != ERR_OK) {
        return err;
    }
    if (found) {
        return step_refuse(step,
                           SERVICE_EXISTS,
                           "environment %s already exists",
                           id);
    }
    (void)snprintf(row.id, sizeof row.id, "%s", id);
    step_token(step, 'p', row.provision);
    err =
        registry_environment_add(&step->service->registry, &row, step->detail);
    environment_post_provision(step, &row);
    return err;
}

static enum err reprovision_row(struct step *step,
                                const struct environment_row *row)
{
    struct environment_use use;
    bool is_ready = false;
    enum err err = environment_use(step, row->id, &use);
    if (err != ERR_OK) {
        return err;
    }
    if (row->status == ENVIRONMENT_PROVISIONING) {
        return step_nothing(step, "environment %s is being created", row->id);
    }
    if (use.busy > 0) {
        return step_refuse(step,
                           SERVICE_BUSY,
                           "a thread runs in environment %s",
                           row->id);
    }
    err = environment_wake(step, row->id, &is_ready);
    return err == ERR_OK && is_ready ? request_provision(step, row->id) : err;
}

static enum err destroy_row(struct step *step,
                            const struct environment_row *row)
{
    struct environment_use use;
    enum err err = environment_use(step, row->id, &use);
    if (err != ERR_OK) {
        return err;
    }
    if (!row->is_managed) {
        return step_refuse(step,
                           SERVICE_NOT_MANAGED,
                           "environment %s is not managed here and cannot be "
                           "destroyed",
                           row->id);
    }
    if (use.live > 0) {
        return step_refuse(step,
                           SERVICE_IN_USE,
                           "environment %s has live threads",
                           row->id);
    }
    if (row->status == ENVIRONMENT_DESTROYING ||
        row->status == ENVIRONMENT_DESTROYED) {
        return step_nothing(step,
                            "environment %s is %s",
                            row->id,
                            environment_lifecycle.statuses[row->status].name);
    }
    err = registry_set_kept(&step->service->registry,
                            row->id,
                            false,
                            step->detail);
    return err == ERR_OK ? advance_row(step, row, &use) : err;
}

/* Loads the row for `what`, or refuses. */
static enum err with_row(struct step *step,
                         const char *id,
                         enum err (*what)(struct step *step,
                                          const struct environment_row *row))
{
    struct environment_row row;
    bool found = false;
    enum err err = load(step, id, &row, &found);
    if (err == ERR_OK && !found) {
        err = step_refuse(step, SERVICE_NOT_FOUND, "environment not found");
    } else if (err == ERR_OK) {
        err = what(step, &row);
    }
    environment_row_release(&row);
    return err;
}

enum err service_provision(struct service *service,
                           const char *id,
                           uint64_t now,
                           struct service_outcome *outcome,
                           struct err_detail *detail)
{
    struct step step = {service, now, outcome, detail};
    const enum err err = step_begin(&step);
    return err != ERR_OK ? err : step_end(&step, provision(&step, id));
}

enum err service_reprovision(struct service *service,
                             const char *id,
                             uint64_t now,
                             struct service_outcome *outcome,
                             struct err_detail *detail)
{
    struct step step = {service, now, outcome, detail};
    enum err err = step_begin(&step);
    if (err != ERR_OK) {
        return err;
    }
    if (!service->is_connected) {
        err = step_refuse(&step, SERVICE_OFFLINE, "no daemon is connected");
    } else {
        err = with_row(&step, id, reprovision_row);
    }
    return step_end(&step, err);
}

enum err service_destroy(struct service *service,
                         const char *id,
                         uint64_t now,
                         struct service_outcome *outcome,
                         struct err_detail *detail)
{
    struct step step = {service, now, outcome, detail};
    const enum err err = step_begin(&step);
    return err != ERR_OK ? err
                         : step_end(&step, with_row(&step, id, destroy_row));
}
