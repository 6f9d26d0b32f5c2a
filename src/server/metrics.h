/* What the server counts, for /metrics.
 *
 * One struct metrics per server. The I/O thread and the workers add to it; the
 * route /metrics writes it in the text format of Prometheus, version 0.0.4.
 * A new metric is a row in one of the tables below.
 *
 *   metrics-1  Every word is atomic and changed with relaxed order. A metric
 *              orders nothing, and a reader may see one metric of an event and
 *              not yet another.
 *   metrics-2  Of a histogram, the count that is written is the sum of its
 *              buckets as they were read, so a reader always finds it
 *              consistent.
 *   metrics-3  Labels come from tables of this program, never from a client:
 *              the number of series is bounded.
 *
 * All zero is a metrics in which nothing has happened. */

#ifndef SERVER_METRICS_H
#define SERVER_METRICS_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "net/net.h"

/* clang-format off */

/* Only ever grow: metrics_count. */
#define METRICS_COUNTERS(X)                                                    \
    X(CHANNELS_ATTACHED, "channels_attached_total",                            \
      "Channels that were attached to a space.")                               \
    X(CHANNELS_REFUSED,  "channels_refused_total",                             \
      "Attaches that were refused.")                                           \
    X(SESSIONS_REVOKED,  "sessions_revoked_total",                             \
      "Sessions that lost their access or were taken over.")                   \
    X(GROUPS,            "commit_groups_total",                                \
      "Groups of commits, each one transaction of a space.")                   \
    X(FANOUT_MESSAGES,   "fanout_messages_total",                              \
      "Syncs that were sent to sessions.")                                     \
    X(FANOUT_BYTES,      "fanout_bytes_total",                                 \
      "Bytes of those syncs, before framing and compression.")                 \
    X(SPACES_OPENED,     "spaces_opened_total",                                \
      "Spaces that were opened.")                                              \
    X(SPACES_CLOSED,     "spaces_closed_total",                                \
      "Spaces that were closed because they were idle.")                       \
    X(EVENTS_STORED,     "events_stored_total",                                \
      "Events that were accepted over HTTP.")                                  \
    X(STREAMS_RESUMED,   "watch_streams_resumed_total",                        \
      "Streams of server-sent events that continued at a Last-Event-ID.")

/* Go up and down: metrics_add, also with a negative number, or metrics_set. */
#define METRICS_GAUGES(X)                                                      \
    X(CHANNELS,          "channels",                                           \
      "Channels that are attached to a space now.")                            \
    X(SESSIONS,          "sessions",                                           \
      "Sessions of open spaces now, with and without a connection.")           \
    X(SPACES_OPEN,       "spaces_open",                                        \
      "Spaces that are open now.")                                             \
    X(STREAMS,           "watch_streams",                                      \
      "Streams of server-sent events that are open now.")                      \
    X(EVENTS_WAITING,    "event_requests_waiting",                             \
      "HTTP requests that wait for the receipt of an event now.")              \
    X(DRAINING,          "draining",                                           \
      "1 while the server drains.")

/* metrics_observe. The bounds are in the unit of the observation; `scale`
 * divides them, and the sum, in what is written: Prometheus has seconds. */
#define METRICS_HISTOGRAMS(X)                                                  \
    X(GROUP_SIZE,        "commit_group_size", SIZES, 1,                        \
      "Commits per group.")                                                    \
    X(GROUP_TIME,        "commit_group_seconds", MICROSECONDS, 1000000,        \
      "The transactions of a group with their syncs to disk; observed in "     \
      "microseconds.")                                                         \
    X(REQUEST_TIME,      "http_request_seconds", MICROSECONDS, 1000000,        \
      "The work of a worker for one HTTP request; observed in microseconds.")

/* clang-format on */

enum metrics_counter {
#define X(name, text, help) METRICS_##name,
    METRICS_COUNTERS(X)
#undef X
    METRICS_COUNTER_COUNT
};

enum metrics_gauge {
#define X(name, text, help) METRICS_NOW_##name,
    METRICS_GAUGES(X)
#undef X
    METRICS_GAUGE_COUNT
};

enum metrics_histogram {
#define X(name, text, bounds, scale, help) METRICS_OF_##name,
    METRICS_HISTOGRAMS(X)
#undef X
    METRICS_HISTOGRAM_COUNT
};

enum {
    METRICS_ERRORS = 128, /* above every number of base/err.h */
    METRICS_BUCKETS = 20, /* with the last one, which has no bound */
    METRICS_WORKERS = 64, /* the depths of more are added to the last */
    METRICS_STATUSES = 6, /* of HTTP, by their first digit */
};

struct metrics_buckets {
    _Atomic uint64_t counts[METRICS_BUCKETS];
    _Atomic uint64_t sum;
};

struct metrics {
    _Atomic uint64_t counters[METRICS_COUNTER_COUNT];
    _Atomic int64_t gauges[METRICS_GAUGE_COUNT];
    struct metrics_buckets histograms[METRICS_HISTOGRAM_COUNT];
    _Atomic uint64_t commits[METRICS_ERRORS]; /* by verdict */
    _Atomic uint64_t errors[METRICS_ERRORS];  /* refusals, by code */
    _Atomic uint64_t requests[METRICS_STATUSES];
    _Atomic int64_t depths[METRICS_WORKERS]; /* of the queue of each worker */
    _Atomic uint32_t workers;                /* how many there are */

    /* Set before the threads start. */
    uint64_t start_ms;   /* of the server, wall clock */
    const char *version; /* of the server; NULL: not written */
};

static inline void metrics_count(struct metrics *metrics,
                                 enum metrics_counter counter,
                                 uint64_t more)
{
    atomic_fetch_add_explicit(&metrics->counters[counter],
                              more,
                              memory_order_relaxed);
}

static inline void metrics_add(struct metrics *metrics,
                               enum metrics_gauge gauge,
                               int64_t more)
{
    atomic_fetch_add_explicit(&metrics->gauges[gauge],
                              more,
                              memory_order_relaxed);
}

static inline void metrics_set(struct metrics *metrics,
                               enum metrics_gauge gauge,
                               int64_t now)
{
    atomic_store_explicit(&metrics->gauges[gauge], now, memory_order_relaxed);
}

/* How many messages wait for a worker, from 0 on. */
void metrics_set_depth(struct metrics *metrics, unsigned worker, int64_t depth);

/* A commit got this verdict (OK: it landed); a request, an attach or a message
 * was refused with this code. */
void metrics_commit(struct metrics *metrics, enum err verdict);
void metrics_error(struct metrics *metrics, enum err err);

/* An HTTP request was answered. */
void metrics_answer(struct metrics *metrics, unsigned status);

void metrics_observe(struct metrics *metrics,
                     enum metrics_histogram histogram,
                     uint64_t observed);

/* All of it, in the text format of Prometheus. `net` may be NULL. */
void metrics_write(const struct metrics *metrics,
                   const struct net_counters *net,
                   struct buf *to);

#endif
