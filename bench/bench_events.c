/* Events: what it costs to send one, to bring up to date what its handler
 * reads, to handle it, and to make that durable.
 *
 *   shapes      B15, B16 and B23 to B26 of the design, with runs and visits
 *               of the gate checked; in memory, and each run to a store
 *   throughput  events a second through one handler: in a space of its own
 *               authority with and without receipts, on a store in memory, and
 *               durable in groups beside the floor (lib/raw_store.h)
 *   chains      an event that sends the next one, a thousand times: how often
 *               the store is waited for
 *   growth      what the gate looks at with more and more nodes that are
 *               invalid, and not in its way */

#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/bench.h"
#include "lib/raw_store.h"
#include "sched/events.h"
#include "sched/handling.h"
#include "shapes/kit.h"
#include "value/object.h"

enum {
    DESKS_MAX = 8,
    ROUNDS = 4, /* in which the counters are checked */
    FAN = 512,
    GROUP_MAX = 1000,
    HOPS = 1000,
    NAME_SIZE = 64,
};

static void stop(const char *why)
{
    (void)fprintf(stderr, "bench_events: %s\n", why);
    exit(1);
}

/* -- Handlers ------------------------------------------------------------ */

struct post;

/* A stream, and a handler that adds what it reads to what it is sent. */
struct desk {
    struct post *post;
    struct stream *stream;
    struct place **reads;
    uint32_t count;
    uint32_t deep; /* of those; the others by shape */
    struct place *out;
};

struct post {
    struct kit kit;
    struct desk desks[DESKS_MAX];
    uint32_t desk_count;
    uint64_t handled;
    uint64_t done;
    uint64_t not_done;
    uint32_t hops; /* to be sent on */
    uint32_t size;
    unsigned group;
    struct raw_store floor;
};

static enum err declare(void *ctx,
                        struct value payload,
                        struct closure *closure,
                        struct err_detail *detail)
{
    const struct desk *desk = ctx;
    (void)payload;
    (void)detail;
    for (uint32_t i = 0; i < desk->count; i++) {
        closure_add(closure,
                    desk->reads[i],
                    i < desk->deep ? READ_DEEP : READ_SHAPE);
    }
    return ERR_OK;
}

static enum run_result handle(struct handling *handling, void *ctx)
{
    const struct desk *desk = ctx;
    double sum = value_real(handling_payload(handling));
    desk->post->handled++;
    for (uint32_t i = 0; i < desk->count; i++) {
        struct value value;
        if (run_read(handling->run,
                     desk->reads[i],
                     i < desk->deep ? READ_DEEP : READ_SHAPE,
                     READ_FOR_BOTH,
                     &value) == ERR_STALE) {
            return RUN_AGAIN;
        }
        sum += value_is_number(value) ? value_real(value) : 0;
        value_unref(value);
    }
    kit_put(&desk->post->kit,
            handling_transaction(handling),
            desk->out,
            value_double(sum));
    return RUN_DONE;
}

static void on_done(void *ctx, const struct event_result *result)
{
    struct post *post = ctx;
    post->done += result->outcome == EVENT_DONE;
    post->not_done += result->outcome != EVENT_DONE;
}

static struct desk *add_desk(struct post *post,
                             handler_fn *run,
                             struct place *out,
                             struct place **reads,
                             uint32_t count)
{
    CHECK(post->desk_count < DESKS_MAX);
    struct desk *desk = &post->desks[post->desk_count++];
    *desk = (struct desk){
        .post = post,
        .stream = events_stream(post->kit.sched, kit_document(&post->kit)),
        .reads = reads,
        .count = count,
        .deep = count,
        .out = out,
    };
    const struct handler_spec spec = {
        .run = run,
        .ctx = desk,
        .declare = count > 0 ? declare : NULL,
        .pure = true,
    };
    struct handler *handler;
    struct err_detail detail;
    if (events_handle(post->kit.sched,
                      desk->stream,
                      &spec,
                      &handler,
                      &detail) != ERR_OK) {
        stop(detail.text);
    }
    return desk;
}

static void send(struct desk *desk, double number)
{
    struct err_detail detail;
    const struct event_spec spec = {
        .payload = value_double(number),
        .done = on_done,
        .ctx = desk->post,
    };
    if (events_send(desk->post->kit.sched, desk->stream, &spec, &detail) !=
        ERR_OK) {
        stop(detail.text);
    }
}

static struct post *post_new(const struct kit_options *options,
                             bool no_receipts)
{
    struct post *post = calloc(1, sizeof *post);
    CHECK(post != NULL);
    kit_open_with(&post->kit, options);
    struct events_policy policy = events_policy();
    policy.no_receipts = no_receipts;
    policy.backlog = GROUP_MAX + 1;
    const struct value instance = value_text_new("bench");
    events_configure(post->kit.sched, &policy, instance);
    value_unref(instance);
    return post;
}

static void post_free(struct post *post)
{
    kit_close(&post->kit);
    free(post);
}

/* -- Shapes -------------------------------------------------------------- */

static double add(struct calc_run *at, const struct calc *calc)
{
    return kit_read(at, calc->in[0]) + calc->number;
}

static double multiply(struct calc_run *at, const struct calc *calc)
{
    return kit_read(at, calc->in[0]) * calc->number;
}

static double sum(struct calc_run *at, const struct calc *calc)
{
    double all = 0;
    for (uint32_t i = 0; i < calc->count; i++) {
        all += kit_read(at, calc->in[i]);
    }
    return all;
}

static double watch(struct calc_run *at, const struct calc *calc)
{
    return kit_read(at, calc->in[0]) + calc->number;
}

struct event_shape {
    const char *name;
    void (*build)(struct post *post, uint32_t size);
    void (*act)(struct post *post);
    uint32_t size;
    uint64_t handled; /* of one act, exactly */
    uint64_t runs;    /* of other nodes, exactly */
    uint64_t visits;  /* of the gate, at most, an event */
    double other_ms;  /* what the known implementation takes for one act, with
                         each run a commit to a store; 0: not known */
};

static void make_documents(struct post *post, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        (void)kit_document(&post->kit);
    }
}

/* source -> doubled -> one more; the handler writes to the fourth, and so many
 * effects to those behind it. */
static void build_root(struct post *post, uint32_t effects)
{
    struct kit *kit = &post->kit;
    make_documents(post, 4 + effects);
    (void)kit_compute(kit, multiply, 2, kit->places[0], kit->places[1]);
    (void)kit_compute(kit, add, 1, kit->places[1], kit->places[2]);
    for (uint32_t i = 0; i < effects; i++) {
        (void)kit_effect(kit, watch, i, 1, &kit->places[2], kit->places[4 + i]);
    }
    (void)add_desk(post, handle, kit->places[3], &kit->places[2], 1);
}

static void act_root(struct post *post)
{
    struct kit *kit = &post->kit;
    kit_write(kit, kit->places[0], ++kit->round + 1);
    send(&post->desks[0], 1);
    struct value value;
    (void)sched_pull(kit->sched, kit->places[3], kit->now, &value);
    value_unref(value);
    kit_idle(kit);
}

/* source -> shared -> fan -> target */
static void build_fan(struct post *post, uint32_t fan)
{
    struct kit *kit = &post->kit;
    make_documents(post, fan + 4);
    (void)kit_compute(kit, add, 1, kit->places[0], kit->places[1]);
    for (uint32_t i = 0; i < fan; i++) {
        (void)kit_compute(kit, add, i, kit->places[1], kit->places[2 + i]);
    }
    (void)
        kit_compute_many(kit, sum, fan, &kit->places[2], kit->places[fan + 2]);
    (void)
        add_desk(post, handle, kit->places[fan + 3], &kit->places[fan + 2], 1);
}

static void act_clean(struct post *post)
{
    for (uint32_t i = 0; i < post->desk_count; i++) {
        send(&post->desks[i], ++post->kit.round);
    }
    kit_idle(&post->kit);
}

static void act_changed(struct post *post)
{
    kit_write(&post->kit, post->kit.places[0], ++post->kit.round + 1);
    act_clean(post);
}

static void build_seven(struct post *post, uint32_t fan)
{
    build_fan(post, fan);
    struct kit *kit = &post->kit;
    for (uint32_t i = 1; i < 7; i++) {
        (void)
            add_desk(post, handle, kit_document(kit), &kit->places[fan + 2], 1);
    }
}

/* B26: a shared document, 660 with numbers and 330 with objects. */
enum {
    NUMBERS = 660,
    OBJECTS = 330,
    WRITERS = NUMBERS + OBJECTS,
    WRITERS_VISITED = 4 * WRITERS,
};

static enum run_result make_object(struct run *run, void *ctx)
{
    struct place *const *places = ctx; /* the shared one, and its own */
    struct value value;
    if (run_read(run, places[0], READ_DEEP, READ_FOR_BOTH, &value) ==
        ERR_STALE) {
        return RUN_AGAIN;
    }
    const struct value key = value_text_new("n");
    struct value object = value_empty_object();
    object = object_set_adopt(object, key, value);
    value_unref(key);
    struct err_detail detail;
    if (transaction_put_adopt(run->transaction, places[1], object, &detail) !=
        ERR_OK) {
        stop(detail.text);
    }
    return RUN_DONE;
}

static void free_places(void *ctx)
{
    free(ctx);
}

static void build_deep(struct post *post, uint32_t size)
{
    (void)size;
    struct kit *kit = &post->kit;
    make_documents(post, WRITERS + 2);
    struct desk *desk = add_desk(post,
                                 handle,
                                 kit->places[WRITERS + 1],
                                 &kit->places[1],
                                 WRITERS);
    desk->deep = NUMBERS;
}

static void register_deep(struct kit *kit)
{
    for (uint32_t i = 0; i < NUMBERS; i++) {
        (void)kit_compute(kit, add, i, kit->places[0], kit->places[1 + i]);
    }
    for (uint32_t i = 0; i < OBJECTS; i++) {
        struct place **own = malloc(2 * sizeof(struct place *));
        CHECK(own != NULL);
        own[0] = kit->places[0];
        own[1] = kit->places[1 + NUMBERS + i];
        (void)kit_register(kit,
                           &(struct node_spec){
                               .kind = NODE_COMPUTATION,
                               .run = make_object,
                               .ctx = own,
                               .release = free_places,
                               .outputs = &own[1],
                               .output_count = 1,
                               .reads = own,
                               .read_count = 1,
                           });
    }
}

/* Writers that have never run, each time. */
static void act_deep(struct post *post)
{
    bench_pause();
    kit_clear(&post->kit);
    register_deep(&post->kit);
    bench_resume();
    act_clean(post);
}

static const struct event_shape shapes[] = {
    {"B15 event root", build_root, act_root, 0, 1, 2, 16, 14.3},
    {"B16 event root, 24 effects", build_root, act_root, 24, 1, 26, 16, 0},
    {"B23 clean event, 512 writers", build_fan, act_clean, FAN, 1, 0, 9, 3.3},
    {"B24 transitive invalid writer", build_fan, act_changed, 1, 1, 3, 19, 0},
    {"B25 7 clean events, 512 writers",
     build_seven,
     act_clean,
     FAN,
     7,
     0,
     9,
     0},
    {"B26 990 writers that never ran",
     build_deep,
     act_deep,
     0,
     1,
     WRITERS,
     WRITERS_VISITED,
     0},
};

struct fixture {
    struct post *post;
    const struct event_shape *shape;
};

static void act_often(void *ctx, uint64_t times)
{
    const struct fixture *fixture = ctx;
    for (uint64_t i = 0; i < times; i++) {
        fixture->shape->act(fixture->post);
    }
}

/* Runs of nodes other than handlers, as they count themselves. */
static uint64_t other_runs(const struct post *post)
{
    uint64_t runs = 0;
    for (uint32_t i = 0; i < post->kit.node_count; i++) {
        runs += post->kit.nodes[i]->runs;
    }
    return runs;
}

/* B26 has new nodes in each act: counted from 0 then. */
static void check_counters(struct bench *bench,
                           const struct fixture *fixture,
                           const char *name)
{
    const struct event_shape *shape = fixture->shape;
    struct post *post = fixture->post;
    const struct events_counters *counters = events_counters(post->kit.sched);
    for (unsigned i = 0; i < ROUNDS; i++) {
        const struct events_counters before = *counters;
        const uint64_t handled = post->handled;
        const uint64_t runs = shape->act == act_deep ? 0 : other_runs(post);
        shape->act(post);
        const uint64_t looks = counters->preflights - before.preflights;
        const uint64_t visits =
            counters->preflight_visits - before.preflight_visits;
        if (post->handled - handled != shape->handled ||
            other_runs(post) - runs != shape->runs ||
            visits > shape->visits * shape->handled ||
            counters->done - before.done != shape->handled) {
            bench_wrong(bench,
                        "%s: %" PRIu64 " handled, %" PRIu64 " runs, %" PRIu64
                        " visits in %" PRIu64 " looks",
                        name,
                        (post->handled - handled),
                        (other_runs(post) - runs),
                        visits,
                        looks);
        }
    }
}

static void bench_shape(struct bench *bench,
                        const struct event_shape *shape,
                        bool store)
{
    char name[NAME_SIZE];
    (void)snprintf(name,
                   sizeof name,
                   "%s%s",
                   shape->name,
                   store ? ", to a store" : "");
    if (!bench_wants(bench, name)) {
        return;
    }
    struct post *post = post_new(&(struct kit_options){.store = store}, false);
    struct fixture fixture = {post, shape};
    shape->build(post, shape->size);
    kit_idle(&post->kit);
    act_often(&fixture, 2);
    check_counters(bench, &fixture, name);
    const struct events_counters *counters = events_counters(post->kit.sched);
    const struct events_counters before = *counters;
    act_often(&fixture, 1);
    const uint64_t visits =
        counters->preflight_visits - before.preflight_visits;
    const double bar = store ? shape->other_ms * 1e6 / 100 : 0;
    (void)bench_run(bench,
                    &(struct bench_case){
                        .name = name,
                        .ours = act_often,
                        .ctx = &fixture,
                        .bar = {bar > 0 ? BENCH_AT_MOST : BENCH_NO_BAR, bar},
                    });
    (void)snprintf(vec_last(&bench->rows)->note,
                   sizeof vec_last(&bench->rows)->note,
                   "%" PRIu64 " visits",
                   visits);
    post_free(post);
}

/* -- Throughput ---------------------------------------------------------- */

static enum run_result count_up(struct handling *handling, void *ctx)
{
    const struct desk *desk = ctx;
    struct value value;
    desk->post->handled++;
    if (run_read(handling->run, desk->out, READ_DEEP, READ_FOR_BOTH, &value) ==
        ERR_STALE) {
        return RUN_AGAIN;
    }
    kit_put(&desk->post->kit,
            handling_transaction(handling),
            desk->out,
            value_double(value_real(value) + 1));
    return RUN_DONE;
}

/* One document after the other, as the floor does it. */
static enum run_result set_next(struct handling *handling, void *ctx)
{
    const struct desk *desk = ctx;
    struct post *post = desk->post;
    post->handled++;
    kit_put(&post->kit,
            handling_transaction(handling),
            post->kit.places[post->handled % RAW_DOCUMENTS],
            value_double((double)post->handled));
    return RUN_DONE;
}

static void send_groups(void *ctx, uint64_t times)
{
    struct post *post = ctx;
    for (uint64_t i = 0; i < times; i++) {
        for (unsigned j = 0; j < post->group; j++) {
            send(&post->desks[0], 1);
        }
        kit_idle(&post->kit);
        if (post->kit.space->batch) {
            space_flush(post->kit.space);
            kit_idle(&post->kit);
        }
    }
}

/* The rows of the events, those of the receipts among them. */
static void run_floor(void *ctx, uint64_t times)
{
    struct post *post = ctx;
    for (uint64_t i = 0; i < times; i++) {
        raw_store_group_of_events(&post->floor, post->group);
    }
}

/* Those of commits that set a document each, and nothing else. */
static void run_bare_floor(void *ctx, uint64_t times)
{
    struct post *post = ctx;
    for (uint64_t i = 0; i < times; i++) {
        raw_store_group(&post->floor, post->group);
    }
}

struct throughput {
    const char *name;
    handler_fn *run;
    struct kit_options options;
    struct bench_bar bar;
    unsigned group;
    bool no_receipts;
    bool bare_floor;
};

static void bench_throughput(struct bench *bench,
                             const struct throughput *row,
                             const char *folder)
{
    if (!bench_wants(bench, row->name)) {
        return;
    }
    char path[256];
    char floor[256];
    (void)snprintf(path, sizeof path, "%s/%s.db", folder, "ours");
    (void)snprintf(floor, sizeof floor, "%s/%s.db", folder, "floor");
    struct kit_options options = row->options;
    const bool durable = options.path != NULL;
    options.path = durable ? path : NULL;
    struct post *post = post_new(&options, row->no_receipts);
    post->group = row->group;
    if (options.store) {
        raw_store_open(&post->floor, &post->kit.engine, durable ? floor : NULL);
        raw_store_group(&post->floor, RAW_DOCUMENTS); /* as ours has them */
    }
    make_documents(post, row->run == set_next ? RAW_DOCUMENTS : 1);
    (void)add_desk(post, row->run, post->kit.places[0], NULL, 0);
    send_groups(post, 3);
    const uint64_t done = post->done;
    (void)bench_run(bench,
                    &(struct bench_case){
                        .name = row->name,
                        .ours = send_groups,
                        .peer = !options.store    ? NULL
                                : row->bare_floor ? run_bare_floor
                                                  : run_floor,
                        .ctx = post,
                        .units = row->group,
                        .wall = durable,
                        .bar = row->bar,
                    });
    if (post->not_done > 0 || post->done != post->handled ||
        post->done == done) {
        bench_wrong(bench,
                    "%s: %" PRIu64 " handled, %" PRIu64 " done, %" PRIu64
                    " not done",
                    row->name,
                    post->handled,
                    post->done,
                    post->not_done);
    }
    if (options.store) {
        raw_store_close(&post->floor);
    }
    post_free(post);
    if (durable) {
        raw_store_remove(path);
    }
}

static void bench_throughputs(struct bench *bench)
{
    static const struct throughput rows[] = {
        {.name = "event, without receipts",
         .run = count_up,
         .bar = {BENCH_AT_MOST, 1000},
         .group = 100,
         .no_receipts = true},
        {.name = "event, with receipts",
         .run = count_up,
         .bar = {BENCH_AT_MOST, 1000},
         .group = 100},
        {.name = "event, store in memory, groups of 100",
         .run = set_next,
         .options = {.store = true, .batch = true},
         .group = 100},
        {.name = "event, full, groups of 100",
         .run = set_next,
         .options = {.store = true, .batch = true, .path = ""},
         .bar = {BENCH_FASTER, 0.5},
         .group = 100},
        {.name = "event, full, groups of 1000",
         .run = set_next,
         .options = {.store = true, .batch = true, .path = ""},
         .bar = {BENCH_FASTER, 0.5},
         .group = 1000},
        {.name = "event, full, groups of 1000, floor without receipts",
         .run = set_next,
         .options = {.store = true, .batch = true, .path = ""},
         .group = 1000,
         .bare_floor = true},
        {.name = "event, one counter, full, groups of 100",
         .run = count_up,
         .options = {.store = true, .batch = true, .path = ""},
         .group = 100},
    };
    char folder[] = "build/bench-events-XXXXXX";
    if (mkdtemp(folder) == NULL) {
        stop("cannot make a folder below build");
    }
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        bench_throughput(bench, &rows[i], folder);
    }
    (void)rmdir(folder);
}

/* -- Chains -------------------------------------------------------------- */

static enum run_result send_on(struct handling *handling, void *ctx)
{
    struct desk *desk = ctx;
    struct post *post = desk->post;
    const enum run_result result = count_up(handling, ctx);
    if (result == RUN_DONE && post->hops > 0) {
        post->hops--;
        struct err_detail detail;
        const struct event_spec spec = {
            .payload = value_double(1),
            .done = on_done,
            .ctx = post,
        };
        if (handling_send(handling, desk->stream, &spec, &detail) != ERR_OK) {
            stop(detail.text);
        }
    }
    return result;
}

/* Messages wait, so it does not become idle. */
static void step_held(struct post *post)
{
    replica_step(&post->kit.replica, post->kit.now);
    sched_step(post->kit.sched, post->kit.now);
}

static void pump(struct post *post)
{
    replica_pump(&post->kit.replica);
    hub_link_pump(&post->kit.link);
    step_held(post);
}

/* How many messages, and how often the store is waited for. */
static void bench_chain_messages(struct bench *bench)
{
    if (!bench_wants(bench, "chain of 1000 events")) {
        return;
    }
    struct post *post = post_new(
        &(struct kit_options){.store = true, .batch = true, .held = true},
        false);
    (void)add_desk(post, send_on, kit_document(&post->kit), NULL, 0);
    send(&post->desks[0], 1); /* what it reads is here from then on */
    for (unsigned i = 0; i < 10 && post->done == 0; i++) {
        step_held(post);
        space_flush(post->kit.space);
        pump(post);
    }
    post->done = 0;
    post->hops = HOPS - 1;
    const uint64_t handled = post->handled;
    send(&post->desks[0], 1);
    step_held(post);
    const uint64_t at_once = post->handled - handled;
    const size_t before = post->kit.link.to_hub.at.count;
    space_flush(post->kit.space);
    const size_t messages = post->kit.link.to_hub.at.count - before;
    unsigned trips = 0;
    for (; post->done < HOPS && trips < HOPS; trips++) {
        pump(post);
    }
    if (at_once != HOPS || post->done != HOPS || post->not_done > 0) {
        bench_wrong(bench,
                    "a chain: %" PRIu64 " handled at once, %" PRIu64
                    " done of %d",
                    at_once,
                    post->done,
                    HOPS);
    }
    bench_figure(bench,
                 "chain of 1000 events, messages with commits",
                 "messages",
                 (double)messages,
                 0,
                 (struct bench_bar){BENCH_AT_MOST, 1});
    bench_figure(bench,
                 "chain of 1000 events, round trips",
                 "trips",
                 trips,
                 0,
                 (struct bench_bar){BENCH_AT_MOST, 1});
    post_free(post);
}

/* What is in the file: commits, documents, revisions, and events that wait. */
static uint64_t count_rows(const struct post *post)
{
    sqlite3_stmt *statement = NULL;
    if (sqlite3_prepare_v2(post->kit.engine.database.db,
                           "SELECT (SELECT count(*) FROM \"commit\") +"
                           " (SELECT count(*) FROM document) +"
                           " (SELECT count(*) FROM revision) +"
                           " (SELECT count(*) FROM waiting)",
                           -1,
                           &statement,
                           NULL) != SQLITE_OK ||
        sqlite3_step(statement) != SQLITE_ROW) {
        stop("cannot count the rows");
    }
    const uint64_t rows = (uint64_t)sqlite3_column_int64(statement, 0);
    (void)sqlite3_finalize(statement);
    return rows;
}

/* The rows of an event with a receipt; and of one that a handler sends. */
static double rows_per_event(bool sent_by_handler)
{
    struct post *post = post_new(&(struct kit_options){.store = true}, false);
    (void)add_desk(post, send_on, kit_document(&post->kit), NULL, 0);
    send(&post->desks[0], 1);
    kit_idle(&post->kit);
    const uint64_t before = count_rows(post);
    const uint32_t roots = sent_by_handler ? 1 : HOPS;
    for (uint32_t i = 0; i < roots; i++) {
        post->hops = sent_by_handler ? HOPS : 0;
        send(&post->desks[0], 1);
        kit_idle(&post->kit);
    }
    const uint64_t rows = count_rows(post) - before;
    post_free(post);
    return (double)rows / HOPS;
}

static void bench_rows(struct bench *bench)
{
    if (!bench_wants(bench, "rows of an event")) {
        return;
    }
    const double from_outside = rows_per_event(false);
    const double from_handler = rows_per_event(true);
    bench_figure(bench,
                 "rows of an event with a receipt",
                 "rows",
                 from_outside,
                 0,
                 (struct bench_bar){BENCH_NO_BAR, 0});
    bench_figure(bench,
                 "rows of an event that a handler sends",
                 "rows",
                 from_handler,
                 0,
                 (struct bench_bar){BENCH_AT_MOST, 1.3 * from_outside});
}

static void act_chain(void *ctx, uint64_t times)
{
    struct post *post = ctx;
    for (uint64_t i = 0; i < times; i++) {
        post->hops = HOPS - 1;
        send(&post->desks[0], 1);
        kit_idle(&post->kit);
    }
}

static void bench_chain(struct bench *bench)
{
    bench_chain_messages(bench);
    if (!bench_wants(bench, "chain of 1000 events, in memory")) {
        return;
    }
    struct post *post = post_new(&(struct kit_options){0}, false);
    (void)add_desk(post, send_on, kit_document(&post->kit), NULL, 0);
    (void)bench_run(bench,
                    &(struct bench_case){
                        .name = "chain of 1000 events, in memory, per hop",
                        .ours = act_chain,
                        .ctx = post,
                        .units = HOPS,
                    });
    post_free(post);
}

/* -- Growth -------------------------------------------------------------- */

struct crowd {
    struct place **places;
    struct node **nodes;
    uint32_t count;
};

static enum run_result run_in_vain(struct run *run, void *ctx)
{
    (void)run;
    (void)ctx;
    stop("somebody ran who was not needed");
    return RUN_FAILED;
}

/* Computations that nobody looks at, have never run and have nothing to do
 * with anything else. */
static void add_crowd(struct post *post, struct crowd *crowd, uint32_t count)
{
    struct kit *kit = &post->kit;
    crowd->count = count;
    crowd->places = malloc(count * sizeof *crowd->places);
    crowd->nodes = malloc(count * sizeof *crowd->nodes);
    CHECK(crowd->places != NULL && crowd->nodes != NULL);
    for (uint32_t i = 0; i < count; i++) {
        char text[NAME_SIZE];
        (void)snprintf(text, sizeof text, "of:crowd-%u", i);
        const struct value id = value_text_new(text);
        struct entity *entity;
        if (entity_of(kit->space, SCOPE_SPACE, id, &entity, NULL) != ERR_OK) {
            stop("no document for the crowd");
        }
        value_unref(id);
        crowd->places[i] = place_payload(entity);
        crowd->nodes[i] = sched_register(kit->sched,
                                         &(struct node_spec){
                                             .kind = NODE_COMPUTATION,
                                             .run = run_in_vain,
                                             .outputs = &crowd->places[i],
                                             .output_count = 1,
                                         });
    }
}

static void disperse(struct post *post, struct crowd *crowd)
{
    for (uint32_t i = 0; i < crowd->count; i++) {
        sched_remove(post->kit.sched, crowd->nodes[i]);
        place_unref(crowd->places[i]);
    }
    free(crowd->places);
    free(crowd->nodes);
}

/* Visits of one event whose closure is a chain of three: clean, or changed. */
static uint64_t visits_of(struct post *post, void (*act)(struct post *post))
{
    const struct events_counters *counters = events_counters(post->kit.sched);
    const uint64_t before = counters->preflight_visits;
    act(post);
    return counters->preflight_visits - before;
}

static void bench_in_crowd(struct bench *bench,
                           uint32_t size,
                           uint64_t visits[2])
{
    char name[NAME_SIZE];
    (void)
        snprintf(name, sizeof name, "event, %u invalid nodes elsewhere", size);
    if (!bench_wants(bench, name)) {
        return;
    }
    struct post *post = post_new(&(struct kit_options){0}, true);
    build_fan(post, 1);
    struct crowd crowd;
    add_crowd(post, &crowd, size);
    kit_idle(&post->kit);
    act_changed(post);
    const uint64_t clean = visits_of(post, act_clean);
    const uint64_t changed = visits_of(post, act_changed);
    if (visits[1] > 0 && (clean != visits[0] || changed != visits[1])) {
        bench_wrong(bench,
                    "%s: %" PRIu64 " and %" PRIu64 " visits instead of %" PRIu64
                    " and %" PRIu64,
                    name,
                    clean,
                    changed,
                    visits[0],
                    visits[1]);
    }
    visits[0] = clean;
    visits[1] = changed;
    struct fixture fixture = {post, &(struct event_shape){.act = act_changed}};
    (void)bench_run(bench,
                    &(struct bench_case){
                        .name = name,
                        .ours = act_often,
                        .ctx = &fixture,
                    });
    (void)snprintf(vec_last(&bench->rows)->note,
                   sizeof vec_last(&bench->rows)->note,
                   "%" PRIu64 " visits clean, %" PRIu64 " changed",
                   clean,
                   changed);
    disperse(post, &crowd);
    post_free(post);
}

static void bench_growth(struct bench *bench)
{
    uint64_t visits[2] = {0, 0};
    bench_in_crowd(bench, 100, visits);
    bench_in_crowd(bench, 10000, visits);
    bench_in_crowd(bench, 100000, visits);
}

int main(int argc, char **argv)
{
    struct bench bench;
    int exit_code;
    if (!bench_begin(&bench, "events", argc, argv, &exit_code)) {
        return exit_code;
    }
    bench.peer_name = "floor";
    for (size_t i = 0; i < COUNT_OF(shapes); i++) {
        bench_shape(&bench, &shapes[i], false);
        bench_shape(&bench, &shapes[i], true);
    }
    bench_throughputs(&bench);
    bench_rows(&bench);
    bench_chain(&bench);
    bench_growth(&bench);
    return bench_end(&bench);
}
