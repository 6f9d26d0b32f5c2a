/* Rounds, medians, the table and the file of results. */

#include "bench.h"

#include <inttypes.h>
#include <math.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "value/array.h"
#include "value/json.h"
#include "value/object.h"

enum {
    ROUNDS = 15,
    ROUNDS_QUICK = 4,
    ROUND_NS = 20 * 1000 * 1000,
    ROUND_QUICK_NS = 2 * 1000 * 1000,
    APART_MAX = 15, /* percent */
};

/* -- Time ---------------------------------------------------------------- */

static uint64_t paused_at;
static uint64_t paused_ns;
static clockid_t clock_of_case = CLOCK_PROCESS_CPUTIME_ID;

static uint64_t now_ns(void)
{
    struct timespec now;
    CHECK(clock_gettime(clock_of_case, &now) == 0);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

void bench_pause(void)
{
    paused_at = now_ns();
}

void bench_resume(void)
{
    paused_ns += now_ns() - paused_at;
}

/* Nanoseconds for `times` times, at least 1. */
static double time_of(bench_fn *fn, void *ctx, uint64_t times)
{
    paused_ns = 0;
    const uint64_t from = now_ns();
    fn(ctx, times);
    const uint64_t ns = now_ns() - from;
    return ns > paused_ns ? (double)(ns - paused_ns) : 1;
}

/* How often a round repeats the work. The first call also warms up. */
static uint64_t times_for(bench_fn *fn,
                          const struct bench_case *work,
                          double round_ns)
{
    void *ctx = work->ctx;
    if (work->times > 0) {
        (void)time_of(fn, ctx, work->times);
        return work->times;
    }
    uint64_t times = 1;
    double ns = time_of(fn, ctx, times);
    while (ns < round_ns / 8) {
        times *= 4;
        ns = time_of(fn, ctx, times);
    }
    const double wanted = round_ns / (ns / (double)times);
    return wanted < 1 ? 1 : (uint64_t)wanted;
}

/* -- Rounds -------------------------------------------------------------- */

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

double bench_quantile(double *figures, unsigned count, double where)
{
    qsort(figures, count, sizeof *figures, by_size);
    return figures[(unsigned)(where * (count - 1) + 0.5)];
}

double bench_spread(double *figures, unsigned count)
{
    const double middle = bench_quantile(figures, count, 0.5);
    return 100 *
           (bench_quantile(figures, count, 0.75) -
            bench_quantile(figures, count, 0.25)) /
           middle;
}

static double median_of(const double *figures, unsigned count)
{
    double copy[ROUNDS];
    CHECK(count > 0 && count <= ROUNDS);
    memcpy(copy, figures, count * sizeof *copy);
    return bench_quantile(copy, count, 0.5);
}

double bench_apart(const double *figures, unsigned count)
{
    if (count < 2) {
        return 0;
    }
    const double first = median_of(figures, count / 2);
    const double second = median_of(figures + count / 2, count - count / 2);
    return 100 * (fmax(first, second) / fmin(first, second) - 1);
}

bool bench_wants(const struct bench *bench, const char *name)
{
    return bench->filter == NULL || strstr(name, bench->filter) != NULL;
}

static void add_row(struct bench *bench, const char *name, struct bench_row row)
{
    (void)snprintf(row.name, sizeof row.name, "%s", name);
    vec_push(&bench->rows, row);
}

void bench_add(struct bench *bench, const struct bench_row *row)
{
    if (bench_wants(bench, row->name)) {
        vec_push(&bench->rows, *row);
    }
}

void bench_wrong(struct bench *bench, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    (void)fprintf(stderr, "%s: WRONG: ", bench->name);
    (void)vfprintf(stderr, format, list);
    (void)fputc('\n', stderr);
    va_end(list);
    bench->wrong++;
}

double bench_run(struct bench *bench, const struct bench_case *work)
{
    clock_of_case = work->wall ? CLOCK_MONOTONIC : CLOCK_PROCESS_CPUTIME_ID;
    if (!bench_wants(bench, work->name)) {
        return 0;
    }
    (void)fprintf(stderr, "%s: %s\n", bench->name, work->name);
    const unsigned rounds = bench->quick ? ROUNDS_QUICK : ROUNDS;
    const double round_ns = bench->quick ? ROUND_QUICK_NS : ROUND_NS;
    const uint64_t times = times_for(work->ours, work, round_ns);
    const uint64_t peer_times =
        work->peer != NULL ? times_for(work->peer, work, round_ns) : 0;

    const double units = work->units > 0 ? (double)work->units : 1;
    double ours[ROUNDS];
    double peer[ROUNDS];
    double ratio[ROUNDS];
    for (unsigned i = 0; i < rounds; i++) {
        ours[i] =
            time_of(work->ours, work->ctx, times) / ((double)times * units);
        if (work->peer != NULL) {
            peer[i] = time_of(work->peer, work->ctx, peer_times) /
                      ((double)peer_times * units);
            ratio[i] = peer[i] / ours[i];
        }
    }
    struct bench_row row = {
        .unit = "ns",
        .bar = work->bar,
        .apart = bench_apart(work->peer != NULL ? ratio : ours, rounds),
    };
    row.spread = work->peer != NULL ? bench_spread(ratio, rounds)
                                    : bench_spread(ours, rounds);
    row.ours = bench_quantile(ours, rounds, 0.5);
    if (work->peer != NULL) {
        /* So that the columns agree with the ratio. */
        row.peer = row.ours * bench_quantile(ratio, rounds, 0.5);
    }
    add_row(bench, work->name, row);
    return row.ours;
}

void bench_figure(struct bench *bench,
                  const char *name,
                  const char *unit,
                  double ours,
                  double peer,
                  struct bench_bar bar)
{
    if (bench_wants(bench, name)) {
        const struct bench_row row = {
            .unit = unit,
            .ours = ours,
            .peer = peer,
            .bar = bar,
        };
        add_row(bench, name, row);
    }
}

/* -- The table ----------------------------------------------------------- */

static bool has_peer(const struct bench_row *row)
{
    return row->peer > 0;
}

static bool has_bar(const struct bench_row *row)
{
    return row->bar.kind != BENCH_NO_BAR && row->bar.kind != BENCH_AS_TIMES;
}

static bool is_met(const struct bench_row *row)
{
    switch (row->bar.kind) {
    case BENCH_NO_BAR:
    case BENCH_AS_TIMES:
        return true;
    case BENCH_FASTER:
        return row->peer >= row->bar.limit * row->ours;
    case BENCH_SHARE:
        return row->ours <= row->bar.limit * row->peer;
    case BENCH_AT_MOST:
        return row->ours <= row->bar.limit;
    case BENCH_TIMES:
        return row->ours <= row->bar.limit * row->peer || !has_peer(row);
    }
    UNREACHABLE("every kind of bar has a case");
}

static const char *verdict_of(const struct bench_row *row)
{
    if (!has_bar(row) || (row->bar.kind == BENCH_TIMES && !has_peer(row))) {
        return "";
    }
    return is_met(row) ? "ok" : "MISSED";
}

/* "1.25 ms", "310 B": three digits and a unit. */
static void figure_text(char to[16], double figure, const char *unit)
{
    static const char *const times[] = {"ns", "us", "ms", "s"};
    static const char *const sizes[] = {"B", "KiB", "MiB", "GiB"};
    const bool is_time = strcmp(unit, "ns") == 0;
    const bool is_size = strcmp(unit, "bytes") == 0;
    const double step = is_size ? 1024 : 1000;
    const char *name = unit;
    if (is_time || is_size) {
        unsigned i = 0;
        while (figure >= step && i < 3) {
            figure /= step;
            i++;
        }
        name = is_time ? times[i] : sizes[i];
    }
    const int decimals = figure < 10 ? 2 : figure < 100 ? 1 : 0;
    (void)snprintf(to, 16, "%.*f %s", decimals, figure, name);
}

static void bar_text(char to[24], const struct bench_row *row)
{
    char limit[16];
    to[0] = '\0';
    switch (row->bar.kind) {
    case BENCH_NO_BAR:
    case BENCH_AS_TIMES:
        break;
    case BENCH_FASTER:
        (void)snprintf(to, 24, ">= %.2gx", row->bar.limit);
        break;
    case BENCH_SHARE:
        (void)snprintf(to, 24, "<= %.0f %%", row->bar.limit * 100);
        break;
    case BENCH_AT_MOST:
        figure_text(limit, row->bar.limit, row->unit);
        (void)snprintf(to, 24, "<= %s", limit);
        break;
    case BENCH_TIMES:
        (void)snprintf(to, 24, "<= %.3gx", row->bar.limit);
        break;
    }
}

static void ratio_text(char to[16], const struct bench_row *row, double peer)
{
    to[0] = '\0';
    if (peer <= 0) {
        return;
    }
    if (row->bar.kind == BENCH_SHARE) {
        (void)snprintf(to, 16, "%.0f %%", 100 * row->ours / peer);
    } else if (row->bar.kind == BENCH_TIMES ||
               row->bar.kind == BENCH_AS_TIMES) {
        (void)snprintf(to, 16, "%.2fx", row->ours / peer);
    } else {
        (void)snprintf(to, 16, "%.2fx", peer / row->ours);
    }
}

static void print_peer(const struct bench_row *row, double figure)
{
    char peer[16] = "";
    char ratio[16];
    if (figure > 0) {
        figure_text(peer, figure, row->unit);
    } else if (row->bar.kind == BENCH_TIMES) {
        (void)snprintf(peer, sizeof peer, "no peer");
    }
    ratio_text(ratio, row, figure);
    (void)printf(" %12s %8s", peer, ratio);
}

/* Counts, what the workload says, and a remark if the halves disagree. */
static void note_text(char *to, size_t size, const struct bench_row *row)
{
    char runs[64] = "";
    char allocations[48] = "";
    char apart[48] = "";
    if (row->counts.has_runs) {
        (void)snprintf(runs,
                       sizeof runs,
                       "runs %" PRIu64 "/%" PRIu64 " ",
                       row->counts.runs,
                       row->counts.expected);
    }
    if (row->counts.has_allocations) {
        (void)snprintf(allocations,
                       sizeof allocations,
                       "%" PRIu64 " allocations ",
                       row->counts.allocations);
    }
    if (row->apart > APART_MAX) {
        (void)snprintf(apart,
                       sizeof apart,
                       " (halves %.0f %% apart)",
                       row->apart);
    }
    (void)snprintf(to, size, "%s%s%s%s", runs, allocations, row->note, apart);
}

static void print_row(const struct bench *bench, const struct bench_row *row)
{
    char ours[16];
    char spread[16] = "";
    char bar[24];
    figure_text(ours, row->ours, row->unit);
    if (row->spread > 0) {
        (void)snprintf(spread, sizeof spread, "%.0f %%", row->spread);
    }
    bar_text(bar, row);
    char note[160];
    note_text(note, sizeof note, row);
    (void)printf("%-54s %12s", row->name, ours);
    print_peer(row, row->peer);
    if (bench->other_name != NULL) {
        print_peer(row, row->other);
    }
    (void)printf(" %7s %10s  %-6s %s\n", spread, bar, verdict_of(row), note);
}

static const char *peer_name(const struct bench *bench)
{
    return bench->peer_name != NULL ? bench->peer_name : "peer";
}

static void print_head(const struct bench *bench)
{
    (void)printf("%-54s %12s %12s %8s",
                 bench->name,
                 "ours",
                 peer_name(bench),
                 "ratio");
    if (bench->other_name != NULL) {
        (void)printf(" %12s %8s", bench->other_name, "ratio");
    }
    (void)printf(" %7s %10s  %s\n", "spread", "bar", "verdict");
}

static unsigned print_table(struct bench *bench)
{
    unsigned missed = 0;
    if (!bench->silent) {
        print_head(bench);
    }
    VEC_FOREACH (&bench->rows, row) {
        if (!bench->silent) {
            print_row(bench, row);
        }
        missed += is_met(row) ? 0U : 1U;
    }
    if (missed > 0 && !bench->silent) {
        (void)printf("%u of %zu rows missed their bar\n",
                     missed,
                     bench->rows.count);
    }
    return missed;
}

/* -- The file ------------------------------------------------------------ */

static struct value with(struct value object,
                         const char *key,
                         struct value item)
{
    return object_set_adopt(object, value_text_new(key), item);
}

static struct value rounded(double figure)
{
    return value_double(round(figure * 1000) / 1000);
}

static struct value with_counts(struct value value,
                                const struct bench_counts *counts)
{
    if (counts->has_runs) {
        value = with(value, "runs", value_int((int64_t)counts->runs));
        value =
            with(value, "runs_expected", value_int((int64_t)counts->expected));
    }
    if (counts->has_allocations) {
        value =
            with(value, "allocations", value_int((int64_t)counts->allocations));
    }
    return value;
}

static struct value row_value(const struct bench_row *row)
{
    struct value value = value_empty_object();
    value = with(value, "workload", value_text_new(row->name));
    value = with(value, "unit", value_text_new(row->unit));
    value = with(value, "ours", rounded(row->ours));
    if (has_peer(row)) {
        char ratio[16];
        ratio_text(ratio, row, row->peer);
        value = with(value, "peer", rounded(row->peer));
        value = with(value, "ratio", value_text_new(ratio));
    }
    if (row->other > 0) {
        char ratio[16];
        ratio_text(ratio, row, row->other);
        value = with(value, "other", rounded(row->other));
        value = with(value, "other_ratio", value_text_new(ratio));
    }
    value = with_counts(value, &row->counts);
    if (row->note[0] != '\0') {
        value = with(value, "note", value_text_new(row->note));
    }
    if (row->spread > 0) {
        value = with(value, "spread_percent", rounded(row->spread));
        value = with(value, "apart_percent", rounded(row->apart));
    }
    if (has_bar(row)) {
        char bar[24];
        bar_text(bar, row);
        value = with(value, "bar", value_text_new(bar));
        value = with(value, "met", value_bool(is_met(row)));
    }
    return value;
}

/* What the file holds, so that the benchmarks share one; {} if that is not an
 * object. */
static struct value file_read(const char *name)
{
    struct value value = VALUE_NONE;
    struct buf text = {0};
    FILE *file = fopen(name, "r");
    if (file != NULL) {
        size_t got = 0;
        do {
            got = fread(buf_reserve(&text, 65536), 1, 65536, file);
            buf_advance(&text, got);
        } while (got > 0);
        (void)fclose(file);
        const enum err err =
            json_read(buf_text(&text), text.length, NULL, &value, NULL);
        if (err != ERR_OK || !value_is_object(value)) {
            value_unref(value);
            value = VALUE_NONE;
        }
    }
    buf_release(&text);
    return value_is_absent(value) ? value_empty_object() : value;
}

static bool file_write(const char *name, struct value value)
{
    struct buf text = {0};
    json_write(&text, value, JSON_AS_GIVEN, 2);
    buf_append_char(&text, '\n');
    FILE *file = fopen(name, "w");
    bool written = false;
    if (file != NULL) {
        written = fwrite(text.at, 1, text.length, file) == text.length;
        written = fclose(file) == 0 && written;
    }
    buf_release(&text);
    return written;
}

static bool save(struct bench *bench)
{
    struct value rows = value_empty_array();
    VEC_FOREACH (&bench->rows, row) {
        rows = array_push_adopt(rows, row_value(row));
    }
    struct value run = value_empty_object();
    run = with(run, "quick", value_bool(bench->quick));
    run = with(run, "peer", value_text_new(peer_name(bench)));
    if (bench->other_name != NULL) {
        run = with(run, "other", value_text_new(bench->other_name));
    }
    run = with(run, "wrong", value_int(bench->wrong));
    run = with(run, "rows", rows);
    struct value all = with(file_read(bench->json), bench->name, run);
    const bool written = file_write(bench->json, all);
    value_unref(all);
    return written;
}

/* -- The program --------------------------------------------------------- */

static void print_help(const char *name)
{
    (void)printf("usage: bench_%s [OPTION...]\n"
                 "\n"
                 "  --quick      short rounds, for a first impression\n"
                 "  --only TEXT  the workloads whose name contains TEXT\n"
                 "  --json FILE  where the figures go (bench/results.json);\n"
                 "               '' is nowhere\n"
                 "  --peers      also beside libraries that have to be\n"
                 "               installed (sched)\n"
                 "  --strict     exit code 1 if a bar is missed\n"
                 "  --silent     no table: for who reads the file\n"
                 "  --help       this\n",
                 name);
}

/* Stays on the CPU where it is; not being allowed to is no problem. */
static void pin(void)
{
    cpu_set_t set;
    const int cpu = sched_getcpu();
    CPU_ZERO(&set);
    if (cpu >= 0) {
        CPU_SET((unsigned)cpu, &set);
        (void)sched_setaffinity(0, sizeof set, &set);
    }
}

bool bench_begin(struct bench *bench,
                 const char *name,
                 int argc,
                 char **argv,
                 int *exit_code)
{
    *bench = (struct bench){.name = name, .json = "bench/results.json"};
    *exit_code = 0;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--quick") == 0) {
            bench->quick = true;
        } else if (strcmp(argv[i], "--strict") == 0) {
            bench->strict = true;
        } else if (strcmp(argv[i], "--silent") == 0) {
            bench->silent = true;
        } else if (strcmp(argv[i], "--peers") == 0) {
            bench->peers = true;
        } else if (strcmp(argv[i], "--json") == 0 && i + 1 < argc) {
            bench->json = argv[++i];
        } else if (strcmp(argv[i], "--only") == 0 && i + 1 < argc) {
            bench->filter = argv[++i];
        } else if (strcmp(argv[i], "--help") == 0) {
            print_help(name);
            return false;
        } else {
            (void)fprintf(stderr,
                          "bench_%s: what is %s? See --help.\n",
                          name,
                          argv[i]);
            *exit_code = 2;
            return false;
        }
    }
    pin();
    return true;
}

int bench_end(struct bench *bench)
{
    const unsigned missed = print_table(bench);
    int exit_code = bench->wrong > 0 || (missed > 0 && bench->strict) ? 1 : 0;
    if (bench->json[0] != '\0' && !save(bench)) {
        (void)fprintf(stderr, "cannot write %s\n", bench->json);
        exit_code = 2;
    }
    vec_release(&bench->rows);
    return exit_code;
}
