/* A runtime in a poll() loop: lines arrive through a pipe, and computed values
 * are printed.
 *
 * The loop asks the runtime for a descriptor to poll and for a timeout, and
 * steps the runtime when either is due. A runtime starts no thread and no
 * timer; it works only inside hd_runtime_step. */

#define _XOPEN_SOURCE 700

#include <heddle/heddle.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void must(hd_status status, const hd_error *error)
{
    if (status != HD_OK) {
        (void)fprintf(stderr, "%s: %s\n", hd_status_name(status), error->text);
        exit(EXIT_FAILURE);
    }
}

struct program {
    hd_runtime *runtime;
    hd_cell *letters; /* how many have arrived */
    hd_cell *stars;
    int shown;
};

static hd_status draw(hd_run *run, void *context)
{
    const struct program *program = context;
    int64_t letters = 0;
    char stars[33];
    size_t count;
    hd_status status = hd_cell_get_int(program->letters, &letters, NULL);
    (void)run;
    if (status != HD_OK) {
        return status;
    }
    count = letters < 32 ? (size_t)letters : 32;
    for (size_t i = 0; i < count; i++) {
        stars[i] = '*';
    }
    return hd_cell_set_text(program->stars, stars, count, NULL);
}

static void show(void *context, const hd_value *value)
{
    struct program *program = context;
    const char *text = NULL;
    if (value != NULL && hd_value_get_string(value, &text, NULL) == HD_OK) {
        (void)printf("[%s]\n", text);
        program->shown++;
    }
}

static void open_program(struct program *program)
{
    hd_error error;
    hd_node_options options = HD_INIT;
    must(hd_runtime_open(NULL, &program->runtime, &error), &error);
    must(hd_cell_new(program->runtime,
                     "letters",
                     NULL,
                     &program->letters,
                     &error),
         &error);
    must(hd_cell_new(program->runtime, "stars", NULL, &program->stars, &error),
         &error);
    must(hd_cell_set_int(program->letters, 0, &error), &error);
    options.run = draw;
    options.context = program;
    options.writes = &program->stars;
    options.write_count = 1;
    must(hd_computation_new(program->runtime, &options, NULL, &error), &error);
    must(hd_sink_new(program->stars, show, program, NULL, &error), &error);
}

int main(void)
{
    struct program program = {NULL, NULL, NULL, 0};
    int pipe_ends[2];
    int timeout = 0;
    int sent = 0;
    struct pollfd polled[2] = {{0, POLLIN, 0}, {0, POLLIN, 0}};
    hd_error error;
    open_program(&program);
    if (pipe(pipe_ends) != 0) {
        return EXIT_FAILURE;
    }
    must(hd_runtime_fd(program.runtime, &polled[0].fd), &error);
    polled[1].fd = pipe_ends[0];
    for (;;) {
        /* Before the loop sleeps: do what is due now, and get the timeout. */
        must(hd_runtime_step(program.runtime, HD_NOW, &error), &error);
        if (program.shown == 4) {
            break;
        }
        if (program.shown > sent) {
            sent++; /* the next three letters arrive */
            if (write(pipe_ends[1], "abc", 3) != 3) {
                return EXIT_FAILURE;
            }
        }
        must(hd_runtime_timeout(program.runtime, &timeout), &error);
        if (poll(polled, 2, timeout) < 0) {
            return EXIT_FAILURE;
        }
        if ((polled[1].revents & POLLIN) != 0) {
            char letters[16];
            const ssize_t count = read(pipe_ends[0], letters, sizeof letters);
            must(hd_cell_increment(program.letters, count, &error), &error);
        }
    }
    must(hd_runtime_close(program.runtime, HD_NEVER, &error), &error);
    hd_cell_free(program.letters);
    hd_cell_free(program.stars);
    hd_runtime_free(program.runtime);
    (void)close(pipe_ends[0]);
    (void)close(pipe_ends[1]);
    return EXIT_SUCCESS;
}
