/* The life of a visit, its pieces, and its waiting. */

#include "cli/visit.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/display.h"
#include "cli/file_name.h"
#include "cli/input.h"
#include "cli/look.h"
#include "cli/output.h"
#include "cli/remote_option.h"
#include "cli/report.h"
#include "host/system.h"
#include "host/wake.h"
#include "sched/cycle.h"
#include "store/engine.h"
#include "value/array.h"
#include "value/object.h"

enum {
    PROGRESS_FROM = 2000, /* actions: a resume that takes long enough to tell */
};

static const char folder_default[] = "./heddle-data";

/* -- Signals ------------------------------------------------------------- */

static volatile sig_atomic_t stopped;
static bool damaged;                   /* visit-5: a space is of no use */
static struct live *volatile stopping; /* that a signal interrupts, or NULL */

static void on_signal(int number)
{
    stopped = number;
    struct live *live = stopping;
    if (live != NULL) {
        live_interrupt(live);
    }
}

bool visit_was_stopped(void)
{
    return stopped != 0 || damaged;
}

/* The second signal of a kind has the system's effect: it ends the process. A
 * write that a signal interrupts goes on, or its output would be cut; a wait
 * ends, because poll never goes on. */
static void listen_to_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal};
    action.sa_flags = (int)SA_RESETHAND | SA_RESTART;
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
    /* Who reads us may go: that is seen when something is written. */
    (void)signal(SIGPIPE, SIG_IGN);
}

/* -- What nodes report --------------------------------------------------- */

void visit_append(struct buf *to, struct value string)
{
    if (value_is_string(string)) {
        const struct text text = value_text(&string);
        buf_append(to, text.at, text.length);
    }
}

static void clear_fault(struct visit *visit, uint32_t ordinal)
{
    VEC_FOREACH (&visit->faults, fault) {
        if (fault->ordinal == ordinal) {
            buf_release(&fault->name);
            buf_release(&fault->message);
            *fault = visit->faults.at[visit->faults.count - 1];
            visit->faults.count--;
            return;
        }
    }
}

static void on_error(void *ctx,
                     const struct node *node,
                     const struct err_detail *detail)
{
    struct visit *visit = ctx;
    if (node->kind != NODE_HANDLER) {
        clear_fault(visit, node->ordinal);
    }
    visit->lost = visit->lost || detail->err == ERR_NO_HANDLER;
    struct visit_fault fault = {
        .ordinal = node->ordinal,
        .of_handler = node->kind == NODE_HANDLER,
    };
    visit_append(&fault.name, node_name(node));
    buf_append_text(&fault.message,
                    detail->text[0] != '\0' ? detail->text
                                            : err_text(detail->err));
    vec_push(&visit->faults, fault);
}

static void on_run(void *ctx,
                   const struct run *run,
                   const struct run_record *record)
{
    struct visit *visit = ctx;
    if (record->outcome == OUTCOME_COMMITTED) {
        if (run->node->kind != NODE_HANDLER) {
            clear_fault(visit, run->node->ordinal);
        }
        visit->runs += !value_is_absent(node_name(run->node));
    }
}

static void on_cycle(void *ctx, const struct cycle *cycle)
{
    struct visit *visit = ctx;
    struct visit_cycle told = {0};
    cycle_write(cycle, &told.message);
    vec_push(&visit->cycles, told);
}

static void tell(const struct options *options,
                 const char *source,
                 const char *message)
{
    struct err_detail detail = {0};
    (void)err_set(&detail, ERR_GIVEN_UP, "%s", message);
    (void)visit_report_node(options, source, &detail);
}

bool visit_tell_faults(struct visit *visit)
{
    bool any = false;
    VEC_FOREACH (&visit->faults, fault) {
        if (!fault->told) {
            fault->told = true;
            any = true;
            visit->events_failed = visit->events_failed || fault->of_handler;
            tell(visit->options,
                 fault->name.length > 0 ? buf_text(&fault->name) : NULL,
                 buf_text(&fault->message));
        }
    }
    VEC_FOREACH (&visit->cycles, cycle) {
        if (!cycle->told) {
            cycle->told = true;
            any = true;
            (void)report_unsettled(visit->options, buf_text(&cycle->message));
        }
    }
    return any;
}

void visit_forget_fault(struct visit *visit, const struct err_detail *told)
{
    VEC_FOREACH (&visit->faults, fault) {
        if (!fault->told &&
            strcmp(buf_text(&fault->message), told->text) == 0) {
            fault->told = true;
            return;
        }
    }
}

static void on_trouble(void *ctx,
                       struct space *space,
                       const struct err_detail *trouble)
{
    struct visit *visit = ctx;
    (void)space;
    visit->troubled = trouble != NULL;
    visit_tell_trouble(visit, trouble);
    if (trouble != NULL && (trouble->err == ERR_CORRUPT ||
                            err_class_of(trouble->err) == ERR_CLASS_TERMINAL)) {
        damaged = true;
        if (visit->live != NULL) {
            live_interrupt(visit->live);
        }
    }
}

/* For people who wait: a line that is overwritten. */
static bool on_progress(void *ctx, uint64_t actions, uint64_t total)
{
    struct visit *visit = ctx;
    if (actions >= PROGRESS_FROM && isatty(STDERR_FILENO) == 1 &&
        !option_is_given(visit->options, OPTION_JSON)) {
        visit->showed_progress = true;
        (void)fprintf(stderr,
                      "\rheddle: %llu of %llu nodes looked up",
                      (unsigned long long)actions,
                      (unsigned long long)total);
    }
    return !visit_was_stopped();
}

static void end_progress(struct visit *visit)
{
    if (visit->showed_progress) {
        visit->showed_progress = false;
        (void)fprintf(stderr, "\n");
    }
}

/* -- The host of Lua code ------------------------------------------------ */

static mono_ms host_now(void *ctx)
{
    return live_now(((const struct visit_source *)ctx)->visit->live);
}

static uint64_t host_wall(void *ctx)
{
    (void)ctx;
    return system_wall_ms();
}

static void host_report(void *ctx, const char *message)
{
    tell(((const struct visit_source *)ctx)->visit->options, NULL, message);
}

static void host_notice(void *ctx, const char *text)
{
    (void)ctx;
    struct buf line = {0};
    display_append(&line, text);
    (void)fprintf(stderr, "heddle: %s\n", buf_text(&line));
    buf_release(&line);
}

/* Standard output is for results. */
static void host_print(void *ctx, const char *line, size_t length)
{
    (void)ctx;
    (void)fprintf(stderr, "%.*s\n", (int)length, line);
}

static bool host_interrupted(void *ctx)
{
    const struct live *live = ((const struct visit_source *)ctx)->visit->live;
    return visit_was_stopped() || (live != NULL && live_is_due(live));
}

/* A file of the pattern, as it was kept or as it is, and keeps it. 0 or an
 * errno. */
static int read_own(struct visit *visit, const char *path, struct buf *text)
{
    const struct visit_text *kept = NULL;
    if (visit->kept != NULL) {
        VEC_FOREACH (&visit->kept->at, one) {
            kept = strcmp(buf_text(&one->path), path) == 0 ? one : kept;
        }
    }
    int failed = 0;
    if (kept != NULL) {
        buf_append(text, kept->text.at, kept->text.length);
    } else {
        failed = input_file(path, text);
    }
    if (failed == 0) {
        struct visit_text read = {0};
        buf_append_text(&read.path, path);
        buf_append(&read.text, text->at, text->length);
        vec_push(&visit->texts.at, read);
    }
    return failed;
}

void visit_texts_release(struct visit_texts *texts)
{
    VEC_FOREACH (&texts->at, one) {
        buf_release(&one->path);
        buf_release(&one->text);
    }
    vec_release(&texts->at);
    *texts = (struct visit_texts){0};
}

/* A module is a file beside the pattern: a.b is a/b.lua. */
static enum err host_module(void *ctx,
                            const char *name,
                            struct buf *text,
                            struct buf *file,
                            struct err_detail *detail)
{
    struct visit_source *source = ctx;
    struct visit *visit = source->visit;
    const bool is_other = source->file.length > 0;
    const char *path = buf_text(is_other ? &source->file : &visit->file);
    const char *slash = strrchr(path, '/');
    if (slash != NULL) {
        buf_append(file, path, (size_t)(slash - path) + 1);
    }
    for (const char *at = name; *at != '\0'; at++) {
        buf_append_char(file, (char)(*at == '.' ? '/' : *at));
    }
    buf_append_text(file, ".lua");
    const int failed = is_other ? input_file(buf_text(file), text)
                                : read_own(visit, buf_text(file), text);
    if (failed == 0) {
        return ERR_OK;
    }
    return input_is_missing(failed)
               ? ERR_NOT_FOUND
               : err_set(detail, ERR_IO, "%s", strerror(failed));
}

static void host_load(void *ctx, struct entity *entity)
{
    const struct visit *visit = ((const struct visit_source *)ctx)->visit;
    struct err_detail detail = {0};
    if (live_load(visit->live, entity, &detail) != ERR_OK) {
        (void)visit_report(visit->options, visit->folder, &detail);
    }
}

static void host_settle(void *ctx)
{
    const struct visit *visit = ((const struct visit_source *)ctx)->visit;
    (void)live_settle(visit->live, live_now(visit->live) + visit->timeout);
}

static struct program_host host_of(struct visit_source *source)
{
    const struct visit *visit = source->visit;
    return (struct program_host){
        .ctx = source,
        .now = host_now,
        .wall = host_wall,
        .report = host_report,
        .notice = host_notice,
        .print = host_print,
        .interrupted = host_interrupted,
        .module = host_module,
        .load = visit->interactive ? host_load : NULL,
        .settle = visit->interactive ? host_settle : NULL,
    };
}

struct program_host visit_host(struct visit *visit)
{
    visit->source.visit = visit;
    return host_of(&visit->source);
}

static struct program *begin_program(struct visit *visit,
                                     const struct program_host *host)
{
    const struct program_options options = {
        .host = *host,
        .functions = visit->functions,
        .seed = system_host()->random(system_host()),
    };
    struct program *program = program_new(&options);
    program_attach(program, live_runtime(visit->live));
    return program;
}

/* -- Files of other pieces ----------------------------------------------- */

static void source_free(struct visit_source *source)
{
    program_free(source->program);
    buf_release(&source->file);
    buf_release(&source->text);
    mem_free(source, sizeof *source);
}

/* The program of a file as it is now: one that was loaded before, or a new
 * one. Takes the text. */
static enum err load_source(struct visit *visit,
                            const char *file,
                            struct buf *text,
                            struct visit_source **out,
                            struct err_detail *detail)
{
    VEC_FOREACH (&visit->sources, known) {
        const struct buf *before = &(*known)->text;
        if (strcmp(buf_text(&(*known)->file), file) == 0 &&
            before->length == text->length &&
            memcmp(buf_text(before), buf_text(text), text->length) == 0) {
            buf_release(text);
            *out = *known;
            return ERR_OK;
        }
    }
    struct visit_source *source = mem_alloc_zero(sizeof *source);
    source->visit = visit;
    source->text = *text;
    buf_append_text(&source->file, file);
    const struct program_host host = host_of(source);
    source->program = begin_program(visit, &host);
    const struct program_source lua = {file,
                                       buf_text(&source->text),
                                       source->text.length};
    const enum err err = program_load(source->program, &lua, detail);
    vec_push(&visit->sources, source); /* its runtime knows patterns of it */
    *out = source;
    return err;
}

/* By the file in the note of the piece. */
static struct pattern *find_pattern(void *ctx,
                                    struct value about,
                                    struct err_detail *detail)
{
    struct visit *visit = ctx;
    struct buf file = {0};
    struct buf name = {0};
    const struct value note = object_field(about, "note");
    visit_append(&name, object_field(about, "pattern"));
    if (value_is_object(note)) {
        file_name_read(&file, object_field(note, "file"));
    }
    const struct program *program = NULL;
    struct visit_source *source = NULL;
    struct buf text = {0};
    int failed = 0;
    if (file.length == 0) {
        (void)err_set(detail,
                      ERR_NOT_FOUND,
                      "its piece was not started from a file");
    } else if (visit->program != NULL &&
               strcmp(buf_text(&file), buf_text(&visit->file)) == 0) {
        program = visit->program;
    } else if ((failed = input_file(buf_text(&file), &text)) != 0) {
        (void)err_set(detail,
                      ERR_NOT_FOUND,
                      "the pattern of its piece was in %s: %s",
                      buf_text(&file),
                      strerror(failed));
    } else if (load_source(visit, buf_text(&file), &text, &source, detail) ==
               ERR_OK) {
        program = source->program;
    }
    struct pattern *pattern = NULL;
    if (program != NULL) {
        pattern = program_pattern_named(program, buf_text(&name));
        if (pattern == NULL) {
            (void)err_set(detail,
                          ERR_NOT_FOUND,
                          "%s no longer has a pattern %s",
                          buf_text(&file),
                          buf_text(&name));
        }
    }
    buf_release(&file);
    buf_release(&name);
    return pattern;
}

/* What a pattern that has changed does to its piece. */
static void on_notice(void *ctx,
                      const struct piece *piece,
                      const char *sentence)
{
    struct buf text = {0};
    visit_append(&text, piece->name);
    buf_append_text(&text, ": ");
    buf_append_text(&text, sentence);
    host_notice(ctx, buf_text(&text));
    buf_release(&text);
}

/* A child in another space is not there: what needs it is not, either. */
static void on_not_started(void *ctx,
                           struct value name,
                           const struct err_detail *why)
{
    struct visit *visit = ctx;
    struct visit_fault fault = {.of_handler = true};
    visit->lost = true;
    visit_append(&fault.name, name);
    buf_append_text(&fault.message, why->text);
    vec_push(&visit->faults, fault);
}

/* -- The program of the visit -------------------------------------------- */

void visit_begin_program(struct visit *visit)
{
    if (visit->program != NULL) {
        return;
    }
    struct runtime *runtime = live_runtime(visit->live);
    runtime->without_effects = !visit->with_effects;
    runtime->leaves_events = !visit->handles_events;
    runtime->pattern_of = find_pattern;
    runtime->pattern_ctx = visit;
    runtime->notice = on_notice;
    runtime->notice_ctx = visit;
    runtime->not_started = on_not_started;
    runtime->not_started_ctx = visit;
    host_tasks_attach(visit->tasks, runtime);
    const struct program_host host = visit_host(visit);
    visit->program = begin_program(visit, &host);
}

/* -- Life ---------------------------------------------------------------- */

static int read_timeout(struct visit *visit)
{
    const char *text = visit->options->values.timeout;
    visit->timeout = VISIT_TIMEOUT_MS;
    if (text == NULL) {
        return CODE_OK;
    }
    char *end = NULL;
    const unsigned long long number = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || number == 0 ||
        number > INT32_MAX) {
        return report_usage(visit->options,
                            "--timeout takes milliseconds, not '%s'",
                            text);
    }
    visit->timeout = number;
    return CODE_OK;
}

static int read_hops(const struct options *options,
                     struct events_policy *policy)
{
    const char *text = options->values.hops;
    *policy = events_policy();
    if (text == NULL) {
        return CODE_OK;
    }
    char *end = NULL;
    const unsigned long long number = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || number == 0 ||
        number > INT32_MAX) {
        return report_usage(options,
                            "--hops takes a number of events, not '%s'",
                            text);
    }
    policy->hops = (uint32_t)number;
    return CODE_OK;
}

/* While the live host is opened, there is none yet that has a deadline. */
static bool store_interrupted(void *ctx)
{
    const struct visit *visit = ctx;
    return visit_was_stopped() ||
           (visit->live != NULL && live_is_due(visit->live));
}

static void step_tasks(void *ctx, mono_ms now)
{
    host_tasks_step(ctx, now);
}

static mono_ms tasks_wake(const void *ctx)
{
    return host_tasks_next_wake(ctx);
}

/* Each command knows the kinds, so that a pattern is the same in all of them;
 * those that only ask begin no task (visit-1). */
static struct wake_outside begin_tasks(struct visit *visit)
{
    const struct host_tasks_options options = {
        .allow_exec = visit->options->values.allow_exec,
        .allow_net = visit->options->values.allow_net,
    };
    visit->tasks = host_tasks_new(&options);
    return (struct wake_outside){
        .fd = host_tasks_fd(visit->tasks),
        .step = step_tasks,
        .next_wake = tasks_wake,
        .ctx = visit->tasks,
    };
}

int visit_open(struct visit *visit,
               const struct options *options,
               enum data_dir_access access)
{
    const char *url = remote_option_url(options);
    struct remote *remote = NULL;
    visit->options = options;
    visit->folder = url != NULL                   ? url
                    : options->values.dir != NULL ? options->values.dir
                                                  : folder_default;
    struct events_policy policy;
    int code = read_timeout(visit);
    if (code == CODE_OK) {
        code = read_hops(options, &policy);
    }
    if (code == CODE_OK && url != NULL) {
        code = remote_option_open(options, &remote);
    }
    if (code != CODE_OK) {
        return code;
    }
    listen_to_signals();
    const struct wake_outside outside = begin_tasks(visit);
    const char *const spaces[] = {look_space(options)};
    const struct live_options live = {
        .folder = url != NULL ? NULL : visit->folder,
        .remote = remote,
        .connect_ms = visit->timeout,
        .access = access,
        .spaces = spaces,
        .space_count = COUNT_OF(spaces),
        .user = options->values.user,
        .branch = options->values.branch != NULL &&
                          strcmp(options->values.branch, "main") != 0
                      ? options->values.branch
                      : NULL,
        .hooks = {.ctx = visit,
                  .error = on_error,
                  .cycle = on_cycle,
                  .run = on_run},
        .policy = &policy,
        .immediate = visit->immediate,
        .outside = visit->with_effects ? &outside : NULL,
        .on_trouble = on_trouble,
        .on_progress = on_progress,
        .interrupted = store_interrupted,
        .ctx = visit,
    };
    struct err_detail detail = {0};
    if (live_open(&live, &visit->live, &detail) != ERR_OK) {
        host_tasks_free(visit->tasks);
        visit->tasks = NULL;
        return visit_report(options, NULL, &detail);
    }
    stopping = visit->live;
    if (visit_was_stopped()) {
        live_interrupt(visit->live);
    }
    return CODE_OK;
}

void visit_stop_piece(struct visit *visit)
{
    if (visit->piece != NULL) {
        piece_stop(visit->piece);
        piece_unref(visit->piece);
        visit->piece = NULL;
    }
}

/* The process is to end while there is work left: it does so at once. */
static bool ends_at_once(const struct visit *visit)
{
    return visit_was_stopped() ? !live_is_at_rest(visit->live)
                               : visit->late && !visit->goes_on;
}

/* For a process that ends at once: other processes see that it has left, and
 * its memory is left to the system. Neither images nor a checkpoint are
 * written. */
static void leave_stores(struct live *live)
{
    VEC_FOREACH (&live_runtime(live)->spaces, space) {
        struct engine *engine = live_engine(live, (*space)->id);
        if (engine != NULL) {
            engine_leave(engine);
        }
    }
}

static int end_code(const struct visit *visit, int code)
{
    if (damaged && (code == CODE_OK || code == VISIT_CODE_STOPPED)) {
        return CODE_IO;
    }
    return code == CODE_OK && visit->lost ? CODE_NO : code;
}

int visit_close(struct visit *visit, int code)
{
    /* Nothing of it is freed any more; and it is not lost, either. */
    static struct visit left;
    end_progress(visit);
    if (visit->live != NULL) {
        stopping = NULL;
        const bool at_once = ends_at_once(visit);
        code = visit_flush(visit, code);
        visit_report_waiting(visit);
        if (at_once) {
            host_tasks_free(visit->tasks);
            leave_stores(visit->live);
            left = *visit;
            *visit = (struct visit){.options = left.options, .lost = left.lost};
            return end_code(&left, code);
        }
        visit_stop_piece(visit);
        if (visit->program != NULL) {
            program_detach(visit->program);
        }
        VEC_FOREACH (&visit->sources, source) {
            program_detach((*source)->program);
        }
        live_drop(visit->live);
    }
    host_tasks_free(visit->tasks);
    visit->tasks = NULL;
    VEC_FOREACH (&visit->sources, source) {
        source_free(*source);
    }
    vec_release(&visit->sources);
    program_free(visit->program);
    VEC_FOREACH (&visit->faults, fault) {
        buf_release(&fault->name);
        buf_release(&fault->message);
    }
    vec_release(&visit->faults);
    VEC_FOREACH (&visit->cycles, cycle) {
        buf_release(&cycle->message);
    }
    vec_release(&visit->cycles);
    visit_texts_release(&visit->texts);
    buf_release(&visit->file);
    visit->live = NULL;
    visit->program = NULL;
    return end_code(visit, code);
}

/* -- Waiting ------------------------------------------------------------- */

/* Why a wait was in vain. A trouble was reported when it began. */
int visit_report_wait(struct visit *visit, const char *what)
{
    visit->late = true;
    if (visit_was_stopped()) {
        return damaged ? CODE_IO : VISIT_CODE_STOPPED;
    }
    (void)visit_tell_faults(visit);
    const struct err_detail *trouble = live_trouble(visit->live);
    struct err_detail detail = {0};
    if (trouble != NULL && !visit->troubled) {
        return visit_report(visit->options, visit->folder, trouble);
    }
    (void)err_set(&detail,
                  ERR_NOT_SETTLED,
                  "%s did not finish within %llu ms: retry with a longer "
                  "--timeout",
                  what,
                  (unsigned long long)visit->timeout);
    (void)visit_report(visit->options, NULL, &detail);
    return trouble != NULL ? CODE_IO : CODE_NO;
}

int visit_settle(struct visit *visit)
{
    const enum live_rest rest =
        live_settle(visit->live, live_now(visit->live) + visit->timeout);
    if (rest != LIVE_AT_REST) {
        return visit_report_wait(visit, "the work");
    }
    if (!sched_is_backing_off(live_runtime(visit->live)->sched)) {
        return CODE_OK;
    }
    (void)visit_tell_faults(visit);
    return visit->cycles.count > 0
               ? CODE_UNSETTLED
               : report_unsettled(visit->options,
                                  "nodes keep invalidating each other: 'heddle "
                                  "log' shows what they write");
}

void visit_wait(struct visit *visit, mono_ms deadline)
{
    const mono_ms most = live_now(visit->live) + VISIT_LOOK_MS;
    (void)live_wait(visit->live, deadline < most ? deadline : most);
}

static int wait_for_piece(struct visit *visit)
{
    struct live *live = visit->live;
    const struct piece *piece = visit->piece;
    const mono_ms deadline = live_now(live) + visit->timeout;
    bool is_loading = piece->state == PIECE_LOADING || piece->again;
    while (is_loading) {
        /* A body that declares nodes ends at the deadline, too. */
        live_set_deadline(live,
                          deadline > live_now(live) ? deadline : MONO_NEVER);
        (void)live_step(live);
        live_set_deadline(live, MONO_NEVER);
        is_loading = piece->state == PIECE_LOADING || piece->again;
        if ((is_loading || piece->state == PIECE_FAILED) &&
            (visit_was_stopped() || live_now(live) >= deadline)) {
            return visit_report_wait(visit, "the start of the piece");
        }
        if (is_loading) {
            (void)live_wait(live, deadline);
        }
    }
    end_progress(visit);
    return piece->state == PIECE_FAILED
               ? visit_report(visit->options, NULL, &piece->error)
               : CODE_OK;
}

/* -- Pieces -------------------------------------------------------------- */

/* The file from the root, so that another process finds it, too. */
static void find_file(struct visit *visit, const char *file)
{
    char path[PATH_MAX];
    buf_clear(&visit->file);
    buf_append_text(&visit->file, realpath(file, path) != NULL ? path : file);
}

int visit_load(struct visit *visit, const char *file)
{
    struct buf text = {0};
    find_file(visit, file);
    const int failed = read_own(visit, file, &text);
    int code = CODE_OK;
    if (failed != 0) {
        code = report_system(visit->options, file, failed);
    } else {
        visit_begin_program(visit);
        struct err_detail detail = {0};
        const struct program_source source = {file,
                                              buf_text(&text),
                                              text.length};
        if (program_load(visit->program, &source, &detail) != ERR_OK) {
            code = visit_report(visit->options, NULL, &detail);
        }
    }
    buf_release(&text);
    return code;
}

int visit_start(struct visit *visit, const struct piece_options *options)
{
    struct err_detail detail = {0};
    struct piece *piece = NULL;
    if (piece_start(live_runtime(visit->live), options, &piece, &detail) !=
        ERR_OK) {
        return visit_report(visit->options, NULL, &detail);
    }
    visit->piece = piece_ref(piece);
    return wait_for_piece(visit);
}

/* The file in the note of a piece, or nothing. */
static void read_note(const struct entity *document, struct buf *file)
{
    const struct value about = object_field(document->visible.rest, "piece");
    const struct value note = object_field(about, "note");
    if (value_is_object(note)) {
        file_name_read(file, object_field(note, "file"));
    }
}

/* Of those of its file, that of the piece: the one of the name that it was
 * started with; or the one that the file returns, if that has another name now.
 * A piece that a handler launched is of no other pattern than its own. */
static struct pattern *choose_pattern(const struct visit *visit,
                                      struct value about,
                                      struct err_detail *detail)
{
    struct buf name = {0};
    visit_append(&name, object_field(about, "pattern"));
    struct pattern *pattern =
        program_pattern_named(visit->program, buf_text(&name));
    if (pattern == NULL && value_is_absent(object_field(about, "child"))) {
        pattern = program_pattern(visit->program);
    }
    if (pattern == NULL) {
        (void)err_set(detail,
                      ERR_NOT_FOUND,
                      "%s has no pattern %s",
                      buf_text(&visit->file),
                      buf_text(&name));
    }
    buf_release(&name);
    return pattern;
}

int visit_resume(struct visit *visit, const char *name)
{
    struct entity *document = NULL;
    int code = visit_find(visit, name, &document);
    if (code != CODE_OK) {
        return code;
    }
    struct buf file = {0};
    struct err_detail detail = {0};
    read_note(document, &file);
    if (file.length == 0) {
        (void)err_set(&detail,
                      ERR_NOT_FOUND,
                      "the piece %s was not started from a file, so only its "
                      "stored values can be read: 'heddle get --stored'",
                      name);
        code = visit_report(visit->options, NULL, &detail);
    } else if (access(buf_text(&file), R_OK) != 0) {
        (void)err_set(&detail,
                      ERR_NOT_FOUND,
                      "the pattern of %s was in %s, which cannot be read: name "
                      "its file with 'heddle run FILE --name %s', or read the "
                      "stored value with 'heddle get --stored'",
                      name,
                      buf_text(&file),
                      name);
        code = visit_report(visit->options, NULL, &detail);
    } else {
        code = visit_load(visit, buf_text(&file));
    }
    buf_release(&file);
    if (code != CODE_OK) {
        return code;
    }
    const struct value about = object_field(document->visible.rest, "piece");
    struct pattern *pattern = choose_pattern(visit, about, &detail);
    if (pattern == NULL) {
        return visit_report(visit->options, name, &detail);
    }
    const struct value text = value_text_new(name);
    const struct value note = value_ref(object_field(about, "note"));
    const struct piece_options options = {
        .name = text,
        .pattern = pattern,
        .note = note,
        .must_exist = true,
    };
    code = visit_start(visit, &options);
    value_unref(note);
    value_unref(text);
    return code;
}

int visit_start_for_user(struct visit *visit, const struct entity *document)
{
    const struct value rest = document->visible.rest;
    const struct value about = object_field(rest, "piece");
    if (!value_is_object(about) ||
        value_is_absent(object_field(about, "scopes"))) {
        return CODE_OK;
    }
    const struct text id = value_text(&document->id);
    const size_t front = strlen("piece:");
    struct buf name = {0};
    buf_append(&name, id.at + front, id.length - front);
    int code = visit_resume(visit, buf_text(&name));
    buf_release(&name);
    if (code == CODE_OK) {
        code = visit_settle(visit);
    }
    return code == CODE_OK ? wait_for_piece(visit) : code;
}
