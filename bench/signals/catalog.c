/* All workloads in one row, and how one of them is timed. */

#include <limits.h>
#include <malloc.h>
#include <string.h>
#include <time.h>

#include "base/check.h"
#include "signals/signals.h"

static const struct workload_family *const families[] = {
    &kairo_family,
    &grid_family,
    &dynamic_family,
    &creation_family,
    &update_family,
    &demand_family,
};

const struct workload *workload_at(size_t number)
{
    for (size_t i = 0; i < COUNT_OF(families); i++) {
        if (number < families[i]->count) {
            return &families[i]->at[number];
        }
        number -= families[i]->count;
    }
    return NULL;
}

const struct workload *workload_find(const char *name)
{
    const struct workload *workload = workload_at(0);
    for (size_t i = 1; workload != NULL; i++) {
        if (strcmp(workload->name, name) == 0) {
            return workload;
        }
        workload = workload_at(i);
    }
    return NULL;
}

double workload_units(const struct workload *workload)
{
    if (workload->updates == 0) {
        return workload->nodes;
    }
    const uint64_t runs = workload->computed + workload->effects;
    return runs > 0 ? (double)runs : workload->updates;
}

/* -- Time ---------------------------------------------------------------- */

static double now_ns(void)
{
    struct timespec now;
    CHECK(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now) == 0);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* What a graph had stays with the process for the next one, as it does in a
 * program that goes on, and in the library's: otherwise the system's pages are
 * what a creation measures. */
static void keep_memory(void)
{
    (void)mallopt(M_MMAP_THRESHOLD, INT_MAX);
    (void)mallopt(M_TRIM_THRESHOLD, INT_MAX);
}

static double create_once(const struct workload *workload, double *checksum)
{
    graph_open();
    workload->build(workload);
    const double from = now_ns();
    *checksum = workload->iterate(workload);
    const double ns = now_ns() - from;
    graph_close();
    return ns;
}

double workload_begin(const struct workload *workload)
{
    double checksum = 0;
    keep_memory();
    if (workload->updates == 0) {
        (void)create_once(workload, &checksum);
        computed_runs = 0;
        effect_runs = 0;
        (void)create_once(workload, &checksum);
        return checksum;
    }
    graph_open();
    workload->build(workload);
    for (uint32_t i = 0; i < workload->warm; i++) {
        (void)workload->iterate(workload);
    }
    computed_runs = 0;
    effect_runs = 0;
    return workload->iterate(workload);
}

void workload_end(const struct workload *workload)
{
    if (workload->updates > 0) {
        graph_close();
    }
}

double workload_round(const struct workload *workload, double round_ns)
{
    uint64_t iterations = 0;
    double spent = 0;
    double checksum = 0;
    if (workload->updates == 0) {
        do {
            spent += create_once(workload, &checksum);
            iterations++;
        } while (spent < round_ns);
        return spent / (double)iterations;
    }
    const double from = now_ns();
    do {
        (void)workload->iterate(workload);
        iterations++;
        spent = now_ns() - from;
    } while (spent < round_ns);
    return spent / (double)iterations;
}
