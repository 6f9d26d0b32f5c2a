/* Lua: what a run of its code costs, and what a command does that takes up a
 * piece.
 *
 *   nodes     a chain of 20 computations over numbers, in Lua and in C, that
 *             an effect looks at: the state at its beginning is written, and
 *             all of them run. In a space of its own authority; each side has a
 *             runtime of its own. A short chain: the first run of a long one in
 *             Lua nests (docs/performance.md)
 *   commands  the binary of the release beside this program, run again and
 *             again on a space that is in the system's cache: `heddle get` of a
 *             small piece among 100,000 documents, and `heddle send` to a piece
 *             of 1,000 nodes. By the wall clock, and by the time that it was on
 *             a CPU; `heddle version` is what any process costs */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/bench.h"
#include "lib/command_bench.h"
#include "runtime/cell.h"
#include "runtime/piece.h"
#include "script/program.h"
#include "store/engine.h"
#include "value/object.h"

enum {
    CHAIN = 20,     /* as in the texts below */
    READS_MAX = 10, /* of a node */
    DOCUMENTS = 100 * 1000,
    GROUP = 1000, /* documents, in one commit */
    ROUNDS = 15,
    ROUNDS_QUICK = 5,
};

static void stop(const char *why)
{
    (void)fprintf(stderr, "bench_lua: %s\n", why);
    exit(1);
}

static void stop_if(enum err err, const struct err_detail *detail)
{
    if (err != ERR_OK) {
        stop(detail->text);
    }
}

/* -- A chain of nodes ---------------------------------------------------- */

static const char chain_lua[] =
    "local heddle = require 'heddle'\n"
    "return heddle.pattern('chain', function(p)\n"
    "  local n = p:state('n', 0)\n"
    "  local last = n\n"
    "  for i = 1, 20 do\n"
    "    local before = last\n"
    "    last = p:computed('node' .. i, function()\n"
    "      return before:get() + 1\n"
    "    end, { reads = { before } })\n"
    "  end\n"
    "  p:effect('look', function() last:get() end)\n"
    "  return { last = last }\n"
    "end)\n";

static const char chain_of_ten_lua[] =
    "local heddle = require 'heddle'\n"
    "return heddle.pattern('chain', function(p)\n"
    "  local last = p:state('n', 0)\n"
    "  local others = {}\n"
    "  for i = 1, 9 do others[i] = p:state('other' .. i, i) end\n"
    "  local a, b, c, d, e, f, g, h, k = table.unpack(others)\n"
    "  for i = 1, 20 do\n"
    "    local before = last\n"
    "    last = p:computed('node' .. i, function()\n"
    "      return before:get() + a:get() + b:get() + c:get() + d:get()\n"
    "        + e:get() + f:get() + g:get() + h:get() + k:get()\n"
    "    end, { reads = { before } })\n"
    "  end\n"
    "  p:effect('look', function() last:get() end)\n"
    "  return { last = last }\n"
    "end)\n";

/* One node in C. */
struct member {
    struct line *line;
    struct place *before;
};

struct line {
    struct runtime runtime;
    struct space *space;
    struct program *program; /* or NULL: it is in C, */
    struct pattern *pattern; /* with this */
    struct place *n;
    struct place *last;
    mono_ms now;
    int64_t round;
    uint32_t reads; /* of a node */
    struct place *others[READS_MAX];
    struct member members[CHAIN];
};

static enum err read_number(struct line *line,
                            struct run *run,
                            struct place *place,
                            int64_t *sum,
                            struct err_detail *detail)
{
    const struct cell_access access = {&line->runtime, run, run->transaction};
    struct value value;
    const enum err err = cell_read(&access,
                                   place,
                                   READ_DEEP,
                                   READ_FOR_BOTH,
                                   &value,
                                   NULL,
                                   detail);
    if (err == ERR_OK) {
        *sum += value_kind(value) == VALUE_INT ? value_integer(value) : 0;
        value_unref(value);
    }
    return err;
}

static enum run_result add(struct run *run, void *ctx, struct value *result)
{
    const struct member *member = ctx;
    struct line *line = member->line;
    struct err_detail detail;
    int64_t sum = line->reads == 1 ? 1 : 0;
    enum err err = read_number(line, run, member->before, &sum, &detail);
    for (uint32_t i = 1; i < line->reads && err == ERR_OK; i++) {
        err = read_number(line, run, line->others[i], &sum, &detail);
    }
    if (err != ERR_OK) {
        return err == ERR_STALE ? RUN_AGAIN : run_fail(run, &detail);
    }
    *result = value_int(sum);
    return RUN_DONE;
}

static enum run_result look(struct run *run, void *ctx, struct value *result)
{
    struct line *line = ctx;
    struct err_detail detail;
    int64_t sum = 0;
    (void)result;
    const enum err err = read_number(line, run, line->last, &sum, &detail);
    if (err != ERR_OK) {
        return err == ERR_STALE ? RUN_AGAIN : run_fail(run, &detail);
    }
    return RUN_DONE;
}

static enum err declare_state(struct builder *builder,
                              const char *name,
                              int64_t initial,
                              struct place **out,
                              struct err_detail *detail)
{
    const struct builder_cell cell = {.name = value_text_new(name),
                                      .initial = value_int(initial)};
    const enum err err = builder_state(builder, &cell, out, detail);
    value_unref(cell.name);
    return err;
}

static enum err declare_node(struct builder *builder,
                             struct line *line,
                             uint32_t index,
                             struct err_detail *detail)
{
    char name[32];
    (void)snprintf(name, sizeof name, "node%u", (unsigned)index + 1);
    struct member *member = &line->members[index];
    *member = (struct member){line, line->last};
    const struct builder_node node = {
        .name = value_text_new(name),
        .body = {.run = add, .ctx = member},
        .reads = &member->before,
        .read_count = 1,
    };
    const enum err err = builder_computed(builder, &node, &line->last, detail);
    value_unref(node.name);
    return err;
}

static enum err build(struct builder *builder,
                      void *ctx,
                      struct err_detail *detail)
{
    struct line *line = ctx;
    enum err err = declare_state(builder, "n", 0, &line->last, detail);
    for (uint32_t i = 1; i < line->reads && err == ERR_OK; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "other%u", (unsigned)i);
        err = declare_state(builder, name, i, &line->others[i], detail);
    }
    for (uint32_t i = 0; i < CHAIN && err == ERR_OK; i++) {
        err = declare_node(builder, line, i, detail);
    }
    if (err != ERR_OK) {
        return err;
    }
    const struct builder_node node = {
        .name = value_text_new("look"),
        .body = {.run = look, .ctx = line},
    };
    err = builder_effect(builder, &node, detail);
    value_unref(node.name);
    return err;
}

static mono_ms line_now(void *ctx)
{
    return ((const struct line *)ctx)->now;
}

/* The payload of a document of the piece, new. */
static struct place *payload_of(struct line *line, const char *text)
{
    struct err_detail detail;
    struct entity *entity;
    const struct value id = value_text_new(text);
    stop_if(entity_of(line->space, SCOPE_SPACE, id, &entity, &detail), &detail);
    value_unref(id);
    return place_payload(entity);
}

static struct pattern *load(struct line *line, const char *lua)
{
    struct err_detail detail;
    const struct program_options options = {
        .host = {.ctx = line, .now = line_now},
    };
    line->program = program_new(&options);
    program_attach(line->program, &line->runtime);
    const struct program_source source = {"chain.lua", lua, strlen(lua)};
    stop_if(program_load(line->program, &source, &detail), &detail);
    return program_pattern(line->program);
}

/* `lua` is NULL for the one in C. */
static struct line *line_new(const char *lua, uint32_t reads)
{
    struct line *line = calloc(1, sizeof *line);
    CHECK(line != NULL);
    struct err_detail detail;
    line->reads = reads;
    runtime_init(&line->runtime, &(struct runtime_options){0});
    const struct space_options space = {.id = value_text_new("bench")};
    stop_if(runtime_open(&line->runtime, &space, &line->space, &detail),
            &detail);
    if (lua == NULL) {
        line->pattern = pattern_new(&(struct pattern_spec){
            .name = value_text_new("chain"),
            .build = build,
            .ctx = line,
        });
    }
    struct piece *piece;
    const struct piece_options options = {
        .name = value_text_new("p"),
        .pattern = lua != NULL ? load(line, lua) : line->pattern,
    };
    stop_if(piece_start(&line->runtime, &options, &piece, &detail), &detail);
    value_unref(options.name);
    runtime_step(&line->runtime, ++line->now);
    line->n = payload_of(line, "piece:p/n");
    line->last = payload_of(line, "piece:p/node20");
    return line;
}

static void line_free(struct line *line)
{
    place_unref(line->n);
    place_unref(line->last);
    if (line->program != NULL) {
        program_detach(line->program);
    }
    runtime_release(&line->runtime);
    program_free(line->program);
    if (line->pattern != NULL) {
        pattern_unref(line->pattern);
    }
    free(line);
}

static void run_line(struct line *line, uint64_t times)
{
    const struct cell_access access = {.runtime = &line->runtime};
    for (uint64_t i = 0; i < times; i++) {
        struct err_detail detail;
        stop_if(
            cell_put_adopt(&access, line->n, value_int(++line->round), &detail),
            &detail);
        runtime_step(&line->runtime, ++line->now);
    }
}

struct sides {
    struct line *lua;
    struct line *c;
};

static void run_lua(void *ctx, uint64_t times)
{
    run_line(((const struct sides *)ctx)->lua, times);
}

static void run_c(void *ctx, uint64_t times)
{
    run_line(((const struct sides *)ctx)->c, times);
}

/* Both have run every node in every round, and have the same at the end. */
static void check_line(struct bench *bench, const char *name, struct line *line)
{
    const uint64_t before = line->runtime.sched->counters.runs;
    run_line(line, 10);
    const uint64_t runs = line->runtime.sched->counters.runs - before;
    const uint64_t expected = UINT64_C(10) * (CHAIN + 1);
    const int64_t each = line->reads == 1 ? 1 : 45; /* 1 + 2 + ... + 9 */
    const struct value last = line->last->entity->visible.payload;
    if (runs != expected || value_kind(last) != VALUE_INT ||
        value_integer(last) != line->round + CHAIN * each) {
        bench_wrong(bench,
                    "%s: %" PRIu64 " runs in ten rounds, not %" PRIu64
                    ", or another result",
                    name,
                    runs,
                    expected);
    }
}

static void bench_nodes(struct bench *bench)
{
    static const struct {
        const char *name;
        const char *lua;
        uint32_t reads;
    } cases[] = {
        {"a run that reads a number", chain_lua, 1},
        {"a run that reads ten numbers", chain_of_ten_lua, READS_MAX},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        if (!bench_wants(bench, cases[i].name)) {
            continue;
        }
        struct sides sides = {line_new(cases[i].lua, cases[i].reads),
                              line_new(NULL, cases[i].reads)};
        check_line(bench, cases[i].name, sides.lua);
        check_line(bench, cases[i].name, sides.c);
        (void)bench_run(bench,
                        &(struct bench_case){.name = cases[i].name,
                                             .ours = run_lua,
                                             .peer = run_c,
                                             .ctx = &sides,
                                             .units = CHAIN});
        line_free(sides.lua);
        line_free(sides.c);
    }
}

/* -- Commands ------------------------------------------------------------ */

static const char few_lua[] =
    "local heddle = require 'heddle'\n"
    "return heddle.pattern('few', function(p)\n"
    "  local n = p:state('n', 1)\n"
    "  local double = p:computed('double', function() return n:get() * 2 end)\n"
    "  return { n = n, double = double }\n"
    "end)\n";

/* 500 computations of a state, and one of each of these. */
static const char many_lua[] =
    "local heddle = require 'heddle'\n"
    "return heddle.pattern('many', function(p)\n"
    "  local n = p:state('n', 1)\n"
    "  local fields = { n = n }\n"
    "  for i = 1, 500 do\n"
    "    local part = p:computed('part' .. i, function()\n"
    "      return n:get() * i\n"
    "    end)\n"
    "    fields['sum' .. i] = p:computed('sum' .. i, function()\n"
    "      return part:get() + 1\n"
    "    end)\n"
    "  end\n"
    "  fields.add = p:handler('add', function(event)\n"
    "    n:set(n:get() + event)\n"
    "    return n:get()\n"
    "  end)\n"
    "  return fields\n"
    "end)\n";

static void commit_documents(struct engine *engine, uint64_t group)
{
    struct commit commit = {
        .session = value_text_new("bench"),
        .local_seq = group + 1,
        .branch = value_string_new("", 0),
    };
    for (uint64_t i = 0; i < GROUP; i++) {
        char id[32];
        (void)snprintf(id, sizeof id, "of:%" PRIu64, group * GROUP + i);
        struct commit_op *op = commit_add_op(&commit);
        op->kind = COMMIT_SET;
        op->target.id = value_text_new(id);
        op->document = value_empty_object();
        object_put_adopt(&op->document, "value", value_int((int64_t)i));
    }
    struct engine_request request = {.commit = &commit};
    if (engine_commit(engine, &request, 1, NULL) != ERR_OK ||
        request.verdict.err != ERR_OK) {
        stop("a commit failed");
    }
    verdict_release(&request.verdict);
    commit_release(&commit);
}

/* More documents, beside those of the piece. */
static void add_documents(const struct command_bench *commands)
{
    static struct engine engine;
    char path[COMMAND_PATH + 16];
    (void)snprintf(path, sizeof path, "%s/main.db", commands->data);
    const struct engine_options options = {.path = path,
                                           .durability = DURABILITY_NORMAL};
    struct err_detail detail = {0};
    stop_if(engine_open(&engine, &options, &detail), &detail);
    for (uint64_t i = 0; i < DOCUMENTS / GROUP; i++) {
        commit_documents(&engine, i);
    }
    engine_close(&engine);
}

static void add_cost(struct bench *bench,
                     const char *name,
                     const char *clock,
                     double *figures,
                     unsigned rounds,
                     double bar_ns)
{
    struct bench_row row = {.unit = "ns"};
    if (bar_ns > 0) {
        row.bar = (struct bench_bar){BENCH_AT_MOST, bar_ns};
    }
    (void)snprintf(row.name, sizeof row.name, "%s, %s", name, clock);
    row.apart = bench_apart(figures, rounds);
    row.spread = bench_spread(figures, rounds);
    row.ours = bench_quantile(figures, rounds, 0.5);
    (void)snprintf(row.note,
                   sizeof row.note,
                   "fastest %.1f ms",
                   bench_quantile(figures, rounds, 0) / 1e6);
    bench_add(bench, &row);
}

/* Two rows. The first time is not counted: it warms what is cold. */
static void time_command(const struct command_bench *commands,
                         const char *name,
                         const char *const *arguments,
                         double bar_ns)
{
    const unsigned rounds = commands->bench->quick ? ROUNDS_QUICK : ROUNDS;
    double wall[ROUNDS];
    double on_cpu[ROUNDS];
    (void)fprintf(stderr, "%s: %s\n", commands->bench->name, name);
    (void)command_bench_run(commands, arguments);
    for (unsigned i = 0; i < rounds; i++) {
        const struct command_cost cost = command_bench_run(commands, arguments);
        wall[i] = cost.wall;
        on_cpu[i] = cost.on_cpu;
    }
    add_cost(commands->bench, name, "on a CPU", on_cpu, rounds, bar_ns);
    add_cost(commands->bench, name, "wall clock", wall, rounds, bar_ns);
}

static void bench_commands(struct command_bench *commands)
{
    static const char get_name[] = "heddle get, 100,000 documents";
    static const char send_name[] = "heddle send, a piece of 1,000 nodes";
    static const char version_name[] = "heddle version";
    if (bench_wants(commands->bench, version_name)) {
        const char *const version[] = {commands->heddle, "version", NULL};
        time_command(commands, version_name, version, 0);
    }
    if (bench_wants(commands->bench, get_name)) {
        (void)command_bench_begin(commands, "few", few_lua);
        add_documents(commands);
        const char *const get[] = {commands->heddle,
                                   "get",
                                   "--dir",
                                   commands->data,
                                   "few",
                                   "double",
                                   NULL};
        time_command(commands, get_name, get, 20e6);
        command_bench_end(commands);
    }
    if (bench_wants(commands->bench, send_name)) {
        (void)command_bench_begin(commands, "many", many_lua);
        const char *const send[] = {commands->heddle,
                                    "send",
                                    "--dir",
                                    commands->data,
                                    "many",
                                    "add",
                                    "1",
                                    NULL};
        time_command(commands, send_name, send, 50e6);
        command_bench_end(commands);
    }
}

int main(int argc, char **argv)
{
    struct bench bench;
    int exit_code = 0;
    if (!bench_begin(&bench, "lua", argc, argv, &exit_code)) {
        return exit_code;
    }
    bench.peer_name = "C";
    bench_nodes(&bench);
    static struct command_bench commands;
    command_bench_open(&commands, &bench, argv[0]);
    bench_commands(&commands);
    command_bench_close(&commands);
    return bench_end(&bench);
}
