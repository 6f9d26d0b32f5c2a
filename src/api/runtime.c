/* The life of a runtime: opening, closing, and who may use it. */

#include "api/runtime.h"

#include <string.h>

#include "api/edit.h"
#include "api/frame.h"
#include "api/pattern.h"
#include "base/limits.h"
#include "base/mem.h"
#include "front/event_ticket.h"
#include "sched/cycle.h"
#include "value/utf8.h"

/* -- The record ---------------------------------------------------------- */

bool runtime_is_mine(const hd_runtime *runtime)
{
    return thrd_equal(runtime->thread, thrd_current()) != 0;
}

void runtime_keep(hd_runtime *runtime)
{
    runtime->keepers++;
}

void runtime_let_go(hd_runtime *runtime)
{
    if (runtime != NULL && --runtime->keepers == 0) {
        CHECK(runtime->api_host == NULL);
        frames_release(runtime);
        builders_release(runtime);
        object_shelves_release(runtime);
        mem_free(runtime, sizeof *runtime);
    }
}

enum err runtime_check_toplevel(const hd_runtime *runtime,
                                struct err_detail *detail)
{
    const enum err err =
        object_check_open(runtime, OBJECT_RUNTIME, "runtime", detail);
    if (err != ERR_OK) {
        return err;
    }
    if (runtime->run != NULL || runtime->busy > 0) {
        return err_set(detail,
                       ERR_MISUSE,
                       "this cannot be called from inside a run, an edit or a "
                       "callback of the runtime");
    }
    return ERR_OK;
}

enum err runtime_check_writing(const hd_runtime *runtime,
                               struct err_detail *detail)
{
    if (runtime->run == NULL && runtime->busy > 0) {
        return err_set(detail,
                       ERR_MISUSE,
                       "only a run can write or register: this callback is not "
                       "a run");
    }
    return ERR_OK;
}

enum err runtime_check_changing(const hd_runtime *runtime,
                                const char *what,
                                struct err_detail *detail)
{
    return runtime->read_only
               ? err_set(detail,
                         ERR_READ_ONLY,
                         "%s is not allowed: the runtime was opened read-only",
                         what)
               : ERR_OK;
}

/* -- Names from outside -------------------------------------------------- */

enum err edge_name(const char *text,
                   const char *parameter,
                   struct value *out,
                   struct err_detail *detail)
{
    *out = VALUE_NONE;
    if (text == NULL) {
        return err_set(detail,
                       ERR_ARGUMENT,
                       "'%s' must not be NULL",
                       parameter);
    }
    const size_t length = strnlen(text, LIMIT_ID_BYTES + 1);
    if (length == 0) {
        return err_set(detail, ERR_ARGUMENT, "'%s' is empty", parameter);
    }
    if (length > LIMIT_ID_BYTES) {
        return err_set(detail,
                       ERR_LIMIT_ID,
                       "'%s' has more than %d bytes",
                       parameter,
                       LIMIT_ID_BYTES);
    }
    if (!utf8_is_valid(text, length)) {
        return err_set(detail, ERR_SYNTAX, "'%s' is not UTF-8", parameter);
    }
    *out = value_string_new(text, length);
    return ERR_OK;
}

enum err runtime_check_space(const hd_runtime *runtime,
                             const char *name,
                             struct space **out,
                             struct err_detail *detail)
{
    const struct runtime *inside = runtime_core(runtime);
    if (name == NULL) {
        *out = inside->spaces.at[0];
        return ERR_OK;
    }
    *out = NULL;
    struct value id;
    const enum err err = edge_name(name, "space", &id, detail);
    if (err != ERR_OK) {
        return err;
    }
    *out = runtime_space(inside, id);
    value_unref(id);
    return *out != NULL ? ERR_OK
                        : err_set(detail,
                                  ERR_NOT_FOUND,
                                  "the space '%s' is not open",
                                  name);
}

/* -- Reports ------------------------------------------------------------- */

void runtime_report(const hd_runtime *runtime,
                    struct value name,
                    const struct place *place,
                    const struct err_detail *detail)
{
    if (runtime->report == NULL) {
        return;
    }
    hd_error error;
    (void)error_report(&error, detail->err, detail);
    if (place != NULL) {
        error_set_place(&error, place);
    } else if (value_is_string(name)) {
        error_set_address(&error, value_text(&name));
    }
    runtime->report(runtime->report_context, &error);
}

static void on_error(void *ctx,
                     const struct node *node,
                     const struct err_detail *detail)
{
    hd_runtime *runtime = ctx;
    runtime->busy++;
    runtime_report(runtime, node_name(node), NULL, detail);
    runtime->busy--;
}

static void on_not_started(void *ctx,
                           struct value name,
                           const struct err_detail *why)
{
    hd_runtime *runtime = ctx;
    runtime->busy++;
    runtime_report(runtime, name, NULL, why);
    runtime->busy--;
}

static void on_cycle(void *ctx, const struct cycle *cycle)
{
    struct buf sentence = {0};
    struct err_detail detail = {0};
    cycle_write(cycle, &sentence);
    (void)err_set(&detail, ERR_NOT_SETTLED, "%s", buf_text(&sentence));
    buf_release(&sentence);
    on_error(ctx, cycle->steps.at[0].node, &detail);
}

bool runtime_goes_on(hd_runtime *runtime)
{
    if (runtime->on_progress == NULL) {
        return true;
    }
    runtime->progress.runs =
        runtime_sched(runtime)->counters.runs - runtime->runs_before;
    runtime->busy++;
    const bool goes_on =
        runtime->on_progress(runtime->progress_context, &runtime->progress);
    runtime->busy--;
    return goes_on;
}

static bool on_actions(void *ctx, uint64_t actions, uint64_t total)
{
    hd_runtime *runtime = ctx;
    runtime->progress.actions = actions;
    runtime->progress.actions_total = total;
    return runtime_goes_on(runtime);
}

static void on_trouble(void *ctx,
                       struct space *space,
                       const struct err_detail *trouble)
{
    hd_runtime *runtime = ctx;
    if (trouble != NULL) {
        runtime->busy++;
        runtime_report(runtime, space->id, NULL, trouble);
        runtime->busy--;
    }
}

/* -- Opening ------------------------------------------------------------- */

static enum err check_options(const hd_runtime_options *options,
                              struct err_detail *detail)
{
    if (options->space_count > 0 && options->spaces == NULL) {
        return err_set(detail, ERR_ARGUMENT, "'spaces' must not be NULL");
    }
    if (options->durability > HD_DURABLE_NONE) {
        return err_set(detail,
                       ERR_ARGUMENT,
                       "'durability' is not a valid "
                       "hd_durability");
    }
    if (options->log_level > HD_LOG_DEBUG) {
        return err_set(detail,
                       ERR_ARGUMENT,
                       "'log_level' is not a valid "
                       "hd_log_level");
    }
    if (options->wait != NULL && options->now == NULL) {
        return err_set(detail, ERR_ARGUMENT, "'wait' requires 'now'");
    }
    if (options->directory != NULL && options->directory[0] == '\0') {
        return err_set(detail, ERR_ARGUMENT, "'directory' is empty");
    }
    if (options->directory == NULL && options->read_only) {
        return err_set(detail,
                       ERR_ARGUMENT,
                       "'read_only' requires a 'directory'");
    }
    const struct {
        const char *text;
        const char *name;
    } names[] = {{options->user, "user"}, {options->session, "session"}};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        struct value name;
        if (names[i].text != NULL) {
            const enum err err =
                edge_name(names[i].text, names[i].name, &name, detail);
            value_unref(name);
            if (err != ERR_OK) {
                return err;
            }
        }
    }
    return ERR_OK;
}

/* Each usable, and none twice. */
static enum err check_spaces(const hd_runtime_options *options,
                             struct err_detail *detail)
{
    enum err err = ERR_OK;
    for (size_t i = 0; i < options->space_count && err == ERR_OK; i++) {
        struct value name;
        err = edge_name(options->spaces[i], "spaces", &name, detail);
        if (err == ERR_OK) {
            err = space_id_check(name, detail);
        }
        value_unref(name);
        for (size_t j = 0; j < i && err == ERR_OK; j++) {
            if (strcmp(options->spaces[i], options->spaces[j]) == 0) {
                err = err_set(detail,
                              ERR_ARGUMENT,
                              "the space '%s' is named twice",
                              options->spaces[i]);
            }
        }
    }
    return err;
}

static hd_runtime *record_new(const hd_runtime_options *options)
{
    hd_runtime *runtime = mem_alloc_zero(sizeof *runtime);
    runtime->object.kind = OBJECT_RUNTIME;
    runtime->object.runtime = runtime;
    list_node_init(&runtime->object.node);
    runtime->thread = thrd_current();
    runtime->keepers = 1;
    list_init(&runtime->objects);
    object_shelves_init(runtime);
    list_init(&runtime->tickets);
    list_init(&runtime->wraps);
    runtime->backlog = options->backlog > 0 ? options->backlog : EVENTS_BACKLOG;
    runtime->read_only = options->read_only;
    runtime->report = options->report;
    runtime->report_context = options->report_context;
    runtime->on_progress = options->progress;
    runtime->progress_context = options->progress_context;
    return runtime;
}

hd_status hd_runtime_open(const hd_runtime_options *options,
                          hd_runtime **runtime,
                          hd_error *error)
{
    if (runtime == NULL) {
        return error_null(error, "runtime");
    }
    *runtime = NULL;
    static const hd_runtime_options none;
    const hd_runtime_options *given = options != NULL ? options : &none;
    struct err_detail detail = {0};
    enum err err = check_options(given, &detail);
    if (err == ERR_OK) {
        err = check_spaces(given, &detail);
    }
    if (err != ERR_OK) {
        return error_report(error, err, &detail);
    }
    hd_runtime *made = record_new(given);
    const struct api_host_options api_host = {
        .given = given,
        .hooks = {.ctx = made, .error = on_error, .cycle = on_cycle},
        .on_actions = on_actions,
        .on_trouble = on_trouble,
        .ctx = made,
    };
    err = api_host_open(&api_host, &made->api_host, &detail);
    if (err != ERR_OK) {
        made->api_host = NULL;
        runtime_let_go(made);
        made = NULL;
    } else {
        struct own_writes *writes = &runtime_core(made)->own_writes;
        call_frame_init(&made->toplevel,
                        FRAME_TOPLEVEL,
                        runtime_core(made),
                        NULL);
        writes->report = edits_report;
        writes->report_ctx = made;
        runtime_core(made)->not_started = on_not_started;
        runtime_core(made)->not_started_ctx = made;
    }
    *runtime = made;
    return error_report(error, err, &detail);
}

hd_status hd_runtime_open_space(hd_runtime *runtime,
                                const char *space,
                                hd_error *error)
{
    struct err_detail detail = {0};
    enum err err = runtime_check_toplevel(runtime, &detail);
    struct value name = VALUE_NONE;
    if (err == ERR_OK) {
        err = edge_name(space, "space", &name, &detail);
    }
    if (err == ERR_OK) {
        err = space_id_check(name, &detail);
    }
    if (err == ERR_OK && runtime_space(runtime_core(runtime), name) != NULL) {
        err = err_set(&detail,
                      ERR_ARGUMENT,
                      "the space '%s' is already open",
                      space);
    }
    value_unref(name);
    if (err == ERR_OK) {
        err = api_host_open_space(runtime->api_host, space, &detail);
    }
    return error_report(error, err, &detail);
}

/* -- Closing ------------------------------------------------------------- */

/* Nothing of the program runs. What the objects hold inside goes before the
 * runtime does; what is called to release a context may release handles. */
static void end(hd_runtime *runtime)
{
    struct api_host *api_host = runtime->api_host;
    runtime->api_host = NULL;
    runtime->busy++;
    objects_cut(runtime);
    api_host_close(api_host);
    event_tickets_end(&runtime->tickets);
    patterns_end(runtime);
    frames_end(runtime);
    runtime->busy--;
}

/* Brings what was done to its stores; what they refuse because the world has
 * moved on is done again. */
static enum err flush(hd_runtime *runtime,
                      mono_ms deadline,
                      struct err_detail *detail)
{
    runtime->busy++;
    enum err err;
    do {
        err = api_host_flush(runtime->api_host, deadline, detail);
    } while (err == ERR_OK && own_writes_try_again(runtime_core(runtime)));
    runtime->busy--;
    return err;
}

hd_status hd_runtime_close(hd_runtime *runtime,
                           uint64_t deadline,
                           hd_error *error)
{
    struct err_detail detail = {0};
    enum err err = runtime_check_toplevel(runtime, &detail);
    if (err != ERR_OK) {
        return error_report(error, err, &detail);
    }
    err = flush(runtime, deadline, &detail);
    if (err != ERR_INTERRUPTED) {
        end(runtime);
    }
    const hd_status status = error_report(error, err, &detail);
    if (error != NULL) {
        error->may_have_happened = err == ERR_TIMEOUT;
    }
    return status;
}

void hd_runtime_free(hd_runtime *runtime)
{
    if (!object_may_go(runtime, OBJECT_RUNTIME) || runtime->run != NULL ||
        runtime->busy > 0) {
        return;
    }
    if (runtime->api_host != NULL) {
        end(runtime);
    }
    runtime->object.kind = OBJECT_RELEASED;
    runtime_let_go(runtime);
}

hd_status hd_runtime_move(hd_runtime *runtime)
{
    if (runtime == NULL) {
        return HD_ARGUMENT;
    }
    if (runtime->object.kind != OBJECT_RUNTIME || runtime->run != NULL ||
        runtime->busy > 0) {
        return HD_MISUSE;
    }
    if (runtime->api_host == NULL) {
        return HD_CLOSED;
    }
    runtime->thread = thrd_current();
    return HD_OK;
}
