/* A task: long work that another process does.
 *
 * A run must not wait, because nothing else would run meanwhile. So the task
 * starts the work when its output is in demand, and returns. The loop of the
 * program waits for the answer, together with the runtime, and finishes the
 * task when the answer arrives. A reader sees "idle", then "running", then
 * "done" or "failed". If the input changes first, the work is cancelled, and
 * its answer is discarded.
 *
 * Usage: task DIRECTORY
 *
 * The outcome is stored in the directory: a second runtime reads it and starts
 * nothing. */

#define _XOPEN_SOURCE 700

#include <heddle/heddle.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void must(hd_status status, const hd_error *error)
{
    if (status != HD_OK) {
        (void)fprintf(stderr, "%s: %s\n", hd_status_name(status), error->text);
        exit(EXIT_FAILURE);
    }
}

/* One job at a time: a process that counts the divisors of a number and writes
 * the count to a pipe. */
struct program {
    hd_runtime *runtime;
    hd_cell *number; /* the input */
    hd_task *task;   /* in progress, or NULL */
    pid_t worker;
    int answer; /* the read end of the pipe, or -1 */
    int begun;
};

static void count_divisors(int64_t number, int to)
{
    int64_t count = 0;
    int64_t i;
    if (number < 1) {
        _exit(EXIT_FAILURE); /* without an answer */
    }
    for (i = 1; i <= number; i++) {
        count += number % i == 0;
    }
    if (number > 1000000) {
        (void)pause(); /* never finishes: the task will be cancelled */
    }
    _exit(write(to, &count, sizeof count) == sizeof count ? EXIT_SUCCESS
                                                          : EXIT_FAILURE);
}

static void begin(hd_task *task, const hd_value *input, void *context)
{
    struct program *program = context;
    int64_t number = 0;
    int ends[2];
    if (hd_value_get_int(input, &number) != HD_OK || pipe(ends) != 0) {
        (void)hd_task_fail(task, HD_TYPE, "it is not a number", NULL);
        hd_task_free(task);
        return;
    }
    program->task = task;
    program->begun++;
    program->worker = fork();
    if (program->worker == 0) { /* must not use the runtime */
        count_divisors(number, ends[1]);
    }
    (void)close(ends[1]);
    program->answer = ends[0];
}

/* The process has ended, with or without an answer. */
static void end_worker(struct program *program)
{
    (void)waitpid(program->worker, NULL, 0);
    (void)close(program->answer);
    program->answer = -1;
    program->task = NULL;
}

static void cancel(hd_task *task, void *context)
{
    struct program *program = context;
    (void)printf("cancelled\n");
    (void)kill(program->worker, SIGKILL);
    end_worker(program);
    hd_task_free(task);
}

/* The pipe is readable, or at its end. */
static void take_answer(struct program *program)
{
    hd_task *task = program->task;
    hd_value *value = NULL;
    hd_error error;
    int64_t count = 0;
    if (read(program->answer, &count, sizeof count) == sizeof count) {
        must(hd_value_new_int(count, &value), &error);
        must(hd_task_finish(task, value, &error), &error);
    } else {
        must(hd_task_fail(task, HD_RANGE, "no divisors", &error), &error);
    }
    end_worker(program);
    hd_value_unref(value);
    hd_task_free(task);
}

static hd_status build(hd_builder *builder, void *context)
{
    struct program *program = context;
    hd_cell *output = NULL;
    hd_task_options options = HD_INIT;
    hd_status status =
        hd_build_state(builder, "number", NULL, &program->number, NULL);
    options.input = program->number;
    options.start = begin;
    options.cancelled = cancel;
    options.context = program;
    if (status == HD_OK) {
        status = hd_build_task(builder, "divisors", &options, &output, NULL);
    }
    if (status == HD_OK) {
        status = hd_build_result(builder, "divisors", output, NULL);
    }
    return status;
}

/* Prints the output of the task. */
static void show(void *context, const hd_value *value)
{
    static const char *const fields[] = {"/state", "/value", "/error/text"};
    size_t i;
    (void)context;
    if (value == NULL) {
        return; /* no number yet */
    }
    for (i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        hd_value *field = NULL;
        char *text = NULL;
        if (hd_value_get(value, fields[i], HD_TERMINATED, &field, NULL) ==
            HD_OK) {
            (void)hd_value_write(field, HD_CANONICAL, 0, &text, NULL);
            (void)printf("%s%s", i > 0 ? " " : "", text);
        }
        hd_text_free(text);
        hd_value_unref(field);
    }
    (void)printf("\n");
}

/* Steps until the runtime is idle and no work is in progress; or, on request,
 * until work is in progress. */
static void loop(struct program *program, int enough)
{
    struct pollfd polled[2] = {{0, POLLIN, 0}, {0, POLLIN, 0}};
    hd_error error;
    must(hd_runtime_fd(program->runtime, &polled[0].fd), &error);
    for (;;) {
        int timeout = 0;
        must(hd_runtime_step(program->runtime, HD_NOW, &error), &error);
        must(hd_runtime_timeout(program->runtime, &timeout), &error);
        if (timeout != 0 && (program->task == NULL || enough)) {
            return;
        }
        polled[1].fd = program->answer; /* -1 is ignored */
        if (poll(polled, 2, timeout) < 0) {
            exit(EXIT_FAILURE);
        }
        if (polled[1].revents != 0) {
            take_answer(program);
        }
    }
}

static void open_program(struct program *program,
                         const char *directory,
                         hd_piece **piece)
{
    hd_runtime_options options = HD_INIT;
    hd_pattern *pattern = NULL;
    hd_cell *output = NULL;
    hd_error error;
    *program = (struct program){0};
    program->answer = -1;
    options.directory = directory;
    must(hd_runtime_open(&options, &program->runtime, &error), &error);
    must(hd_pattern_new("numbers", "1", build, program, NULL, &pattern, &error),
         &error);
    must(hd_piece_start(program->runtime,
                        pattern,
                        "numbers",
                        NULL,
                        piece,
                        &error),
         &error);
    must(hd_runtime_settled(program->runtime, HD_NEVER, &error), &error);
    must(hd_piece_cell(*piece, "/divisors", &output, &error), &error);
    must(hd_sink_new(output, show, NULL, NULL, &error), &error);
    hd_cell_free(output);
    hd_pattern_free(pattern);
}

static void close_program(struct program *program, hd_piece *piece)
{
    hd_error error;
    must(hd_runtime_close(program->runtime, HD_NEVER, &error), &error);
    (void)printf("begun %d times\n", program->begun);
    hd_piece_free(piece);
    hd_runtime_free(program->runtime);
}

int main(int count, char **arguments)
{
    struct program program;
    hd_piece *piece = NULL;
    hd_error error;
    if (count != 2) {
        (void)fprintf(stderr, "Usage: task DIRECTORY\n");
        return EXIT_FAILURE;
    }
    open_program(&program, arguments[1], &piece);
    loop(&program, 0);
    must(hd_cell_set_int(program.number, 360360, &error), &error);
    loop(&program, 0);
    must(hd_cell_set_int(program.number, 1234567, &error), &error);
    loop(&program, 1);
    must(hd_cell_set_int(program.number, -1, &error), &error);
    loop(&program, 0);
    must(hd_cell_set_int(program.number, 97, &error), &error);
    loop(&program, 0);
    close_program(&program, piece);

    (void)printf("and again:\n");
    open_program(&program, arguments[1], &piece);
    loop(&program, 0);
    close_program(&program, piece);
    return EXIT_SUCCESS;
}
