/* One write and the effect that reads it, in documents that are deeper and
 * deeper, or larger and larger: what the size of that costs which the change
 * does not touch. */

#include <stdio.h>

#include "shapes/kit.h"
#include "shapes/shapes.h"
#include "value/object.h"

struct sized {
    struct kit kit;
    struct place *place; /* that is written */
    uint64_t seen;       /* runs of the effect */
};

static struct sized sized;

static double look(struct calc_run *at, const struct calc *calc)
{
    sized.seen++;
    return kit_read(at, calc->in[0]);
}

static void write_often(void *ctx, uint64_t times)
{
    struct sized *self = ctx;
    for (uint64_t i = 0; i < times; i++) {
        kit_write(&self->kit, self->place, ++self->kit.round);
        kit_idle(&self->kit);
    }
}

static void put_document(struct kit *kit, struct value value)
{
    struct err_detail detail;
    struct transaction *transaction = transaction_begin(&kit->replica, NULL);
    kit_put(kit, transaction, kit->places[0], value);
    CHECK(transaction_commit(transaction, &detail) == ERR_OK);
    transaction_release(transaction);
}

static void run_sized(struct bench *bench, const char *name)
{
    (void)kit_effect(&sized.kit, look, 0, 1, &sized.place, NULL);
    kit_idle(&sized.kit);
    sized.seen = 0;
    write_often(&sized, 10);
    if (sized.seen != 10) {
        bench_wrong(bench, "%s: the effect did not see each write", name);
    }
    (void)bench_run(
        bench,
        &(struct bench_case){.name = name, .ours = write_often, .ctx = &sized});
    kit_close(&sized.kit);
}

/* Objects of one key in each other. */
static void bench_depth(struct bench *bench, uint32_t depth)
{
    char name[64];
    (void)snprintf(name, sizeof name, "write and effect, path of %u", depth);
    if (!bench_wants(bench, name)) {
        return;
    }
    kit_open(&sized.kit, false);
    sized.place = kit_document(&sized.kit);
    struct value value = value_int(0);
    for (uint32_t i = 0; i < depth; i++) {
        value =
            object_set_adopt(value_empty_object(), value_text_new("k"), value);
        sized.place = kit_below(&sized.kit, sized.place, "k");
    }
    put_document(&sized.kit, value);
    run_sized(bench, name);
}

/* An object of so many keys, of which one is written. */
static void bench_keys(struct bench *bench, uint32_t keys)
{
    char name[64];
    (void)snprintf(name, sizeof name, "write and effect, one of %u keys", keys);
    if (!bench_wants(bench, name)) {
        return;
    }
    kit_open(&sized.kit, false);
    struct place *document = kit_document(&sized.kit);
    struct value value = value_empty_object();
    for (uint32_t i = 0; i < keys; i++) {
        char key[16];
        (void)snprintf(key, sizeof key, "k%u", i);
        value = object_set_adopt(value, value_text_new(key), value_int(i));
    }
    put_document(&sized.kit, value);
    sized.place = kit_below(&sized.kit, document, "k0");
    run_sized(bench, name);
}

void bench_sizes(struct bench *bench)
{
    static const uint32_t depths[] = {1, 2, 4, 8, 16, 32, 64};
    static const uint32_t keys[] = {10, 100, 1000, 10000, 100000};
    for (size_t i = 0; i < COUNT_OF(depths); i++) {
        bench_depth(bench, depths[i]);
    }
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        bench_keys(bench, keys[i]);
    }
}
