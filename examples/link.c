/* A link from one space into another: a private board that shows a task of the
 * team.
 *
 * Each space is a separate file. A reader that follows a link sees changes of
 * the target and of the link itself. */

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

static hd_cell *cell_in(hd_runtime *runtime,
                        const char *space,
                        const char *document)
{
    hd_error error;
    hd_cell *cell = NULL;
    hd_address address = HD_INIT;
    address.space = space;
    address.document = document;
    must(hd_cell_new_at(runtime, &address, &cell, &error), &error);
    return cell;
}

static void show(void *context, const hd_value *value)
{
    const char *text = NULL;
    (void)context;
    if (value != NULL && hd_value_get_string(value, &text, NULL) == HD_OK) {
        (void)printf("the board shows: %s\n", text);
    }
}

int main(void)
{
    static const char *const spaces[] = {"home", "team"};
    hd_error error;
    hd_runtime *runtime = NULL;
    hd_runtime_options options = HD_INIT;
    options.spaces = spaces;
    options.space_count = 2;
    must(hd_runtime_open(&options, &runtime, &error), &error);
    hd_cell *board = cell_in(runtime, "home", "board");
    hd_cell *first = cell_in(runtime, "team", "task-1");
    hd_cell *second = cell_in(runtime, "team", "task-2");
    must(hd_cell_set_text(first, "warp", HD_TERMINATED, &error), &error);
    must(hd_cell_set_text(second, "weft", HD_TERMINATED, &error), &error);
    must(hd_cell_set_link(board, first, &error), &error);
    must(hd_sink_new(board, show, NULL, NULL, &error), &error);
    must(hd_runtime_idle(runtime, HD_NEVER, &error), &error);

    must(hd_cell_set_text(first, "warp, done", HD_TERMINATED, &error), &error);
    must(hd_runtime_idle(runtime, HD_NEVER, &error), &error);
    must(hd_cell_set_link(board, second, &error), &error);
    must(hd_runtime_idle(runtime, HD_NEVER, &error), &error);
    must(hd_cell_set_text(first, "nobody looks", HD_TERMINATED, &error),
         &error);
    must(hd_cell_set_text(board, "weft, done", HD_TERMINATED, &error), &error);
    must(hd_runtime_idle(runtime, HD_NEVER, &error), &error);

    char *where = NULL;
    hd_cell *target = NULL;
    must(hd_cell_resolve(board, &target, &error), &error);
    must(hd_cell_text(target, &where, &error), &error);
    (void)printf("it was written to %s\n", where);
    hd_text_free(where);
    hd_cell_free(target);
    must(hd_runtime_close(runtime, HD_NEVER, &error), &error);
    hd_cell_free(board);
    hd_cell_free(first);
    hd_cell_free(second);
    hd_runtime_free(runtime);
    return EXIT_SUCCESS;
}
