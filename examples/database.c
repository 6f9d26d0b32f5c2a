/* Heddle in a program with its own database. Usage: database DIRECTORY
 *
 * The program has functions with names that the library uses internally, its
 * own loop, and its own SQLite connection, in the same process. An effect
 * copies computed values into that database. */

#include <heddle/heddle.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

/* -- The program's own names ---------------------------------------------- */

struct graph {
    int nodes;
};

int graph_init(struct graph *graph);
int sched_step(struct graph *graph);

int graph_init(struct graph *graph)
{
    graph->nodes = 0;
    return 0;
}

int sched_step(struct graph *graph)
{
    return ++graph->nodes;
}

/* -- The program ---------------------------------------------------------- */

struct program {
    hd_runtime *runtime;
    hd_cell *celsius;
    hd_cell *fahrenheit;
    sqlite3 *database;
};

static void must(hd_status status, const hd_error *error)
{
    if (status != HD_OK) {
        (void)fprintf(stderr, "%s: %s\n", hd_status_name(status), error->text);
        exit(EXIT_FAILURE);
    }
}

static void must_sql(struct program *program, const char *sql)
{
    if (sqlite3_exec(program->database, sql, NULL, NULL, NULL) != SQLITE_OK) {
        (void)fprintf(stderr, "%s\n", sqlite3_errmsg(program->database));
        exit(EXIT_FAILURE);
    }
}

static hd_status convert(hd_run *run, void *context)
{
    const struct program *program = context;
    double celsius = 0;
    hd_status status = hd_cell_get_double(program->celsius, &celsius, NULL);
    (void)run;
    return status != HD_OK ? status
                           : hd_cell_set_double(program->fahrenheit,
                                                celsius * 9 / 5 + 32,
                                                NULL);
}

static void keep(void *context, const hd_value *value)
{
    struct program *program = context;
    double fahrenheit = 0;
    char sql[100];
    if (value != NULL && hd_value_get_double(value, &fahrenheit) == HD_OK) {
        (void)snprintf(sql,
                       sizeof sql,
                       "INSERT INTO reading VALUES (%.1f)",
                       fahrenheit);
        must_sql(program, sql);
    }
}

static int print_row(void *context, int count, char **values, char **names)
{
    (void)context;
    (void)count;
    (void)names;
    (void)printf("%s\n", values[0]);
    return 0;
}

static void open_all(struct program *program, const char *directory)
{
    hd_error error;
    hd_runtime_options options = HD_INIT;
    hd_node_options node = HD_INIT;
    char path[1000];
    (void)snprintf(path, sizeof path, "%s/own.sqlite", directory);
    if (sqlite3_open(path, &program->database) != SQLITE_OK) {
        exit(EXIT_FAILURE);
    }
    must_sql(program, "CREATE TABLE reading (fahrenheit REAL)");
    options.directory = directory;
    must(hd_runtime_open(&options, &program->runtime, &error), &error);
    must(hd_cell_new(program->runtime,
                     "celsius",
                     NULL,
                     &program->celsius,
                     &error),
         &error);
    must(hd_cell_new(program->runtime,
                     "fahrenheit",
                     NULL,
                     &program->fahrenheit,
                     &error),
         &error);
    must(hd_cell_set_double(program->celsius, 20, &error), &error);
    node.run = convert;
    node.context = program;
    node.writes = &program->fahrenheit;
    node.write_count = 1;
    must(hd_computation_new(program->runtime, &node, NULL, &error), &error);
    must(hd_sink_new(program->fahrenheit, keep, program, NULL, &error), &error);
}

int main(int argc, char **argv)
{
    struct program program = {NULL, NULL, NULL, NULL};
    struct graph graph;
    hd_error error;
    if (argc != 2 || graph_init(&graph) != 0) {
        (void)fprintf(stderr, "usage: database DIRECTORY\n");
        return 2;
    }
    open_all(&program, argv[1]);
    while (sched_step(&graph) <= 3) { /* the program's loop */
        must(hd_runtime_idle(program.runtime, HD_NEVER, &error), &error);
        must(hd_cell_increment_double(program.celsius, 2.5, &error), &error);
    }
    must(hd_runtime_close(program.runtime, HD_NEVER, &error), &error);
    (void)sqlite3_exec(program.database,
                       "SELECT fahrenheit FROM reading",
                       print_row,
                       NULL,
                       NULL);
    hd_cell_free(program.celsius);
    hd_cell_free(program.fahrenheit);
    hd_runtime_free(program.runtime);
    (void)sqlite3_close(program.database);
    (void)printf("own names were called %d times\n", graph.nodes);
    return EXIT_SUCCESS;
}
