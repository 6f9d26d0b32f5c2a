/* Refresh: bringing what is read up to date, inside the read (runner-2 of
 * sched/runner.h).
 *
 * In a pass by height, a writer has run before its readers, so a refresh
 * examines one node. It does more for a read that was not known before: the
 * writer, and everything that it needs, runs now. The walk over what it needs
 * is a loop; only the runs nest. */

#ifndef SCHED_REFRESH_H
#define SCHED_REFRESH_H

#include "sched/runner.h"

void refresh_for_read(struct run *run,
                      struct place *place,
                      enum read_kind kind);

#endif
