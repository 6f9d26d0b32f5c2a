/* Assembling a runtime from its parts. */

#include "runtime/runtime.h"

#include "base/text.h"
#include "runtime/clock.h"
#include "runtime/own_write.h"
#include "runtime/owner.h"
#include "runtime/piece.h"
#include "runtime/piece_schemas.h"
#include "runtime/schemas.h"
#include "runtime/task.h"
#include "sched/durable.h"
#include "value/address.h"
#include "value/object.h"

/* Part of the fingerprint of stored runs. It changes when the way in which
 * bodies are called, or what their results become, changes. */
static const char runtime_version[] = "heddle runtime 2";

void runtime_init(struct runtime *runtime,
                  const struct runtime_options *options)
{
    *runtime = (struct runtime){
        .resume = options->resume,
        .forget = options->forget,
        .forget_nodes = options->forget_nodes,
        .resume_ctx = options->resume_ctx,
        .fetch = options->fetch,
        .refresh = options->refresh,
        .open_space = options->open_space,
        .fetch_ctx = options->fetch_ctx,
        .version = digest_of_bytes("heddle runtime",
                                   runtime_version,
                                   sizeof runtime_version - 1),
        .stored_events.source = options->stored_events,
        .tasks_due = MONO_NEVER,
        .task_claims = options->task_claims,
    };
    list_init(&runtime->pieces);
    list_init(&runtime->launches);
    list_init(&runtime->tasks);
    list_init(&runtime->forgettings);
    list_init(&runtime->own_writes.list);
    replica_init(&runtime->replica, options->log);
    const struct sched_options sched = {
        .host = options->host,
        .hooks = options->hooks,
        .immediate = options->immediate,
        .interrupted = options->interrupted,
        .interrupted_ctx = options->interrupted_ctx,
    };
    runtime->sched = sched_new(&runtime->replica, &sched);
    if (options->policy != NULL || !value_is_absent(options->instance)) {
        const struct events_policy policy =
            options->policy != NULL ? *options->policy : events_policy();
        events_configure(runtime->sched, &policy, options->instance);
    }
    if (!value_is_absent(options->user)) {
        events_set_user(runtime->sched, options->user);
    }
    if (options->stored_events.begin != NULL) {
        durable_on_first(runtime->sched,
                         options->stored_events.begin,
                         options->stored_events.ctx);
    }
    owners_init(runtime);
}

void runtime_release(struct runtime *runtime)
{
    own_writes_end(runtime);
    pieces_release(runtime);
    owners_release(runtime);
    piece_schemas_free(runtime);
    sched_free(runtime->sched);
    VEC_FOREACH (&runtime->patterns, pattern) {
        pattern_unref(*pattern);
    }
    vec_release(&runtime->patterns);
    schemas_free(runtime);
    clocks_release(runtime);
    collections_release(&runtime->collections);
    vec_release(&runtime->spaces);
    vec_release(&runtime->task_kinds);
    stored_events_release(runtime);
    replica_release(&runtime->replica);
    tasks_release(runtime);
}

enum err runtime_open(struct runtime *runtime,
                      const struct space_options *options,
                      struct space **out,
                      struct err_detail *detail)
{
    const enum err err = space_open(&runtime->replica, options, out, detail);
    if (err == ERR_OK) {
        vec_push(&runtime->spaces, *out);
        if (options->transport != NULL) {
            persistence_listen(runtime->sched, *out);
        }
    }
    return err;
}

struct space *runtime_space(const struct runtime *runtime, struct value name)
{
    VEC_FOREACH (&runtime->spaces, space) {
        if (key_equal((*space)->id, name)) {
            return *space;
        }
    }
    return NULL;
}

enum err runtime_need_space(struct runtime *runtime,
                            struct value name,
                            bool create,
                            struct space **out,
                            struct err_detail *detail)
{
    *out = runtime_space(runtime, name);
    if (*out != NULL) {
        return ERR_OK;
    }
    const enum err err = space_id_check(name, detail);
    if (err != ERR_OK) {
        return err;
    }
    if (runtime->open_space == NULL) {
        const struct text text = value_text(&name);
        return err_set(detail,
                       ERR_NOT_FOUND,
                       "the space '%.*s' is not open",
                       text_shown(text.at, text.length, 60),
                       text.at);
    }
    return runtime->open_space(runtime->fetch_ctx, name, create, out, detail);
}

/* What has come, and the pieces that waited for it. True if there were any. */
static bool take_what_has_come(struct runtime *runtime, mono_ms now)
{
    bool any = false;
    replica_step(&runtime->replica, now);
    piece_schemas_step(runtime);
    while (pieces_step(runtime)) {
        any = true;
        replica_step(&runtime->replica, now);
    }
    any = tasks_step(runtime, now) || any;
    clocks_step(runtime, now);
    return stored_events_step(runtime, now) || any;
}

bool runtime_pass(struct runtime *runtime, mono_ms now)
{
    bool any = take_what_has_come(runtime, now);
    any = sched_pass(runtime->sched, now) || any;
    replica_pump(&runtime->replica);
    return any;
}

void runtime_step(struct runtime *runtime, mono_ms now)
{
    bool again = true;
    while (again) {
        (void)take_what_has_come(runtime, now);
        sched_step(runtime->sched, now);
        replica_pump(&runtime->replica);
        again = pieces_step(runtime); /* a handler has launched some */
    }
}

bool runtime_is_idle(const struct runtime *runtime)
{
    return pieces_are_idle(runtime) && sched_is_idle(runtime->sched) &&
           !stored_events_are_due(runtime);
}

mono_ms runtime_next_wake(const struct runtime *runtime)
{
    const mono_ms stored = stored_events_are_due(runtime)
                               ? runtime->sched->now
                               : stored_events_next_wake(runtime);
    const mono_ms all[] = {
        replica_next_wake(&runtime->replica),
        sched_next_wake(runtime->sched),
        stored,
        tasks_next_wake(runtime),
        clocks_next_wake(runtime),
    };
    mono_ms first = MONO_NEVER;
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        first = all[i] < first ? all[i] : first;
    }
    return first;
}
