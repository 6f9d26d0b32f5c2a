/* The metrics of the server, as Prometheus reads them. */

#include "server/metrics.h"

#include <stdio.h>
#include <string.h>

#include "lib/test.h"

static void expect_line(const struct buf *text, const char *line)
{
    struct buf with_ends = {0};
    buf_printf(&with_ends, "\n%s\n", line);
    EXPECT_CONTAINS(buf_text(text), buf_text(&with_ends));
    buf_release(&with_ends);
}

TEST(counters_gauges_and_codes_are_written_with_help_and_type)
{
    struct metrics metrics = {.start_ms = 1794917775647, .version = "0.1.0"};
    struct buf text = {0};
    metrics_count(&metrics, METRICS_FANOUT_BYTES, 700);
    metrics_add(&metrics, METRICS_NOW_CHANNELS, 3);
    metrics_add(&metrics, METRICS_NOW_CHANNELS, -1);
    metrics_set(&metrics, METRICS_NOW_DRAINING, 1);
    metrics_commit(&metrics, ERR_OK);
    metrics_commit(&metrics, ERR_OK);
    metrics_commit(&metrics, ERR_CONFLICT);
    metrics_error(&metrics, ERR_ACCESS);
    metrics_answer(&metrics, 204);
    metrics_answer(&metrics, 404);
    metrics_set_depth(&metrics, 1, 5);
    metrics_write(&metrics, NULL, &text);
    expect_line(&text, "# TYPE heddle_fanout_bytes_total counter");
    expect_line(&text, "heddle_fanout_bytes_total 700");
    expect_line(&text, "# TYPE heddle_channels gauge");
    expect_line(&text, "heddle_channels 2");
    expect_line(&text, "heddle_draining 1");
    expect_line(&text, "heddle_commits_total{verdict=\"OK\"} 2");
    expect_line(&text, "heddle_commits_total{verdict=\"CONFLICT\"} 1");
    expect_line(&text, "heddle_errors_total{code=\"ACCESS\"} 1");
    expect_line(&text, "heddle_http_requests_total{code=\"2xx\"} 1");
    expect_line(&text, "heddle_http_requests_total{code=\"4xx\"} 1");
    expect_line(&text, "heddle_http_requests_total{code=\"5xx\"} 0");
    expect_line(&text, "heddle_worker_queue_depth{worker=\"0\"} 0");
    expect_line(&text, "heddle_worker_queue_depth{worker=\"1\"} 5");
    expect_line(&text, "heddle_build_info{version=\"0.1.0\"} 1");
    expect_line(&text, "heddle_start_time_seconds 1794917775.647");
    EXPECT(strstr(buf_text(&text), "connections_accepted") == NULL);
    buf_release(&text);
}

TEST(buckets_of_a_histogram_are_cumulative_and_in_seconds)
{
    struct metrics metrics = {0};
    struct buf text = {0};
    metrics_observe(&metrics, METRICS_OF_GROUP_TIME, 10);
    metrics_observe(&metrics, METRICS_OF_GROUP_TIME, 11);
    metrics_observe(&metrics, METRICS_OF_GROUP_TIME, 1500000);
    metrics_observe(&metrics, METRICS_OF_GROUP_TIME, 99000000);
    metrics_observe(&metrics, METRICS_OF_GROUP_SIZE, 5);
    metrics_write(&metrics, NULL, &text);
    expect_line(&text, "# TYPE heddle_commit_group_seconds histogram");
    expect_line(&text, "heddle_commit_group_seconds_bucket{le=\"0.00001\"} 1");
    expect_line(&text, "heddle_commit_group_seconds_bucket{le=\"0.00002\"} 2");
    expect_line(&text, "heddle_commit_group_seconds_bucket{le=\"1\"} 2");
    expect_line(&text, "heddle_commit_group_seconds_bucket{le=\"2\"} 3");
    expect_line(&text, "heddle_commit_group_seconds_bucket{le=\"10\"} 3");
    expect_line(&text, "heddle_commit_group_seconds_bucket{le=\"+Inf\"} 4");
    expect_line(&text, "heddle_commit_group_seconds_sum 100.500021");
    expect_line(&text, "heddle_commit_group_seconds_count 4");
    expect_line(&text, "heddle_commit_group_size_bucket{le=\"4\"} 0");
    expect_line(&text, "heddle_commit_group_size_bucket{le=\"6\"} 1");
    expect_line(&text, "heddle_commit_group_size_sum 5");
    buf_release(&text);
}

TEST(the_counters_of_the_network_are_written_if_they_are_known)
{
    struct metrics metrics = {0};
    struct buf text = {0};
    const struct net_counters net = {
        .connections = 7,
        .slow = 2,
        .queued_bytes = 4096,
    };
    metrics_write(&metrics, &net, &text);
    expect_line(&text, "heddle_connections 7");
    expect_line(&text, "heddle_connections_slow_total 2");
    expect_line(&text, "heddle_send_queue_bytes 4096");
    buf_release(&text);
}

TEST(codes_and_workers_beyond_the_tables_are_not_lost)
{
    struct metrics metrics = {0};
    struct buf text = {0};
    metrics_error(&metrics, (enum err)4711);
    metrics_set_depth(&metrics, 1000, 3);
    metrics_answer(&metrics, 999);
    metrics_write(&metrics, NULL, &text);
    expect_line(&text, "heddle_errors_total{code=\"unknown\"} 1");
    expect_line(&text, "heddle_worker_queue_depth{worker=\"63\"} 3");
    buf_release(&text);
}

/* Each series belongs to the metric whose type was written last before it, and
 * no metric is written twice: Prometheus refuses a text that breaks this. */
TEST(every_line_belongs_to_the_type_above_it)
{
    struct metrics metrics = {.version = "0.1.0"};
    struct buf text = {0};
    const struct net_counters net = {0};
    metrics_commit(&metrics, ERR_OK);
    metrics_error(&metrics, ERR_ACCESS);
    metrics_set_depth(&metrics, 0, 1);
    metrics_write(&metrics, &net, &text);
    char name[128] = "";
    unsigned types = 0;
    const char *line = buf_text(&text);
    while (*line != '\0') {
        const size_t length = strcspn(line, "\n");
        if (strncmp(line, "# TYPE ", 7) == 0) {
            (void)snprintf(name,
                           sizeof name,
                           "%.*s",
                           (int)strcspn(line + 7, " "),
                           line + 7);
            struct buf type = {0};
            buf_printf(&type, "# TYPE %s ", name);
            const char *first = strstr(buf_text(&text), buf_text(&type));
            EXPECT(first == line);
            buf_release(&type);
            types++;
        } else if (line[0] != '#') {
            EXPECT(strncmp(line, name, strlen(name)) == 0);
        }
        line += length + 1;
    }
    EXPECT_EQ(types,
              METRICS_COUNTER_COUNT + METRICS_GAUGE_COUNT +
                  METRICS_HISTOGRAM_COUNT + 2 + 4 + 9);
    buf_release(&text);
}
