/* Runtimes that contend for one document (lib/contention.h). */

#include "lib/contention.h"

#include <stdio.h>

#include "host/hub_link.h"
#include "lib/store_kit.h"
#include "lib/test.h"
#include "lib/values.h"
#include "replica/space.h"
#include "sched/events.h"
#include "sched/handling.h"
#include "sched/sched.h"
#include "value/array.h"
#include "value/object.h"

enum {
    AT_A_TIME = 4, /* events that a runtime has on their way */
    ROUNDS_MAX = 10000000,
};

struct contention;

/* One event. */
struct errand {
    struct contender *contender;
    uint64_t sent_at;
};

struct contender {
    struct contention *all;
    unsigned number;
    struct replica replica;
    struct hub_link link;
    struct space *space;
    struct sched *sched;
    struct stream *stream;
    struct place *place; /* that it is all about */
    unsigned sent;
    unsigned ended;
    struct errand *errands;
};

struct contention {
    enum contention_kind kind;
    unsigned each;
    uint64_t seed;
    struct random random;
    struct store_kit store;
    struct hub hub;
    mono_ms now;
    bool held;
    struct contention_report *report;
    struct contender contenders[CONTENTION_RUNTIMES];
};

static const struct {
    const char *name;
    const char *document; /* that is there at the beginning */
    bool free;            /* nothing is refused */
} kinds[CONTEND_KINDS] = {
    [CONTEND_INCREMENT] = {"increments of one counter", "0", true},
    [CONTEND_APPEND] = {"appends to one list", "[]", true},
    [CONTEND_COUNT] = {"a counter read and written", "0", false},
    [CONTEND_LIST] = {"a list read and written", "[]", false},
    [CONTEND_KEYS] = {"a key of its own in one document", "{}", true},
};

const char *contention_name(enum contention_kind kind)
{
    return kinds[kind].name;
}

bool contention_is_free(enum contention_kind kind)
{
    return kinds[kind].free;
}

static void expect(struct contention *all, bool held, const char *what)
{
    if (!held && all->held) {
        all->held = false;
        (void)test_fail(__FILE__,
                        __LINE__,
                        "%s, seed %" PRIu64 ", at %" PRIu64 " ms: %s",
                        kinds[all->kind].name,
                        all->seed,
                        all->now,
                        what);
    }
}

/* -- Handling ------------------------------------------------------------ */

static enum err merge(struct handling *handling,
                      struct contender *contender,
                      enum write_kind kind,
                      struct value value)
{
    return transaction_merge_adopt(handling_transaction(handling),
                                   contender->place,
                                   kind,
                                   value,
                                   NULL);
}

static enum err read_and_write(struct handling *handling,
                               struct contender *contender)
{
    struct value old;
    const enum err err = run_read(handling->run,
                                  contender->place,
                                  READ_DEEP,
                                  READ_FOR_BOTH,
                                  &old);
    if (err == ERR_STALE) {
        return err;
    }
    struct value next;
    if (contender->all->kind == CONTEND_LIST) {
        next =
            array_push_adopt(value_is_absent(old) ? value_empty_array() : old,
                             value_ref(handling_payload(handling)));
    } else {
        next = value_int(value_is_absent(old) ? 1 : value_integer(old) + 1);
        value_unref(old);
    }
    return transaction_put_adopt(handling_transaction(handling),
                                 contender->place,
                                 next,
                                 NULL);
}

static enum run_result handle(struct handling *handling, void *ctx)
{
    struct contender *contender = ctx;
    struct contention *all = contender->all;
    enum err err = ERR_OK;
    all->report->attempts++;
    switch (all->kind) {
    case CONTEND_INCREMENT:
        err = merge(handling, contender, WRITE_INCREMENT, value_int(1));
        break;
    case CONTEND_APPEND:
        err = merge(handling,
                    contender,
                    WRITE_APPEND,
                    array_push_adopt(value_empty_array(),
                                     value_ref(handling_payload(handling))));
        break;
    case CONTEND_COUNT:
    case CONTEND_LIST:
    case CONTEND_KEYS:
        err = read_and_write(handling, contender);
        break;
    case CONTEND_KINDS:
        UNREACHABLE("is none");
    }
    expect(all, err == ERR_OK || err == ERR_STALE, "a handler could not write");
    return err == ERR_OK ? RUN_DONE : RUN_AGAIN;
}

static void on_done(void *ctx, const struct event_result *result)
{
    const struct errand *errand = ctx;
    struct contender *contender = errand->contender;
    struct contention *all = contender->all;
    struct contention_report *report = all->report;
    const uint64_t took = all->now - errand->sent_at;
    report->done += result->outcome == EVENT_DONE;
    report->failed += result->outcome == EVENT_FAILED;
    expect(all,
           result->outcome != EVENT_DROPPED,
           "an event was dropped, though it was sent once");
    expect(all,
           result->outcome != EVENT_FAILED ||
               result->error.err == ERR_NOT_CONVERGED,
           "an event failed for another reason than contention");
    report->most_attempts = result->attempts > report->most_attempts
                                ? result->attempts
                                : report->most_attempts;
    report->longest_ms = took > report->longest_ms ? took : report->longest_ms;
    contender->ended++;
    if (contender->ended == all->each) {
        report->first_ms = report->first_ms == 0 ? all->now : report->first_ms;
        report->last_ms = all->now;
    }
}

/* -- Life ---------------------------------------------------------------- */

static void open_place(struct contender *contender)
{
    const struct value id = value_text_new("board");
    struct entity *entity;
    CHECK(entity_of(contender->space, SCOPE_SPACE, id, &entity, NULL) ==
          ERR_OK);
    value_unref(id);
    contender->place = place_payload(entity);
    if (contender->all->kind == CONTEND_KEYS) {
        struct place *payload = contender->place;
        const struct value key = numbered("k", contender->number);
        contender->place = place_child(payload, key);
        value_unref(key);
        place_unref(payload);
    }
}

static void open_stream(struct contender *contender)
{
    const struct value id = value_text_new("stream");
    struct entity *entity;
    CHECK(entity_of(contender->space, SCOPE_SPACE, id, &entity, NULL) ==
          ERR_OK);
    value_unref(id);
    struct place *place = place_payload(entity);
    contender->stream = events_stream(contender->sched, place);
    place_unref(place);
    const struct declared_read read = {contender->place, READ_DEEP};
    const bool reads = contender->all->kind >= CONTEND_COUNT;
    const struct handler_spec spec = {
        .run = handle,
        .ctx = contender,
        .reads = &read,
        .read_count = reads ? 1 : 0,
        .pure = contender->number % 2 == 0,
    };
    struct handler *handler;
    CHECK(events_handle(contender->sched,
                        contender->stream,
                        &spec,
                        &handler,
                        NULL) == ERR_OK);
}

static void open_contender(struct contender *contender)
{
    struct contention *all = contender->all;
    const struct value name = numbered("r", contender->number);
    contender->errands = mem_alloc(all->each * sizeof *contender->errands);
    hub_link_init(&contender->link, &all->hub, HUB_LINK_HELD, VALUE_NONE);
    replica_init(&contender->replica, NULL);
    const struct space_options options = {
        .id = value_text_new("space"),
        .transport = &contender->link.transport,
        .session = name,
        .seed = random_u64(&all->random),
        .deltas = true,
    };
    CHECK(space_open(&contender->replica, &options, &contender->space, NULL) ==
          ERR_OK);
    value_unref(options.id);
    contender->sched = sched_new(&contender->replica, NULL);
    struct events_policy policy = events_policy();
    policy.seed = random_u64(&all->random);
    events_configure(contender->sched, &policy, name);
    value_unref(name);
    open_place(contender);
    open_stream(contender);
}

static void close_contender(struct contender *contender)
{
    sched_free(contender->sched);
    place_unref(contender->place);
    replica_release(&contender->replica);
    hub_link_release(&contender->link);
    mem_free(contender->errands,
             contender->all->each * sizeof *contender->errands);
}

/* -- Rounds -------------------------------------------------------------- */

static void send_more(struct contender *contender)
{
    struct contention *all = contender->all;
    while (contender->sent < all->each &&
           contender->sent - contender->ended < AT_A_TIME) {
        const struct event_spec spec = {
            .payload = value_int((int64_t)contender->number * all->each +
                                 contender->sent),
            .done = on_done,
            .ctx = &contender->errands[contender->sent],
        };
        contender->errands[contender->sent] =
            (struct errand){contender, all->now};
        contender->sent++;
        all->report->sent++;
        expect(all,
               events_send(contender->sched, contender->stream, &spec, NULL) ==
                   ERR_OK,
               "an event could not be sent");
    }
}

static void round_trip(struct contention *all)
{
    unsigned order[CONTENTION_RUNTIMES];
    for (unsigned i = 0; i < CONTENTION_RUNTIMES; i++) {
        const unsigned at = (unsigned)random_below(&all->random, i + 1);
        order[i] = order[at];
        order[at] = i;
    }
    for (unsigned i = 0; i < CONTENTION_RUNTIMES; i++) {
        hub_link_pump_to_hub(&all->contenders[order[i]].link);
    }
    hub_step(&all->hub, all->now);
    hub_flush(&all->hub);
    for (unsigned i = 0; i < CONTENTION_RUNTIMES; i++) {
        hub_link_pump_to_session(&all->contenders[i].link);
    }
}

static bool is_over(const struct contention *all)
{
    for (unsigned i = 0; i < CONTENTION_RUNTIMES; i++) {
        if (all->contenders[i].ended < all->each) {
            return false;
        }
    }
    return true;
}

static void run_rounds(struct contention *all)
{
    for (unsigned i = 0; i < ROUNDS_MAX && all->held && !is_over(all); i++) {
        all->now++;
        for (unsigned j = 0; j < CONTENTION_RUNTIMES; j++) {
            struct contender *contender = &all->contenders[j];
            send_more(contender);
            replica_step(&contender->replica, all->now);
            sched_step(contender->sched, all->now);
        }
        round_trip(all);
    }
    expect(all, is_over(all), "somebody starves");
}

/* -- What the document holds --------------------------------------------- */

static uint64_t sum_of_keys(struct value keys)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < CONTENTION_RUNTIMES; i++) {
        char key[8];
        (void)snprintf(key, sizeof key, "k%u", i);
        sum += (uint64_t)value_integer(object_field(keys, key));
    }
    return sum;
}

/* Each number at most once; how many. */
static uint64_t count_numbers(struct contention *all, struct value list)
{
    const size_t size = (size_t)CONTENTION_RUNTIMES * all->each;
    bool *seen = mem_alloc_zero(size);
    struct array_iter iter = array_iter(list);
    struct value item;
    while (array_next(&iter, &item)) {
        const size_t number = (size_t)value_integer(item);
        expect(all, number < size && !seen[number], "a number is there twice");
        seen[number] = true;
    }
    mem_free(seen, size);
    return array_count(list);
}

static void check_document(struct contention *all)
{
    struct value document = from_quoted(kit_read(&all->store, "board"));
    const struct value payload = object_field(document, "value");
    const uint64_t held = value_is_array(payload) ? count_numbers(all, payload)
                          : value_is_object(payload)
                              ? sum_of_keys(payload)
                              : (uint64_t)value_integer(payload);
    const struct contention_report *report = all->report;
    expect(all, held == report->done, "what was done is not what is there");
    expect(all,
           report->done + report->failed == report->sent,
           "what was sent neither landed nor failed");
    expect(all,
           !kinds[all->kind].free ||
               (report->failed == 0 && report->attempts == report->sent),
           "something was refused though nothing can conflict");
    value_unref(document);
}

bool contention_run(enum contention_kind kind,
                    unsigned each,
                    uint64_t seed,
                    struct contention_report *report)
{
    struct contention *all = mem_alloc_zero(sizeof *all);
    *report = (struct contention_report){0};
    all->kind = kind;
    all->each = each;
    all->seed = seed;
    all->now = 1;
    all->held = true;
    all->report = report;
    random_init(&all->random, seed);
    kit_open_memory(&all->store, NULL);
    char line[64];
    (void)
        snprintf(line, sizeof line, "x 1 | set board %s", kinds[kind].document);
    kit_commit(&all->store, line);
    const struct hub_options options = {.seed = seed, .long_deltas = true};
    hub_init(&all->hub, &all->store.engine, &options, all->now);
    for (unsigned i = 0; i < CONTENTION_RUNTIMES; i++) {
        all->contenders[i].all = all;
        all->contenders[i].number = i;
        open_contender(&all->contenders[i]);
    }
    run_rounds(all);
    if (all->held) {
        check_document(all);
    }
    for (unsigned i = 0; i < CONTENTION_RUNTIMES; i++) {
        close_contender(&all->contenders[i]);
    }
    hub_release(&all->hub);
    kit_close(&all->store);
    const bool held = all->held;
    mem_free(all, sizeof *all);
    return held;
}

void contention_print(enum contention_kind kind,
                      const struct contention_report *report)
{
    (void)printf("# %s: %" PRIu64 " sent, %" PRIu64 " done, %" PRIu64
                 " failed; %" PRIu64 " attempts, at most %" PRIu64
                 " of one event; ready after %" PRIu64 " to %" PRIu64
                 " ms, the slowest event took %" PRIu64 " ms\n",
                 kinds[kind].name,
                 report->sent,
                 report->done,
                 report->failed,
                 report->attempts,
                 report->most_attempts,
                 report->first_ms,
                 report->last_ms,
                 report->longest_ms);
    (void)fflush(stdout);
}
