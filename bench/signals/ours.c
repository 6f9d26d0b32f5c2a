/* Signals on the scheduler: the graph and its members. */

#include "signals/ours.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "replica/space.h"
#include "signals/signals.h"

/* A computed or an effect: the context of its node. */
struct member {
    signal_fn *fn;
    list_fn *list_fn;
    uint32_t length; /* of the list */
    struct body body;
    struct signal output;
};

/* Memory of the benchmark's own, apart from what is counted. */
struct room {
    struct room *before;
    max_align_t at[];
};

enum {
    LIST_MAX = 128,
    CREATED_MAX = 256, /* documents, in one transaction */
};

uint64_t computed_runs;
uint64_t effect_runs;

static struct graph {
    struct replica replica;
    struct space *space;
    struct sched *sched;
    struct transaction *open; /* a batch, or the signals that were made */
    struct err_detail detail;
    uint64_t documents; /* that were made */
    VEC(struct place *) places;
    struct room *rooms;
    size_t room_used;
    size_t room_size;
} graph;

struct replica *ours_replica(void)
{
    return &graph.replica;
}

struct sched *ours_sched(void)
{
    return graph.sched;
}

COLD static void stop(const struct err_detail *detail)
{
    (void)fprintf(stderr, "%s\n", detail->text);
    exit(1);
}

static inline void stop_if(enum err err, const struct err_detail *detail)
{
    if (UNLIKELY(err != ERR_OK)) {
        stop(detail);
    }
}

/* -- Time ---------------------------------------------------------------- */

/* A millisecond is what the scheduler asks for, so a coarse clock will do. */
static mono_ms clock_ms(struct host *host)
{
    (void)host;
    struct timespec now;
    CHECK(clock_gettime(CLOCK_MONOTONIC_COARSE, &now) == 0);
    return (mono_ms)now.tv_sec * 1000 + (mono_ms)now.tv_nsec / 1000000;
}

static struct host host = {.now = clock_ms};

struct host *ours_host(void)
{
    return &host;
}

/* -- Life ---------------------------------------------------------------- */

void *graph_alloc(size_t size)
{
    const size_t align = sizeof(max_align_t);
    const size_t items = (size + align - 1) / align;
    if (graph.room_used + items > graph.room_size) {
        graph.room_size = items > 65536 ? items : 65536;
        struct room *room = malloc(sizeof *room + graph.room_size * align);
        CHECK(room != NULL);
        room->before = graph.rooms;
        graph.rooms = room;
        graph.room_used = 0;
    }
    void *memory = &graph.rooms->at[graph.room_used];
    graph.room_used += items;
    return memory;
}

void graph_open(void)
{
    struct err_detail detail;
    graph = (struct graph){0};
    replica_init(&graph.replica, NULL);
    const struct space_options options = {.id = value_text_new("bench")};
    stop_if(space_open(&graph.replica, &options, &graph.space, &detail),
            &detail);
    graph.sched =
        sched_new(&graph.replica, &(struct sched_options){.host = &host});
}

void graph_close(void)
{
    CHECK(graph.open == NULL);
    sched_free(graph.sched);
    VEC_FOREACH (&graph.places, place) {
        place_unref(*place);
    }
    vec_release(&graph.places);
    replica_release(&graph.replica);
    while (graph.rooms != NULL) {
        struct room *room = graph.rooms;
        graph.rooms = room->before;
        free(room);
    }
}

static void commit_open(void)
{
    stop_if(transaction_finish(graph.open, &graph.detail), &graph.detail);
    graph.open = NULL;
}

void graph_settle(void)
{
    if (graph.open != NULL) {
        commit_open();
    }
    sched_step_now(graph.sched);
}

/* -- Members ------------------------------------------------------------- */

/* "of:aaaaa", "of:aaaab", ...: a letter for four bits of a number. One word
 * that is put together in a register, because what is made should be the
 * document: a text of which a byte was just written would have the processor
 * wait until it has left. */
static struct value next_id(void)
{
    uint64_t number = graph.documents++;
    number = (number | number << 16) & UINT64_C(0x0000FFFF0000FFFF);
    number = (number | number << 8) & UINT64_C(0x00FF00FF00FF00FF);
    number = (number | number << 4) & UINT64_C(0x0F0F0F0F0F0F0F0F);
    uint64_t id;
    memcpy(&id, "of:aaaaa", sizeof id);
    id += __builtin_bswap64(number);
    return value_string_new((const char *)&id, sizeof id);
}

static struct place *place_new_document(void)
{
    struct entity *entity;
    stop_if(
        entity_of(graph.space, SCOPE_SPACE, next_id(), &entity, &graph.detail),
        &graph.detail);
    struct place *place = place_payload(entity);
    vec_push(&graph.places, place);
    return place;
}

static void put(struct transaction *transaction,
                struct place *place,
                struct value value)
{
    stop_if(transaction_put_adopt(transaction, place, value, &graph.detail),
            &graph.detail);
}

struct signal *signal_new(double number)
{
    if (graph.open != NULL && graph.open->payload_writes.count == CREATED_MAX) {
        commit_open();
    }
    if (graph.open == NULL) {
        graph.open = transaction_begin(&graph.replica, NULL);
    }
    struct signal *signal = graph_alloc(sizeof *signal);
    *signal = (struct signal){.place = place_new_document()};
    put(graph.open, signal->place, value_double(number));
    return signal;
}

static enum run_result run_computed(struct run *run, void *ctx)
{
    const struct member *self = ctx;
    struct reading at = {run, false};
    computed_runs++;
    const double number = self->fn(&at, &self->body);
    if (at.stale) {
        return RUN_AGAIN;
    }
    put(run->transaction, self->output.place, value_double(number));
    return RUN_DONE;
}

static enum run_result run_list(struct run *run, void *ctx)
{
    const struct member *self = ctx;
    struct reading at = {run, false};
    double list[LIST_MAX];
    struct value items[LIST_MAX];
    computed_runs++;
    self->list_fn(&at, &self->body, list, self->length);
    if (at.stale) {
        return RUN_AGAIN;
    }
    for (uint32_t i = 0; i < self->length; i++) {
        items[i] = value_double(list[i]);
    }
    put(run->transaction,
        self->output.place,
        array_new_adopt(items, self->length));
    return RUN_DONE;
}

static enum run_result run_effect(struct run *run, void *ctx)
{
    const struct member *self = ctx;
    struct reading at = {run, false};
    effect_runs++;
    (void)self->fn(&at, &self->body);
    return at.stale ? RUN_AGAIN : RUN_DONE;
}

static struct member *member_new(double number,
                                 uint32_t count,
                                 struct signal *const *in)
{
    struct member *member = graph_alloc(sizeof *member);
    struct signal **copy = graph_alloc(count * sizeof *copy);
    for (uint32_t i = 0; i < count; i++) {
        copy[i] = in[i];
    }
    *member = (struct member){.body = {number, count, copy}};
    return member;
}

static struct signal *register_computed(struct member *member, node_fn *run)
{
    member->output.place = place_new_document();
    const struct node_spec spec = {
        .kind = NODE_COMPUTATION,
        .run = run,
        .ctx = member,
        .outputs = &member->output.place,
        .output_count = 1,
    };
    member->output.node = sched_register(graph.sched, &spec);
    return &member->output;
}

struct signal *computed_new(signal_fn *fn,
                            double number,
                            uint32_t count,
                            struct signal *const *in)
{
    struct member *member = member_new(number, count, in);
    member->fn = fn;
    return register_computed(member, run_computed);
}

struct signal *computed_list_new(list_fn *fn,
                                 uint32_t length,
                                 uint32_t count,
                                 struct signal *const *in)
{
    CHECK(length <= LIST_MAX);
    struct member *member = member_new(0, count, in);
    member->list_fn = fn;
    member->length = length;
    return register_computed(member, run_list);
}

void effect_new(signal_fn *fn,
                double number,
                uint32_t count,
                struct signal *const *in)
{
    struct member *member = member_new(number, count, in);
    member->fn = fn;
    const struct node_spec spec = {
        .kind = NODE_EFFECT,
        .run = run_effect,
        .ctx = member,
    };
    (void)sched_register(graph.sched, &spec);
}

/* -- From outside -------------------------------------------------------- */

void batch_begin(void)
{
    CHECK(graph.open == NULL);
    graph.open = transaction_begin(&graph.replica, NULL);
}

void signal_set(struct signal *signal, double number)
{
    put(graph.open, signal->place, value_double(number));
}

void batch_end(void)
{
    commit_open();
    sched_step_now(graph.sched);
}

/* It is brought up to date for this look. */
NOINLINE static double pull(const struct signal *signal)
{
    struct value value;
    if (graph.open != NULL) {
        commit_open();
    }
    (void)sched_pull(graph.sched, signal->place, clock_ms(&host), &value);
    const double number = number_of(value);
    value_unref(value);
    return number;
}

double signal_peek(struct signal *signal)
{
    if (signal->node != NULL && !node_is_live(signal->node)) {
        return pull(signal);
    }
    return number_of(value_load(&signal->place->entity->visible.payload));
}
