/* The replica: what a transaction costs here, before any store has a say.
 *
 * A run reads two numbers and writes one, and is applied locally, with nobody
 * listening: in a space that is its own authority, and in one whose store
 * takes everything and answers nothing, so that commits queue up and layers
 * grow. Then what arrives: a thousand documents in one frame; and what a
 * document costs that nobody touches. */

#include <stdio.h>
#include <stdlib.h>

#include "lib/bench.h"
#include "lib/count.h"
#include "replica/session.h"
#include "replica/space.h"
#include "value/object.h"

enum {
    DOCUMENTS = 10000,
    FRAME = 1000,
    COUNTED = 1000, /* transactions of which the allocations are counted */
};

static void stop_if(enum err err, const struct err_detail *detail)
{
    if (err != ERR_OK) {
        (void)fprintf(stderr, "bench_replica: %s\n", detail->text);
        exit(1);
    }
}

/* -- A store that takes everything and answers nothing ------------------- */

struct silent {
    struct transport transport;
    struct session *session;
    uint64_t connection;
    uint64_t number;
    uint64_t seq;
};

static struct silent *silent_of(struct transport *transport)
{
    return (struct silent *)(void *)transport;
}

static void silent_connect(struct transport *transport, struct session *session)
{
    silent_of(transport)->session = session;
    session_connected(session);
}

static void tell(struct silent *silent, struct message *message)
{
    message->connection = silent->connection;
    message->number = ++silent->number;
    session_receive(silent->session, message);
}

static void silent_send(struct transport *transport,
                        const struct message *message)
{
    struct silent *silent = silent_of(transport);
    if (message->kind == MESSAGE_OPEN) {
        silent->connection = message->connection;
        silent->number = 0;
        struct message opened = {
            .kind = MESSAGE_OPENED,
            .session = value_text_new("s1"),
            .markers = true,
            .server_seq = silent->seq,
        };
        tell(silent, &opened);
    }
}

static void silent_disconnect(struct transport *transport)
{
    silent_of(transport)->session = NULL;
}

static const struct transport_methods silent_methods = {
    silent_connect,
    silent_send,
    silent_disconnect,
};

/* -- The fixture --------------------------------------------------------- */

struct fixture {
    struct replica replica;
    struct space *space;
    struct silent silent;
    bool has_store;
    unsigned queue;  /* commits that wait at most, */
    unsigned queued; /* and those that wait */
    struct place *places[DOCUMENTS];
    uint32_t count;
    int64_t round;
};

static void fixture_open(struct fixture *fixture, bool has_store)
{
    struct err_detail detail;
    *fixture = (struct fixture){
        .has_store = has_store,
        .silent.transport.methods = &silent_methods,
    };
    const struct space_options options = {
        .id = value_text_new("bench"),
        .session = value_text_new("s1"),
        .transport = has_store ? &fixture->silent.transport : NULL,
    };
    replica_init(&fixture->replica, NULL);
    stop_if(space_open(&fixture->replica, &options, &fixture->space, &detail),
            &detail);
}

static void fixture_close(struct fixture *fixture)
{
    for (uint32_t i = 0; i < fixture->count; i++) {
        place_unref(fixture->places[i]);
    }
    replica_release(&fixture->replica);
}

static struct value document_id(uint32_t number)
{
    char text[32];
    const int length = snprintf(text, sizeof text, "of:%u", number);
    return value_string_new(text, (size_t)length);
}

static struct entity *fixture_entity(struct fixture *fixture, uint32_t number)
{
    struct err_detail detail;
    struct entity *entity;
    const struct value id = document_id(number);
    stop_if(entity_of(fixture->space, SCOPE_SPACE, id, &entity, &detail),
            &detail);
    value_unref(id);
    return entity;
}

static void write_number(struct fixture *fixture,
                         struct place *place,
                         int64_t n)
{
    struct err_detail detail;
    struct transaction *transaction =
        transaction_begin(&fixture->replica, NULL);
    stop_if(transaction_put_adopt(transaction, place, value_int(n), &detail),
            &detail);
    stop_if(transaction_commit(transaction, &detail), &detail);
    transaction_release(transaction);
}

static void fixture_fill(struct fixture *fixture, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        fixture->places[i] = place_payload(fixture_entity(fixture, i));
        fixture->count++;
        write_number(fixture, fixture->places[i], i);
    }
}

/* -- One run ------------------------------------------------------------- */

static void run_once(struct fixture *fixture)
{
    struct err_detail detail;
    struct value in[2];
    struct transaction *transaction =
        transaction_begin(&fixture->replica, NULL);
    for (unsigned i = 0; i < 2; i++) {
        (void)transaction_read(transaction,
                               fixture->places[i],
                               READ_DEEP,
                               READ_FOR_BOTH,
                               &in[i]);
    }
    fixture->round++;
    const int64_t sum =
        value_integer(in[0]) + value_integer(in[1]) + fixture->round;
    stop_if(transaction_put_adopt(transaction,
                                  fixture->places[2],
                                  value_int(sum),
                                  &detail),
            &detail);
    stop_if(transaction_commit(transaction, &detail), &detail);
    transaction_release(transaction);
}

static void run_often(void *ctx, uint64_t times)
{
    for (uint64_t i = 0; i < times; i++) {
        run_once(ctx);
    }
}

/* So many commits wait at most; then they are dropped, with the clock
 * standing still. */
static void run_often_queued(void *ctx, uint64_t times)
{
    struct fixture *fixture = ctx;
    for (uint64_t i = 0; i < times; i++) {
        if (fixture->queued++ == fixture->queue) {
            const unsigned queue = fixture->queue;
            bench_pause();
            fixture_close(fixture);
            fixture_open(fixture, true);
            fixture_fill(fixture, 3);
            fixture->queue = queue;
            bench_resume();
        }
        run_once(fixture);
    }
}

static void bench_local(struct bench *bench, struct fixture *fixture)
{
    fixture_open(fixture, false);
    fixture_fill(fixture, 3);
    (void)bench_run(bench,
                    &(struct bench_case){
                        .name = "read 2, write 1, own authority",
                        .ours = run_often,
                        .ctx = fixture,
                        .bar = {BENCH_AT_MOST, 250},
                    });
    fixture_close(fixture);
}

static void bench_queued(struct bench *bench,
                         struct fixture *fixture,
                         unsigned queue)
{
    char name[64];
    (void)snprintf(name,
                   sizeof name,
                   "read 2, write 1, up to %u commits queued",
                   queue);
    fixture_open(fixture, true);
    fixture_fill(fixture, 3);
    fixture->queue = queue;
    (void)bench_run(bench,
                    &(struct bench_case){
                        .name = name,
                        .ours = run_often_queued,
                        .ctx = fixture,
                    });
    fixture_close(fixture);
}

/* Allocations a transaction, after a warm-up. */
static void bench_allocations(struct bench *bench,
                              struct fixture *fixture,
                              bool has_store)
{
    count_begin();
    fixture_open(fixture, has_store);
    fixture_fill(fixture, 3);
    run_often(fixture, COUNTED);
    const struct count before = count_now();
    run_often(fixture, COUNTED);
    const struct count after = count_now();
    fixture_close(fixture);
    count_end();
    bench_figure(bench,
                 has_store ? "allocations of it, commits queued"
                           : "allocations of it, own authority",
                 "calls",
                 (double)(after.calls - before.calls) / COUNTED,
                 0,
                 has_store ? (struct bench_bar){BENCH_NO_BAR, 0}
                           : (struct bench_bar){BENCH_AT_MOST, 0});
    if (has_store) {
        bench_figure(bench,
                     "memory of one commit in the queue",
                     "bytes",
                     (double)(after.usable - before.usable) / COUNTED,
                     0,
                     (struct bench_bar){BENCH_NO_BAR, 0});
    }
}

/* -- What arrives -------------------------------------------------------- */

static struct value document_of(int64_t number)
{
    return object_set_adopt(value_empty_object(),
                            value_text_new("value"),
                            value_int(number));
}

static void make_frame(struct fixture *fixture, struct message *frame)
{
    *frame = (struct message){
        .kind = MESSAGE_SYNC,
        .from_seq = fixture->silent.seq,
        .to_seq = fixture->silent.seq + 1,
    };
    fixture->silent.seq++;
    fixture->round++;
    for (uint32_t i = 0; i < FRAME; i++) {
        const struct upsert upsert = {
            .target = {.id = document_id(i)},
            .seq = fixture->silent.seq,
            .document = document_of(fixture->round + i),
        };
        vec_push(&frame->upserts, upsert);
    }
}

static void integrate(void *ctx, uint64_t times)
{
    struct fixture *fixture = ctx;
    for (uint64_t i = 0; i < times; i++) {
        struct message frame;
        bench_pause();
        make_frame(fixture, &frame);
        bench_resume();
        tell(&fixture->silent, &frame);
        bench_pause();
        CHECK(fixture->replica.counters.notifications > 0);
        message_release(&frame);
        bench_resume();
    }
}

static void bench_frame(struct bench *bench, struct fixture *fixture)
{
    const char *name = "integrate a frame of 1000 documents, each";
    if (!bench_wants(bench, name)) {
        return;
    }
    fixture_open(fixture, true);
    for (uint32_t i = 0; i < FRAME; i++) {
        struct entity *entity = fixture_entity(fixture, i);
        fixture->places[i] = place_payload(entity);
        fixture->count++;
        space_want(fixture->space, entity);
    }
    replica_pump(&fixture->replica);
    (void)bench_run(bench,
                    &(struct bench_case){
                        .name = name,
                        .ours = integrate,
                        .ctx = fixture,
                        .units = FRAME,
                    });
    const struct entity *last = fixture->places[FRAME - 1]->entity;
    if (value_integer(last->visible.payload) != fixture->round + FRAME - 1) {
        bench_wrong(bench, "the frame did not arrive");
    }
    fixture_close(fixture);
}

/* -- Documents that nobody touches --------------------------------------- */

static void bench_memory(struct bench *bench, struct fixture *fixture)
{
    count_begin();
    fixture_open(fixture, false);
    fixture_fill(fixture, 1);
    const struct count empty = count_now();
    for (uint32_t i = 1; i < DOCUMENTS; i++) {
        struct place *place = place_payload(fixture_entity(fixture, i));
        write_number(fixture, place, i);
        place_unref(place);
    }
    const struct count idle = count_now();
    fixture_close(fixture);
    count_end();

    count_begin();
    fixture_open(fixture, false);
    fixture_fill(fixture, 1);
    const struct count held_from = count_now();
    for (uint32_t i = 1; i < DOCUMENTS; i++) {
        fixture->places[fixture->count++] =
            place_payload(fixture_entity(fixture, i));
        write_number(fixture, fixture->places[i], i);
    }
    const struct count held = count_now();
    fixture_close(fixture);
    count_end();
    const double documents = DOCUMENTS - 1;
    bench_figure(bench,
                 "memory of an idle document holding a number",
                 "bytes",
                 (double)(idle.usable - empty.usable) / documents,
                 0,
                 (struct bench_bar){BENCH_AT_MOST, 200});
    bench_figure(bench,
                 "memory of one with a held place",
                 "bytes",
                 (double)(held.usable - held_from.usable) / documents,
                 0,
                 (struct bench_bar){BENCH_NO_BAR, 0});
}

int main(int argc, char **argv)
{
    struct bench bench;
    int exit_code;
    if (!bench_begin(&bench, "replica", argc, argv, &exit_code)) {
        return exit_code;
    }
    struct fixture *fixture = malloc(sizeof *fixture);
    CHECK(fixture != NULL);
    bench_local(&bench, fixture);
    bench_queued(&bench, fixture, 100);
    bench_queued(&bench, fixture, 1000);
    bench_allocations(&bench, fixture, false);
    bench_allocations(&bench, fixture, true);
    bench_frame(&bench, fixture);
    bench_memory(&bench, fixture);
    free(fixture);
    return bench_end(&bench);
}
