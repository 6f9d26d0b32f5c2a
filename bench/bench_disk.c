/* Sizes on disk: what an element of a list, a piece and a node cost in a data
 * directory of more and more of them, by the command of the release. A figure
 * is the time that the command spends on a CPU, divided by how many there are:
 * a curve that bends upwards is work that grows faster than the data. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/check.h"
#include "lib/bench.h"
#include "lib/command.h"

enum {
    PATH_SIZE = 300,
    LAUNCHED = 1000, /* pieces by one event */
};

static const unsigned sizes[] = {100, 1000, 10000, 100000};

/* The command and a folder for its data, both of this run. */
struct desk {
    struct bench *bench;
    char heddle[PATH_SIZE];
    char folder[64];
    char data[PATH_SIZE];
    char file[PATH_SIZE];
};

static void stop(const char *what)
{
    (void)fprintf(stderr, "bench_disk: %s\n", what);
    exit(1);
}

static double run(const char *const *arguments)
{
    struct command_cost cost;
    if (!command_run(arguments, &cost)) {
        stop(arguments[1]);
    }
    return cost.on_cpu;
}

/* The first word after the program, --dir, and up to four operands. */
static double heddle(const struct desk *desk,
                     const char *word,
                     const char *first,
                     const char *second,
                     const char *third)
{
    const char *const arguments[] =
        {desk->heddle, word, "--dir", desk->data, first, second, third, NULL};
    return run(arguments);
}

/* A piece "p" of the pattern, in which %u is the size; what its start costs. */
static double desk_begin(struct desk *desk, const char *lua, unsigned size)
{
    (void)snprintf(desk->data, sizeof desk->data, "%s/data", desk->folder);
    (void)snprintf(desk->file, sizeof desk->file, "%s/p.lua", desk->folder);
    FILE *file = fopen(desk->file, "w");
    if (file == NULL) {
        stop("a pattern cannot be written");
    }
    const char *mark = strstr(lua, "SIZE");
    if (mark == NULL) {
        (void)fputs(lua, file);
    } else {
        (void)fprintf(file,
                      "%.*s%u%s",
                      (int)(mark - lua),
                      lua,
                      size,
                      mark + strlen("SIZE"));
    }
    if (fclose(file) != 0) {
        stop("a pattern cannot be written");
    }
    const char *const arguments[] = {desk->heddle,
                                     "run",
                                     "--once",
                                     "--timeout",
                                     "600000",
                                     "--dir",
                                     desk->data,
                                     desk->file,
                                     NULL};
    return run(arguments);
}

static void desk_end(struct desk *desk)
{
    static const char *const names[] = {"main.db",
                                        "main.db-wal",
                                        "main.db-shm",
                                        "main.db-lock"};
    char path[PATH_SIZE + 32];
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        (void)snprintf(path, sizeof path, "%s/%s", desk->data, names[i]);
        (void)unlink(path);
    }
    (void)snprintf(path, sizeof path, "%s/run", desk->data);
    (void)rmdir(path); /* where commands find each other */
    (void)rmdir(desk->data);
    (void)unlink(desk->file);
}

/* One row, of `size` things that took so long together. */
static void add(struct desk *desk,
                const char *format,
                unsigned size,
                double ns,
                double bar_ns)
{
    char number[16];
    struct bench_row row = {.unit = "ns", .ours = ns / size};
    (void)snprintf(number,
                   sizeof number,
                   size < 1000 ? "%u" : "%u,%03u",
                   size < 1000 ? size : size / 1000,
                   size % 1000);
    const char *mark = strstr(format, "SIZE");
    CHECK(mark != NULL);
    (void)snprintf(row.name,
                   sizeof row.name,
                   "%.*s%s%s",
                   (int)(mark - format),
                   format,
                   number,
                   mark + strlen("SIZE"));
    (void)snprintf(row.note, sizeof row.note, "%.2f s in all", ns / 1e9);
    if (bar_ns > 0) {
        row.bar = (struct bench_bar){BENCH_AT_MOST, bar_ns};
    }
    (void)fprintf(stderr, "%s: %s\n", desk->bench->name, row.name);
    bench_add(desk->bench, &row);
}

/* -- Lists --------------------------------------------------------------- */

static const char list_lua[] =
    "local heddle = require 'heddle'\n"
    "return heddle.pattern('p', function(p)\n"
    "  local items = p:state('items', heddle.array{})\n"
    "  local doubled = p:map(items, function(x) return x * 2 end,\n"
    "    { name = 'doubled' })\n"
    "  local fill = p:handler('fill', function(n)\n"
    "    local t = {}\n"
    "    for i = 1, n do t[i] = i end\n"
    "    items:set(heddle.array(t))\n"
    "  end)\n"
    "  return { doubled = doubled, fill = fill }\n"
    "end)\n";

static void bench_list(struct desk *desk, unsigned size)
{
    char number[16];
    (void)snprintf(number, sizeof number, "%u", size);
    (void)desk_begin(desk, list_lua, size);
    (void)heddle(desk, "send", "p", "fill", number);
    add(desk,
        "list of SIZE on disk: first build, an element",
        size,
        heddle(desk, "get", "p", "doubled", NULL),
        size == 100000 ? 50e3 : 0);
    add(desk,
        "list of SIZE on disk: taken up again, an element",
        size,
        heddle(desk, "get", "p", "doubled", NULL),
        0);
    desk_end(desk);
}

/* -- Pieces -------------------------------------------------------------- */

static const char pieces_lua[] =
    "local heddle = require 'heddle'\n"
    "local small = heddle.pattern('small', function(p)\n"
    "  local n = p:state('n', 1)\n"
    "  return { n = n, d = p:computed('d', function() return n:get() end) }\n"
    "end)\n"
    "return heddle.pattern('p', function(p)\n"
    "  return { go = p:handler('go', function(n)\n"
    "    local r = {}\n"
    "    for i = 1, n do r[i] = heddle.launch(small, {}) end\n"
    "    return heddle.array(r)\n"
    "  end) }\n"
    "end)\n";

static void bench_pieces(struct desk *desk, unsigned size)
{
    (void)desk_begin(desk, pieces_lua, size);
    for (unsigned left = size; left > 0;) {
        const unsigned count = left < LAUNCHED ? left : LAUNCHED;
        char number[16];
        (void)snprintf(number, sizeof number, "%u", count);
        (void)heddle(desk, "send", "p", "go", number);
        left -= count;
    }
    add(desk,
        "SIZE pieces on disk: heddle ps, a piece",
        size,
        heddle(desk, "ps", NULL, NULL, NULL),
        size == 10000 ? 20e3 : 0);
    add(desk,
        "SIZE pieces on disk: heddle log, a piece",
        size,
        heddle(desk, "log", NULL, NULL, NULL),
        size == 10000 ? 20e3 : 0);
    desk_end(desk);
}

/* -- Nodes --------------------------------------------------------------- */

static const char nodes_lua[] =
    "local heddle = require 'heddle'\n"
    "return heddle.pattern('p', function(p)\n"
    "  local n = p:state('n', 1)\n"
    "  local fields = { n = n }\n"
    "  for i = 1, SIZE do\n"
    "    fields['c' .. i] = p:computed('c' .. i, function()\n"
    "      return n:get() + i end)\n"
    "  end\n"
    "  return fields\n"
    "end)\n";

static void bench_nodes(struct desk *desk, unsigned size)
{
    add(desk,
        "SIZE nodes on disk: first run, a node",
        size,
        desk_begin(desk, nodes_lua, size),
        0);
    add(desk,
        "SIZE nodes on disk: taken up again, a node",
        size,
        heddle(desk, "get", "p", "n", NULL),
        0);
    desk_end(desk);
}

/* -- All of it ----------------------------------------------------------- */

/* The command beside the folder of this program: build/gcc-release/heddle. */
static void find_command(struct desk *desk, const char *self)
{
    const char *slash = strrchr(self, '/');
    (void)snprintf(desk->heddle,
                   sizeof desk->heddle,
                   "%.*s../heddle",
                   slash != NULL ? (int)(slash + 1 - self) : 0,
                   self);
    if (access(desk->heddle, X_OK) != 0) {
        stop("there is no command beside it: make cli");
    }
}

int main(int argc, char **argv)
{
    struct bench bench;
    int exit_code = 0;
    if (!bench_begin(&bench, "disk", argc, argv, &exit_code)) {
        return exit_code;
    }
    static struct desk desk = {.folder = "build/bench-disk-XXXXXX"};
    desk.bench = &bench;
    find_command(&desk, argv[0]);
    if (mkdtemp(desk.folder) == NULL) {
        stop("no temporary folder");
    }
    const size_t count = bench.quick ? 2 : COUNT_OF(sizes);
    for (size_t i = 0; i < count && bench_wants(&bench, "list on disk"); i++) {
        bench_list(&desk, sizes[i]);
    }
    for (size_t i = 0; i < count && bench_wants(&bench, "pieces on disk");
         i++) {
        if (sizes[i] <= 10000) {
            bench_pieces(&desk, sizes[i]);
        }
    }
    for (size_t i = 0; i < count && bench_wants(&bench, "nodes on disk"); i++) {
        bench_nodes(&desk, sizes[i]);
    }
    (void)rmdir(desk.folder);
    return bench_end(&bench);
}
