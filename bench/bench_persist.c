/* What it costs to remember what every run has read, and how fast a piece is
 * taken up again.
 *
 * Two stores get the same commits, in turn: each is a run that read two
 * documents and wrote a third; one of the two also gets what the run saw. The
 * sets of what is read stay as they are, which is how it is nearly always. The
 * bytes are those that grow the WAL, with nothing moved out of it.
 *
 * A piece of many nodes is then listed: each reads what the one before it
 * writes. From a warm file, by a new engine each time. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/bench.h"
#include "persist/rows.h"
#include "persist/worker.h"
#include "store/observations.h"
#include "value/object.h"

enum {
    ACTIONS = 1000,
    GROUP_MAX = 1000,
    NODES = 100 * 1000,
    TEXT_SIZE = 64,
};

struct side {
    char path[300];
    struct engine engine;
    uint64_t local_seq;
    bool observed;
};

struct sides {
    struct side with;
    struct side without;
    unsigned group;
    struct observation *observations[ACTIONS];
    struct path *path; /* of the payload, in no engine's table */
    struct path_table paths;
};

/* -- Runs ---------------------------------------------------------------- */

static struct value node_id(uint64_t number)
{
    char text[TEXT_SIZE];
    const int length =
        snprintf(text, sizeof text, "of:node-%llu", (unsigned long long)number);
    return value_string_new(text, (size_t)length);
}

static struct digest digest_of(const char *what, uint64_t number)
{
    char text[TEXT_SIZE];
    const int length = snprintf(text,
                                sizeof text,
                                "%s %llu",
                                what,
                                (unsigned long long)number);
    return digest_of_bytes("bench", text, (size_t)length);
}

/* The node `number` reads two others and writes its own document. */
static struct observation *observe(struct path *path,
                                   uint64_t number,
                                   uint64_t first,
                                   uint64_t second)
{
    struct observation *to = observation_new();
    to->piece = value_text_new("of:piece");
    to->action = digest_of("action", number);
    to->fingerprints.implementation = digest_of("implementation", number % 10);
    to->fingerprints.runtime = digest_of("runtime", 0);
    to->fingerprints.schema = digest_of("schema", number % 10);
    const uint64_t ids[] = {first, second, number};
    static const enum place_kind kinds[] = {PLACE_DEEP,
                                            PLACE_DEEP,
                                            PLACE_OUTPUT};
    for (size_t i = 0; i < COUNT_OF(ids); i++) {
        const struct target target = {node_id(ids[i]), SCOPE_SPACE};
        observation_add_place(to, VALUE_NONE, &target, path, kinds[i]);
        value_unref(target.id);
    }
    observation_seal(to);
    return to;
}

static void add_read(struct commit *commit,
                     struct path *path,
                     uint64_t id,
                     uint64_t seq)
{
    struct commit_read *read = commit_add_read(commit);
    read->target.id = node_id(id);
    read->path = path_ref(path);
    read->seq = seq;
}

static struct value number_document(uint64_t number)
{
    struct value document = value_empty_object();
    object_put_adopt(&document, "value", value_int((int64_t)number));
    return document;
}

/* A run of the node: reads of what nobody writes any more, and one write. */
static void make_run(struct sides *sides,
                     struct side *side,
                     struct commit *commit)
{
    const uint64_t number = ++side->local_seq;
    const uint64_t node = number % ACTIONS;
    *commit = (struct commit){
        .session = value_text_new("bench"),
        .local_seq = number,
        .branch = value_string_new("", 0),
    };
    const uint64_t seq = side->engine.seq;
    add_read(commit, sides->path, ACTIONS + node, seq);
    add_read(commit, sides->path, ACTIONS + (node + 1) % ACTIONS, seq);
    struct commit_op *op = commit_add_op(commit);
    op->kind = COMMIT_SET;
    op->target.id = node_id(node);
    op->document = number_document(number);
    if (side->observed) {
        commit->observation = observation_ref(sides->observations[node]);
    }
}

static void run_group(struct sides *sides, struct side *side)
{
    static struct commit commits[GROUP_MAX];
    static struct engine_request requests[GROUP_MAX];
    struct err_detail detail;
    bench_pause();
    for (unsigned j = 0; j < sides->group; j++) {
        make_run(sides, side, &commits[j]);
        requests[j] = (struct engine_request){.commit = &commits[j]};
    }
    bench_resume();
    if (engine_commit(&side->engine, requests, sides->group, &detail) !=
        ERR_OK) {
        stop(detail.text);
    }
    bench_pause();
    for (unsigned j = 0; j < sides->group; j++) {
        if (requests[j].verdict.err != ERR_OK ||
            requests[j].verdict.dropped.count > 0) {
            stop(requests[j].verdict.detail.text);
        }
        verdict_release(&requests[j].verdict);
        commit_release(&commits[j]);
    }
    bench_resume();
}

static void run_with(void *ctx, uint64_t times)
{
    struct sides *sides = ctx;
    for (uint64_t i = 0; i < times; i++) {
        run_group(sides, &sides->with);
    }
}

static void run_without(void *ctx, uint64_t times)
{
    struct sides *sides = ctx;
    for (uint64_t i = 0; i < times; i++) {
        run_group(sides, &sides->without);
    }
}

/* -- Both stores --------------------------------------------------------- */

static void open_side(struct side *side, enum durability durability)
{
    const struct engine_options options = {.path = side->path,
                                           .durability = durability};
    struct err_detail detail = {0};
    if (engine_open(&side->engine, &options, &detail) != ERR_OK) {
        stop(detail.text);
    }
}

static void remove_side(const struct side *side)
{
    static const char *const suffixes[] = {"", "-wal", "-shm", "-lock"};
    for (size_t i = 0; i < COUNT_OF(suffixes); i++) {
        char path[320];
        (void)snprintf(path, sizeof path, "%s%s", side->path, suffixes[i]);
        (void)unlink(path);
    }
}

/* Until every action was seen once, with its places; then without them. */
static void forget_places(struct sides *sides)
{
    for (uint64_t i = 0; i < ACTIONS; i++) {
        struct observation *one = sides->observations[i];
        VEC_FOREACH (&one->places, place) {
            value_unref(place->target.id);
            path_unref(place->path);
        }
        vec_clear(&one->places);
        one->has_places = false;
    }
}

static void sides_begin(struct sides *sides,
                        const char *folder,
                        enum durability durability,
                        unsigned group)
{
    *sides = (struct sides){.group = ACTIONS};
    path_table_init(&sides->paths);
    const struct path_segment value = {value_text_new("value"), PATH_NOT_INDEX};
    sides->path = path_new(&sides->paths, &value, 1);
    for (uint64_t i = 0; i < ACTIONS; i++) {
        sides->observations[i] =
            observe(sides->path, i, ACTIONS + i, ACTIONS + (i + 1) % ACTIONS);
    }
    sides->with.observed = true;
    (void)snprintf(sides->with.path, sizeof sides->with.path, "%s/a", folder);
    (void)snprintf(sides->without.path,
                   sizeof sides->without.path,
                   "%s/b",
                   folder);
    open_side(&sides->with, durability);
    open_side(&sides->without, durability);
    run_group(sides, &sides->with);
    run_group(sides, &sides->without);
    forget_places(sides);
    sides->group = group;
}

static void sides_end(struct sides *sides)
{
    engine_close(&sides->with.engine);
    engine_close(&sides->without.engine);
    for (uint64_t i = 0; i < ACTIONS; i++) {
        observation_unref(sides->observations[i]);
    }
    path_unref(sides->path);
    path_table_release(&sides->paths);
    remove_side(&sides->with);
    remove_side(&sides->without);
}

static void bench_runs(struct bench *bench, const char *folder)
{
    static const struct {
        const char *name;
        enum durability durability;
        unsigned group;
        bool wall;
    } rows[] = {
        {"run, groups of 1000, normal", DURABILITY_NORMAL, 1000, false},
        {"run, groups of 100, normal", DURABILITY_NORMAL, 100, false},
        {"run, groups of 1000, full", DURABILITY_FULL, 1000, true},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        static struct sides sides;
        if (!bench_wants(bench, rows[i].name)) {
            continue;
        }
        sides_begin(&sides, folder, rows[i].durability, rows[i].group);
        (void)bench_run(bench,
                        &(struct bench_case){
                            .name = rows[i].name,
                            .ours = run_with,
                            .peer = run_without,
                            .ctx = &sides,
                            .units = rows[i].group,
                            .times = rows[i].group == 1000 ? 5 : 50,
                            .wall = rows[i].wall,
                            /* at least 0.85 of the throughput */
                            .bar = {BENCH_TIMES, 1 / 0.85},
                        });
        sides_end(&sides);
    }
}

/* -- Bytes --------------------------------------------------------------- */

static double wal_growth(struct sides *sides, struct side *side, unsigned count)
{
    char path[320];
    struct stat before = {0};
    struct stat after = {0};
    (void)snprintf(path, sizeof path, "%s-wal", side->path);
    side->engine.database.wal_bytes_max = UINT64_MAX;
    if (stat(path, &before) != 0) {
        stop("there is no WAL");
    }
    for (unsigned i = 0; i < count; i++) {
        run_group(sides, side);
    }
    if (stat(path, &after) != 0) {
        stop("there is no WAL");
    }
    return (double)(after.st_size - before.st_size) /
           ((double)count * sides->group);
}

static void bench_bytes(struct bench *bench, const char *folder)
{
    static const unsigned groups[] = {1000, 100};
    for (size_t i = 0; i < COUNT_OF(groups); i++) {
        static struct sides sides;
        char name[64];
        (void)snprintf(name,
                       sizeof name,
                       "additional WAL bytes per run, groups of %u",
                       groups[i]);
        if (!bench_wants(bench, name)) {
            continue;
        }
        sides_begin(&sides, folder, DURABILITY_NORMAL, groups[i]);
        const unsigned count = 20000 / groups[i];
        const double with = wal_growth(&sides, &sides.with, count);
        const double without = wal_growth(&sides, &sides.without, count);
        bench_figure(bench,
                     name,
                     "bytes",
                     with - without,
                     0,
                     (struct bench_bar){BENCH_AT_MOST, 120});
        sides_end(&sides);
    }
}

/* -- Resuming ------------------------------------------------------------ */

struct piece {
    struct side side;
    uint64_t nodes;
    size_t dirty; /* how many are expected */
    struct bench *bench;
};

static void fill_piece(struct piece *piece)
{
    struct path_table paths;
    path_table_init(&paths);
    const struct path_segment value = {value_text_new("value"), PATH_NOT_INDEX};
    struct path *path = path_new(&paths, &value, 1);
    for (uint64_t i = 0; i < piece->nodes; i += GROUP_MAX) {
        struct commit commit = {
            .session = value_text_new("bench"),
            .local_seq = ++piece->side.local_seq,
            .branch = value_string_new("", 0),
        };
        for (uint64_t j = i; j < i + GROUP_MAX; j++) {
            const uint64_t before = j > 0 ? j - 1 : piece->nodes;
            struct observation *one = observe(path, j, before, before);
            one->basis.given = true;
            vec_push(&commit.batch, one);
        }
        struct engine_request request = {.commit = &commit};
        struct err_detail detail = {0};
        if (engine_commit(&piece->side.engine, &request, 1, &detail) !=
                ERR_OK ||
            request.verdict.err != ERR_OK) {
            stop(request.verdict.detail.text);
        }
        verdict_release(&request.verdict);
        commit_release(&commit);
    }
    path_unref(path);
    path_table_release(&paths);
}

static void resume(void *ctx, uint64_t times)
{
    struct piece *piece = ctx;
    for (uint64_t i = 0; i < times; i++) {
        bench_pause();
        engine_close(&piece->side.engine);
        open_side(&piece->side, DURABILITY_NORMAL);
        bench_resume();
        const struct resume_query query = {
            .branch = value_text_new(""),
            .piece = value_text_new("of:piece"),
        };
        struct resume_page page;
        struct err_detail detail = {0};
        if (engine_resume(&piece->side.engine, &query, &page, &detail) !=
            ERR_OK) {
            stop(detail.text);
        }
        bench_pause();
        size_t dirty = 0;
        VEC_FOREACH (&page.actions, action) {
            dirty += action->state != RESUME_CLEAN;
        }
        if (page.actions.count != piece->nodes || dirty != piece->dirty) {
            bench_wrong(piece->bench,
                        "%zu of %zu nodes are not clean",
                        dirty,
                        page.actions.count);
        }
        resume_page_release(&page);
        value_unref(query.piece);
        bench_resume();
    }
}

static void write_input(struct piece *piece, uint64_t node)
{
    struct commit commit = {
        .session = value_text_new("bench"),
        .local_seq = ++piece->side.local_seq,
        .branch = value_string_new("", 0),
    };
    struct commit_op *op = commit_add_op(&commit);
    op->kind = COMMIT_SET;
    op->target.id = node_id(node);
    op->document = number_document(1);
    struct engine_request request = {.commit = &commit};
    if (engine_commit(&piece->side.engine, &request, 1, NULL) != ERR_OK) {
        stop("a commit failed");
    }
    verdict_release(&request.verdict);
    commit_release(&commit);
}

static void piece_begin(struct piece *piece,
                        struct bench *bench,
                        const char *folder,
                        uint64_t nodes)
{
    *piece = (struct piece){.bench = bench, .nodes = nodes};
    (void)snprintf(piece->side.path, sizeof piece->side.path, "%s/r", folder);
    open_side(&piece->side, DURABILITY_NORMAL);
    fill_piece(piece);
}

static void piece_end(struct piece *piece)
{
    engine_close(&piece->side.engine);
    remove_side(&piece->side);
}

/* Smaller ones, for how it grows. */
static void bench_resume_small(struct bench *bench,
                               const char *folder,
                               uint64_t nodes)
{
    static struct piece piece;
    char name[TEXT_SIZE];
    (void)snprintf(name,
                   sizeof name,
                   "resume, %llu clean nodes, per node",
                   (unsigned long long)nodes);
    if (bench_wants(bench, name)) {
        piece_begin(&piece, bench, folder, nodes);
        (void)bench_run(bench,
                        &(struct bench_case){
                            .name = name,
                            .ours = resume,
                            .ctx = &piece,
                            .units = nodes,
                            .times = NODES / nodes,
                        });
        piece_end(&piece);
    }
}

static void bench_resume_piece(struct bench *bench, const char *folder)
{
    static struct piece piece;
    if (!bench_wants(bench, "resume")) {
        return;
    }
    piece_begin(&piece, bench, folder, NODES);
    struct rusage before;
    struct rusage after;
    (void)getrusage(RUSAGE_SELF, &before);
    struct bench_case work = {
        .name = "resume, 100000 clean nodes, per node",
        .ours = resume,
        .ctx = &piece,
        .units = NODES,
        .bar = {BENCH_AT_MOST, 2000}, /* 500,000 a second */
        .times = 1,
    };
    (void)bench_run(bench, &work);
    (void)getrusage(RUSAGE_SELF, &after);
    bench_figure(bench,
                 "resume, memory at its height more than before",
                 "KiB",
                 (double)(after.ru_maxrss - before.ru_maxrss),
                 0,
                 (struct bench_bar){BENCH_NO_BAR, 0});
    write_input(&piece, NODES);
    piece.dirty = 1;
    work.name = "resume, 1 of them dirty, per node";
    (void)bench_run(bench, &work);
    piece_end(&piece);
}

int main(int argc, char **argv)
{
    struct bench bench;
    int exit_code = 0;
    if (!bench_begin(&bench, "persist", argc, argv, &exit_code)) {
        return exit_code;
    }
    bench.peer_name = "without";
    char folder[] = "build/bench-persist-XXXXXX";
    if (mkdtemp(folder) == NULL) {
        stop("no temporary folder");
    }
    bench_runs(&bench, folder);
    bench_bytes(&bench, folder);
    bench_resume_piece(&bench, folder);
    bench_resume_small(&bench, folder, 10000);
    bench_resume_small(&bench, folder, 1000);
    bench_resuming(&bench, folder);
    bench_steady(&bench, folder);
    bench_adoption(&bench, folder);
    (void)rmdir(folder);
    return bench_end(&bench);
}
