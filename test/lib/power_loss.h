/* Losing power at many moments in the life of a store.
 *
 * A workload (lib/store_workload.h) runs once on a disk (lib/disk.h) that
 * writes everything down. Then, for moments between any two changes of the
 * disk, it is asked what the disk could hold, an engine is opened on that, and
 * must find
 *
 *   at full     every commit that was acknowledged before the moment, and at
 *               most the step that was under way, whole
 *   at normal   the commits up to some step, none of them in part
 *   always      a file that opens and that engine_verify has no word about
 *
 * and goes on from there: the next step lands. Some of those second lives lose
 * their power, too. */

#ifndef TEST_LIB_POWER_LOSS_H
#define TEST_LIB_POWER_LOSS_H

#include "store/engine.h"

struct power_loss_options {
    uint64_t seed;
    enum durability durability;
    size_t steps;
    uint64_t failing_sync; /* this one of the first life fails; 0: none. What
                              failed because of it is tried again */

    /* Of the moments just before and after a sync, and of all others, one in
     * so many is tried. 1: each of them. */
    uint64_t one_sync_in;
    uint64_t one_other_in;

    /* Each with every outcome, or with one that is drawn. */
    bool all_fates;
};

struct power_loss_counts {
    uint64_t changes;   /* of the disk, in the first life */
    uint64_t syncs;     /* among them */
    uint64_t points;    /* losses of power that were looked at */
    uint64_t again;     /* of them, in a second life */
    uint64_t landed;    /* the step under way was there */
    uint64_t dropped;   /* it was not */
    uint64_t shortened; /* at normal: acknowledged steps were not */
};

/* One workload; adds to the counts. False after a failure of the test, which
 * says how to repeat it. */
bool power_loss_run(const struct power_loss_options *options,
                    struct power_loss_counts *counts);

#endif
