/* The life of a service, and the steps that its calls are made of: one
 * transaction, one outcome, and the mail that leaves afterwards. */

#include "service/service.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "lifecycle/environment.h"
#include "service/service_internal.h"

/* -- Names --------------------------------------------------------------- */

const char *service_kind_name(enum service_kind kind)
{
    static const char *const names[SERVICE_KIND_COUNT] = {
        [SERVICE_ACCEPTED] = "accepted",
        [SERVICE_NOTHING] = "nothing",
        [SERVICE_REFUSED] = "refused",
    };
    CHECK(kind < SERVICE_KIND_COUNT);
    return names[kind];
}

const char *service_reason_name(enum service_reason reason)
{
    static const char *const names[SERVICE_REASON_COUNT] = {
        [SERVICE_NO_REASON] = "",
        [SERVICE_INVALID] = "invalid",
        [SERVICE_NOT_FOUND] = "not-found",
        [SERVICE_EXISTS] = "exists",
        [SERVICE_OFFLINE] = "offline",
        [SERVICE_BUSY] = "busy",
        [SERVICE_STOPPING] = "stopping",
        [SERVICE_ARCHIVED] = "archived",
        [SERVICE_DELETED] = "deleted",
        [SERVICE_GONE] = "gone",
        [SERVICE_IN_USE] = "in-use",
        [SERVICE_NOT_MANAGED] = "not-managed",
    };
    CHECK(reason < SERVICE_REASON_COUNT);
    return names[reason];
}

const char *daemon_verb_name(enum daemon_verb verb)
{
    static const char *const names[DAEMON_VERB_COUNT] = {
        [DAEMON_PROVISION] = "provision",
        [DAEMON_CANCEL] = "cancel",
        [DAEMON_RUN] = "run",
        [DAEMON_STOP] = "stop",
        [DAEMON_DESTROY] = "destroy",
    };
    CHECK(verb < DAEMON_VERB_COUNT);
    return names[verb];
}

/* -- Claims -------------------------------------------------------------- */

static enum guard_kind guard_of(enum daemon_verb verb)
{
    static const enum guard_kind kinds[DAEMON_VERB_COUNT] = {
        [DAEMON_PROVISION] = GUARD_ENVIRONMENT_PROVISION,
        [DAEMON_CANCEL] = GUARD_ENVIRONMENT_CANCEL,
        [DAEMON_RUN] = GUARD_THREAD_START,
        [DAEMON_STOP] = GUARD_THREAD_STOP,
        [DAEMON_DESTROY] = GUARD_ENVIRONMENT_DESTROY,
    };
    CHECK(verb < DAEMON_VERB_COUNT);
    return kinds[verb];
}

/* A name holds no blank, so this is unambiguous. */
struct inflight_name {
    char text[2 * REGISTRY_NAME_SIZE];
};

static struct inflight_name inflight_name(const char *id, const char *token)
{
    struct inflight_name name;
    (void)snprintf(name.text, sizeof name.text, "%s %s", id, token);
    return name;
}

bool inflight_is_held(struct service *service,
                      enum daemon_verb verb,
                      const char *id,
                      const char *token)
{
    const struct inflight_name name = inflight_name(id, token);
    return guard_is_held(&service->guard, guard_of(verb), name.text);
}

void inflight_end(struct service *service,
                  enum daemon_verb verb,
                  const char *id,
                  const char *token)
{
    const struct inflight_name name = inflight_name(id, token);
    (void)guard_release(&service->guard, guard_of(verb), name.text);
}

/* -- Mail ---------------------------------------------------------------- */

static const char *mail_id(const struct service_mail *mail)
{
    return *mail->thread != '\0' ? mail->thread : mail->environment;
}

void step_post(struct step *step, const struct service_mail *mail)
{
    struct service *service = step->service;
    const struct inflight_name name = inflight_name(mail_id(mail), mail->token);
    if (!service->is_connected ||
        (!mail->is_stray &&
         !guard_claim(&service->guard, guard_of(mail->verb), name.text))) {
        return;
    }
    struct service_mail posted = *mail;
    (void)value_ref(posted.workspace);
    (void)value_ref(posted.input);
    vec_push(&service->outbox, posted);
}

/* Sends all, or takes back the claims. */
static void empty_outbox(struct service *service, bool send)
{
    VEC_FOREACH (&service->outbox, mail) {
        if (send) {
            const struct daemon_request request = {
                .verb = mail->verb,
                .environment = mail->environment,
                .thread = mail->thread,
                .token = mail->token,
                .workspace = mail->workspace,
                .input = mail->input,
            };
            service->daemon->send(service->daemon, &request);
        } else if (!mail->is_stray) {
            inflight_end(service, mail->verb, mail_id(mail), mail->token);
        }
        value_unref(mail->workspace);
        value_unref(mail->input);
    }
    vec_clear(&service->outbox);
}

/* -- Steps --------------------------------------------------------------- */

enum err step_begin(struct step *step)
{
    struct service *service = step->service;
    CHECK(!service->is_busy);
    *step->outcome = (struct service_outcome){.kind = SERVICE_ACCEPTED};
    const enum err err =
        registry_begin(&service->registry, step->now, step->detail);
    service->is_busy = err == ERR_OK;
    return err;
}

enum err step_end(struct step *step, enum err err)
{
    struct service *service = step->service;
    const bool refused = err == ERR_OK && step_is_refused(step);
    struct err_detail ignored;
    err = registry_end(&service->registry,
                       refused ? ERR_CONFLICT : err,
                       refused ? &ignored : step->detail);
    empty_outbox(service, err == ERR_OK);
    service->is_busy = false;
    return refused ? ERR_OK : err;
}

__attribute__((format(printf, 4, 0))) static void say(
    struct step *step,
    enum service_kind kind,
    enum service_reason reason,
    const char *format,
    va_list arguments)
{
    step->outcome->kind = kind;
    step->outcome->reason = reason;
    (void)vsnprintf(step->outcome->text,
                    sizeof step->outcome->text,
                    format,
                    arguments);
}

enum err step_refuse(struct step *step,
                     enum service_reason reason,
                     const char *format,
                     ...)
{
    va_list arguments;
    va_start(arguments, format);
    say(step, SERVICE_REFUSED, reason, format, arguments);
    va_end(arguments);
    return ERR_OK;
}

enum err step_nothing(struct step *step, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say(step, SERVICE_NOTHING, SERVICE_NO_REASON, format, arguments);
    va_end(arguments);
    return ERR_OK;
}

bool step_is_refused(const struct step *step)
{
    return step->outcome->kind == SERVICE_REFUSED;
}

/* A row that gets a new token is published at the sequence number in it, so
 * no row gets the same one twice. */
void step_token(const struct step *step, char kind, char *out)
{
    (void)snprintf(out,
                   REGISTRY_NAME_SIZE,
                   "%c%llu",
                   kind,
                   (unsigned long long)step->service->registry.engine->seq + 1);
}

enum err step_each(struct step *step,
                   enum registry_set set,
                   const char *key,
                   each_fn *each,
                   void *ctx)
{
    registry_ids ids;
    enum err err =
        registry_list(&step->service->registry, set, key, &ids, step->detail);
    if (err != ERR_OK) {
        return err;
    }
    VEC_FOREACH (&ids, id) {
        if (err == ERR_OK) {
            err = each(step, *id, ctx);
        }
    }
    registry_ids_release(&ids);
    return err;
}

/* -- Life ---------------------------------------------------------------- */

/* The process that sent the request has ended, so its answer is lost. */
static enum err recover_environment(struct step *step,
                                    const char *id,
                                    void *ctx)
{
    (void)ctx;
    struct environment_row row;
    bool found = false;
    enum err err = registry_environment(&step->service->registry,
                                        id,
                                        &row,
                                        &found,
                                        step->detail);
    environment_row_release(&row);
    if (err == ERR_OK && row.status == ENVIRONMENT_PROVISIONING) {
        err = environment_fail(step, id);
    } else if (err == ERR_OK && row.status == ENVIRONMENT_DESTROYING) {
        bool applied = false;
        err = environment_event(step,
                                id,
                                ENVIRONMENT_DESTROY_LOST,
                                NULL,
                                &applied);
    }
    return err;
}

static enum err recover(struct service *service,
                        uint64_t now,
                        struct err_detail *detail)
{
    struct service_outcome outcome;
    struct step step = {service, now, &outcome, detail};
    enum err err = step_begin(&step);
    if (err == ERR_OK) {
        err = step_each(&step,
                        REGISTRY_ENVIRONMENTS_UNSETTLED,
                        NULL,
                        recover_environment,
                        NULL);
        err = step_end(&step, err);
    }
    return err;
}

enum err service_open(struct service *service,
                      const struct service_options *options,
                      uint64_t now,
                      struct err_detail *detail)
{
    const struct registry_options registry = {
        .log = options->log,
        .on_change = options->on_change,
        .ctx = options->ctx,
    };
    *service = (struct service){
        .daemon = options->daemon,
        .log = options->log,
        .left_at = now,
        .gave_up_at = now,
    };
    struct err_detail why = {0};
    enum err err = registry_open(&service->registry,
                                 options->engine,
                                 &registry,
                                 now,
                                 &why);
    if (err == ERR_OK) {
        err = recover(service, now, &why);
    }
    if (err != ERR_OK) {
        service_close(service);
        if (detail != NULL) {
            *detail = why;
        }
    }
    return err;
}

void service_close(struct service *service)
{
    empty_outbox(service, false);
    vec_release(&service->outbox);
    guard_release_all(&service->guard);
    registry_close(&service->registry);
}
