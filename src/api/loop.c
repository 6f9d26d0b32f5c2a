/* Steps, instants, waiting and its interruption. */

#include "api/loop.h"

#include <limits.h>

#include "api/edit.h"
#include "runtime/piece.h"

/* -- Stepping ------------------------------------------------------------ */

static enum err interrupted(struct err_detail *detail)
{
    return err_set(detail, ERR_INTERRUPTED, "interrupted");
}

enum err loop_step(hd_runtime *runtime, bool *any, struct err_detail *detail)
{
    runtime->progress = (hd_progress){0};
    runtime->runs_before = runtime_sched(runtime)->counters.runs;
    runtime->busy++;
    bool works = true;
    enum err err = ERR_OK;
    while (works && err == ERR_OK) {
        works = api_host_pass(runtime->api_host);
        works |= own_writes_try_again(runtime_core(runtime));
        runtime->progress.passes++;
        if (any != NULL) {
            *any |= works;
        }
        if (api_host_was_interrupted(runtime->api_host) ||
            !runtime_goes_on(runtime)) {
            err = interrupted(detail);
        }
    }
    runtime->busy--;
    return err;
}

enum err loop_until(hd_runtime *runtime,
                    bool (*is_over)(const hd_runtime *runtime, const void *ctx),
                    const void *ctx,
                    mono_ms deadline,
                    struct err_detail *detail)
{
    for (;;) {
        const enum err err = loop_step(runtime, NULL, detail);
        if (err != ERR_OK) {
            return err;
        }
        if (is_over(runtime, ctx)) {
            return ERR_OK;
        }
        const mono_ms now = api_host_now(runtime->api_host);
        if (now >= deadline) {
            return err_set(detail, ERR_TIMEOUT, "deadline exceeded");
        }
        const mono_ms wake = api_host_next_wake(runtime->api_host);
        if (wake > now) {
            api_host_wait(runtime->api_host, wake < deadline ? wake : deadline);
        }
    }
}

hd_status hd_runtime_step(hd_runtime *runtime, uint64_t now, hd_error *error)
{
    struct err_detail detail;
    err_clear(&detail);
    enum err err = runtime_check_toplevel(runtime, &detail);
    if (err == ERR_OK) {
        api_host_set_now(runtime->api_host, now);
        err = loop_step(runtime, NULL, &detail);
        api_host_set_now(runtime->api_host, HD_NOW);
    }
    return error_report(error, err, &detail);
}

/* -- Instants ------------------------------------------------------------ */

hd_status hd_runtime_now(hd_runtime *runtime, uint64_t *now)
{
    if (now == NULL) {
        return HD_ARGUMENT;
    }
    *now = 0;
    const enum err err =
        object_check_open(runtime, OBJECT_RUNTIME, "runtime", NULL);
    if (err == ERR_OK) {
        *now = api_host_now(runtime->api_host);
    }
    return status_of(err);
}

hd_status hd_runtime_next_wake(hd_runtime *runtime, uint64_t *wake)
{
    if (wake == NULL) {
        return HD_ARGUMENT;
    }
    *wake = 0;
    const enum err err = runtime_check_toplevel(runtime, NULL);
    if (err == ERR_OK) {
        *wake = api_host_next_wake(runtime->api_host);
    }
    return status_of(err);
}

hd_status hd_runtime_timeout(hd_runtime *runtime, int *timeout)
{
    if (timeout == NULL) {
        return HD_ARGUMENT;
    }
    *timeout = 0;
    uint64_t wake;
    const hd_status status = hd_runtime_next_wake(runtime, &wake);
    if (status == HD_OK && wake == HD_NEVER) {
        *timeout = -1;
    } else if (status == HD_OK) {
        const mono_ms now = api_host_now(runtime->api_host);
        const uint64_t left = wake > now ? wake - now : 0;
        *timeout = left < INT_MAX ? (int)left : INT_MAX;
    }
    return status;
}

hd_status hd_runtime_fd(hd_runtime *runtime, int *descriptor)
{
    if (descriptor == NULL) {
        return HD_ARGUMENT;
    }
    *descriptor = -1;
    const enum err err =
        object_check_open(runtime, OBJECT_RUNTIME, "runtime", NULL);
    if (err == ERR_OK) {
        *descriptor = api_host_descriptor(runtime->api_host);
    }
    return status_of(err);
}

/* -- Waiting ------------------------------------------------------------- */

static bool is_idle(const hd_runtime *runtime, const void *ctx)
{
    (void)ctx;
    return api_host_is_idle(runtime->api_host);
}

static bool is_settled(const hd_runtime *runtime, const void *ctx)
{
    (void)ctx;
    return api_host_is_settled(runtime->api_host) &&
           own_writes_are_over(runtime_core(runtime));
}

static hd_status rest(hd_runtime *runtime,
                      bool (*is_over)(const hd_runtime *runtime,
                                      const void *ctx),
                      uint64_t deadline,
                      hd_error *error)
{
    struct err_detail detail;
    err_clear(&detail);
    enum err err = runtime_check_toplevel(runtime, &detail);
    if (err == ERR_OK) {
        err = loop_until(runtime, is_over, NULL, deadline, &detail);
        if (err == ERR_OK) {
            sched_idle_over(runtime_sched(runtime));
        }
    }
    return error_report(error, err, &detail);
}

hd_status hd_runtime_idle(hd_runtime *runtime,
                          uint64_t deadline,
                          hd_error *error)
{
    return rest(runtime, is_idle, deadline, error);
}

hd_status hd_runtime_settled(hd_runtime *runtime,
                             uint64_t deadline,
                             hd_error *error)
{
    const hd_status status = rest(runtime, is_settled, deadline, error);
    if (status == HD_TIMEOUT && error != NULL) {
        const char *trouble = api_host_trouble(runtime->api_host);
        struct err_detail why;
        (void)err_set(&why,
                      ERR_TIMEOUT,
                      "deadline exceeded: %s",
                      trouble != NULL ? trouble : "work is still in progress");
        (void)error_report(error, ERR_TIMEOUT, &why);
        error->may_have_happened = true;
    }
    return status;
}

hd_status hd_runtime_wait(hd_runtime *runtime,
                          uint64_t deadline,
                          hd_error *error)
{
    struct err_detail detail;
    err_clear(&detail);
    enum err err = runtime_check_toplevel(runtime, &detail);
    bool any = false;
    if (err == ERR_OK) {
        const struct replica *replica = &runtime_core(runtime)->replica;
        const uint64_t version = replica->version;
        err = loop_step(runtime, &any, &detail);
        any = any || replica->version != version; /* others have committed */
    }
    if (err == ERR_OK && !any) {
        const mono_ms now = api_host_now(runtime->api_host);
        const mono_ms wake = api_host_next_wake(runtime->api_host);
        const mono_ms until = wake < deadline ? wake : deadline;
        if (now >= deadline) {
            err = err_set(&detail, ERR_TIMEOUT, "deadline exceeded");
        } else {
            if (until > now) {
                api_host_wait(runtime->api_host, until);
            }
            err = loop_step(runtime, &any, &detail);
        }
        if (err == ERR_OK && !any &&
            api_host_now(runtime->api_host) >= deadline) {
            err = err_set(&detail, ERR_TIMEOUT, "deadline exceeded");
        }
    }
    return error_report(error, err, &detail);
}

hd_status hd_interrupt(hd_runtime *runtime)
{
    if (runtime == NULL) {
        return HD_ARGUMENT;
    }
    if (runtime->object.kind != OBJECT_RUNTIME) {
        return HD_MISUSE;
    }
    struct api_host *api_host = runtime->api_host;
    if (api_host == NULL) {
        return HD_CLOSED;
    }
    api_host_interrupt(api_host);
    return HD_OK;
}
