/* Grids: chains side by side, and the lattice in which eager propagation is
 * exponential. */

#include "base/check.h"
#include "signals/bodies.h"

/* -- Propagation: so many chains of so many ------------------------------ */

static void build_chains(const struct workload *workload)
{
    struct signal *source = signal_new(0);
    struct signal *last = source;
    for (uint32_t i = 0; i < workload->size[0]; i++) {
        last = source;
        for (uint32_t j = 0; j < workload->size[1]; j++) {
            last = computed_new(add_number, 1, 1, &last);
        }
        effect_new(look, 0, 1, &last);
    }
    head_and_out(source, last);
    graph_settle();
}

/* -- Cellx: layers of four, each with an effect -------------------------- */

static struct signal *top[4];
static struct signal *bottom[4];

static double subtract(struct reading *at, const struct body *body)
{
    return signal_get(at, body->in[0]) - signal_get(at, body->in[1]);
}

static void build_cellx(const struct workload *workload)
{
    for (uint32_t i = 0; i < 4; i++) {
        top[i] = signal_new(i + 1);
        bottom[i] = top[i];
    }
    for (uint32_t i = 0; i < workload->size[0]; i++) {
        struct signal *const ac[] = {bottom[0], bottom[2]};
        struct signal *const bd[] = {bottom[1], bottom[3]};
        struct signal *const next[] = {
            computed_new(add_number, 0, 1, &bottom[1]),
            computed_new(subtract, 0, 2, ac),
            computed_new(sum_all, 0, 2, bd),
            computed_new(add_number, 0, 1, &bottom[2]),
        };
        for (uint32_t j = 0; j < 4; j++) {
            bottom[j] = next[j];
            effect_new(look, 0, 1, &bottom[j]);
        }
    }
    graph_settle();
}

static double write_row(int first, int step)
{
    batch_begin();
    for (int i = 0; i < 4; i++) {
        signal_set(top[i], first + i * step);
    }
    batch_end();
    return signal_peek(bottom[0]) * 1000 + signal_peek(bottom[1]) * 100 +
           signal_peek(bottom[2]) * 10 + signal_peek(bottom[3]);
}

static double iterate_cellx(const struct workload *workload)
{
    (void)workload;
    const double sum = write_row(4, -1);
    return sum + write_row(1, 1);
}

/* -- The family ---------------------------------------------------------- */

#define CHAINS(count, length, batches, sum)                                  \
    .build = build_chains, .iterate = iterate_head,                          \
    .size = {(count), (length)}, .updates = (batches), .warm = 2,            \
    .checksum = (sum), .computed = (uint64_t)(count) * (length) * (batches), \
    .effects = (uint64_t)(count) * (batches)

#define CELLX(layers, sum)                                                 \
    .build = build_cellx, .iterate = iterate_cellx, .size = {(layers), 0}, \
    .updates = 2, .warm = 2, .checksum = (sum),                            \
    .computed = (uint64_t)(layers)*8, .effects = (uint64_t)(layers)*8

static const struct workload grids[] = {
    {"prop-1x1", CHAINS(1, 1, 1001, 500502)},
    {"prop-1x10", CHAINS(1, 10, 501, 129761)},
    {"prop-1x100", CHAINS(1, 100, 101, 15051)},
    {"prop-10x10", CHAINS(10, 10, 101, 5961)},
    {"prop-100x10", CHAINS(100, 10, 51, 1736)},
    {"prop-100x100", CHAINS(100, 100, 21, 2291)},
    {"cellx1000", CELLX(1000, -5995)},
    {"cellx2500", CELLX(2500, -5995)},
    {"cellx5000", CELLX(5000, 440)},
};

const struct workload_family grid_family = {grids, COUNT_OF(grids)};
