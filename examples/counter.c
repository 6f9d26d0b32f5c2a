/* A counter, a computation that doubles it, and a sink. Build it with
 *
 *   cc counter.c $(pkg-config --cflags --libs heddle) -o counter
 *
 * A computation declares what it writes; its reads are tracked. It runs when
 * its output is in demand and something that it read has changed: here, once
 * per step. */

#include <heddle/heddle.h>
#include <stdio.h>
#include <stdlib.h>

static void must(hd_status status, const hd_error *error)
{
    if (status != HD_OK) {
        (void)fprintf(stderr, "%s: %s\n", hd_status_name(status), error->text);
        exit(EXIT_FAILURE);
    }
}

struct cells {
    hd_cell *count;
    hd_cell *twice;
};

static hd_status compute_twice(hd_run *run, void *context)
{
    const struct cells *cells = context;
    int64_t count = 0;
    hd_status status = hd_cell_get_int(cells->count, &count, NULL);
    (void)run;
    return status != HD_OK ? status
                           : hd_cell_set_int(cells->twice, 2 * count, NULL);
}

static void show(void *context, const hd_value *value)
{
    int64_t twice = 0;
    (void)context;
    if (value != NULL && hd_value_get_int(value, &twice) == HD_OK) {
        (void)printf("twice is %lld\n", (long long)twice);
    }
}

int main(void)
{
    hd_runtime *runtime = NULL;
    hd_error error;
    struct cells cells = {NULL, NULL};
    must(hd_runtime_open(NULL, &runtime, &error), &error);
    must(hd_cell_new(runtime, "count", NULL, &cells.count, &error), &error);
    must(hd_cell_new(runtime, "twice", NULL, &cells.twice, &error), &error);
    must(hd_cell_set_int(cells.count, 0, &error), &error);

    hd_node_options options = HD_INIT;
    options.name = "twice";
    options.run = compute_twice;
    options.context = &cells;
    options.writes = &cells.twice;
    options.write_count = 1;
    must(hd_computation_new(runtime, &options, NULL, &error), &error);
    must(hd_sink_new(cells.twice, show, NULL, NULL, &error), &error);

    for (int i = 0; i < 3; i++) {
        must(hd_runtime_idle(runtime, HD_NEVER, &error), &error);
        must(hd_cell_increment(cells.count, 1, &error), &error);
    }
    must(hd_runtime_close(runtime, HD_NEVER, &error), &error);
    hd_cell_free(cells.count);
    hd_cell_free(cells.twice);
    hd_runtime_free(runtime);
    return EXIT_SUCCESS;
}
