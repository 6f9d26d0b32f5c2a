/* Layers of computeds, each of which sums up some of the layer before; a part
 * of them leave one out, another one each time. */

#include <math.h>

#include "base/check.h"
#include "signals/bodies.h"

enum {
    WIDTH_MAX = 1000,
    READS_MAX = 25
};

static const struct plan {
    uint32_t width;
    uint32_t layers;
    double constant; /* the share that always reads all */
    uint32_t reads;
    double looked_at; /* the share of the last layer */
} plans[] = {
    {10, 5, 1, 2, 0.2},
    {10, 10, 0.75, 6, 0.2},
    {1000, 12, 0.95, 4, 1},
    {1000, 5, 1, 25, 1},
    {5, 500, 1, 3, 1},
    {100, 15, 0.5, 6, 1},
};

static struct signal *sources[WIDTH_MAX];
static struct signal *leaves[WIDTH_MAX];
static uint32_t leaf_count;

/* -- Chance: the same as in the other languages -------------------------- */

struct chance {
    uint32_t a, b, c, d;
};

static const struct chance chance_start = {
    246123560U,
    2434935956U,
    752727108U,
    913990249U,
};

static double chance_next(struct chance *chance)
{
    chance->d++;
    const uint32_t drawn = chance->a + chance->b + chance->d;
    chance->a = chance->b ^ (chance->b >> 9);
    chance->b = chance->c + (chance->c << 3);
    chance->c = ((chance->c << 21) | (chance->c >> 11)) + drawn;
    return drawn / 4294967296.0;
}

/* -- The graph ----------------------------------------------------------- */

static double sum_but_one(struct reading *at, const struct body *body)
{
    double sum = signal_get(at, body->in[0]);
    const int64_t number = (int64_t)sum;
    const uint32_t rest = body->count - 1;
    const bool drops = (number & 1) != 0;
    const int64_t dropped = number % rest;
    for (uint32_t i = 0; i < rest; i++) {
        if (!drops || i != dropped) {
            sum += signal_get(at, body->in[i + 1]);
        }
    }
    return sum;
}

static void build_layer(const struct plan *plan,
                        struct chance *chance,
                        struct signal **row)
{
    struct signal *next[WIDTH_MAX];
    for (uint32_t i = 0; i < plan->width; i++) {
        struct signal *in[READS_MAX];
        for (uint32_t j = 0; j < plan->reads; j++) {
            in[j] = row[(i + j) % plan->width];
        }
        signal_fn *fn =
            chance_next(chance) < plan->constant ? sum_all : sum_but_one;
        next[i] = computed_new(fn, 0, plan->reads, in);
    }
    for (uint32_t i = 0; i < plan->width; i++) {
        row[i] = next[i];
    }
}

static void build_layers(const struct workload *workload)
{
    const struct plan *plan = &plans[workload->size[0]];
    for (uint32_t i = 0; i < plan->width; i++) {
        sources[i] = signal_new(i);
        leaves[i] = sources[i];
    }
    struct chance chance = chance_start;
    for (uint32_t i = 1; i < plan->layers; i++) {
        build_layer(plan, &chance, leaves);
    }
    leaf_count = plan->width;
    chance = chance_start;
    const double gone = round(plan->width * (1 - plan->looked_at));
    for (uint32_t i = 0; i < (uint32_t)gone; i++) {
        leaf_count--;
        const uint32_t from =
            (uint32_t)(chance_next(&chance) * (leaf_count + 1));
        for (uint32_t j = from; j < leaf_count; j++) {
            leaves[j] = leaves[j + 1];
        }
    }
    effect_new(sum_all, 0, leaf_count, leaves);
    graph_settle();
}

static double sum_of_leaves(void)
{
    double sum = 0;
    for (uint32_t i = 0; i < leaf_count; i++) {
        sum = signal_peek(leaves[i]) + sum;
    }
    return sum;
}

static double iterate_layers(const struct workload *workload)
{
    const uint32_t width = plans[workload->size[0]].width;
    double sum = 0;
    for (uint32_t i = 0; i < workload->updates; i++) {
        batch_begin();
        signal_set(sources[i % width], i + i % width);
        batch_end();
        sum = sum_of_leaves();
    }
    return sum;
}

/* -- The family ---------------------------------------------------------- */

#define LAYERS(plan, batches, sum, runs, looks)                             \
    .build = build_layers, .iterate = iterate_layers, .size = {(plan), 0},  \
    .updates = (batches), .warm = 3, .checksum = (sum), .computed = (runs), \
    .effects = (looks)

static const struct workload dynamic[] = {
    {"dyn-simple-component", LAYERS(0, 600000, 19199968, 3480000, 480000)},
    {"dyn-dynamic-component", LAYERS(1, 15000, 302310782860, 1155000, 15000)},
    {"dyn-large-web-app", LAYERS(2, 7000, 29355933696000, 1463000, 7000)},
    {"dyn-wide-dense", LAYERS(3, 3000, 1171484375000, 732000, 3000)},
    {"dyn-deep", LAYERS(4, 500, 3.0239642676898464e241, 1246500, 500)},
    {"dyn-very-dynamic", LAYERS(5, 2000, 15664996402790400, 1078000, 2000)},
};

const struct workload_family dynamic_family = {dynamic, COUNT_OF(dynamic)};
