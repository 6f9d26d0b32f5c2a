/* A timer that survives its process. Usage: timer DIRECTORY
 *
 * A document holds the due time, and the receipt of an event records that the
 * timer fired. The event has an id, so it commits once, however many processes
 * find that the timer is due, and however often they are killed. An attempt
 * that does not commit has no effect. So the handler only writes; to act
 * outside the runtime, act when the event is done.
 *
 * The program supplies the clock, which here moves only when the program waits.
 * So three lifetimes of the program pass in no time. */

#include <heddle/heddle.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t the_time = 1000;

static uint64_t now(void *context)
{
    (void)context;
    return the_time;
}

static void wait_until(void *context, uint64_t until)
{
    (void)context;
    if (until != HD_NEVER && until > the_time) {
        the_time = until;
    }
}

static void must(hd_status status, const hd_error *error)
{
    if (status != HD_OK) {
        (void)fprintf(stderr, "%s: %s\n", hd_status_name(status), error->text);
        exit(EXIT_FAILURE);
    }
}

struct life {
    hd_runtime *runtime;
    hd_cell *due;
    hd_cell *bell; /* a stream */
    hd_cell *rung;
};

static hd_status ring(hd_run *run, void *context)
{
    const struct life *life = context;
    (void)run;
    return hd_cell_increment(life->rung, 1, NULL);
}

static void begin(struct life *life, const char *directory)
{
    hd_error error;
    hd_runtime_options options = HD_INIT;
    hd_handler_options handler = HD_INIT;
    options.directory = directory;
    options.now = now;
    options.wait = wait_until;
    must(hd_runtime_open(&options, &life->runtime, &error), &error);
    must(hd_cell_new(life->runtime, "due", NULL, &life->due, &error), &error);
    must(hd_cell_new(life->runtime, "bell", NULL, &life->bell, &error), &error);
    must(hd_cell_new(life->runtime, "rung", NULL, &life->rung, &error), &error);
    handler.run = ring;
    handler.context = life;
    handler.reads = &life->rung;
    handler.read_count = 1;
    must(hd_handler_new(life->bell, &handler, NULL, &error), &error);
}

static void end(struct life *life)
{
    hd_error error;
    must(hd_runtime_close(life->runtime, HD_NEVER, &error), &error);
    hd_cell_free(life->due);
    hd_cell_free(life->bell);
    hd_cell_free(life->rung);
    hd_runtime_free(life->runtime);
}

/* Waits for the due time in the document, and fires. */
static void serve(struct life *life)
{
    hd_error error;
    int64_t due = 0;
    int64_t rung = 0;
    hd_status status = HD_OK;
    hd_send_options options = HD_INIT;
    hd_ticket *ticket = NULL;
    hd_outcome outcome = HD_WAITING;
    must(hd_cell_get_int(life->due, &due, &error), &error);
    while (status == HD_OK && the_time < (uint64_t)due) {
        status = hd_runtime_wait(life->runtime, (uint64_t)due, &error);
    }
    if (status != HD_TIMEOUT) {
        must(status, &error);
    }
    options.id = "1";
    options.session = "timers";
    must(hd_cell_send(life->bell, NULL, &options, &ticket, &error), &error);
    must(hd_runtime_settled(life->runtime, HD_NEVER, &error), &error);
    must(hd_ticket_outcome(ticket, &outcome), &error);
    must(hd_cell_get_int(life->rung, &rung, &error), &error);
    (void)printf("  at %llu %s: %lld in all\n",
                 (unsigned long long)the_time,
                 outcome == HD_DONE ? "it rings" : "it has rung before",
                 (long long)rung);
    hd_ticket_free(ticket);
}

int main(int argc, char **argv)
{
    hd_error error;
    struct life life = {NULL, NULL, NULL, NULL};
    if (argc != 2) {
        (void)fprintf(stderr, "usage: timer DIRECTORY\n");
        return 2;
    }
    (void)printf("the first process sets a timer, and ends\n");
    begin(&life, argv[1]);
    must(hd_cell_set_int(life.due, 60000, &error), &error);
    must(hd_cell_set_int(life.rung, 0, &error), &error);
    end(&life);
    (void)printf("the second process waits for it\n");
    begin(&life, argv[1]);
    serve(&life);
    end(&life);
    (void)printf("the third process does not know that it has rung\n");
    begin(&life, argv[1]);
    serve(&life);
    end(&life);
    return EXIT_SUCCESS;
}
