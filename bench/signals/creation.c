/* Creation: signals, and effects on so many of them each, up to the end of
 * their first run. */

#include <stdlib.h>

#include "base/check.h"
#include "signals/bodies.h"

enum {
    SIGNALS = 100000
};

static struct signal *sources[SIGNALS];

/* `size`: signals that an effect reads, effects that read a signal. */
static uint32_t source_count(const struct workload *workload)
{
    return workload->size[0] == 0 ? 0 : SIGNALS / workload->size[1];
}

static void build_sources(const struct workload *workload)
{
    for (uint32_t i = 0; i < source_count(workload); i++) {
        sources[i] = signal_new(i);
    }
    graph_settle();
}

static double create_signals(const struct workload *workload)
{
    (void)workload;
    for (uint32_t i = 0; i < SIGNALS; i++) {
        (void)signal_new(i);
    }
    graph_settle();
    return 0;
}

static double create_effects(const struct workload *workload)
{
    const uint32_t reads = workload->size[0];
    const uint32_t readers = workload->size[1];
    for (uint32_t i = 0; i < workload->nodes; i++) {
        effect_new(sum_all, 0, reads, &sources[(size_t)(i / readers) * reads]);
    }
    graph_settle();
    return 0;
}

#define EFFECTS(reads, readers, count)                 \
    .build = build_sources, .iterate = create_effects, \
    .size = {(reads), (readers)}, .effects = (count), .nodes = (count)

static const struct workload creation[] = {
    {"create-signals",
     .build = build_sources,
     .iterate = create_signals,
     .nodes = SIGNALS},
    {"create-0to1", EFFECTS(0, 1, 100000)},
    {"create-1to1", EFFECTS(1, 1, 100000)},
    {"create-2to1", EFFECTS(2, 1, 50000)},
    {"create-4to1", EFFECTS(4, 1, 25000)},
    {"create-1000to1", EFFECTS(1000, 1, 100)},
    {"create-1to2", EFFECTS(1, 2, 100000)},
    {"create-1to4", EFFECTS(1, 4, 100000)},
    {"create-1to8", EFFECTS(1, 8, 100000)},
    {"create-1to1000", EFFECTS(1, 1000, 100000)},
};

const struct workload_family creation_family = {creation, COUNT_OF(creation)};
