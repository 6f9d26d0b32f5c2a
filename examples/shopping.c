/* A pattern with a list: one child per element.
 *
 * A pattern declares a graph. A piece is an instance of it, with its own
 * documents, which persist across restarts. A computation over one element of
 * the list runs again when that element is edited, but not when others are
 * edited or when it moves. */

#include <heddle/heddle.h>
#include <stdio.h>
#include <stdlib.h>

static int lines_computed;

static void must(hd_status status, const hd_error *error)
{
    if (status != HD_OK) {
        (void)fprintf(stderr, "%s: %s\n", hd_status_name(status), error->text);
        exit(EXIT_FAILURE);
    }
}

static hd_value *parse(const char *json)
{
    hd_value *value = NULL;
    hd_error error;
    must(hd_value_parse(json, HD_TERMINATED, &value, &error), &error);
    return value;
}

static hd_status number_at(const hd_value *item,
                           const char *pointer,
                           int64_t *number)
{
    hd_value *found = NULL;
    hd_status status = hd_value_get(item, pointer, HD_TERMINATED, &found, NULL);
    if (status == HD_OK) {
        status = hd_value_get_int(found, number);
    }
    hd_value_unref(found);
    return status;
}

/* Computes the cost of one line of the list. */
static hd_status cost(hd_run *run, hd_cell *element, void *context)
{
    hd_value *item = NULL;
    hd_value *result = NULL;
    int64_t price = 0;
    int64_t count = 0;
    hd_status status = hd_cell_get(element, &item, NULL);
    (void)context;
    lines_computed++;
    if (status == HD_OK) {
        status = number_at(item, "/price", &price);
    }
    if (status == HD_OK) {
        status = number_at(item, "/count", &count);
    }
    if (status == HD_OK) {
        status = hd_value_new_int(price * count, &result);
    }
    if (status == HD_OK) {
        status = hd_run_return(run, result);
    }
    hd_value_unref(result);
    hd_value_unref(item);
    return status;
}

static hd_status add(hd_run *run,
                     const hd_value *sum,
                     const hd_value *line,
                     void *context)
{
    hd_value *result = NULL;
    int64_t a = 0;
    int64_t b = 0;
    hd_status status = hd_value_get_int(sum, &a);
    (void)context;
    if (status == HD_OK) {
        status = hd_value_get_int(line, &b);
    }
    if (status == HD_OK) {
        status = hd_value_new_int(a + b, &result);
    }
    if (status == HD_OK) {
        status = hd_run_return(run, result);
    }
    hd_value_unref(result);
    return status;
}

static hd_status build(hd_builder *builder, void *context)
{
    hd_value *empty = parse("[]");
    hd_value *zero = parse("0");
    hd_cell *items = NULL;
    hd_cell *total = NULL;
    hd_list_options lines = HD_INIT;
    hd_reduce_options sum = HD_INIT;
    hd_status status = hd_build_state(builder, "items", empty, &items, NULL);
    (void)context;
    if (status == HD_OK) {
        lines.list = items;
        lines.run = cost;
        status = hd_build_map(builder, "lines", &lines, &sum.list, NULL);
    }
    if (status == HD_OK) {
        sum.initial = zero;
        sum.run = add;
        status = hd_build_reduce(builder, "total", &sum, &total, NULL);
    }
    if (status == HD_OK) {
        status = hd_build_result(builder, "items", items, NULL);
    }
    if (status == HD_OK) {
        status = hd_build_result(builder, "total", total, NULL);
    }
    hd_value_unref(zero);
    hd_value_unref(empty);
    return status;
}

static void show(hd_piece *piece, const char *what)
{
    hd_error error;
    hd_value *total = NULL;
    int64_t number = 0;
    must(hd_piece_get(piece, "/total", &total, &error), &error);
    must(hd_value_get_int(total, &number), &error);
    (void)printf("%-8s total %lld, %d lines computed\n",
                 what,
                 (long long)number,
                 lines_computed);
    lines_computed = 0;
    hd_value_unref(total);
}

static void change(hd_piece *piece, const char *path, const char *json)
{
    hd_error error;
    hd_cell *cell = NULL;
    hd_value *value = parse(json);
    must(hd_piece_cell(piece, path, &cell, &error), &error);
    must(hd_cell_set(cell, value, &error), &error);
    hd_value_unref(value);
    hd_cell_free(cell);
}

int main(void)
{
    hd_error error;
    hd_runtime *runtime = NULL;
    hd_pattern *pattern = NULL;
    hd_piece *piece = NULL;
    must(hd_runtime_open(NULL, &runtime, &error), &error);
    must(hd_pattern_new("shopping", "1", build, NULL, NULL, &pattern, &error),
         &error);
    must(hd_piece_start(runtime, pattern, "friday", NULL, &piece, &error),
         &error);
    must(hd_runtime_settled(runtime, HD_NEVER, &error), &error);

    change(piece,
           "/items",
           "[{\"price\":2,\"count\":3},{\"price\":5,\"count\":1},"
           "{\"price\":4,\"count\":2}]");
    show(piece, "three");
    change(piece, "/items/1/count", "10");
    show(piece, "edited");
    change(piece,
           "/items",
           "[{\"price\":4,\"count\":2},{\"price\":2,\"count\":3},"
           "{\"price\":5,\"count\":10}]");
    show(piece, "moved");

    must(hd_runtime_close(runtime, HD_NEVER, &error), &error);
    hd_piece_free(piece);
    hd_pattern_free(pattern);
    hd_runtime_free(runtime);
    return EXIT_SUCCESS;
}
