/* "exec": a program with JSON on its standard input, and on its output.
 *
 * A program is in the list until it has ended and was reaped, also after its
 * call has ended or was cancelled: then it was killed. */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "tasks/loop.h"
#include "value/array.h"
#include "value/json.h"
#include "value/object.h"
#include "value/utf8.h"

enum {
    IN,
    OUT,
    ERRORS,
    PIPES,
    CHUNK = 64 * 1024,
    SHOWN_BYTES = 400, /* of what it says on standard error */
};

#define KEY_VARIABLE "HEDDLE_IDEMPOTENCY_KEY="

struct program {
    struct list_node node;
    struct exec_tasks *exec;
    struct task_call *call; /* NULL: it has ended */
    pid_t pid;
    struct loop_watch child; /* readable when it has ended */
    struct loop_watch pipes[PIPES];
    struct loop_timer timer;
    struct buf name;
    struct buf input;
    size_t written;
    struct buf output;
    struct buf errors;
    int64_t timeout;
    int64_t max_bytes;
    bool is_text;
};

/* -- Its end ------------------------------------------------------------- */

static void close_pipes(struct program *program)
{
    for (unsigned i = 0; i < PIPES; i++) {
        loop_close(program->exec->loop, &program->pipes[i]);
    }
    loop_stop_timer(&program->timer);
}

static void program_free(struct program *program)
{
    close_pipes(program);
    loop_close(program->exec->loop, &program->child);
    list_remove(&program->node);
    buf_release(&program->name);
    buf_release(&program->input);
    buf_release(&program->output);
    buf_release(&program->errors);
    mem_free(program, sizeof *program);
}

/* The whole group: what it has started, too. */
static void kill_group(const struct program *program)
{
    (void)kill(-program->pid, SIGKILL);
}

/* The call ends; the process is reaped when it has. */
static struct task_call *take_call(struct program *program)
{
    struct task_call *call = program->call;
    program->call = NULL;
    kill_group(program);
    close_pipes(program);
    return call;
}

static void on_too_late(struct loop_timer *timer)
{
    struct program *program = CONTAINER_OF(timer, struct program, timer);
    task_call_fail(take_call(program),
                   (struct task_failure){.code = "TIMEOUT", .may_retry = true},
                   "'%s' exceeded %lld ms and was killed",
                   buf_text(&program->name),
                   (long long)program->timeout);
}

/* The first lines of standard error, for people; or nothing. */
static const char *said(struct program *program)
{
    struct buf *errors = &program->errors;
    while (errors->length > 0 && (errors->at[errors->length - 1] == '\n' ||
                                  errors->at[errors->length - 1] == ' ')) {
        errors->at[--errors->length] = '\0';
    }
    return buf_text(errors);
}

static void finish(struct program *program, struct task_call *call)
{
    struct value value = VALUE_NONE;
    struct buf why = {0};
    if (program->is_text &&
        !utf8_is_valid(buf_text(&program->output), program->output.length)) {
        buf_append_text(&why, "it is not UTF-8");
    } else if (program->is_text) {
        value = value_string_new(buf_text(&program->output),
                                 program->output.length);
    } else if (program->output.length == 0) {
        value = value_null();
    } else {
        value = loop_read_json(&program->output, &why);
    }
    if (value_is_absent(value)) {
        task_call_fail(call,
                       (struct task_failure){.code = "SYNTAX"},
                       "the output of '%s' is not %s: %s",
                       buf_text(&program->name),
                       program->is_text ? "text" : "JSON",
                       buf_text(&why));
    } else {
        task_call_finish_adopt(call, value);
    }
    buf_release(&why);
}

static void fail(struct program *program, struct task_call *call, int status)
{
    const bool exited = WIFEXITED(status);
    const int number = exited ? WEXITSTATUS(status) : WTERMSIG(status);
    const char *words = said(program);
    struct value more = value_empty_object();
    object_put_adopt(&more, exited ? "exit" : "signal", value_int(number));
    task_call_fail(call,
                   (struct task_failure){
                       .code = exited ? "EXIT" : "SIGNAL",
                       .may_retry = true,
                       .more = more,
                   },
                   "'%s' %s %d%s%s",
                   buf_text(&program->name),
                   exited ? "exited with" : "was killed by signal",
                   number,
                   words[0] != '\0' ? ": " : "",
                   words);
}

static void on_output(struct loop_watch *watch);
static void on_errors(struct loop_watch *watch);

/* It has ended. What it has started and left behind ends with it; what they
 * have printed until then is in the pipes. */
static void on_child(struct loop_watch *watch)
{
    struct program *program = CONTAINER_OF(watch, struct program, child);
    int status = 0;
    kill_group(program);
    if (waitpid(program->pid, &status, WNOHANG) != program->pid) {
        return;
    }
    program->pid = 0;
    while (program->call != NULL && program->pipes[OUT].fd >= 0) {
        on_output(&program->pipes[OUT]);
    }
    while (program->call != NULL && program->pipes[ERRORS].fd >= 0) {
        on_errors(&program->pipes[ERRORS]);
    }
    struct task_call *call = program->call;
    program->call = NULL;
    close_pipes(program);
    if (call != NULL && WIFEXITED(status) && WEXITSTATUS(status) == 0) {
        finish(program, call);
    } else if (call != NULL) {
        fail(program, call, status);
    }
    program_free(program);
}

/* -- Its pipes ----------------------------------------------------------- */

/* A program need not read what it is given. */
static void on_input(struct loop_watch *watch)
{
    struct program *program = CONTAINER_OF(watch, struct program, pipes[IN]);
    const struct buf *input = &program->input;
    const ssize_t count = write(watch->fd,
                                buf_text(input) + program->written,
                                input->length - program->written);
    if (count > 0) {
        program->written += (size_t)count;
    }
    if (program->written == input->length ||
        (count < 0 && errno != EAGAIN && errno != EINTR)) {
        loop_close(program->exec->loop, watch);
    }
}

/* Appends what is there. False: nothing more comes now; then the pipe is closed
 * if nothing more can, or if the program has ended. */
static bool take(struct program *program,
                 struct loop_watch *watch,
                 struct buf *to)
{
    const ssize_t count = read(watch->fd, buf_reserve(to, CHUNK), CHUNK);
    if (count > 0) {
        buf_advance(to, (size_t)count);
        return true;
    }
    if (count == 0 || (errno != EAGAIN && errno != EINTR) ||
        program->pid == 0) {
        loop_close(program->exec->loop, watch);
    }
    return false;
}

static void on_output(struct loop_watch *watch)
{
    struct program *program = CONTAINER_OF(watch, struct program, pipes[OUT]);
    if (take(program, watch, &program->output) &&
        program->output.length > (size_t)program->max_bytes) {
        struct task_call *call = program->call;
        program->call = NULL;
        if (program->pid != 0) {
            kill_group(program);
        }
        close_pipes(program);
        task_call_fail(call,
                       (struct task_failure){.code = "TOO_LARGE"},
                       "'%s' printed more than %lld bytes",
                       buf_text(&program->name),
                       (long long)program->max_bytes);
    }
}

static void on_errors(struct loop_watch *watch)
{
    struct program *program =
        CONTAINER_OF(watch, struct program, pipes[ERRORS]);
    struct buf *errors = &program->errors;
    (void)take(program, watch, errors);
    if (errors->length > SHOWN_BYTES) {
        errors->length = SHOWN_BYTES;
        errors->at[SHOWN_BYTES] = '\0';
    }
}

/* -- The request --------------------------------------------------------- */

static void refuse(struct program *program, const char *code, const char *text)
{
    struct task_call *call = program->call;
    program->call = NULL;
    task_call_fail(call, (struct task_failure){.code = code}, "%s", text);
}

/* A word of a command line ends there. */
static bool has_zero(struct text text)
{
    return memchr(text.at, 0, text.length) != NULL;
}

/* The fields of the request; false: the call has ended. */
static bool read_request(struct program *program)
{
    struct task_call *call = program->call;
    const struct value name = task_call_field(call, "program");
    const struct value output = task_call_field(call, "output");
    const struct value input = task_call_field(call, "stdin");
    if (!value_is_string(name) || value_text(&name).length == 0 ||
        has_zero(value_text(&name))) {
        refuse(program,
               "ARGUMENT",
               "an exec task needs program = \"NAME\", without zero bytes");
        return false;
    }
    buf_append(&program->name, value_text(&name).at, value_text(&name).length);
    if (!loop_is_listed(program->exec->allowed, buf_text(&program->name))) {
        program->call = NULL;
        task_call_fail(call,
                       (struct task_failure){.code = "DENIED"},
                       "the program '%s' is not allowed: run with "
                       "--allow-exec %s" DENIED_STAYS,
                       buf_text(&program->name),
                       buf_text(&program->name));
        return false;
    }
    program->is_text = value_is_text(output, "text");
    if (!program->is_text && !value_is_absent(output) &&
        !value_is_text(output, "json")) {
        refuse(program, "ARGUMENT", "output must be \"json\" or \"text\"");
        return false;
    }
    if (!value_is_absent(input)) {
        json_write(&program->input, input, JSON_AS_GIVEN, 0);
    }
    program->call = NULL; /* whose end the next two tell themselves */
    if (!task_call_number(call, "timeout", 1, INT32_MAX, &program->timeout) ||
        !task_call_number(call,
                          "max_bytes",
                          1,
                          HOST_TASKS_BYTES_MAX,
                          &program->max_bytes)) {
        return false;
    }
    program->call = call;
    return true;
}

/* The words of the command line, each ended by a zero byte. */
static bool read_words(struct program *program,
                       struct buf *words,
                       size_t *count)
{
    const struct value list = task_call_field(program->call, "args");
    buf_append(words, buf_text(&program->name), program->name.length + 1);
    *count = 1;
    if (value_is_absent(list)) {
        return true;
    }
    bool right =
        value_is_array(list) && array_count(list) < HOST_TASKS_ARGUMENTS_MAX;
    for (uint32_t i = 0; right && i < array_count(list); i++) {
        const struct value word = array_at(list, i);
        if (value_is_string(word)) {
            const struct text text = value_text(&word);
            right = !has_zero(text);
            buf_append(words, text.at, text.length);
        } else if (value_kind(word) == VALUE_INT ||
                   value_kind(word) == VALUE_DOUBLE) {
            json_write(words, word, JSON_AS_GIVEN, 0);
        } else {
            right = false;
        }
        buf_append_char(words, '\0');
        ++*count;
    }
    if (!right) {
        refuse(program,
               "ARGUMENT",
               "args must be a list of at most 255 strings and numbers, "
               "without zero bytes");
    }
    return right;
}

/* -- Starting it --------------------------------------------------------- */

/* The descriptors of the child in `theirs`. */
static bool make_pipes(struct program *program, int theirs[PIPES])
{
    bool made = true;
    for (unsigned i = 0; i < PIPES; i++) {
        int ends[2] = {-1, -1};
        made = made && pipe2(ends, O_CLOEXEC) == 0;
        program->pipes[i].fd = ends[i == IN ? 1 : 0];
        theirs[i] = ends[i == IN ? 0 : 1];
        made = made && fcntl(program->pipes[i].fd, F_SETFL, O_NONBLOCK) == 0;
    }
    return made;
}

/* Ours, and the key. `list` has room for all. */
static void make_environment(const struct task_call *call,
                             struct buf *key,
                             struct buf *list)
{
    const struct text text = value_text(&call->key);
    buf_append_text(key, KEY_VARIABLE);
    buf_append(key, text.at, text.length);
    for (char **at = environ; *at != NULL; at++) {
        if (strncmp(*at, KEY_VARIABLE, sizeof KEY_VARIABLE - 1) != 0) {
            buf_append(list, at, sizeof *at);
        }
    }
    char *const end[] = {key->at, NULL};
    buf_append(list, end, sizeof end);
}

/* As a group of its own, with the usual signals. An errno. */
static int spawn(struct program *program,
                 const int theirs[PIPES],
                 char *const *words,
                 char *const *environment)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none;
    sigset_t usual;
    (void)sigemptyset(&none);
    (void)sigfillset(&usual);
    (void)posix_spawn_file_actions_init(&actions);
    (void)posix_spawnattr_init(&attributes);
    for (unsigned i = 0; i < PIPES; i++) {
        (void)posix_spawn_file_actions_adddup2(&actions, theirs[i], (int)i);
    }
    (void)posix_spawnattr_setflags(
        &attributes,
        POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    (void)posix_spawnattr_setpgroup(&attributes, 0);
    (void)posix_spawnattr_setsigdefault(&attributes, &usual);
    (void)posix_spawnattr_setsigmask(&attributes, &none);
    const int failed = posix_spawnp(&program->pid,
                                    words[0],
                                    &actions,
                                    &attributes,
                                    words,
                                    environment);
    (void)posix_spawn_file_actions_destroy(&actions);
    (void)posix_spawnattr_destroy(&attributes);
    return failed;
}

/* An errno. */
static int run(struct program *program, struct buf *words, size_t count)
{
    struct buf list = {0};
    struct buf environment = {0};
    struct buf key = {0};
    int theirs[PIPES] = {-1, -1, -1};
    char *at = words->at;
    for (size_t i = 0; i < count; i++) {
        buf_append(&list, &at, sizeof at);
        at += strlen(at) + 1;
    }
    char *const none = NULL;
    buf_append(&list, &none, sizeof none);
    make_environment(program->call, &key, &environment);
    int failed = make_pipes(program, theirs) ? 0 : errno;
    if (failed == 0) {
        failed = spawn(program,
                       theirs,
                       (char *const *)(void *)list.at,
                       (char *const *)(void *)environment.at);
    }
    for (unsigned i = 0; i < PIPES; i++) {
        if (theirs[i] >= 0) {
            (void)close(theirs[i]);
        }
    }
    buf_release(&list);
    buf_release(&environment);
    buf_release(&key);
    return failed;
}

/* The call itself: libraries have a function for it only since glibc 2.36. */
static int process_descriptor(pid_t pid)
{
    return (int)syscall(SYS_pidfd_open, pid, 0);
}

/* Waits for it and its pipes. False: the process has no descriptor left. */
static bool watch(struct program *program)
{
    struct loop *loop = program->exec->loop;
    program->child.fd = process_descriptor(program->pid);
    return loop_watch(loop, &program->child, false) &&
           loop_watch(loop, &program->pipes[IN], true) &&
           loop_watch(loop, &program->pipes[OUT], false) &&
           loop_watch(loop, &program->pipes[ERRORS], false);
}

static void give_up(struct program *program, int failed)
{
    struct task_call *call = program->call;
    program->call = NULL;
    if (program->pid > 0) {
        kill_group(program);
        (void)waitpid(program->pid, NULL, 0);
    }
    task_call_fail(call,
                   (struct task_failure){
                       .code = failed == ENOENT ? "NOT_FOUND" : "START",
                       .may_retry = failed != ENOENT && failed != EACCES,
                   },
                   "cannot start '%s': %s",
                   buf_text(&program->name),
                   strerror(failed));
    program_free(program);
}

static void start(void *ctx, struct task_call *call)
{
    struct exec_tasks *exec = ctx;
    struct program *program = mem_alloc_zero(sizeof *program);
    *program = (struct program){
        .exec = exec,
        .call = call,
        .child = {.fd = -1, .ready = on_child},
        .pipes = {{.fd = -1, .ready = on_input},
                  {.fd = -1, .ready = on_output},
                  {.fd = -1, .ready = on_errors}},
        .timer = {.ran_out = on_too_late},
        .timeout = HOST_TASKS_EXEC_MS,
        .max_bytes = HOST_TASKS_BYTES,
    };
    list_node_init(&program->node);
    list_push_back(&exec->programs, &program->node);
    call->user = program;
    struct buf words = {0};
    size_t count = 0;
    if (!read_request(program) || !read_words(program, &words, &count)) {
        buf_release(&words);
        program_free(program);
        return;
    }
    const int failed = run(program, &words, count);
    buf_release(&words);
    if (failed != 0) {
        program->pid = 0;
        give_up(program, failed);
    } else if (!watch(program)) {
        give_up(program, EMFILE);
    } else {
        loop_set_timer(exec->loop, &program->timer, (mono_ms)program->timeout);
    }
}

static void cancel(void *ctx, struct task_call *call)
{
    (void)ctx;
    (void)take_call(call->user);
}

void exec_tasks_begin(struct exec_tasks *exec, struct loop *loop)
{
    exec->loop = loop;
    exec->kind = (struct task_kind){
        .name = "exec",
        .start = start,
        .cancel = cancel,
        .ctx = exec,
    };
    list_init(&exec->programs);
}

void exec_tasks_end(struct exec_tasks *exec)
{
    while (!list_is_empty(&exec->programs)) {
        struct program *program =
            CONTAINER_OF(list_first(&exec->programs), struct program, node);
        kill_group(program);
        (void)waitpid(program->pid, NULL, 0);
        program_free(program);
    }
}
