/* Collections of 1,000,000 rows in a data directory, with the ordering of the
 * keys and one index.
 *
 *   insert   rows in groups of 10,000 per commit, until each commit is on the
 *            disk: all rows in the order of their keys, which is none for the
 *            index, and then some in no order. Time on a CPU; the note has the
 *            time that passed, disk included
 *   range    50 rows from a random key on, found and read, all of it in memory
 *   wake     1,000 effects read a range of 50 rows each; one row changes, and
 *            the effect that reads it runs, and no other */

#include <ftw.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/random.h"
#include "collection/collection.h"
#include "host/live.h"
#include "lib/bench.h"
#include "value/array.h"
#include "value/object.h"

enum {
    ROWS = 1000000,
    ROWS_QUICK = 20000,
    GROUP = 10000,
    MORE = 50000, /* in no order */
    MORE_QUICK = 10000,
    TAKEN = 50,
    READERS = 1000,
    WARM_UP = 1000,
    WAIT_MS = 600000,
};

struct table {
    struct live *live;
    struct runtime *runtime;
    struct collection *collection;
    struct random random;
    uint64_t rows;
    uint64_t runs; /* of readers */
    char folder[64];
};

static void stop_if(enum err err, const struct err_detail *detail)
{
    if (err != ERR_OK) {
        (void)fprintf(stderr,
                      "bench_collections: %s: %s\n",
                      err_name(err),
                      detail->text);
        exit(1);
    }
}

static uint64_t now_ns(clockid_t clock)
{
    struct timespec time;
    (void)clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void settle(const struct table *table)
{
    if (live_settle(table->live, live_now(table->live) + WAIT_MS) !=
        LIVE_AT_REST) {
        (void)fprintf(stderr, "bench_collections: it does not come to rest\n");
        exit(1);
    }
}

/* -- Filling ------------------------------------------------------------- */

typedef enum err fill_fn(struct table *table,
                         struct transaction *transaction,
                         uint64_t from,
                         struct err_detail *detail);

/* A commit; what has to be loaded first is. */
static void commit(struct table *table, fill_fn *fill, uint64_t from)
{
    struct err_detail detail = {0};
    bool again = true;
    while (again) {
        struct transaction *transaction =
            transaction_begin(&table->runtime->replica, NULL);
        enum err err = fill(table, transaction, from, &detail);
        again = err == ERR_OK && transaction_is_awaiting(transaction);
        if (err == ERR_OK && !again) {
            err = transaction_commit(transaction, &detail);
        }
        transaction_release(transaction);
        stop_if(err, &detail);
        settle(table);
    }
}

static enum err create(struct table *table,
                       struct transaction *transaction,
                       uint64_t from,
                       struct err_detail *detail)
{
    (void)from;
    struct value fields =
        array_push_adopt(value_empty_array(), value_text_new("age"));
    struct value index = value_empty_object();
    object_put_adopt(&index, "by_age", fields);
    struct value definition = value_empty_object();
    object_put_adopt(&definition, "key", value_text_new("id"));
    object_put_adopt(&definition, "index", index);
    const enum err err =
        collection_create(table->collection, transaction, definition, detail);
    value_unref(definition);
    return err;
}

static struct value row_of(uint64_t id, double fraction)
{
    struct value row = value_empty_object();
    object_put_adopt(&row, "id", value_double((double)id + fraction));
    object_put_adopt(&row, "age", value_int((int64_t)(id * 7919 % 100000)));
    object_put_adopt(&row, "name", value_text_new("a person of the table"));
    return row;
}

static enum err insert_in_order(struct table *table,
                                struct transaction *transaction,
                                uint64_t from,
                                struct err_detail *detail)
{
    const struct collection_access access = {.transaction = transaction};
    enum err err = ERR_OK;
    for (uint64_t i = from; i < from + GROUP && err == ERR_OK; i++) {
        const struct value row = row_of(i, 0);
        err = collection_insert(table->collection, &access, row, detail);
        value_unref(row);
    }
    return err;
}

/* Between the others: the factor has no divisor in common with the number of
 * rows, so no key comes twice. */
static enum err insert_in_none(struct table *table,
                               struct transaction *transaction,
                               uint64_t from,
                               struct err_detail *detail)
{
    const struct collection_access access = {.transaction = transaction};
    enum err err = ERR_OK;
    for (uint64_t i = from; i < from + GROUP && err == ERR_OK; i++) {
        const struct value row = row_of(i * 7919 % table->rows, 0.5);
        err = collection_insert(table->collection, &access, row, detail);
        value_unref(row);
    }
    return err;
}

static void table_open(struct table *table, uint64_t rows)
{
    *table = (struct table){.rows = rows,
                            .folder = "build/bench-collections-XXXXXX"};
    struct err_detail detail = {0};
    random_init(&table->random, 1);
    if (mkdtemp(table->folder) == NULL) {
        stop_if(ERR_IO, &detail);
    }
    stop_if(live_open(&(struct live_options){.folder = table->folder},
                      &table->live,
                      &detail),
            &detail);
    table->runtime = live_runtime(table->live);
    const struct value id = value_text_new("people");
    struct entity *entity;
    stop_if(entity_of(table->runtime->spaces.at[0],
                      SCOPE_SPACE,
                      id,
                      &entity,
                      &detail),
            &detail);
    value_unref(id);
    struct place *root = place_payload(entity);
    table->collection = collections_of(&table->runtime->collections, root);
    place_unref(root);
    commit(table, create, 0);
}

static int remove_one(const char *path,
                      const struct stat *status,
                      int kind,
                      struct FTW *at)
{
    (void)status;
    (void)kind;
    (void)at;
    return remove(path);
}

static void table_close(struct table *table)
{
    live_drop(table->live);
    if (nftw(table->folder, remove_one, 8, FTW_DEPTH | FTW_PHYS) != 0) {
        (void)fprintf(stderr, "bench_collections: %s stays\n", table->folder);
    }
}

static void fill_table(struct bench *bench,
                       struct table *table,
                       fill_fn *fill,
                       uint64_t count,
                       struct bench_bar bar,
                       const char *name)
{
    const uint64_t began = now_ns(CLOCK_MONOTONIC);
    const uint64_t worked = now_ns(CLOCK_PROCESS_CPUTIME_ID);
    for (uint64_t i = 0; i < count; i += GROUP) {
        commit(table, fill, i);
    }
    const double rows = (double)count;
    struct bench_row row = {
        .unit = "ns",
        .ours = (double)(now_ns(CLOCK_PROCESS_CPUTIME_ID) - worked) / rows,
        .bar = bar,
    };
    (void)snprintf(row.name, sizeof row.name, "%s", name);
    (void)snprintf(row.note,
                   sizeof row.note,
                   "passed: %.1f us",
                   (double)(now_ns(CLOCK_MONOTONIC) - began) / rows / 1000);
    bench_add(bench, &row);
}

/* -- Reading ------------------------------------------------------------- */

/* Finds and reads rows from a key on, on behalf of a transaction or a run. */
static enum err read_range(const struct table *table,
                           const struct collection_access *access,
                           uint64_t from,
                           uint64_t *read,
                           struct err_detail *detail)
{
    struct pages_found found = {0};
    struct value bound =
        array_push_adopt(value_empty_array(), value_int((int64_t)from));
    const struct collection_range range = {.from = bound, .limit = TAKEN};
    enum err err =
        collection_find(table->collection, access, &range, &found, detail);
    VEC_FOREACH (&found.row_keys, key) {
        struct entity *row;
        struct value value = VALUE_NONE;
        if (collection_row(table->collection, *key, &row, detail) == ERR_OK) {
            struct place *place = place_payload(row);
            const enum err one = access->run != NULL
                                     ? run_read(access->run,
                                                place,
                                                READ_DEEP,
                                                READ_FOR_BOTH,
                                                &value)
                                     : transaction_read(access->transaction,
                                                        place,
                                                        READ_DEEP,
                                                        READ_FOR_BOTH,
                                                        &value);
            place_unref(place);
            *read += one == ERR_OK && value_is_object(value);
            value_unref(value);
        }
    }
    pages_found_release(&found);
    value_unref(bound);
    return err;
}

static void range_warm(void *ctx, uint64_t times)
{
    struct table *table = ctx;
    for (uint64_t i = 0; i < times; i++) {
        struct err_detail detail = {0};
        uint64_t read = 0;
        struct transaction *transaction =
            transaction_begin(&table->runtime->replica, NULL);
        const struct collection_access access = {.transaction = transaction};
        stop_if(read_range(table,
                           &access,
                           random_below(&table->random, table->rows - TAKEN),
                           &read,
                           &detail),
                &detail);
        transaction_release(transaction);
        if (read != TAKEN) {
            stop_if(ERR_CORRUPT, &detail);
        }
    }
}

/* -- Waking -------------------------------------------------------------- */

struct reader {
    struct table *table;
    uint64_t from;
    struct node *node;
};

static enum run_result run_reader(struct run *run, void *ctx)
{
    const struct reader *reader = ctx;
    const struct collection_access access = {run->transaction, run};
    struct err_detail detail = {0};
    uint64_t read = 0;
    const enum err err =
        read_range(reader->table, &access, reader->from, &read, &detail);
    if (run_is_waiting(run)) {
        return RUN_WAITING;
    }
    reader->table->runs++;
    return err == ERR_OK ? RUN_DONE : run_fail(run, &detail);
}

static enum err change_row(struct table *table,
                           struct transaction *transaction,
                           uint64_t id,
                           struct err_detail *detail)
{
    const struct collection_access access = {.transaction = transaction};
    struct value fields = value_empty_object();
    object_put_adopt(&fields,
                     "name",
                     value_int((int64_t)random_u64(&table->random) >> 1));
    const enum err err = collection_update(table->collection,
                                           &access,
                                           value_int((int64_t)id),
                                           fields,
                                           detail);
    value_unref(fields);
    return err;
}

static void wake_readers(struct bench *bench, struct table *table)
{
    struct reader *readers = calloc(READERS, sizeof *readers);
    const uint64_t apart = table->rows / READERS;
    for (uint64_t i = 0; i < READERS; i++) {
        readers[i] = (struct reader){.table = table, .from = i * apart};
        const struct node_spec spec = {
            .kind = NODE_EFFECT,
            .run = run_reader,
            .ctx = &readers[i],
            .no_auto_debounce = true,
        };
        readers[i].node = sched_register(table->runtime->sched, &spec);
    }
    settle(table);
    /* Half of the rows that change are read by one reader; the others by none,
     * if there are enough rows. */
    const uint64_t changes = 200;
    table->runs = 0;
    const uint64_t began = now_ns(CLOCK_PROCESS_CPUTIME_ID);
    for (uint64_t i = 0; i < changes; i++) {
        commit(table,
               change_row,
               (i * 4 + 1) * apart + (i % 2 == 0 ? 1 : apart / 2));
    }
    const uint64_t worked = now_ns(CLOCK_PROCESS_CPUTIME_ID) - began;
    struct bench_row row = {
        .name = "wake: one row changes, 1,000 readers of ranges",
        .unit = "ns",
        .ours = (double)worked / (double)changes,
        .counts =
            {
                .has_runs = true,
                .runs = table->runs,
                .expected = apart > 4 * TAKEN ? changes / 2 : table->runs,
            },
    };
    bench_add(bench, &row);
    for (uint64_t i = 0; i < READERS; i++) {
        sched_remove(table->runtime->sched, readers[i].node);
    }
    free(readers);
}

int main(int argc, char **argv)
{
    struct bench bench;
    int exit_code;
    if (!bench_begin(&bench, "collections", argc, argv, &exit_code)) {
        return exit_code;
    }
    const uint64_t rows = bench.quick ? ROWS_QUICK : ROWS;
    struct table table;
    table_open(&table, rows);
    fill_table(&bench,
               &table,
               insert_in_order,
               rows,
               (struct bench_bar){BENCH_AT_MOST, 50000},
               "insert in the order of the keys");
    fill_table(&bench,
               &table,
               insert_in_none,
               bench.quick ? MORE_QUICK : MORE,
               (struct bench_bar){0},
               "insert in no order");
    range_warm(&table, WARM_UP); /* the allocator sorts what was freed */
    bench_run(&bench,
              &(struct bench_case){
                  .name = "range of 50 rows",
                  .ours = range_warm,
                  .ctx = &table,
                  .bar = {BENCH_AT_MOST, 100000},
              });
    wake_readers(&bench, &table);
    table_close(&table);
    return bench_end(&bench);
}
