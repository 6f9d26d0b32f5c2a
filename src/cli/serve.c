/* heddle serve: the spaces of a data directory, over the network.
 *
 * The main thread waits for signals; the server has threads of its own. SIGTERM
 * and SIGINT drain and end it, SIGHUP reloads certificates, keys, owners and
 * origins.
 *
 * With --run, a child process per file runs `heddle run FILE` on the same
 * directory. A process of its own, because a pattern that runs out of memory or
 * loops must not take the server with it. A child that ends is started again,
 * after a pause that grows while it keeps failing. */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/look.h"
#include "cli/output.h"
#include "cli/report.h"
#include "heddle/heddle.h"
#include "host/system.h"
#include "server/config.h"
#include "value/json.h"
#include "value/object.h"

enum {
    DRAIN_MS = 10000,
    CHILD_STOP_MS = 5000,
    CHILD_LOOK_MS = 5,
    CHILD_PAUSE_MS = 1000, /* before a restart; doubles, */
    CHILD_PAUSE_MAX_MS = 30000,
    CHILD_WELL_MS = 10000, /* after which a child counts as well */
    LOOK_MS = 500,
};

struct child {
    const char *file;
    pid_t pid; /* 0: not running */
    mono_ms started;
    mono_ms again; /* when to start it */
    mono_ms pause;
};

struct serving {
    const struct options *options;
    struct config config;
    struct log log;
    struct server *server;
    struct child children[CONFIG_RUNS_MAX];
};

static mono_ms now_ms(void)
{
    struct host *host = system_host();
    return host->now(host);
}

/* -- The log ------------------------------------------------------------- */

static void log_text(void *ctx, enum log_level level, const char *line)
{
    (void)ctx;
    (void)fprintf(stderr, "heddle: %s: %s\n", log_level_name(level), line);
}

/* One object per line. Called by several threads: one call of the stream. */
static void log_json(void *ctx, enum log_level level, const char *line)
{
    struct value object = object_new_adopt(NULL, 0);
    struct buf text = {0};
    (void)ctx;
    object_put_number(&object, "time", system_wall_ms());
    object_put_text(&object, "level", log_level_name(level));
    object_put_text(&object, "message", line);
    json_write(&text, object, JSON_AS_GIVEN, 0);
    (void)fprintf(stderr, "%s\n", buf_text(&text));
    buf_release(&text);
    value_unref(object);
}

static void begin_log(struct serving *serving)
{
    const bool is_text =
        serving->config.log == CONFIG_LOG_TEXT ||
        (serving->config.log == CONFIG_LOG_AUTO && isatty(STDERR_FILENO) != 0);
    serving->log = (struct log){
        .fn = is_text ? log_text : log_json,
        .level = LOG_LEVEL_INFO,
    };
    serving->config.options.log = &serving->log;
    serving->config.options.version = HD_VERSION_TEXT;
}

/* -- Children ------------------------------------------------------------ */

/* In the child, between fork and exec: only what a signal handler may call. The
 * process ends with the server, also if that is killed: otherwise each restart
 * would leave another one behind. */
static void become(char *const words[], pid_t server)
{
    sigset_t none;
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    const int sink = open("/dev/null", O_WRONLY);
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    if (getppid() == server && dup2(sink, STDOUT_FILENO) >= 0) {
        (void)execve(words[0], words, environ);
    }
    _exit(EXIT_FAILURE);
}

static void start_child(struct serving *serving, struct child *child)
{
    char program[] = "/proc/self/exe";
    char run[] = "run";
    char dir[] = "--dir";
    struct buf file = {0};
    struct buf folder = {0};
    buf_append_text(&file, child->file);
    buf_append_text(&folder, serving->config.options.folder);
    char *words[] = {program, run, file.at, dir, folder.at, NULL};
    const pid_t server = getpid();
    child->started = now_ms();
    child->pid = fork();
    if (child->pid == 0) {
        become(words, server);
    }
    if (child->pid < 0) {
        child->pid = 0;
        child->again = child->started + CHILD_PAUSE_MAX_MS;
        log_write(&serving->log,
                  LOG_LEVEL_ERROR,
                  "cannot start a process for '%s'",
                  child->file);
    }
    buf_release(&file);
    buf_release(&folder);
}

static void child_ended(struct serving *serving, struct child *child)
{
    const mono_ms now = now_ms();
    if (now >= child->started + CHILD_WELL_MS || child->pause == 0) {
        child->pause = CHILD_PAUSE_MS;
    }
    child->pid = 0;
    child->again = now + child->pause;
    log_write(&serving->log,
              LOG_LEVEL_WARNING,
              "the process for '%s' has ended; starting it again in %u ms",
              child->file,
              (unsigned)child->pause);
    child->pause = child->pause * 2 < CHILD_PAUSE_MAX_MS ? child->pause * 2
                                                         : CHILD_PAUSE_MAX_MS;
}

static void step_children(struct serving *serving)
{
    for (size_t i = 0; i < serving->config.run_count; i++) {
        struct child *child = &serving->children[i];
        int status;
        if (child->pid != 0 && waitpid(child->pid, &status, WNOHANG) > 0) {
            child_ended(serving, child);
        }
        if (child->pid == 0 && now_ms() >= child->again) {
            start_child(serving, child);
        }
    }
}

static void stop_children(struct serving *serving)
{
    const mono_ms deadline = now_ms() + CHILD_STOP_MS;
    for (size_t i = 0; i < serving->config.run_count; i++) {
        if (serving->children[i].pid != 0) {
            (void)kill(serving->children[i].pid, SIGTERM);
        }
    }
    for (size_t i = 0; i < serving->config.run_count; i++) {
        struct child *child = &serving->children[i];
        int status;
        while (child->pid != 0 && waitpid(child->pid, &status, WNOHANG) == 0) {
            (void)poll(NULL, 0, CHILD_LOOK_MS);
            if (now_ms() >= deadline) {
                (void)kill(child->pid, SIGKILL);
            }
        }
    }
}

/* -- Settings ------------------------------------------------------------ */

static enum err set_flags(const struct options *options,
                          struct config *config,
                          struct err_detail *detail)
{
    enum err err = ERR_OK;
    if (options->values.listen != NULL) {
        err = config_set(config, "listen", options->values.listen, detail);
    }
    if (err == ERR_OK && option_is_given(options, OPTION_INSECURE_LOCAL)) {
        err = config_set(config, "insecure-local", "true", detail);
    }
    for (size_t i = 0; err == ERR_OK && i < options->origin_count; i++) {
        err = config_set(config, "allow-origin", options->origins[i], detail);
    }
    for (size_t i = 0; err == ERR_OK && i < options->run_count; i++) {
        err = config_set(config, "run", options->runs[i], detail);
    }
    for (size_t i = 0; err == ERR_OK && i < options->setting_count; i++) {
        struct buf name = {0};
        const char *equals = strchr(options->settings[i], '=');
        if (equals == NULL) {
            return err_set(detail, ERR_ARGUMENT, "--set takes NAME=VALUE");
        }
        buf_append(&name,
                   options->settings[i],
                   (size_t)(equals - options->settings[i]));
        err = config_set(config, buf_text(&name), equals + 1, detail);
        buf_release(&name);
    }
    return err;
}

static enum err read_config(const struct options *options,
                            struct config *config,
                            struct err_detail *detail)
{
    enum err err = ERR_OK;
    config_init(config);
    config->options.folder = look_folder(options);
    config->options.port = 8800;
    if (options->values.config != NULL) {
        err = config_read_file(config, options->values.config, detail);
    }
    if (err == ERR_OK) {
        err = config_read_environment(config, getenv, detail);
    }
    return err == ERR_OK ? set_flags(options, config, detail) : err;
}

/* -- Serving ------------------------------------------------------------- */

static void say_where(const struct serving *serving)
{
    const struct server_options *options = &serving->config.options;
    const char *address =
        options->address != NULL ? options->address : "127.0.0.1";
    const bool is_v6 = strchr(address, ':') != NULL;
    const char *scheme = options->certificate != NULL ? "wss" : "ws";
    if (option_is_given(serving->options, OPTION_JSON)) {
        struct value object = object_new_adopt(NULL, 0);
        struct buf url = {0};
        buf_printf(&url,
                   "%s://%s%s%s:%u",
                   scheme,
                   is_v6 ? "[" : "",
                   address,
                   is_v6 ? "]" : "",
                   server_port(serving->server));
        object_put_text(&object, "url", buf_text(&url));
        object_put_text(&object, "audience", server_audience(serving->server));
        look_print_adopt(serving->options, object);
        buf_release(&url);
    } else {
        (void)printf("serving %s at %s://%s%s%s:%u\n",
                     options->folder,
                     scheme,
                     is_v6 ? "[" : "",
                     address,
                     is_v6 ? "]" : "",
                     server_port(serving->server));
    }
    (void)fflush(stdout);
    if (options->is_insecure) {
        log_write(&serving->log,
                  LOG_LEVEL_WARNING,
                  "insecure-local: every process on this machine can read and "
                  "write every space");
    }
}

static void reload(struct serving *serving)
{
    struct config fresh;
    struct err_detail detail = {0};
    enum err err = read_config(serving->options, &fresh, &detail);
    if (err == ERR_OK) {
        fresh.options.log = &serving->log;
        err = server_reload(serving->server, &fresh.options, &detail);
    }
    if (err == ERR_OK) {
        log_write(&serving->log, LOG_LEVEL_INFO, "reloaded");
    } else {
        log_write(&serving->log,
                  LOG_LEVEL_ERROR,
                  "not reloaded, everything is as before: %s",
                  detail.text);
    }
    config_release(&fresh);
}

static void wait_for_the_end(struct serving *serving, const sigset_t *signals)
{
    const struct timespec look = {.tv_nsec = LOOK_MS * 1000 * 1000L};
    const struct timespec never = {.tv_sec = 3600};
    while (true) {
        step_children(serving);
        const int number =
            sigtimedwait(signals,
                         NULL,
                         serving->config.run_count > 0 ? &look : &never);
        if (number == SIGHUP) {
            reload(serving);
        } else if (number == SIGTERM || number == SIGINT) {
            return;
        }
    }
}

/* Signals are blocked in all threads: the main one takes it. */
static void end_soon(void *ctx)
{
    (void)ctx;
    (void)kill(getpid(), SIGTERM);
}

static int serve(struct serving *serving)
{
    struct err_detail detail = {0};
    sigset_t signals;
    (void)sigemptyset(&signals);
    (void)sigaddset(&signals, SIGTERM);
    (void)sigaddset(&signals, SIGINT);
    (void)sigaddset(&signals, SIGHUP);
    (void)sigprocmask(SIG_BLOCK, &signals, NULL); /* for all threads */
    (void)signal(SIGPIPE, SIG_IGN);
    serving->config.options.asked_to_end = end_soon;
    if (server_open(&serving->config.options, &serving->server, &detail) !=
        ERR_OK) {
        return report_detail(serving->options, NULL, &detail);
    }
    for (size_t i = 0; i < serving->config.run_count; i++) {
        serving->children[i].file = serving->config.runs[i];
    }
    say_where(serving);
    wait_for_the_end(serving, &signals);
    log_write(&serving->log, LOG_LEVEL_INFO, "draining");
    stop_children(serving);
    server_drain(serving->server, DRAIN_MS);
    server_close(serving->server);
    log_write(&serving->log, LOG_LEVEL_INFO, "stopped");
    return CODE_OK;
}

static int check(struct serving *serving)
{
    struct err_detail detail = {0};
    if (server_check(&serving->config.options, &detail) != ERR_OK) {
        return report_detail(serving->options, NULL, &detail);
    }
    output_word(serving->options, "settings", "valid");
    return CODE_OK;
}

int serve_run(const struct options *options)
{
    struct serving *serving = mem_alloc_zero(sizeof *serving);
    struct err_detail detail = {0};
    int code;
    serving->options = options;
    if (read_config(options, &serving->config, &detail) != ERR_OK) {
        code = report_detail(options, NULL, &detail);
    } else {
        begin_log(serving);
        code = option_is_given(options, OPTION_CHECK) ? check(serving)
                                                      : serve(serving);
    }
    config_release(&serving->config);
    mem_free(serving, sizeof *serving);
    return code;
}
