/* Messages as text, and the hub's fan-out.
 *
 * A commit with one operation, its verdict, and a sync with one document of
 * about 200 bytes: written directly against written as a value first, and read.
 * Then one commit to a document with 1,000 watchers, from its arrival to the
 * text in each watcher's buffer; and commits of 100 sessions, one by one
 * against as one group. */

#include <stdio.h>
#include <stdlib.h>

#include "host/hub.h"
#include "lib/bench.h"
#include "value/json.h"
#include "value/object.h"

enum {
    WATCHERS = 1000,
    AUTHORS = 100,
};

static const char commit_text[] =
    "{\"kind\":\"commits\",\"connection\":1,\"number\":7,\"commits\":["
    "{\"session\":\"s-0123456789abcdef\",\"localSeq\":7,\"reads\":{"
    "\"confirmed\":[{\"id\":\"of:document-1\",\"path\":[\"value\",\"count\"],"
    "\"seq\":6}]},\"operations\":[{\"op\":\"patch\",\"id\":\"of:document-1\","
    "\"patches\":[{\"op\":\"replace\",\"path\":\"/value/count\",\"value\":8}]}]"
    "}]}";

static const char verdict_text[] =
    "{\"kind\":\"verdicts\",\"connection\":1,\"number\":9,\"verdicts\":["
    "{\"seq\":12,\"localSeq\":7}]}";

static const char sync_text[] =
    "{\"kind\":\"sync\",\"connection\":1,\"number\":10,\"fromSeq\":11,"
    "\"toSeq\":12,\"caughtUpLocalSeq\":7,\"upserts\":[{\"id\":"
    "\"of:document-1\",\"seq\":12,\"document\":{\"value\":{\"count\":8,"
    "\"title\":\"a document of about two hundred bytes\",\"done\":false,"
    "\"tags\":[\"one\",\"two\",\"three\"],\"owner\":{\"name\":\"ann\","
    "\"since\":1700000000}}}}]}";

static void stop_if(enum err err, const char *what)
{
    if (err != ERR_OK) {
        (void)fprintf(stderr, "bench_message: %s: %s\n", what, err_name(err));
        exit(1);
    }
}

/* -- One message --------------------------------------------------------- */

struct sample {
    const char *text;
    size_t length;
    struct path_table paths;
    struct message message;
    struct buf out;
};

static void read_text(struct sample *sample, struct message *out)
{
    struct value value;
    stop_if(json_read(sample->text, sample->length, NULL, &value, NULL),
            "json");
    stop_if(message_read(value, &sample->paths, out, NULL), "message");
    value_unref(value);
}

static void run_append(void *ctx, uint64_t times)
{
    struct sample *sample = ctx;
    while (times-- > 0) {
        buf_clear(&sample->out);
        message_append(&sample->out, &sample->message);
    }
}

static void run_write(void *ctx, uint64_t times)
{
    struct sample *sample = ctx;
    while (times-- > 0) {
        buf_clear(&sample->out);
        struct value value = message_write(&sample->message);
        json_write(&sample->out, value, JSON_AS_GIVEN, 0);
        value_unref(value);
    }
}

static void run_read(void *ctx, uint64_t times)
{
    struct sample *sample = ctx;
    while (times-- > 0) {
        struct message message;
        read_text(sample, &message);
        message_release(&message);
    }
}

static void run_parse(void *ctx, uint64_t times)
{
    struct sample *sample = ctx;
    while (times-- > 0) {
        struct value value;
        stop_if(json_read(sample->text, sample->length, NULL, &value, NULL),
                "json");
        value_unref(value);
    }
}

static void bench_one(struct bench *bench, const char *what, const char *text)
{
    struct sample sample = {.text = text, .length = strlen(text)};
    char name[64];
    path_table_init(&sample.paths);
    read_text(&sample, &sample.message);
    (void)snprintf(name, sizeof name, "write a %s, against via a value", what);
    bench_run(bench,
              &(struct bench_case){
                  .name = name,
                  .ours = run_append,
                  .peer = run_write,
                  .ctx = &sample,
                  .bar = {BENCH_FASTER, 2},
              });
    if (strcmp(buf_text(&sample.out), text) != 0) {
        bench_wrong(bench, "%s is written as %s", what, buf_text(&sample.out));
    }
    (void)snprintf(name, sizeof name, "read a %s, against only parsed", what);
    bench_run(bench,
              &(struct bench_case){
                  .name = name,
                  .ours = run_read,
                  .peer = run_parse,
                  .ctx = &sample,
              });
    message_release(&sample.message);
    buf_release(&sample.out);
    path_table_release(&sample.paths);
}

/* -- A hub --------------------------------------------------------------- */

struct listener {
    struct hub_peer *peer;
    uint64_t number;
    uint64_t local_seq;
    char session[16];
    struct buf out;
};

struct fan {
    struct engine engine;
    struct hub hub;
    struct path_table paths;
    struct listener *listeners;
    size_t count;
    struct buf line;
};

static void on_send(void *ctx, struct message *message)
{
    struct listener *listener = ctx;
    buf_clear(&listener->out);
    message_append(&listener->out, message);
    message_release(message);
}

static void on_broken(void *ctx)
{
    (void)ctx;
    stop_if(ERR_CLOSED, "broken");
}

/* fan->line, as the next message of the listener. */
static void receive(struct fan *fan, struct listener *listener)
{
    struct value value;
    struct message message;
    stop_if(json_read(fan->line.at, fan->line.length, NULL, &value, NULL),
            "json");
    stop_if(message_read(value, &fan->paths, &message, NULL), "message");
    value_unref(value);
    hub_receive(listener->peer, &message);
    message_release(&message);
}

static void say(struct fan *fan, struct listener *listener, const char *rest)
{
    buf_clear(&fan->line);
    buf_printf(&fan->line,
               "{\"connection\":1,\"number\":%llu,%s}",
               (unsigned long long)++listener->number,
               rest);
    receive(fan, listener);
}

static void say_commit(struct fan *fan, size_t at)
{
    struct listener *listener = &fan->listeners[at];
    listener->local_seq++;
    buf_clear(&fan->line);
    buf_printf(&fan->line,
               "{\"connection\":1,\"number\":%llu,\"kind\":\"commits\","
               "\"commits\":[{\"session\":\"%s\",\"localSeq\":%llu,"
               "\"operations\":[{\"op\":\"patch\",\"id\":\"of:d%zu\","
               "\"patches\":[{\"op\":\"replace\",\"path\":\"/value/count\","
               "\"value\":%llu}]}]}]}",
               (unsigned long long)++listener->number,
               listener->session,
               (unsigned long long)listener->local_seq,
               fan->count == WATCHERS ? (size_t)0 : at,
               (unsigned long long)listener->local_seq);
    receive(fan, listener);
}

static void fan_begin(struct fan *fan, size_t count, bool deltas)
{
    *fan = (struct fan){.count = count};
    const struct engine_options options = {.durability = DURABILITY_MEMORY};
    stop_if(engine_open(&fan->engine, &options, NULL), "engine");
    const struct hub_options hub_options = {.seed = 1};
    hub_init(&fan->hub, &fan->engine, &hub_options, 0);
    path_table_init(&fan->paths);
    fan->listeners = calloc(count, sizeof *fan->listeners);
    for (size_t i = 0; i < count; i++) {
        struct listener *one = &fan->listeners[i];
        char open[96];
        (void)snprintf(one->session, sizeof one->session, "s%zu", i);
        one->peer = hub_attach(&fan->hub, VALUE_NONE, on_send, on_broken, one);
        (void)snprintf(open,
                       sizeof open,
                       "\"kind\":\"open\",\"seenSeq\":0,\"session\":\"%s\","
                       "\"deltas\":%s",
                       one->session,
                       deltas ? "true" : "false");
        say(fan, one, open);
    }
    say(fan,
        &fan->listeners[0],
        "\"kind\":\"commits\",\"commits\":[{\"session\":\"s0\",\"localSeq\":1,"
        "\"operations\":[{\"op\":\"set\",\"id\":\"of:d0\",\"value\":{\"value\":"
        "{\"count\":8,\"title\":\"a document of about two hundred bytes\","
        "\"done\":false,\"tags\":[\"one\",\"two\",\"three\"],\"owner\":{"
        "\"name\":\"ann\",\"since\":1700000000}}}}]}]");
    fan->listeners[0].local_seq = 1;
}

static void fan_end(struct fan *fan)
{
    for (size_t i = 0; i < fan->count; i++) {
        hub_detach(fan->listeners[i].peer);
        buf_release(&fan->listeners[i].out);
    }
    free(fan->listeners);
    hub_release(&fan->hub);
    engine_close(&fan->engine);
    path_table_release(&fan->paths);
    buf_release(&fan->line);
}

static void run_fan(void *ctx, uint64_t times)
{
    struct fan *fan = ctx;
    while (times-- > 0) {
        say_commit(fan, 0);
        hub_flush(&fan->hub);
    }
}

static void run_single(void *ctx, uint64_t times)
{
    struct fan *fan = ctx;
    while (times-- > 0) {
        for (size_t i = 0; i < fan->count; i++) {
            say_commit(fan, i);
        }
        hub_flush(&fan->hub);
    }
}

static void run_group(void *ctx, uint64_t times)
{
    struct fan *fan = ctx;
    while (times-- > 0) {
        hub_group_begin(&fan->hub);
        for (size_t i = 0; i < fan->count; i++) {
            say_commit(fan, i);
        }
        hub_group_end(&fan->hub);
        hub_flush(&fan->hub);
    }
}

static void bench_fan(struct bench *bench, struct fan *fan, bool deltas)
{
    fan_begin(fan, WATCHERS, deltas);
    for (size_t i = 0; i < WATCHERS; i++) {
        say(fan,
            &fan->listeners[i],
            "\"kind\":\"watch\",\"targets\":[{\"id\":\"of:d0\"}]");
    }
    bench_run(bench,
              &(struct bench_case){
                  .name = deltas ? "the same as a delta"
                                 : "a commit to 1,000 watchers, per watcher",
                  .ours = run_fan,
                  .ctx = fan,
                  .units = WATCHERS,
                  .bar = {BENCH_AT_MOST, 1000},
              });
    fan_end(fan);
}

static void bench_hub(struct bench *bench)
{
    struct fan *fan = malloc(sizeof *fan);
    CHECK(fan != NULL);
    bench_fan(bench, fan, false);
    bench_fan(bench, fan, true);
    fan_begin(fan, AUTHORS, false);
    bench_run(bench,
              &(struct bench_case){
                  .name = "commits of 100 sessions as one group, or single",
                  .ours = run_group,
                  .peer = run_single,
                  .ctx = fan,
                  .units = AUTHORS,
              });
    fan_end(fan);
    free(fan);
}

int main(int argc, char **argv)
{
    struct bench bench;
    int exit_code;
    if (!bench_begin(&bench, "message", argc, argv, &exit_code)) {
        return exit_code;
    }
    bench.peer_name = "other way";
    bench_one(&bench, "commit", commit_text);
    bench_one(&bench, "verdict", verdict_text);
    bench_one(&bench, "sync", sync_text);
    bench_hub(&bench);
    return bench_end(&bench);
}
