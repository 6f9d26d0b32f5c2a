/* Several processes, one counter: each sends itself an event, whose handler
 * reads the counter and writes it back with one more, waits until the event is
 * on disk, and sends the next one.
 *
 *   throughput   events of all processes per second
 *   fairness     the process with the fewest events, against the mean; and the
 *                slowest event of all, against the median
 *   the floor    as many processes take the same lock of such a file in turn,
 *                each for a transaction in which nothing is done. What is slow
 *                there is the scheduling of the machine and the handing over
 *                of the lock, and no work of ours
 *
 * Time is what passes: the processes wait for each other. */

#include <ftw.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "heddle/heddle.h"
#include "lib/bench.h"
#include "store/engine.h"

enum {
    PROCESSES_MAX = 16,
    EVENTS_KEPT = 1000000, /* latencies, per process */
    EVENT_DEADLINE_MS = 60000,
};

struct worker {
    uint32_t count;
    uint32_t failed;
    char why[256];
    uint32_t latency_us[EVENTS_KEPT];
};

/* Shared by the processes. */
struct board {
    volatile int go; /* 1: send, 2: stop */
    volatile int ready[PROCESSES_MAX];
    struct worker workers[PROCESSES_MAX];
};

static uint64_t now_us(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* -- One process --------------------------------------------------------- */

struct party {
    hd_runtime *runtime;
    hd_cell *stream;
    hd_cell *counter;
};

static hd_status count_one(hd_run *run, void *context)
{
    (void)run;
    const struct party *party = context;
    hd_value *before = NULL;
    int64_t number = 0;
    hd_status status = hd_cell_get(party->counter, &before, NULL);
    if (status == HD_OK) {
        status = hd_value_get_int(before, &number);
    } else if (status == HD_NOT_FOUND) {
        status = HD_OK;
    }
    hd_value_unref(before);
    hd_value *after = NULL;
    if (status == HD_OK) {
        status = hd_value_new_int(number + 1, &after);
    }
    if (status == HD_OK) {
        status = hd_cell_set(party->counter, after, NULL);
    }
    hd_value_unref(after);
    return status;
}

static void stop_if(hd_status status, const hd_error *error)
{
    if (status != HD_OK) {
        (void)fprintf(stderr, "bench_contention: %s\n", error->text);
        _exit(1);
    }
}

static void party_open(struct party *party,
                       const char *folder,
                       hd_durability durability,
                       unsigned number)
{
    hd_error error;
    char stream[32];
    hd_node *node = NULL;
    const hd_runtime_options options = {
        .directory = folder,
        .durability = durability,
    };
    const hd_handler_options handler = {
        .name = "count",
        .run = count_one,
        .context = party,
        .reads = &party->counter,
        .read_count = 1,
    };
    (void)snprintf(stream, sizeof stream, "stream-%u", number);
    stop_if(hd_runtime_open(&options, &party->runtime, &error), &error);
    stop_if(
        hd_cell_new(party->runtime, "counter", NULL, &party->counter, &error),
        &error);
    stop_if(hd_cell_new(party->runtime, stream, NULL, &party->stream, &error),
            &error);
    stop_if(hd_handler_new(party->stream, &handler, &node, &error), &error);
}

static void note(struct worker *worker,
                 hd_status status,
                 hd_outcome outcome,
                 const char *why,
                 uint64_t took)
{
    if (status == HD_OK && outcome == HD_DONE) {
        if (worker->count < EVENTS_KEPT) {
            worker->latency_us[worker->count++] = (uint32_t)took;
        }
    } else {
        worker->failed++;
        (void)snprintf(worker->why, sizeof worker->why, "%s", why);
    }
}

static void one_event(const struct party *party, struct worker *worker)
{
    hd_error error = {0};
    hd_ticket *ticket = NULL;
    hd_outcome outcome = HD_WAITING;
    uint64_t now = 0;
    const uint64_t began = now_us();
    hd_status status = hd_cell_send(party->stream, NULL, NULL, &ticket, &error);
    (void)hd_runtime_now(party->runtime, &now);
    if (status == HD_OK) {
        status =
            hd_runtime_settled(party->runtime, now + EVENT_DEADLINE_MS, &error);
    }
    if (status == HD_OK) {
        (void)hd_ticket_outcome(ticket, &outcome);
        if (outcome != HD_DONE) {
            (void)hd_ticket_error(ticket, &error);
        }
    }
    note(worker, status, outcome, error.text, now_us() - began);
    hd_ticket_free(ticket);
}

/* Of its parent a process has one CPU. */
static void run_anywhere(void)
{
    cpu_set_t all;
    memset(&all, 0xff, sizeof all);
    (void)sched_setaffinity(0, sizeof all, &all);
}

static void wait_for_start(struct board *board, unsigned number)
{
    board->ready[number] = 1;
    while (board->go == 0) {
        (void)usleep(1000);
    }
}

static void work(struct board *board,
                 unsigned number,
                 const char *folder,
                 hd_durability durability)
{
    struct party party = {0};
    run_anywhere();
    party_open(&party, folder, durability, number);
    wait_for_start(board, number);
    while (board->go == 1) {
        one_event(&party, &board->workers[number]);
    }
    hd_runtime_free(party.runtime);
    hd_cell_free(party.counter);
    hd_cell_free(party.stream);
    _exit(0);
}

/* -- One process of the floor -------------------------------------------- */

static void one_transaction(struct engine *engine, struct worker *worker)
{
    struct err_detail detail = {0};
    const uint64_t began = now_us();
    enum err err = engine_write_begin(engine, &detail);
    if (err == ERR_OK) {
        err = engine_write_end(engine, ERR_OK, &detail);
    }
    note(worker,
         err == ERR_OK ? HD_OK : HD_STORE,
         HD_DONE,
         detail.text,
         now_us() - began);
}

static void work_for_nothing(struct board *board,
                             unsigned number,
                             const char *folder,
                             hd_durability durability)
{
    static struct engine engine;
    char path[64];
    struct err_detail detail = {0};
    (void)snprintf(path, sizeof path, "%s/main.db", folder);
    const struct engine_options options = {
        .path = path,
        .durability =
            durability == HD_DURABLE_FULL ? DURABILITY_FULL : DURABILITY_NORMAL,
    };
    run_anywhere();
    if (engine_open(&engine, &options, &detail) != ERR_OK) {
        (void)fprintf(stderr, "bench_contention: %s\n", detail.text);
        _exit(1);
    }
    wait_for_start(board, number);
    while (board->go == 1) {
        one_transaction(&engine, &board->workers[number]);
    }
    engine_close(&engine);
    _exit(0);
}

/* -- All of them --------------------------------------------------------- */

typedef void work_fn(struct board *board,
                     unsigned number,
                     const char *folder,
                     hd_durability durability);

struct contest {
    const char *name;
    work_fn *work;
    unsigned processes;
    hd_durability durability;
    double seconds;
};

static struct board *board_new(void)
{
    void *at = mmap(NULL,
                    sizeof(struct board),
                    PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE,
                    -1,
                    0);
    if (at == MAP_FAILED) {
        perror("bench_contention");
        exit(1);
    }
    return at;
}

static int remove_one(const char *path,
                      const struct stat *file,
                      int kind,
                      struct FTW *where)
{
    (void)file;
    (void)kind;
    (void)where;
    return remove(path);
}

static void remove_folder(const char *folder)
{
    if (nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS) != 0) {
        perror(folder);
    }
}

static void hold_contest(struct board *board, const struct contest *contest)
{
    char folder[] = "build/bench-contention-XXXXXX";
    pid_t pids[PROCESSES_MAX];
    if (mkdtemp(folder) == NULL) {
        perror(folder);
        exit(1);
    }
    for (unsigned i = 0; i < contest->processes; i++) {
        pids[i] = fork();
        if (pids[i] == 0) {
            contest->work(board, i, folder, contest->durability);
        }
        while (pids[i] > 0 && board->ready[i] == 0 &&
               waitpid(pids[i], NULL, WNOHANG) == 0) {
            (void)usleep(1000);
        }
    }
    board->go = 1;
    (void)usleep((useconds_t)(contest->seconds * 1e6));
    board->go = 2;
    for (unsigned i = 0; i < contest->processes; i++) {
        (void)waitpid(pids[i], NULL, 0);
    }
    remove_folder(folder);
}

struct tally {
    double total;
    double least;
    double most;
    double median_us;
    double late_us; /* one in a thousand takes longer */
    double slowest_us;
    unsigned failed;
};

static struct tally tally_of(const struct board *board,
                             const struct contest *contest)
{
    struct tally tally = {.least = 1e18};
    VEC(double) all = {0};
    for (unsigned i = 0; i < contest->processes; i++) {
        const struct worker *worker = &board->workers[i];
        const double count = worker->count;
        tally.total += count;
        tally.least = count < tally.least ? count : tally.least;
        tally.most = count > tally.most ? count : tally.most;
        tally.failed += worker->failed;
        if (worker->failed > 0) {
            (void)fprintf(stderr, "process %u: %s\n", i, worker->why);
        }
        for (uint32_t k = 0; k < worker->count; k++) {
            vec_push(&all, (double)worker->latency_us[k]);
        }
    }
    if (all.count > 0) {
        const unsigned count = (unsigned)all.count;
        tally.median_us = bench_quantile(all.at, count, 0.5);
        tally.late_us = bench_quantile(all.at, count, 0.999);
        tally.slowest_us = all.at[count - 1];
    }
    vec_release(&all);
    return tally;
}

static void add(struct bench *bench,
                const struct contest *contest,
                const char *what,
                const char *unit,
                double figure,
                double bar)
{
    char name[96];
    const struct bench_bar at_most = {BENCH_AT_MOST, bar};
    const struct bench_bar no_bar = {0};
    (void)snprintf(name, sizeof name, "%s: %s", contest->name, what);
    bench_figure(bench, name, unit, figure, 0, bar > 0 ? at_most : no_bar);
}

static void run_contest(struct bench *bench, const struct contest *contest)
{
    struct board *board = board_new();
    hold_contest(board, contest);
    const struct tally tally = tally_of(board, contest);
    const double mean = tally.total / contest->processes;
    const double median = tally.median_us;
    const bool ours = contest->work == work;
    add(bench,
        contest,
        ours ? "events per second" : "transactions per second",
        "/s",
        tally.total / contest->seconds,
        0);
    add(bench, contest, "median", "ns", median * 1000, 0);
    if (contest->processes > 1) {
        add(bench, contest, "99.9 % / median", "x", tally.late_us / median, 0);
        add(bench,
            contest,
            "slowest / median",
            "x",
            tally.slowest_us / median,
            ours ? 20 : 0);
        add(bench, contest, "slowest", "ns", tally.slowest_us * 1000, 0);
        add(bench,
            contest,
            "mean / fewest",
            "x",
            mean / tally.least,
            ours ? 2 : 0);
        add(bench,
            contest,
            "most / mean",
            "x",
            tally.most / mean,
            ours ? 2 : 0);
    }
    if (tally.failed > 0) {
        bench_wrong(bench, "%s: %u events failed", contest->name, tally.failed);
    }
    (void)munmap(board, sizeof *board);
}

int main(int argc, char **argv)
{
    struct bench bench;
    int exit_code;
    if (!bench_begin(&bench, "contention", argc, argv, &exit_code)) {
        return exit_code;
    }
    const double seconds = bench.quick ? 3 : 60;
    const struct contest contests[] = {
        {"8 processes, one counter, full", work, 8, HD_DURABLE_FULL, seconds},
        {"8 processes, one counter, normal",
         work,
         8,
         HD_DURABLE_NORMAL,
         seconds},
        {"floor, 8 processes, the lock alone",
         work_for_nothing,
         8,
         HD_DURABLE_NORMAL,
         bench.quick ? 3 : 20},
        {"1 process, one counter, normal",
         work,
         1,
         HD_DURABLE_NORMAL,
         seconds / 6},
    };
    for (size_t i = 0; i < sizeof contests / sizeof contests[0]; i++) {
        if (bench_wants(&bench, contests[i].name)) {
            run_contest(&bench, &contests[i]);
        }
    }
    return bench_end(&bench);
}
