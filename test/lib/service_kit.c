/* A service with a daemon on strings (lib/service_kit.h). */

#include "lib/service_kit.h"

#include <stdio.h>
#include <string.h>

#include "lib/test.h"

/* -- The daemon ---------------------------------------------------------- */

static void keep(struct daemon *daemon, const struct daemon_request *request)
{
    struct service_kit *kit = CONTAINER_OF(daemon, struct service_kit, daemon);
    struct kept_request kept = {.verb = request->verb};
    (void)snprintf(kept.id,
                   sizeof kept.id,
                   "%s",
                   *request->thread != '\0' ? request->thread
                                            : request->environment);
    (void)snprintf(kept.token, sizeof kept.token, "%s", request->token);
    if (!value_is_absent(request->input)) {
        const struct text text = value_text(&request->input);
        (void)snprintf(kept.input,
                       sizeof kept.input,
                       "%.*s",
                       (int)text.length,
                       text.at);
    }
    vec_push(&kit->requests, kept);
    EXPECT(!kit->service.registry.is_open); /* after the commit */
}

static void on_change(void *ctx, const struct registry_change *change)
{
    struct service_kit *kit = ctx;
    (void)change;
    kit->changes++;
}

/* -- Life ---------------------------------------------------------------- */

static void open_service(struct service_kit *kit)
{
    const struct service_options options = {
        .engine = &kit->store.engine,
        .daemon = &kit->daemon,
        .log = &kit->recorder.log,
        .on_change = on_change,
        .ctx = kit,
    };
    const enum err err =
        service_open(&kit->service, &options, kit->now, &kit->detail);
    if (err != ERR_OK) {
        (void)test_fail(__FILE__, __LINE__, "%s", kit->detail.text);
    }
    CHECK(err == ERR_OK);
}

void service_kit_open(struct service_kit *kit)
{
    *kit = (struct service_kit){.daemon = {.send = keep}, .now = 1000};
    kit_open_memory(&kit->store, NULL);
    recorder_init(&kit->recorder);
    open_service(kit);
    kit_session(kit, "i1", "");
}

void service_kit_close(struct service_kit *kit)
{
    EXPECT(registry_check(&kit->service.registry));
    EXPECT_EQ(kit->service.outbox.count, 0);
    service_close(&kit->service);
    recorder_release(&kit->recorder);
    vec_release(&kit->requests);
    buf_release(&kit->text);
    buf_release(&kit->sent);
    kit_close(&kit->store);
}

void service_kit_restart(struct service_kit *kit)
{
    service_close(&kit->service);
    open_service(kit);
}

/* -- Calls --------------------------------------------------------------- */

static const char *outcome_of(struct service_kit *kit, enum err err)
{
    EXPECT_INT(err, ERR_OK);
    EXPECT((kit->outcome.kind == SERVICE_REFUSED) ==
           (kit->outcome.reason != SERVICE_NO_REASON));
    return kit->outcome.kind == SERVICE_REFUSED
               ? service_reason_name(kit->outcome.reason)
               : service_kind_name(kit->outcome.kind);
}

const char *kit_create(struct service_kit *kit,
                       const char *thread,
                       const char *environment)
{
    const struct service_thread new_thread = {
        .id = thread,
        .environment = environment,
        .is_managed = true,
        .input = "hello",
    };
    return outcome_of(kit,
                      service_create(&kit->service,
                                     &new_thread,
                                     kit->now,
                                     &kit->outcome,
                                     &kit->detail));
}

const char *kit_send(struct service_kit *kit,
                     const char *thread,
                     const char *input)
{
    return outcome_of(kit,
                      service_send(&kit->service,
                                   thread,
                                   input,
                                   kit->now,
                                   &kit->outcome,
                                   &kit->detail));
}

const char *kit_queue(struct service_kit *kit,
                      const char *thread,
                      const char *input)
{
    return outcome_of(kit,
                      service_queue(&kit->service,
                                    thread,
                                    input,
                                    kit->now,
                                    &kit->outcome,
                                    &kit->detail));
}

const char *kit_call(struct service_kit *kit, service_fn *call, const char *id)
{
    return outcome_of(
        kit,
        call(&kit->service, id, kit->now, &kit->outcome, &kit->detail));
}

void kit_sweep(struct service_kit *kit)
{
    EXPECT_INT(service_sweep(&kit->service, kit->now, &kit->detail), ERR_OK);
}

/* -- What the daemon says ------------------------------------------------ */

const char *kit_token(struct service_kit *kit,
                      enum daemon_verb verb,
                      const char *id,
                      size_t back)
{
    for (size_t i = kit->requests.count; i > 0; i--) {
        const struct kept_request *kept = &kit->requests.at[i - 1];
        if (kept->verb == verb && strcmp(kept->id, id) == 0) {
            if (back == 0) {
                return kept->token;
            }
            back--;
        }
    }
    (void)test_fail(__FILE__,
                    __LINE__,
                    "%s %s was not sent",
                    daemon_verb_name(verb),
                    id);
    return "none";
}

void kit_answer(struct service_kit *kit,
                enum daemon_verb verb,
                const char *id,
                bool ok,
                size_t back)
{
    const struct daemon_answer answer = {
        .verb = verb,
        .id = id,
        .token = kit_token(kit, verb, id, back),
        .ok = ok,
        .workspace = verb == DAEMON_PROVISION && ok ? "w/path" : NULL,
        .why = ok ? NULL : "it would not",
    };
    EXPECT_INT(service_answer(&kit->service, &answer, kit->now, &kit->detail),
               ERR_OK);
}

void kit_turn(struct service_kit *kit,
              enum daemon_turn turn,
              const char *thread,
              size_t back)
{
    const struct daemon_event event = {
        .turn = turn,
        .thread = thread,
        .run = kit_token(kit, DAEMON_RUN, thread, back),
    };
    EXPECT_INT(service_event(&kit->service, &event, kit->now, &kit->detail),
               ERR_OK);
}

void kit_session(struct service_kit *kit,
                 const char *instance,
                 const char *threads)
{
    struct daemon_run runs[8];
    char words[256];
    size_t count = 0;
    (void)snprintf(words, sizeof words, "%s", threads);
    for (char *at = words; *at != '\0';) {
        char *end = at + strcspn(at, " ");
        const bool last = *end == '\0';
        *end = '\0';
        CHECK(count < COUNT_OF(runs));
        runs[count].thread = at;
        runs[count].run = kit_token(kit, DAEMON_RUN, at, 0);
        count++;
        at = last ? end : end + 1;
    }
    EXPECT_INT(service_session_open(&kit->service,
                                    instance,
                                    runs,
                                    count,
                                    kit->now,
                                    &kit->detail),
               ERR_OK);
}

/* -- Looking ------------------------------------------------------------- */

const char *service_kit_sent(struct service_kit *kit)
{
    buf_clear(&kit->sent);
    for (; kit->shown < kit->requests.count; kit->shown++) {
        const struct kept_request *kept = &kit->requests.at[kit->shown];
        buf_printf(&kit->sent,
                   "%s %s;",
                   daemon_verb_name(kept->verb),
                   kept->id);
    }
    return buf_text(&kit->sent);
}

const char *kit_rows(struct service_kit *kit)
{
    EXPECT(registry_check(&kit->service.registry));
    const char *rows =
        kit_sql(&kit->store,
                "SELECT group_concat(name, ' ') FROM (SELECT id || '=' ||"
                " status || iif(archived_at IS NULL, '', '(archived)')"
                " || iif(deleted_at IS NULL, '', '(deleted)') AS name FROM"
                " thread UNION ALL SELECT id || '=' || status FROM"
                " environment)");
    buf_clear(&kit->text);
    buf_append(&kit->text, rows, strlen(rows) - 1);
    return buf_text(&kit->text);
}

const char *kit_log(struct service_kit *kit)
{
    buf_clear(&kit->text);
    buf_append_text(&kit->text, buf_text(&kit->recorder.text));
    recorder_clear(&kit->recorder);
    return buf_text(&kit->text);
}
