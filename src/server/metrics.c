/* Metrics as text. See metrics.h. */

#include "server/metrics.h"

#include <inttypes.h>

#define PREFIX "heddle_"

/* -- Tables -------------------------------------------------------------- */

struct metrics_row {
    const char *name;
    const char *help;
};

static const struct metrics_row counters[] = {
#define X(name, text, help) {PREFIX text, help},
    METRICS_COUNTERS(X)
#undef X
};

static const struct metrics_row gauges[] = {
#define X(name, text, help) {PREFIX text, help},
    METRICS_GAUGES(X)
#undef X
};

/* The last bucket has no bound, so each table is one shorter. */
enum {
    BOUNDS = METRICS_BUCKETS - 1
};

static const uint64_t SIZES[BOUNDS] = {
    1,  2,  3,  4,   6,   8,   12,   16,   24,   32,
    48, 64, 96, 128, 256, 512, 1024, 2048, 4096,
};

/* 10 us to 10 s, three per decade. */
static const uint64_t MICROSECONDS[BOUNDS] = {
    10,     20,      50,      100,     200,      500,    1000,
    2000,   5000,    10000,   20000,   50000,    100000, 200000,
    500000, 1000000, 2000000, 5000000, 10000000,
};

static const struct histogram_row {
    struct metrics_row row;
    const uint64_t *bounds;
    uint64_t scale;
} histograms[] = {
#define X(name, text, bounds, scale, help) {{PREFIX text, help}, bounds, scale},
    METRICS_HISTOGRAMS(X)
#undef X
};

/* -- Counting ------------------------------------------------------------ */

static void add_one(_Atomic uint64_t *to)
{
    atomic_fetch_add_explicit(to, 1, memory_order_relaxed);
}

/* Codes of a newer version share the last place. */
static size_t place_of(enum err err)
{
    const size_t number = (size_t)err;
    return number < METRICS_ERRORS ? number : METRICS_ERRORS - 1;
}

void metrics_commit(struct metrics *metrics, enum err verdict)
{
    add_one(&metrics->commits[place_of(verdict)]);
}

void metrics_error(struct metrics *metrics, enum err err)
{
    add_one(&metrics->errors[place_of(err)]);
}

void metrics_answer(struct metrics *metrics, unsigned status)
{
    const unsigned digit = status / 100;
    add_one(&metrics->requests[digit < METRICS_STATUSES ? digit : 0]);
}

void metrics_set_depth(struct metrics *metrics, unsigned worker, int64_t depth)
{
    const unsigned at = worker < METRICS_WORKERS ? worker : METRICS_WORKERS - 1;
    atomic_store_explicit(&metrics->depths[at], depth, memory_order_relaxed);
    uint32_t known =
        atomic_load_explicit(&metrics->workers, memory_order_relaxed);
    while (known <= at &&
           !atomic_compare_exchange_weak_explicit(&metrics->workers,
                                                  &known,
                                                  at + 1,
                                                  memory_order_relaxed,
                                                  memory_order_relaxed)) {
    }
}

void metrics_observe(struct metrics *metrics,
                     enum metrics_histogram histogram,
                     uint64_t observed)
{
    const uint64_t *bounds = histograms[histogram].bounds;
    size_t bucket = 0;
    while (bucket < BOUNDS && observed > bounds[bucket]) {
        bucket++;
    }
    struct metrics_buckets *buckets = &metrics->histograms[histogram];
    add_one(&buckets->counts[bucket]);
    atomic_fetch_add_explicit(&buckets->sum, observed, memory_order_relaxed);
}

/* -- Writing ------------------------------------------------------------- */

static uint64_t load(const _Atomic uint64_t *from)
{
    return atomic_load_explicit(from, memory_order_relaxed);
}

static void write_head(struct buf *to,
                       const struct metrics_row *row,
                       const char *type)
{
    buf_printf(to,
               "# HELP %s %s\n# TYPE %s %s\n",
               row->name,
               row->help,
               row->name,
               type);
}

static void write_number(struct buf *to,
                         const char *name,
                         const char *help,
                         const char *type,
                         uint64_t number)
{
    const struct metrics_row row = {name, help};
    write_head(to, &row, type);
    buf_printf(to, "%s %" PRIu64 "\n", name, number);
}

/* `number` / `scale`, exactly: scales are powers of ten. */
static void write_scaled(struct buf *to, uint64_t number, uint64_t scale)
{
    buf_printf(to, "%" PRIu64, number / scale);
    uint64_t rest = number % scale;
    if (rest == 0) {
        return;
    }
    buf_append_char(to, '.');
    for (uint64_t digit = scale / 10; rest > 0; digit /= 10) {
        buf_append_char(to, (char)('0' + rest / digit));
        rest %= digit;
    }
}

static void write_histogram(struct buf *to,
                            const struct histogram_row *row,
                            const struct metrics_buckets *buckets)
{
    const char *name = row->row.name;
    uint64_t count = 0; /* metrics-2 */
    write_head(to, &row->row, "histogram");
    for (size_t i = 0; i < METRICS_BUCKETS; i++) {
        count += load(&buckets->counts[i]);
        buf_printf(to, "%s_bucket{le=\"", name);
        if (i < BOUNDS) {
            write_scaled(to, row->bounds[i], row->scale);
        } else {
            buf_append_text(to, "+Inf");
        }
        buf_printf(to, "\"} %" PRIu64 "\n", count);
    }
    buf_printf(to, "%s_sum ", name);
    write_scaled(to, load(&buckets->sum), row->scale);
    buf_printf(to, "\n%s_count %" PRIu64 "\n", name, count);
}

/* A series per code that has occurred. */
static void write_codes(struct buf *to,
                        const struct metrics_row *row,
                        const char *label,
                        const _Atomic uint64_t counts[METRICS_ERRORS])
{
    write_head(to, row, "counter");
    for (size_t i = 0; i < METRICS_ERRORS; i++) {
        const uint64_t count = load(&counts[i]);
        if (count > 0) {
            buf_printf(to,
                       "%s{%s=\"%s\"} %" PRIu64 "\n",
                       row->name,
                       label,
                       err_name((enum err)i),
                       count);
        }
    }
}

static void write_requests(struct buf *to, const struct metrics *metrics)
{
    static const struct metrics_row row = {
        PREFIX "http_requests_total",
        "HTTP requests that were answered, by the class of their status.",
    };
    write_head(to, &row, "counter");
    for (unsigned i = 1; i < METRICS_STATUSES; i++) {
        buf_printf(to,
                   "%s{code=\"%uxx\"} %" PRIu64 "\n",
                   row.name,
                   i,
                   load(&metrics->requests[i]));
    }
}

static void write_depths(struct buf *to, const struct metrics *metrics)
{
    static const struct metrics_row row = {
        PREFIX "worker_queue_depth",
        "Messages that wait for a worker now.",
    };
    write_head(to, &row, "gauge");
    const uint32_t workers =
        atomic_load_explicit(&metrics->workers, memory_order_relaxed);
    for (uint32_t i = 0; i < workers; i++) {
        buf_printf(
            to,
            "%s{worker=\"%" PRIu32 "\"} %" PRId64 "\n",
            row.name,
            i,
            atomic_load_explicit(&metrics->depths[i], memory_order_relaxed));
    }
}

static void write_net(struct buf *to, const struct net_counters *net)
{
    const struct {
        const char *name;
        const char *type;
        const char *help;
        uint64_t number;
    } rows[] = {
        {PREFIX "connections",
         "gauge",
         "WebSocket connections that are open now.",
         net->connections},
        {PREFIX "connections_accepted_total",
         "counter",
         "WebSocket connections that were accepted.",
         net->accepted},
        {PREFIX "connections_refused_total",
         "counter",
         "Connections that were refused because of a limit.",
         net->refused},
        {PREFIX "connections_slow_total",
         "counter",
         "Connections that were closed because the peer read too slowly.",
         net->slow},
        {PREFIX "received_messages_total",
         "counter",
         "Messages that were received.",
         net->received_messages},
        {PREFIX "received_bytes_total",
         "counter",
         "Bytes that were received.",
         net->received_bytes},
        {PREFIX "sent_messages_total",
         "counter",
         "Messages that were sent.",
         net->sent_messages},
        {PREFIX "sent_bytes_total",
         "counter",
         "Bytes that were sent.",
         net->sent_bytes},
        {PREFIX "send_queue_bytes",
         "gauge",
         "Bytes that wait to be sent to slow readers now.",
         net->queued_bytes},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        write_number(to,
                     rows[i].name,
                     rows[i].help,
                     rows[i].type,
                     rows[i].number);
    }
}

static void write_about(struct buf *to, const struct metrics *metrics)
{
    if (metrics->version != NULL) {
        static const struct metrics_row row = {
            PREFIX "build_info",
            "Always 1; the label has the version.",
        };
        write_head(to, &row, "gauge");
        buf_printf(to, "%s{version=\"%s\"} 1\n", row.name, metrics->version);
    }
    static const struct metrics_row row = {
        PREFIX "start_time_seconds",
        "When the server started, in seconds since 1970.",
    };
    write_head(to, &row, "gauge");
    buf_printf(to, "%s ", row.name);
    write_scaled(to, metrics->start_ms, 1000);
    buf_append_char(to, '\n');
}

void metrics_write(const struct metrics *metrics,
                   const struct net_counters *net,
                   struct buf *to)
{
    static const struct metrics_row commits = {
        PREFIX "commits_total",
        "Commits by their verdict; OK: landed.",
    };
    static const struct metrics_row errors = {
        PREFIX "errors_total",
        "Requests, attaches and messages that were refused, by code.",
    };
    write_about(to, metrics);
    for (size_t i = 0; i < METRICS_COUNTER_COUNT; i++) {
        write_head(to, &counters[i], "counter");
        buf_printf(to,
                   "%s %" PRIu64 "\n",
                   counters[i].name,
                   load(&metrics->counters[i]));
    }
    for (size_t i = 0; i < METRICS_GAUGE_COUNT; i++) {
        write_head(to, &gauges[i], "gauge");
        buf_printf(
            to,
            "%s %" PRId64 "\n",
            gauges[i].name,
            atomic_load_explicit(&metrics->gauges[i], memory_order_relaxed));
    }
    write_codes(to, &commits, "verdict", metrics->commits);
    write_codes(to, &errors, "code", metrics->errors);
    write_requests(to, metrics);
    write_depths(to, metrics);
    for (size_t i = 0; i < METRICS_HISTOGRAM_COUNT; i++) {
        write_histogram(to, &histograms[i], &metrics->histograms[i]);
    }
    if (net != NULL) {
        write_net(to, net);
    }
}
