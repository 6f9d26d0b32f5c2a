/* Processes at work (bench/persist/worker.h is the manual). */

#include "persist/worker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"

enum {
    NAME_SIZE = 32,
    ROUNDS_MAX = 100,
};

void stop(const char *why)
{
    (void)fprintf(stderr, "bench_persist: %s\n", why);
    exit(1);
}

/* -- Stores -------------------------------------------------------------- */

void store_open(struct store *store,
                const char *folder,
                const char *name,
                enum durability durability)
{
    if (folder != NULL) {
        (void)snprintf(store->path, sizeof store->path, "%s/%s", folder, name);
    }
    const struct engine_options options = {.path = store->path,
                                           .durability = durability};
    struct err_detail detail = {0};
    if (engine_open(&store->engine, &options, &detail) != ERR_OK) {
        stop(detail.text);
    }
    const struct hub_options hub = {.immediate = true, .seed = 1};
    hub_init(&store->hub, &store->engine, &hub, 1);
}

void store_close(struct store *store)
{
    hub_release(&store->hub);
    engine_close(&store->engine);
}

void store_remove(const struct store *store)
{
    static const char *const suffixes[] = {"", "-wal", "-shm", "-lock"};
    for (size_t i = 0; i < COUNT_OF(suffixes); i++) {
        char path[320];
        (void)snprintf(path, sizeof path, "%s%s", store->path, suffixes[i]);
        (void)unlink(path);
    }
}

/* -- Desks --------------------------------------------------------------- */

void worker_open(struct worker *worker,
                 struct store *store,
                 const char *session,
                 bool known,
                 size_t capacity)
{
    *worker = (struct worker){
        .store = store,
        .now = 1,
        .known = known,
        .piece = value_text_new("of:piece"),
        .capacity = capacity,
    };
    worker->nodes = mem_alloc(mem_array_size(capacity, sizeof *worker->nodes));
    hub_link_init(&worker->link, &store->hub, HUB_LINK_DIRECT, VALUE_NONE);
    replica_init(&worker->replica, NULL);
    const struct space_options options = {
        .id = value_text_new("space"),
        .session = value_text_new(session),
        .transport = &worker->link.transport,
        .seed = 1,
        .batch = true,
    };
    struct err_detail detail = {0};
    if (space_open(&worker->replica, &options, &worker->space, &detail) !=
        ERR_OK) {
        stop(detail.text);
    }
    value_unref(options.id);
    value_unref(options.session);
    worker->sched = sched_new(&worker->replica, NULL);
    if (known) {
        persistence_listen(worker->sched, worker->space);
    }
}

void worker_close(struct worker *worker)
{
    sched_free(worker->sched);
    for (size_t i = 0; i < worker->count; i++) {
        const struct worker_node *node = &worker->nodes[i];
        place_unref(node->from[0]);
        if (node->from[1] != NULL) {
            place_unref(node->from[1]);
        }
        if (node->to != NULL) {
            place_unref(node->to);
        }
    }
    mem_free(worker->nodes,
             mem_array_size(worker->capacity, sizeof *worker->nodes));
    replica_release(&worker->replica);
    hub_link_release(&worker->link);
    value_unref(worker->piece);
}

struct place *worker_place(struct worker *worker, char kind, uint64_t number)
{
    char text[NAME_SIZE];
    size_t length = sizeof text;
    do {
        text[--length] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    text[--length] = kind;
    text[--length] = ':';
    text[--length] = 'f';
    text[--length] = 'o';
    const struct value id =
        value_string_new(text + length, sizeof text - length);
    struct entity *entity = NULL;
    if (entity_of(worker->space, SCOPE_SPACE, id, &entity, NULL) != ERR_OK) {
        stop("a document has no usable name");
    }
    value_unref(id);
    return place_payload(entity);
}

struct digest worker_action(uint64_t number)
{
    return digest_of_bytes("bench action", &number, sizeof number);
}

/* -- Nodes --------------------------------------------------------------- */

/* False: it cannot be known now. */
static bool read_number(struct run *run, struct place *place, double *total)
{
    struct value value = VALUE_NONE;
    const enum err err = run_read(run, place, READ_DEEP, READ_FOR_BOTH, &value);
    *total += value_is_number(value) ? value_real(value) : 0;
    value_unref(value);
    return err != ERR_STALE;
}

static enum run_result sum(struct run *run, void *ctx)
{
    const struct worker_node *node = ctx;
    double total = 1;
    if (!read_number(run, node->from[0], &total) ||
        (node->from[1] != NULL && !read_number(run, node->from[1], &total))) {
        return RUN_AGAIN;
    }
    if (node->to != NULL && transaction_put_adopt(run->transaction,
                                                  node->to,
                                                  value_double(total),
                                                  NULL) != ERR_OK) {
        stop("a run could not write");
    }
    return RUN_DONE;
}

void worker_add(struct worker *worker,
                struct place *first,
                struct place *second,
                struct place *to,
                const struct digest *action)
{
    if (worker->count == worker->capacity) {
        stop("there are too many nodes");
    }
    struct worker_node *node = &worker->nodes[worker->count++];
    *node = (struct worker_node){{first, second}, to};
    const struct node_identity identity = {
        .space = worker->space,
        .piece = worker->piece,
        .action = *action,
    };
    const struct node_spec spec = {
        .kind = to != NULL ? NODE_COMPUTATION : NODE_EFFECT,
        .run = sum,
        .ctx = node,
        .outputs = &node->to,
        .output_count = to != NULL,
        .identity = worker->known ? &identity : NULL,
    };
    (void)sched_register(worker->sched, &spec);
}

/* -- Working ------------------------------------------------------------- */

void worker_put(struct worker *worker, struct place *place, uint64_t number)
{
    struct transaction *transaction = transaction_begin(&worker->replica, NULL);
    if (transaction_put_adopt(transaction,
                              place,
                              value_int((int64_t)number),
                              NULL) != ERR_OK ||
        transaction_commit(transaction, NULL) != ERR_OK) {
        stop("an edit failed");
    }
    transaction_release(transaction);
}

void worker_work(struct worker *worker)
{
    worker->now++;
    replica_step(&worker->replica, worker->now);
    sched_step(worker->sched, worker->now);
    space_flush(worker->space);
    replica_pump(&worker->replica);
}

void worker_settle(struct worker *worker)
{
    for (unsigned i = 0; i < ROUNDS_MAX; i++) {
        worker_work(worker);
        if (!space_is_loading(worker->space) &&
            sched_is_settled(worker->sched) &&
            space_outstanding(worker->space) == 0) {
            return;
        }
        const mono_ms wake = sched_next_wake(worker->sched);
        if (wake != MONO_NEVER && wake > worker->now) {
            worker->now = wake;
        }
    }
    stop("it does not come to rest");
}
