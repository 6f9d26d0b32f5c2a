/* How long a sync of the steady disk takes: as long as that of an SSD that has
 * nothing else to do. */

#ifndef BENCH_SERVER_STEADY_DISK_H
#define BENCH_SERVER_STEADY_DISK_H

enum {
    STEADY_SYNC_NS = 170000,
};

#endif
