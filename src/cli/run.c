/* heddle run: a piece that lives as long as this process.
 *
 * Creates it or takes it up, prints its result whenever that changes, one line
 * of JSON each, and does for its effects what they ask for. With --watch, a
 * file that has changed ends what runs and starts it again from the store:
 * nodes that are still the same have kept their state there, so a reload is a
 * restart, and costs what that costs. */

#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/display.h"
#include "cli/file_name.h"
#include "cli/input.h"
#include "cli/look.h"
#include "cli/output.h"
#include "cli/report.h"
#include "cli/visit.h"
#include "runtime/task.h"
#include "value/array.h"
#include "value/json.h"
#include "value/object.h"
#include "value/utf8.h"

enum {
    WATCH_MS = 100, /* between two looks at the file */
    EXEC_WORDS_MAX = 64,
};

/* What is compared to see that a file has changed. */
struct stamp {
    struct buf path;
    struct timespec changed;
    ino_t inode;
    off_t size;
};

struct running {
    const struct options *options;
    const char *file;
    struct program_function functions[4];
    struct buf name;        /* of the piece */
    struct value arguments; /* or absent */
    struct visit visit;
    struct visit_look look;
    bool looks;
    bool told;                /* that it is up to date */
    VEC(pid_t) children;      /* that effects have started */
    VEC(struct stamp) stamps; /* of the file and its modules */
    struct visit_texts good;  /* of what has started last */
};

/* -- What effects may do ------------------------------------------------- */

/* The text of an argument: a string as it is, anything else as JSON. */
static void append_argument(struct buf *to, struct value argument)
{
    if (value_is_string(argument)) {
        const struct text text = value_text(&argument);
        buf_append(to, text.at, text.length);
    } else {
        json_write(to, argument, JSON_AS_GIVEN, 0);
    }
}

static void append_arguments(struct buf *to, struct value arguments)
{
    for (uint32_t i = 0; i < array_count(arguments); i++) {
        buf_append_text(to, i > 0 ? " " : "");
        append_argument(to, array_at(arguments, i));
    }
}

/* One line on standard error. */
static void do_notify(void *ctx, struct value arguments)
{
    const struct options *options = ctx;
    struct buf text = {0};
    struct buf line = {0};
    append_arguments(&text, arguments);
    if (option_is_given(options, OPTION_JSON)) {
        struct value object = value_empty_object();
        struct value string = value_string_new(buf_text(&text), text.length);
        object_put_adopt(&object,
                         "notify",
                         value_is_absent(string) ? value_null() : string);
        json_write(&line, object, JSON_AS_GIVEN, 0);
        value_unref(object);
        (void)fprintf(stderr, "%s\n", buf_text(&line));
    } else {
        display_append(&line, buf_text(&text));
        (void)fprintf(stderr,
                      look_has_colour(STDERR_FILENO)
                          ? "\033[1mnotify: %s\033[0m\n"
                          : "notify: %s\n",
                      buf_text(&line));
    }
    buf_release(&line);
    buf_release(&text);
}

/* One line on standard output, between the results. */
static void do_write_line(void *ctx, struct value arguments)
{
    (void)ctx;
    struct buf text = {0};
    append_arguments(&text, arguments);
    output_bytes(buf_text(&text), text.length);
    (void)fflush(stdout);
    buf_release(&text);
}

/* A program of that name with these arguments, without a shell. It goes on by
 * itself; what it says goes where ours goes. */
static void do_exec(void *ctx, struct value arguments)
{
    struct running *running = ctx;
    const struct options *options = running->options;
    struct buf words[EXEC_WORDS_MAX] = {0};
    char *list[EXEC_WORDS_MAX + 1] = {0};
    const uint32_t count = array_count(arguments);
    if (count == 0 || count > EXEC_WORDS_MAX) {
        (void)report_name(options, "exec() takes a program and its arguments");
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        append_argument(&words[i], array_at(arguments, i));
        (void)buf_text(&words[i]); /* terminated */
        list[i] = words[i].at;
    }
    pid_t child = 0;
    const int failed = posix_spawnp(&child, list[0], NULL, NULL, list, environ);
    if (failed != 0) {
        (void)report_system(options, list[0], failed);
    } else {
        vec_push(&running->children, child);
    }
    for (uint32_t i = 0; i < count; i++) {
        buf_release(&words[i]);
    }
}

static enum err refuse_exec(void *ctx,
                            struct value arguments,
                            struct value *result,
                            struct err_detail *detail)
{
    (void)ctx;
    (void)arguments;
    (void)result;
    return err_set(detail,
                   ERR_ARGUMENT,
                   "heddle.exec is not allowed here: heddle run --allow exec");
}

/* Those that have ended, so that nothing is left of them. The programs of
 * tasks are not among them (tasks/exec.c). */
static void reap(struct running *running)
{
    size_t left = 0;
    for (size_t i = 0; i < running->children.count; i++) {
        const pid_t child = running->children.at[i];
        int status = 0;
        if (waitpid(child, &status, WNOHANG) == 0) {
            running->children.at[left++] = child;
        } else if (WIFEXITED(status) && WEXITSTATUS(status) != 0) {
            struct buf line = {0};
            buf_printf(&line,
                       "a program that an effect started (pid %ld) exited with "
                       "%d",
                       (long)child,
                       WEXITSTATUS(status));
            (void)report_name(running->options, buf_text(&line));
            buf_release(&line);
        }
    }
    running->children.count = left;
}

/* Whether a word is in a list with commas. */
static bool is_listed(const char *list, const char *word)
{
    const size_t length = strlen(word);
    while (list != NULL && *list != '\0') {
        const size_t part = strcspn(list, ",");
        if (part == length && memcmp(list, word, length) == 0) {
            return true;
        }
        list += part + (list[part] == ',');
    }
    return false;
}

static int check_allowed(const struct options *options)
{
    const char *list = options->values.allow;
    while (list != NULL && *list != '\0') {
        const size_t part = strcspn(list, ",");
        if (part != strlen("exec") || memcmp(list, "exec", part) != 0) {
            return report_usage(options,
                                "--allow takes only exec, not '%.*s'",
                                (int)part,
                                list);
        }
        list += part + (list[part] == ',');
    }
    return CODE_OK;
}

/* -- The file ------------------------------------------------------------ */

static struct stamp stamp_of(const char *file)
{
    struct stat info = {0};
    if (stat(file, &info) != 0) {
        return (struct stamp){0};
    }
    return (struct stamp){
        .changed = info.st_mtim,
        .inode = info.st_ino,
        .size = info.st_size,
    };
}

static bool stamp_equal(const struct stamp *a, const struct stamp *b)
{
    return a->changed.tv_sec == b->changed.tv_sec &&
           a->changed.tv_nsec == b->changed.tv_nsec && a->inode == b->inode &&
           a->size == b->size;
}

/* -- Running ------------------------------------------------------------- */

/* The piece is called as the pattern that was chosen, or as the file, without
 * folder and ending. */
static int name_piece(struct running *running)
{
    const struct option_values *values = &running->options->values;
    const char *name = values->name != NULL ? values->name : values->pattern;
    if (name != NULL) {
        buf_append_text(&running->name, name);
        return CODE_OK;
    }
    const char *slash = strrchr(running->file, '/');
    const char *base = slash != NULL ? slash + 1 : running->file;
    const char *dot = strrchr(base, '.');
    buf_append(&running->name,
               base,
               dot != NULL && dot != base ? (size_t)(dot - base)
                                          : strlen(base));
    if (utf8_is_valid(buf_text(&running->name), running->name.length)) {
        return CODE_OK;
    }
    struct buf shown = {0};
    utf8_escape(&shown, buf_text(&running->name), running->name.length);
    const int code = report_usage(running->options,
                                  "'%.40s' cannot be the name of a piece: it "
                                  "is not UTF-8; choose a name with --name",
                                  buf_text(&shown));
    buf_release(&shown);
    return code;
}

static void clear_stamps(struct running *running)
{
    VEC_FOREACH (&running->stamps, stamp) {
        buf_release(&stamp->path);
    }
    vec_clear(&running->stamps);
}

static void add_stamp(struct running *running, const char *file)
{
    struct stamp stamp = stamp_of(file);
    buf_append_text(&stamp.path, file);
    vec_push(&running->stamps, stamp);
}

static void add_stamps(struct running *running, const struct visit_texts *texts)
{
    VEC_FOREACH (&texts->at, one) {
        add_stamp(running, buf_text(&one->path));
    }
}

static bool has_changed(const struct running *running)
{
    VEC_FOREACH (&running->stamps, stamp) {
        const struct stamp now = stamp_of(buf_text(&stamp->path));
        /* A file that is being replaced is not there for a moment. */
        if (now.inode != 0 && !stamp_equal(&now, stamp)) {
            return true;
        }
    }
    return false;
}

/* How it was started, for people or as JSON, on standard error. */
static void tell_start(const struct running *running, const char *how)
{
    const struct piece *piece = running->visit.piece;
    const unsigned long long restored = piece->counts.restored;
    const unsigned long long dirty = piece->counts.dirty;
    const unsigned long long unknown = piece->counts.unknown;
    struct buf line = {0};
    if (option_is_given(running->options, OPTION_JSON)) {
        struct value object = value_empty_object();
        object_put_adopt(&object, "piece", value_ref(piece->name));
        object_put_adopt(&object, "resumed", value_bool(!piece->made));
        object_put_number(&object, "restored", restored);
        object_put_number(&object, "dirty", dirty);
        object_put_number(&object, "unknown", unknown);
        json_write(&line, object, JSON_AS_GIVEN, 0);
        value_unref(object);
    } else if (!piece->made) {
        buf_append_text(&line, "heddle: ");
        display_append(&line, buf_text(&running->name));
        buf_printf(&line,
                   " %s: %llu %s restored, %llu dirty, %llu unknown",
                   how,
                   restored,
                   restored == 1 ? "node" : "nodes",
                   dirty,
                   unknown);
    } else {
        buf_append_text(&line, "heddle: ");
        display_append(&line, buf_text(&running->name));
        buf_append_text(&line, " is new");
    }
    (void)fprintf(stderr, "%s\n", buf_text(&line));
    buf_release(&line);
}

/* Whether nodes or handlers are among what has failed. */
static bool has_failed(const struct running *running, bool handlers)
{
    VEC_FOREACH (&running->visit.faults, fault) {
        if (fault->of_handler == handlers) {
            return true;
        }
    }
    return false;
}

/* ": bell/ring and bell/total failed". */
static void append_failed(struct buf *to, const struct running *running)
{
    const size_t count = running->visit.faults.count;
    for (size_t i = 0; i < count; i++) {
        buf_append_text(to, i == 0 ? ": " : i + 1 < count ? ", " : " and ");
        display_append(to, buf_text(&running->visit.faults.at[i].name));
    }
    buf_append_text(to, count > 0 ? " failed" : "");
}

/* {"runs":2,"settled":false,"failed":["bell/ring"]} */
static void tell_runs_as_json(const struct running *running, bool is_settled)
{
    struct value told = value_empty_object();
    struct value failed = value_empty_array();
    VEC_FOREACH (&running->visit.faults, fault) {
        failed =
            array_push_adopt(failed, value_text_new(buf_text(&fault->name)));
    }
    object_put_number(&told, "runs", running->visit.runs);
    if (!is_settled) {
        object_put_adopt(&told, "settled", value_bool(false));
    }
    if (array_count(failed) > 0) {
        object_put_adopt(&told, "failed", value_ref(failed));
    }
    struct buf line = {0};
    json_write(&line, told, JSON_AS_GIVEN, 0);
    (void)fprintf(stderr, "%s\n", buf_text(&line));
    buf_release(&line);
    value_unref(failed);
    value_unref(told);
}

/* How many runs it took, whether everything is up to date now, and what has
 * failed. A handler that failed leaves nothing behind: the rest may be up to
 * date. */
static void tell_runs(const struct running *running, bool is_settled)
{
    const unsigned long long runs = running->visit.runs;
    if (option_is_given(running->options, OPTION_JSON)) {
        tell_runs_as_json(running, is_settled);
        return;
    }
    struct buf failed = {0};
    append_failed(&failed, running);
    (void)fprintf(stderr,
                  "heddle: %s after %llu %s%s\n",
                  is_settled ? "up to date" : "not up to date",
                  runs,
                  runs == 1 ? "run" : "runs",
                  buf_text(&failed));
    buf_release(&failed);
}

/* Once it is at rest for the first time, and everything is up to date. What
 * keeps it from that, a failure or a cycle, is told by itself. */
static void tell_rest(struct running *running)
{
    const struct runtime *runtime = live_runtime(running->visit.live);
    if (running->told || !runtime_is_idle(runtime) ||
        running->visit.faults.count > 0 ||
        sched_is_backing_off(runtime->sched)) {
        return;
    }
    running->told = true;
    tell_runs(running, true);
}

/* For those who look who is there. Nobody needs it: where the file cannot be
 * written, nothing else is wrong. */
static void be_present(struct running *running)
{
    const struct visit *visit = &running->visit;
    struct value about = value_empty_object();
    struct err_detail ignored;
    object_put_text(&about, "command", "run");
    object_put_adopt(&about, "space", value_ref(visit->piece->space->id));
    object_put_adopt(
        &about,
        "pieces",
        array_push_adopt(value_empty_array(), value_ref(visit->piece->name)));
    object_put_adopt(&about, "effects", value_bool(true));
    object_put_adopt(&about, "looks", value_bool(true));
    const enum err err = live_begin_presence(visit->live, about, &ignored);
    (void)err;
    value_unref(about);
}

/* What has started is kept, in case that a later one cannot be. */
static void keep(struct running *running)
{
    struct visit *visit = &running->visit;
    visit_texts_release(&running->good);
    running->good = visit->texts;
    visit->texts = (struct visit_texts){0};
    visit->kept = NULL;
}

/* Opens the directory and starts the piece, from the file or from what was
 * kept of it. */
static int begin(struct running *running,
                 const struct visit_texts *kept,
                 const char *how)
{
    struct visit *visit = &running->visit;
    *visit = (struct visit){
        .functions = running->functions,
        .with_effects = true,
        .handles_events = true,
        .goes_on = option_is_given(running->options, OPTION_WATCH),
        .immediate = option_is_given(running->options, OPTION_ONCE),
        .kept = kept,
    };
    running->told = false;
    int code = visit_open(visit, running->options, DATA_DIR_CREATE);
    if (kept == NULL) { /* before it is read: it may change meanwhile */
        clear_stamps(running);
        add_stamp(running, running->file);
    }
    if (code == CODE_OK) {
        code = visit_load(visit, running->file);
    }
    add_stamps(running, &visit->texts);
    if (code != CODE_OK) {
        return code;
    }
    struct pattern *pattern = NULL;
    code = visit_choose(visit, buf_text(&running->name), &pattern);
    if (code != CODE_OK) {
        return code;
    }
    struct value arguments = VALUE_NONE;
    code = arguments_complete(visit, running->arguments, &arguments);
    if (code != CODE_OK) {
        value_unref(arguments);
        return code;
    }
    struct value note = value_empty_object();
    object_put_adopt(&note, "file", file_name_write(buf_text(&visit->file)));
    if (program_pattern(visit->program) == NULL) { /* one of several */
        object_put_adopt(&note, "pattern", value_ref(pattern->name));
    }
    const struct value name = value_text_new(buf_text(&running->name));
    const struct piece_options options = {
        .name = name,
        .pattern = pattern,
        .arguments = arguments,
        .note = note,
        .replace = option_is_given(running->options, OPTION_REPLACE),
    };
    code = visit_start(visit, &options);
    value_unref(note);
    value_unref(name);
    value_unref(arguments);
    if (code == CODE_OK) {
        tell_start(running, how);
        be_present(running);
        struct place *result = piece_result(visit->piece);
        visit_look_begin(visit, &running->look, result);
        place_unref(result);
        running->looks = true;
        keep(running);
    }
    return code;
}

static int end(struct running *running, int code)
{
    if (running->looks) {
        running->looks = false;
        visit_look_end(&running->look);
    }
    return visit_close(&running->visit, code);
}

/* Whether the file can be run at all: nothing of it stays. */
static enum err try_file(struct running *running, struct err_detail *detail)
{
    const struct program_options options = {
        .host = visit_host(&running->visit),
        .functions = running->functions,
    };
    struct buf text = {0};
    const int failed = input_file(running->file, &text);
    if (failed != 0) {
        return err_set(detail,
                       ERR_IO,
                       "%s: %s",
                       running->file,
                       strerror(failed));
    }
    struct program *program = program_new(&options);
    const struct program_source source = {running->file,
                                          buf_text(&text),
                                          text.length};
    const enum err err = program_load(program, &source, detail);
    program_free(program);
    buf_release(&text);
    return err;
}

/* Instead of one that could not be started, from what was kept of its files. */
static int go_back(struct running *running)
{
    struct visit_texts kept = running->good;
    running->good = (struct visit_texts){0};
    const int code = begin(running, &kept, "resumed");
    visit_texts_release(&kept);
    return code;
}

/* The file has changed: if it can be used, in the place of the old one. What is
 * wrong with a pattern shows when its piece is built; then the one before goes
 * on. */
static int reload(struct running *running)
{
    struct err_detail detail = {0};
    clear_stamps(running);
    add_stamp(running, running->file);
    add_stamps(running, &running->good);
    if (try_file(running, &detail) != ERR_OK) {
        (void)visit_report(running->options, NULL, &detail);
        add_stamps(running, &running->visit.texts);
        visit_texts_release(&running->visit.texts);
        (void)fprintf(stderr, "heddle: the previous version keeps running\n");
        return CODE_OK;
    }
    int code = end(running, CODE_OK);
    if (code != CODE_OK || begin(running, NULL, "restarted") == CODE_OK ||
        visit_was_stopped()) {
        return code;
    }
    code = end(running, CODE_OK);
    (void)fprintf(stderr, "heddle: the previous version keeps running\n");
    return code == CODE_OK ? go_back(running) : code;
}

static void print_result(struct running *running)
{
    if (running->looks && running->look.changed) {
        running->look.changed = false;
        visit_print(running->options,
                    value_is_absent(running->look.seen) ? value_null()
                                                        : running->look.seen);
    }
}

/* A piece can still fail, when the store has seen what it wrote. */
static int check_piece(const struct running *running)
{
    const struct piece *piece = running->visit.piece;
    return piece != NULL && piece->state == PIECE_FAILED
               ? visit_report(running->options, NULL, &piece->error)
               : CODE_OK;
}

static int go_on(struct running *running)
{
    const struct options *options = running->options;
    const bool watches = option_is_given(options, OPTION_WATCH);
    int code = CODE_OK;
    while (code == CODE_OK && !visit_was_stopped()) {
        struct live *live = running->visit.live;
        (void)live_step(live);
        print_result(running);
        (void)visit_tell_faults(&running->visit);
        tell_rest(running);
        reap(running);
        code = check_piece(running);
        if (code == CODE_OK && !output_is_open()) {
            code = CODE_IO;
        }
        if (code == CODE_OK && watches && has_changed(running)) {
            code = reload(running);
            continue;
        }
        if (code == CODE_OK && !visit_was_stopped()) {
            visit_wait(&running->visit,
                       watches ? live_now(live) + WATCH_MS : MONO_NEVER);
        }
    }
    return code;
}

/* The outcomes of tasks, also of those that another process does. */
static int wait_for_tasks(struct running *running)
{
    struct visit *visit = &running->visit;
    const struct runtime *runtime = live_runtime(visit->live);
    const mono_ms deadline = live_now(visit->live) + visit->timeout;
    int code = visit_settle(visit);
    while (code == CODE_OK && tasks_under_way(runtime) > 0) {
        visit_wait(visit, deadline);
        (void)live_step(visit->live);
        if (visit_was_stopped() || live_now(visit->live) >= deadline) {
            return visit_report_wait(visit, "a task");
        }
        if (tasks_under_way(runtime) == 0) {
            code = visit_settle(visit);
        }
    }
    return code;
}

/* --once: the result as it is when everything is up to date, or cannot be
 * because nodes do not settle. */
static int go_once(struct running *running)
{
    const int code = wait_for_tasks(running);
    if (code != CODE_OK && code != CODE_UNSETTLED) {
        return code;
    }
    print_result(running);
    if (code == CODE_UNSETTLED || running->visit.faults.count > 0) {
        tell_runs(running, code == CODE_OK && !has_failed(running, false));
    } else {
        tell_rest(running);
    }
    reap(running);
    return visit_tell_faults(&running->visit) && code == CODE_OK ? CODE_NO
                                                                 : code;
}

int run_run(const struct options *options)
{
    struct running running = {
        .options = options,
        .file = options->operands[0].word,
        .functions = {{.name = "notify", .after = do_notify},
                      {.name = "write_line", .after = do_write_line},
                      {.name = "exec"},
                      {.name = NULL}},
    };
    union {
        const struct options *given;
        void *kept;
    } ctx = {.given = options};
    for (size_t i = 0; i < COUNT_OF(running.functions); i++) {
        running.functions[i].ctx = ctx.kept;
    }
    running.functions[2].ctx = &running;
    if (is_listed(options->values.allow, "exec")) {
        running.functions[2].after = do_exec;
    } else {
        running.functions[2].call = refuse_exec;
    }
    int code = check_allowed(options);
    if (code == CODE_OK) {
        code = arguments_read(options, &running.arguments);
    }
    if (code != CODE_OK) {
        return code;
    }
    code = name_piece(&running);
    if (code == CODE_OK) {
        code = begin(&running, NULL, "resumed");
    }
    if (code == CODE_OK) {
        code = option_is_given(options, OPTION_ONCE) ? go_once(&running)
                                                     : go_on(&running);
    }
    if (running.visit.live != NULL || running.looks) {
        code = end(&running, code);
    }
    clear_stamps(&running);
    vec_release(&running.stamps);
    vec_release(&running.children);
    visit_texts_release(&running.good);
    value_unref(running.arguments);
    buf_release(&running.name);
    return code;
}
