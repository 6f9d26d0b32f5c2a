/* Task leases: one process does a task (runtime/task.h, task-5).
 *
 * A lease is a locked file (host/locked_file.h) DIR/tasks/KEY. It ends with the
 * process, even if it is killed; then the next process that asks gets it. */

#ifndef HOST_TASK_LEASE_H
#define HOST_TASK_LEASE_H

#include "runtime/runtime.h"

/* For runtimes on the data directory, whose name is borrowed; "": in memory. */
struct task_claims task_lease_claims(const char *folder);

#endif
