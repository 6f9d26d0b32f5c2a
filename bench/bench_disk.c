/* Sizes on disk: what an element of a list, a piece and a node cost in a data
 * directory of more and more of them, by the command of the release. A figure
 * is the time that the command spends on a CPU, without what it spends where
 * there is none of them, divided by how many there are: a curve that bends
 * upwards is work that grows faster than the data. */

#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "lib/command_bench.h"

enum {
    LAUNCHED = 1000, /* pieces by one event */
    SMALL = 1000,    /* so many are measured ROUNDS times; the least counts */
    ROUNDS = 5,
    ROUNDS_QUICK = 2,
    PATTERN_SIZE = 2000,
    SIZES = 6,
    QUICK_SIZES = 3,
};

static const unsigned sizes[SIZES] = {10, 100, 1000, 10000, 100000, 1000000};

/* What two commands of one workload cost. */
struct two_costs {
    struct command_cost first;
    struct command_cost second;
};

/* In a data directory with `size` of them. */
typedef struct two_costs workload_fn(struct command_bench *commands,
                                     unsigned size);

struct workload {
    const char *name; /* for --only */
    workload_fn *run;
    const char *first; /* rows, with SIZE in them */
    const char *second;
    unsigned largest;
    unsigned bar_size; /* 0: no bar */
    double bar_ns[2];  /* there, per unit; 0: none */
};

/* "heddle WORD --dir DATA FIRST SECOND THIRD". */
static struct command_cost heddle(const struct command_bench *commands,
                                  const char *word,
                                  const char *first,
                                  const char *second,
                                  const char *third)
{
    const char *const arguments[] = {commands->heddle,
                                     word,
                                     "--timeout",
                                     "600000",
                                     "--dir",
                                     commands->data,
                                     first,
                                     second,
                                     third,
                                     NULL};
    return command_bench_run(commands, arguments);
}

/* The same for commands that do not wait. */
static struct command_cost look(const struct command_bench *commands,
                                const char *word)
{
    const char *const arguments[] = {commands->heddle,
                                     word,
                                     "--dir",
                                     commands->data,
                                     NULL};
    return command_bench_run(commands, arguments);
}

static void put_size(char *to,
                     size_t room,
                     const char *format,
                     const char *number)
{
    const char *mark = strstr(format, "SIZE");
    CHECK(mark != NULL);
    (void)snprintf(to,
                   room,
                   "%.*s%s%s",
                   (int)(mark - format),
                   format,
                   number,
                   mark + strlen("SIZE"));
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

static struct two_costs run_list(struct command_bench *commands, unsigned size)
{
    char number[16];
    struct two_costs costs;
    (void)snprintf(number, sizeof number, "%u", size);
    (void)command_bench_begin(commands, "p", list_lua);
    (void)heddle(commands, "send", "p", "fill", number);
    costs.first = heddle(commands, "get", "p", "doubled", NULL);
    costs.second = heddle(commands, "get", "p", "doubled", NULL);
    command_bench_end(commands);
    return costs;
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

static struct two_costs run_pieces(struct command_bench *commands,
                                   unsigned size)
{
    struct two_costs costs;
    (void)command_bench_begin(commands, "p", pieces_lua);
    for (unsigned left = size; left > 0;) {
        const unsigned count = left < LAUNCHED ? left : LAUNCHED;
        char number[16];
        (void)snprintf(number, sizeof number, "%u", count);
        (void)heddle(commands, "send", "p", "go", number);
        left -= count;
    }
    costs.first = look(commands, "ps");
    costs.second = look(commands, "log");
    command_bench_end(commands);
    return costs;
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

static struct two_costs run_nodes(struct command_bench *commands, unsigned size)
{
    char number[16];
    char lua[PATTERN_SIZE];
    struct two_costs costs;
    (void)snprintf(number, sizeof number, "%u", size);
    put_size(lua, sizeof lua, nodes_lua, number);
    costs.first = command_bench_begin(commands, "p", lua);
    costs.second = heddle(commands, "get", "p", "n", NULL);
    command_bench_end(commands);
    return costs;
}

/* -- All of it ----------------------------------------------------------- */

static const struct workload workloads[] = {
    {
        .name = "list on disk",
        .run = run_list,
        .first = "list of SIZE on disk: first build, per element",
        .second = "list of SIZE on disk: resumed, per element",
        .largest = 1000000,
        .bar_size = 100000,
        .bar_ns = {50e3, 0},
    },
    {
        .name = "pieces on disk",
        .run = run_pieces,
        .first = "SIZE pieces on disk: heddle ps, per piece",
        .second = "SIZE pieces on disk: heddle log, per piece",
        .largest = 10000,
        .bar_size = 10000,
        .bar_ns = {20e3, 20e3},
    },
    {
        .name = "nodes on disk",
        .run = run_nodes,
        .first = "SIZE nodes on disk: first run, per node",
        .second = "SIZE nodes on disk: resumed, per node",
        .largest = 100000,
    },
};

/* 1234567: "1,234,567". */
static void write_number(char to[16], unsigned number)
{
    if (number < 1000) {
        (void)snprintf(to, 16, "%u", number);
    } else if (number < 1000000) {
        (void)snprintf(to, 16, "%u,%03u", number / 1000, number % 1000);
    } else {
        (void)snprintf(to,
                       16,
                       "%u,%03u,%03u",
                       number / 1000000,
                       number / 1000 % 1000,
                       number % 1000);
    }
}

/* One row, of `size` things that took so long together, `none` of it for
 * nothing. */
static void add(struct command_bench *commands,
                const char *format,
                unsigned size,
                const struct command_cost *cost,
                double none,
                double bar_ns)
{
    char number[16];
    const double own = cost->on_cpu > none ? cost->on_cpu - none : 0;
    struct bench_row row = {.unit = "ns", .ours = own / size};
    write_number(number, size);
    put_size(row.name, sizeof row.name, format, number);
    (void)snprintf(row.note,
                   sizeof row.note,
                   "%.3g s and %.3g MiB in all",
                   cost->on_cpu / 1e9,
                   cost->memory / 1024 / 1024);
    if (bar_ns > 0) {
        row.bar = (struct bench_bar){BENCH_AT_MOST, bar_ns};
    }
    (void)fprintf(stderr, "%s: %s\n", commands->bench->name, row.name);
    bench_add(commands->bench, &row);
}

static void take_less(struct command_cost *least,
                      const struct command_cost *cost)
{
    if (cost->on_cpu < least->on_cpu) {
        *least = *cost;
    }
}

/* The least of some rounds. */
static struct two_costs measure(const struct workload *workload,
                                struct command_bench *commands,
                                unsigned size)
{
    struct two_costs least = workload->run(commands, size);
    const unsigned rounds = commands->bench->quick ? ROUNDS_QUICK : ROUNDS;
    for (unsigned i = 1; size <= SMALL && i < rounds; i++) {
        const struct two_costs costs = workload->run(commands, size);
        take_less(&least.first, &costs.first);
        take_less(&least.second, &costs.second);
    }
    return least;
}

static void bench_sizes(const struct workload *workload,
                        struct command_bench *commands)
{
    const struct two_costs none = measure(workload, commands, 0);
    const unsigned count = commands->bench->quick ? QUICK_SIZES : SIZES;
    for (unsigned i = 0; i < count && sizes[i] <= workload->largest; i++) {
        const struct two_costs costs = measure(workload, commands, sizes[i]);
        const bool has_bar = sizes[i] == workload->bar_size;
        add(commands,
            workload->first,
            sizes[i],
            &costs.first,
            none.first.on_cpu,
            has_bar ? workload->bar_ns[0] : 0);
        add(commands,
            workload->second,
            sizes[i],
            &costs.second,
            none.second.on_cpu,
            has_bar ? workload->bar_ns[1] : 0);
    }
}

int main(int argc, char **argv)
{
    struct bench bench;
    int exit_code = 0;
    if (!bench_begin(&bench, "disk", argc, argv, &exit_code)) {
        return exit_code;
    }
    static struct command_bench commands;
    command_bench_open(&commands, &bench, argv[0]);
    for (size_t i = 0; i < COUNT_OF(workloads); i++) {
        if (bench_wants(&bench, workloads[i].name)) {
            bench_sizes(&workloads[i], &commands);
        }
    }
    command_bench_close(&commands);
    return bench_end(&bench);
}
