/* Joining a graph of documents with one selector, and keeping up with it.
 *
 * A list of links to 10,000 documents of about 100 bytes. A session joins: from
 * the arrival of its watch to the text of the answer, with the caches of the
 * engine empty, and with them full. Beside it, a session that knows all ids and
 * watches them by name, which needs a second round trip and reads the same
 * documents. Then single changes: of one of the documents, and of the list. */

#include <stdio.h>
#include <stdlib.h>

#include "host/hub.h"
#include "lib/bench.h"
#include "value/json.h"

enum {
    DOCUMENTS = 10000,
    GROUP = 1000,
};

struct graph {
    struct engine engine;
    struct hub hub;
    struct path_table paths;
    struct hub_peer *writer;
    struct hub_peer *reader;
    uint64_t numbers[2]; /* of the last message of each */
    uint64_t local_seq;
    struct buf line;
    struct buf out;
    struct message selector;
    struct message names;
    size_t upserts; /* of the last message */
    bool cold;
};

static void stop_if(enum err err, const char *what)
{
    if (err != ERR_OK) {
        (void)fprintf(stderr, "bench_reach: %s: %s\n", what, err_name(err));
        exit(1);
    }
}

static void on_send(void *ctx, struct message *message)
{
    struct graph *graph = ctx;
    buf_clear(&graph->out);
    message_append(&graph->out, message);
    graph->upserts = message->upserts.count;
    message_release(message);
}

static void on_broken(void *ctx)
{
    (void)ctx;
    stop_if(ERR_CLOSED, "broken");
}

static void read_line(struct graph *graph, struct message *out)
{
    struct value value;
    stop_if(json_read(graph->line.at, graph->line.length, NULL, &value, NULL),
            "json");
    stop_if(message_read(value, &graph->paths, out, NULL), "message");
    value_unref(value);
}

static void receive_line(struct graph *graph, struct hub_peer *peer)
{
    struct message message;
    read_line(graph, &message);
    hub_receive(peer, &message);
    message_release(&message);
}

/* -- Writing ------------------------------------------------------------- */

static void begin_commit(struct graph *graph)
{
    buf_clear(&graph->line);
    buf_printf(&graph->line,
               "{\"kind\":\"commits\",\"connection\":1,\"number\":%llu,"
               "\"commits\":[{\"session\":\"writer\",\"localSeq\":%llu,"
               "\"operations\":[",
               (unsigned long long)++graph->numbers[0],
               (unsigned long long)++graph->local_seq);
}

static void end_commit(struct graph *graph)
{
    buf_append_text(&graph->line, "]}]}");
    receive_line(graph, graph->writer);
}

static void add_document(struct graph *graph, unsigned number)
{
    buf_printf(&graph->line,
               "%s{\"op\":\"set\",\"id\":\"of:document-%u\",\"value\":"
               "{\"value\":{\"title\":\"a document of about a hundred bytes\","
               "\"number\":%u,\"done\":false,\"count\":%llu}}}",
               graph->line.at[graph->line.length - 1] == '[' ? "" : ",",
               number,
               number,
               (unsigned long long)graph->local_seq);
}

/* With one more link than documents if `more`: to one that does not exist. */
static void add_list(struct graph *graph, bool more)
{
    buf_append_text(&graph->line,
                    "{\"op\":\"set\",\"id\":\"of:list\",\"value\":"
                    "{\"value\":[");
    for (unsigned i = 0; i < DOCUMENTS + (more ? 1 : 0); i++) {
        buf_printf(&graph->line,
                   "%s{\"/\":{\"link@1\":{\"id\":\"of:document-%u\"}}}",
                   i > 0 ? "," : "",
                   i);
    }
    buf_append_text(&graph->line, "]}}");
}

static void write_graph(struct graph *graph)
{
    for (unsigned i = 0; i < DOCUMENTS;) {
        begin_commit(graph);
        for (const unsigned end = i + GROUP; i < end; i++) {
            add_document(graph, i);
        }
        end_commit(graph);
    }
    begin_commit(graph);
    add_list(graph, false);
    end_commit(graph);
}

/* -- Joining ------------------------------------------------------------- */

static void make_watches(struct graph *graph)
{
    buf_clear(&graph->line);
    buf_append_text(&graph->line,
                    "{\"kind\":\"watch\",\"connection\":1,\"number\":2,"
                    "\"selectors\":[{\"id\":\"x\",\"root\":"
                    "{\"id\":\"of:list\"}}]}");
    read_line(graph, &graph->selector);
    buf_clear(&graph->line);
    buf_append_text(&graph->line,
                    "{\"kind\":\"watch\",\"connection\":1,\"number\":2,"
                    "\"targets\":[{\"id\":\"of:list\"}");
    for (unsigned i = 0; i < DOCUMENTS; i++) {
        buf_printf(&graph->line, ",{\"id\":\"of:document-%u\"}", i);
    }
    buf_append_text(&graph->line, "]}");
    read_line(graph, &graph->names);
}

/* A new session, which holds nothing. */
static void open_reader(struct graph *graph)
{
    if (graph->reader != NULL) {
        hub_detach(graph->reader);
        hub_step(&graph->hub, graph->hub.now + 2 * HUB_KEEP_MS);
    }
    graph->reader =
        hub_attach(&graph->hub, VALUE_NONE, on_send, on_broken, graph);
    buf_clear(&graph->line);
    buf_append_text(&graph->line,
                    "{\"kind\":\"open\",\"connection\":1,\"number\":1,"
                    "\"seenSeq\":0,\"session\":\"reader\"}");
    receive_line(graph, graph->reader);
}

static void join(struct graph *graph, struct message *watch, uint64_t times)
{
    while (times-- > 0) {
        bench_pause();
        open_reader(graph);
        if (graph->cold) {
            engine_forget(&graph->engine);
        }
        bench_resume();
        hub_receive(graph->reader, watch);
        if (graph->upserts != DOCUMENTS + 1) {
            stop_if(ERR_NOT_FOUND, "documents are missing");
        }
    }
}

static void run_join(void *ctx, uint64_t times)
{
    struct graph *graph = ctx;
    join(graph, &graph->selector, times);
}

static void run_join_by_name(void *ctx, uint64_t times)
{
    struct graph *graph = ctx;
    join(graph, &graph->names, times);
}

/* -- Changes ------------------------------------------------------------- */

static void run_change(void *ctx, uint64_t times)
{
    struct graph *graph = ctx;
    while (times-- > 0) {
        begin_commit(graph);
        add_document(graph, (unsigned)(graph->local_seq % DOCUMENTS));
        end_commit(graph);
        hub_flush(&graph->hub);
    }
}

static void run_list_change(void *ctx, uint64_t times)
{
    struct graph *graph = ctx;
    while (times-- > 0) {
        bench_pause();
        begin_commit(graph);
        add_list(graph, graph->local_seq % 2 == 0);
        end_commit(graph);
        bench_resume();
        hub_flush(&graph->hub);
    }
}

/* -- The rows ------------------------------------------------------------ */

static void graph_begin(struct graph *graph)
{
    const struct engine_options options = {
        .durability = DURABILITY_MEMORY,
        .documents_cached = 2 * DOCUMENTS,
    };
    stop_if(engine_open(&graph->engine, &options, NULL), "engine");
    const struct hub_options hub_options = {.seed = 1};
    hub_init(&graph->hub, &graph->engine, &hub_options, 0);
    path_table_init(&graph->paths);
    graph->writer =
        hub_attach(&graph->hub, VALUE_NONE, on_send, on_broken, graph);
    buf_append_text(&graph->line,
                    "{\"kind\":\"open\",\"connection\":1,\"number\":1,"
                    "\"seenSeq\":0,\"session\":\"writer\"}");
    graph->numbers[0] = 1;
    receive_line(graph, graph->writer);
    write_graph(graph);
    make_watches(graph);
}

static void graph_end(struct graph *graph)
{
    hub_detach(graph->writer);
    hub_detach(graph->reader);
    hub_release(&graph->hub);
    engine_close(&graph->engine);
    message_release(&graph->selector);
    message_release(&graph->names);
    buf_release(&graph->line);
    buf_release(&graph->out);
    path_table_release(&graph->paths);
}

static void bench_graph(struct bench *bench, struct graph *graph)
{
    graph->cold = true;
    bench_run(bench,
              &(struct bench_case){
                  .name = "join 10,000 documents, cold, or by name",
                  .ours = run_join,
                  .peer = run_join_by_name,
                  .ctx = graph,
                  .bar = {BENCH_AT_MOST, 80e6},
                  .times = 1,
              });
    graph->cold = false;
    bench_run(bench,
              &(struct bench_case){
                  .name = "join 10,000 documents, warm, or by name",
                  .ours = run_join,
                  .peer = run_join_by_name,
                  .ctx = graph,
                  .times = 1,
              });
    open_reader(graph);
    hub_receive(graph->reader, &graph->selector);
    bench_run(bench,
              &(struct bench_case){
                  .name = "a change of one of 10,000 documents",
                  .ours = run_change,
                  .ctx = graph,
                  .bar = {BENCH_AT_MOST, 200e3},
              });
    bench_run(bench,
              &(struct bench_case){
                  .name = "one link more or less in the list",
                  .ours = run_list_change,
                  .ctx = graph,
                  .times = 4,
              });
}

int main(int argc, char **argv)
{
    struct bench bench;
    int exit_code;
    if (!bench_begin(&bench, "reach", argc, argv, &exit_code)) {
        return exit_code;
    }
    struct graph *graph = calloc(1, sizeof *graph);
    CHECK(graph != NULL);
    graph_begin(graph);
    bench_graph(&bench, graph);
    graph_end(graph);
    free(graph);
    return bench_end(&bench);
}
