/* Updates: effects on signals, with nothing between. */

#include "base/check.h"
#include "signals/bodies.h"

enum {
    SIGNALS_MAX = 1000
};

static struct signal *source;
static double seen;

static double see_sum(struct reading *at, const struct body *body)
{
    seen = sum_all(at, body);
    return 0;
}

/* `size`: signals that an effect reads, effects that read all of them. */
static void build_effects(const struct workload *workload)
{
    struct signal *in[SIGNALS_MAX] = {NULL};
    for (uint32_t i = 0; i < workload->size[0]; i++) {
        in[i] = signal_new(i);
    }
    for (uint32_t i = 0; i < workload->size[1]; i++) {
        effect_new(see_sum, 0, workload->size[0], in);
    }
    source = in[0];
    graph_settle();
}

static double iterate_updates(const struct workload *workload)
{
    double sum = 0;
    for (uint32_t i = 0; i < workload->updates; i++) {
        batch_begin();
        signal_set(source, i + 1);
        batch_end();
        sum += seen;
    }
    return sum;
}

#define UPDATES(reads, readers, batches, sum)                      \
    .build = build_effects, .iterate = iterate_updates,            \
    .size = {(reads), (readers)}, .updates = (batches), .warm = 2, \
    .checksum = (sum), .effects = (uint64_t)(readers) * (batches)

static const struct workload updates[] = {
    {"update-1to1", UPDATES(1, 1, 10000, 50005000)},
    {"update-2to1", UPDATES(2, 1, 10000, 50015000)},
    {"update-4to1", UPDATES(4, 1, 10000, 50065000)},
    {"update-1000to1", UPDATES(1000, 1, 200, 99920100)},
    {"update-1to2", UPDATES(1, 2, 10000, 50005000)},
    {"update-1to4", UPDATES(1, 4, 10000, 50005000)},
    {"update-1to1000", UPDATES(1, 1000, 200, 20100)},
};

const struct workload_family update_family = {updates, COUNT_OF(updates)};
