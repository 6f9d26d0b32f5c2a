/* The server beside a floor in C, in one run, with one load generator.
 *
 *   the floor  libwebsockets and SQLite at `full`, one COMMIT per turn of its
 *              loop (bench/server/floor.c)
 *   the wire   the same without storage: the limit of the transport
 *
 * Rounds of ours and of the other server alternate. Each row begins with
 * servers that have no data. Times are what passes, per commit or delivery. */

#include <math.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/check.h"
#include "lib/bench.h"
#include "server/process.h"
#include "server/steady_disk.h"

enum {
    ROUNDS = 5,
    ROUNDS_QUICK = 3,
    IDLE_WARM = 50,
    IDLE_COUNT = 10000,
    IDLE_COUNT_QUICK = 2000,
    KILLS = 4,
    KILLS_QUICK = 2,
    RECONNECTING = 1000,
    SPACES = 1000,
    SPACES_FEW = 16,
    SYNCS = 200,        /* raw commits per round */
    SPACES_SECONDS = 2, /* a write waits for the syncs of all others */
};

static struct bench bench;

static unsigned round_count(void)
{
    return bench.quick ? ROUNDS_QUICK : ROUNDS;
}

static double seconds(void)
{
    return bench.quick ? 0.4 : 1;
}

static bool begins(const char *name)
{
    if (bench_wants(&bench, name)) {
        (void)fprintf(stderr, "server: %s\n", name);
        return true;
    }
    return false;
}

/* -- Commits and deliveries ---------------------------------------------- */

struct rate_row {
    const char *name;
    const char *ours;  /* workload */
    const char *other; /* the same for the other server, */
    enum server_kind kind;
    double bar;
    const char *goal;
    bool counts; /* landed must be what was acknowledged */
};

struct rates {
    double ours[ROUNDS]; /* ns per operation */
    double other[ROUNDS];
    double ratio[ROUNDS];
    double p99[ROUNDS]; /* ns, ours */
    double cpu[ROUNDS]; /* ns of the server's CPUs per operation, ours */
};

static struct value measure(const struct server_process *server,
                            const char *workload,
                            double span,
                            double *ns,
                            double *cpu)
{
    char text[160];
    (void)snprintf(text, sizeof text, "%s seconds=%.1f", workload, span);
    const double from = server_cpu(server);
    struct value result = load_run(server, text);
    *ns = 1e9 / load_figure(result, "per_s");
    /* The load also warms up, for a tenth of the time. */
    *cpu = (server_cpu(server) - from) / (1.1 * span) * *ns;
    return result;
}

static void check_landed(const char *name, struct value result)
{
    const double acked = load_figure(result, "acked");
    const double landed = load_figure(result, "landed");
    if (fabs(acked - landed) > 0.5) {
        bench_wrong(&bench,
                    "%s: %.0f acknowledged, %.0f landed",
                    name,
                    acked,
                    landed);
    }
}

static void add_rates(const struct rate_row *about, struct rates *rates)
{
    const unsigned count = round_count();
    struct bench_row row = {.unit = "ns"};
    (void)snprintf(row.name, sizeof row.name, "%s", about->name);
    row.bar = (struct bench_bar){
        about->bar > 0 ? BENCH_FASTER : BENCH_NO_BAR,
        about->bar,
    };
    row.apart = bench_apart(rates->ratio, count);
    row.spread = bench_spread(rates->ratio, count);
    row.ours = bench_quantile(rates->ours, count, 0.5);
    row.peer = row.ours * bench_quantile(rates->ratio, count, 0.5);
    (void)snprintf(row.note,
                   sizeof row.note,
                   "goal %s, %.0f/s, p99 %.2f ms, %.0f us CPU",
                   about->goal,
                   1e9 / row.ours,
                   bench_quantile(rates->p99, count, 0.5) / 1e6,
                   bench_quantile(rates->cpu, count, 0.5) / 1e3);
    bench_add(&bench, &row);
}

static void run_rates(const struct rate_row *about)
{
    if (!begins(about->name)) {
        return;
    }
    struct server_process ours;
    struct server_process other;
    struct rates rates;
    double other_cpu;
    server_start(&ours, SERVER_OURS);
    server_start(&other, about->kind);
    for (unsigned round = 0; round < round_count(); round++) {
        struct value result = measure(&ours,
                                      about->ours,
                                      seconds(),
                                      &rates.ours[round],
                                      &rates.cpu[round]);
        rates.p99[round] = load_figure(result, "p99_ns");
        if (about->counts) {
            check_landed(about->name, result);
        }
        value_unref(result);
        value_unref(measure(&other,
                            about->other,
                            seconds(),
                            &rates.other[round],
                            &other_cpu));
        rates.ratio[round] = rates.other[round] / rates.ours[round];
    }
    server_stop(&ours);
    server_stop(&other);
    add_rates(about, &rates);
}

static const struct rate_row rate_rows[] = {
    {
        .name = "W1: one client, per commit",
        .ours = "put clients=1",
        .other = "put clients=1",
        .kind = SERVER_FLOOR,
        .bar = 0.75,
        .goal = "0.9x",
    },
    {
        .name = "W2: 16 clients, own documents, per commit",
        .ours = "put clients=16",
        .other = "put clients=16",
        .kind = SERVER_FLOOR,
        .bar = 0.6,
        .goal = "0.85x",
    },
    {
        .name = "W3: 16 clients, one document, own keys, per commit",
        .ours = "share clients=16",
        .other = "share clients=16",
        .kind = SERVER_FLOOR,
        .bar = 0.6,
        .goal = "0.85x",
    },
    {
        .name = "W4: 16 clients, one counter, increments, per commit",
        .ours = "increment clients=16",
        .other = "increment clients=16",
        .kind = SERVER_FLOOR,
        .bar = 0.6,
        .goal = "0.85x",
        .counts = true,
    },
    {
        .name = "W4: 16 clients, one counter, read and write, per commit",
        .ours = "swap clients=16",
        .other = "increment clients=16",
        .kind = SERVER_FLOOR,
        .bar = 0.3,
        .goal = "0.5x",
        .counts = true,
    },
    {
        .name = "W5: fan-out to 100, of the wire, per delivery",
        .ours = "fan clients=100",
        .other = "fan clients=100",
        .kind = SERVER_WIRE,
        .bar = 0.6,
        .goal = "0.8x",
    },
    {
        .name = "W5: fan-out to 1,000, of the wire, per delivery",
        .ours = "fan clients=1000",
        .other = "fan clients=1000",
        .kind = SERVER_WIRE,
        .bar = 0.6,
        .goal = "0.8x",
    },
    {
        .name = "W5: the same to 100, 8 writes under way",
        .ours = "fan clients=100 window=8",
        .other = "fan clients=100 window=8",
        .kind = SERVER_WIRE,
        .goal = "none",
    },
};

/* -- Spaces -------------------------------------------------------------- */

static void run_spaces(void)
{
    struct rate_row about = {
        .name = "1,000 spaces, one client each, of 16 spaces', per commit",
        .bar = 0.8,
        .goal = "1x",
    };
    if (!begins(about.name)) {
        return;
    }
    struct server_process ours;
    struct rates rates;
    char many[64];
    char few[64];
    double cpu;
    (void)snprintf(many, sizeof many, "put spaces=1 clients=%d", SPACES);
    (void)snprintf(few, sizeof few, "put spaces=1 clients=%d", SPACES_FEW);
    server_start(&ours, SERVER_OURS);
    for (unsigned round = 0; round < round_count(); round++) {
        struct value result = measure(&ours,
                                      many,
                                      SPACES_SECONDS,
                                      &rates.ours[round],
                                      &rates.cpu[round]);
        rates.p99[round] = load_figure(result, "p99_ns");
        value_unref(result);
        value_unref(
            measure(&ours, few, SPACES_SECONDS, &rates.other[round], &cpu));
        rates.ratio[round] = rates.other[round] / rates.ours[round];
    }
    server_stop(&ours);
    add_rates(&about, &rates);
}

/* -- Idle connections ---------------------------------------------------- */

static double idle_bytes(enum server_kind kind, unsigned count)
{
    struct server_process server;
    struct load_process load;
    char workload[64];
    server_start(&server, kind);
    (void)snprintf(workload, sizeof workload, "idle clients=%d", IDLE_WARM);
    load_start(&load, &server, workload);
    load_wait_ready(&load);
    value_unref(load_finish(&load));
    const double before = server_memory(&server);
    (void)snprintf(workload, sizeof workload, "idle clients=%u", count);
    load_start(&load, &server, workload);
    load_wait_ready(&load);
    const double after = server_memory(&server);
    value_unref(load_finish(&load));
    server_stop(&server);
    return (after - before) / count;
}

static void run_idle(void)
{
    static const char name[] = "W6: memory of an idle session and connection";
    if (begins(name)) {
        const unsigned count = bench.quick ? IDLE_COUNT_QUICK : IDLE_COUNT;
        struct bench_row row = {
            .unit = "bytes",
            .ours = idle_bytes(SERVER_OURS, count),
            .peer = idle_bytes(SERVER_WIRE, count),
            .bar = {BENCH_AT_MOST, 10 * 1024},
        };
        (void)snprintf(row.name, sizeof row.name, "%s", name);
        (void)snprintf(row.note, sizeof row.note, "goal 6 KiB, of %u", count);
        bench_add(&bench, &row);
    }
}

/* -- Cold join ----------------------------------------------------------- */

/* The documents are on disk, and the server has just started. */
static void join_once(enum server_kind kind,
                      double *ns,
                      double *bytes,
                      double *json)
{
    struct server_process server;
    server_start(&server, kind);
    value_unref(load_run(&server, "seed documents=10000"));
    server_stop(&server);
    (void)server_restart(&server);
    struct value result =
        load_run(&server,
                 kind == SERVER_COMPRESSING ? "join documents=10000 compress=1"
                                            : "join documents=10000");
    server_stop(&server);
    *ns = load_figure(result, "join_ns");
    *bytes = load_figure(result, "bytes");
    *json = load_figure(result, "json_bytes");
    value_unref(result);
}

static void run_join(void)
{
    static const char name[] = "W7: cold join of 10,000 documents";
    static const char name_bytes[] = "W7: its bytes, of the documents' JSON";
    if (!begins(name)) {
        return;
    }
    double ours[ROUNDS];
    double floor[ROUNDS];
    double bytes = 0;
    double json = 0;
    for (unsigned round = 0; round < round_count(); round++) {
        double other_bytes;
        join_once(SERVER_FLOOR, &floor[round], &other_bytes, &json);
        join_once(SERVER_OURS, &ours[round], &bytes, &json);
    }
    struct bench_row row = {
        .unit = "ns",
        .spread = bench_spread(ours, round_count()),
        .ours = bench_quantile(ours, round_count(), 0.5),
        .peer = bench_quantile(floor, round_count(), 0.5),
        .bar = {BENCH_AT_MOST, 150e6},
        .note = "goal 80 ms",
    };
    (void)snprintf(row.name, sizeof row.name, "%s", name);
    bench_add(&bench, &row);
    bench_figure(&bench,
                 name_bytes,
                 "bytes",
                 bytes,
                 json,
                 (struct bench_bar){BENCH_TIMES, 1.2});
    double ns;
    join_once(SERVER_COMPRESSING, &ns, &bytes, &json);
    bench_figure(&bench,
                 "W7: the same, compressed",
                 "bytes",
                 bytes,
                 json,
                 (struct bench_bar){BENCH_TIMES, 0.4});
}

/* -- One change ---------------------------------------------------------- */

/* The median of single commits by SQLite at `full`: what the disk takes. */
static double raw_commit_ns(void)
{
    char path[PROCESS_PATH];
    double took[SYNCS];
    sqlite3 *db = NULL;
    process_file(path, "raw.db");
    CHECK(sqlite3_open(path, &db) == SQLITE_OK);
    CHECK(sqlite3_exec(db,
                       "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"
                       "CREATE TABLE t(k INTEGER PRIMARY KEY, v);",
                       NULL,
                       NULL,
                       NULL) == SQLITE_OK);
    for (unsigned i = 0; i < SYNCS; i++) {
        const uint64_t from = process_now();
        CHECK(
            sqlite3_exec(db, "INSERT INTO t(v) VALUES(1)", NULL, NULL, NULL) ==
            SQLITE_OK);
        took[i] = (double)(process_now() - from);
    }
    (void)sqlite3_close(db);
    return bench_quantile(took, SYNCS, 0.5) +
           (processes_are_steady() ? STEADY_SYNC_NS : 0);
}

static void run_seen(void)
{
    static const char name[] = "a change seen by another client, less the disk";
    if (!begins(name)) {
        return;
    }
    struct server_process ours;
    struct server_process floor;
    double beyond[ROUNDS];
    double beyond_floor[ROUNDS];
    double whole[ROUNDS];
    server_start(&ours, SERVER_OURS);
    server_start(&floor, SERVER_FLOOR);
    for (unsigned round = 0; round < round_count(); round++) {
        const double disk = raw_commit_ns();
        struct value result = load_run(&ours, "seen seconds=0.4");
        whole[round] = load_figure(result, "p50_ns");
        beyond[round] = fmax(whole[round] - disk, 1);
        value_unref(result);
        result = load_run(&floor, "seen seconds=0.4");
        beyond_floor[round] = fmax(load_figure(result, "p50_ns") - disk, 1);
        value_unref(result);
    }
    server_stop(&ours);
    server_stop(&floor);
    struct bench_row row = {
        .unit = "ns",
        .ours = bench_quantile(beyond, round_count(), 0.5),
        .peer = bench_quantile(beyond_floor, round_count(), 0.5),
        .bar = {BENCH_AT_MOST, 0.3e6},
    };
    (void)snprintf(row.name, sizeof row.name, "%s", name);
    (void)snprintf(row.note,
                   sizeof row.note,
                   "goal 0.15 ms; with it %.2f ms",
                   bench_quantile(whole, round_count(), 0.5) / 1e6);
    bench_add(&bench, &row);
}

/* -- A server that ends -------------------------------------------------- */

static void add_crash(const char *name, struct value result, const char *field)
{
    const double count = load_figure(result, field);
    struct bench_row row = {
        .unit = "writes",
        .ours = count,
        .bar = {BENCH_AT_MOST, 0},
    };
    (void)snprintf(row.name, sizeof row.name, "%s", name);
    (void)snprintf(row.note,
                   sizeof row.note,
                   "of %.0f, %.0f sent again",
                   load_figure(result, "acked"),
                   load_figure(result, "resent"));
    if (count > 0) {
        bench_wrong(&bench, "%s: %.0f", name, count);
    }
    bench_add(&bench, &row);
}

static void run_crash(void)
{
    static const char lost[] = "W8: kill -9 during W2, acknowledged but lost";
    static const char twice[] = "W8: kill -9 during W2, landed twice";
    if (!begins(lost)) {
        return;
    }
    const unsigned kills = bench.quick ? KILLS_QUICK : KILLS;
    const struct timespec pause = {.tv_nsec = 700000000};
    struct server_process server;
    struct load_process load;
    char workload[64];
    (void)snprintf(workload,
                   sizeof workload,
                   "crash clients=16 seconds=%u",
                   kills + 1);
    server_start(&server, SERVER_OURS);
    load_start(&load, &server, workload);
    load_wait_ready(&load);
    for (unsigned i = 0; i < kills; i++) {
        (void)nanosleep(&pause, NULL);
        server_kill(&server);
        (void)server_restart(&server);
    }
    struct value result = load_finish(&load);
    server_stop(&server);
    if (load_figure(result, "disconnected") < 1) {
        bench_wrong(&bench, "%s: no client noticed", lost);
    }
    add_crash(lost, result, "lost");
    add_crash(twice, result, "twice");
    value_unref(result);
}

static double reconnect_ns(enum server_kind kind)
{
    struct server_process server;
    struct load_process load;
    char workload[64];
    (void)snprintf(workload,
                   sizeof workload,
                   "reconnect clients=%d",
                   RECONNECTING);
    server_start(&server, kind);
    load_start(&load, &server, workload);
    load_wait_ready(&load);
    server_kill(&server);
    const uint64_t from = server_restart(&server);
    struct value result = load_finish(&load);
    server_stop(&server);
    const double ns = load_figure(result, "current_at_ns") - (double)from;
    value_unref(result);
    return ns;
}

static void run_reconnect(void)
{
    static const char name[] = "1,000 clients reconnect: restart until current";
    if (!begins(name)) {
        return;
    }
    double ours[ROUNDS];
    double floor[ROUNDS];
    for (unsigned round = 0; round < round_count(); round++) {
        ours[round] = reconnect_ns(SERVER_OURS);
        floor[round] = reconnect_ns(SERVER_FLOOR);
    }
    struct bench_row row = {
        .unit = "ns",
        .spread = bench_spread(ours, round_count()),
        .ours = bench_quantile(ours, round_count(), 0.5),
        .peer = bench_quantile(floor, round_count(), 0.5),
        .bar = {BENCH_AT_MOST, 3e9},
        .note = "goal 1 s",
    };
    (void)snprintf(row.name, sizeof row.name, "%s", name);
    bench_add(&bench, &row);
}

int main(int argc, char **argv)
{
    int exit_code = 0;
    if (!bench_begin(&bench, "server", argc, argv, &exit_code)) {
        return exit_code;
    }
    bench.peer_name = "floor";
    processes_open(argv[0]);
    for (size_t i = 0; i < COUNT_OF(rate_rows); i++) {
        run_rates(&rate_rows[i]);
    }
    run_idle();
    run_join();
    run_crash();
    run_seen();
    run_reconnect();
    run_spaces();
    processes_close();
    return bench_end(&bench);
}
