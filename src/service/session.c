/* Messages of the daemon: answers, events, and its running turns when it
 * reconnects. */

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "lifecycle/environment.h"
#include "lifecycle/thread.h"
#include "service/service_internal.h"

/* -- Answers and events -------------------------------------------------- */

static enum err answer_run(struct step *step,
                           const struct daemon_answer *answer)
{
    bool applied = false;
    inflight_end(step->service, answer->verb, answer->id, answer->token);
    /* That it runs is said twice, by the answer and by an event; and a stop is
     * also answered by the end of the turn. */
    const struct lifecycle_report report = {
        .event = answer->verb == DAEMON_STOP ? THREAD_STOP_SETTLED
                 : answer->ok                ? THREAD_RUN_STARTED
                                             : THREAD_RUN_FAILED,
        .run = answer->token,
        .is_routine = answer->ok,
    };
    if (!answer->ok) {
        log_write(step->service->log,
                  LOG_LEVEL_INFO,
                  "thread %s: %s failed: %s",
                  answer->id,
                  daemon_verb_name(answer->verb),
                  answer->why != NULL ? answer->why : "no reason given");
    }
    if (answer->verb == DAEMON_STOP && !answer->ok) {
        return ERR_OK; /* a sweep sends it again */
    }
    return thread_event(step, answer->id, &report, &applied);
}

enum err service_answer(struct service *service,
                        const struct daemon_answer *answer,
                        uint64_t now,
                        struct err_detail *detail)
{
    struct service_outcome outcome;
    struct step step = {service, now, &outcome, detail};
    enum err err = step_begin(&step);
    if (err != ERR_OK) {
        return err;
    }
    if (!registry_name_is_valid(answer->id) ||
        !registry_name_is_valid(answer->token)) {
        log_write(service->log, LOG_LEVEL_WARNING, "an answer without names");
    } else if (answer->verb == DAEMON_RUN || answer->verb == DAEMON_STOP) {
        err = answer_run(&step, answer);
    } else {
        err = environment_answer(&step, answer);
    }
    return step_end(&step, err);
}

enum err service_event(struct service *service,
                       const struct daemon_event *event,
                       uint64_t now,
                       struct err_detail *detail)
{
    static const enum thread_event events[DAEMON_TURN_COUNT] = {
        [DAEMON_TURN_STARTED] = THREAD_RUN_STARTED,
        [DAEMON_TURN_COMPLETED] = THREAD_RUN_SUCCEEDED,
        [DAEMON_TURN_FAILED] = THREAD_RUN_FAILED,
        [DAEMON_TURN_INTERRUPTED] = THREAD_RUN_SUCCEEDED,
    };
    struct service_outcome outcome;
    struct step step = {service, now, &outcome, detail};
    bool applied = false;
    enum err err = step_begin(&step);
    if (err != ERR_OK) {
        return err;
    }
    CHECK(event->turn < DAEMON_TURN_COUNT);
    const struct lifecycle_report report = {
        .event = (uint8_t)events[event->turn],
        .run = event->run,
        .is_routine = event->turn == DAEMON_TURN_STARTED,
    };
    if (!registry_name_is_valid(event->thread) ||
        !registry_name_is_valid(event->run)) {
        log_write(service->log, LOG_LEVEL_WARNING, "an event without names");
    } else {
        err = thread_event(&step, event->thread, &report, &applied);
    }
    return step_end(&step, err);
}

/* -- Sessions ------------------------------------------------------------ */

struct reconciliation {
    const struct daemon_run *runs;
    size_t count;
    bool is_same; /* the process that was here before */
};

static bool is_running(const struct reconciliation *with,
                       const char *thread,
                       const char *run)
{
    for (size_t i = 0; i < with->count; i++) {
        if (strcmp(with->runs[i].thread, thread) == 0 &&
            strcmp(with->runs[i].run, run) == 0) {
            return true;
        }
    }
    return false;
}

/* A thread that does not rest: what is with its run? */
static enum err reconcile_thread(struct step *step, const char *id, void *ctx)
{
    struct reconciliation *with = ctx;
    struct thread_row row;
    struct environment_row environment;
    bool found = false;
    bool applied = false;
    enum err err = registry_thread(&step->service->registry,
                                   id,
                                   &row,
                                   &found,
                                   step->detail);
    thread_row_release(&row);
    if (err != ERR_OK || !found) {
        return err;
    }
    err = registry_environment(&step->service->registry,
                               row.environment,
                               &environment,
                               &found,
                               step->detail);
    environment_row_release(&environment);
    const bool runs = is_running(with, id, row.run);
    struct lifecycle_report report = {.event = THREAD_RUN_FAILED,
                                      .run = row.run};
    if (err != ERR_OK || (row.status == THREAD_ACTIVE && runs) ||
        (row.status == THREAD_STARTING && found &&
         environment.status == ENVIRONMENT_PROVISIONING)) {
        return err; /* it runs as it should, or waits */
    }
    if (row.status == THREAD_STOPPING && runs) {
        thread_post_stop(step, &row, row.run);
        return ERR_OK;
    }
    if (row.status == THREAD_STOPPING) {
        report.event = THREAD_STOP_SETTLED;
    } else if (runs) {
        report.event = THREAD_RUN_STARTED;
    }
    return thread_event(step, id, &report, &applied);
}

/* A run that no row has: the thread takes it back, or it is ended. */
static enum err reconcile_run(struct step *step, const struct daemon_run *run)
{
    struct thread_row row;
    struct environment_row environment = {0};
    bool found = false;
    bool has_environment = false;
    bool applied = false;
    if (!registry_name_is_valid(run->thread) ||
        !registry_name_is_valid(run->run)) {
        return ERR_OK;
    }
    enum err err = registry_thread(&step->service->registry,
                                   run->thread,
                                   &row,
                                   &found,
                                   step->detail);
    thread_row_release(&row);
    if (err == ERR_OK && found && strcmp(row.run, run->run) == 0) {
        return ERR_OK;
    }
    if (err == ERR_OK && found) {
        err = registry_environment(&step->service->registry,
                                   row.environment,
                                   &environment,
                                   &has_environment,
                                   step->detail);
        environment_row_release(&environment);
    }
    if (err == ERR_OK && has_environment &&
        environment.status == ENVIRONMENT_READY) {
        const struct lifecycle_report report = {
            .event = THREAD_RUN_STARTED,
            .run = run->run,
            .begins = true,
        };
        err = thread_event(step, run->thread, &report, &applied);
    }
    if (err == ERR_OK && !applied) {
        (void)snprintf(row.id, sizeof row.id, "%s", run->thread);
        thread_post_stop(step, &row, run->run);
    }
    return err;
}

/* A daemon that is still the same goes on making what it was making, and is
 * asked again, because the request may have been lost. A new one has begun
 * nothing: an honest error, not a replay. */
static enum err reconcile_environment(struct step *step,
                                      const char *id,
                                      void *ctx)
{
    struct reconciliation *with = ctx;
    struct environment_row row;
    bool found = false;
    enum err err = registry_environment(&step->service->registry,
                                        id,
                                        &row,
                                        &found,
                                        step->detail);
    if (err != ERR_OK || !found) {
        return err;
    }
    if (row.status == ENVIRONMENT_PROVISIONING && with->is_same) {
        environment_post_provision(step, &row);
    } else if (row.status == ENVIRONMENT_PROVISIONING) {
        err = environment_fail(step, id);
    } else if (row.status == ENVIRONMENT_DESTROYING) {
        environment_post_destroy(step, &row, row.attempt);
    } else {
        err = environment_advance(step, id);
    }
    environment_row_release(&row);
    return err;
}

static enum err reconcile(struct step *step, struct reconciliation *with)
{
    enum err err = step_each(step,
                             REGISTRY_THREADS_UNSETTLED,
                             NULL,
                             reconcile_thread,
                             with);
    for (size_t i = 0; err == ERR_OK && i < with->count; i++) {
        err = reconcile_run(step, &with->runs[i]);
    }
    return err != ERR_OK ? err
                         : step_each(step,
                                     REGISTRY_ENVIRONMENTS_UNSETTLED,
                                     NULL,
                                     reconcile_environment,
                                     with);
}

enum err service_session_open(struct service *service,
                              const char *instance,
                              const struct daemon_run *runs,
                              size_t count,
                              uint64_t now,
                              struct err_detail *detail)
{
    struct service_outcome outcome;
    struct step step = {service, now, &outcome, detail};
    if (!registry_name_is_valid(instance)) {
        return err_set(detail, ERR_ARGUMENT, "invalid instance name");
    }
    service_session_close(service, now);
    enum err err = step_begin(&step);
    if (err != ERR_OK) {
        return err;
    }
    struct reconciliation with = {
        .runs = runs,
        .count = count,
        .is_same = strcmp(service->instance, instance) == 0,
    };
    service->is_connected = true; /* requests can be sent */
    err = step_end(&step, reconcile(&step, &with));
    if (err == ERR_OK) {
        (void)snprintf(service->instance,
                       sizeof service->instance,
                       "%s",
                       instance);
    } else {
        service->is_connected = false;
    }
    return err;
}

void service_session_close(struct service *service, uint64_t now)
{
    if (service->is_connected) {
        service->left_at = now;
    }
    service->is_connected = false;
    /* What was in flight may be lost, or not: the next session says. */
    guard_release_all(&service->guard);
}
