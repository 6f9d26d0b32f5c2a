/* Sweeps: schedules, messages, and lost requests. Each unit of work is a
 * separate transaction. A failure is a fault of the store and ends the sweep;
 * the next sweep begins again. */

#include <string.h>

#include "base/log.h"
#include "lifecycle/environment.h"
#include "lifecycle/thread.h"
#include "service/service_internal.h"

static bool is_over(const struct step *step, uint64_t since, uint64_t wait_ms)
{
    return step->now >= since && step->now - since >= wait_ms;
}

/* No daemon is connected, and none has been for long. */
static bool is_abandoned(const struct step *step)
{
    const struct service *service = step->service;
    return !service->is_connected &&
           is_over(step, service->left_at, SERVICE_GRACE_MS);
}

/* -- Threads ------------------------------------------------------------- */

static enum err sweep_stopping(struct step *step, const struct thread_row *row)
{
    bool applied = false;
    const struct lifecycle_report report = {
        .event = THREAD_STOP_SETTLED,
        .run = row->run,
    };
    if (is_abandoned(step)) {
        return thread_event(step, row->id, &report, &applied);
    }
    /* It stays as old as it is: once a day is often enough. */
    if (is_over(step, row->since, SERVICE_REQUEST_MS) &&
        is_over(step, step->service->gave_up_at, SERVICE_REQUEST_MS)) {
        inflight_end(step->service, DAEMON_STOP, row->id, row->run);
    }
    thread_post_stop(step, row, row->run);
    return ERR_OK;
}

static enum err sweep_thread(struct step *step, const char *id, void *ctx)
{
    (void)ctx;
    struct thread_row row;
    bool found = false;
    bool applied = false;
    const enum err err = registry_thread(&step->service->registry,
                                         id,
                                         &row,
                                         &found,
                                         step->detail);
    thread_row_release(&row);
    if (err != ERR_OK || !found) {
        return err;
    }
    if (row.status == THREAD_STOPPING) {
        return sweep_stopping(step, &row);
    }
    const bool is_lost = row.status == THREAD_STARTING &&
                         is_over(step, row.since, SERVICE_REQUEST_MS);
    if (!is_lost && !is_abandoned(step)) {
        return ERR_OK;
    }
    const struct lifecycle_report report = {
        .event = THREAD_RUN_FAILED,
        .run = row.run,
    };
    return thread_event(step, id, &report, &applied);
}

/* -- Environments -------------------------------------------------------- */

static enum err sweep_environment(struct step *step, const char *id, void *ctx)
{
    (void)ctx;
    struct environment_row row;
    bool found = false;
    bool applied = false;
    enum err err = registry_environment(&step->service->registry,
                                        id,
                                        &row,
                                        &found,
                                        step->detail);
    environment_row_release(&row);
    if (err != ERR_OK || !found) {
        return err;
    }
    const bool is_lost =
        is_abandoned(step) || is_over(step, row.since, SERVICE_REQUEST_MS);
    if (row.status == ENVIRONMENT_PROVISIONING) {
        return is_lost ? environment_fail(step, id) : ERR_OK;
    }
    if (row.status == ENVIRONMENT_DESTROYING) {
        return is_lost ? environment_event(step,
                                           id,
                                           ENVIRONMENT_DESTROY_LOST,
                                           NULL,
                                           &applied)
                       : ERR_OK;
    }
    return environment_advance(step, id);
}

static enum err sweep_message(struct step *step, const char *id, void *ctx)
{
    (void)ctx;
    return thread_give_message(step, id);
}

/* -- Schedules ----------------------------------------------------------- */

/* The first time after now, however many were missed. */
static uint64_t next_after(const struct schedule_row *row, uint64_t now)
{
    const uint64_t missed = (now - row->next_at) / row->every_ms;
    return row->next_at + (missed + 1) * row->every_ms;
}

/* The move and the run are one transaction: it is fired once. A thread that
 * is not idle misses it, and is told so in the log. */
static enum err fire(struct step *step, const struct schedule_row *schedule)
{
    struct registry *registry = &step->service->registry;
    struct service_outcome outcome = {.kind = SERVICE_ACCEPTED};
    struct step quiet = *step;
    struct thread_row row;
    bool moved = false;
    bool found = false;
    quiet.outcome = &outcome;
    enum err err = registry_schedule_move(registry,
                                          schedule,
                                          next_after(schedule, step->now),
                                          &moved,
                                          step->detail);
    if (err != ERR_OK || !moved) {
        return err;
    }
    err =
        registry_thread(registry, schedule->thread, &row, &found, step->detail);
    if (err == ERR_OK && found && row.status == THREAD_IDLE) {
        err = thread_give_turn(&quiet, &row, schedule->text);
    } else if (err == ERR_OK) {
        err = step_refuse(&quiet, SERVICE_BUSY, "the thread is not idle");
    }
    thread_row_release(&row);
    if (err == ERR_OK && step_is_refused(&quiet)) {
        log_write(step->service->log,
                  LOG_LEVEL_INFO,
                  "schedule %s of thread %s is missed: %s",
                  schedule->name,
                  schedule->thread,
                  outcome.text);
    }
    return err;
}

static enum err sweep_schedules(struct step *step)
{
    schedule_rows rows;
    enum err err = registry_schedules_due(&step->service->registry,
                                          step->now,
                                          &rows,
                                          step->detail);
    if (err != ERR_OK) {
        return err;
    }
    VEC_FOREACH (&rows, row) {
        if (err == ERR_OK) {
            err = step_begin(step);
        }
        if (err == ERR_OK) {
            err = step_end(step, fire(step, row));
        }
    }
    schedule_rows_release(&rows);
    return err;
}

static enum err schedule_row(struct step *step,
                             const struct service_schedule *schedule)
{
    struct registry *registry = &step->service->registry;
    struct thread_row thread;
    bool found = false;
    if (!registry_name_is_valid(schedule->name) || schedule->every_ms == 0 ||
        schedule->every_ms > INT64_MAX || schedule->first_at > INT64_MAX) {
        return step_refuse(step, SERVICE_INVALID, "invalid schedule");
    }
    enum err err = registry_thread(registry,
                                   schedule->thread,
                                   &thread,
                                   &found,
                                   step->detail);
    thread_row_release(&thread);
    if (err != ERR_OK) {
        return err;
    }
    if (!found) {
        return step_refuse(step, SERVICE_NOT_FOUND, "thread not found");
    }
    if (!thread_is_live(&thread)) {
        return step_refuse(step,
                           thread.is_deleted ? SERVICE_DELETED
                                             : SERVICE_ARCHIVED,
                           "%s is no longer in use",
                           thread.id);
    }
    struct schedule_row row = {
        .next_at = schedule->first_at,
        .every_ms = schedule->every_ms,
    };
    memcpy(row.thread, thread.id, sizeof row.thread);
    memcpy(row.name, schedule->name, strlen(schedule->name) + 1);
    struct err_detail why;
    if (registry_text(schedule->input, &row.text, &why) != ERR_OK) {
        return step_refuse(step, SERVICE_INVALID, "%.150s", why.text);
    }
    err = registry_schedule_put(registry, &row, step->detail);
    value_unref(row.text);
    return err;
}

enum err service_schedule(struct service *service,
                          const struct service_schedule *schedule,
                          uint64_t now,
                          struct service_outcome *outcome,
                          struct err_detail *detail)
{
    struct step step = {service, now, outcome, detail};
    const enum err err = step_begin(&step);
    return err != ERR_OK ? err : step_end(&step, schedule_row(&step, schedule));
}

/* -- All of it ----------------------------------------------------------- */

/* What is in the set, each in a transaction of its own. */
static enum err sweep_each(struct step *step,
                           enum registry_set set,
                           each_fn *each)
{
    registry_ids ids;
    enum err err =
        registry_list(&step->service->registry, set, NULL, &ids, step->detail);
    if (err != ERR_OK) {
        return err;
    }
    VEC_FOREACH (&ids, id) {
        if (err == ERR_OK) {
            err = step_begin(step);
        }
        if (err == ERR_OK) {
            err = step_end(step, each(step, *id, NULL));
        }
    }
    registry_ids_release(&ids);
    return err;
}

enum err service_sweep(struct service *service,
                       uint64_t now,
                       struct err_detail *detail)
{
    struct service_outcome outcome;
    struct step step = {service, now, &outcome, detail};
    enum err err = sweep_each(&step, REGISTRY_THREADS_UNSETTLED, sweep_thread);
    if (err == ERR_OK) {
        if (is_over(&step, service->gave_up_at, SERVICE_REQUEST_MS)) {
            service->gave_up_at = now;
        }
        err = sweep_each(&step,
                         REGISTRY_ENVIRONMENTS_UNSETTLED,
                         sweep_environment);
    }
    if (err == ERR_OK) {
        err = sweep_schedules(&step);
    }
    if (err == ERR_OK) {
        err = sweep_each(&step, REGISTRY_THREADS_WITH_MESSAGE, sweep_message);
    }
    return err;
}
